/* ras.c - query NCCL's RAS and parse its answer.
 *
 * ras_ask checks whose sockets they are (sockowner.c), connects and sends the
 * query (ask_once); ras_parse reads the answer, either as JSON (read_json) or
 * as text (read_text). Releases differ in format and wording; the samples in
 * tests/evidence show them. */
#include "orchestrator/evidence/evidence.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/jsonload.h"
#include "common/knob.h"
#include "common/vector.h"
#include "orchestrator/collect/clock.h"
#include "orchestrator/evidence/hangstacks.h"

/* Connections per address, and limits of time and of a line. */
enum { TRIES = 4, CONNECT_MS = 1000, REPLY_MS = 1500, LINE_ROOM = 256 };

const char *const ras_kind_words[RAS_N_KINDS] = {"behind", "missing", "dead",
                                                 "error"};

/* --- whether to ask ------------------------------------------------------- */

/* The reasons, in the order of their weight. */
bool ras_may_ask(uint32_t release, bool rccl, uint64_t quiet_ms,
                 uint64_t entries, bool *json, const char **why)
{
    /* JSON is never requested from AMD's RCCL. */
    *json = !rccl && entries <= RAS_JSON_ENTRIES;
    if (!release)
        *why = "the NCCL release is unknown";
    else if (release < JP_NCCL_RELEASE(2, 24, 0))
        *why = "NCCL has RAS since 2.24";
    else if (release < JP_NCCL_RELEASE(2, 29, 2))
        *why =
            "before NCCL 2.29.2 a query can crash the job if ranks are missing";
    else if (quiet_ms < RAS_QUIET_MS)
        *why = "a communicator was created less than 60 s ago, and a query "
               "could crash the job";
    else
        return true;
    return false;
}

/* --- rows ----------------------------------------------------------------- */

/* Appends a row; the array doubles. Returns -1 without memory; rows beyond the
 * limit are only counted. */
static int add_row(struct ras_answer *out, const struct ras_row *row)
{
    size_t n = out->n_rows;

    if (n >= RAS_ROWS_MAX) {
        out->left_out++;
        return 0;
    }
    /* n is a power of two, or 0: the array is full. */
    if (VECTOR_DOUBLE(out->rows, n) < 0)
        return -1;
    out->rows[out->n_rows++] = *row;
    return 0;
}

/* Notes whether the answer contains one of the step's processes. */
static void note_pid(struct ras_answer *out, int64_t pid, const int64_t *pids,
                     size_t n_pids)
{
    for (size_t i = 0; i < n_pids && !out->has_pid; i++)
        out->has_pid = pids[i] == pid;
}

/* --- JSON ----------------------------------------------------------------- */

/* NCCL 2.28.7 and 2.28.9 omit the comma after "nvml_dev" of a missing rank. */
static void mend_commas(char *text, size_t len)
{
    for (size_t i = 1; i + 1 < len; i++) {
        size_t next = i + 1;

        if (text[i] != '\n' || !isdigit((unsigned char) text[i - 1]))
            continue;
        while (next < len && text[next] == ' ')
            next++;
        if (next < len && text[next] == '"')
            text[i] = ',';
    }
}

/* Makes a row for a rank. */
static struct ras_row row_of(const json_t *rank, uint64_t comm,
                             enum ras_kind kind)
{
    struct ras_row row = {.kind = kind,
                          .comm = comm,
                          .rank = jsonload_int(rank, "rank", -1),
                          .pid = jsonload_int(rank, "pid", -1)};
    const char *host = jsonload_text(rank, "host");

    stacktree_copy(row.host, sizeof(row.host), host, strlen(host));
    return row;
}

/* Adds the ranks that have launched fewer operations of the function than
 * others. Two passes: the largest count first. */
static int add_behind(struct ras_answer *out, json_t *ranks, uint64_t comm,
                      const char *func)
{
    uint64_t most = 0;
    json_t *rank;
    size_t i;

    json_array_foreach(ranks, i, rank)
    {
        int64_t n =
            jsonload_int(json_object_get(rank, "collective_counts"), func, -1);

        if (n > 0 && (uint64_t) n > most)
            most = (uint64_t) n;
    }
    json_array_foreach(ranks, i, rank)
    {
        int64_t n =
            jsonload_int(json_object_get(rank, "collective_counts"), func, -1);
        struct ras_row row = row_of(rank, comm, RAS_BEHIND);

        /* A rank without the counter cannot be compared. */
        if (n < 0 || (uint64_t) n >= most)
            continue;
        row.count = (uint64_t) n;
        row.most = most;
        stacktree_copy(row.func, sizeof(row.func), func, strlen(func));
        if (add_row(out, &row) < 0)
            return -1;
    }
    return 0;
}

