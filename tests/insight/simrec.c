/* simrec.c - write a simulated job as the recorder's files. */
#include "tests/insight/simrec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/launched.h"
#include "tests/aggregate/jpr_maker.h"
#include "tests/insight/simjob_random.h"
#include "tests/insight/simlog.h"

enum { COMMS = 8, PENDING = 8 }; /* of a rank, at most */

/* How late the writer of a rank may notice that the recording is off, or on.
 * Who records a part of a run records seconds of it, but simulated runs may be
 * shorter: then it is this share of a part. */
#define NOTICED_NS 100000000
#define NOTICED_SHARE 0.05

enum simrec_form simrec_form;
unsigned simrec_pauses;

#define LAUNCHER_0 2000

int64_t simrec_launcher(uint32_t node)
{
    return LAUNCHER_0 + (int64_t) node;
}

struct file {
    FILE *out;
    struct jpr_maker *maker;
    const struct simjob_comm *comms[COMMS];
    uint32_t n_comms;
    struct jpr_op pending[PENDING];
    size_t n_pending;
    struct jpr_pause pauses[JPR_MAX_PAUSES]; /* by the job's clock */
};

struct files {
    const struct simjob_shape *shape;
    struct file *of_rank;
    int64_t last_ns;
};

static void path_of(const struct simjob_shape *shape, const char *dir,
                    uint32_t rank, char *buf, size_t size)
{
    char host[16];

    simlog_host(rank / shape->per_node, host);
    snprintf(buf, size, "%s/%s-pid%" PRId64 ".jpr", dir, host,
             simlog_pid(rank));
}

/* Returns the file's number of a communicator, which is defined at its first
 * operation. */
static uint32_t comm_of(struct file *f, const struct simjob_record *r)
{
    struct jpr_comm comm = {.known = true,
                            .id = r->comm->id,
                            .name = r->comm->name,
                            .rank = r->comm_rank,
                            .n_ranks = r->comm->n,
                            .n_nodes = r->comm->n_nodes,
                            .gpu_pci = "",
                            .gpu_uuid = ""};

    for (uint32_t i = 0; i < f->n_comms; i++)
        if (f->comms[i] == r->comm)
            return i;
    if (f->n_comms == COMMS)
        abort();
    f->comms[f->n_comms] = r->comm;
    comm.index = f->n_comms;
    jpr_maker_comm(f->maker, &comm);
    return f->n_comms++;
}

/* Counts an operation that is not recorded. False: it is. */
static bool skip(struct file *f, int64_t start_ns)
{
    for (unsigned i = 0; i < simrec_pauses; i++)
        if (start_ns >= (int64_t) f->pauses[i].from_ns &&
            start_ns < (int64_t) f->pauses[i].to_ns) {
            f->pauses[i].skipped++;
            return true;
        }
    return false;
}

static void sink(void *arg, const struct simjob_record *r)
{
    struct files *files = arg;
    struct file *f = &files->of_rank[r->rank];
    struct jpr_op op = {.kind = r->p2p ? JPR_P2P : JPR_COLL,
                        .seq = r->sn,
                        .func = r->func,
                        .datatype = "ncclInt8",
                        .algo = r->p2p ? "" : "RING",
                        .proto = r->p2p ? "" : "SIMPLE",
                        .count = r->bytes,
                        .bytes = r->bytes,
                        .root = r->p2p ? -1 : 0,
                        .peer = r->p2p ? (int64_t) r->peer : -1,
                        .n_channels = 1,
                        .api_func = "",
                        .api_datatype = ""};
    uint32_t node = r->rank / files->shape->per_node;
    uint64_t start = JPR_MAKER_MONO_NS +
                     (uint64_t) simlog_shown_ns(node, r->start_ns);

    if (skip(f, r->start_ns))
        return;
    op.comm = comm_of(f, r);
    if (r->pending) {
        op.enqueue_start_mono_ns = start;
        op.enqueue_stop_mono_ns = start + 2000;
        op.kernel_first_mono_ns = start + 10000;
        op.channels_started = 1;
        if (f->n_pending < PENDING)
            f->pending[f->n_pending++] = op;
        return;
    }
    jpr_maker_times(&op, start, r->exec_us);
    jpr_maker_op(f->maker, &op);
    files->last_ns = r->end_ns > files->last_ns ? r->end_ns : files->last_ns;
}

static void set(struct jpr_process *process, const char *name, char text[24],
                int64_t value)
{
    snprintf(text, 24, "%" PRId64, value);
    process->variables[process->n_variables++] =
        (struct jpr_variable){name, text};
}

