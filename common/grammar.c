/* grammar.c - put the tables of modes and knobs together. */
#include "common/grammar.h"

#include <stdio.h>
#include <string.h>

#include "common/defaults.h"

const struct jp_profiler *profiler_find(const char *name)
{
    for (size_t i = 0; name && profiler_registry[i]; i++)
        if (!strcmp(profiler_registry[i]->name, name))
            return profiler_registry[i];
    return NULL;
}

const struct jp_profiler *profiler_get(const char *name)
{
    static const struct jp_profiler unknown = {.name = "", .title = ""};
    const struct jp_profiler *profiler = profiler_find(name);

    return profiler ? profiler : &unknown;
}

const struct jp_profiler *profiler_auto(enum jp_option option)
{
    for (size_t i = 0; profiler_registry[i]; i++)
        if (profiler_registry[i]->option == option &&
            profiler_registry[i]->is_auto)
            return profiler_registry[i];
    return NULL;
}

const char *profiler_title(const char *name)
{
    const struct jp_profiler *profiler = profiler_find(name);

    return profiler ? profiler->title : name;
}

/* What all NCCL profilers share, in three parts: those of a profiler's own that
 * tell the run's size come behind the first, the others behind the second. */
static const struct jp_knob nccl_load[] = {
    {JP_KNOB("iterations", JP_KNOB_COUNT, 1, 1000000000, NULL,
             JP_STR(JP_DEF_ITERATIONS),
             "iterations that the plan counts with")},
    {JP_KNOB("colls", JP_KNOB_COUNT, 1, 1000000, NULL, JP_STR(JP_DEF_COLLS),
             "collectives in one iteration, all communicators of a rank "
             "together")},
    {JP_KNOB("comms", JP_KNOB_COUNT, 1, 4096, NULL, JP_STR(JP_DEF_COMMS),
             "communicators of one rank")},
    {JP_KNOB("p2p", JP_KNOB_COUNT_OR_OFF, 0, 1000000, NULL, "0",
             "sends and receives in one iteration; off records none")},
    {0}};
static const struct jp_knob nccl_limits[] = {
    {JP_KNOB("mem", JP_KNOB_SIZE, JP_MIB, JP_TIB, NULL, JP_DEF_MEM,
             "memory of one rank that the profiler may take")},
    {JP_KNOB("disk", JP_KNOB_SIZE, JP_MIB, 1024 * JP_TIB, NULL, JP_DEF_DISK,
             "disk that the raw files of one step may take")},
    {JP_KNOB("min_free", JP_KNOB_SIZE, 0, 1024 * JP_TIB, NULL, JP_DEF_MIN_FREE,
             "space of the file system that stays free")},
    {JP_KNOB("nccl", JP_KNOB_VERSION, 0, 0, NULL, JP_DEF_NCCL_VERSION,
             "NCCL release of the program")},
    {0}};
static const struct jp_knob nccl_rest[] = {
    {JP_KNOB("dir", JP_KNOB_PATTERN, 0, 0, NULL, JP_DEF_DIR,
             "the job's directory; step-ID is added")},
    {JP_KNOB("summary", JP_KNOB_WORD, 0, 0, "auto|off|line|card", "auto",
             "what srun prints at the end")},
    {JP_KNOB("inspector_logs", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "also write the recorder's files as logs of NVIDIA's Inspector")},
    {JP_KNOB("exporter_layout", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "also write the tree of Inspector's exporter")},
    {JP_KNOB("force", JP_KNOB_BOOL, 0, 1, NULL, "0",
             "replace NCCL_ variables that the user has set himself")},
    {0}};

/* A grammar with the room that its tables take. */
static struct table {
    struct jp_grammar grammar;
    struct jp_mode modes[JP_MODES_MAX];
    struct jp_knob knobs[JP_KNOBS_MAX];
    char profilers[256]; /* "inspector|example": the words of profilers */
    char defaults[256];  /* the same with what a settings file may say too */
} tables[OPTIONS] = {
    [OPTION_NCCL] = {.grammar = {.id = OPTION_NCCL,
                                 .option = "--nccl-profile",
                                 .env = "JOBPROF_NCCL",
                                 .group = "nccl"}},
    [OPTION_COPPER] = {.grammar = {.id = OPTION_COPPER,
                                   .option = "--copper-profile",
                                   .env = "JOBPROF_COPPER",
                                   .group = "copper"}},
    [OPTION_UTIL] = {.grammar = {.id = OPTION_UTIL,
                                 .option = "--util-profile",
                                 .env = "JOBPROF_UTIL",
                                 .group = "util",
                                 .first = "period"}},
};

