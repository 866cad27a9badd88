/* gnuplot.c - begin a script for gnuplot; run gnuplot with a deadline. */
#include "orchestrator/report/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/ownplace.h"

/* Quotes, backslashes and '@' mean something in a script, so only a few
 * characters stay. */
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

void plot_script_begin(FILE *out, const char *name, const char *title,
                       unsigned width, unsigned height)
{
    /* Okabe and Ito's colours, which colour-blind readers can distinguish. */
    static const char *const colours[] = {
        "0072B2", "D55E00", "009E73", "CC79A7",
        "E69F00", "56B4E9", "666666", "B09C00",
    };

    /* pngcairo draws better, but small builds of gnuplot have only png */
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
    /* tabs separate the columns of a .tsv: names contain blanks */
    fputs("set encoding utf8\n"
          "set datafile separator '\\t'\n",
          out);
    for (size_t i = 0; i < sizeof(colours) / sizeof(*colours); i++)
        fprintf(out,
                "set linetype %zu linecolor rgb '#%s' linewidth 2 "
                "pointtype %zu pointsize 1\n",
                i + 1, colours[i], 5 + 2 * (i % 6)); /* odd ones are filled */
    /* line types repeat after the eight colours */
    fputs("set linetype cycle 8\n"
          "set border 3 linecolor rgb '#444444'\n"
          "set tics nomirror\n"
          "set grid xtics ytics linetype 0 linewidth 1 "
          "linecolor rgb '#bbbbbb'\n",
          out);
    fprintf(out, "set title '%s' font ',15'\n", title);
}

/* gnuplot refuses a plot without data, so this plots a line outside of the
 * range. */
void plot_script_nothing(FILE *out, const char *why)
{
    fprintf(out,
            "unset tics\nunset border\nunset grid\n"
            "set label 1 '%s' at graph 0.5,0.5 center font ',14'\n"
            "plot [0:1] [0:1] -1 notitle\n",
            why);
}

/* --- run gnuplot --------------------------------------------------------- */

#define EXIT_NOT_FOUND 127 /* of a child that could not execute its program */

int gnuplot_run(const char *dir, const char *const *names, size_t n,
                unsigned limit_ms, struct jp_error *err)
{
    /* the two words before the scripts, and the NULL after them */
    char *argv[GNUPLOT_MAX_SCRIPTS + 3] = {(char *) "gnuplot", (char *) "-d"};
    /* no shell: the names are arguments */
    struct child child = {
        .argv = argv, .limit_ms = limit_ms, .dies_with_us = true};
    /* nobody else may change a script before it runs, or put a link where the
     * picture goes */
    int folder = ownplace_open(dir, OWNPLACE_PRIVATE, err);
    struct child_result r;
    enum child_end end;
    char here[32];
    int rc = -1;

    if (folder < 0)
        return -1;
    snprintf(here, sizeof(here), "/proc/self/fd/%d", folder);
    child.dir = here; /* the child has this descriptor until exec */

    /* text_format allocates each; argv stays NULL-terminated after the last */
    for (size_t i = 0; i < n && i < GNUPLOT_MAX_SCRIPTS; i++)
        if (!(argv[2 + i] = text_format("%s.gp", names[i]))) {
            error_set(err, "out of memory");
            goto out;
        }
    end = child_run(&child, &r);
    /* it did not start, or did not end in time */
    if (end != CHILD_ENDED)
        error_set(err, "gnuplot: %s: %s", n ? argv[2] : "",
                  end == CHILD_LATE ? "no end in time" : strerror(errno));
    else if (child_succeeded(end, &r))
        rc = 0;
    else if (!WIFEXITED(r.status))
        error_set(err, "gnuplot: %s: signal %d", n ? argv[2] : "",
                  WTERMSIG(r.status));
    /* the child's exec failed */
    else if (WEXITSTATUS(r.status) == EXIT_NOT_FOUND)
        error_set(err, "gnuplot was not found");
    else
        error_set(err, "gnuplot: %s: exit status %d", n ? argv[2] : "",
                  WEXITSTATUS(r.status));
out:
    for (size_t i = 0; i < n && i < GNUPLOT_MAX_SCRIPTS; i++)
        free(argv[2 + i]);
    close(folder);
    return rc;
}

void gnuplot_remove(const char *dir, const char *name, const char *suffix)
{
    char *path = text_format("%s/%s.%s", dir, name, suffix);

    if (path)
        ownplace_unlink(path);
    free(path);
}
