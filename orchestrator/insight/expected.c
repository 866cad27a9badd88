/* expected.c - how many records a complete recording would have, and what is
 * missing.
 *
 * expected_records compares the records with the best count there is: the
 * recorder's own counters, else sequence numbers (an upper bound for the share,
 * since numbers that no rank recorded may be lost or filtered), else the plan.
 * gaps_list then checks each way in which records can be missing, one function
 * each.
 */
#include "orchestrator/insight/expected.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bandwidth.h"
#include "common/figure.h"
#include "common/num.h"
#include "common/profiler.h"
#include "orchestrator/aggregate/ops.h"
#include "orchestrator/aggregate/pauses.h"
#include "orchestrator/insight/limits.h"

/* The pools of NCCL's example profiler, in slots: defaults of NCCL 2.29 and
 * later, of 2.23 to 2.27, and of 2.28. 0: that version has no such pool. */
static const struct {
    const char *env;
    uint64_t defaults[3];
} pools[JP_TRACE_POOLS] = {
    [JP_TRACE_COLL] = {"NCCL_PROFILE_COLL_POOL_SIZE", {8, 16, 256}},
    [JP_TRACE_P2P] = {"NCCL_PROFILE_P2P_POOL_SIZE", {8, 1024, 256}},
    [JP_TRACE_GROUP_API] = {"NCCL_PROFILE_GROUP_API_POOL_SIZE", {8, 0, 256}},
    [JP_TRACE_GROUP] = {"NCCL_PROFILE_GROUP_POOL_SIZE", {0, 16, 0}},
};

/* Returns true if the profiler's full pools keep the last events and drop the
 * first. */
static bool keeps_last(const struct jp_jobconf *conf)
{
    return conf && profiler_get(conf->nccl_mode)->keeps_last;
}

const char *expected_planned_loss(const struct jp_jobconf *conf)
{
    return conf && conf->nccl_mode && !profiler_get(conf->nccl_mode)->counts &&
                   conf->lost && *conf->lost
               ? conf->lost
               : NULL;
}

const char *expected_lost_tail(const struct jp_jobconf *conf)
{
    return keeps_last(conf) ? NULL : expected_planned_loss(conf);
}

/* Returns the slots of a pool as set at launch; 0: not set. */
static uint64_t planned_slots(const struct jp_jobconf *conf, const char *name)
{
    uint64_t slots = 0;

    for (size_t i = 0; conf && i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, name) &&
            num_parse_u64(conf->env[i].value, 0, UINT64_MAX, &slots, NULL) < 0)
            slots = 0;
    return slots;
}

/* Returns true if a trace with `most` events has filled pool i: as many as its
 * slots, if these were set, else exactly as many as one of the defaults. */
static bool is_full(const struct jp_jobconf *conf, unsigned i, uint64_t most)
{
    uint64_t slots = planned_slots(conf, pools[i].env);

    if (!most || slots)
        return most && most >= slots;
    for (size_t k = 0; k < 3; k++)
        if (pools[i].defaults[k] == most)
            return true;
    return false;
}

/* Returns the variable of the first pool that a trace has filled, and sets
 * *most to its number of events; NULL: none. */
static const char *full_pool(const struct jp_jobconf *conf,
                             const struct jp_quality *q, uint64_t *most)
{
    for (unsigned i = 0; i < JP_TRACE_POOLS; i++)
        if (is_full(conf, i, q->trace_most[i])) {
            *most = q->trace_most[i];
            return pools[i].env;
        }
    return NULL;
}

/* Returns true if pools are full and were planned to keep only a part of the
 * run. */
static bool overran(const struct jp_jobconf *conf, const struct jp_quality *q)
{
    uint64_t most;

    if (!keeps_last(conf) || conf->kept_ops >= conf->planned_ops)
        return false;
    return q->overflow_records || full_pool(conf, q, &most);
}

/* Ranges of missing ranks named before "..." */
#define RANGES_NAMED 6

uint32_t expected_tasks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes)
{
    if (nodes && nodes->step_tasks)
        return nodes->step_tasks;
    return conf ? conf->ntasks : 0;
}

uint32_t expected_nodes(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes)
{
    if (nodes && nodes->step_nodes)
        return nodes->step_nodes;
    return conf ? conf->nnodes : 0;
}

/* Returns the largest communicator; NULL: there is none. */
static const struct jp_comm *largest_comm(const struct jp_result *result)
{
    const struct jp_comm *largest = NULL;

    for (size_t i = 0; result && i < result->n_comms; i++)
        if (!largest || result->comms[i].n_ranks > largest->n_ranks)
            largest = &result->comms[i];
    return largest;
}

/* Returns how many processes of the last attempt wrote recordings. */
static uint32_t count_recorded(const struct jp_result *result)
{
    int64_t last = -1;
    uint32_t n = 0;

    for (size_t i = 0; result && i < result->n_recorded; i++) {
        int64_t restarts = result->recorded[i].launched.restarts;

        if (restarts > last)
            n = 0;
        last = restarts > last ? restarts : last;
        n += restarts == last;
    }
    return n;
}

uint32_t expected_ranks(const struct jp_jobconf *conf,
                        const struct jp_nodes *nodes,
                        const struct jp_result *result)
{
    uint32_t known = result ? result->quality.ranks_expected : 0;
    uint32_t tasks = expected_tasks(conf, nodes);
    uint32_t recorded = count_recorded(result);

    /* Where every communicator has all of its ranks, the other tasks are no
     * ranks. */
    if (known && (tasks < known || !result->quality.short_comms))
        return known;
    /* No operation has ended. Tasks that launch the ranks are none. */
    return known || tasks > recorded ? tasks : recorded;
}

