/* livenode.c - follow a node's recordings while they grow, and watch its tasks.
 *
 * livenode_look is the entry: it finds new files (scan_files), and for each
 * file (look_at_file) reads new blocks (read_on), updates counters and rates,
 * looks at the process, and decides its state. livenode_fill puts the results
 * into a snapshot. struct follow is one process. If the profiler writes logs,
 * every call goes to livelog.c instead. */
#include "orchestrator/live/livenode.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "plugins/nccl_recorder/recfile.h"

#define MS_NS UINT64_C(1000000)
/* Interval of the search for new files; tasks create them when NCCL starts. */
#define SCAN_NS (5000 * MS_NS)
#define FILES_MAX LIVE_RANKS_MAX
/* Limit of records of a file per look, and the rest of a block. After an
 * interruption the agent catches up in several looks. */
#define RECORDS_MAX 100000
/* Operations in flight per process in a snapshot; the oldest are kept. */
#define OPS_MAX 16
/* A sample of the GPUs that is older is not used. */
#define GPUS_OLD_US 120000000
/* Time between two looks at a working process, for each process of the node. */
#define LOOK_EACH_NS (160 * MS_NS)
#define SHORT_FILE 32 /* a head, and the start of the first frame */

/* A process: its recording, and its state from /proc. */
struct follow {
    char *path;
    uint64_t inode;
    bool is_open, failed;
    struct jp_recfile file;
    struct hangs_file reading;
    struct liveusual usual;
    struct liverate rate;
    struct livecells cells;
    bool apart; /* a function's counters contain exactly the operations that are
                   numbered together */
    uint64_t sample_bytes, sample_ops; /* of the operations that were read */
    double bytes; /* of all ended operations, estimated from the sample */
    uint64_t bytes_over; /* operations counted in `bytes` */
    /* from the looks */
    struct livewatch watch;
    uint64_t produced, over;     /* at the last look */
    uint64_t grown_ns, moved_ns; /* monotonic; times of the last new bytes and
                                    of the last new counts */
    uint64_t oldest_ns; /* age of the oldest operation in flight; 0: none */
    enum hung_state state;
};

struct livenode {
    struct livenode_place place;
    struct livelog *log;         /* NULL: recordings are followed */
    struct jpr_scratch *scratch; /* of all readers, which are used in turn */
    struct follow *files[FILES_MAX];
    size_t n;
    uint64_t scanned_ns;
    struct livenode_left left;
    uint64_t turn; /* as in liverate_turn, at the last look */
    uint64_t wanted[LIVE_WANTED_MAX];
    size_t n_wanted;
};

/* --- files ---------------------------------------------------------------- */

static void drop_file(struct follow *f)
{
    if (f->is_open)
        recfile_close(&f->file);
    hangs_file_fini(&f->reading);
    liveusual_fini(&f->usual);
    liverate_fini(&f->rate);
    livecells_fini(&f->cells);
    free(f->path);
    free(f);
}

struct livenode *livenode_create(const struct livenode_place *place)
{
    struct livenode *node = calloc(1, sizeof(*node));

    if (!node)
        return NULL;
    node->place = *place;
    if (place->reader)
        node->log = livelog_create(place);
    else
        node->scratch = jpr_scratch_create();
    if (node->log || node->scratch)
        return node;
    free(node);
    return NULL;
}

void livenode_destroy(struct livenode *node)
{
    for (size_t i = 0; node && i < node->n; i++)
        drop_file(node->files[i]);
    if (node) {
        livelog_destroy(node->log);
        jpr_scratch_destroy(node->scratch);
    }
    free(node);
}

static bool is_recording(const char *name)
{
    size_t len = strlen(name);

    return len > 4 && name[0] != '.' && !strcmp(name + len - 4, ".jpr");
}

const struct livenode_left *livenode_left(const struct livenode *node)
{
    return node->log ? livelog_left(node->log) : &node->left;
}

/* Whether a file is followed. Files are told apart by their inode. */
static bool has_inode(const struct livenode *node, uint64_t inode)
{
    for (size_t i = 0; i < node->n; i++)
        if (node->files[i]->inode == inode)
            return true;
    return false;
}

