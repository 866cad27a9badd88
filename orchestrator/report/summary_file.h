/* summary_file.h - read a step's summary.json: foreign input.
 *
 * The file becomes one struct, whose members have the names and the units that
 * they have in the file (docs/dev/report-format.md). It holds what programs of
 * jobprof ask of a report. The file may come from another version, be
 * truncated, or hold anything: what is absent or null is unknown
 * (orchestrator/report/json_tree.h: "", JSON_UNKNOWN, NAN, false, NULL), and
 * what has another type is an error that names file and member. Texts are not
 * cleaned. A feature reads its own object by a table of its own
 * (summary_file_own).
 */
#ifndef JP_REPORT_SUMMARY_FILE_H
#define JP_REPORT_SUMMARY_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/report/json_tree.h"

struct summary_setting {
    const char *key, *value, *source, *reason;
};

struct summary_framework {
    const char *name, *version;
};

struct summary_axis {
    const char *axis;
    uint64_t ranks;
};

struct summary_cause {
    const char *what;
};

struct summary_finding {
    const char *kind, *host, *coll;
    uint64_t world_rank;
    double cost_us, share;
    const char *text, *plain, *why, *next;
    struct summary_cause *causes; /* the strongest first */
    size_t n_causes;
    const json_t *row;
};

struct summary_hypothesis {
    const char *key, *state;
};

struct summary_cell {
    const char *comm_type, *coll;
    uint64_t msg_size_bytes, ops;
    struct {
        double n, mean, p50, p99;
    } exec_us;
    struct {
        double p50, min, max;
    } busbw_gbs;
};

struct summary_network {
    const char *fabric, *inter, *coll;
    uint64_t size_from_bytes, ops;
    double time_us;
    struct {
        double p50;
    } net_busbw_gbs;
    const json_t *row;
};

struct summary_pair {
    const char *src_host, *dst_host, *func;
    uint64_t bytes;
    double busbw_gbs;
};

struct summary_comm {
    const char *id, *name, *fabric, *inter;
    uint64_t n_ranks, n_hosts, ranks_seen, ops, time_us;
};

/* row tells an unknown pid from the smallest integer. */
struct summary_rank {
    const json_t *row;
    const char *host;
    int64_t pid;
    uint64_t records, p2p_records;
};

struct summary_window {
    uint64_t comm_index, t0_us, t1_us, ops;
};

/* A row of the samples of a metric. node "": over all members. */
struct summary_series {
    const char *scope, *metric, *node;
    uint64_t first_us, last_us, members;
    double mean, max;
};

struct summary_file {
    json_t *root; /* what the texts are borrowed from; NULL: nothing was read */
    uint64_t written_us;
    double analysis_us;
    struct {
        const char *version;
    } generator;
    struct {
        const char *word; /* one of this version's */
        const char *text, *plain, *judged, *command;
        const char **checks;
        size_t n_checks;
    } verdict;
    struct {
        bool fault;
        const char *node, *cause, *job_state;
        uint64_t world_rank, job_end_us;
    } end;
    struct {
        uint64_t id, restart, nodes, ntasks, created_us;
        const char *step, *array, *name, *user, *account, *partition;
        const char *command, *nodelist, *slurm_version;
        const char *nccl_request, *nccl_mode;
        struct summary_setting *settings;
        struct summary_framework *frameworks;
        struct json_pair *labels;
        struct {
            uint64_t world_size;
            struct summary_axis *axes;
            size_t n_axes;
        } parallel;
        size_t n_settings, n_frameworks, n_labels;
    } job;
    struct {
        uint64_t records, coll_records, p2p_records, expected, lost;
        uint64_t unseen_records, in_flight, files, bytes_read;
        uint64_t ranks_seen, ranks_expected, nodes_seen, nodes_expected;
        const char *expected_kind;
        double coverage;
        struct {
            double share;
        } overhead;
    } quality;
    struct {
        uint64_t ops;
        double times;
    } warmup;
    struct {
        double period_us;
        uint64_t ops;
        const char *source, *text;
    } iteration;
    struct {
        uint64_t ranks, comms, windows; /* rows that are not in the tables */
    } left_out;
    struct summary_finding *findings; /* the worst first */
    struct summary_hypothesis *hypotheses;
    struct summary_cell *cells;
    struct summary_network *network; /* NULL in reports of early versions */
    struct {
        struct summary_pair *node_pairs; /* most data first */
        size_t n_node_pairs;
    } p2p;
    size_t n_findings, n_hypotheses, n_cells, n_network;
    /* The long tables: with SUMMARY_WHOLE only. */
    struct summary_comm *comms;
    struct summary_rank *ranks;
    struct summary_window *windows;
    size_t n_comms, n_ranks, n_windows;
    /* Of the feature that samples (feature_sampler): its sentence, and its
     * metrics. */
    struct summary_samples {
        const char *text;
        struct summary_series *series;
        size_t n_series;
    } samples;
};

/* How much to read. The long tables are comms, ranks, windows and busy. */
enum summary_parts { SUMMARY_WITHOUT_TABLES, SUMMARY_WHOLE };

/* Reads <step_dir>/summary.json within the limits of common/jsonload.h. It is
 * of schema_version 1, and has a verdict with a known word and a text. Free
 * with summary_file_fini. Returns 0, or -1 and err, which names the file; all
 * of *out is unknown then. */
int summary_file_read(const char *step_dir, enum summary_parts parts,
                      struct summary_file *out, struct jp_error *err);

/* The same of a tree, which is taken over, also on failure. path: its name in
 * errors, or NULL. */
int summary_file_take(json_t *root, const char *path, struct summary_file *out,
                      struct jp_error *err);

void summary_file_fini(struct summary_file *summary);

/* Reads what a feature has written, by a table of paths from the root. *own is
 * unknown where the file has something else there. Free with
 * json_fields_fini. */
void summary_file_own(const struct summary_file *summary,
                      const struct json_fields *table, void *own);

/* The sentence of a verdict or a finding for readers: in plain words, or in an
 * older report its text. */
const char *summary_file_sentence(const char *plain, const char *text);

/* Whether NCCL was not to be profiled, and nothing of it is there: the step was
 * profiled for something else. */
bool summary_file_without_nccl(const struct summary_file *summary);

/* The version of jobprof that a report names. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#define JP_VERSION PACKAGE_VERSION
#else
#define JP_VERSION "unknown"
#endif

/* Whether a verdict has this word. */
bool summary_file_is(const struct summary_file *summary, const char *word);

/* The total time of a cell, us; 0 if it is unknown. */
double summary_cell_time(const struct summary_cell *cell);

#endif
