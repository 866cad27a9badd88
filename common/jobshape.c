/* jobshape.c - job and node facts from Slurm's variables, /proc and /sys.
 *
 * jobshape_complete fills what Slurm's variables contain about the step;
 * jobshape_get adds the memory of a node, limits and free space. Nothing here
 * fails: a fact that cannot be read is 0.
 */
#include "common/jobshape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"

/* --- this host's memory --- */

/* The longest file that is read, in bytes; meminfo has 1.5 KiB. */
#define MAX_BYTES 16384

/* Reads a file below root into buf, cut to its size; "" if it cannot be
 * read. */
static void read_text(const char *root, const char *name, char buf[MAX_BYTES])
{
    char *path = text_format("%s/%s", root, name);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    size_t len = 0;
    ssize_t n = 1;

    while (fd >= 0 && n > 0 && len < MAX_BYTES - 1) {
        n = read(fd, buf + len, MAX_BYTES - 1 - len);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            len += (size_t) n;
    }
    if (fd >= 0)
        close(fd);
    free(path);
    buf[n < 0 ? 0 : len] = '\0';
}

/* The bytes of the line "KEY:   N kB"; 0 if it is missing or malformed. */
static uint64_t kib_line(const char *text, const char *key)
{
    size_t len = strlen(key);
    uint64_t kib = 0, bytes;
    char digits[32];

    for (const char *line = text; line; line = strchr(line, '\n')) {
        size_t n;

        line += *line == '\n';
        if (strncmp(line, key, len) != 0 || line[len] != ':')
            continue;
        line += len + 1;
        line += strspn(line, " \t");
        n = strspn(line, "0123456789");
        if (n >= sizeof(digits) || strncmp(line + n, " kB", 3) != 0)
            return 0;
        memcpy(digits, line, n);
        digits[n] = '\0';
        num_parse_u64(digits, 0, UINT64_MAX, &kib, NULL);
        return __builtin_mul_overflow(kib, 1024, &bytes) ? 0 : bytes;
    }
    return 0;
}

void nodemem_read(const char *root, struct jp_nodemem *out)
{
    char text[MAX_BYTES];

    *out = (struct jp_nodemem){0};
    read_text(root, "proc/meminfo", text);
    out->ram_bytes = kib_line(text, "MemTotal");
    out->swap_bytes = kib_line(text, "SwapTotal");
    out->commit_limit_bytes = kib_line(text, "CommitLimit");
    out->committed_bytes = kib_line(text, "Committed_AS");
    read_text(root, "proc/sys/vm/overcommit_memory", text);
    if ((text[0] == '1' || text[0] == '2') && (text[1] == '\n' || !text[1]))
        out->overcommit = (unsigned) (text[0] - '0');
    read_text(root, "sys/kernel/mm/transparent_hugepage/enabled", text);
    out->huge_pages = strstr(text, "[always]") != NULL;
}

/* --- the job --- */

#define MIB (1ULL << 20)
/* The largest number of nodes or tasks that is believed. */
#define MAX_COUNT 1000000000u

uint32_t jobshape_ranks(const struct jp_jobshape *shape)
{
    if (shape->ranks_per_node)
        return shape->ranks_per_node;
    if (!shape->ntasks)
        return 1;
    if (!shape->nnodes) /* all tasks may run on one node */
        return shape->ntasks;
    /* Rounded up, without overflow. */
    return (shape->ntasks - 1) / shape->nnodes + 1;
}

uint64_t jobshape_room(const struct jp_jobshape *shape, uint64_t min_free)
{
    if (!shape->disk_free_bytes)
        return UINT64_MAX;
    return shape->disk_free_bytes > min_free ? shape->disk_free_bytes - min_free
                                             : 0;
}

uint64_t jobshape_memory(const struct jp_jobshape *shape)
{
    if (!shape->step_memory_bytes)
        return UINT64_MAX;
    return shape->step_memory_bytes / JP_STEP_MEMORY_PARTS /
           jobshape_ranks(shape);
}

/* --- Slurm's variables ---------------------------------------------------- */

/* Reads the number at *text and moves *text past it. -1: there is none, or it
 * is zero or too large. */
