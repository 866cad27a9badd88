/* hangtable.c - run many jobs side by side, each with a hang or something that
 * looks like one, and print a table of what the agents reported.
 *
 *     hangtable [--runs N] [--healthy N] [--at-once N] [--kind NAME] ...
 *
 * A case is a process of its own with four ranks on two nodes (hangtask.h). The
 * node agents' live module follows their recordings in real time, with
 * policy.hang_suspect = 3 s, a tenth of a site's value. Exit status 1: fewer
 * than 98 % of a kind were named correctly, or a wait that is no hang was
 * reported. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "contrib/ncclsim/sim_random.h"
#include "orchestrator/live/live.h"
#include "tests/common/tempdir.h"
#include "tests/live/hangtask.h"

#define SUSPECT_MS 3000
#define LONG_MS 12000
#define LIMIT_MS 120000 /* limit of a case, on a busy machine */
#define AFTER_MS 2500   /* watched after the end */
#define RIGHT 0.98

enum { NO_RANK = -1, THE_VICTIM = -2 };

static const struct kind {
    const char *name, *what;
    const char *class; /* NULL: nothing may be reported */
    int rank;
    bool is_rank_0;   /* the victim */
    unsigned at_once; /* 0: any number */
} kinds[HANG_N_KINDS] = {
    [HANG_STOPS] = {"stops", "a rank stops", "never_entered", THE_VICTIM},
    [HANG_SKIPS] = {"skips", "a rank skips an operation", "other_operation",
                    THE_VICTIM},
    [HANG_SIZES] = {"sizes", "sizes differ", "other_size", THE_VICTIM},
    [HANG_INSIDE] = {"inside", "all inside, nothing moves", "all_inside",
                     NO_RANK},
    [HANG_STOPPED] = {"stopped", "SIGSTOP to a rank", "process_stopped",
                      THE_VICTIM},
    [HANG_KILLED] = {"killed", "SIGKILL to a rank", "process_gone", THE_VICTIM},
    [HANG_DISK] = {"disk", "a rank in state D", "file_system", THE_VICTIM},
    [HANG_CYCLE] = {"cycle", "Recv before Send in a circle", "p2p_cycle",
                    NO_RANK},
    [HANG_SLOW] = {"slow", "slow but alive", NULL, NO_RANK},
    [HANG_SAVES] = {"saves", "checkpoint of 90 s by rank 0", NULL, NO_RANK,
                    true},
    [HANG_TESTS] = {"tests", "evaluation of 90 s by rank 0", NULL, NO_RANK,
                    true, 2},
    [HANG_PAUSED] = {"paused", "the job is suspended", NULL, NO_RANK},
    [HANG_FIRST] = {"first", "first operation of 2 min", NULL, NO_RANK},
    [HANG_HELD] = {"held", "a debugger holds a rank", NULL, NO_RANK},
    [HANG_HEALTHY] = {"healthy", "healthy", NULL, NO_RANK},
};

/* A case and its result, in shared memory. */
struct outcome {
    enum hang_kind kind;
    uint64_t seed;
    pid_t pid; /* 0: not started */
    bool done, failed;
    bool starved;    /* it proves nothing */
    bool told, hang; /* there was a line of any kind; a confirmed one */
    bool in_state_d; /* HANG_DISK: seen in /proc */
    char class[32];
    int victim;
    int64_t rank;
    double seconds; /* from the fault to the confirmed line */
    char text[512];
};

struct scene {
    struct hang_job *job;
    struct outcome *out;
    struct jp_onhang on_hang;
    void *nodes[HANG_NODES];
    bool alive[HANG_RANKS];
    bool hit, over; /* the action from outside has begun; has ended */
    int64_t hit_ns;
    int fuse;
};

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

/* --- a file system that never answers ------------------------------------- */

/* Mounts a file system whose daemon introduces itself and then never answers.
 * Only this process and its ranks see it. Returns -1 if the kernel or the
 * permissions do not allow it. */
