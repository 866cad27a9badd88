/* test_ras.c - NCCL's RAS: what is read from its answers, and how silence,
 * garbage and floods end. The servers are stand-ins that send the lines of NCCL
 * 2.24 to 2.30 and of RCCL. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/knob.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/evidence/evidence.h"
#include "tests/common/skip.h"

static const char text_answer[] =
    "NCCL version 2.30.7 compiled with CUDA 13.0\n"
    "CUDA runtime version 13000, driver version 13000\n\n"
    "Job summary\n===========\n\n"
    "  Nodes  Processes         GPUs  Processes     GPUs\n"
    "(total)   per node  per process    (total)  (total)\n"
    "      2          4            1          8        8\n"
    "\nCommunicators... (0.02s)\n=============\n\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  "
    "Errors\n"
    "\nErrors\n======\n\n"
    "INCOMPLETE\n"
    "  Missing communicator data from 1 job process\n"
    "  Process 4711 on node 10.0.0.2 managing GPU 3\n\n"
    "DEAD\n"
    "  1 job process is considered dead (unreachable via the RAS network)\n"
    "  Process 4712 on node 10.0.0.2 managing GPU 2\n\n"
    "#0-0 (00000000000000ab) INCOMPLETE\n"
    "  Missing communicator data from 1 rank\n"
    "  Rank 7 -- GPU 3 managed by process 4711 on node 10.0.0.2\n\n"
    "#0-1 (00000000000000ac) ERROR\n"
    "  Asynchronous errors on 1 rank\n"
    "  Rank 2 reported Remote process exited -- GPU 2 managed by process 102 "
    "on node 10.0.0.1\n\n"
    "Warnings\n========\n\n"
    "#0-0 (00000000000000ab) MISMATCH\n"
    "  Communicator ranks have different status\n"
    "  7 ranks have status RUNNING\n"
    "  Rank 1 has status INIT -- GPU 1 managed by process 101 on node "
    "10.0.0.1\n"
    "  Communicator ranks have different AllReduce operation counts\n"
    "  5 ranks have launched up to operation 12\n"
    "  2 ranks have launched up to operation 13\n"
    "  Rank 0 -- GPU 0 managed by process 100 on node 10.0.0.1\n"
    "  Rank 1 -- GPU 1 managed by process 101 on node 10.0.0.1\n"
    "  Rank 3 has launched up to operation 11 -- GPU 3 managed by process 103 "
    "on node 10.0.0.1\n\n"
    "  Communicator ranks have different Broadcast operation counts\n"
    "  7 ranks have launched up to operation 2\n"
    "  Rank 5 has not launched any operations -- [process information not "
    "found]\n\n";

/* One counter for all functions, and lists of missing ranks. */
#define TEXT_2_24(banner)                                                      \
    banner                                                                     \
        " version 2.24.3 compiled with CUDA 12.6\n"                            \
        "CUDA runtime version 12060, driver version 12060\n\n"                 \
        "Communicators... (0.00s)\n=============\n\n"                          \
        "Errors\n======\n\n"                                                   \
        "#0-0 (00000000000000ab) INCOMPLETE\n"                                 \
        "  Missing communicator data from 2 ranks\n"                           \
        "  The missing ranks: 4,6\n\n"                                         \
        "#0-1 (00000000000000ac) ERROR\n"                                      \
        "  Initialization error on 1 rank\n"                                   \
        "  Rank 0 reported System error -- GPU 0 managed by process 100 on "   \
        "node "                                                                \
        "10.0.0.1\n\n"                                                         \
        "Warnings\n========\n\n"                                               \
        "TIMEOUT\n"                                                            \
        "  Encountered 1 communication timeout while gathering communicator "  \
        "data\n\n"                                                             \
        "#0-0 (00000000000000ab) MISMATCH\n"                                   \
        "  Communicator ranks have different status\n"                         \
        "  5 ranks have status RUNNING\n"                                      \
        "  The unknown ranks: 4,6\n"                                           \
        "  Communicator ranks have different collective operation counts\n"    \
        "  5 ranks have launched up to operation 30\n"                         \
        "  Rank 1 has launched up to operation 29 -- GPU 1 managed by "        \
        "process "                                                             \
        "103 on node 10.0.0.1\n\n"

