/* judge_name.c - who is named: how sure it must be, in which part of the run,
 * and whether all of a node are late.
 *
 * judge_name_all() asks each node (name_node), then each process that is not of
 * a named one (name_process): late in a part of the run, or all along. Ranks of
 * a node that are all named are one answer (join_nodes). judge.c has measured
 * before what each process has in excess, and what would be too little.
 *
 * A part of the run: of its blocks, find_window() tries each stretch, several
 * stretches of one height, and a growth; stands_out() says whether noise would
 * make the best one. judge.h has the formulas (Chance).
 *
 * A node: the mean of its processes, against how nodes differ (measure_hosts),
 * with all of its processes alike, and not because they wait for one of them.
 */
#include "orchestrator/judge/judge_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats.h"
#include "common/vector.h"

#define BEFORE 0.25 /* an onset: of the excess since then, before it */
/* Blocks, in it and before it, after the start; or twice as many after it. */
#define WINDOW_LEAST 4
#define STRETCH 3  /* blocks of a stretch, on average: one event has two */
#define RAMPS 0.25 /* of the chance, for a lateness that grows */
#define PAIRS 2.0  /* noise lasts for so many blocks, at least */
#define CARRIED_MOST 0.9 /* of the noise of a block, to the next one */
#define HOSTS_KNOWN 6    /* hosts that show how they differ */
#define SERIES_SHOWN 64  /* series that show what noise is like */
#define NET_SHARE 0.1    /* of an excess, by which its network may be slower */

/* --- answers, and the budget for wrong names ------------------------------ */

/* Who shares the budget: late all along, late in a part of the run, a node, a
 * group of processes (a stage), stalls. Each has as much. */
enum { QUESTIONS = 5 };

const char *const judge_kinds[JUDGE_KINDS] = {
    [JUDGE_LATE] = "late",
    [JUDGE_ONSET] = "onset",
    [JUDGE_NODE] = "node",
    [JUDGE_STALL] = "stall",
};

double judge_chance(size_t n)
{
    return JUDGE_FALSE_ALARM / QUESTIONS / (double) (n ? n : 1);
}

struct judge_answer *judge_add(struct judge *j, const struct jp_processes *p,
                               enum judge_kind kind, size_t process)
{
    struct judge_answer *more = VECTOR_DOUBLE_ADD(j->answers, j->n);

    if (!more)
        return NULL;
    *more = (struct judge_answer){.kind = kind,
                                  .process = process,
                                  .host = p->list[process].host_at,
                                  .part = 1,
                                  .blocks = UINT32_MAX,
                                  .share = 1,
                                  .to = 1,
                                  .cost_us = NAN};
    return more;
}

void judge_drop_answers(struct judge *j)
{
    for (size_t i = 0; i < j->n; i++)
        free(j->answers[i].waits);
    j->n = 0;
}

bool judge_concerns(const struct judge_answer *a, const struct jp_processes *p,
                    size_t process)
{
    return a->kind == JUDGE_NODE ? p->list[process].host_at == a->host
                                 : process == a->process;
}

/* --- what blocks of a run come to, and how sure that is ------------------- */

struct stats_trimmed judge_resample(const double *blocks, unsigned n)
{
    double one[JUDGE_BLOCKS], two[JUDGE_BLOCKS / 2];
    struct stats_trimmed a, b;

    memcpy(one, blocks, n * sizeof(*one));
    for (unsigned k = 0; k < n / 2; k++)
        two[k] = blocks[2 * k] + blocks[2 * k + 1];
    a = stats_trim(one, n);
    b = stats_trim(two, n / 2);
    a.mean *= n;
    a.error = fmax(a.error * n, b.error * (n / 2));
    return a;
}

double judge_neighbours(const double *blocks)
{
    double squares = 0;

    for (unsigned k = START_BLOCKS; k + 1 < JUDGE_BLOCKS; k++)
        squares += (blocks[k + 1] - blocks[k]) * (blocks[k + 1] - blocks[k]);
    return squares / (2 * (JUDGE_BLOCKS - START_BLOCKS - 1));
}

unsigned judge_freedom_of(unsigned blocks)
{
    return (unsigned) (0.6 * blocks / 2) - 1; /* kept pairs, less one */
}

double judge_moderate(double worth_us, double squares, double *freedom)
{
    double usual = worth_us / 2, known = JUDGE_DIFFER_KNOWN;

    squares += known * usual * usual;
    *freedom += known;
    return sqrt(squares / *freedom);
}

/* Returns true if a slower network may look like that excess: where operations
 * overlap computation, durations count its time several times. */
static bool is_by_net(const struct judge *judge, double net_us,
                      double excess_us)
{
    return !judge->timed && net_us > NET_SHARE * excess_us;
}

/* --- how long the others waited for one process alone --------------------- */

/* Members leave an operation together, so that whose duration is the shortest
 * came last, and the next shortest one says how long it alone was waited for.
 */

