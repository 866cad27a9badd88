/* What the recorder itself takes of the program's time. */
#include "plugins/nccl_recorder/rec_cost.h"

static _Atomic uint64_t life_ns;

void rec_cost_take(struct jp_rec_thread *thread, uint64_t since_ns)
{
    uint64_t ns = rec_clock_ns() - since_ns;

    rec_cost_add(&thread->timed, 1);
    rec_cost_add(&thread->timed_ns,
                 ns < JP_REC_COST_MOST_NS ? ns : JP_REC_COST_MOST_NS);
}

void rec_cost_life(uint64_t since_ns)
{
    atomic_fetch_add(&life_ns, rec_clock_ns() - since_ns);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void rec_cost_sum(struct jpr_cost *cost)
{
    const struct jp_rec_thread *table = rec_thread_table();

    *cost = (struct jpr_cost){
        .told = true,
        .life_ns = get(&life_ns),
        .writer_ns = rec_clock_of(CLOCK_THREAD_CPUTIME_ID),
    };
    for (unsigned i = 0; table && i < JP_REC_MAX_THREADS; i++) {
        cost->events += get(&table[i].events);
        cost->timed += get(&table[i].timed);
        cost->timed_ns += get(&table[i].timed_ns);
    }
}

void rec_cost_after_fork(void)
{
    atomic_store(&life_ns, 0);
}
