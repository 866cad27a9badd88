/* countsfile.c - read the recorder's counters from JSON. */
#include "orchestrator/ingest/countsfile.h"

#include <jansson.h>
#include <stdlib.h>

#include "common/fileio.h"

/* A million years of a record a microsecond would be more. */
#define MAX_COUNT (INT64_C(1) << 53)

static int add_count(const json_t *value, uint64_t *sum)
{
    json_int_t v = json_integer_value(value);

    if (!json_is_integer(value) || v < 0 || v > MAX_COUNT ||
        __builtin_add_overflow(*sum, (uint64_t) v, sum))
        return -1;
    return 0;
}

static int add_comm(const json_t *comm, struct jp_counts *counts)
{
    const json_t *produced = json_object_get(comm, "produced");
    const char *func;
    json_t *value;

    if (!json_is_object(produced))
        return -1;
    json_object_foreach((json_t *) (uintptr_t) produced, func,
                        value) if (add_count(value, &counts->produced) <
                                   0) return -1;
    if (!json_is_true(json_object_get(comm, "finalized")))
        counts->finalized = false;
    return 0;
}

int countsfile_parse(const char *text, size_t len, const char *name,
                     struct jp_counts *out, struct jp_error *err)
{
    struct jp_counts counts = {.finalized = true};
    json_error_t at;
    json_t *root = json_loadb(text, len, 0, &at);
    json_t *comms = json_object_get(root, "comms"), *comm;
    size_t i;
    int rc = -1;

    if (!root) {
        error_set(err, "%s:%d: %s", name, at.line, at.text);
        goto out;
    }
    if (!json_is_array(comms) ||
        add_count(json_object_get(root, "records_lost"), &counts.lost) < 0) {
        error_set(err, "%s: no \"comms\" or \"records_lost\"", name);
        goto out;
    }
    json_array_foreach(comms, i, comm) if (add_comm(comm, &counts) < 0)
    {
        error_set(err, "%s: bad \"produced\" of communicator %zu", name, i);
        goto out;
    }
    *out = counts;
    rc = 0;
out:
    json_decref(root);
    return rc;
}

int countsfile_read(const char *path, struct jp_counts *out,
                    struct jp_error *err)
{
    char *text = NULL;
    size_t len;
    int rc;

    if (fileio_read(path, false, COUNTSFILE_MAX_BYTES, &text, &len, err) < 0)
        return -1;
    rc = countsfile_parse(text, len, path, out, err);
    free(text);
    return rc;
}
