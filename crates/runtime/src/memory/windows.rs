//! Builds the windows of a node: who makes which memory file, and where it is mapped.

use oxshmem_base::knobs::{Settings, Wait};
use oxshmem_base::{Error, size};
use oxshmem_bootstrap::{Circle, Job, Parcel, node};
use oxshmem_os::limits::{Limit, Limits};
use oxshmem_os::memory::{self, AddressRange, Pages, SharedMemory};
use oxshmem_os::{cpus, program, statics};
use oxshmem_topology::claim::Claims;
use oxshmem_topology::{Share, share};
use parking_lot::Mutex;

use crate::memory::control;
use crate::memory::heap::SymmetricHeap;
use crate::network::neighbours::Quarters;
use crate::start::placement;
use crate::transfers::direct::FAST;
use crate::wait::departed::{CONTROL, Roll};
use crate::wait::pace::{self, Mode};

// The library is part of the programs that are PEs, and of no other.
oxshmem_os::share_statics!();

/// The reservations of one life. Dropping them unmaps the windows.
pub(crate) struct Windows {
    control: Option<AddressRange>,
    heap: Mutex<Option<AddressRange>>,
    statics: Option<AddressRange>,
    heap_window: usize,
    /// The leader's locks on the node's cores.
    claims: Mutex<Claims>,
    /// The leader's `SHMEM_WAIT`.
    wait: Wait,
    quarters: Quarters,
    roll: Roll,
}

impl Windows {
    /// The roll, which tells the PEs of the node that are still there.
    pub(crate) fn roll(&self) -> &Roll {
        &self.roll
    }

    /// Bytes from one PE's heap to the next.
    pub(crate) fn heap_window(&self) -> usize {
        self.heap_window
    }

    /// The processors of this node.
    pub(crate) fn quarters(&self) -> &Quarters {
        &self.quarters
    }

    /// Whether they are `crowded`, now that the other nodes on this machine are known; on all PEs of a node alike, and
    /// before they first synchronise.
    pub(crate) fn share_processors(&self, crowded: bool) {
        if crowded && self.wait == Wait::Auto {
            pace::set_mode(Mode::Crowded);
            tracing::debug!("waits yield: with other nodes of this machine PEs outnumber its processors");
        }
    }

    /// Unmaps everything.
    pub(crate) fn close(&mut self) {
        self.close_heap();
        self.control = None;
        self.statics = None;
    }

    /// Unmaps the heaps, and lets go of the processors.
    pub(crate) fn close_heap(&self) {
        *self.heap.lock() = None;
        *self.claims.lock() = Claims::default();
        placement::close();
    }
}

/// What a PE tells the others of its node before they share memory.
#[cfg_attr(test, derive(Clone, PartialEq, Debug))]
struct Card {
    /// Length of the static region; zero when it is not shared.
    statics: u64,
    /// Processors the quota of its cgroup leaves it, and those it may run on.
    usable: u32,
    allowed: Vec<u32>,
    program: String,
}

