/* simfeed.c - hand a simulated job's records to the aggregation without text.
 */
#include "tests/insight/simfeed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/backend.h"
#include "tests/insight/simlog.h"

#define HEAD "simfeed\n"
#define BATCH 256
enum { COMMS = 8 }; /* of a rank, at most */

/* A communicator, as one of its ranks records it. */
struct seat {
    const struct simjob_comm *comm; /* while the job runs */
    char id[20];
    const char *name;
    uint32_t rank, n_ranks, nnodes;
};

struct line {
    const char *func;
    uint64_t sn, bytes, dump_us, busbw_micro;
    uint32_t exec_us, peer;
    uint8_t seat;
    bool p2p;
};

struct log {
    char host[16];
    struct seat seats[COMMS];
    uint32_t n_seats;
    struct line *lines;
    size_t n, room;
    uint64_t written_us; /* when the last part of them was */
    size_t part;         /* where that begins */
};

/* Buffers of logs are kept for the next job. */
static struct {
    const struct simjob_shape *shape;
    struct log *logs;
    uint32_t n, room;
} feed;

static uint8_t seat_of(struct log *log, const struct simjob_record *r)
{
    struct seat *seat;

    for (uint32_t i = 0; i < log->n_seats; i++)
        if (log->seats[i].comm == r->comm)
            return (uint8_t) i;
    if (log->n_seats == COMMS)
        abort();
    seat = &log->seats[log->n_seats];
    *seat = (struct seat){.comm = r->comm,
                          .name = r->comm->name,
                          .rank = r->comm_rank,
                          .n_ranks = r->comm->n,
                          .nnodes = r->comm->n_nodes};
    simlog_id(r->comm->id, seat->id);
    return (uint8_t) log->n_seats++;
}

static void sink(void *arg, const struct simjob_record *r)
{
    struct log *log = &feed.logs[r->rank];
    uint32_t node = r->rank / feed.shape->per_node;
    uint64_t at = simlog_written_us(r);

    if (r->pending) /* ended operations only */
        return;
    if (log->n == log->room) {
        log->room = log->room ? 2 * log->room : 1024;
        log->lines = reallocarray(log->lines, log->room, sizeof(*log->lines));
        if (!log->lines)
            abort();
    }
    if (at > log->written_us) {
        log->written_us = at;
        log->part = log->n;
    }
    log->lines[log->n++] = (struct line){.func = r->func,
                                         .sn = r->sn,
                                         .bytes = r->bytes,
                                         .dump_us = simlog_dump_us(r, node),
                                         .busbw_micro = simlog_busbw_micro(r),
                                         .exec_us = (uint32_t) r->exec_us,
                                         .peer = r->peer,
                                         .seat = seat_of(log, r),
                                         .p2p = r->p2p};
}

static void make_room(uint32_t n)
{
    if (n > feed.room) {
        feed.logs = reallocarray(feed.logs, n, sizeof(*feed.logs));
        if (!feed.logs)
            abort();
        memset(feed.logs + feed.room, 0, (n - feed.room) * sizeof(*feed.logs));
        feed.room = n;
    }
    feed.n = n;
}

static int save(const char *path)
{
    FILE *f = fopen(path, "w");
    bool ok = f && fputs(HEAD, f) >= 0;

    return f && fclose(f) == 0 && ok ? 0 : -1;
}

int simfeed_write(const struct simjob_shape *shape, enum simjob_fault fault,
                  double effect, uint64_t seed, const char *dir,
                  struct simjob_truth *truth)
{
    int rc = 0;

    if (simlog_clock.verbose)
        abort(); /* stamps are told by logs only */
    feed.shape = shape;
    make_room(simjob_ranks(shape));
    for (uint32_t r = 0; r < feed.n; r++) {
        struct log *log = &feed.logs[r];

        simlog_host(r / shape->per_node, log->host);
        log->n = log->n_seats = 0;
        log->written_us = log->part = 0;
    }
    simjob_run(shape, fault, effect, seed, sink, NULL, truth);
    for (uint32_t r = 0; rc == 0 && r < feed.n; r++) {
        struct log *log = &feed.logs[r];
        char path[4096];

        if (simlog_is_lost(truth, r, log->written_us))
            log->n = log->part;
        simlog_path(shape, dir, r, path, sizeof(path));
        if (log->n)
            rc = save(path);
    }
    return rc;
}

void simfeed_remove(const struct simjob_shape *shape, const char *dir)
{
    simlog_remove(shape, dir);
}

/* --- the reader ----------------------------------------------------------- */

static bool probe(const char *name, const void *head, size_t len)
{
    return len == strlen(HEAD) && !memcmp(head, HEAD, len);
}

static struct record_text text_of(const char *text)
{
    return (struct record_text){text, strlen(text)};
}

static struct record record_of(const struct log *log, uint32_t rank,
                               const struct line *line)
{
    const struct seat *seat = &log->seats[line->seat];

    return (struct record){.id = text_of(seat->id),
                           .name = text_of(seat->name),
                           .host = text_of(log->host),
                           .func = text_of(line->func),
                           .pid = simlog_pid(rank),
                           .dump_us = line->dump_us,
                           .sn = line->sn,
                           .bytes = line->bytes,
                           .exec_us = line->exec_us,
                           .busbw_micro = line->busbw_micro,
                           .rank = seat->rank,
                           .n_ranks = seat->n_ranks,
                           .nnodes = seat->nnodes,
                           .peer = line->peer,
                           .p2p = line->p2p,
                           .has_sn = true,
                           .exec_unknown = !line->exec_us};
}

/* Returns the rank that a file belongs to; UINT32_MAX: none. */
static uint32_t rank_of(const char *path)
{
    const char *pid = strrchr(path, '/');
    int64_t rank = (pid = strstr(pid ? pid : path, "-pid"))
                       ? strtoll(pid + 4, NULL, 10) - simlog_pid(0)
                       : -1;

    return rank >= 0 && rank < (int64_t) feed.n ? (uint32_t) rank : UINT32_MAX;
}

static int read_file(void *state, const struct reader_input *in,
                     const struct reader_sink *out, struct source_facts *facts)
{
    uint32_t rank = rank_of(in->path);
    struct record records[BATCH];
    const struct log *log;
    int rc = 0;

    if (rank == UINT32_MAX)
        abort();
    log = &feed.logs[rank];
    for (size_t i = 0; rc == 0 && i < log->n;) {
        size_t n = 0;

        for (; n < BATCH && i < log->n; i++)
            records[n++] = record_of(log, rank, &log->lines[i]);
        rc = out->take(out->arg, records, n);
    }
    facts->lines = log->n;
    facts->bytes = strlen(HEAD);
    return rc;
}

static const struct backend_reader reader = {.probe = probe, .read = read_file};

static const struct backend backend_simfeed = {
    .abi = BACKEND_ABI,
    .about = {.name = "simfeed",
              .title = "a simulation",
              .option = OPTION_NCCL},
    .reader = &reader,
};

/* --- the registry, in place of the generated one --- */

extern const struct backend backend_nccl_inspector, backend_nccl_recorder;

const struct backend *const backend_registry[] = {
    &backend_simfeed, &backend_nccl_inspector, &backend_nccl_recorder, NULL};
const struct jp_profiler *const profiler_registry[] = {
    &backend_nccl_inspector.about, &backend_nccl_recorder.about, NULL};
