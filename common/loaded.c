/* loaded.c - find frameworks by the files that tasks have mapped.
 *
 * look_at_process reads /proc/PID/maps; look_at_file determines a library's
 * version: from its constants, its file name, or the Python package beside it.
 * All that runs in a child (loaded_look_...), because the tasks' file systems
 * may hang. */
#include "common/loaded.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/lines.h"
#include "common/ownproc.h"

#define FILES_MAX 64           /* different files */
#define SECTIONS_MAX 4096      /* of an ELF file */
#define NAMES_BYTES (64 << 10) /* of its sections */
#define DATA_BYTES (64 << 20)  /* of its constants */
#define PACKAGES_MAX 65536     /* entries of a packages folder that are read */

/* What the files and packages of a framework are called. */
static const struct framework {
    const char *name;
    const char *file;    /* beginning of its library's name */
    const char *in;      /* folder in its path; NULL: any */
    const char *package; /* beginning of its folder NAME-VERSION.dist-info */
    const char *says;    /* text before the version among its constants */
} frameworks[] = {
    {"torch", "libtorch", NULL, "torch-", NULL},
    {"jax", "", "/jaxlib/", "jaxlib-", NULL},
    {"tensorflow", "libtensorflow", NULL, "tensorflow-", NULL},
    {"nccl", "libnccl.so", NULL, "nvidia_nccl_cu", "NCCL version "},
    {"rccl", "librccl.so", NULL, NULL, "RCCL version "},
    {"cuda", "libcudart.so", NULL, "nvidia_cuda_runtime_cu", NULL},
    {"driver", "libcuda.so", NULL, NULL, NULL},
};

/* Characters of names and versions; everything else is refused. */
#define VERSION_BYTES                                                          \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+_-"

void loaded_add(struct loaded_list *loaded, const char *name,
                const char *version)
{
    struct loaded_library *at = loaded->list;
    size_t n = strlen(name), v = strlen(version);

    if (!n || n >= LOADED_NAME || v >= LOADED_VERSION ||
        strspn(name, VERSION_BYTES) != n || strspn(version, VERSION_BYTES) != v)
        return;
    /* at ends at the entry to write: one without a version, or a new one */
    for (; at < loaded->list + loaded->n; at++) {
        if (strcmp(at->name, name) != 0)
            continue;
        if (!v || strcmp(at->version, version) == 0)
            return;
        if (!*at->version)
            break;
    }
    if (at == loaded->list + LOADED_MAX)
        return;
    loaded->n += at == loaded->list + loaded->n;
    memcpy(at->name, name, n + 1);
    memcpy(at->version, version, v + 1);
}

/* Copies a version, which begins with a digit, from the start of text. The text
 * need not end with a NUL. false: there is none. */