/* What a rank's process says of itself. */
static void put_header(struct jpr_maker *maker,
                       const struct simjob_shape *shape, uint32_t rank)
{
    enum { RANK, SIZE, LOCAL, TASK_PID, TEXTS };
    uint32_t node = rank / shape->per_node;
    uint32_t told = simrec_form == SIMREC_MISLED ? 1 : rank;
    struct jpr_process process = {0};
    char texts[TEXTS][24], host[16];

    simlog_host(node, host);
    if (simrec_form == SIMREC_TASKS) {
        jpr_maker_header(maker, host, (uint64_t) simlog_pid(rank), rank, NULL);
        return;
    }
    if (simrec_form != SIMREC_UNTOLD) {
        set(&process, launched_rank_names[LAUNCHED_TORCH], texts[RANK], told);
        set(&process, "WORLD_SIZE", texts[SIZE], simjob_ranks(shape));
        set(&process, LAUNCHED_LOCAL_RANK, texts[LOCAL],
            told % shape->per_node);
    }
    set(&process, LAUNCHED_TASK_PID, texts[TASK_PID], simrec_launcher(node));
    /* its number of a task is its launcher's */
    jpr_maker_header_of(maker, host, (uint64_t) simlog_pid(rank), node, NULL,
                        &process);
}

static void nowhere(void *arg, const struct simjob_record *record)
{
}

/* Sets when the recording of each rank is off. */
static void plan_pauses(struct files *files, enum simjob_fault fault,
                        double effect, uint64_t seed)
{
    const struct simjob_shape *shape = files->shape;
    struct simjob_truth truth;
    double part_ns, noticed_ns;

    if (simrec_pauses > JPR_MAX_PAUSES)
        abort();
    if (!simrec_pauses)
        return;
    simjob_run(shape, fault, effect, seed, nowhere, NULL, &truth);
    part_ns = truth.end_ns / (2 * simrec_pauses + 1);
    noticed_ns = fmin(NOTICED_NS, NOTICED_SHARE * part_ns);
    for (uint32_t r = 0; r < simjob_ranks(shape); r++) {
        struct simjob_random x = {seed ^ (uint64_t) r << 32};

        for (unsigned i = 0; i < simrec_pauses; i++) {
            double from_ns = part_ns * (2 * i + 1);

            files->of_rank[r].pauses[i] = (struct jpr_pause){
                .from_ns = (uint64_t) (from_ns + noticed_ns * random_unit(&x)),
                .to_ns = (uint64_t) (from_ns + part_ns +
                                     noticed_ns * random_unit(&x)),
                .why = JPR_PAUSE_BY_FILE};
        }
    }
}

static void put_pauses(struct file *f, uint32_t node)
{
    for (unsigned i = 0; i < simrec_pauses; i++) {
        struct jpr_pause pause = f->pauses[i];

        pause.from_ns = JPR_MAKER_MONO_NS + (uint64_t) simlog_shown_ns(
                                                node, (int64_t) pause.from_ns);
        pause.to_ns = JPR_MAKER_MONO_NS +
                      (uint64_t) simlog_shown_ns(node, (int64_t) pause.to_ns);
        jpr_maker_pause(f->maker, &pause);
    }
}

static int close_file(struct file *f, uint32_t node, int64_t last_ns,
                      bool in_order)
{
    uint64_t at = JPR_MAKER_MONO_NS + (uint64_t) (last_ns + SIMREC_AFTER_NS);
    int rc;

    put_pauses(f, node);
    jpr_maker_snapshot(f->maker, at, f->pending, f->n_pending);
    jpr_maker_counters(f->maker, at, in_order, 0, 0);
    jpr_maker_destroy(f->maker);
    rc = ferror(f->out) ? -1 : 0;
    return fclose(f->out) == 0 ? rc : -1;
}

int simrec_write(const struct simjob_shape *shape, enum simjob_fault fault,
                 double effect, uint64_t seed, const char *dir,
                 struct simjob_truth *truth)
{
    uint32_t n = simjob_ranks(shape);
    struct files files = {shape, calloc(n, sizeof(*files.of_rank)), 0};
    int rc = 0;

    if (!files.of_rank)
        abort();
    for (uint32_t r = 0; r < n; r++) {
        char path[4096];

        path_of(shape, dir, r, path, sizeof(path));
        files.of_rank[r].out = fopen(path, "w");
        if (!files.of_rank[r].out)
            abort();
        files.of_rank[r].maker = jpr_maker_create(files.of_rank[r].out);
        jpr_maker_store(files.of_rank[r].maker);
        put_header(files.of_rank[r].maker, shape, r);
    }
    plan_pauses(&files, fault, effect, seed);
    simjob_run(shape, fault, effect, seed, sink, &files, truth);
    for (uint32_t r = 0; r < n; r++)
        rc |= close_file(&files.of_rank[r], r / shape->per_node, files.last_ns,
                         fault != SIMJOB_RECORDED);
    free(files.of_rank);
    return rc;
}

void simrec_remove(const struct simjob_shape *shape, const char *dir)
{
    for (uint32_t r = 0; r < simjob_ranks(shape); r++) {
        char path[4096];

        path_of(shape, dir, r, path, sizeof(path));
        unlink(path);
    }
}
