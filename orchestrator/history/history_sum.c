/* history_sum.c - add up the steps of a site.
 *
 * history_sum_add takes one step: it finds the numbers of its names (text_id,
 * node_id, user_id, list_id), checks the selection, finds the job, and adds the
 * step to job, nodes, ranks, pairs and groups. Everything is kept in growing
 * arrays; hash tables find an element by its key.
 * history_tables.c computes the results at the end.
 *
 * A failed allocation sets s->failed, and all further calls return -1; so the
 * functions here need not report it one by one. */
#include "orchestrator/history/history_parts.h"

#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/vector.h"

#define DAY_S 86400.0
/* The name of what is not counted by its own name. */
#define OTHER "(other)"
/* Bytes of "user|account", and of the site's list of these. */
enum { RIGHT_BYTES = 2 * HISTORY_TEXT + 2, RIGHTS_BYTES = 64 << 20 };

/* The limits. A step of a report costs about 600 bytes, so 256 MiB hold 400,000
 * of them; no line of a report has less than 256. The memory of one user's
 * steps stays below 300 MB, that of all below 3 GB. */
const struct history_limit history_limits[HISTORY_LEFTS] = {
    [HISTORY_LEFT_BYTES] = {"unread_by_bytes",
                            "bytes not read (limit of bytes)", 1 << 30,
                            UINT64_C(64) << 30},
    [HISTORY_LEFT_LINES] = {"unread_by_lines",
                            "bytes not read (limit of lines)", 1000000,
                            10000000},
    [HISTORY_LEFT_TIME] = {"unread_by_time", "bytes not read (limit of time)",
                           60000, 1800000},
    [HISTORY_LEFT_FILES] = {"files",
                            "folders or files of a wrong owner or kind, or "
                            "beyond the limit of names",
                            0, 0},
    [HISTORY_LEFT_USERS] = {"users", "steps of users counted as (other)", 64,
                            10000},
    [HISTORY_LEFT_CLAIMS] = {"claims",
                             "steps of accounts that are not the user's", 0, 0},
    [HISTORY_LEFT_ACCOUNTS] = {"accounts",
                               "jobs of accounts counted as (other)", 16,
                               10000},
    [HISTORY_LEFT_TEXTS] = {"names", "names counted as (other)", 65536, 500000},
    [HISTORY_LEFT_NODES] = {"nodes", "nodes", 20000, 100000},
    [HISTORY_LEFT_LISTS] = {"node_lists", "lists of nodes", 200000, 2000000},
    [HISTORY_LEFT_PLACES] = {"list_nodes", "lists with too many nodes in all",
                             8 << 20, 64 << 20},
    [HISTORY_LEFT_VISITS] = {"step_nodes",
                             "nodes of steps with too many nodes in all",
                             1000000000, UINT64_C(20000000000)},
    [HISTORY_LEFT_VOTES] = {"votes", "findings beyond a job's or the limit",
                            1000000, 8000000},
    [HISTORY_LEFT_RANKS] = {"ranks", "findings of further ranks", 50000,
                            400000},
    [HISTORY_LEFT_PAIRS] = {"pairs", "bandwidths of further pairs of nodes",
                            50000, 400000},
    [HISTORY_LEFT_ROWS] = {"job_rows", "jobs that are not in the table of jobs",
                           10000, 400000},
};

uint64_t history_part(enum history_left what, uint64_t left, size_t users)
{
    uint64_t part = users ? left / users : left;

    return part < history_limits[what].user ? part : history_limits[what].user;
}

/* Verdicts, the worst first. The order is used to find a job's worst verdict.
 */
const char *const history_words[WORDS] = {"HANG",     "FAILED",     "SLOW",
                                          "DEGRADED", "INCOMPLETE", "NODATA",
                                          "UNJUDGED", "OK",         "other"};

/* The kinds of findings that a report can have. */
#define KIND(constant, word, ...) word,
static const char *const kinds[] = {JP_FINDING_KINDS(KIND)};
#undef KIND

/* Returns an element that has been added, or NULL: no memory, which is kept in
 * s->failed. */
static void *append_element(struct history_sum *s, void *element)
{
    s->failed |= !element;
    return element;
}

