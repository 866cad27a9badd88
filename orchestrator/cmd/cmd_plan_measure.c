/* cmd_plan_measure.c - read figures of an earlier step from its summary.json.
 *
 * The report may be from another machine or release, so it is read without
 * trust. Its tables may be cut; then totals are divided by the number of ranks
 * (get_means). All figures are of one rank or one communicator, because the
 * planner sizes the recorder's memory of a rank. */
#include "orchestrator/cmd/cmd_plan.h"

#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/grammar.h"
#include "common/num.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/report/summary_file.h"

/* Sets the step's size and the sums over all ranks. */
static int get_totals(const struct summary_file *s, struct plan_measured *m,
                      struct jp_error *err)
{
    if (!json_is_object(json_object_get(s->root, "job")))
        return error_set(err, "job: not an object");
    if (!json_is_object(json_object_get(s->root, "quality")))
        return error_set(err, "quality: not an object");
    m->nodes = json_count_or(s->job.nodes, 0);
    m->tasks = json_count_or(s->job.ntasks, 0);
    m->records = json_count_or(s->quality.records, 0);
    m->coll_records = json_count_or(s->quality.coll_records, 0);
    m->p2p_records = json_count_or(s->quality.p2p_records, 0);
    m->expected = json_count_or(s->quality.expected, 0);
    m->lost = json_count_or(s->quality.lost, 0);
    m->bytes = json_count_or(s->quality.bytes_read, 0);
    return 0;
}

/* Returns the value of a knob that was set in that run; "" otherwise. A default
 * is no wish of the user, and an invalid value is ignored. */
static const char *setting_of_run(const struct summary_file *s, const char *key)
{
    const struct jp_grammar *grammar = grammar_nccl();
    int knob = grammar_find_knob(grammar, key);

    for (size_t i = 0; knob >= 0 && i < s->job.n_settings; i++) {
        const struct summary_setting *row = &s->job.settings[i];

        if (!strcmp(row->key, key) && strcmp(row->source, "default") != 0 &&
            knob_check(&grammar->knobs[knob], row->value, NULL) == 0)
            return row->value;
    }
    return "";
}

/* Sets the mode, the release, and the settings that change the meaning of
 * counts. */
static void get_settings(const struct summary_file *s, struct plan_measured *m)
{
    const char *mode = s->job.nccl_mode;
    const char *iterations = setting_of_run(s, "iterations");
    int knob = grammar_find_knob(grammar_nccl(), "iterations");

    /* mode 0 is off, and plan recorded nothing */
    if (grammar_find_mode(grammar_nccl(), mode) > 0 &&
        strcmp(mode, "plan") != 0)
        snprintf(m->mode, sizeof(m->mode), "%s", mode);
    if (*iterations)
        knob_number(&grammar_nccl()->knobs[knob], iterations, &m->iterations,
                    NULL);
    snprintf(m->release, sizeof(m->release), "%s", setting_of_run(s, "nccl"));
    m->p2p_off = !strcmp(setting_of_run(s, "p2p"), "off");
}

/* --- ranks --------------------------------------------------------------- */

/* Orders rows of the table of ranks by host and process id. A row is a rank in
 * one communicator; a process is a rank in several. */
static int by_process(const void *a, const void *b)
{
    const struct summary_rank *x = a, *y = b;
    int hosts = strcmp(x->host, y->host);

    return hosts ? hosts : (x->pid > y->pid) - (x->pid < y->pid);
}

/* Adds up the n communicators of one process, and keeps the maximum of all
 * processes. */
static void take_process(struct plan_measured *m, const struct summary_rank *of,
                         size_t n)
{
    uint64_t colls = 0, p2p = 0;

    for (size_t i = 0; i < n; i++) {
        colls = num_add(colls, json_count_or(of[i].records, 0));
        p2p = num_add(p2p, json_count_or(of[i].p2p_records, 0));
    }
    m->processes++;
    m->colls = colls > m->colls ? colls : m->colls;
    m->p2p = p2p > m->p2p ? p2p : m->p2p;
    m->comms = n > m->comms ? n : m->comms;
}

/* Sorts all ranks and takes the maximum over processes. */
static int get_processes(struct summary_file *s, struct plan_measured *m,
                         struct jp_error *err)
{
    struct summary_rank *members = s->ranks;
    size_t n = s->n_ranks, end;

    for (size_t i = 0; i < n; i++)
        if (!json_is_integer(json_object_get(members[i].row, "pid")))
            return error_set(err, "ranks[%zu].pid: not a number", i);
    qsort(members, n, sizeof(*members), by_process);
    for (size_t i = 0; i < n; i = end) {
        /* the members are sorted, so each host is one run */
        m->hosts += i == 0 || strcmp(members[i].host, members[i - 1].host) != 0;
        /* the rows of one process */
        for (end = i + 1; end < n && !by_process(&members[i], &members[end]);)
            end++;
        take_process(m, members + i, end - i);
    }
    return 0;
}

