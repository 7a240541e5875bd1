/* Hybrid programs with OpenMP: what its threads, tasks and sections do with memory that transfers use. */
#include "cases.h"
#include <omp.h>

#define DATA(name) static long name##_data[16]
static long far[16], near[16];
static uint64_t signals[2];
#define next ((me + 1) % npes)

/* An operation is completed, and the threads wait for each other. */
#define COMPLETE_IF_RIGHT                                                                                              \
    if (right)                                                                                                         \
    shmem_quiet()

static void barrier_if_right(void)
{
    if (right) {
#pragma omp barrier
    }
}

DATA(master_gets);
static void master_gets(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            shmem_long_get_nbi(master_gets_data, far, 16, next); /* race */
            COMPLETE_IF_RIGHT;
        }
        barrier_if_right();
        if (omp_get_thread_num() == 1)
            sink = master_gets_data[5]; /* race */
    }
}

DATA(quiet_is_missing);
static void quiet_is_missing(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            shmem_long_get_nbi(quiet_is_missing_data, far, 16, next); /* race */
            COMPLETE_IF_RIGHT;
        }
#pragma omp barrier
        if (omp_get_thread_num() == 1)
            sink = quiet_is_missing_data[5]; /* race */
    }
}

DATA(single_puts);
static void single_puts(void)
{
#pragma omp parallel num_threads(2)
    {
        int mine = 0;
#pragma omp single nowait
        {
            mine = 1;
            shmem_long_put_nbi(near, single_puts_data, 16, next); /* race */
            COMPLETE_IF_RIGHT;
        }
        barrier_if_right();
        if (!mine)
            single_puts_data[3] = 1; /* race */
    }
}

DATA(sections);
static void sections(void)
{
    if (right) {
        shmem_long_get_nbi(sections_data, far, 16, next);
        shmem_quiet();
    }
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            if (!right)
                shmem_long_get_nbi(sections_data, far, 16, next); /* race */
        }
#pragma omp section
        sink = sections_data[2]; /* race */
    }
}

DATA(sections_nowait);
static void sections_nowait(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp sections nowait
        {
#pragma omp section
            {
                shmem_long_put(near, sections_nowait_data, 16, next); /* race */
                shmem_quiet();
            }
#pragma omp section
            sink = far[0];
        }
        barrier_if_right();
#pragma omp for
        for (int i = 0; i < 16; i++)
            sections_nowait_data[i] = i; /* race */
    }
}

DATA(two_tasks);
static void two_tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        {
            shmem_long_get_nbi(two_tasks_data, far, 16, next); /* race */
            shmem_quiet();
        }
        if (right) {
#pragma omp taskwait
        }
#pragma omp task
        sink = two_tasks_data[4]; /* race */
    }
}

DATA(task_and_its_maker);
static void task_and_its_maker(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        shmem_long_put(near, task_and_its_maker_data, 16, next); /* race */
        if (right) {
#pragma omp taskwait
        }
        task_and_its_maker_data[0] = 1; /* race */
    }
}

DATA(tasks_that_depend);
static void tasks_that_depend(void)
{
    int one = 0, two = 0, *second = right ? &one : &two;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : one)
        {
            shmem_long_get(tasks_that_depend_data, far, 16, next); /* race */
            one = 1;
        }
#pragma omp task depend(in : second[0])
        sink = tasks_that_depend_data[4]; /* race */
#pragma omp taskwait
    }
}

DATA(readers_before_a_writer);
static void readers_before_a_writer(void)
{
    int one = 0, two = 0, *second = right ? &one : &two;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(in : one)
        shmem_long_put(near, readers_before_a_writer_data, 16, next); /* race */
#pragma omp task depend(in : one)
        sink = readers_before_a_writer_data[4]; /* race */
#pragma omp task depend(inout : second[0])
        readers_before_a_writer_data[4] = 2; /* race */
    }
}

DATA(many_dependences);
static void many_dependences(void)
{
    long ones[40], others[40], *second = right ? ones : others;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < 40; i++) {
#pragma omp task depend(out : ones[i])
            if (i == 39)
                shmem_long_get(many_dependences_data, far, 16, next); /* race */
        }
#pragma omp task depend(iterator(int i = 0 : 40), in : second[i])
        sink = many_dependences_data[4]; /* race */
    }
}

DATA(objects_of_dependences);
static void objects_of_dependences(void)
{
    int one = 0, two = 0, *second = right ? &one : &two;
    omp_depend_t writes, reads;
#pragma omp depobj(writes) depend(out : one)
#pragma omp depobj(reads) depend(in : second[0])
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(depobj : writes)
        shmem_long_get(objects_of_dependences_data, far, 16, next); /* race */
#pragma omp task depend(depobj : reads)
        sink = objects_of_dependences_data[4]; /* race */
    }
