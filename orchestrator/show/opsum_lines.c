/* opsum_lines.c - sum up the operations of NCCL Inspector's logs. */
#include <string.h>

#include "orchestrator/ingest/loglines.h"
#include "orchestrator/show/opsum.h"

struct reading {
    const struct opsum_filter *filter;
    struct opsum_builder to;
    struct inspector_reader reader;
    struct jp_loglines lines;
    const char *path;
    bool counted; /* the open file, among processes */
    uint64_t *bad;
};

typedef int take_record(struct reading *r, const struct inspector_record *rec,
                        void *arg);

/* Every record of the file to take; its non-zero answer ends it. */
static int walk_file(struct reading *r, take_record *take, void *arg)
{
    struct jp_error err;
    struct jp_logsource *source = logsource_open(r->path, &err);
    enum loglines_kind kind;
    const char *text;
    size_t len;
    int rc = 0;

    if (!source) {
        ++*r->bad;
        return 0;
    }
    loglines_reset(&r->lines, source);
    while (rc == 0 && (kind = loglines_next(&r->lines, &text, &len, &err)) <
                          LOGLINES_END) {
        struct inspector_record record;

        if (kind == LOGLINES_TOO_LONG) {
            ++*r->bad;
            continue;
        }
        switch (inspector_read_line(&r->reader, text, len, &record)) {
        case INSPECTOR_RECORD:
            rc = take(r, &record, arg);
            break;
        case INSPECTOR_BAD:
            ++*r->bad;
            break;
        default:
            break;
        }
    }
    logsource_close(source);
    return rc < 0 ? -1 : 0;
}

/* The rank in the largest communicator. */
struct largest {
    uint32_t n_ranks, rank;
};

static int find_largest(struct reading *r, const struct inspector_record *rec,
                        void *arg)
{
    struct largest *largest = arg;

    (void) r;
    if (rec->n_ranks > largest->n_ranks)
        *largest = (struct largest){rec->n_ranks, rec->rank};
    return 0;
}

static void to_text(const struct inspector_text *from, char *to, size_t size)
{
    size_t n = from->len < size - 1 ? from->len : size - 1;

    if (n)
        memcpy(to, from->text, n);
    to[n] = '\0';
}

static int take(struct reading *r, const struct inspector_record *rec,
                void *arg)
{
    char id[INSPECTOR_MAX_ID + 1], name[INSPECTOR_MAX_NAME + 1];
    char func[INSPECTOR_MAX_FUNC + 1], host[INSPECTOR_MAX_HOST + 1];

    (void) arg;
    to_text(&rec->id, id, sizeof(id));
    to_text(&rec->name, name, sizeof(name));
    to_text(&rec->func, func, sizeof(func));
    to_text(&rec->host, host, sizeof(host));
    if (!opsum_is_comm(r->filter, id, name) ||
        (r->filter->func && strcmp(func, r->filter->func)) ||
        (r->filter->node && !opsum_is_node(r->path, host, r->filter->node)))
        return 0;
    r->to.sum->processes += !r->counted;
    r->counted = true;
    return opsum_put_record(
        &r->to, &(const struct opsum_key){id, name, func, rec->bytes}, rec);
}

static int read_file(struct reading *r)
{
    struct largest largest = {0, 0};
    uint64_t bad = *r->bad;

    r->counted = false;
    if (r->filter->rank >= 0) {
        int rc = walk_file(r, find_largest, &largest);

        *r->bad = bad; /* counted below, in what is looked at */
        if (rc != 0 || !largest.n_ranks || largest.rank != r->filter->rank)
            return rc < 0 ? -1 : 0;
    }
    return walk_file(r, take, NULL);
}

int opsum_read_lines(const struct jp_logwalk *walk,
                     const struct opsum_filter *filter, struct jp_opsum *sum,
                     uint64_t *bad, struct jp_error *err)
{
    struct reading r = {.filter = filter, .bad = bad};
    int rc = 0;

    *bad = 0;
    if (opsum_begin(&r.to, sum, err) < 0)
        return -1;
    if (loglines_init(&r.lines, NULL) < 0)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < walk->n_logs; i++) {
        if (walk->logs[i].maybe) /* a trace, if anything */
            continue;
        r.path = walk->logs[i].path;
        rc = read_file(&r);
    }
    loglines_fini(&r.lines);
    sum->source = "inspector";
    return opsum_end(&r.to, rc, err);
}
