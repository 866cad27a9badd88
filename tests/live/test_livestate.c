/* test_livestate.c - the state of a running step for a watching program, from
 * snapshots that the live module has packed. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "orchestrator/live/livestate.h"
#include "tests/common/tempdir.h"
#include "tests/live/makestep.h"

#define NOW UINT64_C(1700000000000000000)
#define SECOND UINT64_C(1000000000)

static void watch(struct livestate *state, const char *dir, uint32_t nodes)
{
    struct livestate_place place = {.dir = dir, .nodes = nodes};

    hung_times_set(&place.times, 30000);
    livestate_init(state, &place);
}

static int look(struct livestate *state, uint64_t after_s)
{
    const struct livestate_time now = {NOW + after_s * SECOND,
                                       1000000 + after_s * 1000};

    return livestate_look(state, &now, NULL);
}

static void make(const char *dir, uint32_t nodes, uint32_t ranks,
                 enum makestep_kind kind, uint32_t who)
{
    const struct makestep step = {nodes, ranks, kind, who, NOW, 0};

    assert_int_equal(makestep_write(&step, dir), 0);
}

/* Overwrites a snapshot. */
static void put_snap(const char *path, const uint8_t *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0 && n > 0);
    assert_int_equal(pwrite(fd, bytes, n, 0), n);
    close(fd);
}

static const struct livestate_rank *rank_of(const struct livestate *state,
                                            int64_t rank)
{
    for (size_t i = 0; i < state->n_ranks; i++)
        if (state->ranks[i].rank == rank)
            return &state->ranks[i];
    fail();
    return NULL;
}

/* Each kind, with 8 and 512 ranks: the verdict, and the rank that is named. */
static void words(void **state)
{
    static const struct {
        uint32_t nodes, ranks;
        enum makestep_kind kind;
        uint32_t who;
        enum livestate_word word;
        const char *text;
    } rows[] = {
        {2, 4, MAKESTEP_OK, 0, LIVESTATE_OK, "8 ranks on 2 nodes"},
        {2, 4, MAKESTEP_HANG, 5, LIVESTATE_SUSPECT,
         "rank 5 (n2 pid 30005) never entered AllReduce 900 of dp"},
        {2, 4, MAKESTEP_LATE, 6, LIVESTATE_SLOW,
         "rank 6 (n2 pid 30006) makes the others wait in dp"},
        {2, 4, MAKESTEP_GONE, 1, LIVESTATE_TROUBLE,
         "rank 1 (n1 pid 30001) is gone"},
        {2, 4, MAKESTEP_ENDED, 0, LIVESTATE_ENDED, "have ended"},
        {64, 8, MAKESTEP_OK, 0, LIVESTATE_OK, "512 ranks on 64 nodes"},
        {64, 8, MAKESTEP_HANG, 401, LIVESTATE_SUSPECT,
         "rank 401 (n51 pid 30401) never entered"},
        {64, 8, MAKESTEP_LATE, 510, LIVESTATE_SLOW, "rank 510 (n64 "},
        {64, 8, MAKESTEP_GONE, 77, LIVESTATE_TROUBLE, "rank 77 (n10 "},
        {64, 8, MAKESTEP_ENDED, 0, LIVESTATE_ENDED, "have ended"},
    };
    struct livestate s;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char name[16], *dir;

        snprintf(name, sizeof(name), "step-%zu", i);
        dir = tempdir_path(*state, name);
        assert_int_equal(mkdir(dir, 0700), 0);
        make(dir, rows[i].nodes, rows[i].ranks, rows[i].kind, rows[i].who);
        watch(&s, dir, rows[i].nodes);
        assert_int_equal(look(&s, 1), 1);
        assert_string_equal(livestate_words[s.word],
                            livestate_words[rows[i].word]);
        assert_non_null(strstr(s.text, rows[i].text));
        assert_int_equal(s.n_ranks, rows[i].nodes * rows[i].ranks);
        assert_int_equal(s.n_silent, 0);
        assert_int_equal(rank_of(&s, rows[i].who)->keeps,
                         rows[i].kind == MAKESTEP_HANG);
        assert_int_equal(rank_of(&s, rows[i].who)->late,
                         rows[i].kind == MAKESTEP_LATE);
        livestate_fini(&s);
        free(dir);
    }
}

