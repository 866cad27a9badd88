/* verdict.c - one word and one sentence about a step.
 *
 * verdict_decide is the entry for data of NCCL; reports call verdict_make
 * (verdict_make.c), which calls it. A hang and a crash hold whatever else is
 * missing and come first. Without a record nodata_explain gives the reason;
 * else the findings decide, whatever else is missing. Without a finding the
 * word is INCOMPLETE where the missing records could hide one, and OK needs
 * that late ranks were looked for. Each say_* function adds clauses to the
 * sentence. Verdicts from other data than NCCL's records are in
 * verdict_make.c.
 */
#include "orchestrator/insight/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/profiler.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/limits.h"

const struct jp_doubt_text doubts_table[JP_DOUBTS] = {
    {"not_asked",
     "kernel events were not requested (kernels=0, NCCL before 2.28, or "
     "NCCL's event mask was changed: RAS)"},
    {"self_copy", "a Send to oneself, as in every AlltoAll, shifts NCCL's "
                  "time stamps from then on"},
    {"broadcast", "Broadcasts of several roots in one group, or in a CUDA "
                  "graph, stop NCCL's time stamps"},
    {"graph_mix",
     "replays of a CUDA graph beside other calls shift NCCL's time stamps"},
    {"stale", "NCCL returned time stamps of earlier operations"},
};

/* Returns why most of the operations without a time have none; JP_DOUBTS: all
 * have one. */
static unsigned main_doubt(const struct jp_quality *quality)
{
    unsigned most = 0;

    for (unsigned i = 1; i < JP_DOUBTS; i++)
        if (quality->unsure_by[i] > quality->unsure_by[most])
            most = i;
    return quality->unsure_by[most] ? most : JP_DOUBTS;
}

/* --- why a recording is empty --------------------------------------------- */

/* Each of these functions adds a clause and the reason, and returns true, if
 * its reason holds. nodata_explain lists them, the most certain one first. */
static bool not_analysed(const struct jp_evidence *e, struct jp_reasons *why,
                         struct jp_sentence *s)
{
    char name[JP_JOBCONF_NAME_LEN];

    if (e->analysed)
        return false;
    reasons_add(why, JP_REASON_NOT_ANALYSED);
    if (e->conf && e->conf->step_id)
        sentence_add(s,
                     "not yet analysed: the report's budget ran out; "
                     "finish with: jobprof report %s (where it is not found: "
                     "with its directory in place of %s)",
                     jobconf_step_name(e->conf, name), name);
    else
        sentence_add(s, "not yet analysed: the budget ran out; run the same "
                        "command again without a limit");
    return true;
}

/* The user or the site has switched the profiler off. */
static bool mode_off(const struct jp_evidence *e, struct jp_reasons *why,
                     struct jp_sentence *s)
{
    if (!e->conf || !e->conf->nccl_mode || strcmp(e->conf->nccl_mode, "off"))
        return false;
    reasons_add(why, JP_REASON_OFF);
    sentence_add(s, "NCCL was not profiled (mode off)");
    return true;
}

/* Returns true if a profiler left at least one file. */
static bool has_files(const struct jp_evidence *e)
{
    return e->result && e->result->quality.files > 0;
}

/* Neither a node's record nor a file: the step's tasks may never have started.
 */
static bool not_started(const struct jp_evidence *e, struct jp_reasons *why,
                        struct jp_sentence *s)
{
    if (!e->nodes || e->nodes->n_nodes || has_files(e))
        return false;
    if (e->nodes->why_unprofiled) {
        reasons_add(why, JP_REASON_UNPROFILED);
        sentence_add(s, "no node was profiled: %.300s",
                     e->nodes->why_unprofiled);
    } else {
        reasons_add(why, JP_REASON_NO_NODE);
        sentence_add(s,
                     "no node left a record: the step did not start there, or "
                     "the nodes cannot write to the report's directory");
    }
    return true;
}

/* Returns a variable that job.conf sets for the tasks; NULL: none. */
static const struct jp_envvar *find_env(const struct jp_jobconf *conf,
                                        const char *name)
{
    for (size_t i = 0; conf && i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name))
            return &conf->env[i];
    return NULL;
}

/* Adds what is known about the profiler's library. It is read from here; on the
 * nodes another file may have this path. */
static void add_library(const struct jp_evidence *e, struct jp_reasons *why,
                        struct jp_sentence *s)
{
    const struct jp_envvar *library = find_env(e->conf, "NCCL_PROFILER_PLUGIN");
    const char *own = expected_own_plugin(e->conf);

