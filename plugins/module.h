/* module.h - what the node agent runs: one const struct for each module.
 *
 * `jobprof-node agent` is one process for each node and step, with one thread
 * and one loop. It calls a module at its period and when its descriptor is
 * readable. A call must not block. The agent has a budget of processor time and
 * of memory for each module. It doubles the period of one that takes more of a
 * processor, and ends one that takes more memory. Bytes on the disk are limited
 * by the module itself (module_place.disk_bytes).
 */
#ifndef JP_PLUGINS_MODULE_H
#define JP_PLUGINS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/json_stream.h"
#include "common/knob.h"
#include "common/options.h"

enum { MODULE_GPUS_MAX = 64, MODULE_HANG_BYTES = 512 };

/* How the agents of a step's nodes reach each other. */
enum { MODULE_KEY_BYTES = 32, MODULE_NAMES_BYTES = 512 };
struct module_net {
    char interfaces[MODULE_NAMES_BYTES]; /* as NCCL_SOCKET_IFNAME; "": that of
                                            the node's address */
    uint8_t key[MODULE_KEY_BYTES]; /* the step's, by which packets are sealed */
};

/* What modules are told of job.conf before the tasks can change it. begin
 * passes it to the agent. The settings of an option are bytes that only its own
 * folder reads. */
enum { MODULE_SETTINGS_BYTES = 640 };
struct module_told {
    bool meets; /* the agents of this step talk to each other */
    struct module_net net;
    struct {
        bool given;
        _Alignas(8) uint8_t bytes[MODULE_SETTINGS_BYTES];
    } of[OPTIONS];
};

/* A GPU at its last sample; NAN: unknown. */
struct module_gpu {
    char bus[48]; /* PCI bus id, as its library writes it */
    double share, mhz, watts;
};

/* Data shared by modules: one writes, others read. */
struct module_shared {
    struct module_gpu gpus[MODULE_GPUS_MAX];
    size_t n_gpus;
    uint64_t gpus_us; /* when the sample was taken, monotonic */
};

/* A process of this node that is part of a hang. */
struct module_target {
    int64_t pid;    /* as this node sees it */
    uint64_t start; /* its start time, ticks after boot; 0: unknown */
    int64_t task;   /* SLURM_PROCID; -1: unknown */
    int64_t rank;   /* in the communicator; -1: unknown */
    bool missing;   /* true: the others wait for it; false: it waits */
};

/* A request for evidence of a hang on this node, once for each hang. Borrowed.
 */
struct module_hang {
    const char *dir, *node, *root; /* as in module_place */
    uint32_t number;               /* number of the hang in the step, from 1 */
    char text[MODULE_HANG_BYTES];  /* a sentence about the hang, or "" */
    const struct module_target *targets;
    size_t n_targets;
};

/* Metrics for Prometheus, as the site configured them; borrowed. */
struct module_metrics {
    const char *folder; /* the spool; root's collector reads it */
    uint32_t period_ms; /* between two writings, at least */
    uint32_t series;    /* limit for a file */
    /* the step, as job.conf has it */
    const char *job, *step, *user, *account, *partition;
};

/* Where the agent runs; borrowed for the life of a module. */
struct module_place {
    const char *dir;  /* the step directory */
    const char *node; /* Slurm's name of the node: nodes/<node>/ exists */
    const char *root; /* replaces / in tests; "": the real root */
    uint64_t job;     /* SLURM_JOB_ID of this component */
    const char *step;
    uint32_t uid;             /* of the tasks */
    const char *nvml_library; /* for dlopen() */
    const char *rsmi_library; /* NULL: by its usual names */
    const char *gpus;    /* minor numbers that Slurm allocated; NULL: all */
    uint32_t period_ms;  /* as the site configured it; 0: the module is off */
    uint64_t disk_bytes; /* limit of the module's files on this node */
    const struct module_net *net;  /* NULL: agents do not talk to each other */
    const void *settings[OPTIONS]; /* see module_told; NULL: none */
    const char *const *nodes;      /* all nodes of the step, in Slurm's order */
    size_t n_nodes;                /* 0: unknown */
    uint32_t nodeid;               /* within the component */
    uint32_t step_nodes;           /* of the whole step, all components */
    uint64_t component;            /* its job id */
    bool leads;                    /* node 0 of the leading component */
    /* for hangs */
    bool records_live;    /* the step's profiler writes while operations run */
    const char *plugin;   /* NCCL_PROFILER_PLUGIN as it was set for the tasks;
                             NULL: it was not */
    const char *profiler; /* name of the profiler that shows which operations
                             have ended; NULL: none does */
    uint64_t batch_us;    /* its period; 0: unknown */
    uint32_t hang_suspect_ms; /* 0: nothing is watched */
    const struct jp_onhang *on_hang;
    const char *conf_hash; /* of job.conf; "": unknown */
    /* Starts to collect evidence and returns at once: a child that can be
     * killed does the work. NULL: not available. */
    void (*take_evidence)(void *arg, const struct module_hang *hang);
    void *take_arg;
    const struct module_metrics *metrics; /* NULL: not configured */
    struct module_shared *shared;         /* NULL: no module writes it */
    /* Adds a line to the step's log. */
    void (*log)(void *arg, const char *line);
    void *log_arg;
};

/* One reading of the clocks and of what the agent has cost so far. */
struct module_time {
    uint64_t real_us;   /* since 1970 */
    uint64_t mono_us;   /* CLOCK_MONOTONIC */
    uint64_t cpu_us;    /* of the agent and the processes of its modules */
    uint64_t module_us; /* of the module being called */
};

#define MODULE_REST_MS 5000

struct node_module {
    const char *name;
    double budget; /* part of one processor; 0.005 is 0.5 % */
    /* The budget of this run where settings decide it. NULL: `budget`. */
    double (*allowed)(void *state);
    /* The module keeps its budget by itself. The agent leaves its period alone
     * and only says when the module takes more. */
    bool paces_itself;
    uint64_t memory_bytes; /* most memory that it may have allocated */
    uint32_t period_ms;    /* 0: place.period_ms, which may be off */
    /* Returns its state, or NULL: it does not run here, and err says why ("":
     * nothing to report). */
    void *(*start)(const struct module_place *place, struct jp_error *err);
    /* Returns a descriptor to wait for, or -1: none at the moment. NULL: never
     * one. */
    int (*fd)(void *state);
    /* -1: err is written once to the step's log, and the module continues. */
    int (*tick)(void *state, const struct module_time *now,
                struct jp_error *err);
    int (*readable)(void *state, const struct module_time *now,
                    struct jp_error *err);
    /* Returns whether the next tick can wait for MODULE_REST_MS: readable()
     * tells of all that it waits for. NULL: it never can. */
    bool (*rests)(void *state);
    /* Returns whether the step's tasks have started and ended. NULL: the module
     * cannot know. */
    bool (*is_over)(void *state);
    uint64_t (*bytes)(void *state); /* size of its files on the disk */
    /* Processor time of its other processes so far, which counts as the
     * module's. NULL: there are none. */
    uint64_t (*cpu_us)(void *state);
    /* Writes the members of its object in agent.json. NULL: none. */
    void (*record)(void *state, struct jp_json_stream *s);
    /* Writes everything from memory, within 100 ms. */
    void (*finish)(void *state);
    void (*destroy)(void *state); /* takes NULL */
};

#endif