/* Appends a zeroed element; NULL without memory. */
#define APPEND(s, array)                                                       \
    append_element(s, VECTOR_ADD((s)->array.at, (s)->array.n, (s)->array.room))

/* Enters the last element of an array of n into its table. Returns false
 * without memory. */
static bool enter_element(struct history_sum *s, struct hash_table *table,
                          uint64_t hash, size_t n)
{
    bool entered = n < HASH_NONE &&
                   hash_add(table, hash, (uint32_t) (n - 1)) == 0;

    s->failed |= !entered;
    return entered;
}

/* --- limits --------------------------------------------------------------- */

/* What the user may still have. */
static uint64_t may_have(const struct history_sum *s, enum history_left what)
{
    return s->limit->may[what] < s->all[what] ? s->limit->may[what]
                                              : s->all[what];
}

/* Takes n of the user's part. Returns false if it is used up, and counts what
 * is left out then. */
static bool take_part(struct history_sum *s, enum history_left what, uint64_t n)
{
    if (may_have(s, what) < n) {
        s->limit->left[what]++;
        return false;
    }
    s->limit->may[what] -= n;
    s->all[what] -= n;
    return true;
}

/* Returns the number of a text, which is added if the user may have one more.
 * HISTORY_NO_NAME: empty, beyond the user's limit (which is counted), or no
 * memory. */
static uint32_t put_name(struct history_sum *s, struct history_names *names,
                         struct history_text text, enum history_left what)
{
    uint64_t may = may_have(s, what), before = may;
    uint32_t id = history_names_put(names, text, &may, &s->failed);

    s->limit->may[what] -= before - may;
    s->all[what] -= before - may;
    s->limit->left[what] += id == HISTORY_NO_NAME && text.len && !s->failed;
    return id;
}

/* --- names ---------------------------------------------------------------- */

/* Returns the number of a text; "(other)" beyond the user's limit.
 * HISTORY_NO_NAME: empty, or no memory. */
static uint32_t text_id(struct history_sum *s, struct history_text text)
{
    uint32_t id = put_name(s, &s->texts, text, HISTORY_LEFT_TEXTS);

    return id == HISTORY_NO_NAME && text.len ? s->other_text : id;
}

/* Returns the number of a node, and makes sure that nodes has an element for
 * it. */
static uint32_t node_id(struct history_sum *s, struct history_text name)
{
    uint32_t id = put_name(s, &s->node_names, name, HISTORY_LEFT_NODES);

    /* empty, or beyond the user's limit */
    if (id == HISTORY_NO_NAME)
        return id;
    while (s->nodes.n <= id && !s->failed) {
        struct node *node = APPEND(s, nodes);

        if (node)
            node->cause = HISTORY_NO_NAME;
    }
    return s->failed ? HISTORY_NO_NAME : id;
}

/* Makes sure that a user has limits and sums. */
static void reserve_user(struct history_sum *s, uint32_t id)
{
    while (!s->failed && s->limits.n <= id) {
        struct user *u = APPEND(s, limits);

        /* in a file, nobody knows how many users there are: each one leaves
         * most of the rest to the next ones */
        for (int i = 0; u && i < HISTORY_LEFTS; i++)
            u->may[i] = history_part((enum history_left) i, s->all[i], 4);
    }
    while (!s->failed && s->by_user.n <= id)
        APPEND(s, by_user);
}

/* Adds the name of a user. `may`: how many may be added. */
static uint32_t put_user(struct history_sum *s, struct history_text name,
                         uint64_t may)
{
    uint32_t id = history_names_put(&s->users, name, &may, &s->failed);

    if (id != HISTORY_NO_NAME)
        reserve_user(s, id);
    return id;
}

/* The user who is charged for what belongs to a uid of a sink. */
static uint32_t payer_id(struct history_sum *s, int64_t uid)
{
    const struct passwd *pw = uid >= 0 ? getpwuid((uid_t) uid) : NULL;
    char number[32];

    snprintf(number, sizeof(number), "%lld", (long long) uid);
    return put_user(s,
                    history_as_text(pw                        ? pw->pw_name
                                    : uid == HISTORY_NAMELESS ? "(nameless)"
                                    : uid < 0                 ? "(file)"
                                                              : number),
                    1);
}

