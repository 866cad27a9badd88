/* clock_launch.c - what --clock-profile adds to a step: the settings of the
 * probes, their sources, and the key.
 *
 * fill_conf() writes the settings into job.conf, clock_launch_read gets them
 * back on the node, make_block() prints them. With xla=1, XLA's own probes are
 * configured as well: by variables and by a file in the step's directory. The
 * knobs and their names follow XLA's guide to distributed profiling.
 */
#include "plugins/clock/clock_launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/knob.h"
#include "common/num.h"
#include "common/settings.h"

/* The numbers of job.conf, each with its knob, in the order of XLA's guide,
 * then ours. One table for the writer, XLA's file and the reader. */
static const struct figure {
    const char *knob;
    enum clock_key key;   /* in job.conf */
    uint32_t scale;       /* factor from the knob's unit */
    bool ours;            /* XLA's file does not have it */
    uint32_t least, most; /* the range that XLA's guide recommends, in the
                             knob's unit; 0: it has none */
} figures[] = {
    {"probe_cadence_us", CLOCK_CADENCE_US, 1, false, 400, 2000},
    {"probe_window_s", CLOCK_WINDOW_MS, 1000, false, 2, 10},
    {"packet_spacing_us", CLOCK_SPACING_US, 1, false, 50, 200},
    {"snapshot_period_ms", CLOCK_SNAPSHOT_MS, 1, false, 50, 200},
    {"probe_cpu_permille", CLOCK_CPU_PERMILLE, 1, true, 0, 0},
};
enum { FIGURES = sizeof(figures) / sizeof(*figures) };

/* The number of job.conf that a row describes. */
static uint32_t *figure_of(struct jp_jobconf *conf, const struct figure *f)
{
    return &conf->sides[OPTION_CLOCK].numbers[f->key];
}

/* Appends one setting (copied) to job.conf's clock.settings. */
static int add_setting(struct jp_jobconf *conf, const char *key,
                       const char *value, const char *source, const char *where,
                       const char *reason, struct jp_error *err)
{
    const struct jp_setting one = {(char *) key, (char *) value,
                                   (char *) source, (char *) where,
                                   (char *) reason};

    struct jobconf_side *side = &conf->sides[OPTION_CLOCK];

    return settings_add(&side->settings, &side->n_settings, &one, err);
}

/* The same for a setting of the plan, with its source. */
static int add_value(struct jp_jobconf *conf, const char *key,
                     const char *value, const struct plan_value *from,
                     const char *reason, struct jp_error *err)
{
    return settings_add_value(&conf->sides[OPTION_CLOCK], key, value, from,
                              reason, err);
}

/* --- the figures ---------------------------------------------------------- */

/* Whether the preset is auto, or none is named (mode off in a profiled
 * step). */
static bool is_auto(const struct plan_side *side)
{
    return side->mode <= 1;
}

#define AS_TEXT(number) AS_TEXT_OF(number)
#define AS_TEXT_OF(number) #number

/* The cadence of preset auto grows with the number of neighbours, so that the
 * cost per node stays the same. nodes 0: unknown, assume the most
 * neighbours. */
static uint64_t auto_cadence_us(uint32_t nodes)
{
    uint64_t n = nodes > 1 ? nodes - 1 : 1;

    if (n > JP_CLOCK_NEIGHBOURS_MAX || !nodes)
        n = JP_CLOCK_NEIGHBOURS_MAX;
    n *= JP_CLOCK_NEIGHBOUR_US;
    return n > JP_DEF_CLOCK_CADENCE_US ? n : JP_DEF_CLOCK_CADENCE_US;
}

/* Notes a figure that a user has set outside of the guide's range. A preset's
 * own figures are the guide's, too, wherever they are. */
static int note_range(const struct plan_side *side, const struct figure *f,
                      const struct plan_value *from, uint64_t v, char **note,
                      struct jp_error *err)
{
    const char *sets = side->grammar->modes[side->mode].sets;
    char pair[64];

    snprintf(pair, sizeof(pair), "%s=%" PRIu64, f->knob, v);
    if (!f->most || (v >= f->least && v <= f->most) ||
        from->source < PLAN_USER || (sets && knob_list_has(sets, pair)))
        return 0;
    return lines_add(note, err,
                     "clocks: %s is outside of the range of %u to %u that "
                     "XLA's guide recommends",
                     pair, (unsigned) f->least, (unsigned) f->most);
}

