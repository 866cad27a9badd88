/* sim_meet.c - how all ranks learn which of them are late, and by how much.
 *
 * Two files in the current folder connect the ranks. One has a word per
 * iteration and rank, written once and read by all (sim_meet). The other, with
 * operations, is a hash table in shared memory with a slot per operation, in
 * which ranks count their arrivals (sim_meet_arrive, sim_meet_all). */
#include "contrib/ncclsim/sim_meet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "contrib/ncclsim/sim_pace.h"

/* Longest time to wait for another rank: one that has died never writes. */
#define WAIT_NS 60000000000LL
#define POLL_NS 500000
/* A rank that waits in an operation is woken; if that is lost, it looks again
 * after this time. */
#define AGAIN_NS 100000000

/* The file has a byte per rank, set when the rank has ended, then one word per
 * iteration and rank. */
struct word {
    int64_t late_ns; /* plus one; 0: not written yet */
    int64_t base_ns;
};

/* Operations that ranks have entered: a table of fixed size in a file of its
 * own. */
enum { SLOTS = 1 << 20, PROBES = 64 };

struct slot {
    uint64_t key;    /* 0: free */
    int64_t last_ns; /* time of the latest arrival */
    uint32_t n;      /* number of arrivals, which the others wait for */
};

struct jp_sim_meet {
    struct jp_sim_meet_place place;
    struct slot *slots; /* NULL: ranks do not meet in operations */
    char slots_path[80];
    struct jp_sim_work *work[SIM_MAX_FAULTS]; /* NULL: not ours */
    int64_t *late_ns;                         /* [n_ranks] */
    int64_t began_ns;
    char path[64];
    int fd;
};

/* Whether the i-th fault makes the rank late. */
static int is_late(const struct jp_sim_meet *meet, int i, int rank)
{
    return sim_faults_is_late(&meet->place.faults->list[i], meet->place.world,
                              rank);
}

/* Opens the causes that this process takes part in. */
static int open_works(struct jp_sim_meet *meet, struct jp_error *err)
{
    const struct jp_sim_world *world = meet->place.world;
    int i;

    for (i = 0; i < meet->place.faults->n; i++) {
        const struct jp_sim_fault *fault = &meet->place.faults->list[i];
        const struct jp_sim_spot spot = {
            .nvml = meet->place.nvml,
            .gpu = world->local[world->rank],
            .is_late = is_late(meet, i, world->rank)};

        if (!fault->cause ||
            (!spot.is_late && !sim_cause_is_for_all(fault->cause)))
            continue;
        meet->work[i] = sim_cause_open(fault->cause, &spot, err);
        if (!meet->work[i])
            return -1;
    }
    return 0;
}

/* Maps the table of operations. Pages that no process touches take no memory.
 */
