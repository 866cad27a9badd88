/* exporter_table.c - sort operations into the exporter's rows and files. */
#include "orchestrator/report/exporter_table.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"

#define NAME_MAX_BYTES 60 /* of a function's name in a file's name */

static char *put_size(uint64_t bytes, bool numpy, char *buf)
{
    static const char *const units[] = {"B",  "KB", "MB", "GB",
                                        "TB", "PB", "EB"};
    double value;
    int power;

    if (bytes == 0) {
        snprintf(buf, EXPORTER_WORD, "0B");
        return buf;
    }
    power = (int) (log10((double) bytes) / 3);
    value = (double) bytes * pow(10, -3 * power);
    /* numpy rounds to two decimals first, half to even; Python's format rounds
     * what the double really is: 1055 B are 1.06KB by the one, 1.05KB by the
     * other. */
    if (numpy)
        value = nearbyint(value * 100) / 100;
    snprintf(buf, EXPORTER_WORD, "%.2f%s", value, units[power]);
    return buf;
}

char *exporter_size(uint64_t bytes, char *buf)
{
    return put_size(bytes, false, buf);
}

char *exporter_size_numpy(uint64_t bytes, char *buf)
{
    return put_size(bytes, true, buf);
}

char *exporter_datetime(uint64_t us, char *buf)
{
    time_t seconds = (time_t) (us / 1000000);
    struct tm tm = {0};
    size_t len;

    localtime_r(&seconds, &tm);
    len = strftime(buf, EXPORTER_WORD, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(buf + len, EXPORTER_WORD - len, ".%03u",
             (unsigned) (us % 1000000 / 1000));
    return buf;
}

char *exporter_duration(uint64_t us, char *buf)
{
    if (us < 1000)
        snprintf(buf, EXPORTER_WORD, "%" PRIu64 ".0\xce\xbcs", us);
    else if (us < 1000000)
        snprintf(buf, EXPORTER_WORD, "%.1fms", (double) us / 1000);
    else
        snprintf(buf, EXPORTER_WORD, "%.1fs", (double) us / 1000000);
    return buf;
}

char *exporter_real(double value, char *buf)
{
    size_t len;

    snprintf(buf, EXPORTER_WORD, "%s", FIG_EXACT(value));
    len = strlen(buf);
    /* Python prints 3.0, not 3 */
    if (len && strspn(buf, "-0123456789") == len)
        snprintf(buf + len, EXPORTER_WORD - len, ".0");
    return buf;
}

char *exporter_coll(const struct jp_result *result, uint32_t coll, char *buf)
{
    const char *name = result->coll_names[coll];
    bool changed = strlen(name) > NAME_MAX_BYTES;
    size_t n = 0;

    for (; *name && n < NAME_MAX_BYTES; name++) {
        unsigned char c = (unsigned char) *name;
        bool good = c < 0x80 && (isalnum(c) || strchr("._-", c));

        changed |= !good;
        buf[n++] = (char) (good ? c : '_');
    }
    buf[n] = '\0';
    /* two names may have become alike: each keeps a file of its own */
    if (changed)
        snprintf(buf + n, EXPORTER_WORD - n, "-%" PRIu32, coll);
    return buf;
}

bool exporter_knows(const char *coll)
{
    static const char *const known[] = {"AllReduce", "AllGather",
                                        "ReduceScatter", "Broadcast"};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(coll, known[i]))
            return true;
    return false;
}

/* --- sort operations into the exporter's rows and files */

static int by_cell_and_row(const void *a, const void *b)
{
    const struct exporter_key *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->sn != y->sn)
        return x->sn < y->sn ? -1 : 1;
    if (x->comm != y->comm) /* sorted by id within their type */
        return x->comm < y->comm ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static void fill_keys(struct exporter_table *table)
{
    const struct jp_result *r = table->result;
    struct ops_reader reader = {.ops = r->ops};

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(&reader, i);
        uint32_t type;

        if (op->comm >= r->n_comms || op->coll >= r->n_coll_names ||
            r->comms[op->comm].type >= JP_COMM_N_TYPES)
            continue; /* no such result comes from aggregate_run */
        type = (uint32_t) r->comms[op->comm].type;
        table->keys[table->n_keys++] = (struct exporter_key){
            .bytes = op->bytes,
            .sn = op->sn,
            .group = type * (uint32_t) r->n_coll_names + op->coll,
            .comm = op->comm,
            .op = i,
            .busbw_sum_micro = op->busbw_sum_micro,
            .exec_max_us = op->exec_max_us,
            .dump_min_us = op->dump_min_us,
            .dump_max_us = op->dump_max_us,
            .n = op->n,
            .n_busbw = op->n_busbw};
    }
}

static bool same_cell(const struct exporter_key *a,
                      const struct exporter_key *b)
{
    return a->group == b->group && a->bytes == b->bytes;
}

size_t exporter_table_row(const struct exporter_table *table,
                          const struct exporter_cell *cell, size_t at,
                          struct exporter_row *row)
{
    const struct jp_result *r = table->result;
    const struct exporter_key *first = &table->keys[at];
    const char *id = r->comms[first->comm].id;
    uint64_t micro = 0, n = 0;

