/* Calls with the sizes, strides and counts that its arguments give, each KIND:ROUTINE:N:SECOND:DST:SST:PLACE:EXPECTED. Routines are
 * numbered in random_sizes_calls.h, which the test generates from the table of all routines. EXPECTED is "right" where the arrays
 * hold all that the call touches: then the destination is compared, byte for byte. It is "refused" where they do not: then the call
 * ends the job with a sentence, or is a heap call that returns NULL. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, MIDDLE = ROOM / 2, UNTOUCHED = 0x55, MOST_PES = 8 };

/* What a call gets. `dest` and `source` are where its first element is. */
struct call {
    char *dest, *source;
    size_t n, second; /* The second size: elements of a block, an alignment, a count, or bytes of a packed destination. */
    ptrdiff_t dst, sst; /* Strides, or offsets. */
};

static _Alignas(64) char static_dest[ROOM], static_source[ROOM];
static long sync_array[SHMEM_COLLECT_SYNC_SIZE > SHMEM_REDUCE_SYNC_SIZE ? SHMEM_COLLECT_SYNC_SIZE : SHMEM_REDUCE_SYNC_SIZE];
static uint64_t signal_word;
static size_t target_offsets[MOST_PES], target_sizes[MOST_PES], source_offsets[MOST_PES], source_sizes[MOST_PES], total;
static size_t indices[ROOM];
static char work[ROOM];
static int me, pes, next, target_list[MOST_PES];
static shmem_ctx_t context;
static shmemx_ct_t counter;
static void *allocated;

#include "random_sizes_calls.h"

/* Does the call, which the arrays hold, with an image of the destination from its first element on. */
static void expect(const char *kind, const struct call *call, size_t element, char *begin, const char *source)
{
    const size_t bytes = call->n * element;
    if (!strcmp(kind, "Move") || !strcmp(kind, "Spread") || (!strcmp(kind, "SetSpread") && me != 0))
        memcpy(begin, source, bytes);
    else if (!strcmp(kind, "Gather"))
        for (int pe = 0; pe < pes; pe++)
            memcpy(begin + pe * bytes, source, bytes);
    else if (!strcmp(kind, "Exchange"))
        for (int pe = 0; pe < pes; pe++)
            memcpy(begin + pe * bytes, source + me * bytes, bytes);
    else if (!strcmp(kind, "ExchangeStrided"))
        for (size_t pe = 0; pe < (size_t)pes; pe++)
            for (size_t i = 0; i < call->n; i++)
                memcpy(begin + (pe * call->n + i) * call->dst * element, source + (me * call->n + i) * call->sst * element, element);
    else if (!strcmp(kind, "Strided"))
        for (ptrdiff_t i = 0; call->second > 0 && i < (ptrdiff_t)call->n; i++)
            memcpy(begin + i * call->dst * (ptrdiff_t)element, source + i * call->sst * (ptrdiff_t)element, call->second * element);
    else if (!strcmp(kind, "Reduce"))
        memset(begin, 0, bytes);
    else if (!strcmp(kind, "Places"))
        for (int pe = 0; pe < pes; pe++)
            memcpy(begin + target_offsets[pe], source + source_offsets[me], call->n);
    else if (!strcmp(kind, "Packed"))
        for (int pe = 0; pe < pes; pe++)
            memcpy(begin + pe * call->n, source + source_offsets[me], call->n);
}

static int run(char *text)
{
    char kind[32], place[16], expected[16];
    unsigned routine;
    struct call call;
    if (sscanf(text, "%31[^:]:%u:%zu:%zu:%td:%td:%15[^:]:%15s", kind, &routine, &call.n, &call.second, &call.dst, &call.sst, place,
               expected) != 8)
        return 2;
    const int heap = !strcmp(place, "heap"), refused = !strcmp(expected, "refused");
    char *dest = heap ? shmem_malloc(ROOM) : static_dest, *source = heap ? shmem_malloc(ROOM) : static_source;
    const int waits = !strcmp(kind, "Wait"), zeros = waits || !strcmp(kind, "Reduce");
    const size_t begin = !strcmp(kind, "Strided") ? MIDDLE : 0, element = routines[routine].element;
    memset(dest, waits ? 0 : UNTOUCHED, ROOM);
    for (int i = 0; i < ROOM; i++)
        source[i] = zeros ? 0 : (char)(i * 7 + i / 256 + 1);
    for (int pe = 0; pe < pes; pe++) {
        target_offsets[pe] = (size_t)call.dst + 64 * pe;
        target_sizes[pe] = 64;
        source_offsets[pe] = (size_t)call.sst + 64 * pe;
        source_sizes[pe] = call.n;
        target_list[pe] = pe;
    }
    call.dest = dest + begin;
    call.source = source + begin;
    allocated = NULL;
    shmem_barrier_all();
    routines[routine].call(&call);
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    if (!strcmp(kind, "Heap")) {
        if ((allocated == NULL) != refused) {
            printf("PE %d: %s: %s, allocated %p\n", me, routines[routine].name, text, allocated);
            return 3;
        }
        shmem_free(allocated);
    } else if (refused) {
        printf("PE %d: %s: %s: nobody has refused that\n", me, routines[routine].name, text);
        return 3;
    } else if (strcmp(kind, "None") && !waits) {
        static char image[ROOM];
        memset(image, UNTOUCHED, ROOM);
        expect(kind, &call, element, image + begin, source + begin);
        for (int i = 0; i < ROOM; i++)
            /* A long double has bytes without a meaning. */
            if (image[i] != dest[i] && !(routines[routine].padded && !strcmp(kind, "Reduce") && image[i] == 0)) {
                printf("PE %d: %s: %s: byte %d is %d, not %d\n", me, routines[routine].name, text, i, dest[i], image[i]);
                return 3;
            }
    }
    if (heap) {
        shmem_free(source);
        shmem_free(dest);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "list")) {
        for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
            printf("%zu\n", routines[i].element);
        return 0;
    }
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    next = (me + 1) % pes;
    shmem_ctx_create(0, &context);
    shmemx_ct_create(&counter);
    for (int i = 1; i < argc; i++) {
        const int status = run(argv[i]);
        if (status != 0)
            shmem_global_exit(status);
    }
    shmemx_ct_free(&counter);
    shmem_finalize();
    return 0;
}
