/* clock_probes.c - read what agents, or the XLA of tasks, measured of each
 * other's clocks.
 *
 * Both kinds of files become struct clock_file: windows with a line each.
 * settle_file counts the windows, judges their uncertainty and thins them out;
 * add_edges finds the file of the other end. XLA's files name processes, so
 * they are first put together by node (fill_host). */
#include "plugins/clock/clock_read.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/vector.h"
#include "plugins/clock/clock_packet.h"

#define FILES_MAX 65536 /* of agents */
/* The most points that a map may have. */
#define POINTS_MAX 256
/* Points times clocks: a large graph has fewer points. */
#define CLOCKS_MAX (128 * 1024)
/* What a window's margin exceeds the smallest one of its edge by is queueing;
 * an edge with fewer windows may not have seen a moment without any. */
#define FEW_WINDOWS 4
#define FEW_PART 0.25
#define EXACT_NS 50.0

/* --- the agents' files ---------------------------------------------------- */

static int by_node(const void *a, const void *b)
{
    const struct clock_file *x = a, *y = b;

    return strcmp(x->node, y->node);
}

/* By neighbour and time; windows without a line come last. */
static int by_edge(const void *a, const void *b)
{
    const struct clock_window *x = a, *y = b;
    bool bad_x = x->status != CLOCK_OK, bad_y = y->status != CLOCK_OK;

    if (bad_x != bad_y)
        return bad_x ? 1 : -1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Sets the uncertainty of each window from its margin, compared with the
 * smallest margin. */
static void judge_margins(struct clock_window *w, size_t n)
{
    double least = INFINITY;

    for (size_t i = 0; i < n; i++)
        least = fmin(least, w[i].margin_ns);
    for (size_t i = 0; i < n; i++) {
        double unc = w[i].margin_ns - least + EXACT_NS;

        if (w[i].user_stamps)
            unc += CLOCK_USER_PART * fabs(w[i].margin_ns);
        if (n < FEW_WINDOWS)
            unc += FEW_PART * fabs(w[i].margin_ns);
        /* the agent's own figure may be larger, as it includes how exchanges
         * scatter */
        w[i].unc_ns = fmax(unc, w[i].unc_ns);
    }
}

/* The most points over the run for so many files: fewer for a large graph,
 * which takes longer to solve. */
static size_t points_of(size_t n_files)
{
    size_t most = n_files ? CLOCKS_MAX / n_files : POINTS_MAX;

    return most > POINTS_MAX ? POINTS_MAX : most < 2 ? 2 : most;
}

/* Keeps `most` windows: of each group the one with the smallest margin. */
static size_t thin_out(struct clock_window *w, size_t n, size_t most)
{
    size_t group = n / most + (n % most != 0), kept = 0;

    for (size_t i = 0; i < n; i += group) {
        size_t best = i;

        for (size_t k = i + 1; k < n && k < i + group; k++)
            if (w[k].margin_ns < w[best].margin_ns)
                best = k;
        w[kept++] = w[best];
    }
    return kept;
}

/* Counts all windows of a file and keeps no more of each edge than the points
 * can show. Windows are then sorted by edge and time, and those without a line
 * are gone. */
static void settle_file(struct clockprobes *p, struct clock_file *f,
                        size_t points)
{
    struct clock_window *w = f->windows;
    size_t kept = 0, n;

    for (size_t i = 0; i < f->n_windows; i++) {
        p->exchanges += w[i].exchanges; /* of all windows */
        p->failures += (uint64_t) w[i].lost + w[i].no_stamp + w[i].disturbed;
        p->paced_us = num_add(p->paced_us, w[i].cadence_us);
        p->paced += w[i].cadence_us > 0;
    }
    if (f->cadence_us > p->wanted_us)
        p->wanted_us = f->cadence_us;
    if (f->cpu_permille > p->cpu_permille)
        p->cpu_permille = f->cpu_permille;
    if (f->n_windows)
        qsort(w, f->n_windows, sizeof(*w), by_edge);
    for (size_t i = 0; i < f->n_windows; i += n) {
        /* all windows without a line come last */
        if (w[i].status != CLOCK_OK) {
            p->bad_windows += f->n_windows - i;
            break;
        }
        for (n = 1; i + n < f->n_windows && w[i + n].status == CLOCK_OK &&
                    w[i + n].to == w[i].to;)
            n++;
        p->windows += n;
        judge_margins(&w[i], n);
        memmove(&w[kept], &w[i], n * sizeof(*w));
        /* twice, so that the nearest window is near */
        kept += thin_out(&w[kept], n, 2 * points);
    }
    f->n_windows = kept;
    w = realloc(f->windows, (kept + 1) * sizeof(*w)); /* shrinks */
    if (w)
        f->windows = w;
}

/* Reads the file of one node, if there is one. A damaged file is only counted.
 * 0, or -1: no memory. */
static int add_file(struct clockprobes *p, const char *path, size_t points)
{
    struct jp_error err;

    if (VECTOR_DOUBLE(p->files, p->n_files) < 0)
        return -1;
    errno = 0;
    if (clock_file_read(path, &p->files[p->n_files], &err) == 0)
        settle_file(p, &p->files[p->n_files++], points);
    else
        p->bad_files += errno != ENOENT && errno != ENOTDIR;
    return 0;
}

/* Reads the files of all nodes. 0, or -1: no memory. */
static int read_files(const char *nodes, struct clockprobes *p)
{
    DIR *dir = opendir(nodes);
    struct dirent *entry;
    size_t n = 0, points;
    int rc = 0;

    /* the number of nodes decides how many windows are kept */
    while (dir && n < FILES_MAX && readdir(dir))
        n++;
    points = points_of(n);
    if (dir)
        rewinddir(dir);
    while (dir && rc == 0 && p->n_files < FILES_MAX && (entry = readdir(dir))) {
        char *path;

        if (entry->d_name[0] == '.')
            continue;
        path = text_format("%s/%s/" CLOCK_FILE, nodes, entry->d_name);
        rc = path ? add_file(p, path, points) : -1;
        free(path);
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* Finds the file of a node by its index in its component of the job. False: it
 * left none. */
static bool find_file(const struct clockprobes *p, const struct clock_file *of,
                      uint32_t node_id, uint32_t *found)
{
    /* indices usually are in the order of names */
    for (size_t k = 0; k < p->n_files; k++) {
        size_t i = (node_id + k) % p->n_files;
        const struct clock_file *f = &p->files[i];

        if (f->node_id != node_id || f->job != of->job || f == of)
            continue;
        *found = (uint32_t) i;
        return true;
    }
    return false;
}

/* Adds an edge for each neighbour of a file that has windows and left a file,
 * too. 0, or -1: no memory. */
static int add_edges(struct clockprobes *p, uint32_t from)
{
    const struct clock_file *f = &p->files[from];
    size_t n;

    for (size_t i = 0; i < f->n_windows; i += n) {
        struct clockprobes_edge e = {.from = from, .windows = &f->windows[i]};

        for (n = 1;
             i + n < f->n_windows && f->windows[i + n].to == f->windows[i].to;)
            n++;
        e.n = n;
        if (!find_file(p, f, f->windows[i].to, &e.to)) /* it left no file */
            continue;
        if (VECTOR_DOUBLE(p->edges, p->n_edges) < 0)
            return -1;
        p->edges[p->n_edges++] = e;
    }
    return 0;
}

/* Reads the agents' files. 0, or -1: no memory, and probes is released. */
static int read_agents(const char *nodes, struct clockprobes *probes)
{
    int rc;

    memset(probes, 0, sizeof(*probes));
    rc = read_files(nodes, probes);
    if (probes->n_files)
        qsort(probes->files, probes->n_files, sizeof(*probes->files), by_node);
    for (size_t i = 0; rc == 0 && i < probes->n_files; i++)
        rc = add_edges(probes, (uint32_t) i);
    probes->points = points_of(probes->n_files);
    if (rc < 0)
        clockprobes_fini(probes);
    return rc;
}

/* --- files of the tasks' XLA ---------------------------------------------- */

static int take_files(struct clock_file *files, size_t n,
                      struct clockprobes *probes)
{
    int rc = 0;

    memset(probes, 0, sizeof(*probes));
    probes->files = files;
    probes->n_files = n;
    for (size_t i = 0; i < n; i++)
        settle_file(probes, &files[i], points_of(n));
    if (n)
        qsort(files, n, sizeof(*files), by_node);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_edges(probes, (uint32_t) i);
    probes->points = points_of(n);
    if (rc < 0)
        clockprobes_fini(probes);
    return rc;
}

/* The most files of XLA that are read, of all nodes. */
#define XLA_FILES_MAX 4096

/* A file's name is this, the process's number, and the suffix. */
#define XLA_PREFIX "probe_windows_node"
#define XLA_SUFFIX ".jsonl"

/* The file of one process. */
struct process {
    uint32_t index, host; /* of hosts */
    struct clock_file file;
};

/* The files of all processes, and the nodes that have some. */
struct processes {
    struct process *list; /* sorted by index at the end */
    size_t n;             /* files that could be read */
    char (*hosts)[CLOCK_NODE_MAX];
    size_t n_hosts;
    uint64_t bad; /* files that could not */
};

/* Reads the file of one process. A bad one is only counted. 0, or -1: no
 * memory. */
static int add_process(struct processes *ps, const char *path, uint32_t index)
{
    struct jp_error err;
    int rc;

    if (VECTOR_DOUBLE(ps->list, ps->n) < 0)
        return -1;
    ps->list[ps->n] =
        (struct process){.index = index, .host = (uint32_t) ps->n_hosts - 1};
    rc = clock_xla_read(path, index, &ps->list[ps->n].file, &err);
    ps->n += rc == 0;
    ps->bad += rc < 0;
    return 0;
}

/* Whether it is the name of a file of XLA. *process becomes the process in the
 * name. */
static bool is_xla_file(const char *name, uint32_t *process)
{
    size_t len = strlen(name), head = strlen(XLA_PREFIX),
           tail = strlen(XLA_SUFFIX);
    char digits[8];
    int64_t value;

    if (len <= head + tail || len - head - tail >= sizeof(digits) ||
        strncmp(name, XLA_PREFIX, head) != 0 ||
        strcmp(name + len - tail, XLA_SUFFIX) != 0)
        return false;
    memcpy(digits, name + head, len - head - tail);
    digits[len - head - tail] = '\0';
    if (num_parse_i64(digits, 0, CLOCK_NODES_MAX, &value, NULL) < 0)
        return false;
    *process = (uint32_t) value;
    return true;
}

/* Reads the files of one node's folder. 0, or -1: no memory. */
static int add_folder(struct processes *ps, const char *raw, const char *node)
{
    char *folder = text_format("%s/%s", raw, node);
    DIR *dir = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    bool named = false;
    int rc = folder ? 0 : -1;

    while (dir && rc == 0 && ps->n < XLA_FILES_MAX && (entry = readdir(dir))) {
        uint32_t index;
        char *path;

        if (!is_xla_file(entry->d_name, &index))
            continue;
        if (!named) { /* its first file */
            if (VECTOR_DOUBLE(ps->hosts, ps->n_hosts) < 0) {
                rc = -1;
                break;
            }
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

/* Puts the windows of a node's processes into one file, as if its agent had
 * measured them. Windows between processes of one node are left out. 0, or -1:
 * no memory. */
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

        if (ps->list[i].host != host)
            continue;
        if (vector_resize(&f->windows, f->n_windows + of->n_windows + 1,
                          sizeof(*f->windows)) < 0)
            return -1;
        for (size_t k = 0; k < of->n_windows; k++) {
            struct clock_window w = of->windows[k];
            const struct process key = {.index = w.to};
            const struct process *to =
                bsearch(&key, ps->list, ps->n, sizeof(key), by_index);

            if (!to || to->host == host) /* unknown, or the same clock */
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

/* Makes the files of nodes. *ambiguous: two files have one process index. 0, or
 * -1: no memory. */
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
        return take_files(files, n, p);
    for (size_t i = 0; i < n; i++)
        clock_file_fini(&files[i]);
    free(files);
    return -1;
}

/* Reads what XLA measured, below raw. Without such files probes stays empty. */
static int read_raw(const char *raw, struct clockprobes *probes,
                    bool *ambiguous)
{
    struct processes ps = {0};
    DIR *dir = opendir(raw);
    struct dirent *entry;
    int rc = 0;

    memset(probes, 0, sizeof(*probes));
    *ambiguous = false;
    while (dir && rc == 0 && ps.n < XLA_FILES_MAX && (entry = readdir(dir)))
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

/* Probes by XLA take the place of the agents' where they reach as many nodes: a
 * user who lets the tasks probe expects their results. 0, or -1 without memory:
 * probes is released. */
static int prefer_xla(const char *nodes, struct clockprobes *probes)
{
    char *raw = text_format("%s/../raw", nodes);
    struct clockprobes xla = {0};
    bool ambiguous = false;
    int rc = raw ? read_raw(raw, &xla, &ambiguous) : -1;

    free(raw);
    if (rc == 0 && xla.n_edges && xla.n_files >= probes->n_files) {
        clockprobes_fini(probes);
        *probes = xla;
        probes->by_xla = true;
    } else {
        clockprobes_fini(&xla);
    }
    if (rc < 0)
        clockprobes_fini(probes);
    else
        probes->xla_ambiguous = ambiguous;
    return rc;
}

int clock_probes_read(const char *nodes, struct clockprobes *probes)
{
    return read_agents(nodes, probes) < 0 ? -1 : prefer_xla(nodes, probes);
}