/* Adds the four numbers. The plan's value stands unless auto computes a longer
 * cadence and nobody has set one. */
static int add_figures(const struct plan_side *side, struct jp_jobconf *conf,
                       char **note, struct jp_error *err)
{
    for (size_t i = 0; i < FIGURES; i++) {
        const struct plan_value *from = plan_find(side, figures[i].knob);
        uint64_t v = plan_number(side, figures[i].knob);
        const char *reason = "";
        char text[24];

        if (i == 0 && is_auto(side) && from->source == PLAN_DEFAULT) {
            v = auto_cadence_us(conf->nnodes);
            reason =
                v > JP_DEF_CLOCK_CADENCE_US
                    ? "so that it costs a node at most 0.5 % of a processor"
                    : "";
        } else if (i == 0 && v < JP_CLOCK_FIRST_US) {
            /* known before the first probe, so said before it */
            reason = "at best: a node begins at " AS_TEXT(
                JP_CLOCK_FIRST_US) " and gets as near as probe_cpu_permille "
                                   "allows";
        }
        *figure_of(conf, &figures[i]) = (uint32_t) v * figures[i].scale;
        snprintf(text, sizeof(text), "%" PRIu64, v);
        if (add_value(conf, figures[i].knob, text, from, reason, err) < 0 ||
            note_range(side, &figures[i], from, v, note, err) < 0)
            return -1;
    }
    return 0;
}

/* --- interfaces ----------------------------------------------------------- */

/* Whether a list of interfaces can be passed to the agent: printable, without
 * blanks, and short enough for struct clock_conf. NCCL accepts longer lists. */
static bool is_passable(const char *names)
{
    for (const char *c = names; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return strlen(names) < MODULE_NAMES_BYTES;
}

/* Adds the interfaces that probes use: the option's, else those of NCCL,
 * because the network of the program is the one that matters. "" stands for the
 * nodes' own addresses. */
static int add_interfaces(const struct plan_side *side,
                          const struct plan_input *env, struct jp_jobconf *conf,
                          char **note, struct jp_error *err)
{
    static const char variable[] = "NCCL_SOCKET_IFNAME";
    const struct plan_value *from = plan_find(side, "if");
    const char *nccl = plan_env(env, variable);
    const char *names = from->value ? from->value : nccl;

    if (names && !is_passable(names)) {
        if (lines_add(note, err,
                      "clocks: the interfaces of %s cannot be used, so the "
                      "nodes' addresses are",
                      from->value ? "if=" : variable) < 0)
            return -1;
        names = NULL;
    }
    conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES] =
        strdup(names ? names : "");
    if (!conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES])
        return error_set(err, "out of memory");
    /* An option's value cannot contain a comma, so its list has semicolons. */
    for (char *c = conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES]; *c; c++)
        if (*c == ';')
            *c = ',';
    if (!names)
        return 0;
    if (from->value)
        return add_value(conf, "if",
                         conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES],
                         from, "", err);
    return add_setting(conf, "if",
                       conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES],
                       plan_source_words[PLAN_ENV], variable, "", err);
}

/* --- XLA's own probes ----------------------------------------------------- */

/* Whether XLA's own probes are configured (xla=1). */
static bool configures_xla(const struct jp_jobconf *conf)
{
    const char *xla = jobconf_side_find(conf, OPTION_CLOCK, "xla");

    return xla && !strcmp(xla, "1");
}

/* Adds the output path of XLA; without XLA, the path of our files. %N stands
 * for the node. */
static int add_output(const struct plan_side *side, const char *step_dir,
                      struct jp_jobconf *conf, struct jp_error *err)
{
    const struct plan_value *from = plan_find(side, "output_dir");
    bool xla = plan_number(side, "xla") != 0;
    char *own = text_format("%s/%s/%%N", step_dir, xla ? "raw" : "nodes");
    int rc = own ? add_value(conf, "output_dir",
                             from->value ? from->value : own, from,
                             from->value && !xla
                                 ? "for xla=1; the step's directory has these"
                                 : "",
                             err)
                 : error_set(err, "out of memory");

    free(own);
    if (rc == 0 && xla)
        rc = add_value(conf, "xla", "1", plan_find(side, "xla"), "", err);
    return rc;
}

