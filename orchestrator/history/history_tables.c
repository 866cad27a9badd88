/* history_tables.c - count votes, compute probabilities and make the tables.
 *
 * history_sum.h explains the test. The votes are counted user by user
 * (count_votes), because each user's jobs have habits of their own and no user
 * alone may make a node slow. Then each make_... fills and sorts the rows of
 * one table. The columns are described once, for text, JSON and the manual. */
#include "orchestrator/history/history_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- votes ---------------------------------------------------------------- */

double history_chance(uint64_t k, uint64_t n, double p)
{
    double term, sum, odds = p / (1 - p);

    /* without a chance no success is possible */
    if (k > n || !(p > 0))
        return k ? 0 : 1;
    /* below the mean + 1 the bound does not hold */
    if (!(p < 1) || (double) k < (double) n * p + 1)
        return 1;
    /* the probability of exactly k */
    term = exp(lgamma((double) n + 1) - lgamma((double) k + 1) -
               lgamma((double) (n - k) + 1) + (double) k * log(p) +
               (double) (n - k) * log1p(-p));
    sum = term;
    /* each further term by the ratio to the one before; they fall fast above
     * the mean */
    for (uint64_t i = k; i < n && term > sum * 1e-16; i++) {
        term *= (double) (n - i) / (double) (i + 1) * odds;
        sum += term;
    }
    return fmin(sum, 1);
}

/* Returns the vote of the job: the node that the others waited for longest, of
 * equal waits the one with more steps. NULL: no node waited. */
static const struct vote *winner(const struct history_sum *s,
                                 const struct job *job)
{
    const struct vote *best = NULL;

    for (uint32_t i = job->votes; i; i = s->votes.at[i - 1].next) {
        const struct vote *v = &s->votes.at[i - 1];

        if (!best || v->wait_s > best->wait_s ||
            (!(v->wait_s < best->wait_s) && v->steps > best->steps))
            best = v;
    }
    return best;
}

/* The nodes of a job that takes part in the vote. NULL: a job without a vote,
 * or with one node, is no evidence about its nodes. */
static const uint32_t *voting(const struct history_sum *s,
                              const struct job *job, uint32_t *n,
                              uint32_t *elected)
{
    const struct vote *best = winner(s, job);
    const uint32_t *at = places_of(s, job->list, n);

    for (uint32_t i = 0; best && *n > 1 && i < *n; i++)
        /* a vote for a node outside of the list is no evidence */
        if (at[i] == best->node) {
            *elected = best->node;
            return at;
        }
    return NULL;
}

/* The excess of votes for the first node in this user's jobs: rank 0 often has
 * more work. */
static double habit_of(const struct history_sum *s, const uint32_t *jobs,
                       size_t n_jobs)
{
    double votes = 0, first = 0, turn = 0;

    for (size_t i = 0; i < n_jobs; i++) {
        uint32_t n, elected;
        const uint32_t *at = voting(s, &s->jobs.at[jobs[i]], &n, &elected);

        /* a job without a vote */
        if (!at)
            continue;
        votes++;
        first += at[0] == elected;
        /* the votes that the first node would get if all nodes were alike */
        turn += 1.0 / n;
    }
    /* the + 1 keeps the habit of few jobs small */
    return fmax(first - turn, 0) / (votes - turn + 1);
}

/* Evidence from one user's jobs about a node. */
struct said {
    uint64_t votes, trials;
    double expected;
};

/* Adds it to the node and keeps the user with the most evidence against it. */
static void add_said(struct node *node, const struct said *said)
{
    node->votes += said->votes;
    node->trials += said->trials;
    node->expected += said->expected;
    node->n_voters += said->votes > 0;
    if (said->trials && (!node->most_trials ||
                         (double) said->votes - said->expected >
                             (double) node->most_votes - node->most_expected)) {
        node->most_votes = said->votes;
        node->most_trials = said->trials;
        node->most_expected = said->expected;
    }
}

/* Counts the votes of one user's jobs, whose indexes are in jobs. said: zeros
 * for each node, and zeros again afterwards. */