/// Exchanges descriptors with the node's other PEs and maps everybody's memory.
pub(crate) fn open(job: &Job, epoch: u32, settings: &Settings) -> Result<(Windows, SymmetricHeap, Circle), Error> {
    let members = job.node().members.len();
    let me = job.node().my_index;
    let region = statics::region();
    let mine = Parcel {
        bytes: Card::own(region.as_ref().map_or(0, |region| region.len as u64)).encode(),
        fds: match &region {
            Ok(region) => {
                vec![region.memory.fd().try_clone_to_owned().map_err(|e| no_memory("share the statics", &e))?]
            }
            Err(_) => Vec::new(),
        },
    };
    let (mut claims, mut refusal) = (Claims::default(), None);
    let common = |parcels: &[Parcel]| {
        let cards: Vec<Card> = parcels.iter().filter_map(|parcel| Card::decode(&parcel.bytes)).collect();
        let allowed: Vec<&[u32]> = cards.iter().map(|card| &card.allowed[..]).collect();
        let decision = placement::decide(job, settings, &allowed).map_err(|error| {
            let words = error.to_string();
            refusal = Some(error);
            std::io::Error::other(words)
        })?;
        claims = decision.claims;
        make_common(parcels.len(), settings, &decision.shares)
    };
    let gathered = node::share(job, epoch, mine, common);
    let gathered = gathered.map_err(|error| refusal.unwrap_or(error))?;
    let cards: Vec<Card> =
        gathered.of.iter().map(|parcel| Card::decode(&parcel.bytes)).collect::<Option<_>>().ok_or_else(unreadable)?;
    same_program(job, &cards)?;

    let (terms, shares) = gathered.common.bytes.split_at_checked(Terms::BYTES).ok_or_else(unreadable)?;
    let terms = Terms::decode(terms).ok_or_else(unreadable)?;
    let shares = share::decode(shares).filter(|shares| shares.len() == members).ok_or_else(unreadable)?;
    // A processor that went away since the list was made: run unbound.
    let bound = placement::adopt(shares, me).unwrap_or(false);
    let mut common = gathered.common.fds.into_iter();
    let (Some(control_file), Some(heap_file), Some(roll_file)) = (common.next(), common.next(), common.next()) else {
        return Err(unreadable());
    };
    let control_file = SharedMemory::from_fd(control_file).map_err(|e| no_memory("open the control windows", &e))?;
    let heap_file = SharedMemory::from_fd(heap_file).map_err(|e| no_memory("open the heap windows", &e))?;

    let small = memory::page_size();
    const RAISE: &str = "raise the limit of addresses (ulimit -v)";
    let control = map_whole(&control_file, members, control::SHIFT, small, "control windows").map_err(|error| {
        error.fix(format!("{RAISE}: addresses cost no memory, and these do not depend on the heap"))
    })?;
    placement::keep_near(&control, me << control::SHIFT, 1 << control::SHIFT, me);
    control::open(control.base() as usize, control.len(), me as u32);
    let roll = Roll::enter(roll_file.into(), me as u32, members as u32)
        .map_err(|error| no_memory("enter the roll of the node's PEs", &error))?;
    let heap = map_whole(&heap_file, members, terms.heap_shift, terms.page as usize, "symmetric heaps")
        .map_err(|error| error.fix(format!("{RAISE}, or lower SHMEM_SYMMETRIC_SIZE")))?;
    placement::keep_near(&heap, me << terms.heap_shift, 1 << terms.heap_shift, me);
    let heap_start = heap.base() as usize + (me << terms.heap_shift);
    FAST.heap.open(heap_start, 0, heap.base() as usize, terms.heap_shift);
    let statics = match &region {
        Ok(region) if cards.iter().all(|card| card.statics > 0) => {
            let files = gathered.of.into_iter().map(|mut parcel| parcel.fds.pop());
            Some(map_statics(region, files)?)
        }
        _ => None,
    };
    let quarters = choose_mode(terms.wait, &cards, me, bound);
    let heap_at = (me as u64) << terms.heap_shift;
    let symmetric = SymmetricHeap::new(heap_file, heap_at, terms.heap_cap, terms.page, terms.limited);
    let heap_window = 1 << terms.heap_shift;
    let windows = Windows {
        control: Some(control),
        heap: Mutex::new(Some(heap)),
        statics,
        heap_window,
        claims: Mutex::new(claims),
        wait: terms.wait,
        quarters,
        roll,
    };
    Ok((windows, symmetric, gathered.circle))
}

/// What the leader decides for the node.
#[cfg_attr(test, derive(Clone, PartialEq, Debug))]
struct Terms {
    heap_cap: u64,
    heap_shift: u32,
    page: u64,
    /// Whether the cap is the user's (`SHMEM_SYMMETRIC_SIZE`) and not a share of the node's memory.
    limited: bool,
    /// The leader's `SHMEM_WAIT`: PEs that wait in different ways would meet in different ways too, and so never.
    wait: Wait,
}

/// The most addresses that one arena takes: a quarter of what x86-64 and AArch64 give a process.
const MOST_ADDRESSES: u64 = 1 << 45;

/// Runs on the leader: makes the files that all share.
fn make_common(members: usize, settings: &Settings, shares: &[Share]) -> std::io::Result<Parcel> {
    let control = SharedMemory::create(CONTROL, (members as u64) << control::SHIFT, Pages::Small)?;
    let huge = settings.huge_pages.then(memory::huge_page_size).flatten();
    let page = huge.unwrap_or(memory::page_size() as u64);
    let limited = settings.symmetric_size.is_some();
    let wanted = settings.symmetric_size.map_or_else(|| share_of_memory(members), with_slack);
    let most = (MOST_ADDRESSES / members as u64 + 1).next_power_of_two() / 2;
    if limited && wanted > most {
        return Err(std::io::Error::other(format!(
            "SHMEM_SYMMETRIC_SIZE asks for {} on each of {members} PEs; a node can address {} for each",
            size::display(wanted),
            size::display(most)
        )));
    }
    let heap_cap = wanted.min(most);
    let heap_shift = heap_cap.max(page).next_power_of_two().trailing_zeros();
    let pages = huge.map_or(Pages::Small, Pages::Huge);
    let heap = SharedMemory::create(c"oxshmem heap", (members as u64) << heap_shift, pages)?;
    let terms = Terms { heap_cap, heap_shift, page, limited, wait: settings.wait };
    let roll = SharedMemory::create(c"oxshmem roll", members as u64, Pages::Small)?;
    let files = [&control, &heap, &roll];
    let fds = files.iter().map(|file| file.fd().try_clone_to_owned()).collect::<Result<_, _>>()?;
    Ok(Parcel { bytes: [terms.encode(), share::encode(shares)].concat(), fds })
}

