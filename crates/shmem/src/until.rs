//! Waiting for a symmetric variable in `async` code.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context as Task, Poll};

use oxshmem_runtime::calls::amo;

use crate::reactor::{self, Awaited};
use crate::{Atomic, AtomicValue, Comparison, Signal, Symmetric, backend};

/// Ready when this PE's copy of a variable satisfies the comparison, with the value that did. It runs on any executor,
/// and costs it nothing while it waits.
///
/// ```
/// use std::task::{Context, Poll, Waker};
/// use oxshmem::{Atomic, Comparison::Is, Until};
/// let world = oxshmem::World::init()?;
/// let flag = world.allocate(Atomic::new(1_u32))?;
/// let until: Until<'_, u32> = flag.until(Is(1));
/// let polled = std::pin::pin!(until).poll(&mut Context::from_waker(Waker::noop()));
/// assert_eq!(polled, Poll::Ready(1));
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Until<'a, T: AtomicValue> {
    variable: &'a Symmetric<Atomic<T>>,
    comparison: Comparison<T>,
    /// The reactor's name for it, once it has waited.
    watch: Option<u64>,
}

impl<T: AtomicValue> Symmetric<Atomic<T>> {
    /// [`wait_until`](Self::wait_until) for `async`: says which value ended the wait.
    ///
    /// ```
    /// use oxshmem::{Atomic, Comparison::AtLeast};
    /// # use std::task::{Context, Poll, Waker};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     loop {
    /// #         if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
    /// #             return output;
    /// #         }
    /// #     }
    /// # }
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(Atomic::new(3))?;
    /// assert_eq!(block_on(async { number.until(AtLeast(3)).await }), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn until(&self, comparison: Comparison<T>) -> Until<'_, T> {
        Until { variable: self, comparison, watch: None }
    }
}

impl Symmetric<Signal> {
    /// [`wait_until`](Self::wait_until) for `async`.
    ///
    /// ```
    /// use oxshmem::{Comparison::AtLeast, Signal};
    /// let world = oxshmem::World::init()?;
    /// let signal = world.allocate(Signal::new(3))?;
    /// let arrived = async { signal.until(AtLeast(3)).await };
    /// # let _ = arrived;
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn until(&self, comparison: Comparison<u64>) -> Until<'_, u64> {
        // SAFETY: a signal is a number that is read atomically, and this future does nothing else.
        let variable = unsafe { &*self.own().cast_const().cast::<Symmetric<Atomic<u64>>>() };
        Until { variable, comparison, watch: None }
    }
}

impl<T: AtomicValue> Until<'_, T> {
    fn look(&self) -> Option<T> {
        // SAFETY: a place is valid and aligned, and only atomics touch this one.
        let seen = unsafe { <T as amo::AmoType>::load(self.variable.own().cast()) };
        backend::detector::sees(self.variable.as_ptr());
        Some(seen).filter(|seen| self.comparison.holds(*seen))
    }
}

// The variable is elsewhere.
impl<T: AtomicValue> Unpin for Until<'_, T> {}

impl<T: AtomicValue> Future for Until<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<T> {
        if let Some(seen) = self.look() {
            return Poll::Ready(seen);
        }
        if backend::look_later() {
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        let id = *self.watch.get_or_insert_with(reactor::new_id);
        let (address, comparison) = (self.variable.own() as usize, self.comparison);
        let ready = move || {
            // SAFETY: the watch ends with this future, or if that was forgotten, with the variable's memory.
            comparison.holds(unsafe { <T as amo::AmoType>::load(address as *mut T) })
        };
        reactor::watch(id, Awaited::Variable("Symmetric::until", address), ready, task.waker());
        Poll::Pending
    }
}

impl<T: AtomicValue> Drop for Until<'_, T> {
    fn drop(&mut self) {
        if let Some(id) = self.watch {
            reactor::end(id);
        }
    }
}
