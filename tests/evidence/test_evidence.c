/* test_evidence.c - the evidence of hanging processes; tools that hang, flood
 * or crash affect only their own part. The processes are this program, started
 * again with the word "stuck". */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/evidence/evidence.h"
#include "orchestrator/evidence/hangstacks.h"
#include "plugins/module.h"
#include "tests/common/skip.h"
#include "tests/common/tempdir.h"

/* --- the process that hangs ----------------------------------------------- */

/* What the process reports: the longest time for which it was not running. */
struct beat {
    _Atomic uint64_t beats, gap_us;
};

__attribute__((noinline)) static void wait_for_ever(void)
{
    for (;;)
        pause();
}

/* All threads have their names before the process counts. */
static pthread_barrier_t have_names;

static void *worker(void *arg)
{
    prctl(PR_SET_NAME, arg);
    pthread_barrier_wait(&have_names);
    wait_for_ever();
    return NULL;
}

__attribute__((noinline)) static void beat_for_ever(struct beat *beat)
{
    uint64_t last = clock_real_us();

    for (;;) {
        uint64_t now = clock_real_us();

        if (now - last > beat->gap_us)
            beat->gap_us = now - last;
        last = now;
        beat->beats++;
        usleep(500);
    }
}

static int stuck(const char *file)
{
    pthread_t thread;
    struct beat *beat;
    int fd;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_barrier_init(&have_names, NULL, 4);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, worker,
                       i ? (void *) "proxy" : (void *) "NCCL RAS");
    pthread_barrier_wait(&have_names);
    fd = open(file, O_RDWR);
    beat = mmap(NULL, sizeof(*beat), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    beat_for_ever(beat);
    return 0;
}

/* --- a step --------------------------------------------------------------- */

enum { HIM = 12345 };

struct step {
    char *dir, *bin, *beat_file, *old_path, *tools;
    struct beat *beat;
    pid_t pid;
    json_t *root; /* evidence.json */
};

static int step_make(void **state)
{
    struct step *s = calloc(1, sizeof(*s));
    void *dir;
    int fd;

    assert_non_null(s);
    assert_int_equal(tempdir_make(&dir), 0);
    s->dir = dir;
    s->bin = tempdir_path(s->dir, "bin");
    s->beat_file = tempdir_file(s->dir, "beat", 0600, "");
    assert_int_equal(mkdir(s->bin, 0700), 0);
    fd = open(s->beat_file, O_RDWR);
    assert_int_equal(ftruncate(fd, sizeof(struct beat)), 0);
    s->beat = mmap(NULL, sizeof(struct beat), PROT_READ | PROT_WRITE,
                   MAP_SHARED, fd, 0);
    assert_true(s->beat != MAP_FAILED);
    close(fd);
    s->old_path = strdup(getenv("PATH"));
    assert_true(asprintf(&s->tools, "%s:%s", s->bin, s->old_path) > 0);
    *state = s;
    return 0;
}

static void end_process(struct step *s)
{
    if (s->pid) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    s->pid = 0;
}

static int step_drop(void **state)
{
    struct step *s = *state;
    void *dir = s->dir;

    end_process(s);
    setenv("PATH", s->old_path, 1);
    munmap(s->beat, sizeof(struct beat));
    json_decref(s->root);
    tempdir_drop(&dir);
    free(s->bin);
    free(s->beat_file);
    free(s->old_path);
    free(s->tools);
    free(s);
    return 0;
}

/* Starts it as that user, with variables "NAME=VALUE" in its environment, NULL
 * at the end. */
static void start_as(struct step *s, uid_t uid, const char *const *variables)
{
    s->beat->beats = 0;
    s->pid = fork();
    if (s->pid == 0) {
        if (setresuid(uid, uid, uid) < 0)
            _exit(1);
        for (; variables && *variables; variables++)
            putenv((char *) *variables);
        execl("/proc/self/exe", "test_evidence", "stuck", s->beat_file,
              (char *) NULL);
        _exit(1);
    }
    assert_true(s->pid > 0);
    while (s->beat->beats < 20)
        usleep(1000);
}

static void start(struct step *s, const char *const *variables)
{
    start_as(s, geteuid(), variables);
}

/* Puts a program of that name at the front of the tools, and nothing else of
 * its folder. */