static void old_text_is_read(void **state)
{
    static const char *const texts[] = {TEXT_2_24("NCCL"), TEXT_2_24("RCCL")};
    static const int64_t pids[] = {103};

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct ras_answer a = {.text = strdup(texts[i]),
                               .len = strlen(texts[i])};
        struct jp_error err;

        assert_int_equal(ras_parse(&a, pids, 1, &err), 0);
        assert_string_equal(a.release, "2.24.3");
        assert_true(a.has_pid);
        assert_int_equal(a.timeouts, 1);
        assert_int_equal(a.n_rows, 4);
        assert_int_equal(a.rows[0].kind, RAS_MISSING);
        assert_int_equal(a.rows[0].rank, 4);
        assert_int_equal(a.rows[0].comm, 0xab);
        assert_int_equal(a.rows[1].rank, 6);
        assert_int_equal(a.rows[2].kind, RAS_ERROR);
        assert_string_equal(a.rows[2].word, "System error");
        assert_int_equal(a.rows[3].kind, RAS_BEHIND);
        assert_string_equal(a.rows[3].func, "collective");
        assert_int_equal(a.rows[3].rank, 1);
        assert_int_equal(a.rows[3].count, 29);
        assert_int_equal(a.rows[3].most, 30);
        ras_fini(&a);
    }
}

static struct ras_answer answer_of(const char *text)
{
    struct ras_answer a = {.text = strdup(text), .len = strlen(text)};

    assert_non_null(a.text);
    return a;
}

static const struct ras_row *row_at(const struct ras_answer *a, size_t i)
{
    assert_true(i < a->n_rows);
    return &a->rows[i];
}

static void text_is_read(void **state)
{
    static const int64_t pids[] = {1, 103};
    struct ras_answer a = answer_of(text_answer);
    const struct ras_row *row;
    struct jp_error err;

    (void) state;
    assert_int_equal(ras_parse(&a, pids, 2, &err), 0);
    assert_false(a.json);
    assert_true(a.has_pid);
    assert_string_equal(a.release, "2.30.7");
    assert_int_equal(a.n_rows, 6);
    row = row_at(&a, 0);
    assert_int_equal(row->kind, RAS_MISSING);
    assert_int_equal(row->pid, 4711);
    assert_int_equal(row->rank, -1);
    assert_string_equal(row->host, "10.0.0.2");
    assert_int_equal(row_at(&a, 1)->kind, RAS_DEAD);
    assert_int_equal(row_at(&a, 1)->pid, 4712);
    row = row_at(&a, 2);
    assert_int_equal(row->kind, RAS_MISSING);
    assert_int_equal(row->comm, 0xab);
    assert_int_equal(row->rank, 7);
    row = row_at(&a, 3);
    assert_int_equal(row->kind, RAS_ERROR);
    assert_int_equal(row->comm, 0xac);
    assert_int_equal(row->rank, 2);
    assert_string_equal(row->word, "Remote process exited");
    row = row_at(&a, 4);
    assert_int_equal(row->kind, RAS_BEHIND);
    assert_string_equal(row->func, "AllReduce");
    assert_int_equal(row->rank, 3);
    assert_int_equal(row->count, 11);
    assert_int_equal(row->most, 13);
    assert_int_equal(row->pid, 103);
    row = row_at(&a, 5);
    assert_string_equal(row->func, "Broadcast");
    assert_int_equal(row->rank, 5);
    assert_int_equal(row->count, 0);
    assert_int_equal(row->most, 2);
    assert_int_equal(row->pid, -1);
    ras_fini(&a);
}

/* The members of NCCL 2.28.7 to 2.30.7. comma: false as in 2.28.7, which omits
 * one. */
