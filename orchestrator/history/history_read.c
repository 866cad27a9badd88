/* history_read.c - read all lines of a sink: files of other users, with any
 * content.
 *
 * Links are not followed and other file systems not entered. A file counts only
 * if its owner is the user that its folder is named after. Files are read
 * backwards in bounded memory, newest first, so that a limit keeps the newest
 * lines. If a step was reported twice, the newer line counts.
 *
 * Each user has a part of the bytes, lines and processor time (history_limits).
 * Users with few bytes are read first: what they do not need is divided among
 * the others, so that no flood of one user starves another one.
 *
 * The way through it: read_folder lists the users, read_user the files of one,
 * read_file reads chunks from the end, take_lines splits a chunk, take_line
 * parses a line and passes it on. */
#include "orchestrator/history/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/hash.h"
#include "common/num.h"
#include "common/openhere.h"
#include "common/payer.h"
#include "common/vector.h"

/* Names of files; sizes in bytes; limits of foreign input. */
#define SUFFIX ".jsonl"
#define CHUNK (1 << 20)
#define LINE_MOST (64 << 10) /* a longer line is bad */
#define FILES_MOST 20000     /* limit per user */
/* names in a user's folder, of files or not; in all folders of uids without a
 * name */
#define NAMES_MOST 200000
/* bytes in which a line's number is counted for a message */
#define COUNT_MOST (64 << 20)
/* lines between two looks at the clock */
#define CLOCK_LINES 256
/* repeated listings, because files may be renamed during reading */
#define LISTINGS 3
/* seconds after a file's last write in which its last line may be unfinished */
#define WRITING_S 10

struct file_id {
    dev_t dev;
    ino_t ino;
};

/* One call of history_read. */
struct reading {
    const struct history_reader *reader;
    struct history_seen *seen;
    struct history_step *step;
    char *buffer;   /* CHUNK + LINE_MOST + 1 bytes */
    uint64_t *keys; /* hashes of the steps seen */
    size_t n_keys, room;
    struct hash_table table;
    int64_t uid;
    /* who is charged, and what he may still have */
    int64_t payer;
    uint64_t left, left_lines; /* bytes, lines */
    double began_s, end_s;     /* processor time */
    bool is_stopped;           /* a limit is reached: */
    enum history_left why;
    /* what all users may still have */
    uint64_t all_bytes, all_lines, all_ms;
    struct file_id *files; /* files of this user already read */
    size_t n_files;
    struct payers payers;
    size_t names;    /* of all listings */
    size_t nameless; /* ... of folders whose uid has no name, and the folders */
    bool again;      /* list this user's files again */
    bool told;       /* a bad line of this file was reported */
    off_t writing;   /* end of this file's line that is being written; -1 */
    int rc;          /* result of see that ends the reading */
    struct jp_error err;
};

/* --- steps already seen --------------------------------------------------- */

/* Adds a step. Returns 1 if it is new, 0 if not, -1 without memory. Steps with
 * the same hash are treated as one: it has 64 bits and a seed of this run, so
 * that nobody can construct lines that hide other users' lines. */
static int add_step(struct reading *r, const struct history_step *s)
{
    uint64_t hash = hash_word(hash_word(hash_start(), s->job), s->time_us);
    uint32_t at;

    hash = hash_word(hash_word(hash, s->restart), (uint64_t) r->uid);
    hash = hash_bytes(hash, s->step.at, s->step.len);
    for (size_t i = 0; (at = hash_next(&r->table, hash, &i)) != HASH_NONE;)
        if (r->keys[at] == hash)
            return 0;
    if (VECTOR_ROOM(r->keys, r->n_keys + 1, r->room) < 0 ||
        r->n_keys >= HASH_NONE - 1 ||
        hash_add(&r->table, hash, (uint32_t) r->n_keys) < 0)
        return error_set(&r->err, "out of memory");
    r->keys[r->n_keys++] = hash;
    return 1;
}

/* --- parts of users ------------------------------------------------------- */

/* Processor time of this thread. A file system that hangs is not the lines'
 * fault, so waiting does not count. */
