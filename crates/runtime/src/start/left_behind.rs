//! The parts of lives that have ended while threads might be in a call on a static variable.
//!
//! Safe code cannot tell which threads are in such a call. But only a thread that was there when a part went out of reach can use it: one
//! that begins later finds nothing of that life. So the parts of a life are freed when all other threads have ended that were there at its
//! end. In a program without threads that is at once. A thread that stays, of a pool say, keeps them, whether it makes calls or not.

use std::collections::BTreeSet;

use oxshmem_os::bystanders::{self, Thread};
use parking_lot::Mutex;

/// Frees one part.
type Free = Box<dyn FnOnce() + Send>;

/// The parts of one life, and the threads that may use them.
struct LeftLife {
    threads: BTreeSet<Thread>,
    parts: Vec<Free>,
}

/// The parts of the life that is about to end.
static PARTS: Mutex<Vec<Free>> = Mutex::new(Vec::new());
/// The lives that have ended.
static LEFT: Mutex<Vec<LeftLife>> = Mutex::new(Vec::new());

/// Leaves a part of the life that is about to end. Calls that begin from now on do not find it.
pub(crate) fn leave(free: impl FnOnce() + Send + 'static) {
    PARTS.lock().push(Box::new(free));
}

/// The life has ended: no part of it can be found any more.
pub(crate) fn settle() {
    let parts = std::mem::take(&mut *PARTS.lock());
    if parts.is_empty() {
        return;
    }
    match bystanders::others() {
        Some(threads) => LEFT.lock().push(LeftLife { threads, parts }),
        // It stays in memory.
        None => std::mem::forget(parts),
    }
    collect();
}

/// Frees the lives whose threads have ended.
pub(crate) fn collect() {
    // A part may take its time, and the lock is not for that.
    let unused: Vec<_> = LEFT.lock().extract_if(.., |life| life.threads.iter().all(bystanders::is_over)).collect();
    unused.into_iter().flat_map(|life| life.parts).for_each(|free| free());
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::sync::{Arc, mpsc};

    use super::*;

    #[test]
    fn a_life_is_freed_when_the_threads_of_its_end_have_ended() {
        let freed = Arc::new(AtomicU32::new(0));
        let (end, ended) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let number = bystanders::thread_number();
            let threads = std::iter::repeat_with(bystanders::threads).flatten().next().expect("endless");
            tell.send(threads.into_iter().find(|(listed, _)| *listed == number)).expect("the test listens");
            // The test drops its end.
            let _ = ended.recv();
        });
        let there = told.recv().expect("it says so").expect("it is listed");
        let part = |freed: &Arc<AtomicU32>| -> Free {
            let freed = freed.clone();
            Box::new(move || {
                freed.fetch_add(1, SeqCst);
            })
        };
        let parts = vec![part(&freed), part(&freed)];
        LEFT.lock().push(LeftLife { threads: [there].into(), parts });
        collect();
        assert_eq!(freed.load(SeqCst), 0, "the thread may use them");
        drop(end);
        thread.join().expect("it ends well");
        // The kernel takes a thread out of its list a little later.
        while !bystanders::is_over(&there) {}
        collect();
        assert_eq!(freed.load(SeqCst), 2);
        LEFT.lock().push(LeftLife { threads: BTreeSet::new(), parts: vec![part(&freed)] });
        collect();
        assert_eq!(freed.load(SeqCst), 3, "there are no threads");
    }
}
