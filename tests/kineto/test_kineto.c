/* test_kineto.c - traces of PyTorch's profiler: events, words, times, sums; and
 * bytes that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/kineto/kineto.h"

/* Bytes that are given in pieces of a size. */
struct source {
    const char *at, *end;
    size_t piece;
};

static ssize_t give(void *arg, char *buf, size_t cap)
{
    struct source *s = arg;
    size_t n = (size_t) (s->end - s->at);

    n = n < cap ? n : cap;
    n = n < s->piece ? n : s->piece;
    memcpy(buf, s->at, n);
    s->at += n;
    return (ssize_t) n;
}

/* What reading a text has found. */
struct found {
    unsigned events, skipped, broken;
    bool cut;
    char why[64], names[256];
    struct kineto_head head;
};

static void read_text(const char *text, size_t len, size_t piece,
                      struct found *out)
{
    struct source s = {text, text + len, piece};
    struct kineto_event e;
    enum kineto_token token;
    struct kineto_lex lex;

    *out = (struct found){0};
    assert_int_equal(kineto_lex_init(&lex, give, &s), 0);
    while ((token = kineto_next(&lex, &e)) < KINETO_END) {
        out->events += token == KINETO_EVENT_X;
        out->skipped += token == KINETO_SKIPPED;
        out->broken += token == KINETO_BROKEN;
        if (token == KINETO_BROKEN)
            snprintf(out->why, sizeof(out->why), "%s", lex.why);
        if (token == KINETO_EVENT_X)
            snprintf(out->names + strlen(out->names),
                     sizeof(out->names) - strlen(out->names), "%.*s,",
                     (int) e.name.len, e.name.at);
    }
    assert_int_equal(token, KINETO_END);
    assert_int_equal(kineto_next(&lex, &e), KINETO_END);
    out->cut = lex.cut;
    out->head = lex.head;
    kineto_lex_fini(&lex);
}

#define X(name) "{\"ph\": \"X\", \"name\": \"" name "\", \"ts\": 1, \"dur\": 2}"

static void test_events(void **state)
{
    static const struct {
        const char *text, *names;
        unsigned events, skipped, broken;
        bool cut;
    } rows[] = {
        {"{\"traceEvents\": [" X("a") ", " X("b") "]}", "a,b,", 2, 0, 0, false},
        /* commas that Kineto leaves */
        {"{\"a\": 1, \"traceEvents\": [" X("a") ",\n],, \"b\": \"c\"}", "a,", 1,
         0, 0, false},
        {"{\"traceEvents\": [{\"ph\": \"s\", \"id\": 1}," X("a") "]}", "a,", 1,
         1, 0, false},
        /* escapes: quotes and backslashes before them */
        {"{\"traceEvents\": [" X("a\\\"b") "," X("c\\\\") "," X("d") "]}",
         "a\\\"b,c\\\\,d,", 3, 0, 0, false},
        /* members of any kind, unknown ones too */
        {"{\"traceEvents\": [{\"x\": [1, {\"y\": \"]}\"}], \"ph\": \"X\", "
         "\"name\": \"a\", \"args\": {\"z\": {\"q\": []}}}]}",
         "a,", 1, 0, 0, false},
        {"{\"traceEvents\": [{\"ph\" \"X\"}," X("a") "]}", "a,", 1, 0, 1,
         false},
        {"{\"traceEvents\": [3, " X("a") "]}", "a,", 1, 0, 1, false},
        {"{\"traceEvents\": [" X("a") ", {\"ph\": \"X\", \"na", "a,", 1, 0, 0,
         true},
        {"{\"traceEvents\": [" X("a") ",", "a,", 1, 0, 0, true},
        {"{\"traceEvents\": [" X("a") "]", "a,", 1, 0, 0, true},
        {"{\"traceEvents\": []}", "", 0, 0, 0, false},
        {"{}", "", 0, 0, 0, false},
        {"", "", 0, 0, 0, true},
        {"{", "", 0, 0, 0, true},
        {"[]", "", 0, 0, 0, true},
        {"{\"traceEvents\": 3}", "", 0, 0, 0, false},
        {"{\"traceEvents\"", "", 0, 0, 0, true},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t piece = 1; piece < 40; piece += 13) {
            struct found f;

            read_text(rows[i].text, strlen(rows[i].text), piece, &f);
            if (strcmp(f.names, rows[i].names) || f.events != rows[i].events ||
                f.skipped != rows[i].skipped || f.broken != rows[i].broken ||
                f.cut != rows[i].cut)
                fail_msg("%s: %s, %u %u %u cut %d", rows[i].text, f.names,
                         f.events, f.skipped, f.broken, f.cut);
        }
}

