/* copper_work.c - a daemon's place on its node: make, read and remove it; and
 * the address books of a step.
 *
 * Address books come first: filtered from the site's book
 * (copper_book_prepare), or gathered from what the daemons report
 * (copper_book_gather), and read as a tree (copper_book_parents). Then the
 * folders below /tmp: copper_work_make and copper_work_clean. A lock in the
 * node's folder shows whether the place is in use; the daemon inherits it, so
 * that the lock outlives a supervisor that is killed. */
#include "plugins/copper/copper_work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/ownplace.h"
#include "common/ownproc.h"
#include "plugins/copper/copper_counts.h"

/* --- address books --- */

#define SITE_MAX (64 * 1024 * 1024) /* bytes of a site's book */
#define ADDRESS_MAX 512             /* bytes of a daemon's address */

enum copper_addresses copper_book_kind(const char *net_type)
{
    if (!strcmp(net_type, "tcp"))
        return COPPER_ADDRESSES_ASKED;
    return strcmp(net_type, "na+sm") ? COPPER_ADDRESSES_SITE
                                     : COPPER_ADDRESSES_LOCAL;
}

/* --- the site's ----------------------------------------------------------- */

/* A node of the step, while the site's book is searched. */
struct wanted {
    const char *name;    /* the node's */
    size_t len;          /* of the short name */
    size_t place;        /* in the step's order */
    const char *address; /* in the book; NULL: not found */
};

/* Compares two names that have no NUL. */
static int compare_names(const char *a, size_t n, const char *b, size_t m)
{
    int rc = memcmp(a, b, n < m ? n : m);

    return rc ? rc : (n > m) - (n < m);
}

/* By short name, so that bsearch finds nodes by short and full names. */
static int by_name(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return compare_names(x->name, x->len, y->name, y->len);
}

static int by_place(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

/* Whether both names are the same host: "a" is "a.site", and "a.site" is "a",
 * but "a.x" is not "a.y". */
static bool is_host(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");

    return n == m && !memcmp(a, b, n) && (!a[n] || !b[n] || !strcmp(a, b));
}

/* Takes "host address ..." of the site's book, which may have millions of
 * lines: a search of O(log n). The line is changed. */
static void take_line(char *line, struct wanted *wanted, size_t n)
{
    char *address = strpbrk(line, " \t");
    struct wanted key = {.name = line}, *hit;

    if (!address || line == address)
        return;
    *address++ = '\0';
    address += strspn(address, " \t");
    address[strcspn(address, " \t\r")] = '\0';
    key.len = strcspn(line, ".");
    hit = bsearch(&key, wanted, n, sizeof(*wanted), by_name);
    /* bsearch may find any of several nodes with the same short name */
    while (hit && hit > wanted && by_name(hit - 1, &key) == 0)
        hit--;
    for (; hit && hit < wanted + n && by_name(hit, &key) == 0; hit++)
        if (*address && is_host(hit->name, line))
            hit->address = address;
}

/* The lines of nodes that were found; *out is freed by the caller. */
static int print_book(const struct wanted *wanted, size_t n, char **out,
                      size_t *found, struct jp_error *err)
{
    size_t len;
    FILE *f = open_memstream(out, &len);

    *found = 0;
    for (size_t i = 0; f && i < n; i++)
        if (wanted[i].address) {
            fprintf(f, "%s %s\n", wanted[i].name, wanted[i].address);
            ++*found;
        }
    return f && fclose(f) == 0 ? 0 : error_set(err, "out of memory");
}

int copper_book_filter(char *text, char *const *nodes, size_t n, char **out,
                       size_t *found, struct jp_error *err)
{
    struct wanted *wanted = calloc(n ? n : 1, sizeof(*wanted));
    char *line;
    int rc;

    if (!wanted)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n; i++)
        wanted[i] = (struct wanted){nodes[i], strcspn(nodes[i], "."), i, NULL};
    qsort(wanted, n, sizeof(*wanted), by_name);
    while ((line = strsep(&text, "\n")))
        take_line(line, wanted, n);
    /* the tree is built from the order of lines */
    qsort(wanted, n, sizeof(*wanted), by_place);
    rc = print_book(wanted, n, out, found, err);
    free(wanted);
    return rc;
}

