/* Whether the bytes of a put are in the target's memory when its source learns that the put is complete. The target does nothing in the
   network until a word in shared memory says that the source has the completion; then it looks at its memory, first without and then
   with calls of the network's library. Arguments: provider (shm, tcp), completion (inject, transmit, delivery), bytes, puts. */
#define _GNU_SOURCE
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MUST(call)                                                                        \
  do {                                                                                    \
    int code = (int)(call);                                                               \
    if (code) {                                                                           \
      fprintf(stderr, "%s: %s\n", #call, fi_strerror(-code));                             \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

enum { MOST = 1 << 20 };
static struct shared {
  volatile int ready[2], stop;
  volatile long told, looked;
  char name[2][256];
  size_t length[2];
  uint64_t key, address;
} *shared;

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_cntr *counter;
static struct fid_ep *ep;
static fi_addr_t peer;
static char memory[MOST], source[MOST];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void open_all(int me, const char *provider, uint64_t flags) {
  struct fi_info *hints = fi_allocinfo();
  hints->caps = FI_MSG | FI_RMA;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->tx_attr->op_flags = flags;
  hints->fabric_attr->prov_name = strdup(provider);
  MUST(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &info));
  MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
  MUST(fi_domain(fabric, info, &domain, NULL));
  struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
  struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG, .size = 1024};
  struct fi_cntr_attr counter_attr = {.events = FI_CNTR_EVENTS_COMP};
  MUST(fi_av_open(domain, &av_attr, &av, NULL));
  MUST(fi_cq_open(domain, &cq_attr, &cq, NULL));
  MUST(fi_cntr_open(domain, &counter_attr, &counter, NULL));
  MUST(fi_endpoint(domain, info, &ep, NULL));
  MUST(fi_ep_bind(ep, &av->fid, 0));
  MUST(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
  MUST(fi_ep_bind(ep, &counter->fid, FI_WRITE));
  MUST(fi_enable(ep));
  if (me == 1) {
    struct fid_mr *mr;
    MUST(fi_mr_reg(domain, memory, MOST, FI_REMOTE_WRITE, 0, 17, 0, &mr, NULL));
    shared->key = fi_mr_key(mr);
    shared->address = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)memory : 0;
  }
  shared->length[me] = sizeof shared->name[me];
  MUST(fi_getname(&ep->fid, shared->name[me], &shared->length[me]));
  __sync_synchronize();
  shared->ready[me] = 1;
  while (!shared->ready[!me]) sched_yield();
  if (fi_av_insert(av, shared->name[!me], 1, &peer, 0, NULL) != 1) exit(1);
}

static void move_on(void) {
  struct fi_cq_msg_entry entries[16];
  fi_cq_read(cq, entries, 16);
}

static int is_there(long round, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (((volatile char *)memory)[i] != (char)round) return 0;
  return 1;
}

static void target(size_t n, long puts) {
  long there = 0, later = 0, never = 0;
  /* Both sides come to know each other. */
  while (shared->told == 0) move_on();
  for (long round = 1; round <= puts; round++) {
    while (shared->told < round && !shared->stop) sched_yield();
    if (shared->stop) break;
    if (is_there(round, n)) {
      there++;
    } else {
      double begin = now();
      while (!is_there(round, n) && now() - begin < 2) move_on();
      if (is_there(round, n)) later++; else never++;
    }
    __sync_synchronize();
    shared->looked = round;
  }
  printf("  target: bytes there at once %ld, only after calls of the library %ld, never %ld\n", there, later, never);
  shared->looked = puts;
  double begin = now();
  while (!shared->stop && now() - begin < 3) move_on();
}

int main(int argc, char **argv) {
  if (argc != 5) return 1;
  size_t n = strtoul(argv[3], NULL, 0);
  long puts = atol(argv[4]);
  int inject = !strcmp(argv[2], "inject"), delivery = !strcmp(argv[2], "delivery");
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t child = fork();
  int me = child == 0;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  open_all(me, argv[1], delivery ? FI_DELIVERY_COMPLETE : 0);
  if (me) {
    target(n, puts);
    exit(0);
  }
  printf("%s %s, %s, %zu bytes (inject up to %zu)\n", info->fabric_attr->prov_name, fi_tostr(&info->fabric_attr->prov_version, FI_TYPE_VERSION), argv[2], n, info->tx_attr->inject_size);
  fflush(stdout);
  double spent = 0;
  long stuck = 0;
  for (long round = 1; round <= puts; round++) {
    memset(source, (int)round, n);
    uint64_t before = fi_cntr_read(counter);
    double begin = now();
    ssize_t code;
    do {
      if (inject) {
        code = fi_inject_write(ep, source, n, peer, shared->address, shared->key);
      } else {
        struct iovec local = {source, n};
        struct fi_rma_iov remote = {shared->address, n, shared->key};
        struct fi_msg_rma message = {.msg_iov = &local, .iov_count = 1, .addr = peer, .rma_iov = &remote, .rma_iov_count = 1};
        code = fi_writemsg(ep, &message, delivery ? FI_DELIVERY_COMPLETE : FI_TRANSMIT_COMPLETE);
      }
      if (code == -FI_EAGAIN) move_on();
    } while (code == -FI_EAGAIN);
    MUST(code);
    while (fi_cntr_read(counter) == before && now() - begin < 2) move_on();
    if (fi_cntr_read(counter) == before) {
      stuck++;
      printf("  source: no completion while the target makes no call\n");
      shared->stop = 1;
      break;
    }
    spent += now() - begin;
    __sync_synchronize();
    shared->told = round;
    while (shared->looked < round) sched_yield();
  }
  if (!stuck) printf("  source: %.2f us to each completion\n", spent / puts * 1e6);
  fflush(stdout);
  shared->told = puts + 1;
  shared->stop = 1;
  wait(NULL);
  return 0;
}
