/* Maxima of fewer elements than there are PEs, with more bytes than an exchange carries. */
#include "luck.h"
enum { ELEMENTS = 4, CALLS = 6 };
static long double in[ELEMENTS], most[CALLS][ELEMENTS];
static void run(void)
{
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < ELEMENTS; i++)
            in[i] = call * 1000 + (me + i) % npes * 10 + i;
        shmem_longdouble_max_reduce(SHMEM_TEAM_WORLD, most[call], in, ELEMENTS);
        for (int i = 0; i < ELEMENTS; i++)
            EXPECT((long)most[call][i], call * 1000 + (npes - 1) * 10 + i);
    }
}
