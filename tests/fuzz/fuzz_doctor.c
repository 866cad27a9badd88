/* fuzz_doctor.c - any bytes as a shared library, or as a plugstack.conf. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/doctor/doctor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_library(int fd)
{
    struct elfview view;
    uint32_t number;

    if (elfview_open_fd(fd, "fuzz", &view, NULL) < 0) {
        close(fd);
        return;
    }
    elfview_exports(&view, "ncclProfiler_v1");
    elfview_number(&view, "plugin_version", &number, NULL);
    elfview_has_text(&view, "ncclProfiler_v1");
    elfview_after(&view, "NCCL version ");
    elfview_close(&view);
}

static void as_stack(int fd)
{
    char *path = text_format("/proc/self/fd/%d", fd);
    struct plugstack stack;

    if (path && plugstack_read(path, &stack, NULL) == 0) {
        for (size_t i = 0; i < stack.n_lines; i++) {
            assert(*stack.lines[i].plugin && *stack.lines[i].where);
            assert(stack.lines[i].n_args <= PLUGSTACK_ARGS_MAX);
            plugstack_arg(&stack.lines[i], "config");
            plugstack_is(&stack.lines[i], "spank_jobprof.so");
        }
        plugstack_fini(&stack);
    }
    free(path);
    close(fd);
}

/* An include would look at files that are not the fuzzer's. */
static int has_include(const uint8_t *data, size_t size)
{
    return memmem(data, size, "include", 7) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t) size)
        abort();
    if (size >= 4 && memcmp(data, "\177ELF", 4) == 0)
        as_library(fd);
    else if (!has_include(data, size))
        as_stack(fd);
    else
        close(fd);
    return 0;
}
