/* cudacalls.c - a program that makes calls of CUDA on a machine without a GPU:
 * it loads CUDA_INJECTION64_PATH as the driver's cuInit() does, and reports
 * calls to the stand-in for CUPTI.
 *
 * Usage: cudacalls WORD...
 *   launch*N graph*N          N calls
 *   h2d:BYTES*N  d2h:  d2d:  peer:  any:   copies that return at once
 *   wait-h2d:BYTES*N          a copy that waits 1 ms
 *   plane:BYTES               copy of a plane from the host to a GPU
 *   batch:BYTES*N             one call of N copies
 *   set*N                     memsets
 *   alloc:BYTES*N create:BYTES pitch:BYTES async:BYTES
 *   free*N                    frees, the newest allocation first
 *   release                   frees what create has allocated
 *   bad-free bad-alloc        calls that fail
 *   ready                     an event that is not ready: no failure
 *   sync:MS                   a call that waits
 *   sleep:MS
 *   gpu:N                     further calls are those of device N (at first 0)
 *   driver                    loads the stand-in for CUDA's driver, which has
 *                             the devices' PCI addresses; first word
 *   new*N                     a call of a new release
 *   threads:N                 runs the following words in N threads
 *   fork                      a child runs the rest, the parent waits
 *   late                      loads CUPTI before the injected library
 *   filter                    the same place: a seccomp filter that allows all
 *   bench:NUMBER*N            N calls of that id, or launches; prints ns a call
 *   kill exit:STATUS _exit
 * Words of programs that are careless with descriptors:
 *   print                     writes a line to descriptors 0, 1 and 2
 *   closefrom:FD              closes all descriptors from FD on
 *   own                       opens the file CUDACALLS_OWN, with data in it, as
 *                             each number that closefrom has closed
 *   check                     exit status 9 unless that data is unchanged and
 *                             the numbers are open
 *   daemon                    a child in its own session runs the rest
 *   exec                      executes this program with the rest
 *   inherited:N               exit status 8 unless N open descriptors are files
 *                             of the injected library (.jpc) */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contrib/fakegpu/fake_cupti.h"

enum { KEPT = 300000 };

/* Reports a call; NULL: CUPTI is not loaded. */
static fakecupti_callback *tell;
/* The next address, and the allocations that were not freed. */
static uint64_t next_at = 0x7f0000000000;
static uint64_t kept[KEPT];
static size_t n_kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t device; /* of the calls */

/* LeakSanitizer's search at the end of a process takes the allocator's lock.
 * The child of "fork" would wait for ever where the library's thread held that
 * lock during fork(). */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&t, &t) < 0)
        ;
}

/* Makes a call of CUDA that takes ms, with this id, arguments and result. */
static void call(uint32_t id, const void *params, int result, long ms)
{
    struct fakecupti_call c = {.id = id,
                               .name = "",
                               .params = params,
                               .result = result,
                               .context = (void *) (uintptr_t) (device + 1)};

    if (!tell)
        return;
    tell(&c, 0);
    if (ms)
        pause_ms(ms);
    tell(&c, 1);
}

/* Makes a copy; params are those of cuMemcpyHtoD and similar. */
static void copy_bytes(uint32_t id, size_t bytes, long ms)
{
    struct {
        uint64_t to, from;
        size_t bytes;
        void *stream;
    } params = {1, 2, bytes, NULL};

    call(id, &params, 0, ms);
}

/* cuMemcpyPeerAsync. */
static void peer(size_t bytes)
{
    struct {
        uint64_t to;
        void *a;
        uint64_t from;
        void *b;
        size_t bytes;
        void *stream;
    } params = {1, NULL, 2, NULL, bytes, NULL};

    call(319, &params, 0, 0);
}

/* cuMemcpy2D, whose argument is a CUDA_MEMCPY2D. */
static void plane(size_t bytes)
{
    struct {
        size_t x, y;
        int type;
        const void *host;
        uint64_t device;
        void *array;
        size_t pitch, to_x, to_y;
        int to_type;
        void *to_host;
        uint64_t to_device;
        void *to_array;
        size_t to_pitch, width, height;
    } what = {.type = 1, .to_type = 2, .width = bytes / 4, .height = 4};
    const void *params[] = {&what, NULL};

    call(289, params, 0, 0);
}

/* cuMemcpyBatchAsync. */
static void batch(size_t bytes, size_t n)
{
    size_t sizes[64];
    struct {
        uint64_t *to, *from;
        size_t *sizes, n;
    } params = {NULL, NULL, sizes, n < 64 ? n : 64};

    for (size_t i = 0; i < params.n; i++)
        sizes[i] = bytes;
    call(776, &params, 0, 0);
}

