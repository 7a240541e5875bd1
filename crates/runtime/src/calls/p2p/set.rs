//! Waits for, and tests of, arrays of symmetric variables.

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{CmpOperator, answer, reason};
use crate::calls::amo::AmoType;
use crate::diagnosis::errors;
use crate::memory::direct::FAST;
use crate::sync::Apart;
use crate::transfers::length::{self, Cover};
use crate::transfers::range;
use crate::wait::{self, Needs, Reason, polls};
use oxshmem_flight::waits::Comparand;

/// The value, or values, that the variables are compared with.
trait Values<T>: Copy {
    /// The value for element `i`.
    ///
    /// # Safety
    /// `i` is below the number of elements.
    unsafe fn at(self, i: usize) -> T;

    /// Whether they should lie in an array, and there is none.
    fn lack_an_array(self) -> bool;
}

#[derive(Clone, Copy)]
struct Same<T>(T);

impl<T: Copy> Values<T> for Same<T> {
    #[inline(always)]
    unsafe fn at(self, _: usize) -> T {
        self.0
    }

    fn lack_an_array(self) -> bool {
        false
    }
}

#[derive(Clone, Copy)]
struct Each<T>(*const T);

impl<T: Copy> Values<T> for Each<T> {
    #[inline(always)]
    unsafe fn at(self, i: usize) -> T {
        // SAFETY: the array has as many elements as there are variables, by the caller's promise.
        unsafe { self.0.add(i).read_unaligned() }
    }

    fn lack_an_array(self) -> bool {
        self.0.is_null()
    }
}

/// A set of variables: an array, the mask that leaves some out, and what they are compared with.
#[derive(Clone, Copy)]
struct Set<T, V> {
    ivars: *mut T,
    nelems: usize,
    status: *const c_int,
    comparison: CmpOperator,
    values: V,
}

/// How many searches for any element have found one. Each one begins elsewhere, so that an element that stays satisfied does
/// not hide the others (P2P-7). Apart, because each search of each thread that finds one writes it.
static FOUND: Apart<AtomicUsize> = Apart(AtomicUsize::new(0));

/// Where a search among `nelems` elements begins after `found` others. These are multiples of the golden ratio, of which every
/// second, every third and so on come everywhere as well: calls on several sets may take turns.
fn beginning(found: usize, nelems: usize) -> usize {
    const RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    let fraction = (found as u64).wrapping_mul(RATIO);
    ((u128::from(fraction) * nelems as u128) >> 64) as usize
}

impl<T: AmoType + PartialOrd, V: Values<T>> Set<T, V> {
    /// The set of a call. Variables that leave the symmetric memory in which they begin, or the address space, end the job.
    fn new(call: &'static str, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, values: V) -> Self {
        let bytes = length::bytes::<T>(nelems);
        if nelems > 0 && !FAST.believes_array(ivars as usize, bytes) {
            range::check_count(call, "nelems", nelems);
            range::check_own(call, "ivars", ivars as usize, Cover { back: 0, bytes });
            if values.lack_an_array() {
                errors::null(call, "cmp_values");
            }
        }
        Set { ivars, nelems, status, comparison: CmpOperator::of(call, cmp), values }
    }

