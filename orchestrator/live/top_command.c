/* top_command.c - `jobprof top`: show a running step.
 *
 * top_steps.c finds the steps and reads their snapshots; topshow.h makes
 * rows and lines of them. This file has three ways to run: on a terminal as a
 * screen with keys (top_screen), to a file or pipe repeatedly (run_plain), and
 * once (run_once). On a terminal, signals are blocked except while ppoll waits,
 * so that no drawing is interrupted and the terminal is always restored. */
#include "orchestrator/live/top_steps.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/live/live_metrics.h"
#include "orchestrator/show/show.h"
#include "orchestrator/show/show_table.h"

/* --- on a terminal: the screen and its keys ----------------------------------
 */

#define ENTER "\033[?1049h\033[?25l\033[2J"
#define LEAVE "\033[0m\033[?25h\033[?1049l"
/* The line of keys and the line "+N more". */
#define FOOT_LINES 2

static const char *const keys_help[] = {
    "q          quit",
    "up, down   choose a row (also k, j, page up, page down)",
    "Enter      open a node: its ranks; Esc, left: back",
    "s          sort by the next key: worst, node, age, caused, ops",
    "f          show only ranks with trouble",
    "d          show what was read, and the phase of the hang check",
    "space      freeze or resume",
    "Tab        the next running step",
    "h          this page",
};

struct screen {
    struct top *top;
    struct termios before;
    bool raw;  /* the terminal is in raw mode */
    bool keys; /* a user can press keys */
    bool frozen, help, quit;
    size_t at;                  /* index among the running steps */
    size_t n;                   /* number of rows drawn last */
    bool nodes;                 /* the rows drawn last are nodes */
    char opened[LIVE_NODE_LEN]; /* node opened by Enter; "": none */
    char chosen[LIVE_NODE_LEN];
    unsigned height;
};

/* --- the terminal --------------------------------------------------------- */

/* Writes text to the terminal, past stdio: a partial screen is never left in a
 * buffer. */
static void put_text(const char *text)
{
    size_t len = strlen(text);

    while (len) {
        ssize_t n = write(STDOUT_FILENO, text, len);

        if (n < 0 && errno != EINTR)
            return;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t) n : 0;
    }
}

/* Switches to the alternate screen and reads keys one by one, without echo.
 * Without a terminal as input there are no keys. */
static void enter_screen(struct screen *s)
{
    struct termios raw;

    s->keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->before) == 0;
    if (s->keys) {
        raw = s->before;
        raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        s->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    put_text(ENTER);
}

/* Restores the terminal, even if it has gone. */
static void leave_screen(struct screen *s)
{
    put_text(LEAVE);
    if (s->raw)
        tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
    s->raw = false;
}

static void measure_screen(struct screen *s)
{
    struct winsize size;

    s->height = 24;
    s->top->how.width = 80;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col &&
        size.ws_row) {
        s->height = size.ws_row;
        s->top->how.width = size.ws_col;
    }
}

/* --- signals, delivered only while the screen waits ----------------------- */

/* Set by the signal handler: the signal that ends the program, and Ctrl-Z. */
static volatile sig_atomic_t got_end, got_stop;

static void on_signal(int sig)
{
    if (sig == SIGTSTP)
        got_stop = 1;
    else if (sig != SIGWINCH && sig != SIGCONT)
        got_end = sig;
}

static const int caught[] = {SIGINT,  SIGTERM,  SIGHUP, SIGQUIT,
                             SIGTSTP, SIGWINCH, SIGCONT};
#define N_CAUGHT (sizeof(caught) / sizeof(*caught))

struct signals {
    sigset_t before;
    struct sigaction actions[N_CAUGHT];
};

/* Blocks the signals and installs the handler. A signal that is ignored (nohup)
 * stays ignored. */