static void count_user(struct history_sum *s, const uint32_t *jobs,
                       size_t n_jobs, struct said *said)
{
    double habit = habit_of(s, jobs, n_jobs);
    uint32_t n, elected;
    const uint32_t *at;

    for (size_t i = 0; i < n_jobs; i++) {
        at = voting(s, &s->jobs.at[jobs[i]], &n, &elected);
        if (!at)
            continue;
        s->totals.votes++;
        for (uint32_t k = 0; k < n; k++) {
            said[at[k]].trials++;
            /* equal chances, and the habit on top for the first node */
            said[at[k]].expected += 1.0 / n + (k ? 0 : habit * (1 - 1.0 / n));
        }
        said[elected].votes++;
    }
    for (size_t i = 0; i < n_jobs; i++) {
        at = voting(s, &s->jobs.at[jobs[i]], &n, &elected);
        for (uint32_t k = 0; at && k < n; k++)
            if (said[at[k]].trials) {
                add_said(&s->nodes.at[at[k]], &said[at[k]]);
                said[at[k]] = (struct said){0};
            }
    }
}

/* Counts the votes of all users. Returns -1 without memory. */
static int count_votes(struct history_sum *s)
{
    size_t n_users = s->by_user.n;
    size_t *begin = calloc(n_users + 2, sizeof(*begin));
    uint32_t *jobs = calloc(s->jobs.n + 1, sizeof(*jobs));
    struct said *said = calloc(s->nodes.n + 1, sizeof(*said));
    int rc = begin && jobs && said ? 0 : -1;

    if (rc == 0) {
        /* a counting sort of the jobs by user: begin[u] becomes the first job
         * of user u */
        for (size_t i = 0; i < s->jobs.n; i++)
            begin[s->jobs.at[i].user + 2]++;
        for (size_t u = 1; u < n_users; u++)
            begin[u + 1] += begin[u];
        for (size_t i = 0; i < s->jobs.n; i++)
            jobs[begin[s->jobs.at[i].user + 1]++] = (uint32_t) i;
        for (size_t u = 0; u < n_users; u++)
            count_user(s, jobs + begin[u], begin[u + 1] - begin[u], said);
    }
    free(begin);
    free(jobs);
    free(said);
    return rc;
}

/* --- tables --------------------------------------------------------------- */

/* A flag in a row is a count. */
JP_GETTER(is_slow, history_row, value_bool(v, at->slow))

/* What a column shows of its row: a name (empty: unknown), a number, a time of
 * which 0 is none, a day (0: unknown) or a flag. */
#define NAME(member)                                                           \
    JP_FIELD(struct history_row, member), JP_IF(struct history_row, member),   \
        .none = "", .cut = 40
#define NUMBER(member) JP_FIELD(struct history_row, member)
#define SPENT(member) JP_FIELD(struct history_row, member), .zero = "-"
#define DAY(member)                                                            \
    JP_FIELD(struct history_row, member), JP_IF(struct history_row, member)
#define SLOW .get = get_is_slow, .zero = ""

/* The columns. The key is the name in JSON, the title the heading of the text;
 * the two numbers are their places there. */
