/* metricscollect.c - check users' files in the spool, and write the one file
 * that node_exporter reads.
 *
 * metricscollect_run is the way: see_entry lists what is in the spool (nothing
 * is opened), find_jobs reads the beginning of each good file, settle_jobs
 * decides which user owns each job, take_files reads the files into one set,
 * and write_out replaces the output. Each user has a part of every limit; what
 * exceeds it is left out, and counted for that user. */
#include "orchestrator/metrics/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/keyed.h"
#include "common/num.h"
#include "common/openhere.h"
#include "common/payer.h"
#include "common/quote.h"
#include "common/vector.h"

/* Bytes of a file in which its job must be named. */
#define HEAD_BYTES 4096
/* A series of a file has at most so many bytes. */
#define SERIES_BYTES 1024
#define STATE_BYTES (8 << 20)
/* After this time Slurm is asked again about a job that it did not know. */
#define AGAIN_S 300

/* Why something of a user was left out. */
enum why {
    WHY_ODD,
    WHY_NAME,
    WHY_OWNER,
    WHY_NAMELESS,
    WHY_MANY,
    WHY_READ,
    WHY_JOB,
    WHY_SERIES,
    WHY_LINES,
    WHYS
};
/* The label "why", and a text for people; is_series: it counts series. */
static const struct {
    const char *label, *text;
    bool is_series;
} whys[WHYS] = {
    [WHY_ODD] = {"kind", "no regular files", false},
    [WHY_NAME] = {"name", "files with a name that is none of a step's", false},
    [WHY_OWNER] = {"owner", "files with another user's id in their name",
                   false},
    [WHY_NAMELESS] = {"nameless", "files of users without a name", false},
    [WHY_MANY] = {"files", "files beyond the limit of files or bytes", false},
    [WHY_READ] = {"unreadable", "files that cannot be read, or are too large",
                  false},
    [WHY_JOB] = {"job", "files that name no job of the user's", false},
    [WHY_SERIES] = {"series", "series beyond the limit", true},
    [WHY_LINES] = {"lines", "lines that are no metric of the step", true},
};

/* --- the collector's own metrics ------------------------------------------ */

static const struct jp_column of_written[] = {
    METRICS_LABEL("jobid"),
    METRICS_LABEL("step"),
    METRICS_LABEL("node"),
    METRICS_ROW("jobprof_step_written_timestamp_seconds", METRICS_GAUGE,
                "seconds", METRICS_COLLECT,
                "When the step's agent on this node wrote its metrics, in "
                "seconds since 1970."),
};
static const struct jp_table written = {
    .help = "a node of a step, as its file says",
    JP_COLUMNS(of_written),
    .metrics_place = 90,
};

static const struct jp_column of_collector[] = {
    METRICS_ROW("jobprof_collect_timestamp_seconds", METRICS_GAUGE, "seconds",
                METRICS_COLLECT,
                "When the users' files were collected, in seconds since 1970."),
    METRICS_ROW("jobprof_collect_files", METRICS_GAUGE, NULL, METRICS_COLLECT,
                "Users' files that were collected."),
};
static const struct jp_table collector = {
    .help = "the collector",
    JP_COLUMNS(of_collector),
    .metrics_place = 91,
};
enum { COLLECTED, COLLECT_FILES }; /* its values */

static const struct jp_column of_left_out[] = {
    METRICS_LABEL("user"),
    METRICS_LABEL("why"),
    METRICS_ROW("jobprof_collect_left_out_files", METRICS_GAUGE, NULL,
                METRICS_COLLECT, "Files of the user that were not collected."),
    METRICS_ROW("jobprof_collect_left_out_series", METRICS_GAUGE, NULL,
                METRICS_COLLECT,
                "Series of the user's files that were not collected."),
};
static const struct jp_table left_out = {
    .help = "what was left out of a user",
    JP_COLUMNS(of_left_out),
    .metrics_place = 92,
};
enum { LEFT_FILES, LEFT_SERIES }; /* its values */

const struct jp_table *const metricscollect_tables[] = {&written, &collector,
                                                        &left_out, NULL};

/* -------------------------------------------------------------------------- */

struct user {
    uint64_t uid; /* PAYER_NAMELESS: all users without a name */
    char name[64];
    size_t files, asks, series;
    bool may_ask; /* a file of his may name a job that Slurm can be asked
                   * about */
    uint64_t bytes;
    uint64_t left[WHYS];
    char bad[METRICSFILE_NAME_BYTES + 176]; /* the first bad line */
};

