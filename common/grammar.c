/* grammar.c - the options' modes and knobs, and requests in their words.
 *
 * The first part builds one table for each option, before main: the words and
 * knobs that all profilers share, and those of the profilers' descriptions. The
 * second part parses a request by such a table. The third part finds mistyped
 * variables.
 */
#include "common/grammar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/nearest.h"
#include "common/profiler.h"
#include "common/quote.h"

/* The profiler of that name, or NULL. */
static const struct jp_profiler *find_profiler(const char *name)
{
    for (size_t i = 0; name && profiler_registry[i]; i++)
        if (!strcmp(profiler_registry[i]->name, name))
            return profiler_registry[i];
    return NULL;
}

const struct jp_profiler *profiler_get(const char *name)
{
    static const struct jp_profiler unknown = {.name = "", .title = ""};
    const struct jp_profiler *profiler = find_profiler(name);

    return profiler ? profiler : &unknown;
}

/* The profiler that "auto" means for an option, or NULL. */
static const struct jp_profiler *profiler_auto(enum jp_option option)
{
    for (size_t i = 0; profiler_registry[i]; i++)
        if (profiler_registry[i]->option == option &&
            profiler_registry[i]->is_auto)
            return profiler_registry[i];
    return NULL;
}

enum jp_option profiler_sampler(void)
{
    for (size_t i = 0; profiler_registry[i]; i++)
        if (profiler_registry[i]->samples)
            return profiler_registry[i]->option;
    return OPTIONS;
}

enum jp_option profiler_option(const struct jp_profiler *profiler)
{
    return profiler->with_samples ? profiler_sampler() : profiler->option;
}

const char *profiler_title(const char *name)
{
    const struct jp_profiler *profiler = find_profiler(name);

    return profiler ? profiler->title : name;
}

/* The knobs that all NCCL profilers share, in four parts. A folder's knobs
 * about the size of a run are inserted after the first part, those about what
 * is written after the third, its others after the second. */
static const struct jp_knob nccl_load[] = {
    {JP_KNOB("iterations", JP_KNOB_COUNT, 1, 1000000000, NULL,
             JP_STR(JP_DEF_ITERATIONS), "iterations that the plan assumes")},
    {JP_KNOB("colls", JP_KNOB_COUNT, 1, 1000000, NULL, JP_STR(JP_DEF_COLLS),
             "collectives of a rank in one iteration, over all communicators")},
    {JP_KNOB("comms", JP_KNOB_COUNT, 1, 4096, NULL, JP_STR(JP_DEF_COMMS),
             "communicators of one rank")},
    {JP_KNOB("p2p", JP_KNOB_COUNT_OR_OFF, 0, 1000000, NULL, "0",
             "sends and receives in one iteration; off records none")},
    {0}};
static const struct jp_knob nccl_limits[] = {
    {JP_KNOB("mem", JP_KNOB_SIZE, JP_MIB, JP_TIB, NULL, JP_DEF_MEM,
             "memory that the profiler may use in each rank")},
    {JP_KNOB("disk", JP_KNOB_SIZE, JP_MIB, 1024 * JP_TIB, NULL, JP_DEF_DISK,
             "disk space for the raw files of one step")},
    {JP_KNOB("min_free", JP_KNOB_SIZE, 0, 1024 * JP_TIB, NULL, JP_DEF_MIN_FREE,
             "space that stays free on the file system")},
    {JP_KNOB("nccl", JP_KNOB_VERSION, 0, 0, NULL, JP_DEF_NCCL_VERSION,
             "NCCL release of the program")},
    {0}};
static const struct jp_knob nccl_rest[] = {
    {JP_KNOB("dir", JP_KNOB_PATTERN, 0, 0, NULL, JP_DEF_DIR,
             "the job's directory; /step-ID is appended")},
    {JP_KNOB_SUMMARY},
    {JP_KNOB("inspector_logs", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "also write the recorder's files as logs of NVIDIA's Inspector")},
    {JP_KNOB("exporter_layout", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "also write the tree of Inspector's exporter")},
    {0}};
