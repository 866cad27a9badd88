/* flight_dump.c - read one dump: its groups, its entries, how far it came. */
#include <ctype.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/vector.h"
#include "orchestrator/flight/flight.h"
#include "orchestrator/flight/flight_tree.h"

#define NS_US 1000
#define MEMBERS_MAX 64 /* of an entry; PyTorch writes 24 */
#define TENSORS_MAX 64 /* of an entry, that are looked at */
#define DIMS_MAX 16
#define PG_MAX 1024 /* process groups of a dump */
/* A shared part of a hostile file costs nothing to repeat, so what is read of
 * it is bounded as a whole. */
#define ENTRIES_MAX 300000
#define RANK_BYTES_MAX (16UL << 20)

static int compare_texts(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Returns the text as a permanent copy, the same for equal texts. NULL: no
 * memory. */
static const char *intern(struct jp_flight *flight, const char *text)
{
    char **node = tfind(text, &flight->texts, compare_texts), *copy;

    if (node)
        return *node;
    copy = strdup(text);
    if (!copy || !tsearch(copy, &flight->texts, compare_texts)) {
        free(copy);
        return NULL;
    }
    return copy;
}

/* A dump while it is read. */
struct reading {
    struct jp_flight *flight;
    struct flight_dump *dump;
    struct flight_tree tree;
    size_t rank_bytes; /* of lists of ranks, read so far */
    bool failed;       /* no memory */
};

static const char *keep_text(struct reading *r, const char *text)
{
    const char *kept = intern(r->flight, text);

    r->failed |= !kept;
    return kept ? kept : "";
}

/* --- groups --------------------------------------------------------------- */

/* Reads "[0, 1, 5]". Returns the number, at most max; 0: it is no such list. */
static size_t parse_ranks(const char *text, int64_t *ranks, size_t max)
{
    size_t n = 0;

    for (const char *at = text; *at && n < max;) {
        char *end;
        long long rank;

        if (!isdigit((unsigned char) *at)) {
            at++;
            continue;
        }
        rank = strtoll(at, &end, 10);
        if (rank < 0 || rank >= FLIGHT_RANKS_MAX)
            return 0;
        ranks[n++] = rank;
        at = end;
    }
    return n;
}

/* Finds or adds the group with this name and these ranks. SIZE_MAX: no memory,
 * or too many. */
static size_t find_group(struct reading *r, const char *name, const char *desc,
                         const int64_t *ranks, size_t n)
{
    struct jp_flight *flight = r->flight;
    struct flight_group *more;

    name = keep_text(r, name);
    desc = keep_text(r, strcmp(desc, "undefined") ? desc : "");
    for (size_t i = 0; i < flight->n_groups; i++) {
        struct flight_group *g = &flight->groups[i];

        /* interned texts are equal if they are the same */
        if (g->name == name && g->n_ranks == n &&
            (!n || !memcmp(g->ranks, ranks, n * sizeof(*ranks)))) {
            g->desc = *g->desc ? g->desc : desc;
            return i;
        }
    }
    if (flight->n_groups == FLIGHT_GROUPS_MAX)
        return SIZE_MAX;
    if (VECTOR_DOUBLE(flight->groups, flight->n_groups) < 0 || r->failed) {
        r->failed = true;
        return SIZE_MAX;
    }
    more = &flight->groups[flight->n_groups];
    *more = (struct flight_group){.name = name, .desc = desc, .n_ranks = n};
    more->ranks = malloc((n + 1) * sizeof(*ranks));
    if (!more->ranks) {
        r->failed = true;
        return SIZE_MAX;
    }
    if (n)
        memcpy(more->ranks, ranks, n * sizeof(*ranks));
    return flight->n_groups++;
}

/* The place of a group; it is added if there is none. NULL: no memory, or too
 * many. */
static struct flight_place *place_of(struct reading *r, size_t group)
{
    struct flight_dump *d = r->dump;

    if (group == SIZE_MAX)
        return NULL;
    for (size_t i = 0; i < d->n_places; i++)
        if (d->places[i].group == group)
            return &d->places[i];
    if (d->n_places == PG_MAX)
        return NULL;
    if (VECTOR_DOUBLE(d->places, d->n_places) < 0) {
        r->failed = true;
        return NULL;
    }
    d->places[d->n_places] = (struct flight_place){.group = group,
                                                   .pg_id = -1,
                                                   .low = -1,
                                                   .high = -1,
                                                   .called = -1,
                                                   .ended = -1};
    return &d->places[d->n_places++];
}

const struct flight_place *flight_dump_place(const struct flight_dump *dump,
                                             size_t group)
{
    for (size_t i = 0; i < dump->n_places; i++)
        if (dump->places[i].group == group)
            return &dump->places[i];
    return NULL;
}

bool flight_dump_waits(const struct flight_dump *dump,
                       const struct flight_op *op)
{
    const struct flight_place *place =
        op->message ? flight_dump_place(dump, op->group) : NULL;

    return op->message &&
           (!place || place->ended < 0 || place->ended < op->p2p_seq);
}

/* Reads pg_config: {"42": {"name", "desc", "ranks": "[14, 15]"}}. */
static void read_groups(struct reading *r, const struct flight_value *config)
{
    size_t n, m;
    const struct flight_value *pairs = flight_tree_pairs(&r->tree, config, &n);
    int64_t *ranks = malloc(FLIGHT_RANKS_MAX * sizeof(*ranks));

    r->failed |= !ranks;
    for (size_t i = 0; i < n && i < PG_MAX && !r->failed; i++) {
        const struct flight_value *info =
            flight_tree_pairs(&r->tree, &pairs[2 * i + 1], &m);
        const struct flight_value *list;
        char name[128], desc[128], *text;
        size_t n_ranks = 0;

        if (m > MEMBERS_MAX)
            continue;
        flight_tree_text(&pairs[2 * i], name, sizeof(name));
        flight_tree_text(flight_tree_get(info, m, "desc"), desc, sizeof(desc));
        list = flight_tree_get(info, m, "ranks");
        r->rank_bytes += list ? list->len : 0;
        if (list && list->type == FLIGHT_IS_TEXT &&
            r->rank_bytes <= RANK_BYTES_MAX) {
            text = malloc((size_t) list->len + 1);
            r->failed |= !text;
            if (text) {
                flight_tree_text(list, text, (size_t) list->len + 1);
                n_ranks = parse_ranks(text, ranks, FLIGHT_RANKS_MAX);
            }
            free(text);
        } else {
            const struct flight_value *items =
                flight_tree_items(&r->tree, list, &n_ranks);

            r->rank_bytes += 8 * n_ranks;
            n_ranks = r->rank_bytes <= RANK_BYTES_MAX ? n_ranks : 0;
            n_ranks = n_ranks < FLIGHT_RANKS_MAX ? n_ranks : 0;
            for (size_t k = 0; k < n_ranks; k++)
                if (!flight_tree_int(&items[k], &ranks[k]) || ranks[k] < 0 ||
                    ranks[k] >= FLIGHT_RANKS_MAX)
                    n_ranks = 0;
        }
        place_of(r, find_group(r, name, desc, ranks, n_ranks));
    }
    free(ranks);
}

/* The group that the dump has under this name; else one of unknown ranks. */
static size_t group_named(struct reading *r, const char *name, const char *desc)
{
    for (size_t i = 0; i < r->dump->n_places; i++) {
        size_t group = r->dump->places[i].group;

        if (!strcmp(r->flight->groups[group].name, name))
            return group;
    }
    return find_group(r, name, desc, NULL, 0);
}

/* --- entries -------------------------------------------------------------- */

/* Elements of a list of tensors, each a list of dimensions. */
static uint64_t count_elements(struct reading *r, const struct flight_value *v)
{
    size_t n, m;
    const struct flight_value *tensors = flight_tree_items(&r->tree, v, &n);
    uint64_t sum = 0;

    for (size_t i = 0; i < n && i < TENSORS_MAX; i++) {
        const struct flight_value *dims =
            flight_tree_items(&r->tree, &tensors[i], &m);
        uint64_t product = 1;
        int64_t dim = 0;

        for (size_t k = 0; k < m && k < DIMS_MAX; k++)
            if (!flight_tree_int(&dims[k], &dim) || dim < 0 ||
                __builtin_mul_overflow(product, (uint64_t) dim, &product))
                product = 0;
        if (__builtin_add_overflow(sum, product, &sum))
            return 0;
    }
    return sum;
}

static const char *first_dtype(struct reading *r,
                               const struct flight_value *const lists[2])
{
    char text[32] = "";
    size_t n;

    for (size_t i = 0; i < 2 && !*text; i++) {
        const struct flight_value *items =
            flight_tree_items(&r->tree, lists[i], &n);

        if (n)
            flight_tree_text(&items[0], text, sizeof(text));
    }
    return keep_text(r, text);
}

/* Whether a file is PyTorch's, Python's, an installed package's or native. */
static bool is_library(const char *file)
{
    static const char *const parts[] = {
        "/site-packages/",     "/dist-packages/", "/lib/python",
        "/torch/distributed/", "/torch/_",        "/torch/nn/",
        "/torch/autograd/",    "/torch/utils/"};
    static const char *const ends[] = {".cpp", ".cc", ".c",  ".h",
                                       ".cu",  ".so", ".hpp"};
    size_t len = strlen(file);

    if (!len || *file == '<' || !strcmp(file, "??") ||
        !strncmp(file, "torch/", 6))
        return true;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (strstr(file, parts[i]))
            return true;
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        if (len > strlen(ends[i]) &&
            !strcmp(file + len - strlen(ends[i]), ends[i]))
            return true;
    return false;
}

/* Keeps the frames, which PyTorch lists with the innermost first. */
static void read_frames(struct reading *r, const struct flight_value *list,
                        struct flight_op *op)
{
    size_t n, m;
    const struct flight_value *items = flight_tree_items(&r->tree, list, &n);

    op->where = keep_text(r, "");
    if (!n)
        return;
    n = n < FLIGHT_FRAMES ? n : FLIGHT_FRAMES;
    op->frames = calloc(n, sizeof(*op->frames));
    r->failed |= !op->frames;
    for (size_t i = 0; op->frames && i < n; i++) {
        const struct flight_value *frame =
            flight_tree_pairs(&r->tree, &items[i], &m);
        char file[256], name[96], text[400];
        int64_t line = 0;

        if (m > MEMBERS_MAX)
            continue;
        flight_tree_text(flight_tree_get(frame, m, "filename"), file,
                         sizeof(file));
        flight_tree_text(flight_tree_get(frame, m, "name"), name, sizeof(name));
        flight_tree_int(flight_tree_get(frame, m, "line"), &line);
        snprintf(text, sizeof(text), "%s (%s:%" PRId64 ")", name, file, line);
        op->frames[op->n_frames++] = keep_text(r, text);
        if (!*op->where && !is_library(file)) {
            const char *base = strrchr(file, '/');

            snprintf(text, sizeof(text), "%s:%" PRId64 " (%s)",
                     base ? base + 1 : file, line, name);
            op->where = keep_text(r, text);
        }
    }
}

/* Takes the peer of "send 0->3" or "recv 0<-3": a rank in the group. */
static void read_peer(struct reading *r, const char *func, struct flight_op *op)
{
    const struct flight_group *g = &r->flight->groups[op->group];
    const char *arrow;
    int64_t peer;

    op->peer = -1;
    op->sends = !strncmp(func, "send ", 5);
    arrow = strstr(func, op->sends ? "->" : "<-");
    if (arrow && g->n_ranks &&
        num_parse_i64(arrow + 2, 0, (int64_t) g->n_ranks - 1, &peer, NULL) == 0)
        op->peer = g->ranks[peer];
}

/* Times are in ns, null or 0 if unknown. */
static int64_t time_us(const struct flight_value *value)
{
    int64_t ns = 0;

    return flight_tree_int(value, &ns) && ns > 0 ? ns / NS_US : 0;
}

static int64_t number_of(const struct flight_value *value, int64_t otherwise)
{
    int64_t number;

    return flight_tree_int(value, &number) ? number : otherwise;
}

static bool is_true(const struct flight_value *value)
{
    return value && value->type == FLIGHT_IS_BOOL && value->is.number;
}

/* An entry's members, of which each version has some. */
struct ring_entry {
    const struct flight_value *pairs;
    size_t n;
};

static const struct flight_value *member(const struct ring_entry *e,
                                         const char *key)
{
    return flight_tree_get(e->pairs, e->n, key);
}

/* The group of an entry: ["42", "TENSOR_..."] since version 2, a text or
 * nothing before. */
static size_t entry_group(struct reading *r, const struct ring_entry *e,
                          int64_t id)
{
    const struct flight_value *value = member(e, "process_group");
    char name[128], desc[128];
    size_t n;
    const struct flight_value *items = flight_tree_items(&r->tree, value, &n);

    flight_tree_text(n ? &items[0] : value, name, sizeof(name));
    flight_tree_text(n > 1 ? &items[1] : NULL, desc, sizeof(desc));
    if (!*name)
        snprintf(name, sizeof(name), "%" PRId64, id);
    return group_named(r, name, desc);
}

static enum flight_op_state entry_state(const struct ring_entry *e)
{
    char text[16];

    flight_tree_text(member(e, "state"), text, sizeof(text));
    return !strcmp(text, "completed") ||
                   time_us(member(e, "time_discovered_completed_ns"))
               ? FLIGHT_COMPLETED
           : !strcmp(text, "started") ||
                   time_us(member(e, "time_discovered_started_ns"))
               ? FLIGHT_STARTED
               : FLIGHT_SCHEDULED;
}

/* Notes the latest time of an entry. */
static void note_time(struct flight_dump *d, const struct ring_entry *e)
{
    static const char *const keys[] = {"time_created_ns",
                                       "time_discovered_started_ns",
                                       "time_discovered_completed_ns"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        int64_t us = time_us(member(e, keys[i]));

        d->last_us = us > d->last_us ? us : d->last_us;
    }
}

/* The function's name without its library: "nccl:all_reduce". */
static void read_func(const struct ring_entry *e, char *buf, size_t size)
{
    char text[96], *colon;

    flight_tree_text(member(e, "profiling_name"), text, sizeof(text));
    colon = strchr(text, ':');
    snprintf(buf, size, "%s", colon ? colon + 1 : text);
}

/* Appends an operation. NULL: no memory. */
static struct flight_op *add_op(struct reading *r)
{
    struct flight_dump *d = r->dump;
    struct flight_op *op = VECTOR_ADD(d->ops, d->n_ops, d->ops_room);

    if (op)
        op->peer = -1;
    else
        r->failed = true;
    return op;
}

/* Takes a collective into the range of those that the dump has. */
static void widen(struct flight_place *place, const struct flight_op *op)
{
    if (place->low < 0 || op->seq < place->low) {
        place->low = op->seq;
        place->low_us = op->created_us;
    }
    if (op->seq > place->high) {
        place->high = op->seq;
        place->high_us = op->created_us;
    }
}

/* Marks the entries of the coalesced call that this entry ends, or removes them
 * if it has completed. Only this entry has a state: the state of its parts
 * never changes. */
static void end_coalesced(struct flight_dump *d, const struct flight_op *end)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->n_ops; i++) {
        struct flight_op *op = &d->ops[i];
        bool in =
            op->group == end->group && op->message == end->message &&
            (op->message ? op->p2p_seq == end->p2p_seq : op->seq == end->seq);

        if (in && end->state == FLIGHT_COMPLETED) {
            free(op->frames);
            continue;
        }
        op->part |= in;
        d->ops[kept++] = *op;
    }
    d->n_ops = kept;
}

