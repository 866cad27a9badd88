/* copper_notes.h - a daemon's side files: settings, start-up, its tree. */
#ifndef JP_PLUGINS_COPPER_NOTES_H
#define JP_PLUGINS_COPPER_NOTES_H

#include "plugins/copper/copper_stream.h"

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
 * borrowed until the next call; 0: end; -1. Blank lines are passed over. */
int copper_book_next(struct copper_stream *stream, const char **host,
                     size_t *len, struct jp_error *err);

/* Children of a node in a tree of n nodes; the level of line i, from 0, filled
 * from left to right. */
unsigned copper_tree_fanout(uint64_t n);
unsigned copper_tree_level(uint64_t i, unsigned fanout);

#endif