static const struct jp_knob nccl_events[] = {
    {JP_KNOB("on_hang", JP_KNOB_ON_HANG, 0, 0, NULL, "report",
             "what to do when the step hangs; a command gets JSON on stdin")},
    {JP_KNOB("after", JP_KNOB_TIME, 0, 86400 * JP_SECOND, NULL, NULL,
             "time from a confirmed hang to the signal (0) or cancel (10m) of "
             "on_hang")},
    {JP_KNOB("force", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "replace NCCL_ variables that the user has set")},
    {0}};

/* A grammar with the memory of its tables. */
static struct table {
    struct jp_grammar grammar;
    struct jp_mode modes[JP_MODES_MAX];
    struct jp_knob knobs[JP_KNOBS_MAX];
    char profilers[256]; /* "inspector|example": the words of profilers */
    char defaults[256];  /* "off|auto|...": modes that a settings file may name
                            as a default */
} tables[OPTIONS] = {
#define ROW(up, low)                                                           \
    [OPTION_##up] = {.grammar = {.id = OPTION_##up,                            \
                                 .option = "--" #low "-profile",               \
                                 .env = "JOBPROF_" #up,                        \
                                 .group = #low,                                \
                                 .default_name = #low ".default"}},
    JP_OPTIONS(ROW)
#undef ROW
};

/* Adds a mode. One too many is dropped. */
static void add_mode(struct table *t, const char *name, const char *help,
                     const struct jp_profiler *of)
{
    if (t->grammar.n_modes < JP_MODES_MAX)
        t->modes[t->grammar.n_modes++] =
            (struct jp_mode){.name = name, .help = help, .of = of};
}

/* Adds a knob for the modes in the mask. If a knob of that name exists, it is
 * extended to these modes. */
static void add_knob(struct table *t, const struct jp_knob *knob,
                     unsigned modes)
{
    size_t i = 0, n = t->grammar.n_knobs;

    while (i < n && strcmp(t->knobs[i].name, knob->name) != 0)
        i++;
    if (i == JP_KNOBS_MAX)
        return;
    if (i == n) {
        t->grammar.n_knobs++;
        t->knobs[i] = *knob;
        t->knobs[i].modes = 0;
    }
    t->knobs[i].modes |= modes;
}

/* Adds knobs that go with all modes except off (bit 0). {0} ends the rows. */
static void add_knobs(struct table *t, const struct jp_knob *knobs)
{
    unsigned all = ((1u << t->grammar.n_modes) - 1) & ~1u;

    for (; knobs->name; knobs++)
        add_knob(t, knobs, all);
}

/* The modes that go with a profiler's knob: its bits are relative to the words
 * of its profiler and become bits of the grammar's modes. "auto" takes what its
 * profiler takes, "plan" takes everything. */
static unsigned modes_of(const struct table *t, const struct jp_profiler *p,
                         const struct jp_knob *knob)
{
    unsigned modes = 0, word = 0;

    if (!p->words)
        return ((1u << t->grammar.n_modes) - 1) & ~1u; /* all but off */
    for (size_t i = 1; i < t->grammar.n_modes; i++) {
        const struct jp_mode *mode = &t->modes[i];
        /* `word` counts the profiler's own words, to which its bits refer. */
        bool own = mode->of == p && strcmp(mode->name, "auto") != 0;

        if (own ? !knob->modes || knob->modes >> word & 1
                : !mode->of || mode->of == p)
            modes |= 1u << i;
        word += own;
    }
    return modes;
}

/* Adds the knobs of all profilers of the option that belong in that place. */
static void add_own(struct table *t, enum jp_knob_place place)
{
    for (size_t i = 0; profiler_registry[i]; i++) {
        const struct jp_profiler *p = profiler_registry[i];

        for (const struct jp_knob *k = p->knobs;
             k && k->name && profiler_option(p) == t->grammar.id; k++)
            if (k->place == place)
                add_knob(t, k, modes_of(t, p, k));
    }
}

/* Appends "|word" to a list; what does not fit is cut. */
static void add_word(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);

    snprintf(list + used, size - used, "%s%s", used ? "|" : "", word);
}

