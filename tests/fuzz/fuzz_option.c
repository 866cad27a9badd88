/* fuzz_option.c - the option grammars, directory patterns and the values of a
 * settings file's keys.
 *
 * The first byte chooses: 'k' all keys of a settings file, a letter of the
 * table below that option's grammar, else nccl's; the rest is the value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/grammar.h"
#include "common/options.h"
#include "common/pattern.h"
#include "common/quote.h"
#include "common/sitefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The options of this build, by their folders. */
#define ROW(upper, lower) #lower,
static const char *const names[OPTIONS] = {JP_OPTIONS(ROW)};
#undef ROW

/* Letters of the corpus. Without the option, nccl's grammar is tried. */
static const struct {
    char letter;
    const char *name;
} letters[] = {{'c', "copper"}, {'u', "util"}, {'t', "clock"}, {'n', "nsys"}};

static const struct jp_grammar *choose_grammar(char letter)
{
    for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
        for (int k = 0; letters[i].letter == letter && k < OPTIONS; k++)
            if (!strcmp(names[k], letters[i].name))
                return grammar_of((enum jp_option) k);
    return grammar_nccl();
}

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

/* A refusal is one line without control characters and of bounded length. */
static void check_refusal(const struct jp_error *err)
{
    size_t len = strlen(err->text);

    if (!len || len >= sizeof(err->text))
        abort();
    for (size_t i = 0; i < len; i++)
        if ((unsigned char) err->text[i] < 0x20 || err->text[i] == 0x7f)
            abort();
}

/* Every name of an accepted list is in it. */
static void check_list(const char *list)
{
    char name[64];

    while (*list) {
        size_t n = strcspn(list, ",");

        if (!n || (list[n] && !list[n + 1]))
            abort();
        if (n < sizeof(name)) {
            memcpy(name, list, n);
            name[n] = '\0';
            if (!knob_list_has(list, name))
                abort();
        }
        list += n + (list[n] == ',');
    }
}

/* Whatever an accepted map does to a path, it stays an absolute one. */
static void check_mounts(const char *map)
{
    static const char *const paths[] = {"/", "/a", "/a/b/raw/%N"};

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        char *inside = mountmap_inside(map, paths[i]);

        if (!inside || *inside != '/')
            abort();
        free(inside);
    }
}

static void check_keys(const char *text)
{
    struct sitekey keys[SITEKEYS_MAX];
    size_t n = sitekeys_all(keys);

    for (size_t i = 0; i < n; i++) {
        const struct jp_knob *knob = keys[i].knob;
        struct jp_error err = {""};

        if (knob_check(knob, text, &err) < 0)
            check_refusal(&err);
        else if (!knob_equal(knob, text, text))
            abort();
        else if (knob->kind == JP_KNOB_LIST)
            check_list(text);
        else if (knob->kind == JP_KNOB_MOUNTS)
            check_mounts(text);
        else if (knob->kind == JP_KNOB_PATTERN)
            expand(text);
    }
}

/* What a message shows of a value is short and printable. */
static void check_quote(const char *text)
{
    const char *shown = QUOTE(text);

    if (strlen(shown) >= JP_QUOTE_LEN)
        abort();
    for (; *shown; shown++)
        if ((unsigned char) *shown < 0x20 || *shown == 0x7f)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jp_request request;
    struct jp_error err = {""};
    char *text;

    if (!size)
        return 0;
    text = strndup((const char *) data + 1, size - 1);
    if (!text)
        return 0;
    check_quote(text);
    if (data[0] == 'k') {
        check_keys(text);
    } else if (request_parse(choose_grammar((char) data[0]), text, &request,
                             &err) == 0) {
        check(&request);
        request_fini(&request);
    } else {
        check_refusal(&err);
    }
    free(text);
    return 0;
}