    *row = (struct exporter_row){
        .id = id, .sn = first->sn, .start_us = UINT64_MAX, .from = at};
    /* The exporter knows ids only: communicators that share one share a row. */
    for (; at < cell->to && table->keys[at].sn == first->sn &&
           !strcmp(r->comms[table->keys[at].comm].id, id);
         at++) {
        const struct exporter_key *op = &table->keys[at];

        row->records += op->n;
        micro += op->busbw_sum_micro;
        n += op->n_busbw;
        if (op->dump_min_us < row->start_us)
            row->start_us = op->dump_min_us;
        if (op->dump_max_us > row->end_us)
            row->end_us = op->dump_max_us;
    }
    row->mean = n ? (double) micro / ((double) n * 1e6) : NAN;
    row->to = at;
    return at;
}

/* Figures of a cell whose keys are known. */
static void sum_cell(const struct exporter_table *table,
                     struct exporter_cell *cell)
{
    double sum = 0;

    cell->first_us = UINT64_MAX;
    for (size_t at = cell->from; at < cell->to;) {
        struct exporter_row row;

        at = exporter_table_row(table, cell, at, &row);
        cell->rows++;
        cell->records += row.records;
        if (row.start_us < cell->first_us)
            cell->first_us = row.start_us;
        if (row.end_us > cell->last_us)
            cell->last_us = row.end_us;
        if (isnan(row.mean)) /* no record of it has a time */
            continue;
        if (!cell->valued || row.mean < cell->min)
            cell->min = row.mean;
        if (!cell->valued || row.mean > cell->max)
            cell->max = row.mean;
        cell->valued++;
        sum += row.mean;
    }
    if (cell->valued)
        cell->mean = sum / (double) cell->valued;
    cell->last_sn = table->keys[cell->to - 1].sn;
    for (size_t i = cell->from; i < cell->to; i++) {
        uint64_t us = table->keys[i].exec_max_us;

        if (__builtin_add_overflow(cell->time_us, us, &cell->time_us))
            cell->time_us = UINT64_MAX;
    }
}

static int fill_cells(struct exporter_table *table)
{
    const struct jp_result *r = table->result;
    size_t n = 0;

    for (size_t i = 0; i < table->n_keys; i++)
        n += i == 0 || !same_cell(&table->keys[i - 1], &table->keys[i]);
    table->cells = calloc(n + 1, sizeof(*table->cells));
    if (!table->cells)
        return -1;
    for (size_t from = 0, to; from < table->n_keys; from = to) {
        const struct exporter_key *key = &table->keys[from];
        struct exporter_cell *cell = &table->cells[table->n_cells++];

        for (to = from + 1;
             to < table->n_keys && same_cell(key, &table->keys[to]); to++)
            ;
        *cell = (struct exporter_cell){
            .type = (enum jp_comm_type)(key->group / r->n_coll_names),
            .coll = (uint32_t) (key->group % r->n_coll_names),
            .bytes = key->bytes,
            .from = from,
            .to = to};
        sum_cell(table, cell);
    }
    return 0;
}

static int most_time_first(const void *a, const void *b)
{
    const struct exporter_cell *x = *(struct exporter_cell *const *) a;
    const struct exporter_cell *y = *(struct exporter_cell *const *) b;

    if (x->time_us != y->time_us)
        return x->time_us > y->time_us ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int keep_cells(struct exporter_table *table, size_t max)
{
    struct exporter_cell **all =
        calloc(table->n_cells + 1, sizeof(*all)); /* NULL for none is legal */

    if (!all)
        return -1;
    for (size_t i = 0; i < table->n_cells; i++)
        all[i] = &table->cells[i];
    qsort(all, table->n_cells, sizeof(struct exporter_cell *), most_time_first);
    table->n_kept = table->n_cells < max ? table->n_cells : max;
    for (size_t i = 0; i < table->n_kept; i++)
        all[i]->kept = true;
    free(all);
    return 0;
}

int exporter_table_init(struct exporter_table *table,
                        const struct jp_result *result, size_t max_cells)
{
    *table = (struct exporter_table){.result = result};
    table->keys = reallocarray(NULL, result->n_ops + 1, sizeof(*table->keys));
    if (!table->keys)
        return -1;
    fill_keys(table);
    qsort(table->keys, table->n_keys, sizeof(*table->keys), by_cell_and_row);
    if (fill_cells(table) == 0 && keep_cells(table, max_cells) == 0)
        return 0;
    exporter_table_fini(table);
    return -1;
}

void exporter_table_fini(struct exporter_table *table)
{
    free(table->keys);
    free(table->cells);
    *table = (struct exporter_table){0};
}

size_t exporter_table_series(const struct exporter_table *table, size_t from)
{
    const struct exporter_cell *first = &table->cells[from];
    size_t to = from + 1;

    while (to < table->n_cells && table->cells[to].type == first->type &&
           table->cells[to].coll == first->coll)
        to++;
    return to;
}
