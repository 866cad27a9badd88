/* stall.c - name the communicator that stalled first. */
#include "orchestrator/insight/stall.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/insight/stall_parts.h"

#define MIN_LIKES 3

static int add_recorded(const struct jp_result *r, struct jp_findings *findings)
{
    const struct jp_hang *hang = &r->hang;
    struct jp_finding *f = findings_add(findings, JP_FINDING_HANG);

    if (!f)
        return -1;
    f->comm = hang->comm;
    for (size_t i = 0; i < r->n_coll_names; i++)
        if (!strcmp(r->coll_names[i], hang->coll))
            f->coll = r->coll_names[i];
    f->rank = hang->rank;
    f->world_rank = hang->task;
    f->pid = hang->pid;
    snprintf(f->host, sizeof(f->host), "%s", hang->host);
    snprintf(f->text, sizeof(f->text), "%.319s", hang->text);
    snprintf(f->next, sizeof(f->next),
             "jobprof show --pending names every operation in flight and who "
             "is in it");
    return 0;
}

/* The name of a communicator, with its ranks' host where it is one. */
static void name_comm(const struct jp_comm *c, char *buf, size_t size)
{
    snprintf(buf, size, "communicator %s%s%.32s%s (%" PRIu32 " ranks%s%.64s)",
             c->id, *c->name ? " (" : "", c->name, *c->name ? ")" : "",
             c->n_ranks, c->n_hosts == 1 ? ", " : "",
             c->n_hosts == 1 ? c->hosts[0] : "");
}

/* silent_us: for how long nothing had ended; 0: not known. */
static int add_first(const struct stall *s, size_t first, uint64_t silent_us,
                     struct jp_findings *findings)
{
    const struct jp_comm *comm = &s->r->comms[first];
    struct jp_finding *f = findings_add(findings, JP_FINDING_HANG);
    struct jp_sentence text;
    char name[200];

    if (!f)
        return -1;
    f->comm = (int64_t) first;
    if (comm->n_hosts == 1)
        snprintf(f->host, sizeof(f->host), "%s", comm->hosts[0]);
    name_comm(comm, name, sizeof(name));
    sentence_init(&text, f->text, sizeof(f->text));
    if (s->lag[first])
        sentence_add(&text,
                     "%s stopped first, %s short of %s, as many as its "
                     "likes went on to",
                     name, FIG_COUNT(s->lag[first]),
                     FIG_COUNT(stall_done(comm) + s->lag[first]));
    else
        sentence_add(&text, "%s stopped after %s operations", name,
                     FIG_COUNT(stall_done(comm)));
    if (silent_us)
        sentence_add(&text, "nothing ended in the step's last %s",
                     FIG_US(silent_us));
    sentence_add(&text, "which of its ranks stayed away cannot be told from "
                        "ended operations");
    snprintf(f->next, sizeof(f->next),
             "look at the processes of that communicator (py-spy, gdb); record "
             "with --nccl-profile=recorder to see who stayed away");
    return 0;
}

/* Its process ended, or its profiler with it, before the others stopped. */
static int add_silent(const struct stall *s, size_t silent, uint64_t silent_us,
                      struct jp_findings *findings)
{
    const struct jp_rank *rank = &s->r->ranks[silent];
    const struct jp_comm *comm = &s->r->comms[rank->comm];
    const struct jp_process *who = &s->p->processes[s->p->of_rank[silent]];
    struct jp_finding *f = findings_add(findings, JP_FINDING_HANG);
    struct jp_sentence text;
    char name[200];

    if (!f)
        return -1;
    f->comm = (int64_t) rank->comm;
    f->rank = rank->rank;
    f->world_rank = who->world_rank;
    f->pid = who->pid;
    snprintf(f->host, sizeof(f->host), "%s", who->host);
    name_comm(comm, name, sizeof(name));
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(
        &text,
        "rank %" PRIu32 " (%.64s, pid %lld) fell silent first: it lacks "
        "the last %s of %s records of %s, which all others have; nothing "
        "ended in the step's last %s",
        rank->rank, who->host, (long long) who->pid,
        FIG_COUNT(comm->ops - rank->records), FIG_COUNT(comm->ops), name,
        FIG_US(silent_us));
    snprintf(
        f->next, sizeof(f->next),
        "look for that process' end: its exit status, its last output, the "
        "kernel's log of its node (out of memory, GPU errors)");
    return 0;
}

/* Something stopped, but no count says where first. */
static int add_unknown(uint64_t silent_us, struct jp_findings *findings)
{
    struct jp_finding *f = findings_add(findings, JP_FINDING_HANG);

    if (!f)
        return -1;
    snprintf(f->text, sizeof(f->text),
             "nothing ended in the step's last %s; which communicator stopped "
             "first cannot be told from ended operations",
             FIG_US(silent_us));
    snprintf(f->next, sizeof(f->next),
             "record with --nccl-profile=recorder: it tells who stayed away");
    return 0;
}

