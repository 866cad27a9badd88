/* evidence_feature.c - the evidence of a hang as a feature of reports: reads
 * hang/ of the step's directory, and writes its part of each file. */
#include "orchestrator/evidence/evidence_feature.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/quote.h"
#include "orchestrator/evidence/evidence.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"
#include "orchestrator/report/table.h"

/* --- data ----------------------------------------------------------------- */

static int read_hang(const char *dir, void **data, struct jp_error *err)
{
    struct hangstacks *hang = NULL;
    int rc = hangstacks_load(dir, &hang, err);

    *data = hang;
    return rc;
}

/* Whether the folder's and the file's names, which come from a file of the
 * user's, stay below hang/. */
static bool is_below(const struct hangstacks_part *part)
{
    return *part->file && *part->file != '.' && !strchr(part->file, '/') &&
           *part->node && *part->node != '.' && !strchr(part->node, '/');
}

static int list_collected(const void *data, const char *dir, const char *kind,
                          int (*file)(void *arg, const char *path), void *arg)
{
    const struct hangstacks *hang = data;
    int rc = 0;

    for (size_t i = 0; i < hang->n_parts && rc == 0; i++) {
        const struct hangstacks_part *part = &hang->parts[i];
        char *path;

        if (strcmp(part->part, kind) != 0 || !is_below(part))
            continue;
        path = text_format("%s/" EVIDENCE_FOLDER "/%s/%s", dir, part->node,
                           part->file);
        rc = path ? file(arg, path) : -1;
        free(path);
    }
    return rc;
}

static void
put_notes(const void *data,
          void (*note)(void *arg, const char *path, const char *why), void *arg)
{
    const struct hangstacks *hang = data;
    char line[96];

    if (!hang->bad)
        return;
    snprintf(line, sizeof(line),
             "evidence for the hang: %" PRIu64
             " of the nodes' files cannot be read",
             hang->bad);
    note(arg, line, NULL);
}

static void destroy(void *data)
{
    hangstacks_destroy(data);
}

/* --- files of a report ---------------------------------------------------- */

static void put_json(struct jp_json_stream *s, const char *key,
                     const struct jp_report *report)
{
    const struct hangstacks *hang = evidence_of(report);
    char text[HANGSTACKS_TEXT];

    json_stream_object(s, key);
    /* {} without evidence */
    if (hang) {
        json_stream_object(s, "evidence");
        json_stream_text(s, "text", hangstacks_text(hang, text));
        json_stream_text(s, "hang", hang->hang);
        json_stream_count(s, "taken_us", hang->taken_us);
        json_stream_count(s, "nodes", hang->n_nodes);
        json_stream_count(s, "bad_files", hang->bad);
        tables_json(s, tables_evidence, report, hang->left_out);
        json_stream_end_object(s);
    }
    json_stream_end_object(s);
}

static void put_lines(const struct jp_report *report, FILE *out)
{
    char text[HANGSTACKS_TEXT];

    text_out_fact(out, "Evidence of the hang",
                  hangstacks_text(evidence_of(report), text));
}

static int put_text(const struct jp_report *report, FILE *out)
{
    return tables_text(tables_evidence_text, report, out);
}

static int put_html(const struct jp_report *report, FILE *out)
{
    const struct hangstacks *hang = evidence_of(report);
    char text[HANGSTACKS_TEXT];

    fputs("<p>", out);
    html_out_text(out, hangstacks_text(hang, text));
    fputs(". A row of the stacks is a run of frames with the same ranks, the "
          "innermost first; the tools&#39; own output is in hang/.</p>\n",
          out);
    /* the hang in one line, from the agent that noticed it */
    if (*hang->hang) {
        fputs("<p>", out);
        html_out_text(out, hang->hang);
        fputs("</p>\n", out);
    }
    /* here with the parts that failed */
    return tables_html(tables_evidence, report, out);
}

/* "of 4 nodes" */
static bool put_figure(const struct jp_report *report, char *buf)
{
    size_t n = evidence_of(report)->n_nodes;

    snprintf(buf, DRAWER_FIGURE, "evidence of %s node%s", FIG_COUNT(n),
             plural(n));
    return true;
}

static const struct jp_html_section sections[] = {
    {.id = "hang",
     .title = "While the step hung",
     .kind = JP_HTML_WIDE,
     .put = put_html,
     .figure = put_figure,
     .after = "nodes"},
    {.id = NULL},
};

/* --- jobprof show --hang -------------------------------------------------- */

static int show_json(const struct jp_report *report, struct jp_error *err)
{
    /* too large for the stack */
    struct jp_json_stream *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return error_set(err, "out of memory");
    json_stream_open(s, JSON_LINES, stdout);
    put_json(s, EVIDENCE_FEATURE, report);
    rc = json_stream_close(s, err);
    free(s);
    return rc;
}

static int show_text(const struct hangstacks *hang,
                     const struct jp_report *report, struct jp_error *err)
{
    char text[HANGSTACKS_TEXT];

    text_out_line(stdout, "%s", hangstacks_text(hang, text));
    if (*hang->hang)
        text_out_line(stdout, "%s", hang->hang);
    return put_text(report, stdout) < 0 ? error_set(err, "out of memory") : 0;
}

static int show_hang(const void *data, bool json, bool quiet, bool *complete,
                     struct jp_error *err)
{
    struct feature_set features = {.data = {NULL}};
    const struct jp_report report = {.features = &features};
    const struct hangstacks *hang = data;
    int rc;

    feature_lend(&features, &feature_evidence, (void *) (uintptr_t) data);
    rc = json ? show_json(&report, err) : show_text(hang, &report, err);
    /* JSON has these facts as members */
    if (!quiet && !json)
        hangstacks_print_lacks(hang, stderr);
    *complete = !hang->bad;
    return rc;
}

/* --- the feature ---------------------------------------------------------- */

static const char *const own_files[] = {EVIDENCE_NAME, NULL};

const struct feature feature_evidence = {
    .name = EVIDENCE_FEATURE,
    .title = "hang evidence",
    .role = FEATURE_OPERATIONS,
    .read_hang = read_hang,
    .collected = list_collected,
    .own_files = own_files,
    .notes = put_notes,
    .destroy = destroy,
    .tables = tables_evidence,
    .json = put_json,
    .lines = put_lines,
    .text = put_text,
    .sections = sections,
    .show = show_hang,
    .shows_nothing = "the processes were not examined while they hung (jobprof "
                     "evidence does this)",
};
