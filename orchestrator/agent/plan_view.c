/* plan_view.c - collect the facts of a launch and print them.
 *
 * The first half fills struct plan_view from a launch; jobprof prints it as
 * JSON elsewhere. The second half prints it as text: print_head (what runs),
 * print_facts (records, warnings, cost), then two tables. Each add_*() function
 * adds the rows of one fact.
 */
#include "orchestrator/agent/plan_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/agent/launch.h"
#include "orchestrator/agent/settings.h"
#include "orchestrator/table/text_cells.h"

/* The strings that the view owns. The others are borrowed from the launch. */
struct plan_view_store {
    char *warnings, *notes; /* lines, or NULL */
    char *blocks;           /* lines, or NULL */
    char *without;          /* names of the user's variables, or NULL */
    char foreign[64];       /* reason of a setting that the profiler does not
                             * read */
    char instead[64];       /* reason of a mode that replaces the requested
                             * one */
};

uint64_t plan_view_node(const struct plan_view *view, uint64_t bytes)
{
    return num_mul(bytes, jobshape_ranks(&view->shape));
}

uint64_t plan_view_step(const struct plan_view *view, uint64_t bytes)
{
    return num_mul(bytes, view->shape.ntasks);
}

const char *plan_view_known(char buf[16])
{
    snprintf(buf, 16, "%u.%u", JP_NCCL_KNOWN / 1000000,
             JP_NCCL_KNOWN / 1000 % 1000);
    return buf;
}

/* Whether the profiler that runs reads this setting. Rows that are not knobs
 * (the user's variables) count as read. */
static bool is_read(const struct jp_setting *row, const char *runs)
{
    int k = grammar_find_knob(grammar_nccl(), row->key);
    int mode = grammar_find_mode(grammar_nccl(), runs);

    return k < 0 || mode < 0 || !strcmp(row->key, "mode") ||
           (grammar_nccl()->knobs[k].modes >> mode & 1);
}

/* Whether the user has meant this setting for this step. The option and its
 * variable are; files hold settings of all profilers. */
static bool is_meant(const struct jp_setting *row)
{
    return !strcmp(row->source, plan_source_words[PLAN_OPTION]) ||
           !strcmp(row->source, plan_source_words[PLAN_ENV]);
}

/* Copies the settings that matter: those that the profiler reads, and those
 * that the user has given in vain, with that reason. */
static void fill_settings(const struct launch *launch, struct plan_view *view)
{
    struct plan_view_store *store = view->store;
    const struct jp_jobconf *conf = &launch->conf;

    snprintf(store->foreign, sizeof(store->foreign), "%s does not use it",
             profiler_title(view->runs));
    snprintf(store->instead, sizeof(store->instead), "%s is requested",
             view->asked);
    for (size_t i = 0; i < conf->n_settings; i++) {
        const struct jp_setting *row = &conf->settings[i];
        bool read = is_read(row, view->runs);

        /* A file's setting for another profiler is not worth a row. */
        if (!read && !is_meant(row))
            continue;
        view->settings[view->n_settings] = *row;
        if (!read)
            view->settings[view->n_settings].reason = store->foreign;
        else if (*launch->choice.reason && !strcmp(row->key, "mode"))
            view->settings[view->n_settings].reason = store->instead;
        view->n_settings++;
    }
}

/* The user's own value of a variable, or NULL. */
static const struct launch_var *find_var(const struct launch *launch,
                                         const char *name)
{
    for (size_t i = 0; i < launch->n_vars; i++)
        if (!strcmp(launch->vars[i].name, name))
            return &launch->vars[i];
    return NULL;
}

/* Lists the tasks' variables with the values that they will have. */
static void fill_variables(const struct launch *launch, struct plan_view *view)
{
    for (size_t i = 0; i < launch->conf.n_env; i++) {
        const struct jp_envvar *var = &launch->conf.env[i];
        const struct launch_var *user = find_var(launch, var->name);

        view->variables[view->n_variables++] =
            (struct plan_variable){var->name, user ? user->value : var->value,
                                   user          ? LAUNCH_VAR_REASON
                                   : var->reason ? var->reason
                                                 : "",
                                   user != NULL};
    }
}

