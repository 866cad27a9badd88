/* report_jobs.h - one page over the jobs of a folder, worst first. */
#ifndef JP_REPORT_REPORT_JOBS_H
#define JP_REPORT_REPORT_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "orchestrator/insight/verdict.h"

/* Not index.html: the folder is the user's, who may have one. */
#define REPORT_JOBS_NAME "jobprof-index.html"

struct report_jobs_done {
    size_t jobs;
    enum jp_verdict_word worst;
};

/* True where one of its folders is a job with a report (job.json). */
bool report_jobs_is_folder(const char *folder);

/* Writes <folder>/jobprof-index.html from its jobs' job.json (temp + rename).
 * Links are not followed. -1: none is there, or it could not be written; *done
 * is unchanged then. */
int report_jobs(const char *folder, struct report_jobs_done *done,
                struct jp_error *err);

#endif
