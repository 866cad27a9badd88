/* html_job.c - section: what ran, where, by whom. */
#include "orchestrator/report/html_sections.h"

#include "common/figure.h"
#include "orchestrator/insight/expected.h"
#include "orchestrator/report/html_out.h"

int html_job_put(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *c = report->conf;
    const struct jp_nodes *nodes = report->nodes;

    fputs("<dl>\n", out);
    if (c) {
        html_out_fact(out, "Command", c->command);
        html_out_fact(out, "User", c->user);
        html_out_fact(out, "Account", c->account);
        html_out_fact(out, "Partition", c->partition);
        html_out_fact(out, "Submitted from", c->submit_host);
        html_out_fact(out, "Working directory", c->submit_dir);
        html_out_fact(out, "Started", FIG_UTC(c->created_us));
        html_out_fact(out, "Slurm", c->slurm_version);
        html_out_fact(out, "Profiler asked for", c->nccl_request);
        html_out_fact(out, "Profiler used", c->nccl_mode);
    } else {
        html_out_fact(out, "Input",
                      "a folder of logs, without a job's settings");
    }
    html_out_fact_count(out, "Nodes", expected_nodes(c, nodes));
    html_out_fact_count(out, "Tasks", expected_tasks(c, nodes));
    if (nodes) {
        html_out_fact(out, "Node list", nodes->step_nodelist);
        html_out_fact(out, "Tasks ended with an error",
                      FIG_COUNT(nodes->tasks_failed));
    }
    fputs("</dl>\n", out);
    return 0;
}
