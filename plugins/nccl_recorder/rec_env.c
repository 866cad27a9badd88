/* rec_env.c - the recorder's settings and the contents of the file's header.
 *
 * Much here avoids common functions (strtoull, stat, fcntl): their newest
 * symbol versions would keep the library from loading in containers with an
 * older glibc.
 */
#include "plugins/nccl_recorder/rec_env.h"

#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/launched.h"
#include "plugins/nccl_recorder/rec_compat.h"

/* --- the communicator's GPU ---------------------------------------------- */

/* The parts of the CUDA driver's and runtime's interface that are needed: a
 * device is an int, a UUID 16 bytes, success is 0. */
struct uuid {
    unsigned char bytes[16];
};

typedef int get_device_fn(int *device);
typedef int get_pci_fn(char *out, int size, int device);
typedef int get_uuid_fn(struct uuid *out, int device);
typedef int get_handle_fn(int *handle, int ordinal);

static const char *const cuda_runtimes[] = {
    "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};

/* Returns a library that the process has already loaded and that has the
 * symbol, or NULL; loads nothing. */
static void *find_library(const char *name, const char *symbol)
{
    void *lib = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);

    if (lib && dlsym(lib, symbol))
        return lib;
    if (lib)
        dlclose(lib);
    return NULL;
}

/* Returns a function of a library. Without the library the program itself is
 * searched, for one that is linked statically. */
static void *find_function(void *lib, const char *symbol)
{
    return dlsym(lib ? lib : RTLD_DEFAULT, symbol);
}

/* Returns the CUDA runtime that is loaded, whatever its release, or NULL. */
static void *find_runtime(void)
{
    void *lib = NULL;
    size_t i;

    for (i = 0; !lib && i < sizeof(cuda_runtimes) / sizeof(cuda_runtimes[0]);
         i++)
        lib = find_library(cuda_runtimes[i], "cudaGetDevice");
    return lib;
}

/* The form that nvidia-smi prints. */
static void format_uuid(const struct uuid *uuid, char *out, size_t size)
{
    const unsigned char *b = uuid->bytes;

    snprintf(out, size,
             "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
             b[11], b[12], b[13], b[14], b[15]);
}

/* Makes the bus id that of sysfs: lower case, four digits of domain. */
static void tidy_pci(char *pci)
{
    char *c;

    for (c = pci; *c; c++)
        *c |= *c >= 'A' && *c <= 'Z' ? 0x20 : 0;
    if (strlen(pci) == 16 && strncmp(pci, "0000", 4) == 0)
        memmove(pci, pci + 4, 13);
}

/* Finds the driver's device of the thread: by its context, else by the
 * runtime's number, which is the driver's as long as there is no context.
 * Returns 0 or -1. */
static int current_device(void *driver, void *runtime, int *device)
{
    get_device_fn *get =
        (get_device_fn *) find_function(driver, "cuCtxGetDevice");
    get_device_fn *number =
        (get_device_fn *) find_function(runtime, "cudaGetDevice");
    get_handle_fn *handle =
        (get_handle_fn *) find_function(driver, "cuDeviceGet");
    int ordinal;

    if (get && get(device) == 0) /* the thread has a context */
        return 0;
    if (number && number(&ordinal) == 0 && handle)
        return handle(device, ordinal) == 0 ? 0 : -1;
    return -1;
}

void rec_gpu_identify(char *pci, size_t pci_size, char *uuid, size_t uuid_size)
{
    void *driver = find_library("libcuda.so.1", "cuDeviceGetPCIBusId");
    void *runtime = find_runtime();
    get_pci_fn *get_pci =
        (get_pci_fn *) find_function(driver, "cuDeviceGetPCIBusId");
    get_uuid_fn *get_uuid =
        (get_uuid_fn *) find_function(driver, "cuDeviceGetUuid_v2");
    struct uuid id;
    int device;

    pci[0] = uuid[0] = '\0';
    /* only _v2 has slices (MIG); older drivers have only the other */
    if (!get_uuid)
        get_uuid = (get_uuid_fn *) find_function(driver, "cuDeviceGetUuid");
    if (current_device(driver, runtime, &device) == 0) {
        if (get_pci && get_pci(pci, (int) pci_size, device) != 0)
            pci[0] = '\0';
        pci[pci_size - 1] = '\0';
        tidy_pci(pci);
        if (get_uuid && get_uuid(&id, device) == 0)
            format_uuid(&id, uuid, uuid_size);
    }
    /* dlopen() has counted both up; they stay loaded */
    if (driver)
        dlclose(driver);
    if (runtime)
        dlclose(runtime);
}

