/* fake_net.h - the stand-in's network: which daemon is the parent of which, and
 * look-ups that climb to the first node.
 *
 * Addresses, books and the tree are Copper's. Below them are abstract sockets
 * of one host, with one connection per request. */
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
    unsigned trees;   /* -trees, 0: one */
    unsigned sync_s;  /* -addr_write_sync_time */
    unsigned start_s; /* seconds between the mount and the provider */
    const char
        *device; /* -fake_cxi: number of the fabric, four hexadecimal digits */
};

/* Starts the engine: address, book, tree, provider. Returns false if that
 * fails: the log has the reason, and everything that uses the engine crashes,
 * as in Copper. net is borrowed. */
bool fake_net_start(const struct fake_net *net);
void fake_net_stop(void);
/* Returns the number of lines that this daemon has written, one at a time, to
 * net->own, which all daemons of a launcher share. */
size_t fake_net_shared_lines(void);

/* Return 0 or -errno. Results are cached for ever, and borrowed. *asked: the
 * result was not in this daemon's cache. */
int fake_net_stat(const char *path, struct stat *st, bool *asked);
int fake_net_file(const char *path, const char **bytes, size_t *len,
                  bool *asked);
/* *names: a NUL follows each name. */
int fake_net_list(const char *path, const char **names, size_t *len,
                  bool *asked);
/* Returns the size of the file in the metadata cache, or -1. */
int64_t fake_net_size(const char *path);

#endif
