/* copper_runner.c - the daemon of one node: cu_fuse's command line, its start,
 * mount, unmount, and what it left.
 *
 * First the command line (copper_flags_make), then the runner of
 * plugins/backend.h: start makes the place and forks; ready hands over the
 * address book and waits until the mount answers, later it watches the daemon
 * and its parents in the tree; stop unmounts.
 *
 * An unmount is the only end after which all files are there: a second SIGTERM,
 * or any SIGKILL, loses them. So the daemon starts with SIGTERM and SIGINT
 * blocked, because Slurm sends these to every process of a step. It gets SIGHUP
 * when the supervisor dies. */
#include "plugins/copper/copper_flags.h"
#include "plugins/copper/copper_launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/pattern.h"
#include "plugins/copper/copper_mount.h"
#include "plugins/copper/copper_work.h"

/* --- cu_fuse's command line --- */

/* Adds "3" or "0-3" to the set. */
static int add_range(char *word, cpu_set_t *set, struct jp_error *err)
{
    char *dash = strchr(word, '-');
    uint64_t from, to;

    if (dash)
        *dash++ = '\0';
    if (num_parse_u64(word, 0, CPU_SETSIZE - 1, &from, err) < 0 ||
        num_parse_u64(dash ? dash : word, from, CPU_SETSIZE - 1, &to, err) < 0)
        return -1;
    for (; from <= to; from++)
        CPU_SET(from, set);
    return 0;
}

int copper_flags_cores(const char *text, cpu_set_t *set, struct jp_error *err)
{
    char *copy = strdup(text), *rest = copy, *word;
    cpu_set_t cpus;
    int rc = copy ? 0 : error_set(err, "out of memory");

    CPU_ZERO(&cpus);
    while (rc == 0 && (word = strsep(&rest, ",")))
        rc = add_range(word, &cpus, err);
    free(copy);
    if (rc == 0)
        *set = cpus;
    return rc;
}

/* Appends a word. Errors show at the end, as a number above the limit: too many
 * words, or no memory. */
static void add_word(struct copper_flags *f, const char *word)
{
    if (f->n >= COPPER_FLAGS_MAX)
        f->n = COPPER_FLAGS_MAX + 1;
    else if (!(f->argv[f->n++] = strdup(word)))
        f->n = COPPER_FLAGS_MAX + 1;
}

static void add_pair(struct copper_flags *f, const char *flag,
                     const char *value)
{
    if (value) {
        add_word(f, flag);
        add_word(f, value);
    }
}

/* Appends the site's own flags, separated by blanks. */
static void add_words(struct copper_flags *f, const char *text)
{
    char *copy = strdup(text ? text : ""), *rest = copy, *word;

    while ((word = strsep(&rest, " ")))
        if (*word)
            add_word(f, word);
    free(copy);
}

static void add_profile(struct copper_flags *f, const struct jp_jobconf *conf)
{
    const char *mode = jobconf_side_find(conf, OPTION_COPPER, "mode");
    const char *interval = jobconf_side_find(conf, OPTION_COPPER, "interval");
    bool top = mode && !strcmp(mode, "top");
    bool full = mode && !strcmp(mode, "full");

    add_word(f, "-profile_metrics");
    if (top || full)
        add_pair(f, "-profile_top_n",
                 jobconf_side_find(conf, OPTION_COPPER, "top"));
    if (full)
        add_word(f, "-profile_paths_full");
    if (interval && strcmp(interval, "0") != 0)
        add_pair(f, "-profile_snapshot_interval_s", interval);
}

/* The network that the daemons use, from the site file or by default.
 * Borrowed. */
static const char *net_of(const struct jp_jobconf *conf)
{
    const char *named = jobconf_side_find(conf, OPTION_COPPER, "net_type");

    if (named)
        return named;
    return jobconf_side_find(conf, OPTION_COPPER, "address_book")
               ? COPPER_NET_SITE
               : COPPER_NET;
}

/* Copper parses no book for cxi without -nf. If the book is a FIFO, there is no
 * need to sleep: the daemon waits until it is written. */
static void add_network(struct copper_flags *f, const struct jp_jobconf *conf,
                        const struct copper_paths *paths)
{
    add_pair(f, "-net_type", net_of(conf));
    add_pair(f, "-nf", paths->list);
    add_pair(f, "-facility_address_book", paths->book);
    add_pair(f, "-prefiltered_address_book", "1");
    if (!paths->list)
        add_pair(f, "-addr_write_sync_time", "0");
}

