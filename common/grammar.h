/* grammar.h - the options' modes and knobs: the one table of settings.
 *
 *     --nccl-profile=off|auto|<profiler>...|plan[,key=value...]
 *     --NAME-profile=off|<word>...[,key=value...]
 *
 * The same words are valid in JOBPROF_NCCL and JOBPROF_NAME, and the knobs
 * under nccl and NAME in the site and user file. The tables are built at start,
 * from the common knobs and the descriptions of the profilers
 * (common/profiler.h).
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
    const char *default_name;  /* "nccl.default" */
    const struct jp_option_form *form; /* never NULL */
};

const struct jp_grammar *grammar_of(enum jp_option option);
static inline const struct jp_grammar *grammar_nccl(void)
{
    return grammar_of(OPTION_NCCL);
}
/* The index of a mode or knob; -1: there is none of that name. */
int grammar_find_mode(const struct jp_grammar *grammar, const char *name);
int grammar_find_knob(const struct jp_grammar *grammar, const char *name);

/* Writes the modes in the mask, "off, auto, recorder or plan", into buf. With
 * all of them (~0u), also what may stand in their place. Returns buf. */
char *grammar_list_modes(const struct jp_grammar *grammar, unsigned mask,
                         char *buf, size_t len);

/* --- parse a request: MODE[,key=value...].
 *
 * The mode comes first, then keys of that mode, each once and none empty. A
 * refusal is one sentence that contains the wrong word and, if one is near, the
 * valid word that was probably meant. The caller puts the option's name in
 * front.
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

/* Reads the file that a knob of the kind JP_KNOB_FILE names. A relative path
 * starts at folder (NULL: the working directory). out->mode is -1. Otherwise
 * like request_parse. */
int request_read(const struct jp_grammar *grammar, const char *path,
                 const char *folder, struct jp_request *out,
                 struct jp_error *err);

/* --- jobprof's own variables, to find a mistyped one.
 *
 * These are the variables of the options (JOBPROF_NCCL ...), those of the
 * profilers' descriptions (common/profiler.h), and a few that jobprof sets
 * itself.
 */

/* The prefix of all of them. */
#define OWNVARS_PREFIX "JOBPROF_"

/* Whether pair, "NAME=value", is probably a mistake: its name begins like ours
 * but is unknown, or it is near to a variable of another program that we read.
 * Returns 1 then, with the name in name (cut to len) and the one that was
 * probably meant in *meant (borrowed; NULL: none is near). Otherwise returns
 * 0. */
int ownvars_is_unknown(const char *pair, char *name, unsigned len,
                       const char **meant);

#endif
