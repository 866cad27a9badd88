/* recfile.c - a recorder's file: what it has once, and its operations as
 * records.
 *
 * recfile_next() reads the next record of the file and updates what is known of
 * the file: header, communicators, counters (tail). recfile_record() turns an
 * operation into a record. Sums over a file are kept up to date row by row,
 * because a damaged or hostile file may have as many rows as bytes.
 */
#include "plugins/nccl_recorder/recfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/fnv.h"
#include "plugins/nccl_recorder/jpr_frame.h"
#include "common/num.h"
#include "common/vector.h"

#define MAGIC_BYTES 8

/* Reads up to cap first bytes of a file as they are. Returns how many; -1 and
 * err. */
static ssize_t raw_head(const char *path, uint8_t *head, size_t cap,
                        struct jp_error *err)
{
    int fd = fileio_open_regular(path, false, err);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = pread(fd, head, cap, 0);
    if (n < 0)
        error_set(err, "%s: %m", path);
    close(fd);
    return n;
}

/* The same for a compressed file, unpacked. */
static ssize_t packed_head(const char *path, uint8_t *head, size_t cap,
                           struct jp_error *err)
{
    struct jp_logsource *source = logsource_open(path, err);
    ssize_t n = 0, got = 1;

    if (!source)
        return -1;
    while ((size_t) n < cap && got > 0) {
        got = logsource_read(source, (char *) head + n, cap - (size_t) n, err);
        n += got > 0 ? got : 0;
    }
    logsource_close(source);
    return got < 0 ? -1 : n;
}

int recfile_probe(const char *path, struct jp_error *err)
{
    uint8_t magic[JPR_HEAD_BYTES], head[MAGIC_BYTES];
    ssize_t n = raw_head(path, head, sizeof(head), err);

    if (n >= 2 && logsource_is_packed(head))
        n = packed_head(path, head, sizeof(head), err);
    jpr_head_write(magic);
    return n < 0 ? -1 : n > 0 && !memcmp(head, magic, (size_t) n);
}

/* Takes reader and source over. Returns 0, or -1 without a reader. */
static int begin(struct jp_recfile *file, struct jpr_reader *reader,
                 struct jp_logsource *source)
{
    *file = (struct jp_recfile){.reader = reader,
                                .source = source,
                                .why = "no header",
                                .why_bad = JP_BAD_MISSING,
                                .pid = -1,
                                .procid = -1};
    launched_init(&file->launched);
    if (!reader)
        logsource_close(source);
    return reader ? 0 : -1;
}

/* Gives the recorder's reader the bytes of a compressed file. */
static ssize_t read_compressed(void *arg, void *buf, size_t cap)
{
    return logsource_read(arg, buf, cap, NULL);
}

/* Two bytes show whether the file is compressed; only then it goes through a
 * stream. */
int recfile_open(struct jp_recfile *file, const char *path,
                 struct jp_error *err)
{
    struct jp_logsource *source;
    uint8_t head[2];
    ssize_t n = raw_head(path, head, sizeof(head), err);

    if (n < 0)
        return -1;
    if (n < 2 || !logsource_is_packed(head))
        return begin(file, jpr_open(path, err), NULL);
    source = logsource_open(path, err);
    return source ? begin(file,
                          jpr_open_stream(read_compressed, source, path, err),
                          source)
                  : -1;
}

/* The same as recfile_open_bytes() for compressed bytes. */
static int open_packed(struct jp_recfile *file, const void *bytes, size_t n,
                       const char *name, struct jp_error *err)
{
    struct jp_logsource *source = logsource_open_memory(bytes, n, err);

    return source ? begin(file,
                          jpr_open_stream(read_compressed, source, name, err),
                          source)
                  : -1;
}

int recfile_open_bytes(struct jp_recfile *file, const void *bytes, size_t n,
                       const char *name, struct jp_error *err)
{
    return n >= 2 && logsource_is_packed(bytes)
               ? open_packed(file, bytes, n, name, err)
               : begin(file, jpr_open_bytes(bytes, n, name, err), NULL);
}

void recfile_process_of(const struct jp_recfile *file,
                        struct recfile_process *process)
{
    *process = (struct recfile_process){0};
    launched_init(&process->launched);
    if (!file->has_header || file->why)
        return;
    process->known = true;
    memcpy(process->host, file->host, sizeof(process->host));
    process->pid = file->pid;
    process->procid = file->procid;
    process->pid_namespace = file->pid_namespace;
    process->start = file->start;
    process->launched = file->launched;
}

