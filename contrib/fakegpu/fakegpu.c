/* fakegpu.c - GPUs that do not exist, as the stand-in libraries for CUDA, NVML
 * and rocm_smi see them.
 *
 * This file is a part of each library. It answers from the environment
 * (fakegpu.h), so a test needs no other way to control the libraries. */
#include "contrib/fakegpu/fakegpu.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads fakegpu.env beside this library into the environment. Variables that
 * are set already stay. */
static void __attribute__((constructor)) read_settings(void)
{
    char line[PATH_MAX + 64];
    Dl_info us;
    const char *end;
    FILE *file;

    /* the folder of this library */
    if (!dladdr((void *) &fakegpu_number, &us) || !us.dli_fname ||
        !(end = strrchr(us.dli_fname, '/')))
        return;
    snprintf(line, sizeof(line), "%.*s/fakegpu.env", (int) (end - us.dli_fname),
             us.dli_fname);
    file = fopen(line, "re");
    while (file && fgets(line, sizeof(line), file)) {
        char *value = strchr(line, '=');

        line[strcspn(line, "\n")] = '\0';
        if (!value || strncmp(line, "FAKEGPU_", 8) != 0)
            continue;
        *value++ = '\0';
        /* 0: does not overwrite */
        setenv(line, value, 0);
    }
    if (file)
        fclose(file);
}

int fakegpu_number(const char *name, int max, int fallback)
{
    const char *text = getenv(name);
    char *end;
    long v;

    if (!text || !*text)
        return fallback;
    v = strtol(text, &end, 10);
    return *end || v < 0 || v > max ? fallback : (int) v;
}

int fakegpu_lists(const char *name, const char *word)
{
    const char *list = getenv(name);
    size_t n = strlen(word);

    if (!list)
        return 0;
    if (strcmp(list, "all") == 0)
        return 1;
    while (*list) {
        size_t len = strcspn(list, ",");

        if (len == n && strncmp(list, word, n) == 0)
            return 1;
        /* after the comma, if there is one */
        list += len + (list[len] == ',');
    }
    return 0;
}

int fakegpu_garbage(const char *what)
{
    return fakegpu_lists("FAKEGPU_GARBAGE", what);
}

int fakegpu_fails(const char *function)
{
    /* until a test changes the variable */
    while (fakegpu_lists("FAKEGPU_HANG", function))
        pause();
    if (fakegpu_lists("FAKEGPU_CRASH", function))
        abort();
    return fakegpu_lists("FAKEGPU_FAIL", function);
}

int fakegpu_count(void)
{
    int n = fakegpu_machine_count ? fakegpu_machine_count() : 1;

    return fakegpu_number("FAKEGPU_COUNT", FAKEGPU_MAX, n);
}

/* Returns the number of visible GPUs, and their indices. As in CUDA, the list
 * ends at the first entry that is no GPU. */
static int read_visible(int index[FAKEGPU_MAX])
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    int count = fakegpu_count();
    int n = 0;

    if (!list) {
        for (n = 0; n < count; n++)
            index[n] = n;
        return n;
    }
    while (n < FAKEGPU_MAX) {
        char *end;
        long v = strtol(list, &end, 10);

        if (end == list || v < 0 || v >= count)
            return n;
        index[n++] = (int) v;
        if (*end != ',')
            return n;
        list = end + 1;
    }
    return n;
}

int fakegpu_visible(void)
{
    int index[FAKEGPU_MAX];

    return read_visible(index);
}

int fakegpu_index(int ordinal)
{
    int index[FAKEGPU_MAX];
    int n = read_visible(index);

    return ordinal >= 0 && ordinal < n ? index[ordinal] : -1;
}

int fakegpu_current(void)
{
    return fakegpu_number("FAKEGPU_DEVICE", FAKEGPU_MAX - 1, 0);
}

int fakegpu_bus(int index)
{
    const char *list = getenv("FAKEGPU_BUSES");
    int i;

    for (i = 0; list && *list; i++) {
        if (i == index)
            return (int) strtol(list, NULL, 16) & 0xFF;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    /* any bus; the distance looks like a real machine's */
    return 0x1A + 8 * index;
}

void fakegpu_uuid(int index, unsigned char uuid[FAKEGPU_UUID_BYTES])
{
    static const unsigned char base[FAKEGPU_UUID_BYTES] = {
        0xfa, 0x4e, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0};

    memcpy(uuid, base, sizeof(base));
    uuid[FAKEGPU_UUID_BYTES - 1] = (unsigned char) index;
}

int fakegpu_mig_uuid(unsigned char uuid[FAKEGPU_UUID_BYTES])
{
    const char *text = getenv("FAKEGPU_MIG");
    int n = 0;

    if (!text || strncmp(text, "MIG-", 4) != 0)
        return -1;
    /* pairs of digits, with dashes between some of them */
    for (text += 4; *text && n < FAKEGPU_UUID_BYTES; text++) {
        char hex[3] = {text[0], text[1], '\0'};
        char *end;

        if (*text == '-')
            continue;
        uuid[n++] = (unsigned char) strtoul(hex, &end, 16);
        if (end != hex + 2)
            return -1;
        text++;
    }
    return n == FAKEGPU_UUID_BYTES && !*text ? 0 : -1;
}

int fakegpu_format_uuid(const char *prefix, const unsigned char *u, char *out,
                        size_t size)
{
    int n = snprintf(out, size,
                     "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
                     "%02x%02x%02x%02x%02x%02x",
                     prefix, u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7],
                     u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);

    return n > 0 && (size_t) n < size ? 0 : -1;
}