bool plan_view_is_full(const struct plan_view *view)
{
    uint64_t left = view->shape.disk_free_bytes;
    uint64_t step = plan_view_step(view, view->forecast.disk_bytes);

    /* The number of ranks is unknown: use one rank's data. */
    if (!step)
        step = view->forecast.disk_bytes;
    return left && (step > left || view->min_free_bytes > left - step);
}

/* Warns if the files will not fit. Only the view can compute it: the planner
 * knows one rank, not the step. */
static int warn_full(const struct plan_view *view, char **warnings,
                     struct jp_error *err)
{
    uint64_t step = plan_view_step(view, view->forecast.disk_bytes);

    if (!plan_view_is_full(view))
        return 0;
    return lines_add(warnings, err,
                     "not enough free space: %s %s %s and min_free=%s, but "
                     "only %s are free: records would be missing",
                     step ? "the step needs" : "a rank needs",
                     FIG_BYTES(step ? step : view->forecast.disk_bytes),
                     view->without ? "without your variables" : "of files",
                     FIG_BYTES(view->min_free_bytes),
                     FIG_BYTES(view->shape.disk_free_bytes));
}

/* Takes a line of the planner. */
static int take_line(void *arg, bool is_warning, const char *line,
                     struct jp_error *err)
{
    struct plan_view_store *store = arg;

    return lines_add(is_warning ? &store->warnings : &store->notes, err, "%s",
                     line);
}

/* Appends lines to *to; NULL: nothing to append. */
static int copy_lines(char **to, const char *lines, struct jp_error *err)
{
    return lines ? lines_add(to, err, "%s", lines) : 0;
}

/* Collects the planner's lines, unless its profiler does not run. */
static int ask_planner(const struct launch *launch, struct plan_view *view,
                       struct jp_error *err)
{
    const struct backend_planner *planner = launch->choice.backend->planner;

    if (view->plugin || !planner->notes)
        return 0;
    return planner->notes(&launch->choice.input, take_line, view->store, err);
}

/* Collects a line about each other option, and the blocks of settings that
 * somebody asked for. */
