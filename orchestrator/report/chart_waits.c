/* chart_waits.c - figures: for which ranks and nodes the others waited. */
#include "orchestrator/report/chart_data.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BARS 32 /* that fit on a page */

static void put_share(struct jp_chart_json *json, uint64_t part, uint64_t all)
{
    if (all)
        chart_json_real(json, (double) part / (double) all);
    else
        chart_json_null(json);
}

static void put_waited(struct jp_chart_json *json, const struct jp_result *r,
                       uint64_t us)
{
    if (r->quality.waits_unknown)
        chart_json_null(json);
    else
        chart_json_count(json, us);
}

/* A finding says that it is late on its own. pid < 0: the whole node. */
static bool is_named(const struct jp_insight *insight, const char *host,
                     int64_t pid)
{
    enum jp_finding_kind kind = pid < 0 ? JP_FINDING_LATE_NODE
                                        : JP_FINDING_LATE_RANK;

    for (size_t i = 0; insight && i < insight->findings.n; i++) {
        const struct jp_finding *f = &insight->findings.at[i];

        if (f->kind == kind && !strcmp(f->host, host) &&
            (pid < 0 || f->pid == pid))
            return true;
    }
    return false;
}

static void put_proc(struct jp_chart_json *json,
                     const struct jp_chart_view *view,
                     const struct jp_proc *proc)
{
    const struct jp_result *r = view->result;

    chart_json_begin(json, '[');
    if (proc->world_rank == JP_PROC_NONE)
        chart_json_null(json);
    else
        chart_json_count(json, proc->world_rank);
    chart_json_text(json, proc->host);
    chart_json_count(json, proc->caused_us);
    put_waited(json, r, proc->wait_us);
    put_share(json, proc->last_ops, proc->timed_ops);
    chart_json_count(json, is_named(view->insight, proc->host, proc->pid) ||
                               is_named(view->insight, proc->host, -1));
    chart_json_end(json, ']');
}

static void put_node(struct jp_chart_json *json,
                     const struct jp_chart_view *view,
                     const struct jp_proc_node *node)
{
    const struct jp_result *r = view->result;

    chart_json_begin(json, '[');
    chart_json_text(json, node->host);
    chart_json_count(json, node->n_procs);
    chart_json_count(json, node->caused_us);
    put_waited(json, r, node->wait_us);
    put_share(json, node->last_ops, node->timed_ops);
    chart_json_count(json, is_named(view->insight, node->host, -1));
    chart_json_end(json, ']');
}

/* {of, rows: [...]} of the heaviest processes, or nodes. */
static int put_rows(const struct jp_chart_view *view,
                    struct jp_chart_json *json, bool nodes)
{
    const struct jp_procs *procs = &view->procs;
    size_t n = 0;
    uint32_t *places = nodes ? procs_heaviest_nodes(procs, MAX_BARS, &n)
                             : procs_heaviest(procs, MAX_BARS, &n);

    if (!places)
        return -1;
    chart_json_begin(json, '{');
    chart_json_put_count(json, "of", nodes ? procs->n_nodes : procs->n);
    chart_json_key(json, "rows");
    chart_json_begin(json, '[');
    for (size_t i = 0; i < n; i++) {
        if (nodes)
            put_node(json, view, &procs->nodes[places[i]]);
        else
            put_proc(json, view, &procs->list[places[i]]);
    }
    chart_json_end(json, ']');
    chart_json_end(json, '}');
    free(places);
    return 0;
}

static int put_waits(const struct jp_chart_view *view, void *state,
                     struct jp_chart_json *json)
{
    return put_rows(view, json, false);
}

const struct jp_chart chart_waits = {.name = "waits", .put = put_waits};

static int put_nodes(const struct jp_chart_view *view, void *state,
                     struct jp_chart_json *json)
{
    return put_rows(view, json, true);
}

const struct jp_chart chart_nodes = {.name = "nodes", .put = put_nodes};
