/* test_nccldebug.c - NCCL's log: ranks, GPUs, devices and channels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/topo/nccldebug.h"
#include "tests/common/tempdir.h"

#define N(array) (sizeof(array) / sizeof(*(array)))
#define INFO "n1:10:11 [0] NCCL INFO "

static struct nccldebug_told feed(struct nccldebug *log,
                                  const char *const *lines)
{
    for (; *lines; lines++)
        assert_int_equal(nccldebug_line(log, *lines, strlen(*lines)), 0);
    return nccldebug_finish(log);
}

static void test_prefixes(void **state)
{
    static const struct {
        const char *line, *host;
        int64_t pid, tid;
    } rows[] = {
        {"n1:10:11 [0] NCCL INFO x", "n1", 10, 11},
        {"[rank3]: 2026-01-02 03:04:05 n1.site.org:10:11 [7] NCCL INFO x",
         "n1.site.org", 10, 11},
        {"[2026-01-02 03:04:05] n1:10:11 [0] NCCL INFO x", "n1", 10, 11},
        {"n1:10:11 [-1] NCCL INFO x", "n1", 10, 11},
        {"[1,0]<stdout>:n1:10:11 [0] NCCL INFO x", "n1", 10, 11},
        {"[1,3]<stderr>: n1:10:11 [0] NCCL INFO x", "n1", 10, 11},
        {"n1:10 [0] NCCL INFO x", NULL, 0, 0},
        {"n1:x:11 [0] NCCL INFO x", NULL, 0, 0},
        {"n1:10:11[0] NCCL INFO x", NULL, 0, 0},
        {"n1:10:11 NCCL INFO x", NULL, 0, 0},
        {"n1:10:11 [0] NCCL WARN x", NULL, 0, 0},
        {"n1:99999999999:11 [0] NCCL INFO x", NULL, 0, 0},
        {"a/b:10:11 [0] NCCL INFO x", NULL, 0, 0},
        {":10:11 [0] NCCL INFO x", NULL, 0, 0},
        {"] NCCL INFO x", NULL, 0, 0},
        {" NCCL INFO ", NULL, 0, 0},
        {"", NULL, 0, 0},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        struct nccltext_line line;
        bool good = nccltext_read(rows[i].line, strlen(rows[i].line), &line);

        print_message("# %s\n", rows[i].line);
        assert_int_equal(good, rows[i].host != NULL);
        if (!good)
            continue;
        assert_int_equal(line.host.n, strlen(rows[i].host));
        assert_memory_equal(line.host.at, rows[i].host, line.host.n);
        assert_int_equal(line.pid, rows[i].pid);
        assert_int_equal(line.tid, rows[i].tid);
        assert_int_equal(line.said.n, 1);
        assert_memory_equal(line.said.at, "x", 1);
    }
}

/* The lines of releases from 2.12 to 2.30, and what is none. */
static void test_inits(void **state)
{
    static const struct {
        const char *line;
        unsigned rank, n_ranks; /* n_ranks 0: no rank is told */
        const char *busid, *id;
    } rows[] = {
        {INFO "comm 0x7f0 rank 0 nranks 4 cudaDev 0 busId 7000 - Init COMPLETE",
         0, 4, "0000:07:00.0", ""},
        {INFO "comm 0x55d0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 4e000 "
              "commId 0xadcb40d61cc1bc4b - Init COMPLETE",
         3, 8, "0000:4e:00.0", "0xadcb40d61cc1bc"},
        {INFO "[Rank 5] ncclCommInitRank comm 0x55d0 rank 5 nranks 8 cudaDev 1 "
              "nvmlDev 5 busId 101a0010 commId 0x1f - Init START",
         5, 8, "0101:a0:01.0", "0x1f"},
        {INFO "ncclCommSplit comm 0x5f rank 1 nranks 2 cudaDev 1 nvmlDev 1 "
              "busId 2a000 parent 0x5e childCount 1 color 0 key 1 - Init "
              "COMPLETE",
         1, 2, "0000:2a:00.0", ""},
        {INFO "comm 0x5f rank 0 nranks 2 cudaDev 0 nvmlDev 0 - Init COMPLETE",
         0, 2, "", ""},
        {INFO "comm 0x5f rank 0 nranks 2 busId zz commId 0xg - Init COMPLETE",
         0, 2, "", ""},
        {INFO "comm 0x5f rank 0 nranks 2 busId ffffffffffffffffff - Init "
              "COMPLETE",
         0, 2, "", ""},
        {INFO "comm 0x5f rank 2 nranks 2 busId 1a000 - Init COMPLETE", 0, 0,
         NULL, NULL},
        {INFO "comm 0x5f rank -1 nranks 2 busId 1a000 - Init COMPLETE", 0, 0,
         NULL, NULL},
        {INFO "comm 0x5f rank 1 nranks 99999999999 - Init COMPLETE", 0, 0, NULL,
         NULL},
        {INFO "comm 0x5f rank 1 nranks 2 busId 1a000 - Destroy COMPLETE", 0, 0,
         NULL, NULL},
        {"rank 1 nranks 2 busId 1a000 - Init COMPLETE", 0, 0, NULL, NULL},
    };

    (void) state;
    for (size_t i = 0; i < N(rows); i++) {
        const char *lines[] = {rows[i].line, NULL};
        struct nccldebug *log = nccldebug_create();
        struct nccldebug_told told;
        const struct jp_nccl_rank *ranks;
        size_t n;

        print_message("# %s\n", rows[i].line);
        told = feed(log, lines);
        ranks = told.ranks;
        n = told.n_ranks;
        assert_int_equal(n, rows[i].n_ranks ? 1 : 0);
        if (n) {
            assert_int_equal(ranks[0].rank, rows[i].rank);
            assert_int_equal(ranks[0].n_ranks, rows[i].n_ranks);
            assert_string_equal(ranks[0].busid, rows[i].busid);
            assert_string_equal(ranks[0].id, rows[i].id);
        }
        nccldebug_destroy(log);
    }
}

