/* upload_command.c - `jobprof upload`: send a step's figures to Elasticsearch
 * or OpenSearch, also in the background after a report.
 *
 * Three things can be sent: the documents of steps (send_steps), a file of
 * documents that were refused before (send_again), and the outbox, where
 * documents wait for a server that did not answer (send_outbox). After a report
 * start_after_report runs this program again in the background, through the
 * outbox, so that nothing is lost if the server is down. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/fileio.h"
#include "common/lines.h"
#include "common/num.h"
#include "common/plan.h"
#include "common/quote.h"
#include "orchestrator/cmd/cmd.h"
#include "orchestrator/cmd/cmd_args.h"
#include "orchestrator/cmd/cmd_inputs.h"
#include "orchestrator/cmd/cmd_options.h"
#include "orchestrator/collect/nodelist.h"
#include "orchestrator/collect/slurmask.h"
#include "orchestrator/collect/stepdir.h"
#include "orchestrator/upload/upload.h"

/* Defaults and limits. */
#define OPERATIONS UINT64_C(1000000)
#define OUTBOX_BYTES (UINT64_C(1) << 30)
#define WAIT_MAX_MS 60000
#define DAY_US (UINT64_C(24) * 3600 * 1000000)

struct arguments {
    struct upload_to to;
    struct upload_what what;
    const char *credentials, *refused, *file, *word, *outbox_root;
    const char *server_user; /* who may listen on this machine */
    uint64_t outbox_bytes;
    bool outbox, dry_run, background;
    struct upload_credentials secret;
    struct jp_sitefile site;
    struct cmd_common common;
};

static const struct cmd_option rows[] = {
    {"to", "URL", "https://HOST:PORT (default: the site's settings)",
     OPT_TEXT(to.url)},
    {"credentials", "FILE",
     "user and password, or api_key, or bearer, as \"NAME = VALUE\"; owned by "
     "you or root, chmod 600",
     OPT_TEXT(credentials)},
    {"ca", "FILE", "certificates to trust instead of the system's",
     OPT_TEXT(to.ca)},
    {"server-user", "USER",
     "the user of a server on this machine that gets credentials over http, "
     "besides root and you",
     OPT_TEXT(server_user)},
    {"proxy", "URL", "a proxy; the environment's proxies are not used",
     OPT_TEXT(to.proxy)},
    {"detailed", "NAME", "index of operations (kibana_project_detailed)",
     OPT_TEXT(what.detailed)},
    {"summary", "NAME", "index of steps and cells (kibana_project_summary)",
     OPT_TEXT(what.summary)},
    {"operations", "N",
     "at most N documents of operations for each step (1000000, 0: none); of "
     "more, every nth is sent",
     OPT_COUNT(what.operations, 0, UINT32_MAX)},
    {"refused", "FILE",
     "file for refused documents (upload-refused.ndjson in the step's "
     "directory)",
     OPT_TEXT(refused)},
    {"file", "FILE", "send the documents of such a file again", OPT_TEXT(file)},
    {"outbox", NULL,
     "send documents that wait because the server did not answer",
     OPT_FLAG(outbox)},
    {"dry-run", NULL, "print the documents on standard output instead",
     OPT_FLAG(dry_run)},
    {"retries", "N", "retries of a batch that got no answer, 429 or 5xx (8)",
     OPT_COUNT(to.retries, 0, 100)},
    {"wait", "TIME", "time before the first retry (500ms), which doubles",
     OPT_TIME_MS(to.wait_ms, 1000, DAY_US)},
    {"time-limit", "TIME", "time limit of the whole upload (10m)",
     OPT_TIME_MS(to.limit_ms, 1000, DAY_US)},
    {"background", NULL, NULL, OPT_FLAG(background)},
    {"config", "FILE", "the site's settings", OPT_TEXT(common.config)},
    {"quiet", NULL, "print no counts", OPT_QUIET},
};

