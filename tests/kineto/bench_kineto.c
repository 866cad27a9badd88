/* bench_kineto.c - how fast traces of PyTorch's profiler are read, compared
 * with a bare pass of the JSON scanner over the same bytes.
 *
 * bench_kineto FILE: medians of five alternating rounds, in processor time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/fileio.h"
#include "common/jsonload.h"
#include "common/logsource.h"
#include "common/sorted.h"
#include "plugins/backend.h"

enum { ROUNDS = 5, MAX_BYTES = 1 << 30 };

static double cpu_s(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static int ignore(void *arg, const struct record *records, size_t n)
{
    (void) records;
    *(size_t *) arg += n;
    return 0;
}

/* Reads the bytes by the reader; the seconds that took. */
static double read_once(const char *path, const char *bytes, size_t len,
                        size_t *records)
{
    static const atomic_bool never;
    const struct backend *kineto = backend_find("kineto");
    struct reader_states *states = reader_states_create();
    const struct reader_sink sink = {.take = ignore, .arg = records};
    const struct reader_input in = {.path = path,
                                    .data = bytes,
                                    .len = len,
                                    .to = UINT64_MAX,
                                    .stop = &never};
    struct source_facts facts = {0};
    double start = cpu_s();

    *records = 0;
    if (!kineto || !states ||
        reader_read(states, kineto, &in, &sink, &facts) < 0)
        exit(1);
    start = cpu_s() - start;
    reader_states_destroy(states);
    traced_list_fini(&facts.traced);
    reader_facts_fini(&facts);
    return start;
}

/* The bytes of a file, unpacked. */
static char *unpack(const char *path, size_t *len)
{
    struct jp_logsource *source = logsource_open(path, NULL);
    size_t room = 1 << 20;
    char *bytes = malloc(room);
    ssize_t n;

    if (!source || !bytes)
        exit(1);
    *len = 0;
    while ((n = logsource_read(source, bytes + *len, room - *len, NULL)) > 0) {
        *len += (size_t) n;
        if (*len == room && (room *= 2) > MAX_BYTES)
            exit(1);
        bytes = realloc(bytes, room);
        if (!bytes)
            exit(1);
    }
    logsource_close(source);
    return bytes;
}

int main(int argc, char **argv)
{
    double us[ROUNDS], them[ROUNDS], mb;
    size_t len, records = 0, cost;
    char *bytes;

    if (argc != 2)
        return 2;
    bytes = unpack(argv[1], &len);
    for (int i = 0; i < ROUNDS; i++) {
        double start = cpu_s();

        if (jsonscan_cost(bytes, len, SIZE_MAX / 4, &cost, NULL) < 0)
            return 1;
        them[i] = cpu_s() - start;
        us[i] = read_once(argv[1], bytes, len, &records);
    }
    qsort(us, ROUNDS, sizeof(*us), sorted_ascending);
    qsort(them, ROUNDS, sizeof(*them), sorted_ascending);
    mb = (double) len / 1e6;
    printf("kineto: %.0f MB, %zu records: %.0f MB/s a core; a bare pass of the "
           "JSON scanner %.0f MB/s; ratio %.2f\n",
           mb, records, mb / us[ROUNDS / 2], mb / them[ROUNDS / 2],
           us[ROUNDS / 2] / them[ROUNDS / 2]);
    free(bytes);
    /* the limit of the project's own */
    return mb / us[ROUNDS / 2] < 200;
}
