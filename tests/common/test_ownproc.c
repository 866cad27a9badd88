/* test_ownproc.c - a process is somebody's: other users' processes and those
 * that have taken a number are refused, and nothing reaches them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/ownproc.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

enum { HIM = 12345 };

/* --- fake roots ----------------------------------------------------------- */

/* A process of a fake root, which belongs to this user. */
static void put_process(const char *dir, const char *pid, const char *stat,
                        const char *status)
{
    const char *const folders[] = {"proc", pid, "ns"};
    char name[64] = "", *path;

    for (size_t i = 0; i < 3; i++) {
        snprintf(name + strlen(name), sizeof(name) - strlen(name), "%s%s",
                 i ? "/" : "", folders[i]);
        path = tempdir_path(dir, name);
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        free(path);
    }
    snprintf(name, sizeof(name), "proc/%s/stat", pid);
    free(tempdir_file(dir, name, 0600, stat));
    snprintf(name, sizeof(name), "proc/%s/status", pid);
    free(tempdir_file(dir, name, 0600, status));
}

#define STAT(state, start) STAT_OF(state, "4", start)
#define STAT_OF(state, threads, start)                                         \
    "7 (a) b) " state " 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 " threads            \
    " 0 " start " 9 9\n"
#define UIDS(a, b, c, d)                                                       \
    "Name:\tx\nUid:\t" #a "\t" #b "\t" #c "\t" #d "\nGid:\t0\t0\t0\t0\n"

static void fake_roots(void **state)
{
    static const struct {
        const char *stat, *status;
        uint64_t start; /* expected */
        int error;      /* 0: opened */
    } cases[] = {
        {STAT("S", "777"), UIDS(5, 5, 5, 5), 777, 0},
        {STAT("S", "777"), UIDS(5, 5, 5, 5), 0, 0},
        {STAT("D", "777"), UIDS(5, 5, 5, 5), 777, 0},
        /* another's, in one of four places */
        {STAT("S", "777"), UIDS(6, 5, 5, 5), 777, EPERM},
        {STAT("S", "777"), UIDS(5, 6, 5, 5), 777, EPERM},
        {STAT("S", "777"), UIDS(5, 5, 6, 5), 777, EPERM},
        {STAT("S", "777"), UIDS(5, 5, 5, 6), 777, EPERM},
        {STAT("S", "777"), UIDS(0, 0, 0, 0), 0, EPERM},
        /* a later process: the start time is more certain than the uid */
        {STAT("S", "778"), UIDS(5, 5, 5, 5), 777, ESTALE},
        {STAT("S", "778"), UIDS(6, 6, 6, 6), 777, ESTALE},
        {STAT("S", "77"), UIDS(5, 5, 5, 5), 777, ESTALE},
        /* ended */
        {STAT_OF("Z", "1", "777"), UIDS(5, 5, 5, 5), 777, ESRCH},
        {STAT("Z", "777"), UIDS(5, 5, 5, 5), 777, 0},
        {STAT("X", "777"), UIDS(5, 5, 5, 5), 0, ESRCH},
        {"", UIDS(5, 5, 5, 5), 0, ESRCH},
        {"no stat", UIDS(5, 5, 5, 5), 0, ESRCH},
        {"7 (a) S 1 1 1", UIDS(5, 5, 5, 5), 777, ESTALE},
        /* nothing shows whose it is */
        {STAT("S", "777"), "", 777, EPERM},
        {STAT("S", "777"), "Name:\tUid:\t5\t5\t5\t5\n", 777, EPERM},
        {STAT("S", "777"), "Name:\tx\nUid:\t5\t5\t5\n", 777, EPERM},
        {STAT("S", "777"), "Name:\tx\nUid:\t5 5 5 x\n", 777, EPERM},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct ownproc_name name = {
            .root = *state, .pid = 7, .start = cases[i].start, .uid = 5};
        struct ownproc proc;
        struct jp_error err = {""};
        int rc;

        put_process(*state, "7", cases[i].stat, cases[i].status);
        errno = 0;
        rc = ownproc_open(&name, &proc, &err);
        if (rc != (cases[i].error ? -1 : 0) || (rc && errno != cases[i].error))
            fail_msg("case %zu: %d, %s: %s", i, rc, strerror(errno), err.text);
        assert_int_equal(proc.dir < 0, rc < 0);
        assert_int_equal(*err.text != '\0', rc < 0);
        if (rc == 0) {
            assert_true(proc.start == 777 && proc.pid == 7);
            /* no process of this machine is meant */
            assert_int_equal(ownproc_signal(&proc, SIGKILL, &err), -1);
            /* the program changes its uids */
            put_process(*state, "7", STAT("S", "777"), UIDS(5, 0, 0, 0));
            assert_int_equal(ownproc_check(&proc, &err), -1);
            assert_int_equal(errno, EPERM);
        }
        ownproc_close(&proc);
        assert_true(proc.dir < 0);
    }
}

