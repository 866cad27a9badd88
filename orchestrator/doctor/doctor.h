/* doctor.h - check whether the installation can profile the next job.
 *
 * Each check adds lines: what was examined, the result, and what to do. Nothing
 * is changed, and no library is loaded. A check that is not possible from this
 * host is "skip", with the reason. The checks are in the order of a step's
 * life; a later one uses results of earlier ones.
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
    char *made;         /* the advice if it is from doctor_advise, or NULL */
};

/* The request. Strings are borrowed. */
struct jp_sitefile;
/* Takes a line about a key of the site file. advice: a constant, what to do if
 * it is not good. */
typedef void doctor_add_site(void *arg, bool good, const char *check,
                             const char *advice, const char *line);

struct doctor_options {
    const char *config; /* site file; NULL: that of the plugstack line, else the
                           installed one */
    const char *plugstack; /* NULL: the one that Slurm uses */
    const char *nccl;      /* libnccl.so; NULL: search the usual places */
    const char *dir;       /* directory of job submission, absolute */
    uint32_t nodes;        /* number of nodes to check by srun; 0: none */
    uint32_t tasks;        /* ranks of the forecast */
    const char *self;      /* this program, absolute */
    /* Checks what commands have in the site file. NULL: nothing. */
    void (*check_site)(const struct jp_sitefile *site, doctor_add_site *add,
                       void *arg);
};

enum { DOCTOR_NEEDED_MAX = 8 };

struct doctor {
    const struct doctor_options *options;
    struct doctor_line *lines;
    size_t n_lines;
    unsigned count[DOCTOR_VERDICTS];
    bool failed; /* out of memory */
    /* results of checks; owned; NULL: unknown */
    char *site;         /* path of the site file that counts */
    char *default_mode; /* the plugstack line's default= */
    char *node_program; /* jobprof-node */
    char *plugin_dirs;  /* Slurm's plugin folders, separated by colons */
    unsigned srun_major, srun_minor; /* 0: no srun */
    bool loaded;                     /* a plugstack line loads the module */
    bool pyxis;                      /* a plugstack line loads pyxis */
    char *library;        /* library of the profiler that auto means */
    char *binds, *mounts; /* container_binds, container_paths; NULL: none */
    char *place;          /* the folder for the reports, if it can be written */
    /* files of backends that each node needs */
    char *needed[DOCTOR_NEEDED_MAX];
    size_t n_needed;
};

/* Runs all checks. The only error is a lack of memory. */
int doctor_run(const struct doctor_options *options, struct doctor *out,
               struct jp_error *err);
void doctor_fini(struct doctor *doctor);

/* Adds a line; advice is a constant. Control characters become \xHH. */
void doctor_add(struct doctor *d, enum doctor_verdict verdict,
                const char *check, const char *advice, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Sets the advice of the last line, made from what was found: a command, or a
 * line for a file. */
void doctor_advise(struct doctor *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void doctor_plugstack(struct doctor *d); /* the module's line and its release */
void doctor_nccl(struct doctor *d);      /* profiler libraries and libnccl */
void doctor_backends(struct doctor *d);  /* what each backend checks here */
void doctor_place(struct doctor *d);     /* directory of reports on this host */
void doctor_nodes(struct doctor *d);     /* the same on nodes */
void doctor_files(struct doctor *d);     /* peaks_file etc. */

struct jp_jobconf;
/* Lets backends check what the tasks of an imagined step would use. */
void doctor_backends_step(struct doctor *d, const struct jp_jobconf *conf);

/* The part of doctor_nodes on a node: writes a file into dir, looks for files
 * (NULL ends them), and prints the answer. -1: it could not. */
int doctor_probe(const char *dir, const char *const *files);

/* --- shared by the checks --- */

/* Checks that path is a regular file that only root (or its owner, which is a
 * warning) can change. Adds a line unless all is well. Returns true if it can
 * be used. */
bool doctor_trusts(struct doctor *d, const char *check, const char *path);

/* Runs a program with an empty standard input for at most ms. *out gets its
 * output (at most 64 KiB; caller frees); with_stderr: that of both streams.
 * Returns its exit status, or -1 and err if it was not started, was killed by a
 * signal, or was late. */
int doctor_command(char *const argv[], unsigned ms, bool with_stderr,
                   char **out, struct jp_error *err);

/* --- a trial folder, to check whether its parent can be written.
 *
 * It is held by its descriptor: files are made and removed in the folder that
 * was made, whatever is renamed in the parent meanwhile, and at the end only
 * that folder is removed, if it is empty. Root makes none where somebody else
 * could change it (fileio.h).
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

/* Writes a file in the open folder, replacing one of that name, as a step
 * does. */
int probe_write(int folder, const char *name, const char *text,
                struct jp_error *err);

/* Removes the files in it, then the folder. -1: something is left. */
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
    size_t n_args; /* further arguments are dropped */
    char *where;   /* "file:line" */
};

struct plugstack {
    struct plugstack_line *lines; /* in the order of loading */
    size_t n_lines;
    char **files; /* those that were read */
    size_t n_files;
    char *trouble; /* the first problem, as a sentence; NULL: none */
};

/* Reads path and what it includes. -1: path itself cannot be read. Otherwise
 * free with plugstack_fini. */
int plugstack_read(const char *path, struct plugstack *out,
                   struct jp_error *err);
void plugstack_fini(struct plugstack *stack);

/* Whether the line's plugin is a file of that name. */
bool plugstack_is(const struct plugstack_line *line, const char *name);

/* The value of an argument "key=..."; NULL: not there. Borrowed. */
const char *plugstack_arg(const struct plugstack_line *line, const char *key);

/* --- elfview.c ---------------------------------------------------------- */

/* The symbols and constants of a shared library, read without loading it.
 *
 * Loading a library means running it, and the examined one may belong to
 * anybody. Only 64-bit little-endian files with section headers are understood.
 * Every offset, count and length is checked against the size of the file.
 */

struct elfview {
    int fd;
    uint64_t bytes;
    Elf64_Phdr *segments;
    size_t n_segments;
    Elf64_Sym *symbols; /* of .dynsym */
    size_t n_symbols;
    char *names; /* its strings, with a NUL at the end */
    size_t names_len;
    char *constants; /* .rodata, with a NUL at the end; NULL: none */
    size_t constants_len;
};

/* Reads the tables of a file. On failure *out is unchanged; otherwise free with
 * elfview_close. */
int elfview_open(const char *path, struct elfview *out, struct jp_error *err);
/* The same from an open file, which is taken over on success. name is for
 * errors. */
int elfview_open_fd(int fd, const char *name, struct elfview *out,
                    struct jp_error *err);
void elfview_close(struct elfview *view);

/* Whether the library defines that symbol for others. */
bool elfview_exports(const struct elfview *view, const char *name);

/* The initial value of an exported object of four bytes. */
int elfview_number(const struct elfview *view, const char *name,
                   uint32_t *value, struct jp_error *err);

/* Whether text is one of the library's constant strings. */
bool elfview_has_text(const struct elfview *view, const char *text);

/* The rest of the first constant string that begins with start; NULL: there is
 * none. Borrowed. */
const char *elfview_after(const struct elfview *view, const char *start);

#endif
