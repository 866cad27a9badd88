/* plot_script.c - write what every gnuplot script starts with. */
#include "orchestrator/report/plot_script.h"

#include <ctype.h>
#include <string.h>

char *plot_script_name(const char *text, char *buf, size_t size)
{
    size_t n = 0;

    for (; *text && n + 1 < size; text++) {
        unsigned char c = (unsigned char) *text;
        int good = c < 0x80 && (isalnum(c) || strchr(" ._-:", c));

        buf[n++] = (char) (good ? c : '_');
    }
    buf[n] = '\0';
    return buf;
}

char *plot_script_comm(const struct jp_comm *comm, char *buf, size_t size)
{
    size_t len = strlen(comm->id);
    char name[20], id[20];

    plot_script_name(comm->id, id, sizeof(id));
    if (!comm->name || !*comm->name)
        snprintf(buf, size, "%s", id);
    else
        snprintf(buf, size, "%s ..%s",
                 plot_script_name(comm->name, name, sizeof(name)),
                 len > 4 ? id + len - 4 : id);
    return buf;
}

void plot_script_begin(FILE *out, const char *name, const char *title)
{
    plot_script_begin_sized(out, name, title, 1200, 720);
}

void plot_script_begin_sized(FILE *out, const char *name, const char *title,
                             unsigned width, unsigned height)
{
    /* Okabe and Ito's colours: apart for colour-blind eyes too. */
    static const char *const colours[] = {
        "0072B2", "D55E00", "009E73", "CC79A7",
        "E69F00", "56B4E9", "666666", "B09C00",
    };

    fprintf(out, "# Run in this folder: gnuplot -d %s.gp\nreset session\n",
            name);
    fprintf(out,
            "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
            "    set terminal pngcairo noenhanced size %u,%u font 'Sans,12'\n"
            "} else {\n"
            "    set terminal png noenhanced size %u,%u\n"
            "}\n",
            width, height, width, height);
    fprintf(out, "set output '%s.png'\n", name);
    fputs("set encoding utf8\n"
          "set datafile separator '\\t'\n",
          out);
    for (size_t i = 0; i < sizeof(colours) / sizeof(*colours); i++)
        fprintf(out,
                "set linetype %zu linecolor rgb '#%s' linewidth 2 "
                "pointtype %zu pointsize 1\n",
                i + 1, colours[i], 5 + 2 * (i % 6)); /* odd ones are filled */
    fputs("set linetype cycle 8\n"
          "set border 3 linecolor rgb '#444444'\n"
          "set tics nomirror\n"
          "set grid xtics ytics linetype 0 linewidth 1 "
          "linecolor rgb '#bbbbbb'\n",
          out);
    fprintf(out, "set title '%s' font ',15'\n", title);
}

int plot_script_log_base(double least, double most)
{
    return most / least < 500 ? 2 : 10;
}

void plot_script_nothing(FILE *out, const char *why)
{
    fprintf(out,
            "unset tics\nunset border\nunset grid\n"
            "set label 1 '%s' at graph 0.5,0.5 center font ',14'\n"
            "plot [0:1] [0:1] -1 notitle\n",
            why);
}
