/* trial_plan.c - define a trial: axes, their combinations, their order, and the
 * commands to run.
 *
 * An axis is an option or variable with its values; a configuration is one
 * value of each axis. trial_set_command splits srun's words into options and
 * program, because a configuration's options are added before the program and
 * the allocation's options go to sbatch. trial_words makes the command of a
 * configuration. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/fileio.h"
#include "common/grammar.h"
#include "common/quote.h"
#include "common/splitmix.h"
#include "common/vector.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/trial/trial.h"

/* sbatch: the option concerns the allocation as well. */
const struct trial_kind_row trial_kinds[TRIAL_KINDS] = {
    [TRIAL_DISTRIBUTION] =
        {"distribution", "distribution", ',', true,
         "how ranks are distributed to nodes: block, cyclic, plane=4, ..."},
    [TRIAL_NODELIST] = {"nodelist", "nodelist", ':', true,
                        "lists of nodes, separated by colons"},
    [TRIAL_GPU_BIND] = {"gpu-bind", "gpu-bind", ',', true,
                        "which GPUs a rank sees: none, closest, map_gpu:0,1"},
    [TRIAL_CPU_BIND] = {"cpu-bind", "cpu-bind", ',', false,
                        "which CPUs a rank may use: cores, sockets, none, ..."},
    [TRIAL_SRUN] = {"srun", NULL, ',', false, "any other option of srun"},
    [TRIAL_ENV] = {"env", NULL, ',', false, "a variable of the program"},
};

struct trial *trial_new(void)
{
    struct trial *t = calloc(1, sizeof(*t));

    if (t)
        /* the default of --repeat */
        t->rounds = 3;
    return t;
}

/* Frees n texts and their list, which may be NULL. */
static void free_list(char **list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        free(list[i]);
    free(list);
}

void trial_free(struct trial *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_axes; i++) {
        free_list(t->axes[i].values, t->axes[i].n);
        free(t->axes[i].name);
    }
    /* runs own their texts */
    for (size_t i = 0; i < t->n_runs; i++) {
        free(t->runs[i].dir);
        free(t->runs[i].verdict);
        free(t->runs[i].over);
        free(t->runs[i].why);
    }
    free_list(t->command, t->n_words);
    free(t->profile);
    free(t);
}

/* --- axes ----------------------------------------------------------------- */

/* Whether the n bytes are a valid name of a variable. */
static bool is_variable(const char *name, size_t n)
{
    if (!n || isdigit((unsigned char) *name))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char) name[i]) && name[i] != '_')
            return false;
    return true;
}

/* Whether the n bytes are a valid name of srun's option, without dashes. */
static bool is_option(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char) name[i]) && (i == 0 || name[i] != '-'))
            return false;
    return n > 0;
}

/* Whether rest continues the current value: "plane=4" is a new value, "1" of
 * "map_gpu:0,1" is not. colon: the current value has a colon. */
static bool extends(enum trial_kind kind, bool colon, const char *rest)
{
    size_t n = strcspn(rest, ",");

    if (kind == TRIAL_ENV || kind == TRIAL_NODELIST)
        return false;
    /* the commas of map_gpu:0,1 and block,Pack are srun's own */
    return (colon && isdigit((unsigned char) *rest)) ||
           (kind == TRIAL_DISTRIBUTION &&
            ((n == 4 && !strncasecmp(rest, "pack", n)) ||
             (n == 6 && !strncasecmp(rest, "nopack", n))));
}

/* The next value, malloc'ed; *text moves past it. */
static char *next_value(enum trial_kind kind, const char **text)
{
    char separator = trial_kinds[kind].separator;
    const char *p = *text;
    char *value = malloc(strlen(p) + 1);
    size_t n = 0;

    if (!value)
        return NULL;
    for (; *p; p++) {
        /* an escaped separator belongs to the value */
        if (*p == '\\' && p[1] == separator)
            p++;
        /* n: a value cannot begin with its continuation */
        else if (*p == separator &&
                 !(n && extends(kind, memchr(value, ':', n), p + 1)))
            break;
        value[n++] = *p;
    }
    /* the text is shorter than its source, so it fits */
    value[n] = '\0';
    *text = p;
    return value;
}

