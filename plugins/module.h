/* module.h - what the node agent runs: one const struct a module.
 *
 * `jobprof-node agent` is one process a node and step, with one thread and one
 * loop. It calls a module at its period and when its descriptor can be read. A
 * call must not block: the agent has a budget of processor time for each
 * module, and doubles the period of one that takes more.
 */
#ifndef JP_PLUGINS_MODULE_H
#define JP_PLUGINS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/json_stream.h"
#include "common/knob.h"
#include "plugins/clock/clock_conf.h"

enum { MODULE_GPUS_MAX = 64, MODULE_HANG_BYTES = 512 };

/* A GPU by its last sample, NAN: not known. */
struct module_gpu {
    char bus[48]; /* PCI bus id, as its library writes it */
    double share, mhz, watts;
};

/* Data shared by modules: one writes, the others read. */
struct module_shared {
    struct module_gpu gpus[MODULE_GPUS_MAX];
    size_t n_gpus;
    uint64_t gpus_us; /* monotonic, of the sample */
};

/* A process of this node that has part in a hang. */
struct module_target {
    int64_t pid;  /* as this node sees it */
    int64_t task; /* SLURM_PROCID, -1: not known */
    int64_t rank; /* in the communicator, -1: not known */
    bool missing; /* it keeps the others waiting; false: it waits */
};

/* Evidence of a hang is wanted of this node: once a hang. Borrowed. */
struct module_hang {
    const char *dir, *node, *root; /* as in module_place */
    uint32_t number;               /* of the hang in the step, from 1 on */
    char text[MODULE_HANG_BYTES];  /* the hang in a sentence, or "" */
    const struct module_target *targets;
    size_t n_targets;
};

/* Metrics for Prometheus, as the site wants them; borrowed. */
struct module_metrics {
    const char *folder; /* of node_exporter's textfile collector */
    uint32_t period_ms; /* between two writings, at least */
    uint32_t series;    /* a file has, at most */
    /* the step, as job.conf has it */
    const char *job, *step, *user, *account, *partition;
};

/* Where the agent is; borrowed for the life of a module. */
struct module_place {
    const char *dir;  /* the step directory */
    const char *node; /* Slurm's name of it: nodes/<node>/ is there */
    const char *root; /* replaces / in tests; "" is the machine itself */
    uint64_t job;     /* SLURM_JOB_ID of this component */
    const char *step;
    uint32_t uid;             /* of the tasks */
    const char *nvml_library; /* for dlopen() */
    const char *rsmi_library; /* NULL: by its usual names */
    const char *gpus;         /* minor numbers that Slurm gave; NULL: all */
    uint32_t period_ms;       /* as the site wants it; 0: the module is off */
    uint64_t disk_bytes;      /* what the module's files may take here */
    const struct clock_conf *clock; /* NULL: the clock module is off */
    const char *const *nodes;       /* all of the step, as Slurm lists them */
    size_t n_nodes;                 /* 0: not known */
    uint32_t nodeid;                /* within the component */
    uint32_t step_nodes;            /* of the whole step, all components */
    uint64_t component;             /* its job id */
    bool leads;                     /* node 0 of the leading component */
    /* hangs: orchestrator/live/live.h */
    bool records_live;        /* the step's profiler does */
    const char *profiler;     /* that tells what has ended, by its name; NULL:
                                 none does */
    uint64_t batch_us;        /* ... so often; 0: not known */
    uint32_t hang_suspect_ms; /* 0: nothing is watched */
    const struct jp_onhang *on_hang;
    const char *conf_hash; /* of job.conf, "" not known */
    /* Starts to collect it and returns at once: a child that can be killed does
     * the work. NULL: not available. */
    void (*take_evidence)(void *arg, const struct module_hang *hang);
    void *evidence_arg;
    const struct module_metrics *metrics; /* NULL: none are wanted */
    struct module_shared *shared;         /* NULL: nobody tells */
    /* A line for the step's log. */
    void (*log)(void *arg, const char *line);
    void *log_arg;
};

/* One look at the clocks and at what the agent has cost so far. */
struct module_time {
    uint64_t real_us;   /* since 1970 */
    uint64_t mono_us;   /* CLOCK_MONOTONIC */
    uint64_t cpu_us;    /* of the agent and its modules' processes */
    uint64_t module_us; /* of the module that is called */
};

struct node_module {
    const char *name;
    double budget;      /* of one processor, 0.005 is 0.5 % */
    uint32_t period_ms; /* its own; 0: place.period_ms, which may be off */
    /* NULL: it does not run here; err says why, "" if there is nothing to say.
     */
    void *(*start)(const struct module_place *place, struct jp_error *err);
    /* A descriptor to wait for, -1: none at the moment. NULL: never one. */
    int (*fd)(void *state);
    /* -1: err is written once to the step's log, and the module continues. */
    int (*tick)(void *state, const struct module_time *now,
                struct jp_error *err);
    int (*readable)(void *state, const struct module_time *now,
                    struct jp_error *err);
    /* Whether the step's tasks have come, and gone again. NULL: it does not
     * know. */
    bool (*is_over)(void *state);
    uint64_t (*bytes)(void *state); /* on the disk so far */
    /* Processor time of its other processes so far: it counts as the module's.
     * NULL: it has none. */
    uint64_t (*cpu_us)(void *state);
    /* Its members of its object in agent.json. NULL: none. */
    void (*record)(void *state, struct jp_json_stream *s);
    /* Writes what is in memory, within 100 ms. */
    void (*finish)(void *state);
    void (*destroy)(void *state); /* takes NULL */
};

extern const struct node_module util_module;
extern const struct node_module clock_module;

#endif
