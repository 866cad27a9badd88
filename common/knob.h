/* knob.h - the type, range and meaning of a setting, and checks of its values.
 *
 * grammar.c has the knobs that all profilers of an option share, and each
 * profiler has its own (common/profiler.h). grammar_of() combines both in one
 * table, which the parser, --help, the man page's test, the site file and the
 * plan read.
 */
#ifndef JP_COMMON_KNOB_H
#define JP_COMMON_KNOB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

enum jp_knob_kind {
    JP_KNOB_COUNT,        /* whole number */
    JP_KNOB_COUNT_OR_OFF, /* the same; "off" is 0 */
    JP_KNOB_RATE,         /* whole number per second: "5000" or "5000/s" */
    JP_KNOB_SIZE,         /* num_parse_size: bytes */
    JP_KNOB_TIME,         /* num_parse_time_us: microseconds */
    JP_KNOB_BOOL,         /* num_parse_bool */
    JP_KNOB_WORD,         /* one of words */
    JP_KNOB_VERSION,      /* NCCL release: "2.27" or "2.27.3" */
    JP_KNOB_PATTERN,      /* directory pattern, see pattern.h */
    JP_KNOB_PATH,         /* absolute path */
    JP_KNOB_LIST,         /* names of [A-Za-z0-9._-], separated by commas */
    JP_KNOB_MOUNTS,       /* HOST=INSIDE, separated by commas; pattern.h */
    JP_KNOB_TEXT,         /* printable ASCII, at most 255 bytes */
    JP_KNOB_ON_HANG,      /* what onhang_parse accepts */
    JP_KNOB_FILE,   /* path of a file, relative to the working directory */
    JP_KNOB_NAMES,  /* names of [A-Za-z0-9._-], separated by semicolons */
    JP_KNOB_RANKS,  /* one of words, or numbers and ranges, separated by ; */
    JP_KNOB_LABELS, /* the user's labels: KEY:VALUE;... */
    JP_KNOB_TAGS,   /* names of NCCL's tags: NUMBER:NAME;... */
};

/* The place of a profiler's knob among those of its option. */
enum jp_knob_place {
    JP_KNOB_DETAIL, /* after the limits: what is recorded */
    JP_KNOB_LOAD,   /* before the limits: the size of a run */
    JP_KNOB_OUTPUT, /* after the directory: what else is written */
};

struct jp_knob {
    const char *name;
    enum jp_knob_kind kind; /* which decides the unit */
    uint64_t min, max;      /* in the kind's unit */
    unsigned modes;         /* bit i: valid with modes[i] of its grammar */
    const char *words;      /* JP_KNOB_WORD: "off|line|card"; JP_KNOB_RANKS */
    const char *def;        /* default; NULL: none */
    const char *help;       /* a clause */
    enum jp_knob_place place;
    /* The profiler's own variable for it, or NULL. If the user has set it, it
     * counts as the knob; the option's variable and the option rank above
     * it. */
    const char *variable;
};

/* The usual members of a row, for `{JP_KNOB("top", JP_KNOB_COUNT, 1, 9, NULL,
 * "5", "paths in each list"), .modes = 6}`. */
#define JP_KNOB(name_, kind_, min_, max_, words_, def_, help_)                 \
    .name = (name_), .kind = (kind_), .min = (min_), .max = (max_),            \
    .words = (words_), .def = (def_), .help = (help_)
/* The knob of all options that make a report. */
#define JP_KNOB_SUMMARY                                                        \
    JP_KNOB("summary", JP_KNOB_WORD, 0, 0, "auto|off|line|card", "auto",       \
            "what srun prints at the end")
#define JP_MIB (1ULL << 20)
#define JP_TIB (1ULL << 40)
#define JP_SECOND 1000000ULL
#define JP_STR_(x) #x
#define JP_STR(x) JP_STR_(x) /* a default of common/defaults.h as text */

/* An NCCL release as knob_number returns it. "2.29" names no patch and counts
 * as the last one, JP_NCCL_NO_PATCH: at least as new as each 2.29.x. */
#define JP_NCCL_RELEASE(major, minor, patch)                                   \
    ((major) *1000000u + (minor) *1000u + (patch))