static char *json_answer(const char *comma)
{
    char *text = NULL;

    assert_true(
        asprintf(
            &text,
            "OK\n{\n  \"nccl_version\": \"2.29.2\",\n"
            "  \"cuda_runtime_version\": 13000,\n"
            "  \"cuda_driver_version\": 13000,\n"
            "  \"timestamp\": \"2026-11-23 10:00:00\",\n"
            "  \"communicators_count\": 1,\n  \"communicators\": [\n    {\n"
            "      \"hash\": \"0xfedcba9876543210\",\n"
            "      \"secondary_hash\": \"0x1:0x2\",\n"
            "      \"size\": 3,\n      \"ranks_count\": 2,\n"
            "      \"missing_ranks_count\": 1,\n      \"ranks\": [\n"
            "        {\n          \"rank\": 0,\n          \"host\": "
            "\"10.0.0.1\",\n          \"pid\": 100,\n"
            "          \"cuda_dev\": 0,\n          \"nvml_dev\": 0,\n"
            "          \"status\": {\n            \"init_state\": 0,\n"
            "            \"async_error\": 7,\n"
            "            \"finalize_called\": false,\n"
            "            \"destroy_flag\": false,\n"
            "            \"abort_flag\": false\n          },\n"
            "          \"collective_counts\": {\n"
            "            \"Broadcast\": 1,\n            \"AllReduce\": 48\n"
            "          }\n        },\n"
            "        {\n          \"rank\": 1,\n          \"host\": "
            "\"10.0.0.1\",\n          \"pid\": 101,\n"
            "          \"status\": {\n            \"async_error\": 6,\n"
            "            \"abort_flag\": false\n          },\n"
            "          \"collective_counts\": {\n"
            "            \"Broadcast\": 1,\n            \"AllReduce\": 47\n"
            "          }\n        }\n      ],\n"
            "      \"missing_ranks\": [\n        {\n          \"rank\": 2,\n"
            "          \"host\": \"10.0.0.2\",\n          \"pid\": 200,\n"
            "          \"cuda_dev\": 0,\n          \"nvml_dev\": 0%s\n"
            "          \"status\": {\n            \"unresponsive\": true,\n"
            "            \"considered_dead\": false\n          }\n        }\n"
            "      ]\n    }\n  ],\n  \"ras\": {\n"
            "    \"collection_time_sec\": 0.010,\n"
            "    \"timeouts_count\": 2\n  }\n}\n",
            comma) > 0);
    return text;
}

static void json_is_read(void **state)
{
    static const int64_t pids[] = {101};

    (void) state;
    for (int i = 0; i < 2; i++) {
        char *text = json_answer(i ? "," : "");
        struct ras_answer a = answer_of(text);
        struct jp_error err = {""};
        const struct ras_row *row;

        assert_int_equal(ras_parse(&a, pids, 1, &err), 0);
        assert_true(a.json && a.has_pid);
        assert_int_equal(a.n_comms, 1);
        assert_int_equal(a.timeouts, 2);
        assert_int_equal(a.n_rows, 3);
        row = row_at(&a, 0);
        assert_int_equal(row->kind, RAS_BEHIND);
        assert_true(row->comm == UINT64_C(0xfedcba9876543210));
        assert_int_equal(row->rank, 1);
        assert_int_equal(row->count, 47);
        assert_int_equal(row->most, 48);
        assert_int_equal(row_at(&a, 1)->kind, RAS_ERROR);
        assert_string_equal(row_at(&a, 1)->word, "ncclResult_t 6");
        assert_int_equal(row_at(&a, 2)->kind, RAS_MISSING);
        assert_int_equal(row_at(&a, 2)->pid, 200);
        ras_fini(&a);
        free(text);
    }
}

static void rubbish_is_refused(void **state)
{
    static const char *const texts[] = {
        "",           "hello\n", "{", "{}{}{}[", "OK\nERROR: Unknown command\n",
        "NCCL versio"};

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct ras_answer a = answer_of(texts[i]);
        struct jp_error err = {""};

        if (ras_parse(&a, NULL, 0, &err) < 0)
            assert_string_not_equal(err.text, "");
        assert_int_equal(a.n_rows, 0);
        ras_fini(&a);
    }
}

static void some_are_not_asked(void **state)
{
    const char *why = NULL;
    bool json;

    (void) state;
    assert_false(ras_may_ask(0, false, UINT64_MAX, 8, &json, &why));
    assert_false(ras_may_ask(JP_NCCL_RELEASE(2, 23, 4), false, UINT64_MAX, 8,
                             &json, &why));
    assert_false(ras_may_ask(JP_NCCL_RELEASE(2, 28, 9), false, UINT64_MAX, 8,
                             &json, &why));
    assert_non_null(strstr(why, "2.29.2"));
    assert_false(
        ras_may_ask(JP_NCCL_RELEASE(2, 30, 7), false, 59999, 8, &json, &why));
    assert_non_null(strstr(why, "60 s"));
    assert_true(ras_may_ask(JP_NCCL_RELEASE(2, 30, 7), false, 60000, 5000,
                            &json, &why));
    assert_true(json);
    assert_true(ras_may_ask(JP_NCCL_RELEASE(2, 30, 7), false, 60000, 5001,
                            &json, &why));
    assert_false(json);
    assert_true(
        ras_may_ask(JP_NCCL_RELEASE(2, 30, 7), true, 60000, 8, &json, &why));
    assert_false(json);
}