/* Adds a variable for the tasks. It is soft unless the user has set it to
 * another value, which the plan has overruled. */
static int add_variable(struct jp_jobconf *conf, const struct plan_input *env,
                        const char *name, const char *value,
                        struct jp_error *err)
{
    const char *his = plan_env(env, name);

    return jobconf_add_env(conf, name, strdup(value), "xla=1",
                           !his || !strcmp(his, value), err);
}

/* Adds the variable of each knob that XLA reads, and the path of its file. */
static int add_variables(const struct plan_side *side,
                         const struct plan_input *env, const char *step_dir,
                         struct jp_jobconf *conf, struct jp_error *err)
{
    char *file = text_format("%s/" CLOCK_XLA_FILE, step_dir);
    int rc = file ? 0 : error_set(err, "out of memory");

    for (size_t i = 0; i < side->grammar->n_knobs && rc == 0; i++) {
        const struct jp_knob *knob = &side->grammar->knobs[i];
        const char *value =
            knob->kind == JP_KNOB_FILE
                ? file
                : jobconf_side_find(conf, OPTION_CLOCK, knob->name);

        if (knob->variable && value)
            rc = add_variable(conf, env, knob->variable, value, err);
    }
    free(file);
    return rc;
}

/* --- job.conf ------------------------------------------------------------- */

/* Adds all settings except the key. */
static int add_all(const struct plan_side *side, const struct plan_input *env,
                   const char *step_dir, struct jp_jobconf *conf, char **note,
                   struct jp_error *err)
{
    const char *word = side->grammar->modes[side->mode ? side->mode : 1].name;
    const char *source = plan_source_words[side->mode_source];
    const char *reason =
        side->mode ? "" : "as in steps of several nodes that are profiled";
    char mode[48];

    snprintf(mode, sizeof(mode), "mode %s", word);
    if (add_setting(conf, "mode", word, source, side->mode_where, reason, err) <
            0 ||
        add_setting(conf, "enabled", "1", source, side->mode_where, mode, err) <
            0)
        return -1;
    return add_figures(side, conf, note, err) < 0 ||
                   add_output(side, step_dir, conf, err) < 0 ||
                   add_interfaces(side, env, conf, note, err) < 0
               ? -1
               : 0;
}

/* Makes a new key in hexadecimal digits. Returns -1 if the system has no random
 * bytes yet, instead of waiting for them: srun would hang. */
static int make_key(char hex[2 * MODULE_KEY_BYTES + 1])
{
    uint8_t key[MODULE_KEY_BYTES];

    if (getrandom(key, sizeof(key), GRND_NONBLOCK) != (ssize_t) sizeof(key))
        return -1;
    for (size_t i = 0; i < sizeof(key); i++)
        snprintf(hex + 2 * i, 3, "%02x", key[i]);
    /* The key signs packets; no copy may stay on the stack. */
    explicit_bzero(key, sizeof(key));
    return 0;
}

/* Fills the strings of a step that probes no clocks. */
static int fill_off(struct jp_jobconf *conf, struct jp_error *err)
{
    conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES] = strdup("");
    conf->sides[OPTION_CLOCK].texts[CLOCK_SECRET] = strdup("");
    return conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES] &&
                   conf->sides[OPTION_CLOCK].texts[CLOCK_SECRET]
               ? 0
               : error_set(err, "out of memory");
}

/* Reports mistyped variables of XLA, which would otherwise be ignored silently.
 * Ours (JOBPROF_) are reported by doctor. */
static int note_mistyped(const struct plan_input *env, char **note,
                         struct jp_error *err)
{
    const char *meant;
    char name[128];

    for (char **pair = env->env ? NULL : environ; pair && *pair; pair++)
        if (strncmp(*pair, OWNVARS_PREFIX, strlen(OWNVARS_PREFIX)) != 0 &&
            ownvars_is_unknown(*pair, name, sizeof(name), &meant) &&
            lines_add(note, err, "%s has no effect; did you mean %s?", name,
                      meant) < 0)
            return -1;
    return 0;
}

/* Whether clocks are probed in a step with that many nodes (0: unknown) that
 * has a report. They are if any source turns them on and, unless one turns them
 * off, in steps of several nodes for which the user requests an NCCL profile.
 * trouble: the answer if there were no mistake in another program's
 * settings. */
