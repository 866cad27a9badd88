/* cmd_plan.c - `jobprof plan`: its command line, and the plan as JSON.
 *
 * The steps are those of a launch, without a step: imagine gathers facts,
 * plan_make combines all settings, launch_make computes what the step would
 * get, and plan_view describes it. With --from, the option and the size of the
 * step come from an earlier report (cmd_plan_from.c). */
#include "orchestrator/cmd/cmd_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "common/quote.h"
#include "common/grammar.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/collect/nodelist.h"

#define SCHEMA 1
#define MIN_MEMORY (UINT64_C(1) << 20)
#define MAX_MEMORY (UINT64_C(1) << 50)

/* The command line; strings are borrowed from argv. */
struct arguments {
    const char *word; /* MODE[,key=value...] or NULL */
    const char *from;
    uint64_t nodes, tasks, memory_bytes; /* 0: not given */
    struct cmd_common common;
};

/* The state of one command. */
struct session {
    const struct arguments *args;
    struct plan_input in;
    struct launch_facts facts; /* of the imagined step */
    char *submit_dir;          /* owned */
    struct plan_from from;     /* zeros: without --from */
};

/* --- the plan as JSON --------------------------------------------------- */

/* Writes a value; 0 means unknown. */
static void put_known(struct jp_json_stream *s, const char *key, uint64_t value)
{
    json_stream_known(s, key, value, value);
}

/* Writes a text; "" and NULL mean unknown. */
static void put_known_text(struct jp_json_stream *s, const char *key,
                           const char *text)
{
    json_stream_text(s, key, text && *text ? text : NULL);
}

/* Writes the mode that was requested and the one that would run. */
static void put_mode(struct jp_json_stream *s, const char *key,
                     const struct plan_view *view)
{
    json_stream_object(s, key);
    json_stream_text(s, "asked", view->asked);
    json_stream_text(s, "runs", view->runs);
    json_stream_text(s, "reason", view->reason);
    json_stream_text(s, "plugin", view->plugin);
    json_stream_end_object(s);
}

/* Writes the NCCL release that the plan is made for. */
static void put_nccl(struct jp_json_stream *s, const char *key,
                     const struct plan_view *view)
{
    char known[16];

    json_stream_object(s, key);
    json_stream_text(s, "release", view->release);
    json_stream_bool(s, "assumed", view->assumed);
    /* a release newer than any known one is planned as the newest known one */
    json_stream_text(s, "planned_as",
                     view->newer ? plan_view_known(known) : view->release);
    json_stream_end_object(s);
}

/* Writes the settings, each with its source. */
static void put_settings(struct jp_json_stream *s, const char *key,
                         const struct plan_view *view)
{
    table_write_json(s, key, &plan_settings,
                     &(const struct table_source){.rows = view->settings,
                                                  .n = view->n_settings});
}

/* Writes the environment variables of the tasks. */
static void put_variables(struct jp_json_stream *s, const char *key,
                          const struct plan_view *view)
{
    table_write_json(s, key, &plan_variables,
                     &(const struct table_source){.rows = view->variables,
                                                  .n = view->n_variables});
}

/* Writes the size of the step and of a node, on which the forecast is based. */
static void put_shape(struct jp_json_stream *s, const char *key,
                      const struct jp_jobshape *shape)
{
    const struct jp_nodemem *mem = &shape->node;

    json_stream_object(s, key);
    put_known(s, "nodes", shape->nnodes);
    put_known(s, "ranks", shape->ntasks);
    json_stream_count(s, "ranks_per_node", jobshape_ranks(shape));
    put_known(s, "step_memory_bytes", shape->step_memory_bytes);
    put_known_text(s, "step_memory_from", shape->memory_from);
    json_stream_object(s, "node");
    put_known(s, "ram_bytes", mem->ram_bytes);
    json_stream_count(s, "swap_bytes", mem->swap_bytes);
    json_stream_count(s, "overcommit", mem->overcommit);
    put_known(s, "commit_limit_bytes", mem->commit_limit_bytes);
    put_known(s, "committed_bytes", mem->committed_bytes);
    json_stream_bool(s, "huge_pages", mem->huge_pages);
    json_stream_end_object(s);
    put_known(s, "address_limit_bytes", shape->address_limit_bytes);
    put_known(s, "disk_free_bytes", shape->disk_free_bytes);
    json_stream_end_object(s);
}

