/* live_module.c - the node agent's module: follow the node, write or send its
 * snapshot; on node 0 join the snapshots of all nodes.
 *
 * tick() is the way through: read new data (livenode), obey the want file,
 * exchange snapshots (livelink, write_snap), join them (livejoin), write
 * metrics. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/fileio.h"
#include "common/owncost.h"
#include "common/ownfile.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/live/live.h"
#include "orchestrator/live/live_metrics.h"
#include "orchestrator/live/livejoin.h"
#include "orchestrator/live/livelink.h"
#include "orchestrator/live/livenode.h"
#include "orchestrator/live/livestate.h"
#include "orchestrator/metrics/metrics.h"
#include "plugins/module.h"

/* --- metrics for node_exporter (metrics.h) ---------------------------- */

#define LATE_RANKS 32 /* ranks that make the others wait */
#define RANK_BYTES 32

struct livemetrics {
    const struct module_place *place;
    struct metricsfile_step step;
    uint64_t written_ms; /* 0: never */
    bool there;          /* the file has been written */
    bool told;           /* that another user has had its name */
};

struct livemetrics_look {
    const struct module_time *now;
    struct livenode *node;
    const struct livejoin *join; /* NULL: another node joins the snapshots */
    struct live_snap *snap;      /* the call fills it in */
};

/* Arguments of the functions below. */
struct look {
    struct livemetrics *m;
    const struct livemetrics_look *at;
    struct metrics_set *set;
};

/* Borrows place. Returns NULL if the site wants no metrics, or when out of
 * memory. */
static struct livemetrics *livemetrics_create(const struct module_place *place)
{
    struct livemetrics *m = place->metrics ? calloc(1, sizeof(*m)) : NULL;

    if (!m)
        return NULL;
    m->place = place;
    m->step = (struct metricsfile_step){.job = place->component,
                                        .step = place->metrics->step,
                                        .nodeid = place->nodeid};
    metricsfile_clean(place->metrics->folder, false, false, NULL, NULL);
    return m;
}

/* Returns the number by which a process of this node is known: that of its
 * launcher if each of the node's processes has another one, else its task's if
 * it is the task itself; -1: none. */
static int64_t number_of(const struct live_snap *snap, uint32_t at)
{
    for (int kind = 0; kind < LAUNCHED_KINDS; kind++) {
        bool differs = snap->ranks[at].numbered;

        for (uint32_t i = 0; i < snap->n_ranks && differs; i++)
            differs = snap->ranks[i].numbered &&
                      snap->ranks[i].numbers[kind] >= 0 &&
                      (i == at || snap->ranks[i].numbers[kind] !=
                                      snap->ranks[at].numbers[kind]);
        if (differs)
            return snap->ranks[at].numbers[kind];
    }
    return snap->ranks[at].task;
}

/* Names a rank by that number, otherwise by its rank in its largest
 * communicator, otherwise by its pid. */
static void name_rank(const struct live_snap *snap, uint32_t at,
                      char buf[RANK_BYTES])
{
    int64_t rank = number_of(snap, at), largest = -1;
    bool known = rank >= 0;

    for (uint32_t i = 0; !known && i < snap->n_fronts; i++) {
        const struct live_front *f = &snap->fronts[i];

        if (f->rank == at && snap->comms[f->comm].n_ranks > largest) {
            largest = snap->comms[f->comm].n_ranks;
            rank = f->comm_rank;
        }
    }
    if (rank >= 0)
        snprintf(buf, RANK_BYTES, "%" PRId64, rank);
    else
        snprintf(buf, RANK_BYTES, "pid%" PRId64, snap->ranks[at].pid);
}

/* The same for a process of any node. */
static void name_late(const struct livelate *late, uint32_t at,
                      char buf[RANK_BYTES])
{
    const struct livelate_process *p = &late->processes[at];

    if (p->task >= 0 || p->rank >= 0)
        snprintf(buf, RANK_BYTES, "%" PRId64, p->task >= 0 ? p->task : p->rank);
    else
        snprintf(buf, RANK_BYTES, "pid%" PRId64, p->pid);
}

