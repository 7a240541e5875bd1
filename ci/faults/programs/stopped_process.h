/* Waits until a process is stopped, as /proc shows it. */
#include <stdio.h>
#include <unistd.h>

static void wait_until_stopped(long process)
{
    char name[64], state = 0;
    snprintf(name, sizeof name, "/proc/%ld/stat", process);
    while (state != 'T') {
        usleep(1000);
        FILE *file = fopen(name, "r");
        if (file == NULL)
            continue;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        fclose(file);
    }
}
