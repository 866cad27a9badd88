/* tasklines.c - turn stepd's task lines into tasks.jsonl. */
#include "orchestrator/collect/tasklines.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "common/fileio.h"
#include "common/num.h"

struct task_line {
    int64_t field[4]; /* gtid, ltid, pid, status */
};

static const int64_t field_min[4] = {0, 0, 0, -1};
static const int64_t field_max[4] = {UINT32_MAX, UINT32_MAX, INT32_MAX,
                                     INT32_MAX};

/* Takes the line apart in place. */
static bool parse(char *line, struct task_line *task)
{
    for (int i = 0; i < 4; i++) {
        const char *word = strsep(&line, " ");

        if (!word || num_parse_i64(word, field_min[i], field_max[i],
                                   &task->field[i], NULL) < 0)
            return false;
    }
    return line == NULL;
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
    struct task_line task;
    char line[128];
    uint32_t dropped = 0;

    if (fileio_temp_open(&file, path, err) < 0)
        return -1;
    for (uint32_t n = 0; n < JP_TASKLINES_MAX; n++) {
        if (!read_line(in, line, sizeof(line)))
            break;
        if (!parse(line, &task)) {
            dropped++;
            continue;
        }
        fprintf(file.stream,
                "{\"gtid\":%" PRId64 ",\"ltid\":%" PRId64 ",\"pid\":%" PRId64
                ",\"status\":%" PRId64 "}\n",
                task.field[0], task.field[1], task.field[2], task.field[3]);
    }
    if (fileio_temp_commit(&file, err) < 0)
        return -1;
    if (bad)
        *bad = dropped;
    return 0;
}
