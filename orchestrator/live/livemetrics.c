/* livemetrics.c - the node's snapshot as metrics. */
#include "orchestrator/live/livemetrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "orchestrator/live/livecells.h"
#include "orchestrator/live/livestate.h"
#include "orchestrator/metrics/metricsfile.h"

/* Who makes the others wait, at most so many of them. */
#define LATE_MAX 32
#define RANK_BYTES 32

struct livemetrics {
    const struct module_place *place;
    struct metricsfile_step step;
    uint64_t written_ms; /* 0: never */
    bool there;
};

/* What becomes labels and values. */
struct look {
    struct livemetrics *m;
    const struct livemetrics_look *at;
    struct metrics_set *set;
};

struct livemetrics *livemetrics_create(const struct module_place *place)
{
    struct livemetrics *m = place->metrics ? calloc(1, sizeof(*m)) : NULL;

    if (!m)
        return NULL;
    m->place = place;
    m->step = (struct metricsfile_step){place->component, place->metrics->step,
                                        place->nodeid};
    metricsfile_clean(place->metrics->folder, 0, NULL, NULL);
    return m;
}

void livemetrics_destroy(struct livemetrics *m)
{
    free(m);
}

/* --- which rank ------------------------------------------------------------
 */

/* The task's number, where only one process has it; else its rank in its
 * largest communicator: a program may start a process a GPU in one task. */
static void name_rank(const struct live_snap *snap, uint32_t at,
                      char buf[RANK_BYTES])
{
    int64_t task = snap->ranks[at].task, rank = -1, largest = -1;
    bool shared = task < 0;

    for (uint32_t i = 0; i < snap->n_ranks; i++)
        shared = shared || (i != at && snap->ranks[i].task == task);
    for (uint32_t i = 0; shared && i < snap->n_fronts; i++) {
        const struct live_front *f = &snap->fronts[i];

        if (f->rank == at && snap->comms[f->comm].n_ranks > largest) {
            largest = snap->comms[f->comm].n_ranks;
            rank = f->comm_rank;
        }
    }
    if (!shared || rank >= 0)
        snprintf(buf, RANK_BYTES, "%" PRId64, shared ? rank : task);
    else
        snprintf(buf, RANK_BYTES, "pid%" PRId64, snap->ranks[at].pid);
}

/* The same of a process of any node. */
static void name_late(const struct livelate *late, uint32_t at,
                      char buf[RANK_BYTES])
{
    const struct livelate_process *p = &late->processes[at];
    bool shared = p->task < 0;

    for (size_t i = 0; i < late->n && !shared; i++)
        shared = i != at && late->processes[i].task == p->task &&
                 !strcmp(late->processes[i].node, p->node);
    if (!shared || p->rank >= 0)
        snprintf(buf, RANK_BYTES, "%" PRId64, shared ? p->rank : p->task);
    else
        snprintf(buf, RANK_BYTES, "pid%" PRId64, p->pid);
}

/* --- values ----------------------------------------------------------------
 */

#define STEP_LABELS(look)                                                      \
    (look)->m->place->metrics->job, (look)->m->place->metrics->step

static int add_rank(const struct look *look, uint32_t i, const char *rank)
{
    const struct live_snap *snap = look->at->snap;
    const struct live_rank *r = &snap->ranks[i];
    double *v = metrics_add(look->set, METRICS_RANK, STEP_LABELS(look),
                            look->m->place->node, rank);
    int64_t oldest_ns = 0;

    if (!v)
        return -1;
    for (uint32_t k = 0; k < snap->n_ops; k++) {
        const struct live_op *op = &snap->ops[k];

        if (op->rank == i && !op->captured && !op->unsure && !op->cut_short &&
            op->start_ns > 0 && op->until_ns - op->start_ns > oldest_ns)
            oldest_ns = op->until_ns - op->start_ns;
    }
    v[METRIC_OPERATIONS] = (double) r->over;
    v[METRIC_BYTES] = (double) r->bytes;
    if (!r->logs) {
        v[METRIC_IN_FLIGHT] = (double) r->in_flight;
        v[METRIC_OLDEST] = (double) oldest_ns / 1e9;
    } else if (snap->real_ns >= (uint64_t) r->counted_ns) {
        v[METRIC_LAST_RECORD] =
            (double) (snap->real_ns - (uint64_t) r->counted_ns) / 1e9;
    }
    v[METRIC_BUSY] = (double) r->share_permille / 1e3;
    v[METRIC_CPU] = (double) r->cpu_ms / 1e3;
    if (r->gpu_permille >= 0)
        v[METRIC_GPU_BUSY] = r->gpu_permille / 1e3;
    return 0;
}

static int add_states(const struct look *look)
{
    const struct live_snap *snap = look->at->snap;
    unsigned n[STUCK_N_STATES] = {0};

    for (uint32_t i = 0; i < snap->n_ranks; i++)
        n[snap->ranks[i].state]++;
    for (size_t i = 0; i < STUCK_N_STATES; i++) {
        double *v = metrics_add(look->set, METRICS_STATE, STEP_LABELS(look),
                                look->m->place->node, stuck_state_words[i]);

        if (!v)
            return -1;
        v[METRIC_STATE] = n[i];
    }
    return 0;
}

static enum livestate_word verdict_of(const struct livejoin *join)
{
    const struct stuck *stuck = livejoin_state(join);

