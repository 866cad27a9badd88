/* fuzz_util.c - any bytes as samples, and as the kernel's texts. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/ownproc.h"
#include "common/procfs.h"
#include "plugins/util/util_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *arg, const struct util_row *row, struct jp_error *err)
{
    uint64_t *rows = arg;

    (void) err;
    ++*rows;
    assert(row->samples > 0 && memchr(row->id, '\0', sizeof(row->id)));
    for (size_t i = 0; i < UTIL_COLUMNS_MAX; i++)
        assert(isnan(row->v[i]) || (row->v[i] >= 0 && row->v[i] <= 1e300));
    return 0;
}

static bool any(void *arg, const char *device)
{
    (void) arg;
    return strlen(device) < 64;
}

static void read_kernel(const char *text, size_t len)
{
    struct procfs_pressure pressure;
    struct procfs_process process;
    struct procfs_traffic traffic;
    struct procfs_memory memory;
    struct procfs_cpu cpu;
    const char *value;
    char path[128];

    procfs_read_stat(text, &cpu);
    procfs_read_meminfo(text, &memory);
    procfs_read_pressure(text, &pressure);
    procfs_read_netdev(text, any, NULL, &traffic);
    procfs_read_diskstats(text, any, NULL, &traffic);
    procfs_read_iostat(text, &traffic);
    if (procfs_read_process(text, &process))
        assert(process.start != PROCFS_NONE &&
               ownproc_start(text) == process.start);
    else
        (void) ownproc_start(text);
    (void) ownproc_state(text);
    value = ownproc_variable(text, len, "A");
    assert(!value || memchr(value, '\0', len - (size_t) (value - text)));
    if (procfs_cgroup_step(text, "", path, sizeof(path)) ||
        procfs_cgroup_step(text, "memory", path, sizeof(path)))
        assert(*path && strlen(path) < sizeof(path) && strstr(path, "/step_"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    for (int kind = 0; kind < UTIL_KINDS; kind++) {
        struct jp_error err = {""};
        struct util_head head;
        struct util_read read;
        uint64_t rows = 0;

        if (util_rows_parse(data, size, (enum util_kind) kind, &head, take,
                            &rows, &read, &err) < 0)
            assert(err.text[0]);
        else
            assert(rows == read.rows);
    }
    if (text) {
        memcpy(text, data, size);
        text[size] = '\0';
        read_kernel(text, size);
    }
    free(text);
    return 0;
}
