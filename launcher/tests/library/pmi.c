/* The functions of PMI-2 or, with -DONE, of PMI-1, by the PMI-1 wire on the descriptor that the environment calls
   PRIVATE_FD: a launcher's library whose wire nobody else knows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *in, *out;
static char line[4096], space[256];

static const char *ask(const char *request) {
    fprintf(out, "%s\n", request);
    fflush(out);
    if (!fgets(line, sizeof line, in)) exit(77);
    line[strcspn(line, "\n")] = 0;
    return line;
}

static int number(const char *variable) {
    const char *text = getenv(variable);
    return text ? atoi(text) : -1;
}

static int field(const char *name, char *value, int length) {
    const char *at = strstr(line, name);
    if (!at || strstr(line, "rc=-1")) return 1;
    snprintf(value, length, "%s", at + strlen(name));
    return 0;
}

static int begin(void) {
    int fd = number("PRIVATE_FD");
    if (fd < 0) return 1;
    in = fdopen(dup(fd), "r");
    out = fdopen(dup(fd), "w");
    ask("cmd=init pmi_version=1 pmi_subversion=1");
    ask("cmd=get_my_kvsname");
    return field("kvsname=", space, sizeof space);
}

static int put(const char *key, const char *value) {
    char request[4096];
    snprintf(request, sizeof request, "cmd=put kvsname=%s key=%s value=%s", space, key, value);
    return strstr(ask(request), "rc=0") == NULL;
}

static int get(const char *key, char *value, int length) {
    char request[4096];
    snprintf(request, sizeof request, "cmd=get kvsname=%s key=%s", space, key);
    ask(request);
    return field("value=", value, length);
}

static int fence(void) { return strstr(ask("cmd=barrier_in"), "barrier_out") == NULL; }

static int leave(void) { return strstr(ask("cmd=finalize"), "finalize_ack") == NULL; }

static int end(int status) {
    fprintf(out, "cmd=abort exitcode=%d\n", status);
    fflush(out);
    return 0;
}

#ifdef ONE
int PMI_Init(int *spawned) { *spawned = 0; return begin(); }
int PMI_Finalize(void) { return leave(); }
int PMI_Abort(int status, const char *why) { (void) why; return end(status); }
int PMI_Get_rank(int *rank) { *rank = number("PALS_RANKID"); return 0; }
int PMI_Get_size(int *size) { *size = number("PRIVATE_SIZE"); return 0; }
int PMI_KVS_Get_my_name(char *name, int length) { snprintf(name, length, "%s", space); return 0; }
int PMI_KVS_Get_value_length_max(int *length) { *length = 1024; return 0; }
int PMI_KVS_Put(const char *name, const char *key, const char *value) { return strcmp(name, space) || put(key, value); }
int PMI_KVS_Commit(const char *name) { return strcmp(name, space); }
int PMI_Barrier(void) { return fence(); }
int PMI_KVS_Get(const char *name, const char *key, char *value, int length) {
    return strcmp(name, space) || get(key, value, length);
}
#else
int PMI2_Init(int *spawned, int *size, int *rank, int *app) {
    *spawned = *app = 0;
    *rank = number("PALS_RANKID");
    *size = number("PRIVATE_SIZE");
    return begin();
}
int PMI2_Finalize(void) { return leave(); }
int PMI2_Abort(int all, const char *why) { (void) all; (void) why; return end(1); }
int PMI2_Job_GetId(char *name, int length) { snprintf(name, length, "%s", space); return 0; }
int PMI2_KVS_Put(const char *key, const char *value) { return put(key, value); }
int PMI2_KVS_Fence(void) { return fence(); }
int PMI2_KVS_Get(const char *job, int source, const char *key, char *value, int length, int *written) {
    (void) source;
    int failed = strcmp(job, space) || get(key, value, length);
    *written = failed ? 0 : (int) strlen(value);
    return failed;
}
int PMI2_Info_GetJobAttr(const char *name, char *value, int length, int *found) {
    *found = get(name, value, length) == 0;
    return 0;
}
#endif
