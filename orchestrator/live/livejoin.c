/* livejoin.c - join the snapshots of all nodes and apply the rule of hung.h.
 *
 * livejoin_look is called each second. It reads the heads of the files
 * (take_head), and only if a node waits or somebody watches, all snapshots
 * (judge_snapshots). That joins them into one view, lets hung.c and livestall.c
 * decide, reports the news (alert.c), and requests actions from the nodes
 * through the want file (write_want). find_late searches for late ranks less
 * often. */
#include "orchestrator/live/livejoin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/owncost.h"
#include "common/vector.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/live/livewant.h"

#define MS_NS UINT64_C(1000000)
#define NODES_MAX 65536
#define NAME_LEN 40 /* "<component>.<node>.snap" */
/* A node is silent if it has not written for so many of its own periods, plus
 * the spare time. */
#define SILENT_PERIODS 3
#define SILENT_SPARE_MS 5000
/* Reading a head takes 15 us, so looks take at most a thousandth of a
 * processor. With more than 2,000 nodes they are rarer than every 30 s. */
#define MS_A_NODE 15

/* A node, identified by the name of its file. */
struct heard {
    char name[NAME_LEN];
    uint32_t sequence, due_ms;
    uint64_t real_ns;    /* clock of the node */
    uint64_t changed_ms; /* clock of this node, when the sequence number was
                            seen to change */
    enum live_class class;
    bool last;
    uint8_t *kept; /* snapshot received by UDP; NULL: the file is newer */
    uint32_t n_kept;
};

struct livejoin {
    struct livejoin_place place;
    struct alert alert;
    struct livejoin_found found;
    struct heard *nodes;
    size_t n, room, next; /* next: where find_heard starts */
    size_t kept_bytes;
    uint64_t looked_ms, pause_ms; /* time of the last look; minimum pause after
                                     it, by the time that it took */
    uint64_t act_ms;  /* when the action on the hang is due; 0: none */
    uint32_t signals; /* signals requested so far */
    /* of the hang, when it was confirmed */
    char answer[MODULE_HANG_BYTES - 16];
    uint64_t late_ms, late_pause_ms; /* as looked_ms, for who is late */
    struct live_snap snap;           /* one at a time */
    uint8_t head[LIVE_HEAD_BYTES];
};

struct livejoin *livejoin_create(const struct livejoin_place *place)
{
    struct livejoin *join = calloc(1, sizeof(*join));

    if (join) {
        join->place = *place;
        join->alert.place = place->alert;
        join->found.stuck.times = *place->times;
        join->found.stall.times = *place->times;
    }
    return join;
}

void livejoin_destroy(struct livejoin *join)
{
    if (join) {
        alert_fini(&join->alert);
        livelate_fini(&join->found.late);
        for (size_t i = 0; i < join->n; i++)
            free(join->nodes[i].kept);
        free(join->nodes);
    }
    free(join);
}

const struct livejoin_found *livejoin_found(const struct livejoin *join)
{
    return &join->found;
}

/* --- nodes that were heard ----------------------------------------------- */

static bool is_snapshot(const char *name)
{
    size_t len = strlen(name), end = strlen(LIVE_SNAP_SUFFIX);

    return len > end && len < NAME_LEN && name[0] != '.' &&
           !strcmp(name + len - end, LIVE_SNAP_SUFFIX);
}

/* Finds a node by its file name. A folder is usually listed in the same order,
 * so the search starts after the last hit: O(1) instead of O(n) for each name.
 * Returns NULL if the node has not been heard. */
static struct heard *find_heard(struct livejoin *join, const char *name)
{
    for (size_t i = 0; i < join->n; i++) {
        struct heard *h = &join->nodes[(join->next + i) % join->n];

        if (!strcmp(h->name, name)) {
            join->next = (size_t) (h - join->nodes) + 1;
            return h;
        }
    }
    return NULL;
}

/* Finds or adds a node. Returns NULL if there is no room. */
static struct heard *heard_of(struct livejoin *join, const char *name)
{
    struct heard *more = find_heard(join, name);

    if (more || join->n == NODES_MAX)
        return more;
    if (VECTOR_ROOM(join->nodes, join->n + 1, join->room) < 0)
        return NULL;
    more = &join->nodes[join->n++];
    *more = (struct heard){.class = LIVE_EMPTY};
    snprintf(more->name, sizeof(more->name), "%.*s", NAME_LEN - 1, name);
    return more;
}