static int take_count(const char **text, uint64_t *out)
{
    size_t n = strspn(*text, "0123456789");
    char digits[16];

    if (!n || n >= sizeof(digits))
        return -1;
    memcpy(digits, *text, n);
    digits[n] = '\0';
    *text += n;
    return num_parse_u64(digits, 1, MAX_COUNT, out, NULL);
}

/* The largest number of a list in Slurm's format, "2(x3),1"; 0 if it is
 * malformed. The repetitions do not matter. */
static uint64_t largest_count(const char *text)
{
    uint64_t largest = 0, n, times;

    while (text && *text) {
        if (take_count(&text, &n) < 0)
            return 0;
        if (n > largest)
            largest = n;
        if (*text == '(') {
            if (text[1] != 'x')
                return 0;
            text += 2;
            if (take_count(&text, &times) < 0 || *text++ != ')')
                return 0;
        }
        if (*text == ',' && text[1])
            text++;
        else if (*text)
            return 0;
    }
    return largest;
}

/* The largest number of the first variable that has such a list. names ends
 * with NULL. 0: none has one. */
static uint64_t first_count(const struct plan_input *in,
                            const char *const *names)
{
    uint64_t n = 0;

    for (; *names && !n; names++)
        n = largest_count(plan_env(in, *names));
    return n;
}

/* The GPUs of a node: SLURM_GPUS_ON_NODE, or the number after the last colon of
 * SLURM_GPUS_PER_NODE, "a100:4". 0: unknown. */
static uint64_t gpus(const struct plan_input *in)
{
    const char *text = plan_env(in, "SLURM_GPUS_ON_NODE");
    const char *colon;

    if (!text)
        text = plan_env(in, "SLURM_GPUS_PER_NODE");
    colon = text ? strrchr(text, ':') : NULL;
    return largest_count(colon ? colon + 1 : text);
}

/* The CPUs that were asked for each task; 0: none were. */
static uint64_t cpus_per_task(const struct plan_input *in)
{
    static const char *const task[] = {"SLURM_CPUS_PER_TASK", NULL};

    return first_count(in, task);
}

/* The CPUs of the step on a node with that many ranks; 0: unknown. */
static uint64_t cpus(const struct plan_input *in, uint32_t ranks)
{
    static const char *const job[] = {"SLURM_JOB_CPUS_PER_NODE",
                                      "SLURM_CPUS_ON_NODE", NULL};
    uint64_t per_task = cpus_per_task(in);

    return per_task ? per_task * ranks : first_count(in, job);
}

/* --- memory --------------------------------------------------------------- */

/* A memory variable of Slurm, in MiB, as bytes. False: it is not set or
 * malformed. */
static bool env_mib(const struct plan_input *in, const char *name,
                    uint64_t *bytes)
{
    uint64_t mib;

    if (num_parse_u64(plan_env(in, name), 0, UINT64_MAX / MIB, &mib, NULL) < 0)
        return false;
    *bytes = mib * MIB;
    return true;
}

/* The memory of the step on a node by Slurm's variables, and which of them. 0:
 * they do not limit it, or the step may use the whole node. */
static uint64_t slurm_memory(const struct plan_input *in, uint32_t ranks,
                             const char **from)
{
    uint64_t each, bytes;

    *from = "SLURM_MEM_PER_NODE";
    if (env_mib(in, *from, &each))
        return each;
    *from = "SLURM_MEM_PER_CPU";
    if (env_mib(in, *from, &each) &&
        !__builtin_mul_overflow(each, cpus(in, ranks), &bytes) && bytes)
        return bytes;
    *from = "SLURM_MEM_PER_GPU";
    if (env_mib(in, *from, &each) &&
        !__builtin_mul_overflow(each, gpus(in), &bytes) && bytes)
        return bytes;
    return 0;
}

/* Whether RAM and huge pages are those of the job's nodes, and the value of
 * huge pages if they are not: "always" is assumed, which costs most. */
static void fill_known(bool on_node, const struct jp_plan *plan,
                       struct jp_jobshape *out)
{
    const char *huge_pages = plan ? plan_site(plan, "nccl.node_huge_pages")
                                  : NULL;

    out->ram_known = on_node || (plan && plan->node_memory_bytes);
    out->huge_pages_known = on_node || huge_pages;
    if (huge_pages)
        out->node.huge_pages = *huge_pages == '1';
    else if (!on_node)
        out->node.huge_pages = true;
}

