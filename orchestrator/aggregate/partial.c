/* partial.c - write and read whole partials, find those of a step's nodes, and
 * merge those with unchanged logs.
 *
 * A partial is a head (magic, version) and blocks. A block is a frame (type,
 * length, CRC) and a payload. next_block reads frames; the payloads are read
 * and written by partial_files.c, partial_process.c, partial_tables.c and
 * partial_rows*.c. in_order has the order of the blocks.
 * docs/dev/partial-format.md describes all of it. */
#include "orchestrator/aggregate/partial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/vector.h"
#include "orchestrator/aggregate/busy.h"
#include "orchestrator/aggregate/partial_parts.h"
#include "orchestrator/aggregate/timeline.h"

/* As PNG does it: a byte above 127, line breaks and Ctrl-Z show whether a
 * transfer has changed the file. */
static const uint8_t magic[PARTIAL_MAGIC_BYTES] = {0x89, 'J',  'P',  'P',
                                                   '\r', '\n', 0x1a, '\n'};

/* The last block: the number of blocks before it. */
static void put_end(struct jpr_out *out, const void *arg)
{
    jpr_put_u64(out, *(const uint64_t *) arg);
}

/* Sorts members by communicator, which is their order in the file: a counting
 * sort. first[i] counts communicator i - 2 before it becomes a position. 0, or
 * -1 with err. */
static int sort_members(struct partial_out *w)
{
    const struct join *join = w->join;
    uint32_t n = join->n_comms;

    w->members = calloc(join->n_members + 1, sizeof(struct join_member *));
    w->first = calloc((size_t) n + 2, sizeof(*w->first));
    w->place = calloc(join->n_members + 1, sizeof(*w->place));
    if (!w->members || !w->first || !w->place)
        return error_set(w->err, "out of memory");
    for (uint32_t i = 0; i < join->n_members; i++)
        w->first[join->members[i]->comm + 2]++;
    /* from numbers to positions */
    for (uint32_t i = 2; i < n + 2; i++)
        w->first[i] += w->first[i - 1];
    /* afterwards first[i] is the first member of communicator i */
    for (uint32_t i = 0; i < join->n_members; i++) {
        w->place[i] = w->first[join->members[i]->comm + 1]++;
        w->members[w->place[i]] = join->members[i];
    }
    return 0;
}

/* Writes all blocks in the order that in_order expects. 0, or -1 with err. */
static int put_all(struct partial_out *w, const struct jp_logwalk *walk,
                   size_t skip, const struct source_facts *files)
{
    const struct join *join = w->join;

    if (partial_put_files(w, walk, skip, files) < 0 ||
        partial_put_processes(w, walk, files) < 0 || partial_put_tables(w) < 0)
        return -1;
    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_series; k++)
            if (partial_put_series(w, i, join->comms[i]->series[k]) < 0)
                return -1;
    if (partial_put_strays(w) < 0 || partial_put_phases(w) < 0)
        return -1;
    return partial_put_block(w, PARTIAL_END, put_end, &w->blocks);
}

int partial_write(FILE *stream, struct join *join,
                  const struct jp_logwalk *walk, size_t skip,
                  const struct source_facts *files, struct jp_error *err)
{
    struct partial_out w = {.stream = stream, .join = join, .err = err};
    uint8_t head[PARTIAL_HEAD_BYTES];
    int rc;

    memcpy(head, magic, PARTIAL_MAGIC_BYTES);
    jpr_put_le32(head + PARTIAL_MAGIC_BYTES, PARTIAL_VERSION);
    rc = sort_members(&w);
    if (rc == 0 && fwrite(head, sizeof(head), 1, stream) != 1)
        rc = error_set(err, "%s", strerror(errno));
    if (rc == 0)
        rc = put_all(&w, walk, skip, files);
    free(w.members);
    free(w.first);
    free(w.place);
    free(w.out.bytes);
    return rc;
}

/* --- read head, blocks and end of a partial --- */

enum { FIRST_ROOM = 4096 }; /* for a payload; grows */

/* Reads the next block into partial->bytes and checks its CRC. Returns its
 * type, or -1 with err. *in covers the payload until the next call. */
static int next_block(struct partial *p, struct jpr_in *in,
                      struct jp_error *err)
{
    uint8_t frame[PARTIAL_FRAME_BYTES];
    uint32_t type, n;

