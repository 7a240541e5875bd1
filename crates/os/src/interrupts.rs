//! Signals of a program whose language runs the handlers itself. The interpreter's C function only notes that a signal has come. A
//! thread that waits in the library has the interpreter run the handlers.

use core::cell::Cell;
use core::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The interpreter's function: it runs the handlers of signals that have come. It gives 0, or another number if the call that the
/// thread waits in has to end.
pub type InterruptCheck = extern "C" fn() -> c_int;

thread_local! {
    /// The function that this thread calls in its waits.
    static CHECK: Cell<Option<InterruptCheck>> = const { Cell::new(None) };
}

/// Whether SIGINT does no more than end a call. The thread that runs handlers writes it while it waits. Nothing is published with
/// it, and its reader looks again and again.
static ONLY_END_CALLS: AtomicBool = AtomicBool::new(false);

/// The word of the calling thread that holds the interpreter's function. A writer stores null, or the address of a function
/// that stays as long as the word holds it.
pub fn check_word() -> *mut Option<InterruptCheck> {
    CHECK.with(Cell::as_ptr)
}

/// Has the interpreter run its handlers. Says whether the call that the thread waits in has to end.
pub fn end_call() -> bool {
    CHECK.get().is_some_and(|check| check() != 0)
}

/// The handler of SIGINT does no more than end a call, or it may do anything.
pub fn set_only_end_calls(yes: bool) {
    ONLY_END_CALLS.store(yes, Relaxed);
}

pub(crate) fn only_end_calls() -> bool {
    ONLY_END_CALLS.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn ends() -> c_int {
        1
    }

    #[test]
    fn a_thread_asks_the_function_that_it_has_written() {
        assert!(!end_call());
        let word = check_word();
        // SAFETY: the word is this thread's, and the function is part of the program.
        unsafe { word.write(Some(ends)) };
        assert!(end_call());
        assert!(!std::thread::spawn(end_call).join().expect("it only asks"));
        // SAFETY: the word is that of this thread, and null stands for no function.
        unsafe { word.write(None) };
        assert!(!end_call());
    }
}
