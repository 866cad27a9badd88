/* test_trace.c - the example plugin's traces: dialects, damage, records. */
#include "plugins/nccl_example/example_reader.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/fileio.h"

/* A source over memory that hands out `step` bytes at a time. */
struct source {
    const char *bytes;
    size_t n, step;
};

static ssize_t fill(void *arg, char *buf, size_t cap)
{
    struct source *s = arg;
    size_t n = s->n < s->step ? s->n : s->step;

    if (n > cap)
        n = cap;
    if (n)
        memcpy(buf, s->bytes, n);
    s->bytes += n;
    s->n -= n;
    return (ssize_t) n;
}

static const char *time_name(enum trace_time time)
{
    static const char *const names[] = {"none", "proxy", "host", "gpu"};

    return names[time];
}

/* All operations of a trace, a line each; bad ones as "bad LINE WHY". */
static char *list(const char *bytes, size_t n, size_t step, bool *cut)
{
    struct source source = {bytes, n, step};
    struct trace_reader *reader = calloc(1, sizeof(*reader));
    enum trace_status status;
    struct trace_op op;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(reader);
    trace_read_init(reader, fill, &source);
    while ((status = trace_read_next(reader, &op)) <= TRACE_OP_BAD) {
        if (status == TRACE_OP_BAD)
            fprintf(out, "bad %" PRIu64 " %s\n", reader->line, reader->why);
        else
            fprintf(out,
                    "%s %" PRIx64 ".%" PRIu64 " %s%" PRIu64 " %" PRIu64
                    " B, %" PRIu64 " ns %s %" PRIu32 "/%" PRIu32 "%s; %s/%s "
                    "%" PRIu64 " pid %" PRId64 " at %" PRIu64 "\n",
                    op.func, op.comm_hash, op.rank,
                    op.p2p  ? "peer "
                    : op.ce ? "CE "
                            : "#",
                    op.p2p ? op.peer : op.seq, op.count * op.elem_bytes,
                    op.exec_ns, time_name(op.time), op.kernels_timed,
                    op.kernels, op.ended ? "" : " open", op.algo, op.proto,
                    op.channels, op.pid, op.start_ns);
    }
    assert_int_equal(status, TRACE_OP_END);
    if (cut)
        *cut = reader->cut;
    fclose(out);
    free(reader);
    return text;
}

static char *fixture(const char *name, size_t *n)
{
    const char *top = getenv("top_srcdir");
    char *path =
        text_format("%s/tests/aggregate/traces/%s", top ? top : ".", name);
    struct jp_error err = {""};
    char *text = NULL;

    if (fileio_read(path, false, 1 << 20, &text, n, &err) < 0)
        fail_msg("%s", err.text);
    free(path);
    return text;
}

static const struct {
    const char *name, *ops;
} dialects[] = {
    {"2.23.txt",
     "AllReduce 123456789abcdef.1 #7 4096 B, 42250 ns proxy 0/0; Ring/Simple 2 "
     "pid 41 at 11000\n"
     "Send 123456789abcdef.1 peer 2 64 B, 0 ns none 0/0; / 0 pid 41 at "
     "13000\n"},
    {"2.26.txt",
     "AllGather 5.0 #0 100 B, 0 ns none 0/0; RING/LL 2 pid 42 at 11000\n"
     "AllGather 5.0 #1 100 B, 0 ns none 0/0; RING/LL 2 pid 42 at 13000\n"},
    {"2.27.json",
     "ReduceScatter 8a07aed05ae9a051.3 #3 1048576 B, 50512 ns gpu 2/2; "
     "RING/SIMPLE 2 pid 43 at 25270\n"
     "Recv 8a07aed05ae9a051.3 peer 1 128 B, 10359 ns gpu 1/1; / 1 pid 43 at "
     "26980\n"},
    {"2.28.json", "AllReduce 5.0 #0 1048576 B, 29672 ns gpu 1/2; RING/SIMPLE 2 "
                  "pid 44 at 19310\n"},
    {"2.30.json",
     "AllReduce 5.1 #0 1048576 B, 31672 ns gpu 1/2; RING/SIMPLE 2 "
     "pid 45 at 19310\n"
     "AllGather 0.0 CE 0 64 B, 0 ns none 0/0; MC/ 0 pid 45 at 40000\n"},
    {"ce_5_0.json",
     "AllGather 0.0 CE 3 2097152 B, 812000 ns gpu 0/0; UC/ 0 pid 46 at 40500\n"
     "AlltoAll 0.0 CE 4 4096 B, 0 ns none 0/0; MC/ 0 pid 46 at 0\n"
     "AllReduce 5.0 #0 16 B, 1000 ns gpu 1/1; RING/LL 1 pid 46 at 50000\n"},
    {"host.json", "Broadcast 5.0 #2 40 B, 11375 ns host 1/2; RING/LL128 2 pid "
                  "46 at 19310\n"},
    {"keys.json", "NewColl fffffffffffffffe.4 #18446744073709551614 7 B, 5000 "
                  "ns gpu 1/1; / 1 pid 47 at 1500\n"},
};
#define DIALECTS (sizeof(dialects) / sizeof(*dialects))

