/* nccltext.c - take one line of NCCL's log apart.
 *
 * Each read_* function recognises one kind of line. A struct nccltext is a part
 * of the line without a terminating NUL; take* functions remove something from
 * its front, find* functions search in it. */
#include "orchestrator/topo/nccldebug.h"

#include <string.h>

#define INFO " NCCL INFO "

const char *const nccltext_via_word[JP_N_VIAS] = {
    [JP_VIA_P2P] = "P2P",
    [JP_VIA_SHM] = "SHM",
    [JP_VIA_NET] = "NET",
    [JP_VIA_COLLNET] = "COLLNET",
};

static bool is(struct nccltext text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.at, word, text.n) == 0;
}

/* The text without its first n characters. */
static struct nccltext behind(struct nccltext text, size_t n)
{
    return (struct nccltext){text.at + n, text.n - n};
}

/* Removes a word from the front. Returns false if it is not there. */
static bool take_word(struct nccltext *text, const char *word)
{
    size_t n = strlen(word);

    if (text->n < n || memcmp(text->at, word, n) != 0)
        return false;
    *text = behind(*text, n);
    return true;
}

/* *out: what follows the word. Returns false if the word does not occur. */
static bool find_word(struct nccltext text, const char *word,
                      struct nccltext *out)
{
    const char *hit = memmem(text.at, text.n, word, strlen(word));

    if (!hit)
        return false;
    *out = behind(text, (size_t) (hit - text.at) + strlen(word));
    return true;
}

/* Removes a decimal number from the front. Returns false if there is none or it
 * is above max. */
static bool take_number(struct nccltext *text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    size_t i;

    for (i = 0; i < text->n && text->at[i] >= '0' && text->at[i] <= '9'; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t) (text->at[i] - '0'),
                                   &value) ||
            value > max)
            return false;
    *text = behind(*text, i);
    *out = value;
    return i > 0;
}

/* Removes up to 16 lower-case hexadecimal digits from the front. */
static bool take_hex(struct nccltext *text, uint64_t *out)
{
    uint64_t value = 0;
    size_t i;

    /* 16 digits are 64 bits. */
    for (i = 0; i < text->n && i < 16; i++) {
        char c = text->at[i];

        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t) (c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t) (c - 'a' + 10);
        else
            break;
    }
    *text = behind(*text, i);
    *out = value;
    return i > 0;
}

/* Finds the word, and reads the number that follows it. */
static bool find_number(struct nccltext said, const char *word, uint32_t *out)
{
    struct nccltext at;
    uint64_t value;

    if (!find_word(said, word, &at) ||
        !take_number(&at, UINT32_MAX - 1, &value))
        return false;
    *out = (uint32_t) value;
    return true;
}

static bool find_hex(struct nccltext said, const char *word, uint64_t *out)
{
    struct nccltext at;

    return find_word(said, word, &at) && take_hex(&at, out);
}

/* Removes the last ":N". */
static bool cut_number(struct nccltext *text, int64_t *out)
{
    struct nccltext digits;
    uint64_t value;
    size_t n = text->n;

    while (n > 0 && text->at[n - 1] != ':')
        n--;
    if (n == 0)
        return false;
    digits = behind(*text, n);
    if (!take_number(&digits, INT32_MAX, &value) || digits.n)
        return false;
    text->n = n - 1;
    *out = (int64_t) value;
    return true;
}

/* Splits "[rank0]: 2026-01-01 host:pid:tid [0] NCCL INFO text". Other programs
 * may add anything in front, so the host name is the last word before the
 * number in brackets. */
static bool split(const char *line, size_t len, struct nccltext_line *out)
{
    struct nccltext all = {line, len};
    struct nccltext head;
    size_t n;

    if (!find_word(all, INFO, &out->said))
        return false;
    head = (struct nccltext){line, len - out->said.n - strlen(INFO)};
    if (head.n == 0 || head.at[head.n - 1] != ']')
        return false;
    /* Search backwards: "[0]", then the blank before "host:pid:tid". */
    for (n = head.n; n > 0 && head.at[n - 1] != '['; n--)
        ;
    if (n < 2 || head.at[n - 2] != ' ')
        return false;
    /* Without " [", which leaves the words before it. */
    head.n = n - 2;
    for (n = head.n; n > 0 && head.at[n - 1] != ' '; n--)
        ;
    head = behind(head, n);
    if (!cut_number(&head, &out->tid) || !cut_number(&head, &out->pid) ||
        head.n == 0)
        return false;
    /* mpirun --tag-output: "[1,0]<stdout>:host:pid:tid" */
    for (n = head.n; n > 0 && head.at[n - 1] != ':'; n--)
        ;
    head = behind(head, n);
    if (head.n == 0)
        return false;
    out->host = head;
    /* A host name is printable and has no slash. */
    for (n = 0; n < head.n; n++)
        if (head.at[n] <= ' ' || head.at[n] > '~' || head.at[n] == '/')
            return false;
    return true;
}

