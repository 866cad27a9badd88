/* doctor_nccl.c - check profiler libraries, and the NCCL that is to load them.
 *
 * NCCL loads a profiler through a versioned symbol, ncclProfiler_v1 and so on.
 * The versions that a plugin exports are compared with those that each
 * libnccl.so looks for. No library is loaded: elfview reads the files.
 */
#include "orchestrator/doctor/doctor.h"

#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/plan.h"
#include "plugins/backend.h"

#define CHECK "nccl"
/* Versions of the profiler interface that may exist one day. */
#define VERSIONS 16
/* Most libraries that are examined, and most profilers. */
#define FOUND_MAX 8
#define PLUGINS_MAX 16

/* The versions of the interface that a plugin exports: bit v for
 * ncclProfiler_v<v>. */
static unsigned exported(const struct elfview *view)
{
    unsigned bits = 0;
    char name[32];

    for (unsigned v = 1; v < VERSIONS; v++) {
        snprintf(name, sizeof(name), "ncclProfiler_v%u", v);
        if (elfview_exports(view, name))
            bits |= 1U << v;
    }
    return bits;
}

/* The versions that an NCCL looks for: their names are among its constants. */
static unsigned looked_for(const struct elfview *view)
{
    unsigned bits = 0;
    char name[32];

    for (unsigned v = 1; v < VERSIONS; v++) {
        snprintf(name, sizeof(name), "ncclProfiler_v%u", v);
        if (elfview_has_text(view, name))
            bits |= 1U << v;
    }
    return bits;
}

/* The versions as text, "v1 v2 v5", into buf. Returns buf. */
static const char *list(unsigned bits, char *buf, size_t len)
{
    size_t n = 0;

    *buf = '\0';
    for (unsigned v = 1; v < VERSIONS && n < len; v++)
        if (bits >> v & 1)
            n += (size_t) snprintf(buf + n, len - n, "%sv%u", n ? " " : "", v);
    return buf;
}

/* The highest version; 0: none. */
static unsigned newest(unsigned bits)
{
    unsigned v = VERSIONS - 1;

    while (v > 0 && !(bits >> v & 1))
        v--;
    return v;
}

/* --- the plugins ---------------------------------------------------------- */

struct plugin {
    const char *name, *path; /* path NULL: the site names none */
    unsigned versions;       /* 0: cannot be used */
    bool is_auto;            /* the one that auto means */
};

/* Whether the library belongs to the profiler of its key. It is recognised by a
 * text that only this library contains (mark). Adds a line if it is another
 * one, or is not recognised, in which case it may still be used. */
static bool is_its_own(struct doctor *d, const struct plugin *p)
{
    const struct jp_profiler *wanted = profiler_get(p->name);
    const struct backend *found = wanted->mark ? backend_of_library(p->path)
                                               : NULL;

    if (!wanted->mark || (found && !strcmp(found->about.name, p->name)))
        return true;
    if (found)
        doctor_add(d, DOCTOR_FAIL, "profiler",
                   "name the right library in the site file",
                   "%s: %s is the library of %s", p->name, p->path,
                   found->about.title);
    else
        doctor_add(d, DOCTOR_WARN, "profiler",
                   "name another library if reports are empty: jobprof may not "
                   "read its files",
                   "%s: %s does not look like %s (it lacks \"%s\")", p->name,
                   p->path, wanted->title, wanted->mark);
    return !found;
}

/* Checks one profiler's library and finds its versions of the interface. */
static void check_plugin(struct doctor *d, struct plugin *p)
{
    struct elfview view;
    struct jp_error err;
    char text[96];

    /* A profiler without a library is not used at this site. */
    if (!p->path || !doctor_trusts(d, "profiler", p->path))
        return;
    if (elfview_open(p->path, &view, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, "profiler", "", "%s: %s", p->name, err.text);
        return;
    }
    p->versions = exported(&view);
    if (p->versions && !is_its_own(d, p)) {
        p->versions = 0;
        elfview_close(&view);
        return;
    }
    if (p->versions)
        doctor_add(d, DOCTOR_OK, "profiler", "", "%s: %s (interface %s)",
                   p->name, p->path, list(p->versions, text, sizeof(text)));
    else
        doctor_add(d, DOCTOR_FAIL, "profiler",
                   "name the library that was built as a profiler plugin",
                   "%s: %s exports no ncclProfiler_v1 or later", p->name,
                   p->path);
    elfview_close(&view);
}

/* --- NCCL ----------------------------------------------------------------- */

