/* jsonload.h - the only way from foreign JSON to a tree of jansson's.
 *
 * One table defines how large a file of each kind may be and how much memory
 * its tree may take. With these limits, no command takes more than 200 MB for
 * any input (tests/report/hostile_json.test); contrib/checks/style.test finds
 * readers that bypass them. The functions are in the header, so that common/
 * does not need jansson.
 */
#ifndef JP_COMMON_JSONLOAD_H
#define JP_COMMON_JSONLOAD_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* --- jsonscan.c --------------------------------------------------------- */

/* Examines JSON before a parser makes a tree of it.
 *
 * A tree takes up to ninety times the bytes of its text ("[{},{},..."), so a
 * limit of the file's size is not enough. These functions compute the size of
 * the tree as jansson 2.14 and glibc allocate it, and remove members that are
 * not needed. They do not check that the text is JSON: the parser does.
 */

/* Limit of nesting: jobprof writes nothing deeper. */
#define JSONSCAN_DEPTH 32
/* Limit of a string: jobprof writes nothing longer, and a parser makes copies
 * of a string while it grows. */
#define JSONSCAN_TEXT_MAX (1024 * 1024)

/* Computes the bytes that a tree of the text takes, rounded up. -1: the text is
 * nested too deeply, has too long a string, or would take more than max. */
int jsonscan_cost(const char *text, size_t len, size_t max, size_t *cost,
                  struct jp_error *err);

/* Removes the members named in drop (NULL ends) from the outermost object, in
 * place. Returns the new length. A text that is not an object stays. */
size_t jsonscan_drop(char *text, size_t len, const char *const *drop);

enum jsonload_kind {
    JSONLOAD_SUMMARY,  /* all of a summary.json */
    JSONLOAD_CARD,     /* without its long tables; compare has two of them */
    JSONLOAD_JOB,      /* job.json */
    JSONLOAD_BASELINE, /* of jobprof baseline */
    JSONLOAD_NODE,     /* node.json */
    JSONLOAD_MANIFEST, /* of a node's files */
    JSONLOAD_HARDWARE, /* hardware.json */
    JSONLOAD_SETTINGS, /* another program's settings */
    JSONLOAD_EVIDENCE, /* of a hang, on a node */
    JSONLOAD_RAS,      /* NCCL's answer */
    JSONLOAD_TRIAL,    /* trial.json */
    JSONLOAD_FLIGHT,   /* a dump of PyTorch's Flight Recorder */
    JSONLOAD_BULK,     /* a server's answer to an upload */
    JSONLOAD_ELASTIC,  /* a worker's own error, of torchelastic */
    JSONLOAD_LINE      /* of ranks.jsonl, starts.jsonl, tasks.jsonl */
};

#define JSONLOAD_MB (1024UL * 1024)

