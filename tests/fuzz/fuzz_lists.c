/* fuzz_lists.c - the readers of nccl-known-bad.conf and peaks.conf, and their
 * rows. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/knob.h"
#include "common/knownbad.h"
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

/* The source is there to its end: nothing was cut off. */
static void check_sentence(void *arg, const struct knownbad_row *row,
                           const char *sentence)
{
    size_t len = strlen(sentence), tail = strlen(row->source) + 1;

    (void) arg; /* the symptom may hold the same words */
    if (len <= tail || sentence[len - 1] != ')' ||
        strncmp(sentence + len - tail, row->source, tail - 1) != 0)
        abort();
}

static void use_knownbad(const struct jp_knownbad *list)
{
    static const char *const modes[] = {"example", "inspector", "recorder"};

    if (list->n > KNOWNBAD_MAX_ROWS || (list->n && !list->rows))
        abort();
    for (size_t i = 0; i < 3; i++) {
        knownbad_check(list, modes[i], "2.29.7", JP_NCCL_RELEASE(2, 29, 7),
                       check_sentence, NULL);
        knownbad_check(list, modes[i], "2.30",
                       JP_NCCL_RELEASE(2, 30, JP_NCCL_NO_PATCH), check_sentence,
                       NULL);
    }
}

/* What a row says can be used, whatever it is. */
static void use_peaks(const struct jp_peaks *peaks)
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

static void read_knownbad(const char *path)
{
    struct jp_knownbad list;
    struct jp_error err = {""};

    if (knownbad_load(path, true, check_report, NULL, &list, &err) == 0) {
        use_knownbad(&list);
        knownbad_fini(&list);
    } else if (!*err.text) {
        abort();
    }
}

static void read_peaks(const char *path)
{
    struct jp_peaks peaks;
    struct jp_error err = {""};

    if (peaks_load(path, check_report, NULL, &peaks, &err) == 0) {
        use_peaks(&peaks);
        peaks_fini(&peaks);
    } else if (!*err.text) {
        abort();
    }
}

/* The same bytes to both: they take paths only. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64];

    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t) size) {
        read_knownbad(path);
        read_peaks(path);
    }
    close(fd);
    return 0;
}