static void no_such_process(void **state)
{
    static const int64_t pids[] = {0, -1, 8, INT64_MAX, INT64_MIN};

    for (size_t i = 0; i < sizeof(pids) / sizeof(*pids); i++) {
        const struct ownproc_name name = {
            .root = *state, .pid = pids[i], .uid = 5};
        struct ownproc proc;

        assert_int_equal(ownproc_open(&name, &proc, NULL), -1);
        assert_int_equal(errno, ESRCH);
    }
}

/* A number of a container: the process is searched among the user's. */
static void other_namespaces(void **state)
{
    struct ownproc_name name = {.root = *state, .pid = 7, .uid = getuid()};
    char *path, status[256];
    struct ownproc proc;
    struct stat st;

    snprintf(status, sizeof(status),
             "Name:\tx\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t31\t7\n", getuid(),
             getuid(), getuid(), getuid());
    put_process(*state, "self", "", "");
    free(tempdir_file(*state, "proc/self/ns/pid", 0600, ""));
    put_process(*state, "7", STAT("S", "777"), status);
    put_process(*state, "31", STAT("S", "777"), status);
    free(tempdir_file(*state, "proc/7/ns/pid", 0600, ""));
    path = tempdir_file(*state, "proc/31/ns/pid", 0600, "");
    assert_int_equal(stat(path, &st), 0);
    name.pid_namespace = st.st_ino;
    free(path);
    assert_int_equal(ownproc_open(&name, &proc, NULL), 0);
    assert_int_equal(proc.pid, 31);
    assert_true(ownproc_namespace(proc.dir) == st.st_ino);
    ownproc_close(&proc);
    name.start = 778;
    assert_int_equal(ownproc_open(&name, &proc, NULL), -1);
    name.start = 777;
    name.pid = 8;
    assert_int_equal(ownproc_open(&name, &proc, NULL), -1);
    name.pid = 7;
    name.uid++;
    assert_int_equal(ownproc_open(&name, &proc, NULL), -1);
    assert_int_equal(errno, ESRCH);
}

/* A path is that of the process: links lead to its root, the last may be none.
 */
static void paths_inside(void **state)
{
    char *dir = tempdir_path(*state, "proc/7"), *path, text[8];
    int at, fd;

    put_process(*state, "7", STAT("S", "777"), UIDS(5, 5, 5, 5));
    path = tempdir_path(*state, "proc/7/root");
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    path = tempdir_path(*state, "proc/7/root/tmp");
    assert_int_equal(mkdir(path, 0700), 0);
    free(path);
    free(tempdir_file(*state, "proc/7/root/tmp/a", 0600, "its"));
    path = tempdir_path(*state, "proc/7/root/scratch");
    assert_int_equal(symlink("/tmp", path), 0);
    free(path);
    path = tempdir_path(*state, "proc/7/root/tmp/link");
    assert_int_equal(symlink("a", path), 0);
    free(path);
    at = open(dir, O_RDONLY | O_DIRECTORY);
    fd = ownproc_open_inside(at, "/scratch/a", O_RDONLY);
    if (fd < 0 && errno == ENOENT) /* no openat2 */
        fd = ownproc_open_inside(at, "/tmp/a", O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, text, sizeof(text)), 3);
    close(fd);
    assert_int_equal(ownproc_open_inside(at, "/tmp/link", O_RDONLY), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(ownproc_open_inside(at, "tmp/a", O_RDONLY), -1);
    assert_int_equal(ownproc_open_inside(at, "/none", O_RDONLY), -1);
    close(at);
    free(dir);
}

static void environment(void **state)
{
    static const char env[] = "A=1\0SLURM_JOB_ID=7\0XSLURM_PROCID=3\0"
                              "SLURM_PROCID=12\0CUT=ab";

    (void) state;
    assert_string_equal(ownproc_variable(env, sizeof(env), "SLURM_JOB_ID"),
                        "7");
    assert_string_equal(ownproc_variable(env, sizeof(env), "SLURM_PROCID"),
                        "12");
    assert_null(ownproc_variable(env, sizeof(env), "SLURM"));
    assert_null(ownproc_variable(env, sizeof(env), "B"));
    /* a value without its NUL may be cut */
    assert_null(ownproc_variable(env, sizeof(env) - 1, "CUT"));
    assert_null(ownproc_variable("", 0, "A"));
}

