/* makestep.c - write the directory of a simulated running step. */
#include "tests/live/makestep.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "orchestrator/collect/stepdir.h"

#define SECOND UINT64_C(1000000000)
#define WAIT_S 100 /* age of the hang, in seconds */

const char *const makestep_words[MAKESTEP_N_KINDS] = {"ok", "hang", "late",
                                                      "gone", "ended"};

static void fill_rank(const struct makestep *step, uint32_t task,
                      struct live_rank *rank)
{
    bool victim = task == step->who, hangs = step->kind == MAKESTEP_HANG;

    *rank = (struct live_rank){.pid = 30000 + task,
                               .task = task,
                               .state = step->kind == MAKESTEP_ENDED
                                            ? HUNG_ENDED
                                        : hangs ? HUNG_WAITS
                                                : HUNG_MOVES,
                               .counted_ns = (int64_t) step->real_ns,
                               .produced = 901,
                               .over = 900,
                               .bytes = UINT64_C(900) << 20,
                               .rate_milli = hangs ? 0 : 12500,
                               .share_permille = hangs ? 0 : 400 + task % 3,
                               .gpu_permille = 930,
                               .gpu_mhz = 1980,
                               .gpu_watts = 610};
    rank->busy = hangs && !victim;
    rank->in_flight = rank->busy;
    if (victim && hangs)
        rank->state = HUNG_OUTSIDE;
    if (victim && step->kind == MAKESTEP_LATE)
        rank->share_permille = 100;
    if (victim && step->kind == MAKESTEP_GONE)
        rank->state = HUNG_GONE;
    rank->final = step->kind == MAKESTEP_ENDED;
}

static void fill_fronts(const struct makestep *step, uint32_t task, uint32_t at,
                        struct live_snap *snap)
{
    bool hangs = step->kind == MAKESTEP_HANG, victim = task == step->who;
    struct live_front *front = &snap->fronts[snap->n_fronts++];

    *front = (struct live_front){
        .rank = at, .comm_rank = task, .kind = JPR_N_OP_KINDS};
    front = &snap->fronts[snap->n_fronts++];
    *front = (struct live_front){
        .rank = at,
        .comm_rank = task,
        .kind = JPR_COLL,
        .func = "AllReduce",
        .begun = hangs && !victim ? 901 : 900,
        .ended = 900,
        .rate_milli = snap->ranks[at].rate_milli,
        .mean_us = 1000000 * snap->ranks[at].share_permille / 12500,
        .mean_bytes = 64 << 20};
}

void makestep_snap(const struct makestep *step, uint32_t i,
                   struct live_snap *snap)
{
    *snap = (struct live_snap){.conf = 0,
                               .nodeid = i,
                               .sequence = 3,
                               .real_ns = step->real_ns,
                               .mono_ns = 5,
                               .due_ms = step->due_ms ? step->due_ms : 5000,
                               .class = step->kind == MAKESTEP_HANG ? LIVE_WAITS
                                        : step->kind == MAKESTEP_GONE
                                            ? LIVE_TROUBLE
                                            : LIVE_WORKS,
                               .last = step->kind == MAKESTEP_ENDED,
                               .n_ranks = step->ranks,
                               .n_comms = 1};
    snprintf(snap->node, sizeof(snap->node), "n%u", i + 1);
    snap->comms[0] =
        (struct live_comm){0x8a07aed05ae9a0, step->nodes * step->ranks, "dp"};
    for (uint32_t r = 0; r < step->ranks; r++) {
        uint32_t task = i * step->ranks + r;

        fill_rank(step, task, &snap->ranks[r]);
        fill_fronts(step, task, r, snap);
        if (snap->ranks[r].in_flight)
            snap->ops[snap->n_ops++] = (struct live_op){
                .rank = r,
                .comm_rank = task,
                .peer = -1,
                .kind = JPR_COLL,
                .func = "AllReduce",
                .seq = 900,
                .bytes = 64 << 20,
                .start_ns = (int64_t) (step->real_ns - WAIT_S * SECOND),
                .until_ns = (int64_t) step->real_ns,
                .limit_ns = (int64_t) (30 * SECOND),
                .channels = 16,
                .started = 16};
    }
}

static int write_conf(const struct makestep *step, const char *dir)
{
    char *path = text_format("%s/" JP_JOBCONF_NAME, dir);
    char step_id[] = "0", mode[] = "recorder";
    struct jp_jobconf conf = {.schema = JP_JOBCONF_SCHEMA,
                              .job_id = 42,
                              .step_id = step_id,
                              .nccl_mode = mode,
                              .nnodes = step->nodes,
                              .ntasks = step->nodes * step->ranks,
                              .policy = {.hang_suspect_ms = 30000}};
    int rc = path ? jobconf_write(path, &conf, NULL) : -1;

    free(path);
    return rc;
}

static int write_snap(const struct live_snap *snap, const char *dir)
{
    char *path = text_format("%s/" LIVE_NODES "/1.%u" LIVE_SNAP_SUFFIX, dir,
                             snap->nodeid);
    uint8_t bytes[LIVE_SNAP_BYTES];
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    ssize_t n = -1;

    livesnap_pack(snap, bytes);
    if (fd >= 0) {
        n = pwrite(fd, bytes, sizeof(bytes), 0);
        close(fd);
    }
    free(path);
    return n == (ssize_t) sizeof(bytes) ? 0 : -1;
}

int makestep_write(const struct makestep *step, const char *dir)
{
    char *nodes = text_format("%s/" LIVE_NODES, dir);
    struct live_snap *snap = malloc(sizeof(*snap));
    int rc = nodes && snap ? fileio_mkdirs(nodes, NULL) : -1;

    if (rc == 0)
        rc = write_conf(step, dir);
    for (uint32_t i = 0; rc == 0 && i < step->nodes; i++) {
        makestep_snap(step, i, snap);
        rc = write_snap(snap, dir);
    }
    free(snap);
    free(nodes);
    return rc;
}
