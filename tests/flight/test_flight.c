/* test_flight.c - dumps of PyTorch's Flight Recorder: each layout, each cause
 * of a hang, hostile files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/flight/flight.h"
#include "orchestrator/flight/flight_tree.h"
#include "tests/flight/flight_make.h"

#define HANG_US 10000000

static char folder[64];

static int make_folder(void **state)
{
    (void) state;
    snprintf(folder, sizeof(folder), "/tmp/jp-flight-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void) state;
    return fileio_remove_tree(folder, NULL);
}

/* Writes bytes to a file of the folder. Returns its path. */
static const char *write_file(const char *name, const char *bytes, size_t len)
{
    static char path[8][160];
    static unsigned n;
    char *at = path[n++ % 8];

    snprintf(at, 160, "%s/%s", folder, name);
    assert_int_equal(fileio_write(at, bytes, len, NULL), 0);
    return at;
}

/* Reads bytes as the dump of a file x_2. The caller destroys *flight. */
static int read_bytes(const char *bytes, size_t len, struct jp_flight **flight)
{
    *flight = calloc(1, sizeof(**flight));
    assert_non_null(*flight);
    (*flight)->dumps = calloc(1, sizeof(*(*flight)->dumps));
    assert_non_null((*flight)->dumps);
    (*flight)->n_dumps = 1;
    *(*flight)->dumps = (struct flight_dump){.path = strdup("x_2"), .rank = -1};
    return flight_dump_read(*flight, (*flight)->dumps, bytes, len, NULL);
}

/* Writes and loads the dumps of the ranks in the mask. written_us: of the
 * files; 0: unknown. */
static struct jp_flight *load(enum make_scenario scenario, int minor,
                              enum make_form form, unsigned mask,
                              int64_t written_us)
{
    struct flight_file files[4];
    struct jp_flight *flight = NULL;
    struct jp_error err = {""};
    size_t n = 0;

    for (int rank = 0; rank < 4; rank++) {
        struct make_dump dump;
        struct make_bytes bytes;
        char name[32];

        if (!(mask & 1u << rank))
            continue;
        make_rank(scenario, rank, &dump);
        dump.minor = minor;
        dump.form = form;
        make_write(&dump, &bytes);
        snprintf(name, sizeof(name), "trace_%d%s", rank,
                 form == MAKE_JSON ? ".json" : "");
        files[n++] = (struct flight_file){write_file(name, bytes.at, bytes.n),
                                          written_us, -1};
        free(bytes.at);
    }
    assert_int_equal(flight_load(files, n, HANG_US, NULL, NULL, &flight, &err),
                     0);
    assert_non_null(flight);
    return flight;
}

/* --- each cause, in each layout ------------------------------------------- */