static void put_tool(struct step *s, const char *name, const char *text)
{
    free(tempdir_file(s->bin, name, 0755, text));
}

static struct evidence_order order_of(const struct step *s)
{
    return (struct evidence_order){
        .dir = s->dir,
        .node = "n1",
        .root = "",
        .step = {.uid = geteuid()},
        .tools = s->tools,
        .what = "rank 3 never entered AllReduce 9",
        .targets = {{.pid = s->pid, .task = 3, .role = EVIDENCE_MISSING}},
        .n_targets = 1,
        .no_ras = "not here",
        .no_gpus = true};
}

static void take(struct step *s, const struct evidence_order *order)
{
    char *path = tempdir_path(s->dir, "hang/n1/evidence.json");
    struct jp_error err = {""};
    json_error_t why;

    if (evidence_take(order, &err) < 0)
        fail_msg("%s", err.text);
    json_decref(s->root);
    s->root = json_load_file(path, 0, &why);
    assert_non_null(s->root);
    free(path);
}

/* A part's "why", or its "file". */
static const char *part(const struct step *s, const char *name, const char *key)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(s->root, "parts"), i, one)
    {
        if (!strcmp(json_string_value(json_object_get(one, "part")), name))
            return json_string_value(json_object_get(one, key));
    }
    return "no such part";
}

static json_t *process(const struct step *s)
{
    return json_array_get(json_object_get(s->root, "processes"), 0);
}

static uint64_t size_of(const struct step *s, const char *name)
{
    char *below = NULL, *path;
    struct stat st = {.st_size = 0};

    assert_true(asprintf(&below, "hang/n1/%s", name) > 0);
    path = tempdir_path(s->dir, below);
    stat(path, &st);
    free(below);
    free(path);
    return (uint64_t) st.st_size;
}

/* The process continues: its loop counts. */
static void goes_on(const struct step *s)
{
    uint64_t beats = s->beat->beats, end_ms = clock_mono_ms() + 60000;

    while (s->beat->beats < beats + 5 && clock_mono_ms() < end_ms)
        usleep(1000);
    assert_true(s->beat->beats >= beats + 5);
}

static bool has_tool(const char *name)
{
    char *line = NULL;
    bool there;

    assert_true(asprintf(&line, "command -v %s >/dev/null 2>&1", name) > 0);
    there = system(line) == 0;
    free(line);
    return there;
}

/* --- /proc ---------------------------------------------------------------- */

static void threads_are_told(void **state)
{
    struct step *s = *state;
    struct evidence_order order;
    json_t *threads, *one;
    size_t i, named = 0;

    put_tool(s, "eu-stack", "#!/bin/sh\nexit 0\n");
    start(s, NULL);
    order = order_of(s);
    take(s, &order);
    assert_string_equal(json_string_value(json_object_get(s->root, "hang")),
                        "rank 3 never entered AllReduce 9");
    assert_int_equal(json_integer_value(json_object_get(process(s), "task")),
                     3);
    assert_string_equal(json_string_value(json_object_get(process(s), "role")),
                        "missing");
    threads = json_object_get(process(s), "threads");
    assert_int_equal(json_array_size(threads), 4);
    json_array_foreach(threads, i, one)
    {
        named += !strcmp(json_string_value(json_object_get(one, "name")),
                         "NCCL RAS");
        assert_true(json_is_integer(json_object_get(one, "cpu_ms_after")));
        assert_non_null(
            strchr("SRD", *json_string_value(json_object_get(one, "state"))));
    }
    assert_int_equal(named, 1);
    assert_string_equal(part(s, "threads", "why"), "");
    goes_on(s);
}

static void nobody_else_is_touched(void **state)
{
    static const char *const job[] = {"SLURM_JOB_ID=7", NULL};
    struct step *s = *state;
    struct evidence_order order;

    put_tool(s, "eu-stack", "#!/bin/sh\necho PID 1\n");
    start(s, job);
    order = order_of(s);
    order.step.job = 8;
    take(s, &order);
    assert_string_equal(part(s, "threads", "why"),
                        "the process has ended, or belongs to another job");
    assert_string_equal(part(s, "eu-stack", "why"), "no such part");
    order.step.job = 7;
    take(s, &order);
    assert_string_equal(part(s, "threads", "why"), "");
    assert_string_equal(part(s, "eu-stack", "why"), "");
    /* a process that has ended */
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
    take(s, &order);
    assert_string_not_equal(part(s, "threads", "why"), "");
}

