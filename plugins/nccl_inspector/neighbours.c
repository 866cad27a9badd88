/* neighbours.c - operations of one launch in Inspector's verbose logs. */
#include "plugins/nccl_inspector/neighbours.h"

#include <stdlib.h>
#include <string.h>

/* Where the held records begin depends on the first one's series, so that
 * series which take turns find their texts (copy below). */
enum { MOST = 128, LEAST_US = 20, STARTS = 8 };

/* A record with texts of its own. */
struct line {
    struct record record;
    char id[RECORD_MAX_ID + 1], name[RECORD_MAX_NAME + 1];
    char host[RECORD_MAX_HOST + 1], func[RECORD_MAX_FUNC + 1];
};

struct neighbours {
    launches_take *take;
    void *arg;
    size_t n;
    struct line *held; /* the first of n in lines */
    struct line lines[STARTS + MOST];
};

struct neighbours *neighbours_create(launches_take *take, void *arg)
{
    struct neighbours *n = calloc(1, sizeof(*n));

    if (n) {
        n->take = take;
        n->arg = arg;
        n->held = n->lines;
    }
    return n;
}

void neighbours_destroy(struct neighbours *neighbours)
{
    free(neighbours);
}

static void keep(struct record_text *text, char *to, size_t size)
{
    size_t len = text->len < size ? text->len : size - 1;

    memcpy(to, text->text ? text->text : "", len);
    to[len] = '\0';
    *text = (struct record_text){to, len};
}

/* Records of one series have the same texts, so those of the record that stood
 * here before are often right already. */
static void copy(struct line *line, const struct record *record)
{
    struct record *r = &line->record;

    if (record->series && record->series == r->series) {
        const struct record_text id = r->id, name = r->name, host = r->host,
                                 func = r->func;

        *r = *record;
        r->id = id;
        r->name = name;
        r->host = host;
        r->func = func;
        return;
    }
    *r = *record;
    keep(&r->id, line->id, sizeof(line->id));
    keep(&r->name, line->name, sizeof(line->name));
    keep(&r->host, line->host, sizeof(line->host));
    keep(&r->func, line->func, sizeof(line->func));
}

static bool is_equal(const struct record_text *a, const struct record_text *b)
{
    return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* Whether the host's stamps are of the time that the GPU measured. */
static bool is_plausible(const struct record *r)
{
    uint64_t seen = r->end_us > r->start_us ? r->end_us - r->start_us : 0;

    return r->exec_us >= LEAST_US && 2 * seen >= r->exec_us &&
           seen <= 2 * r->exec_us;
}

static bool is_of_batch(const struct record *a, const struct record *b)
{
    /* what most lines differ in comes first; a, which is held, is plausible */
    return 2 * apart(a->start_us, b->start_us) <= a->exec_us &&
           2 * apart(a->end_us, b->end_us) <= a->exec_us &&
           apart(a->exec_us, b->exec_us) <= 1 && a->p2p == b->p2p &&
           a->rank == b->rank && a->pid == b->pid && is_equal(&a->id, &b->id) &&
           is_equal(&a->host, &b->host) &&
           (!a->p2p || is_equal(&a->func, &b->func));
}

static void divide(struct neighbours *neighbours)
{
    struct launches_member members[MOST];
    uint64_t longest_us = 0;

    for (size_t i = 0; i < neighbours->n; i++) {
        struct line *line = &neighbours->held[i];

        members[i] = (struct launches_member){
            .record = &line->record, .rule = bandwidth_find(line->func)};
        if (line->record.exec_us > longest_us)
            longest_us = line->record.exec_us;
    }
    launches_divide(members, neighbours->n, longest_us);
}

int neighbours_flush(struct neighbours *neighbours)
{
    size_t n = neighbours->n;
    int rc = 0;

    if (n > 1)
        divide(neighbours);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = neighbours->take(neighbours->arg, &neighbours->held[i].record);
    neighbours->n = 0;
    return rc;
}

int neighbours_add(struct neighbours *neighbours, const struct record *record)
{
    bool plausible = is_plausible(record);
    size_t n = neighbours->n;
    int rc = 0;

    if (n > 0 && (n == MOST || !plausible ||
                  !is_of_batch(&neighbours->held[n - 1].record, record)))
        rc = neighbours_flush(neighbours);
    if (rc == 0 && !plausible) /* is of no batch: it need not be held */
        return neighbours->take(neighbours->arg, record);
    if (!neighbours->n)
        neighbours->held = &neighbours->lines[record->series % STARTS];
    copy(&neighbours->held[neighbours->n++], record);
    return rc;
}
