/* livestate.c - join a step's snapshots for programs that watch it.
 *
 * livestate_look reads all snapshots (take_all), makes a row per node and rank
 * (take_snap), and then decides the verdict in the order of its severity
 * (judge): who was heard, who hangs, who is in trouble, who is late. If nothing
 * was found, find_clear checks that the data could have shown it. It uses the
 * same rules as node 0's agent, but keeps its own state between looks. */
#include "orchestrator/live/livestate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bandwidth.h"
#include "common/fileio.h"
#include "common/vector.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/live/livejoin.h"

#define MS_NS UINT64_C(1000000)
#define NODES_MAX 65536
/* As in livejoin.c: a node is stale if it is silent for so many of its own
 * periods. */
#define STALE_PERIODS 3
#define STALE_SPARE_MS 5000
#define DUE_MAX_MS 600000
/* Beyond the period of a watched node: it looks for a watcher every 5 s, and a
 * busy node writes late. */
#define RECENT_SPARE_MS 2000

const char *const livestate_words[LIVESTATE_N_WORDS] = {
    [LIVESTATE_HANG] = "HANG",       [LIVESTATE_SUSPECT] = "SUSPECT",
    [LIVESTATE_TROUBLE] = "TROUBLE", [LIVESTATE_SLOW] = "SLOW",
    [LIVESTATE_OK] = "OK",           [LIVESTATE_UNJUDGED] = "UNJUDGED",
    [LIVESTATE_ENDED] = "ENDED",
};

/* Borrows place->dir. */
void livestate_init(struct livestate *state,
                    const struct livestate_place *place)
{
    *state = (struct livestate){.place = *place,
                                /* Both rules have the times of the site. */
                                .stuck = {.times = place->times},
                                .stall = {.times = place->times},
                                .word = LIVESTATE_UNJUDGED};
}

/* Leaves an empty state. */
void livestate_fini(struct livestate *state)
{
    free(state->nodes);
    free(state->ranks);
    free(state->snap);
    hangs_fini(&state->hangs);
    *state = (struct livestate){.n_nodes = 0};
}

/* --- snapshots to rows ---------------------------------------------------- */

/* Takes what a rank spent most of its recent time on: its bandwidth, and its
 * name if nothing is in flight. */
static void take_fronts(struct livestate_rank *rank,
                        const struct live_snap *snap, uint32_t at)
{
    double most = 0;
    int64_t largest = -1;

    for (uint32_t i = 0; i < snap->n_fronts; i++) {
        const struct live_front *f = &snap->fronts[i];
        const struct live_comm *comm = &snap->comms[f->comm];
        /* Proportional to the share of time. */
        double time = (double) f->rate_milli * (double) f->mean_us;

        if (f->rank != at)
            continue;
        /* Without a task number, the rank in the largest communicator names it.
         */
        if (snap->ranks[at].task < 0 && comm->n_ranks > largest) {
            largest = comm->n_ranks;
            rank->rank = f->comm_rank;
        }
        if (f->kind == JPR_N_OP_KINDS || time <= most)
            continue;
        most = time;
        rank->busbw_gbs = bandwidth_of(bandwidth_find(f->func), comm->n_ranks,
                                       f->mean_bytes, f->mean_us)
                              .bus_gbs;
        rank->hash = comm->hash;
        rank->n_ranks = comm->n_ranks;
        memcpy(rank->comm, comm->name, sizeof(rank->comm));
        memcpy(rank->func, f->func, sizeof(rank->func));
    }
    if (rank->busbw_gbs <= 0)
        rank->busbw_gbs = NAN;
}

/* Age of an operation in flight when the snapshot was taken; -1: unknown. */
static int64_t age_of(const struct live_op *op)
{
    return op->start_ns > 0 && op->until_ns > op->start_ns
               ? op->until_ns - op->start_ns
               : -1;
}

/* Takes the oldest operation that is certainly in flight. If a log does not
 * show any, takes the time since it has grown. */
