/* hang.c - find hangs, and name the communicator or the rank that stopped
 * first.
 *
 * The recorder's operations in flight show which rank hangs (add_recorded).
 * NCCL Inspector's logs contain ended operations only; then the counts of
 * operations are compared (likes.h), and everything here is about which of
 * several communicators that stopped short was the first: the others wait for
 * it. hang_findings is the entry; find_first and find_silent are the two
 * searches. Where the counts fit several places, none is named: a wrong name
 * costs more than "unknown".
 */
#include "orchestrator/insight/looks.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/insight/finding.h"
#include "orchestrator/insight/hypothesis.h"
#include "orchestrator/insight/likes.h"
#include "orchestrator/insight/limits.h"
#include "orchestrator/identity/processes.h"

/* --- of the communicators that stopped short, find the first -------------- */

/* Returns true if each of its processes is behind in another communicator as
 * well. Otherwise a process that has stopped nowhere else waits in it, so it is
 * not the first to have stopped. */
static bool is_inner(const struct jp_likes *s, size_t comm)
{
    for (size_t i = s->p->comm_start[comm]; i < s->p->comm_start[comm + 1]; i++)
        if (s->lags_of[s->p->of_rank[i]] < 2)
            return false;
    return true;
}

/* Messages of a rank, as the rank itself recorded them. */
struct messages {
    uint64_t in, out;
    uint64_t most; /* with one peer in one direction */
    size_t peers;  /* number of peers it receives from */
};

static struct messages count_messages(const struct jp_likes *s, size_t rank)
{
    const struct jp_rank *x = &s->r->ranks[rank];
    struct messages m = {0};

    for (size_t i = 0; i < s->r->n_p2p; i++) {
        const struct jp_p2p *p = &s->r->p2p[i];
        bool sends = !strcmp(p->func, "Send");

        if (p->comm != x->comm || x->rank != (sends ? p->src : p->dst))
            continue;
        m.most = p->count > m.most ? p->count : m.most;
        m.in += sends ? 0 : p->count;
        m.out += sends ? p->count : 0;
        m.peers += !sends;
    }
    return m;
}

/* Returns the process's rank in a communicator that has Send and Recv only (its
 * pipeline); SIZE_MAX: none. */
static size_t pipe_rank(const struct jp_likes *s, size_t process)
{
    const struct jp_process *who = &s->p->list[process];

    for (size_t i = who->first; i < who->first + who->n; i++) {
        size_t rank = s->p->by_process[i];
        const struct jp_comm *c = &s->r->comms[s->r->ranks[rank].comm];

        if (!c->ops && c->p2p_records)
            return rank;
    }
    return SIZE_MAX;
}

/* How well counts fit the stage that stopped: it has a reason to wait; it may
 * be the one; it must be the one. */
enum place { EXPLAINED, POSSIBLE, CERTAIN };

/* Judges a stage of a pipeline. It passes each microbatch forward and back,
 * with `pass` operations each time. A stage that has received a message but has
 * not done the operations that follow waits for no other stage, so it stopped
 * itself. A stage that has done all of them waits for its next message. The
 * first and last stages (one peer) begin half of their passes without a
 * message; for these only an unfinished pass is certain. */
static enum place place_of(const struct jp_likes *s, size_t comm, uint64_t pass)
{
    size_t pipe = pipe_rank(s, s->p->of_rank[s->p->comm_start[comm]]);
    uint64_t done = s->r->comms[comm].ops;
    struct messages m;

    if (pipe == SIZE_MAX)
        return POSSIBLE;
    m = count_messages(s, pipe);
    /* An inner stage receives a message before each of its passes. */
    if (m.peers > 1)
        return done < m.in * pass ? CERTAIN : EXPLAINED;
    if (done < (m.in + m.out) * pass || done % pass)
        return CERTAIN;
    return done == (m.in + m.out) * pass ? POSSIBLE : EXPLAINED;
}

/* Returns the operations of one pass through a stage, from a like that did not
 * stop: each of its messages starts a forward and a backward pass. 0: the
 * counts do not fit a pipeline. */
