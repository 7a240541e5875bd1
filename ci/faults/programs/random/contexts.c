/* Contexts on the world and on teams, and the local memory that operations on them use until the next quiet. */
#include "random.h"

enum { LENT = 400 };
typedef struct {
    shmem_ctx_t handle;
    int open, whole; /* shared by all PEs: whether it exists, and whether on the world */
    group team;
} entry;
typedef struct {
    int context;
    size_t bytes;
    char *memory, *expected;
    char about[sizeof about];
} lent;
static entry contexts[CONTEXTS];
static lent lents[LENT];
static int lent_count;

void contexts_open(void)
{
    contexts[0] = (entry){.handle = SHMEM_CTX_DEFAULT, .open = 1, .whole = 1};
}

static int place_in(const group *of, int pe)
{
    for (int i = 0; i < of->size; i++)
        if (of->member[i] == pe)
            return i;
    return -1;
}

int any_context(int origin, int target)
{
    const int index = (int)below(CONTEXTS);
    const entry *drawn = &contexts[index];
    return drawn->open && (drawn->whole || (place_in(&drawn->team, origin) >= 0 && place_in(&drawn->team, target) >= 0)) ? index : 0;
}

/* A PE that got no context (there may be too few) uses the default one in its place. */
shmem_ctx_t context(int index)
{
    return contexts[index].handle == SHMEM_CTX_INVALID ? SHMEM_CTX_DEFAULT : contexts[index].handle;
}

int number_in(int index, int pe)
{
    const entry *of = &contexts[index];
    return of->whole || of->handle == SHMEM_CTX_INVALID ? pe : place_in(&of->team, pe);
}

void *lend(int index, size_t bytes)
{
    if (lent_count == LENT)
        quiet_all();
    lent *of = &lents[lent_count++];
    *of = (lent){.context = index, .bytes = bytes, .memory = malloc(bytes + 1)};
    memcpy(of->about, about, sizeof about);
    return of->memory;
}

void *expected_of(void *memory)
{
    lent *of = &lents[lent_count - 1];
    if (of->memory != memory)
        wrong("the program asks for other memory than it lent last", 0, 0);
    of->expected = malloc(of->bytes + 1);
    return of->expected;
}

/* What the quiet has completed: gets are compared; sources are overwritten, because nobody may read them now. */
static void give_back(int index)
{
    int kept = 0;
    for (int i = 0; i < lent_count; i++) {
        lent *of = &lents[i];
        if (of->context != index) {
            lents[kept++] = *of;
            continue;
        }
        for (size_t at = 0; of->expected && at < of->bytes; at++)
            if (of->memory[at] != of->expected[at]) {
                memcpy(about, of->about, sizeof about);
                wrong("memory behind the quiet (a byte)", (unsigned char)of->memory[at], (unsigned char)of->expected[at]);
            }
        memset(of->memory, 0xEE, of->bytes);
        free(of->memory);
        free(of->expected);
    }
    lent_count = kept;
}

void quiet_on(int index)
{
    if (index == 0 && seed % 2)
        shmem_quiet();
    else
        shmem_ctx_quiet(context(index));
    give_back(index);
}

void quiet_all(void)
{
    for (int index = 0; index < CONTEXTS; index++)
        if (contexts[index].open)
            quiet_on(index);
}

static void end(int index)
{
    entry *of = &contexts[index];
    quiet_on(index);
    if (of->handle != SHMEM_CTX_INVALID)
        shmem_ctx_destroy(of->handle);
    of->handle = SHMEM_CTX_INVALID;
    of->open = 0;
}

void contexts_of_team_end(const group *team)
{
    for (int index = 1; index < CONTEXTS; index++)
        if (contexts[index].open && !contexts[index].whole && contexts[index].team.team == team->team)
            end(index);
}

void change_contexts(void)
{
    static const long options[] = {0, SHMEM_CTX_PRIVATE, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    const int index = 1 + (int)below(CONTEXTS - 1), whole = one_in(3);
    const long option = options[below(4)];
    entry *of = &contexts[index];
    const group *team = any_team();
    snprintf(about, sizeof about, "a context of options %ld on %s", option, whole ? "the world" : team->name);
    if (of->open)
        end(index);
    *of = (entry){.handle = SHMEM_CTX_INVALID, .open = 1, .whole = whole, .team = *team};
    int status = 0;
    if (whole)
        status = shmem_ctx_create(option, &of->handle);
    else if (team->my >= 0)
        status = shmem_team_create_ctx(team->team, option, &of->handle);
    if (status != 0)
        of->handle = SHMEM_CTX_INVALID;
}
