/* hung.c - decide whether operations in flight are a hang, and why. */
#include "orchestrator/ingest/hung.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"

#define MS_NS INT64_C(1000000) /* ns of a millisecond */
#define SECOND_NS UINT64_C(1000000000)
/* The longest chain of waits that is followed. */
#define CHAIN_MAX 64
/* The table's times are for this policy.hang_suspect, in ms. */
#define SUSPECT_MS 30000
/* After this many HUNG_CONFIRM, a silent node is no longer waited for. */
#define UNHEARD_TIMES 3

const char *const hung_state_words[HUNG_N_STATES] = {
    [HUNG_UNKNOWN] = "not known",
    [HUNG_MOVES] = "works",
    [HUNG_WAITS] = "waits in communication",
    [HUNG_OUTSIDE] = "outside of NCCL",
    [HUNG_COMPUTES] = "computes outside of NCCL",
    [HUNG_READS] = "reads or writes files",
    [HUNG_MUTE] = "its recorder is silent",
    [HUNG_DISK] = "waits for a disk (state D)",
    [HUNG_TRACED] = "held by a debugger",
    [HUNG_STOPPED] = "stopped by a signal",
    [HUNG_GONE] = "gone",
    [HUNG_ENDED] = "ended",
    [HUNG_NO_END] = "ends no operation",
};

const char *const hung_class_words[HUNG_N_CLASSES] = {
    [HUNG_NOTHING] = "none",
    [HUNG_BY_GONE] = "process_gone",
    [HUNG_BY_STOP] = "process_stopped",
    [HUNG_BY_ABSENCE] = "never_entered", /* H1 */
    [HUNG_BY_COMPUTING] = "busy_outside",
    [HUNG_BY_FILES] = "file_system",
    [HUNG_BY_ORDER] = "other_operation", /* H2 */
    [HUNG_BY_SIZE] = "other_size",       /* H2 */
    [HUNG_BY_CYCLE] = "p2p_cycle",
    [HUNG_INSIDE] = "all_inside", /* H3 */
    [HUNG_UNTOLD] = "not_known",
    [HUNG_SUSPENDED] = "suspended",
    [HUNG_DEBUGGED] = "debugger",
};

const char *const hung_phase_words[4] = {"quiet", "seen", "suspect",
                                         "confirmed"};

const struct hung_time_row hung_time_rows[HUNG_N_TIMES] = {
    [HUNG_LEAST] = {"suspect", SUSPECT_MS,
                    "checkpoints and evaluations of a few seconds are common; "
                    "all GPUs seldom wait for half a minute"},
    [HUNG_LOOKS] = {"looks", 5000,
                    "an operation that ends late ends between them"},
    [HUNG_SAY] = {"say", 30000,
                  "most of what is suspect moves again within it"},
    [HUNG_CONFIRM] = {"confirm", 60000,
                      "well before a program's own watchdog (PyTorch: 600 s) "
                      "takes the ranks down"},
    [HUNG_SILENT] = {"silent", 3000,
                     "a recorder writes its counters each second"},
};

void hung_times_set(struct hung_times *times, uint32_t suspect_ms)
{
    for (size_t i = 0; i < HUNG_N_TIMES; i++)
        times->ms[i] = (uint64_t) hung_time_rows[i].ms * suspect_ms /
                       SUSPECT_MS;
    /* does not scale: it depends on the recorder only */
    if (times->ms[HUNG_SILENT] < hung_time_rows[HUNG_SILENT].ms)
        times->ms[HUNG_SILENT] = hung_time_rows[HUNG_SILENT].ms;
}

/* --- usual durations ------------------------------------------------------ */

/* The bucket of a duration of at least one second, in half octaves. */
static unsigned bucket_of(uint64_t ns)
{
    uint64_t edge = SECOND_NS;
    unsigned i = 0;

    while (i + 2 < HUNG_BUCKETS && ns >= 2 * edge) {
        edge *= 2;
        i += 2;
    }
    return i + 1 < HUNG_BUCKETS && ns >= edge + edge / 2 ? i + 1 : i;
}

/* The upper edge of a bucket. */
static uint64_t edge_of(unsigned bucket)
{
    uint64_t edge = SECOND_NS << bucket / 2;

    return bucket % 2 ? 2 * edge : edge + edge / 2;
}

