/* plain.c - the short sentences that readers see first.
 *
 * plain_finding and plain_verdict are the entries. Each kind of finding has one
 * add_* function that appends to a struct text; kinds without one use the first
 * clause of the finding's own text (add_clause). tests/report/plain.test prints
 * all sentences, so a change of wording shows there.
 */
#include "orchestrator/insight/plain.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/limits.h"

/* --- figures -------------------------------------------------------------- */

char *plain_share(double share, char buf[JP_PLAIN_FIGURE])
{
    double percent = 100 * share;

    if (!isfinite(share))
        snprintf(buf, JP_PLAIN_FIGURE, "-");
    else if (percent > 0 && percent < 0.1)
        snprintf(buf, JP_PLAIN_FIGURE, "<0.1 %%");
    /* 99 % is the largest share below all: "100 %" must mean all of it. */
    else if (percent >= 99.95)
        snprintf(buf, JP_PLAIN_FIGURE, "%.0f %%", percent);
    else
        snprintf(buf, JP_PLAIN_FIGURE, percent >= 9.95 ? "%.0f %%" : "%.1f %%",
                 percent >= 9.95 ? fmin(percent, 99) : percent);
    return buf;
}

/* Returns the value with two digits, more only before the decimal point. */
static char *two_digits(double value, char buf[JP_PLAIN_FIGURE])
{
    if (value >= 9.95)
        figure_count((uint64_t) (value + 0.5), buf);
    else
        snprintf(buf, JP_PLAIN_FIGURE, "%.1f", value);
    return buf;
}
#define TWO_DIGITS(value) two_digits((value), (char[JP_PLAIN_FIGURE]){0})
#define SHARE(share) plain_share((share), (char[JP_PLAIN_FIGURE]){0})

char *plain_gpu_time(double us, char buf[JP_PLAIN_FIGURE])
{
    double s = us / 1e6;

    if (!isfinite(us))
        snprintf(buf, JP_PLAIN_FIGURE, "-");
    else if (s < 0.1)
        snprintf(buf, JP_PLAIN_FIGURE, "%s GPU-milliseconds",
                 TWO_DIGITS(s * 1e3));
    else if (s < 120)
        snprintf(buf, JP_PLAIN_FIGURE, "%s GPU-seconds", TWO_DIGITS(s));
    else if (s < 7200)
        snprintf(buf, JP_PLAIN_FIGURE, "%s GPU-minutes", TWO_DIGITS(s / 60));
    else
        snprintf(buf, JP_PLAIN_FIGURE, "%s GPU-hours", TWO_DIGITS(s / 3600));
    return buf;
}
#define GPU_TIME(us) plain_gpu_time((us), (char[JP_PLAIN_FIGURE]){0})

char *plain_time(double us, char buf[JP_PLAIN_FIGURE])
{
    static const char *const units[] = {"us", "ms", "s"};
    size_t i = 0;

    /* Anything smaller would print as "0.0 us". */
    if (us < 0.05)
        us = 0;
    /* 999.5 would round to 1000 of the smaller unit. */
    while (us >= 999.5 && i < 2) {
        us /= 1e3;
        i++;
    }
    snprintf(buf, JP_PLAIN_FIGURE, "%.*f %s", us > 0 && us < 9.95, us,
             units[i]);
    return buf;
}
#define TIME(us) plain_time((us), (char[JP_PLAIN_FIGURE]){0})

/* Returns "11:02:03 UTC" for a time since 1970: the date is known to the
 * reader. */
static const char *time_of_day(double us, char buf[JP_FIGURE_LEN])
{
    const char *blank;

    figure_utc((uint64_t) us, buf);
    blank = strchr(buf, ' ');
    return blank ? blank + 1 : buf;
}
#define TIME_OF_DAY(us) time_of_day((us), (char[JP_FIGURE_LEN]){0})

/* --- sentences ------------------------------------------------------------ */

/* A text that grows in a buffer of JP_PLAIN_TEXT bytes. */
struct text {
    char *buf;
    size_t len;
};

/* Appends to the text, as far as it fits. */
__attribute__((format(printf, 2, 3))) static void add_text(struct text *t,
                                                           const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(t->buf + t->len, JP_PLAIN_TEXT - t->len, fmt, ap);
    va_end(ap);
    if (n > 0)
        t->len += (size_t) n < JP_PLAIN_TEXT - t->len
                      ? (size_t) n
                      : JP_PLAIN_TEXT - 1 - t->len;
}

/* Returns the communicator's name; "" if it has none or is unknown. */
static const char *comm_name(const struct jp_result *r, int64_t comm)
{
    const char *name;

    if (!r || comm < 0 || (size_t) comm >= r->n_comms)
        return "";
    name = r->comms[comm].name;
    return name && strcmp(name, "unknown") != 0 ? name : "";
}

