//! Builds the windows of a node: which PE makes which memory file, and where it is mapped.

use std::os::fd::OwnedFd;

use oxshmem_base::knobs::{NodeLevels, Settings, Wait};
use oxshmem_base::{Error, size};
use oxshmem_bootstrap::{Circle, Gathered, Membership, Parcel, node};
use oxshmem_os::memory::{self, AddressRange, Pages, SharedMemory};
use oxshmem_os::{numa_policy, statics};
use oxshmem_topology::claim::Claims;
use oxshmem_topology::{Share, share};
use parking_lot::Mutex;

use crate::memory::address_limit::AddressNeed;
use crate::memory::control::{self, ControlBlock};
use crate::memory::default_heap_size::share_of_memory;
use crate::memory::facts::{HeapTerms, MemberFacts, same_program, unreadable, widths_of};
use crate::memory::heap::{HeapBound, HeapSize, SymmetricHeap};
use crate::memory::{collected, helgrind, huge_pages, left_windows};

use crate::memory::direct::FAST;
use crate::network::neighbours::Quarters;
use crate::start::{placement, waiting};
use crate::wait::deaths::{CONTROL, Roll};
use crate::wait::pace::{self, Mode};

// The library is part of the programs that are PEs, and of no other.
oxshmem_os::share_statics!();

/// The reservations of one life. Dropping them unmaps the windows.
pub(crate) struct Windows {
    control: Mutex<Option<AddressRange>>,
    heap: Mutex<Option<AddressRange>>,
    statics: Mutex<Option<AddressRange>>,
    heap_window: usize,
    /// The leader's locks on the node's cores.
    claims: Mutex<Claims>,
    /// The leader's `SHMEM_WAIT`.
    wait: Wait,
    /// The leader's `SHMEM_NODE_LEVELS`.
    levels: NodeLevels,
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

    /// The levels by which the PEs of this node meet; the same on all of them.
    pub(crate) fn node_levels(&self) -> &NodeLevels {
        &self.levels
    }

    /// The processors of this node.
    pub(crate) fn quarters(&self) -> &Quarters {
        &self.quarters
    }

    /// Lets waits yield if this machine is `crowded`, now that its other nodes are known. All PEs of a node call it alike, before they first
    /// synchronise.
    pub(crate) fn yield_if_crowded(&self, crowded: bool) {
        if crowded && self.wait == Wait::Auto {
            pace::set_mode(Mode::Crowded);
            tracing::debug!("waits yield: with other nodes of this machine PEs outnumber its processors");
        }
    }

    /// Unmaps everything.
    pub(crate) fn close(&self) {
        self.close_heap();
        *self.control.lock() = None;
        *self.statics.lock() = None;
    }

    /// Gives back what no call on a static variable touches, and leaves the other windows as they are, until the next life has the same
    /// addresses.
    pub(crate) fn leave(&self) {
        self.close_heap();
        self.roll.leave();
        left_windows::leave(&left_windows::CONTROL, self.control.lock().take());
        left_windows::leave(&left_windows::STATICS, self.statics.lock().take());
    }

    /// Unmaps the heaps, and releases the processors.
    fn close_heap(&self) {
        collected::keep(self.heap.lock().take());
        *self.claims.lock() = Claims::default();
        placement::close();
    }
}