static void read_entry(struct reading *r, const struct flight_value *value)
{
    struct flight_dump *d = r->dump;
    struct ring_entry e = {0};
    struct flight_place *place;
    struct flight_op op = {.peer = -1}, *kept;
    char func[96];
    bool p2p;

    e.pairs = flight_tree_pairs(&r->tree, value, &e.n);
    if (!e.n || e.n > MEMBERS_MAX) {
        d->left_out++;
        return;
    }
    note_time(d, &e);
    op.record =
        number_of(member(&e, "record_id"), number_of(member(&e, "id"), -1));
    if (!d->entries++ && op.record > 0)
        d->dropped = (uint64_t) op.record;
    op.group = entry_group(r, &e, number_of(member(&e, "pg_id"), -1));
    place = place_of(r, op.group);
    if (!place) {
        d->left_out++;
        return;
    }
    read_func(&e, func, sizeof(func));
    p2p = is_true(member(&e, "is_p2p"));
    op.message = p2p || !strncmp(func, "send ", 5) ||
                 !strncmp(func, "recv ", 5);
    op.seq = number_of(member(&e, "collective_seq_id"),
                       number_of(member(&e, "seq_id"), -1));
    op.p2p_seq = number_of(member(&e, "p2p_seq_id"), 0);
    op.state = entry_state(&e);
    /* The process's own number of the group leads to pg_status. */
    place->pg_id = number_of(member(&e, "pg_id"), -1);
    place->messages |= op.message;
    op.created_us = time_us(member(&e, "time_created_ns"));
    if (!op.message && op.seq >= 0)
        widen(place, &op);
    if (!strcmp(func, "coalesced"))
        end_coalesced(d, &op);
    if (op.state == FLIGHT_COMPLETED) {
        d->completed++;
        return;
    }
    if (d->n_ops == FLIGHT_OPS_MAX) {
        d->left_out++;
        return;
    }
    kept = add_op(r);
    if (!kept)
        return;
    op.func = keep_text(r, func);
    op.in = count_elements(r, member(&e, "input_sizes"));
    op.out = count_elements(r, member(&e, "output_sizes"));
    op.dtype = first_dtype(
        r, (const struct flight_value *const[]){member(&e, "input_dtypes"),
                                                member(&e, "output_dtypes")});
    op.started_us = time_us(member(&e, "time_discovered_started_ns"));
    op.timeout_ms = number_of(member(&e, "timeout_ms"), 0);
    if (op.message)
        read_peer(r, func, &op);
    read_frames(r, member(&e, "frames"), &op);
    *kept = op;
}