    if (fread(frame, sizeof(frame), 1, p->stream) != 1)
        return error_set(err, "the partial is cut");
    /* type, length, CRC */
    type = jpr_get_le32(frame);
    n = jpr_get_le32(frame + 4);
    if (type < PARTIAL_FILES || type >= PARTIAL_N_TYPES ||
        n > PARTIAL_MAX_BLOCK)
        return error_set(err, "the partial is damaged");
    for (size_t got = 0; got < n;) {
        size_t part = n - got < 1 << 20 ? n - got : 1 << 20;

        /* room grows with what is read: a damaged length must not allocate 64
         * MB */
        if (VECTOR_ROOM(p->bytes, got + part, p->room) < 0)
            return error_set(err, "out of memory");
        if (fread(p->bytes + got, 1, part, p->stream) != part)
            return error_set(err, "the partial is cut");
        got += part;
    }
    if (partial_check(frame, p->bytes, n) != jpr_get_le32(frame + 8))
        return error_set(err, "the partial is damaged");
    *in = (struct jpr_in){.at = p->bytes, .end = p->bytes + n};
    return (int) type;
}

static bool reads_version(uint32_t version)
{
    return version == PARTIAL_VERSION ||
           (version >= PARTIAL_OLDEST && version <= PARTIAL_BEFORE);
}

/* Opens a partial and reads its first block, the list of files. Owns stream
 * afterwards, also on failure. NULL and err: as partial_open. */
static struct partial *open_stream(FILE *stream, struct jp_error *err)
{
    struct partial *p = calloc(1, sizeof(*p));
    uint8_t head[PARTIAL_HEAD_BYTES];
    struct jpr_in in;
    int type;

    if (p)
        p->bytes = malloc(FIRST_ROOM);
    if (!p || !p->bytes) {
        free(p);
        fclose(stream);
        error_set(err, "out of memory");
        return NULL;
    }
    p->room = FIRST_ROOM;
    p->stream = stream;
    p->timeline_events = UINT64_MAX; /* until the caller sets a limit */
    /* head, version, list of files */
    if (fread(head, sizeof(head), 1, stream) != 1 ||
        memcmp(head, magic, PARTIAL_MAGIC_BYTES) != 0)
        error_set(err, "its first bytes are not those of a partial");
    else if (p->version = jpr_get_le32(head + PARTIAL_MAGIC_BYTES),
             !reads_version(p->version))
        error_set(err,
                  "a partial of version %u; this release reads %d to %d and %d",
                  p->version, PARTIAL_OLDEST, PARTIAL_BEFORE, PARTIAL_VERSION);
    else if ((type = next_block(p, &in, err)) >= 0) {
        if (type == PARTIAL_FILES && partial_get_files(p, &in) == 0)
            return p;
        error_set(err, "the partial is damaged");
    }
    /* not ENOENT: there is a file, but no good one */
    errno = EINVAL;
    partial_close(p);
    return NULL;
}

struct partial *partial_open(const char *path, struct jp_error *err)
{
    int fd = fileio_open_regular(path, false, err);
    FILE *stream = fd >= 0 ? fdopen(fd, "rb") : NULL;

    if (stream)
        return open_stream(stream, err);
    if (fd >= 0) {
        close(fd);
        error_set(err, "out of memory");
    }
    return NULL;
}

struct partial *partial_open_bytes(const void *bytes, size_t n,
                                   struct jp_error *err)
{
    /* fmemopen refuses an empty buffer */
    FILE *stream = n ? fmemopen((void *) (uintptr_t) bytes, n, "rb") : NULL;

    if (stream)
        return open_stream(stream, err);
    error_set(err, "the partial is cut");
    return NULL;
}

struct hangs_evidence *partial_load_hangs(struct partial *partial, size_t *n,
                                          struct jp_error *err)
{
    size_t most = partial->n_recordings;
    struct hangs_evidence *all = calloc(most + 1, sizeof(*all));
    struct partial_in r = {.partial = partial};

