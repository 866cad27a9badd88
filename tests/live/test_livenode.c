/* test_livenode.c - growing recordings, and the state of tasks from /proc. */
#include <setjmp.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/owncost.h"
#include "orchestrator/live/livenode.h"
#include "tests/common/tempdir.h"
#include "tests/live/growtask.h"

#define SECOND UINT64_C(1000000000)
#define PID 4242

/* /proc/PID of a fake root. */
static void put_proc(const char *dir, char state, unsigned tracer,
                     uint64_t ticks, uint64_t io)
{
    static const char *const folders[] = {"proc", "proc/4242"};
    char text[512];
    char *path;

    for (size_t i = 0; i < 2; i++) {
        path = tempdir_path(dir, folders[i]);
        mkdir(path, 0700);
        free(path);
    }
    snprintf(text, sizeof(text),
             "%d (py) thon) %c 1 1 1 0 -1 0 0 0 0 0 %llu 0 0 0 20 0 5 0 777 0 "
             "0\n",
             PID, state, (unsigned long long) ticks);
    free(tempdir_file(dir, "proc/4242/stat", 0600, text));
    snprintf(text, sizeof(text), "TracerPid:\t%u\nSigCgt:\t0000000000000200\n",
             tracer);
    tempdir_status(dir, PID, geteuid(), text);
    snprintf(text, sizeof(text),
             "rchar: %llu\nwchar: 0\nread_bytes: 0\nwrite_bytes: 0\n",
             (unsigned long long) io);
    free(tempdir_file(dir, "proc/4242/io", 0600, text));
}

static struct hung_times times;

static struct livenode *make_node(const char *dir)
{
    const struct livenode_place place = {
        .raw = dir, .node = "n1", .root = dir, .times = &times};

    hung_times_set(&times, 30000);
    return livenode_create(&place);
}

static struct live_snap snap;
static enum live_class class; /* of the last look */

