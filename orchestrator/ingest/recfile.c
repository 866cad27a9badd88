/* recfile.c - what stands once in a recorder's file, and its operations. */
#include "orchestrator/ingest/recfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/ingest/recfile_tail.h"
#include "plugins/nccl_recorder/jpr_frame.h"

#define MAGIC_BYTES 8

/* Up to cap first bytes of a file as they are; -1 and err. */
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

/* The same of a compressed file unpacked. */
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

static int begin(struct jp_recfile *file, struct jpr_reader *reader,
                 struct jp_logsource *source)
{
    *file = (struct jp_recfile){.reader = reader,
                                .source = source,
                                .why = "no header",
                                .why_bad = JP_BAD_MISSING,
                                .pid = -1,
                                .procid = -1};
    if (!reader)
        logsource_close(source);
    return reader ? 0 : -1;
}

static ssize_t fill(void *arg, void *buf, size_t cap)
{
    return logsource_read(arg, buf, cap, NULL);
}

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
    return source
               ? begin(file, jpr_open_stream(fill, source, path, err), source)
               : -1;
}

/* The same for bytes that are compressed. */
static int open_packed(struct jp_recfile *file, const void *bytes, size_t n,
                       const char *name, struct jp_error *err)
{
    struct jp_logsource *source = logsource_open_memory(bytes, n, err);

    return source
               ? begin(file, jpr_open_stream(fill, source, name, err), source)
               : -1;
}

int recfile_open_bytes(struct jp_recfile *file, const void *bytes, size_t n,
                       const char *name, struct jp_error *err)
{
    return n >= 2 && logsource_is_packed(bytes)
               ? open_packed(file, bytes, n, name, err)
               : begin(file, jpr_open_bytes(bytes, n, name, err), NULL);
}

const char *recfile_damage(const struct jp_recfile *file)
{
    return file->source ? logsource_damage(file->source) : NULL;
}

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

void recfile_copy(char *out, size_t size, const char *text)
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

static struct inspector_text text_of(const char *text)
{
    return (struct inspector_text){text, strlen(text)};
}

static void take_notes(struct jp_recfile *file, const struct jpr_header *h)
{
    size_t len = 0;
    FILE *out = h->n_notes ? open_memstream(&file->notes, &len) : NULL;

    if (!out)
        return; /* notes are no figures */
    for (uint32_t i = 0; i < h->n_notes; i++)
        fprintf(out, "%s%.200s", i ? "; " : "", h->notes[i]);
    if (fclose(out) != 0) {
        free(file->notes);
        file->notes = NULL;
    }
}

static void take_header(struct jp_recfile *file, const struct jpr_header *h)
{
    if (file->has_header)
        return;
    file->has_header = true;
    file->clocks = h->clocks;
    file->procid = h->procid;
    file->pid = h->pid <= INT64_MAX ? (int64_t) h->pid : -1;
    recfile_copy(file->host, sizeof(file->host), h->hostname);
    file->host_len = strlen(file->host);
    recfile_copy(file->recorder, sizeof(file->recorder), h->recorder);
    take_notes(file, h);
    file->why_bad = file->pid < 0 ? JP_BAD_RANGE : JP_BAD_VALUE;
    file->why = file->pid < 0 ? "bad pid"
                : inspector_good_word(h->hostname, strlen(h->hostname),
                                      INSPECTOR_MAX_HOST)
                    ? NULL
                    : "bad host name";
}

void recfile_id(uint64_t hash, char id[INSPECTOR_MAX_ID + 1])
{
    char full[2 + 16 + 1];

    snprintf(full, sizeof(full), "0x%" PRIx64, hash);
    snprintf(id, INSPECTOR_MAX_ID + 1, "%.16s", full);
}

static const char *judge(const struct jpr_comm *comm)
{
    if (!comm->n_ranks && !comm->n_nodes && comm->rank >= 0 &&
        comm->rank < INSPECTOR_MAX_RANKS)
        return NULL; /* NCCL before 2.27 tells no sizes */
    if (comm->n_ranks < 1 || comm->n_ranks > INSPECTOR_MAX_RANKS ||
        comm->rank < 0 || comm->rank >= comm->n_ranks)
        return "bad rank";
    if (comm->n_nodes < 1 || comm->n_nodes > comm->n_ranks)
        return "bad number of nodes";
    return NULL;
}

static void fill_comm(struct recfile_comm *to, const struct jpr_comm *comm)
{
    struct inspector_record *base = &to->base;

    to->why = judge(comm);
    recfile_id(comm->id, to->id);
    recfile_copy(to->name, sizeof(to->name), comm->name);
    *base = (struct inspector_record){
        .id = text_of(to->id), .name = text_of(to->name), .has_sn = true};
    if (!strcmp(to->name, "unknown"))
        base->name.len = 0;
    if (to->why)
        return;
    base->rank = (uint32_t) comm->rank;
    base->n_ranks = (uint32_t) comm->n_ranks;
    base->nnodes = (uint32_t) comm->n_nodes;
}

/* 0, or -1 without memory. */
static int take_comm(struct jp_recfile *file, const struct jpr_comm *comm)
{
    uint32_t n = file->n_comms;
    struct recfile_comm *one = calloc(1, sizeof(*one));

    if (!one)
        return -1;
    if (comm->index >= n) {
        struct recfile_comm **more;

        while (n <= comm->index)
            n = n ? 2 * n : 16;
        more = reallocarray(file->comms, n, sizeof(*more));
        if (!more) {
            free(one);
            return -1;
        }
        memset(more + file->n_comms, 0, (n - file->n_comms) * sizeof(*more));
        file->comms = more;
        file->n_comms = n;
    }
    free_comm(file->comms[comm->index]);
    file->comms[comm->index] = one;
    fill_comm(one, comm);
    return 0;
}

