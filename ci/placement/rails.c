/* Whether long transfers take several cards: rails CARD0 CARD1. PE 0 puts to the last node's first PE, then gets from it, then
 * all broadcast and take maxima; PE 0 counts the packets that both cards send meanwhile (those that answer a get leave by the
 * other PE's cards, which are the same in a machine that plays both nodes). Its status is the number of turns in which one of
 * them carried less than a quarter.
 * A rail carries nothing before it is connected, which goes on beside the transfers, so both are used before it counts. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sent.h"

/* A card's packets hold at most 4 KiB. */
enum { TIMES = 6, BYTES = 1 << 20, LEAST = TIMES * (BYTES / 4096) / 4 };

static char there[BYTES], here[BYTES];

/* Puts until the second card carries something, or for as long as nobody waits for a connection. */
static void connect_rails(const char *second, int pe)
{
    long before = sent_by(second);
    for (int time = 0; time < 500 && sent_by(second) - before < 8; time++) {
        shmem_putmem(there, here, 65536, pe);
        usleep(10000);
    }
}

/* The transfers of a turn. Those of the last two go through the nodes' first PEs. */
static void transfer(int turn, int me, int last)
{
    for (int time = 0; time < TIMES; time++)
        if (turn == 2)
            shmem_broadcastmem(SHMEM_TEAM_WORLD, there, here, BYTES, 0);
        else if (turn == 3)
            shmem_uchar_max_reduce(SHMEM_TEAM_WORLD, (unsigned char *)there, (unsigned char *)here, BYTES);
        else if (me == 0 && turn == 0)
            shmem_putmem(there, here, BYTES, last);
        else if (me == 0)
            shmem_getmem(here, there, BYTES, last);
    shmem_quiet();
}

int main(int count, char **cards)
{
    static const char *const what[] = {"puts", "gets", "broadcasts", "maxima"};
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() / 2, wrong = 0;
    if (count != 3 || last < 1) {
        printf("two cards and two PEs are wanted\n");
        shmem_global_exit(1);
    }
    for (int turn = 0; turn < 4; turn++) {
        shmem_barrier_all();
        long sent[2] = {0, 0};
        if (me == 0 && turn == 0)
            connect_rails(cards[2], last);
        /* What PE 0 gets must not be there before. */
        memset(here, me > 0 ? 5 : turn == 1 ? 8 : 7, BYTES);
        if (turn > 1)
            memset(there, 0, BYTES);
        shmem_barrier_all();
        for (int card = 0; card < 2 && me == 0; card++)
            sent[card] = -sent_by(cards[1 + card]);
        transfer(turn, me, last);
        shmem_barrier_all();
        for (int card = 0; card < 2 && me == 0; card++)
            sent[card] += sent_by(cards[1 + card]);
        int well = me != 0 || (sent[0] >= LEAST && sent[1] >= LEAST);
        const char *expected = turn > 1 || me == last ? there : here;
        for (int at = 0; at < BYTES && (turn > 1 || me == 0 || me == last); at++)
            well &= expected[at] == 7;
        wrong += !well;
        if (me == 0)
            printf("%s of 1 MiB: %s sent %ld packets, %s %ld%s\n", what[turn], cards[1], sent[0], cards[2], sent[1],
                   well ? "" : ": WRONG");
        else if (!well)
            printf("%s of 1 MiB: PE %d has other bytes: WRONG\n", what[turn], me);
    }
    shmem_barrier_all();
    shmem_finalize();
    return wrong;
}
