/* livelog.c - follow a node's logs of ended operations while they grow.
 *
 * livelog_look is the entry: it finds new files (scan_files), and for each file
 * (look_at_file) notes its growth, reads new bytes (read_file), passes whole
 * lines to the profiler's reader (read_lines), takes its records (take_record),
 * and updates the process's state. livelog_fill puts the results into a
 * snapshot. struct log_file is one process. */
#include "orchestrator/live/livenode.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/logsource.h"
#include "common/num.h"
#include "common/ownproc.h"
#include "common/vector.h"

#define MS_NS UINT64_C(1000000)
/* As in livenode.c. */
#define SCAN_NS (5000 * MS_NS)
#define FILES_MAX LIVE_RANKS_MAX
/* Limits per file, because a file may contain anything. What exceeds them is
 * only counted. */
#define COMMS_MAX 256
#define SERIES_MAX 512
/* Number of growths needed before a log's pace is known. */
#define GROWTHS 3
/* A file that has not grown for this time is read to its end before its turn.
 */
#define CALM_NS (2000 * MS_NS)
/* A batch may be late by this time. */
#define BATCH_SPARE_MS 1000

struct log_comm {
    uint64_t hash;
    int64_t n_ranks, n_nodes, rank;
    char name[RECORD_MAX_NAME + 1];
};

/* A function in a communicator; the Sends or Recvs of one communicator are a
 * series as well. */
struct log_series {
    uint32_t comm;
    enum jpr_op_kind kind;
    char func[RECORD_MAX_FUNC + 1];
    uint64_t next;    /* one more than the largest number seen; 0: none */
    uint64_t missing; /* numbers below `next` that have not been seen */
    double ended; /* Send and Recv, which have no numbers: from the lines and
                     the bytes passed over */
    bool known;   /* a line was seen since bytes were passed over */
};

/* A process: its log, and its state from /proc. */
struct log_file {
    char *path;
    uint64_t inode, size, offset;
    uint64_t read_size;          /* its size when it was read last */
    struct reader_resume resume; /* the reader's, at offset */
    bool midst; /* offset is inside a line that is passed over */
    bool failed;
    double scale; /* bytes that arrived in this turn, divided by bytes that were
                     read */
    int64_t pid;  /* -1: no line was read yet */
    struct log_comm *comms;
    uint32_t n_comms;
    struct log_series *series;
    size_t n_series;
    struct liverate rate;
    struct livecells cells;
    struct livewatch watch;
    /* of the operations that were read; operations counted in `bytes` */
    uint64_t sample_bytes, sample_ops, bytes_over;
    double bytes;      /* of all ended operations, estimated */
    uint64_t grown_ns; /* time of the last growth, monotonic */
    unsigned growths;
    uint64_t longest_ns; /* longest time without a growth, not counting the
                            current one */
    enum hung_state state;
    bool is_long; /* silent for longer than ever before, at the last look */
};

struct livelog {
    struct livenode_place place;
    struct reader_states *states;
    struct log_file *files[FILES_MAX];
    size_t n; /* number of entries in files */
    struct livenode_left left;
    uint64_t scanned_ns, turn; /* turn: as in liverate_turn */
    struct livelog_cost cost;
    char *buf; /* LIVELOG_READ bytes */
};

const struct livenode_left *livelog_left(const struct livelog *log)
{
    return &log->left;
}

struct livelog_cost livelog_cost(const struct livelog *log)
{
    return log->cost;
}

/* --- files ---------------------------------------------------------------- */

static void drop_file(struct log_file *f)
{
    liverate_fini(&f->rate);
    livecells_fini(&f->cells);
    free(f->comms);
    free(f->series);
    free(f->path);
    free(f);
}

struct livelog *livelog_create(const struct livenode_place *place)
{
    struct livelog *log = calloc(1, sizeof(*log));

    if (!log)
        return NULL;
    log->place = *place;
    log->states = reader_states_create();
    log->buf = malloc(LIVELOG_READ);
    if (log->states && log->buf)
        return log;
    livelog_destroy(log);
    return NULL;
}

