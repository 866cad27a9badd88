/* nodeagent.c - the agent's event loop, budgets and record.
 *
 * One process and one thread run all modules (plugins/module.h). nodeagent_run
 * waits with epoll for a timer, a signal, or a module's descriptor, and calls
 * the modules that are due. A module that exceeds its budget is slowed down.
 * The result is in agent.json.
 *
 * The cost is taken at boundaries: what the thread has used since the last one
 * belongs to the module that was called in between, with the wake-up before it.
 * So the parts add up to what the kernel counts for the process.
 */
#include "orchestrator/agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/json_stream.h"
#include "common/num.h"
#include "common/owncost.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/collect/stepdir.h"

#define MODULES_MAX 8
/* Interval at which the agent checks whether the step is over. */
#define LOOK_MS 5000
/* Interval at which the record is written, in case the agent is killed. */
#define RECORD_MS 300000
/* Period of modules if the site file sets none. */
#define PERIOD_MS 1000
/* Most distributions allow 1,024 unless more are asked for. */
#define DESCRIPTORS 16384
/* After shorter calls the heap is counted in each HEAP_CALLS-th of a module
 * only: they fill little memory, and with hundreds of processes the count takes
 * as long as they do. The next call with a count is charged for it. */
#define HEAP_NS 200000
#define HEAP_CALLS 16
/* Window over which a module's cost is compared with its budget. */
#define BUDGET_MS 10000

/* Identifiers of epoll events. Smaller numbers are indices of modules. */
enum { ID_SIGNAL = MODULES_MAX, ID_TIMER };

/* The state of a running module. */
struct running {
    const struct node_module *module;
    void *state; /* NULL: off */
    int fd;      /* registered with epoll; -1: none */
    uint32_t period_ms;
    /* When the next tick is due. */
    uint64_t next_ms;
    /* CPU time that this module has used, and the number of its calls. */
    uint64_t cpu_ns, calls;
    /* Memory that it has allocated and not freed: now, and the most. */
    int64_t heap_bytes, heap_most;
    uint64_t window_ms, window_cpu_ns; /* start of the budget's window */
    bool was_over;                     /* over its budget in the previous
                                        * window */
    uint64_t all_cpu_ns; /* at the start of the window of all modules */
    bool has_failed;
    bool has_overrun; /* it paces itself and was over its budget */
    char why[200];    /* the first error, or why it is off */
};

/* The whole agent. */
struct loop {
    const struct nodeagent *agent;
    struct running running[MODULES_MAX];
    size_t n;
    int epoll, timer, signals;
    uint64_t start_us, start_ms, wakeups;
    /* The last boundary, in terms of the thread's CPU time and of the heap. */
    uint64_t at_ns, at_bytes;
    /* CPU time before the loop (begin's), and of the loop itself. */
    uint64_t begin_ns, own_ns;
    uint64_t all_ms;    /* start of the window of all modules */
    bool all_were_over; /* in the previous window */
    /* When the step was last checked, and the record last written. */
    uint64_t looked_ms, recorded_ms;
    uint64_t timer_ms; /* current setting of the timer */
    /* Leave the loop. */
    bool over;
};

/* --- cost ----------------------------------------------------------------- */

/* CPU time of the processes that a module has started. */
static uint64_t others_us(const struct running *r)
{
    return r->state && r->module->cpu_us ? r->module->cpu_us(r->state) : 0;
}

/* Ends the part of the loop since the last boundary. Returns its CPU time. This
 * process has one thread, whose clock is exact. That of the process is not,
 * because RLIMIT_CPU is set (common/owncost.h). */
static uint64_t take_part(struct loop *loop)
{
    uint64_t now_ns = owncost_thread_ns(), part_ns = now_ns - loop->at_ns;

    loop->at_ns = now_ns;
    return part_ns;
}

/* CPU time of this process up to the last boundary, and of the processes that
 * modules have started. */
static uint64_t cpu_us(const struct loop *loop)
{
    uint64_t ns = loop->begin_ns + loop->own_ns;

    for (size_t i = 0; i < loop->n; i++)
        ns += loop->running[i].cpu_ns;
    return ns / 1000;
}

/* Charges a module for the part that ends now. others: CPU time of its other
 * processes when the part began. */
