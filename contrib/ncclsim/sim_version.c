/* sim_version.c - the simulated release, and what profilers see of it.
 *
 * The table has one row for each range of releases that behave alike. A member
 * that is left out is 0: the release does not do this. */
#include "contrib/ncclsim/sim_version.h"

#include <string.h>

#include "common/num.h"

/* Oldest first. */
static const struct jp_sim_nccl table[] = {
    {.release = 0, /* 2.23 */
     .interface = 1,
     .guards_tasks = 1,
     .stops_null = 1,
     .late_masks = 1,
     .seq_if_told = 1,
     .mutes_eager = 1,
     .shares_ids = 1,
     .coll_channels = 1,
     .chatty_proxies = 1,
     .step_needs_op = 1,
     .colls_per_batch = 10},
    {.release = 22400,
     .interface = 2,
     .guards_tasks = 1,
     .stops_null = 1,
     .late_masks = 1,
     .seq_if_told = 1,
     .coll_channels = 1,
     .chatty_proxies = 1,
     .step_needs_op = 1,
     .colls_per_batch = 10},
    {.release = 22600,
     .interface = 3,
     .guards_tasks = 1,
     .coll_channels = 1,
     .chatty_proxies = 1,
     .step_needs_op = 1,
     .has_kernels = 1,
     .connects = 1,
     .shared_batches = 1,
     .adds_at_replay = 1,
     .colls_per_batch = 10},
    {.release = 22603,
     .interface = 3,
     .guards_tasks = 1,
     .coll_channels = 1,
     .chatty_proxies = 1,
     .step_needs_op = 1,
     .has_kernels = 1,
     .connects = 1,
     .shared_batches = 1,
     .counts_unasked = 1,
     .colls_per_batch = 10},
    {.release = 22700,
     .interface = 4,
     .guards_tasks = 1,
     .tells_capture = 1,
     .has_symmetric = 1,
     .first_proxies = 1,
     .step_needs_op = 1,
     .has_kernels = 1,
     .connects = 1,
     .has_stamps = 1,
     .shared_batches = 1,
     .counts_unasked = 1,
     .colls_per_batch = 10},
    {.release = 22800,
     .interface = 5,
     .tells_capture = 1,
     .has_apis = 1,
     .has_symmetric = 1,
     .has_copy_engine = 1,
     .has_kernels = 1,
     .connects = 1,
     .has_stamps = 1,
     .counts_unasked = 1,
     .colls_per_batch = 10},
    {.release = 22900,
     .interface = 6,
     .tells_capture = 1,
     .has_apis = 1,
     .has_symmetric = 1,
     .has_copy_engine = 1,
     .copy_events = 1,
     .silent_bcast = 1,
     .has_kernels = 1,
     .connects = 1,
     .has_stamps = 1,
     .counts_unasked = 1,
     .colls_per_batch = 10},
    {.release = 23000,
     .interface = 6,
     .tells_capture = 1,
     .has_apis = 1,
     .has_symmetric = 1,
     .has_copy_engine = 1,
     .copy_events = 1,
     .silent_bcast = 1,
     .has_kernels = 1,
     .connects = 1,
     .has_stamps = 1,
     .counts_unasked = 1,
     .colls_per_batch = 8},
    {.release = 23102,
     .interface = 7,
     .tells_capture = 1,
     .has_apis = 1,
     .has_symmetric = 1,
     .tells_symmetric = 1,
     .has_copy_engine = 1,
     .copy_events = 1,
     .silent_bcast = 1,
     .has_kernels = 1,
     .has_stamps = 1,
     .counts_as_gpu = 1,
     .passes_all = 1,
     .colls_per_batch = 8},
};

enum { N_ROWS = sizeof(table) / sizeof(table[0]) };

/* The release of each interface; index 0: the default. That of v4 is not the
 * first one, 2.27.3, which plugins may refuse. */
static const int releases[] = {22902, 22304, 22403, 22602,
                               22707, 22803, 22902, 23102};

/* The release, and its row. */
static int release = 22902;
const struct jp_sim_nccl *sim_version_now = &table[N_ROWS - 3];

/* Sets the release and finds its row: the last one that is not newer. */
static void set(int number)
{
    int i;

    release = number;
    for (i = 0; i < N_ROWS && table[i].release <= number; i++)
        sim_version_now = &table[i];
}

int sim_version_set(const char *text, int interface, struct jp_error *err)
{
    int64_t number = 0;
    int i;

    if (!text) {
        set(releases[interface]);
        return 0;
    }
    /* X, Y and Z */
    for (i = 0; i < 3; i++) {
        size_t n = strcspn(text, ".");
        char word[8] = "";
        int64_t part;

        if (n >= sizeof(word) || (text[n] == '\0') != (i == 2))
            return error_set(err, "the format is X.Y.Z");
        memcpy(word, text, n);
        if (num_parse_i64(word, 0, 99, &part, err) < 0)
            return -1;
        number = number * 100 + part;
        text += n + (i < 2);
    }
    set((int) number);
    return 0;
}

/* Plugins find this function in the process as they would find NCCL's own. */
__attribute__((visibility("default"))) int ncclGetVersion(int *version)
{
    *version = release;
    return 0;
}
