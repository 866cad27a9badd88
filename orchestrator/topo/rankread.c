/* rankread.c - read the records of ranks and tasks of one node. */
#include "orchestrator/topo/rankread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "orchestrator/topo/rankscan.h"

/* A line of ours is a few hundred bytes; variables make it longer. */
#define LINE_MAX_BYTES (256 * 1024)

/* The next line into buffer, its length; -1: the end. One that does not fit is
 * cut, which makes it a bad one. */
static ssize_t next_line(FILE *file, char *buffer, int size)
{
    size_t n;
    int c;

    if (!fgets(buffer, size, file))
        return -1;
    n = strlen(buffer);
    if (n == (size_t) size - 1 && buffer[n - 1] != '\n')
        while ((c = getc(file)) != '\n' && c != EOF)
            ;
    return (ssize_t) n;
}

/* Reads a file by lines; 0, 1: not there, -1 without memory. end NULL: start
 * records. */
static int read_lines(struct jp_rank_records *r, const char *path,
                      const char *node, bool *end)
{
    int fd = fileio_open_regular(path, false, NULL);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    char *line = malloc(LINE_MAX_BYTES);
    ssize_t n;
    int rc = line ? 0 : -1;

    if (!file) {
        if (fd >= 0)
            close(fd);
        free(line);
        return 1;
    }
    while (rc >= 0 && (n = next_line(file, line, LINE_MAX_BYTES)) >= 0) {
        rc = end ? rankread_rank_line(r, node, line, (size_t) n, end)
                 : rankread_start_line(r, node, line, (size_t) n);
        r->bad_lines += rc > 0;
    }
    free(line);
    fclose(file);
    return rc < 0 ? -1 : 0;
}

/* Makes the file that a killed finish has left undone. */
static void make_up(const char *step_dir, const char *node, const char *path,
                    uint32_t limit_ms)
{
    char *raw = fileio_path("%s/raw/%s", step_dir, node);
    struct timespec ts;
    struct stat st;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    if (raw && lstat(path, &st) < 0 && errno == ENOENT &&
        lstat(raw, &st) == 0 && S_ISDIR(st.st_mode))
        (void) rankscan_write(step_dir, node,
                              (uint64_t) ts.tv_sec * 1000 +
                                  (uint64_t) ts.tv_nsec / 1000000 + limit_ms,
                              NULL);
    free(raw);
}

int rankread_node(struct jp_rank_records *r, const char *step_dir,
                  const char *node, uint32_t limit_ms, struct jp_error *err)
{
    char *ranks = fileio_path("%s/nodes/%s/ranks.jsonl", step_dir, node);
    char *starts = fileio_path("%s/nodes/%s/starts.jsonl", step_dir, node);
    char *name = strdup(node);
    bool end = false;
    int rc = rankread_keep(r, name);

    if (!ranks || !starts)
        rc = -1;
    if (rc == 0) {
        make_up(step_dir, name, ranks, limit_ms);
        rc = read_lines(r, ranks, name, &end);
    }
    if (rc >= 0) {
        r->nodes += rc == 0;
        r->nodes_incomplete += rc == 0 && !end;
        rc = read_lines(r, starts, name, NULL);
    }
    free(ranks);
    free(starts);
    return rc < 0 ? error_set(err, "out of memory") : 0;
}
