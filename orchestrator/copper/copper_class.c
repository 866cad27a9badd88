/* copper_class.c - which kind of path it is, by Copper's own rules. */
#include <string.h>

#include "orchestrator/copper/copper_build.h"

const char *const copper_class_names[JP_COPPER_N_CLASSES] = {
    "python_zip_probe",     "virtual_env_probe",
    "glibc_hwcaps_probe",   "missing_shared_library_probe",
    "negative_probe_path",  "torch_native_library",
    "torch_python_package", "python_site_packages",
    "python_stdlib",        "environment_bin",
    "shared_library",       "environment_prefix",
};

/* The first rule that fits decides. */
struct rule {
    const char *holds; /* NULL: anything */
    const char *ends;  /* NULL: anyhow */
    enum jp_copper_class class;
};

static const struct rule ttl_rules[] = {
    {"python", ".zip", JP_COPPER_PYTHON_ZIP_PROBE},
    {NULL, "/pyvenv.cfg", JP_COPPER_VIRTUAL_ENV_PROBE},
    {"glibc-hwcaps", NULL, JP_COPPER_GLIBC_HWCAPS_PROBE},
    {".so", NULL, JP_COPPER_MISSING_LIBRARY_PROBE},
    {NULL, NULL, JP_COPPER_NEGATIVE_PROBE},
};
static const struct rule other_rules[] = {
    {"/site-packages/torch/lib/", NULL, JP_COPPER_TORCH_LIBRARY},
    {"/site-packages/torch", NULL, JP_COPPER_TORCH_PACKAGE},
    {"/site-packages", NULL, JP_COPPER_SITE_PACKAGES},
    {"/lib/python", NULL, JP_COPPER_STDLIB},
    {"/bin/", NULL, JP_COPPER_BIN},
    {".so", NULL, JP_COPPER_SHARED_LIBRARY},
    {NULL, NULL, JP_COPPER_PREFIX},
};

static bool fits(const struct rule *rule, const char *path)
{
    size_t len = strlen(path), n = rule->ends ? strlen(rule->ends) : 0;

    return (!rule->holds || strstr(path, rule->holds)) &&
           (!rule->ends || (len >= n && !strcmp(path + len - n, rule->ends)));
}

enum jp_copper_class copper_class_of(enum copper_category category,
                                     const char *path)
{
    const struct rule *rule = category == COPPER_TTL ? ttl_rules : other_rules;

    while (!fits(rule, path))
        rule++;
    return rule->class;
}
