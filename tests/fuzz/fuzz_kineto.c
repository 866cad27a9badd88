/* fuzz_kineto.c - any bytes as a trace of PyTorch's profiler, to the result. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/ownwork.h"
#include "plugins/kineto/kineto.h"
#include "tests/fuzz/fuzz_result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct jp_result *r)
{
    for (size_t i = 0; i < r->n_ranks; i++)
        assert(r->ranks[i].rank < r->comms[r->ranks[i].comm].n_ranks);
}

/* Stretches add up, and names are text. */
static void check_traced(const struct traced *t)
{
    const struct traced_time *all = &t->all;

    assert(t->comm_kernels <= t->kernels && t->left <= t->kernels);
    assert(all->exposed_ns <= all->comm_ns && all->own_ns <= all->length_ns);
    assert(all->own_ns + all->exposed_ns + all->idle_ns == all->length_ns);
    assert(t->n_steps <= TRACED_STEPS && t->n_names <= TRACED_NAMES);
    for (size_t i = 0; i < t->n_names; i++) {
        assert(badkind_is_text(t->names[i].name, strlen(t->names[i].name)));
        assert(t->names[i].n && (!i || t->names[i].ns <= t->names[i - 1].ns));
    }
}

static void compare(const struct traced_list *list)
{
    struct jp_ownwork own;
    char text[2 * JP_OWNWORK_TEXT];

    if (ownwork_make(list, &own) < 0)
        abort();
    ownwork_summary(&own, text);
    assert(strlen(text) < sizeof(text));
    ownwork_fini(&own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct join_budget budget = {.limit = 1 << 22, .journal_limit = 1 << 20};
    struct join *join = join_create(&budget, true);
    struct jp_logfile log = {.path = (char[]){"fuzz"}};
    struct jp_logwalk walk = {.logs = &log, .n_logs = 1};
    struct source_facts file = {0};

    if (!join)
        abort();
    kineto_begins((const char *) data, size);
    fuzz_read("kineto", "raw/n/host_12.5.pt.trace.json", false, join, data,
              size, 0, &file);
    join_sort_strays(join);
    for (size_t i = 0; i < file.traced.n; i++)
        check_traced(&file.traced.at[i]);
    compare(&file.traced);
    fuzz_result(join, &walk, &file, check);
    join_destroy(join);
    join_phases_fini(&budget);
    aggregate_clear_facts(&file);
    return 0;
}