/* Sizes in job.conf may have a unit; cu_fuse takes bytes. */
static void add_cache(struct copper_flags *f, const struct jp_jobconf *conf)
{
    const char *size = jobconf_side_find(conf, OPTION_COPPER, "cache_size");
    const char *ttl = jobconf_side_find(conf, OPTION_COPPER, "ttl");
    char bytes[24] = COPPER_CACHE_BYTES;
    uint64_t n;

    add_pair(f, "-md_enoent_ttl_ms", ttl ? ttl : COPPER_TTL_MS);
    if (size && num_parse_size(size, 0, UINT64_MAX, &n, NULL) == 0)
        snprintf(bytes, sizeof(bytes), "%" PRIu64, n);
    add_pair(f, "-max_cacheable_byte_size", bytes);
}

int copper_flags_make(const struct jp_jobconf *conf,
                      const struct copper_paths *paths,
                      struct copper_flags *out, struct jp_error *err)
{
    const char *daemon = jobconf_side_find(conf, OPTION_COPPER, "cu_fuse");
    struct copper_flags f = {.n = 0};

    if (!daemon)
        return error_set(err, "job.conf names no cu_fuse");
    add_word(&f, daemon);
    add_word(&f, "-f"); /* do not fork: stay the process that was started */
    add_pair(&f, "-tpath", "/");
    add_pair(&f, "-vpath", paths->view);
    add_pair(&f, "-log_output_dir", paths->logs);
    /* fatal lines only, to explain failures: from level 3 on each failed
     * getattr is a line, written by the only thread that serves */
    add_pair(&f, "-log_level", "1");
    add_pair(&f, "-log_type", "file");
    add_network(&f, conf, paths);
    add_cache(&f, conf);
    add_profile(&f, conf);
    add_words(&f, jobconf_side_find(conf, OPTION_COPPER, "args"));
    add_word(&f, "-s");
    add_word(&f, paths->view);
    if (f.n > COPPER_FLAGS_MAX) {
        copper_flags_fini(&f);
        return error_set(err, "out of memory, or over %d flags for cu_fuse",
                         COPPER_FLAGS_MAX);
    }
    *out = f;
    return 0;
}

void copper_flags_fini(struct copper_flags *flags)
{
    for (int i = 0; i < COPPER_FLAGS_MAX; i++)
        free(flags->argv[i]);
    *flags = (struct copper_flags){.n = 0};
}

/* --- the runner --- */

#define TRY_MS 500 /* between two attempts to unmount */
#define HOST_MAX 256
/* After this, the mount is detached although it is in use. */
#define LAZY_MS 5000

struct copper_run {
    struct copper_work work;
    char *mount, *logs, *step_dir, *node;
    bool own;  /* the mount point is ours, not one that the user named */
    bool made; /* the folder of the user's mount point was made */
    pid_t pid, daemon;   /* pid is 0 after its end; daemon keeps its value */
    int status;          /* exit status */
    bool asked;          /* it reports its address and waits for the book */
    bool offered;        /* its address was reported */
    int book_fd;         /* the FIFO's writing end, or -1 */
    char *book;          /* the step's, once it exists */
    size_t written, len; /* bytes of the book */
    size_t trees;        /* into which the book is cut */
    char *parents[COPPER_DEPTH_MAX];
    size_t n_parents;
    pid_t probe, unmounter;
    /* the mount has answered; tasks use the real files */
    bool answered, bypassed;
    uint64_t stop_ms, tried_ms; /* start of the stop, last try; 0: not yet */
};

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

/* --- start ---------------------------------------------------------------- */

/* Folders that Copper's launch script makes, except that of the logs. */
static int make_folders(const char *logs, struct jp_error *err)
{
    static const char *const names[] = {"tables/final", "profiling/final"};
    int rc = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && rc == 0; i++) {
        char *path = text_format("%s/%s", logs, names[i]);

        rc = path ? fileio_mkdirs(path, err) : error_set(err, "out of memory");
        free(path);
    }
    return rc;
}

/* Binds to the site's cores. If that fails, the daemon runs anywhere. */
static void bind_cores(const char *cores)
{
    struct jp_error err = {""};
    cpu_set_t set;

    if (!cores)
        return;
    if (copper_flags_cores(cores, &set, &err) == 0 &&
        sched_setaffinity(0, sizeof(set), &set) < 0)
        error_set(&err, "%s", strerror(errno));
    if (*err.text)
        fprintf(stderr, "cores=%s: %s\n", cores, err.text);
}