/* The two shortest durations of an operation, and whose is the shorter one. */
struct shortest {
    float us, next_us;
    float at; /* when the latter arrived */
    uint32_t process, n;
    bool hosts; /* its members are on several hosts */
};

/* Returns them for each operation. NULL: no memory. Free with free(). */
static struct shortest *find_shortest(const struct work *w)
{
    const struct judge_run *run = w->run;
    struct shortest *of = calloc((size_t) run->n_ops + 1, sizeof(*of));

    for (uint32_t p = 0; of && p < w->p->n; p++)
        for (uint32_t i = run->first[p]; i < run->first[p + 1]; i++) {
            struct shortest *s = &of[run->items[i].op];
            float us = run->items[i].time_us;

            if (!isfinite(run->items[i].own_us)) /* it was not reached */
                continue;
            s->hosts |= s->n &&
                        w->p->list[s->process].host_at != w->p->list[p].host_at;
            if (!s->n++ || us < s->us) {
                s->next_us = s->n > 1 ? s->us : INFINITY;
                s->us = us;
                s->at = run->items[i].at;
                s->process = p;
            } else if (us < s->next_us) {
                s->next_us = us;
            }
        }
    return of;
}

/* Returns true if all members of an operation were there, and it is no message:
 * of these one side always waits, as a part of the work of a pipeline. */
static bool is_waited_for(const struct judge_run *run, uint32_t op,
                          const struct shortest *s)
{
    return s->n > 1 && s->n == run->expected[op] &&
           strcmp(run->keys[run->key[op]].func, "message") != 0;
}

int judge_sum_alone(struct work *w)
{
    struct shortest *of = find_shortest(w);

    if (!of)
        return -1;
    for (uint32_t i = 0; i < w->run->n_ops; i++)
        if (is_waited_for(w->run, i, &of[i]))
            w->j->processes[of[i].process].alone_us +=
                (double) (of[i].next_us - of[i].us);
    free(of);
    return 0;
}

/* --- a part of the run ---------------------------------------------------- */

/* A part of the run in which somebody is late, and outside of which he is not.
 */
struct window {
    uint32_t in;     /* the blocks, as bits; 0: none */
    double late_us;  /* excess in it */
    double error_us; /* its standard error */
    double tried;    /* how many windows it was chosen from */
    double height;   /* above the rest, of a block */
    double weight;   /* variance of that over the one of a block */
    double own;      /* variance of the blocks about both */
    double early;    /* the same by those outside of it, and by those in it that
                        are ahead of the rest */
    double chance;   /* that noise like `own` makes it, over all windows */
};

/* Noise of one kind: that of the blocks of all processes of a role, or of all
 * hosts. */
struct noise {
    const double *const *blocks; /* [n] */
    size_t n;
    double variance; /* median of the blocks', by
                        judge_neighbours() */
    /* Series that show how long noise lasts; NULL: the same ones. */
    const double *const *lasting; /* [n_lasting] */
    size_t n_lasting;
};

/* Returns every which of many series is looked at. */
static size_t step_of(size_t n_series)
{
    return (n_series + SERIES_SHOWN - 1) / SERIES_SHOWN;
}

/* Returns the chance of a difference of that many errors, if the blocks vary by
 * `own` (variance) about it. Noise is of one kind, so all series show how large
 * it is, unless the own one is far larger. Noise lasts for so many blocks,
 * which count as one. */
static double chance_of_errors(double errors, double own, double lasts,
                               const struct noise *noise)
{
    double freedom = (JUDGE_BLOCKS - START_BLOCKS) / lasts - 2;

    if (own <= UNLIKE * UNLIKE * noise->variance)
        freedom *= 1 + (double) (noise->n / 2);
    return stats_student_tail(errors / sqrt(lasts),
                              (unsigned) fmax(freedom, 1));
}

/* Returns a bound of the chance that as many blocks as a window has, drawn from
 * all series outside of it, come to as much as they do (Chernoff 1952: by the
 * mean of exp(rate * block), at the best of some rates). Much of what blocks
 * vary by is single events, such as collections of garbage. Several of them
 * close to each other look like lateness, and errors do not say how often that
 * happens, as most blocks have none. No block counts more than the mean of the
 * window: a long event shows no more lateness than a short one. Who is late in
 * the same window, as others of a node are, has no event of its own in it. */
static double chance_of_events(const double *blocks, const struct window *late,
                               const struct noise *noise)
{
    double n_in = __builtin_popcount(late->in), most = late->late_us / n_in;
    double own = 0, least = 0; /* logarithm */

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++)
        own += late->in >> k & 1 ? fmin(blocks[k] / most, 1) : 0;
    for (double rate = 1; rate < 100; rate *= sqrt(2)) {
        double sum = 0, n = 0;

        for (size_t i = 0; i < noise->n; i += step_of(noise->n))
            for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
                if (late->in >> k & 1)
                    continue;
                sum += exp(rate * fmin(noise->blocks[i][k] / most, 1));
                n++;
            }
        least = fmin(least, n_in * log(sum / n) - rate * own);
    }
    return exp(least);
}

