/* cause_describe.c - the subject of a finding in terms of the samples, and the
 * sentences about its causes. */
#include "orchestrator/util/cause.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/figure.h"

/* --- the subject ---------------------------------------------------------- */

/* Returns the index of the node of a task; else of the only node with the
 * host's name. Negative: none, or several nodes with one host name. */
static int find_node(const struct jp_nodes *nodes, const char *host,
                     int64_t task)
{
    int found = -1;

    for (size_t i = 0; task >= 0 && i < nodes->n_nodes; i++)
        for (size_t k = 0; k < nodes->nodes[i].n_tasks; k++)
            if (nodes->nodes[i].tasks[k].gtid == (uint64_t) task)
                return (int) i;
    for (size_t i = 0; *host && i < nodes->n_nodes; i++) {
        const struct jp_node *node = &nodes->nodes[i];

        if (strcmp(node->name, host) == 0)
            return (int) i;
        if (node->hostname && strcmp(node->hostname, host) == 0)
            found = found == -1 ? (int) i : -2;
    }
    return found;
}

/* Guesses the subject's GPU: the k-th task of a node has its k-th GPU if there
 * are as many tasks as GPUs; a single GPU belongs to all tasks. Otherwise it
 * stays unknown, because samples of a wrong GPU would accuse it. */
static void guess_gpu(const struct causes_input *in,
                      struct cause_subject *subject)
{
    const struct samples *s = in->samples;
    const struct samples_node *node = &s->nodes[subject->node];
    const struct jp_node *tasks = &in->nodes->nodes[subject->node];
    size_t n = node->n[JP_UTIL_GPU], at = 0, before = 0;
    bool known = false;

    for (size_t i = 0; i < tasks->n_tasks; i++)
        if (tasks->tasks[i].gtid == (uint64_t) subject->task) {
            at = i;
            known = true;
        }
    for (size_t i = 0; known && i < tasks->n_tasks; i++)
        before += tasks->tasks[i].ltid < tasks->tasks[at].ltid;
    if (n == 1)
        before = 0;
    else if (!known || n != tasks->n_tasks || before >= n)
        return;
    snprintf(subject->gpu, sizeof(subject->gpu), "%s",
             s->at[node->first[JP_UTIL_GPU] + before].id);
}

/* Sets the subject's GPU by its PCI bus id, as NCCL's topology has it; else
 * guesses. */
static void find_gpu(const struct causes_input *in,
                     const struct jp_process *who,
                     struct cause_subject *subject)
{
    const struct samples *s = in->samples;
    const struct samples_node *node = &s->nodes[subject->node];
    char id[JP_BUSID];

    for (size_t i = 0; in->places && who && i < who->n; i++) {
        const char *busid =
            in->places[in->processes->by_process[who->first + i]].busid;

        for (size_t k = 0; *busid && k < node->n[JP_UTIL_GPU]; k++) {
            const struct sampled *gpu = &s->at[node->first[JP_UTIL_GPU] + k];

            if (busid_tidy(gpu->id, id) == 0 && strcmp(id, busid) == 0) {
                snprintf(subject->gpu, sizeof(subject->gpu), "%s", gpu->id);
                return;
            }
        }
    }
    guess_gpu(in, subject);
}

/* Returns the task's id if the process is a task of Slurm itself; -1: it is a
 * launcher's worker, or unknown. A rank is no task's id: launchers number their
 * workers as they like. */
static int64_t task_of(const struct causes_input *in,
                       const struct jp_process *who)
{
    for (size_t i = 0; who && who->task >= 0 && i < in->nodes->n_nodes; i++)
        for (size_t k = 0; k < in->nodes->nodes[i].n_tasks; k++)
            if (in->nodes->nodes[i].tasks[k].gtid == (uint64_t) who->task)
                return who->task;
    return -1;
}

/* Whether the node has samples of a task or worker with this name. */
static bool has_samples(const struct causes_input *in, int node, const char *id)
{
    const struct samples *s = in->samples;
    const struct samples_node *at = &s->nodes[node];

    for (size_t i = 0; i < at->n[JP_UTIL_TASK]; i++)
        if (!strcmp(s->at[at->first[JP_UTIL_TASK] + i].id, id))
            return true;
    return false;
}

/* Returns what the recording of a process says of its launcher; NULL: there is
 * no recording, or the process has several GPUs. */
static const struct jp_recorded *recorded_of(const struct causes_input *in,
                                             const struct jp_process *who)
{
    const struct jp_result *r = in->result;

    for (size_t i = 0; r && who && i < r->n_recorded; i++)
        if (r->recorded[i].pid == who->pid &&
            r->recorded[i].instance == who->instance &&
            !strcmp(r->recorded[i].host, who->host))
            return &r->recorded[i];
    return NULL;
}

