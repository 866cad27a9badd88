/* cmd_plan_json.c - a plan for programs (docs/plan.schema.json). */
#include "orchestrator/cmd/cmd_plan.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/report/json_out.h"

#define SCHEMA 1

/* 0 is unknown. */
static void put_known(struct jp_json *j, json_t *object, const char *key,
                      uint64_t value)
{
    if (value)
        json_out_count(j, object, key, value);
    else
        json_out_null(j, object, key);
}

static void put_known_text(struct jp_json *j, json_t *object, const char *key,
                           const char *text)
{
    json_out_text(j, object, key, text && *text ? text : NULL);
}

static void put_bool(struct jp_json *j, json_t *object, const char *key,
                     bool value)
{
    json_out_put(j, object, key, json_boolean(value));
}

static json_t *mode_object(struct jp_json *j, const struct plan_view *view)
{
    json_t *object = json_out_object(j);

    json_out_text(j, object, "asked", view->asked);
    json_out_text(j, object, "runs", view->runs);
    json_out_text(j, object, "reason", view->reason);
    json_out_text(j, object, "plugin", view->plugin);
    return object;
}

static json_t *nccl_object(struct jp_json *j, const struct plan_view *view)
{
    json_t *object = json_out_object(j);
    char known[16];

    json_out_text(j, object, "release", view->release);
    put_bool(j, object, "assumed", view->assumed);
    json_out_text(j, object, "planned_as",
                  view->newer ? plan_view_known(known) : view->release);
    return object;
}

static json_t *settings_array(struct jp_json *j, const struct plan_view *view)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < view->n_settings; i++) {
        const struct jp_setting *s = &view->settings[i];
        json_t *row = json_out_object(j);

        json_out_text(j, row, "key", s->key);
        json_out_text(j, row, "value", s->value);
        json_out_text(j, row, "source", s->source);
        json_out_text(j, row, "where", s->where);
        json_out_text(j, row, "reason", s->reason);
        json_out_append(j, array, row);
    }
    return array;
}

static json_t *variables_array(struct jp_json *j, const struct plan_view *view)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < view->n_variables; i++) {
        const struct plan_variable *v = &view->variables[i];
        json_t *row = json_out_object(j);

        json_out_text(j, row, "name", v->name);
        json_out_text(j, row, "value", v->value);
        json_out_text(j, row, "source", v->yours ? "user" : "computed");
        json_out_text(j, row, "reason", v->reason);
        json_out_append(j, array, row);
    }
    return array;
}

static json_t *shape_object(struct jp_json *j, const struct jp_jobshape *shape)
{
    const struct jp_nodemem *mem = &shape->node;
    json_t *object = json_out_object(j), *node = json_out_object(j);

    put_known(j, object, "nodes", shape->nnodes);
    put_known(j, object, "ranks", shape->ntasks);
    json_out_count(j, object, "ranks_per_node", jobshape_ranks(shape));
    put_known(j, object, "step_memory_bytes", shape->step_memory_bytes);
    put_known_text(j, object, "step_memory_from", shape->memory_from);
    put_known(j, node, "ram_bytes", mem->ram_bytes);
    json_out_count(j, node, "swap_bytes", mem->swap_bytes);
    json_out_count(j, node, "overcommit", mem->overcommit);
    put_known(j, node, "commit_limit_bytes", mem->commit_limit_bytes);
    put_known(j, node, "committed_bytes", mem->committed_bytes);
    put_bool(j, node, "huge_pages", mem->huge_pages);
    json_out_put(j, object, "node", node);
    put_known(j, object, "address_limit_bytes", shape->address_limit_bytes);
    put_known(j, object, "disk_free_bytes", shape->disk_free_bytes);
    return object;
}

/* One string for each part between separators. */
static json_t *parts_array(struct jp_json *j, const char *text,
                           const char *separator)
{
    json_t *array = json_out_array(j);

    while (*text) {
        const char *end = strstr(text, separator);
        size_t len = end ? (size_t) (end - text) : strlen(text);
        char *part = strndup(text, len);

        if (!part)
            j->failed = true;
        else if (len)
            json_out_append(j, array, json_out_string(part));
        free(part);
        text += len + (end ? strlen(separator) : 0);
    }
    return array;
}

