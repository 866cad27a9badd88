/* cmd_plan_measure.c - read figures of an earlier step from its summary.json.
 *
 * The report may be from another machine or release, so each count is checked.
 * Its tables may be cut; then totals are divided by the number of ranks
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

/* Reads the step's size and the sums over all ranks. */
static int get_totals(const json_t *root, struct plan_measured *m,
                      struct jp_error *err)
{
    const struct {
        const char *path;
        uint64_t *out;
    } counts[] = {
        {"job.nodes", &m->nodes},
        {"job.ntasks", &m->tasks},
        {"quality.records", &m->records},
        {"quality.coll_records", &m->coll_records},
        {"quality.p2p_records", &m->p2p_records},
        {"quality.expected", &m->expected},
        {"quality.lost", &m->lost},
        {"quality.bytes_read", &m->bytes},
    };

    if (!json_is_object(summary_file_at(root, "job")))
        return error_set(err, "job: not an object");
    if (!json_is_object(summary_file_at(root, "quality")))
        return error_set(err, "quality: not an object");
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        if (summary_file_need_count(root, "", counts[i].path, counts[i].out,
                                    err) < 0)
            return -1;
    return 0;
}

/* Returns the value of a knob that was set in that run; "" otherwise. A default
 * is no wish of the user, and an invalid value is ignored. */
static const char *setting(const json_t *root, const char *key)
{
    const json_t *rows = summary_file_at(root, "job.settings");
    const struct jp_grammar *grammar = grammar_nccl();
    size_t i;
    const json_t *row;

    json_array_foreach((json_t *) rows, i, row)
    {
        const char *value = summary_file_text(row, "value");
        int knob = grammar_find_knob(grammar, key);

        if (!strcmp(summary_file_text(row, "key"), key) &&
            strcmp(summary_file_text(row, "source"), "default") != 0 &&
            knob >= 0 && knob_check(&grammar->knobs[knob], value, NULL) == 0)
            return value;
    }
    return "";
}

/* Reads the mode, the release, and the settings that change the meaning of
 * counts. */
static void get_settings(const json_t *root, struct plan_measured *m)
{
    const char *mode = summary_file_text(root, "job.nccl_mode");
    const char *iterations = setting(root, "iterations");
    int knob = grammar_find_knob(grammar_nccl(), "iterations");

    /* mode 0 is off, and plan recorded nothing */
    if (grammar_find_mode(grammar_nccl(), mode) > 0 &&
        strcmp(mode, "plan") != 0)
        snprintf(m->mode, sizeof(m->mode), "%s", mode);
    if (*iterations)
        knob_number(&grammar_nccl()->knobs[knob], iterations, &m->iterations,
                    NULL);
    snprintf(m->release, sizeof(m->release), "%s", setting(root, "nccl"));
    m->p2p_off = !strcmp(setting(root, "p2p"), "off");
}

/* --- ranks --------------------------------------------------------------- */

/* A rank in one communicator; a process is a rank in several. */
struct member {
    const char *host;
    int64_t pid;
    uint64_t colls, p2p;
};

/* Orders by host and process id. */
static int by_process(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int hosts = strcmp(x->host, y->host);

    return hosts ? hosts : (x->pid > y->pid) - (x->pid < y->pid);
}

/* Reads a row of the table of ranks. i: its index, for messages. */
static int read_member(const json_t *row, size_t i, struct member *out,
                       struct jp_error *err)
{
    const json_t *pid = summary_file_at(row, "pid");
    char where[32];

    *out = (struct member){.host = summary_file_text(row, "host")};
    if (!json_is_object(row) || !json_is_integer(pid))
        return error_set(err, "ranks[%zu].pid: not a number", i);
    out->pid = json_integer_value(pid);
    snprintf(where, sizeof(where), "ranks[%zu]", i);
    if (summary_file_need_count(row, where, "records", &out->colls, err) < 0)
        return -1;
    return summary_file_need_count(row, where, "p2p_records", &out->p2p, err);
}

/* Adds up the n communicators of one process, and keeps the maximum of all
 * processes. */
static void take_process(struct plan_measured *m, const struct member *of,
                         size_t n)
{
    uint64_t colls = 0, p2p = 0;

    for (size_t i = 0; i < n; i++) {
        colls = num_add(colls, of[i].colls);
        p2p = num_add(p2p, of[i].p2p);
    }
    m->processes++;
    m->colls = colls > m->colls ? colls : m->colls;
    m->p2p = p2p > m->p2p ? p2p : m->p2p;
    m->comms = n > m->comms ? n : m->comms;
}