static const char *const channels[] = {
    INFO
    "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1:0:2/RoCE [RO]; OOB ib0:1<0>",
    INFO "NET/Socket : Using [0]eth0:10.0.0.1<0> [1]ib0:fe80::1%ib0<0>",
    INFO "NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=1 ndevs=2",
    NULL};

static const struct {
    const char *said;
    enum jp_nccl_via via; /* JP_N_VIAS: no path */
    unsigned rank, peer;
    const char *detail, *device;
    bool gdr;
} said[] = {
    {"Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM", JP_VIA_P2P, 3, 4, "CUMEM", "",
     false},
    {"Channel 00 : 3[7000] -> 4[b000] via P2P/IPC", JP_VIA_P2P, 3, 4, "IPC", "",
     false},
    {"Channel 01/1 : 0[0] -> 1[1] via P2P/direct pointer/read", JP_VIA_P2P, 0,
     1, "direct pointer", "", false},
    {"Channel 01/1 : 0[0] -> 5[1] via P2P/indirect/3[3]", JP_VIA_P2P, 0, 5,
     "indirect", "", false},
    {"Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", JP_VIA_SHM, 0, 1,
     "direct", "", false},
    {"Channel 02/0 : 3[3] -> 8[0] [send] via NET/IB/0(2)/GDRDMA/Shared",
     JP_VIA_NET, 3, 8, "IB", "mlx5_0", true},
    {"Channel 02/0 : 3[3] -> 8[0] [receive] via NET/IB/1/GDRDMA(PCI)",
     JP_VIA_NET, 8, 3, "IB", "mlx5_1", true},
    {"Channel 02/0 : 3[3] -> 8[0] [send] via NET/IB/2", JP_VIA_NET, 3, 8, "IB",
     "mlx5_0+mlx5_1", false},
    {"Channel 02/0 : 3[3] -> 8[0] [send] via NET/IBext_v8/0/GDRDMA", JP_VIA_NET,
     3, 8, "IBext_v8", "mlx5_0", true},
    {"Channel 02/0 : 3[3] -> 8[0] [send] via NET/Socket/1", JP_VIA_NET, 3, 8,
     "Socket", "ib0", false},
    {"Channel 02/0 : 3[3] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA",
     JP_VIA_NET, 3, 8, "AWS Libfabric", "", true},
    {"Channel 02/0 : 3[3] -> 8[0] [send] via NET/FasTrak/0(4)/GDRDMA",
     JP_VIA_NET, 3, 8, "FasTrak", "", true},
    {"Channel 00 : 0[1b000] -> 1[1c000] via direct shared memory", JP_VIA_SHM,
     0, 1, "direct", "", false},
    {"Channel 00/0 : 3[a] -> 4[b] via P2P/IPC comm 0x55 nRanks 16", JP_VIA_P2P,
     3, 4, "IPC", "", false},
    {"Channel 00/0 : 3[a] -> 8[b] [send] via NET/IB/1/GDRDMA/Shared comm 0x55 "
     "nRanks 16",
     JP_VIA_NET, 3, 8, "IB", "mlx5_1", true},
    {"CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA", JP_VIA_COLLNET, 3,
     NCCLDEBUG_NO_PEER, "SHARP", "", true},
    {"Channel 02/0 : 3[3] -> 8[0] [send] via NET/IB/77", JP_VIA_NET, 3, 8, "IB",
     "", false},
    {"Channel 00/0 : 3[3] -> 4[4] via P2P", JP_VIA_P2P, 3, 4, "", "", false},
    {"Channel 00/0 : 3[3] -> 4[4] via MAGIC/x", JP_N_VIAS, 0, 0, "", "", false},
    {"Channel 00/0 : 3[3 -> 4[4] via P2P/IPC", JP_N_VIAS, 0, 0, "", "", false},
    {"Channel 00/0 : -1[3] -> 4[4] via P2P/IPC", JP_N_VIAS, 0, 0, "", "",
     false},
    {"Channel 00/0 : 3 via ", JP_N_VIAS, 0, 0, "", "", false},
    {"Channel 00/32 : 0 1 2 3", JP_N_VIAS, 0, 0, "", "", false},
};

