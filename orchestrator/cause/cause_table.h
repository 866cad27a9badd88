/* cause_table.h - the table of causes: a row for each metric that may tell one.
 */
#ifndef JP_CAUSE_CAUSE_TABLE_H
#define JP_CAUSE_CAUSE_TABLE_H

#include "orchestrator/cause/cause.h"
#include "orchestrator/insight/limits.h"

enum cause_of {
    CAUSE_OF_COMPUTE = 1 << 0, /* late ranks and nodes, stalls */
    CAUSE_OF_NETWORK = 1 << 1, /* slow networks, drift */
};

/* What must hold besides, of the subject: a column and its least mean. A column
 * that is not there does not forbid. */
struct cause_needs {
    const char *column;
    double least;
    bool below_peers; /* in place of it: less than its peers' median */
    /* in place of a column: no less than its peers' median */
    double (*share)(const struct samples *s, const struct sampled *m,
                    unsigned slice);
};

struct cause_row {
    enum jp_cause_what what;
    enum jp_util_scope scope;
    const char *metric; /* a column, or the name of derive */
    /* the metric of a member and slice, of several columns; NULL: a column */
    double (*derive)(const struct samples *s, const struct sampled *m,
                     unsigned slice);
    enum util_unit unit; /* of derive */
    unsigned of;         /* enum cause_of */
    bool lower;          /* less is bad, else more is */
    enum jp_limit_id least;
    double times;  /* besides: so many times the peers' median */
    bool relative; /* least is a share of the peers' median */
    bool exact;    /* it is a setting: members have the same */
    bool alone;    /* any of it is bad: peers are not needed */
    bool common;   /* all have some of it on a busy node: what peers have, too,
                      does not tell why this one is late */
    double prior;  /* 0 to 1: how well the like explains a wait */
    double takes;  /* time lost by a unit of the difference (relative: by
                      all of it), a share; 0: not told */
    struct cause_needs needs;
    const char *says;  /* a clause, before the value */
    const char *after; /* it; NULL: nothing */
};

extern const struct cause_row cause_table[];
extern const size_t cause_table_n;

/* What the like brings about: `what` comes behind `by` where both are seen. */
struct cause_chain {
    enum jp_cause_what by, what;
};
extern const struct cause_chain cause_chains[];
extern const size_t cause_chains_n;

/* The sentences of causes. */

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