/* Returns a / b, rounded up; 0 if b is 0. */
static uint64_t ratio_up(uint64_t a, uint64_t b)
{
    return b ? a / b + (a % b != 0) : 0;
}

/* Scales a sum over the listed rows, as if the other rows were like them. */
static uint64_t scale_sum(uint64_t sum, uint64_t listed, uint64_t left_out)
{
    double all = listed ? (double) sum / (double) listed *
                              ((double) listed + (double) left_out)
                        : (double) left_out;

    /* rounds up; the margin absorbs errors of the division */
    return all < 1e18 ? (uint64_t) (all + 0.999999) : UINT64_MAX;
}

/* If not all ranks are listed, divides the totals by the step's tasks. */
static int get_means(const struct summary_file *s, struct plan_measured *m,
                     struct jp_error *err)
{
    uint64_t members = 0, tasks = m->tasks;

    for (size_t i = 0; i < s->n_comms; i++)
        members = num_add(members, json_count_or(s->comms[i].ranks_seen, 0));
    /* without a job, the report has the number of ranks that the communicators
     * have */
    if (!tasks)
        tasks = json_count_or(s->quality.ranks_expected, 0);
    if (!tasks)
        return error_set(
            err, "ranks: empty, and the number of ranks that ran is unknown");
    m->comms_estimated = m->left_out.comms > 0;
    /* the members of the communicators that are not listed */
    if (m->comms_estimated)
        members = scale_sum(members, m->listed.comms, m->left_out.comms);
    m->mean = true;
    m->processes = tasks;
    m->colls = ratio_up(m->coll_records, tasks);
    m->p2p = ratio_up(m->p2p_records, tasks);
    m->comms = ratio_up(members, tasks);
    return 0;
}

/* Finds the counts of one rank, from the table of ranks if it is complete. */
static int get_ranks(struct summary_file *s, struct plan_measured *m,
                     struct jp_error *err)
{
    if (!s->ranks)
        return error_set(err, "ranks: not an array");
    if (m->left_out.ranks || !s->n_ranks)
        return get_means(s, m, err);
    if (get_processes(s, m, err) < 0)
        return -1;
    /* a folder of logs has no job, so count the processes */
    if (!m->tasks && !m->nodes) {
        m->tasks = m->processes;
        m->nodes = m->hosts;
    }
    return 0;
}

/* --- communicators ------------------------------------------------------- */

/* Finds the communicator with the most collectives. Each rank of a communicator
 * takes part in each of its collectives, so no division is needed. */
static void get_busiest(const struct summary_file *s, struct plan_measured *m)
{
    for (size_t i = 0; i < s->n_comms; i++) {
        uint64_t ops = json_count_or(s->comms[i].ops, 0);

        m->busiest = ops > m->busiest ? ops : m->busiest;
    }
}

/* --- the rate of collectives in one communicator ------------------------- */

#define SECOND_US UINT64_C(1000000)
/* The shortest useful slice. NVIDIA's profilers stamp records when they write
 * them, in groups. The recorder stamps each operation and writes ten times a
 * second. */
#define SHORTEST_US SECOND_US
#define SHORTEST_RECORDER_US (SECOND_US / 10)

/* Orders slices of time of communicators by communicator and start. */
static int by_slice(const void *a, const void *b)
{
    const struct summary_window *x = a, *y = b;

    if (x->comm_index != y->comm_index)
        return x->comm_index < y->comm_index ? -1 : 1;
    return (x->t0_us > y->t0_us) - (x->t0_us < y->t0_us);
}

/* Whether the row has all that a slice of time needs. */
static bool is_slice(const struct summary_window *w)
{
    return w->comm_index != JSON_UNKNOWN && w->t0_us != JSON_UNKNOWN &&
           w->t1_us != JSON_UNKNOWN && w->ops != JSON_UNKNOWN &&
           w->t1_us > w->t0_us;
}

/* The length to which slices are merged, at least the shortest useful one. A
 * shorter run is one slice. */
static uint64_t slice_length(const struct summary_window *slices, size_t n,
                             uint64_t shortest)
{
    uint64_t width = slices[0].t1_us - slices[0].t0_us;
    uint64_t from = UINT64_MAX, to = 0;

    for (size_t i = 0; i < n; i++) {
        from = slices[i].t0_us < from ? slices[i].t0_us : from;
        to = slices[i].t1_us > to ? slices[i].t1_us : to;
    }
    if (to - from < shortest)
        return to - from;
    /* a multiple of the report's width, because slices cannot be divided */
    return width < shortest ? (shortest - 1) / width * width + width : width;
}