static const struct cmd_options command_line = {
    .command = "upload",
    .about =
        "usage: jobprof upload [--to URL] [options] DIR|JOBID[.STEP]\n"
        "       jobprof upload [--to URL] [options] --file FILE | --outbox\n\n"
        "Send the figures of a step, or of all steps of a job, to "
        "Elasticsearch or OpenSearch, for Kibana: a document for each "
        "operation, for each cell and for the step (docs/upload.md). Sending "
        "them again replaces them. Documents that the server refuses are "
        "counted and kept in a file.\n",
    CMD_ROWS(rows),
    .end = "Exit status: 0 ok, 2 usage, 3 some documents were refused, 4 no "
           "report, 5 the server does not answer or refuses all documents, or "
           "input or output failed.\n",
    .most = 1,
    .need = "needs one DIR or JOBID[.STEP], or --file, or --outbox",
};

/* Prints a usage error. Returns JP_EXIT_USAGE. */
static int usage(const char *what)
{
    return cmd_options_usage(&command_line, what);
}

/* Takes a setting of the site, unless an option has set it. */
static void take_site(const struct jp_sitefile *site, const char *key,
                      const char **to)
{
    const struct sitefile_value *v = sitefile_find(site, key);

    if (v && !*to)
        *to = v->value;
}

/* Reads the site's settings for everything that no option has set. Returns -1
 * to continue, otherwise an exit status. */
static int load_site(struct arguments *a)
{
    const char *operations = NULL, *bytes = NULL;
    struct jp_error err;

    if (plan_load_site(a->common.config, &a->site, &err) < 0)
        return cmd_args_fail("upload", JP_EXIT_USAGE, &err);
    /* the site's password must not go to a server that the user names */
    if (!a->to.url) {
        take_site(&a->site, "upload.credentials", &a->credentials);
        take_site(&a->site, "upload.ca", &a->to.ca);
        take_site(&a->site, "upload.proxy", &a->to.proxy);
        take_site(&a->site, "upload.server_user", &a->server_user);
    }
    take_site(&a->site, "upload.to", &a->to.url);
    take_site(&a->site, "upload.detailed", &a->what.detailed);
    take_site(&a->site, "upload.summary", &a->what.summary);
    take_site(&a->site, "upload.outbox", &a->outbox_root);
    /* numbers were checked when the file was loaded */
    take_site(&a->site, "upload.operations", &operations);
    take_site(&a->site, "upload.outbox_size", &bytes);
    /* not given; 0 is a valid number */
    if (a->what.operations == UINT64_MAX) {
        a->what.operations = OPERATIONS;
        if (operations)
            num_parse_u64(operations, 0, UINT32_MAX, &a->what.operations, NULL);
    }
    if (bytes)
        num_parse_size(bytes, 0, UINT64_MAX, &a->outbox_bytes, NULL);
    if (!a->what.detailed)
        a->what.detailed = UPLOAD_DETAILED;
    if (!a->what.summary)
        a->what.summary = UPLOAD_SUMMARY;
    return -1;
}

/* Whether the name is valid for an index: at most 200 bytes of lower-case
 * letters, digits, '-', '_' and '.', and none of these three at the start. */
static bool is_index(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");

    return n && !name[n] && n <= 200 && !strchr("-_.", *name);
}

/* Finds the user of a local server, given by name or number. */
static bool find_server_user(struct arguments *a)
{
    const struct passwd *entry;
    uint64_t uid;

    a->to.server_uid = (uid_t) -1;
    if (!a->server_user)
        return true;
    if (num_parse_u64(a->server_user, 0, UINT32_MAX - 1, &uid, NULL) < 0) {
        entry = getpwnam(a->server_user);
        if (!entry)
            return false;
        uid = entry->pw_uid;
    }
    a->to.server_uid = (uid_t) uid;
    return true;
}

/* Checks the settings and reads the credentials. Returns -1 to continue,
 * otherwise an exit status. */