void hung_usual_add(struct hung_usual *usual, uint64_t ns)
{
    usual->n++;
    if (ns > usual->max_ns)
        usual->max_ns = ns;
    if (ns >= SECOND_NS)
        usual->longer[bucket_of(ns)]++;
}

uint64_t hung_usual_p99_ns(const struct hung_usual *usual)
{
    uint64_t above = 0;

    for (unsigned i = HUNG_BUCKETS; i-- > 0;) {
        above += usual->longer[i];
        if (above * 100 > usual->n) /* more than 1 % are here or above */
            return edge_of(i) < usual->max_ns ? edge_of(i) : usual->max_ns;
    }
    return 0;
}

uint64_t hung_limit_ns(const struct hung_times *times,
                       const struct hung_usual *usual, bool first)
{
    uint64_t limit = times->ms[HUNG_LEAST] * (uint64_t) MS_NS, more;

    if (first)
        return limit * HUNG_FIRST_TIMES; /* init and compiling take long */
    if (!usual)
        return limit;
    more = num_mul(hung_usual_p99_ns(usual), HUNG_P99_TIMES);
    limit = more > limit ? more : limit;
    /* a long one that came once, e.g. a checkpoint, may come again */
    more = num_mul(usual->max_ns, HUNG_MAX_TIMES);
    limit = more > limit ? more : limit;
    return limit < INT64_MAX ? limit : INT64_MAX;
}

/* --- the cause of a group ------------------------------------------------- */

bool hung_is_harmless(const struct jp_hangs *hangs,
                      const struct hangs_group *group)
{
    const uint32_t *count = group->count;

    if (count[HANGS_DONE] &&
        count[HANGS_DONE] + count[HANGS_IN_FLIGHT] + count[HANGS_BEGUN] ==
            group->n_ranks)
        return true;
    for (size_t i = 0; i < group->n_ops; i++) {
        const struct hangs_op *op = &hangs->ops[group->first + i];

        if (!op->captured && !op->passed &&
            (!op->unsure || count[HANGS_MISSING] || count[HANGS_HELD]))
            return false;
    }
    return true;
}

/* Whether the ranks differ in the size of what they enter. *op and *other: two
 * of them. Only collectives have to be alike. */
static bool sizes_differ(const struct jp_hangs *hangs,
                         const struct hangs_group *group,
                         const struct hangs_op **op,
                         const struct hangs_op **other)
{
    const struct hangs_op *first = &hangs->ops[group->first];

    if (first->kind == JPR_P2P)
        return false;
    for (size_t i = 1; i < group->n_ops; i++)
        if (first[i].bytes != first->bytes) {
            size_t alike = 0;

            /* the entry that most others differ from */
            for (size_t k = 0; k < group->n_ops; k++)
                alike += first[k].bytes == first->bytes;
            *op = 2 * alike > group->n_ops ? &first[i] : first;
            *other = *op == first ? &first[i] : first;
            return true;
        }
    return false;
}

static enum hung_state state_of(const struct hung_view *view, uint32_t process)
{
    return process < view->hangs->n_processes ? view->tasks[process].state
                                              : HUNG_UNKNOWN;
}

/* The process of a rank in a communicator; UINT32_MAX: unknown. */
static uint32_t process_of_rank(const struct hung_view *view,
                                const struct hangs_op *op, int64_t rank)
{
    const struct progress_row *row;
    size_t n;

    row = progress_find(view->progress, op->hash, op->n_ranks, JPR_N_OP_KINDS,
                        "", &n);
    for (size_t i = 0; i < n; i++)
        if (row[i].rank == rank)
            return row[i].process;
    return UINT32_MAX;
}

/* The group of a process's oldest operation in flight; SIZE_MAX: none. */
static size_t oldest_of(const struct hung_view *view, uint32_t process)
{
    const struct jp_hangs *hangs = view->hangs;
    size_t best = SIZE_MAX;
    int64_t best_ns = 0;

    for (size_t i = 0; i < hangs->n_groups; i++)
        for (size_t k = 0; k < hangs->groups[i].n_ops; k++) {
            const struct hangs_op *op = &hangs->ops[hangs->groups[i].first + k];

            if (op->process == process && !op->captured && !op->passed &&
                (best == SIZE_MAX || op->start_ns < best_ns)) {
                best = i;
                best_ns = op->start_ns;
            }
        }
    return best;
}