    if (!e->conf)
        return;
    if (own) {
        reasons_add(why, JP_REASON_OWN_PLUGIN);
        sentence_add(s,
                     "NCCL_PROFILER_PLUGIN=%.120s was set in the environment "
                     "and stayed in place of jobprof's profiler",
                     own);
    } else if (!library) {
        reasons_add(why, JP_REASON_NO_LIBRARY);
        sentence_add(s, "no profiler library was set (NCCL_PROFILER_PLUGIN)");
    } else if (library->value[0] == '/' && access(library->value, R_OK) < 0) {
        reasons_add(why, JP_REASON_LIBRARY_UNREADABLE);
        sentence_add(s, "the profiler library %s cannot be read from here: %s",
                     library->value, strerror(errno));
    }
}

/* Returns the first node on which a process had another profiler than the one
 * that was set; NULL: none was seen. *more: there are others. */
static const struct jp_node *find_override(const struct jp_evidence *e,
                                           bool *more)
{
    const struct jp_node *first = NULL;

    *more = false;
    for (size_t i = 0; e->nodes && i < e->nodes->n_nodes; i++)
        if (e->nodes->nodes[i].other_plugin) {
            *more |= first != NULL;
            first = first ? first : &e->nodes->nodes[i];
        }
    return first;
}

/* Adds which one it was, and who has set it. */
static void add_override(const struct jp_node *node, bool more,
                         struct jp_sentence *s)
{
    static const char *const by[JP_OTHERS] = {
        [JP_OTHER_SLURM] = "Slurm's TaskProlog, another SPANK module, or "
                           "the program's own script",
        [JP_OTHER_MODULE] = "another SPANK module, which comes after "
                            "jobprof's in plugstack.conf",
        [JP_OTHER_PROLOG] = "Slurm's TaskProlog, a SPANK module as the tasks "
                            "began, or the program's own script",
        [JP_OTHER_PROGRAM] = "the program or its launcher",
    };

    if (*node->other_plugin)
        sentence_add(s, "%s set NCCL_PROFILER_PLUGIN=%.120s",
                     by[node->other_by], node->other_plugin);
    else
        sentence_add(s, "%s unset NCCL_PROFILER_PLUGIN", by[node->other_by]);
    sentence_add(s, "seen in the environment of %.40s on %.60s%s",
                 node->other_program, node->name,
                 more ? ", and on other nodes" : "");
    sentence_add(s, "jobprof doctor looks for who sets it");
}

/* The nodes counted files, but raw/ is no longer there. */
static bool all_gone(const struct jp_evidence *e, struct jp_reasons *why,
                     struct jp_sentence *s)
{
    uint64_t files = 0;

    for (size_t i = 0; e->nodes && i < e->nodes->n_nodes; i++)
        files += e->nodes->nodes[i].files;
    if (e->result || !files)
        return false;
    reasons_add(why, JP_REASON_GONE);
    sentence_add(s,
                 "the step's raw/ is gone, with %s file%s that its nodes had "
                 "written",
                 FIG_COUNT(files), plural(files));
    return true;
}

#define VARIABLES_NAMED 3

/* Adds what was known before the step ran: variables that the user has set
 * otherwise, and a loss that the plan expected. */
static void add_plan(const struct jp_evidence *e, struct jp_reasons *why,
                     struct jp_sentence *s)
{
    const struct jp_jobconf *conf = e->conf;
    const struct jp_setting *own;

    for (size_t i = 0, n = 0;
         n < VARIABLES_NAMED && (own = expected_own_variable(conf, i)); i++)
        if (strcmp(own->key, "NCCL_PROFILER_PLUGIN") != 0) {
            reasons_add(why, JP_REASON_OWN_VARIABLE);
            sentence_add(s, "%s=%.60s remains as set by the user", own->key,
                         own->value);
            n++;
        }
    if (conf && conf->planned_ops && !conf->kept_ops && conf->lost) {
        reasons_add(why, JP_REASON_PLANNED);
        sentence_add(s, "as planned, %s %.200s",
                     profiler_title(conf->nccl_mode), conf->lost);
    }
}

/* Adds the folder to which the user has directed the profiler's files. */
static void add_folder(const struct jp_evidence *e, struct jp_reasons *why,
                       struct jp_sentence *s)
{
    const char *own = e->conf ? profiler_get(e->conf->nccl_mode)->folder : NULL;
    const char *value = own ? jobconf_find(e->conf, own) : NULL;
    bool missed = e->nodes && e->nodes->own_missed;