/* Compares one NCCL with one plugin. */
static void check_pair(struct doctor *d, const char *library,
                       const char *release, const struct plugin *p,
                       unsigned wanted)
{
    char have[96], want[96];
    unsigned both = p->versions & wanted;

    if (!p->versions)
        return;
    if (both)
        doctor_add(d, DOCTOR_OK, CHECK, "",
                   "%s (%s) loads the %s through interface v%u", library,
                   release, p->name, newest(both));
    else
        doctor_add(
            d, DOCTOR_FAIL, CHECK,
            "choose another library or mode: steps with this NCCL have no data",
            "%s (%s) needs %s, the %s has %s", library, release,
            list(wanted, want, sizeof(want)), p->name,
            list(p->versions, have, sizeof(have)));
}

/* Checks one libnccl.so. NCCL's release is the text after "NCCL version ". */
static void check_library(struct doctor *d, const char *path,
                          const struct plugin *plugins, size_t n)
{
    struct elfview view;
    struct jp_error err;
    const char *after;
    char release[48];
    unsigned wanted;
    size_t before = d->n_lines;

    if (elfview_open(path, &view, &err) < 0) {
        doctor_add(d, DOCTOR_FAIL, CHECK, "", "%s", err.text);
        return;
    }
    after = elfview_after(&view, "NCCL version ");
    snprintf(release, sizeof(release), "%.*s",
             after ? (int) strcspn(after, " +\n") : 7,
             after ? after : "unknown");
    wanted = looked_for(&view);
    if (!elfview_exports(&view, "ncclGetVersion"))
        doctor_add(d, DOCTOR_FAIL, CHECK, "", "%s: not NCCL", path);
    else if (!wanted)
        doctor_add(d, DOCTOR_FAIL, CHECK, "use NCCL 2.23 or later",
                   "%s (%s) has no profiler interface", path, release);
    for (size_t i = 0; wanted && i < n; i++)
        check_pair(d, path, release, &plugins[i], wanted);
    if (d->n_lines == before)
        doctor_add(d, DOCTOR_SKIP, CHECK, "",
                   "%s (%s): no profiler to compare with", path, release);
    elfview_close(&view);
}

/* Adds the files that match a pattern, each once with its links resolved.
 * Returns the new number. */
static size_t add_glob(const char *pattern, char **found, size_t n)
{
    glob_t hits = {0};

    if (glob(pattern, 0, NULL, &hits) == 0)
        for (size_t i = 0; i < hits.gl_pathc && n < FOUND_MAX; i++) {
            /* Several names often lead to the same file. */
            char *path = realpath(hits.gl_pathv[i], NULL);
            bool known = !path;

            for (size_t k = 0; k < n && !known; k++)
                known = strcmp(found[k], path) == 0;
            if (known)
                free(path);
            else
                found[n++] = path;
        }
    globfree(&hits);
    return n;
}

/* Adds the files `tail` in each folder of a variable like LD_LIBRARY_PATH.
 * Relative folders are ignored. */
static size_t add_folders(const char *folders, const char *tail, char **found,
                          size_t n)
{
    char *copy = strdup(folders ? folders : ""), *rest = copy, *dir;

    while (rest && (dir = strsep(&rest, ":"))) {
        char *pattern = *dir == '/' ? text_format("%s%s", dir, tail) : NULL;

        if (pattern)
            n = add_glob(pattern, found, n);
        free(pattern);
    }
    free(copy);
    return n;
}

/* Finds the libnccl.so that programs are likely to load: those of the
 * environment, of Python's environments, and of the system, each once. The
 * caller frees the paths. */
