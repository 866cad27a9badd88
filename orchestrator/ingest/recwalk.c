/* recwalk.c - open the recorder's files in order of path. */
#include "orchestrator/ingest/recwalk.h"

#include <stdio.h>
#include <string.h>

int recwalk_init(struct jp_recwalk *walk, const char *const *inputs, size_t n,
                 struct jp_error *err)
{
    *walk = (struct jp_recwalk){.inputs = inputs, .n_inputs = n};
    return logwalk_init(&walk->walk, inputs, n, err);
}

static void close_file(struct jp_recwalk *walk)
{
    if (walk->is_open)
        recfile_close(&walk->file);
    walk->is_open = false;
}

void recwalk_rewind(struct jp_recwalk *walk)
{
    close_file(walk);
    walk->next = 0;
    walk->files = walk->others = walk->troubles = 0;
}

void recwalk_fini(struct jp_recwalk *walk)
{
    close_file(walk);
    logwalk_fini(&walk->walk);
}

static void trouble(struct jp_recwalk *walk, const char *text)
{
    walk->troubles++;
    if (walk->say)
        walk->say(walk->arg, text);
}

/* The path without the input that it lies in. */
static const char *below(const struct jp_recwalk *walk, const char *path)
{
    for (size_t i = 0; i < walk->n_inputs; i++) {
        size_t n = strlen(walk->inputs[i]);

        if (!strncmp(path, walk->inputs[i], n) && path[n] == '/')
            return path + n + 1;
    }
    return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

struct jp_recfile *recwalk_open(struct jp_recwalk *walk)
{
    struct jp_error err;

    close_file(walk);
    walk->stopped = walk->look && walk->look(walk->look_arg) != 0;
    if (walk->stopped)
        return NULL;
    while (walk->next < walk->walk.n_logs) {
        const char *path = walk->walk.logs[walk->next++].path;
        int kind = recfile_probe(path, &err);

        if (kind == 0) {
            walk->others++;
        } else if (kind < 0 || recfile_open(&walk->file, path, &err) < 0) {
            trouble(walk, err.text);
        } else {
            walk->files++;
            walk->is_open = true;
            walk->path = path;
            walk->below = below(walk, path);
            return &walk->file;
        }
    }
    return NULL;
}

bool recwalk_record(struct jp_recwalk *walk, struct jpr_record *record)
{
    struct jp_error err;
    int rc;

    while ((rc = recfile_next(&walk->file, record, &err)) < 0)
        trouble(walk, err.text);
    if (rc == 0 && recfile_damage(&walk->file)) {
        error_set(&err, "%s: %s", walk->path, recfile_damage(&walk->file));
        trouble(walk, err.text);
    }
    return rc > 0;
}
