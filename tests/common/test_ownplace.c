/* test_ownplace.c - whose a folder is: places in which root creates and removes
 * nothing; what other users may pass, own and hold. */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/ownplace.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

enum { HIM = 12345, SHE = 12346 };

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

/* As root. Another user's own way is accepted. */
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
        const char *error = geteuid() == 0 || !strcmp(rows[i].path, "own/round")
                                ? rows[i].error
                                : NULL;
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
        skip_check("only root can make files of two users");
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
int mkdirat(int at, const char *name, mode_t mode)
{
    const char *base = late.path ? strrchr(late.path, '/') + 1 : "";

    if (!strcmp(name, base)) {
        assert_int_equal(symlink(late.to, late.path), 0);
        assert_int_equal(lchown(late.path, HIM, HIM), 0);
        late.path = NULL;
    }
    return (int) syscall(SYS_mkdirat, at, name, mode);
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
        skip_check("only root can make files of two users");
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
        skip_check("only root can make files of two users");
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

/* --- as another user ------------------------------------------------------ */

/* Runs part of a test as a user without groups, in a child. */
static void as(uid_t uid, void (*part)(const char *dir), const char *dir)
{
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
            setresuid(uid, uid, uid) < 0)
            _exit(99);
        part(dir);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* cmocka's assertions would return to the parent's tests. */
#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                 \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

/* Her home, his folders, a project whose group is hers, a scratch folder. */
static void put_world(const char *dir)
{
    assert_int_equal(chmod(dir, 0755), 0);
    put_folder(dir, "home", 0700, SHE);
    put_folder(dir, "home/out", 0755, SHE);
    put_folder(dir, "home/all", 0777, SHE);
    put_folder(dir, "home/group", 0775, SHE);
    put_link(dir, "home/link", "out", SHE);
    put_link(dir, "home/to-his", "../his/link", SHE);
    put_folder(dir, "project", 02775, 0);
    put_folder(dir, "project/hers", 0700, SHE);
    put_folder(dir, "project/other", 0700, SHE);
    put_folder(dir, "scratch", 01777, 0);
    put_folder(dir, "scratch/hers", 0700, SHE);
    put_link(dir, "scratch/to-home", "../home", HIM);
    put_folder(dir, "his", 02777, HIM);
    put_folder(dir, "his/sub", 0777, HIM);
    put_folder(dir, "his/sub/hers", 0700, SHE);
    put_link(dir, "his/link", "sub", HIM);
    put_link(dir, "his/root", "../scratch", HIM);
    put_link(dir, "his/home", "../home", HIM);
    put_link(dir, "his/out", "../home/out", HIM);
    put_link(dir, "his/through", "../home/link", HIM);
    put_link(dir, "his/up", "..", HIM);
    put_link(dir, "his/absent", "new", HIM);
}

static const struct {
    const char *path;
    enum ownplace_kind kind;
    const char *error; /* NULL: it is fine */
} hers[] = {
    /* her own, wherever it is */
    {"home", OWNPLACE_PRIVATE, NULL},
    {"home/out", OWNPLACE_PRIVATE, NULL},
    {"project/hers", OWNPLACE_PRIVATE, NULL},
    {"scratch/hers", OWNPLACE_PRIVATE, NULL},
    {"his/sub/hers", OWNPLACE_PRIVATE, NULL},
    {"home/link", OWNPLACE_OURS, NULL},
    {"home/link", OWNPLACE_PRIVATE, "symbolic links are refused"},
    {"home/all", OWNPLACE_OURS, NULL},
    {"home/all", OWNPLACE_PRIVATE, "others can write to it (mode 0777)"},
    {"home/group", OWNPLACE_OURS, NULL},
    {"home/group", OWNPLACE_PRIVATE, "others can write to it (mode 0775)"},
    {"home/absent", OWNPLACE_ANY, "No such file"},
    /* root's, and his */
    {"project", OWNPLACE_OURS, NULL},
    {"project", OWNPLACE_PRIVATE, "belongs to uid 0, not to you"},
    {"scratch", OWNPLACE_OURS, NULL},
    {"his", OWNPLACE_ANY, NULL},
    {"his", OWNPLACE_OURS, "belongs to uid 12345, not to you"},
    {"his/sub", OWNPLACE_PRIVATE, "belongs to uid 12345, not to you"},
    /* his links: to what is his, and on to what she has named there */
    {"his/link", OWNPLACE_ANY, NULL},
    {"his/link/hers", OWNPLACE_PRIVATE, NULL},
    {"home/to-his/hers", OWNPLACE_OURS, NULL},
    {"his/link", OWNPLACE_OURS, "belongs to uid 12345, not to you"},
    /* to hers, or to a third place */
    {"his/home", OWNPLACE_ANY, "uid 12345's link"},
    {"his/home/out", OWNPLACE_ANY, "uid 12345's link"},
    {"his/out", OWNPLACE_OURS, "uid 12345's link"},
    {"his/through", OWNPLACE_ANY, "uid 12345's link"},
    {"scratch/to-home", OWNPLACE_PRIVATE, "uid 12345's link"},
    {"scratch/to-home/out", OWNPLACE_ANY, "uid 12345's link"},
    {"his/root", OWNPLACE_ANY, "uid 12345's link"},
    {"his/up/scratch", OWNPLACE_OURS, "uid 12345's link"},
    /* she has named it from a folder that is not hers */
    {"his/up/home", OWNPLACE_ANY, NULL},
};

static void open_hers(const char *dir)
{
    for (size_t i = 0; i < sizeof(hers) / sizeof(*hers); i++) {
        char *path = tempdir_path(dir, hers[i].path);
        const char *error = hers[i].error;
        struct jp_error err = {""};
        int fd = ownplace_open(path, hers[i].kind, &err);

        if ((fd < 0) != (error != NULL) ||
            (error && !strstr(err.text, error))) {
            fprintf(stderr, "row %zu: %s: %s\n", i, path, err.text);
            _exit(1);
        }
        if (fd >= 0)
            close(fd);
        free(path);
    }
    /* relative to the working directory, whose parents do not matter */
    CHECK(chdir(dir) == 0 && chdir("home/out") == 0);
    CHECK(ownplace_open(".", OWNPLACE_PRIVATE, NULL) >= 0);
    CHECK(ownplace_open("../all", OWNPLACE_OURS, NULL) >= 0);
}

static void test_hers(void **state)
{
    if (geteuid() != 0)
        skip_check("only root can make files of two users");
    put_world(*state);
    as(SHE, open_hers, *state);
}

/* What is created and written. */
static void make_hers(const char *dir)
{
    static const struct {
        const char *path;
        bool good;
    } folders[] = {
        {"home/a/b/c", true},    {"scratch/a/b", true}, {"his/sub/new/a", true},
        {"his/link/new2", true}, {"his/home/a", false}, {"his/absent/a", false},
        {"his/link", false},     {"his/sub", false},
    };
    char *out = tempdir_path(dir, "his/sub/out.json");
    char *file = tempdir_path(dir, "home/out/file");
    char *link = tempdir_path(dir, "his/to-file"), *text = NULL;
    struct jp_tempfile temp;
    int fd;

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        char *path = tempdir_path(dir, folders[i].path);

        if ((fileio_mkdirs(path, NULL) == 0) != folders[i].good) {
            fprintf(stderr, "%s\n", path);
            _exit(1);
        }
        free(path);
    }
    /* our own names only in folders of ours, a named output anywhere */
    CHECK(fileio_write(out, "x", 1, NULL) < 0 && errno == EPERM);
    CHECK(ownplace_create(out, NULL) < 0 && errno == EPERM);
    CHECK(ownplace_append(out, NULL) < 0 && errno == EPERM);
    CHECK(fileio_output_open(&temp, out, NULL) == 0);
    CHECK(fileio_temp_commit(&temp, NULL) == 0);
    CHECK(access(out, F_OK) == 0);
    CHECK(ownplace_unlink(out) < 0 && errno == EPERM);
    /* through a link: hers leads to her file, his does not */
    CHECK(fileio_write(file, "keep", 4, NULL) == 0);
    CHECK(fileio_output_open(&temp, link, NULL) < 0 && errno == EPERM);
    CHECK(fileio_read(file, false, 10, &text, NULL, NULL) == 0);
    CHECK(!strcmp(text, "keep"));
    free(text);
    CHECK(symlink(file, (link = tempdir_path(dir, "home/own"))) == 0);
    CHECK(fileio_output_open(&temp, link, NULL) == 0);
    fputs("new", temp.stream);
    CHECK(fileio_temp_commit(&temp, NULL) == 0);
    CHECK(fileio_read(file, false, 10, &text, NULL, NULL) == 0);
    CHECK(!strcmp(text, "new"));
    /* ... and not to what is root's, and open to her group or to all */
    for (size_t i = 0; i < 2; i++) {
        struct jp_error err = {""};
        char *third = tempdir_path(dir, i ? "his/to-null" : "his/to-roots");

        CHECK(fileio_output_open(&temp, third, &err) < 0 && errno == EPERM);
        CHECK(strstr(err.text, "uid 12345's link"));
        free(third);
    }
    CHECK(fileio_read(tempdir_path(dir, "roots"), false, 10, &text, NULL,
                      NULL) == 0);
    CHECK(!strcmp(text, "keep"));
    free(text);
    /* his FIFO would keep her waiting */
    CHECK(fileio_output_open(&temp, tempdir_path(dir, "his/fifo"), NULL) < 0);
    /* a new file is new, and nothing is appended to a link */
    CHECK(ownplace_create(file, NULL) < 0 && errno == EEXIST);
    CHECK(ownplace_create(link, NULL) < 0 && errno == EEXIST);
    CHECK(ownplace_append(link, NULL) < 0 && errno == ELOOP);
    fd = ownplace_append(file, NULL);
    CHECK(fd >= 0 && write(fd, "er", 2) == 2);
}

