/* test_ownfile.c - programs that close, take over, inherit or exhaust
 * descriptors, and what a library's file does then. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/num.h"
#include "common/ownfile.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* of every architecture */
#endif
#define N(array) (sizeof(array) / sizeof(*(array)))

/* In a scenario: ends its process with status 1 unless the condition holds. */
#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__,      \
                    #what, errno);                                             \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

enum { REASON_MAX = 80 };

static char *reason; /* shared with the scenario's process: why it is skipped */

/* In a scenario: what it tries is not possible here. */
static _Noreturn void skip_scenario(const char *why)
{
    snprintf(reason, REASON_MAX, "%s", why);
    _exit(0);
}

static const char theirs[] = "the program's own data";
static const char ours[] = "a record of the library";

/* --- system calls that do not exist --------------------------------------- */

static bool close_range_is_absent;

/* Replaces libc's in ownfile.c. */
long syscall(long number, ...)
{
    typedef long function(long, ...);
    static function *real;
    long a[6];
    va_list ap;

    if (!real)
        real = (function *) dlsym(RTLD_NEXT, "syscall");
    va_start(ap, number);
    for (int i = 0; i < 5; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (close_range_is_absent && number == SYS_close_range) {
        errno = ENOSYS;
        return -1;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4]);
}

/* --- the program ---------------------------------------------------------- */

/* Opens the library's file with a record in it. */
static struct ownfile begin(const char *dir)
{
    struct ownfile file = {.lost = false};