    if (!all) {
        error_set(err, "out of memory");
        return NULL;
    }
    /* the blocks after the list of files, one for each recording */
    for (*n = 0; *n < most; ++*n) {
        int type = next_block(partial, &r.in, err);

        if (type < 0)
            break;
        r.evidence = &all[*n];
        if (type != PARTIAL_HANG || partial_get_process(&r, type) < 0) {
            error_set(err, "the partial is damaged");
            break;
        }
    }
    if (*n == most)
        return all;
    partial_free_hangs(all, *n);
    return NULL;
}

/* Reads the timelines, which lie in front of the tables, and nothing else. 0,
 * or -1: damaged. */
static int load_timelines(struct partial *partial)
{
    struct partial_in r = {.partial = partial};
    int type;

    while ((type = next_block(partial, &r.in, NULL)) == PARTIAL_HANG ||
           type == PARTIAL_SEQUENCE || type == PARTIAL_TIMELINE ||
           type == PARTIAL_STRIP ||
           type == PARTIAL_INTERVALS) /* other than timelines are skipped */
        if (type == PARTIAL_TIMELINE &&
            (partial_get_process(&r, PARTIAL_TIMELINE) < 0 || r.in.bad ||
             r.in.at != r.in.end))
            return -1;
    return type == PARTIAL_TABLES ? 0 : -1;
}

void partial_free_hangs(struct hangs_evidence *evidence, size_t n)
{
    for (size_t i = 0; evidence && i < n; i++)
        hangs_evidence_fini(&evidence[i]);
    free(evidence);
}

/* The order of blocks: files, one block for each recording, timelines, tables
 * (once), and the blocks that refer to these. */
static bool in_order(const struct partial *p, const struct partial_in *r,
                     int type)
{
    if (type == PARTIAL_FILES) /* only the first block */
        return false;
    if (type == PARTIAL_HANG)
        /* r->first is set once the tables were read */
        return !r->first && r->n_hangs < p->n_recordings;
    /* types that this version does not have */
    if ((type == PARTIAL_STRIP && p->version < PARTIAL_STRIPS) ||
        (type == PARTIAL_MESSAGES && p->version < PARTIAL_COURSE) ||
        (type == PARTIAL_MEMBERS && p->version < PARTIAL_PROCESSES) ||
        (type == PARTIAL_SEQUENCE && p->version < PARTIAL_SEQUENCES) ||
        (type == PARTIAL_INTERVALS && p->version < PARTIAL_OWN) ||
        (type == PARTIAL_WORD && p->version < PARTIAL_WORDS) ||
        (type == PARTIAL_PHASES && p->version < PARTIAL_WORDS))
        return false;
    if (type == PARTIAL_TABLES || type == PARTIAL_SEQUENCE ||
        type == PARTIAL_TIMELINE || type == PARTIAL_STRIP ||
        type == PARTIAL_INTERVALS)
        return !r->first && r->n_hangs == p->n_recordings;
    return r->first;
}

/* The clock that all members of a join share; NULL: their times are not
 * mapped. False: the members have several clocks. */
static bool has_one_clock(const struct join *join,
                          const struct clockmap_node **clock)
{
    *clock = NULL;
    /* a partial is of one node, but its hosts come from records */
    for (uint32_t i = 0; i < join->n_members; i++) {
        const char *host = join->members[i]->host;
        const struct clockmap_node *its = clockmap_find(
            join->budget->clocks, host ? host : "", host ? strlen(host) : 0);

        if (i && its != *clock)
            return false;
        *clock = its;
    }
    return true;
}

/* Reads a payload by the file that is in charge of its type. */
static int take_payload(struct partial_in *r, enum partial_block type)
{
    switch (type) {
    case PARTIAL_HANG:
    case PARTIAL_SEQUENCE:
    case PARTIAL_TIMELINE:
    case PARTIAL_STRIP:
    case PARTIAL_INTERVALS:
        return partial_get_process(r, type);
    case PARTIAL_OPS:
        return partial_get_ops(r);
    case PARTIAL_PHASES:
        return partial_get_phases(r);
    default:
        return partial_get_table(r, type);
    }
}

/* Reads one of the other blocks. 0: there are more; 1: the end; -1: damaged. */
static int take_block(struct partial *p, struct partial_in *r, uint64_t *blocks,
                      struct jp_error *err)
{
    int type = next_block(p, &r->in, err);
    bool good;

