//! A second thread in the library where the program has promised that there is one at a time.
//!
//! Below `SHMEM_THREAD_MULTIPLE` nothing keeps two threads of a PE apart, so both may wait for ever for what the other has taken.
//! Long waits keep records. Two records of one PE with different threads are the proof, whatever the level below. A collective that
//! returns at once and has stopped half way keeps one, too, which no thread is in.

use std::ffi::c_int;

use oxshmem_base::Error;
use oxshmem_flight::waits::WaitEntry;

use crate::diagnosis::errors;
use crate::memory::control::ControlBlock;
use crate::start::state;

/// The levels at which one thread at a time is in the library.
const ALONE: [&str; 3] = ["SHMEM_THREAD_SINGLE", "SHMEM_THREAD_FUNNELED", "SHMEM_THREAD_SERIALIZED"];

/// The name of a level at which one thread at a time is in the library.
fn promise(level: c_int) -> Option<&'static str> {
    ALONE.get(usize::try_from(level).ok()?).copied()
}

/// At `SHMEM_CHECK=2` and above: ends the job with a message if another thread of this PE is in a long wait, too. The caller is
/// in one and has a record of it.
#[cold]
pub(crate) fn look_for(call: &'static str, own: &ControlBlock) {
    let Some(life) = state::current().filter(|_| state::is_checked()) else { return };
    let Some(promise) = promise(life.thread_level) else { return };
    let mut waits = own.records.all();
    // A collective that returns at once waits without a thread of its own.
    waits.retain(WaitEntry::has_thread);
    let Some(first) = waits.first() else { return };
    let Some(other) = waits.iter().find(|wait| wait.thread != first.thread) else { return };
    errors::fail(
        &Error::new(format!("{call}: two threads of this PE are in the library at once"))
            .because(format!(
                "thread {} waits in {} and thread {} in {}, but the library was initialised with {promise}",
                first.thread, first.call, other.thread, other.call
            ))
            .fix("call shmem_init_thread with SHMEM_THREAD_MULTIPLE, or let one thread at a time make calls"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_levels_below_multiple_promise_one_thread() {
        let promises = [0, 1, 2, 3, -1].map(promise);
        assert_eq!(promises, [Some(ALONE[0]), Some(ALONE[1]), Some(ALONE[2]), None, None]);
    }
}
