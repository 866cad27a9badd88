/* metrics.h - metrics for Prometheus: rows of tables, written as text.
 *
 * A table of metrics is a struct jp_table (orchestrator/table/table.h). Its
 * columns are labels and metrics; a row is an object, such as a node, a rank or
 * a collective of one size. The tables here are those that a running step and
 * its report have in common. A feature has its own in its folder: live has what
 * only a running step has, history what a site has (struct command), and a
 * column of a table in a report's csv/ becomes a metric of `jobprof export
 * openmetrics` by its members `label` and `metric` alone:
 *
 *     {"host", JP_COL_TEXT, ..., .label = "node"},
 *     {"watts", JP_COL_COUNT, ...,
 *      METRICS_OF("jobprof_power_watts", METRICS_GAUGE, "watts",
 *                 METRICS_REPORT, "Power of the node.")},
 *
 * docs/metrics.md has all of them (`jobprof metrics list`). A set holds the
 * objects of any tables:
 *
 *     struct metrics_set set;
 *     metrics_init(&set);
 *     double *v = metrics_add(&set, &metrics_rank, {"jobid", "42"},
 *                             {"step", "0"}, {"node", "n1"}, {"rank", "7"});
 *     if (v)
 *         v[METRIC_OPERATIONS] = 1000;
 *     metrics_write(&set, &how, stream, &done, &err);
 *     metrics_fini(&set);
 *
 * Formats: Prometheus' text format 0.0.4 (prometheus.io/docs/instrumenting/
 * exposition_formats), which node_exporter's textfile collector reads, and
 * OpenMetrics 1.0 (github.com/OpenObservability/OpenMetrics). They name the
 * family of a counter differently, so one text cannot be valid in both formats.
 */
#ifndef JP_METRICS_METRICS_H
#define JP_METRICS_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/error.h"
#include "common/hash.h"
#include "orchestrator/table/table.h"

/* METRICS_UNTYPED: a name that NCCL Inspector uses. Its own files give neither
 * type nor help, and a file that gave them would contradict Inspector's on the
 * same node. */
enum metrics_type { METRICS_GAUGE, METRICS_COUNTER, METRICS_UNTYPED };

enum {
    METRICS_LABELS = 13, /* most of a table */
    METRICS_LABEL_BYTES = 128,
    METRICS_OWN_LABELS = 2 /* jobid and step of a report's table */
};

/* Where a metric is written. */
enum {
    METRICS_RUNNING = 1,
    METRICS_REPORT = 2,
    METRICS_HISTORY = 4,
    METRICS_COLLECT = 8 /* only the collector writes it */
};

struct metrics_row {
    const char *name; /* name of samples; that of a counter ends in _total */
    enum metrics_type type;
    const char *unit; /* last part of the name, without _total; NULL: none */
    unsigned told;    /* METRICS_RUNNING and so on */
    const char *help;
};

/* Members of a column that is a metric, or a label; the whole column, where the
 * values are set by metrics_add. */
#define METRICS_OF(name, type, unit, told, help)                               \
    .metric = &(const struct metrics_row)                                      \
    {                                                                          \
        (name), (type), (unit), (told), (help)                                 \
    }
#define METRICS_ROW(...)                                                       \
    {                                                                          \
        METRICS_OF(__VA_ARGS__)                                                \
    }
#define METRICS_LABEL(word)                                                    \
    {                                                                          \
        .label = (word)                                                        \
    }
/* Labels of all metrics of a step. */
#define METRICS_STEP_LABELS                                                    \
    METRICS_LABEL("jobid"), METRICS_LABEL("step"), METRICS_LABEL("node")
/* Labels of the metrics with Inspector's names, in its order, so that its
 * dashboards work. Our labels step and rank follow. */
#define METRICS_INSPECTOR_LABELS(what)                                         \
    METRICS_LABEL("version"), METRICS_LABEL("slurm_job_id"),                   \
        METRICS_LABEL("node"), METRICS_LABEL("gpu"),                           \
        METRICS_LABEL("comm_name"), METRICS_LABEL("n_nodes"),                  \
        METRICS_LABEL("nranks"), METRICS_LABEL(what),                          \
        METRICS_LABEL("message_size")

