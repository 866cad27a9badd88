/* copper_notes.h - a daemon's side files: settings, start-up, its tree. */
#ifndef JP_PLUGINS_COPPER_NOTES_H
#define JP_PLUGINS_COPPER_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/copper/copper_counts.h"

/* How a daemon was started, from the head of *-profiling_summary.md or from
 * its log. Unknown numbers are -1. */
struct copper_settings {
    char mode[16];  /* "aggregate-only", "top-path", "full-path"; "" unknown */
    int64_t ttl_ms; /* how long an ENOENT is remembered */
    int64_t top_n;
    int full; /* 1 yes, 0 no, -1 unknown */
};

/* The bullets of a summary.md. -1: not one, or cut within them. */
int copper_summary_read(struct copper_stream *stream,
                        struct copper_settings *out, struct jp_error *err);

/* What <host>-<pid>-output.log says, at log level 4 and above; less: nothing.
 * Only its first COPPER_LOG_BYTES are read: start-up comes first, and a log
 * may hold a line for every failed lookup. */
#define COPPER_LOG_BYTES (1024 * 1024)
struct copper_log {
    int64_t start_us;        /* of the first line, local time without a zone;
                                -1: none */
    int64_t registration_us; /* until the provider stood; -1 as below */
    int64_t first_rpc_us;    /* until the parent first answered */
    int64_t parent_us;       /* until the parent was confirmed */
    int64_t probes;          /* that it took */
    bool timed_out;          /* waiting for the parent */
    int level;               /* in the tree, 0 is the root; -1 unknown */
    int64_t trees;           /* -trees; -1 unknown */
    struct copper_settings settings;
};
int copper_log_read(struct copper_stream *stream, struct copper_log *out,
                    struct jp_error *err);

/* Is this the beginning of a Copper daemon's log? */
bool copper_log_probe(const char *head, size_t len);

/* One host a line, "host address" or "host", in the tree's order. 1: *host is
 * borrowed until the next call; 0: end; -1. Blank lines are skipped. */
int copper_book_next(struct copper_stream *stream, const char **host,
                     size_t *len, struct jp_error *err);

/* Children of a node in a tree of n nodes; the level of line i, from 0, filled
 * from left to right. */
unsigned copper_tree_fanout(uint64_t n);
unsigned copper_tree_level(uint64_t i, unsigned fanout);

/* --- what a file of Copper's is, by its folder and name.
 *
 * Names are <host>-<pid>[-<tag>]-<kind>, the host may hold dashes and dots, so
 * a name is taken apart from its right end. Tagged files lie in a folder of the
 * tag's name, final ones in final/.
 */

enum copper_kind {
    COPPER_FILE_AGGREGATE,
    COPPER_FILE_OPERATIONS,
    COPPER_FILE_TOP,
    COPPER_FILE_SUMMARY,
    COPPER_FILE_TABLE_METADATA, /* in the order of enum copper_category */
    COPPER_FILE_TABLE_DATA,
    COPPER_FILE_TABLE_TREE,
    COPPER_FILE_TABLE_TTL,
    COPPER_FILE_DUMP_COUNT, /* in the order of enum copper_dump */
    COPPER_FILE_DUMP_TIME,
    COPPER_FILE_DUMP_HIT,
    COPPER_FILE_DUMP_MISS,
    COPPER_FILE_DUMP_NEG,
    COPPER_FILE_SIZE_DATA, /* cache sizes */
    COPPER_FILE_SIZE_TREE,
    COPPER_FILE_SIZE_METADATA,
    COPPER_FILE_LOG,
    COPPER_FILE_OTHER, /* Copper's, of no use here */
    COPPER_FILE_BOOK,  /* of the cluster, without host and pid */
    COPPER_FILE_NODES, /* likewise */
    COPPER_N_FILES
};

/* When the file was written, best source first. */
enum copper_tag {
    COPPER_TAG_FINAL,
    COPPER_TAG_PRE_DESTROY,
    COPPER_TAG_RUNTIME, /* runtime-snapshot; -N: the Nth copy of it */
    COPPER_TAG_IOCTL,
    COPPER_TAG_PRE_RESET,
    COPPER_TAG_BEFORE, /* dumps that were made before the step */
    COPPER_N_TAGS
};
extern const char *const copper_tag_names[COPPER_N_TAGS];

#define COPPER_HOST_MAX 256

struct copper_name {
    enum copper_kind kind;
    enum copper_tag tag;
    uint64_t copy; /* of a snapshot: N of the folder <tag>-N; 0 none */
    char host[COPPER_HOST_MAX];
    int64_t pid; /* 0 where there is none */
};

/* False: not Copper's. folder is the file's folder's name. */
bool copper_name_parse(const char *folder, const char *file,
                       struct copper_name *name);

#endif