#define STAT "4 (a ) b) D 1 1 1 0 -1 1 1 1 1 1 250 50 0 0 20 0 1 0 777 0 0\n"

/* A thread in state D: a tool that is killed would leave a pending signal. */
static void waits_in_the_kernel(void **state)
{
    struct step *s = *state;
    struct evidence_order order = order_of(s);
    char *root = tempdir_path(s->dir, "fake");
    char line[200], *path = NULL;

    put_tool(s, "eu-stack", "#!/bin/sh\necho PID 1\n");
    snprintf(line, sizeof(line), "mkdir -p %s/proc/4/task/4", root);
    assert_int_equal(system(line), 0);
    assert_true(asprintf(&path, "%s/proc/4/task/4", root) > 0);
    free(tempdir_file(path, "stat", 0600, STAT));
    tempdir_status(root, 4, geteuid(), "");
    free(tempdir_file(root, "proc/4/stat", 0600, STAT));
    free(tempdir_file(path, "comm", 0600, "a ) b\n"));
    free(tempdir_file(path, "wchan", 0600, "fuse_wait"));
    order.root = root;
    order.targets[0].pid = 4;
    take(s, &order);
    assert_string_equal(part(s, "eu-stack", "why"),
                        "a thread waits in the kernel, state D");
    assert_int_equal(
        json_integer_value(json_object_get(
            json_array_get(json_object_get(process(s), "threads"), 0),
            "cpu_ms")),
        300 * 1000 / (int) sysconf(_SC_CLK_TCK));
    free(path);
    free(root);
}

/* --- tools ---------------------------------------------------------------- */

static void stacks_are_real(void **state)
{
    struct step *s = *state;
    struct evidence_order order;
    struct hangstacks *view = NULL;
    char *folder = tempdir_path(s->dir, "hang/n1");
    bool waits = false, beats = false;
    char text[HANGSTACKS_TEXT];

    if (!has_tool("eu-stack")) {
        free(folder);
        skip_check("no eu-stack here");
    }
    start(s, NULL);
    s->beat->gap_us = 0;
    order = order_of(s);
    take(s, &order);
    goes_on(s);
    print_message("# longest gap of the target: %llu us\n",
                  (unsigned long long) s->beat->gap_us);
    /* 50 ms on an idle machine; a stop until the end would be longer */
    assert_true(s->beat->gap_us < 3000000);
    assert_string_equal(part(s, "eu-stack", "why"), "");
    assert_int_equal(hangstacks_load_node(folder, &view, NULL), 0);
    for (size_t i = 0; i < view->n_branches; i++) {
        const struct hangstacks_branch *b = &view->branches[i];

        assert_string_equal(b->in, "3");
        assert_string_equal(b->out, "");
        for (size_t k = 0; k < b->n_frames; k++) {
            waits |= !strcmp(b->thread, "thread NCCL RAS") &&
                     strstr(b->frames[k], "wait_for_ever") != NULL;
            beats |= !strcmp(b->thread, "main thread") &&
                     strstr(b->frames[k], "beat_for_ever") != NULL;
        }
    }
    assert_true(waits && beats);
    assert_non_null(strstr(hangstacks_text(view, text), "1 process of 1 node"));
    hangstacks_destroy(view);
    free(folder);
}

