/* runmarks.h - marks that synchronise a runner beside the tasks with the step.
 *
 * Files <step>/run/<node>.<mark>, each written once, with a text as
 * explanation. run/ exists only if a runner runs beside the tasks. It is
 * removed with the report, and then every runner ends. A node's marks are read
 * on that node and by srun.
 */
#ifndef JP_AGENT_RUNMARKS_H
#define JP_AGENT_RUNMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum runmark {
    RUNMARK_READY,  /* it answers and the tasks may start; text: where */
    RUNMARK_FAILED, /* the node's tasks run without it; text: why */
    RUNMARK_ENDED,  /* tasks of the node have ended (jobprof-node finish) */
    RUNMARK_DONE,   /* after ready: it has ended and its files are complete */
    RUNMARKS
};

/* Creates run/. */
int runmarks_make(const char *dir, struct jp_error *err);
bool runmarks_there(const char *dir);

int runmark_set(const char *dir, const char *node, enum runmark mark,
                const char *text, struct jp_error *err);
bool runmark_is_set(const char *dir, const char *node, enum runmark mark);

/* Sets the step's own mark, run/step.ended: no task of the step runs on any
 * node. Runners serve each other until then. The last node to leave sets the
 * mark, or the process that makes the report at the step's end. */
int runmark_end_step(const char *dir, struct jp_error *err);
bool runmark_step_has_ended(const char *dir);

/* The mark's text, one line. Caller frees. NULL: the mark is not set or its
 * file is malformed. */
char *runmark_text(const char *dir, const char *node, enum runmark mark);

/* Counts the nodes with each mark. */
void runmarks_count(const char *dir, uint32_t n[RUNMARKS]);
/* Calls tell(arg, node, text) for each node with that mark, ordered by name. */
void runmarks_each(const char *dir, enum runmark mark,
                   void (*tell)(void *arg, const char *node, const char *text),
                   void *arg);

#endif