/* A file that may be read. */
struct file {
    char *name;
    uid_t uid;
    uint64_t job; /* 0: not known yet, or left out */
    char step[METRICSFILE_STEP_BYTES];
    time_t written;
};

/* Whose a job is. */
struct job {
    uint64_t number;
    uid_t uid;     /* PAYER_NAMELESS: of several users, nobody knows whose */
    bool is_known; /* Slurm said so */
    bool is_held;  /* from the last run */
    bool is_used;  /* a file of this run names it */
    /* The last question without an answer: when, and for whose file; 0: none.
     * Another user's file is a new reason to ask. */
    uint64_t asked;
    uid_t asker;
    bool is_asked;                     /* in this run */
    char account[128], partition[128]; /* "": unknown */
};

struct work {
    struct metricscollect *c;
    struct payers payers;
    struct keyed users; /* struct user */
    struct file *files;
    size_t n_files, room_files;
    struct keyed jobs; /* struct job */
    uint64_t next;     /* the uid whose turn it is to ask Slurm */
    uint64_t now;      /* seconds since 1970 */
    int dir;           /* the spool */
    struct metrics_set set;
};

/* --- users ---------------------------------------------------------------- */

/* Returns the user, added if he is new; NULL: no memory. Valid until the next
 * call. */
static struct user *find_user(struct work *w, uid_t uid)
{
    struct user *u = keyed_find(&w->users, uid);
    const struct passwd *pw;

    if (u)
        return u;
    /* uids without a name count as one user */
    if (uid != PAYER_NAMELESS && payers_find(&w->payers, uid) == PAYER_NAMELESS)
        return find_user(w, PAYER_NAMELESS);
    u = keyed_add(&w->users, uid);
    if (!u)
        return NULL;
    pw = uid == PAYER_NAMELESS ? NULL : getpwuid(uid);
    snprintf(u->name, sizeof(u->name), "%s", pw ? pw->pw_name : "nameless");
    return u;
}

/* The user at an index, in ascending order of uids. */
static struct user *user_at(const struct work *w, size_t i)
{
    return (struct user *) w->users.items + i;
}

/* --- list ----------------------------------------------------------------- */

/* Appends a file. Returns -1 without memory. */
static int add_file(struct work *w, const struct metricsfile_entry *entry)
{
    struct file *file;

    if (VECTOR_ROOM(w->files, w->n_files + 1, w->room_files) < 0)
        return -1;
    file = &w->files[w->n_files];
    *file = (struct file){.name = strdup(entry->name),
                          .uid = entry->st.st_uid,
                          .written = entry->st.st_mtime};
    if (!file->name)
        return -1;
    memcpy(file->step, entry->step, sizeof(file->step));
    w->n_files++;
    return 0;
}

/* A callback of metricsfile_each: counts the entry, or keeps a good file. */
static int see_entry(void *arg, const struct metricsfile_entry *entry)
{
    struct work *w = arg;
    struct user *u;

    /* the end of a step is no fault */
    if (entry->state == METRICSFILE_GONE || entry->state == METRICSFILE_TEMP ||
        entry->state == METRICSFILE_STALE)
        return 0;
    u = find_user(w, entry->st.st_uid);
    if (!u)
        return -1;
    if (entry->state == METRICSFILE_ODD)
        u->left[WHY_ODD]++;
    else if (entry->state == METRICSFILE_NAME)
        u->left[WHY_NAME]++;
    else if (entry->state == METRICSFILE_OWNER)
        u->left[WHY_OWNER]++;
    else if (u->uid == PAYER_NAMELESS)
        u->left[WHY_NAMELESS]++;
    else if (u->files == METRICSCOLLECT_FILES ||
             u->bytes + (uint64_t) entry->st.st_size > METRICSCOLLECT_BYTES)
        u->left[WHY_MANY]++;
    else {
        u->files++;
        u->bytes += (uint64_t) entry->st.st_size;
        return add_file(w, entry);
    }
    return 0;
}

/* --- read ----------------------------------------------------------------- */

/* Opens the file if it is still as it was listed, and as large as its series
 * allow. -1: it is not. */
