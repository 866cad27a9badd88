/* test_hung.c - the rule of a hang on simulated snapshots of a step.
 *
 * A step of several nodes runs by the test's clock. Each node's snapshot is up
 * to five seconds old when node 0 joins them, and is packed and unpacked. Every
 * kind of fault occurs 20 times, with random sizes, ranks and moments; healthy
 * and slow steps 500 times; a quarter of that in make check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/live/livesnap.h"
#include "tests/common/fewer.h"

#define SECOND UINT64_C(1000000000)
#define BEGAN (UINT64_C(1700000000) * SECOND)
#define RANKS_MAX 64
#define RUNS SAMPLE(20u)
#define HEALTHY_RUNS SAMPLE(500u)
#define LOOK_S 5

enum fault {
    NONE,
    STOPS,  /* a rank never enters */
    SKIPS,  /* it enters another operation */
    SIZES,  /* it enters with another size */
    INSIDE, /* all enter, and none leaves */
    SIGSTOP_OUTSIDE,
    SIGSTOP_INSIDE,
    KILLED,
    KILLED_ALONE, /* within an operation of a communicator that only it has */
    DISK,         /* in state D for ever */
    CYCLE,        /* each rank receives from the previous one */
    SENDS,        /* a rank waits for a Recv that its peer never posts */
    /* these are no hangs: */
    SLOW,
    CHECKPOINT,
    SILENT_CHECKPOINT, /* nothing shows that it writes; an earlier one was as
                          long */
    EVALUATION,
    SUSPENDED,
    FIRST,
    DEBUGGER,
    GOES_ON, /* reported, and then it makes progress */
    N_FAULTS
};

struct rank {
    enum hung_state state;
    uint64_t begun, ended; /* AllReduce: one more than the last number */
    bool in_flight;
    const char *func; /* the operation in flight */
    uint64_t seq, bytes, start_ns;
    int64_t peer;
    uint64_t over,
        silent_ns; /* 0, or the time since when its recorder is silent */
};

struct step {
    struct rank ranks[RANKS_MAX];
    uint32_t n, a_node;
    struct hung_usual usual;
    enum fault fault;
    uint32_t victim;
    uint64_t at_s, now_ns, op_s;
    struct hung stuck;
    /* the result */
    enum hung_class class;
    int64_t rank;
    unsigned lines, hangs;
    uint64_t hang_s, slow_s, goes_s;
    char text[512];
};

/* --- the step ------------------------------------------------------------- */

static void enter(struct step *s, struct rank *r, const char *func,
                  uint64_t seq)
{
    r->in_flight = true;
    r->func = func;
    r->seq = seq;
    r->bytes = 4096;
    r->peer = -1;
    r->start_ns = s->now_ns;
    r->state = HUNG_WAITS;
    if (!strcmp(func, "AllReduce"))
        r->begun = seq + 1;
}

/* All ranks enter the next operation; the victim does what its fault says. */
static void enter_all(struct step *s, bool struck)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct rank *r = &s->ranks[i];
        bool victim = struck && i == s->victim;

        if (struck && s->fault == CYCLE) {
            enter(s, r, "Recv", 7);
            r->peer = (i + s->n - 1) % s->n;
        } else if (struck && s->fault == SENDS) {
            r->state = HUNG_OUTSIDE;
            if (i == (s->victim + 1) % s->n) {
                enter(s, r, "Send", 7);
                r->peer = s->victim;
            }
        } else if (victim && s->fault == SKIPS) {
            enter(s, r, "AllGather", 3);
        } else if (victim && s->fault != SIZES && s->fault != INSIDE &&
                   s->fault != SIGSTOP_INSIDE && s->fault != SLOW &&
                   s->fault != FIRST && s->fault != DEBUGGER &&
                   s->fault != SUSPENDED) {
            r->state = HUNG_OUTSIDE;
        } else {
            enter(s, r, "AllReduce", r->begun);
            if (victim && s->fault == SIZES)
                r->bytes = 8192;
        }
    }
}