/* Writes one string per part between separators, in an open array. */
static void put_parts(struct jp_json_stream *s, const char *text,
                      const char *separator)
{
    while (*text) {
        const char *end = strstr(text, separator);
        size_t len = end ? (size_t) (end - text) : strlen(text);
        char *part = strndup(text, len);

        /* the stream reports it at its end */
        if (!part)
            s->failed = true;
        else if (len)
            json_stream_text(s, NULL, part);
        free(part);
        text += len + (end ? strlen(separator) : 0);
    }
}

/* Writes memory, disk space and losses, per rank, node and step. */
static void put_forecast(struct jp_json_stream *s, const char *key,
                         const struct plan_view *view)
{
    const struct backend_forecast *f = &view->forecast;

    json_stream_object(s, key);
    json_stream_object(s, "rank");
    put_known(s, "memory_bytes", f->memory_bytes);
    put_known(s, "reserved_bytes", f->reserved_bytes);
    put_known(s, "disk_bytes", f->disk_bytes);
    put_known(s, "planned_ops", f->planned_ops);
    /* without planned operations the kept ones are unknown, not 0 */
    json_stream_known(s, "kept_ops", f->planned_ops, f->kept_ops);
    json_stream_end_object(s);
    json_stream_object(s, "node");
    put_known(s, "memory_bytes", plan_view_node(view, f->memory_bytes));
    put_known(s, "reserved_bytes", plan_view_node(view, f->reserved_bytes));
    json_stream_end_object(s);
    json_stream_object(s, "step");
    put_known(s, "disk_bytes", plan_view_step(view, f->disk_bytes));
    put_known(s, "disk_limit_bytes", view->disk_bytes);
    json_stream_count(s, "min_free_bytes", view->min_free_bytes);
    json_stream_end_object(s);
    json_stream_text(s, "counted", f->counted);
    json_stream_text(s, "lost", f->lost);
    json_stream_array(s, "without");
    put_parts(s, view->without ? view->without : "", ", ");
    json_stream_end_array(s);
    json_stream_end_object(s);
}

/* Writes the remarks that the text has besides its figures. */
static void put_notes(struct jp_json_stream *s, const char *key,
                      const struct plan_view *view)
{
    struct jp_error note;

    json_stream_array(s, key);
    put_parts(s, view->notes, "\n");
    /* the text prints this below its table */
    if (view->iterations_default) {
        error_set(&note,
                  "iterations=%llu is only the default. The counts of planned "
                  "and kept operations and the disk space depend on it",
                  (unsigned long long) view->iterations);
        json_stream_text(s, NULL, note.text);
    }
    json_stream_end_array(s);
}

/* Writes the figures of one rank of the earlier run. */
static void put_rank(struct jp_json_stream *s, const char *key,
                     const struct plan_measured *m)
{
    json_stream_object(s, key);
    json_stream_count(s, "colls", m->colls);
    json_stream_count(s, "p2p", m->p2p);
    json_stream_count(s, "comms", m->comms);
    json_stream_bool(s, "comms_estimated", m->comms_estimated);
    put_known(s, "busiest_comm_colls", m->busiest);
    json_stream_bool(s, "mean", m->mean);
    json_stream_count(s, "processes", m->processes);
    json_stream_end_object(s);
}