static void test_channels(void **state)
{
    (void) state;
    for (size_t i = 0; i < N(said); i++) {
        struct nccldebug *log = nccldebug_create();
        struct nccldebug_told told;
        const struct jp_nccl_path *paths;
        char text[200];
        size_t n;

        print_message("# %s\n", said[i].said);
        feed(log, channels);
        snprintf(text, sizeof(text), "%s%s", INFO, said[i].said);
        assert_int_equal(nccldebug_line(log, text, strlen(text)), 0);
        assert_int_equal(nccldebug_line(log, text, strlen(text)), 0);
        told = nccldebug_finish(log);
        paths = told.paths;
        n = told.n_paths;
        assert_int_equal(n, said[i].via == JP_N_VIAS ? 0 : 1);
        if (n) {
            assert_int_equal(paths[0].via, said[i].via);
            assert_int_equal(paths[0].rank, said[i].rank);
            assert_int_equal(paths[0].peer, said[i].peer);
            assert_string_equal(paths[0].detail, said[i].detail);
            assert_string_equal(paths[0].device, said[i].device);
            assert_int_equal(paths[0].gdr, said[i].gdr);
            assert_int_equal(paths[0].lines, 2);
        }
        nccldebug_destroy(log);
    }
}

/* To which communicator a channel belongs. */
static void test_ties(void **state)
{
    static const char *const lines[] = {
        INFO "comm 0x1 rank 1 nranks 8 busId 1a000 commId 0xaa - Init START",
        "n1:10:12 [0] NCCL INFO comm 0x2 rank 1 nranks 2 busId 1a000 commId "
        "0xbb - Init START",
        INFO "Channel 00/0 : 1[0] -> 2[1] via P2P/IPC",
        "n1:10:12 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[1] via P2P/IPC",
        INFO "comm 0x1 rank 1 nranks 8 busId 1a000 commId 0xaa - Init COMPLETE",
        "n1:10:12 [0] NCCL INFO comm 0x2 rank 1 nranks 2 busId 1a000 commId "
        "0xbb - Init COMPLETE",
        /* later, by other threads: 7 is a peer of 0xaa only, 0 of both */
        "n1:10:13 [0] NCCL INFO Channel 00/0 : 1[0] -> 7[1] via NET/IB/0",
        "n1:10:13 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[1] via SHM/direct",
        "n1:10:13 [0] NCCL INFO Channel 00/0 : 3[0] -> 0[1] via SHM/direct",
        /* another process, with the same ranks */
        "n1:20:21 [0] NCCL INFO comm 0x1 rank 2 nranks 8 busId 2a000 commId "
        "0xaa - Init COMPLETE",
        "n1:20:21 [0] NCCL INFO Channel 00/0 : 2[0] -> 7[1] via NET/IB/0",
        NULL};
    static const char *const ids[] = {"0xaa", "0xbb", "0xaa", "-", "-", "0xaa"};
    struct nccldebug *log = nccldebug_create();
    struct nccldebug_told told;
    const struct jp_nccl_rank *ranks;
    const struct jp_nccl_path *paths;
    size_t n, n_ranks;

    (void) state;
    told = feed(log, lines);
    ranks = told.ranks;
    n_ranks = told.n_ranks;
    assert_int_equal(n_ranks, 3);
    paths = told.paths;
    n = told.n_paths;
    assert_int_equal(n, N(ids));
    for (size_t i = 0; i < n; i++) {
        const char *id =
            paths[i].comm == NCCLDEBUG_NO_COMM ? "-" : ranks[paths[i].comm].id;

        assert_string_equal(id, ids[i]);
    }
    assert_int_equal(told.n_processes, 2);
    nccldebug_destroy(log);
}

/* What carries a communicator: its channels, NVLS, SHARP, other ranks'
 * adapters. */
