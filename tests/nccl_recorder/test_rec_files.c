/* test_rec_files.c - the recorder's files: where none can be written, where
 * there are many, and after forks. */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/ownproc.h"
#include "plugins/nccl_recorder/jpr_read.h"
#include "tests/nccl_recorder/rec_harness.h"

enum { MANY = 10000 };

#define assert_ok(r) assert_int_equal((r).status, 0)

/* ----------------------------------------------------- nowhere to write -- */

static int n_said;

static void listen(int level, unsigned long subsys, const char *file, int line,
                   const char *fmt, ...)
{
    n_said += level == JP_NCCL_LOG_INFO && strstr(fmt, "nothing is recorded");
}

static void unprofiled(struct rec_scene *s)
{
    void *comm = (void *) 1;
    void *handle = (void *) 1;
    struct jp_nccl_descr_v6 d = {.type = JP_NCCL_COLL};
    int mask = -1;
    int i;

    for (i = 0; i < 2; i++) {
        CHECK(s->api->init(&comm, 1, &mask, "x", 1, 2, 0, listen) == 0);
        CHECK(comm == NULL && mask == 0);
    }
    CHECK(n_said == 1);
    CHECK(s->api->start(comm, &handle, &d) == 0 && handle == NULL);
    CHECK(s->api->finalize(comm) == 0);
}

static void no_directory(void **state)
{
    static const char *const dirs[] = {NULL, "", "/nonexistent/jobprof",
                                       "/etc/passwd"};
    struct rec_result r;
    size_t i;

    (void) state;
    for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
        rec_harness_run_in(unprofiled, 6, dirs[i], &r);
        assert_ok(r);
        rec_harness_fini(&r);
    }
}

static void many(struct rec_scene *s)
{
    void *comm = scene_comm(s, "many", 0xabc, 0, 4);
    uint64_t i;

    for (i = 0; i < MANY; i++) {
        scene_whole(s, comm, i, 100 + i * 7919 % 1000);
        if (i % 2000 == 0)
            usleep(1000);
    }
    CHECK(s->api->finalize(comm) == 0);
}

static void directory_that_takes_no_file(void **state)
{
    struct rec_result r;

    (void) state;
    /* only root gets as far as writing to /proc */
    rec_harness_run_in(geteuid() == 0 ? many : unprofiled, 6, "/proc", &r);
    assert_ok(r);
    rec_harness_fini(&r);
}

static void limited(struct rec_scene *s)
{
    struct rlimit limit = {20000, 20000};

    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    many(s);
}

static void full_disk(void **state)
{
    struct rec_result r;
    struct rec_counts c;

    (void) state;
    rec_harness_run(limited, 6, &r);
    assert_ok(r); /* not killed by SIGXFSZ */
    assert_int_equal(r.n_bad, 0);
    c = rec_harness_counts(r.text, "0xabc", "AllReduce");
    assert_true(c.written <= (uint64_t) r.n_ops && r.n_ops < 50000);
    assert_int_equal(rec_harness_count(r.text, "\"cut\":false"), 1);
    rec_harness_fini(&r);
}

/* At the cap the file stays below it, a sample of operations continues, and all
 * are counted. */
static void capped_scene(struct rec_scene *s)
{
    void *comm;
    uint64_t i;

    setenv("JOBPROF_RECORDER_DISK", "100000", 1);
    comm = scene_comm(s, "capped", 0xcab, 0, 4);
    for (i = 0; i < 60000; i++) {
        scene_whole(s, comm, i, 100 + i % 977);
        if (i % 5000 == 0)
            usleep(150000);
    }
    CHECK(s->api->finalize(comm) == 0);
}

static void capped_file(void **state)
{
    struct rec_result r;
    struct rec_counts c;

    (void) state;
    rec_harness_run(capped_scene, 6, &r);
    assert_ok(r);
    assert_true(r.bytes > 50000 && r.bytes <= 100000);
    c = rec_harness_counts(r.text, "0xcab", "AllReduce");
    assert_int_equal(c.produced, 60000);
    assert_int_equal(c.written + c.left_out + c.lost, 60000);
    assert_true(c.left_out > 10000 && c.lost == 0);
    assert_int_equal(c.written, r.n_ops);
    assert_non_null(strstr(r.text, "\"disk_bytes\":100000,"));
    /* its own word: whole operations before it, a sample after it */
    assert_int_equal(rec_harness_count(r.text, "\"type\":\"room\""), 1);
    assert_non_null(strstr(r.text, "{\"type\":\"room\",\"full\":true,"
                                   "\"limits\":1,"));
    assert_non_null(
        strstr(strstr(r.text, "\"type\":\"room\""), "\"type\":\"op\""));
    assert_true(strstr(r.text, "\"type\":\"op\"") <
                strstr(r.text, "\"type\":\"room\""));
    assert_non_null(strstr(r.text, "\"complete\":true"));
    rec_harness_fini(&r);
}

/* With little free space all is as at the cap, from the start. */
static void low_space_scene(struct rec_scene *s)
{
    setenv("JOBPROF_RECORDER_MIN_FREE", "9000000000000000", 1);
    /* and one value that is no number */
    setenv("JOBPROF_RECORDER_MEM", "16M", 1);
    many(s);
}

