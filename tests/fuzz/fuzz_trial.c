/* fuzz_trial.c - any bytes as a trial.json; as an axis of a trial; as srun's
 * line.
 *
 * What is accepted has a table and a page, its words, and is written so that it
 * reads back as the same bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/trial/trial.h"
#include "tests/common/foreign_leaks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const struct trial *t, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    if (!out || trial_write(t, out, NULL) < 0 || fclose(out))
        abort();
    return text;
}

static void show(const struct trial *t)
{
    FILE *out = fopen("/dev/null", "w");

    if (!out)
        abort();
    trial_print(t, out);
    trial_page(t, out);
    fclose(out);
    for (size_t i = 0; i < t->n_configs; i++)
        trial_free_words(trial_words(t, i, "/d"));
    trial_free_words(trial_sbatch_words(t, 10, "o"));
}

static void as_json(const char *text, size_t len)
{
    struct jp_error err = {""};
    struct trial *t = trial_parse(text, len, "x", &err), *again;
    char *first, *second;
    size_t n, m;

    if (!t) {
        if (!*err.text)
            abort();
        return;
    }
    show(t);
    first = text_of(t, &n);
    again = trial_parse(first, n, "x", &err);
    if (!again) {
        fprintf(stderr, "%s\n%s\n", err.text, first);
        abort();
    }
    second = text_of(again, &m);
    if (n != m || memcmp(first, second, n) != 0) {
        fprintf(stderr, "%s\n%s\n", first, second);
        abort();
    }
    free(first);
    free(second);
    trial_free(t);
    trial_free(again);
}

/* Lines: an axis each but the last, which is srun's line, a tab between two
 * words. */
static void as_lines(char *text)
{
    struct trial *t = trial_new();
    char *words[64], *line = text, *next;
    size_t n = 0, kind = 0;

    if (!t)
        abort();
    for (; (next = strchr(line, '\n')); line = next + 1) {
        *next = '\0';
        trial_add_axis(t, (enum trial_kind)(kind++ % TRIAL_KINDS), line, NULL);
    }
    for (; line && n < 64; line = next) {
        next = strchr(line, '\t');
        if (next)
            *next++ = '\0';
        words[n++] = line;
    }
    if (trial_set_command(t, words, n, NULL) == 0 &&
        trial_count(t, NULL) == 0) {
        trial_judge(t);
        show(t);
    }
    trial_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (size && data[0] == '{')
        as_json(text, size);
    else if (!memchr(data, 0, size))
        as_lines(text);
    free(text);
    return 0;
}