/* Writes the numbers of rows that summary.json leaves out. */
static void put_left_out(struct jp_json_stream *s, const char *key,
                         const struct plan_measured *m)
{
    json_stream_object(s, key);
    json_stream_count(s, "ranks", m->left_out.ranks);
    json_stream_count(s, "comms", m->left_out.comms);
    json_stream_count(s, "windows", m->left_out.windows);
    json_stream_end_object(s);
}

/* Writes the figures of --from; m NULL: there are none. */
static void put_measured(struct jp_json_stream *s, const char *key,
                         const struct plan_measured *m)
{
    if (!m) {
        json_stream_null(s, key);
        return;
    }
    json_stream_object(s, key);
    json_stream_text(s, "summary", m->path);
    put_known_text(s, "mode", m->mode);
    put_known_text(s, "nccl", m->release);
    put_known(s, "iterations", m->iterations);
    put_known(s, "nodes", m->nodes);
    put_known(s, "ranks", m->tasks);
    put_rank(s, "rank", m);
    put_known(s, "rate", m->rate);
    /* how exact the rate is */
    json_stream_text(s, "rate_from", m->slice_us ? "windows" : "comms");
    put_known(s, "rate_slice_us", m->slice_us);
    put_left_out(s, "left_out", m);
    /* a report without records was refused before */
    json_stream_real(s, "bytes_per_op",
                     (double) m->bytes / (double) m->records);
    json_stream_count(s, "records", m->records);
    put_known(s, "expected", m->expected);
    json_stream_count(s, "lost", m->lost);
    json_stream_end_object(s);
}

/* Follows docs/plan.schema.json. from may be NULL. */
static int print_json(const struct plan_view *view,
                      const struct plan_from *from, struct jp_error *err)
{
    struct jp_json_stream stream, *s = &stream;

    json_stream_open(s, JSON_FILE, stdout);
    json_stream_count(s, "schema_version", SCHEMA);
    put_mode(s, "mode", view);
    put_nccl(s, "nccl", view);
    put_settings(s, "settings", view);
    put_variables(s, "variables", view);
    put_shape(s, "shape", &view->shape);
    put_forecast(s, "forecast", view);
    json_stream_array(s, "warnings");
    put_parts(s, view->warnings, "\n");
    json_stream_end_array(s);
    put_notes(s, "notes", view);
    json_stream_text(s, "dir", view->dir);
    put_measured(s, "measured", from ? &from->measured : NULL);
    json_stream_text(s, "command", from ? from->command : NULL);
    return json_stream_close(s, err);
}

/* --- the command line --------------------------------------------------- */

static const struct cmd_option rows[] = {
    {"nodes", "N", "the step's nodes", OPT_COUNT(nodes, 1, UINT32_MAX)},
    {"tasks", "N", "the step's ranks", OPT_COUNT(tasks, 1, UINT32_MAX)},
    {"memory", "SIZE", "memory of the step on a node",
     OPT_SIZE(memory_bytes, MIN_MEMORY, MAX_MEMORY)},
    {"from", "DIR|JOBID[.STEP]",
     "take the counts from an earlier step's report, and plan the next run",
     OPT_TEXT(from)},
    {"json", NULL, "print the plan as JSON", OPT_FLAG(common.json)},
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "print only the answer, without a hint to -v", OPT_QUIET},
    {"verbose", NULL,
     "print also the figures behind the answer, notes, and each setting and "
     "variable with its source",
     OPT_VERBOSE},
};

static const struct cmd_options command_line = {
    .command = "plan",
    .about =
        "usage: jobprof plan [options] [MODE[,key=value...]]\n\n"
        "Print what --nccl-profile=MODE[,key=value...] would do to a step: "
        "what is set, memory, disk, what is kept, and warnings; with -v also "
        "each setting and variable with its source. Nothing is started and no "
        "directory is created. MODE is auto, "
        "inspector, example, recorder, or plan,mode=...; by default it is the "
        "mode in the settings, else auto.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 wrong usage or settings, or a plan that does "
           "not fit, 4 no data in the report, 5 output failed.\n",
    .most = 1,
    .need = "needs at most one MODE[,key=value...]",
};

