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

macro_rules! reduction {
    ($call:literal, $name:literal, $parts:ident) => {
        team(
            $call,
            concat!("int shmem_<T>_", $name, "_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce)"),
            $parts,
        )
        .clauses("RED-1 RED-2 RED-4 RED-5 RED-6")
    };
}

macro_rules! to_all {
    ($call:literal, $name:literal, $parts:ident) => {
        set(
            $call,
            concat!(
                "void shmem_<T>_",
                $name,
                "_to_all(T *dest, const T *source, int nreduce, int PE_start, \
                 int logPE_stride, int PE_size, T *pWrk, long *pSync)"
            ),
            $parts,
        )
    };
}

pub(super) const ROWS: &[Family] = &[
    team(
        "collective::broadcast",
        "int shmem_<T>_broadcast<N>(shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root)",
        MOVED,
    )
    .clauses("BC-1 COL-1 COL-3 COL-8"),
    team("collective::collect", "int shmem_<T>_collect<N>(shmem_team_t team, T *dest, const T *source, size_t nelems)", MOVED)
        .clauses("CC-1 CC-2 COL-8"),
    team(
        "collective::fcollect",
        "int shmem_<T>_fcollect<N>(shmem_team_t team, T *dest, const T *source, size_t nelems)",
        MOVED,
    )
    .clauses("CC-1 CC-2 COL-8"),
    team(
        "collective::alltoall",
        "int shmem_<T>_alltoall<N>(shmem_team_t team, T *dest, const T *source, size_t nelems)",
        MOVED,
    )
    .clauses("AA-1 COL-8"),
    team(
        "collective::alltoalls",
        "int shmem_<T>_alltoalls<N>(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems)",
        MOVED,
    )
    .clauses("AA-2 COL-8"),
    reduction!("collective::and_reduce", "and", BITWISE),
    reduction!("collective::or_reduce", "or", BITWISE),
    reduction!("collective::xor_reduce", "xor", BITWISE),
    reduction!("collective::max_reduce", "max", ORDERED),
    reduction!("collective::min_reduce", "min", ORDERED),
    reduction!("collective::sum_reduce", "sum", ARITHMETIC),
    reduction!("collective::prod_reduce", "prod", ARITHMETIC),
    team(
        "collective::sum_inscan",
        "int shmem_<T>_sum_inscan(shmem_team_t team, T *dest, const T *source, size_t nelems)",
        SCANNED,
    )
    .clauses("SCN-1"),
    team(
        "collective::sum_exscan",
        "int shmem_<T>_sum_exscan(shmem_team_t team, T *dest, const T *source, size_t nelems)",
        SCANNED,
    )
    .clauses("SCN-1"),
    set(
        "active_set::broadcast",
        "void shmem_broadcast<N>(T *dest, const T *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync)",
        WORDS,
    ),
    set(
        "active_set::collect",
        "void shmem_collect<N>(T *dest, const T *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync)",
        WORDS,
    ),
    set(
        "active_set::fcollect",
        "void shmem_fcollect<N>(T *dest, const T *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync)",
        WORDS,
    ),
    set(
        "active_set::alltoall",
        "void shmem_alltoall<N>(T *dest, const T *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync)",
        WORDS_LATER,
    ),
    set(
        "active_set::alltoalls",
        "void shmem_alltoalls<N>(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync)",
        WORDS_LATER,
    ),
    to_all!("active_set::and_to_all", "and", OLD_BITWISE),
    to_all!("active_set::or_to_all", "or", OLD_BITWISE),
    to_all!("active_set::xor_to_all", "xor", OLD_BITWISE),
    to_all!("active_set::max_to_all", "max", OLD_ORDERED),
    to_all!("active_set::min_to_all", "min", OLD_ORDERED),
    to_all!("active_set::sum_to_all", "sum", OLD_ARITHMETIC),
    to_all!("active_set::prod_to_all", "prod", OLD_ARITHMETIC),
];