/* By rename: a daemon that reads it sees the whole book or none. */
static int write_book(const char *step_dir, const char *text,
                      struct jp_error *err)
{
    char *path = text_format("%s/raw/" COPPER_BOOK_NAME, step_dir);
    int rc = path ? fileio_write(path, text, strlen(text), err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

int copper_book_prepare(const char *path, const char *step_dir,
                        char *const *nodes, size_t n, struct jp_error *err)
{
    char *text = NULL, *book = NULL;
    size_t found = 0;
    int rc = fileio_read(path, true, SITE_MAX, &text, NULL, err);

    if (rc == 0)
        rc = copper_book_filter(text, nodes, n, &book, &found, err);
    if (rc == 0 && !found)
        rc = error_set(err, "none of the step's %zu nodes is in %s", n, path);
    if (rc == 0)
        rc = write_book(step_dir, book, err);
    free(text);
    free(book);
    return rc;
}

/* --- what the daemons say ------------------------------------------------- */

int copper_book_offer(const char *step_dir, const char *node,
                      const char *address, struct jp_error *err)
{
    char *path = text_format("%s/run/%s.address", step_dir, node);
    int rc = path ? fileio_write(path, address, strlen(address), err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

/* Returns 1 with the node's address in *text, 0 if there is nothing yet, -1 if
 * the node has failed or its address is invalid. */
static int look_for(const char *step_dir, const char *node, char **text)
{
    char *path = text_format("%s/run/%s.address", step_dir, node);
    char *failed = text_format("%s/run/%s.failed", step_dir, node);
    int rc = 0;

    if (path && fileio_read(path, false, ADDRESS_MAX, text, NULL, NULL) == 0)
        rc = strpbrk(*text, "\r\n") || !**text ? -1 : 1;
    else if (failed && access(failed, F_OK) == 0)
        rc = -1;
    free(path);
    free(failed);
    return rc;
}

int copper_book_gather(const char *step_dir, char *const *nodes, size_t n,
                       bool late, struct jp_error *err)
{
    char *book = NULL;
    size_t len;
    FILE *out = open_memstream(&book, &len);
    /* 1 until a node is found that has reported nothing */
    int rc = out ? 1 : error_set(err, "out of memory");

    for (size_t i = 0; i < n && rc > 0; i++) {
        char *address = NULL;
        int there = look_for(step_dir, nodes[i], &address);

        if (there > 0)
            fprintf(out, "%s %s\n", nodes[i], address);
        else if (there == 0 && !late)
            rc = 0;
        free(address);
    }
    if (out && fclose(out) != 0)
        rc = error_set(err, "out of memory");
    if (rc > 0 && write_book(step_dir, book, err) < 0)
        rc = -1;
    free(book);
    return rc;
}

int copper_book_read(const char *step_dir, char **text, size_t *len)
{
    char *path = text_format("%s/raw/" COPPER_BOOK_NAME, step_dir);
    int rc = path ? 0 : -1;

    if (path && access(path, R_OK) == 0)
        rc = fileio_read(path, false, SITE_MAX, text, len, NULL) < 0 ? -1 : 1;
    free(path);
    return rc;
}

/* --- the tree ------------------------------------------------------------- */

/* Whether the line "node address" is that of the node. */
static bool is_line_of(const char *line, const char *node)
{
    size_t n = strlen(node);

    return !strncmp(line, node, n) && line[n] == ' ';
}

/* The next line, or the end. */
static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

/* The node in line i. Caller frees. */
static char *name_of_line(const char *text, size_t i)
{
    while (i-- > 0)
        text = next_line(text);
    return strndup(text, strcspn(text, " \n"));
}

/* The lines of a tree: equally many each; lines that are left over are added to
 * the first trees, as in Copper's get_tree_segments. */
struct segment {
    size_t first, n, last; /* last: the added line, after those of all trees */
};

static struct segment find_segment(size_t line, size_t lines, size_t trees)
{
    /* a line beyond all equal parts is an added one */
    size_t each = lines / trees, which = line / each;

    if (which >= trees)
        which = line - trees * each;
    return (struct segment){which * each, each + (which < lines % trees),
                            trees * each + which};
}

/* The place of a line in its tree, and the line of a place. */
static size_t place_of(const struct segment *s, size_t line)
{
    return line == s->last ? s->n - 1 : line - s->first;
}

static size_t line_of(const struct segment *s, size_t place, size_t each)
{
    return place < each ? s->first + place : s->last;
}

int copper_book_parents(const char *text, const char *node, size_t trees,
                        char *parents[COPPER_DEPTH_MAX], size_t *n)
{
    size_t lines = 0, own = SIZE_MAX;
    struct segment segment;
    unsigned fanout;

    *n = 0;
    for (const char *line = text; *line; line = next_line(line), lines++)
        if (own == SIZE_MAX && is_line_of(line, node))
            own = lines;
    if (own == SIZE_MAX)
        return -1;
    if (trees == 0 || trees > lines)
        return 0; /* Copper refuses more trees than lines */
    segment = find_segment(own, lines, trees);
    own = place_of(&segment, own);
    fanout = copper_tree_fanout(segment.n);
    /* the children of place p are fanout * p + 1 ... fanout * p + fanout */
    while (own > 0 && *n < COPPER_DEPTH_MAX) {
        own = (own - 1) / fanout;
        parents[*n] = name_of_line(text, line_of(&segment, own, lines / trees));
        if (!parents[*n])
            break;
        ++*n;
    }
    return 0;
}

/* --- the daemon's place --- */

#define LOG_MAX (1024 * 1024) /* bytes of each log that are kept */
#define SWEEP_MS 3000         /* limit of copper_work_sweep */
/* A folder without nodes that is younger than this may still be under
 * construction. */
#define FRESH_S 60
#define LOCK_MS 300 /* how long the lock is tried */
#define MAKE_TRIES 5
#define LOCK_POLL_MS 5

int copper_work_init(struct copper_work *w, const struct jp_jobconf *conf,
                     const char *node, struct jp_error *err)
{
    w->lock = -1;
    w->base = text_format(COPPER_WORK_PREFIX "%lu-%" PRIu64 ".%s",
                          (unsigned long) getuid(), conf->job_id,
                          conf->step_id);
    w->node = w->base ? text_format("%s/%s", w->base, node) : NULL;
    w->fs = w->node ? text_format("%s/fs", w->node) : NULL;
    if (w->fs)
        return 0;
    copper_work_fini(w);
    return error_set(err, "out of memory");
}

void copper_work_fini(struct copper_work *w)
{
    free(w->base);
    free(w->node);
    free(w->fs);
    if (w->lock >= 0)
        close(w->lock);
    *w = (struct copper_work){.lock = -1};
}

/* /tmp is writable for everybody: the folder must be ours alone, and no
 * link. */
static int check_own(const char *path, struct jp_error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != geteuid() || (st.st_mode & 077))
        return error_set(err, "%s: not a folder that only you can change",
                         path);
    return 0;
}

/* Makes link point to target, by rename: there is no moment without the
 * link. */
static int point(const char *link, const char *target, struct jp_error *err)
{
    const char *name = link;
    int at = ownplace_at(&name), rc = 0;
    char *temp = text_format("%s.new", name);

    if (!temp)
        return error_set(err, "out of memory");
    unlinkat(at, temp, 0);
    if (symlinkat(target, at, temp) < 0 || renameat(at, temp, at, name) < 0)
        rc = error_set(err, "%s: %s", link, strerror(errno));
    free(temp);
    return rc;
}

/* Locks the file. Another step that starts at the same moment may test the
 * lock, and holds it for an instant. */
static bool lock_it(int fd)
{
    for (int waited_ms = 0;; waited_ms += LOCK_POLL_MS) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (waited_ms >= LOCK_MS)
            return false;
        usleep(LOCK_POLL_MS * 1000);
    }
}

/* Opens and locks NODE/lock. Not close-on-exec: the daemon shall hold the lock
 * even when its supervisor has been killed. Returns 1 with err if the folder
 * was removed meanwhile. */
static int take_lock(struct copper_work *w, struct jp_error *err)
{
    char *path = text_format("%s/lock", w->node);
    struct stat st;
    int rc = 0;

    w->lock = path ? open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600) : -1;
    if (w->lock < 0) {
        rc = path && errno == ENOENT ? 1 : -1;
        error_set(err, "%s: %s", path ? path : w->node,
                  path ? strerror(errno) : "out of memory");
    } else if (!lock_it(w->lock))
        rc = error_set(err, "%s: belongs to another daemon of this step",
                       w->node);
    /* a sweep removed the folder between open() and flock() */
    else if (fstat(w->lock, &st) < 0 || st.st_nlink == 0) {
        error_set(err, "%s: removed while the daemon started", w->node);
        rc = 1;
    }
    if (rc != 0 && w->lock >= 0) {
        close(w->lock);
        w->lock = -1;
    }
    free(path);
    return rc;
}

/* Folders, links and the FIFO, once the place is locked. */
static int make_inside(const struct copper_work *w, const char *view,
                       const char *raw, struct jp_error *err)
{
    char *logs = text_format("%s/logs", w->node);
    char *book = text_format("%s/book", w->node);
    char *raw_logs = text_format("%s/logs", raw);
    char *to_raw = text_format("%s/raw", w->node);
    int rc = -1;

    if (!logs || !book || !raw_logs || !to_raw)
        error_set(err, "out of memory");
    else if (fileio_mkdir(logs, err) == 0 && point(w->fs, view, err) == 0 &&
             point(to_raw, raw, err) == 0 && point(raw_logs, logs, err) == 0) {
        unlink(book);
        rc = mkfifo(book, 0600) == 0
                 ? 0
                 : error_set(err, "%s: %s", book, strerror(errno));
    }
    free(logs);
    free(book);
    free(raw_logs);
    free(to_raw);
    return rc;
}

/* Makes the step's and the node's folder and locks it. Returns 1 with err if
 * they were removed meanwhile. */
static int make_locked(struct copper_work *w, struct jp_error *err)
{
    if (fileio_mkdir(w->base, err) < 0)
        return -1;
    if (check_own(w->base, err) < 0 || fileio_mkdir(w->node, err) < 0)
        return access(w->base, F_OK) < 0 ? 1 : -1;
    return take_lock(w, err);
}

int copper_work_make(struct copper_work *w, const char *view, const char *raw,
                     struct jp_error *err)
{
    int rc = 1;

