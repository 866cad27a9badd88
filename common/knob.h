/* knob.h - one setting's type, range and meaning; checks of its values.
 *
 * grammar.c has the knobs that all profilers of an option share, and each
 * profiler has its own (common/profiler.h). grammar_of() makes one table of
 * both, which parser, --help, man page test, site file and plan read.
 */
#ifndef JP_COMMON_KNOB_H
#define JP_COMMON_KNOB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

enum jp_knob_kind {
    JP_KNOB_COUNT,        /* whole number */
    JP_KNOB_COUNT_OR_OFF, /* the same; "off" is 0 */
    JP_KNOB_RATE,         /* whole number a second: "5000" or "5000/s" */
    JP_KNOB_SIZE,         /* num_parse_size: bytes */
    JP_KNOB_TIME,         /* num_parse_time_us: microseconds */
    JP_KNOB_BOOL,         /* num_parse_bool */
    JP_KNOB_WORD,         /* one of words */
    JP_KNOB_VERSION,      /* NCCL release: "2.27" or "2.27.3" */
    JP_KNOB_PATTERN,      /* directory pattern, see pattern.h */
    JP_KNOB_PATH,         /* absolute path */
    JP_KNOB_LIST,         /* names of [A-Za-z0-9._-], commas between them */
    JP_KNOB_MOUNTS,       /* HOST=INSIDE, commas between; pattern.h */
    JP_KNOB_TEXT,         /* printable ASCII, at most 255 bytes */
    JP_KNOB_ON_HANG,      /* what onhang_parse takes */
    JP_KNOB_FILE,         /* a file, relative to where the command runs */
    JP_KNOB_NAMES,        /* names of [A-Za-z0-9._-], semicolons between them */
    JP_KNOB_RANKS,        /* one of words, or numbers and ranges, ; between */
    JP_KNOB_LABELS,       /* KEY:VALUE;... in the user's words */
};

/* Where a knob stands among those of its option. */
enum jp_knob_place {
    JP_KNOB_DETAIL, /* behind the limits: what is recorded */
    JP_KNOB_LOAD,   /* before the limits: what a run's size is made of */
};

struct jp_knob {
    const char *name;
    enum jp_knob_kind kind; /* which decides the unit */
    uint64_t min, max;      /* in the kind's unit */
    unsigned modes;         /* bit i: goes with modes[i] of its grammar */
    const char *words;      /* JP_KNOB_WORD: "off|line|card"; JP_KNOB_RANKS */
    const char *def;        /* default; NULL: none */
    const char *help;       /* half a sentence */
    enum jp_knob_place place;
    /* The profiler's own variable for it, or NULL. Set by the user, it counts
     * as the knob; the option's variable and the option go before it. */
    const char *variable;
};

/* A row's usual members, for `{JP_KNOB("top", JP_KNOB_COUNT, 1, 9, NULL, "5",
 * "paths in each list"), .modes = 6}`. */
#define JP_KNOB(name_, kind_, min_, max_, words_, def_, help_)                 \
    .name = (name_), .kind = (kind_), .min = (min_), .max = (max_),            \
    .words = (words_), .def = (def_), .help = (help_)
#define JP_MIB (1ULL << 20)
#define JP_TIB (1ULL << 40)
#define JP_SECOND 1000000ULL
#define JP_STR_(x) #x
#define JP_STR(x) JP_STR_(x) /* a default of common/defaults.h as text */

/* An NCCL release as knob_number gives it. "2.29" names no patch and reads as
 * the last one, JP_NCCL_NO_PATCH: at least as new as each 2.29.x. */
#define JP_NCCL_RELEASE(major, minor, patch)                                   \
    ((major) *1000000u + (minor) *1000u + (patch))
#define JP_NCCL_VERSION(major, minor) JP_NCCL_RELEASE(major, minor, 0u)
#define JP_NCCL_NO_PATCH 999u
/* The oldest with a profiler interface; the newest that jobprof knows. */
#define JP_NCCL_MIN JP_NCCL_VERSION(2, 23)
#define JP_NCCL_KNOWN JP_NCCL_RELEASE(2, 30, JP_NCCL_NO_PATCH)

/* Is text a value of knob? -1: err says why not, with the value and the valid
 * range or words, without the knob's name. */
int knob_check(const struct jp_knob *knob, const char *text,
               struct jp_error *err);

/* A checked value as a number: count, bytes, microseconds, 0 or 1, the index
 * among words, JP_NCCL_RELEASE. -1 for patterns, paths, files, lists, mounts,
 * texts, labels and bad values. */
int knob_number(const struct jp_knob *knob, const char *text, uint64_t *out,
                struct jp_error *err);

/* Do two checked values mean the same ("1G", "1024M")? */
bool knob_equal(const struct jp_knob *knob, const char *a, const char *b);

/* Is name one of a JP_KNOB_LIST's names? */
bool knob_list_has(const char *list, const char *name);

/* "1 MiB to 64 GiB", "off|line|card", "0|1" ... into buf. Returns buf. */
char *knob_format_range(const struct jp_knob *knob, char *buf, unsigned len);

/* A release as "2.28.9", or "2.29" where no patch is named. Returns buf. */
char *knob_format_release(uint32_t release, char *buf, unsigned len);

/* --- the user's labels of a run: "model:gpt-3;run:42" -------------------- */

/* Keys are names, values are anything but control characters, ';' and what
 * ends an option's value (','); a value may hold a ':'. The report repeats them
 * unchanged. */

#define USERLABELS_MAX 16
#define USERLABELS_KEY 32    /* bytes of a key */
#define USERLABELS_VALUE 128 /* bytes of a value */
#define USERLABELS_RANGE "at most 16 KEY:VALUE, separated by \";\""

struct userlabel {
    char key[USERLABELS_KEY + 1], value[USERLABELS_VALUE + 1];
};

/* Takes the next label of a checked text (knob_check); *at moves on. False:
 * there is no further one, or text was not checked. */
bool userlabels_next(const char **at, struct userlabel *out);

/* --- what is to be done when a step hangs: the value of on_hang ---------- */

enum onhang_kind {
    ONHANG_OFF,    /* nothing is watched */
    ONHANG_REPORT, /* only a message */
    ONHANG_COMMAND,
    ONHANG_SIGNAL, /* to tasks that have a handler for it */
    ONHANG_CANCEL
};

#define ONHANG_RANGE "report, off, /COMMAND, signal:NAME or cancel"
/* on_hang=cancel without after=: the time to look at it oneself. */
#define ONHANG_CANCEL_AFTER_MS 600000

struct jp_onhang {
    enum onhang_kind kind;
    char command[256]; /* for /bin/sh -c; begins with a slash */
    char name[16];     /* of the signal: "USR1" */
    int signal;
    uint64_t after_ms; /* from a hang that is confirmed to signal or cancel */
};

/* after: a time as num_parse_time_us takes it, NULL: the kind's own. On failure
 * *out is unchanged. */
int onhang_parse(const char *text, const char *after, struct jp_onhang *out,
                 struct jp_error *err);

#endif