static const struct {
    enum make_scenario scenario;
    unsigned mask; /* ranks with a dump */
    enum flight_cause cause;
    int culprit; /* -1: none */
    int64_t seq;
    const char *text; /* a part of the sentence */
    int least;        /* minor version that can show it */
} cases[] = {
    {MAKE_HEALTHY, 15, FLIGHT_NOTHING, -1, 0, "no dump has", -1},
    {MAKE_ABSENT, 15, FLIGHT_BY_ABSENCE, 2, 11, "rank 2 never entered", -1},
    {MAKE_IDLE, 15, FLIGHT_BY_ABSENCE, 2, 11, "rank 2 never entered", 3},
    {MAKE_STUCK, 15, FLIGHT_BY_STUCK, 2, 11, "rank 2 is stuck inside", -1},
    {MAKE_FUNCTION, 15, FLIGHT_BY_MISMATCH, 2, 11,
     "3 called all_reduce of 4096 Float, rank 2 broadcast", 0},
    {MAKE_SIZE, 15, FLIGHT_BY_MISMATCH, 2, 11,
     "3 called all_reduce of 4096 Float, rank 2 all_reduce of 4095 Float", 0},
    {MAKE_TYPE, 15, FLIGHT_BY_MISMATCH, 2, 11,
     "3 called all_reduce of 4096 Float, rank 2 all_reduce of 4096 BFloat16",
     0},
    {MAKE_UNEVEN, 15, FLIGHT_BY_ABSENCE, 2, 11,
     "rank 2 never entered all_to_all 11", -1},
    {MAKE_GATHER, 15, FLIGHT_BY_ABSENCE, 2, 11,
     "rank 2 never entered gather 11", -1},
    {MAKE_SEVERAL, 15, FLIGHT_BY_ABSENCE, 2, 11,
     "rank 2 never entered allreduce_coalesced 11", -1},
    {MAKE_BATCH, 15, FLIGHT_BY_MESSAGE, 0, 0, "rank 1 waits in recv 1<-0", 0},
    {MAKE_PAIR, 15, FLIGHT_BY_MESSAGE, -1, 0,
     "rank 0 waits in send 0->1, rank 1 in recv 1<-0", 0},
    {MAKE_MESSAGE, 15, FLIGHT_BY_MESSAGE, 0, 0, "rank 1 waits in recv 1<-0", 0},
    {MAKE_INSIDE, 15, FLIGHT_INSIDE_ALL, -1, 11, "all ranks have called", -1},
    /* ranks 0 and 1 are held up themselves, so nobody is blamed */
    {MAKE_CHAIN, 15, FLIGHT_INSIDE_ALL, -1, 2,
     "all ranks have called all_reduce 2 of group 2 (TENSOR)", 0},
    {MAKE_PARTS, 15, FLIGHT_NOTHING, -1, 0, "no dump has", 0},
    /* a rank without a dump may be anywhere */
    {MAKE_ABSENT, 11, FLIGHT_BY_UNKNOWN, -1, 11, "is not known of rank 2", -1},
    {MAKE_INSIDE, 7, FLIGHT_BY_UNKNOWN, -1, 11, "is not known of rank 3", -1},
    {MAKE_STUCK, 4, FLIGHT_BY_UNKNOWN, -1, 11, "is not known of ranks 0-1, 3",
     -1},
    /* who has left an all_reduce shows that all have entered it */
    {MAKE_STUCK, 6, FLIGHT_BY_STUCK, 2, 11, "rank 2 is stuck inside", -1},
    /* one is enough if it shows the rank that is in nothing */
    {MAKE_ABSENT, 5, FLIGHT_BY_ABSENCE, 2, 11, "rank 2 never entered", -1},
};

static void test_causes(void **state)
{
    static const int minors[] = {-1, 0, 2, 3, 4, 5, 9, 10};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (size_t k = 0; k < sizeof(minors) / sizeof(*minors); k++)
            for (int form = MAKE_TORCH; form <= MAKE_JSON; form++) {
                char text[FLIGHT_TEXT];
                struct jp_flight *flight;

                if (minors[k] < cases[i].least)
                    continue;
                flight = load(cases[i].scenario, minors[k],
                              (enum make_form) form, cases[i].mask, 0);
                if (flight->cause != cases[i].cause)
                    fail_msg("%s 2.%d form %d: %s",
                             make_words[cases[i].scenario], minors[k], form,
                             flight_text(flight, text));
                assert_non_null(
                    strstr(flight_text(flight, text), cases[i].text));
                assert_int_equal(flight->n_culprits, cases[i].culprit >= 0);
                if (cases[i].culprit >= 0)
                    assert_int_equal(flight->culprits->rank, cases[i].culprit);
                if (cases[i].seq)
                    assert_int_equal(flight->seen->seq, cases[i].seq);
                /* JSON has no frames */
                if (cases[i].seq)
                    assert_string_equal(
                        flight->seen->first->where,
                        form == MAKE_JSON ? "" : "train.py:30 (step)");
                assert_int_equal(flight->n_bad, 0);
                flight_destroy(flight);
            }
}

