/* test_rankmap.c - ranks on GPUs: what is exact, assumed and unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "orchestrator/topo/rankread.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static const char *const migs[] = {"MIG-1111-a", "MIG-1111-b"};
static const struct jp_rankmap_gpu four[] = {
    {"00000000:4A:00.0", "GPU-d", 3, NULL, 0}, /* in no order */
    {"0000:1a:00.0", "GPU-a", 0, NULL, 0},
    {"0000:2a:00.0", "GPU-b", 1, NULL, 0},
    {"0000:3a:00.0", "GPU-c", 2, NULL, 0},
};
static const struct jp_rankmap_gpu one[] = {
    {"0000:1a:00.0", "GPU-o", 0, NULL, 0}};
static const struct jp_rankmap_gpu cut[] = {
    {"0000:1a:00.0", "GPU-m", 0, migs, 2}};
static const struct jp_rankmap_node nodes[] = {
    {"n1", "host1", "boot-1", four, 4}, {"n2", "host2", "boot-2", four, 4},
    {"n3", "host3", "boot-3", one, 1},  {"n4", "host4", "boot-4", cut, 1},
    {"v1", "vm", "boot-v", one, 1}, /* two slurmd on one machine */
    {"v2", "vm", "boot-v", one, 1},
};
static const int dev0[] = {0};
static const int dev2[] = {2};
static const int dev23[] = {3, 2};
static const struct jp_rankmap_task tasks[] = {
    {"n1", "boot-1", 100, 7, 0, 0, dev2, 1, 0},
    {"n1", "boot-1", 101, 7, 1, 1, dev23, 2, 0},
    {"n1", "boot-1", 102, 7, 3, 2, dev0, 1, 0},
    {"n2", "boot-2", 200, 7, 2, 0, NULL, -1, 0},
};

#define REC JP_RANK_FROM_RECORDER
#define LOG JP_RANK_FROM_NCCL_LOG
#define NAME JP_RANK_FROM_FILE_NAME

static const struct jp_rankmap_fact facts[] = {
    /* source node host boot pid pid_ns procid localid comm rank busid uuid */
    {REC, "n1", "ctr", "boot-1", 10, 9, -1, -1, "0xa", 0, "0000:3a:00.0",
     "GPU-c"},
    {REC, "n1", "ctr", "boot-1", 10, 9, -1, -1, "0xb", 0, "0000:3A:00.0", ""},
    {REC, "n2", "other", "boot-2", 20, 9, -1, -1, "0xa", 1, "", "GPU-b"},
    /* the folder is another node's than the boot id's */
    {REC, "n1", "moved", "boot-2", 30, 9, -1, -1, "0xa", 2, "0000:1a:00.0", ""},
    /* a log only */
    {LOG, "n2", "host2", "", 40, 0, -1, -1, "", 3, "0000:4a:00.0", ""},
    /* contradiction */
    {REC, "n2", "host2", "boot-2", 50, 0, -1, -1, "0xa", 5, "0000:1a:00.0", ""},
    {LOG, "n2", "host2", "", 50, 0, -1, -1, "0xa", 5, "0000:2a:00.0", ""},
    /* threads: two GPUs in one process */
    {REC, "n2", "host2", "boot-2", 60, 0, -1, -1, "0xa", 6, "0000:1a:00.0", ""},
    {REC, "n2", "host2", "boot-2", 60, 0, -1, -1, "0xa", 7, "0000:2a:00.0", ""},
    /* MIG, of which the recorder writes GPU- */
    {REC, "n4", "host4", "boot-4", 70, 0, -1, -1, "0xa", 8, "0000:1a:00.0",
     "GPU-1111-b"},
    /* one host and pid on two nodes */
    {REC, "n1", "same", "boot-1", 1, 0, -1, -1, "0xa", 9, "0000:1a:00.0", ""},
    {REC, "n2", "same", "boot-2", 1, 0, -1, -1, "0xa", 10, "0000:2a:00.0", ""},
    /* a GPU that no record has */
    {REC, "n1", "host1", "boot-1", 80, 0, -1, -1, "0xa", 11, "0000:99:00.0",
     ""},
    /* tasks: by procid, by pid, by another pid namespace */
    {REC, "n1", "c1", "boot-1", 5, 3, 0, 0, "0xa", 12, "", ""},
    {NAME, "n1", "host1", "", 100, 0, -1, -1, "", -1, "", ""},
    {NAME, "n1", "c2", "", 100, 0, -1, -1, "", -1, "", ""},
    /* a task with another one's SLURM_PROCID */
    {REC, "n1", "host1", "boot-1", 102, 7, 0, -1, "0xa", 16, "", ""},
    {REC, "v2", "vm", "boot-v", 90, 0, -1, -1, "0xa", 15, "", ""},
    /* workers: of task 0; with another task's SLURM_PROCID */
    {REC, "n1", "host1", "boot-1", 110, 7, 0, 0, "0xa", 20, "", "", 100},
    {REC, "n1", "host1", "boot-1", 111, 7, 3, 2, "0xa", 21, "", "", 100},
};