/* Adds ranks with an error, or aborted ones. */
static int add_errors(struct ras_answer *out, json_t *ranks, uint64_t comm)
{
    json_t *rank;
    size_t i;

    json_array_foreach(ranks, i, rank)
    {
        const json_t *status = json_object_get(rank, "status");
        int64_t error = jsonload_int(status, "async_error", -1);
        struct ras_row row = row_of(rank, comm, RAS_ERROR);

        /* 7 is ncclInProgress, not an error */
        if (error > 0 && error != 7)
            snprintf(row.word, sizeof(row.word), "ncclResult_t %" PRId64,
                     error);
        else if (json_is_true(json_object_get(status, "abort_flag")))
            snprintf(row.word, sizeof(row.word), "aborted");
        else
            continue;
        if (add_row(out, &row) < 0)
            return -1;
    }
    return 0;
}

/* Adds ranks that RAS could not reach. */
static int add_missing(struct ras_answer *out, json_t *ranks, uint64_t comm)
{
    json_t *rank;
    size_t i;

    json_array_foreach(ranks, i, rank)
    {
        const json_t *status = json_object_get(rank, "status");
        bool dead = json_is_true(json_object_get(status, "considered_dead"));
        struct ras_row row = row_of(rank, comm, dead ? RAS_DEAD : RAS_MISSING);

        if (add_row(out, &row) < 0)
            return -1;
    }
    return 0;
}

/* Reads one communicator. */
static int read_comm(struct ras_answer *out, const json_t *one,
                     const int64_t *pids, size_t n_pids)
{
    /* The functions that RAS counts. */
    static const char *const funcs[] = {"Broadcast", "Reduce", "AllGather",
                                        "ReduceScatter", "AllReduce"};
    uint64_t hash = strtoull(jsonload_text(one, "hash"), NULL, 16);
    json_t *ranks = json_object_get(one, "ranks"), *rank;
    size_t i;

    json_array_foreach(ranks, i, rank)
        note_pid(out, jsonload_int(rank, "pid", -1), pids, n_pids);
    for (i = 0; i < sizeof(funcs) / sizeof(*funcs); i++)
        if (add_behind(out, ranks, hash, funcs[i]) < 0)
            return -1;
    return add_errors(out, ranks, hash) < 0 ||
                   add_missing(out, json_object_get(one, "missing_ranks"),
                               hash) < 0
               ? -1
               : 0;
}

/* The parser works on a copy, because commas may have to be added. begin: the
 * first brace. */
static int read_json(struct ras_answer *out, const char *begin,
                     const int64_t *pids, size_t n_pids, struct jp_error *err)
{
    size_t len = out->len - (size_t) (begin - out->text), i;
    char *mended = malloc(len + 1);
    json_t *root, *one;
    int rc = 0;

    if (!mended)
        return error_set(err, "out of memory");
    memcpy(mended, begin, len);
    mended[len] = '\0';
    mend_commas(mended, len);
    root =
        /* RAS may send more after the object, so the end is not checked. */
        jsonload(JSONLOAD_RAS, "RAS", mended, len, JSON_DISABLE_EOF_CHECK, err);
    free(mended);
    if (!root)
        return -1;
    out->json = true;
    stacktree_copy(out->release, sizeof(out->release),
                   jsonload_text(root, "nccl_version"),
                   strlen(jsonload_text(root, "nccl_version")));
    out->n_comms = json_array_size(json_object_get(root, "communicators"));
    i = 0;
    json_array_foreach(json_object_get(root, "communicators"), i,
                       one) if (rc == 0 &&
                                read_comm(out, one, pids, n_pids) < 0)
        rc = error_set(err, "out of memory");
    /* -1, if it is missing, becomes very large. */
    i = (size_t) jsonload_int(json_object_get(root, "ras"), "timeouts_count",
                              -1);
    out->timeouts = i <= RAS_ANSWER_MAX ? i : 0;
    json_decref(root);
    return rc;
}

