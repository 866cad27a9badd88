/* jobconf_private.c - keep a user's paths out of what a report tells. */
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/jobconf.h"

#define CUT "..."

/* "/home/alice/run/train" becomes ".../train", a path in a step directory
 * ".../step-0/raw/%N"; anything but an absolute path stays. */
static int cut_path(char **text, const char *step)
{
    const char *from;
    char *cut;

    if (!*text || **text != '/')
        return 0;
    from = step ? strstr(*text, step) : NULL;
    cut = fileio_path(CUT "%s", from ? from : strrchr(*text, '/'));
    if (!cut)
        return -1;
    free(*text);
    *text = cut;
    return 0;
}

/* What the site has set, or nobody, is no secret of the user's. */
static int cut_settings(struct jp_setting *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(list[i].source, "site file") ||
            !strcmp(list[i].source, "default"))
            continue;
        if (cut_path(&list[i].value, NULL) < 0 ||
            cut_path(&list[i].where, NULL) < 0)
            return -1;
    }
    return 0;
}

int jobconf_hide_paths(struct jp_jobconf *conf)
{
    char *step = fileio_path("/step-%s", conf->step_id);
    int rc = step ? 0 : -1;

    for (size_t i = 0; i < conf->n_env && rc == 0; i++)
        if (strcmp(conf->env[i].name, "NCCL_PROFILER_PLUGIN"))
            rc = cut_path(&conf->env[i].value, step);
    free(step);
    if (rc < 0 || cut_path(&conf->command, NULL) < 0 ||
        cut_settings(conf->settings, conf->n_settings) < 0 ||
        cut_settings(conf->copper_settings, conf->n_copper_settings) < 0)
        return -1;
    if (conf->submit_dir)
        conf->submit_dir[0] = '\0';
    return 0;
}
