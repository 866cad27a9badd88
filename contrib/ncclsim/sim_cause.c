/* sim_cause.c - the table of causes that make a rank late.
 *
 * A cause is either toil (the process does the thing: sim_toil.h) or a sense
 * (the machine has the thing, which is read: sim_sense.h). */
#include "contrib/ncclsim/sim_cause.h"

#include <stdlib.h>
#include <string.h>

#include "contrib/ncclsim/sim_sense.h"
#include "contrib/ncclsim/sim_toil.h"

/* One row of the table. */
struct jp_sim_cause {
    const char *name;
    const char *help; /* shown by --help */
    int for_all;
    enum jp_sim_sense sense; /* where toil is NULL */
    int64_t (*toil)(struct jp_sim_toil *toil, int64_t ns);
    unsigned needs; /* of toil */
};

struct jp_sim_work {
    const struct jp_sim_cause *cause;
    struct jp_sim_toil *toil;
    struct jp_sim_senses *senses;
};

/* USEC in the help is the argument of the fault. */
static const struct jp_sim_cause causes[] = {
    {.name = "cpu",
     .help = "it computes USEC more than the others",
     .toil = sim_toil_compute},
    {.name = "rival",
     .help = "all compute USEC; another program runs on its processor",
     .toil = sim_toil_share,
     .for_all = 1,
     .needs = SIM_TOIL_RIVAL},
    {.name = "throttle",
     .help = "all compute USEC; something holds its processor back (a quota)",
     .toil = sim_toil_share,
     .for_all = 1},
    {.name = "read",
     .help = "it reads a file for USEC",
     .toil = sim_toil_read,
     .needs = SIM_TOIL_FILE},
    {.name = "write",
     .help = "it writes a file for USEC",
     .toil = sim_toil_write,
     .needs = SIM_TOIL_FILE},
    {.name = "mem",
     .help = "it touches pages that are not in memory for USEC",
     .toil = sim_toil_fault,
     .needs = SIM_TOIL_FILE},
    {.name = "clock",
     .help = "its GPU computes USEC at the highest clock",
     .sense = SIM_SENSE_CLOCK},
    {.name = "pcie",
     .help = "it copies for USEC over the PCIe link that it begins with",
     .sense = SIM_SENSE_PCIE},
    {.name = "gpu-memory",
     .help = "its GPU computes USEC while its memory is idle",
     .sense = SIM_SENSE_GPU_MEMORY},
    {.name = "gpu-shared",
     .help = "its GPU, without other users, computes USEC",
     .sense = SIM_SENSE_GPU_SHARED},
    {.name = "ecc",
     .help = "USEC while its GPU counts uncorrected errors",
     .sense = SIM_SENSE_ECC},
    {.name = "steal",
     .help = "it computes USEC on a host that takes no CPU time from it",
     .sense = SIM_SENSE_STEAL},
    {.name = "port",
     .help = "its node sends for USEC by a port without waits and errors",
     .sense = SIM_SENSE_PORT},
};

enum { N_CAUSES = sizeof(causes) / sizeof(causes[0]) };

const struct jp_sim_cause *sim_cause_find(const char *name)
{
    int i;

    for (i = 0; i < N_CAUSES; i++) {
        if (strcmp(causes[i].name, name) == 0)
            return &causes[i];
    }
    return NULL;
}

int sim_cause_is_for_all(const struct jp_sim_cause *cause)
{
    return cause->for_all;
}

void sim_cause_help(FILE *out)
{
    int i;

    for (i = 0; i < N_CAUSES; i++)
        fprintf(out, "  by=%-11s %s\n", causes[i].name, causes[i].help);
}

struct jp_sim_work *sim_cause_open(const struct jp_sim_cause *cause,
                                   const struct jp_sim_spot *spot,
                                   struct jp_error *err)
{
    struct jp_sim_work *work = calloc(1, sizeof(*work));
    /* the others of a cause for all only compute */
    unsigned needs = spot->is_late ? cause->needs : 0;

    if (!work) {
        error_set(err, "no memory");
        return NULL;
    }
    work->cause = cause;
    if (cause->toil)
        work->toil = sim_toil_create(needs, err);
    else
        work->senses =
            sim_senses_create(cause->sense, spot->nvml, spot->gpu, err);
    /* the create functions have set err otherwise */
    if (work->toil || work->senses)
        return work;
    free(work);
    error_wrap(err, "by=%s", cause->name);
    return NULL;
}

int64_t sim_cause_late_ns(struct jp_sim_work *work, int64_t ns)
{
    /* either works, or reads how long work takes now */
    return work->toil ? work->cause->toil(work->toil, ns)
                      : sim_senses_late_ns(work->senses, ns);
}

void sim_cause_close(struct jp_sim_work *work)
{
    if (work) {
        sim_toil_destroy(work->toil);
        sim_senses_destroy(work->senses);
    }
    free(work);
}
