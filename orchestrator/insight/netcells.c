/* netcells.c - sort communicators into kinds, and their operations into cells.
 */
#include "orchestrator/insight/netcells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a histogram of bandwidths --- */

#define PARTS_BITS 6
#define MICRO 1e6

uint32_t bwhist_bucket(double gbs)
{
    double micro = gbs * MICRO;
    uint64_t v = micro < 9e18 ? (uint64_t) micro : UINT64_C(1) << 62;
    unsigned shift;

    if (v < 2 * BWHIST_PARTS)
        return (uint32_t) v;
    shift = 63 - (unsigned) __builtin_clzll(v) - PARTS_BITS;
    return (uint32_t) ((shift << PARTS_BITS) + (v >> shift));
}

/* Least value of a bucket, in units of 1e-6 GB/s. */
static double lower(uint32_t bucket)
{
    if (bucket < 2 * BWHIST_PARTS)
        return bucket;
    return ldexp(BWHIST_PARTS + bucket % BWHIST_PARTS,
                 (int) (bucket / BWHIST_PARTS) - 1);
}

/* Makes room for a bucket. */
static int cover(struct jp_bwhist *h, uint32_t bucket)
{
    uint32_t first = h->n && h->first < bucket ? h->first : bucket;
    uint32_t last = h->n && h->first + h->n - 1 > bucket ? h->first + h->n - 1
                                                         : bucket;
    uint64_t *counts;

    if (h->n && first == h->first && last < h->first + h->n)
        return 0;
    counts = calloc(last - first + 1, sizeof(*counts));
    if (!counts)
        return -1;
    if (h->n)
        memcpy(counts + (h->first - first), h->counts, h->n * sizeof(*counts));
    free(h->counts);
    h->counts = counts;
    h->first = first;
    h->n = last - first + 1;
    return 0;
}

int bwhist_add(struct jp_bwhist *h, uint32_t bucket, uint64_t count)
{
    if (count > BWHIST_MAX_COUNT - h->total || cover(h, bucket) < 0)
        return -1;
    h->counts[bucket - h->first] += count;
    h->total += count;
    return 0;
}

int bwhist_merge(struct jp_bwhist *into, const struct jp_bwhist *from)
{
    for (uint32_t i = 0; i < from->n; i++)
        if (from->counts[i] &&
            bwhist_add(into, from->first + i, from->counts[i]) < 0)
            return -1;
    return 0;
}

void bwhist_fini(struct jp_bwhist *h)
{
    free(h->counts);
    *h = (struct jp_bwhist){0};
}

double bwhist_quantile(const struct jp_bwhist *h, double q)
{
    double rank = q * ((double) h->total - 1), before = 0;

    for (uint32_t i = 0; i < h->n; i++) {
        double count = (double) h->counts[i], from, to;

        if (!h->counts[i] || before + count <= rank) {
            before += count;
            continue;
        }
        from = lower(h->first + i);
        to = lower(h->first + i + 1);
        return round(from + (to - from) * (rank - before + 0.5) / count) /
               MICRO;
    }
    return NAN;
}

/* --- cells --- */

uint32_t netcells_size(uint64_t bytes)
{
    unsigned e;

    if (bytes < 4)
        return (uint32_t) bytes;
    e = 63 - (unsigned) __builtin_clzll(bytes);
    return 4 * (e - 1) + (uint32_t) (bytes >> (e - 2) & 3);
}

uint64_t netcells_bytes(uint32_t size)
{
    if (size < 4)
        return size;
    if (size >= NETCELLS_SIZES)
        return UINT64_MAX;
    return (uint64_t) (4 + size % 4) << (size / 4 - 1);
}

static int order_of(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int netkey_compare(const struct jp_netkey *a, const struct jp_netkey *b)
{
    int order = strcmp(a->fabric, b->fabric);

    order = order ? order : strcmp(a->inter, b->inter);
    order = order ? order : order_of(a->type, b->type);
    order = order ? order : order_of(a->n_ranks, b->n_ranks);
    order = order ? order : order_of(a->n_hosts, b->n_hosts);
    order = order ? order : strcmp(a->gpu, b->gpu);
    order = order ? order : strcmp(a->coll, b->coll);
    return order ? order : order_of(a->size, b->size);
}

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%.*s", (int) size - 1, from);
}

