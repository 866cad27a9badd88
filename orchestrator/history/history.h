/* history.h - a record of every step of a site, one JSON line per step.
 *
 *     a report -> struct history_step -> a line in the sink   (step's user)
 *     lines of all users -> struct history_step -> tables     (any reader)
 *
 * history_fields is the single description of a line. Writer, reader, tables
 * for other tools and schema (docs/history.schema.json) use it.
 *
 *     history_line.c   the table; converts steps to lines and back
 *     history_sink.c   writes a line to a folder, a command or syslog
 *     history_make.c   makes a line from a report, for the sink
 *     history_read.c   reads all lines of a folder that other users write to
 */
#ifndef JP_HISTORY_HISTORY_H
#define JP_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

enum {
    HISTORY_VERSION = 1,
    HISTORY_FINDINGS = 16, /* limit per line */
    HISTORY_NETS = 12,
    HISTORY_PAIRS = 32,
    HISTORY_LOADED = 16,
    HISTORY_LABELS = 16,
    HISTORY_AXES = 8,
    HISTORY_LINE = 48 << 10, /* longest line in bytes; less than the capacity of
                              * a pipe */
    HISTORY_LIST = 16 << 10, /* longest node list in bytes; a longer one is left
                              * out */
    HISTORY_TEXT = 255       /* longest other text in bytes */
};

/* Not terminated by NUL. at is never NULL. Borrowed from the line or the
 * summary. */
struct history_text {
    const char *at;
    uint32_t len;
};

/* Unknown values: UINT64_MAX, NAN, a text of length 0. */
struct history_finding {
    struct history_text kind, node, cause, coll;
    uint64_t rank; /* rank in the job */
    double wait_s, share;
};

struct history_net {
    struct history_text over, coll;
    uint64_t size_bytes, ops;
    double busbw_gbs;
};

struct history_pair {
    struct history_text from, to;
    uint64_t bytes;
    double busbw_gbs;
};

/* A name and its value: a library and its version, a label of the user's. */
struct history_named {
    struct history_text name, value;
};

/* A way in which the program divides its work. */
struct history_axis {
    struct history_text axis;
    uint64_t ranks;
};

struct history_step {
    uint64_t version, time_us, written_us, job, restart;
    struct history_text step, user, account, partition, name, nodelist;
    uint64_t nodes, tasks;
    struct history_text verdict;
    uint64_t judged; /* 1 if lateness was judged, otherwise 0 */
    double coverage, wait_s;
    uint64_t gpus;
    double gpu_s, gpu_busy, gpu_busy_max, gpu_memory_max_bytes, gpu_power_w;
    double cpu_cores, cpu_cores_max, memory_max_bytes;
    double node_busy, net_in_max_bps, net_out_max_bps;
    struct history_text mode, nccl, slurm, jobprof;
    double overhead, report_s;
    struct history_finding findings[HISTORY_FINDINGS];
    struct history_net nets[HISTORY_NETS];
    struct history_pair pairs[HISTORY_PAIRS];
    size_t n_findings, n_nets, n_pairs;
    uint64_t world_size;
    struct history_named loaded[HISTORY_LOADED];
    struct history_named labels[HISTORY_LABELS];
    struct history_axis axes[HISTORY_AXES];
    size_t n_loaded, n_labels, n_axes;
};

/* --- history_line.c ------------------------------------------------------- */

enum history_kind {
    HISTORY_END, /* end of a table */
    HISTORY_WORD,
    HISTORY_COUNT,
    HISTORY_CLOCK, /* microseconds since 1970 */
    HISTORY_FLAG,
    HISTORY_REAL,
    HISTORY_ROWS /* an array of objects */
};

/* One member of a line. A line omits unknown values. */
struct history_field {
    const char *key;
    enum history_kind kind;
    const char *unit; /* or "" */
    const char *help;
    size_t at; /* offset in the struct */
    bool needed;
    /* only for HISTORY_ROWS: */
    const struct history_field *rows;
    size_t size, max, n_at; /* size of a row; maximum number of rows; offset of
                             * their number */
};
extern const struct history_field history_fields[];

/* Makes a step of version HISTORY_VERSION with all values unknown. */
void history_step_init(struct history_step *step);

/* Writes the line with its line break. Returns -1 if it cannot be written. */
int history_line_put(const struct history_step *step, FILE *out,
                     struct jp_error *err);

/* Parses a line of len bytes without line break. Strings are unescaped in
 * place, and step borrows them. Control characters become '?'. Unknown members
 * are ignored. Returns -1 for any other text; err names column and value. */
int history_line_parse(char *line, size_t len, struct history_step *step,
                       struct jp_error *err);

/* Copies a text to buf as a harmless string. buf has HISTORY_TEXT + 1 bytes.
 * Returns buf. */
const char *history_text_copy(struct history_text text, char *buf, size_t size);
#define HISTORY_SHOW(text)                                                     \
    history_text_copy((text), (char[HISTORY_TEXT + 1]){""}, HISTORY_TEXT + 1)

/* Writes the table as a JSON schema. */
int history_schema_put(FILE *out, struct jp_error *err);

