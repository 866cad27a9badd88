/* fakehost.c - the fake host of the module's tests: Slurm's symbols, counters
 * of calls that the module must not make, and its life from load to unload.
 */
#include "tests/spank/fakehost.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/sitelog.h"

struct host host;

/* With sanitizers: memory that the module keeps until its host ends loses its
 * last pointer in dlclose() here. That is no leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void *module;
static char dir[64];
static char *words[9];
static int nwords;
static char srcdir[PATH_MAX], builddir[PATH_MAX]; /* before clearenv() */

/* --- calls that the module must not make itself: counted on the way to libc */

pid_t fork(void)
{
    pid_t (*real)(void) = (pid_t(*)(void)) dlsym(RTLD_NEXT, "fork");

    host.forks++;
    return real();
}

int socket(int domain, int type, int protocol)
{
    host.sockets++;
    return (int) syscall(SYS_socket, domain, type, protocol);
}

/* The module's clock, in USER_HZ: see host.keeps_time. */
clock_t times(struct tms *buffer)
{
    clock_t (*real)(struct tms *) =
        (clock_t(*)(struct tms *)) dlsym(RTLD_NEXT, "times");

    return host.keeps_time ? real(buffer) : real(buffer) / HOST_SLOWER;
}

/* A forked process that has not become a helper: a busy machine may delay its
 * end. */