static int check(struct arguments *a)
{
    struct jp_error err;

    if (!is_index(a->what.detailed) || !is_index(a->what.summary))
        return usage("the name of an index has lower-case letters, digits, - _ "
                     "and ., and begins with a letter or a digit");
    /* needs no server */
    if (a->dry_run)
        return -1;
    if (!upload_can_send())
        return usage("jobprof was built without libcurl");
    if (!a->to.url)
        return usage("--to URL is missing, and the site file has no upload.to");
    if (!find_server_user(a))
        return usage("--server-user (upload.server_user) is not a user");
    /* credentials are read last, so that --help and usage errors do not need
     * the file */
    if (upload_to_check(&a->to, a->credentials, &a->secret, &err) < 0)
        return cmd_args_fail("upload", JP_EXIT_USAGE, &err);
    return -1;
}

/* Returns -1 to continue, otherwise an exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
    int rc = cmd_options_parse(&command_line, argc, argv, a), left;

    if (rc >= 0)
        return rc;
    if (a->to.wait_ms > WAIT_MAX_MS)
        a->to.wait_ms = WAIT_MAX_MS;
    left = argc - optind;
    if (left == 1)
        a->word = argv[optind];
    /* exactly one of step, file and outbox */
    if ((left == 1) + (a->file != NULL) + a->outbox != 1)
        return usage(command_line.need);
    rc = load_site(a);
    return rc < 0 ? check(a) : rc;
}

/* Prints what was sent. made: the documents of a step, or NULL. */
static void print_done(const struct arguments *a, const char *what,
                       const struct upload_made *made,
                       const struct upload_done *done)
{
    if (a->common.quiet)
        return;
    quote_printf(stderr,
                 "jobprof: %s: %" PRIu64 " documents, %" PRIu64
                 " accepted, %" PRIu64 " refused; %" PRIu64
                 " requests of %" PRIu64 " bytes, %" PRIu64 " retries\n",
                 what, done->sent, done->accepted, done->refused, done->batches,
                 done->bytes, done->retries);
    if (done->refused)
        quote_printf(stderr, "jobprof: first refused: %s\n", done->why);
    /* sampled by --operations */
    if (made && made->detailed < made->operations)
        quote_printf(stderr,
                     "jobprof: %" PRIu64 " of %" PRIu64
                     " operations were sent (--operations)\n",
                     made->detailed, made->operations);
}

/* Sends the documents in `in`; allowed as for upload_send. Refused documents go
 * to the file `refused`. Returns an exit status. */
static int send_lines(const struct arguments *a, struct jp_lines *in,
                      const struct upload_allowed *allowed, const char *what,
                      const char *refused, const struct upload_made *made)
{
    struct upload_done done = {0};
    struct jp_tempfile file;
    struct jp_error err;
    int rc;

    if (fileio_output_open(&file, refused, &err) < 0)
        return cmd_args_fail("upload", JP_EXIT_IO, &err);
    rc = upload_send(in, &a->to, allowed, file.stream, &done, &err);
    print_done(a, what, made, &done);
    if (rc < 0)
        cmd_args_fail("upload", JP_EXIT_IO, &err);
    /* no empty file is left behind */
    if (!done.refused) {
        fileio_temp_abort(&file);
        return rc < 0 ? JP_EXIT_IO : JP_EXIT_OK;
    }
    if (fileio_temp_commit(&file, &err) < 0)
        return cmd_args_fail("upload", JP_EXIT_IO, &err);
    if (!a->common.quiet)
        quote_printf(stderr,
                     "jobprof: they are in %s; send them again with jobprof "
                     "upload --file\n",
                     refused);
    return rc < 0 ? JP_EXIT_IO : JP_EXIT_INCOMPLETE;
}