/* --- values -------------------------------------------------------------- */

#define STEP_LABELS(look)                                                      \
    {"jobid", (look)->m->place->metrics->job},                                 \
    {                                                                          \
        "step", (look)->m->place->metrics->step                                \
    }
/* The same as members of a row of live_metrics.h. */
#define STEP_MEMBERS(look)                                                     \
    .job = (look)->m->place->metrics->job,                                     \
    .step = (look)->m->place->metrics->step, .node = (look)->m->place->node

static int add_rank(const struct look *look, uint32_t i, const char *rank)
{
    const struct live_snap *snap = look->at->snap;
    const struct live_rank *r = &snap->ranks[i];
    double *both = metrics_add(look->set, &metrics_rank, STEP_LABELS(look),
                               {"node", look->m->place->node}, {"rank", rank});
    struct live_rank_row row = {STEP_MEMBERS(look), .name = rank, .rank = r,
                                .real_ns = snap->real_ns};

    if (!both)
        return -1;
    for (uint32_t k = 0; k < snap->n_ops; k++) {
        const struct live_op *op = &snap->ops[k];

        if (op->rank == i && !op->captured && !op->unsure && !op->cut_short &&
            op->start_ns > 0 && op->until_ns - op->start_ns > row.oldest_ns)
            row.oldest_ns = op->until_ns - op->start_ns;
    }
    both[METRIC_OPERATIONS] = (double) r->over;
    if (!r->unrated)
        both[METRIC_BUSY] = (double) r->share_permille / 1e3;
    return metrics_add_rows(look->set, &live_rank_metrics, &row, 1);
}

static int add_states(const struct look *look)
{
    const struct live_snap *snap = look->at->snap;
    unsigned n[HUNG_N_STATES] = {0};

    for (uint32_t i = 0; i < snap->n_ranks; i++)
        n[snap->ranks[i].state]++;
    for (size_t i = 0; i < HUNG_N_STATES; i++) {
        const struct live_state_row row = {
            STEP_MEMBERS(look), .state = hung_state_words[i], .ranks = n[i]};

        if (metrics_add_rows(look->set, &live_state_metrics, &row, 1) < 0)
            return -1;
    }
    return 0;
}

static enum livestate_word verdict_of(const struct livejoin *join)
{
    const struct livejoin_found *found = livejoin_found(join);

    if (found->stuck.phase == HUNG_CONFIRMED)
        return LIVESTATE_HANG;
    if (found->stuck.phase == HUNG_SUSPECT ||
        found->stall.phase == HUNG_SUSPECT)
        return LIVESTATE_SUSPECT;
    return found->late.n_late ? LIVESTATE_SLOW : LIVESTATE_OK;
}

/* Adds values that only the joining node has. */
static int add_joined(const struct look *look, double *node)
{
    const struct livejoin *join = look->at->join;
    const struct livejoin_found *found = livejoin_found(join);
    const struct livelate *late = &found->late;
    char rank[RANK_BYTES];
    double *v;

    v = metrics_add(look->set, &metrics_verdict, STEP_LABELS(look),
                    {"node", look->m->place->node},
                    {"verdict", livestate_words[verdict_of(join)]});
    if (!v)
        return -1;
    v[METRIC_VERDICT] = 1;
    node[METRIC_HANGS] = found->stuck.n_hangs;
    node[METRIC_LATE_RANKS] = late->n_late;
    for (uint32_t i = 0; i < late->n_late && i < LATE_RANKS; i++) {
        name_late(late, i, rank);
        v = metrics_add(look->set, &metrics_rank, STEP_LABELS(look),
                        {"node", late->processes[i].node}, {"rank", rank});
        if (!v)
            return -1;
        v[METRIC_CAUSED] = late->processes[i].excess;
    }
    return 0;
}

