/* fixture_p2p.c - Send and Recv in a report made by hand. */
#include "tests/report/fixture_parts.h"

void fixture_p2p(struct fixture *f, uint32_t n)
{
    struct jp_result *r = &f->result;

    r->p2p = fixture_array(f, 2 * n, sizeof(*r->p2p));
    r->n_p2p = 2 * n;
    for (uint32_t i = 0; i < 2 * n; i++)
        r->p2p[i] = (struct jp_p2p){.comm = r->n_comms - 1,
                                    .src = i / 2,
                                    .dst = (i / 2 + 8) % n,
                                    .func = i % 2 ? "Send" : "Recv",
                                    .count = 800,
                                    .bytes = 800 << 20,
                                    .exec_us = 800 * 90 + i,
                                    .busbw_mean = 23.5 + i * 0.01};
}

void fixture_p2p_nodes(struct fixture *f)
{
    struct jp_result *r = &f->result;

    r->p2p_nodes = fixture_array(f, 2 * FIXTURE_NODES, sizeof(*r->p2p_nodes));
    r->n_p2p_nodes = 2 * FIXTURE_NODES;
    for (uint32_t i = 0; i < 2 * FIXTURE_NODES; i++)
        r->p2p_nodes[i] = (struct jp_p2p_node){
            .src_host = r->comms[r->n_comms - 1].hosts[i / 2],
            .dst_host = i > 2 ? r->comms[r->n_comms - 1]
                                    .hosts[(i / 2 + 1) % FIXTURE_NODES]
                              : "",
            .func = i % 2 ? "Send" : "Recv",
            .pairs = 8,
            .count = 6400,
            .bytes = (6400ULL << 20) + i,
            .exec_us = 6400 * 90,
            .n_busbw = i > 1 ? 6400 : 0,
            .busbw_mean = i > 1 ? 23.5 : 0};
}