static void leave_all(struct step *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct rank *r = &s->ranks[i];

        if (r->in_flight) {
            hung_usual_add(&s->usual, s->now_ns - r->start_ns);
            r->ended = r->begun;
        }
        r->in_flight = false;
        r->over++;
        r->state = HUNG_MOVES;
        r->silent_ns = 0;
    }
}

static void set_states(struct step *s, enum hung_state state, bool all)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (all || i == s->victim)
            s->ranks[i].state = state;
}

/* Duration of the fault; 0: for ever. */
static uint64_t lasts_s(const struct step *s)
{
    switch (s->fault) {
    case SLOW:
        return 45;
    case CHECKPOINT:
        return 90;
    case SILENT_CHECKPOINT:
        return 60;
    case EVALUATION:
        return 240;
    case SUSPENDED:
        return 1800;
    case FIRST:
        return 120;
    case DEBUGGER:
        return 1200;
    case GOES_ON:
        return 80;
    default:
        return 0;
    }
}

static void strike(struct step *s)
{
    enter_all(s, true);
    switch (s->fault) {
    case SIGSTOP_OUTSIDE:
    case SIGSTOP_INSIDE:
        set_states(s, HUNG_STOPPED, false);
        break;
    case KILLED:
    case KILLED_ALONE:
        set_states(s, HUNG_GONE, false);
        break;
    case DISK:
        set_states(s, HUNG_DISK, false);
        break;
    case CHECKPOINT:
        set_states(s, HUNG_READS, false);
        break;
    case EVALUATION:
        set_states(s, HUNG_COMPUTES, false);
        break;
    case SUSPENDED:
        set_states(s, HUNG_STOPPED, true);
        break;
    case DEBUGGER:
        set_states(s, HUNG_TRACED, false);
        break;
    default:
        break;
    }
    /* its recorder has written nothing since before the others entered */
    if (s->fault == SIGSTOP_OUTSIDE || s->fault == KILLED ||
        s->fault == KILLED_ALONE || s->fault == DISK)
        s->ranks[s->victim].silent_ns = s->now_ns - SECOND / 2;
}

/* One second. */
static void pass(struct step *s, uint64_t second)
{
    uint64_t last = lasts_s(s);

    s->now_ns = BEGAN + second * SECOND;
    if (s->fault != NONE && second == s->at_s) {
        if (s->ranks[0].in_flight)
            leave_all(s);
        strike(s);
    } else if (s->fault != NONE && second > s->at_s &&
               (!last || second < s->at_s + last)) {
        return;
    } else if (s->fault == FIRST && second < s->at_s) {
        return;
    } else if (second % s->op_s == 0 || second == s->at_s + last) {
        leave_all(s);
        enter_all(s, false);
    }
}

/* --- its snapshots -------------------------------------------------------- */

/* A rank that was killed 53 ms after it entered an operation of a communicator
 * that only it has. */
static void fill_lone(const struct rank *r, uint32_t at, struct live_snap *snap)
{
    snap->comms[snap->n_comms] = (struct live_comm){0xdef, 1, "lone"};
    snap->fronts[snap->n_fronts++] = (struct live_front){
        .rank = at, .comm = (uint32_t) snap->n_comms, .kind = JPR_N_OP_KINDS};
    snap->ops[snap->n_ops++] =
        (struct live_op){.rank = at,
                         .comm = (uint32_t) snap->n_comms++,
                         .peer = -1,
                         .func = "Broadcast",
                         .seq = 58,
                         .start_ns = (int64_t) r->silent_ns - 53000000,
                         .until_ns = (int64_t) r->silent_ns,
                         .limit_ns = 30 * (int64_t) SECOND};
}

