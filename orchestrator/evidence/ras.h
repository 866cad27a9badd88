/* ras.h - one question to NCCL's RAS: which ranks have launched less than the
 * others, which are missing.
 *
 * RAS is a thread in every process of a job, since NCCL 2.24. It answers on a
 * TCP port of the node, in lines, without authentication: `SET FORMAT json`,
 * `TIMEOUT 3`, then `STATUS`, which it answers and closes. Text and JSON are
 * those of NCCL's src/ras/client_support.cc, 2.24.3 to 2.30.7 (docs/live.md).
 *
 * A question can harm the job: older releases corrupt memory where ranks are
 * missing, and all may crash while a communicator is being made. ras_may_ask
 * says when not to. One question a hang, never in a loop.
 */
#ifndef JP_EVIDENCE_RAS_H
#define JP_EVIDENCE_RAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define RAS_ANSWER_MAX (8UL << 20) /* the rest is cut */
#define RAS_ROWS_MAX 4096
#define RAS_LIMIT_MS 12000
/* NCCL 2.28 and later: above so many (communicator, rank) entries the answer in
 * JSON takes the RAS thread so long that its peers take it for dead. */
#define RAS_JSON_ENTRIES 5000
/* No communicator was made for so long. */
#define RAS_QUIET_MS 60000

/* May one ask? release: JP_NCCL_RELEASE, 0: not known; rccl: it is AMD's;
 * quiet_ms: since the last communicator was made; entries: ranks, summed over
 * communicators. True: *json says in which form. False: *why says why not. */
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
    uint64_t comm; /* its hash; 0: of no communicator */
    int64_t rank;  /* in it; -1: not told */
    int64_t pid;   /* in its own namespace; -1: not told */
    char host[48]; /* an address of the bootstrap network, or "" */
    char func[24]; /* AllReduce ... */
    char word[48]; /* of RAS_ERROR */
    uint64_t count, most;
};

/* Zero-initialised is empty. */
struct ras_answer {
    bool json, cut;
    char *text; /* as it came, ends with a 0 */
    size_t len;
    char release[32]; /* "2.29.2", "" */
    uint64_t n_comms; /* that it tells of, by JSON; by text: of those listed */
    uint64_t timeouts;
    bool has_pid; /* one of the question's processes is in it */
    struct ras_row *rows;
    size_t n_rows;
    uint64_t left_out; /* rows beyond RAS_ROWS_MAX */
};

struct ras_question {
    const char *address; /* host:port or [v6]:port, NCCL_RAS_ADDR; NULL or "":
                            localhost:28028 */
    uint32_t limit_ms;   /* in all; 0: RAS_LIMIT_MS */
    bool json;           /* ask for it first */
    const int64_t *pids; /* of the step, on this node */
    size_t n_pids;
};

/* Asks, and reads the answer into *out. Connections that stay silent, and those
 * that answer for another job of the same user, are tried again, four in all.
 * -1: no answer, and why. */
int ras_ask(const struct ras_question *question, struct ras_answer *out,
            struct jp_error *err);

/* Reads out->text, of out->len bytes; out->json is found by itself. -1: it is
 * no answer of RAS. */
int ras_parse(struct ras_answer *out, const int64_t *pids, size_t n_pids,
              struct jp_error *err);

void ras_fini(struct ras_answer *answer);

#endif