/* Checks a value: it ends up in a command line, in trial.json and on a
 * terminal. */
static int check_value(const struct trial_axis *axis, const char *value,
                       struct jp_error *err)
{
    if (!*value)
        return error_set(err,
                         "%s: a value is empty (\"" TRIAL_AS_IS
                         "\" leaves it unset or unchanged)",
                         axis->name);
    if (strlen(value) >= TRIAL_TEXT_MAX)
        return error_set(err, "%s: a value is too long", axis->name);
    for (const char *p = value; *p; p++)
        if (iscntrl((unsigned char) *p))
            return error_set(err, "%s: a value has a control character",
                             axis->name);
    /* equal values would be two names of one configuration */
    for (size_t i = 0; i < axis->n; i++)
        if (!strcmp(axis->values[i], value))
            return error_set(err, "%s: \"%s\" is given more than once",
                             axis->name, QUOTE(value));
    return 0;
}

/* Returns the axis of that name, added if it is new. NULL and err: too many, or
 * no memory. */
static struct trial_axis *find_axis(struct trial *t, enum trial_kind kind,
                                    const char *name, size_t len,
                                    struct jp_error *err)
{
    struct trial_axis *axis;

    for (size_t i = 0; i < t->n_axes; i++)
        if (t->axes[i].kind == kind && strlen(t->axes[i].name) == len &&
            !strncmp(t->axes[i].name, name, len))
            return &t->axes[i];
    if (t->n_axes == TRIAL_AXES_MAX) {
        error_set(err, "at most %d options and variables can be varied",
                  TRIAL_AXES_MAX);
        return NULL;
    }
    axis = &t->axes[t->n_axes];
    *axis = (struct trial_axis){.kind = kind, .name = strndup(name, len)};
    if (!axis->name) {
        error_set(err, "out of memory");
        return NULL;
    }
    t->n_axes++;
    return axis;
}

/* Appends value to the axis. Takes ownership of value; NULL means no memory. */
static int add_value(struct trial_axis *axis, char *value, struct jp_error *err)
{
    if (value && check_value(axis, value, err) < 0) {
        free(value);
        return -1;
    }
    if (axis->n >= TRIAL_ARMS_MAX) {
        free(value);
        return error_set(err, "%s: more than %d values", axis->name,
                         TRIAL_ARMS_MAX);
    }
    if (!value || VECTOR_DOUBLE(axis->values, axis->n) < 0) {
        free(value);
        return error_set(err, "out of memory");
    }
    axis->values[axis->n++] = value;
    return 0;
}

int trial_add_value(struct trial *t, enum trial_kind kind, const char *name,
                    const char *value, struct jp_error *err)
{
    const char *own = trial_kinds[kind].option;
    size_t len = strlen(name);
    struct trial_axis *axis;

    /* from trial.json, where names are foreign input */
    if (own ? strcmp(own, name) != 0
            : len >= TRIAL_TEXT_MAX ||
                  !(kind == TRIAL_ENV ? is_variable(name, len)
                                      : is_option(name, len)))
        return error_set(err, "\"%s\" cannot be varied", QUOTE(name));
    axis = find_axis(t, kind, name, len, err);
    return axis ? add_value(axis, strdup(value), err) : -1;
}

int trial_add_axis(struct trial *t, enum trial_kind kind, const char *text,
                   struct jp_error *err)
{
    const char *name = trial_kinds[kind].option, *equal = strchr(text, '=');
    char *named = NULL, *value;
    int rc = 0;

    /* a kind without an option of its own: NAME=LIST */
    if (!name) {
        if (!equal)
            return error_set(err, "--%s must be NAME=VALUE,VALUE...",
                             trial_kinds[kind].word);
        /* the name is part of the text */
        name = named = strndup(text, (size_t) (equal - text));
        text = equal + 1;
    }
    if (!name)
        return error_set(err, "out of memory");
    do {
        value = next_value(kind, &text);
        rc = value ? trial_add_value(t, kind, name, value, err)
                   : error_set(err, "out of memory");
        free(value);
        /* next_value stops at a separator or at the end */
    } while (rc == 0 && *text++);
    free(named);
    return rc;
}