/* Returns true for a setting that records a variable of NCCL which the user has
 * set. */
static bool is_own(const struct jp_setting *setting)
{
    return setting->source && !strcmp(setting->source, "environment") &&
           !strncmp(setting->key, "NCCL_", 5);
}

/* Returns true if jobprof would have set the same value. */
static bool is_planned(const struct jp_jobconf *conf,
                       const struct jp_setting *setting)
{
    for (size_t i = 0; i < conf->n_env; i++)
        if (!strcmp(conf->env[i].name, setting->key))
            return !strcmp(conf->env[i].value, setting->value);
    return false;
}

const struct jp_setting *expected_own_variable(const struct jp_jobconf *conf,
                                               size_t i)
{
    for (size_t k = 0; conf && k < conf->n_settings; k++)
        if (is_own(&conf->settings[k]) &&
            !is_planned(conf, &conf->settings[k]) && i-- == 0)
            return &conf->settings[k];
    return NULL;
}

const char *expected_own_plugin(const struct jp_jobconf *conf)
{
    const struct jp_setting *own;

    for (size_t i = 0; (own = expected_own_variable(conf, i)); i++)
        if (!strcmp(own->key, "NCCL_PROFILER_PLUGIN"))
            return own->value;
    return NULL;
}

/* Returns true if a size filter may explain numbers that no rank recorded: one
 * was set, or it is unknown whether one was (a folder of logs; the user's own
 * library or variables). */
static bool may_filter(const struct jp_jobconf *conf)
{
    const char *min_size = conf ? jobconf_find(conf, "min_size") : NULL;

    if (!conf || !conf->nccl_mode || expected_own_plugin(conf))
        return true;
    if (profiler_get(conf->nccl_mode)->counts)
        return false;
    for (size_t i = 0; i < conf->n_settings; i++)
        if (is_own(&conf->settings[i]) &&
            strstr(conf->settings[i].key, "MIN_SIZE"))
            return true;
    return !min_size || expected_filter(conf);
}

/* Returns true if the counters of whole nodes are missing. */
static bool lacks_nodes(const struct jp_nodes *nodes)
{
    return nodes && (nodes->n_missing || nodes->n_nodes < nodes->step_nodes);
}

/* Returns true if the user set it for this step, by option or environment.
 * Configuration files are about jobs in general. */
static bool is_told(const struct jp_jobconf *conf, const char *key)
{
    for (size_t i = 0; i < conf->n_settings; i++) {
        const struct jp_setting *s = &conf->settings[i];

        if (!strcmp(s->key, key))
            return s->source && (!strcmp(s->source, "option") ||
                                 !strcmp(s->source, "environment"));
    }
    return false;
}

/* Returns true if all tasks ended without an error. Others have not done all of
 * their operations, so the plan's number would be too high. */
static bool has_ended_well(const struct jp_nodes *nodes)
{
    for (size_t i = 0; nodes && i < nodes->n_nodes; i++)
        if (!nodes->nodes[i].finished)
            return false;
    return nodes && !nodes->tasks_failed;
}

/* Returns true if the plan knew the number of operations, and that the last
 * ones are not written. This is the only way to notice a tail that all ranks
 * lost: sequence numbers do not show it. */
static bool knows_tail(const struct jp_jobconf *conf,
                       const struct jp_nodes *nodes)
{
    return expected_lost_tail(conf) && conf->kept_ops < conf->planned_ops &&
           is_told(conf, "iterations") && is_told(conf, "colls") &&
           !may_filter(conf) && has_ended_well(nodes);
}

struct jp_expected expected_records(const struct jp_jobconf *conf,
                                    const struct jp_nodes *nodes,
                                    const struct jp_result *result)
{
    const struct jp_quality *q = result ? &result->quality : NULL;
    struct jp_expected x = {.coverage = -1, .judged = -1};
    uint64_t unseen, excused, planned, numbered;

    if (!q || q->expected_kind == JP_EXPECT_NONE || q->expected == 0 ||
        (q->expected_kind == JP_EXPECT_COUNTED && lacks_nodes(nodes)))
        return x;
    x.kind = q->expected_kind;
    x.records = q->expected;
    /* The counters do not belong to these records: nothing follows. */
    if (q->records > q->expected)
        return x;
    unseen = x.kind == JP_EXPECT_BOUND ? q->unseen_records : 0;
    /* Unseen numbers are among the expected records only if one rank has them
     * and another one has not. Else they are added, if no filter can explain
     * them. */
    x.excludes_unseen = unseen && q->records == q->expected;
    if (x.excludes_unseen && !may_filter(conf)) {
        x.records = x.records > UINT64_MAX - unseen ? UINT64_MAX
                                                    : x.records + unseen;
        x.excludes_unseen = false;
    }
    /* The plan counts operations of one rank. It is used only where sequence
     * numbers cannot show the loss. */
    planned = num_mul(conf ? conf->planned_ops : 0,
                      expected_ranks(conf, nodes, result));
    numbered = x.records;
    if (x.kind == JP_EXPECT_BOUND && planned > x.records) {
        bool full = overran(conf, q);

        x.tail = !full && knows_tail(conf, nodes);
        if (full || x.tail) {
            x.kind = JP_EXPECT_PLANNED;
            x.records = planned;
            x.excludes_unseen = false;
        }
    }
    x.coverage = (double) q->records / (double) x.records;
    if (x.tail) {
        x.judged = (double) q->records / (double) numbered;
        return x;
    }
    x.judged = x.coverage;
    /* judged leaves out what is missing by intent: a filter, or the recorder's
     * cap. */
    excused = !x.excludes_unseen && may_filter(conf) && expected_filter(conf)
                  ? unseen
                  : 0;
    excused = num_add(excused, num_add(q->capped, q->paused_records));
    excused = num_add(excused, q->in_flight_ended);
    if (x.records > excused && x.records - excused >= q->records)
        x.judged = (double) q->records / (double) (x.records - excused);
    return x;
}