/* --- the metrics of steps ------------------------------------------------ */

/* The metrics that a running step, its report or both have. A row is the place
 * of a metric among the values of an object, and the members of struct
 * metrics_row. Places and columns are both made of it. */
enum { METRICS_BOTH = METRICS_RUNNING | METRICS_REPORT };

/* clang-format off */
#define METRICS_OF_STEP(ROW)                                                   \
    ROW(METRIC_INFO, "jobprof_step_info", METRICS_GAUGE, NULL, METRICS_BOTH,   \
        "Always 1: the step's labels.")
#define METRICS_OF_VERDICT(ROW)                                                \
    ROW(METRIC_VERDICT, "jobprof_verdict", METRICS_GAUGE, NULL, METRICS_BOTH,  \
        "1 for the step's current verdict.")
#define METRICS_OF_FINDING(ROW)                                                \
    ROW(METRIC_FINDINGS, "jobprof_findings", METRICS_GAUGE, NULL,              \
        METRICS_REPORT, "Findings of the report, by kind.")
#define METRICS_OF_NODE(ROW)                                                   \
    ROW(METRIC_HANGS, "jobprof_hangs_total", METRICS_COUNTER, NULL,            \
        METRICS_BOTH, "Confirmed hangs of the step; one node reports them.")   \
    ROW(METRIC_LATE_RANKS, "jobprof_late_ranks", METRICS_GAUGE, NULL,          \
        METRICS_BOTH,                                                          \
        "Ranks that make the others wait; one node reports them.")             \
    ROW(METRIC_COVERAGE, "jobprof_coverage_ratio", METRICS_GAUGE, "ratio",     \
        METRICS_REPORT,                                                        \
        "Share of the expected records that the report has.")                  \
    ROW(METRIC_DURATION, "jobprof_step_duration_seconds", METRICS_GAUGE,       \
        "seconds", METRICS_REPORT,                                             \
        "Time from the first operation's start to the last one's end.")
#define METRICS_OF_RANK(ROW)                                                   \
    ROW(METRIC_OPERATIONS, "jobprof_operations_total", METRICS_COUNTER, NULL,  \
        METRICS_BOTH,                                                          \
        "Communication operations that have ended; in a report, those with a " \
        "record.")                                                             \
    ROW(METRIC_BUSY, "jobprof_communication_ratio", METRICS_GAUGE, "ratio",    \
        METRICS_BOTH,                                                          \
        "Share of its time that the rank spends in operations; above 1 if "    \
        "they overlap. While the step runs, over the last half minute.")       \
    ROW(METRIC_CAUSED, "jobprof_wait_caused_ratio", METRICS_GAUGE, "ratio",    \
        METRICS_BOTH,                                                          \
        "Mean share of time that others wait for this rank. While the step "   \
        "runs, over the last half minute and only for late ranks; one node "   \
        "reports them.")                                                       \
    ROW(METRIC_WAITED, "jobprof_wait_seconds_total", METRICS_COUNTER,          \
        "seconds", METRICS_REPORT,                                             \
        "Time for which the rank has waited for others.")
/* Of a rank's operations of one kind and size: the name of a collective's
 * metric, that of a Send's or Recv's (only while the step runs), and the help
 * of both. */
#define METRICS_OF_SIZE(ROW)                                                   \
    ROW(METRIC_BUSBW, "nccl_bus_bandwidth_gbs", "nccl_p2p_bus_bandwidth_gbs",  \
        "Bus bandwidth in GB/s, geometric mean.")                              \
    ROW(METRIC_TIME, "nccl_collective_exec_time_microseconds",                 \
        "nccl_p2p_exec_time_microseconds", "Execution time, mean.")
/* clang-format on */

