/* cmd_gc.c - `jobprof gc`: remove old raw data below a folder.
 *
 * gc/ finds the jobs and removes their data; this file prints each job's
 * outcome and the totals over all folders. Stale metrics files of this host are
 * removed at the end. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/gc/gc.h"
#include "orchestrator/metrics/metrics.h"
#include "orchestrator/report/summary_file.h"

/* Limits and defaults of --older and --owner-time. */
#define DAY_S (24 * 3600)
#define DEFAULT_OLDER_S (30 * DAY_S)
#define MIN_OWNER_US UINT64_C(1000)
#define MAX_OWNER_US (UINT64_C(7) * DAY_S * 1000000)
#define MAX_OLDER_S (UINT64_C(100) * 366 * DAY_S)

struct arguments {
    struct gc_options gc;
    struct cmd_common common;
};

/* Parses "30d": an integer with s, m, h or d; without a unit, seconds. */
static int parse_age(const char *text, uint64_t *out, struct jp_error *err)
{
    static const struct {
        char letter;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', DAY_S}};
    size_t len = strlen(text);
    uint64_t unit = 1, n;
    char digits[24];

    for (size_t i = 0; len && i < sizeof(units) / sizeof(*units); i++)
        if (text[len - 1] == units[i].letter)
            unit = units[i].seconds;
    /* the number stands before the unit */
    if (len && strchr("smhd", text[len - 1]))
        len--;
    if (len >= sizeof(digits))
        return error_set(err, "%s is too large", QUOTE(text));
    memcpy(digits, text, len);
    digits[len] = '\0';
    /* the product with the unit cannot overflow */
    if (num_parse_u64(digits, 0, MAX_OLDER_S / unit, &n, err) < 0)
        return -1;
    *out = n * unit;
    return 0;
}

static int take_older(void *arguments, const struct cmd_option *row,
                      char *value, struct jp_error *err)
{
    (void) row;
    return parse_age(value, &((struct arguments *) arguments)->gc.older_s, err);
}

static const struct cmd_option rows[] = {
    {"older", "AGE", "jobs whose last report is older (30d): s, m, h, d",
     OPT_TAKE(take_older)},
    {"quota", "SIZE",
     "also remove the oldest jobs while raw data takes more than SIZE",
     OPT_SIZE(gc.quota_bytes, 0, INT64_MAX)},
    {"reports", NULL,
     "remove whole steps with their reports, not only raw data",
     OPT_FLAG(gc.reports)},
    {"all-users", NULL,
     "as root: jobs of all users, each with the rights of its owner; the quota "
     "holds for each owner",
     OPT_FLAG(gc.all_users)},
    {"owner-time", "TIME", "time limit for each owner (10m); the rest stays",
     OPT_TIME_MS(gc.owner_ms, MIN_OWNER_US, MAX_OWNER_US)},
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"dry-run", NULL, "print what would be removed", OPT_FLAG(gc.dry_run),
     .letter = 'n'},
    {"json", NULL, "print the result as JSON", OPT_FLAG(common.json)},
    {"quiet", NULL, "print only what failed", OPT_QUIET},
    {"verbose", NULL, "also print the jobs that stay", OPT_VERBOSE},
};

static const struct cmd_options command_line = {
    .command = "gc",
    .about =
        "usage: jobprof gc [options] DIR...\n\n"
        "Remove raw data of reported jobs in and below the folders, one job at "
        "a time. Reports, figures and summaries stay. A job is left alone "
        "while one of its steps runs, has no report or was not analysed. Links "
        "are not followed, and files of other users are left alone. Metrics "
        "files of killed steps are also removed, if the site's settings name a "
        "folder for them (metrics.textfile_dir).\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 3 something could not be removed, or "
           "not all of an owner's folders were examined, 5 a folder cannot be "
           "read, or output failed.\n",
    .least = 1,
    .most = CMD_ANY,
    .need = "needs a folder",
};

/* --- the result ----------------------------------------------------------- */

/* Sums over all folders. */
struct totals {
    uint64_t jobs, freed_jobs, freed_bytes, left_bytes;
    bool failed, cut, deep;
    struct metricsfile_cleaned metrics;
    struct jp_json json;
    json_t *list; /* NULL: text output */
};