static double thread_s(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* Counts what was left out of a user. */
static void leave_out(struct reading *r, int64_t uid, enum history_left what,
                      uint64_t n)
{
    if (n && r->reader->leave)
        r->reader->leave(r->reader->arg, uid, what, n);
}

/* Begins a user, of whom `users` are left. */
static void begin_user(struct reading *r, int64_t payer, size_t users)
{
    uint64_t most = r->reader->max_bytes
                        ? r->reader->max_bytes
                        : history_limits[HISTORY_LEFT_BYTES].user;

    r->payer = payer;
    r->left = r->all_bytes / users < most ? r->all_bytes / users : most;
    r->left_lines = history_part(HISTORY_LEFT_LINES, r->all_lines, users);
    r->began_s = thread_s();
    r->end_s = r->began_s + 1e-3 * (double) history_part(HISTORY_LEFT_TIME,
                                                         r->all_ms, users);
    r->is_stopped = false;
    if (r->rc == 0 && r->reader->begin)
        r->rc = r->reader->begin(r->reader->arg, payer, users);
}

/* Subtracts what the user has taken. lines, bytes: before he began. */
static void end_user(struct reading *r, uint64_t lines, uint64_t bytes)
{
    double ms = 1e3 * (thread_s() - r->began_s);
    uint64_t used = ms > 0 ? (uint64_t) ms : 0;

    lines = r->seen->lines + r->seen->bad_lines - lines;
    bytes = r->seen->bytes - bytes;
    r->all_lines -= lines < r->all_lines ? lines : r->all_lines;
    r->all_bytes -= bytes < r->all_bytes ? bytes : r->all_bytes;
    r->all_ms -= used < r->all_ms ? used : r->all_ms;
    r->seen->cut += r->is_stopped;
}

/* Ends the reading of a user. */
static void stop_user(struct reading *r, enum history_left why)
{
    r->is_stopped = true;
    r->why = why;
}

/* Takes one line of the user's part. Returns false if he has none left. */
static bool take_part(struct reading *r)
{
    if (!r->left_lines)
        stop_user(r, HISTORY_LEFT_LINES);
    else if (r->left_lines-- % CLOCK_LINES == 0 && thread_s() > r->end_s)
        stop_user(r, HISTORY_LEFT_TIME);
    return !r->is_stopped;
}

/* --- lines ---------------------------------------------------------------- */

static void note_trouble(struct reading *r, const char *text)
{
    if (r->reader->say)
        r->reader->say(r->reader->arg, text);
}

/* The number of line breaks before offset. */
static uint64_t lines_before(int fd, off_t offset)
{
    char buf[16384];
    uint64_t n = 0;

    for (off_t at = 0; at < offset;) {
        size_t want = offset - at < (off_t) sizeof(buf) ? (size_t) (offset - at)
                                                        : sizeof(buf);
        ssize_t got = pread(fd, buf, want, at);

        /* the number is only for a message */
        if (got <= 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            n += buf[i] == '\n';
        at += got;
    }
    return n;
}

/* Counts a bad line. The first one of a file is reported with its number, for
 * which the file is read once more. */
static void bad_line(struct reading *r, int fd, const char *path, off_t offset,
                     struct jp_error *err)
{
    r->seen->bad_lines++;
    if (r->told)
        return;
    r->told = true;
    /* a file may be as large as its user likes */
    if (offset <= COUNT_MOST)
        error_wrap(err, "%s:%llu", path,
                   (unsigned long long) lines_before(fd, offset) + 1);
    else
        error_wrap(err, "%s: at byte %lld", path, (long long) offset);
    note_trouble(r, err->text);
}

/* Handles a line of the file at offset. */
static void take_line(struct reading *r, int fd, const char *path, off_t offset,
                      char *line, size_t len)
{
    struct jp_error err;
    int is_new;

    /* an empty line is no error, and an unfinished one is left for the next
     * run */
    if (!len || offset + (off_t) len == r->writing || !take_part(r))
        return;
    if (history_line_parse(line, len, r->step, &err) < 0) {
        bad_line(r, fd, path, offset, &err);
        return;
    }
    r->seen->lines++;
    is_new = add_step(r, r->step);
    if (is_new < 0)
        r->rc = -1;
    else if (is_new)
        r->rc = r->reader->see(r->reader->arg, r->step, r->uid);
    else
        r->seen->repeated++;
}

/* Handles the lines of buffer[0, *n), which was read at offset, from the last
 * one to the first one that begins in it. Keeps the bytes before that line; *n
 * becomes their number. */
static void take_lines(struct reading *r, int fd, const char *path,
                       off_t offset, size_t *n, bool *skipping)
{
    struct jp_error err;
    size_t end = *n;
    char *nl;

    while (r->rc == 0 && !r->is_stopped &&
           (nl = end ? memrchr(r->buffer, '\n', end) : NULL) != NULL) {
        size_t at = (size_t) (nl + 1 - r->buffer);

        /* skipping: the end of this line was dropped with a chunk */
        if (*skipping || end - at > LINE_MOST) {
            *skipping = false;
            error_set(&err, "a line of over %d bytes", LINE_MOST);
            bad_line(r, fd, path, offset + (off_t) at, &err);
        } else {
            take_line(r, fd, path, offset + (off_t) at, nl + 1, end - at);
        }
        /* without the line break */
        end = at - 1;
    }
    /* the first line of the file has no line break before it */
    if (r->is_stopped) {
        /* read_file counts what is left */
    } else if (r->rc == 0 && offset == 0) {
        error_set(&err, "a line of over %d bytes", LINE_MOST);
        if (*skipping || end > LINE_MOST)
            bad_line(r, fd, path, 0, &err);
        else
            take_line(r, fd, path, 0, r->buffer, end);
        end = 0;
        /* its beginning is still to be read, but it is bad already */
    } else if (end > LINE_MOST) {
        *skipping = true;
        end = 0;
    }
    *n = end;
}

/* Reads exactly n bytes at an offset. Returns false on an error, or if the file
 * has become shorter; errno then stays as the caller set it. */
static bool read_all(int fd, char *to, size_t n, off_t at)
{
    while (n) {
        ssize_t got = pread(fd, to, n, at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        at += got;
        n -= (size_t) got;
    }
    return true;
}

/* Reads a file up to the size that st has. Lines that are appended meanwhile
 * are left for the next run. */
static void read_file(struct reading *r, int fd, const char *path,
                      const struct stat *st)
{
    off_t size = st->st_size;
    bool skipping = false;
    struct jp_error err;
    size_t kept = 0;

    r->told = false;
    /* a writer appends a whole line, but the size grows on the way */
    r->writing = time(NULL) - st->st_mtim.tv_sec < WRITING_S ? size : -1;
    r->seen->files++;
    while (size > 0 && r->rc == 0) {
        size_t n = size < CHUNK ? (size_t) size : CHUNK;

        /* the user's limit: the older part stays unread */
        if (n > r->left)
            stop_user(r, HISTORY_LEFT_BYTES);
        if (r->is_stopped) {
            leave_out(r, r->payer, r->why, (uint64_t) size + kept);
            break;
        }
        r->left -= n;
        size -= (off_t) n;
        /* the end of a line was kept; its beginning is read now */
        memmove(r->buffer + n, r->buffer, kept);
        errno = 0;
        if (!read_all(fd, r->buffer, n, size)) {
            error_set(&err, "%s: %s", path, errno ? strerror(errno) : "cut");
            note_trouble(r, err.text);
            break;
        }
        r->seen->bytes += n;
        kept += n;
        take_lines(r, fd, path, size, &kept, &skipping);
        /* holes and lines without end take time, too */
        if (thread_s() > r->end_s && !r->is_stopped)
            stop_user(r, HISTORY_LEFT_TIME);
        if (r->is_stopped && !size)
            leave_out(r, r->payer, r->why, kept);
    }
}

/* --- files of a user ------------------------------------------------------ */

/* Counts an entry that is not as required, under the name of who made it. */
static void count_stranger(struct reading *r, int dir, const char *name)
{
    struct stat st;

    /* a later listing meets the same entries */
    if (r->again)
        return;
    r->seen->strangers++;
    if (openhere_stat(dir, name, &st) < 0)
        return;
    leave_out(r,
              payers_find(&r->payers, st.st_uid) == PAYER_NAMELESS
                  ? HISTORY_NAMELESS
                  : (int64_t) st.st_uid,
              HISTORY_LEFT_FILES, 1);
}

/* Counts an entry that could not be opened, once. */
static void count_closed(struct reading *r, int dir, const char *name)
{
    if (errno != EACCES && errno != EPERM && errno != ENOENT)
        count_stranger(r, dir, name);
    else if (!r->again)
        r->seen->unreadable += errno != ENOENT;
}

/* Whether the file was read under this or another name. */
static bool was_read(const struct reading *r, const struct stat *st)
{
    for (size_t i = 0; i < r->n_files; i++)
        if (r->files[i].ino == st->st_ino && r->files[i].dev == st->st_dev)
            return true;
    return false;
}

/* A file of a listing. */
struct entry {
    char *name;
    int64_t written_ns;
    uint64_t bytes; /* 0: no regular file */
};

/* Orders by time of the last write. */
static int newest_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return (x->written_ns < y->written_ns) - (x->written_ns > y->written_ns);
}

/* Whether the name is that of a file of lines. */
static bool is_lines(const char *name)
{
    size_t n = strlen(name), end = sizeof(SUFFIX) - 1;

    return *name != '.' && n > end && strcmp(name + n - end, SUFFIX) == 0;
}

/* Lists the line files of a folder, newest first; *n of them. NULL: none. */
static struct entry *list_entries(struct reading *r, int fd, size_t *n)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct entry *entries = NULL;
    size_t names = 0;

    *n = 0;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        struct stat st = {0};

        r->names++;
        if (++names > NAMES_MOST || *n == FILES_MOST) {
            r->seen->cut += !r->again;
            break;
        }
        if (!is_lines(d->d_name))
            continue;
        /* removed since the listing; what is mounted there is counted later */
        if (openhere_stat(fd, d->d_name, &st) < 0 && errno != EXDEV)
            continue;
        if (VECTOR_DOUBLE(entries, *n) < 0 ||
            !(entries[*n].name = strdup(d->d_name))) {
            /* the entries so far are returned and freed by the caller */
            r->rc = error_set(&r->err, "out of memory");
            break;
        }
        entries[*n].written_ns = (int64_t) num_add(
            num_mul((uint64_t) st.st_mtim.tv_sec, 1000000000) & INT64_MAX,
            (uint64_t) st.st_mtim.tv_nsec);
        entries[*n].bytes = S_ISREG(st.st_mode) ? (uint64_t) st.st_size : 0;
        ++*n;
    }
    if (dir)
        closedir(dir);
    if (*n)
        qsort(entries, *n, sizeof(*entries), newest_first);
    return entries;
}

