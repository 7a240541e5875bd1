/* Which cards the puts of PEs leave by: packets CARD0 CARD1, the cards of NUMA nodes 0 and 1. Every PE is bound to one of
 * the two; in turn those of each node put to the PE in the same place of the next (virtual) network node, and PE 0 counts
 * the packets that both cards send meanwhile. Prints a line for each turn; its status is the number of turns in which the
 * near card did not carry the puts, or the other one more than what a barrier takes. */
#define _GNU_SOURCE
#include <sched.h>
#include <shmem.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sent.h"

/* A put is more than a packet: RoCE's are at most 4 KiB here. The other card may send less than a tenth of them. */
enum { PUTS = 100, BYTES = 16384, LEAST = PUTS * BYTES / 4096, MOST = LEAST / 10 };

int main(int count, char **cards)
{
    static char there[BYTES], here[BYTES];
    static int nodes[2], nodes_seen[2];
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), wrong = 0;
    unsigned cpu, mine;
    if (count != 3 || n % 2 || syscall(SYS_getcpu, &cpu, &mine, NULL) || mine > 1) {
        printf("PE %d: two cards, an even number of PEs and NUMA nodes 0 and 1 are wanted\n", me);
        shmem_global_exit(1);
    }
    nodes[mine] = 1;
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, nodes_seen, nodes, 2);
    for (unsigned turn = 0; turn < 2; turn++) {
        long before[2], after[2];
        shmem_barrier_all();
        if (me == 0)
            for (int card = 0; card < 2; card++)
                before[card] = sent_by(cards[1 + card]);
        shmem_barrier_all();
        if (mine == turn)
            for (int put = 0; put < PUTS; put++)
                shmem_putmem(there, here, BYTES, (me + n / 2) % n);
        shmem_barrier_all();
        if (me == 0) {
            for (int card = 0; card < 2; card++)
                after[card] = sent_by(cards[1 + card]) - before[card];
            int well = after[turn] >= LEAST * nodes_seen[turn] && nodes_seen[turn] > 0 && after[1 - turn] < MOST;
            wrong += !well;
            printf("%d PEs on NUMA node %u put: %s sent %ld packets, %s %ld%s\n", nodes_seen[turn], turn, cards[1], after[0],
                   cards[2], after[1], well ? "" : ": WRONG");
        }
    }
    shmem_finalize();
    return wrong;
}