/* Reads all ranks and takes the maximum over processes. */
static int get_processes(const json_t *rows, struct plan_measured *m,
                         struct jp_error *err)
{
    size_t n = json_array_size(rows), end;
    struct member *members = calloc(n + 1, sizeof(*members));
    int rc = members ? 0 : error_set(err, "out of memory");

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = read_member(json_array_get(rows, i), i, &members[i], err);
    if (rc == 0 && n)
        qsort(members, n, sizeof(*members), by_process);
    for (size_t i = 0; i < n && rc == 0; i = end) {
        /* the members are sorted, so each host is one run */
        m->hosts += i == 0 || strcmp(members[i].host, members[i - 1].host) != 0;
        /* the rows of one process */
        for (end = i + 1; end < n && !by_process(&members[i], &members[end]);)
            end++;
        take_process(m, members + i, end - i);
    }
    free(members);
    return rc;
}

/* Returns a / b, rounded up; 0 if b is 0. */
static uint64_t ratio_up(uint64_t a, uint64_t b)
{
    return b ? a / b + (a % b != 0) : 0;
}

/* Scales a sum over the listed rows, as if the other rows were like them. */
static uint64_t scaled(uint64_t sum, uint64_t listed, uint64_t left_out)
{
    double all = listed ? (double) sum / (double) listed *
                              ((double) listed + (double) left_out)
                        : (double) left_out;

    /* rounds up; the margin absorbs errors of the division */
    return all < 1e18 ? (uint64_t) (all + 0.999999) : UINT64_MAX;
}

/* If not all ranks are listed, divides the totals by the step's tasks. */
static int get_means(const json_t *root, struct plan_measured *m,
                     struct jp_error *err)
{
    const json_t *comms = summary_file_at(root, "comms");
    uint64_t members = 0, tasks = m->tasks;
    size_t i;
    const json_t *row;

    json_array_foreach((json_t *) comms, i, row)
    {
        uint64_t seen = 0;
        char where[32];

        snprintf(where, sizeof(where), "comms[%zu]", i);
        if (summary_file_need_count(row, where, "ranks_seen", &seen, err) < 0)
            return -1;
        members = num_add(members, seen);
    }
    /* without a job, the report has the number of ranks that the communicators
     * have */
    if (!tasks && summary_file_need_count(root, "", "quality.ranks_expected",
                                          &tasks, err) < 0)
        return -1;
    if (!tasks)
        return error_set(
            err, "ranks: empty, and the number of ranks that ran is unknown");
    m->comms_estimated = m->left_out.comms > 0;
    /* the members of the communicators that are not listed */
    if (m->comms_estimated)
        members = scaled(members, m->listed.comms, m->left_out.comms);
    m->mean = true;
    m->processes = tasks;
    m->colls = ratio_up(m->coll_records, tasks);
    m->p2p = ratio_up(m->p2p_records, tasks);
    m->comms = ratio_up(members, tasks);
    return 0;
}

/* Reads the counts of one rank, from the table of ranks if it is complete. */
static int get_ranks(const json_t *root, struct plan_measured *m,
                     struct jp_error *err)
{
    const json_t *rows = summary_file_at(root, "ranks");

    if (!json_is_array(rows))
        return error_set(err, "ranks: not an array");
    if (m->left_out.ranks || !json_array_size(rows))
        return get_means(root, m, err);
    if (get_processes(rows, m, err) < 0)
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
static int get_busiest(const json_t *root, struct plan_measured *m,
                       struct jp_error *err)
{
    const json_t *comms = summary_file_at(root, "comms");
    size_t i;
    const json_t *row;