static void bad_tools(void **state)
{
    static const struct {
        const char *name, *tool, *why;
        uint64_t size; /* of the file */
    } cases[] = {
        {"hangs", "trap '' TERM\nsleep 1000 &\nwait\nsleep 1000",
         "it took too long and was killed", 0},
        {"hangs with output", "echo TID 1:\ntrap '' TERM\nsleep 1000",
         "it took too long and was killed", 7},
        {"stops it and hangs",
         "for a; do pid=$a; done\nkill -STOP $pid\nsleep 1000",
         "it took too long and was killed", 0},
        {"crashes", "kill -SEGV $$", "it failed", 0},
        {"fails", "echo no >&2\nexit 2", "it failed: see its file", 3},
        {"partly", "echo TID 1:\nexit 1", "", 7},
        {"floods", "head -c 100000000 /dev/zero | tr '\\0' x", "",
         EVIDENCE_STACK_BYTES},
        {"not there", "exit 127", "it is not installed", 0},
    };
    struct step *s = *state;
    struct evidence_order order;

    start(s, NULL);
    order = order_of(s);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t begin = clock_mono_ms();
        char script[300], file[64];

        snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", cases[i].tool);
        put_tool(s, "eu-stack", script);
        order.limit_ms = 4000;
        take(s, &order);
        if (strcmp(part(s, "eu-stack", "why"), cases[i].why))
            fail_msg("%s: %s", cases[i].name, part(s, "eu-stack", "why"));
        snprintf(file, sizeof(file), "stack-%d.txt", (int) s->pid);
        assert_int_equal(size_of(s, file), cases[i].size);
        /* far less than its 1000 s */
        assert_true(clock_mono_ms() - begin < 60000);
        goes_on(s);
        file[0] = '\0';
        snprintf(script, sizeof(script), "rm -rf %s/hang", s->dir);
        assert_int_equal(system(script), 0);
    }
}

/* A driver that does not answer costs only its own time, and stacks are still
 * taken. */
static void gpus_hang(void **state)
{
    struct step *s = *state;
    struct evidence_order order;

    put_tool(s, "eu-stack", "#!/bin/sh\necho TID 1:\n");
    put_tool(s, "nvidia-smi", "#!/bin/sh\nsleep 1000\n");
    start(s, NULL);
    order = order_of(s);
    order.no_gpus = false;
    order.limit_ms = 8000;
    take(s, &order);
    assert_string_equal(part(s, "nvidia-smi", "why"),
                        "it took too long and was killed");
    assert_string_equal(part(s, "eu-stack", "why"), "");
    put_tool(s, "nvidia-smi", "#!/bin/sh\necho \"$@\"\n");
    take(s, &order);
    assert_string_equal(part(s, "nvidia-smi", "why"), "");
    assert_string_equal(part(s, "nvidia-smi", "file"), "gpus.txt");
    goes_on(s);
}

/* --- PyTorch's flight recorder -------------------------------------------- */

struct recorder {
    char *pipe, *dump;
    bool writes;
};

static void *record(void *arg)
{
    const struct recorder *r = arg;
    int fd = open(r->pipe, O_RDONLY);
    char byte;

    if (read(fd, &byte, 1) == 1 && r->writes) {
        FILE *file = fopen(r->dump, "w");

        fputs("pickle", file);
        fclose(file);
    }
    close(fd);
    return NULL;
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);

    return len >= n && !strcmp(text + len - n, end);
}

/* The variables of older and of newer releases, and where the dump goes
 * without one. */
static void record_by(struct step *s, const char *pipe_name,
                      const char *dump_name, const char *dump_file)
{
    static const struct {
        bool fifo, reader, writes;
        const char *why;
    } cases[] = {
        {true, true, true, ""},
        {true, true, false, "requested, but no file was written"},
        {true, false, false, "no process reads its pipe"},
        {false, false, false, "its pipe is not a pipe of the user"},
    };
    struct recorder r = {.pipe = tempdir_path(s->dir, "fr3.pipe"),
                         .dump = tempdir_path(s->dir, dump_file)};
    char pipe[300], dump[300];
    const char *const variables[] = {"RANK=3", pipe, dump, NULL};
    struct evidence_order order;

    put_tool(s, "eu-stack", "#!/bin/sh\nexit 0\n");
    snprintf(pipe, sizeof(pipe), "%s=%s/fr", pipe_name, s->dir);
    snprintf(dump, sizeof(dump), "%s=%s%s", dump_name, s->dir,
             strcmp(dump_file, "dump3") ? "" : "/dump");
    start(s, variables);
    order = order_of(s);
    order.limit_ms = 13000;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        pthread_t thread;

        if (cases[i].fifo)
            assert_int_equal(mkfifo(r.pipe, 0600), 0);
        else
            free(tempdir_file(s->dir, "fr3.pipe", 0600, ""));
        r.writes = cases[i].writes;
        if (cases[i].reader) {
            int fd;

            assert_int_equal(pthread_create(&thread, NULL, record, &r), 0);
            /* the process has the pipe open */
            while ((fd = open(r.pipe, O_WRONLY | O_NONBLOCK)) < 0)
                usleep(1000);
            take(s, &order);
            close(fd);
            pthread_join(thread, NULL);
        } else {
            take(s, &order);
        }
        assert_string_equal(part(s, "flight recorder", "why"), cases[i].why);
        assert_int_equal(
            !*cases[i].why,
            ends_in(part(s, "flight recorder", "file"), "-rank3.pickle"));
        unlink(r.pipe);
        unlink(r.dump);
    }
    free(r.pipe);
    free(r.dump);
}