/* Adds "from-to" to the list in buf. After RANGES_NAMED of them it adds "..."
 * once. *n: ranges so far. */
static void add_range(char *buf, size_t size, unsigned *n, uint32_t from,
                      uint32_t to)
{
    size_t len = strlen(buf);

    if (++*n > RANGES_NAMED + 1)
        return;
    if (*n == RANGES_NAMED + 1)
        snprintf(buf + len, size - len, ", ...");
    else if (from == to)
        snprintf(buf + len, size - len, "%s%" PRIu32, *n > 1 ? ", " : "", from);
    else
        snprintf(buf + len, size - len, "%s%" PRIu32 "-%" PRIu32,
                 *n > 1 ? ", " : "", from, to);
}

/* Writes the communicator's ranks without records to buf, as "3, 5-7, ...".
 * Returns their number. The result's ranks are sorted by communicator and rank.
 */
static uint32_t missing_ranks(const struct jp_result *result,
                              const struct jp_comm *comm, char *buf,
                              size_t size)
{
    size_t at = (size_t) (comm - result->comms);
    uint32_t next = 0, missing = 0; /* next: the lowest rank not yet judged */
    unsigned n = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < result->n_ranks; i++) {
        const struct jp_rank *rank = &result->ranks[i];

        if (rank->comm != at || rank->rank < next ||
            rank->rank >= comm->n_ranks ||
            (rank->records == 0 && rank->p2p_records == 0))
            continue;
        if (rank->rank > next) {
            add_range(buf, size, &n, next, rank->rank - 1);
            missing += rank->rank - next;
        }
        next = rank->rank + 1;
    }
    if (next < comm->n_ranks) {
        add_range(buf, size, &n, next, comm->n_ranks - 1);
        missing += comm->n_ranks - next;
    }
    return missing;
}

static bool is_size_filter(const struct jp_setting *setting)
{
    return !strcmp(setting->key, "min_size") && strcmp(setting->value, "0") &&
           strcmp(setting->value, "0 B");
}

/* Returns true if the profiler that ran obeys filters. A profiler that counts
 * its records ignores them. */
static bool is_obeyed(const struct jp_jobconf *conf)
{
    return conf && !profiler_get(conf->nccl_mode)->counts;
}

bool expected_is_filter(const struct jp_jobconf *conf,
                        const struct jp_setting *setting)
{
    return is_obeyed(conf) &&
           (is_size_filter(setting) ||
            (!strcmp(setting->key, "p2p") && !strcmp(setting->value, "off")));
}

const struct jp_setting *expected_filter(const struct jp_jobconf *conf)
{
    for (size_t i = 0; is_obeyed(conf) && i < conf->n_settings; i++)
        if (is_size_filter(&conf->settings[i]))
            return &conf->settings[i];
    return NULL;
}

/* --- one check for each way in which records can be missing --------------- */

#define NAMES_SHOWN 4

static bool is_counted(const struct jp_evidence *e)
{
    return e->expected.kind == JP_EXPECT_COUNTED;
}

/* Adds how complete the records are by the plan or by sequence numbers. */
static void bound_coverage(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (e->expected.kind == JP_EXPECT_PLANNED && !e->expected.tail)
        sentence_add(s, "%s of the records present (%s of %s by the plan)",
                     FIG_SHARE(e->expected.coverage), FIG_COUNT(q->records),
                     FIG_COUNT(e->expected.records));
    else if (q->records < e->expected.records)
        sentence_add(s,
                     "at most %s of the records present (%s of %s by sequence "
                     "numbers)",
                     FIG_SHARE(e->expected.coverage), FIG_COUNT(q->records),
                     FIG_COUNT(e->expected.records));
    if (q->unseen_records)
        sentence_add(s, "%s record%s recorded by no rank: %s",
                     FIG_COUNT(q->unseen_records), plural(q->unseen_records),
                     may_filter(e->conf) ? "lost, or below a size filter"
                                         : "lost");
}

/* The records of operations that have one of each of their ranks, and messages.
 * Lateness is judged by these. */
struct whole {
    uint64_t records;
    uint64_t
        until_us;     /* since 1970: before this all are complete; 0: unknown */
    uint64_t last_us; /* the last record */
    bool from_start;  /* ... and that is a tenth of the run or more */
};

/* Finds how far the complete operations reach. Without memory only their number
 * is known. */
static struct whole find_whole(const struct jp_result *r)
{
    struct ops_reader *reader = calloc(1, sizeof(*reader));
    uint64_t first_us = UINT64_MAX, last_us = 0;
    struct whole w = {0};