/* Two groups entered in different orders: all four ranks are named. */
static void test_order(void **state)
{
    struct jp_flight *flight = load(MAKE_ORDER, 9, MAKE_TORCH, 15, 0);

    (void) state;
    assert_int_equal(flight->cause, FLIGHT_BY_ORDER);
    assert_int_equal(flight->n_culprits, 4);
    flight_destroy(flight);
}

/* A rank that made a call more than the others: they never entered it. */
static void test_extra(void **state)
{
    struct jp_flight *flight = load(MAKE_EXTRA, 9, MAKE_TORCH, 15, 0);
    char text[FLIGHT_TEXT];

    (void) state;
    assert_int_equal(flight->cause, FLIGHT_BY_ABSENCE);
    assert_int_equal(flight->n_culprits, 3);
    assert_non_null(strstr(flight_text(flight, text),
                           "ranks 0-1, 3 never entered all_reduce 12"));
    flight_destroy(flight);
}

/* Without a status, a dump without entries shows nothing. */
static void test_no_status(void **state)
{
    struct jp_flight *flight = load(MAKE_IDLE, 2, MAKE_TORCH, 15, 0);

    (void) state;
    assert_int_equal(flight->cause, FLIGHT_BY_UNKNOWN);
    assert_int_equal(flight->n_culprits, 0);
    flight_destroy(flight);
}

/* The order of creation is no guide if the numbers contradict it: a rank that
 * is far behind what others wait in cannot be behind at all. */
static void test_far_behind(void **state)
{
    struct flight_file files[4];
    struct jp_flight *flight = NULL;

    (void) state;
    for (int rank = 0; rank < 4; rank++) {
        struct make_dump dump;
        struct make_bytes bytes;
        char name[32];

        make_rank(MAKE_IDLE, rank, &dump);
        for (size_t k = 0; k < dump.n_entries; k++)
            dump.entries[k].seq += 100;
        make_write(&dump, &bytes);
        snprintf(name, sizeof(name), "far_%d", rank);
        files[rank] =
            (struct flight_file){write_file(name, bytes.at, bytes.n), 0, -1};
        free(bytes.at);
    }
    assert_int_equal(flight_load(files, 4, HANG_US, NULL, NULL, &flight, NULL),
                     0);
    assert_int_equal(flight->cause, FLIGHT_BY_UNKNOWN);
    assert_int_equal(flight->n_culprits, 0);
    flight_destroy(flight);
}

/* --- times ---------------------------------------------------------------- */

static void test_times(void **state)
{
    int64_t at_us = MAKE_TIME_NS / 1000;
    /* the eleventh was called 11 ms after the first */
    struct jp_flight *flight =
        load(MAKE_ABSENT, 9, MAKE_TORCH, 15, at_us + 11000 + HANG_US - 1);
    char text[FLIGHT_TEXT];

    (void) state;
    /* the files are too old for a hang of that length: the job ran */
    assert_int_equal(flight->cause, FLIGHT_RUNNING);
    assert_false(flight_hangs(flight));
    assert_non_null(strstr(flight_text(flight, text), "the job ran"));
    flight_destroy(flight);
    flight = load(MAKE_ABSENT, 9, MAKE_TORCH, 15, at_us + 11000 + HANG_US);
    assert_int_equal(flight->cause, FLIGHT_BY_ABSENCE);
    assert_int_equal(flight->seen->since_us, at_us + 11000);
    flight_destroy(flight);
}

/* A dump that was written before others called the collective does not show
 * that its rank never did. */
static void test_early_dump(void **state)
{
    struct flight_file files[4];
    struct jp_flight *flight = NULL;
    int64_t at_us = MAKE_TIME_NS / 1000;

    (void) state;
    flight_destroy(load(MAKE_ABSENT, 9, MAKE_TORCH, 15, 0));
    for (int rank = 0; rank < 4; rank++) {
        static char paths[4][160];

        snprintf(paths[rank], sizeof(paths[rank]), "%s/trace_%d", folder, rank);
        files[rank] = (struct flight_file){
            paths[rank], at_us + (rank == 2 ? 10999 : 60000000), -1};
    }
    assert_int_equal(flight_load(files, 4, HANG_US, NULL, NULL, &flight, NULL),
                     0);
    assert_int_equal(flight->cause, FLIGHT_BY_UNKNOWN);
    assert_int_equal(flight->n_culprits, 0);
    flight_destroy(flight);
}

