/* test_phasespans.c - ranges of threads, and the phases that they show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/phasespans.h"

enum { MAIN = 1, OTHER = 2 };

struct row {
    uint64_t thread;
    int64_t start, end;
    const char *name;
    bool annotation;
};

static void add(struct phasespans *spans, const struct row *row)
{
    const struct phasespans_range range = {.thread = row->thread,
                                           .start_ns = row->start,
                                           .end_ns = row->end,
                                           .name = row->name,
                                           .len = strlen(row->name),
                                           .is_annotation = row->annotation};

    assert_int_equal(phasespans_add(spans, &range), 0);
}

/* Whether the thread is in that phase then; "": in none. */
static void is_in(const struct phasespans *spans, uint64_t thread, int64_t ns,
                  const char *want)
{
    struct record_text name =
        phasespans_name(spans, phasespans_find(spans, thread, ns));

    if (name.len != strlen(want) || memcmp(name.text, want, name.len))
        fail_msg("thread %d at %lld: \"%.*s\", not \"%s\"", (int) thread,
                 (long long) ns, (int) name.len, name.text, want);
}

/* The outermost range counts, names that mean the same everywhere come before
 * the program's own, and a thread's own ranges before those of the main one. */
static void finds(void **state)
{
    static const struct row rows[] = {
        {MAIN, 200, 300, "Model.Forward", true},
        {MAIN, 100, 500, "my loop", true},
        {MAIN, 210, 220, "Optimizer.step#AdamW.step", false}, /* inside */
        {MAIN, 300, 400, "wait, for/it", true},
        {OTHER, 330, 360, "autograd::engine::evaluate_function: Mul", false},
        {OTHER, 340, 350, "forward", false}, /* checkpointing */
        {MAIN, 600, 700, "aten::add_backward", false},
        {MAIN, 600, 700, "nccl:forward", true},
        {MAIN, 600, 700, "an operator", false},
        {MAIN, 800, 900, " wait, for/it ", true},
        {MAIN, 950, 960, "", true},
    };
    struct phasespans spans = {.at = NULL};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        add(&spans, &rows[i]);
    phasespans_main(&spans, MAIN);
    phasespans_end(&spans);
    is_in(&spans, MAIN, 99, "");
    is_in(&spans, MAIN, 100, "my loop");
    is_in(&spans, MAIN, 200, "forward");
    is_in(&spans, MAIN, 215, "forward");
    is_in(&spans, MAIN, 300, "forward");
    is_in(&spans, MAIN, 301, "my loop");
    is_in(&spans, OTHER, 320, "my loop");
    is_in(&spans, OTHER, 345, "backward");
    is_in(&spans, OTHER, 361, "my loop");
    is_in(&spans, MAIN, 650, "");
    is_in(&spans, MAIN, 955, "");
    is_in(&spans, MAIN, 501, "");
    phasespans_fini(&spans);
}

/* Without a main thread others have only their own ranges; what a phase may not
 * have is replaced, and a name is cut. */
static void names(void **state)
{
    static const struct row rows[] = {
        {OTHER, 100, 200, "a,b/\"c\" \xc3\xa4 ", true},
        {OTHER, 300, 400, "0123456789012345678901234567890123456789", true},
    };
    struct phasespans spans = {.at = NULL};
    struct record_text name;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        add(&spans, &rows[i]);
    phasespans_end(&spans);
    is_in(&spans, MAIN, 150, "");
    name = phasespans_name(&spans, phasespans_find(&spans, OTHER, 150));
    assert_true(record_is_phase(name.text, name.len));
    assert_int_equal(name.text[0], 'a');
    is_in(&spans, OTHER, 350, "0123456789012345678901234567890");
    phasespans_fini(&spans);
}

/* More names are no phase, but those that mean the same everywhere still are;
 * more ranges are counted. */
static void has_limits(void **state)
{
    static const char *const common[] = {"forward", "backward", "optimizer"};
    enum { OWN = PHASESPANS_NAMES - 3, RANGES = PHASESPANS_MAX - OWN };
    struct phasespans spans = {.at = NULL};
    char name[32];

    (void) state;
    for (int i = 0; i < OWN + 2; i++) {
        snprintf(name, sizeof(name), "part %d", i);
        add(&spans, &(struct row){MAIN, 10 * i, 10 * i + 5, name, true});
    }
    for (int i = 0; i < RANGES + 7; i++)
        add(&spans,
            &(struct row){OTHER, 10 * i, 10 * i + 5, common[i % 3], true});
    assert_int_equal(spans.n_names, PHASESPANS_NAMES);
    assert_int_equal(spans.left, 7);
    phasespans_end(&spans);
    snprintf(name, sizeof(name), "part %d", OWN - 1);
    is_in(&spans, MAIN, 10 * (OWN - 1), name);
    is_in(&spans, MAIN, 10 * OWN, "");
    for (int i = 0; i < 3; i++)
        is_in(&spans, OTHER, 10 * i, common[i]);
    is_in(&spans, OTHER, 10 * (RANGES - 1) + 5, common[(RANGES - 1) % 3]);
    phasespans_fini(&spans);
}

/* Ranges that end before they begin, and the ends of time. */
static void takes_anything(void **state)
{
    static const struct row rows[] = {
        {MAIN, INT64_MAX, INT64_MIN, "a", true},
        {MAIN, INT64_MIN, INT64_MAX, "forward", true},
        {MAIN, 5, 3, "backward", true},
        {MAIN, INT64_MIN, INT64_MIN, "b", true},
    };
    struct phasespans spans = {.at = NULL};

    (void) state;
    phasespans_end(&spans); /* of nothing */
    is_in(&spans, MAIN, 0, "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        add(&spans, &rows[i]);
    phasespans_end(&spans);
    is_in(&spans, MAIN, INT64_MIN, "forward");
    is_in(&spans, MAIN, 4, "forward");
    is_in(&spans, MAIN, INT64_MAX, "forward");
    phasespans_fini(&spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),
        cmocka_unit_test(names),
        cmocka_unit_test(has_limits),
        cmocka_unit_test(takes_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
