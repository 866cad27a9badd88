/* out.c - writers of foreign text: lines, CSV, HTML.
 *
 * Every text in a report may come from a user, a log or another node. Nothing
 * outside this file escapes it. The three parts are independent of each other.
 */
#include "orchestrator/report/out.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/decimal.h"
#include "common/figure.h"
#include "orchestrator/insight/verdict.h"

/* --- lines: clip and wrap ------------------------------------------------ */

/* Moves the "..." of a cut line back to the end of a clause in the line's
 * second half, or else to the end of a word. Changes nothing if there is no
 * blank. */
static void end_well(char *line, size_t len)
{
    size_t word = 0;

    for (size_t at = len - strlen("..."); at > len / 2; at--) {
        if (line[at - 1] != ' ')
            continue;
        if (strchr(";,.", line[at - 2])) {
            memcpy(line + at, "...", 4);
            return;
        }
        word = word ? word : at;
    }
    if (word)
        memcpy(line + word, "...", 4);
}

void text_out_fit(FILE *out, unsigned columns, const char *fmt, ...)
{
    char raw[4 * JP_TEXT_COLUMNS], line[JP_TEXT_COLUMNS + 1];
    va_list ap;
    size_t len;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    /* an invalid multibyte sequence in the format; print nothing */
    if (n < 0)
        raw[0] = '\0';
    if (columns > JP_TEXT_COLUMNS)
        columns = JP_TEXT_COLUMNS;
    /* cleaning also cuts to the width and appends "..." */
    clean_text(raw, JP_CLEAN_ASCII, line, columns + 1);
    len = strlen(line);
    /* only a line that was cut; a text may end in "..." by itself */
    if (len >= 8 && len == columns && strcmp(line + len - 3, "...") == 0)
        end_well(line, len);
    len = strlen(line);
    /* an empty last column leaves blanks */
    while (len > 0 && line[len - 1] == ' ')
        line[--len] = '\0';
    fprintf(out, "%s\n", line);
}

void text_out_clauses(FILE *out, unsigned columns, const char *label,
                      const char *text)
{
    size_t fits = 0, room = columns - 11;
    unsigned depth = 0;

    for (size_t i = 0; text[i] && i < room; i++) {
        depth += text[i] == '(';
        depth -= text[i] == ')' && depth;
        if (strchr(",;.", text[i]) && text[i + 1] == ' ' && !depth)
            fits = i + (text[i] == '.');
    }
    if (strlen(text) <= room || !fits)
        fits = strlen(text);
    text_out_fit(out, columns, "  %-8s %.*s", label, (int) fits, text);
}

/* Returns how many bytes of text, which is longer than room, go into a line: up
 * to the last blank, or all if a word is too long for a line. */
static size_t break_at(const char *text, size_t room)
{
    size_t at = room;

    while (at > 0 && text[at] != ' ')
        at--;
    return at ? at : room;
}

void text_out_wrap_fit(FILE *out, unsigned columns, unsigned at,
                       unsigned indent, const char *text)
{
    char buf[JP_CLEAN_MAX];
    const char *rest = clean_text(text, JP_CLEAN_ASCII, buf, sizeof(buf));
    /* the first line starts at column `at`, the others at indent */
    size_t room = columns - at;

    while (strlen(rest) > room) {
        size_t n = break_at(rest, room);

        /* the indentation of the next line follows at once */
        fprintf(out, "%.*s\n%*s", (int) n, rest, (int) indent, "");
        rest += n;
        while (*rest == ' ')
            rest++;
        room = columns - indent;
    }
    fprintf(out, "%s\n", rest);
}

/* --- CSV: quote and separate values -------------------------------------- */

void csv_out_begin(struct jp_csv *csv, FILE *out)
{
    csv->out = out;
    csv->inside = false;
    csv->from = csv->used = 0;
}

void csv_out_flush(struct jp_csv *csv)
{
    fwrite_unlocked(csv->bytes, 1, csv->used, csv->out);
    csv->used = 0;
    /* the bytes before are gone, so the current row cannot be kept any more */
    csv->from = csv->inside ? SIZE_MAX : 0;
}

