/* cmd_plan_rate.c - how fast collectives came in one communicator. */
#include "orchestrator/cmd/cmd_plan.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/report/summary_file.h"

#define SECOND_US UINT64_C(1000000)
/* The shortest slice that tells something: NVIDIA's profilers stamp records
 * when they write them, in bunches; the recorder stamps each operation, and
 * empties its buffers ten times a second. */
#define SHORTEST_US SECOND_US
#define SHORTEST_RECORDER_US (SECOND_US / 10)

/* Operations of one communicator in one slice of time. */
struct slice {
    uint64_t comm, from, to, ops;
};

static int by_slice(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static int read_slice(const json_t *row, size_t i, struct slice *out,
                      struct jp_error *err)
{
    *out = (struct slice){0};
    if (!summary_file_count(row, "comm_index", &out->comm) ||
        !summary_file_count(row, "t0_us", &out->from) ||
        !summary_file_count(row, "t1_us", &out->to) ||
        !summary_file_count(row, "ops", &out->ops) || out->to <= out->from)
        return error_set(err, "windows[%zu]: not a slice of time", i);
    return 0;
}

/* Slices are merged to the shortest at least. A shorter run is one slice. */
static uint64_t slice_length(const struct slice *slices, size_t n,
                             uint64_t shortest)
{
    uint64_t from = UINT64_MAX, to = 0, width = slices[0].to - slices[0].from;

    for (size_t i = 0; i < n; i++) {
        from = slices[i].from < from ? slices[i].from : from;
        to = slices[i].to > to ? slices[i].to : to;
    }
    if (to - from < shortest)
        return to - from;
    return width < shortest ? (shortest - 1) / width * width + width : width;
}

static uint64_t per_second(uint64_t ops, uint64_t time_us)
{
    double rate = (double) ops * (double) SECOND_US / (double) time_us;

    return rate < 1e15 ? (uint64_t) rate + 1 : 0;
}

/* The most operations in any stretch of that length. Slices are sorted by
 * communicator and start. */
static void take_peak(struct plan_measured *m, const struct slice *slices,
                      size_t n, uint64_t length)
{
    uint64_t most = 0, ops = 0;
    size_t first = 0;

    for (size_t i = 0; i < n; i++) {
        for (; slices[first].comm != slices[i].comm ||
               slices[i].from - slices[first].from >= length;
             first++)
            ops -= slices[first].ops;
        ops += slices[i].ops;
        most = ops > most ? ops : most;
    }
    m->slice_us = length;
    m->rate = per_second(most, length);
}

/* No times in the records: what a communicator did, over the time that its
 * operations took. It was at most so busy. */
static int take_busiest(const json_t *root, struct plan_measured *m,
                        struct jp_error *err)
{
    const json_t *comms = json_object_get(root, "comms");
    size_t i;
    const json_t *row;

    json_array_foreach((json_t *) comms, i, row)
    {
        uint64_t ops = 0, time_us = 0, rate;
        char where[32];

        snprintf(where, sizeof(where), "comms[%zu]", i);
        if (plan_measure_count(row, where, "ops", &ops, err) < 0 ||
            plan_measure_count(row, where, "time_us", &time_us, err) < 0)
            return -1;
        rate = time_us ? per_second(ops, time_us) : 0;
        m->rate = rate > m->rate ? rate : m->rate;
    }
    return 0;
}

int plan_measure_rate(const json_t *root, struct plan_measured *m,
                      struct jp_error *err)
{
    const json_t *rows = json_object_get(root, "windows");
    size_t n = json_array_size(rows);
    struct slice *slices;
    int rc = 0;

    if (!n)
        return take_busiest(root, m, err);
    slices = calloc(n, sizeof(*slices));
    if (!slices)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = read_slice(json_array_get(rows, i), i, &slices[i], err);
    if (rc == 0) {
        qsort(slices, n, sizeof(*slices), by_slice);
        take_peak(m, slices, n,
                  slice_length(slices, n,
                               !strcmp(m->mode, "recorder")
                                   ? SHORTEST_RECORDER_US
                                   : SHORTEST_US));
    }
    free(slices);
    return rc;
}
