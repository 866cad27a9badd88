/* runmarks.c - write, find and count the marks in run/. A mark is a file named
 * <node>.<word>; agent.h lists the words and their meaning. */
#include "orchestrator/agent/agent.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/ownplace.h"
#include "orchestrator/collect/stepdir.h"

/* The longest text of a mark in bytes. The marks are in a folder of the user,
 * so they are foreign input. */
#define TEXT_MAX 4096
/* The "node" of the step's own mark. */
#define STEP "step"

/* The suffix of each mark's file, by enum runmark. */
static const char *const words[RUNMARKS] = {".ready", ".failed", ".ended",
                                            ".done"};

/* The path of run/. Caller frees; NULL: no memory. */
static char *folder_of(const char *dir)
{
    return text_format("%s/run", dir);
}

int runmarks_make(const char *dir, struct jp_error *err)
{
    char *path = folder_of(dir);
    int rc = path ? fileio_mkdir(path, err) : error_set(err, "out of memory");

    free(path);
    return rc;
}

bool runmarks_there(const char *dir)
{
    return stepdir_has(dir, "run");
}

int runmark_set(const char *dir, const char *node, enum runmark mark,
                const char *text, struct jp_error *err)
{
    /* By temp + rename, so that a reader sees the whole text or no mark. */
    char *path = text_format("%s/run/%s%s", dir, node, words[mark]);
    int rc = path ? fileio_write(path, text, strlen(text), err)
                  : error_set(err, "out of memory");

    free(path);
    return rc;
}

bool runmark_is_set(const char *dir, const char *node, enum runmark mark)
{
    char *name = text_format("run/%s%s", node, words[mark]);
    bool set = name && stepdir_has(dir, name);

    free(name);
    return set;
}

int runmark_end_step(const char *dir, struct jp_error *err)
{
    return runmark_set(dir, STEP, RUNMARK_ENDED, "", err);
}

bool runmark_step_has_ended(const char *dir)
{
    return runmark_is_set(dir, STEP, RUNMARK_ENDED);
}

char *runmark_text(const char *dir, const char *node, enum runmark mark)
{
    char *path = text_format("%s/run/%s%s", dir, node, words[mark]);
    char *text = NULL;
    size_t len = 0;

    if (path)
        fileio_read(path, false, TEXT_MAX, &text, &len, NULL);
    free(path);
    for (size_t i = 0; text && i < len; i++)
        /* A text of several lines, or with control characters, is not ours. */
        if ((unsigned char) text[i] < ' ') {
            free(text);
            return NULL;
        }
    return text;
}

/* Splits the name of a file in run/ into node and mark. The first *len bytes
 * are the node's name. RUNMARKS: not a mark of a node. */
static enum runmark parse_mark(const char *name, size_t *len)
{
    char node[JP_STEPDIR_NAME_MAX + 1];
    size_t n = strlen(name);

    for (int i = 0; i < RUNMARKS; i++) {
        size_t own = strlen(words[i]);

        /* A temporary file of an unfinished mark ends differently and is
         * skipped. */
        if (n <= own || n - own >= sizeof(node) ||
            strcmp(name + n - own, words[i]) != 0)
            continue;
        memcpy(node, name, n - own);
        node[n - own] = '\0';
        if (!stepdir_name_ok(node) ||
            (i == RUNMARK_ENDED &&
             (!strcmp(node, STEP) || !strcmp(node, "srun"))))
            return RUNMARKS; /* "step.ended" and "srun.ended" are not marks of
                                nodes */
        *len = n - own;
        return (enum runmark) i;
    }
    return RUNMARKS;
}

void runmarks_count(const char *dir, uint32_t n[RUNMARKS])
{
    char *path = folder_of(dir);
    DIR *folder = path ? ownplace_opendir(path) : NULL;
    struct dirent *entry;
    size_t len;

    /* Without run/, all counts are 0. */
    memset(n, 0, RUNMARKS * sizeof(*n));
    while (folder && (entry = readdir(folder))) {
        enum runmark mark = parse_mark(entry->d_name, &len);

        if (mark < RUNMARKS)
            n[mark]++;
    }
    if (folder)
        closedir(folder);
    free(path);
}

/* Reads one mark's file and passes its node and text on. */
static void tell_one(const char *folder, const char *name, size_t len,
                     void (*tell)(void *, const char *, const char *),
                     void *arg)
{
    char *path = text_format("%s/%s", folder, name);
    char *node = strndup(name, len), *text = NULL;

    if (path && node &&
        fileio_read(path, false, TEXT_MAX, &text, NULL, NULL) == 0)
        tell(arg, node, text);
    free(text);
    free(node);
    free(path);
}

/* Sorted, so that messages are the same in every run. */
void runmarks_each(const char *dir, enum runmark mark,
                   void (*tell)(void *arg, const char *node, const char *text),
                   void *arg)
{
    char *path = folder_of(dir);
    struct dirent **list = NULL;
    size_t len = 0;
    /* scandir returns -1 on errors, so the loop does nothing then. */
    int n = path && stepdir_is_folder(path)
                ? scandir(path, &list, NULL, alphasort)
                : 0;

    for (int i = 0; i < n; i++) {
        if (parse_mark(list[i]->d_name, &len) == mark)
            tell_one(path, list[i]->d_name, len, tell, arg);
        free(list[i]);
    }
    free(list);
    free(path);
}
