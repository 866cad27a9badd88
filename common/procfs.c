/* procfs.c - numbers from the kernel's texts.
 *
 * First the reader, which opens files below a root; then small helpers for
 * lines and numbers; then a function for each kind of file (procfs.h). */
#include "common/procfs.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "common/num.h"

/* A path that is too long is cut, and then does not exist. */
const char *procfs_reader_path(const struct procfs_reader *r, char *out,
                               const char *fmt, ...)
{
    int n = snprintf(out, PATH_MAX, "%s", r->root);
    va_list args;

    va_start(args, fmt);
    if (n >= 0 && n < PATH_MAX)
        vsnprintf(out + n, (size_t) (PATH_MAX - n), fmt, args);
    va_end(args);
    return out;
}

const char *procfs_reader_text(struct procfs_reader *r, const char *path)
{
    return procfs_read_file(path, r->text, sizeof(r->text), NULL) ?: "";
}

/* The kernel's own files fill a page before they give less (seq_file). So a
 * read of less than half a page is the end, and the call that would return 0 is
 * saved. */
#define SHORT_READ 2048

/* Reads a file from its start through *fd, which is opened if necessary.
 * Returns NULL and closes *fd if it cannot be read any more. */
static const char *read_again(int *fd, int at, const char *path, char *text,
                              size_t room)
{
    size_t have = 0;
    ssize_t n = -1;

    if (*fd < 0)
        *fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0)
        return NULL;
    while (have < room - 1 &&
           (n = pread(*fd, text + have, room - 1 - have, (off_t) have)) > 0) {
        have += (size_t) n;
        if (n < SHORT_READ)
            break;
    }
    text[have] = '\0';
    if (n >= 0 || have > 0)
        return text;
    close(*fd);
    *fd = -1;
    return NULL;
}

const char *procfs_reader_again(struct procfs_reader *r, int *fd, int at,
                                const char *path)
{
    struct stat st;

    /* only in tests: a file below the root may have been replaced, which files
     * of /proc never are */
    if (*r->root && *fd >= 0 && fstat(*fd, &st) == 0 && !st.st_nlink) {
        close(*fd);
        *fd = -1;
    }
    return read_again(fd, at, path, r->text, sizeof(r->text)) ?: "";
}

/* /proc/diskstats counts sectors of this size, whatever the disk's own is. */
#define SECTOR_BYTES 512

const char *procfs_read_file(const char *path, char *text, size_t room,
                             size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t have = 0;
    ssize_t n = -1;

    if (fd < 0)
        return NULL;
    while (have < room - 1 && (n = read(fd, text + have, room - 1 - have)) > 0)
        have += (size_t) n;
    close(fd);
    text[have] = '\0';
    if (len)
        *len = have;
    /* what was read before an error counts */
    return n < 0 && have == 0 ? NULL : text;
}

/* The next decimal number of this line, after blanks; false: there is none, or
 * it is too large. *at moves past it. */
static bool next_number(const char **at, uint64_t *out)
{
    const char *c = *at;
    uint64_t n = 0;

    /* never past the end of the line: a newline is no digit */
    while (*c == ' ' || *c == '\t')
        c++;
    if (!isdigit((unsigned char) *c))
        return false;
    for (; isdigit((unsigned char) *c); c++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t) (*c - '0'), &n))
            return false;
    *at = c;
    *out = n;
    return true;
}

/* Up to n numbers of a line. Returns how many there were. */
static size_t numbers(const char *at, uint64_t *out, size_t n)
{
    size_t found = 0;

    while (found < n && next_number(&at, &out[found]))
        found++;
    return found;
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');

    return end ? end + 1 : at + strlen(at);
}

static bool starts(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

uint64_t procfs_number(const char *text)
{
    uint64_t n;

    return next_number(&text, &n) ? n : PROCFS_NONE;
}

/* The key must be followed by a blank: "Vm" does not find "VmRSS:". */
uint64_t procfs_find(const char *text, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = text; *line; line = next_line(line))
        if (starts(line, key) && (line[len] == ' ' || line[len] == '\t'))
            /* "kB" after the number is ignored */
            return procfs_number(line + len);
    return PROCFS_NONE;
}

bool procfs_read_stat(const char *text, struct procfs_cpu *out)
{
    uint64_t v[8], cpus = 0;
    bool found = false;

    for (const char *line = text; *line; line = next_line(line)) {
        /* "cpu" without a number is the sum; user, nice, system, idle, iowait,
         * irq, softirq, steal */
        if (starts(line, "cpu ") && numbers(line + 4, v, 8) == 8) {
            *out = (struct procfs_cpu){
                v[0], v[1], v[2],        v[3],        v[4],        v[5],
                v[6], v[7], PROCFS_NONE, PROCFS_NONE, PROCFS_NONE, PROCFS_NONE};
            found = true;
        } else if (starts(line, "cpu") && isdigit((unsigned char) line[3])) {
            cpus++;
        }
    }
    if (!found)
        return false;
    /* lines "cpu0", "cpu1" ... are of processors that are online */
    out->n = cpus ? cpus : PROCFS_NONE;
    out->switches = procfs_find(text, "ctxt");
    out->running = procfs_find(text, "procs_running");
    out->blocked = procfs_find(text, "procs_blocked");
    return true;
}