/* The operation in flight, its age, and what a rank does most. */
static void figures(void **state)
{
    const struct livestate_rank *rank;
    struct livestate s;

    make(*state, 2, 4, MAKESTEP_HANG, 5);
    watch(&s, *state, 2);
    assert_int_equal(look(&s, 3), 1);
    rank = rank_of(&s, 0);
    assert_true(rank->in_flight);
    assert_string_equal(rank->func, "AllReduce");
    assert_string_equal(rank->comm, "dp");
    assert_int_equal(rank->age_ns / (int64_t) SECOND, 100);
    assert_int_equal(rank->seq, 900);
    assert_int_equal(s.waited_ms, 103000);
    assert_int_equal(s.nodes[0].age_ms, 3000);
    assert_false(rank_of(&s, 5)->in_flight);
    make(*state, 2, 4, MAKESTEP_OK, 0);
    assert_int_equal(look(&s, 3), 1);
    rank = rank_of(&s, 0);
    assert_false(rank->in_flight);
    assert_string_equal(rank->func, "AllReduce");
    assert_true(rank->busbw_gbs > 3 && rank->busbw_gbs < 4);
    livestate_fini(&s);
}

/* Later looks confirm the hang as the rule does, and so does node 0's report.
 * After progress the old report no longer counts. */
static void confirmed(void **state)
{
    char *alerts;
    struct livestate s;
    struct makestep step = {2, 4, MAKESTEP_HANG, 5, NOW, 0};

    assert_int_equal(makestep_write(&step, *state), 0);
    watch(&s, *state, 2);
    for (uint64_t t = 1; t < 80; t += 5) {
        assert_int_equal(look(&s, t < 20 ? t : 15), 1);
        assert_string_equal(livestate_words[s.word], "SUSPECT");
        if (t >= 20) { /* only the monotonic clock advances */
            const struct livestate_time now = {NOW + 15 * SECOND,
                                               1000000 + t * 1000};

            assert_int_equal(livestate_look(&s, &now, NULL), 1);
            if (s.word == LIVESTATE_HANG)
                break;
        }
    }
    assert_string_equal(livestate_words[s.word], "HANG");
    livestate_fini(&s);

    watch(&s, *state, 2);
    alerts = tempdir_file(*state, "live/alerts.jsonl", 0600,
                          "{\"version\":1,\"event\":\"suspect\"}\n"
                          "{\"version\":1,\"event\":\"hang\"}\n");
    assert_int_equal(look(&s, 1), 1);
    assert_string_equal(livestate_words[s.word], "HANG");
    livestate_fini(&s);
    watch(&s, *state, 2);
    make(*state, 2, 4, MAKESTEP_OK, 0);
    assert_int_equal(look(&s, 1), 1);
    assert_string_equal(livestate_words[s.word], "OK");
    livestate_fini(&s);
    free(alerts);
}

/* A silent node, one that never wrote, torn and foreign files. */
static void silent(void **state)
{
    struct livestate s;
    char *torn, *foreign;

    make(*state, 3, 4, MAKESTEP_OK, 0);
    watch(&s, *state, 4);
    s.place.conf = 5; /* that of the snapshots is unknown */
    assert_int_equal(look(&s, 1), 1);
    assert_int_equal(s.n_silent, 1);
    assert_string_equal(livestate_words[s.word], "UNJUDGED");
    assert_non_null(strstr(s.text, "waiting for data of 1 of 4 nodes"));
    torn = tempdir_path(*state, "live/nodes/1.2.snap");
    assert_int_equal(truncate(torn, 200), 0);
    foreign = tempdir_file(*state, "live/nodes/9.9.snap", 0600, "JPLIVE");
    assert_int_equal(look(&s, 1), 1);
    assert_int_equal(s.n_nodes, 2);
    assert_int_equal(s.n_bad, 2);
    assert_int_equal(s.n_silent, 2);
    assert_true(s.waits);
    assert_int_equal(look(&s, 60), 1); /* due every 5 s */
    assert_true(s.nodes[0].stale);
    assert_int_equal(s.n_silent, 4);
    assert_string_equal(livestate_words[s.word], "UNJUDGED");
    livestate_fini(&s);
    free(torn);
    free(foreign);
}

/* No all-clear by old data, or without all ranks, or before they were judged.
 */