    w.records = r->quality.p2p_records;
    for (size_t i = 0; i < r->n_comms; i++)
        w.records += r->comms[i].ops_complete * r->comms[i].n_ranks;
    if (!reader || !r->ops)
        goto out;
    reader->ops = r->ops;
    ops_want(reader, OPS_N | OPS_DUMP_MIN);
    for (size_t i = 0; i < r->n_ops; i++) {
        const struct jp_op *op = ops_at(reader, i);
        uint64_t us = op->dump_min_us;

        if (!us)
            continue;
        first_us = us < first_us ? us : first_us;
        last_us = us > last_us ? us : last_us;
        if (op->n < r->comms[op->comm].n_ranks &&
            (!w.until_us || us < w.until_us))
            w.until_us = us;
    }
    w.last_us = last_us;
    w.from_start = w.until_us > first_us &&
                   w.until_us - first_us >= (last_us - first_us) / 10;
out:
    free(reader);
    return w;
}

uint64_t gaps_until(const struct jp_evidence *e)
{
    struct whole w = find_whole(e->result);

    return w.until_us ? w.until_us : w.last_us;
}

/* Returns the setting of that name; NULL: none. */
static const struct jp_setting *find_setting(const struct jp_jobconf *conf,
                                             const char *key)
{
    for (size_t i = 0; conf && i < conf->n_settings; i++)
        if (!strcmp(conf->settings[i].key, key))
            return &conf->settings[i];
    return NULL;
}

/* The limits that older recordings may have reached; they do not say it. A file
 * that has grown to a quarter of disk= has reached that one: the recorder keeps
 * up to half of it for the end, and writes in blocks. A smaller file may have
 * reached either, if a block was large. */
static unsigned guess_limits(const struct jp_quality *q,
                             const struct jp_setting *disk_setting)
{
    uint64_t disk = 0, files = q->recordings;

    if (disk_setting &&
        num_parse_size(disk_setting->value, 0, UINT64_MAX, &disk, NULL) < 0)
        disk = 0;
    return files && disk && q->bytes_read / files >= disk / 4
               ? JPR_LIMIT_DISK
               : JPR_LIMIT_DISK | JPR_LIMIT_MIN_FREE;
}

char *gaps_room(const struct jp_evidence *e, char buf[JP_GAPS_ROOM])
{
    static const struct {
        enum jpr_limit limit;
        const char *key, *what;
    } of[] = {{JPR_LIMIT_DISK, "disk", "of a recording"},
              {JPR_LIMIT_MIN_FREE, "min_free", "of the file system"}};
    const struct jp_quality *q = &e->result->quality;
    bool told = q->room.limits != 0;
    unsigned limits = told ? q->room.limits
                           : guess_limits(q, find_setting(e->conf, "disk"));
    size_t len = 0;

    *buf = '\0';
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        const struct jp_setting *s = find_setting(e->conf, of[i].key);

        if (!(limits & of[i].limit) || (!s && !told) || len >= JP_GAPS_ROOM)
            continue;
        len += (size_t) snprintf(buf + len, JP_GAPS_ROOM - len, "%s%s",
                                 len ? (told ? " and " : " or ") : "",
                                 of[i].key);
        if (len < JP_GAPS_ROOM)
            len += (size_t) snprintf(buf + len, JP_GAPS_ROOM - len,
                                     "=%.32s %s%s%.40s%s", s ? s->value : "",
                                     of[i].what, s ? " (" : "",
                                     !s          ? ""
                                     : s->source ? s->source
                                                 : "of unknown origin",
                                     s ? ")" : "");
    }
    if (limits & JPR_LIMIT_WRITE && len < JP_GAPS_ROOM)
        snprintf(buf + len, JP_GAPS_ROOM - len, "%sa write failed: %s",
                 len ? " and " : "",
                 q->room.error <= INT_MAX ? strerror((int) q->room.error)
                                          : "unknown");
    if (!*buf)
        snprintf(buf, JP_GAPS_ROOM,
                 "a limit of the recorder (disk= or "
                 "min_free=)");
    return buf;
}

/* Adds what share of the records is there, if it is too small (`coverage_min`).
 * Returns true if the operations with the records of all their ranks are too
 * few for an all-clear (`whole_min`). */
static bool coverage(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    double judged = e->expected.judged;
    bool is_more = e->expected.kind != JP_EXPECT_NONE &&
                   q->records > e->expected.records;
    struct whole w;

    if (is_more)
        sentence_add(s,
                     "%s records where %s were expected: the counts do not "
                     "belong to these files",
                     FIG_COUNT(q->records), FIG_COUNT(e->expected.records));
    if (judged < 0 || judged >= limits_get(JP_LIMIT_COVERAGE))
        return is_more;
    if (is_counted(e))
        sentence_add(s, "%s of the records present (%s of %s, counted)",
                     FIG_SHARE(e->expected.coverage), FIG_COUNT(q->records),
                     FIG_COUNT(e->expected.records));
    else
        bound_coverage(e, s);
    w = find_whole(e->result);
    if (w.from_start)
        sentence_add(s, "whole until %s", FIG_UTC(w.until_us));
    /* the number of records that count here is q->records / judged */
    return is_more || (double) w.records * judged <
                          limits_get(JP_LIMIT_WHOLE) * (double) q->records;
}

static void lost(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (q->lost && !is_counted(e)) /* if counted, the coverage includes them */
        sentence_add(s, "the recorder lost %s record%s", FIG_COUNT(q->lost),
                     plural(q->lost));
}

/* By the recorder's own word. */
static void failed_writes(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (q->room.limits & JPR_LIMIT_WRITE && q->lost > q->capped)
        sentence_add(s, "a write of a recording failed: %s",
                     q->room.error <= INT_MAX ? strerror((int) q->room.error)
                                              : "unknown");
}