/* Checks the user's words alone, so that an error names no other source. */
static int check_word(const struct arguments *a, struct jp_error *err)
{
    struct jp_request request;
    bool off;

    if (!a->word)
        return 0;
    /* grammar and ranges; the site may still refuse it */
    if (request_parse(grammar_nccl(), a->word, &request, err) < 0)
        return -1;
    /* the first mode of a grammar is off */
    off = request.mode == 0;
    request_fini(&request);
    return off ? error_set(err,
                           "the mode off profiles nothing, so there is no plan")
               : 0;
}

/* Finds the step directory for --from. Caller frees. */
static char *find_step(const struct arguments *a, struct jp_error *err)
{
    char **dirs = NULL, *dir;
    size_t n = 0;

    if (cmd_inputs_steps(a->from, a->common.config, &dirs, &n, err) < 0)
        return NULL;
    if (n > 1) {
        error_set(err, "%s has %zu steps; name one: %s", a->from, n, dirs[0]);
        nodelist_free(dirs, n);
        return NULL;
    }
    /* keep the only string of the list */
    dir = dirs[0];
    free(dirs);
    return dir;
}

/* Reads the report of --from and uses the option made from it. Returns
 * JP_EXIT_OK, or another status and err. */
static enum jp_exit take_report(struct session *s, struct jp_error *err)
{
    const struct arguments *a = s->args;
    char *dir = find_step(a, err);
    const struct plan_measured *measured;
    enum jp_exit rc;

    if (!dir)
        return JP_EXIT_USAGE;
    rc = plan_from_make(dir, a->word, &s->from, err);
    free(dir);
    if (rc != JP_EXIT_OK)
        return rc;
    measured = &s->from.measured;
    s->in.given[OPTION_NCCL] = s->from.option;
    /* --nodes and --tasks take precedence over the report */
    if (!s->facts.nnodes && measured->nodes <= UINT32_MAX)
        s->facts.nnodes = (uint32_t) measured->nodes;
    if (!s->facts.ntasks && measured->tasks <= UINT32_MAX)
        s->facts.ntasks = (uint32_t) measured->tasks;
    return JP_EXIT_OK;
}

/* Prints the plan as text or JSON. Returns -1 and err if the output failed. */
static int print_plan(const struct session *s, struct plan_view *view,
                      struct jp_error *err)
{
    const struct arguments *a = s->args;
    const struct plan_from *from = a->from ? &s->from : NULL;

    if (from)
        plan_from_attribute(from, view);
    if (a->common.json)
        return print_json(view, from, err);
    /* above the plan, because the plan follows from it */
    if (from && plan_from_print(from, !a->common.verbose, stdout, err) < 0)
        return -1;
    if (plan_view_print(stdout, view, "plan", !a->common.verbose, err) < 0)
        return -1;
    if (!a->common.verbose && !a->common.quiet)
        puts("  (jobprof plan -v prints each setting and variable)");
    return 0;
}

/* Prints what srun would do after this error: refuse the option, or start the
 * step without it. Returns an exit status. */
static int fail_step(const struct plan_input *in, const struct jp_error *err)
{
    bool refused = in->given[OPTION_NCCL] && launch_check(in, NULL) < 0;

    quote_printf(stderr, "jobprof: plan: %s; %s\n", err->text,
                 refused ? "srun refuses the option"
                         : "the step runs unprofiled");
    return JP_EXIT_USAGE;
}

/* Prints the launch. Returns an exit status. */
static int show_launch(struct session *s, const struct launch *launch)
{
    struct plan_view view;
    struct jp_error err;
    int rc = JP_EXIT_OK;

    if (plan_view_make(launch, &view, &err) < 0)
        return cmd_args_fail("plan", JP_EXIT_IO, &err);
    if (print_plan(s, &view, &err) < 0)
        rc = cmd_args_fail("plan", JP_EXIT_IO, &err);
    else if (fflush(stdout) != 0 || ferror(stdout)) {
        error_set(&err, "standard output failed");
        rc = cmd_args_fail("plan", JP_EXIT_IO, &err);
    }
    plan_view_fini(&view);
    return rc;
}