/* Returns the rate per second, rounded up; 0 (unknown) if it is absurd. */
static uint64_t per_second(uint64_t ops, uint64_t time_us)
{
    double rate = (double) ops * (double) SECOND_US / (double) time_us;

    return rate < 1e15 ? (uint64_t) rate + 1 : 0;
}

/* Takes the maximum number of operations in any period of that length, in one
 * communicator. Slices are sorted by communicator and start; one pass with two
 * indices is enough. */
static void take_peak(struct plan_measured *m,
                      const struct summary_window *slices, size_t n,
                      uint64_t length)
{
    uint64_t most = 0, ops = 0;
    size_t first = 0;

    for (size_t i = 0; i < n; i++) {
        /* drops what belongs to another communicator or to an earlier period */
        for (; slices[first].comm_index != slices[i].comm_index ||
               slices[i].t0_us - slices[first].t0_us >= length;
             first++)
            ops -= slices[first].ops;
        ops += slices[i].ops;
        most = ops > most ? ops : most;
    }
    m->slice_us = length;
    m->rate = per_second(most, length);
}

/* For records without times: a communicator's operations divided by the time
 * that they took. This is an upper bound. */
static void take_busiest(const struct summary_file *s, struct plan_measured *m)
{
    for (size_t i = 0; i < s->n_comms; i++) {
        uint64_t ops = json_count_or(s->comms[i].ops, 0);
        uint64_t time_us = json_count_or(s->comms[i].time_us, 0);
        uint64_t rate = time_us ? per_second(ops, time_us) : 0;

        m->rate = rate > m->rate ? rate : m->rate;
    }
}

/* Finds the rate of collectives in one communicator. */
static int get_rate(struct summary_file *s, struct plan_measured *m,
                    struct jp_error *err)
{
    struct summary_window *slices = s->windows;
    size_t n = s->n_windows;

    if (!n) {
        take_busiest(s, m);
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        if (!is_slice(&slices[i]))
            return error_set(err, "windows[%zu]: not a time slice", i);
    qsort(slices, n, sizeof(*slices), by_slice);
    take_peak(m, slices, n,
              /* the recorder's times are exact enough for shorter slices */
              slice_length(slices, n,
                           profiler_get(m->mode)->counts ? SHORTEST_RECORDER_US
                                                         : SHORTEST_US));
    return 0;
}

/* --- all ----------------------------------------------------------------- */

/* Sets how many rows of its tables summary.json has and leaves out. */
static void get_left_out(const struct summary_file *s, struct plan_measured *m)
{
    m->listed.ranks = s->n_ranks;
    m->listed.comms = s->n_comms;
    m->listed.windows = s->n_windows;
    m->left_out.ranks = json_count_or(s->left_out.ranks, 0);
    m->left_out.comms = json_count_or(s->left_out.comms, 0);
    m->left_out.windows = json_count_or(s->left_out.windows, 0);
}

/* Finds all figures. Without records only the totals are there. The rows of the
 * long tables are sorted. */
static int measure_report(struct summary_file *s, struct plan_measured *m,
                          struct jp_error *err)
{
    if (get_totals(s, m, err) < 0)
        return -1;
    get_settings(s, m);
    if (!m->records)
        return 0;
    get_left_out(s, m);
    get_busiest(s, m);
    return get_ranks(s, m, err) < 0 || get_rate(s, m, err) < 0 ? -1 : 0;
}

enum jp_exit plan_measure(const char *step_dir, struct plan_measured *out,
                          struct jp_error *err)
{
    struct plan_measured m = {
        .path = text_format("%s/" JP_SUMMARY_NAME, step_dir)};
    enum jp_exit rc = JP_EXIT_USAGE;
    struct summary_file s = {0};

    if (!m.path) {
        error_set(err, "out of memory");
        return JP_EXIT_USAGE;
    }
    /* summary_file_read would only report a missing file */
    if (stepdir_is_folder(step_dir) &&
        !stepdir_has(step_dir, JP_SUMMARY_NAME)) {
        error_set(err, "%s does not exist; run jobprof report %s", m.path,
                  step_dir);
        rc = JP_EXIT_NODATA;
        goto out;
    }
    if (summary_file_read(step_dir, SUMMARY_WHOLE, &s, err) < 0)
        goto out;
    if (measure_report(&s, &m, err) < 0) {
        error_wrap(err, "%s", m.path);
        goto out;
    }
    if (!m.records) {
        error_set(err, "%s: no records to plan from: %s", m.path,
                  s.verdict.text);
        rc = JP_EXIT_NODATA;
        goto out;
    }
    *out = m;
    /* *out owns it now */
    m.path = NULL;
    rc = JP_EXIT_OK;
out:
    summary_file_fini(&s);
    free(m.path);
    return rc;
}