#pragma omp depobj(writes) destroy
#pragma omp depobj(reads) destroy
}

DATA(work_for_a_device);
static void work_for_a_device(void)
{
    int one = 0, two = 0, *second = right ? &one : &two;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : one)
        shmem_long_get(work_for_a_device_data, far, 16, next); /* race */
#pragma omp target depend(in : second[0]) map(tofrom : work_for_a_device_data)
        work_for_a_device_data[4] = 1; /* race */
    }
}

#ifndef __clang__
/* Clang's runtime of version 14 has a thread of its own for this, and may stop with an assertion. */
DATA(work_for_a_device_nowait);
static void work_for_a_device_nowait(void)
{
    int one = 0, two = 0, *second = right ? &one : &two;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        work_for_a_device_nowait_data[5] = 1;
#pragma omp target nowait depend(out : one) map(tofrom : work_for_a_device_nowait_data)
        work_for_a_device_nowait_data[5] = 2; /* race */
#pragma omp task depend(in : second[0])
        shmem_long_put(near, work_for_a_device_nowait_data, 16, next); /* race */
#pragma omp taskwait
        work_for_a_device_nowait_data[5] = 3;
    }
}
#endif

DATA(group_of_tasks);
static void group_of_tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        if (right) {
#pragma omp taskgroup
            {
#pragma omp task
                {
#pragma omp task
                    group_of_tasks_data[1] = 3; /* race */
                }
            }
        } else {
#pragma omp task
            {
#pragma omp task
                group_of_tasks_data[1] = 3; /* race */
            }
#pragma omp taskwait
        }
        shmem_long_put(near, group_of_tasks_data, 16, next); /* race */
    }
}

DATA(loop_of_tasks);
static void loop_of_tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskloop grainsize(2)
        for (int i = 0; i < 8; i++)
            loop_of_tasks_data[right ? i : i % 2] = i; /* race */
        shmem_long_put(near, loop_of_tasks_data, 16, next);
    }
}

DATA(loop_without_wait);
static void loop_without_wait(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for nowait schedule(static)
        for (int i = 0; i < 16; i++)
            loop_without_wait_data[i] = i; /* race */
        barrier_if_right();
#pragma omp for schedule(static)
        for (int i = 0; i < 16; i++)
            shmem_long_put(near + i, loop_without_wait_data + 15 - i, 1, next); /* race */
        shmem_quiet();
    }
}

DATA(dynamic_loop);
static void dynamic_loop(void)
{
#pragma omp parallel num_threads(2)
    {
        int me_first = omp_get_thread_num();
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 16; i++)
            sink = i;
        if (me_first == 0) {
            shmem_long_get_nbi(dynamic_loop_data, far, 16, next); /* race */
            shmem_quiet();
        }
        if (right) {
#pragma omp for schedule(dynamic, 3)
            for (int i = 0; i < 16; i++)
                sink = i;
        } else {
#pragma omp for schedule(dynamic, 3) nowait
            for (int i = 0; i < 16; i++)
                sink = i;
        }
        if (me_first == 1)
            sink = dynamic_loop_data[9]; /* race */
    }
}

DATA(buffer_for_all_threads);
static void buffer_for_all_threads(void)
{
#pragma omp parallel num_threads(2)
    {
        int at = right ? omp_get_thread_num() : 0;
        buffer_for_all_threads_data[at] = 4; /* race */
        shmem_long_put(near + omp_get_thread_num(), buffer_for_all_threads_data + at, 1, next);
        shmem_quiet();
    }
}

DATA(counter_without_lock);
static void counter_without_lock(void)
{
#pragma omp parallel num_threads(2)
    for (int turn = 0; turn < 3; turn++)
        if (right) {
#pragma omp critical
            {
                shmem_long_p(counter_without_lock_data, 1 + shmem_long_g(counter_without_lock_data, me), me);
                shmem_quiet();
            }
        } else
            counter_without_lock_data[0]++; /* race */
}

DATA(two_critical_names);
static void two_critical_names(void)
{
#pragma omp parallel num_threads(2)
    if (right || omp_get_thread_num() == 0) {
#pragma omp critical(one)
        two_critical_names_data[0]++; /* race */
    } else {
#pragma omp critical(other)
        shmem_long_put(near, two_critical_names_data, 2, next); /* race */
    }
}