    if (value || missed)
        reasons_add(why, JP_REASON_OWN_FOLDER);
    if (value && !missed)
        sentence_add(s,
                     "%s=%.160s was set in the environment, and no file of "
                     "this step was found there",
                     own, value);
    gaps_own_folder(e, s);
}

/* Files or folders could not be read, and no other file has a record. */
static bool is_denied(const struct jp_evidence *e, struct jp_reasons *why,
                      struct jp_sentence *s)
{
    const struct jp_quality *q = e->result ? &e->result->quality : NULL;

    for (size_t i = 0; q && q->skipped_files && i < q->n_notes; i++) {
        const struct jp_file_note *note = &q->notes[i];

        if (!strstr(note->what, JP_NOTE_FOLDER) &&
            !strstr(note->what, strerror(EACCES)))
            continue;
        reasons_add(why, JP_REASON_DENIED);
        sentence_add(s,
                     "%s file%s or folder%s could not be read; first: %s: %s",
                     FIG_COUNT(q->skipped_files), plural(q->skipped_files),
                     plural(q->skipped_files), note->path, note->what);
        return true;
    }
    return false;
}

/* Nodes reported, but the profiler left no file. The clauses list every reason
 * that is known. Only without one, the usual ones are named. */
static bool no_output(const struct jp_evidence *e, struct jp_reasons *why,
                      struct jp_sentence *s)
{
    uint32_t tasks = expected_tasks(e->conf, e->nodes);
    const char *note = e->conf ? e->conf->container_note : NULL;
    bool more;
    const struct jp_node *other = find_override(e, &more);

    if (has_files(e))
        return false;
    if (!e->conf && !e->nodes) {
        reasons_add(why, JP_REASON_NO_INPUT);
        sentence_add(s, "no profiler output was found in the input");
        return true;
    }
    if (other) {
        reasons_add(why, JP_REASON_OTHER_PLUGIN);
        sentence_add(s, "no profiler output: the program had another profiler "
                        "than the one that was set for it");
        add_override(other, more, s);
        return true;
    }
    if (tasks)
        sentence_add(s, "no profiler output of %s task%s", FIG_COUNT(tasks),
                     plural(tasks));
    else
        sentence_add(s, "no profiler output");
    add_library(e, why, s);
    add_plan(e, why, s);
    add_folder(e, why, s);
    if (note && *note) {
        reasons_add(why, JP_REASON_CONTAINER);
        sentence_add(s, "%.400s", note);
    }
    if (why->n)
        return true;
    reasons_add(why, JP_REASON_NO_OUTPUT);
    sentence_add(s, "no NCCL communicator was initialised, or NCCL did not "
                    "load the profiler");
    return true;
}

/* There are files, but no line of them is a record: they are cut or damaged,
 * or they are no files of a profiler at all. */
static bool unreadable(const struct jp_evidence *e, struct jp_reasons *why,
                       struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    /* a folder may contain anything; a step's raw/ is written by profilers */
    bool foreign = !e->conf && !q->recordings && !q->cut_files &&
                   !q->damaged_blocks;

    if (!q->bad_lines && !q->cut_files && !q->damaged_blocks)
        return false;
    /* the disk of a step may have been full, that of an input says nothing */
    reasons_add(why, foreign                 ? JP_REASON_NO_LOGS
                     : !e->conf && !e->nodes ? JP_REASON_DAMAGED_INPUT
                                             : JP_REASON_UNREADABLE);
    sentence_add(s,
                 "%s file%s hold%s no record that can be read (%s bad "
                 "line%s, %s cut file%s%s%s%s%s)",
                 FIG_COUNT(q->files), plural(q->files),
                 q->files == 1 ? "s" : "", FIG_COUNT(q->bad_lines),
                 plural(q->bad_lines), FIG_COUNT(q->cut_files),
                 plural(q->cut_files), q->n_notes ? "; first: " : "",
                 q->n_notes ? q->notes[0].path : "", q->n_notes ? ": " : "",
                 q->n_notes ? q->notes[0].what : "");
    return true;
}

/* Operations began, and none ended. */
static bool none_ended(const struct jp_evidence *e, struct jp_reasons *why,
                       struct jp_sentence *s)
{
    uint64_t n = e->result->quality.in_flight;

