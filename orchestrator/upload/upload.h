/* upload.h - send a step's figures to Elasticsearch or OpenSearch (Kibana).
 *
 * upload_docs.c makes the lines of the bulk API from a step's report,
 * upload_send.c sends such lines, and upload_outbox.c keeps those that wait.
 *
 * The fields are those that NCCL Inspector's exporter uploads, plus a
 * description of the job. Wire format: Elasticsearch Guide, "Bulk API" (POST
 * /_bulk, application/x-ndjson, one action line and one source line per
 * document, answer {"errors", "items": [{"index": {"status"}}]}).
 */
#ifndef JP_UPLOAD_UPLOAD_H
#define JP_UPLOAD_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

/* --- upload_docs.c -------------------------------------------------------- */

#define UPLOAD_DETAILED "kibana_project_detailed"
#define UPLOAD_SUMMARY "kibana_project_summary"

struct upload_what {
    const char *detailed, *summary; /* names of the indices */
    uint64_t operations; /* maximum of detailed documents per step; with more
                          * operations, every n-th; 0: none */
};

struct upload_made {
    uint64_t detailed, summary; /* number of documents */
    uint64_t operations;        /* number of operations in the step */
};

/* Writes the action and source lines of a step's report. A document's _id
 * consists of the job's creation time, its number, the step, and the names of
 * the operation or cell. Sending it again therefore replaces the document.
 *
 * summary: one document for the step (kind "step": verdict, coverage) and one
 * per cell (kind "cell"). detailed: one per operation. Returns -1 and err if
 * there is no job.conf (an upload needs a job), no report (errno ENODATA), or a
 * damaged file. */
int upload_docs(const char *step_dir, const struct upload_what *what, FILE *out,
                struct upload_made *made, struct jp_error *err);

/* --- upload_send.c -------------------------------------------------------- */

/* Strings are owned. */
struct upload_credentials {
    char *user, *password;
    char *api_key; /* base64, as issued by Elasticsearch */
    char *bearer;
};

/* Overwrites the secrets and frees them. Takes zeros. */
void upload_credentials_fini(struct upload_credentials *credentials);

struct upload_to {
    const char *url;   /* http:// or https://, without user and password */
    const char *ca;    /* file of CA certificates; NULL: the system's */
    const char *proxy; /* NULL: none; the environment is ignored */
    const struct upload_credentials *credentials; /* NULL: none */
    unsigned retries;  /* repetitions of a batch after no answer, 429 or 5xx */
    uint32_t wait_ms;  /* delay before the first repetition; doubles up to 30
                        * s */
    uint64_t limit_ms; /* limit for everything; 0: none */
};

struct upload_done {
    uint64_t sent, accepted, refused; /* number of documents */
    uint64_t batches, retries, bytes; /* bytes: number sent over the network */
    char why[256];                    /* reason of the first refusal, or "" */
};

/* Reads the file of credentials (NULL: none) into *secret, which `to` then
 * borrows, and checks the URL and its options. Free *secret, zeros before, with
 * upload_credentials_fini. Returns 0, or -1: a bad file, not http(s), a
 * password in the URL, or credentials that would be sent unencrypted.
 *
 * The file has lines "user = ...", "password = ...", "api_key = ..." or "bearer
 * = ..."; # starts a comment. It must be regular, belong to this user or root,
 * be writable by the owner only and unreadable for others. */
int upload_to_check(struct upload_to *to, const char *credentials,
                    struct upload_credentials *secret, struct jp_error *err);

/* Sends pairs of lines in batches of at most 4 MB. Documents that the server
 * refuses permanently are written unchanged to refused (NULL: only counted).
 * Returns 0 if each document has an answer; -1 and err if the server is
 * unreachable or refuses everything. */
int upload_send(FILE *in, const struct upload_to *to, FILE *refused,
                struct upload_done *done, struct jp_error *err);

/* Whether this program can send (it finds libcurl). */
bool upload_can_send(void);

/* --- upload_outbox.c: a folder of waiting files -----------------------------
 *
 * FOLDER/UID/NAME.ndjson, owned by the user (0700). A file appears by rename
 * and is removed when the server has accepted all of it. Permanently refused
 * documents stay beside it as NAME.refused. */

struct upload_outbox {
    const char *root; /* NULL: ~/.local/state/jobprof/outbox */
    const struct upload_what *what;
    uint64_t max_bytes; /* of all files in the folder */
    bool only_add;      /* nothing is sent */
    char *folder;       /* result: the user's folder; the caller frees it. NULL:
                         * it cannot be made */
};

/* Makes the user's folder, adds the file of a step (step_dir NULL: none), and
 * sends all files, oldest first; nothing is sent with only_add (to and done are
 * not used then), or while another process is sending. Returns -1 and err if
 * the folder or the file cannot be made, if the folder would exceed max_bytes,
 * or if the server is unreachable; the remaining files wait. */
int upload_outbox(struct upload_outbox *box, const char *step_dir,
                  const struct upload_to *to, struct upload_done *done,
                  struct jp_error *err);

#endif
