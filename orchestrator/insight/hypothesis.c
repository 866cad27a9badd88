/* hypothesis.c - answers to the questions that the analyses ask about a step:
 * stored and printed. The questions are in hypothesis.h (JP_HYPOTHESES).
 */
#include "orchestrator/insight/hypothesis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"

#define ABOUT(id, ...) [id] = {__VA_ARGS__},
const struct jp_hypothesis hypotheses_table[JP_N_HYPOTHESES] = {
    JP_HYPOTHESES(ABOUT)};

const char *const hypotheses_states[JP_HYPOTHESIS_STATES] = {
    [JP_HYPOTHESIS_NOT_JUDGED] = "not_judged",
    [JP_HYPOTHESIS_NOT_FOUND] = "not_found",
    [JP_HYPOTHESIS_FOUND] = "found",
};

const char *const hypotheses_units[JP_HYPOTHESIS_UNITS] = {
    [JP_HYPOTHESIS_SHARE] = "share",
    [JP_HYPOTHESIS_US] = "us",
    [JP_HYPOTHESIS_TIMES] = "times",
    [JP_HYPOTHESIS_COUNT] = "count",
};

void hypothesis_set(struct jp_hypotheses *h, enum jp_hypothesis_id id,
                    enum jp_hypothesis_state state, double least,
                    const char *text, ...)
{
    struct jp_judgement *j;
    va_list ap;

    if (!h)
        return;
    j = &h->of[id];
    *j = (struct jp_judgement){.state = state, .least = least};
    /* "Not found" means little if only an impossible effect would have been
     * seen (more than the whole run): then the question was not judged. */
    if (state == JP_HYPOTHESIS_NOT_FOUND && hypotheses_table[id].most > 0 &&
        least >= hypotheses_table[id].most) {
        *j = (struct jp_judgement){.state = JP_HYPOTHESIS_NOT_JUDGED,
                                   .least = NAN,
                                   .text = HYPOTHESIS_BLIND};
        return;
    }
    if (!text)
        return;
    va_start(ap, text);
    vsnprintf(j->text, sizeof(j->text), text, ap);
    va_end(ap);
}

/* "Not looked at" is state 0 with an empty text, so a zeroed struct is a valid
 * set of open questions. */
bool hypothesis_judged(const struct jp_hypotheses *h, enum jp_hypothesis_id id)
{
    return h && h->of[id].state != JP_HYPOTHESIS_NOT_JUDGED;
}

const char *hypothesis_why(const struct jp_hypotheses *h,
                           enum jp_hypothesis_id id)
{
    if (hypothesis_judged(h, id))
        return "";
    return h && *h->of[id].text ? h->of[id].text : "not examined";
}

const char *hypothesis_todo(const struct jp_hypotheses *h,
                            enum jp_hypothesis_id id)
{
    const char *own = h ? h->of[id].todo : NULL;

    if (own)
        return own;
    return hypothesis_judged(h, id) ? "" : hypotheses_table[id].todo;
}

/* The unit decides the format. An unknown effect (NAN or 0) has no text. */
char *hypothesis_least(const struct jp_hypotheses *h, enum jp_hypothesis_id id,
                       char buf[JP_HYPOTHESIS_LEN])
{
    double least = h->of[id].least;

    *buf = '\0';
    if (!isfinite(least) || least <= 0)
        return buf;
    switch (hypotheses_table[id].unit) {
    case JP_HYPOTHESIS_SHARE:
        snprintf(buf, JP_HYPOTHESIS_LEN, "%s", FIG_SHARE(least));
        break;
    case JP_HYPOTHESIS_US:
        snprintf(buf, JP_HYPOTHESIS_LEN, "%s", FIG_US(least));
        break;
    case JP_HYPOTHESIS_TIMES:
        snprintf(buf, JP_HYPOTHESIS_LEN, "%.3g times", least);
        break;
    default:
        snprintf(buf, JP_HYPOTHESIS_LEN, "%.0f", least);
    }
    return buf;
}

/* Appends to the text in buf, as far as it fits. */
__attribute__((format(printf, 3, 4))) static void
append_text(char *buf, size_t size, const char *fmt, ...)
{
    size_t len = strlen(buf);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf + len, size - len, fmt, ap);
    va_end(ap);
}

/* Appends "no rank that costs 1.2 %", or the text that the analysis gave. */
static void add_clear(const struct jp_hypotheses *h, enum jp_hypothesis_id id,
                      char *buf, size_t size)
{
    const struct jp_hypothesis *row = &hypotheses_table[id];
    char least[JP_HYPOTHESIS_LEN];
    const char *at;

    if (*h->of[id].text) {
        append_text(buf, size, "%s", h->of[id].text);
        return;
    }
    hypothesis_least(h, id, least);
    /* The row's text is not used as a format: it is data, and the compiler
     * could not check it. */
    at = strstr(row->clear, "%s");
    if (!*least || !at)
        append_text(buf, size, "%s", row->none);
    else
        append_text(buf, size, "%.*s%s%s", (int) (at - row->clear), row->clear,
                    least, at + 2);
}

/* Returns true if an earlier question has the same reason. add_open has then
 * named this one beside it. */
static bool is_named(const struct jp_hypotheses *h, size_t id)
{
    for (size_t i = 0; i < id; i++)
        if (hypotheses_table[i].name && !hypothesis_judged(h, i) &&
            !strcmp(hypothesis_why(h, i), hypothesis_why(h, id)))
            return true;
    return false;
}

/* Appends "late ranks, stalls (too few operations)": this question and all
 * later ones with the same reason. */
static void add_open(const struct jp_hypotheses *h, size_t id, char *buf,
                     size_t size)
{
    const char *why = hypothesis_why(h, id);

    append_text(buf, size, "%s", hypotheses_table[id].name);
    for (size_t i = id + 1; i < JP_N_HYPOTHESES; i++)
        if (hypotheses_table[i].name && !hypothesis_judged(h, i) &&
            !strcmp(hypothesis_why(h, i), why))
            append_text(buf, size, ", %s", hypotheses_table[i].name);
    append_text(buf, size, " (%s)", why);
}

char *hypotheses_line(const struct jp_hypotheses *h,
                      char buf[JP_HYPOTHESES_LINE])
{
    size_t n = 0, open = 0;

    *buf = '\0';
    /* First what was ruled out, then what could not be judged and why. */
    for (size_t i = 0; h && i < JP_N_HYPOTHESES; i++)
        if (hypotheses_table[i].clear &&
            h->of[i].state == JP_HYPOTHESIS_NOT_FOUND) {
            append_text(buf, JP_HYPOTHESES_LINE, "%s", n++ ? ", " : "");
            add_clear(h, (enum jp_hypothesis_id) i, buf, JP_HYPOTHESES_LINE);
        }
    for (size_t i = 0; h && i < JP_N_HYPOTHESES; i++)
        if (hypotheses_table[i].name && !hypothesis_judged(h, i) &&
            !is_named(h, i)) {
            append_text(buf, JP_HYPOTHESES_LINE, "%s",
                        open++ ? ", "
                        : n    ? "; not judged: "
                               : "not judged: ");
            add_open(h, i, buf, JP_HYPOTHESES_LINE);
        }
    return buf;
}