static bool probes_clocks(const struct jp_plan *plan, uint32_t nodes,
                          bool trouble)
{
    const struct plan_side *clock = &plan->sides[OPTION_CLOCK];
    const struct plan_side *nccl = &plan->sides[OPTION_NCCL];

    if (clock->trouble && !trouble)
        return false;
    /* Probes need a second node, but an explicit request counts for a step of
     * one node as well. */
    if (clock->mode)
        return nodes != 1 || plan_side_is_own(clock);
    return clock->mode_source == PLAN_DEFAULT && nodes != 1 && nccl->mode &&
           (nccl->mode_source >= PLAN_ENV || plan_is_printed(plan));
}

/* Appends the reason why the clocks of this step cannot be probed, if there is
 * one. */
static int note_trouble(const struct jp_plan *plan, uint32_t nodes, char **note,
                        struct jp_error *err)
{
    const char *trouble = plan->sides[OPTION_CLOCK].trouble;

    if (!trouble || !probes_clocks(plan, nodes, true))
        return 0;
    return lines_add(note, err, "%s (the clocks are not probed)", trouble);
}

/* A mistake in the settings is no error of the launch: the clocks are not
 * probed then, and a line is added to the note. */
static int fill_conf(const struct side_step *step, struct jp_jobconf *conf,
                     char **note, struct jp_error *err)
{
    const struct plan_side *side = &step->plan->sides[OPTION_CLOCK];
    const struct plan_input *env = step->facts->env;
    char **secret = &conf->sides[OPTION_CLOCK].texts[CLOCK_SECRET];
    char hex[2 * MODULE_KEY_BYTES + 1];

    if (settings_request(conf, side, err) < 0)
        return -1;
    /* Either nobody wants probes, or a mistake in XLA's settings prevents
     * them. */
    if (!probes_clocks(step->plan, conf->nnodes, false))
        return note_trouble(step->plan, conf->nnodes, note, err) < 0
                   ? -1
                   : fill_off(conf, err);
    if (make_key(hex) < 0)
        return lines_add(note, err,
                         "no random key, so the clocks are not probed") < 0
                   ? -1
                   : fill_off(conf, err);
    *secret = strdup(hex);
    explicit_bzero(hex, sizeof(hex));
    if (!*secret)
        return error_set(err, "out of memory");
    if (add_all(side, env, step->step_dir, conf, note, err) < 0 ||
        note_mistyped(env, note, err) < 0)
        return -1;
    return configures_xla(conf)
               ? add_variables(side, env, step->step_dir, conf, err)
               : 0;
}

static bool runs(const struct launch_facts *facts, const struct jp_plan *plan)
{
    (void) facts;
    return plan_side_is_asked(&plan->sides[OPTION_CLOCK]);
}

static int note_idle(const struct launch_facts *facts,
                     const struct jp_plan *plan, char **note,
                     struct jp_error *err)
{
    const struct plan_side *side = &plan->sides[OPTION_CLOCK];
    const struct plan_value *on = plan_find(side, "enabled");
    const char *given = facts->env->given[OPTION_CLOCK];

    /* an option that switches itself off has no effect */
    if (given && strcmp(given, "off") != 0 && !side->mode && on && on->value &&
        on->source == PLAN_OPTION)
        return lines_add(note, err,
                         "--clock-profile has no effect: its enabled=%s "
                         "switches the probes off",
                         on->value);
    return note_trouble(plan, 1, note, err);
}

static int write_xla(const struct jp_jobconf *conf, const char *step_dir,
                     struct jp_error *err)
{
    char *path = configures_xla(conf)
                     ? text_format("%s/" CLOCK_XLA_FILE, step_dir)
                     : NULL;
    /* The stream has a buffer of 32 KiB, too much for a small stack. */
    struct jp_json_stream *s = calloc(1, sizeof(*s));
    const char *output = jobconf_side_find(conf, OPTION_CLOCK, "output_dir");
    struct jp_tempfile file;
    int rc = -1;