static void test_made(void **state)
{
    char *fifo = tempdir_path(*state, "his/fifo");
    char *roots = tempdir_path(*state, "roots");

    if (geteuid() != 0)
        skip_check("only root can make files of two users");
    put_world(*state);
    put_link(*state, "his/to-file", "../home/out/file", HIM);
    put_link(*state, "his/to-roots", "../roots", HIM);
    put_link(*state, "his/to-null", "/dev/null", HIM);
    assert_int_equal(fileio_write(roots, "keep", 4, NULL), 0);
    assert_int_equal(chmod(roots, 0666), 0);
    assert_int_equal(mkfifo(fifo, 0666) | chmod(fifo, 0666), 0);
    assert_int_equal(chown(fifo, HIM, HIM), 0);
    as(SHE, make_hers, *state);
    free(roots);
    free(fifo);
}

/* She holds a folder. Meanwhile somebody who may write to the folder above
 * exchanges it for another one of hers. */
static void hold_hers(const char *dir)
{
    char *held = tempdir_path(dir, "project/hers");
    char *moved = tempdir_path(dir, "project/moved");
    char *other = tempdir_path(dir, "project/other");
    char *file = tempdir_path(dir, "project/hers/file");
    char *log = tempdir_path(dir, "project/hers/log");
    char *folder = tempdir_path(dir, "project/hers/a/b");
    const char *rest = file;
    char *text = NULL;
    struct stat st;
    int at;

    CHECK(ownplace_hold(held, OWNPLACE_PRIVATE, NULL) == 0);
    CHECK(rename(held, moved) == 0 && rename(other, held) == 0);
    CHECK(fileio_write(file, "x", 1, NULL) == 0);
    CHECK(ownplace_append(log, NULL) >= 0);
    CHECK(fileio_mkdirs(folder, NULL) == 0);
    CHECK(fileio_read(file, false, 10, &text, NULL, NULL) == 0);
    /* held anew, it stays the same one */
    CHECK(ownplace_hold(held, OWNPLACE_PRIVATE, NULL) == 0);
    at = ownplace_at(&rest);
    CHECK(!strcmp(rest, "file") && fstatat(at, rest, &st, 0) == 0);
    CHECK(access(file, F_OK) < 0 && access(log, F_OK) < 0);
    CHECK(access(folder, F_OK) < 0);
    CHECK(access(tempdir_path(dir, "project/moved/file"), F_OK) == 0);
    CHECK(access(tempdir_path(dir, "project/moved/a/b"), F_OK) == 0);
    CHECK(ownplace_unlink(file) == 0);
    CHECK(access(tempdir_path(dir, "project/moved/file"), F_OK) < 0);
    /* the name follows a rename of ours */
    ownplace_moved(held, moved);
    rest = file;
    CHECK(ownplace_at(&rest) == AT_FDCWD && rest == file);
    rest = moved;
    CHECK(ownplace_at(&rest) == AT_FDCWD && rest == moved);
    rest = tempdir_path(dir, "project/moved/log");
    CHECK(ownplace_at(&rest) != AT_FDCWD && !strcmp(rest, "log"));
    /* a descriptor that was closed is not used */
    rest = tempdir_path(dir, "project/moved/log");
    CHECK(close(ownplace_at(&rest)) == 0);
    rest = tempdir_path(dir, "project/moved/log");
    CHECK(ownplace_at(&rest) == AT_FDCWD);
    CHECK(ownplace_hold(moved, OWNPLACE_PRIVATE, NULL) == 0);
    CHECK(ownplace_at(&rest) != AT_FDCWD);
    ownplace_release(moved);
    ownplace_release(moved);
    rest = file;
    CHECK(ownplace_at(&rest) == AT_FDCWD);
}

static void test_held(void **state)
{
    char *project = tempdir_path(*state, "project");

    if (geteuid() != 0)
        skip_check("only root can make files of two users");
    put_world(*state);
    assert_int_equal(chown(project, HIM, SHE) | chmod(project, 02770), 0);
    as(SHE, hold_hers, *state);
    assert_int_equal(chown(project, 0, 0), 0);
    free(project);
}

/* With what belongs to the other users. */
static int drop(void **state)
{
    char *const argv[] = {(char *) "chown", (char *) "-Rh", (char *) "0",
                          *state, NULL};
    const struct child child = {.argv = argv, .limit_ms = 10000};

    if (geteuid() == 0)
        assert_true(child_run(&child, NULL) == CHILD_ENDED);
    return tempdir_drop(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tempdir_make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_places), TEST(test_makers), TEST(test_late), TEST(test_tree),
        TEST(test_hers),   TEST(test_made),   TEST(test_held),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