int trial_count(struct trial *t, struct jp_error *err)
{
    size_t n = 1;

    for (size_t i = 0; i < t->n_axes; i++) {
        n *= t->axes[i].n;
        /* checked each time, so n cannot overflow */
        if (n > TRIAL_ARMS_MAX)
            return error_set(
                err, "more than %d configurations: vary fewer values at once",
                TRIAL_ARMS_MAX);
    }
    if (n < 2)
        return error_set(err, "nothing to compare: give at least two values, "
                              "such as --distribution block,cyclic");
    t->n_configs = n;
    return 0;
}

const char *trial_value(const struct trial *t, size_t config, size_t axis)
{
    /* like the digits of a number: drop the axes that change faster */
    for (size_t i = t->n_axes; i-- > axis + 1;)
        config /= t->axes[i].n;
    return t->axes[axis].values[config % t->axes[axis].n];
}

char *trial_label(const struct trial *t, size_t config, char *buf, size_t size)
{
    size_t at = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < t->n_axes && at < size; i++) {
        const struct trial_axis *axis = &t->axes[i];
        const char *value = trial_value(t, config, i);
        bool env = axis->kind == TRIAL_ENV, as_is = !strcmp(value, TRIAL_AS_IS);

        /* the value "-" would look like a setting */
        if (as_is)
            at += (size_t) snprintf(buf + at, size - at, "%s(%s as is)",
                                    i ? " " : "", axis->name);
        else
            at += (size_t) snprintf(buf + at, size - at, "%s%s%s=%s",
                                    i ? " " : "", env ? "" : "--", axis->name,
                                    value);
    }
    return buf;
}

void trial_order(const struct trial *t, size_t round, size_t *order)
{
    uint64_t state = t->seed + UINT64_C(0x5851f42d4c957f2d) * (round + 1);

    for (size_t i = 0; i < t->n_configs; i++)
        order[i] = i;
    /* Fisher and Yates' shuffle */
    for (size_t i = t->n_configs; i-- > 1;) {
        size_t k = (size_t) (splitmix_next(&state) % (i + 1)), kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
}

/* --- srun's command line -------------------------------------------------- */

/* Options of srun(1) without argument, or with one only after "=". All others
 * take the next word. */
static const char srun_short_flags[] = "EHhIkKlOQRsuvVXZ";
static const char *const srun_long_flags[] = {"async",
                                              "bell",
                                              "contiguous",
                                              "disable-status",
                                              "exact",
                                              "exclusive",
                                              "external",
                                              "help",
                                              "hold",
                                              "immediate",
                                              "interactive",
                                              "kill-on-bad-exit",
                                              "label",
                                              "multi-prog",
                                              "nice",
                                              "no-allocate",
                                              "no-bell",
                                              "no-kill",
                                              "no-requeue",
                                              "overcommit",
                                              "overlap",
                                              "oversubscribe",
                                              "preserve-env",
                                              "propagate",
                                              "pty",
                                              "quiet",
                                              "quit-on-interrupt",
                                              "reboot",
                                              "resv-ports",
                                              "spread-job",
                                              "stepmgr",
                                              "treewidth",
                                              "unbuffered",
                                              "usage",
                                              "use-min-nodes",
                                              "verbose",
                                              "version",
                                              "wait-for-switch",
                                              "whole",
                                              "x11"};
/* Options that concern the allocation, which sbatch gets as well. */
static const char sbatch_short[] = "ABcCGJLMnNpqStwxOs";
static const char *const sbatch_long[] = {"account",
                                          "cluster-constraint",
                                          "clusters",
                                          "comment",
                                          "constraint",
                                          "contiguous",
                                          "core-spec",
                                          "cores-per-socket",
                                          "cpus-per-gpu",
                                          "cpus-per-task",
                                          "exclude",
                                          "exclusive",
                                          "extra-node-info",
                                          "gpus",
                                          "gpus-per-node",
                                          "gpus-per-socket",
                                          "gpus-per-task",
                                          "gres",
                                          "gres-flags",
                                          "hint",
                                          "job-name",
                                          "licenses",
                                          "mem",
                                          "mem-per-cpu",
                                          "mem-per-gpu",
                                          "mincpus",
                                          "nodelist",
                                          "nodes",
                                          "ntasks",
                                          "ntasks-per-core",
                                          "ntasks-per-gpu",
                                          "ntasks-per-node",
                                          "ntasks-per-socket",
                                          "overcommit",
                                          "oversubscribe",
                                          "partition",
                                          "prefer",
                                          "qos",
                                          "reservation",
                                          "sockets-per-node",
                                          "switches",
                                          "threads-per-core",
                                          "time",
                                          "tmp",
                                          "tres-per-task",
                                          "wckey"};

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* Whether the list has a name of len bytes. */
static bool is_in(const char *const *list, size_t n, const char *name,
                  size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(list[i], name, len) && strlen(list[i]) == len)
            return true;
    return false;
}

