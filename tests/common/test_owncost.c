/* test_owncost.c - the cost of a process is true at any moment, also with the
 * limit of processor time that the agent has. */
#include "common/owncost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { BURSTS = 100, MIB = 1 << 20 };

/* Computes for a part of a tick. It reads no clock of processor time, because
 * that would make the kernel renew its other sums. */
static void burn(void)
{
    for (volatile int k = 0; k < 500000; k++)
        ;
}

/* The sum over short bursts, by a source in nanoseconds. */
static uint64_t sum_of(uint64_t (*source)(void))
{
    const struct timespec pause = {.tv_nsec = 500000};
    uint64_t sum = 0;

    for (int i = 0; i < BURSTS; i++) {
        uint64_t from;

        nanosleep(&pause, NULL);
        from = source();
        burn();
        sum += source() - from;
    }
    return sum;
}

static uint64_t process_ns(void)
{
    return owncost_process_us() * 1000;
}

/* What the bursts took in all, measured around them all. */
static void check_source(uint64_t (*source)(void))
{
    uint64_t from = owncost_thread_ns(), sum, whole;

    sum = sum_of(source);
    whole = owncost_thread_ns() - from;
    /* the rest of the whole is the sleeping and waking */
    if (sum < whole / 3 || sum > whole) {
        printf("# %llu us in bursts, %llu us in all\n",
               (unsigned long long) sum / 1000,
               (unsigned long long) whole / 1000);
        fflush(stdout);
        _exit(1);
    }
}

/* In a child, because a limit cannot be raised again. */
static void in_child(void (*what)(void))
{
    int status = 1;
    pid_t pid = fork();

    if (pid == 0) {
        what();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void check_both(void)
{
    check_source(owncost_thread_ns);
    check_source(process_ns);
}

static void check_limited(void)
{
    const struct rlimit day = {86400, 86400};

    if (setrlimit(RLIMIT_CPU, &day) < 0)
        _exit(2);
    check_both();
}

static void short_bursts_count(void **state)
{
    (void) state;
    in_child(check_both);
    in_child(check_limited);
}

/* What a program had before it called exec is not the next one's. */
static void exec_large(void)
{
    char *all = malloc(128 * (size_t) MIB);

    if (!all)
        _exit(2);
    memset(all, 1, 128 * (size_t) MIB);
    execl("/proc/self/exe", "test_owncost", all[MIB] == 1 ? "peak" : "", NULL);
    _exit(3);
}

static void peak_is_of_this_program(void **state)
{
    (void) state;
    if (!getenv("JP_MEMCHECK")) /* /proc/self/exe is valgrind there */
        in_child(exec_large);
}

static void heap_grows_and_shrinks(void **state)
{
    uint64_t before = owncost_heap_bytes(), with;
    char *volatile block = malloc(3 * MIB);

    (void) state;
    assert_non_null(block);
    with = owncost_heap_bytes();
    free(block);
    if (!with) /* this libc does not tell, or a sanitizer has replaced it */
        return;
    assert_true(with >= before + 3 * MIB);
    assert_true(owncost_heap_bytes() < with);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_bursts_count),
        cmocka_unit_test(peak_is_of_this_program),
        cmocka_unit_test(heap_grows_and_shrinks),
    };

    if (argc > 1 && strcmp(argv[1], "peak") == 0) {
        uint64_t peak = owncost_peak_bytes();

        return peak > 0 && peak < 64 * (uint64_t) MIB ? 0 : 1;
    }
    return cmocka_run_group_tests_name("owncost", tests, NULL, NULL);
}