/* --- servers -------------------------------------------------------------- */

enum behaviour {
    TEXT_ONLY, /* 2.26, and RCCL's of today */
    TEXT_2_24_ONLY,
    TEXT_RCCL,
    JSON_TOO, /* 2.29.2 to 2.30 */
    JSON_2_28_7,
    RESETS,
    SILENT,
    SILENT_ONCE,
    GARBAGE,
    FLOOD,
    SLOW,
    CUTS,
    CLOSES,
    FOREIGN
};

struct server {
    int fd, port;
    enum behaviour does;
    int asked;
    pthread_t thread;
};

static bool read_line_of(int fd, char *line, size_t size)
{
    size_t n = 0;

    while (n + 1 < size && read(fd, line + n, 1) == 1)
        if (line[n++] == '\n')
            break;
    line[n] = '\0';
    return n > 0;
}

static void put(int fd, const char *text)
{
    size_t len = strlen(text);

    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        text += n;
        len -= (size_t) n;
    }
}

static void status(struct server *s, int fd, bool json)
{
    char *text = json ? json_answer(s->does == JSON_2_28_7 ? "" : ",")
                      : strdup(s->does == TEXT_2_24_ONLY ? TEXT_2_24("NCCL")
                               : s->does == TEXT_RCCL    ? TEXT_2_24("RCCL")
                                                         : text_answer);

    assert_non_null(text);
    if (s->does == CUTS)
        text[strlen(text) / 2] = '\0';
    if (s->does == GARBAGE)
        put(fd, "\x01\x02 GET / HTTP/1.1\r\n\r\n");
    else if (s->does != SLOW)
        put(fd, text);
    for (size_t i = 0; s->does == SLOW && text[i]; i++) {
        if (send(fd, text + i, 1, MSG_NOSIGNAL) != 1)
            break;
        usleep(20000);
    }
    for (int i = 0; s->does == FLOOD && i < 400000; i++) {
        char line[260];

        memset(line, 'x', sizeof(line) - 2);
        line[sizeof(line) - 2] = '\n';
        line[sizeof(line) - 1] = '\0';
        if (send(fd, line, sizeof(line) - 1, MSG_NOSIGNAL) <= 0)
            break;
    }
    free(text);
}

static void talk_to(struct server *s, int fd)
{
    char line[128];
    bool json = false;

    while (read_line_of(fd, line, sizeof(line))) {
        if (strncmp(line, "SET FORMAT", 10) == 0) {
            json = s->does == JSON_TOO || s->does == JSON_2_28_7 ||
                   s->does == CUTS || s->does == FOREIGN;
            put(fd, json ? "OK\n" : "ERROR: Unknown command SET FORMAT json\n");
        } else if (strncmp(line, "TIMEOUT", 7) == 0) {
            put(fd, "OK\n");
        } else if (strncmp(line, "STATUS", 6) == 0) {
            status(s, fd, json);
            return;
        }
    }
}

static void *serve(void *arg)
{
    struct server *s = arg;
    int fd;

    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        bool silent = s->does == SILENT ||
                      (s->does == SILENT_ONCE && s->asked == 0);

        __atomic_fetch_add(&s->asked, 1, __ATOMIC_RELAXED);
        if (silent) {
            char line[8];

            while (read(fd, line, sizeof(line)) > 0)
                ;
        } else if (s->does == RESETS) {
            /* like a process that crashes on the query */
            const struct linger at_once = {1, 0};
            char line[64];

            read_line_of(fd, line, sizeof(line));
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        } else if (s->does != CLOSES) {
            talk_to(s, fd);
        }
        close(fd);
    }
    return NULL;
}