/* Whether the peer of a Send or Recv has the other end of it in flight. */
static bool is_met(const struct hung_view *view, const struct hangs_op *op,
                   uint32_t peer)
{
    const struct jp_hangs *hangs = view->hangs;

    for (size_t i = 0; i < hangs->n_ops; i++) {
        const struct hangs_op *other = &hangs->ops[i];

        if (other->process == peer && other->kind == JPR_P2P &&
            other->hash == op->hash && other->peer == op->rank &&
            strcmp(other->func, op->func) != 0)
            return true;
    }
    return false;
}

/* The kind of hang if a rank has not entered, by its process's state. */
static enum hung_class absence_of(enum hung_state state)
{
    switch (state) {
    case HUNG_GONE:
        return HUNG_BY_GONE;
    case HUNG_STOPPED:
        return HUNG_BY_STOP;
    case HUNG_TRACED:
        return HUNG_DEBUGGED;
    case HUNG_COMPUTES:
        return HUNG_BY_COMPUTING;
    case HUNG_READS:
    case HUNG_DISK:
    case HUNG_MUTE:
        return HUNG_BY_FILES;
    case HUNG_UNKNOWN:
        return HUNG_UNTOLD;
    default:
        return HUNG_BY_ABSENCE;
    }
}

/* The first rank of a state; there is one. */
static uint32_t find_rank(const struct hangs_group *group,
                          enum hangs_state state)
{
    uint32_t rank = 0;

    while (rank + 1 < group->n_ranks && group->states[rank] != state)
        rank++;
    return rank;
}

static struct hung_cause cause_of(enum hung_class class, size_t group,
                                  uint32_t process, int64_t rank)
{
    return (struct hung_cause){class, group, process, rank, SIZE_MAX};
}

/* A chain of waits, each leading to the next. */
struct chain {
    size_t groups[CHAIN_MAX]; /* the groups along the chain */
    size_t n;
};

/* Picks, among the ranks that never entered, the one that explains most. A
 * process that is gone, stopped or busy explains more than one of many idle
 * ones. */
static uint32_t pick_missing(const struct hung_view *view,
                             const struct hangs_group *group)
{
    static const uint8_t weights[HUNG_N_STATES] = {
        [HUNG_GONE] = 4,  [HUNG_STOPPED] = 3, [HUNG_TRACED] = 3,
        [HUNG_READS] = 2, [HUNG_DISK] = 2,    [HUNG_COMPUTES] = 1};
    int best = -1, best_weight = -1;

    for (uint32_t i = 0; i < group->n_ranks; i++) {
        int weight = weights[state_of(view, group->processes[i])];

        if (group->states[i] == HANGS_MISSING && weight > best_weight) {
            best_weight = weight;
            best = (int) i;
        }
    }
    return (uint32_t) best;
}

/* Judges a group of which no rank is known to be missing. */
static struct hung_cause judge_inside(const struct hung_view *view, size_t at)
{
    const struct hangs_group *group = &view->hangs->groups[at];
    const struct hangs_op *op, *other;

    if (sizes_differ(view->hangs, group, &op, &other))
        return cause_of(HUNG_BY_SIZE, at, op->process, op->rank);
    if (group->count[HANGS_UNSURE]) {
        /* its file ends early; /proc may show why */
        uint32_t rank = find_rank(group, HANGS_UNSURE),
                 process = group->processes[rank];
        enum hung_class class = absence_of(state_of(view, process));

        return cause_of(class == HUNG_BY_ABSENCE ? HUNG_UNTOLD : class, at,
                        process, rank);
    }
    if (group->count[HANGS_NO_FILE])
        return cause_of(HUNG_UNTOLD, at, UINT32_MAX,
                        find_rank(group, HANGS_NO_FILE));
    return cause_of(HUNG_INSIDE, at, UINT32_MAX, -1);
}

/* Judges one group: which process is to blame, or where the wait continues
 * (*next). */
