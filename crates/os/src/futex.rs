//! Sleeping until another process changes a word of shared memory.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` is `expected`, until [`wake`] or for the time given. Returns false when the time ran out.
///
/// True promises nothing about the word: it may have differed from the start, a signal may have come. Look again.
pub fn wait(word: &AtomicU32, expected: u32, at_most: Option<Duration>) -> bool {
    let timeout = at_most.map(|time| libc::timespec {
        // More than the kernel's clock can hold is as good as for ever.
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: time.subsec_nanos() as _,
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), |timeout| timeout as *const libc::timespec);
    // SAFETY: the word outlives the call because it is borrowed, and the kernel only reads it. The timeout is null or
    // lives on our stack. The call is not PRIVATE, because the waker may be another process.
    let result = unsafe { syscall!(syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, timeout)) };
    !matches!(result, Err(error) if error.raw_os_error() == Some(libc::ETIMEDOUT))
}

/// Wakes up to `sleepers` of the threads that wait on `word`, in any process that maps it. Returns how many it woke.
pub fn wake(word: &AtomicU32, sleepers: u32) -> usize {
    let sleepers = i32::try_from(sleepers).unwrap_or(i32::MAX);
    // SAFETY: waking only takes the word's address, which is valid because it is borrowed.
    let woken = unsafe { syscall!(syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, sleepers)) };
    woken.map_or(0, |woken| woken as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_changed_word_is_not_waited_for() {
        assert!(wait(&AtomicU32::new(1), 2, None));
    }

    #[test]
    fn time_runs_out() {
        assert!(!wait(&AtomicU32::new(1), 1, Some(Duration::from_millis(2))));
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    wait(&word, 0, Some(Duration::MAX));
                }
            });
            word.store(1, SeqCst);
            while !sleeper.is_finished() {
                wake(&word, u32::MAX);
            }
        });
    }

    #[test]
    fn a_sleeper_in_another_mapping_of_the_same_memory_is_woken() {
        let memory = crate::SharedMemory::create(c"futex test", 4096, crate::Pages::Small).expect("memory");
        let maps = [0, 1].map(|_| {
            let mut range = crate::AddressRange::reserve(4096, 4096).expect("addresses");
            range.map(0, &memory, 0, 4096).expect("a mapping");
            range
        });
        // SAFETY: both mappings are live until the end of the test, page aligned and only used as this atomic.
        let [here, there] = [0, 1].map(|i| unsafe { AtomicU32::from_ptr(maps[i].base().cast()) });
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| wait(there, 0, None));
            while !sleeper.is_finished() && wake(here, 1) == 0 {}
            assert!(sleeper.join().expect("no panic"));
        });
    }
}