static json_t *forecast_object(struct jp_json *j, const struct plan_view *view)
{
    const struct backend_forecast *f = &view->forecast;
    json_t *object = json_out_object(j), *rank = json_out_object(j);
    json_t *node = json_out_object(j), *step = json_out_object(j);

    put_known(j, rank, "memory_bytes", f->memory_bytes);
    put_known(j, rank, "reserved_bytes", f->reserved_bytes);
    put_known(j, rank, "disk_bytes", f->disk_bytes);
    put_known(j, rank, "planned_ops", f->planned_ops);
    if (f->planned_ops)
        json_out_count(j, rank, "kept_ops", f->kept_ops);
    else
        json_out_null(j, rank, "kept_ops");
    put_known(j, node, "memory_bytes", plan_view_node(view, f->memory_bytes));
    put_known(j, node, "reserved_bytes",
              plan_view_node(view, f->reserved_bytes));
    put_known(j, step, "disk_bytes", plan_view_step(view, f->disk_bytes));
    put_known(j, step, "disk_limit_bytes", view->disk_bytes);
    json_out_count(j, step, "min_free_bytes", view->min_free_bytes);
    json_out_put(j, object, "rank", rank);
    json_out_put(j, object, "node", node);
    json_out_put(j, object, "step", step);
    json_out_text(j, object, "counted", f->counted);
    json_out_text(j, object, "lost", f->lost);
    json_out_put(j, object, "without",
                 parts_array(j, view->without ? view->without : "", ", "));
    return object;
}

/* What the text says beside its figures. */
static json_t *notes_array(struct jp_json *j, const struct plan_view *view)
{
    json_t *array = parts_array(j, view->notes, "\n");
    struct jp_error note;

    if (!view->iterations_default)
        return array;
    error_set(&note,
              "iterations=%llu is the default, not this program's: planned and "
              "kept operations and the disk's share rest on it",
              (unsigned long long) view->iterations);
    json_out_append(j, array, json_out_string(note.text));
    return array;
}

static json_t *rank_object(struct jp_json *j, const struct plan_measured *m)
{
    json_t *object = json_out_object(j);

    json_out_count(j, object, "colls", m->colls);
    json_out_count(j, object, "p2p", m->p2p);
    json_out_count(j, object, "comms", m->comms);
    put_bool(j, object, "comms_estimated", m->comms_estimated);
    put_known(j, object, "busiest_comm_colls", m->busiest);
    put_bool(j, object, "mean", m->mean);
    json_out_count(j, object, "processes", m->processes);
    return object;
}

/* Rows of the report's tables that summary.json lacks. */
static json_t *left_out_object(struct jp_json *j, const struct plan_measured *m)
{
    json_t *object = json_out_object(j);

    json_out_count(j, object, "ranks", m->left_out.ranks);
    json_out_count(j, object, "comms", m->left_out.comms);
    json_out_count(j, object, "windows", m->left_out.windows);
    return object;
}

static json_t *measured_object(struct jp_json *j, const struct plan_measured *m)
{
    json_t *object;

    if (!m)
        return json_null();
    object = json_out_object(j);
    json_out_text(j, object, "summary", m->path);
    put_known_text(j, object, "mode", m->mode);
    put_known_text(j, object, "nccl", m->release);
    put_known(j, object, "iterations", m->iterations);
    put_known(j, object, "nodes", m->nodes);
    put_known(j, object, "ranks", m->tasks);
    json_out_put(j, object, "rank", rank_object(j, m));
    put_known(j, object, "rate", m->rate);
    json_out_text(j, object, "rate_from", m->slice_us ? "windows" : "comms");
    put_known(j, object, "rate_slice_us", m->slice_us);
    json_out_put(j, object, "left_out", left_out_object(j, m));
    json_out_real(j, object, "bytes_per_op",
                  (double) m->bytes / (double) m->records);
    json_out_count(j, object, "records", m->records);
    put_known(j, object, "expected", m->expected);
    json_out_count(j, object, "lost", m->lost);
    return object;
}

int plan_json_print(const struct plan_view *view,
                    const struct plan_measured *measured,
                    const struct plan_from *from, FILE *out,
                    struct jp_error *err)
{
    struct jp_json j = {0};
    json_t *root = json_out_object(&j);

    json_out_count(&j, root, "schema_version", SCHEMA);
    json_out_put(&j, root, "mode", mode_object(&j, view));
    json_out_put(&j, root, "nccl", nccl_object(&j, view));
    json_out_put(&j, root, "settings", settings_array(&j, view));
    json_out_put(&j, root, "variables", variables_array(&j, view));
    json_out_put(&j, root, "shape", shape_object(&j, &view->shape));
    json_out_put(&j, root, "forecast", forecast_object(&j, view));
    json_out_put(&j, root, "warnings", parts_array(&j, view->warnings, "\n"));
    json_out_put(&j, root, "notes", notes_array(&j, view));
    json_out_text(&j, root, "dir", view->dir);
    json_out_put(&j, root, "measured", measured_object(&j, measured));
    json_out_text(&j, root, "command", from ? from->command : NULL);
    return json_out_dump(&j, root, out, err);
}
