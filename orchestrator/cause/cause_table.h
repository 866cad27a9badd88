/* cause_table.h - the table of causes: one row per metric that may show one. */
#ifndef JP_CAUSE_CAUSE_TABLE_H
#define JP_CAUSE_CAUSE_TABLE_H

#include "orchestrator/cause/cause.h"
#include "orchestrator/insight/limits.h"

enum cause_of {
    CAUSE_OF_COMPUTE = 1 << 0, /* late ranks and nodes, stalls */
    CAUSE_OF_NETWORK = 1 << 1, /* slow networks, drift */
};

/* A further condition on the subject: a column and its least mean. A missing
 * column does not prevent the cause. */
struct cause_needs {
    const char *column;
    double least;
    bool below_peers; /* instead of least: below the median of its peers */
    /* instead of a column: a share, at least the median of its peers */
    double (*share)(const struct samples *s, const struct sampled *m,
                    unsigned slice);
};

struct cause_row {
    enum jp_cause_what what;
    enum jp_util_scope scope;
    const char *metric; /* a column, or the name of what derive computes */
    /* computes the metric of a member in a slice from several columns; NULL:
     * metric is a column */
    double (*derive)(const struct samples *s, const struct sampled *m,
                     unsigned slice);
    enum util_unit unit; /* unit of derive's values */
    unsigned of;         /* enum cause_of */
    bool lower;          /* lower values are bad; otherwise higher ones */
    enum jp_limit_id least;
    double times;  /* also required: at least this many times the peers'
                    * median */
    bool relative; /* least is a fraction of the peers' median */
    bool exact;    /* a setting: all members have the same value */
    bool alone;    /* any amount is bad, even without peers */
    bool common;   /* every task has some of it on a busy node; the peers' part
                    * does not explain why this one is late */
    double prior;  /* 0 to 1: how well such a cause explains a wait */
    double takes;  /* time lost, as a fraction, per unit of the difference
                    * (relative: by all of it); 0: unknown */
    struct cause_needs needs;
    const char *says;  /* a clause, before the value */
    const char *after; /* text after the value; NULL: none */
};

extern const struct cause_row cause_table[];
extern const size_t cause_table_n;

/* `by` brings about `what`: if both are found, `what` is listed after `by`. */
struct cause_chain {
    enum jp_cause_what by, what;
};
extern const struct cause_chain cause_chains[];
extern const size_t cause_chains_n;

/* The sentences of causes. */

/* The subject of a finding, in terms of the samples. */
struct cause_subject {
    enum jp_finding_kind kind;
    bool whole_node;  /* a node; otherwise one rank */
    int64_t rank;     /* the rank shown to readers; -1: none */
    int64_t task;     /* Slurm's task id; -1: none */
    int node;         /* index in the samples; < 0: unknown */
    const char *name; /* name of the node; NULL: unknown */
    char gpu[UTIL_ID_MAX];
};

/* Writes the sentence cause->text. */
void cause_say(const struct cause_subject *subject, const struct cause_row *row,
               struct jp_cause *cause);

/* If a GPU is throttled, adds its lower clock to the sentence. found: indexed
 * by cause; strength 0: not found. */
void cause_say_reason(const struct cause_subject *subject,
                      struct jp_cause found[JP_CAUSES]);

/* Writes the sentence look->why. */
void cause_say_look(const struct cause_subject *subject,
                    const struct jp_causes *causes, struct jp_cause_look *look);

#endif