/* --- text ----------------------------------------------------------------- */

/* The parser's position: the heading and the list that a line belongs to. */
struct place {
    uint64_t comm;      /* from "#0-1 (0123456789abcdef) MISMATCH" */
    bool missing, dead; /* state of the ranks and processes listed here */
    char func[24];      /* function whose counts differ; "" */
    size_t first;       /* first row of that list */
    uint64_t count;     /* count of the group whose ranks follow */
    uint64_t most;      /* largest count of the groups so far */
    char word[48];      /* "7 ranks reported ..."; "" */
};

/* Removes ranks that have launched as much as any other: they are not
 * behind. */
static void end_list(struct ras_answer *out, struct place *at)
{
    size_t kept = at->first;

    /* An error's text is valid for the list below it only. */
    at->word[0] = '\0';
    if (!*at->func)
        return;
    for (size_t i = at->first; i < out->n_rows; i++) {
        out->rows[i].most = at->most;
        if (out->rows[i].count < at->most)
            out->rows[kept++] = out->rows[i];
    }
    out->n_rows = kept;
    at->func[0] = '\0';
}

/* Reads the number of launched operations of a rank or a group of ranks. */
static bool read_launched(struct place *at, const char *line)
{
    const char *said = strstr(line, "launched up to operation ");

    /* Counts are only meaningful below a heading that names the function. */
    if (!*at->func || (!said && !strstr(line, "not launched any operations")))
        return false;
    at->count = said ? strtoull(said + 25, NULL, 10) : 0;
    if (at->count > at->most)
        at->most = at->count;
    return true;
}

/* "7 ranks reported an error -- ..." */
static bool read_reported(struct place *at, const char *line)
{
    const char *said = strstr(line, " reported ");
    size_t len = said ? strcspn(said + 10, "\n") : 0;
    const char *dashes = said ? strstr(said, " -- ") : NULL;

    if (!said)
        return false;
    if (dashes)
        /* The part after the dashes is an explanation. */
        len = (size_t) (dashes - said) - 10;
    stacktree_copy(at->word, sizeof(at->word), said + 10, len);
    return true;
}

/* "... process 7 on node 10.0.0.1 ..." */
static void read_process(const char *line, struct ras_row *row)
{
    const char *process = strstr(line, "rocess ");
    const char *node = strstr(line, " on node ");

    if (process && isdigit((unsigned char) process[7]))
        row->pid = strtoll(process + 7, NULL, 10);
    if (node)
        stacktree_copy(row->host, sizeof(row->host), node + 9,
                       strcspn(node + 9, " \n"));
}

/* Reads "Rank 3 ..." below a heading. */
static int read_rank(struct ras_answer *out, struct place *at, const char *line)
{
    struct ras_row row = {
        .comm = at->comm, .rank = strtoll(line + 5, NULL, 10), .pid = -1};

    read_process(line, &row);
    if (*at->func) {
        read_launched(at, line);
        row.kind = RAS_BEHIND;
        row.count = at->count;
        memcpy(row.func, at->func, sizeof(row.func));
    } else if (read_reported(at, line) || *at->word) {
        row.kind = RAS_ERROR;
        memcpy(row.word, at->word, sizeof(row.word));
    } else if (at->missing) {
        row.kind = RAS_MISSING;
    } else {
        return 0; /* a different status alone is harmless */
    }
    return add_row(out, &row);
}

/* Adds a process without a rank, as listed below INCOMPLETE or DEAD. */
static int read_lost(struct ras_answer *out, const struct place *at,
                     const char *line)
{
    struct ras_row row = {
        .kind = at->dead ? RAS_DEAD : RAS_MISSING, .rank = -1, .pid = -1};

    read_process(line, &row);
    return add_row(out, &row);
}

/* NCCL 2.24: "The missing ranks: 3,5" */
static int read_list(struct ras_answer *out, const struct place *at,
                     const char *line)
{
    const char *s = strchr(line, ':');

    while (s && (*s == ':' || *s == ',')) {
        struct ras_row row = {
            .kind = RAS_MISSING, .comm = at->comm, .rank = -1, .pid = -1};
        char *end;

        /* After ":" there is a blank, after "," none. */
        s += 1 + (s[1] == ' ');
        if (!isdigit((unsigned char) *s))
            break;
        row.rank = strtoll(s, &end, 10);
        if (add_row(out, &row) < 0)
            return -1;
        s = end;
    }
    return 0;
}