static void charge_module(struct loop *loop, struct running *r, uint64_t others)
{
    uint64_t part_ns = take_part(loop), now = others_us(r), heap;

    r->cpu_ns += part_ns + (now > others ? now - others : 0) * 1000;
    if (part_ns < HEAP_NS && r->calls % HEAP_CALLS)
        return;
    heap = owncost_heap_bytes();
    r->heap_bytes += (int64_t) (heap - loop->at_bytes);
    if (r->heap_bytes > r->heap_most)
        r->heap_most = r->heap_bytes;
    loop->at_bytes = heap;
}

/* Charges nobody: the part was the loop's own, which keeps no memory. */
static void charge_loop(struct loop *loop)
{
    loop->own_ns += take_part(loop);
}

/* The time as modules get it: all clocks are read at one moment. */
static struct module_time look_at_clocks(const struct loop *loop)
{
    struct module_time now = {.real_us = clock_real_us(),
                              .cpu_us = cpu_us(loop)};
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    now.mono_us = (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
    return now;
}

/* Logs a line, if the caller has set a log. */
static void log_line(const struct loop *loop, const char *line)
{
    const struct module_place *place = &loop->agent->place;

    if (place->log)
        place->log(place->log_arg, line);
}

/* Logs the first error of a module. Later ones are not logged: a module that
 * fails every second would fill the disk. */
static void note_failure(const struct loop *loop, struct running *r,
                         const struct jp_error *err)
{
    char line[300];

    if (r->has_failed)
        return;
    r->has_failed = true;
    snprintf(r->why, sizeof(r->why), "%.199s", err->text);
    snprintf(line, sizeof(line), "%s: %.250s", r->module->name, err->text);
    log_line(loop, line);
}

/* The part of a processor that the module may take. */
static double allowed_of(const struct running *r)
{
    return r->module->allowed ? r->module->allowed(r->state)
                              : r->module->budget;
}

/* Doubles the period of a module, or notes that one that paces itself has taken
 * too much. share: what took more than allowed: the module, or all of them. */
static void slow_down(const struct loop *loop, struct running *r,
                      const char *what, double share, double allowed)
{
    char line[200];
    int len = snprintf(line, sizeof(line),
                       "%s took %.2f %% of a processor (%.2f %% allowed)", what,
                       share * 100, allowed * 100);

    if (r->module->paces_itself) {
        if (!r->has_overrun)
            log_line(loop, line);
        r->has_overrun = true;
        return;
    }
    if (r->period_ms >= NODEAGENT_PERIOD_MAX_MS)
        return;
    r->period_ms *= 2;
    snprintf(line + len, sizeof(line) - (size_t) len,
             ": %s samples every %u ms from now on",
             what == r->module->name ? "it" : r->module->name, r->period_ms);
    log_line(loop, line);
}

/* Slows down a module that exceeds its budget in two consecutive windows. A
 * single excess is normal: loading a driver or merging a file happens once. */
static void keep_budget(const struct loop *loop, struct running *r,
                        uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - r->window_ms,
             window_ms = loop->agent->budget_ms ? loop->agent->budget_ms
                                                : BUDGET_MS;
    bool was_over = r->was_over;
    double share;

    if (passed_ms < window_ms)
        return;
    share = (double) (r->cpu_ns - r->window_cpu_ns) / 1e6 / (double) passed_ms;
    r->window_ms = now_ms;
    r->window_cpu_ns = r->cpu_ns;
    r->was_over = share > allowed_of(r);
    if (r->was_over && was_over)
        slow_down(loop, r, r->module->name, share, allowed_of(r));
}

/* The same for all modules together, which may take as much as the one with the
 * largest budget: slows down the one that took most. With hundreds of processes
 * on a node each may be within its own budget. Modules that pace themselves or
 * are allowed more by the settings do not count. */
static void keep_budget_of_all(struct loop *loop, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - loop->all_ms, sum_ns = 0, most_ns = 0,
             window_ms = loop->agent->budget_ms ? loop->agent->budget_ms
                                                : BUDGET_MS;
    struct running *most = NULL;
    bool were_over = loop->all_were_over;
    double share, budget = 0;

    if (passed_ms < window_ms)
        return;
    for (size_t i = 0; i < loop->n; i++) {
        struct running *r = &loop->running[i];
        uint64_t ns = r->cpu_ns - r->all_cpu_ns;

        r->all_cpu_ns = r->cpu_ns;
        if (!r->state || r->module->paces_itself || r->module->allowed)
            continue;
        if (r->module->budget > budget)
            budget = r->module->budget;
        sum_ns += ns;
        if (r->period_ms < NODEAGENT_PERIOD_MAX_MS && ns > most_ns) {
            most = r;
            most_ns = ns;
        }
    }
    share = (double) sum_ns / 1e6 / (double) passed_ms;
    loop->all_ms = now_ms;
    loop->all_were_over = share > budget;
    if (!loop->all_were_over || !were_over || !most)
        return;
    slow_down(loop, most, "the agent", share, budget);
    loop->all_were_over = false; /* the change needs a whole window */
}

/* Ends a module that has allocated more memory than it may: it cannot give any
 * back. Its files stay. */
static void keep_memory(struct loop *loop, struct running *r)
{
    struct jp_error err;
    char most[24], used[24];

    if (!r->module->memory_bytes ||
        r->heap_bytes <= (int64_t) r->module->memory_bytes)
        return;
    num_format_size((uint64_t) r->heap_bytes, used, sizeof(used));
    num_format_size(r->module->memory_bytes, most, sizeof(most));
    error_set(&err, "ended, because it had taken %s of memory (%s allowed)",
              used, most);
    r->has_failed = false; /* more important than an error before it */
    note_failure(loop, r, &err);
    r->module->finish(r->state);
    r->module->destroy(r->state);
    r->state = NULL;
    /* what it has freed is no other module's */
    charge_loop(loop);
    loop->at_bytes = owncost_heap_bytes();
}

/* --- the record ----------------------------------------------------------- */

/* Appends one module's part of the record. */
static void put_module(struct jp_json_stream *s, const struct running *r)
{
    json_stream_object(s, NULL);
    json_stream_text(s, "name", r->module->name);
    json_stream_bool(s, "running", r->state != NULL);
    json_stream_count(s, "period_ms", r->period_ms);
    json_stream_count(s, "calls", r->calls);
    json_stream_count(s, "cpu_us", r->cpu_ns / 1000);
    json_stream_count(s, "bytes",
                      r->state && r->module->bytes ? r->module->bytes(r->state)
                                                   : 0);
    json_stream_count(s, "memory_bytes",
                      r->heap_most > 0 ? (uint64_t) r->heap_most : 0);
    json_stream_text(s, "why", r->why);
    if (r->state && r->module->record)
        r->module->record(r->state, s);
    json_stream_end_object(s);
}

/* Writes the record as JSON (docs/dev/contracts.md). */
static int put_record(FILE *out, const struct loop *loop, struct jp_error *err)
{
    struct jp_json_stream *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return error_set(err, "out of memory");
    json_stream_open(s, JSON_FILE, out);
    json_stream_count(s, "version", 1);
    json_stream_count(s, "start_us", loop->start_us);
    json_stream_count(s, "end_us", clock_real_us());
    json_stream_count(s, "cpu_us", cpu_us(loop));
    json_stream_count(s, "begin_cpu_us", loop->begin_ns / 1000);
    json_stream_count(s, "loop_cpu_us", loop->own_ns / 1000);
    json_stream_count(s, "wakeups", loop->wakeups);
    json_stream_count(s, "max_rss_bytes", owncost_peak_bytes());
    json_stream_array(s, "modules");
    for (size_t i = 0; i < loop->n; i++)
        put_module(s, &loop->running[i]);
    json_stream_end_array(s);
    rc = json_stream_close(s, err);
    free(s);
    return rc;
}

/* Replaces nodes/<node>/agent.json. Errors are ignored: no step depends on
 * it. */
static void write_record(struct loop *loop)
{
    const struct module_place *place = &loop->agent->place;
    char *path = text_format("%s/nodes/%s/agent.json", place->dir, place->node);
    struct jp_tempfile file;
    struct jp_error err;

    charge_loop(loop); /* so that the parts add up in the record */
    if (path && fileio_temp_open(&file, path, &err) == 0) {
        if (put_record(file.stream, loop, &err) == 0)
            fileio_temp_commit(&file, &err);
        else
            fileio_temp_abort(&file);
    }
    free(path);
}

/* --- modules -------------------------------------------------------------- */

/* Registers the module's current descriptor with epoll. It may change with
 * every call, for example if a socket is opened again. */
static void follow_fd(struct loop *loop, size_t i)
{
    struct running *r = &loop->running[i];
    int fd = r->state && r->module->fd ? r->module->fd(r->state) : -1;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = i};

