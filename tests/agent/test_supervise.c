/* test_supervise.c - the time at which a supervisor ends its runner.
 *
 * Tasks that end on a signal may still read files, so the daemon serves them
 * for a while after its own signal: 8 s, or the time that KillWait and the
 * interval leave. Each case is a separate process, and all run at once.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"
#include "tests/common/tempdir.h"

#define WAIT_MS 30000

/* --- a runner that does nothing ------------------------------------------- */

static char stopped; /* the runner's state */

static int start(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err)
{
    (void) conf;
    (void) step_dir;
    (void) node;
    (void) err;
    *state = &stopped;
    return 0;
}

static int ready(void *state, struct jp_error *err)
{
    (void) state;
    (void) err;
    return 1;
}

static int stop(void *state, bool force)
{
    *(char *) state = force ? 2 : 1;
    return 1;
}

static int collect(void *state, struct jp_error *err)
{
    (void) state;
    (void) err;
    return 0;
}

static void destroy(void *state)
{
    (void) state;
}

static const struct backend_runner runner = {.start = start,
                                             .ready = ready,
                                             .stop = stop,
                                             .collect = collect,
                                             .destroy = destroy};

/* --- the cases ------------------------------------------------------------ */

enum event { SIGNALLED, STEP_ENDED, ENDED_AFTER_SIGNAL, REPORTED };

static const struct row {
    const char *kill_wait, *interval; /* NULL: not set */
    enum event event;
    uint32_t least_ms, most_ms; /* range of the delay after the signal, as
                                   measured by the runner */
    const char *why;
} rows[] = {
    {"30", NULL, SIGNALLED, 8000, 20000, "a signal"},
    {"12", NULL, SIGNALLED, 2000, 7000, "a signal"},
    {"30", "20", SIGNALLED, 0, 7000, "a signal"},
    {"30", "18", SIGNALLED, 2000, 7000, "a signal"},
    {"10", NULL, SIGNALLED, 0, 7000, "a signal"},
    {"0", NULL, SIGNALLED, 0, 7000, "a signal"},
    {"30", NULL, STEP_ENDED, 0, 7000, "the step has ended"},
    {"30", NULL, ENDED_AFTER_SIGNAL, 0, 7000, "the step has ended"},
    {"30", NULL, REPORTED, 0, 7000, "the step is reported"},
};
enum { N_ROWS = sizeof(rows) / sizeof(*rows) };

static void write_conf(const char *dir, const struct row *row)
{
    char *path = text_format("%s/" JP_JOBCONF_NAME, dir), empty[] = "";
    char kill_wait[] = "kill_wait", interval[] = "interval";
    struct jp_setting settings[2] = {
        {kill_wait, strdup(row->kill_wait), empty, empty, empty}};
    struct jp_jobconf conf = {.schema = 1,
                              .sides[OPTION_COPPER].settings = settings,
                              .sides[OPTION_COPPER].n_settings = 1};

    if (row->interval)
        settings[conf.sides[OPTION_COPPER].n_settings++] = (struct jp_setting){
            interval, strdup(row->interval), empty, empty, empty};
    assert_int_equal(jobconf_write(path, &conf, NULL), 0);
    free(settings[0].value);
    free(settings[1].value);
    free(path);
}

/* Runs the supervisor in a separate process, with the test as its parent. */
static void __attribute__((noreturn)) run(const char *dir)
{
    const struct run_place place = {dir, "n1", NULL, OPTION_COPPER};
    struct jp_error err = {""};
    int rc = supervise(&runner, &place, &err);

    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    _exit(rc == 0 && stopped == 1 ? 0 : 1);
}

static void remove_marks(const char *dir)
{
    char *path = text_format("%s/run", dir);

    assert_int_equal(fileio_remove_tree(path, NULL), 0);
    free(path);
}

static void cause(const struct row *row, const char *dir, pid_t pid)
{
    if (row->event == SIGNALLED || row->event == ENDED_AFTER_SIGNAL)
        assert_int_equal(kill(pid, SIGTERM), 0);
    if (row->event == STEP_ENDED || row->event == ENDED_AFTER_SIGNAL)
        assert_int_equal(runmark_end_step(dir, NULL), 0);
    if (row->event == REPORTED)
        remove_marks(dir);
}

static void await_ready(const char *dir)
{
    for (int ms = 0; !runmark_is_set(dir, "n1", RUNMARK_READY); ms += 10) {
        assert_true(ms < WAIT_MS);
        usleep(10000);
    }
}

static void check_log(const char *dir, const char *why)
{
    char *path = text_format("%s/log.txt", dir), *text = NULL;
    char want[64];

    snprintf(want, sizeof(want), " ms after %s\n", why);
    assert_int_equal(fileio_read(path, false, 65536, &text, NULL, NULL), 0);
    if (!strstr(text, want))
        print_message("%s", text);
    assert_non_null(strstr(text, want));
    free(text);
    free(path);
}

static void test_when_it_ends(void **state)
{
    char *dirs[N_ROWS];
    pid_t pids[N_ROWS];
    uint64_t from_ms[N_ROWS];
    int left = N_ROWS, status;

    for (int i = 0; i < N_ROWS; i++) {
        dirs[i] = text_format("%s/step-%d", (char *) *state, i);
        assert_int_equal(mkdir(dirs[i], 0700), 0);
        assert_int_equal(runmarks_make(dirs[i], NULL), 0);
        write_conf(dirs[i], &rows[i]);
        pids[i] = fork();
        if (pids[i] == 0)
            run(dirs[i]);
    }
    for (int i = 0; i < N_ROWS; i++) {
        await_ready(dirs[i]);
        from_ms[i] = clock_mono_ms();
        cause(&rows[i], dirs[i], pids[i]);
    }
    while (left-- > 0) {
        pid_t pid = waitpid(-1, &status, 0);
        uint64_t now_ms = clock_mono_ms();
        int i = 0;

        while (i < N_ROWS && pids[i] != pid)
            i++;
        assert_true(i < N_ROWS);
        assert_int_equal(status, 0);
        assert_in_range(now_ms - from_ms[i], rows[i].least_ms, rows[i].most_ms);
        check_log(dirs[i], rows[i].why);
        free(dirs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_when_it_ends, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests_name("supervise", tests, NULL, NULL);
}