static void catch_signals(struct signals *old)
{
    const struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;

    got_end = got_stop = 0;
    sigemptyset(&blocked);
    for (size_t i = 0; i < N_CAUGHT; i++)
        sigaddset(&blocked, caught[i]);
    sigprocmask(SIG_BLOCK, &blocked, &old->before);
    for (size_t i = 0; i < N_CAUGHT; i++) {
        sigaction(caught[i], NULL, &old->actions[i]);
        if (old->actions[i].sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
}

static void give_signals_back(const struct signals *old)
{
    for (size_t i = 0; i < N_CAUGHT; i++)
        sigaction(caught[i], &old->actions[i], NULL);
    sigprocmask(SIG_SETMASK, &old->before, NULL);
}

/* Handles Ctrl-Z: gives the terminal back to the shell, and takes it again
 * afterwards. */
static void stop(struct screen *s)
{
    got_stop = 0;
    leave_screen(s);
    /* returns when the shell continues this process */
    raise(SIGSTOP);
    enter_screen(s);
}

/* --- drawing -------------------------------------------------------------- */

/* The first running step, or one that may run, or the last. */
static struct top_step *current_step(const struct top *top)
{
    struct top_step *silent = NULL;

    for (size_t i = 0; i < top->n; i++) {
        if (top->steps[i].status == TOP_RUNS)
            return &top->steps[i];
        if (top->steps[i].status == TOP_SILENT)
            silent = &top->steps[i];
    }
    return silent ? silent : &top->steps[top->n - 1];
}

/* Returns the step to draw, and the number of running steps: the one chosen by
 * Tab, otherwise the first. */
static struct top_step *shown_step(const struct screen *s, size_t *n)
{
    struct top_step *step = NULL;

    *n = 0;
    for (size_t i = 0; i < s->top->n; i++)
        if (s->top->steps[i].status == TOP_RUNS) {
            if (*n == s->at || !step)
                step = &s->top->steps[i];
            ++*n;
        }
    return step ? step : current_step(s->top);
}

static void line(FILE *out, unsigned width, const char *text)
{
    char clean[512];

    clean_text(text, JP_CLEAN_ASCII, clean, sizeof(clean));
    fprintf(out, "%.*s\033[K\r\n", (int) (width < 511 ? width : 511),
            clean); /* raw: cleaned */
}

/* Draws the rows of a step, and keeps the selected row visible. */
static void draw_rows(struct screen *s, const struct top_step *step, FILE *out)
{
    struct topshow_how *how = &s->top->how;
    unsigned used = TOPSHOW_HEAD_LINES + FOOT_LINES + how->reading;
    struct topshow rows;

    how->job = step->name;
    how->screen = true;
    how->rows = s->height > used ? s->height - used : 1;
    if (topshow_make(&rows, &step->state, how) < 0)
        return;
    s->n = rows.n;
    s->nodes = rows.nodes;
    if (how->selected != SIZE_MAX && how->selected >= rows.n)
        how->selected = rows.n ? rows.n - 1 : SIZE_MAX;
    /* scroll as little as possible */
    if (how->selected == SIZE_MAX)
        how->first = 0;
    else if (how->selected < how->first)
        how->first = how->selected;
    else if (how->selected >= how->first + how->rows)
        how->first = how->selected - how->rows + 1;
    /* kept by name, because rows move between looks */
    s->chosen[0] = '\0';
    if (how->selected != SIZE_MAX)
        snprintf(s->chosen, sizeof(s->chosen), "%s",
                 rows.rows[how->selected].node);
    topshow_print(&rows, &step->state, how, out);
    topshow_fini(&rows);
}

static void draw_foot(const struct screen *s, size_t n_steps, FILE *out)
{
    const struct topshow_how *how = &s->top->how;
    char text[256];

    snprintf(text, sizeof(text),
             "q quit  h help  s sort: %s  f %s  d read  space %s%s%s",
             topshow_sort_words[how->sort], how->odd ? "all" : "odd",
             s->frozen ? "RESUME (frozen)" : "freeze",
             s->opened[0] ? "  Esc back" : "",
             n_steps > 1 ? "  Tab next step" : "");
    fprintf(out, "%.*s\033[K", (int) how->width, text); /* raw: ours */
}

/* Prints at most the screen's lines, so that nothing scrolls. */
static void flush(const char *text, unsigned height)
{
    const char *at = text;
    char *cut;

    for (unsigned i = 0; at && i + 1 < height; i++) {
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    at = at ? strchr(at, '\r') : NULL;
    cut = at ? strndup(text, (size_t) (at - text)) : NULL;
    put_text("\033[H");
    put_text(cut ? cut : text);
    put_text("\033[J");
    free(cut);
}

/* Draws the whole screen into memory and writes it at once, which avoids
 * flicker. */
static void draw_screen(struct screen *s)
{
    char *text = NULL;
    size_t len = 0, n_steps;
    FILE *out = open_memstream(&text, &len);
    const struct top_step *step = shown_step(s, &n_steps);

    if (!out)
        return;
    s->top->how.node = s->opened[0] ? s->opened : s->top->node;
    s->n = 0;
    if (s->help)
        for (size_t i = 0; i < sizeof(keys_help) / sizeof(*keys_help); i++)
            line(out, s->top->how.width, keys_help[i]);
    else if (step->status == TOP_RUNS)
        draw_rows(s, step, out);
    else
        line(out, s->top->how.width, step->text);
    draw_foot(s, n_steps, out);
    if (fclose(out) == 0)
        flush(text, s->height);
    free(text);
}

/* --- keys ----------------------------------------------------------------- */

/* Moves the selection; the first key selects the first row. */
static void move_lines(struct screen *s, long by)
{
    struct topshow_how *how = &s->top->how;
    long at = how->selected == SIZE_MAX ? (by > 0 ? -1 : 0)
                                        : (long) how->selected;

    at += by;
    if (at >= (long) s->n)
        at = (long) s->n - 1;
    how->selected = s->n ? (size_t) (at > 0 ? at : 0) : SIZE_MAX;
}

static void open_node(struct screen *s)
{
    draw_screen(s); /* several keys arrived at once; updates the rows */
    if (!s->nodes || !s->chosen[0])
        return;
    memcpy(s->opened, s->chosen, sizeof(s->opened));
    s->top->how.selected = SIZE_MAX;
}

static void back(struct screen *s)
{
    s->opened[0] = '\0';
    s->help = false;
    s->top->how.selected = SIZE_MAX;
}

static void take_letter(struct screen *s, char c)
{
    struct topshow_how *how = &s->top->how;

    switch (c) {
    case 'q':
        s->quit = true;
        break;
    case 'h':
    case '?':
        s->help = !s->help;
        break;
    case 's':
        how->sort = (enum topshow_sort)((how->sort + 1) % TOPSHOW_N_SORTS);
        break;
    case 'f':
        how->odd = !how->odd;
        break;
    case 'd':
        how->reading = !how->reading;
        break;
    case ' ':
        s->frozen = !s->frozen;
        break;
    case '\t':
        s->at++;
        break;
    case 'j':
        move_lines(s, 1);
        break;
    case 'k':
        move_lines(s, -1);
        break;
    case '\r':
    case '\n':
        open_node(s);
        break;
    case 127:
    case '\b':
        back(s);
        break;
    default:
        break;
    }
}

/* Handles an escape sequence of n bytes at most. Returns the number of bytes
 * used. A lone Esc goes back. */
static size_t take_escape(struct screen *s, const char *keys, size_t n)
{
    long page = (long) s->top->how.rows;

    if (n < 3 || (keys[1] != '[' && keys[1] != 'O')) {
        back(s);
        return 1;
    }
    switch (keys[2]) {
    case 'A':
        move_lines(s, -1);
        return 3;
    case 'B':
        move_lines(s, 1);
        return 3;
    case 'C':
        open_node(s);
        return 3;
    case 'D':
        back(s);
        return 3;
    case '5':
    case '6':
        move_lines(s, keys[2] == '5' ? -page : page);
        return n > 3 ? 4 : 3;
    default:
        return 3;
    }
}

static void take_keys(struct screen *s)
{
    char keys[64];
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
    size_t n_steps;

    /* end of file, or an error: the terminal has gone */
    if (n <= 0) {
        s->keys = n < 0 && (errno == EINTR || errno == EAGAIN);
        return;
    }
    for (size_t i = 0; i < (size_t) n;) {
        if (keys[i] == '\033') {
            i += take_escape(s, keys + i, (size_t) n - i);
        } else {
            take_letter(s, keys[i]);
            i++;
        }
    }
    /* Tab after the last step leads to the first one */
    shown_step(s, &n_steps);
    s->at = n_steps ? s->at % n_steps : 0;
}

/* --- the loop ------------------------------------------------------------- */

/* Waits for a key, a signal or the next look. */
static void await(struct screen *s, const struct signals *old,
                  uint64_t until_ms)
{
    uint64_t now_ms = clock_mono_ms(),
             left = until_ms > now_ms ? until_ms - now_ms : 0;
    const struct timespec limit = {(time_t) (left / 1000),
                                   (long) (left % 1000) * 1000000L};
    struct pollfd fd = {.fd = s->keys ? STDIN_FILENO : -1, .events = POLLIN};

    /* the only place where signals arrive */
    if (ppoll(&fd, 1, &limit, &old->before) > 0)
        take_keys(s);
    if (got_stop)
        stop(s);
    measure_screen(s);
}

/* Whether a step has not ended. */
static bool any_open(const struct top *top)
{
    for (size_t i = 0; i < top->n; i++)
        if (top->steps[i].status != TOP_ENDED)
            return true;
    return false;
}

/* Whether all steps have ended, and no other step of a job may come. */
static bool is_over(const struct top *top)
{
    return !any_open(top) && !top->job_dir;
}

/* Draws and waits until a key or a signal ends it, or the steps are over.
 * Returns 0, or -1 and err. */
static int watch_steps(struct screen *s, const struct signals *old,
                       struct jp_error *err)
{
    uint64_t look_ms = 0;

    measure_screen(s);
    while (!s->quit && !got_end) {
        uint64_t now_ms = clock_mono_ms();

        if (!s->frozen && now_ms >= look_ms) {
            look_ms = now_ms + s->top->interval_ms;
            if (top_look(s->top, err) < 0)
                return -1;
            if (is_over(s->top))
                break;
        }
        draw_screen(s);
        await(s, old, s->frozen ? now_ms + s->top->interval_ms : look_ms);
    }
    return 0;
}

/* Runs on a terminal until a key, a signal or the end of the step. Restores the
 * terminal. Returns the exit status. quiet: does not print where the report
 * is. */
static int top_screen(struct top *top, bool quiet)
{
    struct screen s = {.top = top};
    struct jp_error err = {""};
    struct signals old;
    const struct top_step *last;
    int rc, sig;

    catch_signals(&old);
    enter_screen(&s);
    rc = watch_steps(&s, &old, &err);
    leave_screen(&s);
    sig = got_end;
    give_signals_back(&old);
    if (sig) /* dies of it, like a program that does not catch it */
        raise(sig);
    /* after the screen is left, its last message is printed on the normal one
     */
    last = current_step(top);
    if (rc < 0)
        return cmd_args_fail("top", JP_EXIT_IO, &err);
    if (last->status != TOP_RUNS && !quiet)
        quote_printf(stderr, "jobprof: top: %s\n", last->text);
    return last->status == TOP_RUNS || last->seen ? JP_EXIT_OK : JP_EXIT_NODATA;
}

#define INTERVAL_MS 5000
#define PLAIN_COLUMNS 120 /* if the output is not a terminal */
/* A node looks every 5 s whether somebody watches, and then writes every 5 s:
 * so long --once waits for data that is recent enough to judge. */
#define ONCE_MS 12000
#define ONCE_LOOK_MS 500

struct arguments {
    struct top top;
    struct cmd_common common;
    bool once;
};

/* --- once ----------------------------------------------------------------- */

static bool is_stuck(const struct top_step *step)
{
    return step->status == TOP_RUNS && step->state.word <= LIVESTATE_SUSPECT;
}

/* Returns the exit status: a hang takes precedence. */
static int exit_status(const struct top *top)
{
    bool stuck = false, runs = false;

    for (size_t i = 0; i < top->n; i++) {
        stuck |= is_stuck(&top->steps[i]);
        runs |= top->steps[i].status == TOP_RUNS;
    }
    return stuck ? JP_EXIT_FINDINGS : runs ? JP_EXIT_OK : JP_EXIT_NODATA;
}

static int print_step(const struct top *top, const struct top_step *step)
{
    struct topshow_how how = top->how;
    struct topshow rows;

    how.job = step->name;
    if (topshow_make(&rows, &step->state, &how) < 0)
        return -1;
    topshow_print(&rows, &step->state, &how, stdout);
    topshow_fini(&rows);
    return 0;
}

/* Prints all running steps, or why there is none. Returns 0, or -1 if the
 * output failed. */
static int print_steps(const struct arguments *a)
{
    const struct top *top = &a->top;
    size_t printed = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < top->n; i++)
        if (top->steps[i].status == TOP_RUNS) {
            if (printed++)
                putchar('\n');
            rc = print_step(top, &top->steps[i]);
        }
    if (rc == 0 && !printed && !a->common.quiet)
        quote_printf(stderr, "jobprof: top: %s\n", current_step(top)->text);
    /* a reader that has enough (head) is no error */
    return rc < 0 || (fflush(stdout) != 0 && errno != EPIPE) ? -1 : 0;
}

static const char *const status_words[] = {"runs", "silent", "ended"};

/* Prints all steps as JSON, also those that do not run, with the reason.
 * Returns 0, or -1 and err. */
static int print_json(const struct top *top, struct jp_error *err)
{
    /* too large for the stack */
    struct jp_json_stream *s = malloc(sizeof(*s));
    int rc = 0;

    if (!s)
        return error_set(err, "out of memory");
    json_stream_open(s, JSON_LINES, stdout);
    json_stream_count(s, "schema_version", 1);
    json_stream_count(s, "time_us", clock_real_us());
    json_stream_array(s, "steps");
    for (size_t i = 0; rc == 0 && i < top->n; i++) {
        const struct top_step *step = &top->steps[i];

        json_stream_object(s, NULL);
        json_stream_text(s, "step", step->name);
        json_stream_text(s, "dir", step->dir);
        json_stream_text(s, "status", status_words[step->status]);
        json_stream_text(s, "why",
                         step->status == TOP_RUNS ? NULL : step->text);
        if (step->status == TOP_RUNS)
            rc = topshow_json(s, &step->state);
        json_stream_end_object(s);
    }
    json_stream_end_array(s);
    if (json_stream_close(s, err) < 0 || fflush(stdout) != 0)
        rc = -1;
    free(s);
    return rc;
}

/* Whether a step could be judged if its nodes wrote again, and they were asked
 * to. */
static bool is_waiting(const struct top *top)
{
    for (size_t i = 0; i < top->n; i++)
        if (top->steps[i].status == TOP_RUNS && top->steps[i].state.waits &&
            top->steps[i].asked)
            return true;
    return false;
}

/* Reads the steps until they can be judged, but not for long. Returns 0, or -1
 * and err. */
static int look_once(struct top *top, struct jp_error *err)
{
    uint64_t end_ms = clock_mono_ms() + ONCE_MS;
    int rc = top_look(top, err);

    while (rc == 0 && is_waiting(top) && clock_mono_ms() < end_ms) {
        clock_sleep_ms(ONCE_LOOK_MS);
        rc = top_look(top, err);
    }
    return rc;
}

/* Reads the steps once and prints them. Returns an exit status. */
static int run_once(struct arguments *a)
{
    struct jp_error err = {"cannot write"};
    int rc = look_once(&a->top, &err);

    if (rc < 0)
        return cmd_args_fail("top", JP_EXIT_IO, &err);
    rc = a->common.json ? print_json(&a->top, &err) : print_steps(a);
    if (rc < 0)
        return errno == EPIPE ? JP_EXIT_OK
                              : cmd_args_fail("top", JP_EXIT_IO, &err);
    return exit_status(&a->top);
}

/* --- repeatedly, to a file or a pipe ----------------------------------- */

/* Prints a table each interval until all steps have ended. */
static int run_plain(struct arguments *a)
{
    struct top *top = &a->top;
    bool first = true, told = false;
    struct jp_error err = {""};

    while (true) {
        if (top_look(top, &err) < 0)
            return cmd_args_fail("top", JP_EXIT_IO, &err);
        if (!any_open(top))
            break;
        if (exit_status(top) != JP_EXIT_NODATA) {
            if (!first)
                putchar('\n');
            first = false;
            if (print_steps(a) < 0)
                return JP_EXIT_IO;
            if (ferror(stdout)) /* the reader has closed the pipe */
                return JP_EXIT_OK;
            /* once, not every interval */
        } else if (!told && !a->common.quiet) {
            quote_printf(stderr, "jobprof: top: %s\n", current_step(top)->text);
            told = true;
        }
        clock_sleep_ms((uint32_t) top->interval_ms);
    }
    if (!a->common.quiet)
        quote_printf(stderr, "jobprof: top: %s\n", current_step(top)->text);
    return first ? JP_EXIT_NODATA : JP_EXIT_OK;
}

/* --- arguments ------------------------------------------------------------ */

static int take_sort(void *arguments, const struct cmd_option *row, char *word,
                     struct jp_error *err)
{
    struct arguments *a = arguments;

    (void) row;
    for (size_t i = 0; i < TOPSHOW_N_SORTS; i++)
        if (!strcmp(word, topshow_sort_words[i])) {
            a->top.how.sort = (enum topshow_sort) i;
            return 0;
        }
    return error_set(err, "must be worst, node, age, caused or ops");
}

static const struct cmd_option rows[] = {
    {"once", NULL,
     "print once and end; waits up to 12 s for data that is new enough for an "
     "all-clear",
     OPT_FLAG(once)},
    {"json", NULL, "print once, as JSON with all nodes and ranks",
     OPT_FLAG(common.json)},
    {"interval", "TIME",
     "time between two tables (default 5 s, at least 1 s; nodes write every 5 "
     "s while top runs)",
     OPT_TIME_MS(top.interval_ms, 1000000, UINT64_C(3600000000))},
    {"node", "NODE", "only the ranks of that node", OPT_WORD(top.node)},
    {"sort", "KEY", "worst (default), node, age, caused, ops",
     OPT_TAKE(take_sort)},
    {"rows", "N", "print at most N rows (default 40, 0: all)",
     OPT_COUNT(top.how.rows, 0, INT32_MAX)},
    {"config", "FILE", "the site's settings", OPT_TEXT(top.config)},
    {"quiet", NULL, "do not print where the report is when the step ends",
     OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "top",
    .about = "usage: jobprof top [options] [JOBID[.STEP]|DIR]\n\n"
             "Show what a step does while it runs: whether it hangs and which "
             "rank is the cause, which ranks make the others wait, and a row "
             "for each rank (for each node from 33 ranks on), the worst first. "
             "It reads the step's directory, so it works on every host that "
             "sees it. Without an argument it shows the job of $SLURM_JOB_ID, "
             "else the newest running jobprof-* in this folder.\n",
    CMD_ROWS(rows),
    .end = "On a terminal: q quits, h lists the keys (sort, filter, open a "
           "node).\n"
           "If standard output is not a terminal, a new table is printed each "
           "interval, without escapes, until the step ends.\n\n"
           "Exit status: 0 ok, 1 a step hangs or may hang (--once, --json), 2 "
           "usage, 4 nothing runs or no node has data of it, 5 input or output "
           "failed.\n",
    .most = 1,
    .need = "needs one DIR or JOBID[.STEP]",
};

/* Reads the terminal's properties. NO_COLOR counts if it is set and not
 * empty. */
static void look_at_terminal(struct topshow_how *how)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    struct winsize size;

    how->width = PLAIN_COLUMNS;
    if (!isatty(STDOUT_FILENO))
        return;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        how->width = size.ws_col;
    how->colour = !(no_color && *no_color) && term && *term &&
                  strcmp(term, "dumb") != 0;
}

/* Whether the output is a terminal that understands escape sequences. */
static bool is_screen(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static int run_top(struct arguments *a, const char *word)
{
    struct jp_error err = {""};

    if (top_find_steps(&a->top, word, &err) < 0)
        return cmd_args_fail("top", JP_EXIT_USAGE, &err);
    if (!a->top.n) {
        quote_printf(stderr, "jobprof: top: %s: contains no step\n", word);
        return JP_EXIT_NODATA;
    }
    look_at_terminal(&a->top.how);
    if (a->once || a->common.json)
        return run_once(a);
    return is_screen() ? top_screen(&a->top, a->common.quiet) : run_plain(a);
}

/* --- for `jobprof show --pending` and `jobprof report` ---------------------
 */

/* The sentence of the hang rule if there is a hang; otherwise what is in
 * flight. */
static const char *answer_live(const struct livestate *state, char *buf,
                               size_t size)
{
    return (state->word <= LIVESTATE_TROUBLE || state->n_logs) && *state->text
               ? state->text
               : hangs_answer(&state->hangs, buf, size);
}

/* Returns the age in ms of the oldest snapshot among the nodes that have not
 * ended. */
static uint64_t oldest_ms(const struct livestate *state)
{
    uint64_t ms = 0;

    for (size_t i = 0; i < state->n_nodes; i++)
        if (!state->nodes[i].last && state->nodes[i].age_ms > ms)
            ms = state->nodes[i].age_ms;
    return ms;
}

/* Prints which nodes and ranks the look has no data of. */
static void print_blind(const struct livestate *state, FILE *out)
{
    if (state->n_silent)
        quote_printf(out, "%s of %s nodes: no recent data\n",
                     FIG_COUNT(state->n_silent), FIG_COUNT(state->place.nodes));
    if (state->left_ranks)
        quote_printf(out, "%s ranks did not fit into the nodes' data\n",
                     FIG_COUNT(state->left_ranks));
}

/* Prints the same JSON as for recordings, with a member about the data's age.
 */
static int print_live_json(const struct livestate *state, const char *step,
                           const char *answer, FILE *out, struct jp_error *err)
{
    struct jp_json_stream s;

    json_stream_open(&s, JSON_LINES, out);
    hangshow_put_json(&s, &state->hangs, answer);
    json_stream_object(&s, "live");
    json_stream_text(&s, "step", step);
    json_stream_text(&s, "word", livestate_words[state->word]);
    json_stream_count(&s, "waited_ms", state->waited_ms);
    json_stream_count(&s, "oldest_ms", oldest_ms(state));
    json_stream_count(&s, "nodes", state->place.nodes);
    json_stream_count(&s, "silent_nodes", state->n_silent);
    json_stream_count(&s, "left_out_ranks", state->left_ranks);
    json_stream_bool(&s, "in_flight_told", !state->n_logs);
    json_stream_end_object(&s);
    return table_output_end(&s, out, err);
}

static int print_running(const struct livestate *state, const char *step,
                         bool json, FILE *out, struct jp_error *err)
{
    char buf[1024];
    const char *answer = answer_live(state, buf, sizeof(buf));

    if (json)
        return print_live_json(state, step, answer, out, err);
    show_table_line(
        out, 2, "%s  step %s runs; its nodes' data is up to %.0f s old",
        livestate_words[state->word], step, (double) oldest_ms(state) / 1000);
    /* before the answer, which is uncertain without these nodes */
    print_blind(state, out);
    return hangshow_print_text(&state->hangs, answer, out, err);
}

/* For struct command. */
static int show_running(const char *word, const char *config, bool json)
{
    struct top top = {.word = word, .config = config};
    struct jp_error err = {""};
    bool first = true;
    int rc = -1;

    /* not the directory of a running step; the recordings may still be there */
    if (top_find_steps(&top, word, NULL) < 0 || top_look(&top, NULL) < 0) {
        top_fini(&top);
        return -1;
    }
    for (size_t i = 0; i < top.n && rc <= 0; i++) {
        const struct top_step *step = &top.steps[i];

        /* it has ended, or too few nodes have written data */
        if (step->status != TOP_RUNS || step->state.word == LIVESTATE_UNJUDGED)
            continue;
        /* a blank line between steps */
        if (!first && !json)
            putchar('\n');
        first = false;
        rc = print_running(&step->state, step->name, json, stdout, &err) < 0
                 ? cmd_args_fail("show", JP_EXIT_IO, &err)
                 : JP_EXIT_OK;
    }
    top_fini(&top);
    return rc;
}

/* --- the command ---------------------------------------------------------- */

static int run_command(int argc, char **argv)
{
    struct arguments a = {
        .top = {.interval_ms = INTERVAL_MS,
                .how = {.rows = TOPSHOW_ROWS, .selected = SIZE_MAX}}};
    int rc = cmd_options_parse(&command_line, argc, argv, &a);
    const char *word;
    char *made = NULL;

    if (rc >= 0)
        return rc;
    a.top.how.node = a.top.node;
    /* --rows 0: all */
    if (!a.top.how.rows)
        a.top.how.rows = SIZE_MAX;
    a.top.word = word = argv[optind];
    if (!word)
        word = top_default_word(&made);
    if (word)
        rc = run_top(&a, word);
    else
        rc = cmd_options_usage(
            &command_line,
            "no running jobprof-* in this folder; name a DIR or JOBID");
    top_fini(&a.top);
    free(made);
    return rc;
}

extern const struct command command_top;
const struct command command_top = {
    .name = "top",
    .run = run_command,
    .summary = "show what a running step does, and whether it hangs",
    .is_running = top_writes,
    .show_running = show_running,
    .metrics = live_metrics,
};