static int map_slots(struct jp_sim_meet *meet, struct jp_error *err)
{
    size_t bytes = SLOTS * sizeof(*meet->slots);
    void *at = MAP_FAILED;
    int fd;

    snprintf(meet->slots_path, sizeof(meet->slots_path), "%s-ops", meet->path);
    fd = open(meet->slots_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && ftruncate(fd, (off_t) bytes) == 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        error_set(err, "%s: %s", meet->slots_path, strerror(errno));
    if (fd >= 0)
        close(fd);
    meet->slots = at == MAP_FAILED ? NULL : at;
    return meet->slots ? 0 : -1;
}

struct jp_sim_meet *sim_meet_begin(const struct jp_sim_meet_place *place,
                                   struct jp_error *err)
{
    struct jp_sim_meet *meet = calloc(1, sizeof(*meet));

    if (!meet) {
        error_set(err, "no memory");
        return NULL;
    }
    meet->place = *place;
    meet->late_ns =
        calloc((size_t) place->world->n_ranks, sizeof(*meet->late_ns));
    snprintf(meet->path, sizeof(meet->path), ".ncclsim-%016" PRIx64,
             place->seed);
    meet->fd = open(meet->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (meet->fd < 0)
        error_set(err, "%s: %s", meet->path, strerror(errno));
    meet->began_ns = sim_pace_now_ns();
    if (meet->fd >= 0 && meet->late_ns && open_works(meet, err) == 0 &&
        (!place->in_operations || map_slots(meet, err) == 0))
        return meet;
    sim_meet_end(meet);
    return NULL;
}

/* Marks this rank as ended. The last rank removes the files. */
static void leave(const struct jp_sim_meet *meet)
{
    size_t n = (size_t) meet->place.world->n_ranks, i;
    char *ended = calloc(n, 1);

    if (pwrite(meet->fd, "1", 1, meet->place.world->rank) == 1 && ended &&
        pread(meet->fd, ended, n, 0) == (ssize_t) n) {
        for (i = 0; i < n && ended[i] == '1'; i++)
            ;
        if (i == n) {
            unlink(meet->path);
            if (meet->slots)
                unlink(meet->slots_path);
        }
    }
    free(ended);
}

void sim_meet_end(struct jp_sim_meet *meet)
{
    int i;

    if (!meet)
        return;
    for (i = 0; i < SIM_MAX_FAULTS; i++)
        sim_cause_close(meet->work[i]);
    if (meet->fd >= 0) {
        leave(meet);
        close(meet->fd);
    }
    if (meet->slots)
        munmap(meet->slots, SLOTS * sizeof(*meet->slots));
    free(meet->late_ns);
    free(meet);
}

/* Returns the position of a rank's word in the file, at a multiple of 8 bytes.
 */
static off_t place_of(const struct jp_sim_meet *meet, int iteration, int rank)
{
    off_t n = meet->place.world->n_ranks;

    return (n + 7) / 8 * 8 +
           (off_t) sizeof(struct word) * (iteration * n + rank);
}

/* Works for all causes, whether they delay this rank or only the others.
 * Returns by how many ns this rank is late at each of `calls` collectives. */
static int64_t work(struct jp_sim_meet *meet, int calls)
{
    int64_t us = (sim_pace_now_ns() - meet->began_ns) / 1000;
    int64_t sum = 0;
    int i;

    for (i = 0; i < meet->place.faults->n; i++) {
        const struct jp_sim_fault *fault = &meet->place.faults->list[i];
        int64_t ns = fault->args[1] * 1000 * calls;

        if (!meet->work[i] || us < fault->from_us ||
            (fault->to_us > 0 && us >= fault->to_us))
            continue;
        ns = sim_cause_late_ns(meet->work[i], ns);
        if (is_late(meet, i, meet->place.world->rank))
            sum += ns;
    }
    return sum / calls;
}

/* Waits for the word of a rank. */
static int hear(const struct jp_sim_meet *meet, int iteration, int rank,
                struct word *word, struct jp_error *err)
{
    int64_t until = sim_pace_now_ns() + WAIT_NS;
    off_t at = place_of(meet, iteration, rank);

    while (pread(meet->fd, word, sizeof(*word), at) != sizeof(*word) ||
           word->late_ns == 0) {
        if (sim_pace_now_ns() > until)
            return error_set(err, "rank %d has not reported how late it is",
                             rank);
        sim_pace_sleep_until(sim_pace_now_ns() + POLL_NS);
    }
    return 0;
}

/* Returns the time of virtual time 0 so that the iteration is still to come.
 * Virtual time never goes back. */
static int64_t base_of(const struct jp_sim_round *round, int64_t ahead_ns)
{
    int64_t base = sim_pace_now_ns() + ahead_ns - round->now_ns;

    return base > round->base_ns ? base : round->base_ns;
}

int sim_meet(struct jp_sim_meet *meet, struct jp_sim_round *round,
             struct jp_error *err)
{
    const struct jp_sim_world *world = meet->place.world;
    int64_t late_ns = work(meet, round->calls > 0 ? round->calls : 1);
    struct word word = {.late_ns = late_ns + 1,
                        .base_ns = base_of(round, meet->place.ahead_ns)};
    int r;

    if (pwrite(meet->fd, &word, sizeof(word),
               place_of(meet, round->iteration, world->rank)) != sizeof(word))
        return error_set(err, "%s: %s", meet->path, strerror(errno));
    for (r = 0; r < world->n_ranks; r++) {
        if (hear(meet, round->iteration, r, &word, err) < 0)
            return -1;
        meet->late_ns[r] = word.late_ns - 1;
        /* the latest one is used by all ranks */
        if (word.base_ns > round->base_ns)
            round->base_ns = word.base_ns;
    }
    round->late_ns = meet->late_ns;
    return 0;
}

/* --- in an operation ------------------------------------------------------ */

/* Sleeps until a count is no longer `seen`, or for AGAIN_NS. */
static void wait_for_more(const uint32_t *count, uint32_t seen)
{
    const struct timespec most = {.tv_nsec = AGAIN_NS};

    syscall(SYS_futex, count, FUTEX_WAIT, seen, &most, NULL, 0);
}

static void wake_all(const uint32_t *count)
{
    syscall(SYS_futex, count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Returns the slot of an operation, taken by the first rank that arrives. NULL:
 * no free slot nearby. */
static struct slot *slot_of(const struct jp_sim_meet *meet, uint64_t comm,
                            uint64_t op)
{
    /* an odd number, because 0 means free */
    uint64_t key = ((comm ^ (op * 0x9e3779b97f4a7c15u)) * 0xc2b2ae3d27d4eb4fu) |
                   1;

    for (uint64_t i = 0; i < PROBES; i++) {
        struct slot *slot = &meet->slots[((key >> 40) + i) % SLOTS];
        uint64_t found = 0;

        if (__atomic_compare_exchange_n(&slot->key, &found, key, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
            found == key)
            return slot;
    }
    return NULL;
}

void sim_meet_arrive(struct jp_sim_meet *meet, uint64_t comm, uint64_t op,
                     int n)
{
    struct slot *slot = slot_of(meet, comm, op);
    int64_t now = sim_pace_now_ns(), last;

    if (!slot)
        return;
    last = __atomic_load_n(&slot->last_ns, __ATOMIC_RELAXED);
    /* the maximum, written before the count, which the others wait for */
    while (last < now &&
           !__atomic_compare_exchange_n(&slot->last_ns, &last, now, 0,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    if (__atomic_add_fetch(&slot->n, 1, __ATOMIC_RELEASE) >= (uint32_t) n)
        wake_all(&slot->n);
}

int64_t sim_meet_all(struct jp_sim_meet *meet, uint64_t comm, uint64_t op,
                     int n)
{
    int64_t until = sim_pace_now_ns() + WAIT_NS;
    const struct slot *slot = slot_of(meet, comm, op);
    uint32_t arrived;

    while (slot && (arrived = __atomic_load_n(&slot->n, __ATOMIC_ACQUIRE)) <
                       (uint32_t) n) {
        if (sim_pace_now_ns() > until)
            return 0;
        wait_for_more(&slot->n, arrived);
    }
    return slot ? __atomic_load_n(&slot->last_ns, __ATOMIC_ACQUIRE) : 0;
}