static const struct jsonload_limit {
    size_t bytes; /* of the text */
    size_t cost;  /* of the tree, see jsonscan_cost */
} jsonload_limits[] = {
    /* 1,024 ranks in 1,161 communicators: 4.2 MB, and 41 MB of tree; 15,000
     * communicators are the most that fit (540 bytes each, the other tables end
     * at 10,000 rows) */
    [JSONLOAD_SUMMARY] = {48 * JSONLOAD_MB, 128 * JSONLOAD_MB},
    /* the same without comms, ranks, windows, busy: 15 KB, and 152 KB of tree;
     * 100,000 communicators fit */
    [JSONLOAD_CARD] = {64 * JSONLOAD_MB, 48 * JSONLOAD_MB},
    /* 600 bytes a step, 10,000 steps at most; it only saves reading */
    [JSONLOAD_JOB] = {8 * JSONLOAD_MB, 64 * JSONLOAD_MB},
    /* 400 bytes a cell and 20 a report: 20,000 and 100,000 at most */
    [JSONLOAD_BASELINE] = {16 * JSONLOAD_MB, 128 * JSONLOAD_MB},
    /* a few hundred bytes */
    [JSONLOAD_NODE] = {1 * JSONLOAD_MB, 8 * JSONLOAD_MB},
    /* 100 bytes a file, 100,000 files at most */
    [JSONLOAD_MANIFEST] = {16 * JSONLOAD_MB, 96 * JSONLOAD_MB},
    /* 20 KB for 8 GPUs and adapters */
    [JSONLOAD_HARDWARE] = {4 * JSONLOAD_MB, 32 * JSONLOAD_MB},
    /* six members, and an editor's blanks */
    [JSONLOAD_SETTINGS] = {64 * 1024, 1 * JSONLOAD_MB},
    /* 16 processes of 512 threads: 1.5 MB */
    [JSONLOAD_EVIDENCE] = {8 * JSONLOAD_MB, 96 * JSONLOAD_MB},
    /* 556 bytes a rank of a communicator, 5,000 at most */
    [JSONLOAD_RAS] = {8 * JSONLOAD_MB, 96 * JSONLOAD_MB},
    /* 1 KB a run, 1,280 runs at most, and the command */
    [JSONLOAD_TRIAL] = {4 * JSONLOAD_MB, 64 * JSONLOAD_MB},
    /* 700 bytes an operation, 3 KB of tree: 2,000 by PyTorch's default, 20,000
     * at most; the copy that is read takes as much as the text */
    [JSONLOAD_FLIGHT] = {24 * JSONLOAD_MB, 80 * JSONLOAD_MB},
    /* 200 bytes for each of 5,000 documents; more if it reports errors */
    [JSONLOAD_BULK] = {16 * JSONLOAD_MB, 96 * JSONLOAD_MB},
    /* a call stack of some KiB */
    [JSONLOAD_ELASTIC] = {256 * 1024, 2 * JSONLOAD_MB},
    /* a few hundred bytes; variables make it longer */
    [JSONLOAD_LINE] = {256 * 1024, 8 * JSONLOAD_MB},
};

/* Parses text. Returns a tree (caller decrefs), or NULL and err, which begins
 * with name. flags are jansson's. why->line and ->column are the place of a
 * mistake, or 0 if the text was not parsed. */
static inline json_t *jsonload_at(enum jsonload_kind kind, const char *name,
                                  const char *text, size_t len, size_t flags,
                                  json_error_t *why, struct jp_error *err)
{
    const struct jsonload_limit *limit = &jsonload_limits[kind];
    json_t *root;
    size_t cost;

    why->line = 0;
    if (len > limit->bytes) {
        error_set(err, "%s: more than %zu KB", name, limit->bytes >> 10);
        return NULL;
    }
    if (jsonscan_cost(text, len, limit->cost, &cost, err) < 0) {
        error_wrap(err, "%s", name);
        return NULL;
    }
    root = json_loadb(text, len, flags, why);
    if (!root)
        error_set(err, "%s:%d: %s", name, why->line, why->text);
    return root;
}

static inline json_t *jsonload(enum jsonload_kind kind, const char *name,
                               const char *text, size_t len, size_t flags,
                               struct jp_error *err)
{
    json_error_t why;

    return jsonload_at(kind, name, text, len, flags, &why, err);
}

/* --- members of a tree -----------------------------------------------------
 *
 * Of an object, which may be NULL or something else: then it has no members. */

/* The text of a member, borrowed; "" if it is none. */
static inline const char *jsonload_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* The integer of a member; `otherwise` if it is none. */
static inline int64_t jsonload_int(const json_t *object, const char *key,
                                   int64_t otherwise)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* The same, if it is not negative. */
static inline uint64_t jsonload_count(const json_t *object, const char *key,
                                      uint64_t otherwise)
{
    int64_t n = jsonload_int(object, key, -1);

    return n >= 0 ? (uint64_t) n : otherwise;
}

#endif