/* Adds "Rank 3 (n2, pid 22600)": the rank in the job if it is known, else in
 * its communicator. */
static void add_rank(struct text *t, const struct jp_finding *f,
                     const struct jp_result *r)
{
    const char *name = comm_name(r, f->comm);

    if (f->world_rank >= 0)
        add_text(t, "Rank %" PRId64, f->world_rank);
    else if (*f->name)
        add_text(t, "Rank %.50s", f->name);
    else if (f->rank >= 0 && *name)
        add_text(t, "Rank %" PRId64 " of %.40s", f->rank, name);
    else if (f->rank >= 0)
        add_text(t, "Rank %" PRId64 " of its communicator", f->rank);
    else
        add_text(t, "A rank");
    if (*f->host && f->pid >= 0)
        add_text(t, " (%.64s, pid %" PRId64 ")", f->host, f->pid);
    else if (*f->host)
        add_text(t, " (%.64s)", f->host);
}

/* Adds "12 % of the run, 29 % of communication time": of the run first, because
 * a share of communication reads as one of the run. */
static void add_shares(struct text *t, const struct jp_finding *f)
{
    if (isfinite(f->of_run))
        add_text(t, "%s of %s, ", SHARE(f->of_run), finding_run(f));
    add_text(t, "%s of communication time.", SHARE(f->share));
}

/* Adds the phase in which it is late, if one stands out. */
static void add_phase(struct text *t, const struct jp_finding *f)
{
    if (!*f->phase)
        return;
    add_text(t,
             " It is late in %s: by %s in %s of %s operations, %s of its "
             "lateness.",
             f->phase, TIME(f->phase_us), FIG_COUNT(f->phase_times),
             FIG_COUNT(f->phase_of), SHARE(f->phase_share));
}

/* Adds what the others lose by a late rank, node or stall. */
static void add_loss(struct text *t, const struct jp_finding *f)
{
    if (!isfinite(f->share))
        return;
    add_text(t, " The others lose %s", finding_bound(f));
    if (isfinite(f->cost_us) && f->cost_us > 0)
        add_text(t, "%s, ", GPU_TIME(f->cost_us));
    add_shares(t, f);
}

/* "Rank 3 (n2, pid 7) holds up the job: it reaches every TP0 collective 3.8 ms
 * late (15 of 15). That began at 11:02:03 UTC. The others lose ..." By own
 * times alone it is not known which operations it reaches late. */
static void add_late_rank(struct text *t, const struct jp_finding *f,
                          const struct jp_result *r)
{
    const char *name = comm_name(r, f->comm);
    bool messages = r && f->comm >= 0 && (size_t) f->comm < r->n_comms &&
                    r->comms[f->comm].p2p_records && !r->comms[f->comm].ops;

    add_rank(t, f, r);
    add_text(t, " holds up the job");
    if (isfinite(f->by_us) && f->of && f->by_own_time && !f->confirmed)
        add_text(
            t,
            ": it computes %s longer than its peers before operations, in %s "
            "of %s",
            TIME(f->by_us), FIG_COUNT(f->times), FIG_COUNT(f->of));
    else if (isfinite(f->by_us) && f->by_own_time && !f->confirmed)
        add_text(
            t,
            ": it computes %s longer than its peers before an operation, on "
            "average",
            TIME(f->by_us));
    else if (isfinite(f->by_us) && f->of && f->times == f->of)
        add_text(t, ": it reaches every %.40s%s%s %s late (%s of %s)", name,
                 *name ? " " : "", messages ? "message" : "collective",
                 TIME(f->by_us), FIG_COUNT(f->times), FIG_COUNT(f->of));
    else if (isfinite(f->by_us) && f->of)
        add_text(
            t,
            ": it reaches its %.40s%s%ss %s late on average, last in %s of %s",
            name, *name ? " " : "", messages ? "message" : "collective",
            TIME(f->by_us), FIG_COUNT(f->times), FIG_COUNT(f->of));
    add_text(t, ".");
    add_phase(t, f);
    if (isfinite(f->from_us))
        add_text(t, " That began at %s.", TIME_OF_DAY(f->from_us));
    add_loss(t, f);
}

/* by_us, times and of are here: how late its ranks are, and how many of how
 * many ranks. */