const char *recfile_damage(const struct jp_recfile *file)
{
    return file->source ? logsource_damage(file->source) : NULL;
}

/* NULL is fine. */
static void free_comm(struct recfile_comm *comm)
{
    if (comm) {
        free(comm->counts);
        free(comm->unseen);
    }
    free(comm);
}

void recfile_close(struct jp_recfile *file)
{
    for (uint32_t i = 0; i < file->n_comms; i++)
        free_comm(file->comms[i]);
    free(file->comms);
    free(file->notes);
    jpr_close(file->reader);
    logsource_close(file->source);
    *file = (struct jp_recfile){0};
}

/* Copies a text, cut to size between two UTF-8 characters. */
static void recfile_copy(char *out, size_t size, const char *text)
{
    size_t n = strlen(text);

    if (n >= size) {
        n = size - 1;
        while (n > 0 && ((unsigned char) text[n] & 0xc0) == 0x80)
            n--;
    }
    memcpy(out, text, n);
    out[n] = '\0';
}

/* Returns a text that borrows the string. */
static struct record_text text_of(const char *text)
{
    return (struct record_text){text, strlen(text)};
}

/* Joins the notes of the header with "; ". */
static void take_notes(struct jp_recfile *file, const struct jpr_header *h)
{
    size_t len = 0;
    FILE *out = h->n_notes ? open_memstream(&file->notes, &len) : NULL;

    if (!out)
        return; /* without memory the notes are left out */
    for (uint32_t i = 0; i < h->n_notes; i++)
        fprintf(out, "%s%.200s", i ? "; " : "", h->notes[i]);
    if (fclose(out) != 0) {
        free(file->notes);
        file->notes = NULL;
    }
}

/* Takes what launchers told the process. */
static void take_launched(struct jp_recfile *file,
                          const struct jpr_variable *variables, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        launched_take(&file->launched, variables[i].name, variables[i].value);
}

/* Takes the first header; `why` stays NULL if its host and pid can be used. */
static void take_header(struct jp_recfile *file, const struct jpr_header *h)
{
    /* a second header, of a damaged or joined file, changes nothing */
    if (file->has_header)
        return;
    file->has_header = true;
    file->clocks = h->clocks;
    file->procid = h->procid;
    file->pid = h->pid <= INT64_MAX ? (int64_t) h->pid : -1;
    file->pid_namespace = h->pid_namespace;
    file->start = h->start;
    recfile_copy(file->host, sizeof(file->host), h->hostname);
    file->host_len = strlen(file->host);
    recfile_copy(file->recorder, sizeof(file->recorder), h->recorder);
    take_notes(file, h);
    /* files of older releases have some of the launchers' variables here */
    take_launched(file, h->variables, h->n_variables);
    file->why_bad = file->pid < 0 ? JP_BAD_RANGE : JP_BAD_VALUE;
    file->why =
        file->pid < 0 ? "bad pid"
        : record_is_word(h->hostname, strlen(h->hostname), RECORD_MAX_HOST)
            ? NULL
            : "bad host name";
}

void recfile_id(uint64_t hash, char id[RECORD_MAX_ID + 1])
{
    char full[2 + 16 + 1];

    snprintf(full, sizeof(full), "0x%" PRIx64, hash);
    snprintf(id, RECORD_MAX_ID + 1, "%.16s", full);
}

/* Returns NULL, or why records of the communicator would be out of bounds. */
static const char *why_refused(const struct jpr_comm *comm)
{
    if (!comm->n_ranks && !comm->n_nodes && comm->rank >= 0 &&
        comm->rank < RECORD_MAX_RANKS)
        return NULL; /* NCCL before 2.27 does not report sizes */
    if (comm->n_ranks < 1 || comm->n_ranks > RECORD_MAX_RANKS ||
        comm->rank < 0 || comm->rank >= comm->n_ranks)
        return "bad rank";
    if (comm->n_nodes < 1 || comm->n_nodes > comm->n_ranks)
        return "bad number of nodes";
    return NULL;
}

