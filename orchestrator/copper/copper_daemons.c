/* copper_daemons.c - files to daemons, daemons to launches. */
#include "orchestrator/copper/copper_build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool copper_same_host(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b), n = x < y ? x : y;

    if (memcmp(a, b, n))
        return false;
    return x == y || (x < y ? b[n] : a[n]) == '.';
}

const struct copper_file *copper_daemon_file(const struct copper_daemon *d,
                                             enum copper_kind kind,
                                             enum copper_tag tag, uint64_t copy)
{
    for (size_t i = 0; i < d->n_files; i++)
        if (d->files[i].name.kind == kind && d->files[i].name.tag == tag &&
            d->files[i].name.copy == copy)
            return &d->files[i];
    return NULL;
}

static bool same_root(const struct copper_file *a, const struct copper_file *b)
{
    return a->root_len == b->root_len && !memcmp(a->path, b->path, a->root_len);
}

static bool same_daemon(const struct copper_file *a,
                        const struct copper_file *b)
{
    return a->name.pid == b->name.pid && !strcmp(a->name.host, b->name.host);
}

static int read_log(struct copper_build *b, struct copper_daemon *d)
{
    const struct copper_file *file =
        copper_daemon_file(d, COPPER_FILE_LOG, COPPER_TAG_FINAL, 0);
    struct copper_stream stream;
    struct jp_error why;
    int rc;

    if (!file)
        return 0;
    d->has_log = true;
    if (copper_stream_open(&stream, file->path, &why) < 0)
        return copper_note(b, file->path, false, "%s", why.text);
    rc = copper_log_read(&stream, &d->log, &why);
    if (rc < 0)
        rc = copper_note(b, file->path, false, "%s", why.text);
    if (rc == 0)
        rc = copper_read_done(b, &stream);
    copper_stream_close(&stream);
    return rc;
}

static int add_daemon(struct copper_build *b, const struct copper_file *files,
                      size_t n)
{
    struct copper_daemon *d = &b->daemons[b->n_daemons++];

    *d = (struct copper_daemon){.host = files->name.host,
                                .pid = files->name.pid,
                                .files = files,
                                .n_files = n,
                                .level = -1,
                                .level_from = ""};
    d->log = (struct copper_log){.start_us = -1,
                                 .registration_us = -1,
                                 .first_rpc_us = -1,
                                 .parent_us = -1,
                                 .probes = -1,
                                 .level = -1,
                                 .trees = -1,
                                 .settings = {"", -1, -1, -1}};
    for (size_t i = 0; i < n; i++)
        d->has_profile |= files[i].name.kind < COPPER_FILE_LOG;
    return read_log(b, d);
}

int copper_daemons(struct copper_build *b)
{
    const struct copper_file *files = b->found.files;
    const struct copper_file *last = NULL;

    b->daemons = calloc(b->found.n ? b->found.n : 1, sizeof(*b->daemons));
    if (!b->daemons)
        return -1;
    for (size_t i = 0, n; i < b->found.n; i += n) {
        for (n = 1; i + n < b->found.n &&
                    same_daemon(files + i, files + i + n) &&
                    same_root(files + i, files + i + n);)
            n++;
        if (!*files[i].name.host) /* lists of nodes */
            continue;
        if (last && same_daemon(last, files + i)) {
            if (copper_note(b, files[i].path, false,
                            "%s-%" PRId64 " is also in %.*s: passed over",
                            last->name.host, last->name.pid,
                            (int) last->root_len, last->path) < 0)
                return -1;
            continue;
        }
        last = files + i;
        if (add_daemon(b, files + i, n) < 0)
            return -1;
    }
    return 0;
}

/* When a daemon started by its log, or when it last wrote a profile. */
static int64_t time_of(const struct copper_daemon *d, bool by_log)
{
    int64_t latest = 0;

    if (by_log)
        return d->log.start_us;
    for (size_t i = 0; i < d->n_files; i++)
        if (d->files[i].mtime_us > latest)
            latest = d->files[i].mtime_us;
    return latest;
}

struct order {
    int64_t time;
    size_t daemon;
};

static int by_time(const void *a, const void *b)
{
    const struct order *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->daemon < y->daemon ? -1 : x->daemon > y->daemon;
}

/* Index of the first daemon on the same host; they are sorted by it. */
static size_t first_of_host(const struct copper_build *b, size_t i)
{
    while (i && !strcmp(b->daemons[i - 1].host, b->daemons[i].host))
        i--;
    return i;
}

/* Without starts in logs, times of copied files mean little between hosts: the
 * last daemon of each host is the last launch's, and so on backwards. */
static int launches_by_host(struct copper_build *b, const struct order *order)
{
    size_t *later = calloc(b->n_daemons + 1, sizeof(*later)), most = 0;

    if (!later)
        return -1;
    for (size_t i = b->n_daemons; i-- > 0;) {
        size_t host = first_of_host(b, order[i].daemon);

        b->daemons[order[i].daemon].launch = later[host]++;
        if (later[host] > most)
            most = later[host];
    }
    for (size_t i = 0; i < b->n_daemons; i++)
        b->daemons[i].launch = most - 1 - b->daemons[i].launch;
    free(later);
    return 0;
}

/* A launch ends where a host comes for the second time. */
static int launches_by_time(struct copper_build *b, const struct order *order)
{
    size_t *next = calloc(b->n_daemons + 1, sizeof(*next)), now = 0;

    if (!next)
        return -1;
    for (size_t i = 0; i < b->n_daemons; i++) {
        size_t host = first_of_host(b, order[i].daemon);

        if (next[host] > now)
            now = next[host];
        b->daemons[order[i].daemon].launch = now;
        next[host] = now + 1;
    }
    free(next);
    return 0;
}

static int list_launches(struct copper_build *b)
{
    struct jp_copper *c = b->copper;

    for (size_t i = 0; i < b->n_daemons; i++)
        if (b->daemons[i].launch >= c->n_launches)
            c->n_launches = b->daemons[i].launch + 1;
    if (!c->n_launches) /* who is missing was of it */
        c->n_launches = 1;
    c->launches = calloc(c->n_launches, sizeof(*c->launches));
    if (!c->launches)
        return -1;
    for (size_t i = 0; i < c->n_launches; i++)
        c->launches[i].start_us = -1;
    for (size_t i = 0; i < b->n_daemons; i++) {
        struct jp_copper_launch *l = &c->launches[b->daemons[i].launch];
        int64_t start = b->daemons[i].log.start_us;

        if (start >= 0 && (l->start_us < 0 || start < l->start_us))
            l->start_us = start;
    }
    return 0;
}

int copper_launches(struct copper_build *b)
{
    struct order *order =
        calloc(b->n_daemons ? b->n_daemons : 1, sizeof(*order));
    bool by_log = true;
    int rc;

    if (!order)
        return -1;
    for (size_t i = 0; i < b->n_daemons; i++)
        by_log &= b->daemons[i].log.start_us >= 0;
    for (size_t i = 0; i < b->n_daemons; i++)
        order[i] = (struct order){time_of(&b->daemons[i], by_log), i};
    if (b->n_daemons)
        qsort(order, b->n_daemons, sizeof(*order), by_time);
    rc = by_log ? launches_by_time(b, order) : launches_by_host(b, order);
    free(order);
    return rc < 0 ? -1 : list_launches(b);
}
