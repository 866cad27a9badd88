/* sim_faults.c - faults that a run can be told to have, so that reports can be
 * verified.
 *
 * A kind of fault is one row of `kinds`: its syntax, its help, and hooks for
 * the places where the program asks. */
#include "contrib/ncclsim/sim_faults.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "common/num.h"
#include "contrib/ncclsim/sim_crash.h"
#include "contrib/ncclsim/sim_random.h"

/* A kind of fault. Types of the arguments, in order: n a number from 0, p one
 * from 1, c a communicator's name, s a signal. A hook is NULL if the kind does
 * nothing there. */
struct jp_sim_fault_kind {
    const char *name;
    const char *syntax;
    const char *types;
    const char *help;
    enum jp_sim_stop stop;
    int at_alltoall; /* it stops at an AlltoAll */
    enum jp_sim_fate fate;
    int (*late)(const struct jp_sim_fault *fault, int rank, int node);
    int64_t (*arrival_ns)(const struct jp_sim_fault *fault,
                          const struct jp_sim_fault_site *site);
    int (*missing)(const struct jp_sim_fault *fault, uint64_t n);
    int64_t (*death_us)(const struct jp_sim_fault *fault, uint64_t seed);
};

/* Whether the fault makes this rank late: the rank itself, or a rank of the
 * node. */
static int is_rank(const struct jp_sim_fault *fault, int rank, int node)
{
    (void) node;
    return rank == fault->args[0];
}

static int is_node(const struct jp_sim_fault *fault, int rank, int node)
{
    (void) rank;
    return node == fault->args[0];
}

/* Returns the delay of a late rank at a collective in ns. With a cause it is
 * measured instead. */
static int64_t late_arrival(const struct jp_sim_fault *fault,
                            const struct jp_sim_fault_site *site)
{
    if (fault->cause || site->is_p2p || site->comm_ranks < 2 ||
        !fault->kind->late(fault, site->rank, site->node) ||
        (*fault->func && (!site->func || strcmp(fault->func, site->func) != 0)))
        return 0;
    return fault->args[1] * 1000;
}

/* Whether the n-th operation reports one channel less. */
static int short_channels(const struct jp_sim_fault *fault, uint64_t n)
{
    return n % (uint64_t) fault->args[0] == 0;
}

/* Returns a random time of death in us. */
static int64_t random_death(const struct jp_sim_fault *fault, uint64_t seed)
{
    uint64_t below = (uint64_t) fault->args[1] * 1000 + 1;

    return (int64_t) sim_random_below(sim_random_mix(seed, 3000), below);
}

static const struct jp_sim_fault_kind kinds[] = {
    {
        .name = "late-rank",
        .syntax = "R:USEC",
        .types = "nn",
        .help = "rank R reaches every collective USEC microseconds late",
        .late = is_rank,
        .arrival_ns = late_arrival,
    },
    {
        .name = "late-node",
        .syntax = "N:USEC",
        .types = "nn",
        .help = "every rank of the N-th node, from 0, does",
        .late = is_node,
        .arrival_ns = late_arrival,
    },
    {
        .name = "destroy",
        .syntax = "COMM:N",
        .types = "cn",
        .help = "COMM is destroyed right after its first N operations and\n"
                "        not used again",
        .fate = SIM_DESTROYED,
    },
    {
        .name = "recreate",
        .syntax = "COMM:N",
        .types = "cn",
        .help = "COMM is destroyed right after its first N operations and\n"
                "        created again, under another id",
        .fate = SIM_RECREATED,
    },
    {
        .name = "hang",
        .syntax = "R:COMM:N",
        .types = "ncn",
        .help = "rank R stops after N operations of COMM; ranks that need it\n"
                "        wait in the operation, until killed or until the end "
                "of --seconds",
        .stop = SIM_HANGS,
    },
    {
        .name = "hang-alltoall",
        .syntax = "R:COMM:N",
        .types = "ncn",
        .help = "rank R stops after N AlltoAll of COMM (world, comm0, ...);\n"
                "        the others wait in the next one",
        .stop = SIM_HANGS,
        .at_alltoall = 1,
    },
    {
        .name = "crash",
        .syntax = "R:COMM:N:SIGNAL",
        .types = "ncns",
        .help = "rank R dies by KILL, SEGV, ABRT or TERM, or by an exception\n"
                "        (RAISE), after N operations of COMM; ranks that need "
                "it\n"
                "        wait as with hang",
        .stop = SIM_CRASHES,
    },
    {
        .name = "short-channels",
        .syntax = "N",
        .types = "p",
        .help = "each N-th operation, also Send and Recv, reports one "
                "channel\n"
                "        less than it announces, as NCCL sometimes does",
        .missing = short_channels,
    },
    {
        .name = "crash-within",
        .syntax = "R:MSEC:SIGNAL",
        .types = "nns",
        .help = "rank R dies at a random moment (--seed) of its first MSEC\n"
                "        milliseconds; the others do not notice",
        .death_us = random_death,
    },
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"KILL", SIGKILL}, {"SEGV", SIGSEGV}, {"RAISE", SIM_CRASH_RAISES},
    {"ABRT", SIGABRT}, {"TERM", SIGTERM},
};

