//! Collectives: the team forms and the older active-set forms.

use super::Category::Collective;
use super::*;

const MOVED: &[FamilyPart] = &[since("1.5", &[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, "mem"])];
const BITWISE: &[FamilyPart] = &[
    since("1.5", &["uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size"]),
    compat(&["short int long longlong"]),
];
const ORDERED: &[FamilyPart] = &[since("1.5", &[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER])];
const ARITHMETIC: &[FamilyPart] = &[since("1.5", &[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, "complexd complexf"])];
const SCANNED: &[FamilyPart] = &[since("1.6", &[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, "complexd complexf"])];

const WORDS: &[FamilyPart] = &[deprecated("1.0", &["32 64"])];
const WORDS_LATER: &[FamilyPart] = &[deprecated("1.3", &["32 64"])];
const OLD_BITWISE: &[FamilyPart] = &[deprecated("1.0", &["short int long longlong"])];
const OLD_ORDERED: &[FamilyPart] = &[deprecated("1.0", &[ORIGINAL_TYPES])];
const OLD_ARITHMETIC: &[FamilyPart] = &[deprecated("1.0", &[ORIGINAL_TYPES, "complexd complexf"])];

const fn team(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(Collective, call, prototype, parts).generic(2)
}

const fn set(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(Collective, call, prototype, parts).clauses("ACT-1 ACT-2 ACT-3 ACT-4 ACT-5 ACT-6 RED-3")
}

/// A collective of a team that moves elements.
macro_rules! moved {
    ($name:literal, $arguments:literal, $clauses:literal) => {
        team(
            concat!("collective::", $name),
            concat!("int shmem_<T>_", $name, "<N>(shmem_team_t team, T *dest, const T *source, ", $arguments, ")"),
            MOVED,
        )
        .clauses($clauses)
    };
}

/// The same over an active set.
macro_rules! moved_in_set {
    ($name:literal, $arguments:literal, $parts:ident) => {
        set(
            concat!("active_set::", $name),
            concat!(
                "void shmem_",
                $name,
                "<N>(T *dest, const T *source, ",
                $arguments,
                ", int PE_start, int logPE_stride, int PE_size, long *pSync)"
            ),
            $parts,
        )
    };
}

/// A reduction or a scan of a team. `$count` is the name of the number of elements.
macro_rules! combined {
    ($name:literal, $count:literal, $parts:ident, $clauses:literal) => {
        team(
            concat!("collective::", $name),
            concat!("int shmem_<T>_", $name, "(shmem_team_t team, T *dest, const T *source, size_t ", $count, ")"),
            $parts,
        )
        .clauses($clauses)
    };
}

macro_rules! reduction {
    ($name:literal, $parts:ident) => {
        combined!($name, "nreduce", $parts, "RED-1 RED-2 RED-4 RED-5 RED-6")
    };
}

macro_rules! to_all {
    ($name:literal, $parts:ident) => {
        set(
            concat!("active_set::", $name),
            concat!(
                "void shmem_<T>_",
                $name,
                "(T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, int PE_size, T *pWrk, long *pSync)"
            ),
            $parts,
        )
    };
}

pub(super) const ROWS: &[Family] = &[
    moved!("broadcast", "size_t nelems, int PE_root", "BC-1 COL-1 COL-3 COL-8"),
    moved!("collect", "size_t nelems", "CC-1 CC-2 COL-8"),
    moved!("fcollect", "size_t nelems", "CC-1 CC-2 COL-8"),
    moved!("alltoall", "size_t nelems", "AA-1 COL-8"),
    moved!("alltoalls", "ptrdiff_t dst, ptrdiff_t sst, size_t nelems", "AA-2 COL-8"),
    reduction!("and_reduce", BITWISE),
    reduction!("or_reduce", BITWISE),
    reduction!("xor_reduce", BITWISE),
    reduction!("max_reduce", ORDERED),
    reduction!("min_reduce", ORDERED),
    reduction!("sum_reduce", ARITHMETIC),
    reduction!("prod_reduce", ARITHMETIC),
    combined!("sum_inscan", "nelems", SCANNED, "SCN-1"),
    combined!("sum_exscan", "nelems", SCANNED, "SCN-1"),
    moved_in_set!("broadcast", "size_t nelems, int PE_root", WORDS),
    moved_in_set!("collect", "size_t nelems", WORDS),
    moved_in_set!("fcollect", "size_t nelems", WORDS),
    moved_in_set!("alltoall", "size_t nelems", WORDS_LATER),
    moved_in_set!("alltoalls", "ptrdiff_t dst, ptrdiff_t sst, size_t nelems", WORDS_LATER),
    to_all!("and_to_all", OLD_BITWISE),
    to_all!("or_to_all", OLD_BITWISE),
    to_all!("xor_to_all", OLD_BITWISE),
    to_all!("max_to_all", OLD_ORDERED),
    to_all!("min_to_all", OLD_ORDERED),
    to_all!("sum_to_all", OLD_ARITHMETIC),
    to_all!("prod_to_all", OLD_ARITHMETIC),
];
