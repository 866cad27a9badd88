/* A profiler plugin that writes down every call it gets, for ncclsim's tests.
 *
 * SIM_TRACER_FILE    where to; "%r" is the rank of the first communicator, 0
 *                    where the interface does not tell
 * SIM_TRACER_MASK    the mask it asks for (0x7fff; v7: 0xffff)
 * SIM_TRACER_MASK2   the mask from the second communicator on
 * SIM_TRACER_MASK3   the mask from the third one on
 * SIM_TRACER_DROP    types that it stops asking for at its 20th event
 * SIM_TRACER_NULL    types of events that get no handle (0); their lines have
 *                    h=0
 * SIM_TRACER_FAIL    set: init() fails
 * SIM_TRACER_CLOCK   set: each start and record ends with CLOCK_MONOTONIC, t=NS
 * One line a call, each as the thread makes it (u: the first one, h: CUDA's, p:
 * others):
 *   u init c=1 v6 world hash=1f3 rank=0/4 nodes=2
 *   u start Coll h=7 p=3 c=1 AllReduce seq=0 count=1024 ch=2
 *   p record KernelChStop h=9 gpu=1000000012345
 *   u stop h=7
 *   u finalize c=1
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plugins/nccl_recorder/nccl_profiler.h"

/* SIM_TRACER_ONLY, a macro: the only interface that the library has. */
#ifndef SIM_TRACER_ONLY
#define SIM_TRACER_ONLY 0
#endif
#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *out;
static uintptr_t n_comms;
static uintptr_t n_handles;
static int n_starts;
static int *nccl_mask; /* NCCL's own, which stays where init() saw it */

static const char *const type_names[] = {
    "Group",     "Coll",      "P2p",      "ProxyOp",
    "ProxyStep", "ProxyCtrl", "KernelCh", "NetPlugin",
    "GroupApi",  "CollApi",   "P2pApi",   "KernelLaunch",
    "CeColl",    "CeSync",    "CeBatch",  "KernelPhase"};

static const char *const state_names[] = {"OpSendPosted",
                                          "OpSendRemFifoWait",
                                          "OpSendTransmitted",
                                          "OpSendDone",
                                          "OpRecvPosted",
                                          "OpRecvReceived",
                                          "OpRecvTransmitted",
                                          "OpRecvDone",
                                          "SendGPUWait",
                                          "SendWait",
                                          "RecvWait",
                                          "RecvFlushWait",
                                          "RecvGPUWait",
                                          "Idle",
                                          "Active",
                                          "Sleep",
                                          "Wakeup",
                                          "Append",
                                          "AppendEnd",
                                          "OpInProgress",
                                          "SendPeerWait",
                                          "NetPluginUpdate",
                                          "KernelChStop",
                                          "StartApiStop",
                                          "EndApiStart"};

static const char *const func_names[] = {
    "Broadcast", "Reduce",   "AllGather", "ReduceScatter",
    "AllReduce", "SendRecv", "Send",      "Recv"};

static char who(void)
{
    char name[16] = "";

    if (prctl(PR_GET_NAME, name) == 0 && strcmp(name, "cuda-host") == 0)
        return 'h';
    return syscall(SYS_gettid) == getpid() ? 'u' : 'p';
}

static void open_file(int rank)
{
    const char *path = getenv("SIM_TRACER_FILE");
    const char *mark = path ? strstr(path, "%r") : NULL;
    char name[4096];

    if (out || !path)
        return;
    if (mark)
        snprintf(name, sizeof(name), "%.*s%d%s", (int) (mark - path), path,
                 rank, mark + 2);
    else
        snprintf(name, sizeof(name), "%s", path);
    out = fopen(name, "ae");
    if (out)
        setvbuf(out, NULL, _IOLBF, 1 << 16);
}