/* clang-format off */
static const struct jp_column node_columns[] = {
    {"node", JP_COL_TEXT, 0, 1, 0, 1, "node", "Slurm's name", NAME(name)},
    {"slow", JP_COL_BOOL, 0, 2, 0, 2, "slow", "it makes others wait more often than chance explains, also without any single user", SLOW},
    {"late_jobs", JP_COL_COUNT, 0, 3, 0, 3, "late", "jobs in which the other nodes waited longest for it", NUMBER(late)},
    {"voting_jobs", JP_COL_COUNT, 0, 4, 0, 4, "of jobs", "its jobs in which nodes waited for any node", NUMBER(jobs)},
    {"expected", JP_COL_REAL, 0, 5, 0, 5, "expected", "late_jobs expected if all nodes were alike, and if first nodes were late as often as those of their users", NUMBER(expected)},
    {"chance", JP_COL_CHANCE, 0, 6, 0, 6, "chance", "probability that chance makes it late so often, corrected for the number of nodes", NUMBER(chance)},
    {"wait_s", JP_COL_SECONDS, 0, 7, 0, 7, "waited", "GPU time for which others waited for it", SPENT(wait_s)},
    {"late_steps", JP_COL_COUNT, 0, 8, 0, 8, "steps", "steps in which others waited for it", NUMBER(late_steps)},
    {"steps", JP_COL_COUNT, 0, 9, 0, 9, "of steps", "steps in which it took part", NUMBER(steps)},
    {"users", JP_COL_COUNT, 0, 10, 0, 10, "users", "users of the jobs in which it was late", NUMBER(users)},
    {"hangs", JP_COL_COUNT, 0, 11, 0, 11, "hangs", "findings of a hang on this node", NUMBER(hangs)},
    {"crashes", JP_COL_COUNT, 0, 12, 0, 12, "crashes", "tasks that died first on this node", NUMBER(crashes)},
    {"cause", JP_COL_TEXT, 0, 13, 0, 13, "cause", "cause that coincided most often", NAME(cause)},
    {"last_us", JP_COL_DATE, 0, 14, 0, 14, "last late", "start of the last step in which it was late", DAY(time_us)},
    {"note", JP_COL_TEXT, 0, 15, 0, 15, "", "reason why it is not called slow", NAME(note)},
};
static const struct jp_column rank_columns[] = {
    {"user", JP_COL_TEXT, 0, 1, 0, 1, "user", "user of the job", NAME(user)},
    {"job_name", JP_COL_TEXT, 0, 2, 0, 2, "job", "jobs of that name", NAME(name)},
    {"rank", JP_COL_RANK, 0, 3, 0, 3, "rank", "in the job", NUMBER(rank)},
    {"late_steps", JP_COL_COUNT, 0, 4, 0, 4, "steps", "in which it was late", NUMBER(late_steps)},
    {"wait_s", JP_COL_SECONDS, 0, 5, 0, 5, "waited", "GPU time for which others waited for it", SPENT(wait_s)},
    {"node", JP_COL_TEXT, 0, 6, 0, 6, "last on", "where it ran last", NAME(from)},
    {"last_us", JP_COL_DATE, 0, 7, 0, 7, "last late", "start of that step", DAY(time_us)},
};
static const struct jp_column job_columns[] = {
    {"job", JP_COL_RANK, 0, 1, 0, 1, "job", "Slurm's number", NUMBER(job)},
    {"user", JP_COL_TEXT, 0, 2, 0, 2, "user", "user of the job", NAME(user)},
    {"account", JP_COL_TEXT, 0, 3, 0, 3, "account", "Slurm's", NAME(account)},
    {"name", JP_COL_TEXT, 0, 4, 0, 4, "name", "of the job", NAME(name)},
    {"nodes", JP_COL_COUNT, 0, 5, 0, 5, "nodes", "of all its steps", NUMBER(nodes)},
    {"steps", JP_COL_COUNT, 0, 6, 0, 6, "steps", "number with a line", NUMBER(steps)},
    {"verdict", JP_COL_TEXT, 0, 7, 0, 7, "verdict", "worst verdict of its steps", NAME(verdict)},
    {"wait_s", JP_COL_SECONDS, 0, 8, 0, 8, "waited", "GPU time for which ranks waited for late ones", SPENT(wait_s)},
    {"node", JP_COL_TEXT, 0, 9, 0, 9, "for", "node that others waited for longest", NAME(from)},
    {"time_us", JP_COL_DATE, 0, 10, 0, 10, "start", "of the first step", DAY(time_us)},
};
#define GROUP_COLUMNS(what)                                                    \
    {what, JP_COL_TEXT, 0, 1, 0, 1, what, "by name", NAME(name)}, \
    {"jobs", JP_COL_COUNT, 0, 2, 0, 2, "jobs", "number with a line", NUMBER(jobs)}, \
    {"steps", JP_COL_COUNT, 0, 3, 0, 3, "steps", "number with a line", NUMBER(steps)}, \
    {"gpu_s", JP_COL_SECONDS, 0, 4, 0, 4, "GPU time", "sampled time", NUMBER(gpu_s)}, \
    {"gpu_busy", JP_COL_SHARE, 0, 5, 0, 5, "busy", "share of that time in which a kernel ran", NUMBER(gpu_busy)}, \
    {"gpu_busy_max", JP_COL_SHARE, 0, 6, 0, 6, "at most", "largest sample", NUMBER(gpu_busy_max)}, \
    {"wait_s", JP_COL_SECONDS, 0, 7, 0, 7, "waited", "GPU time for which ranks waited for late ones", SPENT(wait_s)}, \
    {"slow_steps", JP_COL_COUNT, 0, 8, 0, 8, "slow", "steps with the verdict SLOW", NUMBER(late_steps)}, \
    {"hangs", JP_COL_COUNT, 0, 9, 0, 9, "hung", "steps with the verdict HANG", NUMBER(hangs)}, \
    {"failed", JP_COL_COUNT, 0, 10, 0, 10, "failed", "steps with the verdict FAILED", NUMBER(crashes)}