static void overwritten(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (q->overwritten)
        sentence_add(s,
                     "Inspector overwrote %s record%s before it could write "
                     "%s (dump_stats)",
                     FIG_COUNT(q->overwritten), plural(q->overwritten),
                     q->overwritten == 1 ? "it" : "them");
}

/* Adds that a pool was probably full. A full pool drops the first or the last
 * operations, depending on the release. Dropped operations after the last
 * number leave no gap, so all that shows is a trace with exactly as many events
 * as the pool has slots. */
static void say_full_pool(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_jobconf *conf = e->conf;
    const char *pool;
    uint64_t most;

    /* Pools planned for the whole run are full at its end. */
    if (keeps_last(conf) && conf->planned_ops &&
        conf->kept_ops >= conf->planned_ops)
        return;
    pool = full_pool(conf, &e->result->quality, &most);
    if (pool)
        sentence_add(s,
                     "a trace holds as many events as a pool (%s=%" PRIu64
                     "): the number of other dropped events is unknown",
                     pool, most);
}

/* Gaps in the sequence numbers prove that a pool overflowed. */
static void full_pools(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    unsigned before = s->clauses;

    if (q->overflow_records)
        sentence_add(s,
                     "%s record%s dropped by the example plugin's full pools "
                     "(NCCL_PROFILE_*_POOL_SIZE), by sequence numbers",
                     FIG_COUNT(q->overflow_records),
                     plural(q->overflow_records));
    if (q->traces)
        say_full_pool(e, s);
    if (s->clauses > before && keeps_last(e->conf) &&
        expected_planned_loss(e->conf))
        sentence_add(s, "by the plan it %s", e->conf->lost);
}

/* Whether ranks that are missing here are in other steps of the job. */
static bool is_elsewhere(const struct jp_evidence *e)
{
    return e->nodes && *e->nodes->elsewhere;
}

/* Adds which ranks of the job left no record. */
static void ranks(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    const struct jp_comm *comm = largest_comm(e->result);
    uint32_t of = expected_ranks(e->conf, e->nodes, e->result);
    char names[160];

    if (q->lost_comms)
        sentence_add(s,
                     "the recorder keeps 4,096 communicators of a process at a "
                     "time, and had no room for %s more",
                     FIG_COUNT(q->lost_comms));
    /* a rank without records of one communicator may have those of another */
    if (!of || q->ranks_seen >= of || q->lost_comms)
        return;
    if (is_elsewhere(e)) {
        sentence_add(s,
                     "%s of %s rank%s not of this step: step%s %s of the job "
                     "has ranks of the same communicators, and the report of "
                     "the job, ../job/report.html, joins them",
                     FIG_COUNT(of - q->ranks_seen), FIG_COUNT(of),
                     of == 1 ? " is" : "s are",
                     strchr(e->nodes->elsewhere, ',') ? "s" : "",
                     e->nodes->elsewhere);
        return;
    }
    if (comm && comm->n_ranks == of &&
        missing_ranks(e->result, comm, names, sizeof(names)) ==
            of - q->ranks_seen)
        sentence_add(s, "%s of %s rank%s left no records (%s)",
                     FIG_COUNT(of - q->ranks_seen), FIG_COUNT(of), plural(of),
                     names);
    else
        sentence_add(s, "%s of %s rank%s left no records",
                     FIG_COUNT(of - q->ranks_seen), FIG_COUNT(of), plural(of));
}

/* Returns how many communicators have missing ranks, besides the one of all
 * ranks, which ranks() has judged. *others: of how many. *of_all: whether there
 * is one of all ranks. */
static size_t missing_comms(const struct jp_evidence *e, size_t *others,
                            bool *of_all)
{
    const struct jp_result *r = e->result;
    const struct jp_comm *largest = largest_comm(r);
    size_t n = 0;

    *of_all = largest &&
              largest->n_ranks == expected_ranks(e->conf, e->nodes, r);

    for (size_t i = 0; i < r->n_comms; i++) {
        const struct jp_comm *comm = &r->comms[i];

        /* without operations: no collective has all ranks */
        if ((*of_all && comm == largest) || !comm->ops)
            continue;
        ++*others;
        n += comm->ranks_seen < comm->n_ranks;
    }
    return n;
}

static void comms(const struct jp_evidence *e, struct jp_sentence *s)
{
    bool of_all;
    size_t others = 0, n = missing_comms(e, &others, &of_all);

    if (n)
        sentence_add(s, "%s of %s %scommunicators have missing ranks",
                     FIG_COUNT(n), FIG_COUNT(others), of_all ? "other " : "");
}

/* Appends name as the n-th of a list of at most NAMES_SHOWN, then "..." once.
 */
static void add_name(char *buf, size_t size, size_t n, const char *name)
{
    size_t len = strlen(buf);

    if (n < NAMES_SHOWN)
        snprintf(buf + len, size - len, "%s%.60s", n ? ", " : "", name);
    else if (n == NAMES_SHOWN)
        snprintf(buf + len, size - len, ", ...");
}

void gaps_nodes(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint32_t of = expected_nodes(e->conf, e->nodes);
    char names[320] = "";

    if (!e->nodes || !e->nodes->n_missing)
        return;
    for (size_t i = 0; i < e->nodes->n_missing; i++)
        add_name(names, sizeof(names), i, e->nodes->missing[i]);
    if (of >= e->nodes->n_missing)
        sentence_add(s, "%s of %s node%s without a record (%s)",
                     FIG_COUNT(e->nodes->n_missing), FIG_COUNT(of), plural(of),
                     names);
    else
        sentence_add(s, "%s node%s without a record (%s)",
                     FIG_COUNT(e->nodes->n_missing),
                     plural(e->nodes->n_missing), names);
    if (e->nodes->n_nodes && e->nodes->why_unprofiled)
        sentence_add(s, "%.200s", e->nodes->why_unprofiled);
}

