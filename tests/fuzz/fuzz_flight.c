/* fuzz_flight.c - any bytes as dumps of PyTorch's Flight Recorder: one dump,
 * and the same bytes as those of two ranks, judged. The same bytes as the
 * beginning of a file of any kind. */
#include <assert.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/flight/flight.h"
#include "orchestrator/ingest/filekinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jp_flight *flight = calloc(1, sizeof(*flight));
    /* without room behind, so that a sanitizer sees the end */
    char *bytes = malloc(size ? size : 1), text[FLIGHT_TEXT], name[FLIGHT_NAME];
    struct filekind_look look = {.name = "a.log", .folder = ""};

    assert(flight && bytes);
    if (size)
        memcpy(bytes, data, size);
    look.head = bytes;
    look.len = size;
    assert(filekinds_of(&look) < FILEKIND_N);
    look.name = "a.json";
    look.given = true;
    assert(filekinds_of(&look) < FILEKIND_N);
    flight->dumps = calloc(2, sizeof(*flight->dumps));
    assert(flight->dumps);
    for (size_t i = 0; i < 2; i++) {
        struct flight_dump *d = &flight->dumps[i];

        d->path = strdup(i ? "trace_1" : "trace_0");
        d->rank = (int64_t) i;
        flight->n_dumps++;
        if (flight_dump_read(flight, d, bytes, size, NULL) == 1)
            assert(d->bad && *d->why);
        else
            assert(d->rank >= 0 && d->rank < FLIGHT_RANKS_MAX);
        flight->n_bad += d->bad;
    }
    /* one rank twice is what flight_load sorts out */
    if (!flight->dumps[0].bad && !flight->dumps[1].bad &&
        flight->dumps[0].rank == flight->dumps[1].rank) {
        flight->dumps[1].bad = true;
        flight->n_bad++;
    }
    assert(flight_judge(flight, 10000000) == 0);
    for (size_t i = 0; i < flight->n_seen; i++) {
        const struct flight_seen *seen = &flight->seen[i];
        uint64_t sum = 0;

        for (int s = 0; s < FLIGHT_N_STATES; s++) {
            sum += seen->count[s];
            flight_ranks(seen, (enum flight_state) s, text, sizeof(text));
        }
        assert(sum == seen->n && seen->count[FLIGHT_INSIDE]);
        assert(strlen(flight_name(flight, seen, name)) < FLIGHT_NAME);
    }
    for (size_t i = 0; i < flight->n_culprits; i++)
        assert(flight->culprits[i].seen < flight->n_seen ||
               flight->culprits[i].message);
    assert(strlen(flight_text(flight, text)) < FLIGHT_TEXT);
    assert(strlen(flight_plain(flight, text)) < FLIGHT_TEXT);
    assert(strlen(flight_gaps(flight, text)) < FLIGHT_TEXT);
    flight_destroy(flight);
    free(bytes);
    return 0;
}
