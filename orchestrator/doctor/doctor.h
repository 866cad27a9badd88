/* doctor.h - can the installation profile the next job?
 *
 * Each check adds lines: what was examined, the result, and what to do. Nothing
 * is changed, and no library is loaded. A check that is not possible from this
 * host is "skip", with the reason. The checks have the order of a step's life;
 * a later one uses what an earlier one has found.
 */
#ifndef JP_DOCTOR_DOCTOR_H
#define JP_DOCTOR_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

enum doctor_verdict { DOCTOR_OK, DOCTOR_SKIP, DOCTOR_WARN, DOCTOR_FAIL };
#define DOCTOR_VERDICTS 4
extern const char *const doctor_words[DOCTOR_VERDICTS];

struct doctor_line {
    enum doctor_verdict verdict;
    const char *check;  /* "module" */
    char *text;         /* one line, clean for a terminal */
    const char *advice; /* what to do, or "" */
    char *made;         /* the advice, where doctor_advise made it; or NULL */
};

/* The request; strings borrowed. */
struct doctor_options {
    const char *config;    /* site file; NULL: the plugstack line's, else the
                              installed one */
    const char *plugstack; /* NULL: as Slurm says */
    const char *nccl;      /* libnccl.so; NULL: where they usually are */
    const char *dir;       /* where jobs are submitted, absolute */
    uint32_t nodes;        /* ask so many nodes by srun; 0: none */
    uint32_t tasks;        /* ranks of the forecast */
    const char *self;      /* this program, absolute */
};

struct doctor {
    const struct doctor_options *options;
    struct doctor_line *lines;
    size_t n_lines;
    unsigned count[DOCTOR_VERDICTS];
    bool failed; /* out of memory */
    /* what checks have learnt; owned, NULL: not known */
    char *site;                      /* the site's settings that count */
    char *default_mode;              /* the plugstack line's default= */
    char *node_program;              /* jobprof-node */
    char *plugin_dirs;               /* Slurm's, colons between them */
    unsigned srun_major, srun_minor; /* 0: no srun */
    bool loaded;                     /* a plugstack line loads the module */
    bool pyxis;                      /* and one pyxis */
    char *library;                   /* of the profiler that auto means */
    char *binds, *mounts; /* container_binds, container_paths; NULL: none */
    char *place;          /* the folder that can be written */
    char *cu_fuse;        /* Copper's daemon, as the site names it; or NULL */
    char *fusermount;     /* the program that ends its mounts; NULL: none */
    char *clock_if;       /* interfaces of the clocks' probes; NULL: any */
};

/* All checks. Only trouble with memory is an error. */
int doctor_run(const struct doctor_options *options, struct doctor *out,
               struct jp_error *err);
void doctor_fini(struct doctor *doctor);

/* Adds a line; advice is a constant. Control characters become \xHH. */
void doctor_add(struct doctor *d, enum doctor_verdict verdict,
                const char *check, const char *advice, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The last line's advice, of what was seen: a command, or a line for a file. */
void doctor_advise(struct doctor *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_plugstack(struct doctor *d); /* the line, the module's ABI */
void doctor_nccl(struct doctor *d);      /* profiler libraries and libnccl */
void doctor_place(struct doctor *d);     /* directory of reports, from here */
void doctor_nodes(struct doctor *d);     /* the same seen from nodes */
void doctor_files(struct doctor *d);     /* peaks_file and the like */
void doctor_clock(struct doctor *d);     /* the probes' interface */

/* On a node, for the above: writes a file into dir, looks for files (up to
 * NULL), and answers on stdout. -1: it could not. */
int doctor_probe(const char *dir, const char *const *files);

/* --- what they share --- */

/* Is path a regular file that only root (or its owner, a warning) can change?
 * Adds a line unless all is well; true: it can be used. */
bool doctor_trusts(struct doctor *d, const char *check, const char *path);

/* Runs a program with an empty stdin for at most ms; its output (at most 64
 * KiB) is malloc'ed into *out. Returns its exit status, or -1: not started,
 * killed by a signal or late (err). with_stderr: of both streams. */
int doctor_command(char *const argv[], unsigned ms, bool with_stderr,
                   char **out, struct jp_error *err);

/* --- a folder made to see whether one can write in its parent.
 *
 * It is held by its descriptor: files are made and removed in the folder that
 * was made, whatever is renamed in the parent meanwhile, and only that folder
 * is removed in the end, when it is empty. Root makes none where somebody else
 * could (fileio.h).
 */

struct probe {
    int parent, fd;
    char name[32]; /* in the parent */
    char path[PATH_MAX];
    dev_t dev;
    ino_t ino;
};

/* Makes the folder, mode 0700. */
int probe_open(const char *parent, struct probe *probe, struct jp_error *err);

/* A file in the open folder that replaces another one of that name, as a step
 * writes its own. */
int probe_write(int folder, const char *name, const char *text,
                struct jp_error *err);

/* Removes the files in it and then the folder. -1: something stays. */
int probe_close(struct probe *probe, struct jp_error *err);

#endif