/* Returns which part of the noise of a block is carried to the next one: the
 * median of all series, by how much less their neighbouring blocks differ than
 * any two do (von Neumann 1941). A window is left out, and so is who is late in
 * the same one, as others of a node are. */
static double carried(const struct window *late, const struct noise *noise,
                      double *scratch)
{
    const double *const *series = noise->lasting ? noise->lasting
                                                 : noise->blocks;
    size_t of_all = noise->lasting ? noise->n_lasting : noise->n, n = 0;

    for (size_t i = 0; i < of_all; i += step_of(of_all)) {
        const double *blocks = series[i];
        double sum = 0, squares = 0, steps = 0, of = 0, pairs = 0, variance;

        for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
            if (late->in >> k & 1)
                continue;
            sum += blocks[k];
            squares += blocks[k] * blocks[k];
            of++;
            if (k + 1 == JUDGE_BLOCKS || late->in >> (k + 1) & 1)
                continue;
            steps += (blocks[k + 1] - blocks[k]) * (blocks[k + 1] - blocks[k]);
            pairs++;
        }
        variance = (squares - sum * sum / of) / (of - 1);
        if (pairs > 0 && variance > 0)
            scratch[n++] = 1 - steps / (2 * pairs) / variance;
    }
    return n ? fmin(fmax(stats_median(scratch, n), 0), CARRIED_MOST) : 0;
}

/* Returns the chance of a window if its own blocks have noise of variance
 * `own`, of which the part c is carried from one to the next. Where it is, a
 * mean of blocks varies as if (1 + c) / (1 - c) of them were one (a first-order
 * autoregressive series), and blocks vary by more than neighbours show. */
static double chance_of(const struct window *late, double own, double c,
                        const struct noise *noise)
{
    double wide = fmax(own, noise->variance / (1 - c));

    return late->tried *
           chance_of_errors(late->height / sqrt(wide * late->weight), own,
                            fmax(PAIRS, (1 + c) / (1 - c)), noise);
}

/* Returns true if noise makes a window of blocks with less than that chance
 * (scratch: room for SERIES_SHOWN values), also if it lasts as long as it does
 * elsewhere: ranks wander, they are slower for some iterations, then faster.
 *
 * Who is late does not lose equally much in each block: in an evaluation there
 * is less to compute. Such scatter is on one side only. Noise is on both, and
 * makes its process early, too. So the scatter on that side decides; with all
 * of it the window must still be confirmed. */
static bool stands_out(const double *blocks, const struct window *late,
                       const struct noise *noise, double chance,
                       double *scratch)
{
    double c;

    if (!late->in || !(late->late_us > 0) || !(late->chance < JUDGE_CONFIRMED))
        return false;
    c = carried(late, noise, scratch);
    return chance_of(late, late->own, c, noise) < JUDGE_CONFIRMED &&
           chance_of(late, late->early, c, noise) < chance &&
           late->tried * chance_of_events(blocks, late, noise) < chance;
}

static uint32_t bits_of(unsigned from, unsigned to)
{
    return (uint32_t) ((UINT64_C(1) << to) - (UINT64_C(1) << from));
}

/* Returns the number of stretches of blocks. */
static unsigned stretches(uint32_t in)
{
    return (unsigned) __builtin_popcount(in & ~(in << 1));
}

/* Splits the blocks by value, at the cut with the smallest sum of squares
 * (Fisher 1958). A single block between two of the other kind takes theirs. */
static uint32_t split_blocks(const double *blocks)
{
    enum { N = JUDGE_BLOCKS - START_BLOCKS };
    double v[N], best = INFINITY, cut = INFINITY;
    uint32_t in = 0;

    memcpy(v, blocks + START_BLOCKS, sizeof(v));
    stats_sort(v, N);
    for (unsigned i = 1; i < N; i++) {
        double rest = stats_squares(v, 0, i) + stats_squares(v, i, N);

        if (rest < best) {
            best = rest;
            cut = (stats_mean(v, 0, i) + stats_mean(v, i, N)) / 2;
        }
    }
    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++)
        in |= (uint32_t) (blocks[k] > cut) << k;
    for (unsigned k = START_BLOCKS + 1; k + 1 < JUDGE_BLOCKS; k++)
        if ((in >> (k - 1) & 1) == (in >> (k + 1) & 1))
            in = (in & ~(UINT32_C(1) << k)) | (in >> (k - 1) & 1) << k;
    return in;
}

/* Returns how many ways there are to choose so many stretches: their ends among
 * the edges of blocks. */