/* "#0-1 (0123456789abcdef) MISMATCH", "INCOMPLETE", "DEAD", "TIMEOUT" */
static bool read_heading(struct ras_answer *out, struct place *at,
                         const char *line)
{
    const char *hash = *line == '#' ? strchr(line, '(') : NULL;
    /* DEAD lists processes that no longer answer. */
    bool is_dead = strncmp(line, "DEAD", 4) == 0;

    if (*line == ' ' || (!hash && !is_dead && strncmp(line, "INCOM", 5) != 0))
        return false;
    end_list(out, at);
    *at = (struct place){.comm = hash ? strtoull(hash + 1, NULL, 16) : 0,
                         .missing = strstr(line, "INCOMPLETE") != NULL,
                         .dead = is_dead};
    out->n_comms += hash != NULL;
    return true;
}

/* Dispatches on the beginning of a line. Unknown lines are ignored. */
static int read_line(struct ras_answer *out, struct place *at, const char *line)
{
    static const char differ[] = "Communicator ranks have different ";
    const char *text = line + strspn(line, " ");

    if (strncmp(text, "NCCL version ", 13) == 0 ||
        strncmp(text, "RCCL version ", 13) == 0) {
        stacktree_copy(out->release, sizeof(out->release), text + 13,
                       strspn(text + 13, "0123456789."));
    } else if (!*text) {
        end_list(out, at);
    } else if (strncmp(line, "TIMEOUT", 7) == 0) {
        /* "TIMEOUT" begins a line of its own. */
        out->timeouts = 1;
    } else if (read_heading(out, at, line)) {
        return 0;
    } else if (strncmp(text, differ, sizeof(differ) - 1) == 0) {
        end_list(out, at);
        text += sizeof(differ) - 1;
        if (strstr(text, " operation counts"))
            stacktree_copy(at->func, sizeof(at->func), text,
                           strcspn(text, " \n"));
        at->first = out->n_rows;
        at->count = at->most = 0;
    } else if (strncmp(text, "Rank ", 5) == 0) {
        return read_rank(out, at, text);
    } else if (strncmp(text, "The missing rank", 16) == 0 && at->comm) {
        return read_list(out, at, text);
    } else if (strncmp(text, "Process ", 8) == 0 && !at->comm &&
               (at->missing || at->dead)) {
        return read_lost(out, at, text);
    } else if (!read_launched(at, text)) {
        read_reported(at, text);
    }
    return 0;
}

/* Copies each line to a buffer, so that searches end with it. */
static int read_text(struct ras_answer *out, const int64_t *pids, size_t n_pids,
                     struct jp_error *err)
{
    struct place at = {.comm = 0};
    char line[LINE_ROOM];

    for (const char *s = out->text; *s;) {
        size_t len = strcspn(s, "\n");
        size_t n = len < sizeof(line) - 1 ? len : sizeof(line) - 1;

        /* Longer lines are truncated; nothing of interest follows. */
        memcpy(line, s, n);
        line[n] = '\0';
        if (read_line(out, &at, line) < 0)
            return error_set(err, "out of memory");
        s += len + (s[len] == '\n');
    }
    end_list(out, &at);
    for (size_t i = 0; i < out->n_rows; i++)
        note_pid(out, out->rows[i].pid, pids, n_pids);
    return *out->release ? 0
                         : error_set(err, "the answer is not from NCCL's RAS");
}

/* The JSON format has a brace before any banner of the text format. */
int ras_parse(struct ras_answer *out, const int64_t *pids, size_t n_pids,
              struct jp_error *err)
{
    const char *begin = memchr(out->text, '{', out->len);
    const char *banner = strstr(out->text, "CCL version ");

    return begin && (!banner || begin < banner)
               ? read_json(out, begin, pids, n_pids, err)
               : read_text(out, pids, n_pids, err);
}

/* --- the connection ------------------------------------------------------- */

/* A connection, and what was received. */
struct talk {
    int fd;
    uint64_t end_ms;
    char *buf;
    size_t len, room;
};

