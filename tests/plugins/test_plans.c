/* test_plans.c - expected plans: release x mode x run x shape x memory.
 *
 * Every figure is worked out by hand in the comment above its row, from the
 * formulas of example_size.h, inspector_size.h and recorder_planner.c and from
 * the slot sizes of example_slots.c. Terms:
 *
 *   W, V     collectives and sends/receives asked for in each communicator
 *   T        touched bytes of a COLL slot: 4 pages within one node, else
 *            4 + 3 x channels pages (100 pages = 409,600 B at 32), of 4,096 B
 *   S(n, v)  small pools of one communicator, resident whole. From 2.29.3 on:
 *            n x (COLL_API 112) + (n + v) x (GROUP_API 120 + GROUP 64) +
 *            max(8, v) x (P2P_API 112) + KERNEL_LAUNCH 8 x 56 +
 *            PROXY_CTRL 16 x 40 + CE 8 x (224 + 176 + 184);
 *            S(n, 0) = 296 n + 6,656.
 *            2.28: without CE, S(n, 0) = 296 n + 1,984.
 *            Before: S = groups x 64 + 640.
 *   D        PROXY_DETACH, 128 slots of T or less
 */
#include "plugins/backend.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))
#define GIB (1ull << 30)
#define MIB (1ull << 20)

#define POOL(name) "NCCL_PROFILE_" name "_POOL_SIZE"
#define INSP(name) "NCCL_INSPECTOR_" name

struct row {
    const char *name;
    const char *backend, *option;
    struct jp_jobshape shape;
    const char *refused; /* part of the sentence; NULL: it fits */
    struct {
        uint64_t memory, reserved, disk, planned, kept;
        const char *lost; /* part of the sentence; NULL: nothing is lost */
    } forecast;
    struct {
        const char *name;
        uint64_t value;
    } env[4];
};

/* 16 GiB of RAM, no swap, default overcommit, one rank on one node. */
#define NODE16 .node = {.ram_bytes = 16 * GIB}
#define ONE .nnodes = 1, .ntasks = 1, .ranks_per_node = 1
#define FOUR .nnodes = 4, .ntasks = 16, .ranks_per_node = 4