/// A little more than the user asked for, so that alignment does not eat into it (HEAP-11). Nothing stays nothing.
fn with_slack(size: u64) -> u64 {
    if size == 0 { 0 } else { size.saturating_add(size / 64).saturating_add(64 << 10) }
}

/// The share of one of so many PEs if all have the same: of the machine's memory, or of the tightest control group's limit
/// if that is less.
fn share_of_memory(members: usize) -> u64 {
    let page = memory::page_size() as u64;
    let most = Limits::of_pages(page).look().iter().map(Limit::most).min().unwrap_or(0);
    (most / members as u64).next_multiple_of(page)
}

/// Huge pages are only mapped at multiples of their size. Windows begin at multiples of theirs, so that what is aligned in
/// the heap is aligned in memory, whatever the power of two (HEAP-6): some kernels place long mappings well by themselves.
fn map_whole(file: &SharedMemory, members: usize, shift: u32, page: usize, what: &str) -> Result<AddressRange, Error> {
    let bytes = members << shift;
    let map = || {
        let mut range = AddressRange::reserve(bytes, page.max(1 << shift))?;
        range.map(0, file, 0, bytes)?;
        Ok(range)
    };
    map().map_err(|error: std::io::Error| {
        Error::new(format!("the {what} of {members} PEs cannot be mapped"))
            .because(format!("mmap of {} of addresses failed: {error}", size::display(bytes as u64)))
    })
}

/// Maps every PE's static region, and lets the data path find them.
fn map_statics(
    region: &statics::Statics,
    files: impl ExactSizeIterator<Item = Option<std::os::fd::OwnedFd>>,
) -> Result<AddressRange, Error> {
    let shift = region.len.next_power_of_two().trailing_zeros();
    let mut range = AddressRange::reserve(files.len() << shift, memory::page_size())
        .map_err(|error| no_memory("reserve the windows of the static variables", &error))?;
    for (window, file) in files.enumerate() {
        let file = file.ok_or_else(unreadable)?;
        SharedMemory::from_fd(file)
            .and_then(|file| range.map(window << shift, &file, 0, region.len))
            .map_err(|error| no_memory("map a peer's static variables", &error))?;
    }
    FAST.statics.open(region.start, region.len, range.base() as usize, shift);
    Ok(range)
}

/// Chooses how PEs wait, from how many there are and how many processors they have, which it returns.
fn choose_mode(wait: Wait, cards: &[Card], me: usize, bound: bool) -> Quarters {
    let mut union: Vec<u32> = cards.iter().flat_map(|card| card.allowed.iter().copied()).collect();
    union.sort_unstable();
    union.dedup();
    let quota = cards.iter().filter(|card| (card.usable as usize) < card.allowed.len()).map(|card| card.usable).min();
    let processors = quota.map_or(union.len(), |quota| union.len().min(quota as usize)).max(1);
    let mode = match wait {
        Wait::Auto if cards.len() > processors => Mode::Crowded,
        Wait::Auto | Wait::Spin => Mode::Dedicated,
        Wait::Yield | Wait::Sleep => Mode::Crowded,
    };
    pace::set_mode(mode);
    // Where PEs must take turns anyway, staying on one processor each saves the scheduler's moves. Not if somebody
    // has already chosen processors for single PEs.
    let unbound = cards.iter().all(|card| card.allowed == union);
    if unbound && !bound && !union.is_empty() && mode == Mode::Crowded {
        // A processor that went away since the list was made: run unbound.
        let _ = cpus::pin_to(union[me % union.len()] as usize);
    }
    tracing::debug!(?mode, processors, pes = cards.len(), "waits");
    Quarters::here(&union, processors)
}

/// All PEs of a node must run the same program, or their static variables do not correspond.
fn same_program(job: &Job, cards: &[Card]) -> Result<(), Error> {
    let Some(leader) = cards.first() else { return Ok(()) };
    for (card, pe) in cards.iter().zip(&job.node().members).skip(1) {
        let shared = leader.statics > 0 && card.statics > 0;
        if shared && (card.program != leader.program || card.statics != leader.statics) {
            let first = job.node().members[0];
            return Err(Error::new(format!("PE {pe} runs a different program than PE {first}"))
                .because(format!("PE {pe} is {}, PE {first} is {}", card.program, leader.program))
                .fix(
                    "start one program on all PEs, or set SHMEM_STATICS=0 if the programs share no static variables",
                ));
        }
    }
    Ok(())
}

