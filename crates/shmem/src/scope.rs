//! Transfers that may still be under way when the call returns, with buffers that are borrowed for as long.

use core::marker::PhantomData;

use oxshmem_runtime as runtime;

use crate::backend::{amo, number, order, rma, signal};
use crate::{Atomic, AtomicInteger, AtomicValue, Context, Plain, Signal, Symmetric, Update, World};

/// The time in which transfers without waiting are under way, from [`World::scope`] or [`Context::scope`].
///
/// Their buffers are lent to it and come back when it ends, which completes the transfers.
///
/// ```
/// use oxshmem::{Scope, Symmetric};
/// fn halo<'scope>(scope: &'scope Scope<'scope, '_>, row: &'scope Symmetric<[f64]>, edge: &'scope mut [f64]) {
///     scope.get(&row[..1], edge, 0);
/// }
/// let world = oxshmem::World::init()?;
/// let (row, mut edge) = (world.allocate_slice(8, 1.5)?, [0.0]);
/// world.scope(|scope| halo(scope, &row, &mut edge));
/// assert_eq!(edge, [1.5]);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    context: runtime::ContextHandle,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
    one_thread: PhantomData<*const ()>,
}

impl World {
    /// Starts any number of transfers and completes them at the end.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(4, 7)?;
    /// let (out, mut back) = ([1, 2], [0, 0]);
    /// world.scope(|scope| {
    ///     scope.put(&numbers, &out, 0);
    ///     scope.get(&numbers[2..], &mut back, 0);
    /// });
    /// assert_eq!((numbers.to_vec(), back), (vec![1, 2, 7, 7], [7, 7]));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn scope<'env, R>(&'env self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
        scope(self.default_context(), body)
    }
}

impl Context<'_> {
    /// Starts any number of transfers on this context and completes them at the end. PE numbers are those of its team.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(2, 7)?;
    /// let mut back = [0, 0];
    /// world.context().scope(|scope| scope.get(&numbers, &mut back, 0));
    /// assert_eq!(back, [7, 7]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn scope<'env, R>(&'env self, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
        scope(self.handle, body)
    }
}

fn scope<'env, R>(
    context: runtime::ContextHandle,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
) -> R {
    // Completes on every way out, a panic's too: the buffers are the caller's again afterwards.
    let _at_the_end = Complete(context);
    body(&Scope { context, scope: PhantomData, env: PhantomData, one_thread: PhantomData })
}

struct Complete(runtime::ContextHandle);

impl Drop for Complete {
    fn drop(&mut self) {
        complete(self.0);
    }
}

/// Completes what was issued on the context.
pub(crate) fn complete(context: runtime::ContextHandle) {
    // SAFETY: the caller passes the context of a scope, which is destroyed only when the scope has completed.
    unsafe { order::quiet(runtime::On(context, "Scope::quiet")) }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts to write the first `source.len()` elements of `pe`'s copy.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(2, 7)?;
    /// world.scope(|scope| scope.put(&numbers, &[8], 0));
    /// assert_eq!(numbers.to_vec(), [8, 7]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_put_nbi")]
    #[inline]
    #[track_caller]
    pub fn put<T: Plain>(&'scope self, dest: &'scope Symmetric<[T]>, source: &'scope [T], pe: usize) {
        dest.fits("Scope::put", source.len());
        let via = runtime::On(self.context, "Scope::put");
        // SAFETY: a place is symmetric or the call ends the job; both have the elements and are borrowed until the scope
        // has completed.
        unsafe { rma::put_nbi(via, dest.as_ptr(), source.as_ptr(), source.len(), number(pe)) }
    }

    /// Starts to read the first `dest.len()` elements of `pe`'s copy.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(2, 7)?;
    /// let mut one = [0];
    /// world.scope(|scope| scope.get(&numbers, &mut one, 0));
    /// assert_eq!(one, [7]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_get_nbi")]
    #[inline]
    #[track_caller]
    pub fn get<T: Plain>(&'scope self, source: &'scope Symmetric<[T]>, dest: &'scope mut [T], pe: usize) {
        source.fits("Scope::get", dest.len());
        let via = runtime::On(self.context, "Scope::get");
        // SAFETY: a place is symmetric or the call ends the job; both have the elements and are borrowed until the scope
        // has completed, `dest` exclusively.
        unsafe { rma::get_nbi(via, dest.as_mut_ptr(), source.as_ptr(), dest.len(), number(pe)) }
    }

    /// Starts to write the first `source.len()` elements of `pe`'s copy, and then to update a signal of the same PE.
    ///
    /// ```
    /// use oxshmem::{Signal, Update};
    /// let world = oxshmem::World::init()?;
    /// let (numbers, come) = (world.allocate_slice(2, 7)?, world.allocate(Signal::new(0))?);
    /// world.scope(|scope| scope.put_signal(&numbers, &[8, 9], &come, Update::Set(1), 0));
    /// assert_eq!((numbers.to_vec(), come.fetch()), (vec![8, 9], 1));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_put_signal_nbi")]
    #[inline]
    #[track_caller]
    pub fn put_signal<T: Plain>(
        &'scope self,
        dest: &'scope Symmetric<[T]>,
        source: &'scope [T],
        signal: &'scope Symmetric<Signal>,
        update: Update,
        pe: usize,
    ) {
        dest.fits("Scope::put_signal", source.len());
        let via = runtime::On(self.context, "Scope::put_signal");
        let (operation, value) = update.parts();
        let (to, word) = (dest.as_ptr(), signal.own().cast());
        // SAFETY: a place is symmetric or the call ends the job; both have the elements and are borrowed until the scope
        // has completed. Only signal calls touch the signal.
        unsafe { signal::put_signal_nbi(via, to, source.as_ptr(), source.len(), word, value, operation, number(pe)) }
    }

    /// Completes what this scope has started so far; the buffers stay lent.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(2, 7)?;
    /// world.scope(|scope| {
    ///     scope.put(&numbers, &[8], 0);
    ///     scope.quiet();
    ///     assert_eq!(numbers[0].get(0), 8);
    /// });
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[inline]
    pub fn quiet(&self) {
        complete(self.context);
    }
}