/* Whether a file written then may have lines that are wanted. */
static bool is_recent(const struct reading *r, time_t written)
{
    return written >= (time_t) (r->reader->since_us / 1000000);
}

/* Reads a file of the user's folder. Returns 1 if it was read. */
static int read_entry(struct reading *r, int dir, const char *folder,
                      const char *name)
{
    int fd = openhere_read(dir, name, S_IFREG), done = 0;
    char *path = text_format("%s/%s", folder, name);
    struct stat st;

    if (fd < 0) {
        count_closed(r, dir, name);
        /* read already, before it was renamed */
    } else if (fstat(fd, &st) < 0 || was_read(r, &st)) {
        done = 0;
    } else if (VECTOR_DOUBLE(r->files, r->n_files) < 0 || !path) {
        r->rc = error_set(&r->err, "out of memory");
    } else {
        r->files[r->n_files++] = (struct file_id){st.st_dev, st.st_ino};
        done = 1;
        /* a file of another user in this folder proves nothing about its owner
         */
        if (st.st_uid != (uid_t) r->uid)
            count_stranger(r, dir, name);
        else if (is_recent(r, st.st_mtim.tv_sec))
            read_file(r, fd, path, &st);
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return done;
}

/* Reads a user's folder. A file renamed between listing and opening is found by
 * the next listing. */
static void read_user(struct reading *r, int dir, const char *folder,
                      int64_t uid)
{
    int any = 1;

    r->uid = uid;
    r->n_files = 0;
    r->seen->users++;
    /* until a listing has nothing new */
    for (int i = 0; i < LISTINGS && any && r->rc == 0 && !r->is_stopped; i++) {
        struct entry *entries;
        size_t n;

        r->again = i > 0;
        entries = list_entries(r, dir, &n);
        any = 0;
        for (size_t k = 0; k < n; k++) {
            if (r->rc == 0 && !r->is_stopped)
                any |= read_entry(r, dir, folder, entries[k].name);
            else if (r->is_stopped &&
                     is_recent(r, entries[k].written_ns / 1000000000))
                leave_out(r, r->payer, r->why, entries[k].bytes);
            free(entries[k].name);
        }
        free(entries);
    }
}

/* --- the sink ------------------------------------------------------------- */

/* A user's folder in the sink. */
struct member {
    uint32_t uid;
    int64_t payer; /* its uid, or HISTORY_NAMELESS */
    uint64_t bytes;
    uint64_t wanted; /* bytes of all folders of the payer */
};

struct members {
    struct member *at;
    size_t n, room;
};

/* Those of payers with few bytes first, and those of a payer together. */
static int by_wanted(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->wanted != y->wanted)
        return x->wanted < y->wanted ? -1 : 1;
    if (x->payer != y->payer)
        return x->payer < y->payer ? -1 : 1;
    return (x->uid > y->uid) - (x->uid < y->uid);
}