/* Sends the documents of one step. Returns an exit status. */
static int send_step(const struct arguments *a, const char *step)
{
    char *refused = a->refused ? strdup(a->refused)
                               : text_format("%s/upload-refused.ndjson", step);
    /* all documents are made before the first is sent: an error in the report
     * sends nothing */
    FILE *spool = a->dry_run ? stdout : tmpfile();
    struct upload_made made;
    struct jp_error err = {"out of memory"};
    struct jp_lines *in;
    int rc = JP_EXIT_IO;

    if (!refused || !spool) {
        cmd_args_fail("upload", rc, &err);
    } else if (upload_docs(step, &a->what, spool, &made, &err) < 0) {
        /* ENODATA: no report; otherwise not the directory of a job's step */
        rc = errno == ENODATA ? JP_EXIT_NODATA : JP_EXIT_USAGE;
        cmd_args_fail("upload", rc, &err);
    } else if (a->dry_run) {
        rc = JP_EXIT_OK;
    } else {
        /* the documents are read from its beginning */
        in = lines_open_fd(dup(fileno(spool)), step, &upload_lines, &err);
        rc = in ? send_lines(a, in, NULL, step, refused, &made)
                : cmd_args_fail("upload", rc, &err);
        lines_close(in);
    }
    if (spool && spool != stdout)
        fclose(spool);
    free(refused);
    return rc;
}

/* Returns the worst status of the steps: server unreachable, then refused, then
 * no data. */
static int send_steps(const struct arguments *a)
{
    struct jp_error err;
    char **steps = NULL;
    size_t n = 0;
    int rc = JP_EXIT_OK;

    if (cmd_inputs_steps(a->word, a->common.config, &steps, &n, &err) < 0)
        return cmd_args_fail("upload", JP_EXIT_USAGE, &err);
    /* without a server the next step would fail as well */
    for (size_t i = 0; i < n && rc != JP_EXIT_IO; i++) {
        int one = send_step(a, steps[i]);

        /* the first bad status stays, unless the server fails */
        rc = one == JP_EXIT_IO || rc == JP_EXIT_OK ? one : rc;
    }
    nodelist_free(steps, n);
    return rc;
}

/* Sends a file of documents again: those that this program could have written
 * for the owner of the file. Returns an exit status. */
static int send_again(const struct arguments *a)
{
    char *refused = a->refused ? strdup(a->refused)
                               : text_format("%s.refused", a->file);
    struct upload_allowed allowed = {.name = a->file, .what = &a->what};
    struct jp_error err = {"out of memory"};
    int fd = refused ? fileio_open_regular(a->file, true, &err) : -1, rc;
    struct jp_lines *in = NULL;
    char user[64];
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        upload_user_name(st.st_uid, user);
        allowed.any_user = st.st_uid == 0;
        allowed.uid = st.st_uid;
        allowed.user = user;
        in = lines_open_fd(fd, a->file, &upload_lines, &err);
    }
    rc = in ? send_lines(a, in, &allowed, a->file, refused, NULL)
            : cmd_args_fail("upload", JP_EXIT_IO, &err);
    lines_close(in);
    free(refused);
    return rc;
}

/* Adds to the outbox, which outlives this process, then sends what waits
 * there. */
static int send_outbox(const struct arguments *a)
{
    struct upload_outbox box = {
        .root = a->outbox_root, .what = &a->what, .max_bytes = a->outbox_bytes};
    struct upload_done done = {0};
    struct jp_error err;
    int rc = upload_outbox(&box, a->word, &a->to, &done, &err);

    if (rc == 0 && !a->background)
        print_done(a, box.folder, NULL, &done);
    free(box.folder);
    /* in the background the step's log is the only place for messages */
    if (a->background && a->word && rc < 0)
        stepdir_log(a->word, "upload: %s", err.text);
    else if (a->background && a->word)
        stepdir_log(a->word,
                    "upload: %" PRIu64 " documents, %" PRIu64 " refused",
                    done.sent, done.refused);
    else if (rc < 0)
        return cmd_args_fail("upload", JP_EXIT_IO, &err);
    return rc < 0 ? JP_EXIT_IO : done.refused ? JP_EXIT_INCOMPLETE : JP_EXIT_OK;
}

/* Asks Slurm's controller, which forgets a job some minutes after its end. */
static bool ask_slurm(uint64_t job_id, uid_t *uid)
{
    struct slurmjob job;

    if (!job_id || job_id > UINT32_MAX ||
        !slurmjob_get((uint32_t) job_id, JP_SLURMJOB_LAUNCH_MS, &job))
        return false;
    *uid = job.uid;
    return true;
}

