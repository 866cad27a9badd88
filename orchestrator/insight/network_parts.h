/* network_parts.h - what the files network*.c share. */
#ifndef JP_INSIGHT_NETWORK_PARTS_H
#define JP_INSIGHT_NETWORK_PARTS_H

#include "orchestrator/insight/network.h"

struct network {
    const struct jp_result *r;
    const struct jp_processes *p;
    const struct jp_netserieses *list;
    const struct jp_expectation *expectation; /* NULL: nothing is expected */
    struct jp_findings *findings;
    bool *slow;    /* [communicator] with a slow series of the kind at hand */
    bool *healthy; /* with series, none of them slow */
    size_t *slow_at, *healthy_at; /* [host] communicators */
    size_t *stamp;
    double likes_least; /* how much slower than its likes a link must be to be
                           seen, of any kind that was compared; 0: none was */
    bool waits;         /* late ranks forbid to compare Send and Recv */
};

/* What the series of a kind add up to. */
struct network_sum {
    size_t comms, ops;
    double excess_us, from_us, to_us;
    double error_us; /* of excess_us; NAN: not known */
    bool passed;     /* all went back at to_us */
    double ratio;    /* of times, weighed by excess */
    const struct jp_netseries *worst;
};
struct network_sum network_add_up(const struct network *w,
                                  enum netseries_course course);

/* Marks the communicators of a kind of series, and those that are well.
 * Returns how many are slow. */
size_t network_mark(struct network *w, enum netseries_course course);

/* Which node it is, if the communicators tell, or between which two: these are
 * slow together, and well with others. ", all with node X and no other" or "".
 */
void network_say_hosts(struct network *w, struct jp_finding *f, char *buf,
                       size_t size);

/* Order of communicators by what makes them alike: ranks, domains, nodes, and
 * what they run over (NCCL's type, the label). 0: they can be compared. */
int network_shape_order(const struct jp_comm *x, const struct jp_comm *y);

/* Appends what is slower than expected, else than its likes. How many findings,
 * or -1 without memory. */
int network_compare(struct network *w);

#endif
