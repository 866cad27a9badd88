/* grammar.h - the two options' modes and knobs: the one table of settings.
 *
 *     --nccl-profile=off|auto|inspector|example|recorder|plan[,key=value...]
 *     --copper-profile=off|aggregate|top|full[,key=value...]
 *
 * The same words stand in JOBPROF_NCCL and JOBPROF_COPPER, and the knobs under
 * nccl and copper in the site and user file.
 */
#ifndef JP_COMMON_GRAMMAR_H
#define JP_COMMON_GRAMMAR_H

#include <stddef.h>

#include "common/knob.h"

#define JP_MODES_MAX 8
#define JP_KNOBS_MAX 24

struct jp_mode {
    const char *name;
    const char *help;
};

struct jp_grammar {
    const char *option;          /* "--nccl-profile" */
    const char *env;             /* "JOBPROF_NCCL" */
    const char *group;           /* "nccl" in the site file */
    const struct jp_mode *modes; /* modes[0] is off */
    size_t n_modes;
    const struct jp_knob *knobs;
    size_t n_knobs;
};

extern const struct jp_grammar jp_grammar_nccl;
extern const struct jp_grammar jp_grammar_copper;

/* Index of a mode or knob by its name, -1 when there is none. */
int grammar_find_mode(const struct jp_grammar *grammar, const char *name);
int grammar_find_knob(const struct jp_grammar *grammar, const char *name);

/* "off, auto, inspector, example, recorder or plan": those modes whose bit is
 * in mask, into buf. Returns buf. */
char *grammar_list_modes(const struct jp_grammar *grammar, unsigned mask,
                         char *buf, size_t len);

#endif