static void take_ops(struct livestate_rank *rank, const struct live_snap *snap,
                     uint32_t at)
{
    const struct live_rank *is = &snap->ranks[at];

    if (is->logs && is->counted_ns > 0 && is->state != HUNG_ENDED &&
        snap->real_ns >= (uint64_t) is->counted_ns)
        rank->age_ns = (int64_t) (snap->real_ns - (uint64_t) is->counted_ns);
    for (uint32_t i = 0; i < snap->n_ops; i++) {
        const struct live_op *op = &snap->ops[i];
        const struct live_comm *comm = &snap->comms[op->comm];

        /* Operations whose state is uncertain do not count. */
        if (op->rank != at || op->captured || op->unsure || op->cut_short ||
            (rank->in_flight && age_of(op) <= rank->age_ns))
            continue;
        rank->in_flight = true;
        rank->age_ns = age_of(op);
        rank->seq = op->seq;
        rank->bytes = op->bytes;
        rank->hash = comm->hash;
        rank->n_ranks = comm->n_ranks;
        memcpy(rank->comm, comm->name, sizeof(rank->comm));
        memcpy(rank->func, op->func, sizeof(rank->func));
    }
}

/* Fills in the row of a node. */
static void take_node(struct livestate *state, struct livestate_node *node,
                      uint64_t now_ns)
{
    const struct live_snap *snap = state->snap;
    uint64_t due_ms = snap->due_ms < DUE_MAX_MS ? snap->due_ms : DUE_MAX_MS;

    *node = (struct livestate_node){
        .nodeid = snap->nodeid,
        .sequence = snap->sequence,
        .due_ms = snap->due_ms,
        .class = snap->class,
        .last = snap->last,
        .real_ns = snap->real_ns,
        .age_ms = now_ns > snap->real_ns ? (now_ns - snap->real_ns) / MS_NS : 0,
        .left_ranks = snap->left_ranks,
        .left_comms = snap->left_comms,
        .first = state->n_ranks,
        .n_ranks = snap->n_ranks};
    node->stale = !snap->last &&
                  node->age_ms > STALE_PERIODS * due_ms + STALE_SPARE_MS;
    memcpy(node->node, snap->node, sizeof(node->node));
}

/* Adds the rows of one node and its ranks. */
static int take_snap(struct livestate *state, uint64_t now_ns)
{
    const struct live_snap *snap = state->snap;

    if (VECTOR_ROOM(state->nodes, state->n_nodes + 1, state->nodes_room) < 0 ||
        VECTOR_ROOM(state->ranks, state->n_ranks + LIVE_RANKS_MAX,
                    state->ranks_room) < 0)
        return -1;
    /* take_node needs the number of ranks before they are added. */
    take_node(state, &state->nodes[state->n_nodes], now_ns);
    for (uint32_t i = 0; i < snap->n_ranks; i++) {
        struct livestate_rank *rank = &state->ranks[state->n_ranks++];

        *rank = (struct livestate_rank){.is = snap->ranks[i],
                                        .node = state->n_nodes,
                                        .rank = snap->ranks[i].task,
                                        .caused = NAN,
                                        .age_ns = -1,
                                        .busbw_gbs = NAN};
        take_fronts(rank, snap, i);
        take_ops(rank, snap, i);
        /* The messages differ if logs are involved. */
        state->n_logs += snap->ranks[i].logs;
        if (snap->ranks[i].batch_ms > state->batch_ms)
            state->batch_ms = snap->ranks[i].batch_ms;
    }
    /* Foreign numbers must not overflow the sum. */
    if (snap->left_ranks < UINT64_MAX - state->left_ranks)
        state->left_ranks += snap->left_ranks;
    state->n_nodes++;
    return 0;
}

/* --- joining -------------------------------------------------------------- */

/* What is collected during a look. */
struct look {
    struct jp_hangs hangs;
    struct hangs_sum sum;
    struct hung_task *tasks;
    size_t tasks_room;
    struct livelate late;
    int64_t heard_ns;
};

/* Adds one snapshot to the input of each rule. */
static int take_snapshot(struct livestate *state, struct look *look,
                         uint64_t now_ns)
{
    const struct live_snap *snap = state->snap;

    if (VECTOR_ROOM(look->tasks, look->hangs.n_processes + LIVE_JOINED_MAX,
                    look->tasks_room) < 0 ||
        livesnap_join(snap, &look->sum, look->tasks) < 0 ||
        livelate_add(&look->late, snap) < 0)
        return -1;
    /* A node that has ended is never silent. */
    if (!snap->last && (int64_t) snap->real_ns < look->heard_ns)
        look->heard_ns = (int64_t) snap->real_ns;
    return take_snap(state, now_ns);
}

