/* NCCL's words as small numbers: functions, datatypes, the rest. */
#include "plugins/nccl_recorder/rec_names.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "plugins/nccl_recorder/nccl_profiler.h"

enum { NAME_BYTES = 32 };
enum state { FREE, BUSY, READY };

struct name {
    atomic_int state;
    uint8_t bytes; /* of a datatype's element, else 0 */
    char text[NAME_BYTES];
};

/* clang-format off */
#define KNOWN(text) {READY, 0, text}
#define TYPE(text, bytes) {READY, bytes, text}

/* Looked at in this order: the most used ones in front. */
static struct name funcs[JP_REC_FUNCS] = {
    KNOWN(""), KNOWN("AllReduce"), KNOWN("AllGather"), KNOWN("ReduceScatter"),
    KNOWN("Send"), KNOWN("Recv"), [JP_REC_FUNC_BROADCAST] = KNOWN("Broadcast"),
    KNOWN("Reduce"),
    KNOWN("SendRecv"), KNOWN("AllGatherV"), KNOWN("AlltoAll"), KNOWN("Gather"),
    KNOWN("Scatter"), [JP_REC_FUNCS - 1] = KNOWN("other"),
};

static struct name words[JP_REC_WORDS] = {
    KNOWN(""), TYPE("ncclBfloat16", 2), TYPE("ncclFloat16", 2),
    TYPE("ncclFloat32", 4), TYPE("ncclFloat64", 8), TYPE("ncclInt8", 1),
    TYPE("ncclUint8", 1), TYPE("Unknown", 1), TYPE("ncclInt32", 4),
    TYPE("ncclUint32", 4), TYPE("ncclInt64", 8), TYPE("ncclUint64", 8),
    TYPE("ncclFloat8e4m3", 1), TYPE("ncclFloat8e5m2", 1),
    KNOWN("RING"), KNOWN("TREE"), KNOWN("NVLS"), KNOWN("NVLS_TREE"),
    KNOWN("COLLNET_DIRECT"), KNOWN("COLLNET_CHAIN"), KNOWN("PAT"),
    KNOWN("SIMPLE"), KNOWN("LL"), KNOWN("LL128"),
    [JP_REC_WORDS - 1] = KNOWN("other"),
};
/* clang-format on */

static const char *const v1_funcs[JP_NCCL_N_FUNCS] = {
    [JP_NCCL_BROADCAST] = "Broadcast",
    [JP_NCCL_REDUCE] = "Reduce",
    [JP_NCCL_ALL_GATHER] = "AllGather",
    [JP_NCCL_REDUCE_SCATTER] = "ReduceScatter",
    [JP_NCCL_ALL_REDUCE] = "AllReduce",
    [JP_NCCL_SEND_RECV] = "SendRecv",
    [JP_NCCL_SEND] = "Send",
    [JP_NCCL_RECV] = "Recv",
};

static const char *const v1_datatypes[JP_NCCL_N_DATATYPES] = {
    [JP_NCCL_INT8] = "ncclInt8",
    [JP_NCCL_UINT8] = "ncclUint8",
    [JP_NCCL_INT32] = "ncclInt32",
    [JP_NCCL_UINT32] = "ncclUint32",
    [JP_NCCL_INT64] = "ncclInt64",
    [JP_NCCL_UINT64] = "ncclUint64",
    [JP_NCCL_FLOAT16] = "ncclFloat16",
    [JP_NCCL_FLOAT32] = "ncclFloat32",
    [JP_NCCL_FLOAT64] = "ncclFloat64",
    [JP_NCCL_BFLOAT16] = "ncclBfloat16",
    [JP_NCCL_FLOAT8E4M3] = "ncclFloat8e4m3",
    [JP_NCCL_FLOAT8E5M2] = "ncclFloat8e5m2",
};

/* Takes the free entry for a name; false when another thread was faster. */
static int claim(struct name *name, const char *text)
{
    int state = FREE;

    if (!atomic_compare_exchange_strong(&name->state, &state, BUSY))
        return 0;
    memcpy(name->text, text, strnlen(text, NAME_BYTES - 1));
    atomic_store_explicit(&name->state, READY, memory_order_release);
    return 1;
}

static unsigned find(struct name *names, unsigned n, const char *text)
{
    unsigned i = text && text[0] ? 1 : 0;

    for (; text && text[0] && i < n - 1; i++) {
        int state = atomic_load_explicit(&names[i].state, memory_order_acquire);

        if (state == FREE && claim(&names[i], text))
            return i;
        /* an entry that is just being filled may become a second one */
        if (state == READY && strncmp(names[i].text, text, NAME_BYTES - 1) == 0)
            return i;
    }
    return i;
}

static unsigned find_cached(struct jp_rec_name_cache *cache, struct name *names,
                            unsigned n, const char *text)
{
    size_t at = ((uintptr_t) text ^ (uintptr_t) text >> 4) % 16;
    unsigned number;

    if (!text)
        return 0;
    number = cache->entries[at].number;
    if (cache->entries[at].text == text &&
        strcmp(names[number].text, text) == 0)
        return number;
    number = find(names, n, text);
    cache->entries[at].text = text;
    cache->entries[at].number = number;
    return number;
}

unsigned rec_names_func(struct jp_rec_name_cache *cache, const char *name)
{
    return find_cached(cache, funcs, JP_REC_FUNCS, name);
}

unsigned rec_names_word(struct jp_rec_name_cache *cache, const char *word)
{
    return find_cached(cache, words, JP_REC_WORDS, word);
}

const char *rec_names_func_text(unsigned number)
{
    return funcs[number < JP_REC_FUNCS ? number : JP_REC_FUNCS - 1].text;
}

const char *rec_names_word_text(unsigned number)
{
    return words[number < JP_REC_WORDS ? number : JP_REC_WORDS - 1].text;
}

const char *rec_names_v1_func(unsigned number)
{
    return number < JP_NCCL_N_FUNCS ? v1_funcs[number] : NULL;
}

const char *rec_names_v1_datatype(unsigned number)
{
    return number < JP_NCCL_N_DATATYPES ? v1_datatypes[number] : NULL;
}

uint64_t rec_names_datatype_bytes(unsigned word)
{
    return word < JP_REC_WORDS ? words[word].bytes : 0;
}