static bool take_version(const char *text, size_t len, char *out)
{
    size_t n = 0;

    while (n < len && n < LOADED_VERSION - 1 && text[n] &&
           strchr(VERSION_BYTES, text[n]))
        n++;
    if (!n || *text < '0' || *text > '9')
        return false;
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

/* --- what a library says of itself ----------------------------------------
 */

static bool read_at(int fd, void *to, size_t len, uint64_t at)
{
    return at <= INT64_MAX - len &&
           pread(fd, to, len, (off_t) at) == (ssize_t) len;
}

/* Finds the section .rodata of a 64-bit ELF file. All offsets and sizes are
 * checked, because the file is foreign input. */
static bool find_constants(int fd, Elf64_Shdr *out)
{
    Elf64_Ehdr head;
    Elf64_Shdr names, section;
    char *text = NULL;
    bool found = false;

    if (!read_at(fd, &head, sizeof(head), 0) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(section) || head.e_shnum > SECTIONS_MAX ||
        head.e_shstrndx >= head.e_shnum ||
        !read_at(fd, &names, sizeof(names),
                 head.e_shoff + head.e_shstrndx * sizeof(names)) ||
        names.sh_size > NAMES_BYTES || !(text = calloc(1, NAMES_BYTES + 1)) ||
        !read_at(fd, text, names.sh_size, names.sh_offset))
        goto out;
    for (unsigned i = 0; i < head.e_shnum && !found; i++)
        found = read_at(fd, &section, sizeof(section),
                        head.e_shoff + i * sizeof(section)) &&
                section.sh_name < names.sh_size &&
                section.sh_type == SHT_PROGBITS &&
                strcmp(text + section.sh_name, ".rodata") == 0;
    if (found)
        *out = section;
out:
    free(text);
    return found;
}

/* Finds the version after the first `says` in the constants that has one. The
 * section is read in blocks that overlap, so a text at a block's end is whole
 * in the next one. */
static bool ask_library(int fd, const char *says, char *version)
{
    enum { BLOCK = 256 << 10, OVERLAP = 128 };
    Elf64_Shdr data;
    char *buf = malloc(BLOCK);
    bool found = false;

    if (!buf || !find_constants(fd, &data) || data.sh_size > DATA_BYTES)
        data.sh_size = 0;
    for (uint64_t at = 0; at < data.sh_size && !found; at += BLOCK - OVERLAP) {
        size_t n = data.sh_size - at < BLOCK ? (size_t) (data.sh_size - at)
                                             : BLOCK;
        const char *here = buf;

        if (!read_at(fd, buf, n, data.sh_offset + at))
            break;
        while (!found && (here = memmem(here, n - (size_t) (here - buf), says,
                                        strlen(says)))) {
            here += strlen(says);
            /* one that ends with the block may continue in the next */
            found =
                take_version(here, n - (size_t) (here - buf), version) &&
                (here + strlen(version) < buf + n || at + n == data.sh_size);
        }
    }
    free(buf);
    return found;
}

/* --- names -----------------------------------------------------------------
 */

/* "libcudart.so.12.4.127". At least two numbers: one alone is the version of
 * the interface. */
static bool by_file_name(const char *base, char *version)
{
    const char *at = strstr(base, ".so.");

    return at && strchr(at + 4, '.') &&
           take_version(at + 4, strlen(at + 4), version);
}

/* From the folder "torch-2.4.0+cu121.dist-info" beside that of the file. */
static bool by_package(int dir, const char *path, const char *package,
                       char *version)
{
    static const char *const places[] = {"/site-packages/", "/dist-packages/"};
    char folder[PATH_MAX];
    struct dirent *entry;
    bool found = false;
    const char *at = NULL;
    DIR *packages;
    int fd;

    /* both names have the same length */
    for (size_t i = 0; !at && i < 2; i++)
        at = strstr(path, places[i]);
    if (!at || !package)
        return false;
    if (snprintf(folder, sizeof(folder), "%.*s",
                 (int) (at - path) + (int) strlen(places[0]),
                 path) >= (int) sizeof(folder))
        return false;
    fd = ownproc_open_inside(dir, folder, O_RDONLY | O_DIRECTORY);
    packages = fd >= 0 ? fdopendir(fd) : NULL;
    if (fd >= 0 && !packages)
        close(fd);
    for (int n = 0;
         packages && !found && n < PACKAGES_MAX && (entry = readdir(packages));
         n++) {
        const char *name = entry->d_name, *dash;

        if (strncmp(name, package, strlen(package)) != 0 ||
            !strstr(name, ".dist-info"))
            continue;
        /* the name may be longer than `package`: nvidia_nccl_cu12 */
        dash = strchr(name, '-') + 1;
        found = take_version(dash, (size_t) (strstr(name, ".dist-info") - dash),
                             version);
    }
    if (packages)
        closedir(packages);
    return found;
}

/* --- a process ------------------------------------------------------------ */

/* Files that were already examined, over all processes: most tasks map the same
 * ones. */
struct looking {
    struct loaded_list *loaded;
    char *seen[FILES_MAX];
    size_t n_seen;
};

/* Remembers a path. false: it was seen before, or the list is full. */
static bool is_new(struct looking *l, const char *path)
{
    for (size_t i = 0; i < l->n_seen; i++)
        if (strcmp(l->seen[i], path) == 0)
            return false;
    if (l->n_seen == FILES_MAX || !(l->seen[l->n_seen] = strdup(path)))
        return false;
    l->n_seen++;
    return true;
}

/* Opens a regular file as the process sees it, since it may be in a container.
 * A path of maps is that of the file itself, never a link. */
static int open_library(int dir, const char *path)
{
    int fd = ownproc_open_inside(dir, path, O_RDONLY);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* dir: the folder of the process. */
static void look_at_file(struct looking *l, const struct framework *f, int dir,
                         const char *path)
{
    const char *base = strrchr(path, '/') + 1;
    char version[LOADED_VERSION] = "";
    int fd = f->says ? open_library(dir, path) : -1;

    if ((fd < 0 || !ask_library(fd, f->says, version)) &&
        !by_file_name(base, version) &&
        !by_package(dir, path, f->package, version))
        *version = '\0';
    if (fd >= 0)
        close(fd);
    loaded_add(l->loaded, f->name, version);
}

static bool is_library(const struct framework *f, const char *path)
{
    const char *base = strrchr(path, '/');

    return base && strstr(base, ".so") &&
           strncmp(base + 1, f->file, strlen(f->file)) == 0 &&
           (!f->in || strstr(path, f->in));
}

static void look_at_line(struct looking *l, int dir, const char *line)
{
    const char *path = strchr(line, '/');

    for (size_t i = 0; path && i < sizeof(frameworks) / sizeof(*frameworks);
         i++)
        if (is_library(&frameworks[i], path) && is_new(l, path))
            look_at_file(l, &frameworks[i], dir, path);
}

static void look_at_process(struct looking *l, int dir)
{
    int fd = openat(dir, "maps", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct jp_lines *maps =
        fd >= 0 ? lines_open_fd(fd, "maps", &lines_limits[LINES_KERNEL], NULL)
                : NULL;
    char *line;
    size_t len;

    while (maps && lines_next(maps, &line, &len, NULL) > 0)
        look_at_line(l, dir, line);
    lines_close(maps);
}

void loaded_find(const struct procfs_some *some, struct loaded_list *loaded)
{
    struct looking l = {.loaded = loaded};

    for (uint32_t i = 0; i < some->n && i < PROCFS_SOME_MAX; i++) {
        const struct ownproc_name name = {.root = some->root,
                                          .pid = some->pid[i],
                                          .start = some->start[i],
                                          .uid = some->uid};
        struct ownproc proc;

        if (ownproc_open(&name, &proc, NULL) < 0)
            continue;
        look_at_process(&l, proc.dir);
        ownproc_close(&proc);
    }
    for (size_t i = 0; i < l.n_seen; i++)
        free(l.seen[i]);
}

/* --- in a child ------------------------------------------------------------
 */

struct loaded_look *loaded_look_start(const struct procfs_some *some,
                                      uint64_t now_ms, struct jp_error *err)
{
    struct loaded_look *look = calloc(1, sizeof(*look));
    int fd[2] = {-1, -1};

    if (!look ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0) {
        error_set(err, "libraries are not examined: %s", strerror(errno));
        free(look);
        return NULL;
    }
    *look = (struct loaded_look){.fd = fd[0], .start_ms = now_ms};
    look->pid = fork();
    /* the child */
    if (look->pid == 0) {
        struct loaded_list found = {0};

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        loaded_find(some, &found);
        send(fd[1], &found, sizeof(found), MSG_NOSIGNAL);
        _exit(0);
    }
    close(fd[1]);
    if (look->pid > 0)
        return look;
    error_set(err, "libraries are not examined: %s", strerror(errno));
    loaded_look_stop(look);
    return NULL;
}

/* Kills the child and takes its cost. One that is stuck in a file system is
 * left to init after 20 ms. */
static void end_look(struct loaded_look *look)
{
    struct rusage use = {.ru_utime = {0}};

    if (look->pid <= 0)
        return;
    kill(look->pid, SIGKILL);
    for (int i = 0; i < 20 && wait4(look->pid, NULL, WNOHANG, &use) == 0; i++)
        usleep(1000);
    look->pid = 0;
    look->cpu_us = (uint64_t) (use.ru_utime.tv_sec + use.ru_stime.tv_sec) *
                       1000000 +
                   (uint64_t) (use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

int loaded_look_take(struct loaded_look *look, uint64_t now_ms,
                     struct loaded_list *loaded, struct jp_error *err)
{
    struct loaded_list found;
    ssize_t n = recv(look->fd, &found, sizeof(found), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR) &&
        now_ms - look->start_ms < LOADED_LOOK_MS)
        return 0;
    end_look(look);
    /* too slow, or the child died before it wrote */
    if (n != (ssize_t) sizeof(found) || found.n > LOADED_MAX)
        return error_set(err, "the tasks' libraries are unknown: reading their "
                              "files took too long");
    for (uint32_t i = 0; i < found.n; i++) {
        struct loaded_library *one = &found.list[i];

        /* the message comes from another process */
        one->name[LOADED_NAME - 1] = '\0';
        one->version[LOADED_VERSION - 1] = '\0';
        loaded_add(loaded, one->name, one->version);
    }
    return 1;
}

void loaded_look_stop(struct loaded_look *look)
{
    if (!look)
        return;
    end_look(look);
    close(look->fd);
    free(look);
}