/* Hidden files are temporary ones. */
static int is_snapshot(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name), end = strlen(LIVE_SNAP_SUFFIX);

    return len > end && entry->d_name[0] != '.' &&
           !strcmp(entry->d_name + len - end, LIVE_SNAP_SUFFIX);
}

/* Snapshots of an earlier step in the same directory have another hash. */
static bool is_of_step(const struct livestate *state)
{
    uint64_t conf = state->snap->conf;

    return !state->place.conf || !conf || conf == state->place.conf;
}

/* Returns -1 without memory, or if the folder cannot be listed. */
static int take_all(struct livestate *state, struct look *look, int folder,
                    uint64_t now_ns)
{
    struct dirent **names = NULL;
    /* versionsort orders "7.9.snap" before "7.10.snap", so nodes appear in
     * order.
     */
    int n = scandirat(folder, ".", &names, is_snapshot, versionsort), rc = 0;

    for (int i = 0; i < n; i++) {
        if (rc == 0 && i < NODES_MAX) {
            if (livesnap_read(folder, names[i]->d_name, state->snap, NULL) < 0)
                state->n_bad++;
            else if (is_of_step(state))
                rc = take_snapshot(state, look, now_ns);
        }
        free(names[i]);
    }
    free(names);
    return n < 0 || rc < 0 ? -1 : 0;
}

/* --- the verdict ---------------------------------------------------------- */

/* Returns what node 0 has reported last about a hang; it has watched for longer
 * than this program. The file belongs to the user, so only the event's name is
 * used. */
static enum hung_phase told_phase(const char *dir)
{
    char *path = text_format("%s/" LIVE_ALERTS, dir), *text = NULL;
    enum hung_phase phase = HUNG_QUIET;
    char *rest, *line;

    if (path &&
        fileio_read(path, false, 2 * ALERT_FILE_BYTES, &text, NULL, NULL) == 0)
        for (rest = text; (line = strsep(&rest, "\n"));) {
            if (strstr(line, "\"event\":\"suspect\""))
                phase = HUNG_SUSPECT;
            else if (strstr(line, "\"event\":\"hang\""))
                phase = HUNG_CONFIRMED;
            else if (strstr(line, "\"event\":\"goes_on\""))
                phase = HUNG_QUIET;
        }
    free(text);
    free(path);
    return phase;
}

/* Nodes that were never heard count as silent. */
static void count_silent(struct livestate *state)
{
    uint32_t heard = 0;

    for (size_t i = 0; i < state->n_nodes; i++)
        heard += !state->nodes[i].stale;
    state->n_silent = heard < state->place.nodes ? state->place.nodes - heard
                                                 : 0;
}

/* Marks the row of the process that keeps the others. Rows are in the order in
 * which the processes were joined. */
static void mark(struct livestate *state, const struct hung_view *view,
                 uint32_t process)
{
    if (process < view->hangs->n_processes &&
        view->tasks[process].joined < state->n_ranks)
        state->ranks[view->tasks[process].joined].keeps = true;
}

/* Reports a stall of logs. Node 0 may have reported it already; this program
 * has only watched for a short time, so it does not wait for confirmation. */
static void take_stall(struct livestate *state, const struct hung_view *view)
{
    state->word = LIVESTATE_SUSPECT;
    state->waited_ms = state->stall.silent_ms;
    livestall_answer(&state->stall, view, state->text, sizeof(state->text));
    mark(state, view, state->stall.process);
}