/// The program this process runs, by name and build-id.
pub(crate) fn program() -> String {
    let build = program::build_id().unwrap_or_else(|| "without build-id".into());
    format!("{} (build-id {build})", program::path().unwrap_or_default().display())
}

impl Card {
    fn own(statics: u64) -> Self {
        let allowed: Vec<u32> = cpus::allowed().into_iter().map(|cpu| cpu as u32).collect();
        Self { statics, usable: cpus::usable() as u32, allowed, program: program() }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.statics.to_le_bytes().to_vec();
        bytes.extend(self.usable.to_le_bytes());
        bytes.extend((self.allowed.len() as u32).to_le_bytes());
        bytes.extend(self.allowed.iter().flat_map(|cpu| cpu.to_le_bytes()));
        bytes.extend(self.program.as_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (statics, rest) = bytes.split_first_chunk()?;
        let (usable, rest) = rest.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (allowed, program) = rest.split_at_checked(4 * u32::from_le_bytes(*count) as usize)?;
        Some(Self {
            statics: u64::from_le_bytes(*statics),
            usable: u32::from_le_bytes(*usable),
            allowed: allowed.chunks_exact(4).map(|cpu| u32::from_le_bytes([cpu[0], cpu[1], cpu[2], cpu[3]])).collect(),
            program: String::from_utf8_lossy(program).into_owned(),
        })
    }
}

impl Terms {
    /// How long it is, encoded.
    const BYTES: usize = 5 * 8;

    fn encode(&self) -> Vec<u8> {
        let words = [self.heap_cap, self.heap_shift.into(), self.page, self.limited.into(), self.wait as u64];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let &[heap_cap, heap_shift @ 0..64, page, limited @ 0..2, wait] = &words[..] else { return None };
        let wait = [Wait::Auto, Wait::Spin, Wait::Yield, Wait::Sleep].into_iter().find(|way| *way as u64 == wait)?;
        let fits = page.is_power_of_two() && heap_cap <= 1 << heap_shift;
        fits.then_some(Self { heap_cap, heap_shift: heap_shift as u32, page, limited: limited != 0, wait })
    }
}

fn no_memory(what: &str, error: &std::io::Error) -> Error {
    Error::new(format!("oxshmem could not {what}"))
        .because(error.to_string())
        .fix("look at the limits of memory and descriptors (ulimit -a)")
}

fn unreadable() -> Error {
    Error::new("a PE of this node sent something unreadable at start-up")
        .because("the PEs do not run the same version of oxshmem")
        .fix("build and start all PEs with one version")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Card {
        Card { statics: 1 << 33, usable: 2, allowed: vec![0, 5, u32::MAX], program: "/bin/naïve (build-id 12)".into() }
    }

    fn terms() -> Terms {
        Terms { heap_cap: 3 << 20, heap_shift: 22, page: 4096, limited: true, wait: Wait::Sleep }
    }

    #[test]
    fn cards_and_terms_arrive_as_they_were_sent() {
        for card in [card(), Card { statics: 0, usable: 0, allowed: Vec::new(), program: String::new() }] {
            assert_eq!(Card::decode(&card.encode()), Some(card));
        }
        for wait in [Wait::Auto, Wait::Spin, Wait::Yield, Wait::Sleep] {
            let terms = Terms { wait, limited: wait == Wait::Spin, ..terms() };
            assert_eq!(Terms::decode(&terms.encode()), Some(terms));
        }
    }

    #[test]
    fn a_card_that_is_cut_short_is_unreadable() {
        let bytes = card().encode();
        let fixed = bytes.len() - card().program.len();
        for n in 0..bytes.len() {
            // The name comes last and has no length: less of it is another name.
            assert_eq!(Card::decode(&bytes[..n]).is_some(), n >= fixed, "{n} bytes");
        }
    }

    #[test]
    fn a_card_with_more_processors_than_bytes_is_unreadable() {
        let mut bytes = card().encode();
        bytes[12..16].fill(0xff);
        assert_eq!(Card::decode(&bytes), None);
    }

    #[test]
    fn terms_that_no_leader_sends_are_unreadable() {
        let bytes = terms().encode();
        for n in (0..bytes.len()).chain([bytes.len() + 1, bytes.len() + 8]) {
            let mut other = bytes.clone();
            other.resize(n, 0);
            assert_eq!(Terms::decode(&other), None, "{n} bytes");
        }
        // The cap exceeds the window; no such shift; no page; neither true nor false; no way to wait.
        for (word, value) in [(0, 1_u64 << 23), (1, 64), (2, 4095), (3, 2), (4, 9)] {
            let mut other = bytes.clone();
            other[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
            assert_eq!(Terms::decode(&other), None, "word {word} is {value}");
        }
    }
}
