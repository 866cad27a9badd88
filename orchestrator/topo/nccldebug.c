/* nccldebug.c - collect ranks and transports from the lines of NCCL's log. */
#include "orchestrator/topo/nccldebug.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"

/* --- one line, taken apart: words point into it --------------------------- */

/* "... comm 0x55 rank 0 nranks 8 ... busId 1b000 [commId 0x2a] - Init COMPLETE"
 */
struct nccltext_init {
    uint64_t address; /* 0 not told */
    uint32_t rank, n_ranks;
    bool has_busid, has_id;
    uint64_t busid, id;
    bool complete; /* else START */
};

/* "Channel 02/0 : 3[3] -> 8[0] [send] via NET/IB/0(2)/GDRDMA" */
struct nccltext_channel {
    uint32_t from, to;      /* to: UINT32_MAX for "CollNet 00/0 : 3 [send]" */
    bool receive;           /* the line is the receiver's */
    struct nccltext kind;   /* "P2P" */
    struct nccltext detail; /* "CUMEM", "IB" */
    bool has_device;
    uint32_t device; /* NCCL's number */
    bool gdr;
};

#define INFO " NCCL INFO "

static bool is_word(struct nccltext text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.at, word, text.n) == 0;
}

static struct nccltext behind(struct nccltext text, size_t n)
{
    return (struct nccltext){text.at + n, text.n - n};
}

/* Takes a word off the front; false: it is another one. */
static bool take(struct nccltext *text, const char *word)
{
    size_t n = strlen(word);

    if (text->n < n || memcmp(text->at, word, n) != 0)
        return false;
    *text = behind(*text, n);
    return true;
}

/* What follows a word; false: it is nowhere. */
static bool find(struct nccltext text, const char *word, struct nccltext *out)
{
    const char *hit = memmem(text.at, text.n, word, strlen(word));

    if (!hit)
        return false;
    *out = behind(text, (size_t) (hit - text.at) + strlen(word));
    return true;
}

static bool take_number(struct nccltext *text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    size_t i;

    for (i = 0; i < text->n && text->at[i] >= '0' && text->at[i] <= '9'; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t) (text->at[i] - '0'),
                                   &value) ||
            value > max)
            return false;
    *text = behind(*text, i);
    *out = value;
    return i > 0;
}

static bool take_hex(struct nccltext *text, uint64_t *out)
{
    uint64_t value = 0;
    size_t i;

    for (i = 0; i < text->n && i < 16; i++) {
        char c = text->at[i];

        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t) (c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t) (c - 'a' + 10);
        else
            break;
    }
    *text = behind(*text, i);
    *out = value;
    return i > 0;
}

static bool find_number(struct nccltext said, const char *word, uint32_t *out)
{
    struct nccltext at;
    uint64_t value;

    if (!find(said, word, &at) || !take_number(&at, UINT32_MAX - 1, &value))
        return false;
    *out = (uint32_t) value;
    return true;
}

static bool find_hex(struct nccltext said, const char *word, uint64_t *out)
{
    struct nccltext at;

    return find(said, word, &at) && take_hex(&at, out);
}

/* The last "N" behind a colon, which is cut off. */
static bool cut_number(struct nccltext *text, int64_t *out)
{
    struct nccltext digits;
    uint64_t value;
    size_t n = text->n;

    while (n > 0 && text->at[n - 1] != ':')
        n--;
    if (n == 0)
        return false;
    digits = behind(*text, n);
    if (!take_number(&digits, INT32_MAX, &value) || digits.n)
        return false;
    text->n = n - 1;
    *out = (int64_t) value;
    return true;
}

/* "[rank0]: 2026-01-01 host:pid:tid [0]": whatever others put in front, the
 * name is the last word before the number in brackets. */
bool nccldebug_split(const char *line, size_t len, struct nccltext_line *out)
{
    struct nccltext all = {line, len};
    struct nccltext head;
    size_t n;

    if (!find(all, INFO, &out->said))
        return false;
    head = (struct nccltext){line, len - out->said.n - strlen(INFO)};
    if (head.n == 0 || head.at[head.n - 1] != ']')
        return false;
    for (n = head.n; n > 0 && head.at[n - 1] != '['; n--)
        ;
    if (n < 2 || head.at[n - 2] != ' ')
        return false;
    head.n = n - 2;
    for (n = head.n; n > 0 && head.at[n - 1] != ' '; n--)
        ;
    head = behind(head, n);
    if (!cut_number(&head, &out->tid) || !cut_number(&head, &out->pid) ||
        head.n == 0)
        return false;
    out->host = head;
    for (n = 0; n < head.n; n++)
        if (head.at[n] <= ' ' || head.at[n] > '~' || head.at[n] == '/')
            return false;
    return true;
}

