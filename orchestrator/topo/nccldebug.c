/* nccldebug.c - collect ranks and transports from the lines of NCCL's log.
 *
 * nccldebug_file reads a file, nccldebug_line one line (taken apart by
 * nccltext.c). A line about a channel is tied to a communicator by its address,
 * or by the initialisation its thread is in (tie), or at the end by elimination
 * (nccldebug_finish). */
#include "orchestrator/topo/nccldebug.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/lines.h"
#include "common/vector.h"

/* --- what the lines contain ----------------------------------------------- */

#define MAX_PROCESSES 4096
#define MAX_THREADS 64 /* inside an initialisation at the same time */
#define MAX_DEVICES 4096
#define NONE UINT32_MAX

/* A thread between Init START and Init COMPLETE. */
struct thread {
    uint32_t process, comm;
    int64_t tid;
};

/* A network device that NCCL has listed. */
struct device {
    uint32_t process, number;
    /* "IB", "Socket", or a plugin's name */
    char net[32];
    char name[64];
    /* "IB", "RoCE" or "" */
    char layer[8];
};

struct nccldebug {
    struct jp_nccl_process *processes;
    size_t n_processes, room_processes;
    struct jp_nccl_rank *ranks;
    size_t n_ranks, room_ranks;
    struct jp_nccl_path *paths;
    size_t n_paths, room_paths;
    struct hash_table by_path;
    struct device *devices;
    size_t n_devices, room_devices;
    /* threads inside an initialisation */
    struct thread threads[MAX_THREADS];
    /* next_thread: the slot to overwrite if all are in use */
    unsigned n_threads, next_thread;
    uint32_t last_process; /* that of the previous line */
    bool full;             /* something was left out */
};

struct nccldebug *nccldebug_create(void)
{
    return calloc(1, sizeof(struct nccldebug));
}

void nccldebug_destroy(struct nccldebug *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->n_processes; i++)
        free(log->processes[i].host);
    free(log->processes);
    free(log->ranks);
    free(log->paths);
    hash_fini(&log->by_path);
    free(log->devices);
    free(log);
}

/* Finds or adds the line's process. Returns its index; NONE if there is no room
 * (log->full is set) or no memory (*rc is -1). */
static uint32_t get_process(struct nccldebug *log,
                            const struct nccltext_line *line, int *rc)
{
    for (size_t k = 0; k < log->n_processes; k++) {
        /* usually that of the previous line */
        size_t i = (log->last_process + k) % log->n_processes;
        const struct jp_nccl_process *p = &log->processes[i];

        if (p->pid == line->pid && strlen(p->host) == line->host.n &&
            memcmp(p->host, line->host.at, line->host.n) == 0)
            return log->last_process = (uint32_t) i;
    }
    if (log->n_processes == MAX_PROCESSES ||
        line->host.n > NCCLDEBUG_MAX_HOST) {
        log->full = true;
        return NONE;
    }
    if (VECTOR_ROOM(log->processes, log->n_processes + 1, log->room_processes) <
            0 ||
        !(log->processes[log->n_processes].host =
              strndup(line->host.at, line->host.n))) {
        *rc = -1;
        return NONE;
    }
    log->processes[log->n_processes].pid = line->pid;
    return log->last_process = (uint32_t) log->n_processes++;
}

/* NULL: the thread is in no initialisation. */
static struct thread *find_thread(struct nccldebug *log, uint32_t process,
                                  int64_t tid)
{
    for (unsigned i = 0; i < log->n_threads; i++)
        if (log->threads[i].process == process && log->threads[i].tid == tid)
            return &log->threads[i];
    return NULL;
}

/* Notes that the thread initialises the communicator. If too many do, the
 * oldest entry is overwritten. */
static void enter(struct nccldebug *log, uint32_t process, int64_t tid,
                  uint32_t comm)
{
    struct thread *thread = find_thread(log, process, tid);

    if (!thread && log->n_threads < MAX_THREADS)
        thread = &log->threads[log->n_threads++];
    if (!thread)
        thread = &log->threads[log->next_thread++ % MAX_THREADS];
    *thread = (struct thread){process, comm, tid};
}

/* Finds the rank that Init START has announced. For split communicators only
 * the address joins the two lines. */
