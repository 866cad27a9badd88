/* check_counts.c - compares a process's records and counters with what ncclsim
 * issued.
 *
 * Usage: check_counts DIR COUNTS.json INTERFACE
 * COUNTS.json is one file of ncclsim --counts. The recorder's file of the same
 * process is found by host name and pid. Exit status 0 or 1.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "plugins/nccl_recorder/jpr_read.h"

static int n_bad;
static char who[512];
static int version;

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

/* Returns ncclsim's entry of a communicator of the file, or NULL. */
static json_t *find_comm(json_t *sim, const struct jpr_comm *comm)
{
    json_t *comms = json_object_get(sim, "comms");
    char hash[32];
    json_t *entry;
    size_t i;

    if (!comm)
        return NULL;
    snprintf(hash, sizeof(hash), "0x%" PRIx64, comm->id);
    json_array_foreach(comms, i, entry)
    {
        if (strcmp(text_of(entry, "hash"), hash) == 0)
            return entry;
    }
    return NULL;
}

static void check_comm(json_t *sim, const struct jpr_comm *comm)
{
    json_t *entry = find_comm(sim, comm);
    const char *name = comm->name[0] ? comm->name : "unknown";

    if (!entry) {
        bad("communicator 0x%" PRIx64 " was never made", comm->id);
        return;
    }
    if (strcmp(text_of(entry, "name"), name) != 0)
        bad("%s is called %s", text_of(entry, "id"), name);
    if (number_of(entry, "rank") != comm->rank)
        bad("%s: rank %" PRId64, text_of(entry, "id"), comm->rank);
    if (version >= 4 && (number_of(entry, "n_ranks") != comm->n_ranks ||
                         number_of(entry, "nnodes") != comm->n_nodes))
        bad("%s: sizes differ", text_of(entry, "id"));
}

/* Returns whether NCCL reports no kernel of the operation. */
static bool is_to_self(const struct jpr_op *op, const struct jpr_comm *comm)
{
    return op->kind == JPR_P2P && comm && op->peer == comm->rank;
}

/* Subtracts one from the cell of function and size, and marks the number as
 * seen. */
static void check_op(json_t *sim, struct jpr_reader *r, const struct jpr_op *op)
{
    json_t *entry = find_comm(sim, jpr_comm(r, op->comm));
    json_t *cells = json_object_get(entry, "cells");
    char key[64];
    json_t *cell = NULL;
    size_t i;

    json_array_foreach(cells, i, cell)
    {
        if (strcmp(text_of(cell, "func"), op->func) == 0 &&
            (uint64_t) number_of(cell, "bytes") == op->bytes)
            break;
    }
    if (i == json_array_size(cells)) {
        bad("%s %" PRIu64 " was never issued", op->func, op->bytes);
        return;
    }
    json_object_set_new(cell, "ops", json_integer(number_of(cell, "ops") - 1));
    snprintf(key, sizeof(key), "seen %s %" PRIu64,
             op->kind == JPR_P2P ? "p2p" : op->func, op->seq);
    if (json_object_get(entry, key))
        bad("%s twice", key);
    json_object_set_new(entry, key, json_true());
    if (op->incomplete)
        bad("%s is incomplete", key);
    /* v7 reports it like any message */
    if (version < 7 && is_to_self(op, jpr_comm(r, op->comm))) {
        if (op->exec_ns != 0 || op->kernel_first_mono_ns != 0)
            bad("%s: a time of a message to oneself", key);
    } else if (op->unsure) {
        if (op->gpu_first_ns || op->kernel_first_mono_ns)
            bad("%s: times that are not to be believed", key);
        if (version >= 5 && strcmp(jpr_comm(r, op->comm)->name, "world") != 0)
            bad("%s: not believed, without a copy to oneself", key);
    } else if (version >= 5 && version < 7 && op->source == JPR_KERNEL_GPU &&
               !op->exec_ns && !op->gpu_first_ns &&
               !strcmp(jpr_comm(r, op->comm)->name, "world")) {
        /* before the first copy to oneself, and reported long after it: nothing
         * proves whose its stamps are */
    } else if (version < 5 || op->source != JPR_KERNEL_GPU ||
               !op->gpu_first_ns || op->gpu_last_ns <= op->gpu_first_ns)
        bad("%s: no times of the GPU", key);
    if (version >= 5 && !op->api_func[0])
        bad("%s: no API", key);
    if (op->enqueue_stop_mono_ns < op->enqueue_start_mono_ns)
        bad("%s: enqueued backwards", key);
}