/* Waits for an event, at most until the total limit. Returns as poll(). */
static int wait_for(const struct talk *talk, short events, uint64_t limit_ms)
{
    uint64_t now = clock_mono_ms();
    uint64_t left = talk->end_ms > now ? talk->end_ms - now : 0;
    struct pollfd p = {.fd = talk->fd, .events = events};
    int n;

    if (limit_ms < left)
        left = limit_ms;
    do
        n = poll(&p, 1, (int) left);
    while (n < 0 && errno == EINTR);
    return n;
}

/* A line is short, so a partial send means that the connection is broken. */
static int talk_send(const struct talk *talk, const char *line)
{
    size_t len = strlen(line);

    return send(talk->fd, line, len, MSG_NOSIGNAL) == (ssize_t) len ? 0 : -1;
}

/* Receives more. Returns 1; 0 at the end; -1: late, broken, or full. */
static int talk_read(struct talk *talk, uint64_t limit_ms)
{
    ssize_t n;

    /* One byte is kept for NUL. */
    if (talk->len + 1 >= talk->room) {
        size_t room = talk->room ? talk->room * 2 : 65536;

        if (room > RAS_ANSWER_MAX * 2 || vector_resize(&talk->buf, room, 1) < 0)
            return -1;
        talk->room = room;
    }
    if (wait_for(talk, POLLIN, limit_ms) <= 0)
        return -1;
    n = recv(talk->fd, talk->buf + talk->len, talk->room - 1 - talk->len, 0);
    if (n > 0)
        talk->len += (size_t) n;
    return n > 0 ? 1 : (int) n;
}

/* Receives a reply of one line. Returns 1: OK; 0: anything else; -1: none. */
static int talk_reply(struct talk *talk)
{
    uint64_t end_ms = clock_mono_ms() + REPLY_MS, now;
    int ok;

    talk->len = 0;
    while (!talk->len || !memchr(talk->buf, '\n', talk->len)) {
        now = clock_mono_ms();
        if (now >= end_ms || talk->len > LINE_ROOM ||
            talk_read(talk, end_ms - now) <= 0)
            return -1;
    }
    ok = strncmp(talk->buf, "OK", 2) == 0;
    talk->len = 0;
    return ok;
}