static bool read_init(struct nccltext said, struct nccltext_init *out)
{
    struct nccltext rest;

    *out = (struct nccltext_init){.address = 0};
    out->complete = find(said, "Init COMPLETE", &rest);
    if (!out->complete && !find(said, "Init START", &rest))
        return false;
    if (!find_number(said, " rank ", &out->rank) ||
        !find_number(said, " nranks ", &out->n_ranks) ||
        out->rank >= out->n_ranks)
        return false;
    /* the line begins with "comm 0x" in some releases */
    find_hex(said, "comm 0x", &out->address);
    out->has_busid = find_hex(said, " busId ", &out->busid);
    out->has_id = find_hex(said, " commId 0x", &out->id);
    return true;
}

/* Up to the next slash, which is taken too. */
static struct nccltext take_part(struct nccltext *text)
{
    const char *slash = memchr(text->at, '/', text->n);
    size_t n = slash ? (size_t) (slash - text->at) : text->n;
    struct nccltext part = {text->at, n};

    *text = behind(*text, n + (slash != NULL));
    return part;
}

/* "3[3]" */
static bool take_rank(struct nccltext *text, uint32_t *out)
{
    uint64_t value;
    struct nccltext rest;

    if (!take_number(text, UINT32_MAX - 1, &value))
        return false;
    *out = (uint32_t) value;
    if (take(text, "[")) {
        if (!find(*text, "]", &rest))
            return false;
        *text = rest;
    }
    return true;
}

/* "NET/IB/0(2)/GDRDMA" and its like; a rank behind the number is another's that
 * sends for us. */
static bool take_transport(struct nccltext text, struct nccltext_channel *out)
{
    struct nccltext number;
    uint64_t value;

    while (text.n > 0 &&
           (text.at[text.n - 1] == '\r' || text.at[text.n - 1] == ' '))
        text.n--;
    out->kind = take_part(&text);
    out->detail = take_part(&text);
    if (is_word(out->kind, "NET") || is_word(out->kind, "COLLNET")) {
        struct nccltext rest;

        number = take_part(&text);
        out->has_device = take_number(&number, 65535, &value);
        out->device = out->has_device ? (uint32_t) value : 0;
        out->gdr = find(text, "GDRDMA", &rest);
    }
    return out->kind.n > 0;
}

static bool read_channel(struct nccltext said, struct nccltext_channel *out)
{
    struct nccltext rest, via;
    bool coll = false;

    *out = (struct nccltext_channel){.to = UINT32_MAX};
    if (!take(&said, "Channel ") && !(coll = take(&said, "CollNet ")))
        return false;
    if (!find(said, " : ", &rest) || !find(rest, " via ", &via) ||
        !take_rank(&rest, &out->from))
        return false;
    if (!coll && (!take(&rest, " -> ") || !take_rank(&rest, &out->to)))
        return false;
    out->receive = take(&rest, " [receive]");
    return take_transport(via, out);
}

/* Devices of "NET/IB : Using [0]mlx5_0:1/IB ..." and "NET/IB : Made virtual
 * device [2] name=a+b". net is "IB". Each call takes the next one off rest. */
static bool find_devices(struct nccltext said, struct nccltext *net,
                         struct nccltext *rest)
{
    const char *blank;

    if (!take(&said, "NET/"))
        return false;
    blank = memchr(said.at, ' ', said.n);
    if (!blank)
        return false;
    *net = (struct nccltext){said.at, (size_t) (blank - said.at)};
    said = behind(said, net->n);
    if (!take(&said, " : Using") && !take(&said, " : Made virtual device"))
        return false;
    *rest = said;
    return true;
}

static bool next_device(struct nccltext *rest, uint32_t *number,
                        struct nccltext *name)
{
    uint64_t value;
    size_t n = 0;