/* --- the ring ------------------------------------------------------------- */

/* Entries that the ring has dropped, or that a dump leaves out, prove nothing:
 * only what comes after the last entry was not called. */
static void test_ring(void **state)
{
    struct make_dump dumps[2];
    struct flight_file files[2];
    struct jp_flight *flight = NULL;

    (void) state;
    for (int rank = 0; rank < 2; rank++) {
        struct make_bytes bytes;
        char name[32];

        make_rank(MAKE_HEALTHY, rank, &dumps[rank]);
        dumps[rank].minor = 2; /* no status */
        /* rank 0 is inside the fifth; rank 1's ring begins with the eighth */
        if (rank == 0) {
            dumps[rank].n_entries = 5;
            dumps[rank].entries[4].state = "scheduled";
            dumps[rank].entries[4].completed_ns = 0;
        } else {
            memmove(dumps[rank].entries, dumps[rank].entries + 7,
                    3 * sizeof(*dumps[rank].entries));
            dumps[rank].n_entries = 3;
        }
        make_write(&dumps[rank], &bytes);
        snprintf(name, sizeof(name), "ring_%d", rank);
        files[rank] =
            (struct flight_file){write_file(name, bytes.at, bytes.n), 0, -1};
        free(bytes.at);
    }
    assert_int_equal(flight_load(files, 2, HANG_US, NULL, NULL, &flight, NULL),
                     0);
    assert_int_equal(flight->n_seen, 1);
    assert_int_equal(flight->seen->count[FLIGHT_UNSURE], 1);
    assert_int_equal(flight->seen->count[FLIGHT_NO_DUMP], 2);
    assert_int_equal(flight->n_culprits, 0);
    assert_int_equal(flight->dumps[1].dropped, 7);
    flight_destroy(flight);
}

/* --- whose dump it is ----------------------------------------------------- */

static const struct {
    const char *name;
    int64_t given, rank; /* rank -1: it cannot be used */
} names[] = {
    {"comm_lib_trace_rank_2", -1, 2},
    {"_dump_3", -1, 3},
    {"dump-3.pickle", -1, 3},
    {"x2.json", -1, 2},
    {"flight-4711-rank2.pickle", -1, 2},
    {"dump", 2, 2},
    /* no number: two ranks are in all groups */
    {"dump", -1, -1},
    /* rank 0 is not in group 3 */
    {"dump_0", -1, -1},
    {"dump_17", -1, -1},
};

static void test_ranks(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct jp_flight *flight = NULL;
        struct make_dump dump;
        struct make_bytes bytes;
        struct flight_file file = {.rank = names[i].given};

        make_rank(MAKE_ABSENT, 2, &dump);
        make_write(&dump, &bytes);
        file.path = write_file(names[i].name, bytes.at, bytes.n);
        free(bytes.at);
        assert_int_equal(
            flight_load(&file, 1, HANG_US, NULL, NULL, &flight, NULL), 0);
        if (names[i].rank < 0) {
            assert_true(flight->dumps->bad);
            assert_true(*flight->dumps->why);
        } else {
            assert_false(flight->dumps->bad);
            assert_int_equal(flight->dumps->rank, names[i].rank);
        }
        flight_destroy(flight);
    }
}

/* A rank that is alone in a group needs no number. */
static void test_lone_rank(void **state)
{
    struct jp_flight *flight = NULL;
    struct make_dump dump;
    struct make_bytes bytes;
    struct flight_file file = {.rank = -1};

    (void) state;
    make_rank(MAKE_HEALTHY, 2, &dump);
    dump.groups[dump.n_groups++] = (struct make_group){"7", "EXPERT", "[2]"};
    make_write(&dump, &bytes);
    file.path = write_file("dump", bytes.at, bytes.n);
    free(bytes.at);
    assert_int_equal(flight_load(&file, 1, HANG_US, NULL, NULL, &flight, NULL),
                     0);
    assert_int_equal(flight->dumps->rank, 2);
    flight_destroy(flight);
}