/* Of a MIG device only the UUID is its own. */
uint64_t recfile_device(const struct jpr_comm *comm)
{
    const char *text = comm->gpu_uuid && *comm->gpu_uuid ? comm->gpu_uuid
                                                         : comm->gpu_pci;
    uint64_t hash;

    if (!text || !*text)
        return 0;
    hash = fnv_bytes(FNV_START, text, strlen(text));
    return hash ? hash : 1;
}

/* Prepares what all records of the communicator share. NCCL's name "unknown"
 * means that there is none. */
static void fill_comm(struct recfile_comm *to, const struct jpr_comm *comm)
{
    struct record *base = &to->base;

    to->why = why_refused(comm);
    recfile_id(comm->id, to->id);
    recfile_copy(to->name, sizeof(to->name), comm->name);
    *base = (struct record){
        .id = text_of(to->id), .name = text_of(to->name), .has_sn = true};
    if (!strcmp(to->name, "unknown"))
        base->name.len = 0;
    if (to->why)
        return;
    base->device = recfile_device(comm);
    base->rank = (uint32_t) comm->rank;
    base->n_ranks = (uint32_t) comm->n_ranks;
    base->nnodes = (uint32_t) comm->n_nodes;
}

/* Looks for a communicator with the id and the rank of this one, among a
 * bounded number of those before it. */
static bool has_twin(const struct jp_recfile *file, const struct jpr_comm *comm)
{
    enum { MOST = 256 };
    uint32_t from = comm->index > MOST ? comm->index - MOST : 0;
    char id[RECORD_MAX_ID + 1];

    recfile_id(comm->id, id);
    for (uint32_t i = from; comm->id && i < comm->index; i++)
        if (i < file->n_comms && file->comms[i] && !file->comms[i]->why &&
            file->comms[i]->base.rank == comm->rank &&
            !strcmp(file->comms[i]->id, id))
            return true;
    return false;
}

/* Adds a communicator. Returns 0, or -1 without memory. */
static int take_comm(struct jp_recfile *file, const struct jpr_comm *comm)
{
    uint32_t n = file->n_comms;
    struct recfile_comm *one = comm->index < n ? file->comms[comm->index]
                                               : NULL;

    /* it comes again: reuse the memory, as records may still point to its texts
     */
    if (one) {
        /* the file's sums include them */
        struct jpr_doubts doubts = one->doubts;

        free(one->counts);
        free(one->unseen);
        *one = (struct recfile_comm){.doubts = doubts};
        fill_comm(one, comm);
        return 0;
    }
    one = calloc(1, sizeof(*one));
    if (!one)
        return -1;
    /* the index is below JPR_MAX_COMMS, so the table is bounded */
    if (comm->index >= n) {
        while (n <= comm->index)
            n = n ? 2 * n : 16;
        if (vector_resize(&file->comms, n, sizeof(*file->comms)) < 0) {
            free(one);
            return -1;
        }
        memset(file->comms + file->n_comms, 0,
               (n - file->n_comms) * sizeof(*file->comms));
        file->n_comms = n;
    }
    file->comms[comm->index] = one;
    fill_comm(one, comm);
    file->tail.has_twins = file->tail.has_twins || has_twin(file, comm);
    return 0;
}

/* --- the last state of a recording --------------------------------------- */

/* Limits of memory: rows of one communicator, and of the whole file. Further
 * rows are dropped. NCCL has a dozen functions. */
#define MAX_COUNTS 64
#define MAX_ROWS (4u * JPR_MAX_COMMS)

/* Replaces the row of a communicator and function. Returns 0, or -1 without
 * memory. */
static int take_row(struct jp_recfile *file, struct recfile_comm *comm,
                    const struct jpr_comm_counts *row)
{
    struct recfile_count one = {.counts = row->counts};

    recfile_copy(one.func, sizeof(one.func), row->func);
    for (size_t i = 0; i < comm->n_counts; i++)
        if (!strcmp(comm->counts[i].func, one.func)) {
            comm->counts[i] = one;
            return 0;
        }
    if (comm->n_counts == MAX_COUNTS || file->n_counts == MAX_ROWS)
        return 0;
    if (VECTOR_DOUBLE(comm->counts, comm->n_counts) < 0)
        return -1;
    comm->counts[comm->n_counts++] = one;
    file->n_counts++;
    return 0;
}

/* Takes the counters of communicators that the file has described; others are
 * ignored. */
