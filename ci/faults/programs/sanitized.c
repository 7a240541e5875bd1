/* Puts, signals and gets between PEs, in a program that is built with ThreadSanitizer. With an argument it also has a race
   of its own. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <shmem.h>

enum { ROUNDS = 20, MANY = 1000 };

static long word;
static uint64_t arrivals;
static long mine[MANY];
static int contested;

static void *contest(void *argument) {
  contested++;
  return argument;
}

static void race(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, contest, NULL) != 0) {
    shmem_global_exit(4);
  }
  contested++;
  pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  (void)argv;
  int level;
  shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
  int me = shmem_my_pe(), to = (me + 1) % shmem_n_pes();
  long *theirs = shmem_calloc(MANY, sizeof *theirs);
  for (int round = 1; round <= ROUNDS; round++) {
    for (int i = 0; i < MANY; i++) {
      mine[i] = round;
    }
    shmem_long_p(&word, round, to);
    shmem_long_put_signal(theirs, mine, MANY, &arrivals, 1, SHMEM_SIGNAL_ADD, to);
    shmem_signal_wait_until(&arrivals, SHMEM_CMP_GE, (uint64_t)round);
    if (theirs[MANY - 1] != round) {
      shmem_global_exit(2);
    }
    shmem_barrier_all();
    if (word != round) {
      shmem_global_exit(3);
    }
    shmem_long_get(mine, theirs, MANY, to);
    shmem_barrier_all();
  }
  if (argc > 1) {
    race();
  }
  shmem_free(theirs);
  if (me == 0) {
    printf("done\n");
  }
  shmem_finalize();
  return 0;
}
