/* The bare calls of UCX, over the transports of BESIDE_TLS and the devices of UCX_NET_DEVICES. */
#include "beside.h"

#include <ucp/api/ucp.h>

static ucp_worker_h worker;
static ucp_ep_h endpoint;
static ucp_rkey_h key;
static uint64_t remote;
static char local[LONG];

static void check(const char *what, ucs_status_t status)
{
    if (status != UCS_OK)
        fail(what, status);
}

static void wait(const char *what, void *request)
{
    if (UCS_PTR_IS_ERR(request))
        fail(what, UCS_PTR_STATUS(request));
    if (!request)
        return;
    ucs_status_t status;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
        ucp_worker_progress(worker);
    check(what, status);
    ucp_request_free(request);
}

/* An address or a key, whose length comes first. */
struct packed {
    uint64_t len, memory;
    char bytes[MOST - 16];
};

static void swap(struct packed *packed, const void *bytes, size_t len, const void *memory)
{
    if (len > sizeof packed->bytes)
        fail("an address", (long)len);
    packed->len = len;
    packed->memory = (uintptr_t)memory;
    memcpy(packed->bytes, bytes, len);
    exchange(packed, packed, sizeof *packed);
}

static void open_library(void *memory, size_t len)
{
    ucp_config_t *config;
    check("the configuration", ucp_config_read(NULL, NULL, &config));
    check("its transports", ucp_config_modify(config, "TLS", getenv("BESIDE_TLS") ? getenv("BESIDE_TLS") : "rc"));
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64};
    ucp_context_h context;
    check("the context", ucp_init(&params, config, &context));
    ucp_config_release(config);
    ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE, .thread_mode = UCS_THREAD_MODE_SINGLE};
    check("the worker", ucp_worker_create(context, &single, &worker));
    ucp_mem_map_params_t mapped = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH, .address = memory, .length = len};
    ucp_mem_h handle;
    check("the memory", ucp_mem_map(context, &mapped, &handle));
    static struct packed packed;
    ucp_address_t *address;
    size_t size;
    check("the address", ucp_worker_get_address(worker, &address, &size));
    swap(&packed, address, size, memory);
    ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = (ucp_address_t *)packed.bytes};
    check("the endpoint", ucp_ep_create(worker, &to, &endpoint));
    void *bytes;
    check("the key", ucp_rkey_pack(context, handle, &bytes, &size));
    swap(&packed, bytes, size, memory);
    check("the key", ucp_ep_rkey_unpack(endpoint, packed.bytes, &key));
    remote = packed.memory;
}

static const ucp_request_param_t plain;

static void flush(void) { wait("a flush", ucp_ep_flush_nbx(endpoint, &plain)); }

static void issue(size_t len)
{
    void *request = ucp_put_nbx(endpoint, local, len, remote, key, &plain);
    if (UCS_PTR_IS_ERR(request))
        fail("a put", UCS_PTR_STATUS(request));
    if (request)
        ucp_request_free(request);
}

static void put(size_t len) { issue(len), flush(); }

static void puts_many(int count, size_t len)
{
    for (int at = 0; at < count; at++)
        issue(len);
    flush();
}

static void get(size_t len) { wait("a get", ucp_get_nbx(endpoint, local, len, remote, key, &plain)); }

static void fetch_add(void)
{
    uint64_t one = 1, before;
    ucp_request_param_t fetching = {.op_attr_mask = UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_DATATYPE,
                                    .reply_buffer = &before,
                                    .datatype = ucp_dt_make_contig(sizeof one)};
    wait("an atomic", ucp_atomic_op_nbx(endpoint, UCP_ATOMIC_OP_ADD, &one, 1, remote + LONG, key, &fetching));
}

static void progress(void) { ucp_worker_progress(worker); }

const struct bare bare = {"UCX", open_library, put, get, fetch_add, puts_many, progress};
