//! Waiting for and testing local symmetric variables.

use super::Category::P2p;
use super::*;

/// Bytes are in no edition.
const BYTES: &str = "char schar uchar";
const WAIT: &[FamilyPart] = &[
    deprecated("1.0", &["short int long longlong"]),
    compat(&["ushort uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff", BYTES]),
];
const WAIT_UNTIL: &[FamilyPart] = &[
    since("1.0", &["int long longlong"]),
    since("1.4", &["uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff"]),
    deprecated("1.0", &["short"]),
    deprecated("1.4", &["ushort"]),
    compat(&[BYTES]),
];
const TEST: &[FamilyPart] = &[since("1.4", &[ATOMIC]), deprecated("1.4", &["short ushort"]), compat(&[BYTES])];
const MANY: &[FamilyPart] = &[since("1.5", &[ATOMIC]), compat(&["short ushort"])];

const fn p2p(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(P2p, call, prototype, parts).generic(1)
}

const ALL: &str = "P2P-1 P2P-2 P2P-4 P2P-5 P2P-10";
const ANY: &str = "P2P-1 P2P-2 P2P-4 P2P-5 P2P-7 P2P-10";
const SOME: &str = "P2P-1 P2P-2 P2P-4 P2P-5 P2P-6 P2P-7 P2P-8 P2P-10";
const VECTOR: &str = "P2P-1 P2P-2 P2P-4 P2P-5 P2P-9 P2P-10";

pub(super) const ROWS: &[Family] = &[
    p2p("p2p::wait_until", "void shmem_<T>_wait_until(T *ivar, int cmp, T cmp_value)", WAIT_UNTIL)
        .clauses("P2P-1 P2P-2 P2P-3"),
    p2p(
        "p2p::wait_until_all",
        "void shmem_<T>_wait_until_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)",
        MANY,
    )
    .clauses(ALL),
    p2p(
        "p2p::wait_until_any",
        "size_t shmem_<T>_wait_until_any(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)",
        MANY,
    )
    .clauses(ANY),
    p2p(
        "p2p::wait_until_some",
        "size_t shmem_<T>_wait_until_some(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value)",
        MANY,
    )
    .clauses(SOME),
    p2p(
        "p2p::wait_until_all_vector",
        "void shmem_<T>_wait_until_all_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values)",
        MANY,
    )
    .clauses(VECTOR),
    p2p(
        "p2p::wait_until_any_vector",
        "size_t shmem_<T>_wait_until_any_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values)",
        MANY,
    )
    .clauses(VECTOR),
    p2p(
        "p2p::wait_until_some_vector",
        "size_t shmem_<T>_wait_until_some_vector(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values)",
        MANY,
    )
    .clauses(VECTOR),
    p2p("p2p::test", "int shmem_<T>_test(T *ivar, int cmp, T cmp_value)", TEST).clauses("P2P-1 P2P-2 P2P-5"),
    p2p(
        "p2p::test_all",
        "int shmem_<T>_test_all(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)",
        MANY,
    )
    .clauses(ALL),
    p2p(
        "p2p::test_any",
        "size_t shmem_<T>_test_any(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)",
        MANY,
    )
    .clauses(ANY),
    p2p(
        "p2p::test_some",
        "size_t shmem_<T>_test_some(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value)",
        MANY,
    )
    .clauses(SOME),
    p2p(
        "p2p::test_all_vector",
        "int shmem_<T>_test_all_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values)",
        MANY,
    )
    .clauses(VECTOR),
    p2p(
        "p2p::test_any_vector",
        "size_t shmem_<T>_test_any_vector(T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values)",
        MANY,
    )
    .clauses(VECTOR),
    p2p(
        "p2p::test_some_vector",
        "size_t shmem_<T>_test_some_vector(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values)",
        MANY,
    )
    .clauses(VECTOR),
    Family::new(P2p, "p2p::wait", "void shmem_<T>_wait(T *ivar, T cmp_value)", WAIT).clauses("P2P-11"),
    Family::new(P2p, "p2p::wait", "void shmem_wait(long *ivar, long cmp_value)", &[deprecated("1.0", ALONE)])
        .clauses("P2P-11"),
    Family::new(P2p, "p2p::wait_until", "void shmem_wait_until(long *ivar, int cmp, long cmp_value)", &[deprecated("1.0", ALONE)])
        .clauses("P2P-11 HDR-2"),
];