/* --- pg_status ------------------------------------------------------------ */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

    return (x > y) - (x < y);
}

/* Numbers the groups that have no entry by the order in which the process made
 * them: group names and the process's own numbers both grow. Does nothing if
 * this order contradicts an entry. */
static void number_groups(struct reading *r, const int64_t *ids, size_t n)
{
    struct flight_dump *d = r->dump;
    int64_t(*names)[2] = calloc(n + 1, sizeof(*names));
    size_t same = 0;

    r->failed |= !names;
    for (size_t i = 0; names && i < d->n_places && d->n_places == n; i++) {
        const char *name = r->flight->groups[d->places[i].group].name;

        if (num_parse_i64(name, 0, INT64_MAX, &names[i][0], NULL) < 0)
            break;
        names[i][1] = (int64_t) i;
        same++;
    }
    if (names && same == n && d->n_places == n) {
        bool fits = true;

        qsort(names, n, sizeof(*names), by_number);
        for (size_t i = 0; i < n; i++) {
            int64_t id = d->places[names[i][1]].pg_id;

            fits &= id < 0 || id == ids[i];
            fits &= !i || names[i][0] != names[i - 1][0];
        }
        for (size_t i = 0; fits && i < n; i++) {
            struct flight_place *place = &d->places[names[i][1]];

            place->ordered = place->pg_id < 0;
            place->pg_id = ids[i];
        }
    }
    free(names);
}

