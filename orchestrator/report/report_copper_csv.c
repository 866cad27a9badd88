/* report_copper_csv.c - csv/copper_*.csv: every row there is. */
#include <stdlib.h>

#include "common/fileio.h"
#include "common/figure.h"
#include "orchestrator/report/csv_out.h"
#include "orchestrator/report/report_copper.h"

static void put_if(struct jp_csv *csv, bool known, uint64_t value)
{
    if (known)
        csv_out_count(csv, value);
    else
        csv_out_empty(csv);
}

static void put_signed(struct jp_csv *csv, int64_t value)
{
    put_if(csv, value >= 0, value < 0 ? 0 : (uint64_t) value);
}

static bool is_ttl(size_t metric)
{
    return metric >= COPPER_TTL_STORES && metric <= COPPER_TTL_AVOIDED;
}

static void put_metrics(struct jp_csv *csv, const uint64_t *value, bool counts,
                        bool ttl)
{
    for (size_t i = 0; i < COPPER_N_METRICS; i++) {
        bool known = is_ttl(i) ? ttl : counts;

        if (i == COPPER_LATENCY_US && known)
            csv_out_micro(csv, value[i]);
        else
            put_if(csv, known, value[i]);
    }
}

static void part_of_latency(struct jp_csv *csv, const struct jp_copper *c,
                            const char *name, uint64_t us)
{
    csv_out_text(csv, name);
    if (c->n_ops)
        csv_out_micro(csv, us);
    else
        csv_out_empty(csv);
    csv_out_count(csv, c->n_ops);
    csv_out_end(csv);
}

static void totals(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < COPPER_N_METRICS; i++) {
        uint32_t n = is_ttl(i) ? c->n_ttl : c->n_counted;

        csv_out_text(csv, copper_metric_names[i]);
        if (i == COPPER_LATENCY_US && n)
            csv_out_micro(csv, c->total[i]);
        else
            put_if(csv, n, c->total[i]);
        csv_out_count(csv, n);
        csv_out_end(csv);
    }
    part_of_latency(csv, c, "init_latency_seconds", c->init_us);
    part_of_latency(csv, c, "latency_without_init_seconds", c->without_init_us);
}

static void operations(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        const struct copper_op *op = &c->op[i];

        if (!op->calls)
            continue;
        csv_out_text(csv, copper_op_names[i]);
        csv_out_count(csv, op->calls);
        csv_out_count(csv, op->hits);
        csv_out_count(csv, op->misses);
        csv_out_count(csv, op->negatives);
        csv_out_real(csv, (double) op->time_us / (double) op->calls);
        csv_out_micro(csv, op->time_us);
        csv_out_end(csv);
    }
}

static void ranks(struct jp_csv *csv, const struct jp_copper *c)
{
    static const char *const compared[] = {"", "equal", "different"};
    static const char *const averaged[] = {"getattr", "read", "readdir"};

    for (size_t i = 0; i < c->n_ranks; i++) {
        const struct jp_copper_rank *r = &c->ranks[i];

        csv_out_text(csv, r->host);
        put_if(csv, r->pid > 0, (uint64_t) r->pid);
        csv_out_text(csv, copper_state_names[r->state]);
        csv_out_text(csv, r->source);
        put_signed(csv, r->level);
        put_metrics(csv, r->value, r->has_counts, r->has_ttl);
        if (r->has_ops)
            csv_out_micro(csv, r->op[copper_op_find("init", 4)].time_us);
        else
            csv_out_empty(csv);
        for (size_t k = 0; k < 3; k++) {
            size_t n = 0;
            const struct copper_op *op;

            while (averaged[k][n])
                n++;
            op = &r->op[copper_op_find(averaged[k], n)];
            if (r->has_ops && op->calls)
                csv_out_real(csv, (double) op->time_us / (double) op->calls);
            else
                csv_out_empty(csv);
        }
        csv_out_text(csv, compared[r->pre_destroy]);
        put_signed(csv, r->log.registration_us);
        put_signed(csv, r->log.parent_us);
        put_signed(csv, r->log.probes);
        put_signed(csv, r->log.first_rpc_us);
        csv_out_text(csv, r->why);
        csv_out_end(csv);
    }
}