/* --- damaged and hostile files -------------------------------------------- */

/* Each prefix of a dump is refused, and none of them is used. */
static void test_torn(void **state)
{
    (void) state;
    for (int form = MAKE_TORCH; form <= MAKE_JSON; form++) {
        struct make_dump dump;
        struct make_bytes bytes;

        make_rank(MAKE_STUCK, 2, &dump);
        dump.form = (enum make_form) form;
        make_write(&dump, &bytes);
        for (size_t len = 1; len < bytes.n; len += 7) {
            struct jp_flight *flight;
            char *copy = malloc(len); /* so that a sanitizer sees the end */

            assert_non_null(copy);
            memcpy(copy, bytes.at, len);
            assert_int_equal(read_bytes(copy, len, &flight), 1);
            assert_true(flight->dumps->bad && *flight->dumps->why);
            flight_destroy(flight);
            free(copy);
        }
        free(bytes.at);
    }
}

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t len;
    const char *why;
} hostile[] = {
    {BYTES("\x80\x02"
           "cos\nsystem\n(X\x02\x00\x00\x00idtR."),
     "GLOBAL"},
    {BYTES("\x80\x04\x8c\x02os\x8c\x06system\x93."), "STACK_GLOBAL"},
    {BYTES("\x80\x02}R."), "REDUCE"},
    {BYTES("\x80\x02}}b."), "BUILD"},
    {BYTES("\x80\x02(ios\nsystem\n."), "INST"},
    {BYTES("\x80\x02(o."), "OBJ"},
    {BYTES("\x80\x02})\x81."), "NEWOBJ"},
    {BYTES("\x80\x04})}\x92."), "NEWOBJ_EX"},
    {BYTES("\x80\x02Pabc\n."), "PERSID"},
    {BYTES("\x80\x02}Q."), "BINPERSID"},
    {BYTES("\x80\x02\x82\x01."), "EXT1"},
    {BYTES("\x80\x05\x97."), "NEXT_BUFFER"},
    {BYTES("\x80\x02I1\n."), "INT"},
    {BYTES("\x80\x02\xff."), "no opcode"},
    {BYTES("\x80\x01}."), "protocol 1"},
    {BYTES("\x80\x06}."), "protocol 6"},
    {BYTES("\x80\x02}"), "cut"},
    {BYTES("\x80\x02."), "no value"},
    {BYTES("\x80\x02}}."), "no value, or several"},
    {BYTES("\x80\x02(}."), "no value, or several"},
    {BYTES("\x80\x02X\xff\xff\xff\xff"
           "a."),
     "cut"},
    {BYTES("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
           "a."),
     "cut"},
    {BYTES("\x80\x02\x8a\x09"
           "123456789."),
     "64 bits"},
    {BYTES("\x80\x02\x8b\xff\xff\xff\x7f."), "64 bits"},
    /* the memo: no such value, out of order */
    {BYTES("\x80\x02h\x00."), "memo"},
    {BYTES("\x80\x02}r\xff\xff\xff\xff."), "out of order"},
    /* values of the wrong kind, or missing */
    {BYTES("\x80\x02"
           "a."),
     "lacks"},
    {BYTES("\x80\x02u."), "mark"},
    {BYTES("\x80\x02K\x01(K\x01u."), "wrong kind"},
    {BYTES("\x80\x02}(K\x01u."), "wrong kind"},
    {BYTES("\x80\x02](]a."), "lacks"},
    /* a list in itself, at once and through another one */
    {BYTES("\x80\x02]q\x00h\x00"
           "a."),
     "changes"},
    {BYTES("\x80\x02]q\x00]q\x01h\x00"
           "ah\x00h\x01"
           "a."),
     "changes"},
};

