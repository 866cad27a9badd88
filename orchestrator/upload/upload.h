/* upload.h - send a step's figures to Elasticsearch or OpenSearch (Kibana).
 *
 * upload_docs.c makes the lines of the bulk API from a step's report, with the
 * fields of upload_schema.c. upload_send.c sends such lines, and
 * upload_outbox.c keeps those that wait. Lines of a file are checked before
 * (upload_schema.c).
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
#include <sys/types.h>

#include "common/error.h"
#include "common/lines.h"

/* How much of a file of documents is read. */
extern const struct lines_limit upload_lines;

/* --- upload_schema.c ------------------------------------------------------ */

enum upload_kind { FIELD_TEXT, FIELD_COUNT, FIELD_REAL };

/* A field of a document: its kind, or the column of the report's CSV file that
 * it has its value and its kind from (NULL: another source). Ends with name
 * NULL. */
struct upload_field {
    const char *name;
    enum upload_kind kind; /* without a column */
    const char *column;
};

struct jp_table; /* orchestrator/table/table.h */

/* The kind of a field; that of a column by the description of its table. */
enum upload_kind upload_kind_of(const struct upload_field *field,
                                const struct jp_table *table);

/* Positions in the tables that the code uses; the columns come first. */
enum upload_operation {
    OP_COMM,
    OP_NAME,
    OP_COLL,
    OP_SN,
    OP_BYTES,
    OP_START = 8,
    OP_END
};
enum upload_cell { CELL_TYPE, CELL_COLL, CELL_BYTES };
extern const struct upload_field upload_operations[], upload_cells[];

/* Most bytes of an _id; Elasticsearch's limit. */
#define UPLOAD_ID_MAX 512
/* How the number of the job is known ("job_id_from"): Slurm has told that the
 * job is the user's, or only the user's own files say so. */
#define UPLOAD_FROM_SLURM "slurm"
#define UPLOAD_CLAIMED "claimed"

struct upload_what;

/* Which documents of a file are sent. */
struct upload_allowed {
    const char *name;               /* of the file, for messages */
    const struct upload_what *what; /* the indices */
    bool any_user; /* the file is root's; otherwise only documents of: */
    uid_t uid;
    const char *user;
};

/* Whether the line is an action that we send: index or create, with _index and
 * _id and nothing else. False and err otherwise. */
bool upload_is_action(const char *line, size_t len, struct jp_error *err);
/* Checks such an action and its document: the index of its kind, fields and
 * types of our documents, the user, an id of this user, job and step. */
int upload_check(const struct upload_allowed *allowed, const char *action,
                 size_t action_len, const char *source, size_t source_len,
                 struct jp_error *err);

/* --- upload_docs.c -------------------------------------------------------- */

#define UPLOAD_DETAILED "kibana_project_detailed"
#define UPLOAD_SUMMARY "kibana_project_summary"

struct upload_what {
    const char *detailed, *summary; /* names of the indices */
    uint64_t operations; /* maximum of detailed documents per step; with more
                          * operations, every n-th; 0: none */
    /* Asks Slurm whose job it is. False: not known. NULL: nobody is asked. */
    bool (*ask)(uint64_t job_id, uid_t *uid);
};

struct upload_made {
    uint64_t detailed, summary; /* number of documents */
    uint64_t operations;        /* number of operations in the step */
};

/* The name of a user; the number if there is no name. */
void upload_user_name(uid_t uid, char name[64]);

/* Writes the action and source lines of a step's report. A document's _id
 * consists of the user's number, the job's creation time, its number, the step,
 * and the names of the operation or cell. Sending it again therefore replaces
 * the document, and no user can replace another one's.
 *
 * The user is the owner of the step's folder, whatever its files say; job.conf
 * and summary.json must belong to the same user. If Slurm still knows the job,
 * it must be that user's. A report of a job's logs alone has what Slurm said in
 * JP_JOBCONF_OF_SLURM in place of job.conf; one that root has made is of the
 * user that it names.
 *
 * summary: one document for the step (kind "step": verdict, coverage) and one
 * per cell (kind "cell"). detailed: one per operation. Returns -1 and err if
 * there is no job.conf (an upload needs a job), no report (errno ENODATA), a
 * damaged file, or one of another user. */
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
    uid_t server_uid;  /* may listen on this machine for http besides root and
                        * this user; (uid_t) -1: nobody */
    const struct upload_credentials *credentials; /* NULL: none */
    unsigned retries;  /* repetitions of a batch after no answer, 429 or 5xx */
    uint32_t wait_ms;  /* delay before the first repetition; doubles up to 30
                        * s */
    uint64_t limit_ms; /* limit for everything; 0: none */
};

struct upload_done {
    uint64_t sent, accepted, refused; /* number of documents */
    uint64_t batches, retries, bytes; /* bytes: number sent over the network */
    char why[512];                    /* reason of the first refusal, or "" */
};

/* Reads the file of credentials (NULL: none) into *secret, which `to` then
 * borrows, and checks the URL and its options. Free *secret, zeros before, with
 * upload_credentials_fini. Returns 0, or -1: a bad file, not http(s), a
 * password in the URL, or credentials that would be sent unencrypted to another
 * machine or to a proxy.
 *
 * The file has lines "user = ...", "password = ...", "api_key = ..." or "bearer
 * = ..."; # starts a comment. It must be regular, belong to this user or root,
 * be writable by the owner only and unreadable for others. */
int upload_to_check(struct upload_to *to, const char *credentials,
                    struct upload_credentials *secret, struct jp_error *err);

/* Sends pairs of lines in batches of at most 4 MB. Documents that the server
 * refuses permanently, and lines that are not allowed, are written unchanged to
 * refused (NULL: only counted). allowed NULL: the lines are this process's own,
 * and all are sent. Returns 0 if each document has an answer; -1 and err if the
 * server is unreachable or refuses everything.
 *
 * Credentials go over https with a certificate that is verified. Over http they
 * go only to a socket of this machine whose owner is known and trusted
 * (common/ownsock.h). They never follow a redirection. */
int upload_send(struct jp_lines *in, const struct upload_to *to,
                const struct upload_allowed *allowed, FILE *refused,
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