static void __attribute__((noreturn))
become_daemon(const char *log, const char *cores, pid_t parent, char **argv)
{
    int null = open("/dev/null", O_RDONLY);
    int out = ownplace_append(log, NULL);
    sigset_t set;

    /* see the head of this file */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_SETMASK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    signal(SIGPIPE, SIG_DFL);
    /* the supervisor died before prctl() */
    if (getppid() != parent)
        _exit(1);
    setsid();
    if (null >= 0)
        dup2(null, 0);
    if (out >= 0) {
        dup2(out, 1);
        dup2(out, 2);
    }
    bind_cores(cores);
    execv(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Starts cu_fuse and records its pid. */
static int launch(struct copper_run *run, const struct jp_jobconf *conf,
                  struct jp_error *err)
{
    char *book = run->asked
                     ? text_format("%s/book", run->work.node)
                     : text_format("%s/raw/" COPPER_BOOK_NAME, run->step_dir);
    char *list = text_format("%s/raw/" COPPER_NODES, run->step_dir);
    char *log = text_format("%s/cu_fuse.out", run->logs);
    const struct copper_paths paths = {run->mount, run->logs, book,
                                       run->asked ? NULL : list};
    struct copper_flags flags = {.n = 0};
    pid_t parent = getpid();
    int rc = -1;

    if (!book || !list || !log)
        error_set(err, "out of memory");
    else
        rc = copper_flags_make(conf, &paths, &flags, err);
    if (rc == 0) {
        run->pid = run->daemon = fork();
        if (run->pid == 0)
            become_daemon(log, jobconf_side_find(conf, OPTION_COPPER, "cores"),
                          parent, flags.argv);
        rc = run->pid < 0 ? error_set(err, "no process: %s", strerror(errno))
                          : copper_work_note_pid(&run->work, run->pid, err);
    }
    copper_flags_fini(&flags);
    free(book);
    free(list);
    free(log);
    return rc;
}

static void destroy(void *state)
{
    struct copper_run *run = state;

    if (!run)
        return;
    if (run->book_fd >= 0)
        close(run->book_fd);
    for (size_t i = 0; i < run->n_parents; i++)
        free(run->parents[i]);
    copper_work_fini(&run->work);
    free(run->book);
    free(run->mount);
    free(run->logs);
    free(run->step_dir);
    free(run->node);
    free(run);
}

static int set_paths(struct copper_run *run, const struct jp_jobconf *conf,
                     const char *step_dir, const char *node,
                     struct jp_error *err)
{
    run->logs = text_format("%s/raw/%s", step_dir, node);
    run->step_dir = strdup(step_dir);
    run->node = strdup(node);
    if (!run->logs || !run->step_dir || !run->node)
        return error_set(err, "out of memory");
    return copper_work_init(&run->work, conf, node, err);
}

/* Reads the step's book and the nodes above this one. Returns 1, 0 if the book
 * is still to come, or -1 if there is none or this node is not in it. */
static int read_book(struct copper_run *run, struct jp_error *err)
{
    char *text = NULL;
    int there = copper_book_read(run->step_dir, &text, &run->len);

    if (there == 0 && run->asked)
        return 0;
    if (there <= 0)
        return error_set(err, "the step has no address book");
    if (copper_book_parents(text, run->node, run->trees, run->parents,
                            &run->n_parents) < 0) {
        free(text);
        return error_set(
            err, run->asked
                     ? "its address was too late for the step's address book"
                     : "it is not in the site's address "
                       "book");
    }
    run->book = text;
    return 1;
}

/* The N of -trees N among the site's flags; otherwise 1. */
static size_t count_trees(const struct jp_jobconf *conf)
{
    static const char flag[] = "-trees ";
    const char *args = jobconf_side_find(conf, OPTION_COPPER, "args");
    const char *at = args ? strstr(args, flag) : NULL;

    return at ? strtoul(at + strlen(flag), NULL, 10) : 1;
}

/* Makes folders, lock and mount point. The link fs leads to the mount point,
 * whether it is ours or the user's. */
static int make_place(struct copper_run *run, const struct jp_jobconf *conf,
                      struct jp_error *err)
{
    const char *mount = jobconf_side_find(conf, OPTION_COPPER, "mount");
    char *said = mount ? pattern_expand_node(mount, run->node) : NULL;
    int rc = -1;

    if (!said)
        return error_set(err, "job.conf has no mount");
    run->own = !strncmp(said, COPPER_WORK_PREFIX, strlen(COPPER_WORK_PREFIX));
    if (make_folders(run->logs, err) == 0 &&
        copper_work_make(&run->work, run->own ? "../mnt" : said, run->logs,
                         err) == 0 &&
        (run->mount = copper_mount_real(said, err)))
        rc = copper_mount_prepare(run->mount, &run->made, err);
    free(said);
    return rc;
}

static void leave_place(struct copper_run *run)
{
    if (run->made && !run->own)
        rmdir(run->mount);
    copper_work_clean(&run->work, run->logs);
}

/* Two daemons cannot share a cxi device: the book has one address for it. */
static int check_device(const struct jp_jobconf *conf, struct jp_error *err)
{
    const char *net = net_of(conf);
    long pid = strncmp(net, "cxi", 3) ? 0 : copper_attach_on(net);

    return pid ? error_set(err,
                           "another cu_fuse (process %ld) uses %s on this "
                           "node, and its address is in the book",
                           pid, net)
               : 0;
}

/* A mount that cannot be ended would keep its daemon alive, and with it the
 * job. */
static int check_program(struct jp_error *err)
{
    char *path = copper_mount_program(getenv("PATH"));
    int rc = path ? 0
                  : error_set(err, "no fusermount3 (package fuse3), which is "
                                   "needed to unmount it");

    free(path);
    return rc;
}

static int start(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err)
{
    struct copper_run *run = calloc(1, sizeof(*run));
    char *ours =
        text_format(COPPER_WORK_PREFIX "%lu-", (unsigned long) getuid());
    int rc;

    /* clean up first: an earlier step may have left its mount and its place */
    if (ours)
        copper_mount_sweep(ours);
    free(ours);
    copper_work_sweep(node);
    if (!run)
        return error_set(err, "out of memory");
    run->book_fd = -1;
    signal(SIGPIPE, SIG_IGN); /* the daemon may end while it reads its book */
    run->asked = !jobconf_side_find(conf, OPTION_COPPER, "address_book");
    run->trees = count_trees(conf);
    rc = set_paths(run, conf, step_dir, node, err);
    if (rc == 0)
        rc = check_program(err);
    if (rc == 0 && !run->asked && read_book(run, err) < 0)
        rc = -1;
    if (rc == 0)
        rc = check_device(conf, err);
    if (rc == 0) {
        rc = make_place(run, conf, err);
        if (rc == 0)
            rc = launch(run, conf, err);
        if (rc < 0)
            leave_place(run);
    }
    if (rc < 0) {
        destroy(run);
        return -1;
    }
    *state = run;
    return 0;
}

/* Before the step, on srun's host: filters the site's book, or refuses a
 * network for which no daemon could start. Returns 1 if gather is to be called:
 * the daemons report their addresses. */
static int prepare(const struct jp_jobconf *conf, const char *step_dir,
                   char *const *nodes, size_t n, struct jp_error *err)
{
    const char *book = jobconf_side_find(conf, OPTION_COPPER, "address_book");
    const char *net = net_of(conf);
    enum copper_addresses kind = copper_book_kind(net);

    if (book)
        return copper_book_prepare(book, step_dir, nodes, n, err);
    if (kind == COPPER_ADDRESSES_SITE)
        return error_set(err,
                         "net_type %s needs an address book: copper."
                         "address_book of the site file",
                         net);
    if (kind == COPPER_ADDRESSES_LOCAL && n > 1)
        return error_set(
            err, "net_type %s works on one node, but the step has %zu", net, n);
    return 1;
}

/* --- ready ---------------------------------------------------------------- */

/* false: it has ended; run->status says how. */
static bool is_alive(struct copper_run *run)
{
    if (run->pid > 0 && waitpid(run->pid, &run->status, WNOHANG) == run->pid)
        run->pid = 0;
    return run->pid > 0;
}

/* The error for a daemon that has ended, with the last fatal line of its
 * log. */
static int say_end(const struct copper_run *run, struct jp_error *err)
{
    char host[HOST_MAX] = "", *name, fatal[300] = "";

    gethostname(host, sizeof(host) - 1);
    name = text_format("%s-%ld", host, (long) run->daemon);
    if (name)
        copper_work_fatal(&run->work, name, fatal, sizeof(fatal));
    free(name);
    if (WIFSIGNALED(run->status))
        return error_set(err, "cu_fuse was ended by signal %d%s%s",
                         WTERMSIG(run->status), *fatal ? ": " : "", fatal);
    if (*fatal)
        return error_set(err, "cu_fuse ended with status %d: %s",
                         WEXITSTATUS(run->status), fatal);
    return error_set(err, "cu_fuse ended with status %d (%s/cu_fuse.out)",
                     WEXITSTATUS(run->status), run->logs);
}

/* Passes the daemon's address on, and the book to the daemon, which waits for
 * it in open(). Returns 1 when it has the book, 0: not yet, -1 on failure. */
static int hand_book(struct copper_run *run, struct jp_error *err)
{
    char address[256], *path;
    ssize_t n;
    int rc;

    if (!run->asked)
        return 1;
    copper_work_address(&run->work, address, sizeof(address));
    if (!run->offered && *address) {
        if (copper_book_offer(run->step_dir, run->node, address, err) < 0)
            return -1;
        run->offered = true;
    }
    if (!run->book && !run->offered)
        return 0;
    rc = run->book ? 1 : read_book(run, err);
    if (rc <= 0)
        return rc;
    if (run->book_fd < 0) {
        path = text_format("%s/book", run->work.node);
        run->book_fd = path ? open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
                            : -1;
        free(path);
        if (run->book_fd < 0)
            return 0; /* the daemon has not opened it yet */
    }
    /* the FIFO may be full: the rest is written by a later call */
    while (run->written < run->len &&
           (n = write(run->book_fd, run->book + run->written,
                      run->len - run->written)) > 0)
        run->written += (size_t) n;
    if (run->written < run->len)
        return 0;
    close(run->book_fd);
    run->book_fd = -1;
    run->asked = false;
    return 1;
}

/* Whether a node has left that mark in the step's directory. */
static bool has_mark(const struct copper_run *run, const char *node,
                     const char *mark)
{
    char *path = text_format("%s/run/%s%s", run->step_dir, node, mark);
    bool there = path && access(path, F_OK) == 0;

    free(path);
    return there;
}

/* The nearest node above whose daemon ended before the step did; NULL: none. */
static const char *lost_parent(const struct copper_run *run)
{
    for (size_t i = 0; i < run->n_parents; i++)
        if (has_mark(run, run->parents[i], ".done") ||
            has_mark(run, run->parents[i], ".failed"))
            return has_mark(run, "step", ".ended") || !has_mark(run, "", "")
                       ? NULL
                       : run->parents[i];
    return NULL;
}

/* Reacts to the loss of a parent. Look-ups that are not cached fail from then
 * on, or hang: so new look-ups bypass Copper, and a daemon that hangs is
 * killed, which ends the look-ups in it. */
static int look_up_tree(struct copper_run *run, struct jp_error *err)
{
    const char *lost;
    int rc = run->probe > 0 ? copper_mount_reap(&run->probe) : 1;

    if (rc < 0)
        kill(run->pid, SIGKILL);
    if (run->bypassed || !(lost = lost_parent(run)))
        return 1;
    copper_work_bypass(&run->work);
    run->bypassed = true;
    run->probe = copper_mount_start(run->mount, COPPER_MOUNT_LOOK);
    error_set(err,
              "the tasks continue without it: the daemon of %s, its parent, "
              "has ended",
              lost);
    return 2;
}

/* Returns 1 when the mount can be used, 0: not yet, -1: the daemon has failed,
 * 2: a warning in err. */
static int ready(void *state, struct jp_error *err)
{
    struct copper_run *run = state;
    int rc;

    if (!is_alive(run)) {
        copper_work_bypass(&run->work);
        return say_end(run, err);
    }
    if (run->answered)
        return look_up_tree(run, err);
    rc = hand_book(run, err);
    if (rc <= 0)
        return rc;
    /* mounted is not enough: the daemon must answer */
    if (run->probe > 0)
        run->answered = copper_mount_reap(&run->probe) > 0;
    else if (copper_mount_there(run->mount))
        run->probe = copper_mount_start(run->mount, COPPER_MOUNT_LOOK);
    return run->answered;
}

/* A mount point that the user named is used directly, without the link. */
static const char *place(void *state)
{
    struct copper_run *run = state;

    return run->own ? run->work.fs : run->mount;
}

/* For a node that has no runner, for instance after its supervisor was
 * killed. */
static void bypass(const struct jp_jobconf *conf, const char *node)
{
    struct copper_work work;

    if (copper_work_init(&work, conf, node, NULL) == 0) {
        copper_work_bypass(&work);
        copper_work_fini(&work);
    }
}

/* --- stop ----------------------------------------------------------------- */

/* Starts an unmount unless one is running or the last attempt is too recent. */
static void unmount(struct copper_run *run, bool force)
{
    uint64_t now = now_ms();

    if (run->unmounter > 0 && copper_mount_reap(&run->unmounter) == 0)
        return;
    if (run->tried_ms && now - run->tried_ms < TRY_MS)
        return;
    run->tried_ms = now;
    run->unmounter =
        copper_mount_start(run->mount, force || now - run->stop_ms > LAZY_MS
                                           ? COPPER_MOUNT_END_LAZILY
                                           : COPPER_MOUNT_END);
}

/* Returns 1 when mount and daemon are gone, 0 while they are not. */
static int stop(void *state, bool force)
{
    struct copper_run *run = state;
    bool mounted = copper_mount_there(run->mount), alive = is_alive(run);

    if (!run->stop_ms) {
        run->stop_ms = now_ms();
        copper_work_bypass(&run->work);
    }
    if (mounted)
        unmount(run, force);
    /* a daemon that has not mounted yet has nothing to lose */
    if (alive && (force || (!mounted && !run->tried_ms && !run->answered)))
        kill(run->pid, SIGKILL);
    if (mounted || alive)
        return 0;
    if (run->probe > 0)
        kill(run->probe, SIGKILL);
    leave_place(run);
    return 1;
}

/* --- collect -------------------------------------------------------------- */

/* Whether the folder has the daemon's aggregate: <host>-<pid>[-<tag>]-... */
static bool has_profile(const struct copper_run *run, const char *tag)
{
    char *path = text_format("%s/profiling/%s", run->logs, tag);
    char *mark = text_format("-%ld-", (long) run->daemon);
    DIR *dir = path && mark ? opendir(path) : NULL;
    struct dirent *entry;
    bool found = false;

    while (dir && !found && (entry = readdir(dir)))
        found = strstr(entry->d_name, mark) &&
                strstr(entry->d_name, "profiling_aggregate.csv");
    if (dir)
        closedir(dir);
    free(path);
    free(mark);
    return found;
}

/* Whether the daemon left a complete profile. */
static int collect(void *state, struct jp_error *err)
{
    const struct copper_run *run = state;

    if (has_profile(run, "final"))
        return 0;
    if (has_profile(run, "pre-destroy"))
        return error_set(err,
                         "no final files; those from before the end are used");
    return error_set(err, "it wrote no profile");
}

/* Ends what a killed supervisor left on this node. The prefix is the whole path
 * of this node's mount point. */
static bool sweep(const struct jp_jobconf *conf, const char *step_dir,
                  const char *node)
{
    const char *mount = jobconf_side_find(conf, OPTION_COPPER, "mount");
    char *said = mount ? pattern_expand_node(mount, node) : NULL;
    char *point = said ? copper_mount_real(said, NULL) : NULL;
    char *raw = text_format("%s/raw/%s", step_dir, node);
    bool found = point && copper_mount_sweep(point);
    struct copper_work work;

    if (raw && copper_work_init(&work, conf, node, NULL) == 0) {
        if (copper_work_is_left(&work))
            copper_work_clean(&work, raw);
        copper_work_fini(&work);
    }
    free(said);
    free(point);
    free(raw);
    return found;
}

/* The runner for a job.conf. */
static const struct backend_runner *of(const struct jp_jobconf *conf)
{
    const char *attach = jobconf_side_find(conf, OPTION_COPPER, "attach");

    return attach && !strcmp(attach, "1") ? &copper_attach : &copper_runner;
}

/* The daemons use the cores that the site names. */
static uint32_t count_cpus(const struct jp_plan *plan)
{
    /* "1,2" or "0-3" */
    const char *text = plan_site(plan, "copper.cores");
    cpu_set_t set;

    if (!text || copper_flags_cores(text, &set, NULL) < 0)
        return 1;
    return (uint32_t) CPU_COUNT(&set);
}

const struct backend_runner copper_runner = {
    .nodes_file = COPPER_NODES,
    .cpus = count_cpus,
    .of = of,
    .prepare = prepare,
    .gather = copper_book_gather,
    .start = start,
    .ready = ready,
    .place = place,
    .stop = stop,
    .collect = collect,
    .bypass = bypass,
    .sweep = sweep,
    .destroy = destroy,
};
