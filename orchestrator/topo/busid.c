/* busid.c - one spelling of PCI bus ids. */
#include "orchestrator/topo/busid.h"

#include <stdio.h>
#include <string.h>

/* Takes up to n hexadecimal digits off *text. Returns -1 if there are none. */
static int take_hex(const char **text, int n, unsigned *out)
{
    unsigned value = 0;
    int i;

    for (i = 0; i < n; i++) {
        unsigned char c = (unsigned char) (*text)[i];
        unsigned digit;

        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            /* Both cases. */
            digit = (c | 0x20u) - 'a' + 10;
        else
            break;
        value = value << 4 | digit;
    }
    *text += i;
    *out = value;
    return i ? 0 : -1;
}

/* Takes one character off *text. Returns -1 if it is another. */
static int take_char(const char **text, char c)
{
    if (**text != c)
        return -1;
    (*text)++;
    return 0;
}

/* Formats the parts. Returns -1 if they are no PCI address. */
static int format(unsigned domain, unsigned bus, unsigned device,
                  unsigned function, char out[JP_BUSID])
{
    /* A domain of ffffffff is NVML's value for a hidden device. */
    if (bus > 0xff || device > 0x1f || function > 7 || domain == UINT32_MAX)
        return -1;
    snprintf(out, JP_BUSID, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return 0;
}

int busid_tidy(const char *text, char out[JP_BUSID])
{
    unsigned domain, bus, device, function;

    out[0] = '\0';
    /* Every separator and digit must be there, and nothing after the function.
     */
    if (take_hex(&text, 8, &domain) < 0 || take_char(&text, ':') < 0 ||
        take_hex(&text, 2, &bus) < 0 || take_char(&text, ':') < 0 ||
        take_hex(&text, 2, &device) < 0 || take_char(&text, '.') < 0 ||
        take_hex(&text, 1, &function) < 0 || *text)
        return -1;
    return format(domain, bus, device, function, out);
}

int busid_of_nccl(uint64_t number, char out[JP_BUSID])
{
    out[0] = '\0';
    /* The domain has at most 32 bits. */
    if (number >> 20 >= UINT32_MAX)
        return -1;
    return format((unsigned) (number >> 20), number >> 12 & 0xff,
                  number >> 4 & 0xff, number & 0xf, out);
}

int busid_compare(const char *a, const char *b)
{
    size_t na = strlen(a);
    size_t nb = strlen(b);

    /* A longer text has a larger domain. */
    return na != nb ? (na < nb ? -1 : 1) : strcmp(a, b);
}