/* "Init START" or "Init COMPLETE", with rank, size, bus id and hash. */
static bool read_init(struct nccltext said, struct nccltext_init *out)
{
    struct nccltext rest;

    *out = (struct nccltext_init){.address = 0};
    out->complete = find_word(said, "Init COMPLETE", &rest);
    if (!out->complete && !find_word(said, "Init START", &rest))
        return false;
    if (!find_number(said, " rank ", &out->rank) ||
        !find_number(said, " nranks ", &out->n_ranks) ||
        out->rank >= out->n_ranks)
        return false;
    /* In some releases the line begins with "comm 0x". */
    find_hex(said, "comm 0x", &out->address);
    out->has_busid = find_hex(said, " busId ", &out->busid);
    out->has_id = find_hex(said, " commId 0x", &out->id);
    return true;
}

/* Removes the text up to the next slash, and the slash. */
static struct nccltext take_part(struct nccltext *text)
{
    const char *slash = memchr(text->at, '/', text->n);
    size_t n = slash ? (size_t) (slash - text->at) : text->n;
    struct nccltext part = {text->at, n};

    *text = behind(*text, n + (slash != NULL));
    return part;
}

/* "3[3]" */
static bool take_rank(struct nccltext *text, uint32_t *out)
{
    uint64_t value;
    struct nccltext rest;

    if (!take_number(text, UINT32_MAX - 1, &value))
        return false;
    *out = (uint32_t) value;
    if (take_word(text, "[")) {
        if (!find_word(*text, "]", &rest))
            return false;
        *text = rest;
    }
    return true;
}

/* Removes blanks, and what RCCL appends after a transport. */
static void cut_tail(struct nccltext *text, uint64_t *address)
{
    struct nccltext rccl;

    if (find_word(*text, " comm 0x", &rccl)) {
        text->n = (size_t) (rccl.at - text->at) - strlen(" comm 0x");
        take_hex(&rccl, address);
    }
    while (text->n > 0 &&
           (text->at[text->n - 1] == '\r' || text->at[text->n - 1] == ' '))
        text->n--;
}

/* Reads "NET/IB/0(2)/GDRDMA" and the like. A rank in brackets after the device
 * is that of another process, which sends for this one. */
static bool take_transport(struct nccltext text, struct nccltext_channel *out)
{
    struct nccltext kind, number;
    uint64_t value;

    cut_tail(&text, &out->address);
    if (is(text, "direct shared memory")) { /* NCCL 2.12 and earlier */
        out->via = JP_VIA_SHM;
        out->detail = (struct nccltext){text.at, strlen("direct")};
        return true;
    }
    kind = take_part(&text);
    for (int i = 0; i < JP_N_VIAS; i++)
        if (is(kind, nccltext_via_word[i]))
            out->via = (enum jp_nccl_via) i;
    out->detail = take_part(&text);
    if (out->via == JP_VIA_NET || out->via == JP_VIA_COLLNET) {
        struct nccltext rest;

        number = take_part(&text);
        out->has_device = take_number(&number, 65535, &value);
        out->device = out->has_device ? (uint32_t) value : 0;
        out->pxn = out->has_device && take_word(&number, "(");
        out->gdr = find_word(text, "GDRDMA", &rest);
    }
    return kind.n > 0;
}

/* "Channel ..." or "CollNet ..." */
static bool read_channel(struct nccltext said, struct nccltext_channel *out)
{
    struct nccltext rest, via;
    bool coll = false;

    *out = (struct nccltext_channel){.to = UINT32_MAX, .via = JP_N_VIAS};
    if (!take_word(&said, "Channel ") && !(coll = take_word(&said, "CollNet ")))
        return false;
    /* "02/0 : 3[3] -> 8[0] [send] via NET/IB/0" */
    if (!find_word(said, " : ", &rest) || !find_word(rest, " via ", &via) ||
        !take_rank(&rest, &out->from))
        return false;
    if (!coll && (!take_word(&rest, " -> ") || !take_rank(&rest, &out->to)))
        return false;
    /* P2P and SHM lines have neither [send] nor [receive]. */
    out->receive = take_word(&rest, " [receive]");
    return take_transport(via, out);
}

