/* comm_type.c - classify a communicator and say why. */
#include "orchestrator/aggregate/comm_type.h"

#include <inttypes.h>

#include "common/figure.h"
#include "common/fileio.h"

static const char *const names[JP_COMM_N_TYPES] = {"single-rank", "nvlink-only",
                                                   "hca-only", "mixed"};

static const char *const rules[JP_COMM_N_TYPES] = {
    "one rank", "all ranks in one NVLink domain",
    "every rank in an NVLink domain of its own",
    "several ranks share each of several NVLink domains"};

const char *comm_type_name(enum jp_comm_type type)
{
    return (unsigned) type < JP_COMM_N_TYPES ? names[type] : "unknown";
}

enum jp_comm_type comm_type_of(uint32_t n_ranks, uint32_t nnodes)
{
    if (n_ranks == 1)
        return JP_COMM_SINGLE_RANK;
    if (nnodes == 1)
        return JP_COMM_NVLINK_ONLY;
    return nnodes == n_ranks ? JP_COMM_HCA_ONLY : JP_COMM_MIXED;
}

static const char *judge_guess(const struct jp_comm *comm,
                               const char **evidence)
{
    *evidence = comm->n_hosts ? "hosts" : "ranks";
    if (!comm->n_hosts)
        return "the records tell neither sizes nor hosts: that this is all of "
               "it, in one NVLink domain, is a guess";
    return "sizes are from ranks and hosts, as NCCL before 2.27 and the "
           "example plugin tell none; NVLink may span hosts";
}

/* What the hosts of the records say about nnodes. */
static const char *judge(const struct jp_comm *comm, const char **evidence)
{
    *evidence = "records";
    if (comm->guessed)
        return judge_guess(comm, evidence);
    if (comm->ranks_seen < comm->n_ranks)
        return "hosts prove nothing, because ranks are missing";
    if (!comm->n_hosts)
        return "the records name no hosts";
    if (comm->n_hosts < comm->nnodes) {
        *evidence = "contradicted";
        return "fewer hosts than domains: host names are not distinct, or "
               "records of different jobs are mixed";
    }
    if (comm->n_hosts > comm->nnodes)
        return "more hosts than domains: NVLink spans hosts there (as in an "
               "NVL72 rack), which the records alone cannot confirm";
    *evidence = "records+hosts";
    return "as many hosts as domains";
}

int comm_type_explain(struct jp_comm *comm)
{
    const char *verdict = judge(comm, &comm->evidence);

    comm->why = text_format(
        "%s: %s (n_ranks %" PRIu32 ", nnodes %" PRIu32 "); %" PRIu32
        " of %" PRIu32 " ranks seen on %zu host%s, %s",
        comm_type_name(comm->type), rules[comm->type], comm->n_ranks,
        comm->nnodes, comm->ranks_seen, comm->n_ranks, comm->n_hosts,
        plural(comm->n_hosts), verdict);
    return comm->why ? 0 : -1;
}
