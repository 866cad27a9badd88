/* report_copper_text.c - Copper's section of summary.txt. */
#include <inttypes.h>
#include <math.h>

#include "common/figure.h"
#include "orchestrator/report/clean.h"
#include "orchestrator/report/report_copper.h"
#include "orchestrator/report/text_out.h"

#define MAX_RANKS 10
#define MAX_OPS 12
#define MAX_NOTES 10
#define MAX_FINDINGS 10
#define MAX_HOT 5

#define ASCII(text)                                                            \
    clean_text((text), JP_CLEAN_ASCII, (char[256]){0}, sizeof(char[256]))

static void put_head(const struct jp_copper *c, FILE *out)
{
    uint64_t latency = c->total[COPPER_LATENCY_US];

    text_out_line(out, "Copper cache");
    text_out_line(out, "  ranks      %" PRIu32 " of %zu counted%s%s",
                  c->n_counted, c->n_ranks,
                  c->n_launches > 1 ? ", launch " : "",
                  c->n_launches > 1 ? FIG_COUNT(c->n_launches) : "");
    for (unsigned i = 1; i < JP_COPPER_N_STATES; i++)
        if (c->n_state[i])
            text_out_line(out, "             %" PRIu32 " %s", c->n_state[i],
                          copper_state_names[i]);
    if (!c->n_counted)
        return;
    text_out_line(out, "  operations %s: %s hits, %s misses, %s negative",
                  FIG_COUNT(c->total[COPPER_OPERATIONS]),
                  FIG_COUNT(c->total[COPPER_HITS]),
                  FIG_COUNT(c->total[COPPER_MISSES]),
                  FIG_COUNT(c->total[COPPER_NEGATIVES]));
    text_out_line(out, "  latency    %s, of it start-up %s, operations %s",
                  FIG_US((double) latency), FIG_US((double) c->init_us),
                  FIG_US((double) c->without_init_us));
    if (c->n_ttl)
        text_out_line(out,
                      "  ENOENT     %s remembered, %s lookups saved, %s "
                      "expired",
                      FIG_COUNT(c->total[COPPER_TTL_STORES]),
                      FIG_COUNT(c->total[COPPER_TTL_SERVES]),
                      FIG_COUNT(c->total[COPPER_TTL_EXPIRES]));
    if (c->compared)
        text_out_line(out,
                      "  check      pre-destroy equals final on %" PRIu32
                      " of %" PRIu32 " ranks",
                      c->equal, c->compared);
}

static void put_ops(const struct jp_copper *c, FILE *out)
{
    size_t n = 0;

    if (!c->n_ops)
        return;
    fputc('\n', out);
    text_out_line(out, "  %-16s %12s %12s %10s %10s %10s %10s", "operation",
                  "calls", "hits", "misses", "negative", "average", "total");
    for (size_t i = 0; i <= COPPER_N_OPS; i++) {
        const struct copper_op *op = &c->op[i];

        if (!op->calls || n++ >= MAX_OPS)
            continue;
        text_out_line(out, "  %-16s %12s %12s %10s %10s %10s %10s",
                      copper_op_names[i], FIG_COUNT(op->calls),
                      FIG_COUNT(op->hits), FIG_COUNT(op->misses),
                      FIG_COUNT(op->negatives),
                      FIG_US((double) op->time_us / (double) op->calls),
                      FIG_US((double) op->time_us));
    }
    if (n > MAX_OPS)
        text_out_line(out, "  ... and %zu more in csv/copper_operations.csv",
                      n - MAX_OPS);
}

static void put_ranges(const struct jp_copper *c, FILE *out)
{
    if (c->n_counted < 2)
        return;
    fputc('\n', out);
    text_out_line(out, "  %-22s %14s %14s %14s %10s", "across ranks", "least",
                  "most", "mean", "CV");
    for (size_t i = 0; i < JP_COPPER_N_SPREADS; i++) {
        const struct jp_copper_range *r = &c->range[i];

        if (!r->n)
            continue;
        text_out_line(out, "  %-22s %14s %14s %14s %10s", r->name,
                      r->seconds ? FIG_US((double) r->min) : FIG_COUNT(r->min),
                      r->seconds ? FIG_US((double) r->max) : FIG_COUNT(r->max),
                      r->seconds ? FIG_US(r->mean)
                                 : FIG_COUNT((uint64_t) llround(r->mean)),
                      FIG_SHARE(r->cv));
    }
}

static void put_findings(const struct jp_copper *c, FILE *out)
{
    for (size_t i = 0; i < c->n_findings && i < MAX_FINDINGS; i++) {
        fputs("  ! ", out);
        text_out_wrap(out, 4, 4, ASCII(c->findings[i].text));
    }
    if (c->n_findings > MAX_FINDINGS)
        text_out_line(out, "  ... and %zu more findings in summary.json",
                      c->n_findings - MAX_FINDINGS);
}

static void put_answers(const struct jp_copper *c, FILE *out)
{
    fputc('\n', out);
    for (size_t i = 0; i < JP_COPPER_QUESTIONS; i++) {
        char text[1024];

        text_out_line(out, "  %s", c->answers[i].question);
        clean_text(c->answers[i].answer, JP_CLEAN_ASCII, text, sizeof(text));
        fputs("    ", out);
        text_out_wrap(out, 4, 4, text);
    }
}

static void put_guidance(const struct jp_copper *c, FILE *out)
{
    if (!c->n_advice)
        return;
    fputc('\n', out);
    text_out_line(out, "  Pruning");
    for (size_t i = 0; i < c->n_advice; i++) {
        char text[1024];

        clean_text(c->advice[i].text, JP_CLEAN_ASCII, text, sizeof(text));
        fputs("  - ", out);
        text_out_wrap(out, 4, 4, text);
        for (size_t k = 0; k < c->advice[i].n_paths && k < MAX_HOT; k++)
            text_out_line(out, "      %s", ASCII(c->advice[i].paths[k]));
    }
}

static void put_notes(const struct jp_copper *c, FILE *out)
{
    uint64_t all = c->n_notes + c->notes_left_out;

    for (size_t i = 0; i < c->n_notes && i < MAX_NOTES; i++)
        text_out_line(out, "  note: %s: %s", ASCII(c->notes[i].path),
                      ASCII(c->notes[i].what));
    if (all > MAX_NOTES)
        text_out_line(out, "  ... and %s more in csv/copper_notes.csv",
                      FIG_COUNT(all - MAX_NOTES));
}

void report_copper_text(const struct jp_copper *c, FILE *out)
{
    if (!c)
        return;
    fputc('\n', out);
    put_head(c, out);
    put_findings(c, out);
    put_ops(c, out);
    put_ranges(c, out);
    put_answers(c, out);
    put_guidance(c, out);
    put_notes(c, out);
}
