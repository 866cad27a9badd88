/* commnames.h - communicators in words: "tp, 4 ranks, n1".
 *
 * A program gives a communicator a name, or none, and NCCL an id, which nobody
 * remembers. These words tell communicators apart that have the same name. They
 * come from what the files say about the members; hosts are left out unless all
 * members are known.
 */
#ifndef JP_SHOW_COMMNAMES_H
#define JP_SHOW_COMMNAMES_H

#include <stddef.h>
#include <stdint.h>

/* Longest text: name, ranks and two hosts, of which the names are cut. */
#define COMMNAMES_LEN 96

struct commnames;

/* Which communicator: the step's number (0 if there is one step), its id, and
 * its name; "": none. */
struct commnames_key {
    uint32_t step;
    const char *id, *name;
};

/* Returns NULL without memory. */
struct commnames *commnames_create(void);
/* Accepts NULL. */
void commnames_destroy(struct commnames *names);

/* Adds a member on a host. n_ranks: the communicator's size; 0: unknown. host:
 * "": unknown. Repetitions do not matter. Returns 0, or -1 without memory. */
int commnames_add(struct commnames *names, const struct commnames_key *key,
                  uint32_t n_ranks, uint32_t rank, const char *host);

/* Adds what a report's csv/comms.csv says: sizes, and the hosts of all ranks
 * seen, separated by blanks. Returns as commnames_add does. */
int commnames_set(struct commnames *names, const struct commnames_key *key,
                  uint32_t n_ranks, uint32_t ranks_seen, const char *hosts);

/* Writes the words: "tp, 4 ranks, n1", "4 ranks, n1 and n2", "world, 64 ranks,
 * 8 nodes", "1 rank, n3". "": nothing is known. Returns buf. */
char *commnames_text(const struct commnames *names,
                     const struct commnames_key *key, char buf[COMMNAMES_LEN]);

#endif
