/* fuzz_runner.c - any bytes as what Copper's runner reads on a node: mountinfo,
 * command lines, lists of CPUs, the names of marks in run/, address books and
 * the names of logs. */
#include <assert.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/agent/agent.h"
#include "orchestrator/collect/stepdir.h"
#include "plugins/copper/copper_flags.h"
#include "plugins/copper/copper_mount.h"
#include "plugins/copper/copper_work.h"

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

static void see_mark(void *arg, const char *node, const char *text)
{
    (void) text;
    assert(stepdir_name_ok(node));
    ++*(unsigned *) arg;
}

static char dir[] = "/tmp/jobprof-fuzz-XXXXXX";

static void drop_dir(void)
{
    char run[sizeof(dir) + 4];

    snprintf(run, sizeof(run), "%s/run", dir);
    rmdir(run);
    rmdir(dir);
}

/* The folder run/ of a step. */
static int open_run(void)
{
    char run[sizeof(dir) + 4];

    if (!mkdtemp(dir) || runmarks_make(dir, NULL) < 0)
        abort();
    atexit(drop_dir);
    snprintf(run, sizeof(run), "%s/run", dir);
    return open(run, O_PATH | O_DIRECTORY);
}

/* As the name of a file in run/, if it can be one. */
static void read_mark(const char *text)
{
    static int run = -1;
    uint32_t n[RUNMARKS];
    int fd;

    if (run < 0)
        run = open_run();
    if (strchr(text, '/'))
        return;
    fd = openat(run, text, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return;
    close(fd);
    runmarks_count(dir, n);
    for (int i = 0; i < RUNMARKS; i++) {
        unsigned seen = 0;

        runmarks_each(dir, (enum runmark) i, see_mark, &seen);
        assert(seen == n[i]);
    }
    unlinkat(run, text, 0);
}

static void read_log_name(const char *text)
{
    char *path = strdup(text), *logs = NULL;
    const char *name = path ? copper_attach_name(path, &logs) : NULL;

    if (name) {
        check_inside(path, strlen(text), name);
        check_inside(path, strlen(text), logs);
        assert(*name && !strchr(name, '/'));
    }
    free(path);
}

/* Who is above each node of a filtered book: nodes of it, and not the node. */
static void read_parents(const char *book, const char *node, size_t trees)
{
    char *parents[COPPER_DEPTH_MAX];
    size_t n;

    if (copper_book_parents(book, node, trees, parents, &n) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        char *line = NULL;

        assert(strcmp(parents[i], node) != 0 &&
               asprintf(&line, "%s ", parents[i]) > 0 && strstr(book, line));
        free(line);
        free(parents[i]);
    }
}

/* The first line names the nodes, the others are the site's book. */
static void read_book(const char *input)
{
    enum { MOST = 64 };
    char *text = strdup(input), *book = text, *out = NULL, *names, *name;
    char *nodes[MOST], *line;
    size_t n = 0, found = 0, lines = 0;

    names = strsep(&book, "\n");
    while (n < MOST && (name = strsep(&names, " ")))
        if (stepdir_name_ok(name))
            nodes[n++] = name;
    if (book && copper_book_filter(book, nodes, n, &out, &found, NULL) == 0) {
        for (line = out; (line = strchr(line, '\n')); line++)
            lines++;
        assert(lines == found && found <= n);
        for (size_t i = 0; i < n; i++)
            read_parents(out, nodes[i], i % 4);
    }
    free(out);
    free(text);
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
    read_log_name(text);
    read_book(text);
    read_mounts(text, size);
    free(text);
    return 0;
}