static uint64_t pass_of(const struct jp_likes *s, size_t comm)
{
    uint64_t most = s->r->comms[comm].ops + s->lag[comm];

    for (size_t c = 0; c < s->r->n_comms; c++) {
        size_t pipe;
        struct messages m;

        if (s->lag[c] || s->r->comms[c].ops != most ||
            s->r->comms[c].n_ranks != s->r->comms[comm].n_ranks ||
            s->p->comm_start[c] == s->p->comm_start[c + 1])
            continue;
        pipe = pipe_rank(s, s->p->of_rank[s->p->comm_start[c]]);
        m = pipe == SIZE_MAX ? (struct messages){0} : count_messages(s, pipe);
        return m.most && most % (2 * m.most) == 0 ? most / (2 * m.most) : 0;
    }
    return 0;
}

/* Returns the communicator of the only stage that must have stopped, else of
 * the only one that may have; SIZE_MAX: none or several. */
static size_t find_stage(const struct jp_likes *s, const size_t *inner,
                         size_t n)
{
    size_t found[3] = {SIZE_MAX, SIZE_MAX, SIZE_MAX}, count[3] = {0};

    for (size_t i = 0; i < n; i++) {
        uint64_t pass = pass_of(s, inner[i]);
        enum place place = pass ? place_of(s, inner[i], pass) : POSSIBLE;

        found[place] = inner[i];
        count[place]++;
    }
    if (count[CERTAIN])
        return count[CERTAIN] == 1 ? found[CERTAIN] : SIZE_MAX;
    return count[POSSIBLE] == 1 ? found[POSSIBLE] : SIZE_MAX;
}

/* Returns the communicator that is furthest behind: groups that exchange
 * messages with the first one can do one more operation before they wait.
 * SIZE_MAX: several are equally far. */
static size_t find_furthest(const struct jp_likes *s, const size_t *inner,
                            size_t n)
{
    size_t most = 0, same = 0;

    for (size_t i = 1; i < n; i++)
        if (s->lag[inner[i]] > s->lag[inner[most]])
            most = i;
    for (size_t i = 0; i < n; i++)
        same += s->lag[inner[i]] == s->lag[inner[most]];
    return same == 1 ? inner[most] : SIZE_MAX;
}

/* Returns true if each rank exchanges messages with all others, as in AlltoAll;
 * a pipeline's rank has one or two peers. */
static bool is_exchange(const struct jp_likes *s, size_t comm)
{
    uint32_t n = s->r->comms[comm].n_ranks;

    return n > 2 && count_messages(s, s->p->comm_start[comm]).peers >= n - 1;
}

/* Finds the first one if all ranks are in one communicator, or in two of all
 * ranks. With two, the numbers show which one is next. SIZE_MAX: other
 * communicators, or equal counts. */
static size_t find_only(const struct jp_likes *s)
{
    size_t found[2] = {SIZE_MAX, SIZE_MAX}, n = 0;
    uint64_t a, b, each;

    for (size_t c = 0; c < s->r->n_comms; c++) {
        const struct jp_comm *comm = &s->r->comms[c];

        if (comm->n_ranks < 2 || !likes_done(comm))
            continue;
        if (n == 2 || comm->n_ranks != s->p->n)
            return SIZE_MAX;
        found[n++] = c;
    }
    if (n < 2)
        return found[0];
    if (likes_done(&s->r->comms[found[0]]) <
        likes_done(&s->r->comms[found[1]])) {
        size_t other = found[0];

        found[0] = found[1];
        found[1] = other;
    }
    a = likes_done(&s->r->comms[found[0]]);
    b = likes_done(&s->r->comms[found[1]]);
    each = (a + b / 2) / b;
    if (a == b)
        return SIZE_MAX;
    /* a and b: operations of the busier and of the other one, which has one in
     * `each` of the busier one's. After a multiple of `each` the other one is
     * next, so it is the one that did not happen; in between the busier one is.
     */
    if (a < b * each || a - b * each > each)
        return SIZE_MAX;
    return found[a - b * each == each];
}

