//! Waiting for some of many variables.

use core::ffi::c_int;

use crate::backend::p2p;
use crate::{Atomic, AtomicValue, Comparison, Error, Symmetric, mistake};

/// The condition on variables: a [`Comparison`] with one value for all, or with a slice that has a value for each.
///
/// ```
/// use oxshmem::{Atomic, Comparison::{AtLeast, Is}};
/// let world = oxshmem::World::init()?;
/// let counts = world.allocate_slice(3, Atomic::new(7))?;
/// counts.wait_until_all(Is(7));
/// counts.wait_until_all(AtLeast(&[5, 6, 7][..]));
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait Condition<T>: Copy + Expect<T> {}

/// How a [`Condition`] becomes what the runtime wants. No other crate can name it, so none has conditions of its own,
/// whose values might be anywhere.
pub trait Expect<T>: Copy {
    /// Makes sure that there is a value for each of `len` variables, and returns the operator's number.
    #[track_caller]
    fn operator(self, call: &str, len: usize) -> c_int;
    /// The values: one, or one for each.
    fn values(&self) -> Result<T, *const T>;
}

impl<T: AtomicValue> Condition<T> for Comparison<T> {}

impl<T: AtomicValue> Expect<T> for Comparison<T> {
    #[inline(always)]
    #[track_caller]
    fn operator(self, _call: &str, _len: usize) -> c_int {
        self.parts().0
    }

    #[inline(always)]
    fn values(&self) -> Result<T, *const T> {
        Ok(self.parts().1)
    }
}

impl<T: AtomicValue> Condition<T> for Comparison<&[T]> {}

impl<T: AtomicValue> Expect<T> for Comparison<&[T]> {
    #[track_caller]
    fn operator(self, call: &str, len: usize) -> c_int {
        let (operator, values) = self.parts();
        if values.len() != len {
            mistake(
                &Error::new(format!("{call}: not a value for each variable"))
                    .because(format!("there are {} values for {len} variables", values.len()))
                    .fix("pass as many values as the slice has variables, also for those that are left out"),
            );
        }
        operator
    }

    fn values(&self) -> Result<T, *const T> {
        Err(self.parts().1.as_ptr())
    }
}

/// Variables of a slice to wait for, some of which may be left out: those that have been dealt with, say.
///
/// ```
/// use oxshmem::{Atomic, Comparison::Is};
/// let world = oxshmem::World::init()?;
/// let flags = world.allocate_slice(4, Atomic::new(1))?;
/// let mut open = flags.wait_set();
/// let mut order = Vec::new();
/// while let Some(i) = open.wait_any(Is(1)) {
///     order.push(i);
///     open.leave_out(i);
/// }
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3]);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WaitSet<'a, T: AtomicValue> {
    variables: &'a Symmetric<[Atomic<T>]>,
    /// For each, whether it is left out: what the C calls name `status`.
    left_out: Vec<c_int>,
}

impl<T: AtomicValue> Symmetric<[Atomic<T>]> {
    /// All variables of the slice, to leave some out.
    ///
    /// ```
    /// use oxshmem::{Atomic, Comparison::Is};
    /// let world = oxshmem::World::init()?;
    /// let flags = world.allocate_slice(4, Atomic::new(0))?;
    /// assert!(flags.wait_set().test_all(Is(0)));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    pub fn wait_set(&self) -> WaitSet<'_, T> {
        WaitSet { variables: self, left_out: vec![0; self.len()] }
    }
}

impl<T: AtomicValue> WaitSet<'_, T> {
    /// Leaves variable `i` out; nothing changes if there is none.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let flags = world.allocate_slice(4, oxshmem::Atomic::new(0))?;
    /// let mut set = flags.wait_set();
    /// set.leave_out(2);
    /// assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn leave_out(&mut self, i: usize) {
        if let Some(status) = self.left_out.get_mut(i) {
            *status = 1;
        }
    }

    /// Takes variable `i` in again; nothing changes if there is none.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let flags = world.allocate_slice(2, oxshmem::Atomic::new(0))?;
    /// let mut set = flags.wait_set();
    /// set.leave_out(1);
    /// set.take_in(1);
    /// assert_eq!(set.iter().count(), 2);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn take_in(&mut self, i: usize) {
        if let Some(status) = self.left_out.get_mut(i) {
            *status = 0;
        }
    }

    /// The variables that are in it.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let flags = world.allocate_slice(2, oxshmem::Atomic::new(0))?;
    /// assert_eq!(flags.wait_set().iter().collect::<Vec<_>>(), [0, 1]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.left_out.iter().enumerate().filter(|(_, out)| **out == 0).map(|(i, _)| i)
    }
}

/// The calls on a set. `$mask` is what is left out, of `$self`.
macro_rules! calls {
    ($self:ident, $variables:expr, $mask:expr, $call:expr, $one:ident, $each:ident, $condition:ident $(, $found:expr)?) => {{
        let variables = $variables;
        let operator = $condition.operator($call, variables.len());
        let (ivars, len, mask) = (variables.as_ptr().cast::<T>(), variables.len(), $mask);
        // SAFETY: a place is valid and aligned, and only atomics touch it; the slice has `len`, and so have the mask, if
        // there is one, the values and the room for indices.
        unsafe {
            match $condition.values() {
                Ok(value) => p2p::$one(ivars, len, $($found,)? mask, operator, value),
                Err(values) => p2p::$each(ivars, len, $($found,)? mask, operator, values),
            }
        }
    }};
}