static const struct jp_column user_columns[] = {GROUP_COLUMNS("user")};
static const struct jp_column account_columns[] = {GROUP_COLUMNS("account")};
static const struct jp_column pair_columns[] = {
    {"from", JP_COL_TEXT, 0, 1, 0, 1, "from", "node that sends", NAME(from)},
    {"to", JP_COL_TEXT, 0, 2, 0, 2, "to", "node that receives", NAME(to)},
    {"steps", JP_COL_COUNT, 0, 3, 0, 3, "steps", "with Send and Recv between them", NUMBER(steps)},
    {"busbw_gbs", JP_COL_GBS, 0, 4, 0, 4, "GB/s", "bandwidth, mean over steps", NUMBER(busbw_gbs)},
    {"change", JP_COL_SHARE, 0, 5, 0, 5, "change", "change from the first to the last of these steps, by a straight line", NUMBER(change)},
    {"days", JP_COL_REAL, 0, 6, 0, 6, "days", "between these", NUMBER(days)},
    {"chance", JP_COL_CHANCE, 0, 7, 0, 7, "chance", "probability that chance makes such a line, corrected for the number of pairs", NUMBER(chance)},
    {"changed", JP_COL_BOOL, 0, 8, 0, 8, "changed", "chance does not explain it", SLOW},
};
/* clang-format on */

#undef NAME
#undef NUMBER
#undef SPENT
#undef DAY
#undef SLOW

#define TABLE(word, heading, list)                                             \
    {                                                                          \
        .name = (word), .title = (heading), JP_COLUMNS(list),                  \
        .row_size = sizeof(struct history_row), .max_json = SIZE_MAX,          \
        .fitted = true, .indent = 2                                            \
    }
const struct jp_table history_tables[HISTORY_TOPS] = {
    [HISTORY_TOP_NODES] =
        TABLE("nodes", "Nodes that make others wait", node_columns),
    [HISTORY_TOP_RANKS] =
        TABLE("ranks", "Ranks that make others wait", rank_columns),
    [HISTORY_TOP_JOBS] =
        TABLE("jobs", "Jobs with the longest waits of ranks", job_columns),
    [HISTORY_TOP_USERS] = TABLE("users", "Users", user_columns),
    [HISTORY_TOP_ACCOUNTS] = TABLE("accounts", "Accounts", account_columns),
    [HISTORY_TOP_PAIRS] =
        TABLE("pairs", "Bandwidth between nodes", pair_columns)};
#undef TABLE

/* Makes room for the rows of a table. Returns NULL without memory. */
static struct history_row *make_rows(struct history_sum *s,
                                     enum history_top top, size_t most)
{
    free(s->rows[top]);
    s->n_rows[top] = 0;
    s->rows[top] = calloc(most ? most : 1, sizeof(struct history_row));
    if (!s->rows[top])
        s->failed = true;
    return s->rows[top];
}

/* Returns how many findings of a kind the node has. */
static uint64_t kind_count(const struct history_sum *s, const struct node *node,
                           const char *kind)
{
    bool failed = false;
    /* NULL: only looks the name up, so the set does not change */
    uint32_t id =
        history_names_put((struct history_names *) (uintptr_t) &s->kinds,
                          history_as_text(kind), NULL, &failed);

    return id < KINDS ? node->kinds[id] : 0;
}

/* Returns the probability of as many votes by chance; 1 without trials. */
static double tail(uint64_t votes, uint64_t trials, double expected)
{
    return trials ? history_chance(votes, trials, expected / (double) trials)
                  : 1;
}

/* Decides whether the node makes others wait more often than chance explains.
 */
static void judge_node(struct history_sum *s, struct node *node,
                       struct history_row *row)
{
    const struct history_want *w = s->want;
    double many = (double) s->totals.tested, all, others;

    row->chance = NAN;
    if (!node->trials)
        return;
    /* Bonferroni: any of the tested nodes could be the worst by chance */
    all = fmin(tail(node->votes, node->trials, node->expected) * many, 1);
    /* without the user with the most evidence against it */
    others = tail(node->votes - node->most_votes,
                  node->trials - node->most_trials,
                  node->expected - node->most_expected);
    others = s->totals.users > 1 ? fmin(others * many, 1) : all;
    row->chance = fmax(all, others);
    /* few votes are never enough, however unlikely they are */
    if (node->votes < w->votes || !(all < w->chance))
        return;
    if (row->chance < w->chance) {
        row->slow = 1;
        node->is_slow = true;
        s->totals.slow++;
    } else {
        row->note = "by one user's jobs";
    }
}

