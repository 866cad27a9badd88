/* judge_window.c - the part of the run in which somebody is late.
 *
 * Of the run's blocks, judge_window_find() tries each stretch, several
 * stretches of one height, and a growth; judge_window_stands_out() says whether
 * noise would make the best one. judge.h has the formulas (Chance).
 */
#include "orchestrator/judge/judge_work.h"

#include <math.h>
#include <string.h>

#include "common/stats.h"

#define BEFORE 0.25    /* an onset: of the excess since then, before it */
#define WINDOW_LEAST 4 /* blocks, in it and before it, after the start */
#define STRETCH 3      /* blocks of a stretch, on average: one event has two */
#define RAMPS 0.25     /* of the chance, for a lateness that grows */
#define PAIRS 2.0      /* noise lasts for so many blocks, at least */
#define CARRIED_MOST 0.9 /* of the noise of a block, to the next one */

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

        for (size_t i = 0; i < noise->n; i += judge_window_step(noise->n))
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

    for (size_t i = 0; i < of_all; i += judge_window_step(of_all)) {
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

/* Returns true if noise makes a window of blocks with less than that chance,
 * also if it lasts as long as it does elsewhere: ranks wander, they are slower
 * for some iterations, then faster.
 *
 * Who is late does not lose equally much in each block: in an evaluation there
 * is less to compute. Such scatter is on one side only. Noise is on both, and
 * makes its process early, too. So the scatter on that side decides; with all
 * of it the window must still be confirmed. */
bool judge_window_stands_out(const double *blocks, const struct window *late,
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

/* Most lateness is there at once, so a growing one has RAMPS of the chance. */
struct window judge_window_find(const double *blocks, const struct noise *noise)
{
    struct window best = {.chance = 1}, many, ramp;
    double sum[JUDGE_BLOCKS + 1] = {0}, squares = 0, most = 0, rest = 0;
    double n = JUDGE_BLOCKS - START_BLOCKS;
    unsigned tried = 0;

    for (unsigned k = START_BLOCKS; k < JUDGE_BLOCKS; k++) {
        sum[k + 1] = sum[k] + blocks[k];
        squares += blocks[k] * blocks[k];
    }
    for (unsigned from = START_BLOCKS + WINDOW_LEAST;
         from + WINDOW_LEAST <= JUDGE_BLOCKS; from++)
        for (unsigned to = from + WINDOW_LEAST; to <= JUDGE_BLOCKS; to++) {
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
    best.tried = tried / (1 - RAMPS);
    if (best.in)
        finish_window(&best, blocks, rest, noise);
    many = find_stretches(blocks, noise);
    if (many.chance < best.chance)
        best = many;
    ramp = find_ramp(blocks, noise);
    return ramp.chance < best.chance ? ramp : best;
}

void judge_window_set(struct judge_answer *a, const struct window *late)
{
    a->blocks = late->in;
    a->stretches = stretches(late->in);
    a->share = (double) __builtin_popcount(late->in) / JUDGE_BLOCKS;
    a->from = (double) __builtin_ctz(late->in) / JUDGE_BLOCKS;
    a->to = 1 - (double) __builtin_clz(late->in) / JUDGE_BLOCKS;
}