static void test_hostile(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
        struct flight_tree tree;
        struct jp_error err = {""};

        assert_int_equal(
            flight_tree_pickle(&tree, hostile[i].bytes, hostile[i].len, &err),
            -1);
        if (!strstr(err.text, hostile[i].why))
            fail_msg("%zu: \"%s\" has no \"%s\"", i, err.text, hostile[i].why);
        assert_null(tree.values);
    }
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Depth, length and sharing: refused, or read without visiting each copy. */
static void test_bombs(void **state)
{
    struct make_bytes b = {0};
    struct flight_tree tree;
    struct jp_error err = {""};
    double begun = seconds();
    struct jp_flight *flight;

    (void) state;
    /* lists in lists, by tuples and by marks */
    make_put(&b, "\x80\x02N", 3);
    for (int i = 0; i < 100; i++)
        make_put(&b, "\x85", 1);
    make_put(&b, ".", 1);
    assert_int_equal(flight_tree_pickle(&tree, b.at, b.n, &err), -1);
    assert_non_null(strstr(err.text, "nested"));
    b.n = 2;
    for (int i = 0; i < 100; i++)
        make_put(&b, "](", 2);
    assert_int_equal(flight_tree_pickle(&tree, b.at, b.n, &err), -1);
    assert_non_null(strstr(err.text, "nested"));
    /* more values than are kept */
    b.n = 2;
    make_put(&b, "](", 2);
    for (size_t i = 0; i <= FLIGHT_STACK_MAX; i++)
        make_put(&b, "N", 1);
    make_put(&b, "e.", 2);
    assert_int_equal(flight_tree_pickle(&tree, b.at, b.n, &err), -1);
    assert_non_null(strstr(err.text, "more than"));
    /* 10^20 values by 20 shared lists: each is stored once */
    b.n = 2;
    make_put(&b, "(]q\x00", 4);
    for (char i = 0; i < 20; i++) {
        const char get[] = {'h', i}, put[] = {'q', (char) (i + 1)};

        make_put(&b, "](", 2);
        for (int k = 0; k < 10; k++)
            make_put(&b, get, 2);
        make_put(&b, "e", 1);
        make_put(&b, put, 2);
    }
    make_put(&b, "t.", 2);
    assert_int_equal(flight_tree_pickle(&tree, b.at, b.n, &err), 0);
    assert_true(tree.n_values < 300);
    flight_tree_fini(&tree);
    /* one entry, 900,000 times */
    b.n = 2;
    make_put(&b,
             "}X\x07\x00\x00\x00"
             "entries](",
             15);
    make_put(&b, "}(X\x05\x00\x00\x00pg_idK\x01uq\x00", 17);
    for (int i = 0; i < 900000; i++)
        make_put(&b, "h\x00", 2);
    make_put(&b, "es.", 3);
    assert_int_equal(read_bytes(b.at, b.n, &flight), 0);
    assert_true(flight->dumps->left_out > 0);
    flight_destroy(flight);
    free(b.at);
    assert_true(seconds() - begun < 20);
}

/* Other JSON and other pickles are named as what they are not. */
static void test_others(void **state)
{
    static const char *const texts[] = {"{\"a\": 1}", "[1, 2]", "{",
                                        "\x80\x02}.", "\x80\x02K\x01."};

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct jp_flight *flight;

        assert_int_equal(read_bytes(texts[i], strlen(texts[i]), &flight), 1);
        assert_true(*flight->dumps->why);
        flight_destroy(flight);
    }
}

/* A rank that has left an all_reduce proves that all have entered it: the dump
 * of rank 2 is older, whatever its file says. */
