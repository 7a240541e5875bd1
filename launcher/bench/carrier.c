/* The release of the network library that carries messages, as the process has it loaded: whichever library uses it, and however. */
#define _GNU_SOURCE
#include "bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The file of this process whose name contains `name`. */
static const char *loaded(const char *name)
{
    static char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    const char *found = NULL;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (path && strstr(path, name)) {
            path[strcspn(path, "\n")] = 0;
            found = path;
        }
    }
    if (maps)
        fclose(maps);
    return found;
}

/* A function of a library that is loaded already. */
static void *function(const char *library, const char *name)
{
    const char *path = loaded(library);
    void *handle = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return handle ? dlsym(handle, name) : NULL;
}

void describe_carriers(char *text, size_t room)
{
    uint32_t (*fi_version)(void);
    const char *(*ucp_version)(void);
    /* C has no conversion from an object's address to a function's. */
    *(void **)&fi_version = function("/libfabric.so", "fi_version");
    *(void **)&ucp_version = function("/libucp.so", "ucp_get_version_string");
    text[0] = 0;
    if (fi_version) {
        uint32_t version = fi_version();
        snprintf(text, room, ", libfabric %u.%u", version >> 16, version & 0xFFFF);
    }
    if (ucp_version) {
        size_t used = strlen(text);
        snprintf(text + used, room - used, ", UCX %s", ucp_version());
    }
}