/* Orders by result: slow ones first, then the least likely, unknown ones last.
 */
static int by_chance(const void *a, const void *b)
{
    const struct history_row *x = a, *y = b;

    if (x->slow != y->slow)
        return x->slow ? -1 : 1;
    if (isfinite(x->chance) && isfinite(y->chance) && x->chance != y->chance)
        return x->chance < y->chance ? -1 : 1;
    if (isfinite(x->chance) != isfinite(y->chance))
        return isfinite(x->chance) ? -1 : 1;
    if (x->wait_s != y->wait_s)
        return x->wait_s > y->wait_s ? -1 : 1;
    return x->name && y->name ? strcmp(x->name, y->name) : 0;
}

/* Orders by waiting time, most first. */
static int by_wait(const void *a, const void *b)
{
    const struct history_row *x = a, *y = b;

    if (x->wait_s != y->wait_s)
        return x->wait_s > y->wait_s ? -1 : 1;
    return (x->steps < y->steps) - (x->steps > y->steps);
}

/* Orders by GPU time, most first, unknown ones last. */
static int by_time(const void *a, const void *b)
{
    const struct history_row *x = a, *y = b;

    if (isfinite(x->gpu_s) != isfinite(y->gpu_s))
        return isfinite(x->gpu_s) ? -1 : 1;
    if (isfinite(x->gpu_s) && x->gpu_s != y->gpu_s)
        return x->gpu_s > y->gpu_s ? -1 : 1;
    return (x->steps < y->steps) - (x->steps > y->steps);
}

static void sort_rows(struct history_sum *s, enum history_top top,
                      int (*order)(const void *, const void *))
{
    qsort(s->rows[top], s->n_rows[top], sizeof(struct history_row), order);
}

/* Makes the table of nodes, and counts them. */
static void make_nodes(struct history_sum *s)
{
    struct history_row *rows = make_rows(s, HISTORY_TOP_NODES, s->nodes.n);

    /* all tested nodes count for the correction, also those that are not shown
     */
    for (size_t i = 0; i < s->nodes.n; i++)
        s->totals.tested += s->nodes.at[i].trials > 0;
    for (size_t i = 0; rows && i < s->nodes.n; i++) {
        struct node *node = &s->nodes.at[i];
        const char *name = history_names_at(&s->node_names, (uint32_t) i);
        struct history_row *row = &rows[s->n_rows[HISTORY_TOP_NODES]];

        s->totals.nodes += node->steps > 0;
        /* not the selected node, or one without any step */
        if ((s->want->node && strcmp(name, s->want->node) != 0) ||
            (!node->steps && !node->late_steps))
            continue;
        s->n_rows[HISTORY_TOP_NODES]++;
        *row = (struct history_row){
            .name = name,
            .late = node->votes,
            .jobs = node->trials,
            .expected = node->expected,
            .wait_s = node->wait_s,
            .late_steps = node->late_steps,
            .steps = node->steps,
            .users = node->n_voters,
            .hangs = kind_count(s, node, "hang"),
            .crashes = kind_count(s, node, "crash"),
            .cause = history_names_at(&s->texts, node->cause),
            .time_us = node->last_us};
        judge_node(s, node, row);
    }
    if (rows)
        sort_rows(s, HISTORY_TOP_NODES, by_chance);
}

/* Makes the table of ranks. */
static void make_ranks(struct history_sum *s)
{
    struct history_row *rows = make_rows(s, HISTORY_TOP_RANKS, s->ranks.n);

    for (size_t i = 0; rows && i < s->ranks.n; i++) {
        const struct rank *r = &s->ranks.at[i];

        rows[s->n_rows[HISTORY_TOP_RANKS]++] = (struct history_row){
            .user = history_names_at(&s->users, r->user),
            .name = history_names_at(&s->texts, r->name),
            .from = history_names_at(&s->node_names, r->node),
            .rank = r->rank,
            .late_steps = r->steps,
            .steps = r->steps,
            .wait_s = r->wait_s,
            .time_us = r->time_us};
    }
    if (rows)
        sort_rows(s, HISTORY_TOP_RANKS, by_wait);
}

