/* html_pictures.c - section: gnuplot's pictures, in a page without charts. */
#include "orchestrator/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "orchestrator/report/out.h"
#include "orchestrator/report/sections.h"

#define PAGE_MAX (64 << 20)
#define PICTURE_MAX (1 << 20)

/* Where the pictures go; foreign text in a page has no bare '<'. */
static const char place[] = "<!-- pictures -->";

bool html_pictures_present(const struct jp_report *report)
{
    return !html_out_has_charts() && report->result;
}

int html_pictures_put(const struct jp_report *report, FILE *out)
{
    (void) report;
    fprintf(out,
            "<p class=\"note\">This jobprof was built without charts. "
            "<code>--png</code> puts gnuplot&#39;s pictures here; "
            "<code>cd plots; gnuplot -d *.gp</code> draws them by hand.</p>\n"
            "%s\n",
            place);
    return 0;
}

static void put_base64(FILE *out, const unsigned char *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";

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

/* What was not drawn is left out. */
static void put_picture(FILE *out, const char *dir, const char *name,
                        const char *caption)
{
    char *path = fileio_path("%s/plots/%s.png", dir, name), *data = NULL;
    size_t len = 0;

    if (path && fileio_read(path, false, PICTURE_MAX, &data, &len, NULL) == 0) {
        fprintf(out,
                "<figure><figcaption>%s</figcaption><img alt=\"%s\" "
                "src=\"data:image/png;base64,",
                caption, caption);
        put_base64(out, (const unsigned char *) data, len);
        fputs("\"></figure>\n", out);
    }
    free(data);
    free(path);
}

/* Puts dir/plots/'s pictures into dir/report.html (temp + rename) where that
 * has no charts. */
static int embed(const char *dir, struct jp_error *err)
{
    char *path = fileio_path("%s/report.html", dir), *page = NULL, *at;
    const char *name, *caption;
    struct jp_tempfile file;
    size_t len = 0;
    int rc = -1;

    if (!path) {
        error_set(err, "out of memory");
        goto out;
    }
    if (fileio_read(path, false, PAGE_MAX, &page, &len, err) < 0)
        goto out;
    at = strstr(page, place);
    if (!at) { /* it has charts, or the pictures already */
        rc = 0;
        goto out;
    }
    if (fileio_temp_open(&file, path, err) < 0)
        goto out;
    fwrite(page, 1, (size_t) (at - page), file.stream);
    for (size_t i = 0; (name = plots_in_page(i, &caption)); i++)
        put_picture(file.stream, dir, name, caption);
    at += strlen(place);
    fwrite(at, 1, len - (size_t) (at - page), file.stream);
    rc = fileio_temp_commit(&file, err);
out:
    free(page);
    free(path);
    return rc;
}

int report_draw(const char *dir, struct jp_error *err)
{
    char *plots_dir = fileio_path("%s/plots", dir);
    int rc = plots_dir ? plots_render(plots_dir, err)
                       : error_set(err, "out of memory");

    free(plots_dir);
    return rc < 0 ? -1 : embed(dir, err);
}