/* Appends one byte to the buffer. */
static void put(struct jp_csv *csv, char c)
{
    *csv_out_room(csv, 1) = c;
    csv->used++;
}

/* Writes bytes as they are. What is larger than the buffer goes straight to the
 * stream. */
static void put_bytes(struct jp_csv *csv, const char *text, size_t n)
{
    if (n > CSV_OUT_ROOM) {
        csv_out_flush(csv);
        fwrite_unlocked(text, 1, n, csv->out);
        return;
    }
    memcpy(csv_out_room(csv, n), text, n);
    csv->used += n;
}

void csv_out_end(struct jp_csv *csv)
{
    put(csv, '\n');
    csv->inside = false;
    /* the next row starts here */
    csv->from = csv->used;
}

size_t csv_out_keep(const struct jp_csv *csv, char *buf, size_t size)
{
    size_t n = csv->used - csv->from;

    /* part of the row was flushed, or it does not fit */
    if (csv->from == SIZE_MAX || n > size)
        return 0;
    memcpy(buf, csv->bytes + csv->from, n);
    return n;
}

void csv_out_again(struct jp_csv *csv, const char *kept, size_t len)
{
    put_bytes(csv, kept, len);
    /* the copy ends with a value, so a comma comes next */
    csv->inside = true;
}

/* Returns true if a spreadsheet would evaluate the text. */
static bool is_formula(const char *text)
{
    return *text && strchr("=+-@", *text);
}

/* Writes the inside of a quoted value, with quotes doubled. */
static void put_doubled(struct jp_csv *csv, const char *text)
{
    for (; *text; text++) {
        if (*text == '"')
            put(csv, '"');
        put(csv, *text);
    }
}

/* Returns the length of a text that needs neither cleaning nor quotes, which is
 * the usual case; 0 if it must be checked in detail. */
static size_t plain_length(const char *text)
{
    size_t n = 0;

    if (!text || is_formula(text) || *text == ' ')
        return 0;
    /* long texts take the other way, which cuts them */
    for (; text[n]; n++)
        if (text[n] < 0x20 || text[n] > 0x7e || text[n] == '"' ||
            text[n] == ',' || n >= JP_CLEAN_MAX / 2)
            return 0;
    return n;
}

void csv_out_text(struct jp_csv *csv, const char *text)
{
    char buf[JP_CLEAN_MAX];
    size_t n = plain_length(text);

    csv_out_empty(csv);
    if (n) {
        put_bytes(csv, text, n);
        return;
    }
    /* the slow path: cleaning may shorten the text or change its first
     * character */
    clean_text(text, JP_CLEAN_UTF8, buf, sizeof(buf));
    if (!is_formula(buf) && buf[0] != ' ' && !strpbrk(buf, "\",")) {
        put_bytes(csv, buf, strlen(buf));
        return;
    }
    /* quotes are needed */
    put(csv, '"');
    /* an apostrophe keeps it a text */
    if (is_formula(buf))
        put(csv, '\'');
    put_doubled(csv, buf);
    put(csv, '"');
}

void csv_out_list(struct jp_csv *csv, char *const *texts, size_t n)
{
    csv_out_empty(csv);
    /* always quoted, as most lists have a blank */
    put(csv, '"');
    for (size_t i = 0; i < n; i++) {
        char buf[JP_CLEAN_MAX];

        clean_text(texts[i], JP_CLEAN_UTF8, buf, sizeof(buf));
        /* only the first character of a cell makes a formula */
        if (i)
            put(csv, ' ');
        else if (is_formula(buf))
            put(csv, '\'');
        put_doubled(csv, buf);
    }
    put(csv, '"');
}

void csv_out_int(struct jp_csv *csv, int64_t value)
{
    char *p = csv_out_begin_number(csv);

    /* 0 - (uint64_t) value below: INT64_MIN has no positive int64_t */
    if (value < 0)
        *p++ = '-';
    csv_out_end_number(
        csv,
        decimal_count(value < 0 ? 0 - (uint64_t) value : (uint64_t) value, p));
}

