/* How many records there must be: the counts file beside the log. */
#include "plugins/nccl_recorder/rec_counts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nccl_recorder/rec_comm.h"
#include "plugins/nccl_recorder/rec_sink.h"

enum { NAME_BYTES = 2048 };

static atomic_int interface_version;
static struct jp_rec_totals last; /* as of the last successful write */
static bool force;

void rec_counts_interface(int version)
{
    atomic_store(&interface_version, version);
}

/* Writes a Slurm number from the environment, or null. */
static void put_env_number(FILE *f, const char *key, const char *env)
{
    const char *value = getenv(env);
    size_t n = value ? strlen(value) : 0;
    size_t i;

    for (i = 0; i < n && isdigit((unsigned char) value[i]); i++)
        ;
    if (n == 0 || i < n || n > 9)
        fprintf(f, "\"%s\":null,", key);
    else
        fprintf(f, "\"%s\":%ld,", key, strtol(value, NULL, 10));
}

static void put_string(FILE *f, const char *key, const char *text)
{
    char escaped[NAME_BYTES];

    rec_line_escape(escaped, sizeof(escaped), text);
    fprintf(f, "\"%s\":\"%s\",", key, escaped);
}

enum which { PRODUCED, WRITTEN, LOST };

static uint64_t value_of(struct jp_rec_count *count, enum which which)
{
    switch (which) {
    case PRODUCED:
        return atomic_load(&count->produced);
    case WRITTEN:
        return atomic_load(&count->written);
    default:
        return atomic_load(&count->lost);
    }
}

static void put_counts(FILE *f, const char *key, struct jp_rec_comm *comm,
                       enum which which)
{
    const char *comma = "";
    int i;

    fprintf(f, "\"%s\":{", key);
    for (i = 0; i < rec_func_count(); i++) {
        uint64_t n = value_of(&comm->counts[i], which);

        if (n == 0)
            continue;
        fprintf(f, "%s\"%s\":%" PRIu64, comma, rec_func_name(i), n);
        comma = ",";
    }
    fputs("},", f);
}

static void put_comm(FILE *f, struct jp_rec_comm *comm)
{
    char id[JP_REC_ID_BYTES];
    const char *name;

    pthread_mutex_lock(&comm->lock);
    rec_comm_id(comm->hash, id);
    name = comm->name && comm->name[0] ? comm->name : "unknown";
    fprintf(f, "{\"id\":\"%s\",", id);
    put_string(f, "name", name);
    fprintf(f, "\"rank\":%d,\"n_ranks\":%d,\"nnodes\":%d,", comm->rank,
            comm->n_ranks, comm->n_nodes);
    pthread_mutex_unlock(&comm->lock);
    put_counts(f, "produced", comm, PRODUCED);
    put_counts(f, "written", comm, WRITTEN);
    put_counts(f, "lost", comm, LOST);
    fprintf(f, "\"finalized\":%s}",
            atomic_load(&comm->finalized) ? "true" : "false");
}

static void put_all(FILE *f, const struct jp_rec_totals *now)
{
    const struct jp_rec_process *process = rec_sink_process();
    const char *comma = "";
    struct jp_rec_comm *comm;

    fputs("{\"schema\":1,", f);
    put_string(f, "hostname", process->hostname);
    fprintf(f, "\"pid\":%d,", (int) process->pid);
    put_env_number(f, "procid", "SLURM_PROCID");
    put_env_number(f, "nodeid", "SLURM_NODEID");
    put_env_number(f, "localid", "SLURM_LOCALID");
    fprintf(f, "\"nccl_interface\":\"v%d\",", atomic_load(&interface_version));
    fprintf(f, "\"records_written\":%" PRIu64 ",\"records_lost\":%" PRIu64 ",",
            now->written, now->lost);
    fputs("\"comms\":[", f);
    for (comm = rec_comm_first(); comm; comm = atomic_load(&comm->next)) {
        fputs(comma, f);
        put_comm(f, comm);
        comma = ",";
    }
    fputs("]}\n", f);
}

int rec_counts_write(void)
{
    struct jp_rec_totals now;
    char *text = NULL;
    size_t n = 0;
    FILE *f;
    int rc = -1;

    rec_comm_totals(&now);
    if (now.produced == 0)
        return 0;
    if (!force && memcmp(&now, &last, sizeof(now)) == 0)
        return 0;
    f = open_memstream(&text, &n);
    if (!f)
        goto out;
    put_all(f, &now);
    if (fclose(f) == 0)
        rc = rec_sink_counts(text, n);
out:
    force = rc < 0;
    last = now;
    free(text);
    return rc;
}

void rec_counts_after_fork(void)
{
    memset(&last, 0, sizeof(last));
    force = false;
}