static int fill_sides(const struct launch *launch,
                      struct plan_view_store *store, struct jp_error *err)
{
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++) {
        const struct launch_side *side = backend_side(i);
        char line[256], *block = NULL;
        int rc;

        if (side->describe) {
            side->describe(&launch->conf, line, sizeof(line));
            if (lines_add(&store->notes, err, "%s", line) < 0)
                return -1;
        }
        if (!side->block || !side->shows_block ||
            !side->shows_block(&launch->conf))
            continue;
        if (side->block(&launch->conf, &block, err) < 0)
            return -1;
        rc = block ? lines_add(&store->blocks, err, "%s", block) : 0;
        free(block);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Collects warnings, notes and the blocks of settings. warn_full comes after
 * view->without is set, because its sentence depends on it. */
static int fill_lines(const struct launch *launch, struct plan_view *view,
                      struct jp_error *err)
{
    struct plan_view_store *store = view->store;

    if (copy_lines(&store->warnings, launch->choice.warnings, err) < 0 ||
        copy_lines(&store->warnings, launch->choice.known, err) < 0 ||
        copy_lines(&store->notes, launch->choice.remarks, err) < 0 ||
        fill_sides(launch, store, err) < 0 ||
        ask_planner(launch, view, err) < 0 ||
        launch_own(launch, &store->without, err) < 0)
        return -1;
    view->without = store->without;
    if (warn_full(view, &store->warnings, err) < 0)
        return -1;
    view->warnings = store->warnings ? store->warnings : "";
    view->notes = store->notes ? store->notes : "";
    view->blocks = store->blocks ? store->blocks : "";
    return 0;
}

/* Fills everything that needs no memory besides the two arrays. */
static void fill_borrowed(const struct launch *launch, struct plan_view *view)
{
    const struct plan_side *side = &launch->plan->sides[OPTION_NCCL];
    const struct plan_value *release = plan_find(side, "nccl");
    const struct plan_value *iterations = plan_find(side, "iterations");

    /* With mode "plan", the profiler that was requested is in the knob
     * mode=. */
    view->asked = side->grammar->modes[side->mode].name;
    if (plan_is_printed(launch->plan))
        view->asked = plan_get(side, "mode");
    view->runs = launch->choice.backend->about.name;
    view->reason = launch->conf.settings[0].reason; /* reason of the mode */
    view->plugin = launch_plugin(launch);
    view->release = release && release->value ? release->value : "";
    view->assumed = release && release->source == PLAN_DEFAULT;
    view->newer = plan_number(side, "nccl") > JP_NCCL_KNOWN;
    view->shape = launch->choice.input.shape;
    view->forecast = launch->choice.forecast;
    view->iterations = plan_number(side, "iterations");
    view->iterations_default = iterations && iterations->source == PLAN_DEFAULT;
    view->disk_bytes = plan_number(side, "disk");
    view->min_free_bytes = plan_number(side, "min_free");
    view->dir = launch->place.step_dir;
    fill_settings(launch, view);
    fill_variables(launch, view);
}

/* Steps: fill what is borrowed from the launch, then compose the texts that the
 * view owns. */
int plan_view_make(const struct launch *launch, struct plan_view *out,
                   struct jp_error *err)
{
    struct plan_view view = {.store = calloc(1, sizeof(*view.store))};
    const struct jp_jobconf *conf = &launch->conf;

    if (!view.store)
        return error_set(err, "out of memory");
    /* At most one entry for each setting and variable; one more, so that the
     * size is never 0. */
    view.settings = calloc(conf->n_settings + 1, sizeof(*view.settings));
    view.variables = calloc(conf->n_env + 1, sizeof(*view.variables));
    if (!view.settings || !view.variables) {
        error_set(err, "out of memory");
        goto fail;
    }
    fill_borrowed(launch, &view);
    if (fill_lines(launch, &view, err) < 0)
        goto fail;
    *out = view;
    return 0;
fail:
    plan_view_fini(&view);
    return -1;
}

void plan_view_fini(struct plan_view *view)
{
    free(view->settings);
    free(view->variables);
    if (view->store) {
        free(view->store->warnings);
        free(view->store->notes);
        free(view->store->blocks);
        free(view->store->without);
        free(view->store);
    }
    *view = (struct plan_view){0};
}

/* --- for people ----------------------------------------------------------- */

/* Prints the one or two sentences at the top: what would run, why it differs
 * from the request, and the NCCL release. */
static int print_head(FILE *out, const struct plan_view *view, const char *head,
                      struct jp_error *err)
{
    struct text_cells text = {.n_columns = 1};
    const char *title = profiler_title(view->runs);
    char known[16];

    /* The user's own library, a replaced profiler, or the normal case. */
    if (view->plugin)
        text_cells_add(
            &text, "%s: your NCCL_PROFILER_PLUGIN=%s would run instead of %s",
            head, view->plugin, title);
    else if (*view->reason && strcmp(view->asked, "auto") != 0)
        text_cells_add(&text, "%s: %s is requested, but %s would run: %s", head,
                       view->asked, title, view->reason);
    else
        text_cells_add(&text, "%s: %s would run%s%s%s", head, title,
                       *view->reason ? " (" : "", view->reason,
                       *view->reason ? ")" : "");
    text_cells_add(
        &text, "NCCL %s%s%s%s%s", *view->release ? view->release : "(unknown)",
        view->assumed ? ", an assumption: set nccl= or the site file" : "",
        view->newer ? ", planned as " : "",
        view->newer ? plan_view_known(known) : "",
        view->newer ? ", the newest one known to jobprof" : "");
    return text_cells_print(&text, 0, out, err);
}

/* Recognises a variable for a pool that the example plugin does not use, by the
 * reason that its planner gives. Returns the length of the pool's name without
 * the words that all pools share, and *name; 0: another variable. */
static size_t idle_pool(const struct plan_variable *v, const char **name)
{
    static const char before[] = "NCCL_PROFILE_", after[] = "_POOL_SIZE";
    size_t len = strlen(v->name), cut = sizeof(before) + sizeof(after) - 2;
    bool idle = strstr(v->reason, "not in the event mask") ||
                strstr(v->reason, "not used by this release");

    if (v->yours || !idle || len <= cut ||
        strncmp(v->name, before, sizeof(before) - 1) != 0 ||
        strcmp(v->name + len - (sizeof(after) - 1), after) != 0)
        return 0;
    *name = v->name + sizeof(before) - 1;
    return len - cut;
}

JP_GETTER(variable_source, plan_variable,
          value_text(v, at->yours ? "user" : "computed"))
JP_GETTER(variable_source_text, plan_variable,
          value_text(v, at->yours ? "yours, kept" : "computed"))

#define FIELD(member) JP_FIELD(struct plan_variable, member)
/* key, kind, flags, places in JSON, on a page and in text. Names of variables
 * are long; the reason takes the rest of the line. */
static const struct jp_column variable_columns[] = {
    {"name", JP_COL_TEXT, 0, 1, 0, 1, "variable", .width = 50, FIELD(name)},
    {"value", JP_COL_TEXT, 0, 2, 0, 2, "value", .none = "", .width = 12,
     FIELD(value)},
    {"source", JP_COL_WORD, 0, 3, .get = get_variable_source},
    {"source", JP_COL_TEXT, 0, 0, 0, 3, "source", .width = 12,
     .get = get_variable_source_text},
    {"reason", JP_COL_PROSE, 0, 4, 0, 4, "reason", .none = "", FIELD(reason)},
};
#undef FIELD
const struct jp_table plan_variables = {
    .name = "variables",
    JP_COLUMNS(variable_columns),
    .row_size = sizeof(struct plan_variable),
    .max_json = SIZE_MAX};

/* Returns the unused pools as the reason of one row: each of them has the
 * smallest size, so a row for each of them would only hide the others. Sets *n
 * to their number. Allocated; NULL without memory. */
static char *name_idle(const struct plan_view *view, size_t *n)
{
    size_t len = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &len);

    *n = 0;
    if (!out)
        return NULL;
    fputs("not in the event mask, or not used by this release: ", out);
    for (size_t i = 0; i < view->n_variables; i++) {
        const struct plan_variable *v = &view->variables[i];
        const char *name;
        size_t room = idle_pool(v, &name);

        if (room)
            quote_printf(out, "%s%.*s=%s", (*n)++ ? ", " : "", (int) room, name,
                         v->value);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Prints the table of the tasks' variables. */
static int print_variables(FILE *out, const struct plan_view *view,
                           struct jp_error *err)
{
    struct plan_variable *rows = calloc(view->n_variables + 1, sizeof(*rows));
    struct table_source source = {.rows = rows};
    size_t n_idle = 0;
    char *idle = name_idle(view, &n_idle), pools[40];
    int rc = rows && idle ? 0 : error_set(err, "out of memory");

    for (size_t i = 0; rc == 0 && i < view->n_variables; i++) {
        const char *name;

        if (!idle_pool(&view->variables[i], &name))
            rows[source.n++] = view->variables[i];
    }
    if (rc == 0 && n_idle) {
        snprintf(pools, sizeof(pools), "%zu more pool%s", n_idle,
                 plural(n_idle));
        rows[source.n++] =
            (struct plan_variable){.name = pools, .value = "", .reason = idle};
    }
    if (rc == 0)
        rc = table_lay_out(&plan_variables, &source, out, err);
    free(rows);
    free(idle);
    return rc;
}

/* How many nodes and ranks the forecast assumes. */
static void add_job(struct text_cells *t, const struct jp_jobshape *shape)
{
    uint32_t ranks = jobshape_ranks(shape);

    text_cells_add(t, "job");
    if (shape->nnodes && shape->ntasks)
        text_cells_add(t, "%s node%s, %s rank%s, %s on a node",
                       FIG_COUNT(shape->nnodes), plural(shape->nnodes),
                       FIG_COUNT(shape->ntasks), plural(shape->ntasks),
                       FIG_COUNT(ranks));
    else
        text_cells_add(t, "%s nodes, %s ranks; counted for %s rank%s on a node",
                       shape->nnodes ? FIG_COUNT(shape->nnodes) : "unknown",
                       shape->ntasks ? FIG_COUNT(shape->ntasks) : "unknown",
                       FIG_COUNT(ranks), plural(ranks));
}

/* The meaning of vm.overcommit_memory: 0, 1 or 2. */
static const char *overcommit_text(unsigned mode)
{
    return mode == 0   ? "at most RAM + swap in one allocation"
           : mode == 1 ? "any allocation is granted"
                       : "all allocations within the commit limit";
}

/* The memory of the step and of the node, as far as known. */
static void add_node(struct text_cells *t, const struct jp_jobshape *shape)
{
    const struct jp_nodemem *node = &shape->node;

    text_cells_add(t, "step");
    /* Without a limit of Slurm, the step may use the node. */
    if (shape->step_memory_bytes)
        text_cells_add(t, "%s of memory on a node%s%s%s",
                       FIG_BYTES(shape->step_memory_bytes),
                       *shape->memory_from ? " (" : "", shape->memory_from,
                       *shape->memory_from ? ")" : "");
    else
        text_cells_add(t, "unknown memory on a node");
    if (node->ram_bytes) {
        text_cells_add(t, "node");
        text_cells_add(t, "%s of RAM, %s of swap; overcommit mode %u: %s",
                       FIG_BYTES(node->ram_bytes), FIG_BYTES(node->swap_bytes),
                       node->overcommit, overcommit_text(node->overcommit));
    }
    /* In this mode, reserved memory counts even if it is never touched. */
    if (node->overcommit == 2 && node->commit_limit_bytes) {
        text_cells_add(t, "%s", "");
        text_cells_add(t, "commit limit %s, %s of it taken",
                       FIG_BYTES(node->commit_limit_bytes),
                       FIG_BYTES(node->committed_bytes));
    }
    if (shape->address_limit_bytes) {
        text_cells_add(t, "limit");
        text_cells_add(t, "a rank's address space: %s (ulimit -v)",
                       FIG_BYTES(shape->address_limit_bytes));
    }
}

/* A prefix for figures that the user's own variables may change. */
static const char *without_prefix(const struct plan_view *view)
{
    return view->without ? "without your variables: " : "";
}

/* "; 1.2 % of the step's memory" into buf; "" if the total is unknown. */
static const char *share_text(char *buf, size_t len, uint64_t part,
                              uint64_t whole, const char *of)
{
    buf[0] = '\0';
    if (whole)
        snprintf(buf, len, "; %s of %s",
                 FIG_SHARE((double) part / (double) whole), of);
    return buf;
}

/* What the profiler takes in memory, and address space that it only
 * reserves. */
static void add_memory(struct text_cells *t, const struct plan_view *view)
{
    const struct backend_forecast *f = &view->forecast;
    uint64_t node = plan_view_node(view, f->memory_bytes);
    char share[96];

    text_cells_add(t, "memory");
    if (f->memory_bytes)
        text_cells_add(t, "%s%s a rank, %s a node%s", without_prefix(view),
                       FIG_BYTES(f->memory_bytes), FIG_BYTES(node),
                       share_text(share, sizeof(share), node,
                                  view->shape.step_memory_bytes,
                                  "the step's memory"));
    else
        text_cells_add(t, "unknown");
    /* A limit of address space (ulimit -v) counts reserved memory. */
    if (f->reserved_bytes > f->memory_bytes) {
        text_cells_add(t, "address");
        text_cells_add(t, "%s%s a rank, %s a node; most of it is never touched",
                       without_prefix(view), FIG_BYTES(f->reserved_bytes),
                       FIG_BYTES(plan_view_node(view, f->reserved_bytes)));
    }
}

/* The size of the files, and the free space. */
static void add_disk(struct text_cells *t, const struct plan_view *view)
{
    const struct backend_forecast *f = &view->forecast;
    uint64_t step = plan_view_step(view, f->disk_bytes);
    uint64_t left = view->shape.disk_free_bytes;
    char share[96];

    text_cells_add(t, "disk");
    /* Three cases: no forecast, unknown number of ranks, both known. */
    if (!f->disk_bytes)
        text_cells_add(t, "unknown; disk=%s", FIG_BYTES(view->disk_bytes));
    else if (!step)
        text_cells_add(t, "%s%s a rank; disk=%s for the step",
                       without_prefix(view), FIG_BYTES(f->disk_bytes),
                       FIG_BYTES(view->disk_bytes));
    else
        text_cells_add(
            t, "%s%s a rank, %s the step%s%s", without_prefix(view),
            FIG_BYTES(f->disk_bytes), FIG_BYTES(step),
            share_text(share, sizeof(share), step, view->disk_bytes, "disk="),
            view->disk_bytes ? FIG_BYTES(view->disk_bytes) : "");
    if (*f->counted) {
        text_cells_add(t, "counted");
        text_cells_add(t, "%s", f->counted);
    }
    if (!left)
        return;
    text_cells_add(t, "free");
    text_cells_add(t, "%s free; min_free=%s%s", FIG_BYTES(left),
                   FIG_BYTES(view->min_free_bytes),
                   plan_view_is_full(view) ? ": NOT ENOUGH" : "");
}

/* ", for iterations=200 (default)" into buf; "" if they are unknown. */
static const char *basis_text(char *buf, size_t len,
                              const struct plan_view *view)
{
    buf[0] = '\0';
    if (view->iterations)
        snprintf(buf, len, ", for iterations=%llu%s",
                 (unsigned long long) view->iterations,
                 view->iterations_default ? " (default)" : "");
    return buf;
}

/* How many operations are recorded, and how many of them are kept. */
static void add_records(struct text_cells *t, const struct plan_view *view)
{
    const struct backend_forecast *f = &view->forecast;
    char basis[64];

    /* The label of the row; the text follows as the next cell. */
    text_cells_add(t, "records");
    basis_text(basis, sizeof(basis), view);
    /* What is lost is more important than what is kept. */
    if (*f->lost)
        text_cells_add(t, "%s%s", without_prefix(view), f->lost);
    else if (!f->planned_ops)
        text_cells_add(t, "unknown");
    else if (f->kept_ops < f->planned_ops)
        text_cells_add(t, "%s%s of %s operations of each rank%s",
                       without_prefix(view), FIG_COUNT(f->kept_ops),
                       FIG_COUNT(f->planned_ops), basis);
    else
        text_cells_add(t, "%sall %s operations of each rank%s",
                       without_prefix(view), FIG_COUNT(f->planned_ops), basis);
    if (*f->lost && f->planned_ops) {
        text_cells_add(t, "%s", "");
        text_cells_add(t, "kept: %s of %s operations of each rank%s",
                       f->kept_ops < f->planned_ops ? FIG_COUNT(f->kept_ops)
                                                    : "all",
                       FIG_COUNT(f->planned_ops), basis);
    }
}

/* Adds a row "label: line" for each line of a text. */
static void add_lines(struct text_cells *t, const char *label,
                      const char *lines)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");

        if (len) {
            text_cells_add(t, "%s", label);
            text_cells_add(t, "%.*s", (int) len, lines);
        }
        lines += len + (lines[len] == '\n');
    }
}

