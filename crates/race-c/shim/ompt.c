/* OpenMP whose runtime has the tools interface of its standard (OMPT), such as clang's: regions, barriers, tasks. Critical and ordered
   sections and reductions are seen at the calls of the compiler, because the interface tells of their ends too late. */
#include "race.h"
#include <link.h>
#include <stdlib.h>

/* What the interface's header defines, as far as it is used here. */
union ompt_data {
    uint64_t value;
    void *pointer;
};
typedef void (*ompt_callback)(void);
typedef int (*ompt_set_callback)(int which, ompt_callback callback);
typedef ompt_callback (*ompt_lookup)(const char *name);
struct ompt_start {
    int (*initialize)(ompt_lookup lookup, int device, union ompt_data *tool);
    void (*finalize)(union ompt_data *tool);
    union ompt_data tool;
};
struct ompt_dependence {
    union ompt_data variable;
    int type;
};
enum { BEGIN = 1, END = 2 };
enum { EXPLICIT_BARRIER = 3, TASKWAIT = 5, TASKGROUP = 6, REDUCTION = 7 };
enum { IS_INITIAL = 1, IS_UNDEFERRED = 1 << 27 };
enum { COMPLETE = 1, CANCELLED = 3, DETACHED = 4, EARLY_FULFILLED = 5, LATE_FULFILLED = 6, WAIT_COMPLETE = 8 };
enum { DEPENDS_IN = 1, DEPENDS_SOURCE = 5, DEPENDS_SINK = 6 };

/* The addresses of the runtime: its own locks and conditions order nothing that the program may rely on. */
static struct {
    uintptr_t start, len;
} runtime;
int race_runtime_tells(void) { return runtime.len != 0; }
int race_is_runtime(const void *pc) { return (uintptr_t)pc - runtime.start < runtime.len; }

/* Names of what threads are ordered with. Those of GNU's runtime lie below. */
enum { BEGINS = 32, ENDS, MEETS, TASKS, CHILDREN, GROUP, MADE, ITERATION };
static uint64_t named(int kind, uint64_t of) { return (uint64_t)kind << 48 | (of << 16) >> 8; }
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
static uint64_t next_id(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* Task groups that a task has begun, and those around it. */
struct group {
    uint64_t id;
    struct group *outer;
};

/* A task. The implicit tasks of a region are its threads. */
struct task {
    uint64_t id, maker, team;
    /* The group that waits for the task, 0 if none does, and the innermost one that it has begun. */
    uint64_t within;
    struct group *groups;
    /* How many barriers it has passed. */
    unsigned round;
    /* The strand that it is, and one more; 0 while it has not been left or begun. */
    uint32_t strand;
    int undeferred, over;
    int count;
    struct ompt_dependence *dependences;
};

static struct task *of(union ompt_data *data) { return data ? data->pointer : NULL; }

static struct task *make(union ompt_data *data, uint64_t team)
{
    struct task *task = calloc(1, sizeof *task);
    if (task) {
        task->id = next_id();
        task->team = team;
    }
    data->pointer = task;
    return task;
}

static void drop(union ompt_data *data)
{
    struct task *task = of(data);
    if (task)
        free(task->dependences);
    free(task);
    data->pointer = NULL;
}

/* Regions and their threads. Threads may be made by the call that begins a region. */
static void parallel_begins(union ompt_data *maker, const void *frame, union ompt_data *region, unsigned threads, int flags,
                            const void *pc)
{
    region->value = next_id();
    if (race_depth == 0)
        race_release(named(BEGINS, region->value));
}
static void parallel_ends(union ompt_data *region, union ompt_data *maker, int flags, const void *pc)
{
    take(ENDS, region->value);
    take(TASKS, region->value);
}
static void implicit_task(int scope, union ompt_data *region, union ompt_data *data, unsigned threads, unsigned number, int flags)
{
    if (scope == END) {
        drop(data);
    } else if (flags & IS_INITIAL || !region) {
        make(data, next_id());
    } else {
        make(data, region->value);
        take(BEGINS, region->value);
    }
}

static void groups(struct task *task, int scope)
{
    if (scope == BEGIN) {
        struct group *group = malloc(sizeof *group);
        if (group) {
            *group = (struct group){.id = next_id(), .outer = task->groups};
            task->groups = group;
        }
    } else if (task->groups) {
        struct group *group = task->groups;
        take(GROUP, group->id);
        task->groups = group->outer;
        free(group);
    }
}

/* Barriers, task waits, task groups. The end of a thread's last barrier comes when the thread is needed again, without a region. */
static void sync_region(int kind, int scope, union ompt_data *region, union ompt_data *data, const void *pc)
{
    struct task *task = of(data);
    if (!task || kind == REDUCTION)
        return;
    if (kind == TASKGROUP) {
        groups(task, scope);
    } else if (kind == TASKWAIT) {
        if (scope == END)
            take(CHILDREN, task->id);
    } else if (scope == BEGIN) {
        give(MEETS, task->team << 2 | (task->round & 3));
        if (kind != EXPLICIT_BARRIER)
            give(ENDS, task->team);
    } else if (region) {
        take(MEETS, task->team << 2 | (task->round++ & 3));
        take(TASKS, task->team);
    }
}

static void task_create(union ompt_data *maker, const void *frame, union ompt_data *data, int flags, int depends, const void *pc)
{
    struct task *parent = of(maker), *task = parent ? make(data, parent->team) : NULL;
    if (!task)
        return;
    task->maker = parent->id;
    task->within = parent->groups ? parent->groups->id : parent->within;
    task->undeferred = !!(flags & IS_UNDEFERRED);
    if (race_depth == 0)
        race_release(named(MADE, task->id & 0xfff));
}

/* A variable that tasks depend on has two names: for those that write it, and for those that read it. */
static void wait_for_dependences(const struct task *task)
{
    for (int i = 0; i < task->count; i++) {
        char *variable = task->dependences[i].variable.pointer;
        race_takes(variable);
        if (task->dependences[i].type != DEPENDS_IN)
            race_takes(variable + 1);
    }
}

static void dependences(union ompt_data *data, const struct ompt_dependence *list, int count)
{
    struct task *task = of(data);
    if (!task || count <= 0)
        return;
    if (list[0].type == DEPENDS_SOURCE || list[0].type == DEPENDS_SINK) {
        /* An iteration of a loop, by its numbers. */
        uint64_t iteration = task->team;
        for (int i = 0; i < count; i++)
            iteration = (iteration ^ list[i].variable.value) * 0x9e3779b97f4a7c15;
        (list[0].type == DEPENDS_SOURCE ? give : take)(ITERATION, iteration);
        return;
    }
    struct ompt_dependence *copy = realloc(task->dependences, (size_t)count * sizeof *copy);
    if (!copy)
        return;
    for (int i = 0; i < count; i++)
        copy[i] = list[i];
    task->dependences = copy;
    task->count = count;
}

/* A strand that waits for a task knows what the task has done. */
static void tell_end(const struct task *task)
{
    for (int i = 0; i < task->count; i++) {
        char *variable = task->dependences[i].variable.pointer;
        race_gives(variable + (task->dependences[i].type == DEPENDS_IN));
    }
    give(CHILDREN, task->maker);
    give(TASKS, task->team);
    if (task->within)
        give(GROUP, task->within);
}

/* A thread turns from one task to another. */
static void task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
    struct task *before = of(prior), *after = of(next);
    if (!before)
        return;
    if (status == WAIT_COMPLETE) {
        wait_for_dependences(before);
        drop(prior);
        return;
    }
    if (status == EARLY_FULFILLED || status == LATE_FULFILLED) {
        tell_end(before);
        if (before->over)
            drop(prior);
        return;
    }
    int ends = status == COMPLETE || status == CANCELLED || status == DETACHED;
    if (ends)
        tell_end(before);
    /* A thread whose task has begun before the library was initialised goes on as what it is. */
    if (after && (after->strand || after->maker) && race_depth == 0 && race_windows[1].len != 0) {
        uint32_t left;
        if (after->strand)
            left = race_become(after->strand - 1);
        else {
            left = race_become_from(named(MADE, after->id & 0xfff));
            after->strand = race_strand() + 1;
            wait_for_dependences(after);
        }
        int began = before->strand != 0;
        before->strand = left + 1;
        if (ends && began && before->undeferred)
            race_joined(left);
        else if (ends && began)
            race_strand_over(left);
    }
    if (status == DETACHED)
        before->over = 1;
    else if (ends)
        drop(prior);
}

