/* nodata.c - the reasons for an empty recording, the most certain first. */
#include "orchestrator/insight/nodata.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/insight/expected.h"
#include "common/figure.h"

static bool not_analysed(const struct jp_evidence *e, struct jp_sentence *s)
{
    if (e->analysed)
        return false;
    if (e->conf && e->conf->step_id)
        sentence_add(s,
                     "not yet analysed: the report's budget ran out; "
                     "finish with: jobprof report %" PRIu64 ".%s (where it is "
                     "not found: with its directory in place of %" PRIu64
                     ".%s)",
                     e->conf->job_id, e->conf->step_id, e->conf->job_id,
                     e->conf->step_id);
    else
        sentence_add(s, "not yet analysed: the budget ran out; run the same "
                        "command again without a limit");
    return true;
}

static bool mode_off(const struct jp_evidence *e, struct jp_sentence *s)
{
    if (!e->conf || !e->conf->nccl_mode || strcmp(e->conf->nccl_mode, "off"))
        return false;
    sentence_add(s, "NCCL was not profiled (mode off)");
    return true;
}

static bool has_files(const struct jp_evidence *e)
{
    return e->result && e->result->quality.files > 0;
}

static bool not_started(const struct jp_evidence *e, struct jp_sentence *s)
{
    if (!e->nodes || e->nodes->n_nodes || has_files(e))
        return false;
    if (e->nodes->why_unprofiled)
        sentence_add(s, "no node was profiled: %.300s",
                     e->nodes->why_unprofiled);
    else
        sentence_add(s,
                     "no node left a record: the step did not start there, or "
                     "the nodes cannot write the report's directory");
    return true;
}

static const struct jp_envvar *find_env(const struct jp_jobconf *conf,
                                        const char *name)
{
    for (size_t i = 0; conf && i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name))
            return &conf->env[i];
    return NULL;
}

/* Adds what this host can tell about the library; the nodes may differ. */
static void add_library(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_envvar *library = find_env(e->conf, "NCCL_PROFILER_PLUGIN");
    const char *own = expected_own_plugin(e->conf);

    if (!e->conf)
        return;
    if (own)
        sentence_add(s,
                     "NCCL_PROFILER_PLUGIN=%.120s was set in the environment "
                     "and stayed in place of jobprof's profiler",
                     own);
    else if (!library)
        sentence_add(s, "no profiler library was set (NCCL_PROFILER_PLUGIN)");
    else if (library->value[0] == '/' && access(library->value, R_OK) < 0)
        sentence_add(s, "the profiler library %s cannot be read from here",
                     library->value);
}

/* Analysed, and no result: there is no raw/. */
static bool all_gone(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t files = 0;

    for (size_t i = 0; e->nodes && i < e->nodes->n_nodes; i++)
        files += e->nodes->nodes[i].files;
    if (e->result || !files)
        return false;
    sentence_add(s,
                 "the step's raw/ is gone, with %s file%s that its nodes had "
                 "written",
                 FIG_COUNT(files), sentence_s(files));
    return true;
}

static bool no_output(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint32_t tasks = expected_tasks(e->conf, e->nodes);

    if (has_files(e))
        return false;
    if (!e->conf && !e->nodes)
        sentence_add(s, "no profiler output was found in the input");
    else if (tasks)
        sentence_add(s,
                     "no profiler output although %" PRIu32 " task%s ran: "
                     "no NCCL communicator was initialised, NCCL did not "
                     "load the profiler, or a container does not show its "
                     "library or this directory",
                     tasks, sentence_s(tasks));
    else
        sentence_add(s, "no profiler output: no NCCL communicator was "
                        "initialised, or NCCL did not load the profiler");
    add_library(e, s);
    return true;
}

static bool unreadable(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (!q->bad_lines && !q->cut_files && !q->damaged_blocks)
        return false;
    sentence_add(s,
                 "%s file%s hold%s no record that can be read (%s bad "
                 "line%s, %s cut file%s%s%s%s%s)",
                 FIG_COUNT(q->files), sentence_s(q->files),
                 q->files == 1 ? "s" : "", FIG_COUNT(q->bad_lines),
                 sentence_s(q->bad_lines), FIG_COUNT(q->cut_files),
                 sentence_s(q->cut_files), q->n_notes ? "; first: " : "",
                 q->n_notes ? q->notes[0].path : "", q->n_notes ? ": " : "",
                 q->n_notes ? q->notes[0].what : "");
    return true;
}

static bool none_ended(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->result->quality.in_flight;

    if (n)
        sentence_add(s,
                     "%s operation%s had begun, none had ended (jobprof show "
                     "--pending names them)",
                     FIG_COUNT(n), sentence_s(n));
    return n > 0;
}

static bool all_lost(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (q->lost)
        sentence_add(s, "the recorder lost all of %s operation%s",
                     FIG_COUNT(q->lost), sentence_s(q->lost));
    return q->lost > 0;
}

/* The first note on a recording without its end; NULL: there is none. */
static const struct jp_file_note *find_cut(const struct jp_quality *q)
{
    for (size_t i = 0; i < q->n_notes; i++)
        if (strstr(q->notes[i].what, JP_NOTE_UNENDED))
            return &q->notes[i];
    return NULL;
}

static bool all_cut(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    const struct jp_file_note *note = find_cut(q);
    uint64_t n = q->unbounded_recordings;

    if (n)
        sentence_add(s,
                     "%s of %s recording%s %s cut before the first record that "
                     "can be read (the file was cut, or its process was "
                     "killed)%s%s",
                     FIG_COUNT(n), FIG_COUNT(q->recordings),
                     sentence_s(q->recordings), n == 1 ? "is" : "are",
                     note ? "; first: " : "", note ? note->path : "");
    return n > 0;
}

static bool idle_comms(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_setting *filter = expected_filter(e->conf);

    if (!e->result->n_comms)
        return false;
    sentence_add(s, "%s communicator%s, but no operation was recorded",
                 FIG_COUNT(e->result->n_comms), sentence_s(e->result->n_comms));
    if (filter)
        sentence_add(s, "%s=%s leaves operations out", filter->key,
                     filter->value);
    return true;
}

static bool empty_files(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t files = e->result->quality.files;

    sentence_add(s, "%s file%s without a record: no operation was recorded",
                 FIG_COUNT(files), sentence_s(files));
    return true;
}

bool nodata_explain(const struct jp_evidence *e, struct jp_sentence *s)
{
    static bool (*const reasons[])(const struct jp_evidence *,
                                   struct jp_sentence *) = {
        not_analysed, mode_off,   not_started, all_gone,
        no_output,    unreadable, none_ended,  all_lost,
        all_cut,      idle_comms, empty_files,
    };

    if (e->analysed && e->result && e->result->quality.records > 0)
        return false;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (reasons[i](e, s))
            return true;
    return true;
}
