/* OpenMP as GNU's compilers call it: teams, barriers, critical sections, locks, sections, tasks. */
#include "race.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Names of what a team orders its threads with. */
enum { BEGINS = 1, ENDS, MEETS, TASKS, SECTIONS, SECTION, COPIES, ORDERED, CHILDREN, MADE };
static uint64_t named(int kind, uint64_t of) { return (uint64_t)kind << 48 | of << 8; }

/* The team of a thread. */
static _Thread_local struct {
    uint64_t id;
    unsigned level, round;
    /* The strand around the section that the thread is in, and one more; 0 if it is in none. */
    uint32_t around;
} team;

static void give(int kind, uint64_t of)
{
    if (race_tells())
        race_release(named(kind, of));
}

static void take(int kind, uint64_t of)
{
    if (race_tells())
        race_acquire(named(kind, of));
}

/* A parallel region. */
struct region {
    void (*work)(void *);
    void *data;
    uint64_t id;
    unsigned level;
};

static void in_region(void *given)
{
    struct region *region = given;
    __typeof__(team) outer = team;
    team = (__typeof__(team)){.id = region->id, .level = region->level};
    take(BEGINS, team.id);
    region->work(region->data);
    give(ENDS, team.id);
    team = outer;
}

#define REGION {work, data, (uint64_t)race_strand() << 8 | (team.level & 0xff), team.level + 1}
/* Threads of the region may be made by this call. */
#define OPEN                                                                                                           \
    struct region region = REGION;                                                                                     \
    if (race_depth == 0)                                                                                               \
    race_release(named(BEGINS, region.id))
#define CLOSE                                                                                                          \
    take(ENDS, region.id);                                                                                             \
    take(TASKS, region.id)

#define PARALLEL(name, parameters, arguments)                                                                          \
    void name parameters;                                                                                              \
    void name parameters                                                                                               \
    {                                                                                                                  \
        OPEN;                                                                                                          \
        REAL(name) arguments;                                                                                          \
        CLOSE;                                                                                                         \
    }
#define WORK void (*work)(void *), void *data, unsigned threads
#define IN in_region, &region, threads
PARALLEL(GOMP_parallel, (WORK, unsigned flags), (IN, flags))
PARALLEL(GOMP_parallel_sections, (WORK, unsigned count, unsigned flags), (IN, count, flags))
#define LOOP(kind)                                                                                                     \
    PARALLEL(GOMP_parallel_loop_##kind, (WORK, long start, long end, long step, long chunk, unsigned flags),           \
             (IN, start, end, step, chunk, flags))
#define LOOP_AT_RUN_TIME(kind)                                                                                         \
    PARALLEL(GOMP_parallel_loop_##kind, (WORK, long start, long end, long step, unsigned flags),                       \
             (IN, start, end, step, flags))
LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)
LOOP_AT_RUN_TIME(runtime)
LOOP_AT_RUN_TIME(nonmonotonic_runtime)
LOOP_AT_RUN_TIME(maybe_nonmonotonic_runtime)

unsigned GOMP_parallel_reductions(WORK, unsigned flags);
unsigned GOMP_parallel_reductions(WORK, unsigned flags)
{
    OPEN;
    unsigned count = REAL(GOMP_parallel_reductions)(IN, flags);
    CLOSE;
    return count;
}

/* Barriers, of their own or at the end of a construct. All threads of a team meet at the same ones. */
static uint64_t come(void)
{
    uint64_t round = team.id << 2 | (team.round++ & 3);
    give(MEETS, round);
    return round;
}

static void pass(uint64_t round)
{
    take(MEETS, round);
    take(TASKS, team.id);
}

#define BARRIER(name)                                                                                                  \
    void name(void);                                                                                                   \
    void name(void)                                                                                                    \
    {                                                                                                                  \
        uint64_t round = come();                                                                                       \
        REAL(name)();                                                                                                  \
        pass(round);                                                                                                   \
    }
#define BARRIER_OR_END(name)                                                                                           \
    bool name(void);                                                                                                   \
    bool name(void)                                                                                                    \
    {                                                                                                                  \
        uint64_t round = come();                                                                                       \
        bool ended = REAL(name)();                                                                                     \
        pass(round);                                                                                                   \
        return ended;                                                                                                  \
    }