static int add_node(const struct look *look)
{
    const struct module_metrics *site = look->m->place->metrics;
    double *v = metrics_add(look->set, &metrics_step, STEP_LABELS(look),
                            {"node", look->m->place->node},
                            {"user", site->user}, {"account", site->account},
                            {"partition", site->partition});

    if (!v)
        return -1;
    v[METRIC_INFO] = 1;
    v = metrics_add(look->set, &metrics_node, STEP_LABELS(look),
                    {"node", look->m->place->node});
    if (!v)
        return -1;
    return look->at->join ? add_joined(look, v) : 0;
}

/* Comes last, because it says how many series are left out. */
static int add_agent(const struct look *look)
{
    struct live_node_row row = {
        STEP_MEMBERS(look),
        .alerts = look->at->join
                      ? (int64_t) livejoin_found(look->at->join)->alerts
                      : -1,
        .left_ranks = look->at->snap->left_ranks,
        .agent_cpu_us = look->at->now->cpu_us,
        .agent_memory_bytes = owncost_peak_bytes()};
    size_t n;

    /* the node's own series count, too */
    if (metrics_add_rows(look->set, &live_node_metrics, &row, 1) < 0)
        return -1;
    n = metrics_count(look->set);
    if (n > look->m->place->metrics->series)
        row.left_series = n - look->m->place->metrics->series;
    return metrics_add_rows(look->set, &live_node_metrics, &row, 1);
}

static int add_all(const struct look *look)
{
    const struct live_snap *snap = look->at->snap;
    uint64_t mono_ns = look->at->now->mono_us * 1000;
    char rank[RANK_BYTES];

    if (add_node(look) < 0 || add_states(look) < 0)
        return -1;
    for (uint32_t i = 0; i < snap->n_ranks; i++) {
        const struct livecells_labels labels = {STEP_MEMBERS(look),
                                                .rank = rank};

        name_rank(snap, i, rank);
        if (add_rank(look, i, rank) < 0 ||
            livenode_cells(look->at->node, i, mono_ns, &labels, look->set) < 0)
            return -1;
    }
    return add_agent(look);
}

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
    if (rc == 0 && m->step.refused && !m->told) {
        m->told = true;
        stepdir_log(m->place->dir,
                    "%s: metrics: another user has had %u names of this step's "
                    "file in %s; it has another name",
                    m->place->node, m->step.refused, m->place->metrics->folder);
    }
    return rc;
}

/* Writes the file if it is due. A node without recordings gets no file. Returns
 * -1 if the file cannot be written; the next attempt is made when the next one
 * is due. */
static int livemetrics_look(struct livemetrics *m,
                            const struct livemetrics_look *at,
                            struct jp_error *err)
{
    uint64_t now_ms = at->now->mono_us / 1000;
    const struct livenode_time now = {at->now->real_us * 1000,
                                      at->now->mono_us * 1000, false};
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
    m->there |= rc == 0;
    return rc < 0 ? error_wrap(err, "metrics") : 0;
}

/* Removes the file. */
static void livemetrics_end(struct livemetrics *m)
{
    if (m && m->there)
        metricsfile_remove(m->place->metrics->folder, &m->step);
    if (m)
        m->there = false;
}

/* --- the module ----------------------------------------------------------- */

#define PERIOD_MS 1000
/* A node looks at the files of its processes the less often, the more there
 * are: the pause grows by a second for each 32 of them, while they wait for
 * each 128. While somebody watches, it looks each second. */
#define PROCESSES_A_SECOND 32
#define WAITING_A_SECOND 128
/* Minimum time between snapshots that are written because of a change: a state
 * may flutter. */
#define CHANGE_MS 1000