static const struct row rows[] = {
    /* W = 10 x 4 / 1 = 40; T = 4 x 4,096 = 16,384. Resident 40 x 16,384 +
     * 296 x 40 + 6,656 + D 128 x 16,384 = 655,360 + 18,496 + 2,097,152 =
     * 2,771,008. Reserved 40 x 23,684,880 + P2P 8 x 741,736 + 18,496 +
     * 128 x 23,128 = 947,395,200 + 5,933,888 + 18,496 + 2,960,384 =
     * 956,307,968. Trace 40 x (950 + 32 x 275) = 40 x 9,750. */
    {"2.30, all fits in one node",
     "example",
     "example,nccl=2.30.7,iterations=10,colls=4,comms=1",
     {ONE, NODE16},
     NULL,
     {2771008, 956307968, 390000, 40, 40, NULL},
     {{POOL("COLL"), 40},
      {POOL("GROUP_API"), 40},
      {POOL("P2P"), 8},
      {POOL("PROXY_DETACH"), 128}}},

    /* The same on 2.28: a COLL slot of 755,066,640 B. 16 GiB =
     * 17,179,869,184 hold 22 (16,611,466,080) and not 23. Resident
     * 22 x 16,384 + 296 x 22 + 1,984 + 2,097,152 = 360,448 + 8,496 +
     * 2,097,152. Reserved 16,611,466,080 + 8 x 23,597,416 + 8,496 +
     * 128 x 737,368 = 16,611,466,080 + 188,779,328 + 8,496 + 94,383,104. */
    {"2.28, sizing goes down",
     "example",
     "example,nccl=2.28.9,iterations=10,colls=4,comms=1",
     {ONE, NODE16},
     NULL,
     {2466096, 16894637008, 214500, 40, 22,
      "first 22 of 40 collectives of each rank: the limit is RAM + swap"},
     {{POOL("COLL"), 22},
      {POOL("COLL_API"), 22},
      {POOL("P2P"), 8},
      {POOL("CE_COLL"), 8}}},

    /* 8 x 755,066,640 = 6,040,533,120 are more than 4 GiB = 4,294,967,296. */
    {"2.28 on a small node: the minimum does not fit",
     "example",
     "example,nccl=2.28,iterations=10,colls=4,comms=1",
     {ONE, .node = {.ram_bytes = 4 * GIB}},
     "8 collectives in each of 1 communicators; 1 ranks on a node); RAM + swap "
     "for one pool (vm.overcommit_memory=0) allows 4 GiB",
     {0},
     {{NULL, 0}}},

    /* vm.overcommit_memory=1 refuses nothing: W = 40 again; reserved 40 x
     * 755,066,640 + 188,779,328 + 296 x 40 + 1,984 + 94,383,104 =
     * 30,202,665,600 + 188,779,328 + 13,824 + 94,383,104. */
    {"2.28, overcommit 1",
     "example",
     "example,nccl=2.28.3,iterations=10,colls=4,comms=1",
     {ONE, .node = {.ram_bytes = 4 * GIB, .overcommit = 1}},
     NULL,
     {2766336, 30485841856, 390000, 40, 40, NULL},
     {{POOL("COLL"), 40}}},

    /* Overcommit 2: half of 12 GiB - 4 GiB = 4,294,967,296 for one rank. On
     * 2.30 n x (23,684,880 + 296) + 5,933,888 + 6,656 + 2,960,384 fits with
     * n = 180: 4,263,331,680 + 8,900,928 = 4,272,232,608; 181 would be
     * 4,295,917,784. Resident 180 x 16,680 + 6,656 + 2,097,152. */
    {"2.30, overcommit 2",
     "example",
     "example,nccl=2.30,iterations=100,colls=4,comms=1",
     {ONE, .node = {.ram_bytes = 16 * GIB,
                    .overcommit = 2,
                    .commit_limit_bytes = 12 * GIB,
                    .committed_bytes = 4 * GIB}},
     NULL,
     {5106208, 4272232608, 1755000, 400, 180,
      "first 180 of 400 collectives of each rank: the limit is half of the "
      "node's CommitLimit"},
     {{POOL("COLL"), 180}}},

    /* Four nodes, 32 channels: T = 409,600; a resident collective takes
     * 409,600 + 296. mem=256M = 268,435,456 over 4 communicators of
     * n x 409,896 + 6,656, and D 128 x 23,128 = 2,960,384: n = 161 gives
     * 4 x (65,993,256 + 6,656) + 2,960,384 = 266,960,032; 162 gives
     * 268,599,616. W = 200 x 64 / 4 = 3,200. Trace of one: 950 +
     * 32 x (275 + 2 x 920) = 68,630; 644 of them 44,197,720. */
    {"2.29.7, mem= across nodes",
     "example",
     "example,nccl=2.29.7",
     {FOUR, NODE16},
     NULL,
     {266960032, 0, 44197720, 12800, 644,
      "first 644 of 12,800 collectives of each rank: the limit is mem="},
     {{POOL("COLL"), 161}, {POOL("GROUP"), 161}}},

    /* 2.30 goes without ProxyOps (they may crash the program): T = 16,384 as
     * in one node, so RAM + swap is the limit: 725 slots of 23,684,880 B.
     * Resident 4 x (725 x 16,680 + 6,656) + 2,097,152. Trace of one 950 + 32 x
     * 275 = 9,750, of 2,900. */
    {"2.30, across nodes",
     "example",
     "example,nccl=2.30.7",
     {FOUR, NODE16},
     NULL,
     {50495776, 0, 28275000, 12800, 2900,
      "first 2,900 of 12,800 collectives of each rank: the limit is RAM + "
      "swap"},
     {{POOL("COLL"), 725}, {"NCCL_PROFILE_EVENT_MASK", 70}}},

    /* channels=2: T = (4 + 2 x 3) x 4,096 = 40,960, a collective 41,256; D
     * 2,960,384 as a ProxyOp's slot is smaller than T. n = 725 by RAM:
     * 17,179,869,184 / 23,684,880 = 725.3. Resident 4 x (725 x 41,256 +
     * 6,656) + 2,960,384 = 4 x 29,917,256 + 2,960,384 = 122,629,408. Trace
     * 950 + 2 x 2,115 = 5,180; 2,900 of them. */
    {"2.29.7, few channels: one pool is the limit",
     "example",
     "example,nccl=2.29.7,channels=2",
     {FOUR, NODE16},
     NULL,
     {122629408, 0, 15022000, 12800, 2900, "first 2,900 of 12,800 collectives"},
     {{POOL("COLL"), 725}}},

    /* A quarter of 1 GiB for 4 ranks: 67,108,864 a rank. n = 39: 4 x
     * (15,985,944 + 6,656) + 2,960,384 = 66,930,784; 40 gives 68,570,368. */
    {"2.29.7, the step's memory",
     "example",
     "example,nccl=2.29.7",
     {FOUR, NODE16, .step_memory_bytes = GIB},
     NULL,
     {66930784, 0, 0, 12800, 156, "a quarter of the step's memory on a node"},
     {{POOL("COLL"), 39}}},

    /* Huge pages: a page is 2 MiB, T = 4 x 2,097,152 = 8,388,608. mem=1G =
     * 1,073,741,824; one communicator of n x (8,388,608 + 296) + 6,656 + D
     * 2,960,384: n = 127 gives 1,065,390,808 + 2,967,040 = 1,068,357,848; one
     * more is above. */
    {"2.30, transparent huge pages",
     "example",
     "example,nccl=2.30.7,comms=1,mem=1G",
     {ONE, .node = {.ram_bytes = 16 * GIB, .huge_pages = true}},
     NULL,
     {1068357848, 0, 0, 12800, 127, "first 127 of 12,800"},
     {{POOL("COLL"), 127}}},

    /* 2.27 turns its pools over: mem=16M = 16,777,216. T = 16,384 within a
     * node, D 128 x 10,448 = 1,337,344, S = 64 n + 640. 1 communicator:
     * n x 16,448 + 640 + 1,337,344 <= 16,777,216: n = 938 gives 15,428,224 +
     * 1,337,984 = 16,766,208; 939 gives 16,782,656. No p2p expected. */
    {"2.27 keeps the last",
     "example",
     "example,nccl=2.27.7,comms=1,mem=16M",
     {ONE, NODE16},
     NULL,
     {16766208, 0, 0, 12800, 938,
      "last 938 of 12,800 collectives of each rank: the limit is mem="},
     {{POOL("COLL"), 938}, {POOL("GROUP"), 938}, {POOL("P2P"), 8}}},

    /* With p2p, W = V = 40 and v = n: groups = COLL = 2 n and P2P = 4 n, the
     * latter cleared whole when used again: n x (2 x 16,384 + 2 x 64 + 4 x
     * 335,968) + 640 + 1,337,344 <= 16,777,216: 1,376,768 n: n = 11 gives
     * 15,144,448 + 1,337,984 = 16,482,432; 12 gives 17,859,200. */
    {"2.27, p2p",
     "example",
     "example,nccl=2.27.7,iterations=10,colls=4,p2p=4,comms=1,mem=16M",
     {ONE, NODE16},
     NULL,
     {16482432, 0, 0, 80, 22, "last 11 of 40"},
     {{POOL("COLL"), 22}, {POOL("P2P"), 44}, {POOL("GROUP"), 22}}},

    /* 2.24 knows no KernelCh: first. 1,188,128 B a slot; 4 communicators,
     * 4 nodes, mem=8M = 8,388,608: D 128 x 1,160 = 148,480; T 409,600:
     * 4 x (n x (409,600 + 64) + 640) + 148,480: n = 5 gives 8,344,320, so the
     * minimum of 8 = 13,260,288 is refused. */
    {"2.24, below the minimum",
     "example",
     "example,nccl=2.24,mem=8M",
     {FOUR, NODE16},
     "needs at least 12.6 MiB resident",
     {0},
     {{NULL, 0}}},

    /* 2.26 without a patch may be 2.26.3, whose slots are ten times those of
     * 2.26.2; in 16 GiB 1,597 of 10,757,400 fit. mem=256M, one communicator
     * in one node: 16,448 n + 640 + 128 x 10,504 -> n = 16,238 by memory, so
     * RAM + swap is the limit; resident 1,597 x 16,448 + 640 + 1,344,512. */
    {"2.26 without a patch",
     "example",
     "example,nccl=2.26,comms=1",
     {ONE, NODE16},
     NULL,
     {27612608, 0, 0, 12800, 1597, "last 1,597 of 12,800"},
     {{POOL("COLL"), 1597}}},

    /* 2.31 is planned as the newest known: as the first row. */
    {"later than known",
     "example",
     "example,nccl=2.31.2,iterations=10,colls=4,comms=1",
     {ONE, NODE16},
     NULL,
     {2771008, 956307968, 390000, 40, 40, NULL},
     {{POOL("COLL"), 40}}},

    /* disk=1M over 16 ranks: 65,536 B hold no collective of 68,630 B. */
    {"traces do not fit",
     "example",
     "example,nccl=2.29.7,disk=1M",
     {FOUR, NODE16},
     "disk= allows 1 MiB",
     {0},
     {{NULL, 0}}},

    /* Ring >= 2 x 5,000 x 0.1 = 1,000 -> 1,024. Memory 4 x 4 x 3,192 x 1,024
     * = 52,297,728. Pending at the end: 4 x 500 = 2,000 of 12,800. Files
     * 10,800 x 447. */
    {"inspector 2.30",
     "inspector",
     "inspector,nccl=2.30.7",
     {FOUR, NODE16},
     NULL,
     {52297728, 52297728, 4827600, 12800, 10800,
      "up to 2,000 of 12,800 records a rank"},
     {{INSP("DUMP_COLL_RING_SIZE"), 1024},
      {INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 100000},
      {INSP("DUMP_MIN_SIZE_BYTES"), 0},
      {INSP("REQUIRE_KERNEL_TIMING"), 0}}},

    /* rate 20,000: ring 4,096 takes 209,190,912 and fits 256M; with mem=64M
     * = 67,108,864 the interval is halved twice to 25 ms: 2 x 20,000 x 0.025
     * = 1,000 -> 1,024 = 52,297,728. Pending 4 x 500. */
    {"inspector, interval shortened to fit",
     "inspector",
     "inspector,nccl=2.30.7,rate=20000,mem=64M",
     {FOUR, NODE16},
     NULL,
     {52297728, 52297728, 4827600, 12800, 10800, "in the last 25 ms"},
     {{INSP("DUMP_COLL_RING_SIZE"), 1024},
      {INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 25000}}},

    /* A named interval stays: ring 4,096 = 199.5 MiB do not fit 64M. */
    {"inspector, named interval does not fit",
     "inspector",
     "inspector,nccl=2.30.7,rate=20000,mem=64M,interval=100ms",
     {FOUR, NODE16},
     "Inspector's rings need 199.5 MiB a rank",
     {0},
     {{NULL, 0}}},

    /* A named ring of 256 for 500 in an interval keeps 256 / 500 of 12,800 =
     * 6,553, less 4 x 500 pending = 4,553. Memory 16 x 3,192 x 256. */
    {"inspector, named ring",
     "inspector",
     "inspector,nccl=2.30.7,ring=256",
     {FOUR, NODE16},
     NULL,
     {13074432, 0, 0, 12800, 4553, "and what its ring cannot hold"},
     {{INSP("DUMP_COLL_RING_SIZE"), 256}}},

    /* 2.28: one a dump. 1 / (2 x 1,000) s = 500 us, given as 500,000 "us" that
     * are taken as ns. x = 1,000 x 650e-6 = 0.65: (1 - e^-0.65) / 0.65 =
     * 0.47795423 / 0.65 = 0.735314: 9,412 of 12,800. */
    {"inspector 2.28 at 1,000 a second",
     "inspector",
     "inspector,nccl=2.28.9,rate=1000",
     {FOUR, NODE16},
     NULL,
     {0, 0, 9412 * 447, 12800, 9412,
      "about 26.5 % of the collectives at 1,000 a second"},
     {{INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 500000},
      {INSP("ENABLE"), 1}}},

    /* 2.29.7 takes microseconds: 50. x = 10,000 x 200e-6 = 2: (1 - e^-2) / 2
     * = 0.432332: 5,533 of 12,800. */
    {"inspector 2.29.7 at 10,000 a second",
     "inspector",
     "inspector,nccl=2.29.7,rate=10000",
     {FOUR, NODE16},
     NULL,
     {0, 0, 0, 12800, 5533, "about 56.8 % of the collectives"},
     {{INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 50}, {INSP("PROM_DUMP"), 0}}},

    /* 100,000 iterations x 64 x 447 B x 16 ranks = 45.8 GB; disk= is 10 GiB.
     * 6,400,000 - 2,000 records of 447 B = 2,859,906,000 B a rank. */
    {"inspector's files do not fit",
     "inspector",
     "inspector,nccl=2.30.7,iterations=100000",
     {FOUR, NODE16},
     "files would take 42.6 GiB; disk= allows 10 GiB",
     {0},
     {{NULL, 0}}},
};