static size_t find_libraries(char **found)
{
    static const char *const usual[] = {"/usr/lib/*-linux-gnu/libnccl.so.2",
                                        "/usr/lib64/libnccl.so.2",
                                        "/usr/local/lib/libnccl.so.2",
                                        "/usr/local/cuda/lib64/libnccl.so.2",
                                        "/usr/local/cuda*/lib*/libnccl.so.2",
                                        "/opt/nccl/lib/libnccl.so.2"};
    static const char *const python[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    size_t n = 0;

    n = add_folders(getenv("LD_LIBRARY_PATH"), "/libnccl.so.2", found, n);
    for (size_t i = 0; i < sizeof(python) / sizeof(*python); i++)
        n = add_folders(getenv(python[i]),
                        "/lib/python*/site-packages/nvidia/nccl/lib/"
                        "libnccl.so.2",
                        found, n);
    for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
        n = add_glob(usual[i], found, n);
    return n;
}

/* Checks the NCCL that the user has named, or all that are found. */
static void check_libraries(struct doctor *d, const struct plugin *plugins,
                            size_t n_plugins)
{
    char *found[FOUND_MAX];
    size_t n;

    if (d->options->nccl) {
        check_library(d, d->options->nccl, plugins, n_plugins);
        return;
    }
    n = find_libraries(found);
    for (size_t i = 0; i < n; i++) {
        check_library(d, found[i], plugins, n_plugins);
        free(found[i]);
    }
    if (!n)
        doctor_add(d, DOCTOR_SKIP, CHECK, "name it with --nccl FILE",
                   "no libnccl.so.2 found on this host");
}

/* Lists the NCCL profilers and the paths of their libraries. Returns how
 * many. */
static size_t list_plugins(const struct jp_plan *plan,
                           struct plugin plugins[PLUGINS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; profiler_registry[i] && n < PLUGINS_MAX; i++) {
        const struct jp_profiler *about = profiler_registry[i];
        const struct sitefile_value *named =
            about->option == OPTION_NCCL && about->library
                ? plan_site_value(plan, plan->sides[OPTION_NCCL].grammar->group,
                                  about->library)
                : NULL;

        if (about->option == OPTION_NCCL && about->words)
            plugins[n++] =
                (struct plugin){.name = about->name,
                                .path = named ? named->value : about->installed,
                                .is_auto = about->is_auto};
    }
    return n;
}

/* Adds a line of a backend (backend_note). */
static int say_line(void *arg, bool is_warning, const char *line,
                    struct jp_error *err)
{
    doctor_add(arg, is_warning ? DOCTOR_WARN : DOCTOR_OK, "profiler", "", "%s",
               line);
    return 0;
}

/* Lets each backend check what only it knows. */
static void look_at_backends(struct doctor *d, const struct jp_plan *plan)
{
    struct jp_error err;

    for (size_t i = 0; backend_registry[i]; i++)
        if (backend_registry[i]->look &&
            backend_registry[i]->look(plan, say_line, d, &err) < 0)
            doctor_add(d, DOCTOR_FAIL, "profiler", "", "%s", err.text);
}

/* --- checks of backends that have names of their own --- */

static void add_host_line(const struct backend_host *host,
                          enum backend_state state, const char *check,
                          const char *advice, const char *fmt, ...)
{
    static const enum doctor_verdict verdicts[] = {
        [BACKEND_OK] = DOCTOR_OK,
        [BACKEND_SKIP] = DOCTOR_SKIP,
        [BACKEND_WARN] = DOCTOR_WARN};
    struct doctor *d = host->arg;
    char *line = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&line, fmt, ap) < 0)
        line = NULL;
    va_end(ap);
    if (line)
        doctor_add(d, verdicts[state], check, advice, "%s", line);
    else
        d->failed = true;
    free(line);
}

static void need_file(const struct backend_host *host, const char *path)
{
    struct doctor *d = host->arg;

    if (d->n_needed == DOCTOR_NEEDED_MAX)
        return;
    d->needed[d->n_needed] = strdup(path);
    if (d->needed[d->n_needed])
        d->n_needed++;
    else
        d->failed = true;
}

void doctor_backends(struct doctor *d)
{
    struct plan_input in = {
        .config = d->site && !access(d->site, F_OK) ? d->site : NULL,
        .settled = true};
    struct jp_plan plan = {.sides[OPTION_NCCL].grammar = grammar_nccl()};
    const struct backend_host host = {&plan, add_host_line, need_file, d};

    plan_make(&in, &plan, NULL); /* already reported */
    for (size_t i = 0; backend_registry[i]; i++)
        if (backend_registry[i]->check_host)
            backend_registry[i]->check_host(&host);
    plan_fini(&plan);
}

void doctor_backends_step(struct doctor *d, const struct jp_jobconf *conf)
{
    const struct backend_host host = {NULL, add_host_line, need_file, d};

    for (size_t i = 0; backend_registry[i]; i++)
        if (backend_registry[i]->check_step)
            backend_registry[i]->check_step(&host, conf);
}

/* Steps: list the site's profilers, check each library, let backends add lines,
 * then compare with every NCCL that is found. */
void doctor_nccl(struct doctor *d)
{
    struct plan_input in = {
        .config = d->site && !access(d->site, F_OK) ? d->site : NULL,
        .settled = true};
    struct plugin plugins[PLUGINS_MAX];
    struct jp_plan plan = {.sides[OPTION_NCCL].grammar = grammar_nccl()};
    size_t n;

    plan_make(&in, &plan, NULL); /* already reported */
    n = list_plugins(&plan, plugins);
    for (size_t i = 0; i < n; i++) {
        check_plugin(d, &plugins[i]);
        if (plugins[i].is_auto && plugins[i].path)
            d->library = strdup(plugins[i].path);
    }
    look_at_backends(d, &plan);
    check_libraries(d, plugins, n);
    plan_fini(&plan);
}