static void reads_every_dialect(void **state)
{
    (void) state;
    for (size_t i = 0; i < DIALECTS; i++) {
        size_t n;
        char *text = fixture(dialects[i].name, &n);

        for (size_t step = 1; step <= n; step = step * 7 + 1) {
            bool cut;
            char *ops = list(text, n, step, &cut);

            assert_string_equal(ops, dialects[i].ops);
            assert_false(cut);
            free(ops);
        }
        free(text);
    }
}

/* A file that ends anywhere gives whole lines of the full list, at most one
 * operation that is still open, and nothing bad. */
static void cut_at_every_byte(void **state)
{
    (void) state;
    for (size_t i = 0; i < DIALECTS; i++) {
        size_t n, end;
        char *text = fixture(dialects[i].name, &n);

        for (end = n; text[end - 1] != ']'; end--)
            ;
        for (size_t at = 0; at < n; at++) {
            bool cut;
            char *ops = list(text, at, SIZE_MAX, &cut), *last;
            size_t len = strlen(ops);

            assert_int_equal(cut, at < end);
            assert_null(strstr(ops, "bad "));
            last = strstr(ops, " open");
            while (last && last > ops && last[-1] != '\n')
                last--;
            if (last)
                assert_ptr_equal(strchr(last, '\n'), ops + len - 1);
            assert_memory_equal(ops, dialects[i].ops,
                                last ? (size_t) (last - ops) : len);
            free(ops);
        }
        free(text);
    }
}

#define BEGIN                                                                  \
    "{\"name\":\"AllReduce\",\"cat\":\"COLL\",\"ph\":\"b\",\"ts\":1.0,"        \
    "\"args\":{\"SeqNum\":0,\"CommHash\":5,\"Rank\":0,\"Count\":1,"            \
    "\"Datatype\":\"ncclInt8\"}}\n"
#define END                                                                    \
    "{\"name\":\"AllReduce\",\"cat\":\"COLL\",\"ph\":\"e\",\"ts\":2.0}\n"
#define GOOD "AllReduce 5.0 #0 1 B, 0 ns none 0/0; / 0 pid -1 at 1000\n"
#define OPEN "AllReduce 5.0 #0 1 B, 0 ns none 0/0 open; / 0 pid -1 at 1000\n"
#define ARGS(args)                                                             \
    "{\"name\":\"AllReduce\",\"cat\":\"COLL\",\"ph\":\"b\",\"ts\":1.0,"        \
    "\"args\":{" args "}}\n"

