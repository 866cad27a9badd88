/* request.c - parse MODE[,key=value...]. */
#include "common/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/nearest.h"
#include "common/quote.h"

#define ALL_MODES (~0u)
#define LIST_LEN 128

static int check_text(const struct jp_grammar *grammar, const char *text,
                      struct jp_error *err)
{
    char list[LIST_LEN];

    if (!text || !*text)
        return error_set(
            err, "needs a value: %s",
            grammar_list_modes(grammar, ALL_MODES, list, sizeof(list)));
    if (strlen(text) > JP_OPTION_MAX)
        return error_set(err, "\"%s\" is longer than %d bytes", QUOTE(text),
                         JP_OPTION_MAX);
    for (const unsigned char *c = (const unsigned char *) text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            return error_set(err, "\"%s\" has a control character",
                             QUOTE(text));
    return 0;
}

static int unknown_mode(const struct jp_grammar *grammar, const char *word,
                        struct jp_error *err)
{
    const char *names[JP_MODES_MAX], *near;
    char list[LIST_LEN];

    grammar_list_modes(grammar, ALL_MODES, list, sizeof(list));
    if (!*word)
        return error_set(err, "a mode comes first: %s", list);
    /* has_arg=1 swallows the program: srun --nccl-profile ./a.out */
    if (strchr(word, '/') && !strchr(word, '='))
        return error_set(err,
                         "needs a value: %s; \"%s\" looks like the "
                         "program",
                         list, QUOTE(word));
    if (strchr(word, '='))
        return error_set(err, "\"%s\" stands where the mode belongs: %s",
                         QUOTE(word), list);
    for (size_t i = 0; i < grammar->n_modes; i++)
        names[i] = grammar->modes[i].name;
    near = nearest_find(word, names, grammar->n_modes);
    if (near)
        return error_set(err, "unknown mode \"%s\"; did you mean \"%s\"?",
                         QUOTE(word), near);
    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (grammar_find_mode(grammar_of(i), word) > 0)
            return error_set(err, "\"%s\" is a mode of %s, not of this (%s)",
                             word, grammar_of(i)->option, list);
    return error_set(err, "unknown mode \"%s\" (%s)", QUOTE(word), list);
}

/* "iterations, colls, ..." into buf. Returns buf. */
static char *list_keys(const struct jp_grammar *grammar, char *buf, size_t len)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < grammar->n_knobs && used < len; i++)
        used += (size_t) snprintf(buf + used, len - used, "%s%s", i ? ", " : "",
                                  grammar->knobs[i].name);
    return buf;
}

static int unknown_key(const struct jp_grammar *grammar, const char *key,
                       struct jp_error *err)
{
    const char *names[JP_KNOBS_MAX], *near;
    char list[256];

    if (grammar_find_mode(grammar, key) >= 0)
        return error_set(err,
                         "\"%s\" is a mode, no key: it comes first, "
                         "without \"=\"",
                         key);
    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (grammar_find_knob(grammar_of(i), key) >= 0)
            return error_set(err, "\"%s\" is a key of %s, not of %s", key,
                             grammar_of(i)->option, grammar->option);
    for (size_t i = 0; i < grammar->n_knobs; i++)
        names[i] = grammar->knobs[i].name;
    near = nearest_find(key, names, grammar->n_knobs);
    if (near)
        return error_set(err, "unknown key \"%s\"; did you mean \"%s\"?",
                         QUOTE(key), near);
    return error_set(err, "unknown key \"%s\" (%s)", QUOTE(key),
                     list_keys(grammar, list, sizeof(list)));
}

/* Takes one "key=value" (writable) into request. */
static int parse_pair(struct jp_request *request, char *pair,
                      struct jp_error *err)
{
    const struct jp_grammar *grammar = request->grammar;
    char *value = strchr(pair, '=');
    char list[LIST_LEN], range[64];
    const struct jp_knob *knob;
    int i;

    if (value)
        *value++ = '\0';
    i = grammar_find_knob(grammar, pair);
    if (i < 0 && !value && grammar_find_mode(grammar, pair) >= 0)
        return error_set(err, "a second mode \"%s\"", pair);
    if (i < 0 && !value)
        return error_set(err, "\"%s\" is no key=value (a value holds no comma)",
                         QUOTE(pair));
    if (i < 0)
        return unknown_key(grammar, pair, err);
    knob = &grammar->knobs[i];
    if (!value || !*value)
        return error_set(err, "\"%s\" needs a value (%s)", pair,
                         knob_format_range(knob, range, sizeof(range)));
    if (request->values[i])
        return error_set(err, "\"%s\" is given twice: %s and %s", pair,
                         QUOTE(request->values[i]), QUOTE(value));
    if (!(knob->modes >> request->mode & 1))
        return error_set(
            err, "\"%s\" does not go with \"%s\" (only with %s)", pair,
            grammar->modes[request->mode].name,
            grammar_list_modes(grammar, knob->modes, list, sizeof(list)));
    if (knob_check(knob, value, err) < 0)
        return error_wrap(err, "%s", pair);
    request->values[i] = strdup(value);
    return request->values[i] ? 0 : error_set(err, "out of memory");
}

/* A knob's value in the mode's place: "200ms". 0: taken; 1: it is none. */
static int take_first(struct jp_request *request, const char *word,
                      struct jp_error *err)
{
    const struct jp_grammar *grammar = request->grammar;
    int i = grammar->first ? grammar_find_knob(grammar, grammar->first) : -1;

    if (i < 0 || *word < '0' || *word > '9')
        return 1;
    if (knob_check(&grammar->knobs[i], word, err) < 0)
        return error_wrap(err, "%s", grammar->first);
    request->mode = 1;
    request->values[i] = strdup(word);
    return request->values[i] ? 0 : error_set(err, "out of memory");
}

int request_parse(const struct jp_grammar *grammar, const char *text,
                  struct jp_request *out, struct jp_error *err)
{
    struct jp_request request = {.grammar = grammar};
    char *copy = NULL, *rest, *word;
    int rc = -1, first;

    if (check_text(grammar, text, err) < 0)
        goto out;
    rest = copy = strdup(text);
    if (!copy) {
        error_set(err, "out of memory");
        goto out;
    }
    word = strsep(&rest, ",");
    request.mode = grammar_find_mode(grammar, word);
    first = request.mode < 0 ? take_first(&request, word, err) : 0;
    if (first > 0)
        unknown_mode(grammar, word, err);
    if (first)
        goto out;
    while ((word = strsep(&rest, ","))) {
        if (!*word) {
            error_set(err, "an empty word between commas in \"%s\"",
                      QUOTE(text));
            goto out;
        }
        if (parse_pair(&request, word, err) < 0)
            goto out;
    }
    *out = request;
    request = (struct jp_request){0};
    rc = 0;
out:
    request_fini(&request);
    free(copy);
    return rc;
}

void request_fini(struct jp_request *request)
{
    if (!request)
        return;
    for (size_t i = 0; i < JP_KNOBS_MAX; i++)
        free(request->values[i]);
    *request = (struct jp_request){0};
}
