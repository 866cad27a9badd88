/* knownbad.c - find the known troubles of a release. */
#include "common/knownbad.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/knob.h"

void knownbad_fini(struct jp_knownbad *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->n; i++) {
        free(list->rows[i].symptom);
        free(list->rows[i].source);
        free(list->rows[i].where);
    }
    free(list->rows);
    *list = (struct jp_knownbad){0};
}

static const struct jp_knob mode_knob = {
    .name = "mode", .kind = JP_KNOB_WORD, .words = KNOWNBAD_MODES};

static bool without_patch(uint64_t release)
{
    return release % 1000 == JP_NCCL_NO_PATCH;
}

static uint64_t first_patch(uint64_t release)
{
    return without_patch(release) ? release - JP_NCCL_NO_PATCH : release;
}

const struct knownbad_row *knownbad_find(const struct jp_knownbad *list,
                                         const char *mode, uint64_t release,
                                         size_t *index)
{
    uint64_t word;

    if (knob_number(&mode_knob, mode, &word, NULL) < 0 || !word)
        return NULL;
    while (*index < list->n) {
        const struct knownbad_row *row = &list->rows[(*index)++];

        if (row->modes & 1u << word && row->since <= release &&
            first_patch(release) <= row->until)
            return row;
    }
    return NULL;
}

/* Is every release that this number may stand for in the row's range? */
static bool certain(const struct knownbad_row *row, uint64_t release)
{
    return row->since <= first_patch(release) && release <= row->until;
}

static char *format_release(uint64_t release, char *buf, size_t len)
{
    int n = snprintf(buf, len, "%" PRIu64 ".%" PRIu64, release / 1000000,
                     release / 1000 % 1000);

    if (n > 0 && (size_t) n < len && release % 1000 && !without_patch(release))
        snprintf(buf + n, len - (size_t) n, ".%" PRIu64, release % 1000);
    return buf;
}

/* "2.27.3", "2.31.2-2.31.5", "2.32-". */
static void format_range(const struct knownbad_row *row, char *buf, size_t len)
{
    char since[64], until[64];

    format_release(row->since, since, sizeof(since));
    format_release(row->until, until, sizeof(until));
    if (row->open)
        snprintf(buf, len, "%s-", since);
    else if (row->since == row->until)
        snprintf(buf, len, "%s", since);
    else
        snprintf(buf, len, "%s-%s", since, until);
}

char *knownbad_ranges(const struct jp_knownbad *list, const char *mode,
                      char *buf, size_t len)
{
    uint64_t word;
    size_t used = 0;

    *buf = '\0';
    if (knob_number(&mode_knob, mode, &word, NULL) < 0 || !word)
        return buf;
    for (size_t i = 0; i < list->n; i++) {
        char range[160];
        size_t n;

        if (list->rows[i].action != KNOWNBAD_FALLBACK ||
            !(list->rows[i].modes & 1u << word))
            continue;
        format_range(&list->rows[i], range, sizeof(range));
        n = strlen(range);
        if (used + n + 2 > len)
            break;
        used += (size_t) snprintf(buf + used, len - used, "%s%s",
                                  used ? "," : "", range);
    }
    return buf;
}

void knownbad_sentence(const struct knownbad_row *row, const char *mode,
                       const char *release_text, uint64_t release,
                       struct jp_error *out)
{
    char since[64], until[64], range[160] = "";

    format_release(row->since, since, sizeof(since));
    format_release(row->until, until, sizeof(until));
    if (!certain(row, release) && row->open)
        snprintf(range, sizeof(range), " may be affected (%s and later)",
                 since);
    else if (!certain(row, release))
        snprintf(range, sizeof(range), " may be affected (%s to %s)", since,
                 until);
    error_set(out, "NCCL %.16s%s%s, %s: %s (%s)", release_text,
              without_patch(release) ? ".x" : "", range, mode, row->symptom,
              row->source);
}

enum knownbad_action knownbad_check(const struct jp_knownbad *list,
                                    const char *mode, const char *release_text,
                                    uint64_t release, knownbad_say *say,
                                    void *arg)
{
    enum knownbad_action worst = KNOWNBAD_NONE;

    for (unsigned a = KNOWNBAD_FALLBACK; a > KNOWNBAD_NONE; a--) {
        const struct knownbad_row *row;
        size_t i = 0;

        while ((row = knownbad_find(list, mode, release, &i))) {
            struct jp_error sentence;

            if (row->action != a)
                continue;
            if (worst == KNOWNBAD_NONE)
                worst = row->action;
            knownbad_sentence(row, mode, release_text, release, &sentence);
            if (say)
                say(arg, row, sentence.text);
        }
    }
    return worst;
}
