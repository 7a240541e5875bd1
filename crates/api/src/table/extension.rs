//! Extensions of other vendors that programs use, declared in shmemx.h.

use super::Category::Extension;
use super::*;

const ONE: &[FamilyPart] = &[extension(ALONE)];
const ALL: &[FamilyPart] = &[extension(&[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, SIZES, "mem"])];
const STRIDED: &[FamilyPart] = &[extension(&[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, SIZES])];
const ATOMICS: &[FamilyPart] = &[extension(&[ATOMIC])];
const SHORT: &[FamilyPart] = &[extension(&["short"])];
const SCANNED: &[FamilyPart] = &[extension(&[ORIGINAL_TYPES, "char", TYPES_ADDED_LATER, "complexd complexf"])];
const BITWISE: &[FamilyPart] = &[extension(&["short int long longlong"])];
const ORDERED: &[FamilyPart] = &[extension(&[ORIGINAL_TYPES])];
const ARITHMETIC: &[FamilyPart] = &[extension(&[ORIGINAL_TYPES, "complexd complexf"])];

const fn row(call: &'static str, prototype: &'static str, parts: &'static [FamilyPart]) -> Family {
    Family::new(Extension, call, prototype, parts)
}

/// An older atomic. The handle has no use and stays untouched.
const fn with_handle(call: &'static str, prototype: &'static str) -> Family {
    row(call, prototype, ATOMICS).via()
}

macro_rules! team_to_all {
    ($name:literal, $parts:ident) => {
        row(
            concat!("team_extension::", $name, "_to_all"),
            concat!(
                "void shmemx_team_<T>_",
                $name,
                "_to_all(T *dest, const T *source, int nreduce, shmem_team_t team, T *pWrk, long *pSync)"
            ),
            $parts,
        )
    };
}