BARRIER(GOMP_barrier)
BARRIER(GOMP_loop_end)
BARRIER_OR_END(GOMP_barrier_cancel)
BARRIER_OR_END(GOMP_loop_end_cancel)

/* The end of a construct with a reduction of tasks. */
void GOMP_workshare_task_reduction_unregister(bool cancelled);
void GOMP_workshare_task_reduction_unregister(bool cancelled)
{
    if (cancelled) {
        REAL(GOMP_workshare_task_reduction_unregister)(cancelled);
        return;
    }
    uint64_t round = come();
    REAL(GOMP_workshare_task_reduction_unregister)(cancelled);
    pass(round);
}

/* Each section is a strand: another thread might have it. It knows what its thread knew when the sections began. */
static void leave_section(void)
{
    if (!team.around)
        return;
    give(SECTION, team.id << 8 | (team.around - 1));
    race_strand_over(race_become(team.around - 1));
    team.around = 0;
}

static unsigned in_section(unsigned section)
{
    if (section && race_depth == 0) {
        uint32_t strand = race_fork(1);
        if (strand)
            team.around = race_become(strand - 1) + 1;
    }
    return section;
}

unsigned GOMP_sections_start(unsigned count);
unsigned GOMP_sections_start(unsigned count) { return in_section(REAL(GOMP_sections_start)(count)); }
unsigned GOMP_sections_next(void);
unsigned GOMP_sections_next(void)
{
    leave_section();
    return in_section(REAL(GOMP_sections_next)());
}

static void after_sections(void)
{
    leave_section();
    take(SECTION, team.id << 8 | race_strand());
}

void GOMP_sections_end(void);
void GOMP_sections_end(void)
{
    after_sections();
    uint64_t round = come();
    REAL(GOMP_sections_end)();
    pass(round);
}
bool GOMP_sections_end_cancel(void);
bool GOMP_sections_end_cancel(void)
{
    after_sections();
    uint64_t round = come();
    bool ended = REAL(GOMP_sections_end_cancel)();
    pass(round);
    return ended;
}
void GOMP_sections_end_nowait(void);
void GOMP_sections_end_nowait(void)
{
    after_sections();
    REAL(GOMP_sections_end_nowait)();
}

/* What one thread copies to all. */
void *GOMP_single_copy_start(void);
void *GOMP_single_copy_start(void)
{
    void *data = REAL(GOMP_single_copy_start)();
    if (data)
        take(COPIES, team.id);
    return data;
}
void GOMP_single_copy_end(void *data);
void GOMP_single_copy_end(void *data)
{
    give(COPIES, team.id);
    REAL(GOMP_single_copy_end)(data);
}

/* Critical sections, ordered ones, atomics that need a lock, locks. */
static const char critical[2], atomic[2];
ENTER(GOMP_critical_start, (void), (), critical)
LEAVE(GOMP_critical_end, (void), (), critical)
ENTER(GOMP_critical_name_start, (void **lock), (lock), lock)
LEAVE(GOMP_critical_name_end, (void **lock), (lock), lock)
ENTER(GOMP_atomic_start, (void), (), atomic)
LEAVE(GOMP_atomic_end, (void), (), atomic)
ENTER(GOMP_ordered_start, (void), (), (void *)named(ORDERED, team.id))
LEAVE(GOMP_ordered_end, (void), (), (void *)named(ORDERED, team.id))
#define TRIED(name)                                                                                                    \
    int name(void *lock);                                                                                              \
    int name(void *lock)                                                                                               \
    {                                                                                                                  \
        int got = REAL(name)(lock);                                                                                    \
        if (got)                                                                                                       \
            race_takes(lock);                                                                                          \
        return got;                                                                                                    \
    }