void csv_out_real(struct jp_csv *csv, double value)
{
    const char *text;
    char *p = csv_out_begin_number(csv), *end = decimal_exact(value, p);

    /* the fast path writes into the buffer; NULL: printf must format the number
     */
    if (end) {
        csv_out_end_number(csv, end);
        return;
    }
    csv_out_end_number(csv, p);
    text = FIG_EXACT(value);
    put_bytes(csv, text, strlen(text));
}

void csv_out_micro(struct jp_csv *csv, uint64_t micro)
{
    csv_out_end_number(csv, decimal_micro(micro, csv_out_begin_number(csv)));
}

void csv_out_mean(struct jp_csv *csv, uint64_t sum, uint64_t n,
                  unsigned decimals)
{
    uint64_t mean = sum / n;
    /* at most 15 digits: such a double prints exactly */
    bool whole = mean * n == sum && sum < UINT64_C(1000000000000000);

    /* without a division in floating point, which is slow and may add digits */
    if (whole && decimals)
        csv_out_micro(csv, mean);
    else if (whole)
        csv_out_count(csv, mean);
    else if (decimals)
        csv_out_real(csv, (double) sum / (double) n / 1e6);
    else
        csv_out_real(csv, (double) sum / (double) n);
}

/* --- HTML: escape text, write the pieces of tables ----------------------- */

#define CELL_MAX 200  /* bytes of a text in a cell */
#define PROSE_MAX 600 /* bytes of sentences, paths and code */
#define FACT_MAX 400  /* bytes of a value in a list of facts */

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

void html_out_begin(FILE *out, const char *title)
{
    /* default-src 'none': the page cannot load anything, even if some text was
     * not escaped */
    fputs(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
        "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>",
        out);
    html_out_text(out, title);
    fprintf(out,
            "</title>\n<style>\n%s</style>\n<script>\n%s</script>\n"
            "</head>\n<body>\n",
            html_assets_style, html_assets_script);
}

void html_out_end(FILE *out)
{
    fputs("</body>\n</html>\n", out);
}

/* Three bytes become four digits; '=' fills the last group. */
void html_out_base64(FILE *out, const unsigned char *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";

    /* the last group may have one or two bytes */
    for (size_t i = 0; i < len; i += 3) {
        unsigned n = (unsigned) data[i] << 16;

        if (i + 1 < len)
            n |= (unsigned) data[i + 1] << 8;
        if (i + 2 < len)
            n |= data[i + 2];
        fputc(digits[n >> 18], out);
        fputc(digits[n >> 12 & 63], out);
        fputc(i + 1 < len ? digits[n >> 6 & 63] : '=', out);
        fputc(i + 2 < len ? digits[n & 63] : '=', out);
    }
}

bool html_out_has_charts(void)
{
    return html_assets_charts[0] != '\0';
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

void html_out_fact(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<dt>%s</dt><dd>", name);
    /* a fact may be a long path or command */
    html_out_short(out, value && *value ? value : "-", FACT_MAX);
    fputs("</dd>\n", out);
}

/* --- pictures --- */

void html_out_proof(FILE *out, const char *kind, const char *caption)
{
    fprintf(out, "<figure class=\"proof %s\"><figcaption>", kind);
    html_out_text(out, caption);
    fputs("</figcaption>\n", out);
}

void html_out_proof_end(FILE *out, const char *note)
{
    if (note && *note) {
        fputs("<p class=\"note\">", out);
        html_out_text(out, note);
        fputs("</p>\n", out);
    }
    fputs("</figure>\n", out);
}

void html_out_verdicts(FILE *out, const char *what, size_t n,
                       const size_t *count)
{
    const char *before = ": ";

    fprintf(out, "<p class=\"note\">%s %s%s", FIG_COUNT(n), what, plural(n));
    /* verdicts that nothing has are left out */
    for (unsigned i = 0; i <= JP_VERDICT_OK; i++)
        if (count[i]) {
            fprintf(out, "%s%s %s", before, FIG_COUNT(count[i]),
                    verdict_word_name((enum jp_verdict_word) i));
            before = ", ";
        }
    fputs(".</p>\n", out);
}
