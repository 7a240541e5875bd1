//! Whether a process of a PE can do nothing but wait.
//!
//! An answer that is not known counts as something that may act: then the PE is never certain, and no deadlock is reported
//! with it.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Acquire, Ordering::Release, Ordering::SeqCst};

use oxshmem_os::bystanders::{self, Thread};
use oxshmem_os::{AddressRange, Pages, SharedMemory, process};
use parking_lot::Mutex;

use oxshmem_flight::waits::{Records, Subject};

/// The threads of the launcher's and of the fabric's libraries, and the runtime's own: those that began while init made
/// them. They act for other PEs only. `None`: not known, because the program had other threads then.
static OURS: Mutex<Option<BTreeSet<Thread>>> = Mutex::new(Some(BTreeSet::new()));
/// Whether nothing that this PE has issued is under way.
static IS_QUIET: OnceLock<fn() -> bool> = OnceLock::new();

/// The threads that were there before init.
pub(crate) struct ThreadsBeforeInit(Option<BTreeSet<Thread>>);

pub(crate) fn before_init() -> ThreadsBeforeInit {
    if DESCENDANTS.load(Acquire).is_null()
        && let Some(shared) = Descendants::share()
    {
        DESCENDANTS.store(shared, Release);
    }
    ThreadsBeforeInit(threads())
}

/// Forked processes, and those that they have forked: their numbers, and last how many there are. They have the memory of the
/// heap as the PE has it, and no parent says that they exist when they are the children of a process that has ended. So each
/// enters itself, in memory that all of them share and nothing else uses.
#[repr(C)]
struct Descendants([AtomicU64; 9]);

/// Null until init, and if the system has no memory for it; then no PE is certain.
static DESCENDANTS: AtomicPtr<Descendants> = AtomicPtr::new(core::ptr::null_mut());

impl Descendants {
    /// Memory of zeros for it that children share; it is never freed.
    fn share() -> Option<*mut Self> {
        let page = oxshmem_os::memory::page_size();
        let file = SharedMemory::create(c"oxshmem forks", page as u64, Pages::Small).ok()?;
        let mut range = AddressRange::reserve(page, page).ok()?;
        range.map(0, &file, 0, page).ok()?;
        let there = range.base().cast();
        core::mem::forget(range);
        Some(there)
    }

    fn add(&self, process: u32) {
        let (count, known) = self.0.split_last().expect("it has a last word");
        if let Some(place) = known.get(count.fetch_add(1, SeqCst) as usize) {
            place.store(process.into(), SeqCst);
        }
    }

    /// The processes; `None` if one is not known.
    fn all(&self) -> Option<BTreeSet<u32>> {
        let (count, known) = self.0.split_last().expect("it has a last word");
        let known = known.get(..count.load(SeqCst) as usize)?;
        known.iter().map(|place| Some(place.load(SeqCst) as u32).filter(|process| *process > 0)).collect()
    }
}

fn descendants() -> Option<&'static Descendants> {
    // SAFETY: null, or memory that `share` has mapped and that is never unmapped; zeros are a value of atomics.
    unsafe { DESCENDANTS.load(Acquire).as_ref() }
}

/// This process is the child of a fork. Only stores to atomics and asks for its number.
pub(crate) fn has_forked() {
    if let Some(descendants) = descendants() {
        descendants.add(process::pid());
    }
}

/// Init has made what it makes.
pub(crate) fn after_init(before: ThreadsBeforeInit) {
    let mut ours = OURS.lock();
    *ours = match (ours.take(), before.0, threads()) {
        // If the caller is the program's only thread, the others that began meanwhile are not the program's.
        (Some(ours), Some(before), Some(now)) if before.difference(&ours).count() == 1 => {
            Some(ours.into_iter().chain(now.difference(&before).copied()).collect())
        }
        _ => None,
    };
}

/// A listing fails while threads begin and end.
fn threads() -> Option<BTreeSet<Thread>> {
    (0..3).find_map(|_| bystanders::threads())
}

/// Has `is_quiet` asked: whether nothing that this PE has issued is under way.
pub(crate) fn ask(is_quiet: fn() -> bool) {
    IS_QUIET.get_or_init(|| is_quiet);
}

/// The things that may act although all threads wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Idle {
    /// A handler of a signal, or a device, may store to variables of the program. The runtime's own words are safe from it.
    pub(crate) others_may_store: bool,
}

/// Whether every thread of this process that is not ours waits in the library, in waits whose looks are proof, nothing that
/// it has issued is under way, and no other process has its memory in hand.
pub(crate) fn look(records: &Records) -> Option<Idle> {
    let changes = records.changes();
    let waits = records.all();
    if waits.iter().any(|wait| matches!(wait.subject, Subject::Operation { .. } | Subject::Room { .. })) {
        return None;
    }
    if IS_QUIET.get().is_some_and(|is_quiet| !is_quiet()) {
        return None;
    }
    let waiting: BTreeSet<u32> = waits.iter().map(|wait| wait.thread).collect();
    let ours = OURS.lock();
    let ours = ours.as_ref()?;
    if bystanders::threads()?.iter().any(|thread| !ours.contains(thread) && !waiting.contains(&thread.0)) {
        return None;
    }
    let mut processes = descendants()?.all()?;
    processes.extend(bystanders::children()?);
    if bystanders::is_traced()? || processes.iter().any(|process| bystanders::maps(*process, "oxshmem")) {
        return None;
    }
    let others_may_store = bystanders::catches_signals()? || bystanders::has_helpers()?;
    (records.changes() == changes).then_some(Idle { others_may_store })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_D1_more_forked_processes_than_places_are_not_forgotten() {
        let descendants = Descendants(core::array::from_fn(|_| AtomicU64::new(0)));
        assert_eq!(descendants.all(), Some(BTreeSet::new()));
        (1..=8).for_each(|process| descendants.add(process));
        assert_eq!(descendants.all(), Some((1..=8).collect()));
        descendants.add(99);
        assert_eq!(descendants.all(), None);
    }
}