/* Applies the rule of hung.h, and reports a stall or a hang. */
static void find_stuck(struct livestate *state, struct look *look,
                       const struct livestate_time *now)
{
    const struct hung_view view = {.hangs = &look->hangs,
                                   .progress = &look->sum.progress,
                                   .tasks = look->tasks,
                                   .now_ms = now->mono_ms,
                                   .now_ns = (int64_t) now->real_ns,
                                   .heard_ns = look->heard_ns,
                                   .n_silent = state->n_silent};
    const struct hung_cause *cause = &state->stuck.cause;
    enum hung_phase told;

    /* Both rules look each time, because they keep state; a stall comes first,
     * because it only occurs with logs. */
    hung_look(&state->stuck, &view);
    livestall_look(&state->stall, &view);
    if (state->stall.phase != HUNG_QUIET) {
        take_stall(state, &view);
        return;
    }
    if (state->stuck.phase == HUNG_QUIET ||
        cause->group >= look->hangs.n_groups)
        return;
    /* Node 0's confirmation counts, even if this program began too late to see
     * it. */
    told = told_phase(state->place.dir);
    state->word = told == HUNG_CONFIRMED || state->stuck.phase == HUNG_CONFIRMED
                      ? LIVESTATE_HANG
                      : LIVESTATE_SUSPECT;
    hung_answer(&view, cause, state->text, sizeof(state->text));
    if (state->stuck.start_ns > 0 &&
        now->real_ns > (uint64_t) state->stuck.start_ns)
        state->waited_ms = (now->real_ns - (uint64_t) state->stuck.start_ns) /
                           MS_NS;
    mark(state, &view, cause->process);
}

static bool same_process(const struct livestate *state,
                         const struct livestate_rank *rank,
                         const struct livelate_process *p)
{
    return rank->is.pid == p->pid && rank->is.task == p->task &&
           !strcmp(state->nodes[rank->node].node, p->node);
}

/* The order of rows for bsearch. */
static int by_place(const void *a, const void *b)
{
    const struct livelate_process *x = a, *y = b;
    int order = strcmp(x->node, y->node);

    if (order)
        return order;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->task > y->task) - (x->task < y->task);
}

/* Formats what the step's logs cannot show, as the end of a sentence; "" for
 * recordings. Returns buf. */
static char *format_blind(const struct livestate *state, char *buf, size_t size)
{
    char batch[64] = "";

    *buf = '\0';
    if (!state->n_logs)
        return buf;
    if (state->batch_ms)
        snprintf(batch, sizeof(batch), " every %g s",
                 (double) state->batch_ms / 1e3);
    snprintf(buf, size,
             "; the logs show completed operations%s, not operations in flight",
             batch);
    return buf;
}

/* Returns the rank by which rows and sentences name a process; -1: unknown. */
static int64_t rank_of(const struct livestate *state,
                       const struct livelate_process *p)
{
    for (size_t i = 0; i < state->n_ranks; i++)
        if (same_process(state, &state->ranks[i], p))
            return state->ranks[i].rank;
    return -1;
}

/* Reports the latest rank in a sentence, then fills in each rank's own figure.
 * Returns the number of ranks that were judged. */
static size_t find_late(struct livestate *state, struct livelate *late)
{
    size_t judged = 0;

    state->n_late = late->n_late;
    if (late->n_late && state->word == LIVESTATE_OK) {
        const struct livelate_process *p = &late->processes[0];
        char more[48] = "", where[LIVE_COMM_NAME_LEN + 16] = "", blind[160];
        char who[32] = "a rank";
        int64_t rank = rank_of(state, p);

        if (rank >= 0)
            snprintf(who, sizeof(who), "rank %" PRId64, rank);
        state->word = LIVESTATE_SLOW;
        if (late->n_late > 1)
            snprintf(more, sizeof(more), ", and %" PRIu32 " more",
                     late->n_late - 1);
        if (*p->name)
            snprintf(where, sizeof(where), " in %s", p->name);
        snprintf(state->text, sizeof(state->text),
                 "%s (%s pid %" PRId64
                 ") makes the others wait%s, for %.0f %% of the time%s%s",
                 who, p->node, p->pid, where, 100 * p->excess, more,
                 format_blind(state, blind, sizeof(blind)));
    }
    /* Sorting destroys the order by excess, so the sentence comes first. */
    if (late->n)
        qsort(late->processes, late->n, sizeof(*late->processes), by_place);
    for (size_t i = 0; i < state->n_ranks; i++) {
        struct livestate_rank *rank = &state->ranks[i];
        struct livelate_process key = {.pid = rank->is.pid,
                                       .task = rank->is.task};
        const struct livelate_process *p;

        memcpy(key.node, state->nodes[rank->node].node, sizeof(key.node));
        p = late->n
                ? bsearch(&key, late->processes, late->n, sizeof(*p), by_place)
                : NULL;
        if (p && p->judged && same_process(state, rank, p)) {
            /* A negative excess means that the rank itself waits. */
            rank->caused = p->excess > 0 ? p->excess : 0;
            rank->late = p->late;
            judged++;
        }
    }
    return judged;
}

