/* Counts the instructions that one call executes outside of this program and of the library whose file is named by the first argument,
   and of what that library calls. A dash names none.

   PE 0 is stepped by a process of its own, which is forked before the library opens anything. It counts from a breakpoint to
   the function `over`, and leaves out what lies in the named file and what is called from there. The least count that has come three
   times is printed. The other threads of PE 0 stand still while it counts. With COUNT_TRACE=FILE the addresses of
   the last count of each operation are written, for a look at where they are. */
#define _GNU_SOURCE
#include <dirent.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* The linker's marks round this program's instructions. */
extern char __executable_start, etext;

enum { LONG = 4096, OFTEN = 3, MOST = 60 };

struct shared {
  volatile long count; /* Of the last region. */
  volatile long name;  /* Number of the operation. */
};

static struct shared *shared;
static long here[LONG / sizeof(long)], fetched;
static long there[LONG / sizeof(long)], counter, word;
static uint64_t signal_word;
static shmem_ctx_t own;
static long invitation;                        /* For PE 1: the number of its turn, and that of the collective that it makes. */
static long turn;                              /* The number of the last invitation. */
static long done;                              /* For PE 0: the last turn that PE 1 has ended. */
static int operand, greatest, work[2][SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static double summand, sum, sum_work[2][SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long psync[2][SHMEM_REDUCE_SYNC_SIZE]; /* Two, which take turns, of one active set. */

static void p(void) { shmem_long_p(&word, 7, 1); }
static void put_nbi_8(void) { shmem_putmem_nbi(there, here, 8, 1); }
static void put_nbi_4096(void) { shmem_putmem_nbi(there, here, LONG, 1); }
static void get_nbi(void) { shmem_getmem_nbi(here, there, 8, 1); }
static void g(void) { fetched = shmem_long_g(&word, 1); }
static void fetch_add(void) { fetched = shmem_long_atomic_fetch_add(&counter, 1, 1); }
static void add(void) { shmem_long_atomic_add(&counter, 1, 1); }
static void put_signal(void) { shmem_putmem_signal_nbi(there, here, 8, &signal_word, 1, SHMEM_SIGNAL_ADD, 1); }
static void quiet(void) { shmem_quiet(); }
static void own_put_nbi_8(void) { shmem_ctx_putmem_nbi(own, there, here, 8, 1); }
static void own_quiet(void) { shmem_ctx_quiet(own); }
static void fence(void) { shmem_fence(); }
static void barrier(void) { shmem_barrier_all(); }
static void max_to_all(void) {
  shmem_int_max_to_all(&greatest, &operand, 1, 0, 0, 2, work[turn & 1], psync[turn & 1]);
}
static void sum_to_all(void) {
  shmem_double_sum_to_all(&sum, &summand, 1, 0, 0, 2, sum_work[turn & 1], psync[turn & 1]);
}
static void fcollect(void) { shmem_fcollectmem(SHMEM_TEAM_WORLD, there, here, 8); }
static void broadcast(void) { shmem_broadcastmem(SHMEM_TEAM_WORLD, there, here, 8, 0); }
static void nothing(void) {}

/* Lets PE 1 make the collective that is counted next, and waits until its message has come, so that the counted call does not wait.
   PE 1 has ended the turn before: the root of a broadcast waits for nobody, and the invitation would be overwritten. */
enum { NUMBERS = 64, MICROSECONDS = 2000 };
static void invite(long number) {
  shmem_long_wait_until(&done, SHMEM_CMP_GE, turn);
  shmem_long_p(&invitation, ++turn * NUMBERS + number, 1);
  shmem_quiet();
  usleep(MICROSECONDS);
}
static void invite_next(void) { invite(shared->name); }

static const struct {
  const char *name;
  void (*before)(void), (*act)(void);
} operations[] = {
    {"p", nothing, p},
    {"put_nbi 8", nothing, put_nbi_8},
    {"put_nbi 4096", nothing, put_nbi_4096},
    {"get_nbi 8", nothing, get_nbi},
    {"g", nothing, g},
    {"fetch_add", nothing, fetch_add},
    {"add", nothing, add},
    {"put_signal_nbi 8", nothing, put_signal},
    {"quiet after put_nbi 8", put_nbi_8, quiet},
    {"quiet after add", add, quiet},
    {"quiet idle", nothing, quiet},
    {"fence idle", nothing, fence},
    {"fence after put_nbi 8", put_nbi_8, fence},
    {"put_nbi 8, private context", nothing, own_put_nbi_8},
    {"quiet, private context", own_put_nbi_8, own_quiet},
    {"barrier_all", invite_next, barrier},
    {"int_max_to_all 1", invite_next, max_to_all},
    {"double_sum_to_all 1", invite_next, sum_to_all},
    {"fcollectmem 8", invite_next, fcollect},
    {"broadcastmem 8, root", invite_next, broadcast},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

__attribute__((noinline)) static void over(void) { __asm__ volatile("" ::: "memory"); }

static void die(const char *what) {
  perror(what);
  _exit(1);
}

/* Where the named file is mapped in the process that is counted. */
static void find(pid_t process, const char *file, unsigned long range[2]) {
  char path[64], line[4096];
  snprintf(path, sizeof path, "/proc/%d/maps", process);
  FILE *maps = fopen(path, "r");
  if (!maps) die("the mappings of the process");
  range[0] = ~0ul;
  range[1] = 0;
  while (fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    if (strstr(line, file) && sscanf(line, "%lx-%lx", &from, &to) == 2) {
      if (from < range[0]) range[0] = from;
      if (to > range[1]) range[1] = to;
    }
  }
  fclose(maps);
  if (range[1] == 0) {
    fprintf(stderr, "%s is not mapped\n", file);
    exit(1);
  }
}

static struct user_regs_struct registers_of(pid_t process) {
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, process, 0, &registers)) die("registers");
  return registers;
}

/* The other threads of the process that is counted, which stand still meanwhile. */
static pid_t held[64];
static int holding;

/* Stops them: a thread that waited for a lock of the counted one would make its release longer. */
static void hold_others(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR *threads = opendir(path);
  if (!threads) die("the threads of the process");
  for (struct dirent *entry; (entry = readdir(threads)) && holding < 64;) {
    pid_t thread = atoi(entry->d_name);
    if (thread <= 0 || thread == process || ptrace(PTRACE_SEIZE, thread, 0, 0)) continue;
    ptrace(PTRACE_INTERRUPT, thread, 0, 0);
    waitpid(thread, NULL, __WALL);
    held[holding++] = thread;
  }
  closedir(threads);
}

static void release_others(void) {
  while (holding > 0) ptrace(PTRACE_DETACH, held[--holding], 0, 0);
}

/* Waits until the process stops. If it does not, a thread that stands still may have what it needs. */
static int stopped(pid_t process, int *status) {
  for (int looks = 0;; looks++) {
    pid_t changed = waitpid(process, status, __WALL | (holding ? WNOHANG : 0));
    if (changed) return changed == process && WIFSTOPPED(*status);
    if (looks >= 1000) usleep(1000);
    if (looks == 1200) release_others();
  }
}

/* The tracer: counts one region after the other until the process ends. */
static void trace(pid_t process, const char *file, int ready) {
  unsigned long range[2] = {0, 0};
  const char *path = getenv("COUNT_TRACE");
  FILE *addresses = path ? fopen(path, "w") : NULL;
  if (ptrace(PTRACE_SEIZE, process, 0, 0)) die("the process cannot be traced");
  if (write(ready, "r", 1) != 1) die("ready");
  int status, signal = 0, counting = 0;
  long count = 0;
  unsigned long back = 0; /* Where a call of the named file returns to, while there is one. */
  while (stopped(process, &status)) {
    signal = WSTOPSIG(status);
    if (status >> 16) {
      ptrace(PTRACE_CONT, process, 0, 0); /* A stop of the whole group is none of ours. */
      continue;
    }
    if (signal != SIGTRAP) {
      ptrace(counting ? PTRACE_SINGLESTEP : PTRACE_CONT, process, 0, signal);
      continue;
    }
    if (!counting) {
      if (range[1] == 0 && strcmp(file, "-")) {
        find(process, file, range);
        if (addresses) {
          char line[4096];
          FILE *maps = (snprintf(line, sizeof line, "/proc/%d/maps", process), fopen(line, "r"));
          while (fgets(line, sizeof line, maps))
            if (strstr(line, " r-xp ")) fprintf(addresses, "map %s", line);
          fclose(maps);
        }
      }
      counting = 1;
      count = 0;
      back = 0;
      hold_others(process);
      if (addresses) fprintf(addresses, "region %s\n", operations[shared->name].name);
    }
    struct user_regs_struct registers = registers_of(process);
    unsigned long next = registers.rip;
    if (next == (unsigned long)over) {
      counting = 0;
      shared->count = count;
      release_others();
      ptrace(PTRACE_CONT, process, 0, 0);
      continue;
    }
    if (back == 0 && next >= range[0] && next < range[1])
      back = ptrace(PTRACE_PEEKDATA, process, registers.rsp, 0); /* The first instruction of a function. */
    if (next == back) back = 0;
    int ours = next >= (unsigned long)&__executable_start && next < (unsigned long)&etext;
    if (back == 0 && !ours) {
      count++;
      if (addresses) fprintf(addresses, "%lx\n", next);
    }
    ptrace(PTRACE_SINGLESTEP, process, 0, 0);
  }
  if (addresses) fclose(addresses);
  _exit(0);
}

/* The least count of an operation. */
static long least(int number) {
  long best = -1;
  for (int i = 0, seen = 0; i < MOST && seen < OFTEN; i++) {
    shared->name = number;
    operations[number].before();
    void (*act)(void) = operations[number].act;
    __asm__ volatile("int3" ::: "memory");
    act();
    over();
    long count = shared->count;
    shmem_quiet();
    shmem_ctx_quiet(own);
    if (count == best) seen++;
    if (best < 0 || count < best) best = count, seen = 1;
  }
  return best;
}

/* PE 1 makes the collectives to which it is invited, up to an invitation to none. */
static void accompany(void) {
  for (;;) {
    shmem_long_wait_until(&invitation, SHMEM_CMP_GE, ++turn * NUMBERS);
    long number = invitation % NUMBERS;
    if (number == OPERATIONS) return;
    operations[number].act();
    shmem_long_p(&done, turn, 0);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 1;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int ready[2], go[2];
  if (shared == MAP_FAILED || pipe(ready) || pipe(go)) die("the tracer cannot be prepared");
  pid_t process = getpid(), tracer = fork();
  if (tracer < 0) die("fork");
  if (tracer == 0) {
    char byte;
    close(go[1]);
    if (read(go[0], &byte, 1) != 1) _exit(0); /* Not the PE that is counted. */
    trace(process, argv[1], ready[1]);
  }
  close(go[0]);
  close(ready[1]); /* The end of a tracer that cannot trace ends the read. */
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < SHMEM_REDUCE_SYNC_SIZE; j++) psync[i][j] = SHMEM_SYNC_VALUE;
  shmem_init();
  if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &own)) return 1;
  shmem_barrier_all();
  int failed = 0;
  if (shmem_my_pe() == 0) {
    char byte = 'g';
    if (write(go[1], &byte, 1) != 1 || read(ready[0], &byte, 1) != 1) die("the tracer");
    for (int round = 0; round < 3; round++)
      for (int i = 0; i < OPERATIONS; i++) {
        shared->name = i;
        operations[i].before();
        operations[i].act();
      }
    shmem_quiet();
    shmem_ctx_quiet(own);
    for (int i = 0; i < OPERATIONS; i++) printf("%s: %ld\n", operations[i].name, least(i));
    fflush(stdout);
    invite(OPERATIONS);
  } else {
    accompany();
  }
  close(go[1]);
  shmem_barrier_all();
  shmem_ctx_destroy(own);
  shmem_finalize();
  return failed;
}