/* The bytes of the lines in a user's folder, as far as they are wanted. */
static uint64_t folder_bytes(struct reading *r, int fd)
{
    size_t n;
    struct entry *entries = list_entries(r, fd, &n);
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_recent(r, entries[i].written_ns / 1000000000))
            sum = num_add(sum, entries[i].bytes);
        free(entries[i].name);
    }
    free(entries);
    return sum;
}

/* Adds the folder of a user. */
static void add_member(struct reading *r, int root, const char *name,
                       uint32_t uid, struct members *members)
{
    int fd = openhere_read(root, name, S_IFDIR);
    struct member *member;
    struct stat st;
    size_t names = r->names;

    r->again = false;
    if (fd < 0) {
        count_closed(r, root, name);
        return;
    }
    /* any user can create a folder named after another one */
    if (fstat(fd, &st) < 0 || st.st_uid != uid) {
        count_stranger(r, root, name);
        goto out;
    }
    if (VECTOR_ROOM(members->at, members->n + 1, members->room) < 0) {
        r->rc = error_set(&r->err, "out of memory");
        goto out;
    }
    if (payers_find(&r->payers, uid) == PAYER_NAMELESS &&
        r->nameless >= NAMES_MOST) {
        /* a listing takes time even if all files are empty */
        leave_out(r, HISTORY_NAMELESS, HISTORY_LEFT_FILES, 1);
        goto out;
    }
    member = &members->at[members->n++];
    *member = (struct member){.uid = uid, .payer = uid};
    if (payers_find(&r->payers, uid) == PAYER_NAMELESS)
        member->payer = HISTORY_NAMELESS;
    member->bytes = folder_bytes(r, fd);
    if (member->payer == HISTORY_NAMELESS)
        r->nameless += 1 + r->names - names;
out:
    close(fd);
}

