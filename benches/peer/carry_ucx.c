/* Bare active messages of UCX, by rendezvous where UCX thinks that better. UCX_TLS and UCX_NET_DEVICES say over what. */
#define _GNU_SOURCE
#include "carry.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <ucp/api/ucp.h>

enum { ID = 1, ADDRESS = 4096 };

/* Where a process is, as it tells the others. */
struct whereabouts {
    atomic_int ready;
    size_t length;
    char address[ADDRESS];
};

static struct whereabouts *all;
static ucp_worker_h worker;
static ucp_ep_h endpoints[PROCESSES];
/* Bytes from each process that have come and that have been asked for. */
static size_t came[PROCESSES], taken[PROCESSES];

static void check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        errno = EIO;
        fail(what);
    }
}

static void on_data(void *request, ucs_status_t status, size_t length, void *from)
{
    check(status, "a message");
    came[(size_t)from] += length;
    ucp_request_free(request);
}

static ucs_status_t on_message(
    void *unused, const void *header, size_t header_length, void *data, size_t length, const ucp_am_recv_param_t *param)
{
    int from;
    (void)unused, (void)header_length;
    memcpy(&from, header, sizeof from);
    if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
        memcpy(dest, data, length);
        came[from] += length;
        return UCS_OK;
    }
    const ucp_request_param_t call = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = on_data, .user_data = (void *)(size_t)from};
    const ucs_status_ptr_t request = ucp_am_recv_data_nbx(worker, data, dest, length, &call);
    if (UCS_PTR_IS_ERR(request))
        check(UCS_PTR_STATUS(request), "a message");
    if (!request)
        came[from] += length;
    return request ? UCS_INPROGRESS : UCS_OK;
}

void before_fork(void)
{
    all = mmap(NULL, PROCESSES * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        fail("mmap");
}

void after_fork(void)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_AM};
    const ucp_worker_params_t alone = {.field_mask = 0};
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_FLAGS,
        .id = ID, .flags = UCP_AM_FLAG_WHOLE_MSG, .cb = on_message};
    ucp_context_h context;
    ucp_address_t *address;
    ucp_config_t *config;

    check(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
    check(ucp_init(&params, config, &context), "ucp_init");
    ucp_config_release(config);
    check(ucp_worker_create(context, &alone, &worker), "ucp_worker_create");
    check(ucp_worker_set_am_recv_handler(worker, &handler), "ucp_worker_set_am_recv_handler");
    check(ucp_worker_get_address(worker, &address, &all[me].length), "ucp_worker_get_address");
    if (all[me].length > ADDRESS) {
        errno = ENAMETOOLONG;
        fail("a worker's address");
    }
    memcpy(all[me].address, address, all[me].length);
    all[me].ready = 1;
    for (int other = 0; other < count; other++) {
        while (!all[other].ready)
            sched_yield();
        const ucp_ep_params_t to = {
            .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = (const void *)all[other].address};
        if (other != me)
            check(ucp_ep_create(worker, &to, &endpoints[other]), "ucp_ep_create");
    }
}

void exchange(int to, size_t out, int from, size_t in)
{
    const ucp_request_param_t plain = {.op_attr_mask = 0};
    ucs_status_ptr_t sent = NULL;
    if (to >= 0) {
        sent = ucp_am_send_nbx(endpoints[to], ID, &me, sizeof me, source, out, &plain);
        if (UCS_PTR_IS_ERR(sent))
            check(UCS_PTR_STATUS(sent), "ucp_am_send_nbx");
    }
    while ((sent && ucp_request_check_status(sent) == UCS_INPROGRESS) || (from >= 0 && came[from] - taken[from] < in))
        if (!ucp_worker_progress(worker) && shared)
            sched_yield();
    if (sent)
        ucp_request_free(sent);
    if (from >= 0)
        taken[from] += in;
}
