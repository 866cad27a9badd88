/* upload.h - a step's figures for Elasticsearch and OpenSearch (Kibana).
 *
 * upload_docs.c makes the lines of the bulk API from a step's report,
 * upload_send.c sends such lines, upload_outbox.c keeps what waits.
 *
 * The fields are those that NCCL Inspector's exporter uploads, and what the job
 * is. Of the wire form: Elasticsearch Guide, "Bulk API" (POST /_bulk,
 * application/x-ndjson, an action line and a source line a document, the answer
 * {"errors", "items": [{"index": {"status"}}]}).
 */
#ifndef JP_UPLOAD_UPLOAD_H
#define JP_UPLOAD_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* --- upload_docs.c ---------------------------------------------------------
 */

#define UPLOAD_DETAILED "kibana_project_detailed"
#define UPLOAD_SUMMARY "kibana_project_summary"

struct upload_what {
    const char *detailed, *summary; /* indices */
    uint64_t operations; /* detailed documents of a step, at most; of more, each
                            nth; 0: none */
};

struct upload_made {
    uint64_t detailed, summary; /* documents */
    uint64_t operations;        /* of the step */
};

/* Whether it may name an index: lower-case letters, digits, -_. ; at most 200
 * bytes, none of -_. first. */
bool upload_index_ok(const char *name);

/* Writes the action and source lines of a step's report. A document's _id is
 * made of the job's creation, number, step and the operation's or cell's own
 * names, so that sending it again replaces it.
 *
 * summary: a document for the step (kind "step": verdict, coverage) and one a
 * cell (kind "cell"). detailed: one an operation. -1 and err: no job.conf (an
 * upload needs a job), no report, a damaged file; ENODATA in errno of the
 * second. */
int upload_docs(const char *step_dir, const struct upload_what *what, FILE *out,
                struct upload_made *made, struct jp_error *err);

/* --- upload_send.c ---------------------------------------------------------
 */

/* Strings owned. */
struct upload_credentials {
    char *user, *password;
    char *api_key; /* base64, as Elasticsearch gives it */
    char *bearer;
};

/* Lines "user = ...", "password = ...", "api_key = ..." or "bearer = ..."; #
 * begins a comment. A regular file, ours or root's, which nobody else may
 * change and others cannot read. Free with upload_credentials_fini, which
 * overwrites. */
int upload_credentials_read(const char *path, struct upload_credentials *out,
                            struct jp_error *err);
void upload_credentials_fini(struct upload_credentials *credentials);

struct upload_to {
    const char *url;   /* http:// or https://, without user and password */
    const char *ca;    /* file of certificates; NULL: the system's */
    const char *proxy; /* NULL: none, whatever the environment says */
    const struct upload_credentials *credentials; /* NULL: none */
    unsigned retries;  /* of a batch that got no answer, 429 or 5xx */
    uint32_t wait_ms;  /* before the first of them; doubles, at most 30 s */
    uint64_t limit_ms; /* of all; 0: none */
};

struct upload_done {
    uint64_t sent, accepted, refused; /* documents */
    uint64_t batches, retries, bytes; /* bytes on the wire */
    char why[256];                    /* of the first refused one, or "" */
};

/* 0, or -1: the URL or what goes with it cannot be used: no http(s), with a
 * password in it, or credentials that would travel in the clear. */
int upload_to_check(const struct upload_to *to, struct jp_error *err);

/* Sends pairs of lines in batches of at most 4 MB. Documents that the server
 * refuses for good go to refused (NULL: they are only counted), as they were.
 * 0: each has its answer; -1 and err: the server is away, or refuses all. */
int upload_send(FILE *in, const struct upload_to *to, FILE *refused,
                struct upload_done *done, struct jp_error *err);

/* Whether this program can send at all (libcurl). */
bool upload_can_send(void);

/* --- upload_outbox.c: a folder of files that wait ---------------------------
 *
 * FOLDER/UID/NAME.ndjson, the user's own (0700). A file appears by rename, is
 * removed when all of it is accepted, and what is refused for good stays beside
 * it as NAME.refused. */

/* The user's folder below root (NULL: ~/.local/state/jobprof/outbox; a report
 * has no XDG_STATE_HOME), made. Caller frees. */
char *upload_outbox_open(const char *root, struct jp_error *err);

/* Makes the file of a step. -1 also where the folder would hold more than
 * max_bytes. */
int upload_outbox_add(const char *folder, const char *step_dir,
                      const struct upload_what *what, uint64_t max_bytes,
                      struct jp_error *err);

/* Sends all files there are, oldest first, while no other process does: then
 * it is done at once. -1 and err: the server is away; what is left waits. */
int upload_outbox_send(const char *folder, const struct upload_to *to,
                       struct upload_done *done, struct jp_error *err);

#endif
