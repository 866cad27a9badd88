/* cmd_options.c - find a program's command; read and describe the options of a
 * command by its rows.
 *
 * Three parts: cmd_options_read turns the rows into arguments of getopt_long
 * and stores the values; cmd_options_parse adds --help and messages for a
 * command of jobprof; commands_run chooses the command. Every option has a long
 * name; getopt identifies it by its letter, or by LONG_ONLY + its index. */
#include "config.h"

#include "orchestrator/cmd/cmd_options.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/nearest.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"

#define ROWS_MAX 40
#define LONG_ONLY 256 /* getopt's value of row 0 without a letter */
#define HEAD_MAX 24   /* a longer "  -o, --output DIR" has its own line */
#define COLUMNS 79

static const struct cmd_option help_row = {"help", NULL, "this text",
                                           .letter = 'h'};

/* --- read ----------------------------------------------------------------- */

/* Returns the value by which getopt_long reports the row. */
static int value_of(const struct cmd_options *o, size_t i)
{
    return o->rows[i].letter ? o->rows[i].letter : LONG_ONLY + (int) i;
}

/* Returns the row with that value, the row of --help, or NULL. */
static const struct cmd_option *find_option(const struct cmd_options *o,
                                            int value)
{
    for (size_t i = 0; i < o->n_rows; i++)
        if (value_of(o, i) == value)
            return &o->rows[i];
    return value == 'h' && o->about ? &help_row : NULL;
}

/* Fills the two descriptions of the options that getopt_long needs. longs has
 * room for ROWS_MAX + 2 options, letters for 2 * ROWS_MAX + 4 bytes. */
static void describe(const struct cmd_options *o, struct option *longs,
                     char *letters)
{
    /* '+': the first word ends the options, because the rest is another command
     */
    if (o->in_order)
        *letters++ = '+';
    *letters++ = ':'; /* a missing value is ':' instead of '?' */
    for (size_t i = 0; i < o->n_rows && i < ROWS_MAX; i++) {
        const struct cmd_option *row = &o->rows[i];

        *longs++ = (struct option){row->name,
                                   row->value ? required_argument : no_argument,
                                   NULL, value_of(o, i)};
        if (row->letter)
            *letters++ = row->letter;
        if (row->letter && row->value)
            *letters++ = ':';
    }
    if (o->about) {
        *longs++ = (struct option){help_row.name, no_argument, NULL, 'h'};
        *letters++ = 'h';
    }
    *longs = (struct option){0};
    *letters = '\0';
}

/* Sets err for a long option that does not exist: it is ambiguous, or unknown.
 * Suggests the nearest name. Returns -1. */
static int refuse_word(const struct option *longs, const char *word,
                       struct jp_error *err)
{
    const char *names[ROWS_MAX + 1], *begin[2], *near;
    size_t len = strcspn(word, "="), n = 0, n_begin = 0;
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int) len, word);
    /* getopt reports both cases alike, so count the names that begin with the
     * word */
    for (; longs[n].name; n++) {
        names[n] = longs[n].name;
        if (n_begin < 2 && !strncmp(names[n], name, len))
            begin[n_begin++] = names[n];
    }
    if (n_begin == 2)
        return error_set(err, "--%s may be --%s or --%s", QUOTE(name), begin[0],
                         begin[1]);
    near = nearest_find(name, names, n);
    if (near)
        return error_set(err, "unknown option --%s; did you mean --%s?",
                         QUOTE(name), near);
    return error_set(err, "unknown option --%s", QUOTE(name));
}

/* Sets err for what getopt_long has refused. c: ':' for a missing value,
 * otherwise '?'. optopt is the option's value, or 0 for an unknown long option.
 * Returns -1. */
static int refuse(const struct cmd_options *o, const struct option *longs,
                  int c, const char *word, struct jp_error *err)
{
    const struct cmd_option *row = find_option(o, optopt);

    if (row && c == ':')
        return error_set(err, "--%s needs a value: %s", row->name, row->value);
    if (row)
        return error_set(err, "--%s takes no value", row->name);
    if (optopt)
        return error_set(err, "unknown option -%c", optopt);
    return refuse_word(longs, word + 2, err);
}