/* Adds the words of all profilers of the option as modes. */
static void add_words(struct table *t)
{
    for (size_t i = 0; profiler_registry[i]; i++) {
        const struct jp_profiler *p = profiler_registry[i];

        for (const struct jp_mode *word = p->words;
             word && word->name && p->option == t->grammar.id; word++) {
            add_mode(t, word->name, word->help, p);
            t->modes[t->grammar.n_modes - 1].sets = word->sets;
            add_word(t->profilers, sizeof(t->profilers), word->name);
        }
    }
}

/* Completes a grammar after all modes and knobs are added. */
static void end(struct table *t)
{
    for (size_t i = 0; i < t->grammar.n_modes; i++)
        if (strcmp(t->modes[i].name, "plan") != 0)
            add_word(t->defaults, sizeof(t->defaults), t->modes[i].name);
    t->grammar.modes = t->modes;
    t->grammar.knobs = t->knobs;
    /* The key default of the settings files accepts all modes except plan. */
    t->grammar.by_default =
        (struct jp_knob){JP_KNOB("default", JP_KNOB_WORD, 0, 0, t->defaults,
                                 "off", "mode of steps without the option")};
}

/* Builds the table of --nccl-profile. The order of the rows is that of
 * --help. */
static void make_nccl(struct table *t)
{
    static const struct jp_option_form form = {
        .off = "the step runs unprofiled"};
    const struct jp_profiler *by_itself = profiler_auto(OPTION_NCCL);

    t->grammar.form = &form;
    add_mode(t, "off", form.off, NULL);
    if (by_itself)
        add_mode(t, "auto", by_itself->title, by_itself);
    add_words(t);
    add_mode(t, "plan", "print the plan of mode= and run the step unprofiled",
             NULL);
    add_knobs(t, nccl_load);
    add_own(t, JP_KNOB_LOAD);
    add_knobs(t, nccl_limits);
    add_own(t, JP_KNOB_DETAIL);
    add_knobs(t, nccl_rest);
    add_own(t, JP_KNOB_OUTPUT);
    add_knobs(t, nccl_events);
    add_knob(
        t,
        &(struct jp_knob){JP_KNOB("mode", JP_KNOB_WORD, 0, 0, t->profilers,
                                  by_itself ? by_itself->words->name : NULL,
                                  "the mode to plan")},
        1u << (t->grammar.n_modes - 1));
    end(t);
}

/* Builds the table of an option whose modes are all defined by a profiler. */
static void make_plain(struct table *t)
{
    /* a program may have the registry of some profilers only */
    static const struct jp_option_form none = {.off = "nothing"};

    t->grammar.form = &none;
    for (size_t i = 0; profiler_registry[i]; i++)
        if (profiler_registry[i]->option == t->grammar.id)
            t->grammar.form = profiler_registry[i]->form;
    add_mode(t, "off", t->grammar.form->off, NULL);
    add_words(t);
    add_own(t, JP_KNOB_LOAD);
    add_own(t, JP_KNOB_DETAIL);
    end(t);
}

/* Runs before main, and therefore before any thread. */
static __attribute__((constructor)) void make_tables(void)
{
    make_nccl(&tables[OPTION_NCCL]);
    for (enum jp_option i = OPTION_NCCL + 1; i < OPTIONS; i++)
        make_plain(&tables[i]);
}

const struct jp_grammar *grammar_of(enum jp_option option)
{
    return &tables[option].grammar;
}

