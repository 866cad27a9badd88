/* clock_option.h - --clock-profile in the SPANK module, which links no backend.
 * plugins/option_help.h describes the names. */
#ifndef JP_CLOCK_OPTION_H
#define JP_CLOCK_OPTION_H

#define JP_HELP_CLOCK                                                          \
    "Compares the nodes' clocks; MODE is off or " JP_WORDS_CLOCK               \
    ". Same report; man jobprof. Default: auto in profiled steps of several "  \
    "nodes"
#define JP_TRY_CLOCK "auto"
#define JP_ONLY_SRUN_CLOCK "clocks"
#define JP_IS_SLOW_CLOCK false
#define JP_VARIABLES_CLOCK "XLA_",

#endif