/* Reads the folder of one user in a sink. */
static void read_user_at(struct reading *r, int root, const char *path,
                         uint32_t uid)
{
    char *folder = text_format("%s/%u", path, uid), name[16];
    struct stat st;
    int fd;

    snprintf(name, sizeof(name), "%u", uid);
    fd = openhere_read(root, name, S_IFDIR);
    r->again = false;
    if (!folder)
        r->rc = error_set(&r->err, "out of memory");
    /* it was checked, and may be another one by now */
    else if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == uid)
        read_user(r, fd, folder, (int64_t) uid);
    if (fd >= 0)
        close(fd);
    free(folder);
}

/* Reads the members, those with few bytes first. */
static void read_members(struct reading *r, int fd, const char *path,
                         struct members *members)
{
    uint64_t nameless = 0, lines = 0, bytes = 0;
    size_t users = 0;

    for (size_t i = 0; i < members->n; i++)
        if (members->at[i].payer == HISTORY_NAMELESS)
            nameless = num_add(nameless, members->at[i].bytes);
        else
            users++;
    for (size_t i = 0; i < members->n; i++)
        members->at[i].wanted = members->at[i].payer == HISTORY_NAMELESS
                                    ? nameless
                                    : members->at[i].bytes;
    users += users < members->n;
    if (members->n)
        qsort(members->at, members->n, sizeof(*members->at), by_wanted);
    for (size_t i = 0; i < members->n && r->rc == 0; i++) {
        const struct member *member = &members->at[i];

        if (!i || member->payer != members->at[i - 1].payer) {
            lines = r->seen->lines + r->seen->bad_lines;
            bytes = r->seen->bytes;
            begin_user(r, member->payer, users--);
        }
        /* what is left of a payer whose part is used up */
        if (r->is_stopped)
            leave_out(r, r->payer, r->why, member->bytes);
        else
            read_user_at(r, fd, path, member->uid);
        if (i + 1 == members->n || member->payer != members->at[i + 1].payer)
            end_user(r, lines, bytes);
    }
}

