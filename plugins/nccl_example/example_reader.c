/* example_reader.c - a trace of the example plugin becomes records.
 *
 * trace_read.c puts events together as operations. tracefile_next() checks
 * their bounds and makes records of them; the backend's reader passes these on.
 */
#include "plugins/nccl_example/example_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/num.h"
#include "plugins/nccl_example/example.h"
#include "plugins/nccl_recorder/recfile.h"
#include "plugins/reader.h"

/* --- operations of a trace ------------------------------------------------ */

/* Takes the host from the folder that the file is in, if that is raw/<node>. */
static void find_host(struct jp_tracefile *file, const char *path)
{
    const char *end = strrchr(path, '/'), *start = end;

    if (!end)
        return;
    while (start > path && start[-1] != '/')
        start--;
    /* "raw" must be a whole name, and the host one that records can have */
    if (start - path < 4 || memcmp(start - 4, "raw/", 4) != 0 ||
        (start - path > 4 && start[-5] != '/') ||
        !record_is_word(start, (size_t) (end - start), RECORD_MAX_HOST))
        return;
    file->host_len = (size_t) (end - start);
    memcpy(file->host, start, file->host_len);
}

/* Reads the digits that end at text[*len] and follow a '_', to which *len
 * moves. */
static bool name_number(const char *text, size_t *len, uint64_t *out)
{
    char digits[21];
    size_t n = 0;

    while (n < *len && text[*len - n - 1] >= '0' && text[*len - n - 1] <= '9')
        n++;
    /* at least one digit, at most 20, and something before them */
    if (!n || n >= sizeof(digits) || n == *len || text[*len - n - 1] != '_')
        return false;
    memcpy(digits, text + *len - n, n);
    digits[n] = '\0';
    *len -= n + 1;
    return num_parse_u64(digits, 0, UINT64_MAX, out, NULL) == 0;
}

/* Takes hash and rank from "..._<hash>_<rank>.json", if the file has such a
 * name. */
static void read_name(struct jp_tracefile *file, const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    /* a compressed file has a second suffix */
    const char *end = strstr(name, ".json");
    size_t len = end ? (size_t) (end - name) : 0;

    file->named = name_number(name, &len, &file->name_rank) &&
                  name_number(name, &len, &file->name_hash);
}

/* Gives the trace's reader its bytes, decompressed. */
static ssize_t fill_buffer(void *arg, char *buf, size_t cap)
{
    return logsource_read(arg, buf, cap, NULL);
}

/* Takes the source over. Returns 0, or -1 with err. */
static int begin(struct jp_tracefile *file, struct jp_logsource *source,
                 const char *path, struct jp_error *err)
{
    struct trace_reader *reader = source ? calloc(1, sizeof(*reader)) : NULL;

    if (!reader) {
        if (source)
            error_set(err, "%s: out of memory", path);
        logsource_close(source);
        return -1;
    }
    *file = (struct jp_tracefile){.source = source, .reader = reader};
    trace_read_init(reader, fill_buffer, source);
    find_host(file, path);
    read_name(file, path);
    return 0;
}

int tracefile_open(struct jp_tracefile *file, const char *path,
                   struct jp_error *err)
{
    return begin(file, logsource_open(path, err), path, err);
}

int tracefile_open_bytes(struct jp_tracefile *file, const void *bytes, size_t n,
                         const char *path, struct jp_error *err)
{
    return begin(file, logsource_open_memory(bytes, n, err), path, err);
}

/* May be called again. */
void tracefile_close(struct jp_tracefile *file)
{
    free(file->reader);
    logsource_close(file->source);
    file->reader = NULL;
    file->source = NULL;
}

