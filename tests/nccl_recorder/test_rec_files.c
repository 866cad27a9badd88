/* The recorder's files: where there is none, where there are many, forks. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/nccl_recorder/rec_harness.h"

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

    for (i = 0; i < 1000; i++)
        scene_whole(s, comm, i, 100);
    CHECK(s->api->finalize(comm) == 0);
}

static void directory_that_takes_no_file(void **state)
{
    struct rec_result r;

    (void) state;
    /* only root may try to write to /proc; others are told at once */
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
    int written, lost;
    const char *at;

    (void) state;
    rec_harness_run(limited, 6, &r);
    assert_ok(r); /* and not killed by SIGXFSZ */
    assert_in_range(r.n_lines, 20, 60);
    assert_true(strlen(r.log) <= 20000);
    assert_int_equal(r.log[strlen(r.log) - 1], '\n');
    at = strstr(r.counts, "\"records_written\":");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"records_written\":%d,\"records_lost\":%d",
                            &written, &lost),
                     2);
    assert_int_equal(written, r.n_lines);
    assert_int_equal(written + lost, 1000);
    rec_harness_fini(&r);
}

/* ---------------------------------------------------------- more than one --
 */

static void taken_name(struct rec_scene *s)
{
    char name[512], host[256] = "";
    FILE *f;

    gethostname(host, sizeof(host) - 1);
    snprintf(name, sizeof(name), "%s/%s-pid%d.log", s->dir, host,
             (int) getpid());
    f = fopen(name, "w");
    fputs("somebody else's\n", f);
    fclose(f);
    snprintf(name, sizeof(name), "%s/%s-pid%d-1.log", s->dir, host,
             (int) getpid());
    CHECK(symlink("/tmp/jobprof-never", name) == 0);
    many(s);
    snprintf(name, sizeof(name), "%s/%s-pid%d-2.log", s->dir, host,
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
    assert_int_equal(r.n_lines, 1001);
    assert_int_equal(rec_harness_count(r.log, "somebody else's\n"), 1);
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

        /* nothing of the parent's is ours */
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
    assert_int_equal(r.n_logs, 2);
    assert_int_equal(r.n_lines, 3);
    assert_int_equal(rec_harness_count(r.log, "\"comm_name\":\"parent\""), 2);
    assert_int_equal(rec_harness_count(r.log, "\"comm_name\":\"child\""), 1);
    assert_int_equal(rec_harness_count(r.log, "\"coll_sn\":99,"), 1);
    rec_harness_fini(&r);
}

static void reloading(struct rec_scene *s)
{
    many(s);
    CHECK(dlclose(s->lib) == 0); /* NCCL does so after the last communicator */
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
    assert_int_equal(r.n_logs, 1);
    assert_int_equal(r.n_lines, 2000);
    rec_harness_fini(&r);
}

/* ----------------------------------------------------------------- time -- */

static char *file_in(const char *dir, const char *suffix, char *path, size_t n)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(path, n, "%s/%s-pid%d%s", dir, host, (int) getpid(), suffix);
    return path;
}

static void while_running(struct rec_scene *s)
{
    void *comm = scene_comm(s, "live", 1, 0, 2);
    struct stat st;
    char path[1024];
    int i;

    CHECK(stat(file_in(s->dir, ".log", path, sizeof(path)), &st) != 0);
    scene_whole(s, comm, 0, 10);
    for (i = 0; i < 100; i++) {
        if (stat(path, &st) == 0 && st.st_size > 0)
            break;
        usleep(20000);
    }
    CHECK(i < 100 && (st.st_mode & 0777) == 0600);
    file_in(s->dir, ".counts.json", path, sizeof(path));
    for (i = 0; i < 150 && stat(path, &st) != 0; i++)
        usleep(20000);
    CHECK(i < 150 && (st.st_mode & 0777) == 0600);
    _exit(0); /* no finalize, no destructors */
}

static void written_while_running(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(while_running, 6, &r);
    assert_ok(r);
    assert_int_equal(r.n_lines, 1);
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_directory),
        cmocka_unit_test(directory_that_takes_no_file),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(nothing_is_overwritten),
        cmocka_unit_test(a_fork_has_its_own_file),
        cmocka_unit_test(reloaded_goes_on),
        cmocka_unit_test(written_while_running),
    };

    return cmocka_run_group_tests_name("recorder files", tests, NULL, NULL);
}