/* Returns NCCL's version number (23007: 2.30.7), or 0 if it is unknown. */
static unsigned rec_gpu_nccl_release(void)
{
    typedef int get_version_fn(int *version);
    void *nccl = find_library("libnccl.so.2", "ncclGetVersion");
    get_version_fn *get =
        (get_version_fn *) find_function(nccl, "ncclGetVersion");
    int version = 0;

    if (!get || get(&version) != 0 || version < 0)
        version = 0;
    if (nccl)
        dlclose(nccl);
    return (unsigned) version;
}

/* --- settings and header ------------------------------------------------- */

enum { NOTE_BYTES = 160 };

static const struct knob {
    const char *name;
    uint64_t min, max, fallback;
    size_t where; /* in struct jp_rec_settings */
} knobs[] = {
#define AT(member) offsetof(struct jp_rec_settings, member)
    {"JOBPROF_RECORDER_MEM", JP_REC_MEM_MIN, JP_REC_MEM_MAX, 16 << 20,
     AT(memory_bytes)},
    {"JOBPROF_RECORDER_DISK", 0, UINT64_MAX, 0, AT(disk_bytes)},
    {"JOBPROF_RECORDER_MIN_FREE", 0, UINT64_MAX, 0, AT(min_free_bytes)},
#undef AT
};

enum { N_KNOBS = sizeof(knobs) / sizeof(knobs[0]) };

/* Variables that change the paths of data, choose GPUs or name NCCL's log.
 * Nothing else of the environment is kept. */
static const char *const variables[] = {"NCCL_ALGO",
                                        "NCCL_PROTO",
                                        "NCCL_NET",
                                        "NCCL_NET_PLUGIN",
                                        "NCCL_IB_DISABLE",
                                        "NCCL_IB_HCA",
                                        "NCCL_SOCKET_IFNAME",
                                        "NCCL_P2P_DISABLE",
                                        "NCCL_P2P_LEVEL",
                                        "NCCL_SHM_DISABLE",
                                        "NCCL_NET_GDR_LEVEL",
                                        "NCCL_NET_DISABLE_INTRA",
                                        "NCCL_CROSS_NIC",
                                        "NCCL_NVLS_ENABLE",
                                        "NCCL_MNNVL_ENABLE",
                                        "NCCL_CUMEM_ENABLE",
                                        "NCCL_COLLNET_ENABLE",
                                        "NCCL_PXN_DISABLE",
                                        "NCCL_MIN_NCHANNELS",
                                        "NCCL_MAX_NCHANNELS",
                                        "NCCL_MIN_CTAS",
                                        "NCCL_MAX_CTAS",
                                        "NCCL_NTHREADS",
                                        "NCCL_BUFFSIZE",
                                        "NCCL_TOPO_FILE",
                                        "NCCL_TOPO_DUMP_FILE",
                                        "NCCL_GRAPH_FILE",
                                        "NCCL_TUNER_PLUGIN",
                                        "NCCL_CTA_POLICY",
                                        "NCCL_HOSTID",
                                        "NCCL_P2P_DIRECT_DISABLE",
                                        "NCCL_P2P_USE_CUDA_MEMCPY",
                                        "NCCL_P2P_PXN_LEVEL",
                                        "NCCL_NVB_DISABLE",
                                        "NCCL_MULTI_RANK_GPU_ENABLE",
                                        "NCCL_MNNVL_UUID",
                                        "NCCL_MNNVL_CLIQUE_ID",
                                        "NCCL_NETDEVS_POLICY",
                                        "NCCL_IB_MERGE_NICS",
                                        "NCCL_IB_GID_INDEX",
                                        "NCCL_IB_ADDR_FAMILY",
                                        "NCCL_SOCKET_FAMILY",
                                        "FI_PROVIDER",
                                        "NCCL_DEBUG",
                                        "NCCL_DEBUG_FILE",
                                        "CUDA_VISIBLE_DEVICES",
                                        "CUDA_DEVICE_ORDER",
                                        "NVIDIA_VISIBLE_DEVICES",
                                        "LOCAL_RANK",
                                        "RANK"};

