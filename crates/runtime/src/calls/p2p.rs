//! Point-to-point synchronisation: wait until, or test whether, symmetric variables of the caller satisfy a comparison.

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::calls::amo::Atomic;
use crate::diagnosis::errors;
use crate::network;
use crate::wait::pace;
use crate::wait::{self, Needs, Reason};
use oxshmem_flight::waits::Comparand;

/// The comparison operators, with the numbers of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

impl Comparison {
    fn of(call: &'static str, number: c_int) -> Self {
        match number {
            1 => Self::Eq,
            2 => Self::Ne,
            3 => Self::Gt,
            4 => Self::Ge,
            5 => Self::Lt,
            6 => Self::Le,
            _ => errors::bad_argument(call, "cmp", number.into(), "SHMEM_CMP_EQ, NE, GT, GE, LT and LE (1 to 6)"),
        }
    }

    #[inline(always)]
    fn holds<T: PartialOrd>(self, left: T, right: T) -> bool {
        match self {
            Self::Eq => left == right,
            Self::Ne => left != right,
            Self::Gt => left > right,
            Self::Ge => left >= right,
            Self::Lt => left < right,
            Self::Le => left <= right,
        }
    }
}

/// A wait for `count` variables from `ivar` on.
fn reason<T>(call: &'static str, ivar: *mut T, count: usize, awaited: Comparand) -> Reason<'static> {
    Reason { call, address: ivar as usize, needs: Needs::Variables(count as u64, awaited) }
}

/// Waits until `*ivar cmp value`, and says what satisfied it.
///
/// # Safety
/// `ivar` is a valid, aligned object that others change atomically.
#[inline(always)]
pub(crate) unsafe fn until<T: Atomic + PartialOrd>(call: &'static str, ivar: *mut T, cmp: c_int, value: T) -> T {
    let comparison = Comparison::of(call, cmp);
    // All bits set is less than none only where there are negative numbers.
    let signed = T::of_bits(u64::MAX) < T::of_bits(0);
    let (bytes, value_bits) = (size_of::<T>() as u8, value.bits());
    let reason =
        reason(call, ivar, 1, Comparand { comparison: comparison as u8 + 1, bytes, signed, value: value_bits });
    // SAFETY: until the wait ends, the caller promises a valid, aligned object that others change atomically.
    let look = move || unsafe { T::load(ivar) };
    // The two comparisons that programs spin on get loops of their own.
    match comparison {
        Comparison::Eq => wait::until(reason, None, move || Some(look()).filter(|seen| *seen == value)),
        Comparison::Ne => wait::until(reason, None, move || Some(look()).filter(|seen| *seen != value)),
        _ => wait::until(reason, None, move || Some(look()).filter(|seen| comparison.holds(*seen, value))),
    }
}

/// Waits until `*ivar cmp value`.
///
/// # Safety
/// As the standard asks: `ivar` is a symmetric object of the caller. So for all calls of this file.
#[inline(always)]
pub unsafe fn wait_until<T: Atomic + PartialOrd>(ivar: *mut T, cmp: c_int, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    unsafe { until("shmem_wait_until", ivar, cmp, value) };
}

/// Waits until `*ivar` differs from `value`.
///
/// # Safety
/// See [`wait_until`].
#[inline(always)]
pub unsafe fn wait<T: Atomic + PartialOrd>(ivar: *mut T, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    unsafe { until("shmem_wait", ivar, 2, value) };
}

/// Whether `*ivar cmp value`.
///
/// # Safety
/// See [`wait_until`].
#[inline(always)]
pub unsafe fn test<T: Atomic + PartialOrd>(ivar: *mut T, cmp: c_int, value: T) -> c_int {
    let comparison = Comparison::of("shmem_test", cmp);
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    let seen = unsafe { T::load(ivar) };
    let holds = comparison.holds(seen, value);
    if !holds {
        polled();
    }
    holds.into()
}

/// A test that fails will be called again: where PEs outnumber processors, let the one that is waited for run.
#[inline(always)]
pub(crate) fn polled() {
    if pace::crowded() {
        let_others_run();
    }
}

#[cold]
fn let_others_run() {
    if network::takes_turns() {
        network::progress();
    } else {
        std::thread::yield_now();
    }
}

/// The value, or values, that the variables are compared with.
trait Values<T>: Copy {
    /// The value for element `i`.
    ///
    /// # Safety
    /// `i` is below the number of elements.
    unsafe fn at(self, i: usize) -> T;
}

#[derive(Clone, Copy)]
struct Same<T>(T);

impl<T: Copy> Values<T> for Same<T> {
    #[inline(always)]
    unsafe fn at(self, _: usize) -> T {
        self.0
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
}

/// A set of variables: an array, the mask that leaves some out, and what they are compared with.
#[derive(Clone, Copy)]
struct Set<T, V> {
    ivars: *mut T,
    nelems: usize,
    status: *const c_int,
    comparison: Comparison,
    values: V,
}

/// Where the next search for any element begins, so that an element that stays satisfied does not hide the others
/// (P2P-7).
static ROTATION: AtomicUsize = AtomicUsize::new(0);

impl<T: Atomic + PartialOrd, V: Values<T>> Set<T, V> {
    /// A wait for the set.
    fn reason(self, call: &'static str) -> Reason<'static> {
        reason(call, self.ivars, self.nelems, Comparand::EACH_ITS_OWN)
    }

    /// Whether variable `i` is not left out.
    ///
    /// # Safety
    /// As for the calls: all arrays that there are have `nelems` elements, and `i` is below that.
    unsafe fn chosen(self, i: usize) -> bool {
        // SAFETY: `i` is below `nelems`.
        self.status.is_null() || unsafe { self.status.add(i).read() } == 0
    }

    /// Whether variable `i` compares as it should.
    ///
    /// # Safety
    /// See [`chosen`](Self::chosen); the variables are the caller's symmetric objects.
    unsafe fn satisfied(self, i: usize) -> bool {
        // SAFETY: `i` is below `nelems`.
        unsafe { self.comparison.holds(T::load(self.ivars.add(i)), self.values.at(i)) }
    }

    /// Whether all are left out.
    ///
    /// # Safety
    /// See [`chosen`](Self::chosen).
    unsafe fn is_empty(self) -> bool {
        // SAFETY: indices below `nelems`.
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
        let begin = ROTATION.load(Relaxed);
        let mut order = (0..self.nelems).map(|step| (begin % self.nelems + step) % self.nelems);
        // SAFETY: `i` is below `nelems`; the caller promises as many variables, and statuses unless null.
        let found = order.find(|&i| unsafe { self.chosen(i) && self.satisfied(i) });
        if let Some(i) = found {
            ROTATION.store(i + 1, Relaxed);
        }
        found
    }

    /// Writes down which are satisfied, and says how many.
    ///
    /// # Safety
    /// See [`satisfied`](Self::satisfied); `indices` has room for `nelems` entries.
    unsafe fn some(self, indices: *mut usize) -> usize {
        let mut count = 0;
        for i in 0..self.nelems {
            // SAFETY: `i` is below `nelems`; the caller promises as many variables, statuses unless null, and `indices`.
            unsafe {
                if self.chosen(i) && self.satisfied(i) {
                    indices.add(count).write(i);
                    count += 1;
                }
            }
        }
        count
    }

    /// Waits for [`all`](Self::all).
    ///
    /// # Safety
    /// See [`satisfied`](Self::satisfied), as long as it waits.
    unsafe fn wait_all(self, call: &'static str) {
        // SAFETY: the caller promises `nelems` variables that others change atomically, for as long as the wait lasts.
        wait::until(self.reason(call), None, move || unsafe { self.all() }.then_some(()));
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
        wait::until(self.reason(call), None, move || unsafe { self.any() })
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
        let look = move || unsafe { self.some(indices) };
        wait::until(self.reason(call), None, move || Some(look()).filter(|count| *count > 0))
    }
}

macro_rules! set_calls {
    ($value:ident: $value_type:ty, $values:ident;
     $all:ident $any:ident $some:ident $test_all:ident $test_any:ident $test_some:ident) => {
        /// Waits until all variables satisfy the comparison.
        ///
        /// # Safety
        /// See [`wait_until`].
        pub unsafe fn $all<T: Atomic + PartialOrd>(
            ivars: *mut T,
            nelems: usize,
            status: *const c_int,
            cmp: c_int,
            $value: $value_type,
        ) {
            const CALL: &str = concat!("shmem_", stringify!($all));
            let set = Set { ivars, nelems, status, comparison: Comparison::of(CALL, cmp), values: $values($value) };
            // SAFETY: the caller promises `nelems` symmetric variables of its own, and statuses unless null.
            unsafe { set.wait_all(CALL) }
        }

        /// Waits until a variable satisfies the comparison, and says which.
        ///
        /// # Safety
        /// See [`wait_until`].
        pub unsafe fn $any<T: Atomic + PartialOrd>(
            ivars: *mut T,
            nelems: usize,
            status: *const c_int,
            cmp: c_int,
            $value: $value_type,
        ) -> usize {
            const CALL: &str = concat!("shmem_", stringify!($any));
            let set = Set { ivars, nelems, status, comparison: Comparison::of(CALL, cmp), values: $values($value) };
            // SAFETY: the caller promises `nelems` symmetric variables of its own, and statuses unless null.
            unsafe { set.wait_any(CALL) }
        }

        /// Waits until at least one variable satisfies the comparison, and says which ones do.
        ///
        /// # Safety
        /// See [`wait_until`].
        pub unsafe fn $some<T: Atomic + PartialOrd>(
            ivars: *mut T,
            nelems: usize,
            indices: *mut usize,
            status: *const c_int,
            cmp: c_int,
            $value: $value_type,
        ) -> usize {
            const CALL: &str = concat!("shmem_", stringify!($some));
            let set = Set { ivars, nelems, status, comparison: Comparison::of(CALL, cmp), values: $values($value) };
            // SAFETY: the caller promises `nelems` symmetric variables of its own, statuses unless null, and `indices`.
            unsafe { set.wait_some(CALL, indices) }
        }

        /// Whether all variables satisfy the comparison.
        ///
        /// # Safety
        /// See [`wait_until`].
        pub unsafe fn $test_all<T: Atomic + PartialOrd>(
            ivars: *mut T,
            nelems: usize,
            status: *const c_int,
            cmp: c_int,
            $value: $value_type,
        ) -> c_int {
            const CALL: &str = concat!("shmem_", stringify!($test_all));
            let set = Set { ivars, nelems, status, comparison: Comparison::of(CALL, cmp), values: $values($value) };
            // SAFETY: the caller promises `nelems` symmetric variables of its own, and statuses unless null.
            let holds = unsafe { set.all() };
            if !holds {
                polled();
            }
            holds.into()
        }

        /// A variable that satisfies the comparison, or the largest number.
        ///
        /// # Safety
        /// See [`wait_until`].
        pub unsafe fn $test_any<T: Atomic + PartialOrd>(
            ivars: *mut T,
            nelems: usize,
            status: *const c_int,
            cmp: c_int,
            $value: $value_type,
        ) -> usize {
            const CALL: &str = concat!("shmem_", stringify!($test_any));
            let set = Set { ivars, nelems, status, comparison: Comparison::of(CALL, cmp), values: $values($value) };
            // SAFETY: the caller promises `nelems` symmetric variables of its own, and statuses unless null.
            let found = if nelems == 0 { None } else { unsafe { set.any() } };
            if found.is_none() {
                polled();
            }
            found.unwrap_or(usize::MAX)
        }

        /// The variables that satisfy the comparison.
        ///
        /// # Safety
        /// See [`wait_until`].
        pub unsafe fn $test_some<T: Atomic + PartialOrd>(
            ivars: *mut T,
            nelems: usize,
            indices: *mut usize,
            status: *const c_int,
            cmp: c_int,
            $value: $value_type,
        ) -> usize {
            const CALL: &str = concat!("shmem_", stringify!($test_some));
            let set = Set { ivars, nelems, status, comparison: Comparison::of(CALL, cmp), values: $values($value) };
            // SAFETY: the caller promises `nelems` symmetric variables of its own, statuses unless null, and `indices`.
            let count = unsafe { set.some(indices) };
            if count == 0 {
                polled();
            }
            count
        }
    };
}

set_calls!(value: T, Same;
    wait_until_all wait_until_any wait_until_some test_all test_any test_some);
set_calls!(values: *const T, Each;
    wait_until_all_vector wait_until_any_vector wait_until_some_vector test_all_vector test_any_vector test_some_vector);