void livelog_destroy(struct livelog *log)
{
    for (size_t i = 0; log && i < log->n; i++)
        drop_file(log->files[i]);
    if (log) {
        reader_states_destroy(log->states);
        free(log->buf);
    }
    free(log);
}

/* Whether the file belongs to this profiler, by its name and first bytes. */
static bool is_log(const struct livelog *log, const char *path)
{
    size_t len = strlen(path);
    struct jp_error err;

    return len > 4 && !strcmp(path + len - 4, ".log") &&
           reader_find(path, true, &err) == log->place.reader;
}

/* Adds a file that is not followed yet. */
static void add_file(struct livelog *log, const char *name,
                     const struct stat *st, const struct livenode_time *now)
{
    uint64_t changed_ns = (uint64_t) st->st_mtim.tv_sec * 1000000000 +
                          (uint64_t) st->st_mtim.tv_nsec;
    struct log_file *f;
    char *path;

    for (size_t i = 0; i < log->n; i++)
        if (!strcmp(strrchr(log->files[i]->path, '/') + 1, name))
            return;
    path = text_format("%s/%s", log->place.raw, name);
    if (!path || !is_log(log, path) || log->n == FILES_MAX) {
        if (path && is_log(log, path))
            livetask_leave(&log->left, name);
        free(path);
        return;
    }
    f = calloc(1, sizeof(*f));
    if (!f) {
        free(path);
        return;
    }
    f->path = path;
    f->inode = st->st_ino;
    f->pid = -1;
    f->scale = 1;
    /* The file may have grown last long before this look, so its age counts as
     * silence. A file older than this boot is treated as new. */
    f->grown_ns = now->mono_ns;
    if (now->real_ns > changed_ns && now->real_ns - changed_ns < now->mono_ns)
        f->grown_ns -= now->real_ns - changed_ns;
    log->files[log->n++] = f;
}

static void scan_files(struct livelog *log, const struct livenode_time *now)
{
    DIR *dir = opendir(log->place.raw);
    struct dirent *entry;
    struct stat st;

    log->left = (struct livenode_left){0};
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_size > 0)
            add_file(log, entry->d_name, &st, now);
    if (dir)
        closedir(dir);
    log->scanned_ns = now->mono_ns;
}

/* --- the content of a line ------------------------------------------------ */

/* Where the reader's records go. */
struct way {
    struct livelog *log;
    struct log_file *file;
    bool full; /* no memory, or too many */
};

/* Finds or adds the record's communicator. Returns its index; UINT32_MAX if
 * there is no room. */
static uint32_t comm_of(struct log_file *f, const struct record *r)
{
    uint64_t hash = 0;
    struct log_comm *more;
    char id[RECORD_MAX_ID + 1];

    snprintf(id, sizeof(id), "%.*s", (int) r->id.len, r->id.text);
    /* The id is "0x" and hexadecimal digits, as in recordings. */
    hash = strtoull(id, NULL, 16);
    for (uint32_t i = 0; i < f->n_comms; i++)
        if (f->comms[i].hash == hash && f->comms[i].rank == r->rank &&
            f->comms[i].n_ranks == r->n_ranks)
            return i;
    if (f->n_comms == COMMS_MAX || VECTOR_DOUBLE(f->comms, f->n_comms) < 0)
        return UINT32_MAX;
    more = &f->comms[f->n_comms];
    *more = (struct log_comm){.hash = hash,
                              .n_ranks = r->n_ranks,
                              .n_nodes = r->nnodes,
                              .rank = r->rank};
    snprintf(more->name, sizeof(more->name), "%.*s", (int) r->name.len,
             r->name.len ? r->name.text : "");
    return f->n_comms++;
}

