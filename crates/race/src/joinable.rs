//! Threads that may be joined, by the handles that the system gives them.
//!
//! The system gives a handle to another thread as soon as the one that had it has been joined. So a thread that joins asks first which one it
//! joins: when it comes back, a third thread may have made one more with this handle. That of a thread that detaches itself is free as soon
//! as it ends, perhaps before the one that made it knows the handle. So a thread is added by itself or by its maker, whichever comes first.

use std::collections::HashMap;

/// Bits of the number by which a thread is known that hold its strand and one more.
const STRAND_BITS: u32 = 16;

/// The strands of a PE's threads.
#[derive(Debug, Default)]
pub struct JoinableThreads {
    /// How many there have been.
    made: u64,
    /// How many there had been when the present life began.
    before: u64,
    /// By handle: the thread's number among all, and its strand.
    threads: HashMap<u64, (u64, u32)>,
}

impl JoinableThreads {
    /// The thread with this handle is this strand.
    pub fn add(&mut self, handle: u64, strand: u32) {
        self.made += 1;
        self.threads.insert(handle, (self.made, strand));
    }

    /// [`Self::add`] by the thread itself as it begins, or by the one that has made it. `is_known` belongs to both, and is false before: the
    /// second adds nothing, because another thread may have the handle by then. Returns whether the caller is the second.
    pub fn add_once(&mut self, handle: u64, strand: u32, is_known: &mut bool) -> bool {
        let is_second = std::mem::replace(is_known, true);
        if !is_second {
            self.add(handle, strand);
        }
        is_second
    }

    /// The thread with this handle cannot be joined any more.
    pub fn forget(&mut self, handle: u64) {
        self.threads.remove(&handle);
    }

    /// The thread that has the handle now, as a number that is not 0; 0 if nothing is known of it.
    pub fn known(&self, handle: u64) -> u64 {
        self.threads.get(&handle).map_or(0, |&(number, strand)| number << STRAND_BITS | (u64::from(strand) + 1))
    }

    /// The strand of a thread that has been joined. `known` is what was known of the handle before; a thread that has made itself known
    /// since then is the one that was joined.
    pub fn joined(&mut self, handle: u64, known: u64) -> Option<u32> {
        let (number, strand) = (known >> STRAND_BITS, (known & ((1 << STRAND_BITS) - 1)) as u32);
        if number <= self.before {
            return self.threads.remove(&handle).map(|(_, strand)| strand);
        }
        if self.threads.get(&handle).is_some_and(|(present, _)| *present == number) {
            self.threads.remove(&handle);
        }
        strand.checked_sub(1)
    }

    /// Another life of the library begins, in which strands have other numbers.
    pub fn forget_all(&mut self) {
        self.before = self.made;
        self.threads.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_gets_the_handle_of_a_joined_one_is_another_one() {
        let mut threads = JoinableThreads::default();
        threads.add(7, 3);
        let first = threads.known(7);
        // The first thread has ended, and the joiner has not come back: the handle and the number of the strand are free again.
        threads.add(7, 3);
        let second = threads.known(7);
        assert!(first != second && first != 0);
        assert_eq!((threads.joined(7, first), threads.known(7)), (Some(3), second));
        threads.add(7, 5);
        assert_eq!(threads.joined(7, second), Some(3));
        let third = threads.known(7);
        assert_eq!((threads.joined(7, third), threads.known(7)), (Some(5), 0));
    }

    #[test]
    fn the_handle_of_a_thread_that_has_detached_itself_is_that_of_the_next_one() {
        let mut threads = JoinableThreads::default();
        let [mut of_first, mut of_second] = [false; 2];
        assert!(!threads.add_once(7, 3, &mut of_first));
        threads.forget(7);
        assert_eq!(threads.known(7), 0);
        // The first thread has ended, and its maker comes late.
        assert!(!threads.add_once(7, 4, &mut of_second));
        assert!(threads.add_once(7, 3, &mut of_first));
        let second = threads.known(7);
        assert!(threads.add_once(7, 4, &mut of_second));
        assert_eq!((threads.joined(7, second), threads.known(7)), (Some(4), 0));
    }

    #[test]
    fn a_thread_that_made_itself_known_late_is_found_when_it_has_been_joined() {
        let mut threads = JoinableThreads::default();
        let nothing = threads.known(7);
        threads.add(7, 3);
        assert_eq!((threads.joined(7, nothing), threads.joined(7, nothing)), (Some(3), None));
        // It lives on in another life of the library.
        threads.add(7, 3);
        let earlier = threads.known(7);
        threads.forget_all();
        threads.add(7, 0);
        assert_eq!((threads.joined(7, earlier), threads.joined(7, earlier)), (Some(0), None));
    }
}