/// The calls of one type, with the names that it gives them.
macro_rules! wait_and_test {
    ($type:ty, $self:ident: $variables:expr, $mask:expr;
     $all:ident $any:ident $some:ident; $set:literal) => {
        impl<T: AtomicValue> $type {
            /// Waits until all variables satisfy the condition.
            ///
            /// ```
            /// use oxshmem::{Atomic, Comparison::Above};
            /// let world = oxshmem::World::init()?;
            /// let flags = world.allocate_slice(4, Atomic::new(3))?;
            #[doc = concat!("flags", $set, ".", stringify!($all), "(Above(2));")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = "shmem_wait_until_all")]
            #[doc(alias = "shmem_wait_until_all_vector")]
            #[track_caller]
            pub fn $all(&$self, condition: impl Condition<T>) {
                calls!($self, $variables, $mask, stringify!($all), wait_until_all, wait_until_all_vector, condition);
            }

            /// Waits until one variable satisfies the condition, and says which; `None` if there is none to wait for.
            ///
            /// ```
            /// use oxshmem::{Atomic, Comparison::Is};
            /// let world = oxshmem::World::init()?;
            /// let flags = world.allocate_slice(4, Atomic::new(0))?;
            /// flags[2].set(1, 0);
            #[doc = concat!("assert_eq!(flags", $set, ".", stringify!($any), "(Is(1)), Some(2));")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = "shmem_wait_until_any")]
            #[doc(alias = "shmem_wait_until_any_vector")]
            #[track_caller]
            pub fn $any(&$self, condition: impl Condition<T>) -> Option<usize> {
                let found =
                    calls!($self, $variables, $mask, stringify!($any), wait_until_any, wait_until_any_vector, condition);
                (found < $variables.len()).then_some(found)
            }

            /// Waits until at least one variable satisfies the condition, and says which ones do.
            ///
            /// ```
            /// use oxshmem::{Atomic, Comparison::Not};
            /// let world = oxshmem::World::init()?;
            /// let flags = world.allocate_slice(4, Atomic::new(0))?;
            /// flags[1].set(1, 0);
            /// flags[3].set(2, 0);
            #[doc = concat!("assert_eq!(flags", $set, ".", stringify!($some), "(Not(0)), [1, 3]);")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = "shmem_wait_until_some")]
            #[doc(alias = "shmem_wait_until_some_vector")]
            #[track_caller]
            pub fn $some(&$self, condition: impl Condition<T>) -> Vec<usize> {
                let mut found = vec![0; $variables.len()];
                let count = calls!(
                    $self, $variables, $mask, stringify!($some), wait_until_some, wait_until_some_vector, condition,
                    found.as_mut_ptr()
                );
                found.truncate(count);
                found
            }

            /// Whether all variables satisfy the condition.
            ///
            /// ```
            /// use oxshmem::{Atomic, Comparison::Is};
            /// let world = oxshmem::World::init()?;
            #[doc = concat!("assert!(world.allocate_slice(4, Atomic::new(0))?", $set, ".test_all(Is(0)));")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = "shmem_test_all")]
            #[doc(alias = "shmem_test_all_vector")]
            #[must_use]
            #[track_caller]
            pub fn test_all(&$self, condition: impl Condition<T>) -> bool {
                calls!($self, $variables, $mask, "test_all", test_all, test_all_vector, condition) != 0
            }

            /// A variable that satisfies the condition.
            ///
            /// ```
            /// use oxshmem::{Atomic, Comparison::Is};
            /// let world = oxshmem::World::init()?;
            #[doc = concat!("assert_eq!(world.allocate_slice(4, Atomic::new(0))?", $set, ".test_any(Is(1)), None);")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = "shmem_test_any")]
            #[doc(alias = "shmem_test_any_vector")]
            #[must_use]
            #[track_caller]
            pub fn test_any(&$self, condition: impl Condition<T>) -> Option<usize> {
                let found = calls!($self, $variables, $mask, "test_any", test_any, test_any_vector, condition);
                (found < $variables.len()).then_some(found)
            }

            /// The variables that satisfy the condition.
            ///
            /// ```
            /// use oxshmem::{Atomic, Comparison::Is};
            /// let world = oxshmem::World::init()?;
            #[doc = concat!("assert_eq!(world.allocate_slice(3, Atomic::new(0))?", $set, ".test_some(Is(0)), [0, 1, 2]);")]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[doc(alias = "shmem_test_some")]
            #[doc(alias = "shmem_test_some_vector")]
            #[must_use]
            #[track_caller]
            pub fn test_some(&$self, condition: impl Condition<T>) -> Vec<usize> {
                let mut found = vec![0; $variables.len()];
                let count = calls!(
                    $self, $variables, $mask, "test_some", test_some, test_some_vector, condition,
                    found.as_mut_ptr()
                );
                found.truncate(count);
                found
            }
        }
    };
}

wait_and_test! { Symmetric<[Atomic<T>]>, self: self, core::ptr::null();
wait_until_all wait_until_any wait_until_some; "" }

wait_and_test! { WaitSet<'_, T>, self: self.variables, self.left_out.as_ptr();
wait_all wait_any wait_some; ".wait_set()" }