#define METRICS_PLACE(place, ...) place,
extern const struct jp_table metrics_step; /* as seen by one node */
enum { METRICS_OF_STEP(METRICS_PLACE) };
extern const struct jp_table metrics_verdict;
enum { METRICS_OF_VERDICT(METRICS_PLACE) };
extern const struct jp_table metrics_finding; /* the findings of a kind */
enum { METRICS_OF_FINDING(METRICS_PLACE) };
extern const struct jp_table metrics_node;
enum { METRICS_OF_NODE(METRICS_PLACE) };
extern const struct jp_table metrics_rank;
enum { METRICS_OF_RANK(METRICS_PLACE) };
extern const struct jp_table metrics_coll; /* a rank's collective, by size */
enum { METRICS_OF_SIZE(METRICS_PLACE) };

/* All of them; ends with NULL. */
extern const struct jp_table *const metrics_of_steps[];

/* The name of the table's i-th label, and its i-th metric; NULL: no more. A
 * table of a report (with a name) has the labels jobid and step in front of its
 * own. */
const char *metrics_label(const struct jp_table *table, size_t i);
const struct metrics_row *metrics_at(const struct jp_table *table, size_t i);

/* --- sets ---------------------------------------------------------------- */

struct metrics_object {
    const struct jp_table *table;
    double time_s; /* time of its samples (OpenMetrics only); NAN: omitted */
    char labels[METRICS_LABELS][METRICS_LABEL_BYTES];
    double values[]; /* of the table's metrics; NAN: unknown */
};

struct metrics_set {
    double time_s; /* time of objects that are added from now on */
    struct metrics_object **objects;
    size_t n, room;
    struct hash_table table; /* of the objects, by their labels */
};

void metrics_init(struct metrics_set *set);
void metrics_fini(struct metrics_set *set);

/* Returns the values of the object with these labels, one string for each label
 * of the table, in its order. A new object is added with all values NAN. NULL
 * or "": the label is omitted. Strings are foreign input: invalid UTF-8 and
 * control characters become "?", and long strings are truncated. The values are
 * borrowed until the set ends. Returns NULL without memory. */
double *metrics_add_texts(struct metrics_set *set, const struct jp_table *table,
                          const char *const texts[METRICS_LABELS]);

/* The same for labels that a caller names, in any order. Those that it does not
 * name are omitted. Also NULL, as every caller notices, if the table has no
 * label of a name. */
struct metrics_named {
    const char *label, *text;
};
double *metrics_add_named(struct metrics_set *set, const struct jp_table *table,
                          const struct metrics_named *labels, size_t n);
#define metrics_add(set, table, ...)                                           \
    metrics_add_named(set, table, (const struct metrics_named[]){__VA_ARGS__}, \
                      sizeof((const struct metrics_named[]){__VA_ARGS__}) /    \
                          sizeof(struct metrics_named))

/* Adds n rows of the table's row_size, whose columns have fields or getters.
 * Returns -1 without memory. */
int metrics_add_rows(struct metrics_set *set, const struct jp_table *table,
                     const void *rows, size_t n);

enum metrics_format { METRICS_TEXT, METRICS_OPENMETRICS };

struct metrics_how {
    enum metrics_format format;
    size_t max_series; /* limit; the end of the table is left out; 0: none */
};

/* Writes the set, tables by their metrics_place. Metrics without any value are
 * omitted, and so are values that are not finite, and negative counters. *left:
 * number of series left out because of max_series (may be NULL); metrics_count
 * gives the total beforehand. Returns -1 if the stream failed. */
int metrics_write(const struct metrics_set *set, const struct metrics_how *how,
                  FILE *out, size_t *left, struct jp_error *err);

/* The number of series that metrics_write would write without a limit. */
size_t metrics_count(const struct metrics_set *set);

/* Size ranges as in Inspector's message_size. The unit is the largest power of
 * 1,024, with an exponent from 0 to 4, that is not above the size; a range
 * spans one whole unit. metrics_size_first: the first size of the range. The
 * other function formats it: "512-513MB". */
uint64_t metrics_size_first(uint64_t bytes);
char *metrics_size_text(uint64_t bytes, char *buf, size_t size);

/* Writes the tables of docs/metrics.md in Markdown. tables: n and a NULL, which
 * are sorted. */
void metrics_describe(const struct jp_table **tables, size_t n, FILE *out);

/* --- metricsfile.c ------------------------------------------------------ */

