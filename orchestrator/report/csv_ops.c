/* csv_ops.c - format ops.csv, chunk by chunk. */
#include "orchestrator/report/csv_ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/aggregate/ops.h"
#include "orchestrator/report/rows.h"

#define CHUNK (128 * OPS_CHUNK) /* rows: some 2 MB of text */
#define MAX_THREADS 8

/* Empty where nothing was measured. */
static void put_if(struct jp_csv *csv, bool known, uint64_t value)
{
    if (known)
        csv_out_count(csv, value);
    else
        csv_out_empty(csv);
}

static void put_busbw(struct jp_csv *csv, const struct jp_op *o)
{
    if (!o->n_busbw) {
        for (int i = 0; i < 3; i++)
            csv_out_empty(csv);
        return;
    }
    csv_out_mean(csv, o->busbw_sum_micro, o->n_busbw, 6);
    csv_out_micro(csv, o->busbw_min_micro);
    csv_out_micro(csv, o->busbw_max_micro);
}

/* How the rows of one communicator and function begin. */
struct beginning {
    uint32_t comm, coll;
    size_t len; /* 0: not known */
    char text[512];
};

static void begin_op(struct jp_csv *csv, const struct jp_result *r,
                     const struct jp_op *o, struct beginning *last)
{
    if (last->len && last->comm == o->comm && last->coll == o->coll) {
        csv_out_again(csv, last->text, last->len);
        return;
    }
    csv_out_text(csv, rows_comm(r, o->comm)->id);
    csv_out_text(csv, rows_comm(r, o->comm)->name);
    csv_out_text(csv, o->coll < r->n_coll_names ? r->coll_names[o->coll] : "");
    last->comm = o->comm;
    last->coll = o->coll;
    last->len = csv_out_keep(csv, last->text, sizeof(last->text));
}

static void put_rows(struct jp_csv *csv, const struct jp_result *r, size_t from,
                     size_t to)
{
    struct ops_reader reader = {.ops = r->ops};
    struct beginning last = {.len = 0};

    for (size_t i = from; i < to; i++) {
        const struct jp_op *o = ops_at(&reader, i);

        begin_op(csv, r, o, &last);
        csv_out_count(csv, o->sn);
        csv_out_count(csv, o->bytes);
        csv_out_count(csv, rows_comm(r, o->comm)->n_ranks);
        csv_out_count(csv, o->n);
        put_busbw(csv, o);
        put_if(csv, o->n_exec, o->exec_min_us);
        put_if(csv, o->n_exec, o->exec_max_us);
        if (o->n_exec)
            csv_out_mean(csv, o->exec_sum_us, o->n_exec, 0);
        else
            csv_out_empty(csv);
        if (o->min_rank == UINT32_MAX)
            csv_out_empty(csv);
        else
            csv_out_count(csv, o->min_rank);
        csv_out_count(csv, o->dump_min_us);
        csv_out_count(csv, o->dump_max_us);
        put_if(csv, o->n_exec > 1, o->exec_second_us);
        csv_out_count(csv, o->n_start);
        put_if(csv, o->n_start, o->start_min_us);
        put_if(csv, o->n_start, o->start_max_us);
        put_if(csv, o->end_max_us, o->end_max_us);
        csv_out_end(csv);
    }
}

/* Threads take chunks and write them to out in order. */
struct line {
    const struct jp_result *r;
    FILE *out;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    size_t taken, written; /* chunks */
};

static size_t take(struct line *line)
{
    size_t chunk;

    pthread_mutex_lock(&line->lock);
    chunk = line->taken++;
    pthread_mutex_unlock(&line->lock);
    return chunk;
}

static void wait_turn(struct line *line, size_t chunk)
{
    pthread_mutex_lock(&line->lock);
    while (line->written != chunk)
        pthread_cond_wait(&line->moved, &line->lock);
    pthread_mutex_unlock(&line->lock);
}

static void end_turn(struct line *line)
{
    pthread_mutex_lock(&line->lock);
    line->written++;
    pthread_cond_broadcast(&line->moved);
    pthread_mutex_unlock(&line->lock);
}

/* What a thread has formatted: a stream into memory that it uses again for each
 * chunk, as fresh memory costs more than the figures. */
struct text {
    FILE *stream; /* NULL: no memory for it */
    char *at;
    size_t used, size;
};

static ssize_t keep(void *cookie, const char *bytes, size_t n)
{
    struct text *t = cookie;

    if (n > t->size - t->used) {
        size_t size = 2 * (t->used + n);
        char *at = realloc(t->at, size);

        if (!at)
            return 0;
        t->at = at;
        t->size = size;
    }
    memcpy(t->at + t->used, bytes, n);
    t->used += n;
    return (ssize_t) n;
}

static void text_init(struct text *t)
{
    *t = (struct text){0};
    t->stream = fopencookie(t, "w", (cookie_io_functions_t){.write = keep});
    if (t->stream)
        setvbuf(t->stream, NULL, _IONBF, 0); /* jp_csv has a buffer */
}

static void text_fini(struct text *t)
{
    if (t->stream)
        fclose(t->stream);
    free(t->at);
}

/* false: no memory for that. */
static bool format(const struct jp_result *r, size_t from, size_t to,
                   struct text *t)
{
    struct jp_csv csv;

    if (!t->stream)
        return false;
    csv_out_begin(&csv, t->stream);
    t->used = 0;
    put_rows(&csv, r, from, to);
    csv_out_flush(&csv);
    if (!ferror(t->stream))
        return true;
    clearerr(t->stream);
    return false;
}

static void write_chunk(struct line *line, size_t chunk, struct text *t)
{
    size_t from = chunk * CHUNK, to = from + CHUNK;
    bool formatted;

    if (to > line->r->n_ops)
        to = line->r->n_ops;
    formatted = format(line->r, from, to, t);
    wait_turn(line, chunk);
    if (formatted) {
        fwrite_unlocked(t->at, 1, t->used, line->out);
    } else {
        struct jp_csv csv;

        csv_out_begin(&csv, line->out);
        put_rows(&csv, line->r, from, to);
        csv_out_flush(&csv);
    }
    end_turn(line);
}

static void *work(void *arg)
{
    struct line *line = arg;
    struct text text;
    size_t chunk;

    text_init(&text);
    while (chunk = take(line), chunk < (line->r->n_ops + CHUNK - 1) / CHUNK)
        write_chunk(line, chunk, &text);
    text_fini(&text);
    return NULL;
}

static unsigned count_threads(const struct jp_result *r, unsigned wanted)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = wanted ? wanted : cpus > 0 ? (size_t) cpus : 1;
    size_t chunks = (r->n_ops + CHUNK - 1) / CHUNK;

    n = n < MAX_THREADS ? n : MAX_THREADS;
    return (unsigned) (n < chunks ? n : chunks);
}

void csv_ops_write(struct jp_csv *csv, const struct jp_result *r,
                   unsigned threads)
{
    struct line line = {.r = r, .out = csv->out};
    pthread_t helpers[MAX_THREADS];
    unsigned wanted = count_threads(r, threads), n = 0;

    if (wanted < 2) {
        put_rows(csv, r, 0, r->n_ops);
        return;
    }
    pthread_mutex_init(&line.lock, NULL);
    pthread_cond_init(&line.moved, NULL);
    while (n + 1 < wanted &&
           pthread_create(&helpers[n], NULL, work, &line) == 0)
        n++;
    work(&line);
    while (n)
        pthread_join(helpers[--n], NULL);
    pthread_cond_destroy(&line.moved);
    pthread_mutex_destroy(&line.lock);
}