static void test_head(void **state)
{
    static const char text[] =
        "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}, {\"id\": "
        "1, \"x\": {}}], \"host_name\": \"n1\", \"baseTimeNanoseconds\": "
        "1700000000000000000, \"traceEvents\": [], \"distributedInfo\": "
        "{\"pg_config\": [{\"ranks\": \"[0, 1]\"}], \"rank\": 1, "
        "\"world_size\": 2}, \"traceName\": \"t\"}";
    struct found f;

    (void) state;
    for (size_t piece = 1; piece < 100; piece += 7) {
        read_text(text, strlen(text), piece, &f);
        assert_false(f.cut);
        assert_int_equal(f.head.devices, 2);
        assert_string_equal(f.head.host, "n1");
        assert_true(f.head.has_base && f.head.has_rank && f.head.has_world);
        assert_int_equal(f.head.base_ns, INT64_C(1700000000000000000));
        assert_int_equal(f.head.rank, 1);
        assert_int_equal(f.head.world, 2);
    }
    read_text("{\"distributedInfo\": {\"rank\": -1, \"world_size\": 0}}", 49, 9,
              &f);
    assert_false(f.head.has_rank || f.head.has_world);
    read_text("{\"host_name\": \"a b\"}", 20, 9, &f);
    assert_string_equal(f.head.host, "");
}

/* An event of more than 1 MiB, and one with too many levels, are left out. */
static void test_limits(void **state)
{
    static const char before[] =
        "{\"traceEvents\": [{\"ph\": \"X\", \"name\": ",
                      after[] = "}, " X("b") "]}";
    size_t len = (size_t) KINETO_EVENT + 4096, n = 0;
    char *text = malloc(len + 256);
    struct found f;

    (void) state;
    assert_non_null(text);
    n = (size_t) sprintf(text, "%s\"", before);
    memset(text + n, 'a', len - n);
    sprintf(text + len, "\"%s", after);
    read_text(text, strlen(text), 1 << 16, &f);
    assert_int_equal(f.events, 1);
    assert_string_equal(f.names, "b,");
    assert_int_equal(f.broken, 1);
    assert_string_equal(f.why, "event longer than 1 MiB");

    n = (size_t) sprintf(text, "%s", before);
    memset(text + n, '[', KINETO_DEPTH + 1);
    n += KINETO_DEPTH + 1;
    memset(text + n, ']', KINETO_DEPTH + 1);
    n += KINETO_DEPTH + 1;
    sprintf(text + n, "%s", after);
    read_text(text, strlen(text), 1 << 16, &f);
    assert_string_equal(f.names, "b,");
    assert_string_equal(f.why, "nested too deeply");

    /* a member before the events may be of any size */
    n = (size_t) sprintf(text, "{\"deviceProperties\": [{\"a\": \"");
    memset(text + n, 'a', len - n);
    sprintf(text + len, "\"}], \"traceEvents\": [" X("b") "]}");
    read_text(text, strlen(text), 1 << 16, &f);
    assert_string_equal(f.names, "b,");
    assert_int_equal(f.head.devices, 1);
    free(text);
}

static struct kineto_text text_of(const char *text)
{
    return (struct kineto_text){text, strlen(text)};
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int64_t ns;
    } rows[] = {
        {"1", true, 1000},
        {"1669783687464181", true, INT64_C(1669783687464181000)},
        {"12.345", true, 12345},
        {"12.3456", true, 12345},
        {"0.1", true, 100},
        {"-1.5", true, -1500},
        {"-0", true, 0},
        {"", false, 0},
        {"-", false, 0},
        {".", false, 0},
        {"1e5", false, 0},
        {"1.5e5", false, 0},
        {"99999999999999999999", false, 0},
        {"9999999999999999999", false, 0},
        {"2305843009213694", false, 0},
        {"1x", false, 0},
        {"null", false, 0},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        int64_t ns = 0;

        if (kineto_ns(text_of(rows[i].text), &ns) != rows[i].good ||
            ns != rows[i].ns)
            fail_msg("%s: %lld", rows[i].text, (long long) ns);
    }
}