/* Returns the running node with the oldest snapshot; NULL: none runs. */
static const struct livestate_node *find_oldest(const struct livestate *state)
{
    const struct livestate_node *oldest = NULL;

    for (size_t i = 0; i < state->n_nodes; i++)
        if (!state->nodes[i].last &&
            (!oldest || state->nodes[i].age_ms > oldest->age_ms))
            oldest = &state->nodes[i];
    return oldest;
}

/* Says what an all-clear needs, or gives it. It needs a snapshot of every node,
 * none older than the period of watched nodes; every rank of the largest
 * communicator, because the one that is missing may be the late one; and, as in
 * the report, a judgement of at least half of the ranks. judged: their number.
 * members: the size of the largest communicator. */
static void find_clear(struct livestate *state, size_t judged, uint64_t members)
{
    const struct livestate_node *oldest = find_oldest(state);
    uint64_t recent_ms = state->place.times.ms[HUNG_LOOKS] + RECENT_SPARE_MS;
    uint64_t ranks = state->n_ranks + state->left_ranks;
    char *text = state->text, blind[160];
    size_t size = sizeof(state->text);

    state->word = LIVESTATE_UNJUDGED;
    state->waits = true;
    if (state->n_silent) {
        snprintf(text, size,
                 "nothing was found so far; waiting for data of %" PRIu32
                 " of %" PRIu32 " node%s",
                 state->n_silent, state->place.nodes,
                 state->place.nodes == 1 ? "" : "s");
    } else if (oldest && oldest->age_ms > recent_ms) {
        snprintf(text, size,
                 "nothing was found in data that is %" PRIu64
                 " s old (%s); waiting for newer data",
                 oldest->age_ms / 1000, oldest->node);
    } else if (ranks < members) {
        snprintf(text, size,
                 "nothing was found in %" PRIu64 " of %" PRIu64
                 " ranks; waiting for data of the others",
                 ranks, members);
    } else if (ranks == 1) {
        state->waits = false;
        snprintf(text, size,
                 "no %s; late ranks cannot be judged: only one rank, so no "
                 "other waits for it",
                 state->n_logs ? "silence" : "hang");
    } else if (2 * judged < state->n_ranks) {
        state->waits = false;
        snprintf(text, size,
                 "no %s; late ranks cannot be judged yet: too few operations "
                 "of %zu of %zu ranks in the last half minute%s",
                 state->n_logs ? "silence" : "hang", state->n_ranks - judged,
                 state->n_ranks, format_blind(state, blind, sizeof(blind)));
    } else {
        state->word = LIVESTATE_OK;
        state->waits = false;
        snprintf(text, size, "%zu rank%s on %zu node%s: no %s, no late rank%s",
                 state->n_ranks, state->n_ranks == 1 ? "" : "s", state->n_nodes,
                 state->n_nodes == 1 ? "" : "s",
                 state->n_logs ? "silence" : "hang",
                 format_blind(state, blind, sizeof(blind)));
    }
}

/* States in which a process cannot make progress by itself. */
static bool in_trouble(enum hung_state state)
{
    return state == HUNG_GONE || state == HUNG_STOPPED;
}

/* Reports processes that do not run while nobody has waited for long. */
static void find_trouble(struct livestate *state)
{
    const struct livestate_rank *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < state->n_ranks; i++)
        if (in_trouble(state->ranks[i].is.state)) {
            first = first ? first : &state->ranks[i];
            n++;
        }
    /* A hang or stall that was found says more. */
    if (!first || state->word != LIVESTATE_OK)
        return;
    state->word = LIVESTATE_TROUBLE;
    snprintf(state->text, sizeof(state->text),
             "rank %" PRId64 " (%s pid %" PRId64 ") is %s%s", first->rank,
             state->nodes[first->node].node, first->is.pid,
             hung_state_words[first->is.state],
             n > 1 ? ", and other ranks are not running either" : "");
}