static struct jp_nccl_rank *find_rank(struct nccldebug *log, uint32_t process,
                                      const struct nccltext_init *init)
{
    for (size_t i = log->n_ranks; i-- > 0;) {
        struct jp_nccl_rank *r = &log->ranks[i];

        if (r->process == process && r->address == init->address &&
            r->rank == init->rank && r->n_ranks == init->n_ranks &&
            !r->complete)
            return r;
        if (log->n_ranks - i > 4096)
            break; /* the START of a thread is not that far away */
    }
    return NULL;
}

/* Takes an Init line: adds the rank, or completes it. */
static int take_init(struct nccldebug *log, uint32_t process, int64_t tid,
                     const struct nccltext_init *init)
{
    struct jp_nccl_rank *rank = find_rank(log, process, init);
    struct thread *thread = find_thread(log, process, tid);
    char full[24];

    if (!rank && log->n_ranks == NCCLDEBUG_MAX_COMMS) {
        log->full = true;
        return 0;
    }
    if (!rank) {
        if (VECTOR_ROOM(log->ranks, log->n_ranks + 1, log->room_ranks) < 0)
            return -1;
        rank = &log->ranks[log->n_ranks++];
        *rank = (struct jp_nccl_rank){.process = process,
                                      .address = init->address,
                                      .rank = init->rank,
                                      .n_ranks = init->n_ranks};
    }
    if (init->has_id) { /* truncated like Inspector's */
        snprintf(full, sizeof(full), "0x%" PRIx64, init->id);
        snprintf(rank->id, sizeof(rank->id), "%.16s", full);
    }
    if (init->has_busid)
        busid_of_nccl(init->busid, rank->busid);
    rank->complete = init->complete;
    if (!init->complete)
        enter(log, process, tid, (uint32_t) (rank - log->ranks));
    else if (thread)
        *thread = log->threads[--log->n_threads];
    return 0;
}

/* Copies and truncates; unprintable characters become '?'. */
static void copy_text(char *to, size_t size, struct nccltext from)
{
    size_t n = from.n < size - 1 ? from.n : size - 1;

    for (size_t i = 0; i < n; i++)
        to[i] = from.at[i] >= ' ' && from.at[i] <= '~' ? from.at[i] : '?';
    to[n] = '\0';
}

/* Searches backwards: a later list replaces an earlier one. */
static struct device *find_device(struct nccldebug *log, uint32_t process,
                                  const char *net, uint32_t number)
{
    for (size_t i = log->n_devices; i-- > 0;)
        if (log->devices[i].process == process &&
            log->devices[i].number == number &&
            strcmp(log->devices[i].net, net) == 0)
            return &log->devices[i];
    return NULL;
}

/* Takes a line that lists devices. */
static int take_devices(struct nccldebug *log, uint32_t process,
                        const struct nccltext_devices *devices)
{
    struct nccltext rest = devices->rest;
    struct device one = {.process = process};
    struct nccltext_device next;
    struct device *device;

    /* All devices of the line belong to this network. */
    copy_text(one.net, sizeof(one.net), devices->net);
    while (nccltext_next_device(&rest, &next)) {
        one.number = next.number;
        copy_text(one.name, sizeof(one.name), next.name);
        copy_text(one.layer, sizeof(one.layer), next.layer);
        /* A later list replaces an earlier one. */
        device = find_device(log, process, one.net, one.number);
        if (!device && log->n_devices == MAX_DEVICES) {
            log->full = true;
            return 0;
        }
        if (!device) {
            if (VECTOR_ROOM(log->devices, log->n_devices + 1,
                            log->room_devices) < 0)
                return -1;
            device = &log->devices[log->n_devices++];
        }
        *device = one;
    }
    return 0;
}

/* Lines of a channel repeat for each of its connections, so paths are looked up
 * often. */
static uint64_t hash_path(const struct jp_nccl_path *p)
{
    uint64_t h = hash_word(hash_start(), p->process);

    h = hash_word(h, (uint64_t) p->comm << 32 | p->rank);
    h = hash_word(h, p->peer);
    h = hash_word(h, (unsigned) p->via << 2 | (unsigned) p->pxn << 1 | p->gdr);
    return hash_text(hash_text(h, p->detail), p->device);
}

