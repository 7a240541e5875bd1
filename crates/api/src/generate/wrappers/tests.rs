//! The wrappers of single routines.

use super::*;

fn wrapper(name: &str) -> String {
    let source = profile_wrappers().source;
    let start = source.find(&format!(" {name}(")).or(source.find(&format!("*{name}("))).expect("the wrapper is there");
    source[start..].split("\n}").next().unwrap().into()
}

#[test]
fn every_routine_has_a_wrapper_and_no_name_comes_twice() {
    let mut names = profile_wrappers().names;
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    let public = crate::expand::public_names();
    for symbol in symbols() {
        assert!(names.binary_search(&symbol.name).is_ok(), "{} has no wrapper", symbol.name);
    }
    assert!(names.iter().all(|name| public.contains(name)));
}

#[test]
fn wrappers_record_what_their_routines_move() {
    for (name, recorded) in [
        (
            "shmem_putmem",
            "NULL, pe, 0, (uint64_t)nelems * 1, ((uint64_t)nelems * 1) - 1 < 8 ? (const void *)dest : NULL)",
        ),
        ("shmem_ctx_double_get", "ctx, pe, 1, (uint64_t)nelems * sizeof(double), NULL"),
        ("shmem_int_p", "NULL, pe, 0, sizeof(int), (const void *)dest"),
        ("shmem_long_atomic_fetch_add", "NULL, pe, 2, sizeof(long), (const void *)dest"),
        ("shmem_get64_nbi", "NULL, pe, 1, (uint64_t)nelems * 8, NULL"),
        ("shmem_ibput32", "(uint64_t)nblocks * (uint64_t)bsize * 4"),
        ("shmem_double_sum_reduce", "oxprof_team(mine, call, team, (uint64_t)nreduce * sizeof(double))"),
        ("shmem_team_split_strided", "oxprof_team(mine, call, parent_team, 0)"),
        ("shmemx_team_split_strided", "oxprof_call(mine, call, 5, 0)"),
        ("shmemx_team_split_strided_", "oxprof_call(mine, call, 5, 0)"),
        ("shmemx_team_create_strided", "oxprof_call(mine, call, 5, 0)"),
        ("shmemx_team_split", "oxprof_team(mine, call, parent_team, 0)"),
        ("shmem_team_split_strided", "oxprof_born(mine, *new_team)"),
        ("shmem_team_split_2d", "oxprof_born(mine, *xaxis_team);\n    oxprof_born(mine, *yaxis_team)"),
        ("shmemx_team_create_strided", "oxprof_born(mine, *newteam)"),
        ("shmemx_team_split_", "oxprof_born(mine, oxprof_fortran_team(*newteam))"),
        ("shmemx_team_destroy_", "oxprof_forget(oxprof_fortran_team(*newteam))"),
        ("shmem_broadcast64", "oxprof_set(mine, call, PE_start, logPE_stride, PE_size, (uint64_t)nelems * 8)"),
        ("shmemx_alltoallv", "PE_start, logPE_stride, PE_size, oxprof_sum(s_sizes, PE_size))"),
        ("shmemx_alltoallv_packed_", "*PE_start, *logPE_stride, *PE_size, oxprof_sum(s_sizes, *PE_size))"),
        ("shmemx_team_alltoallv", "oxprof_team(mine, call, team, oxprof_sum(s_sizes, oxprof_members(team)))"),
        ("shmemx_team_alltoallv_packed", "oxprof_team(mine, call, team, oxprof_sum(s_sizes, oxprof_members(team)))"),
        ("shmem_int_wait_until", "oxprof_wait(mine, call, (const void *)ivar)"),
        ("shmem_int_wait_until_all", "oxprof_wait(mine, call, nelems == 1 ? (const void *)ivars : NULL)"),
        ("shmem_int_wait_until_any", "result == SIZE_MAX ? NULL : (const void *)(ivars + result))"),
        ("shmem_int_wait_until_some_vector", "result == 0 ? NULL : (const void *)(ivars + indices[0]))"),
        (
            "shmem_malloc",
            "if (size) oxprof_world(mine, call, result ? size : 0, result); else oxprof_call(mine, call, 5, 0)",
        ),
        ("shmem_realloc", "if (ptr || size) oxprof_world(mine, call, result ? size : 0, result)"),
        ("shmem_free", "if (ptr) oxprof_world(mine, call, 0, NULL)"),
        ("shmemx_ct_create", "oxprof_world(mine, call, 8, *ct)"),
        ("shmemx_ct_free", "oxprof_world(mine, call, 0, NULL)"),
        ("shmemx_ct_wait", "oxprof_wait(mine, call, (const void *)ct)"),
        ("shmemx_putmem_ct", "NULL, pe, 0, (uint64_t)len * 1, (const void *)ct"),
        ("shmemx_getmem_ct", "NULL, pe, 1, (uint64_t)len * 1, (const void *)ct"),
        ("shmem_calloc", "oxprof_world(mine, call, result ? (uint64_t)count * (uint64_t)size : 0, result)"),
        (
            "shpalloc_",
            "if (*length > 0) oxprof_world(mine, call, (*errcode == 0 ? *addr : NULL) ? (uint64_t)*length * 4 : 0, *errcode",
        ),
        ("shpclmove_", "oxprof_world(mine, call, (*status >= 0 ? *addr : NULL) ? (uint64_t)*length * 4 : 0, *status"),
        ("shpdeallc_", "oxprof_world(mine, call, 0, NULL)"),
        ("shmem_put8_", "NULL, *pe, 0, (uint64_t)*nelems * 8,"),
        (
            "shmem_real8_sum_to_all_",
            "oxprof_set(mine, call, *PE_start, *logPE_stride, *PE_size, (uint64_t)*nreduce * 8)",
        ),
        (
            "shmem_comp8_xor_to_all_",
            "oxprof_set(mine, call, *PE_start, *logPE_stride, *PE_size, (uint64_t)*nreduce * 16)",
        ),
        ("shmem_quiet", "oxprof_call(mine, call, 3, 0)"),
    ] {
        let text = wrapper(name);
        assert!(text.contains(recorded), "{name}: {text}");
    }
}
