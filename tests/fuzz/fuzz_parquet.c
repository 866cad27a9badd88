/* fuzz_parquet.c - any bytes as a report's table: what becomes Parquet reads
 * back as the same cells, by a reader of our own (tests/parquet/read_back.h).
 *
 * The lowest bit of the first byte chooses the compression, the next two bits
 * the table, whose csv/NAME.csv follows.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/parquet/parquet_feature.h"
#include "tests/parquet/read_back.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/jobprof-fuzz.XXXXXX";
static char path[64];

static void leave(void)
{
    if (*path)
        unlink(path);
    rmdir(dir);
}

/* The file that such inputs are written to, in a folder of our own: a table is
 * known by its name. */
static void make_path(unsigned table)
{
    static const char *const names[] = {"cells", "ops", "comms", "ranks"};
    static bool made;

    if (!made) {
        assert(mkdtemp(dir));
        made = true;
        assert(atexit(leave) == 0);
    }
    if (*path)
        unlink(path);
    snprintf(path, sizeof(path), "%s/%s.csv", dir, names[table & 3]);
}

static void write_input(const uint8_t *data, size_t size)
{
    FILE *out = fopen(path, "w");

    assert(out);
    assert(fwrite(data, 1, size, out) == size);
    assert(fclose(out) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum parquet_codec codecs[] = {PARQUET_NONE, PARQUET_GZIP};
    struct parquet_done done = {0};
    struct jp_error err = {""};
    char *bytes = NULL;
    size_t n = 0;
    FILE *out;
    int rc;

    if (!size)
        return 0;
    make_path(data[0] >> 1);
    write_input(data + 1, size - 1);
    out = open_memstream(&bytes, &n);
    assert(out);
    rc = parquet_report_csv(path, out, codecs[data[0] & 1], &done, &err);
    assert(fclose(out) == 0);
    assert(rc == 0 || err.text[0]);
    if (rc == 0)
        read_back_equal((const uint8_t *) bytes, n, (const char *) data + 1,
                        size - 1, done.rows);
    free(bytes);
    return 0;
}