/// Exchanges descriptors with the node's other PEs and maps the memory of all.
pub(crate) fn open(
    job: &Membership,
    epoch: u32,
    settings: &Settings,
) -> Result<(Windows, SymmetricHeap, Circle), Error> {
    let (members, me) = (job.node().members.len(), job.node().my_index);
    helgrind::refuse(std::env::var_os("LD_PRELOAD").as_deref(), members)?;
    let region = statics::region().ok();
    let (gathered, claims) = exchange(job, epoch, settings, own_parcel(region)?)?;
    let facts = facts_of(job, &gathered.of)?;
    let (terms, shares) = HeapTerms::decode(&gathered.common.bytes).ok_or_else(unreadable)?;
    let shares = share::decode(shares).filter(|shares| shares.len() == members).ok_or_else(unreadable)?;
    // A processor that went away since the list was made: run unbound.
    let bound = placement::adopt(shares, me).unwrap_or(false);
    let files = NodeFiles::of(gathered.common.fds)?;

    let control = map_control(job, &files.control)?;
    let roll = Roll::enter(files.roll, me as u32, members as u32)
        .map_err(|error| no_memory("enter the roll of the node's PEs", &error))?;
    let heap = map_heap(&files.heap, &terms, members, me)?;
    let statics = match region {
        Some(region) if facts.iter().all(|member| member.statics > 0) => {
            let files = gathered.of.into_iter().map(|mut parcel| parcel.fds.pop());
            Some(map_statics(region, files)?)
        }
        _ => None,
    };
    // Counted over all nodes: several may be of one machine, and their first PEs would share the first processor.
    let number = job.places().pes_before(job.places().node_of(job.rank())) + me;
    let quarters = waiting::choose(terms.wait(), &facts, number, bound);
    let windows = Windows {
        control: Mutex::new(Some(control)),
        heap: Mutex::new(Some(heap)),
        statics: Mutex::new(statics),
        heap_window: 1 << terms.heap_shift,
        claims: Mutex::new(claims),
        wait: terms.wait(),
        levels: terms.node_levels(),
        quarters,
        roll,
    };
    Ok((windows, own_heap(files.heap, &terms, me), gathered.circle))
}

/// The parcel of this PE: its facts, and the memory behind its static variables if others can map it.
fn own_parcel(region: Option<&statics::Statics>) -> Result<Parcel, Error> {
    let bytes = MemberFacts::own(region.map_or(0, |region| region.len as u64)).encode();
    let fds = match region {
        Some(region) => {
            vec![region.memory.fd().try_clone_to_owned().map_err(|e| no_memory("share the statics", &e))?]
        }
        None => Vec::new(),
    };
    Ok(Parcel { bytes, fds })
}

/// Exchanges parcels with the node's other PEs. The leader decides for all and makes the files; the claims are its own, and nobody else
/// has any.
fn exchange(job: &Membership, epoch: u32, settings: &Settings, mine: Parcel) -> Result<(Gathered, Claims), Error> {
    let mut claims = Claims::default();
    let common = |parcels: &[Parcel]| {
        let facts: Vec<MemberFacts> = parcels.iter().filter_map(|parcel| MemberFacts::decode(&parcel.bytes)).collect();
        let allowed: Vec<&[u32]> = facts.iter().map(|member| &member.allowed[..]).collect();
        let decision = placement::decide(job, settings, &allowed).map_err(std::io::Error::other)?;
        claims = decision.claims;
        let need = AddressNeed::of(&facts, 1 << control::SHIFT);
        let left = facts.iter().map(|member| member.addresses_left).min().unwrap_or(u64::MAX);
        make_common(&need, left, settings, &decision.shares)
    };
    let gathered = node::share(job, epoch, mine, common)?;
    Ok((gathered, claims))
}

/// The facts of all members, which run one program.
fn facts_of(job: &Membership, parcels: &[Parcel]) -> Result<Vec<MemberFacts>, Error> {
    let facts: Vec<MemberFacts> = parcels
        .iter()
        .map(|parcel| MemberFacts::decode(&parcel.bytes))
        .collect::<Option<_>>()
        .ok_or_else(unreadable)?;
    same_program(job, &facts)?;
    Ok(facts)
}

/// The files of a node, which its leader has made.
struct NodeFiles {
    control: SharedMemory,
    heap: SharedMemory,
    roll: OwnedFd,
}