/* Orders jobs by waiting time, most first; the argument is the array. */
static int by_job_wait(const void *a, const void *b, void *jobs)
{
    const struct job *x = (const struct job *) jobs + *(const uint32_t *) a;
    const struct job *y = (const struct job *) jobs + *(const uint32_t *) b;

    if (x->wait_s != y->wait_s)
        return x->wait_s > y->wait_s ? -1 : 1;
    return (x->steps < y->steps) - (x->steps > y->steps);
}

/* Whether the job is in the table: ranks waited, or it hung or failed. */
static bool is_listed(const struct job *job)
{
    return job->wait_s > 0 || job->word < 2;
}

/* Chooses the jobs of the table, of each user those with the longest waits, up
 * to his part. Returns their number; *list is the caller's to free. */
static size_t choose_jobs(struct history_sum *s, uint32_t **list)
{
    uint64_t *used = calloc(s->by_user.n + 1, sizeof(*used)), part;
    size_t n = 0, kept = 0;

    *list = calloc(s->jobs.n + 1, sizeof(**list));
    if (!used || !*list) {
        free(used);
        s->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < s->jobs.n; i++)
        if (is_listed(&s->jobs.at[i]))
            (*list)[n++] = i;
    qsort_r(*list, n, sizeof(**list), by_job_wait, s->jobs.at);
    part = history_part(HISTORY_LEFT_ROWS, s->all[HISTORY_LEFT_ROWS],
                        s->by_user.n);
    for (size_t i = 0; i < n; i++) {
        uint32_t user = s->jobs.at[(*list)[i]].user;

        if (used[user]++ < part)
            (*list)[kept++] = (*list)[i];
        else
            s->limits.at[user].left[HISTORY_LEFT_ROWS]++;
    }
    free(used);
    return kept;
}

/* Makes the table of jobs. There may be a million jobs, so it has only some. */
static void make_jobs(struct history_sum *s)
{
    struct history_row *rows;
    uint32_t *list = NULL;
    size_t n_list = choose_jobs(s, &list);

    rows = make_rows(s, HISTORY_TOP_JOBS, n_list);
    for (size_t i = 0; rows && i < n_list; i++) {
        const struct job *job = &s->jobs.at[list[i]];
        const struct vote *best = winner(s, job);
        uint32_t n;

        places_of(s, job->list, &n);
        rows[s->n_rows[HISTORY_TOP_JOBS]++] = (struct history_row){
            .job = job->number,
            .user = history_names_at(&s->users, job->user),
            .account = history_names_at(&s->accounts, job->account),
            .name = history_names_at(&s->texts, job->name),
            .nodes = n,
            .steps = job->steps,
            .verdict = history_words[job->word],
            .wait_s = job->wait_s,
            .from = best ? history_names_at(&s->node_names, best->node) : "",
            .time_us = job->time_us};
    }
    free(list);
}

/* Fills the row of a user or an account. */
static void put_group(struct history_row *row, const struct group *g,
                      const char *name)
{
    *row = (struct history_row){
        .name = name,
        .jobs = g->jobs,
        .steps = g->steps,
        /* without samples the time is unknown, not 0 */
        .gpu_s = g->gpu_s > 0 ? g->gpu_s : NAN,
        .gpu_busy = g->gpu_s > 0 ? g->busy_s / g->gpu_s : NAN,
        .gpu_busy_max = g->busy_max > 0 ? g->busy_max : NAN,
        .wait_s = g->wait_s,
        /* in the order of history_words */
        .hangs = g->words[0],
        .crashes = g->words[1],
        .late_steps = g->words[2]};
}

/* Makes the tables of users and accounts. */
static void make_groups(struct history_sum *s)
{
    struct history_row *users = make_rows(s, HISTORY_TOP_USERS, s->by_user.n);
    struct history_row *accounts =
        make_rows(s, HISTORY_TOP_ACCOUNTS, s->by_account.n);

    for (size_t i = 0; users && accounts && i < s->by_user.n; i++)
        if (s->by_user.at[i].steps)
            put_group(&users[s->n_rows[HISTORY_TOP_USERS]++], &s->by_user.at[i],
                      history_names_at(&s->users, (uint32_t) i));
    for (size_t i = 0; users && accounts && i < s->by_account.n; i++)
        if (s->by_account.at[i].steps)
            put_group(&accounts[s->n_rows[HISTORY_TOP_ACCOUNTS]++],
                      &s->by_account.at[i],
                      /* see history_sum_add: group 0 has no account */
                      i ? history_names_at(&s->accounts, (uint32_t) i - 1)
                        : "(none)");
    if (!users || !accounts)
        return;
    s->totals.users = s->n_rows[HISTORY_TOP_USERS];
    s->totals.accounts = s->n_rows[HISTORY_TOP_ACCOUNTS];
    sort_rows(s, HISTORY_TOP_USERS, by_time);
    sort_rows(s, HISTORY_TOP_ACCOUNTS, by_time);
}