static struct hung_cause judge_group(const struct hung_view *view, size_t at,
                                     uint32_t *next)
{
    const struct hangs_group *group = &view->hangs->groups[at];
    const struct hangs_op *op = &view->hangs->ops[group->first];
    uint32_t rank = UINT32_MAX, peer;

    *next = UINT32_MAX;
    if (!group->n_ranks) { /* Send or Recv */
        peer = process_of_rank(view, op, op->peer);
        if (peer == UINT32_MAX) /* no data of the peer */
            return cause_of(HUNG_UNTOLD, at, UINT32_MAX, op->peer);
        if (is_met(view, op, peer))
            return cause_of(HUNG_INSIDE, at, UINT32_MAX, -1);
        if (oldest_of(view, peer) == SIZE_MAX)
            return cause_of(absence_of(state_of(view, peer)), at, peer,
                            op->peer);
        *next = peer;
        return cause_of(HUNG_INSIDE, at, peer, op->peer);
    }
    if (group->count[HANGS_MISSING]) {
        rank = pick_missing(view, group);
        peer = group->processes[rank];
        return cause_of(absence_of(state_of(view, peer)), at, peer, rank);
    }
    if (group->count[HANGS_HELD]) {
        rank = find_rank(group, HANGS_HELD);
        *next = group->processes[rank];
        return cause_of(HUNG_BY_ORDER, at, *next, rank);
    }
    return judge_inside(view, at);
}

/* The chain has closed into a circle. If it contains a collective, ranks
 * entered different operations: blames a rank missing in the largest group. */
static struct hung_cause judge_round(const struct hung_view *view,
                                     const struct chain *chain)
{
    size_t most = SIZE_MAX;
    struct hung_cause cause;
    uint32_t next;

    for (size_t i = 0; i < chain->n; i++) {
        const struct hangs_group *group =
            &view->hangs->groups[chain->groups[i]];

        if (group->n_ranks && (most == SIZE_MAX ||
                               group->n_ops > view->hangs->groups[most].n_ops))
            most = chain->groups[i];
    }
    if (most == SIZE_MAX) /* only Send and Recv */
        return cause_of(HUNG_BY_CYCLE, chain->groups[0], UINT32_MAX, -1);
    cause = judge_group(view, most, &next);
    if (next != UINT32_MAX)
        cause.elsewhere = oldest_of(view, next);
    return cause;
}

/* Follows the waits from group to group to a culprit or around a circle. */
static struct hung_cause follow(const struct hung_view *view, size_t at)
{
    struct chain chain = {.n = 0};
    struct hung_cause cause;
    uint32_t next;

    while (true) {
        for (size_t i = 0; i < chain.n; i++)
            if (chain.groups[i] == at) /* a circle */
                return judge_round(view, &chain);
        cause = judge_group(view, at, &next);
        if (next == UINT32_MAX || chain.n == CHAIN_MAX)
            return cause;
        chain.groups[chain.n++] = at;
        at = oldest_of(view, next);
        if (at == SIZE_MAX) /* the chain ends */
            return cause;
    }
}

/* Whether all processes that are left are stopped. */
static bool is_suspended(const struct hung_view *view)
{
    size_t n = 0;

    for (size_t i = 0; i < view->hangs->n_processes; i++) {
        enum hung_state state = view->tasks[i].state;

        if (state == HUNG_GONE || state == HUNG_ENDED)
            continue;
        if (state != HUNG_STOPPED) /* it still runs */
            return false;
        n++;
    }
    return n > 0;
}

/* Finds a process of a state among those in the group; *rank is its rank. */
static uint32_t find_state(const struct hung_view *view,
                           const struct hangs_group *group,
                           enum hung_state state, int64_t *rank)
{
    const struct hangs_op *op = &view->hangs->ops[group->first];

    for (uint32_t i = 0; i < group->n_ranks; i++)
        if (group->processes[i] != UINT32_MAX &&
            state_of(view, group->processes[i]) == state &&
            group->states[i] != HANGS_DONE) {
            *rank = i;
            return group->processes[i];
        }
    for (size_t i = 0; i < group->n_ops; i++)
        if (state_of(view, op[i].process) == state) {
            *rank = op[i].rank;
            return op[i].process;
        }
    return UINT32_MAX;
}

struct hung_cause hung_judge(const struct hung_view *view, size_t at)
{
    static const struct {
        enum hung_state state;
        enum hung_class class;
    } outer[] = {{HUNG_TRACED, HUNG_DEBUGGED},
                 {HUNG_GONE, HUNG_BY_GONE},
                 {HUNG_STOPPED, HUNG_BY_STOP}};
    struct hung_cause cause = follow(view, at);
    uint32_t process;
    int64_t rank = -1;