static void start(struct server *s, enum behaviour does)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);

    *s = (struct server){.does = does};
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *) &at, sizeof(at)), 0);
    assert_int_equal(listen(s->fd, 8), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *) &at, &len), 0);
    s->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

/* Any process of this user: the stand-in is a thread of the test. */
static struct proclook_step own;

static int ask(const struct server *s, bool json, uint32_t limit_ms,
               int64_t pid, struct ras_answer *a, struct jp_error *err)
{
    char address[32];
    const struct ras_question question = {.address = address,
                                          .json = json,
                                          .limit_ms = limit_ms,
                                          .step = &own,
                                          .pids = &pid,
                                          .n_pids = 1};

    snprintf(address, sizeof(address), "127.0.0.1:%d", s->port);
    return ras_ask(&question, a, err);
}

static void servers_are_asked(void **state)
{
    static const struct {
        enum behaviour does;
        bool json;
        int rc;
        size_t rows;
        int64_t pid;
        int asked;
    } cases[] = {
        {TEXT_ONLY, true, 0, 6, 103, 1},   {TEXT_ONLY, false, 0, 6, 103, 1},
        {JSON_TOO, true, 0, 3, 100, 1},    {JSON_TOO, false, 0, 6, 103, 1},
        {SILENT_ONCE, true, 0, 6, 103, 2}, {GARBAGE, true, -1, 0, 1, 4},
        {CLOSES, true, -1, 0, 1, 4},       {FOREIGN, true, -1, 0, 999, 4},
        {CUTS, true, -1, 0, 1, 4},         {RESETS, true, -1, 0, 1, 4},
        {JSON_2_28_7, true, 0, 3, 100, 1}, {TEXT_2_24_ONLY, true, 0, 4, 103, 1},
        {TEXT_RCCL, true, 0, 4, 103, 1},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ras_answer a;
        struct jp_error err = {""};
        struct server s;
        int rc;

        start(&s, cases[i].does);
        rc = ask(&s, cases[i].json, 60000, cases[i].pid, &a, &err);
        stop(&s);
        if (rc != cases[i].rc || s.asked != cases[i].asked)
            fail_msg("case %zu: %d after %d: %s", i, rc, s.asked, err.text);
        assert_int_equal(a.n_rows, cases[i].rows);
        if (rc < 0)
            assert_string_not_equal(err.text, "");
        ras_fini(&a);
    }
}

static void silence_ends(void **state)
{
    struct ras_answer a;
    struct jp_error err = {""};
    struct server s;
    uint64_t begin = clock_mono_ms();

    (void) state;
    start(&s, SILENT);
    assert_int_equal(ask(&s, true, 700, 1, &a, &err), -1);
    stop(&s);
    assert_true(clock_mono_ms() - begin >= 600);
    assert_string_equal(err.text, "RAS sent nothing");
    assert_int_equal(s.asked, 1);
}

/* One byte at a time: the limit holds, and the answer is marked as truncated.
 */
static void slowness_ends(void **state)
{
    struct ras_answer a;
    struct jp_error err = {""};
    struct server s;
    uint64_t begin = clock_mono_ms();

    (void) state;
    start(&s, SLOW);
    if (ask(&s, false, 1500, 1, &a, &err) == 0) {
        assert_true(a.cut);
        ras_fini(&a);
    }
    assert_true(clock_mono_ms() - begin < 30000);
    stop(&s);
}

/* 100 MB: the first 8 MiB are kept, the rest is not read. */
static void a_flood_is_cut(void **state)
{
    struct ras_answer a;
    struct jp_error err = {""};
    struct server s;

    (void) state;
    start(&s, FLOOD);
    assert_int_equal(ask(&s, false, 60000, 103, &a, &err), 0);
    stop(&s);
    assert_true(a.cut);
    assert_int_equal(a.len, RAS_ANSWER_MAX);
    assert_int_equal(a.n_rows, 6);
    ras_fini(&a);
}

