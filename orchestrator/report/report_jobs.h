/* report_jobs.h - one page about all jobs of a folder, worst first. */
#ifndef JP_REPORT_REPORT_JOBS_H
#define JP_REPORT_REPORT_JOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "orchestrator/insight/verdict.h"

/* Not index.html: the folder is the user's, and that file may already exist. */
#define REPORT_JOBS_NAME "jobprof-index.html"

struct report_jobs_done {
    size_t jobs;
    enum jp_verdict_word worst;
};

/* Returns true if a subfolder is a job with a report (job.json). */
bool report_jobs_is_folder(const char *folder);

/* Writes <folder>/jobprof-index.html from the job.json of its jobs (temp +
 * rename). Does not follow links. Returns 0, or -1 and err if there is no job
 * or the page cannot be written; *done is then unchanged. */
int report_jobs(const char *folder, struct report_jobs_done *done,
                struct jp_error *err);

#endif