enum { N_VARIABLES = sizeof(variables) / sizeof(variables[0]) };
_Static_assert((int) N_VARIABLES <= (int) JPR_MAX_VARIABLES,
               "the header holds them all");

/* What launchers tell their workers. */
#define LAUNCHED_NAMES(name, rank, size) rank, size,
static const char *const launched[] = {
    LAUNCHED_RANKS(LAUNCHED_NAMES) LAUNCHED_LOCAL_RANK, LAUNCHED_RESTARTS,
    LAUNCHED_RUN, LAUNCHED_TASK_PID};

enum { N_LAUNCHED = sizeof(launched) / sizeof(launched[0]) };
_Static_assert((int) N_LAUNCHED <= (int) JPR_MAX_VARIABLES,
               "the record holds them all");

enum { KERNELS_OFF, KERNELS_AUTO, KERNELS_ON };

static const char *const kernel_words[] = {
    [KERNELS_OFF] = "0",
    [KERNELS_AUTO] = "auto",
    [KERNELS_ON] = "1",
};
enum { N_KERNEL_WORDS = sizeof(kernel_words) / sizeof(kernel_words[0]) };

/* room for a note about each knob, JOBPROF_RECORDER_NET, _KERNELS, and two
 * about the release */
static char notes[N_KNOBS + 5][NOTE_BYTES];
static unsigned n_notes;
static const char *chain_note; /* NULL: none */

/* Parses decimal digits and nothing else. Returns 0, or -1 if the number is out
 * of range. Not strtoull: its newest symbol version would keep the library out
 * of older containers. */
static int parse_number(const char *text, uint64_t min, uint64_t max,
                        uint64_t *out)
{
    uint64_t value = 0;

    if (!text[0])
        return -1;
    for (; *text; text++) {
        unsigned digit = (unsigned) (unsigned char) *text - '0';

        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return -1;
    }
    if (value < min || value > max)
        return -1;
    *out = value;
    return 0;
}

/* Notes a value that is ignored. */
static void note_ignored(const char *name, const char *value, uint64_t min,
                         uint64_t max)
{
    snprintf(
        notes[n_notes++], NOTE_BYTES,
        "%s: \"%.40s\" is not a number from %llu to %llu, so it is ignored",
        name, value, (unsigned long long) min, (unsigned long long) max);
}

/* Returns one of KERNELS_..., auto for a bad word, which is noted. */
static int read_kernels(void)
{
    const char *text = getenv("JOBPROF_RECORDER_KERNELS");
    int i = 0;

    if (!text)
        return KERNELS_AUTO;
    while (i < N_KERNEL_WORDS && strcmp(text, kernel_words[i]) != 0)
        i++;
    if (i < N_KERNEL_WORDS)
        return i;
    snprintf(notes[n_notes++], NOTE_BYTES,
             "JOBPROF_RECORDER_KERNELS: \"%.40s\" is not auto, 0 or 1, so it "
             "is ignored",
             text);
    return KERNELS_AUTO;
}

/* Whether this process, and so each thread that NCCL makes, has one processor:
 * there the connections of kernel events take seconds for each communicator. */
static bool has_one_processor(void)
{
    cpu_set_t of_process, of_thread;

    return sched_getaffinity(getpid(), sizeof(of_process), &of_process) == 0 &&
           sched_getaffinity(0, sizeof(of_thread), &of_thread) == 0 &&
           CPU_COUNT(&of_process) == 1 && CPU_COUNT(&of_thread) == 1;
}

/* Reads all settings; bad values are noted and replaced by their defaults. */
static void read_settings(struct jp_rec_settings *settings, int interface)
{
    const char *net = getenv("JOBPROF_RECORDER_NET");
    uint64_t value = 0;
    int i, kernels;

    for (i = 0; i < N_KNOBS; i++) {
        const struct knob *knob = &knobs[i];
        uint64_t *out = (uint64_t *) ((char *) settings + knob->where);
        const char *text = getenv(knob->name);

        *out = knob->fallback; /* stays after a bad value */
        if (text && parse_number(text, knob->min, knob->max, out) < 0)
            note_ignored(knob->name, text, knob->min, knob->max);
    }
    if (net && parse_number(net, 0, 1, &value) < 0)
        note_ignored("JOBPROF_RECORDER_NET", net, 0, 1);
    settings->net = value == 1;
    kernels = read_kernels();
    if (kernels == KERNELS_AUTO && interface >= 5 && interface < 7 &&
        has_one_processor()) {
        kernels = KERNELS_OFF;
        snprintf(notes[n_notes++], NOTE_BYTES,
                 "this process has one processor, so kernels=auto is 0: the "
                 "connections of kernel events would take seconds");
    }
    settings->kernels = kernels != KERNELS_OFF &&
                        interface >= (kernels == KERNELS_ON ? 4 : 5);
}

