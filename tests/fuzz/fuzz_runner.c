/* fuzz_runner.c - any bytes as what Copper's runner reads on a node: mountinfo,
 * command lines, lists of CPUs, and the names of marks in run/. */
#include <assert.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/agent/runmarks.h"
#include "orchestrator/collect/stepdir.h"
#include "plugins/copper/copper_flags.h"
#include "plugins/copper/copper_mountinfo.h"
#include "plugins/copper/copper_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing that is told lies outside of the text. */
static void check_inside(const char *text, size_t len, const char *part)
{
    assert(part >= text && part + strlen(part) <= text + len);
}

static void read_mounts(char *text, size_t len)
{
    char *rest = text, *line;
    struct copper_mountinfo mount;

    while ((line = strsep(&rest, "\n"))) {
        if (!copper_mountinfo_parse(line, &mount))
            continue;
        check_inside(text, len, mount.point);
        check_inside(text, len, mount.type);
        assert(*mount.type && !strchr(mount.type, ' '));
        copper_mountinfo_is_users(&mount, 1000);
    }
}

static void read_cmdline(const char *text, size_t len)
{
    struct copper_cmdline line;

    if (copper_cmdline_parse(text, len, &line) < 0)
        return;
    if (line.logs)
        check_inside(text, len, line.logs);
    if (line.view)
        check_inside(text, len, line.view);
    if (line.last)
        check_inside(text, len, line.last);
}

static void read_cores(const char *text)
{
    struct jp_error err = {""};
    cpu_set_t set;

    CPU_ZERO(&set);
    if (copper_flags_cores(text, &set, &err) == 0)
        assert(CPU_COUNT(&set) > 0);
    else
        assert(*err.text && CPU_COUNT(&set) == 0);
}

static void read_mark(const char *text)
{
    size_t len = 0;
    enum runmark mark = runmark_parse(text, &len);
    char *node = mark < RUNMARKS ? strndup(text, len) : NULL;

    assert(mark == RUNMARKS || (node && stepdir_name_ok(node)));
    free(node);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    read_cmdline(text, size);
    read_cores(text);
    read_mark(text);
    read_mounts(text, size);
    free(text);
    return 0;
}