/* --- processes ------------------------------------------------------------ */

/* A child that waits for its end. uids: real, effective, saved. */
static pid_t start(uid_t real, uid_t effective, uid_t saved)
{
    int ready[2];
    char c;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (setresuid(real, effective, saved) < 0)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[0]);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static pid_t start_own(void)
{
    return start(getuid(), getuid(), getuid());
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static struct ownproc_name name_of(pid_t pid)
{
    return (struct ownproc_name){.root = "", .pid = pid, .uid = getuid()};
}

static void own_processes(void **state)
{
    pid_t pid = start_own();
    struct ownproc_name name = name_of(pid);
    struct ownproc proc;
    char text[64];
    int status;

    (void) state;
    assert_int_equal(ownproc_open(&name, &proc, NULL), 0);
    assert_true(proc.start > 0);
    assert_int_equal(ownproc_check(&proc, NULL), 0);
    name.start = proc.start;
    ownproc_close(&proc);
    assert_int_equal(ownproc_open(&name, &proc, NULL), 0);
    assert_true(ownproc_read(proc.dir, "comm", text, sizeof(text)) > 0);
    assert_int_equal(ownproc_signal(&proc, SIGTERM, NULL), 0);
    /* a zombie has ended */
    assert_int_equal(
        waitid(P_PID, (id_t) pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    assert_int_equal(ownproc_check(&proc, NULL), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    /* nothing of it can be read any more */
    assert_int_equal(ownproc_read(proc.dir, "comm", text, sizeof(text)), -1);
    assert_string_equal(text, "");
    assert_int_equal(ownproc_signal(&proc, SIGTERM, NULL), -1);
    assert_int_equal(errno, ESRCH);
    ownproc_close(&proc);
    assert_int_equal(ownproc_open(&name, &proc, NULL), -1);
    assert_int_equal(errno, ESRCH);
}

static void *wait_for_ever(void *arg)
{
    pause();
    return arg;
}

/* A program may end its first thread alone. */
static void first_thread_ends(void **state)
{
    struct ownproc proc;
    char stat[1024] = "";
    pid_t pid = fork();

    (void) state;
    assert_true(pid >= 0);
    if (pid == 0) {
        pthread_t other;

        if (pthread_create(&other, NULL, wait_for_ever, NULL) != 0)
            _exit(1);
        syscall(SYS_exit, 0); /* of this thread */
    }
    for (int i = 0; i < 2000; i++, usleep(5000)) {
        struct ownproc_name name = name_of(pid);

        assert_int_equal(ownproc_open(&name, &proc, NULL), 0);
        assert_true(ownproc_read(proc.dir, "stat", stat, sizeof(stat)) > 0);
        if (ownproc_state(stat) == 'Z')
            break;
        ownproc_close(&proc);
    }
    assert_int_equal(ownproc_state(stat), 'Z');
    assert_int_equal(ownproc_check(&proc, NULL), 0);
    assert_int_equal(ownproc_signal(&proc, SIGKILL, NULL), 0);
    assert_int_equal(
        waitid(P_PID, (id_t) pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    assert_int_equal(ownproc_check(&proc, NULL), -1);
    ownproc_close(&proc);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool is_pid(void *arg, struct ownproc *proc)
{
    return proc->pid == *(const pid_t *) arg;
}

static void processes_are_walked(void **state)
{
    pid_t pid = start_own();

    (void) state;
    assert_true(ownproc_walk("", getuid(), is_pid, &pid));
    assert_false(ownproc_walk("", getuid() + 1, is_pid, &pid));
    end(pid);
    assert_false(ownproc_walk("", getuid(), is_pid, &pid));
}

static void processes_of_others(void **state)
{
    static const uid_t uids[][3] = {
        {HIM, HIM, HIM}, {HIM, 0, 0}, {0, HIM, 0}, {0, 0, HIM}};

    (void) state;
    if (getuid() != 0)
        skip_check("only root has processes of two users");
    for (size_t i = 0; i < 4; i++) {
        pid_t pid = start(uids[i][0], uids[i][1], uids[i][2]);
        struct ownproc_name name = name_of(pid);
        struct ownproc proc;

        assert_int_equal(ownproc_open(&name, &proc, NULL), -1);
        assert_int_equal(errno, EPERM);
        assert_false(ownproc_walk("", 0, is_pid, &pid));
        name.uid = HIM;
        assert_int_equal(ownproc_open(&name, &proc, NULL), i == 0 ? 0 : -1);
        ownproc_close(&proc);
        end(pid);
    }
}

/* Without the newer calls of the kernel, as in some containers. */
static int deny_calls(void)
{
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_send_signal, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof(rows) / sizeof(*rows), rows};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void older_kernels(void **state)
{
    pid_t child = fork();
    int status;

    (void) state;
    if (child == 0) {
        pid_t pid = start_own();
        struct ownproc_name name = name_of(pid);
        struct ownproc proc;
        int own, rc = 0;

        if (deny_calls() < 0)
            _exit(77);
        if (ownproc_open(&name, &proc, NULL) < 0 ||
            ownproc_signal(&proc, SIGTERM, NULL) < 0 ||
            waitpid(pid, &own, 0) != pid || !WIFSIGNALED(own))
            rc = 1;
        if (ownproc_signal(&proc, SIGTERM, NULL) == 0 || errno != ESRCH)
            rc = 2;
        _exit(rc);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip_check("no seccomp filters here");
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- a number that is used again ------------------------------------------ */

/* The next process of this namespace gets the number. */
static int set_next(pid_t pid)
{
    char text[24];
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY), rc;
    int n = snprintf(text, sizeof(text), "%d", (int) pid - 1);

    rc = fd >= 0 && write(fd, text, (size_t) n) == n ? 0 : -1;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* In a PID namespace of its own: process 1. */
static int reuse(bool older)
{
    struct ownproc_name name;
    struct ownproc proc, later;
    pid_t pid, again;
    char text[64];
    int status;

    if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", 0, NULL) < 0)
        return 77;
    pid = start_own();
    name = name_of(pid);
    if (ownproc_open(&name, &proc, NULL) < 0)
        return 1;
    end(pid);
    usleep(50000); /* start times are in ticks of 10 ms */
    if (set_next(pid) < 0)
        return 77;
    again = start_own();
    if (again != pid)
        return 77;
    if (older && deny_calls() < 0)
        return 77;
    /* what was opened remains the first one's */
    if (ownproc_read(proc.dir, "comm", text, sizeof(text)) >= 0 ||
        errno != ESRCH)
        return 2;
    if (ownproc_check(&proc, NULL) == 0 || errno != ESRCH)
        return 3;
    if (ownproc_signal(&proc, SIGKILL, NULL) == 0 || errno != ESRCH)
        return 4;
    name.start = proc.start;
    if (ownproc_open(&name, &later, NULL) == 0 || errno != ESTALE)
        return 5;
    /* the second one lives */
    if (waitpid(again, &status, WNOHANG) != 0)
        return 6;
    name.start = 0;
    if (ownproc_open(&name, &later, NULL) < 0 || later.start == proc.start)
        return 7;
    end(again);
    return 0;
}

/* Makes namespaces; a user who is not root needs one of users, in which he
 * keeps his number. */
static int unshare_ids(int flags)
{
    char map[64];
    int n = snprintf(map, sizeof(map), "%u %u 1", getuid(), getuid()), fd, rc;

    if (geteuid() == 0)
        return unshare(flags);
    if (unshare(flags | CLONE_NEWUSER) < 0)
        return -1;
    fd = open("/proc/self/uid_map", O_WRONLY);
    rc = fd >= 0 && write(fd, map, (size_t) n) == n ? 0 : -1;
    if (fd >= 0)
        close(fd);
    return rc;
}

static void numbers_are_used_again(void **state)
{
    (void) state;
    for (int older = 0; older < 2; older++) {
        pid_t child = fork(), first;
        int status = 0;

        if (child == 0) {
            int flags = CLONE_NEWPID | CLONE_NEWNS;

            if (unshare_ids(flags) < 0)
                _exit(77);
            first = fork();
            if (first == 0)
                _exit(reuse(older != 0));
            waitpid(first, &status, 0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
            skip_check("no PID namespaces here");
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fake_roots, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(no_such_process, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(other_namespaces, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(paths_inside, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test(environment),
        cmocka_unit_test(own_processes),
        cmocka_unit_test(first_thread_ends),
        cmocka_unit_test(processes_are_walked),
        cmocka_unit_test(processes_of_others),
        cmocka_unit_test(older_kernels),
        cmocka_unit_test(numbers_are_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
