/* plan_rows.c - expected plans: release x mode x run x shape x memory.
 *
 * The comment above a row works out every figure by hand, from the formulas of
 * example.h, inspector.h and recorder.c and the slot sizes of
 * example_planner.c. Terms:
 *
 *   W, V     collectives and sends/receives needed in each communicator
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
#include "tests/plugins/plan_rows.h"

#include <stddef.h>

#define GIB (1ull << 30)
#define MIB (1ull << 20)

#define POOL(name) "NCCL_PROFILE_" name "_POOL_SIZE"
#define INSP(name) "NCCL_INSPECTOR_" name

/* 16 GiB of RAM, no swap, default overcommit, one rank on one node. */
#define NODE16 .node = {.ram_bytes = 16 * GIB}, .ram_known = true
#define ONE .nnodes = 1, .ntasks = 1, .ranks_per_node = 1
#define FOUR .nnodes = 4, .ntasks = 16, .ranks_per_node = 4

const struct plan_row plan_rows[] = {
    /* W = 10 x 4 / 1 = 40; T = 4 x 4,096 = 16,384. Resident 40 x 16,384 +
     * 296 x 40 + 6,656 + D 128 x 16,384 = 655,360 + 18,496 + 2,097,152 =
     * 2,771,008. Groups 8 x 40 + 1,024 = 1,344. Reserved 40 x 23,684,880 + P2P
     * 8 x 741,736 + groups 1,344 x 184 + COLL_API 40 x 112 + the rest 6,656 +
     * 128 x 23,128 = 947,395,200 + 5,933,888 + 247,296 + 4,480 + 6,656 +
     * 2,960,384. Trace 40 x (950 + 32 x 275) = 40 x 9,750. */
    {"2.30, all fits in one node",
     "example",
     "example,nccl=2.30.7,iterations=10,colls=4,comms=1",
     {ONE, NODE16},
     NULL,
     {2771008, 956547904, 390000, 40, 40, NULL},
     {{POOL("COLL"), 40},
      {POOL("GROUP_API"), 1344},
      {POOL("P2P"), 8},
      {POOL("PROXY_DETACH"), 128}},
     0},

    /* events=all on 2.30, which asks for no ProxyOps: KERNEL_LAUNCH 40 instead
     * of 8 (+ 32 x 56), PROXY_CTRL 40 / 10 but at least 16. Trace 40 x (9,750 +
     * 275) + 16 x 205. Mask 70 + 2,048 + 32. */
    {"2.30, launches and states, too",
     "example",
     "example,nccl=2.30.7,iterations=10,colls=4,comms=1,events=all",
     {ONE, NODE16},
     NULL,
     {2772800, 956549696, 404280, 40, 40, NULL},
     {{POOL("KERNEL_LAUNCH"), 40},
      {POOL("PROXY_CTRL"), 16},
      {POOL("PROXY_DETACH"), 128},
      {"NCCL_PROFILE_EVENT_MASK", 2150}},
     0},

    /* The same on 2.28: a COLL slot of 755,066,640 B. 9/10 of 16 GiB =
     * 15,461,882,265 hold 20 and not 21. Resident 20 x 16,384 + 296 x 20 +
     * 1,984 + 2,097,152. Reserved 15,101,332,800 + P2P 8 x 23,597,416 +
     * groups 1,184 x 184 + 20 x 112 + 1,984 + 128 x 737,368. */
    {"2.28, sizing goes down",
     "example",
     "example,nccl=2.28.9,iterations=10,colls=4,comms=1",
     {ONE, NODE16},
     NULL,
     {2432736, 15384717312, 195000, 40, 20,
      "the first 20 of 40 collectives of each rank, if its communicators are "
      "equally busy. The limit is one pool in RAM + swap"},
     {{POOL("COLL"), 20},
      {POOL("COLL_API"), 20},
      {POOL("P2P"), 8},
      {POOL("CE_COLL"), 8}},
     0},

    /* 8 x 755,066,640 = 6,040,533,120 are more than 0.9 x 4 GiB. */
    {"2.28 on a small node: the minimum does not fit",
     "example",
     "example,nccl=2.28,iterations=10,colls=4,comms=1",
     {ONE, .node = {.ram_bytes = 4 * GIB}},
     "needs at least 5.6 GiB (8 collectives in each of 1 communicators), but "
     "one pool in RAM + swap (vm.overcommit_memory=0) allows 3.6 GiB",
     {0},
     {{NULL, 0}},
     0},

    /* vm.overcommit_memory=1 refuses nothing: W = 40 again; reserved 40 x
     * 755,066,640 + 188,779,328 + 1,344 x 184 + 40 x 112 + 1,984 +
     * 94,383,104. */
    {"2.28, overcommit 1",
     "example",
     "example,nccl=2.28.3,iterations=10,colls=4,comms=1",
     {ONE, .node = {.ram_bytes = 4 * GIB, .overcommit = 1}},
     NULL,
     {2766336, 30486081792, 390000, 40, 40, NULL},
     {{POOL("COLL"), 40}},
     0},

    /* Overcommit 2: half of 12 GiB - 4 GiB = 4,294,967,296 for one rank. On
     * 2.30 n x (23,684,880 + 112 + 8 x 184) + 1,024 x 184 + 5,933,888 + 6,656
     * + 2,960,384 fits with n = 180: 4,263,563,520 + 9,089,344; 181 would be
     * 4,296,339,328. Resident 180 x 16,680 + 6,656 + 2,097,152. */
    {"2.30, overcommit 2",
     "example",
     "example,nccl=2.30,iterations=100,colls=4,comms=1",
     {ONE, .node = {.ram_bytes = 16 * GIB,
                    .overcommit = 2,
                    .commit_limit_bytes = 12 * GIB,
                    .committed_bytes = 4 * GIB}},
     NULL,
     {5106208, 4272652864, 1755000, 400, 180,
      "the first 180 of 400 collectives of each rank, if its communicators are "
      "equally busy. The limit is half of the node's CommitLimit"},
     {{POOL("COLL"), 180}},
     0},

    /* Four nodes, 32 channels: T = 228 pages = 933,888; a resident collective
     * takes 933,888 + 296. mem=256M = 268,435,456 over 4 communicators of
     * n x 934,184 + 6,656, and D 128 x 23,128 = 2,960,384: n = 71 gives
     * 4 x (66,327,064 + 6,656) + 2,960,384 = 268,295,264; 72 gives
     * 272,032,000. W = 200 x 64 / 4 = 3,200. Trace of one: 950 +
     * 32 x (275 + 6 x 920) = 186,390; 284 of them. */
    {"2.29.7, mem= across nodes",
     "example",
     "example,nccl=2.29.7",
     {FOUR, NODE16},
     NULL,
     {268295264, 0, 52934760, 12800, 284,
      "the first 284 of 12,800 collectives of each rank, if its communicators "
      "are equally busy. The limit is mem="},
     {{POOL("COLL"), 71}, {POOL("GROUP"), 1592}},
     0},

    /* 2.30 goes without ProxyOps (they may crash the program): T = 16,384 as
     * in one node, so RAM + swap is the limit: 652 slots of 23,684,880 B.
     * Resident 4 x (652 x 16,680 + 6,656) + 2,097,152. Trace of one 950 + 32 x
     * 275 = 9,750, of 2,608. */
    {"2.30, across nodes",
     "example",
     "example,nccl=2.30.7",
     {FOUR, NODE16},
     NULL,
     {45625216, 0, 25428000, 12800, 2608,
      "the first 2,608 of 12,800 collectives of each rank, if its "
      "communicators are equally busy. The limit is one pool in RAM + swap"},
     {{POOL("COLL"), 652}, {"NCCL_PROFILE_EVENT_MASK", 70}},
     0},

    /* channels=2: T = (4 + 2 x 7) x 4,096 = 73,728, a collective 74,024; D
     * 2,960,384 as a ProxyOp's slot is smaller than T. 652 by RAM. Resident
     * 4 x (652 x 74,024 + 6,656) + 2,960,384. Trace 950 + 2 x 5,795 = 12,540;
     * 2,608 of them. */
    {"2.29.7, few channels: one pool is the limit",
     "example",
     "example,nccl=2.29.7,channels=2",
     {FOUR, NODE16},
     NULL,
     {196041600, 0, 32704320, 12800, 2608, "the first 2,608 of 12,800 "},
     {{POOL("COLL"), 652}},
     0},

    /* events=detach: 4 x 652 / 2 = 1,304 slots of 23,128 B in the process
     * instead of 128. Resident 4 x (652 x 74,024 + 6,656) + 1,304 x 23,128. */
    {"2.29.7, room for other processes' ProxyOps",
     "example",
     "example,nccl=2.29.7,channels=2,events=detach",
     {FOUR, NODE16},
     NULL,
     {223240128, 0, 32704320, 12800, 2608, "the first 2,608 of 12,800 "},
     {{POOL("COLL"), 652},
      {POOL("PROXY_DETACH"), 1304},
      {POOL("KERNEL_LAUNCH"), 8},
      {"NCCL_PROFILE_EVENT_MASK", 78}},
     0},

    /* A quarter of 1 GiB over 4 ranks: 67,108,864 each. n = 17: 4 x
     * (15,881,128 + 6,656) + 2,960,384 = 66,511,520; 18 gives 70,248,256. */
    {"2.29.7, the step's memory",
     "example",
     "example,nccl=2.29.7",
     {FOUR, NODE16, .step_memory_bytes = GIB},
     NULL,
     {66511520, 0, 0, 12800, 68,
      "a rank's part of a quarter of the step's memory"},
     {{POOL("COLL"), 17}},
     0},

    /* All of W = 10 x 8 / 4 = 20 fits, so a communicator may have 4 times its
     * share: COLL 80, groups 8 x 80 + 1,024. Resident 4 x (20 x 16,680 +
     * 6,656) + 2,097,152. */
    {"2.30, uneven communicators",
     "example",
     "example,nccl=2.30.7,iterations=10,colls=8,comms=4",
     {ONE, NODE16},
     NULL,
     {3458176, 0, 0, 80, 80, NULL},
     {{POOL("COLL"), 80}, {POOL("GROUP_API"), 1664}},
     0},

    /* The same on 2.28 with room for 20 in a pool: once the share, no more. */
    {"2.28, uneven communicators",
     "example",
     "example,nccl=2.28.9,iterations=10,colls=8,comms=4",
     {ONE, NODE16},
     NULL,
     {3439488, 0, 0, 80, 80,
      "keeps all operations unless a communicator has more than 1 times its "
      "even share of 20"},
     {{POOL("COLL"), 20}},
     0},

    /* Many sends: 8 collectives with 8 x 2,560 / 20 = 1,024 sends would take
     * 1,024 x 933,888 B or a P2P slot's 741,736, more than mem=16M holds: v is
     * 8. n = 9: 9 x 934,184 + 8 x 741,736 + 8 x 184 + 6,656 + 2,960,384 =
     * 17,310,056... above 16,777,216, so n = 8. */
    {"2.29.7, many sends",
     "example",
     "example,nccl=2.29.7,iterations=5,colls=4,p2p=512,comms=1,mem=16M",
     {FOUR, NODE16},
     NULL,
     {16375872, 0, 0, 2580, 16,
      "the first 8 of 20 collectives and 8 of 2,560 sends and receives"},
     {{POOL("COLL"), 8}, {POOL("P2P"), 8}},
     0},

    /* Huge pages: a page is 2 MiB, T = 2 x 2,097,152 = 4,194,304. mem=1G =
     * 1,073,741,824; one communicator of n x (4,194,304 + 296) + 6,656 + D 128
     * x 23,128 = 2,960,384: n = 255 gives 1,069,623,000 + 2,967,040; one more
     * is above. */
    {"2.30, transparent huge pages",
     "example",
     "example,nccl=2.30.7,comms=1,mem=1G",
     {ONE, .node = {.ram_bytes = 16 * GIB, .huge_pages = true}},
     NULL,
     {1072590040, 0, 0, 12800, 255, "the first 255 of 12,800"},
     {{POOL("COLL"), 255}},
     0},

    /* The plugin of 2.27 turns its pools over where kernel events tell the end
     * of operations, which is not with NCCL 2.27 itself: mem=16M = 16,777,216.
     * T = 16,384 within a node, D 128 x 10,448 = 1,337,344, S = 64 n + 640. 1
     * communicator: n x 16,448 + 640 + 1,337,344 <= 16,777,216: n = 938 gives
     * 15,428,224 + 1,337,984 = 16,766,208; 939 gives 16,782,656. No p2p
     * expected. */
    {"2.27's plugin on 2.28 keeps the last",
     "example",
     "example,nccl=2.28.9,comms=1,mem=16M",
     {ONE, NODE16},
     NULL,
     {16766208, 0, 0, 12800, 938,
      "the last 938 of 12,800 collectives of each rank, if its communicators "
      "are equally busy. The limit is mem="},
     {{POOL("COLL"), 938}, {POOL("GROUP"), 938}, {POOL("P2P"), 8}},
     JP_NCCL_RELEASE(2, 27, 7)},

    /* Without kernel events slots are not given back: resident n x (16,384 +
     * 64) as before, and groups 8 n + 1,024. */
    {"2.27 keeps the first",
     "example",
     "example,nccl=2.27.7,comms=1,mem=16M",
     {ONE, NODE16},
     NULL,
     {16766208, 0, 0, 12800, 938,
      "the first 938 of 12,800 collectives of each rank, if its communicators "
      "are equally busy. The limit is mem="},
     {{POOL("COLL"), 938},
      {POOL("GROUP"), 8528},
      {POOL("P2P"), 8},
      {"NCCL_PROFILE_EVENT_MASK", 14}},
     0},

    /* With p2p, W = V = 40 and v = n: groups = COLL = 2 n and P2P = 4 n, the
     * latter cleared whole when used again: n x (2 x 16,384 + 2 x 64 + 4 x
     * 335,968) + 640 + 1,337,344 <= 16,777,216: 1,376,768 n: n = 11 gives
     * 15,144,448 + 1,337,984 = 16,482,432; 12 gives 17,859,200. */
    {"2.27's plugin on 2.28, p2p",
     "example",
     "example,nccl=2.28.9,iterations=10,colls=4,p2p=4,comms=1,mem=16M",
     {ONE, NODE16},
     NULL,
     {16482432, 0, 0, 80, 22,
      "the last 11 of 40 collectives and 11 of 40 sends and receives"},
     {{POOL("COLL"), 22}, {POOL("P2P"), 44}, {POOL("GROUP"), 22}},
     JP_NCCL_RELEASE(2, 27, 7)},

    /* 2.24 knows no KernelCh: first. 1,188,128 B a slot; 4 communicators,
     * 4 nodes, mem=8M: the minimum 4 x (8 x 933,888 + 8 x 64 + 640) + D 128 x
     * 1,160 = 30,037,504 = 28.6 MiB is refused. */
    {"2.24, below the minimum",
     "example",
     "example,nccl=2.24,mem=8M",
     {FOUR, NODE16},
     "needs at least 28.6 MiB (8 collectives in each of 4 communicators), but "
     "mem= allows 8 MiB",
     {0},
     {{NULL, 0}},
     0},

    /* 2.26 without a patch may be 2.26.3, whose slots are ten times those of
     * 2.26.2; without kernel events both keep the first. 0.9 x 16 GiB hold
     * 1,437 of 10,757,400; resident 1,437 x 16,448 + 640 + 128 x 10,504. */
    {"2.26 without a patch",
     "example",
     "example,nccl=2.26,comms=1",
     {ONE, NODE16},
     NULL,
     {24980928, 0, 0, 12800, 1437, "keeps the first 1,437 of 12,800"},
     {{POOL("COLL"), 1437}},
     0},

    /* 2.31 is planned as the newest known: as the first row. */
    {"later than known",
     "example",
     "example,nccl=2.31.2,iterations=10,colls=4,comms=1",
     {ONE, NODE16},
     NULL,
     {2771008, 956547904, 390000, 40, 40, NULL},
     {{POOL("COLL"), 40}},
     0},

    /* 4 x 8 collectives of 186,390 B x 16 ranks = 95,431,680 B. */
    {"traces do not fit",
     "example",
     "example,nccl=2.29.7,disk=1M",
     {FOUR, NODE16},
     "needs at least 91.0 MiB (8 collectives in each of 4 communicators), "
     "but disk= allows 1 MiB",
     {0},
     {{NULL, 0}},
     0},

    /* Ring >= 5,000 x 0.4 = 2,000 -> 2,048, of sends and receives 1,024. Memory
     * 4 x 2 x 3,192 x 3,072 = 78,446,592. Pending at the end: 4 x 5,000 x 0.15
     * = 3,000 of 12,800. Files 12,800 x 447 at most. */
    {"inspector 2.30",
     "inspector",
     "inspector,nccl=2.30.7",
     {FOUR, NODE16},
     NULL,
     {78446592, 78446592, 5721600, 12800, 9800,
      "up to 3,000 of 12,800 records of each rank"},
     {{INSP("DUMP_COLL_RING_SIZE"), 2048},
      {INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 100000},
      {INSP("DUMP_MIN_SIZE_BYTES"), 0},
      {INSP("REQUIRE_KERNEL_TIMING"), 0}},
     0},

    /* rate 20,000: ring 8,192 takes 235 MB and fits 256M. With mem=64M =
     * 67,108,864 no interval does with a slack of 200 or 100 ms. With 50 ms
     * 25 ms does: 20,000 x 0.1 = 2,000 -> 2,048; 4 x 2 x 3,192 x (2,048 + 256)
     * = 58,834,944. 80,000 a second are more than 60,000: a quarter is lost,
     * 9,600 are left; pending 4 x 20,000 x 0.075. */
    {"inspector, interval shortened to fit",
     "inspector",
     "inspector,nccl=2.30.7,rate=20000,mem=64M",
     {FOUR, NODE16},
     NULL,
     {58834944, 58834944, 5721600, 12800, 3600,
      "of the last 25 ms of a communicator, and those that the writing thread"},
     {{INSP("DUMP_COLL_RING_SIZE"), 2048},
      {INSP("DUMP_P2P_RING_SIZE"), 256},
      {INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 25000}},
     0},

    /* A named interval stays: rings of 4,096 and 16 do not fit 64M. */
    {"inspector, named interval does not fit",
     "inspector",
     "inspector,nccl=2.30.7,rate=20000,mem=64M,interval=100ms",
     {FOUR, NODE16},
     "Inspector's rings need 100.1 MiB for each rank",
     {0},
     {{NULL, 0}},
     0},

    /* A short interval makes no small ring: 5,000 x 0.202 = 1,010 -> 1,024.
     * Pending 4 x 5,000 x 0.051 = 1,020. */
    {"inspector, short interval",
     "inspector",
     "inspector,nccl=2.30.7,interval=1ms",
     {FOUR, NODE16},
     NULL,
     {52297728, 0, 0, 12800, 11780, "of the last 1 ms"},
     {{INSP("DUMP_COLL_RING_SIZE"), 1024}},
     0},

    /* 100 sends and receives a collective: 10,000 a second x 0.4 = 4,000 ->
     * 4,096. Memory 2 x 3,192 x (1,024 + 4,096). Pending 100 x 0.15 = 15 and
     * 10,000 x 0.15 = 1,500 of 20,200. */
    {"inspector, mostly sends and receives",
     "inspector",
     "inspector,nccl=2.30.7,iterations=200,colls=1,comms=1,p2p=100,rate=100",
     {ONE, NODE16},
     NULL,
     {32686080, 0, 9029400, 20200, 18685, "up to 1,515 of 20,200"},
     {{INSP("DUMP_COLL_RING_SIZE"), 1024}, {INSP("DUMP_P2P_RING_SIZE"), 4096}},
     0},

    /* A named ring of 256 holds 51.2 ms of each 100, and the thread is late by
     * 50: (50 + 48.8) / 150 = 65.87 % are lost, 4,369 are left, less 3,000
     * pending = 1,369. Memory 16 x 3,192 x 256. */
    {"inspector, named ring",
     "inspector",
     "inspector,nccl=2.30.7,ring=256",
     {FOUR, NODE16},
     NULL,
     {13074432, 0, 0, 12800, 1369, "and those that do not fit in the rings"},
     {{INSP("DUMP_COLL_RING_SIZE"), 256}},
     0},

    /* 2.28: one a dump. 1 / (2 x 1,000) s = 500 us, given as 500,000 "us" that
     * are taken as ns. x = 1,000 x 650e-6 = 0.65: (1 - e^-0.65) / 0.65 =
     * 0.47795423 / 0.65 = 0.735314: 9,412 of 12,800. */
    {"inspector 2.28 at 1,000 a second",
     "inspector",
     "inspector,nccl=2.28.9,rate=1000",
     {FOUR, NODE16},
     NULL,
     {0, 0, 12800 * 447, 12800, 9412,
      "about 26.5 % of the collectives are lost at 1,000 a second"},
     {{INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 500000}, {INSP("ENABLE"), 1}},
     0},

    /* 2.29.7 takes microseconds: 50. x = 10,000 x 200e-6 = 2: (1 - e^-2) / 2
     * = 0.432332: 5,533 of 12,800. */
    {"inspector 2.29.7 at 10,000 a second",
     "inspector",
     "inspector,nccl=2.29.7,rate=10000",
     {FOUR, NODE16},
     NULL,
     {0, 0, 0, 12800, 5533, "about 56.8 % of the collectives are lost"},
     {{INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 50}, {INSP("PROM_DUMP"), 0}},
     0},

    /* One iteration's 5,000 collectives come in a burst, ten times what the
     * mean rate says: ring 2 x 5,000 -> 16,384, p2p 1,024. Memory
     * 2 x 3,192 x 17,408. Pending at most 5,000 of 20,000. */
    {"inspector, bursts",
     "inspector",
     "inspector,nccl=2.30.7,iterations=4,colls=5000,comms=1",
     {ONE, NODE16},
     NULL,
     {111132672, 0, 8940000, 20000, 15000, "up to 5,000 of 20,000 records"},
     {{INSP("DUMP_COLL_RING_SIZE"), 16384}, {INSP("DUMP_P2P_RING_SIZE"), 1024}},
     0},

    /* p2p=off: no ring for it. 4 x 2 x 3,192 x (2,048 + 1). Verbose with 4
     * channels: 610 + 4 x 205 = 1,430 B. */
    {"inspector, verbose, no p2p",
     "inspector",
     "inspector,nccl=2.30.7,verbose=1,channels=4,p2p=off",
     {FOUR, NODE16},
     NULL,
     {52323264, 0, 18304000, 12800, 9800, "up to 3,000 of 12,800"},
     {{INSP("DUMP_P2P_RING_SIZE"), 1}, {INSP("ENABLE_P2P"), 0}},
     0},

    /* The library's release counts, not the program's: 2.28.9 has no rings. 1
     * / (2 x 5,000) s = 100 us as 100,000; x = 5,000 x 250e-6 = 1.25: (1 -
     * e^-1.25) / 1.25 = 0.7134952 / 1.25 = 0.570796: 7,306 of 12,800. */
    {"inspector 2.28 in NCCL 2.30",
     "inspector",
     "inspector,nccl=2.30.7",
     {FOUR, NODE16},
     NULL,
     {0, 0, 5721600, 12800, 7306, "about 42.9 % of the collectives are lost"},
     {{INSP("DUMP_THREAD_INTERVAL_MICROSECONDS"), 100000},
      {INSP("DUMP_COLL_RING_SIZE"), UINT64_MAX}},
     JP_NCCL_RELEASE(2, 28, 9)},

    /* The same for the example plugin: 2.28.9's slots, 20 in 16 GiB. */
    {"example 2.28 in NCCL 2.30",
     "example",
     "example,nccl=2.30.7,iterations=10,colls=4,comms=1",
     {ONE, NODE16},
     NULL,
     {2432736, 0, 0, 40, 20, "the first 20 of 40"},
     {{POOL("COLL"), 20}, {"NCCL_PROFILE_EVENT_MASK", 78}},
     JP_NCCL_RELEASE(2, 28, 9)},

    /* Nodes of unknown RAM: one pool takes 0.9 of the step's 1 GiB at most =
     * 966,367,641: 40 x 23,684,880 = 947,395,200 do, and a quarter of 1 GiB
     * holds the resident part. */
    {"example, unknown nodes",
     "example",
     "example,nccl=2.30.7,iterations=20,colls=4,comms=1",
     {ONE, .node = {.ram_bytes = 64 * GIB}, .step_memory_bytes = GIB},
     NULL,
     {2771008, 0, 0, 80, 40, "the first 40 of 80"},
     {{POOL("COLL"), 40}},
     0},

    /* 100,000 iterations x 64 x 447 B x 16 ranks = 45.8 GB; disk= is 10 GiB.
     * 6,400,000 records of 447 B = 2,860,800,000 B a rank. */
    {"inspector's files do not fit",
     "inspector",
     "inspector,nccl=2.30.7,iterations=100000",
     {FOUR, NODE16},
     "files would take 42.6 GiB, but disk= allows 10 GiB",
     {0},
     {{NULL, 0}},
     0},
};
const size_t plan_n_rows = sizeof(plan_rows) / sizeof(*plan_rows);