/* Reads the users' folders of a sink. If there are none, this is a user's
 * folder itself. */
static void read_folder(struct reading *r, int fd, const char *path,
                        const struct stat *st)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    struct members members = {0};
    bool any = false;
    uint64_t uid;

    for (struct dirent *d; dir && r->rc == 0 && (d = readdir(dir));)
        /* names of user folders are user ids, "7" and not "007" */
        if (num_parse_u64(d->d_name, 0, UINT32_MAX - 1, &uid, NULL) == 0 &&
            (*d->d_name != '0' || !d->d_name[1])) {
            any = true;
            add_member(r, fd, d->d_name, (uint32_t) uid, &members);
        }
    if (dir)
        closedir(dir);
    if (r->rc == 0)
        read_members(r, fd, path, &members);
    free(members.at);
    if (any || r->rc != 0)
        return;
    begin_user(r, (int64_t) st->st_uid, 1);
    if (r->rc == 0)
        read_user(r, fd, path, (int64_t) st->st_uid);
    end_user(r, r->seen->lines, r->seen->bytes);
}

int history_read(const char *path, const struct history_reader *reader,
                 struct history_seen *seen, struct jp_error *err)
{
    struct reading r = {.reader = reader,
                        .seen = seen,
                        .step = malloc(sizeof(struct history_step)),
                        .buffer = malloc(CHUNK + LINE_MOST + 1),
                        .all_bytes = history_limits[HISTORY_LEFT_BYTES].all,
                        .all_lines = history_limits[HISTORY_LEFT_LINES].all,
                        .all_ms = history_limits[HISTORY_LEFT_TIME].all,
                        /* a file that was given by name is one user's, or has
                         * the lines of all */
                        .left = UINT64_MAX,
                        .left_lines = history_limits[HISTORY_LEFT_LINES].all,
                        .end_s = INFINITY,
                        .payer = -1,
                        .uid = -1};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        r.rc = error_set(&r.err, "%s: %m", path);
    else if (!r.step || !r.buffer)
        r.rc = error_set(&r.err, "out of memory");
    else if (S_ISDIR(st.st_mode))
        read_folder(&r, fd, path, &st);
    else if (S_ISREG(st.st_mode))
        read_file(&r, fd, path, &st);
    else
        r.rc = error_set(&r.err, "%s: not a folder or a file", path);
    /* a file's only */
    seen->cut += r.is_stopped && r.uid < 0;
    /* -1 of see has no text here */
    if (r.rc < 0 && err && *r.err.text)
        *err = r.err;
    if (fd >= 0)
        close(fd);
    payers_fini(&r.payers);
    free(r.files);
    free(r.keys);
    hash_fini(&r.table);
    free(r.buffer);
    free(r.step);
    return r.rc;
}
