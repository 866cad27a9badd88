/* slurmstep.c - ask the controller about a step. */
#include "config.h"

#include "orchestrator/collect/slurmstep.h"

#ifdef HAVE_SLURM
#include <string.h>
#include <slurm/slurm.h>

#include "orchestrator/collect/slurmask.h"

static bool answer(const void *arg, void *to)
{
    slurm_step_id_t id = *(const slurm_step_id_t *) arg;
    slurm_step_layout_t *layout = slurm_job_step_layout_get(&id);
    struct slurmstep *out = to;
    slurm_conf_t *conf = NULL;

    if (!layout || !layout->node_list ||
        strlen(layout->node_list) >= sizeof(out->nodes))
        return false;
    memcpy(out->nodes, layout->node_list, strlen(layout->node_list) + 1);
    out->n_nodes = layout->node_cnt;
    if (slurm_load_ctl_conf(0, &conf) == 0)
        out->kill_wait_s = conf->kill_wait;
    return true;
}

bool slurmstep_get(uint32_t job_id, uint32_t step_id, unsigned wait_ms,
                   struct slurmstep *out)
{
    slurm_step_id_t id = {
        .job_id = job_id, .step_id = step_id, .step_het_comp = NO_VAL};

    return slurmask(answer, &id, wait_ms, out, sizeof(*out));
}
#else
bool slurmstep_get(uint32_t job_id, uint32_t step_id, unsigned wait_ms,
                   struct slurmstep *out)
{
    (void) job_id;
    (void) step_id;
    (void) wait_ms;
    (void) out;
    return false;
}
#endif
