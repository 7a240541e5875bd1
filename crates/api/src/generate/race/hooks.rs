//! The calls to the race detector before and after each routine.

/// The statements around the library's routines of these names. `$name` is the value of an argument, `&name` the address that it holds;
/// `$size`, `$ctx` and `$result` say themselves, `$floating` is the bit of floating-point types, `$puts` says whether elements go to the
/// other PE, `AT` is the call site. `$meet` begins a meeting of the `$members` of a team or an active set.
const HOOKS: &[(&str, &str, &str)] = &[
    ("init::init init::start_pes", "race_prepare();", "race_begin();"),
    ("init::init_thread", "race_prepare();", "if ($result == 0) race_begin();"),
    ("init::finalize", "race_unbegun(); uint64_t meeting = race_ending();", "race_ended(meeting);"),
    ("init::global_exit", "RACE_ENDS(status);", ""),
    (
        "memory::malloc memory::malloc_with_hints memory::align",
        "uint64_t meeting = $bytes ? race_enter_world(1) : 0;",
        "race_leave(meeting); race_allocated($result, $bytes, AT);",
    ),
    (
        "memory::calloc",
        "uint64_t meeting = $count && $bytes ? race_enter_world(1) : 0;",
        "race_leave(meeting); race_allocated($result, $count * $bytes, AT);",
    ),
    (
        "memory::realloc",
        "uint64_t meeting = &ptr || $bytes ? race_enter_world(1) : 0; int lone = !&ptr;",
        "race_leave(meeting); if ($result || $bytes == 0) race_freed(lone ? 0 : &ptr); race_allocated($result, $bytes, AT);",
    ),
    ("memory::free", "uint64_t meeting = &ptr ? race_enter_world(1) : 0;", "race_leave(meeting); race_freed(&ptr);"),
    (
        "fortran::shpalloc",
        "uint64_t meeting = $length > 0 ? race_enter_world(1) : 0;",
        "race_leave(meeting); if (*errcode == 0) race_allocated(*addr, (size_t)$length * 4, AT);",
    ),
    (
        "fortran::shpclmove",
        "uint64_t meeting = $length > 0 ? race_enter_world(1) : 0; void *old = *addr;",
        "race_leave(meeting); if (*status >= 0) { race_freed(old); race_allocated(*addr, (size_t)$length * 4, AT); }",
    ),
    (
        "fortran::shpdeallc",
        "uint64_t meeting = race_enter_world(1); void *old = *addr;",
        "race_leave(meeting); if (*errcode == 0) race_freed(old);",
    ),
    ("rma::p", "race_transfer($ctx, &dest, 0, $size, $pe, 1, 0, AT);", ""),
    ("rma::g", "race_transfer($ctx, 0, &source, $size, $pe, 0, 0, AT);", ""),
    ("rma::put rma::get", "race_transfer($ctx, &dest, &source, $nelems * $size, $pe, $puts, 0, AT);", ""),
    ("rma::put_nbi rma::get_nbi", "race_transfer($ctx, &dest, &source, $nelems * $size, $pe, $puts, 1, AT);", ""),
    (
        "rma::iput rma::iget",
        "race_blocks($ctx, &dest, &source, $dst * (long)$size, $sst * (long)$size, $size, $nelems, $pe, $puts, AT);",
        "",
    ),
    (
        "rma::ibput rma::ibget",
        "race_blocks($ctx, &dest, &source, $dst * (long)$size, $sst * (long)$size, $bsize * $size, $nblocks, $pe, $puts, AT);",
        "",
    ),
    ("signal::put_signal", "race_put_signal($ctx, &dest, &source, $nelems * $size, &sig_addr, $pe, 0, AT);", ""),
    ("signal::put_signal_nbi", "race_put_signal($ctx, &dest, &source, $nelems * $size, &sig_addr, $pe, 1, AT);", ""),
    ("signal::signal_set signal::signal_add", "race_update($ctx, &sig_addr, 8, $pe, 0, AT);", ""),
    ("signal::signal_fetch signal::signal_wait_until", "", "race_wait(&sig_addr, 8);"),
    (
        "amo::set amo::add amo::inc amo::and amo::or amo::xor",
        "race_update($ctx, &dest, $size, $pe, $floating, AT);",
        "",
    ),
    ("amo::fetch", "race_fetch($ctx, &source, $size, $pe, $floating, AT);", "race_fetched($ctx, &source, $size, $pe);"),
    (
        "amo::swap amo::compare_swap amo::fetch_add amo::fetch_inc amo::fetch_and amo::fetch_or amo::fetch_xor",
        "race_fetch($ctx, &dest, $size, $pe, RACE_UPDATES | $floating, AT);",
        "race_fetched($ctx, &dest, $size, $pe);",
    ),
    (
        "amo::fetch_nbi",
        "race_fetch($ctx, &source, $size, $pe, RACE_NONBLOCKING | $floating, AT); race_fill($ctx, &fetch, $size, AT);",
        "",
    ),
    (
        "amo::swap_nbi amo::compare_swap_nbi amo::fetch_add_nbi amo::fetch_inc_nbi amo::fetch_and_nbi amo::fetch_or_nbi \
         amo::fetch_xor_nbi",
        "race_fetch($ctx, &dest, $size, $pe, RACE_UPDATES | RACE_NONBLOCKING | $floating, AT); \
         race_fill($ctx, &fetch, $size, AT);",
        "",
    ),
    // Also a test that fails has seen the value: a loop may go on while the variable is what it was.
    ("p2p::wait p2p::wait_until p2p::test", "", "race_wait(&ivar, $size);"),
    ("p2p::wait_until_all p2p::wait_until_all_vector", "", "race_wait_all(ivars, $nelems, status, $size);"),
    // Of several variables a test that fails does not say which one differs.
    (
        "p2p::test_all p2p::test_all_vector",
        "",
        "if ($result || $nelems == 1) race_wait_all(ivars, $nelems, status, $size);",
    ),
    // Without an answer the call has seen the values of all variables that are not left out. A wait has none of these then.
    (
        "p2p::wait_until_any p2p::wait_until_any_vector p2p::test_any p2p::test_any_vector",
        "",
        "if ($result == SIZE_MAX) race_wait_all(ivars, $nelems, status, $size); \
         else race_wait_some(ivars, &$result, 1, $size);",
    ),
    (
        "p2p::wait_until_some p2p::wait_until_some_vector p2p::test_some p2p::test_some_vector",
        "",
        "if ($result == 0) race_wait_all(ivars, $nelems, status, $size); \
         else race_wait_some(ivars, indices, $result, $size);",
    ),
    ("order::fence", "race_fence($ctx);", ""),
    ("order::quiet", "", "race_quiet($ctx);"),
    ("order::pe_quiet", "", "race_pe_quiet($ctx, target_pes, npes);"),
    ("extension::pe_quiet", "", "race_pe_quiet(SHMEM_CTX_DEFAULT, (int[]){$target_pe}, 1);"),
    ("extension::local_complete", "", "race_sources_over();"),
    ("extension::fence_test", "", "if ($result) race_fence($ctx);"),
    ("extension::quiet_test", "", "if ($result) race_quiet($ctx);"),
    ("extension::thread_quiet", "", "race_quiet(SHMEM_CTX_DEFAULT);"),
    ("extension::thread_fence", "race_fence(SHMEM_CTX_DEFAULT);", ""),
    ("context::destroy", "", "race_quiet(ctx);"),
    ("team::split_strided", "", "race_split(parent_team, *new_team, SHMEM_TEAM_INVALID);"),
    ("team::split_2d", "", "race_split(parent_team, *xaxis_team, *yaxis_team);"),
    ("team::destroy", "race_team_ends(team);", "if (team) race_contexts_over();"),
    ("team_extension::destroy", "race_team_ends(*team);", "race_contexts_over();"),
    ("fortran::team_destroy", "race_team_ends((shmem_team_t)(intptr_t)*newteam);", "race_contexts_over();"),
    ("counting::create", "uint64_t meeting = race_enter_world(1);", "race_leave(meeting); race_allocated(*ct, 8, AT);"),
    (
        "counting::free",
        "uint64_t meeting = race_enter_world(1); void *old = *ct;",
        "race_leave(meeting); race_freed(old);",
    ),
    ("counting::get counting::wait", "", "race_wait(ct, 8);"),
    ("counting::set", "race_update(SHMEM_CTX_DEFAULT, ct, 8, pshmem_my_pe(), 0, AT);", ""),
    ("counting::putmem", "race_put_signal(SHMEM_CTX_DEFAULT, &target, &source, $len, (uint64_t *)ct, $pe, 0, AT);", ""),
    (
        "counting::getmem",
        "race_transfer(SHMEM_CTX_DEFAULT, &target, &source, $len, $pe, 0, 0, AT); \
         race_update(SHMEM_CTX_DEFAULT, ct, 8, $pe, 0, AT);",
        "",
    ),
    ("lock::set_lock fortran::set_lock", "", "race_locked(&lock);"),
    ("lock::clear_lock fortran::clear_lock", "race_unlocking(&lock);", ""),
    ("lock::test_lock fortran::test_lock", "", "if ($result == 0) race_locked(&lock);"),
    ("order::barrier_all", "uint64_t meeting = race_enter_world(1);", LEAVE),
    ("order::sync_all", "uint64_t meeting = race_enter_world(0);", LEAVE),
    ("team::sync active_set::sync", "$meet", LEAVE),
    ("team_extension::barrier", "uint64_t meeting = race_enter_team(team, 1, -1);", LEAVE),
    (
        "active_set::barrier",
        "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, pSync, 1, -1);",
        LEAVE,
    ),
    (
        "collective::broadcast",
        "uint64_t meeting = race_enter_team(team, 0, PE_root); \
         race_use(&dest, $nelems * $size, &source, race_is_root_of(team, PE_root) ? $nelems * $size : 0, AT);",
        LEAVE,
    ),
    (
        "active_set::broadcast",
        "uint64_t meeting = race_enter_set($PE_start, $logPE_stride, $PE_size, pSync, 0, $PE_root); \
         int root = race_is_root($PE_start, $logPE_stride, $PE_root); \
         race_use(&dest, root ? 0 : $nelems * $size, &source, root ? $nelems * $size : 0, AT);",
        LEAVE,
    ),
    ("collective::collect active_set::collect", PLAIN, LEAVE),
    (
        "collective::fcollect active_set::fcollect",
        "$meet race_use(&dest, $nelems * $size * $members, &source, $nelems * $size, AT);",
        LEAVE,
    ),
    (
        "collective::alltoall active_set::alltoall",
        "$meet race_use(&dest, $nelems * $size * $members, &source, $nelems * $size * $members, AT);",
        LEAVE,
    ),
    (
        "collective::alltoalls active_set::alltoalls",
        "$meet race_use_strided(&dest, $dst * (long)$size, &source, $sst * (long)$size, $size, $nelems * $members, AT);",
        LEAVE,
    ),
    (
        "collective::alltoallv active_set::alltoallv",
        "$meet race_pieces(&source, (const size_t *)s_offsets, (const size_t *)s_sizes, $members, 0, AT);",
        "race_pieces(&target, (const size_t *)t_offsets, (const size_t *)t_sizes, $members, 1, AT); race_leave(meeting);",
    ),
    (
        "collective::alltoallv_packed active_set::alltoallv_packed",
        "$meet race_pieces(&source, (const size_t *)s_offsets, (const size_t *)s_sizes, $members, 0, AT);",
        "race_use(&target, *t_size, 0, 0, AT); race_use(t_size, sizeof *t_size, 0, 0, AT); race_leave(meeting);",
    ),
    (
        "collective::sum_inscan collective::sum_exscan",
        "uint64_t meeting = race_enter_scan(team); race_use(&dest, $nelems * $size, &source, $nelems * $size, AT);",
        LEAVE,
    ),
    ("request::sync", "$meet", NO_ARRAYS),
    ("request::barrier_all", "uint64_t meeting = race_enter_world(1);", NO_ARRAYS),
    (
        "request::broadcast",
        "uint64_t meeting = race_enter_team(team, 0, PE_root);",
        "race_requested(*request, meeting, &dest, $nelems * $size, \
         &source, race_is_root_of(team, PE_root) ? $nelems * $size : 0, AT);",
    ),
    ("request::collect", "$meet", ARRAYS),
    (
        "request::fcollect",
        "$meet",
        "race_requested(*request, meeting, &dest, $nelems * $size * $members, &source, $nelems * $size, AT);",
    ),
    (
        "request::alltoall",
        "$meet",
        "race_requested(*request, meeting, &dest, $nelems * $size * $members, &source, $nelems * $size * $members, AT);",
    ),
    ("request::test", UNDER_WAY, "if ($result == 0) race_request_over(over);"),
    ("request::wait", UNDER_WAY, "race_request_over(over);"),
];