static const struct {
    struct jp_rankmap_rank rank;
    int32_t node, gpu;
    enum jp_certainty certainty;
    enum jp_rank_source source;
    const char *busid, *why;
} rows[] = {
#define EXACT JP_SURE_EXACT
#define UNKNOWN JP_SURE_UNKNOWN
    {{"0xa", 0, 64, "ctr", 10}, 0, 3, EXACT, REC, "0000:3a:00.0", ""},
    {{"0xb", 0, 2, "ctr", 10}, 0, 3, EXACT, REC, "0000:3a:00.0", ""},
    {{"0xc", 1, 2, "ctr", 10}, 0, 3, EXACT, REC, "0000:3a:00.0", ""},
    {{"0xa", 1, 64, "other", 20}, 1, 2, EXACT, REC, "0000:2a:00.0", ""},
    {{"0xa", 2, 64, "moved", 30}, 1, 1, EXACT, REC, "0000:1a:00.0", ""},
    {{"0xa", 3, 64, "host2", 40}, 1, 0, EXACT, LOG, "0000:4a:00.0", ""},
    {{"0xa", 5, 64, "host2", 50},
     1,
     -1,
     UNKNOWN,
     JP_RANK_FROM_NOTHING,
     "",
     "recorder says 0000:1a:00.0, NCCL's log says 0000:2a:00.0"},
    {{"0xa", 6, 64, "host2", 60}, 1, 1, EXACT, REC, "0000:1a:00.0", ""},
    {{"0xa", 7, 64, "host2", 60}, 1, 2, EXACT, REC, "0000:2a:00.0", ""},
    {{"0xb", 1, 2, "host2", 60},
     1,
     -1,
     UNKNOWN,
     JP_RANK_FROM_NOTHING,
     "",
     "its GPU is not recorded"},
    {{"0xa", 8, 64, "host4", 70}, 3, 0, EXACT, REC, "0000:1a:00.0", ""},
    {{"0xa", 9, 64, "same", 1}, 0, 1, EXACT, REC, "0000:1a:00.0", ""},
    {{"0xa", 10, 64, "same", 1}, 1, 2, EXACT, REC, "0000:2a:00.0", ""},
    {{"0xb", 0, 2, "same", 1},
     -1,
     -1,
     UNKNOWN,
     JP_RANK_FROM_NOTHING,
     "",
     "its node is not recorded"},
    {{"0xa", 11, 64, "host1", 80}, 0, -1, EXACT, REC, "0000:99:00.0", ""},
    {{"0xa", 12, 64, "c1", 5},
     0,
     3,
     EXACT,
     JP_RANK_FROM_ONLY_GPU,
     "0000:3a:00.0",
     ""},
    {{"0xa", 16, 64, "host1", 102},
     0,
     1,
     EXACT,
     JP_RANK_FROM_ONLY_GPU,
     "0000:1a:00.0",
     ""},
    {{"0xa", 20, 64, "host1", 110},
     0,
     3,
     EXACT,
     JP_RANK_FROM_ONLY_GPU,
     "0000:3a:00.0",
     ""},
    {{"0xa", 21, 64, "host1", 111},
     0,
     -1,
     UNKNOWN,
     JP_RANK_FROM_NOTHING,
     "",
     "its GPU is not recorded"},
    {{"0xa", 13, 64, "host1", 100},
     0,
     3,
     EXACT,
     JP_RANK_FROM_ONLY_GPU,
     "0000:3a:00.0",
     ""},
    {{"0xa", 14, 64, "c2", 100},
     0,
     -1,
     UNKNOWN,
     JP_RANK_FROM_NOTHING,
     "",
     "its GPU is not recorded"},
    {{"0xa", 15, 64, "vm", 90},
     5,
     0,
     EXACT,
     JP_RANK_FROM_ONLY_GPU,
     "0000:1a:00.0",
     ""},
    {{"0xa", 16, 64, "host3", 1},
     2,
     0,
     EXACT,
     JP_RANK_FROM_ONLY_GPU,
     "0000:1a:00.0",
     ""},
    {{"0xa", 17, 64, "host4", 1},
     3,
     -1,
     UNKNOWN,
     JP_RANK_FROM_NOTHING,
     "",
     "its GPU is not recorded"},
    {{"0xa", 18, 64, "vm", 1},
     -1,
     -1,
     UNKNOWN,
     JP_RANK_FROM_NOTHING,
     "",
     "its node is not recorded"},
    {{"0xa", 19, 64, "nowhere", 1},
     -1,
     -1,
     UNKNOWN,
     JP_RANK_FROM_NOTHING,
     "",
     "its node is not recorded"},
};