/* Returns the kind whose name has these n bytes, or NULL. */
static const struct jp_sim_fault_kind *find_kind(const char *text, size_t n)
{
    int i;

    for (i = 0; i < N_KINDS; i++) {
        if (strlen(kinds[i].name) == n && strncmp(kinds[i].name, text, n) == 0)
            return &kinds[i];
    }
    return NULL;
}

/* Parses a signal, with or without SIG. */
static int parse_signal(const char *word, int64_t *out, struct jp_error *err)
{
    size_t i;

    if (strncmp(word, "SIG", 3) == 0)
        word += 3;
    for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (strcmp(signals[i].name, word) == 0) {
            *out = signals[i].number;
            return 0;
        }
    }
    return error_set(err, "\"%s\" is not KILL, SEGV, ABRT, TERM or RAISE",
                     word);
}

/* Parses one argument of the given type. *n: index of the next number. */
static int parse_arg(struct jp_sim_fault *fault, char type, int *n,
                     const char *word, struct jp_error *err)
{
    /* a communicator's name, which fits: both have SIM_COMM_NAME bytes */
    if (type == 'c') {
        if (!*word)
            return error_set(err, "the format is %s", fault->kind->syntax);
        memcpy(fault->comm, word, strlen(word) + 1);
        return 0;
    }
    if (type == 's')
        return parse_signal(word, &fault->args[(*n)++], err);
    /* p: from 1 on. n: from 0 on, except that a communicator cannot be
     * destroyed after no operation */
    return num_parse_i64(word, type == 'p' || fault->kind->fate != SIM_STAYS,
                         INT32_MAX, &fault->args[(*n)++], err);
}

/* Parses by=CAUSE, from=TIME, to=TIME or in=FUNC. */
static int parse_option(struct jp_sim_fault *fault, const char *word,
                        struct jp_error *err)
{
    const char *value = strchr(word, '=');
    size_t n = value ? (size_t) (value++ - word) : 0;
    uint64_t us;

    if (!fault->kind->late)
        return error_set(err, "%s has no \"%s\"", fault->kind->name, word);
    if (n == 2 && strncmp(word, "by", n) == 0) {
        fault->cause = sim_cause_find(value);
        return fault->cause
                   ? 0
                   : error_set(err, "no cause \"%s\"; see --help", value);
    }
    if (n == 2 && strncmp(word, "in", n) == 0) {
        if (!*value || strlen(value) >= sizeof(fault->func))
            return error_set(err, "\"%s\" is no function", value);
        memcpy(fault->func, value, strlen(value) + 1);
        return 0;
    }
    if (!(n == 4 && strncmp(word, "from", n) == 0) &&
        !(n == 2 && strncmp(word, "to", n) == 0))
        return error_set(err, "\"%s\" is not by=, from=, to= or in=", word);
    if (num_parse_time_us(value, 0, INT32_MAX * UINT64_C(1000000), &us, err) <
        0)
        return -1;
    *(n == 4 ? &fault->from_us : &fault->to_us) = (int64_t) us;
    return 0;
}

