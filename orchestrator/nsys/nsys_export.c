/* nsys_export.c - run `nsys export` for reports without an export.
 *
 * find_reports lists the reports that need one; run keeps several children at
 * work (turn) until all are done, one has failed, or the time is up. Each child
 * writes into its own folder in TMPDIR, because SQLite needs a file system with
 * locks; move then copies the file beside its report. */
#include "orchestrator/nsys/nsys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/quote.h"
#include "common/vector.h"
#include "plugins/nsys/nsys_env.h"

#define DEPTH 4 /* deep enough for <node>/nsys/ */
#define REPORTS_MAX 4096
#define AT_ONCE_MAX 16
#define LOOK_MS 20 /* between two looks at the children */
#define ENDING ".nsys-rep"

/* A report that needs an export. */
struct wanted {
    char *report, *target;
};

struct list {
    struct wanted *at;
    size_t n, room;
    char *program; /* the nsys that profiled the ranks, or NULL */
};

/* A child that runs an export. */
struct worker {
    pid_t pid; /* 0: idle */
    const struct wanted *of;
    char folder[256]; /* its own folder in TMPDIR */
    char *made;       /* the file in that folder */
};

/* --- find ---------------------------------------------------------------- */

static void list_fini(struct list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->at[i].report);
        free(list->at[i].target);
    }
    free(list->at);
    free(list->program);
}

/* Reads a file that only this user can have written. */
static void read_program(const struct treewalk_entry *entry, struct list *list)
{
    char *text = NULL;

    if (list->program || entry->st->st_uid != geteuid() ||
        entry->st->st_mode & 022 ||
        fileio_read(entry->path, false, 4096, &text, NULL, NULL) < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    if (*text == '/' && access(text, X_OK) == 0)
        list->program = text;
    else
        free(text);
}

/* Whether the export is at least as new as the report: an older one belongs to
 * an earlier run. */
static bool is_fresh(const char *target, const struct stat *report)
{
    struct stat st;

    if (stat(target, &st) < 0)
        return false;
    return st.st_mtim.tv_sec != report->st_mtim.tv_sec
               ? st.st_mtim.tv_sec > report->st_mtim.tv_sec
               : st.st_mtim.tv_nsec >= report->st_mtim.tv_nsec;
}

/* Adds a report that has no fresh export. Returns -1 without memory. */
static int add_report(struct list *list, const char *path,
                      const struct stat *st)
{
    size_t stem = strlen(path) - strlen(ENDING);
    struct wanted one = {
        .target = text_format("%.*s.sqlite", (int) stem, path)};

    if (!one.target)
        return -1;
    if (is_fresh(one.target, st) || list->n == REPORTS_MAX) {
        free(one.target);
        return 0;
    }
    one.report = VECTOR_ROOM(list->at, list->n + 1, list->room) == 0
                     ? strdup(path)
                     : NULL;
    if (!one.report) {
        free(one.target);
        return -1;
    }
    list->at[list->n++] = one;
    return 0;
}

/* A callback of type treewalk_see. Only files of this user are taken: nsys runs
 * as the user. */
static int see_file(void *arg, const struct treewalk_entry *entry)
{
    size_t n = strlen(entry->name), end = strlen(ENDING);

    if (entry->what != TREEWALK_FILE)
        return 0;
    if (!strcmp(entry->name, NSYS_PROGRAM_FILE))
        read_program(entry, arg);
    if (n <= end || strcmp(entry->name + n - end, ENDING) != 0 ||
        entry->st->st_uid != geteuid())
        return 0;
    return add_report(arg, entry->path, entry->st);
}

/* Returns -1 without memory. */
static int find_reports(const char *folder, struct list *list,
                        struct jp_error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) /* nothing was exported */
        return 0;
    return treewalk(fd, folder, DEPTH, see_file, list) == 0
               ? 0
               : error_set(err, "out of memory");
}

/* --- one export ---------------------------------------------------------- */

/* Counts a failure; the first one's reason is kept. */
static void fail(struct nsys_export_done *done, const char *what,
                 const char *path)
{
    done->failed++;
    if (!*done->why)
        snprintf(done->why, sizeof(done->why), "%s: %s", what, QUOTE(path));
}

/* Makes the child's folder; false: not possible. */
static bool make_folder(struct worker *w)
{
    const char *tmp = getenv("TMPDIR");
    struct stat st;
    int n;

    if (!tmp || !*tmp || stat(tmp, &st) < 0 || !S_ISDIR(st.st_mode))
        tmp = "/tmp";
    n = snprintf(w->folder, sizeof(w->folder), "%s/jobprof-nsys.XXXXXX", tmp);
    if (n < (int) sizeof(w->folder) && mkdtemp(w->folder))
        w->made = text_format("%s/export.sqlite", w->folder);
    else
        w->folder[0] = '\0';
    return w->made != NULL;
}

/* Removes the folder, with the files that SQLite may have left beside the
 * export, and resets the worker. */
static void clean(struct worker *w)
{
    static const char *const names[] = {"", "-wal", "-shm", "-journal"};

    for (size_t i = 0; w->made && i < sizeof(names) / sizeof(*names); i++) {
        char *path = text_format("%s%s", w->made, names[i]);

        if (path)
            unlink(path);
        free(path);
    }
    if (*w->folder)
        rmdir(w->folder);
    free(w->made);
    *w = (struct worker){0};
}