/* Adds a file that is not followed yet. */
static void add_file(struct livenode *node, const char *name,
                     const struct stat *st, uint64_t now_ns)
{
    struct follow *f;

    if (has_inode(node, st->st_ino))
        return;
    if (node->n == FILES_MAX) {
        livetask_leave(&node->left, name);
        return;
    }
    f = calloc(1, sizeof(*f));
    if (f)
        f->path = text_format("%s/%s", node->place.raw, name);
    if (!f || !f->path) {
        free(f);
        return;
    }
    f->inode = st->st_ino;
    f->grown_ns = f->moved_ns = now_ns;
    node->files[node->n++] = f;
}

static void scan_files(struct livenode *node, uint64_t now_ns)
{
    DIR *dir = opendir(node->place.raw);
    struct dirent *entry;
    struct stat st;

    node->left = (struct livenode_left){0};
    while (dir && (entry = readdir(dir)))
        if (is_recording(entry->d_name) && !has_inode(node, entry->d_ino) &&
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_size >= SHORT_FILE)
            add_file(node, entry->d_name, &st, now_ns);
    if (dir)
        closedir(dir);
    node->scanned_ns = now_ns;
}

/* --- the content of a file ------------------------------------------------ */

/* Once counters mix operations that are numbered separately, they no longer
 * show a position: clears the fronts of collectives. */
static void look_at_fronts(struct follow *f)
{
    bool apart = !f->file.tail.by_ce && !f->file.tail.has_replays;
    struct progress *progress = &f->reading.progress;

    for (size_t i = 0; f->apart && !apart && i < progress->n; i++)
        if (progress->rows[i].kind == JPR_COLL)
            progress->rows[i].begun = progress->rows[i].ended = 0;
    f->apart = apart;
}

static int open_file(struct follow *f, struct jpr_scratch *scratch,
                     struct jp_error *err)
{
    if (recfile_open(&f->file, f->path, err) < 0) {
        f->failed = true;
        return -1;
    }
    f->is_open = f->apart = true;
    jpr_follow(f->file.reader, scratch);
    return 0;
}

static void add_to_rate(struct liverate *rate, const struct jpr_op *op)
{
    struct liverate_series key = {.comm = op->comm, .kind = op->kind};

    snprintf(key.func, sizeof(key.func), "%.*s", RECORD_MAX_FUNC, op->func);
    liverate_add(rate, &key, op->bytes, op->unsure ? 0 : recfile_exec_us(op));
}

static const char *or_unknown(const char *text)
{
    return text && *text ? text : "unknown";
}

static void add_to_cells(struct livecells *cells, const struct jp_recfile *file,
                         const struct jpr_op *op)
{
    const struct jpr_comm *comm = jpr_comm(file->reader, op->comm);
    const struct recfile_comm *told = recfile_comm(file, op->comm);
    struct livecell key = {.kind = op->kind};

    if (op->unsure || !comm)
        return;
    key.n_nodes = comm->n_nodes;
    key.n_ranks = comm->n_ranks;
    snprintf(key.comm, sizeof(key.comm), "%s", told ? told->name : "");
    snprintf(key.gpu, sizeof(key.gpu), "%s", comm->gpu_uuid);
    recfile_func_name(op, key.func, sizeof(key.func));
    /* The label is Inspector's, "RING_LL". */
    if (op->kind != JPR_P2P)
        snprintf(key.algo, sizeof(key.algo), "%.16s_%.16s",
                 or_unknown(op->algo), or_unknown(op->proto));
    livecells_add(cells, &key, op->bytes, recfile_exec_us(op));
}

/* Takes what the live module needs from a record, beyond what hangs_file_add
 * takes. */
