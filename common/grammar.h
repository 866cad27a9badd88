/* grammar.h - the options' modes and knobs: the one table of settings.
 *
 *     --nccl-profile=off|auto|<profiler>...|plan[,key=value...]
 *     --copper-profile=off|<word>...[,key=value...]
 *     --util-profile=off|auto|PERIOD[,key=value...]
 *     --clock-profile=off|auto|<preset>...[,key=value...]
 *     --nsys-profile=off|auto|key=value[,key=value...]
 *
 * The same words stand in JOBPROF_NCCL, JOBPROF_COPPER, JOBPROF_UTIL,
 * JOBPROF_CLOCK and JOBPROF_NSYS, and the knobs under nccl, copper, util, clock
 * and nsys in the site and user file. The tables are put together at start, of
 * what is common and of what the profilers say (common/profiler.h).
 */
#ifndef JP_COMMON_GRAMMAR_H
#define JP_COMMON_GRAMMAR_H

#include <stddef.h>

#include "common/error.h"
#include "common/profiler.h"

#define JP_MODES_MAX 16
#define JP_KNOBS_MAX 40

struct jp_grammar {
    enum jp_option id;
    const char *option;          /* "--nccl-profile" */
    const char *env;             /* "JOBPROF_NCCL" */
    const char *group;           /* "nccl" in the site file */
    const struct jp_mode *modes; /* modes[0] is off */
    size_t n_modes;
    const struct jp_knob *knobs;
    size_t n_knobs;
    struct jp_knob by_default; /* <group>.default of the settings files */
    /* A knob whose value may be given instead of a mode and then means
     * modes[1], or NULL. */
    const char *first;
    /* A knob by which another program's settings turn the option on or off, and
     * the mode that it then has; NULL: there is none. A mistake in that
     * program's variables or file costs this option alone. */
    const char *on, *on_mode;
    /* key=value may be given instead of a mode, and then means modes[1]. */
    bool bare;
};

const struct jp_grammar *grammar_of(enum jp_option option);
static inline const struct jp_grammar *grammar_nccl(void)
{
    return grammar_of(OPTION_NCCL);
}
static inline const struct jp_grammar *grammar_copper(void)
{
    return grammar_of(OPTION_COPPER);
}
static inline const struct jp_grammar *grammar_util(void)
{
    return grammar_of(OPTION_UTIL);
}
static inline const struct jp_grammar *grammar_clock(void)
{
    return grammar_of(OPTION_CLOCK);
}
static inline const struct jp_grammar *grammar_nsys(void)
{
    return grammar_of(OPTION_NSYS);
}

/* Index of a mode or knob by its name, -1 when there is none. */
int grammar_find_mode(const struct jp_grammar *grammar, const char *name);
int grammar_find_knob(const struct jp_grammar *grammar, const char *name);

/* "off, auto, recorder or plan": those modes whose bit is in mask, into buf;
 * all of them (~0u) with the knob that may stand in their place. Returns buf.
 */
char *grammar_list_modes(const struct jp_grammar *grammar, unsigned mask,
                         char *buf, size_t len);

/* --- parse what the user asks for: MODE[,key=value...].
 *
 * The mode comes first; then keys of that mode, each once, none empty. A
 * refusal is one sentence that names the word at fault and the nearest valid
 * one where it is near; the caller puts the option's name in front.
 */

struct jp_request {
    const struct jp_grammar *grammar;
    int mode;                   /* index in grammar->modes */
    char *values[JP_KNOBS_MAX]; /* by knob; NULL: not given */
};

/* Parses text. On failure *out is unchanged; else request_fini frees. */
int request_parse(const struct jp_grammar *grammar, const char *text,
                  struct jp_request *out, struct jp_error *err);
void request_fini(struct jp_request *request);

/* Reads the file that such a knob names, below folder where the path is
 * relative (NULL: the process's own). out->mode is -1. As request_parse. */
int request_read(const struct jp_grammar *grammar, const char *path,
                 const char *folder, struct jp_request *out,
                 struct jp_error *err);

/* --- the variables of jobprof's own, to find a mistyped one.
 *
 * They are the options' (JOBPROF_NCCL ...), those of the profilers'
 * descriptions (common/profiler.h), and a few that jobprof sets itself.
 */

/* The prefix of them all. */
#define OWNVARS_PREFIX "JOBPROF_"

/* "NAME=value": a variable that begins like ours and is none of them, or one of
 * another program's that is near to one that we read? Then 1,
 * with its name in name (cut to len) and the one that may be meant in *meant
 * (NULL: none is near; borrowed). Else 0. */
int ownvars_is_unknown(const char *pair, char *name, unsigned len,
                       const char **meant);

#endif