void gaps_own_folder(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_nodes *nodes = e->nodes;

    if (nodes && nodes->own_missed)
        sentence_add(s,
                     "%s file%s could not be taken from %.200s (jobprof "
                     "aggregate reads %s there)",
                     FIG_COUNT(nodes->own_missed), plural(nodes->own_missed),
                     nodes->own_folder, nodes->own_missed == 1 ? "it" : "them");
}

static void unfinished(const struct jp_evidence *e, struct jp_sentence *s)
{
    char names[320] = "";
    size_t n = 0;

    if (!e->nodes || is_counted(e)) /* if counted, the coverage includes them */
        return;
    for (size_t i = 0; i < e->nodes->n_nodes; i++)
        if (!e->nodes->nodes[i].finished)
            add_name(names, sizeof(names), n++, e->nodes->nodes[i].name);
    if (n)
        sentence_add(s, "%s node%s did not finish (%s)", FIG_COUNT(n),
                     plural(n), names);
}

static void cut(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->result->quality.cut_files;

    if (n)
        sentence_add(s, "%s of %s file%s end%s in mid-line", FIG_COUNT(n),
                     FIG_COUNT(e->result->quality.files),
                     plural(e->result->quality.files), n == 1 ? "s" : "");
}

/* Whether more than the last moment may be missing from recordings without
 * their end. What a recording lacks after its limit was reached is left out by
 * intent, and said so. */
static bool has_cut(const struct jp_evidence *e)
{
    const struct jp_quality *q = &e->result->quality;
    bool by_limit = q->capped && q->lost <= q->capped && !q->damaged_blocks;

    return q->unbounded_recordings && !by_limit;
}

static void unbounded_recordings(const struct jp_evidence *e,
                                 struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    char since[8 + JP_FIGURE_LEN] = "";

    if (!has_cut(e))
        return;
    if (q->unbounded_since_us)
        snprintf(since, sizeof(since), " since %s",
                 FIG_UTC(q->unbounded_since_us));
    sentence_add(s,
                 "%s of %s recording%s cut: the further loss of %s of them is "
                 "unknown%s",
                 FIG_COUNT(q->cut_recordings), FIG_COUNT(q->recordings),
                 plural(q->recordings), FIG_COUNT(q->unbounded_recordings),
                 since);
}

/* A recording without its end: its process was killed, or the file was cut. The
 * recorder counts every 100 ms. What it had counted and not written by then, as
 * times waited for a proof, are expected records that are missing. */
static void cut_recordings(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;

    if (q->cut_recordings && !q->unbounded_recordings)
        sentence_add(
            s,
            "%s of %s recording%s cut: at most the last 100 ms of %s not "
            "counted",
            FIG_COUNT(q->cut_recordings), FIG_COUNT(q->recordings),
            plural(q->recordings),
            q->cut_recordings == 1 ? "it is" : "each are");
}

/* Whether an operation that had not ended when the records end had waited for
 * so much of the run that it may be the fault itself. */
static bool is_waiting(const struct jp_evidence *e)
{
    const struct jp_quality *q = &e->result->quality;
    double run_us = e->result->ops ? (double) ops_run_us(e->result->ops) : 0;

    return q->in_flight > q->in_flight_ended &&
           (double) q->in_flight_us > (1 - limits_get(JP_LIMIT_WHOLE)) * run_us;
}

/* Adds the operations that had not ended. Returns is_waiting. */
static bool in_flight(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    uint64_t n = q->in_flight - q->in_flight_ended;
    bool is_long = is_waiting(e);

    if (!n)
        return false;
    sentence_add(s,
                 "%s operation%s had not ended%s%s (jobprof show --pending "
                 "lists them)",
                 FIG_COUNT(n), plural(n), is_long ? ", the oldest after " : "",
                 is_long ? FIG_US((double) q->in_flight_us) : "");
    return is_long;
}

/* Somebody switched the recording off for a while. */
static void pauses(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    char when[JP_PAUSES * 60] = "";
    size_t len = 0;

    for (size_t i = 0; i < q->n_pauses; i++) {
        const struct jp_pause *p = &q->pauses[i];

        bool several = q->pauses_joined && i + 1 == q->n_pauses;

        len += (size_t) snprintf(when + len, sizeof(when) - len, "%s%s%s",
                                 several ? ", at times from "
                                 : i     ? ", "
                                         : "from ",
                                 FIG_UTC(p->from_us),
                                 p->to_us ? " to " : " to the end");
        if (p->to_us)
            len += (size_t) snprintf(when + len, sizeof(when) - len, "%s",
                                     FIG_UTC(p->to_us));
    }
    if (q->n_pauses && !q->paused_records)
        sentence_add(s, "not recorded %s: it was switched off", when);
    else if (q->n_pauses)
        sentence_add(s,
                     "not recorded %s: it was switched off, %s%s operation%s%s",
                     when, q->paused_by_mask ? "at least " : "",
                     FIG_COUNT(q->paused_records), plural(q->paused_records),
                     q->paused_by_mask ? " by their numbers" : "");
}

static void damaged(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->result->quality.damaged_blocks;

    if (n)
        sentence_add(s, "%s damaged block%s in the recordings", FIG_COUNT(n),
                     plural(n));
}

static void left_out(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->result->quality.left_out_records;

    if (n)
        sentence_add(s, "%s record%s left out (the join's memory limit)",
                     FIG_COUNT(n), plural(n));
}

