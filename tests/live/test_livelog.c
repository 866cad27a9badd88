/* test_livelog.c - logs of ended operations while they grow, are truncated and
 * replaced; and when their silence is a stall. */
#include <setjmp.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/live/live_metrics.h"
#include "orchestrator/live/livejoin.h"
#include "orchestrator/live/livenode.h"
#include "orchestrator/live/livestall.h"
#include "tests/common/tempdir.h"
#include "tests/live/alerts.h"
#include "tests/metrics/check_metrics.h"

#define SECOND UINT64_C(1000000000)
#define PID 4242

static struct hung_times times;
static struct live_snap snap;
static enum live_class class; /* of the last look */

static struct livenode_time at(double seconds)
{
    return (struct livenode_time){
        UINT64_C(1700000000) * SECOND + (uint64_t) (seconds * 1e9),
        5000 * SECOND + (uint64_t) (seconds * 1e9), false};
}

/* --- a log ---------------------------------------------------------------- */

struct log {
    char path[512];
    const char *id;
    unsigned rank, n_ranks, pid;
};

static void put(const struct log *log, const char *text)
{
    FILE *out = fopen(log->path, "a");

    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

/* A line without its end. */
static char *line(const struct log *log, const char *func, uint64_t sn,
                  uint64_t bytes, double us, char buf[1024])
{
    bool p2p = !strcmp(func, "Send") || !strcmp(func, "Recv");
    const char *of = p2p ? "p2p" : "coll";

    snprintf(buf, 1024,
             "{\"header\":{\"id\":\"%s\",\"comm_name\":\"dp\",\"rank\":%u,"
             "\"n_ranks\":%u,\"nnodes\":1},\"metadata\":{\"inspector_output_"
             "format_version\":\"v4.0\",\"git_rev\":\"\",\"rec_mechanism\":"
             "\"nccl_profiler_interface\",\"dump_timestamp_us\":1,"
             "\"hostname\":\"n1\",\"pid\":%u},\"%s_perf\":{\"%s\":\"%s\","
             "\"%s_sn\":%" PRIu64 ",%s\"%s_msg_size_bytes\":%" PRIu64
             ",\"%s_exec_time_us\":%.0f,\"%s_timing_source\":\"kernel_gpu\","
             "\"%s_algobw_gbs\":1.000000,\"%s_busbw_gbs\":1.500000}}",
             log->id, log->rank, log->n_ranks, log->pid, of, of, func, of, sn,
             p2p ? "\"p2p_peer\":1," : "", of, bytes, of, us, of, of, of);
    return buf;
}

static void put_ops(const struct log *log, const char *func, uint64_t from,
                    uint64_t to, double us)
{
    FILE *out = fopen(log->path, "a");
    char buf[1024];

    assert_non_null(out);
    for (uint64_t i = from; i < to; i++)
        fprintf(out, "%s\n", line(log, func, i, 4096, us, buf));
    assert_int_equal(fclose(out), 0);
}

static struct log make_log(const char *dir, unsigned rank, unsigned n_ranks)
{
    struct log log = {
        .id = "0xabc1", .rank = rank, .n_ranks = n_ranks, .pid = PID + rank};
    char name[64];

    snprintf(log.path, sizeof(log.path), "%s/n1-pid%u.log", dir, log.pid);
    /* its /proc, and the folders */
    for (size_t i = 0; i < 2; i++) {
        char *path;

        snprintf(name, sizeof(name), i ? "proc/%u" : "proc", log.pid);
        path = tempdir_path(dir, name);
        mkdir(path, 0700);
        free(path);
    }
    return log;
}

static void put_proc(const char *dir, const struct log *log, char state,
                     unsigned tracer)
{
    char name[64], text[256];

    snprintf(name, sizeof(name), "proc/%u/stat", log->pid);
    snprintf(text, sizeof(text),
             "%u (x) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 777 0 0\n",
             log->pid, state);
    free(tempdir_file(dir, name, 0600, text));
    snprintf(text, sizeof(text), "TracerPid:\t%u\n", tracer);
    tempdir_status(dir, log->pid, geteuid(), text);
}

static struct livenode_place place_of(const char *dir)
{
    const struct livenode_place place = {.raw = dir,
                                         .node = "n1",
                                         .root = dir,
                                         .times = &times,
                                         .reader = backend_find("inspector"),
                                         .batch_ms = 100,
                                         .cells = true};

    assert_non_null(place.reader);
    hung_times_set(&times, 30000);
    return place;
}

static void look(struct livelog *log, double now)
{
    struct livenode_time t = at(now);
    struct jp_error err = {""};

    if (livelog_look(log, &t, &class, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(livelog_fill(log, &t, &snap), 0);
}

static const struct live_front *front(const char *func)
{
    for (uint32_t i = 0; i < snap.n_fronts; i++)
        if (!strcmp(snap.fronts[i].func, func) &&
            snap.fronts[i].kind < JPR_N_OP_KINDS)
            return &snap.fronts[i];
    fail_msg("no front of \"%s\"", func);
    return NULL;
}

/* --- following logs ------------------------------------------------------- */

/* An incomplete line waits; complete ones are counted once. */
static void half_lines_wait(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct log n1 = make_log(*state, 3, 4);
    struct livelog *log;
    char buf[1024], half[1024];

    put_proc(*state, &n1, 'S', 0);
    log = livelog_create(&place);
    look(log, 0);
    assert_int_equal(snap.n_ranks, 0);
    assert_int_equal(class, LIVE_EMPTY);
    put_ops(&n1, "AllReduce", 0, 5, 100);
    line(&n1, "AllReduce", 5, 4096, 100, buf);
    snprintf(half, sizeof(half), "%.100s", buf);
    put(&n1, half);
    look(log, 6);
    assert_int_equal(snap.n_ranks, 1);
    assert_int_equal(snap.ranks[0].pid, PID + 3);
    assert_int_equal(snap.ranks[0].state, HUNG_MOVES);
    assert_true(snap.ranks[0].logs);
    assert_int_equal(snap.ranks[0].over, 5);
    assert_int_equal(snap.ranks[0].bytes, 5 * 4096);
    assert_int_equal(snap.ranks[0].in_flight, 0);
    assert_int_equal(snap.n_ops, 0);
    assert_int_equal(front("AllReduce")->ended, 5);
    assert_int_equal(front("AllReduce")->comm_rank, 3);
    assert_string_equal(snap.comms[0].name, "dp");
    assert_int_equal(snap.comms[0].hash, 0xabc1);
    assert_int_equal(class, LIVE_WORKS);
    for (int i = 7; i < 20; i++) /* the incomplete line is not a bad one */
        look(log, i);
    assert_int_equal(snap.ranks[0].over, 5);
    put(&n1, buf + 100);
    look(log, 21);
    look(log, 27);
    assert_int_equal(snap.ranks[0].over, 5); /* its newline is missing */
    put(&n1, "\n");
    look(log, 28);
    look(log, 34);
    assert_int_equal(snap.ranks[0].over, 6);
    assert_int_equal(livelog_cost(log).bad, 0);
    livelog_destroy(log);
}

/* Truncated to nothing, replaced by another file, removed and restored. */
static void cut_and_replaced_files_are_read_on(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct log n1 = make_log(*state, 0, 2);
    struct livelog *log = livelog_create(&place);
    char other[600];

    put_ops(&n1, "AllReduce", 0, 50, 100);
    look(log, 0);
    assert_int_equal(front("AllReduce")->ended, 50);
    assert_int_equal(truncate(n1.path, 0), 0);
    put_ops(&n1, "AllReduce", 50, 60, 100);
    look(log, 6);
    look(log, 12);
    assert_int_equal(front("AllReduce")->ended, 60);
    snprintf(other, sizeof(other), "%s.new", n1.path);
    assert_int_equal(rename(n1.path, other), 0);
    look(log, 13);
    assert_int_equal(snap.ranks[0].over, 60);
    put_ops(&n1, "AllReduce", 60, 65, 100);
    look(log, 19);
    look(log, 25);
    assert_int_equal(snap.n_ranks, 1);
    assert_int_equal(front("AllReduce")->ended, 65);
    /* truncated inside a line, which then continues differently */
    assert_int_equal(truncate(n1.path, 100), 0);
    look(log, 31);
    put(&n1, "\nrubbish\n{}\n");
    put_ops(&n1, "AllReduce", 65, 70, 100);
    look(log, 37);
    look(log, 43);
    assert_int_equal(front("AllReduce")->ended, 70);
    assert_true(livelog_cost(log).bad >= 1);
    livelog_destroy(log);
}

/* A fast writer is read in part; what was skipped is not reported. */
static void bytes_a_turn_are_bounded(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct log n1 = make_log(*state, 0, 2);
    struct livelog *log = livelog_create(&place);
    uint64_t before, sn = 0;

    put_ops(&n1, "Broadcast", 0, 3, 100);
    put_ops(&n1, "AllReduce", sn, sn + 10, 100);
    sn += 10;
    look(log, 0);
    assert_int_equal(front("Broadcast")->ended, 3);
    for (int i = 1; i <= 12; i++) { /* 1,000 a second */
        put_ops(&n1, "AllReduce", sn, sn + 5000, 100);
        sn += 5000;
        before = livelog_cost(log).read;
        look(log, 5 * i);
        assert_true(livelog_cost(log).read - before <= LIVELOG_READ);
    }
    assert_true(livelog_cost(log).passed > 20000000);
    assert_int_equal(livelog_cost(log).bad, 0);
    assert_int_equal(front("AllReduce")->ended, sn);
    assert_int_equal(snap.ranks[0].over, sn + 3);
    /* it may have continued where nothing was read */
    assert_int_equal(front("Broadcast")->ended, 0);
    /* from the numbers, not from the lines that were read */
    assert_in_range(front("AllReduce")->rate_milli, 950000, 1050000);
    assert_int_equal(front("AllReduce")->mean_us, 100);
    assert_int_equal(front("AllReduce")->mean_bytes, 4096);
    assert_in_range(snap.ranks[0].share_permille, 95, 105);
    livelog_destroy(log);
}

/* Sends have no usable numbers: lines are counted, or estimated by bytes. */
static void sends_are_counted_by_bytes(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct log n1 = make_log(*state, 0, 2);
    struct livelog *log = livelog_create(&place);

    for (int i = 0; i <= 12; i++) {
        put_ops(&n1, "Send", 0, 1000, 50);
        put_ops(&n1, "Recv", 0, 1000, 50);
        look(log, 5 * i);
    }
    assert_true(livelog_cost(log).passed > 0);
    assert_in_range(snap.ranks[0].over, 25000, 27000);
    assert_in_range(front("")->rate_milli, 380000, 420000);
    assert_int_equal(front("")->kind, JPR_P2P);
    livelog_destroy(log);
}

/* Lost records, and records in another order. */
static void a_front_with_gaps_is_not_told(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct log n1 = make_log(*state, 0, 2);
    struct livelog *log = livelog_create(&place);

    put_ops(&n1, "AllReduce", 0, 4, 100);
    put_ops(&n1, "AllReduce", 5, 6, 100);
    look(log, 0);
    assert_int_equal(front("AllReduce")->ended, 0);
    assert_int_equal(snap.ranks[0].over, 6);
    put_ops(&n1, "AllReduce", 4, 5, 100);
    look(log, 6);
    assert_int_equal(front("AllReduce")->ended, 6);
    livelog_destroy(log);
}

/* A line that is longer than a turn's bytes is skipped; links and pipes are not
 * followed. */
static void odd_files_do_no_harm(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct log n1 = make_log(*state, 0, 2);
    struct livelog *log = livelog_create(&place);
    char *text = malloc(3 * LIVELOG_READ + 1), *path;

    assert_non_null(text);
    memset(text, 'x', 3 * LIVELOG_READ);
    text[3 * LIVELOG_READ] = '\0';
    path = tempdir_path(*state, "a.log");
    assert_int_equal(symlink("/dev/zero", path), 0);
    free(path);
    path = tempdir_path(*state, "b.log");
    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    put_ops(&n1, "AllReduce", 0, 1, 100);
    look(log, 0);
    put(&n1, text);
    look(log, 6);
    put(&n1, text);
    look(log, 12);
    put(&n1, "\n");
    put_ops(&n1, "AllReduce", 1, 3, 100);
    look(log, 18);
    look(log, 24);
    assert_int_equal(snap.n_ranks, 1);
    assert_int_equal(snap.ranks[0].over, 3);
    put(&n1, "\x1f\x8b\x08 packed\n"); /* not allowed after plain lines */
    look(log, 30);
    put_ops(&n1, "AllReduce", 3, 4, 100);
    look(log, 36);
    assert_int_equal(snap.ranks[0].over, 4);
    free(text);
    livelog_destroy(log);
}

/* The state of a process that ends no operation. */
static void states_are_by_proc_and_age(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct log n1 = make_log(*state, 0, 2);
    struct livelog *log = livelog_create(&place);
    uint64_t sn = 0;

    put_proc(*state, &n1, 'S', 0);
    for (int i = 0; i < 10; i++) {
        put_ops(&n1, "AllReduce", sn, sn + 10, 100);
        sn += 10;
        look(log, i);
        assert_int_equal(snap.ranks[0].state, HUNG_MOVES);
    }
    assert_int_equal(snap.ranks[0].counted_ns, at(9).real_ns);
    assert_in_range(snap.ranks[0].longest_ms, 1000, 1100);
    assert_int_equal(snap.ranks[0].batch_ms, 100);
    for (int i = 10; i < 14; i++)
        look(log, i);
    assert_int_equal(snap.ranks[0].state, HUNG_NO_END);
    assert_int_equal(class, LIVE_WORKS);
    for (int i = 14; i < 40; i++)
        look(log, i);
    assert_int_equal(class, LIVE_WAITS);
    assert_int_equal(front("AllReduce")->ended, sn);
    put_proc(*state, &n1, 'T', 0);
    look(log, 41);
    assert_int_equal(snap.ranks[0].state, HUNG_STOPPED);
    assert_int_equal(class, LIVE_TROUBLE);
    put_proc(*state, &n1, 'S', 7);
    look(log, 42);
    assert_int_equal(snap.ranks[0].state, HUNG_TRACED);
    put_proc(*state, &n1, 'Z', 0);
    look(log, 43);
    assert_int_equal(snap.ranks[0].state, HUNG_ENDED);
    assert_int_equal(class, LIVE_WORKS);
    livelog_destroy(log);
}

/* The pid of a log from a container may be unused here, or another user's:
 * nothing is concluded about the process. */
static void pids_of_containers_say_nothing(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct log none = make_log(*state, 0, 2), other = make_log(*state, 1, 2);
    struct livelog *log = livelog_create(&place);
    char *path = tempdir_path(*state, "proc/4242");

    assert_int_equal(rmdir(path), 0);
    free(path);
    put_proc(*state, &other, 'T', 0);
    tempdir_status(*state, other.pid, geteuid() + 1, "");
    put_ops(&none, "AllReduce", 0, 10, 100);
    put_ops(&other, "AllReduce", 0, 10, 100);
    for (int i = 0; i < 3; i++)
        look(log, i);
    assert_int_equal(snap.n_ranks, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(snap.ranks[i].state, HUNG_MOVES);
    for (int i = 3; i < 40; i++)
        look(log, i);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(snap.ranks[i].state, HUNG_NO_END);
    livelog_destroy(log);
}

/* Bandwidth by size is Inspector's own metric. */
static void cells_are_told(void **state)
{
    const struct livenode_place place = place_of(*state);
    const struct livecells_labels labels = {"7", "0", "n1", "0"};
    struct log n1 = make_log(*state, 0, 2);
    struct livelog *log = livelog_create(&place);
    struct metrics_set set;

    put_ops(&n1, "AllReduce", 0, 10, 4);
    look(log, 0);
    metrics_init(&set);
    assert_int_equal(livelog_cells(log, 0, at(1).mono_ns, &labels, &set), 0);
    assert_int_equal(set.n, 1);
    assert_string_equal(set.objects[0]->labels[8], "4-5KB");
    assert_true(set.objects[0]->values[METRIC_TIME] == 4);
    assert_true(set.objects[0]->values[METRIC_BUSBW] > 1.023 &&
                set.objects[0]->values[METRIC_BUSBW] < 1.025);
    metrics_fini(&set);
    livelog_destroy(log);
}

/* --- the rule ------------------------------------------------------------- */

#define RANKS 4

struct step {
    struct log logs[RANKS];
    uint64_t sn[RANKS];
    struct livelog *log;
    struct livestall stall;
    const char *dir;
    struct jp_hangs hangs;
    char text[512];
    double slow, goes_on; /* time of the reports; 0: never */
    unsigned told;
    enum hung_phase phase;
    uint32_t n_silent;
    struct alert alert;
};

static void print_nothing(void *arg, uint64_t job, const char *text)
{
    (void) arg, (void) job, (void) text;
}

static void begin(struct step *s, void **state)
{
    static const struct jp_onhang report = {.kind = ONHANG_REPORT};
    struct livenode_place place = place_of(*state);
    char *live = tempdir_path(*state, "live");

    mkdir(live, 0700);
    free(live);
    *s = (struct step){.dir = *state, .log = livelog_create(&place)};
    s->alert.place =
        (struct alert_place){*state, 7, "0", &report, .notify = print_nothing};
    s->stall.times = times;
    for (unsigned i = 0; i < RANKS; i++) {
        s->logs[i] = make_log(*state, i, RANKS);
        put_proc(*state, &s->logs[i], 'S', 0);
    }
}

static void judge(struct step *s, double now)
{
    struct jp_hangs hangs = {0};
    struct hangs_sum sum = {.hangs = &hangs};
    struct hung_task tasks[LIVE_JOINED_MAX];
    struct hung_view view = {.hangs = &hangs,
                             .progress = &sum.progress,
                             .tasks = tasks,
                             .now_ms = at(now).mono_ns / 1000000,
                             .now_ns = (int64_t) at(now).real_ns,
                             .n_silent = s->n_silent};
    uint8_t bytes[LIVE_SNAP_BYTES];
    enum hung_news news;

    /* as another node reads it */
    snap.real_ns = at(now).real_ns;
    snap.mono_ns = at(now).mono_ns;
    assert_int_equal(
        livesnap_unpack(bytes, livesnap_pack(&snap, bytes), &snap, NULL), 0);
    assert_int_equal(livesnap_join(&snap, &sum, tasks), 0);
    assert_int_equal(hangs_sum_finish(&sum), 0);
    assert_int_equal(hangs.n_groups, 0);
    news = livestall_look(&s->stall, &view);
    livestall_answer(&s->stall, &view, s->text, sizeof(s->text));
    if (news != HUNG_NO_NEWS)
        alert_print(&s->alert, &(struct alert_event){.news = news,
                                                     .view = &view,
                                                     .silence = &s->stall});
    s->told += news != HUNG_NO_NEWS;
    if (news == HUNG_SLOW)
        s->slow = now;
    if (news == HUNG_GOES_ON)
        s->goes_on = now;
    s->phase = s->stall.phase;
    hangs_sum_fini(&sum);
    hangs_fini(&hangs);
}

/* Runs each second from..to; the ranks in `move` end 10 operations every
 * `batch` s. */
static void run(struct step *s, int from, int to, unsigned move, int batch)
{
    for (int now = from; now < to; now++) {
        for (unsigned i = 0; i < RANKS; i++)
            if (move >> i & 1 && now % batch == 0) {
                put_ops(&s->logs[i], "AllReduce", s->sn[i], s->sn[i] + 10, 100);
                s->sn[i] += 10;
            }
        look(s->log, now);
        judge(s, now);
    }
}

#define ALL 15u

static void assert_told(const struct step *s, size_t n, const char *want)
{
    char *path = tempdir_path(s->dir, "live/alerts.jsonl"), *text = NULL;

    assert_int_equal(fileio_read(path, false, 1 << 20, &text, NULL, NULL), 0);
    assert_alert(text, n, want);
    free(text);
    free(path);
}

/* A rank that has ended fewer operations is named within the usual time. */
static void who_is_behind_is_named(void **state)
{
    struct step s;

    begin(&s, state);
    run(&s, 1, 60, ALL, 1);
    for (unsigned i = 0; i < RANKS; i++)
        if (i != 2) {
            put_ops(&s.logs[i], "AllReduce", s.sn[i], s.sn[i] + 3, 100);
            s.sn[i] += 3;
        }
    run(&s, 60, 160, 0, 1);
    assert_int_equal(s.phase, HUNG_SUSPECT);
    assert_true(s.slow > 60 + 30 + 30 && s.slow < 60 + 30 + 5 + 30 + 5);
    assert_string_equal(s.text,
                        "no operation of all 4 ranks has ended, for longer "
                        "than ever before; their logs do not show operations "
                        "in flight; rank 2 (n1 pid 4244) is 3 operations "
                        "behind in AllReduce of 0xabc1");
    run(&s, 160, 600, 0, 1); /* it is reported once, and never confirmed */
    assert_true(s.slow < 160);
    assert_int_equal(s.phase, HUNG_SUSPECT);
    run(&s, 600, 610, ALL, 1);
    assert_true(s.goes_on >= 600 && s.goes_on < 602);
    assert_int_equal(s.phase, HUNG_QUIET);
    assert_told(
        &s, 0,
        "\"suspect\" \"silence\" 2 2 \"n1\" 4244 null -1 \"ends no operation\" "
        "\"0xabc1\" null \"AllReduce\" null null 4");
    assert_told(
        &s, 1,
        "\"goes_on\" \"silence\" null null null -1 null -1 null null null null "
        "null null null");
    livelog_destroy(s.log);
}

/* All ranks have ended as many: they may compute, so it takes ten times as
 * long, and none is named. */
static void silence_without_a_cause_is_late(void **state)
{
    struct step s;

    begin(&s, state);
    run(&s, 1, 60, ALL, 1);
    run(&s, 60, 60 + 300, 0, 1);
    assert_int_equal(s.phase, HUNG_QUIET);
    run(&s, 360, 420, 0, 1);
    assert_int_equal(s.phase, HUNG_SUSPECT);
    assert_true(s.slow > 60 + 330 && s.slow < 60 + 340);
    assert_string_equal(s.text,
                        "no operation of all 4 ranks has ended, for longer "
                        "than ever before; their logs do not show operations "
                        "in flight");
    assert_told(
        &s, 0,
        "\"suspect\" \"silence\" null null null -1 null -1 null null null null "
        "null null null");
    livelog_destroy(s.log);
}

static void a_stopped_process_is_named(void **state)
{
    struct step s;

    begin(&s, state);
    run(&s, 1, 60, ALL, 1);
    put_proc(s.dir, &s.logs[1], 'T', 0);
    run(&s, 60, 140, 0, 1);
    assert_true(s.slow > 60 + 60 && s.slow < 60 + 75);
    assert_non_null(strstr(s.text, "; rank 1 (n1 pid 4243) is stopped"));
    assert_told(&s, 0,
                "\"suspect\" \"silence\" 1 1 \"n1\" 4243 null -1 \"stopped by "
                "a signal\" "
                "null null null null null null");
    livelog_destroy(s.log);
}

/* A user who looks at a stalled step attaches a debugger: that is no progress.
 * Nor is it progress if a stopped process may run again, or if a node is no
 * longer heard. */
static void only_progress_ends_a_stall(void **state)
{
    struct step s;

    begin(&s, state);
    run(&s, 1, 60, ALL, 1);
    put_proc(s.dir, &s.logs[1], 'T', 0);
    run(&s, 60, 140, 0, 1);
    assert_int_equal(s.told, 1);
    assert_int_equal(s.phase, HUNG_SUSPECT);
    put_proc(s.dir, &s.logs[1], 'S', 0); /* from now on it may be computing */
    run(&s, 140, 160, 0, 1);
    put_proc(s.dir, &s.logs[0], 'S', 99);
    run(&s, 160, 180, 0, 1);
    for (unsigned i = 0; i < RANKS; i++)
        put_proc(s.dir, &s.logs[i], 'T', 0);
    run(&s, 180, 200, 0, 1);
    for (unsigned i = 0; i < RANKS; i++)
        put_proc(s.dir, &s.logs[i], 'S', 0);
    s.n_silent = 1;
    run(&s, 200, 220, 0, 1);
    s.n_silent = 0;
    run(&s, 220, 600, 0, 1);
    assert_int_equal(s.told, 1);
    assert_int_equal(s.phase, HUNG_SUSPECT);
    run(&s, 600, 610, ALL, 1);
    assert_int_equal(s.told, 2);
    assert_true(s.goes_on >= 600 && s.goes_on < 602);
    assert_in_range(s.stall.was_ms, 539000, 542000);
    assert_int_equal(s.phase, HUNG_QUIET);
    run(&s, 610, 1800, 0, 1); /* the next stall is reported as well */
    assert_int_equal(s.told, 3);
    for (unsigned i = 0; i < RANKS; i++)
        put_proc(s.dir, &s.logs[i], 'Z', 0);
    run(&s, 1800, 1900, 0, 1); /* the end is no progress either */
    assert_int_equal(s.told, 3);
    assert_int_equal(s.phase, HUNG_QUIET);
    livelog_destroy(s.log);
}

/* No stall: rare batches, usual pauses, a debugger, a suspended step, one rank
 * that works, ranks that end one by one, the end of the step. */
static void what_is_no_stall(void **state)
{
    struct step s;

    begin(&s, state); /* one batch every 400 s: that is the log's pace */
    run(&s, 1, 3300, ALL, 400);
    assert_true(s.stall.judged);
    assert_int_equal(s.phase, HUNG_QUIET);
    assert_true(s.slow == 0);
    /* rank 3 alone goes on */
    run(&s, 3300, 4400, 8, 1);
    assert_true(s.stall.judged);
    assert_true(s.slow == 0);
    put_proc(s.dir, &s.logs[0], 'S', 99);
    run(&s, 4400, 6000, 0, 1);
    assert_true(s.slow == 0);
    for (unsigned i = 0; i < RANKS; i++)
        put_proc(s.dir, &s.logs[i], 'T', 0);
    run(&s, 6000, 7600, 0, 1);
    assert_true(s.slow == 0);
    for (unsigned i = 0; i < RANKS; i++)
        put_proc(s.dir, &s.logs[i], 'Z', 0);
    run(&s, 7600, 9000, 0, 1);
    assert_true(s.slow == 0);
    assert_int_equal(s.phase, HUNG_QUIET);
    livelog_destroy(s.log);
}

/* One or two batches do not show the pace. */
static void nothing_is_judged_before_the_pace_is_known(void **state)
{
    struct step s;

    begin(&s, state);
    run(&s, 1, 3, ALL, 1);
    run(&s, 3, 2000, 0, 1);
    assert_false(s.stall.judged);
    assert_int_equal(s.phase, HUNG_QUIET);
    livelog_destroy(s.log);
}

/* Found by its shorter kernels, as with recordings. */
static void a_late_rank_is_found(void **state)
{
    struct livelate late = {0};
    struct step s;

    begin(&s, state);
    for (int now = 1; now < 60; now++) {
        for (unsigned i = 0; i < RANKS; i++) {
            put_ops(&s.logs[i], "AllReduce", s.sn[i], s.sn[i] + 10,
                    i == 1 ? 1000 : 40000);
            s.sn[i] += 10;
        }
        look(s.log, now);
    }
    assert_int_equal(livelate_add(&late, &snap), 0);
    assert_int_equal(livelate_finish(&late), 0);
    assert_int_equal(late.n_late, 1);
    assert_int_equal(late.processes[0].pid, PID + 1);
    livelate_fini(&late);
    livelog_destroy(s.log);
}

/* Eight ranks, 500 operations a second each. By hand: LIVELOG_COST=1. */
static void cost(void **state)
{
    const struct livenode_place place = place_of(*state);
    struct livelog *log = livelog_create(&place);
    struct log logs[8];
    struct timespec t;
    double spent = 0;
    uint64_t sn = 0;

    for (unsigned i = 0; i < 8; i++) {
        logs[i] = make_log(*state, i, 8);
        put_proc(*state, &logs[i], 'S', 0);
    }
    for (int now = 0; now < (getenv("LIVELOG_COST") ? 60 : 2); now++) {
        for (unsigned i = 0; i < 8; i++)
            put_ops(&logs[i], "AllReduce", sn, sn + 500, 100);
        sn += 500;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        spent -= (double) t.tv_sec + (double) t.tv_nsec / 1e9;
        look(log, now);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        spent += (double) t.tv_sec + (double) t.tv_nsec / 1e9;
    }
    if (getenv("LIVELOG_COST"))
        print_message("%.4f %% of a processor, %.0f bytes a second read\n",
                      spent / 60 * 100, (double) livelog_cost(log).read / 60);
    assert_int_equal(snap.n_ranks, 8);
    livelog_destroy(log);
}

#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, tempdir_make, tempdir_drop)

static void metrics_are_named_well(void **state)
{
    (void) state;
    check_metrics(live_metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_named_well),
        TEST(half_lines_wait),
        TEST(cut_and_replaced_files_are_read_on),
        TEST(bytes_a_turn_are_bounded),
        TEST(sends_are_counted_by_bytes),
        TEST(a_front_with_gaps_is_not_told),
        TEST(odd_files_do_no_harm),
        TEST(states_are_by_proc_and_age),
        TEST(pids_of_containers_say_nothing),
        TEST(cells_are_told),
        TEST(who_is_behind_is_named),
        TEST(silence_without_a_cause_is_late),
        TEST(a_stopped_process_is_named),
        TEST(only_progress_ends_a_stall),
        TEST(what_is_no_stall),
        TEST(nothing_is_judged_before_the_pace_is_known),
        TEST(a_late_rank_is_found),
        TEST(cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