/* A figure that the file gives in kB, in bytes. */
static uint64_t kilobytes(const char *text, const char *key)
{
    uint64_t kb = procfs_find(text, key), bytes;

    return kb == PROCFS_NONE || __builtin_mul_overflow(kb, 1024, &bytes)
               ? PROCFS_NONE
               : bytes;
}

void procfs_read_meminfo(const char *text, struct procfs_memory *out)
{
    *out = (struct procfs_memory){
        kilobytes(text, "MemTotal:"), kilobytes(text, "MemAvailable:"),
        kilobytes(text, "SwapTotal:"), kilobytes(text, "SwapFree:")};
}

void procfs_read_pressure(const char *text, struct procfs_pressure *out)
{
    *out = (struct procfs_pressure){PROCFS_NONE, PROCFS_NONE};
    for (const char *line = text; *line; line = next_line(line)) {
        const char *end = next_line(line);
        /* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" */
        const char *total = strstr(line, " total=");

        /* the next line's total must not be taken */
        if (!total || total >= end)
            continue;
        if (starts(line, "some "))
            out->some_us = procfs_number(total + 7);
        else if (starts(line, "full "))
            out->full_us = procfs_number(total + 7);
    }
}

/* Adds to a sum that is PROCFS_NONE until something is added. A sum that would
 * overflow stays as it was. */
static void add_to_sum(uint64_t *sum, uint64_t n)
{
    uint64_t old = *sum == PROCFS_NONE ? 0 : *sum;

    /* __builtin_add_overflow stores the wrapped sum, so restore it */
    if (n == PROCFS_NONE || __builtin_add_overflow(old, n, sum))
        *sum = old ? old : *sum;
}

static void add_both(struct procfs_traffic *sum, uint64_t in, uint64_t out)
{
    add_to_sum(&sum->in, in);
    add_to_sum(&sum->out, out);
}

/* Copies a device's name up to its end character; *at moves past that. false:
 * no such name. */
static bool take_name(const char **at, char end, char *name, size_t room)
{
    const char *c = *at;
    size_t len;

    while (*c == ' ')
        c++;
    len = strcspn(c, end == ':' ? ":\n" : " \n");
    if (len == 0 || len >= room || c[len] != end)
        return false;
    memcpy(name, c, len);
    name[len] = '\0';
    *at = c + len + 1;
    return true;
}

void procfs_read_netdev(const char *text, procfs_counts *counts, void *arg,
                        struct procfs_traffic *out)
{
    char name[64];
    uint64_t v[9];

    *out = (struct procfs_traffic){PROCFS_NONE, PROCFS_NONE};
    for (const char *line = text; *line; line = next_line(line)) {
        const char *at = line;

        /* bytes received are the first of eight figures, bytes sent the first
         * of the next eight */
        if (take_name(&at, ':', name, sizeof(name)) && numbers(at, v, 9) == 9 &&
            counts(arg, name))
            add_both(out, v[0], v[8]);
    }
}

void procfs_read_diskstats(const char *text, procfs_counts *counts, void *arg,
                           struct procfs_traffic *out)
{
    char name[64];
    uint64_t v[7], device;

    *out = (struct procfs_traffic){PROCFS_NONE, PROCFS_NONE};
    for (const char *line = text; *line; line = next_line(line)) {
        const char *at = line;

        /* major, minor, name; reads, merged, sectors, ms, writes, merged,
         * sectors */
        if (next_number(&at, &device) && next_number(&at, &device) &&
            take_name(&at, ' ', name, sizeof(name)) && numbers(at, v, 7) == 7 &&
            v[2] < UINT64_MAX / SECTOR_BYTES &&
            v[6] < UINT64_MAX / SECTOR_BYTES && counts(arg, name))
            add_both(out, v[2] * SECTOR_BYTES, v[6] * SECTOR_BYTES);
    }
}

void procfs_read_iostat(const char *text, struct procfs_traffic *out)
{
    *out = (struct procfs_traffic){PROCFS_NONE, PROCFS_NONE};
    for (const char *line = text; *line; line = next_line(line)) {
        size_t len = strcspn(line, "\n");
        char copy[512];
        const char *at;

        if (len >= sizeof(copy))
            continue;
        memcpy(copy, line, len);
        copy[len] = '\0';
        /* v2: "8:0 rbytes=1 wbytes=2 ..."; v1: "8:0 Read 1" and "8:0 Write 2",
         * a line each */
        if ((at = strstr(copy, " rbytes=")))
            add_to_sum(&out->in, procfs_number(at + 8));
        if ((at = strstr(copy, " wbytes=")))
            add_to_sum(&out->out, procfs_number(at + 8));
        if ((at = strstr(copy, " Read ")))
            add_to_sum(&out->in, procfs_number(at + 6));
        if ((at = strstr(copy, " Write ")))
            add_to_sum(&out->out, procfs_number(at + 7));
    }
}

