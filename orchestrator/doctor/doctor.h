/* doctor.h - can the installation profile the next job?
 *
 * Each check adds lines: what was examined, the result, and what to do. Nothing
 * is changed, and no library is loaded. A check that is not possible from this
 * host is "skip", with the reason. The checks have the order of a step's life;
 * a later one uses what an earlier one has found.
 */
#ifndef JP_DOCTOR_DOCTOR_H
#define JP_DOCTOR_DOCTOR_H

#include <elf.h>
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
void doctor_files(struct doctor *d); /* peaks_file etc., clocks' interface */

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

/* --- plugstack.c -------------------------------------------------------- */

/* Slurm's plugstack.conf, as its own loader reads it.
 *
 * "optional|required PLUGIN [ARGUMENT...]" and "include PATTERN" (relative to
 * the file's folder); '#' starts a comment, nothing is quoted.
 */

#define PLUGSTACK_ARGS_MAX 16

struct plugstack_line {
    bool required;
    char *plugin; /* as written: absolute or within Slurm's plugin folder */
    char *args[PLUGSTACK_ARGS_MAX];
    size_t n_args; /* further ones are counted, not kept */
    char *where;   /* "file:line" */
};

struct plugstack {
    struct plugstack_line *lines; /* in the order of loading */
    size_t n_lines;
    char **files; /* those that were read */
    size_t n_files;
    char *trouble; /* the first thing that cannot be understood; NULL: none */
};

/* Reads path and what it includes. -1: path itself cannot be read; else
 * plugstack_fini frees. */
int plugstack_read(const char *path, struct plugstack *out,
                   struct jp_error *err);
void plugstack_fini(struct plugstack *stack);

/* Whether the line's plugin is a file of that name. */
bool plugstack_is(const struct plugstack_line *line, const char *name);

/* The value of an argument "key=..."; NULL: not there. Borrowed. */
const char *plugstack_arg(const struct plugstack_line *line, const char *key);

/* --- elfview.c ---------------------------------------------------------- */

/* What a shared library exports, read without loading it.
 *
 * To load one means to run it; a library that is looked at may be anybody's.
 * Only 64-bit little-endian files with section headers are understood. Every
 * offset, count and length is checked against the file.
 */

struct elfview {
    int fd;
    uint64_t bytes;
    Elf64_Phdr *segments;
    size_t n_segments;
    Elf64_Sym *symbols; /* of .dynsym */
    size_t n_symbols;
    char *names; /* its strings, NUL-terminated as a whole */
    size_t names_len;
    char *constants; /* .rodata, NUL-terminated as a whole; NULL: none */
    size_t constants_len;
};

/* Reads path's tables. On failure *out is unchanged; else elfview_close. */
int elfview_open(const char *path, struct elfview *out, struct jp_error *err);
/* The same from an open file, which is taken over on success; name is for
 * errors. */
int elfview_open_fd(int fd, const char *name, struct elfview *out,
                    struct jp_error *err);
void elfview_close(struct elfview *view);

/* Whether it defines that symbol for others. */
bool elfview_exports(const struct elfview *view, const char *name);

/* The number that an exported object holds in the file. */
int elfview_number(const struct elfview *view, const char *name,
                   uint32_t *value, struct jp_error *err);

/* Whether text is one of its constant strings. */
bool elfview_has_text(const struct elfview *view, const char *text);

/* What follows the first constant string that starts so, up to its end; NULL:
 * none. Borrowed. */
const char *elfview_after(const struct elfview *view, const char *start);

#endif
