/* table_truth.c - what is true of a simulated job, and whether a finding says
 * it.
 */
#include "tests/insight/table_truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/insight/limits.h"
#include "orchestrator/judge/judge.h"
#include "tests/insight/simlog.h"

bool truth_names_rank(const struct truth_job *j, const struct jp_finding *f,
                      uint32_t rank)
{
    char host[16];

    simlog_host(rank / j->shape.per_node, host);
    return (f->kind == JP_FINDING_LATE_RANK || finding_is_stall(f->kind)) &&
           f->pid == simlog_pid(rank) && !strcmp(f->host, host);
}

bool truth_names_node(const struct truth_job *j, const struct jp_finding *f)
{
    char host[16];

    simlog_host(j->truth.node, host);
    return !strcmp(f->host, host);
}

static bool names_pair(const struct truth_job *j, const struct jp_finding *f)
{
    char a[16], b[16];

    simlog_host(j->truth.node, a);
    simlog_host(j->truth.other_node, b);
    return !*f->host && strstr(f->text, a) && strstr(f->text, b);
}

/* The change's time is told within a tenth of the run, and the 0.1 s between
 * two writings of records. */
static bool names_time(const struct truth_job *j, const struct jp_finding *f)
{
    double from_us = f->from_us - (double) SIMLOG_EPOCH_US;

    return fabs(from_us - j->truth.from_ns / 1e3) < j->truth.end_ns / 1e4 + 2e5;
}

/* The same within a twentieth of the run. */
static bool names_onset(const struct truth_job *j, const struct jp_finding *f)
{
    double from_us = f->from_us - (double) SIMLOG_EPOCH_US;

    return fabs(from_us - j->truth.from_ns / 1e3) < j->truth.end_ns / 2e4 + 2e5;
}

/* Ranks that share what is late by all of them: of the late node, the slow
 * stage. */
uint32_t truth_late_ranks(const struct truth_job *j)
{
    uint32_t n = simjob_ranks(&j->shape), per = j->shape.per_node;
    uint32_t from = j->truth.node * per;

    return j->truth.fault == SIMJOB_SLOW_STAGE ? n / j->shape.pp
           : !simjob_late_node(j->truth.fault) ? 1
           : n - from < per                    ? n - from
                                               : per;
}

/* Is this finding part of the truth? *which: of two. */
bool truth_names(const struct truth_job *j, const struct jp_finding *f,
                 int *which)
{
    char id[20];

    *which = 0;
    switch (j->truth.fault) {
    case SIMJOB_LATE_RANK:
    case SIMJOB_LATE_LAYERS:
    case SIMJOB_COMES:
    case SIMJOB_TINY: /* if it is named: four steps need not be enough */
        return truth_names_rank(j, f, j->truth.ranks[0]);
    case SIMJOB_ONSET:
        return truth_names_rank(j, f, j->truth.ranks[0]) && names_onset(j, f);
    case SIMJOB_STALLS: /* of several in each operation: always late */
    case SIMJOB_CHECKPOINT:
        return truth_names_rank(j, f, j->truth.ranks[0]);
    case SIMJOB_SLOW_STAGE:
        snprintf(id, sizeof(id), "stage %u of", j->truth.stage + 1);
        return f->kind == JP_FINDING_IMBALANCE && strstr(f->text, id);
    case SIMJOB_TWO_LATE:
        *which = truth_names_rank(j, f, j->truth.ranks[1]);
        return *which || truth_names_rank(j, f, j->truth.ranks[0]);
    case SIMJOB_NODE_ONSET:
    case SIMJOB_LATE_NODE: /* of one rank: it is named */
        return (f->kind == JP_FINDING_LATE_NODE ||
                (f->kind == JP_FINDING_LATE_RANK &&
                 truth_late_ranks(j) == 1)) &&
               truth_names_node(j, f);
    case SIMJOB_SLOW_LINK:
        return f->kind == JP_FINDING_SLOW_NETWORK && names_time(j, f) &&
               (!*f->host || truth_names_node(j, f));
    case SIMJOB_SLOW_NET: /* everywhere: no node is to blame */
        return f->kind == JP_FINDING_SLOW_NETWORK && f->against == j->against &&
               !*f->host;
    case SIMJOB_SLOW_EXPERTS: /* its groups may all be with one other */
    case SIMJOB_SLOW_SENDS:
        /* a node with one neighbour cannot be told from it */
        simlog_host(j->truth.node, id);
        return f->kind == JP_FINDING_SLOW_NETWORK && strstr(f->text, id) &&
               (!*f->host || truth_names_node(j, f));
    case SIMJOB_SLOW_PAIR:
        return f->kind == JP_FINDING_SLOW_NETWORK && names_pair(j, f);
    case SIMJOB_DRIFT:
        return f->kind == JP_FINDING_DRIFT;
    case SIMJOB_RECORDED: /* who it is, wherever he is waited for */
        return f->kind == JP_FINDING_HANG &&
               f->pid == simlog_pid(j->truth.ranks[0]);
    case SIMJOB_DIES:
        if (f->kind == JP_FINDING_HANG && f->pid >= 0)
            return f->pid == simlog_pid(j->truth.ranks[0]);
        /* fall through */
    case SIMJOB_HANG:
        simlog_id(j->truth.comm, id);
        return f->kind == JP_FINDING_HANG && f->comm >= 0 &&
               (f->pid < 0 || f->pid == simlog_pid(j->truth.ranks[0])) &&
               !strcmp(j->result->comms[f->comm].id, id);
    default:
        return false;
    }
}