/* Whether no other recording is of the same task of Slurm: then the samples of
 * the task, with all its children, are those of this process. */
static bool is_only_one(const struct jp_result *r, const struct jp_recorded *of)
{
    for (size_t i = 0; i < r->n_recorded; i++)
        if (&r->recorded[i] != of && r->recorded[i].procid == of->procid &&
            /* several steps of a job have a task of that number */
            !strcmp(r->recorded[i].host, of->host))
            return false;
    return true;
}

/* Sets the name if there are samples of it. */
static bool name_sampled(const struct causes_input *in, struct cause_subject *s,
                         const char *id)
{
    bool there = has_samples(in, s->node, id);

    if (there)
        snprintf(s->sampled, sizeof(s->sampled), "%s", id);
    return there;
}

/* Finds how the samples name the subject's process: a task by its id, a worker
 * by its launcher's task and number (plugins/util/util_tasks.c), the only
 * process of a task by the task. */
static void find_sampled(const struct causes_input *in,
                         const struct jp_process *who, struct cause_subject *s)
{
    const struct jp_recorded *r = recorded_of(in, who);
    char task[24] = "", worker[UTIL_ID_MAX] = "";

    if (r && r->procid >= 0)
        snprintf(task, sizeof(task), "%" PRId64, r->procid);
    for (int kind = 0; *task && kind < LAUNCHED_KINDS && !*worker; kind++)
        if (r->launched.rank[kind] >= 0)
            snprintf(worker, sizeof(worker), "%s/%" PRId64, task,
                     r->launched.rank[kind]);
    if (*worker && name_sampled(in, s, worker))
        return;
    if (s->task >= 0)
        snprintf(s->sampled, sizeof(s->sampled), "%" PRId64, s->task);
    else if (*task && is_only_one(in->result, r))
        name_sampled(in, s, task);
}

/* The task id finds the node exactly, where host names are not unique. For a
 * node or a network there is no task. */
void cause_subject_find(const struct causes_input *in,
                        const struct jp_finding *f, struct cause_subject *s)
{
    const struct jp_process *who = in->processes && f->process >= 0
                                       ? &in->processes->list[f->process]
                                       : NULL;

    *s = (struct cause_subject){.kind = f->kind,
                                .task = task_of(in, who),
                                .has_peers = who && who->has_peers,
                                .whole_node = f->kind == JP_FINDING_LATE_NODE ||
                                              f->kind ==
                                                  JP_FINDING_SLOW_NETWORK ||
                                              f->kind == JP_FINDING_DRIFT};
    if (*f->name)
        snprintf(s->rank, sizeof(s->rank), "%s", f->name);
    else if (f->world_rank >= 0)
        snprintf(s->rank, sizeof(s->rank), "%" PRId64, f->world_rank);
    if (s->whole_node)
        s->task = -1;
    s->node = find_node(in->nodes, f->host, s->task);
    if (s->node < 0)
        return;
    s->name = in->samples->nodes[s->node].name;
    if (s->whole_node)
        return;
    find_sampled(in, who, s);
    find_gpu(in, who, s);
}

/* --- sentences ------------------------------------------------------------ */

#define FIGURE 64

/* Formats a value with its unit: "1,095 MHz", "93 %", "1.2 GiB/s". Returns buf.
 */
static char *say_figure(double v, enum util_unit unit, char buf[FIGURE])
{
    uint64_t whole = v > 0 && v < 1e18 ? (uint64_t) (v + 0.5) : 0;

    switch (unit) {
    case UTIL_MHZ:
        snprintf(buf, FIGURE, "%s MHz", FIG_COUNT(whole));
        break;
    case UTIL_SHARE:
        snprintf(buf, FIGURE, "%s", FIG_SHARE(v));
        break;
    case UTIL_BYTES:
        snprintf(buf, FIGURE, "%s", FIG_BYTES(whole));
        break;
    case UTIL_BYTES_S:
        snprintf(buf, FIGURE, "%s/s", FIG_BYTES(whole));
        break;
    case UTIL_PER_S:
        snprintf(buf, FIGURE, "%s/s", FIG_REAL(v));
        break;
    case UTIL_CORES:
        snprintf(buf, FIGURE, "%.3g cores", v);
        break;
    case UTIL_WATTS:
        snprintf(buf, FIGURE, "%.0f W", v);
        break;
    case UTIL_CELSIUS:
        snprintf(buf, FIGURE, "%.0f C", v);
        break;
    default:
        snprintf(buf, FIGURE, "%s", FIG_REAL(v));
    }
    return buf;
}
#define FIG(v, unit) say_figure((v), (unit), (char[FIGURE]){0})

