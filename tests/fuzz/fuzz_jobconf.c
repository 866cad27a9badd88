/* fuzz_jobconf.c - the two libconfig readers: job.conf and settings files. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/jobconf.h"
#include "common/sitefile.h"
#include "tests/common/foreign_leaks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_jobconf(const char *text, size_t size)
{
    struct jp_jobconf conf;
    struct jp_error err = {""};

    if (jobconf_parse(text, size, "fuzz", &conf, &err) < 0) {
        if (!*err.text)
            abort();
        return;
    }
    if (!conf.nccl_mode || !conf.step_id || (conf.n_env && !conf.env))
        abort();
    jobconf_find(&conf, "mode");
    jobconf_fini(&conf);
}

/* The same bytes as a file: the reader takes paths only. */
static void read_sitefile(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct jp_sitefile file;
    struct jp_policy policy;
    struct jp_error err = {""};
    char path[64];

    if (fd < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t) size) {
        if (sitefile_load(path, size % 2 ? SITEFILE_SITE : SITEFILE_USER, true,
                          NULL, NULL, &file, &err) == 0) {
            sitefile_policy(&file, &policy);
            sitefile_fini(&file);
        } else if (!*err.text) {
            abort();
        }
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_jobconf((const char *) data, size);
    read_sitefile(data, size);
    return 0;
}
