/* filekinds.h - what kind of data each file of an input is: one row a kind.
 *
 * `jobprof aggregate` gets any folder. Before a reader opens a file, this walk
 * asks for its kind, by its name and its first bytes. Each reader then takes
 * the files of its own kinds, so a file of another kind never disturbs it. The
 * table says which kinds there are, how a file is recognised, and how many of
 * them are called (filekinds_text).
 *
 * To add a kind: a row of its backend (kinds of struct backend), or for what
 * belongs to none, a constant of enum filekind and a row of filekinds.c. Rows
 * are asked in the order of the enum, and the first one that accepts wins.
 */
#ifndef JP_INGEST_FILEKINDS_H
#define JP_INGEST_FILEKINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "orchestrator/ingest/logwalk.h"
#include "plugins/reader.h"

/* Most rows of all backends together, of each sort. */
enum { FILEKIND_PLACES = 4 };

enum filekind {
    FILEKIND_OWN,       /* jobprof's own files beside the data */
    FILEKIND_RECORDING, /* .jpr of jobprof's recorder */
    /* what backends know by its name (kinds of struct backend, by_name) */
    FILEKIND_NAMED,
    /* packed in another way than .gz, or several files */
    FILEKIND_ARCHIVE = FILEKIND_NAMED + FILEKIND_PLACES,
    FILEKIND_UTF16, /* text in UTF-16 */
    FILEKIND_PAGE,  /* HTML or XML: an error message of a server */
    /* what they know by its content */
    FILEKIND_LOOKED,
    /* a dump of PyTorch's Flight Recorder */
    FILEKIND_FLIGHT = FILEKIND_LOOKED + FILEKIND_PLACES,
    FILEKIND_PICKLE, /* of another program, such as a memory snapshot */
    FILEKIND_KINETO, /* a trace of PyTorch's profiler */
    FILEKIND_CHROME, /* a trace of another program in the same format */
    FILEKIND_TRACE,  /* of NVIDIA's example plugin */
    FILEKIND_LOG,    /* of NCCL Inspector: a JSON object a line */
    FILEKIND_OTHER,  /* of another profiler that has a reader in plugins/ */
    FILEKIND_PRETTY, /* JSON over several lines that no reader knows */
    FILEKIND_EMPTY,
    FILEKIND_UNREADABLE,
    FILEKIND_UNKNOWN,
    FILEKIND_N
};

/* The row of a kind. Its one is "" if no backend fills the place. */
const struct filekind_row *filekinds_row(enum filekind kind);

struct filekinds_file {
    char *path;
    enum filekind kind;
    int64_t mtime_us; /* since 1970 */
};

struct filekinds {
    struct filekinds_file *files; /* sorted by path */
    size_t n_files;
    size_t n[FILEKIND_N];
};

/* The kind by name and content. Never EMPTY or UNREADABLE. */
enum filekind filekinds_of(const struct filekind_look *look);

/* Looks at the inputs and everything below them; follows no link. is_own_name:
 * as in struct filekind_look. Returns -1: no memory, or an input does not
 * exist. */
int filekinds_find(struct filekinds *found, const char *const *inputs, size_t n,
                   bool (*is_own_name)(const char *name), struct jp_error *err);
void filekinds_fini(struct filekinds *found);

/* What aggregate_run does with the file at path (logwalk_filter). A path that
 * was not found is unknown here, so it is kept. found: a struct filekinds. */
enum logwalk_use filekinds_use(const void *found, const char *path);

/* The path of the next file of a profiler that the walk leaves out because of
 * its name, such as "rank0.pt.trace"; NULL: there are no more. *at is 0 at
 * first. */
const char *filekinds_odd_name(const struct filekinds *found, size_t *at);

/* Formats "16 Flight Recorder dumps, 2 Kineto traces, 3 files of no known kind
 * (first: notes.txt)"; "" if there is no file. Returns buf. */
#define FILEKINDS_TEXT 600
char *filekinds_text(const struct filekinds *found, char buf[FILEKINDS_TEXT]);

/* Whether nothing but files that no reader takes were found. */
bool filekinds_none(const struct filekinds *found);
/* What to do with the kind of strangers of which there are most; NULL: nothing
 * is known. */
const char *filekinds_advice(const struct filekinds *found);

#endif
