/* Where a PE and its memory are. Every PE checks itself: it runs on one NUMA node, the pages of its heap are there, and no
 * other PE is there. Prints a line and exits with the number of things that are wrong. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MIB = 8, MOST = 64 };

/* The NUMA node of a processor: the kernel links it from the processor's folder. */
static int node_of_cpu(int cpu)
{
    char path[64];
    int node = -1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d", cpu);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (sscanf(entry->d_name, "node%d", &node) == 1)
            break;
    if (folder)
        closedir(folder);
    return node;
}

/* How many of these pages are not on `node`. */
static long elsewhere(char *memory, size_t bytes, int node)
{
    long wrong = 0, page = sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page) {
        void *address = memory + at;
        int status = -1;
        memory[at] = 1;
        if (syscall(SYS_move_pages, 0, 1ul, &address, NULL, &status, 0) != 0 || status != node)
            wrong++;
    }
    return wrong;
}

int main(void)
{
    static int nodes[MOST], mine;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (n > MOST)
        shmem_global_exit(2);
    char *heap = shmem_malloc((size_t)MIB << 20);
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    mine = -1;
    int spread = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &mask)) {
            spread += mine >= 0 && node_of_cpu(cpu) != mine;
            mine = node_of_cpu(cpu);
        }
    long wrong = elsewhere(heap, (size_t)MIB << 20, mine);
    shmem_int_fcollect(SHMEM_TEAM_WORLD, nodes, &mine, 1);
    int shared = 0;
    for (int pe = 0; pe < n; pe++)
        shared += pe != me && nodes[pe] == mine;
    /* Something goes over the network, where there is one, by this PE's card. */
    static long ring;
    for (long round = 0; round < 200; round++)
        shmem_long_p(&ring, round, (me + 1) % n);
    shmem_barrier_all();
    printf("PE %d: NUMA node %d, %d more nodes in its mask, %d PEs beside it, %ld heap pages elsewhere\n", me, mine, spread,
           shared, wrong);
    shmem_finalize();
    return (mine < 0) + spread + shared + (wrong > 0);
}