/* Returns the communicator that stopped first; SIZE_MAX: unknown. By what is
 * behind: a single one; one pipeline alone; groups that exchange; a stage of a
 * pipeline. Anything mixed stays unknown. */
static size_t find_first(const struct jp_likes *s)
{
    size_t *inner = calloc(s->r->n_comms + 1, sizeof(*inner)), n = 0;
    size_t first = SIZE_MAX, p2p = SIZE_MAX, n_p2p = 0, only = SIZE_MAX;
    bool exchanges = false, pipes = false;

    if (!s->n_lags || s->unsure || !inner) {
        free(inner);
        return s->n_lags ? SIZE_MAX : find_only(s);
    }
    for (size_t c = 0; c < s->r->n_comms; c++) {
        if (!s->lag[c])
            continue;
        only = c;
        if (s->r->comms[c].ops) {
            if (is_inner(s, c))
                inner[n++] = c;
            continue;
        }
        p2p = c;
        n_p2p++;
        exchanges |= is_exchange(s, c);
        pipes |= !is_exchange(s, c);
    }
    if (s->n_lags == 1)
        first = only;
    else if (n == 0 && n_p2p == 1)
        first = p2p;
    else if (exchanges && !pipes)
        first = find_furthest(s, inner, n);
    else if (!exchanges && (pipes || n == 1))
        first = find_stage(s, inner, n);
    free(inner);
    return first;
}

/* --- which rank fell silent ----------------------------------------------- */

/* Returns true if in each function the operations with one missing record are
 * the last ones: then the rank's recording ended early, and no record was lost
 * in between. Operations are sorted by function. */
static bool is_tail_cut(const struct jp_likes *s, size_t comm)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    uint32_t n_ranks = s->r->comms[comm].n_ranks, coll = UINT32_MAX;
    bool ok = reader != NULL, tail = false;

    if (reader) {
        reader->ops = s->r->ops;
        ops_want(reader, OPS_SN | OPS_COUNTS);
    }
    for (size_t i = 0; ok && i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (op->comm != comm)
            continue;
        tail &= op->coll == coll;
        coll = op->coll;
        ok = op->n == n_ranks ? !tail : op->n + 1 == n_ranks;
        tail |= op->n != n_ranks;
    }
    free(reader);
    return ok;
}

/* Returns the only rank without the last operations of a communicator that all
 * other ranks have: its records stopped first. SIZE_MAX: none, or records of
 * several ranks are missing, which lost data explains better. */
static size_t find_silent(const struct jp_likes *s)
{
    size_t silent = SIZE_MAX;

    for (size_t i = 0; i < s->r->n_ranks; i++) {
        const struct jp_rank *rank = &s->r->ranks[i];
        const struct jp_comm *c = &s->r->comms[rank->comm];
        uint64_t missing = c->ops - rank->records;

        if (c->n_ranks < 2 || !c->ops || rank->records >= c->ops)
            continue;
        if (silent != SIZE_MAX && s->p->of_rank[i] != s->p->of_rank[silent])
            return SIZE_MAX;
        if (missing != c->ops - c->ops_complete)
            return SIZE_MAX;
        if (silent == SIZE_MAX ||
            rank->timed_ops > s->r->ranks[silent].timed_ops)
            silent = i;
    }
    if (silent == SIZE_MAX || !is_tail_cut(s, s->r->ranks[silent].comm))
        return SIZE_MAX;
    return silent;
}

/* --- findings ------------------------------------------------------------- */

/* Adds the hang that the recorder saw, with the rank by the job's numbering.
 * hang->whom is where the text goes on after the rank's name. 0 or -1. */
static int add_recorded(const struct jp_result *r, const struct jp_processes *p,
                        struct jp_findings *findings)
{
    const struct jp_hang *hang = &r->hang;
    struct jp_finding *f = findings_add(findings, JP_FINDING_HANG);
    const struct jp_process *who;
    struct jp_sentence text;

