//! Waits and tests: the runtime's own looks at memory, with turns of other PEs between them.

use core::ffi::c_int;

use oxshmem_runtime::calls::p2p as look;

use crate::AtomicValue;
use crate::threads::ThreadPe;

pub(crate) unsafe fn wait_until<T: AtomicValue>(here: &ThreadPe, ivar: *mut T, cmp: c_int, value: T) {
    here.turns().step(here.me);
    // SAFETY: the caller promises that `ivar` is valid and that only atomic accesses touch it.
    here.turns().wait(here.me, "shmem_wait_until", || (unsafe { look::test(ivar, cmp, value) } != 0).then_some(()));
}

pub(crate) unsafe fn test<T: AtomicValue>(here: &ThreadPe, ivar: *mut T, cmp: c_int, value: T) -> c_int {
    here.turns().step(here.me);
    // SAFETY: the caller promises that `ivar` is valid and that only atomic accesses touch it.
    unsafe { look::test(ivar, cmp, value) }
}

/// Whether all of `nelems` variables are left out.
///
/// # Safety
/// `status` is null or has as many elements.
unsafe fn none(status: *const c_int, nelems: usize) -> bool {
    // SAFETY: the caller promises `nelems` elements at `status` unless it is null.
    (0..nelems).all(|i| !status.is_null() && unsafe { status.add(i).read() } != 0)
}

/// One of those that `some` finds and writes down, whichever the dice like. (The runtime's own choice depends on earlier
/// ones, of other worlds too.)
fn any(here: &ThreadPe, nelems: usize, some: impl FnOnce(*mut usize) -> usize) -> Option<usize> {
    let mut found = vec![0; nelems];
    let count = some(found.as_mut_ptr());
    (count > 0).then(|| found[here.turns().any_below(count)])
}

macro_rules! sets {
    ($($value:ident: $type:ty =>
       $all:ident $any:ident $some:ident $test_all:ident $test_any:ident $test_some:ident;)*) => {$(
        pub(crate) unsafe fn $all<T: AtomicValue>(
            here: &ThreadPe, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, $value: $type,
        ) {
            here.turns().step(here.me);
            // SAFETY: the caller promises `nelems` variables that only atomic accesses touch, and as many elements at
            // `status` unless it is null.
            let all = || (unsafe { look::$test_all(ivars, nelems, status, cmp, $value) } != 0).then_some(());
            here.turns().wait(here.me, concat!("shmem_", stringify!($all)), all);
        }

        pub(crate) unsafe fn $any<T: AtomicValue>(
            here: &ThreadPe, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, $value: $type,
        ) -> usize {
            here.turns().step(here.me);
            // SAFETY: the caller promises `nelems` elements at `status` unless it is null.
            if unsafe { none(status, nelems) } {
                return usize::MAX;
            }
            // SAFETY: the caller promises `nelems` variables that only atomic accesses touch, and as many elements at
            // `status` unless it is null; `any` has room for `nelems` numbers at `found`.
            let some = |found| unsafe { look::$test_some(ivars, nelems, found, status, cmp, $value) };
            here.turns().wait(here.me, concat!("shmem_", stringify!($any)), || any(here, nelems, some))
        }

        pub(crate) unsafe fn $some<T: AtomicValue>(
            here: &ThreadPe, ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int,
            $value: $type,
        ) -> usize {
            here.turns().step(here.me);
            // SAFETY: the caller promises `nelems` elements at `status` unless it is null.
            if unsafe { none(status, nelems) } {
                return 0;
            }
            // SAFETY: the caller promises `nelems` variables that only atomic accesses touch, room for as many numbers at
            // `indices`, and as many elements at `status` unless it is null.
            let some = || unsafe { look::$test_some(ivars, nelems, indices, status, cmp, $value) };
            here.turns().wait(here.me, concat!("shmem_", stringify!($some)), || Some(some()).filter(|&count| count > 0))
        }

        pub(crate) unsafe fn $test_all<T: AtomicValue>(
            here: &ThreadPe, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, $value: $type,
        ) -> c_int {
            here.turns().step(here.me);
            // SAFETY: the caller promises `nelems` variables that only atomic accesses touch, and as many elements at
            // `status` unless it is null.
            unsafe { look::$test_all(ivars, nelems, status, cmp, $value) }
        }

        pub(crate) unsafe fn $test_any<T: AtomicValue>(
            here: &ThreadPe, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int, $value: $type,
        ) -> usize {
            here.turns().step(here.me);
            // SAFETY: the caller promises `nelems` variables that only atomic accesses touch, and as many elements at
            // `status` unless it is null; `any` has room for `nelems` numbers at `found`.
            let some = |found| unsafe { look::$test_some(ivars, nelems, found, status, cmp, $value) };
            any(here, nelems, some).unwrap_or(usize::MAX)
        }

        pub(crate) unsafe fn $test_some<T: AtomicValue>(
            here: &ThreadPe, ivars: *mut T, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int,
            $value: $type,
        ) -> usize {
            here.turns().step(here.me);
            // SAFETY: the caller promises `nelems` variables that only atomic accesses touch, room for as many numbers at
            // `indices`, and as many elements at `status` unless it is null.
            unsafe { look::$test_some(ivars, nelems, indices, status, cmp, $value) }
        }
    )*};
}

sets! {
    value: T =>
        wait_until_all wait_until_any wait_until_some test_all test_any test_some;
    values: *const T =>
        wait_until_all_vector wait_until_any_vector wait_until_some_vector
        test_all_vector test_any_vector test_some_vector;
}
