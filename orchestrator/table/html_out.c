/* html_out.c - escape text for a page, and write the pieces of tables. */
#include "orchestrator/table/html_out.h"

#include <math.h>

#include "common/figure.h"
#include "common/quote.h"

#define CELL_MAX 200  /* bytes of a text in a cell */
#define PROSE_MAX 600 /* bytes of sentences, paths and code */

/* Writes text so that it is safe in elements and in attributes with either kind
 * of quotes. */
static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

void html_out_text(FILE *out, const char *text)
{
    html_out_short(out, text, JP_CLEAN_MAX);
}

void html_out_short(FILE *out, const char *text, size_t max)
{
    char buf[JP_CLEAN_MAX];

    /* no text is longer after cleaning */
    if (max > sizeof(buf))
        max = sizeof(buf);
    put_escaped(out, clean_text(text, JP_CLEAN_UTF8, buf, max));
}

void html_out_table(FILE *out, const struct jp_html_column *columns, size_t n,
                    bool sortable)
{
    /* the table scrolls in its own box; tabindex makes that possible with keys
     */
    fprintf(out, "<div class=\"scroll\" tabindex=\"0\"><table%s><thead><tr>",
            sortable ? " class=\"sortable\"" : "");
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "<th scope=\"col\"%s",
                columns[i].number ? " class=\"n\"" : "");
        if (columns[i].help) {
            fputs(" title=\"", out);
            html_out_text(out, columns[i].help);
            fputc('"', out);
        }
        fputc('>', out);
        html_out_text(out, columns[i].title);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>\n", out);
}

void html_out_row(FILE *out)
{
    fputs("<tr>", out);
}

void html_out_cell(FILE *out, const char *text)
{
    fputs("<td>", out);
    html_out_short(out, text, CELL_MAX);
    fputs("</td>", out);
}

void html_out_word(FILE *out, const char *text)
{
    char word[CELL_MAX + 8]; /* what is longer is cut below */
    size_t n = 0;

    for (; text[n] && n + 1 < sizeof(word); n++)
        word[n] = text[n] == '_' ? ' ' : text[n];
    word[n] = '\0';
    fputs("<td class=\"word\">", out);
    html_out_short(out, word, CELL_MAX);
    fputs("</td>", out);
}

void html_out_prose(FILE *out, const char *text)
{
    fputs("<td class=\"wrap\">", out);
    html_out_short(out, text, PROSE_MAX);
    fputs("</td>", out);
}

void html_out_more(FILE *out, const char *words, const char *prose)
{
    fputs("<td class=\"wrap\"><details><summary>", out);
    html_out_short(out, words, CELL_MAX);
    fputs("</summary>", out);
    html_out_short(out, prose, PROSE_MAX);
    fputs("</details></td>", out);
}

void html_out_id(FILE *out, const char *text)
{
    fputs("<td><code>", out);
    html_out_short(out, text, CELL_MAX);
    fputs("</code></td>", out);
}

void html_out_code(FILE *out, const char *text)
{
    fputs("<td class=\"code\"><code>", out);
    html_out_short(out, text, PROSE_MAX);
    fputs("</code></td>", out);
}

void html_out_link(FILE *out, const char *text, const char *path)
{
    fputs("<td><a href=\"", out);
    html_out_text(out, path);
    fputs("\">", out);
    html_out_short(out, text, CELL_MAX);
    fputs("</a></td>", out);
}

void html_out_verdict(FILE *out, const char *text, const char *word)
{
    fputs("<td><b class=\"", out);
    html_out_text(out, word);
    fputs("\">", out);
    html_out_text(out, text);
    fputs("</b></td>", out);
}

/* Opens a cell of figures. data-v is the value that page.js sorts by. */
static void begin_figure(FILE *out, double value)
{
    fputs("<td class=\"n\"", out);
    if (isfinite(value))
        fprintf(out, " data-v=\"%s\"", FIG_EXACT(value));
}

void html_out_figure(FILE *out, const char *figure, double value)
{
    begin_figure(out, value);
    fputc('>', out);
    html_out_text(out, figure);
    fputs("</td>", out);
}

void html_out_bar(FILE *out, const char *figure, double value, double share)
{
    int percent = isfinite(share) ? (int) lround(share * 100) : 0;

    /* a share may exceed 1, a bar cannot */
    percent = percent < 0 ? 0 : percent > 100 ? 100 : percent;
    begin_figure(out, value);
    fprintf(out, "><span class=\"bar\" style=\"--w:%d%%\">", percent);
    html_out_text(out, figure);
    fputs("</span></td>", out);
}

void html_out_row_end(FILE *out)
{
    fputs("</tr>\n", out);
}

void html_out_table_end(FILE *out, size_t columns, size_t left_out,
                        const char *where)
{
    fputs("</tbody>", out);
    /* say where the other rows are */
    if (left_out)
        fprintf(out,
                "<tfoot><tr><td colspan=\"%zu\">%s more row%s in "
                "<a href=\"%s\">%s</a></td></tr></tfoot>",
                columns, FIG_COUNT(left_out), plural(left_out), where, where);
    fputs("</table></div>\n", out);
}
