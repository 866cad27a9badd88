/* report_copper_json.c - summary.json's copper{} and its findings. */
#include <math.h>
#include <string.h>

#include "orchestrator/report/report_copper.h"

#define MAX_RANKS 5000
#define MAX_POINTS 5000
#define MAX_OUTLIERS 500
#define MAX_LAUNCHES 100

static void put_signed(struct jp_json *j, json_t *o, const char *key,
                       int64_t value)
{
    json_out_known(j, o, key, value >= 0, value < 0 ? 0 : (uint64_t) value);
}

/* The names are Copper's, but for the unit of the latency. */
static void put_metrics(struct jp_json *j, json_t *o, const uint64_t *value,
                        bool counts, bool ttl)
{
    for (size_t i = 0; i < COPPER_N_METRICS; i++) {
        bool is_ttl = i >= COPPER_TTL_STORES && i <= COPPER_TTL_AVOIDED;

        json_out_known(j, o,
                       i == COPPER_LATENCY_US ? "total_measured_latency_us"
                                              : copper_metric_names[i],
                       is_ttl ? ttl : counts, value[i]);
    }
}

static json_t *settings(struct jp_json *j, const struct jp_copper *c)
{
    const struct copper_settings *s = &c->settings;
    json_t *o = json_out_object(j);

    json_out_text(j, o, "mode", *s->mode ? s->mode : NULL);
    put_signed(j, o, "md_enoent_ttl_ms", s->ttl_ms);
    put_signed(j, o, "top_n", s->top_n);
    json_out_put(j, o, "paths_full",
                 s->full < 0 ? json_null() : json_boolean(s->full));
    json_out_put(j, o, "differ", json_boolean(c->settings_differ));
    return o;
}

static json_t *coverage(struct jp_json *j, const struct jp_copper *c)
{
    json_t *o = json_out_object(j);

    json_out_count(j, o, "ranks", c->n_ranks);
    for (unsigned i = 0; i < JP_COPPER_N_STATES; i++)
        json_out_count(j, o, copper_state_names[i], c->n_state[i]);
    json_out_count(j, o, "counted", c->n_counted);
    json_out_count(j, o, "with_ttl", c->n_ttl);
    json_out_count(j, o, "with_operations", c->n_ops);
    json_out_count(j, o, "with_full_tables", c->n_tables);
    json_out_count(j, o, "with_top_paths", c->n_top);
    json_out_count(j, o, "pre_destroy_compared", c->compared);
    json_out_count(j, o, "pre_destroy_equal", c->equal);
    json_out_count(j, o, "damaged_path_files", c->notes_bad);
    json_out_count(j, o, "path_rows_left_out", c->left_out_rows);
    json_out_count(j, o, "files", c->files);
    json_out_count(j, o, "bytes_read", c->bytes_read);
    return o;
}

static json_t *op_row(struct jp_json *j, const char *name,
                      const struct copper_op *op)
{
    json_t *o = json_out_object(j);

    json_out_text(j, o, "operation", name);
    json_out_count(j, o, "total_calls", op->calls);
    json_out_count(j, o, "cache_hits", op->hits);
    json_out_count(j, o, "cache_misses", op->misses);
    json_out_count(j, o, "negative_results", op->negatives);
    json_out_real(j, o, "avg_latency_us",
                  op->calls ? (double) op->time_us / (double) op->calls : NAN);
    json_out_count(j, o, "total_latency_us", op->time_us);
    return o;
}

static json_t *operations(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i <= COPPER_N_OPS; i++)
        if (c->op[i].calls)
            json_out_append(j, array, op_row(j, copper_op_names[i], &c->op[i]));
    return array;
}

static json_t *ranges(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < JP_COPPER_N_SPREADS; i++) {
        const struct jp_copper_range *r = &c->range[i];
        json_t *o = json_out_object(j);

        json_out_text(j, o, "metric", r->name);
        json_out_text(j, o, "unit", r->seconds ? "us" : "count");
        json_out_count(j, o, "ranks", r->n);
        json_out_known(j, o, "min", r->n, r->min);
        json_out_known(j, o, "max", r->n, r->max);
        json_out_real(j, o, "mean", r->n ? r->mean : NAN);
        json_out_real(j, o, "median", r->n ? r->median : NAN);
        json_out_real(j, o, "stddev", r->n ? r->stddev : NAN);
        json_out_real(j, o, "cv", r->n ? r->cv : NAN);
        json_out_text(j, o, "min_host",
                      r->n ? c->ranks[r->min_rank].host : NULL);
        json_out_text(j, o, "max_host",
                      r->n ? c->ranks[r->max_rank].host : NULL);
        json_out_append(j, array, o);
    }
    return array;
}

