/* report_line.c - the line or card that srun prints. */
#include "orchestrator/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "orchestrator/report/card.h"
#include "orchestrator/report/clean.h"
#include "orchestrator/report/summary_file.h"

static bool is_terminal(FILE *out)
{
    int fd = fileno(out); /* -1 for a stream in memory */

    return fd >= 0 && isatty(fd);
}

/* NO_COLOR counts when it is set and not empty: no-color.org */
static bool wants_colour(FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return is_terminal(out) && !(no_color && *no_color) && term && *term &&
           strcmp(term, "dumb");
}

/* Of the terminal; of anything else as many as a card may have. */
static unsigned columns_of(FILE *out)
{
    int fd = fileno(out);
    struct winsize size;

    return fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col
               ? size.ws_col
               : JP_CARD_MAX_COLUMNS;
}

static void print_line(const json_t *root, const char *step_dir, FILE *out)
{
    const json_t *verdict = json_object_get(root, "verdict");
    const char *word = summary_file_text(verdict, "word");
    enum jp_clean how = clean_locale_is_utf8() ? JP_CLEAN_UTF8 : JP_CLEAN_ASCII;
    bool colour = wants_colour(out);
    char text[1024], dir[JP_CLEAN_MAX];

    clean_text(summary_file_text(verdict, "text"), how, text, sizeof(text));
    clean_text(step_dir, how, dir, sizeof(dir));
    fprintf(out, "jobprof: %s%s%s %s | report: %s/report.html\n",
            card_colour(word, colour), word, card_colour_end(colour), text,
            dir);
}

int report_print_line(const char *step_dir, enum jp_summary how, FILE *out,
                      struct jp_error *err)
{
    json_t *root;
    int rc = 0;

    if (how == JP_SUMMARY_OFF)
        return 0;
    root = summary_file_read(step_dir, err);
    if (!root)
        return -1;
    errno = 0;
    if (how == JP_SUMMARY_CARD || (how == JP_SUMMARY_AUTO && is_terminal(out)))
        card_print(root, step_dir, wants_colour(out), columns_of(out), out);
    else
        print_line(root, step_dir, out);
    json_decref(root);
    if (fflush(out) || ferror(out))
        rc = error_set(err, "summary line: %s", strerror(errno));
    return rc;
}
