/* test_live.c - the agent's module on two nodes of a step with growing
 * recordings: snapshots, lines, files, the command, and what must not be
 * reported.
 *
 * The modules of both nodes run in this process, by the test's clock. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "common/knob.h"
#include "orchestrator/live/live.h"
#include "orchestrator/live/livewant.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"
#include "tests/live/alerts.h"
#include "tests/live/growtask.h"

#define SUSPECT_MS 30000

struct step {
    const char *root;
    char *dir;
    struct jp_onhang on_hang;
    struct task tasks[2];
    void *nodes[2];
    bool waits[2]; /* the rank is in an operation that has not ended */
    double since;
    char log[65536], evidence[1024];
    const struct module_metrics *metrics;
    unsigned failures;
    char failure[sizeof(struct jp_error)];
};

static void put_log(void *arg, const char *line)
{
    struct step *s = arg;
    size_t used = strlen(s->log);

    snprintf(s->log + used, sizeof(s->log) - used, "%s\n", line);
}

/* Requests for evidence of a hang. */
static void put_evidence(void *arg, const struct module_hang *hang)
{
    struct step *s = arg;
    size_t used = strlen(s->evidence);

    used += (size_t) snprintf(s->evidence + used, sizeof(s->evidence) - used,
                              "%s hang %u:", hang->node, hang->number);
    for (size_t i = 0; i < hang->n_targets; i++)
        used += (size_t) snprintf(
            s->evidence + used, sizeof(s->evidence) - used,
            " %s %d task %d rank %d",
            hang->targets[i].missing ? "missing" : "waits",
            (int) hang->targets[i].pid, (int) hang->targets[i].task,
            (int) hang->targets[i].rank);
    snprintf(s->evidence + used, sizeof(s->evidence) - used, " (%.14s)\n",
             hang->text);
}

static void make(const char *dir, const char *name)
{
    char *path = tempdir_path(dir, name);

    assert_int_equal(fileio_mkdirs(path, NULL), 0);
    free(path);
}

/* /proc of a task that sleeps. */
static void put_proc(const char *root, unsigned pid)
{
    char name[64], text[128];

    snprintf(name, sizeof(name), "proc/%u", pid);
    make(root, name);
    snprintf(name, sizeof(name), "proc/%u/stat", pid);
    snprintf(text, sizeof(text),
             "%u (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 777 0 0\n", pid);
    free(tempdir_file(root, name, 0600, text));
    tempdir_status(root, pid, geteuid(), "");
}

static void *start_node(struct step *s, unsigned i)
{
    static const char *const names[] = {"n0", "n1"};
    const struct module_place place = {.dir = s->dir,
                                       .node = names[i],
                                       .root = s->root,
                                       .job = 7,
                                       .step = "0",
                                       .nodeid = i,
                                       .step_nodes = 2,
                                       .component = 7,
                                       .leads = i == 0,
                                       .records_live = true,
                                       .hang_suspect_ms = SUSPECT_MS,
                                       .on_hang = &s->on_hang,
                                       .metrics = s->metrics,
                                       .conf_hash = "0123456789abcdef00",
                                       .log = put_log,
                                       .log_arg = s,
                                       .take_evidence = put_evidence,
                                       .take_arg = s};
    struct jp_error err = {""};

    return live_module.start(&place, &err);
}

static void begin_in(struct step *s, void **state, const char *on_hang,
                     const char *dir)
{
    *s = (struct step){.root = *state, .metrics = s->metrics};
    s->dir = tempdir_path(*state, dir);
    assert_int_equal(onhang_parse(on_hang, NULL, &s->on_hang, NULL), 0);
    make(s->dir, "raw/n0");
    make(s->dir, "raw/n1");
    for (unsigned i = 0; i < 2; i++) {
        char *raw = tempdir_path(s->dir, i ? "raw/n1" : "raw/n0");

        put_proc(s->root, 5000 + i);
        task_begin(&s->tasks[i], raw, 5000 + i, i);
        s->nodes[i] = start_node(s, i);
        assert_non_null(s->nodes[i]);
        free(raw);
    }
}

static void begin(struct step *s, void **state, const char *on_hang)
{
    begin_in(s, state, on_hang, "job/step-0");
}

static void tick(struct step *s, unsigned i, double now)
{
    struct livenode_time t = at(now);
    const struct module_time time = {.real_us = t.real_ns / 1000,
                                     .mono_us = t.mono_ns / 1000};
    struct jp_error err = {""};

    if (live_module.tick(s->nodes[i], &time, &err) < 0) {
        s->failures++;
        snprintf(s->failure, sizeof(s->failure), "%s", err.text);
    }
}

