/* option_help.h - what the SPANK module knows of the options. Here is
 * --nccl-profile; plugins/NAME/NAME_option.h has the others.
 *
 * JP_HELP_*: a text of srun --help: what the option does, its modes, where the
 * report goes and what to read. The module adds the default to the first one.
 * JP_TRY_*: the mode that a refusal proposes.
 * JP_ONLY_SRUN_*: what only steps of srun can have, as a noun for a sentence;
 * "": scripts have it, too.
 * JP_IS_SLOW_*: whether resolve may take a minute to start it.
 * JP_VARIABLES_*: beginnings of names of the tasks' variables that it sets,
 * each with a comma.
 */
#ifndef JP_PLUGINS_OPTION_HELP_H
#define JP_PLUGINS_OPTION_HELP_H

#include "plugins/words.h"

#define JP_HELP_NCCL                                                           \
    "Profiles the step's NCCL communication; MODE is off, "                    \
    "auto, " JP_WORDS_NCCL                                                     \
    " or plan. The report goes to jobprof-JOBID/step-STEPID in "               \
    "the folder of submission, and srun prints its verdict. Keys and "         \
    "examples: man jobprof.conf, man jobprof. Default: "
#define JP_TRY_NCCL "auto"
#define JP_ONLY_SRUN_NCCL ""
#define JP_IS_SLOW_NCCL false
#define JP_VARIABLES_NCCL "NCCL_PROFILE", "NCCL_INSPECTOR_",

#endif