static void test_facts(void **state)
{
    struct jp_rankmap_rank ranks[N(rows)];
    struct jp_rankmap_place places[N(rows)];
    const struct jp_rankmap_input in = {nodes, N(nodes), tasks, N(tasks),
                                        facts, N(facts), ranks, N(ranks)};

    (void) state;
    for (size_t i = 0; i < N(rows); i++)
        ranks[i] = rows[i].rank;
    assert_int_equal(rankmap_resolve(&in, places, NULL), 0);
    for (size_t i = 0; i < N(rows); i++) {
        const struct jp_rankmap_place *place = &places[i];

        print_message("# %s:%u %s/%ld: node %d gpu %d %s %s (%s) %s\n",
                      ranks[i].comm, ranks[i].rank, ranks[i].host,
                      (long) ranks[i].pid, place->node, place->gpu,
                      place->busid, rankmap_certainty_word[place->certainty],
                      rankmap_source_word[place->source], place->why);
        assert_int_equal(place->node, rows[i].node);
        assert_int_equal(place->gpu, rows[i].gpu);
        assert_int_equal(place->certainty, rows[i].certainty);
        assert_int_equal(place->source, rows[i].source);
        assert_string_equal(place->busid, rows[i].busid);
        assert_non_null(strstr(place->why, rows[i].why));
    }
    assert_string_equal(places[10].mig, "MIG-1111-b");
    assert_string_equal(places[0].mig, "");
}

/* Four ranks of a communicator on a node with four GPUs. */
static void test_order(void **state)
{
    struct jp_rankmap_rank ranks[] = {
        {"0xa", 4, 8, "host2", 44}, {"0xa", 7, 8, "host2", 47},
        {"0xa", 5, 8, "host2", 45}, {"0xa", 6, 8, "host2", 46},
        {"0xb", 1, 2, "host2", 44}, {"0xb", 0, 2, "host2", 47},
        {"0xc", 0, 8, "host2", 47}, {"0xc", 1, 8, "host2", 46},
        {"0xc", 2, 8, "host2", 45}, {"0xc", 3, 8, "host2", 44},
        {"0xa", 0, 8, "host1", 10}, {"0xa", 1, 8, "host1", 11},
        {"0xa", 2, 8, "host1", 12},
    };
    static const int32_t by_rank[] = {1, 0, 2, 3, 1, 0, 0, 3, 2, 1, -1, -1, -1};
    static const int32_t by_local[] = {0, 1, 3, 2,  0,  1, 1,
                                       2, 3, 0, -1, -1, -1};
    struct jp_rankmap_fact local[4];
    struct jp_rankmap_place places[N(ranks)];
    struct jp_rankmap_input in = {.nodes = nodes,
                                  .n_nodes = N(nodes),
                                  .ranks = ranks,
                                  .n_ranks = N(ranks)};

    (void) state;
    assert_int_equal(rankmap_resolve(&in, places, NULL), 0);
    for (size_t i = 0; i < N(ranks); i++) {
        assert_int_equal(places[i].gpu, by_rank[i]);
        assert_int_equal(places[i].certainty,
                         by_rank[i] < 0 ? JP_SURE_UNKNOWN : JP_SURE_ASSUMED);
    }
    assert_non_null(strstr(places[0].why, "by rank"));
    for (int i = 0; i < 4; i++) /* the other way round */
        local[i] = (struct jp_rankmap_fact){REC,    "n2",  "host2", "boot-2",
                                            44 + i, 0,     -1,      3 - i,
                                            "0xa",  4 + i, "",      ""};
    in.facts = local;
    in.n_facts = 4;
    assert_int_equal(rankmap_resolve(&in, places, NULL), 0);
    for (size_t i = 0; i < N(ranks); i++)
        assert_int_equal(places[i].gpu, by_local[i]);
    assert_non_null(strstr(places[0].why, "by SLURM_LOCALID"));
    for (int i = 0; i < 4; i++) /* a launcher's workers have inherited it */
        local[i].task_pid = 40;
    assert_int_equal(rankmap_resolve(&in, places, NULL), 0);
    for (size_t i = 0; i < N(ranks); i++)
        assert_int_equal(places[i].gpu, by_rank[i]);
    assert_non_null(strstr(places[0].why, "by rank"));
    ranks[3].pid = 45; /* two ranks in a process */
    in.n_facts = 0;
    assert_int_equal(rankmap_resolve(&in, places, NULL), 0);
    assert_int_equal(places[0].certainty, JP_SURE_UNKNOWN);
}

