/* start.c - describe a task: its process and the GPUs it may use. */
#include "orchestrator/agent/start.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/num.h"

#define DEVICES_MAX 64
/* A single write of this size keeps the lines of concurrent tasks intact. */
#define LINE_MAX_BYTES 16384

static const char *const variables[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES",
    "SLURM_STEP_GPUS",      "SLURM_JOB_GPUS",    "SLURM_GPUS_ON_NODE",
    "NCCL_DEBUG",           "NCCL_DEBUG_FILE",
};

static json_t *number_of(const char *text)
{
    int64_t value;

    return num_parse_i64(text, 0, INT64_MAX, &value, NULL) == 0
               ? json_integer((json_int_t) value)
               : json_null();
}

static json_t *text_of(const char *text)
{
    json_t *json = text ? json_string(text) : NULL;

    return json ? json : json_null(); /* text is not UTF-8 */
}

/* Field 22 of /proc/PID/stat: start time in ticks after boot. The name before
 * it may contain blanks and parentheses. */
static json_t *start_of(pid_t task)
{
    char *path = fileio_path("/proc/%ld/stat", (long) task);
    char *text = NULL, *rest, *word = NULL;
    json_t *json;

    if (path && fileio_read(path, false, 4096, &text, NULL, NULL) == 0 &&
        (rest = strrchr(text, ')')))
        for (int field = 2; field <= 22 && (word = strsep(&rest, " ")); field++)
            ;
    json = number_of(word);
    free(text);
    free(path);
    return json;
}

/* The inode number from "pid:[4026531836]". */
static json_t *pid_namespace(pid_t task)
{
    char *path = fileio_path("/proc/%ld/ns/pid", (long) task);
    char link[64];
    ssize_t n = path ? readlink(path, link, sizeof(link) - 1) : -1;
    char *at;

    free(path);
    link[n > 0 ? n : 0] = '\0';
    at = strchr(link, '[');
    link[strcspn(link, "]")] = '\0';
    return at ? number_of(at + 1) : json_null();
}

static json_t *boot_id(void)
{
    char *id = NULL;
    json_t *json = json_null();

    if (fileio_read("/proc/sys/kernel/random/boot_id", false, 128, &id, NULL,
                    NULL) == 0) {
        id[strcspn(id, "\n")] = '\0';
        json = text_of(id);
    }
    free(id);
    return json;
}

/* "0-15,64": the CPUs of this process. The task has the same ones. */
static json_t *cpus(void)
{
    char text[2048] = "";
    size_t used = 0;
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        return json_null();
    for (int i = 0, end; i < CPU_SETSIZE && used < sizeof(text); i = end + 1) {
        for (end = i; end < CPU_SETSIZE && CPU_ISSET(end, &set); end++)
            ;
        if (end == i)
            continue;
        used += (size_t) snprintf(text + used, sizeof(text) - used,
                                  end - i > 1 ? "%s%d-%d" : "%s%d",
                                  used ? "," : "", i, end - 1);
    }
    return json_string(text);
}

/* Minor numbers of the devices that may be opened. The device cgroup gives
 * access(2) the same answer as open(2). null: there are no devices. */
static json_t *devices(const char *dev)
{
    json_t *json = json_array();
    bool any = false;

    for (int i = 0; i < DEVICES_MAX; i++) {
        char *path = fileio_path("%s/nvidia%d", dev, i);
        struct stat st;

        if (path && stat(path, &st) == 0) {
            any = true;
            if (faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0)
                json_array_append_new(json, json_integer(i));
        }
        free(path);
    }
    if (any)
        return json;
    json_decref(json);
    return json_null();
}

static json_t *make(const struct jp_seat *seat, pid_t task, const char *dev)
{
    json_t *env = json_object();
    struct utsname uts = {0};

    uname(&uts);
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        if (getenv(variables[i]))
            json_object_set_new(env, variables[i],
                                text_of(getenv(variables[i])));
    return json_pack(
        "{s:i, s:o, s:o, s:I, s:o, s:o, s:I, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o}",
        "schema", 1, "job", number_of(getenv("SLURM_JOB_ID")), "step",
        number_of(getenv("SLURM_STEP_ID")), "nodeid", (json_int_t) seat->nodeid,
        "procid", number_of(getenv("SLURM_PROCID")), "localid",
        number_of(getenv("SLURM_LOCALID")), "pid", (json_int_t) task, "start",
        start_of(task), "pid_ns", pid_namespace(task), "hostname",
        text_of(uts.nodename), "boot_id", boot_id(), "cpus", cpus(), "devices",
        devices(dev), "env", env);
}

/* Appends the line and its line break in one write. */
static int append(const char *path, const char *line, struct jp_error *err)
{
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
                      O_CLOEXEC;
    size_t n = strlen(line);
    struct stat st;
    int fd, rc = 0;

    if (n > LINE_MAX_BYTES)
        return error_set(err, "%s: a line of %zu bytes", path, n);
    fd = open(path, flags, 0600);
    if (fd < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = error_set(err, "%s: not a regular file", path);
    else if (write(fd, line, n) != (ssize_t) n)
        rc = error_set(err, "%s: %s", path, strerror(errno));
    close(fd);
    return rc;
}

int start_write(const struct jp_seat *seat, const char *node, pid_t task,
                const char *dev, struct jp_error *err)
{
    char *path = fileio_path("%s/nodes/%s/starts.jsonl", seat->dir, node);
    json_t *json = make(seat, task, dev);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    char *line = text ? fileio_path("%s\n", text) : NULL;
    int rc = -1;

    if (path && line)
        rc = append(path, line, err);
    else
        error_set(err, "out of memory");
    free(line);
    free(text);
    free(path);
    json_decref(json);
    return rc;
}
