/* test_nodeagent.c - the agent knows what its modules cost and slows down or
 * ends those that take too much, with the limits that it has in production.
 *
 * Each case runs in a child, because a limit cannot be raised again. Modules
 * use up an amount of processor time, whatever the machine's load is. The
 * agent's monotonic clock moves by one period with each call of the module that
 * ends the run: a busy machine makes a run longer, but no share smaller. */
#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/owncost.h"
#include "orchestrator/agent/agent.h"
#include "tests/common/tempdir.h"

enum { PERIOD_MS = 20, WINDOW_MS = 200, MIB = 1 << 20 };

/* --- clocks --------------------------------------------------------------- */

static struct {
    uint64_t mono_ns; /* the monotonic time; 0: the kernel's */
    /* The thread's processor time is cpu_ns: what modules say that they use. */
    bool counts_cpu;
    uint64_t cpu_ns;
} clocks;

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){(time_t) (ns / 1000000000),
                             (long) (ns % 1000000000)};
}

/* Replaces libc's in this program. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
    if (clock == CLOCK_MONOTONIC && clocks.mono_ns)
        *ts = time_of(clocks.mono_ns);
    else if (clock == CLOCK_THREAD_CPUTIME_ID && clocks.counts_cpu)
        *ts = time_of(clocks.cpu_ns);
    else
        return (int) syscall(SYS_clock_gettime, clock, ts);
    return 0;
}

/* From here on the monotonic time stands still between the calls of pass(). It
 * begins with the kernel's and is rarely ahead of it, so a timer that is set by
 * it makes the process sleep as it does with the kernel's clock. */
static void take_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    clocks.mono_ns = (uint64_t) now.tv_sec * 1000000000 +
                     (uint64_t) now.tv_nsec;
}

static void pass(uint64_t ms)
{
    clocks.mono_ns += ms * 1000000;
}

/* --- modules -------------------------------------------------------------- */

/* What a module does in each of its calls. */
struct habit {
    uint64_t burn_us; /* of processor time */
    size_t take;      /* bytes that it allocates */
    unsigned calls;   /* so far */
    /* After so many calls the step is over, and time passes with each; 0:
     * never, and it does not. */
    unsigned last;
    void *taken[64];
};

static struct habit habits[3];

static void spin(uint64_t loops)
{
    for (volatile uint64_t k = 0; k < loops; k++)
        ;
}

/* Uses so much processor time, about. It reads no clock of processor time,
 * because that would make the kernel renew its other sums. */
static void burn(uint64_t us)
{
    static uint64_t loops_a_ms;
    uint64_t from;

    if (clocks.counts_cpu) {
        clocks.cpu_ns += us * 1000;
        return;
    }
    if (!loops_a_ms) {
        from = owncost_thread_ns();
        spin(1000000);
        loops_a_ms = 1000000 * UINT64_C(1000000) /
                     (owncost_thread_ns() - from + 1);
    }
    spin(loops_a_ms * us / 1000);
}

static int tick(void *state, const struct module_time *now,
                struct jp_error *err)
{
    struct habit *h = state;

    (void) now;
    (void) err;
    burn(h->burn_us);
    if (h->take && h->calls < 64) {
        h->taken[h->calls] = malloc(h->take);
        if (h->taken[h->calls])
            memset(h->taken[h->calls], 1, h->take);
    }
    h->calls++;
    if (h->last)
        pass(PERIOD_MS);
    return 0;
}

static bool is_over(void *state)
{
    const struct habit *h = state;

    return h->last && h->calls >= h->last;
}

static void *start_busy(const struct module_place *place, struct jp_error *err)
{
    (void) place;
    (void) err;
    return &habits[0];
}

static void *start_calm(const struct module_place *place, struct jp_error *err)
{
    (void) place;
    (void) err;
    return &habits[1];
}

static void *start_third(const struct module_place *place, struct jp_error *err)
{
    (void) place;
    (void) err;
    return &habits[2];
}

static void finish(void *state)
{
    (void) state;
}