/* Reads {"5": {"last_enqueued_collective": 42826, ...}}. */
static void read_status(struct reading *r, const struct flight_value *status)
{
    size_t n, m;
    const struct flight_value *pairs = flight_tree_pairs(&r->tree, status, &n);
    int64_t *ids;

    if (!n || n > PG_MAX)
        return;
    ids = calloc(n, sizeof(*ids));
    r->failed |= !ids;
    for (size_t i = 0; ids && i < n; i++)
        ids[i] = number_of(&pairs[2 * i], -1);
    if (ids) {
        qsort(ids, n, sizeof(*ids), by_number);
        number_groups(r, ids, n);
    }
    free(ids);
    for (size_t i = 0; i < n; i++) {
        int64_t id = number_of(&pairs[2 * i], -1);
        const struct flight_value *of =
            flight_tree_pairs(&r->tree, &pairs[2 * i + 1], &m);

        if (id < 0 || m > MEMBERS_MAX)
            continue;
        for (size_t k = 0; k < r->dump->n_places; k++) {
            struct flight_place *place = &r->dump->places[k];

            if (place->pg_id != id)
                continue;
            place->called = number_of(
                flight_tree_get(of, m, "last_enqueued_collective"), -1);
            place->ended = number_of(
                flight_tree_get(of, m, "last_completed_collective"), -1);
        }
    }
}

