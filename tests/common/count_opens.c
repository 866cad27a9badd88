/* count_opens.c - run a program and count how often it opens files.
 *
 * count_opens FILE... -- PROGRAM ARG...
 * Prints "COUNT FILE" for each file; exits as the program does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 16 };

/* Opening and closing: the kernel counts equal events in a row as one. */
static void count(int events, const int watch[FILES], unsigned opens[FILES])
{
    char buffer[65536]
        __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t n;

    while ((n = read(events, buffer, sizeof(buffer))) > 0)
        for (char *at = buffer; at < buffer + n;) {
            const struct inotify_event *one = (const void *) at;

            for (int i = 0; i < FILES; i++)
                if (watch[i] == one->wd && one->mask & IN_OPEN)
                    opens[i]++;
            at += sizeof(*one) + one->len;
        }
}

int main(int argc, char **argv)
{
    int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), n = 0, status;
    unsigned opens[FILES] = {0};
    int watch[FILES] = {0};
    pid_t pid;

    while (n < FILES && 1 + n < argc && strcmp(argv[1 + n], "--") != 0) {
        watch[n] = inotify_add_watch(events, argv[1 + n], IN_OPEN | IN_CLOSE);
        if (watch[n++] < 0) {
            perror(argv[n]);
            return 99;
        }
    }
    if (events < 0 || 2 + n >= argc)
        return 99;
    pid = fork();
    if (pid == 0) {
        execvp(argv[2 + n], argv + 2 + n);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 99;
    count(events, watch, opens);
    for (int i = 0; i < n; i++)
        printf("%u %s\n", opens[i], argv[1 + i]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