    if (!n)
        return false;
    reasons_add(why, JP_REASON_BEGUN);
    sentence_add(s,
                 "%s operation%s had begun, none had ended (jobprof show "
                 "--pending lists them)",
                 FIG_COUNT(n), plural(n));
    return true;
}

/* The recorder counted operations and could keep none of them. */
static bool all_lost(const struct jp_evidence *e, struct jp_reasons *why,
                     struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    char room[JP_GAPS_ROOM];

    if (!q->lost && !q->capped)
        return false;
    if (q->capped && q->lost <= q->capped) {
        reasons_add(why, JP_REASON_NO_ROOM);
        sentence_add(s, "%s operation%s left out: %s", FIG_COUNT(q->capped),
                     plural(q->capped), gaps_room(e, room));
    } else {
        reasons_add(why, JP_REASON_LOST_ALL);
        sentence_add(s, "the recorder lost all of %s operation%s",
                     FIG_COUNT(q->lost), plural(q->lost));
    }
    return true;
}

/* Returns the first note on a recording without its end; NULL: none. */
static const struct jp_file_note *find_cut(const struct jp_quality *q)
{
    for (size_t i = 0; i < q->n_notes; i++)
        if (strstr(q->notes[i].what, JP_NOTE_UNENDED))
            return &q->notes[i];
    return NULL;
}

static bool all_cut(const struct jp_evidence *e, struct jp_reasons *why,
                    struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    const struct jp_file_note *note = find_cut(q);
    uint64_t n = q->unbounded_recordings;

    if (!n)
        return false;
    reasons_add(why, JP_REASON_CUT_ALL);
    sentence_add(s,
                 "%s of %s recording%s %s cut before the first record that "
                 "can be read (the file was cut, or its process was "
                 "killed)%s%s",
                 FIG_COUNT(n), FIG_COUNT(q->recordings), plural(q->recordings),
                 n == 1 ? "is" : "are", note ? "; first: " : "",
                 note ? note->path : "");
    return true;
}

/* Communicators exist, but no operation: a size filter is the likely reason. */
static bool idle_comms(const struct jp_evidence *e, struct jp_reasons *why,
                       struct jp_sentence *s)
{
    const struct jp_setting *filter = expected_filter(e->conf);

    if (!e->result->n_comms)
        return false;
    reasons_add(why, filter ? JP_REASON_FILTERED : JP_REASON_IDLE);
    sentence_add(s, "%s communicator%s, but no operation was recorded",
                 FIG_COUNT(e->result->n_comms), plural(e->result->n_comms));
    if (filter)
        sentence_add(s, "%s=%s leaves operations out", filter->key,
                     filter->value);
    return true;
}

static bool empty_files(const struct jp_evidence *e, struct jp_reasons *why,
                        struct jp_sentence *s)
{
    uint64_t files = e->result->quality.files;

    reasons_add(why, JP_REASON_EMPTY);
    sentence_add(s, "%s file%s hold%s no record: no operation was recorded",
                 FIG_COUNT(files), plural(files), files == 1 ? "s" : "");
    return true;
}

/* Tasks that ended before there was a file explain more than what could keep a
 * profiler from writing. */
static void explain_ends(const struct jp_evidence *e,
                         const struct jp_crash *crash, struct jp_reasons *why)
{
    if (!crash || has_files(e) || !e->analysed ||
        crash->cause == JP_CRASH_PROCESSES || crash->cause == JP_CRASH_UNKNOWN)
        return;
    reasons_add(why, crash_is_fault(crash) ? JP_REASON_TASKS_FAILED
                                           : JP_REASON_TASKS_ENDED);
}

/* Returns true, and adds reasons and clauses, if there is no record, or none
 * was analysed. The clauses claim only what was seen: a missing file does not
 * distinguish a program without NCCL from a profiler that was not loaded.
 * crash: how the tasks ended, NULL: well, or unknown. */
static bool nodata_explain(const struct jp_evidence *e,
                           const struct jp_crash *crash, struct jp_sentence *s,
                           struct jp_reasons *why)
{
    static bool (*const reasons[])(const struct jp_evidence *,
                                   struct jp_reasons *,
                                   struct jp_sentence *) = {
        not_analysed, mode_off,  is_denied,  not_started,
        all_gone,     no_output, unreadable, none_ended,
        all_lost,     all_cut,   idle_comms, empty_files,
    };
    size_t i = 0;

    if (e->analysed && e->result && e->result->quality.records > 0)
        return false;
    explain_ends(e, crash, why);
    while (!reasons[i](e, why, s)) /* the last one always holds */
        i++;
    return true;
}