/* Returns the user's number. A folder's owner takes precedence over the text of
 * the line, which the user can write at will. */
static uint32_t user_id(struct history_sum *s, const struct history_step *step,
                        int64_t uid)
{
    struct history_text name = step->user;
    const struct passwd *pw;
    char number[32];
    uint32_t id;

    /* the lines of one folder follow each other, and a directory service is
     * slow */
    if (uid >= 0 && uid == s->uid)
        return s->uid_user;
    if (uid >= 0) {
        pw = getpwuid((uid_t) uid);
        snprintf(number, sizeof(number), "%lld", (long long) uid);
        name = history_as_text(pw ? pw->pw_name : number);
    } else if (!name.len) {
        name = history_as_text("unknown");
    }
    /* a user of a sink who is charged himself is there already */
    id = put_user(s, name, 0);
    if (id == HISTORY_NO_NAME && !s->failed) {
        bool charged = uid >= 0 && s->payer != HISTORY_NO_NAME;

        /* a user may have many uids without a name */
        s->limit = &s->limits.at[charged ? s->payer : s->other_user];
        /* in a file anybody may have any name, and only their number is
         * limited */
        if (!charged)
            s->limit->may[HISTORY_LEFT_USERS] = s->all[HISTORY_LEFT_USERS];
        id = take_part(s, HISTORY_LEFT_USERS, 1) ? put_user(s, name, 1)
                                                 : s->other_user;
    }
    if (uid >= 0) {
        s->uid = uid;
        s->uid_user = id;
    }
    return id;
}

/* Adds a node to the list that is being read. A callback of history_nodes_each.
 */
static int put_place(void *arg, struct history_text name)
{
    struct history_sum *s = arg;
    uint32_t id = node_id(s, name), *place;

    if (id == HISTORY_NO_NAME || !take_part(s, HISTORY_LEFT_PLACES, 1))
        return 1;
    place = APPEND(s, places);
    if (place)
        *place = id;
    return !place;
}

/* The number of a node list; HISTORY_NO_NAME: unusable. */
static uint32_t list_id(struct history_sum *s, struct history_text text)
{
    uint32_t id = put_name(s, &s->lists_seen, text, HISTORY_LEFT_LISTS);
    struct list *list;

    if (id == HISTORY_NO_NAME)
        return id;
    /* a new list: expand it once */
    if (id == s->lists.n) {
        list = APPEND(s, lists);
        if (!list)
            return HISTORY_NO_NAME;
        list->at = s->places.n;
        if (history_nodes_each(text, put_place, s) != 0)
            s->places.n = list->at; /* drop an incomplete list */
        list->n = (uint32_t) (s->places.n - list->at);
    }
    return !s->failed && s->lists.at[id].n ? id : HISTORY_NO_NAME;
}

/* --- the selection -------------------------------------------------------- */

/* Whether the step is selected. */
static bool is_wanted(struct history_sum *s, const struct history_step *step,
                      uint32_t user, uint32_t list)
{
    const struct history_want *w = s->want;
    uint32_t n, wanted;
    const uint32_t *at;

    if (step->time_us < w->since_us)
        return false;
    if (w->user && strcmp(history_names_at(&s->users, user), w->user) != 0)
        return false;
    if (w->account && (s->account.len != strlen(w->account) ||
                       memcmp(s->account.at, w->account, s->account.len) != 0))
        return false;
    if (!w->node)
        return true;
    wanted = history_names_put(&s->node_names, history_as_text(w->node), NULL,
                               &s->failed);
    at = places_of(s, list, &n);
    for (uint32_t i = 0; i < n; i++)
        if (at[i] == wanted)
            return true;
    return false;
}

/* --- a step --------------------------------------------------------------- */

/* Finds the step's job, or adds it. */
static struct job *find_job(struct history_sum *s, uint32_t user,
                            uint64_t number)
{
    uint64_t hash = hash_word(hash_word(hash_start(), user), number);
    struct job *job;
    uint32_t at;

    for (size_t i = 0;
         (at = hash_next(&s->job_table, hash, &i)) != HASH_NONE;) {
        job = &s->jobs.at[at];
        if (job->user == user && job->number == number)
            return job;
    }
    job = APPEND(s, jobs);
    if (!job || !enter_element(s, &s->job_table, hash, s->jobs.n))
        return NULL;
    *job = (struct job){.number = number,
                        .user = user,
                        .list = HISTORY_NO_NAME,
                        .word = WORDS - 1};
    return job;
}