/* Formats the subject and what it does: "rank 3 (n2) is late". Returns buf. */
static char *say_who(const struct cause_subject *subject, char *buf,
                     size_t size)
{
    const char *node = subject->name ? subject->name : "node not known";

    switch (subject->kind) {
    case JP_FINDING_LATE_RANK:
        snprintf(buf, size, "%s%s (%.64s) is late",
                 *subject->rank ? "rank " : "a rank", subject->rank, node);
        break;
    case JP_FINDING_STALL:
        snprintf(buf, size, "%s%s (%.64s) stalls",
                 *subject->rank ? "rank " : "a rank", subject->rank, node);
        break;
    case JP_FINDING_LONG_WAIT:
        snprintf(buf, size, "%s%s (%.64s) stopped once",
                 *subject->rank ? "rank " : "a rank", subject->rank, node);
        break;
    case JP_FINDING_LATE_NODE:
        snprintf(buf, size, "node %.64s is late", node);
        break;
    default:
        snprintf(buf, size, "the network is slow%s",
                 subject->kind == JP_FINDING_DRIFT ? "er than before" : "");
        if (subject->name)
            snprintf(buf + strlen(buf), size - strlen(buf), " with node %.64s",
                     subject->name);
    }
    return buf;
}

/* Formats where the metric is, unless the subject has it: "at port mlx5_0/1 of
 * n3, ", "at its ports, " (all of the node's). Returns buf. */
static char *say_place(const struct cause_subject *subject,
                       const struct jp_cause *cause, char *buf, size_t size)
{
    bool own = subject->name && !strcmp(cause->node, subject->name);

    *buf = '\0';
    if (cause->scope == JP_UTIL_PORT && own)
        snprintf(buf, size, "at its port%s%.30s, ", *cause->id ? " " : "s",
                 cause->id);
    else if (cause->scope == JP_UTIL_PORT)
        snprintf(buf, size, "at %s%.30s of %.64s, ",
                 *cause->id ? "port " : "the ports", cause->id, cause->node);
    else if (!own)
        snprintf(buf, size, "on %.64s, ", cause->node);
    else if (cause->scope == JP_UTIL_TASK && subject->has_peers)
        /* which of its threads does it is not known */
        snprintf(buf, size, "in its process, which has several GPUs, ");
    return buf;
}

/* Formats " since 10:42:07 UTC"; "" if it was so during the whole run. Returns
 * buf. */
static char *say_since(const struct jp_cause *cause, char *buf, size_t size)
{
    /* keeps the time of day of "2026-11-21 11:02:03 UTC" */
    if (cause->all_along || strlen(FIG_UTC(cause->start_us)) < 20)
        snprintf(buf, size, "%s", "");
    else
        snprintf(buf, size, " since %s", FIG_UTC(cause->start_us) + 11);
    return buf;
}

/* Formats "its SM clock is 1,095 MHz (peers 1,980 MHz)". Returns buf. */
static char *say_metric(const struct cause_row *row,
                        const struct jp_cause *cause, char *buf, size_t size)
{
    const char *after = row->after ? row->after : "";
    int n = snprintf(buf, size, "%s %s%s", row->says,
                     FIG(cause->value, cause->unit), after);

    if (isfinite(cause->peers))
        snprintf(buf + n, size - (size_t) n, " (peers %s)",
                 FIG(cause->peers, cause->unit));
    else if (isfinite(cause->before))
        snprintf(buf + n, size - (size_t) n, " (otherwise %s)",
                 FIG(cause->before, cause->unit));
    return buf;
}

/* "subject; where, metric since". */
void cause_describe(const struct cause_subject *subject,
                    const struct cause_row *row, struct jp_cause *cause)
{
    char who[200], place[120], metric[160], since[40];

    snprintf(cause->text, sizeof(cause->text), "%s; %s%s%s",
             say_who(subject, who, sizeof(who)),
             say_place(subject, cause, place, sizeof(place)),
             say_metric(row, cause, metric, sizeof(metric)),
             say_since(cause, since, sizeof(since)));
}

/* Throttling and a low clock are one event, seen twice: the sentence has both,
 * and the throttling becomes as strong as the clock. */
void cause_describe_reason(const struct cause_subject *subject,
                           struct jp_cause found[JP_CAUSES])
{
    static const struct {
        enum jp_cause_what what;
        const char *metric, *says;
    } reasons[] = {
        {JP_CAUSE_GPU_THERMAL, "throttle_thermal", "thermal slowdown"},
        {JP_CAUSE_GPU_POWER, "throttle_power", "its power limit"},
        {JP_CAUSE_GPU_POWER, "throttle_hardware", "slowdown by the hardware"},
    };
    struct jp_cause *clock = &found[JP_CAUSE_GPU_CLOCK];
    char who[200], since[40], text[sizeof(clock->text)];

