//! Signals, and puts that end with one.

use core::ffi::c_int;

use crate::backend::signal;
use crate::transfer::{Target, Way};
use crate::{Comparison, Plain, Resident, Symmetric};

/// A word that tells a PE that data has come. What was put before it by the same call can be read once it is seen.
///
/// ```
/// use oxshmem::{Comparison::AtLeast, Signal, Update};
/// oxshmem::symmetric! { static ARRIVED: Signal = Signal::new(0); }
/// let world = oxshmem::World::init()?;
/// let inbox = world.allocate_slice(4, 0)?;
/// inbox.put_signal(&[1, 2, 3, 4], &ARRIVED, Update::Add(1), 0);
/// assert_eq!(ARRIVED.wait_until(AtLeast(1)), 1);
/// assert_eq!(inbox.to_vec(), [1, 2, 3, 4]);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Signal(u64);

// SAFETY: a number.
unsafe impl Resident for Signal {}

impl Signal {
    /// With this value at first.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate(oxshmem::Signal::new(1))?.fetch(), 1);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub const fn new(value: u64) -> Self {
        Self(value)
    }
}

/// The change of the signal.
///
/// ```
/// use oxshmem::{Signal, Update};
/// let world = oxshmem::World::init()?;
/// let signal = world.allocate(Signal::new(1))?;
/// [Update::Set(5), Update::Add(2)].into_iter().for_each(|update| signal.update(update, 0));
/// assert_eq!(signal.fetch(), 7);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// It gets the value.
    Set(u64),
    /// The value is added.
    Add(u64),
}

impl Update {
    /// The operation's number in the C header, and the value.
    #[inline(always)]
    pub(crate) fn parts(self) -> (c_int, u64) {
        match self {
            Self::Set(value) => (0, value),
            Self::Add(value) => (1, value),
        }
    }
}

impl Symmetric<Signal> {
    /// Updates the signal of `pe`.
    ///
    /// ```
    /// use oxshmem::{Signal, Update};
    /// let world = oxshmem::World::init()?;
    /// let signal = world.allocate(Signal::new(1))?;
    /// signal.update(Update::Add(2), 0);
    /// assert_eq!(signal.fetch(), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmemx_signal_set")]
    #[doc(alias = "shmemx_signal_add")]
    #[inline(always)]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn update(&self, update: Update, pe: impl Target) {
        // SAFETY: a place is symmetric or the call ends the job, and only signal calls touch this one.
        match update {
            Update::Set(value) => {
                let Way(via, pe) = pe.resolve("Symmetric::update");
                // SAFETY: a place is symmetric or the call ends the job, and only signal calls touch this one.
                unsafe { signal::signal_set(via, self.own().cast(), value, pe) }
            }
            Update::Add(value) => {
                let Way(via, pe) = pe.resolve("Symmetric::update");
                // SAFETY: a place is symmetric or the call ends the job, and only signal calls touch this one.
                unsafe { signal::signal_add(via, self.own().cast(), value, pe) }
            }
        }
    }

    /// The value of this PE's signal now.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate(oxshmem::Signal::new(1))?.fetch(), 1);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_signal_fetch")]
    #[inline(always)]
    #[must_use]
    pub fn fetch(&self) -> u64 {
        // SAFETY: a place is valid and aligned, and only signal calls touch this one.
        unsafe { signal::signal_fetch(self.own().cast()) }
    }

    /// Waits until this PE's signal satisfies the comparison, and returns the value that did. [`until`](Self::until) is
    /// the form for `async`.
    ///
    /// ```
    /// use oxshmem::{Comparison::Not, Signal};
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate(Signal::new(1))?.wait_until(Not(0)), 1);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_signal_wait_until")]
    #[inline(always)]
    pub fn wait_until(&self, comparison: Comparison<u64>) -> u64 {
        let (cmp, value) = comparison.parts();
        // SAFETY: a place is valid and aligned, and only signal calls touch this one.
        unsafe { signal::signal_wait_until(self.own().cast(), cmp, value) }
    }
}

impl<T: Plain> Symmetric<[T]> {
    /// [`put_slice`](Self::put_slice), then an update of a signal of the same PE that comes after the data.
    ///
    /// ```
    /// use oxshmem::{Signal, Update};
    /// let world = oxshmem::World::init()?;
    /// let (inbox, signal) = (world.allocate_slice(2, 0)?, world.allocate(Signal::new(0))?);
    /// inbox.put_signal(&[1, 2], &signal, Update::Set(9), 0);
    /// assert_eq!((signal.fetch(), inbox.to_vec()), (9, vec![1, 2]));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_put_signal")]
    #[inline(always)]
    #[track_caller]
    pub fn put_signal(&self, source: &[T], signal: &Symmetric<Signal>, update: Update, to: impl Target) {
        self.fits("Symmetric::put_signal", source.len());
        let Way(via, pe) = to.resolve("Symmetric::put_signal");
        let (operation, value) = update.parts();
        let (dest, word) = (self.as_ptr(), signal.own().cast());
        // SAFETY: places are symmetric or the call ends the job; both sides have the elements, and only signal calls touch
        // the signal.
        unsafe { signal::put_signal(via, dest, source.as_ptr(), source.len(), word, value, operation, pe) }
    }
}