/* Connects without blocking for more than CONNECT_MS. */
static int talk_connect(struct talk *talk, const struct sockaddr *to,
                        socklen_t len)
{
    int error = 0;
    socklen_t size = sizeof(error);

    talk->fd =
        socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (talk->fd < 0)
        return -1;
    if (connect(talk->fd, to, len) < 0 && errno != EINPROGRESS)
        return -1;
    if (wait_for(talk, POLLOUT, CONNECT_MS) <= 0 ||
        getsockopt(talk->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        error = ETIMEDOUT;
    /* The caller reports errno. */
    errno = error;
    return error ? -1 : 0;
}

struct address {
    struct sockaddr_storage at;
    socklen_t len;
};

/* Uses one connection. Returns 0 and sets out->text, or -1 and err. */
static int ask_once(const struct ras_question *question,
                    const struct address *to, uint64_t end_ms,
                    struct ras_answer *out, struct jp_error *err)
{
    struct talk talk = {.fd = -1, .end_ms = end_ms};
    int rc = -1, more = 1;

    if (talk_connect(&talk, (const struct sockaddr *) &to->at, to->len) < 0) {
        error_set(err, "RAS does not answer: %s", strerror(errno));
        goto out;
    }
    /* Another process may have taken the port since it was checked. */
    if (sockowner_check_peer(question->step, talk.fd, CONNECT_MS, err) < 0)
        goto out;
    /* RAS confirms each command but STATUS with a line. */
    if ((question->json && (talk_send(&talk, "SET FORMAT json\n") < 0 ||
                            talk_reply(&talk) < 0)) ||
        talk_send(&talk, "TIMEOUT 3\n") < 0 || talk_reply(&talk) < 0 ||
        talk_send(&talk, "STATUS\n") < 0) {
        error_set(err, "RAS sent nothing");
        goto out;
    }
    /* RAS closes the connection after the answer. */
    while (talk.len < RAS_ANSWER_MAX && more > 0)
        more = talk_read(&talk, UINT64_MAX);
    out->cut = more != 0;
    if (!talk.len) {
        error_set(err, "RAS gave no answer");
        goto out;
    }
    if (talk.len > RAS_ANSWER_MAX)
        talk.len = RAS_ANSWER_MAX;
    /* an embedded NUL would truncate the text */
    for (size_t i = 0; i < talk.len; i++)
        if (!talk.buf[i])
            talk.buf[i] = ' ';
    talk.buf[talk.len] = '\0';
    out->text = talk.buf;
    out->len = talk.len;
    talk.buf = NULL;
    rc = 0;
out:
    if (talk.fd >= 0)
        close(talk.fd);
    free(talk.buf);
    return rc;
}

/* Parses a numeric address; never asks a name server. */
static bool find_address(const char *host, const char *port,
                         struct address *out)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;

    if (getaddrinfo(host, port, &hints, &found) != 0)
        return false;
    memcpy(&out->at, found->ai_addr, found->ai_addrlen);
    out->len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* Parses "host:port" or "[v6]:port". localhost becomes ::1 or 127.0.0.1, as in
 * /etc/hosts. Returns the number of addresses. */
static size_t find_addresses(const char *text, struct address out[2])
{
    char host[64] = "localhost", port[16] = "28028";
    const char *colon;
    size_t len;

    if (text && *text) {
        colon = strrchr(text, ':');
        /* An IPv6 address has colons itself, so the last one separates the
         * port. */
        len = colon ? (size_t) (colon - text) : strlen(text);
        if (colon)
            snprintf(port, sizeof(port), "%.15s", colon + 1);
        if (len > 1 && *text == '[' && text[len - 1] == ']') {
            text++;
            len -= 2;
        }
        snprintf(host, sizeof(host), "%.*s", len < 63 ? (int) len : 63, text);
    }
    if (strcmp(host, "localhost") != 0)
        return find_address(host, port, out);
    len = find_address("::1", port, out);
    return len + find_address("127.0.0.1", port, out + len);
}

/* The addresses of the question where the step's own RAS listens. Returns their
 * number; 0: err says why there is none. */
static size_t find_listeners(const struct ras_question *question,
                             struct address out[2], struct jp_error *err)
{
    /* localhost has two addresses. */
    struct address to[2];
    size_t n = find_addresses(question->address, to), kept = 0;
    struct jp_error why = {""};

    if (!n)
        error_set(err, "not an address of RAS: \"%.80s\"", question->address);
    for (size_t i = 0; i < n; i++) {
        if (sockowner_check_listener(
                question->step, (const struct sockaddr *) &to[i].at, &why) == 0)
            out[kept++] = to[i];
        /* A foreign listener at one address says more than none at the
         * other. */
        else if (i == 0 || strstr(why.text, "belongs"))
            error_set(err, "%s", why.text);
    }
    return kept;
}

int ras_listens(const struct ras_question *question, struct jp_error *err)
{
    struct address to[2];

    return find_listeners(question, to, err) ? 0 : -1;
}

/* A connection that stays silent is closed, and the next one is tried. */
int ras_ask(const struct ras_question *question, struct ras_answer *out,
            struct jp_error *err)
{
    uint32_t limit = question->limit_ms ? question->limit_ms : RAS_LIMIT_MS;
    uint64_t end_ms = clock_mono_ms() + limit;
    struct address to[2];
    size_t n = find_listeners(question, to, err);
    int rc = -1;

    *out = (struct ras_answer){.len = 0};
    /* Alternates between the addresses. */
    for (size_t i = 0; i < TRIES * n && rc < 0 && clock_mono_ms() < end_ms;
         i++) {
        ras_fini(out);
        rc = ask_once(question, &to[i % n], end_ms, out, err);
        if (rc == 0)
            rc = ras_parse(out, question->pids, question->n_pids, err);
        /* Jobs of one user share the port: another job's RAS may have answered.
         * The text format names few processes, so it is not checked. */
        if (rc == 0 && out->json && question->n_pids && !out->has_pid)
            rc = error_set(err, "RAS answered for another job of this user");
    }
    if (rc < 0)
        ras_fini(out);
    return rc;
}

void ras_fini(struct ras_answer *answer)
{
    free(answer->text);
    free(answer->rows);
    *answer = (struct ras_answer){.len = 0};
}
