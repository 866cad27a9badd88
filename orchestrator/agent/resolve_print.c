/* resolve_print.c - print settings, variables and cost for people. */
#include "orchestrator/agent/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "common/num.h"

static int widest(const struct jp_setting *settings, size_t n, bool value)
{
    size_t width = 7;

    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(value ? settings[i].value : settings[i].key);

        if (len > width && len <= 32)
            width = len;
    }
    return (int) width;
}

void resolve_print_settings(FILE *out, const struct jp_setting *settings,
                            size_t n)
{
    int key_width = widest(settings, n, false);
    int value_width = widest(settings, n, true);

    fprintf(out, "%-*s  %-*s  %s\n", key_width, "setting", value_width, "value",
            "source");
    for (size_t i = 0; i < n; i++) {
        const struct jp_setting *s = &settings[i];

        fprintf(out, "%-*s  %-*s  %s", key_width, s->key, value_width, s->value,
                s->source);
        if (*s->where && strcmp(s->where, s->key) != 0)
            fprintf(out, " %s", s->where);
        if (*s->reason)
            fprintf(out, ": %s", s->reason);
        fputc('\n', out);
    }
}

static void print_size(FILE *out, const struct resolve_choice *choice,
                       uint32_t ntasks)
{
    const struct backend_planner *planner = choice->backend->planner;
    struct backend_size size = {0};
    struct jp_error err = {""};
    uint64_t step_bytes;
    char buf[32];

    if (!planner->size) {
        fprintf(out, "cost     not known for this profiler yet\n");
        return;
    }
    if (planner->size(&choice->input, &size, &err) < 0) {
        fprintf(out, "cost     %s\n", err.text);
        return;
    }
    if (size.rank_memory_bytes)
        fprintf(out, "memory   %s a rank\n",
                num_format_size(size.rank_memory_bytes, buf, sizeof(buf)));
    if (size.rank_disk_bytes)
        fprintf(out, "disk     %s a rank\n",
                num_format_size(size.rank_disk_bytes, buf, sizeof(buf)));
    if (size.rank_disk_bytes && ntasks &&
        !__builtin_mul_overflow(size.rank_disk_bytes, ntasks, &step_bytes))
        fprintf(out, "         %s the step's %u ranks\n",
                num_format_size(step_bytes, buf, sizeof(buf)), ntasks);
    if (*size.text)
        fprintf(out, "counted  %s\n", size.text);
}

static int print_plan(FILE *out, const struct resolve_input *in,
                      const struct jp_plan *plan, struct jp_error *err)
{
    struct resolve_place place = {0};
    struct resolve_choice choice = {0};
    struct jp_jobconf conf = {0};
    char *note = NULL;
    int rc = -1;

    if (resolve_place(&in->plan, plan, &place, err) < 0 ||
        resolve_conf(in, plan, &place, &conf, &note, err) < 0 ||
        resolve_choose(in, plan, place.step_dir, &choice, err) < 0)
        goto out;
    fprintf(out, "jobprof: plan (this step runs unprofiled)\n");
    resolve_print_settings(out, conf.settings, conf.n_settings);
    for (size_t i = 0; i < conf.n_env; i++)
        fprintf(out, "%s%s=%s\n", i ? "         " : "tasks    ",
                conf.env[i].name, conf.env[i].value);
    fprintf(out, "output   %s\n", place.step_dir);
    print_size(out, &choice, in->ntasks);
    if (note)
        fprintf(out, "note     %s\n", note);
    rc = 0;
out:
    free(note);
    jobconf_fini(&conf);
    resolve_choice_fini(&choice);
    resolve_place_fini(&place);
    return rc;
}

int resolve_print(FILE *out, const struct resolve_input *in,
                  struct jp_error *err)
{
    struct jp_plan plan;
    int rc;

    if (plan_make(&in->plan, &plan, err) < 0)
        return -1;
    rc = print_plan(out, in, &plan, err);
    plan_fini(&plan);
    return rc;
}
