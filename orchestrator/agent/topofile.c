/* topofile.c - look at a node once per job. */
#include "orchestrator/agent/topofile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/agent/cleanup.h"
#include "orchestrator/agent/nodehw.h"
#include "orchestrator/collect/stepdir.h"

static int take_lock(const char *lock)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;
    int fd = open(lock, flags, 0600);

    if (fd < 0 && errno == EEXIST && lstat(lock, &st) == 0 &&
        time(NULL) - st.st_mtime > JP_TOPOFILE_STALE_S) {
        unlink(lock);
        fd = open(lock, flags, 0600);
    }
    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

/* Makes <job_dir>/nodes/<node>. */
static char *make_folder(const char *job_dir, const char *node,
                         struct jp_error *err)
{
    char *nodes = fileio_path("%s/nodes", job_dir);
    char *folder = fileio_path("%s/nodes/%s", job_dir, node);

    if (!nodes || !folder || fileio_mkdir(nodes, err) < 0 ||
        fileio_mkdir(folder, err) < 0) {
        free(folder);
        folder = NULL;
    }
    free(nodes);
    return folder;
}

int topofile_make(const char *job_dir, const char *node, const char *config,
                  struct jp_error *err)
{
    char *folder = make_folder(job_dir, node, err);
    char *path = folder ? fileio_path("%s/hardware.json", folder) : NULL;
    char *lock = folder ? fileio_path("%s/topology.lock", folder) : NULL;
    const struct jp_nodehw job = {folder, node, config};
    struct stat st;
    int rc = folder ? 0 : -1;

    if (rc == 0 && err)
        err->text[0] = '\0';
    if (path && lock && lstat(path, &st) < 0 && take_lock(lock) == 0) {
        int slot = cleanup_add(lock);

        if (lstat(path, &st) < 0) /* somebody may just have finished it */
            rc = nodehw_make(&job, err);
        unlink(lock);
        cleanup_drop(slot);
    }
    free(folder);
    free(path);
    free(lock);
    return rc;
}
