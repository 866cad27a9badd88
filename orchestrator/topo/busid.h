/* busid.h - one spelling of PCI bus ids. */
#ifndef JP_TOPO_BUSID_H
#define JP_TOPO_BUSID_H

#include <stdint.h>

#define JP_BUSID 24 /* with the final NUL */

/* Converts "00000000:1A:00.0" and the like to "0000:1a:00.0"; a domain above
 * ffff keeps its digits. Returns -1 if it is no bus id (also for ffffffff:...
 * of a hidden peer); out is "" then. */
int busid_tidy(const char *text, char out[JP_BUSID]);

/* Converts NCCL's number, whose hexadecimal digits are dddd bb dd f (0x4e000 is
 * 0000:4e:00.0). Returns -1 if it is no bus id; out is "" then. */
int busid_of_nccl(uint64_t number, char out[JP_BUSID]);

/* Compares two tidy ids by address, as strcmp(). */
int busid_compare(const char *a, const char *b);

#endif