static int open_file(const struct work *w, const struct file *file)
{
    uint64_t most = (uint64_t) w->c->series * SERIES_BYTES + (64 << 10);
    int fd = openhere_read(w->dir, file->name, S_IFREG);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == file->uid && st.st_nlink == 1 &&
        (uint64_t) st.st_size <= most &&
        (uint64_t) st.st_size <= METRICSCOLLECT_BYTES)
        return fd;
    close(fd);
    return -1;
}

/* Finds the job of each file, in its first lines. */
static int find_jobs(struct work *w)
{
    char head[HEAD_BYTES];

    for (size_t i = 0; i < w->n_files; i++) {
        struct file *file = &w->files[i];
        struct user *u = find_user(w, file->uid);
        int fd = open_file(w, file);
        ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

        if (fd >= 0)
            close(fd);
        if (!u)
            return -1;
        if (n > 0)
            file->job = metricstext_job(head, (size_t) n);
        if (n < 0)
            u->left[WHY_READ]++;
        else if (!file->job)
            u->left[WHY_JOB]++;
    }
    return 0;
}

/* --- whose a job is ------------------------------------------------------- */

/* Returns the job, added with its first owner if it is new; NULL: no memory. */
static struct job *find_job(struct work *w, uint64_t number, uid_t uid)
{
    struct job *job = keyed_find(&w->jobs, number);

    if (!job && (job = keyed_add(&w->jobs, number)))
        job->uid = uid;
    return job;
}

/* Takes a line of the state file: number, uid, 1 or 0, when Slurm did not know
 * the job, for whom, account, partition, separated by tabs; or "next" and a
 * uid. Only root can have written it, but a disk may have cut it, so bad lines
 * are passed over. */
static int take_state(struct work *w, char *line)
{
    enum { WORDS = 7, NUMBERS = 5 };
    static const uint64_t most[NUMBERS] = {UINT32_MAX, UINT32_MAX, 1,
                                           UINT64_MAX, UINT32_MAX};
    uint64_t numbers[NUMBERS];
    char *words[WORDS] = {line};
    struct job *job;
    size_t n = 1;

    for (char *at = line; *at; at++)
        if (*at == '\t' && n < WORDS) {
            *at = '\0';
            words[n++] = at + 1;
        }
    if (n == 2 && strcmp(words[0], "next") == 0 &&
        num_parse_u64(words[1], 0, UINT32_MAX, &numbers[0], NULL) == 0)
        w->next = numbers[0];
    if (n != WORDS)
        return 0;
    for (size_t i = 0; i < NUMBERS; i++)
        if (num_parse_u64(words[i], i == 0, most[i], &numbers[i], NULL) < 0)
            return 0;
    job = find_job(w, numbers[0], (uid_t) numbers[1]);
    if (!job)
        return -1;
    job->is_held = job->uid != PAYER_NAMELESS;
    job->is_known = numbers[2] != 0;
    job->asked = numbers[3];
    job->asker = (uid_t) numbers[4];
    snprintf(job->account, sizeof(job->account), "%s", words[5]);
    snprintf(job->partition, sizeof(job->partition), "%s", words[6]);
    return 0;
}

/* Reads what the last run has found; nothing of it is needed. */
static int read_state(struct work *w, int textfile)
{
    int fd = openhere_read(textfile, METRICSCOLLECT_STATE, S_IFREG), rc = 0;
    char *text = NULL, *line, *end;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        fileio_read_fd(fd, METRICSCOLLECT_STATE, STATE_BYTES, &text, NULL,
                       NULL) == 0)
        for (line = text; rc == 0 && (end = strchr(line, '\n'));
             line = end + 1) {
            *end = '\0';
            rc = take_state(w, line);
        }
    if (fd >= 0)
        close(fd);
    free(text);
    return rc;
}

/* Asks Slurm about the job, for a file of this user. */
static void ask_about(struct work *w, struct job *job, uid_t uid)
{
    struct metricscollect_job answer = {0};

    job->is_asked = true;
    job->asked = w->now;
    job->asker = uid;
    if (!w->c->ask(w->c->arg, job->number, &answer))
        return;
    job->is_known = true;
    job->asked = 0;
    job->uid = (uid_t) answer.uid;
    clean_text(answer.account, JP_CLEAN_UTF8, job->account,
               sizeof(job->account));
    clean_text(answer.partition, JP_CLEAN_UTF8, job->partition,
               sizeof(job->partition));
}

