/* copper_option.h - --copper-profile in the SPANK module, which links no
 * backend. plugins/option_help.h describes the names. */
#ifndef JP_COPPER_OPTION_H
#define JP_COPPER_OPTION_H

#define JP_HELP_COPPER                                                         \
    "Runs the Copper file cache beside the step and profiles it; MODE is off " \
    "or " JP_WORDS_COPPER ". Same report; man jobprof. Default: off"
#define JP_TRY_COPPER "aggregate"
#define JP_ONLY_SRUN_COPPER "Copper"
#define JP_IS_SLOW_COPPER true
#define JP_VARIABLES_COPPER "COPPER_MOUNT",

#endif