struct live {
    struct module_place place;
    struct hung_times times;
    /* folder of the node's recordings; name of its snapshot in the folder of
     * snapshots */
    char *raw, *name;
    struct livenode *node;
    struct livejoin *join;       /* node 0's */
    struct livelink *link;       /* NULL: files only */
    struct livemetrics *metrics; /* NULL: the site wants none */
    bool watches;                /* hangs are looked for */
    struct live_snap *snap;
    struct ownfile file; /* the snapshot; closed until it is first written */
    uint32_t sequence, file_sequence;
    uint64_t files;        /* number of times the file was written */
    enum live_class class; /* as written last */
    enum live_class seen;  /* as seen last */
    /* times of the last snapshot written or sent, of the file, of the look at
     * the want file, of the look at the recordings */
    uint64_t written_ms, file_ms, wanted_ms, looked_ms;
    /* time of the want file's last change that was seen */
    uint64_t want_change;
    uint32_t signals;  /* number of the last signal that was sent */
    uint32_t evidence; /* number of the last hang with evidence */
    bool watched;      /* somebody watches the step */
    bool lost; /* the last snapshot sent was lost, and is in no file yet */
    bool told; /* of an address that could not be bound */
    struct jp_error no_link; /* why there is no exchange; "": no reason */
    uint64_t bytes;
};

static void destroy(void *state)
{
    struct live *l = state;

    if (!l)
        return;
    livelink_destroy(l->link);
    livejoin_destroy(l->join);
    free(l->metrics);
    livenode_destroy(l->node);
    ownfile_close(&l->file);
    free(l->snap);
    free(l->raw);
    free(l->name);
    free(l);
}

static struct livejoin *start_join(struct live *l)
{
    const struct module_place *p = &l->place;
    const struct livejoin_place place = {.alert = {.dir = p->dir,
                                                   .job = p->job,
                                                   .step = p->step,
                                                   .on_hang = p->on_hang,
                                                   .log = p->log,
                                                   .log_arg = p->log_arg},
                                         .nodes = p->step_nodes,
                                         .conf = livesnap_conf(p->conf_hash),
                                         .times = &l->times};

    return livejoin_create(&place);
}

/* --- by UDP -------------------------------------------------------------- */

static int keep_snapshot(void *arg, uint64_t component, uint32_t nodeid,
                         size_t *slot, const uint8_t *bytes, size_t n,
                         uint64_t now_ms)
{
    const struct live *l = arg;

    return livejoin_keep(l->join, component, nodeid, slot, bytes, n, now_ms);
}

/* Without an exchange the files are the only way. The first tick says why. */
static void start_exchange(struct live *l)
{
    const struct module_place *p = &l->place;
    const struct livelink_place place = {.dir = p->dir,
                                         .net = p->net,
                                         .conf_hash = p->conf_hash,
                                         .component = p->component,
                                         .nodeid = p->nodeid,
                                         .nodes = p->step_nodes,
                                         .take = l->join ? keep_snapshot : NULL,
                                         .arg = l};

    if (p->net && p->step_nodes >= 2 && l->watches)
        l->link = livelink_create(&place, &l->no_link);
}

/* If hangs are not looked for, the rule's default still sets the pace. */
static uint32_t suspect_ms(const struct module_place *place)
{
    return place->hang_suspect_ms ? place->hang_suspect_ms
                                  : hung_time_rows[HUNG_LEAST].ms;
}