/* Parses the options after the arguments. Cuts text into words. */
static int parse_options(struct jp_sim_fault *fault, char *text,
                         struct jp_error *err)
{
    char *word;

    while ((word = strsep(&text, ",")))
        if (parse_option(fault, word, err) < 0)
            return -1;
    /* only real causes begin and end at a time */
    if ((fault->from_us || fault->to_us) && !fault->cause)
        return error_set(err, "from= and to= need by=");
    if (*fault->func && fault->cause)
        return error_set(err, "in= and by= do not go together");
    if (fault->to_us && fault->to_us <= fault->from_us)
        return error_set(err, "to= is not after from=");
    return 0;
}

/* Splits "3:200" at the colons into exactly the kind's arguments. */
static int parse_args(struct jp_sim_fault *fault, const char *text,
                      struct jp_error *err)
{
    const char *type;
    char word[SIM_COMM_NAME];
    int n_args = 0;

    for (type = fault->kind->types; *type; type++) {
        size_t n = strcspn(text, ":");
        int last = type[1] == '\0';

        if (n >= sizeof(word) || (text[n] == '\0') != last)
            return error_set(err, "the format is %s", fault->kind->syntax);
        memcpy(word, text, n);
        word[n] = '\0';
        if (parse_arg(fault, *type, &n_args, word, err) < 0)
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
    char copy[256];
    char *options = copy;

    /* KIND=ARGS[,OPTIONS]; the copy is cut at the first comma */
    fault.kind = text[n] == '=' ? find_kind(text, n) : NULL;
    if (!fault.kind)
        return error_set(err, "unknown fault \"%s\"; see --help", text);
    if (snprintf(copy, sizeof(copy), "%s", text + n + 1) >= (int) sizeof(copy))
        return error_set(err, "fault \"%s\" is too long", text);
    strsep(&options, ",");
    if (parse_args(&fault, copy, err) < 0 ||
        (options && parse_options(&fault, options, err) < 0))
        return error_wrap(err, "fault \"%s\"", text);
    /* checked last, so that a wrong fault is reported as such */
    if (faults->n == SIM_MAX_FAULTS)
        return error_set(err, "more than %d faults", SIM_MAX_FAULTS);
    faults->list[faults->n++] = fault;
    return 0;
}

/* Whether the fault's communicator is one of the group's kind, and its rank, if
 * the kind of fault has one, is a member. */
static int is_met_in(const struct jp_sim_fault *fault,
                     const struct jp_sim_group *group)
{
    if (group->n == 0 || strcmp(group->label, fault->comm) != 0)
        return 0;
    return fault->kind->stop == SIM_GOES_ON ||
           sim_groups_rank(group, (int) fault->args[0]) >= 0;
}

static int is_met(const struct jp_sim_fault *fault,
                  const struct jp_sim_groups *groups, int n_kinds)
{
    int k, g;

    for (k = 0; k < n_kinds; k++) {
        for (g = 0; g < groups[k].n; g++) {
            if (is_met_in(fault, &groups[k].groups[g]))
                return 1;
        }
    }
    return 0;
}

int sim_faults_check(const struct jp_sim_faults *faults,
                     const struct jp_sim_groups *groups, int n_kinds,
                     int has_alltoall, struct jp_error *err)
{
    int i;

    for (i = 0; i < faults->n; i++) {
        const struct jp_sim_fault *fault = &faults->list[i];

        if (!*fault->comm) /* at no communicator */
            continue;
        if (fault->kind->at_alltoall && !has_alltoall)
            return error_set(err, "%s needs --alltoall", fault->kind->name);
        if (is_met(fault, groups, n_kinds))
            continue;
        if (fault->kind->stop == SIM_GOES_ON)
            return error_set(err, "%s: no communicator is %s",
                             fault->kind->name, fault->comm);
        return error_set(err,
                         "%s: rank %" PRId64 " has no communicator %s, so it "
                         "cannot stop in it",
                         fault->kind->name, fault->args[0], fault->comm);
    }
    return 0;
}

int sim_faults_have_causes(const struct jp_sim_faults *faults)
{
    int i;

    for (i = 0; i < faults->n; i++) {
        if (faults->list[i].cause)
            return 1;
    }
    return 0;
}

int sim_faults_is_late(const struct jp_sim_fault *fault,
                       const struct jp_sim_world *world, int rank)
{
    return fault->kind->late &&
           fault->kind->late(fault, rank, world->node[rank]);
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

enum jp_sim_stop sim_faults_stop(const struct jp_sim_faults *faults,
                                 const struct jp_sim_fault_site *site,
                                 int *signal)
{
    int i;

    for (i = 0; i < faults->n; i++) {
        const struct jp_sim_fault *fault = &faults->list[i];

        if (fault->kind->stop == SIM_GOES_ON ||
            /* AlltoAll are counted separately */
            fault->kind->at_alltoall != site->is_alltoall ||
            site->rank != fault->args[0] ||
            site->op != (uint64_t) fault->args[1] ||
            strcmp(site->comm, fault->comm) != 0)
            continue;
        *signal = (int) fault->args[2];
        return fault->kind->stop;
    }
    return SIM_GOES_ON;
}

enum jp_sim_fate sim_faults_fate(const struct jp_sim_faults *faults,
                                 const struct jp_sim_fault_site *site)
{
    int i;

    for (i = 0; i < faults->n; i++) {
        const struct jp_sim_fault *fault = &faults->list[i];

        if (fault->kind->fate != SIM_STAYS &&
            /* after the operation */
            site->op + 1 == (uint64_t) fault->args[0] &&
            strcmp(site->comm, fault->comm) == 0)
            return fault->kind->fate;
    }
    return SIM_STAYS;
}

int sim_faults_missing(const struct jp_sim_faults *faults, uint64_t n)
{
    int sum = 0;
    int i;

    for (i = 0; i < faults->n; i++) {
        const struct jp_sim_fault *fault = &faults->list[i];

        if (fault->kind->missing)
            sum += fault->kind->missing(fault, n);
    }
    return sum;
}

int64_t sim_faults_death_us(const struct jp_sim_faults *faults, int rank,
                            uint64_t seed, int *signal)
{
    int i;

    for (i = 0; i < faults->n; i++) {
        const struct jp_sim_fault *fault = &faults->list[i];

        if (!fault->kind->death_us || fault->args[0] != rank)
            continue;
        *signal = (int) fault->args[2];
        return fault->kind->death_us(fault, seed);
    }
    return -1;
}

void sim_faults_help(FILE *out)
{
    int i;

    for (i = 0; i < N_KINDS; i++)
        fprintf(out, "  %s=%s\n        %s\n", kinds[i].name, kinds[i].syntax,
                kinds[i].help);
    fputs("COMM is self, tp, dp, world or pp, or comm0, comm1, ... with "
          "--comms. It\n"
          "must exist: tp has the ranks of a node, and not where a node has "
          "one alone.\n"
          "Operations are a communicator's collectives, counted from 0.\n"
          "\n"
          "late-rank and late-node take ,in=FUNC (AllReduce): late at that "
          "function only.\n"
          "They take ,by=CAUSE: then the cause itself makes "
          "the rank late,\n"
          "at each collective; ,from=TIME ,to=TIME limit it to a part of the "
          "program. All\n"
          "ranks then run at the same time and in one folder. USEC is before "
          "each\n"
          "collective:\n",
          out);
    sim_cause_help(out);
}