static void add_late_node(struct text *t, const struct jp_finding *f,
                          const struct jp_result *r)
{
    (void) r;
    add_text(t, "Node %.64s holds up the job", *f->host ? f->host : "?");
    if (isfinite(f->by_us) && f->of)
        add_text(t, ": %s%s of its %s ranks reach%s their collectives %s late",
                 f->times == f->of && f->of > 1 ? "all" : "",
                 f->times == f->of && f->of > 1 ? "" : FIG_COUNT(f->times),
                 FIG_COUNT(f->of), f->times == 1 ? "es" : "", TIME(f->by_us));
    add_text(t, ".");
    if (f->stage)
        add_text(t,
                 " It is stage %" PRIu32 " of %" PRIu32 ", which may have more "
                 "layers.",
                 f->stage, f->stages);
    add_loss(t, f);
}

/* A stage of a pipeline; other imbalances have their text. */
static void add_imbalance(struct text *t, const struct jp_finding *f,
                          const struct jp_result *r)
{
    add_text(
        t,
        "Stage %" PRIu32 " of %" PRIu32 " holds up the pipelines: its ranks "
        "spend %s %s than the others.",
        f->stage, f->stages, TIME(f->by_us),
        f->by_own_time ? "more between operations" : "less in communication");
    /* traces of kernels show it */
    if (!f->by_own_time && (!r || !r->traced.n))
        add_text(t, " How much longer they compute is not recorded.");
    if (*f->host)
        add_text(t, " It is node %.64s: more layers, or a slow node.", f->host);
    add_loss(t, f);
}

/* by_us is the length of a stall, times how many there were. */
static void add_stall(struct text *t, const struct jp_finding *f,
                      const struct jp_result *r)
{
    add_rank(t, f, r);
    if (f->times == 1)
        add_text(t, " stopped once");
    else
        add_text(t, " stops now and then");
    if (isfinite(f->by_us) && f->times == 1)
        add_text(t, ", for %s", TIME(f->by_us));
    else if (isfinite(f->by_us) && f->times)
        add_text(t, ": %s times, for about %s", FIG_COUNT(f->times),
                 TIME(f->by_us));
    add_text(t, ".");
    add_phase(t, f);
    add_loss(t, f);
}

/* by_us is how long the others waited, times in how many operations. */
static void add_long_wait(struct text *t, const struct jp_finding *f,
                          const struct jp_result *r)
{
    add_rank(t, f, r);
    if (f->others)
        add_text(t, " kept %s rank%s waiting", FIG_COUNT(f->others),
                 plural(f->others));
    else
        add_text(t, " kept the others waiting");
    if (isfinite(f->by_us))
        add_text(t, " for %s", TIME(f->by_us));
    if (isfinite(f->from_us))
        add_text(t, ", at %s", TIME_OF_DAY(f->from_us));
    add_text(t, ".");
    add_loss(t, f);
}

/* times is how many ranks were the slowest ones, of in how many operations. */
static void add_turns(struct text *t, const struct jp_finding *f,
                      const struct jp_result *r)
{
    (void) r;
    add_text(t, "Ranks wait by turns, each time for another one");
    if (f->of)
        add_text(t, ": %s ranks were the slowest ones, in %s operations",
                 FIG_COUNT(f->times), FIG_COUNT(f->of));
    add_text(t, ". Nobody in particular causes it.");
    add_loss(t, f);
}

/* Adds what a slow network costs. */
static void add_cost(struct text *t, const struct jp_finding *f)
{
    if (!isfinite(f->cost_us) || !isfinite(f->share))
        return;
    add_text(t, " That costs %s, ", GPU_TIME(f->cost_us));
    add_shares(t, f);
}

/* Adds in how many communicators or pairs the network is slow, and with which
 * nodes. */
static void add_where(struct text *t, const struct jp_finding *f,
                      const struct jp_result *r)
{
    const char *name = comm_name(r, f->comm);

    if (f->messages && f->comms)
        add_text(t, ", in %s pair%s of ranks", FIG_COUNT(f->comms),
                 plural(f->comms));
    else if (f->comms)
        add_text(t, ", in %s %.40s%scommunicator%s", FIG_COUNT(f->comms), name,
                 *name ? " " : "", plural(f->comms));
    if (f->comms && f->nodes)
        add_text(t, ", all with the same %s of %s nodes", FIG_COUNT(f->nodes),
                 FIG_COUNT(f->of_nodes));
}

/* Four comparisons have four wordings: with the past, with peaks, with earlier
 * steps, with likes. */
