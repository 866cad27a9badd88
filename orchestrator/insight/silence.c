/* silence.c - measure the silence at the end, and those before it. */
#include "orchestrator/insight/silence.h"

#include <stdlib.h>

#include "orchestrator/aggregate/ops.h"

/* Slots of time that the run is cut into. */
#define SLOTS 4096

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

static bool is_known(const struct jp_nodes *nodes)
{
    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        if (!nodes->nodes[i].finish_us)
            return false;
    return nodes && nodes->n_nodes;
}

/* A run that was merely ended has written until then. */
static uint64_t until_end(const struct jp_nodes *nodes, uint64_t last)
{
    uint64_t end = UINT64_MAX;

    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        end = nodes->nodes[i].finish_us < end ? nodes->nodes[i].finish_us : end;
    return nodes && nodes->n_nodes && last && end > last ? end - last : 0;
}

static uint64_t slot_us(const struct jp_ops *ops)
{
    return (ops->dump_last - ops->dump_first) / SLOTS + 1;
}

/* Marks the slot in which a record was written. */
static void mark(bool *slots, const struct jp_ops *ops, uint64_t at)
{
    if (at >= ops->dump_first && at <= ops->dump_last)
        slots[(at - ops->dump_first) / slot_us(ops)] = true;
}

static uint64_t longest_of(const bool *slots, const struct jp_ops *ops)
{
    size_t longest = 0, n = 0;

    for (size_t i = 0; i < SLOTS; i++) {
        n = slots[i] ? 0 : n + 1;
        longest = n > longest ? n : longest;
    }
    /* two marks may be at the far ends of their slots */
    return slot_us(ops) * (longest + 2);
}

/* The longest stretch of the run in which no rank wrote a record. */
static int measure_before(const struct jp_result *r, uint64_t *longest_us)
{
    bool *slots = calloc(SLOTS, sizeof(*slots));
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    int rc = -1;

    if (slots && reader) {
        reader->ops = r->ops;
        ops_want(reader, OPS_DUMP);
        for (size_t i = 0; i < r->n_ops; i++) {
            const struct jp_op *op = ops_at(reader, i);

            mark(slots, r->ops, op->dump_min_us);
            mark(slots, r->ops, op->dump_max_us);
        }
        *longest_us = longest_of(slots, r->ops);
        rc = 0;
    }
    free(slots);
    free(reader);
    return rc;
}

int silence_measure(const struct jp_result *result,
                    const struct jp_nodes *nodes, struct jp_silence *silence)
{
    const struct jp_ops *ops = result->ops;

    *silence = (struct jp_silence){.ended_well = ended_well(nodes),
                                   .known = is_known(nodes)};
    silence->us = until_end(nodes, ops ? ops->dump_last : 0);
    if (!silence->us || silence->ended_well)
        return 0;
    return measure_before(result, &silence->before_us);
}
