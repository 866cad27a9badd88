/* alert.h - tell the user of a hang: on the terminal or in the batch output, in
 * the step's log, in live/alerts.jsonl, and by a command.
 *
 * A line on srun's terminal comes from slurmctld, asked in a child
 * (collect/slurmask.h). At most ALERT_OF_HANG lines a hang and ALERT_OF_JOB a
 * job reach it; what is beyond is in the file only. Nothing is told of a step
 * that ends. The command of on_hang runs as the user, in a process group of its
 * own, with the alert as JSON on its standard input; it is killed after
 * ALERT_COMMAND_MS.
 */
#ifndef JP_LIVE_ALERT_H
#define JP_LIVE_ALERT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/knob.h"
#include "orchestrator/ingest/stuck.h"
#include "orchestrator/live/livestall.h"

#define ALERT_OF_HANG 3
#define ALERT_OF_JOB 10
#define ALERT_COMMAND_MS 30000
#define ALERT_FILE_BYTES (256 << 10)

struct alert_place {
    const char *dir; /* directory of the step */
    uint64_t job;
    const char *step;
    const struct jp_onhang *on_hang;
    void (*log)(void *arg, const char *line); /* NULL: no log */
    void *log_arg;
    /* asks Slurm to print the line; NULL: slurmjob_notify */
    void (*notify)(void *arg, uint64_t job, const char *line);
    void *notify_arg;
};

struct alert {
    struct alert_place place;
    uint32_t hang, said; /* number of the hang; lines about it so far */
    /* something about it was reported, if only in the file */
    bool told;
    /* lines of this step; those of other steps are looked up */
    uint32_t job_lines;
    int64_t command;     /* pid of the command; 0: none runs */
    uint64_t command_ms; /* when to kill it */
};

/* An alert, as in alerts.jsonl and on the command's standard input. Each has
 * all members, whatever is known. */
struct alert_event {
    enum stuck_news news;
    const struct stuck_view *view;
    const struct stuck *stuck;
    uint64_t waited_ms; /* since the operation began */
    /* Of logs that tell only what has ended: why, and stuck is NULL. Else NULL.
     */
    const struct livestall *silence;
};

/* Reports the alert. */
void alert_tell(struct alert *alert, const struct alert_event *event);

/* Writes a line about an action of the rule ("USR1 sent to 3 tasks") to the log
 * and the file. */
void alert_note(struct alert *alert, const char *text);

/* Kills the command if it runs for too long. */
void alert_tick(struct alert *alert, uint64_t now_ms);
void alert_fini(struct alert *alert);

#endif