static void destroy(void *state)
{
    struct habit *h = state;

    for (size_t i = 0; h && i < 64; i++) {
        free(h->taken[i]);
        h->taken[i] = NULL;
    }
}

static bool may_rest(void *state)
{
    const struct habit *h = state;

    return h->calls >= 3;
}

static double half(void *state)
{
    (void) state;
    return 0.5;
}

#define CALLS                                                                  \
    .period_ms = PERIOD_MS, .tick = tick, .finish = finish, .destroy = destroy

static const struct node_module busy = {
    .name = "busy", .budget = 0.002, .start = start_busy, CALLS};
/* two that are within their budgets, but not within what both may take */
static const struct node_module large = {
    .name = "large", .budget = 0.25, .start = start_third, CALLS};
static const struct node_module small = {
    .name = "small", .budget = 0.25, .start = start_busy, CALLS};
/* its settings allow it more than the others */
static const struct node_module generous = {.name = "generous",
                                            .budget = 0.005,
                                            .allowed = half,
                                            .start = start_third,
                                            CALLS};
static const struct node_module paced = {.name = "paced",
                                         .budget = 0.005,
                                         .paces_itself = true,
                                         .start = start_third,
                                         CALLS};
/* waits for its descriptor only, as long as it may rest */
static const struct node_module resting = {.name = "resting",
                                           .budget = 0.25,
                                           .rests = may_rest,
                                           .start = start_third,
                                           CALLS};
static const struct node_module greedy = {.name = "greedy",
                                          .budget = 1,
                                          .memory_bytes = 8 * MIB,
                                          .start = start_third,
                                          CALLS};
/* ends the run */
static const struct node_module calm = {.name = "calm",
                                        .budget = 0.25,
                                        .start = start_calm,
                                        .is_over = is_over,
                                        CALLS};

/* --- a run ---------------------------------------------------------------- */

static void take_line(void *arg, const char *line)
{
    FILE *log = arg;

    fprintf(log, "%s\n", line);
    fflush(log);
}

/* The kernel's count of this process, after it has slept: only then is it
 * exact. */
static uint64_t kernel_us(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    FILE *file = NULL;
    uint64_t ns = 0;

    nanosleep(&moment, NULL);
    file = fopen("/proc/self/schedstat", "re");
    if (!file || fscanf(file, "%" SCNu64, &ns) != 1)
        ns = 0;
    if (file)
        fclose(file);
    return ns / 1000;
}

/* Runs the modules as the agent does, and writes the kernel's count of the
 * process to <dir>/kernel. */
static void run_agent(const char *dir, const struct node_module *const *modules)
{
    char *path = tempdir_path(dir, "log");
    FILE *log = fopen(path, "we"), *out;
    struct nodeagent agent = {.modules = modules, .budget_ms = WINDOW_MS};
    struct jp_error err;

    free(path);
    take_clock();
    agent.place = (struct module_place){
        .dir = dir, .node = "n1", .root = "", .log = take_line, .log_arg = log};
    if (!log || confine_self(CONFINE_AGENT, NULL, &err) < 0 ||
        nodeagent_run(&agent, &err) < 0)
        _exit(1);
    path = tempdir_path(dir, "kernel");
    out = fopen(path, "we");
    if (!out)
        _exit(1);
    fprintf(out, "%" PRIu64 "\n", kernel_us());
    fclose(out);
    free(path);
    fclose(log);
    _exit(0);
}

struct result {
    json_t *record;
    char log[4096];
    uint64_t kernel_us;
};

static void read_text(const char *dir, const char *name, char *text,
                      size_t size)
{
    char *path = tempdir_path(dir, name);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(text, 1, size - 1, file) : 0;

    text[n] = '\0';
    if (file)
        fclose(file);
    free(path);
}