    if (!f)
        return -1;
    f->comm = hang->comm;
    for (size_t i = 0; i < r->n_coll_names; i++)
        if (!strcmp(r->coll_names[i], hang->coll))
            f->coll = r->coll_names[i];
    who = processes_find(p, hang->host, hang->pid, hang->instance);
    f->rank = hang->rank;
    f->process = who ? who - p->list : -1;
    /* the same rule decided both; the nodes' lists of tasks add to it here */
    f->world_rank = who && who->world_rank >= 0 ? who->world_rank
                                                : hang->world_rank;
    f->pid = hang->pid;
    snprintf(f->host, sizeof(f->host), "%s", hang->host);
    sentence_init(&text, f->text, sizeof(f->text));
    if (hang->whom && f->world_rank >= 0 && f->world_rank != f->rank)
        sentence_add(&text,
                     "rank %lld (%.64s pid %lld, rank %lld of the "
                     "communicator)%s",
                     (long long) f->world_rank, f->host, (long long) f->pid,
                     (long long) f->rank, hang->text + hang->whom);
    else if (hang->whom)
        sentence_add(&text, "rank %lld (%.64s pid %lld)%s", (long long) f->rank,
                     f->host, (long long) f->pid, hang->text + hang->whom);
    else
        sentence_add(&text, "%s", hang->text);
    snprintf(f->next, sizeof(f->next),
             "jobprof show --pending lists every operation in flight and its "
             "ranks");
    return 0;
}

/* Formats the name of a communicator, with the host if all its ranks are there.
 */
static void name_comm(const struct jp_comm *c, char *buf, size_t size)
{
    snprintf(buf, size, "communicator %s%s%.32s%s (%s ranks%s%.64s)", c->id,
             *c->name ? " (" : "", c->name, *c->name ? ")" : "",
             FIG_COUNT(c->n_ranks), c->n_hosts == 1 ? ", " : "",
             c->n_hosts == 1 ? c->hosts[0] : "");
}

/* Adds the communicator that stopped first. silent_us: time without an ended
 * operation; 0: unknown. 0 or -1. */
static int add_first(const struct jp_likes *s, size_t first, uint64_t silent_us,
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
                     "%s stopped first, %s short of the %s that its peers "
                     "reached",
                     name, FIG_COUNT(s->lag[first]),
                     FIG_COUNT(likes_done(comm) + s->lag[first]));
    else
        sentence_add(&text, "%s stopped after %s operations", name,
                     FIG_COUNT(likes_done(comm)));
    if (silent_us)
        sentence_add(&text, "nothing ended in the step's last %s",
                     FIG_US(silent_us));
    sentence_add(&text, "completed operations do not show which of its ranks "
                        "was missing");
    snprintf(f->next, sizeof(f->next),
             "read the last output of the processes of that communicator; "
             "record with --nccl-profile=recorder to see which ranks were "
             "missing");
    return 0;
}

/* Sets the finding's rank, and returns its name in a sentence. */
static const char *name_rank(const struct jp_likes *s, size_t rank,
                             struct jp_finding *f,
                             char buf[JP_PROCESS_NAME_LEN])
{
    const struct jp_process *who = &s->p->list[s->p->of_rank[rank]];

    f->rank = s->r->ranks[rank].rank;
    f->world_rank = who->world_rank;
    f->pid = who->pid;
    f->process = who - s->p->list;
    snprintf(f->host, sizeof(f->host), "%s", who->host);
    return processes_describe(s->p, s->r, who, buf);
}

/* Adds the rank with the records that ended first: its process, or its
 * profiler, ended before the others stopped. silent_us 0: it is unknown whether
 * they stopped, so this is no hang but uneven data. 0 or -1. */
