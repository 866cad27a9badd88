/* test_util_probe.c - samples of a machine that is a folder: node, tasks,
 * cgroups, ports. */
#include "plugins/util/util_probe.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "tests/common/tempdir.h"

#define ROWS 32

struct sample {
    size_t n;
    enum util_kind kind[ROWS];
    struct util_row row[ROWS];
};

static int keep(void *arg, enum util_kind kind, const struct util_row *row,
                struct jp_error *err)
{
    struct sample *s = arg;

    (void) err;
    assert_true(s->n < ROWS);
    s->kind[s->n] = kind;
    s->row[s->n++] = *row;
    return 0;
}

static const struct util_row *find(const struct sample *s, enum util_kind kind,
                                   const char *id)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->kind[i] == kind && strcmp(s->row[i].id, id) == 0)
            return &s->row[i];
    return NULL;
}

/* Writes <root>/<path>; its folders are made. */
static void put(const char *root, const char *text, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void put_bytes(const char *root, const char *text, size_t len,
                      const char *name)
{
    char *path = tempdir_path(root, name), *slash = strrchr(path, '/');
    FILE *f;

    *slash = '\0';
    assert_int_equal(fileio_mkdirs(path, NULL), 0);
    *slash = '/';
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
    free(path);
}

static void put(const char *root, const char *text, const char *fmt, ...)
{
    char name[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(name, sizeof(name), fmt, args);
    va_end(args);
    put_bytes(root, text, strlen(text), name);
}

static void put_process(const char *root, unsigned pid, unsigned rank,
                        unsigned user, unsigned read)
{
    char text[512], name[64];
    int n;

    snprintf(text, sizeof(text),
             "%u (python3) S 1 1 1 0 -1 0 10 0 2 0 %u 5 0 0 20 0 4 0 100 0 0\n",
             pid, user);
    put(root, text, "proc/%u/stat", pid);
    snprintf(text, sizeof(text),
             "rchar: %u\nwchar: 0\nread_bytes: %u\nwrite_bytes: 0\n", read * 2,
             read);
    put(root, text, "proc/%u/io", pid);
    tempdir_status(root, pid, getuid(),
                   "VmHWM:\t 300 kB\nVmRSS:\t 200 kB\n"
                   "Cpus_allowed_list:\t0-3\n");
    n = snprintf(text, sizeof(text),
                 "SLURM_JOB_ID=7%cSLURM_STEP_ID=0%cSLURM_PROCID=%u%c", 0, 0,
                 rank, 0);
    snprintf(name, sizeof(name), "proc/%u/environ", pid);
    put_bytes(root, text, (size_t) n, name);
}

static void put_node(const char *root, unsigned user, unsigned long long bytes)
{
    char text[256];

    snprintf(text, sizeof(text),
             "cpu  %u 0 0 1000 0 0 0 0 0 0\ncpu0 1 0 0 0 0 0 0 0\n", user);
    put(root, text, "proc/stat");
    put(root, "MemTotal: 1000 kB\nMemAvailable: 250 kB\n", "proc/meminfo");
    snprintf(text, sizeof(text),
             "lo: 9 0 0 0 0 0 0 0 9\neth0: %llu 0 0 0 0 0 0 0 0\n", bytes);
    put(root, text, "proc/net/dev");
}

static struct sample take(struct util_probe *probe, uint64_t s)
{
    struct sample sample = {0};

    assert_int_equal(util_probe_take(probe, s * 1000000, s * 1000000, s * 1000,
                                     keep, &sample, NULL),
                     0);
    return sample;
}

static struct util_probe *start(const char *root)
{
    const struct util_step step = {root, 7, "0", "n1", getuid()};
    struct util_probe *probe = util_probe_create(&step);

    assert_non_null(probe);
    return probe;
}

static void node_and_tasks(void **state)
{
    static struct procfs_pids pids;
    struct util_probe *probe;
    struct sample s;
    const struct util_row *row;
    double hz = (double) sysconf(_SC_CLK_TCK);

    put_node(*state, 100, 1000);
    put_process(*state, 10, 0, 0, 0);
    put_process(*state, 11, 1, 0, 0);
    put_process(*state, 12, 1, 0, 0);
    put(*state, "SLURM_JOB_ID=8", "proc/13/environ");
    put_process(*state, 15, 5, 0, 0); /* a helper of jobprof for a task */
    put(*state, "jobprof-node\n", "proc/15/comm");
    put_process(*state, 14, 4, 0,
                0); /* belongs to another slurmd of this host */
    put_bytes(*state,
              "SLURM_JOB_ID=7\0SLURM_STEP_ID=0\0SLURM_PROCID=4\0"
              "SLURMD_NODENAME=n2",
              65, "proc/14/environ");
    probe = start(*state);
    s = take(probe, 1);
    row = find(&s, UTIL_NODE, "node");
    assert_non_null(row);
    assert_true(isnan(row->v[NODE_USER])); /* rates need two */
    assert_true(row->v[NODE_MEMORY_USED] == 750 * 1024.0);
    assert_null(find(&s, UTIL_TASK, "13"));

    put_node(*state, 300, 5000);
    put_process(*state, 11, 1, 100, 4096);
    put_process(*state, 12, 1, 50, 0);
    tempdir_status(*state, 12, getuid(),
                   "VmRSS:\t 200 kB\nCpus_allowed_list:\t0-3\n"
                   "voluntary_ctxt_switches:\t90\n"
                   "nonvoluntary_ctxt_switches:\t60\n");
    s = take(probe, 3);
    row = find(&s, UTIL_NODE, "node");
    assert_true(fabs(row->v[NODE_USER] - 200 / hz / 2) < 1e-9);
    assert_true(row->v[NODE_NET_IN] == 2000); /* over 2 s, without loopback */
    assert_true(fabs(row->v[NODE_AGENT] - 0.001) < 1e-9);
    row = find(&s, UTIL_TASK, "1");
    assert_non_null(row);
    assert_true(row->v[TASK_PROCESSES] == 2 && row->v[TASK_THREADS] == 8);
    assert_true(fabs(row->v[TASK_USER] - 150 / hz / 2) < 1e-9);
    assert_true(row->v[TASK_READ] == 2048 && row->v[TASK_READ_CALLS] == 4096);
    assert_true(row->v[TASK_MEMORY] == 400 * 1024.0);
    assert_true(row->v[TASK_CPUS] == 4);
    /* of one process of two: the sum is not known */
    assert_true(isnan(row->v[TASK_SWITCHES]) && isnan(row->v[TASK_CPU_WAIT]));
    /* no cgroup: the sum of the tasks, but each processor once */
    row = find(&s, UTIL_TASK, "step");
    assert_true(row->v[TASK_PROCESSES] == 3 && row->v[TASK_CPUS] == 4);
    assert_true(fabs(row->v[TASK_USER] - 150 / hz / 2) < 1e-9);
    assert_int_equal(util_probe_seen(probe, &pids), 2);
    assert_int_equal(pids.n, 3);
    util_probe_destroy(probe);
}

/* A process with the step's environment that is another user's, in one of its
 * uids, is not the step's. */
static void of_others(void **state)
{
    struct util_probe *probe;
    unsigned uid = getuid();
    struct sample s;
    char text[256];

    put_node(*state, 1, 1);
    put_process(*state, 10, 0, 0, 0);
    put_process(*state, 11, 1, 0, 0);
    snprintf(text, sizeof(text), "Name:\tx\nUid:\t%u\t%u\t%u\t%u\n", uid,
             uid + 1, uid, uid);
    put(*state, text, "proc/11/status");
    probe = start(*state);
    s = take(probe, 1);
    assert_non_null(find(&s, UTIL_TASK, "0"));
    assert_null(find(&s, UTIL_TASK, "1"));
    util_probe_destroy(probe);
}

/* Waiting for a processor, which not all kernels report. */
static void waits_for_processors(void **state)
{
    struct util_probe *probe;
    struct sample s;
    const struct util_row *row;

    put_node(*state, 1, 1);
    put_process(*state, 10, 0, 0, 0);
    put_process(*state, 11, 0, 0, 0);
    put(*state, "5 1000000000 9\n", "proc/10/schedstat");
    put(*state, "5 0 9\n", "proc/11/schedstat");
    tempdir_status(*state, 10, getuid(), "nonvoluntary_ctxt_switches:\t60\n");
    tempdir_status(*state, 11, getuid(), "nonvoluntary_ctxt_switches:\t0\n");
    probe = start(*state);
    take(probe, 1);
    put(*state, "5 1500000000 9\n", "proc/10/schedstat");
    tempdir_status(*state, 10, getuid(), "nonvoluntary_ctxt_switches:\t80\n");
    s = take(probe, 3);
    row = find(&s, UTIL_TASK, "0");
    assert_true(fabs(row->v[TASK_CPU_WAIT] - 0.25) < 1e-9);
    assert_true(row->v[TASK_SWITCHES] == 10);
    row = find(&s, UTIL_TASK, "step");
    assert_true(isnan(row->v[TASK_CPU_WAIT]) && row->v[TASK_SWITCHES] == 10);
    put(*state, "5 5500000000 9\n", "proc/10/schedstat");
    put(*state, "5 4000000000 9\n", "proc/11/schedstat");
    s = take(probe, 7);
    assert_true(find(&s, UTIL_TASK, "0")->v[TASK_CPU_WAIT] == 1);
    put(*state, "x\n", "proc/11/schedstat");
    s = take(probe, 8);
    assert_true(isnan(find(&s, UTIL_TASK, "0")->v[TASK_CPU_WAIT]));
    util_probe_destroy(probe);
}

static unsigned count_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* A worker has the environment of its launcher's task, and its own number. */
static void put_worker(const char *root, unsigned pid, unsigned rank,
                       unsigned number, unsigned user)
{
    char text[256], name[64];
    int n = snprintf(text, sizeof(text),
                     "SLURM_JOB_ID=7%cSLURM_STEP_ID=0%cSLURM_PROCID=%u%c"
                     "RANK=%u%c",
                     0, 0, rank, 0, number, 0);

    put_process(root, pid, rank, user, 0);
    snprintf(name, sizeof(name), "proc/%u/environ", pid);
    put_bytes(root, text, (size_t) n, name);
}

/* The workers of a launcher are members of their own, with their children; the
 * launcher is none beside them. One worker alone is its task. */
static void workers_of_a_launcher(void **state)
{
    double hz = (double) sysconf(_SC_CLK_TCK);
    struct util_probe *probe;
    struct sample s;

    put_node(*state, 1, 1);
    put_process(*state, 10, 0, 0, 0); /* the launcher */
    put_worker(*state, 11, 0, 4, 0);
    put_worker(*state, 12, 0, 5, 0);
    put_worker(*state, 13, 0, 5, 0); /* a child of the second one */
    put_process(*state, 20, 1, 0, 0);
    put_worker(*state, 21, 1, 6, 0);
    put_process(*state, 30, 2, 0, 0); /* a task that is no launcher */
    probe = start(*state);
    take(probe, 1);
    put_process(*state, 10, 0, 1, 0);
    put_worker(*state, 11, 0, 4, 10);
    put_worker(*state, 12, 0, 5, 20);
    put_worker(*state, 13, 0, 5, 40);
    put_worker(*state, 21, 1, 6, 7);
    put_process(*state, 30, 2, 3, 0);
    s = take(probe, 2);
    assert_null(find(&s, UTIL_TASK, "0"));
    assert_true(fabs(find(&s, UTIL_TASK, "0/4")->v[TASK_USER] - 10 / hz) <
                1e-9);
    assert_true(fabs(find(&s, UTIL_TASK, "0/5")->v[TASK_USER] - 60 / hz) <
                1e-9);
    assert_true(fabs(find(&s, UTIL_TASK, "1")->v[TASK_USER] - 7 / hz) < 1e-9);
    assert_true(fabs(find(&s, UTIL_TASK, "2")->v[TASK_USER] - 3 / hz) < 1e-9);
    assert_true(fabs(find(&s, UTIL_TASK, "step")->v[TASK_USER] - 81 / hz) <
                1e-9);
    util_probe_destroy(probe);
}

/* A large step: tasks take turns, and nothing is lost by that. */
static void by_turns(void **state)
{
    enum { TASKS = 10, EACH = 15, SAMPLES = 9 };
    double hz = (double) sysconf(_SC_CLK_TCK), read = 0;
    unsigned had = count_open(), slow = 0;
    struct util_probe *probe;
    struct sample s;

    put_node(*state, 1, 1);
    for (unsigned i = 0; i < TASKS * EACH; i++)
        put_process(*state, 100 + i, i % TASKS, 0, 0);
    probe = start(*state);
    take(probe, 1);
    for (unsigned k = 1; k <= SAMPLES; k++) {
        for (unsigned i = 0; i < TASKS * EACH; i++)
            put_process(*state, 100 + i, i % TASKS, k * 10, k * 1000);
        s = take(probe, 1 + k);
        for (unsigned i = 0; i < TASKS; i++) {
            char id[8];
            const struct util_row *row;

            snprintf(id, sizeof(id), "%u", i);
            row = find(&s, UTIL_TASK, id);
            assert_non_null(row);
            /* a mean since the last turn: of one second */
            assert_true(isnan(row->v[TASK_USER]) ||
                        fabs(row->v[TASK_USER] - EACH * 10 / hz) < 1e-9);
            assert_int_equal(isnan(row->v[TASK_USER]),
                             isnan(row->v[TASK_READ]));
            assert_true(row->v[TASK_MEMORY] == EACH * 200 * 1024.0);
            assert_true(row->v[TASK_CPUS] == 4);
            if (i == 0 && !isnan(row->v[TASK_READ]))
                read += row->v[TASK_READ]; /* of one second */
            slow += isnan(row->v[TASK_READ]);
        }
    }
    /* a rate needs two turns: tasks 0, 3, 6, 9 had their second turn at sample
     * 3, and 2, 5, 8 at sample 2 */
    assert_int_equal(slow, 4 * 2 + 3 * 1);
    assert_true(fabs(read - EACH * 1000.0 * (SAMPLES - 2)) < 1e-6);
    assert_true(count_open() > had);
    /* all have ended: no row, whoever's turn it is */
    for (unsigned i = 0; i < TASKS * EACH; i++) {
        char path[4200];

        put(*state, "", "proc/%u/stat", 100 + i);
        snprintf(path, sizeof(path), "%s/proc/%u/stat", (char *) *state,
                 100 + i);
        assert_int_equal(unlink(path), 0);
    }
    s = take(probe, 2 + SAMPLES);
    for (unsigned i = 0; i < TASKS; i++) {
        char id[8];

        snprintf(id, sizeof(id), "%u", i);
        assert_null(find(&s, UTIL_TASK, id));
    }
    util_probe_destroy(probe);
    assert_int_equal(count_open(), had);
}

/* A large step looks for new processes rarely. What a new task did before it
 * was found is a mean of that time, and not of one sample. */
static void a_task_that_is_found_late(void **state)
{
    enum { OLD = 200, NEW = 900, SAMPLES = 40, JOINS = 12 };
    double hz = (double) sysconf(_SC_CLK_TCK);
    struct util_probe *probe;
    unsigned found = 0, unseen = 0;

    put_node(*state, 1, 1);
    for (unsigned i = 0; i < OLD; i++)
        put_process(*state, 100 + i, i % 10, 0, 0);
    probe = start(*state);
    for (unsigned k = 1; k <= SAMPLES; k++) {
        const struct util_row *row;
        struct sample s;

        if (k >= JOINS)
            put_process(*state, NEW, NEW, (k - JOINS) * 10, 0);
        s = take(probe, k);
        row = find(&s, UTIL_TASK, "900");
        unseen += k >= JOINS && !row;
        found += row != NULL;
        if (row)
            assert_true(row->v[TASK_USER] <= 10 / hz + 1e-9);
    }
    assert_true(unseen > 0 && found > 0);
    util_probe_destroy(probe);
}

/* A process is examined before it executes the task's program: it is found
 * afterwards. A process that never belongs to the task is not examined for
 * ever. */
static void seen_before_exec(void **state)
{
    struct util_probe *probe;
    struct sample s = {0};

    put_node(*state, 1000, 1000);
    put_process(*state, 10, 0, 100, 1000);
    put_process(*state, 41, 3, 100, 1000);
    put(*state, "SHELL=/bin/sh", "proc/41/environ");
    put_process(*state, 42, 4, 100, 1000);
    put(*state, "SHELL=/bin/sh", "proc/42/environ");
    probe = start(*state);
    for (unsigned i = 1; i <= 30; i++) {
        if (i == 3)
            put_process(*state, 41, 3, 100, 1000);
        if (i == 20)
            put_process(*state, 42, 4, 100, 1000);
        s = take(probe, i);
    }
    assert_non_null(find(&s, UTIL_TASK, "3"));
    assert_null(find(&s, UTIL_TASK, "4"));
    util_probe_destroy(probe);
}

/* A counter that goes backwards makes a gap; so does a process number that was
 * reused. */
static void no_spikes(void **state)
{
    struct util_probe *probe;
    struct sample s;
    const struct util_row *row;

    put_node(*state, 1000, 1000000);
    put_process(*state, 10, 0, 500, 0);
    probe = start(*state);
    take(probe, 1);
    put_node(*state, 10, 5);
    put_process(*state, 10, 0, 3, 0);
    s = take(probe, 2);
    row = find(&s, UTIL_NODE, "node");
    assert_true(isnan(row->v[NODE_USER]) && isnan(row->v[NODE_NET_IN]));
    assert_true(isnan(find(&s, UTIL_TASK, "0")->v[TASK_USER]));
    put_node(*state, 20, 10);
    s = take(probe, 3);
    assert_true(find(&s, UTIL_NODE, "node")->v[NODE_NET_IN] == 5);
    put(*state, "10 (other) S 1 1 1 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 9999 0 0\n",
        "proc/10/stat");
    s = take(probe, 4);
    assert_null(find(&s, UTIL_TASK, "0"));
    util_probe_destroy(probe);
}

static void cgroup_of_v2(void **state)
{
    static const char place[] =
        "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/step_0";
    struct util_probe *probe;
    struct sample s;
    const struct util_row *row;

    put_node(*state, 1, 1);
    put_process(*state, 10, 0, 0, 0);
    put(*state, "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n",
        "proc/10/cgroup");
    put(*state, "usage_usec 3\nuser_usec 0\nsystem_usec 0\nthrottled_usec 0\n",
        "%s/cpu.stat", place);
    put(*state, "5000\n", "%s/memory.current", place);
    put(*state, "max\n", "%s/memory.max", place);
    put(*state, "some avg10=0 total=0\n", "%s/cpu.pressure", place);
    probe = start(*state);
    take(probe, 1);
    put(*state,
        "user_usec 1500000\nsystem_usec 250000\nthrottled_usec 100000\n",
        "%s/cpu.stat", place);
    put(*state, "8:0 rbytes=0 wbytes=0\n", "%s/io.stat", place);
    put(*state, "some avg10=0 total=250000\n", "%s/cpu.pressure", place);
    s = take(probe, 2);
    row = find(&s, UTIL_TASK, "step");
    assert_true(fabs(row->v[TASK_USER] - 1.5) < 1e-9);
    assert_true(fabs(row->v[TASK_SYSTEM] - 0.25) < 1e-9);
    assert_true(fabs(row->v[TASK_THROTTLED] - 0.1) < 1e-9);
    assert_true(row->v[TASK_MEMORY] == 5000);
    assert_true(isnan(row->v[TASK_MEMORY_LIMIT]));
    assert_true(fabs(row->v[TASK_CPU_PRESSURE] - 0.25) < 1e-9);
    util_probe_destroy(probe);
}

static void cgroup_of_v1(void **state)
{
    struct util_probe *probe;
    struct sample s;
    const struct util_row *row;
    char text[64];

    put_node(*state, 1, 1);
    /* processes of the step outside of its cgroup, whoever is found first */
    put_process(*state, 9, 0, 0, 0);
    put(*state, "4:cpu,cpuacct:/\n5:memory:/\n", "proc/9/cgroup");
    put_process(*state, 11, 0, 0, 0);
    put(*state, "4:cpu,cpuacct:/\n5:memory:/\n", "proc/11/cgroup");
    put_process(*state, 10, 0, 0, 0);
    put(*state,
        "4:cpu,cpuacct:/slurm/uid_0/job_7/step_0/task_0\n"
        "5:memory:/slurm/uid_0/job_7/step_0/task_0\n",
        "proc/10/cgroup");
    put(*state, "user 0\nsystem 0\n",
        "sys/fs/cgroup/cpuacct/slurm/uid_0/job_7/step_0/cpuacct.stat");
    put(*state, "7000\n",
        "sys/fs/cgroup/memory/slurm/uid_0/job_7/step_0/memory.usage_in_bytes");
    put(*state, "nr_throttled 0\nthrottled_time 100000000\n",
        "sys/fs/cgroup/cpu/slurm/uid_0/job_7/step_0/cpu.stat");
    put(*state, "9223372036854771712\n",
        "sys/fs/cgroup/memory/slurm/uid_0/job_7/step_0/memory.limit_in_bytes");
    probe = start(*state);
    take(probe, 1);
    snprintf(text, sizeof(text), "user %ld\nsystem 0\n",
             3 * sysconf(_SC_CLK_TCK));
    put(*state, text,
        "sys/fs/cgroup/cpuacct/slurm/uid_0/job_7/step_0/cpuacct.stat");
    put(*state, "nr_throttled 3\nthrottled_time 350000000\n",
        "sys/fs/cgroup/cpu/slurm/uid_0/job_7/step_0/cpu.stat");
    s = take(probe, 2);
    row = find(&s, UTIL_TASK, "step");
    assert_true(fabs(row->v[TASK_USER] - 3) < 1e-9);
    assert_true(fabs(row->v[TASK_THROTTLED] - 0.25) < 1e-9);
    assert_true(row->v[TASK_MEMORY] == 7000);
    assert_true(isnan(row->v[TASK_MEMORY_LIMIT])); /* none that is one */
    util_probe_destroy(probe);
}

static void ports(void **state)
{
    static const char place[] = "sys/class/infiniband/mlx5_0/ports/1";
    struct util_probe *probe;
    struct sample s;
    const struct util_row *row;

    put_node(*state, 1, 1);
    put(*state, "200 Gb/sec (4X HDR)\n", "%s/rate", place);
    put(*state, "4: ACTIVE\n", "%s/state", place);
    put(*state, "1000\n", "%s/counters/port_rcv_data", place);
    put(*state, "1\n", "%s/counters/symbol_error", place);
    put(*state, "1\n", "sys/class/infiniband/a,b/ports/1/rate");
    probe = start(*state);
    take(probe, 1);
    put(*state, "3000\n", "%s/counters/port_rcv_data", place);
    put(*state, "5\n", "%s/counters/symbol_error", place);
    put(*state, "1: DOWN\n", "%s/state", place);
    s = take(probe, 2);
    row = find(&s, UTIL_PORT, "mlx5_0/1");
    assert_non_null(row);
    assert_true(row->v[PORT_IN] == 8000 && row->v[PORT_RATE] == 25e9);
    assert_true(row->v[PORT_ERRORS] == 4 && row->v[PORT_UP] == 0);
    assert_true(isnan(row->v[PORT_OUT]));
    assert_null(find(&s, UTIL_PORT, "a,b/1"));
    util_probe_destroy(probe);
}

/* A kernel without any of these files. */
static void nothing_there(void **state)
{
    struct util_probe *probe = start(*state);
    struct sample s;

    take(probe, 1);
    s = take(probe, 2);
    assert_int_equal(s.n, 2); /* node and step */
    for (size_t c = 0; c < NODE_COLUMNS; c++)
        assert_true(c == NODE_AGENT || isnan(s.row[0].v[c]));
    util_probe_destroy(probe);
}

int main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, tempdir_make, tempdir_drop)
    const struct CMUnitTest tests[] = {TEST(node_and_tasks),
                                       TEST(of_others),
                                       TEST(waits_for_processors),
                                       TEST(seen_before_exec),
                                       TEST(by_turns),
                                       TEST(a_task_that_is_found_late),
                                       TEST(no_spikes),
                                       TEST(workers_of_a_launcher),
                                       TEST(cgroup_of_v2),
                                       TEST(cgroup_of_v1),
                                       TEST(ports),
                                       TEST(nothing_there)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
