/* test_fileio.c - files read and written while the system fails. */
#include "common/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/child.h"
#include "tests/common/tempdir.h"

/* --- reading -------------------------------------------------------------- */

static void on_signal(int sig)
{
    (void) sig;
}

/* Ten bytes in three pieces, with signals while the reader waits. */
static pid_t write_pieces(int fd)
{
    static const char *const pieces[] = {"012", "3456", "789"};
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 5; k++) {
            usleep(5000);
            kill(getppid(), SIGUSR1);
        }
        if (write(fd, pieces[i], strlen(pieces[i])) < 0)
            _exit(1);
    }
    _exit(0);
}

static void test_pieces(void **state)
{
    const struct sigaction act = {.sa_handler = on_signal}; /* no SA_RESTART */
    struct jp_error err = {""};
    char *text = NULL;
    size_t len = 77;
    int ends[2], status;
    pid_t pid;

    (void) state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
    pid = write_pieces(ends[1]);
    assert_true(pid > 0);
    close(ends[1]);
    assert_int_equal(fileio_read_fd(ends[0], "pipe", 100, &text, &len, &err),
                     0);
    assert_string_equal(text, "0123456789");
    assert_int_equal(len, 10);
    free(text);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_int_equal(status, 0);
    signal(SIGUSR1, SIG_DFL);
}

/* Nothing is returned, and the reason is the system's. */
static void test_unreadable(void **state)
{
    char *path = tempdir_file(*state, "a", 0600, "0123456789"), *text = path;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    struct jp_error err = {""};
    size_t len = 77;

    assert_true(fd >= 0);
    assert_int_equal(fileio_read_fd(fd, path, 10, &text, &len, &err), -1);
    assert_non_null(strstr(err.text, strerror(EBADF)));
    close(fd);
    assert_int_equal(fileio_read_fd(fd, path, 10, &text, &len, &err), -1);
    assert_int_equal(fileio_read(path, false, 9, &text, &len, &err), -1);
    assert_int_equal(errno, EFBIG);
    assert_ptr_equal(text, path);
    assert_int_equal(len, 77);
    assert_int_equal(fileio_read(path, false, 10, &text, &len, &err), 0);
    assert_string_equal(text, "0123456789");
    free(text);
    free(path);
}

/* --- writing -------------------------------------------------------------- */

static size_t count_entries(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void assert_holds(const char *path, const char *what)
{
    char *text = NULL;

    assert_int_equal(fileio_read(path, false, 1 << 20, &text, NULL, NULL), 0);
    assert_string_equal(text, what);
    free(text);
}

/* The bytes of each file for which the disk has room. */
static rlim_t set_room(rlim_t bytes)
{
    struct rlimit limit;
    rlim_t before;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    before = limit.rlim_cur;
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}

static void test_no_room(void **state)
{
    static const size_t lengths[] = {5, 4095, 4096, 4097, 100000};
    char *path = tempdir_file(*state, "a", 0600, "former");
    char *big = calloc(1, 100001);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);

    assert_non_null(big);
    memset(big, 'x', 100000);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct jp_error err = {""};
        rlim_t room = set_room(4);
        int rc = fileio_write(path, big, lengths[i], &err);

        set_room(room);
        assert_int_equal(rc, -1);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, strerror(EFBIG)));
        assert_holds(path, "former");
        assert_int_equal(count_entries(*state), 1);
    }
    signal(SIGXFSZ, before);
    assert_int_equal(fileio_write(path, big, 100000, NULL), 0);
    assert_holds(path, big);
    free(big);
    free(path);
}

static void test_no_place(void **state)
{
    char *folder = tempdir_path(*state, "folder");
    char *below = tempdir_path(*state, "absent/file");
    struct jp_tempfile file, other;
    struct jp_error err = {""};

    assert_int_equal(fileio_temp_open(&file, below, &err), -1);
    assert_null(file.stream);
    assert_null(file.temp_name);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(fileio_write(folder, "x", 1, &err), -1);
    assert_non_null(strstr(err.text, folder));
    assert_int_equal(count_entries(*state), 1);
    assert_int_equal(fileio_temp_open(&file, folder, &err), 0);
    assert_int_equal(fileio_temp_open(&other, folder, &err), 0);
    assert_int_equal(count_entries(*state), 3);
    fileio_temp_abort(&file);
    fileio_temp_abort(&other);
    fileio_temp_abort(&other); /* a second abort does nothing */
    assert_int_equal(count_entries(*state), 1);
    free(folder);
    free(below);
}

/* --- removing ------------------------------------------------------------- */

/* Makes n folders in each other; the outermost is *path, caller frees. */
static char *make_deep(const char *dir, const char *name, unsigned n)
{
    char *path = tempdir_path(dir, name), *at = strdup(path), *next;

    while (n--) {
        assert_non_null(at);
        assert_int_equal(mkdir(at, 0700), 0);
        next = text_format("%s/d", at);
        free(at);
        at = next;
    }
    free(at);
    return path;
}

