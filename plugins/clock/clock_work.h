/* clock_work.h - the clock module of a node's agent: asks neighbours, answers
 * them, and writes what it finds.
 *
 * Where the kernel stamps packets, it wakes at the beats of clock_talk.h: all
 * that has come is taken by one call, and all that is due leaves by one call.
 * Else each packet wakes it.
 *
 * All descriptors are in one of epoll's, so that the agent waits for a single
 * one. No call waits for anything. The pace follows the cost: beyond its budget
 * of processor time it asks less often, and its neighbours are told so.
 */
#ifndef JP_CLOCK_WORK_H
#define JP_CLOCK_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"
#include "plugins/clock/clock_conf.h"
#include "plugins/clock/clock_read.h"
#include "plugins/clock/clock_stamp.h"
#include "plugins/module.h"

#define CLOCK_BUDGET 0.005 /* of a processor */

struct clock_work;

/* shift: for tests, NULL otherwise. NULL: it does not run here, err says why,
 * "" where one node has nothing to compare. */
struct clock_work *clock_work_create(const struct module_place *place,
                                     const struct clock_shift *shift,
                                     struct jp_error *err);
void clock_work_destroy(struct clock_work *work);
int clock_work_fd(const struct clock_work *work);
/* Does what can be done now. spent_ns: processor time that its calls have taken
 * so far. -1: err is new trouble. */
int clock_work_run(struct clock_work *work, int64_t spent_ns,
                   struct jp_error *err);
/* Ends the windows that are open. */
void clock_work_finish(struct clock_work *work);

/* --- clock_rows.c: nodes/<node>/clock.jsonl ------------------------------ */

/* The file whose records clock_read.h describes. It takes at most as many bytes
 * as it is given. When it would take more, every second window and snapshot
 * goes, also of those that come later: a run of any length keeps windows over
 * its whole time. */

/* Of one node's file: 3 neighbours and windows of 4 s fill it in an hour. */
#define CLOCK_DISK_BYTES (2 * 1024 * 1024)
/* Failed exchanges that are told one by one, of an edge and window. */
#define CLOCK_TOLD 8

struct clock_origin {
    uint64_t job;
    const char *step, *node;
    const char *const *nodes; /* names, by index */
    uint32_t node_id, n_nodes;
    uint16_t port;
    const char *address; /* the first one */
    const char *source;  /* of stamps: "kernel_sw" or "user" */
    const struct clock_conf *conf;
    struct clock_look look;
};

struct clock_rows {
    FILE *file;
    char *path;
    uint64_t bytes, most;
    uint64_t stride;       /* windows whose id is a multiple of it stay */
    uint64_t taken, steps; /* snapshots, clock_steps */
    bool halves;           /* every second window goes now */
    uint64_t met;          /* snapshots, while the file is thinned out */
    const char *const *nodes;
};

/* Begins nodes/<node>/clock.jsonl in dir with its config record. */
int clock_rows_open(struct clock_rows *rows, const char *dir,
                    const struct clock_origin *origin, uint64_t most,
                    struct jp_error *err);
void clock_rows_close(struct clock_rows *rows);

/* Each writes its record to the file at once. -1: it could not. */
int clock_rows_window(struct clock_rows *rows, const struct clock_window *w,
                      struct jp_error *err);
int clock_rows_snapshot(struct clock_rows *rows, const struct clock_look *look,
                        struct jp_error *err);
int clock_rows_step(struct clock_rows *rows, const struct clock_look *look,
                    int64_t by_ns, struct jp_error *err);
int clock_rows_failure(struct clock_rows *rows, uint32_t from, uint32_t to,
                       uint32_t seq, int64_t mono_ns, const char *why,
                       struct jp_error *err);

#endif
