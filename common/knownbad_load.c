/* knownbad_load.c - the keys of nccl-known-bad.conf. */
#include "common/knownbad.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/knob.h"
#include "common/quote.h"
#include "common/sitelist.h"

static const struct jp_knob version_knob = {.name = "version",
                                            .kind = JP_KNOB_VERSION};
static const struct jp_knob mode_knob = {
    .name = "mode", .kind = JP_KNOB_WORD, .words = KNOWNBAD_MODES};
/* in the order of enum knownbad_action, without its first */
static const struct jp_knob action_knob = {
    .name = "action", .kind = JP_KNOB_WORD, .words = "note|warn|fallback"};

/* One loading. */
struct loader {
    struct jp_knownbad list;
    struct knownbad_row row; /* that is being read */
};

/* A release's first patch where it begins a range. */
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

static int parse_until(void *arg, const config_setting_t *s,
                       struct jp_error *err)
{
    const char *text = sitelist_text(s, err);
    struct knownbad_row *row = arg;

    row->open = false;
    return text ? knob_number(&version_knob, text, &row->until, err) : -1;
}

static int parse_mode(void *arg, const config_setting_t *s,
                      struct jp_error *err)
{
    const char *text = sitelist_text(s, err);
    struct knownbad_row *row = arg;
    uint64_t word;

    if (!text || knob_number(&mode_knob, text, &word, err) < 0)
        return -1;
    row->modes = word ? 1u << word : ~0u;
    return 0;
}

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

static void *begin_row(void *arg)
{
    struct loader *ld = arg;

    ld->row = (struct knownbad_row){.until = UINT64_MAX, .open = true};
    return &ld->row;
}

static int take_row(void *arg, void *read, const char *where,
                    struct jp_error *err)
{
    struct knownbad_row *row = read, *bigger;
    struct loader *ld = arg;

    if (row->since > row->until)
        return error_set(err, "until: is before since");
    row->where = strdup(where);
    bigger = reallocarray(ld->list.rows, ld->list.n + 1, sizeof(*bigger));
    if (bigger)
        ld->list.rows = bigger;
    if (!bigger || !row->where)
        return error_set(err, "out of memory");
    bigger[ld->list.n++] = *row;
    return 0;
}

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

int knownbad_load(const char *path, bool must_exist, knownbad_report *report,
                  void *arg, struct jp_knownbad *out, struct jp_error *err)
{
    struct loader ld = {.row = {0}};
    struct jp_error one = {""};

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