    if (is_suspended(view))
        return cause_of(HUNG_SUSPENDED, at, UINT32_MAX, -1);
    /* the states in /proc are more reliable than entries of operations */
    for (size_t i = 0; i < sizeof(outer) / sizeof(*outer); i++) {
        process = find_state(view, &view->hangs->groups[cause.group],
                             outer[i].state, &rank);
        if (process != UINT32_MAX)
            return cause_of(outer[i].class, cause.group, process, rank);
    }
    return cause;
}

/* --- looks ---------------------------------------------------------------- */

/* Number of operations ended in the processes of a group. */
static uint64_t count_over(const struct hung_view *view,
                           const struct hangs_group *group)
{
    const struct hangs_op *op = &view->hangs->ops[group->first];
    uint64_t sum = 0;

    if (!group->n_ranks) {
        uint32_t peer = process_of_rank(view, op, op->peer);

        sum = view->tasks[op->process].over;
        return peer == UINT32_MAX ? sum : sum + view->tasks[peer].over;
    }
    for (uint32_t i = 0; i < group->n_ranks; i++)
        if (group->processes[i] != UINT32_MAX)
            sum += view->tasks[group->processes[i]].over;
    return sum;
}

static bool is_busy(enum hung_class class)
{
    return class == HUNG_BY_COMPUTING || class == HUNG_BY_FILES;
}

/* Whether the unexplained part of the wait exceeds the limit. For a busy
 * process nothing is deducted: it has used up its longer limit. */
static bool is_overdue(const struct hung *hung, const struct hung_view *view,
                       const struct hangs_group *group, enum hung_class class)
{
    const struct hangs_op *op = &view->hangs->ops[group->first];
    int64_t limit = (int64_t) (hung->times.ms[HUNG_LEAST]) * MS_NS;
    int64_t age = group->age_ns;

    for (size_t i = 0; i < group->n_ops; i++)
        if (op[i].limit_ns > limit)
            limit = op[i].limit_ns;
    if (!is_busy(class) && group->start_ns && hung->calm_ns > group->start_ns)
        age -= hung->calm_ns - group->start_ns;
    return age > limit;
}

/* Whether it is in flight long enough to look for a cause. */
static bool is_long(const struct hung *hung, const struct hangs_group *group)
{
    return group->age_ns > (int64_t) hung->times.ms[HUNG_LOOKS] * MS_NS;
}

/* Whether something explains the wait for now. */
static bool is_explained(const struct hung *hung,
                         const struct hangs_group *group, enum hung_class class)
{
    if (is_busy(class))
        return group->age_ns <
               (int64_t) hung->times.ms[HUNG_LEAST] * HUNG_BUSY_TIMES * MS_NS;
    return class == HUNG_SUSPENDED || class == HUNG_DEBUGGED;
}

static bool is_same(const struct hung *hung, const struct hangs_op *op)
{
    return hung->hash == op->hash && hung->seq == op->seq &&
           hung->n_ranks == op->n_ranks && hung->kind == op->kind &&
           !strcmp(hung->func, op->func);
}

/* The group of the blocked operation if still in flight; otherwise SIZE_MAX. */
static size_t find_again(const struct hung *hung, const struct hung_view *view)
{
    const struct jp_hangs *hangs = view->hangs;

    if (hung->phase != HUNG_QUIET) /* else nothing is blocked */
        for (size_t i = 0; i < hangs->n_groups; i++)
            if (is_same(hung, &hangs->ops[hangs->groups[i].first]) &&
                (hangs->groups[i].n_ranks ||
                 hangs->groups[i].start_ns == hung->start_ns))
                return i;
    return SIZE_MAX;
}

/* Whether a process that is still there waits in the group. What a process had
 * in flight when it ended keeps nobody waiting, and its age only grows. */
static bool anybody_waits(const struct hung_view *view,
                          const struct hangs_group *group)
{
    const struct hangs_op *op = &view->hangs->ops[group->first];

    for (size_t i = 0; i < group->n_ops; i++) {
        enum hung_state state = state_of(view, op[i].process);

        if (state != HUNG_GONE && state != HUNG_ENDED)
            return true;
    }
    return false;
}