static json_t *startup(struct jp_json *j, const struct jp_copper_rank *r)
{
    json_t *o = json_out_object(j);

    put_signed(j, o, "registration_us", r->log.registration_us);
    put_signed(j, o, "parent_us", r->log.parent_us);
    put_signed(j, o, "parent_probes", r->log.probes);
    put_signed(j, o, "first_rpc_us", r->log.first_rpc_us);
    json_out_put(j, o, "parent_timeout", json_boolean(r->log.timed_out));
    return o;
}

static json_t *rank_row(struct jp_json *j, const struct jp_copper_rank *r)
{
    static const char *const compared[] = {NULL, "equal", "different"};
    json_t *o = json_out_object(j);

    json_out_text(j, o, "host", r->host);
    json_out_known(j, o, "pid", r->pid > 0, (uint64_t) r->pid);
    json_out_text(j, o, "state", copper_state_names[r->state]);
    json_out_text(j, o, "source", *r->source ? r->source : NULL);
    json_out_text(j, o, "why", *r->why ? r->why : NULL);
    put_signed(j, o, "level", r->level);
    json_out_text(j, o, "level_from", *r->level_from ? r->level_from : NULL);
    put_metrics(j, o, r->value, r->has_counts, r->has_ttl);
    json_out_known(j, o, "init_us", r->has_ops,
                   r->op[copper_op_find("init", 4)].time_us);
    json_out_text(j, o, "pre_destroy", compared[r->pre_destroy]);
    if (r->has_log)
        json_out_put(j, o, "startup", startup(j, r));
    else
        json_out_null(j, o, "startup");
    return o;
}

static json_t *ranks(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < c->n_ranks && i < MAX_RANKS; i++)
        json_out_append(j, array, rank_row(j, &c->ranks[i]));
    return array;
}

static json_t *launches(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);
    size_t i = c->n_launches > MAX_LAUNCHES ? c->n_launches - MAX_LAUNCHES : 0;

    for (; i < c->n_launches; i++) {
        const struct jp_copper_launch *l = &c->launches[i];
        json_t *o = json_out_object(j);

        put_signed(j, o, "start_local_us", l->start_us);
        json_out_count(j, o, "ranks", l->ranks);
        json_out_count(j, o, "counted", l->counted);
        put_metrics(j, o, l->value, l->counted, l->counted);
        json_out_append(j, array, o);
    }
    return array;
}

static json_t *outliers(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < c->n_outliers && i < MAX_OUTLIERS; i++) {
        const struct jp_copper_outlier *x = &c->outliers[i];
        json_t *o = json_out_object(j);

        json_out_text(j, o, "host", c->ranks[x->rank].host);
        json_out_put(j, o, "pid", json_integer(c->ranks[x->rank].pid));
        json_out_text(j, o, "metric", x->metric);
        json_out_put(j, o, "level", json_integer(x->level));
        json_out_count(j, o, "ranks_of_level", x->of);
        json_out_real(j, o, "value", x->value);
        json_out_real(j, o, "median", x->median);
        json_out_real(j, o, "z", x->z);
        json_out_put(j, o, "slow", json_boolean(x->slow));
        json_out_append(j, array, o);
    }
    return array;
}

static json_t *series(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < c->n_points && i < MAX_POINTS; i++) {
        const struct jp_copper_point *p = &c->points[i];
        json_t *o = json_out_object(j);

        json_out_put(j, o, "time_us",
                     c->times_lost ? json_null() : json_integer(p->time_us));
        json_out_text(j, o, "host", c->ranks[p->rank].host);
        json_out_put(j, o, "pid", json_integer(c->ranks[p->rank].pid));
        json_out_text(j, o, "source", p->tag);
        json_out_count(j, o, "copy", p->copy);
        put_metrics(j, o, p->value, true, true);
        json_out_append(j, array, o);
    }
    return array;
}

