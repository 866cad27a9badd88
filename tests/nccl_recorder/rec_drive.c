/* rec_drive.c - calls a profiler plugin as fast as it can, and says how fast.
 *
 * Usage: rec_drive LIBRARY|null [--ops N] [--threads N] [--comms N]
 *                  [--channels N] [--rate OPS_A_SECOND] [--depth N]
 * [--no-finalize] N operations in all, AllReduces of `channels` channels, each
 * a launch of its own, over all threads, each with its own communicators,
 * `depth` of them in flight. Prints one line: ops=.. callbacks=.. ns=..
 * clock_ns=.. finalize_ms=.. rss_kb=.. ns: nanoseconds of CPU time a callback;
 * clock_ns: of one clock_gettime(); finalize_ms: the longest; rss_kb: how much
 * the process grew. "null" is a plugin that does nothing, for what the calls
 * themselves cost.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_shim.h"

enum { MAX_THREADS = 64, MAX_DEPTH = 256, MAX_COMMS = 5000 };

static struct jp_nccl_plugin_v6 *api;
static uint64_t n_ops = 100000, rate;
static int n_threads = 1, n_comms = 1, n_channels = 8, depth = 4;
static int finalize = 1;
static pthread_barrier_t barrier;

struct lane {
    pthread_t thread;
    int number;
    uint64_t ops;
    uint64_t ns;
    uint64_t finalize_ns;
    void *comms[MAX_COMMS];
    int n_comms;
};

/* ----------------------------------------------------------- null plugin -- */

static int null_init(void **context, uint64_t hash, int *mask, const char *name,
                     int n_nodes, int n_ranks, int rank, jp_nccl_log_fn *log)
{
    *context = api;
    return 0;
}

static int null_start(void *context, void **handle, struct jp_nccl_descr_v6 *d)
{
    *handle = d;
    return 0;
}

static int null_stop(void *handle)
{
    return 0;
}

static int null_record(void *handle, int state, union jp_nccl_args_v4 *args)
{
    return 0;
}

static struct jp_nccl_plugin_v6 null_plugin = {
    "null", null_init, null_start, null_stop, null_record, null_stop};

/* ------------------------------------------------------------- the calls -- */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t) ts.tv_sec * 1000000000U + (uint64_t) ts.tv_nsec;
}

static uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static void say_nothing(int level, unsigned long subsys, const char *file,
                        int line, const char *fmt, ...)
{
}

struct flight {
    void *op;
    void *kernels[JP_NCCL_MAX_CHANNELS];
};

static void begin(struct flight *f, void *comm, uint64_t seq)
{
    struct jp_nccl_descr_v6 g = {.type = JP_NCCL_GROUP};
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_COLL};
    struct jp_nccl_descr_v6 k = {.type = JP_NCCL_KERNEL_CH};
    void *group = NULL;
    int c;

    api->start(comm, &group, &g);
    d.coll.seq = seq;
    d.coll.func = "AllReduce";
    d.coll.count = 1024 << seq % 8;
    d.coll.datatype = "ncclBfloat16";
    d.coll.n_channels = (uint8_t) n_channels;
    d.coll.algo = "RING";
    d.coll.proto = "LL128";
    f->op = NULL;
    api->start(comm, &f->op, &d);
    if (f->op)
        api->stop(f->op);
    if (group)
        api->stop(group);
    k.parent = f->op;
    for (c = 0; c < n_channels; c++) {
        f->kernels[c] = NULL;
        k.kernel_ch.channel = (uint8_t) c;
        k.kernel_ch.gpu_ns = 1000000 * (seq + 1) + (uint64_t) c * 37;
        api->start(comm, &f->kernels[c], &k);
    }
}

static void end(struct flight *f, uint64_t seq)
{
    union jp_nccl_args_v4 args;
    int c;

    for (c = 0; c < n_channels; c++) {
        args.kernel_ch.gpu_ns = 1000000 * (seq + 1) + 20000 +
                                seq * 7919 % 10007 + (uint64_t) c * 13;
        if (!f->kernels[c])
            continue;
        api->record(f->kernels[c], JP_NCCL_KERNEL_CH_STOP, &args);
        api->stop(f->kernels[c]);
    }
}

