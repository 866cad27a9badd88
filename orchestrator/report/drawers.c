/* drawers.c - the figure that a section of the page shows while it is closed.
 *
 * Each function writes the figure for which a reader would open the section, as
 * plain text of a few words, and returns false if the report has none. The
 * section's table or charts have the same figure. */
#include "orchestrator/report/sections.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "orchestrator/identity/processes.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/insight/plain.h"
#include "orchestrator/report/busy.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/report/timeline_page.h"

#define TELL(...) (snprintf(buf, DRAWER_FIGURE, __VA_ARGS__), true)

/* "3 findings" */
bool drawer_findings(const struct jp_report *report, char *buf)
{
    size_t n = report->insight ? report->insight->findings.n : 0;

    return n ? TELL("%s", FIG_COUNT(n)) : false;
}

/* "4 processes over 4.9 s": what the timeline draws, a hang to its end */
bool drawer_timeline(const struct jp_report *report, char *buf)
{
    struct timeline_page page;
    size_t n;
    bool known;

    if (!report->result || !report->processes ||
        timeline_page_extent(report->result, report->processes, &page) < 0)
        return false;
    n = page.n_rows;
    known = page.n_bins > 0;
    if (known && page.rows_left)
        known = TELL("%s of %s processes over %s", FIG_COUNT(n),
                     FIG_COUNT(n + page.rows_left),
                     FIG_US((double) page.span_us));
    else if (known)
        known = TELL("%s process%s over %s", FIG_COUNT(n), n == 1 ? "" : "es",
                     FIG_US((double) page.span_us));
    timeline_page_fini(&page);
    return known;
}

/* "9 of 13 questions answered" */
bool drawer_hypotheses(const struct jp_report *report, char *buf)
{
    const struct jp_insight *x = report->insight;
    unsigned judged = 0;

    for (int i = 0; x && i < JP_N_HYPOTHESES; i++)
        judged += hypothesis_judged(&x->hypotheses, (enum jp_hypothesis_id) i);
    return x ? TELL("%u of %d questions answered", judged, JP_N_HYPOTHESES)
             : false;
}

/* "15; most time in dp: 1.2 s" */
bool drawer_comms(const struct jp_report *report, char *buf)
{
    const struct jp_result *r = report->result;
    const struct jp_comm *most = NULL;

    for (size_t i = 0; r && i < r->n_comms; i++)
        if (!most || r->comms[i].time_us > most->time_us)
            most = &r->comms[i];
    if (!most)
        return false;
    return most->time_us
               ? TELL("%s; most time in %.40s: %s", FIG_COUNT(r->n_comms),
                      *most->name ? most->name : most->id,
                      FIG_US((double) most->time_us))
               : TELL("%s", FIG_COUNT(r->n_comms));
}

/* "rank 3, 3.1 s": whom the others waited for longest, over all
 * communicators. */
bool drawer_waits(const struct jp_report *report, char *buf)
{
    const struct jp_processes *p = report->processes;
    const struct jp_process *most = NULL;
    char name[JP_PROCESS_NAME_LEN];

    for (size_t i = 0; p && i < p->n; i++)
        if (p->list[i].caused_us &&
            (!most || p->list[i].caused_us > most->caused_us))
            most = &p->list[i];
    if (!most)
        return false;
    if (*processes_rank_name(p, report->result, most, name))
        return TELL("for rank %.60s, %s", name,
                    FIG_US((double) most->caused_us));
    return TELL("for pid %lld on %.40s, %s", (long long) most->pid, most->host,
                FIG_US((double) most->caused_us));
}

/* "n2, 3.1 s" */
bool drawer_nodes(const struct jp_report *report, char *buf)
{
    const struct jp_processes *p = report->processes;
    const struct jp_process_host *most = NULL;

    for (size_t i = 0; p && i < p->n_hosts; i++)
        if (p->hosts[i].caused_us &&
            (!most || p->hosts[i].caused_us > most->caused_us))
            most = &p->hosts[i];
    return most ? TELL("others waited for %.40s, %s", most->host,
                       FIG_US((double) most->caused_us))
                : false;
}

/* "median 71 %" */
bool drawer_busy(const struct jp_report *report, char *buf)
{
    const struct jp_result *r = report->result;
    struct jp_busy_rows rows;
    struct jp_busy_spread spread;
    double *values;
    char share[JP_PLAIN_FIGURE];
    bool known;

    if (!r || !r->n_busy || busy_rows_make(r, report->processes, &rows) < 0)
        return false;
    values = calloc(rows.n_told + 1, sizeof(*values));
    spread = values ? busy_spread(r, &rows, SIZE_MAX, values)
                    : (struct jp_busy_spread){.median = NAN};
    known = isfinite(spread.median) &&
            TELL("median %s", plain_share(spread.median, share));
    free(values);
    busy_rows_fini(&rows);
    return known;
}

/* Returns the cell of most time; NULL: none has a time. */
const struct jp_cell *drawer_heaviest(const struct jp_result *r)
{
    const struct jp_cell *most = NULL;
    double time, longest = 0;

    for (size_t i = 0; r && i < r->n_cells; i++) {
        const struct jp_dist *exec = &r->cells[i].exec;

        time = exec->n ? exec->mean * (double) exec->n : 0;
        if (time > longest) {
            longest = time;
            most = &r->cells[i];
        }
    }
    return most;
}

