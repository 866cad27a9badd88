/* cmd_expect.c - read the files that say what the network should do. */
#include "orchestrator/cmd/cmd_expect.h"

#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/sitefile.h"
#include "orchestrator/report/baseline_file.h"

/* The site's value for a key, copied; NULL: none. */
static char *named(const struct jp_sitefile *site, const char *key)
{
    const struct sitefile_value *value = sitefile_find(site, key);

    return value ? strdup(value->value) : NULL;
}

/* A row with a mistake; the first one is remembered. */
static void note_trouble(void *arg, const char *sentence)
{
    struct cmd_expect *x = arg;

    if (!*x->trouble.text)
        error_set(&x->trouble, "%s", sentence);
}

static void load_peaks(struct cmd_expect *x, const struct jp_sitefile *site)
{
    x->peaks_path = named(site, "peaks_file");
    if (!x->peaks_path ||
        peaks_load(x->peaks_path, note_trouble, x, &x->peaks, NULL) < 0)
        return;
    x->is.peaks = &x->peaks;
    x->is.peaks_path = x->peaks_path;
}

static int load_baseline(struct cmd_expect *x, const struct jp_sitefile *site,
                         const char *given, struct jp_error *err)
{
    struct jp_error why = {"out of memory"};

    x->baseline_path = given ? strdup(given) : named(site, "baseline_file");
    if (!x->baseline_path && !given)
        return 0;
    if (!x->baseline_path ||
        baseline_file_read(x->baseline_path, !given, &x->baseline, &why) < 0) {
        if (given)
            return error_set(err, "%s", why.text);
        note_trouble(x, why.text);
        return 0;
    }
    x->is.baseline = &x->baseline;
    x->is.baseline_path = x->baseline_path;
    return 0;
}

int cmd_expect_load(const char *config, const char *baseline,
                    struct cmd_expect *x, struct jp_error *err)
{
    struct jp_sitefile site = {0};
    struct jp_error why;
    int rc;

    *x = (struct cmd_expect){.trouble = {""}};
    if (sitefile_load(config ? config : JP_DEF_SITE_FILE, SITEFILE_SITE,
                      config != NULL, NULL, NULL, &site, &why) < 0)
        note_trouble(x, why.text);
    load_peaks(x, &site);
    rc = load_baseline(x, &site, baseline, err);
    sitefile_fini(&site);
    return rc;
}

void cmd_expect_fini(struct cmd_expect *x)
{
    peaks_fini(&x->peaks);
    baseline_fini(&x->baseline);
    free(x->peaks_path);
    free(x->baseline_path);
    *x = (struct cmd_expect){.trouble = {""}};
}
