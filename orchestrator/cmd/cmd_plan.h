/* cmd_plan.h - the parts of `jobprof plan`.
 *
 * --from measures an earlier step's report (cmd_plan_measure.c) and turns the
 * figures into the next run's option (cmd_plan_from.c). The plan itself is that
 * of orchestrator/agent/plan_view.h, with the facts of an imagined step.
 */
#ifndef JP_CMD_CMD_PLAN_H
#define JP_CMD_CMD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "common/error.h"
#include "orchestrator/agent/plan_view.h"
#include "orchestrator/cmd/cmd.h"

/* --- cmd_plan_measure.c -------------------------------------------------- */

/* What a report tells about its run; 0 and "" are unknown. */
struct plan_measured {
    char *path; /* of summary.json */
    char mode[16], release[16];
    uint64_t nodes, tasks; /* of a folder of logs: as many as left records */
    uint64_t iterations;   /* where that run's settings say so */
    bool p2p_off;          /* that run recorded no Send and Recv */
    /* of all ranks together */
    uint64_t records, coll_records, p2p_records;
    uint64_t expected, lost, bytes;
    /* of one rank, as recorded: the most that one process did (or, with mean,
     * the mean of the step's tasks: summary.json leaves ranks out) */
    uint64_t colls, p2p, comms, processes, hosts;
    bool mean;
    bool comms_estimated; /* scaled: not all communicators are listed */
    uint64_t busiest;     /* most collectives of one communicator, as listed */
    /* collectives a second in one communicator: the mean of the busiest slice
     * of that length (bursts within are not seen), or, with slice_us 0,
     * operations over their own time. With windows left out at least so many:
     * the report lists those of most time */
    uint64_t rate, slice_us;
    /* rows of the report's tables, and those that summary.json lacks */
    struct {
        uint64_t ranks, comms, windows;
    } listed, left_out;
};

/* Reads step_dir/summary.json: foreign input, of which nothing is trusted.
 * JP_EXIT_OK, or JP_EXIT_NODATA (there is none, or without records), or
 * JP_EXIT_USAGE (cut or foreign; err names file and field).
 * plan_measured_fini frees. */
enum jp_exit plan_measure(const char *step_dir, struct plan_measured *out,
                          struct jp_error *err);
void plan_measured_fini(struct plan_measured *measured);

/* A count as it would be had nothing been lost. */
uint64_t plan_measured_whole(const struct plan_measured *measured,
                             uint64_t count);

/* --- cmd_plan_from.c ----------------------------------------------------- */

#define PLAN_FROM_MAX 6

/* The next run's option, from an earlier run's figures. */
struct plan_from {
    struct {
        const char *key;
        char value[32];
    } figures[PLAN_FROM_MAX]; /* those that the user left to the report */
    size_t n;
    bool mode;     /* so is the mode */
    char *option;  /* MODE,key=value... */
    char *command; /* one line to copy */
};

/* word: the user's own MODE[,key=value...], which wins, or NULL. */
int plan_from_make(const struct plan_measured *measured, const char *word,
                   struct plan_from *out, struct jp_error *err);
void plan_from_fini(struct plan_from *from);

/* Names the report as the source of the settings that are taken from it. */
void plan_from_attribute(const struct plan_from *from,
                         const struct plan_measured *measured,
                         struct plan_view *view);

/* The table of figures and the line to copy. */
int plan_from_print(const struct plan_from *from,
                    const struct plan_measured *measured, FILE *out,
                    struct jp_error *err);

#endif
