//! Collectives that return at once, as the committee's open proposal has them (specification pull request 456), declared in
//! shmemx.h.

use super::Category::Extension;
use super::*;

const ONE: &[FamilyPart] = &[extension(ALONE)];
const MOVED: &[FamilyPart] = &[extension(&[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, "mem"])];
const BITWISE: &[FamilyPart] = &[extension(&[
    "uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size short int long longlong",
])];
const ORDERED: &[FamilyPart] = &[extension(&[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER])];
const ARITHMETIC: &[FamilyPart] = &[extension(&[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, "complexd complexf"])];

const fn row(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(Extension, call, prototype, parts)
}

macro_rules! moved {
    ($name:literal, $more:literal) => {
        row(
            concat!("request::", $name),
            concat!(
                "int shmemx_<T>_",
                $name,
                "<N>_nb(shmem_team_t team, T *dest, const T *source, size_t nelems, ",
                $more,
                "shmem_req_h *request)"
            ),
            MOVED,
        )
        .generic(2)
    };
}

macro_rules! reduction {
    ($name:literal, $parts:ident) => {
        row(
            concat!("request::", $name, "_reduce"),
            concat!(
                "int shmemx_<T>_",
                $name,
                "_reduce_nb(shmem_team_t team, T *dest, const T *source, size_t nreduce, shmem_req_h *request)"
            ),
            $parts,
        )
        .generic(2)
    };
}

pub(super) const ROWS: &[Family] = &[
    row("request::sync", "int shmemx_sync_nb(shmem_team_t team, shmem_req_h *request)", ONE),
    row("request::barrier_all", "int shmemx_barrier_all_nb(shmem_req_h *request)", ONE),
    moved!("broadcast", "int PE_root, "),
    moved!("collect", ""),
    moved!("fcollect", ""),
    moved!("alltoall", ""),
    reduction!("and", BITWISE),
    reduction!("or", BITWISE),
    reduction!("xor", BITWISE),
    reduction!("max", ORDERED),
    reduction!("min", ORDERED),
    reduction!("sum", ARITHMETIC),
    reduction!("prod", ARITHMETIC),
    row("request::test", "int shmem_req_test(shmem_req_h *request)", ONE),
    row("request::wait", "int shmem_req_wait(shmem_req_h *request)", ONE),
    row("request::test", "int shmemx_req_test(shmem_req_h *request)", ONE),
    row("request::wait", "int shmemx_req_wait(shmem_req_h *request)", ONE),
];
