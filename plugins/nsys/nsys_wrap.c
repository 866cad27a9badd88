/* nsys_wrap.c - jobprof-wrap: runs a task's program under nsys, or as it is.
 *
 *     jobprof-wrap PROGRAM [ARGUMENT...]          the task
 *       nsys profile ... jobprof-wrap --inside    what nsys starts
 *         PROGRAM [ARGUMENT...]
 *
 * The task must end exactly as its program does. The inner process therefore
 * records how the program has ended, and the outer one ends in the same way, by
 * exit code or by signal, whatever nsys returns. It waits for nsys a limited
 * time. If anything keeps nsys from starting the program, the program runs
 * without it: no job may fail because of a profile. Needs only libc. Read main,
 * run_outside and run_inside. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/ownproc.h"
#include "plugins/nsys/nsys_env.h"

#define INSIDE "--inside"
/* ENV_STATE: the file to which the inner process writes. ENV_OWN_TMP: the
 * user's TMPDIR, where it was replaced by a folder of ours. */
#define ENV_STATE "JOBPROF_NSYS_STATE"
#define ENV_OWN_TMP "JOBPROF_NSYS_OWN_TMP"
#define STARTED "started"
#define ENDED "ended"
/* POLL_MS: between two looks at state and nsys. LAST_S: from SIGTERM to
 * SIGKILL. */
enum { WORDS_MAX = 64, POLL_MS = 200, LAST_S = 2, REQUIRED_EXIT = 125 };

/* What the inner process has recorded. */
struct state {
    bool started, ended;
    pid_t inner;
    struct ownproc proc; /* the inner process, since it was first seen */
    int status;          /* the program's, as waitpid gives it */
};

struct run {
    char name[512];       /* of the rank's files, without a suffix */
    char state[PATH_MAX]; /* path of the file with struct state */
    /* folder made for nsys; "": the user's TMPDIR is used */
    char tmp[PATH_MAX];
};

