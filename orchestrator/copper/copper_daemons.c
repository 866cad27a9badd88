/* copper_daemons.c - find Copper's files, group them by daemon and launch, and
 * determine the expected daemons.
 *
 * copper_find walks the inputs and takes files by their names; copper_daemons
 * groups them. A daemon is a host and a pid; daemons that were started together
 * are a launch, and only the last launch is analysed. Lists of nodes say which
 * daemons were expected (the roster). The first part has helpers that all parts
 * of the analysis use. */
#include "orchestrator/copper/copper_build.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/vector.h"
#include "plugins/copper/copper_counts.h"

/* --- shared by the parts --- */

int copper_note(struct copper_build *b, const char *path, bool bad,
                const char *fmt, ...)
{
    struct jp_copper *c = b->copper;
    struct jp_file_note *note;
    char what[600];
    va_list ap;

    c->notes_bad += bad;
    /* a thousand damaged files need no thousand notes */
    if (c->n_notes == JP_COPPER_MAX_NOTES) {
        c->notes_left_out++;
        return 0;
    }
    if (VECTOR_DOUBLE(c->notes, c->n_notes) < 0)
        return -1;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    note = &c->notes[c->n_notes++];
    *note = (struct jp_file_note){strdup(path), strdup(what)};
    return note->path && note->what ? 0 : -1;
}

int copper_read_done(struct copper_build *b, const struct copper_stream *s)
{
    const struct jp_copper_options *o = b->options;

    b->copper->files++;
    b->copper->bytes_read += s->bytes;
    if (o->progress &&
        o->progress(o->progress_arg, b->copper->bytes_read, b->bytes_all))
        return error_set(b->err, "stopped");
    return 0;
}

/* --- find files --- */

#define COPPER_FIND_DEPTH 32 /* folders below an input */

/* The last component of path[0..len); *at is its start. */
static size_t last_part(const char *path, size_t len, size_t *at)
{
    size_t begin = len;

    /* back to the last slash */
    while (begin && path[begin - 1] != '/')
        begin--;
    *at = begin;
    return len - begin;
}

/* Length of the log directory's part of path: the folder above profiling/,
 * tables/ or logs/, otherwise the file's own folder. */
static size_t root_length(const char *path)
{
    static const char *const families[] = {"profiling", "tables", "logs"};
    size_t at, len = strlen(path), own;

    last_part(path, len, &at);
    own = len = at ? at - 1 : 0;
    /* profiling/final/FILE or logs/FILE */
    for (int up = 0; up < 2 && len; up++) {
        size_t n = last_part(path, len, &at);

        for (size_t i = 0; i < 3; i++)
            if (n == strlen(families[i]) && !memcmp(path + at, families[i], n))
                return at ? at - 1 : 0;
        len = at ? at - 1 : 0;
    }
    return own;
}

/* Adds a file. Returns -1 without memory. */
static int add_file(struct copper_found *found, const char *path,
                    const struct copper_name *name, const struct stat *st)
{
    if (VECTOR_DOUBLE(found->files, found->n) < 0)
        return -1;
    found->files[found->n] = (struct copper_file){
        .path = strdup(path),
        .root_len = root_length(path),
        .name = *name,
        .size = st->st_size > 0 ? (uint64_t) st->st_size : 0,
        .mtime_us = (int64_t) st->st_mtim.tv_sec * 1000000 +
                    st->st_mtim.tv_nsec / 1000};
    found->foreign = found->foreign || st->st_uid != geteuid();
    /* kinds are ordered: profiles, then logs, then others, then lists */
    found->lists += name->kind > COPPER_FILE_OTHER;
    found->profiles += name->kind < COPPER_FILE_LOG;
    return found->files[found->n++].path ? 0 : -1;
}

/* Whether a file named like a log is one of Copper's: other programs use such
 * names as well. At log level 0, Copper's logs are empty. */
static bool is_copper_log(const char *path, const char *folder,
                          const struct stat *st)
{
    char head[512];
    ssize_t n = 0;
    int fd;

    /* an empty log shows no contents: its folder decides */
    if (!st->st_size)
        return !strcmp(folder, "logs");
    fd = fileio_open_regular(path, false, NULL);
    if (fd >= 0) {
        n = read(fd, head, sizeof(head));
        close(fd);
    }
    return n > 0 && copper_log_probe(head, (size_t) n);
}