static void look(struct livenode *node, double now)
{
    struct livenode_time t = at(now);
    struct jp_error err = {""};

    if (livenode_look(node, &t, &class, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(livenode_fill(node, &t, &snap), 0);
}

/* Incomplete frames wait; ended operations are counted, and those in flight are
 * reported. */
static void follows_what_grows(void **state)
{
    struct livenode *node = make_node(*state);
    struct task t;

    look(node, 0);
    assert_int_equal(snap.n_ranks, 0);
    assert_int_equal(class, LIVE_EMPTY);
    put_proc(*state, 'S', 0, 0, 0);
    task_begin(&t, *state, PID, 3);
    for (int i = 0; i < 50; i++)
        task_op(&t, 0.1 + 0.01 * i, 0.005);
    task_counters(&t, 1, false);
    task_show(&t, 7); /* the last block is incomplete */
    look(node, 6);
    assert_int_equal(snap.n_ranks, 1);
    assert_int_equal(snap.ranks[0].produced, 0);
    task_show(&t, 0);
    look(node, 7);
    assert_int_equal(snap.ranks[0].produced, 50);
    assert_int_equal(snap.ranks[0].over, 50);
    assert_int_equal(snap.ranks[0].bytes, 50 * 4096);
    assert_int_equal(snap.ranks[0].task, 3);
    assert_int_equal(snap.ranks[0].state, HUNG_MOVES);
    assert_int_equal(snap.n_comms, 1);
    assert_string_equal(snap.comms[0].name, "dp");
    assert_int_equal(snap.n_fronts, 2); /* its membership, and AllReduce */
    assert_int_equal(snap.fronts[1].begun, 50);
    assert_int_equal(snap.fronts[1].ended, 50);
    assert_int_equal(class, LIVE_WORKS);
    /* it hangs, but counters are still written */
    for (int i = 0; i < 30; i++) {
        task_hangs(&t, 8, 9 + i);
        task_counters(&t, 9 + i, false);
        task_show(&t, i % 3);
        task_show(&t, 0);
        look(node, 9 + i);
    }
    assert_int_equal(snap.ranks[0].state, HUNG_WAITS);
    assert_true(snap.ranks[0].busy);
    assert_int_equal(class, LIVE_WAITS);
    assert_int_equal(snap.n_ops, 1);
    assert_int_equal(snap.ops[0].seq, 50);
    assert_int_equal(snap.ops[0].start_ns, at(8).real_ns);
    assert_int_equal(snap.ops[0].until_ns, at(38).real_ns);
    assert_int_equal(snap.ops[0].limit_ns, 30 * SECOND);
    assert_int_equal(snap.fronts[1].begun, 51);
    assert_int_equal(snap.fronts[1].ended, 50);
    livenode_destroy(node);
    task_end(&t);
}

/* The value for rank 0's operations of that size; NAN: none. */
static double cell(struct livenode *node, double now, const char *size,
                   size_t metric)
{
    const struct livecells_labels labels = {"7", "0", "n1", "3"};
    struct metrics_set set;
    double value = NAN;

    metrics_init(&set);
    assert_int_equal(livenode_cells(node, 0, at(now).mono_ns, &labels, &set),
                     0);
    for (size_t i = 0; i < set.n; i++)
        if (!strcmp(set.objects[i]->labels[8], size))
            value = set.objects[i]->values[metric];
    metrics_fini(&set);
    return value;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

/* Bandwidth is the geometric mean, time the arithmetic one, of the operations
 * read since the last look, by size; stale values disappear. */
static void tells_bandwidth_by_size(void **state)
{
    const struct livenode_place place = {.raw = *state,
                                         .node = "n1",
                                         .root = *state,
                                         .times = &times,
                                         .cells = true};
    struct livenode *node;
    struct task t;

    hung_times_set(&times, 30000);
    node = livenode_create(&place);
    task_begin(&t, *state, PID, 3);
    task_op(&t, 1, 0.001);
    task_op(&t, 2, 0.004);
    t.op.bytes = 3 << 20;
    task_op(&t, 3, 0.002);
    task_counters(&t, 4, false);
    task_show(&t, 0);
    look(node, 6);
    /* 4 ranks: 1.5 times 4096 B in 1 and in 4 ms */
    assert_true(is_near(cell(node, 6, "4-5KB", METRIC_BUSBW), 0.003072));
    assert_true(is_near(cell(node, 6, "4-5KB", METRIC_TIME), 2500));
    assert_true(is_near(cell(node, 6, "3-4MB", METRIC_TIME), 2000));
    t.op.bytes = 4096;
    task_op(&t, 40, 0.008);
    task_counters(&t, 41, false);
    task_show(&t, 0);
    look(node, 42);
    assert_true(is_near(cell(node, 42, "4-5KB", METRIC_TIME), 8000));
    assert_true(is_near(cell(node, 42, "3-4MB", METRIC_TIME), 2000));
    assert_true(is_near(cell(node, 67, "4-5KB", METRIC_TIME), 8000));
    assert_true(isnan(cell(node, 67, "3-4MB", METRIC_TIME)));
    livenode_destroy(node);
    task_end(&t);
}

/* A program that continues with smaller operations has not communicated less
 * data than before. */
static void bytes_never_fall(void **state)
{
    struct livenode *node = make_node(*state);
    uint64_t before = 0;
    struct task t;

    task_begin(&t, *state, PID, 3);
    t.op.bytes = 1 << 30;
    for (int turn = 0; turn < 20; turn++) {
        /* more operations end in the first turn than are read */
        for (int i = 0; i < (turn ? 1 : 20) * 64; i++) {
            task_op(&t, 10 * turn + 0.001 * i, 0.0005);
            if (i % 64 == 63)
                task_show(&t, 0);
        }
        task_counters(&t, 10 * turn + 2, false);
        task_show(&t, 0);
        look(node, 10 * turn + 3);
        assert_true(snap.ranks[0].bytes >= before);
        before = snap.ranks[0].bytes;
        t.op.bytes = 8;
    }
    assert_true(before >= 20 * 64 * (UINT64_C(1) << 30));
    livenode_destroy(node);
    task_end(&t);
}

/* The first operation of a communicator is granted ten times as long; later
 * ones as long as their kind. */
static void learns_what_is_usual(void **state)
{
    struct livenode *node = make_node(*state);
    struct task t;

    task_begin(&t, *state, PID, 3);
    task_hangs(&t, 1, 2);
    task_counters(&t, 2, false);
    task_show(&t, 0);
    look(node, 2);
    assert_int_equal(snap.ops[0].limit_ns, 300 * SECOND);
    for (int i = 1; i < 9; i++) {
        for (int k = 1; k < 5; k++) {
            task_hangs(&t, 10 * i, 10 * i + k);
            task_counters(&t, 10 * i + k, false);
            task_show(&t, 0);
            look(node, 10 * i + k);
        }
        task_op(&t, 10 * i, 4.5);
    }
    task_hangs(&t, 100, 101);
    task_counters(&t, 101, false);
    task_show(&t, 0);
    look(node, 101);
    /* 20 times 4 s, at the resolution of half octaves */
    assert_in_range(snap.ops[0].limit_ns, 80 * SECOND, 120 * SECOND);
    livenode_destroy(node);
    task_end(&t);
}

static void tells_how_a_process_is(void **state)
{
    static const struct {
        char state;
        unsigned tracer;
        uint64_t ticks, io; /* a second */
        bool grows, flies;
        enum hung_state is;
    } rows[] = {
        {'S', 0, 0, 0, true, false, HUNG_OUTSIDE},
        {'S', 0, 0, 0, true, true, HUNG_WAITS},
        {'R', 0, 100, 0, true, false, HUNG_COMPUTES},
        {'R', 0, 100, 0, true, true, HUNG_WAITS},
        {'S', 0, 0, 100000000, true, false, HUNG_READS},
        {'S', 0, 0, 100, true, false, HUNG_OUTSIDE},
        {'D', 0, 0, 0, true, false, HUNG_DISK},
        {'S', 0, 0, 0, false, false, HUNG_MUTE},
        {'T', 0, 0, 0, false, true, HUNG_STOPPED},
        {'t', 9, 0, 0, false, true, HUNG_TRACED},
        {'S', 9, 0, 0, true, true, HUNG_TRACED},
        {'Z', 0, 0, 0, false, true, HUNG_GONE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct livenode *node = make_node(*state);
        struct task t;

        task_begin(&t, *state, PID, 3);
        task_op(&t, 1, 0.001);
        task_counters(&t, 1, false);
        put_proc(*state, 'S', 0, 0, 0);
        task_show(&t, 0);
        look(node, 2);
        for (int k = 3; k < 20; k++) {
            if (rows[i].flies)
                task_hangs(&t, 3, k);
            task_counters(&t, k, false);
            if (rows[i].grows || k < 5)
                task_show(&t, 0);
            put_proc(*state, rows[i].state, rows[i].tracer,
                     rows[i].ticks * (unsigned) k, rows[i].io * (unsigned) k);
            look(node, k + 0.5);
        }
        if (snap.ranks[0].state != rows[i].is)
            fail_msg("row %zu: %s", i, hung_state_words[snap.ranks[0].state]);
        /* the kernel's state is as new as the look */
        if (rows[i].is >= HUNG_DISK)
            assert_int_equal(snap.ranks[0].counted_ns, at(19.5).real_ns);
        livenode_destroy(node);
        unlink(t.path);
        task_end(&t);
    }
}

/* Ends in order, and by another process taking its pid. */
static void tells_ends(void **state)
{
    struct livenode *node = make_node(*state);
    struct task t;

    put_proc(*state, 'S', 0, 0, 0);
    task_begin(&t, *state, PID, 3);
    task_op(&t, 1, 0.001);
    task_counters(&t, 2, true);
    task_show(&t, 0);
    look(node, 3);
    assert_int_equal(snap.ranks[0].state, HUNG_ENDED);
    assert_true(snap.ranks[0].final);
    look(node, 300);
    assert_int_equal(snap.ranks[0].state, HUNG_ENDED);
    assert_int_equal(class, LIVE_WORKS);
    livenode_destroy(node);
    task_end(&t);
}

/* That many operations in each second from one time to another, and a look
 * after each. */
static void work(struct livenode *node, struct task *t, int from, int to, int n,
                 double seconds)
{
    for (int now = from; now < to; now++) {
        for (int i = 0; i < n; i++)
            task_op(t, now + i / (double) n, seconds);
        task_counters(t, now + 0.9, false);
        task_show(t, 0);
        look(node, now + 1);
    }
}

static void tells_what_it_does_of_late(void **state)
{
    struct livenode *node = make_node(*state);
    struct task t;

    put_proc(*state, 'S', 0, 0, 0);
    task_begin(&t, *state, PID, 3);
    /* the first counter says nothing of the time before it */
    work(node, &t, 0, 1, 10, 0.03);
    assert_true(snap.ranks[0].unrated);
    work(node, &t, 1, 40, 10, 0.03);
    assert_false(snap.ranks[0].unrated);
    assert_int_equal(snap.n_fronts, 2);
    assert_int_equal(snap.fronts[0].rate_milli, 0); /* that it has it */
    assert_in_range(snap.fronts[1].rate_milli, 9500, 10500);
    assert_in_range(snap.fronts[1].mean_us, 29900, 30100);
    assert_int_equal(snap.fronts[1].mean_bytes, 4096);
    assert_in_range(snap.ranks[0].rate_milli, 9500, 10500);
    assert_in_range(snap.ranks[0].share_permille, 285, 315);
    /* operations become twice as long, and rarer: this is visible half a minute
     * later */
    work(node, &t, 40, 80, 5, 0.1);
    assert_in_range(snap.ranks[0].rate_milli, 5000, 7500);
    assert_in_range(snap.fronts[1].mean_us, 60000, 100000);
    assert_in_range(snap.ranks[0].share_permille, 400, 500);
    /* and when nothing ends */
    for (int now = 80; now < 400; now++) {
        task_counters(&t, now, false);
        task_show(&t, 0);
        look(node, now + 1);
    }
    assert_in_range(snap.ranks[0].rate_milli, 0, 500);
    livenode_destroy(node);
    task_end(&t);
}

/* The GPU of the communicator, as sampled by the utilisation module. */
static void tells_of_the_gpu(void **state)
{
    struct module_shared shared = {
        .n_gpus = 2,
        .gpus_us = at(2).mono_ns / 1000,
        .gpus = {{"00000000:0A:00.0", 0.5, 1000, 300},
                 {"00000000:4F:00.0", 0.97, 1980, NAN}}};
    const struct livenode_place place = {.raw = *state,
                                         .node = "n1",
                                         .root = *state,
                                         .times = &times,
                                         .shared = &shared};
    struct livenode *node;
    struct task t;

    hung_times_set(&times, 30000);
    node = livenode_create(&place);
    task_begin_gpu(&t, *state, PID, 3, "0000:4f:00.0");
    task_op(&t, 1, 0.001);
    task_counters(&t, 2, false);
    task_show(&t, 0);
    look(node, 3);
    assert_int_equal(snap.ranks[0].gpu_permille, 970);
    assert_int_equal(snap.ranks[0].gpu_mhz, 1980);
    assert_int_equal(snap.ranks[0].gpu_watts, -1);
    look(node, 200); /* too old */
    assert_int_equal(snap.ranks[0].gpu_permille, -1);
    livenode_destroy(node);
    task_end(&t);
}

/* A task that worked a second ago is gone when its node leaves. */
static void tells_at_the_end_who_is_gone(void **state)
{
    struct livenode *node = make_node(*state);
    struct livenode_time now = at(23.2);
    struct jp_error err;
    struct task t;
    char *stat;

    put_proc(*state, 'S', 0, 0, 0);
    task_begin(&t, *state, PID, 3);
    work(node, &t, 0, 22, 10, 0.03);
    assert_int_equal(snap.ranks[0].state, HUNG_MOVES);
    stat = tempdir_path(*state, "proc/4242/stat");
    unlink(stat);
    work(node, &t, 22, 23, 10, 0.03);
    assert_int_equal(snap.ranks[0].state, HUNG_MOVES);
    now.last = true;
    assert_int_equal(livenode_look(node, &now, &class, &err), 0);
    assert_int_equal(livenode_fill(node, &now, &snap), 0);
    assert_int_equal(snap.ranks[0].state, HUNG_GONE);
    assert_int_equal(snap.ranks[0].counted_ns, now.real_ns);
    livenode_destroy(node);
    task_end(&t);
    free(stat);
}

/* The number of the recording belongs to another process. */
static void whose_task(void **state)
{
    static const struct {
        uint64_t start; /* in the recording; the process has 777 */
        unsigned uid;   /* plus that of this user */
        bool known, gone;
    } cases[] = {{0, 0, true, false},    {777, 0, true, false},
                 {776, 0, true, true},   {776, 1, true, true},
                 {777, 1, false, false}, {0, 1, false, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct livewatch_process is = {.pid = PID,
                                             .start = cases[i].start};
        struct livewatch w = {.known = false};

        put_proc(*state, 'S', 0, 0, 0);
        tempdir_status(*state, PID, geteuid() + cases[i].uid, "");
        livewatch_name(&w, &is);
        livewatch_look(&w, *state, 0, 60 * SECOND);
        if (w.known != cases[i].known || w.gone != cases[i].gone)
            fail_msg("case %zu: known %d, gone %d", i, w.known, w.gone);
        /* the number of a fake root is not signalled here */
        assert_int_equal(livetask_signal(*state, &w.task, SIGCONT), -1);
    }
}

static void on_signal(int signal)
{
    _exit(signal == SIGUSR1 ? 7 : 8);
}

/* A process that sleeps, with or without a handler. */
static pid_t sleeper(bool handles)
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (handles)
            signal(SIGUSR1, on_signal);
        (void) !write(ready[1], "x", 1);
        while (true)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* Without a handler the signal would end the task. */
static void signals_who_catches_it(void **state)
{
    const struct livenode_place place = {
        .raw = *state, .node = "n1", .root = "", .times = &times};
    pid_t pids[2] = {sleeper(true), sleeper(false)};
    struct livenode *node;
    struct livetask found;
    struct task tasks[2];
    int status;

    hung_times_set(&times, 30000);
    node = livenode_create(&place);
    for (int i = 0; i < 2; i++) {
        task_begin(&tasks[i], *state, (uint64_t) pids[i], i);
        task_counters(&tasks[i], 1, false);
        task_show(&tasks[i], 0);
    }
    look(node, 2);
    assert_int_equal(snap.n_ranks, 2);
    assert_true(livenode_find(node, pids[1], &found));
    assert_true(found.pid == pids[1] && found.start > 0);
    assert_false(livenode_find(node, 1, &found));
    assert_int_equal(livenode_signal(node, SIGUSR1), 1);
    assert_int_equal(waitpid(pids[0], &status, 0), pids[0]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(kill(pids[1], SIGKILL), 0);
    assert_int_equal(waitpid(pids[1], &status, 0), pids[1]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    look(node, 3);
    assert_int_equal(livenode_signal(node, SIGUSR1), 0);
    assert_false(livenode_find(node, pids[1], &found));
    livenode_destroy(node);
    task_end(&tasks[0]);
    task_end(&tasks[1]);
}

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* 8 ranks with that many operations per second each, blocks of 100 ms, a look
 * every second, a snapshot every 5 s. Returns the share of a processor. */
static double measure(const char *dir, int rate)
{
    enum { RANKS = 8, SECONDS = 40, FROM = 10 };
    struct livenode *node = make_node(dir);
    struct task tasks[RANKS];
    double spent = 0;

    for (int i = 0; i < RANKS; i++)
        task_begin(&tasks[i], dir, (uint64_t) getpid() + (uint64_t) i, i);
    for (int now = 0; now < SECONDS; now++) {
        struct livenode_time t = at(now + 1);
        struct jp_error err;
        double before;

        for (int i = 0; i < RANKS; i++) {
            for (int tenth = 0; tenth < 10; tenth++) {
                for (int n = 0; n < rate / 10; n++)
                    task_op(&tasks[i], now + tenth / 10.0, 0.0001);
                task_hangs(&tasks[i], now + tenth / 10.0 + 0.09,
                           now + tenth / 10.0 + 0.1);
            }
            task_counters(&tasks[i], now + 0.95, false);
            task_show(&tasks[i], 0);
        }
        before = cpu_s();
        assert_int_equal(livenode_look(node, &t, &class, &err), 0);
        if (now % 5 == 0)
            assert_int_equal(livenode_fill(node, &t, &snap), 0);
        spent += now >= FROM ? cpu_s() - before : 0;
    }
    livenode_destroy(node);
    for (int i = 0; i < RANKS; i++) {
        unlink(tasks[i].path);
        task_end(&tasks[i]);
    }
    return spent / (SECONDS - FROM);
}

/* The budget is 0.2 %. Reading everything that the fast ranks write would take
 * five times as long as for the slow ones. */
static void costs_little(void **state)
{
    double slow = measure(*state, 100), fast = measure(*state, 2000);

    print_message("# 8 ranks of 100 operations a second: %.3f %% of a "
                  "processor; of 2,000: %.3f %%\n",
                  100 * slow, 100 * fast);
#ifndef __SANITIZE_ADDRESS__
    assert_true(slow < 0.006);
    assert_true(fast < 0.010);
#endif
    assert_true(fast < 2.5 * slow);
}

/* Writes a process with a few communicators and the last second of its
 * operations. */
#define MANY 512
#define MANY_COMMS 6
static void put_second(struct jpr_maker *maker, unsigned second)
{
    static const char *const funcs[] = {"AllReduce", "AllGather",
                                        "ReduceScatter"};
    struct jpr_op op = {.kind = JPR_COLL,
                        .datatype = "ncclFloat32",
                        .algo = "RING",
                        .proto = "LL",
                        .bytes = 4096,
                        .peer = -1,
                        .n_channels = 2,
                        .api_func = "",
                        .api_datatype = ""};

    for (unsigned i = 0; i < 10 * MANY_COMMS; i++) {
        op.comm = i % MANY_COMMS;
        op.func = funcs[i / MANY_COMMS % 3];
        op.seq = 4 * second + i / MANY_COMMS / 3;
        jpr_maker_times(&op, at(second + i / (10.0 * MANY_COMMS)).mono_ns, 500);
        jpr_maker_op(maker, &op);
        if (i % 6 == 5)
            jpr_maker_flush(maker);
    }
    jpr_maker_counters(maker, at(second + 1).mono_ns, false, 0, 0);
}

/* Bytes of a recording, begun or continued, as one process writes them. */
static void grow_all(const char *dir, struct jpr_maker **makers, char **texts,
                     size_t *lens, FILE **outs, size_t *shown, unsigned second)
{
    for (unsigned i = 0; i < MANY; i++) {
        char name[64], *path;
        FILE *f;

        snprintf(name, sizeof(name), "n1-pid%u.jpr", 1000 + i);
        if (second == 0) {
            outs[i] = open_memstream(&texts[i], &lens[i]);
            makers[i] = jpr_maker_create(outs[i]);
            jpr_maker_header(makers[i], "n1", 1000 + i, i, NULL);
            for (uint32_t c = 0; c < MANY_COMMS; c++)
                jpr_maker_comm(makers[i],
                               &(struct jpr_comm){.index = c,
                                                  .known = true,
                                                  .id = 100 * (i / 8) + c,
                                                  .name = "dp",
                                                  .rank = i % 8,
                                                  .n_ranks = 8,
                                                  .gpu_pci = "",
                                                  .gpu_uuid = ""});
        }
        put_second(makers[i], second);
        jpr_maker_flush(makers[i]);
        fflush(outs[i]);
        path = tempdir_path(dir, name);
        f = fopen(path, "ae");
        assert_non_null(f);
        assert_int_equal(fwrite(texts[i] + shown[i], 1, lens[i] - shown[i], f),
                         lens[i] - shown[i]);
        fclose(f);
        free(path);
        shown[i] = lens[i];
    }
}

/* A node of 512 processes in six communicators each: all are in the snapshot,
 * in little memory and time. Another one is not watched, which is known. */
static void follows_many(void **state)
{
    struct jpr_maker **makers = calloc(MANY, sizeof(*makers));
    char **texts = calloc(MANY, sizeof(*texts));
    size_t *lens = calloc(MANY, sizeof(*lens));
    size_t *shown = calloc(MANY, sizeof(*shown)), heap;
    FILE **outs = calloc(MANY, sizeof(FILE *));
    static uint8_t bytes[LIVE_SNAP_BYTES];
    static struct live_snap back;
    struct livenode *node = make_node(*state);
    struct livenode_time late = at(20);
    uint64_t took = 0, most = 0, n = 0;
    struct task other;
    int64_t more;

    for (unsigned second = 0; second < 12; second++) {
        uint64_t before;
        struct livenode_time t = at(second + 1);

        grow_all(*state, makers, texts, lens, outs, shown, second);
        before = owncost_thread_ns();
        heap = owncost_heap_bytes();
        assert_int_equal(livenode_look(node, &t, &class, NULL), 0);
        more = (int64_t) (owncost_heap_bytes() - heap);
        most += more > 0 ? (uint64_t) more : 0;
        if (second > 1) /* files were opened before */
            took += owncost_thread_ns() - before, n++;
    }
    assert_int_equal(livenode_fill(node, &(struct livenode_time){0}, &snap), 0);
    print_message("# %d processes: %.1f MiB, %.2f ms a look\n", MANY,
                  (double) most / (1 << 20), (double) took / 1e6 / (double) n);
    assert_int_equal(snap.n_ranks, MANY);
    assert_int_equal(snap.left_ranks + snap.left_comms, 0);
    print_message("# snapshot of %zu bytes\n", livesnap_pack(&snap, bytes));
    assert_int_equal(livesnap_unpack(bytes, sizeof(bytes), &back, NULL), 0);
    assert_int_equal(back.n_ranks, MANY);
    assert_int_equal(back.n_fronts, snap.n_fronts);
    assert_int_equal(back.left_ranks + back.left_comms, 0);
    assert_true(most < (UINT64_C(64) << 20));
    assert_int_equal(livenode_left(node)->n, 0);
    task_begin(&other, *state, 77, 3);
    task_show(&other, 0);
    assert_int_equal(livenode_look(node, &late, &class, NULL), 0);
    assert_int_equal(livenode_left(node)->n, 1);
    assert_int_equal(livenode_left(node)->n_pids, 1);
    assert_int_equal(livenode_left(node)->pids[0], 77);
    assert_int_equal(livenode_fill(node, &late, &snap), 0);
    assert_int_equal(snap.left_ranks, 1);
    task_end(&other);
    livenode_destroy(node);
    for (unsigned i = 0; i < MANY; i++) {
        jpr_maker_destroy(makers[i]);
        fclose(outs[i]);
        free(texts[i]);
    }
    free(makers);
    free(texts);
    free(lens);
    free(shown);
    free(outs);
}

/* A file that replaces another one is read from its beginning. */
static void sees_a_file_replaced(void **state)
{
    struct livenode *node = make_node(*state);
    struct task t, other;
    char *moved = tempdir_path(*state, "old");

    task_begin(&t, *state, PID, 3);
    task_op(&t, 1, 0.001);
    task_counters(&t, 2, false);
    task_show(&t, 0);
    look(node, 3);
    assert_int_equal(snap.n_ranks, 1);
    rename(t.path, moved);
    task_begin(&other, *state, PID, 3);
    for (int i = 0; i < 5; i++)
        task_op(&other, 4, 0.001);
    task_counters(&other, 5, false);
    task_show(&other, 0);
    look(node, 20);
    assert_int_equal(snap.n_ranks, 2);
    assert_int_equal(snap.ranks[1].produced, 5);
    livenode_destroy(node);
    free(moved);
    task_end(&t);
    task_end(&other);
}

/* Garbage after good blocks: what was read stays, and no error is repeated. */
/* Replaces libc's function for the reader. */
static unsigned reads;
ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
    reads++;
    return syscall(SYS_pread64, fd, bytes, n, at);
}

/* Ten blocks of operations and ten of counters are read in one call. */
static void reads_in_few_calls(void **state)
{
    struct hung_times rule;
    const struct livenode_place place = {
        .raw = *state, .node = "n1", .root = *state, .times = &rule};
    struct livenode *node = livenode_create(&place);
    struct task t;

    hung_times_set(&rule, 30000);
    put_proc(*state, 'S', 0, 0, 0);
    task_begin(&t, *state, PID, 3);
    task_counters(&t, 1, false);
    task_show(&t, 0);
    look(node, 1);
    for (int i = 0; i < 10; i++) {
        task_op(&t, 2 + 0.1 * i, 0.05);
        task_counters(&t, 2.05 + 0.1 * i, false);
    }
    task_show(&t, 0);
    reads = 0;
    look(node, 3);
    assert_int_equal(reads, 2); /* and the end */
    reads = 0;
    look(node, 4);
    assert_int_equal(reads, 1); /* nothing new */
    livenode_destroy(node);
    task_end(&t);
}

static void survives_damage(void **state)
{
    struct livenode *node = make_node(*state);
    struct livenode_time now = at(4);
    struct jp_error err = {""};
    struct task t;
    FILE *f;

    task_begin(&t, *state, PID, 3);
    task_op(&t, 1, 0.001);
    task_counters(&t, 2, false);
    task_show(&t, 0);
    look(node, 3);
    f = fopen(t.path, "ae");
    for (int i = 0; i < 100; i++)
        fputs("this is no block at all ", f);
    fclose(f);
    for (int i = 0; i < 40; i++)
        livenode_look(node, &now, &class, &err);
    assert_non_null(strstr(err.text, "damaged"));
    assert_int_equal(livenode_fill(node, &now, &snap), 0);
    assert_int_equal(snap.ranks[0].produced, 1);
    assert_true(snap.ranks[0].damaged);
    free(tempdir_file(*state, "n1-pid9.jpr", 0600,
                      "not a recording, but long enough for one to begin"));
    now = at(30);
    livenode_look(node, &now, &class, &err);
    assert_int_equal(livenode_fill(node, &now, &snap), 0);
    assert_int_equal(snap.n_ranks, 1);
    livenode_destroy(node);
    task_end(&t);
}

static void reports_an_unreadable_file_once(void **state)
{
    struct livenode *node = make_node(*state);
    struct livenode_time now = at(4);
    struct jp_error err = {""};

    free(tempdir_file(*state, "n1-pid9.jpr", 0600,
                      "not a recording, but long enough for one to begin"));
    assert_int_equal(livenode_look(node, &now, &class, &err), -1);
    assert_non_null(strstr(err.text, "n1-pid9.jpr"));
    now = at(5);
    assert_int_equal(livenode_look(node, &now, &class, &err), 0);
    assert_int_equal(livenode_fill(node, &now, &snap), 0);
    assert_int_equal(snap.n_ranks, 0);
    livenode_destroy(node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, tempdir_make, tempdir_drop)
        TEST(follows_what_grows),
        TEST(tells_bandwidth_by_size),
        TEST(bytes_never_fall),
        TEST(learns_what_is_usual),
        TEST(tells_how_a_process_is),
        TEST(tells_ends),
        TEST(sees_a_file_replaced),
        TEST(reads_in_few_calls),
        TEST(survives_damage),
        TEST(reports_an_unreadable_file_once),
        TEST(tells_what_it_does_of_late),
        TEST(tells_of_the_gpu),
        TEST(costs_little),
        TEST(follows_many),
        TEST(whose_task),
        TEST(signals_who_catches_it),
        TEST(tells_at_the_end_who_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
