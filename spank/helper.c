/* helper.c - runs a program as the user, bounded in time. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/wait.h>

#include "common/outside.h"
#include "spank/module.h"

enum { TEXT_MAX = 65536, KILL_MS = 200, TICK_MS = 10, FAILED = -1, LATE = -2 };
enum { ENV_MAX = 2048 };
/* the orphan's pid, in memory shared with the child */
static pid_t *told;
/* the helper's PWD: the host's folder, in user_init that of the tasks */
static char stand[PATH_MAX + 4] = "PWD=";
static const char *const allowed[] = {
    "JOBPROF_", "USER=",     "LANG=", "XLA_",   "NVIDIA_V", "_SLURM_SPANK_",
    "LC_ALL=",  "SLURM_",    "TZ=",   "PYXIS_", "NCCL_",    "XDG_CONFIG_HOME=",
    "CUDA_",    "NO_COLOR=", "TERM=", "HOME=",  "COLUMNS=", "LC_CTYPE="};

void helper_arg(struct helper *h, const char *name, const char *value)
{
    if (!value || h->argc + 2 >= (int) (sizeof(h->argv) / sizeof(*h->argv)))
        return;
    h->argv[h->argc++] = name;
    h->argv[h->argc++] = value;
}

/* Returns the variables that a helper may see, valid until the next call. */
static char **allowed_env(char **env)
{
    static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    static char *clean[ENV_MAX + 3] = {path};
    const char *conf = getenv("SLURM_CONF");
    int n = 1;

    if (conf) /* the host's, not the job's: it names libraries to load */
        clean[n++] = (char *) conf - strlen("SLURM_CONF=");
    clean[n++] = stand;
    for (; env && *env && n < ENV_MAX; env++)
        for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
            if (strncmp(*env, allowed[i], strlen(allowed[i])) == 0)
                clean[n++] = *env;
    clean[n] = NULL;
    return clean;
}

/* Returns all variables of a helper that leaves the job's cgroups, valid until
 * the next call. A value that does not fit is left out. */
static char **outside_env(void)
{
#define ROW(name, value, who, why) {name, value},
    static const struct {
        const char *name, *value;
    } rows[] = {JP_OUTSIDE_VARIABLES(ROW)};
#undef ROW
    enum { ROWS = sizeof(rows) / sizeof(*rows) };
    static char text[ROWS][PATH_MAX];
    static char *clean[ROWS + 1];
    int n = 0;

    for (int i = 0; i < ROWS; i++) {
        const char *value = rows[i].value ?: getenv(rows[i].name);
        int len = value ? snprintf(text[n], sizeof(text[n]), "%s=%s",
                                   rows[i].name, value)
                        : -1;

        if (len > 0 && len < (int) sizeof(text[n])) {
            clean[n] = text[n];
            n++;
        }
    }
    clean[n] = NULL;
    return clean;
}

/* From here to run_program() code runs after fork: only async-signal-safe
 * calls. */
static bool write_text(const char *file, const char *text)
{
    size_t n = strlen(text);

    return write(open(file, O_WRONLY), text, n) == (ssize_t) n;
}

static bool enter_folder(const char *dir)
{
    return chdir(dir) == 0;
}

/* Moves this process out of the job's cgroup, "4:freezer:/slurm/uid_1/job_2"
 * and so on, to /slurm or to the next parent that takes it. In cgroup v2 a
 * folder with children takes no process, but Slurm's "system" does. Since
 * Slurm 26.05 the folder there has the job's SLUID in place of job_2. */
static void leave_cgroup(char *path)
{
    char *id = strsep(&path, ":"), *name = id ? strsep(&path, ":") : NULL;
    char *job = path ? strstr(path, "/uid_") ?: strstr(path, "/job_") : NULL;

    if (path && !job && (job = strstr(path, "/step_"))) {
        *job = '\0';
        job = strrchr(path, '/');
    }
    if (!job || !enter_folder("/sys/fs/cgroup"))
        return;
    *job = '\0';
    enter_folder(strncmp(name, "name=", 5) == 0 ? name + 5
                 : *name                        ? name
                                                : "unified");
    enter_folder(*path ? path + 1 : ".");
    enter_folder("system");
    for (int i = 0;
         i < 16 && !write_text("cgroup.procs", "0") && enter_folder(".."); i++)
        ;
}

/* Keeps the user out of a process that has left the job's cgroups: no debugger
 * and no /proc/PID/mem, not even between exec and the program's first lines.
 * The kernel lets only those in who have all capabilities of the target. So the
 * process keeps one capability, which is harmless, and its programs inherit
 * it. */
