/* cmd_config.c - jobprof config: options, help and the way to show or check. */
#include "orchestrator/cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "common/defaults.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd_config.h"

static void usage(FILE *out)
{
    fprintf(out,
            "Usage: jobprof config show|check [OPTION...]\n"
            "  show    the effective settings, each with its source\n"
            "  check   read the site's and your settings file and variables\n"
            "  --config FILE  another site file than " JP_DEF_SITE_FILE "\n"
            "  --json         JSON on stdout\n"
            "  -q, --quiet    only what is wrong\n"
            "  -v, --verbose  say which files are read\n");
}

/* The modes and keys of one option, from its table. */
static void print_grammar(const struct jp_grammar *grammar)
{
    printf("\n%s (%s):\n", grammar->option, grammar->env);
    for (size_t i = 0; i < grammar->n_modes; i++)
        printf("  %-12s %s\n", grammar->modes[i].name, grammar->modes[i].help);
    for (size_t i = 0; i < grammar->n_knobs; i++) {
        const struct jp_knob *knob = &grammar->knobs[i];
        char range[64];

        printf("  %-12s %s (%s%s%s)\n", knob->name, knob->help,
               knob_format_range(knob, range, sizeof(range)),
               knob->def ? "; default " : "", knob->def ? knob->def : "");
    }
}

static int help(void)
{
    usage(stdout);
    print_grammar(&jp_grammar_nccl);
    print_grammar(&jp_grammar_copper);
    return JP_EXIT_OK;
}

void config_say(const char *text)
{
    fputs("jobprof: ", stderr);
    quote_print(stderr, text);
    fputc('\n', stderr);
}

const char *config_site_path(const struct plan_input *in)
{
    return in->config ? in->config : JP_DEF_SITE_FILE;
}

/* Output that did not arrive outweighs what it said. */
static int finish(int rc)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return rc;
    fprintf(stderr, "jobprof: standard output: %s\n", strerror(errno));
    return JP_EXIT_IO;
}

/* Takes one option. 1: help is asked for; -1: unknown. */
static int take(struct config_options *o, int c, const char *value)
{
    switch (c) {
    case 'c':
        o->in.config = value;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case 'v':
        o->verbose = true;
        return 0;
    case 'h':
        return 1;
    default:
        return -1;
    }
}

int cmd_config(int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"json", no_argument, NULL, 'j'},
        {"quiet", no_argument, NULL, 'q'},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct config_options o = {0};
    const char *verb;
    int c, rc = 0;

    optind = 0;
    while (rc == 0 && (c = getopt_long(argc, argv, "hqv", options, NULL)) != -1)
        rc = take(&o, c, optarg);
    if (rc > 0)
        return finish(help());
    verb = rc == 0 && optind + 1 == argc ? argv[optind] : "";
    if (!strcmp(verb, "show"))
        return finish(config_show(&o));
    if (!strcmp(verb, "check"))
        return finish(config_check(&o));
    usage(stderr);
    return JP_EXIT_USAGE;
}