/* Takes the file if it is one of Copper's. Returns -1 without memory. */
static int take_file(struct copper_found *found, const char *path,
                     const struct stat *st)
{
    size_t at, len = strlen(path);
    struct copper_name name;
    char folder[NAME_MAX + 1];
    const char *file;

    last_part(path, len, &at);
    file = path + at;
    /* the folder's name is part of what a file is */
    len = last_part(path, at ? at - 1 : 0, &at);
    if (len >= sizeof(folder))
        return 0;
    /* the folder's name, with a NUL */
    memcpy(folder, path + at, len);
    folder[len] = '\0';
    if (!copper_name_parse(folder, file, &name) ||
        (name.kind == COPPER_FILE_LOG && !is_copper_log(path, folder, st)))
        return 0;
    /* an empty log alone is no result */
    found->logs += name.kind == COPPER_FILE_LOG && st->st_size;
    return add_file(found, path, &name, st);
}

/* A callback of type treewalk_see. */
static int take_entry(void *arg, const struct treewalk_entry *entry)
{
    return entry->what == TREEWALK_FILE ? take_file(arg, entry->path, entry->st)
                                        : 0;
}

/* Walks a folder, or takes a single file. */
static int take_input(struct copper_found *found, const char *input,
                      struct jp_error *err)
{
    int rc, fd = open(input, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *path = strdup(input);
    struct stat st;

    /* a folder of another user may be changed by that user at any time */
    if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid()))
        found->foreign = true;
    for (size_t n = path ? strlen(path) : 0; n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    if (!path)
        rc = -1;
    else if (fd >= 0)
        rc = treewalk(fd, path, COPPER_FIND_DEPTH, take_entry, found);
    /* neither a folder nor a file */
    else if (errno != ENOTDIR || lstat(path, &st) < 0)
        rc = error_set(err, "%s: %s", path, strerror(errno));
    else
        rc = S_ISREG(st.st_mode) ? take_file(found, path, &st) : 0;
    /* treewalk closes the descriptor in all other cases */
    if (!path && fd >= 0)
        close(fd);
    /* an error without a text is a lack of memory */
    if (rc < 0 && err && !*err->text)
        error_set(err, "out of memory");
    free(path);
    return rc;
}

static int number_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By host, pid, log directory, kind, tag and copy: a daemon's files of one
 * directory are then a range. */
static int by_daemon(const void *a, const void *b)
{
    const struct copper_file *x = a, *y = b;
    size_t n = x->root_len < y->root_len ? x->root_len : y->root_len;
    int order = strcmp(x->name.host, y->name.host);

    if (!order)
        order = number_order((uint64_t) x->name.pid, (uint64_t) y->name.pid);
    if (!order)
        order = memcmp(x->path, y->path, n);
    if (!order)
        order = number_order(x->root_len, y->root_len);
    if (!order)
        order = number_order(x->name.kind, y->name.kind);
    if (!order)
        order = number_order(x->name.tag, y->name.tag);
    if (!order)
        order = number_order(x->name.copy, y->name.copy);
    return order ? order : strcmp(x->path, y->path);
}

/* Removes duplicates: inputs may overlap. */
static void drop_twins(struct copper_found *found)
{
    size_t kept = 0;

    for (size_t i = 0; i < found->n; i++) {
        if (kept && !strcmp(found->files[kept - 1].path, found->files[i].path))
            free(found->files[i].path);
        else
            found->files[kept++] = found->files[i];
    }
    found->n = kept;
}

static void found_fini(struct copper_found *found)
{
    for (size_t i = 0; i < found->n; i++)
        free(found->files[i].path);
    free(found->files);
    *found = (struct copper_found){0};
}