static int mask_of(uintptr_t comm, int version)
{
    static const char *const names[] = {"SIM_TRACER_MASK", "SIM_TRACER_MASK2",
                                        "SIM_TRACER_MASK3"};
    const char *text = NULL;
    uintptr_t i;

    for (i = 0; i < 3 && i < comm; i++) {
        const char *value = getenv(names[i]);

        text = value ? value : text;
    }
    return text ? (int) strtol(text, NULL, 0) : version < 7 ? 0x7fff : 0xffff;
}

static int init(void **context, int *mask, int version, const char *name,
                uint64_t hash, int rank, int n_ranks, int n_nodes)
{
    uintptr_t comm;

    if (getenv("SIM_TRACER_FAIL"))
        return JP_NCCL_SYSTEM_ERROR;
    pthread_mutex_lock(&lock);
    open_file(rank);
    comm = ++n_comms;
    *context = (void *) comm;
    *mask = mask_of(comm, version);
    nccl_mask = mask;
    if (out)
        fprintf(out,
                "%c init c=%" PRIuPTR " v%d %s hash=%" PRIx64
                " rank=%d/%d nodes=%d\n",
                who(), comm, version, name ? name : "-", hash, rank, n_ranks,
                n_nodes);
    pthread_mutex_unlock(&lock);
    return 0;
}

/* The end of a line. */
static const char *when(char text[32])
{
    struct timespec ts;

    text[0] = '\0';
    if (!getenv("SIM_TRACER_CLOCK"))
        return text;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    snprintf(text, 32, " t=%lld",
             (long long) ts.tv_sec * 1000000000 + ts.tv_nsec);
    return text;
}

static void drop_types(void)
{
    const char *text = getenv("SIM_TRACER_DROP");

    if (text && ++n_starts == 20)
        __atomic_fetch_and(nccl_mask, ~(int) strtol(text, NULL, 0),
                           __ATOMIC_RELAXED);
}

/* Whether events of the type get no handle. */
static int is_null(uint64_t type)
{
    const char *text = getenv("SIM_TRACER_NULL");

    return text && (strtoull(text, NULL, 0) & type) != 0;
}

