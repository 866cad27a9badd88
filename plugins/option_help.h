/* option_help.h - the texts of srun --help: for each option what it does, its
 * modes, where the report goes and what to read. The module adds the default to
 * the first one.
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
#define JP_HELP_COPPER                                                         \
    "Runs the Copper file cache beside the step and profiles it; MODE is off " \
    "or " JP_WORDS_COPPER ". Same report; man jobprof. Default: off"
#define JP_HELP_UTIL                                                           \
    "Samples the nodes' use of CPUs, GPUs, memory and network; MODE is "       \
    "off, " JP_WORDS_UTIL                                                      \
    " or a period (200ms, 1s). Same report; man jobprof. "                     \
    "Default: auto in profiled steps"
#define JP_HELP_CLOCK                                                          \
    "Compares the nodes' clocks; MODE is off or " JP_WORDS_CLOCK               \
    ". Same report; man jobprof. Default: auto in profiled steps of several "  \
    "nodes"
#define JP_HELP_NSYS                                                           \
    "Runs ranks under Nsight Systems (nsys profile); MODE is "                 \
    "off, " JP_WORDS_NSYS                                                      \
    " or ranks=0;8. Same report; man jobprof. Default: off"

#endif