/* A variable, "" if it is not set. */
static const char *env_of(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

/* A variable's number; missing: what to return if there is none. */
static long number_of(const char *name, long missing)
{
    const char *text = env_of(name);
    char *end;
    long v = strtol(text, &end, 10);

    return *text && !*end ? v : missing;
}

/* --- which ranks ---------------------------------------------------------- */

/* Whether the list has the rank: "0;8;16-23", as resolve has checked it.
 * *first: its first number. */
static bool is_listed(const char *list, long rank, long *first)
{
    bool found = false;

    *first = -1;
    while (*list) {
        char *end;
        long low = strtol(list, &end, 10), high = low;

        if (end == list)
            return found;
        if (*end == '-')
            high = strtol(end + 1, &end, 10);
        found = found || (rank >= low && rank <= high);
        *first = *first < 0 ? low : *first;
        list = *end == ';' ? end + 1 : "";
    }
    return found;
}

/* Whether this rank runs under nsys. *speaks: it prints messages that concern
 * all ranks, so that they appear once. */
static bool is_chosen(bool *speaks)
{
    const char *ranks = env_of(NSYS_ENV_RANKS);
    long rank = number_of("SLURM_PROCID", -1), first;

    *speaks = rank <= 0;
    if (!strcmp(ranks, "all"))
        return true;
    if (!strcmp(ranks, "node0"))
        return number_of("SLURM_NODEID", -1) == 0;
    if (!strcmp(ranks, "first-per-node"))
        return number_of("SLURM_LOCALID", -1) == 0;
    if (!is_listed(ranks, rank, &first))
        return false;
    *speaks = rank == first;
    return true;
}

/* --- the program, without nsys -------------------------------------------- */

/* Executes the program. On failure the exit status is ENOENT or EACCES, as in
 * slurmstepd, and 127 for any other reason. */
static void __attribute__((noreturn)) become(char **argv)
{
    execvp(argv[0], argv);
    fprintf(stderr, "jobprof: execve(): %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT || errno == EACCES ? errno : 127);
}

/* Writes a line to a file beside the ranks' files, for the report. A file that
 * is there already is only replaced if it is a regular one of this user's. */
static void leave_line(const char *name, const char *ending, const char *text)
{
    char path[PATH_MAX];
    struct stat st;
    int fd = -1;

    if (snprintf(path, sizeof(path), "%s/%s%s", env_of(NSYS_ENV_DIR), name,
                 ending) < (int) sizeof(path))
        fd = open(path,
                  O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                  0600);
    if (fd >= 0) {
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            st.st_uid == geteuid() && ftruncate(fd, 0) == 0)
            dprintf(fd, "%s\n", text);
        close(fd);
    }
}

/* Why the rank has no profile. */
static void leave_note(const struct run *run, const char *why)
{
    if (*run->name)
        leave_line(run->name, ".why", why);
}

static void __attribute__((noreturn))
give_up(const struct run *run, const char *why, bool speaks, char **argv)
{
    bool required = !strcmp(env_of(NSYS_ENV_REQUIRED), "1");

    leave_note(run, why);
    if (required || speaks)
        fprintf(stderr, "jobprof: rank %s: %s (%s)\n", env_of("SLURM_PROCID"),
                why,
                required ? "required=1: the rank does not start"
                         : "the program runs without nsys");
    if (required)
        _exit(REQUIRED_EXIT);
    become(argv);
}

/* --- inside: what nsys starts --------------------------------------------- */

/* Signals that are meant for the program. Slurm sends them to all processes of
 * a step, so nsys and this program must survive them. */
static const int theirs[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGALRM,
                             SIGURG,  SIGTERM, SIGINT, SIGQUIT};
/* nsys gets only the first five ignored */
enum { FOR_NSYS = 5, ALL_THEIRS = 8 };

/* Ignores the first n. Returns which of them were ignored before, a bit
 * each. */
static unsigned ignore(int n)
{
    unsigned were = 0;

    for (int i = 0; i < n; i++) {
        struct sigaction old;

        sigaction(theirs[i], NULL, &old);
        were |= (unsigned) (old.sa_handler == SIG_IGN) << i;
        signal(theirs[i], SIG_IGN);
    }
    return were;
}

/* Restores signals and environment: the program starts as if nothing had come
 * in between. */
static void give_back(unsigned were)
{
    const char *user = getenv(ENV_OWN_TMP);

    for (int i = 0; i < ALL_THEIRS; i++)
        signal(theirs[i], were >> i & 1 ? SIG_IGN : SIG_DFL);
    if (user && *user)
        setenv("TMPDIR", user, 1);
    else if (user)
        unsetenv("TMPDIR");
    unsetenv(ENV_OWN_TMP);
    unsetenv(ENV_STATE);
}

/* Appends a line to the state file: one write, so the reader sees it whole or
 * not at all. */
static void record(const char *what, long value)
{
    int fd =
        open(env_of(ENV_STATE), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return;
    dprintf(fd, "%s %ld\n", what, value);
    close(fd);
}

/* Ends as the program did, by its exit code or its signal. */
static void __attribute__((noreturn)) end_like(int status)
{
    int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if (!sig)
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 127);
    /* the program has written its core file already */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(sig, SIG_DFL);
    kill(getpid(), sig);
    _exit(128 + sig);
}

/* The process that nsys starts. were: signals that the task had ignored, passed
 * on by the outer process. */
static void __attribute__((noreturn)) run_inside(unsigned were, char **argv)
{
    int status = 0;
    pid_t pid;

    ignore(ALL_THEIRS);
    /* an ignored SIGCHLD would make waitpid() fail */
    signal(SIGCHLD, SIG_DFL);
    pid = fork();
    if (pid == 0) {
        give_back(were);
        become(argv);
    }
    /* no process: become the program; its end stays unrecorded */
    if (pid < 0) {
        record(STARTED, (long) getpid());
        give_back(were);
        become(argv);
    }
    record(STARTED, (long) getpid());
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    record(ENDED, status);
    end_like(status);
}

/* --- outside: the task ---------------------------------------------------- */

/* Reads "started 123\n" and "ended 1792\n". A line without its newline is not
 * complete yet. */
static void read_state(const struct run *run, struct state *out)
{
    FILE *f = fopen(run->state, "re");
    char line[64], *end;

    while (f && fgets(line, sizeof(line), f) && strchr(line, '\n')) {
        char *number = strchr(line, ' ');
        long v = number ? strtol(number, &end, 10) : 0;

        if (!number || *end != '\n')
            continue;
        if (!strncmp(line, STARTED " ", sizeof(STARTED))) {
            out->started = true;
            out->inner = (pid_t) v;
        }
        if (!strncmp(line, ENDED " ", sizeof(ENDED))) {
            out->ended = true;
            out->status = (int) v;
        }
    }
    if (f)
        fclose(f);
}

/* Opens the inner process as soon as its number is known, and while nsys, its
 * parent, still lives: later the number may be another process's. */
static void hold_inner(struct state *state)
{
    const struct ownproc_name name = {
        .root = "", .pid = state->inner, .uid = geteuid()};

    if (state->started && state->proc.dir < 0)
        ownproc_open(&name, &state->proc, NULL);
}

/* Whether the process has ended and was waited for. A zombie is not: its status
 * is still to come. */
static bool is_gone(const struct ownproc *proc)
{
    char text[16];

    return ownproc_read(proc->dir, "stat", text, sizeof(text)) < 0;
}

/* For nftw(), which continues after errors. */
static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *at)
{
    /* what cannot be removed must not keep the rest */
    (void) remove(path);
    return 0;
}