/* The first overdue group. Notes on the way what explains waits. */
static size_t find_overdue(struct hung *hung, const struct hung_view *view)
{
    const struct jp_hangs *hangs = view->hangs;

    for (size_t i = 0; i < hangs->n_groups; i++) {
        const struct hangs_group *group = &hangs->groups[i];
        enum hung_class class;

        if (!is_long(hung, group) || hung_is_harmless(hangs, group) ||
            !anybody_waits(view, group))
            continue;
        class = hung_judge(view, i).class;
        if (is_explained(hung, group, class))
            hung->calm_ns = view->now_ns; /* waits until now are explained */
        else if (is_overdue(hung, view, group, class))
            return i;
    }
    return SIZE_MAX;
}

static enum hung_news begin(struct hung *hung, const struct hung_view *view,
                            size_t at)
{
    const struct hangs_group *group = &view->hangs->groups[at];
    const struct hangs_op *op = &view->hangs->ops[group->first];

    hung->phase = HUNG_SEEN;
    hung->said = hung->unheard = false;
    hung->hash = op->hash;
    hung->seq = op->seq;
    hung->n_ranks = op->n_ranks;
    hung->kind = op->kind;
    hung->start_ns = group->start_ns;
    snprintf(hung->func, sizeof(hung->func), "%s", op->func);
    hung->seen_ms = view->now_ms;
    hung->over = count_over(view, group); /* to see later whether it moves */
    hung->cause = hung_judge(view, at);
    return HUNG_NO_NEWS;
}

static enum hung_news end(struct hung *hung)
{
    bool said = hung->said;

    hung->phase = HUNG_QUIET;
    hung->said = false;
    hung->cause = cause_of(HUNG_NOTHING, SIZE_MAX, UINT32_MAX, -1);
    return said ? HUNG_GOES_ON : HUNG_NO_NEWS;
}

/* Continues with the same operation; nothing has ended since it was seen. */
static enum hung_news go_on(struct hung *hung, const struct hung_view *view,
                            const struct hangs_group *group)
{
    uint64_t slack_ms = HANGS_OTHER_HOST_NS / MS_NS,
             waited_ms = view->now_ms - hung->suspect_ms;
    bool heard = !view->n_silent &&
                 view->heard_ns > group->start_ns + (int64_t) slack_ms * MS_NS;

    if (hung->phase == HUNG_SEEN &&
        view->now_ms - hung->seen_ms >= hung->times.ms[HUNG_LOOKS] &&
        is_overdue(hung, view, group, hung->cause.class)) {
        hung->phase = HUNG_SUSPECT;
        hung->suspect_ms = view->now_ms;
        return HUNG_NO_NEWS;
    }
    if (hung->phase != HUNG_SUSPECT)
        return HUNG_NO_NEWS;
    if (waited_ms >= hung->times.ms[HUNG_CONFIRM] &&
        (heard || waited_ms >= UNHEARD_TIMES * hung->times.ms[HUNG_CONFIRM])) {
        hung->phase = HUNG_CONFIRMED;
        hung->said = true;
        hung->unheard = !heard; /* some nodes are silent */
        hung->n_hangs++;
        return HUNG_HANGS;
    }
    if (!hung->said && waited_ms >= hung->times.ms[HUNG_SAY]) {
        hung->said = true;
        return HUNG_SLOW;
    }
    return HUNG_NO_NEWS;
}

enum hung_news hung_look(struct hung *hung, const struct hung_view *view)
{
    size_t again = find_again(hung, view), overdue = find_overdue(hung, view);

    if (hung->phase == HUNG_QUIET)
        return overdue == SIZE_MAX ? HUNG_NO_NEWS : begin(hung, view, overdue);
    if (again != SIZE_MAX &&
        count_over(view, &view->hangs->groups[again]) == hung->over) {
        const struct hangs_group *group = &view->hangs->groups[again];
        struct hung_cause cause = hung_judge(view, again);

        if (is_explained(hung, group, cause.class)) {
            /* a debugger has attached, or its rank has begun to read */
            hung->calm_ns = view->now_ns;
            hung->phase = HUNG_SEEN;
            hung->seen_ms = view->now_ms;
            return HUNG_NO_NEWS;
        }
        hung->cause = cause;
        return go_on(hung, view, group);
    }
    return end(hung);
}

/* --- sentences ------------------------------------------------------------ */

