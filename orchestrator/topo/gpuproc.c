/* gpuproc.c - the GPUs that NVIDIA's kernel driver lists in /proc. */
#include "orchestrator/topo/gpuproc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "orchestrator/topo/sysfile.h"

/* What stands behind "key:" in the text, without blanks; "" where it is not
 * there or has '?', as a UUID has before the GPU is in use. */
static void get_value(const char *text, const char *key, char *out, size_t size)
{
    size_t n = strlen(key);
    size_t len;

    out[0] = '\0';
    for (; text && *text; text = strchr(text, '\n'), text += text != NULL) {
        if (strncmp(text, key, n) != 0 || text[n] != ':')
            continue;
        text += n + 1;
        text += strspn(text, " \t");
        len = strcspn(text, "\n");
        if (len < size && !memchr(text, '?', len)) {
            memcpy(out, text, len);
            out[len] = '\0';
        }
        return;
    }
}

static int read_gpu(void *arg, int gpus, const char *name)
{
    struct jp_nvml *out = arg;
    struct jp_nvml_gpu gpu = {
        .minor = -1, .mig = -1, .c2c_links = -1, .c2c_speed_mbs = -1};
    char path[80], text[2048], number[16];
    uint64_t minor;
    ssize_t n;
    int fd;

    if (out->n_gpus == JP_NVML_MAX_GPUS || busid_tidy(name, gpu.busid) < 0)
        return 0;
    snprintf(path, sizeof(path), "%.40s/information", name);
    fd = openat(gpus, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    get_value(text, "Model", gpu.model, sizeof(gpu.model));
    get_value(text, "GPU UUID", gpu.uuid, sizeof(gpu.uuid));
    get_value(text, "Device Minor", number, sizeof(number));
    if (num_parse_u64(number, 0, 65535, &minor, NULL) == 0)
        gpu.minor = (int64_t) minor;
    out->gpus[out->n_gpus++] = gpu;
    return 0;
}

void gpuproc_read(const char *root, struct jp_nvml *out)
{
    int folder = sysfile_folder(root, "proc/driver/nvidia/gpus");

    memset(out->gpus, 0, sizeof(out->gpus));
    out->n_gpus = 0;
    if (folder >= 0)
        sysfile_each(folder, JP_NVML_MAX_GPUS, read_gpu, out, NULL);
}
