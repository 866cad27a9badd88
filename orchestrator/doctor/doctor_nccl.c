/* doctor_nccl.c - profiler libraries, and the NCCL that is to load them. */
#include "orchestrator/doctor/doctor.h"

#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "common/fileio.h"
#include "common/plan.h"
#include "plugins/backend.h"
#include "common/error.h"

#define SECTIONS_MAX 4096
#define SEGMENTS_MAX 256
#define TABLE_MAX_BYTES (UINT64_C(64) << 20)

/* Reads len bytes at offset; a file that is shorter is an error. */
static int read_at(const struct elfview *v, uint64_t offset, void *buf,
                   size_t len)
{
    char *to = buf;

    if (offset > v->bytes || len > v->bytes - offset)
        return -1;
    while (len > 0) {
        ssize_t n = pread(v->fd, to, len, (off_t) offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        to += n;
        offset += (uint64_t) n;
        len -= (size_t) n;
    }
    return 0;
}

/* A table of n items, and a NUL behind it. NULL: not there, or too large. */
static void *read_table(const struct elfview *v, uint64_t offset, uint64_t n,
                        size_t size)
{
    uint64_t len = n * size;
    char *table;

    if (n > TABLE_MAX_BYTES / size || offset > v->bytes ||
        len > v->bytes - offset)
        return NULL;
    table = malloc((size_t) len + 1);
    if (table && read_at(v, offset, table, (size_t) len) < 0) {
        free(table);
        return NULL;
    }
    if (table)
        table[len] = '\0';
    return table;
}

static bool is_ours(const Elf64_Ehdr *head)
{
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
           head->e_ident[EI_CLASS] == ELFCLASS64 &&
           head->e_ident[EI_DATA] == ELFDATA2LSB &&
           head->e_shentsize == sizeof(Elf64_Shdr) &&
           head->e_phentsize == sizeof(Elf64_Phdr);
}

static bool is_named(const char *strings, uint64_t len, uint32_t at,
                     const char *name)
{
    return at < len && strcmp(strings + at, name) == 0;
}

/* .rodata, where it is of a sane size. */
static void read_constants(struct elfview *v, const Elf64_Shdr *sections,
                           size_t n, size_t strings)
{
    char *names;

    if (strings >= n)
        return;
    names = read_table(v, sections[strings].sh_offset,
                       sections[strings].sh_size, 1);
    for (size_t i = 0; names && i < n && !v->constants; i++) {
        if (sections[i].sh_type != SHT_PROGBITS ||
            !is_named(names, sections[strings].sh_size, sections[i].sh_name,
                      ".rodata"))
            continue;
        v->constants =
            read_table(v, sections[i].sh_offset, sections[i].sh_size, 1);
        v->constants_len = v->constants ? (size_t) sections[i].sh_size : 0;
    }
    free(names);
}

/* The dynamic symbols and their names. */
static int read_symbols(struct elfview *v, const Elf64_Shdr *sections, size_t n)
{
    const Elf64_Shdr *strings;

    for (size_t i = 0; i < n; i++) {
        if (sections[i].sh_type != SHT_DYNSYM || sections[i].sh_link >= n)
            continue;
        strings = &sections[sections[i].sh_link];
        v->n_symbols = (size_t) (sections[i].sh_size / sizeof(Elf64_Sym));
        v->symbols = read_table(v, sections[i].sh_offset, v->n_symbols,
                                sizeof(Elf64_Sym));
        v->names = read_table(v, strings->sh_offset, strings->sh_size, 1);
        v->names_len = (size_t) strings->sh_size;
        return v->symbols && v->names ? 0 : -1;
    }
    return -1;
}

static int read_all(struct elfview *v, const char *name, struct jp_error *err)
{
    Elf64_Ehdr head;
    Elf64_Shdr *sections;
    int rc = -1;

    if (read_at(v, 0, &head, sizeof(head)) < 0 || !is_ours(&head))
        return error_set(err, "%s: no 64-bit shared library", name);
    if (head.e_shnum == 0 || head.e_shnum > SECTIONS_MAX ||
        head.e_phnum > SEGMENTS_MAX)
        return error_set(err, "%s: no section table", name);
    sections = read_table(v, head.e_shoff, head.e_shnum, sizeof(*sections));
    v->segments =
        read_table(v, head.e_phoff, head.e_phnum, sizeof(*v->segments));
    v->n_segments = head.e_phnum;
    if (!sections || !v->segments)
        error_set(err, "%s: cut short", name);
    else if (read_symbols(v, sections, head.e_shnum) < 0)
        error_set(err, "%s: no dynamic symbols", name);
    else
        rc = 0;
    if (rc == 0)
        read_constants(v, sections, head.e_shnum, head.e_shstrndx);
    free(sections);
    return rc;
}

int elfview_open_fd(int fd, const char *name, struct elfview *out,
                    struct jp_error *err)
{
    struct elfview v = {.fd = fd};
    struct stat st;

    if (fstat(fd, &st) < 0 || st.st_size < 0)
        return error_set(err, "%s: %s", name, strerror(errno));
    v.bytes = (uint64_t) st.st_size;
    if (read_all(&v, name, err) < 0) {
        v.fd = -1; /* still the caller's */
        elfview_close(&v);
        return -1;
    }
    *out = v;
    return 0;
}

int elfview_open(const char *path, struct elfview *out, struct jp_error *err)
{
    int fd = fileio_open_regular(path, true, err);

    if (fd < 0)
        return -1;
    if (elfview_open_fd(fd, path, out, err) < 0) {
        close(fd);
        return -1;
    }
    return 0;
}

void elfview_close(struct elfview *view)
{
    if (!view)
        return;
    if (view->fd >= 0)
        close(view->fd);
    free(view->segments);
    free(view->symbols);
    free(view->names);
    free(view->constants);
    *view = (struct elfview){.fd = -1};
}

static const Elf64_Sym *find(const struct elfview *v, const char *name)
{
    for (size_t i = 0; i < v->n_symbols; i++)
        if (v->symbols[i].st_shndx != SHN_UNDEF &&
            is_named(v->names, v->names_len, v->symbols[i].st_name, name))
            return &v->symbols[i];
    return NULL;
}

bool elfview_exports(const struct elfview *view, const char *name)
{
    return find(view, name) != NULL;
}

int elfview_number(const struct elfview *view, const char *name,
                   uint32_t *value, struct jp_error *err)
{
    const Elf64_Sym *symbol = find(view, name);
    uint64_t at = symbol ? symbol->st_value : 0;

    if (!symbol || symbol->st_size < sizeof(*value))
        return error_set(err, "it exports no %s", name);
    for (size_t i = 0; i < view->n_segments; i++) {
        const Elf64_Phdr *s = &view->segments[i];

        if (s->p_type == PT_LOAD && at >= s->p_vaddr &&
            at - s->p_vaddr < s->p_filesz &&
            read_at(view, s->p_offset + (at - s->p_vaddr), value,
                    sizeof(*value)) == 0)
            return 0;
    }
    return error_set(err, "its %s is not in the file", name);
}

/* The string that starts at a NUL (or the section's start) with text. */
static const char *find_text(const struct elfview *v, const char *text)
{
    const char *at = v->constants, *end = at ? at + v->constants_len : at;
    size_t len = strlen(text);

    while (at && (at = memmem(at, (size_t) (end - at), text, len))) {
        if (at == v->constants || at[-1] == '\0')
            return at;
        at++;
    }
    return NULL;
}

bool elfview_has_text(const struct elfview *view, const char *text)
{
    const char *at = view->constants, *end = at ? at + view->constants_len : at;
    size_t len = strlen(text) + 1;

    while (at && (at = memmem(at, (size_t) (end - at), text, len))) {
        if (at == view->constants || at[-1] == '\0')
            return true;
        at++;
    }
    return false;
}

const char *elfview_after(const struct elfview *view, const char *start)
{
    const char *at = find_text(view, start);

    return at ? at + strlen(start) : NULL;
}

#define CHECK "nccl"
/* Versions of the profiler interface that may exist one day. */
#define VERSIONS 16
#define FOUND_MAX 8
#define PLUGINS_MAX 16

/* A bit a version: what a plugin exports, what NCCL looks for. */
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

/* "v1 v2 v5" */
static const char *list(unsigned bits, char *buf, size_t len)
{
    size_t n = 0;

    *buf = '\0';
    for (unsigned v = 1; v < VERSIONS && n < len; v++)
        if (bits >> v & 1)
            n += (size_t) snprintf(buf + n, len - n, "%sv%u", n ? " " : "", v);
    return buf;
}

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

/* Is the library the one that its key stands for? Adds a line unless it is. */
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
                   "its files may be none that jobprof reads",
                   "%s: %s has no text of %s (%s)", p->name, p->path,
                   wanted->title, wanted->mark);
    return !found;
}

