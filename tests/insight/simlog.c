/* simlog.c - write a simulated job as NCCL Inspector's logs. */
#include "tests/insight/simlog.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DUMP_US UINT64_C(100000)
#define LINE_BYTES 960
#define PID_0 4000

uint64_t simlog_apart_us;
struct simlog_clock simlog_clock;

int64_t simlog_shown_ns(uint32_t node, int64_t ns)
{
    const struct simlog_clock *c = &simlog_clock;

    return node != c->node ? ns
                           : ns + llround(c->ahead_ns + c->drift * (double) ns);
}

struct text {
    char *at;
    size_t len, size;
    uint64_t written_us; /* when the last part of it was */
    size_t part;         /* where that begins */
};

struct logs {
    const struct simjob_shape *shape;
    struct text *of_rank;
};

void simlog_host(uint32_t node, char buf[16])
{
    snprintf(buf, 16, "node%03u", node);
}

int64_t simlog_pid(uint32_t rank)
{
    return PID_0 + (int64_t) rank;
}

void simlog_id(uint64_t id, char buf[20])
{
    snprintf(buf, 20, "0x%" PRIx64, id);
}

/* Room for one more line. */
static char *room(struct text *t)
{
    if (t->size - t->len < LINE_BYTES) {
        t->size = 2 * t->size + 4 * LINE_BYTES;
        t->at = realloc(t->at, t->size);
        if (!t->at)
            abort();
    }
    return t->at + t->len;
}

static void put_text(char **p, const char *text)
{
    size_t n = strlen(text);

    memcpy(*p, text, n);
    *p += n;
}

static void put_number(char **p, uint64_t v)
{
    char digits[20];
    int n = 0;

    do
        digits[n++] = (char) ('0' + v % 10);
    while (v /= 10);
    while (n)
        *(*p)++ = digits[--n];
}

static uint64_t micro_of(double gbs)
{
    return (uint64_t) (gbs * 1e6 + 0.5);
}

/* GB/s with 6 decimals. */
static void put_gbs(char **p, double gbs)
{
    uint64_t micro = micro_of(gbs);
    char frac[7];

    put_number(p, micro / 1000000);
    micro %= 1000000;
    for (int i = 5; i >= 0; i--, micro /= 10)
        frac[i] = (char) ('0' + micro % 10);
    frac[6] = '\0';
    put_text(p, ".");
    put_text(p, frac);
}

uint64_t simlog_written_us(const struct simjob_record *r)
{
    return ((uint64_t) r->end_ns / 1000 / DUMP_US + 1) * DUMP_US;
}

/* Returns a time since the job began as the node's clock shows it, since 1970.
 */
static uint64_t shown_us(uint32_t node, int64_t ns)
{
    return SIMLOG_EPOCH_US + (uint64_t) (simlog_shown_ns(node, ns) / 1000);
}

uint64_t simlog_dump_us(const struct simjob_record *r, uint32_t node)
{
    return shown_us(node, (int64_t) simlog_written_us(r) * 1000) -
           (node % 2 ? simlog_apart_us : 0);
}

/* Formats the bandwidth of the algorithm and of the bus, in GB/s. */
static double algbw(const struct simjob_record *r)
{
    bool all = !strcmp(r->func, "AllReduce");
    double bytes = (double) r->bytes * (r->p2p || all ? 1 : r->comm->n);

    return r->exec_us ? bytes / ((double) r->exec_us * 1e3) : 0;
}

static double busbw(const struct simjob_record *r)
{
    double n = r->comm->n;

    return algbw(r) *
           (r->p2p ? 1 : (strcmp(r->func, "AllReduce") ? 1 : 2) * (n - 1) / n);
}

uint64_t simlog_busbw_micro(const struct simjob_record *r)
{
    return micro_of(busbw(r));
}

static void put_header(char **p, const struct simjob_record *r, uint32_t node)
{
    char id[20], host[16];

    simlog_id(r->comm->id, id);
    simlog_host(node, host);
    put_text(p, "{\"header\":{\"id\":\"");
    put_text(p, id);
    put_text(p, "\",\"comm_name\":\"");
    put_text(p, r->comm->name);
    put_text(p, "\",\"rank\":");
    put_number(p, r->comm_rank);
    put_text(p, ",\"n_ranks\":");
    put_number(p, r->comm->n);
    put_text(p, ",\"nnodes\":");
    put_number(p, r->comm->n_nodes);
    put_text(p, "},\"metadata\":{\"inspector_output_format_version\":\"v4.0\","
                "\"git_rev\":\"unknown\","
                "\"rec_mechanism\":\"nccl_profiler_interface\","
                "\"dump_timestamp_us\":");
    put_number(p, simlog_dump_us(r, node));
    put_text(p, ",\"hostname\":\"");
    put_text(p, host);
    put_text(p, "\",\"pid\":");
    put_number(p, (uint64_t) simlog_pid(r->rank));
}