static void too_early(void **state)
{
    struct makestep step = {2, 4, MAKESTEP_OK, 0, NOW, 30000};
    struct live_snap *snap = calloc(1, sizeof(*snap));
    char *second = tempdir_path(*state, "live/nodes/1.1.snap");
    uint8_t bytes[LIVE_SNAP_BYTES];
    struct livestate s;

    assert_non_null(snap);
    assert_int_equal(makestep_write(&step, *state), 0);
    watch(&s, *state, 2);
    assert_int_equal(look(&s, 8), 1); /* not stale: due after 30 s */
    assert_int_equal(s.n_silent, 0);
    assert_string_equal(livestate_words[s.word], "UNJUDGED");
    assert_non_null(strstr(s.text, "data that is 8 s old (n1)"));
    assert_true(s.waits);
    assert_int_equal(look(&s, 3), 1);
    assert_string_equal(livestate_words[s.word], "OK");
    assert_false(s.waits);
    /* a late rank is named by old data, too */
    step.kind = MAKESTEP_LATE;
    step.who = 6;
    assert_int_equal(makestep_write(&step, *state), 0);
    assert_int_equal(look(&s, 8), 1);
    assert_string_equal(livestate_words[s.word], "SLOW");
    step.kind = MAKESTEP_OK;

    /* nothing of the second node's ranks */
    assert_int_equal(makestep_write(&step, *state), 0);
    makestep_snap(&step, 1, snap);
    snap->n_ranks = snap->n_fronts = snap->n_ops = 0;
    put_snap(second, bytes, livesnap_pack(snap, bytes));
    assert_int_equal(look(&s, 1), 1);
    assert_string_equal(livestate_words[s.word], "UNJUDGED");
    assert_non_null(strstr(s.text, "in 4 of 8 ranks"));
    /* they are there, and none has completed an operation recently */
    for (uint32_t node = 0; node < 2; node++) {
        char name[32], *path;

        makestep_snap(&step, node, snap);
        for (uint32_t i = 0; i < snap->n_ranks; i++)
            snap->ranks[i].share_permille = 0;
        snprintf(name, sizeof(name), "live/nodes/1.%u.snap", node);
        path = tempdir_path(*state, name);
        put_snap(path, bytes, livesnap_pack(snap, bytes));
        free(path);
    }
    assert_int_equal(look(&s, 1), 1);
    assert_string_equal(livestate_words[s.word], "UNJUDGED");
    assert_non_null(strstr(s.text, "late ranks cannot be judged yet"));
    assert_false(s.waits);
    livestate_fini(&s);
    /* one rank: nothing can be judged */
    step.nodes = step.ranks = 1;
    free(second);
    second = tempdir_path(*state, "one");
    assert_int_equal(mkdir(second, 0700), 0);
    assert_int_equal(makestep_write(&step, second), 0);
    watch(&s, second, 1);
    assert_int_equal(look(&s, 1), 1);
    assert_string_equal(livestate_words[s.word], "UNJUDGED");
    assert_non_null(strstr(s.text, "only one rank"));
    livestate_fini(&s);
    free(second);
    free(snap);
}

/* Files that an earlier step has left in the same directory. */
static void earlier(void **state)
{
    char *name = tempdir_path(*state, "live/nodes/1.2.snap");
    uint8_t bytes[LIVE_SNAP_BYTES];
    struct livestate s;
    int fd;

    make(*state, 3, 4, MAKESTEP_OK, 0);
    watch(&s, *state, 3);
    s.place.conf = 5;
    assert_int_equal(look(&s, 1), 1);
    assert_int_equal(s.n_nodes, 3);
    s.snap->conf = 6; /* the last one that was read */
    fd = open(name, O_WRONLY | O_CLOEXEC);
    assert_int_equal(livesnap_pack(s.snap, bytes) > 0, true);
    assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
    close(fd);
    assert_int_equal(look(&s, 1), 1);
    assert_int_equal(s.n_nodes, 2);
    assert_int_equal(s.n_silent, 1);
    assert_int_equal(s.n_bad, 0);
    livestate_fini(&s);
    free(name);
}

static void nothing_there(void **state)
{
    struct livestate s;
    char *live = tempdir_path(*state, "live"), *file;

    watch(&s, *state, 1);
    assert_int_equal(look(&s, 1), 0);
    assert_int_equal(mkdir(live, 0700), 0);
    assert_int_equal(look(&s, 1), 0);
    file = tempdir_file(*state, "live/nodes", 0600, "a file");
    assert_int_equal(look(&s, 1), -1);
    livestate_fini(&s);
    free(file);
    free(live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(figures, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(confirmed, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(silent, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(too_early, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(earlier, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(nothing_there, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