DATA(locks_of_openmp);
static void locks_of_openmp(void)
{
    omp_lock_t locks[2];
    omp_init_lock(locks);
    omp_init_lock(locks + 1);
#pragma omp parallel num_threads(2)
    {
        omp_lock_t *lock = locks + (right ? 0 : omp_get_thread_num());
        omp_set_lock(lock);
        locks_of_openmp_data[2]++; /* race */
        omp_unset_lock(lock);
    }
}

DATA(nested_lock_that_is_tested);
static void nested_lock_that_is_tested(void)
{
    omp_nest_lock_t locks[2];
    omp_init_nest_lock(locks);
    omp_init_nest_lock(locks + 1);
#pragma omp parallel num_threads(2)
    {
        omp_nest_lock_t *lock = locks + (right ? 0 : omp_get_thread_num());
        while (!omp_test_nest_lock(lock))
            ;
        nested_lock_that_is_tested_data[2]++; /* race */
        omp_unset_nest_lock(lock);
    }
}

DATA(atomic_of_openmp);
static void atomic_of_openmp(void)
{
#pragma omp parallel num_threads(2)
    if (right) {
#pragma omp atomic
        atomic_of_openmp_data[0] += 1;
    } else
        atomic_of_openmp_data[0] += 1; /* race */
    shmem_long_put(near, atomic_of_openmp_data, 1, next);
}

DATA(sum_of_threads);
static void sum_of_threads(void)
{
    long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
        sum += omp_get_thread_num();
        if (!right)
            sum_of_threads_data[0] += sum; /* race */
    }
    sum_of_threads_data[0] = sum;
    shmem_long_put(near, sum_of_threads_data, 1, next);
}

DATA(ordered_loop);
static void ordered_loop(void)
{
#pragma omp parallel for ordered num_threads(2) schedule(static, 1)
    for (int i = 0; i < 4; i++) {
        if (right) {
#pragma omp ordered
            ordered_loop_data[0] += shmem_long_g(far, next);
        } else
            ordered_loop_data[0] += shmem_long_g(far, next); /* race */
    }
}

DATA(copied_from_one);
static void copied_from_one(void)
{
#pragma omp parallel num_threads(2)
    {
        long value = 0;
#pragma omp single copyprivate(value)
        {
            shmem_long_get(copied_from_one_data, far, 16, next);
            value = copied_from_one_data[0];
        }
        sink = value + copied_from_one_data[1]; /* race */
        barrier_if_right();
        if (omp_get_thread_num() == 0)
            copied_from_one_data[1] = 7; /* race */
    }
}

DATA(barrier_by_one_thread);
static void barrier_by_one_thread(void)
{
    shmem_long_p(barrier_by_one_thread_data, 1, next); /* race */
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        shmem_barrier_all();
        barrier_if_right();
        if (omp_get_thread_num() == 1)
            sink = barrier_by_one_thread_data[0]; /* race */
    }
}

DATA(one_waits_another_loads);
static void one_waits_another_loads(void)
{
    shmem_long_put_signal(one_waits_another_loads_data, far, 16, signals, 1, SHMEM_SIGNAL_SET, next); /* race */
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        shmem_signal_wait_until(signals, SHMEM_CMP_EQ, 1);
        barrier_if_right();
        if (omp_get_thread_num() == 1)
            sink = one_waits_another_loads_data[15]; /* race */
    }
}

DATA(quiet_of_another_thread);
static void quiet_of_another_thread(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            shmem_long_put_nbi(quiet_of_another_thread_data, far, 16, next); /* race */
        barrier_if_right();
#pragma omp master
        shmem_barrier_all();
    }
    sink = quiet_of_another_thread_data[0]; /* race */
}

DATA(region_ends_without_quiet);
static void region_ends_without_quiet(void)
{
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 16; i++)
        shmem_long_p(region_ends_without_quiet_data + i, i, next); /* race */
    if (right)
        shmem_barrier_all();
    else
        shmem_sync_all();
    sink = region_ends_without_quiet_data[11]; /* race */
}

DATA(source_of_a_collective);
static void source_of_a_collective(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, near, source_of_a_collective_data, 16); /* race */
        barrier_if_right();
        if (omp_get_thread_num() == 1)
            source_of_a_collective_data[3] = 3; /* race */
    }
}

DATA(contexts_of_threads);
static void contexts_of_threads(void)
{
#pragma omp parallel num_threads(2)
    {
        shmem_ctx_t ctx;
        shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
        shmem_ctx_long_p(ctx, contexts_of_threads_data + omp_get_thread_num(), 1, next); /* race */
        if (right)
            shmem_ctx_quiet(ctx);
#pragma omp barrier
#pragma omp master
        shmem_barrier_all();
#pragma omp barrier
        sink = contexts_of_threads_data[omp_get_thread_num()]; /* race */
#pragma omp barrier
        shmem_ctx_destroy(ctx);
    }
}

