/* Whether long puts take several cards: rails CARD0 CARD1. PE 0 puts to the last PE, then gets from it, and counts the
 * packets that both cards send meanwhile (those that answer a get leave by the other PE's cards, which are the same in a
 * machine that plays both nodes). Its status is the number of turns in which one of them carried less than a quarter.
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

int main(int count, char **cards)
{
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1, wrong = 0;
    if (count != 3 || last < 1) {
        printf("two cards and two PEs are wanted\n");
        shmem_global_exit(1);
    }
    for (int turn = 0; turn < 2; turn++) {
        shmem_barrier_all();
        if (me == 0) {
            long sent[2];
            if (turn == 0)
                connect_rails(cards[2], last);
            memset(here, 7 + turn, BYTES);
            for (int card = 0; card < 2; card++)
                sent[card] = -sent_by(cards[1 + card]);
            for (int time = 0; time < TIMES; time++)
                if (turn == 0)
                    shmem_putmem(there, here, BYTES, last);
                else
                    shmem_getmem(here, there, BYTES, last);
            shmem_quiet();
            for (int card = 0; card < 2; card++)
                sent[card] += sent_by(cards[1 + card]);
            int well = sent[0] >= LEAST && sent[1] >= LEAST;
            for (int at = 0; at < BYTES; at++)
                well &= here[at] == 7;
            wrong += !well;
            printf("%s of 1 MiB: %s sent %ld packets, %s %ld%s\n", turn ? "gets" : "puts", cards[1], sent[0], cards[2],
                   sent[1], well ? "" : ": WRONG");
        }
    }
    shmem_barrier_all();
    shmem_finalize();
    return wrong;
}
