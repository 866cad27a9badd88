/* compare_print.c - show what differs between two reports. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/insight/sentence.h"
#include "orchestrator/report/clean.h"
#include "orchestrator/report/compare.h"
#include "orchestrator/report/json_out.h"
#include "orchestrator/report/summary_file.h"
#include "orchestrator/report/text_out.h"

static const char *const courses[] = {[COMPARE_SAME] = "",
                                      [COMPARE_FASTER] = "faster",
                                      [COMPARE_SLOWER] = "SLOWER",
                                      [COMPARE_FEW] = "few",
                                      [COMPARE_INCOMPLETE] = "incomplete",
                                      [COMPARE_ONE_SIDED] = "only"};

static const json_t *verdict_of(const struct jp_compare *c, int side)
{
    return json_object_get(c->roots[side], "verdict");
}

static void put_side(const struct jp_compare *c, const char *name, int side,
                     FILE *out)
{
    char text[400], path[JP_CLEAN_MAX];

    clean_text(summary_file_text(verdict_of(c, side), "text"), JP_CLEAN_ASCII,
               text, sizeof(text));
    clean_text(name, JP_CLEAN_ASCII, path, sizeof(path));
    fprintf(out, "%c  %s\n   ", side ? 'B' : 'A', path);
    if (!c->roots[side]) {
        fprintf(out, "baseline of %s earlier steps\n",
                FIG_COUNT(c->baseline->n_reports));
        return;
    }
    fprintf(out, "%s ", summary_file_text(verdict_of(c, side), "word"));
    text_out_wrap(out, 12, 6, text);
}

/* "+12.3 %", "-4.0 %" */
static const char *signed_share(double change, char buf[JP_FIGURE_LEN])
{
    if (!isfinite(change))
        return "-";
    snprintf(buf, JP_FIGURE_LEN, "%+.1f %%", 100 * change);
    return buf;
}

static const char *course_text(const struct compare_cell *cell)
{
    return cell->course != COMPARE_ONE_SIDED ? courses[cell->course]
           : cell->ops[0]                    ? "only in A"
                                             : "only in B";
}

/* Of the network, against a baseline. */
static void put_network(const struct compare_cell *cell, FILE *out)
{
    char change[JP_FIGURE_LEN], coll[16], kind[32];

    text_out_line(out, "  %-29s %-13s %8s %8s %8s %9s  %s",
                  clean_text(cell->kind, JP_CLEAN_ASCII, kind, 30),
                  clean_text(cell->coll, JP_CLEAN_ASCII, coll, 14),
                  FIG_BYTES(cell->bytes), FIG_GBS(cell->busbw_gbs[0]),
                  FIG_GBS(cell->busbw_gbs[1]),
                  signed_share(cell->change, change), course_text(cell));
}

static void put_cell(const struct compare_cell *cell, FILE *out)
{
    char change[JP_FIGURE_LEN], coll[16], type[16];

    text_out_line(out, "  %-11s %-13s %8s %8s %8s %8s %8s %9s  %s",
                  clean_text(cell->type, JP_CLEAN_ASCII, type, 12),
                  clean_text(cell->coll, JP_CLEAN_ASCII, coll, 14),
                  FIG_BYTES(cell->bytes), FIG_US(cell->time_us[0]),
                  FIG_US(cell->time_us[1]), FIG_GBS(cell->busbw_gbs[0]),
                  FIG_GBS(cell->busbw_gbs[1]),
                  signed_share(cell->change, change), course_text(cell));
}

static void put_findings(const json_t *const *list, size_t n, const char *sign,
                         FILE *out)
{
    char text[400], kind[24];

    for (size_t i = 0; i < n; i++) {
        clean_text(summary_file_text(list[i], "text"), JP_CLEAN_ASCII, text,
                   sizeof(text));
        fprintf(out, "  %s %-15s ", sign,
                clean_text(summary_file_text(list[i], "kind"), JP_CLEAN_ASCII,
                           kind, sizeof(kind)));
        text_out_wrap(out, 20, 20, text);
    }
}