    CHECK(ownfile_open(&file, dir, 0) == 0);
    CHECK(ownfile_create(&file, "record") == 0);
    CHECK(ownfile_write(&file, ours, sizeof(ours), 0) == 0);
    CHECK(file.folder >= 3 && file.fd >= 3);
    CHECK(fcntl(file.folder, F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(file.fd, F_GETFD) & FD_CLOEXEC);
    return file;
}

/* Opens the program's own file with its data. */
static int open_theirs(const char *dir)
{
    char *path = tempdir_path(dir, "theirs");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    free(path);
    CHECK(fd >= 0 &&
          pwrite(fd, theirs, sizeof(theirs), 0) == (ssize_t) sizeof(theirs));
    return fd;
}

/* Checks that the descriptor is open, and on the program's data. */
static void check_theirs(int fd)
{
    char text[4096];

    CHECK(pread(fd, text, sizeof(text), 0) == (ssize_t) sizeof(theirs));
    CHECK(memcmp(text, theirs, sizeof(theirs)) == 0);
}

/* Checks that the file of that name has n records. */
static void check_record(const char *dir, const char *name, size_t n)
{
    char *path = tempdir_path(dir, name), text[4096];
    int fd = open(path, O_RDONLY);

    CHECK(fd >= 0);
    CHECK(read(fd, text, sizeof(text)) == (ssize_t) (n * sizeof(ours)));
    for (size_t i = 0; i < n; i++)
        CHECK(memcmp(text + i * sizeof(ours), ours, sizeof(ours)) == 0);
    close(fd);
    free(path);
}

/* Checks that nothing works any more, and that the numbers, which are the
 * program's now, are not touched. */
static void check_lost(struct ownfile *file, const char *dir, int fd)
{
    CHECK(ownfile_write(file, ours, sizeof(ours), 0) < 0 && errno == ESTALE);
    CHECK(file->lost);
    CHECK(ownfile_truncate(file, 0) < 0 && errno == ESTALE);
    CHECK(ownfile_unlink(file) < 0 && errno == ESTALE);
    CHECK(ownfile_rename(file, "other") < 0 && errno == ESTALE);
    CHECK(ownfile_create(file, "again") < 0 && errno == ESTALE);
    CHECK(ownfile_create_anew(file, "again") < 0 && errno == ESTALE);
    CHECK(ownfile_open(file, dir, 0) < 0 && errno == ESTALE);
    CHECK(ownfile_fd(file) == -1 && ownfile_folder(file) == -1);
    check_theirs(fd);
    ownfile_close(file);
    check_theirs(fd);
}

/* --- scenarios ------------------------------------------------------------ */

static void closed_standard(const char *dir)
{
    struct ownfile file;

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    file = begin(dir);
    for (int fd = 0; fd < 3; fd++) {
        CHECK(fcntl(fd, F_GETFD) < 0);
        CHECK(write(fd, theirs, sizeof(theirs)) < 0);
    }
    check_record(dir, "record", 1);
    ownfile_close(&file);
}

/* The program closes all, and its next files get the same numbers. */
static void all_closed(const char *dir)
{
    struct ownfile file = begin(dir);
    int number = file.fd, fd;

    for (fd = 3; fd < 2000; fd++)
        close(fd);
    do
        fd = open_theirs(dir);
    while (fd < number);
    CHECK(fd == number);
    check_lost(&file, dir, number);
}

/* The same while there is only the folder. */
static void folder_closed(const char *dir)
{
    struct ownfile file = {.lost = false};
    int number;

    CHECK(ownfile_open(&file, dir, 0) == 0);
    number = file.folder;
    CHECK(dup2(open_theirs(dir), number) == number);
    CHECK(ownfile_create(&file, "record") < 0 && errno == ESTALE);
    check_lost(&file, dir, number);
}

static void taken_by_dup2(const char *dir)
{
    struct ownfile file = begin(dir);
    int number = file.fd;

    CHECK(dup2(open_theirs(dir), number) == number);
    check_lost(&file, dir, number);
    check_record(dir, "record", 1);
}

/* Only one of the descriptors was taken: the other one is closed, because it is
 * still the library's. */
static void other_is_closed(const char *dir)
{
    struct ownfile file = begin(dir);
    int number = file.fd, folder = file.folder;

    CHECK(dup2(open_theirs(dir), number) == number);
    CHECK(ownfile_write(&file, ours, sizeof(ours), 0) < 0);
    CHECK(fcntl(folder, F_GETFD) < 0);
    check_theirs(number);
}

/* The descriptor's number has another open file of the same inode: the program
 * reads what the library writes. */
static void same_inode(const char *dir)
{
    struct ownfile file = begin(dir);
    char *path = tempdir_path(dir, "record"), text[sizeof(ours)];
    int number = file.fd, fd = open(path, O_RDWR);

    CHECK(fd >= 0 && dup2(fd, number) == number);
    CHECK(ownfile_write(&file, theirs, sizeof(theirs), 0) < 0);
    ownfile_close(&file);
    CHECK(read(number, text, sizeof(text)) == (ssize_t) sizeof(text));
    CHECK(memcmp(text, ours, sizeof(ours)) == 0);
    free(path);
}

/* The library's file was deleted and closed, and a new file of the program has
 * got its inode number. */
static void inode_reused(const char *dir)
{
    for (int i = 0; i < 50; i++) {
        struct ownfile file = begin(dir);
        struct stat before, after;
        int number = file.fd, fd;

        CHECK(fstat(number, &before) == 0);
        CHECK(ownfile_unlink(&file) == 0);
        close(number);
        fd = open_theirs(dir);
        CHECK(fstat(fd, &after) == 0);
        if (before.st_ino == after.st_ino) {
            CHECK(dup2(fd, number) == number);
            check_lost(&file, dir, number);
            return;
        }
        close(fd);
        ownfile_close(&file);
    }
    skip_scenario("this file system gives new numbers");
}

/* The folder was renamed, and another one has its path. */
static void folder_renamed(const char *dir)
{
    char *old = tempdir_path(dir, "a"), *new = tempdir_path(dir, "b");
    struct ownfile file = {.lost = false};

    CHECK(mkdir(old, 0700) == 0);
    file = begin(old);
    CHECK(rename(old, new) == 0 && mkdir(old, 0700) == 0);
    ownfile_close_file(&file);
    CHECK(ownfile_create(&file, "second") == 0);
    CHECK(ownfile_write(&file, ours, sizeof(ours), 0) == 0);
    check_record(new, "second", 1);
    CHECK(ownfile_rename(&file, "third") == 0);
    check_record(new, "third", 1);
    CHECK(ownfile_unlink(&file) == 0);
    ownfile_close(&file);
    CHECK(rmdir(old) == 0); /* nothing was made there */
    free(old);
    free(new);
}

/* The file's name belongs to somebody else by now. */
static void name_taken(const char *dir)
{
    struct ownfile file = begin(dir);
    char *path = tempdir_path(dir, "record");

    CHECK(unlink(path) == 0 && symlink("/etc/passwd", path) == 0);
    CHECK(ownfile_unlink(&file) < 0 && errno == ENOENT);
    CHECK(ownfile_rename(&file, "other") < 0 && errno == ENOENT);
    CHECK(ownfile_write(&file, ours, sizeof(ours), 0) == 0);
    CHECK(ownfile_create(&file, "record") < 0 && errno == EEXIST);
    /* replaced, not followed */
    CHECK(ownfile_create_anew(&file, "record") == 0);
    CHECK(ownfile_write(&file, ours, sizeof(ours), 0) == 0);
    check_record(dir, "record", 1);
    CHECK(ownfile_create(&file, "a/b") < 0 && errno == EINVAL);
    CHECK(ownfile_rename(&file, "../b") < 0);
    ownfile_close(&file);
    free(path);
}

/* Folders are made below the first one, which must exist. A link is not
 * entered. */
static void folders_made(const char *dir)
{
    char *deep = tempdir_path(dir, "raw/./n1//cuda/"),
         *none = tempdir_path(dir, "x/raw/n1/cuda"),
         *up = tempdir_path(dir, "raw/../../cuda"),
         *link = tempdir_path(dir, "link"),
         *below = tempdir_path(dir, "link/cuda");
    struct ownfile file = {.lost = false};
    struct stat st;

    CHECK(ownfile_open(&file, deep, 4) == 0);
    CHECK(stat(deep, &st) == 0 && (st.st_mode & 07777) == 0700);
    ownfile_close(&file);
    CHECK(ownfile_open(&file, none, 3) < 0 && errno == ENOENT);
    CHECK(ownfile_open(&file, up, 4) < 0 && errno == EINVAL);
    CHECK(symlink(dir, link) == 0);
    CHECK(ownfile_open(&file, below, 2) < 0 &&
          (errno == ENOTDIR || errno == ELOOP));
    CHECK(ownfile_open(&file, below, 1) == 0); /* the given part may be one */
    ownfile_close(&file);
    CHECK(ownfile_open(&file, "/", 3) == 0);
    ownfile_close(&file);
    free(deep);
    free(none);
    free(up);
    free(link);
    free(below);
}

static int wait_for(pid_t pid)
{
    int status = 0;

    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

/* A child has copies of the descriptors and leaves them alone. */
static void forked(const char *dir)
{
    struct ownfile file = begin(dir);
    int fd = file.fd, folder = file.folder;
    pid_t pid = fork();

    if (pid == 0) {
        CHECK(ownfile_write(&file, theirs, sizeof(theirs), 0) < 0);
        CHECK(errno == ESTALE && !file.lost);
        CHECK(ownfile_truncate(&file, 0) < 0);
        CHECK(ownfile_unlink(&file) < 0);
        CHECK(ownfile_create(&file, "child") < 0);
        ownfile_close(&file);
        CHECK(fcntl(fd, F_GETFD) >= 0 && fcntl(folder, F_GETFD) >= 0);
        /* one of its own */
        CHECK(ownfile_open(&file, dir, 0) == 0);
        CHECK(ownfile_create(&file, "child") == 0);
        CHECK(ownfile_write(&file, ours, sizeof(ours), 0) == 0);
        _exit(0);
    }
    CHECK(wait_for(pid) == 0);
    check_record(dir, "child", 1);
    CHECK(ownfile_write(&file, ours, sizeof(ours), sizeof(ours)) == 0);
    ownfile_close(&file);
    check_record(dir, "record", 2);
}

/* clone() with a common table runs no fork handlers: what the child closes, the
 * parent has lost. */
static void cloned(const char *dir)
{
    struct ownfile file = begin(dir);
    pid_t pid;

    if (getenv("JP_MEMCHECK"))
        skip_scenario("memcheck knows no clone() but fork and threads");
    pid = (pid_t) syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

    if (pid == 0) {
        ownfile_close(&file);
        _exit(0);
    }
    CHECK(wait_for(pid) == 0);
    CHECK(ownfile_write(&file, ours, sizeof(ours), sizeof(ours)) == 0);
    check_record(dir, "record", 2);
}

/* A program that becomes a daemon: it forks, its parent ends, it closes all. */
static void daemonised(const char *dir)
{
    struct ownfile file = begin(dir);
    int number = file.fd, fd;
    pid_t pid = fork();

    if (pid == 0) {
        CHECK(setsid() > 0);
        for (fd = 0; fd < 2000; fd++)
            close(fd);
        CHECK(dup2(open_theirs(dir), number) == number);
        CHECK(ownfile_write(&file, ours, sizeof(ours), 0) < 0);
        check_theirs(number);
        ownfile_close(&file);
        check_theirs(number);
        _exit(0);
    }
    CHECK(wait_for(pid) == 0);
    ownfile_close(&file);
    check_record(dir, "record", 1);
}

static void executed(const char *dir)
{
    struct ownfile file = begin(dir);
    char fd[16], folder[16];
    pid_t pid;

    if (getenv("JP_MEMCHECK"))
        skip_scenario("/proc/self/exe is valgrind");
    pid = fork();
    snprintf(fd, sizeof(fd), "%d", file.fd);
    snprintf(folder, sizeof(folder), "%d", file.folder);
    if (pid == 0) {
        execl("/proc/self/exe", "executed", fd, folder, (char *) NULL);
        _exit(1);
    }
    CHECK(wait_for(pid) == 0);
    ownfile_close(&file);
}

/* Without numbers nothing is opened, and nothing is lost. */
static void no_numbers(const char *dir)
{
    struct ownfile file = begin(dir);
    struct rlimit limit, few;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    few = (struct rlimit){3, limit.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK(ownfile_write(&file, ours, sizeof(ours), sizeof(ours)) == 0);
    ownfile_close_file(&file);
    CHECK(ownfile_create(&file, "second") < 0 && errno == EMFILE);
    CHECK(!file.lost && file.folder >= 3);
    /* a number below 3 is free, but not for us */
    close(0);
    CHECK(ownfile_create(&file, "third") < 0);
    CHECK(fcntl(0, F_GETFD) < 0);
    /* a low limit: numbers from 3 on */
    few.rlim_cur = 64;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK(ownfile_create(&file, "fourth") == 0);
    CHECK(file.fd >= 3 && file.fd < 64);
    ownfile_close(&file);
    check_record(dir, "record", 2);
}

/* A limit of the file's size stands for any write that fails half way. */
static void too_large(const char *dir)
{
    struct ownfile file = begin(dir);
    struct rlimit limit = {2 * sizeof(ours) - 5, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(ownfile_write(&file, ours, sizeof(ours), sizeof(ours)) < 0);
    CHECK(errno == EFBIG && !file.lost);
    CHECK(ownfile_truncate(&file, sizeof(ours)) == 0);
    check_record(dir, "record", 1);
    limit.rlim_cur = RLIM_INFINITY;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(ownfile_write(&file, ours, sizeof(ours), sizeof(ours)) == 0);
    ownfile_close(&file);
    check_record(dir, "record", 2);
}

static void full_disk(const char *dir)
{
    struct ownfile file;
    char page[4096] = "";
    uint64_t at = sizeof(ours);

    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", dir, "tmpfs", 0, "size=64k") != 0)
        skip_scenario("no file system can be mounted");
    file = begin(dir);
    while (at < 1 << 20 && ownfile_write(&file, page, sizeof(page), at) == 0)
        at += sizeof(page);
    CHECK(at < 1 << 20 && errno == ENOSPC && !file.lost);
    CHECK(ownfile_truncate(&file, sizeof(ours)) == 0);
    CHECK(ownfile_write(&file, ours, sizeof(ours), sizeof(ours)) == 0);
    check_record(dir, "record", 2);
    ownfile_close(&file);
    CHECK(umount(dir) == 0);
}

static void odd_umask(const char *dir)
{
    struct ownfile file;

    umask(0777);
    file = begin(dir);
    CHECK(file.fd >= 3);
    umask(0);
    check_record(dir, "record", 1);
}

/* --- a table of its own --------------------------------------------------- */

/* What the library's thread and the program tell each other. */
struct talk {
    const char *dir;
    pthread_barrier_t turn;
    struct ownfile file;
    bool alone;
    atomic_bool over;
};

/* Counts the descriptors of this thread, up to 2000. */
static int n_open(void)
{
    int n = 0;

    for (int fd = 0; fd < 2000; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* The library's thread. */
static void *library(void *arg)
{
    struct talk *talk = arg;

    talk->alone = ownfile_own_table();
    if (talk->alone)
        CHECK(n_open() == 0);
    talk->file = begin(talk->dir);
    pthread_barrier_wait(&talk->turn);
    pthread_barrier_wait(&talk->turn);
    if (talk->alone) {
        CHECK(ownfile_write(&talk->file, ours, sizeof(ours), sizeof(ours)) ==
              0);
        CHECK(n_open() == 2);
        ownfile_close(&talk->file);
        CHECK(n_open() == 0);
    } else {
        CHECK(ownfile_write(&talk->file, ours, sizeof(ours), sizeof(ours)) < 0);
        CHECK(talk->file.lost);
        ownfile_close(&talk->file);
    }
    return NULL;
}

/* The program closes all while the library's thread has its file, and takes the
 * numbers. Returns whether the thread had a table of its own. */
static bool run_thread(const char *dir)
{
    struct talk talk = {.dir = dir};
    char one = 0;
    pthread_t thread;
    int fd, folder, pipes[2];
    pid_t child;

    CHECK(pthread_barrier_init(&talk.turn, NULL, 2) == 0);
    CHECK(pipe(pipes) == 0);
    CHECK(pthread_create(&thread, NULL, library, &talk) == 0);
    pthread_barrier_wait(&talk.turn);
    fd = talk.file.fd;
    folder = talk.file.folder;
    /* the thread holds no copy: the reader sees the end */
    CHECK(close(pipes[1]) == 0);
    CHECK(read(pipes[0], &one, 1) == 0);
    if (talk.alone) {
        CHECK(fcntl(fd, F_GETFD) < 0 && fcntl(folder, F_GETFD) < 0);
        if ((child = fork()) == 0)
            _exit(fcntl(fd, F_GETFD) < 0 ? 0 : 1);
        CHECK(wait_for(child) == 0);
    }
    for (int i = 3; i < 2000; i++)
        close(i);
    CHECK(dup2(open_theirs(dir), fd) == fd && dup2(fd, folder) == folder);
    pthread_barrier_wait(&talk.turn);
    CHECK(pthread_join(thread, NULL) == 0);
    check_theirs(fd);
    check_theirs(folder);
    check_record(dir, "record", talk.alone ? 2 : 1);
    return talk.alone;
}

static void own_table(const char *dir)
{
    if (prctl(PR_GET_SECCOMP) != 0)
        skip_scenario("the test itself runs under a seccomp filter");
    CHECK(run_thread(dir));
}

/* The library's thread writes without a pause. */
static void *write_on(void *arg)
{
    struct talk *talk = arg;

    talk->alone = ownfile_own_table();
    talk->file = begin(talk->dir);
    pthread_barrier_wait(&talk->turn);
    while (!atomic_load(&talk->over))
        (void) ownfile_write(&talk->file, ours, sizeof(ours), 0);
    ownfile_close(&talk->file);
    return NULL;
}

/* Meanwhile the program takes its number again and again. */
static void own_table_race(const char *dir)
{
    struct talk talk = {.dir = dir};
    pthread_t thread;
    int fd = open_theirs(dir);

    if (prctl(PR_GET_SECCOMP) != 0)
        skip_scenario("the test itself runs under a seccomp filter");
    CHECK(pthread_barrier_init(&talk.turn, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, write_on, &talk) == 0);
    pthread_barrier_wait(&talk.turn);
    CHECK(talk.alone);
    for (int i = 0; i < 20000; i++) {
        CHECK(dup2(fd, talk.file.fd) == talk.file.fd);
        check_theirs(talk.file.fd);
        CHECK(close(talk.file.fd) == 0);
    }
    atomic_store(&talk.over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    check_theirs(fd);
    check_record(dir, "record", 1);
}

/* Linux before 5.9: the thread makes a copy of the table and empties it. */
static void own_table_of_old(const char *dir)
{
    if (prctl(PR_GET_SECCOMP) != 0)
        skip_scenario("the test itself runs under a seccomp filter");
    close_range_is_absent = true;
    for (int i = 0; i < 300; i++) /* more places than a small table has */
        CHECK(dup(2) >= 0);
    CHECK(run_thread(dir));
}

/* The same with standard input, output and error closed. */
static void own_table_closed(const char *dir)
{
    if (prctl(PR_GET_SECCOMP) != 0)
        skip_scenario("the test itself runs under a seccomp filter");
    close_range_is_absent = true;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    CHECK(run_thread(dir));
}

/* Under any filter the table is shared, and nothing new is called. */
static void filtered(const char *dir)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_close_range, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_unshare, 0, 1),
        BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {N(code), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        skip_scenario("no seccomp filters here");
    CHECK(!run_thread(dir));
}

/* --- the runner ----------------------------------------------------------- */

typedef void scenario(const char *dir);

static void run(void **state, scenario *what)
{
    int status = 0;
    pid_t pid;

    if (!reason)
        reason = mmap(NULL, REASON_MAX, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(reason, MAP_FAILED);
    *reason = '\0';
    pid = fork();
    if (pid == 0) {
        alarm(60);
        what(*state);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    if (*reason)
        skip_check(reason);
}

#define SCENARIOS(ROW)                                                         \
    ROW(closed_standard)                                                       \
    ROW(all_closed)                                                            \
    ROW(folder_closed)                                                         \
    ROW(taken_by_dup2)                                                         \
    ROW(other_is_closed)                                                       \
    ROW(same_inode)                                                            \
    ROW(inode_reused)                                                          \
    ROW(folder_renamed)                                                        \
    ROW(name_taken)                                                            \
    ROW(folders_made)                                                          \
    ROW(forked)                                                                \
    ROW(cloned)                                                                \
    ROW(daemonised)                                                            \
    ROW(executed)                                                              \
    ROW(no_numbers)                                                            \
    ROW(too_large)                                                             \
    ROW(full_disk)                                                             \
    ROW(odd_umask)                                                             \
    ROW(own_table)                                                             \
    ROW(own_table_race)                                                        \
    ROW(own_table_of_old)                                                      \
    ROW(own_table_closed)                                                      \
    ROW(filtered)

#define ROW(name)                                                              \
    static void test_##name(void **state)                                      \
    {                                                                          \
        run(state, name);                                                      \
    }
SCENARIOS(ROW)
#undef ROW

/* The numbers of `executed` are free in the new program. */
static int after_exec(char **numbers)
{
    uint64_t fd;

    for (int i = 0; i < 2; i++)
        if (num_parse_u64(numbers[i], 3, 1 << 20, &fd, NULL) < 0 ||
            fcntl((int) fd, F_GETFD) >= 0)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#define ROW(name)                                                              \
    cmocka_unit_test_setup_teardown(test_##name, tempdir_make, tempdir_drop),
        SCENARIOS(ROW)
#undef ROW
    };

    if (argc == 3)
        return after_exec(argv + 1);
    return cmocka_run_group_tests_name("a library's own file", tests, NULL,
                                       NULL);
}
