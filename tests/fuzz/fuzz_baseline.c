/* fuzz_baseline.c - any JSON as a baseline, or as a report that goes into one.
 *
 * What is accepted is written so that it reads back as the same bytes, and adds
 * up with itself only where it has no report.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "orchestrator/report/baseline_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const struct jp_baseline *b, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    if (!out || baseline_file_write(b, out, NULL) < 0 || fclose(out))
        abort();
    return text;
}

/* Of what is written. */
static struct jp_baseline again(const char *text, size_t len)
{
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    struct jp_baseline b = {0};
    struct jp_error err = {"it is a report that is not fit"};
    char why[160] = "";

    if (!root || baseline_file_add(root, true, &b, why, sizeof(why), &err) !=
                     BASELINE_ADDED) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    json_decref(root);
    return b;
}

static void use(const struct jp_baseline *b)
{
    struct jp_baseline copy, all = {0};
    size_t len = 0, len_again = 0;
    char *text = text_of(b, &len), *text_again;
    struct jp_error err = {""};

    copy = again(text, len);
    text_again = text_of(&copy, &len_again);
    if (len != len_again || memcmp(text, text_again, len) != 0)
        abort();
    for (size_t i = 0; i < b->n_cells; i++)
        if (baseline_find(b, &copy.cells[i].key) != &b->cells[i])
            abort();
    if (baseline_merge(&all, b, &err) < 0 ||
        (baseline_merge(&all, &copy, &err) == 0) != !b->n_reports)
        abort();
    baseline_fini(&all);
    baseline_fini(&copy);
    free(text);
    free(text_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *root =
        json_loadb((const char *) data, size, JSON_REJECT_DUPLICATES, NULL);
    struct jp_baseline b = {0};
    struct jp_error err = {""};
    char why[160] = "";
    enum baseline_added rc;

    if (!root)
        return 0;
    rc = baseline_file_add(root, true, &b, why, sizeof(why), &err);
    if (rc == BASELINE_ADDED)
        use(&b);
    else if (rc == BASELINE_LEFT_OUT ? !*why : !*err.text)
        abort();
    baseline_fini(&b);
    json_decref(root);
    return 0;
}
