/* NCCL's functions and datatypes: names, sizes and bandwidth factors.
 *
 * One table for all of them. A name that NCCL adds after this release is
 * recorded as "Invalid", Inspector's word for the same case.
 */
#ifndef JP_REC_FUNC_H
#define JP_REC_FUNC_H

#include <stdint.h>

/* More than the table holds: arrays of counters use it as their length. */
enum { JP_REC_MAX_FUNCS = 16 };

/* Index of a function's name ("AllReduce"); NULL and unknown names give the
 * index of "Invalid". Never fails. */
int rec_func_find(const char *name);

/* The same for the number that interface v1 hands over. */
int rec_func_from_v1(unsigned number);

/* Name of an index that came from one of the two above. */
const char *rec_func_name(int func);

/* How many functions the table has. */
int rec_func_count(void);

/* Bytes of one element of NCCL's datatype name. "Unknown" is one byte: it is
 * what NCCL calls uint8 (its name table lacks it, 2.24 to 2.30). NULL and
 * names we do not know give 0. */
uint64_t rec_func_type_bytes(const char *datatype);

/* The same for v1's number; 0 where there is none. */
uint64_t rec_func_type_bytes_v1(unsigned number);

/* Bandwidths in GB/s (10^9 bytes) as Inspector and nccl-tests define them.
 *
 * `bytes` is Inspector's message size: count times element size, as NCCL
 * enqueues the operation. For AllGather and ReduceScatter that is one rank's
 * share, so the traffic is n_ranks times as much.
 *
 *   function                   traffic           busbw / algobw
 *   AllReduce                  bytes             2 (n - 1) / n
 *   AllGather, ReduceScatter   bytes * n_ranks   (n - 1) / n
 *   Broadcast, Reduce, p2p     bytes             1
 *   any other                  0                 0
 *
 * No time, or no n_ranks where it is needed (v1 to v3), gives 0. */
void rec_func_bandwidth(int func, int n_ranks, uint64_t bytes, uint64_t exec_us,
                        double *algobw_gbs, double *busbw_gbs);

#endif
