/* profiler.h - what common code may know of a profiler: its description.
 *
 * Each folder of plugins/ describes itself (the `about` of plugins/backend.h).
 * The option's grammar, the keys of the settings files, the
 * list of known-bad releases, --help, plan, doctor and the man page's check
 * read the descriptions; none of them knows a profiler by name.
 */
#ifndef JP_COMMON_PROFILER_H
#define JP_COMMON_PROFILER_H

#include <stdbool.h>

#include "common/knob.h"

enum jp_option {
    OPTION_NCCL,   /* --nccl-profile: a plugin that NCCL loads */
    OPTION_COPPER, /* --copper-profile */
    OPTION_UTIL,   /* --util-profile */
    OPTION_CLOCK,  /* --clock-profile */
    OPTION_NSYS,   /* --nsys-profile */
    OPTIONS
};

struct jp_profiler;

/* A word of an option. */
struct jp_mode {
    const char *name;
    const char *help;
    const struct jp_profiler *of; /* the grammar fills it: whose word it is;
                                     NULL: nobody's ("off", "plan") */
    /* The settings that the word stands for, "key=value,key=value", which count
     * as if they were given with it, or NULL. */
    const char *sets;
};

/* Takes one member of a profiler's file. -1: it is no value of that knob. */
typedef int profiler_take(void *arg, const char *knob, const char *value,
                          struct jp_error *err);
/* Reads such a file, which is foreign input. Errors name file, line and
 * column. */
typedef int profiler_read(const char *path, profiler_take *take, void *arg,
                          struct jp_error *err);

struct jp_profiler {
    const char *name;  /* in known-bad lists and in job.conf: "recorder" */
    const char *title; /* in a sentence: "the recorder" */
    enum jp_option option;
    const struct jp_mode *words; /* that ask for it; {0} ends them */
    /* Knobs of its own; {0} ends them, NULL: none. `modes` is relative to
     * words, 0: all of them. A row of the same name as another profiler's is
     * the same knob. */
    const struct jp_knob *knobs;
    /* What only the site says of it; {0} ends them, NULL: none. */
    const struct jp_knob *site_keys;
    const char *library;   /* the site key of its library, NULL: none */
    const char *release;   /* the same of the NCCL release it is built for */
    const char *installed; /* its library where the site names none, NULL: it
                              then cannot run */
    const char *mark;      /* a text that only its library contains; NULL: its
                              library is not recognised */
    const char *const *variables; /* JOBPROF_ variables of its own; a NULL ends
                                     them, NULL: none */
    profiler_read *read; /* the file that its knob of the kind JP_KNOB_FILE
                            names; NULL: there is no such knob */
    const char *folder;  /* the variable with which a user moves its files to
                            another folder, or NULL */
    bool is_auto;        /* the word "auto" of its option means it */
    bool counts;         /* it counts what it records and filters nothing */
    bool keeps_last;     /* it keeps the last events of pools */
    bool records_live;   /* its growing files contain operations in flight
                          (orchestrator/live) */
    bool records_ended;  /* its files are lines of what has ended, which grow
                          while the step runs: its reader follows them */
};

/* Generated from the folders (plugins/gen-registry.sh); a NULL ends it. */
extern const struct jp_profiler *const profiler_registry[];

/* Its description, or one that says nothing where there is no such profiler. */
const struct jp_profiler *profiler_get(const char *name);
/* The title of that name; the name itself where there is no such profiler. */
const char *profiler_title(const char *name);

#endif
