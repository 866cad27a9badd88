/* fuzz_cuda.c - any bytes as a file of CUDA's calls; and with check sums that
 * hold, so that what is behind them is reached. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/cuda/cuda_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_one(const void *data, size_t size)
{
    for (size_t max = 2; max < 40; max = 3 * max + 1) {
        struct cuda_process p;
        struct jp_error err;

        if (cuda_parse(data, size, max, &p, &err) < 0)
            continue;
        assert(p.n_moments <= max && memchr(p.host, '\0', sizeof(p.host)) &&
               memchr(p.note, '\0', sizeof(p.note)) && p.rank >= -1);
        for (size_t i = 1; i < p.n_moments; i++) {
            assert(p.moments[i].since_ns >= p.moments[i - 1].since_ns);
            for (size_t k = 0; k < CUDA_COUNTERS_N; k++)
                assert(p.moments[i].sum[k] >= p.moments[i - 1].sum[k]);
        }
        cuda_process_fini(&p);
    }
}

static void seal(uint8_t *data, size_t size)
{
    struct cuda_file_head head;
    struct cuda_file_record r;
    size_t at = sizeof(head);

    if (size < sizeof(head))
        return;
    memcpy(&head, data, sizeof(head));
    head.check = cuda_file_check(&head, offsetof(struct cuda_file_head, check));
    memcpy(data, &head, sizeof(head));
    for (; size - at >= sizeof(r); at += sizeof(r)) {
        memcpy(&r, data + at, sizeof(r));
        r.check = cuda_file_check(&r, offsetof(struct cuda_file_record, check));
        memcpy(data + at, &r, sizeof(r));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);

    read_one(data, size);
    if (copy && size)
        memcpy(copy, data, size);
    if (copy) {
        seal(copy, size);
        read_one(copy, size);
    }
    free(copy);
    return 0;
}