    if (type < 0)
        return -1;
    good = in_order(p, r, type);
    if (good && type == PARTIAL_END)
        good = jpr_get_u64(&r->in) == *blocks && !r->in.bad &&
               fgetc(p->stream) == EOF;
    else if (good)
        good = take_payload(r, (enum partial_block) type) == 0;
    /* the tables name the hosts: from here on times can be put on the common
     * clock */
    if (good && type == PARTIAL_TABLES && !has_one_clock(r->join, &r->clock))
        return error_set(err, "it has records of several nodes");
    /* a payload must be used to its last byte */
    if (!good || r->in.bad || r->in.at != r->in.end)
        return error_set(err, "the partial is damaged");
    ++*blocks; /* PARTIAL_END has their number */
    return type == PARTIAL_END;
}

/* Returns the join's bytes to the budget. Only join_destroy may follow. */
static void give_back(struct join *join)
{
    atomic_fetch_sub(&join->budget->used, join->charged);
    join->charged = 0;
}

struct join *partial_load(struct partial *partial, struct join_budget *budget,
                          struct jp_error *err)
{
    /* not ordered: repeated records must show as a conflict */
    struct partial_in r = {.join = join_create(budget, false),
                           .partial = partial};
    uint64_t blocks = 1; /* the list of files */
    int rc = r.join ? 0 : error_set(err, "out of memory");

    while (rc == 0)
        rc = take_block(partial, &r, &blocks, err);
    if (rc < 0 && r.join) {
        partial->over = r.join->over;
        give_back(r.join);
        join_destroy(r.join); /* the logs are read instead */
        r.join = NULL;
    }
    free(r.rows);
    free(r.lanes);
    free(r.first);
    return r.join;
}

void partial_close(struct partial *partial)
{
    /* callers look at errno after a failed open */
    int kept = errno;

    if (!partial)
        return;
    for (size_t i = 0; i < partial->n_files; i++) {
        free(partial->files[i].path);
        reader_facts_fini(&partial->files[i].read);
        busy_destroy(partial->files[i].read.busy);
        timeline_destroy(partial->files[i].read.timeline);
        timeline_destroy(partial->files[i].read.sequence);
    }
    free(partial->files);
    free(partial->bytes);
    fclose(partial->stream);
    free(partial);
    errno = kept;
}

/* --- find partials, and merge those that hold --- */

/* The number of logs from `first` on in the same folder of raw, which is named
 * after its node. *skip: length of their common path. 0: the log is in no such
 * folder. */
static size_t logs_of_node(const struct jp_logwalk *walk, size_t first,
                           size_t raw_len, size_t *skip)
{
    const char *path = walk->logs[first].path, *end;
    size_t n = 1;

    end = strlen(path) > raw_len ? strchr(path + raw_len + 1, '/') : NULL;
    if (!end || path[raw_len] != '/')
        return 0;
    *skip = (size_t) (end - path) + 1;
    while (first + n < walk->n_logs &&
           !strncmp(walk->logs[first + n].path, path, *skip))
        n++;
    return n;
}

/* Compares a partial's list of files with the logs that are there. NULL: all
 * are as the partial names them. Otherwise the reason, a constant. */
static const char *differs(const struct partial *partial,
                           const struct partial_node *node,
                           const struct jp_logwalk *walk)
{
    if (partial->n_files != node->n) /* one was added or removed */
        return "the set of files has changed";
    for (size_t i = 0; i < node->n; i++) {
        const struct jp_logfile *log = &walk->logs[node->first + i];
        const struct partial_file *file = &partial->files[i];

        if (strcmp(log->path + node->skip, file->path))
            return "the set of files has changed";
        if (log->size != file->size || log->mtime_us != file->mtime_us)
            return "a file has changed since";
    }
    return NULL;
}

/* Opens a node's partial. NULL: node->why has the reason, or is empty if there
 * is no partial. */
static struct partial *open_matching(struct partial_node *node,
                                     const struct jp_logwalk *walk)
{
    struct jp_error err = {""};
    struct partial *partial = partial_open(node->path, &err);
    const char *why;

    if (!partial) {
        /* a node without a partial is nothing to report */
        if (errno != ENOENT)
            snprintf(node->why, sizeof(node->why), "%.190s", err.text);
        return NULL;
    }
    why = differs(partial, node, walk);
    if (!why)
        return partial;
    snprintf(node->why, sizeof(node->why), "%s", why);
    partial_close(partial);
    return NULL;
}