/* Whether there is a question about the job that was not asked lately. */
static bool is_open(const struct work *w, const struct job *job, uid_t uid)
{
    return !job->is_known && !job->is_asked &&
           (!job->asked || job->asker != uid || job->asked > w->now ||
            w->now - job->asked >= AGAIN_S);
}

/* Asks one question for the user. Returns false if he has none. */
static bool ask_for(struct work *w, struct user *u)
{
    for (size_t i = 0; i < w->n_files; i++) {
        const struct file *file = &w->files[i];
        struct job *job = file->uid == u->uid && file->job
                              ? keyed_find(&w->jobs, file->job)
                              : NULL;

        if (job && is_open(w, job, file->uid)) {
            u->asks++;
            ask_about(w, job, file->uid);
            return true;
        }
    }
    return false;
}

/* Asks Slurm whose jobs are, as often as one run may. Users take turns, one
 * question each, and the next run goes on with the next user: whatever some
 * users write, each of n users is asked about once in n /
 * METRICSCOLLECT_ALL_ASKS runs. */
static void ask_in_turn(struct work *w)
{
    size_t first = keyed_place(&w->users, w->next), asked = 0;

    for (size_t round = 0; round < METRICSCOLLECT_ASKS; round++)
        for (size_t i = 0; i < w->users.n; i++) {
            struct user *u = user_at(w, (first + i) % w->users.n);

            if (asked == METRICSCOLLECT_ALL_ASKS) {
                w->next = u->uid;
                return;
            }
            u->may_ask = (round == 0 || u->may_ask) && ask_for(w, u);
            asked += u->may_ask;
        }
}

/* Whether a file of this run is the user's and names the job. */
static bool is_claimed(const struct work *w, uint64_t number, uid_t uid)
{
    for (size_t i = 0; i < w->n_files; i++)
        if (w->files[i].job == number && w->files[i].uid == uid)
            return true;
    return false;
}

/* Decides which user owns each job: the one that Slurm names; else the owner of
 * the last run, while that user has a file; else the user whose files name the
 * job. A new job that files of several users name has no owner. */
static int settle_jobs(struct work *w)
{
    struct job *job;

    for (size_t i = 0; i < w->n_files; i++) {
        const struct file *file = &w->files[i];

        if (!file->job)
            continue;
        job = find_job(w, file->job, file->uid);
        if (!job)
            return -1;
        /* nobody's until now: of several users in the last run */
        if (!job->is_used && !job->is_known && !job->is_held)
            job->uid = file->uid;
        job->is_used = true;
    }
    if (w->c->ask)
        ask_in_turn(w);
    for (size_t i = 0; i < w->n_files; i++) {
        const struct file *file = &w->files[i];

        job = keyed_find(&w->jobs, file->job);
        if (!job || job->is_known)
            continue;
        if (job->is_held && !is_claimed(w, job->number, job->uid)) {
            job->is_held = false;
            job->uid = file->uid;
        }
        if (!job->is_held && job->uid != file->uid)
            job->uid = PAYER_NAMELESS;
    }
    return 0;
}

/* --- into one set --------------------------------------------------------- */

/* The series that each user may have: his limit, or his part of the node's. */
static size_t part_of_user(const struct work *w)
{
    size_t n = 0, part;

    for (size_t i = 0; i < w->users.n; i++)
        n += user_at(w, i)->files > 0;
    part = n ? w->c->node_series / n : 0;
    return part < w->c->user_series ? part : w->c->user_series;
}

/* Sets when the step's metrics were written. */
static void add_written(struct work *w, const struct file *file,
                        const struct metricstext *of)
{
    char job[24];
    double *v;

    snprintf(job, sizeof(job), "%" PRIu64, file->job);
    v = metrics_add(&w->set, &written, {"jobid", job}, {"step", of->step},
                    {"node", of->node});
    if (v)
        *v = (double) file->written;
}