static double ways(unsigned n_stretches)
{
    double edges = JUDGE_BLOCKS - START_BLOCKS + 1, n = 1;

    for (unsigned i = 0; i < 2 * n_stretches; i++)
        n *= (edges - i) / (i + 1);
    return n;
}

/* Sets early, error_us and chance of a window. usual: the level outside of it.
 */
static void finish_window(struct window *w, const double *blocks, double usual,
                          const struct noise *noise)
{
    double out = 0, ahead = 0, n_out = 0, n = JUDGE_BLOCKS - START_BLOCKS;

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        double off = blocks[k] - usual;
        bool in = w->in >> k & 1;

        out += in ? 0 : off * off;
        n_out += !in;
        ahead += fmin(off, 0) * fmin(off, 0);
    }
    w->early = fmax(out / fmax(n_out - 1, 1), 2 * ahead / n);
    w->error_us = sqrt(fmax(w->early, noise->variance) * w->weight) *
                  __builtin_popcount(w->in);
    w->chance = chance_of(w, w->own, 0, noise);
}

/* Returns several stretches of blocks as one part of the run, if they stand out
 * as such. */
static struct window find_stretches(const double *blocks,
                                    const struct noise *noise)
{
    uint32_t in = split_blocks(blocks);
    struct window w = {.in = in};
    double n = JUDGE_BLOCKS - START_BLOCKS, sum[2] = {0}, squares = 0;
    double late, usual, s, n_in = __builtin_popcount(in);

    if (stretches(in) < 2 || n_in < STRETCH * stretches(in) ||
        n - n_in < STRETCH * stretches(in))
        return (struct window){.chance = 1};
    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        sum[in >> k & 1] += blocks[k];
        squares += blocks[k] * blocks[k];
    }
    late = sum[1] / n_in;
    usual = sum[0] / (n - n_in);
    s = fmax(squares - late * sum[1] - usual * sum[0], 0) / (n - 2);
    w.weight = 1 / n_in + 1 / (n - n_in);
    if (!(fabs(usual) < BEFORE * late))
        return (struct window){.chance = 1};
    w.late_us = sum[1];
    w.tried = ways(stretches(in)) / (1 - RAMPS);
    w.height = late - usual;
    w.own = s;
    finish_window(&w, blocks, usual, noise);
    return w;
}

/* A fit of a shape to blocks after the start: what is there without it, and
 * how high it is. */
struct fit {
    double usual, late, variance; /* of the rest, about both */
    double spread;                /* of the shape: its sum of squares */
};

/* Fits a level until block `from`, a line up to block `top`, and a level since
 * then. */
static struct fit fit_ramp(const double *blocks, unsigned from, unsigned top)
{
    double n = JUDGE_BLOCKS - START_BLOCKS, x = 0, xx = 0, y = 0, xy = 0,
           yy = 0;
    struct fit f;

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        double at = k < from  ? 0
                    : k < top ? (k - from + 0.5) / (double) (top - from)
                              : 1;

        x += at;
        xx += at * at;
        y += blocks[k];
        xy += at * blocks[k];
        yy += blocks[k] * blocks[k];
    }
    f.spread = xx - x * x / n;
    f.late = (xy - x * y / n) / f.spread;
    f.usual = (y - f.late * x) / n;
    f.variance = fmax(yy - y * y / n - f.late * f.late * f.spread, 0) / (n - 2);
    return f;
}

/* Finds a window up to the end in which lateness grows up to some block, as of
 * a node that becomes hot. */
static struct window find_ramp(const double *blocks, const struct noise *noise)
{
    struct window best = {.chance = 1};
    double most = 0, usual = 0;
    unsigned tried = 0;

    for (unsigned from = START_BLOCKS + WINDOW_LEAST;
         from + WINDOW_LEAST <= JUDGE_BLOCKS; from++)
        for (unsigned top = from + 2; top <= JUDGE_BLOCKS; top++) {
            struct fit f = fit_ramp(blocks, from, top);
            double e = sqrt(fmax(f.variance, noise->variance) / f.spread);
            double us = 0;

            tried++;
            if (!(f.late > most * e) || !(fabs(f.usual) < BEFORE * f.late))
                continue;
            for (unsigned k = from; k < JUDGE_BLOCKS; k++)
                us += blocks[k];
            most = f.late / e;
            usual = f.usual;
            best = (struct window){.in = bits_of(from, JUDGE_BLOCKS),
                                   .late_us = us,
                                   .height = f.late,
                                   .weight = 1 / f.spread,
                                   .own = f.variance};
        }
    best.tried = tried / RAMPS;
    if (best.in)
        finish_window(&best, blocks, usual, noise);
    return best;
}

/* Ranks warm up, so what they do in the start shows nothing by itself. Who is
 * late right after it, and was as late in it, has been so since the run began:
 * adds the start to the window. */