static void add_slow_network(struct text *t, const struct jp_finding *f,
                             const struct jp_result *r)
{
    static const char *const than[JP_N_AGAINST] = {
        [JP_AGAINST_PEAKS] = " than its peak",
        [JP_AGAINST_BASELINE] = " than in earlier steps",
        [JP_AGAINST_LIKES] = " than its peers",
    };
    bool own = f->against == JP_AGAINST_OWN;

    add_text(t, "%s", f->messages ? "Send and Recv" : "The network");
    if (*f->host)
        add_text(t, " of node %.64s", f->host);
    else if (*f->between)
        add_text(t, " between %s", f->between);
    if (!isfinite(f->ratio)) {
        add_text(t, f->messages ? " are slow" : " is slow");
    } else if (own) {
        add_text(t, " became %s x slower", TWO_DIGITS(f->ratio));
        if (isfinite(f->from_us))
            add_text(t, " at %s", TIME_OF_DAY(f->from_us));
    } else {
        add_text(t, " %s %s x slower%s", f->messages ? "are" : "is",
                 TWO_DIGITS(f->ratio),
                 !than[f->against] ? ""
                 : f->messages     ? " than their peers"
                                   : than[f->against]);
    }
    add_where(t, f, r);
    add_text(t, ".");
    add_cost(t, f);
}

static void add_drift(struct text *t, const struct jp_finding *f,
                      const struct jp_result *r)
{
    add_text(t, "The network became slower during the whole run");
    if (isfinite(f->ratio))
        add_text(t, ", by up to %s x", TWO_DIGITS(f->ratio));
    add_where(t, f, r);
    add_text(t, ".");
    add_cost(t, f);
}

/* Adds the first clause of a text as a sentence. A clause ends in ';', unless
 * that is in brackets. A clause that is too long ends at its colon, else before
 * its brackets, else in "...". */
static void add_clause(struct text *t, const char *text)
{
    size_t from = t->len, n, bracket = 0, colon = 0, words = 1;
    unsigned depth = 0;
    bool is_cut = false;

    for (n = 0; text[n] && (text[n] != ';' || depth); n++) {
        if (text[n] == '(' && !depth++)
            bracket = n;
        else if (text[n] == ')' && depth)
            depth--;
        else if (text[n] == ':' && text[n + 1] == ' ' && !depth && !colon)
            colon = n;
        else if (text[n] == ' ' && ++words > JP_PLAIN_WORDS) {
            is_cut = true;
            break;
        }
    }
    if (is_cut && colon) {
        n = colon;
        is_cut = false;
    } else if (depth && bracket > 1) {
        n = bracket - 1;
        is_cut = false;
    }
    if (is_cut && text[n - 1] == ',')
        n--;
    add_text(t, "%.*s%s", (int) n, text, is_cut ? " ..." : ".");
    if (t->len > from)
        t->buf[from] = (char) toupper((unsigned char) t->buf[from]);
}

/* --- hangs ---------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

    return (x > y) - (x < y);
}

/* Without memory no rank is named. */
char *plain_hang_ranks(const struct jp_hang_op *op, enum jp_hang_state state,
                       unsigned most, char *buf, size_t size)
{
    int64_t *ranks = calloc(op->n_ranks + 1, sizeof(*ranks));
    uint32_t n = 0;
    size_t len = 0;
    unsigned ranges = 0;

    buf[0] = '\0';
    for (uint32_t i = 0; ranks && i < op->n_ranks; i++)
        if (op->states[i] == (uint8_t) state)
            ranks[n++] = op->ranks[i];
    if (n)
        qsort(ranks, n, sizeof(*ranks), by_number);
    for (uint32_t i = 0, k; i < n && len < size; i = k) {
        int64_t from = ranks[i], to = from;

        for (k = i + 1; k < n && ranks[k] == to + 1; k++)
            to++;
        if (ranges++ == most) {
            snprintf(buf + len, size - len, ", ...");
            break;
        }
        len += (size_t) snprintf(buf + len, size - len,
                                 from == to ? "%s%" PRId64
                                            : "%s%" PRId64 "-%" PRId64,
                                 ranges > 1 ? ", " : "", from, to);
    }
    free(ranks);
    return buf;
}

/* Returns how many ranks of a hanging operation are in this state. */
static uint32_t count_ranks(const struct jp_hang_op *op,
                            enum jp_hang_state state)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < op->n_ranks; i++)
        n += op->states[i] == (uint8_t) state;
    return n;
}

/* Adds "Rank 5 (n3) stopped.": the ranks that never entered the oldest
 * operation, else those that are held up in another one, else those of which it
 * is unknown: they left no recording, or theirs ends too early. */