/* Counts the record for tracefile_missing(). */
static void watch(struct jp_tracefile *file, const struct trace_op *op)
{
    struct tracefile_series *s = file->series, *end = s + file->n_series;
    /* the copy engines' functions are numbered together */
    const char *func = op->ce ? RECORD_CE : op->func;

    /* few series: a linear search is enough */
    while (s < end &&
           (s->comm_hash != op->comm_hash || strcmp(s->func, func) != 0))
        s++;
    if (s == end) {
        if (file->n_series == TRACEFILE_SERIES)
            return; /* the number of missing ones is then too low */
        file->n_series++;
        *s = (struct tracefile_series){.comm_hash = op->comm_hash};
        memcpy(s->func, func, strlen(func) + 1);
    }
    s->n++;
    if (op->seq > s->last)
        s->last = op->seq;
}

uint64_t tracefile_missing(const struct jp_tracefile *file)
{
    uint64_t missing = 0;

    for (unsigned i = 0; i < file->n_series; i++) {
        const struct tracefile_series *s = &file->series[i];

        /* numbers begin at 0: last + 1 operations were made */
        if (s->last >= s->n)
            missing = num_add(missing, s->last + 1 - s->n);
    }
    return missing;
}

/* Sets the kind of a mistake and returns the reason. */
static const char *refuse(struct jp_tracefile *file, enum jp_bad bad,
                          const char *why)
{
    file->bad = bad;
    return why;
}

/* Checks the bounds that the join needs. Returns NULL if they hold. */
static const char *check_operation(struct jp_tracefile *file,
                                   const struct trace_op *op)
{
    int len = snprintf(file->func, sizeof(file->func), "%s%s", op->func,
                       op->ce ? RECORD_CE : "");

    if (!badkind_is_text(op->func, strlen(op->func)))
        return refuse(file, JP_BAD_BYTES, "bad function");
    if (!record_is_word(file->func, (size_t) len, RECORD_MAX_FUNC) ||
        (op->p2p && strcmp(op->func, "Send") && strcmp(op->func, "Recv")))
        return refuse(file, JP_BAD_VALUE, "bad function");
    if (op->rank >= RECORD_MAX_RANKS)
        return refuse(file, JP_BAD_RANGE, "bad rank");
    if (op->p2p && op->peer >= RECORD_MAX_RANKS)
        return refuse(file, JP_BAD_RANGE, "bad peer");
    if (op->seq == UINT64_MAX)
        return refuse(file, JP_BAD_RANGE, "bad sequence number");
    /* elem_bytes is not 0: the trace's reader has checked that */
    if (op->count > RECORD_MAX_BYTES / op->elem_bytes)
        return refuse(file, JP_BAD_RANGE, "bad size");
    if (op->exec_ns / 1000 > RECORD_MAX_TIME_US)
        return refuse(file, JP_BAD_RANGE, "bad time");
    return NULL;
}

/* Makes *out the record of an operation. Returns NULL, or why there is none. */
static const char *convert(struct jp_tracefile *file, struct trace_op *op,
                           struct record *out)
{
    const char *why;

    /* CE_COLL has its communicator only in the file's name */
    if (!op->has_comm) {
        if (!file->named)
            return refuse(file, JP_BAD_MISSING, "communicator unknown");
        op->comm_hash = file->name_hash;
        op->rank = file->name_rank;
    }
    why = check_operation(file, op);
    if (why)
        return why;
    recfile_id(op->comm_hash, file->id);
    *out = (struct record){.id = {file->id, strlen(file->id)},
                           .host = {file->host, file->host_len},
                           .func = {file->func, strlen(file->func)},
                           .pid = op->pid,
                           .sn = op->seq,
                           .bytes = op->count * op->elem_bytes,
                           .exec_us = op->exec_ns / 1000,
                           .exec_unknown = op->exec_ns < 1000,
                           .rank = (uint32_t) op->rank,
                           .peer = (uint32_t) op->peer,
                           .p2p = op->p2p,
                           .has_sn = !op->p2p,
                           /* a full pool drops operations */
                           .gaps_lost = !op->p2p,
                           .busbw_nan = op->exec_ns < 1000};
    /* without the size of the communicator: the join applies its factor */
    out->busbw_micro = bandwidth_micro(
        bandwidth_of(BANDWIDTH_ONE, 0, out->bytes, out->exec_us).bus_gbs);
    return out->busbw_micro > RECORD_MAX_BUSBW_MICRO
               ? refuse(file, JP_BAD_RANGE, "bad bandwidth")
               : NULL;
}