/* "NET/... : Using ..." or "NET/... : Made virtual device ..." */
static bool read_devices(struct nccltext said, struct nccltext_devices *out)
{
    const char *blank;

    if (!take_word(&said, "NET/"))
        return false;
    blank = memchr(said.at, ' ', said.n);
    if (!blank)
        return false;
    out->net = (struct nccltext){said.at, (size_t) (blank - said.at)};
    said = behind(said, out->net.n);
    if (!take_word(&said, " : Using") &&
        !take_word(&said, " : Made virtual device"))
        return false;
    out->rest = said;
    return true;
}

/* Reads the layer after a device's name: ":1/IB", ":1:0:2/RoCE". A socket's
 * address has none. */
static struct nccltext take_layer(struct nccltext *rest)
{
    struct nccltext layer = {rest->at, 0};
    size_t n = 0;

    while (n < rest->n && rest->at[n] > ' ' && rest->at[n] != '/')
        n++;
    if (n < rest->n && rest->at[n] == '/') {
        layer.at = rest->at + n + 1;
        while (n + 1 + layer.n < rest->n && layer.at[layer.n] >= 'A' &&
               layer.at[layer.n] <= 'z')
            layer.n++;
    }
    return layer;
}

/* Skips brackets without a number, and text between devices. */
bool nccltext_next_device(struct nccltext *rest, struct nccltext_device *out)
{
    uint64_t value;
    size_t n = 0;

    while (find_word(*rest, "[", rest)) {
        if (!take_number(rest, 65535, &value) || !take_word(rest, "]"))
            continue; /* "[RO]", which is no device */
        /* Only virtual devices have it. */
        take_word(rest, " name=");
        while (n < rest->n && rest->at[n] > ' ' && rest->at[n] <= '~' &&
               !strchr(":/;,\"\\", rest->at[n]))
            n++;
        out->name = (struct nccltext){rest->at, n};
        *rest = behind(*rest, n);
        out->number = (uint32_t) value;
        out->layer = take_layer(rest);
        return n > 0;
    }
    return false;
}

/* "24 coll channels, 24 collnet channels, 16 nvls channels, ..." */
static bool read_channels(struct nccltext said, struct nccltext_fact *out)
{
    struct nccltext digits, rest;
    uint64_t value;

    if (!find_word(said, " coll channels, ", &rest))
        return false;
    out->has_nvls_channels = true; /* 2.16 and earlier do not mention NVLS */
    /* Try every number in the line. */
    for (digits = rest; digits.n; digits = behind(digits, 1))
        if (take_number(&digits, UINT32_MAX - 1, &value) &&
            take_word(&digits, " nvls channels")) {
            out->nvls_channels = (uint32_t) value;
            return true;
        } else if (!digits.n)
            break;
    return true;
}

/* Facts about the whole communicator: NVLS, CollNet, and the numbers of
 * channels. */
static bool read_fact(struct nccltext said, struct nccltext_fact *out)
{
    struct nccltext rest;

    *out = (struct nccltext_fact){.address = 0};
    if (take_word(&said, "NVLS comm 0x")) {
        out->nvls = take_hex(&said, &out->address) &&
                    find_word(said, " headRank ", &rest);
        return out->nvls;
    }
    out->collnet = find_word(said, "Connected CollNet", &rest) ||
                   find_word(said, "Connected Collnet Chains", &rest);
    return out->collnet || read_channels(said, out);
}

/* Channels come first because they are by far the most frequent lines. */
bool nccltext_read(const char *line, size_t len, struct nccltext_line *out)
{
    if (!split(line, len, out))
        return false;
    if (read_channel(out->said, &out->channel))
        out->kind = NCCLTEXT_CHANNEL;
    else if (read_init(out->said, &out->init))
        out->kind = NCCLTEXT_INIT;
    else if (read_devices(out->said, &out->devices))
        out->kind = NCCLTEXT_DEVICES;
    else if (read_fact(out->said, &out->fact))
        out->kind = NCCLTEXT_FACT;
    else
        out->kind = NCCLTEXT_OTHER;
    return true;
}