static void put_words(struct jp_json *j, json_t *o, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++) {
        json_t *row = json_out_object(j);

        json_out_text(j, row, "question", c->answers[i].question);
        json_out_text(j, row, "answer", c->answers[i].answer);
        json_out_append(j, array, row);
    }
    json_out_put(j, o, "answers", array);
    array = json_out_array(j);
    for (size_t i = 0; i < c->n_advice; i++) {
        const struct jp_copper_advice *a = &c->advice[i];
        json_t *row = json_out_object(j);

        json_out_text(j, row, "text", a->text);
        json_out_put(j, row, "paths",
                     json_out_strings(j, a->paths, a->n_paths, a->n_paths));
        json_out_append(j, array, row);
    }
    json_out_put(j, o, "guidance", array);
    array = json_out_array(j);
    for (size_t i = 0; i < c->n_notes; i++) {
        json_t *row = json_out_object(j);

        json_out_text(j, row, "path", c->notes[i].path);
        json_out_text(j, row, "what", c->notes[i].what);
        json_out_append(j, array, row);
    }
    json_out_put(j, o, "notes", array);
    json_out_count(j, o, "notes_left_out", c->notes_left_out);
}

static json_t *left_out(struct jp_json *j, const struct jp_copper *c)
{
    const struct {
        const char *name;
        size_t n, max;
    } tables[] = {
        {"launches", c->n_launches, MAX_LAUNCHES},
        {"ranks", c->n_ranks, MAX_RANKS},
        {"outliers", c->n_outliers, MAX_OUTLIERS},
        {"series", c->n_points, MAX_POINTS},
        {"searched_in_vain", c->n_vain, REPORT_COPPER_VAIN},
    };
    json_t *o = json_out_object(j);

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        json_out_count(j, o, tables[i].name,
                       tables[i].n > tables[i].max ? tables[i].n - tables[i].max
                                                   : 0);
    return o;
}

json_t *report_copper_json(struct jp_json *j, const struct jp_copper *c)
{
    json_t *o = json_out_object(j), *totals;

    if (!c)
        return o;
    totals = json_out_object(j);
    put_metrics(j, totals, c->total, c->n_counted, c->n_ttl);
    json_out_known(j, totals, "init_us", c->n_ops, c->init_us);
    json_out_known(j, totals, "latency_without_init_us", c->n_ops,
                   c->without_init_us);
    json_out_put(j, o, "log_dirs",
                 json_out_strings(j, c->roots, c->n_roots, 100));
    json_out_put(j, o, "settings", settings(j, c));
    json_out_put(j, o, "coverage", coverage(j, c));
    json_out_put(j, o, "totals", totals);
    json_out_put(j, o, "operations", operations(j, c));
    json_out_put(j, o, "ranges", ranges(j, c));
    json_out_put(j, o, "launches", launches(j, c));
    json_out_put(j, o, "ranks", ranks(j, c));
    json_out_put(j, o, "outliers", outliers(j, c));
    json_out_count(j, o, "ranks_not_judged", c->unjudged);
    report_copper_json_paths(j, o, c);
    json_out_put(j, o, "series", series(j, c));
    json_out_put(j, o, "series_timed", json_boolean(!c->times_lost));
    put_words(j, o, c);
    json_out_put(j, o, "left_out", left_out(j, c));
    return o;
}

void report_copper_findings(struct jp_json *j, json_t *findings,
                            const struct jp_copper *c)
{
    static const char *const none[] = {"comm", "comm_index", "coll",
                                       "rank", "world_rank", "share"};

    for (size_t i = 0; c && i < c->n_findings; i++) {
        const struct jp_copper_finding *f = &c->findings[i];
        const struct jp_copper_rank *r = &c->ranks[f->rank];
        json_t *o = json_out_object(j);

        json_out_text(j, o, "kind", f->kind);
        for (size_t k = 0; k < sizeof(none) / sizeof(*none); k++)
            json_out_null(j, o, none[k]);
        json_out_text(j, o, "host", r->host);
        json_out_put(j, o, "pid", r->pid ? json_integer(r->pid) : json_null());
        json_out_real(j, o, "from", f->from);
        json_out_real(j, o, "to", f->to);
        if (isfinite(f->cost_us))
            json_out_count(j, o, "cost_us", (uint64_t) f->cost_us);
        else
            json_out_null(j, o, "cost_us");
        json_out_text(j, o, "text", f->text);
        json_out_text(j, o, "next", "see that daemon in csv/copper_ranks.csv");
        json_out_append(j, findings, o);
    }
}