static void low_space(void **state)
{
    struct rec_result r;
    struct rec_counts c;

    (void) state;
    rec_harness_run(low_space_scene, 6, &r);
    assert_ok(r);
    c = rec_harness_counts(r.text, "0xabc", "AllReduce");
    assert_int_equal(c.produced, MANY);
    assert_int_equal(c.written + c.left_out, MANY);
    assert_in_range(c.written, 100, MANY / 10);
    assert_non_null(strstr(r.text, "{\"type\":\"room\",\"full\":true,"
                                   "\"limits\":2,"));
    assert_non_null(strstr(r.text, "\"note\":\"JOBPROF_RECORDER_MEM: "
                                   "\\\"16M\\\" is not a number from 6291456 "
                                   "to 1073741824, so it is ignored\""));
    assert_non_null(strstr(r.text, "\"memory_bytes\":16777216,"));
    rec_harness_fini(&r);
}

static void whose_start(struct rec_scene *s)
{
    char stat[1024], name[512];
    FILE *f;

    many(s);
    CHECK(ownproc_read(AT_FDCWD, "/proc/self/stat", stat, sizeof(stat)) > 0);
    snprintf(name, sizeof(name), "%s/start", s->dir);
    f = fopen(name, "w");
    fprintf(f, "\"start\":%llu", (unsigned long long) ownproc_start(stat));
    fclose(f);
}

/* The process is known by its start time, whatever it is called. */
static void start_is_told(void **state)
{
    char name[512], text[64] = "";
    struct rec_result r;

    (void) state;
    assert_int_equal(prctl(PR_SET_NAME, "a) S 1 (b"), 0);
    rec_harness_run(whose_start, 6, &r);
    assert_ok(r);
    snprintf(name, sizeof(name), "%s/start", r.dir);
    assert_true(ownproc_read(AT_FDCWD, name, text, sizeof(text)) > 10);
    assert_non_null(strstr(r.text, text));
    rec_harness_fini(&r);
}

/* -------------------------------------------------------- more than one -- */

static void taken_name(struct rec_scene *s)
{
    char name[512], host[256] = "";
    FILE *f;

    gethostname(host, sizeof(host) - 1);
    snprintf(name, sizeof(name), "%s/%s-pid%d.jpr", s->dir, host,
             (int) getpid());
    f = fopen(name, "w");
    fputs("somebody else's\n", f);
    fclose(f);
    snprintf(name, sizeof(name), "%s/%s-pid%d-1.jpr", s->dir, host,
             (int) getpid());
    CHECK(symlink("/tmp/jobprof-never", name) == 0);
    many(s);
    snprintf(name, sizeof(name), "%s/%s-pid%d-2.jpr", s->dir, host,
             (int) getpid());
    CHECK(access(name, F_OK) == 0);
    CHECK(access("/tmp/jobprof-never", F_OK) != 0);
}

static void nothing_is_overwritten(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(taken_name, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, MANY);
    assert_int_equal(r.n_bad, 2); /* another file and the dead link */
    rec_harness_fini(&r);
}

static void forking(struct rec_scene *s)
{
    void *comm = scene_comm(s, "parent", 1, 0, 2);
    void *op = scene_coll(s, comm, "AllReduce", 99, 64, 1);
    int status = -1;
    pid_t pid;

    scene_whole(s, comm, 0, 10);
    pid = fork();
    if (pid == 0) {
        void *own;

        /* the child uses nothing of its parent */
        scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 1), 2);
        CHECK(scene_coll(s, comm, "AllReduce", 100, 64, 1) == NULL);
        CHECK(s->api->finalize(comm) == 0);
        own = scene_comm(s, "child", 2, 0, 2);
        scene_whole(s, own, 0, 20);
        CHECK(s->api->finalize(own) == 0);
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(s->api->stop(op) == 0);
    scene_kernel_stop(s, scene_kernel(s, comm, op, 0, 1), 30001);
    CHECK(s->api->finalize(comm) == 0);
}

static void a_fork_has_its_own_file(void **state)
{
    struct rec_result r;

    (void) state;
#if defined(__SANITIZE_ADDRESS__)
    /* its allocator's locks stay locked in the child of a threaded process */
    print_message("# skipped: ASan does not survive a fork with threads\n");
    return;
#endif
    rec_harness_run(forking, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_files, 2);
    assert_int_equal(r.n_ops, 3);
    assert_int_equal(
        rec_harness_count(r.text, "\"type\":\"op\",\"comm\":\"0x1\""), 2);
    assert_int_equal(
        rec_harness_count(r.text, "\"type\":\"op\",\"comm\":\"0x2\""), 1);
    assert_int_equal(rec_harness_count(r.text, "\"seq\":99,"), 1);
    rec_harness_fini(&r);
}

static void reloading(struct rec_scene *s)
{
    many(s);
    CHECK(dlclose(s->lib) == 0); /* as NCCL does after the last communicator */
    s->lib = dlopen(rec_harness_library(), RTLD_NOW | RTLD_LOCAL);
    CHECK(s->lib != NULL);
    s->api = dlsym(s->lib, "ncclProfiler_v6");
    CHECK(s->api != NULL);
    many(s);
}