/* "most time: AllReduce of 128 MiB" */
bool drawer_operations(const struct jp_report *report, char *buf)
{
    const struct jp_cell *most = drawer_heaviest(report->result);

    return most ? TELL("most time: %.40s of %s", most->coll,
                       FIG_BYTES(most->bytes))
                : false;
}

/* The network's bandwidth relative to what is expected, averaged over time;
 * without an expectation, that of the heaviest operations in GB/s. */
bool drawer_network_tile(const struct jp_report *report, char *value,
                         char *note)
{
    const struct jp_insight *x = report->insight;
    double us = 0, sum = 0, most = 0, told = 0, gbs = NAN;
    enum jp_against against = JP_AGAINST_NOTHING;
    char share[JP_PLAIN_FIGURE];

    for (size_t i = 0; x && i < x->network.n; i++) {
        const struct jp_netcell *c = &x->network.at[i];
        double p50 = bwhist_quantile(&c->gbs, 0.5);

        if (!isfinite(p50))
            continue;
        if (c->time_us > most) {
            most = c->time_us;
            gbs = p50;
        }
        /* weighted by time, so rare sizes hardly count */
        if (x->expected && x->expected[i].gbs > 0) {
            us += c->time_us;
            sum += c->time_us * p50 / x->expected[i].gbs;
            if (c->time_us > told) { /* what counts most gives the name */
                told = c->time_us;
                against = x->expected[i].against;
            }
        }
    }
    if (us > 0) {
        snprintf(value, DRAWER_VALUE, "%s", plain_share(sum / us, share));
        snprintf(note, DRAWER_NOTE, "%s",
                 against == JP_AGAINST_PEAKS ? "of its peak"
                 : against == JP_AGAINST_BASELINE
                     ? "of what earlier steps had"
                     : "of its own best; no peak is known");
    } else if (isfinite(gbs)) {
        snprintf(value, DRAWER_VALUE, "%s GB/s", FIG_GBS(gbs));
        snprintf(note, DRAWER_NOTE,
                 "of most operations; its peak is not known");
    } else {
        snprintf(value, DRAWER_VALUE, "not known");
        snprintf(note, DRAWER_NOTE, "no bandwidth was measured");
        return false;
    }
    return true;
}

/* "98 % of its own best", as on the first screen. */
bool drawer_network(const struct jp_report *report, char *buf)
{
    char value[DRAWER_VALUE], note[DRAWER_NOTE];

    if (!report->insight || !report->insight->network.n)
        return false;
    drawer_network_tile(report, value, note);
    note[strcspn(note, ";")] = '\0';
    return TELL("%s %.50s", value, note);
}

/* "18.8 GiB" */
bool drawer_p2p(const struct jp_report *report, char *buf)
{
    const struct jp_result *r = report->result;
    uint64_t bytes = 0;

    for (size_t i = 0; r && i < r->n_p2p; i++)
        if (!strcmp(r->p2p[i].func, "Send"))
            bytes += r->p2p[i].bytes;
    return bytes ? TELL("%s sent", FIG_BYTES(bytes)) : false;
}

/* "100 % of the records" */
bool drawer_quality(const struct jp_report *report, char *buf)
{
    double coverage = report->verdict->coverage;
    char share[JP_PLAIN_FIGURE];

    if (!quality_has_nccl(report) || quality_in_place(report))
        return TELL("no records of NCCL");
    return coverage >= 0
               ? TELL("%s of the records", plain_share(coverage, share))
               : TELL("share of the records unknown");
}

/* "12 variables" */
bool drawer_env(const struct jp_report *report, char *buf)
{
    size_t n = report->conf ? report->conf->n_env : 0;

    return n ? TELL("%s variable%s", FIG_COUNT(n), plural(n)) : false;
}

/* "4.9 s": from the first operation to the last */
bool drawer_run(const struct jp_report *report, char *buf)
{
    const struct jp_insight *x = report->insight;

    return x && x->run_us > 0 ? TELL("%s", FIG_US(x->run_us)) : false;
}

/* "3 attempts", "2 programs" */
bool drawer_attempts(const struct jp_report *report, char *buf)
{
    size_t n = report->insight ? report->insight->attempts.n : 0;

    return n ? TELL("%s %s%s", FIG_COUNT(n),
                    report->insight->attempts.programs ? "program" : "attempt",
                    plural(n))
             : false;
}

/* "AllReduce of 2 MiB: 104 to 175 GB/s" */
bool drawer_spread(const struct jp_report *report, char *buf)
{
    const struct jp_cell *most = drawer_heaviest(report->result);

    return most && most->busbw.n
               ? TELL("%.40s of %s: %s to %s GB/s", most->coll,
                      FIG_BYTES(most->bytes), FIG_GBS(most->busbw.p5),
                      FIG_GBS(most->busbw.p95))
               : false;
}

/* "8 tasks on 2 nodes" */
bool drawer_job(const struct jp_report *report, char *buf)
{
    uint32_t tasks = expected_tasks(report->conf, report->nodes);
    uint32_t nodes = expected_nodes(report->conf, report->nodes);

    if (tasks && nodes)
        return TELL("%s task%s on %s node%s", FIG_COUNT(tasks), plural(tasks),
                    FIG_COUNT(nodes), plural(nodes));
    return report->conf ? false : TELL("a folder of files");
}