/* The step directory, with the pattern's codes left in place, because the step
 * has no ids. Caller frees. */
static char *name_dir(const struct session *s, const struct jp_plan *plan)
{
    char *job = place_pattern(plan_get(&plan->sides[OPTION_NCCL], "dir"));
    char *dir = NULL;

    if (job)
        /* a relative directory is below the submit directory */
        dir = text_format("%s%s%s/step-%%s", *job == '/' ? "" : s->submit_dir,
                          *job == '/' ? "" : "/", job);
    free(job);
    return dir;
}

/* Computes the launch and prints it. Returns an exit status. */
static int show_plan(struct session *s, const struct jp_plan *plan)
{
    struct jp_error err = {"out of memory"};
    char *dir = name_dir(s, plan);
    struct launch launch;
    int rc;

    if (!dir)
        return cmd_args_fail("plan", JP_EXIT_USAGE, &err);
    /* nothing is created on disk */
    if (launch_make(&s->facts, plan, dir, &launch, &err) < 0) {
        rc = fail_step(&s->in, &err);
    } else {
        rc = show_launch(s, &launch);
        launch_fini(&launch);
    }
    free(dir);
    return rc;
}

/* Imagines a step. Its size is given, or is that of the report of --from; all
 * other facts come from this environment. */
static int show_imagined(struct session *s, struct jp_error *err)
{
    const struct arguments *a = s->args;
    struct jp_stepsize *size = &s->facts.size;

    s->submit_dir = cmd_args_submit_dir(err);
    if (!s->submit_dir)
        return -1;
    size->imagined = s->facts.nnodes || s->facts.ntasks;
    if (a->memory_bytes) {
        /* Slurm counts memory in MiB */
        size->memory_bytes = a->memory_bytes / MIN_MEMORY * MIN_MEMORY;
        size->memory_from = "--memory";
    }
    facts_get(&s->in, &s->facts);
    return 0;
}

/* Returns an exit status. */
static int run_session(struct session *s)
{
    const struct arguments *a = s->args;
    struct jp_plan plan;
    struct jp_error err;
    enum jp_exit status;
    int rc;

    if (check_word(a, &err) < 0)
        return cmd_args_fail("plan", JP_EXIT_USAGE, &err);
    s->facts.nnodes = (uint32_t) a->nodes;
    s->facts.ntasks = (uint32_t) a->tasks;
    s->in = (struct plan_input){.config = a->common.config,
                                .given[OPTION_NCCL] = a->word,
                                .strict = true};
    /* the report's option takes the place of the user's word */
    if (a->from && (status = take_report(s, &err)) != JP_EXIT_OK)
        return cmd_args_fail("plan", status, &err);
    if (show_imagined(s, &err) < 0 || plan_make(&s->in, &plan, &err) < 0)
        return cmd_args_fail("plan", JP_EXIT_USAGE, &err);
    /* no profile is requested anywhere: continue as if auto were, because the
     * user wants a forecast */
    if (!plan.sides[OPTION_NCCL].mode) {
        plan.sides[OPTION_NCCL].mode =
            grammar_find_mode(grammar_nccl(), "auto");
        plan.sides[OPTION_NCCL].mode_source = PLAN_DEFAULT;
    }
    rc = show_plan(s, &plan);
    plan_fini(&plan);
    return rc;
}

int cmd_plan(int argc, char **argv)
{
    struct arguments args = {0};
    struct session session = {.args = &args};
    int rc = cmd_options_parse(&command_line, argc, argv, &args);

    if (rc >= 0)
        return rc;
    args.word = argv[optind];
    rc = run_session(&session);
    plan_from_fini(&session.from);
    free(session.submit_dir);
    return rc;
}