static void test_late_proof(void **state)
{
    static const enum make_scenario scenarios[] = {MAKE_STUCK, MAKE_INSIDE,
                                                   MAKE_ABSENT, MAKE_STUCK};
    struct flight_file files[4];
    struct jp_flight *flight = NULL;

    (void) state;
    for (int rank = 0; rank < 4; rank++) {
        struct make_dump dump;
        struct make_bytes bytes;
        char name[32];

        make_rank(scenarios[rank], rank, &dump);
        make_write(&dump, &bytes);
        snprintf(name, sizeof(name), "late_%d", rank);
        files[rank] =
            (struct flight_file){write_file(name, bytes.at, bytes.n), 0, -1};
        free(bytes.at);
    }
    assert_int_equal(flight_load(files, 4, HANG_US, NULL, NULL, &flight, NULL),
                     0);
    assert_int_equal(flight->cause, FLIGHT_BY_STUCK);
    assert_int_equal(flight->n_culprits, 1);
    assert_int_equal(flight->culprits->rank, 1);
    for (size_t i = 0; i < flight->n_seen; i++) {
        assert_int_equal(flight->seen[i].count[FLIGHT_NEVER], 0);
        assert_int_equal(flight->seen[i].count[FLIGHT_UNSURE], 1);
    }
    flight_destroy(flight);
}

/* Several incidents: the youngest folder is judged, the others are said. The
 * dump of rank 2 in the older one says nothing about the younger one. */
static void test_incidents(void **state)
{
    struct flight_file files[8];
    struct jp_flight *flight = NULL;
    char text[FLIGHT_TEXT], name[80];
    static char paths[8][160];

    (void) state;
    for (int i = 0, k = 0; i < 8; i++) {
        struct make_dump dump;
        struct make_bytes bytes;

        if (i == 6)
            continue;
        make_rank(i < 4 ? MAKE_STUCK : MAKE_ABSENT, i % 4, &dump);
        for (size_t e = 0; i < 4 && e < dump.n_entries; e++) {
            dump.entries[e].created_ns -= INT64_C(3600000000000);
            dump.entries[e].started_ns =
                dump.entries[e].started_ns ? dump.entries[e].created_ns : 0;
            dump.entries[e].completed_ns =
                dump.entries[e].completed_ns ? dump.entries[e].created_ns : 0;
        }
        make_write(&dump, &bytes);
        snprintf(name, sizeof(name), "%s/%s", folder, i < 4 ? "old" : "new");
        assert_int_equal(fileio_mkdirs(name, NULL), 0);
        snprintf(name, sizeof(name), "%s/t_%d", i < 4 ? "old" : "new", i % 4);
        snprintf(paths[i], sizeof(paths[i]), "%s",
                 write_file(name, bytes.at, bytes.n));
        files[k++] = (struct flight_file){paths[i], 0, -1};
        free(bytes.at);
    }
    assert_int_equal(flight_load(files, 7, HANG_US, NULL, NULL, &flight, NULL),
                     0);
    assert_int_equal(flight->cause, FLIGHT_BY_UNKNOWN);
    assert_int_equal(flight->n_culprits, 0);
    assert_int_equal(flight->of_others, 4);
    assert_non_null(strstr(flight_gaps(flight, text), "4 dumps of other"));
    flight_destroy(flight);
}

/* Loads the dumps of a job in which rank 2 never called the eleventh, with the
 * calls of rank 1 moved in time; of these, so many are left. */
static struct jp_flight *load_moved(int64_t ns, size_t left, int64_t seq)
{
    struct flight_file files[4];
    struct jp_flight *flight = NULL;

    for (int rank = 0; rank < 4; rank++) {
        struct make_dump dump;
        struct make_bytes bytes;
        char name[32];

        make_rank(MAKE_ABSENT, rank, &dump);
        for (size_t k = 0; rank == 1 && k < dump.n_entries; k++) {
            struct make_entry *e = &dump.entries[k];

            e->created_ns += ns;
            e->started_ns += e->started_ns ? ns : 0;
            e->completed_ns += e->completed_ns ? ns : 0;
        }
        if (rank == 1 && left < dump.n_entries)
            dump.n_entries = left;
        /* the ring of the others has gone on */
        for (size_t k = 0; rank != 1 && k < dump.n_entries; k++)
            dump.entries[k].seq += seq;
        for (size_t k = 0; k < dump.n_status && (left < 12 || rank != 1); k++) {
            struct make_status *status = &dump.status[k];

            status->called = rank == 1 ? -1 : status->called + seq;
            status->ended = rank == 1 ? -1 : status->ended + seq;
        }
        make_write(&dump, &bytes);
        snprintf(name, sizeof(name), "moved_%d", rank);
        files[rank] =
            (struct flight_file){write_file(name, bytes.at, bytes.n), 0, -1};
        free(bytes.at);
    }
    assert_int_equal(flight_load(files, 4, HANG_US, NULL, NULL, &flight, NULL),
                     0);
    return flight;
}