    while (find(*rest, "[", rest)) {
        if (!take_number(rest, 65535, &value) || !take(rest, "]"))
            continue; /* "[RO]" */
        take(rest, " name=");
        while (n < rest->n && rest->at[n] > ' ' && rest->at[n] <= '~' &&
               !strchr(":/;,\"\\", rest->at[n]))
            n++;
        *name = (struct nccltext){rest->at, n};
        *rest = behind(*rest, n);
        *number = (uint32_t) value;
        return n > 0;
    }
    return false;
}

/* --- what the lines tell -------------------------------------------------- */

#define MAX_PROCESSES 4096
#define MAX_THREADS 64 /* that are inside an initialisation */
#define MAX_DEVICES 4096
#define NONE UINT32_MAX

const char *const nccldebug_via_word[JP_N_VIAS] = {
    [JP_VIA_P2P] = "P2P",
    [JP_VIA_SHM] = "SHM",
    [JP_VIA_NET] = "NET",
    [JP_VIA_COLLNET] = "COLLNET",
};

/* A thread between Init START and Init COMPLETE. */
struct thread {
    uint32_t process, comm;
    int64_t tid;
};

struct device {
    uint32_t process, number;
    char net[32];
    char name[64];
};

struct nccldebug {
    struct jp_nccl_process *processes;
    size_t n_processes, room_processes;
    struct jp_nccl_rank *ranks;
    size_t n_ranks, room_ranks;
    struct jp_nccl_path *paths;
    size_t n_paths, room_paths;
    uint32_t *slots; /* of paths by hash; index + 1 */
    struct device *devices;
    size_t n_devices, room_devices;
    struct thread threads[MAX_THREADS];
    unsigned n_threads, next_thread;
    uint32_t last_process;
    bool full;
};

#define SLOTS (4u * NCCLDEBUG_MAX_PATHS)

struct nccldebug *nccldebug_create(void)
{
    struct nccldebug *log = calloc(1, sizeof(*log));

    if (log)
        log->slots = calloc(SLOTS, sizeof(*log->slots));
    if (log && log->slots)
        return log;
    free(log);
    return NULL;
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
    free(log->slots);
    free(log->devices);
    free(log);
}

/* Room for one more; NULL without memory. */
static void *grow(void *array, size_t n, size_t *room, size_t size)
{
    void *more;

    if (n < *room)
        return array;
    more = realloc(array, (*room * 2 + 64) * size);
    if (more)
        *room = *room * 2 + 64;
    return more;
}