/* Parses a release at *text as ncclGetVersion() numbers it, 23007 for "2.30.7",
 * and moves *text after it. `patch` stands for a third number that is not
 * there. Returns 0 if there is no release. */
static unsigned parse_release(const char **text, unsigned patch)
{
    unsigned parts[3] = {0, 0, patch};
    const char *at = *text;
    int i;

    for (i = 0; i < 3; i++) {
        unsigned value = 0;
        int n_digits = 0;

        for (; *at >= '0' && *at <= '9' && n_digits < 3; at++, n_digits++)
            value = value * 10 + (unsigned) (*at - '0');
        if (n_digits == 0 || value > 99)
            return 0;
        parts[i] = value;
        if (*at != '.')
            break;
        at++;
    }
    if (i < 1 || i > 2) /* two or three numbers make a release */
        return 0;
    *text = at;
    return parts[0] * 10000 + parts[1] * 100 + parts[2];
}

/* Returns whether a list of releases and ranges contains this one. *bad: an
 * entry is not a release. */
static bool has_release(const char *list, unsigned release, bool *bad)
{
    bool found = false;

    *bad = false;
    while (*list) {
        const char *again = list;
        /* "2.27" alone is the range of all its patches */
        unsigned first = parse_release(&list, 0);
        unsigned last = parse_release(&again, 99);

        if (*list == '-') {
            list++;
            last = parse_release(&list, 99);
        }
        if (!first || !last || (*list && *list != ','))
            *bad = true; /* the other entries still count */
        else
            found = found || (release >= first && release <= last);
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return found;
}

/* Reads the declined releases; returns what rec_env_read() does. */
static const char *read_declined(void)
{
    const char *list = getenv("JOBPROF_RECORDER_DECLINE");
    unsigned release = rec_gpu_nccl_release();
    char *text = notes[n_notes];
    bool bad, found;

    if (!list || !list[0]) /* nothing is declined */
        return NULL;
    found = has_release(list, release, &bad);
    if (bad) {
        snprintf(text, NOTE_BYTES,
                 "JOBPROF_RECORDER_DECLINE: \"%.40s\" has an entry that is not "
                 "a release",
                 list);
        text = notes[++n_notes];
    }
    /* a release that cannot be read is recorded: most are good */
    if (!release)
        snprintf(text, NOTE_BYTES,
                 "JOBPROF_RECORDER_DECLINE: NCCL's release is unknown, so the "
                 "list is ignored");
    else if (found)
        snprintf(text, NOTE_BYTES, "declined: NCCL %u.%u.%u (known-bad)",
                 release / 10000, release / 100 % 100, release % 100);
    n_notes += !release || found;
    return release && found ? text : NULL;
}

void rec_env_chain(const char *why)
{
    chain_note = why;
}

const char *rec_env_read(struct jp_rec_settings *settings, int interface)
{
    n_notes = 0;
    read_settings(settings, interface);
    return read_declined();
}

void rec_env_clocks(struct jpr_clocks *clocks)
{
    clocks->mono_ns = rec_clock_of(CLOCK_MONOTONIC);
    clocks->real_ns = rec_clock_of(CLOCK_REALTIME);
    clocks->raw_ns = rec_clock_of(CLOCK_MONOTONIC_RAW);
}

/* Returns the host's name, or "unknown" where it cannot be part of a file's
 * name. */
static const char *hostname(void)
{
    static char name[256];

    if (gethostname(name, sizeof(name) - 1) < 0 || !name[0] ||
        strchr(name, '/'))
        memcpy(name, "unknown", sizeof("unknown"));
    return name;
}

/* Returns a variable's value, or "". */
static const char *env_text(const char *name)
{
    const char *text = getenv(name);

    return text ? text : "";
}

/* Returns a variable's number, or -1 if it is not set or no number. */
static int64_t env_number(const char *name)
{
    const char *text = getenv(name);
    uint64_t value;

    return text && parse_number(text, 0, INT32_MAX, &value) == 0
               ? (int64_t) value
               : -1;
}

/* Returns the id of this boot of the kernel, or "". */
static const char *boot_id(void)
{
    static char id[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, id, sizeof(id) - 1) : 0;

    if (fd >= 0)
        close(fd);
    id[n > 0 ? n : 0] = '\0';
    id[strcspn(id, "\n")] = '\0';
    return id;
}

/* Returns the inode in "pid:[4026531836]", or 0. readlink() needs fewer symbols
 * than stat() would. */
static uint64_t pid_namespace(void)
{
    char link[64];
    ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
    uint64_t inode = 0;
    char *at;

    link[n > 0 ? n : 0] = '\0';
    at = strchr(link, '[');
    if (!at)
        return 0;
    link[strcspn(link, "]")] = '\0';
    return parse_number(at + 1, 0, UINT64_MAX, &inode) == 0 ? inode : 0;
}

/* Returns the process's start time in ticks after boot, or 0. It shows whether
 * a process with this number is still this one (common/ownproc.h). */
static uint64_t start_time(void)
{
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    char text[1024];
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    uint64_t start = 0;
    char *at;
    int field;

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* Behind the name, before field 3; the name may hold anything. */
    at = strrchr(text, ')');
    for (field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    at++;
    at[strcspn(at, " ")] = '\0';
    return parse_number(at, 0, UINT64_MAX, &start) == 0 ? start : 0;
}

/* Adds the variables that are set, and the notes. */
static void fill_lists(struct jpr_header *header)
{
    unsigned i;

    for (i = 0; i < N_VARIABLES; i++) {
        const char *value = getenv(variables[i]);

        if (value)
            header->variables[header->n_variables++] =
                (struct jpr_variable){variables[i], value};
    }
    for (i = 0; i < n_notes; i++)
        header->notes[header->n_notes++] = notes[i];
    if (chain_note)
        header->notes[header->n_notes++] = chain_note;
}

/* Reads the numbers of "NSpid:\t4711\t1\n" in /proc/self/status: the process's
 * id in each namespace that its /proc shows. Kernels before 4.1 have no such
 * line. */
static void fill_pids(struct jpr_process *process)
{
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    char text[4096], *at, *end;
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    at = strstr(text, "\nNSpid:");
    if (!at)
        return;
    at += sizeof("\nNSpid:") - 1;
    at[strcspn(at, "\n")] = '\0';
    while (process->n_pids < JPR_MAX_PIDS && *(at += strspn(at, "\t "))) {
        end = at + strcspn(at, "\t ");
        if (*end)
            *end++ = '\0';
        if (parse_number(at, 1, INT32_MAX, &process->pids[process->n_pids]) < 0)
            return;
        process->n_pids++;
        at = end;
    }
}

void rec_env_process(struct jpr_process *process)
{
    unsigned i;

    *process = (struct jpr_process){0};
    for (i = 0; i < N_LAUNCHED; i++) {
        const char *value = *launched[i] ? getenv(launched[i]) : NULL;

        if (value)
            process->variables[process->n_variables++] =
                (struct jpr_variable){launched[i], value};
    }
    fill_pids(process);
}

/* Called once for each file; the variables are those of that moment. */
void rec_env_header(const struct jp_rec_settings *settings, int interface,
                    struct jpr_header *header)
{
    *header = (struct jpr_header){
        .recorder = "jobprof " JP_RECORDER_VERSION,
        .hostname = hostname(),
        .boot_id = boot_id(),
        .pid = (uint64_t) getpid(),
        .pid_namespace = pid_namespace(),
        .job = env_text("SLURM_JOB_ID"),
        /* the first is set in a batch script, which is no step of srun */
        .step = env_text(*env_text("JOBPROF_STEP") ? "JOBPROF_STEP"
                                                   : "SLURM_STEP_ID"),
        .procid = env_number("SLURM_PROCID"),
        .nodeid = env_number("SLURM_NODEID"),
        .localid = env_number("SLURM_LOCALID"),
        .interface = (uint64_t) interface,
        .nccl_release = rec_gpu_nccl_release(),
        .memory_bytes = settings->memory_bytes,
        .disk_bytes = settings->disk_bytes,
        .min_free_bytes = settings->min_free_bytes,
        .net = settings->net,
        .kernels = settings->kernels,
        .start = start_time(),
    };
    rec_env_clocks(&header->clocks);
    fill_lists(header);
}