/* All that a path is keyed by; only the number of lines is not compared. */
static bool same_path(const struct jp_nccl_path *a,
                      const struct jp_nccl_path *b)
{
    return a->process == b->process && a->comm == b->comm &&
           a->rank == b->rank && a->peer == b->peer && a->via == b->via &&
           a->gdr == b->gdr && a->pxn == b->pxn &&
           strcmp(a->layer, b->layer) == 0 &&
           strcmp(a->detail, b->detail) == 0 &&
           strcmp(a->device, b->device) == 0;
}

/* Adds a path, or counts one more line of it. */
static int add_path(struct nccldebug *log, const struct jp_nccl_path *path)
{
    uint64_t hash = hash_path(path);
    uint32_t at;

    for (size_t i = 0; (at = hash_next(&log->by_path, hash, &i)) != HASH_NONE;)
        if (same_path(&log->paths[at], path)) {
            log->paths[at].lines++;
            return 0;
        }
    if (log->n_paths == NCCLDEBUG_MAX_PATHS) {
        log->full = true;
        return 0;
    }
    if (VECTOR_ROOM(log->paths, log->n_paths + 1, log->room_paths) < 0 ||
        hash_add(&log->by_path, hash, (uint32_t) log->n_paths) < 0)
        return -1;
    log->paths[log->n_paths++] = *path;
    return 0;
}

/* Returns the communicator that a line is about. By address: the youngest one,
 * because addresses are reused. Without an address: the one that its thread
 * initialises. */
static uint32_t tie(struct nccldebug *log, uint32_t process, int64_t tid,
                    uint64_t address)
{
    const struct thread *thread = find_thread(log, process, tid);

    for (size_t i = log->n_ranks; address && i-- > 0;)
        if (log->ranks[i].process == process &&
            log->ranks[i].address == address)
            return (uint32_t) i;
    return !address && thread ? thread->comm : NCCLDEBUG_NO_COMM;
}

/* Sets the link layer if all InfiniBand and RoCE ports of the process have the
 * same. */
static void only_layer(const struct nccldebug *log, uint32_t process,
                       char layer[8])
{
    const struct device *first = NULL;

    for (size_t i = 0; i < log->n_devices; i++) {
        const struct device *d = &log->devices[i];

        if (d->process != process || strncmp(d->net, "IB", 2) != 0 ||
            !*d->layer)
            continue;
        if (first && strcmp(first->layer, d->layer) != 0)
            return;
        first = d;
    }
    if (first)
        memcpy(layer, first->layer, sizeof(first->layer));
}

/* Takes a line about a channel. */
static int take_channel(struct nccldebug *log, uint32_t process, int64_t tid,
                        const struct nccltext_channel *channel)
{
    struct jp_nccl_path path = {
        .process = process,
        .comm = tie(log, process, tid, channel->address),
        /* The path is that of this process's rank to its peer, so a receiver's
         * line is turned around. */
        .rank = channel->receive && channel->to != UINT32_MAX ? channel->to
                                                              : channel->from,
        .peer = channel->receive && channel->to != UINT32_MAX ? channel->from
                                                              : channel->to,
        .via = channel->via,
        .gdr = channel->gdr,
        .pxn = channel->pxn,
        .lines = 1};
    const struct device *device;

    if (path.via == JP_N_VIAS)
        return 0;
    copy_text(path.detail, sizeof(path.detail), channel->detail);
    device = channel->has_device
                 ? find_device(log, process, path.detail, channel->device)
                 : NULL;
    /* A plugin has its own name ("IBext_v8"), but uses NCCL's list of devices.
     */
    if (!device && channel->has_device && strncmp(path.detail, "IB", 2) == 0)
        device = find_device(log, process, "IB", channel->device);
    if (device)
        memcpy(path.device, device->name, sizeof(path.device));
    if (device)
        memcpy(path.layer, device->layer, sizeof(path.layer));
    if (!*path.layer && strncmp(path.detail, "IB", 2) == 0)
        only_layer(log, process, path.layer);
    return add_path(log, &path);
}

/* Returns the communicator of a line without an address: the only one of its
 * process. */
static uint32_t of_process(const struct nccldebug *log, uint32_t process)
{
    uint32_t only = NCCLDEBUG_NO_COMM;

    for (size_t i = 0; i < log->n_ranks; i++) {
        if (log->ranks[i].process != process)
            continue;
        if (only != NCCLDEBUG_NO_COMM)
            return NCCLDEBUG_NO_COMM;
        only = (uint32_t) i;
    }
    return only;
}