enum trace_status tracefile_next(struct jp_tracefile *file, struct record *out)
{
    enum trace_status status = trace_read_next(file->reader, &file->op);

    file->why = file->reader->why;
    file->bad = file->reader->bad;
    file->line = file->reader->line;
    if (status != TRACE_OP)
        return status;
    file->why = convert(file, &file->op, out);
    file->line = file->op.line;
    if (file->why)
        return TRACE_OP_BAD;
    file->records++;
    file->untimed += out->exec_unknown;
    /* channels without an end may have been the longest */
    file->partly += !out->exec_unknown && file->op.time >= TRACE_TIME_HOST &&
                    file->op.kernels_timed < file->op.kernels;
    if (!file->op.p2p) /* Send and Recv have no numbers */
        watch(file, &file->op);
    return TRACE_OP;
}

/* --- the reader ----------------------------------------------------------- */

/* Whether the first category is one of another tool: this one's are in capitals
 * ("GROUP"), those of PyTorch's profiler are not ("cpu_op", "Operator"). */
static bool is_foreign(const char *head, size_t len)
{
    static const char key[] = "\"cat\"";
    const char *at = memmem(head, len, key, sizeof(key) - 1);
    const char *end = head + len;

    if (!at)
        return false;
    for (at += sizeof(key) - 1; at < end && strchr(" \t\n\r:", *at); at++)
        ;
    if (at == end || *at != '"')
        return false;
    for (at++; at < end && *at != '"'; at++)
        if (*at >= 'a' && *at <= 'z')
            return true;
    return false;
}

/* A trace is recognised by its first bytes, whatever its name. */
static bool probe(const char *name, const void *head, size_t len)
{
    return trace_lex_begins(head, len) && !is_foreign(head, len);
}

/* Fills in what is known after the end of the file. */
static void sum_up(struct jp_tracefile *source, enum trace_status last,
                   struct source_facts *facts)
{
    const char *damage = logsource_damage(source->source);

    facts->bytes = source->reader->lex.bytes;
    facts->other_lines = source->reader->others;
    facts->records = source->records;
    facts->untimed = source->untimed;
    facts->partly = source->partly;
    memcpy(facts->pools, source->reader->pools, sizeof(facts->pools));
    facts->missing = tracefile_missing(source);
    facts->cut = source->reader->cut || damage || last == TRACE_OP_FAILED;
    reader_note_damage(facts, damage ? damage
                              : last == TRACE_OP_FAILED
                                  ? "cannot be read to its end"
                                  : NULL);
}

static int read_file(void *state, const struct reader_input *in,
                     const struct reader_sink *sink, struct source_facts *facts)
{
    enum trace_status kind = TRACE_OP;
    struct jp_tracefile source;
    struct jp_error err = {""};
    struct record record;
    int rc = 0;

    if ((in->data
             ? tracefile_open_bytes(&source, in->data, in->len, in->path, &err)
             : tracefile_open(&source, in->path, &err)) < 0)
        return reader_refuse(facts, in->path, &err);
    facts->has_pools = true; /* full pools drop operations */
    facts->no_clock = true;  /* ts have an origin of their own */
    while (rc == 0 && !atomic_load_explicit(in->stop, memory_order_relaxed) &&
           (kind = tracefile_next(&source, &record)) <= TRACE_OP_BAD) {
        if (kind == TRACE_OP)
            rc = sink->take(sink->arg, &record, 1);
        else
            reader_note_bad(facts, source.line, source.bad, source.why);
    }
    sum_up(&source, kind, facts);
    tracefile_close(&source);
    return rc;
}

const struct backend_reader example_reader = {.probe = probe,
                                              .read = read_file};
