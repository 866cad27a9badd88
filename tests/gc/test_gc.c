/* test_gc.c - the folders of one owner do not keep gc from those of the
 * others. */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/gc/gc.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

enum { HIM = 1, HER = 2 }; /* "daemon" and "bin" everywhere */

static unsigned asked; /* look-ups of uids without a name */

/* Replaces libc's function: a slow directory service. */
struct passwd *getpwuid(uid_t uid)
{
    static struct passwd one = {.pw_name = (char *) "one"};

    if (uid >= 1000000) {
        asked++;
        usleep(1000);
        return NULL;
    }
    one.pw_uid = one.pw_gid = uid;
    return &one;
}

/* Makes a folder of an owner with n jobs. */
static void put_jobs(const char *dir, const char *name, uid_t uid, unsigned n)
{
    char *folder = tempdir_path(dir, name);

    assert_int_equal(mkdir(folder, 0755), 0);
    for (unsigned i = 0; i < n; i++) {
        char *job = text_format("%s/%u", folder, i);
        char *step = text_format("%s/step-0", job);
        char *conf = text_format("%s/job.conf", step);

        assert_int_equal(fileio_mkdirs(step, NULL), 0);
        assert_int_equal(fileio_write(conf, "", 0, NULL), 0);
        if (geteuid() == 0)
            assert_true(chown(job, uid, uid) == 0 &&
                        chown(step, uid, uid) == 0);
        free(job);
        free(step);
        free(conf);
    }
    /* at the end, because root creates nothing in the owner's folder */
    if (geteuid() == 0)
        assert_int_equal(chown(folder, uid, uid), 0);
    free(folder);
}

static size_t jobs_of(const struct gc_result *r, uid_t uid)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->jobs[i].uid == uid;
    return n;
}

static const struct gc_owner *owner(const struct gc_result *r, uid_t uid)
{
    for (size_t i = 0; i < r->n_owners; i++)
        if (r->owners[i].uid == uid)
            return &r->owners[i];
    return NULL;
}

static void run(const char *dir, uint64_t folders, uint64_t jobs,
                struct gc_result *result)
{
    struct gc_options options = {.root = dir,
                                 .older_s = 1,
                                 .quota_bytes = GC_NO_QUOTA,
                                 .dry_run = true,
                                 .all_users = geteuid() == 0,
                                 .owner_folders = folders,
                                 .owner_jobs = jobs};

    assert_int_equal(gc_run(&options, result, NULL), 0);
}

static void test_one_owner(void **state)
{
    uid_t me = geteuid();
    struct gc_result r;

    if (me == 0) /* root has no limit */
        me = HIM;
    put_jobs(*state, "a", me, 30);
    run(*state, 0, 0, &r);
    assert_int_equal(jobs_of(&r, me), 30);
    assert_false(r.cut);
    gc_fini(&r);
    run(*state, 0, 7, &r);
    assert_int_equal(jobs_of(&r, me), 7);
    assert_true(r.cut && owner(&r, me)->cut);
    gc_fini(&r);
    run(*state, 12, 0, &r);
    assert_in_range(jobs_of(&r, me), 1, 12);
    assert_true(r.cut && owner(&r, me)->cut);
    gc_fini(&r);
}

static void test_others(void **state)
{
    struct gc_result r;
    char name[20];

    if (geteuid() != 0)
        skip_check("only root can make files of two users");
    put_jobs(*state, "a", HIM, 200);
    put_jobs(*state, "b", HER, 5);
    put_jobs(*state, "c", 0, 50);
    for (unsigned i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "x%u", i);
        /* uids of one user's namespace */
        put_jobs(*state, name, 1000000 + i, 2);
    }
    run(*state, 0, 10, &r);
    assert_true(r.cut);
    assert_int_equal(jobs_of(&r, HIM), 10);
    assert_true(owner(&r, HIM)->cut);
    assert_int_equal(jobs_of(&r, HER), 5);
    assert_false(owner(&r, HER)->cut);
    assert_int_equal(jobs_of(&r, 0), 50);
    assert_null(owner(&r, 1000000));
    assert_true(owner(&r, GC_STRANGERS)->cut);
    assert_int_equal(r.n, 10 + 5 + 50 + 10);
    gc_fini(&r);
}

/* An owner has a thousand folders of uids without a name: each uid is looked up
 * once, and the owner is charged. */
static void test_names(void **state)
{
    struct gc_options options = {.root = *state,
                                 .older_s = 1,
                                 .quota_bytes = GC_NO_QUOTA,
                                 .dry_run = true,
                                 .all_users = true};
    char *folder = tempdir_path(*state, "a");
    struct gc_result r;

    if (geteuid() != 0)
        skip_check("only root can make files of two users");
    assert_int_equal(mkdir(folder, 0755), 0);
    for (unsigned i = 0; i < 1000; i++) {
        char *one = text_format("%s/%u", folder, i);

        assert_int_equal(mkdir(one, 0755), 0);
        assert_int_equal(chown(one, 1000000 + i % 20, 0), 0);
        free(one);
    }
    assert_int_equal(chown(folder, HIM, HIM), 0);
    asked = 0;
    assert_int_equal(gc_run(&options, &r, NULL), 0);
    assert_int_equal(asked, 20);
    assert_true(owner(&r, HIM)->spent_us >= 20 * 1000);
    gc_fini(&r);
    options.owner_ms = 10;
    asked = 0;
    assert_int_equal(gc_run(&options, &r, NULL), 0);
    /* none, where a busy machine takes 10 ms to list the folder */
    assert_true(asked <= 12);
    assert_true(owner(&r, HIM)->cut);
    gc_fini(&r);
    free(folder);
}

/* The same in root's own folder, for which there is no limit. */
static void test_nameless(void **state)
{
    struct gc_result r;

    if (geteuid() != 0)
        skip_check("only root can make files of two users");
    for (unsigned i = 0; i < 1000; i++) {
        char *one = text_format("%s/%u", (char *) *state, i);

        assert_int_equal(mkdir(one, 0755), 0);
        assert_int_equal(chown(one, 3000000 + i, 0), 0);
        free(one);
    }
    put_jobs(*state, "b", HER, 5);
    put_jobs(*state, "c", 900000, 5);
    asked = 0;
    run(*state, 0, 0, &r);
    assert_in_range(asked, 256, 2 * 256); /* two ranges of 65,536 */
    assert_int_equal(jobs_of(&r, HER), 5);
    assert_int_equal(jobs_of(&r, 900000), 5);
    gc_fini(&r);
}

/* With folders of others below. */
static int drop(void **state)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", (char *) *state, (char *) NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    free(*state);
    return status;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tempdir_make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_owner),
        TEST(test_others),
        TEST(test_names),
        TEST(test_nameless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