static void flight_recorder(void **state)
{
    record_by(*state, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
              "TORCH_FR_DUMP_TEMP_FILE", "dump3");
}

static void flight_recorder_new_pipe(void **state)
{
    record_by(*state, "TORCH_FR_DEBUG_INFO_PIPE_FILE",
              "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "dump3");
}

static void flight_recorder_default(void **state)
{
    struct step *s = *state;
    char *cache = tempdir_path(s->dir, ".cache");
    char *torch = tempdir_path(s->dir, ".cache/torch");

    assert_int_equal(mkdir(cache, 0700), 0);
    assert_int_equal(mkdir(torch, 0700), 0);
    free(torch);
    free(cache);
    record_by(s, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "HOME",
              ".cache/torch/comm_lib_trace_rank_3");
}

/* --- RAS ------------------------------------------------------------------ */

static void ras_is_gated(void **state)
{
    static const char *const off[] = {"NCCL_RAS_ENABLE=0", NULL};
    struct step *s = *state;
    struct evidence_order order;

    put_tool(s, "eu-stack", "#!/bin/sh\nexit 0\n");
    start(s, off);
    order = order_of(s);
    take(s, &order);
    assert_string_equal(part(s, "RAS", "why"), "not here");
    order.no_ras = NULL;
    take(s, &order);
    assert_string_equal(part(s, "RAS", "why"),
                        "it is switched off: NCCL_RAS_ENABLE=0");
}

/* The address is that of the processes, where the test listens and never
 * answers. */
static void ras_address(void **state)
{
    static const struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    struct step *s = *state;
    char *asked = tempdir_path(s->dir, "hang/.ras-asked"), address[64];
    const char *const there[] = {address, NULL};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct evidence_order order;

    put_tool(s, "eu-stack", "#!/bin/sh\nexit 0\n");
    assert_int_equal(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *) &at, &len), 0);
    snprintf(address, sizeof(address), "NCCL_RAS_ADDR=127.0.0.1:%d",
             ntohs(at.sin_port));
    start(s, there);
    order = order_of(s);
    order.no_ras = NULL;
    order.limit_ms = 9000;
    /* nothing listens yet: another node may ask */
    take(s, &order);
    assert_non_null(strstr(part(s, "RAS", "why"), "RAS does not listen at "));
    assert_int_not_equal(access(asked, F_OK), 0);
    assert_int_equal(listen(fd, 64), 0);
    take(s, &order);
    assert_string_equal(part(s, "RAS", "why"),
                        "RAS does not accept the connection");
    /* once per hang, whichever node asks */
    take(s, &order);
    assert_string_equal(
        part(s, "RAS", "why"),
        "it was queried a moment ago, from this or another node");
    assert_int_equal(utimensat(AT_FDCWD, asked, long_ago, 0), 0);
    take(s, &order);
    assert_string_equal(part(s, "RAS", "why"),
                        "RAS does not accept the connection");
    close(fd);
    free(asked);
}

/* --- the tasks of a step -------------------------------------------------- */

static void tasks_are_found(void **state)
{
    static const char *const variables[] = {"SLURM_JOB_ID=123456789",
                                            "SLURM_STEP_ID=2", "SLURM_PROCID=5",
                                            "SLURMD_NODENAME=n1", NULL};
    struct step *s = *state;
    struct proclook_step step = {geteuid(), 123456789, "2", "n1"};
    struct proclook_task tasks[4];

    start(s, variables);
    assert_int_equal(proclook_tasks("", &step, tasks, 4), 1);
    assert_int_equal(tasks[0].pid, s->pid);
    assert_int_equal(tasks[0].task, 5);
    assert_int_equal(tasks[0].threads, 4);
    assert_true(tasks[0].start > 0);
    step.node = "n2";
    assert_int_equal(proclook_tasks("", &step, tasks, 4), 0);
    step.node = NULL;
    assert_int_equal(proclook_tasks("", &step, tasks, 4), 1);
    step.step = "3";
    assert_int_equal(proclook_tasks("", &step, tasks, 4), 0);
    step.step = "2";
    step.job--;
    assert_int_equal(proclook_tasks("", &step, tasks, 4), 0);
    step.job++;
    step.uid++;
    assert_int_equal(proclook_tasks("", &step, tasks, 4), 0);
}

