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

/// A call about many variables: its result, what comes before the statuses, and the value or the values that they are compared with.
macro_rules! many {
    ($result:literal, $name:literal, $before:literal, $values:literal, $clauses:ident) => {
        p2p(
            concat!("p2p::", $name),
            concat!(
                $result,
                " shmem_<T>_",
                $name,
                "(T *ivars, size_t nelems, ",
                $before,
                "const int *status, int cmp, ",
                $values,
                ")"
            ),
            MANY,
        )
        .clauses($clauses)
    };
}

pub(super) const ROWS: &[Family] = &[
    p2p("p2p::wait_until", "void shmem_<T>_wait_until(T *ivar, int cmp, T cmp_value)", WAIT_UNTIL)
        .clauses("P2P-1 P2P-2 P2P-3"),
    many!("void", "wait_until_all", "", "T cmp_value", ALL),
    many!("size_t", "wait_until_any", "", "T cmp_value", ANY),
    many!("size_t", "wait_until_some", "size_t *indices, ", "T cmp_value", SOME),
    many!("void", "wait_until_all_vector", "", "const T *cmp_values", VECTOR),
    many!("size_t", "wait_until_any_vector", "", "const T *cmp_values", VECTOR),
    many!("size_t", "wait_until_some_vector", "size_t *indices, ", "const T *cmp_values", VECTOR),
    p2p("p2p::test", "int shmem_<T>_test(T *ivar, int cmp, T cmp_value)", TEST).clauses("P2P-1 P2P-2 P2P-5"),
    many!("int", "test_all", "", "T cmp_value", ALL),
    many!("size_t", "test_any", "", "T cmp_value", ANY),
    many!("size_t", "test_some", "size_t *indices, ", "T cmp_value", SOME),
    many!("int", "test_all_vector", "", "const T *cmp_values", VECTOR),
    many!("size_t", "test_any_vector", "", "const T *cmp_values", VECTOR),
    many!("size_t", "test_some_vector", "size_t *indices, ", "const T *cmp_values", VECTOR),
    Family::new(P2p, "p2p::wait", "void shmem_<T>_wait(T *ivar, T cmp_value)", WAIT).clauses("P2P-11"),
    Family::new(P2p, "p2p::wait", "void shmem_wait(long *ivar, long cmp_value)", &[deprecated("1.0", ALONE)])
        .clauses("P2P-11"),
    Family::new(
        P2p,
        "p2p::wait_until",
        "void shmem_wait_until(long *ivar, int cmp, long cmp_value)",
        &[deprecated("1.0", ALONE)],
    )
    .clauses("P2P-11 HDR-2"),
];
