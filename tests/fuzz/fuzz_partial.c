/* fuzz_partial.c - any bytes as a partial, also with right checks, to the
 * result, judged and replayed, merged with itself, judged for hangs, and
 * written again. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/partial.h"
#include "orchestrator/aggregate/timeline.h"
#include "orchestrator/replay/replay.h"
#include "orchestrator/judge/judge.h"
#include "orchestrator/report/timeline_page.h"
#include "tests/aggregate/partial_seal.h"
#include "tests/fuzz/fuzz_result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_TIMELINES = 64 };

static struct timeline *timelines[MOST_TIMELINES];
static size_t n_timelines;

/* Each cause that a replay knows is taken away. */
static void take_away(struct replay *x, const struct jp_processes *p)
{
    size_t *list = calloc(p->n + 1, sizeof(*list));
    uint32_t *stage = calloc(p->n + 1, sizeof(*stage));
    struct replay_cause causes[REPLAY_STAGES + 1];
    struct replay_gain gains[REPLAY_STAGES + 1];
    struct replay_evened evened;
    double all;

    if (!list || !stage)
        abort();
    for (size_t i = 0; i < p->n; i++) {
        list[i] = i;
        stage[i] = i % 2;
    }
    for (int kind = REPLAY_LATE; kind <= REPLAY_STAGES; kind++) {
        causes[kind] = (struct replay_cause){.kind = (enum replay_kind) kind,
                                             .processes = list,
                                             .stage = stage,
                                             .n = p->n ? 1 : 0,
                                             .comm = -1,
                                             .from_us = NAN};
        if (kind == REPLAY_STAGES)
            causes[kind].n = p->n;
    }
    if (replay_gains(x, causes, REPLAY_STAGES + 1, gains, &all) < 0)
        abort();
    for (int kind = REPLAY_LATE; kind <= REPLAY_STAGES; kind++)
        assert(isnan(gains[kind].alone) ||
               (gains[kind].alone <= 1 && gains[kind].share <= all));
    if (replay_evened(x, causes, 1, stage, 0.1, &evened) < 0)
        abort();
    assert(evened.whole <= 1 && evened.each <= 1);
    free(list);
    free(stage);
}

/* What the processes did, from the partial as from logs. */
static void replay_all(const struct jp_result *r)
{
    struct jp_result with = *r;
    struct jp_processes processes = {0};
    struct timeline_page page = {0};
    struct replay_state state;
    struct replay *x;
    struct judge *j;

    with.timelines = timelines;
    with.n_timelines = n_timelines;
    if (!n_timelines)
        return;
    if (processes_init_nodes(&processes, &with, NULL) < 0)
        abort();
    if (timeline_page_make(&with, &processes, &page) < 0)
        abort();
    for (size_t i = 0; i < page.n_rows * page.n_bins; i++)
        assert(page.cells[i].kind <= page.n_kinds && page.cells[i].busy <= 15 &&
               page.cells[i].waits <= 15);
    timeline_page_fini(&page);
    j = judge_run(&with, &processes, 0);
    if (!j)
        abort();
    assert(!j->n || j->usable);
    judge_destroy(j);
    x = replay_create(&with, &processes, &state);
    if (!x)
        abort();
    assert(state.events <= REPLAY_EVENTS);
    if (state.usable)
        take_away(x, &processes);
    replay_destroy(x);
    processes_fini(&processes);
}

/* The whole way to a result. */
static void finish(struct join *join, struct partial *partial)
{
    size_t n = partial->n_files;
    struct jp_logfile *logs = calloc(n + 1, sizeof(*logs));
    struct source_facts *files = calloc(n + 1, sizeof(*files));
    struct jp_logwalk walk = {.logs = logs, .n_logs = n};

    if (!logs || !files)
        abort();
    n_timelines = 0;
    for (size_t i = 0; i < n; i++) {
        logs[i].path = partial->files[i].path;
        files[i] = partial->files[i].read;
        partial->files[i].read.busy = NULL; /* the result frees it */
        if (files[i].timeline && n_timelines < MOST_TIMELINES)
            timelines[n_timelines++] = files[i].timeline;
    }
    fuzz_result(join, &walk, files, replay_all);
    free(files);
    free(logs);
}

static struct join *load(const void *bytes, size_t n,
                         struct join_budget *budget, struct partial **partial)
{
    struct jp_error err = {""};
    struct join *join = NULL;

    *partial = partial_open_bytes(bytes, n, &err);
    if (*partial && n % 2) /* cut, as a node's of a large step */
        (*partial)->timeline_events = n % 64;
    if (*partial)
        join = partial_load(*partial, budget, &err);
    if (!join)
        assert(*err.text);
    return join;
}