static void shut_out_user(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct caps[2] = {{0}};

    caps[1].permitted = CAP_TO_MASK(CAP_BLOCK_SUSPEND);
    caps[1].inheritable = caps[1].permitted;
    if (syscall(SYS_capset, &head, caps) == 0 &&
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_BLOCK_SUSPEND, 0, 0) ==
            0)
        return;
    /* a container may lack that capability */
    memset(caps, 0, sizeof(caps));
    syscall(SYS_capset, &head, caps);
}

/* Becomes the user. In user_init only the effective uid is the user's. */
static bool become_user(const struct jobinfo *j, bool leave)
{
    char text[PATH_MAX] = "", *rest = text;
    uid_t r, e, s;

    if (getuid() == 0 && seteuid(0) == 0) {
        /* slurmstepd has -1000, which must not be inherited. If memory runs
         * out, a helper outside of the job's limit has to die before other jobs
         */
        write_text("/proc/self/oom_score_adj", leave ? "1000" : "0");
        if (leave && read(open("/proc/self/cgroup", O_RDONLY), text,
                          sizeof(text) - 1) > 0)
            while (rest)
                leave_cgroup(strsep(&rest, "\n"));
        prctl(PR_SET_KEEPCAPS, leave && j->uid != 0, 0, 0, 0);
        if (setgroups((size_t) j->ngids, j->gids) < 0 ||
            setresgid(j->gid, j->gid, j->gid) < 0 ||
            setresuid(j->uid, j->uid, j->uid) < 0)
            return false;
        if (leave && j->uid != 0)
            shut_out_user();
    }
    return getresuid(&r, &e, &s) == 0 && r == j->uid && e == r && s == r &&
           (r == 0 || (setuid(0) < 0 && seteuid(0) < 0));
}

static void connect_streams(const struct helper *h)
{
    int null = open("/dev/null", O_RDWR), fd[3];

    /* to 10 and up first, because 0..2 may be closed */
    for (int i = 0; i < 3; i++)
        if ((fd[i] = fcntl(h->fd[i], F_DUPFD, 10)) < 0)
            fd[i] = fcntl(null, F_DUPFD, 10);
    /* none of 0..2 stays the user's */
    for (int i = 0; i < 3; i++)
        if (dup2(fd[i], i) < 0)
            _exit(126);
    if (syscall(436 /* close_range */, 3U, ~0U, 0U) < 0)
        for (int i = 3, n = (int) sysconf(_SC_OPEN_MAX); i < n; i++)
            close(i);
}

static void __attribute__((noreturn)) run_program(const struct helper *h)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    pid_t pid, self = getpid();

    for (int s = 1; s < NSIG; s++)
        sigaction(s, &dfl, NULL);
    sigprocmask(SIG_SETMASK, &dfl.sa_mask, NULL);
    setsid();
    umask(077);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    syscall(SYS_getcwd, stand + 4, PATH_MAX);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if ((h->user && !become_user(h->user, h->leave)) || !enter_folder("/"))
        _exit(126);
    connect_streams(h);
    if (h->orphan && (pid = fork()) != 0) {
        *told = pid;
        _exit(pid < 0 ? 126 : 0);
    }
    /* While its parent lives it is a descendant of slurmstepd, which the end of
     * the job signals (proctrack/linuxproc). */
    while (h->orphan && getppid() == self)
        usleep(100);
    execve(h->argv[0], (char **) h->argv, h->env);
    _exit(127);
}

/* Returns a copy of the answer, because the helper may still write; NULL: it is
 * not complete. */
static char *read_answer(int fd)
{
    static char text[TEXT_MAX + 1];
    ssize_t n = pread(fd, text, TEXT_MAX, 0);

    text[n > 0 ? n : 0] = '\0';
    return strncmp(text, ".\n", 2) == 0 || strstr(text, "\n.\n") ? text : NULL;
}

