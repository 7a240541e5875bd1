//! Work that may touch memory that is not there, and the message with which the process then ends.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

use crate::signals::keeping_handlers;

/// The message with which the process ends: its address, and its length.
static WORDS: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Does `work` by one thread at a time. If it faults, the process writes `words` and a new line to its standard error, and exits with
/// status 1.
pub fn ending_with<R>(words: &str, work: impl FnOnce() -> R) -> R {
    let words = format!("{words}\n");
    keeping_handlers(|| {
        LENGTH.store(words.len(), Relaxed);
        WORDS.store(words.as_ptr().cast_mut(), Relaxed);
        for fault in [libc::SIGSEGV, libc::SIGBUS] {
            // SAFETY: the handler is a function of this type that calls nothing but write and _exit, which signal handlers may.
            unsafe { libc::signal(fault, say as *const () as libc::sighandler_t) };
        }
        let result = work();
        WORDS.store(ptr::null_mut(), Relaxed);
        result
    })
}

extern "C" fn say(_signal: libc::c_int) {
    let (words, length) = (WORDS.load(Relaxed), LENGTH.load(Relaxed));
    if !words.is_null() {
        // SAFETY: the words live until the work is over, and the work has not ended: it has stopped here.
        unsafe { libc::write(libc::STDERR_FILENO, words.cast(), length) };
    }
    // SAFETY: ends the process, and touches nothing of it.
    unsafe { libc::_exit(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_said_if_the_work_faults_and_not_otherwise() {
        assert_eq!(ending_with("nothing is wrong", || 7), 7);
        if oxshmem_test_folder::is_again() {
            ending_with("the stack is gone", || {
                // SAFETY: the page is not readable: the test is about the fault.
                unsafe { ptr::read_volatile(crate::memory::page_size() as *const u8) }
            });
        }
        let output = oxshmem_test_folder::again(&[]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.ends_with("the stack is gone\n"), "{said}");
    }
}
