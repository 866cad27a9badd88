/* traced.h - the kernels of one process, as a profiler of GPUs has seen them.
 *
 * A reader of such a profiler's files adds kernels and steps in any order, then
 * calls tracing_end. Communication is a kernel of NCCL or RCCL; everything else
 * that runs on the GPU as a kernel is the process' own work. Copies and memsets
 * are neither. Exposed is the time in which a kernel of communication runs and
 * no own kernel does; idle is the time in which no kernel runs. Overlapping
 * kernels count once. Times are nanoseconds of one clock.
 *
 * Memory is bounded: TRACING_KERNELS kernels and TRACED_STEPS steps are kept,
 * others are counted. */
#ifndef JP_PLUGINS_TRACED_H
#define JP_PLUGINS_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/record.h"

enum {
    TRACING_KERNELS = 1 << 20, /* 24 bytes each */
    TRACED_STEPS = 256,
    TRACED_NAMES = 256,   /* names of kernels in a result */
    TRACING_NAMES = 4096, /* ... while a file is read; others are one name */
    TRACED_NAME = 128,    /* bytes of a name; a longer one is cut */
};

/* A stretch of time on one GPU. */
struct traced_time {
    uint64_t length_ns;
    uint64_t own_ns, comm_ns, exposed_ns, idle_ns;
};

/* A step of the program, by the annotation of its CPU thread. Kernels count for
 * the step in which they ran. */
struct traced_step {
    int64_t number;
    uint64_t start_ns; /* since 1970, or as in struct traced */
    struct traced_time time;
};

/* All own kernels of one name, or all calls on the host. */
struct traced_name {
    char name[TRACED_NAME];
    uint64_t n, ns;
};

/* What is known of one process. Zeros are empty. */
struct traced {
    char host[RECORD_MAX_HOST + 1]; /* "": unknown */
    int64_t pid;                    /* -1: unknown */
    int64_t rank;                   /* in the job; -1: unknown */
    uint32_t world;                 /* the job's ranks; 0: unknown */
    const char *source;             /* constant: the profiler, "Kineto" */
    uint64_t kernels, comm_kernels; /* each once, see doubled */
    uint64_t doubled; /* further copies of the same kernels in the file; then
                         calls is empty */
    uint64_t left;    /* kernels beyond the limit; then all times are unknown */
    bool several;     /* on several GPUs: all times are unknown */
    bool has_times;
    uint64_t first_ns; /* start of the first kernel; since 1970 if the file says
                          so */
    /* From the first kernel's start to the last one's end; with steps: from the
     * start of the first to the end of the last. */
    struct traced_time all;
    struct traced_step *steps; /* by start */
    size_t n_steps;
    uint64_t left_steps;
    /* own kernels within `all`, the longest first; the rest is in others */
    struct traced_name *names;
    size_t n_names;
    struct traced_name others;
    /* Operators, calls of the GPU's runtime and annotations on the host, the
     * longest first, with what they called in turn. A process that waits for
     * others waits in some of them. */
    struct traced_name *calls;
    size_t n_calls;
};

void traced_fini(struct traced *traced);

/* A list of them. Zeros are empty. */
struct traced_list {
    struct traced *at;
    size_t n;
};

/* Moves *traced into the list. 0, or -1: no memory, and *traced is unchanged.
 */
int traced_list_add(struct traced_list *list, struct traced *traced);
void traced_list_fini(struct traced_list *list);

/* --- while a file is read ------------------------------------------------ */

struct tracing;

struct tracing *tracing_create(void);          /* NULL: no memory */
void tracing_destroy(struct tracing *tracing); /* takes NULL */

struct tracing_kernel {
    int64_t start_ns, end_ns; /* start <= end; within +-2^61 */
    int64_t device;
    const char *name; /* len bytes */
    size_t len;
    bool is_comm;
    /* Of its stream and launch: a kernel of the same name, times and mark is
     * the same one. 0: unknown, so that it counts as another one. */
    uint32_t mark;
};

/* 0, or -1: no memory. */
int tracing_kernel(struct tracing *tracing,
                   const struct tracing_kernel *kernel);
/* Adds a call on the host. 0, or -1: no memory. */
int tracing_call(struct tracing *tracing, const char *name, size_t len,
                 uint64_t ns);
int tracing_step(struct tracing *tracing, int64_t number, int64_t start_ns,
                 int64_t end_ns);

/* The number of the first step, its start, and the end of the last one, once
 * all are added; false: no steps. */
bool tracing_first_step(const struct tracing *tracing, int64_t *number,
                        int64_t *start_ns, int64_t *end_ns);

/* Fills what kernels and steps show; the caller sets host, pid, rank, source.
 * base_ns is added to all times. 0, or -1: no memory, and *out is unchanged. */
int tracing_end(struct tracing *tracing, int64_t base_ns, struct traced *out);

/* Whether a kernel's name is one of NCCL or RCCL. */
bool tracing_is_comm(const char *name, size_t len);
/* The collective that such a kernel's name contains ("AllReduce"), a constant;
 * NULL: it is in none ("ncclDevKernel_Generic"). "SendRecv" is that of point to
 * point, and of AlltoAll. */
const char *tracing_func(const char *name, size_t len);

#endif