/* Stores a value in the member at to. Numbers are checked by the same code as
 * settings. Returns -1 and err if the value is invalid. */
static int store(const struct cmd_option *row, void *to, const char *value,
                 struct jp_error *err)
{
    const struct jp_knob knob = {
        .kind = row->kind, .min = row->min, .max = row->max};
    uint64_t n;

    if (row->type == CMD_BOOL) {
        *(bool *) to = true;
        return 0;
    }
    if (row->type == CMD_TEXT) {
        if (row->min && !*value)
            return error_set(err, "empty");
        *(const char **) to = value;
        return 0;
    }
    if (knob_number(&knob, value, &n, err) < 0)
        return -1;
    /* the kind's unit, such as microseconds, becomes the member's */
    n /= row->unit;
    if (row->type == CMD_U32)
        *(uint32_t *) to = (uint32_t) n;
    else if (row->type == CMD_U64)
        *(uint64_t *) to = n;
    else
        *(int64_t *) to = (int64_t) n;
    return 0;
}

int cmd_options_read(const struct cmd_options *o, int argc, char **argv,
                     void *arguments, struct jp_error *err)
{
    struct option longs[ROWS_MAX + 2];
    char letters[2 * ROWS_MAX + 4];
    int c, rc;

    describe(o, longs, letters);
    /* glibc: resets the state of an earlier call, which 1 would not do */
    optind = 0;
    opterr = 0;
    while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct cmd_option *row = find_option(o, c);

        if (row == &help_row)
            return 1;
        if (!row)
            return refuse(o, longs, c, argv[optind - 1], err);
        rc = row->take ? row->take(arguments, row, optarg, err)
                       : store(row, (char *) arguments + row->at, optarg, err);
        if (rc < 0)
            return error_wrap(err, "--%s", row->name);
    }
    if (argc - optind < o->least || argc - optind > o->most)
        return error_set(err, "%s", o->need);
    return 0;
}

/* --- --help --------------------------------------------------------------- */

/* Formats "  -o, --output DIR". Returns its length. */
static int head_of(const struct cmd_option *row, char *head, size_t size)
{
    const char letter[] = {'-', row->letter, ',', '\0'};

    return snprintf(head, size, "  %3s --%s%s%s", row->letter ? letter : "",
                    row->name, row->value ? " " : "",
                    row->value ? row->value : "");
}

/* Prints words up to the end of a line, and breaks the line where it becomes
 * too long. at: column of the first word; column: indent of further lines.
 * Returns the text after the line. */
static const char *print_words(const char *text, int at, int column)
{
    const char *word = text;

    while (*word && *word != '\n') {
        int len = (int) strcspn(word, " \n");

        if (word != text && at + 1 + len > COLUMNS) {
            quote_printf(stdout, "\n%*s", column, "");
            at = column;
        } else if (word != text) {
            putchar(' ');
            at++;
        }
        quote_printf(stdout, "%.*s", len, word);
        at += len;
        word += len + (word[len] == ' ');
    }
    putchar('\n');
    return word + (*word == '\n');
}

/* Prints text and breaks lines that are too long. If a line has the form "
 * word   text", its continuation is indented to the text. */
static void print_text(const char *text)
{
    while (*text) {
        size_t indent = strspn(text, " "), end = strcspn(text, "\n");
        const char *gap = strstr(text + indent, "  ");

        if (indent && gap && gap < text + end)
            indent = (size_t) (gap - text) + strspn(gap, " ");
        quote_printf(stdout, "%.*s", (int) indent, text);
        text = print_words(text + indent, (int) indent, (int) indent);
    }
}

/* Prints one option. A head that is too long has a line of its own. */
static void print_row(const struct cmd_option *row, int column)
{
    char head[80];
    int len = head_of(row, head, sizeof(head));

    quote_printf(stdout, "%s", head);
    if (len > column - 2)
        quote_printf(stdout, "\n%*s", column, "");
    else
        quote_printf(stdout, "%*s", column - len, "");
    print_words(row->help, column, column);
}