static int take_rows(struct jp_recfile *file, const struct jpr_counters *c)
{
    for (uint64_t i = 0; i < c->n_rows; i++) {
        uint32_t comm = c->rows[i].comm;

        if (comm < file->n_comms && file->comms[comm] &&
            take_row(file, file->comms[comm], &c->rows[i]) < 0)
            return -1;
    }
    return 0;
}

/* Replaces `before` calls of a function by `calls` in the sums over all
 * communicators. */
static void add_unseen(struct recfile_tail *tail, const char *func,
                       uint64_t calls, uint64_t before)
{
    uint32_t i = 0;

    /* modulo 2^64, as the number may fall */
    tail->unseen_calls += calls - before;
    while (i < tail->n_unseen && strcmp(tail->unseen[i].func, func) != 0)
        i++;
    if (i == RECFILE_UNSEEN) /* no place: only in the sum */
        return;
    if (i == tail->n_unseen) {
        recfile_copy(tail->unseen[i].func, sizeof(tail->unseen[i].func), func);
        tail->unseen[i].calls = 0;
        tail->n_unseen++;
    }
    tail->unseen[i].calls += calls - before;
}

/* Replaces the unseen calls of a communicator and function. Returns 0, or -1
 * without memory. */
static int take_unseen(struct jp_recfile *file, struct recfile_comm *comm,
                       const struct jpr_unseen *row)
{
    struct recfile_tail *tail = &file->tail;
    uint64_t calls = row->calls < UINT32_MAX ? row->calls : UINT32_MAX;
    struct recfile_unseen one = {.calls = calls};

    recfile_copy(one.func, sizeof(one.func), row->func);
    for (size_t i = 0; i < comm->n_unseen; i++)
        if (!strcmp(comm->unseen[i].func, one.func)) {
            add_unseen(tail, one.func, calls, comm->unseen[i].calls);
            comm->unseen[i].calls = calls;
            return 0;
        }
    if (comm->n_unseen == MAX_COUNTS || file->n_unseen == MAX_ROWS)
        return 0;
    if (VECTOR_DOUBLE(comm->unseen, comm->n_unseen) < 0)
        return -1;
    comm->unseen[comm->n_unseen++] = one;
    file->n_unseen++;
    add_unseen(tail, one.func, calls, 0);
    return 0;
}

/* The same for unseen calls. NCCL reports no collective of a communicator of
 * one rank, and nobody waits in it, so nothing is missing there. */
static int take_all_unseen(struct jp_recfile *file,
                           const struct jpr_counters *c)
{
    for (uint64_t i = 0; i < c->n_unseen; i++) {
        uint32_t comm = c->unseen[i].comm;

        if (comm < file->n_comms && file->comms[comm] &&
            file->comms[comm]->base.n_ranks != 1 &&
            take_unseen(file, file->comms[comm], &c->unseen[i]) < 0)
            return -1;
    }
    return 0;
}

/* Sets oldest_ns to the earlier of two times, where 0 means "none". */
static void set_oldest(struct recfile_tail *tail)
{
    tail->oldest_ns = !tail->fly_ns                 ? tail->cut_ns
                      : !tail->cut_ns               ? tail->fly_ns
                      : tail->fly_ns < tail->cut_ns ? tail->fly_ns
                                                    : tail->cut_ns;
}

/* Notes that the file has something of this time. */
static void take_time(struct jp_recfile *file, uint64_t mono_ns)
{
    uint64_t at = recfile_wall_ns(file, mono_ns);

    if (at > file->tail.last_ns)
        file->tail.last_ns = at;
}

/* Returns the earlier of before_ns and the operation's start, wall clock. */
static uint64_t earlier(const struct jp_recfile *file, uint64_t before_ns,
                        const struct jpr_op *op)
{
    uint64_t start = recfile_wall_ns(file, op->enqueue_start_mono_ns);

    return start && (!before_ns || start < before_ns) ? start : before_ns;
}

/* Takes an operation of a snapshot; a new snapshot replaces the one before. */
static void tail_inflight(struct jp_recfile *file,
                          const struct jpr_inflight *in)
{
    struct recfile_tail *tail = &file->tail;

    if (in->at_mono_ns != tail->at_mono_ns) /* a new snapshot */
        tail->fly_ns = 0;
    tail->at_mono_ns = in->at_mono_ns;
    take_time(file, in->at_mono_ns);
    if (!in->none)
        tail->fly_ns = earlier(file, tail->fly_ns, &in->op);
    set_oldest(tail);
}