static void add_mode(struct table *t, const char *name, const char *help,
                     const struct jp_profiler *of)
{
    if (t->grammar.n_modes < JP_MODES_MAX)
        t->modes[t->grammar.n_modes++] = (struct jp_mode){name, help, of};
}

/* A knob that is there already goes with these modes too. */
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

static void add_knobs(struct table *t, const struct jp_knob *knobs)
{
    unsigned all = ((1u << t->grammar.n_modes) - 1) & ~1u;

    for (; knobs->name; knobs++)
        add_knob(t, knobs, all);
}

/* A knob's bits among the words of its profiler as bits among the modes. "auto"
 * takes what its profiler takes, "plan" takes everything. */
static unsigned modes_of(const struct table *t, const struct jp_profiler *p,
                         const struct jp_knob *knob)
{
    unsigned modes = 0, word = 0;

    for (size_t i = 1; i < t->grammar.n_modes; i++) {
        const struct jp_mode *mode = &t->modes[i];
        bool own = mode->of == p && strcmp(mode->name, "auto") != 0;

        if (own ? !knob->modes || knob->modes >> word & 1
                : !mode->of || mode->of == p)
            modes |= 1u << i;
        word += own;
    }
    return modes;
}

/* The profilers' knobs that belong in that place. */
static void add_own(struct table *t, enum jp_knob_place place)
{
    for (size_t i = 0; profiler_registry[i]; i++) {
        const struct jp_profiler *p = profiler_registry[i];

        for (const struct jp_knob *k = p->knobs;
             p->option == t->grammar.id && k && k->name; k++)
            if (k->place == place)
                add_knob(t, k, modes_of(t, p, k));
    }
}

static void add_word(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);

    snprintf(list + used, size - used, "%s%s", used ? "|" : "", word);
}

static void add_words(struct table *t)
{
    for (size_t i = 0; profiler_registry[i]; i++) {
        const struct jp_profiler *p = profiler_registry[i];

        for (const struct jp_mode *word = p->words;
             p->option == t->grammar.id && word->name; word++) {
            add_mode(t, word->name, word->help, p);
            add_word(t->profilers, sizeof(t->profilers), word->name);
        }
    }
}

static void end(struct table *t)
{
    for (size_t i = 0; i < t->grammar.n_modes; i++)
        if (strcmp(t->modes[i].name, "plan") != 0)
            add_word(t->defaults, sizeof(t->defaults), t->modes[i].name);
    t->grammar.modes = t->modes;
    t->grammar.knobs = t->knobs;
    t->grammar.by_default = (struct jp_knob){
        JP_KNOB("default", JP_KNOB_WORD, 0, 0, t->defaults, "off",
                "mode of steps that do not ask for "
                "one")};
}

static void make_nccl(struct table *t)
{
    const struct jp_profiler *by_itself = profiler_auto(OPTION_NCCL);

    add_mode(t, "off", "the step runs unprofiled", NULL);
    if (by_itself)
        add_mode(t, "auto", by_itself->title, by_itself);
    add_words(t);
    add_mode(t, "plan",
             "print what mode= would set and run the step "
             "unprofiled",
             NULL);
    add_knobs(t, nccl_load);
    add_own(t, JP_KNOB_LOAD);
    add_knobs(t, nccl_limits);
    add_own(t, JP_KNOB_DETAIL);
    add_knobs(t, nccl_rest);
    add_knob(t,
             &(struct jp_knob){JP_KNOB(
                 "mode", JP_KNOB_WORD, 0, 0, t->profilers,
                 by_itself ? by_itself->words->name : NULL, "what is planned")},
             1u << (t->grammar.n_modes - 1));
    end(t);
}

/* An option whose words are all its profiler's. */
static void make_plain(struct table *t, const char *off)
{
    add_mode(t, "off", off, NULL);
    add_words(t);
    add_own(t, JP_KNOB_LOAD);
    add_own(t, JP_KNOB_DETAIL);
    end(t);
}

/* Before main, and so before any thread. */
static __attribute__((constructor)) void make_tables(void)
{
    make_nccl(&tables[OPTION_NCCL]);
    make_plain(&tables[OPTION_COPPER], "no Copper profile");
    make_plain(&tables[OPTION_UTIL], "no samples of utilisation");
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
        left &= ~(1u << i);
        before = !used ? "" : left ? ", " : " or ";
        used += (size_t) snprintf(buf + used, len - used, "%s%s", before,
                                  grammar->modes[i].name);
    }
    if (mask == ~0u && grammar->first && used < len)
        snprintf(buf + used, len - used, ", or a %s", grammar->first);
    return buf;
}