static int finalize(void *context)
{
    pthread_mutex_lock(&lock);
    if (out)
        fprintf(out, "%c finalize c=%" PRIuPTR "\n", who(),
                (uintptr_t) context);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int stop(void *handle)
{
    pthread_mutex_lock(&lock);
    if (out)
        fprintf(out, "%c stop h=%" PRIuPTR "\n", who(), (uintptr_t) handle);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int start(void *context, void **handle, uint64_t type,
                 const void *parent, const char *detail)
{
    int bit = __builtin_ctzll(type | 1ULL << 63);
    char t[32];

    pthread_mutex_lock(&lock);
    drop_types();
    *handle = is_null(type) ? NULL : (void *) ++n_handles;
    if (out)
        fprintf(out,
                "%c start %s h=%" PRIuPTR " p=%" PRIuPTR " c=%" PRIuPTR
                "%s%s\n",
                who(), bit < 16 ? type_names[bit] : "?", (uintptr_t) *handle,
                (uintptr_t) parent, (uintptr_t) context, detail, when(t));
    pthread_mutex_unlock(&lock);
    return 0;
}

static int record(void *handle, int state, const char *detail)
{
    char t[32];

    pthread_mutex_lock(&lock);
    if (out)
        fprintf(out, "%c record %s h=%" PRIuPTR "%s%s\n", who(),
                state == JP_NCCL_KERNEL_PHASE_STOP ? "KernelPhaseStop"
                : state >= 0 && state < 25         ? state_names[state]
                                                   : "?",
                (uintptr_t) handle, detail, when(t));
    pthread_mutex_unlock(&lock);
    return 0;
}

/* What a Coll, P2p, ProxyOp or KernelCh event says, as text. */
static void put_coll(char *s, size_t n, const char *func, uint64_t seq,
                     size_t count, int channels)
{
    snprintf(s, n, " %s seq=%" PRIu64 " count=%zu ch=%d", func, seq, count,
             channels);
}

static void put_p2p(char *s, size_t n, const char *func, size_t count, int peer)
{
    snprintf(s, n, " %s peer=%d count=%zu", func, peer, count);
}

/* v1 to v3: whose operation it is. */
static void put_comm(char *s, size_t n, const char *name, uint64_t hash,
                     const char *datatype)
{
    size_t used = strlen(s);

    snprintf(s + used, n - used, " of=%s hash=%" PRIx64 " %s",
             name ? name : "-", hash, datatype ? datatype : "-");
}

static void put_proxy(char *s, size_t n, const struct jp_nccl_proxy_op *op)
{
    snprintf(s, n, " %s ch=%d peer=%d%s", op->is_send ? "send" : "recv",
             op->channel, op->peer, op->pid == getpid() ? "" : " foreign");
}

/* ------------------------------------------------------------ v1 to v3 -- */

static int init_v1(void **context, int *mask)
{
    return init(context, mask, 1, NULL, 0, 0, 0, 0);
}

static int init_v2(void **context, int *mask)
{
    return init(context, mask, 2, NULL, 0, 0, 0, 0);
}

static int init_v3(void **context, int *mask)
{
    return init(context, mask, 3, NULL, 0, 0, 0, 0);
}

static int start_v1(void *context, void **handle, struct jp_nccl_descr_v1 *d)
{
    char s[256] = "", type[64];

    if (d->type == JP_NCCL_COLL) {
        put_coll(s, sizeof(s), func_names[d->coll.func % 8], d->coll.seq,
                 d->coll.count, d->coll.max_channels);
        snprintf(type, sizeof(type), "type=%d algo=%d proto=%d",
                 d->coll.datatype, d->coll.algo, d->coll.proto);
        put_comm(s, sizeof(s), d->coll.comm_name, d->coll.comm_hash, type);
    } else if (d->type == JP_NCCL_P2P) {
        put_p2p(s, sizeof(s), func_names[d->p2p.func % 8], d->p2p.count,
                d->p2p.peer);
        snprintf(type, sizeof(type), "type=%d", d->p2p.datatype);
        put_comm(s, sizeof(s), d->p2p.comm_name, d->p2p.comm_hash, type);
    } else if (d->type == JP_NCCL_PROXY_OP) {
        put_proxy(s, sizeof(s), &d->proxy_op);
    }
    return start(context, handle, d->type, d->parent, s);
}

static int start_v2(void *context, void **handle, struct jp_nccl_descr_v2 *d)
{
    char s[256] = "";

    if (d->type == JP_NCCL_COLL) {
        put_coll(s, sizeof(s), d->coll.func, d->coll.seq, d->coll.count,
                 d->coll.max_channels);
        put_comm(s, sizeof(s), d->coll.comm_name, d->coll.comm_hash,
                 d->coll.datatype);
    } else if (d->type == JP_NCCL_P2P) {
        put_p2p(s, sizeof(s), d->p2p.func, d->p2p.count, d->p2p.peer);
        put_comm(s, sizeof(s), d->p2p.comm_name, d->p2p.comm_hash,
                 d->p2p.datatype);
    } else if (d->type == JP_NCCL_PROXY_OP)
        put_proxy(s, sizeof(s), &d->proxy_op);
    return start(context, handle, d->type, d->parent, s);
}

static int start_v3(void *context, void **handle, struct jp_nccl_descr_v3 *d)
{
    char s[256] = "";

    if (d->type == JP_NCCL_COLL) {
        put_coll(s, sizeof(s), d->coll.func, d->coll.seq, d->coll.count,
                 d->coll.max_channels);
        put_comm(s, sizeof(s), d->coll.comm_name, d->coll.comm_hash,
                 d->coll.datatype);
    } else if (d->type == JP_NCCL_P2P) {
        put_p2p(s, sizeof(s), d->p2p.func, d->p2p.count, d->p2p.peer);
        put_comm(s, sizeof(s), d->p2p.comm_name, d->p2p.comm_hash,
                 d->p2p.datatype);
    } else if (d->type == JP_NCCL_PROXY_OP)
        put_proxy(s, sizeof(s), &d->proxy_op);
    else if (d->type == JP_NCCL_KERNEL_CH)
        snprintf(s, sizeof(s), " ch=%d", d->kernel_ch.channel);
    return start(context, handle, d->type, d->parent, s);
}

static int record_v1(void *handle, int state, union jp_nccl_args_v1 *args)
{
    char s[64] = "";

    if (state < JP_NCCL_STEP_SEND_GPU_WAIT)
        snprintf(s, sizeof(s), " steps=%d", args->proxy_op.steps);
    return record(handle, state, s);
}

/* ------------------------------------------------------------ v4 to v7 -- */

static int init_v4(void **context, int *mask, const char *name, uint64_t hash,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    (void) log;
    return init(context, mask, 4, name, hash, rank, n_ranks, n_nodes);
}

static int init_v5(void **context, uint64_t hash, int *mask, const char *name,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    (void) log;
    return init(context, mask, 5, name, hash, rank, n_ranks, n_nodes);
}

static int init_v6(void **context, uint64_t hash, int *mask, const char *name,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    (void) log;
    return init(context, mask, 6, name, hash, rank, n_ranks, n_nodes);
}

static int start_v4(void *context, void **handle, struct jp_nccl_descr_v4 *d)
{
    char s[128] = "";

    if (d->type == JP_NCCL_COLL)
        put_coll(s, sizeof(s), d->coll.func, d->coll.seq, d->coll.count,
                 d->coll.n_channels);
    else if (d->type == JP_NCCL_P2P)
        put_p2p(s, sizeof(s), d->p2p.func, d->p2p.count, d->p2p.peer);
    else if (d->type == JP_NCCL_PROXY_OP)
        put_proxy(s, sizeof(s), &d->proxy_op);
    else if (d->type == JP_NCCL_KERNEL_CH)
        snprintf(s, sizeof(s), " ch=%d gpu=%" PRIu64, d->kernel_ch.channel,
                 d->kernel_ch.gpu_ns);
    return start(context, handle, d->type, d->parent, s);
}

static int start_v6(void *context, void **handle, struct jp_nccl_descr_v6 *d)
{
    char s[128] = "";

    if (d->type == JP_NCCL_COLL)
        put_coll(s, sizeof(s), d->coll.func, d->coll.seq, d->coll.count,
                 d->coll.n_channels);
    else if (d->type == JP_NCCL_P2P)
        put_p2p(s, sizeof(s), d->p2p.func, d->p2p.count, d->p2p.peer);
    else if (d->type == JP_NCCL_PROXY_OP)
        put_proxy(s, sizeof(s), &d->proxy_op);
    else if (d->type == JP_NCCL_KERNEL_CH)
        snprintf(s, sizeof(s), " ch=%d gpu=%" PRIu64, d->kernel_ch.channel,
                 d->kernel_ch.gpu_ns);
    else if (d->type == JP_NCCL_GROUP_API)
        snprintf(s, sizeof(s), " depth=%d%s", d->group_api.depth,
                 d->group_api.graph_captured ? " captured" : "");
    else if (d->type == JP_NCCL_COLL_API)
        snprintf(s, sizeof(s), " %s%s", d->coll_api.func,
                 d->coll_api.graph_captured ? " captured" : "");
    else if (d->type == JP_NCCL_P2P_API)
        snprintf(s, sizeof(s), " %s", d->p2p_api.func);
    return start(context, handle, d->type, d->parent, s);
}

static int init_v7(void **context, uint64_t hash, int *mask, const char *name,
                   int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    (void) log;
    return init(context, mask, 7, name, hash, rank, n_ranks, n_nodes);
}

static int start_v7(void *context, void **handle, struct jp_nccl_descr_v7 *d)
{
    char s[256] = "";

    if (d->type == JP_NCCL_COLL) {
        put_coll(s, sizeof(s), d->coll.func, d->coll.seq, d->coll.count,
                 d->coll.n_channels);
        snprintf(s + strlen(s), 64, " tag=%" PRIu64 "%s", d->coll.tag,
                 d->coll.symmetric ? " symmetric" : "");
    } else if (d->type == JP_NCCL_P2P) {
        put_p2p(s, sizeof(s), d->p2p.func, d->p2p.count, d->p2p.peer);
        snprintf(s + strlen(s), 64, " tag=%" PRIu64, d->p2p.tag);
    } else if (d->type == JP_NCCL_KERNEL_PHASE) {
        snprintf(s, sizeof(s), " ch=%d %s gpu=%" PRIu64,
                 d->kernel_phase.channel, d->kernel_phase.name,
                 d->kernel_phase.gpu_ns);
    } else {
        return start_v6(context, handle, (struct jp_nccl_descr_v6 *) d);
    }
    return start(context, handle, d->type, d->parent, s);
}

static int start_v5(void *context, void **handle, struct jp_nccl_descr_v5 *d)
{
    return start_v6(context, handle, (struct jp_nccl_descr_v6 *) d);
}

static int record_v4(void *handle, int state, union jp_nccl_args_v4 *args)
{
    char s[64] = "";

    if (state == JP_NCCL_KERNEL_CH_STOP || state == JP_NCCL_KERNEL_PHASE_STOP)
        snprintf(s, sizeof(s), " gpu=%" PRIu64, args->kernel_ch.gpu_ns);
    return record(handle, state, s);
}

extern struct jp_nccl_plugin_v1 ncclProfiler_v1;
extern struct jp_nccl_plugin_v2 ncclProfiler_v2;
extern struct jp_nccl_plugin_v3 ncclProfiler_v3;
extern struct jp_nccl_plugin_v4 ncclProfiler_v4;
extern struct jp_nccl_plugin_v5 ncclProfiler_v5;
extern struct jp_nccl_plugin_v6 ncclProfiler_v6;
extern struct jp_nccl_plugin_v7 ncclProfiler_v7;
#if SIM_TRACER_ONLY && SIM_TRACER_ONLY != 1
HIDDEN
#else
EXPORT
#endif
struct jp_nccl_plugin_v1 ncclProfiler_v1 = {"tracer", init_v1,   start_v1,
                                            stop,     record_v1, finalize};
#if SIM_TRACER_ONLY && SIM_TRACER_ONLY != 2
HIDDEN
#else
EXPORT
#endif
struct jp_nccl_plugin_v2 ncclProfiler_v2 = {"tracer", init_v2,   start_v2,
                                            stop,     record_v1, finalize};
#if SIM_TRACER_ONLY && SIM_TRACER_ONLY != 3
HIDDEN
#else
EXPORT
#endif
struct jp_nccl_plugin_v3 ncclProfiler_v3 = {"tracer", init_v3,   start_v3,
                                            stop,     record_v1, finalize};
#if SIM_TRACER_ONLY && SIM_TRACER_ONLY != 4
HIDDEN
#else
EXPORT
#endif
struct jp_nccl_plugin_v4 ncclProfiler_v4 = {"tracer", init_v4,   start_v4,
                                            stop,     record_v4, finalize};
#if SIM_TRACER_ONLY && SIM_TRACER_ONLY != 5
HIDDEN
#else
EXPORT
#endif
struct jp_nccl_plugin_v5 ncclProfiler_v5 = {"tracer", init_v5,   start_v5,
                                            stop,     record_v4, finalize};
#if SIM_TRACER_ONLY && SIM_TRACER_ONLY != 6
HIDDEN
#else
EXPORT
#endif
struct jp_nccl_plugin_v6 ncclProfiler_v6 = {"tracer", init_v6,   start_v6,
                                            stop,     record_v4, finalize};
#if SIM_TRACER_ONLY && SIM_TRACER_ONLY != 7
HIDDEN
#else
EXPORT
#endif
struct jp_nccl_plugin_v7 ncclProfiler_v7 = {"tracer", init_v7,   start_v7,
                                            stop,     record_v4, finalize};