pub(super) const ROWS: &[Family] = &[
    // Locality, information, completion.
    row("extension::wtime", "double shmemx_wtime(void)", ONE),
    row("extension::nodename", "char *shmemx_nodename(void)", ONE),
    row("extension::pe_quiet", "void shmemx_pe_quiet(int target_pe)", ONE),
    row("extension::local_complete", "void shmemx_local_complete(void)", ONE),
    row("extension::quiet_test", "int shmemx_quiet_test(void)", ONE).ctx(),
    row("extension::fence_test", "int shmemx_fence_test(void)", ONE).ctx(),
    row("extension::thread_register", "void shmemx_thread_register(void)", ONE),
    row("extension::thread_unregister", "void shmemx_thread_unregister(void)", ONE),
    row("extension::thread_quiet", "void shmemx_thread_quiet(void)", ONE),
    row("extension::thread_fence", "void shmemx_thread_fence(void)", ONE),
    row("extension::register_gettid", "void shmemx_register_gettid(uint64_t (*gettid_fn)(void))", ONE),
    // Counting events.
    row("counting::create", "void shmemx_ct_create(shmemx_ct_t *ct)", ONE),
    row("counting::free", "void shmemx_ct_free(shmemx_ct_t *ct)", ONE),
    row("counting::get", "long shmemx_ct_get(shmemx_ct_t ct)", ONE),
    row("counting::set", "void shmemx_ct_set(shmemx_ct_t ct, long value)", ONE),
    row("counting::wait", "void shmemx_ct_wait(shmemx_ct_t ct, long wait_for)", ONE),
    row(
        "counting::putmem",
        "void shmemx_putmem_ct(shmemx_ct_t ct, void *target, const void *source, size_t len, int pe)",
        ONE,
    ),
    row(
        "counting::getmem",
        "void shmemx_getmem_ct(shmemx_ct_t ct, void *target, const void *source, size_t len, int pe)",
        ONE,
    ),
    // Performance counters.
    row("performance_counters::issued_write", "void shmemx_pcntr_get_issued_write(shmem_ctx_t ctx, uint64_t *cntr_value)", ONE),
    row("performance_counters::issued_read", "void shmemx_pcntr_get_issued_read(shmem_ctx_t ctx, uint64_t *cntr_value)", ONE),
    row("performance_counters::completed_write", "void shmemx_pcntr_get_completed_write(shmem_ctx_t ctx, uint64_t *cntr_value)", ONE),
    row("performance_counters::completed_read", "void shmemx_pcntr_get_completed_read(shmem_ctx_t ctx, uint64_t *cntr_value)", ONE),
    row("performance_counters::completed_target", "void shmemx_pcntr_get_completed_target(uint64_t *cntr_value)", ONE),
    row("performance_counters::all", "void shmemx_pcntr_get_all(shmem_ctx_t ctx, shmemx_pcntr_t *pcntr)", ONE),
    // Older names of nonblocking and block-strided transfers.
    row("rma::put_nbi", "void shmemx_<T>_put<N>_nb(T *dest, const T *source, size_t nelems, int pe)", ALL).ctx().generic(1),
    row("rma::get_nbi", "void shmemx_<T>_get<N>_nb(T *dest, const T *source, size_t nelems, int pe)", ALL).ctx().generic(1),
    row(
        "rma::ibput",
        "void shmemx_<T>_ibput<N>(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)",
        STRIDED,
    )
    .ctx()
    .generic(1),
    row(
        "rma::ibget",
        "void shmemx_<T>_ibget<N>(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe)",
        STRIDED,
    )
    .ctx()
    .generic(1),
    // Older atomics.
    with_handle("amo::add(dest, value, pe)", "void shmemx_<T>_add_nb(T *dest, T value, int pe, void **transfer_handle)"),
    with_handle("amo::inc(dest, pe)", "void shmemx_<T>_inc_nb(T *dest, int pe, void **transfer_handle)"),
    with_handle(
        "amo::fetch_add_nbi(fetch, dest, value, pe)",
        "void shmemx_<T>_fadd_nb(T *fetch, T *dest, T value, int pe, void **transfer_handle)",
    ),
    with_handle(
        "amo::fetch_inc_nbi(fetch, dest, pe)",
        "void shmemx_<T>_finc_nb(T *fetch, T *dest, int pe, void **transfer_handle)",
    ),
    with_handle(
        "amo::swap_nbi(fetch, dest, value, pe)",
        "void shmemx_<T>_swap_nb(T *fetch, T *dest, T value, int pe, void **transfer_handle)",
    ),
    with_handle(
        "amo::compare_swap_nbi(fetch, dest, cond, value, pe)",
        "void shmemx_<T>_cswap_nb(T *fetch, T *dest, T cond, T value, int pe, void **transfer_handle)",
    ),
    row("amo::add", "void shmemx_<T>_add(T *dest, T value, int pe)", SHORT).via(),
    row("amo::inc", "void shmemx_<T>_inc(T *dest, int pe)", SHORT).via(),
    row("amo::fetch_add", "T shmemx_<T>_fadd(T *dest, T value, int pe)", SHORT).via(),
    row("amo::fetch_inc", "T shmemx_<T>_finc(T *dest, int pe)", SHORT).via(),
    row("amo::swap", "T shmemx_<T>_swap(T *dest, T value, int pe)", SHORT).via(),
    row("amo::compare_swap", "T shmemx_<T>_cswap(T *dest, T cond, T value, int pe)", SHORT).via(),
    // Puts that set a signal; the operator is always "set".
    row(
        "signal::put_signal(dest, source, nelems, sig_addr, signal, SIGNAL_SET, pe)",
        "void shmemx_<T>_put<N>_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int pe)",
        ALL,
    )
    .via(),
    row(
        "signal::put_signal_nbi(dest, source, nelems, sig_addr, signal, SIGNAL_SET, pe)",
        "void shmemx_<T>_put<N>_signal_nb(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int pe)",
        ALL,
    )
    .via(),
    row("signal::signal_set", "void shmemx_signal_set(uint64_t *sig_addr, uint64_t signal, int pe)", ONE).ctx().generic(1),
    row("signal::signal_add", "void shmemx_signal_add(uint64_t *sig_addr, uint64_t signal, int pe)", ONE).ctx().generic(1),
    // Teams. Every error ends the job.
    row(
        "team_extension::split_strided",
        "void shmemx_team_split_strided(shmem_team_t parent_team, int PE_start, int PE_stride, int PE_size, shmem_team_t *newteam)",
        ONE,
    ),
    row(
        "team_extension::create_strided",
        "void shmemx_team_create_strided(int PE_start, int PE_stride, int PE_size, shmem_team_t *newteam)",
        ONE,
    ),
    row(
        "team_extension::split_color",
        "void shmemx_team_split(shmem_team_t parent_team, int color, int key, shmem_team_t *newteam)",
        ONE,
    ),
    row(
        "team_extension::split_color",
        "void shmemx_team_split_color(shmem_team_t parent_team, int color, int key, shmem_team_t *newteam)",
        ONE,
    ),
    row(
        "team_extension::split_2d",
        "void shmemx_team_split_2d(shmem_team_t parent_team, int xrange, int yrange, shmem_team_t *xaxis_team, shmem_team_t *yaxis_team)",
        ONE,
    ),
    row(
        "team_extension::split_3d",
        "void shmemx_team_split_3d(shmem_team_t parent_team, int xrange, int yrange, int zrange, shmem_team_t *xaxis_team, \
         shmem_team_t *yaxis_team, shmem_team_t *zaxis_team)",
        ONE,
    ),
    row("team_extension::destroy", "void shmemx_team_destroy(shmem_team_t *team)", ONE),
    row("team_extension::my_pe", "int shmemx_team_my_pe(shmem_team_t team)", ONE),
    row("team_extension::my_pe", "int shmemx_team_mype(shmem_team_t team)", ONE),
    row("team_extension::n_pes", "int shmemx_team_n_pes(shmem_team_t team)", ONE),
    row("team_extension::n_pes", "int shmemx_team_npes(shmem_team_t team)", ONE),
    row(
        "team_extension::translate_pe",
        "int shmemx_team_translate_pe(shmem_team_t team1, int team1_pe, shmem_team_t team2)",
        ONE,
    ),
    row("team_extension::barrier", "void shmemx_team_barrier(shmem_team_t team, long *pSync)", ONE),
    row(
        "team::get_config",
        "int shmemx_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config)",
        ONE,
    ),
    row("context::team_create_ctx", "int shmemx_team_ctx_create(shmem_team_t team, long options, shmem_ctx_t *ctx)", ONE),
    row("context::get_team", "int shmemx_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)", ONE),
    // Reductions with the arguments of those on active sets. The work arrays have no use.
    team_to_all!("and", BITWISE),
    team_to_all!("or", BITWISE),
    team_to_all!("xor", BITWISE),
    team_to_all!("max", ORDERED),
    team_to_all!("min", ORDERED),
    team_to_all!("sum", ARITHMETIC),
    team_to_all!("prod", ARITHMETIC),
    // Exchange of blocks of different sizes; sizes and offsets in bytes.
    row(
        "active_set::alltoallv",
        "void shmemx_alltoallv(void *target, size_t *t_offsets, size_t *t_sizes, const void *source, size_t *s_offsets, \
         size_t *s_sizes, int PE_start, int logPE_stride, int PE_size, long *pSync)",
        ONE,
    ),
    row(
        "active_set::alltoallv_packed",
        "void shmemx_alltoallv_packed(void *target, size_t target_len, size_t *t_size, const void *source, size_t *s_offsets, \
         size_t *s_sizes, int PE_start, int logPE_stride, int PE_size, long *pSync)",
        ONE,
    ),
    row(
        "collective::alltoallv",
        "void shmemx_team_alltoallv(void *target, size_t *t_offsets, size_t *t_sizes, const void *source, size_t *s_offsets, \
         size_t *s_sizes, shmem_team_t team, long *pSync)",
        ONE,
    ),
    row(
        "collective::alltoallv_packed",
        "void shmemx_team_alltoallv_packed(void *target, size_t target_len, size_t *t_size, const void *source, \
         size_t *s_offsets, size_t *s_sizes, shmem_team_t team, long *pSync)",
        ONE,
    ),
    // Scans before they were standard.
    row(
        "collective::sum_inscan",
        "int shmemx_<T>_sum_inscan(shmem_team_t team, T *dest, const T *source, size_t nelems)",
        SCANNED,
    ),
    row(
        "collective::sum_exscan",
        "int shmemx_<T>_sum_exscan(shmem_team_t team, T *dest, const T *source, size_t nelems)",
        SCANNED,
    ),
];