static int add_silent(const struct jp_likes *s, size_t silent,
                      uint64_t silent_us, struct jp_findings *findings)
{
    const struct jp_rank *rank = &s->r->ranks[silent];
    const struct jp_comm *comm = &s->r->comms[rank->comm];
    struct jp_finding *f =
        findings_add(findings, silent_us ? JP_FINDING_HANG : JP_FINDING_UNEVEN);
    struct jp_sentence text;
    char name[200], whom[JP_PROCESS_NAME_LEN];

    if (!f)
        return -1;
    f->comm = (int64_t) rank->comm;
    name_comm(comm, name, sizeof(name));
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(&text,
                 "%s stopped first: the last %s of %s records of %s are "
                 "missing only from it",
                 name_rank(s, silent, f, whom),
                 FIG_COUNT(comm->ops - rank->records), FIG_COUNT(comm->ops),
                 name);
    if (silent_us)
        sentence_add(&text, "nothing ended in the step's last %s",
                     FIG_US(silent_us));
    snprintf(f->next, sizeof(f->next),
             "check how that process ended: its exit status, its last output, "
             "the kernel's log of its node (out of memory, GPU errors)");
    return 0;
}

/* Adds a hang at an unknown place. 0 or -1. */
static int add_unknown(const struct jp_silence *silence, bool uneven,
                       struct jp_findings *findings)
{
    struct jp_finding *f = findings_add(findings, JP_FINDING_HANG);
    struct jp_sentence text;

    if (!f)
        return -1;
    sentence_init(&text, f->text, sizeof(f->text));
    sentence_add(&text,
                 "nothing ended in the step's last %s, and before that never "
                 "for more than %s: a hang, or a stall of unknown cause",
                 FIG_US(silence->us), FIG_US(silence->before_us));
    sentence_add(&text, "completed operations do not show %s",
                 uneven ? "which communicator stopped first"
                        : "which ranks were missing, as all communicators "
                          "stopped evenly");
    snprintf(f->next, sizeof(f->next),
             "record with --nccl-profile=recorder to see which ranks were "
             "missing");
    return 0;
}

/* Returns true if the lag fits operations that its likes did once and it never
 * does, such as a check at the start: it has a whole number of operations per
 * step, and less than one step is missing. */
static bool has_extras(const struct jp_likes *s, size_t first)
{
    uint64_t ops = s->r->comms[first].ops, steps = s->steps[first];

    return ops % steps == 0 && s->lag[first] < ops / steps;
}

/* Counts the sequence numbers between a communicator's recorded operations that
 * no rank recorded. */
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

/* Returns 1 if it has more such gaps than its most advanced like. Then some of
 * its operations were not recorded, and it went further than its count shows,
 * so it must not be accused. -1: out of memory. */
static int has_holes(const struct jp_likes *s, size_t first)
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

/* Returns true if the counts alone prove that it stopped first. Without the
 * step's end this needs all of the following:
 * - it is the only one that is behind, and it has enough likes;
 * - its operations are complete, and what a step is, is known;
 * - neither its lag nor the count of its likes is a whole number of steps: a
 *   whole number may be less work in each step, or a record that is missing in
 *   a step that ended;
 * - with one operation a step it may just have been the last one when the step
 *   was killed;
 * - no more than one step is missing. */
static bool is_plain(const struct jp_likes *s, size_t first)
{
    const struct jp_comm *c = &s->r->comms[first];
    uint64_t most = c->ops + s->lag[first];

    return s->n_lags == 1 && s->lag[first] &&
           s->likes[first] >= limits_get(JP_LIMIT_HANG_LIKES) &&
           c->ops == c->ops_complete && most / s->steps[first] > 1 &&
           most % s->steps[first] && s->lag[first] % s->steps[first] &&
           !has_extras(s, first) && s->lag[first] <= most / s->steps[first] + 1;
}

/* Returns true if the lag is more than a fifth of all operations. Who stopped
 * is at most one step behind, so the run has fewer than five steps. How many
 * operations one of them has is not known then. */
static bool is_of_few_steps(const struct jp_likes *s, size_t comm)
{
    return 5 * s->lag[comm] > s->r->comms[comm].ops + s->lag[comm];
}

/* Returns true if it is behind its likes, and not because it has less to do in
 * each step or once. At least half of the likes must agree on the count that it
 * should have. */
static bool is_behind(const struct jp_likes *s, size_t comm)
{
    return s->lag[comm] && s->r->comms[comm].ops &&
           s->lag[comm] % s->steps[comm] && !has_extras(s, comm) &&
           !is_of_few_steps(s, comm) && 2 * s->even[comm] >= s->likes[comm];
}

