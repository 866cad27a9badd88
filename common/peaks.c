/* peaks.c - find what is expected of a link. */
#include "common/peaks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void peaks_fini(struct jp_peaks *peaks)
{
    if (!peaks)
        return;
    free(peaks->rows);
    *peaks = (struct jp_peaks){0};
}

/* strcasestr, which POSIX does not have */
static bool has_part(const char *text, const char *part)
{
    size_t len = strlen(part);

    for (; *text; text++)
        if (!strncasecmp(text, part, len))
            return true;
    return false;
}

static bool holds(const struct peaks_row *row, const struct peaks_leg *leg)
{
    return !strcmp(row->link, leg->link) &&
           (!*row->gpu || has_part(leg->gpu, row->gpu)) &&
           (!*row->function || !strcmp(row->function, leg->function)) &&
           (!row->max_ranks || leg->n_ranks <= row->max_ranks);
}

const struct peaks_row *peaks_find(const struct jp_peaks *peaks,
                                   const struct peaks_leg *leg)
{
    for (size_t i = 0; i < peaks->n; i++)
        if (holds(&peaks->rows[i], leg))
            return &peaks->rows[i];
    return NULL;
}

double peaks_bound(const struct peaks_row *row, const struct peaks_leg *leg)
{
    uint32_t links = leg->ranks_per_node;

    if (row->per_node && row->per_node < links)
        links = row->per_node;
    return row->peak_gbs * links;
}

double peaks_share(const struct peaks_row *row, uint64_t bytes)
{
    double share = 0;

    for (size_t i = 0; i < row->n_sizes && row->sizes[i].from_bytes <= bytes;
         i++)
        share = row->sizes[i].share;
    return share;
}
