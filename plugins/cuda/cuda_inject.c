/* cuda_inject.c - the library that CUDA's driver loads into a task: it counts
 * calls and writes the sums once a second.
 *
 * It may never fail or delay the program: what does not work is written into
 * the file as a note, or nowhere. A thread of its own does all that touches a
 * file system.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugins/cuda/cuda_cupti.h"
#include "plugins/cuda/cuda_env.h"
#include "plugins/cuda/cuda_file.h"
#include "plugins/cuda/cuda_tally.h"

enum { EXIT_WAIT_MS = 200 }; /* for the thread, at the program's end */

__attribute__((visibility("default"))) int InitializeInjection(void);

static struct writer {
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t change;
    bool begun, ending, done;
    /* the thread's own */
    char path[4096], dir[4096];
    struct cuda_file_head head;
    struct cuda_file_record last;
    uint64_t start_ns, kept_ns;
    uint32_t n; /* records that stay; the next one is written over until it
                 * does, too */
    int fd;
} w = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

/* --- CUPTI ---------------------------------------------------------------- */

/* What the program has loaded itself is taken first: two CUPTIs in a process
 * do not get along. Else the newest that is not newer than the driver; the
 * first one that can be loaded decides. */
static const struct {
    const char *name;
    int major; /* of CUDA; 0: not said */
} libraries[] = {
    {"libcupti.so.13", 13},
    {"libcupti.so.12", 12},
    {"libcupti.so.11.8", 11},
    {"libcupti.so.11.7", 11},
    {"libcupti.so.11.6", 11},
    {"libcupti.so.11.5", 11},
    {"libcupti.so.11.4", 11},
    {"libcupti.so.11.3", 11},
    {"libcupti.so.11.2", 11},
    {"libcupti.so.11.1", 11},
    {"libcupti.so.11.0", 11},
    {"libcupti.so", 0},
    {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", 0},
    {"/usr/local/cuda/lib64/libcupti.so", 0},
};

/* The release of CUDA that the driver is of; INT_MAX: not known. */
static int driver_major(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*ask)(int *) =
        driver ? (int (*)(int *)) dlsym(driver, "cuDriverGetVersion") : NULL;
    int version = 0;

    return ask && ask(&version) == CU_OK && version > 0 ? version / 1000
                                                        : INT_MAX;
}

static void note(const char *text)
{
    memset(w.head.note, 0, sizeof(w.head.note));
    snprintf(w.head.note, sizeof(w.head.note), "%s", text);
}

/* What keeps it from counting becomes the note. */
static void subscribe(void *library)
{
    cupti_subscribe *begin =
        (cupti_subscribe *) dlsym(library, "cuptiSubscribe");
    cupti_unsubscribe *end =
        (cupti_unsubscribe *) dlsym(library, "cuptiUnsubscribe");
    cupti_enable *enable =
        (cupti_enable *) dlsym(library, "cuptiEnableCallback");
    cupti_version *version =
        (cupti_version *) dlsym(library, "cuptiGetVersion");
    unsigned on = 0;
    void *handle = NULL;
    char text[CUDA_NOTE_MAX];
    uint32_t id;
    int rc;

    if (!begin || !end || !enable) {
        note("a libcupti.so without the functions of CUPTI");
        return;
    }
    rc = begin(&handle, cuda_tally_see, NULL);
    if (rc != CUPTI_OK) {
        snprintf(text, sizeof(text),
                 rc == CUPTI_TAKEN
                     ? "another client of CUPTI is there: nsys, Nsight "
                       "Compute, a debugger or a profiler of the program"
                     : "CUPTI does not work here: its error %d",
                 rc);
        note(text);
        return;
    }
    /* calls that this release does not know are refused, one by one */
    for (unsigned i = 0; (id = cuda_tally_wants(i)) != 0; i++)
        on += enable(1, handle, CUPTI_DRIVER_API, id) == CUPTI_OK;
    if (!on) {
        end(handle);
        note("CUPTI gives no callback for any call");
        return;
    }
    if (version && version(&w.head.cupti) != CUPTI_OK)
        w.head.cupti = 0;
}

static bool attach(int flags, int newest)
{
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        void *library =
            libraries[i].major > newest
                ? NULL
                : dlopen(libraries[i].name, RTLD_NOW | RTLD_LOCAL | flags);

        if (library) {
            subscribe(library);
            return true;
        }
    }
    return false;
}

/* --- the file ------------------------------------------------------------- */

