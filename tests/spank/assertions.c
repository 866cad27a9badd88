/* assertions.c - assertions that the module's tests share, and the course of a
 * step. */
#include <stdlib.h>
#include <string.h>

#include "tests/spank/fakehost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no \"%s\" in \"%s\"", part, text);
}

void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in \"%s\"", part, text);
}

void assert_ran(const char *run, const char *lines)
{
    char *text = host_read(run);

    if (!*text)
        fail_msg("%s did not run", run);
    assert_has(text, lines);
    free(text);
}

void assert_ran_without(const char *run, const char *part)
{
    char *text = host_read(run);

    if (!*text)
        fail_msg("%s did not run", run);
    assert_has_not(text, part);
    free(text);
}

void assert_env(const char *name, const char *want)
{
    if (want)
        assert_string_equal(getenv(name) ? getenv(name) : "(unset)", want);
    else
        assert_null(getenv(name));
}

void assert_job(const char *name, const char *want)
{
    if (want)
        assert_string_equal(host_getenv(name) ? host_getenv(name) : "(unset)",
                            want);
    else
        assert_null(host_getenv(name));
}

/* Begins a step that srun profiles into /x/step-0: init and options in
 * slurmstepd. */
void host_remote_init(void)
{
    host.context = S_CTX_REMOTE;
    host_setenv("SLURM_JOBPROF_REQ", "1");
    host_setenv("SLURM_JOBPROF_DIR", "/x/step-0");
    host_setenv("SLURM_JOBPROF_HASH", "ab");
    host_setenv("SLURM_JOBPROF_LIMIT", "9");
    host_setenv("SLURM_JOBPROF_NCCL", "ring=1");
    host_setenv("SLURM_JOBPROF_HOME", "/home/alice");
    host_setenv("SLURM_STEP_NUM_NODES", "3");
    host.noptions = 0;
    host_call("init");
    host_option("nccl-profile", "recorder", 1);
    host_option("nccl-profile", "recorder", 1);
    host_call("init_post_opt");
}

void host_user_init(const char *does)
{
    host_remote_init();
    host_helper_does(does);
    host_call("user_init");
}

void host_task_ends(int local, uint32_t global, pid_t pid, int status)
{
    host.task_local = local;
    host.task_global = global;
    host.task_pid = pid;
    host.task_status = status;
    host.task_exited = true;
    host_call("task_exit");
    host.task_local = -1;
}

void assert_carried_gone(void)
{
    assert_job("SLURM_JOBPROF_REQ", NULL);
    assert_job("SLURM_JOBPROF_DIR", NULL);
    assert_job("SLURM_JOBPROF_HASH", NULL);
    assert_job("SLURM_JOBPROF_LIMIT", NULL);
    assert_job("SLURM_JOBPROF_NCCL", NULL);
    assert_job("SLURM_JOBPROF_HOME", NULL);
}
