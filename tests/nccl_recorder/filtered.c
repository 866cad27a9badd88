/* filtered.c - runs a program under a seccomp filter.
 *
 * filtered ACTION CALL... -- PROGRAM [ARGUMENT...]: those system calls end the
 * process (kill), fail with EPERM (refuse) or do not exist (absent). Exit
 * status 77: this machine has no filters.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MANY = 32, NO_FILTERS = 77 };

static const struct {
    const char *name;
    unsigned nr;
} calls[] = {
#ifdef SYS_statx
    {"statx", SYS_statx},
#endif
#ifdef SYS_faccessat2
    {"faccessat2", SYS_faccessat2},
#endif
#ifdef SYS_openat2
    {"openat2", SYS_openat2},
#endif
#ifdef SYS_close_range
    {"close_range", SYS_close_range},
#endif
    {"fchmod", SYS_fchmod},
    {"fstatfs", SYS_fstatfs},
    {"getrandom", SYS_getrandom},
    {"memfd_create", SYS_memfd_create},
    {"fallocate", SYS_fallocate},
    {"kill", SYS_kill},
    {"setrlimit", SYS_setrlimit},
};

/* Returns the call's number, or -1 if this machine does not have it. */
static long find(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (!strcmp(calls[i].name, name))
            return calls[i].nr;
    return -1;
}

static unsigned action_of(const char *word)
{
    return !strcmp(word, "kill")     ? SECCOMP_RET_KILL_PROCESS
           : !strcmp(word, "refuse") ? SECCOMP_RET_ERRNO | EPERM
                                     : SECCOMP_RET_ERRNO | ENOSYS;
}

static int install(unsigned action, char **names)
{
    struct sock_filter code[2 * MANY + 2];
    struct sock_fprog program = {0, code};

    code[program.len++] = (struct sock_filter) BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *names && strcmp(*names, "--") != 0 && program.len < 2 * MANY;
         names++) {
        long nr = find(*names);

        if (nr < 0)
            continue;
        code[program.len++] = (struct sock_filter) BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned) nr, 0, 1);
        code[program.len++] =
            (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, action);
    }
    code[program.len++] =
        (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    char **command = argv + 1;

    while (*command && strcmp(*command, "--") != 0)
        command++;
    if (argc < 4 || !*command || !command[1])
        return 2;
    if (install(action_of(argv[1]), argv + 2) < 0) {
        perror("seccomp");
        return NO_FILTERS;
    }
    execvp(command[1], command + 1);
    perror(command[1]);
    return 127;
}