/* Adds an operation to the sums of its tag, if there is room. */
static void add_tag(struct recfile_tail *tail, const struct jpr_op *op)
{
    uint64_t exec_ns =
        op->source == JPR_KERNEL_GPU && !op->incomplete ? op->exec_ns : 0;
    uint32_t i = 0;

    while (i < tail->n_tags && tail->tags[i].tag != op->tag)
        i++;
    if (i == RECFILE_TAGS)
        return;
    if (i == tail->n_tags)
        tail->tags[tail->n_tags++] = (struct recfile_tag){.tag = op->tag};
    tail->tags[i].ops = num_add(tail->tags[i].ops, 1);
    tail->tags[i].exec_ns = num_add(tail->tags[i].exec_ns, exec_ns);
    tail->tags[i].sync_ns = num_add(tail->tags[i].sync_ns, op->sync_ns);
}

static void add_phases(struct recfile_phases *sum, const struct jpr_op *op)
{
    sum->ops = num_add(sum->ops, 1);
    sum->exec_ns = num_add(sum->exec_ns, op->exec_ns);
    sum->sync_ns = num_add(sum->sync_ns, op->sync_ns);
    sum->close_ns = num_add(sum->close_ns, op->close_ns);
}

/* Takes an operation for what the tail has of it. */
static void tail_op(struct jp_recfile *file, const struct jpr_op *op)
{
    file->tail.has_replays |= recfile_seq(op) != op->seq;
    if (op->tag)
        add_tag(&file->tail, op);
    if (op->has_phases && !op->incomplete && op->exec_ns >= op->sync_ns &&
        op->exec_ns - op->sync_ns >= op->close_ns)
        add_phases(&file->tail.phases, op);
    if (!op->incomplete || op->overtaken)
        return;
    file->tail.cut_short += !op->unsure; /* an unsure one may have ended */
    file->tail.cut_ns = earlier(file, file->tail.cut_ns, op);
    set_oldest(&file->tail);
}

/* A limit above anything real, so that sums over all communicators cannot
 * overflow. */
#define MOST_DOUBTED (UINT64_MAX / JPR_MAX_COMMS)

static uint64_t at_most(uint64_t value)
{
    return value < MOST_DOUBTED ? value : MOST_DOUBTED;
}

/* Replaces a communicator's last row, also in the file's sums, instead of
 * adding up all rows at the end: a file may have as many counters as bytes. */
static void change_doubts(struct recfile_tail *tail, struct jpr_doubts *have,
                          const struct jpr_doubts *row)
{
    const struct jpr_doubts now = {.comm = row->comm,
                                   .reasons = row->reasons,
                                   .unsure = at_most(row->unsure),
                                   .refused = at_most(row->refused)};

    /* take the old row out of the sums, and put the new one in */
    tail->unsure += now.unsure - have->unsure;
    tail->refused += now.refused - have->refused;
    for (unsigned i = 0; i < RECFILE_DOUBTS; i++) {
        if (have->reasons & 1u << i)
            tail->unsure_by[i] -= have->unsure;
        if (now.reasons & 1u << i)
            tail->unsure_by[i] += now.unsure;
    }
    *have = now;
}

/* Takes the doubts of communicators that the file has described. */
static void take_doubts(struct jp_recfile *file, const struct jpr_counters *c)
{
    for (uint64_t i = 0; i < c->n_doubts; i++) {
        uint32_t comm = c->doubts[i].comm;

        if (comm < file->n_comms && file->comms[comm])
            change_doubts(&file->tail, &file->comms[comm]->doubts,
                          &c->doubts[i]);
    }
}

