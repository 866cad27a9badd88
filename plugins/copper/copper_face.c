/* copper_face.c - choose between Copper's two runners. */
#include "plugins/copper/copper_face.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/copper/copper_attach.h"

struct face {
    const struct backend_runner *runner;
    void *state;
};

static const struct backend_runner *choose(const struct jp_jobconf *conf)
{
    const char *attach = jobconf_copper(conf, "attach");

    return attach && !strcmp(attach, "1") ? &copper_attach : &copper_runner;
}

static int prepare(const struct jp_jobconf *conf, const char *step_dir,
                   char *const *nodes, size_t n, struct jp_error *err)
{
    const struct backend_runner *runner = choose(conf);

    return runner->prepare ? runner->prepare(conf, step_dir, nodes, n, err) : 0;
}

static int gather(const char *step_dir, char *const *nodes, size_t n, bool late,
                  struct jp_error *err)
{
    return copper_runner.gather(step_dir, nodes, n, late, err);
}

static int start(const struct jp_jobconf *conf, const char *step_dir,
                 const char *node, void **state, struct jp_error *err)
{
    struct face *face = calloc(1, sizeof(*face));

    if (!face)
        return error_set(err, "out of memory");
    face->runner = choose(conf);
    if (face->runner->start(conf, step_dir, node, &face->state, err) == 0) {
        *state = face;
        return 0;
    }
    free(face);
    return -1;
}

static int ready(void *state, struct jp_error *err)
{
    const struct face *face = state;

    return face->runner->ready(face->state, err);
}

static const char *place(void *state)
{
    const struct face *face = state;

    return face->runner->place(face->state);
}

static int stop(void *state, bool force)
{
    const struct face *face = state;

    return face->runner->stop(face->state, force);
}

static int collect(void *state, struct jp_error *err)
{
    const struct face *face = state;

    return face->runner->collect(face->state, err);
}

static void bypass(const struct jp_jobconf *conf, const char *node)
{
    const struct backend_runner *runner = choose(conf);

    if (runner->bypass)
        runner->bypass(conf, node);
}

static bool sweep(const struct jp_jobconf *conf, const char *step_dir,
                  const char *node)
{
    const struct backend_runner *runner = choose(conf);

    return runner->sweep && runner->sweep(conf, step_dir, node);
}

static void destroy(void *state)
{
    struct face *face = state;

    if (face)
        face->runner->destroy(face->state);
    free(face);
}

const struct backend_runner copper_face = {
    .prepare = prepare,
    .gather = gather,
    .start = start,
    .ready = ready,
    .place = place,
    .stop = stop,
    .collect = collect,
    .bypass = bypass,
    .sweep = sweep,
    .destroy = destroy,
};
