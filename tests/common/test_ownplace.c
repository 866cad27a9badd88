/* test_ownplace.c - places in which root creates and removes nothing. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "tests/common/tempdir.h"

enum { HIM = 12345 };

static void put_folder(const char *dir, const char *name, mode_t mode,
                       uid_t uid)
{
    char *path = tempdir_path(dir, name);

    assert_int_equal(mkdir(path, mode) | chmod(path, mode), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(path, uid, uid), 0);
    free(path);
}

static void put_link(const char *dir, const char *name, const char *to,
                     uid_t uid)
{
    char *path = tempdir_path(dir, name);

    assert_int_equal(symlink(to, path), 0);
    if (geteuid() == 0)
        assert_int_equal(lchown(path, uid, uid), 0);
    free(path);
}

static void put_tree(const char *dir)
{
    put_folder(dir, "own", 0755, 0);
    put_folder(dir, "own/below", 0700, 0);
    put_folder(dir, "own/gone", 0700, 0);
    put_folder(dir, "group", 0775, 0);
    put_folder(dir, "group/own", 0755, 0);
    put_folder(dir, "all", 0777, 0);
    put_folder(dir, "sticky", 01777, 0);
    put_folder(dir, "sticky/own", 0700, 0);
    put_folder(dir, "his", 0755, HIM);
    put_folder(dir, "his/own", 0700, 0);
    put_link(dir, "to-own", "own", 0);
    put_link(dir, "to-his", "his", 0);
    put_link(dir, "own/up", "../to-own/below", 0);
    put_link(dir, "own/round", "round", 0);
    put_link(dir, "own/by-his", "../his/link", 0);
    put_link(dir, "his/link", "../own", HIM);
    put_link(dir, "sticky/his", "../own", HIM);
    put_link(dir, "sticky/mine", "../own", 0);
}

/* As root; for other users every place is accepted. */
static const struct {
    const char *path;
    const char *error; /* NULL: it is fine */
} rows[] = {
    {"own", NULL},
    {"own/below", NULL},
    {"own//below/", NULL},
    {"own/../own/below/.", NULL},
    {"own/absent/and/more", NULL},
    {"to-own/below", NULL},
    {"own/up", NULL},
    {"sticky", NULL},
    {"sticky/own", NULL},
    {"sticky/mine", NULL},
    {"group", "others can write to it"},
    {"group/own", "others can write to it"},
    {"group/absent", "others can write to it"},
    {"all", "(mode 0777)"},
    {"his", "uid 12345 owns it"},
    {"his/own", "uid 12345 owns it"},
    {"his/absent", "uid 12345 owns it"},
    {"his/../own", "uid 12345 owns it"},
    {"to-his", "uid 12345 owns it"},
    {"his/link/below", "uid 12345 owns it"},
    {"own/by-his", "uid 12345 owns it"},
    {"sticky/his", "uid 12345 owns it"},
    {"own/round", "symbolic links"},
};

static void test_places(void **state)
{
    struct jp_error err;

    put_tree(*state);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *error = geteuid() == 0 ? rows[i].error : NULL;
        char *path = tempdir_path(*state, rows[i].path);
        int rc;

        err.text[0] = '\0';
        rc = ownplace_check(path, &err);
        if (rc != (error ? -1 : 0) || (error && !strstr(err.text, error)))
            fail_msg("%s: %d %s", rows[i].path, rc, err.text);
        free(path);
    }
    assert_int_equal(ownplace_check(".", NULL), 0);
}

/* Every function that creates or removes by path checks it. */
static void test_makers(void **state)
{
    char *file = tempdir_path(*state, "his/own/file");
    char *link = tempdir_path(*state, "his/link/file");
    char *folder = tempdir_path(*state, "his/own/folder");
    struct jp_error err;

    if (geteuid() != 0)
        skip();
    put_tree(*state);
    assert_int_equal(fileio_write(file, "x", 1, &err), -1);
    assert_int_equal(fileio_write(link, "x", 1, &err), -1);
    assert_non_null(strstr(err.text, "root does not use it"));
    assert_int_equal(fileio_mkdir(folder, &err), -1);
    assert_int_equal(fileio_mkdirs(folder, &err), -1);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(fileio_remove_tree(folder, &err), -1);
    assert_non_null(strstr(err.text, "root does not use it"));
    assert_int_equal(access(folder, F_OK), 0);
    free(folder);
    free(link);
    free(file);
}

static struct {
    const char *path; /* where the attacker is faster */
    const char *to;
} late;

/* Replaces libc's function: the attacker makes a link between check and use. */
int mkdir(const char *path, mode_t mode)
{
    if (late.path && !strcmp(path, late.path)) {
        late.path = NULL;
        assert_int_equal(symlink(late.to, path), 0);
        assert_int_equal(lchown(path, HIM, HIM), 0);
    }
    return mkdirat(AT_FDCWD, path, mode);
}

/* Below a sticky folder, the attacker may create what does not exist yet. */
static void test_late(void **state)
{
    char *link = tempdir_path(*state, "sticky/late");
    char *more = tempdir_path(*state, "sticky/late/more/and/more");
    char *file = tempdir_path(*state, "sticky/absent/file");
    char *made = tempdir_path(*state, "his/more");
    struct jp_error err;

    if (geteuid() != 0)
        skip();
    put_tree(*state);
    late.path = link;
    late.to = "../his";
    assert_int_equal(fileio_mkdirs(more, &err), -1);
    assert_non_null(strstr(err.text, "root does not use it"));
    assert_int_equal(access(made, F_OK), -1);
    assert_int_equal(unlink(link), 0);
    late.path = link;
    assert_int_equal(fileio_mkdirs(link, &err), -1);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(fileio_mkdirs(more, &err), 0);
    /* if there is no folder, nothing is written into one that appears */
    assert_int_equal(ownplace_check_parent(file, &err), -1);
    assert_int_equal(errno, ENOENT);
    free(made);
    free(file);
    free(more);
    free(link);
}

/* Another user's folder that was moved into a tree is not entered. */
static void test_tree(void **state)
{
    char *own = tempdir_path(*state, "own");
    char *his = tempdir_path(*state, "own/his");
    char *file = tempdir_path(*state, "own/his/file");
    char *beside = tempdir_path(*state, "own/beside");

    if (geteuid() != 0)
        skip();
    put_folder(*state, "own", 0700, 0);
    put_folder(*state, "own/his", 0700, HIM);
    assert_int_equal(fileio_write(beside, "x", 1, NULL), 0);
    free(tempdir_file(*state, "own/his/file", 0600, "his"));
    assert_int_equal(fileio_remove_tree(own, NULL), -1);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(access(beside, F_OK), -1);
    assert_int_equal(chown(his, 0, 0), 0);
    assert_int_equal(fileio_remove_tree(own, NULL), 0);
    assert_int_equal(access(own, F_OK), -1);
    free(beside);
    free(file);
    free(his);
    free(own);
}

/* With files of the other user. */
static int drop(void **state)
{
    static const char *const names[] = {"his", "his/link", "sticky/his"};

    for (size_t i = 0; i < 3; i++) {
        char *path = tempdir_path(*state, names[i]);

        if (geteuid() == 0 && lchown(path, 0, 0) < 0)
            assert_int_equal(errno, ENOENT);
        free(path);
    }
    return tempdir_drop(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tempdir_make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_places),
        TEST(test_makers),
        TEST(test_late),
        TEST(test_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
