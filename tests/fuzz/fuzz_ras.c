/* fuzz_ras.c - any bytes as an answer of NCCL's RAS. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/evidence/evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t pids[] = {1, 100};
    struct ras_answer a = {.text = malloc(size + 1), .len = size};
    struct jp_error err = {""};

    assert(a.text);
    if (size)
        memcpy(a.text, data, size);
    a.text[size] = '\0';
    /* as the connection hands it over */
    for (size_t i = 0; i < size; i++)
        if (!a.text[i])
            a.text[i] = ' ';
    if (ras_parse(&a, pids, 2, &err) < 0)
        assert(err.text[0]);
    assert(a.n_rows <= RAS_ROWS_MAX);
    for (size_t i = 0; i < a.n_rows; i++) {
        assert(a.rows[i].kind < RAS_N_KINDS);
        assert(a.rows[i].kind != RAS_BEHIND ||
               a.rows[i].count < a.rows[i].most);
        assert(memchr(a.rows[i].host, 0, sizeof(a.rows[i].host)));
        assert(memchr(a.rows[i].word, 0, sizeof(a.rows[i].word)));
    }
    ras_fini(&a);
    return 0;
}
