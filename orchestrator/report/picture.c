/* picture.c - figures of small pictures, for web/pictures.js. */
#include "orchestrator/report/picture.h"

void picture_begin(struct jp_json_stream *figures, const char *kind, FILE *out)
{
    fprintf(out, "<span class=\"picture\" data-picture=\"%s\" data-figures='",
            kind);
    json_stream_open(figures, JSON_SCRIPT, out);
}

void picture_numbers(struct jp_json_stream *figures, const char *key,
                     const double *values, size_t n)
{
    json_stream_array(figures, key);
    for (size_t i = 0; i < n; i++)
        json_stream_real(figures, NULL, values[i]);
    json_stream_end_array(figures);
}

void picture_end(struct jp_json_stream *figures)
{
    FILE *out = figures->out;

    json_stream_close(figures, NULL);
    fputs("'></span>", out);
}

void picture_bar(FILE *out, double share, const char *look)
{
    struct jp_json_stream figures;

    picture_begin(&figures, "bar", out);
    json_stream_array(&figures, "parts");
    json_stream_array(&figures, NULL);
    json_stream_real(&figures, NULL, share);
    json_stream_text(&figures, NULL, look);
    json_stream_end_array(&figures);
    json_stream_end_array(&figures);
    picture_end(&figures);
}