int grammar_find_mode(const struct jp_grammar *grammar, const char *name)
{
    for (size_t i = 0; i < grammar->n_modes; i++)
        if (!strcmp(grammar->modes[i].name, name))
            return (int) i;
    return -1;
}

int grammar_find_knob(const struct jp_grammar *grammar, const char *name)
{
    for (size_t i = 0; i < grammar->n_knobs; i++)
        if (!strcmp(grammar->knobs[i].name, name))
            return (int) i;
    return -1;
}

/* The list is part of a sentence: "off, auto or plan", and for all modes what
 * else may stand in their place. */
char *grammar_list_modes(const struct jp_grammar *grammar, unsigned mask,
                         char *buf, size_t len)
{
    size_t used = 0;
    unsigned left = mask & ((1u << grammar->n_modes) - 1);

    buf[0] = '\0';
    for (size_t i = 0; i < grammar->n_modes && used < len; i++) {
        const char *before;

        if (!(left >> i & 1))
            continue;
        /* " or " comes before the last name. */
        left &= ~(1u << i);
        before = !used ? "" : left ? ", " : " or ";
        used += (size_t) snprintf(buf + used, len - used, "%s%s", before,
                                  grammar->modes[i].name);
    }
    if (mask == ~0u && grammar->form->first && used < len)
        snprintf(buf + used, len - used, ", or a %s", grammar->form->first);
    if (mask == ~0u && grammar->form->bare && used < len)
        snprintf(buf + used, len - used, ", or key=value");
    return buf;
}

/* --- a request: MODE[,key=value...] --- */

/* A mask of all modes; bytes of a list of modes. */
#define ALL_MODES (~0u)
#define LIST_LEN 128

/* Checks what holds for any request: not empty, not too long, no control
 * characters. */
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

/* The mode that a common word for on or off is likely to mean: the first mode,
 * or off. NULL: another word. */
static const char *switch_word(const struct jp_grammar *grammar,
                               const char *word)
{
    static const char *const on[] = {"on",     "true",    "yes",     "1",
                                     "enable", "enabled", "default", NULL};
    static const char *const off[] = {"false",   "no",       "0", "none",
                                      "disable", "disabled", NULL};

    for (size_t i = 0; on[i]; i++)
        if (!strcasecmp(word, on[i]))
            return grammar->modes[1].name;
    for (size_t i = 0; off[i]; i++)
        if (!strcasecmp(word, off[i]))
            return grammar->modes[0].name;
    return NULL;
}

/* Sets err to a message about a word in the place of the mode, with the best
 * guess of what was meant. Returns -1. */
static int unknown_mode(const struct jp_grammar *grammar, const char *word,
                        struct jp_error *err)
{
    const char *names[JP_MODES_MAX], *near;
    char list[LIST_LEN];

    grammar_list_modes(grammar, ALL_MODES, list, sizeof(list));
    if (!*word)
        return error_set(err, "the mode must come first: %s", list);
    /* An option without its value takes the program as one: srun --nccl-profile
     * ./a.out */
    if (strchr(word, '/') && !strchr(word, '='))
        return error_set(err,
                         "needs a value: %s; \"%s\" looks like the "
                         "program",
                         list, QUOTE(word));
    if (strchr(word, '='))
        return error_set(err, "\"%s\" is in the place of the mode: %s",
                         QUOTE(word), list);
    for (size_t i = 0; i < grammar->n_modes; i++)
        names[i] = grammar->modes[i].name;
    near = switch_word(grammar, word);
    if (!near)
        near = nearest_find(word, names, grammar->n_modes);
    if (near)
        return error_set(err, "unknown mode \"%s\"; did you mean \"%s\"?",
                         QUOTE(word), near);
    /* The word may be a mode of another option. */
    for (enum jp_option i = 0; i < OPTIONS; i++)
        if (grammar_find_mode(grammar_of(i), word) > 0)
            return error_set(err,
                             "\"%s\" is a mode of %s, not of this option (%s)",
                             word, grammar_of(i)->option, list);
    return error_set(err, "unknown mode \"%s\" (%s)", QUOTE(word), list);
}

