/* runmarks.h - the marks by which what runs beside the tasks meets the step.
 *
 * Files <step>/run/<node>.<mark>, each written once; a text says why. run/ is
 * there only where something runs beside the tasks, and goes with the report:
 * then every runner ends. The node's marks are read on that node, and by srun.
 */
#ifndef JP_AGENT_RUNMARKS_H
#define JP_AGENT_RUNMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

enum runmark {
    RUNMARK_READY,  /* it answers, the tasks may start; the text says where */
    RUNMARK_FAILED, /* the node's tasks run without it, and why */
    RUNMARK_ENDED,  /* the node's tasks have ended (jobprof-node finish) */
    RUNMARK_DONE,   /* after ready: it has ended, its files are there */
    RUNMARKS
};

/* Makes run/. */
int runmarks_make(const char *dir, struct jp_error *err);
bool runmarks_there(const char *dir);

int runmark_set(const char *dir, const char *node, enum runmark mark,
                const char *text, struct jp_error *err);
bool runmark_is_set(const char *dir, const char *node, enum runmark mark);

/* The step's own mark, run/step.ended: no task of it runs any more, on any
 * node. Runners serve each other until then. The last node to leave sets it, or
 * who reports the step at its end. */
int runmark_end_step(const char *dir, struct jp_error *err);
bool runmark_step_has_ended(const char *dir);

/* The mark's text, one line. Caller frees; NULL: it is not set, or says
 * something else. */
char *runmark_text(const char *dir, const char *node, enum runmark mark);

/* How many nodes have each mark. */
void runmarks_count(const char *dir, uint32_t n[RUNMARKS]);
/* Calls tell(arg, node, text) for each node with that mark, in order of names.
 */
void runmarks_each(const char *dir, enum runmark mark,
                   void (*tell)(void *arg, const char *node, const char *text),
                   void *arg);

#endif
