/* fuzz_nsys.c - any bytes as an export of Nsight Systems. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugins/nsys/nsys_ranks.h"
#include "plugins/nsys/nsys_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file may make SQLite walk in circles: time is what bounds it. */
static bool is_over(void *arg)
{
    return ++*(int *) arg > 20;
}

static int take(void *arg, const struct record *records, size_t n)
{
    (void) arg;
    for (size_t i = 0; i < n; i++) {
        assert(records[i].rank < NSYS_RANKS && records[i].has_sn);
        assert(records[i].exec_us <= RECORD_MAX_TIME_US);
        assert(record_is_word(records[i].func.text, records[i].func.len,
                              RECORD_MAX_FUNC));
    }
    return 0;
}

/* The same file as ranks. */
static void read_ranks(const char *path)
{
    static const atomic_bool never;
    const struct reader_input in = {.path = path, .stop = &never};
    const struct reader_sink sink = {.take = take};
    struct source_facts facts = {0};

    if (nsys_ranks_read(&in, &sink, &facts) < 0)
        abort();
    for (size_t i = 0; i < facts.traced.n; i++)
        assert(facts.traced.at[i].all.exposed_ns <=
               facts.traced.at[i].all.comm_ns);
    traced_list_fini(&facts.traced);
    reader_facts_fini(&facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/fuzz_nsys.XXXXXX";
    int fd = mkstemp(path), asked = 0;
    const struct nsys_options options = {100000, 10000, false, is_over, &asked};
    struct jp_error err = {""};
    struct nsys_profile p;

    assert(fd >= 0 && write(fd, data, size) == (ssize_t) size);
    close(fd);
    if (nsys_read(path, &options, &p, &err) == 0) {
        assert(p.busy_ns <= p.span_ns || p.closed_ns);
        nsys_profile_fini(&p);
        /* what took no long time before takes none now */
        read_ranks(path);
    } else {
        assert(err.text[0]);
    }
    unlink(path);
    return 0;
}
