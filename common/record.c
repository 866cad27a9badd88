/* record.c - the words that a record may contain, and the ways in which one can
 * be bad. */
#include "common/record.h"

#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

/* Two processes of one host and pid are in different namespaces, or one of them
 * started after the other had ended. The start alone tells few apart: many
 * tasks start in one tick. The constant spreads the namespaces' small numbers
 * over all bits (2^64 by the golden ratio). */
uint64_t process_instance(uint64_t pid_namespace, uint64_t start)
{
    uint64_t mixed = pid_namespace * UINT64_C(0x9E3779B97F4A7C15) ^ start;

    return !start ? 0 : mixed ? mixed : 1;
}

bool record_is_word(const char *text, size_t len, size_t max)
{
    if (!len || len > max)
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char b = (unsigned char) text[i];

        /* No blanks, quotes, separators of CSV and paths, or characters of
         * HTML. */
        if (b <= 0x20 || b >= 0x7f || b == '"' || b == ',' || b == '/' ||
            b == '\\' || b == '<' || b == '>' || b == '&')
            return false;
    }
    return true;
}

bool record_is_phase(const char *text, size_t len)
{
    if (!len || len > RECORD_MAX_PHASE || text[0] == ' ' ||
        text[len - 1] == ' ')
        return false;
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && !record_is_word(&text[i], 1, 1))
            return false;
    return true;
}

/* --- the words for clocks, algorithms and protocols ------------------------
 */

static const char *const clocks[RECORD_CLOCKS] = {
    "", "kernel_gpu", "kernel_cpu", "collective_cpu"};
/* NCCL's own words (ncclAlgoToString, ncclProtoToString) */
static const char *const algos[RECORD_ALGOS] = {
    "",     "TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN",
    "NVLS", "NVLS_TREE", "PAT",  "SYMK",           "other"};
static const char *const protos[RECORD_PROTOS] = {"", "LL", "LL128", "SIMPLE",
                                                  "other"};

/* Returns the number of a word; `other` if no row has it. */
static unsigned find_word(const char *const *words, unsigned n,
                          const char *text, size_t len, unsigned other)
{
    for (unsigned i = 0; i < n; i++)
        if (strlen(words[i]) == len && (!len || !memcmp(words[i], text, len)))
            return i;
    return other;
}

enum record_clock record_clock_find(const char *text, size_t len)
{
    return (enum record_clock) find_word(clocks, RECORD_CLOCKS, text, len,
                                         RECORD_CLOCK_UNKNOWN);
}

uint8_t record_algo_find(const char *text, size_t len)
{
    return (uint8_t) find_word(algos, RECORD_ALGOS, text, len,
                               RECORD_ALGOS - 1);
}

uint8_t record_proto_find(const char *text, size_t len)
{
    return (uint8_t) find_word(protos, RECORD_PROTOS, text, len,
                               RECORD_PROTOS - 1);
}

const char *record_clock_word(unsigned clock)
{
    return clocks[clock < RECORD_CLOCKS ? clock : 0];
}

const char *record_algo_word(unsigned algo)
{
    return algos[algo < RECORD_ALGOS ? algo : 0];
}

const char *record_proto_word(unsigned proto)
{
    return protos[proto < RECORD_PROTOS ? proto : 0];
}

/* --- records that are bad ----------------------------------------------------
 */

/* The key in files and the text for people, by enum jp_bad. */
static const struct {
    const char *key, *text;
} kinds[JP_BAD_KINDS] = {
    [JP_BAD_SYNTAX] = {"syntax", "not a JSON object"},
    [JP_BAD_BYTES] = {"bytes", "bytes that are not text"},
    [JP_BAD_MISSING] = {"missing_key", "a key is missing"},
    [JP_BAD_TYPE] = {"wrong_type", "a value of another type"},
    [JP_BAD_RANGE] = {"out_of_range", "a number out of range"},
    [JP_BAD_VALUE] = {"bad_value", "an impossible value"},
    [JP_BAD_LONG] = {"too_long", "longer than 1 MiB"},
};

const char *badkind_key(enum jp_bad kind)
{
    return kinds[kind].key;
}

const char *badkind_text(enum jp_bad kind)
{
    return kinds[kind].text;
}

bool badkind_is_text(const char *bytes, size_t len)
{
    while (len) {
        uint32_t c = 0;
        size_t n = utf8_decode(bytes, len, &c);

        /* Invalid UTF-8, or a control byte. */
        if (!n || (c < 0x20 && c != '\t' && c != '\r' && c != '\n'))
            return false;
        bytes += n;
        len -= n;
    }
    return true;
}

/* The index after the digits at i. */
static size_t skip_digits(const char *text, size_t len, size_t i)
{
    while (i < len && text[i] >= '0' && text[i] <= '9')
        i++;
    return i;
}

enum jp_bad badkind_of_number(const char *text, size_t len, bool integer)
{
    size_t start = len && *text == '-', i = skip_digits(text, len, start);
    /* JSON's grammar: no leading zeros, digits after a point and after an
     * exponent. */
    bool good = i > start && (text[start] != '0' || i == start + 1);

    if (good && i < len && text[i] == '.') {
        start = i + 1;
        i = skip_digits(text, len, start);
        good = !integer && i > start;
    }
    if (good && i < len && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        i += i < len && (text[i] == '-' || text[i] == '+');
        start = i;
        i = skip_digits(text, len, start);
        good = !integer && i > start;
    }
    return good && (i == len || memchr(",}] \t\r\n", text[i], 7)) ? JP_BAD_RANGE
                                                                  : JP_BAD_TYPE;
}
