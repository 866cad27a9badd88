/* cmd_doctor.c - `jobprof doctor`: check the installation. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_stream.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/doctor/doctor.h"

#define DEFAULT_TASKS 8

static const char help[] =
    "usage: jobprof doctor [options]\n"
    "\n"
    "Check the installation. Each check prints one line: ok, skip (cannot be\n"
    "checked from this host), warn or fail, and what to do. Nothing is\n"
    "changed.\n"
    "\n"
    "  --nodes N         also check N nodes, with a small step of up to two\n"
    "                    minutes\n"
    "  --tasks N         forecast memory and disk for N ranks (8)\n"
    "  --nccl FILE       the libnccl.so of the jobs\n"
    "  --plugstack FILE  plugstack.conf to read instead of Slurm's\n"
    "  --config FILE     site file instead of the plugstack line's\n"
    "  --json            print JSON\n"
    "  -q, --quiet       print only warn and fail\n"
    "  -h, --help        this text\n"
    "\n"
    "Exit status: 0 no check failed, 1 a check failed, 2 usage, 5 output\n"
    "failed.\n";

enum { OPT_NODES = 256, OPT_TASKS, OPT_NCCL, OPT_PLUGSTACK, OPT_PROBE };

static const struct option long_options[] = {
    {"nodes", required_argument, NULL, OPT_NODES},
    {"tasks", required_argument, NULL, OPT_TASKS},
    {"nccl", required_argument, NULL, OPT_NCCL},
    {"plugstack", required_argument, NULL, OPT_PLUGSTACK},
    {"config", required_argument, NULL, CMD_OPT_CONFIG},
    {"json", no_argument, NULL, CMD_OPT_JSON},
    /* internal, for use on a node */
    {"probe", required_argument, NULL, OPT_PROBE},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {0}};

struct arguments {
    struct doctor_options doctor;
    const char *probe;
    struct cmd_common common;
};

static int take_number(const char *name, uint64_t max, uint32_t *out)
{
    struct jp_error err;
    uint64_t n;

    if (num_parse_u64(optarg, 1, max, &n, &err) < 0) {
        error_wrap(&err, "%s", name);
        return cmd_args_fail("doctor", JP_EXIT_USAGE, &err);
    }
    *out = (uint32_t) n;
    return -1;
}

/* Takes one option. Returns -1 to continue, otherwise an exit status. */
static int take_option(int c, struct arguments *a)
{
    switch (c) {
    case OPT_NODES:
        return take_number("--nodes", 1000, &a->doctor.nodes);
    case OPT_TASKS:
        return take_number("--tasks", UINT32_MAX, &a->doctor.tasks);
    case OPT_NCCL:
        a->doctor.nccl = optarg;
        return -1;
    case OPT_PLUGSTACK:
        a->doctor.plugstack = optarg;
        return -1;
    case OPT_PROBE:
        a->probe = optarg;
        return -1;
    default:
        return cmd_args_common(c, help, &a->common);
    }
}

/* --- findings ------------------------------------------------------------- */

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

static int print_json(const struct doctor *d, struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_FILE, stdout);
    json_stream_count(&s, "schema_version", 1);
    json_stream_bool(&s, "ok", !d->count[DOCTOR_FAIL]);
    json_stream_array(&s, "checks");
    for (size_t i = 0; i < d->n_lines; i++) {
        const struct doctor_line *line = &d->lines[i];

        json_stream_object(&s, NULL);
        json_stream_text(&s, "check", line->check);
        json_stream_text(&s, "verdict", doctor_words[line->verdict]);
        json_stream_text(&s, "text", line->text);
        json_stream_text(&s, "advice", line->advice);
        json_stream_end_object(&s);
    }
    json_stream_end_array(&s);
    return json_stream_close(&s, err);
}

static int run(struct arguments *a, const char *submit_dir)
{
    char self[PATH_MAX] = "";
    struct doctor doctor;
    struct jp_error err;
    int rc = JP_EXIT_OK;

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) {
        error_set(&err, "/proc/self/exe: %s", strerror(errno));
        return cmd_args_fail("doctor", JP_EXIT_IO, &err);
    }
    a->doctor.self = self;
    a->doctor.config = a->common.config;
    a->doctor.dir = submit_dir;
    if (doctor_run(&a->doctor, &doctor, &err) < 0)
        return cmd_args_fail("doctor", JP_EXIT_IO, &err);
    if (a->common.json && print_json(&doctor, &err) < 0)
        rc = cmd_args_fail("doctor", JP_EXIT_IO, &err);
    if (!a->common.json)
        print_lines(&doctor, a->common.quiet);
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
    int c, rc = -1;

    optind = 0;
    while (rc < 0 &&
           (c = getopt_long(argc, argv, "qh", long_options, NULL)) != -1)
        rc = take_option(c, &a);
    if (rc >= 0)
        return rc;
    if (a.probe)
        return doctor_probe(a.probe, (const char *const *) argv + optind) < 0
                   ? JP_EXIT_IO
                   : JP_EXIT_OK;
    if (optind < argc) {
        error_set(&err, "takes no %s (jobprof doctor --help)",
                  QUOTE(argv[optind]));
        return cmd_args_fail("doctor", JP_EXIT_USAGE, &err);
    }
    submit_dir = cmd_args_submit_dir(&err);
    if (!submit_dir)
        return cmd_args_fail("doctor", JP_EXIT_IO, &err);
    rc = run(&a, submit_dir);
    free(submit_dir);
    return rc;
}
