/* jobinfo.c - facts of the step for a helper: ids and environment. */
#include <slurm/slurm.h>

#include "spank/module.h"

const char *jobinfo_getenv(char **env, const char *name)
{
    size_t n = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

static void get_number(spank_t sp, spank_item_t which, char text[12])
{
    uint32_t n = 0;

    spank_get_item(sp, which, &n);
    snprintf(text, 12, "%u", n);
}

/* The steps that srun does not start have numbers above those of all others. */
static int set_script(uint32_t step, struct jobinfo *j)
{
    if (step == SLURM_BATCH_SCRIPT)
        j->script = "batch";
    if (step == SLURM_INTERACTIVE_STEP)
        j->script = "interactive";
    return step < SLURM_MAX_NORMAL_STEP_ID || j->script ? 0 : -1;
}

int jobinfo_get(spank_t sp, struct jobinfo *j)
{
    uint32_t step = 0;
    char **argv = NULL;
    const char *nodes;
    int argc = 0;

    memset(j, 0, sizeof(*j));
    if (spank_get_item(sp, S_JOB_UID, &j->uid) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_GID, &j->gid) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
        set_script(step, j) < 0)
        return -1;
    spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &j->gids, &j->ngids);
    spank_get_item(sp, S_JOB_ENV, &j->env);
    get_number(sp, S_JOB_ID, j->job);
    get_number(sp, S_JOB_NODEID, j->nodeid);
    get_number(sp, S_JOB_NNODES, j->nodes);
    get_number(sp, S_JOB_TOTAL_TASK_COUNT, j->tasks);
    nodes = jobinfo_getenv(j->env, "SLURM_STEP_NUM_NODES");
    /* for a script the item is 0, and the variables are of another job */
    if (j->script) {
        snprintf(j->nodes, sizeof(j->nodes), "1");
        snprintf(j->tasks, sizeof(j->tasks), "1");
    } else if (nodes) { /* of all het components; the item has one of them */
        snprintf(j->nodes, sizeof(j->nodes), "%s", nodes);
    }
    spank_get_item(sp, S_JOB_ARGV, &argc, &argv);
    j->command = argc > 0 && argv ? argv[0] : NULL;
    return 0;
}

void jobinfo_node_args(const struct jobinfo *j, struct helper *h)
{
    helper_arg(h, "--node", getenv("SLURMD_NODENAME")); /* slurmstepd's */
    helper_arg(h, "--nodeid", j->nodeid);
    helper_arg(h, "--component", j->job);
    helper_arg(h, "--nodes", j->nodes);
    helper_arg(h, "--script", j->script);
    h->user = j;
    h->env = j->env;
}
