/* Broadcasts, collections and exchanges, in every form. */
#include "random.h"
#include "types.h"

enum { BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, KINDS };
static const char *const kinds[] = {"broadcast", "collect", "fcollect", "alltoall", "alltoalls"};

typedef struct {
    int kind, root;
    ptrdiff_t dst, sst;
    void *dest;
    const void *source;
    size_t n;
    shmem_req_h *request;
} call;

#define CALL(NAME, TYPE, KIND) \
    static int move_##NAME(shmem_team_t team, const call *c) \
    { \
        switch (c->kind + (c->request ? KINDS : 0)) { \
        case BROADCAST: return shmem_##NAME##_broadcast(team, c->dest, c->source, c->n, c->root); \
        case COLLECT: return shmem_##NAME##_collect(team, c->dest, c->source, c->n); \
        case FCOLLECT: return shmem_##NAME##_fcollect(team, c->dest, c->source, c->n); \
        case ALLTOALL: return shmem_##NAME##_alltoall(team, c->dest, c->source, c->n); \
        case KINDS + BROADCAST: return shmemx_##NAME##_broadcast_nb(team, c->dest, c->source, c->n, c->root, c->request); \
        case KINDS + COLLECT: return shmemx_##NAME##_collect_nb(team, c->dest, c->source, c->n, c->request); \
        case KINDS + FCOLLECT: return shmemx_##NAME##_fcollect_nb(team, c->dest, c->source, c->n, c->request); \
        case KINDS + ALLTOALL: return shmemx_##NAME##_alltoall_nb(team, c->dest, c->source, c->n, c->request); \
        default: return shmem_##NAME##_alltoalls(team, c->dest, c->source, c->dst, c->sst, c->n); \
        } \
    }
MOVED(CALL)

static int move_mem(shmem_team_t team, const call *c)
{
    switch (c->kind + (c->request ? KINDS : 0)) {
    case BROADCAST: return shmem_broadcastmem(team, c->dest, c->source, c->n, c->root);
    case COLLECT: return shmem_collectmem(team, c->dest, c->source, c->n);
    case FCOLLECT: return shmem_fcollectmem(team, c->dest, c->source, c->n);
    case ALLTOALL: return shmem_alltoallmem(team, c->dest, c->source, c->n);
    case KINDS + BROADCAST: return shmemx_broadcastmem_nb(team, c->dest, c->source, c->n, c->root, c->request);
    case KINDS + COLLECT: return shmemx_collectmem_nb(team, c->dest, c->source, c->n, c->request);
    case KINDS + FCOLLECT: return shmemx_fcollectmem_nb(team, c->dest, c->source, c->n, c->request);
    case KINDS + ALLTOALL: return shmemx_alltoallmem_nb(team, c->dest, c->source, c->n, c->request);
    default: return shmem_alltoallsmem(team, c->dest, c->source, c->dst, c->sst, c->n);
    }
}

typedef struct {
    const char *name;
    size_t size, significant; /* bytes of an element, and those of them that are its value */
    int (*move)(shmem_team_t, const call *);
} moved_type;
#define ROW(NAME, TYPE, KIND) {#NAME, sizeof(TYPE), sizeof(TYPE) == 16 ? 10 : sizeof(TYPE), move_##NAME},
static const moved_type types[] = {MOVED(ROW) {"mem", 1, 1, move_mem}};
enum { TYPES = sizeof types / sizeof *types };

static void move_active(const group *of, const call *c, int wide, long *psync)
{
#define ACTIVE(WIDTH) \
    switch (c->kind) { \
    case BROADCAST: shmem_broadcast##WIDTH(c->dest, c->source, c->n, c->root, of->start, of->log_stride, of->size, psync); break; \
    case COLLECT: shmem_collect##WIDTH(c->dest, c->source, c->n, of->start, of->log_stride, of->size, psync); break; \
    case FCOLLECT: shmem_fcollect##WIDTH(c->dest, c->source, c->n, of->start, of->log_stride, of->size, psync); break; \
    case ALLTOALL: shmem_alltoall##WIDTH(c->dest, c->source, c->n, of->start, of->log_stride, of->size, psync); break; \
    default: shmem_alltoalls##WIDTH(c->dest, c->source, c->dst, c->sst, c->n, of->start, of->log_stride, of->size, psync); \
    }
    if (wide) {
        ACTIVE(64)
    } else {
        ACTIVE(32)
    }
}

/* Compares what came; of a type with padding only the values. */
static void check(void *dest, size_t n, int type)
{
    const moved_type *t = &types[type];
    for (size_t i = 0; t->significant < t->size && i < n; i++) {
        char *found = (char *)dest + i * t->size, *expected = model(found);
        if (memcmp(found, expected, t->significant) == 0)
            memcpy(expected, found, t->size);
    }
    settled(dest, n * t->size);
}

/* The elements that a member of a collect contributes. */
static size_t share(size_t n, uint64_t salt, int member)
{
    const uint64_t drawn = mixed(salt + (uint64_t)member);
    return drawn % 5 == 0 ? 0 : n ? drawn / 8 % n + 1 : 0;
}