/* --- the word and the sentence -------------------------------------------- */

const char *verdict_word_name(enum jp_verdict_word word)
{
    static const char *const names[] = {
        [JP_VERDICT_HANG] = "HANG",
        [JP_VERDICT_FAILED] = "FAILED",
        [JP_VERDICT_SLOW] = "SLOW",
        [JP_VERDICT_DEGRADED] = "DEGRADED",
        [JP_VERDICT_INCOMPLETE] = "INCOMPLETE",
        [JP_VERDICT_NODATA] = "NODATA",
        [JP_VERDICT_UNJUDGED] = "UNJUDGED",
        [JP_VERDICT_OK] = "OK",
    };

    return names[word];
}

/* Describes how complete the records are, if too few are missing to mention
 * them as a gap. Sequence numbers give only an upper bound: what all ranks lost
 * leaves no gap. May use buf. */
static const char *describe_coverage(const struct jp_evidence *e, char *buf,
                                     size_t size)
{
    const struct jp_quality *q = &e->result->quality;
    const struct jp_setting *filter = expected_filter(e->conf);
    double coverage = e->expected.coverage;
    char share[JP_FIGURE_LEN];

    if (coverage < 0)
        return "how complete they are is unknown";
    figure_share(coverage, share);
    if (e->expected.kind == JP_EXPECT_COUNTED && coverage >= 1 &&
        !q->unseen_calls)
        return "all records present (counted)";
    if (e->expected.kind == JP_EXPECT_COUNTED)
        snprintf(buf, size, "%s of the records present (counted)", share);
    else if (coverage >= 1 && !q->unseen_records)
        return expected_lost_tail(e->conf)
                   ? "no gap in the sequence numbers (they do not show a tail "
                     "that all ranks lost)"
                   : "no gap in the sequence numbers";
    else if (coverage >= 1)
        snprintf(buf, size,
                 "%s of the sequence numbers any rank recorded; %s more "
                 "were recorded by no rank (filtered or lost)",
                 share, FIG_COUNT(q->unseen_records));
    else if (filter && q->unseen_records)
        snprintf(buf, size,
                 "at most %s of the records by sequence numbers, the rest "
                 "lost or left out by %.16s=%.32s",
                 share, filter->key, filter->value);
    else
        snprintf(buf, size, "at most %s of the records by %s", share,
                 e->expected.tail ? "the plan" : "sequence numbers");
    return buf;
}

/* Adds "8 of 8 ranks, 5,600 operations on 14 communicators, ...": what a good
 * verdict is based on. */
static void say_ok(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_result *r = e->result;
    const struct jp_quality *q = &r->quality;
    char ranks[48], p2p[64] = "", complete[200];
    char functions[JP_EXPECTED_FUNCTIONS];
    uint32_t of = expected_ranks(e->conf, e->nodes, r);

    if (of)
        snprintf(ranks, sizeof(ranks), "%s of %s rank%s",
                 FIG_COUNT(q->ranks_seen), FIG_COUNT(of), plural(of));
    else
        snprintf(ranks, sizeof(ranks), "%s rank%s", FIG_COUNT(q->ranks_seen),
                 plural(q->ranks_seen));
    if (q->p2p_records)
        snprintf(p2p, sizeof(p2p), ", %s Send/Recv record%s",
                 FIG_COUNT(q->p2p_records), plural(q->p2p_records));
    sentence_add(s, "%s, %s operation%s%s on %s communicator%s%s, %s", ranks,
                 FIG_COUNT(r->n_ops), plural(r->n_ops),
                 expected_functions(r, functions), FIG_COUNT(r->n_comms),
                 plural(r->n_comms), p2p,
                 describe_coverage(e, complete, sizeof(complete)));
}

/* Adds failed tasks whatever the word is, because readers must not miss them.
 * crash: the text already describes how the tasks ended. */
static void say_failed_tasks(const struct jp_evidence *e,
                             const struct jp_crash *crash,
                             struct jp_sentence *s)
{
    uint32_t tasks = expected_tasks(e->conf, e->nodes);

    if (crash || !e->nodes || !e->nodes->tasks_failed)
        return;
    if (tasks)
        sentence_add(s, "%s of %s task%s ended with an error",
                     FIG_COUNT(e->nodes->tasks_failed), FIG_COUNT(tasks),
                     plural(tasks));
    else
        sentence_add(s, "%s task%s ended with an error",
                     FIG_COUNT(e->nodes->tasks_failed),
                     plural(e->nodes->tasks_failed));
}