/* Sets the verdict from how many nodes were heard recently and how many have
 * written their last snapshot. */
static void find_heard(struct livestate *state)
{
    size_t ended = 0, stale = 0;

    for (size_t i = 0; i < state->n_nodes; i++) {
        ended += state->nodes[i].last;
        stale += state->nodes[i].stale;
    }
    /* Three cases: all nodes have ended, no node is recent, or the step can be
     * judged. */
    if (ended == state->n_nodes) {
        state->word = LIVESTATE_ENDED;
        snprintf(state->text, sizeof(state->text), "the tasks have ended");
    } else if (ended + stale == state->n_nodes) {
        state->word = LIVESTATE_UNJUDGED;
        snprintf(state->text, sizeof(state->text),
                 "no node has sent data for a while");
    } else {
        state->word = LIVESTATE_OK;
    }
}

/* Names the ranks by the rule for the whole job, which only all snapshots
 * together allow. */
static void name_ranks(struct livestate *state, const struct look *look)
{
    for (size_t i = 0; i < look->hangs.n_processes; i++) {
        const struct hangs_process *p = &look->hangs.processes[i];
        uint32_t row = look->tasks[i].joined;

        /* a row of several GPUs is no single rank */
        if (p->rank >= 0 && !p->has_peers && row < state->n_ranks)
            state->ranks[row].rank = p->rank;
    }
}

/* The verdict. */
static int judge_state(struct livestate *state, struct look *look,
                       const struct livestate_time *now)
{
    if (hangs_sum_finish(&look->sum) < 0 || livelate_finish(&look->late) < 0)
        return -1;
    state->waited_ms = 0;
    name_ranks(state, look);
    count_silent(state);
    find_heard(state);
    /* The rules need at least one recent snapshot. */
    if (state->word == LIVESTATE_OK) {
        uint64_t members = 0;
        size_t judged;

        for (size_t i = 0; i < look->late.n_members; i++)
            if (look->late.members[i].n_ranks > (int64_t) members)
                members = (uint64_t) look->late.members[i].n_ranks;
        find_stuck(state, look, now);
        find_trouble(state);
        judged = find_late(state, &look->late);
        if (state->word == LIVESTATE_OK)
            find_clear(state, judged, members);
    }
    return 0;
}

/* Reads the folder, and judges what it contains. */
static int look_at(struct livestate *state, int folder,
                   const struct livestate_time *now, struct jp_error *err)
{
    struct look look = {.heard_ns = INT64_MAX};
    int rc;

    /* The sum fills the hangs in, and owns nothing of them. */
    look.sum.hangs = &look.hangs;
    rc = take_all(state, &look, folder, now->real_ns);
    if (rc == 0 && state->n_nodes)
        rc = judge_state(state, &look, now);
    free(look.tasks);
    livelate_fini(&look.late);
    hangs_sum_fini(&look.sum);
    /* state owns the joined operations until the next look. */
    state->hangs = look.hangs;
    if (rc < 0) {
        hangs_fini(&state->hangs);
        state->n_nodes = state->n_ranks = 0;
        return error_set(err, "no memory for the nodes' snapshots");
    }
    return state->n_nodes > 0;
}

/* A folder that does not exist yet is no error: no node has written. */
int livestate_look(struct livestate *state, const struct livestate_time *now,
                   struct jp_error *err)
{
    char *path = text_format("%s/" LIVE_NODES, state->place.dir);
    int folder, rc;

    /* Everything that depends on the look starts again. */
    hangs_fini(&state->hangs);
    state->n_nodes = state->n_ranks = 0;
    state->left_ranks = 0;
    state->n_bad = state->n_late = 0;
    state->n_logs = 0;
    state->batch_ms = 0;
    state->text[0] = '\0';
    state->waits = false;
    if (!state->snap)
        state->snap = malloc(sizeof(*state->snap));
    if (!path || !state->snap) {
        free(path);
        return error_set(err, "out of memory");
    }
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    rc = folder < 0 && errno != ENOENT
             ? error_set(err, "%s: %s", path, strerror(errno))
             : 0;
    if (folder >= 0) {
        rc = look_at(state, folder, now, err);
        close(folder);
    }
    free(path);
    return rc;
}
