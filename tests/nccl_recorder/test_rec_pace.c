/* test_rec_pace.c - what the recorder writes while nothing happens, and with
 * little room. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/nccl_recorder/fake_time.h"
#include "tests/nccl_recorder/rec_asserts.h"

#define KILLED(r) (WIFSIGNALED((r).status) && WTERMSIG((r).status) == SIGKILL)

/* Returns the number at the last place of a key in the text. */
static uint64_t last_number(const char *text, const char *type, const char *key)
{
    const char *last = NULL;
    char want[64];

    snprintf(want, sizeof(want), "{\"type\":\"%s\"", type);
    while ((text = strstr(text, want)))
        last = text++;
    assert_non_null(last);
    snprintf(want, sizeof(want), "\"%s\":", key);
    last = strstr(last, want);
    assert_non_null(last);
    return strtoull(last + strlen(want), NULL, 10);
}

/* Monotonic time of the header, seconds before the last counters. */
static double told_for(const struct rec_result *r)
{
    return (double) (last_number(r->text, "counters", "mono_ns") -
                     last_number(r->text, "header", "mono_ns")) /
           1e9;
}

static void idle(struct rec_scene *s)
{
    fake_time_begin();
    CHECK(scene_comm(s, "idle", 1, 0, 2) != NULL);
    fake_time_pass_us(4500000);
    kill(getpid(), SIGKILL);
}

static void waiting(struct rec_scene *s)
{
    void *comm;

    fake_time_begin();
    comm = scene_comm(s, "waits", 1, 0, 2);
    CHECK(s->api->stop(scene_coll(s, comm, "AllReduce", 0, 64, 1)) == 0);
    fake_time_pass_us(4500000);
    kill(getpid(), SIGKILL);
}

static void counters_are_told_each_second(void **state)
{
    rec_scenario_fn *const both[] = {idle, waiting};
    struct rec_result r;
    int i, n;

    (void) state;
    for (i = 0; i < 2; i++) {
        rec_harness_run(both[i], 6, &r);
        assert_true(KILLED(r));
        assert_true(told_for(&r) > 3.3 && told_for(&r) < 4.6);
        assert_int_equal(last_number(r.text, "counters", "in_flight"), i);
        n = has(&r, "\"type\":\"counters\"") / 3; /* of three functions */
        assert_true(n >= 4 && n <= 6);
        assert_true(r.bytes < 4096);
        rec_harness_fini(&r);
    }
}

/* 64 KiB are full at once. Then follow a run and a hang. */
static void small_cap(struct rec_scene *s)
{
    uint64_t seq = 0;
    void *comm;

    fake_time_begin();
    setenv("JOBPROF_RECORDER_DISK", "65536", 1);
    comm = scene_comm(s, "small", 1, 0, 2);
    while (seq < 300000) {
        scene_whole(s, comm, seq, 50 + seq % 977);
        if (++seq % 2500 == 0)
            fake_time_pass_us(50000);
    }
    CHECK(s->api->stop(scene_coll(s, comm, "AllReduce", 77777777, 64, 1)) == 0);
    fake_time_pass_us(5000000);
    kill(getpid(), SIGKILL);
}

static void a_full_file_goes_on(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(small_cap, 6, &r);
    assert_true(KILLED(r));
    assert_true(r.bytes > 32768 && r.bytes < 65536);
    assert_true(told_for(&r) > 7.5);
    assert_int_equal(last_number(r.text, "counters", "in_flight"), 1);
    assert_int_equal(last_number(r.inflight, "inflight", "seq"), 77777777);
    assert_true(rec_harness_counts(r.text, "0x1", "AllReduce").left_out >
                50000);
    assert_int_equal(rec_harness_counts(r.text, "0x1", "AllReduce").lost, 0);
    print_message("# %llu bytes, %d counters in %.1f s\n",
                  (unsigned long long) r.bytes,
                  has(&r, "\"type\":\"counters\"") / 3, told_for(&r));
    rec_harness_fini(&r);
}

/* More operations in flight than a full file takes: the oldest are written. */
static void many_in_flight(struct rec_scene *s)
{
    uint64_t seq;
    void *comm;

    fake_time_begin();
    setenv("JOBPROF_RECORDER_MIN_FREE", "9000000000000000", 1);
    comm = scene_comm(s, "many", 1, 0, 2);
    for (seq = 0; seq < 100; seq++)
        scene_whole(s, comm, seq, 50);
    fake_time_pass_us(300000);
    for (seq = 1000; seq < 4000; seq++) {
        CHECK(s->api->stop(scene_coll(s, comm, "AllReduce", seq, 64, 1)) == 0);
        fake_time_pass_us(1); /* each starts at another time */
    }
    fake_time_pass_us(4000000);
    kill(getpid(), SIGKILL);
}

static void the_oldest_are_told(void **state)
{
    struct rec_result r;

    (void) state;
    rec_harness_run(many_in_flight, 6, &r);
    assert_true(KILLED(r));
    assert_int_equal(last_number(r.text, "counters", "in_flight"), 3000);
    assert_int_equal(last_number(r.inflight, "inflight", "omitted"), 2800);
    assert_non_null(strstr(r.inflight, "\"seq\":1000,"));
    assert_non_null(strstr(r.inflight, "\"seq\":1199,"));
    assert_null(strstr(r.inflight, "\"seq\":1200,"));
    rec_harness_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_told_each_second),
        cmocka_unit_test(a_full_file_goes_on),
        cmocka_unit_test(the_oldest_are_told),
    };

    return cmocka_run_group_tests_name("recorder pace", tests, NULL, NULL);
}