int compare_print(const struct jp_compare *c, const char *const names[2],
                  FILE *out, struct jp_error *err)
{
    errno = 0;
    for (int side = 0; side < 2; side++)
        put_side(c, names[side], side, out);
    fputc('\n', out);
    if (c->baseline)
        text_out_line(out, "  %-29s %-13s %8s %8s %8s %9s", "network",
                      "function", "size", "GB/s A", "B", "time");
    else
        text_out_line(out, "  %-11s %-13s %8s %8s %8s %8s %8s %9s", "type",
                      "function", "size", "time A", "B", "GB/s A", "B", "time");
    for (size_t i = 0; i < c->n_cells; i++)
        (c->baseline ? put_network : put_cell)(&c->cells[i], out);
    if (c->n_fresh || c->n_gone)
        fputs("\nFindings: + new in B, - gone\n", out);
    put_findings(c->fresh, c->n_fresh, "+", out);
    put_findings(c->gone, c->n_gone, "-", out);
    if (c->incomplete[0] || c->incomplete[1])
        fprintf(out,
                "\nINCOMPLETE: %s records are missing, so nothing is called "
                "slower or faster\n",
                !c->incomplete[1]   ? "A's"
                : !c->incomplete[0] ? "B's"
                                    : "both sides'");
    fprintf(out,
            "\n%zu of %zu cells slower by more than %s, %zu faster; %zu "
            "finding%s new, %zu gone\n",
            c->slower, c->n_cells, FIG_SHARE(c->threshold), c->faster,
            c->n_fresh, sentence_s(c->n_fresh), c->n_gone);
    if (compare_has_nothing(c))
        fputs("Nothing could be compared: no cell is in both\n", out);
    if (fflush(out) || ferror(out))
        return error_set(err, "%s",
                         errno ? strerror(errno) : "cannot be written");
    return 0;
}

static json_t *pair(struct jp_json *j, const double v[2])
{
    json_t *array = json_out_array(j);

    for (int side = 0; side < 2; side++)
        json_out_append(j, array,
                        isfinite(v[side]) ? json_real(v[side]) : json_null());
    return array;
}

static json_t *cell_row(struct jp_json *j, const struct compare_cell *cell)
{
    static const char *const words[] = {[COMPARE_SAME] = "same",
                                        [COMPARE_FASTER] = "faster",
                                        [COMPARE_SLOWER] = "slower",
                                        [COMPARE_FEW] = "few",
                                        [COMPARE_INCOMPLETE] = "incomplete",
                                        [COMPARE_ONE_SIDED] = "one_sided"};
    const double ops[2] = {(double) cell->ops[0], (double) cell->ops[1]};
    json_t *row = json_out_object(j);

    json_out_text(j, row, "comm_type", cell->type);
    if (*cell->kind)
        json_out_text(j, row, "network", cell->kind);
    json_out_text(j, row, "coll", cell->coll);
    json_out_count(j, row, "msg_size_bytes", cell->bytes);
    json_out_put(j, row, "ops", pair(j, ops));
    json_out_put(j, row, "exec_us", pair(j, cell->time_us));
    json_out_put(j, row, "busbw_gbs", pair(j, cell->busbw_gbs));
    json_out_real(j, row, "change", cell->change);
    json_out_text(j, row, "course", words[cell->course]);
    return row;
}

static void put_copies(struct jp_json *j, json_t *root, const char *key,
                       const json_t *const *list, size_t n)
{
    json_t *array = json_out_array(j);

    for (size_t i = 0; i < n; i++)
        json_out_append(j, array, json_deep_copy(list[i]));
    json_out_put(j, root, key, array);
}

int compare_print_json(const struct jp_compare *c, const char *const names[2],
                       FILE *out, struct jp_error *err)
{
    struct jp_json j = {0};
    json_t *root = json_out_object(&j), *cells = json_out_array(&j);

    json_out_count(&j, root, "schema_version", 1);
    json_out_real(&j, root, "threshold", c->threshold);
    for (int side = 0; side < 2; side++) {
        json_t *one = json_out_object(&j);

        json_out_text(&j, one, "dir", names[side]);
        if (c->roots[side])
            json_out_text(&j, one, "word",
                          summary_file_text(verdict_of(c, side), "word"));
        else
            json_out_count(&j, one, "baseline_reports", c->baseline->n_reports);
        json_out_put(&j, one, "incomplete", json_boolean(c->incomplete[side]));
        json_out_put(&j, root, side ? "b" : "a", one);
    }
    for (size_t i = 0; i < c->n_cells; i++)
        json_out_append(&j, cells, cell_row(&j, &c->cells[i]));
    json_out_put(&j, root, "cells", cells);
    json_out_count(&j, root, "slower", c->slower);
    json_out_count(&j, root, "faster", c->faster);
    put_copies(&j, root, "new", c->fresh, c->n_fresh);
    put_copies(&j, root, "gone", c->gone, c->n_gone);
    return json_out_dump(&j, root, out, err);
}