    if (!(clock->strength > 0))
        return;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        struct jp_cause *cause = &found[reasons[i].what];

        if (!(cause->strength > 0) ||
            strcmp(cause->metric, reasons[i].metric) != 0)
            continue;
        snprintf(text, sizeof(text),
                 "%s; its SM clock is %s (peers %s), reason: %s in %s of "
                 "samples%s",
                 say_who(subject, who, sizeof(who)),
                 FIG(clock->value, clock->unit), FIG(clock->peers, clock->unit),
                 reasons[i].says, FIG(cause->value, cause->unit),
                 say_since(cause, since, sizeof(since)));
        snprintf(cause->text, sizeof(cause->text), "%s", text);
        /* The lower clock shows the effect of throttling better than the share
         * of throttled samples does. */
        cause->strength = fmax(cause->strength, clock->strength);
    }
}

/* Without a cause the sentence lists what was looked at, so that a reader knows
 * which causes are ruled out and which were never sampled. */
void cause_describe_advice(const struct cause_subject *subject,
                           const struct jp_causes *causes,
                           struct jp_cause_look *look)
{
    struct jp_sentence s;
    char list[300] = "", who[200];

    sentence_init(&s, look->why, sizeof(look->why));
    if (look->n) {
        sentence_add(&s, "%s", causes->at[look->first].text);
    } else {
        for (size_t i = 0; i < look->n_list; i++)
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                     i ? ", " : "", look->list[i]);
        sentence_add(&s, "%s", say_who(subject, who, sizeof(who)));
        sentence_add(
            &s,
            look->n_list
                ? "no sampled metric differs from the peers or from "
                  "earlier samples: examined %s"
                : "no sample tells why: there is none of it, or too few%s",
            list);
    }
    /* Totals of a shared node may be due to other jobs, so they were not
     * compared. */
    if (look->shared)
        sentence_add(&s, "the counters of its node and ports were excluded, "
                         "as other jobs may run there");
}

/* Formats what is to be checked: "port mlx5_0/1 of n2", "the ports of n2".
 * Returns buf. */
static char *say_member(const struct jp_cause *cause, char *buf, size_t size)
{
    /* By scope; a step or a node is named by the node alone. */
    static const char *const words[JP_UTIL_SCOPES] = {[JP_UTIL_TASK] = "task",
                                                      [JP_UTIL_GPU] = "GPU",
                                                      [JP_UTIL_PORT] = "port"};
    const char *word = words[cause->scope];
    const char *worker = strchr(cause->id, '/');

    if (cause->scope == JP_UTIL_TASK && worker) {
        snprintf(buf, size, "worker %.20s of task %.*s of %.40s", worker + 1,
                 (int) (worker - cause->id), cause->id, cause->node);
        return buf;
    }
    if (word && *cause->id)
        snprintf(buf, size, "%s %.30s of %.40s", word, cause->id, cause->node);
    else if (word)
        snprintf(buf, size, "the %ss of %.40s", word, cause->node);
    else
        snprintf(buf, size, "%.40s", cause->node);
    return buf;
}

/* Whether a link is slower than its peers, which the messages need not show:
 * they may wait for the node's ranks. */
static bool is_slow_link(const struct jp_cause *cause)
{
    return cause->scope == JP_UTIL_PORT &&
           (cause->what == JP_CAUSE_PORT_RATE ||
            cause->what == JP_CAUSE_PORT_ERRORS);
}

void causes_apply(const struct jp_causes *causes, struct jp_insight *insight)
{
    struct jp_hypotheses *h = &insight->hypotheses;
    char member[100];

    for (size_t i = 0; causes && i < causes->n_looks; i++) {
        const struct jp_cause_look *look = &causes->looks[i];
        struct jp_finding *f = &insight->findings.at[i];
        const struct jp_cause *best = &causes->at[look->first];

        if (look->n)
            snprintf(f->next, sizeof(f->next), "check %s: %s",
                     say_member(best, member, sizeof(member)),
                     cause_next[best->what]);
    }
    for (size_t i = 0; causes && i < causes->n; i++)
        if (is_slow_link(&causes->at[i]) &&
            h->of[JP_HYPOTHESIS_SLOW_LINK].state != JP_HYPOTHESIS_FOUND)
            hypothesis_set(h, JP_HYPOTHESIS_SLOW_LINK, JP_HYPOTHESIS_FOUND,
                           h->of[JP_HYPOTHESIS_SLOW_LINK].least, "%s",
                           say_member(&causes->at[i], member, sizeof(member)));
}