impl NodeFiles {
    /// Those of the descriptors that [`make_common`] has sent.
    fn of(fds: Vec<OwnedFd>) -> Result<Self, Error> {
        let mut fds = fds.into_iter();
        let (Some(control), Some(heap), Some(roll)) = (fds.next(), fds.next(), fds.next()) else {
            return Err(unreadable());
        };
        Ok(Self {
            control: SharedMemory::from_fd(control).map_err(|e| no_memory("open the control windows", &e))?,
            heap: SharedMemory::from_fd(heap).map_err(|e| no_memory("open the heap windows", &e))?,
            roll,
        })
    }
}

/// Maps the control windows of all members, and makes them the current ones.
fn map_control(job: &Membership, file: &SharedMemory) -> Result<AddressRange, Error> {
    let (members, me) = (job.node().members.len(), job.node().my_index);
    let left = left_windows::take(&left_windows::CONTROL, members << control::SHIFT);
    let range = map_whole(left, file, members, control::SHIFT, memory::page_size(), "control windows")
        .map_err(|error| error.fix(more_addresses()))?;
    placement::keep_near(&range, me << control::SHIFT, 1 << control::SHIFT, me);
    control::open(range.base() as usize, range.len(), me as u32);
    ControlBlock::own().show(job.rank());
    Ok(range)
}

/// Maps the heaps of all members, and lets the data path find them. The pages of the own one come from where the processors are, unless
/// the user has chosen where the memory of the program comes from.
fn map_heap(file: &SharedMemory, terms: &HeapTerms, members: usize, me: usize) -> Result<AddressRange, Error> {
    let shift = terms.heap_shift;
    let range = map_whole(None, file, members, shift, terms.page as usize, "symmetric heaps")
        .map_err(|error| error.fix(format!("lower SHMEM_SYMMETRIC_SIZE, or {}", more_addresses())))?;
    if !numa_policy::is_chosen() {
        placement::keep_near(&range, me << shift, 1 << shift, me);
    }
    let base = range.base() as usize;
    FAST.heap.open(base + (me << shift), 0, base, shift);
    Ok(range)
}

/// The advice to a user whose PEs have too few addresses. A process without a limit has as many as the kernel gives one: on some machines
/// half a tebibyte.
fn more_addresses() -> &'static str {
    match memory::addresses_left() {
        Some(_) => "raise the limit of addresses (ulimit -v): addresses cost no memory",
        None => "run fewer PEs on a node: the kernel gives a process no more addresses",
    }
}

/// The heap of this PE, without blocks.
fn own_heap(file: SharedMemory, terms: &HeapTerms, me: usize) -> SymmetricHeap {
    let at = (me as u64) << terms.heap_shift;
    let window = 1 << terms.heap_shift;
    let mut heap = SymmetricHeap::new(file, at, HeapSize { cap: terms.heap_cap, window }, terms.page, terms.bound);
    if terms.guarded {
        heap.guard(heap.size().guarded());
    }
    heap
}

/// The most addresses that one arena takes: a quarter of the 47 bits that x86-64 gives a process. AArch64 gives 39 to 48 bits.
const MOST_ADDRESSES: u64 = 1 << 45;

