/* result_p2p_nodes.c - Send and Recv between hosts: the pairs of ranks, summed
 * by where they run. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/join_parts.h"
#include "orchestrator/aggregate/result_build.h"

/* Work space. */
struct nodes {
    const struct join *join;
    struct jp_result *r;
    struct keymap map;   /* (source, destination; Recv) -> row */
    uint64_t *busbw_sum; /* of a row, 1e-6 GB/s */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* The sorted names that differ, copied to the result. */
static int keep_hosts(struct jp_result *r, const char **all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i && !strcmp(all[i], all[i - 1]))
            continue;
        r->hosts[r->n_hosts] = strdup(all[i]);
        if (!r->hosts[r->n_hosts])
            return -1;
        r->n_hosts++;
    }
    return 0;
}

/* The hosts of all ranks, and "": not known. */
static int make_hosts(const struct join *join, struct jp_result *r)
{
    size_t n = (size_t) join->n_members + 1;
    const char **all = calloc(n, sizeof(*all));
    int rc = -1;

    r->hosts = calloc(n, sizeof(*r->hosts));
    if (all && r->hosts) {
        all[0] = "";
        for (uint32_t i = 0; i < join->n_members; i++)
            all[i + 1] = join->members[i]->host;
        qsort(all, n, sizeof(*all), by_name);
        rc = keep_hosts(r, all, n);
    }
    free(all);
    return rc;
}

/* By the rank's own records. */
static uint32_t host_of(const struct nodes *w, uint32_t comm, uint32_t rank)
{
    uint64_t key = (uint64_t) comm << 32 | rank;
    uint32_t at = keymap_find(&w->join->member_map, key, 0);
    const char *host = at == KEYMAP_NONE ? "" : w->join->members[at]->host;
    char **found = bsearch(&host, w->r->hosts, w->r->n_hosts,
                           sizeof(*w->r->hosts), by_name);

    return (uint32_t) (found - w->r->hosts);
}

/* The row of two hosts; KEYMAP_NONE: no memory. */
static uint32_t row_of(struct nodes *w, uint32_t src, uint32_t dst, bool recv)
{
    uint64_t key = (uint64_t) src << 32 | dst;
    uint32_t at = keymap_find(&w->map, key, recv);

    if (at != KEYMAP_NONE)
        return at;
    at = (uint32_t) w->r->n_p2p_nodes;
    if (keymap_add(&w->map, key, recv, at) < 0)
        return KEYMAP_NONE;
    w->r->p2p_nodes[w->r->n_p2p_nodes++] =
        (struct jp_p2p_node){.src_host = w->r->hosts[src],
                             .dst_host = w->r->hosts[dst],
                             .func = recv ? "Recv" : "Send"};
    return at;
}

static int add_pair(struct nodes *w, const struct join_p2p *p)
{
    uint32_t at = row_of(w, host_of(w, p->comm, p->src),
                         host_of(w, p->comm, p->dst), p->recv);
    struct jp_p2p_node *row;

    if (at == KEYMAP_NONE)
        return -1;
    row = &w->r->p2p_nodes[at];
    row->pairs++;
    row->count = join_sum(row->count, p->count);
    row->bytes = join_sum(row->bytes, p->bytes);
    row->exec_us = join_sum(row->exec_us, p->exec_us);
    row->n_busbw = join_sum(row->n_busbw, p->n_busbw);
    w->busbw_sum[at] = join_sum(w->busbw_sum[at], p->busbw_sum);
    return 0;
}

static int by_hosts(const void *a, const void *b)
{
    const struct jp_p2p_node *x = a, *y = b;
    int order = strcmp(x->src_host, y->src_host);

    if (!order)
        order = strcmp(x->dst_host, y->dst_host);
    return order ? order : strcmp(x->func, y->func);
}

int result_p2p_nodes(struct build *b)
{
    struct jp_result *r = b->result;
    struct nodes w = {.join = b->join, .r = r};
    uint32_t n = b->join->n_p2p;
    int rc = -1;

    if (!n)
        return 0;
    r->p2p_nodes = calloc(n, sizeof(*r->p2p_nodes));
    w.busbw_sum = calloc(n, sizeof(*w.busbw_sum));
    if (!r->p2p_nodes || !w.busbw_sum || make_hosts(b->join, r) < 0)
        goto out;
    for (uint32_t i = 0; i < n; i++)
        if (add_pair(&w, b->join->p2p[i]) < 0)
            goto out;
    for (size_t i = 0; i < r->n_p2p_nodes; i++)
        if (r->p2p_nodes[i].n_busbw)
            r->p2p_nodes[i].busbw_mean =
                (double) w.busbw_sum[i] /
                ((double) r->p2p_nodes[i].n_busbw * 1e6);
    qsort(r->p2p_nodes, r->n_p2p_nodes, sizeof(*r->p2p_nodes), by_hosts);
    rc = 0;
out:
    keymap_fini(&w.map);
    free(w.busbw_sum);
    return rc;
}
