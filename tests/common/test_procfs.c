/* test_procfs.c - the kernel's texts: good, cut and strange ones. */
#include "common/procfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void stat_of_processors(void **state)
{
    static const char text[] =
        "cpu  100 20 30 4000 50 6 7 8 9 10\ncpu0 50 10 15 2000 25 3 3 4 4 5\n"
        "cpu1 50 10 15 2000 25 3 4 4 5 5\nintr 12 0\nctxt 77\n"
        "procs_running 3\nprocs_blocked 1\n";
    struct procfs_cpu cpu;

    (void) state;
    assert_true(procfs_read_stat(text, &cpu));
    assert_int_equal(cpu.user, 100);
    assert_int_equal(cpu.nice, 20);
    assert_int_equal(cpu.idle, 4000);
    assert_int_equal(cpu.iowait, 50);
    assert_int_equal(cpu.steal, 8);
    assert_int_equal(cpu.n, 2);
    assert_int_equal(cpu.switches, 77);
    assert_int_equal(cpu.running, 3);
    assert_false(procfs_read_stat("", &cpu));
    assert_false(procfs_read_stat("cpu  1 2 3\n", &cpu));
    assert_false(procfs_read_stat("cpu  1 2 3 4 5 6 7 x\n", &cpu));
    assert_false(
        procfs_read_stat("cpu  99999999999999999999999 2 3 4 5 6 7 8\n", &cpu));
}

static void memory(void **state)
{
    struct procfs_memory m;

    (void) state;
    procfs_read_meminfo("MemTotal:  1000 kB\nMemFree: 5 kB\n"
                        "MemAvailable:   400 kB\nSwapTotal: 10 kB\n",
                        &m);
    assert_int_equal(m.total, 1024000);
    assert_int_equal(m.available, 409600);
    assert_int_equal(m.swap_total, 10240);
    assert_true(m.swap_free == PROCFS_NONE);
    procfs_read_meminfo("MemTotal: 18446744073709551615 kB\n", &m);
    assert_true(m.total == PROCFS_NONE);
}

static void pressure(void **state)
{
    struct procfs_pressure p;

    (void) state;
    procfs_read_pressure("some avg10=1.00 avg60=0.5 avg300=0.1 total=123456\n"
                         "full avg10=0.00 avg60=0.0 avg300=0.0 total=99\n",
                         &p);
    assert_int_equal(p.some_us, 123456);
    assert_int_equal(p.full_us, 99);
    procfs_read_pressure("some avg10=1.00\nfull total", &p);
    assert_true(p.some_us == PROCFS_NONE && p.full_us == PROCFS_NONE);
}

static bool not_lo(void *arg, const char *device)
{
    (void) arg;
    return strcmp(device, "lo") != 0;
}

static void traffic(void **state)
{
    static const char net[] = "Inter-|   Receive\n face |bytes packets\n"
                              "    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n"
                              "  eth0: 100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
                              "  eth1:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
                              "  bad0: 1 2\n";
    static const char disks[] =
        "   8       0 sda 10 0 2 5 20 0 4 5 0 0 0\n"
        "   8       1 lo 10 0 1000 5 20 0 1000 5 0 0 0\n   8 2 sdb 1\n";
    struct procfs_traffic t;

    (void) state;
    procfs_read_netdev(net, not_lo, NULL, &t);
    assert_int_equal(t.in, 1100);
    assert_int_equal(t.out, 2200);
    procfs_read_netdev("lo: 1 1 1 1 1 1 1 1 1\n", not_lo, NULL, &t);
    assert_true(t.in == PROCFS_NONE);
    procfs_read_diskstats(disks, not_lo, NULL, &t);
    assert_int_equal(t.in, 1024);
    assert_int_equal(t.out, 2048);
    procfs_read_iostat("8:0 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=0\n"
                       "8:16 rbytes=1 wbytes=2 rios=1\n",
                       &t);
    assert_int_equal(t.in, 11);
    assert_int_equal(t.out, 22);
    procfs_read_iostat("8:0 Read 4096\n8:0 Write 512\n8:0 Sync 0\nTotal 4608\n",
                       &t);
    assert_int_equal(t.in, 4096);
    assert_int_equal(t.out, 512);
}