/* Fits a straight line through the steps of a pair and tests whether its slope
 * differs from zero. */
static void fit(const struct history_sum *s, const struct pair *p,
                struct history_row *row)
{
    double tt = p->tt - p->t * p->t / p->n, tg = p->tg - p->t * p->g / p->n;
    double gg = p->gg - p->g * p->g / p->n, slope, left;

    row->change = row->chance = NAN;
    /* too few steps, or all at one time: no line */
    if (p->n < 8 || !(tt > 1e-9) || !(p->g > 0))
        return;
    /* least squares; left: variance around the line */
    slope = tg / tt;
    left = fmax(gg - slope * tg, 0) / (p->n - 2);
    row->change = slope * (p->last - p->first) / (p->g / p->n);
    /* with this many steps, Student's t is close to the normal distribution */
    row->chance = left > 0     ? erfc(fabs(slope) * sqrt(tt / left) / M_SQRT2)
                  : slope != 0 ? 0
                               : 1;
    /* Bonferroni over all pairs */
    row->chance = fmin(row->chance * (double) s->pairs.n, 1);
    row->slow = row->chance < s->want->changed;
}

/* Makes the table of pairs of nodes. */
static void make_pairs(struct history_sum *s)
{
    struct history_row *rows = make_rows(s, HISTORY_TOP_PAIRS, s->pairs.n);

    for (size_t i = 0; rows && i < s->pairs.n; i++) {
        const struct pair *p = &s->pairs.at[i];
        struct history_row *row = &rows[s->n_rows[HISTORY_TOP_PAIRS]];

        *row = (struct history_row){
            .from = history_names_at(&s->node_names, p->from),
            .to = history_names_at(&s->node_names, p->to),
            .steps = (uint64_t) p->n,
            .busbw_gbs = p->g / p->n,
            .days = p->last - p->first};
        if (s->want->node && strcmp(row->from, s->want->node) != 0 &&
            strcmp(row->to, s->want->node) != 0)
            continue;
        fit(s, p, row);
        s->n_rows[HISTORY_TOP_PAIRS]++;
    }
    if (rows)
        sort_rows(s, HISTORY_TOP_PAIRS, by_chance);
}

/* --- series of metrics ---------------------------------------------------- */

/* Nodes that get a series first: slow ones, then those that most users found
 * late, then those that most users had. A user can invent names, but no other
 * user has them. The argument is the array. */
static int by_node_series(const void *a, const void *b, void *nodes)
{
    const struct node *x = (const struct node *) nodes + *(const uint32_t *) a;
    const struct node *y = (const struct node *) nodes + *(const uint32_t *) b;

    if (x->is_slow != y->is_slow)
        return x->is_slow ? -1 : 1;
    if (x->n_voters != y->n_voters)
        return x->n_voters > y->n_voters ? -1 : 1;
    if (x->n_users != y->n_users)
        return x->n_users > y->n_users ? -1 : 1;
    return (x->steps < y->steps) - (x->steps > y->steps);
}

/* The same for accounts. */
static int by_account_series(const void *a, const void *b, void *groups)
{
    const struct group *x = (const struct group *) groups +
                            *(const uint32_t *) a;
    const struct group *y = (const struct group *) groups +
                            *(const uint32_t *) b;

    if (x->n_users != y->n_users)
        return x->n_users > y->n_users ? -1 : 1;
    return (x->steps < y->steps) - (x->steps > y->steps);
}