/* Finds or adds the series. Returns NULL if there is no room. */
static struct log_series *series_of(struct log_file *f,
                                    const struct liverate_series *key)
{
    struct log_series *more;

    for (size_t i = 0; i < f->n_series; i++)
        if (f->series[i].comm == key->comm && f->series[i].kind == key->kind &&
            !strcmp(f->series[i].func, key->func))
            return &f->series[i];
    if (f->n_series == SERIES_MAX || VECTOR_DOUBLE(f->series, f->n_series) < 0)
        return NULL;
    more = &f->series[f->n_series++];
    *more = (struct log_series){.comm = key->comm, .kind = key->kind};
    memcpy(more->func, key->func, sizeof(more->func));
    return more;
}

/* Counts an ended operation. Lines of a series may be in another order than
 * their numbers, so gaps are remembered: a gap may be filled later. */
static void take_number(struct log_series *s, const struct record *r,
                        double scale)
{
    if (s->kind == JPR_P2P || !r->has_sn || r->sn >= UINT64_MAX / 2) {
        s->ended += scale;
        return;
    }
    if (r->sn >= s->next) {
        /* The first number after a gap in reading shows nothing about the
         * numbers before it. */
        if (s->known)
            s->missing += r->sn - s->next;
        s->next = r->sn + 1;
    } else if (s->missing) {
        s->missing--;
    }
    s->known = true;
}

static int take_record(struct way *w, const struct record *r)
{
    struct log_file *f = w->file;
    struct liverate_series key = {.comm = comm_of(f, r),
                                  .kind = r->p2p ? JPR_P2P : JPR_COLL};
    uint64_t us = r->exec_unknown ? 0 : r->exec_us;
    struct log_series *s;

    snprintf(key.func, sizeof(key.func), "%.*s", (int) r->func.len,
             r->func.len ? r->func.text : "");
    s = key.comm == UINT32_MAX ? NULL : series_of(f, &key);
    if (!s) {
        w->full = true;
        return 0;
    }
    /* A log belongs to one process, so the first pid holds. */
    if (f->pid < 0)
        f->pid = r->pid;
    take_number(s, r, f->scale);
    f->sample_bytes = num_add(f->sample_bytes, r->bytes);
    f->sample_ops++;
    liverate_add(&f->rate, &key, r->bytes, us);
    if (w->log->place.cells) {
        const struct log_comm *comm = &f->comms[key.comm];
        struct livecell cell = {.kind = key.kind,
                                .n_nodes = comm->n_nodes,
                                .n_ranks = comm->n_ranks};

        memcpy(cell.comm, comm->name, sizeof(cell.comm));
        memcpy(cell.func, key.func, sizeof(cell.func));
        livecells_add(&f->cells, &cell, r->bytes, us);
    }
    return 0;
}

static int take_records(void *arg, const struct record *records, size_t n)
{
    for (size_t i = 0; i < n; i++)
        take_record(arg, &records[i]);
    return 0;
}

/* Passes whole lines to the profiler's own reader. Returns 0, or -1 without
 * memory. */
static int read_lines(struct livelog *log, struct log_file *f, const char *text,
                      size_t len)
{
    static const atomic_bool stop = false;
    _Atomic uint64_t done = 0;
    struct way way = {log, f, false};
    const struct reader_sink sink = {.take = take_records, .arg = &way};
    const struct reader_input in = {.path = f->path,
                                    .data = text,
                                    .len = len,
                                    .to = UINT64_MAX,
                                    .stop = &stop,
                                    .done = &done,
                                    .resume = &f->resume};
    struct source_facts facts = {0};
    int rc;

    /* a plain file that continues as a compressed one is damaged */
    if (len >= 2 && logsource_is_packed(text)) {
        log->cost.bad++;
        return 0;
    }
    rc = reader_read(log->states, log->place.reader, &in, &sink, &facts);
    reader_facts_fini(&facts);
    log->cost.bad += facts.bad_lines + way.full;
    return rc;
}

/* --- the bytes of a file -------------------------------------------------- */

/* Reads the last LIVELOG_READ bytes of what has arrived. Returns 0, or -1
 * without memory. */