/* Writes the keys, "iterations, colls, ...", into buf. Returns buf. */
static char *list_keys(const struct jp_grammar *grammar, char *buf, size_t len)
{
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < grammar->n_knobs && used < len; i++)
        used += (size_t) snprintf(buf + used, len - used, "%s%s", i ? ", " : "",
                                  grammar->knobs[i].name);
    return buf;
}

/* Sets err to a message about an unknown key, with the best guess of what was
 * meant. Returns -1. */
static int unknown_key(const struct jp_grammar *grammar, const char *key,
                       struct jp_error *err)
{
    const char *names[JP_KNOBS_MAX], *near;
    char list[256];

    if (grammar_find_mode(grammar, key) >= 0)
        return error_set(
            err, "\"%s\" is a mode, not a key: write it first, without \"=\"",
            key);
    /* The key may belong to another option. */
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

/* Parses one "key=value" (writable) into request. -1: err says what is
 * wrong. */
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
    /* From here on, each mistake has a message of its own. */
    if (i < 0 && !value && grammar_find_mode(grammar, pair) >= 0)
        return error_set(err, "a second mode \"%s\"", pair);
    if (i < 0 && !value)
        return error_set(
            err, "\"%s\" is not key=value (a value cannot contain a comma)",
            QUOTE(pair));
    if (i < 0)
        return unknown_key(grammar, pair, err);
    knob = &grammar->knobs[i];
    if (!value || !*value)
        return error_set(err, "\"%s\" needs a value (%s)", pair,
                         knob_format_range(knob, range, sizeof(range)));
    if (request->values[i])
        return error_set(err, "\"%s\" is given more than once: %s and %s", pair,
                         QUOTE(request->values[i]), QUOTE(value));
    /* The key exists, but not for this mode. */
    if (!(knob->modes >> request->mode & 1))
        return error_set(
            err, "\"%s\" cannot be used with \"%s\" (only with %s)", pair,
            grammar->modes[request->mode].name,
            grammar_list_modes(grammar, knob->modes, list, sizeof(list)));
    if (knob_check(knob, value, err) < 0)
        return error_wrap(err, "%s", pair);
    request->values[i] = strdup(value);
    return request->values[i] ? 0 : error_set(err, "out of memory");
}

/* Parses what may stand in the place of the mode: a knob's value ("200ms") or
 * key=value. Returns 0 if it was taken, 1 if the word is neither, -1 and err if
 * it is wrong. */
static int take_first(struct jp_request *request, char *word,
                      struct jp_error *err)
{
    const struct jp_grammar *grammar = request->grammar;
    int i = grammar->form->first
                ? grammar_find_knob(grammar, grammar->form->first)
                : -1;

    /* The mode is implied: the first one after off. */
    if (grammar->form->bare && strchr(word, '=')) {
        request->mode = 1;
        return parse_pair(request, word, err);
    }
    if (i < 0 || *word < '0' || *word > '9')
        return 1;
    /* A word that begins with a digit is meant as the value of this knob. */
    if (knob_check(&grammar->knobs[i], word, err) < 0)
        return error_wrap(err, "%s", grammar->form->first);
    request->mode = 1;
    request->values[i] = strdup(word);
    return request->values[i] ? 0 : error_set(err, "out of memory");
}

/* Steps: check the bytes, take the mode or what stands in its place, then each
 * key=value. The result is assigned only if all is well. */
int request_parse(const struct jp_grammar *grammar, const char *text,
                  struct jp_request *out, struct jp_error *err)
{
    struct jp_request request = {.grammar = grammar};
    char *copy = NULL, *rest, *word;
    int rc = -1, first;

