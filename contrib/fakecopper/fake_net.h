/* fake_net.h - the stand-in's network: who is whose parent, and look-ups that
 * climb to the first node.
 *
 * Addresses, books and the tree are Copper's; what lies below is abstract
 * sockets of one host, one connection a request.
 */
#ifndef FAKE_NET_H
#define FAKE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct fake_net {
    const char *type;  /* -net_type */
    const char *nodes; /* -nf, or NULL */
    const char *book;  /* -facility_address_book */
    const char *own;   /* <logs>/logs/copper_address_book.txt */
    const char *host;
    bool prefiltered;
    unsigned trees;     /* -trees, 0: one */
    unsigned sync_s;    /* -addr_write_sync_time */
    unsigned start_s;   /* between the mount and the provider */
    const char *device; /* -fake_cxi: four digits of hex, a fabric's number */
};

/* The engine: address, book, tree, provider. False: there is none, the log
 * says why, and whatever uses it crashes. net is kept. */
bool fake_net_start(const struct fake_net *net);
void fake_net_stop(void);
/* The lines that this daemon has written, one at a time, to net->own, which all
 * of a launcher's daemons share. */
size_t fake_net_shared_lines(void);

/* 0 or -errno; what they give is cached for ever, and borrowed. *asked: it was
 * not in this daemon's cache. */
int fake_net_stat(const char *path, struct stat *st, bool *asked);
int fake_net_file(const char *path, const char **bytes, size_t *len,
                  bool *asked);
/* Names, a NUL behind each. */
int fake_net_list(const char *path, const char **names, size_t *len,
                  bool *asked);
/* The size that the metadata cache has, or -1. */
int64_t fake_net_size(const char *path);

#endif