static void bad_events_leave_the_rest(void **state)
{
    static const struct {
        const char *text, *ops;
    } rows[] = {
        {"", ""},
        {"[", ""},
        {"[]", ""},
        {"[\n{}]\n", ""},
        {"[" BEGIN END "{}]", GOOD},
        {"[" BEGIN BEGIN END "{}]", OPEN GOOD},
        {"[" END END BEGIN END "{}]", GOOD},
        {"[{\"name\": }\n" BEGIN END "{}]", "bad 1 value missing\n" GOOD},
        {"[{\"name\": \n" BEGIN END BEGIN END "{}]",
         "bad 1 key missing\n" GOOD}, /* the object is taken as the value */
        {"[{\"name\" 7}\n" BEGIN END "{}]", "bad 1 colon missing\n" GOOD},
        {"[{name: 7}\n" BEGIN END "{}]", "bad 1 key missing\n" GOOD},
        {"[{\"name\": \"x}\n" BEGIN END "{}]",
         "bad 1 string without an end\n" GOOD},
        {"[{\"a\": [\"x}\n" BEGIN END "{}]",
         "bad 1 string without an end\n" GOOD},
        {"[\nrubbish\n" BEGIN END "{}]", "bad 2 not an object\n" GOOD},
        {"[\n\1\2\n" BEGIN END "{}]", "bad 2 not an object\n" GOOD},
        {"[" ARGS("") END BEGIN END "{}]", "bad 1 bad \"SeqNum\"\n" GOOD},
        {"[" BEGIN ARGS("") END BEGIN END "{}]",
         OPEN "bad 2 bad \"SeqNum\"\n" GOOD},
        {"[" ARGS("\"SeqNum\":18446744073709551616") "{}]",
         "bad 1 bad \"SeqNum\"\n"},
        {"[" ARGS("\"SeqNum\":-1") "{}]", "bad 1 bad \"SeqNum\"\n"},
        {"[" ARGS("\"SeqNum\":1e3") "{}]", "bad 1 bad \"SeqNum\"\n"},
        {"[" ARGS("\"SeqNum\":0") "{}]", "bad 1 bad \"Count\"\n"},
        {"[" ARGS("\"SeqNum\":0,\"Count\":1") "{}]",
         "bad 1 unknown \"Datatype\"\n"},
        {"[" ARGS("\"SeqNum\":0,\"Count\":1,\"Datatype\":\"nccl\"") "{}]",
         "bad 1 unknown \"Datatype\"\n"},
        {"[" ARGS("\"SeqNum\":0,\"Count\":1,\"Datatype\":12") "{}]",
         "bad 1 unknown \"Datatype\"\n"},
        {"[" ARGS("\"CommHash\":\"0x5\"") "{}]",
         "bad 1 bad \"CommHash\" or \"Rank\"\n"},
        {"[{\"cat\":\"COLL\",\"ph\":\"b\"}]", "bad 1 no name\n"},
        {"[{\"cat\":\"P2P\",\"ph\":\"b\",\"name\":\"Send\"}]",
         "bad 1 bad \"Peer\"\n"},
        {"[[[[{}]]]]" BEGIN END "]", GOOD},
        {"[{\"name\":\"A\",\"cat\":\"CE_COLL\",\"ph\":\"b\",\"args\":{"
         "\"SeqNum\":1}}\n" BEGIN END "{}]",
         "bad 1 bad \"eventId\"\n" GOOD},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *ops = list(rows[i].text, strlen(rows[i].text), 3, NULL);

        assert_string_equal(ops, rows[i].ops);
        free(ops);
    }
}

/* Memory does not grow with a file's nesting or names. */
static void depth_and_length_are_bounded(void **state)
{
    static const char head[] = "[\n{\"args\": ", tail[] = "\n" BEGIN END "]";
    static const char fills[] = {'[', '{', '"', '9', ' ', '\\'};

    (void) state;
    for (size_t i = 0; i < sizeof(fills); i++) {
        size_t n = sizeof(head) - 1 + 3 * TRACE_MAX_OBJECT;
        char *text = malloc(n + sizeof(tail)), *ops;

        memset(text, fills[i], n);
        memcpy(text, head, sizeof(head) - 1);
        memcpy(text + n, tail, sizeof(tail));
        ops = list(text, n + sizeof(tail) - 1, SIZE_MAX, NULL);
        assert_non_null(strstr(ops, "bad 2 "));
        assert_non_null(strstr(ops, GOOD));
        free(ops);
        free(text);
    }
}

