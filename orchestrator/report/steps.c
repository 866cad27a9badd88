/* steps.c - find the steps of a job. */
#include "orchestrator/report/steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/report/summary_file.h"

static int is_step_name(const struct dirent *entry)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    const char *name = entry->d_name;

    return !strncmp(name, "step-", 5) && name[5] &&
           !name[strspn(name, allowed)];
}

/* False where the folder has no summary.json. */
static bool look_at(int job_fd, const char *name, struct jp_step *step)
{
    int fd =
        openat(job_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool found;

    if (fd < 0)
        return false;
    found = fstatat(fd, JP_SUMMARY_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode);
    close(fd);
    if (found) {
        step->bytes = st.st_size;
        step->mtime_ns = (int64_t) st.st_mtim.tv_sec * 1000000000 +
                         st.st_mtim.tv_nsec;
    }
    return found;
}

/* Takes the names over. */
static int collect(int job_fd, struct dirent **names, size_t n,
                   struct jp_steps *steps)
{
    int rc = 0;

    steps->list = calloc(n + 1, sizeof(*steps->list));
    for (size_t i = 0; i < n; i++) {
        struct jp_step step = {0};

        if (!steps->list) {
            rc = -1;
        } else if (look_at(job_fd, names[i]->d_name, &step)) {
            if (steps->n == JP_STEPS_MAX)
                steps->left_out++;
            else if ((step.dir = strdup(names[i]->d_name)))
                steps->list[steps->n++] = step;
            else
                rc = -1;
        }
        free(names[i]);
    }
    free(names);
    return steps->list ? rc : -1;
}

int steps_scan(const char *job_dir, struct jp_steps *steps,
               struct jp_error *err)
{
    struct jp_steps found = {0};
    struct dirent **names = NULL;
    int fd = open(job_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = fd < 0 ? -1 : scandirat(fd, ".", &names, is_step_name, versionsort);
    int rc = -1;

    if (n < 0) {
        error_set(err, "%s: %s", job_dir, strerror(errno));
        goto out;
    }
    if (collect(fd, names, (size_t) n, &found) < 0) {
        steps_fini(&found);
        error_set(err, "out of memory");
        goto out;
    }
    *steps = found;
    rc = 0;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

void steps_fini(struct jp_steps *steps)
{
    for (size_t i = 0; i < steps->n; i++)
        free(steps->list[i].dir);
    free(steps->list);
    *steps = (struct jp_steps){0};
}

bool steps_equal(const struct jp_steps *a, const struct jp_steps *b)
{
    if (a->n != b->n || a->left_out != b->left_out)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->list[i].dir, b->list[i].dir) ||
            a->list[i].bytes != b->list[i].bytes ||
            a->list[i].mtime_ns != b->list[i].mtime_ns)
            return false;
    return true;
}