/* Prints the facts in the order in which a user needs them. */
static int print_facts(FILE *out, const struct plan_view *view,
                       struct jp_error *err)
{
    struct text_cells facts = {.n_columns = 2};

    add_records(&facts, view);
    add_lines(&facts, "WARNING", view->warnings);
    add_job(&facts, &view->shape);
    add_node(&facts, &view->shape);
    add_memory(&facts, view);
    add_disk(&facts, view);
    text_cells_add(&facts, "output");
    text_cells_add(&facts, "%s", view->dir);
    add_lines(&facts, "note", view->notes);
    return text_cells_print(&facts, 0, out, err);
}

/* --- the answer alone ------------------------------------------------------
 */

/* What runs, and for which NCCL. */
static void add_runs(struct text_cells *t, const struct plan_view *view,
                     const char *head)
{
    const char *title = profiler_title(view->runs);
    char release[96] = "";

    if (*view->release)
        snprintf(release, sizeof(release), ", for NCCL %.32s%s", view->release,
                 view->assumed ? " (assumed)" : "");
    if (view->plugin)
        text_cells_add(
            t, "%s: your NCCL_PROFILER_PLUGIN=%s would run instead of %s%s",
            head, view->plugin, title, release);
    else if (*view->reason && strcmp(view->asked, "auto") != 0)
        text_cells_add(t, "%s: %s is requested, but %s would run%s: %s", head,
                       view->asked, title, release, view->reason);
    else
        text_cells_add(t, "%s: %s would run%s", head, title, release);
}