static struct result run(const char *dir,
                         const struct node_module *const *modules)
{
    char *nodes = tempdir_path(dir, "nodes"),
         *node = tempdir_path(dir, "nodes/n1"),
         *path = tempdir_path(dir, "nodes/n1/agent.json"), text[64];
    struct result r = {.record = NULL};
    int status = 1;
    pid_t pid;

    assert_int_equal(mkdir(nodes, 0700) | mkdir(node, 0700), 0);
    pid = fork();
    if (pid == 0)
        run_agent(dir, modules);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    r.record = json_load_file(path, 0, NULL);
    assert_non_null(r.record);
    read_text(dir, "log", r.log, sizeof(r.log));
    read_text(dir, "kernel", text, sizeof(text));
    r.kernel_us = strtoull(text, NULL, 10);
    assert_true(r.kernel_us > 0);
    free(nodes);
    free(node);
    free(path);
    return r;
}

static uint64_t count(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    assert_true(json_is_integer(value));
    return (uint64_t) json_integer_value(value);
}

static const json_t *module_of(const struct result *r, size_t i)
{
    return json_array_get(json_object_get(r->record, "modules"), i);
}

static unsigned lines_with(const char *log, const char *words)
{
    unsigned n = 0;

    for (const char *at = log; (at = strstr(at, words)); at++)
        n++;
    return n;
}

/* --- cases ---------------------------------------------------------------- */

/* 0.3 ms of 20 are 1.5 %, seven times the budget. The calls are shorter than a
 * tick, as those of real modules are: a clock that moves at ticks misses most
 * of them. */
static void is_slowed(void **state)
{
    static const struct node_module *const modules[] = {&calm, &busy, &generous,
                                                        NULL};
    struct result r;

    habits[0] = (struct habit){.burn_us = 300};
    habits[1] = (struct habit){.last = 80};
    habits[2] = (struct habit){.burn_us = 1000};
    r = run(*state, modules);
    assert_true(count(module_of(&r, 1), "period_ms") >= 2 * PERIOD_MS);
    assert_true(lines_with(r.log, "busy took ") >= 1);
    assert_true(lines_with(r.log, "(0.20 % allowed): it samples every ") >= 1);
    /* within their budgets, although they are called just before and after */
    assert_int_equal(count(module_of(&r, 0), "period_ms"), PERIOD_MS);
    assert_int_equal(count(module_of(&r, 2), "period_ms"), PERIOD_MS);
    assert_int_equal(lines_with(r.log, "generous"), 0);
    json_decref(r.record);
}

/* 4.25 ms and 2 ms of 20 are 31 %, and all may take 25 % together: the one that
 * takes most is slowed, and 21 % remain. Each is within its own 25 %. That is
 * not far from any limit, so what is used is counted and not measured. */
static void all_are_slowed(void **state)
{
    static const struct node_module *const modules[] = {&calm, &small, &large,
                                                        NULL};
    struct result r;

    habits[0] = (struct habit){.burn_us = 2000};
    habits[1] = (struct habit){.last = 80};
    habits[2] = (struct habit){.burn_us = 4250};
    clocks.counts_cpu = true;
    r = run(*state, modules);
    clocks.counts_cpu = false;
    assert_int_equal(count(module_of(&r, 1), "period_ms"), PERIOD_MS);
    assert_int_equal(count(module_of(&r, 2), "period_ms"), 2 * PERIOD_MS);
    assert_int_equal(lines_with(r.log, " took "), 1);
    assert_int_equal(
        lines_with(r.log, "the agent took 31.25 % of a processor (25.00 % "
                          "allowed): large samples every 40 ms"),
        1);
    json_decref(r.record);
}

/* A module that paces itself keeps its period, and one line says that it takes
 * too much. */
static void paces_itself(void **state)
{
    static const struct node_module *const modules[] = {&calm, &paced, NULL};
    struct result r;

    habits[1] = (struct habit){.last = 80};
    habits[2] = (struct habit){.burn_us = 4000};
    r = run(*state, modules);
    assert_int_equal(count(module_of(&r, 1), "period_ms"), PERIOD_MS);
    assert_int_equal(lines_with(r.log, "paced took "), 1);
    assert_int_equal(lines_with(r.log, "samples every"), 0);
    json_decref(r.record);
}