static void take_record(struct follow *f, const struct jpr_record *record,
                        bool cells, uint64_t *n_ops)
{
    /* A number that differs from recfile_seq belongs to a replay of a CUDA
     * graph. */
    if (record->type == JPR_INFLIGHT && !record->inflight->none &&
        recfile_seq(&record->inflight->op) != record->inflight->op.seq)
        f->file.tail.has_replays = true;
    if (record->type == JPR_OP) {
        f->sample_bytes = num_add(f->sample_bytes, record->op->bytes);
        f->sample_ops++;
        add_to_rate(&f->rate, record->op);
        if (cells)
            add_to_cells(&f->cells, &f->file, record->op);
        /* Enough operations for a sample: skip the rest, unless all are needed
         * for counting. */
        if (++*n_ops >= LIVERATE_OPS && f->apart)
            jpr_pass(f->file.reader, JPR_PASS_ENDED);
    }
}

/* Reads everything that has arrived. turn: also reads some ended operations.
 * The reader skips damaged blocks. */
static int read_on(struct livenode *node, struct follow *f, bool turn,
                   struct jp_error *err)
{
    struct jpr_record record;
    uint64_t n_ops = 0;
    int rc = 0, got;

    /* A file that cannot be opened is reported once, then ignored. */
    if (f->failed)
        return 0;
    if (!f->is_open && open_file(f, node->scratch, err) < 0)
        return -1;
    jpr_pass(f->file.reader,
             f->apart && !turn ? JPR_PASS_ENDED : JPR_PASS_NONE);
    /* The next file uses the same buffers, so a block is read to its end. */
    for (size_t n = 0;
         rc == 0 && (n < RECORDS_MAX || !jpr_is_between(f->file.reader)) &&
         (got = recfile_next(&f->file, &record, err)) != 0;
         n++) {
        if (got < 0)
            return -1;
        take_record(f, &record, node->place.cells, &n_ops);
        rc = hangs_file_add(&f->reading, &f->file, &record);
    }
    return rc < 0 ? error_set(err, "%s: no memory", f->path) : 0;
}

/* --- its rates ------------------------------------------------------------ */

/* Counts all ended operations of the function; the counters do not distinguish
 * kinds. */
static bool count_of(const void *of, const struct liverate_series *s,
                     uint64_t *out)
{
    const struct recfile_comm *comm = recfile_comm(of, s->comm);

    for (size_t i = 0; comm && i < comm->n_counts; i++)
        if (!strncmp(comm->counts[i].func, s->func, RECORD_MAX_FUNC)) {
            const struct jpr_counts *c = &comm->counts[i].counts;

            *out = num_add(num_add(c->written, c->lost), c->left_out);
            return true;
        }
    return false;
}

/* The rank is not compared: if a process has several ranks of a communicator,
 * the counters do not distinguish them. */
static bool is_comm(const void *of, uint32_t at, uint64_t hash, int64_t n_ranks,
                    int64_t rank)
{
    const struct jp_recfile *file = of;
    const struct jpr_comm *comm = jpr_comm(file->reader, at);

    (void) rank;
    return comm && comm->id == hash && comm->n_ranks == n_ranks;
}

static struct liverate_source rate_source(const struct jp_recfile *file)
{
    return (struct liverate_source){file, count_of, is_comm};
}

/* --- the process ---------------------------------------------------------- */

static void look_at_task(struct livenode *node, struct follow *f,
                         uint64_t now_ns)
{
    if (!f->is_open || !f->file.has_header)
        return;
    livewatch_name(&f->watch, &(struct livewatch_process){f->file.pid,
                                                          f->file.pid_namespace,
                                                          f->file.start});
    f->watch.pause_ns = node->n * LOOK_EACH_NS;
    livewatch_look(&f->watch, node->place.root, f->moved_ns, now_ns);
}

/* Notes whether the counters moved, and estimates the bytes of ended
 * operations. */
static void count_operation(struct follow *f, uint64_t now_ns)
{
    const struct recfile_tail *tail = &f->file.tail;
    uint64_t over = num_add(num_add(tail->counts.written, tail->counts.lost),
                            tail->counts.left_out);

    if (tail->counts.produced != f->produced || over != f->over)
        f->moved_ns = now_ns;
    f->produced = tail->counts.produced;
    f->over = over;
    /* The estimate uses the mean size of the operations that were read. Adding
     * only increments keeps the sum from falling. */
    if (f->sample_ops && over > f->bytes_over) {
        f->bytes += (double) f->sample_bytes / (double) f->sample_ops *
                    (double) (over - f->bytes_over);
        f->bytes_over = over;
    }
}

