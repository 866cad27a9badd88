/* Compares a process's records and counts with what ncclsim says it issued.
 *
 * Usage: check_counts LOGDIR COUNTS.json INTERFACE
 * COUNTS.json is one file of ncclsim --counts; the recorder's files of the
 * same process are found by host name and pid. Exit status 0 or 1.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static int n_bad;
static char who[512];

static void __attribute__((format(printf, 1, 2))) bad(const char *fmt, ...)
{
    va_list ap;

    if (n_bad++ > 20)
        return;
    va_start(ap, fmt);
    fprintf(stderr, "%s: ", who);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static int64_t number_of(json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static json_t *find_comm(json_t *comms, const char *id)
{
    json_t *comm;
    size_t i;

    json_array_foreach(comms, i, comm)
    {
        if (strcmp(text_of(comm, "id"), id) == 0)
            return comm;
    }
    return NULL;
}

/* --------------------------------------------------- the recorder's counts */

static void check_comm(json_t *sim, json_t *rec, int version)
{
    static const char *const same[] = {"rank", "n_ranks", "nnodes"};
    json_t *functions = json_object_get(sim, "functions");
    json_t *function;
    const char *name;
    size_t i;

    if (strcmp(text_of(sim, "name"), text_of(rec, "name")) != 0)
        bad("%s is called %s", text_of(sim, "id"), text_of(rec, "name"));
    for (i = 0; i < (version >= 4 ? 3 : 1); i++) {
        if (number_of(sim, same[i]) != number_of(rec, same[i]))
            bad("%s: %s differs", text_of(sim, "id"), same[i]);
    }
    json_object_foreach(functions, name, function)
    {
        int64_t ops = number_of(function, "ops");

        if (number_of(json_object_get(rec, "produced"), name) != ops ||
            number_of(json_object_get(rec, "written"), name) != ops)
            bad("%s %s: %" PRId64 " issued", text_of(sim, "id"), name, ops);
    }
    if (json_object_size(functions) !=
        json_object_size(json_object_get(rec, "produced")))
        bad("%s: another number of functions", text_of(sim, "id"));
    if (json_object_size(json_object_get(rec, "lost")) != 0)
        bad("%s: something was lost", text_of(sim, "id"));
    if (!json_is_true(json_object_get(rec, "finalized")))
        bad("%s: not finalized", text_of(sim, "id"));
}

static void check_counts(json_t *sim, json_t *rec, int version)
{
    json_t *comms = json_object_get(sim, "comms");
    json_t *comm;
    char interface[8];
    size_t i;

    snprintf(interface, sizeof(interface), "v%d", version);
    if (strcmp(text_of(rec, "nccl_interface"), interface) != 0)
        bad("interface %s instead of %s", text_of(rec, "nccl_interface"),
            interface);
    json_array_foreach(comms, i, comm)
    {
        json_t *other =
            find_comm(json_object_get(rec, "comms"), text_of(comm, "id"));

        /* v1 to v3 learn a communicator's name from its first operation */
        if (other)
            check_comm(comm, other, version);
        else if (version >= 4 ||
                 json_object_size(json_object_get(comm, "functions")) > 0)
            bad("%s is not in the counts", text_of(comm, "id"));
    }
}

/* ----------------------------------------------------------------- the log */

/* Takes one off the cell of (function, size) and marks its number as seen. */
static void check_record(json_t *sim, json_t *record)
{
    json_t *p2p = json_object_get(record, "p2p_perf");
    json_t *perf = p2p ? p2p : json_object_get(record, "coll_perf");
    const char *func = text_of(perf, p2p ? "p2p" : "coll");
    int64_t bytes =
        number_of(perf, p2p ? "p2p_msg_size_bytes" : "coll_msg_size_bytes");
    json_t *comm = find_comm(json_object_get(sim, "comms"),
                             text_of(json_object_get(record, "header"), "id"));
    char key[64];
    json_t *cell;
    size_t i;

    if (!comm) {
        bad("a record of an unknown communicator");
        return;
    }
    json_array_foreach(json_object_get(comm, "cells"), i, cell)
    {
        if (strcmp(text_of(cell, "func"), func) == 0 &&
            number_of(cell, "bytes") == bytes) {
            json_object_set_new(cell, "ops",
                                json_integer(number_of(cell, "ops") - 1));
            break;
        }
    }
    if (i == json_array_size(json_object_get(comm, "cells")))
        bad("%s %" PRId64 " was never issued", func, bytes);
    snprintf(key, sizeof(key), "seen %s %" PRId64, p2p ? "p2p" : func,
             number_of(perf, p2p ? "p2p_sn" : "coll_sn"));
    if (json_object_get(comm, key))
        bad("%s twice", key);
    json_object_set_new(comm, key, json_true());
}

static void check_log(json_t *sim, const char *path)
{
    static char line[65536];
    FILE *f = fopen(path, "r");
    json_t *comm, *cell;
    size_t i, k;

    if (!f) {
        bad("%s: cannot be opened", path);
        return;
    }
    while (fgets(line, sizeof(line), f)) {
        json_t *record = json_loads(line, 0, NULL);

        if (record)
            check_record(sim, record);
        else
            bad("no JSON: %s", line);
        json_decref(record);
    }
    fclose(f);
    json_array_foreach(json_object_get(sim, "comms"), i, comm)
    {
        json_array_foreach(json_object_get(comm, "cells"), k, cell)
        {
            if (number_of(cell, "ops") != 0)
                bad("%s %s %" PRId64 ": %" PRId64 " records are missing",
                    text_of(comm, "id"), text_of(cell, "func"),
                    number_of(cell, "bytes"), number_of(cell, "ops"));
        }
    }
}

int main(int argc, char **argv)
{
    char path[4096];
    json_t *sim, *rec;

    if (argc != 4)
        return 2;
    sim = json_load_file(argv[2], 0, NULL);
    if (!sim) {
        fprintf(stderr, "%s: no JSON\n", argv[2]);
        return 1;
    }
    snprintf(who, sizeof(who), "%s-pid%" PRId64, text_of(sim, "hostname"),
             number_of(sim, "pid"));
    snprintf(path, sizeof(path), "%s/%s.counts.json", argv[1], who);
    rec = json_load_file(path, 0, NULL);
    if (rec)
        check_counts(sim, rec, atoi(argv[3]));
    else
        bad("%s: no JSON", path);
    snprintf(path, sizeof(path), "%s/%s.log", argv[1], who);
    check_log(sim, path);
    json_decref(rec);
    json_decref(sim);
    return n_bad > 0;
}
