/* fuzz_distprof.c - the JSON file of XLA's distributed profiling. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An accepted value is its knob's; no file names another one. */
static void check(const struct jp_request *request)
{
    const struct jp_grammar *grammar = request->grammar;

    for (size_t i = 0; i < grammar->n_knobs; i++)
        if (request->values[i] &&
            (!grammar->knobs[i].variable ||
             grammar->knobs[i].kind == JP_KNOB_FILE ||
             knob_check(&grammar->knobs[i], request->values[i], NULL) < 0))
            abort();
}

/* A refusal is one line without control characters, with a place. */
static void check_refusal(const struct jp_error *err, const char *path)
{
    size_t len = strlen(err->text);

    if (len >= sizeof(err->text) || strncmp(err->text, path, strlen(path)) != 0)
        abort();
    for (size_t i = 0; i < len; i++)
        if ((unsigned char) err->text[i] < 0x20 || err->text[i] == 0x7f)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/fuzz_distprof.XXXXXX";
    int fd = mkstemp(path);
    struct jp_request request;
    struct jp_error err = {""};

    if (fd < 0)
        return 0;
    if (write(fd, data, size) == (ssize_t) size) {
        if (request_read(grammar_of(OPTION_CLOCK), path, NULL, &request,
                         &err) == 0) {
            check(&request);
            request_fini(&request);
        } else {
            check_refusal(&err, path);
        }
    }
    close(fd);
    unlink(path);
    return 0;
}
