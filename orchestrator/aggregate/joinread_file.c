/* joinread_file.c - read a file as what its first bytes say it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/aggregate/joinsplit.h"

/* A file that cannot be opened: err says "path: reason". */
static void refuse(struct join_file *file, const char *path,
                   const struct jp_error *err)
{
    size_t skip = strlen(path) + 2;

    file->unreadable = true;
    snprintf(file->trouble, sizeof(file->trouble), "%.150s",
             strlen(err->text) > skip ? err->text + skip : err->text);
}

static enum join_status read_lines(const struct join_reading *r,
                                   const char *path,
                                   const struct join_turn *turn)
{
    struct jp_error err = {""};
    uint64_t from = turn->from ? turn->from - 1 : 0; /* a newline there? */
    struct jp_logsource *source = from ? logsource_open_at(path, from, &err)
                                       : logsource_open(path, &err);
    enum join_status status;

    if (!source) {
        refuse(turn->file, path, &err);
        return JOIN_OK;
    }
    loglines_reset(r->lines, source);
    r->lines->from = from;
    r->lines->to = turn->to;
    turn->file->piece = turn->file != turn->whole;
    status = joinrun_read(r->join, r->lines, turn->file, r->stop, r->done);
    logsource_close(source);
    return status;
}

static enum join_status read_recorder(const struct join_reading *r,
                                      const char *path, struct join_file *file)
{
    struct jp_error err = {""};
    struct jp_recfile source;
    enum join_status status;

    if (recfile_open(&source, path, &err) < 0) {
        refuse(file, path, &err);
        return JOIN_OK;
    }
    if (r->evidence && !(file->evidence = calloc(1, sizeof(*file->evidence)))) {
        recfile_close(&source);
        return JOIN_NO_MEMORY;
    }
    status = joinrun_read_recorder(r->join, &source, file, r->stop);
    recfile_close(&source);
    return status;
}

static enum join_status read_trace(const struct join_reading *r,
                                   const char *path, struct join_file *file)
{
    struct jp_error err = {""};
    struct jp_tracefile source;
    enum join_status status;

    if (tracefile_open(&source, path, &err) < 0) {
        refuse(file, path, &err);
        return JOIN_OK;
    }
    status = joinrun_read_trace(r->join, &source, file, r->stop);
    tracefile_close(&source);
    return status;
}

int joinrun_kind(const struct jp_logfile *log, struct jp_error *err)
{
    int recorder = recfile_probe(log->path, err);
    int trace = recorder == 0 ? tracefile_probe(log->path, err) : 0;

    if (recorder < 0 || trace < 0)
        return -1;
    return recorder     ? JOIN_RECORDER
           : trace      ? JOIN_TRACE
           : log->maybe ? JOIN_FOREIGN
                        : JOIN_LINES;
}

enum join_status joinrun_read_file(const struct join_reading *r,
                                   const struct jp_logfile *log,
                                   const struct join_turn *turn)
{
    struct jp_error err = {""};
    enum join_status status = JOIN_OK;
    /* what is split are lines */
    int kind = turn->file != turn->whole ? JOIN_LINES : joinrun_kind(log, &err);

    if (kind == JOIN_LINES) {
        status = read_lines(r, log->path, turn);
        if (turn->file->busy && !turn->file->piece)
            busy_end(turn->file->busy);
        return status;
    }
    if (kind == JOIN_RECORDER)
        status = read_recorder(r, log->path, turn->file);
    else if (kind == JOIN_TRACE)
        status = read_trace(r, log->path, turn->file);
    else if (kind == JOIN_FOREIGN)
        turn->file->foreign = true;
    else
        refuse(turn->file, log->path, &err);
    if (turn->file->busy)
        busy_end(turn->file->busy);
    atomic_fetch_add(r->done, log->size);
    return status;
}