/* Formats "A and 3 more", of n names that begin with first. */
static void name_first(const char *first, size_t n, char *buf, size_t size)
{
    if (n > 1)
        snprintf(buf, size, "%s and %s more", first, FIG_COUNT(n - 1));
    else
        snprintf(buf, size, "%s", first);
}

/* What is set, and where the report will be. */
static void add_set(struct text_cells *t, const struct plan_view *view)
{
    const char *first = NULL, *kept = NULL;
    char set[160] = "no variable", yours[160] = "";
    size_t n = 0, n_kept = 0;

    for (size_t i = 0; i < view->n_variables; i++) {
        const struct plan_variable *v = &view->variables[i];

        if (v->yours) {
            kept = kept ? kept : v->name;
            n_kept++;
        } else {
            first = first ? first : v->name;
            n++;
        }
    }
    text_cells_add(t, "set");
    if (n)
        name_first(first, n, set, sizeof(set));
    if (n_kept)
        name_first(kept, n_kept, yours, sizeof(yours));
    text_cells_add(t, "%s%s%s; report in %s", set,
                   n_kept ? "; yours stay: " : "", yours, view->dir);
}

/* What it costs in memory and on disk. */
static void add_costs(struct text_cells *t, const struct plan_view *view)
{
    const struct backend_forecast *f = &view->forecast;
    uint64_t step = plan_view_step(view, f->disk_bytes);
    uint64_t node = plan_view_node(view, f->memory_bytes);
    char memory[JP_FIGURE_LEN + 32] = "unknown memory", share[64] = "";

    if (f->memory_bytes)
        snprintf(memory, sizeof(memory), "%s of memory a rank",
                 FIG_BYTES(f->memory_bytes));
    if (f->memory_bytes && view->shape.step_memory_bytes)
        snprintf(
            share, sizeof(share), " (%s of the step's on a node)",
            FIG_SHARE((double) node / (double) view->shape.step_memory_bytes));
    text_cells_add(t, "costs");
    text_cells_add(
        t, "%s%s%s, %s of disk%s", without_prefix(view), memory, share,
        f->disk_bytes ? FIG_BYTES(step ? step : f->disk_bytes) : "unknown",
        f->disk_bytes && !step ? " a rank" : "");
}