bool truth_wants_none(enum simjob_fault fault)
{
    return fault == SIMJOB_CLEAN || fault == SIMJOB_JITTER ||
           fault == SIMJOB_HICCUPS || fault == SIMJOB_LOSSY ||
           fault == SIMJOB_KILLED || fault == SIMJOB_TINY ||
           fault == SIMJOB_ALL_STALL;
}

/* A rank of the late node is late, though all of them had to be named. */
bool truth_is_part(const struct truth_job *j, const struct jp_finding *f)
{
    return simjob_late_node(j->truth.fault) && truth_late_ranks(j) > 1 &&
           f->kind == JP_FINDING_LATE_RANK && truth_names_node(j, f);
}

/* A hang, and that the data does not tell of whom. */
bool truth_claims_nothing(const struct jp_finding *f)
{
    return f->kind == JP_FINDING_HANG && f->comm < 0;
}

/* Stages of unlike length do have unlike much to do, and small messages are. */
bool truth_is_by_design(const struct truth_job *j, const struct jp_finding *f)
{
    if (f->kind == JP_FINDING_SMALL_MESSAGES)
        return j->shape.tp_ops > 1 && j->shape.tp_bytes / j->shape.tp <
                                          limits_get(JP_LIMIT_SMALL_BYTES);
    /* ranks whose layers differ from one to the next do wait by turns */
    if (f->kind == JP_FINDING_TURNS)
        return j->shape.noise != SIMJOB_USUAL ||
               j->truth.fault == SIMJOB_HICCUPS ||
               j->truth.fault == SIMJOB_JITTER ||
               j->truth.fault == SIMJOB_ALL_STALL ||
               j->truth.fault == SIMJOB_TINY;
    return j->truth.fault != SIMJOB_SLOW_STAGE &&
           (j->shape.short_stage || j->shape.skewed || j->truth.undecidable) &&
           f->kind == JP_FINDING_IMBALANCE;
}

/* Replaces all findings by the judge's answers. */
void truth_by_judge(const struct jp_result *r, struct jp_insight *insight)
{
    static const enum jp_finding_kind kinds[JUDGE_KINDS] = {
        [JUDGE_LATE] = JP_FINDING_LATE_RANK,
        [JUDGE_ONSET] = JP_FINDING_LATE_RANK,
        [JUDGE_NODE] = JP_FINDING_LATE_NODE,
        [JUDGE_STALL] = JP_FINDING_STALL};
    const struct jp_processes *p = &insight->processes;
    const struct judge *j = insight->judge;
    char line[JUDGE_LINE];

    if (!j)
        return;
    findings_fini(&insight->findings);
    insight->findings =
        (struct jp_findings){.gpus_us = j->run_us * (double) p->n};
    for (size_t i = 0; i < j->n; i++) {
        const struct judge_answer *a = &j->answers[i];
        struct jp_finding *f = findings_add(&insight->findings, kinds[a->kind]);

        if (!f)
            abort();
        snprintf(f->host, sizeof(f->host), "%s", p->hosts[a->host].host);
        f->pid = p->list[a->process].pid;
        f->from_us = (double) SIMLOG_EPOCH_US + a->from * j->run_us;
        finding_cost(&insight->findings, f, a->cost_us * (double) p->n);
        judge_line(j, r, p, line);
        snprintf(f->text, sizeof(f->text), "%s", line);
    }
}
