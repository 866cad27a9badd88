/* fuzz_history.c - any bytes as a file of the history's lines.
 *
 * What is read goes through all writers: what is accepted reads back as the
 * same, nothing harmful reaches a terminal, and names of metrics' labels stay
 * within their quotes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "orchestrator/history/history_sum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct use {
    struct history_sum *sum;
    struct history_sheet *sheet;
};

static void check(bool ok)
{
    if (!ok)
        abort();
}

/* As it is written it is read. */
static void read_back(const struct history_step *step)
{
    struct history_step *again = malloc(sizeof(*again));
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct jp_error err = {""};

    check(again && out && history_line_put(step, out, &err) == 0 &&
          fclose(out) == 0);
    check(len > 1 && text[len - 1] == '\n' &&
          memchr(text, '\n', len) == text + len - 1);
    check(history_line_parse(text, len - 1, again, &err) == 0);
    check(again->job == step->job && again->time_us == step->time_us &&
          again->n_findings == step->n_findings &&
          again->n_pairs == step->n_pairs && again->n_nets == step->n_nets);
    free(text);
    free(again);
}

static int see(void *arg, const struct history_step *step, int64_t uid)
{
    struct use *u = arg;

    read_back(step);
    check(history_sum_add(u->sum, step, uid) >= 0);
    return history_sheet_add(u->sheet, step, NULL, NULL);
}

static void say(void *arg, const char *text)
{
    (void) arg;
    for (; *text; text++)
        check((unsigned char) *text >= 0x20 && *text != 0x7f);
}

static void check_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        check(text[i] == '\n' ||
              ((unsigned char) text[i] >= 0x20 && text[i] != 0x7f));
}

/* --- a format of other tools that checks what it gets */

struct columns {
    enum feature_cell kinds[FEATURE_COLUMNS_MAX];
    size_t n;
};

static void *sheet_create(FILE *out, const char *table,
                          const struct feature_column *columns, size_t n,
                          struct jp_error *err)
{
    struct columns *c = calloc(1, sizeof(*c));

    (void) err;
    check(c && out && *table && n && n <= FEATURE_COLUMNS_MAX);
    for (c->n = 0; c->n < n; c->n++)
        c->kinds[c->n] = columns[c->n].kind;
    return c;
}

static int sheet_add(void *sheet, const struct feature_value *row,
                     struct jp_error *err)
{
    const struct columns *c = sheet;

    (void) err;
    for (size_t i = 0; i < c->n; i++) {
        if (row[i].known && c->kinds[i] == FEATURE_TEXT)
            check_text(row[i].text, strlen(row[i].text));
        if (row[i].known && c->kinds[i] == FEATURE_REAL)
            check(row[i].real - row[i].real == 0);
    }
    return 0;
}

static int sheet_finish(void *sheet, struct jp_error *err)
{
    (void) sheet;
    (void) err;
    return 0;
}

static const struct feature_sheet harmless = {.create = sheet_create,
                                              .add = sheet_add,
                                              .finish = sheet_finish,
                                              .destroy = free};

static void put_all(const struct use *u, const struct history_seen *seen)
{
    for (enum history_form form = HISTORY_FOR_PEOPLE;
         form <= HISTORY_AS_METRICS; form++) {
        const struct history_about about = {.form = form,
                                            .format = METRICS_OPENMETRICS,
                                            .seen = seen,
                                            .top = -1,
                                            .rows = 100};
        struct jp_error err = {""};
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        check(out != NULL);
        check(history_put(u->sum, &about, out, &err) == 0);
        check(fclose(out) == 0);
        check_text(text, len);
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct history_want want = {
        .chance = 0.01, .votes = 3, .changed = 0.01};
    struct use u = {.sum = history_sum_create(&want)};
    struct history_seen seen = {0};
    struct history_reader reader = {
        .see = see, .say = say, .arg = &u, .max_bytes = UINT64_MAX};
    struct jp_error err = {""};
    int fd = memfd_create("history", MFD_CLOEXEC);
    FILE *out = tmpfile();
    char path[64];

    check(fd >= 0 && out && u.sum);
    check(write(fd, data, size) == (ssize_t) size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    u.sheet = history_sheet_create(out, &harmless, &err);
    check(u.sheet != NULL);
    check(history_read(path, &reader, &seen, &err) == 0);
    check(history_sum_finish(u.sum) == 0);
    check(history_sheet_finish(u.sheet, &err) == 0);
    put_all(&u, &seen);
    history_sheet_destroy(u.sheet);
    history_sum_destroy(u.sum);
    fclose(out);
    close(fd);
    return 0;
}