/* Returns the rank that entered the communicator's last operation last (result
 * index); SIZE_MAX: unknown. */
static size_t find_last(const struct jp_likes *s, size_t comm)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    uint64_t at = 0;
    uint32_t rank = UINT32_MAX;

    if (!reader)
        return SIZE_MAX;
    reader->ops = s->r->ops;
    ops_want(reader, OPS_RANK | OPS_DUMP_MAX);
    for (size_t i = 0; i < s->r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);

        if (op->comm != comm || op->dump_max_us < at)
            continue;
        at = op->dump_max_us;
        rank = op->min_rank;
    }
    free(reader);
    return processes_rank(s->p, s->r, comm, rank);
}

/* Adds that communicators stopped within a step, if any is behind. Whether a
 * hang or the end of the job was the reason is unknown, so this is not a hang.
 * 0 or -1. */
static int add_uneven(const struct jp_likes *s,
                      const struct jp_silence *silence,
                      struct jp_findings *findings)
{
    size_t n = 0, most = 0, last;
    struct jp_finding *f;
    struct jp_sentence text;
    char name[200], whom[JP_PROCESS_NAME_LEN];

    for (size_t i = 0; i < s->r->n_comms; i++)
        if (is_behind(s, i) && (!n++ || s->lag[i] > s->lag[most]))
            most = i;
    if (!n)
        return 0;
    f = findings_add(findings, JP_FINDING_UNEVEN);
    if (!f)
        return -1;
    f->comm = (int64_t) most;
    name_comm(&s->r->comms[most], name, sizeof(name));
    sentence_init(&text, f->text, sizeof(f->text));
    if (n == 1)
        sentence_add(&text,
                     "stopped unevenly: %s is %s operation%s behind the %s of "
                     "its peers",
                     name, FIG_COUNT(s->lag[most]), plural(s->lag[most]),
                     FIG_COUNT(s->r->comms[most].ops + s->lag[most]));
    else
        sentence_add(&text,
                     "stopped unevenly: %s communicators are behind their "
                     "peers, %s by the most: %s operation%s of %s",
                     FIG_COUNT(n), name, FIG_COUNT(s->lag[most]),
                     plural(s->lag[most]),
                     FIG_COUNT(s->r->comms[most].ops + s->lag[most]));
    last = n == 1 ? find_last(s, most) : SIZE_MAX;
    if (last != SIZE_MAX)
        sentence_add(&text, "%s was the last to enter its last operation",
                     name_rank(s, last, f, whom));
    if (silence->us)
        sentence_add(&text, "nothing ended in the step's last %s",
                     FIG_US(silence->us));
    sentence_add(&text, "it hung, or was ended in the middle of a step%s",
                 silence->ended_well ? ", though its tasks ended without an "
                                       "error"
                                     : "");
    snprintf(f->next, sizeof(f->next),
             "if the job hung, read the last output of the processes of that "
             "communicator; record with --nccl-profile=recorder to see which "
             "ranks were "
             "missing");
    return 0;
}

/* Returns true if so many of its records are missing that figures could change.
 */
static bool lacks_much(const struct jp_likes *s, size_t rank)
{
    const struct jp_rank *x = &s->r->ranks[rank];

    return (double) x->records <
           limits_get(JP_LIMIT_COVERAGE) * (double) s->r->comms[x->comm].ops;
}

/* Judges data without the step's end, such as a folder of logs. 0 or -1. */
static int add_stopped(const struct jp_likes *s, size_t first, size_t silent,
                       const struct jp_silence *silence,
                       struct jp_findings *findings)
{
    int holes = first == SIZE_MAX ? 0 : has_holes(s, first);

    if (holes < 0)
        return -1;
    if (first != SIZE_MAX && !holes && is_plain(s, first))
        return add_first(s, first, 0, findings);
    if (silent != SIZE_MAX && lacks_much(s, silent))
        return add_silent(s, silent, 0, findings);
    return holes ? 0 : add_uneven(s, silence, findings);
}

