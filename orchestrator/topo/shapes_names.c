/* shapes_names.c - fold names of nodes: n1 n2 n3 gpu7 to n[1-3],gpu7. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/topo/shapes.h"

/* A name as its text and the number at its end. */
struct part {
    const char *name;
    size_t prefix, digits; /* lengths */
    uint64_t number;
};

static void take_apart(const char *name, struct part *part)
{
    size_t len = strlen(name), at = len;

    while (at && len - at < 18 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    *part = (struct part){.name = name, .prefix = at, .digits = len - at};
    for (; at < len; at++)
        part->number = part->number * 10 + (unsigned) (name[at] - '0');
}

static int by_name(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    size_t n = x->prefix < y->prefix ? x->prefix : y->prefix;
    int order = strncmp(x->name, y->name, n);

    if (!order && x->prefix != y->prefix)
        return x->prefix < y->prefix ? -1 : 1;
    if (!order && x->digits != y->digits)
        return x->digits < y->digits ? -1 : 1;
    if (order)
        return order;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* One bracket holds both. */
static bool alike(const struct part *a, const struct part *b)
{
    return a->digits && a->digits == b->digits && a->prefix == b->prefix &&
           strncmp(a->name, b->name, a->prefix) == 0;
}

/* Writes the ranges of parts[0..n), which are alike. */
static void write_ranges(const struct part *parts, size_t n, FILE *out)
{
    fprintf(out, "%.*s", (int) parts->prefix, parts->name);
    if (n == 1) {
        fputs(parts->name + parts->prefix, out);
        return;
    }
    fputc('[', out);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && parts[k].number <= parts[k - 1].number + 1;)
            k++;
        fprintf(out, "%s%s", i ? "," : "", parts[i].name + parts[i].prefix);
        if (parts[k - 1].number > parts[i].number)
            fprintf(out, "-%s", parts[k - 1].name + parts[k - 1].prefix);
    }
    fputc(']', out);
}

static char *write_all(const struct part *parts, size_t n)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && alike(&parts[i], &parts[k]);)
            k++;
        if (i)
            fputc(',', out);
        write_ranges(&parts[i], k - i, out);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *shapes_fold(const struct jp_shapes *s, const uint32_t *nodes, size_t n,
                  size_t max)
{
    struct part *parts = calloc(n + 1, sizeof(*parts));
    char *text = NULL;

    for (size_t i = 0; parts && i < n; i++)
        take_apart(s->nodes[nodes[i]].name, &parts[i]);
    if (parts) {
        qsort(parts, n, sizeof(*parts), by_name);
        text = write_all(parts, n);
    }
    if (text && strlen(text) > max && max > 3)
        memcpy(text + max - 3, "...", 4);
    free(parts);
    return text;
}

char *shapes_names(const struct jp_shapes *s, int shape, size_t max)
{
    uint32_t *nodes = calloc(s->n_nodes + 1, sizeof(*nodes));
    char *text;
    size_t n = 0;

    for (size_t i = 0; nodes && i < s->n_nodes; i++)
        if (s->nodes[i].shape == shape)
            nodes[n++] = (uint32_t) i;
    text = nodes ? shapes_fold(s, nodes, n, max) : NULL;
    free(nodes);
    return text;
}
