/* nccltext.c - take one line of NCCL's log apart. */
#include "orchestrator/topo/nccltext.h"

#include <string.h>

#define INFO " NCCL INFO "

bool nccltext_is(struct nccltext text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.at, word, text.n) == 0;
}

static struct nccltext behind(struct nccltext text, size_t n)
{
    return (struct nccltext){text.at + n, text.n - n};
}

/* Takes a word off the front; false: it is another one. */
static bool take(struct nccltext *text, const char *word)
{
    size_t n = strlen(word);

    if (text->n < n || memcmp(text->at, word, n) != 0)
        return false;
    *text = behind(*text, n);
    return true;
}

/* What follows a word; false: it is nowhere. */
static bool find(struct nccltext text, const char *word, struct nccltext *out)
{
    const char *hit = memmem(text.at, text.n, word, strlen(word));

    if (!hit)
        return false;
    *out = behind(text, (size_t) (hit - text.at) + strlen(word));
    return true;
}

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

static bool take_hex(struct nccltext *text, uint64_t *out)
{
    uint64_t value = 0;
    size_t i;

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

static bool find_number(struct nccltext said, const char *word, uint32_t *out)
{
    struct nccltext at;
    uint64_t value;

    if (!find(said, word, &at) || !take_number(&at, UINT32_MAX - 1, &value))
        return false;
    *out = (uint32_t) value;
    return true;
}

static bool find_hex(struct nccltext said, const char *word, uint64_t *out)
{
    struct nccltext at;

    return find(said, word, &at) && take_hex(&at, out);
}

/* The last "N" behind a colon, which is cut off. */
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

/* "[rank0]: 2026-01-01 host:pid:tid [0]": whatever others put in front, the
 * name is the last word before the number in brackets. */
bool nccltext_split(const char *line, size_t len, struct nccltext_line *out)
{
    struct nccltext all = {line, len};
    struct nccltext head;
    size_t n;

    if (!find(all, INFO, &out->said))
        return false;
    head = (struct nccltext){line, len - out->said.n - strlen(INFO)};
    if (head.n == 0 || head.at[head.n - 1] != ']')
        return false;
    for (n = head.n; n > 0 && head.at[n - 1] != '['; n--)
        ;
    if (n < 2 || head.at[n - 2] != ' ')
        return false;
    head.n = n - 2;
    for (n = head.n; n > 0 && head.at[n - 1] != ' '; n--)
        ;
    head = behind(head, n);
    if (!cut_number(&head, &out->tid) || !cut_number(&head, &out->pid) ||
        head.n == 0)
        return false;
    out->host = head;
    for (n = 0; n < head.n; n++)
        if (head.at[n] <= ' ' || head.at[n] > '~' || head.at[n] == '/')
            return false;
    return true;
}

bool nccltext_init(struct nccltext said, struct nccltext_init *out)
{
    struct nccltext rest;

    *out = (struct nccltext_init){.address = 0};
    out->complete = find(said, "Init COMPLETE", &rest);
    if (!out->complete && !find(said, "Init START", &rest))
        return false;
    if (!find_number(said, " rank ", &out->rank) ||
        !find_number(said, " nranks ", &out->n_ranks) ||
        out->rank >= out->n_ranks)
        return false;
    /* the line begins with "comm 0x" in some releases */
    find_hex(said, "comm 0x", &out->address);
    out->has_busid = find_hex(said, " busId ", &out->busid);
    out->has_id = find_hex(said, " commId 0x", &out->id);
    return true;
}

/* Up to the next slash, which is taken too. */
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
    if (take(text, "[")) {
        if (!find(*text, "]", &rest))
            return false;
        *text = rest;
    }
    return true;
}

/* "NET/IB/0(2)/GDRDMA" and its like; a rank behind the number is another's that
 * sends for us. */
static bool take_transport(struct nccltext text, struct nccltext_channel *out)
{
    struct nccltext number;
    uint64_t value;

    while (text.n > 0 &&
           (text.at[text.n - 1] == '\r' || text.at[text.n - 1] == ' '))
        text.n--;
    out->kind = take_part(&text);
    out->detail = take_part(&text);
    if (nccltext_is(out->kind, "NET") || nccltext_is(out->kind, "COLLNET")) {
        struct nccltext rest;

        number = take_part(&text);
        out->has_device = take_number(&number, 65535, &value);
        out->device = out->has_device ? (uint32_t) value : 0;
        out->gdr = find(text, "GDRDMA", &rest);
    }
    return out->kind.n > 0;
}

bool nccltext_channel(struct nccltext said, struct nccltext_channel *out)
{
    struct nccltext rest, via;
    bool coll = false;

    *out = (struct nccltext_channel){.to = UINT32_MAX};
    if (!take(&said, "Channel ") && !(coll = take(&said, "CollNet ")))
        return false;
    if (!find(said, " : ", &rest) || !find(rest, " via ", &via) ||
        !take_rank(&rest, &out->from))
        return false;
    if (!coll && (!take(&rest, " -> ") || !take_rank(&rest, &out->to)))
        return false;
    out->receive = take(&rest, " [receive]");
    return take_transport(via, out);
}

bool nccltext_devices(struct nccltext said, struct nccltext *net,
                      struct nccltext *rest)
{
    const char *blank;

    if (!take(&said, "NET/"))
        return false;
    blank = memchr(said.at, ' ', said.n);
    if (!blank)
        return false;
    *net = (struct nccltext){said.at, (size_t) (blank - said.at)};
    said = behind(said, net->n);
    if (!take(&said, " : Using") && !take(&said, " : Made virtual device"))
        return false;
    *rest = said;
    return true;
}

bool nccltext_device(struct nccltext *rest, uint32_t *number,
                     struct nccltext *name)
{
    uint64_t value;
    size_t n = 0;

    while (find(*rest, "[", rest)) {
        if (!take_number(rest, 65535, &value) || !take(rest, "]"))
            continue; /* "[RO]" */
        take(rest, " name=");
        while (n < rest->n && rest->at[n] > ' ' && rest->at[n] <= '~' &&
               !strchr(":/;,\"\\", rest->at[n]))
            n++;
        *name = (struct nccltext){rest->at, n};
        *rest = behind(*rest, n);
        *number = (uint32_t) value;
        return n > 0;
    }
    return false;
}