int copper_find(const char *const *inputs, size_t n_inputs,
                struct copper_found *found, struct jp_error *err)
{
    *found = (struct copper_found){0};
    if (err)
        *err->text = '\0';
    for (size_t i = 0; i < n_inputs; i++)
        if (take_input(found, inputs[i], err) < 0) {
            found_fini(found);
            return -1;
        }
    if (found->n)
        qsort(found->files, found->n, sizeof(*found->files), by_daemon);
    drop_twins(found);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Lists the log directories, sorted, and adds up the bytes of all files. */
static int list_roots(struct copper_build *b)
{
    struct jp_copper *c = b->copper;
    size_t kept = 0;

    c->roots = calloc(b->found.n, sizeof(*c->roots));
    if (!c->roots)
        return -1;
    for (size_t i = 0; i < b->found.n; i++) {
        const struct copper_file *file = &b->found.files[i];

        b->bytes_all += file->size;
        /* lists of nodes may be outside of the log directories */
        if (!*file->name.host)
            continue;
        /* files are sorted by directory within a daemon, which saves most
         * comparisons */
        if (c->n_roots && file->root_len == file[-1].root_len &&
            !memcmp(file->path, file[-1].path, file->root_len))
            continue;
        c->roots[c->n_roots] =
            file->root_len ? strndup(file->path, file->root_len) : strdup(".");
        if (!c->roots[c->n_roots++])
            return -1;
    }
    qsort(c->roots, c->n_roots, sizeof(*c->roots), by_text);
    for (size_t i = 0; i < c->n_roots; i++) {
        if (kept && !strcmp(c->roots[kept - 1], c->roots[i]))
            free(c->roots[i]);
        else
            c->roots[kept++] = c->roots[i];
    }
    c->n_roots = kept;
    return 0;
}

/* --- from files to daemons, and from daemons to launches --- */

bool copper_same_host(const char *a, const char *b)
{
    /* the shorter name must end where the longer one has a dot */
    size_t x = strlen(a), y = strlen(b), n = x < y ? x : y;

    if (memcmp(a, b, n))
        return false;
    return x == y || (x < y ? b[n] : a[n]) == '.';
}

const struct copper_file *copper_daemon_file(const struct copper_daemon *d,
                                             enum copper_kind kind,
                                             enum copper_tag tag, uint64_t copy)
{
    for (size_t i = 0; i < d->n_files; i++)
        if (d->files[i].name.kind == kind && d->files[i].name.tag == tag &&
            d->files[i].name.copy == copy)
            return &d->files[i];
    return NULL;
}

static bool same_root(const struct copper_file *a, const struct copper_file *b)
{
    return a->root_len == b->root_len && !memcmp(a->path, b->path, a->root_len);
}

static bool same_daemon(const struct copper_file *a,
                        const struct copper_file *b)
{
    return a->name.pid == b->name.pid && !strcmp(a->name.host, b->name.host);
}

/* Reads the daemon's log. A damaged log is only noted. Returns -1 without
 * memory, or when stopped. */
static int read_log(struct copper_build *b, struct copper_daemon *d)
{
    const struct copper_file *file =
        copper_daemon_file(d, COPPER_FILE_LOG, COPPER_TAG_FINAL, 0);
    struct copper_stream stream;
    struct jp_error why;
    int rc;

    if (!file)
        return 0;
    d->has_log = true;
    if (copper_stream_open(&stream, file->path, &why) < 0)
        return copper_note(b, file->path, false, "%s", why.text);
    rc = copper_log_read(&stream, &d->log, &why);
    if (rc < 0)
        rc = copper_note(b, file->path, false, "%s", why.text);
    if (rc == 0)
        rc = copper_read_done(b, &stream);
    copper_stream_close(&stream);
    return rc;
}

/* Adds a daemon with its files, and reads its log. */
static int add_daemon(struct copper_build *b, const struct copper_file *files,
                      size_t n)
{
    struct copper_daemon *d = &b->daemons[b->n_daemons++];

    *d = (struct copper_daemon){.host = files->name.host,
                                .pid = files->name.pid,
                                .files = files,
                                .n_files = n,
                                .level = -1,
                                .level_from = ""};
    /* unknown until a log is read */
    d->log = (struct copper_log){.start_us = -1,
                                 .registration_us = -1,
                                 .first_rpc_us = -1,
                                 .parent_us = -1,
                                 .probes = -1,
                                 .level = -1,
                                 .trees = -1,
                                 .settings = {"", -1, -1, -1}};
    for (size_t i = 0; i < n; i++)
        d->has_profile |= files[i].name.kind < COPPER_FILE_LOG;
    return read_log(b, d);
}

/* Makes the daemons from the sorted files. */
static int group_files(struct copper_build *b)
{
    const struct copper_file *files = b->found.files;
    const struct copper_file *last = NULL;

    b->daemons = calloc(b->found.n ? b->found.n : 1, sizeof(*b->daemons));
    if (!b->daemons)
        return -1;
    for (size_t i = 0, n; i < b->found.n; i += n) {
        /* n files of one daemon in one directory */
        for (n = 1; i + n < b->found.n &&
                    same_daemon(files + i, files + i + n) &&
                    same_root(files + i, files + i + n);)
            n++;
        if (!*files[i].name.host) /* skip lists of nodes */
            continue;
        /* the same daemon in a second directory: a copy */
        if (last && same_daemon(last, files + i)) {
            if (copper_note(b, files[i].path, false,
                            "%s-%" PRId64 " is also in %.*s: skipped",
                            last->name.host, last->name.pid,
                            (int) last->root_len, last->path) < 0)
                return -1;
            continue;
        }
        last = files + i;
        if (add_daemon(b, files + i, n) < 0)
            return -1;
    }
    return 0;
}

/* A daemon's start according to its log, or the time of its last file. */
static int64_t time_of(const struct copper_daemon *d, bool by_log)
{
    int64_t latest = 0;

    if (by_log)
        return d->log.start_us;
    for (size_t i = 0; i < d->n_files; i++)
        if (d->files[i].mtime_us > latest)
            latest = d->files[i].mtime_us;
    return latest;
}

/* A daemon while they are sorted by time. */
struct order {
    int64_t time;
    size_t daemon;
};

static int by_time(const void *a, const void *b)
{
    const struct order *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->daemon < y->daemon ? -1 : x->daemon > y->daemon;
}

/* Index of the first daemon on the same host. Daemons are sorted by host. */
static size_t first_of_host(const struct copper_build *b, size_t i)
{
    /* few daemons of one host */
    while (i && !strcmp(b->daemons[i - 1].host, b->daemons[i].host))
        i--;
    return i;
}

/* For logs without start times: times of copied files cannot be compared
 * between hosts. The last daemon of each host belongs to the last launch, the
 * one before it to the launch before, and so on. */
static int launches_by_host(struct copper_build *b, const struct order *order)
{
    size_t *later = calloc(b->n_daemons + 1, sizeof(*later)), most = 0;

    if (!later)
        return -1;
    for (size_t i = b->n_daemons; i-- > 0;) {
        size_t host = first_of_host(b, order[i].daemon);

        /* counted from the end; turned around below */
        b->daemons[order[i].daemon].launch = later[host]++;
        if (later[host] > most)
            most = later[host];
    }
    for (size_t i = 0; i < b->n_daemons; i++)
        b->daemons[i].launch = most - 1 - b->daemons[i].launch;
    free(later);
    return 0;
}

/* Groups by time. A new launch begins when a host occurs for the second
 * time. */
static int launches_by_time(struct copper_build *b, const struct order *order)
{
    size_t *next = calloc(b->n_daemons + 1, sizeof(*next)), now = 0;

    if (!next)
        return -1;
    for (size_t i = 0; i < b->n_daemons; i++) {
        size_t host = first_of_host(b, order[i].daemon);

        /* this host has had a daemon in the current launch */
        if (next[host] > now)
            now = next[host];
        b->daemons[order[i].daemon].launch = now;
        next[host] = now + 1;
    }
    free(next);
    return 0;
}

/* Makes the list of launches with their start times. */
static int list_launches(struct copper_build *b)
{
    struct jp_copper *c = b->copper;

    for (size_t i = 0; i < b->n_daemons; i++)
        if (b->daemons[i].launch >= c->n_launches)
            c->n_launches = b->daemons[i].launch + 1;
    if (!c->n_launches) /* missing ranks also belong to a launch */
        c->n_launches = 1;
    c->launches = calloc(c->n_launches, sizeof(*c->launches));
    if (!c->launches)
        return -1;
    /* a launch starts with its first daemon */
    for (size_t i = 0; i < c->n_launches; i++)
        c->launches[i].start_us = -1;
    for (size_t i = 0; i < b->n_daemons; i++) {
        struct jp_copper_launch *l = &c->launches[b->daemons[i].launch];
        int64_t start = b->daemons[i].log.start_us;

        if (start >= 0 && (l->start_us < 0 || start < l->start_us))
            l->start_us = start;
    }
    return 0;
}

/* By time if all logs have one, otherwise by host. */
static int find_launches(struct copper_build *b)
{
    struct order *order =
        calloc(b->n_daemons ? b->n_daemons : 1, sizeof(*order));
    bool by_log = true;
    int rc;

    if (!order)
        return -1;
    for (size_t i = 0; i < b->n_daemons; i++)
        by_log &= b->daemons[i].log.start_us >= 0;
    for (size_t i = 0; i < b->n_daemons; i++)
        order[i] = (struct order){time_of(&b->daemons[i], by_log), i};
    if (b->n_daemons)
        qsort(order, b->n_daemons, sizeof(*order), by_time);
    rc = by_log ? launches_by_time(b, order) : launches_by_host(b, order);
    free(order);
    return rc < 0 ? -1 : list_launches(b);
}

/* --- the expected daemons and their levels in the tree --- */

#define ROSTER_MAX 20000 /* each is searched for among the daemons */

/* Appends a name. Returns -1 without memory. */
static int add_host(char ***hosts, size_t *n, const char *host, size_t len)
{
    if (VECTOR_DOUBLE(*hosts, *n) < 0)
        return -1;
    (*hosts)[*n] = strndup(host, len);
    return (*hosts)[(*n)++] ? 0 : -1;
}

static void free_hosts(char **hosts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(hosts[i]);
    free(hosts);
}

/* Reads the hosts of one file in their order. A file that is no list is
 * noted. */
static int read_list(struct copper_build *b, const struct copper_file *file,
                     char ***hosts, size_t *n)
{
    struct copper_stream stream;
    struct jp_error why;
    const char *host;
    size_t len;
    int rc;

    if (copper_stream_open(&stream, file->path, &why) < 0)
        return copper_note(b, file->path, false, "%s", why.text);
    while ((rc = copper_book_next(&stream, &host, &len, &why)) > 0) {
        /* a file of that name that is something else */
        if (*n >= ROSTER_MAX || len >= COPPER_HOST_MAX) {
            rc = error_set(&why, "line %llu: no list of hosts",
                           (unsigned long long) stream.line);
            break;
        }
        if (add_host(hosts, n, host, len) < 0) {
            copper_stream_close(&stream);
            return -1;
        }
    }
    if (rc < 0)
        rc = copper_note(b, file->path, false, "%s", why.text);
    if (rc == 0)
        rc = copper_read_done(b, &stream);
    copper_stream_close(&stream);
    return rc;
}

/* Assigns levels of the tree by position in the address book, to daemons of the
 * last launch without a level in their log. The book may have short names. */
static void place(struct copper_build *b, char *const *book, size_t n)
{
    unsigned fanout = copper_tree_fanout(n);

    for (size_t k = 0; k < b->n_daemons; k++) {
        struct copper_daemon *d = &b->daemons[k];

        if (d->level >= 0 || d->launch + 1 != b->copper->n_launches ||
            /* several trees: the position in the book is not that in a tree */
            d->log.trees > 1)
            continue;
        for (size_t i = 0; i < n; i++)
            /* each daemon searches the book: see ROSTER_MAX */
            if (copper_same_host(book[i], d->host)) {
                d->level = (int) copper_tree_level(i, fanout);
                d->level_from = "address book";
                break;
            }
    }
}

/* Reads all lists of nodes into the roster. The longest address book gives the
 * levels. */
static int take_lists(struct copper_build *b)
{
    char **book = NULL, **hosts = NULL;
    size_t n_book = 0;
    int rc = 0;

    for (size_t i = 0; i < b->found.n && rc == 0; i++) {
        const struct copper_file *file = &b->found.files[i];
        size_t n = 0, k = 0;

        if (file->name.kind != COPPER_FILE_BOOK &&
            file->name.kind != COPPER_FILE_NODES)
            continue;
        hosts = NULL;
        rc = read_list(b, file, &hosts, &n);
        for (; k < n && rc == 0; k++)
            rc = add_host(&b->roster, &b->n_roster, hosts[k], strlen(hosts[k]));
        if (file->name.kind == COPPER_FILE_BOOK && n > n_book) {
            free_hosts(book, n_book);
            book = hosts;
            n_book = n;
        } else {
            free_hosts(hosts, n);
        }
    }
    if (rc == 0)
        place(b, book, n_book);
    free_hosts(book, n_book);
    return rc;
}

/* Sorts, and removes duplicates of short and full names. */
static void sort_roster(struct copper_build *b)
{
    size_t kept = 0;

    if (b->n_roster)
        qsort(b->roster, b->n_roster, sizeof(*b->roster), by_text);
    for (size_t i = 0; i < b->n_roster; i++) {
        if (kept && copper_same_host(b->roster[kept - 1], b->roster[i]))
            free(b->roster[i]);
        else
            b->roster[kept++] = b->roster[i];
    }
    b->n_roster = kept;
}

/* A level in the log is more reliable than one from the book. */
static int find_roster(struct copper_build *b)
{
    for (size_t i = 0; i < b->n_daemons; i++)
        if (b->daemons[i].log.level >= 0) {
            /* place() below skips these */
            b->daemons[i].level = b->daemons[i].log.level;
            b->daemons[i].level_from = "log";
        }
    if (take_lists(b) < 0)
        return -1;
    sort_roster(b);
    return 0;
}

int copper_daemons(struct copper_build *b)
{
    return list_roots(b) < 0 || group_files(b) < 0 || find_launches(b) < 0 ||
                   find_roster(b) < 0
               ? -1
               : 0;
}

void copper_daemons_fini(struct copper_build *b)
{
    free_hosts(b->roster, b->n_roster);
    free(b->daemons);
    found_fini(&b->found);
}