/* Opens the orphan's /proc folder, which no later process of its pid shares. */
static void open_proc_folder(struct helper *h)
{
    char path[32];

    h->self = h->orphan ? *told : 0;
    if (h->self <= 0 || h->seen >= 0)
        return;
    snprintf(path, sizeof(path), "/proc/%d", h->self);
    h->seen = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Whether the orphan is alive. A zombie is not: it has no exe. A later process
 * of the same number is another one, even in a group of the same number. Before
 * exec, hidepid may hide the orphan; that counts as alive. */
static bool is_alive(const struct helper *h)
{
    char c;

    return h->self > 0 && getpgid(h->self) == h->pid &&
           (h->seen < 0 || readlinkat(h->seen, "exe", &c, 1) > 0 ||
            (errno != ENOENT && errno != ESRCH));
}

/* Whether the group's leader has ended. *status: its exit status; -1: a signal.
 * A leader that leaves the job's cgroups is not reaped here, so that its
 * number, which is the group's, is not used again before kill_group. ECHILD is
 * an end, too: SIGCHLD is ignored, or the host has waited first. */
static bool has_ended(const struct helper *h, int *status)
{
    siginfo_t info = {0};
    int keep = h->leave ? WNOWAIT : 0;

    if (waitid(P_PID, (id_t) h->pid, &info, WEXITED | WNOHANG | keep) < 0)
        return true;
    if (info.si_pid != 0)
        *status = info.si_code == CLD_EXITED ? info.si_status : -1;
    return info.si_pid != 0;
}

static int wait_for_end(struct helper *h, int ms, char **answer)
{
    clock_t end = times(NULL) + ms / TICK_MS; /* monotonic, in USER_HZ */
    int status = 0;

    for (;; usleep(1000)) {
        bool late = times(NULL) > end, over = has_ended(h, &status);

        open_proc_folder(h);
        over = over && !is_alive(h);
        if (answer && (*answer = read_answer(h->fd[1])) && h->self)
            return 0;
        if (over && status >= 0 && (!answer || *answer || status))
            return status;
        if (over || late)
            return over ? FAILED : LATE;
    }
}

/* Whether only root and this user can change the program and the folders above
 * it; otherwise a stranger's program could run. Root is the owner of "/", also
 * in a namespace. *program becomes its path without links. */
static bool is_safe_program(const char **program)
{
    static char path[PATH_MAX];
    char *end = realpath(*program, path), cut = '/';
    struct stat root, st;

    for (; end && cut; *end = cut) {
        end += 1 + strcspn(end + 1, "/");
        cut = *end;
        *end = '\0';
        if (stat("/", &root) < 0 || stat(path, &st) < 0 ||
            (st.st_uid != root.st_uid && st.st_uid != getuid()) ||
            (st.st_mode & 022 && !(cut && st.st_mode & S_ISVTX)))
            return false;
    }
    *program = end ? path : *program;
    return end != NULL;
}

/* Kills what a helper outside of the job's cgroups has left in its group. The
 * end of the job does not, and the user may have stopped such a process and
 * killed the helper. What may go on has a group of its own. The leader is a
 * zombie of this process, so nobody else has its number. It is reaped last. */
static void kill_group(const struct helper *h)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t) h->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid != h->pid)
        return;
    kill(-h->pid, SIGKILL);
    waitpid(h->pid, NULL, WNOHANG);
}

static void close_proc_folder(struct helper *h)
{
    if (h->seen >= 0)
        close(h->seen);
    h->seen = -1;
}

int helper_run(struct helper *h, int ms, char **answer)
{
    bool safe = is_safe_program(h->argv);
    int rc = FAILED;

    if (answer)
        h->fd[1] = memfd_create("answer", MFD_CLOEXEC);
    h->env = h->leave ? outside_env() : allowed_env(h->env);
    if (h->orphan)
        told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (safe && told != MAP_FAILED && (!answer || h->fd[1] >= 0) &&
        (h->pid = fork()) == 0)
        run_program(h);
    if (h->pid > 0)
        rc = wait_for_end(h, ms, answer);
    if (rc == LATE && (h->self <= 0 || is_alive(h))) {
        kill(-h->pid, SIGKILL);
        kill(h->pid, SIGKILL); /* it may not have called setsid yet */
        wait_for_end(h, KILL_MS, NULL);
    }
    if (h->pid > 0 && h->leave)
        kill_group(h);
    if (!safe)
        snprintf(h->said, sizeof(h->said),
                 "missing, or users other than root can write to it: %s",
                 h->argv[0]);
    else if (h->fd[2] > 2 &&
             pread(h->fd[2], h->said, sizeof(h->said) - 1, 0) > 0)
        h->said[strcspn(h->said, "\n\r\033")] = '\0';
    for (int i = 0; i < 3; i++)
        if (h->fd[i] > 2)
            close(h->fd[i]);
    if (!answer)
        close_proc_folder(h);
    return rc;
}

/* This process may be root, and a later process may have the orphan's numbers.
 * So a signal is sent only while the orphan's /proc folder shows it. */
void helper_end(struct helper *h)
{
    for (int ms = 0; h && h->seen >= 0 && ms <= KILL_MS && is_alive(h);
         ms += 2, usleep(2000))
        if (ms == 0 || ms == KILL_MS)
            kill(-h->pid, ms == 0 ? SIGTERM : SIGKILL);
    if (h)
        close_proc_folder(h);
}