/* Adds until when there was room for records, which limit ended it, and how
 * much was left out. */
static void say_room(const struct jp_evidence *e, struct jp_sentence *s)
{
    char room[JP_GAPS_ROOM];
    uint64_t n = e->result->quality.capped, until_us = gaps_until(e);

    if (!n)
        return;
    sentence_add(s,
                 "recorded until %s, then no room: %s; %s operation%s left "
                 "out",
                 until_us ? FIG_UTC(until_us) : "an unknown time",
                 gaps_room(e, room), FIG_COUNT(n), plural(n));
}

/* Adds "10 Broadcasts and 2 Reduces were called without an NCCL event". */
static void say_unseen(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = e->analysed && e->result ? &e->result->quality
                                                          : NULL;
    char what[256] = "";
    uint64_t rest = q ? q->unseen_calls : 0;
    size_t len = 0;

    if (!rest)
        return;
    for (size_t i = 0; i < q->n_unseen && len < sizeof(what); i++) {
        const struct jp_unseen *u = &q->unseen[i];

        rest -= rest < u->calls ? rest : u->calls;
        len += (size_t) snprintf(what + len, sizeof(what) - len, "%s%s %s%s",
                                 !i                              ? ""
                                 : i + 1 == q->n_unseen && !rest ? " and "
                                                                 : ", ",
                                 FIG_COUNT(u->calls), u->func,
                                 plural(u->calls));
    }
    if (rest && len < sizeof(what))
        snprintf(what + len, sizeof(what) - len, "%s%s other operation%s",
                 len ? " and " : "", FIG_COUNT(rest), plural(rest));
    sentence_add(s, "%s %s called without an NCCL event", what,
                 q->unseen_calls == 1 ? "was" : "were");
}

/* Returns true if at least one rank was judged. */
static bool judges_lateness(const struct jp_evidence *e,
                            const struct jp_insight *insight)
{
    for (size_t i = 0; insight && insight->lateness && i < e->result->n_ranks;
         i++)
        if (insight->lateness[i].judged)
            return true;
    return false;
}

/* Adds "4,000 operations have no time: ..., so late ranks cannot be
 * identified". */
static void say_unsure(const struct jp_evidence *e,
                       const struct jp_insight *insight, struct jp_sentence *s)
{
    const struct jp_quality *q = e->analysed && e->result ? &e->result->quality
                                                          : NULL;
    unsigned why = q ? main_doubt(q) : JP_DOUBTS;

    if (why < JP_DOUBTS)
        sentence_add(
            s, "%s operation%s no time: %s%s", FIG_COUNT(q->unsure_records),
            q->unsure_records == 1 ? " has" : "s have", doubts_table[why].text,
            judges_lateness(e, insight)
                ? ""
                : ", so late ranks cannot be identified");
}

/* Says by how much times may be wrong that a CPU took. */
static void say_clocks(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = e->analysed && e->result ? &e->result->quality
                                                          : NULL;

    if (!q)
        return;
    if (q->kernel_cpu_records)
        sentence_add(s,
                     "times of %s record%s are by a CPU's clock: each about %g "
                     "us off",
                     FIG_COUNT(q->kernel_cpu_records),
                     plural(q->kernel_cpu_records),
                     limits_get(JP_LIMIT_HIDDEN_CLOCK));
    if (q->call_cpu_records)
        sentence_add(
            s,
            "times of %s record%s begin at the call, so no lateness is "
            "judged by them",
            FIG_COUNT(q->call_cpu_records), plural(q->call_cpu_records));
}

/* Returns true if the recorder saw operations in flight for long enough. */
static bool is_recorded(const struct jp_hang *hang)
{
    return hang->operations &&
           (double) hang->age_us >= limits_get(JP_LIMIT_HANG);
}

/* Returns true if the step hangs. This needs the last operations only, so gaps
 * in the data do not disprove it. Findings are sorted, so a hang is the first.
 */
static bool hangs(const struct jp_evidence *e, const struct jp_insight *insight)
{
    return e->analysed && e->result &&
           (is_recorded(&e->result->hang) ||
            (insight && insight->findings.n &&
             insight->findings.at[0].kind == JP_FINDING_HANG));
}

/* Adds the hang, by the finding if there is one: it names the rank by the job's
 * numbering. */
