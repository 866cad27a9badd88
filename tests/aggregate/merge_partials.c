/* merge_partials.c - how fast partials are unpacked and merged, for bench.
 *
 * merge_partials NODES: reads NODES/<node>/partial.jpp of all nodes with one
 * thread into one join; prints rows (operations of a node), bytes and CPU
 * seconds.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "common/fileio.h"
#include "orchestrator/aggregate/partial.h"

struct sums {
    uint64_t rows, bytes;
    double load, merge;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static uint64_t count_rows(const struct join *join)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < join->n_comms; i++)
        for (uint32_t k = 0; k < join->comms[i]->n_series; k++) {
            const struct blockmap *map = &join->comms[i]->series[k]->blocks;

            for (size_t b = 0; b < blockmap_slots(map); b++) {
                const struct join_block *block = (void *) map->slots[b];

                for (unsigned r = 0; block && r < block->room; r++)
                    n += block->rows[r].n != 0;
            }
        }
    return n;
}

static int take(const char *path, struct join *into, struct sums *sums)
{
    struct jp_error err = {""};
    double start = now(), loaded;
    struct partial *partial = partial_open(path, &err);
    struct join *join = NULL;
    struct stat st;
    int rc = -1;

    if (partial)
        join = partial_load(partial, into->budget, &err);
    loaded = now();
    if (join && stat(path, &st) == 0) {
        sums->load += loaded - start;
        sums->rows += count_rows(join);
        sums->bytes += (uint64_t) st.st_size;
        start = now();
        rc = join_merge(into, join) == JOIN_OK ? 0 : -1;
        join_destroy(join);
        sums->merge += now() - start;
    } else {
        fprintf(stderr, "%s\n", err.text);
    }
    partial_close(partial);
    return rc;
}

int main(int argc, char **argv)
{
    struct join_budget budget = {.limit = UINT64_MAX / 2,
                                 .journal_limit = UINT64_MAX / 2};
    struct join *into = join_create(&budget, false);
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    struct sums sums = {0};
    struct rusage usage;
    struct dirent *entry;
    int rc = 0;

    if (!folder || !into)
        return 2;
    while (rc == 0 && (entry = readdir(folder))) {
        char *path = text_format("%s/%s/partial.jpp", argv[1], entry->d_name);

        if (path && entry->d_name[0] != '.')
            rc = take(path, into, &sums);
        free(path);
    }
    closedir(folder);
    join_destroy(into);
    join_phases_fini(&budget);
    getrusage(RUSAGE_SELF, &usage);
    printf("%" PRIu64 " rows, %" PRIu64 " bytes (%.1f a row), %.3f s to load "
           "and %.3f s to merge: %.1f million rows/s; peak %ld KB\n",
           sums.rows, sums.bytes, (double) sums.bytes / (double) sums.rows,
           sums.load, sums.merge,
           (double) sums.rows / (sums.load + sums.merge) / 1e6,
           usage.ru_maxrss);
    return rc ? 5 : 0;
}
