/* text_out.c - clip and wrap lines. */
#include "orchestrator/report/text_out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool clean_locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *value = getenv(names[i]);

        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static void put_line(FILE *out, unsigned columns, const char *fmt, va_list ap)
{
    char raw[4 * JP_TEXT_COLUMNS], line[JP_TEXT_COLUMNS + 1];
    size_t len;

    if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
        raw[0] = '\0';
    clean_text(raw, JP_CLEAN_ASCII, line,
               columns < JP_TEXT_COLUMNS ? columns + 1 : sizeof(line));
    len = strlen(line);
    while (len > 0 && line[len - 1] == ' ')
        line[--len] = '\0';
    fprintf(out, "%s\n", line);
}

void text_out_line(FILE *out, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_line(out, JP_TEXT_COLUMNS, fmt, ap);
    va_end(ap);
}

void text_out_fit(FILE *out, unsigned columns, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put_line(out, columns, fmt, ap);
    va_end(ap);
}

/* How much of text (longer than room) goes into a line. */
static size_t break_at(const char *text, size_t room)
{
    size_t at = room;

    while (at > 0 && text[at] != ' ')
        at--;
    return at ? at : room;
}

void text_out_wrap(FILE *out, unsigned at, unsigned indent, const char *text)
{
    text_out_wrap_fit(out, JP_TEXT_COLUMNS, at, indent, text);
}

void text_out_wrap_fit(FILE *out, unsigned columns, unsigned at,
                       unsigned indent, const char *text)
{
    char buf[JP_CLEAN_MAX];
    const char *rest = clean_text(text, JP_CLEAN_ASCII, buf, sizeof(buf));
    size_t room = columns - at;

    while (strlen(rest) > room) {
        size_t n = break_at(rest, room);

        fprintf(out, "%.*s\n%*s", (int) n, rest, (int) indent, "");
        rest += n;
        while (*rest == ' ')
            rest++;
        room = columns - indent;
    }
    fprintf(out, "%s\n", rest);
}