/* Replaces the sums of the tail. */
static void take_counters(struct recfile_tail *tail,
                          const struct jpr_counters *c)
{
    tail->counted = true;
    tail->final = c->final;
    tail->clocks = c->clocks;
    tail->in_flight = c->in_flight;
    tail->lost_steps = c->lost_steps;
    tail->lost_comms = c->lost_comms;
    tail->by_ce = c->kinds[JPR_CE].produced;
    tail->counts = (struct jpr_counts){0};
    for (int i = 0; i < JPR_N_OP_KINDS; i++) {
        tail->counts.produced =
            num_add(tail->counts.produced, c->kinds[i].produced);
        tail->counts.written =
            num_add(tail->counts.written, c->kinds[i].written);
        tail->counts.lost = num_add(tail->counts.lost, c->kinds[i].lost);
        tail->counts.left_out =
            num_add(tail->counts.left_out, c->kinds[i].left_out);
    }
    /* operations of communicators without a place were produced and lost */
    tail->counts.produced = num_add(tail->counts.produced, c->lost_foreign);
    tail->counts.lost = num_add(tail->counts.lost, c->lost_foreign);
}

/* The time of the process is what the cost is compared with. */
static void take_cost(struct jp_recfile *file, const struct jpr_counters *c)
{
    file->tail.cost = c->cost;
    file->tail.wall_ns = c->clocks.mono_ns > file->clocks.mono_ns
                             ? c->clocks.mono_ns - file->clocks.mono_ns
                             : 0;
}

/* Takes all pauses of the process anew. */
static void take_pauses(struct jp_recfile *file, const struct jpr_counters *c)
{
    struct recfile_tail *tail = &file->tail;

    tail->n_pauses = 0;
    for (uint64_t i = 0; i < c->n_pauses; i++) {
        const struct jpr_pause *from = &c->pauses[i];
        bool more = tail->n_pauses == RECFILE_PAUSES;
        struct recfile_pause *to = &tail->pauses[tail->n_pauses - more];

        if (!more)
            *to = (struct recfile_pause){
                .from_ns = recfile_wall_ns(file, from->from_ns)};
        to->to_ns = from->to_ns ? recfile_wall_ns(file, from->to_ns) : 0;
        to->skipped = num_add(to->skipped, from->skipped);
        to->by_mask = to->by_mask || from->why == JPR_PAUSE_BY_MASK;
        tail->n_pauses += !more;
    }
}

/* Takes what the file says of its room. */
static void take_room(struct jp_recfile *file, const struct jpr_room *room)
{
    struct recfile_room *to = &file->tail.room;

    to->limits = (unsigned) (room->limits & JPR_LIMITS);
    to->since_ns = to->limits ? recfile_wall_ns(file, room->since_ns) : 0;
    to->error = room->error;
    file->is_sample = room->full && file->has_ops;
}

/* Counts an operation of a full file. */
static void take_op(struct jp_recfile *file, const struct jpr_op *op)
{
    struct recfile_comm *comm = op->comm < file->n_comms ? file->comms[op->comm]
                                                         : NULL;

    if (!file->is_sample) {
        file->has_ops = true;
        return;
    }
    file->tail.room.sampled++;
    if (comm)
        comm->sampled++;
}

int recfile_tail_counters(struct jp_recfile *file,
                          const struct jpr_counters *counters)
{
    take_counters(&file->tail, counters);
    take_doubts(file, counters);
    take_pauses(file, counters);
    if (counters->cost.told)
        take_cost(file, counters);
    /* all operations of the last snapshot have ended */
    if (!counters->in_flight) {
        file->tail.fly_ns = 0;
        set_oldest(&file->tail);
    }
    take_time(file, counters->clocks.mono_ns);
    return take_rows(file, counters) < 0 ? -1 : take_all_unseen(file, counters);
}

/* --- its operations as records ------------------------------------------- */

/* Returns whether the file expands to more than any recording does. A few
 * hostile bytes can unpack to millions of operations. */
static bool expands(const struct jp_recfile *file)
{
    const struct jpr_end *end = jpr_end(file->reader);
    uint64_t bytes = file->source ? logsource_consumed(file->source)
                                  : jpr_taken(file->reader);

    return end->raw > bytes * LOGSOURCE_MAX_RATIO + (16u << 20);
}

int recfile_next(struct jp_recfile *file, struct jpr_record *record,
                 struct jp_error *err)
{
    int rc = jpr_next(file->reader, record, err);