/* --- the rank ------------------------------------------------------------- */

/* The number at the end of the file's name: "_dump_12", "trace_3.json". */
static int64_t number_in_name(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t end = strcspn(name, "."), begin;
    int64_t rank;
    char text[16];

    begin = end;
    while (begin && isdigit((unsigned char) name[begin - 1]))
        begin--;
    if (begin == end || end - begin >= sizeof(text))
        return -1;
    snprintf(text, sizeof(text), "%.*s", (int) (end - begin), name + begin);
    return num_parse_i64(text, 0, FLIGHT_RANKS_MAX - 1, &rank, NULL) == 0 ? rank
                                                                          : -1;
}

/* Whether the rank is in all groups of the dump: PyTorch lists a process's own
 * groups only. */
static bool is_member(const struct reading *r, int64_t rank)
{
    for (size_t i = 0; i < r->dump->n_places; i++) {
        const struct flight_group *g =
            &r->flight->groups[r->dump->places[i].group];
        bool in = !g->n_ranks;

        for (size_t k = 0; k < g->n_ranks && !in; k++)
            in = g->ranks[k] == rank;
        if (!in)
            return false;
    }
    return true;
}

/* Decides the rank: by the caller, by the file's name if the groups do not
 * contradict it, else if only one rank is in all groups. */