/* Two processes with one rank in one folder are two runs, and their operations
 * would be joined; or NCCL gave two communicators one id. */
static void shared(const struct jp_evidence *e, struct jp_sentence *s)
{
    const struct jp_quality *q = &e->result->quality;
    /* each communicator counts its own */
    uint32_t n = q->shared_ranks < q->ranks_seen ? q->shared_ranks
                                                 : q->ranks_seen;

    if (n && e->result->quality.twin_recordings)
        sentence_add(s,
                     "%s rank%s with records of two processes: NCCL gave two "
                     "communicators the same id (2.23 does so for two splits "
                     "with one colour), and their operations cannot be told "
                     "apart",
                     FIG_COUNT(n), plural(n));
    else if (n)
        sentence_add(s,
                     "%s rank%s with records of two processes: "
                     "probably more than one run is in this folder",
                     FIG_COUNT(n), plural(n));
}

/* Whether so many lines are bad that a fault could be among them. */
static bool has_bad_lines(const struct jp_evidence *e)
{
    const struct jp_quality *q = &e->result->quality;
    double lines = (double) q->bad_lines + (double) q->records +
                   (double) q->unknown_lines + (double) q->duplicate_records;

    return (double) q->bad_lines > lines * limits_get(JP_LIMIT_BAD_LINES);
}

static void bad_lines(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = e->result->quality.bad_lines;

    if (has_bad_lines(e))
        sentence_add(s, "%s line%s could not be read", FIG_COUNT(n), plural(n));
}

/* Returns how many records there would be of operations while the recording was
 * off, and sets *unseen: of all operations that no rank has recorded. */
static double count_unseen(const struct jp_result *result, double *unseen)
{
    const struct jp_quality *q = &result->quality;
    const struct jp_ops *ops = result->ops;
    double paused = (double) pauses_records(
        q, ops ? ops->dump_first : 0,
        ops && ops->dump_last ? ops->dump_last : UINT64_MAX);

    *unseen =
        fmax(paused, (double) q->unseen_records - (double) q->unseen_before);
    return paused;
}

double expected_seen(const struct jp_result *result)
{
    double records = (double) result->quality.records, unseen;

    count_unseen(result, &unseen);
    return records > 0 ? records / (records + unseen) : 1;
}

double expected_seen_while_on(const struct jp_result *result)
{
    double records = (double) result->quality.records, unseen;
    double paused = count_unseen(result, &unseen);

    if (result->quality.pauses_joined) /* when it was off is not known */
        paused = 0;
    return records > 0 ? records / (records + unseen - paused) : 1;
}

/* functions whose names are listed */
#define LISTED 3

char *expected_functions(const struct jp_result *result,
                         char buf[JP_EXPECTED_FUNCTIONS])
{
    size_t n = 0, used = 0;

    *buf = '\0';
    for (size_t i = 0; i < result->n_coll_names; i++) {
        const char *name = result->coll_names[i];

        if (!strcmp(name, "Send") || !strcmp(name, "Recv"))
            continue;
        if (n++ < LISTED)
            used += (size_t) snprintf(buf + used, JP_EXPECTED_FUNCTIONS - used,
                                      "%s%.24s", n > 1 ? ", " : " (", name);
    }
    if (n > LISTED)
        snprintf(buf, JP_EXPECTED_FUNCTIONS, " (%s functions)", FIG_COUNT(n));
    else if (n)
        snprintf(buf + used, JP_EXPECTED_FUNCTIONS - used, ")");
    return buf;
}

uint64_t gaps_unseen_waits(const struct jp_result *result)
{
    const struct jp_quality *q = &result->quality;
    uint64_t waits = q->unseen_calls;

    for (size_t i = 0; i < q->n_unseen; i++)
        if (!collective_is_barrier(q->unseen[i].func))
            waits -= waits < q->unseen[i].calls ? waits : q->unseen[i].calls;
    return (double) waits > (1 - limits_get(JP_LIMIT_COVERAGE)) *
                                ((double) waits + (double) q->records)
               ? waits
               : 0;
}

/* Adds that waits are unknown. The verdict adds the functions. */
static void unseen_waits(const struct jp_evidence *e, struct jp_sentence *s)
{
    uint64_t n = gaps_unseen_waits(e->result);

    if (n)
        sentence_add(s,
                     "of %s collective%s in which ranks wait for each other "
                     "NCCL reported nothing",
                     FIG_COUNT(n), plural(n));
}

bool gaps_list(const struct jp_evidence *e, struct jp_sentence *s)
{
    /* hides: what is missing could be a fault. Otherwise it is the last moment
     * of the run, or a line of a log whose loss `coverage` counts. */
    static const struct {
        void (*check)(const struct jp_evidence *, struct jp_sentence *);
        bool hides;
    } checks[] = {
        {unseen_waits, true},
        {full_pools, true},
        {ranks, true},
        {comms, true},
        {gaps_nodes, true},
        {unfinished, true},
        {cut, false},
        {unbounded_recordings, true},
        {cut_recordings, false},
        {pauses, false},
        {damaged, true},
        {left_out, true},
        {shared, true},
        {lost, true},
        {failed_writes, true},
        {overwritten, true},
        {bad_lines, true},
        {gaps_own_folder, true},
    };
    bool hides = coverage(e, s);
    bool waits = in_flight(e, s);

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        unsigned before = s->clauses;

        checks[i].check(e, s);
        hides |= checks[i].hides && s->clauses > before;
    }
    return hides || waits;
}