void netcells_key(const struct jp_comm *c, const char *gpu, const char *coll,
                  uint64_t bytes, struct jp_netkey *key)
{
    memset(key, 0, sizeof(*key));
    copy(key->fabric, sizeof(key->fabric), c->fabric ? c->fabric : "unknown");
    copy(key->inter, sizeof(key->inter), c->inter ? c->inter : "unknown");
    key->type = c->type;
    key->n_ranks = c->n_ranks;
    key->n_hosts = (uint32_t) c->n_hosts;
    copy(key->gpu, sizeof(key->gpu), gpu);
    copy(key->coll, sizeof(key->coll), coll);
    key->size = netcells_size(bytes);
}

static int by_kind(const void *a, const void *b, void *kinds)
{
    const struct jp_netkey *list = kinds;

    return netkey_compare(&list[*(const size_t *) a],
                          &list[*(const size_t *) b]);
}

/* Gives communicators of one kind the same number. */
static void number_kinds(struct jp_netcells *cells, size_t *order, size_t n)
{
    size_t kind = 0;

    if (n)
        qsort_r(order, n, sizeof(*order), by_kind, cells->kinds);
    for (size_t i = 0; i < n; i++) {
        if (i && by_kind(&order[i], &order[i - 1], cells->kinds))
            kind++;
        cells->kind_of[order[i]] = kind;
    }
}

int netcells_begin(struct jp_netcells *cells, const struct jp_result *r,
                   const char *gpu)
{
    size_t *order = calloc(r->n_comms + 1, sizeof(*order));

    *cells = (struct jp_netcells){0};
    cells->kinds = calloc(r->n_comms + 1, sizeof(*cells->kinds));
    cells->kind_of = calloc(r->n_comms + 1, sizeof(*cells->kind_of));
    if (!order || !cells->kinds || !cells->kind_of) {
        free(order);
        return -1;
    }
    for (size_t c = 0; c < r->n_comms; c++) {
        netcells_key(&r->comms[c], gpu, "", 0, &cells->kinds[c]);
        order[c] = c;
    }
    number_kinds(cells, order, r->n_comms);
    free(order);
    return 0;
}

static struct jp_netcell *new_cell(struct jp_netcells *cells)
{
    struct jp_netcell *more = cells->at;

    if (!(cells->n & (cells->n - 1))) {
        more = reallocarray(more, cells->n ? 2 * cells->n : 1, sizeof(*more));
        if (!more)
            return NULL;
        cells->at = more;
    }
    return more + cells->n;
}

struct jp_netcell *netcells_get(struct jp_netcells *cells, size_t comm,
                                const char *coll, uint64_t bytes)
{
    uint64_t a = (uint64_t) cells->kind_of[comm] << 32 | netcells_size(bytes);
    uint64_t b = (uint64_t) (uintptr_t) coll;
    uint32_t at = keymap_find(&cells->map, a, b);
    struct jp_netcell *cell;

    if (at != KEYMAP_NONE) {
        cell = &cells->at[at];
        if (bytes < cell->bytes)
            cell->bytes = bytes;
        return cell;
    }
    if (cells->n == NETCELLS_MAX) {
        cells->full = true;
        return NULL;
    }
    cell = new_cell(cells);
    if (!cell || keymap_add(&cells->map, a, b, (uint32_t) cells->n) < 0)
        return NULL;
    *cell = (struct jp_netcell){
        .key = cells->kinds[comm], .comm = comm, .bytes = bytes};
    copy(cell->key.coll, sizeof(cell->key.coll), coll);
    cell->key.size = netcells_size(bytes);
    cells->n++;
    return cell;
}

static int by_key(const void *a, const void *b)
{
    const struct jp_netcell *x = a, *y = b;

    return netkey_compare(&x->key, &y->key);
}

void netcells_end(struct jp_netcells *cells)
{
    if (cells->n)
        qsort(cells->at, cells->n, sizeof(*cells->at), by_key);
    keymap_fini(&cells->map);
    free(cells->kinds);
    free(cells->kind_of);
    cells->kinds = NULL;
    cells->kind_of = NULL;
    cells->map = (struct keymap){0};
}

void netcells_fini(struct jp_netcells *cells)
{
    netcells_end(cells);
    for (size_t i = 0; i < cells->n; i++)
        bwhist_fini(&cells->at[i].gbs);
    free(cells->at);
    *cells = (struct jp_netcells){0};
}
