/* slurmjob.c - ask the controller about a job. */
#include "config.h"

#include "orchestrator/collect/slurmjob.h"

#include <stdlib.h>
#include <string.h>

#include "common/num.h"

#ifdef HAVE_SLURM
#include <slurm/slurm.h>

#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/slurmgres.h"

static int load_job(job_info_msg_t **jobs, uint32_t job_id)
{
#ifdef HAVE_SLURM_LOAD_JOB_STEP_ID
    slurm_step_id_t id = {
        .job_id = job_id, .step_id = NO_VAL, .step_het_comp = NO_VAL};

    return slurm_load_job(jobs, id, SHOW_ALL);
#else
    return slurm_load_job(jobs, job_id, SHOW_ALL);
#endif
}

/* A text that does not fit stays unknown. */
static void copy(const char *text, char *buf, size_t len)
{
    if (text && strlen(text) < len)
        memcpy(buf, text, strlen(text) + 1);
}

static uint64_t limit_us(uint32_t minutes)
{
    if (minutes == INFINITE)
        return UINT64_MAX;
    return minutes == NO_VAL ? 0 : minutes * 60000000ULL;
}

static enum slurmjob_state state_of(uint32_t state)
{
    static const enum slurmjob_state of[JOB_END] = {
        [JOB_RUNNING] = SLURMJOB_RUNNING,
        [JOB_SUSPENDED] = SLURMJOB_RUNNING,
        [JOB_COMPLETE] = SLURMJOB_COMPLETED,
        [JOB_CANCELLED] = SLURMJOB_CANCELLED,
        [JOB_FAILED] = SLURMJOB_FAILED,
        [JOB_TIMEOUT] = SLURMJOB_TIMEOUT,
        [JOB_NODE_FAIL] = SLURMJOB_NODE_FAIL,
        [JOB_PREEMPTED] = SLURMJOB_PREEMPTED,
        [JOB_DEADLINE] = SLURMJOB_TIMEOUT,
        [JOB_OOM] = SLURMJOB_OUT_OF_MEMORY,
    };

    state &= JOB_STATE_BASE;
    return state < JOB_END ? of[state] : SLURMJOB_UNKNOWN;
}

static void fill(const slurm_job_info_t *job, struct slurmjob *out)
{
    const char *const tres[] = {job->tres_per_job, job->tres_per_node,
                                job->tres_per_socket, job->tres_per_task,
                                job->tres_alloc_str};

    copy(job->work_dir, out->work_dir, sizeof(out->work_dir));
    copy(job->partition, out->facts.partition, sizeof(out->facts.partition));
    copy(job->account, out->facts.account, sizeof(out->facts.account));
    out->facts.time_limit_us = limit_us(job->time_limit);
    out->ended = (job->job_state & JOB_STATE_BASE) > JOB_SUSPENDED &&
                 !(job->job_state & JOB_COMPLETING);
    out->state = state_of(job->job_state);
    out->uid = job->user_id;
    if (out->state > SLURMJOB_RUNNING && job->end_time > 0)
        out->end_us = (uint64_t) job->end_time * 1000000;
    for (size_t i = 0; i < sizeof(tres) / sizeof(*tres); i++)
        slurmgres_add(tres[i], true, out->facts.gres, sizeof(out->facts.gres));
    slurmgres_add(job->gres_total, false, out->facts.gres,
                  sizeof(out->facts.gres));
}

static bool answer(const void *arg, void *out)
{
    const uint32_t *job_id = arg;
    job_info_msg_t *jobs = NULL;

    if (load_job(&jobs, *job_id) != 0 || jobs->record_count == 0)
        return false;
    fill(&jobs->job_array[0], out);
    return true;
}

bool slurmjob_get(uint32_t job_id, unsigned wait_ms, struct slurmjob *out)
{
    return slurmask(answer, &job_id, wait_ms, out, sizeof(*out));
}
#else
bool slurmjob_get(uint32_t job_id, unsigned wait_ms, struct slurmjob *out)
{
    (void) job_id;
    (void) wait_ms;
    (void) out;
    return false;
}
#endif

char *slurmjob_work_dir(uint32_t job_id)
{
    struct slurmjob job;

    if (!slurmjob_get(job_id, JP_SLURMJOB_WAIT_MS, &job) ||
        job.work_dir[0] != '/')
        return NULL;
    return strdup(job.work_dir);
}

static void ask(struct jp_jobfacts *facts)
{
    struct slurmjob job;
    uint64_t id;

    if (num_parse_u64(getenv("SLURM_JOB_ID"), 1, UINT32_MAX, &id, NULL) < 0 ||
        !slurmjob_get((uint32_t) id, JP_SLURMJOB_LAUNCH_MS, &job))
        return;
    if (*facts->partition)
        memcpy(job.facts.partition, facts->partition, sizeof(facts->partition));
    if (*facts->account)
        memcpy(job.facts.account, facts->account, sizeof(facts->account));
    if (facts->time_limit_us)
        job.facts.time_limit_us = facts->time_limit_us;
    *facts = job.facts;
}

void slurmjob_ask(void *arg, struct jp_jobfacts *facts)
{
    struct slurmjob_memo *memo = arg;

    if (!memo->done) {
        memo->facts = *facts;
        ask(&memo->facts);
        memo->done = true;
    }
    *facts = memo->facts;
}
