//! Transfers of one `long double`. C has its value by value in these routines, which Rust cannot express, and passes its address on
//! (`shim/long_double.c`).

use core::ffi::c_int;

use oxshmem_runtime::calls::rma;
use oxshmem_runtime::{ContextHandle, InWorld, LongDouble, On};

/// `shmem_longdouble_p`.
///
/// # Safety
/// As for `rma::put` of one element.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_longdouble_p(dest: *mut LongDouble, value: *const LongDouble, pe: c_int) {
    // SAFETY: the shim passes the address of a value, and the program promises that `dest` is symmetric memory for one element.
    unsafe { rma::put(InWorld("shmem_longdouble_p"), dest, value, 1, pe) }
}

/// `shmem_ctx_longdouble_p`.
///
/// # Safety
/// As for `rma::put` of one element.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_ctx_longdouble_p(
    ctx: ContextHandle,
    dest: *mut LongDouble,
    value: *const LongDouble,
    pe: c_int,
) {
    // SAFETY: the shim passes the address of a value, and the program promises that `dest` is symmetric memory for one element.
    unsafe { rma::put(On(ctx, "shmem_ctx_longdouble_p"), dest, value, 1, pe) }
}

/// `shmem_longdouble_g`.
///
/// # Safety
/// As for `rma::get` of one element.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_longdouble_g(value: *mut LongDouble, source: *const LongDouble, pe: c_int) {
    // SAFETY: the shim passes the address of a variable, and the program promises that `source` is symmetric memory for one element.
    unsafe { rma::get(InWorld("shmem_longdouble_g"), value, source, 1, pe) }
}

/// `shmem_ctx_longdouble_g`.
///
/// # Safety
/// As for `rma::get` of one element.
#[unsafe(no_mangle)]
unsafe extern "C" fn oxshmem_ctx_longdouble_g(
    ctx: ContextHandle,
    value: *mut LongDouble,
    source: *const LongDouble,
    pe: c_int,
) {
    // SAFETY: the shim passes the address of a variable, and the program promises that `source` is symmetric memory for one element.
    unsafe { rma::get(On(ctx, "shmem_ctx_longdouble_g"), value, source, 1, pe) }
}