/* Finds the age of the oldest operation in flight that may be a sign of a hang.
 */
static void find_oldest(struct follow *f, uint64_t mono_ns)
{
    uint64_t oldest = UINT64_MAX;

    pending_settle(&f->reading.pending);
    for (size_t i = 0; i < f->reading.pending.n; i++) {
        const struct jpr_op *op = &f->reading.pending.ops[i].op;

        /* A captured operation whose kernel has not started belongs to a CUDA
         * graph: it may run much later. */
        if (!(op->graph_captured && !op->channels_started) &&
            op->enqueue_start_mono_ns && op->enqueue_start_mono_ns < oldest)
            oldest = op->enqueue_start_mono_ns;
    }
    f->oldest_ns = oldest < mono_ns ? mono_ns - oldest : 0;
}

/* The order matters: an end in order first, then what the kernel shows, the
 * recording's age, and its counters. */
static enum hung_state state_of(const struct livenode *node,
                                const struct follow *f, uint64_t now_ns)
{
    const struct hung_times *times = node->place.times;
    uint64_t silent_ns = times->ms[HUNG_SILENT] * MS_NS,
             recent_ns = times->ms[HUNG_LOOKS] * MS_NS;
    enum hung_state held = livewatch_held(&f->watch);

    if (f->is_open && f->file.tail.final)
        return HUNG_ENDED;
    if (held != HUNG_UNKNOWN)
        return held;
    /* The recorder writes counters even while the program waits, so a file that
     * does not grow means that the process is mute. */
    if (now_ns - f->grown_ns > silent_ns)
        return f->watch.known ? HUNG_MUTE : HUNG_UNKNOWN;
    if (now_ns - f->moved_ns < silent_ns)
        return HUNG_MOVES;
    if (f->reading.pending.n)
        return HUNG_WAITS;
    if (f->watch.io_ns && now_ns - f->watch.io_ns < recent_ns + silent_ns)
        return HUNG_READS;
    return f->watch.share >= HUNG_BUSY_SHARE ? HUNG_COMPUTES : HUNG_OUTSIDE;
}

/* --- a look --------------------------------------------------------------- */

static int look_at_file(struct livenode *node, struct follow *f,
                        const struct livenode_time *now, bool turn,
                        struct jp_error *err)
{
    uint64_t before = f->is_open ? jpr_taken(f->file.reader) : 0;
    const struct liverate_source source = rate_source(&f->file);
    int rc = read_on(node, f, turn, err);

    if (!f->is_open)
        return rc;
    if (jpr_taken(f->file.reader) != before)
        f->grown_ns = now->mono_ns;
    count_operation(f, now->mono_ns);
    look_at_fronts(f);
    find_oldest(f, now->mono_ns);
    liveusual_look(&f->usual, node->place.times, &f->file, &f->reading.pending,
                   now->mono_ns);
    if (turn)
        liverate_pass(&f->rate, &source, now->mono_ns);
    look_at_task(node, f, now->mono_ns);
    f->state = state_of(node, f, now->mono_ns);
    return rc;
}

/* Returns whether an operation waits for so long that node 0 must look. */
static bool is_long(const struct livenode *node, const struct follow *f)
{
    return f->oldest_ns > node->place.times->ms[HUNG_LEAST] * MS_NS / 2;
}

static enum live_class class_of(const struct livenode *node)
{
    enum live_class class = node->n ? LIVE_WORKS : LIVE_EMPTY;

    for (size_t i = 0; i < node->n; i++) {
        const struct follow *f = node->files[i];
        bool trouble = f->state == HUNG_MUTE || f->state == HUNG_DISK ||
                       f->state == HUNG_TRACED || f->state == HUNG_STOPPED ||
                       f->state == HUNG_GONE;

        if (trouble)
            return LIVE_TROUBLE;
        if (is_long(node, f))
            class = LIVE_WAITS;
    }
    return class;
}

