/* copper_roster.c - who should be there, and where in the tree each stands. */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/copper/copper_build.h"

#define ROSTER_MAX 20000 /* each is looked for among the daemons */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static int add_host(char ***hosts, size_t *n, const char *host, size_t len)
{
    if (!(*n & (*n - 1))) {
        char **more = reallocarray(*hosts, *n ? 2 * *n : 1, sizeof(*more));

        if (!more)
            return -1;
        *hosts = more;
    }
    (*hosts)[*n] = strndup(host, len);
    return (*hosts)[(*n)++] ? 0 : -1;
}

static void free_hosts(char **hosts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(hosts[i]);
    free(hosts);
}

/* The hosts of one file in its order. */
static int read_list(struct copper_build *b, const struct copper_file *file,
                     char ***hosts, size_t *n)
{
    struct copper_stream stream;
    struct jp_error why;
    const char *host;
    size_t len;
    int rc;

    if (copper_stream_open(&stream, file->path, &why) < 0)
        return copper_note(b, file->path, false, "%s", why.text);
    while ((rc = copper_book_next(&stream, &host, &len, &why)) > 0) {
        if (*n >= ROSTER_MAX || len >= COPPER_HOST_MAX) {
            rc = error_set(&why, "line %llu: no list of hosts",
                           (unsigned long long) stream.line);
            break;
        }
        if (add_host(hosts, n, host, len) < 0) {
            copper_stream_close(&stream);
            return -1;
        }
    }
    if (rc < 0)
        rc = copper_note(b, file->path, false, "%s", why.text);
    if (rc == 0)
        rc = copper_read_done(b, &stream);
    copper_stream_close(&stream);
    return rc;
}

/* The daemons are sorted by host; a list may hold short names of theirs. */
static void place(struct copper_build *b, char *const *book, size_t n)
{
    unsigned fanout = copper_tree_fanout(n);

    for (size_t k = 0; k < b->n_daemons; k++) {
        struct copper_daemon *d = &b->daemons[k];

        if (d->level >= 0 || d->launch + 1 != b->copper->n_launches ||
            d->log.trees > 1)
            continue;
        for (size_t i = 0; i < n; i++)
            if (copper_same_host(book[i], d->host)) {
                d->level = (int) copper_tree_level(i, fanout);
                d->level_from = "address book";
                break;
            }
    }
}

static int take_lists(struct copper_build *b)
{
    char **book = NULL, **hosts = NULL;
    size_t n_book = 0;
    int rc = 0;

    for (size_t i = 0; i < b->found.n && rc == 0; i++) {
        const struct copper_file *file = &b->found.files[i];
        size_t n = 0, k = 0;

        if (file->name.kind != COPPER_FILE_BOOK &&
            file->name.kind != COPPER_FILE_NODES)
            continue;
        hosts = NULL;
        rc = read_list(b, file, &hosts, &n);
        for (; k < n && rc == 0; k++)
            rc = add_host(&b->roster, &b->n_roster, hosts[k], strlen(hosts[k]));
        if (file->name.kind == COPPER_FILE_BOOK && n > n_book) {
            free_hosts(book, n_book);
            book = hosts;
            n_book = n;
        } else {
            free_hosts(hosts, n);
        }
    }
    if (rc == 0)
        place(b, book, n_book);
    free_hosts(book, n_book);
    return rc;
}

static void sort_roster(struct copper_build *b)
{
    size_t kept = 0;

    if (b->n_roster)
        qsort(b->roster, b->n_roster, sizeof(*b->roster), by_text);
    for (size_t i = 0; i < b->n_roster; i++) {
        if (kept && copper_same_host(b->roster[kept - 1], b->roster[i]))
            free(b->roster[i]);
        else
            b->roster[kept++] = b->roster[i];
    }
    b->n_roster = kept;
}

int copper_roster(struct copper_build *b)
{
    for (size_t i = 0; i < b->n_daemons; i++)
        if (b->daemons[i].log.level >= 0) {
            b->daemons[i].level = b->daemons[i].log.level;
            b->daemons[i].level_from = "log";
        }
    if (take_lists(b) < 0)
        return -1;
    sort_roster(b);
    return 0;
}
