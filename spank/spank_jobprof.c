/* spank_jobprof.c - the map: which callback does what, and in which program. */
#pragma GCC visibility push(default)
#include "spank/module.h"

SPANK_PLUGIN(jobprof, 1)
#pragma GCC visibility pop
__attribute__((used)) static const char release[] = /* for jobprof doctor */
    "jobprof module " JP_RELEASE;

/* From Slurm 25.05 on any other result than 0 counts as a failure. */
#define CALLBACK(name, action)                                                 \
    int slurm_spank_##name(spank_t sp, int ac, char *argv[])                   \
    {                                                                          \
        spank_context_t at = spank_context();                                  \
        if (at == S_CTX_LOCAL || at == S_CTX_ALLOCATOR ||                      \
            at == S_CTX_REMOTE) {                                              \
            action;                                                            \
        }                                                                      \
        return 0;                                                              \
    }

/* everywhere; then in srun, sbatch and salloc the options: resolve --check */
CALLBACK(init, option_init(sp, ac, argv))
/* srun: the request, then resolve; sbatch and salloc: what is not profiled */
CALLBACK(init_post_opt, option_tell_user(at);
         if (at == S_CTX_LOCAL) apply_request())
CALLBACK(local_user_init, apply_resolve(sp))
/* slurmstepd, also that of a batch script: begin, a program in front of the
 * task's, task records, task lines, finish; srun: report */
CALLBACK(user_init, apply_begin(sp))
CALLBACK(task_init, apply_again(sp); finish_start(sp))
CALLBACK(task_exit, finish_task(sp))
CALLBACK(exit, finish_exit(sp))
