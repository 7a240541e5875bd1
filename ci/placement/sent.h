/* What InfiniBand cards have sent. */
#include <shmem.h>
#include <stdio.h>

/* How many packets so far. */
static long sent_by(const char *card)
{
    char path[256];
    long packets = -1;
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/hw_counters/sent_pkts", card);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld", &packets) != 1) {
        printf("%s: no counter\n", path);
        shmem_global_exit(1);
    }
    fclose(file);
    return packets;
}
