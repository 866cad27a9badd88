/* rec_net.h - network transfers (ProxyStep events) summed into their operation.
 *
 * A step goes through states; the time in each is a wait. Switched on by
 * JOBPROF_RECORDER_NET=1, for there may be thousands of steps an operation.
 */
#ifndef JP_REC_NET_H
#define JP_REC_NET_H

#include <stddef.h>
#include <stdint.h>

/* Bytes for n steps at once, and taking that memory, zeroed, into use;
 * NULL: no steps are recorded. */
size_t rec_net_bytes(uint32_t n);
void rec_net_init(void *memory, uint32_t n);

/* A step below a ProxyOp's handle; NULL when it is not recorded. */
void *rec_net_start(void *parent);

void rec_net_record(uint64_t handle, int state, uint64_t bytes);
void rec_net_stop(uint64_t handle);

/* Steps for which there was no room. */
uint64_t rec_net_lost(void);

#endif
