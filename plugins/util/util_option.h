/* util_option.h - --util-profile in the SPANK module, which links no backend.
 * plugins/option_help.h describes the names. */
#ifndef JP_UTIL_OPTION_H
#define JP_UTIL_OPTION_H

#define JP_HELP_UTIL                                                           \
    "Samples the nodes' use of CPUs, GPUs, memory and network; MODE is "       \
    "off, " JP_WORDS_UTIL                                                      \
    " or a period (200ms, 1s). Same report; man jobprof. "                     \
    "Default: auto in profiled steps"
#define JP_TRY_UTIL "auto"
#define JP_ONLY_SRUN_UTIL ""
#define JP_IS_SLOW_UTIL false
#define JP_VARIABLES_UTIL

#endif