static void add_start(struct window *late, const double *blocks)
{
    double us = 0;

    for (unsigned k = 0; k < START_BLOCKS; k++)
        us += blocks[k];
    if (!(late->in >> START_BLOCKS & 1) || us < START_BLOCKS * late->height / 2)
        return;
    late->in |= bits_of(0, START_BLOCKS);
    late->late_us += us;
}

/* Finds the window of a series of blocks that stands out most, several
 * stretches of it, or one in which lateness grows at first. Most lateness is
 * there at once, so a growing one has RAMPS of the chance. */
static struct window find_window(const double *blocks,
                                 const struct noise *noise)
{
    struct window best = {.chance = 1}, many, ramp;
    double sum[JUDGE_BLOCKS + 1] = {0}, squares = 0, most = 0, rest = 0;
    double n = JUDGE_BLOCKS - START_BLOCKS;
    unsigned tried = 0;

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        sum[k + 1] = sum[k] + blocks[k];
        squares += blocks[k] * blocks[k];
    }
    for (unsigned from = START_BLOCKS; from + WINDOW_LEAST <= JUDGE_BLOCKS;
         from++) {
        /* What comes before a window shows that it is a part of the run. So
         * does what comes after it, if that is twice as long. */
        bool early = from < START_BLOCKS + WINDOW_LEAST;
        unsigned last = JUDGE_BLOCKS - (early ? 2 * WINDOW_LEAST : 0);
        /* Of a short run ranks warm up for longer than the start. */
        unsigned least = from == START_BLOCKS ? 2 * WINDOW_LEAST : WINDOW_LEAST;

        for (unsigned to = from + least; to <= last; to++) {
            double in = to - from, out = n - in;
            double late = (sum[to] - sum[from]) / in;
            double usual = (sum[JUDGE_BLOCKS] - late * in) / out;
            double s =
                fmax(squares - late * late * in - usual * usual * out, 0) /
                (n - 2);
            double weight = 1 / in + 1 / out;
            double e = sqrt(fmax(s, noise->variance) * weight);

            tried++;
            if (!(late - usual > most * e) || !(fabs(usual) < BEFORE * late))
                continue;
            most = (late - usual) / e;
            rest = usual;
            best = (struct window){.in = bits_of(from, to),
                                   .late_us = late * in,
                                   .height = late - usual,
                                   .weight = weight,
                                   .own = s};
        }
    }
    best.tried = tried / (1 - RAMPS);
    if (best.in)
        finish_window(&best, blocks, rest, noise);
    add_start(&best, blocks);
    many = find_stretches(blocks, noise);
    if (many.chance < best.chance)
        best = many;
    ramp = find_ramp(blocks, noise);
    return ramp.chance < best.chance ? ramp : best;
}

/* Fills the part of the run of an answer. */
static void set_window(struct judge_answer *a, const struct window *late)
{
    a->blocks = late->in;
    a->stretches = stretches(late->in);
    a->share = (double) __builtin_popcount(late->in) / JUDGE_BLOCKS;
    a->from = (double) __builtin_ctz(late->in) / JUDGE_BLOCKS;
    a->to = 1 - (double) __builtin_clz(late->in) / JUDGE_BLOCKS;
}

/* --- nodes ---------------------------------------------------------------- */

/* What the processes of a host have in common. */
struct host {
    size_t n, all; /* judged processes; all */
    size_t worst;  /* the process of the largest total */
    double total, net,
        out; /* sums of total_us and net_us; the most of out_us */
    double blocks[JUDGE_BLOCKS]; /* mean of its processes */
    struct stats_trimmed t;
};

/* What the processes of hosts do apart from each other. */
struct apart {
    double blocks[SERIES_SHOWN][JUDGE_BLOCKS];
    const double *list[SERIES_SHOWN];
    size_t n;
};

/* All hosts, and how they differ. */
struct hosts {
    struct host *at; /* [n] */
    size_t n;
    double middle; /* median of their means; 0: they are too few */
    double spread; /* their standard deviation by the median distance from it;
                      NAN: they are too few */
    double within; /* standard deviation of the processes of one host */
    struct noise noise;
    struct apart apart;
    /* How long the others of its host waited for a process alone, in operations
     * that nobody else is in, by blocks: [process]; NULL: not asked yet. */
    float (*led)[JUDGE_BLOCKS];
};

static void add_to_host(const struct work *w, size_t p, struct host *h)
{
    const struct judge_process *x = &w->j->processes[p];

    h->all++;
    if (!x->judged)
        return;
    if (!h->n || x->total_us > w->j->processes[h->worst].total_us)
        h->worst = p;
    h->n++;
    h->total += x->total_us;
    h->net += x->net_us;
    if (isfinite(x->out_us))
        h->out = fmax(h->out, x->out_us);
    for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
        h->blocks[k] += x->blocks_us[k];
}

