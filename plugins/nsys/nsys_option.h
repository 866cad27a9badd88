/* nsys_option.h - --nsys-profile in the SPANK module, which links no backend.
 * plugins/option_help.h describes the names. */
#ifndef JP_NSYS_OPTION_H
#define JP_NSYS_OPTION_H

#define JP_HELP_NSYS                                                           \
    "Runs ranks under Nsight Systems (nsys profile); MODE is "                 \
    "off, " JP_WORDS_NSYS                                                      \
    " or ranks=0;8. Same report; man jobprof. Default: off"
#define JP_TRY_NSYS "auto"
#define JP_ONLY_SRUN_NSYS "nsys"
#define JP_IS_SLOW_NSYS false
#define JP_VARIABLES_NSYS

#endif