    if (fd == r->fd)
        return;
    /* epoll forgets a closed descriptor by itself */
    r->fd = -1;
    if (fd >= 0 && epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
        r->fd = fd;
}

/* Calls one function of a module and charges the module for it. */
static void call_module(struct loop *loop, size_t i,
                        int (*what)(void *, const struct module_time *,
                                    struct jp_error *))
{
    struct running *r = &loop->running[i];
    struct module_time now = look_at_clocks(loop);
    uint64_t others = others_us(r);
    struct jp_error err = {""};

    now.module_us = r->cpu_ns / 1000;
    if (what(r->state, &now, &err) < 0)
        note_failure(loop, r, &err);
    r->calls++;
    follow_fd(loop, i);
    charge_module(loop, r, others);
}

/* The module's own period, else the step's, else the default. */
static uint32_t period_of(const struct nodeagent *agent, size_t module)
{
    uint32_t own = agent->modules[module]->period_ms;

    if (own)
        return own;
    return agent->place.period_ms ? agent->place.period_ms : PERIOD_MS;
}

/* Starts all modules. One that cannot start stays in the record, with the
 * reason. */
static void start_modules(struct loop *loop)
{
    const struct nodeagent *agent = loop->agent;

    for (size_t i = 0; agent->modules[i] && i < MODULES_MAX; i++) {
        struct running *r = &loop->running[loop->n++];
        struct jp_error err = {""};

        *r = (struct running){.module = agent->modules[i],
                              .fd = -1,
                              .period_ms = period_of(agent, i),
                              .next_ms = loop->start_ms,
                              .window_ms = loop->start_ms};
        r->state = r->module->start(&agent->place, &err);
        if (!r->state && *err.text)
            note_failure(loop, r, &err);
        follow_fd(loop, i);
        charge_module(loop, r, 0);
    }
}

/* Lets each module take a last sample and finish its files. The record is
 * written before they are destroyed, because it reads their state. */
static void end_modules(struct loop *loop)
{
    for (size_t i = 0; i < loop->n; i++) {
        struct running *r = &loop->running[i];

        if (!r->state)
            continue;
        call_module(loop, i, r->module->tick);
        r->module->finish(r->state);
        charge_module(loop, r, others_us(r));
    }
    write_record(loop);
    for (size_t i = 0; i < loop->n; i++)
        if (loop->running[i].state)
            loop->running[i].module->destroy(loop->running[i].state);
}

/* --- the loop ------------------------------------------------------------- */

/* The time of the next event in terms of clock_mono_ms(). */
static uint64_t next_wakeup(const struct loop *loop)
{
    uint64_t next = loop->looked_ms + LOOK_MS;

    for (size_t i = 0; i < loop->n; i++)
        if (loop->running[i].state && loop->running[i].next_ms < next)
            next = loop->running[i].next_ms;
    return next;
}

/* Sets the timer to the next event. An absolute time does not drift, and an
 * unchanged one needs no system call. The extra nanosecond makes sure that a
 * time of 0 does not disarm the timer. */
static void set_timer(struct loop *loop)
{
    uint64_t at = next_wakeup(loop);
    const struct itimerspec when = {
        .it_value = {(time_t) (at / 1000), (long) (at % 1000) * 1000000 + 1}};

    if (at == loop->timer_ms)
        return;
    loop->timer_ms = at;
    timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Whether only its descriptor has news for the module. */
static bool module_rests(const struct running *r)
{
    return r->state && r->module->rests && r->module->rests(r->state);
}

/* Calls all modules that are due. */
static void run_due(struct loop *loop, uint64_t now_ms)
{
    for (size_t i = 0; i < loop->n; i++) {
        struct running *r = &loop->running[i];

        if (!r->state || r->next_ms > now_ms)
            continue;
        call_module(loop, i, r->module->tick);
        keep_budget(loop, r, now_ms);
        keep_memory(loop, r);
        /* missed samples are skipped, not made up for */
        r->next_ms += r->period_ms;
        if (r->next_ms <= now_ms)
            r->next_ms = now_ms + r->period_ms;
        if (module_rests(r) && r->next_ms < now_ms + MODULE_REST_MS)
            r->next_ms = now_ms + MODULE_REST_MS;
        if (r->state && r->module->is_over && r->module->is_over(r->state))
            loop->over = true;
    }
    keep_budget_of_all(loop, now_ms);
}

/* Checks whether the step is over: its directory is gone, or its report
 * exists. */
static void look_at_step(struct loop *loop, uint64_t now_ms)
{
    const char *dir = loop->agent->place.dir;

    if (now_ms - loop->looked_ms < LOOK_MS)
        return;
    loop->looked_ms = now_ms;
    if (!stepdir_is_folder(dir) || barrier_is_reported(dir))
        loop->over = true;
    if (now_ms - loop->recorded_ms >= RECORD_MS) {
        loop->recorded_ms = now_ms;
        write_record(loop);
    }
    charge_loop(loop);
}

/* A module that rested and has news gets its ticks again. */
static void call_readable(struct loop *loop, size_t i)
{
    struct running *r = &loop->running[i];
    uint64_t soon_ms = clock_mono_ms() + r->period_ms;

    call_module(loop, i, r->module->readable);
    if (r->module->rests && !module_rests(r) && r->next_ms > soon_ms)
        r->next_ms = soon_ms;
}

/* Waits for one event and handles it. The timeout is a safety net in case the
 * timer could not be set. */
static void wait_once(struct loop *loop)
{
    struct epoll_event events[MODULES_MAX + 2];
    uint64_t drained;
    int n;

    set_timer(loop);
    n = epoll_wait(loop->epoll, events, MODULES_MAX + 2, LOOK_MS);
    loop->wakeups++;
    for (int i = 0; i < n; i++) {
        size_t id = (size_t) events[i].data.u64;

        if (id == ID_SIGNAL)
            loop->over = true;
        else if (id == ID_TIMER)
            (void) !read(loop->timer, &drained, sizeof(drained));
        else if (id < loop->n && loop->running[id].state &&
                 loop->running[id].module->readable)
            call_readable(loop, id);
    }
}

/* Registers a descriptor with epoll. fd < 0: -1. */
static int watch_descriptor(const struct loop *loop, int fd, uint64_t id)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = id};

