/* grammar.h - the options' modes and knobs: the one table of settings.
 *
 *     --nccl-profile=off|auto|<profiler>...|plan[,key=value...]
 *     --copper-profile=off|<word>...[,key=value...]
 *     --util-profile=off|auto|PERIOD[,key=value...]
 *
 * The same words stand in JOBPROF_NCCL, JOBPROF_COPPER and JOBPROF_UTIL, and
 * the knobs under nccl, copper and util in the site and user file. The tables
 * are put together at start, of what is common and of what the profilers say
 * (common/profiler.h).
 */
#ifndef JP_COMMON_GRAMMAR_H
#define JP_COMMON_GRAMMAR_H

#include <stddef.h>

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
    /* A knob whose value may stand in the mode's place and means modes[1];
     * NULL: none. */
    const char *first;
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

/* Index of a mode or knob by its name, -1 when there is none. */
int grammar_find_mode(const struct jp_grammar *grammar, const char *name);
int grammar_find_knob(const struct jp_grammar *grammar, const char *name);

/* "off, auto, recorder or plan": those modes whose bit is in mask, into buf;
 * all of them (~0u) with the knob that may stand in their place. Returns buf.
 */
char *grammar_list_modes(const struct jp_grammar *grammar, unsigned mask,
                         char *buf, size_t len);

#endif
