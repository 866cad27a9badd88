/* util_ports.c - read the counters of adapters from sysfs. */
#include "plugins/util/util_ports.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "plugins/util/util_counter.h"

#define PORTS_MAX 64
#define ROOT_MAX 2048

struct port {
    char id[UTIL_ID_MAX];
    char path[PATH_MAX];
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
    if (p)
        free(p->ports);
    free(p);
}

static uint64_t number_of(const struct port *port, const char *name)
{
    char path[PATH_MAX], text[128];

    snprintf(path, sizeof(path), "%.4000s/%s", port->path, name);
    return util_number(util_read_file(path, text, sizeof(text), NULL) ?: "");
}

/* Sums; of counters that the adapter does not have, none is known. */
static uint64_t errors_of(const struct port *port)
{
    static const char *const names[] = {
        "counters/symbol_error", "counters/port_rcv_errors",
        "counters/port_xmit_discards", "counters/link_error_recovery",
        "counters/local_link_integrity_errors"};
    uint64_t sum = UTIL_NONE;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        uint64_t n = number_of(port, names[i]);

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
    struct port *port = &p->ports[i];
    uint64_t gbit, state;

    if (i >= p->n)
        return false;
    gbit = number_of(port, "rate");   /* "200 Gb/sec (4X HDR)" */
    state = number_of(port, "state"); /* "4: ACTIVE" */
    util_row_init(row, 0, 0, port->id);
    row->v[PORT_IN] =
        util_rate(&port->in, number_of(port, "counters/port_rcv_data"), 4, dt);
    row->v[PORT_OUT] = util_rate(
        &port->out, number_of(port, "counters/port_xmit_data"), 4, dt);
    row->v[PORT_WAIT] = util_rate(
        &port->wait, number_of(port, "counters/port_xmit_wait"), 1, dt);
    row->v[PORT_ERRORS] = util_rate(&port->errors, errors_of(port), 1, dt);
    row->v[PORT_DOWNED] = util_rate(
        &port->downed, number_of(port, "counters/link_downed"), 1, dt);
    row->v[PORT_RATE] = util_known(gbit) * 1e9 / 8;
    row->v[PORT_UP] = state == UTIL_NONE ? NAN : state == 4;
    return true;
}
