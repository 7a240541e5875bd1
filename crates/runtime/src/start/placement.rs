//! Where the PEs of this node are: on which processors, whose memory they use, which network card. The node's leader
//! looks at the machine, alone and once, and tells the others.

use std::io;

use oxshmem_base::Error;
use oxshmem_base::knobs::{Bind, Settings};
use oxshmem_bootstrap::Membership;
use oxshmem_os::memory::AddressRange;
use oxshmem_os::{cpus, process, program};
use oxshmem_topology::claim::{self, Claims, JobWords};
use oxshmem_topology::map::{self, Shown};
use oxshmem_topology::placement::{self, Groups};
use oxshmem_topology::{Discovered, Map, PePlace, Share, discover, nic, share};
use parking_lot::{Mutex, MutexGuard};

/// The instructions to the PEs of the node, by window, and the caller's window; nothing while the library is not
/// initialised.
static SHARES: Mutex<(Vec<Share>, usize)> = Mutex::new((Vec::new(), 0));
/// The leader's words for `SHMEM_INFO`.
static WORDS: Mutex<String> = Mutex::new(String::new());

/// The leader's decisions, for the others to receive.
#[derive(Debug, Default)]
pub(crate) struct PlacementDecision {
    /// The instruction to each PE.
    pub(crate) shares: Vec<Share>,
    /// The node's cores, for as long as the job uses them.
    pub(crate) claims: Claims,
}

/// Runs on the leader: decides for PEs that may run on these processors.
pub(crate) fn decide(job: &Membership, settings: &Settings, allowed: &[&[u32]]) -> Result<PlacementDecision, Error> {
    let wish = nic::Wish::of(settings)?;
    let node = job.node();
    let alone = allowed.len() == 1 && node.count == 1;
    if alone && settings.bind == Bind::None && !settings.info {
        return Ok(PlacementDecision { shares: vec![Share::default()], ..PlacementDecision::default() });
    }
    let Discovered { node: machine, source, rejected } = discover(&settings.topology)?;
    // Only PEs that are not bound yet are bound here.
    let free = allowed.iter().all(|cpus| *cpus == allowed[0]);
    let bind = free && settings.bind != Bind::None;
    let processors = if bind {
        placement::processors(&machine, allowed[0], allowed.len(), settings.bind, Map::Block)
    } else {
        allowed.iter().map(|cpus| cpus.to_vec()).collect()
    };
    let mut places = placement::places(&machine, &processors);
    nic::assign(&machine, &mut places, &wish)?;
    let rails = nic::rails(&machine, &places, &wish)?;
    let source = match &rejected[..] {
        [] => source.to_string(),
        reasons => format!("{source}, because: {}", reasons.join("; ")),
    };
    tracing::debug!(node = machine.describe(), source, "topology");
    // The leader of each node knows its own PEs, and PE 0 prints what it knows.
    let host = if node.count == 1 { "node".to_owned() } else { format!("node {} of {}", node.index, node.count) };
    let shown = Shown { host: &host, node: &machine, source: &source, pes: &node.members, places: &places };
    *words() = map::line(&shown);
    // Every node of a job is likely to be the same.
    let far = nic::warning(&machine, &node.members, &places).filter(|_| node.count > 1 && node.index == 0);
    let (claims, taken) = if settings.bind != Bind::None || apart(&places) {
        claim_cores(job, &machine, &places)
    } else {
        (Claims::default(), None)
    };
    for warning in far.into_iter().chain(taken) {
        process::say(&format!("oxshmem: {warning}\n"));
    }
    Ok(PlacementDecision { shares: share::shares(&machine, &places, &rails, bind), claims })
}

/// Whether each PE has been given processors of its own.
fn apart(places: &[PePlace]) -> bool {
    let mut all: Vec<u32> = places.iter().flat_map(|place| place.cpus.iter().copied()).collect();
    let before = all.len();
    all.sort_unstable();
    all.dedup();
    places.len() > 1 && all.len() == before
}

/// Locks the cores of these places against other jobs, and says which other job has some of them.
fn claim_cores(job: &Membership, machine: &oxshmem_topology::Node, places: &[PePlace]) -> (Claims, Option<String>) {
    let Some(folder) = claim::folder() else { return Default::default() };
    let all: Vec<u32> = places.iter().flat_map(|place| place.cpus.iter().copied()).collect();
    // PEs of several virtual nodes are one job. One that no launcher has named is the process that has started its PEs, which may be a shell.
    let name = job.name().map(str::to_owned).unwrap_or_else(|| match job.size() {
        1 => format!("of process {}", process::pid()),
        _ => format!("of process {}", process::parent()),
    });
    let program = program::path().unwrap_or_default().display().to_string();
    let (claims, taken) = claim::claim(&folder, machine, &all, JobWords { program: &program, job: &name });
    (claims, claim::warning(&taken))
}

/// Takes this PE's part: binds it, and remembers the parts of all PEs. Returns whether it was bound.
pub(crate) fn adopt(shares: Vec<Share>, me: usize) -> io::Result<bool> {
    let mine = shares.get(me).map(|share| share.bind.clone()).unwrap_or_default();
    *lock() = (shares, me);
    if mine.is_empty() {
        return Ok(false);
    }
    cpus::bind_to(&mine).map(|()| true)
}

/// Asks for memory of this PE's NUMA node behind a part of a range.
pub(crate) fn keep_near(range: &AddressRange, offset: usize, len: usize, me: usize) {
    let Some(numa) = lock().0.get(me).and_then(|share| share.numa) else { return };
    if let Err(error) = range.prefer_numa(offset, len, numa) {
        // Containers may forbid it. The memory is slower then, but usable.
        tracing::debug!(%error, numa, "memory is not bound");
    }
}

/// The network cards of the node in the order in which this PE should use them, by the names that fabric libraries know,
/// and over how many of them its long transfers go: its share, or all if it is the node's first PE, because that one leads most
/// teams and carries their long collectives for the node.
pub(crate) fn cards() -> (Vec<String>, usize) {
    let (shares, me) = &*lock();
    let cards = shares.get(*me).map(|share| share.nics.clone()).unwrap_or_default();
    let mine = if *me == 0 { cards.len() } else { cards.len() / shares.len().max(1) };
    (cards, mine.max(1))
}

/// Which PEs of the node are close to each other, by window.
pub(crate) fn groups() -> Groups {
    let (shares, _) = &*lock();
    Groups {
        l3: shares.iter().map(|share| share.l3_group).collect(),
        numa: shares.iter().map(|share| share.numa_group).collect(),
        package: shares.iter().map(|share| share.package_group).collect(),
    }
}

/// One line for `SHMEM_INFO`; the leader has it.
pub(crate) fn describe() -> String {
    words().clone()
}

/// Forgets everything.
pub(crate) fn close() {
    lock().0.clear();
    words().clear();
}

fn lock() -> MutexGuard<'static, (Vec<Share>, usize)> {
    SHARES.lock()
}

fn words() -> MutexGuard<'static, String> {
    WORDS.lock()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn place(cpus: &[u32]) -> PePlace {
        PePlace { cpus: cpus.into(), numa: None, l3: None, package: None, nic: None, hops: 0 }
    }

    #[test]
    fn pes_are_apart_when_no_processor_is_shared() {
        assert!(apart(&[place(&[0, 2]), place(&[1, 3])]));
        assert!(!apart(&[place(&[0, 1]), place(&[1])]) && !apart(&[place(&[0])]));
    }
}