/* Adds the node of a log if it has a partial. -1: no memory. */
static int add_node(struct partial_set *set, const struct jp_logwalk *walk,
                    const char *folder, size_t raw_len,
                    struct partial_node node)
{
    const char *name = walk->logs[node.first].path + raw_len + 1;
    struct partial *partial;

    if (VECTOR_DOUBLE(set->nodes, set->n) < 0)
        return -1;
    /* node.skip ends after the slash that follows the name */
    node.name = strndup(name, node.skip - raw_len - 2);
    node.path = node.name ? text_format("%s/%s/partial.jpp", folder, node.name)
                          : NULL;
    for (size_t i = 0; i < node.n; i++)
        node.bytes += walk->logs[node.first + i].size;
    set->nodes[set->n++] = node; /* partial_set_fini frees it now */
    if (!node.path)
        return -1;
    /* opened now to find out whether it is good, and again when a thread reads
     * it */
    partial = open_matching(&set->nodes[set->n - 1], walk);
    set->nodes[set->n - 1].good = partial != NULL;
    partial_close(partial);
    return 0;
}

/* Whether one of the first n logs, which are sorted by path, is below a folder.
 */
static bool has_logs(const struct jp_logwalk *walk, size_t n,
                     const char *folder)
{
    size_t len = strlen(folder), low = 0, high = n;

    /* the first log that is not before those of the folder: bisection, as there
     * may be thousands of nodes with thousands of logs */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *path = walk->logs[middle].path;
        int order = strncmp(path, folder, len);

        if (order < 0 || (order == 0 && (unsigned char) path[len] < '/'))
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && !strncmp(walk->logs[low].path, folder, len) &&
           walk->logs[low].path[len] == '/'; /* not only the same begin */
}

/* Whether a file name of a partial stays within its node's folder. finish
 * writes no others, but a partial is foreign input. */
static bool stays_inside(const char *path)
{
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (!*at || *at == '/' || !strncmp(at, "../", 3) || !strcmp(at, ".."))
            return false;
    }
    return true;
}

/* Adds the logs of one node from its partial. -1: no memory. */
static int recall(struct jp_logwalk *walk, const struct partial *partial,
                  const char *folder)
{
    if (vector_resize(&walk->logs, walk->n_logs + partial->n_files + 1,
                      sizeof(*walk->logs)) < 0)
        return -1;
    /* one bad name, and none of the partial's files is used */
    for (size_t i = 0; i < partial->n_files; i++)
        if (!stays_inside(partial->files[i].path))
            return 0;
    for (size_t i = 0; i < partial->n_files; i++) {
        const struct partial_file *file = &partial->files[i];
        char *path = text_format("%s/%s", folder, file->path);

        if (!path)
            return -1;
        walk->logs[walk->n_logs++] = (struct jp_logfile){
            .path = path, .size = file->size, .mtime_us = file->mtime_us};
    }
    return 0;
}

/* Adds the node if its partial is all that is left of it. -1: no memory. */
static int recall_node(struct jp_logwalk *walk, size_t n_seen, const char *raw,
                       const char *folder, const char *node)
{
    char *path = text_format("%s/%s/partial.jpp", folder, node);
    char *logs = text_format("%s/%s", raw, node);
    struct partial *partial = NULL;
    int rc = path && logs ? 0 : -1;

    if (rc == 0 && !has_logs(walk, n_seen, logs)) /* its logs are gone */
        partial = partial_open(path, NULL);
    if (partial)
        rc = recall(walk, partial, logs);
    partial_close(partial);
    free(path);
    free(logs);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    const struct jp_logfile *x = a, *y = b;

    return strcmp(x->path, y->path);
}

/* For nodes without any log below raw: adds to the walk the logs from which
 * folder/<node>/partial.jpp was made. 0, or -1: no memory. */