static int read_bytes(struct livelog *log, struct log_file *f, int fd)
{
    uint64_t came = f->size > f->offset ? f->size - f->offset : 0;
    const char *text = log->buf, *end;
    ssize_t n;

    /* Too much arrived: skip to the last bytes, and remember what share was
     * read. */
    f->scale = 1;
    if (came > LIVELOG_READ) {
        log->cost.passed += came - LIVELOG_READ;
        f->scale = (double) came / LIVELOG_READ;
        f->offset = f->size - LIVELOG_READ;
        f->midst = true;
        f->resume = (struct reader_resume){{0}};
        for (size_t i = 0; i < f->n_series; i++)
            f->series[i].known = false;
    }
    n = pread(fd, log->buf, LIVELOG_READ, (off_t) f->offset);
    if (n <= 0)
        return 0;
    log->cost.read += (uint64_t) n;
    end = memrchr(text, '\n', (size_t) n);
    if (!end) { /* half a line waits for its end; one without an end is passed
                   over */
        if (n == LIVELOG_READ || f->midst) {
            log->cost.bad += !f->midst;
            f->offset += (uint64_t) n;
            f->midst = true;
        }
        return 0;
    }
    f->offset += (uint64_t) (end + 1 - text);
    if (f->midst)
        text = (const char *) memchr(text, '\n', (size_t) n) + 1;
    f->midst = false;
    return text <= end ? read_lines(log, f, text, (size_t) (end + 1 - text))
                       : 0;
}