static void test_words(void **state)
{
    static const struct {
        const char *dims;
        bool good;
        uint64_t elements;
    } dims[] = {
        {"[[4, 2], []]", true, 8},
        {"[[19618307]]", true, 19618307},
        {"[[]]", false, 0},
        {"[]", false, 0},
        {"", false, 0},
        {"[[[4]]]", false, 0},
        {"[[4", false, 0},
        {"[[99999999999, 99999999999]]", false, 0},
        {"[[0]]", true, 0},
        {"]", false, 0},
    };
    static const struct {
        const char *list;
        uint64_t rank;
        bool good;
        uint32_t place, n, size;
    } lists[] = {
        {"[0, 1, 2]", 1, true, 1, 3, 0},
        {"[0, 4, 8]", 8, true, 2, 3, 0},
        {"[0, 4, 8]", 1, false, 0, 3, 0},
        {"[0, 1, ..., 7]", 7, false, 0, 0, 0},
        {"", 0, false, 0, 0, 0},
        {"[]", 0, false, 0, 0, 0},
        {"3", 3, true, 0, 1, 0},
        {"[99999999]", 1, false, 0, 0, 0},
        {"[10, 1]", 1, true, 1, 2, 0},
        /* abbreviated, at equal distances by its size or not */
        {"[0, 8, 16, ..., 504]", 496, true, 62, 64, 64},
        {"[3, 4, 5, ..., 42]", 42, true, 39, 40, 40},
        {"[0, 8, 16, ..., 504]", 496, false, 0, 65, 65},
        {"[0, 8, 16, ..., 504]", 497, false, 0, 64, 64},
        {"[0, 8, 17, ..., 504]", 496, false, 0, 64, 64},
        {"[0, 8, ..., 504]", 512, false, 0, 64, 64},
        {"[0, 0, ..., 0]", 0, false, 0, 9, 9},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); i++) {
        uint64_t elements = 0;

        if (kineto_elements(text_of(dims[i].dims), &elements) != dims[i].good ||
            elements != dims[i].elements)
            fail_msg("%s: %llu", dims[i].dims, (unsigned long long) elements);
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        uint32_t place = 0, n = 0;

        if (kineto_place(text_of(lists[i].list), lists[i].rank, lists[i].size,
                         &place, &n) != lists[i].good ||
            n != lists[i].n || (lists[i].good && place != lists[i].place))
            fail_msg("%s: %u of %u", lists[i].list, place, n);
    }
    assert_string_equal(kineto_func(text_of("_allgather_base")), "AllGather");
    assert_string_equal(kineto_func(text_of("all_to_allv")), "AlltoAll");
    assert_null(kineto_func(text_of("coalesced")));
    assert_null(kineto_func(text_of("")));
    assert_int_equal(kineto_type_bytes(text_of("c10::BFloat16")), 2);
    assert_int_equal(kineto_type_bytes(text_of("Nothing")), 0);
}

static void test_kernels(void **state)
{
    static const struct {
        const char *name;
        bool comm;
        const char *func; /* NULL: none */
    } rows[] = {
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", true,
         "AllReduce"},
        {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)", true,
         "ReduceScatter"},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         true, "AllGather"},
        {"ncclKernel_Reduce_RING_LL_Sum_float(x)", true, "Reduce"},
        {"ncclDevKernel_SendRecv(x)", true, "SendRecv"},
        {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", true,
         NULL},
        {"void at::native::AllReduce(x)", false, "AllReduce"},
        {"gemm", false, NULL},
        {"", false, NULL},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *func = tracing_func(rows[i].name, strlen(rows[i].name));

        assert_int_equal(tracing_is_comm(rows[i].name, strlen(rows[i].name)),
                         rows[i].comm);
        if (!func != !rows[i].func || (func && strcmp(func, rows[i].func)))
            fail_msg("%s: %s", rows[i].name, func ? func : "none");
    }
}

