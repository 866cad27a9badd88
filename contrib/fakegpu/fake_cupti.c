/* fake_cupti.c - libcupti.so.13 of a machine without a GPU: one subscriber, and
 * the callbacks that it has enabled.
 *
 * Names, arguments and result numbers are those of CUPTI's reference manual.
 * cudacalls.c calls fakecupti_tell_all for each simulated call of CUDA.
 *
 * FAKECUPTI=taken   another client has subscribed
 *           broken  nothing works
 *           old     a release without the callback ids from 600 on
 * A GPU's clock runs 100 ppm faster than the host's monotonic one and is ahead
 * of it by an hour for each device.
 * FAKECUPTI=noclock it cannot be read */
#include "contrib/fakegpu/fake_cupti.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contrib/fakegpu/fakegpu.h"

enum {
    SUCCESS = 0,
    INVALID = 1,
    INVALID_CONTEXT = 3,
    NOT_INITIALIZED = 15,
    NOT_SUPPORTED = 27,
    TAKEN = 39
};
enum { DRIVER_API = 1, IDS = 1024, OLD = 600, VERSION = 24 };

/* CUpti_CallbackData. */
struct callback_data {
    int site;
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *correlation_data;
    uint32_t correlation;
};

typedef void callback(void *arg, int domain, uint32_t id, const void *data);

FAKEGPU_EXPORT int cuptiSubscribe(void **subscriber, callback *function,
                                  void *arg);
FAKEGPU_EXPORT int cuptiUnsubscribe(void *subscriber);
FAKEGPU_EXPORT int cuptiEnableCallback(uint32_t on, void *subscriber,
                                       int domain, uint32_t id);
FAKEGPU_EXPORT int cuptiGetVersion(uint32_t *version);
FAKEGPU_EXPORT int cuptiGetDeviceId(void *context, uint32_t *device);
FAKEGPU_EXPORT int cuptiDeviceGetTimestamp(void *context, uint64_t *gpu_ns);
FAKEGPU_EXPORT fakecupti_callback fakecupti_tell_all;

/* The only subscriber, and the callback ids that it has enabled. */
static callback *client;
static void *client_arg;
static unsigned char wanted[IDS];
static atomic_uint last_call;

/* Whether FAKECUPTI is this word. */
static int is(const char *word)
{
    const char *how = getenv("FAKECUPTI");

    return how && strcmp(how, word) == 0;
}

int cuptiSubscribe(void **subscriber, callback *function, void *arg)
{
    if (is("broken"))
        return NOT_INITIALIZED;
    if (client || is("taken"))
        /* CUPTI has one subscriber per process */
        return TAKEN;
    client = function;
    client_arg = arg;
    *subscriber = &client;
    return SUCCESS;
}

int cuptiUnsubscribe(void *subscriber)
{
    if (subscriber != &client)
        return INVALID;
    client = NULL;
    return SUCCESS;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id)
{
    if (subscriber != &client || domain != DRIVER_API || id >= IDS ||
        (is("old") && id >= OLD))
        return INVALID;
    wanted[id] = on != 0;
    return SUCCESS;
}

int cuptiGetVersion(uint32_t *version)
{
    *version = VERSION;
    return SUCCESS;
}

int cuptiGetDeviceId(void *context, uint32_t *device)
{
    *device = (uint32_t) (uintptr_t) context - 1;
    return SUCCESS;
}

int cuptiDeviceGetTimestamp(void *context, uint64_t *gpu_ns)
{
    struct timespec t;
    uint64_t host_ns;

    if (!context)
        return INVALID_CONTEXT;
    if (is("noclock"))
        return NOT_SUPPORTED;
    clock_gettime(CLOCK_MONOTONIC, &t);
    host_ns = (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
    *gpu_ns = host_ns + host_ns / 10000 +
              (uint64_t) (uintptr_t) context * 3600000000000;
    return SUCCESS;
}

void fakecupti_tell_all(struct fakecupti_call *call, int exit)
{
    const struct callback_data data = {
        .site = exit,
        .function = call->name,
        .params = call->params,
        .result = &call->result,
        .context = call->context,
        .correlation_data = &call->scratch,
        .correlation = exit ? 0 : atomic_fetch_add(&last_call, 1)};

    if (client && call->id < IDS && wanted[call->id])
        client(client_arg, DRIVER_API, call->id, &data);
}
