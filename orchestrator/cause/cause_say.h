/* cause_say.h - the sentences of causes. */
#ifndef JP_CAUSE_CAUSE_SAY_H
#define JP_CAUSE_CAUSE_SAY_H

#include "orchestrator/cause/cause_table.h"

/* Whom a finding is about, in the samples. */
struct cause_subject {
    enum jp_finding_kind kind;
    bool whole_node;  /* else one rank */
    int64_t rank;     /* as readers know it; -1 */
    int64_t task;     /* Slurm's; -1 */
    int node;         /* of the samples; < 0: not known */
    const char *name; /* the node's; NULL */
    char gpu[UTIL_ID_MAX];
};

/* Sets cause->text. */
void cause_say(const struct cause_subject *subject, const struct cause_row *row,
               struct jp_cause *cause);

/* Where a GPU is slowed down, its lower clock belongs to the sentence. found:
 * by word, of strength 0 where there is none. */
void cause_say_reason(const struct cause_subject *subject,
                      struct jp_cause found[JP_CAUSES]);

/* Sets look->why. */
void cause_say_look(const struct cause_subject *subject,
                    const struct jp_causes *causes, struct jp_cause_look *look);

#endif