size_t livenode_count(const struct livenode *node)
{
    return node->n;
}

int livenode_look(struct livenode *node, const struct livenode_time *now,
                  enum live_class *class, struct jp_error *err)
{
    uint64_t turn = liverate_turn(now->real_ns);
    int rc = 0;

    if (node->log)
        return livelog_look(node->log, now, class, err);
    if (!node->n || now->mono_ns - node->scanned_ns >= SCAN_NS)
        scan_files(node, now->mono_ns);
    for (size_t i = 0; i < node->n; i++) {
        if (now->last)
            node->files[i]->watch.read_ns = 0;
        if (look_at_file(node, node->files[i], now, turn != node->turn, err) <
            0)
            rc = -1;
    }
    node->turn = turn;
    *class = class_of(node);
    return rc;
}

void livenode_want(struct livenode *node, const uint64_t *hashes, size_t n)
{
    node->n_wanted = n < LIVE_WANTED_MAX ? n : LIVE_WANTED_MAX;
    if (node->n_wanted)
        memcpy(node->wanted, hashes, node->n_wanted * sizeof(*hashes));
}

bool livenode_find(const struct livenode *node, int64_t pid,
                   struct livetask *out)
{
    for (size_t i = 0; i < node->n; i++) {
        const struct follow *f = node->files[i];
        struct livetask now = {.pid = f->watch.task.pid,
                               .start = f->watch.task.start};

        if (f->is_open && f->file.has_header && f->file.pid == pid &&
            f->watch.task.pid > 1 && !f->watch.gone &&
            livetask_read(node->place.root, &now) == 1) {
            *out = now;
            return true;
        }
    }
    return false;
}

unsigned livenode_signal(struct livenode *node, int signal)
{
    unsigned sent = 0;

    for (size_t i = 0; i < node->n; i++) {
        struct follow *f = node->files[i];
        struct livetask now = {.pid = f->watch.task.pid,
                               .start = f->watch.task.start};

        if (signal > 0 && signal <= 64 && f->watch.task.pid > 1 &&
            !f->watch.gone &&
            livetask_signal(node->place.root, &now, signal) == 0)
            sent++;
    }
    return sent;
}

/* --- a snapshot ----------------------------------------------------------- */

/* Conversion to an integer is undefined above 2^63. */
static uint64_t bytes_of(const struct follow *f)
{
    return f->bytes < 0x1p63 ? (uint64_t) f->bytes : INT64_MAX;
}

/* Completes the fronts. If the counters show how many operations a rank has
 * begun, then all before its oldest one in flight have ended, because they end
 * in order. */
static void settle_fronts(const struct follow *f, struct hangs_evidence *e)
{
    for (size_t i = 0; f->apart && i < e->progress.n; i++) {
        /* Counters contain what has begun; nothing is in flight before the
         * oldest operation. */
        struct progress_row *row = &e->progress.rows[i];
        uint64_t ended = row->begun;

        if (row->kind != JPR_COLL)
            continue;
        for (size_t k = 0; k < e->n_ops; k++)
            if (e->ops[k].hash == row->hash && e->ops[k].kind == JPR_COLL &&
                e->ops[k].n_ranks == row->n_ranks && e->ops[k].seq < ended &&
                !strcmp(e->ops[k].func, row->func))
                ended = e->ops[k].seq;
        if (ended > row->ended)
            row->ended = ended;
    }
}

static int32_t figure_of(double value)
{
    return value >= 0 && value < 1e9 ? (int32_t) (value + 0.5) : -1;
}

/* "00000000:4F:00.0" and "0000:4f:00.0" are the same. */
static bool is_same_bus(const char *a, const char *b)
{
    a += strspn(a, "0");
    b += strspn(b, "0");
    return *a && strcasecmp(a, b) == 0;
}

/* Fills in the figures of the process's GPU, which is named by its
 * communicators. */
