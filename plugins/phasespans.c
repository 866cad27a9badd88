/* phasespans.c - the phases of a training step, as annotations show them. */
#include "plugins/phasespans.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/vector.h"

static bool begins(const struct phasespans_range *r, const char *with)
{
    return r->len >= strlen(with) && !memcmp(r->name, with, strlen(with));
}

/* Whether the name contains a word, in any case. */
static bool contains(const struct phasespans_range *r, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= r->len; i++)
        if (!strncasecmp(r->name + i, word, n))
            return true;
    return false;
}

/* The phase that the name means in every program. NULL: none. */
static const char *common_phase(const struct phasespans_range *r)
{
    return begins(r, "autograd::engine::evaluate_function") ||
                   contains(r, "backward")
               ? "backward"
           : contains(r, "optimizer") ? "optimizer"
           : contains(r, "forward")   ? "forward"
                                      : NULL;
}

/* Names that mean the same everywhere have places of their own: a program may
 * name each of its steps differently. */
#define COMMON_NAMES 3

/* The number of a name; 0: it has no character of a phase, or there are `most`
 * others. */
static uint8_t number_of(struct phasespans *spans, const char *name, size_t len,
                         unsigned most)
{
    char clean[RECORD_MAX_PHASE + 1];
    unsigned i = 0;

    len = len < RECORD_MAX_PHASE ? len : RECORD_MAX_PHASE;
    /* what a phase may not have becomes '_' */
    for (size_t k = 0; k < len; k++)
        clean[k] = name[k] == ' ' || record_is_word(&name[k], 1, 1) ? name[k]
                                                                    : '_';
    while (len && clean[len - 1] == ' ')
        len--;
    clean[len] = '\0';
    if (!record_is_phase(clean, len))
        return 0;
    while (i < spans->n_names && strcmp(spans->names[i], clean) != 0)
        i++;
    if (i == spans->n_names && i >= most)
        return 0;
    if (i == spans->n_names)
        memcpy(spans->names[spans->n_names++], clean, len + 1);
    return (uint8_t) (i + 1);
}

int phasespans_add(struct phasespans *spans, const struct phasespans_range *r)
{
    const char *common = common_phase(r);
    struct phasespan span = {.thread = r->thread,
                             .start_ns = r->start_ns,
                             .end_ns = r->end_ns,
                             .common = common != NULL};

    /* operators have such words in their names, too, but are no annotations */
    if (begins(r, "aten::") || begins(r, "c10d::") || begins(r, "nccl:") ||
        (!common && !r->is_annotation))
        return 0;
    if (spans->n == PHASESPANS_MAX) {
        spans->left++;
        return 0;
    }
    span.phase =
        common ? number_of(spans, common, strlen(common), PHASESPANS_NAMES)
               : number_of(spans, r->name, r->len,
                           PHASESPANS_NAMES - COMMON_NAMES);
    if (!span.phase)
        return 0;
    if (VECTOR_ROOM(spans->at, spans->n + 1, spans->room) < 0)
        return -1;
    spans->at[spans->n++] = span;
    return 0;
}

void phasespans_main(struct phasespans *spans, uint64_t thread)
{
    spans->main_thread = thread;
    spans->has_main = true;
}

/* By kind, by thread, then from outside to inside. */
static int by_place(const void *a, const void *b)
{
    const struct phasespan *x = a, *y = b;

    if (x->common != y->common)
        return x->common ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

void phasespans_end(struct phasespans *spans)
{
    size_t kept = 0;

    if (spans->n)
        qsort(spans->at, spans->n, sizeof(*spans->at), by_place);
    /* the outermost of each thread and kind */
    for (size_t i = 0; i < spans->n; i++) {
        const struct phasespan *s = &spans->at[i],
                               *last = kept ? &spans->at[kept - 1] : NULL;

        if (!last || last->common != s->common || last->thread != s->thread ||
            s->start_ns >= last->end_ns)
            spans->at[kept++] = *s;
    }
    spans->n = kept;
}

/* The phase of the thread's range around a time; 0: none. */
static uint8_t phase_at(const struct phasespans *spans, bool common,
                        uint64_t thread, int64_t ns)
{
    const struct phasespan key = {thread, ns, INT64_MIN, common, 0};
    const struct phasespan *found;
    size_t low = 0, high = spans->n;

    /* the number of ranges that begin up to then */
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (by_place(&spans->at[mid], &key) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    found = low ? &spans->at[low - 1] : NULL;
    return found && found->common == common && found->thread == thread &&
                   found->end_ns >= ns
               ? found->phase
               : 0;
}

uint8_t phasespans_find(const struct phasespans *spans, uint64_t thread,
                        int64_t ns)
{
    uint8_t phase = 0;

    for (int common = 1; common >= 0 && !phase; common--) {
        phase = phase_at(spans, common, thread, ns);
        if (!phase && spans->has_main)
            phase = phase_at(spans, common, spans->main_thread, ns);
    }
    return phase;
}

struct record_text phasespans_name(const struct phasespans *spans,
                                   uint8_t phase)
{
    const char *name = phase ? spans->names[phase - 1] : "";

    return (struct record_text){name, strlen(name)};
}

void phasespans_fini(struct phasespans *spans)
{
    free(spans->at);
    *spans = (struct phasespans){0};
}
