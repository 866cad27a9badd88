/* kineto_names.c - PyTorch's words for collectives, types and groups. */
#include "plugins/kineto/kineto.h"

#include <string.h>

/* Rows of a table, found by the whole word. */
struct word {
    const char *text;
    const char *func;
    unsigned bytes;
};

static const struct word *find_word(const struct word *words,
                                    struct kineto_text text)
{
    for (; words->text; words++)
        if (strlen(words->text) == text.len &&
            !memcmp(words->text, text.at, text.len))
            return words;
    return NULL;
}

const char *kineto_func(struct kineto_text name)
{
    static const struct word words[] = {
        {"allreduce", "AllReduce", 0},
        {"all_reduce", "AllReduce", 0},
        {"allreduce_coalesced", "AllReduce", 0},
        {"all_reduce_barrier", "AllReduce", 0},
        {"barrier", "AllReduce", 0}, /* of one element */
        {"_allgather_base", "AllGather", 0},
        {"_all_gather_base", "AllGather", 0},
        {"allgather", "AllGather", 0},
        {"all_gather", "AllGather", 0},
        {"all_gather_into_tensor", "AllGather", 0},
        {"allgather_into_tensor_coalesced", "AllGather", 0},
        {"allgather_coalesced", "AllGather", 0},
        {"_reduce_scatter_base", "ReduceScatter", 0},
        {"reduce_scatter", "ReduceScatter", 0},
        {"reduce_scatter_tensor", "ReduceScatter", 0},
        {"reduce_scatter_tensor_coalesced", "ReduceScatter", 0},
        {"broadcast", "Broadcast", 0},
        {"_broadcast_oop", "Broadcast", 0},
        {"reduce", "Reduce", 0},
        {"_reduce_oop", "Reduce", 0},
        {"all_to_all", "AlltoAll", 0},
        {"all_to_allv", "AlltoAll", 0},
        {"alltoall", "AlltoAll", 0},
        {"alltoall_base", "AlltoAll", 0},
        {"gather", "Gather", 0},
        {"scatter", "Scatter", 0},
        {"send", "Send", 0},
        {"recv", "Recv", 0},
        {NULL, NULL, 0},
    };
    const struct word *word = find_word(words, name);

    return word ? word->func : NULL;
}

unsigned kineto_type_bytes(struct kineto_text type)
{
    static const struct word words[] = {
        {"Float", NULL, 4},
        {"BFloat16", NULL, 2},
        {"Half", NULL, 2},
        {"Long", NULL, 8},
        {"Int", NULL, 4},
        {"Byte", NULL, 1},
        {"Char", NULL, 1},
        {"Bool", NULL, 1},
        {"Short", NULL, 2},
        {"Double", NULL, 8},
        {"ComplexFloat", NULL, 8},
        {"ComplexDouble", NULL, 16},
        {"Float8_e4m3fn", NULL, 1},
        {"Float8_e5m2", NULL, 1},
        {"Float8_e4m3fnuz", NULL, 1},
        {"Float8_e5m2fnuz", NULL, 1},
        {"float", NULL, 4},
        {"c10::BFloat16", NULL, 2},
        {"c10::Half", NULL, 2},
        {"long", NULL, 8},
        {"long int", NULL, 8},
        {"int", NULL, 4},
        {"unsigned char", NULL, 1},
        {"signed char", NULL, 1},
        {"bool", NULL, 1},
        {"short", NULL, 2},
        {"short int", NULL, 2},
        {"double", NULL, 8},
        {"c10::Float8_e4m3fn", NULL, 1},
        {"c10::Float8_e5m2", NULL, 1},
        {NULL, NULL, 0},
    };
    const struct word *word = find_word(words, type);

    return word ? word->bytes : 0;
}

bool kineto_elements(struct kineto_text dims, uint64_t *elements)
{
    const char *p = dims.at, *end = dims.at + dims.len;
    uint64_t product = 1, number = 0;
    unsigned depth = 0, numbers = 0;
    bool in_number = false;

    for (; p < end; p++) {
        if (*p >= '0' && *p <= '9') {
            if (number > RECORD_MAX_BYTES)
                return false;
            number = number * 10 + (uint64_t) (*p - '0');
            in_number = true;
            continue;
        }
        if (in_number && __builtin_mul_overflow(product, number, &product))
            return false;
        numbers += in_number;
        number = 0;
        in_number = false;
        if (*p == '[' && ++depth > 2)
            return false; /* a list of tensors */
        if (*p == ']' && --depth == 1)
            break; /* the first tensor's end */
        if (!depth)
            return false;
    }
    if (p == end || !numbers || product > RECORD_MAX_BYTES)
        return false;
    *elements = product;
    return true;
}

/* Numbers of a list, in order. */
struct listed {
    uint64_t first, last, stride;
    uint32_t n;
    bool even; /* all differences are equal, and not 0 */
};

static void add_listed(struct listed *list, uint64_t number)
{
    if (!list->n)
        list->first = number;
    else if (list->n == 1)
        list->stride = number - list->first;
    else
        list->even &= number - list->last == list->stride;
    list->even &= !list->n || number > list->last;
    list->last = number;
    list->n++;
}

bool kineto_place(struct kineto_text ranks, uint64_t rank, uint32_t size,
                  uint32_t *place, uint32_t *n)
{
    bool in_number = false, found = false, cut = false;
    struct listed list = {.even = true};
    uint64_t number = 0;

    *n = 0;
    for (size_t i = 0; i < ranks.len; i++) {
        char c = ranks.at[i];

        /* PyTorch writes the first 29 of many ranks, and the last one */
        if (c == '.' && !cut) {
            cut = true;
            *n = list.n;
        }
        if (c >= '0' && c <= '9') {
            number = in_number ? number * 10 + (uint64_t) (c - '0')
                               : (uint64_t) (c - '0');
            in_number = true;
            if (number >= RECORD_MAX_RANKS)
                return false;
            if (i + 1 < ranks.len)
                continue;
        }
        if (in_number && cut) {
            /* the last one shows whether those between are as even */
            *n = size;
            if (list.n < 2 || !list.even || rank < list.first ||
                number != list.first + (size - UINT64_C(1)) * list.stride ||
                (rank - list.first) % list.stride || rank > number)
                return false;
            *place = (uint32_t) ((rank - list.first) / list.stride);
            return true;
        }
        if (in_number) {
            if (number == rank) {
                found = true;
                *place = list.n;
            }
            if (list.n == RECORD_MAX_RANKS)
                return false;
            add_listed(&list, number);
        }
        in_number = false;
    }
    if (!cut)
        *n = list.n;
    return found && !cut;
}