/* Runs from one second to another: recorders write, agents look. */
static void run(struct step *s, int from, int to)
{
    for (int now = from; now < to; now++)
        for (unsigned i = 0; i < 2; i++) {
            struct task *t = &s->tasks[i];

            if (s->waits[i])
                task_hangs(t, s->since, now);
            else if (!s->waits[0] && !s->waits[1])
                task_op(t, now, 0.2);
            task_counters(t, now, false);
            task_show(t, 0);
            if (s->nodes[i])
                tick(s, i, now + 0.5);
        }
}

/* Kills an agent: no last snapshot, and its file stays. */
static void kill_agent(struct step *s, unsigned i)
{
    live_module.destroy(s->nodes[i]);
    s->nodes[i] = NULL;
}

static void end(struct step *s)
{
    for (unsigned i = 0; i < 2; i++) {
        if (s->nodes[i]) {
            live_module.finish(s->nodes[i]);
            live_module.destroy(s->nodes[i]);
        }
        task_end(&s->tasks[i]);
    }
    free(s->dir);
}

static char *read_file(const struct step *s, const char *name)
{
    char *path = tempdir_path(s->dir, name), *text = NULL;

    fileio_read(path, false, 1 << 20, &text, NULL, NULL);
    free(path);
    return text;
}

static int read_snap(const char *path, struct live_snap *snap)
{
    return livesnap_read(AT_FDCWD, path, snap, NULL);
}

