/* html_settings.c - sections: settings with their sources, variables. */
#include "orchestrator/report/html_sections.h"

#include "orchestrator/report/html_out.h"

#define COLUMNS(list) (sizeof(list) / sizeof(*(list)))

static void setting_rows(FILE *out, const char *area,
                         const struct jp_setting *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        html_out_row(out);
        html_out_cell(out, area);
        html_out_id(out, list[i].key);
        html_out_code(out, list[i].value);
        html_out_cell(out, list[i].source);
        html_out_cell(out, list[i].where);
        html_out_prose(out, list[i].reason);
        html_out_row_end(out);
    }
}

bool html_settings_present(const struct jp_report *report)
{
    return report->conf &&
           report->conf->n_settings + report->conf->n_copper_settings;
}

int html_settings_put(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;
    static const struct jp_html_column columns[] = {
        {"For", NULL, false},  {"Setting", NULL, false}, {"Value", NULL, false},
        {"From", NULL, false}, {"Where", NULL, false},   {"Why", NULL, false},
    };

    html_out_table(out, columns, COLUMNS(columns), true);
    setting_rows(out, "NCCL", conf->settings, conf->n_settings);
    setting_rows(out, "Copper", conf->copper_settings, conf->n_copper_settings);
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
    return 0;
}

bool html_env_present(const struct jp_report *report)
{
    return report->conf && report->conf->n_env;
}

int html_env_put(const struct jp_report *report, FILE *out)
{
    const struct jp_jobconf *conf = report->conf;
    static const struct jp_html_column columns[] = {
        {"Variable", NULL, false},
        {"Value", "%N stands for the node's name", false},
        {"If the user has set it", NULL, false},
    };

    html_out_table(out, columns, COLUMNS(columns), false);
    for (size_t i = 0; i < conf->n_env; i++) {
        html_out_row(out);
        html_out_id(out, conf->env[i].name);
        html_out_code(out, conf->env[i].value);
        html_out_cell(out, conf->env[i].soft ? "the user's stays" : "replaced");
        html_out_row_end(out);
    }
    html_out_table_end(out, COLUMNS(columns), 0, NULL);
    return 0;
}
