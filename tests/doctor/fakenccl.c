/* fakenccl.c - a library that looks like NCCL 2.27.3 from outside: the strings
 * by which it finds a profiler, and one function. */
#include <stddef.h>

int ncclGetVersion(int *version);
const char *fakenccl_text(size_t i);

/* visible, as in NCCL; the texts are in .rodata */
__attribute__((visibility("default"))) const char *fakenccl_text(size_t i)
{
    static const char *const texts[] = {"NCCL version 2.27.3+cuda12.9",
                                        "ncclProfiler_v1", "ncclProfiler_v2",
                                        "ncclProfiler_v3", "ncclProfiler_v4"};

    return i < sizeof(texts) / sizeof(*texts) ? texts[i] : NULL;
}

__attribute__((visibility("default"))) int ncclGetVersion(int *version)
{
    *version = 22703;
    return 0;
}