static void add_stopped(struct text *t, const struct jp_hang *hang,
                        const struct jp_hang_op *op)
{
    enum jp_hang_state who = count_ranks(op, JP_HANG_ABSENT) ? JP_HANG_ABSENT
                             : count_ranks(op, JP_HANG_ELSEWHERE)
                                 ? JP_HANG_ELSEWHERE
                                 : JP_HANG_UNKNOWN;
    uint32_t n = count_ranks(op, who);
    char ranks[80];

    plain_hang_ranks(op, who, 4, ranks, sizeof(ranks));
    if (!n)
        add_text(
            t, "An operation never ended, although all its ranks have entered "
               "it.");
    else if (who == JP_HANG_ABSENT)
        add_text(t, "Rank%s %s%s%.64s%s stopped.", plural(n), ranks,
                 n == 1 && *hang->host ? " (" : "", n == 1 ? hang->host : "",
                 n == 1 && *hang->host ? ")" : "");
    else if (who == JP_HANG_ELSEWHERE)
        add_text(t, "Rank%s %s %s held up in another operation.", plural(n),
                 ranks, n == 1 ? "is" : "are");
    else
        add_text(t, "What rank%s %s did then is not recorded.", plural(n),
                 ranks);
}

/* Adds which ranks wait in which operation, for the two oldest ones. */
static void add_hang_ops(struct text *t, const struct jp_hang *hang)
{
    size_t said = 0;

    for (size_t i = 0; i < hang->n_ops && said < 2; i++) {
        const struct jp_hang_op *op = &hang->ops[i];
        uint32_t n = count_ranks(op, JP_HANG_IN);
        char ranks[80];

        if (!n)
            continue;
        plain_hang_ranks(op, JP_HANG_IN, 4, ranks, sizeof(ranks));
        if (!said)
            add_text(t, " Rank%s %s wait%s in %.20s %" PRIu64 " (%.20s)",
                     plural(n), ranks, n == 1 ? "s" : "", op->coll, op->sn,
                     op->name);
        else
            add_text(t, "; rank%s %s in %.20s %" PRIu64 " (%.20s)", plural(n),
                     ranks, op->coll, op->sn, op->name);
        said++;
    }
    if (said)
        add_text(t, ".");
}

/* f NULL: the verdict is HANG without a finding. Hangs found by counts have no
 * operations in flight; then the clause of the finding is all that is known. */
static void add_hang(struct text *t, const struct jp_finding *f,
                     const struct jp_result *r)
{
    const struct jp_hang *hang = r ? &r->hang : NULL;

    if (hang && hang->dumps && *hang->text) {
        add_text(t, "%s", hang->text);
        return;
    }
    if (!hang || hang->dumps || !hang->n_ops || !hang->ops[0].n_ranks) {
        add_clause(t, f                     ? f->text
                      : hang && *hang->text ? hang->text
                                            : "the step hangs");
        return;
    }
    add_stopped(t, hang, &hang->ops[0]);
    add_hang_ops(t, hang);
    add_text(t, " Stuck");
    if (hang->since_us > 0)
        add_text(t, " since %s,", TIME_OF_DAY((double) hang->since_us));
    add_text(t, " for at least %s.", FIG_US((double) hang->age_us));
    if (f && *f->ended)
        add_text(t, " %c%s.", toupper((unsigned char) *f->ended), f->ended + 1);
}

/* --- tasks that died ------------------------------------------------------ */

/* Adds the first task that died, how, and whether it certainly was the first.
 */
static void add_crash(struct text *t, const struct jp_crash *crash)
{
    char whom[JP_CRASH_WHOM], error[JP_CRASH_ERROR];
    char untold[JP_CRASH_UNTOLD_TEXT];

    if (!crash->task || !crash->node) {
        add_clause(t, crash->text);
        return;
    }
    crash_whom(crash, whom);
    add_text(t, "%c%s", toupper((unsigned char) *whom), whom + 1);
    add_text(t, " (%.64s, pid %" PRId64 ") %s", crash->node->name,
             crash->task->pid,
             crash->earlier    ? "failed"
             : crash->launches ? "ended"
                               : "ended first");
    if (crash->cause != JP_CRASH_MEMORY && crash->signal)
        add_text(t, ", killed by %s", crash_signal_name(crash->signal));
    else if (crash->cause != JP_CRASH_MEMORY && crash->code >= 0)
        add_text(t, ", with exit status %d", crash->code);
    if (*crash->in)
        add_text(t, ", last seen in %.60s", crash->in);
    if (crash->cause == JP_CRASH_MEMORY)
        add_text(t, ": its node had no memory left");
    add_text(t, ".");
    if (*crash_error(crash, error))
        add_text(t, " Its exception: %s.", error);
    if (crash->launches) {
        add_text(t, " It launched the ranks; %s.", crash_untold(crash, untold));
        return;
    }
    if (crash->before_us > 0 && !crash->rivals)
        add_text(t, " The next %s ended %s%s later.",
                 crash->task->is_worker ? "process" : "task",
                 crash_is_coarse(crash) ? "at most " : "",
                 TIME((double) crash->before_us));
    if (crash->earlier)
        add_text(t, " %s other %s%s had ended before, with status 0.",
                 FIG_COUNT(crash->earlier),
                 crash->task->is_worker ? "process" : "task",
                 crash->earlier == 1      ? ""
                 : crash->task->is_worker ? "es"
                                          : "s");
    if (crash->ignored)
        add_text(t, " Its task ended with status 0 all the same.");
    if (!crash->sure)
        add_text(t, " Another %s may have been first.",
                 crash->task->is_worker ? "process" : "task");
}