static void reloaded_goes_on(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(reloading, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_files, 1);
    assert_int_equal(r.n_ops, 2 * MANY);
    assert_int_equal(rec_harness_count(r.text, "\"type\":\"comm\""), 2);
    rec_harness_fini(&r);
}

/* ----------------------------------------------------------------- time -- */

/* Operations, counters and those in flight reach the file within a flush: a
 * process that is killed then has written them. */
static void killed_scene(struct rec_scene *s)
{
    void *comm = scene_comm(s, "live", 1, 0, 2);
    void *op;

    scene_whole(s, comm, 0, 10);
    op = scene_coll(s, comm, "AllReduce", 1, 4096, 2);
    CHECK(s->api->stop(op) == 0);
    CHECK(scene_kernel(s, comm, op, 0, 1000) != NULL);
    scene_wait(s, "\"started\":1,\"stopped\":0}", 1);
    scene_wait(s, "\"produced\":2,\"written\":1,", 1);
    kill(getpid(), SIGKILL);
}

static void written_while_running(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(killed_scene, 6, &r);
    assert_true(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGKILL);
    assert_int_equal(r.n_ops, 1);
    assert_int_equal(r.n_bad, 0);
    assert_non_null(strstr(r.inflight,
                           "\"none\":false,\"comm\":\"0x1\",\"name\":"
                           "\"live\",\"kind\":\"coll\",\"func\":"
                           "\"AllReduce\",\"seq\":1,"));
    assert_non_null(strstr(r.inflight, "\"started\":1,\"stopped\":0}"));
    assert_non_null(strstr(r.text, "\"produced\":2,\"written\":1,\"lost\":0,"
                                   "\"left_out\":0,\"in_flight\":1,"));
    assert_non_null(strstr(r.text, "\"complete\":false,\"cut\":false,"));
    rec_harness_fini(&r);
}

/* A communicator destroyed right after its last operation, a thousand times:
 * nothing is lost, and places are used again. */
static void short_lives(struct rec_scene *s)
{
    uint64_t i;

    for (i = 0; i < 1000; i++) {
        void *comm = scene_comm(s, "short", 100 + i, 0, 2);

        scene_whole(s, comm, 0, 10);
        scene_whole(s, comm, 1, 10);
        CHECK(s->api->finalize(comm) == 0);
    }
    scene_wait(s, "\"produced\":2000,\"written\":2000,", 1);
    _exit(0);
}

static void nothing_is_lost_at_destroy(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(short_lives, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, 2000);
    assert_int_equal(rec_harness_count(r.text, "\"type\":\"comm\""), 1000);
    assert_non_null(strstr(r.text, "\"produced\":2000,\"written\":2000,"
                                   "\"lost\":0,\"left_out\":0,\"in_flight\":0,"
                                   "\"lost_steps\":0,\"lost_comms\":0,"));
    rec_harness_fini(&r);
}

enum { PLACES = 4096, CROWD = PLACES + 88 };

/* More communicators than places are counted and do no harm. */
static void crowd(struct rec_scene *s)
{
    static void *comms[CROWD];
    int i;

    for (i = 0; i < CROWD; i++)
        comms[i] = scene_comm(s, "crowd", (uint64_t) i, 0, 2);
    for (i = 0; i < CROWD; i++)
        scene_coll(s, comms[i], "AllReduce", 0, 64, 1);
    for (i = 0; i < CROWD; i++)
        CHECK(s->api->finalize(comms[i]) == 0);
}

static void too_many_communicators(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(crowd, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_ops, PLACES);
    assert_non_null(strstr(r.text, "\"lost_comms\":88,\"lost_foreign\":88}"));
    rec_harness_fini(&r);
}

/* Names of things that are no files are not opened and not waited for. */
static void only_files(void **state)
{
    char dir[] = "/tmp/jobprof-jpr-XXXXXX";
    char path[64], link[64];
    struct jp_error err;
    FILE *f;

    (void) state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/f", dir);
    snprintf(link, sizeof(link), "%s/l", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(jpr_open(path, &err));
    assert_non_null(strstr(err.text, "/f: not a file"));
    unlink(path);
    f = fopen(path, "w");
    fclose(f);
    assert_int_equal(symlink(path, link), 0);
    assert_null(jpr_open(link, &err));
    jpr_close(jpr_open(path, NULL));
    unlink(link);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_directory),
        cmocka_unit_test(directory_that_takes_no_file),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(capped_file),
        cmocka_unit_test(low_space),
        cmocka_unit_test(start_is_told),
        cmocka_unit_test(nothing_is_overwritten),
        cmocka_unit_test(a_fork_has_its_own_file),
        cmocka_unit_test(reloaded_goes_on),
        cmocka_unit_test(written_while_running),
        cmocka_unit_test(nothing_is_lost_at_destroy),
        cmocka_unit_test(too_many_communicators),
        cmocka_unit_test(only_files),
    };

    return cmocka_run_group_tests_name("recorder files", tests, NULL, NULL);
}