static void *start(const struct module_place *place, struct jp_error *err)
{
    struct livenode_place where = {.node = place->node,
                                   .root = place->root,
                                   .cells = place->metrics != NULL,
                                   .batch_ms = (place->batch_us + 999) / 1000};
    bool watches = place->hang_suspect_ms && place->on_hang &&
                   place->on_hang->kind != ONHANG_OFF;
    struct live *l;

    if (place->profiler && !(where.reader = backend_find(place->profiler)))
        return NULL;
    if ((!place->records_live && !where.reader) ||
        (!watches && !place->metrics))
        return NULL;
    l = calloc(1, sizeof(*l));
    if (l) {
        l->place = *place;
        l->watches = watches;
        hung_times_set(&l->times, suspect_ms(place));
        l->raw = text_format("%s/raw/%s", place->dir, place->node);
        l->name = text_format("%llu.%u" LIVE_SNAP_SUFFIX,
                              (unsigned long long) place->component,
                              place->nodeid);
        l->snap = calloc(1, sizeof(*l->snap));
        where.raw = l->raw;
        where.times = &l->times;
        where.shared = place->shared;
        l->node = l->raw ? livenode_create(&where) : NULL;
        l->metrics = livemetrics_create(&l->place);
        if (place->leads && watches)
            l->join = start_join(l);
        start_exchange(l);
    }
    if (l && l->node && l->name && l->snap &&
        (l->join || !place->leads || !watches) &&
        (l->metrics || !place->metrics))
        return l;
    destroy(l);
    error_set(err, "out of memory");
    return NULL;
}

/* --- what is wanted ------------------------------------------------------ */

/* "signal USR1 2": obeyed once for each number, and only if it is the signal
 * that the step was started with. The file belongs to the user, and anything
 * may be written there. */
static void obey_signal(struct live *l, const struct livewant *want)
{
    const struct jp_onhang *on_hang = l->place.on_hang;
    char line[96];
    unsigned sent;

    if (want->signal_number <= l->signals || on_hang->kind != ONHANG_SIGNAL ||
        strcmp(want->signal, on_hang->name) != 0)
        return;
    l->signals = want->signal_number;
    sent = livenode_signal(l->node, on_hang->signal);
    snprintf(line, sizeof(line),
             "on_hang: SIG%.16s to %u task%s that handle%s it", want->signal,
             sent, sent == 1 ? "" : "s", sent == 1 ? "s" : "");
    if (l->place.log)
        l->place.log(l->place.log_arg, line);
}

/* Only processes that are alive and belong to this step are examined, because
 * the file may contain anything. */
static void obey_evidence(struct live *l, const struct livewant *want)
{
    struct module_target targets[LIVE_EVIDENCE_MAX];
    struct module_hang hang = {.dir = l->place.dir,
                               .node = l->place.node,
                               .root = l->place.root,
                               .number = want->hang_number,
                               .targets = targets};

    if (want->hang_number <= l->evidence || !l->place.take_evidence)
        return;
    l->evidence = want->hang_number;
    snprintf(hang.text, sizeof(hang.text), "%s", want->hang);
    for (size_t i = 0; i < want->n_targets; i++) {
        struct module_target *to = &targets[hang.n_targets];
        struct livetask task;

        if (!livenode_find(l->node, want->targets[i].pid, &task))
            continue;
        *to = want->targets[i];
        to->pid = task.pid;
        to->start = task.start;
        hang.n_targets++;
    }
    if (hang.n_targets)
        l->place.take_evidence(l->place.take_arg, &hang);
}

static void obey(struct live *l, char *text)
{
    struct livewant *want = malloc(sizeof(*want));

    if (!want)
        return;
    livewant_parse(text, l->place.node, want);
    livenode_want(l->node, want->hashes, want->n_hashes);
    obey_signal(l, want);
    obey_evidence(l, want);
    free(want);
}

/* Looks at the want file as often as a watched step requires. */
static void look_at_want(struct live *l, const struct module_time *now)
{
    uint64_t now_ms = now->mono_us / 1000, change, age_us;
    char *path, *text = NULL;
    struct stat st;

    if (l->wanted_ms && now_ms - l->wanted_ms < l->times.ms[HUNG_LOOKS])
        return;
    l->wanted_ms = now_ms;
    l->watched = false;
    path = text_format("%s/" LIVE_WANT, l->place.dir);
    if (path && lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        change = (uint64_t) st.st_mtim.tv_sec * 1000000 +
                 (uint64_t) st.st_mtim.tv_nsec / 1000;
        age_us = now->real_us > change ? now->real_us - change : 0;
        l->watched = age_us < LIVE_WANT_MS * 1000;
        if (l->watched && change != l->want_change &&
            fileio_read(path, false, LIVE_WANT_BYTES, &text, NULL, NULL) == 0)
            obey(l, text);
        l->want_change = change;
    }
    free(text);
    free(path);
}