/* A step's file in the spool, where agents write as the users of their jobs.
 *
 * node_exporter does not read the spool: root's collector (below) checks the
 * files and writes what it accepts to the folder that node_exporter reads. The
 * site sets the spool (metrics.spool_dir). It belongs to root and has the
 * sticky bit (1777, or 3770 with a group of all users), and the files belong to
 * the users. A name stands for one step, node and user:
 *
 *     jobprof-<job>.<step>-n<node's number>-<uid>.prom        mode 0644
 *     jobprof-<job>.<step>-n<node's number>-<uid>-<number>.prom
 *
 * A file appears complete, by rename. Links are not followed. Another user may
 * have made an entry of the first name. It is kept, and the step's file gets
 * the second name, whose random number (16 hexadecimal digits) nobody can
 * guess. A folder in which other users could replace files is not used.
 */

/* The agent of a file not written for this many seconds is gone. */
#define METRICSFILE_STALE_S 900

enum { METRICSFILE_NAME_BYTES = 128, METRICSFILE_STEP_BYTES = 33 };

/* The owner of a file. */
struct metricsfile_step {
    uint64_t job; /* job id of the component */
    const char *step;
    uint32_t nodeid; /* index within the component */
    /* Set by metricsfile_write, zeros at first: the number in the name, 0: it
     * has none; how many names were another user's. */
    uint64_t number;
    uint32_t refused;
};

/* Formats the file's name to buf. Returns buf. */
char *metricsfile_name(const struct metricsfile_step *step,
                       char buf[METRICSFILE_NAME_BYTES]);

/* The step's name as it stands in the file's name: other characters than
 * letters and digits are replaced. Returns buf. */
char *metricsfile_word(const char *step, char buf[METRICSFILE_STEP_BYTES]);

/* Opens the folder if it can be trusted. Returns a descriptor, or -1; err then
 * says what to change. */
int metricsfile_open(const char *folder, struct jp_error *err);

/* Replaces the file's contents by these bytes. */
int metricsfile_write(const char *folder, struct metricsfile_step *step,
                      const void *bytes, size_t n, struct jp_error *err);

/* Replaces the file of any name in the folder that is open as dir, as above. A
 * name with a leading dot gets mode 0600. */
int metricsfile_replace(int dir, const char *name, const void *bytes, size_t n,
                        const char *folder, struct jp_error *err);

/* Removes the step's files, with and without a number, that are ours. */
void metricsfile_remove(const char *folder,
                        const struct metricsfile_step *step);

/* What an entry of the spool is, by its name and its inode; nothing is opened.
 * Order: the first that applies. */
enum metricsfile_state {
    METRICSFILE_GOOD,
    METRICSFILE_TEMP,  /* being written */
    METRICSFILE_GONE,  /* removed since it was listed */
    METRICSFILE_ODD,   /* a FIFO, a link, a folder, a device, a socket, a file
                        * with several names, or what is mounted there */
    METRICSFILE_NAME,  /* not a name of ours */
    METRICSFILE_OWNER, /* the name has another uid */
    METRICSFILE_STALE, /* or from the future */
    METRICSFILE_STATES
};
/* "not a regular file"; for people. */
extern const char *const metricsfile_words[METRICSFILE_STATES];

/* st: the entry's own, zeros for METRICSFILE_GONE and what is mounted there.
 * word: the step as in the name, of a good file. */
struct metricsfile_entry {
    int dir;
    const char *name;
    enum metricsfile_state state;
    struct stat st;
    char step[METRICSFILE_STEP_BYTES];
};

/* Calls see for each entry of the folder, until it returns a value other than
 * 0, which is returned. -1: the folder cannot be trusted. */
int metricsfile_each(const char *folder,
                     int (*see)(void *arg,
                                const struct metricsfile_entry *entry),
                     void *arg, struct jp_error *err);

/* What metricsfile_clean found. */
struct metricsfile_cleaned {
    size_t stale; /* stale files of ours, removed */
    size_t odd;   /* other entries that do not belong there, removed */
    size_t kept;  /* those that could not be removed: folders with content */
};