/* --- by finding, by verdict ----------------------------------------------- */

/* Adds the sentences on a finding, by its kind. */
static void add_finding(struct text *t, const struct jp_finding *f,
                        const struct jp_result *r)
{
    static void (*const by_kind[])(struct text *, const struct jp_finding *,
                                   const struct jp_result *) = {
        [JP_FINDING_HANG] = add_hang,
        [JP_FINDING_LATE_RANK] = add_late_rank,
        [JP_FINDING_LATE_NODE] = add_late_node,
        [JP_FINDING_STALL] = add_stall,
        [JP_FINDING_LONG_WAIT] = add_long_wait,
        [JP_FINDING_TURNS] = add_turns,
        [JP_FINDING_SLOW_NETWORK] = add_slow_network,
        [JP_FINDING_DRIFT] = add_drift,
        [JP_FINDING_IMBALANCE] = add_imbalance,
    };

    /* A finding without a share was made from incomplete figures, for which the
     * short sentence would claim too much. */
    if (f->kind < sizeof(by_kind) / sizeof(*by_kind) && by_kind[f->kind] &&
        (!isnan(f->share) || f->kind == JP_FINDING_HANG) &&
        (f->stage || f->kind != JP_FINDING_IMBALANCE))
        by_kind[f->kind](t, f, r);
    else
        add_clause(t, f->text);
}

char *plain_finding(const struct jp_finding *f, const struct jp_result *r,
                    char buf[JP_PLAIN_TEXT])
{
    struct text t = {.buf = buf};

    buf[0] = '\0';
    add_finding(&t, f, r);
    return buf;
}

/* Adds what was looked at, and the smallest lateness that would have been seen.
 */
static void add_ok(struct text *t, const struct jp_result *r,
                   const struct jp_insight *insight)
{
    char least[JP_HYPOTHESIS_LEN] = "", functions[JP_EXPECTED_FUNCTIONS];
    uint64_t ranks = r ? r->quality.ranks_seen : 0;

    add_text(t, "Nothing wrong was found");
    if (r)
        add_text(t, " in %s operations%s of %s rank%s", FIG_COUNT(r->n_ops),
                 expected_functions(r, functions), FIG_COUNT(ranks),
                 plural(ranks));
    add_text(t, ".");
    if (insight)
        hypothesis_least(&insight->hypotheses, JP_HYPOTHESIS_LATE_RANK, least);
    if (*least)
        add_text(
            t,
            " A rank that costs %s of the run's time there would have been "
            "seen.",
            least);
}

/* Adds the share of the records if too few are there, else the gap; and what is
 * known nevertheless. Where the records are complete and the data of a feature
 * is not, that data is the gap. */
static void add_incomplete(struct text *t, const struct jp_verdict *verdict,
                           const struct jp_result *r,
                           const struct jp_insight *insight)
{
    const struct jp_reason_row *first = verdict->why.n ? verdict->why.of[0]
                                                       : NULL;

    /* of two runs no share is known */
    if (first == &reasons_table[JP_REASON_SHARED])
        add_text(t,
                 "Ranks have records of two processes: probably more than one "
                 "run is in this folder.");
    else if (verdict->coverage >= 0 &&
             verdict->coverage < limits_get(JP_LIMIT_COVERAGE))
        add_text(t, "Only %s of the records were found.",
                 SHARE(verdict->coverage));
    else if (first && reasons_number(first) == JP_REASONS && r && r->n_ops)
        add_clause(t, first->situation);
    else
        add_clause(t, verdict->text);
    add_text(t, insight && hypothesis_judged(&insight->hypotheses,
                                             JP_HYPOTHESIS_LATE_RANK)
                    ? " Nothing wrong is in what is there."
                    : " Late ranks cannot be judged from what is there.");
}