static bool is_silent(const struct heard *h, uint64_t now_ms)
{
    /* due_ms is foreign input; without the bound a node could never become
     * silent. */
    uint64_t due_ms = h->due_ms < 600000 ? h->due_ms : 600000;

    return !h->last &&
           now_ms - h->changed_ms > SILENT_PERIODS * due_ms + SILENT_SPARE_MS;
}

static void forget_kept(struct livejoin *join, struct heard *h)
{
    join->kept_bytes -= h->n_kept;
    free(h->kept);
    h->kept = NULL;
    h->n_kept = 0;
}

/* Takes the head of a newer snapshot. */
static void take_word(struct heard *h, const struct livesnap_head *head,
                      uint64_t now_ms)
{
    if (h->sequence != head->sequence || !h->changed_ms)
        h->changed_ms = now_ms;
    h->sequence = head->sequence;
    h->real_ns = head->real_ns;
    h->due_ms = head->due_ms;
    h->class = head->class;
    h->last = head->last;
}

/* Snapshots of an earlier step in the same directory have another hash. */
static bool is_of_step(const struct livejoin *join,
                       const struct livesnap_head *head)
{
    uint64_t conf = join->place.conf;

    return !conf || !head->conf || head->conf == conf;
}

/* Whether the node's last snapshot came by UDP so recently that its file cannot
 * be newer. If a packet was lost, this expires and the file is read. */
static bool is_fresh(const struct livejoin *join, const struct heard *h,
                     uint64_t now_ms)
{
    return h && h->kept &&
           now_ms - h->changed_ms <= join->found.stuck.times.ms[HUNG_LOOKS];
}

/* Reads only the head. The checksum covers the whole snapshot, so the head may
 * be torn; it is only a hint. */
