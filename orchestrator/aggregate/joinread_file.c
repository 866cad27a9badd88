/* joinread_file.c - read a file as what its first bytes say it is. */
#include <stdio.h>
#include <string.h>

#include "orchestrator/aggregate/joinrun.h"

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
                                   const char *path, struct join_file *file)
{
    struct jp_error err = {""};
    struct jp_logsource *source = logsource_open(path, &err);
    enum join_status status;

    if (!source) {
        refuse(file, path, &err);
        return JOIN_OK;
    }
    loglines_reset(r->lines, source);
    status = joinrun_read(r->join, r->lines, file, r->stop, r->done);
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

enum join_status joinrun_read_file(const struct join_reading *r,
                                   const struct jp_logfile *log,
                                   struct join_file *file)
{
    struct jp_error err = {""};
    enum join_status status = JOIN_OK;
    int recorder = recfile_probe(log->path, &err);
    int trace = recorder == 0 ? tracefile_probe(log->path, &err) : 0;

    if (recorder == 0 && trace == 0 && !log->maybe)
        return read_lines(r, log->path, file);
    if (recorder > 0)
        status = read_recorder(r, log->path, file);
    else if (trace > 0)
        status = read_trace(r, log->path, file);
    else if (recorder < 0 || trace < 0)
        refuse(file, log->path, &err);
    else
        file->foreign = true;
    atomic_fetch_add(r->done, log->size);
    return status;
}
