/* exchange.c - exchanges two names all the time, as somebody who may write to
 * their folders.
 *
 * exchange A B ends when its parent has ended. Exit status 1: an exchange has
 * failed, 2: the file system has none.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

int main(int argc, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (argc == 3)
        if (syscall(SYS_renameat2, AT_FDCWD, argv[1], AT_FDCWD, argv[2],
                    RENAME_EXCHANGE) != 0)
            return errno == EINVAL || errno == ENOSYS ? 2 : 1;
    return 1;
}