/* Reads a file into the set. Returns -1 without memory. */
static int take_file(struct work *w, struct file *file, const struct job *job,
                     size_t part)
{
    struct user *u = find_user(w, file->uid);
    struct metricstext of = {
        .tables = w->c->tables, .job = file->job, .step = file->step};
    int fd = open_file(w, file), rc;
    char *text = NULL;
    size_t len = 0, left;

    if (!u)
        return -1;
    rc = fd < 0 ? -1
                : fileio_read_fd(fd, file->name, METRICSCOLLECT_BYTES, &text,
                                 &len, NULL);
    if (fd >= 0)
        close(fd);
    if (rc < 0) {
        u->left[WHY_READ]++;
        return 0;
    }
    left = part - u->series;
    of.user = u->name;
    of.account = job->is_known ? job->account : NULL;
    of.partition = job->is_known ? job->partition : NULL;
    of.max_series = left < w->c->series ? left : w->c->series;
    rc = metricstext_read(text, len, &of, &w->set);
    free(text);
    u->series += of.series;
    u->left[WHY_SERIES] += of.left_out;
    u->left[WHY_LINES] += of.bad_lines;
    if (of.bad_lines && !*u->bad)
        snprintf(u->bad, sizeof(u->bad), "%s: %s", file->name, of.bad);
    w->c->files++;
    w->c->written += of.series;
    if (rc == 0 && of.series)
        add_written(w, file, &of);
    return rc;
}

/* Reads all files whose user has the job. */
static int take_files(struct work *w)
{
    size_t part = part_of_user(w);

    for (size_t i = 0; i < w->n_files; i++) {
        struct file *file = &w->files[i];
        struct user *u = find_user(w, file->uid);
        struct job *job;

        if (!file->job)
            continue;
        job = u ? find_job(w, file->job, file->uid) : NULL;
        if (!job)
            return -1;
        if (job->uid != file->uid)
            u->left[WHY_JOB]++;
        else if (take_file(w, file, job, part) < 0)
            return -1;
    }
    return 0;
}

/* --- what was left out ---------------------------------------------------- */

/* All that was left out of a user, to order users by it. */
static uint64_t left_of(const struct user *u)
{
    uint64_t sum = 0;

    for (int i = 0; i < WHYS; i++)
        sum = num_add(sum, u->left[i]);
    return sum;
}

/* Most first. */
static int by_left(const void *a, const void *b)
{
    uint64_t x = left_of(a), y = left_of(b);

    return (x < y) - (x > y);
}

/* Adds the counts of a user to the set, under that name. */
static int add_left(struct work *w, const struct user *u, const char *name)
{
    for (int i = 0; i < WHYS; i++) {
        double *v;

        if (!u->left[i])
            continue;
        v = metrics_add(&w->set, &left_out, {"user", name},
                        {"why", whys[i].label});
        if (!v)
            return -1;
        v += whys[i].is_series ? LEFT_SERIES : LEFT_FILES;
        *v = (isnan(*v) ? 0 : *v) + (double) u->left[i];
    }
    return 0;
}

/* Makes the text about a user: "alice: 3 files beyond ...; ...". */
static int add_note(struct metricscollect *c, const struct user *u)
{
    char *text = text_format("%s", u->name), *more;
    const char *between = ": ";

    for (int i = 0; i < WHYS && text; i++)
        if (u->left[i]) {
            more = text_format("%s%s%" PRIu64 " %s", text, between, u->left[i],
                               whys[i].text);
            free(text);
            text = more;
            between = "; ";
        }
    if (text && *u->bad) {
        more = text_format("%s (first: %s)", text, u->bad);
        free(text);
        text = more;
    }
    if (!text || VECTOR_DOUBLE(c->notes, c->n_notes) < 0) {
        free(text);
        return -1;
    }
    c->notes[c->n_notes++] = text;
    return 0;
}

/* Tells of each user what was left out: the worst by name, the others as
 * "other". Users are in another order afterwards. */
static int tell_left(struct work *w)
{
    struct metricscollect *c = w->c;

    if (w->users.n)
        qsort(w->users.items, w->users.n, w->users.size, by_left);
    for (size_t i = 0; i < w->users.n && left_of(user_at(w, i)); i++) {
        const struct user *u = user_at(w, i);
        bool named = i < METRICSCOLLECT_USERS;

        for (int k = 0; k < WHYS; k++)
            if (k == WHY_LINES)
                c->bad_lines += u->left[k];
            else if (whys[k].is_series)
                c->left_series += u->left[k];
            else
                c->left_files += u->left[k];
        if (add_left(w, u, named ? u->name : "other") < 0 ||
            (named && add_note(c, u) < 0))
            return -1;
    }
    return 0;
}

/* --- write ---------------------------------------------------------------- */

/* The state for the next run: whose turn it is, and jobs that a file names and
 * somebody has, or that Slurm was asked about. NULL: no memory. */
