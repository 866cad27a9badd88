/* cmd_options.h - the table of a program's commands, and the options of a
 * command, one row each. The parser, --help and the messages read the rows.
 *
 *     static const struct cmd_option rows[] = {
 *         {"rows", "N", "rows of each table (10)", OPT_COUNT(rows, 1, 999)},
 *         {"quiet", NULL, "print nothing", OPT_FLAG(quiet), .letter = 'q'},
 *     };
 *
 * The macros name members of the command's own `struct arguments`. Every
 * command with `about` has -h and --help. */
#ifndef JP_CMD_CMD_OPTIONS_H
#define JP_CMD_CMD_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h> /* optind */

#include "common/error.h"
#include "common/knob.h"

/* The type of the member that takes a value. */
enum cmd_option_type { CMD_BOOL, CMD_TEXT, CMD_U32, CMD_U64, CMD_I64 };

struct cmd_option {
    const char *name;  /* without dashes */
    const char *value; /* name of the value in --help; NULL: no value */
    const char *help;  /* NULL: for our own programs, not in --help */
    enum cmd_option_type type;
    size_t at; /* offset of the member */
    enum jp_knob_kind kind;
    uint64_t min, max; /* of a number; min 1 of a text: must not be empty */
    uint64_t unit;     /* the member counts in this many of the kind's units */
    /* Replaces the member: called with the value, which is writable, or NULL
     * without a value. The caller puts the option's name in front of err. */
    int (*take)(void *arguments, const struct cmd_option *row, char *value,
                struct jp_error *err);
    char letter; /* '\0': none */
};

#define OPT_NUMBER_(member, kind_, min_, max_, unit_)                          \
    .type = _Generic(((struct arguments *) 0)->member, uint32_t                \
                     : CMD_U32, uint64_t                                       \
                     : CMD_U64, int64_t                                        \
                     : CMD_I64),                                               \
    .at = offsetof(struct arguments, member), .kind = (kind_), .min = (min_),  \
    .max = (max_), .unit = (unit_)
#define OPT_TEXT_(member, least)                                               \
    .type = _Generic(((struct arguments *) 0)->member, const char *            \
                     : CMD_TEXT),                                              \
    .at = offsetof(struct arguments, member), .min = (least)

#define OPT_FLAG(member)                                                       \
    .type = _Generic(((struct arguments *) 0)->member, bool                    \
                     : CMD_BOOL),                                              \
    .at = offsetof(struct arguments, member)
#define OPT_TEXT(member) OPT_TEXT_(member, 0)
#define OPT_WORD(member) OPT_TEXT_(member, 1) /* must not be empty */
#define OPT_COUNT(member, min, max)                                            \
    OPT_NUMBER_(member, JP_KNOB_COUNT, min, max, 1)
#define OPT_SIZE(member, min, max)                                             \
    OPT_NUMBER_(member, JP_KNOB_SIZE, min, max, 1)
/* min and max in microseconds; the member is in us or ms */
#define OPT_TIME_US(member, min, max)                                          \
    OPT_NUMBER_(member, JP_KNOB_TIME, min, max, 1)
#define OPT_TIME_MS(member, min, max)                                          \
    OPT_NUMBER_(member, JP_KNOB_TIME, min, max, 1000)
#define OPT_RELEASE(member)                                                    \
    OPT_NUMBER_(member, JP_KNOB_VERSION, JP_NCCL_MIN, UINT32_MAX, 1)
#define OPT_TAKE(function) .take = (function)

/* Options of many commands, as member `common` of their arguments. */
struct cmd_common {
    const char *config; /* --config FILE, or NULL */
    bool json, quiet, verbose;
};
#define OPT_QUIET OPT_FLAG(common.quiet), .letter = 'q'
#define OPT_VERBOSE OPT_FLAG(common.verbose), .letter = 'v'

struct cmd_options {
    const char *command; /* its name, for messages */
    const char *about;   /* --help before the options; NULL: has no --help */
    const struct cmd_option *rows;
    size_t n_rows;
    const char *end;    /* text of --help after the options */
    void (*more)(void); /* prints the text after `end`, or NULL */
    int least, most;    /* limits of the number of words */
    const char *need;   /* error message for fewer or more words */
    bool in_order;      /* the first word ends the options */
};
#define CMD_ROWS(table)                                                        \
    .rows = (table), .n_rows = sizeof(table) / sizeof((table)[0])