/// One atomic whose answer comes at the end: what it says, the C call, what it takes.
macro_rules! operations {
    ($bound:ident: $(
        $what:literal $name:ident($($argument:ident: $given:literal),*) $nbi:ident, $call:literal, $left:literal;
    )*) => {
        impl<'scope> Scope<'scope, '_> {$(
            #[doc = concat!($what, " on the copy of `pe`; when the scope has completed, `old` has the value from before.")]
            ///
            /// ```
            /// let world = oxshmem::World::init()?;
            /// let number = world.allocate(oxshmem::Atomic::new(6_u32))?;
            /// let mut old = 0;
            #[doc = concat!("world.scope(|scope| scope.", stringify!($name), "(&number, ", $($given, ", ",)* "&mut old, 0));")]
            #[doc = concat!("assert_eq!((old, number.load()), (6, ", $left, "));")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = $call)]
            #[inline]
            #[cfg_attr(feature = "race", track_caller)]
            pub fn $name<T: $bound>(
                &'scope self,
                place: &'scope Symmetric<Atomic<T>>,
                $($argument: T,)*
                old: &'scope mut T,
                pe: usize,
            ) {
                let via = runtime::On(self.context, concat!("Scope::", stringify!($name)));
                // SAFETY: a place is symmetric or the call ends the job, and only atomics touch this one; the place for the
                // answer is borrowed until the scope has completed.
                unsafe { amo::$nbi(via, old, place.own().cast::<T>(), $($argument,)* number(pe)) }
            }
        )*}
    };
}

operations! { AtomicValue:
    "Reads," fetch() fetch_nbi, "shmem_atomic_fetch_nbi", "6";
    "Replaces," swap(value: "1") swap_nbi, "shmem_atomic_swap_nbi", "1";
}

operations! { AtomicInteger:
    "Replaces if the old value is `cond`," compare_swap(cond: "6", value: "1") compare_swap_nbi,
        "shmem_atomic_compare_swap_nbi", "1";
    "Adds one" fetch_inc() fetch_inc_nbi, "shmem_atomic_fetch_inc_nbi", "7";
    "Adds, wrapping," fetch_add(value: "2") fetch_add_nbi, "shmem_atomic_fetch_add_nbi", "8";
    "Bitwise and," fetch_and(value: "3") fetch_and_nbi, "shmem_atomic_fetch_and_nbi", "2";
    "Bitwise or," fetch_or(value: "1") fetch_or_nbi, "shmem_atomic_fetch_or_nbi", "7";
    "Bitwise exclusive or," fetch_xor(value: "2") fetch_xor_nbi, "shmem_atomic_fetch_xor_nbi", "4";
}