/* A program may call itself ") R 1 1". */
static void processes(void **state)
{
    static const char text[] = "42 (a ) R 1 1 (x) S 7 42 42 0 -1 4194560 "
                               "100 11 3 4 50 60 7 8 20 0 9 0 12345 0 0\n";
    struct procfs_process p;

    (void) state;
    assert_true(procfs_read_process(text, &p));
    assert_int_equal(p.pid, 42);
    assert_int_equal(p.parent, 7);
    assert_int_equal(p.minor_faults, 111);
    assert_int_equal(p.major_faults, 7);
    assert_int_equal(p.user, 57);
    assert_int_equal(p.system, 68);
    assert_int_equal(p.threads, 9);
    assert_int_equal(p.start, 12345);
    for (size_t len = 0; len < sizeof(text) - 12; len++) {
        char cut[sizeof(text)] = "";

        memcpy(cut, text, len);
        if (procfs_read_process(cut, &p)) /* "1234" is a number as well */
            assert_true(len > 90);
    }
}

static void cgroups(void **state)
{
    static const char v2[] = "0::/system.slice/n1_slurmstepd.scope/job_7/"
                             "step_0/user/task_3\n";
    static const char v1[] =
        "9:memory:/slurm/uid_0/job_7/step_0/task_0\n"
        "4:cpu,cpuacct:/slurm/uid_0/job_7/step_0\n1:name=systemd:/init\n";
    /* Slurm 26.05 */
    static const char sluid[] = "0::/system.slice/slurmstepd.scope/"
                                "s9FV1CPG8ZA800/step_batch/user/task_0\n";
    /* folders that are not Slurm's */
    static const char *const others[] = {
        "0::/user.slice\n",
        "0::/user.slice/step_0\n",
        "0::/job_7/x/step_0\n",
        "0::/s9FV1CPG8ZA80/step_0\n",
        "0::/s9FV1CPG8ZA80_/step_0\n",
        "0::/S9FV1CPG8ZA800/step_0\n",
        "0::/step_0\n",
        "0::/user.slice\n1:cpu:/job_7/step_0\n",
    };
    char path[256], small[8];

    (void) state;
    assert_true(procfs_cgroup_step(v2, "", path, sizeof(path)));
    assert_string_equal(path, "/system.slice/n1_slurmstepd.scope/job_7/step_0");
    assert_false(procfs_cgroup_step(v2, "cpuacct", path, sizeof(path)));
    assert_true(procfs_cgroup_step(v1, "cpuacct", path, sizeof(path)));
    assert_string_equal(path, "/slurm/uid_0/job_7/step_0");
    assert_true(procfs_cgroup_step(v1, "memory", path, sizeof(path)));
    assert_false(procfs_cgroup_step(v1, "acct", path, sizeof(path)));
    assert_false(procfs_cgroup_step(v1, "", path, sizeof(path)));
    assert_false(procfs_cgroup_step(v2, "", small, sizeof(small)));
    assert_false(
        procfs_cgroup_step("0::/job_1/../x/step_0\n", "", path, sizeof(path)));
    assert_true(procfs_cgroup_step(sluid, "", path, sizeof(path)));
    assert_string_equal(
        path, "/system.slice/slurmstepd.scope/s9FV1CPG8ZA800/step_batch");
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_false(procfs_cgroup_step(others[i], "", path, sizeof(path)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_of_processors), cmocka_unit_test(memory),
        cmocka_unit_test(pressure),           cmocka_unit_test(traffic),
        cmocka_unit_test(processes),          cmocka_unit_test(cgroups)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
