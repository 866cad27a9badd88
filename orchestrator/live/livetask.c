/* livetask.c - /proc/PID of a task. */
#include "orchestrator/live/livetask.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/num.h"
#include "plugins/util/util_kernel.h"

#define TEXT_BYTES 4096

/* The text of /proc/PID/name; NULL with errno. */
static const char *read_of(const char *root, int64_t pid, const char *name,
                           char text[TEXT_BYTES])
{
    char path[512];

    snprintf(path, sizeof(path), "%s/proc/%lld/%s", root, (long long) pid,
             name);
    return util_read_file(path, text, TEXT_BYTES, NULL);
}

/* The letter behind the name in brackets. */
static char state_in(const char *text)
{
    const char *end = strrchr(text, ')');

    return end && end[1] == ' ' ? end[2] : '\0';
}

static uint64_t hex_behind(const char *text, const char *key)
{
    const char *at = strstr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

static uint64_t known(uint64_t value)
{
    return value == UTIL_NONE ? 0 : value;
}

int livetask_read(const char *root, struct livetask *task)
{
    char text[TEXT_BYTES];
    struct util_process p = {0};
    long hz = sysconf(_SC_CLK_TCK);
    const char *got;

    errno = 0;
    got = read_of(root, task->pid, "stat", text);
    if (!got)
        return errno == ENOENT || errno == ESRCH ? 0 : -1;
    if (!util_read_process(text, &p))
        return -1;
    task->state = state_in(text);
    if (task->state == 'Z' || task->state == 'X' ||
        (task->start && task->start != p.start))
        return 0;
    task->start = p.start;
    task->cpu_ms = num_mul(known(p.user) + known(p.system), 1000) /
                   (uint64_t) (hz > 0 ? hz : 100);
    if (read_of(root, task->pid, "status", text)) {
        task->traced = known(util_find(text, "TracerPid:")) > 0;
        task->caught = hex_behind(text, "\nSigCgt:");
    }
    if (read_of(root, task->pid, "io", text))
        task->io_bytes = known(util_find(text, "rchar:")) +
                         known(util_find(text, "wchar:")) +
                         known(util_find(text, "read_bytes:")) +
                         known(util_find(text, "write_bytes:"));
    return 1;
}

/* The last number of "NSpid:", which is its pid where it lives itself. */
static int64_t inner_pid(const char *status)
{
    const char *at = strstr(status, "\nNSpid:");
    int64_t last = -1;

    if (!at)
        return -1;
    at += strlen("\nNSpid:");
    while (*at == '\t' || *at == ' ') {
        char *end;

        last = strtoll(at, &end, 10);
        if (end == at)
            return -1;
        at = end;
    }
    return last;
}

static uint64_t namespace_of(const char *root, const char *pid)
{
    char path[512];
    struct stat st;

    snprintf(path, sizeof(path), "%s/proc/%s/ns/pid", root, pid);
    return stat(path, &st) == 0 ? (uint64_t) st.st_ino : 0;
}

int64_t livetask_find(const char *root, int64_t pid, uint64_t pid_namespace)
{
    char path[512], text[TEXT_BYTES];
    struct dirent *entry;
    int64_t found = -1;
    DIR *proc;

    if (!pid_namespace || pid_namespace == namespace_of(root, "self"))
        return pid;
    snprintf(path, sizeof(path), "%s/proc", root);
    proc = opendir(path);
    while (proc && found < 0 && (entry = readdir(proc))) {
        int64_t outer;

        if (num_parse_i64(entry->d_name, 1, INT32_MAX, &outer, NULL) == 0 &&
            namespace_of(root, entry->d_name) == pid_namespace &&
            read_of(root, outer, "status", text) && inner_pid(text) == pid)
            found = outer;
    }
    if (proc)
        closedir(proc);
    return found;
}
