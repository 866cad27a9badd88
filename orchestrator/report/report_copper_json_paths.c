/* report_copper_json_paths.c - classes, hot paths, roots and caches as JSON. */
#include "orchestrator/report/report_copper.h"

static json_t *classes(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < JP_COPPER_N_CLASSES; i++) {
        const struct jp_copper_class_sum *s = &c->classes[i];
        json_t *o;

        if (!s->top_rows && !s->paths)
            continue;
        o = json_out_object(j);
        json_out_text(j, o, "class", copper_class_names[s->class]);
        json_out_known(j, o, "top_rows", c->n_top, s->top_rows);
        json_out_known(j, o, "top_events", c->n_top, s->top_events);
        json_out_text(j, o, "top_example", s->top_example);
        json_out_known(j, o, "paths", c->n_tables, s->paths);
        json_out_known(j, o, "events", c->n_tables, s->events);
        json_out_text(j, o, "example", s->example);
        json_out_append(j, array, o);
    }
    return array;
}

static json_t *path_row(struct jp_json *j, const struct jp_copper_path *p)
{
    static const char *const cache[] = {"cache_hits", "cache_misses",
                                        "negative_results"};
    static const char *const ttl[] = {"ttl_stores", "ttl_serves", "ttl_expires",
                                      "ttl_clears"};
    bool is_ttl = p->category == COPPER_TTL;
    json_t *o = json_out_object(j);

    json_out_text(j, o, "path", p->path);
    json_out_text(j, o, "class", copper_class_names[p->class]);
    json_out_count(j, o, "events", p->events);
    json_out_count(j, o, "ranks", p->ranks);
    for (size_t i = 0; i < (is_ttl ? 4u : 3u); i++)
        json_out_count(j, o, is_ttl ? ttl[i] : cache[i], p->count[i]);
    return o;
}

static json_t *hot(struct jp_json *j, const struct jp_copper *c)
{
    json_t *o = json_out_object(j);

    for (unsigned k = 0; k < COPPER_N_CATEGORIES; k++) {
        json_t *array = json_out_array(j);
        size_t from = c->path_from[k], to = c->path_from[k + 1];

        for (size_t i = from; i < to && i < from + JP_COPPER_HOT; i++)
            json_out_append(j, array, path_row(j, &c->paths[i]));
        json_out_put(j, o, copper_category_names[k], array);
    }
    return o;
}

static json_t *roots(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < c->n_used_roots; i++) {
        const struct jp_copper_root *r = &c->used_roots[i];
        bool known = r->exists && !r->cut;
        json_t *o = json_out_object(j);

        json_out_text(j, o, "root", r->path);
        json_out_put(j, o, "exists", json_boolean(r->exists));
        json_out_put(j, o, "cut", json_boolean(r->cut));
        json_out_count(j, o, "observed_paths", r->observed);
        json_out_known(j, o, "observed_files", r->exists, r->observed_files);
        json_out_known(j, o, "files", known, r->files);
        json_out_known(j, o, "observed_dirs", r->exists, r->observed_dirs);
        json_out_known(j, o, "dirs", known, r->dirs);
        json_out_known(j, o, "missing_probe_paths", r->exists, r->missing);
        json_out_text(j, o, "example", r->example);
        json_out_append(j, array, o);
    }
    return array;
}

static json_t *cache(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < JP_COPPER_N_CACHES; i++) {
        const struct jp_copper_cache_sum *s = &c->cache[i];
        json_t *o = json_out_object(j);

        json_out_text(j, o, "table", s->table);
        json_out_count(j, o, "files_found", s->files_found);
        json_out_known(j, o, "used_bytes", s->files_found, s->used_bytes);
        json_out_known(j, o, "entries", s->files_found, s->entries);
        json_out_append(j, array, o);
    }
    return array;
}

static json_t *vain(struct jp_json *j, const struct jp_copper *c)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < c->n_vain && i < REPORT_COPPER_VAIN; i++) {
        const struct jp_copper_vain *v = &c->vain[i];
        json_t *o = json_out_object(j);

        json_out_text(j, o, "folder", v->folder);
        json_out_count(j, o, "names", v->names);
        json_out_count(j, o, "lookups", v->events);
        json_out_put(j, o, "never_read",
                     c->vain_known ? json_boolean(v->wholly) : json_null());
        json_out_text(j, o, "class", copper_class_names[v->class]);
        json_out_text(j, o, "example", v->example);
        json_out_append(j, array, o);
    }
    return array;
}

void report_copper_json_paths(struct jp_json *j, json_t *o,
                              const struct jp_copper *c)
{
    json_out_put(j, o, "path_classes", classes(j, c));
    json_out_put(j, o, "hot_paths", hot(j, c));
    json_out_put(j, o, "searched_in_vain", vain(j, c));
    json_out_put(j, o, "roots", roots(j, c));
    json_out_put(j, o, "cache_use", cache(j, c));
}
