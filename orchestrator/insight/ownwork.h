/* ownwork.h - what a rank did longer than its peers, by traces of kernels.
 *
 * A rank's own time is the time of its trace without exposed communication
 * (plugins/traced.h): its own kernels run, or its GPU idles because the host
 * has launched nothing. A rank that has more of it than its peers arrives late
 * at the next collective, and the others wait.
 *
 * Peers of a process are other processes of the same source, with as many steps
 * and mostly the same kernels: JP_OWNWORK_ALIKE of both, by name and count. A
 * rank of another pipeline stage is no peer. All figures are means per step;
 * without steps, of the whole trace. */
#ifndef JP_INSIGHT_OWNWORK_H
#define JP_INSIGHT_OWNWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "orchestrator/aggregate/aggregate.h"

#define JP_OWNWORK_ALIKE 0.9
enum {
    JP_OWNWORK_PEERS = 64, /* the nearest by rank */
    JP_OWNWORK_ROWS = 5,   /* of a process and kind */
    JP_OWNWORK_TEXT = 400,
};

enum jp_ownwork_kind { JP_OWNWORK_KERNEL, JP_OWNWORK_CALL };

/* A name on which the process spent longer than the median of its peers. */
struct jp_ownwork_row {
    size_t process; /* index into the list of traced processes */
    enum jp_ownwork_kind kind;
    const char *name; /* borrowed from that list */
    double n, us, peers_n, peers_us;
};

/* A process against its peers. NAN: unknown. */
struct jp_ownwork_process {
    uint32_t peers;      /* 0: none is alike, and all else is NAN */
    double more_us;      /* its own time - the peers' median */
    double own_more_us;  /* in kernels of its own */
    double idle_more_us; /* without any kernel */
    size_t first, n;     /* its rows: kernels, then calls, the most first */
};

/* Zeros are empty. */
struct jp_ownwork {
    struct jp_ownwork_process *of; /* by the list of traced processes */
    size_t n;
    struct jp_ownwork_row *rows;
    size_t n_rows;
    const struct traced_list *list; /* borrowed */
};

/* Compares all processes. 0, or -1: no memory. ownwork_fini frees. */
int ownwork_make(const struct traced_list *list, struct jp_ownwork *out);
void ownwork_fini(struct jp_ownwork *own);

/* The process of a rank of the job (-1: unknown), else of a host and pid. -1:
 * there is none, or several. */
int64_t ownwork_find(const struct jp_ownwork *own, int64_t world_rank,
                     const char *host, int64_t pid);

/* A clause: "own time 1.2 ms longer than that of 3 alike ranks: flash_bwd +1.1
 * ms (30 % slower at the same count)". "": no peers, or not longer by
 * JP_OWNWORK_LEAST of it. Returns buf. */
#define JP_OWNWORK_LEAST 0.01
char *ownwork_text(const struct jp_ownwork *own, size_t process,
                   char buf[JP_OWNWORK_TEXT]);

/* The same of all traced processes of a host, each against alike processes of
 * other hosts: "by the traces of its 4 ranks, each one's own time is 1.1 to 1.3
 * ms a step longer than the median of ranks with the same kernels on other
 * nodes: flash_bwd +1.1 ms (30 % slower at the same count)". "": fewer than two
 * have peers elsewhere, one is not longer by JP_OWNWORK_LEAST, or no memory. A
 * kernel, or a call, is named if each has more of it. */
char *ownwork_host_text(const struct jp_ownwork *own, const char *host,
                        char buf[JP_OWNWORK_TEXT]);

/* One sentence about all processes: the exposed communication, and the process
 * with the longest own time. Returns buf. */
char *ownwork_summary(const struct jp_ownwork *own,
                      char buf[2 * JP_OWNWORK_TEXT]);

#endif