    if (!configures_xla(conf)) {
        free(s);
        return 0;
    }
    if (!path || !s || !output)
        error_set(err, "out of memory");
    else
        rc = fileio_temp_open(&file, path, err);
    if (rc == 0) {
        json_stream_open(s, JSON_FILE, file.stream);
        json_stream_bool(s, "enabled", true);
        for (size_t i = 0; i < FIGURES && !figures[i].ours; i++)
            json_stream_count(
                s, figures[i].knob,
                *figure_of((struct jp_jobconf *) conf, &figures[i]) /
                    figures[i].scale);
        json_stream_text(s, "output_dir", output);
        rc = json_stream_close(s, err);
        if (rc < 0)
            fileio_temp_abort(&file);
        else
            rc = fileio_temp_commit(&file, err);
    }
    free(path);
    free(s);
    return rc;
}

/* --- the block ------------------------------------------------------------ */

/* Appends "  key: value (source where; reason)" to the block. */
static int add_row(char **block, const struct jp_setting *s,
                   struct jp_error *err)
{
    /* XLA's guide prints this one as YES. */
    bool on = !strcmp(s->key, "enabled");

    return lines_add(block, err, "  %s: %s (%s%s%s%s%s)", s->key,
                     on ? "YES" : s->value, s->source, *s->where ? " " : "",
                     s->where, *s->reason ? "; " : "", s->reason);
}

/* Whether somebody asked for probes of the clocks: an option, a variable or the
 * user's file. They also run by the site's settings and by default. */
static bool is_asked(const struct jp_jobconf *conf)
{
    for (size_t i = 0; i < conf->sides[OPTION_CLOCK].n_settings; i++) {
        const struct jp_setting *s = &conf->sides[OPTION_CLOCK].settings[i];

        if (!strcmp(s->key, "mode"))
            return strcmp(s->source, plan_source_words[PLAN_DEFAULT]) != 0 &&
                   strcmp(s->source, plan_source_words[PLAN_SITE]) != 0;
    }
    return false;
}

/* In the format of XLA's guide: a line a setting, with its source. */
static int make_block(const struct jp_jobconf *conf, char **block,
                      struct jp_error *err)
{
    char *lines = NULL;
    int rc = 0;

    *block = NULL;
    if (!conf->sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US])
        return 0;
    rc = lines_add(&lines, err, "=== Distributed Profiling Configuration ===");
    for (size_t i = 0; i < conf->sides[OPTION_CLOCK].n_settings && rc == 0; i++)
        if (strcmp(conf->sides[OPTION_CLOCK].settings[i].key, "mode") != 0)
            rc = add_row(&lines, &conf->sides[OPTION_CLOCK].settings[i], err);
    if (rc == 0)
        rc = lines_add(&lines, err,
                       "===========================================");
    if (rc == 0)
        *block = lines;
    else
        free(lines);
    return rc;
}

static int make_block_of(const struct jp_plan *plan,
                         const struct plan_input *env, char **block,
                         struct jp_error *err)
{
    struct jp_jobconf conf = {.nnodes = 2}; /* the smallest step with probes */
    char *note = NULL;
    int rc = 0;

    *block = NULL;
    if (plan->sides[OPTION_CLOCK].trouble || !plan->sides[OPTION_CLOCK].mode)
        return 0;
    rc = add_all(&plan->sides[OPTION_CLOCK], env, "STEP-DIRECTORY", &conf,
                 &note, err);
    if (rc == 0)
        rc = make_block(&conf, block, err);
    settings_free(conf.sides[OPTION_CLOCK].settings,
                  conf.sides[OPTION_CLOCK].n_settings);
    free(conf.sides[OPTION_CLOCK].texts[CLOCK_INTERFACES]);
    free(note);
    return rc;
}

/* XLA's guide finds the block in srun's stderr by grep. */
static char *announce(const struct jp_jobconf *conf, const char *given)
{
    bool alone = conf->nnodes == 1, asked = is_asked(conf);
    bool probes = conf->sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US] > 0;
    char *block = NULL;

    if (probes && !alone && asked) {
        make_block(conf, &block, NULL);
        return block;
    }
    /* the option has no effect; a note may say more */
    if ((alone && asked) || (given && strcmp(given, "off") != 0))
        return text_format(
            "=== Distributed Profiling Configuration ===\n"
            "  enabled: NO (%s)\n"
            "===========================================",
            alone ? "the step has one node, so there are no other clocks"
                  : "by the settings: jobprof config show");
    return NULL;
}