/* Whether it is an option of jobprof's, whose value may only follow a "=". */
static bool is_own(const char *name, size_t len)
{
    for (enum jp_option i = 0; i < OPTIONS; i++) {
        const char *own = grammar_of(i)->option + strlen("--");

        if (strlen(own) == len && !memcmp(own, name, len))
            return true;
    }
    return false;
}

/* An option that starts at words[at]: its name and number of words. 0: not an
 * option. */
struct option_word {
    size_t words;
    bool is_long;
    const char *name; /* without dashes */
    size_t len;
    const char *value; /* text after "=", or the next word; NULL: none */
};

/* Reads the option that starts at words[at]. srun's short options may be joined
 * ("-lN2"), and their value may follow directly ("-N2"). */
static struct option_word read_option(char *const *words, size_t n, size_t at)
{
    const char *word = words[at];
    struct option_word o = {0};

    if (word[0] != '-' || !word[1] || !strcmp(word, "--"))
        return o;
    o.words = 1;
    if (word[1] == '-') {
        o.is_long = true;
        o.name = word + 2;
        o.len = strcspn(o.name, "=");
        if (o.name[o.len])
            o.value = o.name + o.len + 1;
        else if (!is_in(srun_long_flags, COUNT(srun_long_flags), o.name,
                        o.len) &&
                 !is_own(o.name, o.len))
            o.words = 2;
    } else {
        o.name = word + 1;
        /* skip joined flags; the last letter may take a value */
        while (o.name[1] && strchr(srun_short_flags, *o.name))
            o.name++;
        o.len = 1;
        if (o.name[1])
            o.value = o.name + 1;
        else if (!strchr(srun_short_flags, *o.name))
            o.words = 2;
    }
    /* srun itself will report the missing value */
    if (at + o.words > n)
        o.words = 1;
    if (o.words == 2)
        o.value = words[at + 1];
    return o;
}

/* Whether the option has this long name or letter ('\0': none). */
static bool is_named(const struct option_word *o, const char *name, char letter)
{
    return o->is_long
               ? strlen(name) == o->len && !strncmp(o->name, name, o->len)
               : letter && *o->name == letter;
}

/* Removes the keys that the trial sets itself, dir and summary, from the
 * profile's value. Caller frees; NULL without memory. */
static char *strip_profile(const char *value)
{
    char *out = calloc(1, strlen(value) + 1);
    size_t len = 0;

    for (const char *p = value; out && *p;) {
        size_t n = strcspn(p, ",");

        if (strncmp(p, "dir=", 4) != 0 && strncmp(p, "summary=", 8) != 0) {
            if (len)
                out[len++] = ',';
            memcpy(out + len, p, n);
            len += n;
        }
        p += n + (p[n] == ',');
    }
    return out;
}

/* Takes the value of --nccl-profile. Without a profile there is nothing to
 * compare. */
static int take_profile(struct trial *t, const char *value,
                        struct jp_error *err)
{
    size_t n = value ? strcspn(value, ",") : 0;

