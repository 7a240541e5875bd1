//! Atomic memory operations.

use super::Category::Amo;
use super::*;

/// Bitwise atomics; the signed basic types are not in the standard, but other libraries have them.
const BITWISE: &str = "uint ulong ulonglong int32 int64 uint32 uint64";
const BITWISE_COMPAT: &str = "int long longlong";
/// Types that the old names never had.
const OLD_COMPAT: &str = "uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff";

const STANDARD: &[FamilyPart] = &[since("1.4", &[ATOMIC])];
const STANDARD_NBI: &[FamilyPart] = &[since("1.5", &[ATOMIC])];
const EXTENDED: &[FamilyPart] = &[since("1.4", &[FLOATING, ATOMIC])];
const EXTENDED_NBI: &[FamilyPart] = &[since("1.5", &[FLOATING, ATOMIC])];
const BITS: &[FamilyPart] = &[since("1.4", &[BITWISE]), compat(&[BITWISE_COMPAT])];
const BITS_NBI: &[FamilyPart] = &[since("1.5", &[BITWISE])];
const SWAP: &[FamilyPart] = &[since("1.4", &[FLOATING, ATOMIC]), compat(&["uchar"])];
const SWAP_NBI: &[FamilyPart] = &[since("1.5", &[FLOATING, ATOMIC]), compat(&["uchar"])];
const OLD: &[FamilyPart] = &[deprecated("1.0", &["int long longlong"]), compat(&[OLD_COMPAT])];
const OLD_SWAP: &[FamilyPart] = &[deprecated("1.0", &[FLOATING, "int long longlong"]), compat(&[OLD_COMPAT])];
const OLD_ACCESS: &[FamilyPart] = &[deprecated("1.3", &[FLOATING, "int long longlong"]), compat(&[OLD_COMPAT])];

const fn amo(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(Amo, call, prototype, parts).ctx().generic(1).clauses("AMO-1 AMO-2 AMO-3 AMO-4 AMO-5 AMO-9")
}

const fn nbi(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    amo(call, prototype, parts).clauses("AMO-1 AMO-2 AMO-3 AMO-5 AMO-8 AMO-9")
}

const fn old(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(Amo, call, prototype, parts).via().generic(1).clauses("AMO-10")
}

pub(super) const ROWS: &[Family] = &[
    amo("amo::fetch", "T shmem_<T>_atomic_fetch(const T *source, int pe)", EXTENDED).clauses("AMO-1 AMO-3 AMO-6 AMO-9"),
    amo("amo::set", "void shmem_<T>_atomic_set(T *dest, T value, int pe)", EXTENDED).clauses("AMO-1 AMO-3 AMO-6 AMO-9"),
    amo("amo::swap", "T shmem_<T>_atomic_swap(T *dest, T value, int pe)", SWAP).clauses("AMO-1 AMO-3 AMO-6 AMO-9"),
    amo("amo::compare_swap", "T shmem_<T>_atomic_compare_swap(T *dest, T cond, T value, int pe)", STANDARD)
        .clauses("AMO-1 AMO-2 AMO-3 AMO-7 AMO-9"),
    amo("amo::add", "void shmem_<T>_atomic_add(T *dest, T value, int pe)", STANDARD),
    amo("amo::inc", "void shmem_<T>_atomic_inc(T *dest, int pe)", STANDARD),
    amo("amo::fetch_add", "T shmem_<T>_atomic_fetch_add(T *dest, T value, int pe)", STANDARD),
    amo("amo::fetch_inc", "T shmem_<T>_atomic_fetch_inc(T *dest, int pe)", STANDARD),
    amo("amo::and", "void shmem_<T>_atomic_and(T *dest, T value, int pe)", BITS),
    amo("amo::or", "void shmem_<T>_atomic_or(T *dest, T value, int pe)", BITS),
    amo("amo::xor", "void shmem_<T>_atomic_xor(T *dest, T value, int pe)", BITS),
    amo("amo::fetch_and", "T shmem_<T>_atomic_fetch_and(T *dest, T value, int pe)", BITS),
    amo("amo::fetch_or", "T shmem_<T>_atomic_fetch_or(T *dest, T value, int pe)", BITS),
    amo("amo::fetch_xor", "T shmem_<T>_atomic_fetch_xor(T *dest, T value, int pe)", BITS),
    nbi("amo::fetch_nbi", "void shmem_<T>_atomic_fetch_nbi(T *fetch, const T *source, int pe)", EXTENDED_NBI),
    nbi("amo::swap_nbi", "void shmem_<T>_atomic_swap_nbi(T *fetch, T *dest, T value, int pe)", SWAP_NBI),
    nbi(
        "amo::compare_swap_nbi",
        "void shmem_<T>_atomic_compare_swap_nbi(T *fetch, T *dest, T cond, T value, int pe)",
        STANDARD_NBI,
    ),
    nbi("amo::fetch_add_nbi", "void shmem_<T>_atomic_fetch_add_nbi(T *fetch, T *dest, T value, int pe)", STANDARD_NBI),
    nbi("amo::fetch_inc_nbi", "void shmem_<T>_atomic_fetch_inc_nbi(T *fetch, T *dest, int pe)", STANDARD_NBI),
    nbi("amo::fetch_and_nbi", "void shmem_<T>_atomic_fetch_and_nbi(T *fetch, T *dest, T value, int pe)", BITS_NBI),
    nbi("amo::fetch_or_nbi", "void shmem_<T>_atomic_fetch_or_nbi(T *fetch, T *dest, T value, int pe)", BITS_NBI),
    nbi("amo::fetch_xor_nbi", "void shmem_<T>_atomic_fetch_xor_nbi(T *fetch, T *dest, T value, int pe)", BITS_NBI),
    old("amo::fetch", "T shmem_<T>_fetch(const T *source, int pe)", OLD_ACCESS),
    old("amo::set", "void shmem_<T>_set(T *dest, T value, int pe)", OLD_ACCESS),
    old("amo::swap", "T shmem_<T>_swap(T *dest, T value, int pe)", OLD_SWAP),
    old("amo::compare_swap", "T shmem_<T>_cswap(T *dest, T cond, T value, int pe)", OLD),
    old("amo::add", "void shmem_<T>_add(T *dest, T value, int pe)", OLD),
    old("amo::inc", "void shmem_<T>_inc(T *dest, int pe)", OLD),
    old("amo::fetch_add", "T shmem_<T>_fadd(T *dest, T value, int pe)", OLD),
    old("amo::fetch_inc", "T shmem_<T>_finc(T *dest, int pe)", OLD),
    // Up to 1.2 the name of the macro was a routine; programs built without C11 still call it.
    Family::new(Amo, "amo::swap", "long shmem_swap(long *dest, long value, int pe)", &[compat(ALONE)])
        .via()
        .clauses("LEG-4"),
];