static char *state_text(const struct work *w, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);

    if (out)
        fprintf(out, "next\t%" PRIu64 "\n", w->next);
    for (size_t i = 0; out && i < w->jobs.n; i++) {
        const struct job *job = (const struct job *) w->jobs.items + i;

        if (job->is_used && (job->uid != PAYER_NAMELESS || job->asked))
            fprintf(out, "%" PRIu64 "\t%lu\t%d\t%" PRIu64 "\t%lu\t%s\t%s\n",
                    job->number, (unsigned long) job->uid, job->is_known,
                    job->asked, (unsigned long) job->asker, job->account,
                    job->partition);
    }
    if (!out || fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The set as text. NULL and err: no memory. */
static char *set_text(struct work *w, size_t *len, struct jp_error *err)
{
    /* the limits are those of the users */
    const struct metrics_how how = {.format = METRICS_TEXT};
    char *text = NULL;
    FILE *out = open_memstream(&text, len);
    double *v = metrics_add_named(&w->set, &collector, NULL, 0);
    int rc = out && v ? 0 : error_set(err, "out of memory");

    if (rc == 0) {
        v[COLLECTED] = (double) time(NULL);
        v[COLLECT_FILES] = (double) w->c->files;
        rc = metrics_write(&w->set, &how, out, NULL, err);
    }
    if (out && fclose(out) != 0 && rc == 0)
        rc = error_set(err, "out of memory");
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

/* Replaces the output and the state. */
static int write_out(struct work *w, int textfile, struct jp_error *err)
{
    const char *folder = w->c->textfile;
    size_t n_text = 0, n_state = 0;
    char *text = set_text(w, &n_text, err), *state = state_text(w, &n_state);
    int rc = -1;

    if (!state && text)
        error_set(err, "out of memory");
    else if (text)
        rc = metricsfile_replace(textfile, METRICSCOLLECT_STATE, state, n_state,
                                 folder, err);
    if (rc == 0)
        rc = metricsfile_replace(textfile, METRICSCOLLECT_NAME, text, n_text,
                                 folder, err);
    free(text);
    free(state);
    return rc;
}

/* Opens node_exporter's folder if only its owner can change it. */
static int open_textfile(const char *folder, struct jp_error *err)
{
    int fd = metricsfile_open(folder, err);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)))
        return fd;
    close(fd);
    return error_set(err,
                     "%s: users can write to it (chmod 755; they write to "
                     "metrics.spool_dir)",
                     folder);
}

static void work_fini(struct work *w)
{
    payers_fini(&w->payers);
    metrics_fini(&w->set);
    for (size_t i = 0; i < w->n_files; i++)
        free(w->files[i].name);
    free(w->files);
    keyed_fini(&w->users);
    keyed_fini(&w->jobs);
    if (w->dir >= 0)
        close(w->dir);
}

/* From the spool to the set. Returns -1 without memory, or with err if the
 * spool cannot be used. */
static int collect_all(struct work *w, int textfile, struct jp_error *err)
{
    error_set(err, "out of memory");
    w->dir = metricsfile_open(w->c->spool, err);
    if (w->dir < 0 || metricsfile_each(w->c->spool, see_entry, w, err) < 0)
        return -1;
    return read_state(w, textfile) < 0 || find_jobs(w) < 0 ||
                   settle_jobs(w) < 0 || take_files(w) < 0 || tell_left(w) < 0
               ? -1
               : 0;
}

int metricscollect_run(struct metricscollect *c, struct jp_error *err)
{
    struct work w = {.c = c,
                     .users = KEYED(struct user),
                     .jobs = KEYED(struct job),
                     .now = (uint64_t) time(NULL),
                     .dir = -1};
    int textfile = open_textfile(c->textfile, err), rc = -1;

    metrics_init(&w.set);
    if (textfile >= 0) {
        rc = collect_all(&w, textfile, err);
        if (rc == 0)
            rc = write_out(&w, textfile, err);
        close(textfile);
    }
    for (size_t i = 0; i < w.users.n; i++)
        c->users += user_at(&w, i)->files > 0;
    work_fini(&w);
    /* last, because it may take long after an attack */
    if (rc == 0)
        rc = metricsfile_clean(c->spool, false, false, &c->cleaned, err);
    return rc;
}

void metricscollect_fini(struct metricscollect *c)
{
    for (size_t i = 0; i < c->n_notes; i++)
        free(c->notes[i]);
    free(c->notes);
    c->notes = NULL;
    c->n_notes = 0;
}
