/* nsys_sums.c - see nsys_sums.h. */
#include "plugins/nsys/nsys_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

void nsys_sum_add(struct nsys_sum *sum, uint64_t value)
{
    double delta = (double) value - sum->mean;

    sum->min = sum->n && sum->min < value ? sum->min : value;
    sum->max = sum->max > value ? sum->max : value;
    sum->n++;
    sum->total = num_add(sum->total, value);
    sum->mean += delta / (double) sum->n;
    sum->squares += delta * ((double) value - sum->mean);
}

void nsys_sum_merge(struct nsys_sum *sum, const struct nsys_sum *other)
{
    double a = (double) sum->n, b = (double) other->n, n = a + b;
    double delta = other->mean - sum->mean;

    if (!other->n)
        return;
    sum->min = sum->n && sum->min < other->min ? sum->min : other->min;
    sum->max = sum->max > other->max ? sum->max : other->max;
    sum->n = num_add(sum->n, other->n);
    sum->total = num_add(sum->total, other->total);
    sum->mean += delta * b / n;
    sum->squares += other->squares + delta * delta * a * b / n;
}

double nsys_sum_average(const struct nsys_sum *sum)
{
    return sum->n ? (double) sum->total / (double) sum->n : 0;
}

double nsys_sum_deviation(const struct nsys_sum *sum)
{
    return sum->n > 1 && sum->squares > 0
               ? sqrt(sum->squares / (double) (sum->n - 1))
               : 0;
}

/* FNV-1a */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        hash = (hash ^ (unsigned char) *name) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

static size_t find_slot(const struct nsys_names *names, const char *name)
{
    size_t mask = names->n_slots - 1, i = hash_of(name) & mask;

    while (names->slots[i] && strcmp(names->at[names->slots[i] - 1], name) != 0)
        i = (i + 1) & mask;
    return i;
}

/* Twice the slots. */
static int grow(struct nsys_names *names)
{
    struct nsys_names bigger = *names;

    bigger.n_slots = names->n_slots ? 2 * names->n_slots : 64;
    bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < names->n; i++)
        bigger.slots[find_slot(&bigger, names->at[i])] = (uint32_t) i + 1;
    free(names->slots);
    *names = bigger;
    return 0;
}

int64_t nsys_names_find(const struct nsys_names *names, const char *name)
{
    return names->n ? (int64_t) names->slots[find_slot(names, name)] - 1 : -1;
}

int64_t nsys_names_put(struct nsys_names *names, const char *name)
{
    size_t slot;

    if (2 * names->n >= names->n_slots && grow(names) < 0)
        return -1;
    slot = find_slot(names, name);
    if (names->slots[slot])
        return names->slots[slot] - 1;
    if (names->n == UINT32_MAX - 1)
        return -1;
    if (names->n == names->room) {
        size_t room = names->room ? 2 * names->room : 64;
        char **more = reallocarray(names->at, room, sizeof(*more));

        if (!more)
            return -1;
        names->at = more;
        names->room = room;
    }
    names->at[names->n] = strdup(name);
    if (!names->at[names->n])
        return -1;
    names->slots[slot] = (uint32_t) ++names->n;
    return (int64_t) names->n - 1;
}

void nsys_names_fini(struct nsys_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
    free(names->slots);
    *names = (struct nsys_names){0};
}
