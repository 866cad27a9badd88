/* cmd_doctor.c - `jobprof doctor`: check the installation.
 *
 * The checks are in doctor/. On the nodes of its test step, doctor runs
 * `jobprof doctor --probe DIR`, whose answers it reads back. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_stream.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/doctor/doctor.h"
#include "orchestrator/table/table.h"

/* Ranks of the step whose memory and disk are forecast. */
#define DEFAULT_TASKS 8

struct arguments {
    struct doctor_options doctor;
    const char *probe;
    struct cmd_common common;
};

static const struct cmd_option rows[] = {
    {"nodes", "N", "also check N nodes, with a small step of up to two minutes",
     OPT_COUNT(doctor.nodes, 1, 1000)},
    {"tasks", "N", "forecast memory and disk for N ranks (8)",
     OPT_COUNT(doctor.tasks, 1, UINT32_MAX)},
    {"nccl", "FILE", "the libnccl.so of the jobs", OPT_TEXT(doctor.nccl)},
    {"plugstack", "FILE", "plugstack.conf to read instead of Slurm's",
     OPT_TEXT(doctor.plugstack)},
    {"config", "FILE", "site file instead of the plugstack line's",
     OPT_TEXT(common.config)},
    {"json", NULL, "print JSON", OPT_FLAG(common.json)},
    /* for use on a node */
    {"probe", "DIR", NULL, OPT_TEXT(probe)},
    {"quiet", NULL, "print only warn and fail", OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "doctor",
    .about = "usage: jobprof doctor [options]\n\n"
             "Check the installation. Each check prints one line: ok, skip "
             "(cannot be checked from this host), warn or fail, and what to "
             "do. Nothing is changed.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 no check failed, 1 a check failed, 2 usage, 5 "
           "output failed.\n",
    .most = CMD_ANY, /* words of --probe */
};

/* --- findings ------------------------------------------------------------- */

/* Prints a line per check, and the totals. quiet: only warnings and failures.
 */
static void print_lines(const struct doctor *d, bool quiet)
{
    for (size_t i = 0; i < d->n_lines; i++) {
        const struct doctor_line *line = &d->lines[i];

        if (!quiet || line->verdict >= DOCTOR_WARN)
            quote_printf(stdout, "%-4s  %-10s %s%s%s\n",
                         doctor_words[line->verdict], line->check, line->text,
                         *line->advice ? "; " : "", line->advice);
    }
    if (!quiet)
        quote_printf(
            stdout, "%zu check%s: %u ok, %u skipped, %u warning%s, %u failed\n",
            d->n_lines, d->n_lines == 1 ? "" : "s", d->count[DOCTOR_OK],
            d->count[DOCTOR_SKIP], d->count[DOCTOR_WARN],
            d->count[DOCTOR_WARN] == 1 ? "" : "s", d->count[DOCTOR_FAIL]);
}

JP_GETTER(verdict, doctor_line, value_text(v, doctor_words[at->verdict]))

#define FIELD(member) JP_FIELD(struct doctor_line, member)
/* key, kind, flags, place in JSON; the text has a line for each check */
static const struct jp_column columns[] = {
    {"check", JP_COL_WORD, 0, 1, FIELD(check)},
    {"verdict", JP_COL_WORD, 0, 2, .get = get_verdict},
    {"text", JP_COL_PROSE, 0, 3, FIELD(text)},
    {"advice", JP_COL_PROSE, 0, 4, FIELD(advice)},
};
#undef FIELD
static const struct jp_table table = {.name = "checks",
                                      JP_COLUMNS(columns),
                                      .row_size = sizeof(struct doctor_line),
                                      .max_json = SIZE_MAX};

/* Prints the checks as JSON. */
static int print_json(const struct doctor *d, struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_FILE, stdout);
    json_stream_count(&s, "schema_version", 1);
    json_stream_bool(&s, "ok", !d->count[DOCTOR_FAIL]);
    table_write_json(
        &s, "checks", &table,
        &(const struct table_source){.rows = d->lines, .n = d->n_lines});
    return json_stream_close(&s, err);
}

/* Lets each command check its keys of the site file. */
static void check_site(const struct jp_sitefile *site, doctor_add_site *add,
                       void *arg)
{
    for (size_t i = 0; command_registry[i]; i++)
        if (command_registry[i]->check_site)
            command_registry[i]->check_site(site, add, arg);
}

/* Runs the checks for a step submitted from submit_dir, and prints them.
 * Returns an exit status. */
static int run_checks(struct arguments *a, const char *submit_dir)
{
    char self[PATH_MAX] = "";
    struct doctor doctor;
    struct jp_error err;
    int rc = JP_EXIT_OK;

    /* the path of this program, which the nodes run as well */
    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
        error_set(&err, "/proc/self/exe: %s", strerror(errno));
        return cmd_args_fail("doctor", JP_EXIT_IO, &err);
    }
    a->doctor.self = self;
    a->doctor.check_site = check_site;
    a->doctor.config = a->common.config;
    /* where a job of this user would write */
    a->doctor.dir = submit_dir;
    if (doctor_run(&a->doctor, &doctor, &err) < 0)
        return cmd_args_fail("doctor", JP_EXIT_IO, &err);
    if (a->common.json && print_json(&doctor, &err) < 0)
        rc = cmd_args_fail("doctor", JP_EXIT_IO, &err);
    if (!a->common.json)
        print_lines(&doctor, a->common.quiet);
    /* a pipe that was closed is an error: the answer is incomplete */
    if (rc == JP_EXIT_OK && (fflush(stdout) != 0 || ferror(stdout))) {
        error_set(&err, "standard output failed");
        rc = cmd_args_fail("doctor", JP_EXIT_IO, &err);
    }
    if (rc == JP_EXIT_OK && doctor.count[DOCTOR_FAIL])
        rc = JP_EXIT_FINDINGS;
    doctor_fini(&doctor);
    return rc;
}

int cmd_doctor(int argc, char **argv)
{
    struct arguments a = {.doctor.tasks = DEFAULT_TASKS};
    char *submit_dir;
    struct jp_error err;
    int rc = cmd_options_parse(&command_line, argc, argv, &a);

    if (rc >= 0)
        return rc;
    /* on a node: the words say what to look for */
    if (a.probe)
        return doctor_probe(a.probe, (const char *const *) argv + optind) < 0
                   ? JP_EXIT_IO
                   : JP_EXIT_OK;
    /* words are only for --probe */
    if (optind < argc)
        return cmd_options_usage(&command_line, "takes no words");
    submit_dir = cmd_args_submit_dir(&err);
    if (!submit_dir)
        return cmd_args_fail("doctor", JP_EXIT_IO, &err);
    rc = run_checks(&a, submit_dir);
    free(submit_dir);
    return rc;
}
