/* fuzz_hangstacks.c - any bytes as a node's evidence of a hang: the first line
 * is evidence.json, what is behind it is a stack of eu-stack, and of py-spy. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/evidence/hangstacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hangstacks *view = hangstacks_create();
    char *text = malloc(size + 1), words[HANGSTACKS_TEXT];
    struct jp_error err = {""};
    size_t first;

    assert(view && text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    first = strcspn(text, "\n");
    if (hangstacks_add_summary(view, text, first, &err) < 0)
        assert(err.text[0]);
    text += first;
    for (size_t i = 0; i < view->n_processes && i < 4; i++) {
        assert(hangstacks_add_stack(view, i, false, text) == 0);
        assert(hangstacks_add_stack(view, i, true, text) == 0);
    }
    assert(hangstacks_finish(view) == 0);
    for (size_t i = 0; i < view->n_branches; i++) {
        assert(view->branches[i].n_frames && view->branches[i].n_in);
        assert(view->branches[i].n_in + view->branches[i].n_out <=
               view->n_processes);
    }
    assert(strlen(hangstacks_text(view, words)) < HANGSTACKS_TEXT);
    hangstacks_destroy(view);
    free(text - first);
    return 0;
}
