/* test_launches.c - the time of operations that ran together is counted once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/nccl_inspector/reader.h"
#include "plugins/nccl_recorder/launches.h"

enum { MOST = 8 };

struct taken {
    struct record at[MOST];
    char func[MOST][RECORD_MAX_FUNC + 1]; /* the text of at[].func is not valid
                                           * after take */
    size_t n;
};

static int take(void *arg, const struct record *record)
{
    struct taken *t = arg;

    assert_true(t->n < MOST);
    memcpy(t->func[t->n], record->func.text, record->func.len);
    t->at[t->n++] = *record;
    return 0;
}

/* One of a launch that is enqueued from `from` to `to`; us of the GPU. */
struct one {
    const char *func;
    uint64_t bytes, from, to, first_us, last_us;
    uint64_t want_us, want_micro; /* the bandwidth; 0: not checked */
};

static struct record_text text(const char *s)
{
    return (struct record_text){s, strlen(s)};
}

static struct record record_of(const struct one *one)
{
    return (struct record){
        .id = text("0x1"),
        .name = text(""),
        .host = text("h"),
        .func = text(one->func),
        .bytes = one->bytes,
        .exec_us = one->last_us - one->first_us,
        .exec_unknown = one->last_us == one->first_us,
        .p2p = !strcmp(one->func, "Send") || !strcmp(one->func, "Recv"),
        .n_ranks = 2,
    };
}

static void check(const struct taken *taken, const struct one *all, size_t n)
{
    assert_int_equal(taken->n, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(taken->func[i], all[i].func);
        assert_int_equal(taken->at[i].bytes, all[i].bytes);
        assert_int_equal(taken->at[i].exec_us, all[i].want_us);
        assert_int_equal(taken->at[i].exec_unknown, !all[i].want_us);
        if (all[i].want_micro)
            assert_int_equal(taken->at[i].busbw_micro, all[i].want_micro);
    }
}

static void run(const struct one *all, size_t n)
{
    struct taken taken = {.n = 0};
    struct launches *l = launches_create(take, &taken);

    assert_non_null(l);
    for (size_t i = 0; i < n; i++) {
        struct record r = record_of(&all[i]);
        struct jpr_op op = {.enqueue_start_mono_ns = all[i].from,
                            .enqueue_stop_mono_ns = all[i].to,
                            .gpu_first_ns = all[i].first_us * 1000,
                            .gpu_last_ns = all[i].last_us * 1000};

        assert_int_equal(launches_add(l, &op, &r, bandwidth_find(all[i].func)),
                         0);
    }
    assert_int_equal(taken.n, 0); /* held back */
    assert_int_equal(launches_flush(l), 0);
    launches_destroy(l);
    check(&taken, all, n);
}

#define RUN(...)                                                               \
    run((const struct one[]){__VA_ARGS__},                                     \
        sizeof((const struct one[]){__VA_ARGS__}) / sizeof(struct one))

static void collectives_share_by_bytes(void **state)
{
    (void) state;
    /* 4 MB in 100 us are 40 GB/s; AllReduce of two ranks counts once */
    RUN({"AllReduce", 1000000, 10, 100, 5000, 5100, 25, 40000000},
        {"AllReduce", 2000000, 20, 110, 5000, 5100, 50, 40000000},
        {"AllReduce", 1000000, 30, 120, 5000, 5100, 25, 40000000});
    /* in the order of their ends, with another launch between, and the one that
     * began earlier last */
    RUN({"AllReduce", 3, 20, 110, 1000, 1100, 75, 0},
        {"AllReduce", 3, 300, 310, 1100, 1200, 100, 0},
        {"AllReduce", 1, 10, 100, 1000, 1100, 25, 0});
    /* parts of the time add up to it */
    RUN({"AllReduce", 1, 10, 100, 1000, 1010, 3, 0},
        {"AllReduce", 1, 20, 110, 1000, 1010, 3, 0},
        {"AllReduce", 1, 30, 120, 1000, 1010, 4, 0});
    /* batches one after the other in one launch: the whole time, once */
    RUN({"AllReduce", 1, 10, 100, 1000, 1050, 50, 0},
        {"AllReduce", 1, 20, 110, 1050, 1100, 50, 0});
}