/* --- the snapshot -------------------------------------------------------- */

/* LIVE_NODES in the step's folder, which exists. */
enum { FOLDERS_MADE = 2 };

static int open_file(struct live *l, struct jp_error *err)
{
    char *folder = text_format("%s/" LIVE_NODES, l->place.dir);
    int rc = 0;

    if (!folder)
        return error_set(err, "out of memory");
    if ((!l->file.folder && ownfile_open(&l->file, folder, FOLDERS_MADE) < 0) ||
        ownfile_create_anew(&l->file, l->name) < 0)
        rc = error_set(err, "%s/%s: %s", folder, l->name, strerror(errno));
    else if (l->link)
        livelink_announce(l->link, NULL); /* else they write files */
    free(folder);
    return rc;
}

static uint64_t period_ms(const struct live *l)
{
    uint64_t ms = l->times.ms[l->watched || l->class > LIVE_WORKS ? HUNG_LOOKS
                                                                  : HUNG_LEAST];

    return ms > PERIOD_MS ? ms : PERIOD_MS;
}

/* Period of the file if node 0's agent takes snapshots by UDP: the file is for
 * `jobprof top`, and for snapshots that node 0's agent no longer has. */
static uint64_t file_period_ms(const struct live *l)
{
    return l->watched              ? period_ms(l)
           : l->class > LIVE_WORKS ? l->times.ms[HUNG_LEAST]
                                   : 2 * l->times.ms[HUNG_LEAST];
}

static int write_file(struct live *l, struct jp_error *err)
{
    uint8_t bytes[LIVE_SNAP_BYTES];
    size_t n;
    int rc;

    if (!l->file.fd && open_file(l, err) < 0)
        return -1;
    n = livesnap_pack(l->snap, bytes);
    n += (LIVE_BLOCK_BYTES - n % LIVE_BLOCK_BYTES) % LIVE_BLOCK_BYTES;
    rc = ownfile_write(&l->file, bytes, n, 0);
    if (n > l->bytes)
        l->bytes = n;
    l->file_sequence = l->snap->sequence;
    l->files++;
    return rc < 0 ? error_set(err, "%s: %s", l->name, strerror(errno)) : 0;
}

/* Sends to node 0's agent. Returns true if the agent answers, so that the file
 * may wait. */
static bool send_snap(struct live *l, uint64_t now_ms)
{
    uint8_t bytes[LIVE_SNAP_BYTES];
    size_t n;

    if (!l->link || l->join || l->lost)
        return false;
    n = livesnap_pack(l->snap, bytes);
    return livelink_send(l->link, bytes, n, l->snap->sequence, now_ms) &&
           livelink_counts(l->link)->works;
}

/* Sends the snapshot, writes the file, or both. A new state goes both ways: a
 * lost packet must not delay it. */
static int write_snap(struct live *l, const struct livenode_time *now,
                      enum live_class class, struct jp_error *err)
{
    uint64_t now_ms = now->mono_ns / 1000000;
    bool is_new = class != l->class || now->last;

    if (livenode_fill(l->node, now, l->snap) < 0)
        return error_set(err, "no memory for a snapshot");
    l->class = class;
    l->snap->conf = livesnap_conf(l->place.conf_hash);
    l->snap->nodeid = l->place.nodeid;
    l->snap->sequence = ++l->sequence;
    l->snap->real_ns = now->real_ns;
    l->snap->mono_ns = now->mono_ns;
    l->snap->due_ms = (uint32_t) period_ms(l);
    l->snap->last = now->last;
    if (send_snap(l, now_ms)) {
        if (!is_new && !l->watched && now_ms - l->file_ms < file_period_ms(l))
            return 0;
        l->snap->due_ms = (uint32_t) file_period_ms(l);
    }
    l->file_ms = now_ms;
    if (now->last && !l->file.fd) /* a file made only now would stay behind */
        return 0;
    return write_file(l, err);
}