/* Allocates; id 244 is cuMemAllocPitch, whose size is rounded up to the pitch.
 */
static void allocate(uint32_t id, size_t bytes, int result)
{
    uint64_t at;
    struct {
        uint64_t *at;
        size_t bytes, c, d;
    } params = {&at, bytes, 0, 0};
    size_t pitch = bytes / 4;
    struct {
        uint64_t *at;
        size_t *pitch, width, height;
    } pitched = {&at, &pitch, bytes / 4 - 1, 4};

    pthread_mutex_lock(&lock);
    at = next_at;
    next_at += 256;
    pthread_mutex_unlock(&lock);
    call(id, id == 244 ? (void *) &pitched : (void *) &params, result, 0);
    /* after the call: another thread cannot free what was not returned yet */
    pthread_mutex_lock(&lock);
    if (result == 0 && n_kept < KEPT)
        kept[n_kept++] = at;
    pthread_mutex_unlock(&lock);
}

/* Frees the newest allocation. result: of the call; on a failure the allocation
 * stays. */
static void release(uint32_t id, int result)
{
    uint64_t at[2] = {0, 0};

    pthread_mutex_lock(&lock);
    if (n_kept)
        at[0] = kept[n_kept - 1];
    if (n_kept && result == 0)
        n_kept--;
    pthread_mutex_unlock(&lock);
    call(id, at, result, 0);
}

/* Loads the injected library and calls its entry point, as the driver does.
 * Finds CUPTI if the library has loaded it. */
static void *load_injected(const char *path)
{
    int (*init)(void);
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;

    if (path && !library)
        fprintf(stderr, "cudacalls: %s\n", dlerror());
    init = library ? (int (*)(void)) dlsym(library, "InitializeInjection")
                   : NULL;
    if (init)
        init();
    library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    tell = library ? (fakecupti_callback *) dlsym(library, "fakecupti_tell_all")
                   : NULL;
    return library;
}

/* Measures the cost of a call. */
static void bench(uint32_t id, unsigned long n)
{
    uint64_t at = 1 << 20;
    /* a copy's, an allocation's or a free's arguments */
    struct {
        uint64_t *at;
        size_t b, c, d;
    } params = {&at, 8, 8, 8};
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    for (unsigned long i = 0; i < n; i++)
        call(id, &params, 0, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.1f\n", ((double) (b.tv_sec - a.tv_sec) * 1e9 +
                      (double) (b.tv_nsec - a.tv_nsec)) /
                         (double) n);
    fflush(stdout);
}

/* --- descriptors ---------------------------------------------------------- */

enum { NUMBERS = 4096, CHANGED = 9, INHERITED = 8 };
static const char own_text[] = "data of the program, 35 bytes long\n";
static int own[NUMBERS]; /* what closefrom has closed */
static size_t n_own;

static void print(void)
{
    for (int fd = 0; fd < 3; fd++)
        (void) !write(fd, "printed\n", 8);
}

static void close_from(int first)
{
    n_own = 0;
    for (int fd = first; fd < NUMBERS; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            own[n_own++] = fd;
    for (int fd = first; fd < NUMBERS; fd++)
        close(fd);
}

static void open_own(void)
{
    const char *path = getenv("CUDACALLS_OWN");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;

    if (fd < 0 ||
        pwrite(fd, own_text, sizeof(own_text), 0) != (ssize_t) sizeof(own_text))
        exit(CHANGED);
    for (size_t i = 0; i < n_own; i++)
        if (dup2(fd, own[i]) != own[i])
            own[i] = fd; /* the limit is lower by now */
    own[n_own++] = fd;
}

static void check_own(void)
{
    char text[sizeof(own_text) + 1];

    for (size_t i = 0; i < n_own; i++)
        if (pread(own[i], text, sizeof(text), 0) !=
                (ssize_t) sizeof(own_text) ||
            memcmp(text, own_text, sizeof(own_text)) != 0)
            _exit(CHANGED);
}

/* Looks for files of the injected library among the open ones. */
static void count_inherited(size_t want)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    size_t found = 0;

    while (folder && (entry = readdir(folder))) {
        char path[4096];
        ssize_t n =
            readlinkat(dirfd(folder), entry->d_name, path, sizeof(path) - 1);

        path[n > 0 ? n : 0] = '\0';
        found += strstr(path, ".jpc") != NULL;
    }
    if (!folder || found != want)
        _exit(INHERITED);
    closedir(folder);
}

/* Installs a filter that allows everything. */
static void filter(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {1, &allow};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(77);
}

/* --- words ---------------------------------------------------------------- */

static int once(const char *name, size_t arg, unsigned long n);

