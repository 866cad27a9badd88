/* stopstorm.c SECONDS - stop new processes of finish and the watcher as soon as
 * they are born, and kill some of their parents: whoever calls it is the user
 * whose they are. Prints what it did. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned long tries, seen, stopped, killed;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* Reads a file of a process; NULs become spaces. Returns its length. */
static ssize_t look(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int) pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    for (ssize_t i = 0; i < n; i++)
        if (!text[i])
            text[i] = ' ';
    return n;
}

/* Whether it is finish's, the keeper or the watcher. */
static bool is_target(pid_t pid)
{
    char line[4096];

    return look(pid, "cmdline", line, sizeof(line)) > 0 &&
           (strstr(line, "jobprof-node finish") || strstr(line, "--watch"));
}

static pid_t parent_of(pid_t pid)
{
    char text[1024], *at;

    if (look(pid, "stat", text, sizeof(text)) <= 0 ||
        !(at = strrchr(text, ')')))
        return 0;
    return atoi(at + 3);
}

/* Stops it at once, and looks only then what it is. */
static void hit(pid_t pid)
{
    pid_t parent;

    tries++;
    if (kill(pid, SIGSTOP) < 0)
        return;
    if (!is_target(pid)) {
        kill(pid, SIGCONT);
        return;
    }
    seen++;
    if (rand() % 3 == 0) { /* let it get further */
        kill(pid, SIGCONT);
        return;
    }
    stopped++;
    for (int i = 0; i < 2 && rand() % 2; i++) {
        parent = parent_of(pid);
        if (parent <= 1 || !is_target(parent) || kill(parent, SIGKILL) < 0)
            return;
        killed++;
    }
}

/* The last number that was given to a process. */
static pid_t last_pid(void)
{
    char text[256], *at;
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ' ');
    return at ? atoi(at) : 0;
}

int main(int argc, char **argv)
{
    double end = now_s() + (argc > 1 ? atof(argv[1]) : 10);
    pid_t last = last_pid(), now;

    srand((unsigned) (time(NULL) ^ getpid()));
    while (now_s() < end) {
        now = last_pid();
        /* those that come next are tried before they are there */
        for (pid_t pid = last < now ? last + 1 : now + 1; pid <= now + 2; pid++)
            if (pid != getpid())
                hit(pid);
        last = now;
    }
    printf("%lu tries, %lu of finish and watchers, %lu left stopped, %lu "
           "parents killed\n",
           tries, seen, stopped, killed);
    return 0;
}
