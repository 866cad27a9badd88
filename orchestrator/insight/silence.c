/* silence.c - how long nothing was recorded at the end of the step, and at most
 * before.
 *
 * The run is cut into SLOTS slots; a slot is marked if a record was written in
 * it. The longest row of empty slots is the longest silence, in O(operations)
 * time and without sorting.
 */
#include "orchestrator/insight/looks.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/limits.h"

/* Slots of the run: the silence before is measured to 2/4096 of the run. */
#define SLOTS 4096

/* Returns true if the status of at least one task is known and none is an
 * error. */
static bool ended_well(const struct jp_nodes *nodes)
{
    bool known = false;

    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++) {
            if (nodes->nodes[i].tasks[k].status)
                return false;
            known = true;
        }
    return known;
}

/* Returns true if every node has left the time of its finish; of a step that is
 * over one node's is enough, as the others may have been killed. */
static bool is_known(const struct jp_nodes *nodes)
{
    size_t n = 0;

    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        n += nodes->nodes[i].finish_us > 0;
    return n > 0 && (nodes->over || n == nodes->n_nodes);
}

/* What is measured: by which clock, and when the step ended on that clock. */
struct measure {
    const struct jp_result *r;
    /* only operations of this host count, because its clock is ahead; NULL: all
     * clocks agree */
    const char *host;
    uint64_t first, last; /* times of the first and last record */
    uint64_t end;         /* end of the step */
};

static bool has_host(const struct jp_comm *comm, const char *host)
{
    for (size_t i = 0; i < comm->n_hosts; i++)
        if (!strcmp(comm->hosts[i], host))
            return true;
    return false;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

    return x < y ? -1 : x > y;
}

/* Returns the median time between the first and the last rank's record of an
 * operation between nodes, in us: about how far their clocks differ. 0: there
 * is none. At most SLOTS operations are sampled. at: room for SLOTS. */
static uint64_t find_apart(const struct jp_result *r, struct ops_reader *reader,
                           uint64_t *at)
{
    size_t n = 0, step = r->n_ops / SLOTS + 1;

    for (size_t i = 0; i < r->n_ops && n < SLOTS; i += step) {
        const struct jp_op *op = ops_at(reader, i);

        if (op->comm < r->n_comms && r->comms[op->comm].n_hosts > 1 &&
            op->dump_min_us)
            at[n++] = op->dump_max_us - op->dump_min_us;
    }
    if (n)
        qsort(at, n, sizeof(*at), by_value);
    return n ? at[n / 2] : 0;
}

/* Returns the node with the latest finish by its own clock. All ranks leave an
 * operation together, so if clocks differ by more than the ends of tasks do,
 * this is the node whose clock is ahead, and its record of an operation is
 * always the last one. */
static const struct jp_node *find_ahead(const struct jp_nodes *nodes)
{
    const struct jp_node *ahead = &nodes->nodes[0];

    for (size_t i = 1; i < nodes->n_nodes; i++)
        if (nodes->nodes[i].finish_us > ahead->finish_us)
            ahead = &nodes->nodes[i];
    return ahead;
}

/* Returns true if the operation has a record by the chosen clock. The latest
 * record of an operation is by the clock that is ahead. */
static bool is_wanted(const struct measure *m, const struct jp_op *op)
{
    return op->comm < m->r->n_comms && op->dump_max_us &&
           (!m->host || has_host(&m->r->comms[op->comm], m->host));
}

/* Finds the first and last record by the chosen clock. */
static void find_span(struct measure *m, struct ops_reader *reader)
{
    m->first = UINT64_MAX;
    m->last = 0;
    for (size_t i = 0; i < m->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (!is_wanted(m, op))
            continue;
        m->first = op->dump_max_us < m->first ? op->dump_max_us : m->first;
        m->last = op->dump_max_us > m->last ? op->dump_max_us : m->last;
    }
}

/* Chooses the clock, and sets first, last and end by it. Without a chosen host
 * the end is that of the first node: until then the run was not disturbed. */
static void choose_clock(struct measure *m, const struct jp_nodes *nodes,
                         struct ops_reader *reader, uint64_t *scratch)
{
    const struct jp_node *ahead = find_ahead(nodes);

    m->first = m->r->ops->dump_first;
    m->last = m->r->ops->dump_last;
    m->end = UINT64_MAX;
    for (size_t i = 0; i < nodes->n_nodes; i++)
        if (nodes->nodes[i].finish_us && nodes->nodes[i].finish_us < m->end)
            m->end = nodes->nodes[i].finish_us;
    /* Clocks that agree to `clock_apart_min`, the time that Inspector may take
     * to write a record, are taken as one. */
    if (nodes->n_nodes < 2 || (double) find_apart(m->r, reader, scratch) <
                                  limits_get(JP_LIMIT_CLOCK_APART))
        return;
    m->host = ahead->hostname ? ahead->hostname : "";
    find_span(m, reader);
    m->end = ahead->finish_us;
    if (m->last) /* it has records */
        return;
    m->host = NULL;
    m->first = m->last = m->end;
}

static uint64_t slot_us(const struct measure *m)
{
    return (m->last - m->first) / SLOTS + 1;
}

/* Marks the slot in which a record was written. */
static void mark_slot(bool *slots, const struct measure *m, uint64_t at)
{
    if (at >= m->first && at <= m->last)
        slots[(at - m->first) / slot_us(m)] = true;
}

/* Returns the longest silence in us, rounded up: a false short one would make
 * the silence at the end look unusual, and a pause look like a hang. */
static uint64_t longest_of(const bool *slots, const struct measure *m)
{
    size_t longest = 0, n = 0;

    for (size_t i = 0; i < SLOTS; i++) {
        n = slots[i] ? 0 : n + 1;
        longest = n > longest ? n : longest;
    }
    /* The two records may lie at the far ends of their slots. */
    return slot_us(m) * (longest + 2);
}

/* Returns the longest part of the run in which no rank wrote a record. */
static uint64_t measure_before(const struct measure *m,
                               struct ops_reader *reader, bool *slots)
{
    for (size_t i = 0; i < m->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (!is_wanted(m, op))
            continue;
        if (!m->host)
            mark_slot(slots, m, op->dump_min_us);
        mark_slot(slots, m, op->dump_max_us);
    }
    return longest_of(slots, m);
}

static int measure(const struct jp_result *result, const struct jp_nodes *nodes,
                   struct jp_silence *silence)
{
    bool *slots = calloc(SLOTS, sizeof(*slots));
    uint64_t *scratch = calloc(SLOTS, sizeof(*scratch));
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    struct measure m = {.r = result};
    int rc = slots && scratch && reader ? 0 : -1;

    if (rc == 0) {
        reader->ops = result->ops;
        ops_want(reader, OPS_DUMP);
        choose_clock(&m, nodes, reader, scratch);
        silence->us = m.last && m.end > m.last ? m.end - m.last : 0;
        if (silence->us)
            silence->before_us = measure_before(&m, reader, slots);
    }
    free(slots);
    free(scratch);
    free(reader);
    return rc;
}

int silence_measure(const struct jp_result *result,
                    const struct jp_nodes *nodes, struct jp_silence *silence)
{
    *silence = (struct jp_silence){.ended_well = ended_well(nodes),
                                   .known = is_known(nodes)};
    if (!result->ops || !silence->known)
        return 0;
    return measure(result, nodes, silence);
}