static void ranges(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < JP_COPPER_N_SPREADS; i++) {
        const struct jp_copper_range *r = &c->range[i];

        csv_out_text(csv, r->name);
        csv_out_text(csv, r->seconds ? "us" : "count");
        csv_out_count(csv, r->n);
        if (r->n) {
            csv_out_count(csv, r->min);
            csv_out_count(csv, r->max);
            csv_out_real(csv, r->mean);
            csv_out_real(csv, r->median);
            csv_out_real(csv, r->stddev);
            csv_out_real(csv, r->cv);
            csv_out_text(csv, c->ranks[r->min_rank].host);
            csv_out_text(csv, c->ranks[r->max_rank].host);
        }
        csv_out_end(csv);
    }
}

static void outliers(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_outliers; i++) {
        const struct jp_copper_outlier *o = &c->outliers[i];

        csv_out_text(csv, c->ranks[o->rank].host);
        csv_out_int(csv, c->ranks[o->rank].pid);
        csv_out_text(csv, o->metric);
        csv_out_int(csv, o->level);
        csv_out_count(csv, o->of);
        csv_out_real(csv, o->value);
        csv_out_real(csv, o->median);
        csv_out_real(csv, o->z);
        csv_out_count(csv, o->slow);
        csv_out_end(csv);
    }
}

static void classes(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        const struct jp_copper_class_sum *s = &c->classes[i];

        if (!s->top_rows && !s->paths)
            continue;
        csv_out_text(csv, copper_class_names[s->class]);
        put_if(csv, c->n_top, s->top_rows);
        put_if(csv, c->n_top, s->top_events);
        csv_out_text(csv, s->top_example ? s->top_example : "");
        put_if(csv, c->n_tables, s->paths);
        put_if(csv, c->n_tables, s->events);
        csv_out_text(csv, s->example ? s->example : "");
        csv_out_end(csv);
    }
}

static void paths(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_paths; i++) {
        const struct jp_copper_path *p = &c->paths[i];
        bool ttl = p->category == COPPER_TTL;

        csv_out_text(csv, copper_category_names[p->category]);
        csv_out_text(csv, p->path);
        csv_out_text(csv, copper_class_names[p->class]);
        csv_out_count(csv, p->events);
        csv_out_count(csv, p->ranks);
        for (size_t k = 0; k < 3; k++)
            csv_out_count(csv, ttl ? 0 : p->count[k]);
        for (size_t k = 0; k < 4; k++)
            csv_out_count(csv, ttl ? p->count[k] : 0);
        csv_out_text(csv, p->full ? "full" : "top");
        csv_out_end(csv);
    }
}

static void roots(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_used_roots; i++) {
        const struct jp_copper_root *r = &c->used_roots[i];
        bool known = r->exists && !r->cut;

        csv_out_text(csv, r->path);
        csv_out_text(csv, !r->exists ? "no" : r->cut ? "cut" : "yes");
        csv_out_count(csv, r->observed);
        put_if(csv, r->exists, r->observed_files);
        put_if(csv, known, r->files);
        put_if(csv, r->exists, r->observed_dirs);
        put_if(csv, known, r->dirs);
        put_if(csv, r->exists, r->missing);
        csv_out_text(csv, r->example ? r->example : "");
        csv_out_end(csv);
    }
}

static void cache(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < JP_COPPER_N_CACHES; i++) {
        const struct jp_copper_cache_sum *s = &c->cache[i];

        csv_out_text(csv, s->table);
        csv_out_count(csv, s->files_found);
        put_if(csv, s->files_found, s->used_bytes);
        csv_out_text(csv, s->files_found ? FIG_BYTES(s->used_bytes) : "");
        put_if(csv, s->files_found, s->entries);
        csv_out_end(csv);
    }
}

static void series(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct jp_copper_point *p = &c->points[i];

        if (c->times_lost)
            csv_out_empty(csv);
        else
            csv_out_int(csv, p->time_us);
        csv_out_text(csv, c->ranks[p->rank].host);
        csv_out_int(csv, c->ranks[p->rank].pid);
        csv_out_text(csv, p->tag);
        csv_out_count(csv, p->copy);
        put_metrics(csv, p->value, true, true);
        csv_out_end(csv);
    }
}

