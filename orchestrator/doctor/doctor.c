/* doctor.c - run the checks and keep their lines. */
#include "orchestrator/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/quote.h"

const char *const doctor_words[DOCTOR_VERDICTS] = {"ok", "skip", "warn",
                                                   "fail"};

/* Harmless to a terminal. Caller frees. */
static char *clean(const char *text)
{
    char *out = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&out, &len);

    if (!stream)
        return NULL;
    quote_print(stream, text);
    if (fclose(stream) == 0)
        return out;
    free(out);
    return NULL;
}

void doctor_add(struct doctor *d, enum doctor_verdict verdict,
                const char *check, const char *advice, const char *fmt, ...)
{
    struct doctor_line *more =
        reallocarray(d->lines, d->n_lines + 1, sizeof(*more));
    char *raw = NULL, *text;
    va_list ap;

    if (more)
        d->lines = more;
    va_start(ap, fmt);
    if (vasprintf(&raw, fmt, ap) < 0)
        raw = NULL;
    va_end(ap);
    text = raw ? clean(raw) : NULL;
    free(raw);
    if (!more || !text) {
        free(text);
        d->failed = true;
        return;
    }
    d->lines[d->n_lines++] = (struct doctor_line){
        .verdict = verdict, .check = check, .text = text, .advice = advice};
    d->count[verdict]++;
}

int doctor_run(const struct doctor_options *options, struct doctor *out,
               struct jp_error *err)
{
    static void (*const checks[])(struct doctor *) = {
        doctor_programs,  doctor_plugstack, doctor_site,     doctor_nccl,
        doctor_container, doctor_place,     doctor_forecast, doctor_nodes};
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
    free(doctor->recorder);
    free(doctor->binds);
    free(doctor->mounts);
    free(doctor->place);
    *doctor = (struct doctor){0};
}