/* Marks the nodes and accounts that have a series of their own. */
static void name_series(struct history_sum *s)
{
    size_t n = s->nodes.n > s->by_account.n ? s->nodes.n : s->by_account.n;
    uint32_t *order = calloc(n + 1, sizeof(*order));

    if (!order) {
        s->failed = true;
        return;
    }
    for (uint32_t i = 0; i < s->nodes.n; i++)
        order[i] = i;
    qsort_r(order, s->nodes.n, sizeof(*order), by_node_series, s->nodes.at);
    for (size_t i = 0; i < s->nodes.n && i < SERIES_NODES; i++)
        s->nodes.at[order[i]].is_named = true;
    for (uint32_t i = 0; i < s->by_account.n; i++)
        order[i] = i;
    qsort_r(order, s->by_account.n, sizeof(*order), by_account_series,
            s->by_account.at);
    for (size_t i = 0; i < s->by_account.n && i < SERIES_ACCOUNTS; i++)
        s->by_account.at[order[i]].is_named = true;
    free(order);
}

/* Whether something was left out of the user. */
static bool has_left(const struct user *u)
{
    for (int i = 0; i < HISTORY_LEFTS; i++)
        if (u->left[i])
            return true;
    return false;
}

int history_sum_finish(struct history_sum *s)
{
    if (s->failed)
        return -1;
    s->totals.jobs = s->jobs.n;
    if (count_votes(s) < 0)
        return -1;
    /* first, because judge_node needs the number of users */
    make_groups(s);
    make_nodes(s);
    make_ranks(s);
    make_jobs(s);
    make_pairs(s);
    name_series(s);
    for (size_t i = 0; i < s->limits.n; i++)
        s->totals.left_out += has_left(&s->limits.at[i]);
    return s->failed ? -1 : 0;
}

/* --- access for other files ----------------------------------------------- */

const struct history_row *history_sum_rows(const struct history_sum *s,
                                           enum history_top top, size_t *n)
{
    *n = s->n_rows[top];
    return s->rows[top];
}

/* The series of one node, or of all that have none of their own. */
static void put_node_series(const struct history_sum *s, enum history_metric m,
                            const struct node *node, const char *name,
                            history_series *see, void *arg)
{
    for (unsigned k = 0; m == HISTORY_METRIC_FINDINGS && k < KINDS; k++)
        if (node->kinds[k])
            see(arg, k < s->kinds.n ? history_names_at(&s->kinds, k) : "other",
                name, (double) node->kinds[k]);
    if (m == HISTORY_METRIC_WAITS && node->wait_s > 0)
        see(arg, name, NULL, node->wait_s);
}

/* The same of an account. */
static void put_account_series(enum history_metric m, const struct group *g,
                               const char *name, history_series *see, void *arg)
{
    for (unsigned k = 0; m == HISTORY_METRIC_STEPS && k < WORDS; k++)
        if (g->words[k])
            see(arg, history_words[k], name, (double) g->words[k]);
    if (m == HISTORY_METRIC_BUSY && g->gpu_s > 0)
        see(arg, name, NULL, g->busy_s / g->gpu_s);
}

static void see_nodes(const struct history_sum *s, enum history_metric m,
                      history_series *see, void *arg)
{
    struct node others = {0};

    for (uint32_t i = 0; i < s->nodes.n; i++) {
        const struct node *node = &s->nodes.at[i];

        if (node->is_named) {
            put_node_series(s, m, node, history_names_at(&s->node_names, i),
                            see, arg);
            continue;
        }
        others.wait_s += node->wait_s;
        for (unsigned k = 0; k < KINDS; k++)
            others.kinds[k] += node->kinds[k];
    }
    put_node_series(s, m, &others, "other", see, arg);
}

static void see_accounts(const struct history_sum *s, enum history_metric m,
                         history_series *see, void *arg)
{
    struct group others = {0};

    for (uint32_t i = 0; i < s->by_account.n; i++) {
        const struct group *g = &s->by_account.at[i];

        /* see history_sum_add: group 0 has no account */
        if (g->is_named && (!i || i - 1 != s->other_account)) {
            put_account_series(
                m, g, i ? history_names_at(&s->accounts, i - 1) : "", see, arg);
            continue;
        }
        others.gpu_s += g->gpu_s;
        others.busy_s += g->busy_s;
        for (unsigned k = 0; k < WORDS; k++)
            others.words[k] += g->words[k];
    }
    put_account_series(m, &others, "other", see, arg);
}

void history_sum_metric(const struct history_sum *s, enum history_metric m,
                        history_series *see, void *arg)
{
    if (m == HISTORY_METRIC_FINDINGS || m == HISTORY_METRIC_WAITS)
        see_nodes(s, m, see, arg);
    else
        see_accounts(s, m, see, arg);
}
