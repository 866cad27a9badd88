/* fuzz_knownbad.c - the reader of nccl-known-bad.conf, and its rows. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/knob.h"
#include "common/knownbad.h"
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

static void use(const struct jp_knownbad *list)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct jp_knownbad list;
    struct jp_error err = {""};
    char path[64];

    if (fd < 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t) size) {
        if (knownbad_load(path, true, check_report, NULL, &list, &err) == 0) {
            use(&list);
            knownbad_fini(&list);
        } else if (!*err.text) {
            abort();
        }
    }
    close(fd);
    return 0;
}
