/* null_planner.c - the template of a backend, and the tests' double.
 *
 * To add a profiler: copy this folder to plugins/<name>/, rename the file to
 * <name>_planner.c and the struct to backend_<name>, list the file in
 * plugins/Makefile.inc, and add the mode's word to common/grammar.c. No mode
 * is called "null", so that no user reaches this one.
 */
#include "plugins/backend.h"

/* Says no, with a reason that the user can act upon, when something that it
 * needs is not there. A named library stands for that here. */
static int null_usable(const struct backend_input *in, struct jp_error *err)
{
    if (in->library && !in->library_exists)
        return error_set(err, "%s is not there", in->library);
    return 0;
}

/* Memory and disk of one rank, how they were counted, and what will be
 * missing. -1 where it cannot fit: the sentence names what would. */
static int null_size(const struct backend_input *in,
                     struct backend_forecast *out, struct jp_error *err)
{
    *out = (struct backend_forecast){.counted = "nothing is recorded"};
    return 0;
}

/* Each variable once. The directory is the node's own: %N. */
static int null_env(const struct backend_input *in, struct backend_env *out,
                    struct jp_error *err)
{
    return backend_env_add(out, err, "JOBPROF_NULL", "%s/raw/%%N",
                           in->step_dir);
}

static const struct backend_planner null_planner = {
    .usable = null_usable,
    .size = null_size,
    .env = null_env,
    .fallback = NULL, /* no other backend takes over */
};

extern const struct backend backend_null;
const struct backend backend_null = {
    .abi = BACKEND_ABI,
    .name = "null",
    .help = "sets one variable that nobody reads",
    .planner = &null_planner,
    .reader = NULL, /* leaves no files */
    .runner = NULL, /* runs nothing beside the tasks */
};
