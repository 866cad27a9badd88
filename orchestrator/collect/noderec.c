/* noderec.c - what a node leaves of itself and of its tasks: node.json,
 * tasks.jsonl. */
#include "config.h"

#include "orchestrator/collect/noderec.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/error.h"
#include "common/fileio.h"
#include "common/num.h"
#include "orchestrator/collect/clock.h"

/* A module of before the times had four fields. */
enum { FIELDS_OLD = 4, FIELDS = 6 };

static const struct {
    const char *key;
    int64_t min, max;
} fields[FIELDS] = {
    {"gtid", 0, UINT32_MAX},   {"ltid", 0, UINT32_MAX},
    {"pid", 0, INT32_MAX},     {"status", -1, INT32_MAX},
    {"mono_us", 0, INT64_MAX}, {"end_us", 0, INT64_MAX},
};

/* Takes the line apart in place. Returns how many fields it has, 0: it is bad.
 */
static int parse(char *line, int64_t field[FIELDS])
{
    int n = 0;

    for (; line && n < FIELDS; n++)
        if (num_parse_i64(strsep(&line, " "), fields[n].min, fields[n].max,
                          &field[n], NULL) < 0)
            return 0;
    return !line && (n == FIELDS || n == FIELDS_OLD) ? n : 0;
}

/* Reads one line without its newline. False at the end of the input; a line
 * that does not fit comes out as an empty, hence bad, one. */
static bool read_line(FILE *in, char *line, size_t len)
{
    int c;

    if (!fgets(line, (int) len, in))
        return false;
    if (!strchr(line, '\n') && strlen(line) == len - 1) {
        while ((c = getc(in)) != '\n' && c != EOF)
            ;
        line[0] = '\0';
    }
    line[strcspn(line, "\n")] = '\0';
    return true;
}

int tasklines_convert(FILE *in, const char *path, uint32_t *bad,
                      struct jp_error *err)
{
    struct jp_tempfile file;
    int64_t field[FIELDS];
    char line[192];
    uint32_t dropped = 0;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    for (uint32_t n = 0; n < JP_TASKLINES_MAX; n++) {
        int got;

        if (!read_line(in, line, sizeof(line)))
            break;
        got = parse(line, field);
        dropped += got == 0;
        for (int i = 0; i < got; i++)
            fprintf(file.stream, "%c\"%s\":%" PRId64 "%s", i ? ',' : '{',
                    fields[i].key, field[i], i + 1 < got ? "" : "}\n");
    }
    if (fileio_temp_commit(&file, err) < 0)
        return -1;
    if (bad)
        *bad = dropped;
    return 0;
}

/* --- write a node's own record into the step directory --- */

static const char *from_env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

static uint64_t number_from_env(const char *name, uint64_t otherwise)
{
    uint64_t value = otherwise;

    num_parse_u64(getenv(name), 0, UINT32_MAX, &value, NULL);
    return value;
}

/* A string whatever its bytes are: jansson takes UTF-8 only. */
static json_t *text(const char *value)
{
    json_t *json = json_string(value);

    return json ? json : json_string("");
}

/* This boot's id, which tells two nodes of one name apart. "" if unknown. */
static json_t *boot_id(void)
{
    char *id = NULL;
    json_t *json;

    if (fileio_read("/proc/sys/kernel/random/boot_id", false, 128, &id, NULL,
                    NULL) < 0)
        return json_string("");
    id[strcspn(id, "\n")] = '\0';
    json = text(id);
    free(id);
    return json;
}

int64_t noderec_oom_kills(void)
{
    char *text = NULL, *at;
    int64_t n = -1;

    if (fileio_read("/proc/vmstat", false, 65536, &text, NULL, NULL) < 0)
        return -1;
    at = strstr(text, "\noom_kill ");
    if (at) {
        at += strlen("\noom_kill ");
        at[strcspn(at, "\n")] = '\0';
        num_parse_i64(at, 0, INT64_MAX, &n, NULL);
    }
    free(text);
    return n;
}

static json_t *make_record(const struct jp_seat *seat, const char *node)
{
    json_t *json = json_object();
    struct utsname uts = {0};
    uint64_t nodes = number_from_env("SLURM_STEP_NUM_NODES", seat->nodes);
    uint64_t tasks = number_from_env("SLURM_STEP_NUM_TASKS", 0);
    int rc = 0;

    uname(&uts);
    rc |= json_object_set_new(json, "schema", json_integer(1));
    rc |= json_object_set_new(json, "node", text(node));
    rc |= json_object_set_new(json, "hostname", text(uts.nodename));
    rc |= json_object_set_new(json, "nodeid", json_integer(seat->nodeid));
    rc |= json_object_set_new(json, "component",
                              json_integer((json_int_t) seat->component));
    rc |= json_object_set_new(json, "boot_id", boot_id());
    rc |= json_object_set_new(json, "kernel", text(uts.release));
    rc |= json_object_set_new(json, "step_nodelist",
                              text(from_env("SLURM_STEP_NODELIST")));
    rc |= json_object_set_new(json, "step_nodes",
                              json_integer((json_int_t) nodes));
    rc |= json_object_set_new(json, "step_tasks",
                              json_integer((json_int_t) tasks));
    rc |= json_object_set_new(json, "step_tasks_per_node",
                              text(from_env("SLURM_STEP_TASKS_PER_NODE")));
    rc |= json_object_set_new(json, "topology_addr",
                              text(from_env("SLURM_TOPOLOGY_ADDR")));
    rc |= json_object_set_new(json, "jobprof", text(PACKAGE_VERSION));
    rc |= json_object_set_new(json, "oom_kills",
                              json_integer(noderec_oom_kills()));
    rc |= json_object_set_new(json, "begin_us",
                              json_integer((json_int_t) clock_real_us()));
    if (rc == 0)
        return json;
    json_decref(json);
    return NULL;
}

int noderec_write(const struct jp_seat *seat, const char *node,
                  struct jp_error *err)
{
    char *path = fileio_path("%s/nodes/%s/node.json", seat->dir, node);
    json_t *json = make_record(seat, node);
    char *out = json ? json_dumps(json, JSON_COMPACT) : NULL;
    int rc = -1;

    if (path && out)
        rc = fileio_write(path, out, strlen(out), err);
    else
        error_set(err, "out of memory");
    free(out);
    json_decref(json);
    free(path);
    return rc;
}