static int initialize(ompt_lookup lookup, int device, union ompt_data *tool)
{
    ompt_set_callback set = (ompt_set_callback)(void *)lookup("ompt_set_callback");
    if (!set)
        return 0;
    static const struct {
        int which;
        void *callback;
    } callbacks[] = {{3, parallel_begins}, {4, parallel_ends}, {5, task_create},  {6, task_schedule},
                     {7, implicit_task},   {18, dependences},  {23, sync_region}};
    int all = 1;
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
        all &= set(callbacks[i].which, (ompt_callback)callbacks[i].callback) == 5;
    if (!all)
        runtime.len = 0;
    return all;
}
static void finalize(union ompt_data *tool) {}

static int find_runtime(struct dl_phdr_info *object, size_t size, void *pc)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (uintptr_t)pc - start < part->p_memsz) {
            runtime.start = start;
            runtime.len = part->p_memsz;
            return 1;
        }
    }
    return 0;
}

struct ompt_start *ompt_start_tool(unsigned version, const char *name);
struct ompt_start *ompt_start_tool(unsigned version, const char *name)
{
    static struct ompt_start start = {initialize, finalize, {0}};
    dl_iterate_phdr(find_runtime, __builtin_return_address(0));
    return &start;
}

/* Critical and ordered sections, and what reductions do one thread at a time. */
#define REDUCE(name)                                                                                                   \
    int name(void *at, int thread, int count, size_t size, void *data, void (*reduce)(void *, void *), void *lock);   \
    int name(void *at, int thread, int count, size_t size, void *data, void (*reduce)(void *, void *), void *lock)    \
    {                                                                                                                  \
        int way = REAL(name)(at, thread, count, size, data, reduce, lock);                                             \
        if (way == 1)                                                                                                  \
            race_takes(lock);                                                                                          \
        return way;                                                                                                    \
    }
static const char ordered[2];
ENTER(__kmpc_critical, (void *at, int thread, void *lock), (at, thread, lock), lock)
ENTER(__kmpc_critical_with_hint, (void *at, int thread, void *lock, uint32_t hint), (at, thread, lock, hint), lock)
LEAVE(__kmpc_end_critical, (void *at, int thread, void *lock), (at, thread, lock), lock)
ENTER(__kmpc_ordered, (void *at, int thread), (at, thread), ordered)
LEAVE(__kmpc_end_ordered, (void *at, int thread), (at, thread), ordered)
REDUCE(__kmpc_reduce)
REDUCE(__kmpc_reduce_nowait)
LEAVE(__kmpc_end_reduce, (void *at, int thread, void *lock), (at, thread, lock), lock)
LEAVE(__kmpc_end_reduce_nowait, (void *at, int thread, void *lock), (at, thread, lock), lock)
