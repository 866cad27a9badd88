/* profiler.h - the description of a profiler: all that common code may know.
 *
 * Each folder of plugins/ describes itself (the `about` of plugins/backend.h).
 * The options' grammars, the keys of the settings files, the list of known-bad
 * releases, --help, plan, doctor and the man page's check read the
 * descriptions; none of them contains the name of a profiler.
 */
#ifndef JP_COMMON_PROFILER_H
#define JP_COMMON_PROFILER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/knob.h"
#include "common/options.h"

struct jp_policy_row; /* common/policy.h */
struct jp_profiler;
struct plan_side;

/* A word of an option. */
struct jp_mode {
    const char *name;
    const char *help;
    const struct jp_profiler *of; /* set by the grammar: the profiler of this
                                     word; NULL: none ("off", "plan") */
    /* The settings that the word stands for, "key=value,key=value", as if they
     * were given with it; or NULL. */
    const char *sets;
};

/* Receives one member of a profiler's file. -1: not a value of that knob. */
typedef int profiler_take(void *arg, const char *knob, const char *value,
                          struct jp_error *err);
/* Reads such a file, which is foreign input. Errors contain file, line and
 * column. */
typedef int profiler_read(const char *path, profiler_take *take, void *arg,
                          struct jp_error *err);

/* A number or a text in an option's group of job.conf, besides the request and
 * the settings in effect. */
struct jp_conf_key {
    const char *name;
    bool is_text;
};

/* What an option is, besides the words and knobs of its profilers. Absent
 * members are NULL. */
struct jp_option_form {
    const char *off; /* help of the mode off */
    /* A knob whose value may be given instead of a mode and then means
     * modes[1]. */
    const char *first;
    /* A knob by which another program's settings turn the option on or off, and
     * the mode that it then has. A mistake in that program's variables or file
     * affects only this option. */
    const char *on, *on_mode;
    bool bare; /* key=value may be given instead of a mode, and then means
                  modes[1] */
    const char *on_page; /* what its settings are for, in the page's table of
                            settings; NULL: they are not shown there */
    bool only_srun;      /* only steps of srun can have it, scripts cannot */
    /* Whether the user asks for it, so that the step has a report even if
     * everything else is off. NULL: if its mode comes from the option or a
     * variable. */
    bool (*is_asked)(const struct plan_side *side);
    /* A knob that is a part of the policy: its key there, and its member of
     * struct jp_policy. */
    const char *policy_knob, *policy_key;
    size_t policy_at;
    const struct jp_conf_key *conf_keys; /* at most JP_CONF_KEYS_MAX; {0} ends
                                            them */
};

struct jp_profiler {
    const char *name;  /* in known-bad lists and in job.conf: "recorder" */
    const char *title; /* in a sentence: "the recorder" */
    enum jp_option option;
    const struct jp_option_form *form; /* of an option of its own */
    const struct jp_mode *words; /* words that request it; {0} ends them. NULL:
                                    it only adds knobs to the option, and cannot
                                    be requested */
    bool samples;                /* its option takes samples on the nodes */
    bool with_samples; /* its knobs are of that option; `option` is OPTIONS */
    /* Its own knobs; {0} ends them, NULL: none. `modes` is relative to words,
     * 0: all of them. If two profilers have a row of the same name, it is one
     * knob. */
    const struct jp_knob *knobs;
    /* Keys that only the site sets; {0} ends them, NULL: none. */
    const struct jp_knob *site_keys;
    /* Limits of what its option runs; a row without a key ends them, NULL:
     * none. */
    const struct jp_policy_row *policy;
    const char *library;   /* site key of its library, NULL: none */
    const char *release;   /* site key of the NCCL release of that library */
    const char *installed; /* its library if the site names none; NULL: it
                              cannot run then */
    const char *mark;      /* a text that only its library contains; NULL: the
                              library is not recognised */
    const char *const *variables; /* its own JOBPROF_ variables; a NULL ends
                                     them, NULL: none */
    profiler_read *read; /* reader of the file named by its knob of the kind
                            JP_KNOB_FILE; NULL: it has no such knob */
    const char *folder;  /* the variable with which a user moves its files to
                            another folder, or NULL */
    bool is_auto;        /* the word "auto" of its option means it */
    bool counts;         /* it counts its records and filters nothing */
    bool keeps_last;     /* it keeps the last events of pools */
    bool records_live;   /* its growing files contain operations in flight */
    bool records_ended;  /* its files contain ended operations as lines and grow
                            while the step runs: its reader follows them */
};

/* Generated from the folders (plugins/gen-registry.sh); a NULL ends it. */
extern const struct jp_profiler *const profiler_registry[];

/* The description of that profiler; an empty one if there is no such
 * profiler. */
const struct jp_profiler *profiler_get(const char *name);
/* The option that takes samples on the nodes; OPTIONS: there is none. */
enum jp_option profiler_sampler(void);
/* The option of its knobs; OPTIONS: there is none. */
enum jp_option profiler_option(const struct jp_profiler *profiler);
/* The title of that profiler; the name itself if there is no such profiler. */
const char *profiler_title(const char *name);

#endif
