// Arguments of every kind: arrays, side effects, nested calls, constants, null pointers with a count of zero; and the
// functions that have a macro's name.
#include <shmem.h>

static int array[4];
static volatile int loud[4];
static char text[4];
static struct { long v[2]; } group;

void f(int *i, shmem_ctx_t c, int *const fixed);
void f(int *i, shmem_ctx_t c, int *const fixed) {
    shmem_put(array, array, 4, 0);
    shmem_get(group.v, group.v, 2, 0);
    shmem_p(fixed, 1, 0);
    shmem_p(&array[(*i)++], shmem_g(&array[1], 0), 0);
    shmem_p(array + 1, (*i)++, 0);
    shmem_p(c, &group.v[0], shmem_atomic_fetch_add(c, group.v, 1, 0), 0);
    shmem_put(c, &array[(*i)++], ((int[]){1, 2}), 2, 0);
    shmem_put(text, "x", 1, 0);
    shmem_put(c, text, "x", 1, 0);
    shmem_put(array, NULL, 0, 0);
    shmem_get(c, array, NULL, 0, 0);
    shmem_p(SHMEM_CTX_DEFAULT, array, 1, 0);
    shmem_wait_until(array, SHMEM_CMP_NE, 0);
    (shmem_wait_until)(group.v, SHMEM_CMP_EQ, 1L);
    shmem_wait_until(loud, SHMEM_CMP_EQ, 0);
    shmem_wait_until(&loud[(*i)++], SHMEM_CMP_EQ, shmem_test(loud, SHMEM_CMP_NE, 1));
    shmem_wait_until_all(loud, 4, NULL, SHMEM_CMP_EQ, 0);
}

void (*function)(uint64_t *, uint64_t, int) = &shmem_signal_set;
