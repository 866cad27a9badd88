/* operations.c - timelines of a result as the operations of its processes. */
#include "orchestrator/identity/operations.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/comms_by_id.h"

/* Several communicators may have the same id; then the numbers of ranks and
 * nodes decide, or, for a series without them, that the result has guessed
 * them. */
uint32_t operations_comm(const struct operations *o,
                         const struct timeline_series *s)
{
    const struct jp_result *r = o->result;
    const uint32_t *comms = o->comms;

    for (size_t i = comms_by_id_find(r, comms, s->id); i < r->n_comms; i++) {
        const struct jp_comm *c = &r->comms[comms[i]];

        if (strcmp(c->id, s->id) != 0)
            break;
        if (s->n_ranks ? c->n_ranks == s->n_ranks && c->nnodes == s->nnodes
                       : c->guessed)
            return comms[i];
    }
    return UINT32_MAX;
}

/* Returns the number of a function's name. Names beyond the limit share the
 * last number. */
static uint32_t find_func(struct operations *o, const char *name)
{
    uint32_t i = 0;

    while (i < o->n_funcs && strcmp(o->funcs[i], name) != 0)
        i++;
    if (i == o->n_funcs && i < OPERATIONS_FUNCS - 1) {
        o->funcs[i] = name;
        o->n_funcs++;
    }
    return i;
}

/* Fills the series of a source, and its process: that of the first series with
 * a known rank. A mixed timeline has several processes. */
static void fill_source(struct operations *o, struct operations_source *source)
{
    const struct timeline *t = source->timeline;

    for (uint32_t i = 0; i < t->n_series; i++) {
        const struct timeline_series *from = &t->series[i];
        struct operations_series *to = &source->series[i];
        size_t rank;

        to->comm = operations_comm(o, from);
        to->func = find_func(o, from->func);
        to->good = to->comm != UINT32_MAX && to->func < OPERATIONS_FUNCS - 1 &&
                   o->result->comms[to->comm].n_ranks > 1;
        if (!to->good || t->mixed || source->process != SIZE_MAX)
            continue;
        rank = processes_rank(o->processes, o->result, to->comm, from->rank);
        if (rank != SIZE_MAX)
            source->process = o->processes->of_rank[rank];
    }
}

int operations_init(struct operations *o, const struct jp_result *result,
                    const struct jp_processes *processes, bool sequences)
{
    size_t n = result->n_timelines + (sequences ? result->n_sequences : 0);
    size_t before = n - result->n_timelines, of = 0;
    int rc = -1;

    *o = (struct operations){
        .processes = processes, .result = result, .comms = comms_by_id(result)};
    o->sources = calloc(n + 1, sizeof(*o->sources));
    if (!o->comms || !o->sources)
        goto out;
    for (size_t i = 0; i < n; i++) {
        struct operations_source *source = &o->sources[of];
        const struct timeline *timeline =
            i < before ? result->sequences[i] : result->timelines[i - before];

        if (sequences && i >= before && timeline->ordered)
            continue;
        source->timeline = timeline;
        source->process = SIZE_MAX;
        source->order = i;
        source->series =
            calloc(source->timeline->n_series + 1, sizeof(*source->series));
        if (!source->series)
            goto out;
        o->n_sources = ++of;
        fill_source(o, source);
    }
    rc = 0;
out:
    if (rc < 0)
        operations_fini(o);
    return rc;
}

void operations_fini(struct operations *o)
{
    for (size_t i = 0; i < o->n_sources; i++)
        free(o->sources[i].series);
    free(o->sources);
    free(o->comms);
    *o = (struct operations){.sources = NULL};
}

static int by_process(const void *a, const void *b)
{
    const struct operations_source *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void operations_sort(struct operations *o)
{
    if (o->n_sources)
        qsort(o->sources, o->n_sources, sizeof(*o->sources), by_process);
}

int operations_open(struct operations_reader *reader,
                    const struct operations_source *source)
{
    reader->source = source;
    return timeline_reader_init(&reader->timeline, source->timeline);
}

void operations_close(struct operations_reader *reader)
{
    timeline_reader_fini(&reader->timeline);
}

bool operations_next(struct operations_reader *reader, struct operation *to)
{
    struct timeline_event e;

    while (timeline_next(&reader->timeline, &e)) {
        const struct timeline_series *from =
            &reader->source->timeline->series[e.series];
        const struct operations_series *series =
            &reader->source->series[e.series];

        if (!series->good || e.time_us > RECORD_MAX_TIME_US)
            continue;
        *to = (struct operation){.start_us = e.start_us,
                                 .time_us = e.time_us,
                                 .sn = e.sn,
                                 .bytes = e.bytes,
                                 .comm = series->comm,
                                 .func = series->func,
                                 .rank = from->rank,
                                 .peer = e.peer,
                                 .p2p = from->p2p,
                                 .sends = *from->func == 'S'};
        return true;
    }
    return false;
}

int operations_by_start(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;

    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return x->comm < y->comm ? -1 : x->comm > y->comm;
}
