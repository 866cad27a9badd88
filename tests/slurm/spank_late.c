/* spank_late.c - a SPANK module that sets NCCL_PROFILER_PLUGIN for all tasks in
 * user_init, as some cloud providers' do. */
#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(late, 1)
int slurm_spank_user_init(spank_t sp, int ac, char **av);
#pragma GCC visibility pop

int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
    (void) ac;
    (void) av;
    spank_setenv(sp, "NCCL_PROFILER_PLUGIN", "/opt/late/libnccl-profiler.so",
                 1);
    return 0;
}