static void check_row(json_t *sim, struct jpr_reader *r,
                      const struct jpr_comm_counts *row)
{
    json_t *entry = find_comm(sim, jpr_comm(r, row->comm));
    json_t *function =
        json_object_get(json_object_get(entry, "functions"), row->func);

    /* the last row counts */
    json_object_set_new(function, "finalized", json_boolean(row->finalized));
    json_object_set_new(function, "produced",
                        json_integer((int64_t) row->counts.produced));
    json_object_set_new(function, "written",
                        json_integer((int64_t) row->counts.written));
}

static void check_rest(json_t *sim)
{
    json_t *comms = json_object_get(sim, "comms");
    json_t *comm, *cell, *function;
    const char *name;
    size_t i, k;

    json_array_foreach(comms, i, comm)
    {
        json_array_foreach(json_object_get(comm, "cells"), k, cell)
        {
            if (number_of(cell, "ops") != 0)
                bad("%s %s %" PRId64 ": %" PRId64 " records are missing",
                    text_of(comm, "id"), text_of(cell, "func"),
                    number_of(cell, "bytes"), number_of(cell, "ops"));
        }
        json_object_foreach(json_object_get(comm, "functions"), name, function)
        {
            int64_t ops = number_of(function, "ops");

            if (!json_is_true(json_object_get(function, "finalized")) ||
                number_of(function, "produced") != ops ||
                number_of(function, "written") != ops)
                bad("%s %s: %" PRId64 " issued, %" PRId64 " written",
                    text_of(comm, "id"), name, ops,
                    number_of(function, "written"));
        }
    }
}

static void check_record(json_t *sim, struct jpr_reader *r,
                         const struct jpr_record *record)
{
    uint64_t i;

    switch (record->type) {
    case JPR_HEADER:
        if (record->header->interface != (uint64_t) version)
            bad("interface v%" PRIu64, record->header->interface);
        break;
    case JPR_COMM:
        check_comm(sim, record->comm);
        break;
    case JPR_OP:
        check_op(sim, r, record->op);
        break;
    case JPR_COUNTERS:
        for (i = 0; i < record->counters->n_rows; i++)
            check_row(sim, r, &record->counters->rows[i]);
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    struct jp_error err = {""};
    struct jpr_record record;
    struct jpr_reader *r;
    char path[4096];
    json_t *sim;
    int rc;

    if (argc != 4)
        return 2;
    sim = json_load_file(argv[2], 0, NULL);
    if (!sim) {
        fprintf(stderr, "%s: no JSON\n", argv[2]);
        return 1;
    }
    version = (int) strtol(argv[3], NULL, 10);
    snprintf(who, sizeof(who), "%s-pid%" PRId64, text_of(sim, "hostname"),
             number_of(sim, "pid"));
    snprintf(path, sizeof(path), "%s/%s.jpr", argv[1], who);
    r = jpr_open(path, &err);
    if (!r) {
        fprintf(stderr, "%s\n", err.text);
        json_decref(sim);
        return 1;
    }
    while ((rc = jpr_next(r, &record, &err)) != 0) {
        if (rc > 0)
            check_record(sim, r, &record);
        else
            bad("%s", err.text);
    }
    if (!jpr_end(r)->complete || jpr_end(r)->cut)
        bad("the file is not complete");
    check_rest(sim);
    jpr_close(r);
    json_decref(sim);
    return n_bad > 0;
}