/* --- history_sink.c ------------------------------------------------------- */

struct history_sink {
    const char *dir;     /* folder with one subfolder per user; NULL: none */
    const char *command; /* a program that reads a line from its stdin, or
                          * NULL */
    const char *syslog;  /* a syslog socket, or NULL */
    uint64_t max_bytes;  /* limit of a user's folder */
    uint32_t limit_ms;   /* time limit of the command */
};
#define HISTORY_MAX_BYTES (UINT64_C(256) << 20)
#define HISTORY_LIMIT_MS 10000

/* Sends the line to each sink. Returns -1 and err if one of them did not
 * receive it. A folder receives a whole line or nothing. */
int history_sink_write(const struct history_sink *sink, const char *line,
                       size_t len, struct jp_error *err);

/* Checks that all users can write to the folder safely: it belongs to root or
 * the caller and has the sticky bit. Returns -1 and err otherwise. */
int history_sink_check(const char *dir, struct jp_error *err);

/* --- history_make.c ------------------------------------------------------- */

/* Makes the line of a step from its report and sends it to the sinks. The step
 * must belong to the calling user. Returns -1 and err on failure, also if there
 * is no report or the report is not of a job. */
int history_add(const struct history_sink *sink, const char *step_dir,
                struct jp_error *err);

/* --- limits of a user ------------------------------------------------------
 */

/* Lines are foreign input, and each user has a part of everything that reading
 * them takes. What goes beyond it is left out, and counted for this user. */
enum history_left {
    /* bytes that were not read, because of the limit of ... */
    HISTORY_LEFT_BYTES,
    HISTORY_LEFT_LINES,
    HISTORY_LEFT_TIME, /* milliseconds of processor time */
    /* folders and files of a wrong owner or kind */
    HISTORY_LEFT_FILES,
    /* names, counted as "(other)" */
    HISTORY_LEFT_USERS,
    HISTORY_LEFT_CLAIMS, /* accounts that are not the user's */
    HISTORY_LEFT_ACCOUNTS,
    HISTORY_LEFT_TEXTS, /* of jobs, and causes */
    /* left out */
    HISTORY_LEFT_NODES,
    HISTORY_LEFT_LISTS,
    HISTORY_LEFT_PLACES, /* nodes of all lists */
    HISTORY_LEFT_VISITS, /* nodes of the lists of all steps */
    HISTORY_LEFT_VOTES,
    HISTORY_LEFT_RANKS,
    HISTORY_LEFT_PAIRS,
    HISTORY_LEFT_ROWS, /* of the table of jobs */
    HISTORY_LEFTS
};

/* user: limit of one user. all: limit of all; if users together want more,
 * those who want little get it, and the others equal parts of the rest. */
struct history_limit {
    const char *word; /* for JSON */
    const char *text; /* "accounts counted as (other)" */
    uint64_t user, all;
};
extern const struct history_limit history_limits[HISTORY_LEFTS];

/* The part of the next of `users` users: his limit, or his part of what is left
 * of the limit of all. */
uint64_t history_part(enum history_left what, uint64_t left, size_t users);

/* --- history_read.c ------------------------------------------------------- */

/* Counts of what was read and what was not. */
struct history_seen {
    uint64_t users, files, bytes;
    uint64_t lines;      /* valid lines */
    uint64_t repeated;   /* lines of a step that a newer line has described */
    uint64_t bad_lines;  /* skipped; not one that is being written */
    uint64_t unreadable; /* folders and files without read permission */
    uint64_t strangers;  /* folders and files that are not as required: another
                          * user's, a link, a device */
    uint64_t cut;        /* users of whom only the newest part was read */
};

/* Stands for all uids without a name, which share the part of one user. */
#define HISTORY_NAMELESS (-2)

struct history_reader {
    /* Called for each step, which is borrowed for the call. uid: owner of the
     * user's folder; -1: the file was given by name. A non-zero result ends the
     * reading and becomes its result. */
    int (*see)(void *arg, const struct history_step *step, int64_t uid);
    /* Called before the lines of a user, of whom `users` are left, with him;
     * uid: HISTORY_NAMELESS once for all of these. May be NULL. A non-zero
     * result as above. */
    int (*begin)(void *arg, int64_t uid, size_t users);
    /* Called for what was left out of a user. May be NULL. */
    void (*leave)(void *arg, int64_t uid, enum history_left what, uint64_t n);
    /* Receives a message about a bad line or file, one per file. May be
     * NULL. */
    void (*say)(void *arg, const char *text);
    void *arg;
    uint64_t since_us;  /* skip files last written before this time */
    uint64_t max_bytes; /* limit per user; 0: that of history_limits */
};

/* Reads lines, newest first; of users, those with few bytes first. path: a
 * sink's folder, one user's folder in it, or a file of lines. Returns 0, the
 * non-zero result of see, or -1 and err if path cannot be read. Unreadable
 * folders within a sink are only counted. */
int history_read(const char *path, const struct history_reader *reader,
                 struct history_seen *seen, struct jp_error *err);

#endif