    if (check_text(grammar, text, err) < 0)
        goto out;
    /* The mode first, then one key=value after the other. */
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
            error_set(err, "\"%s\" has an empty word between commas",
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

/* --- a file of settings --- */

/* Takes one member of a settings file (profiler_take). A later value of the
 * same key replaces an earlier one. */
static int take_member(void *arg, const char *name, const char *value,
                       struct jp_error *err)
{
    struct jp_request *request = arg;
    int i = grammar_find_knob(request->grammar, name);

    if (i < 0)
        return unknown_key(request->grammar, name, err);
    if (knob_check(&request->grammar->knobs[i], value, err) < 0)
        return error_wrap(err, "%s", name);
    free(request->values[i]);
    request->values[i] = strdup(value);
    return request->values[i] ? 0 : error_set(err, "out of memory");
}

int request_read(const struct jp_grammar *grammar, const char *path,
                 const char *folder, struct jp_request *out,
                 struct jp_error *err)
{
    struct jp_request request = {.grammar = grammar, .mode = -1};
    /* The option has one profiler, which defines the format of the file. */
    const struct jp_profiler *of = grammar->modes[1].of;
    char *full = folder && *path != '/' ? text_format("%s/%s", folder, path)
                                        : strdup(path);
    int rc = full ? of->read(full, take_member, &request, err)
                  : error_set(err, "out of memory");

    free(full);
    if (rc < 0)
        request_fini(&request);
    else
        *out = request;
    return rc;
}

/* --- jobprof's own variables --- */

#define NAMES_MAX 64

/* Variables that jobprof, the site's containers or contrib/minicluster set. */
static const char *const others[] = {"JOBPROF_SET", "JOBPROF_BINDS",
                                     "JOBPROF_MINICLUSTER"};

/* Lists all variables of jobprof. Returns how many. Borrowed. */
static size_t list_names(const char *names[NAMES_MAX])
{
    size_t n = 0;

    for (enum jp_option i = 0; i < OPTIONS; i++)
        names[n++] = grammar_of(i)->env;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        names[n++] = others[i];
    for (size_t i = 0; profiler_registry[i]; i++) {
        const char *const *own = profiler_registry[i]->variables;

        for (; own && *own && n < NAMES_MAX; own++)
            names[n++] = *own;
    }
    return n;
}

/* Lists the variables of another program that count as knobs of an option. */
static size_t list_foreign(const char *names[NAMES_MAX])
{
    size_t n = 0;

    for (enum jp_option o = 0; o < OPTIONS; o++) {
        const struct jp_grammar *g = grammar_of(o);

        for (size_t i = 0; g->form->on && i < g->n_knobs && n < NAMES_MAX; i++)
            if (g->knobs[i].variable)
                names[n++] = g->knobs[i].variable;
    }
    return n;
}

/* Whether the variable begins like one of names, up to the first "_". Variables
 * of that program with another prefix do not concern us. */
static bool is_foreign(const char *pair, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *end = strchr(names[i], '_');

        if (strncmp(pair, names[i], (size_t) (end + 1 - names[i])) == 0)
            return true;
    }
    return false;
}

/* Two cases: our own prefix, of which all names are known, and the prefix of
 * another program, of which only near misses are reported. */
int ownvars_is_unknown(const char *pair, char *name, unsigned len,
                       const char **meant)
{
    const char *names[NAMES_MAX];
    bool ours = strncmp(pair, OWNVARS_PREFIX, strlen(OWNVARS_PREFIX)) == 0;
    size_t n = ours ? list_names(names) : list_foreign(names);

    if (!ours && !is_foreign(pair, names, n))
        return 0;
    snprintf(name, len, "%.*s", (int) strcspn(pair, "="), pair);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, names[i]))
            return 0;
    *meant = nearest_find(name, names, n);
    /* An unknown variable of ours has no effect in any case. One of another
     * program may be valid there, unless it is near to one that we read. */
    return ours || *meant;
}
