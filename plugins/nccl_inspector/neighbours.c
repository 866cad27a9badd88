/* neighbours.c - operations of one launch in Inspector's verbose logs. */
#include "plugins/nccl_inspector/neighbours.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 128, LEAST_US = 20 };

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
    struct line lines[MOST];
};

struct neighbours *neighbours_create(launches_take *take, void *arg)
{
    struct neighbours *n = calloc(1, sizeof(*n));

    if (n) {
        n->take = take;
        n->arg = arg;
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

static void copy(struct line *line, const struct record *record)
{
    struct record *r = &line->record;

    *r = *record;
    r->series = 0; /* holds for records in the reader's order only */
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
    return is_plausible(a) && is_plausible(b) &&
           apart(a->exec_us, b->exec_us) <= 1 &&
           2 * apart(a->start_us, b->start_us) <= a->exec_us &&
           2 * apart(a->end_us, b->end_us) <= a->exec_us && a->p2p == b->p2p &&
           a->rank == b->rank && a->pid == b->pid && is_equal(&a->id, &b->id) &&
           is_equal(&a->host, &b->host) &&
           (!a->p2p || is_equal(&a->func, &b->func));
}

int neighbours_flush(struct neighbours *neighbours)
{
    struct launches_member members[MOST];
    size_t n = neighbours->n;
    uint64_t longest_us = 0;
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        struct line *line = &neighbours->lines[i];

        members[i] = (struct launches_member){
            .record = &line->record, .rule = bandwidth_find(line->func)};
        if (line->record.exec_us > longest_us)
            longest_us = line->record.exec_us;
    }
    if (n > 1)
        launches_divide(members, n, longest_us);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = neighbours->take(neighbours->arg, &neighbours->lines[i].record);
    neighbours->n = 0;
    return rc;
}

int neighbours_add(struct neighbours *neighbours, const struct record *record)
{
    size_t n = neighbours->n;
    int rc = 0;

    if (n == MOST ||
        (n > 0 && !is_of_batch(&neighbours->lines[n - 1].record, record)))
        rc = neighbours_flush(neighbours);
    copy(&neighbours->lines[neighbours->n++], record);
    return rc;
}
