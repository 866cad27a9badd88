/* alert.c - report a hang to the user.
 *
 * alert_print is the entry: it formats one sentence and one JSON object from
 * the event, then uses each way of reporting in turn: srun's terminal (through
 * slurmctld), the step's log, live/alerts.jsonl, and the command of on_hang.
 * The limits and the ways are described in livejoin.h. */
#include "orchestrator/live/livejoin.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/live/livesnap.h"

#define LINE_BYTES 512   /* on a terminal; slurmctld accepts more */
#define COMMAND_CPU_S 20 /* processor time of the command */
/* Largest file the command may write. */
#define COMMAND_FILE_BYTES (64ULL << 20)

/* The member "event" of an alert. */
static const char *const news_words[] = {
    [HUNG_NO_NEWS] = "note",
    [HUNG_SLOW] = "suspect",
    [HUNG_HANGS] = "hang",
    [HUNG_GOES_ON] = "goes_on",
};

/* --- texts ---------------------------------------------------------------- */

/* Formats the sentence as one line that is harmless to a terminal. */
static void format_line(const struct alert *alert,
                        const struct alert_event *event, const char *answer,
                        char *line, size_t size)
{
    const struct alert_place *place = &alert->place;
    unsigned long long seconds = event->waited_ms / 1000;
    const char *unheard = event->stuck && event->stuck->unheard
                              ? "; some nodes do not answer"
                              : "";
    char text[2 * LINE_BYTES];

    if (event->news == HUNG_GOES_ON)
        snprintf(text, sizeof(text),
                 "jobprof: step %s makes progress again after %llu s",
                 place->step, seconds);
    else if (event->news == HUNG_SLOW)
        snprintf(text, sizeof(text),
                 "jobprof: step %s: no progress for %llu s: "
                 "%s",
                 place->step, seconds, answer);
    else
        snprintf(text, sizeof(text),
                 "jobprof: step %s hangs, for %llu s: %s%s; see: jobprof show "
                 "--pending %s",
                 place->step, seconds, answer, unheard, place->dir);
    clean_text(text, JP_CLEAN_UTF8, line, size);
}

/* Returns the oldest operation of the group that hangs. Returns NULL for logs
 * of ended operations, for a step that makes progress again, or if the group is
 * unknown. */
static const struct hangs_op *op_of(const struct alert_event *event)
{
    const struct hung_cause *cause;
    const struct jp_hangs *hangs;

    if (event->silence || event->news == HUNG_GOES_ON)
        return NULL;
    cause = &event->stuck->cause;
    hangs = event->view->hangs;
    if (cause->group >= hangs->n_groups)
        return NULL;
    return &hangs->ops[hangs->groups[cause->group].first];
}

/* The process that keeps the others waiting; unknown for a step that makes
 * progress again. */
struct who {
    const char *class; /* NULL: unknown */
    int64_t rank;      /* in the communicator; -1: unknown */
    uint32_t process;  /* index; UINT32_MAX: unknown */
};

static struct who who_of(const struct alert_event *event)
{
    struct who who = {.rank = -1, .process = UINT32_MAX};
    bool goes_on = event->news == HUNG_GOES_ON;

    if (event->silence)
        who.class = LIVESTALL_CLASS;
    else if (op_of(event))
        who.class = hung_class_words[event->stuck->cause.class];
    if (event->silence && !goes_on) {
        who.rank = event->silence->rank;
        who.process = event->silence->process;
    } else if (op_of(event)) {
        who.rank = event->stuck->cause.rank;
        who.process = event->stuck->cause.process;
    }
    return who;
}

static void put_who(struct jp_json_stream *s, const struct alert_event *event)
{
    struct who who = who_of(event);
    const struct jp_hangs *hangs = event->view->hangs;
    const struct hangs_process *p = who.process < hangs->n_processes
                                        ? &hangs->processes[who.process]
                                        : NULL;
    int64_t world = hangs_job_rank(hangs, who.process);

    json_stream_text(s, "class", who.class);
    json_stream_known(s, "rank", who.rank >= 0, (uint64_t) who.rank);
    json_stream_known(s, "world_rank", world >= 0, (uint64_t) world);
    json_stream_text(s, "node", p ? p->host : NULL);
    json_stream_int(s, "pid", p ? p->pid : -1);
    json_stream_text(s, "gpu", p && *p->gpu ? p->gpu : NULL);
    json_stream_int(s, "task", p ? p->task : -1);
    json_stream_text(s, "state",
                     p ? hung_state_words[event->view->tasks[who.process].state]
                       : NULL);
}

/* Writes the operation. For a stall of logs this is the series in which a rank
 * is behind; its sequence number and size are unknown. */