static void fill_gpu(const struct livenode *node, const struct follow *f,
                     uint64_t now_ns, struct live_rank *r)
{
    const struct module_shared *shared = node->place.shared;
    const char *bus = "";

    /* figures of one GPU are not those of a process that has several */
    if (!shared || !f->is_open || r->n_gpus ||
        now_ns / 1000 > shared->gpus_us + GPUS_OLD_US)
        return;
    /* The first communicator with a known GPU names it. */
    for (uint32_t i = 0; i < f->file.n_comms && !*bus; i++) {
        const struct jpr_comm *comm = jpr_comm(f->file.reader, i);

        bus = comm ? comm->gpu_pci : "";
    }
    for (size_t i = 0; i < shared->n_gpus; i++) {
        const struct module_gpu *gpu = &shared->gpus[i];

        if (is_same_bus(gpu->bus, bus)) {
            r->gpu_permille = figure_of(gpu->share * 1000);
            r->gpu_mhz = figure_of(gpu->mhz);
            r->gpu_watts = figure_of(gpu->watts);
        }
    }
}

/* Lists the GPUs of a process that has several, and their numbers in records
 * (devices, in the same places as snap->gpus). Of too many none is told. */
static void list_gpus(const struct follow *f, const struct hangs_evidence *e,
                      struct live_snap *snap, struct live_rank *r,
                      uint64_t *devices)
{
    uint32_t n = 0;

    devices += snap->n_gpus;

    r->first_gpu = snap->n_gpus;
    r->n_gpus = 0;
    if (!hangs_has_gpus(e))
        return;
    for (uint32_t i = 0; i < f->file.n_comms; i++) {
        const struct jpr_comm *comm = jpr_comm(f->file.reader, i);
        uint64_t device = comm ? recfile_device(comm) : 0;
        uint32_t k = 0;

        while (device && k < n && devices[k] != device)
            k++;
        if (!device || k < n)
            continue;
        if (snap->n_gpus + n == LIVE_GPUS_MAX)
            return; /* the process is told as a whole */
        snprintf(snap->gpus[snap->n_gpus + n], LIVE_GPU_LEN, "%s",
                 comm->gpu_pci);
        devices[n++] = device;
    }
    snap->n_gpus += n;
    r->n_gpus = n;
}

/* The number of a GPU of a process; 0: unknown. */
static uint32_t gpu_of(const struct live_rank *r, const uint64_t *devices,
                       uint64_t device)
{
    for (uint32_t i = 0; device && i < r->n_gpus; i++)
        if (devices[r->first_gpu + i] == device)
            return i + 1;
    return 0;
}

static void fill_rank(const struct follow *f, const struct hangs_process *p,
                      const struct livenode_time *now, struct live_rank *r)
{
    const struct recfile_tail *tail = &f->file.tail;

    *r = (struct live_rank){.pid = p->pid,
                            .task = p->launched.task_pid == p->pid ? p->task
                                                                   : -1,
                            .state = f->state,
                            .final = p->final,
                            .damaged = p->damaged,
                            .busy = p->busy,
                            .counted_ns = p->counted_ns,
                            .produced = tail->counts.produced,
                            .over = f->over,
                            .bytes = bytes_of(f),
                            .in_flight = f->reading.pending.n,
                            .cpu_ms = f->watch.task.cpu_ms,
                            .gpu_permille = -1,
                            .gpu_mhz = -1,
                            .gpu_watts = -1};
    for (int i = 0; i < LAUNCHED_KINDS; i++) {
        r->numbers[i] = p->launched.rank[i];
        r->numbered |= r->numbers[i] >= 0;
    }
    liverate_rank(&f->rate, now->mono_ns, r);
    /* A process that does not run enters no operation, so its counters are as
     * good as new: use the current time. */
    if (f->state == HUNG_GONE || f->state == HUNG_STOPPED ||
        f->state == HUNG_TRACED || f->state == HUNG_DISK)
        r->counted_ns = (int64_t) now->real_ns;
    if (r->counted_ns < 0)
        r->counted_ns = 0;
}

