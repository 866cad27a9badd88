/* doctor_parts.c - functions that the checks share: to add lines, to judge who
 * can change a file, and to run other programs, bounded in time and output. */
#include "orchestrator/doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/quote.h"
#include "common/vector.h"

/* The words of the results, by enum doctor_verdict. */
const char *const doctor_words[DOCTOR_VERDICTS] = {"ok", "skip", "warn",
                                                   "fail"};

/* A copy of text that is harmless to a terminal. Caller frees; NULL: no
 * memory. */
static char *clean(const char *text)
{
    char *out = NULL;
    size_t len = 0;
    FILE *stream = open_memstream(&out, &len);

    if (!stream)
        return NULL;
    quote_print(stream, text);
    if (fclose(stream) == 0)
        return out;
    free(out);
    return NULL;
}

/* The formatted text, harmless to a terminal. Caller frees; NULL: no memory. */
static char *made(const char *fmt, va_list ap)
{
    char *raw = NULL, *text;

    if (vasprintf(&raw, fmt, ap) < 0)
        return NULL;
    text = clean(raw);
    free(raw);
    return text;
}

void doctor_add(struct doctor *d, enum doctor_verdict verdict,
                const char *check, const char *advice, const char *fmt, ...)
{
    /* A check never fails: without memory, doctor_run returns an error at the
     * end. */
    bool has_room = VECTOR_DOUBLE(d->lines, d->n_lines) == 0;
    char *text;
    va_list ap;

    va_start(ap, fmt);
    text = made(fmt, ap);
    va_end(ap);
    if (!has_room || !text) {
        free(text);
        d->failed = true;
        return;
    }
    d->lines[d->n_lines++] = (struct doctor_line){
        .verdict = verdict, .check = check, .text = text, .advice = advice};
    d->count[verdict]++;
}

void doctor_advise(struct doctor *d, const char *fmt, ...)
{
    struct doctor_line *line = d->n_lines ? &d->lines[d->n_lines - 1] : NULL;
    char *advice;
    va_list ap;

    va_start(ap, fmt);
    advice = made(fmt, ap);
    va_end(ap);
    /* There is no line only after a lack of memory. */
    if (!line || !advice) {
        free(advice);
        d->failed = true;
        return;
    }
    free(line->made);
    line->advice = line->made = advice;
}

bool doctor_trusts(struct doctor *d, const char *check, const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        doctor_add(d, DOCTOR_FAIL, check, "", "%s: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        doctor_add(d, DOCTOR_FAIL, check, "", "%s: not a regular file", path);
        return false;
    }
    /* Such a file is still examined: the line is what the administrator
     * needs. */
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        doctor_add(d, DOCTOR_FAIL, check, "chmod go-w: all users' jobs run it",
                   "%s: writable by %s", path,
                   st.st_mode & S_IWOTH ? "everybody" : "its group");
    else if (st.st_uid != 0)
        doctor_add(d, DOCTOR_WARN, check, "chown root: all users' jobs run it",
                   "%s: owned by uid %ld", path, (long) st.st_uid);
    return true;
}

#define OUTPUT_MAX 65536
/* Milliseconds from SIGTERM, at which srun cancels its step, to SIGKILL. */
#define LAST_MS 5000

int doctor_command(char *const argv[], unsigned ms, bool with_stderr,
                   char **out, struct jp_error *err)
{
    char *buf = calloc(1, OUTPUT_MAX + 1);
    const struct child child = {.argv = argv,
                                .with_stderr = with_stderr,
                                .limit_ms = ms,
                                .term_ms = LAST_MS,
                                .out = buf,
                                .room = OUTPUT_MAX};
    /* child_run reads at most OUTPUT_MAX bytes; the last one of buf stays
     * NUL. */
    struct child_result r = {.pid = -1};
    enum child_end end = buf ? child_run(&child, &r) : CHILD_NEVER;
    int rc = -1;

    /* Translate every way in which a program can fail into a sentence. */
    if (end == CHILD_NEVER)
        error_set(err, "%s: %s", argv[0], strerror(errno));
    else if (end == CHILD_LATE)
        error_set(err, "%s: did not end within %u s", argv[0], ms / 1000);
    else if (!WIFEXITED(r.status))
        error_set(err, "%s: killed by signal %d", argv[0], WTERMSIG(r.status));
    else if (WEXITSTATUS(r.status) == 126 || WEXITSTATUS(r.status) == 127)
        error_set(err, "%s: cannot be run", argv[0]);
    else
        rc = WEXITSTATUS(r.status);
    *out = rc < 0 ? NULL : buf;
    if (rc < 0)
        free(buf);
    return rc;
}
