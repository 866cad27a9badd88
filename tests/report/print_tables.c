/* print_tables.c - print the report's tables as JSON, from which `make tables`
 * writes the documents. */
#include <limits.h>
#include <stdio.h>

#include <jansson.h>

#include "orchestrator/util/cause_feature.h"
#include "orchestrator/insight/verdict.h"
#include "orchestrator/copper/copper_feature.h"
#include "orchestrator/report/tables.h"

static json_t *words_of(const struct jp_column *c)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < c->n_words; i++)
        json_array_append_new(list, json_string(c->words[i]));
    return list;
}

static json_t *describe_column(const struct jp_column *c)
{
    return json_pack("{s:s, s:s, s:s, s:s?, s:b, s:i, s:b, s:b, s:i, s:o}",
                     "key", c->key, "path", c->path ? c->path : c->key, "kind",
                     table_kind_name(c->kind), "help", c->help, "csv",
                     c->flags & JP_CSV, "json", (int) c->json, "maybe",
                     c->flags & JP_MAYBE, "real",
                     c->field == JP_FIELD_F64 || c->flags & JP_REAL, "max",
                     (int) c->max, "words", words_of(c));
}

static json_t *describe(const struct jp_table *table)
{
    json_t *columns = json_array();

    for (size_t i = 0; i < table->n_columns; i++)
        json_array_append_new(columns, describe_column(&table->columns[i]));
    return json_pack("{s:s, s:s?, s:s?, s:b, s:i, s:o}", "name", table->name,
                     "json", table->json, "help", table->help, "csv",
                     table->columns->flags & JP_CSV, "max",
                     table->max_json < INT_MAX ? (int) table->max_json : 0,
                     "columns", columns);
}

/* Returns the kinds of findings, as the words of that column; others: those of
 * features, patterns of words. */
static json_t *describe_kinds(void)
{
    json_t *rows = json_array(), *others = json_array();

    for (unsigned i = 0; i < findings_kinds; i++)
        json_array_append_new(
            rows,
            json_pack("{s:s, s:s, s:s, s:s}", "word", findings_about[i].word,
                      "verdict", verdict_word_name(findings_about[i].verdict),
                      "question",
                      hypotheses_table[findings_about[i].question].key, "help",
                      findings_about[i].help));
    for (size_t k = 0; feature_registry[k]; k++)
        for (const char *const *kind = feature_registry[k]->finding_kinds;
             kind && *kind; kind++)
            json_array_append_new(others, json_string(*kind));
    return json_pack("{s:s, s:o, s:o}", "name", "finding_kinds", "kinds", rows,
                     "others", others);
}

/* Adds the tables of features with this role. */
static void describe_features(json_t *list, enum feature_role role)
{
    for (size_t k = 0; feature_registry[k]; k++)
        for (size_t i = 0;
             feature_registry[k]->role == role && feature_registry[k]->tables &&
             feature_registry[k]->tables[i];
             i++)
            json_array_append_new(list,
                                  describe(feature_registry[k]->tables[i]));
}

int main(void)
{
    json_t *list = json_array();
    int rc;

    for (size_t i = 0; tables[i]; i++)
        json_array_append_new(list, describe(tables[i]));
    json_array_append_new(list, describe(&table_causes));
    json_array_append_new(list, describe(&table_iteration));
    json_array_append_new(list, describe(&table_attempts));
    json_array_append_new(list, describe(&table_bottlenecks));
    describe_features(list, FEATURE_FIGURES);
    describe_features(list, FEATURE_PROFILE);
    describe_features(list, FEATURE_OPERATIONS);
    for (size_t i = 0; i < COPPER_N_CATEGORIES; i++)
        json_array_append_new(list, describe(tables_copper_hot[i]));
    json_array_append_new(list, describe_kinds());
    rc = json_dumpf(list, stdout, JSON_INDENT(1));
    json_decref(list);
    return rc < 0 || fputc('\n', stdout) == EOF || fflush(stdout) == EOF;
}
