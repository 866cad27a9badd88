/* clock_conf.h - settings of the clock module of a node's agent. */
#ifndef JP_CLOCK_CONF_H
#define JP_CLOCK_CONF_H

#include <stdint.h>

#include "plugins/module.h"

struct clock_conf {
    uint32_t cadence_us;  /* between two exchanges with one neighbour; 0: off */
    uint32_t window_ms;   /* length of the window of which one line is made */
    uint32_t spacing_us;  /* between the two packets of an exchange */
    uint32_t snapshot_ms; /* between two readings of all clocks of the node; 0:
                             none */
    uint32_t cpu_permille; /* of a processor, which probes may take; 0: the
                              default */
    struct module_net net;
};

#endif