static void fill_rank(const struct step *s, uint32_t i, uint64_t at_ns,
                      struct live_snap *snap)
{
    const struct rank *r = &s->ranks[i];
    uint32_t at = snap->n_ranks++;
    struct live_front *f = &snap->fronts[snap->n_fronts];
    bool stays = r->state == HUNG_STOPPED || r->state == HUNG_GONE ||
                 r->state == HUNG_DISK || r->state == HUNG_TRACED;

    snap->ranks[at] = (struct live_rank){
        .pid = 1000 + i,
        .task = i,
        .state = r->state,
        .busy = r->in_flight,
        .counted_ns = (int64_t) (r->silent_ns && !stays ? r->silent_ns : at_ns),
        .produced = r->begun,
        .over = r->over,
        .in_flight = r->in_flight};
    f[0] =
        (struct live_front){.rank = at, .comm_rank = i, .kind = JPR_N_OP_KINDS};
    f[1] = (struct live_front){.rank = at,
                               .comm_rank = i,
                               .kind = JPR_COLL,
                               .func = "AllReduce",
                               .begun = r->begun,
                               .ended = r->ended};
    snap->n_fronts += 2;
    if (s->fault == KILLED_ALONE && r->state == HUNG_GONE)
        fill_lone(r, at, snap);
    if (!r->in_flight)
        return;
    snap->ops[snap->n_ops] = (struct live_op){
        .rank = at,
        .comm_rank = i,
        .peer = r->peer,
        .kind = r->peer >= 0 ? JPR_P2P : JPR_COLL,
        .seq = r->seq,
        .bytes = r->bytes,
        .start_ns = (int64_t) r->start_ns,
        .until_ns = (int64_t) at_ns,
        .limit_ns = (int64_t) hung_limit_ns(
            &s->stuck.times, s->usual.n ? &s->usual : NULL, !r->ended)};
    snprintf(snap->ops[snap->n_ops++].func, RECORD_MAX_FUNC + 1, "%s", r->func);
}

/* Packs and unpacks the snapshot, as between nodes. */
static void take(const struct step *s, uint32_t node, struct hangs_sum *sum,
                 struct hung_task *tasks, struct hung_view *view)
{
    static struct live_snap snap, back;
    uint64_t at_ns = s->now_ns - (uint64_t) rand() % (LOOK_S * SECOND);
    uint8_t bytes[LIVE_SNAP_BYTES];
    struct jp_error err;
    size_t n;

