/* step_kin.c - which other steps of a job have ranks of a step's communicators.
 *
 * Launchers such as Ray start one srun a node: the ranks of one NCCL job are
 * then in several steps. A step's report shows its own ranks, and has to say
 * where the others are instead of calling them lost. */
#include "orchestrator/cmd/step_kin.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/ownplace.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/ingest/logwalk.h"
#include "plugins/nccl_recorder/recfile.h"

/* Limits of what is read: communicators stand at the begin of a recording,
 * between its first operations. */
#define STEPS_MAX 64
#define RECORDS_MAX 4096

/* Whether the result lacks ranks of that communicator. */
static bool lacks_ranks(const struct jp_result *r, const char *id,
                        int64_t n_ranks)
{
    for (size_t i = 0; i < r->n_comms; i++)
        if (r->comms[i].ranks_seen < r->comms[i].n_ranks &&
            r->comms[i].n_ranks == n_ranks && !strcmp(r->comms[i].id, id))
            return true;
    return false;
}

/* Whether the first recording of a step has such a communicator. */
static bool has_ranks(const char *dir, const struct jp_result *r)
{
    char *raw = text_format("%s/raw", dir);
    const char *inputs[] = {raw};
    struct jp_recwalk walk;
    struct jpr_record record;
    char id[RECORD_MAX_ID + 1];
    bool found = false;

    if (!raw || !stepdir_is_folder(raw) ||
        recwalk_init(&walk, inputs, 1, NULL) < 0) {
        free(raw);
        return false;
    }
    if (recwalk_open(&walk))
        for (size_t i = 0;
             i < RECORDS_MAX && !found && recwalk_record(&walk, &record); i++)
            if (record.type == JPR_COMM) {
                recfile_id(record.comm->id, id);
                found = lacks_ranks(r, id, record.comm->n_ranks);
            }
    recwalk_fini(&walk);
    free(raw);
    return found;
}

/* Whether any communicator of the result lacks ranks. */
static bool is_partial(const struct jp_result *r)
{
    for (size_t i = 0; r && i < r->n_comms; i++)
        if (r->comms[i].ranks_seen < r->comms[i].n_ranks)
            return true;
    return false;
}

/* Appends the ids of the steps in a job's directory that have such
 * communicators, except for the step itself. *looks counts the steps. */
static size_t find_in(const char *job, const char *self,
                      const struct jp_result *r, char *buf, size_t size,
                      size_t *looks)
{
    struct dirent **list = NULL;
    int n = stepdir_is_folder(job) ? scandir(job, &list, NULL, versionsort) : 0;
    size_t len = strlen(buf);

    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        char *dir;

        if (!strncmp(name, "step-", 5) && strcmp(name, self) != 0 &&
            (*looks)++ < STEPS_MAX && (dir = text_format("%s/%s", job, name))) {
            if (len + 32 < size && has_ranks(dir, r))
                len += (size_t) snprintf(buf + len, size - len, "%s%.20s",
                                         len ? ", " : "", name + 5);
            free(dir);
        }
        free(list[i]);
    }
    free(list);
    return len;
}

char *step_kin_find(const char *step_dir, const struct jp_result *r, char *buf,
                    size_t size)
{
    char *job = is_partial(r) ? stepdir_job_dir(step_dir) : NULL;
    const char *base = job ? strrchr(job, '/') : NULL;
    const char *self = strrchr(step_dir, '/');
    size_t looks = 0;
    char *twin;

    buf[0] = '\0';
    if (!base || !self) {
        free(job);
        return buf;
    }
    find_in(job, self + 1, r, buf, size, &looks);
    /* a batch script, and the steps of a site's default, are hidden while they
     * run */
    twin = text_format("%.*s%s%s", (int) (base + 1 - job), job,
                       base[1] == '.' ? "" : ".", base + 1 + (base[1] == '.'));
    if (twin)
        find_in(twin, self + 1, r, buf, size, &looks);
    free(twin);
    free(job);
    return buf;
}