static void probes_by_the_first_bytes(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {
        {"[\n{\"name\": \"x\"", true},
        {"[", true},
        {"[\n", true},
        {" [ { \"cat\": 1", true},
        {"[{}]", true},
        {"[{\"na", true},
        {"", false},
        {"{}", false},
        {"[1]", false},
        {"{\"traceEvents\":[", false},
        {"[{\"a\"", false},
        {"[]", false},
        {"[\n\n{\"header\":", false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(trace_lex_begins(rows[i].text, strlen(rows[i].text)),
                         rows[i].is);
}

/* Opens text as if it were the file at path, and takes its first record. */
static enum trace_status first(struct jp_tracefile *file, const char *text,
                               const char *path, struct record *out)
{
    assert_int_equal(tracefile_open_bytes(file, text, strlen(text), path, NULL),
                     0);
    return tracefile_next(file, out);
}

static void names_tell_host_and_communicator(void **state)
{
    static const char no_comm[] =
        "[" ARGS("\"SeqNum\":4,\"Count\":2,\"Datatype\":\"ncclFloat32\"") END;
    static const struct {
        const char *path, *host, *id; /* id NULL: none */
        unsigned rank;
    } rows[] = {
        {"raw/n1/trace_255_3.json", "n1", "0xff", 3},
        {"/a/raw/n-2.x/t_18446744073709551615_0.json.gz", "n-2.x",
         "0xffffffffffffff", 0},
        {"/a/draw/n1/tr_x_1_2.json", "", "0x1", 2},
        {"/a/raw/n1/b/t_1_2.json", "", "0x1", 2},
        {"t_1_2.json", "", "0x1", 2},
        {"raw/n1/t_18446744073709551616_0.json", "n1", NULL, 0},
        {"raw/n1/t_1_1048576.json", "n1", NULL, 0},
        {"raw/n 1/1_2.json", "", NULL, 0},
        {"raw/n1/trace-n1-77.txt", "n1", NULL, 0},
        {"raw//t_1_2.json", "", "0x1", 2},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct record r;
        struct jp_tracefile file;
        enum trace_status status = first(&file, no_comm, rows[i].path, &r);

        assert_string_equal(file.host, rows[i].host);
        assert_int_equal(status, rows[i].id ? TRACE_OP : TRACE_OP_BAD);
        if (rows[i].id) {
            assert_string_equal(file.id, rows[i].id);
            assert_int_equal(r.rank, rows[i].rank);
            assert_true(r.exec_unknown && r.busbw_nan && r.gaps_lost);
            assert_true(r.bytes == 8 && r.sn == 4 && r.has_sn && !r.n_ranks);
        }
        tracefile_close(&file);
    }
}

/* Communicator and rank from the name; numbered over all functions. */
static void copy_engines_are_functions_of_their_own(void **state)
{
    struct record r;
    struct jp_tracefile file;
    size_t n;
    char *text = fixture("ce_5_0.json", &n);

    (void) state;
    assert_int_equal(first(&file, text, "raw/n1/t_5_0.json", &r), TRACE_OP);
    assert_int_equal(r.func.len, strlen("AllGather-CE"));
    assert_memory_equal(r.func.text, "AllGather-CE", r.func.len);
    assert_true(r.sn == 3 && r.exec_us == 812 && !r.exec_unknown && r.has_sn);
    assert_int_equal(tracefile_next(&file, &r), TRACE_OP);
    assert_memory_equal(r.func.text, "AlltoAll-CE", r.func.len);
    assert_true(r.sn == 4 && r.exec_unknown);
    assert_int_equal(tracefile_next(&file, &r), TRACE_OP);
    assert_int_equal(tracefile_next(&file, &r), TRACE_OP_END);
    assert_int_equal(tracefile_missing(&file), 3); /* 0, 1 and 2 */
    tracefile_close(&file);
    free(text);
}

static void bounds_hold(void **state)
{
    static const char *const rows[] = {
        ARGS("\"SeqNum\":18446744073709551615,\"CommHash\":5,\"Rank\":0,"
             "\"Count\":1,\"Datatype\":\"ncclInt8\""),
        ARGS("\"SeqNum\":1,\"CommHash\":5,\"Rank\":1048576,"
             "\"Count\":1,\"Datatype\":\"ncclInt8\""),
        ARGS("\"SeqNum\":1,\"CommHash\":5,\"Rank\":0,"
             "\"Count\":1125899906842624,\"Datatype\":\"ncclInt64\""),
        "{\"name\":\"Sendd\",\"cat\":\"P2P\",\"ph\":\"b\",\"args\":{"
        "\"CommHash\":5,\"Rank\":0,\"Peer\":1,\"Count\":1,\"Datatype\":0}}",
        "{\"name\":\"Send\",\"cat\":\"P2P\",\"ph\":\"b\",\"args\":{"
        "\"CommHash\":5,\"Rank\":0,\"Peer\":1048576,\"Count\":1,"
        "\"Datatype\":0}}",
        "{\"name\":\"a/"
        "b\",\"cat\":\"COLL\",\"ph\":\"b\",\"args\":{\"SeqNum\":1,"
        "\"CommHash\":5,\"Rank\":0,\"Count\":1,\"Datatype\":0}}",
        BEGIN "{\"cat\":\"GPU\",\"ph\":\"b\",\"args\":{\"StartGpuClk\":1,"
              "\"StopGpuClk\":18446744073709551615}}" END,
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct record r;
        struct jp_tracefile file;

        assert_int_equal(first(&file, rows[i], "t", &r), TRACE_OP_BAD);
        assert_int_equal(tracefile_next(&file, &r), TRACE_OP_END);
        tracefile_close(&file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_dialect),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(bad_events_leave_the_rest),
        cmocka_unit_test(depth_and_length_are_bounded),
        cmocka_unit_test(probes_by_the_first_bytes),
        cmocka_unit_test(names_tell_host_and_communicator),
        cmocka_unit_test(copy_engines_are_functions_of_their_own),
        cmocka_unit_test(bounds_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