/* Reaped, not a zombie. */
static bool is_there(long pid)
{
    char path[64], text[256] = "", *end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    (void) !fgets(text, sizeof(text), f);
    fclose(f);
    end = strrchr(text, ')');
    return end && end[2] != 'Z';
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;

    for (; text && (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* Rank 1 of 4 is missing, and two ranks are on nodes that do not exist. */
static void hang(struct step *s)
{
    run(s, 1, 60);
    s->waits[0] = true;
    s->since = 60;
    run(s, 60, 100);
}

/* --- tests ---------------------------------------------------------------- */

static void tells_once_and_again(void **state)
{
    static struct step s;
    char *alerts;

    begin(&s, state, "report");
    hang(&s);
    assert_int_equal(count(s.log, "\n"), 0); /* not after 40 s */
    run(&s, 100, 140);
    assert_int_equal(count(s.log, "no progress for"), 1);
    assert_int_equal(count(s.log, "\n"), 1);
    run(&s, 140, 700);
    assert_int_equal(count(s.log, "step 0 hangs"), 1);
    assert_int_equal(count(s.log, "rank 1 (n1 pid 5001) never entered "
                                  "AllReduce 59 of dp"),
                     2);
    assert_int_equal(count(s.log, "jobprof show --pending"), 1);
    assert_int_equal(count(s.log, "\n"), 2);
    s.waits[0] = false;
    run(&s, 700, 720);
    assert_int_equal(count(s.log, "makes progress again"), 1);
    assert_int_equal(count(s.log, "\n"), 3);
    alerts = read_file(&s, "live/alerts.jsonl");
    assert_int_equal(count(alerts, "\n"), 3);
    assert_int_equal(count(alerts, "\"class\":\"never_entered\""), 2);
    assert_int_equal(count(alerts, "\"node\":\"n1\""), 2);
    assert_int_equal(count(alerts, "\"comm\":\"0xabc\""), 2);
    for (size_t i = 0; i < 2; i++)
        assert_alert(alerts, i,
                     i ? "\"hang\" \"never_entered\" 1 1 \"n1\" 5001 null 1 "
                         "\"outside of "
                         "NCCL\" \"0xabc\" \"dp\" \"AllReduce\" 59 4096 4"
                       : "\"suspect\" \"never_entered\" 1 1 \"n1\" 5001 null 1 "
                         "\"outside "
                         "of NCCL\" \"0xabc\" \"dp\" \"AllReduce\" 59 4096 4");
    assert_alert(alerts, 2,
                 "\"goes_on\" null null null null -1 null -1 null null null "
                 "null null null "
                 "null");
    free(alerts);
    end(&s);
    assert_int_equal(s.failures, 0);
}

/* Once per hang, of the missing ranks and of waiting ones. */
static void asks_for_evidence(void **state)
{
    static struct step s;

    begin(&s, state, "report");
    hang(&s);
    run(&s, 100, 150);
    assert_string_equal(s.evidence, ""); /* not for a suspicion */
    run(&s, 150, 400);
    assert_int_equal(count(s.evidence, "\n"), 2);
    assert_non_null(strstr(s.evidence,
                           "n1 hang 1: missing 5001 task 1 rank 1 (rank 1 "
                           "(n1 pid)\n"));
    assert_non_null(strstr(
        s.evidence, "n0 hang 1: waits 5000 task 0 rank 0 (rank 1 (n1 pid)\n"));
    s.waits[0] = false;
    run(&s, 400, 430);
    s.waits[0] = true;
    s.since = 430;
    run(&s, 430, 700);
    assert_int_equal(count(s.evidence, "\n"), 4);
    assert_int_equal(count(s.evidence, "hang 2:"), 2);
    end(&s);
}

static void says_what_on_hang_takes(void **state)
{
    const struct jp_knob knob = {.name = "on_hang", .kind = JP_KNOB_ON_HANG};
    char range[128];

    (void) state;
    assert_string_equal(knob_format_range(&knob, range, sizeof(range)),
                        ONHANG_RANGE);
    assert_int_equal(knob_check(&knob, "signal:USR1", NULL), 0);
    assert_int_equal(knob_check(&knob, "mail", NULL), -1);
}

/* Every 30 s while all is well, more often if somebody watches or a rank waits.
 */
static void writes_at_its_pace(void **state)
{
    static struct step s;
    static struct live_snap snap;
    char *folder, *path;
    uint32_t sequence;

    begin(&s, state, "report");
    run(&s, 1, 300);
    folder = tempdir_path(s.dir, "live/nodes");
    path = tempdir_path(folder, "7.1.snap");
    assert_int_equal(read_snap(path, &snap), 0);
    assert_in_range(snap.sequence, 9, 12);
    assert_int_equal(snap.conf, 0x0123456789abcdef);
    assert_int_equal(snap.class, LIVE_WORKS);
    assert_string_equal(snap.node, "n1");
    assert_int_equal(snap.due_ms, 30000);
    sequence = snap.sequence;
    free(tempdir_file(s.dir, "live/live.want", 0600, "comm 0xabc\n"));
    run(&s, 300, 350);
    assert_int_equal(read_snap(path, &snap), 0);
    assert_in_range(snap.sequence - sequence, 8, 12);
    assert_int_equal(snap.due_ms, 5000);
    assert_int_equal(snap.last, false);
    end(&s);
    assert_int_equal(read_snap(path, &snap), 0);
    assert_int_equal(snap.last, true);
    free(path);
    free(folder);
}

/* A watching program keeps the lines that exist. */
static void renews_the_lease(void **state)
{
    static struct livewant want;
    static struct step s;
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    char *path, *text;
    struct stat st;

    begin(&s, state, "report");
    path = tempdir_path(s.dir, "live/live.want");
    assert_int_equal(livewant_touch(s.dir, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    free(tempdir_file(s.dir, "live/live.want", 0600,
                      "comm 0xabc\nsignal USR1 3\ncomm 7\ncomm 0xx\n"
                      "evidence 2 n1 44 waits 1 -1\nevidence 2 n1 1 waits 1 1\n"
                      "evidence 2 n0 45 waits 1 1\nevidence 2 n1 45 dead 1 1\n"
                      "evidence 0 n1 45 waits 1 1\nevidence 2 n1\nsignal USR2\n"
                      "hang 2 a b c\nhang\n \n"));
    utimensat(AT_FDCWD, path, old, 0);
    assert_int_equal(livewant_touch(s.dir, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_mtim.tv_sec > 1000);
    text = read_file(&s, "live/live.want");
    livewant_parse(text, "n1", &want);
    assert_int_equal(want.n_hashes, 1);
    assert_int_equal(want.hashes[0], 0xabc);
    assert_string_equal(want.signal, "USR1");
    assert_int_equal(want.signal_number, 3);
    assert_int_equal(want.hang_number, 2);
    assert_int_equal(want.n_targets, 1);
    assert_int_equal(want.targets[0].pid, 44);
    assert_int_equal(want.targets[0].rank, -1);
    assert_false(want.targets[0].missing);
    assert_string_equal(want.hang, "a b c");
    free(text);
    /* a link is not followed */
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(livewant_touch(s.dir, NULL), -1);
    free(path);
    end(&s);
}

/* All have left. */
static void says_nothing_of_the_end(void **state)
{
    static struct step s;

    begin(&s, state, "report");
    hang(&s);
    make(s.dir, "alldone");
    run(&s, 100, 400);
    assert_string_equal(s.log, "");
    end(&s);
}

static void survives_that_its_folder_goes(void **state)
{
    static struct step s;

    begin(&s, state, "report");
    hang(&s);
    assert_int_equal(fileio_remove_tree(s.dir, NULL), 0);
    for (int now = 100; now < 400; now++)
        for (unsigned i = 0; i < 2; i++)
            tick(&s, i, now);
    assert_string_equal(s.log, "");
    end(&s);
}

/* The names of the snapshots are those of other files, and a link stands for
 * one of them: they are replaced, and the files stay as they are. */
static void replaces_what_has_its_name(void **state)
{
    char *victim = tempdir_file(*state, "victim", 0600, "mine"), *text = NULL;
    static struct step s;
    char *first, *second;
    struct stat st;

    begin(&s, state, "report");
    make(s.dir, "live/nodes");
    first = tempdir_path(s.dir, "live/nodes/7.0.snap");
    second = tempdir_path(s.dir, "live/nodes/7.1.snap");
    assert_int_equal(link(victim, first) | symlink(victim, second), 0);
    run(&s, 0, 60);
    assert_int_equal(s.failures, 0);
    assert_int_equal(fileio_read(victim, false, 65536, &text, NULL, NULL), 0);
    assert_string_equal(text, "mine");
    assert_int_equal(lstat(first, &st), 0);
    assert_true(S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_size > 100);
    assert_int_equal(lstat(second, &st), 0);
    assert_true(S_ISREG(st.st_mode) && st.st_size > 100);
    end(&s);
    free(first);
    free(second);
    free(victim);
    free(text);
}

/* The step's folder is renamed, and another one gets its name. */
static void stays_in_its_folder(void **state)
{
    static struct step s;
    char *snap, *moved;
    struct stat before, after;

    begin(&s, state, "report");
    run(&s, 0, 60);
    moved = tempdir_path(*state, "moved");
    assert_int_equal(rename(s.dir, moved), 0);
    make(s.dir, "live/nodes");
    snap = tempdir_path(moved, "live/nodes/7.1.snap");
    assert_int_equal(stat(snap, &before), 0);
    for (int now = 60; now < 200; now++)
        for (unsigned i = 0; i < 2; i++)
            tick(&s, i, now + 0.5);
    assert_int_equal(stat(snap, &after), 0);
    assert_true(after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
                after.st_mtim.tv_nsec != before.st_mtim.tv_nsec);
    free(snap);
    snap = tempdir_path(s.dir, "live/nodes/7.1.snap");
    assert_int_equal(access(snap, F_OK), -1);
    free(snap);
    free(moved);
    end(&s);
}

/* No room for a snapshot: the agent reports the error once. */
static void survives_a_full_disk(void **state)
{
    struct rlimit old, none;
    static struct step s;

    begin(&s, state, "report");
    for (unsigned i = 0; i < 2; i++) {
        task_op(&s.tasks[i], 1, 0.2);
        task_counters(&s.tasks[i], 2, false);
        task_show(&s.tasks[i], 0);
    }
    getrlimit(RLIMIT_FSIZE, &old);
    none = (struct rlimit){0, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    for (int now = 3; now < 100; now++)
        for (unsigned i = 0; i < 2; i++)
            tick(&s, i, now);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_true(s.failures > 0);
    assert_non_null(strstr(s.failure, "snap: "));
    assert_string_equal(s.log, "");
    end(&s);
}

/* The command gets the alert on standard input, and the step's names. */
static void runs_the_command(void **state)
{
    char command[300], *out = tempdir_path(*state, "got");
    static struct step s;
    char *text = NULL;

    snprintf(command, sizeof(command),
             "/bin/cat > %s.tmp && echo $SLURM_JOB_ID.$SLURM_STEP_ID >> "
             "%s.tmp && /bin/mv %s.tmp %s",
             out, out, out, out);
    if (strlen(command) > 250) /* TMPDIR is long */
        skip_check("the name of the temporary folder is too long");
    begin(&s, state, command);
    hang(&s);
    run(&s, 100, 180);
    for (int i = 0; i < 600 && access(out, R_OK) < 0; i++)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    assert_int_equal(fileio_read(out, false, 65536, &text, NULL, NULL), 0);
    assert_non_null(strstr(text, "\"event\":\"hang\""));
    assert_non_null(strstr(text, "\"rank\":1"));
    assert_non_null(strstr(text, "\n7.0\n"));
    free(text);
    free(out);
    end(&s);
}

/* A command that never ends is killed with its children. */
static void kills_a_command_that_stays(void **state)
{
    char command[300], *out = tempdir_path(*state, "pid");
    char *text = NULL;
    static struct step s;
    long pid = 0;

    snprintf(command, sizeof(command), "/bin/sleep 1000 & echo $! > %s; wait",
             out);
    if (strlen(command) > 250)
        skip_check("the name of the temporary folder is too long");
    begin(&s, state, command);
    hang(&s);
    run(&s, 100, 170);
    for (int i = 0; i < 600 && pid <= 0; i++) {
        if (fileio_read(out, false, 64, &text, NULL, NULL) == 0)
            pid = strtol(text, NULL, 10);
        free(text);
        text = NULL;
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
    assert_true(pid > 1);
    assert_int_equal(kill((pid_t) pid, 0), 0);
    end(&s); /* ends with the agent */
    for (int i = 0; i < 600 && is_there(pid); i++)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    assert_false(is_there(pid));
    free(out);
}

static void is_off_where_it_should(void **state)
{
    struct module_place place = {.dir = *state,
                                 .node = "n0",
                                 .root = "",
                                 .step = "0",
                                 .records_live = true,
                                 .hang_suspect_ms = SUSPECT_MS};
    struct jp_onhang off = {.kind = ONHANG_OFF}, on = {.kind = ONHANG_REPORT};
    struct jp_error err = {""};
    void *live;

    place.on_hang = &off;
    assert_null(live_module.start(&place, &err));
    place.on_hang = &on;
    place.records_live = false;
    assert_null(live_module.start(&place, &err));
    place.records_live = true;
    place.hang_suspect_ms = 0;
    assert_null(live_module.start(&place, &err));
    assert_string_equal(err.text, "");
    place.hang_suspect_ms = 1;
    live = live_module.start(&place, &err);
    assert_non_null(live);
    live_module.destroy(live);
}

/* The last snapshot of the node is old: that is no hang. A real hang is
 * reported later, and the report mentions the node. */
static void an_agent_is_killed(void **state)
{
    static struct step s;

    begin(&s, state, "report");
    run(&s, 1, 100);
    kill_agent(&s, 1);
    run(&s, 100, 500);
    assert_string_equal(s.log, "");
    s.waits[0] = true;
    s.since = 500;
    run(&s, 500, 640);
    assert_int_equal(count(s.log, "hangs"),
                     0); /* the silent node may know better */
    run(&s, 640, 800);
    assert_int_equal(count(s.log, "step 0 hangs"), 1);
    assert_int_equal(count(s.log, "some nodes do not answer"), 1);
    assert_int_equal(s.failures, 0);
    end(&s);
}

/* Node 0's agent is killed: nobody joins or reports, and the other one goes on.
 */
static void the_agent_that_joins_is_killed(void **state)
{
    static struct step s;

    begin(&s, state, "report");
    run(&s, 1, 100);
    kill_agent(&s, 0);
    run(&s, 100, 200);
    s.waits[0] = true;
    s.since = 200;
    run(&s, 200, 500);
    assert_string_equal(s.log, "");
    assert_int_equal(s.failures, 0);
    end(&s);
}

/* Two steps on the same nodes have separate files, reports and lines. */
static void two_steps_at_once(void **state)
{
    static struct step a, b;
    char *alerts;

    begin_in(&a, state, "report", "job/step-0");
    begin_in(&b, state, "report", "job/step-1");
    run(&a, 1, 60);
    run(&b, 1, 60);
    a.waits[0] = true;
    a.since = 60;
    for (int now = 60; now < 300; now += 10) {
        run(&a, now, now + 10);
        run(&b, now, now + 10);
    }
    assert_int_equal(count(a.log, "hangs"), 1);
    assert_string_equal(b.log, "");
    alerts = read_file(&b, "live/alerts.jsonl");
    assert_null(alerts);
    assert_null(strstr(b.evidence, "hang"));
    assert_int_equal(a.failures + b.failures, 0);
    end(&a);
    end(&b);
}

static void put_old_word(const char *dir)
{
    static struct live_snap snap;
    char *path = tempdir_path(dir, "live/nodes"), name[16] = "n5";
    uint8_t bytes[LIVE_SNAP_BYTES];
    int folder, fd;

    assert_int_equal(fileio_mkdirs(path, NULL), 0);
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snap = (struct live_snap){.conf = 0xfedc,
                              .nodeid = 5,
                              .sequence = 9,
                              .real_ns = at(1).real_ns,
                              .due_ms = 30000,
                              .class = LIVE_WAITS,
                              .n_ranks = 1,
                              .n_comms = 1,
                              .comms = {{0xdef, 2, "old"}},
                              .n_ops = 1};
    snprintf(snap.node, sizeof(snap.node), "%s", name);
    snap.ranks[0] = (struct live_rank){
        .task = 0, .state = HUNG_WAITS, .counted_ns = (int64_t) at(1).real_ns};
    snap.ops[0] = (struct live_op){.peer = -1,
                                   .func = "AllReduce",
                                   .seq = 7,
                                   .start_ns = (int64_t) JPR_MAKER_REAL_NS,
                                   .until_ns = (int64_t) at(400).real_ns,
                                   .limit_ns = 30000000000};
    livesnap_pack(&snap, bytes);
    fd = openat(folder, "6.5.snap", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    close(fd);
    close(folder);
    free(path);
}

/* A killed step has left its snapshots in a directory that is used again, with
 * another job.conf. */
static void an_earlier_step_is_no_hang(void **state)
{
    static struct step s;

    begin(&s, state, "report");
    put_old_word(s.dir);
    run(&s, 1, 400);
    assert_string_equal(s.log, "");
    assert_int_equal(s.failures, 0);
    end(&s);
}

/* A step without a recording leaves no trace. */
static void leaves_nothing_without_nccl(void **state)
{
    static struct step s;
    char *path;

    begin(&s, state, "report");
    for (int now = 1; now < 200; now++)
        for (unsigned i = 0; i < 2; i++)
            tick(&s, i, now);
    path = tempdir_path(s.dir, "live");
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    end(&s);
}

/* With reports of hangs switched off there are metrics nevertheless; only the
 * leader's file has a verdict, and no file remains. */
static void writes_metrics(void **state)
{
    static const char *const on_hangs[] = {"report", "off"};
    char *folder = tempdir_path(*state, "text"), *text;
    const struct module_metrics metrics = {.folder = folder,
                                           .period_ms = 15000,
                                           .series = 500,
                                           .job = "7",
                                           .step = "0",
                                           .user = "alice",
                                           .account = "ai",
                                           .partition = ""};
    char names[2][64];

    make(*state, "text");
    for (unsigned i = 0; i < 2; i++)
        snprintf(names[i], sizeof(names[i]),
                 "../../text/jobprof-7.0-n%u-%lu.prom", i,
                 (unsigned long) geteuid());
    for (size_t k = 0; k < 2; k++) {
        struct step s = {.metrics = &metrics};

        begin(&s, state, on_hangs[k]);
        run(&s, 0, 50);
        assert_int_equal(s.failures, 0);
        for (unsigned i = 0; i < 2; i++) {
            char wanted[160];

            text = read_file(&s, names[i]);
            snprintf(wanted, sizeof(wanted),
                     "jobprof_operations_total{jobid=\"7\",step=\"0\",node="
                     "\"n%u\",rank=\"%u\"} ",
                     i, i);
            assert_int_equal(count(text, wanted), 1);
            assert_int_equal(count(text, "jobprof_verdict{"), !i && !k);
            assert_int_equal(count(text, "nccl_bus_bandwidth_gbs{"), 1);
            free(text);
        }
        text = tempdir_path(s.dir, "live/nodes");
        assert_int_equal(access(text, F_OK), k ? -1 : 0);
        free(text);
        end(&s);
        assert_int_equal(rmdir(folder), 0); /* the folder is empty */
        make(*state, "text");
        text = tempdir_path(*state, "job");
        assert_int_equal(fileio_remove_tree(text, NULL), 0);
        free(text);
    }
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, tempdir_make, tempdir_drop)
        TEST(tells_once_and_again),
        TEST(writes_at_its_pace),
        TEST(says_nothing_of_the_end),
        TEST(survives_that_its_folder_goes),
        TEST(replaces_what_has_its_name),
        TEST(stays_in_its_folder),
        TEST(survives_a_full_disk),
        TEST(runs_the_command),
        TEST(kills_a_command_that_stays),
        TEST(is_off_where_it_should),
        TEST(leaves_nothing_without_nccl),
        TEST(asks_for_evidence),
        TEST(renews_the_lease),
        TEST(says_what_on_hang_takes),
        TEST(an_agent_is_killed),
        TEST(the_agent_that_joins_is_killed),
        TEST(two_steps_at_once),
        TEST(an_earlier_step_is_no_hang),
        TEST(writes_metrics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