/* The settings before options and the site file. */
static const struct arguments defaults = {
    .to = {.retries = 8, .wait_ms = 500, .limit_ms = UINT64_C(600000)},
    .what = {.operations = UINT64_MAX, .ask = ask_slurm},
    .outbox_bytes = OUTBOX_BYTES};

static int run_command(int argc, char **argv)
{
    struct arguments a = defaults;
    struct timespec now;
    int rc = parse_arguments(argc, argv, &a);

    clock_gettime(CLOCK_REALTIME, &now);
    /* retries of many steps must not coincide */
    srandom((unsigned) now.tv_nsec ^ (unsigned) getpid());
    if (rc < 0)
        rc = a.outbox || a.background ? send_outbox(&a)
             : a.file                 ? send_again(&a)
                                      : send_steps(&a);
    upload_credentials_fini(&a.secret);
    sitefile_fini(&a.site);
    return rc;
}

/* --- after a report ------------------------------------------------------- */

/* Runs this program's upload of one step. Called in a detached grandchild: the
 * report neither waits for it nor has to collect its status. */
static _Noreturn void run_background(const char *dir, const char *config)
{
    const char *argv[8] = {"jobprof", "upload", "--background", "-q", dir};

    if (config) {
        argv[5] = "--config";
        argv[6] = config;
    }
    /* no terminal, and no signal of the job's process group */
    if (setsid() < 0 || child_let_go() < 0)
        _exit(1);
    /* the step's user may already run the next program */
    if (nice(10) == -1) {
        /* no change */
    }
    execv("/proc/self/exe", (char *const *) argv);
    _exit(1);
}

/* Adds the step's documents to the outbox. The user's next upload sends them.
 */
static void leave_in_outbox(const char *dir, const char *config)
{
    struct arguments a = defaults;
    struct upload_outbox box = {.what = &a.what, .only_add = true};
    struct jp_error err;

    a.common.config = config;
    a.what.ask = NULL;        /* this process has had threads */
    if (load_site(&a) >= 0) { /* it has printed why */
        sitefile_fini(&a.site);
        return;
    }
    box.root = a.outbox_root;
    box.max_bytes = a.outbox_bytes;
    if (!is_index(a.what.detailed) || !is_index(a.what.summary))
        stepdir_log(dir, "upload: bad name of an index");
    else if (upload_outbox(&box, dir, &a.to, NULL, &err) < 0)
        stepdir_log(dir, "upload: %s", err.text);
    else
        stepdir_log(dir,
                    "upload: waits in %s; jobprof upload --outbox sends it",
                    box.folder);
    free(box.folder);
    sitefile_fini(&a.site);
}

/* Starts the upload of a reported step in the background if the site has set
 * upload.to. outside: only puts the step's documents into the user's outbox, in
 * this process. */
static void start_after_report(const char *dir, const char *config,
                               bool outside)
{
    struct jp_sitefile site = {0};
    bool asked = upload_can_send() &&
                 plan_load_site(config, &site, NULL) == 0 &&
                 sitefile_find(&site, "upload.to");
    pid_t child;

    sitefile_fini(&site);
    if (!asked)
        return;
    if (outside) {
        leave_in_outbox(dir, config);
        return;
    }
    child = fork();
    if (child == 0) {
        /* init collects the grandchild */
        if (fork() == 0)
            run_background(dir, config);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static const char *find_left(const struct jp_sitefile *site,
                             const char **command)
{
    if (!upload_can_send() || !sitefile_find(site, "upload.to"))
        return NULL;
    *command = "jobprof upload --outbox";
    return "the upload waits";
}

extern const struct command command_upload;
const struct command command_upload = {
    .name = "upload",
    .run = run_command,
    .summary = "send a step's figures to Elasticsearch (Kibana)",
    .follow = start_after_report,
    .when = COMMAND_AT_END,
    .left = find_left,
};
