/* rec_harness.h - runs a scenario against the built recorder in its own
 * process.
 *
 * The library reads its environment once and lives as long as its process. So
 * each scenario gets a child process with a fresh directory and a fresh
 * library, and ends with exit().
 */
#ifndef JP_REC_HARNESS_H
#define JP_REC_HARNESS_H

#include <stdio.h>
#include <stdlib.h>

#include "plugins/nccl_recorder/nccl_profiler.h"

/* What a scenario gets in the child. */
struct rec_scene {
    void *lib;
    const char *dir;               /* NULL: JOBPROF_RECORDER_DIR is unset */
    struct jp_nccl_plugin_v6 *api; /* v6, or another table behind v6's calls */
    int version;
};

/* What a scenario left behind. */
struct rec_result {
    int status; /* of waitpid() */
    char dir[256];
    char *text;     /* all *.jpr files as jpr_text's lines */
    char *inflight; /* lines of snapshots, which are not in `text` */
    int n_ops;
    int n_files;
    int n_bad;      /* files with damage */
    uint64_t bytes; /* of all files */
};

/* The last row of a communicator (by its id) and function; zeros: none. */
struct rec_counts {
    char finalized[8]; /* "true" or "false" */
    uint64_t produced;
    uint64_t written;
    uint64_t lost;
    uint64_t left_out;
};
struct rec_counts rec_harness_counts(const char *text, const char *comm,
                                     const char *func);

typedef void rec_scenario_fn(struct rec_scene *scene);

/* Runs a scenario with interface `version` in a new directory and reads the
 * files. */
void rec_harness_run(rec_scenario_fn *scenario, int version,
                     struct rec_result *result);

/* The same in a directory of the caller, which stays; NULL: the variable is
 * unset. */
void rec_harness_run_in(rec_scenario_fn *scenario, int version, const char *dir,
                        struct rec_result *result);

/* Frees the texts, and removes the directory if rec_harness_run() made it. */
void rec_harness_fini(struct rec_result *result);

/* Returns how often `text` occurs. */
int rec_harness_count(const char *where, const char *text);

/* Returns the library's file name. */
const char *rec_harness_library(void);

/* In a scenario: ends the child with status 1 unless the condition holds. */
#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);         \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* In a scenario: waits until its files have `text` n times, as lines of
 * jpr_text; ends the child with status 1 if that takes more than 20 s. */
void scene_wait(const struct rec_scene *scene, const char *text, int n);

/* NCCL's mask: what the recorder requests. */
extern int scene_mask;

/* Helpers that speak v6. */
void *scene_comm(struct rec_scene *scene, const char *name, uint64_t hash,
                 int rank, int n_ranks);
/* NCCL launches a plan. Returns the handle of its Group event. */
void *scene_launch(struct rec_scene *scene, void *comm);
void *scene_coll(struct rec_scene *scene, void *comm, const char *func,
                 uint64_t seq, uint64_t bytes, int n_channels);
void *scene_p2p(struct rec_scene *scene, void *comm, const char *func, int peer,
                uint64_t bytes, int n_channels);
void *scene_kernel(struct rec_scene *scene, void *comm, void *parent,
                   int channel, uint64_t gpu_ns);
void scene_kernel_stop(struct rec_scene *scene, void *kernel, uint64_t gpu_ns);
/* A whole AllReduce of 1 MiB on two channels that took `us`. */
void scene_whole(struct rec_scene *scene, void *comm, uint64_t seq,
                 uint64_t us);

#endif
