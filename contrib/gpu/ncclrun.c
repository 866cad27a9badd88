/* ncclrun.c - a small NCCL program for checking the recorder on a machine with
 * a GPU; contrib/gpu/run.sh calls it.
 *
 * Ranks are forked processes on one host, or the tasks of a Slurm step
 * (--id-file). Each loads NCCL, runs one pattern (gpu_patterns.h), and writes
 * what it has issued. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/num.h"
#include "contrib/gpu/gpu_patterns.h"

/* Exit statuses. */
enum { FAILED = 1, USAGE = 2, HUNG = 3 };

struct options {
    const char *nccl;
    const char *cudart;  /* NULL: the first one that is found */
    const char *out;     /* folder */
    const char *id_file; /* NULL: ranks are forked */
    const struct gpu_pattern *pattern;
    struct gpu_size size;
    int ranks, rank, local;
    int host_ids;
    int probe;
    int help;
};

static void help(FILE *out)
{
    fputs("Usage: ncclrun [OPTION]... PATTERN\n"
          "Runs a pattern of operations with NCCL and times them by CUDA "
          "events.\n\n"
          "  --nccl PATH      the library (libnccl.so.2)\n"
          "  --cudart PATH    the CUDA runtime (libcudart.so.13, .12, .11.0)\n"
          "  --ranks N        forked ranks (2). Where ranks are tasks of a "
          "Slurm step\n"
          "                   (SLURM_PROCID), give --id-file instead\n"
          "  --id-file PATH   new file names that all tasks see: PATH.0, ...\n"
          "  --out DIR        ops-<rank>.json of each rank (.)\n"
          "  --count N  --per N  --bytes SIZE  --seconds TIME\n"
          "                   of the pattern, which has numbers of its own\n"
          "  --host-ids       ranks that share a GPU say that they are on "
          "different\n"
          "                   hosts (NCCL_HOSTID), so NCCL takes the network; "
          "else they\n"
          "                   need NCCL_MULTI_RANK_GPU_ENABLE, from 2.30 on\n"
          "  --probe          print NCCL's release and the number of GPUs\n\n"
          "Exit status: 0, 1 failed, 2 usage, 3 hung as requested, 77 the "
          "release cannot do it.\n\nPatterns:\n",
          out);
    gpu_patterns_help(out);
}

/* Parses a number from 1 on. */
static int parse_number(const char *text, int *out, struct jp_error *err)
{
    int64_t v;

    if (num_parse_i64(text, 1, 1000000, &v, err) < 0)
        return -1;
    *out = (int) v;
    return 0;
}

/* Takes an option with a value. */
static int set(struct options *o, const char *name, const char *value,
               struct jp_error *err)
{
    uint64_t us;
    int rc = 0;

    if (strcmp(name, "--nccl") == 0)
        o->nccl = value;
    else if (strcmp(name, "--cudart") == 0)
        o->cudart = value;
    else if (strcmp(name, "--out") == 0)
        o->out = value;
    else if (strcmp(name, "--id-file") == 0)
        o->id_file = value;
    else if (strcmp(name, "--ranks") == 0)
        rc = parse_number(value, &o->ranks, err);
    else if (strcmp(name, "--count") == 0)
        rc = parse_number(value, &o->size.count, err);
    else if (strcmp(name, "--per") == 0)
        rc = parse_number(value, &o->size.per_launch, err);
    else if (strcmp(name, "--bytes") == 0)
        rc = num_parse_size(value, 2048, 1ULL << 34, &o->size.bytes, err);
    else if (strcmp(name, "--seconds") == 0) {
        rc = num_parse_time_us(value, 0, 3600000000ULL, &us, err);
        o->size.seconds_us = rc < 0 ? 0 : (int64_t) us;
    } else
        return error_set(err, "unknown option \"%s\"; see --help", name);
    return rc < 0 ? error_wrap(err, "%s", name) : 0;
}

/* Parses the command line. Returns -1 and err if it is wrong. */
static int parse(struct options *o, int argc, char **argv, struct jp_error *err)
{
    const char *pattern = NULL;
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            o->help = 1;
        else if (strcmp(argv[i], "--probe") == 0)
            o->probe = 1;
        else if (strcmp(argv[i], "--host-ids") == 0)
            o->host_ids = 1;
        else if (argv[i][0] != '-')
            pattern = argv[i];
        else if (i + 1 == argc)
            return error_set(err, "%s needs a value", argv[i]);
        else if (set(o, argv[i], argv[i + 1], err) < 0)
            return -1;
        else
            i++;
    }
    if (o->help || o->probe)
        return 0;
    o->pattern = pattern ? gpu_pattern_find(pattern) : NULL;
    if (!o->pattern)
        return error_set(err, "\"%s\" is not a pattern; see --help",
                         pattern ? pattern : "");
    if (o->ranks > GPU_MAX_RANKS)
        return error_set(err, "at most %d ranks", GPU_MAX_RANKS);
    return 0;
}

/* Reads a number of Slurm's environment. */
static int task_number(const char *name, int *out, struct jp_error *err)
{
    const char *text = getenv(name);
    int64_t v;

    if (!text)
        return error_set(err, "--id-file: %s is not set", name);
    if (num_parse_i64(text, 0, 65535, &v, err) < 0)
        return error_wrap(err, "%s", name);
    *out = (int) v;
    return 0;
}

