/* slurmconf.c - ask the controller for its configuration. */
#include "config.h"

#include "orchestrator/collect/slurmconf.h"

#include <string.h>

#ifdef HAVE_SLURM
#include <slurm/slurm.h>

#include "orchestrator/collect/slurmask.h"

/* A text that does not fit stays unknown. */
static void copy(const char *text, char *buf, size_t len)
{
    if (text && strlen(text) < len)
        memcpy(buf, text, strlen(text) + 1);
}

static bool answer(const void *arg, void *to)
{
    struct slurmconf *out = to;
    slurm_conf_t *conf = NULL;

    (void) arg;
    if (slurm_load_ctl_conf(0, &conf) != 0)
        return false;
    copy(conf->version, out->version, sizeof(out->version));
    copy(conf->slurm_conf, out->path, sizeof(out->path));
    copy(conf->plugstack, out->plugstack, sizeof(out->plugstack));
    copy(conf->plugindir, out->plugin_dirs, sizeof(out->plugin_dirs));
    return true;
}

bool slurmconf_get(unsigned wait_ms, struct slurmconf *out)
{
    memset(out, 0, sizeof(*out));
    return slurmask(answer, NULL, wait_ms, out, sizeof(*out));
}
#else
bool slurmconf_get(unsigned wait_ms, struct slurmconf *out)
{
    (void) wait_ms;
    memset(out, 0, sizeof(*out));
    return false;
}
#endif
