/* commnames.c - collect the members of communicators, and name these in words.
 */
#include "orchestrator/show/commnames.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/hash.h"
#include "common/keymap.h"
#include "common/record.h"
#include "common/vector.h"

#define HOSTS_NAMED 2
#define HOST_SHOWN 20 /* bytes */
#define NAME_SHOWN 24

struct comm {
    uint64_t hash, check; /* of its key */
    uint32_t n_ranks, seen, n_hosts;
    char hosts[HOSTS_NAMED][HOST_SHOWN + 1];
};

struct commnames {
    struct comm *list;
    size_t n;
    struct keymap by_key; /* to the index in list */
    struct keymap known;  /* members and hosts that were counted */
    /* The last member, as most records repeat it. */
    uint32_t last, last_rank;
    bool has_last;
};

/* Two hashes, of which equal pairs mean equal keys: 128 bits do not collide by
 * chance. */
static void hash_key(const struct commnames_key *key, uint64_t *hash,
                     uint64_t *check)
{
    uint64_t start = hash_word(hash_start(), key->step);

    *hash = hash_text(hash_text(start, key->id), key->name);
    *check = hash_text(hash_text(~start, key->name), key->id);
}

struct commnames *commnames_create(void)
{
    return calloc(1, sizeof(struct commnames));
}

void commnames_destroy(struct commnames *names)
{
    if (!names)
        return;
    free(names->list);
    keymap_fini(&names->by_key);
    keymap_fini(&names->known);
    free(names);
}

/* Finds a communicator or adds it. Returns its index, or KEYMAP_NONE without
 * memory. */
static uint32_t find_or_add(struct commnames *names,
                            const struct commnames_key *key)
{
    uint64_t hash, check;
    uint32_t at;

    hash_key(key, &hash, &check);
    if (names->has_last && names->list[names->last].hash == hash &&
        names->list[names->last].check == check)
        return names->last;
    at = keymap_find(&names->by_key, hash, check);
    if (at != KEYMAP_NONE)
        return at;
    if (VECTOR_DOUBLE(names->list, names->n) < 0)
        return KEYMAP_NONE;
    at = (uint32_t) names->n;
    if (keymap_add(&names->by_key, hash, check, at) < 0)
        return KEYMAP_NONE;
    names->list[names->n++] = (struct comm){.hash = hash, .check = check};
    return at;
}

/* Whether this is new about the communicator. Returns 1, 0, or -1 without
 * memory. */
static int is_new(struct commnames *names, uint32_t comm, uint64_t what)
{
    if (keymap_find(&names->known, comm, what) != KEYMAP_NONE)
        return 0;
    return keymap_add(&names->known, comm, what, 0) < 0 ? -1 : 1;
}

/* Counts a host, and keeps the first ones. Returns -1 without memory. */
static int add_host(struct commnames *names, uint32_t at, const char *host,
                    size_t len)
{
    char text[RECORD_MAX_HOST + 1];
    struct comm *c = &names->list[at];
    int rc;

    snprintf(text, sizeof(text), "%.*s", (int) len, host);
    /* the lowest bit keeps hosts and ranks apart */
    rc = is_new(names, at, hash_text(hash_start(), text) | 1);
    if (rc <= 0)
        return rc;
    if (c->n_hosts < HOSTS_NAMED)
        snprintf(c->hosts[c->n_hosts], sizeof(c->hosts[0]), "%.*s", HOST_SHOWN,
                 text);
    c->n_hosts++;
    return 0;
}

int commnames_add(struct commnames *names, const struct commnames_key *key,
                  uint32_t n_ranks, uint32_t rank, const char *host)
{
    uint32_t at = find_or_add(names, key);
    int rc;

    if (at == KEYMAP_NONE)
        return -1;
    if (names->has_last && names->last == at && names->last_rank == rank)
        return 0;
    names->last = at;
    names->last_rank = rank;
    names->has_last = true;
    if (n_ranks)
        names->list[at].n_ranks = n_ranks;
    rc = is_new(names, at, (uint64_t) rank << 1);
    if (rc <= 0)
        return rc;
    /* a rank of an unknown host is not seen as far as hosts go */
    if (!*host)
        return 0;
    names->list[at].seen++;
    return add_host(names, at, host, strlen(host));
}

int commnames_set(struct commnames *names, const struct commnames_key *key,
                  uint32_t n_ranks, uint32_t ranks_seen, const char *hosts)
{
    uint32_t at = find_or_add(names, key);

    if (at == KEYMAP_NONE)
        return -1;
    names->list[at].n_ranks = n_ranks;
    names->list[at].seen = ranks_seen;
    while (*hosts) {
        size_t len = strcspn(hosts, " ");

        if (len && add_host(names, at, hosts, len) < 0)
            return -1;
        hosts += len + (hosts[len] == ' ');
    }
    return 0;
}

/* Where it runs: "n1", "n1 and n2", "8 nodes"; "" unless all are known. */
static const char *where(const struct comm *c, char *buf, size_t size)
{
    buf[0] = '\0';
    if (!c->n_ranks || c->seen != c->n_ranks || !c->n_hosts)
        return buf;
    if (c->n_hosts == 1)
        snprintf(buf, size, ", %s", c->hosts[0]);
    else if (c->n_hosts == HOSTS_NAMED)
        snprintf(buf, size, ", %s and %s", c->hosts[0], c->hosts[1]);
    else
        snprintf(buf, size, ", %s nodes", FIG_COUNT(c->n_hosts));
    return buf;
}

char *commnames_text(const struct commnames *names,
                     const struct commnames_key *key, char buf[COMMNAMES_LEN])
{
    char hosts[2 * HOST_SHOWN + 16];
    const struct comm *c;
    uint64_t hash, check;
    uint32_t at;

    hash_key(key, &hash, &check);
    at = keymap_find(&names->by_key, hash, check);
    c = at == KEYMAP_NONE ? NULL : &names->list[at];
    if (!c || !c->n_ranks)
        snprintf(buf, COMMNAMES_LEN, "%.*s", NAME_SHOWN, key->name);
    else
        snprintf(buf, COMMNAMES_LEN, "%.*s%s%s rank%s%s", NAME_SHOWN, key->name,
                 *key->name ? ", " : "", FIG_COUNT(c->n_ranks),
                 plural(c->n_ranks), where(c, hosts, sizeof(hosts)));
    return buf;
}