/* Prints what runs, what is set, what it costs, what is kept, and what may be
 * lost: five lines, more for each further warning. */
static int print_answer(FILE *out, const struct plan_view *view,
                        const char *head, struct jp_error *err)
{
    struct text_cells first = {.n_columns = 1}, rows = {.n_columns = 2};

    add_runs(&first, view, head);
    if (text_cells_print(&first, 0, out, err) < 0)
        return -1;
    add_set(&rows, view);
    add_costs(&rows, view);
    add_records(&rows, view);
    if (*view->warnings) {
        add_lines(&rows, "WARNING", view->warnings);
    } else {
        text_cells_add(&rows, "warnings");
        text_cells_add(&rows, "none");
    }
    return text_cells_print(&rows, 2, out, err);
}

int plan_view_print(FILE *out, const struct plan_view *view, const char *head,
                    bool brief, struct jp_error *err)
{
    if (brief)
        return print_answer(out, view, head, err);
    if (print_head(out, view, head, err) < 0)
        return -1;
    fputc('\n', out);
    if (print_facts(out, view, err) < 0)
        return -1;
    fputc('\n', out);
    settings_print(out, view->settings, view->n_settings);
    fputc('\n', out);
    if (print_variables(out, view, err) < 0)
        return -1;
    if (view->blocks && *view->blocks) {
        fputc('\n', out);
        /* The block has its own layout; the table would wrap its lines. */
        for (const char *line = view->blocks; *line;) {
            size_t n = strcspn(line, "\n");

            quote_printf(out, "%.*s\n", (int) n, line);
            line += n + (line[n] == '\n');
        }
    }
    return 0;
}
