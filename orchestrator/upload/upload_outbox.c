/* upload_outbox.c - keep documents that wait for their server, and send them.
 *
 * A report must not wait for a server, so its documents go into a file of the
 * user's outbox first. Whoever uploads next sends all files that wait there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/ownplace.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/upload/upload.h"

/* the ending of files that wait */
#define WAITING ".ndjson"

const struct lines_limit upload_lines = {
    "documents of an upload",
    0,
    1 << 20,
    0,
    0,
    LINES_SKIP,
    "ours are 1 KB; the outbox has a limit of its own"};

/* Makes the user's folder and returns its path, which the caller frees. root
 * NULL: ~/.local/state/jobprof/outbox, because a report has no XDG_STATE_HOME.
 */
static char *open_folder(const char *root, struct jp_error *err)
{
    const char *home = getenv("HOME");
    /* only without HOME, as a look-up of the user may take long */
    const struct passwd *me = home ? NULL : getpwuid(getuid());
    char *folder = NULL;

    home = me ? me->pw_dir : home;
    if (root)
        /* a site's root has a folder for each user */
        folder = text_format("%s/%lu", root, (unsigned long) getuid());
    else if (home && *home == '/')
        folder = text_format("%s/.local/state/jobprof/outbox", home);
    else
        error_set(err, "HOME is not set, so there is no outbox");
    if (!folder)
        return NULL;
    if ((root ? fileio_mkdir(folder, err) : fileio_mkdirs(folder, err)) < 0 ||
        stepdir_check_own(folder, err) < 0) {
        free(folder);
        return NULL;
    }
    return folder;
}

/* scandir's filter: files that wait; temporary ones begin with a dot. */
static int is_waiting(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name), end = sizeof(WAITING) - 1;

    return entry->d_name[0] != '.' && n > end &&
           strcmp(entry->d_name + n - end, WAITING) == 0;
}

/* The sum of the sizes of all files in the folder, in bytes. */
static uint64_t bytes_in(const char *folder)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, NULL, NULL);
    uint64_t sum = 0;

    for (int i = 0; i < n; i++) {
        char *path = text_format("%s/%s", folder, entries[i]->d_name);
        struct stat st;

        if (path && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t) st.st_size;
        free(path);
        free(entries[i]);
    }
    free(entries);
    return sum;
}

/* A stream that fails instead of writing more than `left` bytes. */
struct bounded {
    FILE *out;
    uint64_t left;
};

/* The stream's write function. */
static ssize_t put_bounded(void *cookie, const char *bytes, size_t n)
{
    struct bounded *b = cookie;

    if (n > b->left) {
        errno = ENOSPC;
        return 0;
    }
    b->left -= n;
    return fwrite(bytes, 1, n, b->out) == n ? (ssize_t) n : 0;
}

/* Makes the file of a step. */
static int add_step(const char *folder, const char *step_dir,
                    const struct upload_what *what, uint64_t max_bytes,
                    struct jp_error *err)
{
    uint64_t there = bytes_in(folder);
    struct timespec now;
    struct upload_made made;
    struct jp_tempfile file;
    struct bounded b;
    char *path;
    FILE *out;
    int rc = -1;

    clock_gettime(CLOCK_REALTIME, &now);
    /* names sort by time, so the oldest is sent first */
    path = text_format("%s/%lld%09ld-%ld" WAITING, folder,
                       (long long) now.tv_sec, now.tv_nsec, (long) getpid());
    if (!path || fileio_temp_open(&file, path, err) < 0) {
        free(path);
        return path ? -1 : error_set(err, "out of memory");
    }
    b = (struct bounded){file.stream,
                         there < max_bytes ? max_bytes - there : 0};
    out = fopencookie(&b, "w", (cookie_io_functions_t){.write = put_bounded});
    if (!out) {
        error_set(err, "out of memory");
    } else {
        rc = upload_docs(step_dir, what, out, &made, err);
        if (fclose(out) != 0 && rc == 0)
            rc = error_set(err, "%m");
        /* the reason is better than the error of the stream */
        if (rc < 0 && !b.left)
            error_set(err, "%s is full", folder);
    }
    if (rc == 0)
        rc = fileio_temp_commit(&file, err);
    else
        fileio_temp_abort(&file);
    free(path);
    return rc;
}

/* Sends one file and removes it. Permanently refused documents go to
 * NAME.refused. 0, or -1 and err: the file stays. */
static int send_file(const char *path, const struct upload_what *what,
                     const struct upload_to *to, struct upload_done *done,
                     struct jp_error *err)
{
    char *kept = text_format("%.*s.refused",
                             (int) (strlen(path) - sizeof(WAITING) + 1), path);
    int fd = fileio_open_regular(path, false, err), rc = -1;
    struct upload_allowed allowed = {.name = path,
                                     .what = what,
                                     .any_user = geteuid() == 0,
                                     .uid = geteuid()};
    uint64_t refused = done->refused;
    struct jp_lines *in = NULL;
    struct jp_tempfile file;
    char user[64];

    if (fd < 0 || !kept || ownplace_check_owner(fd, path, false, err) < 0)
        goto out;
    upload_user_name(allowed.uid, user);
    allowed.user = user;
    in = lines_open_fd(fd, path, &upload_lines, err);
    fd = -1; /* `in` owns it */
    if (!in || fileio_temp_open(&file, kept, err) < 0)
        goto out;
    /* refused documents are collected while it is sent */
    rc = upload_send(in, to, &allowed, file.stream, done, err);
    if (rc == 0 && done->refused > refused)
        rc = fileio_temp_commit(&file, err);
    else
        fileio_temp_abort(&file);
    if (rc == 0 && unlink(path) < 0)
        rc = error_set(err, "%s: %m", path);
out:
    lines_close(in);
    if (fd >= 0)
        close(fd);
    free(kept);
    return rc;
}

/* Sends the files that are there now, oldest first, until one fails. Returns
 * their number, or -1 and err. */
static int send_files(const char *folder, const struct upload_what *what,
                      const struct upload_to *to, struct upload_done *done,
                      struct jp_error *err)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_waiting, alphasort), rc = 0;

    if (n < 0)
        return error_set(err, "%s: %m", folder);
    for (int i = 0; i < n; i++) {
        char *path = text_format("%s/%s", folder, entries[i]->d_name);

        /* after a failure the others are only freed */
        if (rc == 0)
            rc = path ? send_file(path, what, to, done, err)
                      : error_set(err, "out of memory");
        free(path);
        free(entries[i]);
    }
    free(entries);
    return rc < 0 ? -1 : n;
}

/* Sends what waits in the folder. */
static int send_folder(const char *folder, const struct upload_what *what,
                       const struct upload_to *to, struct upload_done *done,
                       struct jp_error *err)
{
    char *path = text_format("%s/.lock", folder);
    /* the lock goes with the descriptor, also if the process dies */
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                  : -1;
    int rc = -1;

    if (fd < 0)
        error_set(err, "%s: %m", path ? path : "out of memory");
    else if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = 0; /* the holder of the lock sends ours, too */
    else
        /* files may come while others are sent */
        while ((rc = send_files(folder, what, to, done, err)) > 0)
            ;
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

int upload_outbox(struct upload_outbox *box, const char *step_dir,
                  const struct upload_to *to, struct upload_done *done,
                  struct jp_error *err)
{
    box->folder = open_folder(box->root, err);
    if (!box->folder)
        return -1;
    if (step_dir &&
        add_step(box->folder, step_dir, box->what, box->max_bytes, err) < 0)
        return -1;
    if (box->only_add)
        return 0;
    return send_folder(box->folder, box->what, to, done, err);
}
