/* cmd_plan.h - the parts of `jobprof plan`.
 *
 * Outside of a job the facts that Slurm gives a step are stood in for
 * (cmd_plan_world.c). --from measures an earlier step's report
 * (cmd_plan_measure.c) and turns the figures into the next run's option
 * (cmd_plan_from.c). The plan itself is that of orchestrator/agent/plan_view.h.
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

/* --- cmd_plan_world.c ---------------------------------------------------- */

/* The environment as a step of the wanted shape would see it. */
struct plan_world {
    char *submit_dir;    /* where relative directories start */
    char memory_mib[24]; /* "" leaves the step's memory to Slurm's variables */
    bool shaped;         /* nodes or tasks are given: others do not count */
};

/* memory_bytes: of the step on a node, 0: not given. */
int plan_world_init(struct plan_world *world, uint64_t memory_bytes,
                    bool shaped, struct jp_error *err);
void plan_world_fini(struct plan_world *world);

/* For plan_input.env with the world as its env_arg. */
const char *plan_world_env(void *arg, const char *name);

/* The step directory with the pattern's codes as they are. Caller frees. */
char *plan_world_dir(const struct plan_world *world, const char *pattern,
                     struct jp_error *err);

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
    uint64_t busiest; /* most collectives of one communicator, as listed */
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

/* A count of an object: null and an absent key leave *out, another type is an
 * error that names where.key. */
int plan_measure_count(const json_t *object, const char *where, const char *key,
                       uint64_t *out, struct jp_error *err);
/* a + b, at most UINT64_MAX. */
uint64_t plan_measure_sum(uint64_t a, uint64_t b);

/* cmd_plan_rate.c: fills rate and slice_us from windows[], else comms[]. */
int plan_measure_rate(const json_t *root, struct plan_measured *measured,
                      struct jp_error *err);

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

/* --- cmd_plan_json.c ----------------------------------------------------- */

/* docs/plan.schema.json; measured and from may be NULL. */
int plan_json_print(const struct plan_view *view,
                    const struct plan_measured *measured,
                    const struct plan_from *from, FILE *out,
                    struct jp_error *err);

#endif
