/* history.h - what the steps of a site were, a line of JSON each.
 *
 *     a report -> struct history_step -> a line in the sink      (who ran it)
 *     lines of all users -> struct history_step -> tables        (who asks)
 *
 * history_fields is the one table of what a line has: writer, reader, Parquet
 * file and the schema (docs/history.schema.json) go by it.
 *
 * history_line.c   the table; a line from a step, a step from a line
 * history_make.c   a step from a report
 * history_sink.c   a line to a folder, a command or syslog
 * history_read.c   all lines of a folder that others write to
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
    HISTORY_FINDINGS = 16, /* of a line, at most */
    HISTORY_NETS = 12,
    HISTORY_PAIRS = 32,
    HISTORY_LINE = 48 << 10, /* bytes of a line, at most: less than a pipe has
                                room for */
    HISTORY_LIST =
        16 << 10,      /* of its list of nodes; a longer one is left out */
    HISTORY_TEXT = 255 /* of each other text */
};

/* Not terminated; at is never NULL. Borrowed from the line or the summary. */
struct history_text {
    const char *at;
    uint32_t len;
};

/* Unknown: UINT64_MAX, NAN, a text of no length. */
struct history_finding {
    struct history_text kind, node, cause, coll;
    uint64_t rank; /* in the job */
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

struct history_step {
    uint64_t version, time_us, written_us, job, restart;
    struct history_text step, user, account, partition, name, nodelist;
    uint64_t nodes, tasks;
    struct history_text verdict;
    uint64_t judged; /* 0, 1: lateness was */
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
};

/* --- history_line.c -------------------------------------------------------
 */

enum history_kind {
    HISTORY_END, /* ends a table */
    HISTORY_WORD,
    HISTORY_COUNT,
    HISTORY_CLOCK, /* microseconds since 1970 */
    HISTORY_FLAG,
    HISTORY_REAL,
    HISTORY_ROWS /* an array of objects */
};

/* One member of a line. A line leaves out what is not known. */
struct history_field {
    const char *key;
    enum history_kind kind;
    const char *unit; /* "" */
    const char *help;
    size_t at; /* in the struct */
    bool needed;
    /* HISTORY_ROWS: */
    const struct history_field *rows;
    size_t size, max, n_at; /* of a row; rows at most; where their number is */
};
extern const struct history_field history_fields[];

/* Nothing known, version HISTORY_VERSION. */
void history_step_init(struct history_step *step);

/* Writes the line, with its end. -1: it cannot be written. */
int history_line_put(const struct history_step *step, FILE *out,
                     struct jp_error *err);

/* Reads a line of len bytes without its end; what it needs of it is unescaped
 * in place and borrowed. Control characters become '?'. Members that this
 * release does not know are passed over. -1 and err, which names column and
 * value: not such a line. */
int history_line_parse(char *line, size_t len, struct history_step *step,
                       struct jp_error *err);

/* Texts as strings, harmless; buf holds HISTORY_TEXT + 1. Returns buf. */
const char *history_text_copy(struct history_text text, char *buf, size_t size);
#define HISTORY_SHOW(text)                                                     \
    history_text_copy((text), (char[HISTORY_TEXT + 1]){""}, HISTORY_TEXT + 1)

/* The table as JSON schema. */
int history_schema_put(FILE *out, struct jp_error *err);

/* --- history_make.c -------------------------------------------------------
 */

/* What a step's report says, as a line with its end. Caller frees *line. -1
 * and err; errno ENODATA: there is no report, or it is not of a job. */
int history_make(const char *step_dir, char **line, size_t *len,
                 struct jp_error *err);

/* --- history_sink.c -------------------------------------------------------
 */

struct history_sink {
    const char *dir;     /* folder of all users' folders; NULL: none */
    const char *command; /* a program that takes a line on its input, or NULL */
    const char *syslog;  /* a socket of syslog's, or NULL */
    uint64_t max_bytes;  /* of a user's folder */
    uint32_t limit_ms;   /* of the command */
};
#define HISTORY_MAX_BYTES (UINT64_C(256) << 20)
#define HISTORY_LIMIT_MS 10000

/* The line goes to each of them. -1 and err: one of them has not got it. A
 * line in a folder is whole or not there. */
int history_sink_write(const struct history_sink *sink, const char *line,
                       size_t len, struct jp_error *err);

/* Whether all users may write to the folder safely: root's, or the caller's,
 * sticky. */
int history_sink_check(const char *dir, struct jp_error *err);

/* --- history_read.c -------------------------------------------------------
 */

/* What was read, and what was not. */
struct history_seen {
    uint64_t users, files, bytes;
    uint64_t lines;      /* that were good */
    uint64_t repeated;   /* of a step that was there already */
    uint64_t bad_lines;  /* passed over */
    uint64_t unreadable; /* folders and files that we may not read */
    uint64_t strangers;  /* folders and files that are not what they must be:
                            another user's, a link, a device */
    uint64_t cut;        /* users and files of which only the newest part was
                            read */
};

struct history_reader {
    /* Borrowed for the call. uid: whose folder it stands in, -1 of a file that
     * was named. Not 0 ends the reading, and is its result. */
    int (*see)(void *arg, const struct history_step *step, int64_t uid);
    /* A bad line or file, in words; may be NULL. Of each file the first. */
    void (*say)(void *arg, const char *text);
    void *arg;
    uint64_t since_us;  /* files that were last written before are passed by */
    uint64_t max_bytes; /* of one user */
};

/* path: a sink's folder, a user's folder in it, or a file of lines. Newest
 * lines first. 0, what see gave, or -1 and err: path cannot be read. Of a sink
 * the folders that cannot be read are only counted. */
int history_read(const char *path, const struct history_reader *reader,
                 struct history_seen *seen, struct jp_error *err);

#endif
