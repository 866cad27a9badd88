/* fuzz_loaded.c - any bytes as a task's maps, and as NCCL's library.
 *
 * The first byte chooses: 'm' maps, else the library. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/loaded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/jp-fuzz-loaded.XXXXXX";

static void put(const char *name, const void *bytes, size_t len)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    f = fopen(path, "we");
    if (!f || fwrite(bytes, 1, len, f) != len)
        abort();
    fclose(f);
}

static void drop(void)
{
    static const char *const names[] = {
        "proc/7/maps",   "proc/7/root/libnccl.so",
        "proc/7/status", "proc/7/stat",
        "proc/7/root",   "proc/7",
        "proc",          ""};
    char path[256];

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        remove(path);
    }
}

static void make_root(void)
{
    static const char *const folders[] = {"proc", "proc/7", "proc/7/root"};
    static const char stat[] =
        "7 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 777 0 0\n";
    char path[256];

    if (!mkdtemp(root))
        abort();
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        if (mkdir(path, 0700) < 0)
            abort();
    }
    snprintf(path, sizeof(path), "\nUid:\t%u\t%u\t%u\t%u\n", getuid(), getuid(),
             getuid(), getuid());
    put("proc/7/status", path, strlen(path));
    put("proc/7/stat", stat, sizeof(stat) - 1);
    atexit(drop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char maps[] = "7f00-7f01 r-xp 0 08:01 1  /libnccl.so\n";
    const struct procfs_some some = {
        .root = root, .uid = getuid(), .n = 1, .pid = {7}};
    struct loaded_list loaded = {0};
    static int made;

    if (!made++)
        make_root();
    if (!size)
        return 0;
    put("proc/7/maps", data[0] == 'm' ? (const char *) data + 1 : maps,
        data[0] == 'm' ? size - 1 : sizeof(maps) - 1);
    put("proc/7/root/libnccl.so", data + 1, size - 1);
    loaded_find(&some, &loaded);
    assert(loaded.n <= LOADED_MAX);
    for (uint32_t i = 0; i < loaded.n; i++)
        assert(strlen(loaded.list[i].name) < LOADED_NAME &&
               strlen(loaded.list[i].version) < LOADED_VERSION);
    return 0;
}