/* The index; NONE: there is no room (*full) or no memory (-1 in *rc). */
static uint32_t get_process(struct nccldebug *log,
                            const struct nccltext_line *line, int *rc)
{
    struct jp_nccl_process *more;

    for (size_t k = 0; k < log->n_processes; k++) {
        /* mostly the one of the line before */
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
    more = grow(log->processes, log->n_processes, &log->room_processes,
                sizeof(*more));
    if (more)
        log->processes = more;
    if (!more ||
        !(more[log->n_processes].host = strndup(line->host.at, line->host.n))) {
        *rc = -1;
        return NONE;
    }
    more[log->n_processes].pid = line->pid;
    return log->last_process = (uint32_t) log->n_processes++;
}

static struct thread *find_thread(struct nccldebug *log, uint32_t process,
                                  int64_t tid)
{
    for (unsigned i = 0; i < log->n_threads; i++)
        if (log->threads[i].process == process && log->threads[i].tid == tid)
            return &log->threads[i];
    return NULL;
}

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

/* The rank that Init START has told; of split communicators only the address
 * joins the two lines. */
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
            break; /* a thread's START is not that far away */
    }
    return NULL;
}

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
        rank = grow(log->ranks, log->n_ranks, &log->room_ranks, sizeof(*rank));
        if (!rank)
            return -1;
        log->ranks = rank;
        rank += log->n_ranks++;
        *rank = (struct jp_nccl_rank){.process = process,
                                      .address = init->address,
                                      .rank = init->rank,
                                      .n_ranks = init->n_ranks};
    }
    if (init->has_id) { /* as Inspector cuts it */
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

static void copy(char *to, size_t size, struct nccltext from)
{
    size_t n = from.n < size - 1 ? from.n : size - 1;

    for (size_t i = 0; i < n; i++)
        to[i] = from.at[i] >= ' ' && from.at[i] <= '~' ? from.at[i] : '?';
    to[n] = '\0';
}

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

static int take_devices(struct nccldebug *log, uint32_t process,
                        struct nccltext net, struct nccltext rest)
{
    struct device one = {.process = process};
    struct nccltext name;
    struct device *device;

    copy(one.net, sizeof(one.net), net);
    while (next_device(&rest, &one.number, &name)) {
        copy(one.name, sizeof(one.name), name);
        device = find_device(log, process, one.net, one.number);
        if (!device && log->n_devices == MAX_DEVICES) {
            log->full = true;
            return 0;
        }
        if (!device) {
            device = grow(log->devices, log->n_devices, &log->room_devices,
                          sizeof(*device));
            if (!device)
                return -1;
            log->devices = device;
            device += log->n_devices++;
        }
        *device = one;
    }
    return 0;
}

static uint32_t hash_path(const struct jp_nccl_path *p)
{
    uint64_t h = p->process;

    h = h * 0x9e3779b97f4a7c15u + p->comm;
    h = h * 0x9e3779b97f4a7c15u + p->rank;
    h = h * 0x9e3779b97f4a7c15u + p->peer;
    h = h * 0x9e3779b97f4a7c15u + ((unsigned) p->via << 1 | p->gdr);
    for (const char *c = p->detail; *c; c++)
        h = (h ^ (unsigned char) *c) * 0x100000001b3u;
    for (const char *c = p->device; *c; c++)
        h = (h ^ (unsigned char) *c) * 0x100000001b3u;
    return (uint32_t) (h >> 32 ^ h);
}

static bool same_path(const struct jp_nccl_path *a,
                      const struct jp_nccl_path *b)
{
    return a->process == b->process && a->comm == b->comm &&
           a->rank == b->rank && a->peer == b->peer && a->via == b->via &&
           a->gdr == b->gdr && strcmp(a->detail, b->detail) == 0 &&
           strcmp(a->device, b->device) == 0;
}

static int add_path(struct nccldebug *log, const struct jp_nccl_path *path)
{
    uint32_t slot = hash_path(path) % SLOTS;
    struct jp_nccl_path *more;

    for (; log->slots[slot]; slot = (slot + 1) % SLOTS) {
        more = &log->paths[log->slots[slot] - 1];
        if (same_path(more, path)) {
            more->lines++;
            return 0;
        }
    }
    if (log->n_paths == NCCLDEBUG_MAX_PATHS) {
        log->full = true;
        return 0;
    }
    more = grow(log->paths, log->n_paths, &log->room_paths, sizeof(*more));
    if (!more)
        return -1;
    log->paths = more;
    more[log->n_paths] = *path;
    log->slots[slot] = (uint32_t) ++log->n_paths;
    return 0;
}

static int take_channel(struct nccldebug *log, uint32_t process, int64_t tid,
                        const struct nccltext_channel *channel)
{
    struct thread *thread = find_thread(log, process, tid);
    struct jp_nccl_path path = {
        .process = process,
        .comm = thread ? thread->comm : NCCLDEBUG_NO_COMM,
        .rank = channel->receive && channel->to != UINT32_MAX ? channel->to
                                                              : channel->from,
        .peer = channel->receive && channel->to != UINT32_MAX ? channel->from
                                                              : channel->to,
        .gdr = channel->gdr,
        .lines = 1};
    const struct device *device;
    int via = JP_N_VIAS;

    for (int i = 0; i < JP_N_VIAS; i++)
        if (is_word(channel->kind, nccldebug_via_word[i]))
            via = i;
    if (via == JP_N_VIAS)
        return 0;
    path.via = (enum jp_nccl_via) via;
    copy(path.detail, sizeof(path.detail), channel->detail);
    device = channel->has_device
                 ? find_device(log, process, path.detail, channel->device)
                 : NULL;
    /* plugins have names of their own ("IBext_v8") and NCCL's list */
    if (!device && channel->has_device && strncmp(path.detail, "IB", 2) == 0)
        device = find_device(log, process, "IB", channel->device);
    if (device)
        memcpy(path.device, device->name, sizeof(path.device));
    return add_path(log, &path);
}

int nccldebug_line(struct nccldebug *log, const char *text, size_t len)
{
    struct nccltext_line line;
    struct nccltext_init init;
    struct nccltext_channel channel;
    struct nccltext net, rest;
    uint32_t process;
    int rc = 0;

    if (len > NCCLDEBUG_MAX_LINE)
        len = NCCLDEBUG_MAX_LINE;
    if (!nccldebug_split(text, len, &line))
        return 0;
    process = get_process(log, &line, &rc);
    if (process == NONE)
        return rc;
    if (read_channel(line.said, &channel))
        return take_channel(log, process, line.tid, &channel);
    if (read_init(line.said, &init))
        return take_init(log, process, line.tid, &init);
    if (find_devices(line.said, &net, &rest))
        return take_devices(log, process, net, rest);
    return 0;
}

/* The process' only communicator in which it is that rank and has that peer. */
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

void nccldebug_finish(struct nccldebug *log)
{
    struct jp_nccl_path last = {.process = NONE};
    uint32_t comm = NCCLDEBUG_NO_COMM;

    for (size_t i = 0; i < log->n_paths; i++) {
        struct jp_nccl_path *path = &log->paths[i];

        if (path->comm != NCCLDEBUG_NO_COMM)
            continue;
        if (path->process != last.process || path->rank != last.rank ||
            path->peer != last.peer) {
            last = *path;
            comm = only_comm(log, path);
        }
        path->comm = comm;
    }
}

const struct jp_nccl_process *nccldebug_processes(const struct nccldebug *log,
                                                  size_t *n)
{
    *n = log->n_processes;
    return log->processes;
}

const struct jp_nccl_rank *nccldebug_ranks(const struct nccldebug *log,
                                           size_t *n)
{
    *n = log->n_ranks;
    return log->ranks;
}

const struct jp_nccl_path *nccldebug_paths(const struct nccldebug *log,
                                           size_t *n)
{
    *n = log->n_paths;
    return log->paths;
}

bool nccldebug_full(const struct nccldebug *log)
{
    return log->full;
}

/* ------------------------- NCCL's log from a file, within a bound of time */

#define BUFFER (64 * 1024)
/* Logs of COLL grow without end; what is looked for stands in front. */
#define MAX_BYTES (512ull * 1024 * 1024)

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t) ts.tv_sec * 1000 + (uint64_t) ts.tv_nsec / 1000000;
}