static void print_help(const struct cmd_options *o)
{
    char head[80];
    int column = 0;

    /* the longest head that fits decides the column of all texts */
    for (size_t i = 0; i < o->n_rows; i++) {
        int len = o->rows[i].help ? head_of(&o->rows[i], head, sizeof(head))
                                  : 0;

        /* longer heads have a line of their own */
        if (len <= HEAD_MAX && len > column)
            column = len;
    }
    print_text(o->about);
    putchar('\n');
    for (size_t i = 0; i < o->n_rows; i++)
        if (o->rows[i].help)
            print_row(&o->rows[i], column + 2);
    print_row(&help_row, column + 2);
    if (o->end)
        printf("\n"), print_text(o->end);
    if (o->more)
        o->more();
}

int cmd_options_usage(const struct cmd_options *o, const char *what)
{
    quote_printf(stderr, "jobprof: %s: %s (jobprof %s --help)\n", o->command,
                 what, o->command);
    return JP_EXIT_USAGE;
}

int cmd_options_parse(const struct cmd_options *o, int argc, char **argv,
                      void *arguments)
{
    struct jp_error err;
    int rc = cmd_options_read(o, argc, argv, arguments, &err);

    if (rc < 0)
        return cmd_options_usage(o, err.text);
    if (rc == 0)
        return -1;
    print_help(o);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return JP_EXIT_OK;
    quote_printf(stderr, "jobprof: %s: standard output failed\n", o->command);
    return JP_EXIT_IO;
}

/* --- find and run a command ---------------------------------------------- */

#define COMMANDS_MAX 64 /* limit of names that a word is compared with */

static void print_commands(const struct program *program, FILE *out)
{
    quote_printf(out, "usage: %s COMMAND [options] ...\n\n", program->name);
    fputs(program->purpose, out); /* raw: ours, with ends of lines */
    fputs("\n\n", out);
    for (size_t i = 0; program->commands[i]; i++)
        quote_printf(out, "  %-10s %s\n", program->commands[i]->name,
                     program->commands[i]->summary);
    fputs("\n", out);
    fputs(program->epilogue, out); /* raw: ours, with ends of lines */
}

/* Prints that the command is unknown, with the nearest name if there is one. */
static int refuse_command(const struct program *program, const char *word)
{
    const char *names[COMMANDS_MAX], *near;
    size_t n = 0;

    for (; n < COMMANDS_MAX && program->commands[n]; n++)
        names[n] = program->commands[n]->name;
    near = nearest_find(word, names, n);
    if (near)
        quote_printf(stderr,
                     "%s: unknown command \"%s\"; did you mean \"%s\"? "
                     "(%s --help)\n",
                     program->name, word, near, program->name);
    else
        quote_printf(stderr, "%s: unknown command \"%s\" (%s --help)\n",
                     program->name, word, program->name);
    return JP_EXIT_USAGE;
}

/* A handler makes writes fail with EPIPE or EFBIG instead of ending the
 * process. SIG_IGN would do this as well, but programs that we exec would
 * inherit it. */
static void on_write_signal(int sig)
{
    (void) sig;
}

static void survive_writes(void)
{
    const struct sigaction action = {.sa_handler = on_write_signal,
                                     .sa_flags = SA_RESTART};

    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

int commands_run(const struct program *program, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;

    survive_writes();
    if (word && (!strcmp(word, "--help") || !strcmp(word, "-h") ||
                 !strcmp(word, "help"))) {
        print_commands(program, stdout);
        return JP_EXIT_OK;
    }
    if (word && (!strcmp(word, "--version") || !strcmp(word, "-V"))) {
        quote_printf(stdout, "%s %s\n", program->name, PACKAGE_VERSION);
        return JP_EXIT_OK;
    }
    for (size_t i = 0; word && program->commands[i]; i++)
        if (strcmp(word, program->commands[i]->name) == 0)
            return program->commands[i]->run(argc - 1, argv + 1);
    if (word)
        return refuse_command(program, word);
    print_commands(program, stderr);
    return JP_EXIT_USAGE;
}
