//! Objects that all PEs change atomically, and waiting for them.

use oxshmem_runtime::calls::amo::{AmoInteger as ProcessorInteger, AmoType as Processor};

use crate::backend::{self, amo, p2p};
use crate::transfer::{Target, Way};
use crate::{Comparison, Plain, Resident, Symmetric};

/// A number that all PEs may change at once. It lives in a [`Symmetric`] place, which has its operations; transfers of
/// plain data cannot touch it, so nothing breaks its atomicity.
///
/// ```
/// use oxshmem::Atomic;
/// oxshmem::symmetric! { static VISITS: Atomic<u64> = Atomic::new(0); }
/// let world = oxshmem::World::init()?;
/// assert_eq!(VISITS.fetch_add(1, 0), 0);
/// assert_eq!(VISITS.load(), 1);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Atomic<T>(T);

/// The place of an atomic number.
///
/// ```
/// use oxshmem::{Atomic, SymmetricAtomic};
/// fn take_ticket(counter: &SymmetricAtomic<u64>) -> u64 {
///     counter.fetch_inc(0)
/// }
/// let world = oxshmem::World::init()?;
/// let counter = world.allocate(Atomic::new(7))?;
/// assert_eq!(take_ticket(&counter), 7);
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub type SymmetricAtomic<T> = Symmetric<Atomic<T>>;

// SAFETY: a number, see `AtomicValue`.
unsafe impl<T: AtomicValue> Resident for Atomic<T> {}

/// A number that the atomic operations know.
///
/// ```
/// fn latest<T: oxshmem::AtomicValue>(place: &oxshmem::SymmetricAtomic<T>, pe: usize) -> T {
///     place.fetch(pe)
/// }
/// let world = oxshmem::World::init()?;
/// let place = world.allocate(oxshmem::Atomic::new(2.5))?;
/// assert_eq!(latest(&place, 0), 2.5);
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait AtomicValue: Plain + PartialOrd + Processor {}

/// An [`AtomicValue`] that can be compared and counted with.
///
/// ```
/// fn count<T: oxshmem::AtomicInteger>(place: &oxshmem::SymmetricAtomic<T>) {
///     place.inc(0);
/// }
/// let world = oxshmem::World::init()?;
/// let counter = world.allocate(oxshmem::Atomic::new(1_i32))?;
/// count(&counter);
/// assert_eq!(counter.load(), 2);
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait AtomicInteger: AtomicValue + ProcessorInteger {}

macro_rules! atomic_values {
    ($($integer:ty)*; $($float:ty)*) => {
        $(impl AtomicValue for $integer {} impl AtomicInteger for $integer {})*
        $(impl AtomicValue for $float {})*
    };
}

atomic_values! { i32 u32 i64 u64 isize usize; f32 f64 }

impl<T: AtomicValue> Atomic<T> {
    /// With this value at first.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate(oxshmem::Atomic::new(3))?.load(), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub const fn new(value: T) -> Self {
        Self(value)
    }
}

/// One atomic operation: what it says, the C call, what it takes, what it returns.
macro_rules! operations {
    ($bound:ident: $(
        $what:literal $name:ident($($argument:ident),*) $(-> $result:ty)?, $call:literal, $expect:literal;
    )*) => {
        impl<T: $bound> Symmetric<Atomic<T>> {$(
            #[doc = concat!($what, " on the copy of `pe`.")]
            ///
            /// ```
            /// let world = oxshmem::World::init()?;
            /// let number = world.allocate(oxshmem::Atomic::new(6_u32))?;
            #[doc = $expect]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = $call)]
            #[inline(always)]
            #[cfg_attr(feature = "race", track_caller)]
            pub fn $name(&self, $($argument: T,)* pe: impl Target) $(-> $result)? {
                let Way(via, pe) = pe.resolve(concat!("Symmetric::", stringify!($name)));
                // SAFETY: a place is symmetric or the call ends the job, and only atomics touch this one.
                unsafe { amo::$name(via, self.own().cast::<T>(), $($argument,)* pe) }
            }
        )*}
    };
}

operations! { AtomicValue:
    "Reads," fetch() -> T, "shmem_atomic_fetch", "assert_eq!(number.fetch(0), 6);";
    "Writes," set(value), "shmem_atomic_set", "number.set(1, 0); assert_eq!(number.load(), 1);";
    "Replaces and returns the old value," swap(value) -> T, "shmem_atomic_swap", "assert_eq!(number.swap(1, 0), 6);";
}

