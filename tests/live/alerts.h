/* alerts.h - the members that each line of alerts.jsonl must have. */
#ifndef JP_TESTS_ALERTS_H
#define JP_TESTS_ALERTS_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All members in order, as in docs/live.md. */
#define ALERT_MEMBERS                                                          \
    "version time_us event job step dir hang waited_ms class rank "            \
    "world_rank node pid gpu task state comm comm_name function sequence bytes "   \
    "n_ranks text "

/* Asserts that line n has all members and no others, and that the members from
 * event to n_ranks, except step and time, have these values in JSON. */
static void assert_alert(const char *text, size_t n, const char *want)
{
    char members[512] = "", values[512] = "";
    const char *key;
    json_t *root, *value;

    for (; text && n; n--) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    assert_non_null(text);
    root = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(root);
    json_object_foreach(root, key, value)
    {
        size_t len = strlen(members), used = strlen(values);
        char *json = json_dumps(value, JSON_ENCODE_ANY);

        snprintf(members + len, sizeof(members) - len, "%s ", key);
        if (!strstr("version time_us job step dir hang waited_ms text", key))
            snprintf(values + used, sizeof(values) - used, "%s%s",
                     used ? " " : "", json);
        free(json);
    }
    assert_string_equal(members, ALERT_MEMBERS);
    assert_string_equal(values, want);
    json_decref(root);
}

#endif
