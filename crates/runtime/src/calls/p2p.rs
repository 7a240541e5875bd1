//! Point-to-point synchronisation: wait until, or test whether, symmetric variables of the caller satisfy a comparison.

mod set;

use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use crate::calls::amo::AmoType;
use crate::diagnosis::errors;
use crate::network;
use crate::sync::Apart;
use crate::wait::{self, Needs, Reason, pace, polls, suspended};
use oxshmem_flight::waits::Comparand;
use oxshmem_os::time;

pub use set::{
    test_all, test_all_vector, test_any, test_any_vector, test_some, test_some_vector, wait_until_all,
    wait_until_all_vector, wait_until_any, wait_until_any_vector, wait_until_some, wait_until_some_vector,
};

/// The comparison operators, with the numbers of the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CmpOperator {
    Eq = 1,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

impl CmpOperator {
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
pub(crate) unsafe fn until<T: AmoType + PartialOrd>(call: &'static str, ivar: *mut T, cmp: c_int, value: T) -> T {
    let comparison = CmpOperator::of(call, cmp);
    // All bits set is less than none only where there are negative numbers.
    let signed = T::of_bits(u64::MAX) < T::of_bits(0);
    let (bytes, value_bits) = (size_of::<T>() as u8, value.bits());
    let reason = reason(call, ivar, 1, Comparand { comparison: comparison as u8, bytes, signed, value: value_bits });
    // SAFETY: until the wait ends, the caller promises a valid, aligned object that others change atomically.
    let look = move || unsafe { T::load(ivar) };
    // The two comparisons that programs spin on get loops of their own.
    let seen = match comparison {
        CmpOperator::Eq => wait::until_interrupted(reason, None, move || Some(look()).filter(|seen| *seen == value)),
        CmpOperator::Ne => wait::until_interrupted(reason, None, move || Some(look()).filter(|seen| *seen != value)),
        _ => wait::until_interrupted(reason, None, move || Some(look()).filter(|seen| comparison.holds(*seen, value))),
    };
    // The interpreter that has interrupted the wait raises an exception in the place of a result.
    seen.unwrap_or_else(look)
}

/// Waits until `*ivar cmp value`.
///
/// # Safety
/// As the standard asks: `ivar` is a symmetric object of the caller. So for all calls of this file.
#[inline(always)]
pub unsafe fn wait_until<T: AmoType + PartialOrd>(ivar: *mut T, cmp: c_int, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    unsafe { until("shmem_wait_until", ivar, cmp, value) };
}

/// Waits until `*ivar` differs from `value`.
///
/// # Safety
/// See [`wait_until`].
#[inline(always)]
pub unsafe fn wait<T: AmoType + PartialOrd>(ivar: *mut T, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    unsafe { until("shmem_wait", ivar, CmpOperator::Ne as c_int, value) };
}

/// Whether `*ivar cmp value`.
///
/// # Safety
/// See [`wait_until`].
#[inline(always)]
pub unsafe fn test<T: AmoType + PartialOrd>(ivar: *mut T, cmp: c_int, value: T) -> c_int {
    let comparison = CmpOperator::of("shmem_test", cmp);
    // SAFETY: the caller promises that `ivar` is a symmetric object of its own, which others change atomically.
    let seen = unsafe { T::load(ivar) };
    answer("shmem_test", comparison.holds(seen, value))
}

/// The answer of a test that is repeated until it is yes.
#[inline(always)]
pub(crate) fn answer(call: &'static str, yes: bool) -> c_int {
    if !yes {
        polled(call, Needs::Anyone);
    }
    yes.into()
}

/// [`time::cycles`] from one look at the network to the next one of tests that fail: half a microsecond to two. A look takes as long over
/// sockets, where it is a call of the kernel, and a test some nanoseconds.
const BETWEEN_LOOKS: u64 = 2_000;
/// A delay of the next look, 100 to 400 microseconds. It shows that the PE does other work, or that other programs have its processor.
/// Then the progress thread answers sooner. It does not serve peers while callers look.
const AWAY: u64 = 400_000;
/// The time for which the network is left to the progress thread then: 5 to 20 milliseconds.
const LEFT_TO_THE_THREAD: u64 = 20_000_000;

/// When a test that fails looks at the network again. Relaxed: the threads of a PE look once too often at worst. Apart, because each look
/// of each thread writes it.
static NEXT_LOOK: Apart<AtomicU64> = Apart(AtomicU64::new(0));

/// A test that fails will be called again. It moves the network and suspended calls on, as a wait does: others may have asked this PE
/// for something, or need its part of a collective. Where PEs outnumber processors, it lets the one that is waited for run. Now and
/// then it asks whether the loop can ever end.
#[inline(always)]
pub(crate) fn polled(call: &'static str, needs: Needs<'_>) {
    if pace::crowded() {
        let_others_run();
    } else if network::is_open() {
        look_at_the_network();
    }
    if suspended::any() {
        suspended::move_on();
    }
    polls::failed(call, needs);
}

#[cold]
fn look_at_the_network() {
    // The clock decides nothing where PEs take turns.
    if network::takes_turns() {
        network::progress();
        return;
    }
    let now = time::cycles();
    let late = now.wrapping_sub(NEXT_LOOK.0.load(Relaxed)).cast_signed();
    if late > AWAY.cast_signed() {
        NEXT_LOOK.0.store(now.wrapping_add(LEFT_TO_THE_THREAD), Relaxed);
    } else if late >= 0 {
        network::progress();
        NEXT_LOOK.0.store(time::cycles().wrapping_add(BETWEEN_LOOKS), Relaxed);
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
