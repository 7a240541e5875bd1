//! A list that only grows: threads go through it without a lock while others add to it.

use std::sync::OnceLock;

use parking_lot::Mutex;

/// More segments than memory has room for.
const SEGMENTS: usize = usize::BITS as usize;

/// Items in the order in which they were added.
///
/// # Memory order
///
/// A segment and each of its places are set once, with release, and read with acquire ([`OnceLock`]): a thread that sees an item sees all
/// that was done to it before. Places are set one after the other, under the lock of `count`, so the first empty one is the end of the
/// list. A thread that has heard of an item by any other way sees it here, with all those before it.
pub(crate) struct AppendList<T> {
    /// The n-th has room for 2^n items, so no item ever moves.
    segments: [OnceLock<Box<[OnceLock<T>]>>; SEGMENTS],
    /// How many items there are, for threads that add one.
    count: Mutex<usize>,
}

impl<T> Default for AppendList<T> {
    fn default() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS], count: Mutex::new(0) }
    }
}

impl<T> AppendList<T> {
    /// Adds an item. Returns how many there are with it.
    pub(crate) fn push(&self, item: T) -> usize {
        let mut count = self.count.lock();
        // The first item is in segment 0, the next two are in segment 1, the next four in segment 2.
        let number = *count + 1;
        let segment = number.ilog2();
        let first = 1_usize << segment;
        let places = self.segments[segment as usize].get_or_init(|| (0..first).map(|_| OnceLock::new()).collect());
        let is_new = places[number - first].set(item).is_ok();
        debug_assert!(is_new, "each place is set once");
        *count = number;
        number
    }

    /// The items that this thread sees.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let places = self.segments.iter().map_while(OnceLock::get).flat_map(|places| places.iter());
        places.map_while(OnceLock::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_through_the_list_sees_its_beginning_while_others_add() {
        const MANY: usize = if cfg!(miri) { 40 } else { 4000 };
        let list = AppendList::default();
        assert_eq!(list.iter().count(), 0);
        std::thread::scope(|scope| {
            let adding = scope.spawn(|| (0..MANY).for_each(|item| assert_eq!(list.push(item), item + 1)));
            while !adding.is_finished() {
                let seen: Vec<usize> = list.iter().copied().collect();
                assert!(seen.iter().copied().eq(0..seen.len()), "{seen:?}");
            }
        });
        assert!(list.iter().copied().eq(0..MANY));
    }

    #[test]
    fn items_of_several_threads_are_there_once() {
        const MANY: usize = if cfg!(miri) { 20 } else { 1000 };
        let list = AppendList::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let list = &list;
                scope.spawn(move || (0..MANY).for_each(|i| assert!(list.push(4 * i + thread) <= 4 * MANY)));
            }
        });
        let mut items: Vec<usize> = list.iter().copied().collect();
        items.sort_unstable();
        assert!(items.into_iter().eq(0..4 * MANY));
    }
}