/* Of eight GPUs the tasks may open four: the order is over these. */
static void test_order_of_some(void **state)
{
    static const int some[] = {3, 1};
    static const struct jp_rankmap_task may[] = {
        {"n1", "", 1, 0, 0, 0, some, 2, 0}, {"n1", "", 2, 0, 1, 1, dev0, 1, 0}};
    static const struct jp_rankmap_rank ranks[] = {{"0xa", 0, 3, "host1", 10},
                                                   {"0xa", 1, 3, "host1", 11},
                                                   {"0xa", 2, 3, "host1", 12}};
    const struct jp_rankmap_input in = {nodes, N(nodes), may,   2,
                                        NULL,  0,        ranks, 3};
    struct jp_rankmap_place places[3];

    (void) state;
    assert_int_equal(rankmap_resolve(&in, places, NULL), 0);
    assert_int_equal(places[0].gpu, 1);
    assert_int_equal(places[1].gpu, 2);
    assert_int_equal(places[2].gpu, 0);
}

static void test_nothing(void **state)
{
    const struct jp_rankmap_input in = {.n_nodes = 0};

    (void) state;
    assert_int_equal(rankmap_resolve(&in, NULL, NULL), 0);
}

enum { MANY_NODES = 1024, MANY = MANY_NODES * 8 };

/* A job of 1,024 nodes: printed, and far from quadratic. */
static void test_many(void **state)
{
    struct jp_rankmap_node *many = calloc(MANY_NODES, sizeof(*many));
    struct jp_rankmap_fact *told = calloc(2 * MANY, sizeof(*told));
    struct jp_rankmap_task *task = calloc(MANY, sizeof(*task));
    struct jp_rankmap_rank *ranks = calloc(4 * MANY, sizeof(*ranks));
    struct jp_rankmap_place *places = calloc(4 * MANY, sizeof(*places));
    char(*names)[16] = calloc(MANY_NODES, sizeof(*names));
    const struct jp_rankmap_input in = {many, MANY_NODES, task,  MANY,
                                        told, 2 * MANY,   ranks, 4 * MANY};
    struct timespec from, to;
    double seconds;

    (void) state;
    for (int i = 0; i < MANY_NODES; i++) {
        snprintf(names[i], sizeof(names[i]), "n%d", i);
        many[i] =
            (struct jp_rankmap_node){names[i], names[i], names[i], four, 4};
    }
    for (int i = 0; i < MANY; i++) {
        task[i] = (struct jp_rankmap_task){names[i / 8], names[i / 8], i,  0, i,
                                           i % 8,        NULL,         -1, 0};
        for (int k = 0; k < 2; k++)
            told[2 * i + k] = (struct jp_rankmap_fact){REC,
                                                       names[i / 8],
                                                       names[i / 8],
                                                       names[i / 8],
                                                       i,
                                                       0,
                                                       i,
                                                       i % 8,
                                                       k ? "0xa" : "0xb",
                                                       i,
                                                       four[i % 4].busid,
                                                       ""};
        for (int k = 0; k < 4; k++)
            ranks[4 * i + k] = (struct jp_rankmap_rank){k == 0   ? "0xa"
                                                        : k == 1 ? "0xb"
                                                        : k == 2 ? "0xc"
                                                                 : "0xd",
                                                        (uint32_t) i, MANY,
                                                        names[i / 8], i};
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    assert_int_equal(rankmap_resolve(&in, places, NULL), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    for (int i = 0; i < 4 * MANY; i++) {
        assert_int_equal(places[i].certainty, JP_SURE_EXACT);
        assert_int_equal(places[i].gpu, i / 4 % 4);
        assert_int_equal(places[i].node, i / 32);
    }
    seconds = (double) (to.tv_sec - from.tv_sec) +
              (double) (to.tv_nsec - from.tv_nsec) / 1e9;
    print_message("# %d ranks of %d processes on %d nodes: %.3f s of CPU\n",
                  4 * MANY, MANY, MANY_NODES, seconds);
    assert_true(seconds < 5);
    free(many);
    free(told);
    free(task);
    free(ranks);
    free(places);
    free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),         cmocka_unit_test(test_order),
        cmocka_unit_test(test_order_of_some), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests_name("rankmap", tests, NULL, NULL);
}
