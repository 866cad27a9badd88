/* shape.c - one number for all nodes that are wired alike. */
#include "orchestrator/topo/shape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Names of infos that differ between equal machines, and how they begin. */
static const char *const personal[] = {
    "HostName",
    "OSRelease",
    "OSVersion",
    "Address",
    "NodeGUID",
    "SysImageGUID",
    "NVIDIAUUID",
    "NVIDIASerial",
    "AMDUUID",
    "AMDSerial",
    "DMIProductSerial",
    "DMIProductUUID",
    "DMIBoardSerial",
    "DMIChassisSerial",
    "DMIBoardAssetTag",
    "DMIChassisAssetTag",
    "LinuxCgroup",
    "ProcessName",
    "hwlocVersion",
    "SerialNumber",
    "XGMIHiveID",
    "LinuxDeviceID",
    "Size",
};

/* Ports have these with their number in the middle: Port1GID0, Port1LID. */
static const char *const personal_ports[] = {"GID", "LID", "LMC"};

/* Attributes of objects; sets of what is allowed depend on the job. */
static const char *const attributes[] = {
    "local_memory",
    "allowed_cpuset",
    "allowed_nodeset",
};

#define N(array) (sizeof(array) / sizeof(*(array)))

static bool begins(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t) (end - p) >= n && memcmp(p, word, n) == 0;
}

/* Whether an info of that name, which ends in a quote, is personal. */
static bool is_personal(const char *name, const char *end)
{
    const char *quote = memchr(name, '"', (size_t) (end - name));

    if (!quote)
        return false;
    for (size_t i = 0; i < N(personal); i++)
        if (begins(name, quote, personal[i]) &&
            name + strlen(personal[i]) == quote)
            return true;
    if (!begins(name, quote, "Port"))
        return false;
    for (name += 4; name < quote && *name >= '0' && *name <= '9'; name++)
        ;
    for (size_t i = 0; i < N(personal_ports); i++)
        if (begins(name, quote, personal_ports[i]))
            return true;
    return false;
}

/* Whether a line says nothing of the shape. */
static bool is_left_out(const char *p, const char *end)
{
    if (begins(p, end, "<page_type"))
        return true;
    if (begins(p, end, "<?xml") || begins(p, end, "<!DOCTYPE"))
        return true;
    return begins(p, end, "<info name=\"") &&
           is_personal(p + strlen("<info name=\""), end);
}

/* Where an attribute that is left out ends, with its blank; p: it is none. */
static const char *skip_attribute(const char *p, const char *end)
{
    for (size_t i = 0; *p == ' ' && i < N(attributes); i++) {
        const char *at = p + 1;
        const char *quote;

        if (!begins(at, end, attributes[i]))
            continue;
        at += strlen(attributes[i]);
        if (!begins(at, end, "=\""))
            continue;
        quote = memchr(at + 2, '"', (size_t) (end - at - 2));
        return quote ? quote + 1 : p;
    }
    return p;
}

/* FNV-1a, 64 bits. */
static uint64_t add_line(uint64_t hash, const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p == end || is_left_out(p, end))
        return hash;
    for (; p < end; p++) {
        const char *behind = skip_attribute(p, end);

        if (behind != p) {
            p = behind - 1;
            continue;
        }
        hash = (hash ^ (unsigned char) *p) * 0x100000001b3u;
    }
    return (hash ^ '\n') * 0x100000001b3u;
}

void shape_hash(const char *xml, size_t len, char out[JP_SHAPE_LEN])
{
    uint64_t hash = 0xcbf29ce484222325u;
    const char *end = xml + len;

    while (xml < end) {
        const char *line = memchr(xml, '\n', (size_t) (end - xml));

        if (!line)
            line = end;
        hash = add_line(hash, xml, line);
        xml = line + (line < end);
    }
    snprintf(out, JP_SHAPE_LEN, "%016llx", (unsigned long long) hash);
}