    /* off and plan record nothing */
    if (!n || (n == 3 && !strncmp(value, "off", n)) ||
        (n == 4 && !strncmp(value, "plan", n)))
        return error_set(
            err, "a trial needs a profile, but --nccl-profile=%s makes none",
            value ? value : "");
    free(t->profile);
    /* each step gets its own dir */
    t->profile = strip_profile(value);
    return t->profile ? 0 : error_set(err, "out of memory");
}

/* Appends a copy of a word to the command, which has room. */
static int add_word(struct trial *t, const char *word, struct jp_error *err)
{
    /* the limit of trial.json, which has to be read again */
    if (strlen(word) >= TRIAL_TEXT_MAX)
        return error_set(err, "a word of the command is too long");
    t->command[t->n_words] = strdup(word);
    return t->command[t->n_words] ? (t->n_words++, 0)
                                  : error_set(err, "out of memory");
}

int trial_set_command(struct trial *t, char *const *words, size_t n,
                      struct jp_error *err)
{
    const char *base = n ? strrchr(words[0], '/') : NULL;
    size_t at = 1;

    if (!n || strcmp(base ? base + 1 : words[0], "srun") != 0)
        return error_set(err, "the command must begin with srun: jobprof trial "
                              "... -- srun -N2 -n16 ./train");
    if (n >= TRIAL_WORDS_MAX)
        return error_set(err, "the command has more than %d words",
                         TRIAL_WORDS_MAX);
    t->command = calloc(n + 1, sizeof(*t->command));
    if (!t->command || add_word(t, words[0], err) < 0)
        return -1;
    while (at < n) {
        /* the first word that is no option is the program */
        struct option_word o = read_option(words, n, at);

        if (!o.words)
            break;
        if (is_named(&o, "nccl-profile", 0)) {
            if (take_profile(t, o.value, err) < 0)
                return -1;
        } else {
            for (size_t i = 0; i < o.words; i++)
                if (add_word(t, words[at + i], err) < 0)
                    return -1;
        }
        at += o.words;
    }
    t->program = t->n_words; /* or the preceding "--" */
    /* "--" alone is no program */
    if (at + (at < n && !strcmp(words[at], "--")) >= n)
        return error_set(err, "the srun command has no program");
    for (; at < n; at++)
        if (add_word(t, words[at], err) < 0)
            return -1;
    if (!t->profile && take_profile(t, "recorder", err) < 0)
        return -1;
    return 0;
}

/* --- commands to run ------------------------------------------------------ */

/* A growing list of owned words; failed: without memory at some point. */
struct words {
    char **list;
    size_t n, room;
    bool failed;
};

/* Appends a word and takes ownership of it. NULL means no memory. */
static void put_word(struct words *w, char *word)
{
    /* one place is kept for the NULL at the end */
    if (!word || VECTOR_ROOM(w->list, w->n + 2, w->room) < 0) {
        free(word);
        w->failed = true;
        return;
    }
    w->list[w->n++] = word;
    w->list[w->n] = NULL;
}

/* Returns the list, or NULL after freeing it if a word failed. */
static char **finish(struct words *w)
{
    if (!w->failed)
        return w->list;
    /* a part of a command would be dangerous */
    trial_free_words(w->list);
    return NULL;
}

char *trial_quote(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=,%+@-";
    /* each quote becomes four bytes */
    char *quoted = malloc(4 * strlen(word) + 3);
    size_t n = 0;

    if (!quoted || (*word && !word[strspn(word, plain)])) {
        free(quoted);
        return strdup(word);
    }
    quoted[n++] = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            /* ends the quoted part and adds \'; the quote below begins the next
             * part */
            memcpy(quoted + n, "'\\'", 3);
            n += 3;
        }
        quoted[n++] = *word;
    }
    quoted[n++] = '\'';
    quoted[n] = '\0';
    return quoted;
}

void trial_free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