static bool is_due(const struct live *l, enum live_class class, uint64_t now_ms)
{
    uint64_t passed = now_ms - l->written_ms;

    /* a step without NCCL leaves no trace */
    if (class == LIVE_EMPTY || !l->watches)
        return false;
    return !l->sequence || passed >= period_ms(l) ||
           (class != l->class && passed >= CHANGE_MS);
}

/* Reports once that snapshots go by files, because there is no socket. */
static int tell_trouble(struct live *l, struct jp_error *err)
{
    const char *why = l->link ? livelink_trouble(l->link) : l->no_link.text;

    if (!*why || l->told)
        return 0;
    l->told = true;
    return error_set(err, "%s (snapshots of %s go by files)", why,
                     l->link && l->join ? "some nodes" : "this node");
}

/* Looks at the node's processes if it is time: many are looked at less often.
 */
static int look_at_node(struct live *l, const struct livenode_time *at,
                        struct jp_error *err)
{
    uint64_t now_ms = at->mono_ns / 1000000;
    uint64_t pause_ms =
        livenode_count(l->node) * PERIOD_MS /
        (l->seen <= LIVE_WORKS ? PROCESSES_A_SECOND : WAITING_A_SECOND);

    if (l->looked_ms && !l->watched && now_ms - l->looked_ms < pause_ms)
        return 0;
    l->looked_ms = now_ms;
    return livenode_look(l->node, at, &l->seen, err);
}

static int tick(void *state, const struct module_time *now,
                struct jp_error *err)
{
    struct live *l = state;
    const struct livenode_time at = {now->real_us * 1000, now->mono_us * 1000,
                                     false};
    const struct livejoin_time join = {at.real_ns, now->mono_us / 1000};
    int rc = look_at_node(l, &at, err);
    enum live_class class = l->seen;
    const struct livemetrics_look metrics = {now, l->node, l->join, l->snap};

    if (l->watches)
        look_at_want(l, now);
    /* A lost snapshot is replaced by the file, with the current state. */
    l->lost = l->link && livelink_look(l->link, join.mono_ms) &&
              l->file_sequence != l->sequence;
    if (l->lost || is_due(l, class, join.mono_ms)) {
        l->written_ms = join.mono_ms;
        if (write_snap(l, &at, class, err) < 0)
            rc = -1;
    }
    if (l->join && livejoin_look(l->join, &join,
                                 l->watched || class > LIVE_WORKS, err) < 0)
        rc = -1;
    if (livemetrics_look(l->metrics, &metrics, err) < 0)
        rc = -1;
    return rc == 0 ? tell_trouble(l, err) : rc;
}

static int fd(void *state)
{
    const struct live *l = state;

    return l->link ? livelink_fd(l->link) : -1;
}

static int readable(void *state, const struct module_time *now,
                    struct jp_error *err)
{
    const struct live *l = state;

    (void) err;
    livelink_look(l->link, now->mono_us / 1000);
    return 0;
}

/* Size of a file in the step directory; 0: there is none. */
static uint64_t size_of(const struct live *l, const char *name)
{
    char *path = text_format("%s/%s", l->place.dir, name);
    struct stat st;
    bool is_there = path && lstat(path, &st) == 0 && S_ISREG(st.st_mode);

    free(path);
    return is_there ? (uint64_t) st.st_size : 0;
}

