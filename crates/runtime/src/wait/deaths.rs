//! The roll call of a node: which PEs are gone without having said so.
//!
//! A PE that returns from `main` or calls `exit` says so itself (`calls::init::lifetime`). One that ends by `_exit`, by a signal, or
//! as the parent of a daemon does not, and one that becomes another program by `exec` does not even end. So each PE holds a
//! lock on one byte of a file that the node shares. The kernel takes the lock back in all these cases, because it belongs
//! to the process and the file is closed on exec; a forked child does not have it. It needs no number of a process, so it
//! works between containers too.
//!
//! PEs that wait for long call the roll. Each call looks at a part of the node, and the caller's neighbours come first, so that many
//! waiting PEs soon have looked at all. The finding goes to the window of the PE that is gone, where all PEs see it.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

use oxshmem_os::{OwnDescriptor, locks, process};
use parking_lot::Mutex;

use crate::memory::control::{ControlBlock, State};

/// A PE calls no more often than this.
const EVERY: Duration = Duration::from_millis(50);
/// Within so many calls a PE that waits alone has looked at all.
const CALLS: u32 = 16;
/// How many PEs a call looks at, at the least.
const FEWEST: u32 = 16;

/// The name of the file with the control windows, which every PE has mapped.
pub(crate) const CONTROL: &CStr = oxshmem_flight::index::FILE;

/// How the caller finds the PEs of its node that are gone.
pub(crate) struct Roll {
    entry: Mutex<RollEntry>,
    me: u32,
    pes: u32,
    next: AtomicU32,
}

/// The part of the roll that one thread at a time uses.
struct RollEntry {
    /// Its byte number i is locked by the PE in window i. No other code opens or closes this file here: closing any descriptor of it
    /// would give the lock back. `None`: the caller has left.
    file: Option<OwnDescriptor>,
    called: Option<Instant>,
}

impl Roll {
    /// The caller in window `me` of `pes` is present from now on.
    pub(crate) fn enter(file: OwnedFd, me: u32, pes: u32) -> io::Result<Roll> {
        let file = OwnDescriptor::new(file)?;
        locks::hold_byte(&file, me.into())?;
        // Release: who finds the process finds its lock.
        ControlBlock::of(me).process.store(process::pid(), Release);
        let entry = Mutex::new(RollEntry { file: Some(file), called: None });
        Ok(Roll { entry, me, pes, next: AtomicU32::new(me + 1) })
    }

    /// The caller's lock ends. Before that it has published a state in which no PE asks for the lock.
    pub(crate) fn leave(&self) {
        self.entry.lock().file = None;
    }

    /// Looks at `first` and some others, unless it has just been done, and marks those that are gone.
    pub(crate) fn call(&self, first: Option<u32>) {
        let mut entry = self.entry.lock();
        let RollEntry { file: Some(file), called } = &mut *entry else { return };
        if called.is_some_and(|called| called.elapsed() < EVERY) {
            return;
        }
        *called = Some(Instant::now());
        let count = FEWEST.max(self.pes / CALLS).min(self.pes);
        let start = self.next.fetch_add(count, Relaxed);
        let some = (0..count).map(|i| start.wrapping_add(i) % self.pes);
        for window in first.into_iter().chain(some).filter(|window| *window != self.me) {
            let block = ControlBlock::of(window);
            // A PE that leaves in order changes its state before its lock ends: the second look at the state decides.
            if is_present(block) && is_gone(file, window) && is_present(block) {
                block.set_state(State::Gone);
            }
        }
    }
}

/// Whether the PE in a window that was present no longer is; `file` is the roll's.
fn is_gone(file: &OwnDescriptor, window: u32) -> bool {
    // A PE whose lock cannot be queried counts as present.
    if locks::is_byte_held(file, window.into()).unwrap_or(true) {
        return false;
    }
    // A process that has closed all of its descriptors (`closefrom`) has lost the lock and still is a PE. If it can be
    // seen from here, its mappings tell: with another program they would be gone.
    !is_seen(ControlBlock::of(window).process.load(Relaxed))
}

/// Whether a PE has entered the roll and has not said that it leaves. One that is still in its init has entered when the number of its
/// process is there.
fn is_present(block: &ControlBlock) -> bool {
    match block.state() {
        State::Running => true,
        State::Starting => block.process.load(Acquire) > 0,
        State::Finalized | State::Gone => false,
    }
}

/// Whether another PE with this number of a process is seen to be one. In containers with processes of their own PEs may have the same
/// number, such as 1. Here it is the caller's then, and its mappings tell nothing of the other PE.
fn is_seen(number: u32) -> bool {
    number != process::pid() && process::maps(number, CONTROL)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::process::Command;

    use oxshmem_os::memory::{AddressRange, Pages, SharedMemory, page_size};

    use super::*;
    use crate::memory::control;

    /// The number of a process that has ended.
    fn ended() -> u32 {
        let mut child = Command::new("true").spawn().expect("a child");
        let number = child.id();
        child.wait().expect("our child");
        number
    }

    #[test]
    fn a_pe_that_ends_in_its_init_is_gone_and_one_that_has_not_come_is_not() {
        control::tests::windows();
        let file = SharedMemory::create(c"roll", 20, Pages::Small).expect("memory");
        let roll = Roll::enter(file.fd().try_clone_to_owned().expect("a descriptor"), 16, 19).expect("a free byte");
        let [absent, dead] = [17, 18].map(ControlBlock::of);
        dead.process.store(ended(), Relaxed);
        roll.call(Some(18));
        assert_eq!([absent.state(), dead.state()], [State::Starting, State::Gone]);
    }

    /// A life that has ended leaves its roll to threads that may still wait.
    #[test]
    fn who_has_left_keeps_no_descriptor_and_marks_nobody() {
        control::tests::windows();
        let file = SharedMemory::create(c"roll", 23, Pages::Small).expect("memory");
        let roll = Roll::enter(file.fd().try_clone_to_owned().expect("a descriptor"), 20, 23).expect("a free byte");
        let dead = ControlBlock::of(21);
        dead.process.store(ended(), Relaxed);
        roll.leave();
        assert!(roll.entry.lock().file.is_none());
        roll.call(Some(21));
        assert_eq!(dead.state(), State::Starting);
    }

    #[test]
    fn the_callers_own_mappings_are_those_of_no_other_pe() {
        let memory = SharedMemory::create(CONTROL, page_size() as u64, Pages::Small).expect("memory");
        let mut range = AddressRange::reserve(page_size(), 1).expect("addresses");
        range.map(0, &memory, 0, page_size()).expect("a mapping");
        assert!(process::maps(process::pid(), CONTROL));
        assert!(!is_seen(process::pid()));
    }
}
