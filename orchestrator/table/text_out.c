/* text_out.c - cut and wrap lines of text. */
#include "orchestrator/table/text_out.h"

#include <stdarg.h>
#include <string.h>

#include "common/quote.h"

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

void text_out_fact(FILE *out, const char *name, const char *text)
{
    fprintf(out, "  %-26s ", name);
    text_out_wrap(out, 29, 29, text);
}
