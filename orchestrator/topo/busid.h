/* busid.h - one spelling of PCI bus ids. */
#ifndef JP_TOPO_BUSID_H
#define JP_TOPO_BUSID_H

#include <stdint.h>

#define JP_BUSID 24 /* with the final NUL */

/* "00000000:1A:00.0" and its like to "0000:1a:00.0"; a domain over ffff keeps
 * its digits. -1: no bus id (also ffffffff:... of a hidden peer); out is "". */
int busid_tidy(const char *text, char out[JP_BUSID]);

/* NCCL's number, whose hexadecimal digits are dddd bb dd f (0x4e000 is
 * 0000:4e:00.0). -1: no bus id; out is "". */
int busid_of_nccl(uint64_t number, char out[JP_BUSID]);

/* In order of address; for sorting tidy ones. */
int busid_compare(const char *a, const char *b);

#endif