static void test_carriers(void **state)
{
    static const char *const lines[] = {
        INFO "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB e:1",
        INFO "ncclCommInitRank comm 0x1 rank 1 nranks 8 commId 0xaa - Init "
             "START",
        INFO "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p "
             "channels, 2 p2p channels per peer",
        INFO "comm 0x1 rank 1 nranks 8 commId 0xaa - Init COMPLETE",
        INFO "comm 0x2 rank 0 nranks 2 commId 0xbb - Init START",
        INFO "8 coll channels, 8 collnet channels, 0 nvls channels, 8 p2p "
             "channels, 2 p2p channels per peer",
        INFO "comm 0x2 rank 0 nranks 2 commId 0xbb - Init COMPLETE",
        /* later, by other threads */
        "n1:10:13 [0] NCCL INFO NVLS comm 0x1 headRank 0 nHeads 8 buffSize 1",
        "n1:10:13 [0] NCCL INFO rank 1 Connected CollNet", /* of which one? */
        "n1:20:21 [0] NCCL INFO comm 0x1 rank 2 nranks 8 commId 0xaa - Init "
        "COMPLETE",
        "n1:20:22 [0] NCCL INFO rank 2 Connected CollNet",
        INFO "Channel 00/0 : 1[0] -> 7[0] [send] via NET/IB/5(3)/GDRDMA",
        /* RCCL names the communicator */
        "n1:10:13 [0] NCCL INFO Channel 00/0 : 0[a] -> 1[b] via P2P/IPC comm "
        "0x2 nRanks 02",
        "n1:10:13 [0] NCCL INFO 4 coll channels, ",
        "n1:10:13 [0] NCCL INFO NVLS comm 0x77 headRank 0",
        "n1:10:13 [0] NCCL INFO NVLS comm ", NULL};
    struct nccldebug *log = nccldebug_create();
    struct nccldebug_told told;
    const struct jp_nccl_rank *r;
    const struct jp_nccl_path *p;
    size_t n;

    (void) state;
    told = feed(log, lines);
    r = told.ranks;
    n = told.n_ranks;
    assert_int_equal(n, 3);
    assert_true(r[0].told_channels && r[0].nvls && !r[0].collnet);
    assert_int_equal(r[0].nvls_channels, 16);
    assert_true(r[1].told_channels && !r[1].nvls && !r[1].collnet);
    assert_int_equal(r[1].nvls_channels, 0);
    assert_true(!r[2].told_channels && !r[2].nvls && r[2].collnet);
    p = told.paths;
    n = told.n_paths;
    assert_int_equal(n, 2);
    assert_true(p[0].pxn && p[0].gdr);
    assert_string_equal(p[0].device, "");
    assert_string_equal(p[0].layer, "RoCE"); /* all of them are */
    assert_int_equal(p[1].comm, 1);
    assert_false(p[1].pxn);
    nccldebug_destroy(log);
}

/* A file whose lines meet the ends of buffers, one far too long, no last end.
 */
static void test_file(void **state)
{
    char *path = tempdir_path(*state, "log");
    struct nccldebug *log = nccldebug_create();
    struct nccldebug_told told;
    const struct jp_nccl_path *paths;
    const struct jp_nccl_rank *ranks;
    FILE *file = fopen(path, "w");
    uint64_t lines = 0;
    size_t n;

    for (int i = 0; i < 4000; i++)
        fprintf(file, "%sChannel %02d/0 : 0[0] -> 1[1] via P2P/IPC\n", INFO, i);
    fputs(INFO "Channel 00/0 : 0[0] -> 2[1] via P2P/IPC", file);
    for (int i = 0; i < 300000; i++)
        fputc('x', file);
    fputs("\n" INFO "comm 0x1 rank 0 nranks 3 busId 1a000 commId 0xaa - Init "
          "COMPLETE",
          file);
    fclose(file);
    assert_int_equal(nccldebug_file(log, path, UINT64_MAX, NULL), 0);
    told = nccldebug_finish(log);
    paths = told.paths;
    n = told.n_paths;
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++)
        lines += paths[i].lines;
    assert_int_equal(lines, 4001);
    ranks = told.ranks;
    n = told.n_ranks;
    assert_int_equal(n, 1);
    assert_string_equal(ranks[0].id, "0xaa");
    assert_int_equal(nccldebug_file(log, path, 0, NULL), 1); /* no time */
    assert_int_equal(nccldebug_file(log, "/nowhere", 0, NULL), -1);
    assert_int_equal(nccldebug_file(log, *state, 0, NULL), -1);
    nccldebug_destroy(log);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes), cmocka_unit_test(test_inits),
        cmocka_unit_test(test_channels), cmocka_unit_test(test_ties),
        cmocka_unit_test(test_carriers), cmocka_unit_test(test_file),
    };

    return cmocka_run_group_tests_name("nccldebug", tests, tempdir_make,
                                       tempdir_drop);
}