/* Adds the time stamps of a verbose record, for one channel. */
static void put_stamps(char **p, const struct simjob_record *r, uint32_t node)
{
    uint64_t start = shown_us(node, r->start_ns);
    uint64_t end = shown_us(node, r->end_ns);

    put_text(p, r->p2p ? ",\"event_trace_ts\":{\"p2p_start_ts\":"
                       : ",\"event_trace_ts\":{\"coll_start_ts\":");
    put_number(p, start);
    put_text(p, r->p2p ? ",\"p2p_stop_ts\":" : ",\"coll_stop_ts\":");
    put_number(p, end);
    put_text(p, ",\"kernel_events\":[{\"channel_id\":0,"
                "\"kernel_start_ts\":");
    put_number(p, start);
    put_text(p, ",\"kernel_stop_ts\":");
    put_number(p, end);
    put_text(p, ",\"kernel_record_ts\":");
    put_number(p, end);
    put_text(p, "}]}");
}

/* messages: verbose logs have times of these, too. */
static void put_perf(char **p, const struct simjob_record *r, uint32_t node,
                     bool messages)
{
    const char *k = r->p2p ? "p2p" : "coll";

#define KEY(name) put_text(p, ",\""), put_text(p, k), put_text(p, name "\":")
    put_text(p, "},\"");
    put_text(p, k);
    put_text(p, "_perf\":{\"");
    put_text(p, k);
    put_text(p, "\":\"");
    put_text(p, r->func);
    put_text(p, "\"");
    KEY("_sn");
    put_number(p, r->sn);
    if (r->p2p) {
        KEY("_peer");
        put_number(p, r->peer);
    }
    KEY("_msg_size_bytes");
    put_number(p, r->bytes);
    KEY("_exec_time_us");
    put_number(p, r->exec_us);
    KEY("_timing_source");
    put_text(p, "\"kernel_gpu\"");
    KEY("_algobw_gbs");
    put_gbs(p, algbw(r));
    KEY("_busbw_gbs");
    put_gbs(p, busbw(r));
    if (simlog_clock.verbose && (messages || !r->p2p))
        put_stamps(p, r, node);
    put_text(p, "}}\n");
#undef KEY
}

static void sink(void *arg, const struct simjob_record *record)
{
    struct logs *logs = arg;
    struct text *t = &logs->of_rank[record->rank];
    uint64_t at = simlog_written_us(record);
    char *p;

    if (record->pending) /* ended operations only */
        return;
    p = room(t);
    if (at > t->written_us) {
        t->written_us = at;
        t->part = t->len;
    }

    put_header(&p, record, record->rank / logs->shape->per_node);
    put_perf(&p, record, record->rank / logs->shape->per_node,
             logs->shape->real.on);
    t->len = (size_t) (p - t->at);
}

void simlog_path(const struct simjob_shape *shape, const char *dir,
                 uint32_t rank, char *buf, size_t size)
{
    char host[16];

    simlog_host(rank / shape->per_node, host);
    snprintf(buf, size, "%s/%s-pid%" PRId64 ".log", dir, host,
             simlog_pid(rank));
}

static int save(const char *path, const struct text *t)
{
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(t->at, 1, t->len, f) == t->len;

    return f && fclose(f) == 0 && ok ? 0 : -1;
}

bool simlog_is_lost(const struct simjob_truth *truth, uint32_t rank,
                    uint64_t written_us)
{
    return truth->lost_ns > 0 &&
           (truth->fault == SIMJOB_KILLED || rank == truth->ranks[0]) &&
           (double) written_us * 1000 > truth->lost_ns;
}

int simlog_write(const struct simjob_shape *shape, enum simjob_fault fault,
                 double effect, uint64_t seed, const char *dir,
                 struct simjob_truth *truth)
{
    uint32_t n = simjob_ranks(shape);
    struct logs logs = {shape, calloc(n, sizeof(*logs.of_rank))};
    int rc = 0;

    if (!logs.of_rank)
        abort();
    simjob_run(shape, fault, effect, seed, sink, &logs, truth);
    for (uint32_t r = 0; r < n; r++) {
        char path[4096];

        if (simlog_is_lost(truth, r, logs.of_rank[r].written_us))
            logs.of_rank[r].len = logs.of_rank[r].part;
        simlog_path(shape, dir, r, path, sizeof(path));
        if (rc == 0 && logs.of_rank[r].len)
            rc = save(path, &logs.of_rank[r]);
        free(logs.of_rank[r].at);
    }
    free(logs.of_rank);
    return rc;
}

void simlog_remove(const struct simjob_shape *shape, const char *dir)
{
    for (uint32_t r = 0; r < simjob_ranks(shape); r++) {
        char path[4096];

        simlog_path(shape, dir, r, path, sizeof(path));
        unlink(path);
    }
}
