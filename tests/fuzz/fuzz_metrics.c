/* fuzz_metrics.c - any bytes as the metrics of a user's step; what is made of
 * them is read again, and is the same. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/metrics/metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the text and writes it anew. */
static char *rewrite(const char *text, size_t len, struct metricstext *of,
                     size_t *made_len)
{
    const struct metrics_how how = {.format = METRICS_TEXT};
    char *copy = malloc(len + 1), *made = NULL;
    FILE *out = open_memstream(&made, made_len);
    struct metrics_set set;

    assert(copy && out);
    memcpy(copy, text, len);
    metrics_init(&set);
    assert(metricstext_read(copy, len, of, &set) == 0);
    assert(of->series <= of->max_series && set.n <= of->series);
    assert(!of->bad_lines == !*of->bad);
    assert(metrics_write(&set, &how, out, NULL, NULL) == 0);
    assert(fclose(out) == 0);
    metrics_fini(&set);
    free(copy);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct metricstext first = {.step = "0", .user = "alice", .max_series = 50};
    struct metricstext again = first;
    char *once, *twice;
    size_t n_once, n_twice;

    first.job = metricstext_job((const char *) data, size);
    again.job = first.job;
    once = rewrite((const char *) data, size, &first, &n_once);
    twice = rewrite(once, n_once, &again, &n_twice);
    /* our own text has nothing that we do not take */
    assert(again.bad_lines == 0);
    assert(n_once == n_twice && memcmp(once, twice, n_once) == 0);
    free(once);
    free(twice);
    return 0;
}
