/* cmd_plan.h - the parts of `jobprof plan`.
 *
 * With --from, cmd_plan_measure.c takes figures from an earlier step's report,
 * and cmd_plan_from.c turns them into the option of the next run. The plan
 * itself is made and shown by orchestrator/agent/plan_view.h, with the facts of
 * an imagined step.
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

/* Figures from a report about its run; 0 and "": unknown. */
struct plan_measured {
    char *path; /* path of summary.json; owned */
    char mode[16], release[16];
    uint64_t nodes, tasks; /* for a folder of logs: those with records */
    uint64_t iterations;   /* if that run's settings name it */
    bool p2p_off;          /* that run did not record Send and Recv */
    /* sums over all ranks */
    uint64_t records, coll_records, p2p_records;
    uint64_t expected, lost, bytes;
    /* of one rank, as recorded: the maximum over all processes. With mean: the
     * mean over the step's tasks, because summary.json leaves ranks out */
    uint64_t colls, p2p, comms, processes, hosts;
    bool mean;
    bool comms_estimated; /* comms is scaled: not all communicators are
                           * listed */
    uint64_t busiest;     /* most collectives in one communicator, as listed */
    /* collectives per second in one communicator: the mean over the busiest
     * slice of slice_us, which hides shorter bursts. slice_us 0: operations
     * divided by their own time. If windows are left out, it is a lower bound,
     * because the report lists the windows with most time */
    uint64_t rate, slice_us;
    /* rows in the report's tables, and rows that summary.json leaves out */
    struct {
        uint64_t ranks, comms, windows;
    } listed, left_out;
};

/* Reads step_dir/summary.json, which is foreign input. Returns JP_EXIT_OK;
 * JP_EXIT_NODATA if it is missing or has no records; or JP_EXIT_USAGE if it is
 * cut or of another kind (err names file and field). Caller frees out->path. */
enum jp_exit plan_measure(const char *step_dir, struct plan_measured *out,
                          struct jp_error *err);

/* --- cmd_plan_from.c ----------------------------------------------------- */

#define PLAN_FROM_MAX 6

/* The option for the next run, from the figures of an earlier run. */
struct plan_from {
    struct plan_measured measured;
    struct {
        const char *key;
        char value[32];
    } figures[PLAN_FROM_MAX]; /* settings that the user left to the report */
    size_t n;
    bool mode;     /* the report also sets the mode */
    char *option;  /* MODE,key=value... */
    char *command; /* one command line to copy */
};

/* Reads the step's report and makes the option. word: the user's own
 * MODE[,key=value...], which takes precedence, or NULL. Returns JP_EXIT_OK, or
 * another status and err. */
enum jp_exit plan_from_make(const char *step_dir, const char *word,
                            struct plan_from *out, struct jp_error *err);
void plan_from_fini(struct plan_from *from);

/* Names the report as the source of the settings taken from it. */
void plan_from_attribute(const struct plan_from *from, struct plan_view *view);

/* Prints the table of figures and the command line to copy. brief: the command
 * line alone. */
int plan_from_print(const struct plan_from *from, bool brief, FILE *out,
                    struct jp_error *err);

#endif