static void launches(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_launches; i++) {
        const struct jp_copper_launch *l = &c->launches[i];

        csv_out_count(csv, i + 1);
        put_signed(csv, l->start_us);
        csv_out_count(csv, l->ranks);
        csv_out_count(csv, l->counted);
        put_metrics(csv, l->value, l->counted, l->counted);
        csv_out_end(csv);
    }
}

static void vain(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_vain; i++) {
        const struct jp_copper_vain *v = &c->vain[i];

        csv_out_text(csv, v->folder);
        csv_out_count(csv, v->names);
        csv_out_count(csv, v->events);
        csv_out_text(csv, !c->vain_known ? "" : v->wholly ? "yes" : "no");
        csv_out_text(csv, copper_class_names[v->class]);
        csv_out_text(csv, v->example);
        csv_out_end(csv);
    }
}

static void notes(struct jp_csv *csv, const struct jp_copper *c)
{
    for (size_t i = 0; i < c->n_notes; i++) {
        csv_out_text(csv, c->notes[i].path);
        csv_out_text(csv, c->notes[i].what);
        csv_out_end(csv);
    }
}

#define METRICS                                                                \
    "total_counted_fuse_operations,total_cache_hits,total_cache_misses,"       \
    "total_negative_results,estimated_cache_served_operations_saved_by_"       \
    "copper,metadata_enoent_ttl_stores,metadata_enoent_ttl_serves,"            \
    "metadata_enoent_ttl_expires,metadata_enoent_ttl_clears_on_success_or_"    \
    "non_enoent,estimated_repeated_metadata_lookups_avoided_by_ttl,"           \
    "total_measured_latency_seconds"

static const struct sheet {
    const char *name, *header;
    void (*rows)(struct jp_csv *, const struct jp_copper *);
} sheets[] = {
    {"totals", "metric,value,ranks", totals},
    {"operations",
     "operation,total_calls,cache_hits,cache_misses,negative_results,"
     "avg_latency_us,total_latency_s",
     operations},
    {"ranks",
     "host,pid,state,source,level," METRICS
     ",init_latency_seconds,getattr_us,read_us,readdir_us,pre_destroy,"
     "registration_us,parent_us,parent_probes,first_rpc_us,why",
     ranks},
    {"ranges",
     "metric,unit,ranks,min,max,mean,median,stddev,cv,min_host,max_host",
     ranges},
    {"outliers", "host,pid,metric,level,ranks_of_level,value,median,z,slow",
     outliers},
    {"classes", "class,top_rows,top_events,top_example,paths,events,example",
     classes},
    {"paths",
     "category,path,class,events,ranks,cache_hits,cache_misses,"
     "negative_results,ttl_stores,ttl_serves,ttl_expires,ttl_clears,source",
     paths},
    {"roots",
     "root,exists,observed_paths,observed_files,files,observed_dirs,dirs,"
     "missing_probe_paths,example",
     roots},
    {"cache", "table,files_found,used_bytes,used_human,entries", cache},
    {"series", "time_us,host,pid,source,copy," METRICS, series},
    {"launches", "launch,start_local_us,ranks,counted," METRICS, launches},
    {"vain", "folder,names,lookups,never_read,class,example", vain},
    {"notes", "file,what", notes},
};

const char *report_copper_sheet(size_t i)
{
    return i < sizeof(sheets) / sizeof(*sheets) ? sheets[i].name : NULL;
}

int report_copper_csvs(const struct jp_copper *c, const char *csv_dir,
                       struct jp_error *err)
{
    for (size_t i = 0; c && i < sizeof(sheets) / sizeof(*sheets); i++) {
        char *path = fileio_path("%s/copper_%s.csv", csv_dir, sheets[i].name);
        struct jp_tempfile file;
        struct jp_csv csv = {0};
        int rc = path ? fileio_temp_open(&file, path, err)
                      : error_set(err, "out of memory");

        free(path);
        if (rc < 0)
            return -1;
        csv.out = file.stream;
        fprintf(csv.out, "%s\n", sheets[i].header);
        sheets[i].rows(&csv, c);
        csv_out_flush(&csv);
        if (fileio_temp_commit(&file, err) < 0)
            return -1;
    }
    return 0;
}