/* --- what to look at ------------------------------------------------------ */

bool gaps_runs(const struct jp_evidence *e)
{
    return e->nodes && !e->nodes->over && e->nodes->going == NODES_GOING_ON;
}

bool gaps_may_run(const struct jp_evidence *e)
{
    return e->nodes && !e->nodes->over &&
           e->nodes->going == NODES_GOING_UNKNOWN;
}

/* Each returns true if the data shows that reason. */
static bool has_twins(const struct jp_evidence *e)
{
    return e->result->quality.shared_ranks > 0 &&
           e->result->quality.twin_recordings;
}

static bool has_shared(const struct jp_evidence *e)
{
    return e->result->quality.shared_ranks > 0 &&
           !e->result->quality.twin_recordings;
}

static bool has_unseen(const struct jp_evidence *e)
{
    return gaps_unseen_waits(e->result) > 0;
}

static bool has_lost_comms(const struct jp_evidence *e)
{
    return e->result->quality.lost_comms > 0;
}

static bool has_lost(const struct jp_evidence *e)
{
    const struct jp_quality *q = &e->result->quality;

    return q->lost > q->capped && !q->lost_comms;
}

static bool has_overwritten(const struct jp_evidence *e)
{
    return e->result->quality.overwritten > 0;
}

static bool has_pools(const struct jp_evidence *e)
{
    uint64_t most;

    return e->result->quality.overflow_records ||
           (e->result->quality.traces &&
            full_pool(e->conf, &e->result->quality, &most));
}

static bool has_missing_nodes(const struct jp_evidence *e)
{
    return e->nodes && e->nodes->n_missing;
}

static bool has_own_folder(const struct jp_evidence *e)
{
    return e->nodes && e->nodes->own_missed;
}

static bool has_missing_ranks(const struct jp_evidence *e)
{
    return !e->result->quality.lost_comms && !is_elsewhere(e) &&
           e->result->quality.ranks_seen <
               expected_ranks(e->conf, e->nodes, e->result);
}

/* Whether traces of kernels are all that there is. */
static bool is_traced(const struct jp_evidence *e)
{
    const struct jp_quality *q = &e->result->quality;

    return q->files && q->files == q->kernel_traces;
}

static bool has_missing_traces(const struct jp_evidence *e)
{
    return has_missing_ranks(e) && is_traced(e);
}

static bool has_missing_records(const struct jp_evidence *e)
{
    return has_missing_ranks(e) && !has_missing_traces(e);
}

static bool has_damaged(const struct jp_evidence *e)
{
    return e->result->quality.damaged_blocks > 0;
}

static bool has_left_out(const struct jp_evidence *e)
{
    return e->result->quality.left_out_records > 0;
}

static bool has_comms(const struct jp_evidence *e)
{
    return missing_comms(e, &(size_t){0}, &(bool){false}) > 0;
}

static bool has_unfinished(const struct jp_evidence *e)
{
    for (size_t i = 0; e->nodes && !is_counted(e) && i < e->nodes->n_nodes; i++)
        if (!e->nodes->nodes[i].finished)
            return true;
    return false;
}

static bool has_tail(const struct jp_evidence *e)
{
    return e->expected.tail &&
           e->expected.coverage < limits_get(JP_LIMIT_COVERAGE);
}

static bool is_miscounted(const struct jp_evidence *e)
{
    return e->expected.kind != JP_EXPECT_NONE &&
           e->result->quality.records > e->expected.records;
}

/* Whether the tasks are known to have ended, and without an error. */
static bool is_well(const struct jp_evidence *e)
{
    return e->nodes && e->nodes->n_nodes && has_ended_well(e->nodes);
}

void gaps_reasons(const struct jp_evidence *e, bool uneven,
                  struct jp_reasons *reasons)
{
    static const struct {
        bool (*is)(const struct jp_evidence *);
        enum jp_reason reason;
    } rows[] = {
        {has_shared, JP_REASON_SHARED},
        {has_twins, JP_REASON_TWINS},
        {has_unseen, JP_REASON_UNSEEN},
        {is_waiting, JP_REASON_IN_FLIGHT},
        {is_miscounted, JP_REASON_MISCOUNTED},
        {is_elsewhere, JP_REASON_ELSEWHERE},
        {has_lost_comms, JP_REASON_LOST_COMMS},
        {has_lost, JP_REASON_LOST},
        {has_overwritten, JP_REASON_OVERWRITTEN},
        {has_pools, JP_REASON_POOLS},
        {has_tail, JP_REASON_TAIL},
        {has_missing_nodes, JP_REASON_NODES},
        {has_own_folder, JP_REASON_FOLDER},
        {has_missing_traces, JP_REASON_RANKS_TRACED},
        {has_missing_records, JP_REASON_RANKS},
        {has_damaged, JP_REASON_DAMAGED},
        {has_bad_lines, JP_REASON_BAD_LINES},
        {has_left_out, JP_REASON_MEMORY},
        {has_cut, JP_REASON_CUT},
        {has_unfinished, JP_REASON_UNFINISHED},
        {has_comms, JP_REASON_COMMS},
    };

    if (uneven)
        reasons_add(reasons, JP_REASON_UNEVEN);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].is(e))
            reasons_add(reasons, rows[i].reason);
    if (!reasons->n)
        reasons_add(reasons, is_traced(e) ? JP_REASON_STEPS_DIFFER
                             : is_well(e) ? JP_REASON_UNKNOWN_LOSS
                                          : JP_REASON_UNKNOWN_CUT);
}