/* Takes what a line says about its communicator as a whole. */
static void take_fact(struct nccldebug *log, uint32_t process, int64_t tid,
                      const struct nccltext_fact *fact)
{
    uint32_t comm = tie(log, process, tid, fact->address);
    struct jp_nccl_rank *rank;

    if (comm == NCCLDEBUG_NO_COMM && !fact->address)
        comm = of_process(log, process);
    if (comm == NCCLDEBUG_NO_COMM)
        return;
    rank = &log->ranks[comm];
    rank->nvls |= fact->nvls;
    rank->collnet |= fact->collnet;
    if (!fact->has_nvls_channels)
        return;
    rank->told_channels = true;
    rank->nvls_channels = fact->nvls_channels;
}

/* The process is noted even if the line has nothing else that is used. */
int nccldebug_line(struct nccldebug *log, const char *text, size_t len)
{
    struct nccltext_line line;
    uint32_t process;
    int rc = 0;

    if (len > NCCLDEBUG_MAX_LINE)
        len = NCCLDEBUG_MAX_LINE;
    if (!nccltext_read(text, len, &line))
        return 0;
    process = get_process(log, &line, &rc);
    if (process == NONE)
        return rc;
    switch (line.kind) {
    case NCCLTEXT_CHANNEL:
        return take_channel(log, process, line.tid, &line.channel);
    case NCCLTEXT_INIT:
        return take_init(log, process, line.tid, &line.init);
    case NCCLTEXT_DEVICES:
        return take_devices(log, process, &line.devices);
    case NCCLTEXT_FACT:
        take_fact(log, process, line.tid, &line.fact);
        break;
    case NCCLTEXT_OTHER:
        break;
    }
    return 0;
}

/* Returns the process's only communicator in which it has that rank and the
 * peer exists. */
static uint32_t only_comm(const struct nccldebug *log,
                          const struct jp_nccl_path *path)
{
    uint32_t found = NCCLDEBUG_NO_COMM;

    for (size_t i = 0; i < log->n_ranks; i++) {
        const struct jp_nccl_rank *r = &log->ranks[i];

        if (r->process != path->process || r->rank != path->rank ||
            (path->peer != NCCLDEBUG_NO_PEER && r->n_ranks <= path->peer))
            continue;
        if (found != NCCLDEBUG_NO_COMM)
            return NCCLDEBUG_NO_COMM;
        found = (uint32_t) i;
    }
    return found;
}

/* Elimination needs all communicators of a process, so it waits for the last
 * line. */
struct nccldebug_told nccldebug_finish(struct nccldebug *log)
{
    struct jp_nccl_path last = {.process = NONE};
    uint32_t comm = NCCLDEBUG_NO_COMM;

    for (size_t i = 0; i < log->n_paths; i++) {
        struct jp_nccl_path *path = &log->paths[i];

        if (path->comm != NCCLDEBUG_NO_COMM)
            continue;
        /* Paths of one rank and peer are adjacent, so the last answer is
         * reused. */
        if (path->process != last.process || path->rank != last.rank ||
            path->peer != last.peer) {
            last = *path;
            comm = only_comm(log, path);
        }
        path->comm = comm;
    }
    return (struct nccldebug_told){.processes = log->processes,
                                   .n_processes = log->n_processes,
                                   .ranks = log->ranks,
                                   .n_ranks = log->n_ranks,
                                   .paths = log->paths,
                                   .n_paths = log->n_paths,
                                   .full = log->full};
}

/* ------------------------- NCCL's log from a file, in limited time */

/* Any line of INFO will do. */
bool nccldebug_probe(const char *text, size_t len)
{
    return memmem(text, len, " NCCL INFO ", 11) != NULL;
}

int nccldebug_file(struct nccldebug *log, const char *path,
                   uint64_t deadline_ms, struct jp_error *err)
{
    struct jp_lines *lines = lines_open(path, &lines_limits[LINES_DEBUG], err);
    char *line;
    size_t len;
    int rc;

    if (!lines)
        return -1;
    lines_end_at(lines, deadline_ms);
    while ((rc = lines_next(lines, &line, &len, err)) > 0)
        if (nccldebug_line(log, line, len) < 0) {
            rc = error_set(err, "%s: out of memory", path);
            break;
        }
    if (rc == 0 && lines_left(lines)->early)
        rc = 1;
    lines_close(lines);
    return rc;
}