static void no_server(void **state)
{
    static const struct {
        const char *address, *why;
    } cases[] = {
        {"127.0.0.1:1", "RAS does not listen at 127.0.0.1:1 on this node"},
        {"no-such-host:7", "not an address of RAS: \"no-such-host:7\""},
        {"[::1]:1", "at [::1]:1"},
        {"localhost:1", "RAS does not listen at "},
        /* of another host: whose it is cannot be checked (TEST-NET-1) */
        {"192.0.2.1:28028", "192.0.2.1:28028 is not an address of this node"},
        {"[2001:db8::1]:28028", "]:28028"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct ras_question q = {.address = cases[i].address,
                                       .step = &own};
        uint64_t begin = clock_mono_ms();
        struct ras_answer a;
        struct jp_error err = {""};

        assert_int_equal(ras_listens(&q, &err), -1);
        assert_int_equal(ras_ask(&q, &a, &err), -1);
        if (!strstr(err.text, cases[i].why))
            fail_msg("%s: %s", cases[i].address, err.text);
        assert_null(a.text);
        /* no connection was tried */
        assert_true(clock_mono_ms() - begin < 900);
    }
}

/* --- whose socket it is ----------------------------------------------------
 */

enum { HIM = 12345 };

/* A listener in a process of its own. Whoever connects is counted in shared
 * memory, and what he sends. */
struct listener {
    pid_t pid;
    struct sockaddr_storage at;
    socklen_t len;
    _Atomic int *seen; /* connections, bytes */
};

static void answer_all(int fd, _Atomic int *seen)
{
    char line[64];
    ssize_t n;
    int one;

    while ((one = accept(fd, NULL, NULL)) >= 0) {
        seen[0]++;
        while ((n = read(one, line, sizeof(line))) > 0)
            seen[1] += (int) n;
        close(one);
    }
}

/* Listens as that user, on an address of this machine and any port. variable:
 * of its environment, or NULL. */
static void listen_as(struct listener *l, uid_t uid, const char *host,
                      char *variable)
{
    struct sockaddr_in *in = (struct sockaddr_in *) &l->at;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *) &l->at;
    int fd, go[2];
    char c;

    *l = (struct listener){.len = sizeof(*in)};
    l->seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    in->sin_family = AF_INET;
    if (inet_pton(AF_INET, host, &in->sin_addr) != 1) {
        in6->sin6_family = AF_INET6;
        assert_int_equal(inet_pton(AF_INET6, host, &in6->sin6_addr), 1);
        l->len = sizeof(*in6);
    }
    l->pid = fork();
    if (l->pid == 0) {
        socklen_t len = l->len;
        char number[16];

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* the socket belongs to who makes it */
        if (setresuid(uid, uid, uid) < 0)
            _exit(1);
        fd = socket(l->at.ss_family, SOCK_STREAM, 0);
        if (bind(fd, (struct sockaddr *) &l->at, l->len) < 0 ||
            listen(fd, 8) < 0 ||
            getsockname(fd, (struct sockaddr *) &l->at, &len) < 0)
            _exit(1);
        if (write(go[1], &l->at, sizeof(l->at)) != sizeof(l->at))
            _exit(1);
        if (!variable)
            answer_all(fd, l->seen);
        /* the environment that /proc shows is that of the last exec */
        putenv(variable);
        snprintf(number, sizeof(number), "%d", fd);
        execl("/proc/self/exe", "test_ras", number, (char *) NULL);
        _exit(1);
    }
    close(go[1]);
    assert_int_equal(read(go[0], &l->at, sizeof(l->at)), sizeof(l->at));
    if (variable) /* until exec has closed its end */
        while (read(go[0], &c, 1) > 0)
            ;
    close(go[0]);
}

static void end_listener(struct listener *l)
{
    kill(l->pid, SIGKILL);
    waitpid(l->pid, NULL, 0);
    munmap(l->seen, 4096);
}

static char *address_of(const struct listener *l, const char *host,
                        char out[64])
{
    /* the port has the same place in both */
    snprintf(out, 64, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host,
             ntohs(((const struct sockaddr_in *) &l->at)->sin_port));
    return out;
}

/* Another user listens at the address: no byte is sent, and no connection is
 * made. */