/* The memory of the step: from Slurm, else the site's smallest node, else this
 * host. */
static void fill_memory(const struct jp_stepsize *size,
                        const struct jp_plan *plan, struct jp_jobshape *out)
{
    uint64_t site = plan ? plan->node_memory_bytes : 0;
    const char *from = size->memory_from;

    if (site)
        out->node.ram_bytes = site;
    out->step_memory_bytes = size->memory_bytes;
    if (!out->step_memory_bytes) {
        out->step_memory_bytes = out->node.ram_bytes;
        from = site ? plan_site_value(plan, "nccl", "node_memory")->where
                    : "RAM of this host";
    }
    if (out->step_memory_bytes)
        quote_shorten(from, out->memory_from, sizeof(out->memory_from));
}

/* --- limits --------------------------------------------------------------- */

/* The limit of a process's address space (ulimit -v); 0: none. */
static uint64_t address_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    return limit.rlim_cur;
}

/* The free space for us on the file system of the nearest existing parent of
 * dir; 0: unknown. A full file system has 1 byte, because 0 means unknown. */
static uint64_t disk_free(const char *dir)
{
    char *path = dir ? strdup(dir) : NULL, *slash;
    struct statvfs st;
    uint64_t bytes = 0;
    int rc = -1;

    while (path && *path && (rc = statvfs(path, &st)) < 0 &&
           (slash = strrchr(path, '/')))
        slash[slash == path && slash[1]] = '\0';
    if (rc == 0 &&
        __builtin_mul_overflow((uint64_t) st.f_bavail, st.f_frsize, &bytes))
        bytes = UINT64_MAX;
    free(path);
    return rc == 0 && !bytes ? 1 : bytes;
}

/* --- all ------------------------------------------------------------------ */

/* Fills nodes, tasks and ranks per node, except for values that are given. */
static void complete_counts(const struct plan_input *in,
                            struct jp_stepsize *size)
{
    static const char *const ranks[] = {"SLURM_STEP_TASKS_PER_NODE",
                                        "SLURM_TASKS_PER_NODE",
                                        "SLURM_NTASKS_PER_NODE", NULL};
    static const char *const nodes[] = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES",
                                        NULL};
    static const char *const tasks[] = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
                                        NULL};

    if (!size->nnodes)
        size->nnodes = (uint32_t) first_count(in, nodes);
    if (!size->ntasks)
        size->ntasks = (uint32_t) first_count(in, tasks);
    if (!size->ranks_per_node && !size->imagined)
        size->ranks_per_node = (uint32_t) first_count(in, ranks);
    if (!size->cpus_per_task && !size->imagined)
        size->cpus_per_task = (uint32_t) cpus_per_task(in);
    /* The list may be that of the job, of which the step uses only a part. */
    if (size->ntasks && size->ranks_per_node > size->ntasks)
        size->ranks_per_node = size->ntasks;
}

/* The counts of a step as a shape without memory. */
static struct jp_jobshape shape_of(const struct jp_stepsize *size)
{
    return (struct jp_jobshape){.nnodes = size->nnodes,
                                .ntasks = size->ntasks,
                                .ranks_per_node = size->ranks_per_node,
                                .cpus_per_task = size->cpus_per_task};
}

void jobshape_complete(const struct plan_input *in, struct jp_stepsize *size)
{
    struct jp_jobshape shape;

    complete_counts(in, size);
    shape = shape_of(size);
    /* After the counts, because memory per CPU depends on the ranks. */
    if (!size->memory_bytes)
        size->memory_bytes =
            slurm_memory(in, jobshape_ranks(&shape), &size->memory_from);
    /* Slurm sets it for tasks and batch scripts, so this host is one of the
     * job's. A login node does not have it. */
    size->on_node = plan_env(in, "SLURM_TASK_PID") != NULL;
}

void jobshape_get(const struct jp_stepsize *size, const struct jp_plan *plan,
                  const char *root, const char *dir, struct jp_jobshape *out)
{
    *out = shape_of(size);
    nodemem_read(root, &out->node);
    fill_known(size->on_node, plan, out);
    fill_memory(size, plan, out);
    out->address_limit_bytes = address_limit();
    out->disk_free_bytes = disk_free(dir);
}
