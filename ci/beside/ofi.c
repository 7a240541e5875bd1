/* The bare calls of libfabric, of the provider BESIDE_PROVIDER on the domain BESIDE_DOMAIN. A put is complete when its effect can be seen,
 * as a quiet promises: the provider says so (FI_DELIVERY_COMPLETE), or a get behind it makes sure. */
#include "beside.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

static struct fid_ep *endpoint;
static struct fid_cq *queue;
static fi_addr_t peer;
static uint64_t remote, key;
static int delivers;
static char local[LONG];
static uint64_t number, before;
static void *desc, *number_desc, *before_desc;
static struct fi_context contexts[MANY];

static void check(const char *what, long code)
{
    if (code < 0)
        fail(what, code);
}

static void progress(void)
{
    struct fi_cq_entry entry;
    (void)fi_cq_read(queue, &entry, 0);
}

static void wait(int count)
{
    while (count > 0) {
        struct fi_cq_entry entries[MANY];
        ssize_t found = fi_cq_read(queue, entries, MANY);
        if (found != -FI_EAGAIN)
            check("a completion", found);
        count -= found > 0 ? (int)found : 0;
    }
}

/* An endpoint without room takes an operation later. */
#define ISSUE(what, call)                                                                                              \
    do {                                                                                                               \
        long issued;                                                                                                   \
        while ((issued = (call)) == -FI_EAGAIN)                                                                        \
            progress();                                                                                                \
        check(what, issued);                                                                                           \
    } while (0)

static struct fi_info *find(uint64_t flags)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;
    const char *provider = getenv("BESIDE_PROVIDER"), *domain = getenv("BESIDE_DOMAIN");
    hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->name = domain ? strdup(domain) : NULL;
    hints->fabric_attr->prov_name = strdup(provider ? provider : "verbs;ofi_rxm");
    hints->tx_attr->op_flags = flags;
    int code = fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &info);
    fi_freeinfo(hints);
    return code ? NULL : info;
}

struct names {
    uint64_t memory, key;
    char name[256];
};

static void *registered(struct fid_domain *domain, void *memory, size_t len, uint64_t access, uint64_t wish, uint64_t *found)
{
    struct fid_mr *region;
    check("the memory", fi_mr_reg(domain, memory, len, access, 0, wish, 0, &region, NULL));
    if (found)
        *found = fi_mr_key(region);
    return fi_mr_desc(region);
}

static void open_library(void *memory, size_t len)
{
    struct fi_info *info = find(FI_DELIVERY_COMPLETE);
    delivers = info != NULL;
    if (!info && !(info = find(0)))
        fail("the provider", -FI_ENODATA);
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    check("the fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    check("the domain", fi_domain(fabric, info, &domain, NULL));
    check("the endpoint", fi_endpoint(domain, info, &endpoint, NULL));
    struct fi_cq_attr completions = {.format = FI_CQ_FORMAT_CONTEXT, .size = 1024};
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    check("the queue", fi_cq_open(domain, &completions, &queue, NULL));
    check("the addresses", fi_av_open(domain, &table, &addresses, NULL));
    check("the queue", fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV));
    check("the addresses", fi_ep_bind(endpoint, &addresses->fid, 0));
    check("the endpoint", fi_enable(endpoint));
    struct names names = {.memory = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)memory : 0};
    registered(domain, memory, len, FI_REMOTE_READ | FI_REMOTE_WRITE, 1, &names.key);
    uint64_t ours = FI_READ | FI_WRITE | FI_SEND | FI_RECV;
    desc = registered(domain, local, sizeof local, ours, 2, NULL);
    number_desc = registered(domain, &number, sizeof number, ours, 3, NULL);
    before_desc = registered(domain, &before, sizeof before, ours, 4, NULL);
    size_t size = sizeof names.name;
    check("its name", fi_getname(&endpoint->fid, names.name, &size));
    exchange(&names, &names, sizeof names);
    if (fi_av_insert(addresses, names.name, 1, &peer, 0, NULL) != 1)
        fail("the other's address", 0);
    remote = names.memory;
    key = names.key;
    number = 1;
}

static void get(size_t len)
{
    ISSUE("a get", fi_read(endpoint, local, len, desc, peer, remote, key, &contexts[0]));
    wait(1);
}

static void issue(size_t len, int at)
{
    struct iovec from = {local, len};
    struct fi_rma_iov to = {remote, len, key};
    struct fi_msg_rma message = {&from, &desc, 1, peer, &to, 1, &contexts[at], 0};
    ISSUE("a put", fi_writemsg(endpoint, &message, FI_COMPLETION | (delivers ? FI_DELIVERY_COMPLETE : 0)));
}

static void puts_many(int count, size_t len)
{
    for (int at = 0; at < count; at++)
        issue(len, at);
    wait(count);
    if (!delivers)
        get(SHORT);
}

static void put(size_t len) { puts_many(1, len); }

static void fetch_add(void)
{
    ISSUE("an atomic", fi_fetch_atomic(endpoint, &number, 1, number_desc, &before, before_desc, peer, remote + LONG, key, FI_UINT64,
                                       FI_SUM, &contexts[0]));
    wait(1);
}

const struct bare bare = {"libfabric", open_library, put, get, fetch_add, puts_many, progress};