/* A module that may rest from its third call on gets no more ticks, but for the
 * last one: 80 periods are shorter than its rest. */
static void rests_when_it_may(void **state)
{
    static const struct node_module *const modules[] = {&calm, &resting, NULL};
    struct result r;

    _Static_assert(80 * PERIOD_MS < MODULE_REST_MS, "so that one rest is seen");
    habits[1] = (struct habit){.last = 80};
    habits[2] = (struct habit){.burn_us = 0};
    r = run(*state, modules);
    assert_in_range(count(module_of(&r, 1), "calls"), 3, 4);
    assert_int_equal(count(module_of(&r, 1), "period_ms"), PERIOD_MS);
    json_decref(r.record);
}

/* The modules' cost, the loop's and begin's add up to what the kernel has
 * counted, and each module has its share: one uses ten times as much a call. */
static void cost_adds_up(void **state)
{
    static const struct node_module *const modules[] = {&calm, &generous, NULL};
    uint64_t sum, all, few, many;
    double times;
    struct result r;

    habits[1] = (struct habit){.burn_us = 300, .last = 60};
    habits[2] = (struct habit){.burn_us = 3000};
    r = run(*state, modules);
    all = count(r.record, "cpu_us");
    few = count(module_of(&r, 0), "cpu_us");
    many = count(module_of(&r, 1), "cpu_us");
    sum = count(r.record, "begin_cpu_us") + count(r.record, "loop_cpu_us") +
          few + many;
    printf("# %" PRIu64 " us by agent.json, %" PRIu64 " by its parts, %" PRIu64
           " by the kernel; %" PRIu64 " and %" PRIu64 " of the modules\n",
           all, sum, r.kernel_us, few, many);
    assert_true(sum <= all && sum + 5 >= all);
    /* the kernel's count includes the record's writing */
    assert_true(all <= r.kernel_us + r.kernel_us / 50);
    /* ... and what memcheck does before and after the program */
    assert_true(getenv("JP_MEMCHECK") ||
                all + r.kernel_us / 20 + 3000 >= r.kernel_us);
    /* How long a loop of burn() takes depends on the processor's speed, which
     * changes with what its neighbours do. So the modules' shares are compared.
     */
    times = 10.0 * (double) count(module_of(&r, 1), "calls") /
            (double) count(module_of(&r, 0), "calls");
    assert_true(few + many >= all / 2);
    assert_true((double) many >= (double) few * times / 4);
    assert_true((double) many <= (double) few * times * 2);
    assert_true(count(r.record, "max_rss_bytes") > MIB);
    json_decref(r.record);
}

/* A module that takes more memory than it may is ended; the others go on. */
static void is_ended(void **state)
{
    static const struct node_module *const modules[] = {&greedy, &calm, NULL};
    struct result r;
    const json_t *module;

    if (!owncost_heap_bytes()) /* a sanitizer has replaced malloc */
        return;
    habits[1] = (struct habit){.last = 40};
    habits[2] = (struct habit){.take = MIB};
    r = run(*state, modules);
    module = module_of(&r, 0);
    assert_false(json_is_true(json_object_get(module, "running")));
    assert_non_null(strstr(json_string_value(json_object_get(module, "why")),
                           "of memory (8 MiB allowed)"));
    assert_in_range(count(module, "memory_bytes"), 8 * MIB, 10 * MIB);
    assert_in_range(count(module, "calls"), 8, 10);
    assert_int_equal(lines_with(r.log, "greedy: ended"), 1);
    assert_true(json_is_true(json_object_get(module_of(&r, 1), "running")));
    assert_true(count(module_of(&r, 1), "memory_bytes") < MIB);
    json_decref(r.record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_slowed, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(all_are_slowed, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(paces_itself, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(rests_when_it_may, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(cost_adds_up, tempdir_make,
                                        tempdir_drop),
        cmocka_unit_test_setup_teardown(is_ended, tempdir_make, tempdir_drop),
    };

    burn(1); /* before the children, which would each measure it */
    return cmocka_run_group_tests_name("nodeagent", tests, NULL, NULL);
}