#define CMD_ANY INT_MAX /* any number of words */

/* Stores the options in arguments, which may have changed even on failure.
 * Afterwards the words are argv[optind] to argv[argc - 1]. Strings are borrowed
 * from argv. Returns 0, 1 for --help, -1 and err. */
int cmd_options_read(const struct cmd_options *options, int argc, char **argv,
                     void *arguments, struct jp_error *err);

/* The same for a command of jobprof, with --help and errors printed. Returns
 * -1 to continue, otherwise an exit status. */
int cmd_options_parse(const struct cmd_options *options, int argc, char **argv,
                      void *arguments);

/* Prints "jobprof: COMMAND: WHAT (jobprof COMMAND --help)". Returns
 * JP_EXIT_USAGE. */
int cmd_options_usage(const struct cmd_options *options, const char *what);

/* --- a program: the table of its commands -------------------------------- */

struct jp_sitefile; /* common/sitefile.h */
struct jp_table;    /* orchestrator/table/table.h */
struct module_hang; /* plugins/module.h */

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* for --help */

    /* --- of a command for running steps. NULL: it is not one. */

    /* Whether an agent of the step in dir has written lately, though nobody
     * knows that the step runs. */
    bool (*is_running)(const char *dir);
    /* Prints for `jobprof show --pending` which ranks wait for which in the
     * running steps that word (DIR, JOBID) means. Returns the exit status; -1:
     * none is running. */
    int (*show_running)(const char *word, const char *config, bool json);

    /* --- of a command that looks at hanging processes, in jobprof-node */

    /* Starts it and returns at once (take_evidence of struct module_place). */
    void (*take_evidence)(void *arg, const struct module_hang *hang);

    /* --- what follows a report of `jobprof report`. NULL: nothing. */

    /* Starts it for the step in dir, if the site wants it; returns soon, and
     * prints nothing. config: path of the site file, or NULL. outside: the
     * process is not of the job, so that no program is started and nothing is
     * sent. */
    void (*follow)(const char *dir, const char *config, bool outside);
    /* When: as soon as the report is there, even if it is not kept; or when all
     * else is done, unless a user has typed the command. */
    enum command_when { COMMAND_AT_ONCE, COMMAND_AT_END } when;
    /* Returns what is left undone outside of the job, as a clause; NULL:
     * nothing. *command stays NULL if another report does it. */
    const char *(*left)(const struct jp_sitefile *site, const char **command);

    /* --- what it keeps for the site. NULL: nothing. */

    /* Calls job for the caller's jobs of that name that it knows of, the oldest
     * first, until job returns a value other than 0, which is returned. */
    int (*earlier)(const struct jp_sitefile *site, const char *name,
                   int (*job)(void *arg, uint64_t id, const char *step),
                   void *arg);
    /* For doctor: checks its keys of the site file and calls add for each, with
     * what to do (a constant) if it is not good. */
    void (*check_site)(const struct jp_sitefile *site,
                       void (*add)(void *arg, bool good, const char *check,
                                   const char *advice, const char *line),
                       void *arg);

    /* Tables of metrics that its folder writes
     * (orchestrator/metrics/metrics.h); ends with NULL. NULL: none. */
    const struct jp_table *const *metrics;
};

/* An element of a list of commands. */
#define COMMAND(name_, run_, summary_)                                         \
    &(const struct command)                                                    \
    {                                                                          \
        .name = (name_), .run = (run_), .summary = (summary_)                  \
    }

/* The commands of jobprof: jobprof.c, ends with NULL. */
extern const struct command *const command_registry[];

struct program {
    const char *name;
    const char *purpose;                   /* one sentence about the program */
    const struct command *const *commands; /* ends with NULL */
    const char *epilogue;                  /* last lines of --help */
};

/* Handles --help, --version and unknown words; otherwise runs the subcommand,
 * whose writes fail with EPIPE or EFBIG instead of ending the process. Returns
 * the exit status. */
int commands_run(const struct program *program, int argc, char **argv);

#endif