/* Runs one word: its name, its number after ":", its count after "*". */
static void word(const char *text)
{
    char name[64];
    unsigned long n = 1, arg = 0;
    const char *star = strchr(text, '*'), *colon = strchr(text, ':');

    snprintf(name, sizeof(name), "%.*s", (int) strcspn(text, ":*"), text);
    if (colon)
        arg = strtoul(colon + 1, NULL, 10);
    if (star)
        n = strtoul(star + 1, NULL, 10);
    if (!strcmp(name, "bench"))
        bench(arg ? (uint32_t) arg : 307, n);
    else if (!strcmp(name, "batch"))
        batch(arg, n);
    else
        for (unsigned long i = 0; i < n; i++)
            if (once(name, arg, n) < 0) {
                fprintf(stderr, "cudacalls: \"%s\" is not a command\n", text);
                exit(2);
            }
}

/* Whether both texts are equal. */
static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Runs a word once. Returns -1 if there is none of that name. The numbers are
 * CUPTI's ids of driver calls. */
static int once(const char *name, size_t arg, unsigned long n)
{
    (void) n;
    if (is(name, "launch"))
        call(307, NULL, 0, 0);
    else if (is(name, "new"))
        call(652, NULL, 0, 0);
    else if (is(name, "graph"))
        call(514, NULL, 0, 0);
    else if (is(name, "set"))
        call(249, NULL, 0, 0);
    else if (is(name, "h2d"))
        copy_bytes(277, arg, 0);
    else if (is(name, "wait-h2d"))
        copy_bytes(276, arg, 1);
    else if (is(name, "d2h"))
        copy_bytes(279, arg, 0);
    else if (is(name, "d2d"))
        copy_bytes(423, arg, 0);
    else if (is(name, "any"))
        copy_bytes(306, arg, 0);
    else if (is(name, "peer"))
        peer(arg);
    else if (is(name, "plane"))
        plane(arg);
    else if (is(name, "alloc"))
        allocate(243, arg, 0);
    else if (is(name, "bad-alloc"))
        allocate(243, arg, 2);
    else if (is(name, "pitch"))
        allocate(244, arg, 0);
    else if (is(name, "async"))
        allocate(598, arg, 0);
    else if (is(name, "create"))
        allocate(549, arg, 0);
    else if (is(name, "free"))
        release(245, 0);
    else if (is(name, "bad-free"))
        release(245, 1);
    else if (is(name, "release"))
        release(550, 0);
    else if (is(name, "ready"))
        call(126, NULL, 600, 0);
    else if (is(name, "sync"))
        call(126, NULL, 0, (long) arg);
    else if (is(name, "sleep"))
        pause_ms((long) arg);
    else if (is(name, "gpu"))
        device = arg;
    else if (is(name, "print"))
        print();
    else if (is(name, "closefrom"))
        close_from((int) arg);
    else if (is(name, "own"))
        open_own();
    else if (is(name, "check"))
        check_own();
    else if (is(name, "inherited"))
        count_inherited(arg);
    else if (is(name, "kill"))
        kill(getpid(), SIGKILL);
    else if (is(name, "exit"))
        exit((int) arg);
    else if (is(name, "_exit"))
        _exit(0);
    else
        return -1;
    return 0;
}

/* The words of one thread. */
static void *some(void *arg)
{
    for (char **w = arg; *w; w++)
        word(*w);
    return NULL;
}

/* Runs the words in n threads. */
static void many(unsigned n, char **words)
{
    pthread_t threads[64];

    n = n < 64 ? n : 64;
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, some, words) != 0)
            exit(3);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    int at = 1, status = 0;

    if (argc > at && is(argv[at], "late")) {
        dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL);
        at++;
    } else if (argc > at && is(argv[at], "filter")) {
        filter();
        at++;
    }
    if (argc > at && is(argv[at], "driver")) {
        dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        at++;
    }
    load_injected(getenv("CUDA_INJECTION64_PATH"));
    for (; at < argc; at++) {
        if (is(argv[at], "fork")) {
            pid_t pid = fork();

            if (pid > 0) {
                waitpid(pid, &status, 0);
                return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
            }
        } else if (is(argv[at], "daemon")) {
            if (fork() > 0)
                _exit(0);
            setsid();
        } else if (is(argv[at], "exec")) {
            argv[at] = argv[0];
            execv("/proc/self/exe", argv + at);
            return 1;
        } else if (strncmp(argv[at], "threads:", 8) == 0) {
            many((unsigned) strtoul(argv[at] + 8, NULL, 10), argv + at + 1);
            break;
        } else {
            word(argv[at]);
        }
    }
    return 0;
}