/* Sets middle and spread. */
static void compare_hosts(struct hosts *all, double *scratch)
{
    size_t k = 0;

    for (size_t h = 0; h < all->n; h++)
        if (all->at[h].n)
            scratch[k++] = all->at[h].t.mean;
    all->spread = NAN;
    if (k < 3)
        return;
    all->middle = stats_median(scratch, k);
    for (size_t i = 0; i < k; i++)
        scratch[i] = fabs(scratch[i] - all->middle);
    if (k >= HOSTS_KNOWN)
        all->spread = 1.4826 * stats_median(scratch, k);
}

/* Returns true if all processes of a host are late by about as much, `late` of
 * them on average, in the window (NULL: in the whole run). */
static bool is_host_alike(const struct work *w, size_t host, double late,
                          const struct window *part)
{
    for (size_t p = 0; p < w->p->n; p++) {
        const struct judge_process *x = &w->j->processes[p];
        double own = x->total_us;

        if (w->p->list[p].host_at != host || !x->judged)
            continue;
        if (part) {
            own = 0;
            for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
                own += part->in >> k & 1 ? x->blocks_us[k] : 0;
        }
        if (!(own > late / 2))
            return false;
    }
    return true;
}

/* Returns what a process exceeds its mates by in the window (NULL: in the whole
 * run). */
static double beyond_mates(const struct judge_process *x,
                           const struct window *part)
{
    double us = part ? 0 : x->excess_us;

    for (unsigned k = 0; part && k < JUDGE_BLOCKS; k++)
        us += part->in >> k & 1 ? x->own_us[k] : 0;
    return us;
}

/* Returns true if one of a host's processes exceeds its mates by more than half
 * of `late`, which some of its mates here do not do by half as much. Then that
 * process is late, and its mates are so with it. */
static bool is_one_apart(const struct work *w, size_t host, double late,
                         const struct window *part)
{
    const uint32_t *mates = w->mates, *closest = w->run->closest;
    size_t end;

    for (size_t i = 0; i < w->p->n; i = end) {
        double most = -INFINITY, fewest = INFINITY;

        for (end = i;
             end < w->p->n && w->p->list[mates[end]].host_at == host &&
             (end == i || (closest[mates[end]] == closest[mates[i]] &&
                           closest[mates[i]] != UINT32_MAX &&
                           w->run->role[mates[end]] == w->run->role[mates[i]]));
             end++) {
            double us = beyond_mates(&w->j->processes[mates[end]], part);

            most = fmax(most, us);
            fewest = fmin(fewest, us);
        }
        if (end > i + 1 && most > late / 2 && fewest < most / 2)
            return true;
        end += end == i; /* of another host */
    }
    return false;
}

/* Fills `led`. 0, or -1: no memory. */
static int find_led(const struct work *w, struct hosts *all)
{
    struct shortest *of = find_shortest(w);

    all->led = calloc(w->p->n + 1, sizeof(*all->led));
    for (uint32_t i = 0; of && all->led && i < w->run->n_ops; i++)
        if (!of[i].hosts && is_waited_for(w->run, i, &of[i]))
            all->led[of[i].process][judge_block_of(of[i].at)] += of[i].next_us -
                                                                 of[i].us;
    free(of);
    return of && all->led ? 0 : -1;
}

/* Sets *led if the others of a host waited for one of them by more than half of
 * `late`, and by as much more than for each other, in the window (NULL: in the
 * whole run). Where operations of other hosts overlap computation, these
 * compute while they wait, so all of the host seem to compute longer for the
 * one that is late. 0, or -1: no memory. */
static int ask_led(const struct work *w, struct hosts *all, size_t host,
                   double late, const struct window *part, bool *led)
{
    double most = 0, next = 0;

    if (!all->led && find_led(w, all) < 0)
        return -1;
    for (size_t p = 0; p < w->p->n; p++) {
        double us = 0;

        for (unsigned k = 0; w->p->list[p].host_at == host && k < JUDGE_BLOCKS;
             k++)
            us += !part || part->in >> k & 1 ? (double) all->led[p][k] : 0;
        next = fmax(next, fmin(us, most));
        most = fmax(most, us);
    }
    *led = most - next > late / 2;
    return 0;
}

/* Returns the standard deviation of the processes of one host. */
static double spread_within(const struct work *w, const struct host *hosts)
{
    double squares = 0;
    size_t n = 0, used = 0;

    for (size_t p = 0; p < w->p->n; p++) {
        const struct host *h = &hosts[w->p->list[p].host_at];
        const struct judge_process *x = &w->j->processes[p];
        double off = x->total_us - h->total / (double) h->n;

        if (!x->judged || h->n < 2)
            continue;
        squares += off * off;
        n++;
    }
    for (size_t h = 0; h < w->p->n_hosts; h++)
        used += hosts[h].n > 1;
    return n > used ? sqrt(squares / (double) (n - used)) : 0;
}

/* Returns by how much the mean of a host may exceed that of the others if
 * processes differ as they do within hosts. */