/* Uses the pattern's own numbers if none were given. */
static void complete(struct options *o)
{
    const struct gpu_size *own = &o->pattern->size;

    o->size.count = o->size.count ? o->size.count : own->count;
    o->size.per_launch = o->size.per_launch ? o->size.per_launch
                                            : own->per_launch;
    o->size.bytes = o->size.bytes ? o->size.bytes : own->bytes;
    o->size.seconds_us = o->size.seconds_us ? o->size.seconds_us
                                            : own->seconds_us;
}

/* ------------------------------------------------------------------- ranks */

/* Prepares for several ranks on one GPU of one host, which NCCL refuses by
 * default. */
static int share_gpu(const struct options *o, int n_gpus, struct jp_error *err)
{
    char id[32];

    if (o->ranks <= n_gpus || o->id_file)
        return 0;
    snprintf(id, sizeof(id), "ncclrun-%d", o->rank);
    if (o->host_ids ? setenv("NCCL_HOSTID", id, 1)
                    : setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1))
        return error_set(err, "%s", strerror(errno));
    return 0;
}

/* Runs a rank, from its first call of CUDA to its last. */
static int run_rank(const struct options *o, struct gpu_ids *ids,
                    struct jp_error *err)
{
    struct gpu_rank r = {.rank = o->rank, .n_ranks = o->ranks, .ids = ids};

    if (gpu_api_open(&r.api, o->nccl, o->cudart, err) < 0 ||
        gpu_rank_init(&r, o->local, gpu_pattern_bytes(&o->size), err) < 0 ||
        share_gpu(o, r.n_gpus, err) < 0 || gpu_rank_open(&r, o->out, err) < 0)
        return -1;
    return o->pattern->run(&r, &o->size, err);
}

/* Runs a rank and prints its error. Returns the exit status. */
static int finish_rank(const struct options *o, struct gpu_ids *ids)
{
    struct jp_error err = {""};
    int rc = run_rank(o, ids, &err);

    if (rc < 0)
        fprintf(stderr, "ncclrun: rank %d: %s\n", o->rank, err.text);
    return rc < 0 ? FAILED : rc;
}

/* Opens a pipe from rank 0 to each other rank. */
static int open_pipes(struct gpu_ids *ids, int n, struct jp_error *err)
{
    int i;

    for (i = 1; i < n; i++) {
        if (pipe2(ids->pipes[i], O_CLOEXEC) < 0)
            return error_set(err, "pipe: %s", strerror(errno));
    }
    return 0;
}

/* Waits for all ranks. The first one that fails ends the others. Returns the
 * worst status. */
static int wait_all(const pid_t *pids, int n)
{
    int worst = 0;
    int left = n;
    int i, status;

    while (left > 0 && wait(&status) > 0) {
        /* a rank that hangs kills itself */
        int rc = WIFEXITED(status) ? WEXITSTATUS(status) : HUNG;

        left--;
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
            fprintf(stderr, "ncclrun: a rank died of signal %d\n",
                    WTERMSIG(status));
            rc = FAILED;
        }
        if (rc == FAILED && worst != FAILED) {
            for (i = 0; i < n; i++)
                kill(pids[i], SIGKILL);
        }
        worst = worst == FAILED || rc == FAILED ? FAILED
                : rc > worst                    ? rc
                                                : worst;
    }
    return worst;
}

/* Runs all ranks as children. */
static int fork_ranks(struct options *o, struct jp_error *err)
{
    struct gpu_ids ids = {.file = NULL};
    pid_t pids[GPU_MAX_RANKS];
    int i;

    if (open_pipes(&ids, o->ranks, err) < 0)
        return -1;
    for (i = 0; i < o->ranks; i++) {
        o->rank = o->local = i;
        pids[i] = fork();
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG,
                  SIGKILL); /* no rank that hangs is left behind */
            exit(finish_rank(o, &ids));
        }
        if (pids[i] < 0) {
            error_set(err, "fork: %s", strerror(errno));
            while (i-- > 0)
                kill(pids[i], SIGKILL);
            return -1;
        }
    }
    return wait_all(pids, o->ranks);
}

/* Runs this task's rank. */
static int run_task(struct options *o, struct jp_error *err)
{
    struct gpu_ids ids = {.file = o->id_file};

    if (task_number("SLURM_PROCID", &o->rank, err) < 0 ||
        task_number("SLURM_NTASKS", &o->ranks, err) < 0 ||
        task_number("SLURM_LOCALID", &o->local, err) < 0)
        return -1;
    return finish_rank(o, &ids);
}

/* Prints the release of NCCL and the number of GPUs. */
static int probe(const struct options *o, struct jp_error *err)
{
    struct gpu_api api;
    int n = 0;

    if (gpu_api_open(&api, o->nccl, o->cudart, err) < 0 ||
        gpu_cuda_check(&api, api.cuda.get_device_count(&n),
                       "cudaGetDeviceCount", err) < 0)
        return -1;
    printf("%d.%d.%d %d\n", api.version / 10000, api.version / 100 % 100,
           api.version % 100, n);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.nccl = "libnccl.so.2", .out = ".", .ranks = 2};
    struct jp_error err = {""};
    int rc;

    if (parse(&o, argc, argv, &err) < 0) {
        fprintf(stderr, "ncclrun: %s\n", err.text);
        return USAGE;
    }
    if (o.help) {
        help(stdout);
        return 0;
    }
    if (o.pattern)
        complete(&o);
    rc = o.probe     ? probe(&o, &err)
         : o.id_file ? run_task(&o, &err)
                     : fork_ranks(&o, &err);
    if (rc < 0)
        fprintf(stderr, "ncclrun: %s\n", err.text);
    return rc < 0 ? FAILED : rc;
}
