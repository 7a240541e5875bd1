//! Transfers with a buffer of their own, completed by waiting or by `await`.

use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context as Task, Poll};

use crate::backend::{self, order, rma};
use crate::transfer::Way;
use crate::{Error, Plain, Symmetric, Target, mistake};

/// A transfer under way. It owns the buffer and gives it back when it has completed.
///
/// Dropping it waits for the transfer; forgetting it leaks the buffer, which then stays where it is. So neither leaves
/// the network with memory that is in use elsewhere.
///
/// On the node a transfer has completed when the call that starts it returns, so `await` never suspends.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let numbers = world.allocate_slice(2, 0)?;
/// let both = [numbers[..1].put_owned(vec![1], 0), numbers[1..].put_owned(vec![2], 0)];
/// let buffers = both.map(oxshmem::Pending::wait);
/// assert_eq!(numbers.to_vec(), buffers.concat());
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "the buffer comes back from `wait` or `await`"]
pub struct Pending<'a, T, P: Target> {
    /// Gone once it has been given back.
    buffer: Option<Vec<T>>,
    /// The target, and thereby the context to complete.
    target: P,
    home: backend::Home,
    place: PhantomData<&'a Symmetric<[T]>>,
}

impl<T: Plain> Symmetric<[T]> {
    /// Starts to write the first `buffer.len()` elements of `to`'s copy.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(3, 0)?;
    /// let buffer = numbers.put_owned(vec![1, 2, 3], 0).wait();
    /// assert_eq!(numbers.to_vec(), buffer);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_put_nbi")]
    #[track_caller]
    pub fn put_owned<P: Target>(&self, buffer: Vec<T>, to: P) -> Pending<'_, T, P> {
        self.fits("Symmetric::put_owned", buffer.len());
        let Way(via, pe) = to.resolve("Symmetric::put_owned");
        // SAFETY: a place is symmetric or the call ends the job; both have the elements, and the buffer stays until the
        // transfer has completed.
        unsafe { rma::put_nbi(via, self.as_ptr(), buffer.as_ptr(), buffer.len(), pe) };
        Pending { buffer: Some(buffer), target: to, home: backend::home(), place: PhantomData }
    }

    /// Starts to read the first `buffer.len()` elements of `from`'s copy into the buffer.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(3, 5)?;
    /// assert_eq!(numbers.get_owned(vec![0; 2], 0).wait(), [5, 5]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_get_nbi")]
    #[track_caller]
    pub fn get_owned<P: Target>(&self, mut buffer: Vec<T>, from: P) -> Pending<'_, T, P> {
        self.fits("Symmetric::get_owned", buffer.len());
        let Way(via, pe) = from.resolve("Symmetric::get_owned");
        // SAFETY: a place is symmetric or the call ends the job; both have the elements, and the buffer stays until the
        // transfer has completed.
        unsafe { rma::get_nbi(via, buffer.as_mut_ptr(), self.as_ptr(), buffer.len(), pe) };
        Pending { buffer: Some(buffer), target: from, home: backend::home(), place: PhantomData }
    }
}

impl<T, P: Target> Pending<'_, T, P> {
    /// Waits until the transfer has completed, and gives the buffer back.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(2, 5)?;
    /// let transfer = numbers.get_owned(vec![0; 2], 0);
    /// // … something else meanwhile …
    /// assert_eq!(transfer.wait(), [5, 5]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the future has given the buffer back already.
    #[inline]
    #[track_caller]
    pub fn wait(mut self) -> Vec<T> {
        self.complete().expect("a transfer gives its buffer back once")
    }

    #[inline]
    fn complete(&mut self) -> Option<Vec<T>> {
        let buffer = self.buffer.take()?;
        if backend::home() != self.home {
            // The transfer is still under way, so the buffer must not be freed.
            core::mem::forget(buffer);
            elsewhere();
        }
        let Way(via, _) = self.target.resolve("Pending::wait");
        // SAFETY: the target borrows its context, so the context has not been destroyed.
        unsafe { order::quiet(via) };
        Some(buffer)
    }
}

#[cold]
fn elsewhere() -> ! {
    mistake(
        &Error::new("a transfer is completed by a thread that is not the PE that started it")
            .because("in a world of threads a PE is one thread, which moves its own transfers on")
            .fix("wait for it where it was started, or run the test with processes"),
    )
}

impl<T, P: Target> fmt::Debug for Pending<'_, T, P> {
    /// Not the buffer, which is in flux.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("completed", &self.buffer.is_none()).finish_non_exhaustive()
    }
}

// The buffer is never pinned.
impl<T, P: Target> Unpin for Pending<'_, T, P> {}

impl<T, P: Target> Future for Pending<'_, T, P> {
    type Output = Vec<T>;

    /// Ready with the buffer.
    ///
    /// # Panics
    /// If it has been ready before.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, _task: &mut Task<'_>) -> Poll<Vec<T>> {
        Poll::Ready(self.complete().expect("a transfer gives its buffer back once"))
    }
}

impl<T, P: Target> Drop for Pending<'_, T, P> {
    fn drop(&mut self) {
        self.complete();
    }
}