static double least_of_host(const struct work *w, const struct host *h,
                            double within)
{
    double others = (double) (w->j->n_judged - h->n);
    size_t freedom = w->j->n_judged - w->p->n_hosts;

    if (others < 1)
        return w->j->run_us;
    return stats_student_quantile(judge_chance(w->p->n_hosts),
                                  (unsigned) freedom) *
           within * sqrt(1 / (double) h->n + 1 / others);
}

/* Returns true if a host is late, by `late` on average: more than the means of
 * hosts, or of processes where hosts are few, differ. */
static bool is_host_late(const struct work *w, const struct hosts *all,
                         const struct host *h, double late)
{
    double least = least_of_host(w, h, all->within);

    if (isfinite(all->spread)) {
        double freedom = (double) all->n / 3;
        double sd = judge_moderate(
            w->worth_us, freedom * all->spread * all->spread, &freedom);

        least = fmax(least, stats_student_quantile(judge_chance(all->n),
                                                   (unsigned) freedom) *
                                sd);
    }
    return late - h->out > fmax(least, w->worth_us) &&
           !is_by_net(w->j, h->net / (double) h->n, late);
}

/* Names a host if it is late, in a part of the run or all along. 0 or -1. */
static int name_node(struct work *w, struct hosts *all, size_t host,
                     bool *named)
{
    const struct host *h = &all->at[host];
    struct window late;
    double chance = judge_chance(all->n), mean = h->t.mean - all->middle;
    bool onset, all_along, led;
    struct judge_answer *a;

    if (h->n < 2 || h->n < h->all || w->j->n_judged <= all->n)
        return 0;
    late = find_window(h->blocks, &all->noise);
    onset = w->j->processes[h->worst].intervals >= JUDGE_KNOWN_INTERVALS &&
            stands_out(h->blocks, &late, &all->noise, chance, w->scratch) &&
            is_host_late(w, all, h, late.late_us) &&
            is_host_alike(w, host, late.late_us, &late) &&
            !is_one_apart(w, host, late.late_us, &late);
    all_along =
        mean > stats_student_quantile(chance, judge_freedom_of(JUDGE_BLOCKS)) *
                   h->t.error &&
        is_host_late(w, all, h, mean) &&
        is_host_alike(w, host, h->t.mean, NULL) &&
        !is_one_apart(w, host, mean, NULL);
    if (!onset && !all_along)
        return 0;
    if (ask_led(w, all, host, onset ? late.late_us : mean, onset ? &late : NULL,
                &led) < 0)
        return -1;
    if (led)
        return 0;
    a = judge_add(w->j, w->p, JUDGE_NODE, h->worst);
    if (!a)
        return -1;
    a->excess_us = onset ? late.late_us : mean;
    a->error_us = onset ? late.error_us : h->t.error;
    a->times = h->n;
    if (onset)
        set_window(a, &late);
    for (size_t p = 0; p < w->p->n; p++)
        named[p] |= w->p->list[p].host_at == host;
    return 0;
}

/* Fills `apart` from some of the processes. A host that becomes late makes the
 * others seem early to the same extent, and all the more the fewer they are, so
 * means of hosts do not show how long noise lasts. */
static void set_apart(const struct work *w, struct hosts *all)
{
    struct apart *of = &all->apart;
    size_t step = step_of(w->p->n);

    for (size_t p = 0; p < w->p->n; p += step) {
        const struct judge_process *x = &w->j->processes[p];
        const struct host *h = &all->at[w->p->list[p].host_at];

        if (!x->judged || h->n < 2)
            continue;
        of->list[of->n] = of->blocks[of->n];
        for (unsigned k = 0; k < JUDGE_BLOCKS; k++)
            of->blocks[of->n][k] = x->blocks_us[k] - h->blocks[k];
        of->n++;
    }
    all->noise.lasting = of->n ? of->list : NULL;
    all->noise.n_lasting = of->n;
}

/* Sets how hosts differ, and what their noise is like. */
static void measure_hosts(struct work *w, struct hosts *all)
{
    double *noise = w->scratch;
    size_t k = 0;

    for (size_t h = 0; h < all->n; h++) {
        struct host *host = &all->at[h];

        if (!host->n)
            continue;
        for (unsigned b = 0; b < JUDGE_BLOCKS; b++)
            host->blocks[b] /= (double) host->n;
        host->t = judge_resample(host->blocks, JUDGE_BLOCKS);
        noise[k] = judge_neighbours(host->blocks);
        w->blocks[k++] = host->blocks;
    }
    all->noise = (struct noise){.blocks = w->blocks, .n = k};
    if (!k)
        return;
    all->noise.variance = stats_median(noise, k);
    set_apart(w, all);
    compare_hosts(all, w->scratch);
    all->within = spread_within(w, all->at);
}

/* Names hosts of which all processes are late by about as much. named: set for
 * their processes. 0 or -1. */
