/* cmd_report_more.c - behind a report: the formats of others, where asked. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/fileio.h"
#include "common/figure.h"
#include "common/num.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd_aggregate.h"
#include "orchestrator/cmd/cmd_report.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/export/export.h"

/* A line of Inspector's for an operation of the recorder's packed files, at
 * most (447 bytes for 9; docs/measurements.md). */
#define GROWTH 64

static bool asks(const struct report_session *session, const char *key)
{
    const char *value = session->has_conf ? jobconf_find(&session->conf, key)
                                          : NULL;

    return value && !strcmp(value, "1");
}

bool report_wants_exporter(const struct report_session *session)
{
    return session->options->exporter || asks(session, "exporter_layout");
}

static void tell(const struct report_session *session, const char *what,
                 const char *why)
{
    stepdir_log(session->dir, "%s: %s", what, why);
    if (session->options->kind != REPORT_WATCHER && !session->options->quiet)
        quote_printf(stderr, "jobprof: %s: %s\n", what, why);
}

static int write_exporter(const struct report_session *session)
{
    uint64_t job = session->has_conf ? session->conf.job_id : 0;
    bool quiet = session->options->quiet ||
                 session->options->kind != REPORT_USER;
    char *dir = job ? fileio_path("%s/%" PRIu64 "-insp", session->dir, job)
                    : fileio_path("%s/insp", session->dir);
    struct jp_error err = {"out of memory"};
    int rc = dir && fileio_mkdirs(dir, &err) == 0
                 ? aggregate_exporter(session->result, dir, 0, quiet)
                 : -1;

    if (rc < 0)
        tell(session, "no exporter's tree", dir ? err.text : "out of memory");
    free(dir);
    return rc;
}

/* srun's report and the watcher's have a time limit, which kills. */
static int is_over(void *arg)
{
    const struct report_session *session = arg;

    return session->deadline_ms && clock_mono_ms() > session->deadline_ms;
}

static int check_room(const struct report_session *session,
                      const struct jp_recwalk *walk, struct jp_error *err)
{
    const char *text =
        session->has_conf ? jobconf_find(&session->conf, "min_free") : NULL;
    uint64_t keep = 0, wanted = num_mul(walk->walk.bytes, GROWTH);
    struct statvfs fs;

    num_parse_size(text, 0, UINT64_MAX, &keep, NULL);
    if (statvfs(session->dir, &fs) < 0 ||
        num_add(wanted, keep) <=
            num_mul((uint64_t) fs.f_bavail, (uint64_t) fs.f_frsize))
        return 0;
    return error_set(err, "they may take %s, which min_free= does not leave",
                     FIG_BYTES(wanted));
}

static int write_logs(struct report_session *session)
{
    char *raw = fileio_path("%s/raw", session->dir);
    char *dir = fileio_path("%s/inspector-logs", session->dir);
    const char *inputs[] = {raw};
    struct export_done done = {0};
    struct jp_recwalk walk = {.look = is_over, .look_arg = session};
    struct jp_error err = {"out of memory"};
    int rc = -1;

    if (raw && dir && recwalk_init(&walk, inputs, 1, &err) == 0) {
        rc = check_room(session, &walk, &err);
        if (rc == 0)
            rc = export_inspector(&walk, dir, NULL, &done, &err);
        if (rc == 0 && walk.stopped)
            rc = error_set(&err,
                           "time is over after %" PRIu64
                           " files; jobprof export inspector writes them all",
                           done.files);
        recwalk_fini(&walk);
    }
    if (rc < 0)
        tell(session, "not all of Inspector's logs", err.text);
    free(raw);
    free(dir);
    return rc;
}

int report_more(struct report_session *session)
{
    int rc = 0;

    if (asks(session, "inspector_logs") && stepdir_has(session->dir, "raw") &&
        write_logs(session) < 0)
        rc = -1;
    if (session->result && write_exporter(session) < 0)
        rc = -1;
    return rc;
}