    snap = (struct live_snap){.nodeid = node,
                              .sequence = 1,
                              .real_ns = at_ns,
                              .n_comms = 1,
                              .class = LIVE_WAITS,
                              .comms = {{0xabc, s->n, "dp"}}};
    snprintf(snap.node, sizeof(snap.node), "n%u", node);
    for (uint32_t i = 0; i < s->a_node; i++)
        fill_rank(s, node * s->a_node + i, at_ns, &snap);
    n = livesnap_pack(&snap, bytes);
    if (livesnap_unpack(bytes, n, &back, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(back.n_ranks, s->a_node);
    assert_int_equal(livesnap_join(&back, sum, tasks), 0);
    if ((int64_t) at_ns < view->heard_ns)
        view->heard_ns = (int64_t) at_ns;
}

static void look(struct step *s, uint64_t second)
{
    struct jp_hangs hangs = {0};
    struct hangs_sum sum = {.hangs = &hangs};
    struct hung_task tasks[RANKS_MAX + LIVE_JOINED_MAX];
    struct hung_view view = {.hangs = &hangs,
                             .progress = &sum.progress,
                             .tasks = tasks,
                             .now_ms = second * 1000,
                             .now_ns = (int64_t) s->now_ns,
                             .heard_ns = INT64_MAX};
    enum hung_news news;

    for (uint32_t i = 0; i < s->n / s->a_node; i++)
        take(s, i, &sum, tasks, &view);
    assert_int_equal(hangs_sum_finish(&sum), 0);
    news = hung_look(&s->stuck, &view);
    s->lines += news != HUNG_NO_NEWS;
    if (news == HUNG_SLOW)
        s->slow_s = second;
    if (news == HUNG_GOES_ON)
        s->goes_s = second;
    if (news == HUNG_HANGS) {
        s->hangs++;
        s->hang_s = second;
        s->class = s->stuck.cause.class;
        s->rank = s->stuck.cause.rank;
        hung_answer(&view, &s->stuck.cause, s->text, sizeof(s->text));
    }
    hangs_sum_fini(&sum);
    hangs_fini(&hangs);
}

static void run(struct step *s, enum fault fault, unsigned seed)
{
    static const uint32_t nodes[] = {1, 2, 4, 8};
    uint64_t end;

    srand(seed);
    *s = (struct step){.fault = fault, .rank = -2};
    hung_times_set(&s->stuck.times, 30000);
    s->a_node = 2u << rand() % 3;
    s->n = s->a_node * nodes[rand() % 4];
    s->victim = (uint32_t) rand() % s->n;
    s->at_s = fault == FIRST ? 1 : 40 + (uint64_t) rand() % 200;
    s->op_s = fault == SLOW ? 45 : 1;
    if (fault == SLOW)
        s->at_s = 135;
    if (fault ==
        SILENT_CHECKPOINT) /* an earlier checkpoint had the same length */
        hung_usual_add(&s->usual, 55 * SECOND);
    end = s->at_s + lasts_s(s) + (fault == DISK ? 600 : 250);
    for (uint64_t second = 0; second < end; second++) {
        pass(s, second);
        if (second % LOOK_S == 0)
            look(s, second);
    }
}

/* --- tests ---------------------------------------------------------------- */

static const struct {
    enum fault fault;
    enum hung_class class;
    bool has_rank;
    const char *text; /* part of the sentence */
} hangs[] = {
    {STOPS, HUNG_BY_ABSENCE, true, "never entered AllReduce"},
    {SKIPS, HUNG_BY_ORDER, true, "AllGather 3"},
    {SIZES, HUNG_BY_SIZE, true, "sizes must be equal"},
    {INSIDE, HUNG_INSIDE, false, "no rank is missing"},
    {SIGSTOP_OUTSIDE, HUNG_BY_STOP, true, "stopped by a signal"},
    {SIGSTOP_INSIDE, HUNG_BY_STOP, true, "stopped by a signal"},
    {KILLED, HUNG_BY_GONE, true, "the process is gone"},
    {KILLED_ALONE, HUNG_BY_GONE, true, "waiting in AllReduce"},
    {DISK, HUNG_BY_FILES, true, "waits for a disk"},
    {CYCLE, HUNG_BY_CYCLE, false, "in a circle"},
    {SENDS, HUNG_BY_ABSENCE, true, "in Send 7"},
};

/* With two ranks in two operations, or with two sizes, none of them is the odd
 * one. */
static bool is_even(const struct step *s)
{
    return (s->fault == SKIPS || s->fault == SIZES) && s->n == 2;
}

static void names_class_and_rank(void **state)
{
    struct step *s = calloc(1, sizeof(*s));

    (void) state;
    for (size_t i = 0; i < sizeof(hangs) / sizeof(*hangs); i++)
        for (unsigned n = 0; n < RUNS; n++) {
            uint64_t most;

            run(s, hangs[i].fault, 1000 * (unsigned) i + n);
            if (s->class != hangs[i].class || s->hangs != 1 ||
                (hangs[i].has_rank && s->rank != s->victim && !is_even(s)) ||
                !strstr(s->text, hangs[i].text))
                fail_msg("fault %zu, run %u of %u ranks, rank %u: %u hangs, "
                         "%s, rank %lld: %s",
                         i, n, s->n, s->victim, s->hangs,
                         hung_class_words[s->class], (long long) s->rank,
                         s->text);
            /* 30 s, two looks, 60 s; ten times 30 s for a disk */
            most = s->at_s + (hangs[i].fault == DISK ? 300 : 30) + 60 +
                   5 * LOOK_S;
            if (s->hang_s > most || s->slow_s >= s->hang_s || !s->slow_s)
                fail_msg("fault %zu at %llu: lines at %llu and %llu", i,
                         (unsigned long long) s->at_s,
                         (unsigned long long) s->slow_s,
                         (unsigned long long) s->hang_s);
            assert_int_equal(s->lines, 2);
        }
    free(s);
}

static void is_silent_of_what_is_no_hang(void **state)
{
    static const enum fault faults[] = {
        NONE,       SLOW,      CHECKPOINT, SILENT_CHECKPOINT,
        EVALUATION, SUSPENDED, FIRST,      DEBUGGER};
    struct step *s = calloc(1, sizeof(*s));

    (void) state;
    for (unsigned n = 0; n < HEALTHY_RUNS; n++) {
        enum fault fault = faults[n % (sizeof(faults) / sizeof(*faults))];

        run(s, fault, 50000 + n);
        if (s->lines)
            fail_msg("run %u, kind %d: %u lines (%s)", n, (int) fault, s->lines,
                     s->text);
    }
    free(s);
}

static void says_that_it_moves_again(void **state)
{
    struct step *s = calloc(1, sizeof(*s));

    (void) state;
    for (unsigned n = 0; n < RUNS; n++) {
        run(s, GOES_ON, 90000 + n);
        assert_int_equal(s->hangs, 0);
        assert_int_equal(s->lines, 2);
        assert_true(s->slow_s && s->goes_s > s->slow_s);
        assert_true(s->goes_s <= s->at_s + 80 + 2 * LOOK_S);
    }
    free(s);
}

static void knows_what_is_usual(void **state)
{
    struct hung_usual usual = {0};
    struct hung_times times;

    (void) state;
    hung_times_set(&times, 30000);
    assert_int_equal(hung_limit_ns(&times, NULL, false), 30 * SECOND);
    assert_int_equal(hung_limit_ns(&times, NULL, true), 300 * SECOND);
    for (unsigned i = 0; i < 1000; i++)
        hung_usual_add(&usual, SECOND / 100);
    assert_int_equal(hung_usual_p99_ns(&usual), 0);
    assert_int_equal(hung_limit_ns(&times, &usual, false), 30 * SECOND);
    hung_usual_add(&usual, 40 * SECOND); /* 1 of 1001 */
    assert_int_equal(hung_usual_p99_ns(&usual), 0);
    assert_int_equal(hung_limit_ns(&times, &usual, false), 80 * SECOND);
    for (unsigned i = 0; i < 20; i++)
        hung_usual_add(&usual, 5 * SECOND);
    assert_in_range(hung_usual_p99_ns(&usual), 5 * SECOND, 6 * SECOND);
    assert_in_range(hung_limit_ns(&times, &usual, false), 100 * SECOND,
                    120 * SECOND);
    hung_usual_add(&usual, UINT64_MAX);
    assert_int_equal(hung_limit_ns(&times, &usual, false), INT64_MAX);
    hung_times_set(&times, 3000);
    assert_int_equal(times.ms[HUNG_CONFIRM], 6000);
    assert_int_equal(times.ms[HUNG_SILENT], 3000);
}

/* A node that is never heard delays the report, and the report mentions it. */
static void waits_for_all_nodes(void **state)
{
    struct hung_task tasks[2 * LIVE_JOINED_MAX];
    struct step *s = calloc(1, sizeof(*s));
    uint64_t at = 0;

    (void) state;
    s->n = s->a_node = 2;
    s->fault = INSIDE;
    s->at_s = 1;
    s->op_s = 1;
    hung_times_set(&s->stuck.times, 30000);
    s->ranks[0].ended = s->ranks[1].ended = 1;
    for (uint64_t second = 0; second < 400 && !at; second++) {
        struct jp_hangs joined = {0};
        struct hangs_sum sum = {.hangs = &joined};
        struct hung_view view = {.hangs = &joined,
                                 .progress = &sum.progress,
                                 .tasks = tasks,
                                 .now_ms = second * 1000,
                                 .heard_ns = INT64_MAX,
                                 .n_silent = 1};

        pass(s, second);
        view.now_ns = (int64_t) s->now_ns;
        take(s, 0, &sum, tasks, &view);
        assert_int_equal(hangs_sum_finish(&sum), 0);
        if (hung_look(&s->stuck, &view) == HUNG_HANGS)
            at = second;
        hangs_sum_fini(&sum);
        hangs_fini(&joined);
    }
    assert_in_range(at, 31 + 180, 31 + 200);
    assert_true(s->stuck.unheard);
    free(s);
}

/* Sentences name the job's ranks (rankrule.h), and the communicator's in
 * brackets. */
static void names_the_ranks_of_the_job(void **state)
{
    struct hangs_process processes[4] = {0};
    uint8_t states[4] = {HANGS_IN_FLIGHT, HANGS_MISSING, HANGS_IN_FLIGHT,
                         HANGS_MISSING};
    uint32_t of_rank[4] = {0, 1, 2, 3};
    struct hangs_op op = {
        .rank = 0, .n_ranks = 4, .seq = 9, .func = "AllReduce", .name = "tp"};
    struct hangs_group group = {
        .n_ops = 1,
        .n_ranks = 4,
        .age_ns = -1,
        .states = states,
        .processes = of_rank,
        .count = {[HANGS_MISSING] = 2, [HANGS_IN_FLIGHT] = 2}};
    struct jp_hangs all = {.processes = processes,
                           .n_processes = 4,
                           .ops = &op,
                           .n_ops = 1,
                           .groups = &group,
                           .n_groups = 1};
    char buf[700], name[HANGS_NAME_LEN];

    (void) state;
    for (int i = 0; i < 4; i++) {
        snprintf(processes[i].host, sizeof(processes[i].host), "n%d", i);
        processes[i].pid = 100 + i;
        processes[i].rank = 4 + 2 * i; /* 4, 6, 8, 10 */
    }
    assert_string_equal(hangs_name(&all, 1, 1, name),
                        "rank 6 (n1 pid 101, rank 1 of the communicator)");
    assert_non_null(strstr(hangs_answer(&all, buf, sizeof(buf)),
                           "ranks 6, 10 (1, 3 of the communicator) never "
                           "entered AllReduce 9 of tp"));
    states[3] = HANGS_IN_FLIGHT;
    group.count[HANGS_MISSING] = 1;
    assert_non_null(strstr(hangs_answer(&all, buf, sizeof(buf)),
                           "rank 6 (n1 pid 101, rank 1 of the communicator) "
                           "never entered"));
    processes[1].rank = 1; /* both numbers are equal */
    assert_string_equal(hangs_name(&all, 1, 1, name), "rank 1 (n1 pid 101)");
    processes[1].rank = -1; /* unknown */
    assert_string_equal(hangs_name(&all, 1, 1, name), "rank 1 (n1 pid 101)");
    assert_int_equal(hangs_job_rank(&all, 1), -1);
    assert_string_equal(hangs_name(&all, 1, 3, name), "rank 3 (n1 pid 101)");
    assert_string_equal(hangs_name(&all, 1, -1, name), "n1 pid 101");
    assert_string_equal(hangs_name(&all, UINT32_MAX, 2, name), "rank 2");
    assert_string_equal(hangs_name(&all, UINT32_MAX, -1, name), "a rank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_ranks_of_the_job),
        cmocka_unit_test(knows_what_is_usual),
        cmocka_unit_test(names_class_and_rank),
        cmocka_unit_test(is_silent_of_what_is_no_hang),
        cmocka_unit_test(says_that_it_moves_again),
        cmocka_unit_test(waits_for_all_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