static void put_op(struct jp_json_stream *s, const struct alert_event *event)
{
    const struct livestall *silence =
        event->silence && event->silence->cause == LIVESTALL_BEHIND &&
                event->news != HUNG_GOES_ON
            ? event->silence
            : NULL;
    const struct hangs_op *op = op_of(event);
    char id[24];

    if (silence)
        snprintf(id, sizeof(id), "0x%" PRIx64, silence->hash);
    /* A stall has a communicator and a function only. */
    json_stream_text(s, "comm", op ? op->id : silence ? id : NULL);
    json_stream_text(s, "comm_name", op ? op->name : NULL);
    json_stream_text(s, "function",
                     op        ? op->func
                     : silence ? silence->func
                               : NULL);
    json_stream_known(s, "sequence", op, op ? op->seq : 0);
    json_stream_known(s, "bytes", op, op ? op->bytes : 0);
    json_stream_known(s, "n_ranks", op || silence,
                      op        ? (uint64_t) op->n_ranks
                      : silence ? (uint64_t) silence->n_ranks_of
                                : 0);
}

/* All members are always present, so that readers need no tests for absent
 * ones. */
static void put_members(struct jp_json_stream *s, const struct alert *alert,
                        const struct alert_event *event, const char *line)
{
    json_stream_count(s, "version", 1);
    json_stream_count(s, "time_us", clock_real_us());
    json_stream_text(s, "event", news_words[event->news]);
    json_stream_count(s, "job", alert->place.job);
    json_stream_text(s, "step", alert->place.step);
    json_stream_text(s, "dir", alert->place.dir);
    json_stream_count(s, "hang", alert->hang);
    json_stream_count(s, "waited_ms", event->waited_ms);
    put_who(s, event);
    put_op(s, event);
    json_stream_text(s, "text", line);
}

/* Returns an object without a line end; the caller frees it. Returns NULL
 * without memory. */
static char *format_json(const struct alert *alert,
                         const struct alert_event *event, const char *line)
{
    struct jp_json_stream *s = malloc(sizeof(*s));
    char *text = NULL;
    size_t len = 0;
    FILE *out = s ? open_memstream(&text, &len) : NULL;

    if (out) {
        json_stream_open(s, JSON_PART, out);
        put_members(s, alert, event, line);
        if (json_stream_close(s, NULL) < 0)
            len = 0;
        if (fclose(out) != 0 || !len) {
            free(text);
            text = NULL;
        }
    }
    free(s);
    return text;
}

/* --- ways ----------------------------------------------------------------- */

/* Writes line and line end in a single write, so that concurrent appends do not
 * mix. Errors are ignored: the log has the line as well. */
static void append_alert(const struct alert *alert, const char *json)
{
    char *path = text_format("%s/" LIVE_ALERTS, alert->place.dir);
    char *line = text_format("%s\n", json);
    /* the user owns the directory and could put a link or a pipe there */
    int fd = path && line ? ownplace_append(path, NULL) : -1;
    struct stat st;

    if (fd >= 0) {
        if (fstat(fd, &st) == 0 && st.st_size < ALERT_FILE_BYTES)
            (void) !write(fd, line, strlen(line));
        close(fd);
    }
    free(line);
    free(path);
}

/* Counts the lines of a file of alerts. The file's size is bounded, so the
 * count is as well. */
static uint32_t count_lines(const char *path)
{
    char *text = NULL;
    uint32_t n = 0;

    if (fileio_read(path, false, ALERT_FILE_BYTES, &text, NULL, NULL) == 0)
        for (const char *at = text; (at = strchr(at, '\n')); at++)
            n++;
    free(text);
    return n;
}

/* Counts the alerts of all steps of the job. The limit is per job, and each
 * step has its own agent, so the files are the only common memory. A directory
 * name with glob characters matches other names or nothing; the count is then
 * too low, which is harmless. */
static uint32_t count_job(const struct alert *alert)
{
    char *job = stepdir_job_dir(alert->place.dir);
    char *pattern = job ? text_format("%s/step-*/" LIVE_ALERTS, job) : NULL;
    uint32_t n = 0;
    glob_t found;

    if (pattern && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && n < ALERT_OF_JOB; i++)
            n += count_lines(found.gl_pathv[i]);
        globfree(&found);
    }
    free(pattern);
    free(job);
    return n > alert->job_lines ? n : alert->job_lines;
}

/* Whether the step is ending: all nodes have left, the report exists, or the
 * agent was asked to end. Processes vanish in any order then, which looks like
 * a hang. A single node that has left does not count: the others may be waiting
 * for it. */
static bool is_ending(const struct alert *alert)
{
    sigset_t pending;

    /* SIGTERM is blocked in the agent, so it stays pending until the main loop
     * reads it */
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1)
        return true;
    return !stepdir_is_folder(alert->place.dir) ||
           stepdir_has(alert->place.dir, "alldone") ||
           barrier_is_reported(alert->place.dir);
}

/* Prints the line on srun's terminal, and counts it. */
static void print_alert(struct alert *alert, const char *line)
{
    const struct alert_place *place = &alert->place;

    if (place->notify)
        place->notify(place->notify_arg, place->job, line);
    else
        slurmjob_notify((uint32_t) place->job, line);
    alert->said++;
    alert->job_lines++;
}

/* --- the command ---------------------------------------------------------- */

