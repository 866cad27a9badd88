/* ras.h - query NCCL's RAS once: which ranks are behind, and which are missing.
 *
 * RAS is a thread in every process of a job, since NCCL 2.24. It answers on a
 * TCP port of the node, line by line and without authentication. The client
 * sends `SET FORMAT json`, `TIMEOUT 3` and `STATUS`; RAS answers and closes the
 * connection. The text and JSON formats are those of NCCL's
 * src/ras/client_support.cc, 2.24.3 to 2.30.7 (docs/live.md).
 *
 * A query can harm the job. Older releases corrupt memory if ranks are missing,
 * and all releases may crash while a communicator is being made. ras_may_ask
 * says when a query is safe. Send one query per hang, never in a loop.
 */
#ifndef JP_EVIDENCE_RAS_H
#define JP_EVIDENCE_RAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define RAS_ANSWER_MAX (8UL << 20) /* a longer answer is truncated */
#define RAS_ROWS_MAX 4096
#define RAS_LIMIT_MS 12000
/* NCCL 2.28 and later: with more (communicator, rank) entries than this, the
 * JSON answer keeps the RAS thread busy for so long that its peers consider it
 * dead. */
#define RAS_JSON_ENTRIES 5000
/* Required time since the last communicator was made. */
#define RAS_QUIET_MS 60000

/* Whether a query is safe. release: JP_NCCL_RELEASE; 0: unknown. rccl: the
 * library is AMD's RCCL. quiet_ms: time since the last communicator was made.
 * entries: number of ranks, summed over communicators. If true, *json is the
 * format to request. If false, *why is the reason. */
bool ras_may_ask(uint32_t release, bool rccl, uint64_t quiet_ms,
                 uint64_t entries, bool *json, const char **why);

enum ras_kind {
    RAS_BEHIND,  /* launched `count` operations of `func`, others `most` */
    RAS_MISSING, /* did not answer RAS */
    RAS_DEAD,    /* has not answered for 60 s */
    RAS_ERROR,   /* NCCL reports an error: `word` */
    RAS_N_KINDS
};
extern const char *const ras_kind_words[RAS_N_KINDS];

struct ras_row {
    enum ras_kind kind;
    uint64_t comm; /* communicator hash; 0: not about a communicator */
    int64_t rank;  /* rank in it; -1: unknown */
    int64_t pid;   /* pid in the rank's own namespace; -1: unknown */
    char host[48]; /* an address of the bootstrap network, or "" */
    char func[24]; /* AllReduce ... */
    char word[48]; /* of RAS_ERROR */
    uint64_t count, most;
};

/* Zero-initialised: empty. */
struct ras_answer {
    bool json, cut;
    char *text; /* as received, NUL-terminated */
    size_t len;
    char release[32]; /* "2.29.2", or "" */
    uint64_t n_comms; /* JSON: communicators reported; text: communicators
                       * listed */
    uint64_t timeouts;
    bool has_pid; /* contains a process of the question */
    struct ras_row *rows;
    size_t n_rows;
    uint64_t left_out; /* rows beyond RAS_ROWS_MAX */
};

struct ras_question {
    const char *address; /* host:port or [v6]:port as in NCCL_RAS_ADDR; NULL or
                          * "": localhost:28028 */
    uint32_t limit_ms;   /* total; 0: RAS_LIMIT_MS */
    bool json;           /* request JSON first */
    const int64_t *pids; /* of the step, on this node */
    size_t n_pids;
};

/* Sends the query and parses the answer into *out. Tries at most four
 * connections: it tries again if a connection stays silent or answers for
 * another job of the same user. Returns -1 if there is no answer; err says
 * why. */
int ras_ask(const struct ras_question *question, struct ras_answer *out,
            struct jp_error *err);

/* Parses out->text of length out->len, and detects the format (out->json).
 * Returns -1 if it is not an answer of RAS. */
int ras_parse(struct ras_answer *out, const int64_t *pids, size_t n_pids,
              struct jp_error *err);

void ras_fini(struct ras_answer *answer);

#endif