/// Runs on the leader: makes the files that all share. The tightest limit of addresses leaves `left`.
fn make_common(need: &AddressNeed, left: u64, settings: &Settings, shares: &[Share]) -> std::io::Result<Parcel> {
    let members = need.members as usize;
    let most_addressed = need.largest_heap(left).map_err(std::io::Error::other)?;
    let control = SharedMemory::create(CONTROL, (members as u64) << control::SHIFT, Pages::Small)?;
    let huge = huge_pages::choose(settings).map_err(std::io::Error::other)?;
    let page = huge.unwrap_or(memory::page_size() as u64);
    let limited = settings.symmetric_size.is_some();
    let wanted = settings.symmetric_size.map_or_else(|| share_of_memory(members), with_slack);
    let most = (MOST_ADDRESSES / members as u64 + 1).next_power_of_two() / 2;
    if limited && wanted > most {
        let wished = size::setting(settings.symmetric_size.unwrap_or(wanted));
        return Err(std::io::Error::other(
            Error::new(format!("SHMEM_SYMMETRIC_SIZE={wished} is too large for {members} PEs on one node"))
                .because(format!("the addresses of a node are enough for {} on each", size::display(most)))
                .fix(format!("set SHMEM_SYMMETRIC_SIZE to {} or less", size::setting(without_slack(most)))),
        ));
    }
    if limited && wanted > most_addressed {
        let why = need.too_little(wanted.next_power_of_two(), left);
        return Err(std::io::Error::other(format!("{why}, or lower SHMEM_SYMMETRIC_SIZE")));
    }
    let heap_cap = wanted.min(most).min(most_addressed);
    let bound = match limited {
        true => HeapBound::User,
        false if heap_cap < wanted => HeapBound::Addresses,
        false => HeapBound::Memory,
    };
    let guarded = settings.check >= 3;
    let most_guarded = HeapSize { cap: heap_cap, window: most.min(most_addressed) }.guarded();
    let room = if guarded { most_guarded } else { heap_cap };
    let heap_shift = room.max(page).next_power_of_two().trailing_zeros();
    let pages = huge.map_or(Pages::Small, Pages::Huge);
    let heap = SharedMemory::create(c"oxshmem heap", (members as u64) << heap_shift, pages)?;
    let terms = HeapTerms {
        heap_cap,
        heap_shift,
        page,
        bound,
        wait: settings.wait as u8,
        guarded,
        widths: widths_of(&settings.node_levels),
    };
    let roll = SharedMemory::create(c"oxshmem roll", members as u64, Pages::Small)?;
    let files = [&control, &heap, &roll];
    let fds = files.iter().map(|file| file.fd().try_clone_to_owned()).collect::<Result<_, _>>()?;
    Ok(Parcel { bytes: [terms.encode(), share::encode(shares)].concat(), fds })
}

/// The slack of a heap: one part in so many of the size that the user asks for, and these bytes.
const SLACK_SHARE: u64 = 64;
const LEAST_SLACK: u64 = 64 << 10;

/// A little more than the user asked for, so that alignment does not eat into it (HEAP-11). Zero stays zero.
fn with_slack(size: u64) -> u64 {
    if size == 0 { 0 } else { size.saturating_add(size / SLACK_SHARE).saturating_add(LEAST_SLACK) }
}

/// The most that a user may ask for where there are `most` bytes, in whole units of the size that fits.
fn without_slack(most: u64) -> u64 {
    let exact = most.saturating_sub(LEAST_SLACK) / (SLACK_SHARE + 1) * SLACK_SHARE;
    let (mebibyte, gibibyte) = (1 << 20, 1 << 30);
    let unit = if exact < gibibyte { mebibyte } else { gibibyte };
    exact / unit * unit
}

/// Maps the windows of all members. Huge pages are only mapped at multiples of their size. Windows begin at multiples of theirs, so that
/// what is aligned in the heap is aligned in memory, whatever the power of two (HEAP-6): some kernels place long mappings well by
/// themselves. `left`: the range of the last life, which takes the place of a new one.
fn map_whole(
    left: Option<AddressRange>,
    file: &SharedMemory,
    members: usize,
    shift: u32,
    page: usize,
    what: &str,
) -> Result<AddressRange, Error> {
    let bytes = members << shift;
    let map = || {
        let mut range = left.map_or_else(|| AddressRange::reserve(bytes, page.max(1 << shift)), Ok)?;
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
    files: impl ExactSizeIterator<Item = Option<OwnedFd>>,
) -> Result<AddressRange, Error> {
    let shift = region.len.next_power_of_two().trailing_zeros();
    let bytes = files.len() << shift;
    let mut range = left_windows::take(&left_windows::STATICS, bytes)
        .map_or_else(|| AddressRange::reserve(bytes, memory::page_size()), Ok)
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

fn no_memory(what: &str, error: &std::io::Error) -> Error {
    Error::new(format!("oxshmem could not {what}"))
        .because(error.to_string())
        .fix("look at the limits of memory and descriptors (ulimit -a)")
}
