//! Work by several threads, where one program does not use all processors.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

/// Programs that run at a time, unless a check knows better.
pub const AT_ONCE: usize = 2;

/// `work` on every element, by this many threads, with the results in the order of the elements.
pub fn in_parallel<T: Sync, R: Send>(threads: usize, elements: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let queue = Mutex::new((0..elements.len()).collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::with_capacity(elements.len()));
    let next = || queue.lock().expect("no worker panics while it holds the queue").pop_front();
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(index) = next() {
                    let result = work(&elements[index]);
                    done.lock().expect("no worker panics while it holds the results").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("all workers have ended");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