char **trial_words(const struct trial *t, size_t config, const char *dir)
{
    struct words w = {0};
    bool any = false;

    for (size_t i = 0; i < t->n_axes; i++) {
        const char *value = trial_value(t, config, i);

        if (t->axes[i].kind != TRIAL_ENV || !strcmp(value, TRIAL_AS_IS))
            continue;
        /* env, because the command is run without a shell; for display a
         * shell's form is enough */
        if (!any && dir)
            put_word(&w, strdup("env"));
        any = true;
        put_word(&w, text_format("%s=%s", t->axes[i].name, value));
    }
    for (size_t i = 0; i < t->program; i++)
        put_word(&w, strdup(t->command[i]));
    for (size_t i = 0; i < t->n_axes; i++) {
        const char *value = trial_value(t, config, i);

        if (t->axes[i].kind != TRIAL_ENV && strcmp(value, TRIAL_AS_IS) != 0)
            put_word(&w, text_format("--%s=%s", t->axes[i].name, value));
    }
    if (dir)
        put_word(&w, text_format("--nccl-profile=%s,dir=%s,summary=off",
                                 t->profile, dir));
    /* last, because srun stops at the program */
    for (size_t i = t->program; i < t->n_words; i++)
        put_word(&w, strdup(t->command[i]));
    return finish(&w);
}

/* The union of the axis' node lists, as one text; *n nodes, 0: unknown. */
static char *union_of(const struct trial_axis *axis, size_t *n)
{
    char **names = NULL, *all = calloc(1, 1);
    size_t len = 0;

    for (size_t i = 0; i < axis->n && all; i++) {
        size_t more = strlen(axis->values[i]);

        if (!strcmp(axis->values[i], TRIAL_AS_IS))
            continue;
        if (vector_resize(&all, len + more + 2, 1) < 0) {
            free(all);
            return NULL;
        }
        if (len)
            all[len++] = ',';
        memcpy(all + len, axis->values[i], more + 1);
        len += more;
    }
    *n = 0;
    if (all && nodelist_expand(all, &names, n, NULL) == 0) {
        size_t distinct = 0;

        for (size_t i = 0; i < *n; i++) {
            size_t k = 0;

            while (k < i && strcmp(names[k], names[i]) != 0)
                k++;
            /* lists may overlap */
            distinct += k == i;
        }
        nodelist_free(names, *n);
        *n = distinct;
    }
    return all;
}

char **trial_sbatch_words(const struct trial *t, uint64_t minutes,
                          const char *output)
{
    const struct trial_axis *nodes = NULL;
    struct words w = {0};
    bool timed = false, named = false;

    for (size_t i = 0; i < t->n_axes; i++)
        if (t->axes[i].kind == TRIAL_NODELIST)
            nodes = &t->axes[i];
    put_word(&w, strdup("sbatch"));
    put_word(&w, strdup("--parsable"));
    put_word(&w, text_format("--output=%s", output));
    for (size_t at = 1; at < t->program;) {
        struct option_word o = read_option(t->command, t->program, at);
        bool taken = o.is_long
                         ? is_in(sbatch_long, COUNT(sbatch_long), o.name, o.len)
                         : strchr(sbatch_short, *o.name) != NULL;

        /* the user's own limit is kept */
        timed |= is_named(&o, "time", 't');
        named |= is_named(&o, "job-name", 'J');
        /* the lists' nodes are needed as a whole, whatever one step uses of
         * them */
        if (nodes &&
            (is_named(&o, "nodes", 'N') || is_named(&o, "ntasks", 'n') ||
             is_named(&o, "nodelist", 'w')))
            taken = false;
        for (size_t i = 0; i < o.words && taken; i++)
            put_word(&w, strdup(t->command[at + i]));
        at += o.words ? o.words : 1;
    }
    if (!timed)
        put_word(&w, text_format("--time=%lu", (unsigned long) minutes));
    if (!named)
        put_word(&w, strdup("--job-name=jobprof-trial"));
    if (nodes) {
        size_t n;
        char *all = union_of(nodes, &n);

        put_word(&w, all ? text_format("--nodelist=%s", all) : NULL);
        if (n)
            put_word(&w, text_format("--nodes=%zu", n));
        put_word(&w, strdup("--exclusive"));
        free(all);
    }
    return finish(&w);
}