static void say_hang(const struct jp_evidence *e,
                     const struct jp_insight *insight, struct jp_sentence *s)
{
    const struct jp_hang *hang = &e->result->hang;
    const struct jp_finding *f =
        insight && insight->findings.n ? &insight->findings.at[0] : NULL;
    bool told = f && f->kind == JP_FINDING_HANG;

    if (!is_recorded(hang)) {
        sentence_add(s, "%s", f->text);
        return;
    }
    sentence_add(s, "%s", told ? f->text : hang->text);
    if (hang->operations > 1)
        sentence_add(s, "%s more operation%s in flight for %s or more",
                     FIG_COUNT(hang->operations - 1),
                     plural(hang->operations - 1),
                     FIG_US(limits_get(JP_LIMIT_HANG)));
}

/* Returns true if the step had hung for long when the first task failed. Then
 * the failure ended the hang, as a watchdog does, and was not the reason why
 * the others waited. Without the time at which the hang began: true if the
 * others ended soon after the failure. */
static bool hung_before(const struct jp_hang *hang,
                        const struct jp_crash *crash)
{
    int64_t end_us = crash->end_us;
    double least_us = limits_get(JP_LIMIT_HANG);

    if (hang->since_us && end_us)
        return (double) (end_us - hang->since_us) >= least_us;
    return crash->task && (double) crash->before_us < least_us;
}

/* The word of a finding that the sentence may have: hangs and crashes have
 * sentences of their own. JP_VERDICT_OK: none. */
static enum jp_verdict_word said_word(const struct jp_finding *f)
{
    enum jp_verdict_word own = finding_verdict(f);

    return own <= JP_VERDICT_FAILED ? JP_VERDICT_OK : own;
}

/* Adds the worst finding, and returns the worst word of all findings. They are
 * in the order of their kinds, so one of a lesser word may come first. */
static enum jp_verdict_word say_findings(const struct jp_insight *insight,
                                         struct jp_sentence *s)
{
    enum jp_verdict_word word = JP_VERDICT_OK;
    const struct jp_finding *worst = NULL;
    size_t n = 0;

    for (size_t i = 0; insight && i < insight->findings.n; i++) {
        const struct jp_finding *f = &insight->findings.at[i];
        enum jp_verdict_word own = said_word(f);

        n += own != JP_VERDICT_OK;
        if (own < word) {
            word = own;
            worst = f;
        }
    }
    if (worst)
        sentence_add(s, "%s", worst->text);
    if (n > 1) /* the card lists the others */
        sentence_add(s, "%s more finding%s", FIG_COUNT(n - 1), plural(n - 1));
    return word;
}

/* Adds "late ranks could not be looked for (why): what to do". Returns
 * UNJUDGED: without a search, OK would be a false all-clear. */
static enum jp_verdict_word say_unjudged(const struct jp_insight *insight,
                                         struct jp_reasons *why,
                                         struct jp_sentence *s)
{
    const struct jp_hypotheses *h = insight ? &insight->hypotheses : NULL;

    reasons_add(why, reasons_find(hypothesis_why(h, JP_HYPOTHESIS_LATE_RANK)));
    sentence_add(s, "late ranks could not be judged (%s): %s",
                 hypothesis_why(h, JP_HYPOTHESIS_LATE_RANK),
                 hypothesis_todo(h, JP_HYPOTHESIS_LATE_RANK));
    return JP_VERDICT_UNJUDGED;
}

/* Adds that only a large effect would have been seen, and what to do. todo may
 * be NULL. Returns UNJUDGED. */
static enum jp_verdict_word say_rough(const char *rough, const char *todo,
                                      struct jp_reasons *why,
                                      struct jp_sentence *s)
{
    sentence_add(s, "%s%s%s", rough, todo ? ": " : "", todo ? todo : "");
    reasons_add(why, JP_REASON_ROUGH);
    return JP_VERDICT_UNJUDGED;
}

/* Adds that all ranks lost the end of the run, by what the user said about it.
 * Returns true if it did. Findings stay: they rely on the records that exist.
 */
static bool say_tail(const struct jp_evidence *e, struct jp_sentence *s)
{
    if (!e->expected.tail ||
        e->expected.coverage >= limits_get(JP_LIMIT_COVERAGE))
        return false;
    sentence_add(
        s,
        "%s of the records present (%s of %s by iterations= and colls=): all "
        "ranks lost the last ones, or ran fewer; plan: it %s",
        FIG_SHARE(e->expected.coverage), FIG_COUNT(e->result->quality.records),
        FIG_COUNT(e->expected.records), expected_lost_tail(e->conf));
    return true;
}