bool nccldebug_probe(const char *text, size_t len)
{
    return memmem(text, len, " NCCL INFO ", 11) != NULL;
}

/* Takes the whole lines of the buffer; what is left moves to its front. -1
 * without memory. */
static int take_lines(struct nccldebug *log, char *buffer, size_t *used,
                      bool *inside)
{
    char *at = buffer;
    char *end = buffer + *used;
    char *line;

    while ((line = memchr(at, '\n', (size_t) (end - at)))) {
        if (!*inside && nccldebug_line(log, at, (size_t) (line - at)) < 0)
            return -1;
        *inside = false;
        at = line + 1;
    }
    *used = (size_t) (end - at);
    if (*used == BUFFER) { /* one line fills it: its head is enough */
        if (!*inside && nccldebug_line(log, at, *used) < 0)
            return -1;
        *inside = true;
        *used = 0;
    }
    memmove(buffer, at, *used);
    return 0;
}

static int read_lines(struct nccldebug *log, int fd, const char *path,
                      uint64_t deadline_ms, struct jp_error *err)
{
    char buffer[BUFFER];
    size_t used = 0;
    uint64_t total = 0;
    bool inside = false; /* a line whose head was taken */

    while (true) {
        ssize_t n = read(fd, buffer + used, sizeof(buffer) - used);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(err, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        used += (size_t) n;
        total += (uint64_t) n;
        if (take_lines(log, buffer, &used, &inside) < 0)
            return error_set(err, "%s: out of memory", path);
        if (total > MAX_BYTES || now_ms() > deadline_ms)
            return 1;
    }
    if (used && !inside && nccldebug_line(log, buffer, used) < 0)
        return error_set(err, "%s: out of memory", path);
    return 0;
}

int nccldebug_file(struct nccldebug *log, const char *path,
                   uint64_t deadline_ms, struct jp_error *err)
{
    int fd = fileio_open_regular(path, false, err);
    int rc;

    if (fd < 0)
        return -1;
    rc = read_lines(log, fd, path, deadline_ms, err);
    close(fd);
    return rc;
}