#define JP_NCCL_VERSION(major, minor) JP_NCCL_RELEASE(major, minor, 0u)
#define JP_NCCL_NO_PATCH 999u
/* The oldest release with a profiler interface; the newest that
 * jobprof has been checked with. */
#define JP_NCCL_MIN JP_NCCL_VERSION(2, 23)
#define JP_NCCL_KNOWN JP_NCCL_RELEASE(2, 30, JP_NCCL_NO_PATCH)

/* Checks that text is a value of knob. err contains the value and the valid
 * range or words, without the knob's name. */
int knob_check(const struct jp_knob *knob, const char *text,
               struct jp_error *err);

/* A checked value as a number: count, bytes, microseconds, 0 or 1, the index
 * among words, JP_NCCL_RELEASE. -1 for patterns, paths, files, lists, mounts,
 * texts, labels, tags and bad values. */
int knob_number(const struct jp_knob *knob, const char *text, uint64_t *out,
                struct jp_error *err);

/* Whether two checked values mean the same ("1G", "1024M"). */
bool knob_equal(const struct jp_knob *knob, const char *a, const char *b);

/* Whether name is one of the names in a JP_KNOB_LIST. */
bool knob_list_has(const char *list, const char *name);

/* Writes the range, "1 MiB to 64 GiB", "off|line|card", "0|1" ..., into buf.
 * Returns buf. */
char *knob_format_range(const struct jp_knob *knob, char *buf, unsigned len);

/* Writes a release, "2.28.9", or "2.29" if it names no patch, into buf. Returns
 * buf. */
char *knob_format_release(uint32_t release, char *buf, unsigned len);

/* --- the user's labels of a run: "model:gpt-3;run:42" -------------------- */

/* Keys are names. Values have no control characters, no ';' and no ',', which
 * ends an option's value; they may have a ':'. The report repeats them
 * unchanged. */

#define USERLABELS_MAX 16
#define USERLABELS_KEY 32    /* bytes of a key */
#define USERLABELS_VALUE 128 /* bytes of a value */
#define USERLABELS_RANGE "at most 16 KEY:VALUE, separated by \";\""

struct userlabel {
    char key[USERLABELS_KEY + 1], value[USERLABELS_VALUE + 1];
};

/* Gets the next label of a text that knob_check has accepted, and moves *at
 * past it. Returns false if there is none, or the text is malformed. */
bool userlabels_next(const char **at, struct userlabel *out);

/* --- names of tags: "1:forward;2:backward;3:optimizer" --------------------
 *
 * NCCL 2.31 lets a program tag its calls with numbers. A report shows a name in
 * place of "tag 2". Names are phases (record_is_phase). */

#define USERTAGS_NAME 31 /* RECORD_MAX_PHASE */
#define USERTAGS_RANGE "at most 16 NUMBER:NAME, separated by \";\""

/* The name of a tag in a text that knob_check has accepted (NULL: empty), or
 * "tag 2" (USERTAGS_NAME + 1 bytes). Returns buf. */
char *usertags_name(const char *tags, uint64_t tag,
                    char buf[USERTAGS_NAME + 1]);

/* --- the value of on_hang: what to do when a step hangs ------------------- */

enum onhang_kind {
    ONHANG_OFF,    /* hangs are not detected */
    ONHANG_REPORT, /* only a message */
    ONHANG_COMMAND,
    ONHANG_SIGNAL, /* sent to tasks that have a handler for it */
    ONHANG_CANCEL
};

#define ONHANG_RANGE "report, off, /COMMAND, signal:NAME or cancel"
/* The delay of on_hang=cancel without after=, in which a user can examine the
 * step. */
#define ONHANG_CANCEL_AFTER_MS 600000

struct jp_onhang {
    enum onhang_kind kind;
    char command[256]; /* for /bin/sh -c; begins with a slash */
    char name[16];     /* of the signal: "USR1" */
    int signal;
    uint64_t after_ms; /* from the confirmation of a hang to signal or cancel */
};

/* Parses on_hang. after: a time for num_parse_time_us; NULL: the default of the
 * kind. On failure *out is unchanged. */
int onhang_parse(const char *text, const char *after, struct jp_onhang *out,
                 struct jp_error *err);

#endif