static int recall_all(struct jp_logwalk *walk, const char *raw,
                      const char *folder)
{
    DIR *dir = opendir(folder);
    size_t n_seen = walk->n_logs;
    struct dirent *entry;
    struct stat st;
    int rc = 0;

    while (rc == 0 && dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode))
            rc = recall_node(walk, n_seen, raw, folder, entry->d_name);
    if (dir)
        closedir(dir);
    if (walk->n_logs > n_seen)
        qsort(walk->logs, walk->n_logs, sizeof(*walk->logs), by_path);
    for (size_t i = walk->bytes = 0; i < walk->n_logs; i++) /* sum it up anew */
        walk->bytes += walk->logs[i].size;
    return rc;
}

int partial_set_init(struct partial_set *set, struct jp_logwalk *walk,
                     const char *raw, const char *folder, bool gone)
{
    size_t n, raw_len = strlen(raw);

    *set = (struct partial_set){0};
    if (gone && recall_all(walk, raw, folder) < 0)
        return -1;
    /* logs are sorted by path, so those of one folder follow each other */
    for (size_t i = 0; i < walk->n_logs; i += n ? n : 1) {
        struct partial_node node = {.first = i};

        node.n = n = logs_of_node(walk, i, raw_len, &node.skip);
        if (n && add_node(set, walk, folder, raw_len, node) < 0) {
            partial_set_fini(set);
            return -1;
        }
    }
    return 0;
}

struct partial_node *partial_set_at(const struct partial_set *set, size_t *next,
                                    size_t log)
{
    while (set && *next < set->n && set->nodes[*next].first < log)
        ++*next;
    return set && *next < set->n && set->nodes[*next].first == log
               ? &set->nodes[*next]
               : NULL;
}

void partial_set_fini(struct partial_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        free(set->nodes[i].path);
        free(set->nodes[i].name);
    }
    free(set->nodes);
    *set = (struct partial_set){0};
}

enum join_status partial_set_read(struct partial_node *node,
                                  const struct jp_logwalk *walk,
                                  struct join *join, uint64_t events,
                                  struct source_facts *files)
{
    struct partial *partial = open_matching(node, walk);
    struct jp_error err = {""};
    struct join *from;
    enum join_status status;

    /* changed since it was looked at; node->why has the reason */
    if (!partial)
        return JOIN_LEFT_OUT;
    partial->timeline_events = events;
    from = partial_load(partial, join->budget, &err);
    if (!from) {
        snprintf(node->why, sizeof(node->why), "%.190s", err.text);
        join->conflict |= partial->over; /* memory limit: join again in order */
        status = partial->over ? JOIN_OK : JOIN_LEFT_OUT;
    } else {
        status = join_merge(join, from);
        node->used = status == JOIN_OK && !join->conflict;
        for (size_t i = 0; i < node->n && node->used; i++) {
            files[node->first + i] = partial->files[i].read;
            /* all it owns is the other one's now */
            partial->files[i].read = (struct source_facts){0};
        }
        if (status == JOIN_LEFT_OUT) /* memory limit; conflict is set */
            status = JOIN_OK;
    }
    /* the merged join has charged the bytes for itself */
    if (from)
        give_back(from);
    join_destroy(from);
    partial_close(partial);
    return status;
}

int partial_set_timelines(const struct partial_node *node,
                          const struct jp_logwalk *walk, uint64_t events,
                          struct timeline **timelines)
{
    struct partial *partial = partial_open(node->path, NULL);
    /* 1: the logs have to be read */
    int rc = 1;

    if (partial && !differs(partial, node, walk)) {
        partial->timeline_events = events;
        rc = load_timelines(partial) < 0;
    }
    for (size_t i = 0; rc == 0 && i < node->n; i++) {
        timelines[node->first + i] = partial->files[i].read.timeline;
        partial->files[i].read.timeline = NULL; /* now owned by the other one */
    }
    partial_close(partial);
    return rc;
}

int partial_set_hangs(const struct partial_node *node,
                      const struct jp_logwalk *walk, struct hangs_sum *sum)
{
    struct partial *partial = partial_open(node->path, NULL);
    struct hangs_evidence *all = NULL;
    size_t n = 0;
    int rc = 0;

    if (partial && !differs(partial, node, walk))
        all = partial_load_hangs(partial, &n, NULL);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = hangs_sum_add(sum, &all[i]);
    if (!all)
        rc = 1; /* the recordings are read instead */
    partial_free_hangs(all, n);
    partial_close(partial);
    return rc;
}
