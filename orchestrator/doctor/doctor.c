/* doctor.c - run the checks. */
#include "orchestrator/doctor/doctor.h"

#include <stdlib.h>

int doctor_run(const struct doctor_options *options, struct doctor *out,
               struct jp_error *err)
{
    static void (*const checks[])(struct doctor *) = {
        doctor_programs, doctor_plugstack, doctor_site,
        doctor_nccl,     doctor_container, doctor_copper,
        doctor_place,    doctor_forecast,  doctor_nodes};
    struct doctor d = {.options = options};

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        checks[i](&d);
    if (d.failed) {
        doctor_fini(&d);
        return error_set(err, "out of memory");
    }
    *out = d;
    return 0;
}

void doctor_fini(struct doctor *doctor)
{
    if (!doctor)
        return;
    for (size_t i = 0; i < doctor->n_lines; i++)
        free(doctor->lines[i].text);
    free(doctor->lines);
    free(doctor->site);
    free(doctor->default_mode);
    free(doctor->node_program);
    free(doctor->plugin_dirs);
    free(doctor->library);
    free(doctor->binds);
    free(doctor->mounts);
    free(doctor->place);
    free(doctor->cu_fuse);
    free(doctor->fusermount);
    *doctor = (struct doctor){0};
}