    /* checked after each record, as one block may hold very many */
    if (rc > 0 && expands(file))
        return jpr_stop(file->reader, "expands more than 300 to 1", err);
    if (rc <= 0)
        return rc;
    if (record->type != JPR_COUNTERS)
        file->tail.final = false; /* those were not the last counters */
    switch (record->type) {
    case JPR_HEADER:
        take_header(file, record->header);
        break;
    case JPR_PROCESS:
        take_launched(file, record->process->variables,
                      record->process->n_variables);
        break;
    case JPR_COMM:
        if (take_comm(file, record->comm) < 0)
            return error_set(err, "no memory for a communicator");
        break;
    case JPR_COUNTERS:
        if (recfile_tail_counters(file, record->counters) < 0)
            return error_set(err, "no memory for counters");
        break;
    case JPR_OP:
        take_op(file, record->op);
        tail_op(file, record->op);
        break;
    case JPR_INFLIGHT:
        tail_inflight(file, record->inflight);
        break;
    case JPR_ROOM:
        take_room(file, record->room);
        break;
    }
    return 1;
}

const struct recfile_comm *recfile_comm(const struct jp_recfile *file,
                                        uint32_t index)
{
    return index < file->n_comms ? file->comms[index] : NULL;
}

uint64_t recfile_wall_ns(const struct jp_recfile *file, uint64_t mono_ns)
{
    /* modulo 2^64: the difference may be negative */
    uint64_t wall = file->clocks.real_ns + (mono_ns - file->clocks.mono_ns);

    /* later than the year 2262 is damage */
    return mono_ns && file->has_header && wall <= INT64_MAX ? wall : 0;
}

uint64_t recfile_exec_us(const struct jpr_op *op)
{
    if (op->incomplete || op->source == JPR_COLLECTIVE_CPU)
        return 0;
    return op->exec_ns / 1000;
}

uint64_t recfile_end_ns(const struct jpr_op *op)
{
    uint64_t end;

    if (op->kernel_last_mono_ns)
        return op->kernel_last_mono_ns;
    if (__builtin_add_overflow(op->enqueue_start_mono_ns, op->exec_ns, &end))
        end = 0;
    return end > op->enqueue_stop_mono_ns ? end : op->enqueue_stop_mono_ns;
}

/* Returns whether the operation has a number of the recorder, not of NCCL. */
static bool is_replay(const struct jpr_op *op)
{
    return op->kind == JPR_COLL && op->seq >= JPR_REPLAY_SEQ &&
           op->seq < 2 * JPR_REPLAY_SEQ;
}

char *recfile_func_name(const struct jpr_op *op, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s", op->func,
             op->kind == JPR_CE ? RECORD_CE
             : is_replay(op)    ? RECORD_REPLAY
                                : "");
    return buf;
}

uint64_t recfile_seq(const struct jpr_op *op)
{
    return is_replay(op) ? op->seq - JPR_REPLAY_SEQ : op->seq;
}

/* Puts a function in the place of the oldest. Returns NULL if records cannot
 * have its name. */
static const struct recfile_func *add_func(struct jp_recfile *file,
                                           const struct jpr_op *op)
{
    struct recfile_func *f = &file->funcs[file->next_func];
    size_t n = strlen(op->func);

    *f->asked = '\0'; /* the old function is gone, also if this fails */
    file->forgot_funcs |= file->next_func < file->n_funcs;
    /* the longest suffix must fit */
    if (n + sizeof(RECORD_REPLAY) > sizeof(f->name))
        return NULL;
    n = strlen(recfile_func_name(op, f->name, sizeof(f->name)));
    if (!record_is_word(f->name, n, RECORD_MAX_FUNC) ||
        (op->kind == JPR_P2P && strcmp(op->func, "Send") &&
         strcmp(op->func, "Recv")))
        return NULL;
    recfile_copy(f->asked, sizeof(f->asked), op->func);
    f->kind = op->kind;
    f->replay = is_replay(op);
    f->len = n;
    f->rule = bandwidth_find(op->func);
    file->next_func = (file->next_func + 1) % RECFILE_FUNCS;
    if (file->n_funcs < RECFILE_FUNCS)
        file->n_funcs++;
    return f;
}

/* Returns the function of an operation, or NULL. A file has few, so a linear
 * search is enough. */
static const struct recfile_func *find_func(struct jp_recfile *file,
                                            const struct jpr_op *op)
{
    for (unsigned i = 0; *op->func && i < file->n_funcs; i++)
        if (file->funcs[i].kind == op->kind &&
            file->funcs[i].replay == is_replay(op) &&
            !strcmp(file->funcs[i].asked, op->func))
            return &file->funcs[i];
    return add_func(file, op);
}