/* Returns true if the silence at the end is longer than any pause of the
 * program before, by the factor `hang_silence_min`. This guards against calling
 * a checkpoint or an evaluation at the end a hang. */
static bool is_longest(const struct jp_silence *silence)
{
    return (double) silence->us >
           limits_get(JP_LIMIT_HANG_SILENCE) * (double) silence->before_us;
}

/* Looks for a hang in ended operations. The most specific finding is added: a
 * rank, else a communicator, else that something stopped. Where all tasks have
 * ended without an error, nothing hangs at the end, but the program may have
 * been ended in the middle of a step by what ended well. 0 or -1. */
static int compare_likes(const struct jp_result *r,
                         const struct jp_processes *p,
                         const struct jp_silence *silence,
                         struct jp_findings *findings)
{
    struct jp_likes s;
    size_t first, silent;
    int rc = 0;

    if (!p->known)
        return is_longest(silence) && !silence->ended_well
                   ? add_unknown(silence, true, findings)
                   : 0;
    if (likes_compare(&s, r, p) < 0)
        return -1;
    first = find_first(&s);
    silent = find_silent(&s);
    if (silence->ended_well)
        rc = add_uneven(&s, silence, findings);
    else if (!silence->us)
        rc = add_stopped(&s, first, silent, silence, findings);
    else if (silent != SIZE_MAX)
        rc = add_silent(&s, silent, silence->us, findings);
    else if (first != SIZE_MAX)
        rc = add_first(&s, first, silence->us, findings);
    else if (s.n_lags || is_longest(silence))
        rc = add_unknown(silence, s.n_lags, findings);
    likes_fini(&s);
    return rc;
}

/* Answers whether a hang would have been seen in ended operations alone. A
 * silence in the range of earlier pauses cannot be judged. */
static void state_silence(const struct jp_silence *silence,
                          struct jp_hypotheses *h)
{
    double before = limits_get(JP_LIMIT_HANG_SILENCE) *
                    (double) silence->before_us,
           least = limits_get(JP_LIMIT_HANG);

    if (silence->ended_well) /* see compare_likes */
        hypothesis_set(h, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_NOT_FOUND, NAN,
                       "all tasks ended without an error");
    else if (!silence->known)
        hypothesis_set(h, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "the end of the step is unknown");
    else if ((double) silence->us >= least && (double) silence->us <= before)
        hypothesis_set(h, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "silent for %s at the end, and for %s earlier",
                       FIG_US(silence->us), FIG_US(silence->before_us));
    else
        hypothesis_set(h, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_NOT_FOUND,
                       before > least ? before : least, NULL);
}

int hang_findings(const struct jp_result *r, const struct jp_processes *p,
                  const struct jp_nodes *nodes, bool whole,
                  struct jp_findings *findings)
{
    struct jp_hypotheses *h = findings->hypotheses;
    struct jp_silence silence;

    if (r->quality.recordings)
        hypothesis_set(h, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_NOT_FOUND,
                       limits_get(JP_LIMIT_HANG), NULL);
    else if (r->quality.traces)
        hypothesis_set(h, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "traces hold completed operations only");
    else if (!whole)
        hypothesis_set(h, JP_HYPOTHESIS_HANG, JP_HYPOTHESIS_NOT_JUDGED, NAN,
                       "records are missing");
    /* Operations in flight are direct evidence, whatever else is missing. */
    if (r->hang.operations &&
        (double) r->hang.age_us >= limits_get(JP_LIMIT_HANG))
        return add_recorded(r, p, findings);
    if (!whole || r->quality.recordings || r->quality.traces)
        return 0;
    if (silence_measure(r, nodes, &silence) < 0)
        return -1;
    state_silence(&silence, h);
    /* Counts are compared only after a long silence or without a known end:
     * ranks of a step that ended in order may differ by an operation. If all
     * tasks have ended well, the silence must also be unlike the run. */
    if ((silence.known && silence.us < JP_HANG_US) ||
        (silence.ended_well && !(silence.us && is_longest(&silence))))
        return 0;
    return compare_likes(r, p, &silence, findings);
}