#define LOCKS(kind, end)                                                                                               \
    ENTER(omp_set_##kind##end, (void *lock), (lock), lock)                                                             \
    LEAVE(omp_unset_##kind##end, (void *lock), (lock), lock)                                                           \
    TRIED(omp_test_##kind##end)
LOCKS(lock, )
LOCKS(nest_lock, )
LOCKS(lock, _)
LOCKS(nest_lock, _)

/* Tasks. Each is a strand that begins with what its maker knew. What is needed for this lies before the task's data. */
enum { DETACHES = 1 << 13, HAS_NO_GROUP = 1 << 11, DEPENDS = 8, HEAD = 3 };
/* A variable that a task depends on. */
struct dependence {
    char *variable;
    int is_in;
};
struct task {
    /* libgomp reads and writes the first words of a task's data: the range of a loop, the event of a task that detaches. */
    long head[HEAD];
    unsigned written;
    void (*work)(void *);
    void (*copies)(void *, void *);
    void *data;
    long size, before;
    uint64_t made, maker, team;
    unsigned level;
    size_t count;
    /* Freed when the task has run. */
    struct dependence *dependences;
};

/* The number of `in` in an object of `depobj`, which has the address of the variable before it. */
#define OBJECT_IN ((void *)1)

static void set_dependences(struct task *task, void **depend)
{
    /* The first form: a count, the count of those that are written, the addresses. The second one has 0 before its counts, and
       behind the addresses those of objects of `depobj`. */
    int is_first = depend[0] != NULL;
    size_t count = (size_t)(is_first ? depend[0] : depend[1]);
    size_t out = is_first ? (size_t)depend[1] : (size_t)depend[2] + (size_t)depend[3];
    size_t plain = is_first ? count : out + (size_t)depend[4];
    struct dependence *dependences = calloc(count, sizeof *dependences);
    if (!dependences)
        return;
    void **addresses = depend + (is_first ? 2 : 5);
    for (size_t i = 0; i < count; i++) {
        void **object = addresses[i];
        if (i < plain)
            dependences[i] = (struct dependence){.variable = addresses[i], .is_in = i >= out};
        else
            dependences[i] = (struct dependence){.variable = object[0], .is_in = object[1] == OBJECT_IN};
    }
    task->dependences = dependences;
    task->count = count;
}

/* A variable that tasks depend on has two names: for those that write it, and for those that read it. */
static void wait_for_dependences(const struct task *task)
{
    for (size_t i = 0; i < task->count; i++) {
        race_takes(task->dependences[i].variable);
        if (!task->dependences[i].is_in)
            race_takes(task->dependences[i].variable + 1);
    }
}

/* A thread as it was before a task, and the task's strand. */
struct place {
    __typeof__(team) team;
    uint32_t strand, own;
};

static struct place begin_task(const struct task *task)
{
    struct place outer = {.team = team, .strand = race_become_from(named(MADE, task->made))};
    outer.own = race_strand();
    team = (__typeof__(team)){.id = task->team, .level = task->level};
    wait_for_dependences(task);
    return outer;
}

static void end_task(struct task *task, const struct place *outer)
{
    for (size_t i = 0; i < task->count; i++)
        race_gives(task->dependences[i].variable + task->dependences[i].is_in);
    free(task->dependences);
    give(CHILDREN, task->maker);
    give(TASKS, task->team);
    race_become(outer->strand);
    race_strand_over(outer->own);
    team = outer->team;
}

static void run_task(void *given)
{
    struct task *task = given;
    char *data = (char *)given + task->before;
    memcpy(data, task->head, task->written * sizeof(long));
    struct place outer = begin_task(task);
    task->work(data);
    end_task(task, &outer);
}

static void copy_task(void *to, void *from)
{
    struct task *task = from;
    memcpy(to, task, sizeof *task);
    if (task->copies)
        task->copies((char *)to + task->before, task->data);
    else
        memcpy((char *)to + task->before, task->data, task->size);
}

static void make(struct task *task, long *align, unsigned flags, void **depend)
{
    static uint64_t made;
    *align = *align > 16 ? *align : 16;
    task->before = ((long)sizeof *task + *align - 1) & -*align;
    task->made = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) & 0xfff;
    task->maker = race_strand();
    task->team = team.id;
    task->level = team.level;
    if (task->data)
        memcpy(task->head, task->data, task->size < (long)sizeof task->head ? (size_t)task->size : sizeof task->head);
    if (flags & DEPENDS && depend)
        set_dependences(task, depend);
    race_release(named(MADE, task->made));
}

/* Whether tasks are looked at: the detector is open, and the call is the program's. */
static int are_seen(void) { return race_depth == 0 && race_windows[1].len != 0; }

int omp_in_final(void);
void GOMP_task(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned, void **, int, void *);
void GOMP_task(void (*work)(void *), void *data, void (*copies)(void *, void *), long size, long align, bool deferred,
               unsigned flags, void **depend, int priority, void *event)
{
    if (!are_seen()) {
        REAL(GOMP_task)(work, data, copies, size, align, deferred, flags, depend, priority, event);
        return;
    }
    struct task task = {.work = work, .copies = copies, .data = data, .size = size, .written = !!(flags & DETACHES)};
    make(&task, &align, flags, depend);
    REAL(GOMP_task)(run_task, &task, copy_task, task.before + size, align, deferred, flags, depend, priority, event);
    /* The tasks that a final task makes are done before it goes on. */
    if (!deferred || REAL(omp_in_final)())
        take(CHILDREN, task.maker);
}

#define TASKLOOP(name, number)                                                                                         \
    void name(void (*)(void *), void *, void (*)(void *, void *), long, long, unsigned, unsigned long, int, number,    \
              number, number);                                                                                         \
    void name(void (*work)(void *), void *data, void (*copies)(void *, void *), long size, long align, unsigned flags, \
              unsigned long count, int priority, number start, number end, number step)                                \
    {                                                                                                                  \
        if (!are_seen()) {                                                                                             \
            REAL(name)(work, data, copies, size, align, flags, count, priority, start, end, step);                     \
            return;                                                                                                    \
        }                                                                                                              \
        struct task task = {.work = work, .copies = copies, .data = data, .size = size, .written = 2};                 \
        make(&task, &align, 0, NULL);                                                                                  \
        REAL(name)(run_task, &task, copy_task, task.before + size, align, flags, count, priority, start, end, step);   \
        if (!(flags & HAS_NO_GROUP))                                                                                   \
            take(TASKS, team.id);                                                                                      \
    }
TASKLOOP(GOMP_taskloop, long)
TASKLOOP(GOMP_taskloop_ull, unsigned long long)

void GOMP_taskwait(void);
void GOMP_taskwait(void)
{
    REAL(GOMP_taskwait)();
    take(CHILDREN, race_strand());
}

void GOMP_taskwait_depend(void **depend);
void GOMP_taskwait_depend(void **depend)
{
    struct task task = {0};
    REAL(GOMP_taskwait_depend)(depend);
    set_dependences(&task, depend);
    wait_for_dependences(&task);
    free(task.dependences);
}

void GOMP_taskgroup_end(void);
void GOMP_taskgroup_end(void)
{
    REAL(GOMP_taskgroup_end)();
    take(TASKS, team.id);
}

/* Work for a device, which is this processor where there is no other, is a task too if it waits for others or if its maker does not wait for
   it. It is done before the maker goes on in any case: libgomp finds the work by its function, so none of ours can be told to run. */
enum { NOWAIT = 1 };
#define TARGET(name, parameters, arguments)                                                                            \
    void name parameters;                                                                                              \
    void name parameters                                                                                               \
    {                                                                                                                  \
        if (!are_seen() || !(depend || flags & NOWAIT)) {                                                              \
            REAL(name) arguments;                                                                                      \
            return;                                                                                                    \
        }                                                                                                              \
        struct task task = {0};                                                                                        \
        make(&task, &(long){0}, DEPENDS, depend);                                                                      \
        if (depend)                                                                                                    \
            REAL(GOMP_taskwait_depend)(depend);                                                                        \
        int is_awaited = !(flags & NOWAIT);                                                                            \
        flags &= ~NOWAIT;                                                                                              \
        struct place outer = begin_task(&task);                                                                        \
        REAL(name) arguments;                                                                                          \
        end_task(&task, &outer);                                                                                       \
        if (is_awaited)                                                                                                \
            take(CHILDREN, task.maker);                                                                                \
    }
TARGET(GOMP_target_ext,
       (int device, void (*work)(void *), size_t count, void **addresses, size_t *sizes, unsigned short *kinds, unsigned flags,
        void **depend, void **settings),
       (device, work, count, addresses, sizes, kinds, flags, depend, settings))
TARGET(GOMP_target_update_ext,
       (int device, size_t count, void **addresses, size_t *sizes, unsigned short *kinds, unsigned flags, void **depend),
       (device, count, addresses, sizes, kinds, flags, depend))
TARGET(GOMP_target_enter_exit_data,
       (int device, size_t count, void **addresses, size_t *sizes, unsigned short *kinds, unsigned flags, void **depend),
       (device, count, addresses, sizes, kinds, flags, depend))