/* Sets the kind of a mistake and returns the reason. */
static const char *refuse(struct jp_recfile *file, enum jp_bad bad,
                          const char *why)
{
    file->bad = bad;
    return why;
}

/* Returns the number of the series, the records of a communicator and the last
 * function; 0 once a function had to be replaced. */
static uint64_t series_of(struct jp_recfile *file, struct recfile_comm *comm)
{
    uint64_t *series = &comm->series[file->func - file->funcs];

    if (file->forgot_funcs)
        return 0;
    if (!*series)
        *series = ++file->n_series;
    return *series;
}

/* The phase of a tag: "tag 3", borrowed from the file. */
static struct record_text phase_of(struct jp_recfile *file, uint64_t tag)
{
    static const char others[] = "others";
    unsigned i = 0;

    while (i < file->n_phases && file->phases[i].tag != tag)
        i++;
    if (i == RECFILE_PHASES)
        return (struct record_text){others, strlen(others)};
    if (i == file->n_phases) {
        file->phases[i].tag = tag;
        snprintf(file->phases[i].name, sizeof(file->phases[i].name),
                 "tag %" PRIu64, tag);
        file->n_phases++;
    }
    return (struct record_text){file->phases[i].name,
                                strlen(file->phases[i].name)};
}

const char *recfile_record(struct jp_recfile *file, const struct jpr_op *op,
                           struct record *out)
{
    struct recfile_comm *comm = op->comm < file->n_comms ? file->comms[op->comm]
                                                         : NULL;
    uint32_t most;

    /* header, communicator and function must be good */
    if (file->why)
        return refuse(file, file->why_bad, file->why);
    if (!comm)
        return refuse(file, JP_BAD_MISSING, "communicator unknown");
    if (comm->why)
        return refuse(file, JP_BAD_VALUE, comm->why);
    file->func = find_func(file, op);
    if (!file->func)
        return refuse(file, JP_BAD_VALUE, "bad function");
    *out = comm->base;
    out->host = (struct record_text){file->host, file->host_len};
    out->pid = file->pid;
    out->instance = process_instance(file->pid_namespace, file->start);
    out->func = (struct record_text){file->func->name, file->func->len};
    out->p2p = op->kind == JPR_P2P;
    out->series = series_of(file, comm);
    out->sn = recfile_seq(op);
    out->bytes = op->bytes;
    /* NCCL keeps tags with the highest bit for itself */
    if (op->tag && op->tag <= INT64_MAX)
        out->phase = phase_of(file, op->tag);
    out->exec_us = recfile_exec_us(op);
    out->exec_unknown = !out->exec_us;
    out->dump_us = recfile_wall_ns(file, recfile_end_ns(op)) / 1000;
    out->start_us = recfile_wall_ns(file, op->kernel_first_mono_ns) / 1000;
    if (!op->incomplete)
        out->end_us = recfile_wall_ns(file, op->kernel_last_mono_ns) / 1000;
    /* the bounds of common/record.h */
    if (out->sn == UINT64_MAX)
        return refuse(file, JP_BAD_RANGE, "bad sequence number");
    if (out->bytes > RECORD_MAX_BYTES)
        return refuse(file, JP_BAD_RANGE, "bad size");
    if (out->exec_us > RECORD_MAX_TIME_US)
        return refuse(file, JP_BAD_RANGE, "bad time");
    /* before NCCL 2.27 the size is unknown, and any rank may be a peer */
    most = out->n_ranks ? out->n_ranks : RECORD_MAX_RANKS;
    if (out->p2p && (op->peer < 0 || op->peer >= most))
        return refuse(file, JP_BAD_VALUE, "bad peer");
    out->peer = out->p2p ? (uint32_t) op->peer : 0;
    out->busbw_nan = !out->n_ranks; /* bus bandwidth needs the size */
    if (file->only_times)
        return NULL;
    out->busbw_micro = bandwidth_micro(
        bandwidth_of(file->func->rule, out->n_ranks, out->bytes, out->exec_us)
            .bus_gbs);
    if (out->busbw_micro > RECORD_MAX_BUSBW_MICRO)
        return refuse(file, JP_BAD_RANGE, "bad bandwidth");
    if (out->busbw_nan)
        out->busbw_micro = 0;
    return NULL;
}