/* Adds how the tasks ended, if that is known, and why nothing was recorded. */
static void add_nodata(struct text *t, const struct jp_verdict *verdict,
                       const struct jp_insight *insight)
{
    enum jp_reason why =
        reasons_number(verdict->why.n ? verdict->why.of[0] : NULL);
    const struct jp_crash *crash =
        insight && insight->crash.cause ? &insight->crash : NULL;
    const char *text = verdict->text;

    if (crash && crash_is_fault(crash))
        add_crash(t, crash);
    else if (crash)
        add_clause(t, crash->text);
    /* the text begins with the same */
    if (crash && !strncmp(text, crash->text, strlen(crash->text)))
        text += strlen(crash->text);
    text += strspn(text, "; ");
    if (crash)
        add_text(t, " ");
    if (why == JP_REASON_NOT_ANALYSED) {
        add_text(t, "The report is not finished: its time ran out.%s",
                 strstr(text, "jobprof report ")
                     ? " Finish it with: jobprof report."
                     : "");
        return;
    }
    switch (why) {
    case JP_REASON_TASKS_FAILED:
    case JP_REASON_TASKS_ENDED:
    case JP_REASON_NO_OUTPUT:
        add_text(t, JP_PLAIN_NOTHING);
        break;
    case JP_REASON_OWN_PLUGIN:
    case JP_REASON_OTHER_PLUGIN:
    case JP_REASON_NO_LIBRARY:
    case JP_REASON_LIBRARY_UNREADABLE:
    case JP_REASON_OWN_VARIABLE:
    case JP_REASON_PLANNED:
    case JP_REASON_OWN_FOLDER:
    case JP_REASON_CONTAINER:
        add_text(t, JP_PLAIN_NOTHING " ");
        /* the first clause says that there is no file */
        text = strstr(text, "; ");
        if (text)
            add_clause(t, text + 2);
        break;
    default:
        add_clause(t, text);
    }
}

static void add_unjudged(struct text *t, const struct jp_insight *insight)
{
    const struct jp_hypotheses *h = insight ? &insight->hypotheses : NULL;
    char rough[JP_INSIGHT_ROUGH] = "";
    const char *todo;

    if (hypothesis_judged(h, JP_HYPOTHESIS_LATE_RANK))
        insight_rough(insight, rough, &todo);
    if (*rough) {
        add_text(t, "Nothing wrong was found, but %s.", rough);
        return;
    }
    add_text(t, "Nothing wrong was found, but late ranks could not be judged.");
    if (*hypothesis_why(h, JP_HYPOTHESIS_LATE_RANK))
        add_text(t, " Reason: %.160s.",
                 hypothesis_why(h, JP_HYPOTHESIS_LATE_RANK));
}

/* Adds who ended the step, as a fact beside what was found until then. */
static void add_end(struct text *t, const struct jp_crash *crash)
{
    static const char *const how[JP_CRASH_CAUSES] = {
        [JP_CRASH_CANCELLED] = "The job was cancelled.",
        [JP_CRASH_INTERRUPTED] = "The step was interrupted.",
        [JP_CRASH_TIME_LIMIT] = "The job reached its time limit.",
        [JP_CRASH_PREEMPTED] = "The job was preempted.",
        [JP_CRASH_ENDED] = "The step was ended from outside.",
    };

    if (how[crash->cause])
        add_text(t, " %s", how[crash->cause]);
    if (crash->cause == JP_CRASH_PROCESSES) {
        add_text(t, " ");
        add_clause(t, crash->text);
    }
}

/* Adds the sentences on the verdict's word, without how the step ended. */
static void add_verdict(struct text *t, const struct jp_verdict *verdict,
                        const struct jp_result *r,
                        const struct jp_insight *insight)
{
    const struct jp_finding *worst =
        insight && insight->findings.n ? &insight->findings.at[0] : NULL;

    /* The first finding with the verdict's word has made the verdict; a finding
     * that leaves the verdict OK explains nothing. */
    for (size_t i = 0; worst && i < insight->findings.n; i++) {
        if (finding_verdict(&insight->findings.at[i]) != verdict->word)
            continue;
        if (verdict->word == JP_VERDICT_FAILED)
            add_crash(t, &insight->crash);
        else
            add_finding(t, &insight->findings.at[i], r);
        return;
    }
    if (verdict->word == JP_VERDICT_HANG)
        add_hang(t, NULL, r);
    else if (verdict->word == JP_VERDICT_FAILED && insight)
        add_crash(t, &insight->crash);
    else if (verdict->word == JP_VERDICT_OK && r && r->n_ops)
        add_ok(t, r, insight);
    else if (verdict->word == JP_VERDICT_INCOMPLETE)
        add_incomplete(t, verdict, r, insight);
    else if (verdict->word == JP_VERDICT_NODATA)
        add_nodata(t, verdict, insight);
    else if (verdict->word == JP_VERDICT_UNJUDGED && r && r->n_ops)
        add_unjudged(t, insight);
    else
        add_clause(t, verdict->text);
}

