/* util_ports.h - the ports of InfiniBand and RoCE adapters. */
#ifndef JP_UTIL_PORTS_H
#define JP_UTIL_PORTS_H

#include <stdbool.h>

#include "plugins/util/util_rows.h"

struct util_ports;

/* Those that are there now; root stands in for /. NULL without memory. */
struct util_ports *util_ports_create(const char *root);

/* Reads one port, dt seconds after the last time (0: the first). False: there
 * is none of that number. */
bool util_ports_take(struct util_ports *ports, size_t i, double dt,
                     struct util_row *row);

void util_ports_destroy(struct util_ports *ports); /* takes NULL */

#endif