    json_array_foreach((json_t *) comms, i, row)
    {
        uint64_t ops = 0;
        char where[32];

        snprintf(where, sizeof(where), "comms[%zu]", i);
        if (summary_file_need_count(row, where, "ops", &ops, err) < 0)
            return -1;
        m->busiest = ops > m->busiest ? ops : m->busiest;
    }
    return 0;
}

/* --- the rate of collectives in one communicator ------------------------- */

#define SECOND_US UINT64_C(1000000)
/* The shortest useful slice. NVIDIA's profilers stamp records when they write
 * them, in groups. The recorder stamps each operation and writes ten times a
 * second. */
#define SHORTEST_US SECOND_US
#define SHORTEST_RECORDER_US (SECOND_US / 10)

/* Operations of one communicator in one slice of time. */
struct slice {
    uint64_t comm, from, to, ops;
};

/* Orders by communicator and start. */
static int by_slice(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

/* Reads a row of the table of windows. i: its index, for messages. */
static int read_slice(const json_t *row, size_t i, struct slice *out,
                      struct jp_error *err)
{
    *out = (struct slice){0};
    if (!summary_file_count(row, "comm_index", &out->comm) ||
        !summary_file_count(row, "t0_us", &out->from) ||
        !summary_file_count(row, "t1_us", &out->to) ||
        !summary_file_count(row, "ops", &out->ops) || out->to <= out->from)
        return error_set(err, "windows[%zu]: not a time slice", i);
    return 0;
}

/* The length to which slices are merged, at least the shortest useful one. A
 * shorter run is one slice. */
static uint64_t slice_length(const struct slice *slices, size_t n,
                             uint64_t shortest)
{
    uint64_t from = UINT64_MAX, to = 0, width = slices[0].to - slices[0].from;

    for (size_t i = 0; i < n; i++) {
        from = slices[i].from < from ? slices[i].from : from;
        to = slices[i].to > to ? slices[i].to : to;
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
static void take_peak(struct plan_measured *m, const struct slice *slices,
                      size_t n, uint64_t length)
{
    uint64_t most = 0, ops = 0;
    size_t first = 0;

    for (size_t i = 0; i < n; i++) {
        /* drops what belongs to another communicator or to an earlier period */
        for (; slices[first].comm != slices[i].comm ||
               slices[i].from - slices[first].from >= length;
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
static int take_busiest(const json_t *root, struct plan_measured *m,
                        struct jp_error *err)
{
    const json_t *comms = summary_file_at(root, "comms");
    size_t i;
    const json_t *row;

    json_array_foreach((json_t *) comms, i, row)
    {
        uint64_t ops = 0, time_us = 0, rate;
        char where[32];

        snprintf(where, sizeof(where), "comms[%zu]", i);
        if (summary_file_need_count(row, where, "ops", &ops, err) < 0 ||
            summary_file_need_count(row, where, "time_us", &time_us, err) < 0)
            return -1;
        rate = time_us ? per_second(ops, time_us) : 0;
        m->rate = rate > m->rate ? rate : m->rate;
    }
    return 0;
}

/* Finds the rate of collectives in one communicator. */
static int get_rate(const json_t *root, struct plan_measured *m,
                    struct jp_error *err)
{
    const json_t *rows = summary_file_at(root, "windows");
    size_t n = json_array_size(rows);
    struct slice *slices;
    int rc = 0;

    if (!n)
        return take_busiest(root, m, err);
    slices = calloc(n, sizeof(*slices));
    if (!slices)
        return error_set(err, "out of memory");
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = read_slice(json_array_get(rows, i), i, &slices[i], err);
    if (rc == 0) {
        qsort(slices, n, sizeof(*slices), by_slice);
        take_peak(m, slices, n,
                  /* the recorder's times are exact enough for shorter slices */
                  slice_length(slices, n,
                               profiler_get(m->mode)->counts
                                   ? SHORTEST_RECORDER_US
                                   : SHORTEST_US));
    }
    free(slices);
    return rc;
}

/* --- all ----------------------------------------------------------------- */

/* Reads how many rows of its tables summary.json leaves out. */
static int get_left_out(const json_t *root, struct plan_measured *m,
                        struct jp_error *err)
{
    const json_t *object = summary_file_at(root, "left_out");
    const struct {
        const char *key;
        uint64_t *listed, *left_out;
    } tables[] = {
        {"ranks", &m->listed.ranks, &m->left_out.ranks},
        {"comms", &m->listed.comms, &m->left_out.comms},
        {"windows", &m->listed.windows, &m->left_out.windows},
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        const char *key = tables[i].key;

        *tables[i].listed = json_array_size(json_object_get(root, key));
        if (summary_file_need_count(object, "left_out", key, tables[i].left_out,
                                    err) < 0)
            return -1;
    }
    return 0;
}

/* Reads all figures. Without records only the totals are read. */
static int read_root(const json_t *root, struct plan_measured *m,
                     struct jp_error *err)
{
    if (get_totals(root, m, err) < 0)
        return error_wrap(err, "%s", m->path);
    get_settings(root, m);
    if (m->records &&
        (get_left_out(root, m, err) < 0 || get_ranks(root, m, err) < 0 ||
         get_busiest(root, m, err) < 0 || get_rate(root, m, err) < 0))
        return error_wrap(err, "%s", m->path);
    return 0;
}

enum jp_exit plan_measure(const char *step_dir, struct plan_measured *out,
                          struct jp_error *err)
{
    struct plan_measured m = {
        .path = text_format("%s/" JP_SUMMARY_NAME, step_dir)};
    enum jp_exit rc = JP_EXIT_USAGE;
    json_t *root = NULL;

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
    root = summary_file_read(step_dir, SUMMARY_WHOLE, err);
    if (!root || read_root(root, &m, err) < 0)
        goto out;
    if (!m.records) {
        error_set(err, "%s: no records to plan from: %s", m.path,
                  summary_file_text(root, "verdict.text"));
        rc = JP_EXIT_NODATA;
        goto out;
    }
    *out = m;
    /* *out owns it now */
    m.path = NULL;
    rc = JP_EXIT_OK;
out:
    json_decref(root);
    free(m.path);
    return rc;
}