/* What the call brings to the dest of this member, in the model. */
static void expect(const group *of, const call *c, size_t size, uint64_t salt)
{
    size_t at = 0;
    if (c->kind == BROADCAST) {
        if (!of->active || of->my != c->root)
            stream(model(c->dest), key_of(of->member[c->root]), 0, c->n * size);
        return;
    }
    for (int member = 0; member < of->size; member++) {
        const uint64_t key = key_of(of->member[member]);
        const size_t count = c->kind == COLLECT ? share(c->n, salt, member) : c->n, mine = (size_t)of->my * c->n;
        char *block = (char *)c->dest + at * size;
        if (c->kind == ALLTOALLS) {
            for (size_t i = 0; i < count; i++)
                stream(model((char *)c->dest + (at + i) * (size_t)c->dst * size), key, (mine + i) * (size_t)c->sst * size, size);
        } else {
            stream(model(block), key, c->kind == ALLTOALL ? mine * size : 0, count * size);
        }
        at += count;
    }
}

void movement(void)
{
    const group of = any_group();
    const int wide = one_in(2), aside = one_in(3);
    int type = (int)below(one_in(4) ? TYPES : TYPES + 4);
    type = type >= TYPES ? TYPES - 1 : type;
    call c = {.kind = (int)below(KINDS), .root = (int)below((size_t)of.size), .dst = 1, .sst = 1};
    const size_t size = of.active ? wide ? 8 : 4 : types[type].size, members = (size_t)of.size;
    const uint64_t salt = draw();
    if (c.kind == ALLTOALLS) {
        c.dst = 1 + (ptrdiff_t)below(4);
        c.sst = 1 + (ptrdiff_t)below(4);
    }
    /* The limits are some of a member's bytes, and some of all members'. */
    const size_t widest = (size_t)(c.dst > c.sst ? c.dst : c.sst), blocks = c.kind == BROADCAST ? 1 : members * widest;
    c.n = one_in(2) ? any_count(size * blocks, MOST_BYTES) : any_count(size, MOST_BYTES / blocks);
    const size_t in_bytes = size * c.n * (c.kind >= ALLTOALL ? members * (size_t)c.sst : 1);
    const size_t out_bytes = size * c.n * (c.kind == BROADCAST ? 1 : members * (size_t)c.dst);
    snprintf(about, sizeof about, "%s of %zu %s%s, root %d, strides %td and %td, %s", kinds[c.kind], c.n,
        of.active ? wide ? "64" : "32" : types[type].name, aside && !of.active && c.kind != ALLTOALLS ? " (nonblocking)" : "", c.root,
        c.dst, c.sst, of.name);
    room_for(in_bytes + out_bytes, 3);
    char *source = fresh(in_bytes);
    c.source = source;
    c.dest = fresh(out_bytes);
    long *psync = of.active ? fresh_psync() : NULL;
    dawdle();
    if (of.my < 0)
        return;
    stream(source, key_of(me), 0, in_bytes);
    memcpy(model(source), source, in_bytes);
    expect(&of, &c, size, salt);
    const size_t shown = c.kind == BROADCAST ? c.n : out_bytes / size;
    if (c.kind == COLLECT)
        c.n = share(c.n, salt, of.my);
    if (of.active) {
        move_active(&of, &c, wide, psync);
        written_again(source, in_bytes);
        settled(c.dest, out_bytes);
        return;
    }
    if (aside && c.kind != ALLTOALLS)
        c.request = new_request(&of);
    if (types[type].move(of.team, &c) != 0)
        wrong("the call's status", 1, 0);
    if (c.request)
        under_way(check, c.dest, shown, type);
    else
        written_again(source, in_bytes);
    if (!c.request)
        check(c.dest, shown, type);
}

/* Broadcasts without pause, whose roots are ahead of the others, stay, or take turns. */
void stream_of_broadcasts(void)
{
    static const size_t lengths[] = {1, 7, 8, 125, 512, 1000, 1024, 4000, 4096, 8192};
    const group of = any_group();
    const size_t calls = 8 + below(40), turn = one_in(3) ? 1 + below(4) : calls, first = below((size_t)of.size), late = below(4);
    size_t length[48];
    const size_t most = one_in(4) ? 10 : 6;
    for (size_t i = 0; i < calls; i++)
        length[i] = lengths[one_in(6) ? below(most) : i / 3 * 7 % most];
    /* A barrier in front: each call has an array of its own, and none begins a phase. */
    room_for(POOL / 2, (int)calls * 2 + 2);
    const uint64_t salt = draw();
    for (size_t i = 0, bytes = 0; i < calls; i++) {
        bytes += 16 * length[i];
        if (bytes > POOL / 2 - 64 * 4 * GUARD)
            return;
        const int root = (int)((first + i / turn) % (size_t)of.size);
        snprintf(about, sizeof about, "broadcast %zu of %zu of a stream, %zu words, root %d, %s", i, calls, length[i], root, of.name);
        uint64_t *source = fresh(8 * length[i]), *dest = fresh(8 * length[i]);
        long *psync = of.active ? fresh_psync() : NULL;
        if (of.my < 0)
            continue;
        const uint64_t key = mixed(salt + i);
        if (of.my == root) {
            stream(source, key, 0, 8 * length[i]);
            memcpy(model(source), source, 8 * length[i]);
        } else if (late && mixed(key) % 6 == 0 && (int)(mixed(key) / 8 % (uint64_t)of.size) == of.my) {
            usleep((useconds_t)(100 * late));
        }
        if (of.active)
            shmem_broadcast64(dest, source, length[i], root, of.start, of.log_stride, of.size, psync);
        else
            shmem_uint64_broadcast(of.team, dest, source, length[i], root);
        if (of.my == root)
            written_again(source, 8 * length[i]);
        if (!of.active || of.my != root)
            stream(model(dest), key, 0, 8 * length[i]);
        settled(dest, 8 * length[i]);
    }
}