/* Removes the state file and the folder made for nsys. */
static void clean(const struct run *run)
{
    if (*run->state)
        unlink(run->state);
    if (*run->tmp)
        nftw(run->tmp, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* nsys keeps its data in TMPDIR. Makes a folder for it if the user has named
 * none that can be used. */
static bool make_tmp(struct run *run)
{
    const char *user = getenv("TMPDIR");
    struct stat st;

    if (user && *user && stat(user, &st) == 0 && S_ISDIR(st.st_mode) &&
        access(user, W_OK) == 0)
        return true;
    snprintf(run->tmp, sizeof(run->tmp), "/tmp/nsys.%s.%s.XXXXXX",
             env_of("SLURM_JOB_ID"), env_of("SLURM_PROCID"));
    if (!mkdtemp(run->tmp)) {
        run->tmp[0] = '\0';
        return false;
    }
    return true;
}

/* The name of the rank's file: "42.0.rank00003.node1". */
static bool make_name(struct run *run)
{
    char host[256] = "";
    const char *node = getenv("SLURMD_NODENAME");
    int n;

    if (!node && gethostname(host, sizeof(host) - 1) == 0)
        node = host;
    n = snprintf(run->name, sizeof(run->name), "%s.%s.rank%05ld.%s",
                 env_of("SLURM_JOB_ID"), env_of("SLURM_STEP_ID"),
                 number_of("SLURM_PROCID", 0), node ? node : "node");
    return n > 0 && n < (int) sizeof(run->name) && !strchr(run->name, '/');
}

/* Creates the empty state file. In /tmp its name must not be predictable. */
static bool make_state(struct run *run)
{
    const char *place = *run->tmp ? run->tmp : getenv("TMPDIR");
    int n = snprintf(run->state, sizeof(run->state), "%s/jobprof-wrap.XXXXXX",
                     place ? place : "/tmp");
    int fd = n < (int) sizeof(run->state) ? mkostemp(run->state, O_CLOEXEC)
                                          : -1;

    if (fd < 0)
        run->state[0] = '\0';
    else
        close(fd);
    return fd >= 0;
}

static bool is_program(const char *path)
{
    struct stat st;

    return access(path, X_OK) == 0 && stat(path, &st) == 0 &&
           S_ISREG(st.st_mode);
}

/* Finds nsys and makes names and folders. Returns NULL, or why the rank cannot
 * run under nsys. */
static const char *prepare(struct run *run, char *path, size_t len)
{
    const char *folders = getenv("PATH"), *dir = env_of(NSYS_ENV_DIR);
    bool found = false;

    if (!make_name(run))
        return "no name for the file of nsys";
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return "no folder for the file of nsys";
    /* an empty entry of PATH is skipped */
    while (folders && *folders && !found) {
        size_t n = strcspn(folders, ":");

        found = snprintf(path, len, "%.*s/nsys", (int) n, folders) <
                    (int) len &&
                n && is_program(path);
        folders += n + (folders[n] == ':');
    }
    if (!found)
        return "no nsys in PATH";
    if (!make_tmp(run))
        return "no folder for nsys in TMPDIR or /tmp";
    return make_state(run) ? NULL : "no file in TMPDIR";
}

/* Executes nsys with this program inside, and the task's program as its
 * arguments. */
static void __attribute__((noreturn))
start_nsys(const struct run *run, const char *nsys, unsigned were, char **argv)
{
    static char flags[4096], output[PATH_MAX], self[PATH_MAX], mask[16];
    char *words[WORDS_MAX], *rest = flags, *word, **all;
    size_t n = 0, n_argv = 0;
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    self[len > 0 ? len : 0] = '\0';
    while (argv[n_argv])
        n_argv++;
    snprintf(flags, sizeof(flags), "%s", env_of(NSYS_ENV_FLAGS));
    snprintf(output, sizeof(output), "--output=%s/%s", env_of(NSYS_ENV_DIR),
             run->name);
    snprintf(mask, sizeof(mask), "%u", were);
    /* nsys profile FLAGS --output=FILE SELF --inside MASK PROGRAM
     * ARGUMENT... */
    words[n++] = (char *) nsys;
    words[n++] = (char *) "profile";
    while ((word = strsep(&rest, " ")) && n < WORDS_MAX - 4)
        if (*word)
            words[n++] = word;
    words[n++] = output;
    words[n++] = self;
    words[n++] = (char *) INSIDE;
    words[n++] = mask;
    all = calloc(n + n_argv + 1, sizeof(*all));
    setenv(ENV_STATE, run->state, 1);
    if (*run->tmp) {
        setenv(ENV_OWN_TMP, env_of("TMPDIR"), 1);
        setenv("TMPDIR", run->tmp, 1);
    }
    if (all) {
        memcpy(all, words, n * sizeof(*all));
        memcpy(all + n, argv, n_argv * sizeof(*all));
        execv(nsys, all);
    }
    _exit(127);
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Collects ended processes. *nsys becomes 0 when nsys has ended; *status is its
 * status. The inner process becomes a child of this one (a subreaper) if nsys
 * ends first. */
static void reap(pid_t *nsys, int *status, struct state *state)
{
    int one;
    pid_t pid;

    while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
        if (pid == *nsys) {
            *nsys = 0;
            *status = one;
        } else if (pid == state->inner && !state->ended) {
            state->ended = true; /* it was killed before it recorded its end */
            state->status = one;
        }
    }
}

/* Ends an nsys that has not finished in time after the program: first SIGTERM,
 * later SIGKILL. */
static void press(pid_t nsys, int64_t late_ms)
{
    kill(nsys, late_ms > LAST_S * 1000 ? SIGKILL : SIGTERM);
}

/* Waits until the program and nsys have ended. Returns false if the program
 * never started. *status is the program's, otherwise that of nsys; *cut: nsys
 * was ended. */
static bool wait_all(const struct run *run, pid_t nsys, int *status, bool *cut)
{
    int64_t wait_ms = number_of(NSYS_ENV_WAIT, 120) * 1000, since = 0;
    const struct timespec poll = {0, POLL_MS * 1000000L};
    struct state state = {.proc = OWNPROC_CLOSED};
    sigset_t child;
    int own = 0;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    /* SIGCHLD is blocked, so that none is lost between the checks and the
     * wait */
    for (;; sigtimedwait(&child, NULL, &poll)) {
        if (!state.ended)
            read_state(run, &state);
        hold_inner(&state);
        reap(&nsys, &own, &state);
        /* the record may have been written just before nsys ended */
        if (!state.ended && !nsys)
            read_state(run, &state);
        if (!nsys && (state.ended || !state.started))
            break;
        /* the inner process was killed and could not record the end */
        if (!nsys && is_gone(&state.proc)) {
            state.status = own;
            break;
        }
        if (state.ended && !since)
            since = now_ms();
        /* nsys gets its time after the program's end */
        if (since && nsys && now_ms() - since > wait_ms) {
            press(nsys, now_ms() - since - wait_ms);
            *cut = true;
        }
    }
    ownproc_close(&state.proc);
    *status = state.started ? state.status : own;
    return state.started;
}

static void __attribute__((noreturn))
run_outside(struct run *run, const char *nsys, bool speaks, char **argv)
{
    int status = 0;
    bool cut = false, began;
    sigset_t child, old;
    unsigned were;
    char why[64];
    pid_t pid;

    /* the report exports with the same nsys */
    if (*nsys == '/')
        leave_line(NSYS_PROGRAM_FILE, "", nsys);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &old);
    signal(SIGCHLD, SIG_DFL);
    /* orphans of nsys become our children: see reap */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    were = ignore(ALL_THEIRS);
    pid = fork();
    if (pid == 0) {
        for (int i = FOR_NSYS; i < ALL_THEIRS; i++)
            signal(theirs[i], were >> i & 1 ? SIG_IGN : SIG_DFL);
        sigprocmask(SIG_SETMASK, &old, NULL);
        start_nsys(run, nsys, were, argv);
    }
    began = pid > 0 && wait_all(run, pid, &status, &cut);
    clean(run);
    if (began && cut)
        leave_note(run, "nsys took too long after the program's end");
    if (began)
        end_like(status);
    snprintf(why, sizeof(why), "nsys ended before the program began (%s %d)",
             WIFSIGNALED(status) ? "signal" : "exit status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    /* the program has not started: restore everything and start it */
    give_back(were);
    sigprocmask(SIG_SETMASK, &old, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    give_up(run, why, speaks, argv);
}

int main(int argc, char **argv)
{
    static struct run run;
    static char nsys[PATH_MAX];
    const char *why;
    bool speaks;

    if (argc > 3 && !strcmp(argv[1], INSIDE))
        run_inside((unsigned) strtoul(argv[2], NULL, 10), argv + 3);
    if (argc < 2) {
        fputs("Usage: jobprof-wrap PROGRAM [ARGUMENT...]\n"
              "Runs PROGRAM under nsys, as --nsys-profile requests. Slurm "
              "starts it.\n",
              stderr);
        return 2;
    }
    if (!is_chosen(&speaks))
        become(argv + 1);
    why = prepare(&run, nsys, sizeof(nsys));
    if (why)
        give_up(&run, why, speaks, argv + 1);
    run_outside(&run, nsys, speaks, argv + 1);
}
