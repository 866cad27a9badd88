/* knownbad.c - find the known issues of a release. The first half searches a
 * list; the second half reads the file, row by row (siteflat.h). A release
 * without a patch number, "2.29", may be any 2.29.x. */
#include "common/knownbad.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include "common/profiler.h"
#include "common/knob.h"
#include "common/quote.h"
#include "common/siteflat.h"
#include "common/vector.h"

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

/* The words of the key mode: "any", then the names of the NCCL profilers. */
static char words[256] = "any";
static const struct jp_knob mode_knob = {
    .name = "mode", .kind = JP_KNOB_WORD, .words = words};

/* Completes the words. Runs before main, and therefore before any thread. */
static __attribute__((constructor)) void make_words(void)
{
    size_t used = strlen(words);

    for (size_t i = 0; profiler_registry[i]; i++)
        if (profiler_registry[i]->option == OPTION_NCCL &&
            profiler_registry[i]->words && used < sizeof(words))
            used += (size_t) snprintf(words + used, sizeof(words) - used, "|%s",
                                      profiler_registry[i]->name);
}

/* The key mode of a row: "any", then the names of the NCCL profilers. */
static const struct jp_knob *knownbad_mode(void)
{
    return &mode_knob;
}

/* Whether a release names no patch. */
static bool without_patch(uint64_t release)
{
    return release % 1000 == JP_NCCL_NO_PATCH;
}

/* The oldest release that this number may stand for. */
static uint64_t first_patch(uint64_t release)
{
    return without_patch(release) ? release - JP_NCCL_NO_PATCH : release;
}

/* The next row from *index on that applies to a backend ("example",
 * "inspector", "recorder") and a release as knob_number gives it. A release
 * without a patch matches if any patch of its minor release would. *index moves
 * past the row. NULL: no more rows, or not an NCCL profiler. */
static const struct knownbad_row *find_row(const struct jp_knownbad *list,
                                           const char *mode, uint64_t release,
                                           size_t *index)
{
    uint64_t word;

    /* Word 0 is "any", which is no profiler. */
    if (knob_number(&mode_knob, mode, &word, NULL) < 0 || !word)
        return NULL;
    while (*index < list->n) {
        const struct knownbad_row *row = &list->rows[(*index)++];

        /* The ranges overlap: [first patch, release] and [since, until]. */
        if (row->modes & 1u << word && row->since <= release &&
            first_patch(release) <= row->until)
            return row;
    }
    return NULL;
}

/* Whether every release that this number may stand for is in the row's
 * range. */
static bool certain(const struct knownbad_row *row, uint64_t release)
{
    return row->since <= first_patch(release) && release <= row->until;
}

/* "2.27" or "2.27.3" into buf; patch 0 is not shown. Returns buf. */
static char *format_release(uint64_t release, char *buf, size_t len)
{
    int n = snprintf(buf, len, "%" PRIu64 ".%" PRIu64, release / 1000000,
                     release / 1000 % 1000);

    if (n > 0 && (size_t) n < len && release % 1000 && !without_patch(release))
        snprintf(buf + n, len - (size_t) n, ".%" PRIu64, release % 1000);
    return buf;
}

/* The row's range into buf: "2.27.3", "2.31.2-2.31.5", "2.32-". */
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
        /* Better a range too few than half a range. */
        if (used + n + 2 > len)
            break;
        used += (size_t) snprintf(buf + used, len - used, "%s%s",
                                  used ? "," : "", range);
    }
    return buf;
}

/* Composes the sentence of a row: "NCCL 2.29.7, example: SYMPTOM (SOURCE)". If
 * not every release that the number may stand for is affected: "NCCL 2.29.x may
 * be affected (2.29.3 to 2.30.7), example: ...". */
static void make_sentence(const struct knownbad_row *row, const char *mode,
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
                                    uint64_t release, knownbad_hit *say,
                                    void *arg)
{
    enum knownbad_action worst = KNOWNBAD_NONE;

    /* One pass for each action, the worst first. */
    for (unsigned a = KNOWNBAD_FALLBACK; a > KNOWNBAD_NONE; a--) {
        const struct knownbad_row *row;
        size_t i = 0;

        while ((row = find_row(list, mode, release, &i))) {
            struct jp_error sentence;

            if (row->action != a)
                continue;
            if (worst == KNOWNBAD_NONE)
                worst = row->action;
            make_sentence(row, mode, release_text, release, &sentence);
            if (say)
                say(arg, row, sentence.text);
        }
    }
    return worst;
}

/* --- the file ---------------------------------------------------------------
 */

static const struct jp_knob version_knob = {.name = "version",
                                            .kind = JP_KNOB_VERSION};
/* the words in the order of enum knownbad_action, without its first */
static const struct jp_knob action_knob = {
    .name = "action", .kind = JP_KNOB_WORD, .words = "note|warn|fallback"};

/* The state of one load. */
struct loader {
    struct jp_knownbad list;
    struct knownbad_row row; /* the row that is being read */
};