/* Returns the job's vote for the node, added if it is new. A job has few nodes
 * with votes, so a list is enough. NULL: beyond a limit, or no memory. */
static struct vote *find_vote(struct history_sum *s, struct job *job,
                              uint32_t node)
{
    struct vote *vote;

    for (uint32_t i = job->votes; i; i = s->votes.at[i - 1].next)
        if (s->votes.at[i - 1].node == node)
            return &s->votes.at[i - 1];
    if (job->n_votes == JOB_VOTES) {
        s->limit->left[HISTORY_LEFT_VOTES]++;
        return NULL;
    }
    vote = take_part(s, HISTORY_LEFT_VOTES, 1) ? APPEND(s, votes) : NULL;
    if (!vote)
        return NULL;
    job->n_votes++;
    vote->node = node;
    vote->next = job->votes;
    job->votes = (uint32_t) s->votes.n;
    return vote;
}

/* Whether the text is the word. */
static bool is(struct history_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

/* Whether a finding of this kind means that others waited for a node. */
static bool is_late(struct history_text kind)
{
    return is(kind, "late_rank") || is(kind, "late_node") || is(kind, "stall");
}

/* Adds a finding to its rank. Ranks are counted by user and job name, because
 * job numbers differ from run to run. */
static void add_rank(struct history_sum *s, const struct history_step *step,
                     const struct history_finding *f, const struct rank *key)
{
    uint64_t hash = hash_word(
        hash_word(hash_word(hash_start(), key->user), key->name), key->rank);
    struct rank *r = NULL;
    uint32_t at;

    for (size_t i = 0;
         (at = hash_next(&s->rank_table, hash, &i)) != HASH_NONE;) {
        r = &s->ranks.at[at];
        if (r->user == key->user && r->name == key->name &&
            r->rank == key->rank)
            break;
        r = NULL;
    }
    if (!r) {
        r = take_part(s, HISTORY_LEFT_RANKS, 1) ? APPEND(s, ranks) : NULL;
        if (!r || !enter_element(s, &s->rank_table, hash, s->ranks.n))
            return;
        *r = *key;
    }
    r->steps++;
    r->wait_s += isfinite(f->wait_s) ? f->wait_s : 0;
    /* lines come in any order */
    if (step->time_us >= r->time_us) {
        r->time_us = step->time_us;
        r->node = key->node;
    }
}

/* Updates the majority cause of the findings (Boyer and Moore's algorithm). */
static void add_cause(struct node *node, uint32_t cause)
{
    if (cause == HISTORY_NO_NAME)
        return;
    if (!node->cause_n)
        node->cause = cause;
    node->cause_n += node->cause == cause ? 1 : (uint64_t) -1;
}

/* Returns the number of a kind of finding; the last one stands for all kinds
 * that a report does not have. */
static uint32_t kind_id(struct history_sum *s, struct history_text kind)
{
    uint32_t id = history_names_put(&s->kinds, kind, NULL, &s->failed);

    return id < KINDS ? id : KINDS - 1;
}

/* Adds a finding to its node, rank and job. told: nodes + 1 that this step has
 * counted already. */
static void add_finding(struct history_sum *s, const struct history_step *step,
                        const struct history_finding *f, struct job *job,
                        uint64_t *told)
{
    uint32_t id = node_id(s, f->node);
    bool late = is_late(f->kind);
    struct node *node;
    struct vote *vote;

    if (late && f->rank != UINT64_MAX)
        add_rank(s, step, f,
                 &(struct rank){.user = job->user,
                                .name = job->name,
                                .node = id,
                                .rank = f->rank});
    if (id == HISTORY_NO_NAME || s->failed)
        return;
    node = &s->nodes.at[id];
    node->kinds[kind_id(s, f->kind)]++;
    if (!late)
        return;
    add_cause(node, text_id(s, f->cause));
    node->wait_s += isfinite(f->wait_s) ? f->wait_s : 0;
    node->last_us = step->time_us > node->last_us ? step->time_us
                                                  : node->last_us;
    vote = find_vote(s, job, id);
    if (!vote)
        return;
    vote->wait_s += isfinite(f->wait_s) ? (float) f->wait_s : 0;
    /* several findings of one step count as one step */
    for (size_t i = 0; i < HISTORY_FINDINGS; i++)
        if (told[i] == id + 1ULL) {
            return;
        } else if (!told[i]) {
            told[i] = id + 1ULL;
            vote->steps++;
            node->late_steps++;
            return;
        }
}

/* Adds the bandwidth of a pair of nodes: sums for a straight line over time, in
 * days. The offset keeps the squares small. */
static void add_pair(struct history_sum *s, const struct history_step *step,
                     const struct history_pair *p)
{
    uint32_t from = node_id(s, p->from), to = node_id(s, p->to);
    double t = (double) (step->time_us / 1000000) / DAY_S - 20000;
    uint64_t hash = hash_word(hash_word(hash_start(), from), to);
    struct pair *pair = NULL;
    uint32_t at;

    if (from == HISTORY_NO_NAME || to == HISTORY_NO_NAME || !(p->busbw_gbs > 0))
        return;
    for (size_t i = 0;
         (at = hash_next(&s->pair_table, hash, &i)) != HASH_NONE;) {
        pair = &s->pairs.at[at];
        if (pair->from == from && pair->to == to)
            break;
        pair = NULL;
    }
    if (!pair) {
        pair = take_part(s, HISTORY_LEFT_PAIRS, 1) ? APPEND(s, pairs) : NULL;
        if (!pair || !enter_element(s, &s->pair_table, hash, s->pairs.n))
            return;
        *pair = (struct pair){.from = from, .to = to, .first = t, .last = t};
    }
    pair->n++;
    pair->t += t;
    pair->g += p->busbw_gbs;
    pair->tt += t * t;
    pair->tg += t * p->busbw_gbs;
    pair->gg += p->busbw_gbs * p->busbw_gbs;
    pair->first = fmin(pair->first, t);
    pair->last = fmax(pair->last, t);
}

/* Returns the index of the verdict; the last one for unknown words. */
static unsigned word_of(struct history_text verdict)
{
    unsigned i = 0;

    while (i < WORDS - 1 && !is(verdict, history_words[i]))
        i++;
    return i;
}

/* Counts a user of an account or a node; the steps of a user follow each
 * other. */
static void count_user(uint32_t user, uint32_t *n_users, uint32_t *last_user)
{
    *n_users += *last_user != user + 1;
    *last_user = user + 1;
}

/* Adds the step to the totals of a user or an account. */
static void add_group(struct group *g, const struct history_step *step,
                      uint32_t user, bool new_job)
{
    count_user(user, &g->n_users, &g->last_user);
    g->steps++;
    g->jobs += new_job;
    g->words[word_of(step->verdict)]++;
    g->wait_s += isfinite(step->wait_s) ? step->wait_s : 0;
    if (isfinite(step->gpu_busy) && step->gpu_s > 0) {
        g->gpu_s += step->gpu_s;
        /* weighted by GPU time */
        g->busy_s += step->gpu_busy * step->gpu_s;
    }
    if (isfinite(step->gpu_busy_max))
        g->busy_max = fmax(g->busy_max, step->gpu_busy_max);
}

/* Keeps the longest list: steps may run on parts of the job's nodes. */
static void add_list(const struct history_sum *s, struct job *job,
                     uint32_t list)
{
    uint32_t n, have;

    places_of(s, list, &n);
    places_of(s, job->list, &have);
    if (n > have)
        job->list = list;
}

/* Adds the step to its job. */
static void add_job(struct history_sum *s, const struct history_step *step,
                    struct job *job, uint32_t list)
{
    unsigned word = word_of(step->verdict);

    /* the first step names the job */
    if (!job->steps++) {
        job->account =
            put_name(s, &s->accounts, s->account, HISTORY_LEFT_ACCOUNTS);
        if (job->account == HISTORY_NO_NAME && s->account.len)
            job->account = s->other_account;
        job->name = text_id(s, step->name);
        job->time_us = step->time_us;
        job->word = (uint8_t) word;
    }
    job->time_us = step->time_us < job->time_us ? step->time_us : job->time_us;
    job->word = word < job->word ? (uint8_t) word : job->word;
    job->wait_s += isfinite(step->wait_s) ? step->wait_s : 0;
    job->judged += step->judged == 1;
    add_list(s, job, list);
}

/* The text of a user's right to an account, as in the site's list. */
static struct history_text right_text(const char *user, size_t len,
                                      struct history_text account,
                                      char buf[RIGHT_BYTES])
{
    int n = snprintf(buf, RIGHT_BYTES, "%.*s|%.*s", (int) len, user,
                     (int) account.len, account.at);

    return (struct history_text){buf, n < RIGHT_BYTES ? (uint32_t) n : 0};
}

/* The account that the step counts for: that of its line, unless the site says
 * that the owner of the file has no right to it. */
static struct history_text account_of(struct history_sum *s,
                                      const struct history_step *step,
                                      int64_t uid, uint32_t user)
{
    const char *name = history_names_at(&s->users, user);
    char buf[RIGHT_BYTES];
    struct history_text right =
        right_text(name, strlen(name), step->account, buf);

    if (!s->rights.n || uid < 0 || !step->account.len ||
        history_names_put(&s->rights, right, NULL, &s->failed) !=
            HISTORY_NO_NAME)
        return step->account;
    s->limit->left[HISTORY_LEFT_CLAIMS]++;
    return (struct history_text){OTHER, sizeof(OTHER) - 1};
}

int history_sum_accounts(struct history_sum *s, const char *path,
                         struct jp_error *err)
{
    int fd = fileio_open_regular(path, true, err), rc = -1;
    uint64_t may = UINT64_MAX;
    char *text = NULL, *line, *end, *bar;

    if (fd < 0)
        return -1;
    s->rights.no_texts = true;
    if (ownplace_check_site(fd, path, err) == 0 &&
        fileio_read_fd(fd, path, RIGHTS_BYTES, &text, NULL, err) == 0)
        rc = 0;
    for (line = text; rc == 0 && *line; line = end) {
        struct history_text account;
        char buf[RIGHT_BYTES];

        end = line + strcspn(line, "\n");
        bar = memchr(line, '|', (size_t) (end - line));
        if (bar && bar > line) {
            /* sacctmgr may end a line with another bar */
            account.at = bar + 1;
            account.len = (uint32_t) strcspn(bar + 1, "|\n");
            history_names_put(
                &s->rights,
                right_text(line, (size_t) (bar - line), account, buf), &may,
                &s->failed);
        }
        end += *end == '\n';
    }
    /* an empty list would let everybody claim everything */
    if (rc == 0 && !s->rights.n)
        rc = error_set(err, "%s: no line of the form user|account", path);
    if (rc == 0 && s->failed)
        rc = error_set(err, "out of memory");
    free(text);
    close(fd);
    return rc;
}

int history_sum_add(struct history_sum *s, const struct history_step *step,
                    int64_t uid)
{
    uint32_t user = user_id(s, step, uid), list, n, account;
    uint64_t told[HISTORY_FINDINGS] = {0};
    const uint32_t *at;
    struct job *job;
    bool is_new;

    if (s->failed)
        return -1;
    s->limit =
        &s->limits.at[uid < 0 || s->payer == HISTORY_NO_NAME ? user : s->payer];
    s->last_user = user;
    s->account = account_of(s, step, uid, user);
    list = list_id(s, step->nodelist);
    if (s->failed || !is_wanted(s, step, user, list))
        return s->failed ? -1 : 0;
    /* from here on the step counts; its nodes are visited now and for the
     * votes */
    places_of(s, list, &n);
    if (n && !take_part(s, HISTORY_LEFT_VISITS, n))
        list = HISTORY_NO_NAME;
    job = find_job(s, user, step->job);
    if (!job)
        return -1;
    is_new = !job->steps;
    add_job(s, step, job, list);
    s->totals.steps++;
    s->totals.judged += step->judged == 1;
    s->totals.unlisted += list == HISTORY_NO_NAME;
    if (!s->totals.from_us || step->time_us < s->totals.from_us)
        s->totals.from_us = step->time_us;
    if (step->time_us > s->totals.to_us)
        s->totals.to_us = step->time_us;
    at = places_of(s, list, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct node *node = &s->nodes.at[at[i]];

        node->steps++;
        count_user(user, &node->n_users, &node->last_user);
    }
    for (size_t i = 0; i < step->n_findings && !s->failed; i++)
        add_finding(s, step, &step->findings[i], job, told);
    for (size_t i = 0; i < step->n_pairs && !s->failed; i++)
        add_pair(s, step, &step->pairs[i]);
    /* group 0 has the steps without an account */
    account = job->account == HISTORY_NO_NAME ? 0 : job->account + 1;
    while (!s->failed && s->by_account.n <= account)
        APPEND(s, by_account);
    if (s->failed)
        return -1;
    add_group(&s->by_user.at[user], step, user, is_new);
    add_group(&s->by_account.at[account], step, user, is_new);
    return 1;
}

int history_sum_begin(struct history_sum *s, int64_t uid, size_t users)
{
    s->payer = payer_id(s, uid);
    /* the next step looks its user up */
    s->uid = -2;
    if (s->failed)
        return -1;
    for (int i = 0; i < HISTORY_LEFTS; i++)
        s->limits.at[s->payer].may[i] =
            history_part((enum history_left) i, s->all[i], users);
    return 0;
}

void history_sum_leave(struct history_sum *s, int64_t uid,
                       enum history_left what, uint64_t n)
{
    /* one user may have made a million entries, and a directory service is
     * slow */
    if (uid != s->left_uid) {
        s->left_user = payer_id(s, uid);
        s->left_uid = uid;
    }
    if (!s->failed)
        s->limits.at[s->left_user].left[what] += n;
}

/* --- access for other files ----------------------------------------------- */

struct history_sum *history_sum_create(const struct history_want *want)
{
    static const struct history_text other = {OTHER, sizeof(OTHER) - 1};
    struct history_sum *s = calloc(1, sizeof(*s));
    uint64_t may = UINT64_MAX;

    if (!s)
        return NULL;
    s->want = want;
    /* no user yet: -1 stands for a file given by name */
    s->uid = -2;
    s->left_uid = INT64_MIN;
    s->payer = HISTORY_NO_NAME;
    s->lists_seen.no_texts = true;
    for (int i = 0; i < HISTORY_LEFTS; i++)
        s->all[i] = history_limits[i].all;
    /* failures show at the first step */
    s->other_user = put_user(s, other, 1);
    s->other_account = history_names_put(&s->accounts, other, &may, &s->failed);
    s->other_text = history_names_put(&s->texts, other, &may, &s->failed);
    for (int i = 0; i < JP_N_FINDINGS; i++)
        history_names_put(&s->kinds, history_as_text(kinds[i]), &may,
                          &s->failed);
    return s;
}

void history_sum_destroy(struct history_sum *s)
{
    if (!s)
        return;
    history_names_fini(&s->texts);
    history_names_fini(&s->users);
    history_names_fini(&s->accounts);
    history_names_fini(&s->node_names);
    history_names_fini(&s->lists_seen);
    history_names_fini(&s->kinds);
    history_names_fini(&s->rights);
    free(s->nodes.at);
    free(s->lists.at);
    free(s->places.at);
    free(s->votes.at);
    free(s->jobs.at);
    free(s->by_user.at);
    free(s->by_account.at);
    free(s->ranks.at);
    free(s->pairs.at);
    free(s->limits.at);
    hash_fini(&s->job_table);
    hash_fini(&s->rank_table);
    hash_fini(&s->pair_table);
    for (int i = 0; i < HISTORY_TOPS; i++)
        free(s->rows[i]);
    free(s);
}

const char *history_sum_user(const struct history_sum *s)
{
    return history_names_at(&s->users, s->last_user);
}

const struct history_totals *history_sum_totals(const struct history_sum *s)
{
    return &s->totals;
}

const uint64_t *history_sum_left(const struct history_sum *s, size_t user,
                                 const char **name)
{
    if (user >= s->limits.n)
        return NULL;
    *name = history_names_at(&s->users, (uint32_t) user);
    return s->limits.at[user].left;
}