static void take_head(struct livejoin *join, int folder, const char *name,
                      uint64_t now_ms)
{
    struct livesnap_head head;
    struct heard *h = find_heard(join, name);
    ssize_t n;
    int fd;

    if (is_fresh(join, h, now_ms))
        return;
    fd = openat(folder, name,
                O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    n = fd >= 0 ? pread(fd, join->head, sizeof(join->head), 0) : -1;
    if (fd >= 0)
        close(fd);
    if (n != (ssize_t) sizeof(join->head) ||
        livesnap_head(join->head, &head) < 0 || !is_of_step(join, &head))
        return;
    h = h ? h : heard_of(join, name);
    if (!h)
        return;
    /* The file is older than what came by UDP. Exception: an agent that was
     * restarted counts from 1 again, and its snapshots are then newer by the
     * clock. */
    if (h->kept && head.sequence <= h->sequence &&
        (head.real_ns <= h->real_ns || !is_silent(h, now_ms)))
        return;
    forget_kept(join, h);
    take_word(h, &head, now_ms);
}

int livejoin_keep(struct livejoin *join, uint64_t component, uint32_t nodeid,
                  size_t *slot, const uint8_t *bytes, size_t n, uint64_t now_ms)
{
    struct livesnap_head head;
    char name[NAME_LEN];
    struct heard *h;
    uint8_t *kept;

    if (n < LIVE_HEAD_BYTES || n > LIVE_SNAP_BYTES ||
        livesnap_head(bytes, &head) < 0 || !is_of_step(join, &head) ||
        head.nodeid != nodeid || head.sequence == 0)
        return -1;
    /* The slot saves the search by name for all but the first packet of a node.
     */
    if (*slot >= join->n) {
        snprintf(name, sizeof(name), "%" PRIu64 ".%u" LIVE_SNAP_SUFFIX,
                 component, nodeid);
        h = heard_of(join, name);
        if (!h)
            return -1;
        *slot = (size_t) (h - join->nodes);
    }
    h = &join->nodes[*slot];
    if (h->changed_ms && head.sequence <= h->sequence)
        return -1;
    /* The memory is bounded: the node's file then takes the place of the
     * packet. */
    if (join->kept_bytes - h->n_kept + n > LIVEJOIN_KEPT_BYTES)
        return -1;
    kept = malloc(n);
    if (!kept)
        return -1;
    memcpy(kept, bytes, n);
    forget_kept(join, h);
    h->kept = kept;
    h->n_kept = (uint32_t) n;
    join->kept_bytes += n;
    take_word(h, &head, now_ms);
    return 0;
}

/* Counts the nodes that were never heard, or not recently. */
static uint32_t count_silent(const struct livejoin *join, uint64_t now_ms)
{
    uint32_t heard = 0;

    for (size_t i = 0; i < join->n; i++)
        heard += !is_silent(&join->nodes[i], now_ms);
    return heard < join->place.nodes ? join->place.nodes - heard : 0;
}

static bool any_waits(const struct livejoin *join)
{
    for (size_t i = 0; i < join->n; i++)
        if (join->nodes[i].class > LIVE_WORKS && !join->nodes[i].last)
            return true;
    return false;
}

/* --- the want file -------------------------------------------------------- */

/* Writes the communicators that nodes should report first: that of the hang,
 * then those of the oldest groups in flight. */
static void put_hashes(FILE *out, const struct jp_hangs *hangs,
                       const struct hung *stuck)
{
    uint64_t last = 0;
    size_t n = 0;

    if (stuck->phase != HUNG_QUIET)
        fprintf(out, "comm 0x%" PRIx64 "\n", stuck->hash);
    for (size_t i = 0; i < hangs->n_groups && n < 12; i++) {
        const struct hangs_op *op = &hangs->ops[hangs->groups[i].first];

        if (hangs->groups[i].age_ns <
                (int64_t) (stuck->times.ms[HUNG_LEAST] * MS_NS / 2) ||
            op->hash == last)
            continue;
        fprintf(out, "comm 0x%" PRIx64 "\n", op->hash);
        last = op->hash;
        n++;
    }
}

/* Writes one process to examine; its own node will find the line. Returns
 * whether it is known. */
static bool put_target(FILE *out, const struct livejoin *join,
                       const struct jp_hangs *hangs, uint32_t process,
                       int64_t rank, bool missing)
{
    const struct hangs_process *p;

    if (process >= hangs->n_processes)
        return false;
    p = &hangs->processes[process];
    fprintf(out, "evidence %u %s %" PRId64 " %s %" PRId64 " %" PRId64 "\n",
            join->alert.hang, p->host, p->pid, missing ? "missing" : "waits",
            p->task, rank);
    return true;
}

/* Writes the processes to examine once a hang is confirmed and was reported:
 * the one that keeps the others, the others that have not come, and some that
 * wait. */
static void put_evidence(FILE *out, const struct livejoin *join,
                         const struct jp_hangs *hangs)
{
    const struct hung_cause *cause = &join->found.stuck.cause;
    const struct hangs_group *group;
    size_t n = 0, victims = 0;

    if (join->found.stuck.phase != HUNG_CONFIRMED || !join->alert.told ||
        cause->group >= hangs->n_groups)
        return;
    group = &hangs->groups[cause->group];
    /* The sentence first, then the cause, the other missing ranks, and the
     * victims. */
    fprintf(out, "hang %u %s\n", join->alert.hang, join->answer);
    n += put_target(out, join, hangs, cause->process, cause->rank, true);
    for (uint32_t i = 0; i < group->n_ranks && n < LIVE_EVIDENCE_ALL; i++)
        if ((group->states[i] == HANGS_MISSING ||
             group->states[i] == HANGS_HELD) &&
            group->processes[i] != cause->process)
            n += put_target(out, join, hangs, group->processes[i], i, true);
    for (size_t i = 0; i < group->n_ops && victims < LIVE_VICTIMS; i++) {
        const struct hangs_op *op = &hangs->ops[group->first + i];

        if (op->process != cause->process)
            victims +=
                put_target(out, join, hangs, op->process, op->rank, false);
    }
}

/* Writes the want file: all nodes write sooner, and these communicators first.
 * Errors are ignored: snapshots then come at the usual pace. */
static void write_want(struct livejoin *join, const struct jp_hangs *hangs)
{
    const struct alert_place *place = &join->place.alert;
    char *path = text_format("%s/" LIVE_WANT, place->dir);
    struct jp_tempfile file;

    if (path && fileio_temp_open(&file, path, NULL) == 0) {
        put_hashes(file.stream, hangs, &join->found.stuck);
        put_evidence(file.stream, join, hangs);
        if (join->signals)
            fprintf(file.stream, "signal %s %u\n", place->on_hang->name,
                    join->signals);
        fileio_temp_commit(&file, NULL);
    }
    free(path);
}

/* --- actions ------------------------------------------------------------- */

/* Takes the action of on_hang when its time has come. */
static void act_on_hang(struct livejoin *join, uint64_t now_ms)
{
    const struct alert_place *place = &join->place.alert;
    uint64_t step;

    if (!join->act_ms || now_ms < join->act_ms)
        return;
    join->act_ms = 0;
    if (place->on_hang->kind == ONHANG_SIGNAL) {
        join->signals++; /* the nodes send it, see want() */
        alert_note(&join->alert, "on_hang: the signal is requested");
    } else if (num_parse_u64(place->step, 0, UINT32_MAX, &step, NULL) == 0) {
        alert_note(&join->alert, "on_hang=cancel: the step is cancelled");
        slurmstep_cancel((uint32_t) place->job, (uint32_t) step);
    }
}

static void print_alert(struct livejoin *join, const struct alert_event *event)
{
    alert_print(&join->alert, event);
    join->found.alerts = join->alert.job_lines;
}

/* Reports the news, and sets or cancels the time of the action. */
static void take_news(struct livejoin *join, const struct livejoin_time *now,
                      const struct hung_view *view, enum hung_news news)
{
    const struct jp_onhang *on_hang = join->place.alert.on_hang;
    int64_t start_ns = join->found.stuck.start_ns;
    const struct alert_event event = {
        .news = news,
        .view = view,
        .stuck = &join->found.stuck,
        .waited_ms = start_ns && (int64_t) now->real_ns > start_ns
                         ? (now->real_ns - (uint64_t) start_ns) / MS_NS
                         : 0};

    /* The action waits for after_ms, so that a hang that ends by itself has no
     * consequences. */
    if (news == HUNG_HANGS &&
        (on_hang->kind == ONHANG_SIGNAL || on_hang->kind == ONHANG_CANCEL))
        join->act_ms = now->mono_ms + on_hang->after_ms;
    if (join->found.stuck.phase != HUNG_CONFIRMED)
        join->act_ms = 0;
    if (news != HUNG_NO_NEWS)
        print_alert(join, &event);
    act_on_hang(join, now->mono_ms);
}

/* Looks for a stall of logs that show only ended operations. A stall is
 * reported, but no action is taken. */
static void look_at_stall(struct livejoin *join, const struct hung_view *view)
{
    enum hung_news news = livestall_look(&join->found.stall, view);
    const struct alert_event event = {
        .news = news,
        .view = view,
        .waited_ms = news == HUNG_GOES_ON ? join->found.stall.was_ms
                                          : join->found.stall.silent_ms,
        .silence = &join->found.stall};

    if (event.news != HUNG_NO_NEWS)
        print_alert(join, &event);
}

/* --- a look -------------------------------------------------------------- */

/* Reads snapshot i from memory or from its file into join->snap. */
static int read_snap(struct livejoin *join, int folder, size_t i)
{
    const struct heard *h = &join->nodes[i];

    return h->kept ? livesnap_unpack(h->kept, h->n_kept, &join->snap, NULL)
                   : livesnap_read(folder, h->name, &join->snap, NULL);
}

/* Adds all snapshots to the sum. *heard_ns is the time of the oldest one. A
 * file that is torn or missing is treated as not heard. */
static int join_all(struct livejoin *join, int folder, struct hangs_sum *sum,
                    struct hung_task **tasks, int64_t *heard_ns)
{
    size_t room = 0;

    *heard_ns = INT64_MAX;
    for (size_t i = 0; i < join->n; i++) {
        size_t have = sum->hangs->n_processes;

        if (read_snap(join, folder, i) < 0)
            continue;
        /* livesnap_join needs room for the largest snapshot. */
        if (VECTOR_ROOM(*tasks, have + LIVE_JOINED_MAX, room) < 0)
            return -1;
        if ((int64_t) join->snap.real_ns < *heard_ns && !join->snap.last)
            *heard_ns = (int64_t) join->snap.real_ns;
        if (livesnap_join(&join->snap, sum, *tasks) < 0)
            return -1;
    }
    return hangs_sum_finish(sum);
}

/* Joins all snapshots, applies the rules, and reports. Returns -1 without
 * memory. */
static int judge_snapshots(struct livejoin *join, int folder,
                           const struct livejoin_time *now,
                           struct jp_error *err)
{
    struct jp_hangs hangs = {0};
    struct hangs_sum sum = {.hangs = &hangs};
    struct hung_view view = {.hangs = &hangs,
                             .progress = &sum.progress,
                             .now_ms = now->mono_ms,
                             .now_ns = (int64_t) now->real_ns,
                             .n_silent = count_silent(join, now->mono_ms)};
    struct hung_task *tasks = NULL;
    int rc = join_all(join, folder, &sum, &tasks, &view.heard_ns);

    view.tasks = tasks;
    if (rc == 0 && hangs.n_processes) {
        enum hung_news news = hung_look(&join->found.stuck, &view);

        /* The evidence quotes this sentence, also after the hang has changed.
         */
        if (news == HUNG_HANGS)
            hung_answer(&view, &join->found.stuck.cause, join->answer,
                        sizeof(join->answer));
        take_news(join, now, &view, news);
        look_at_stall(join, &view);
        if (join->found.stuck.phase != HUNG_QUIET)
            write_want(join, &hangs);
    }
    free(tasks);
    hangs_sum_fini(&sum);
    hangs_fini(&hangs);
    return rc < 0 ? error_set(err, "no memory for the nodes' snapshots") : 0;
}

/* The pause in ms after work that began at began_ns of the thread's processor
 * time: `share` times as long as the work. */
static uint64_t pause_of(uint64_t began_ns, uint64_t share)
{
    return (owncost_thread_ns() - began_ns) * share / MS_NS;
}

/* Finds the ranks that make the others wait. Not during a hang, in which all
 * ranks wait. */
static int find_late(struct livejoin *join, int folder, uint64_t now_ms,
                     struct jp_error *err)
{
    uint64_t began_ns = owncost_thread_ns();
    struct livelate late = {0};
    int rc = 0;

    if (join->found.stuck.phase != HUNG_QUIET ||
        (join->late_ms && now_ms - join->late_ms < join->late_pause_ms))
        return 0;
    join->late_ms = now_ms;
    /* Reading all snapshots is the cost that the pause below limits. */
    for (size_t i = 0; rc == 0 && i < join->n; i++)
        if (read_snap(join, folder, i) == 0)
            rc = livelate_add(&late, &join->snap);
    if (rc == 0)
        rc = livelate_finish(&late);
    livelate_fini(rc == 0 ? &join->found.late : &late);
    if (rc == 0)
        join->found.late = late;
    join->late_pause_ms = pause_of(began_ns, LIVEJOIN_LATE_SHARE);
    return rc < 0 ? error_set(err, "no memory for the nodes' snapshots") : 0;
}

static bool is_due(const struct livejoin *join, uint64_t now_ms, bool urgent)
{
    const uint64_t *ms = join->found.stuck.times.ms;
    uint64_t period = urgent || join->found.stuck.phase != HUNG_QUIET ||
                              join->found.stall.phase != HUNG_QUIET
                          ? ms[HUNG_LOOKS]
                          : ms[HUNG_LEAST];

    /* These limits keep the cost of looking below a share of a processor. */
    if (!urgent && period < (uint64_t) MS_A_NODE * join->place.nodes)
        period = (uint64_t) MS_A_NODE * join->place.nodes;
    if (period < join->pause_ms)
        period = join->pause_ms;
    return !join->looked_ms || now_ms - join->looked_ms >= period;
}

static int look_at_nodes(struct livejoin *join, int folder,
                         const struct livejoin_time *now, bool urgent,
                         struct jp_error *err)
{
    uint64_t began_ns = owncost_thread_ns();
    int own = dup(folder);
    DIR *dir = own < 0 ? NULL : fdopendir(own);
    struct dirent *entry;
    int rc = 0;

    /* Heads first: they show whether reading the rest is worthwhile. */
    while (dir && (entry = readdir(dir)))
        if (is_snapshot(entry->d_name))
            take_head(join, folder, entry->d_name, now->mono_ms);
    if (dir)
        closedir(dir);
    else if (own >= 0)
        close(own);
    if (urgent || any_waits(join) || join->found.stuck.phase != HUNG_QUIET ||
        join->found.stall.phase != HUNG_QUIET)
        rc = judge_snapshots(join, folder, now, err);
    join->pause_ms = pause_of(began_ns, LIVEJOIN_SHARE);
    if (find_late(join, folder, now->mono_ms, err) < 0)
        rc = -1;
    return rc;
}

int livejoin_look(struct livejoin *join, const struct livejoin_time *now,
                  bool urgent, struct jp_error *err)
{
    char *path;
    int folder, rc;

    alert_tick(&join->alert, now->mono_ms);
    if (!is_due(join, now->mono_ms, urgent))
        return 0;
    join->looked_ms = now->mono_ms;
    path = text_format("%s/" LIVE_NODES, join->place.alert.dir);
    folder = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                  : -1;
    free(path);
    if (folder < 0) /* no node has written yet, or the directory is gone */
        return 0;
    rc = look_at_nodes(join, folder, now, urgent, err);
    close(folder);
    return rc;
}
