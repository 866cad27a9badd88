/* util_ports.c - read the counters of adapters from sysfs. */
#include "plugins/util/util_ports.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "plugins/util/util_counter.h"

#define PORTS_MAX 64
#define PORTS_OPEN 16
#define ROOT_MAX 2048

/* The files of a port. Those of the first ports stay open. */
enum port_file {
    FILE_RATE,
    FILE_STATE,
    FILE_IN,
    FILE_OUT,
    FILE_WAIT,
    FILE_DOWNED,
    FILE_ERRORS, /* the first of several that are added up */
    PORT_FILES = FILE_ERRORS + 5
};
static const char *const file_names[PORT_FILES] = {
    [FILE_RATE] = "rate",
    [FILE_STATE] = "state",
    [FILE_IN] = "counters/port_rcv_data",
    [FILE_OUT] = "counters/port_xmit_data",
    [FILE_WAIT] = "counters/port_xmit_wait",
    [FILE_DOWNED] = "counters/link_downed",
    [FILE_ERRORS] = "counters/symbol_error",
    "counters/port_rcv_errors",
    "counters/port_xmit_discards",
    "counters/link_error_recovery",
    "counters/local_link_integrity_errors"};

struct port {
    char id[UTIL_ID_MAX];
    char path[PATH_MAX];
    int fd[PORT_FILES]; /* -1: not open */
    struct util_counter in, out, wait, errors, downed;
};

struct util_ports {
    char root[ROOT_MAX];
    struct port *ports;
    size_t n;
};

/* A device's name goes into rows. */
static bool is_plain(const char *name)
{
    return *name && *name != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789_-.") == strlen(name);
}

static void add_port(struct util_ports *p, const char *device, const char *name)
{
    static const struct util_counter unset = {UTIL_NONE};
    struct port *more = realloc(p->ports, (p->n + 1) * sizeof(*more));

    if (!more)
        return;
    p->ports = more;
    more = &p->ports[p->n++];
    *more = (struct port){.in = unset,
                          .out = unset,
                          .wait = unset,
                          .errors = unset,
                          .downed = unset};
    snprintf(more->id, sizeof(more->id), "%.30s/%.10s", device, name);
    snprintf(more->path, sizeof(more->path),
             "%s/sys/class/infiniband/%.255s/ports/%.255s", p->root, device,
             name);
    for (size_t i = 0; i < PORT_FILES; i++)
        more->fd[i] = -1;
}

static void add_device(struct util_ports *p, const char *device)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *ports;

    snprintf(path, sizeof(path), "%s/sys/class/infiniband/%.255s/ports",
             p->root, device);
    ports = opendir(path);
    while (ports && (entry = readdir(ports)))
        if (is_plain(entry->d_name) && p->n < PORTS_MAX)
            add_port(p, device, entry->d_name);
    if (ports)
        closedir(ports);
}

struct util_ports *util_ports_create(const char *root)
{
    struct util_ports *p = calloc(1, sizeof(*p));
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *devices;

    if (!p)
        return NULL;
    snprintf(p->root, sizeof(p->root), "%s", root);
    snprintf(path, sizeof(path), "%s/sys/class/infiniband", p->root);
    devices = opendir(path);
    while (devices && (entry = readdir(devices)))
        if (is_plain(entry->d_name))
            add_device(p, entry->d_name);
    if (devices)
        closedir(devices);
    return p;
}

void util_ports_destroy(struct util_ports *p)
{
    for (size_t i = 0; p && i < p->n; i++)
        for (size_t k = 0; k < PORT_FILES; k++)
            if (p->ports[i].fd[k] >= 0)
                close(p->ports[i].fd[k]);
    if (p)
        free(p->ports);
    free(p);
}

static uint64_t number_of(const struct util_ports *p, struct port *port,
                          unsigned file)
{
    bool stays = port < p->ports + PORTS_OPEN;
    char path[PATH_MAX], text[128];
    const char *found;

    snprintf(path, sizeof(path), "%.4000s/%s", port->path, file_names[file]);
    found = stays ? util_read_again(&port->fd[file], path, text, sizeof(text))
                  : util_read_file(path, text, sizeof(text), NULL);
    return util_number(found ?: "");
}

/* Sums; of counters that the adapter does not have, none is known. */
static uint64_t errors_of(const struct util_ports *p, struct port *port)
{
    uint64_t sum = UTIL_NONE;

    for (unsigned i = FILE_ERRORS; i < PORT_FILES; i++) {
        uint64_t n = number_of(p, port, i);

        if (n != UTIL_NONE)
            sum = num_add(sum == UTIL_NONE ? 0 : sum, n);
    }
    return sum;
}

/* The counters of data are in units of four bytes
 * (Documentation/ABI/stable/sysfs-class-infiniband). */
bool util_ports_take(struct util_ports *p, size_t i, double dt,
                     struct util_row *row)
{
    struct port *port;
    uint64_t gbit, state;

    if (i >= p->n)
        return false;
    port = &p->ports[i];
    gbit = number_of(p, port, FILE_RATE);   /* "200 Gb/sec (4X HDR)" */
    state = number_of(p, port, FILE_STATE); /* "4: ACTIVE" */
    util_row_init(row, 0, 0, port->id);
    row->v[PORT_IN] = util_rate(&port->in, number_of(p, port, FILE_IN), 4, dt);
    row->v[PORT_OUT] =
        util_rate(&port->out, number_of(p, port, FILE_OUT), 4, dt);
    row->v[PORT_WAIT] =
        util_rate(&port->wait, number_of(p, port, FILE_WAIT), 1, dt);
    row->v[PORT_ERRORS] = util_rate(&port->errors, errors_of(p, port), 1, dt);
    row->v[PORT_DOWNED] =
        util_rate(&port->downed, number_of(p, port, FILE_DOWNED), 1, dt);
    row->v[PORT_RATE] = util_known(gbit) * 1e9 / 8;
    row->v[PORT_UP] = state == UTIL_NONE ? NAN : state == 4;
    return true;
}