static void find_rank(struct reading *r)
{
    struct flight_dump *d = r->dump;
    int64_t named = d->rank >= 0 ? d->rank : number_in_name(d->path);
    const struct flight_group *least = NULL;
    int64_t only = -1;
    size_t n = 0;

    if (named >= 0 && is_member(r, named)) {
        d->rank = named;
        return;
    }
    for (size_t i = 0; i < d->n_places; i++) {
        const struct flight_group *g = &r->flight->groups[d->places[i].group];

        if (g->n_ranks && (!least || g->n_ranks < least->n_ranks))
            least = g;
    }
    for (size_t k = 0; least && k < least->n_ranks; k++)
        if (is_member(r, least->ranks[k])) {
            only = least->ranks[k];
            n++;
        }
    d->rank = n == 1 ? only : -1;
    if (d->rank >= 0)
        return;
    d->bad = true;
    if (named >= 0)
        snprintf(d->why, sizeof(d->why),
                 "its name says rank %" PRId64
                 ", which is not in all of its process groups",
                 named);
    else
        snprintf(
            d->why, sizeof(d->why),
            "its rank is unknown: its name has no number at the end, as in "
            "nccl_trace_rank_3");
}

/* --- all of it ------------------------------------------------------------ */

static void read_values(struct reading *r)
{
    size_t n, m;
    const struct flight_value *root =
        flight_tree_pairs(&r->tree, &r->tree.root, &n);
    const struct flight_value *entries, *items;
    struct flight_dump *d = r->dump;

    /* a dump has six members */
    if (!root || n > 4096 ||
        (!flight_tree_get(root, n, "entries") &&
         !flight_tree_get(root, n, "pg_config") &&
         !flight_tree_get(root, n, "pg_status"))) {
        d->bad = true;
        snprintf(d->why, sizeof(d->why),
                 "it has neither entries nor process groups");
        return;
    }
    flight_tree_text(flight_tree_get(root, n, "version"), d->version,
                     sizeof(d->version));
    flight_tree_text(flight_tree_get(root, n, "nccl_version"), d->nccl,
                     sizeof(d->nccl));
    if (!*d->nccl)
        flight_tree_text(flight_tree_get(root, n, "comm_lib_version"), d->nccl,
                         sizeof(d->nccl));
    read_groups(r, flight_tree_get(root, n, "pg_config"));
    entries = flight_tree_get(root, n, "entries");
    items = flight_tree_items(&r->tree, entries, &m);
    for (size_t i = 0; i < m && i < ENTRIES_MAX && !r->failed; i++)
        read_entry(r, &items[i]);
    d->left_out += m > ENTRIES_MAX ? m - ENTRIES_MAX : 0;
    read_status(r, flight_tree_get(root, n, "pg_status"));
    find_rank(r);
}

int flight_dump_read(struct jp_flight *flight, struct flight_dump *dump,
                     const char *bytes, size_t len, struct jp_error *err)
{
    struct reading r = {.flight = flight, .dump = dump};
    struct jp_error why = {""};
    bool pickle = len && bytes[0] == '\x80';

    if ((pickle ? flight_tree_pickle(&r.tree, bytes, len, &why)
                : flight_tree_json(&r.tree, bytes, len, &why)) < 0) {
        dump->bad = true;
        snprintf(dump->why, sizeof(dump->why), "%.190s", why.text);
    } else {
        read_values(&r);
    }
    flight_tree_fini(&r.tree);
    if (r.failed)
        return error_set(err, "out of memory");
    return dump->bad;
}

void flight_dump_fini(struct flight_dump *dump)
{
    for (size_t i = 0; i < dump->n_ops; i++)
        free(dump->ops[i].frames);
    free(dump->ops);
    free(dump->places);
    free(dump->path);
}
