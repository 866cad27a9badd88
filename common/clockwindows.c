/* clockwindows.c - what was measured of the nodes' clocks. */
#include "common/clockwindows.h"

#include <stdlib.h>
#include <string.h>

void clock_file_fini(struct clock_file *file)
{
    free(file->windows);
    free(file->walls);
    memset(file, 0, sizeof(*file));
}

bool clock_file_wall(const struct clock_file *file, int64_t mono_ns,
                     int64_t *real_less_mono_ns)
{
    size_t low = 0, high = file->n_walls;

    if (!high)
        return false;
    /* binary search for the last entry that is not later; before the first
     * entry, the first one counts */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (file->walls[middle].mono_ns <= mono_ns)
            low = middle;
        else
            high = middle;
    }
    *real_less_mono_ns = file->walls[low].real_less_mono_ns;
    return true;
}

void clockprobes_fini(struct clockprobes *probes)
{
    for (size_t i = 0; i < probes->n_files; i++)
        clock_file_fini(&probes->files[i]);
    free(probes->files);
    free(probes->edges);
    memset(probes, 0, sizeof(*probes));
}