    if (stuck->phase == STUCK_CONFIRMED)
        return LIVESTATE_HANG;
    if (stuck->phase == STUCK_SUSPECT ||
        livejoin_stall(join)->phase == STUCK_SUSPECT)
        return LIVESTATE_SUSPECT;
    return livejoin_late(join)->n_late ? LIVESTATE_SLOW : LIVESTATE_OK;
}

/* What only the node knows that joins the others. */
static int add_joined(const struct look *look, double *node)
{
    const struct livejoin *join = look->at->join;
    const struct livelate *late = livejoin_late(join);
    char rank[RANK_BYTES];
    double *v;

    v = metrics_add(look->set, METRICS_VERDICT, STEP_LABELS(look),
                    look->m->place->node, livestate_words[verdict_of(join)]);
    if (!v)
        return -1;
    v[METRIC_VERDICT] = 1;
    node[METRIC_HANGS] = livejoin_state(join)->n_hangs;
    node[METRIC_ALERTS] = livejoin_alerts(join);
    node[METRIC_LATE_RANKS] = late->n_late;
    for (uint32_t i = 0; i < late->n_late && i < LATE_MAX; i++) {
        name_late(late, i, rank);
        v = metrics_add(look->set, METRICS_RANK, STEP_LABELS(look),
                        late->processes[i].node, rank);
        if (!v)
            return -1;
        v[METRIC_CAUSED] = late->processes[i].excess;
    }
    return 0;
}

static int add_node(const struct look *look)
{
    const struct module_metrics *site = look->m->place->metrics;
    double *v = metrics_add(look->set, METRICS_STEP, STEP_LABELS(look),
                            look->m->place->node, site->user, site->account,
                            site->partition);
    struct rusage use = {.ru_maxrss = 0};

    if (!v)
        return -1;
    v[METRIC_INFO] = 1;
    v = metrics_add(look->set, METRICS_NODE, STEP_LABELS(look),
                    look->m->place->node);
    if (!v)
        return -1;
    getrusage(RUSAGE_SELF, &use);
    v[METRIC_LEFT_RANKS] = (double) look->at->snap->left_ranks;
    v[METRIC_AGENT_CPU] = (double) look->at->now->cpu_us / 1e6;
    v[METRIC_AGENT_MEMORY] = (double) use.ru_maxrss * 1024;
    return look->at->join ? add_joined(look, v) : 0;
}

static int add_all(const struct look *look)
{
    const struct live_snap *snap = look->at->snap;
    uint64_t mono_ns = look->at->now->mono_us * 1000;
    char rank[RANK_BYTES];
    double *v;
    size_t n;

    if (add_node(look) < 0 || add_states(look) < 0)
        return -1;
    for (uint32_t i = 0; i < snap->n_ranks; i++) {
        const struct livecells_labels labels = {STEP_LABELS(look),
                                                look->m->place->node, rank};

        name_rank(snap, i, rank);
        if (add_rank(look, i, rank) < 0 ||
            livenode_cells(look->at->node, i, mono_ns, &labels, look->set) < 0)
            return -1;
    }
    v = metrics_add(look->set, METRICS_NODE, STEP_LABELS(look),
                    look->m->place->node);
    n = metrics_count(look->set) + 1; /* with this one */
    v[METRIC_LEFT_SERIES] = n > look->m->place->metrics->series
                                ? (double) (n - look->m->place->metrics->series)
                                : 0;
    return 0;
}

/* --- the file --------------------------------------------------------------
 */

static int write_set(struct livemetrics *m, const struct metrics_set *set,
                     struct jp_error *err)
{
    const struct metrics_how how = {.format = METRICS_TEXT,
                                    .max_series = m->place->metrics->series};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    int rc;

    if (!out)
        return error_set(err, "out of memory");
    rc = metrics_write(set, &how, out, NULL, err);
    if (fclose(out) != 0)
        rc = error_set(err, "out of memory");
    if (rc == 0)
        rc = metricsfile_write(m->place->metrics->folder, &m->step, text, len,
                               err);
    free(text);
    return rc;
}

int livemetrics_look(struct livemetrics *m, const struct livemetrics_look *at,
                     struct jp_error *err)
{
    uint64_t now_ms = at->now->mono_us / 1000;
    const struct livenode_time now = {at->now->real_us * 1000,
                                      at->now->mono_us * 1000};
    struct metrics_set set;
    const struct look look = {m, at, &set};
    int rc = -1;

    if (!m || (m->written_ms &&
               now_ms - m->written_ms < m->place->metrics->period_ms))
        return 0;
    if (livenode_fill(at->node, &now, at->snap) < 0)
        return error_set(err, "no memory for metrics");
    if (!at->snap->n_ranks) /* no trace of a step without NCCL */
        return 0;
    m->written_ms = now_ms;
    metrics_init(&set);
    rc = add_all(&look) < 0 ? error_set(err, "no memory for metrics")
                            : write_set(m, &set, err);
    metrics_fini(&set);
    if (rc == 0)
        m->there = true;
    else
        error_wrap(err, "metrics");
    return rc;
}

void livemetrics_end(struct livemetrics *m)
{
    if (m && m->there)
        metricsfile_remove(m->place->metrics->folder, &m->step);
    if (m)
        m->there = false;
}
