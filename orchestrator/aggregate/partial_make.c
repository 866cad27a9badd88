/* partial_make.c - one node's logs, joined and written. */
#include "orchestrator/aggregate/partial.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/defaults.h"
#include "common/fileio.h"
#include "orchestrator/aggregate/aggregate.h"

#define DEFAULT_MEMORY (UINT64_C(256) << 20)

/* Bytes a millisecond that one core reads, or less; a compressed log is 25
 * times as much. */
enum {
    PLAIN_PER_MS = 500000,
    PACKED_PER_MS = 15000,
    RECORDING_PER_MS = 10000,
    TRACE_PER_MS = 100000,
    PACKED_TRACE_PER_MS = 4000
};

static uint64_t speed_of(const struct jp_logfile *log)
{
    const char *path = log->path;
    size_t len = strlen(path);
    bool packed = len > 3 && !strcmp(path + len - 3, ".gz");

    if (len > 4 && !strcmp(path + len - 4, ".jpr"))
        return RECORDING_PER_MS;
    if (log->maybe)
        return packed ? PACKED_TRACE_PER_MS : TRACE_PER_MS;
    return packed ? PACKED_PER_MS : PLAIN_PER_MS;
}

uint64_t partial_estimate_ms(const char *raw)
{
    struct jp_logwalk walk;
    uint64_t ms = 0;

    if (logwalk_init(&walk, &raw, 1, NULL) < 0)
        return 0;
    if (walk.n_logs) {
        for (size_t i = 0; i < walk.n_logs; i++)
            ms += walk.logs[i].size / speed_of(&walk.logs[i]);
        ms++;
    }
    logwalk_fini(&walk);
    return ms;
}

/* What a partial cannot say is read from the logs. */
static int check_join(const struct join *join, struct jp_error *err)
{
    if (join->left_out || atomic_load(&join->budget->journal_off) ||
        atomic_load(&join->budget->kernels_off))
        return error_set(err, "its operations do not fit the memory bound");
    return 0;
}

static int write_file(const char *path, struct join *join,
                      const struct jp_logwalk *walk, size_t skip,
                      const struct source_facts *files, struct jp_error *err)
{
    struct jp_tempfile file;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    if (partial_write(file.stream, join, walk, skip, files, err) == 0)
        return fileio_temp_commit_synced(&file, JP_DEF_SYNC_MS, err);
    fileio_temp_abort(&file);
    return -1;
}

int partial_make(const char *raw, const char *path,
                 const struct jp_aggregate_options *options,
                 struct jp_error *err)
{
    struct jp_aggregate_options one = *options;
    struct join_budget budget = {0};
    struct source_facts *files = NULL;
    struct join *join = NULL;
    struct jp_logwalk walk;
    int rc = -1;

    one.threads = 1; /* in order of path: nothing is left open */
    one.evidence = true;
    budget.limit = one.memory_bytes ? one.memory_bytes : DEFAULT_MEMORY;
    budget.journal_limit = budget.limit / 4;
    budget.keep = true;
    if (logwalk_init(&walk, &raw, 1, err) < 0)
        return -1;
    if (!walk.n_logs) {
        logwalk_fini(&walk);
        return 1;
    }
    files = calloc(walk.n_logs, sizeof(*files));
    if (!files) {
        error_set(err, "out of memory");
        goto out;
    }
    join = joinrun(&walk, &one, &budget, NULL, files, err);
    if (join && check_join(join, err) == 0)
        rc = write_file(path, join, &walk, strlen(raw) + 1, files, err);
out:
    join_destroy(join);
    joinrun_free_files(files, walk.n_logs);
    logwalk_fini(&walk);
    return rc;
}