/* Finds or adds the communicator in the snapshot. Returns its index; UINT32_MAX
 * if there is no room. */
static uint32_t comm_of(struct live_snap *snap, uint64_t hash, int64_t n_ranks,
                        const char *name)
{
    uint32_t i = 0;

    while (i < snap->n_comms &&
           (snap->comms[i].hash != hash || snap->comms[i].n_ranks != n_ranks))
        i++;
    if (i == LIVE_COMMS_MAX)
        return UINT32_MAX;
    if (i == snap->n_comms)
        snap->comms[snap->n_comms++] =
            (struct live_comm){.hash = hash, .n_ranks = n_ranks};
    /* The name may come with a later row. */
    if (name && *name && !snap->comms[i].name[0])
        snprintf(snap->comms[i].name, sizeof(snap->comms[i].name), "%s", name);
    return i;
}

/* Whether any operation of the communicator has ended; the first one is granted
 * more time. */
static bool has_ended(const struct hangs_evidence *e, uint64_t hash,
                      int64_t n_ranks)
{
    for (size_t i = 0; i < e->progress.n; i++)
        if (e->progress.rows[i].hash == hash &&
            e->progress.rows[i].n_ranks == n_ranks && e->progress.rows[i].ended)
            return true;
    return false;
}

static int by_start(const void *a, const void *b)
{
    const struct hangs_op *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Adds the oldest operations in flight of one process. */
static void fill_ops(const struct livenode *node, struct follow *f,
                     struct hangs_evidence *e, uint32_t rank,
                     const uint64_t *devices, struct live_snap *snap)
{
    if (e->n_ops)
        qsort(e->ops, e->n_ops, sizeof(*e->ops), by_start);
    for (size_t i = 0;
         i < e->n_ops && i < OPS_MAX && snap->n_ops < LIVE_OPS_MAX; i++) {
        const struct hangs_op *from = &e->ops[i];
        uint32_t comm = comm_of(snap, from->hash, from->n_ranks, from->name);
        struct live_op *op = &snap->ops[snap->n_ops];

        if (comm == UINT32_MAX)
            continue;
        /* The operation's limit is computed here, where its usual length is
         * known. */
        *op = (struct live_op){
            .rank = rank,
            .comm = comm,
            .gpu = gpu_of(&snap->ranks[rank], devices, from->device),
            .comm_rank = from->rank,
            .peer = from->peer,
            .kind = from->kind,
            .seq = from->seq,
            .bytes = from->bytes,
            .start_ns = from->start_ns > 0 ? from->start_ns : 0,
            .until_ns = from->until_ns > 0 ? from->until_ns : 0,
            .limit_ns = (int64_t) hung_limit_ns(
                node->place.times, liveusual_find(&f->usual, &f->file, from),
                !has_ended(e, from->hash, from->n_ranks)),
            .captured = from->captured,
            .unsure = from->unsure,
            .cut_short = from->cut_short,
            .channels = from->channels,
            .started = from->started,
            .stopped = from->stopped};
        memcpy(op->func, from->func, sizeof(op->func));
        snap->n_ops++;
    }
}

static void fill_fronts(const struct follow *f, const struct hangs_evidence *e,
                        uint32_t rank, const uint64_t *devices,
                        uint64_t mono_ns, struct live_snap *snap)
{
    const struct liverate_source source = rate_source(&f->file);

    for (size_t i = 0; i < e->progress.n; i++) {
        const struct progress_row *row = &e->progress.rows[i];
        uint32_t comm;
        struct live_front *front;

        if (snap->n_fronts == LIVE_FRONTS_MAX)
            return;
        comm = comm_of(snap, row->hash, row->n_ranks, NULL);
        if (comm == UINT32_MAX) {
            snap->left_comms++;
            continue;
        }
        front = &snap->fronts[snap->n_fronts++];
        *front = (struct live_front){
            .rank = rank,
            .comm = comm,
            .gpu = gpu_of(&snap->ranks[rank], devices, row->device),
            .comm_rank = row->rank,
            .kind = row->kind,
            .begun = row->begun,
            .ended = row->ended};
        memcpy(front->func, row->func, sizeof(front->func));
        liverate_front(&f->rate, &source, mono_ns, snap->comms, front);
    }
}

/* Fills in the names that are still missing from the file's communicators. */
static void fill_names(const struct follow *f, struct live_snap *snap)
{
    for (uint32_t i = 0; i < f->file.n_comms; i++) {
        const struct recfile_comm *told = recfile_comm(&f->file, i);
        const struct jpr_comm *comm = jpr_comm(f->file.reader, i);

        for (uint32_t k = 0; told && comm && told->name[0] && k < snap->n_comms;
             k++)
            if (snap->comms[k].hash == comm->id && !snap->comms[k].name[0])
                snprintf(snap->comms[k].name, sizeof(snap->comms[k].name),
                         "%.*s", LIVE_COMM_NAME_LEN - 1, told->name);
    }
}

int livenode_fill(struct livenode *node, const struct livenode_time *now,
                  struct live_snap *snap)
{
    struct hangs_evidence *e;
    struct follow *of[LIVE_RANKS_MAX];
    uint64_t devices[LIVE_GPUS_MAX];
    int rc = 0;

    if (node->log)
        return livelog_fill(node->log, now, snap);
    /* One buffer for all ranks: fronts need the evidence after the operations
     * of all ranks were placed. */
    e = calloc(LIVE_RANKS_MAX, sizeof(*e));
    if (!e)
        return -1;
    snap->n_ranks = snap->n_comms = snap->n_fronts = snap->n_ops = 0;
    snap->n_gpus = 0;
    snap->left_ranks = node->left.n;
    snap->left_comms = 0;
    snap->class = class_of(node);
    snprintf(snap->node, sizeof(snap->node), "%s", node->place.node);
    /* Communicators are kept in order of arrival when a snapshot is too small,
     * so the wanted ones come first, then those with operations in flight. */
    for (size_t i = 0; i < node->n_wanted; i++)
        for (size_t k = 0; k < node->n; k++)
            for (size_t row = 0; row < node->files[k]->reading.progress.n;
                 row++) {
                const struct progress_row *p =
                    &node->files[k]->reading.progress.rows[row];

                if (p->hash == node->wanted[i])
                    comm_of(snap, p->hash, p->n_ranks, NULL);
            }
    for (size_t i = 0; rc == 0 && i < node->n; i++) {
        struct follow *f = node->files[i];
        uint32_t at = snap->n_ranks;

        if (!f->is_open || !f->file.has_header)
            continue;
        if (at == LIVE_RANKS_MAX) {
            snap->left_ranks++;
            continue;
        }
        rc = hangs_file_look(&f->reading, &f->file, &e[at]);
        if (rc < 0)
            break;
        settle_fronts(f, &e[at]);
        of[snap->n_ranks++] = f;
        fill_rank(f, &e[at].process, now, &snap->ranks[at]);
        list_gpus(f, &e[at], snap, &snap->ranks[at], devices);
        fill_gpu(node, f, now->mono_ns, &snap->ranks[at]);
        fill_ops(node, f, &e[at], at, devices, snap);
    }
    /* Fronts last: they may use the room that is left. */
    for (uint32_t i = 0; i < snap->n_ranks; i++) {
        fill_fronts(of[i], &e[i], i, devices, now->mono_ns, snap);
        fill_names(of[i], snap);
        hangs_evidence_fini(&e[i]);
    }
    free(e);
    return rc;
}

int livenode_cells(struct livenode *node, uint32_t i, uint64_t mono_ns,
                   const struct livecells_labels *labels,
                   struct metrics_set *set)
{
    if (node->log)
        return livelog_cells(node->log, i, mono_ns, labels, set);
    for (size_t k = 0; k < node->n; k++) {
        struct follow *f = node->files[k];

        if (f->is_open && f->file.has_header && i-- == 0)
            return livecells_put(&f->cells, mono_ns, labels, set);
    }
    return 0;
}
