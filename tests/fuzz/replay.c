/* replay.c - run a fuzz target over its corpus without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs every file of the folder; returns how many, -1 if one is unreadable. */
static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int count = 0;

    if (!dir)
        return -1;
    while (count >= 0 && (entry = readdir(dir))) {
        struct jp_error err = {{0}};
        char *path, *text = NULL;
        size_t len = 0;

        if (entry->d_name[0] == '.')
            continue;
        path = text_format("%s/%s", folder, entry->d_name);
        if (!path || fileio_read(path, false, 16 << 20, &text, &len, &err)) {
            printf("# %s\n", err.text);
            count = -1;
        } else {
            LLVMFuzzerTestOneInput((const uint8_t *) text, len);
            count++;
        }
        free(text);
        free(path);
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    const char *src = getenv("top_srcdir");
    const char *name = strrchr(argv[0], '/');
    char *folder;
    int count;

    name = name ? name + 1 : argv[0];
    name = strncmp(name, "fuzz_", 5) ? name : name + 5;
    folder = argc > 1 ? strdup(argv[1])
                      : text_format("%s/tests/fuzz/corpus/%s",
                                    src ? src : JP_SRCDIR, name);
    count = folder ? replay_folder(folder) : -1;
    printf("1..1\n%s 1 - %s: %d inputs of the corpus replayed\n",
           count > 0 ? "ok" : "not ok", name, count);
    free(folder);
    return count > 0 ? 0 : 1;
}
