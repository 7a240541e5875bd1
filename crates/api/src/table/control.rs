//! Start and end, memory, ordering, contexts, locks, barriers, teams: routines with one form.

use super::Category::*;
use super::*;

const V1_0: &[FamilyPart] = &[since("1.0", ALONE)];
const V1_2: &[FamilyPart] = &[since("1.2", ALONE)];
const V1_4: &[FamilyPart] = &[since("1.4", ALONE)];
const V1_5: &[FamilyPart] = &[since("1.5", ALONE)];
const V1_6: &[FamilyPart] = &[since("1.6", ALONE)];
const OLD: &[FamilyPart] = &[deprecated("1.0", ALONE)];
const REMOVED: &[FamilyPart] = &[FamilyPart { since: "1.0", status: Status::Removed, forms: ALONE }];
const COMPAT: &[FamilyPart] = &[compat(ALONE)];

const fn row(
    category: Category,
    call: &'static str,
    prototype: &'static str,
    parts: &'static [FamilyPart],
    clauses: &'static str,
) -> Family {
    Family::new(category, call, prototype, parts).clauses(clauses)
}

pub(super) const ROWS: &[Family] = &[
    row(Setup, "init::init", "void shmem_init(void)", V1_2, "INIT-1 INIT-2 INIT-4"),
    row(Setup, "init::finalize", "void shmem_finalize(void)", V1_2, "INIT-3 INIT-4 INIT-5 INIT-6"),
    row(Setup, "init::query_initialized", "void shmem_query_initialized(int *initialized)", V1_6, "INIT-7"),
    row(Setup, "init::global_exit", "void shmem_global_exit(int status)", V1_2, "INIT-9"),
    row(Setup, "init::my_pe", "int shmem_my_pe(void)", V1_0, "INIT-11"),
    row(Setup, "init::n_pes", "int shmem_n_pes(void)", V1_0, "INIT-11"),
    row(Setup, "init::info_get_version", "void shmem_info_get_version(int *major, int *minor)", V1_2, "INIT-12"),
    row(Setup, "init::info_get_name", "void shmem_info_get_name(char *name)", V1_2, "INIT-12"),
    row(Setup, "locality::pe_accessible", "int shmem_pe_accessible(int pe)", V1_0, "PTR-5"),
    row(Setup, "locality::addr_accessible", "int shmem_addr_accessible(const void *addr, int pe)", V1_0, "PTR-5"),
    row(Setup, "locality::ptr", "void *shmem_ptr(const void *dest, int pe)", V1_0, "PTR-1 PTR-3"),
    row(Setup, "init::start_pes", "void start_pes(int npes)", OLD, "INIT-8 LEG-2"),
    row(Setup, "init::my_pe", "int _my_pe(void)", OLD, "LEG-2"),
    row(Setup, "init::n_pes", "int _num_pes(void)", OLD, "LEG-2"),
    row(Setup, "init::initialized", "int shmem_initialized(void)", COMPAT, "INIT-7"),
    row(Setup, "init::finalized", "int shmem_finalized(void)", COMPAT, "INIT-7"),
    row(
        Thread,
        "init::init_thread",
        "int shmem_init_thread(int requested, int *provided)",
        V1_4,
        "THR-1 THR-3 HEAP-11",
    ),
    row(Thread, "init::query_thread", "void shmem_query_thread(int *provided)", V1_4, "THR-2"),
    row(Memory, "memory::malloc", "void *shmem_malloc(size_t size)", V1_2, "HEAP-1 HEAP-2 HEAP-3 HEAP-5 HEAP-6"),
    row(Memory, "memory::calloc", "void *shmem_calloc(size_t count, size_t size)", V1_4, "HEAP-2 HEAP-3 HEAP-5 HEAP-7"),
    row(Memory, "memory::align", "void *shmem_align(size_t alignment, size_t size)", V1_2, "HEAP-2 HEAP-3 HEAP-6"),
    row(
        Memory,
        "memory::malloc_with_hints",
        "void *shmem_malloc_with_hints(size_t size, long hints)",
        V1_5,
        "HEAP-2 HEAP-9",
    ),
    row(Memory, "memory::realloc", "void *shmem_realloc(void *ptr, size_t size)", V1_2, "HEAP-2 HEAP-8"),
    row(Memory, "memory::free", "void shmem_free(void *ptr)", V1_2, "HEAP-4 HEAP-10"),
    row(Memory, "memory::malloc", "void *shmalloc(size_t size)", OLD, "LEG-2"),
    row(Memory, "memory::align", "void *shmemalign(size_t alignment, size_t size)", OLD, "LEG-2"),
    row(Memory, "memory::realloc", "void *shrealloc(void *ptr, size_t size)", OLD, "LEG-2"),
    row(Memory, "memory::free", "void shfree(void *ptr)", OLD, "LEG-2"),
    row(Ordering, "order::fence", "void shmem_fence(void)", V1_0, "ORD-1 ORD-2 ORD-4 ORD-5 ORD-10").ctx(),
    row(Ordering, "order::quiet", "void shmem_quiet(void)", V1_0, "ORD-1 ORD-3 ORD-4 ORD-5 ORD-10").ctx(),
    row(Ordering, "order::pe_quiet", "void shmem_pe_quiet(const int *target_pes, size_t npes)", V1_6, "ORD-6").ctx(),
    row(Context, "context::create", "int shmem_ctx_create(long options, shmem_ctx_t *ctx)", V1_4, "CTX-1 CTX-6 CTX-9"),
    row(Context, "context::destroy", "void shmem_ctx_destroy(shmem_ctx_t ctx)", V1_4, "CTX-5"),
    row(Context, "context::get_team", "int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)", V1_5, "CTX-7"),
    row(
        Context,
        "context::team_create_ctx",
        "int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)",
        V1_5,
        "CTX-2 CTX-3",
    ),
    row(
        Session,
        "session::start",
        "void shmem_ctx_session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask)",
        V1_6,
        "SES-1 SES-2 SES-3 SES-4",
    ),
    row(Session, "session::stop", "void shmem_ctx_session_stop(shmem_ctx_t ctx)", V1_6, "SES-1 SES-2"),
    row(Lock, "lock::set_lock", "void shmem_set_lock(long *lock)", V1_0, "LCK-1 LCK-2 LCK-4 LCK-6 LCK-7"),
    row(Lock, "lock::clear_lock", "void shmem_clear_lock(long *lock)", V1_0, "LCK-4 LCK-6"),
    row(Lock, "lock::test_lock", "int shmem_test_lock(long *lock)", V1_0, "LCK-3"),
    row(Cache, "locality::set_cache_inv", "void shmem_set_cache_inv(void)", REMOVED, "LEG-1"),
    row(Cache, "locality::set_cache_line_inv", "void shmem_set_cache_line_inv(void *dest)", REMOVED, "LEG-1"),
    row(Cache, "locality::clear_cache_inv", "void shmem_clear_cache_inv(void)", REMOVED, "LEG-1"),
    row(Cache, "locality::clear_cache_line_inv", "void shmem_clear_cache_line_inv(void *dest)", REMOVED, "LEG-1"),
    row(Cache, "locality::udcflush", "void shmem_udcflush(void)", REMOVED, "LEG-1"),
    row(Cache, "locality::udcflush_line", "void shmem_udcflush_line(void *dest)", REMOVED, "LEG-1"),
    row(Sync, "order::barrier_all", "void shmem_barrier_all(void)", V1_0, "ORD-7 ORD-9"),
    row(Sync, "order::sync_all", "void shmem_sync_all(void)", V1_4, "ORD-8 ORD-9"),
    row(Sync, "team::sync", "int shmem_team_sync(shmem_team_t team)", V1_5, "SYN-1 ORD-8 COL-1"),
    row(
        Sync,
        "active_set::barrier",
        "void shmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)",
        OLD,
        "ACT-1 ACT-2 ACT-3 ACT-7",
    ),
    row(
        Sync,
        "active_set::sync",
        "void shmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync)",
        &[deprecated("1.4", ALONE)],
        "ACT-1 ACT-2 ACT-3 ACT-7 HDR-2",
    ),
    row(Team, "team::my_pe", "int shmem_team_my_pe(shmem_team_t team)", V1_5, "TEAM-2 TEAM-3"),
    row(Team, "team::n_pes", "int shmem_team_n_pes(shmem_team_t team)", V1_5, "TEAM-2 TEAM-3"),
    row(
        Team,
        "team::translate_pe",
        "int shmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)",
        V1_5,
        "TEAM-3 TEAM-4",
    ),
    row(
        Team,
        "team::get_config",
        "int shmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config)",
        V1_5,
        "TEAM-3 TEAM-5",
    ),
    row(
        Team,
        "team::split_strided",
        "int shmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size, \
         const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team)",
        V1_5,
        "STR-1 STR-2 STR-3 STR-4 STR-5 STR-6 STR-7 STR-8 STR-9 STR-10 TEAM-9",
    ),
    row(
        Team,
        "team::split_2d",
        "int shmem_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, \
         long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, \
         shmem_team_t *yaxis_team)",
        V1_5,
        "T2D-1 T2D-2 T2D-3 T2D-4 T2D-5 T2D-6 T2D-7 T2D-8 T2D-9 T2D-10 T2D-11 TEAM-9",
    ),
    row(Team, "team::destroy", "void shmem_team_destroy(shmem_team_t team)", V1_5, "TEAM-7 TEAM-8"),
    row(Team, "locality::team_ptr", "void *shmem_team_ptr(shmem_team_t team, const void *dest, int pe)", V1_6, "PTR-4"),
    row(Profiling, "init::pcontrol", "void shmem_pcontrol(int level, ...)", V1_5, "PRF-2"),
];