static const char *no_env(void *arg, const char *name)
{
    (void) arg;
    (void) name;
    return NULL;
}

static uint64_t env_number(const struct backend_env *env, const char *name)
{
    for (size_t i = 0; i < env->n; i++)
        if (!strcmp(env->vars[i].name, name))
            return strtoull(env->vars[i].value, NULL, 10);
    return UINT64_MAX;
}

static unsigned differs(const char *row, const char *what, uint64_t is,
                        uint64_t wanted)
{
    if (is == wanted)
        return 0;
    print_error("%s: %s is %" PRIu64 ", not %" PRIu64 "\n", row, what, is,
                wanted);
    return 1;
}

static unsigned check_forecast(const struct row *row,
                               const struct backend_forecast *f)
{
    unsigned bad = 0;

    bad += differs(row->name, "memory", f->memory_bytes, row->forecast.memory);
    if (row->forecast.reserved)
        bad += differs(row->name, "reserved", f->reserved_bytes,
                       row->forecast.reserved);
    if (row->forecast.disk)
        bad += differs(row->name, "disk", f->disk_bytes, row->forecast.disk);
    bad += differs(row->name, "planned", f->planned_ops, row->forecast.planned);
    bad += differs(row->name, "kept", f->kept_ops, row->forecast.kept);
    if (row->forecast.lost ? !strstr(f->lost, row->forecast.lost)
                           : *f->lost != '\0') {
        print_error("%s: lost: %s\n", row->name, f->lost);
        bad++;
    }
    return bad;
}

