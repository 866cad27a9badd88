/* The recorder's lines: names, numbers, bandwidths, and Inspector's own. */
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_line.h"

static void ids(void **state)
{
    static const struct {
        uint64_t hash;
        const char *id;
    } rows[] = {
        {0, "0x0"},
        {0x637d4641e086f0, "0x637d4641e086f0"},
        {0x637d4641e086f0a, "0x637d4641e086f0"}, /* 15 digits are cut */
        {UINT64_MAX, "0xffffffffffffff"},
    };
    char id[JP_REC_ID_BYTES];
    size_t i;

    (void) state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rec_comm_id(rows[i].hash, id);
        assert_string_equal(id, rows[i].id);
    }
}

static void escapes(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        const char *want;
    } rows[] = {
        {"", 8, ""},
        {"plain", 64, "plain"},
        {"plain", 4, "pla"},
        {"\"\\/\t\n", 64, "\\\"\\\\\\/\\t\\n"},
        {"a\"", 3, "a"}, /* no half escape */
        {"\x01\x1f\x7f", 64, "??\x7f"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 64,
         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xe2\x82\xac", 3, ""}, /* no half character */
        {"\xff\xc3(\xe0\x80\x80\xed\xa0\x80\xf5", 64,
         "?"
         "?(???????"},
        {"\xe2\x82", 64, "??"}, /* cut by the end */
    };
    char out[64];
    size_t i;

    (void) state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(rec_line_escape(out, rows[i].size, rows[i].text),
                         strlen(rows[i].want));
        assert_string_equal(out, rows[i].want);
    }
}

static void datatypes(void **state)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } rows[] = {
        {"ncclInt8", 1},
        {"Unknown", 1},
        {"ncclUint8", 1},
        {"ncclInt32", 4},
        {"ncclUint32", 4},
        {"ncclInt64", 8},
        {"ncclUint64", 8},
        {"ncclFloat16", 2},
        {"ncclFloat32", 4},
        {"ncclFloat64", 8},
        {"ncclBfloat16", 2},
        {"ncclFloat8e4m3", 1},
        {"ncclFloat8e5m2", 1},
        {"ncclFloat4", 0},
        {"", 0},
        {NULL, 0},
    };
    static const uint64_t v1[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1, 0, 0};
    size_t i;

    (void) state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(rec_func_type_bytes(rows[i].name), rows[i].bytes);
    for (i = 0; i < sizeof(v1) / sizeof(v1[0]); i++)
        assert_int_equal(rec_func_type_bytes_v1((unsigned) i), v1[i]);
}

static void bandwidths(void **state)
{
    static const struct {
        const char *func;
        int n_ranks;
        uint64_t bytes, us;
        double algo, bus;
    } rows[] = {
        {"AllReduce", 8, 8000000, 1000, 8.0, 14.0},
        {"AllReduce", 1, 8000000, 1000, 8.0, 0.0},
        {"AllGather", 4, 1000000, 1000, 4.0, 3.0},
        {"ReduceScatter", 4, 1000000, 1000, 4.0, 3.0},
        {"ReduceScatter", 1, 1000000, 1000, 1.0, 0.0},
        {"Broadcast", 8, 5000000, 1000, 5.0, 5.0},
        {"Reduce", 8, 5000000, 1000, 5.0, 5.0},
        {"Send", 8, 5000000, 1000, 5.0, 5.0},
        {"Recv", 8, 5000000, 1000, 5.0, 5.0},
        {"AlltoAll", 8, 5000000, 1000, 0.0, 0.0},
        {"Nonsense", 8, 5000000, 1000, 0.0, 0.0},
        {NULL, 8, 5000000, 1000, 0.0, 0.0},
        {"AllReduce", 8, 5000000, 0, 0.0, 0.0},    /* no time */
        {"AllReduce", 0, 5000000, 1000, 5.0, 0.0}, /* v1 to v3 */
        {"AllGather", 0, 5000000, 1000, 0.0, 0.0},
    };
    double algo, bus;
    size_t i;

    (void) state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rec_func_bandwidth(rec_func_find(rows[i].func), rows[i].n_ranks,
                           rows[i].bytes, rows[i].us, &algo, &bus);
        assert_true(algo > rows[i].algo - 1e-9 && algo < rows[i].algo + 1e-9);
        assert_true(bus > rows[i].bus - 1e-9 && bus < rows[i].bus + 1e-9);
    }
    assert_int_equal(rec_func_from_v1(4), rec_func_find("AllReduce"));
    assert_int_equal(rec_func_from_v1(99), rec_func_find(NULL));
}

/* ------------------------------------------------- Inspector's own lines -- */

struct genuine {
    char id[32], name[64], host[64], kind[8], func[32], source[32];
    int rank, n_ranks, n_nodes, pid, peer;
    uint64_t stamp, seq, bytes, us;
};