static void foreign_listener(void **state)
{
    static const struct {
        const char *listens, *asked;
    } cases[] = {{"127.0.0.1", "127.0.0.1"},
                 {"0.0.0.0", "127.0.0.1"},
                 {"127.0.0.1", "localhost"},
                 {"::", "127.0.0.1"},
                 {"::1", "::1"},
                 {"::ffff:127.0.0.1", "127.0.0.1"}};

    (void) state;
    if (geteuid() != 0)
        skip_check("only root has processes of two users");
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct jp_error err = {""};
        struct listener l;
        struct ras_answer a;
        char address[64];
        struct ras_question q = {.step = &own};

        listen_as(&l, HIM, cases[i].listens, NULL);
        q.address = address_of(&l, cases[i].asked, address);
        assert_int_equal(ras_listens(&q, &err), -1);
        assert_int_equal(ras_ask(&q, &a, &err), -1);
        if (!strstr(err.text, "belongs to uid 12345"))
            fail_msg("case %zu: %s", i, err.text);
        assert_int_equal(l.seen[0], 0);
        end_listener(&l);
    }
}

static int connect_to(const struct listener *l)
{
    int fd = socket(l->at.ss_family, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (const struct sockaddr *) &l->at, l->len), 0);
    return fd;
}

/* The port has passed on since the listener was checked. */
static void foreign_peer(void **state)
{
    struct jp_error err = {""};
    struct listener l;
    int fd;

    (void) state;
    listen_as(&l, geteuid(), "127.0.0.1", NULL);
    fd = connect_to(&l);
    assert_int_equal(sockowner_check_peer(&own, fd, 5000, &err), 0);
    close(fd);
    end_listener(&l);
    if (geteuid() != 0)
        return;
    listen_as(&l, HIM, "127.0.0.1", NULL);
    fd = connect_to(&l);
    assert_int_equal(sockowner_check_peer(&own, fd, 5000, &err), -1);
    assert_non_null(strstr(err.text, "belongs to uid 12345"));
    assert_int_equal(l.seen[1], 0);
    close(fd);
    end_listener(&l);
}

/* Another step of the same user, or any program of his. */
static void not_the_steps(void **state)
{
    struct proclook_step step = {.uid = geteuid(), .job = 424242, .step = "0"};
    char other[] = "SLURM_JOB_ID=7", job[] = "SLURM_JOB_ID=424242",
         id[] = "SLURM_STEP_ID=0";
    struct listener theirs, ours;
    struct jp_error err = {""};
    int fd;

    (void) state;
    if (getenv("JP_MEMCHECK"))
        skip_check("a process has memcheck's environment");
    setenv("SLURM_STEP_ID", strchr(id, '=') + 1, 1);
    listen_as(&theirs, geteuid(), "127.0.0.1", other);
    listen_as(&ours, geteuid(), "127.0.0.1", job);
    assert_int_equal(
        sockowner_check_listener(&step, (struct sockaddr *) &theirs.at, &err),
        -1);
    assert_non_null(strstr(err.text, "belongs to no process of the step"));
    if (sockowner_check_listener(&step, (struct sockaddr *) &ours.at, &err) < 0)
        fail_msg("%s", err.text);
    fd = connect_to(&ours);
    if (sockowner_check_peer(&step, fd, 20000, &err) < 0)
        fail_msg("%s", err.text);
    close(fd);
    fd = connect_to(&theirs);
    assert_int_equal(sockowner_check_peer(&step, fd, 20000, &err), -1);
    close(fd);
    /* no process of the step is there: the user decides */
    step.job++;
    assert_int_equal(
        sockowner_check_listener(&step, (struct sockaddr *) &theirs.at, &err),
        0);
    end_listener(&ours);
    end_listener(&theirs);
    unsetenv("SLURM_STEP_ID");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_read),
        cmocka_unit_test(old_text_is_read),
        cmocka_unit_test(json_is_read),
        cmocka_unit_test(rubbish_is_refused),
        cmocka_unit_test(some_are_not_asked),
        cmocka_unit_test(servers_are_asked),
        cmocka_unit_test(silence_ends),
        cmocka_unit_test(slowness_ends),
        cmocka_unit_test(a_flood_is_cut),
        cmocka_unit_test(no_server),
        cmocka_unit_test(foreign_listener),
        cmocka_unit_test(foreign_peer),
        cmocka_unit_test(not_the_steps),
    };
    _Atomic int seen[2];

    /* a listener of its own environment (listen_as) */
    if (argc == 2) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        answer_all((int) strtol(argv[1], NULL, 10), seen);
        return 0;
    }
    own.uid = geteuid();

    return cmocka_run_group_tests(tests, NULL, NULL);
}