bool procfs_read_process(const char *text, struct procfs_process *out)
{
    /* "pid (name) state ppid pgrp session tty tpgid flags minflt cminflt
     * majflt cmajflt utime stime cutime cstime priority nice threads 0 start
     * ...". The name may hold anything, so it ends at the last bracket.
     * tpgid, priority and nice may be negative, and state is a letter: they
     * become PROCFS_NONE. */
    enum {
        FIRST = 3,
        PARENT = 4,
        MINOR = 10,
        MAJOR = 12,
        USER = 14,
        SYSTEM = 15,
        THREADS = 20,
        START = 22
    };
    const char *at = text, *name_end = strrchr(text, ')');
    uint64_t pid, v[START + 1] = {0};

    if (!next_number(&at, &pid) || !name_end || name_end[1] != ' ')
        return false;
    /* field 3, the state, begins here */
    at = name_end + 2;
    for (int field = FIRST; field <= START; field++) {
        const char *number = at;

        if (!next_number(&number, &v[field]))
            v[field] = PROCFS_NONE;
        at += strcspn(at, " \n");
        if (field < START && *at++ != ' ')
            return false;
    }
    /* one field after faults, and two after times, is that of children which
     * have ended */
    *out =
        (struct procfs_process){.pid = pid,
                                .parent = v[PARENT],
                                .minor_faults = num_add(v[MINOR], v[MINOR + 1]),
                                .major_faults = num_add(v[MAJOR], v[MAJOR + 1]),
                                .user = num_add(v[USER], v[USER + 2]),
                                .system = num_add(v[SYSTEM], v[SYSTEM + 2]),
                                .threads = v[THREADS],
                                .start = v[START]};
    return v[START] != PROCFS_NONE && v[THREADS] != PROCFS_NONE;
}

bool list_has_number(const char *list, unsigned n)
{
    unsigned long from, to;
    char *end;

    if (!list || !*list)
        return true;
    for (const char *at = list; *at; at = *end ? end + 1 : end) {
        from = to = strtoul(at, &end, 10);
        if (end == at) /* no list of numbers: it says nothing about GPUs */
            return true;
        if (*end == '-')
            to = strtoul(end + 1, &end, 10);
        if (n >= from && n <= to)
            return true;
        if (*end && *end != ',')
            return true;
    }
    return false;
}

bool procfs_pids_have(const struct procfs_pids *pids, unsigned pid)
{
    for (uint32_t i = 0; i < pids->n; i++)
        if (pids->pid[i] == pid)
            return true;
    return false;
}

/* Whether the comma list has the word: "cpu,cpuacct" has "cpu". */
static bool has_word(const char *list, size_t len, const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i + n <= len; i++)
        if (memcmp(list + i, word, n) == 0 && (i == 0 || list[i - 1] == ',') &&
            (i + n == len || list[i + n] == ','))
            return true;
    return false;
}

/* Whether path, up to end, ends in a job's folder: "job_7", or since Slurm
 * 26.05 its SLUID, which is "s" and 13 digits and capitals. */
static bool is_job_folder(const char *path, const char *end)
{
    const char *slash = memrchr(path, '/', (size_t) (end - path));
    const char *name = slash ? slash + 1 : path;
    size_t len = (size_t) (end - name), i = 1;

    if (len > 4 && memcmp(name, "job_", 4) == 0)
        return true;
    while (i < len && (isdigit((unsigned char) name[i]) ||
                       isupper((unsigned char) name[i])))
        i++;
    return len == 14 && *name == 's' && i == len;
}

/* Lines are "4:memory:/slurm/uid_1/job_7/step_0/task_1" in v1, and "0::/..." in
 * v2, which has no names of controllers. */
bool procfs_cgroup_step(const char *text, const char *controller, char *out,
                        size_t room)
{
    for (const char *line = text; *line; line = next_line(line)) {
        const char *names = strchr(line, ':');
        const char *path = names ? strchr(names + 1, ':') : NULL;
        const char *end = line + strcspn(line, "\n");
        const char *step;
        size_t len;

        if (!path || path >= end)
            continue;
        path++;
        /* the names are between the two colons */
        if (*controller
                ? !has_word(names + 1, (size_t) (path - names - 2), controller)
                : names + 1 != path - 1)
            continue;
        /* the first folder of that name */
        step = strstr(path, "/step_");
        if (!step || step >= end || !is_job_folder(path, step))
            continue;
        len = (size_t) (step - path) + 1 + strcspn(step + 1, "/\n");
        /* a path that leaves the hierarchy belongs to another cgroup
         * namespace */
        if (len >= room || memmem(path, len, "/..", 3))
            return false;
        memcpy(out, path, len);
        out[len] = '\0';
        return true;
    }
    return false;
}