/* since: "2.29" begins a range with the first patch. */
static int parse_since(void *arg, const config_setting_t *s,
                       struct jp_error *err)
{
    const char *text = sitelist_text(s, err);
    struct knownbad_row *row = arg;

    if (!text || knob_number(&version_knob, text, &row->since, err) < 0)
        return -1;
    if (row->since % 1000 == JP_NCCL_NO_PATCH)
        row->since -= JP_NCCL_NO_PATCH;
    return 0;
}

/* until: "2.29" ends a range with the last patch. Without the key, the range is
 * open. */
static int parse_until(void *arg, const config_setting_t *s,
                       struct jp_error *err)
{
    const char *text = sitelist_text(s, err);
    struct knownbad_row *row = arg;

    row->open = false;
    return text ? knob_number(&version_knob, text, &row->until, err) : -1;
}

/* mode: a profiler, or any. */
static int parse_mode(void *arg, const config_setting_t *s,
                      struct jp_error *err)
{
    const char *text = sitelist_text(s, err);
    struct knownbad_row *row = arg;
    uint64_t word;

    if (!text || knob_number(knownbad_mode(), text, &word, err) < 0)
        return -1;
    /* "any" matches every profiler, and issues of NCCL itself. */
    row->modes = word ? 1u << word : ~0u;
    return 0;
}

/* action: note, warn or fallback. */
static int parse_action(void *arg, const config_setting_t *s,
                        struct jp_error *err)
{
    const char *text = sitelist_text(s, err);
    struct knownbad_row *row = arg;
    uint64_t word;

    if (!text || knob_number(&action_knob, text, &word, err) < 0)
        return -1;
    row->action = (enum knownbad_action)(word + 1);
    return 0;
}

/* Copies a text of the row after checking it. */
static int copy_text(char **out, const char *text, size_t max,
                     struct jp_error *err)
{
    if (sitelist_check_text(text, max, err) < 0)
        return -1;
    *out = strdup(text);
    return *out ? 0 : error_set(err, "out of memory");
}

static int parse_symptom(void *arg, const config_setting_t *s,
                         struct jp_error *err)
{
    const char *text = sitelist_text(s, err);
    struct knownbad_row *row = arg;

    return text ? copy_text(&row->symptom, text, KNOWNBAD_SYMPTOM_MAX, err)
                : -1;
}

/* source: an https:// address, so that a reader can verify the row. */
static int parse_source(void *arg, const config_setting_t *s,
                        struct jp_error *err)
{
    const char *text = sitelist_text(s, err);
    struct knownbad_row *row = arg;

    if (!text)
        return -1;
    if (strncmp(text, "https://", 8) != 0 || !text[8] || strpbrk(text, " \t"))
        return error_set(err, "\"%s\" is not an https:// address", QUOTE(text));
    return copy_text(&row->source, text, KNOWNBAD_SOURCE_MAX, err);
}

static const struct sitelist_key keys[] = {
    {"since", parse_since, false},     {"until", parse_until, true},
    {"mode", parse_mode, false},       {"action", parse_action, false},
    {"symptom", parse_symptom, false}, {"source", parse_source, false},
};

/* Starts a row without an end (sitelist_format). */
static void *begin_row(void *arg)
{
    struct loader *ld = arg;

    ld->row = (struct knownbad_row){.until = UINT64_MAX, .open = true};
    return &ld->row;
}

/* Appends a complete row to the list, which then owns its strings. */
static int take_row(void *arg, void *read, const char *where,
                    struct jp_error *err)
{
    struct knownbad_row *row = read;
    struct loader *ld = arg;

    if (row->since > row->until)
        return error_set(err, "until: is before since");
    row->where = strdup(where);
    if (!row->where || VECTOR_DOUBLE(ld->list.rows, ld->list.n) < 0)
        return error_set(err, "out of memory");
    /* The strings now belong to the list. */
    ld->list.rows[ld->list.n++] = *row;
    return 0;
}

/* Frees the strings of a row with a mistake. */
static void drop_row(void *arg, void *read)
{
    struct knownbad_row *row = read;

    (void) arg;
    free(row->symptom);
    free(row->source);
    free(row->where);
}

static const struct sitelist_format format = {
    .name = "known_bad",
    .max_rows = KNOWNBAD_MAX_ROWS,
    .keys = keys,
    .n_keys = sizeof(keys) / sizeof(*keys),
    .begin = begin_row,
    .take = take_row,
    .drop = drop_row,
};

/* An error of the whole file goes to report as well, so that a caller needs
 * only one way to print. */
int knownbad_load(const char *path, bool must_exist, knownbad_report *report,
                  void *arg, struct jp_knownbad *out, struct jp_error *err)
{
    struct loader ld = {.row = {0}};
    struct jp_error one = {""};

    /* errno is set by sitelist_read. */
    if (sitelist_read(path, &format, &ld, report, arg, &one) == 0 ||
        (!must_exist && (errno == ENOENT || errno == ENOTDIR))) {
        *out = ld.list;
        return 0;
    }
    knownbad_fini(&ld.list);
    if (report)
        report(arg, one.text);
    return error_set(err, "%s", one.text);
}
