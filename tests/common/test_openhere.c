/* test_openhere.c - no link, no other file system, with and without openat2().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/fileio.h"
#include "common/openhere.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

#ifndef SYS_openat2
#define SYS_openat2 437 /* of every architecture */
#endif
#define N(array) (sizeof(array) / sizeof(*(array)))

static const struct {
    const char *name;
    int error;   /* 0: opens */
    mode_t kind; /* of what opens */
} rows[] = {
    {"file", 0, S_IFREG}, {"folder", 0, S_IFDIR},  {"fifo", 0, S_IFIFO},
    {"link", 0, S_IFLNK}, {"folder/in", EXDEV, 0}, {"..", EXDEV, 0},
    {"/etc", EXDEV, 0},   {"absent", ENOENT, 0},
};

static void check_rows(const char *dir)
{
    int at = open(dir, O_RDONLY | O_DIRECTORY);
    struct stat st;

    assert_true(at >= 0);
    for (size_t i = 0; i < N(rows); i++) {
        int fd = openhere(at, rows[i].name);

        print_message("# %s\n", rows[i].name);
        if (rows[i].error) {
            assert_int_equal(fd, -1);
            assert_int_equal(errno, rows[i].error);
            assert_int_equal(openhere_stat(at, rows[i].name, &st), -1);
            assert_int_equal(errno, rows[i].error);
            continue;
        }
        assert_int_equal(openhere_stat(at, rows[i].name, &st), 0);
        assert_int_equal(st.st_mode & S_IFMT, rows[i].kind);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & S_IFMT, rows[i].kind);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        close(fd);
    }
    close(at);
    /* procfs is mounted in the root of every Linux */
    at = open("/", O_RDONLY | O_DIRECTORY);
    assert_int_equal(openhere(at, "proc"), -1);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(openhere_stat(at, "proc", &st), -1);
    assert_int_equal(errno, EXDEV);
    close(at);
}

static void test_rows(void **state)
{
    char *path = tempdir_path(*state, "folder");

    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    path = tempdir_path(*state, "folder/in");
    assert_int_equal(fileio_write(path, "x", 1, NULL), 0);
    free(path);
    path = tempdir_path(*state, "file");
    assert_int_equal(fileio_write(path, "x", 1, NULL), 0);
    free(path);
    path = tempdir_path(*state, "fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    path = tempdir_path(*state, "link");
    assert_int_equal(symlink("/etc/passwd", path), 0);
    free(path);
    check_rows(*state);
}

/* Makes openat2() fail from now on, as in an older kernel. */
static int forbid(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {N(filter), filter};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void test_old_kernel(void **state)
{
    if (forbid() < 0)
        skip_check("no seccomp filters here");
    assert_int_equal(syscall(SYS_openat2, -1, "", NULL, 0), -1);
    assert_int_equal(errno, ENOSYS);
    check_rows(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        /* last, because it cannot be undone */
        cmocka_unit_test(test_old_kernel),
    };

    return cmocka_run_group_tests_name("openhere", tests, tempdir_make,
                                       tempdir_drop);
}
