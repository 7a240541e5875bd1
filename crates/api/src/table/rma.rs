//! Put and get, and puts with a signal.

use super::Category::{Rma, Signal};
use super::*;

const ALL: &[&str] = &[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, SIZES, "mem"];

const ONE: &[FamilyPart] =
    &[since("1.0", &[ORIGINAL_TYPES]), since("1.1", &["char"]), since("1.4", &[TYPES_ADDED_LATER])];
const BLOCK: &[FamilyPart] = &[
    since("1.0", &[ORIGINAL_TYPES, "32 64 128 mem"]),
    since("1.3", &["char 8 16"]),
    since("1.4", &[TYPES_ADDED_LATER]),
];
const STRIDES: &[FamilyPart] =
    &[since("1.0", &[ORIGINAL_TYPES, "32 64 128"]), since("1.3", &["char 8 16"]), since("1.4", &[TYPES_ADDED_LATER])];
const BLOCKS: &[FamilyPart] = &[since("1.6", &[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, SIZES])];
const NONBLOCKING: &[FamilyPart] =
    &[since("1.3", &[ORIGINAL_TYPES, "char", SIZES, "mem"]), since("1.4", &[TYPES_ADDED_LATER])];

const fn rma(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(Rma, call, prototype, parts).ctx().generic(1)
}

const fn signal(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(Signal, call, prototype, parts).ctx().generic(1)
}

/// A transfer of several elements.
macro_rules! moved {
    ($call:literal, $name:literal, $elements:literal, $parts:ident, $clauses:literal) => {
        rma($call, concat!("void shmem_<T>_", $name, "(T *dest, const T *source, ", $elements, ", int pe)"), $parts)
            .clauses($clauses)
    };
}

pub(super) const ROWS: &[Family] = &[
    rma("rma::p", "void shmem_<T>_p(T *dest, T value, int pe)", ONE).clauses("RMA-1 RMA-2 RMA-4 RMA-8 RMA-10"),
    rma("rma::g", "T shmem_<T>_g(const T *source, int pe)", ONE).clauses("RMA-1 RMA-4 RMA-8 RMA-10"),
    moved!("rma::put", "put<N>", "size_t nelems", BLOCK, "RMA-1 RMA-3 RMA-7 RMA-9 SYM-1 SYM-6 SYM-7 SYM-9"),
    moved!("rma::get", "get<N>", "size_t nelems", BLOCK, "RMA-1 RMA-3 RMA-7 RMA-9 SYM-1 SYM-6 SYM-7 SYM-9"),
    moved!("rma::iput", "iput<N>", "ptrdiff_t dst, ptrdiff_t sst, size_t nelems", STRIDES, "RMA-5 SYM-9"),
    moved!("rma::iget", "iget<N>", "ptrdiff_t dst, ptrdiff_t sst, size_t nelems", STRIDES, "RMA-5 SYM-9"),
    moved!("rma::ibput", "ibput<N>", "ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks", BLOCKS, "RMA-6 SYM-9"),
    moved!("rma::ibget", "ibget<N>", "ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks", BLOCKS, "RMA-6 SYM-9"),
    moved!("rma::put_nbi", "put<N>_nbi", "size_t nelems", NONBLOCKING, "RMA-2 RMA-3 RMA-9 SYM-9"),
    moved!("rma::get_nbi", "get<N>_nbi", "size_t nelems", NONBLOCKING, "RMA-2 RMA-3 RMA-9 SYM-9"),
    signal(
        "signal::put_signal",
        "void shmem_<T>_put<N>_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)",
        &[since("1.5", ALL)],
    )
    .clauses("SIG-1 SIG-2 SIG-3 SIG-4 SIG-9 SYM-9"),
    signal(
        "signal::put_signal_nbi",
        "void shmem_<T>_put<N>_signal_nbi(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)",
        &[since("1.5", ALL)],
    )
    .clauses("SIG-2 SIG-3 SIG-4 SIG-8 SIG-9 SYM-9"),
    signal("signal::signal_set", "void shmem_signal_set(uint64_t *sig_addr, uint64_t signal, int pe)", &[since("1.6", ALONE)])
        .clauses("SIG-4 SIG-7"),
    signal("signal::signal_add", "void shmem_signal_add(uint64_t *sig_addr, uint64_t signal, int pe)", &[since("1.6", ALONE)])
        .clauses("SIG-3 SIG-4 SIG-7"),
    Family::new(Signal, "signal::signal_fetch", "uint64_t shmem_signal_fetch(const uint64_t *sig_addr)", &[since("1.5", ALONE)])
        .clauses("SIG-4 SIG-5"),
    Family::new(
        Signal,
        "signal::signal_wait_until",
        "uint64_t shmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)",
        &[since("1.5", ALONE)],
    )
    .clauses("SIG-6 P2P-2"),
];