static bool put(const void *data, size_t len, off_t at)
{
    const char *from = data;

    while (len) {
        ssize_t n = pwrite(w.fd, from, len, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        from += n;
        len -= (size_t) n;
        at += n;
    }
    return true;
}

/* raw/<node>/cuda: the step's folder is there. */
static bool make_dir(char *path, unsigned levels)
{
    char *slash;
    bool ok;

    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    slash = strrchr(path, '/');
    if (errno != ENOENT || levels == 0 || slash == path)
        return false;
    *slash = '\0';
    ok = make_dir(path, levels - 1);
    *slash = '/';
    return ok && (mkdir(path, 0700) == 0 || errno == EEXIST);
}

static bool open_file(void)
{
    if (w.fd >= 0)
        return true;
    if (!make_dir(w.dir, 2))
        return false;
    w.fd = open(w.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (w.fd < 0)
        return false;
    w.head.check =
        cuda_file_check(&w.head, offsetof(struct cuda_file_head, check));
    if (put(&w.head, sizeof(w.head), 0))
        return true;
    unlink(w.path); /* a later second tries again */
    close(w.fd);
    w.fd = -1;
    return false;
}

static uint64_t period_ns(void)
{
    return w.n < CUDA_SECONDS ? 1000000000u
           : w.n < CUDA_TENS  ? 10000000000u
                              : 60000000000u;
}

static void put_record(void)
{
    struct cuda_file_record r;

    cuda_tally_take(&r);
    if (memcmp(r.sum, w.last.sum, sizeof(r.sum)) == 0)
        return;
    r.since_ns = clock_ns(CLOCK_MONOTONIC) - w.start_ns;
    r.check = cuda_file_check(&r, offsetof(struct cuda_file_record, check));
    if (!put(&r, sizeof(r), (off_t) (sizeof(w.head) + w.n * sizeof(r))))
        return; /* no room now: the next one takes its place */
    w.last = r;
    /* a tick may come a little early */
    if (r.since_ns - w.kept_ns + 500000000u >= period_ns() &&
        w.n < CUDA_RECORDS_MAX - 1) {
        w.kept_ns = r.since_ns;
        w.n++;
    }
}

static void *run(void *arg)
{
    struct timespec until;
    bool ending;

    clock_gettime(CLOCK_MONOTONIC, &until);
    do {
        until.tv_sec++;
        pthread_mutex_lock(&w.lock);
        while (!w.ending &&
               pthread_cond_timedwait(&w.change, &w.lock, &until) == 0)
            ;
        ending = w.ending;
        pthread_mutex_unlock(&w.lock);
        if (open_file() && !*w.head.note)
            put_record();
        if (*w.head.note && w.fd >= 0)
            ending = true;
    } while (!ending);
    pthread_mutex_lock(&w.lock);
    w.done = true;
    pthread_cond_broadcast(&w.change);
    pthread_mutex_unlock(&w.lock);
    return arg;
}

/* --- beginning and end ---------------------------------------------------- */

static void after_fork(void)
{
    cuda_tally_stop();
    w.begun = false; /* the thread stays with the parent */
}

static bool start_thread(void)
{
    pthread_condattr_t monotonic;
    pthread_attr_t attr;
    sigset_t all, old;
    pthread_t thread;
    bool ok;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w.change, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigfillset(&all);
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    ok = pthread_create(&thread, &attr, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

static int rank_of(void)
{
    const char *text = getenv("SLURM_PROCID");
    char *end;
    long rank;

    if (!text || !*text)
        return -1;
    rank = strtol(text, &end, 10);
    return *end || rank < 0 || rank > INT32_MAX ? -1 : (int) rank;
}

/* The name is new: pids come again, and hosts may share the folder. */
static bool fill(const char *dir)
{
    uint64_t real_ns = clock_ns(CLOCK_REALTIME);
    char host[CUDA_HOST_MAX] = "";
    int n;

    gethostname(host, sizeof(host) - 1);
    host[strcspn(host, "./")] = '\0';
    w.start_ns = clock_ns(CLOCK_MONOTONIC);
    memcpy(w.head.magic, CUDA_FILE_MAGIC, sizeof(w.head.magic));
    w.head.head_bytes = sizeof(w.head);
    w.head.record_bytes = sizeof(w.last);
    w.head.n_counters = CUDA_COUNTERS_N;
    w.head.pid = (uint32_t) getpid();
    w.head.rank = rank_of();
    w.head.start_us = real_ns / 1000;
    memcpy(w.head.host, host, sizeof(host));
    n = snprintf(w.path, sizeof(w.path), "%s/%s-%d-%llx" CUDA_FILE_END, dir,
                 host, (int) getpid(), (unsigned long long) real_ns);
    if (n < 0 || (size_t) n >= sizeof(w.path))
        return false;
    snprintf(w.dir, sizeof(w.dir), "%s", dir);
    return true;
}

/* CUDA wants 1 for success, and goes on with any other, too. */
int InitializeInjection(void)
{
    static atomic_flag once = ATOMIC_FLAG_INIT;
    const char *dir = getenv(CUDA_ENV_DIR);

    if (atomic_flag_test_and_set(&once) || !dir || *dir != '/' || !fill(dir))
        return 1;
    if (pthread_atfork(NULL, NULL, after_fork) != 0)
        return 1;
    if (!attach(RTLD_NOLOAD, INT_MAX) && !attach(0, driver_major()))
        note("libcupti.so was not found (LD_LIBRARY_PATH)");
    w.begun = start_thread();
    if (!w.begun)
        cuda_tally_stop();
    return 1;
}

/* The last second. A file system that hangs keeps the program no longer than
 * EXIT_WAIT_MS. */
__attribute__((destructor)) static void at_exit(void)
{
    uint64_t until_ns;
    struct timespec until;

    if (!w.begun)
        return;
    until_ns = clock_ns(CLOCK_MONOTONIC) + EXIT_WAIT_MS * 1000000ull;
    until = (struct timespec){(time_t) (until_ns / 1000000000),
                              (long) (until_ns % 1000000000)};
    pthread_mutex_lock(&w.lock);
    w.ending = true;
    pthread_cond_broadcast(&w.change);
    while (!w.done && pthread_cond_timedwait(&w.change, &w.lock, &until) == 0)
        ;
    pthread_mutex_unlock(&w.lock);
}