static void others_keep_their_time(void **state)
{
    (void) state;
    /* launches of one operation */
    RUN({"AllReduce", 1, 10, 20, 1000, 1100, 100, 0},
        {"AllReduce", 1, 20, 30, 1000, 1100, 100, 0},
        {"AllReduce", 1, 30, 40, 1000, 1100, 100, 0});
    /* with one that was never enqueued to its end */
    RUN({"AllReduce", 1, 10, 100, 1000, 1100, 100, 0},
        {"AllReduce", 1, 120, 0, 1000, 1100, 100, 0});
}

/* On one rank NCCL lost a stamp: the others' shares are as on all ranks,
 * otherwise that rank would seem to be late. */
static void one_without_a_time(void **state)
{
    (void) state;
    RUN({"AllReduce", 2000000, 10, 100, 5000, 5400, 100, 20000000},
        {"AllReduce", 4000000, 20, 110, 5000, 5000, 0, 0},
        {"AllReduce", 2000000, 30, 120, 5000, 5400, 100, 20000000});
    RUN({"AllReduce", 2000000, 10, 100, 5000, 5000, 0, 0},
        {"AllReduce", 2000000, 20, 110, 5000, 5000, 0, 0});
}

static void messages_share_with_their_direction(void **state)
{
    (void) state;
    RUN({"Send", 1000, 10, 100, 5000, 5100, 50, 0},
        {"Recv", 5000, 20, 110, 5000, 5100, 100, 0},
        {"Send", 1000, 30, 120, 5001, 5101, 51, 0},
        {"Send", 1000, 40, 130, 5000, 5200, 200, 0},
        {"AllReduce", 7, 50, 140, 5000, 5100, 100, 0});
}

/* ------------------------------------------------------------ verbose logs --
 */

static void run_lines(const struct one *all, size_t n)
{
    struct taken taken = {.n = 0};
    struct neighbours *l = neighbours_create(take, &taken);

    assert_non_null(l);
    for (size_t i = 0; i < n; i++) {
        struct record r = record_of(&all[i]);
        char gone[32];

        snprintf(gone, sizeof(gone), "%s", all[i].func);
        r.func.text = gone;
        r.start_us = 1000000 + all[i].from;
        r.end_us = 1000000 + all[i].to;
        assert_int_equal(neighbours_add(l, &r), 0);
        memset(gone, 'x', sizeof(gone)); /* the reader's next line */
    }
    assert_int_equal(neighbours_flush(l), 0);
    assert_int_equal(taken.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(taken.at[i].exec_us, all[i].want_us);
    neighbours_destroy(l);
}

#define RUN_LINES(...)                                                         \
    run_lines((const struct one[]){__VA_ARGS__},                               \
              sizeof((const struct one[]){__VA_ARGS__}) / sizeof(struct one))

static void lines_of_a_batch(void **state)
{
    (void) state;
    RUN_LINES({"AllReduce", 1, 0, 100, 0, 100, 25, 0},
              {"AllReduce", 2, 1, 103, 0, 101, 50, 0},
              {"AllReduce", 1, 2, 130, 0, 100, 26, 0});
    /* one after the other, of equal time */
    RUN_LINES({"AllReduce", 1, 0, 100, 0, 100, 100, 0},
              {"AllReduce", 1, 100, 200, 0, 100, 100, 0});
    /* the host saw nothing of the time, so its stamps show nothing */
    RUN_LINES({"AllReduce", 1, 0, 1, 0, 100, 100, 0},
              {"AllReduce", 1, 2, 3, 0, 100, 100, 0});
    /* too short to decide */
    RUN_LINES({"AllReduce", 1, 0, 10, 0, 10, 10, 0},
              {"AllReduce", 1, 0, 10, 0, 10, 10, 0});
    /* each direction by itself */
    RUN_LINES({"Send", 1, 0, 100, 0, 100, 50, 0},
              {"Send", 1, 0, 100, 0, 100, 50, 0},
              {"Recv", 1, 0, 100, 0, 100, 100, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_share_by_bytes),
        cmocka_unit_test(others_keep_their_time),
        cmocka_unit_test(one_without_a_time),
        cmocka_unit_test(messages_share_with_their_direction),
        cmocka_unit_test(lines_of_a_batch),
    };

    return cmocka_run_group_tests_name("launches", tests, NULL, NULL);
}