/* Returns true if the word comes from a finding on records that end early. */
static bool is_uneven(const struct jp_insight *insight)
{
    for (size_t i = 0; insight && i < insight->findings.n; i++)
        if (insight->findings.at[i].kind == JP_FINDING_UNEVEN)
            return true;
    return false;
}

static void say_may_run(const struct jp_evidence *e, struct jp_sentence *s)
{
    if (gaps_may_run(e))
        sentence_add(s, "whether the step has ended is not known: Slurm did "
                        "not answer, and no node has written lately");
}

/* Adds what was found and how complete the data is. Returns the word; adds its
 * reasons. crash may be NULL. */
static enum jp_verdict_word say_data(const struct jp_evidence *e,
                                     const struct jp_insight *insight,
                                     const struct jp_crash *crash,
                                     struct jp_reasons *why,
                                     struct jp_sentence *s)
{
    enum jp_verdict_word word = JP_VERDICT_NODATA;
    bool runs = gaps_runs(e), hides;
    char rough[JP_INSIGHT_ROUGH];
    const char *todo;

    if (runs)
        sentence_add(s, "the step has not ended, and is judged so far");
    if (nodata_explain(e, crash, s, why)) {
        if (e->analysed)
            gaps_nodes(e, s);
        say_may_run(e, s);
        return word;
    }
    say_may_run(e, s);
    word = say_findings(insight, s);
    say_room(e, s);
    hides = gaps_list(e, s);
    hides |= say_tail(e, s);
    /* what a running step lacks is still to come */
    if (word > JP_VERDICT_INCOMPLETE && hides && !runs)
        word = JP_VERDICT_INCOMPLETE;
    if (word == JP_VERDICT_INCOMPLETE)
        gaps_reasons(e, is_uneven(insight), why);
    if (word == JP_VERDICT_OK &&
        !hypothesis_judged(insight ? &insight->hypotheses : NULL,
                           JP_HYPOTHESIS_LATE_RANK))
        word = say_unjudged(insight, why, s);
    else if (word == JP_VERDICT_OK && *insight_rough(insight, rough, &todo))
        word = say_rough(rough, todo, why, s);
    /* A good or open verdict includes what it is based on. */
    if (word >= JP_VERDICT_UNJUDGED)
        say_ok(e, s);
    return word;
}

void verdict_decide(const struct jp_jobconf *conf, const struct jp_nodes *nodes,
                    const struct jp_result *result,
                    const struct jp_insight *insight, bool analysed,
                    struct jp_verdict *verdict)
{
    struct jp_evidence e = {.conf = conf,
                            .nodes = nodes,
                            .result = result,
                            .analysed = analysed,
                            .expected = expected_records(conf, nodes, result)};
    const struct jp_crash *crash =
        insight && insight->crash.cause ? &insight->crash : NULL;
    /* If the step both hung and crashed, the cause is what came first. */
    bool hung = hangs(&e, insight), fault = crash && crash_is_fault(crash);
    bool hung_first = hung && (!fault || hung_before(&result->hang, crash));
    struct jp_sentence s;

    sentence_init(&s, verdict->text, sizeof(verdict->text));
    verdict->why = (struct jp_reasons){.n = 0};
    verdict->runs = gaps_runs(&e);
    verdict->may_run = gaps_may_run(&e);
    verdict->part_incomplete = false;
    verdict->coverage = analysed ? e.expected.coverage : -1;
    if (hung_first)
        say_hang(&e, insight, &s);
    if (crash)
        sentence_add(&s, "%s", crash->text);
    if (hung && !hung_first)
        say_hang(&e, insight, &s);
    verdict->word = hung ? JP_VERDICT_HANG
                         : say_data(&e, insight, crash, &verdict->why, &s);
    if (hung)
        gaps_list(&e, &s);
    if (fault && !hung_first &&
        (verdict->word != JP_VERDICT_NODATA || has_files(&e)))
        verdict->word = JP_VERDICT_FAILED;
    /* the reasons are those of the word */
    if (verdict->why.n && verdict->why.of[0]->word != verdict->word)
        verdict->why.n = 0;
    reasons_checks(&verdict->why, verdict->checks);
    say_unseen(&e, &s);
    say_unsure(&e, insight, &s);
    say_clocks(&e, &s);
    say_failed_tasks(&e, crash, &s);
}