/* The snapshot and, on node 0, what the whole step's files have. */
static uint64_t bytes(void *state)
{
    const struct live *l = state;

    return l->join ? l->bytes + size_of(l, LIVE_ALERTS) + size_of(l, LIVE_WANT)
                   : l->bytes;
}

/* Writes at most LATE_MAX ranks that make the others wait. */
#define LATE_MAX 8
static void record_late(const struct live *l, struct jp_json_stream *s)
{
    const struct livelate *late = &livejoin_found(l->join)->late;

    json_stream_array(s, "late");
    for (uint32_t i = 0; i < late->n_late && i < LATE_MAX; i++) {
        const struct livelate_process *p = &late->processes[i];

        json_stream_object(s, NULL);
        json_stream_text(s, "node", p->node);
        json_stream_int(s, "pid", p->pid);
        json_stream_int(s, "task", p->task);
        json_stream_int(s, "rank", p->rank);
        json_stream_text(s, "comm_name", p->name);
        json_stream_int(s, "n_ranks", p->n_ranks);
        json_stream_fixed(s, "share", p->excess, 3);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
}

static void record_exchange(const struct live *l, struct jp_json_stream *s)
{
    const struct livelink_counts *counts = l->link ? livelink_counts(l->link)
                                                   : NULL;

    json_stream_count(s, "files", l->files);
    if (counts && !l->join) {
        json_stream_count(s, "udp_sent", counts->sent);
        json_stream_count(s, "udp_answered", counts->taken);
        json_stream_count(s, "udp_lost", counts->lost);
        json_stream_count(s, "udp_refused", counts->refused);
    } else if (counts) {
        json_stream_count(s, "udp_taken", counts->taken);
        json_stream_count(s, "udp_refused", counts->refused);
    }
}

/* Writes what is not watched because a limit is exceeded. */
static void record_left(const struct live *l, struct jp_json_stream *s)
{
    const struct livenode_left *left = livenode_left(l->node);

    json_stream_count(s, "left_out", left->n);
    json_stream_count(s, "left_comms", l->snap->left_comms);
    json_stream_array(s, "left_pids");
    for (size_t i = 0; i < left->n_pids; i++)
        json_stream_int(s, NULL, left->pids[i]);
    json_stream_end_array(s);
}

static void record(void *state, struct jp_json_stream *s)
{
    const struct live *l = state;
    const struct hung *stuck = l->join ? &livejoin_found(l->join)->stuck : NULL;

    json_stream_count(s, "snapshots", l->sequence);
    json_stream_text(s, "phase", stuck ? hung_phase_words[stuck->phase] : NULL);
    json_stream_count(s, "hangs", stuck ? stuck->n_hangs : 0);
    if (l->join)
        record_late(l, s);
    record_left(l, s);
    record_exchange(l, s);
}

/* Writes the node's last snapshot: its processes have ended, in order or not,
 * and those of other nodes may wait for them. A report removes it
 * (barrier_clear); the alerts stay. */
static void finish(void *state)
{
    struct live *l = state;
    struct timespec real, mono;
    struct livenode_time at = {.last = true};
    enum live_class class;

    livemetrics_end(l->metrics);
    if (!l->file.fd && (!l->link || l->join || !l->sequence))
        return;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &mono);
    at.real_ns = (uint64_t) real.tv_sec * 1000000000 + (uint64_t) real.tv_nsec;
    at.mono_ns = (uint64_t) mono.tv_sec * 1000000000 + (uint64_t) mono.tv_nsec;
    livenode_look(l->node, &at, &class, NULL);
    write_snap(l, &at, class, NULL);
}

const struct node_module live_module = {
    .name = "live",
    .budget = 0.002,
    /* node 0 keeps the snapshots of thousands of nodes */
    .memory_bytes = 256 << 20,
    .period_ms = PERIOD_MS,
    .start = start,
    .fd = fd,
    .tick = tick,
    .readable = readable,
    .bytes = bytes,
    .record = record,
    .finish = finish,
    .destroy = destroy,
};