    /// A wait for the set.
    fn reason(self, call: &'static str) -> Reason<'static> {
        reason(call, self.ivars, self.nelems, Comparand::EACH_ITS_OWN)
    }

    /// Whether variable `i` is not left out.
    ///
    /// # Safety
    /// As for the calls: all arrays that there are have `nelems` elements, and `i` is below that.
    unsafe fn chosen(self, i: usize) -> bool {
        // SAFETY: the caller promises `nelems` statuses, unless there are none, and that `i` is below that.
        self.status.is_null() || unsafe { self.status.add(i).read() } == 0
    }

    /// Whether variable `i` compares as it should.
    ///
    /// # Safety
    /// See [`chosen`](Self::chosen); the variables are the caller's symmetric objects.
    unsafe fn satisfied(self, i: usize) -> bool {
        // SAFETY: the caller promises `nelems` valid, aligned variables and as many values, and that `i` is below that.
        unsafe { self.comparison.holds(T::load(self.ivars.add(i)), self.values.at(i)) }
    }

    /// Whether all are left out.
    ///
    /// # Safety
    /// See [`chosen`](Self::chosen).
    unsafe fn is_empty(self) -> bool {
        // SAFETY: the caller promises `nelems` statuses, unless there are none; the indices are below that.
        (0..self.nelems).all(|i| unsafe { !self.chosen(i) })
    }

    /// Whether all that count are satisfied.
    ///
    /// # Safety
    /// See [`satisfied`](Self::satisfied).
    unsafe fn all(self) -> bool {
        // SAFETY: `i` is below `nelems`; the caller promises as many variables, and statuses unless null.
        (0..self.nelems).all(|i| unsafe { !self.chosen(i) || self.satisfied(i) })
    }

    /// One that is satisfied.
    ///
    /// # Safety
    /// See [`satisfied`](Self::satisfied).
    unsafe fn any(self) -> Option<usize> {
        let number = FOUND.0.load(Relaxed);
        let begin = beginning(number, self.nelems);
        let mut order = (begin..self.nelems).chain(0..begin);
        // SAFETY: `i` is below `nelems`; the caller promises as many variables, and statuses unless null.
        let found = order.find(|&i| unsafe { self.chosen(i) && self.satisfied(i) });
        if found.is_some() {
            FOUND.0.store(number.wrapping_add(1), Relaxed);
        }
        found
    }

    /// Writes down which are satisfied, and says how many.
    ///
    /// # Safety
    /// See [`satisfied`](Self::satisfied); `indices` has room for `nelems` entries.
    unsafe fn some(self, call: &'static str, indices: *mut usize) -> usize {
        let mut count = 0;
        for i in 0..self.nelems {
            // SAFETY: `i` is below `nelems`; the caller promises as many variables, statuses unless null, and `indices`.
            unsafe {
                if self.chosen(i) && self.satisfied(i) {
                    if indices.is_null() {
                        errors::null(call, "indices");
                    }
                    indices.add(count).write(i);
                    count += 1;
                }
            }
        }
        count
    }

    /// [`all`](Self::all) for a wait, whose looks in vain leave the place `at` of the variable that was not satisfied. The next look begins
    /// there and goes around: while it waits for one of many variables it loads that one alone.
    ///
    /// # Safety
    /// See [`satisfied`](Self::satisfied).
    unsafe fn all_from(self, at: &mut usize) -> bool {
        let mut order = (*at..self.nelems).chain(0..*at);
        // SAFETY: `i` is below `nelems`; the caller promises as many variables, and statuses unless null.
        let missing = order.find(|&i| unsafe { self.chosen(i) && !self.satisfied(i) });
        *at = missing.unwrap_or(*at);
        missing.is_none()
    }

    /// Waits for [`all`](Self::all).
    ///
    /// # Safety
    /// See [`satisfied`](Self::satisfied), as long as it waits.
    unsafe fn wait_all(self, call: &'static str) {
        let mut at = 0;
        // SAFETY: the caller promises `nelems` variables that others change atomically, for as long as the wait lasts.
        wait::until_interrupted(self.reason(call), None, move || unsafe { self.all_from(&mut at) }.then_some(()));
    }

    /// Waits for [`any`](Self::any); the largest number if none counts.
    ///
    /// # Safety
    /// See [`wait_all`](Self::wait_all).
    unsafe fn wait_any(self, call: &'static str) -> usize {
        // SAFETY: the caller promises `nelems` elements of the status unless it is null.
        if unsafe { self.is_empty() } {
            return usize::MAX;
        }
        // SAFETY: the caller promises `nelems` variables that others change atomically, for as long as the wait lasts.
        wait::until_interrupted(self.reason(call), None, move || unsafe { self.any() }).unwrap_or(usize::MAX)
    }

    /// Waits until [`some`](Self::some) are, or none counts.
    ///
    /// # Safety
    /// See [`wait_all`](Self::wait_all), and [`some`](Self::some) for `indices`.
    unsafe fn wait_some(self, call: &'static str, indices: *mut usize) -> usize {
        // SAFETY: the caller promises `nelems` elements of the status unless it is null.
        if unsafe { self.is_empty() } {
            return 0;
        }
        // SAFETY: until the wait ends, the caller promises `nelems` variables that others change, and room for as many `indices`.
        let look = move || unsafe { self.some(call, indices) };
        wait::until_interrupted(self.reason(call), None, move || Some(look()).filter(|count| *count > 0)).unwrap_or(0)
    }
}

/// Calls on a set: each with one value for all variables, and as a `_vector` with a value for each.
macro_rules! set_calls {
    ($(
        #[doc = $about:literal]
        $name:ident $vector:ident($set:ident, $call:ident $(, $indices:ident)?) $(-> $result:ty)? $body:block
    )*) => {$(
        set_calls!(@ $about $name(value: T, Same) $set $call ($($indices)?) ($($result)?) $body);
        set_calls!(@ $about $vector(values: *const T, Each) $set $call ($($indices)?) ($($result)?) $body);
    )*};
    (@ $about:literal $name:ident($value:ident: $type:ty, $values:ident) $set:ident $call:ident
     ($($indices:ident)?) ($($result:ty)?) $body:block) => {
        #[doc = $about]
        ///
        /// # Safety
        /// See [`super::wait_until`].
        pub unsafe fn $name<T: AmoType + PartialOrd>(
            ivars: *mut T,
            nelems: usize,
            $($indices: *mut usize,)?
            status: *const c_int,
            cmp: c_int,
            $value: $type,
        ) $(-> $result)? {
            let $call = concat!("shmem_", stringify!($name));
            let $set = Set::new($call, ivars, nelems, status, cmp, $values($value));
            $body
        }
    };
}

set_calls! {
    /// Waits until all variables satisfy the comparison.
    wait_until_all wait_until_all_vector(set, call) {
        // SAFETY: the caller promises `nelems` symmetric variables of its own, and statuses unless null.
        unsafe { set.wait_all(call) }
    }

    /// Waits until a variable satisfies the comparison, and says which.
    wait_until_any wait_until_any_vector(set, call) -> usize {
        // SAFETY: the caller promises `nelems` symmetric variables of its own, and statuses unless null.
        unsafe { set.wait_any(call) }
    }

    /// Waits until at least one variable satisfies the comparison, and says which ones do.
    wait_until_some wait_until_some_vector(set, call, indices) -> usize {
        // SAFETY: the caller promises `nelems` symmetric variables of its own, statuses unless null, and `indices`.
        unsafe { set.wait_some(call, indices) }
    }

    /// Whether all variables satisfy the comparison.
    test_all test_all_vector(set, call) -> c_int {
        // SAFETY: the caller promises `nelems` symmetric variables of its own, and statuses unless null.
        answer(call, unsafe { set.all() })
    }

    /// A variable that satisfies the comparison, or the largest number.
    test_any test_any_vector(set, call) -> usize {
        // SAFETY: the caller promises `nelems` symmetric variables of its own, and statuses unless null.
        let found = if set.nelems == 0 { None } else { unsafe { set.any() } };
        if found.is_none() {
            polls::test_failed(call, Needs::Anyone);
        }
        found.unwrap_or(usize::MAX)
    }

    /// The variables that satisfy the comparison.
    test_some test_some_vector(set, call, indices) -> usize {
        // SAFETY: the caller promises `nelems` symmetric variables of its own, statuses unless null, and `indices`.
        let count = unsafe { set.some(call, indices) };
        if count == 0 {
            polls::test_failed(call, Needs::Anyone);
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::ptr;

    #[test]
    fn a_wait_for_all_looks_first_at_the_variable_that_was_missing_and_then_at_all_others() {
        let mut ivars = [1_u64, 1, 0, 1, 1];
        let status = [0, 0, 0, 0, 1];
        let mut at = 0;
        let mut look = |changes: &[(usize, u64)], status: *const c_int| {
            changes.iter().for_each(|&(i, value)| ivars[i] = value);
            let comparison = CmpOperator::Eq;
            let set = Set { ivars: ivars.as_mut_ptr(), nelems: ivars.len(), status, comparison, values: Same(1) };
            // SAFETY: there are as many variables, and statuses unless null, and no other thread has them.
            (unsafe { set.all_from(&mut at) }, at)
        };
        assert_eq!(look(&[], ptr::null()), (false, 2));
        // The first one does not count while the third is missing.
        assert_eq!(look(&[(0, 7)], ptr::null()), (false, 2));
        assert_eq!(look(&[(2, 1)], ptr::null()), (false, 0));
        assert_eq!(look(&[(0, 1), (4, 0)], ptr::null()), (false, 4));
        assert!(look(&[], status.as_ptr()).0, "the last one is left out");
        assert!(look(&[(4, 1)], ptr::null()).0);
        let (ivars, status, comparison) = (ptr::null_mut::<u64>(), ptr::null(), CmpOperator::Eq);
        let none = Set { ivars, nelems: 0, status, comparison, values: Same(1) };
        // SAFETY: there are no variables.
        assert!(unsafe { none.all_from(&mut 0) });
    }

    #[test]
    fn searches_of_a_set_begin_everywhere_however_many_sets_take_turns() {
        for sets in 1..=40 {
            for nelems in 1..=40 {
                let begun: BTreeSet<usize> = (0..4096).map(|call| beginning(call * sets, nelems)).collect();
                assert_eq!(begun, (0..nelems).collect(), "{sets} sets");
            }
        }
    }
}