/* The state of the process, beyond what it has not entered. */
static const char *format_state(enum hung_class class)
{
    switch (class) {
    case HUNG_BY_GONE:
        return "the process is gone";
    case HUNG_BY_STOP:
        return "the process is stopped by a signal";
    case HUNG_BY_COMPUTING:
        return "it computes outside of NCCL";
    case HUNG_BY_FILES:
        return "it reads or writes files, or waits for a disk";
    case HUNG_DEBUGGED:
        return "a debugger holds the process";
    default:
        return "";
    }
}

static void answer_size(const struct hung_view *view,
                        const struct hung_cause *cause, char *buf, size_t size)
{
    const struct hangs_op *op = NULL, *other = NULL;
    char what[256], whom[HANGS_NAME_LEN], them[HANGS_NAME_LEN];

    if (!sizes_differ(view->hangs, &view->hangs->groups[cause->group], &op,
                      &other))
        return;
    snprintf(buf, size,
             "%s entered %s with %" PRIu64 " bytes, %s with %" PRIu64
             ": sizes must be equal",
             hangs_name(view->hangs, cause->process, cause->rank, whom),
             hangs_format_op(op, what, sizeof(what)), op->bytes,
             hangs_name(view->hangs, other->process, other->rank, them),
             other->bytes);
}

/* The ranks of a circle of Send and Recv, starting with the first. */
static void answer_cycle(const struct hung_view *view,
                         const struct hung_cause *cause, char *buf, size_t size)
{
    size_t at = cause->group, len;
    char who[HANGS_NAME_LEN];

    len = (size_t) snprintf(buf, size,
                            "Send and Recv wait for each other in a circle: ");
    for (size_t n = 0; n < 8 && len < size && at != SIZE_MAX; n++) {
        const struct hangs_op *op =
            &view->hangs->ops[view->hangs->groups[at].first];
        int64_t peer =
            hangs_job_rank(view->hangs, process_of_rank(view, op, op->peer));

        len += (size_t) snprintf(
            buf + len, size - len, "%s%s in %s %s rank %" PRId64, n ? ", " : "",
            hangs_name(view->hangs, op->process, op->rank, who), op->func,
            strcmp(op->func, "Send") ? "from" : "to",
            peer >= 0 ? peer : op->peer);
        at = oldest_of(view, process_of_rank(view, op, op->peer));
        if (at == cause->group)
            break;
    }
}

/* Names the rank that has not entered, with the state of its process in /proc.
 */
static void answer_absent(const struct hung_view *view,
                          const struct hung_cause *cause, char *buf,
                          size_t size)
{
    const struct hangs_group *group = &view->hangs->groups[cause->group];
    const struct hangs_op *op = &view->hangs->ops[group->first];
    const char *state = format_state(cause->class);
    char what[256], whom[HANGS_NAME_LEN], since[96];

    if (cause->class == HUNG_BY_ABSENCE && group->n_ranks) {
        hangs_answer_of(view->hangs, group, buf, size);
        return;
    }
    hangs_format_since(group, since, sizeof(since));
    snprintf(buf, size, "%s keeps the others waiting in %s%s%s%s",
             hangs_name(view->hangs, cause->process, cause->rank, whom),
             hangs_format_op(op, what, sizeof(what)), since, *state ? ": " : "",
             state);
}

char *hung_answer(const struct hung_view *view, const struct hung_cause *cause,
                  char *buf, size_t size)
{
    const struct hangs_group *group;

    *buf = '\0';
    if (cause->group >= view->hangs->n_groups) /* also SIZE_MAX */
        return buf;
    group = &view->hangs->groups[cause->group];
    switch (cause->class) {
    case HUNG_BY_GONE:
    case HUNG_BY_STOP:
    case HUNG_BY_ABSENCE:
    case HUNG_BY_COMPUTING:
    case HUNG_BY_FILES:
    case HUNG_DEBUGGED:
        answer_absent(view, cause, buf, size);
        break;
    case HUNG_BY_SIZE:
        answer_size(view, cause, buf, size);
        break;
    case HUNG_BY_CYCLE:
        answer_cycle(view, cause, buf, size);
        break;
    case HUNG_SUSPENDED:
        snprintf(buf, size, "all processes of the step are stopped");
        break;
    default:
        hangs_answer_of(view->hangs, group, buf, size);
    }
    return buf;
}