static void pace(uint64_t began, uint64_t done)
{
    uint64_t until = began + done * 1000000000 / (rate / (uint64_t) n_threads);
    struct timespec ts = {(time_t) (until / 1000000000),
                          (long) (until % 1000000000)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static void make_comms(struct lane *lane)
{
    static int mask; /* static: NCCL's mask lives as long as the plugin */
    int i;

    lane->n_comms = n_comms / n_threads > 0 ? n_comms / n_threads : 1;
    for (i = 0; i < lane->n_comms; i++)
        api->init(&lane->comms[i], (uint64_t) (lane->number * 1000 + i + 1),
                  &mask, "drive", 1, 8, 0, say_nothing);
}

static void *run(void *data)
{
    static _Thread_local struct flight flights[MAX_DEPTH];
    struct lane *lane = data;
    uint64_t began, cpu, i;
    int c;

    make_comms(lane);
    pthread_barrier_wait(&barrier);
    began = now_ns();
    cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (i = 0; i < lane->ops + (uint64_t) depth; i++) {
        struct flight *f = &flights[i % (uint64_t) depth];

        if (i >= (uint64_t) depth)
            end(f, (i - (uint64_t) depth) / (uint64_t) lane->n_comms);
        if (i < lane->ops)
            begin(f, lane->comms[i % (uint64_t) lane->n_comms],
                  i / (uint64_t) lane->n_comms);
        if (rate && i % 16 == 0)
            pace(began, i);
    }
    lane->ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    for (c = 0; finalize && c < lane->n_comms; c++) {
        uint64_t from = now_ns();

        api->finalize(lane->comms[c]);
        if (now_ns() - from > lane->finalize_ns)
            lane->finalize_ns = now_ns() - from;
    }
    return NULL;
}

/* ----------------------------------------------------------------- frame -- */

static long rss_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fscanf(f, "%*d %ld", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static double clock_cost(void)
{
    uint64_t from = now_ns();
    int i;

    for (i = 0; i < 1000000; i++)
        now_ns();
    return (double) (now_ns() - from) / 1e6;
}

static struct jp_nccl_plugin_v6 *load(const char *path)
{
    static struct jp_nccl_plugin_v6 *(*const shims[])(void *table) = {
        NULL, sim_shim_v1, sim_shim_v2, sim_shim_v3, sim_shim_v4, sim_shim_v5};
    void *lib;
    int v;

    if (strcmp(path, "null") == 0)
        return &null_plugin;
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    for (v = 6; v >= 1; v--) {
        char symbol[32];
        void *table;

        snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", v);
        table = dlsym(lib, symbol);
        if (table)
            return v == 6 ? table : shims[v](table);
    }
    return NULL;
}

static int options(int argc, char **argv)
{
    static const struct {
        const char *name;
        int *value;
        int max;
    } rows[] = {{"--threads", &n_threads, MAX_THREADS},
                {"--comms", &n_comms, MAX_COMMS},
                {"--channels", &n_channels, JP_NCCL_MAX_CHANNELS},
                {"--depth", &depth, MAX_DEPTH}};
    int i;
    size_t k;

    for (i = 2; i < argc; i++) {
        uint64_t value = i + 1 < argc ? strtoull(argv[i + 1], NULL, 10) : 0;

        if (strcmp(argv[i], "--no-finalize") == 0) {
            finalize = 0;
            continue;
        }
        if (strcmp(argv[i], "--ops") == 0)
            n_ops = value;
        else if (strcmp(argv[i], "--rate") == 0)
            rate = value;
        for (k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
            if (strcmp(argv[i], rows[k].name) == 0)
                *rows[k].value = (int) value;
            if (*rows[k].value < 1 || *rows[k].value > rows[k].max)
                return -1;
        }
        i++;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct lane lanes[MAX_THREADS];
    uint64_t callbacks, ns = 0, longest = 0;
    long before = rss_kb();
    int i;

    if (argc < 2 || options(argc, argv) < 0)
        return 2;
    api = load(argv[1]);
    if (!api)
        return 1;
    pthread_barrier_init(&barrier, NULL, (unsigned) n_threads);
    for (i = 0; i < n_threads; i++) {
        lanes[i].number = i;
        lanes[i].ops = n_ops / (uint64_t) n_threads;
        pthread_create(&lanes[i].thread, NULL, run, &lanes[i]);
    }
    for (i = 0; i < n_threads; i++) {
        pthread_join(lanes[i].thread, NULL);
        ns += lanes[i].ns;
        if (lanes[i].finalize_ns > longest)
            longest = lanes[i].finalize_ns;
    }
    callbacks = lanes[0].ops * (uint64_t) n_threads *
                (uint64_t) (3 + 3 * n_channels);
    printf("ops=%" PRIu64 " callbacks=%" PRIu64 " ns=%.1f clock_ns=%.1f "
           "finalize_ms=%.2f rss_kb=%ld\n",
           lanes[0].ops * (uint64_t) n_threads, callbacks,
           (double) ns / (double) callbacks, clock_cost(),
           (double) longest / 1e6, rss_kb() - before);
    return 0;
}
