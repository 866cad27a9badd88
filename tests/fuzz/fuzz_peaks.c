/* fuzz_peaks.c - the reader of peaks.conf, and its rows. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/peaks.h"
#include "tests/common/foreign_leaks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A reported sentence says where and what. */
static void check_report(void *arg, const char *sentence)
{
    (void) arg;
    if (!*sentence || strchr(sentence, '\n'))
        abort();
}

/* What a row says can be used, whatever it is. */
static void use(const struct jp_peaks *peaks)
{
    if (peaks->n > PEAKS_MAX_ROWS || (peaks->n && !peaks->rows))
        abort();
    for (size_t i = 0; i < peaks->n; i++) {
        const struct peaks_row *row = &peaks->rows[i];
        const struct peaks_leg leg = {
            row->link, row->gpu, *row->function ? row->function : "Send", 1, 8};
        double bound = peaks_bound(row, &leg), before = 0;

        if (!peaks_find(peaks, &leg) || !(bound > 0) || !isfinite(bound) ||
            !row->n_sizes || row->n_sizes > PEAKS_MAX_SIZES)
            abort();
        for (size_t k = 0; k < row->n_sizes; k++) {
            double from = (double) row->sizes[k].from_bytes;
            double share = peaks_share(row, row->sizes[k].from_bytes);

            if ((k && from < before) || !(share > 0) || share > 1)
                abort();
            before = from;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct jp_error err = {""};
    struct jp_peaks peaks;
    char path[64];

    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t) size) {
        if (peaks_load(path, check_report, NULL, &peaks, &err) == 0) {
            use(&peaks);
            peaks_fini(&peaks);
        } else if (!*err.text) {
            abort();
        }
    }
    close(fd);
    return 0;
}