static unsigned check_row(const struct row *row, const char *dir)
{
    const struct backend_planner *planner = backend_find(row->backend)->planner;
    char *site = tempdir_file(dir, "site.conf", 0600, "");
    struct plan_input from = {
        .config = site, .nccl = row->option, .env = no_env};
    struct backend_input in = {.step_dir = "/s",
                               .library = "/x.so",
                               .library_exists = true,
                               .shape = row->shape};
    struct backend_forecast f = {0};
    struct backend_env env = {0};
    struct jp_error err = {""};
    struct jp_plan plan;
    unsigned bad = 0;

    assert_int_equal(plan_make(&from, &plan, &err), 0);
    in.side = &plan.nccl;
    if (planner->size(&in, &f, &err) < 0) {
        if (!row->refused || !strstr(err.text, row->refused)) {
            print_error("%s: refused: %s\n", row->name, err.text);
            bad++;
        }
        assert_int_equal(planner->env(&in, &env, NULL), -1);
    } else if (row->refused) {
        bad += differs(row->name, "refusal", 0, 1);
    } else {
        bad += check_forecast(row, &f);
        assert_int_equal(planner->env(&in, &env, &err), 0);
        for (size_t i = 0; i < N(row->env) && row->env[i].name; i++)
            bad += differs(row->name, row->env[i].name,
                           env_number(&env, row->env[i].name),
                           row->env[i].value);
    }
    backend_env_fini(&env);
    plan_fini(&plan);
    free(site);
    return bad;
}

