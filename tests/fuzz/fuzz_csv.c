/* fuzz_csv.c - any bytes as a report's table. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "orchestrator/show/csvtable.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const columns[] = {"comm", "rank"};
    struct jp_error err = {""};
    struct jp_csvtable table;
    const char *v[2];
    int rc;

    if (csvtable_open_bytes(&table, data, size, columns, 2, &err) < 0) {
        assert(err.text[0]);
        return 0;
    }
    while ((rc = csvtable_next(&table, v, &err)) > 0)
        for (int i = 0; i < 2; i++)
            for (const char *c = v[i]; *c; c++)
                assert((unsigned char) *c >= 0x20 && *c != 0x7f);
    assert(rc == 0 || err.text[0]);
    csvtable_close(&table);
    return 0;
}