/* A step of which all tasks ended well did not hang. */
static bool ended_well(const struct jp_nodes *nodes)
{
    bool known = false;

    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++) {
            if (nodes->nodes[i].tasks[k].status)
                return false;
            known = true;
        }
    return known;
}

/* From the last operation that a record tells of to the first node's end; 0:
 * not known. A run that was merely ended has written until then. */
static uint64_t silence_of(const struct jp_result *r,
                           const struct jp_nodes *nodes)
{
    uint64_t end = UINT64_MAX, last = r->ops ? r->ops->dump_last : 0;

    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        end = nodes->nodes[i].finish_us < end ? nodes->nodes[i].finish_us : end;
    return nodes && nodes->n_nodes && last && end > last ? end - last : 0;
}

static bool is_known(const struct jp_nodes *nodes)
{
    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        if (!nodes->nodes[i].finish_us)
            return false;
    return nodes && nodes->n_nodes;
}

/* Did its likes do some operations once that it has no part in, but all of them
 * as much in each step? */
static bool has_extras(const struct stall *s, size_t first)
{
    uint64_t ops = s->r->comms[first].ops, steps = s->steps[first];

    return ops % steps == 0 && s->lag[first] < ops / steps;
}

/* Sequence numbers between a communicator's operations that no rank recorded.
 */
static uint64_t count_holes(struct ops_reader *reader,
                            const struct jp_result *r, size_t comm)
{
    uint64_t holes = 0, last = 0;
    uint32_t coll = UINT32_MAX;

    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (op->comm != comm)
            continue;
        if (op->coll == coll && op->sn > last)
            holes += op->sn - last - 1;
        coll = op->coll;
        last = op->sn;
    }
    return holes;
}

/* Has it more of them than one that it is short of? Then it did go on. -1: no
 * memory. */
static int has_holes(const struct stall *s, size_t first)
{
    const struct jp_comm *c = &s->r->comms[first], *like;
    struct ops_reader *reader;
    int more = 0;

    for (like = s->r->comms; like < s->r->comms + s->r->n_comms; like++)
        if (like->n_ranks == c->n_ranks && !strcmp(like->name, c->name) &&
            like->ops == c->ops + s->lag[first])
            break;
    reader = calloc(1, sizeof(*reader));
    if (!reader)
        return -1;
    reader->ops = s->r->ops;
    ops_want(reader, OPS_SN);
    if (s->r->ops && like < s->r->comms + s->r->n_comms)
        more = count_holes(reader, s->r, first) >
               count_holes(reader, s->r, (size_t) (like - s->r->comms));
    free(reader);
    return more;
}

/* Without the step's end all likes but one must agree, what a step is must be
 * known, and that one must not have a whole number of operations less to do in
 * each step, or once; with one a step it may just have been the last on its
 * way when a kill came. The likes must have gone on beyond the last step that
 * ended: in one that did, nobody stopped, and a record is missing. */
static bool is_plain(const struct stall *s, size_t first)
{
    const struct jp_comm *c = &s->r->comms[first];
    uint64_t most = c->ops + s->lag[first];

    return s->n_lags == 1 && s->lag[first] && s->likes[first] >= MIN_LIKES &&
           c->ops == c->ops_complete && most / s->steps[first] > 1 &&
           most % s->steps[first] && s->lag[first] % s->steps[first] &&
           !has_extras(s, first) && s->lag[first] <= most / s->steps[first] + 1;
}

static int compare_likes(const struct jp_result *r, const struct jp_people *p,
                         uint64_t silent_us, struct jp_findings *findings)
{
    struct stall s;
    size_t first, silent;
    int rc = 0, holes = 0;

    if (!p->known)
        return 0;
    if (stall_compare(&s, r, p) < 0)
        return -1;
    first = stall_find_first(&s);
    if (first != SIZE_MAX && !silent_us)
        holes = has_holes(&s, first);
    silent = silent_us ? stall_find_silent(&s) : SIZE_MAX;
    if (holes < 0)
        rc = -1;
    else if (silent != SIZE_MAX)
        rc = add_silent(&s, silent, silent_us, findings);
    else if (first != SIZE_MAX &&
             (silent_us || (!holes && is_plain(&s, first))))
        rc = add_first(&s, first, silent_us, findings);
    else if (silent_us && s.n_lags)
        rc = add_unknown(silent_us, findings);
    stall_fini(&s);
    return rc;
}

int stall_findings(const struct jp_result *r, const struct jp_people *p,
                   const struct jp_nodes *nodes, bool whole,
                   struct jp_findings *findings)
{
    uint64_t silent_us;

    if (r->hang.operations &&
        (double) r->hang.age_us >= limits_table[JP_LIMIT_HANG].value)
        return add_recorded(r, findings);
    if (!whole || r->quality.recordings || r->quality.traces ||
        ended_well(nodes))
        return 0;
    silent_us = silence_of(r, nodes);
    if (is_known(nodes) && silent_us < JP_HANG_US)
        return 0;
    return compare_likes(r, p, silent_us, findings);
}
