/* Faults that a run can be told to have, so that reports can be verified. */
#include "contrib/ncclsim/sim_faults.h"

#include <string.h>

#include "common/num.h"

struct jp_sim_fault_kind {
    const char *name;
    const char *syntax;
    const char *help;
    int n_args;
    /* Hooks; NULL where the kind does nothing there. */
    int64_t (*arrival_ns)(const struct jp_sim_fault *fault,
                          const struct jp_sim_fault_site *site);
};

static int64_t late_rank_arrival(const struct jp_sim_fault *fault,
                                 const struct jp_sim_fault_site *site)
{
    if (site->rank != fault->args[0] || site->is_p2p || site->comm_ranks < 2)
        return 0;
    return fault->args[1] * 1000;
}

static const struct jp_sim_fault_kind kinds[] = {
    {
        .name = "late-rank",
        .syntax = "R:USEC",
        .help = "rank R reaches every collective USEC microseconds late",
        .n_args = 2,
        .arrival_ns = late_rank_arrival,
    },
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct jp_sim_fault_kind *find_kind(const char *text, size_t n)
{
    int i;

    for (i = 0; i < N_KINDS; i++) {
        if (strlen(kinds[i].name) == n && strncmp(kinds[i].name, text, n) == 0)
            return &kinds[i];
    }
    return NULL;
}

/* Splits "3:200" at the colons into exactly the kind's number of integers. */
static int parse_args(struct jp_sim_fault *fault, const char *text,
                      struct jp_error *err)
{
    char word[32];
    int i;

    for (i = 0; i < fault->kind->n_args; i++) {
        size_t n = strcspn(text, ":");
        int last = i == fault->kind->n_args - 1;

        if (n >= sizeof(word) || (text[n] == '\0') != last)
            return error_set(err, "want %s", fault->kind->syntax);
        memcpy(word, text, n);
        word[n] = '\0';
        if (num_parse_i64(word, 0, INT32_MAX, &fault->args[i], err) < 0)
            return -1;
        text += n + !last;
    }
    return 0;
}

int sim_faults_add(struct jp_sim_faults *faults, const char *text,
                   struct jp_error *err)
{
    struct jp_sim_fault fault = {0};
    size_t n = strcspn(text, "=");

    fault.kind = text[n] == '=' ? find_kind(text, n) : NULL;
    if (!fault.kind)
        return error_set(err, "unknown fault \"%s\"; see --help", text);
    if (parse_args(&fault, text + n + 1, err) < 0)
        return error_wrap(err, "fault \"%s\"", text);
    if (faults->n == SIM_MAX_FAULTS)
        return error_set(err, "more than %d faults", SIM_MAX_FAULTS);
    faults->list[faults->n++] = fault;
    return 0;
}

int64_t sim_faults_arrival_ns(const struct jp_sim_faults *faults,
                              const struct jp_sim_fault_site *site)
{
    int64_t sum = 0;
    int i;

    for (i = 0; i < faults->n; i++) {
        const struct jp_sim_fault *fault = &faults->list[i];

        if (fault->kind->arrival_ns)
            sum += fault->kind->arrival_ns(fault, site);
    }
    return sum;
}

void sim_faults_help(FILE *out)
{
    int i;

    for (i = 0; i < N_KINDS; i++)
        fprintf(out, "  %s=%s\n        %s\n", kinds[i].name, kinds[i].syntax,
                kinds[i].help);
}