static int mount_blocked(const char *folder)
{
    char options[96], request[FUSE_MIN_READ_BUFFER];
    struct {
        struct fuse_out_header head;
        struct fuse_init_out init;
    } answer = {.init = {.major = FUSE_KERNEL_VERSION,
                         .minor = FUSE_KERNEL_MINOR_VERSION,
                         .max_write = 4096}};
    struct fuse_in_header head;
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

    snprintf(options, sizeof(options),
             "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd, getuid(),
             getgid());
    if (fd >= 0 && unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("blocked", folder, "fuse", MS_NOSUID | MS_NODEV, options) == 0 &&
        read(fd, request, sizeof(request)) >= (ssize_t) sizeof(head)) {
        memcpy(&head, request, sizeof(head));
        answer.head.len = sizeof(answer);
        answer.head.unique = head.unique;
        if (write(fd, &answer, sizeof(answer)) == (ssize_t) sizeof(answer))
            return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* --- actions on ranks from outside --------------------------------------- */

static void to_all(const struct scene *s, int signal)
{
    for (int i = 0; i < HANG_RANKS; i++)
        if (s->alive[i])
            kill(s->job->pids[i], signal);
}

static char state_of(pid_t pid)
{
    char path[64], text[256] = "", *end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    f = fopen(path, "re");
    if (f && fgets(text, sizeof(text), f) == NULL)
        *text = '\0';
    if (f)
        fclose(f);
    end = strrchr(text, ')');
    return end ? end[2] : '?';
}

static void hit(struct scene *s)
{
    pid_t victim = s->job->pids[s->job->victim];

    switch (s->job->kind) {
    case HANG_STOPPED:
        kill(victim, SIGSTOP);
        break;
    case HANG_KILLED:
        kill(victim, SIGKILL);
        break;
    case HANG_PAUSED:
        to_all(s, SIGSTOP);
        break;
    case HANG_HELD:
        /* not allowed everywhere; the case then proves nothing */
        s->out->starved = ptrace(PTRACE_ATTACH, victim, NULL, NULL) < 0;
        break;
    default:;
    }
}

static void leave(struct scene *s)
{
    if (s->job->kind == HANG_PAUSED)
        to_all(s, SIGCONT);
    if (s->job->kind == HANG_HELD) {
        pid_t victim = s->job->pids[s->job->victim];

        waitpid(victim, NULL, __WALL | WNOHANG);
        ptrace(PTRACE_DETACH, victim, NULL, NULL);
        kill(victim, SIGCONT);
    }
}

static void act(struct scene *s)
{
    const struct hang_job *job = s->job;

    if (!s->hit && atomic_load(&job->reached) >= job->at) {
        s->hit = true;
        s->hit_ns = now_ns();
        hit(s);
    } else if (s->hit && !s->over &&
               now_ns() - s->hit_ns > LONG_MS * 1000000LL) {
        s->over = true;
        leave(s);
    }
    if (s->hit && job->kind == HANG_DISK) {
        char state = state_of(job->pids[job->victim]);

        /* its wait becomes uninterruptible */
        if (state == 'S')
            kill(job->pids[job->victim], SIGUSR1);
        s->out->in_state_d |= state == 'D';
    }
}

/* --- a case --------------------------------------------------------------- */

static void *start_node(struct scene *s, unsigned i)
{
    static const char *const names[] = {"n0", "n1"};
    const struct module_place place = {.dir = s->job->dir,
                                       .node = names[i],
                                       .root = "",
                                       .job = 7,
                                       .step = "0",
                                       .nodeid = i,
                                       .step_nodes = HANG_NODES,
                                       .component = 7,
                                       .leads = i == 0,
                                       .records_live = true,
                                       .hang_suspect_ms = SUSPECT_MS,
                                       .on_hang = &s->on_hang,
                                       .conf_hash = "0123456789abcdef00"};

    return live_module.start(&place, NULL);
}

static int begin(struct scene *s, const char *root)
{
    struct hang_job *job = s->job;
    bool ends = !kinds[job->kind].class;
    char path[192];

    job->victim = kinds[job->kind].is_rank_0
                      ? 0
                      : (int) sim_random_below(job->seed + 1, HANG_RANKS);
    s->out->victim = job->victim;
    job->at = 15 + (int) sim_random_below(job->seed + 2, 30);
    job->ends_at = ends ? job->at + (job->kind == HANG_SLOW ? 20 : 110)
                        : INT_MAX;
    snprintf(job->dir, sizeof(job->dir), "%.100s/job/step-0", root);
    for (int i = 0; i < HANG_NODES; i++) {
        snprintf(path, sizeof(path), "%s/raw/n%d", job->dir, i);
        if (fileio_mkdirs(path, NULL) < 0)
            return -1;
    }
    if (job->kind == HANG_DISK) {
        snprintf(path, sizeof(path), "%s/blocked", root);
        if (fileio_mkdirs(path, NULL) < 0)
            return -1;
        s->fuse = mount_blocked(path);
        if (s->fuse >= 0)
            snprintf(job->blocked, sizeof(job->blocked), "%s", path);
    }
    return onhang_parse("report", NULL, &s->on_hang, NULL);
}

static int start(struct scene *s)
{
    s->job->start_ns = now_ns() + 500000000;
    for (int i = 0; i < HANG_RANKS; i++) {
        pid_t pid = fork();

        if (pid == 0)
            hangtask_run(s->job, i);
        if (pid < 0)
            return -1;
        s->job->pids[i] =
            pid; /* set by the parent, because the memory is shared */
        s->alive[i] = true;
    }
    for (unsigned i = 0; i < HANG_NODES; i++) {
        s->nodes[i] = start_node(s, i);
        if (!s->nodes[i])
            return -1;
    }
    return 0;
}

static void tick(struct scene *s)
{
    struct timespec real;
    struct module_time now = {.mono_us = (uint64_t) now_ns() / 1000};

    clock_gettime(CLOCK_REALTIME, &real);
    now.real_us = (uint64_t) real.tv_sec * 1000000 +
                  (uint64_t) real.tv_nsec / 1000;
    for (unsigned i = 0; i < HANG_NODES; i++)
        if (live_module.tick(s->nodes[i], &now, NULL) < 0)
            s->out->failed = true;
}

static bool all_ended(struct scene *s)
{
    bool any = false;

    for (int i = 0; i < HANG_RANKS; i++) {
        int status;

        if (s->alive[i] &&
            waitpid(s->job->pids[i], &status, WNOHANG) == s->job->pids[i] &&
            !WIFSTOPPED(status)) {
            s->alive[i] = false;
            if (!kinds[s->job->kind].class && status)
                s->out->failed = true;
        }
        any |= s->alive[i];
    }
    return !any;
}

/* A member of a line of alerts.jsonl. */
static const char *member(const char *line, const char *name)
{
    char start[48];
    const char *at;

    snprintf(start, sizeof(start), "\"%s\":", name);
    at = strstr(line, start);
    return at ? at + strlen(start) : "";
}

static void take_line(struct scene *s, const char *line)
{
    struct outcome *out = s->out;

    out->told = true;
    snprintf(out->text, sizeof(out->text), "%.500s", member(line, "text"));
    if (out->hang || strncmp(member(line, "event"), "\"hang\"", 6) != 0)
        return;
    out->hang = true;
    out->seconds = (double) (now_ns() - s->hit_ns) / 1e9;
    sscanf(member(line, "class"), "\"%31[a-z_0-9]", out->class);
    out->rank = strtoll(member(line, "rank"), NULL, 10);
    if (!strncmp(member(line, "rank"), "null", 4))
        out->rank = NO_RANK;
}

static void take_alerts(struct scene *s)
{
    char *path = text_format("%s/live/alerts.jsonl", s->job->dir);
    char *text = NULL, *line, *end;

    if (path)
        fileio_read(path, false, 1 << 20, &text, NULL, NULL);
    free(path);
    for (line = text; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        take_line(s, line);
    }
    free(text);
}

static void watch(struct scene *s)
{
    int64_t began = now_ns(), next = began, ended = 0;

    while (now_ns() - began < LIMIT_MS * 1000000LL) {
        act(s);
        if (now_ns() >= next) {
            tick(s);
            take_alerts(s);
            next += 1000000000;
        }
        if (all_ended(s) && !ended)
            ended = now_ns();
        if (s->out->hang || (ended && now_ns() - ended > AFTER_MS * 1000000LL))
            return;
        sleep_ms(100);
    }
    s->out->failed = !kinds[s->job->kind].class;
}

static void end(struct scene *s)
{
    if (s->fuse >= 0)
        close(s->fuse); /* wakes the processes that wait for it */
    to_all(s, SIGKILL);
    for (unsigned i = 0; i < HANG_NODES; i++)
        if (s->nodes[i]) {
            live_module.finish(s->nodes[i]);
            live_module.destroy(s->nodes[i]);
        }
    take_alerts(s);
    for (int i = 0; i < HANG_RANKS; i++)
        if (s->alive[i])
            waitpid(s->job->pids[i], NULL, 0);
}

static void run_case(struct outcome *out)
{
    struct scene s = {.out = out, .fuse = -1};
    void *root = NULL;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("SLURM_CONF", "/nonexistent", 1); /* lines reach only the file */
    s.job = mmap(NULL, sizeof(*s.job), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.job == MAP_FAILED || tempdir_make(&root) < 0)
        exit(1);
    s.job->kind = out->kind;
    s.job->seed = out->seed;
    if (begin(&s, root) == 0 && start(&s) == 0)
        watch(&s);
    else
        out->failed = true;
    end(&s);
    out->starved |= atomic_load(&s.job->starved);
    if (s.job->blocked[0])
        umount2(s.job->blocked, MNT_DETACH);
    tempdir_drop(&root);
    out->done = true;
    exit(0);
}

/* --- all cases ------------------------------------------------------------ */

static bool is_right(const struct outcome *o, bool with_rank)
{
    const struct kind *kind = &kinds[o->kind];
    int64_t rank = kind->rank == THE_VICTIM ? o->victim : kind->rank;

    if (!o->done || o->failed)
        return false;
    if (!kind->class)
        return !o->told;
    return o->hang && !strcmp(o->class, kind->class) &&
           (!with_rank || kind->rank == NO_RANK || o->rank == rank);
}

static bool may_start(const struct outcome *all, size_t n, enum hang_kind kind)
{
    unsigned runs = 0;

    for (size_t i = 0; i < n; i++)
        runs += all[i].kind == kind && all[i].pid > 0;
    return !kinds[kind].at_once || runs < kinds[kind].at_once;
}

static size_t start_some(struct outcome *all, size_t n, size_t room)
{
    size_t started = 0;

    for (size_t i = 0; i < n && started < room; i++) {
        pid_t pid;

        if (all[i].pid || !may_start(all, n, all[i].kind))
            continue;
        fflush(stdout);
        pid = fork();
        if (pid == 0)
            run_case(&all[i]);
        if (pid < 0)
            return started;
        all[i].pid = pid;
        started++;
    }
    return started;
}

static void run_all(struct outcome *all, size_t n, size_t at_once, bool verbose)
{
    size_t left = n, runs = 0;

    while (left) {
        pid_t pid;

        runs += start_some(all, n, at_once - runs);
        pid = wait(NULL);
        for (size_t i = 0; i < n; i++)
            if (all[i].pid == pid) {
                all[i].pid = -1;
                runs--;
                left--;
                if (!is_right(&all[i], true) || verbose)
                    fprintf(
                        stderr, "%s: %s%s%s rank %lld (%d) %s\n",
                        kinds[all[i].kind].name, all[i].done ? "" : "crashed ",
                        all[i].failed ? "failed " : "", all[i].class,
                        (long long) all[i].rank, all[i].victim, all[i].text);
            }
        if (pid < 0)
            break;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Prints a row. Returns whether the kind has the required result. */
static bool print_kind(const struct outcome *all, size_t n, enum hang_kind kind)
{
    unsigned runs = 0, class = 0, rank = 0, alarms = 0, left_out = 0;
    double *seconds = calloc(n, sizeof(*seconds));
    size_t n_seconds = 0;

    for (size_t i = 0; seconds && i < n; i++) {
        if (all[i].kind != kind)
            continue;
        if (all[i].starved) {
            left_out++;
            continue;
        }
        runs++;
        class += is_right(&all[i], false);
        rank += is_right(&all[i], true);
        alarms += !kinds[kind].class && all[i].told;
        if (all[i].hang)
            seconds[n_seconds++] = all[i].seconds;
    }
    if (n_seconds)
        qsort(seconds, n_seconds, sizeof(*seconds), by_value);
    if (runs + left_out)
        printf("%-28s %5u %12u %11u %13u %9u", kinds[kind].what, runs, class,
               rank, alarms, left_out);
    if (n_seconds)
        printf(" %7.1f %7.1f", seconds[n_seconds / 2], seconds[n_seconds - 1]);
    if (runs + left_out)
        puts("");
    free(seconds);
    return (double) rank >= RIGHT * runs && !alarms;
}

/* --- the command line ----------------------------------------------------- */

struct arguments {
    uint64_t runs, healthy, at_once;
    const char *kind;
    bool quick; /* without the kind that takes half a minute and more */
    bool verbose;
};

static int parse(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {
        {"runs", required_argument, NULL, 'r'},
        {"healthy", required_argument, NULL, 'h'},
        {"at-once", required_argument, NULL, 'a'},
        {"kind", required_argument, NULL, 'k'},
        {"quick", no_argument, NULL, 'q'},
        {"verbose", no_argument, NULL, 'v'},
        {0}};
    int c, rc = 0;

    *a = (struct arguments){.runs = 1, .healthy = 4, .at_once = 24};
    while (rc == 0 && (c = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (c) {
        case 'r':
            rc = num_parse_u64(optarg, 0, 10000, &a->runs, NULL);
            break;
        case 'h':
            rc = num_parse_u64(optarg, 0, 10000, &a->healthy, NULL);
            break;
        case 'a':
            rc = num_parse_u64(optarg, 1, 1000, &a->at_once, NULL);
            break;
        case 'k':
            a->kind = optarg;
            break;
        case 'q':
            a->quick = true;
            break;
        case 'v':
            a->verbose = true;
            break;
        default:
            rc = -1;
        }
    return rc;
}

static size_t fill(const struct arguments *a, struct outcome *all)
{
    size_t n = 0;

    for (int kind = 0; kind < HANG_N_KINDS; kind++) {
        uint64_t runs = kind == HANG_HEALTHY ? a->healthy : a->runs;

        if ((a->kind && strcmp(a->kind, kinds[kind].name) != 0) ||
            (a->quick && kind == HANG_DISK))
            continue;
        for (uint64_t i = 0; i < runs; i++, n++)
            if (all)
                all[n] = (struct outcome){.kind = (enum hang_kind) kind,
                                          .rank = NO_RANK,
                                          .seed = 1000 * (uint64_t) kind + i};
    }
    return n;
}

int main(int argc, char **argv)
{
    struct arguments a;
    struct outcome *all;
    bool ok = true, blocked = false;
    size_t n;

    if (parse(argc, argv, &a) < 0)
        return 2;
    n = fill(&a, NULL);
    all = n ? mmap(NULL, n * sizeof(*all), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)
            : MAP_FAILED;
    if (all == MAP_FAILED)
        return 2;
    fill(&a, all);
    run_all(all, n, a.at_once, a.verbose);
    printf("%-28s %5s %12s %11s %13s %9s %7s %7s\n", "", "runs", "right class",
           "right rank", "false alarms", "left out", "median", "longest");
    for (int kind = 0; kind < HANG_N_KINDS; kind++)
        ok &= print_kind(all, n, (enum hang_kind) kind);
    for (size_t i = 0; i < n; i++)
        blocked |= all[i].kind == HANG_DISK && !all[i].in_state_d;
    if (blocked)
        puts("a rank was not seen in state D");
    return ok && !blocked ? 0 : 1;
}