    /* Until it is locked, the place looks like one that an earlier step has
     * left, and a step that starts now may remove it: then try again. */
    for (int i = 0; rc > 0 && i < MAKE_TRIES; i++)
        rc = make_locked(w, err);
    return rc == 0 ? make_inside(w, view, raw, err) : -1;
}

/* The start time shows later whether the process with the number is still this
 * one; 0: it has ended already. */
int copper_work_note_pid(const struct copper_work *w, pid_t pid,
                         struct jp_error *err)
{
    const struct ownproc_name name = {.root = "", .pid = pid, .uid = geteuid()};
    char *path = text_format("%s/pid", w->node), text[48];
    struct ownproc proc = OWNPROC_CLOSED;
    uint64_t start = 0;
    int n, rc;

    if (ownproc_open(&name, &proc, NULL) == 0)
        start = proc.start;
    ownproc_close(&proc);
    n = snprintf(text, sizeof(text), "%ld %" PRIu64, (long) pid, start);
    rc = path ? fileio_write(path, text, (size_t) n, err)
              : error_set(err, "out of memory");
    free(path);
    return rc;
}

/* Whether the daemon of a note "PID START" has ended: the number belongs to no
 * process of this user that started then. */
static bool is_gone(char *note)
{
    struct ownproc_name name = {.root = "", .uid = geteuid()};
    char *start = strchr(note, ' ');
    struct ownproc proc;

    if (start)
        *start++ = '\0';
    /* A note of another form says nothing. */
    if (num_parse_i64(note, 1, INT32_MAX, &name.pid, NULL) < 0 ||
        (start && num_parse_u64(start, 0, UINT64_MAX, &name.start, NULL) < 0))
        return false;
    if (ownproc_open(&name, &proc, NULL) == 0) {
        ownproc_close(&proc);
        return false;
    }
    return errno == ESRCH || errno == ESTALE || errno == EPERM;
}

/* Takes the lock as *fd; -1: there is no lock file. false: another process
 * holds it. */
static bool hold(const struct copper_work *w, int *fd)
{
    char *path = text_format("%s/lock", w->node);
    bool held;

    *fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    held = path && (*fd < 0 || flock(*fd, LOCK_EX | LOCK_NB) == 0);
    free(path);
    return held;
}

/* Whether the place is no longer in use. *fd holds the lock, so that no daemon
 * can start here until it is closed. */
static bool is_left(const struct copper_work *w, int *fd)
{
    char *path = text_format("%s/pid", w->node), *text = NULL;
    bool left = path && hold(w, fd);

    if (left && fileio_read(path, false, 48, &text, NULL, NULL) == 0)
        left = is_gone(text);
    else
        /* no pid: the supervisor was killed before its daemon started */
        left = left && *fd >= 0;
    free(text);
    free(path);
    return left;
}

bool copper_work_is_left(const struct copper_work *w)
{
    int fd = -1;
    bool left = is_left(w, &fd);

    if (fd >= 0)
        close(fd);
    return left;
}

/* "/" instead of the view: paths below the link then lead to the real files. */
void copper_work_bypass(const struct copper_work *w)
{
    struct stat st;

    if (lstat(w->fs, &st) == 0)
        point(w->fs, "/", NULL);
}

/* A line of the log: "2026-11-21 09-16-20.662 [Fatal] (function) text". The
 * last one counts. */
void copper_work_fatal(const struct copper_work *w, const char *name, char *out,
                       size_t len)
{
    char *path = text_format("%s/logs/%s-output.log", w->node, name);
    char *text = NULL, *rest, *line;

    *out = '\0';
    if (path && fileio_read(path, false, LOG_MAX, &text, NULL, NULL) == 0) {
        rest = text;
        while ((line = strsep(&rest, "\n"))) {
            const char *fatal = strstr(line, "[Fatal] (");
            const char *said = fatal ? strstr(fatal, ") ") : NULL;

            if (said)
                snprintf(out, len, "%s", said + 2);
        }
    }
    free(text);
    free(path);
}

void copper_work_address(const struct copper_work *w, char *out, size_t len)
{
    char *path = text_format("%s/logs/" COPPER_BOOK_NAME, w->node);
    char *text = NULL, *end, *at;

    *out = '\0';
    if (path && fileio_read(path, false, LOG_MAX, &text, NULL, NULL) == 0) {
        end = strchr(text, '\n');
        at = strchr(text, ' ');
        if (end && at && at < end) {
            *end = '\0';
            snprintf(out, len, "%s", at + 1);
        }
    }
    free(text);
    free(path);
}

/* --- the end -------------------------------------------------------------- */

/* Copies at most LOG_MAX bytes of a log. */
static void keep_log(const char *from_dir, const char *to_dir, const char *name)
{
    char *from = text_format("%s/%s", from_dir, name);
    char *to = text_format("%s/%s", to_dir, name), *text = NULL;
    int fd = from ? fileio_open_regular(from, false, NULL) : -1;
    ssize_t n = -1;

    if (fd >= 0 && to && (text = malloc(LOG_MAX)))
        n = read(fd, text, LOG_MAX);
    if (n > 0)
        fileio_write(to, text, (size_t) n, NULL);
    if (fd >= 0)
        close(fd);
    free(text);
    free(from);
    free(to);
}

/* Replaces the link <raw>/logs by a folder with copies of the logs. */
static void keep_logs(const struct copper_work *w, const char *raw)
{
    char *from = text_format("%s/logs", w->node);
    char *to = raw ? text_format("%s/logs", raw) : NULL;
    DIR *dir = from && to ? opendir(from) : NULL;
    struct dirent *entry;

    if (dir) {
        ownplace_unlink(to);
        fileio_mkdir(to, NULL);
        while ((entry = readdir(dir)))
            if (strstr(entry->d_name, "-output.log"))
                keep_log(from, to, entry->d_name);
        closedir(dir);
    }
    free(from);
    free(to);
}

/* Whether there is a node's folder beside the mount point. */
static bool is_used(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;
    bool used = false;

    while (dir && !used && (entry = readdir(dir)))
        used = *entry->d_name != '.' && strcmp(entry->d_name, "mnt") != 0;
    if (dir)
        closedir(dir);
    return used;
}

void copper_work_clean(const struct copper_work *w, const char *raw)
{
    char *view = text_format("%s/mnt", w->base);

    keep_logs(w, raw);
    fileio_remove_tree(w->node, NULL);
    /* the last node removes the step's folder */
    if (view && !is_used(w->base)) {
        rmdir(view);
        rmdir(w->base);
    }
    free(view);
}

/* --- what earlier steps have left ------------------------------------------
 */

/* A folder that cannot be examined counts as fresh. */
static bool is_fresh(const char *path)
{
    struct stat st;

    return lstat(path, &st) < 0 || time(NULL) - st.st_mtime < FRESH_S;
}

/* Removes this node's place of a step if it is not in use; the step's folder,
 * if it has no places. */
static void sweep_step(char *base, const char *node)
{
    struct copper_work w = {.base = base, .lock = -1};
    char *link, *view, raw[PATH_MAX];
    struct stat st;
    ssize_t n = -1;
    int fd = -1;

    w.node = text_format("%s/%s", base, node);
    link = text_format("%s/%s/raw", base, node);
    view = text_format("%s/mnt", base);
    /* no memory, or not our folder: leave it alone */
    if (!w.node || !link || !view || check_own(base, NULL) < 0)
        ;
    else if (lstat(w.node, &st) == 0) {
        if (is_left(&w, &fd)) {
            n = readlink(link, raw, sizeof(raw) - 1);
            raw[n > 0 ? n : 0] = '\0';
            copper_work_clean(&w, n > 0 ? raw : NULL);
        }
    } else if (!is_used(base) && !is_fresh(base)) {
        rmdir(view);
        rmdir(base);
    }
    if (fd >= 0)
        close(fd);
    free(w.node);
    free(link);
    free(view);
}

/* Child: examines all of this user's folders. */
static int sweep(void *node, int out)
{
    static const char prefix[] = COPPER_WORK_PREFIX;
    const char *name = strrchr(prefix, '/') + 1;
    char *mine = text_format("%s%lu-", name, (unsigned long) geteuid());
    DIR *dir = mine ? opendir("/tmp") : NULL;
    struct dirent *entry;

    (void) out;
    while (dir && (entry = readdir(dir)))
        if (!strncmp(entry->d_name, mine, strlen(mine))) {
            char *base = text_format("/tmp/%s", entry->d_name);

            if (base)
                sweep_step(base, node);
            free(base);
        }
    if (dir)
        closedir(dir);
    free(mine);
    return 0;
}

/* In a child, because logs are copied to a shared file system that may hang. */
void copper_work_sweep(const char *node)
{
    const struct child child = {
        .work = sweep, .arg = (char *) node, .limit_ms = SWEEP_MS};

    child_run(&child, NULL);
}
