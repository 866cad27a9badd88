/* sim_plugin.c - find, load and unload the profiler plugin as NCCL does.
 *
 * One plugin serves the whole process. It is loaded for the first communicator
 * and unloaded after the last one; a failed load is not repeated. Messages are
 * NCCL's own, because tests and users look for them. */
#include "contrib/ncclsim/sim_plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_shim.h"
#include "contrib/ncclsim/sim_version.h"

enum { NAME_BYTES = 256 };

/* The events are made as those of v6, which needs no shim. */
static struct jp_nccl_plugin_v6 *as_v6(void *table)
{
    return table;
}

/* Newest first. */
static const struct table {
    const char *symbol;
    int version;
    struct jp_nccl_plugin_v6 *(*dress)(void *table);
} tables[] = {
    {"ncclProfiler_v7", 7, sim_shim_v7}, {"ncclProfiler_v6", 6, as_v6},
    {"ncclProfiler_v5", 5, sim_shim_v5}, {"ncclProfiler_v4", 4, sim_shim_v4},
    {"ncclProfiler_v3", 3, sim_shim_v3}, {"ncclProfiler_v2", 2, sim_shim_v2},
    {"ncclProfiler_v1", 1, sim_shim_v1},
};

/* Protects the state and the count of users. plugin and mask are read without
 * it, by every event. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { READY, LOADED, FAILED } state;
static int users;
static void *library;
static struct jp_nccl_plugin_v6 *plugin;
static int mask;
static int ordered = -1; /* by RAS, for later communicators too; -1: nothing */
static char description[NAME_BYTES + 16] = "none";

void sim_plugin_log(int level, unsigned long subsys, const char *file, int line,
                    const char *fmt, ...)
{
    const char *debug = getenv("NCCL_DEBUG");
    char host[64] = "?";
    char text[1024];
    va_list ap;

    /* NCCL prints warnings at any level of NCCL_DEBUG */
    if (!debug || (level == JP_NCCL_LOG_INFO && strcasecmp(debug, "INFO") != 0))
        return;
    gethostname(host, sizeof(host) - 1);
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    printf("%s:%d NCCL %s %s\n", host, (int) getpid(),
           level == JP_NCCL_LOG_INFO ? "INFO" : "WARN", text);
}

/* Whether the name is a file ("lib....so", or anything with a slash), not a
 * plugin's name. */
static int is_file_name(const char *name)
{
    size_t n = strlen(name);

    return strchr(name, '/') || (n >= 6 && strncmp(name, "lib", 3) == 0 &&
                                 strcmp(name + n - 3, ".so") == 0);
}

/* Loads the library by the rules in the header, and prints why it cannot be
 * loaded. Returns NULL on failure. */
static void *open_library(const char *name)
{
    char file[NAME_BYTES];
    char tried[2 * NAME_BYTES];
    void *lib;

    if (strcasecmp(name, "STATIC_PLUGIN") == 0)
        return dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
    snprintf(file, sizeof(file), "%s", name[0] ? name : "libnccl-profiler.so");
    snprintf(tried, sizeof(tried), "%s", file);
    lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!lib && name[0] && !is_file_name(name)) {
        snprintf(file, sizeof(file), "libnccl-profiler-%s.so", name);
        snprintf(tried, sizeof(tried), "%s libnccl-profiler-%s.so", name, name);
        lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    }
    if (!lib) {
        printf("NCCL INFO PROFILER/Plugin: Could not find: %s\n", tried);
        sim_plugin_log(JP_NCCL_LOG_INFO, JP_NCCL_LOG_INIT, __FILE__, __LINE__,
                       "PROFILER/Plugin: %s", dlerror());
    }
    return lib;
}

/* Finds the newest table that the release knows, or that of a given interface.
 * Returns -1 after a message if there is none. */
static int find_table(int interface)
{
    size_t i;

    for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        void *table = NULL;

        if (interface > 0 ? interface == tables[i].version
                          : sim_nccl()->interface >= tables[i].version)
            table = dlsym(library, tables[i].symbol);
        if (!table)
            continue;
        __atomic_store_n(&plugin, tables[i].dress(table), __ATOMIC_RELAXED);
        snprintf(description, sizeof(description), "%s (v%d)", plugin->name,
                 tables[i].version);
        sim_plugin_log(JP_NCCL_LOG_INFO, JP_NCCL_LOG_INIT, __FILE__, __LINE__,
                       "PROFILER/Plugin: Loaded %s", description);
        return 0;
    }
    printf("NCCL INFO External profiler plugin is unsupported\n");
    return -1;
}

/* Called with the lock. */
static void load_plugin(int interface)
{
    const char *name = getenv("NCCL_PROFILER_PLUGIN");

    /* NCCL does not try again */
    if (state == FAILED)
        return;
    if (state == LOADED) {
        users++;
        return;
    }
    /* until everything has succeeded */
    state = FAILED;
    if (name && strcasecmp(name, "none") == 0)
        return;
    library = open_library(name ? name : "");
    if (!library)
        return;
    if (find_table(interface) < 0) {
        dlclose(library);
        library = NULL;
        return;
    }
    users = 1;
    state = LOADED;
}

/* Called with the lock. */
static void unload(void)
{
    if (state != LOADED || --users > 0)
        return;
    dlclose(library);
    library = NULL;
    __atomic_store_n(&plugin, NULL, __ATOMIC_RELAXED);
    state = READY;
}

void sim_plugin_mute(int muted, int left)
{
    static int kept;

    pthread_mutex_lock(&lock);
    if (muted)
        kept |= __atomic_exchange_n(&mask, left, __ATOMIC_RELAXED);
    else
        __atomic_store_n(&mask, kept, __ATOMIC_RELAXED);
    ordered = muted ? left : kept;
    pthread_mutex_unlock(&lock);
}

int sim_plugin_mask(void)
{
    return __atomic_load_n(&mask, __ATOMIC_RELAXED);
}

void sim_plugin_init(int interface, uint64_t comm_hash, const char *comm_name,
                     int n_nodes, int n_ranks, int rank, void **context)
{
    struct jp_nccl_plugin_v6 *p;
    int rc;

    *context = NULL;
    pthread_mutex_lock(&lock);
    load_plugin(interface);
    p = plugin;
    pthread_mutex_unlock(&lock);
    if (!p)
        return;
    rc = p->init(context, comm_hash, &mask, comm_name, n_nodes, n_ranks, rank,
                 sim_plugin_log);
    pthread_mutex_lock(&lock);
    if (ordered >= 0)
        __atomic_store_n(&mask, ordered, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    /* as NCCL does: the program runs without a profiler */
    if (rc != 0) {
        printf("NCCL INFO Profiler init failed with error '%d'. Continue "
               "without profiler.\n",
               rc);
        pthread_mutex_lock(&lock);
        unload();
        pthread_mutex_unlock(&lock);
    }
}

void sim_plugin_finalize(void *context)
{
    struct jp_nccl_plugin_v6 *p = sim_plugin_get();

    if (p && context)
        p->finalize(context);
    pthread_mutex_lock(&lock);
    unload();
    pthread_mutex_unlock(&lock);
}

struct jp_nccl_plugin_v6 *sim_plugin_get(void)
{
    return __atomic_load_n(&plugin, __ATOMIC_RELAXED);
}

const char *sim_plugin_describe(void)
{
    return description;
}