/* Reads a line of the samples; 0 where it is verbose or cut. */
static int read_genuine(const char *line, struct genuine *g)
{
    const char *perf = strstr(line, "_perf\":{");
    const char *peer = strstr(line, "\"p2p_peer\":");
    const char *tail;

    if (!perf || line[strlen(line) - 1] != '\n' ||
        strstr(line, "event_trace") ||
        sscanf(line,
               "{\"header\":{\"id\":\"%31[^\"]\",\"comm_name\":\"%63[^\"]\","
               "\"rank\":%d,\"n_ranks\":%d,\"nnodes\":%d},",
               g->id, g->name, &g->rank, &g->n_ranks, &g->n_nodes) != 5 ||
        sscanf(strstr(line, "\"dump_timestamp_us\""),
               "\"dump_timestamp_us\":%" SCNu64 ",\"hostname\":\"%63[^\"]\","
               "\"pid\":%d",
               &g->stamp, g->host, &g->pid) != 3 ||
        sscanf(perf, "_perf\":{\"%7[^\"]\":\"%31[^\"]\",\"%*[^\"]\":%" SCNu64,
               g->kind, g->func, &g->seq) != 3)
        return 0;
    g->peer = peer ? atoi(peer + strlen("\"p2p_peer\":")) : 0;
    tail = strstr(line, "_msg_size_bytes");
    return tail && sscanf(tail,
                          "_msg_size_bytes\":%" SCNu64 ",\"%*[^\"]\":%" SCNu64
                          ",\"%*[^\"]\":\"%31[^\"]\"",
                          &g->bytes, &g->us, g->source) == 3;
}

/* Our line for the same operation. */
static void format_genuine(const struct genuine *g, char *out, size_t size)
{
    struct jp_rec_comm_facts facts = {
        .known = true,
        .hash = strtoull(g->id, NULL, 16),
        .name = strcmp(g->name, "unknown") == 0 ? NULL : g->name,
        .rank = g->rank,
        .n_ranks = g->n_ranks,
        .n_nodes = g->n_nodes};
    struct jp_rec_comm *comm = rec_comm_create(&facts);
    struct jp_rec_record record = {
        .comm = comm,
        .seq = g->seq,
        .bytes = g->bytes,
        .exec_us = g->us,
        .done_us = g->stamp,
        .peer = g->peer,
        .func = (uint8_t) rec_func_find(g->func),
        .is_p2p = strcmp(g->kind, "p2p") == 0,
        .source = strcmp(g->source, "kernel_gpu") == 0 ? JP_REC_KERNEL_GPU
                                                       : JP_REC_COLLECTIVE_CPU};
    struct jp_rec_process process = {.pid = g->pid};
    size_t n;

    assert_non_null(comm);
    strcpy(process.hostname, g->host);
    n = rec_line_format(out, size, &process, &record);
    out[n] = '\0';
}

/* Both lines without the revision, which is another one. */
static void compare(const char *ours, const char *theirs)
{
    const char *a = strstr(ours, "\"git_rev\":\"");
    const char *b = strstr(theirs, "\"git_rev\":\"");

    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a - ours, b - theirs);
    assert_memory_equal(ours, theirs, a - ours);
    assert_string_equal(strstr(a, "\",\"rec_mech"), strstr(b, "\",\"rec_mech"));
}

static void genuine_lines(void **state)
{
    static char line[65536], ours[65536];
    char pattern[4096];
    const char *shared = getenv("JOBPROF_SHARED");
    const char *top = getenv("top_srcdir");
    struct genuine g;
    glob_t files;
    int n = 0;
    size_t i;

    (void) state;
    snprintf(pattern, sizeof(pattern), "%s%s/samples/inspector/*/*.log",
             shared ? shared
             : top  ? top
                    : ".",
             shared ? "" : "/../shared");
    if (glob(pattern, 0, NULL, &files) != 0) {
        /* cmocka's skip() prints "not ok", which automake counts as failed */
        print_message("# skipped: no genuine output at %s\n", pattern);
        return;
    }
    for (i = 0; i < files.gl_pathc; i++) {
        FILE *f = fopen(files.gl_pathv[i], "r");

        while (f && fgets(line, sizeof(line), f)) {
            if (!read_genuine(line, &g))
                continue;
            format_genuine(&g, ours, sizeof(ours));
            compare(ours, line);
            n++;
        }
        if (f)
            fclose(f);
    }
    globfree(&files);
    print_message("# %d genuine lines are ours, byte for byte\n", n);
    assert_true(n > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids),           cmocka_unit_test(escapes),
        cmocka_unit_test(datatypes),     cmocka_unit_test(bandwidths),
        cmocka_unit_test(genuine_lines),
    };

    return cmocka_run_group_tests_name("recorder lines", tests, NULL, NULL);
}
