/* fuzz_option.c - the option grammars and directory patterns.
 *
 * The first byte chooses the grammar, the rest is the option's value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/grammar.h"
#include "common/pattern.h"
#include "common/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What an accepted pattern expands to has no ".." and no control character. */
static void expand(const char *pattern)
{
    struct pattern_facts facts = {12, "0", "../al/ice\n", "..", 12, 3};
    char *path = pattern_expand(pattern, &facts, NULL);

    if (!path)
        abort(); /* pattern_check has accepted it */
    if (strstr(path, "/../") || strpbrk(path, "\n\t\x7f"))
        abort();
    free(path);
}

/* An accepted value is its knob's. */
static void check(const struct jp_request *request)
{
    const struct jp_grammar *grammar = request->grammar;

    for (size_t i = 0; i < grammar->n_knobs; i++) {
        const char *value = request->values[i];

        if (!value)
            continue;
        if (knob_check(&grammar->knobs[i], value, NULL) < 0 ||
            !knob_equal(&grammar->knobs[i], value, value))
            abort();
        if (grammar->knobs[i].kind == JP_KNOB_PATTERN)
            expand(value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct jp_grammar *grammar = &jp_grammar_nccl;
    struct jp_request request;
    struct jp_error err = {""};
    char *text;

    if (!size)
        return 0;
    if (data[0] == 'c')
        grammar = &jp_grammar_copper;
    text = strndup((const char *) data + 1, size - 1);
    if (!text)
        return 0;
    if (request_parse(grammar, text, &request, &err) == 0) {
        check(&request);
        request_fini(&request);
    } else if (!*err.text || strchr(err.text, '\n')) {
        abort();
    }
    free(text);
    return 0;
}