/* "clocks: a probe of each neighbour every 20 ms, an estimate every 4 s" */
static void describe(const struct jp_jobconf *conf, char *buf, size_t len)
{
    const uint32_t *numbers = conf->sides[OPTION_CLOCK].numbers;
    char cadence[32];

    if (!numbers[CLOCK_CADENCE_US])
        snprintf(buf, len, "clocks: no probes between nodes");
    else
        snprintf(buf, len,
                 "clocks: a probe of each neighbour every %s, an estimate "
                 "every %u s",
                 num_format_time_us(numbers[CLOCK_CADENCE_US], cadence,
                                    sizeof(cadence)),
                 numbers[CLOCK_WINDOW_MS] / 1000);
}

/* Why the option has its mode; "" if there is nothing to explain. */
static const char *explain_mode(const struct plan_side *side)
{
    if (side->trouble)
        return side->trouble;
    return side->mode || side->mode_source != PLAN_DEFAULT
               ? ""
               : "auto, in steps of several nodes for which an NCCL profile "
                 "was requested";
}

/* --- the agent ------------------------------------------------------------ */

/* The value of a hexadecimal digit; -1: not one. */
static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* Parses the key of job.conf. False: it is missing or malformed. */
static bool read_key(const char *hex, uint8_t key[MODULE_KEY_BYTES])
{
    if (!hex || strlen(hex) != 2 * MODULE_KEY_BYTES)
        return false;
    for (size_t i = 0; i < MODULE_KEY_BYTES; i++) {
        int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        key[i] = (uint8_t) (high << 4 | low);
    }
    return true;
}

/* Clamps a value to the range of the option, because the user can write to
 * job.conf. */
static uint32_t within(const struct figure *f, uint32_t value)
{
    const struct jp_grammar *grammar = grammar_of(OPTION_CLOCK);
    const struct jp_knob *knob =
        &grammar->knobs[grammar_find_knob(grammar, f->knob)];
    uint64_t min = knob->min * f->scale, max = knob->max * f->scale;

    return (uint32_t) (value < min ? min : value > max ? max : value);
}

bool clock_launch_read(const struct jp_jobconf *conf, struct clock_conf *out)
{
    /* job.conf may have been changed by the user's tasks. A bad key or list
     * turns the probes off; numbers are moved into range. */
    struct clock_conf clock = {0};

    if (!conf->sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US] ||
        !read_key(conf->sides[OPTION_CLOCK].texts[CLOCK_SECRET],
                  clock.net.key) ||
        !conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES] ||
        !is_passable(conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES]))
        return false;
    clock.cadence_us = within(
        &figures[0], conf->sides[OPTION_CLOCK].numbers[CLOCK_CADENCE_US]);
    clock.window_ms =
        within(&figures[1], conf->sides[OPTION_CLOCK].numbers[CLOCK_WINDOW_MS]);
    clock.spacing_us = within(
        &figures[2], conf->sides[OPTION_CLOCK].numbers[CLOCK_SPACING_US]);
    clock.snapshot_ms = within(
        &figures[3], conf->sides[OPTION_CLOCK].numbers[CLOCK_SNAPSHOT_MS]);
    if (conf->sides[OPTION_CLOCK]
            .numbers[CLOCK_CPU_PERMILLE]) /* a job.conf of an older release has
                                             none */
        clock.cpu_permille = within(
            &figures[4], conf->sides[OPTION_CLOCK].numbers[CLOCK_CPU_PERMILLE]);
    snprintf(clock.net.interfaces, sizeof(clock.net.interfaces), "%s",
             conf->sides[OPTION_CLOCK].texts[CLOCK_INTERFACES]);
    *out = clock;
    return true;
}

_Static_assert(sizeof(struct clock_conf) <= MODULE_SETTINGS_BYTES,
               "struct module_told has room");

static void tell_settings(const struct jp_jobconf *conf,
                          struct module_told *told)
{
    struct clock_conf clock;

    if (!clock_launch_read(conf, &clock))
        return;
    told->meets = true;
    told->net = clock.net;
    told->of[OPTION_CLOCK].given = true;
    memcpy(told->of[OPTION_CLOCK].bytes, &clock, sizeof(clock));
}

const struct launch_side clock_side = {
    .runs = runs,
    .idle = note_idle,
    .fill = fill_conf,
    .write = write_xla,
    .describe = describe,
    .block = make_block,
    .shows_block = is_asked,
    .announce = announce,
    .block_of = make_block_of,
    .reason = explain_mode,
    .tell = tell_settings,
};