#undef _exit /* a macro in the coverage build */
void _exit(int status)
{
    usleep((useconds_t) host.exit_ms * 1000);
    for (;;)
        syscall(SYS_exit_group, status);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list ap;

    va_start(ap, flags);
    if (flags & O_CREAT)
        mode = va_arg(ap, mode_t);
    va_end(ap);
    host.opens++;
    return (int) syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* --- Slurm's symbols ------------------------------------------------------ */

static void note(const char *kind, const char *format, va_list ap)
{
    size_t had = strlen(host.log);
    int n = snprintf(host.log + had, sizeof(host.log) - had, "%s: ", kind);

    had += (size_t) n;
    n = vsnprintf(host.log + had, sizeof(host.log) - had - 1, format, ap);
    assert_true(n >= 0 && (size_t) n < sizeof(host.log) - had - 1);
    strncat(host.log, "\n", sizeof(host.log) - strlen(host.log) - 1);
}

static void note_text(const char *kind, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    note(kind, format, ap);
    va_end(ap);
}

/* The module's only datagrams are lines for syslog. */
ssize_t sendto(int fd, const void *text, size_t len, int flags,
               const struct sockaddr *to, socklen_t size)
{
    const char *end = memchr(text, ']', len);
    char line[2048];

    (void) fd, (void) flags, (void) size;
    assert_non_null(end);
    assert_string_equal(((const struct sockaddr_un *) to)->sun_path,
                        SITELOG_SOCKET);
    snprintf(line, sizeof(line), "%.*s", (int) len, (const char *) text);
    note_text("syslog", "%s", line + (end - (const char *) text) + 3);
    return (ssize_t) len;
}

#define NOTE(function, kind)                                                   \
    void function(const char *format, ...)                                     \
    {                                                                          \
        va_list ap;                                                            \
        va_start(ap, format);                                                  \
        note(kind, format, ap);                                                \
        va_end(ap);                                                            \
    }
NOTE(slurm_error, "error")
NOTE(slurm_info, "info")
NOTE(slurm_spank_log, "spank")

spank_context_t spank_context(void)
{
    return host.context;
}

int spank_remote(spank_t spank)
{
    return !spank ? -1 : host.context == S_CTX_REMOTE;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *opt)
{
    if (!spank || !opt || !opt->name || !opt->usage)
        return ESPANK_BAD_ARG;
    assert_true(host.noptions < HOST_OPTIONS);
    host.options[host.noptions++] = *opt;
    return ESPANK_SUCCESS;
}

static bool is_local_item(spank_item_t item)
{
    return item == S_JOB_UID || item == S_JOB_GID || item == S_JOB_ID ||
           item == S_JOB_STEPID || item == S_JOB_ARGV || item == S_JOB_ENV ||
           item == S_JOB_TOTAL_TASK_COUNT || item == S_JOB_NNODES;
}

static spank_err_t get_task_item(spank_item_t item, void *to)
{
    if (host.task_local < 0)
        return ESPANK_NOT_TASK;
    if (item == S_TASK_ID)
        *(int *) to = host.task_local;
    else if (item == S_TASK_GLOBAL_ID)
        *(uint32_t *) to = host.task_global;
    else if (item == S_TASK_PID)
        *(pid_t *) to = host.task_pid;
    else if (item == S_TASK_EXIT_STATUS && host.task_exited)
        *(int *) to = host.task_status;
    else
        return ESPANK_NOT_TASK;
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    spank_err_t rc = ESPANK_SUCCESS;
    va_list ap;
    void *to;

    if (!spank || host.absent)
        return ESPANK_BAD_ARG;
    if (host.context != S_CTX_REMOTE && !is_local_item(item))
        return ESPANK_NOT_REMOTE;
    va_start(ap, item);
    to = va_arg(ap, void *);
    switch (item) {
    case S_JOB_UID:
        *(uid_t *) to = host.uid;
        break;
    case S_JOB_GID:
        *(gid_t *) to = host.gid;
        break;
    case S_JOB_ID:
        *(uint32_t *) to = host.job;
        break;
    case S_JOB_STEPID:
        *(uint32_t *) to = host.step;
        break;
    case S_JOB_NNODES:
        *(uint32_t *) to = host.nodes;
        break;
    case S_JOB_NODEID:
        *(uint32_t *) to = host.nodeid;
        break;
    case S_JOB_TOTAL_TASK_COUNT:
        *(uint32_t *) to = host.tasks;
        break;
    case S_JOB_ARGV:
        *(int *) to = host.argc;
        *va_arg(ap, char ***) = host.argv;
        break;
    case S_JOB_ENV:
        *(char ***) to = host.context == S_CTX_REMOTE ? host.env : NULL;
        break;
    case S_JOB_SUPPLEMENTARY_GIDS:
        *(gid_t **) to = host.gids;
        *va_arg(ap, int *) = host.ngids;
        break;
    default:
        rc = get_task_item(item, to);
        break;
    }
    va_end(ap);
    return rc;
}

static int env_at(const char *name)
{
    size_t n = strlen(name);
    int i;

    for (i = 0; host.env[i]; i++)
        if (strncmp(host.env[i], name, n) == 0 && host.env[i][n] == '=')
            break;
    return i;
}

const char *host_getenv(const char *name)
{
    int i = env_at(name);

    return host.env[i] ? host.env[i] + strlen(name) + 1 : NULL;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value,
                         int overwrite)
{
    int i = env_at(name);

    if (!spank || host.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (host.env[i] && !overwrite)
        return ESPANK_ENV_EXISTS;
    assert_true(i < HOST_ENV - 1);
    free(host.env[i]);
    assert_true(asprintf(&host.env[i], "%s=%s", name, value) > 0);
    return ESPANK_SUCCESS;
}

/* From Slurm 23.11 on; older headers do not have it. */
spank_err_t spank_prepend_task_argv(spank_t spank, int argc,
                                    const char *argv[]);
spank_err_t spank_prepend_task_argv(spank_t spank, int argc, const char *argv[])
{
    size_t used = 0;

    if (!spank || host.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    for (int i = 0; i < argc; i++)
        used += (size_t) snprintf(host.prepended + used,
                                  sizeof(host.prepended) - used, "%s\n",
                                  argv[i]);
    return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    int i = env_at(name);

    if (!spank || host.context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    free(host.env[i]);
    for (; host.env[i]; i++)
        host.env[i] = host.env[i + 1];
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buf, int len)
{
    const char *value = host_getenv(name);

    if (!spank || !value)
        return ESPANK_ENV_NOEXIST;
    return snprintf(buf, (size_t) len, "%s", value) < len ? ESPANK_SUCCESS
                                                          : ESPANK_NOSPACE;
}

/* --- life ----------------------------------------------------------------- */

const char *host_dir(void)
{
    return dir;
}

const char *host_path(const char *name)
{
    static char path[4][PATH_MAX];
    static int i;

    i = (i + 1) % 4;
    snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
    return path[i];
}

char *host_read(const char *name)
{
    FILE *f = fopen(host_path(name), "r");
    char *text = calloc(1, 65536);

    assert_non_null(text);
    if (f) {
        size_t n = fread(text, 1, 65535, f);

        text[n] = '\0';
        fclose(f);
    }
    return text;
}

void host_setenv(const char *name, const char *value)
{
    spank_context_t was = host.context;

    host.context = S_CTX_REMOTE;
    spank_setenv((spank_t) &host, name, value, 1);
    host.context = was;
}

void host_helper_does(const char *code)
{
    FILE *f = fopen(host_path("do"), "w");

    setenv("SLURM_FAKE_DO", code, 1);
    host_setenv("SLURM_FAKE_DO", code);
    /* what leaves the job's cgroups gets no variable; a test may have used up
     * all descriptors */
    if (!f)
        return;
    assert_true(fputs(code, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

void host_plugstack(const char *first, ...)
{
    va_list ap;

    while (nwords > 0)
        free(words[--nwords]);
    va_start(ap, first);
    for (const char *w = first; w; w = va_arg(ap, const char *))
        assert_non_null(words[nwords++] = strdup(w));
    va_end(ap);
}

void host_call(const char *callback)
{
    char name[64];
    spank_f *call;

    snprintf(name, sizeof(name), "slurm_spank_%s", callback);
    call = (spank_f *) dlsym(module, name);
    assert_non_null(call);
    assert_int_equal(call((spank_t) &host, nwords, words), 0);
}

int host_option(const char *name, const char *value, int remote)
{
    for (int i = 0; i < host.noptions; i++)
        if (strcmp(host.options[i].name, name) == 0)
            return host.options[i].cb(host.options[i].val, value, remote);
    fail_msg("no option --%s", name);
    return -1;
}

static void install(const char *name)
{
    char command[PATH_MAX * 2];
    int n = snprintf(command, sizeof(command),
                     "PATH=/usr/bin:/bin install -m 0755 "
                     "'%s/tests/spank/fake-helper.sh' '%s/%s'",
                     srcdir, dir, name);
    char *argv[] = {(char *) "sh", (char *) "-c", command, NULL};
    pid_t pid;
    int status;

    assert_true(n > 0 && (size_t) n < sizeof(command));
    pid = fork();
    if (pid == 0) {
        execv("/bin/sh", argv);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void set_defaults(void)
{
    static char *argv[] = {(char *) "./train", (char *) "-x", NULL};

    memset(&host, 0, sizeof(host));
    host.context = S_CTX_LOCAL;
    host.uid = getuid();
    host.gid = getgid();
    host.gids[0] = getgid();
    host.ngids = 1;
    host.job = 12;
    host.nodes = 1;
    host.tasks = 2;
    host.argv = argv;
    host.argc = 2;
    host.task_local = -1;
}

static void keep(const char *name, char to[PATH_MAX])
{
    if (!*to)
        snprintf(to, PATH_MAX, "%s", getenv(name) ? getenv(name) : ".");
}

int host_setup(void **state)
{
    static char output[32]; /* static: cmocka reads it for every line */
    char so[PATH_MAX * 2];

    (void) state;
    keep("top_srcdir", srcdir);
    keep("top_builddir", builddir);
    if (getenv("CMOCKA_MESSAGE_OUTPUT"))
        snprintf(output, sizeof(output), "%s", getenv("CMOCKA_MESSAGE_OUTPUT"));
    snprintf(dir, sizeof(dir), "/tmp/jpspank.XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chmod(dir, 01777), 0);
    set_defaults();
    install("jobprof-node");
    install("jobprof");
    clearenv();
    if (output[0])
        setenv("CMOCKA_MESSAGE_OUTPUT", output, 1);
    setenv("SLURMD_NODENAME", "n1", 1);
    snprintf(so, sizeof(so), "%s/spank/.libs/spank_jobprof.so", builddir);
    module = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        fail_msg("%s", dlerror());
    snprintf(so, sizeof(so), "node=%s/jobprof-node", dir);
    host_plugstack(so, NULL);
    host.forks = host.opens = host.sockets = 0;
    return 0;
}

int host_teardown(void **state)
{
    char command[128];
    pid_t pid;

    (void) state;
    dlclose(module);
    module = NULL;
    for (int i = 0; host.env[i]; i++)
        free(host.env[i]);
    while (nwords > 0)
        free(words[--nwords]);
    snprintf(command, sizeof(command), "PATH=/usr/bin:/bin rm -rf '%s'", dir);
    pid = fork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *) NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
    return 0;
}

long long host_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static int count_helpers(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *e;
    int n = 0;

    while (proc && (e = readdir(proc)) != NULL) {
        char path[PATH_MAX], line[PATH_MAX];
        ssize_t got;
        int fd;

        snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
        fd = open(path, O_RDONLY);
        if (fd < 0)
            continue;
        got = read(fd, line, sizeof(line) - 1);
        close(fd);
        for (ssize_t i = 0; i < got; i++)
            if (line[i] == '\0')
                line[i] = ' ';
        line[got > 0 ? got : 0] = '\0';
        n += strstr(line, dir) != NULL;
    }
    if (proc)
        closedir(proc);
    return n;
}

int host_helpers(int want)
{
    int n = count_helpers();

    for (int i = 0; i < 100 && n != want; i++) {
        usleep(10000);
        n = count_helpers();
    }
    return n;
}
