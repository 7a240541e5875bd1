//! The atomics of the protocols between PEs: the processor's, or, under `--cfg loom`, those of the model checker, so that
//! it runs the very lines that ship. What only hints, counts or describes uses `core`'s atomics directly.

#[cfg(loom)]
pub(crate) use modelled::{AtomicU32, AtomicU64, Cell, Mistake, crowd, crowded, fence, futex, pretend, yield_now};
#[cfg(not(loom))]
pub(crate) use real::{AtomicU32, AtomicU64, Cell, fence, futex};

/// A value with a cache line (and its neighbour) of its own.
#[repr(C, align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

#[cfg(not(loom))]
mod real {
    pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, fence};
    pub(crate) use oxshmem_os::futex;

    /// Plain memory that a protocol hands from PE to PE.
    #[repr(transparent)]
    pub(crate) struct Cell<T>(core::cell::UnsafeCell<T>);

    impl<T> Cell<T> {
        #[inline(always)]
        pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
            read(self.0.get())
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
            write(self.0.get())
        }
    }
}

/// The model checker's, with switches that break them: a model that does not notice proves nothing.
#[cfg(loom)]
mod modelled {
    use std::cell::Cell as Switch;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
    use std::time::Duration;

    pub(crate) use loom::cell::UnsafeCell as Cell;
    pub(crate) use loom::thread::yield_now;

    /// The mistake that a model makes on purpose.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Mistake {
        /// Every store and read-modify-write publishes nothing.
        NoRelease,
        /// Every load and read-modify-write sees nothing.
        NoAcquire,
        NoFence,
    }

    thread_local! {
        /// The threads of a model share a thread of the system.
        static PRETENDED: Switch<Option<Mistake>> = const { Switch::new(None) };
        static CROWDED: Switch<bool> = const { Switch::new(false) };
    }

    /// Whether PEs outnumber processors in this model.
    pub(crate) fn crowded() -> bool {
        CROWDED.get()
    }

    /// Decides it.
    pub(crate) fn crowd(crowded: bool) {
        CROWDED.set(crowded);
    }

    /// Makes the mistake from now on.
    pub(crate) fn pretend(mistake: Option<Mistake>) {
        PRETENDED.set(mistake);
    }

    /// The order of a read-modify-write, mistaken or not.
    fn made(order: Ordering) -> Ordering {
        match (PRETENDED.get(), order) {
            (Some(Mistake::NoRelease), Release) | (Some(Mistake::NoAcquire), Acquire) => Relaxed,
            (Some(Mistake::NoRelease), AcqRel | SeqCst) => Acquire,
            (Some(Mistake::NoAcquire), AcqRel | SeqCst) => Release,
            _ => order,
        }
    }

    pub(crate) fn fence(order: Ordering) {
        if PRETENDED.get() != Some(Mistake::NoFence) {
            loom::sync::atomic::fence(order);
        }
    }

    macro_rules! atomic {
        ($name:ident $int:ty) => {
            pub(crate) struct $name(loom::sync::atomic::$name);

            impl $name {
                pub(crate) fn new(value: $int) -> Self {
                    Self(loom::sync::atomic::$name::new(value))
                }
                pub(crate) fn load(&self, order: Ordering) -> $int {
                    let blind = PRETENDED.get() == Some(Mistake::NoAcquire);
                    self.0.load(if blind { Relaxed } else { order })
                }
                pub(crate) fn store(&self, value: $int, order: Ordering) {
                    let silent = PRETENDED.get() == Some(Mistake::NoRelease);
                    self.0.store(value, if silent { Relaxed } else { order })
                }
                pub(crate) fn swap(&self, value: $int, order: Ordering) -> $int {
                    self.0.swap(value, made(order))
                }
                pub(crate) fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_add(value, made(order))
                }
                pub(crate) fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_sub(value, made(order))
                }
                pub(crate) fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_or(value, made(order))
                }
                pub(crate) fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                    self.0.fetch_and(value, made(order))
                }
                pub(crate) fn compare_exchange(
                    &self,
                    from: $int,
                    to: $int,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$int, $int> {
                    self.0.compare_exchange(from, to, made(success), failure)
                }
            }
        };
    }

    atomic!(AtomicU32 u32);
    atomic!(AtomicU64 u64);

    /// Futexes as the kernel has them: comparing and falling asleep is one step for wakers. No timeouts, so that a lost
    /// wake-up is a deadlock, which the checker reports.
    pub(crate) mod futex {
        use super::*;
        use loom::sync::{Condvar, Mutex};

        loom::lazy_static! {
            static ref KERNEL: Mutex<Vec<(usize, Arc<Condvar>)>> = Mutex::new(Vec::new());
        }

        fn queue(queues: &mut Vec<(usize, Arc<Condvar>)>, word: &AtomicU32) -> Arc<Condvar> {
            let address = core::ptr::from_ref(word) as usize;
            if let Some((_, queue)) = queues.iter().find(|(at, _)| *at == address) {
                return queue.clone();
            }
            let queue = Arc::new(Condvar::new());
            queues.push((address, queue.clone()));
            queue
        }

        pub(crate) fn wait(word: &AtomicU32, expected: u32, _at_most: Option<Duration>) -> bool {
            let mut queues = KERNEL.lock().expect("models do not panic in here");
            let queue = queue(&mut queues, word);
            if word.load(SeqCst) == expected {
                drop(queue.wait(queues).expect("models do not panic in here"));
            }
            true
        }

        pub(crate) fn wake(word: &AtomicU32, _sleepers: u32) -> usize {
            let mut queues = KERNEL.lock().expect("models do not panic in here");
            queue(&mut queues, word).notify_all();
            0
        }
    }
}

/// A full fence behind a sequentially consistent read-modify-write, which on x86 is one already.
#[inline(always)]
pub(crate) fn fence_after_update() {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    #[cfg(not(all(target_arch = "x86_64", not(loom))))]
    fence(core::sync::atomic::Ordering::SeqCst);
}