static void check_plugin(struct doctor *d, struct plugin *p)
{
    struct elfview view;
    struct jp_error err;
    char text[96];

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
                   "name the library that was built as a plugin",
                   "%s: %s exports no ncclProfiler_v1 or later", p->name,
                   p->path);
    elfview_close(&view);
}

/* --- NCCL ----------------------------------------------------------------- */

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
                   "%s (%s) takes the %s through interface v%u", library,
                   release, p->name, newest(both));
    else
        doctor_add(d, DOCTOR_FAIL, CHECK,
                   "its steps have no data: another library or mode",
                   "%s (%s) looks for %s, the %s has %s", library, release,
                   list(wanted, want, sizeof(want)), p->name,
                   list(p->versions, have, sizeof(have)));
}

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
        doctor_add(d, DOCTOR_FAIL, CHECK, "", "%s: no NCCL", path);
    else if (!wanted)
        doctor_add(d, DOCTOR_FAIL, CHECK, "profilers need NCCL 2.23 or later",
                   "%s (%s) has no profiler interface", path, release);
    for (size_t i = 0; wanted && i < n; i++)
        check_pair(d, path, release, &plugins[i], wanted);
    if (d->n_lines == before)
        doctor_add(d, DOCTOR_SKIP, CHECK, "",
                   "%s (%s): no profiler to compare with", path, release);
    elfview_close(&view);
}