#define HOUR_NS INT64_C(3600000000000)

/* A dump that an earlier attempt has left says nothing about this one. */
static void test_attempts(void **state)
{
    struct jp_flight *flight = load_moved(-24 * HOUR_NS, 6, 0);
    char text[FLIGHT_TEXT];

    (void) state;
    assert_int_equal(flight->n_bad, 1);
    assert_int_equal(flight->n_culprits, 1);
    assert_int_equal(flight->culprits->rank, 2);
    assert_string_equal(
        flight_gaps(flight, text),
        "rank 1 left no dump that can be used, so it may be anywhere; 1 dump "
        "cannot be used (moved_1: its last calls are 24.0 h older than those "
        "of others: it is of another attempt, or its clock is wrong)");
    flight_destroy(flight);
    /* a rank may be waited for as long as the timeout is */
    flight = load_moved(HOUR_NS / 7, 99, 0);
    assert_int_equal(flight->n_bad, 0);
    assert_int_equal(flight->culprits->rank, 2);
    flight_destroy(flight);
    /* others have ended what it has not called by far */
    flight = load_moved(0, 6, 9000);
    assert_int_equal(flight->n_bad, 1);
    assert_int_equal(flight->n_culprits, 1);
    assert_int_equal(flight->culprits->rank, 2);
    flight_destroy(flight);
}

/* Where no dump can be used, nothing is said about operations. */
static void test_none_usable(void **state)
{
    struct flight_file file;
    struct jp_flight *flight = NULL;
    char text[FLIGHT_TEXT];

    (void) state;
    file = (struct flight_file){write_file("torn_0", "\x80\x02}", 3), 0, -1};
    assert_int_equal(flight_load(&file, 1, HANG_US, NULL, NULL, &flight, NULL),
                     0);
    assert_string_equal(flight_text(flight, text),
                        "none of 1 dump can be used");
    flight_destroy(flight);
}

/* What is missing is said. */
static void test_gaps(void **state)
{
    struct jp_flight *flight = load(MAKE_ABSENT, 9, MAKE_TORCH, 5, 0);
    char text[FLIGHT_TEXT];

    (void) state;
    assert_string_equal(flight_gaps(flight, text),
                        "ranks 1, 3 left no dump, so they may be anywhere");
    assert_int_equal(flight->world, 4);
    flight_destroy(flight);
    flight = load(MAKE_ABSENT, 9, MAKE_TORCH, 15, 0);
    assert_string_equal(flight_gaps(flight, text), "");
    assert_non_null(strstr(flight_plain(flight, text),
                           "Rank 2 never entered all_reduce 11 of group 1 "
                           "(DATA). Ranks 0-1, 3 wait in it, called at "
                           "train.py:30 (step), since "));
    flight_destroy(flight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_extra),       cmocka_unit_test(test_no_status),
        cmocka_unit_test(test_far_behind),  cmocka_unit_test(test_times),
        cmocka_unit_test(test_early_dump),  cmocka_unit_test(test_ring),
        cmocka_unit_test(test_ranks),       cmocka_unit_test(test_lone_rank),
        cmocka_unit_test(test_torn),        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_bombs),       cmocka_unit_test(test_others),
        cmocka_unit_test(test_late_proof),  cmocka_unit_test(test_incidents),
        cmocka_unit_test(test_gaps),        cmocka_unit_test(test_attempts),
        cmocka_unit_test(test_none_usable),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