struct command {
    const char *text, *json;
    const struct alert_place *place;
};

/* Lowers a limit of this process; never raises it above what is already
 * allowed. */
static void bound(int what, uint64_t most)
{
    struct rlimit now;

    if (getrlimit(what, &now) == 0) {
        if (now.rlim_max > most)
            now.rlim_max = most;
        now.rlim_cur = now.rlim_max;
        (void) setrlimit(what, &now);
    }
}

/* Sets the command's environment. PATH is only set if the agent has none. */
static void put_variables(const struct alert_place *place)
{
    char job[24];

    snprintf(job, sizeof(job), "%" PRIu64, place->job);
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 0);
    setenv("SLURM_JOB_ID", job, 1);
    setenv("SLURM_STEP_ID", place->step, 1);
    setenv("JOBPROF_DIR", place->dir, 1);
}

/* Runs in the child: puts the alert on standard input and starts the command. A
 * memory file is used because a pipe would need a writer for as long as the
 * command reads. Returns only if this fails; the values are those of a shell.
 */
static int run_command(void *arg, int out)
{
    const struct command *command = arg;
    int in = memfd_create("alert", MFD_CLOEXEC),
        null = open("/dev/null", O_RDWR);

    (void) out;
    if (in < 0 || null < 0)
        return 126;
    if (write(in, command->json, strlen(command->json)) < 0 ||
        write(in, "\n", 1) < 0 || lseek(in, 0, SEEK_SET) < 0)
        return 126;
    /* a group of its own, so that alert_tick can kill the command with its
     * children */
    setpgid(0, 0);
    dup2(in, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close_range(3, ~0U, 0);
    bound(RLIMIT_CPU, COMMAND_CPU_S);
    bound(RLIMIT_FSIZE, COMMAND_FILE_BYTES);
    bound(RLIMIT_CORE, 0);
    put_variables(command->place);
    execl("/bin/sh", "sh", "-c", command->text, (char *) NULL);
    return 127;
}

static void start_command(struct alert *alert, const char *json)
{
    struct command command = {alert->place.on_hang->command, json,
                              &alert->place};
    const struct child child = {.work = run_command, .arg = &command};
    pid_t pid;

    if (alert->command) /* one command at a time */
        return;
    pid = child_start(&child);
    if (pid > 0) {
        alert->command = pid;
        alert->command_ms = clock_mono_ms() + ALERT_COMMAND_MS;
    }
}

void alert_tick(struct alert *alert, uint64_t now_ms)
{
    int status;

    if (!alert->command ||
        child_await((pid_t) alert->command, 0, &status) != 0) {
        alert->command = 0;
        return;
    }
    if (now_ms >= alert->command_ms) {
        /* The child has not been reaped yet, so its number cannot have been
         * reused, neither as a process nor as a group. */
        kill(-(pid_t) alert->command, SIGKILL);
        kill((pid_t) alert->command, SIGKILL);
        alert_note(alert, "on_hang: the command took more than 30 s and was "
                          "killed");
        /* Do not kill it again. */
        alert->command_ms = UINT64_MAX;
    }
}

/* If it still runs when the agent ends, it is killed. */
void alert_fini(struct alert *alert)
{
    int status;

    if (alert->command && child_await((pid_t) alert->command, 0, &status) == 0)
        kill(-(pid_t) alert->command, SIGKILL);
    alert->command = 0;
}

/* --- all of it ------------------------------------------------------------ */

void alert_note(struct alert *alert, const char *text)
{
    if (alert->place.log && !is_ending(alert))
        alert->place.log(alert->place.log_arg, text);
}

void alert_print(struct alert *alert, const struct alert_event *event)
{
    const struct jp_onhang *on_hang = alert->place.on_hang;
    char answer[LINE_BYTES], line[LINE_BYTES];
    char *json;

    if (is_ending(alert))
        return;
    if (event->news != HUNG_GOES_ON) {
        if (event->silence)
            livestall_answer(event->silence, event->view, answer,
                             sizeof(answer));
        else
            hung_answer(event->view, &event->stuck->cause, answer,
                        sizeof(answer));
        /* The first line about a hang gives the hang its number. */
        alert->hang += !alert->told;
        alert->told = true;
    }
    format_line(alert, event, answer, line, sizeof(line));
    json = format_json(alert, event, line);
    alert->job_lines = count_job(alert);
    /* The limits concern the terminal only; the log and the file get every
     * alert. */
    if (alert->said < ALERT_OF_HANG && alert->job_lines < ALERT_OF_JOB)
        print_alert(alert, line);
    if (alert->place.log)
        alert->place.log(alert->place.log_arg, line);
    if (json)
        append_alert(alert, json);
    if (json && event->news == HUNG_HANGS && on_hang->kind == ONHANG_COMMAND)
        start_command(alert, json);
    /* The next alert belongs to a new hang. */
    if (event->news == HUNG_GOES_ON) {
        alert->said = 0;
        alert->told = false;
    }
    free(json);
}
