/* fixture_hostile.c - a report's model with the worst names, numbers and
 * indices that each member can have. */
#include "tests/report/fixture_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *make_long(struct fixture *f)
{
    char *s = fixture_keep(f, malloc(100001));

    memset(s, 'x', 100000);
    s[100000] = '\0';
    return s;
}

static void make_numbers_hostile(struct jp_result *r)
{
    r->cells[0].busbw.p50 = NAN;
    r->cells[0].busbw.min = -INFINITY;
    r->cells[0].time_weighted_gbs = INFINITY;
    r->cells[1].bytes = UINT64_MAX;
    r->cells[1].busbw.p50 = 1e300;
    r->ranks[0].comm = SIZE_MAX;
    r->ranks[0].last_share = NAN;
    r->ranks[0].pid = INT64_MIN;
    r->ranks[1].caused_us = UINT64_MAX;
    r->windows[0].comm = SIZE_MAX;
    r->windows[0].busbw_mean = NAN;
    r->p2p[0].comm = SIZE_MAX;
    r->p2p[0].bytes = UINT64_MAX;
}

void fixture_hostile(struct fixture *f)
{
    char *hostile;
    struct jp_result *r = &f->result;

    fixture_good(f);
    fixture_ops(f, true);
    hostile = fixture_text(f, FIXTURE_HOSTILE);
    f->conf.job_name = hostile;
    f->conf.user = f->conf.command = f->conf.partition = hostile;
    f->conf.account = make_long(f);
    f->conf.settings[0].value = f->conf.settings[0].reason = hostile;
    f->conf.env[0].value = hostile;
    f->conf.env[1].value = make_long(f);
    f->nodes.step_nodelist = hostile;
    for (size_t i = 0; i < r->n_comms; i++) {
        r->comms[i].name = i % 2 ? make_long(f) : hostile;
        r->comms[i].why = hostile;
        r->comms[i].hosts[0] = hostile;
    }
    for (size_t i = 0; i < r->n_ranks; i++)
        r->ranks[i].host = i % 2 ? make_long(f) : hostile;
    r->coll_names[0] = hostile;
    for (size_t i = 0; i < r->n_cells; i++)
        r->cells[i].coll = hostile;
    for (size_t i = 0; i < r->n_windows; i++)
        r->windows[i].coll = hostile;
    for (size_t i = 0; i < r->n_p2p; i++)
        r->p2p[i].func = hostile;
    r->p2p_nodes[0].src_host = hostile;
    r->p2p_nodes[1].dst_host = make_long(f);
    make_numbers_hostile(r);
    r->quality.cut_files = 1;
    r->quality.notes = fixture_array(f, 1, sizeof(*r->quality.notes));
    r->quality.notes[0].path = r->quality.notes[0].what = hostile;
    r->quality.n_notes = 1;
    fixture_processes(f);
    fixture_judge(f, true);
    strcat(f->verdict.text, "<b>\xff\n");
}