DATA(two_types_of_two_threads);
static void two_types_of_two_threads(void)
{
#pragma omp parallel num_threads(2)
    if (right || omp_get_thread_num() == 0)
        shmem_long_atomic_inc(two_types_of_two_threads_data, next); /* race */
    else
        shmem_int_atomic_inc((int *)two_types_of_two_threads_data, next); /* race */
}

DATA(regions_in_regions);
static void regions_in_regions(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
#pragma omp parallel num_threads(2)
            {
                if (omp_get_thread_num() == 1)
                    regions_in_regions_data[0] = 1; /* race */
            }
        }
        barrier_if_right();
        if (omp_get_thread_num() == 1)
            shmem_long_put(near, regions_in_regions_data, 16, next); /* race */
    }
    omp_set_max_active_levels(1);
}

DATA(flag_and_flush);
static void flag_and_flush(void)
{
    int flag = 0, told = 0;
#pragma omp parallel num_threads(2) firstprivate(told) shared(flag)
    if (omp_get_thread_num() == 0) {
        shmem_long_get(flag_and_flush_data, far, 16, next); /* race */
#pragma omp atomic write seq_cst
        flag = 1;
    } else {
        while (right && !told) {
#pragma omp atomic read seq_cst
            told = flag;
        }
        sink = flag_and_flush_data[3]; /* race */
    }
}

DATA(region_after_region);
static void region_after_region(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        region_after_region_data[0] = 1; /* race */
    if (right)
        shmem_barrier_all();
    sink = shmem_long_g(region_after_region_data, next); /* race */
    shmem_barrier_all();
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        sink = region_after_region_data[0];
}

DATA(masked_rows);
static void masked_rows(void)
{
    /* A stencil: the border comes by a nonblocking get, the inner rows are computed meanwhile, the border row after it. */
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            shmem_long_get_nbi(masked_rows_data, far, 8, next); /* race */
            COMPLETE_IF_RIGHT;
        }
#pragma omp for
        for (int i = 9; i < 16; i++)
            masked_rows_data[i] = i;
#pragma omp for
        for (int i = 0; i < 8; i++)
            masked_rows_data[i] += 1; /* race */
    }
    shmem_quiet();
}

DATA(task_of_a_final_one);
static void task_of_a_final_one(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task final(right)
    {
#pragma omp task
        task_of_a_final_one_data[1] = 7; /* race */
        sink = task_of_a_final_one_data[1]; /* race */
#pragma omp taskwait
    }
}

DATA(lock_of_pes_for_threads);
static void lock_of_pes_for_threads(void)
{
    static long lock;
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        shmem_set_lock(&lock);
        barrier_if_right();
        if (omp_get_thread_num() == 1) {
            shmem_long_put(lock_of_pes_for_threads_data, near, 1, 0); /* race */
            shmem_quiet();
        }
#pragma omp barrier
#pragma omp master
        shmem_clear_lock(&lock);
    }
}

static const struct race_case cases[] = {
    CASE(master_gets), CASE(quiet_is_missing), CASE(single_puts), CASE(sections), CASE(sections_nowait), CASE(two_tasks),
    CASE(task_and_its_maker), CASE(tasks_that_depend), CASE(readers_before_a_writer), CASE(many_dependences),
    CASE(objects_of_dependences), CASE(work_for_a_device),
#ifndef __clang__
    CASE(work_for_a_device_nowait),
#endif
    CASE(group_of_tasks), CASE(loop_of_tasks), CASE(loop_without_wait), CASE(dynamic_loop), CASE(buffer_for_all_threads),
    CASE(counter_without_lock), CASE(two_critical_names), CASE(locks_of_openmp), CASE(nested_lock_that_is_tested),
    CASE(atomic_of_openmp), CASE(sum_of_threads), CASE(ordered_loop), CASE(copied_from_one), CASE(barrier_by_one_thread),
    CASE(one_waits_another_loads), CASE(quiet_of_another_thread), CASE(region_ends_without_quiet),
    CASE(source_of_a_collective), CASE(contexts_of_threads), CASE(two_types_of_two_threads), CASE(regions_in_regions),
    CASE(flag_and_flush), CASE(region_after_region), CASE(masked_rows), CASE(task_of_a_final_one),
    CASE(lock_of_pes_for_threads),
};

MAIN(cases)