/* Adds a kernel; names that begin with 'n' are communication. */
static void add(struct tracing *t, const char *name, int64_t from, int64_t to)
{
    assert_int_equal(
        tracing_kernel(t, &(struct tracing_kernel){.start_ns = from,
                                                   .end_ns = to,
                                                   .name = name,
                                                   .len = strlen(name),
                                                   .is_comm = *name == 'n'}),
        0);
}

static void test_sums(void **state)
{
    struct tracing *t = tracing_create();
    struct traced traced;

    (void) state;
    assert_non_null(t);
    /* own 0-100 and 50-120; communication 110-150 and 140-160; idle; own
     * 200-210 */
    add(t, "a", 0, 100);
    add(t, "n1", 110, 150);
    add(t, "b", 50, 120);
    add(t, "n2", 140, 160);
    add(t, "a", 200, 210);
    assert_int_equal(tracing_end(t, 1000, &traced), 0);
    assert_true(traced.has_times);
    assert_int_equal(traced.first_ns, 1000);
    assert_int_equal(traced.all.length_ns, 210);
    assert_int_equal(traced.all.own_ns, 130);
    assert_int_equal(traced.all.comm_ns, 50);
    assert_int_equal(traced.all.exposed_ns, 40);
    assert_int_equal(traced.all.idle_ns, 40);
    assert_int_equal(traced.n_names, 2);
    assert_string_equal(traced.names[0].name, "a");
    assert_int_equal(traced.names[0].n, 2);
    assert_int_equal(traced.names[0].ns, 110);
    traced_fini(&traced);
    tracing_destroy(t);

    /* with steps: what is outside of them does not count */
    t = tracing_create();
    assert_non_null(t);
    add(t, "a", 0, 100);
    add(t, "n", 100, 200);
    add(t, "a", 200, 300);
    assert_int_equal(tracing_step(t, 8, 150, 250), 0);
    assert_int_equal(tracing_step(t, 7, 50, 150), 0);
    assert_int_equal(tracing_end(t, 0, &traced), 0);
    assert_int_equal(traced.all.length_ns, 200);
    assert_int_equal(traced.all.exposed_ns, 100);
    assert_int_equal(traced.n_steps, 2);
    assert_int_equal(traced.steps[0].number, 7);
    assert_int_equal(traced.steps[0].time.own_ns, 50);
    assert_int_equal(traced.steps[0].time.exposed_ns, 50);
    assert_int_equal(traced.names[0].n, 1);
    traced_fini(&traced);
    tracing_destroy(t);

    /* several GPUs: times would mean nothing */
    t = tracing_create();
    assert_non_null(t);
    add(t, "a", 0, 100);
    assert_int_equal(tracing_kernel(t, &(struct tracing_kernel){.end_ns = 5,
                                                                .device = 1,
                                                                .name = "a",
                                                                .len = 1}),
                     0);
    assert_int_equal(tracing_end(t, 0, &traced), 0);
    assert_true(traced.several && !traced.has_times);
    assert_int_equal(traced.kernels, 2);
    traced_fini(&traced);
    tracing_destroy(t);
}

/* More kernels and names than are kept: counted, and no time is claimed. */
static void test_bounds(void **state)
{
    struct tracing *t = tracing_create();
    struct traced traced;
    char name[32];

    (void) state;
    assert_non_null(t);
    for (int i = 0; i < TRACING_KERNELS + 3; i++) {
        snprintf(name, sizeof(name), "k%d", i % (TRACING_NAMES + 50));
        add(t, name, i, i + 1);
    }
    assert_int_equal(tracing_end(t, 0, &traced), 0);
    assert_int_equal(traced.left, 3);
    assert_int_equal(traced.kernels, TRACING_KERNELS + 3);
    assert_false(traced.has_times);
    assert_int_equal(traced.n_names, 0);
    traced_fini(&traced);
    tracing_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events), cmocka_unit_test(test_head),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_words),  cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_sums),   cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