static size_t add_glob(const char *pattern, char **found, size_t n)
{
    glob_t hits = {0};

    if (glob(pattern, 0, NULL, &hits) == 0)
        for (size_t i = 0; i < hits.gl_pathc && n < FOUND_MAX; i++) {
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

/* In each folder of a variable with colons. */
static size_t add_folders(const char *folders, const char *tail, char **found,
                          size_t n)
{
    char *copy = strdup(folders ? folders : ""), *rest = copy, *dir;

    while (rest && (dir = strsep(&rest, ":"))) {
        char *pattern = *dir == '/' ? fileio_path("%s%s", dir, tail) : NULL;

        if (pattern)
            n = add_glob(pattern, found, n);
        free(pattern);
    }
    free(copy);
    return n;
}

/* The system's and those of Python's environments, each once. */
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
                   "no libnccl.so.2 is found here");
}

/* The NCCL profilers that have a library, and where it is. */
static size_t list_plugins(const struct jp_plan *plan,
                           struct plugin plugins[PLUGINS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; profiler_registry[i] && n < PLUGINS_MAX; i++) {
        const struct jp_profiler *about = profiler_registry[i];
        const struct sitefile_value *named =
            about->option == OPTION_NCCL && about->library
                ? plan_site_value(plan, plan->nccl.grammar->group,
                                  about->library)
                : NULL;

        if (about->option == OPTION_NCCL)
            plugins[n++] =
                (struct plugin){.name = about->name,
                                .path = named ? named->value : about->installed,
                                .is_auto = about->is_auto};
    }
    return n;
}

/* A backend_say. */
static int say_line(void *arg, bool is_warning, const char *line,
                    struct jp_error *err)
{
    doctor_add(arg, is_warning ? DOCTOR_WARN : DOCTOR_OK, "profiler", "", "%s",
               line);
    return 0;
}

/* What backends look at themselves. */
static void look(struct doctor *d, const struct jp_plan *plan)
{
    struct jp_error err;

    for (size_t i = 0; backend_registry[i]; i++)
        if (backend_registry[i]->look &&
            backend_registry[i]->look(plan, say_line, d, &err) < 0)
            doctor_add(d, DOCTOR_FAIL, "profiler", "", "%s", err.text);
}

void doctor_nccl(struct doctor *d)
{
    struct plan_input in = {
        .config = d->site && !access(d->site, F_OK) ? d->site : NULL,
        .settled = true};
    struct plugin plugins[PLUGINS_MAX];
    struct jp_plan plan = {.nccl.grammar = grammar_nccl()};
    size_t n;

    plan_make(&in, &plan, NULL); /* trouble is said already */
    n = list_plugins(&plan, plugins);
    for (size_t i = 0; i < n; i++) {
        check_plugin(d, &plugins[i]);
        if (plugins[i].is_auto && plugins[i].path)
            d->library = strdup(plugins[i].path);
    }
    look(d, &plan);
    check_libraries(d, plugins, n);
    plan_fini(&plan);
}