static void test_remove(void **state)
{
    char *deep = make_deep(*state, "deep", 60);
    char *deeper = make_deep(*state, "deeper", 70);
    char *kept = tempdir_file(*state, "kept", 0600, "kept");
    char *link = tempdir_path(deep, "link");
    struct jp_error err = {""};

    assert_int_equal(symlink(*state, link), 0);
    assert_int_equal(fileio_remove_tree(deep, &err), 0);
    assert_int_equal(access(deep, F_OK), -1);
    assert_holds(kept, "kept"); /* the link was not followed */
    assert_int_equal(fileio_remove_tree(deep, &err), 0); /* it does not exist */
    assert_int_equal(fileio_remove_tree(deeper, &err), -1);
    assert_non_null(strstr(err.text, "cannot be removed"));
    assert_int_equal(fileio_remove_tree(kept, &err), -1);
    assert_holds(kept, "kept");
    /* from the middle on, it is not too deep */
    free(link);
    link = text_format("%s/d/d/d/d/d/d/d/d/d/d", deeper);
    assert_int_equal(fileio_remove_tree(link, &err), 0);
    free(link);
    free(kept);
    free(deeper);
    free(deep);
}

/* --- what the disk was asked to have ---------------------------------------
 */

static struct synced {
    int files, folders;
    bool hang;  /* the file system does not answer a sync */
    bool early; /* the file was in place before it was on the disk */
    char path[4096];
} * synced; /* shared with the child that syncs */

int fsync(int fd)
{
    struct stat st;

    while (synced->hang)
        pause();
    if (fstat(fd, &st) < 0)
        return -1;
    synced->folders += S_ISDIR(st.st_mode);
    synced->files += S_ISREG(st.st_mode);
    synced->early |= S_ISREG(st.st_mode) && access(synced->path, F_OK) == 0;
    return 0;
}

static void put_synced(const char *path, const char *text, uint32_t limit_ms)
{
    struct jp_tempfile file;
    struct jp_error err;
    char *is;

    assert_int_equal(fileio_temp_open(&file, path, &err), 0);
    fputs(text, file.stream);
    assert_int_equal(fileio_temp_commit_synced(&file, limit_ms, &err), 0);
    assert_int_equal(fileio_read(path, false, 100, &is, NULL, &err), 0);
    assert_string_equal(is, text);
    free(is);
}

static void test_synced(void **state)
{
    char *path = text_format("%s/summary.json", (const char *) *state);

    synced = child_alloc(sizeof(*synced));
    assert_non_null(synced);
    snprintf(synced->path, sizeof(synced->path), "%s", path);
    put_synced(path, "first", 60000);
    assert_int_equal(synced->files, 1);
    assert_int_equal(synced->folders, 1);
    assert_false(synced->early);
    /* even if the disk never answers, the file is in place */
    synced->hang = true;
    put_synced(path, "second", 50);
    assert_int_equal(synced->files, 1);
    child_free(synced, sizeof(*synced));
    free(path);
}

/* --- a path that the user has named ----------------------------------------
 */

static void put_output(const char *path, bool commit)
{
    struct jp_tempfile file;
    struct jp_error err;

    assert_int_equal(fileio_output_open(&file, path, &err), 0);
    fputs("text", file.stream);
    if (commit)
        assert_int_equal(fileio_temp_commit(&file, &err), 0);
    else
        fileio_temp_abort(&file);
}

static mode_t kind(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & S_IFMT;
}

/* A link to a device, a pipe, and root's own device are not replaced. */
static void test_output(void **state)
{
    const char *dir = *state;
    char *link = tempdir_path(dir, "link"), *pipe = tempdir_path(dir, "pipe");
    char *device = tempdir_path(dir, "null"), *plain;
    struct jp_tempfile file;
    struct jp_error err;
    char text[5] = "";
    int fd;

    assert_int_equal(symlink("/dev/null", link), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    fd = open(pipe, O_RDWR | O_NONBLOCK);
    assert_true(fd >= 0);
    for (int commit = 0; commit < 2; commit++) {
        put_output(link, commit);
        assert_int_equal(kind(link), S_IFLNK);
        put_output(pipe, commit);
        assert_int_equal(kind(pipe), S_IFIFO);
        assert_int_equal(read(fd, text, 4), 4);
        assert_string_equal(text, "text");
    }
    close(fd);
    if (mknod(device, S_IFCHR | 0600, makedev(1, 3)) == 0) {
        put_output(device, true);
        assert_int_equal(kind(device), S_IFCHR);
        assert_int_equal(fileio_temp_open(&file, device, &err), -1);
        assert_non_null(strstr(err.text, "device"));
    }
    free(pipe);
    plain = tempdir_file(dir, "plain", 0600, "before");
    put_output(plain, false);
    assert_int_equal(fileio_read(plain, false, 100, &pipe, NULL, &err), 0);
    assert_string_equal(pipe, "before");
    free(pipe);
    free(plain);
    free(device);
    free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test_setup_teardown(test_unreadable, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_no_room, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_no_place, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_synced, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_output, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(test_remove, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