    return fd < 0 ? -1 : epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Modules keep two or three descriptors for each process of the step. */
static void allow_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max
                                                  : DESCRIPTORS;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Creates the descriptors of the loop. Signals are blocked and read from a
 * signalfd, so that no handler runs between two instructions of a module. */
static int open_loop(struct loop *loop, struct jp_error *err)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (loop->epoll < 0 ||
        watch_descriptor(loop, loop->signals, ID_SIGNAL) < 0 ||
        watch_descriptor(loop, loop->timer, ID_TIMER) < 0)
        return error_set(err, "no loop: %s", strerror(errno));
    return 0;
}

int nodeagent_run(const struct nodeagent *agent, struct jp_error *err)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    int rc = -1;

    if (!loop)
        return error_set(err, "out of memory");
    loop->agent = agent;
    loop->epoll = loop->timer = loop->signals = -1;
    loop->start_us = clock_real_us();
    loop->start_ms = loop->recorded_ms = loop->looked_ms = loop->all_ms =
        clock_mono_ms();
    loop->begin_ns = loop->at_ns = owncost_thread_ns();
    loop->at_bytes = owncost_heap_bytes();
    allow_descriptors();
    if (open_loop(loop, err) < 0)
        goto out;
    charge_loop(loop);
    start_modules(loop);
    while (!loop->over) {
        uint64_t now_ms = clock_mono_ms();

        run_due(loop, now_ms);
        look_at_step(loop, now_ms);
        if (!loop->over)
            wait_once(loop);
    }
    end_modules(loop);
    rc = 0;
out:
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->timer >= 0)
        close(loop->timer);
    if (loop->signals >= 0)
        close(loop->signals);
    free(loop);
    return rc;
}