static int read_file(struct livelog *log, struct log_file *f,
                     struct jp_error *err)
{
    int fd = open(f->path,
                  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY),
        rc;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_ino != f->inode) {
        rc = fd < 0 && errno != ENOENT && !f->failed
                 ? error_set(err, "%s: %s", f->path, strerror(errno))
                 : 0;
        f->failed |= rc < 0; /* report the error once */
    } else {
        f->read_size = f->size;
        rc = read_bytes(log, f, fd) < 0
                 ? error_set(err, "%s: no memory", f->path)
                 : 0;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Returns the silence of a log, in ms, that means nothing yet: lines arrive in
 * batches. */
static uint64_t pause_ms(const struct livelog *log)
{
    uint64_t ms = num_add(num_mul(log->place.batch_ms, 3), BATCH_SPARE_MS);
    uint64_t silent = log->place.times->ms[HUNG_SILENT];

    return ms > silent ? ms : silent;
}

/* The log has grown: learns how long it had been silent. A silence that looks
 * like a hang teaches nothing, or the limit would grow with every hang. */
static void note_growth(struct livelog *log, struct log_file *f,
                        uint64_t now_ns)
{
    uint64_t passed = now_ns - f->grown_ns, most;

    most = num_mul(log->place.times->ms[HUNG_LEAST] * MS_NS,
                   HUNG_BUSY_TIMES * HUNG_LEARN_TIMES);
    if (most < f->longest_ns * HUNG_LEARN_TIMES)
        most = f->longest_ns * HUNG_LEARN_TIMES;
    if (most < log->place.batch_ms * MS_NS * HUNG_LEARN_TIMES)
        most = log->place.batch_ms * MS_NS * HUNG_LEARN_TIMES;
    /* The first growth has no silence before it. Until the pace is known,
     * everything is learnt. */
    if (f->growths && passed > f->longest_ns &&
        (passed < most || f->growths < GROWTHS))
        f->longest_ns = passed;
    f->growths += f->growths < GROWTHS;
    f->grown_ns = now_ns;
}

/* Looks at the file's size and inode. A file that has gone keeps what was read
 * from it. */
static void look_at_size(struct livelog *log, struct log_file *f,
                         uint64_t now_ns)
{
    struct stat st;

    if (lstat(f->path, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    /* Replaced or truncated: read it from the beginning. */
    if (st.st_ino != f->inode || (uint64_t) st.st_size < f->offset) {
        f->inode = st.st_ino;
        f->offset = f->size = f->read_size = 0;
        f->resume = (struct reader_resume){{0}};
        f->midst = false;
    }
    if ((uint64_t) st.st_size == f->size)
        return;
    /* The first look at an existing file counts from the file's own time of
     * change. */
    if (f->size || !f->growths)
        note_growth(log, f, f->size ? now_ns : f->grown_ns);
    else
        f->grown_ns = now_ns;
    f->size = (uint64_t) st.st_size;
}

/* --- a look --------------------------------------------------------------- */

/* Returns, in *out, how many operations of the series have ended. False: the
 * series is unknown. */
static bool count_of(const void *of, const struct liverate_series *key,
                     uint64_t *out)
{
    const struct log_file *f = of;

    for (size_t i = 0; i < f->n_series; i++) {
        const struct log_series *s = &f->series[i];

        if (s->comm == key->comm && s->kind == key->kind &&
            !strcmp(s->func, key->func)) {
            *out = num_add(s->next, s->ended < 0x1p53 ? (uint64_t) s->ended
                                                      : UINT64_MAX / 2);
            return true;
        }
    }
    return false;
}

static bool is_comm(const void *of, uint32_t at, uint64_t hash, int64_t n_ranks,
                    int64_t rank)
{
    const struct log_file *f = of;

    return at < f->n_comms && f->comms[at].hash == hash &&
           f->comms[at].n_ranks == n_ranks && f->comms[at].rank == rank;
}

/* Sums the ended operations over all series. */
static uint64_t count_over(const struct log_file *f)
{
    uint64_t over = 0, n;

    for (size_t i = 0; i < f->n_series; i++) {
        struct liverate_series key = {.comm = f->series[i].comm,
                                      .kind = f->series[i].kind};

        memcpy(key.func, f->series[i].func, sizeof(key.func));
        if (count_of(f, &key, &n))
            over = num_add(over, n);
    }
    return over;
}

/* Estimates the bytes from the mean size of the operations that were read.
 * Adding only increments keeps the sum from falling. */
static void count_bytes(struct log_file *f)
{
    uint64_t over = count_over(f);

    if (!f->sample_ops || over <= f->bytes_over)
        return;
    f->bytes += (double) f->sample_bytes / (double) f->sample_ops *
                (double) (over - f->bytes_over);
    f->bytes_over = over;
}

/* Names the process of a log to the watch if its pid can be looked up here. A
 * log does not name the PID namespace of its process, so in a container the
 * number may be unused on the node or belong to another user; nothing is
 * concluded then. The start time at the first look tells later processes with
 * the number apart. */
static void name_process(struct livelog *log, struct log_file *f)
{
    const struct ownproc_name name = {
        .root = log->place.root, .pid = f->pid, .uid = geteuid()};
    struct ownproc proc;

    if (f->watch.is.pid || ownproc_open(&name, &proc, NULL) < 0)
        return;
    livewatch_name(&f->watch, &(struct livewatch_process){.pid = f->pid,
                                                          .start = proc.start});
    ownproc_close(&proc);
}

static enum hung_state state_of(const struct livelog *log,
                                const struct log_file *f, uint64_t now_ns)
{
    const struct livewatch *w = &f->watch;
    enum hung_state held = livewatch_held(w);
    uint64_t pause_ns = pause_ms(log) * MS_NS;

    /* The log does not show whether the process ended in order. */
    if (held == HUNG_GONE)
        return HUNG_ENDED;
    if (held != HUNG_UNKNOWN)
        return held;
    if (now_ns - f->grown_ns < pause_ns)
        return HUNG_MOVES;
    if (w->io_ns &&
        now_ns - w->io_ns < log->place.times->ms[HUNG_LOOKS] * MS_NS + pause_ns)
        return HUNG_READS;
    return HUNG_NO_END;
}

/* Whether a silence of this length should be judged by node 0. */
static bool is_long(const struct livelog *log, const struct log_file *f,
                    uint64_t silent_ns)
{
    return silent_ns > log->place.times->ms[HUNG_LEAST] * MS_NS / 2 &&
           silent_ns > f->longest_ns + pause_ms(log) * MS_NS &&
           f->state != HUNG_ENDED;
}

/* Looks at one file: growth, new lines, counters, process. */
static int look_at_file(struct livelog *log, struct log_file *f,
                        const struct livenode_time *now, bool turn,
                        struct jp_error *err)
{
    const struct liverate_source source = {f, count_of, is_comm};
    bool first = !f->read_size;
    int rc = 0;

    look_at_size(log, f, now->mono_ns);
    /* Reading waits for the common turn, so that all ranks sample the same
     * operations; exceptions are new files and files that have stopped growing.
     */
    if (f->size != f->read_size &&
        (turn || first || now->mono_ns - f->grown_ns >= CALM_NS))
        rc = read_file(log, f, err);
    count_bytes(f);
    if (turn || first)
        liverate_pass(&f->rate, &source, now->mono_ns);
    name_process(log, f);
    livewatch_look(&f->watch, log->place.root, f->grown_ns, now->mono_ns);
    f->state = state_of(log, f, now->mono_ns);
    f->is_long = is_long(log, f, now->mono_ns - f->grown_ns);
    return rc;
}

/* A file stands for a process once a line of it was understood. */
static bool is_told(const struct log_file *f)
{
    return f->n_series > 0;
}

static enum live_class class_of(const struct livelog *log)
{
    enum live_class class = LIVE_EMPTY;

    for (size_t i = 0; i < log->n; i++) {
        const struct log_file *f = log->files[i];

        if (!is_told(f))
            continue;
        if (f->state == HUNG_DISK || f->state == HUNG_TRACED ||
            f->state == HUNG_STOPPED)
            return LIVE_TROUBLE;
        if (f->is_long || class == LIVE_EMPTY)
            class = f->is_long ? LIVE_WAITS : LIVE_WORKS;
    }
    return class;
}

int livelog_look(struct livelog *log, const struct livenode_time *now,
                 enum live_class *class, struct jp_error *err)
{
    uint64_t turn = liverate_turn(now->real_ns);
    int rc = 0;

    if (!log->n || now->last || now->mono_ns - log->scanned_ns >= SCAN_NS)
        scan_files(log, now);
    for (size_t i = 0; i < log->n; i++) {
        if (now->last)
            log->files[i]->watch.read_ns = 0;
        if (look_at_file(log, log->files[i], now,
                         now->last || turn != log->turn, err) < 0)
            rc = -1;
    }
    log->turn = turn;
    *class = class_of(log);
    return rc;
}

/* --- a snapshot ----------------------------------------------------------- */

static void fill_rank(const struct livelog *log, const struct log_file *f,
                      const struct livenode_time *now, struct live_rank *r)
{
    uint64_t silent_ns = now->mono_ns - f->grown_ns, over = count_over(f);

    *r = (struct live_rank){
        .pid = f->pid,
        .task = -1, /* the log does not name the task */
        .state = f->state,
        .logs = true,
        .counted_ns =
            now->real_ns > silent_ns ? (int64_t) (now->real_ns - silent_ns) : 0,
        .longest_ms = f->growths < GROWTHS ? 0 : 1 + f->longest_ns / MS_NS,
        .batch_ms = log->place.batch_ms,
        .produced = over,
        .over = over,
        .bytes = f->bytes < 0x1p63 ? (uint64_t) f->bytes : INT64_MAX,
        .cpu_ms = f->watch.task.cpu_ms,
        .gpu_permille = -1,
        .gpu_mhz = -1,
        .gpu_watts = -1};
    liverate_rank(&f->rate, now->mono_ns, r);
}

/* Finds or adds the communicator in the snapshot. Returns its index; UINT32_MAX
 * if there is no room. */
static uint32_t snap_comm(struct live_snap *snap, const struct log_comm *comm)
{
    uint32_t i = 0;

    while (i < snap->n_comms && (snap->comms[i].hash != comm->hash ||
                                 snap->comms[i].n_ranks != comm->n_ranks))
        i++;
    if (i == LIVE_COMMS_MAX)
        return UINT32_MAX;
    if (i == snap->n_comms) {
        snap->comms[snap->n_comms] =
            (struct live_comm){.hash = comm->hash, .n_ranks = comm->n_ranks};
        snprintf(snap->comms[snap->n_comms++].name, LIVE_COMM_NAME_LEN, "%.*s",
                 LIVE_COMM_NAME_LEN - 1, comm->name);
    }
    return i;
}

/* Adds a front. Returns NULL if there is no room. */
static struct live_front *add_front(struct live_snap *snap,
                                    const struct log_comm *comm, uint32_t rank,
                                    unsigned kind)
{
    uint32_t at = snap->n_fronts < LIVE_FRONTS_MAX ? snap_comm(snap, comm)
                                                   : UINT32_MAX;

    if (at == UINT32_MAX) {
        snap->left_comms++;
        return NULL;
    }
    snap->fronts[snap->n_fronts] = (struct live_front){
        .rank = rank, .comm = at, .comm_rank = comm->rank, .kind = kind};
    return &snap->fronts[snap->n_fronts++];
}

/* Send and Recv share one front per communicator; it has no function, and only
 * a rate. */
static void fill_fronts(const struct log_file *f, uint32_t rank,
                        uint64_t mono_ns, struct live_snap *snap)
{
    const struct liverate_source source = {f, count_of, is_comm};
    bool has_p2p[COMMS_MAX] = {false};
    struct live_front *front;

    /* First a front for each communicator alone, so that node 0 knows the
     * membership even without operations. */
    for (uint32_t i = 0; i < f->n_comms; i++)
        add_front(snap, &f->comms[i], rank, JPR_N_OP_KINDS);
    for (size_t i = 0; i < f->n_series; i++) {
        const struct log_series *s = &f->series[i];

        if (s->kind == JPR_P2P && has_p2p[s->comm])
            continue;
        front = add_front(snap, &f->comms[s->comm], rank, s->kind);
        if (!front)
            continue;
        has_p2p[s->comm] |= s->kind == JPR_P2P;
        if (s->kind != JPR_P2P)
            memcpy(front->func, s->func, sizeof(front->func));
        /* If numbers are missing, later operations may have ended as well, so
         * the position is unknown. */
        if (s->known && !s->missing)
            front->begun = front->ended = s->next;
        liverate_front(&f->rate, &source, mono_ns, snap->comms, front);
    }
}

int livelog_fill(struct livelog *log, const struct livenode_time *now,
                 struct live_snap *snap)
{
    snap->n_ranks = snap->n_comms = snap->n_fronts = snap->n_ops = 0;
    /* Files over the limit are ranks that are missing. */
    snap->left_ranks = log->left.n;
    snap->left_comms = 0;
    snap->class = class_of(log);
    snprintf(snap->node, sizeof(snap->node), "%s", log->place.node);
    for (size_t i = 0; i < log->n; i++) {
        const struct log_file *f = log->files[i];

        if (!is_told(f))
            continue;
        if (snap->n_ranks == LIVE_RANKS_MAX) {
            snap->left_ranks++;
            continue;
        }
        fill_rank(log, f, now, &snap->ranks[snap->n_ranks]);
        fill_fronts(f, snap->n_ranks++, now->mono_ns, snap);
    }
    return 0;
}

int livelog_cells(struct livelog *log, uint32_t i, uint64_t mono_ns,
                  const struct livecells_labels *labels,
                  struct metrics_set *set)
{
    for (size_t k = 0; k < log->n; k++)
        if (is_told(log->files[k]) && i-- == 0)
            return livecells_put(&log->files[k]->cells, mono_ns, labels, set);
    return 0;
}