/* Prints one line of a job: its state, path, and bytes or the reason. */
static void print_job(const char *root, const struct gc_job *job,
                      const struct gc_outcome *o, bool dry_run)
{
    quote_printf(stdout, "%-10s  ",
                 dry_run && o->state == GC_FREED ? "would free"
                                                 : gc_words[o->state]);
    quote_print(stdout, root);
    /* "." is the folder itself */
    if (strcmp(job->path, ".") != 0) {
        putchar('/');
        quote_print(stdout, job->path);
    }
    if (o->state == GC_FREED)
        quote_printf(stdout, ": %s", FIG_BYTES(o->freed_bytes));
    else if (*o->why)
        printf(": "), quote_print(stdout, o->why);
    else
        quote_printf(stdout, ": %s", FIG_BYTES(o->raw_bytes));
    putchar('\n');
}

/* Adds a job to the JSON list. */
static void add_json(struct totals *t, const char *root,
                     const struct gc_job *job, const struct gc_outcome *o)
{
    json_t *one = json_out_object(&t->json);

    json_out_text(&t->json, one, "root", root);
    json_out_text(&t->json, one, "job", job->path);
    json_out_count(&t->json, one, "uid", job->uid);
    json_out_text(&t->json, one, "state", gc_words[o->state]);
    json_out_text(&t->json, one, "why", o->why);
    json_out_count(&t->json, one, "steps", o->steps);
    /* 0: the job has no report */
    json_out_put(&t->json, one, "reported_s",
                 o->reported_s > 0 ? json_integer(o->reported_s) : json_null());
    json_out_count(&t->json, one, "raw_bytes", o->raw_bytes);
    json_out_count(&t->json, one, "freed_bytes", o->freed_bytes);
    json_out_append(&t->json, t->list, one);
}

/* Prints that not all folders of an owner were examined, and why. */
static void print_cut(const char *root, const struct gc_owner *owner)
{
    char who[40] = "users without a name";

    if (owner->uid != GC_STRANGERS)
        snprintf(who, sizeof(who), "uid %lu", (unsigned long) owner->uid);
    quote_printf(stderr,
                 "jobprof: gc: %s: not all of %s was examined: %llu folders "
                 "and %llu jobs in %llu s (limits: %d, %d and --owner-time)\n",
                 QUOTE(root), who, (unsigned long long) owner->folders,
                 (unsigned long long) owner->jobs,
                 (unsigned long long) owner->spent_us / 1000000,
                 GC_OWNER_FOLDERS, GC_OWNER_JOBS);
}

/* Adds the result of a folder to the totals, and prints its jobs. */
static void take_result(const struct arguments *a, const char *root,
                        const struct gc_result *r, struct totals *t)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct gc_outcome *o = &r->outcomes[i];
        /* a failure is printed even with --quiet */
        bool shown =
            o->state == GC_FAILED ||
            (!a->common.quiet && (a->common.verbose || o->state == GC_FREED));

        t->jobs++;
        t->freed_jobs += o->state == GC_FREED;
        t->freed_bytes += o->freed_bytes;
        /* nothing is left of a job that was freed */
        t->left_bytes += o->state == GC_FREED ? 0 : o->raw_bytes;
        t->failed = t->failed || o->state == GC_FAILED;
        /* JSON lists every job, text only those of interest */
        if (t->list)
            add_json(t, root, &r->jobs[i], o);
        else if (shown)
            print_job(root, &r->jobs[i], o, a->gc.dry_run);
    }
    t->deep = t->deep || r->deep;
    t->cut = t->cut || r->cut;
    if (r->deep)
        quote_printf(stderr,
                     "jobprof: gc: %s: folders more than 8 levels deep were "
                     "not examined\n",
                     QUOTE(root));
    for (size_t i = 0; i < r->n_owners; i++)
        if (r->owners[i].cut)
            print_cut(root, &r->owners[i]);
}

/* Prints the sums, or the whole JSON object. Returns -1 and err if the output
 * failed. */
static int print_totals(const struct arguments *a, struct totals *t,
                        struct jp_error *err)
{
    json_t *root;