static int name_nodes(struct work *w, bool *named)
{
    struct hosts *all = calloc(1, sizeof(*all));
    int rc = all ? 0 : -1;

    if (rc == 0) {
        all->n = w->p->n_hosts;
        all->at = calloc(all->n + 1, sizeof(*all->at));
        rc = all->at ? 0 : -1;
    }
    for (size_t p = 0; rc == 0 && p < w->p->n; p++)
        add_to_host(w, p, &all->at[w->p->list[p].host_at]);
    if (rc == 0)
        measure_hosts(w, all);
    for (size_t h = 0; rc == 0 && h < all->n; h++)
        rc = name_node(w, all, h, named);
    if (all) {
        free(all->at);
        free(all->led);
    }
    free(all);
    return rc;
}

/* --- processes ------------------------------------------------------------ */

/* Names a process that is late from some time on, or all along. A part of the
 * run is told only where its blocks have enough intervals: of a run of a few
 * steps a part is one step, and its work differs by chance. 0 or -1. */
static int name_process(struct work *w, size_t p, bool *named)
{
    struct judge *j = w->j;
    struct judge_process *x = &j->processes[p];
    const struct noise noise = {.blocks = w->blocks + w->role_from[x->role],
                                .n = x->likes,
                                .variance = x->usual_noise};
    const struct window late = find_window(x->own_us, &noise);
    bool onset = x->intervals >= JUDGE_KNOWN_INTERVALS &&
                 late.late_us > w->worth_us &&
                 stands_out(x->own_us, &late, &noise, judge_chance(j->n_judged),
                            w->scratch);
    struct judge_answer *a;

    if ((!onset && !(x->excess_us > x->least_us)) ||
        (!onset && !(x->total_us > x->apart_us / 2)) ||
        is_by_net(j, x->net_us, onset ? late.late_us : x->excess_us))
        return 0;
    a = judge_add(j, w->p, onset ? JUDGE_ONSET : JUDGE_LATE, p);
    if (!a)
        return -1;
    a->excess_us = onset ? late.late_us : x->excess_us;
    a->error_us = onset ? late.error_us : x->error_us;
    if (onset)
        set_window(a, &late);
    a->times = w->run->first[p + 1] - w->run->first[p];
    a->part = x->total_us > x->excess_us ? x->excess_us / x->total_us : 1;
    named[p] = true;
    return 0;
}

/* Makes one answer of those about all processes of a host: each of them is late
 * beyond doubt, so their node is, though the mean of its blocks may vary by the
 * lateness itself. 0 or -1. */
static int join_nodes(struct work *w)
{
    struct judge *j = w->j;
    size_t *named = calloc(w->p->n_hosts + 1, sizeof(*named)), kept = 0;
    size_t *all = calloc(w->p->n_hosts + 1, sizeof(*all));
    size_t *first = calloc(w->p->n_hosts + 1, sizeof(*first));
    int rc = named && all && first ? 0 : -1;

    for (size_t p = 0; rc == 0 && p < w->p->n; p++)
        all[w->p->list[p].host_at]++;
    for (size_t i = 0; rc == 0 && i < j->n; i++)
        named[j->answers[i].host] += judge_is_late(&j->answers[i]);
    for (size_t i = 0; rc == 0 && i < j->n; i++) {
        struct judge_answer *a = &j->answers[i], *node;
        size_t h = a->host;

        if (a->kind == JUDGE_NODE || named[h] < 2 || named[h] < all[h] ||
            all[h] == w->p->n) {
            j->answers[kept++] = *a;
            continue;
        }
        if (!first[h]) {
            first[h] = kept + 1;
            j->answers[kept] = *a;
            node = &j->answers[kept++];
            node->kind = JUDGE_NODE;
            node->excess_us = 0;
            node->part = 1;
            node->times = all[h];
        }
        node = &j->answers[first[h] - 1];
        node->excess_us += a->excess_us / (double) all[h];
        node->error_us = fmax(node->error_us, a->error_us);
        if (j->processes[a->process].total_us >
            j->processes[node->process].total_us)
            node->process = a->process;
        if ((node->blocks | a->blocks) != node->blocks) {
            struct window late = {.in = node->blocks | a->blocks};

            set_window(node, &late);
        }
    }
    if (rc == 0)
        j->n = kept;
    free(named);
    free(all);
    free(first);
    return rc;
}

int judge_name_all(struct work *w, bool *named)
{
    struct judge *j = w->j;
    int rc = name_nodes(w, named);

    for (size_t i = 0; i < w->p->n; i++)
        w->blocks[i] = j->processes[w->members[i]].own_us;
    for (size_t p = 0; rc == 0 && p < w->p->n; p++)
        if (j->processes[p].judged && !named[p])
            rc = name_process(w, p, named);
    return rc == 0 ? join_nodes(w) : -1;
}