/* --- whose it is -----------------------------------------------------------
 */

#define PY_SPY                                                                 \
    "#!/bin/sh\ntouch %s/ran\necho 'Thread 1 (idle): \"MainThread\"'\n"

/* A py-spy that notes that it was run, in a folder that only the process's PATH
 * has; its variable "PATH=..." in out. */
static void put_py_spy(struct step *s, char *out, size_t size)
{
    char text[300];

    snprintf(text, sizeof(text), PY_SPY, s->dir);
    put_tool(s, "py-spy", text);
    snprintf(out, size, "PATH=%s", s->bin);
}

static bool has_run(const struct step *s)
{
    char *path = tempdir_path(s->dir, "ran");
    bool yes = access(path, F_OK) == 0;

    free(path);
    return yes;
}

/* Root runs the test as another user, in a process of its own. */
static void as_user(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        /* the words of the inner test are not ours */
        dup2(STDERR_FILENO, STDOUT_FILENO);
        if (setresgid(HIM, HIM, HIM) == 0 && setresuid(HIM, HIM, HIM) == 0)
            execl("/proc/self/exe", "test_evidence", "user", (char *) NULL);
        _exit(2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* As called by an agent: without the user's PATH, and with pids only. */
static void the_users_own(void **state)
{
    struct step *s = *state;
    char path[300];
    const char *const variables[] = {"SLURM_PROCID=5", path, NULL};
    struct evidence_order order;

    if (geteuid() == 0) {
        as_user();
        return;
    }
    put_py_spy(s, path, sizeof(path));
    start(s, variables);
    unsetenv("PATH");
    order = order_of(s);
    order.tools = NULL;
    order.targets[0].task = -1;
    take(s, &order);
    assert_string_equal(part(s, "py-spy", "why"), "");
    assert_true(has_run(s));
    assert_int_equal(json_integer_value(json_object_get(process(s), "task")),
                     5);
}

/* Root's own process may be in a container or folder of somebody else. */
static void root_takes_no_path(void **state)
{
    struct step *s = *state;
    char path[300];
    const char *const variables[] = {path, NULL};
    struct evidence_order order;

    if (geteuid() != 0)
        skip_check("only root can make files of two users");
    put_py_spy(s, path, sizeof(path));
    start(s, variables);
    order = order_of(s);
    order.tools = NULL;
    for (int i = 0; i < 2; i++) {
        take(s, &order);
        assert_string_equal(part(s, "threads", "why"), "");
        assert_string_not_equal(part(s, "py-spy", "why"), "no such part");
        assert_false(has_run(s));
        assert_null(strstr(getenv("PATH"), s->bin));
        /* nor from its own environment */
        setenv("PATH", s->bin, 1);
    }
}

/* The attack: another user's process has the number of a dead rank of root's
 * step, and the job, paths and addresses in its environment. */
static void anothers_process(void **state)
{
    struct step *s = *state;
    char path[300], pipe[300], dump[300];
    const char *const variables[] = {"SLURM_JOB_ID=7",
                                     "SLURM_STEP_ID=0",
                                     "SLURM_PROCID=3",
                                     "RANK=3",
                                     path,
                                     pipe,
                                     dump,
                                     "NCCL_RAS_ADDR=127.0.0.1:1",
                                     NULL};
    struct proclook_task tasks[4];
    struct evidence_order order;

    if (geteuid() != 0)
        skip_check("only root has processes of two users");
    put_py_spy(s, path, sizeof(path));
    assert_int_equal(chmod(s->dir, 0755), 0);
    assert_int_equal(chmod(s->beat_file, 0666), 0);
    snprintf(pipe, sizeof(pipe), "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=%s/fr",
             s->dir);
    snprintf(dump, sizeof(dump), "TORCH_FR_DUMP_TEMP_FILE=%s/dump", s->dir);
    start_as(s, HIM, variables);
    order = order_of(s);
    order.step = (struct proclook_step){0, 7, "0", "n1"};
    order.no_ras = NULL;
    order.tools = NULL;
    take(s, &order);
    assert_string_equal(part(s, "threads", "why"),
                        "the process with this number belongs to another user");
    assert_string_equal(part(s, "eu-stack", "why"), "no such part");
    assert_string_equal(part(s, "py-spy", "why"), "no such part");
    assert_string_equal(part(s, "flight recorder", "why"), "no such part");
    /* not his address, but NCCL's own */
    assert_null(strstr(part(s, "RAS", "why"), "127.0.0.1:1 "));
    assert_false(has_run(s));
    assert_null(strstr(getenv("PATH"), s->bin));
    assert_false(json_is_true(json_object_get(process(s), "there")));
    /* nor is he a task of root's step */
    assert_int_equal(proclook_tasks("", &order.step, tasks, 4), 0);
    /* and in his own step he is */
    order.step.uid = HIM;
    assert_int_equal(proclook_tasks("", &order.step, tasks, 4), 1);
}

/* A process of the same user that started later than the recorded one. */
static void later_process(void **state)
{
    struct step *s = *state;
    struct evidence_order order;
    struct ownproc proc;

    put_tool(s, "eu-stack", "#!/bin/sh\necho PID 1\n");
    start(s, NULL);
    order = order_of(s);
    assert_int_equal(
        ownproc_open(&(struct ownproc_name){"", s->pid, 0, 0, geteuid()}, &proc,
                     NULL),
        0);
    order.targets[0].start = proc.start - 1;
    take(s, &order);
    assert_string_equal(
        part(s, "threads", "why"),
        "the process has ended, and another one has its number");
    assert_string_equal(part(s, "eu-stack", "why"), "no such part");
    order.targets[0].start = proc.start;
    take(s, &order);
    assert_string_equal(part(s, "threads", "why"), "");
    assert_string_equal(part(s, "eu-stack", "why"), "");
    assert_int_equal(json_integer_value(json_object_get(process(s), "start")),
                     (json_int_t) proc.start);
    ownproc_close(&proc);
}

/* While a tool runs, the process may end and its number pass on: what the tool
 * has read is not kept. */
static void ends_while_traced(void **state)
{
    struct step *s = *state;
    struct evidence_order order;
    char file[64];

    put_tool(s, "eu-stack",
             "#!/bin/sh\nfor a; do pid=$a; done\nkill -KILL $pid\n"
             "echo 'TID 1:'\nsleep 0.2\n");
    start(s, NULL);
    order = order_of(s);
    take(s, &order);
    assert_string_equal(part(s, "eu-stack", "why"), "the process has ended");
    assert_string_equal(part(s, "eu-stack", "file"), "");
    assert_string_equal(part(s, "py-spy", "why"), "the process has ended");
    snprintf(file, sizeof(file), "stack-%d.txt", (int) s->pid);
    assert_int_equal(size_of(s, file), 0);
}

/* The name of the dump leads to something else. */
static void foreign_dumps(void **state)
{
    struct step *s = *state;
    char *pipe_file = tempdir_path(s->dir, "fr3.pipe"),
         *dump_file = tempdir_path(s->dir, "dump3"),
         *secret = tempdir_file(s->dir, "secret", 0600, "secret");
    char pipe[300], dump[300];
    const char *const variables[] = {"RANK=3", pipe, dump, NULL};
    struct evidence_order order;
    int reader;

    put_tool(s, "eu-stack", "#!/bin/sh\nexit 0\n");
    snprintf(pipe, sizeof(pipe), "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=%s/fr",
             s->dir);
    snprintf(dump, sizeof(dump), "TORCH_FR_DUMP_TEMP_FILE=%s/dump", s->dir);
    assert_int_equal(mkfifo(pipe_file, 0600), 0);
    reader = open(pipe_file, O_RDONLY | O_NONBLOCK);
    start(s, variables);
    order = order_of(s);
    order.limit_ms = 9600;
    for (int i = 0; i < 4; i++) {
        switch (i) {
        case 0:
            assert_int_equal(symlink(secret, dump_file), 0);
            break;
        case 1:
            assert_int_equal(link(secret, dump_file), 0);
            break;
        case 2:
            assert_int_equal(mkfifo(dump_file, 0600), 0);
            break;
        default:
            if (geteuid() != 0)
                continue;
            free(tempdir_file(s->dir, "dump3", 0644, "his"));
            assert_int_equal(chown(dump_file, HIM, HIM), 0);
        }
        take(s, &order);
        assert_string_equal(part(s, "flight recorder", "why"),
                            "requested, but no file was written");
        unlink(dump_file);
    }
    /* a pipe of somebody else gets no byte */
    if (geteuid() == 0) {
        char byte;

        while (read(reader, &byte, 1) > 0)
            ;
        assert_int_equal(chown(pipe_file, HIM, HIM), 0);
        take(s, &order);
        assert_string_equal(part(s, "flight recorder", "why"),
                            "its pipe is not a pipe of the user");
        assert_int_not_equal(read(reader, &byte, 1), 1);
    }
    close(reader);
    free(pipe_file);
    free(dump_file);
    free(secret);
}

/* A full disk, or a folder that is a link, is never trusted. */
static void no_place(void **state)
{
    struct step *s = *state;
    struct evidence_order order = order_of(s);
    char *link = tempdir_path(s->dir, "hang");
    struct jp_error err = {""};

    assert_int_equal(symlink("/tmp", link), 0);
    order.n_targets = 0;
    assert_int_equal(evidence_take(&order, &err), -1);
    assert_string_not_equal(err.text, "");
    order.n_targets = EVIDENCE_TARGETS + 1;
    assert_int_equal(evidence_take(&order, &err), -1);
    unlink(link);
    free(link);
}

/* The program is called with these processes. */
static void calls_who_keeps_it(void **state)
{
    static const struct module_target targets[] = {
        {41, 7001, 1, 1, true}, {42, 7002, 2, 2, false}, {43, 0, -1, 3, true}};
    char *out = tempdir_path(*state, "called");
    char script[512], *program, *text = NULL;
    struct module_hang hang = {.dir = "/a dir/step-0",
                               .node = "n1",
                               .number = 1,
                               .targets = targets,
                               .n_targets = 3};

    snprintf(script, sizeof(script),
             "#!/bin/sh\nfor a; do echo \"[$a]\"; done >%s.new\n"
             "readlink /proc/$$/fd/0 /proc/$$/fd/2 >>%s.new\n"
             "mv %s.new %s\n",
             out, out, out, out);
    program = tempdir_file(*state, "program", 0700, script);
    evidence_start(program, &hang);
    for (int i = 0; i < 600 && !text; i++) {
        fileio_read(out, false, 4096, &text, NULL, NULL);
        usleep(100000);
    }
    assert_non_null(text);
    assert_string_equal(text,
                        "[evidence]\n[-q]\n[--node]\n[n1]\n"
                        "[--missing]\n[41:7001,43]\n[--waiting]\n[42:7002]\n"
                        "[/a dir/step-0]\n/dev/null\n/dev/null\n");
    free(text);
    free(program);
    free(out);
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, step_make, step_drop)
    const struct CMUnitTest tests[] = {
        TEST(threads_are_told),
        TEST(nobody_else_is_touched),
        TEST(waits_in_the_kernel),
        TEST(stacks_are_real),
        TEST(bad_tools),
        TEST(gpus_hang),
        TEST(flight_recorder),
        TEST(flight_recorder_new_pipe),
        TEST(flight_recorder_default),
        TEST(ras_is_gated),
        TEST(ras_address),
        TEST(tasks_are_found),
        TEST(the_users_own),
        TEST(root_takes_no_path),
        TEST(anothers_process),
        TEST(later_process),
        TEST(ends_while_traced),
        TEST(foreign_dumps),
        TEST(no_place),
        cmocka_unit_test_setup_teardown(calls_who_keeps_it, tempdir_make,
                                        tempdir_drop),
    };

    const struct CMUnitTest users[] = {TEST(the_users_own)};

    if (argc == 3 && !strcmp(argv[1], "stuck"))
        return stuck(argv[2]);
    if (argc == 2 && !strcmp(argv[1], "user"))
        return cmocka_run_group_tests(users, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
