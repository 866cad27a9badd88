/* out.c - the frame of a page, and what it has beside tables. */
#include "orchestrator/report/out.h"

#include "common/figure.h"
#include "orchestrator/insight/verdict.h"

/* bytes of a value in a list of facts */
#define FACT_MAX 400

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

void html_out_fact(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<dt>%s</dt><dd>", name);
    /* a fact may be a long path or command */
    html_out_short(out, value && *value ? value : "-", FACT_MAX);
    fputs("</dd>\n", out);
}

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