operations! { AtomicInteger:
    "Replaces if the old value is `cond`, and returns the old value," compare_swap(cond, value) -> T,
        "shmem_atomic_compare_swap", "assert_eq!(number.compare_swap(6, 1, 0), 6); assert_eq!(number.load(), 1);";
    "Adds one and returns the old value," fetch_inc() -> T, "shmem_atomic_fetch_inc",
        "assert_eq!(number.fetch_inc(0), 6); assert_eq!(number.load(), 7);";
    "Adds one," inc(), "shmem_atomic_inc", "number.inc(0); assert_eq!(number.load(), 7);";
    "Adds, wrapping, and returns the old value," fetch_add(value) -> T, "shmem_atomic_fetch_add",
        "assert_eq!(number.fetch_add(2, 0), 6); assert_eq!(number.load(), 8);";
    "Adds, wrapping," add(value), "shmem_atomic_add", "number.add(2, 0); assert_eq!(number.load(), 8);";
    "Bitwise and, and returns the old value," fetch_and(value) -> T, "shmem_atomic_fetch_and",
        "assert_eq!(number.fetch_and(3, 0), 6); assert_eq!(number.load(), 2);";
    "Bitwise and," and(value), "shmem_atomic_and", "number.and(3, 0); assert_eq!(number.load(), 2);";
    "Bitwise or, and returns the old value," fetch_or(value) -> T, "shmem_atomic_fetch_or",
        "assert_eq!(number.fetch_or(1, 0), 6); assert_eq!(number.load(), 7);";
    "Bitwise or," or(value), "shmem_atomic_or", "number.or(1, 0); assert_eq!(number.load(), 7);";
    "Bitwise exclusive or, and returns the old value," fetch_xor(value) -> T, "shmem_atomic_fetch_xor",
        "assert_eq!(number.fetch_xor(2, 0), 6); assert_eq!(number.load(), 4);";
    "Bitwise exclusive or," xor(value), "shmem_atomic_xor", "number.xor(2, 0); assert_eq!(number.load(), 4);";
}

impl<T: AtomicValue> Symmetric<Atomic<T>> {
    /// The value of this PE's copy now. Data that its writer stored before it, in order, can be read afterwards.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate(oxshmem::Atomic::new(3))?.load(), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn load(&self) -> T {
        backend::look();
        // SAFETY: a place is valid and aligned, and only atomics touch this one.
        let value = unsafe { T::load(self.own().cast()) };
        backend::detector::sees(self.as_ptr());
        value
    }

    /// Writes this PE's copy.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(oxshmem::Atomic::new(3))?;
    /// number.store(4);
    /// assert_eq!(number.load(), 4);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline(always)]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn store(&self, value: T) {
        // SAFETY: a place is valid and aligned for a `T`, and only atomics touch this one.
        unsafe { amo::store("Atomic::store", self.own().cast::<T>(), value) }
    }

    /// Waits until this PE's copy satisfies the comparison. [`until`](Self::until) is the form for `async`.
    ///
    /// ```
    /// use oxshmem::{Atomic, Comparison::AtLeast};
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(Atomic::new(3))?;
    /// number.add(4, 0);
    /// number.wait_until(AtLeast(7));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_wait_until")]
    #[inline(always)]
    pub fn wait_until(&self, comparison: Comparison<T>) {
        let (cmp, value) = comparison.parts();
        // SAFETY: a place is valid and aligned for a `T`, and only atomics touch this one.
        unsafe { p2p::wait_until(self.own().cast::<T>(), cmp, value) }
    }

    /// Whether this PE's copy satisfies the comparison.
    ///
    /// ```
    /// use oxshmem::{Atomic, Comparison::{Below, Is}};
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(Atomic::new(3))?;
    /// assert!(number.test(Is(3)) && !number.test(Below(3)));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_test")]
    #[inline(always)]
    #[must_use]
    pub fn test(&self, comparison: Comparison<T>) -> bool {
        let (cmp, value) = comparison.parts();
        // SAFETY: a place is valid and aligned for a `T`, and only atomics touch this one.
        unsafe { p2p::test(self.own().cast::<T>(), cmp, value) != 0 }
    }
}