int recfile_next(struct jp_recfile *file, struct jpr_record *record,
                 struct jp_error *err)
{
    int rc = jpr_next(file->reader, record, err);

    if (rc <= 0)
        return rc;
    if (record->type != JPR_COUNTERS)
        file->tail.final = false; /* something follows the last block */
    switch (record->type) {
    case JPR_HEADER:
        take_header(file, record->header);
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
        recfile_tail_op(file, record->op);
        break;
    case JPR_INFLIGHT:
        recfile_tail_inflight(file, record->inflight);
        break;
    }
    return 1;
}

const struct recfile_comm *recfile_comm(const struct jp_recfile *file,
                                        uint32_t index)
{
    return index < file->n_comms ? file->comms[index] : NULL;
}

int64_t recfile_rank(const struct jp_recfile *file)
{
    int64_t rank = file->procid, largest = 0;

    for (uint32_t i = 0; file->procid < 0 && i < file->n_comms; i++) {
        const struct jpr_comm *comm = jpr_comm(file->reader, i);

        if (comm && comm->n_ranks > largest) {
            largest = comm->n_ranks;
            rank = comm->rank;
        }
    }
    return rank;
}

uint64_t recfile_wall_ns(const struct jp_recfile *file, uint64_t mono_ns)
{
    /* modulo 2^64, as the difference may be negative */
    uint64_t wall = file->clocks.real_ns + (mono_ns - file->clocks.mono_ns);

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

/* Puts a function in the place of the oldest; NULL: its name is none. */
static const struct recfile_func *add_func(struct jp_recfile *file,
                                           const struct jpr_op *op)
{
    struct recfile_func *f = &file->funcs[file->next_func];
    int n = snprintf(f->name, sizeof(f->name), "%s%s", op->func,
                     op->kind == JPR_CE ? RECFILE_CE : "");

    *f->asked = '\0'; /* what was here is gone */
    if (n < 0 || (size_t) n >= sizeof(f->name) ||
        !inspector_good_word(f->name, (size_t) n, INSPECTOR_MAX_FUNC) ||
        (op->kind == JPR_P2P && strcmp(op->func, "Send") &&
         strcmp(op->func, "Recv")))
        return NULL;
    recfile_copy(f->asked, sizeof(f->asked), op->func);
    f->kind = op->kind;
    f->len = (size_t) n;
    f->rule = bandwidth_find(op->func);
    file->next_func = (file->next_func + 1) % RECFILE_FUNCS;
    if (file->n_funcs < RECFILE_FUNCS)
        file->n_funcs++;
    return f;
}

static const struct recfile_func *find_func(struct jp_recfile *file,
                                            const struct jpr_op *op)
{
    for (unsigned i = 0; *op->func && i < file->n_funcs; i++)
        if (file->funcs[i].kind == op->kind &&
            !strcmp(file->funcs[i].asked, op->func))
            return &file->funcs[i];
    return add_func(file, op);
}

static const char *refuse(struct jp_recfile *file, enum jp_bad bad,
                          const char *why)
{
    file->bad = bad;
    return why;
}

const char *recfile_record(struct jp_recfile *file, const struct jpr_op *op,
                           struct inspector_record *out)
{
    const struct recfile_comm *comm = recfile_comm(file, op->comm);
    uint32_t most;

    if (file->why)
        return refuse(file, file->why_bad, file->why);
    if (!comm)
        return refuse(file, JP_BAD_MISSING, "communicator not told");
    if (comm->why)
        return refuse(file, JP_BAD_VALUE, comm->why);
    file->func = find_func(file, op);
    if (!file->func)
        return refuse(file, JP_BAD_VALUE, "bad function");
    *out = comm->base;
    out->host = (struct inspector_text){file->host, file->host_len};
    out->pid = file->pid;
    out->func = (struct inspector_text){file->func->name, file->func->len};
    out->p2p = op->kind == JPR_P2P;
    out->sn = op->seq;
    out->bytes = op->bytes;
    out->exec_us = recfile_exec_us(op);
    out->exec_unknown = !out->exec_us;
    out->dump_us = recfile_wall_ns(file, recfile_end_ns(op)) / 1000;
    out->start_us = recfile_wall_ns(file, op->kernel_first_mono_ns) / 1000;
    if (!op->incomplete)
        out->end_us = recfile_wall_ns(file, op->kernel_last_mono_ns) / 1000;
    if (out->sn == UINT64_MAX)
        return refuse(file, JP_BAD_RANGE, "bad sequence number");
    if (out->bytes > INSPECTOR_MAX_BYTES)
        return refuse(file, JP_BAD_RANGE, "bad size");
    if (out->exec_us > INSPECTOR_MAX_TIME_US)
        return refuse(file, JP_BAD_RANGE, "bad time");
    most = out->n_ranks ? out->n_ranks : INSPECTOR_MAX_RANKS;
    if (out->p2p && (op->peer < 0 || op->peer >= most))
        return refuse(file, JP_BAD_VALUE, "bad peer");
    out->peer = out->p2p ? (uint32_t) op->peer : 0;
    out->busbw_micro = bandwidth_micro(
        bandwidth_of(file->func->rule, out->n_ranks, out->bytes, out->exec_us)
            .bus_gbs);
    if (out->busbw_micro > INSPECTOR_MAX_BUSBW_MICRO)
        return refuse(file, JP_BAD_RANGE, "bad bandwidth");
    out->busbw_nan = !out->n_ranks;
    if (out->busbw_nan)
        out->busbw_micro = 0;
    return NULL;
}