/// A collective that reads and writes as many elements.
const PLAIN: &str = "$meet race_use(&dest, $nelems * $size, &source, $nelems * $size, AT);";
const LEAVE: &str = "race_leave(meeting);";
const NO_ARRAYS: &str = "race_requested(*request, meeting, 0, 0, 0, 0, AT);";
const ARRAYS: &str = "race_requested(*request, meeting, &dest, $nelems * $size, &source, $nelems * $size, AT);";
const UNDER_WAY: &str = "shmem_req_h over = request ? *request : SHMEM_REQ_INVALID;";

/// The hooks of a routine; reductions are alike.
pub(super) fn hooks(function: &str) -> Option<(String, String)> {
    let row = HOOKS.iter().find(|(names, ..)| names.split(' ').any(|name| name == function));
    let (before, after) = match row {
        Some((_, before, after)) => (*before, *after),
        None if function.starts_with("request::") && function.ends_with("_reduce") => ("$meet", ARRAYS),
        None if function.ends_with("_reduce") || function.ends_with("_to_all") => (PLAIN, LEAVE),
        None => return None,
    };
    let (meet, members) = if function.starts_with("active_set::") || function.starts_with("fortran::") {
        ("race_enter_set($PE_start, $logPE_stride, $PE_size, pSync, 0, -1)", "(size_t)$PE_size")
    } else {
        ("race_enter_team(team, 0, -1)", "race_size(team)")
    };
    let puts = if function.contains("put") { "1" } else { "0" };
    let filled = |statements: &str| {
        let statements = statements.replace("$meet", &format!("uint64_t meeting = {meet};"));
        statements.replace("$members", members).replace("$puts", puts)
    };
    Some((filled(before), filled(after)))
}
