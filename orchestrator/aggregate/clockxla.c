/* clockxla.c - whose nodes the probes of the tasks' XLA are. */
#include "orchestrator/aggregate/clocks.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "plugins/clock/clock_read.h"

/* Files that are read, of all nodes. */
#define FILES_MAX 4096

/* The file of one process. */
struct process {
    uint32_t index, host; /* of hosts */
    struct clock_file file;
};

struct processes {
    struct process *list;
    size_t n;
    char (*hosts)[CLOCK_NODE_MAX];
    size_t n_hosts;
    uint64_t bad;
};

static int add_process(struct processes *ps, const char *path, uint32_t index)
{
    struct process *grown;
    struct jp_error err;
    char *text;
    size_t len;
    int rc;

    if (fileio_read(path, false, CLOCK_FILE_MAX, &text, &len, &err) < 0) {
        ps->bad++;
        return 0;
    }
    if ((ps->n & (ps->n - 1)) == 0) {
        grown = realloc(ps->list, 2 * (ps->n + 1) * sizeof(*grown));
        if (!grown) {
            free(text);
            return -1;
        }
        ps->list = grown;
    }
    ps->list[ps->n] =
        (struct process){.index = index, .host = (uint32_t) ps->n_hosts - 1};
    rc = clock_xla_parse(text, len, index, &ps->list[ps->n].file, &err);
    free(text);
    ps->n += rc == 0;
    ps->bad += rc < 0;
    return 0;
}

/* The files of one node's folder. */
static int add_folder(struct processes *ps, const char *raw, const char *node)
{
    char *folder = text_format("%s/%s", raw, node);
    DIR *dir = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    bool named = false;
    int rc = folder ? 0 : -1;

    while (dir && rc == 0 && ps->n < FILES_MAX && (entry = readdir(dir))) {
        uint32_t index;
        char *path;

        if (!clock_xla_name(entry->d_name, &index))
            continue;
        if (!named) {
            void *grown =
                realloc(ps->hosts, (ps->n_hosts + 1) * sizeof(*ps->hosts));

            if (!grown) {
                rc = -1;
                break;
            }
            ps->hosts = grown;
            snprintf(ps->hosts[ps->n_hosts++], CLOCK_NODE_MAX, "%s", node);
            named = true;
        }
        path = text_format("%s/%s", folder, entry->d_name);
        rc = path ? add_process(ps, path, index) : -1;
        free(path);
    }
    if (dir)
        closedir(dir);
    free(folder);
    return rc;
}

static int by_index(const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

/* Windows of the processes of a node, between nodes. */
static int fill_host(const struct processes *ps, uint32_t host,
                     struct clock_file *f)
{
    *f = (struct clock_file){.node_id = host, .nodes = (uint32_t) ps->n_hosts};
    snprintf(f->node, sizeof(f->node), "%s", ps->hosts[host]);
    f->walls = calloc(1, sizeof(*f->walls));
    if (!f->walls)
        return -1;
    f->n_walls = 1; /* its times are the wall clock's */
    for (size_t i = 0; i < ps->n; i++) {
        const struct clock_file *of = &ps->list[i].file;
        struct clock_window *grown;

        if (ps->list[i].host != host)
            continue;
        grown = realloc(f->windows,
                        (f->n_windows + of->n_windows + 1) * sizeof(*grown));
        if (!grown)
            return -1;
        f->windows = grown;
        for (size_t k = 0; k < of->n_windows; k++) {
            struct clock_window w = of->windows[k];
            const struct process key = {.index = w.to};
            const struct process *to =
                bsearch(&key, ps->list, ps->n, sizeof(key), by_index);

            if (!to || to->host == host)
                continue;
            w.from = host;
            w.to = to->host;
            f->windows[f->n_windows++] = w;
        }
        if (of->last_mono_ns > f->last_mono_ns)
            f->last_mono_ns = of->last_mono_ns;
    }
    return 0;
}

static int take_processes(struct clockprobes *p, struct processes *ps,
                          bool *ambiguous)
{
    struct clock_file *files;
    size_t n = 0;
    int rc = 0;

    if (ps->n)
        qsort(ps->list, ps->n, sizeof(*ps->list), by_index);
    for (size_t i = 1; i < ps->n; i++)
        *ambiguous |= ps->list[i].index == ps->list[i - 1].index;
    if (*ambiguous || ps->n_hosts < 2)
        return 0;
    files = calloc(ps->n_hosts, sizeof(*files));
    if (!files)
        return -1;
    for (; rc == 0 && n < ps->n_hosts; n++)
        rc = fill_host(ps, (uint32_t) n, &files[n]);
    if (rc == 0)
        return clockprobes_take(files, n, p);
    for (size_t i = 0; i < n; i++)
        clock_file_fini(&files[i]);
    free(files);
    return -1;
}

static int read_raw(const char *raw, struct clockprobes *probes,
                    bool *ambiguous)
{
    struct processes ps = {0};
    DIR *dir = opendir(raw);
    struct dirent *entry;
    int rc = 0;

    memset(probes, 0, sizeof(*probes));
    *ambiguous = false;
    while (dir && rc == 0 && ps.n < FILES_MAX && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < CLOCK_NODE_MAX)
            rc = add_folder(&ps, raw, entry->d_name);
    if (dir)
        closedir(dir);
    if (rc == 0)
        rc = take_processes(probes, &ps, ambiguous);
    if (rc == 0)
        probes->bad_files = ps.bad;
    for (size_t i = 0; i < ps.n; i++)
        clock_file_fini(&ps.list[i].file);
    free(ps.list);
    free(ps.hosts);
    return rc;
}

int clockxla_replace(const char *nodes, struct clockprobes *probes,
                     bool *by_xla, bool *ambiguous)
{
    char *raw = text_format("%s/../raw", nodes);
    struct clockprobes xla = {0};
    int rc = raw ? read_raw(raw, &xla, ambiguous) : -1;

    free(raw);
    *by_xla = rc == 0 && xla.n_edges && xla.n_files >= probes->n_files;
    if (*by_xla || rc < 0)
        clockprobes_fini(probes);
    if (*by_xla)
        *probes = xla;
    else
        clockprobes_fini(&xla);
    return rc;
}