char *plain_verdict(const struct jp_verdict *verdict, const struct jp_result *r,
                    const struct jp_insight *insight, char buf[JP_PLAIN_TEXT])
{
    struct text t = {.buf = buf};

    buf[0] = '\0';
    add_verdict(&t, verdict, r, insight);
    if (verdict->runs)
        add_text(&t, " The step has not ended yet.");
    else if (verdict->may_run)
        add_text(&t, " Whether the step has ended is not known.");
    /* FAILED and NODATA have said it */
    if (insight && verdict->word != JP_VERDICT_FAILED &&
        verdict->word != JP_VERDICT_NODATA)
        add_end(&t, &insight->crash);
    return buf;
}

/* --- what to do ----------------------------------------------------------- */

const char *const *plain_checks(const struct jp_verdict *verdict,
                                const struct jp_plain_has *has)
{
    static const char *const failed[JP_PLAIN_CHECKS] = {
        "Read the output or the core file of the rank that failed first.",
        "Check its node: memory, GPU errors (Xid) in the kernel's log.",
        "See which operation it was in: jobprof show --pending.",
    };
    /* without a recording nothing shows in which operation it was */
    static const char *const failed_unseen[JP_PLAIN_CHECKS] = {
        "Read the output or the core file of the rank that failed first.",
        "Check its node: memory, GPU errors (Xid) in the kernel's log.",
    };
    static const char *const hangs[JP_PLAIN_CHECKS] = {
        "Examine the rank that stopped: jobprof evidence, py-spy dump --pid, "
        "or gdb -p.",
        "Do all ranks call the same collectives in the same order?",
        "Is its node alive? Look for GPU errors (Xid) in the kernel's log.",
    };
    /* the processes are gone */
    static const char *const hung_examined[JP_PLAIN_CHECKS] = {
        "Read what the processes did while they hung: jobprof show --hang.",
        "Do all ranks call the same collectives in the same order?",
        "Look for GPU errors (Xid) in the kernel's log of its node.",
    };
    static const char *const hung_recorded[JP_PLAIN_CHECKS] = {
        "See which ranks never entered, and where the others wait: jobprof "
        "show --pending.",
        "Do all ranks call the same collectives in the same order?",
        "Read the last output of the rank that stopped, and its node's log of "
        "the kernel (Xid).",
    };
    static const char *const hung[JP_PLAIN_CHECKS] = {
        "Read the last output of the ranks that stopped.",
        "Do all ranks call the same collectives in the same order?",
        "Look for GPU errors (Xid) in the kernel's log of their nodes.",
    };
    switch (verdict->word) {
    case JP_VERDICT_NODATA:
    case JP_VERDICT_INCOMPLETE:
        return verdict->checks[0] ? verdict->checks : NULL;
    case JP_VERDICT_FAILED:
        return has->recordings ? failed : failed_unseen;
    case JP_VERDICT_HANG:
        if (verdict->runs || verdict->may_run)
            return hangs;
        return has->evidence     ? hung_examined
               : has->recordings ? hung_recorded
                                 : hung;
    default:
        return NULL;
    }
}

/* A command about a rank comes first; then what fits the verdict's word; then
 * what fits the kind of finding. "jobprof show" always works: it prints at
 * least the card. */
struct jp_plain_command plain_command(const struct jp_verdict *verdict,
                                      int kind, const struct jp_plain_has *has)
{
    static const struct jp_plain_command show = {"jobprof show", false, true};
    enum jp_verdict_word word = verdict->word;
    bool of_rank = kind == JP_FINDING_LATE_RANK || kind == JP_FINDING_STALL ||
                   kind == JP_FINDING_LONG_WAIT || kind == JP_FINDING_UNEVEN;

    if (of_rank && has->rank)
        return (struct jp_plain_command){"jobprof show --rank", true, true};
    if (kind == JP_FINDING_UNEVEN)
        return show;
    switch (word) {
    case JP_VERDICT_HANG:
    case JP_VERDICT_FAILED:
        /* logs contain only operations that ended */
        return has->recordings
                   ? (struct jp_plain_command){"jobprof show --pending", false,
                                               true}
                   : show;
    case JP_VERDICT_NODATA:
        return verdict->why.n
                   ? verdict->why.of[0]->command
                   : (struct jp_plain_command){"jobprof doctor", false, false};
    case JP_VERDICT_INCOMPLETE:
    case JP_VERDICT_UNJUDGED:
        if (verdict->why.n && verdict->why.of[0]->command.text)
            return verdict->why.of[0]->command;
        return has->records ? (struct jp_plain_command){"jobprof plan --from",
                                                        false, true}
                            : show;
    default:
        break;
    }
    if ((kind == JP_FINDING_SLOW_NETWORK || kind == JP_FINDING_DRIFT ||
         word == JP_VERDICT_DEGRADED) &&
        has->network_command)
        return (struct jp_plain_command){has->network_command, false, true};
    return show;
}
