/* spank_box.c - a SPANK module that runs tasks in containers in pyxis' manner:
 * by srun's option, per task, in task_init, with the job's environment as it is
 * then. --container-image=DIR: in new mount and UTS namespaces DIR/start makes
 * the root DIR/root. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(pyxis, 1)
int slurm_spank_init(spank_t sp, int ac, char **av);
int slurm_spank_task_init(spank_t sp, int ac, char **av);
#pragma GCC visibility pop

static char *image;

static int set_image(int val, const char *arg, int remote)
{
    (void) val;
    (void) remote;
    free(image);
    image = strdup(arg);
    return image ? 0 : -1;
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
    static struct spank_option option = {(char *) "container-image",
                                         (char *) "DIR",
                                         (char *) "[box] a folder with start",
                                         1,
                                         0,
                                         set_image};

    (void) ac;
    (void) av;
    return spank_option_register(sp, &option) == ESPANK_SUCCESS ? 0 : -1;
}

static int start(char **env)
{
    char path[4096];
    char *argv[] = {path, image, NULL};
    int status = -1;
    pid_t pid;

    snprintf(path, sizeof(path), "%s/start", image);
    pid = fork();
    if (pid == 0) {
        execve(path, argv, env);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
    char **env = NULL, host[32], root[4096];
    int task = 0;

    (void) ac;
    (void) av;
    if (!image)
        return 0;
    spank_get_item(sp, S_JOB_ENV, &env);
    spank_get_item(sp, S_TASK_ID, &task);
    snprintf(host, sizeof(host), "box%d", task);
    snprintf(root, sizeof(root), "%s/root", image);
    if (unshare(CLONE_NEWNS | CLONE_NEWUTS) < 0 ||
        sethostname(host, strlen(host)) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        start(env) < 0 || chroot(root) < 0 || chdir("/") < 0) {
        slurm_error("box: no container");
        return -1;
    }
    return 0;
}