    if (!t->list) {
        if (!a->common.quiet)
            quote_printf(
                stdout, "%s %s in %llu of %llu jobs; %s of raw data %s\n",
                a->gc.dry_run ? "Would free" : "Freed",
                FIG_BYTES(t->freed_bytes), (unsigned long long) t->freed_jobs,
                (unsigned long long) t->jobs, FIG_BYTES(t->left_bytes),
                a->gc.dry_run ? "would be left" : "is left");
        if (!a->common.quiet && t->metrics.stale)
            quote_printf(stdout, "%s %zu stale metrics file%s\n",
                         a->gc.dry_run ? "Would remove" : "Removed",
                         t->metrics.stale, plural(t->metrics.stale));
        if (!a->common.quiet && t->metrics.odd)
            quote_printf(stdout,
                         "%s %zu entr%s that %s not belong into the folder of "
                         "metrics\n",
                         a->gc.dry_run ? "Would remove" : "Removed",
                         t->metrics.odd, t->metrics.odd == 1 ? "y" : "ies",
                         t->metrics.odd == 1 ? "does" : "do");
        return fflush(stdout) != 0 || ferror(stdout)
                   ? error_set(err, "standard output failed")
                   : 0;
    }
    root = json_out_object(&t->json);
    json_out_count(&t->json, root, "schema_version", 1);
    json_out_put(&t->json, root, "dry_run", json_boolean(a->gc.dry_run));
    /* false: some jobs were not even looked at */
    json_out_put(&t->json, root, "complete", json_boolean(!t->cut && !t->deep));
    json_out_count(&t->json, root, "freed_bytes", t->freed_bytes);
    json_out_count(&t->json, root, "left_bytes", t->left_bytes);
    json_out_count(&t->json, root, "metrics_files", t->metrics.stale);
    json_out_count(&t->json, root, "metrics_odd", t->metrics.odd);
    json_out_count(&t->json, root, "metrics_kept", t->metrics.kept);
    json_out_put(&t->json, root, "jobs", t->list);
    return json_out_dump(&t->json, root, stdout, err);
}

/* Cleans this host's spool, and node_exporter's folder, in which agents of an
 * earlier release have written. Returns -1 if a folder cannot be used. */
static int clean_metrics(const struct arguments *a, struct totals *t,
                         struct jp_error *err)
{
    struct jp_sitefile file = {0};
    struct jp_site_metrics site;
    struct metricsfile_cleaned old = {0};
    int rc = 0;

    if (plan_load_site(a->common.config, &file, err) < 0)
        return -1;
    sitefile_metrics(&file, &site);
    /* a host without agents has no such folders */
    if (site.spool && access(site.spool, F_OK) == 0)
        rc = metricsfile_clean(site.spool, false, a->gc.dry_run, &t->metrics,
                               err);
    if (rc == 0 && site.textfile && access(site.textfile, F_OK) == 0 &&
        strcmp(site.textfile, site.spool) != 0)
        rc = metricsfile_clean(site.textfile, true, a->gc.dry_run, &old, err);
    t->metrics.stale += old.stale;
    t->metrics.odd += old.odd;
    t->metrics.kept += old.kept;
    sitefile_fini(&file);
    return rc;
}

/* Cleans each folder. A folder that cannot be read does not stop the others.
 * Returns an exit status. */
static int clean_folders(struct arguments *a, char **roots)
{
    struct totals t = {0};
    struct gc_result result;
    struct jp_error err;
    int rc = JP_EXIT_OK;

    if (a->common.json)
        t.list = json_out_array(&t.json);
    for (; *roots; roots++) {
        size_t n = strlen(*roots);

        /* paths are printed as ROOT/JOB */
        while (n > 1 && (*roots)[n - 1] == '/')
            (*roots)[--n] = '\0';
        a->gc.root = *roots;
        /* the other folders are still cleaned */
        if (gc_run(&a->gc, &result, &err) < 0) {
            rc = cmd_args_fail("gc", JP_EXIT_IO, &err);
            continue;
        }
        take_result(a, *roots, &result, &t);
        gc_fini(&result);
    }
    if (clean_metrics(a, &t, &err) < 0)
        rc = cmd_args_fail("gc", JP_EXIT_IO, &err);
    if (print_totals(a, &t, &err) < 0)
        return cmd_args_fail("gc", JP_EXIT_IO, &err);
    /* a folder that could not be read weighs more than a job that stays */
    return rc == JP_EXIT_OK && (t.failed || t.cut) ? JP_EXIT_INCOMPLETE : rc;
}

int cmd_gc(int argc, char **argv)
{
    struct arguments a = {
        .gc = {.older_s = DEFAULT_OLDER_S, .quota_bytes = GC_NO_QUOTA}};
    int rc = cmd_options_parse(&command_line, argc, argv, &a);

    if (rc >= 0)
        return rc;
    /* only root can take the rights of each owner */
    if (a.gc.all_users && geteuid() != 0)
        return cmd_options_usage(&command_line, "--all-users is for root");
    return clean_folders(&a, argv + optind);
}
