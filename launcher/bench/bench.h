/* What every pattern of `oxshmem bench` needs: who takes part, how a row is timed and how what it moved is checked.
 *
 * The program makes standard calls only, those of OpenSHMEM 1.4, so that it can be compiled for other libraries. Patterns of
 * later versions stand behind VERSION. */
#ifndef BENCH_H
#define BENCH_H

#include <shmem.h>
#include <stddef.h>
#include <stdint.h>

/* The version of the standard that the library declares: 104, 105, 106. */
#ifndef VERSION
#define VERSION (SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION)
#endif

/* The PE whose time a row counts: the first one, the slowest of the first PEs of all pairs, the slowest of all pairs,
 * the slowest of all PEs, or `timed_pe`. */
enum clock { FIRST, LEADERS, PAIRS, ALL, ONE };

/* One row of the report. All PEs call everything with the same arguments. */
struct row {
    const char *pattern, *form;
    /* Bytes of one operation. */
    size_t bytes;
    enum clock clock;
    /* Makes n repetitions. */
    void (*batch)(long n);
    /* Operations of one repetition. */
    double operations;
    /* Prepares what is moved, differently for each seed, and spoils the places where it goes. NULL: there is nothing. */
    void (*prepare)(unsigned seed);
    /* Whether everything has arrived after this many repetitions. */
    int (*arrived)(unsigned seed, long n);
    /* All PEs meet, untimed, before each repetition that is timed by itself. */
    int meets;
    /* No repetition is timed by itself. */
    int batches_only;
};

/* Measures a row and prints it. */
void measure(const struct row *row);
/* Whether the driver asked for the pattern. */
int wanted(const char *pattern);

/* This PE, all PEs, the other one of the pair, and how many pairs there are. A PE beyond them is in none. */
extern int me, npes, partner, pairs;
/* Whether this PE is the first of its pair, and whether it is the second. */
extern int leads, follows;
/* The PE whose time counts in rows of the clock ONE. */
extern int timed_pe;
/* Sizes of one sweep. */
extern size_t sizes[64];
extern int size_count;

/* The largest size of the sweep. */
size_t largest(void);
/* Symmetric memory, touched by its owner; the job ends where there is none. */
void *symmetric(size_t bytes);
/* Ends the job with a sentence. */
void give_up(const char *why);
/* Names the network libraries that this process has loaded, each behind a comma, with their releases. */
void describe_carriers(char *text, size_t room);
/* Nanoseconds of a clock that does not jump. */
double now(void);

/* The words that PE `pe` sends in its block number `block`. */
void fill(void *at, size_t bytes, unsigned seed, int pe, int block);
int is_filled(const void *at, size_t bytes, unsigned seed, int pe, int block);

/* Groups of patterns; each runs in a job of its own. */
void latency(void), bandwidth(void), overlap(void), atomics(void), barriers(void), collectives(void), reductions(void), teams(void),
    limits(void), usage(void), distances(void);

#endif