/* Removes what does not belong into the spool: everything that is stale, no
 * regular file, or has a name that is not its owner's; our own entries, or as
 * root everybody's. shared: the folder is not ours alone (node_exporter's), so
 * only entries with names of ours are removed, and only if they are stale or no
 * regular files. dry: only counts. */
int metricsfile_clean(const char *folder, bool shared, bool dry,
                      struct metricsfile_cleaned *out, struct jp_error *err);

/* --- metricstext.c ------------------------------------------------------- */

/* Reads the text of a step's file, which its user wrote, into a set.
 *
 * The text is foreign. Only metrics that a running step has (METRICS_RUNNING)
 * are taken, with the labels of their table; each line must
 * name the job and the step that the file stands for. What is wrong is skipped
 * and counted. metrics_write makes new text of it, so nothing of the file's
 * form gets any further. */
struct metricstext {
    /* in: tables besides metrics_of_steps, ends with NULL; NULL: none */
    const struct jp_table *const *tables;
    /* what the lines must say, or what they get */
    const char *step; /* as metricsfile_word has it */
    const char *user; /* replaces what the file says */
    /* the same, from Slurm; NULL: the file's word is kept */
    const char *account, *partition;
    uint64_t job;      /* as metricstext_job finds it */
    size_t max_series; /* limit of the file */
    /* out */
    size_t series;    /* taken */
    size_t bad_lines; /* no sample, or one that the file may not have */
    size_t left_out;  /* samples beyond max_series */
    char node[METRICS_LABEL_BYTES]; /* of the step's own line */
    char bad[160]; /* what is wrong with the first bad line, harmless */
};

/* Longer lines are bad. */
#define METRICSTEXT_LINE 4096

/* The first job that the text names, in its labels; 0: none. */
uint64_t metricstext_job(const char *text, size_t len);

/* Returns -1 without memory. The text is changed. */
int metricstext_read(char *text, size_t len, struct metricstext *of,
                     struct metrics_set *set);

/* --- metricscollect.c ---------------------------------------------------- */

/* The metrics of the collector itself; ends with NULL. */
extern const struct jp_table *const metricscollect_tables[];

/* jobprof metrics collect: checks users' files in the spool and writes the one
 * file that node_exporter reads, METRICSCOLLECT_NAME, which only root can
 * change. */
#define METRICSCOLLECT_NAME "jobprof.prom"
/* which uid had which job in the last run, what Slurm did not know, and whose
 * turn it is to ask; for root only */
#define METRICSCOLLECT_STATE ".jobprof.jobs"

/* Limits for the files of a user. All uids without a name have no metrics. */
enum {
    METRICSCOLLECT_FILES = 64,
    METRICSCOLLECT_BYTES = 8 << 20, /* of all files of a user */
    METRICSCOLLECT_ASKS = 4,        /* questions to Slurm in one run */
    METRICSCOLLECT_ALL_ASKS = 16,   /* of all users, who take turns */
    METRICSCOLLECT_USERS = 20 /* users that the output names; the others are
                               * added up as "other" */
};

/* Slurm's answer about a job. */
struct metricscollect_job {
    uint32_t uid;
    char account[128], partition[128];
};

struct metricscollect {
    /* in */
    const char *spool, *textfile;
    const struct jp_table *const *tables;    /* as in struct metricstext */
    size_t series, user_series, node_series; /* of a file, a user, the node */
    /* Asks whose job it is; NULL: nobody can be asked. Returns false if there
     * is no answer. */
    bool (*ask)(void *arg, uint64_t job, struct metricscollect_job *out);
    void *arg;
    /* out */
    size_t users, files, written; /* files read; series written */
    size_t bad_lines, left_series, left_files;
    struct metricsfile_cleaned cleaned;
    /* for people: one text for each user of whom something was left out, at
     * most METRICSCOLLECT_USERS; freed by metricscollect_fini */
    char **notes;
    size_t n_notes;
};

/* Reads the spool and replaces the file. Returns -1 and err if one of the
 * folders cannot be used or the file cannot be written; the old file stays. */
int metricscollect_run(struct metricscollect *c, struct jp_error *err);
void metricscollect_fini(struct metricscollect *c);

#endif