/* What its recordings tell of hangs; *n how many. */
static struct hangs_evidence *load_hangs(const void *bytes, size_t size,
                                         size_t *n)
{
    struct partial *partial = partial_open_bytes(bytes, size, NULL);
    struct hangs_evidence *all = NULL;

    if (partial)
        all = partial_load_hangs(partial, n, NULL);
    partial_close(partial);
    return all;
}

/* Two nodes that say the same: the answer is told of each group. */
static void judge(const void *bytes, size_t size)
{
    size_t n = 0;
    struct hangs_evidence *all = load_hangs(bytes, size, &n);
    struct jp_hangs hangs = {0};
    struct hangs_sum sum = {.hangs = &hangs};
    char text[700];

    assert(all);
    for (size_t i = 0; i < 2 * n; i++)
        if (hangs_sum_add(&sum, &all[i % n]) < 0)
            abort();
    if (hangs_sum_finish(&sum) < 0)
        abort();
    assert(hangs.n_processes == 2 * n);
    for (size_t i = 0; i < hangs.n_groups; i++) {
        const struct hangs_group *group = &hangs.groups[i];

        assert(group->n_ops > 0 && group->age_ns >= -1);
        assert(*hangs_answer_of(&hangs, group, text, sizeof(text)));
    }
    hangs_sum_fini(&sum);
    hangs_fini(&hangs);
    partial_free_hangs(all, n);
}

static void write_files(FILE *f, struct join *join,
                        const struct partial *partial,
                        struct hangs_evidence *hangs)
{
    size_t n = partial->n_files;
    struct jp_logfile *logs = calloc(n + 1, sizeof(*logs));
    struct source_facts *files = calloc(n + 1, sizeof(*files));
    struct jp_logwalk walk = {.logs = logs, .n_logs = n};

    if (!logs || !files)
        abort();
    for (size_t i = 0; i < n; i++) {
        logs[i].path = partial->files[i].path;
        logs[i].size = partial->files[i].size;
        files[i] = partial->files[i].read;
        if (files[i].has_counters)
            files[i].evidence = hangs++;
    }
    if (partial_write(f, join, &walk, 0, files, NULL) < 0)
        abort();
    free(files);
    free(logs);
}

/* What was read can be written and is the same then. */
static void write_again(const void *bytes, size_t n, struct join_budget *budget)
{
    struct partial *partial, *same;
    struct join *join = load(bytes, n, budget, &partial), *again;
    struct hangs_evidence *hangs;
    uint64_t records;
    char *text = NULL;
    size_t len = 0, n_hangs = 0;
    FILE *f;

    if (!join || budget->journal_off) {
        join_destroy(join);
        partial_close(partial);
        return;
    }
    join_sort_strays(join);
    records = join->coll_records;
    hangs = load_hangs(bytes, n, &n_hangs);
    f = open_memstream(&text, &len);
    if (!f || !hangs)
        abort();
    write_files(f, join, partial, hangs);
    if (fclose(f))
        abort();
    partial_free_hangs(hangs, n_hangs);
    join_destroy(join);
    partial_close(partial);
    budget->used = budget->journal_used = budget->kernels_used = 0;
    again = load(text, len, budget, &same);
    assert(again && again->coll_records == records);
    join_destroy(again);
    partial_close(same);
    free(text);
}

static void try_bytes(const void *bytes, size_t n)
{
    struct join_budget budget = {.limit = 64 << 20, .journal_limit = 16 << 20};
    struct join *into = join_create(&budget, false), *join;
    struct partial *partial, *twin;

    if (!into)
        abort();
    join = load(bytes, n, &budget, &partial);
    if (join) {
        judge(bytes, n);
        join_sort_strays(join);
        if (join_merge(into, join) == JOIN_OK) {
            join_sort_strays(into);
            finish(into, partial);
        }
        join_destroy(join);
        join_destroy(into);
        into = join_create(&budget, false);
        budget.used = budget.journal_used = budget.kernels_used = 0;
        for (int i = 0; into && i < 2; i++) { /* two that are one: a conflict */
            join = load(bytes, n, &budget, &twin);
            if (join)
                join_merge(into, join);
            join_destroy(join);
            partial_close(twin);
        }
        budget.used = budget.journal_used = budget.kernels_used = 0;
        budget.journal_off = budget.kernels_off = false;
        write_again(bytes, n, &budget);
    }
    join_destroy(into);
    join_phases_fini(&budget);
    partial_close(partial);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *sealed = malloc(size + 1);

    if (!sealed)
        abort();
    try_bytes(data, size);
    if (size > 0) {
        memcpy(sealed, data, size);
        try_bytes(sealed, partial_seal(sealed, size));
    }
    free(sealed);
    return 0;
}
