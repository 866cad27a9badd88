/* filekinds.c - recognise the kind of each file of an input. */
#include "orchestrator/ingest/filekinds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/figure.h"
#include "common/fileio.h"
#include "common/logsource.h"
#include "common/quote.h"
#include "common/vector.h"
#include "plugins/backend.h"
#include "plugins/kineto/kineto.h"
#include "plugins/nccl_example/example.h"

/* --- one test for each kind ---------------------------------------------- */

static bool is_named(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

static bool holds(const struct filekind_look *look, const char *text)
{
    return look->len && memmem(look->head, look->len, text, strlen(text));
}

/* The first byte that is no blank; *at is its place. '\0': there is none. */
static char first_of(const struct filekind_look *look, size_t *at)
{
    for (*at = 0; *at < look->len; (*at)++)
        if (!strchr(" \t\r\n", look->head[*at]) || !look->head[*at])
            return look->head[*at];
    return '\0';
}

static bool is_own(const struct filekind_look *look)
{
    static const char *const names[] = {
        "job.json",      "node.json",    "summary.json",
        "summary.txt",   "log.txt",      "job.conf",
        "report.html",   "index.html",   "manifest",
        "tasks.jsonl",   "ranks.jsonl",  "starts.jsonl",
        "hardware.json", "topology.xml", NULL};
    static const char *const endings[] = {".jpp", NULL};

    return !look->given &&
           (is_named(look->name, names) ||
            filekind_ends_in(look->name, endings) ||
            (look->is_own_name && look->is_own_name(look->name)));
}

static bool is_recording(const struct filekind_look *look)
{
    static const char *const endings[] = {".jpr", ".jpr.gz", NULL};

    return filekind_ends_in(look->name, endings);
}

static bool has_magic(const struct filekind_look *look, size_t at,
                      const char *magic, size_t n)
{
    return look->len >= at + n && !memcmp(look->head + at, magic, n);
}

/* By the first bytes, as its program writes them. A .tar.gz is a tar here. */
static bool is_archive(const struct filekind_look *look)
{
    static const struct {
        size_t at, n;
        const char *magic;
    } rows[] = {
        {0, 4, "PK\x03\x04"},         /* zip */
        {257, 5, "ustar"},            /* tar */
        {0, 4, "\x28\xb5\x2f\xfd"},   /* zstd */
        {0, 6, "\xfd\x37zXZ\0"},      /* xz */
        {0, 3, "BZh"},                /* bzip2 */
        {0, 4, "\x04\x22\x4d\x18"},   /* lz4 */
        {0, 6, "7z\xbc\xaf\x27\x1c"}, /* 7-Zip */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (has_magic(look, rows[i].at, rows[i].magic, rows[i].n))
            return true;
    return false;
}

static bool is_utf16(const struct filekind_look *look)
{
    return has_magic(look, 0, "\xff\xfe", 2) ||
           has_magic(look, 0, "\xfe\xff", 2);
}

static bool is_page(const struct filekind_look *look)
{
    static const char *const begins[] = {"<!doctype", "<html", "<?xml", NULL};
    size_t at;

    if (first_of(look, &at) != '<')
        return false;
    for (size_t i = 0; begins[i]; i++) {
        size_t n = strlen(begins[i]);

        if (look->len - at >= n && !strncasecmp(look->head + at, begins[i], n))
            return true;
    }
    return false;
}

static bool is_kineto(const struct filekind_look *look)
{
    return look->len && kineto_begins(look->head, look->len);
}

/* A pickle of a dict, or a JSON object, with members that only these dumps
 * have. Version 2.0 writes the entries first, later ones their groups. */
static bool is_flight(const struct filekind_look *look)
{
    static const char *const members[] = {"pg_config", "pg_status",
                                          "profiling_name", "nccl_comm_state"};
    size_t at;
    bool pickle = look->len > 2 && look->head[0] == '\x80' &&
                  look->head[1] >= 2 && look->head[1] <= 5;

    /* a Kineto trace has "pg_config", too, of its rank's process groups */
    if (!pickle && (first_of(look, &at) != '{' || is_kineto(look)))
        return false;
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        if (holds(look, members[i]))
            return pickle || holds(look, "\"pg_config\"") ||
                   holds(look, "\"pg_status\"") ||
                   (holds(look, "\"profiling_name\"") &&
                    holds(look, "\"pg_id\""));
    return false;
}

/* A pickle of a later protocol that ends with its opcode, or that is longer
 * than what is here. */
static bool is_pickle(const struct filekind_look *look)
{
    return look->len > 3 && look->head[0] == '\x80' && look->head[1] >= 2 &&
           look->head[1] <= 5 &&
           (look->len == FILEKIND_HEAD || look->head[look->len - 1] == '.');
}

static bool is_chrome(const struct filekind_look *look)
{
    size_t at;

    return first_of(look, &at) == '{' && holds(look, "\"traceEvents\"");
}

static bool is_trace(const struct filekind_look *look)
{
    static const char *const endings[] = {".json", ".json.gz", ".txt", NULL};

    return look->len &&
           (look->given || filekind_ends_in(look->name, endings)) &&
           example_reader.probe(look->name, look->head, look->len);
}

/* A line that begins like a JSON object with a member, and ends where lines of
 * logs do. The first line of a rotated log may be cut. */
static bool has_object_line(const struct filekind_look *look)
{
    const char *at = look->head, *end = look->head + look->len;

    while (at < end) {
        const char *line = at;

        while (line < end && (*line == ' ' || *line == '\t'))
            line++;
        at = memchr(at, '\n', (size_t) (end - at));
        if (line < end && *line == '{' && (line + 1 == end || line[1] == '"') &&
            (at || look->len < FILEKIND_HEAD || line > look->head))
            return true;
        at = at ? at + 1 : end;
    }
    return false;
}

/* "n1-pid17.log", as Inspector names its logs. */
static bool is_inspectors_name(const char *name)
{
    const char *pid = strstr(name, "-pid");

    return pid && pid[4] >= '0' && pid[4] <= '9';
}

/* In a folder only names of logs are read as such: other JSON lines are some
 * other program's. A log of Inspector's own name without a good line is damaged
 * and no stranger. */
static bool is_log(const struct filekind_look *look)
{
    static const char *const endings[] = {".log", ".log.gz", ".jsonl",
                                          ".jsonl.gz", NULL};

    return (look->given || filekind_ends_in(look->name, endings)) &&
           (has_object_line(look) || is_inspectors_name(look->name));
}

/* A file that the reader of a profiler recognises which has no row of its own:
 * a new folder in plugins/ needs none. NVIDIA's example plugin has a row, which
 * has looked at the name, too. */
static bool is_other(const struct filekind_look *look)
{
    const struct backend *backend = NULL;

    if (look->len)
        backend = reader_probe(look->name, look->head, look->len);
    return backend && backend->reader != &example_reader;
}

/* An object or an array whose first member is on another line. */
static bool is_pretty(const struct filekind_look *look)
{
    size_t at;
    char first = first_of(look, &at);

    if (first != '{' && first != '[')
        return false;
    for (at++; at < look->len && strchr(" \t\r", look->head[at]); at++)
        ;
    return at < look->len && look->head[at] == '\n';
}

static const struct filekind_row rows[FILEKIND_N] = {
    [FILEKIND_OWN] = {"file of jobprof's", "files of jobprof's", is_own, true},
    [FILEKIND_RECORDING] = {"recording of jobprof's recorder",
                            "recordings of jobprof's recorder", is_recording,
                            true},
    [FILEKIND_ARCHIVE] = {"archive or compressed file",
                          "archives or compressed files", is_archive,
                          .stranger = true,
                          .advice = "Unpack the archives first: of compressed "
                                    "files, only a .gz of one file is read."},
    [FILEKIND_UTF16] = {"text in UTF-16", "texts in UTF-16", is_utf16,
                        .stranger = true,
                        .advice = "Turn the text into UTF-8: iconv -f UTF-16 "
                                  "-t UTF-8 FILE."},
    [FILEKIND_PAGE] = {"page of HTML or XML", "pages of HTML or XML", is_page,
                       .stranger = true,
                       .advice = "A page in place of data: did a download "
                                 "fail? Fetch the files again."},
    [FILEKIND_FLIGHT] = {"Flight Recorder dump", "Flight Recorder dumps",
                         is_flight, false},
    [FILEKIND_PICKLE] = {"pickle of another program",
                         "pickles of other programs", is_pickle,
                         .stranger = true,
                         .advice = "Of pickles, only dumps of PyTorch's Flight "
                                   "Recorder are read, no memory snapshots."},
    [FILEKIND_KINETO] = {"Kineto trace", "Kineto traces", is_kineto, true},
    [FILEKIND_CHROME] = {"trace of another program", "traces of other programs",
                         is_chrome, .stranger = true,
                         .advice = "Of such traces, only PyTorch's are read; "
                                   "jobprof aggregate --help names what else "
                                   "is."},
    [FILEKIND_TRACE] = {"trace of NVIDIA's example plugin",
                        "traces of NVIDIA's example plugin", is_trace, true},
    [FILEKIND_LOG] = {"log of JSON lines (NCCL Inspector)",
                      "logs of JSON lines (NCCL Inspector)", is_log, true},
    [FILEKIND_OTHER] = {"file of another profiler", "files of other profilers",
                        is_other, true},
    [FILEKIND_PRETTY] = {"pretty-printed JSON file that no reader knows",
                         "pretty-printed JSON files that no reader knows",
                         is_pretty, .stranger = true},
    [FILEKIND_EMPTY] = {"empty file", "empty files", NULL, true,
                        .stranger = true},
    [FILEKIND_UNREADABLE] = {"file that cannot be read",
                             "files that cannot be read", NULL, true,
                             .stranger = true},
    [FILEKIND_UNKNOWN] = {"file of no known kind", "files of no known kind",
                          NULL, false, .stranger = true},
};

/* The k-th row of all backends, by_name or not; an empty one if there is
 * none. */
static const struct filekind_row *of_backends(unsigned k, bool by_name)
{
    static const struct filekind_row none = {.one = "", .many = ""};

    for (size_t i = 0; backend_registry[i]; i++)
        for (const struct filekind_row *row = backend_registry[i]->kinds;
             row && row->one; row++)
            if (row->by_name == by_name && !k--)
                return row;
    return &none;
}

const struct filekind_row *filekinds_row(enum filekind kind)
{
    if (kind >= FILEKIND_NAMED && kind < FILEKIND_NAMED + FILEKIND_PLACES)
        return of_backends(kind - FILEKIND_NAMED, true);
    if (kind >= FILEKIND_LOOKED && kind < FILEKIND_LOOKED + FILEKIND_PLACES)
        return of_backends(kind - FILEKIND_LOOKED, false);
    return &rows[kind];
}

enum filekind filekinds_of(const struct filekind_look *look)
{
    for (int kind = 0; kind < FILEKIND_N; kind++) {
        const struct filekind_row *row = filekinds_row((enum filekind) kind);

        if (row->probe && row->probe(look))
            return (enum filekind) kind;
    }
    return FILEKIND_UNKNOWN;
}

/* --- the walk ------------------------------------------------------------- */

/* Kinds for which the name is enough: thousands of recordings need no look. */
static bool is_by_name(const char *name, bool (*is_own_name)(const char *),
                       enum filekind *kind)
{
    struct filekind_look look = {
        .name = name, .folder = "", .head = "", .is_own_name = is_own_name};

    *kind = filekinds_of(&look);
    return *kind == FILEKIND_OWN || *kind == FILEKIND_RECORDING ||
           filekinds_row(*kind)->by_name;
}

/* Reads the first bytes of a file. Returns how many, or -1. */
static ssize_t read_head(const char *path, char *head)
{
    struct jp_logsource *source = logsource_open(path, NULL);
    ssize_t n = 0, got = 1;

    if (!source)
        return -1;
    while (n < FILEKIND_HEAD && got > 0) {
        got = logsource_read(source, head + n, (size_t) (FILEKIND_HEAD - n),
                             NULL);
        n += got > 0 ? got : 0;
    }
    if (!n && logsource_damage(source))
        got = -1;
    logsource_close(source);
    return got < 0 && !n ? -1 : n;
}

struct walk {
    struct filekinds *found;
    bool (*is_own_name)(const char *name);
    char *head;
};

/* The name of the folder that contains the file; "" if it is not in the path.
 */
static const char *folder_of(const char *path, char buf[256])
{
    const char *end = strrchr(path, '/'), *begin = end;

    *buf = '\0';
    while (begin && begin > path && begin[-1] != '/')
        begin--;
    if (begin && end - begin < 256)
        snprintf(buf, 256, "%.*s", (int) (end - begin), begin);
    return buf;
}

/* Adds a file. Returns 0, or -1 without memory. */
static int add_file(struct walk *walk, const char *path, const struct stat *st,
                    bool given)
{
    struct filekinds *found = walk->found;
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char folder[256];
    struct filekind_look look = {.name = name,
                                 .folder = folder_of(path, folder),
                                 .head = walk->head,
                                 .given = given,
                                 .is_own_name = walk->is_own_name};
    enum filekind kind;
    ssize_t n;

    if (given || !is_by_name(name, walk->is_own_name, &kind)) {
        n = read_head(path, walk->head);
        look.len = n > 0 ? (size_t) n : 0;
        kind = n < 0 ? FILEKIND_UNREADABLE : filekinds_of(&look);
        if (n == 0 && kind == FILEKIND_UNKNOWN)
            kind = FILEKIND_EMPTY;
    }
    if (VECTOR_DOUBLE(found->files, found->n_files) < 0)
        return -1;
    found->files[found->n_files] = (struct filekinds_file){
        .path = strdup(path),
        .kind = kind,
        .mtime_us = (int64_t) st->st_mtim.tv_sec * 1000000 +
                    st->st_mtim.tv_nsec / 1000};
    return found->files[found->n_files++].path ? 0 : -1;
}

/* A callback of type treewalk_see. What is no regular file is named by the
 * readers. */
static int take_entry(void *arg, const struct treewalk_entry *entry)
{
    return entry->what == TREEWALK_FILE
               ? add_file(arg, entry->path, entry->st, false)
               : 0;
}

static int take_input(struct walk *walk, const char *input,
                      struct jp_error *err)
{
    struct stat st;
    int rc = 0, fd = open(input, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0)
        rc = treewalk(fd, input, LOGWALK_MAX_DEPTH, take_entry, walk);
    else if (errno != ENOTDIR || lstat(input, &st) < 0)
        return error_set(err, "%s: %s", input, strerror(errno));
    else if (S_ISREG(st.st_mode))
        rc = add_file(walk, input, &st, true);
    return rc < 0 ? error_set(err, "%s: out of memory", input) : 0;
}

static int by_path(const void *a, const void *b)
{
    const struct filekinds_file *x = a, *y = b;

    return strcmp(x->path, y->path);
}

/* Sorts, and keeps one of each path: inputs may overlap. */
static void sort_unique(struct filekinds *found)
{
    size_t kept = 0;

    if (found->n_files)
        qsort(found->files, found->n_files, sizeof(*found->files), by_path);
    for (size_t i = 0; i < found->n_files; i++) {
        if (kept && !by_path(&found->files[kept - 1], &found->files[i])) {
            free(found->files[i].path);
            continue;
        }
        found->files[kept++] = found->files[i];
        found->n[found->files[kept - 1].kind]++;
    }
    found->n_files = kept;
}

int filekinds_find(struct filekinds *found, const char *const *inputs, size_t n,
                   bool (*is_own_name)(const char *name), struct jp_error *err)
{
    struct walk walk = {found, is_own_name, malloc(FILEKIND_HEAD)};
    int rc = 0;

    *found = (struct filekinds){0};
    if (!walk.head)
        rc = error_set(err, "out of memory");
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = take_input(&walk, inputs[i], err);
    free(walk.head);
    if (rc < 0)
        filekinds_fini(found);
    else
        sort_unique(found);
    return rc;
}

void filekinds_fini(struct filekinds *found)
{
    for (size_t i = 0; i < found->n_files; i++)
        free(found->files[i].path);
    free(found->files);
    *found = (struct filekinds){0};
}

enum logwalk_use filekinds_use(const void *arg, const char *path)
{
    const struct filekinds *found = arg;
    struct filekinds_file key = {.path = (char *) path}, *at = NULL;

    if (found->n_files)
        at = bsearch(&key, found->files, found->n_files, sizeof(key), by_path);
    if (!at || filekinds_row(at->kind)->joined)
        return LOGWALK_KEEP;
    return filekinds_row(at->kind)->stranger ? LOGWALK_SKIP : LOGWALK_DROP;
}

const char *filekinds_odd_name(const struct filekinds *found, size_t *at)
{
    while (*at < found->n_files) {
        const struct filekinds_file *file = &found->files[(*at)++];
        const char *end = strrchr(file->path, '/');

        if ((file->kind == FILEKIND_KINETO || file->kind == FILEKIND_OTHER) &&
            !logwalk_takes(end ? end + 1 : file->path))
            return file->path;
    }
    return NULL;
}

/* The path of the first file of a kind, without its folder. */
static const char *first_name(const struct filekinds *found, enum filekind kind)
{
    for (size_t i = 0; i < found->n_files; i++)
        if (found->files[i].kind == kind) {
            const char *path = found->files[i].path;

            return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        }
    return "";
}

char *filekinds_text(const struct filekinds *found, char buf[FILEKINDS_TEXT])
{
    FILE *out = fmemopen(buf, FILEKINDS_TEXT, "w");
    const char *sep = "";

    *buf = '\0';
    for (int kind = FILEKIND_OWN + 1; out && kind < FILEKIND_N; kind++) {
        const struct filekind_row *row = filekinds_row((enum filekind) kind);
        size_t n = found->n[kind];

        if (!n)
            continue;
        fprintf(out, "%s%s %s", sep, FIG_COUNT(n),
                n == 1 ? row->one : row->many);
        /* what nothing is done with is named */
        if (row->stranger)
            quote_printf(out, " (%s%.60s)", n == 1 ? "" : "first: ",
                         first_name(found, (enum filekind) kind));
        sep = ", ";
    }
    if (out)
        fclose(out);
    buf[FILEKINDS_TEXT - 1] = '\0';
    return buf;
}

bool filekinds_none(const struct filekinds *found)
{
    for (int kind = FILEKIND_OWN + 1; kind < FILEKIND_N; kind++)
        if (found->n[kind] && !filekinds_row((enum filekind) kind)->stranger)
            return false;
    return true;
}

const char *filekinds_advice(const struct filekinds *found)
{
    const char *advice = NULL;
    size_t most = 0;

    for (int kind = 0; kind < FILEKIND_N; kind++)
        if (filekinds_row((enum filekind) kind)->advice &&
            found->n[kind] > most) {
            most = found->n[kind];
            advice = filekinds_row((enum filekind) kind)->advice;
        }
    return advice;
}