static void test_plans(void **state)
{
    unsigned bad = 0;

    for (size_t i = 0; i < N(rows); i++)
        bad += check_row(&rows[i], *state);
    assert_int_equal(bad, 0);
}

/* One row for genuine.sh: what to run, what is promised, the variables. */
static void print_row(const struct row *row, const char *dir)
{
    const struct backend_planner *planner = backend_find(row->backend)->planner;
    char *site = tempdir_file(dir, "site.conf", 0600, "");
    struct plan_input from = {
        .config = site, .nccl = row->option, .env = no_env};
    struct backend_input in = {.step_dir = "/s",
                               .library = "/x.so",
                               .library_exists = true,
                               .shape = row->shape};
    struct backend_forecast f = {0};
    struct backend_env env = {0};
    struct jp_plan plan;

    assert_int_equal(plan_make(&from, &plan, NULL), 0);
    in.side = &plan.nccl;
    if (planner->size(&in, &f, NULL) == 0 &&
        planner->env(&in, &env, NULL) == 0) {
        printf("%s\t%s\t%s\t%u %u", row->name, row->backend,
               plan_get(&plan.nccl, "nccl"), row->shape.ntasks,
               row->shape.ranks_per_node);
        for (const char *const *knob =
                 (const char *const[]){"iterations", "colls", "p2p", "comms",
                                       "channels", "rate", NULL};
             *knob; knob++)
            printf(" %" PRIu64, plan_number(&plan.nccl, *knob));
        printf("\t%" PRIu64 " %" PRIu64 "\t", f.kept_ops, f.memory_bytes);
        for (size_t i = 0; i < env.n; i++)
            printf("%s=%s ", env.vars[i].name, env.vars[i].value);
        putchar('\n');
    }
    backend_env_fini(&env);
    plan_fini(&plan);
    free(site);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans)};
    void *dir = NULL;

    if (argc == 2 && !strcmp(argv[1], "--print")) {
        if (tempdir_make(&dir) < 0)
            return 1;
        for (size_t i = 0; i < N(rows); i++)
            print_row(&rows[i], dir);
        return tempdir_drop(&dir) < 0;
    }
    return cmocka_run_group_tests_name("plans", tests, tempdir_make,
                                       tempdir_drop);
}
