/* history_parts.h - the data that history_sum.c collects and history_tables.c
 * turns into tables, and the index of its strings. Private to these files.
 */
#ifndef JP_HISTORY_HISTORY_PARTS_H
#define JP_HISTORY_HISTORY_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include "orchestrator/history/history.h"
#include "orchestrator/history/history_sum.h"
#include "orchestrator/insight/finding.h"

/* --- strings and lists of nodes as numbers (history_index.c) ------------- */

/* For tables of millions of steps. The strings are foreign input. The amount
 * that one user may add is limited, so that no user can exhaust the memory at
 * the expense of others. */

/* A set of strings; zero-initialised: empty. The number of a string is its
 * index. */
struct history_names {
    char *bytes; /* harmless copies, each ended by NUL */
    size_t n_bytes, room_bytes;
    struct history_name {
        uint64_t hash; /* of the original text */
        size_t at;
    } * names;
    struct hash_table table;
    size_t n, room;
    bool no_texts; /* texts are only compared, not kept */
};

#define HISTORY_NO_NAME UINT32_MAX

/* Returns the number of the text. Adds a missing text if *may is not 0, and
 * then decrements *may. may NULL: only looks it up. HISTORY_NO_NAME: not there,
 * or no memory (*failed). */
uint32_t history_names_put(struct history_names *names,
                           struct history_text text, uint64_t *may,
                           bool *failed);
const char *history_names_at(const struct history_names *names, uint32_t id);
void history_names_fini(struct history_names *names);

/* Calls see for each node of "n[1-3,7],gpu5" or "r[0-1]n[1-2]", at most
 * HISTORY_NODES_MOST. Returns 0, the non-zero result of see, or -1 if the text
 * is not a node list or has more nodes. */
enum { HISTORY_NODES_MOST = 16384 };
int history_nodes_each(struct history_text list,
                       int (*see)(void *arg, struct history_text node),
                       void *arg);

/* --- sums ---------------------------------------------------------------- */

enum {
    KINDS = JP_N_FINDINGS + 1, /* kinds of findings, plus one for others */
    WORDS = 9,                 /* verdict words, plus one for others */
    JOB_VOTES = 256,           /* nodes of a job that may get votes */
    /* series of metrics: nodes and accounts that are named */
    SERIES_NODES = 2000,
    SERIES_ACCOUNTS = 500
};

extern const char *const history_words[WORDS];

struct node {
    uint64_t steps, votes, trials, late_steps;
    double expected, wait_s;
    /* the part of these from the user whose jobs give most evidence against
     * it */
    uint64_t most_votes, most_trials;
    double most_expected;
    uint64_t kinds[KINDS];
    uint32_t n_voters;
    uint32_t n_users, last_user; /* users with steps on it; 1 + the last */
    bool is_slow, is_named;      /* named: it has a series of metrics */
    uint32_t cause;
    uint64_t cause_n, last_us;
};

struct list {
    size_t at; /* index in places */
    uint32_t n;
};

struct vote {
    uint32_t node, next; /* node: in the job; next: next vote of the job */
    float wait_s;
    uint32_t steps;
};

struct job {
    uint64_t number, time_us;
    double wait_s;
    /* votes: 1 + index of the first */
    uint32_t user, account, name, list, votes;
    uint32_t steps, judged;
    uint16_t n_votes;
    uint8_t word;
};

struct group { /* totals of a user or an account */
    uint64_t steps, jobs, words[WORDS];
    double wait_s, gpu_s, busy_s, busy_max;
    uint32_t n_users, last_user; /* as of a node */
    bool is_named;
};

struct rank {
    uint32_t user, name, node;
    uint64_t rank, steps, time_us;
    double wait_s;
};

struct pair {
    uint32_t from, to;
    double n, t, g, tt, tg, gg, first, last;
};

struct user {
    uint64_t may[HISTORY_LEFTS], left[HISTORY_LEFTS];
};

/* A growing array; the hash table finds elements in it. */
#define ARRAY(type)                                                            \
    struct {                                                                   \
        type *at;                                                              \
        size_t n, room;                                                        \
    }

struct history_sum {
    const struct history_want *want;
    struct history_names texts, users, accounts, node_names, lists_seen, kinds;
    struct history_names rights; /* "user|account"; empty: not known */
    struct history_text account; /* of the step that is being added */
    ARRAY(struct node) nodes;
    ARRAY(struct list) lists;
    ARRAY(uint32_t) places;
    ARRAY(struct vote) votes;
    ARRAY(struct job) jobs;
    ARRAY(struct group) by_user;
    ARRAY(struct group) by_account;
    ARRAY(struct rank) ranks;
    ARRAY(struct pair) pairs;
    ARRAY(struct user) limits; /* indexed by user */
    struct hash_table job_table, rank_table, pair_table;
    struct history_totals totals;
    struct history_row *rows[HISTORY_TOPS];
    size_t n_rows[HISTORY_TOPS];
    int64_t uid; /* owner of the last step */
    uint32_t uid_user, last_user;
    /* who is charged for the steps of a sink; HISTORY_NO_NAME: their user */
    uint32_t payer;
    int64_t left_uid; /* of the last call of history_sum_leave */
    uint32_t left_user;
    struct user *limit; /* limits of who is charged; borrowed for one step */
    uint64_t all[HISTORY_LEFTS]; /* what is left of the limits of all */
    uint32_t other_user, other_account, other_text;
    bool failed;
};

/* The nodes of a list; *n is their number. HISTORY_NO_NAME: no list. */
static inline const uint32_t *places_of(const struct history_sum *s,
                                        uint32_t list, uint32_t *n)
{
    if (list == HISTORY_NO_NAME) {
        *n = 0;
        return NULL;
    }
    *n = s->lists.at[list].n;
    return s->places.at + s->lists.at[list].at;
}

static inline struct history_text history_as_text(const char *text)
{
    return (struct history_text){text, (uint32_t) __builtin_strlen(text)};
}

#endif