/* Starts an export at low priority; false: not possible. */
static bool start(struct worker *w, const char *program,
                  const struct wanted *one)
{
    char *output = NULL;
    bool ok = make_folder(w) &&
              (output = text_format("--output=%s", w->made)) != NULL;
    char *argv[] = {(char *) "nice",
                    (char *) "-n",
                    (char *) "10",
                    (char *) program,
                    (char *) "export",
                    (char *) "--type=sqlite",
                    (char *) "--force-overwrite=true",
                    output,
                    one->report,
                    NULL};
    const struct child child = {.argv = argv, .dies_with_us = true};

    w->of = one;
    w->pid = ok ? child_start(&child) : -1;
    free(output);
    if (w->pid > 0)
        return true;
    clean(w);
    return false;
}

/* Copies the export beside its report, completely or not at all. A rename is
 * not possible between file systems. */
static bool move(const struct worker *w)
{
    FILE *in = fopen(w->made, "re");
    struct jp_tempfile file;
    static char buf[65536]; /* static, because the stack may be small */
    size_t n, total = 0;

    if (!in)
        return false;
    if (fileio_temp_open(&file, w->of->target, NULL) < 0) {
        fclose(in);
        return false;
    }
    while ((n = fread(buf, 1, sizeof(buf), in)) > 0 &&
           fwrite(buf, 1, n, file.stream) == n)
        total += n;
    if (n || ferror(in) || !total) {
        fileio_temp_abort(&file);
        fclose(in);
        return false;
    }
    fclose(in);
    return fileio_temp_commit(&file, NULL) == 0;
}

/* Handles a child that has ended. */
static void take_result(struct worker *w, int status,
                        struct nsys_export_done *done)
{
    w->pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail(done,
             WIFEXITED(status) &&
                     (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)
                 ? "no nsys for the export" /* 126 and 127: it could not be
                                               started */
                 : "nsys export failed",
             w->of->report);
    else if (!move(w))
        fail(done, "its export cannot be kept", w->of->report);
    else
        done->made++;
    clean(w);
}

/* Kills a child for which there is no more time. */
static void end(struct worker *w, struct nsys_export_done *done)
{
    int status;

    /* its process group, then itself, in case it has not made the group yet */
    kill(-w->pid, SIGKILL);
    kill(w->pid, SIGKILL);
    child_await(w->pid, CHILD_LAST_MS, &status);
    done->late++;
    if (!*done->why)
        snprintf(done->why, sizeof(done->why), "no time for its export: %s",
                 QUOTE(w->of->report));
    clean(w);
}

/* --- all reports --------------------------------------------------------- */

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000 + (uint64_t) t.tv_nsec / 1000000;
}

/* Collects children that have ended and starts the next ones. Returns the
 * number that still run; 0: done. */
static size_t turn(struct worker *workers, size_t n_workers,
                   const struct list *list, const char *program, size_t *next,
                   struct nsys_export_done *done)
{
    size_t running = 0;
    int status, rc;

    for (size_t i = 0; i < n_workers; i++) {
        struct worker *w = &workers[i];

        rc = w->pid > 0 ? child_await(w->pid, 0, &status) : 0;
        if (rc > 0)
            take_result(w, status, done);
        if (rc < 0) { /* its status is unknown */
            fail(done, "its export is lost", w->of->report);
            clean(w);
        }
        /* after a failure, no further one is started: the others would most
         * likely fail as well */
        if (w->pid <= 0 && *next < list->n && done->failed == 0 &&
            !start(w, program, &list->at[(*next)++]))
            fail(done, "no export can be started", list->at[*next - 1].report);
        running += w->pid > 0;
    }
    return running;
}

static void run_workers(const struct list *list,
                        const struct nsys_export_options *options,
                        struct nsys_export_done *done)
{
    const char *program = options->program ? options->program : list->program;
    struct worker workers[AT_ONCE_MAX] = {0};
    size_t n = options->at_once, next = 0;
    uint64_t end_ms = now_ms() + options->limit_ms;

    n = n > AT_ONCE_MAX ? AT_ONCE_MAX : n ? n : 1;
    /* after one failure, do not try thousands of others */
    while (turn(workers, n, list, program ? program : "nsys", &next, done) >
           0) {
        if (now_ms() >= end_ms ||
            (options->stop && options->stop(options->arg)))
            break;
        nanosleep(&(struct timespec){0, LOOK_MS * 1000000L}, NULL);
    }
    for (size_t i = 0; i < n; i++)
        if (workers[i].pid > 0)
            end(&workers[i], done);
}

int nsys_export(const char *folder, const struct nsys_export_options *options,
                struct nsys_export_done *out, struct jp_error *err)
{
    struct list list = {0};
    int rc = 0;

    *out = (struct nsys_export_done){0};
    if (nsys_sql_built())
        rc = find_reports(folder, &list, err);
    out->wanted = list.n;
    if (rc == 0 && list.n > 0)
        run_workers(&list, options, out);
    list_fini(&list);
    return rc;
}
