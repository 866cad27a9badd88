/* upload_send.c - send lines of the bulk API with libcurl.
 *
 * First the file of credentials and the URL are checked (upload_to_check),
 * which needs no libcurl. upload_send reads pairs of lines into batches
 * (send_all), and send_pairs sends a batch until each document is accepted or
 * refused: those that the server could not take are sent again after a wait. */
#include "config.h"

#include "orchestrator/upload/upload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/lines.h"
#include "common/ownplace.h"
#include "common/ownsock.h"

enum {
    /* bytes */
    CREDENTIALS_MAX = 65536,
    /* a batch ends with the document that reaches one of these */
    BATCH_BYTES = 4 << 20,
    BATCH_DOCS = 5000,
    ANSWER_BYTES = 16 << 20,
    CONNECT_S = 10,
    REQUEST_S = 120,
    MAX_WAIT_MS = 30000
};

/* --- credentials ---------------------------------------------------------- */

/* Overwrites a secret and frees it; explicit_bzero is not optimised away. */
static void forget(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void upload_credentials_fini(struct upload_credentials *c)
{
    forget(&c->user);
    forget(&c->password);
    forget(&c->api_key);
    forget(&c->bearer);
}

/* Checks that only the owner can read the file. A group may read root's file,
 * as a site's users share it. */
static int check_secret(int fd, const char *path, struct jp_error *err)
{
    struct stat st;

    /* it belongs to this user or root, and others cannot write it */
    if (ownplace_check_owner(fd, path, false, err) < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        return error_set(err, "%s: %m", path);
    if (st.st_mode & S_IROTH || (st.st_uid != 0 && st.st_mode & S_IRGRP))
        return error_set(err, "%s: readable by others (chmod 600)", path);
    return 0;
}

/* Parses a line without its line break. 0, or -1 and err, which never has the
 * value. */
static int take_line(char *line, struct upload_credentials *c, const char *path,
                     unsigned number, struct jp_error *err)
{
    const struct {
        const char *name;
        char **to;
    } keys[] = {{"user", &c->user},
                {"password", &c->password},
                {"api_key", &c->api_key},
                {"bearer", &c->bearer}};
    char *value = strchr(line, '='), *end;

    line += strspn(line, " \t");
    if (!*line || *line == '#')
        return 0;
    if (!value)
        return error_set(err, "%s:%u: no \"=\"", path, number);
    /* blanks around "=" do not count */
    end = value;
    while (end > line && strchr(" \t", end[-1]))
        end--;
    value += 1 + strspn(value + 1, " \t");
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strlen(keys[i].name) == (size_t) (end - line) &&
            !strncmp(keys[i].name, line, (size_t) (end - line))) {
            if (*keys[i].to)
                return error_set(err, "%s:%u: duplicate key", path, number);
            *keys[i].to = strdup(value);
            return *keys[i].to ? 0 : error_set(err, "out of memory");
        }
    return error_set(err, "%s:%u: not user, password, api_key or bearer", path,
                     number);
}

/* Parses all lines, in place. 0, or -1 and err. */
static int parse_credentials(char *text, const char *path,
                             struct upload_credentials *c, struct jp_error *err)
{
    unsigned number = 1;

    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        /* a file from Windows */
        if (*line && line[strlen(line) - 1] == '\r')
            line[strlen(line) - 1] = '\0';
        /* a line break in a value could add a header to the request */
        for (char *p = line; *p; p++)
            if ((unsigned char) *p < 0x20 && *p != '\t')
                return error_set(err, "%s:%u: a control character", path,
                                 number);
        if (take_line(line, c, path, number, err) < 0)
            return -1;
    }
    /* one way to log in, and only one */
    if (!!c->user != !!c->password)
        return error_set(err, "%s: user and password must both be given", path);
    if (!!c->user + !!c->api_key + !!c->bearer != 1)
        return error_set(err,
                         "%s: one of user and password, api_key, bearer is "
                         "needed",
                         path);
    return 0;
}

/* The caller frees *out with upload_credentials_fini. */
static int read_credentials(const char *path, struct upload_credentials *out,
                            struct jp_error *err)
{
    struct upload_credentials c = {0};
    int fd = fileio_open_regular(path, false, err), rc = -1;
    char *text = NULL;
    size_t len;

    if (fd < 0)
        return -1;
    /* the open file is checked, not its name */
    if (check_secret(fd, path, err) == 0 &&
        fileio_read_fd(fd, path, CREDENTIALS_MAX, &text, &len, err) == 0) {
        rc = parse_credentials(text, path, &c, err);
        /* the secrets are copied by now */
        explicit_bzero(text, len);
    }
    free(text);
    close(fd);
    if (rc == 0)
        *out = c;
    else
        upload_credentials_fini(&c);
    return rc;
}

/* --- the destination ------------------------------------------------------ */

/* Whether the host is this machine, so that nobody can listen on the way. Who
 * listens there is checked when the connection is made (open_socket). */
static bool is_here(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t n = strlen(names[i]);

        if (!strncasecmp(host, names[i], n) &&
            /* not the begin of a longer name */
            (!host[n] || strchr(":/", host[n])))
            return true;
    }
    return false;
}

/* Checks the URL. 0, or -1 and err. */
static int check_url(const struct upload_to *to, struct jp_error *err)
{
    bool tls = !strncasecmp(to->url, "https://", 8);
    const char *host = to->url + (tls ? 8 : 7);

    if (!tls && strncasecmp(to->url, "http://", 7))
        return error_set(err, "the URL is not http:// or https://");
    /* "/_bulk" is appended, so there can be no query */
    if (!*host || *host == '/' || strpbrk(to->url, " ?#"))
        return error_set(err, "the URL is not the address of a server");
    /* everybody can see a program's arguments */
    if (memchr(host, '@', strcspn(host, "/")))
        return error_set(
            err,
            "a URL must not contain a password: use a file of credentials");
    if (to->credentials && !tls && !is_here(host))
        return error_set(err, "credentials need https://");
    if (to->credentials && !tls && to->proxy)
        return error_set(err, "credentials need https:// with a proxy");
    return 0;
}

int upload_to_check(struct upload_to *to, const char *credentials,
                    struct upload_credentials *secret, struct jp_error *err)
{
    if (credentials) {
        if (read_credentials(credentials, secret, err) < 0)
            return -1;
        to->credentials = secret;
    }
    return check_url(to, err);
}

#ifdef HAVE_CURL

#include <dlfcn.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <zlib.h>

#include "common/jsonload.h"
#include "common/loadlib.h"
#include "common/vector.h"

/* libcurl, loaded on demand: linking its thirty libraries would add 50 ms to
 * each start of jobprof. */
static struct curl_lib {
    void *handle;
    __typeof__(curl_easy_init) *init;
    __typeof__(curl_easy_setopt) *setopt;
    __typeof__(curl_easy_perform) *perform;
    __typeof__(curl_easy_getinfo) *getinfo;
    __typeof__(curl_easy_strerror) *strerror;
    __typeof__(curl_easy_cleanup) *cleanup;
    __typeof__(curl_slist_append) *append;
    __typeof__(curl_slist_free_all) *free_all;
} lib;

static const struct loadlib_function functions[] = {
#define AT(member) offsetof(struct curl_lib, member)
    {{"curl_easy_init", NULL}, AT(init), true},
    {{"curl_easy_setopt", NULL}, AT(setopt), true},
    {{"curl_easy_perform", NULL}, AT(perform), true},
    {{"curl_easy_getinfo", NULL}, AT(getinfo), true},
    {{"curl_easy_strerror", NULL}, AT(strerror), true},
    {{"curl_easy_cleanup", NULL}, AT(cleanup), true},
    {{"curl_slist_append", NULL}, AT(append), true},
    {{"curl_slist_free_all", NULL}, AT(free_all), true},
    {{NULL, NULL}, 0, false},
#undef AT
};

/* Loads libcurl and its functions. False: dlerror() has the reason. */
static bool load_lib(void)
{
    /* distributions differ in the library's name */
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4",
                                        NULL};

    return !loadlib_open(&lib, names, functions);
}

bool upload_can_send(void)
{
    return true;
}

/* A document: its two lines with their line breaks. */
struct pair {
    char *text;
    size_t len;
};

/* Bytes that grow. */
struct text {
    char *at;
    size_t n, size;
};

/* The state of one upload. */
struct sender {
    const struct upload_to *to;
    const struct upload_allowed *allowed; /* NULL: all */
    FILE *refused;
    struct upload_done *done;
    bool guarded;          /* the server's owner is checked */
    bool stranger;         /* it is somebody else: final */
    struct jp_error guard; /* why there is no connection; "": none */
    CURL *curl;
    struct curl_slist *headers;
    char *url;
    struct text answer, body;
    bool too_long; /* the answer was too long */
    uint64_t retry_after_ms;
    uint64_t end_ms; /* 0: no limit */
};

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000 + (uint64_t) t.tv_nsec / 1000000;
}

/* Makes room for n more bytes. False: no memory. */
static bool text_room(struct text *t, size_t n)
{
    return VECTOR_ROOM(t->at, t->n + n, t->size) == 0;
}

/* libcurl's callback for the answer's body. Anything but n ends the request. */
static size_t on_answer(char *data, size_t size, size_t n, void *arg)
{
    struct sender *s = arg;

    (void) size;
    if (s->answer.n + n > ANSWER_BYTES || !text_room(&s->answer, n)) {
        s->too_long = true;
        return 0;
    }
    memcpy(s->answer.at + s->answer.n, data, n);
    s->answer.n += n;
    return n;
}

/* libcurl's callback for a line of the answer's head: Retry-After in seconds. A
 * date, the other form, is ignored. */
static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    static const char name[] = "retry-after:";
    struct sender *s = arg;
    uint64_t seconds = 0;
    size_t i = sizeof(name) - 1;

    (void) size;
    if (n > i && !strncasecmp(data, name, i)) {
        while (i < n && data[i] == ' ')
            i++;
        for (; i < n && data[i] >= '0' && data[i] <= '9' && seconds < 100000;
             i++)
            seconds = 10 * seconds + (uint64_t) (data[i] - '0');
        s->retry_after_ms = 1000 * seconds;
    }
    return n;
}

/* libcurl's callback for a connection. Over http, credentials go only to a
 * socket of this machine whose owner is trusted, so the connection is made
 * here. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    struct sender *s = arg;
    int fd;

    (void) purpose;
    if (!s->guarded)
        return socket(address->family, address->socktype | SOCK_CLOEXEC,
                      address->protocol);
    fd = ownsock_connect("", &address->addr, address->addrlen,
                         s->to->server_uid, 1000 * CONNECT_S, &s->stranger,
                         &s->guard);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* libcurl's callback before it connects: a guarded socket is connected. */
static int on_socket(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    struct sender *s = arg;

    (void) fd;
    (void) purpose;
    return s->guarded ? CURL_SOCKOPT_ALREADY_CONNECTED : CURL_SOCKOPT_OK;
}

/* Compresses the pairs into s->body. 0, or -1 and err. */
static int make_body(struct sender *s, const struct pair *pairs, size_t n,
                     struct jp_error *err)
{
    z_stream z = {0};
    size_t all = 0;
    int rc = Z_OK;

    for (size_t i = 0; i < n; i++)
        all += pairs[i].len;
    s->body.n = 0;
    if (deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return error_set(err, "out of memory");
    /* room for all, so that deflate never stops for more */
    if (!text_room(&s->body, deflateBound(&z, (uLong) all) + 64)) {
        deflateEnd(&z);
        return error_set(err, "out of memory");
    }
    z.next_out = (Bytef *) s->body.at;
    z.avail_out = (uInt) s->body.size;
    for (size_t i = 0; i < n && rc == Z_OK; i++) {
        z.next_in = (Bytef *) pairs[i].text;
        z.avail_in = (uInt) pairs[i].len;
        /* one stream for all documents */
        rc = deflate(&z, i + 1 < n ? Z_NO_FLUSH : Z_FINISH);
    }
    s->body.n = s->body.size - z.avail_out;
    deflateEnd(&z);
    return rc == Z_STREAM_END ? 0 : error_set(err, "out of memory");
}

/* Sends one request. Returns the HTTP status, or 0 and err without an
 * answer. */
static long post(struct sender *s, struct jp_error *err)
{
    uint64_t left = 1000 * REQUEST_S, now = now_ms();
    char why[CURL_ERROR_SIZE] = "";
    CURLcode code;
    long status = 0;

    if (s->end_ms && now >= s->end_ms) {
        error_set(err, "the time limit ran out");
        return 0;
    }
    /* a request must not outlast the whole upload */
    if (s->end_ms && s->end_ms - now < left)
        left = s->end_ms - now;
    s->answer.n = 0;
    s->too_long = false;
    s->retry_after_ms = 0;
    s->guard.text[0] = '\0';
    lib.setopt(s->curl, CURLOPT_ERRORBUFFER, why);
    lib.setopt(s->curl, CURLOPT_TIMEOUT_MS, (long) left);
    lib.setopt(s->curl, CURLOPT_POSTFIELDS, s->body.at);
    lib.setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) s->body.n);
    code = lib.perform(s->curl);
    /* why is gone when this returns */
    lib.setopt(s->curl, CURLOPT_ERRORBUFFER, NULL);
    /* requests without an answer count, too */
    s->done->batches++;
    s->done->bytes += s->body.n;
    if (code != CURLE_OK) {
        error_set(err, "%s",
                  s->too_long      ? "the server's answer is too long"
                  : *s->guard.text ? s->guard.text
                  : *why           ? why
                                   : lib.strerror(code));
        return 0;
    }
    lib.getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* Returns NULL if the answer is not JSON. Caller decrefs. */
static json_t *read_answer(const struct sender *s)
{
    return jsonload(JSONLOAD_BULK, "answer", s->answer.at ? s->answer.at : "",
                    s->answer.n, 0, NULL);
}

/* Formats an error with the server's own message, truncated to fit.
 * Elasticsearch has a text or an object as "error". */
static void describe(const struct sender *s, long status, struct jp_error *err)
{
    json_t *root = read_answer(s);
    /* NULL without an answer of JSON */
    const json_t *error = json_object_get(root, "error");
    const char *reason = json_string_value(
        json_is_object(error) ? json_object_get(error, "reason") : error);

    error_set(err, "HTTP %ld%s%.160s", status, reason ? ": " : "",
              reason ? reason : "");
    json_decref(root);
}

/* Counts a document that the server will never take, and keeps it. */
static void refuse(struct sender *s, const struct pair *pair, const char *why)
{
    if (!s->done->refused++)
        snprintf(s->done->why, sizeof(s->done->why), "%s", why);
    if (s->refused)
        fwrite(pair->text, 1, pair->len, s->refused);
}

/* Handles the answer to one document: accepted, refused, or (true) to be sent
 * again. */
static bool take_item(struct sender *s, const json_t *item,
                      const struct pair *pair)
{
    /* {"index": {...}}: the first member, whatever its name */
    const json_t *action =
        json_object_iter_value(json_object_iter((json_t *) item));
    json_int_t status = json_integer_value(json_object_get(action, "status"));
    const json_t *error = json_object_get(action, "error");
    const char *reason = json_string_value(json_object_get(error, "reason"));

    /* too busy, or not ready */
    if (status == 429 || status >= 500 || status < 200)
        return true;
    if (status < 300)
        s->done->accepted++;
    else
        refuse(s, pair, reason ? reason : "refused without giving a reason");
    return false;
}

/* Moves those of the n pairs that must be sent again to the front and returns
 * their number. -1: not an answer of the bulk API. */
static long take_items(struct sender *s, struct pair *pairs, size_t n)
{
    json_t *root = read_answer(s);
    const json_t *items = json_object_get(root, "items");
    long again = 0;

    if (!json_is_array(items) || json_array_size(items) != n) {
        json_decref(root);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        /* swap, so that every text is freed once */
        struct pair pair = pairs[i];

        if (!take_item(s, json_array_get(items, i), &pair))
            continue;
        pairs[i] = pairs[again];
        pairs[again++] = pair;
    }
    json_decref(root);
    return again;
}

/* Waits before try number `tries` (from 1). Returns false if time is up. */
static bool wait_turn(struct sender *s, unsigned tries)
{
    uint64_t wait = (uint64_t) s->to->wait_ms << (tries < 16 ? tries - 1 : 15);
    struct timespec t;

    wait = wait < MAX_WAIT_MS ? wait : MAX_WAIT_MS;
    /* random, so that many nodes do not come back at the same moment */
    wait = wait / 2 + (uint64_t) random() % (wait / 2 + 1);
    /* the server's wish, within reason */
    if (s->retry_after_ms > wait)
        wait = s->retry_after_ms < 2 * MAX_WAIT_MS ? s->retry_after_ms
                                                   : 2 * MAX_WAIT_MS;
    if (s->end_ms && now_ms() + wait >= s->end_ms)
        return false;
    t = (struct timespec){(time_t) (wait / 1000),
                          (long) (wait % 1000 * 1000000)};
    nanosleep(&t, NULL);
    s->done->retries++;
    return true;
}

/* Sends the pairs until each has its answer. A document that is too large even
 * alone is refused. */
static int send_pairs(struct sender *s, struct pair *pairs, size_t n,
                      struct jp_error *err)
{
    for (unsigned tries = 0; n;) {
        long status, again = (long) n;

        if (make_body(s, pairs, n, err) < 0)
            return -1;
        status = post(s, err);
        /* another user's server: it gets nothing, now or later */
        if (!status && s->stranger)
            return error_wrap(err, "credentials are not sent");
        /* too large: send both halves */
        if (status == 413 && n > 1)
            return send_pairs(s, pairs, n / 2, err) < 0
                       ? -1
                       : send_pairs(s, pairs + n / 2, n - n / 2, err);
        if (status == 413) {
            refuse(s, pairs, "larger than the server accepts (HTTP 413)");
            return 0;
        }
        /* the request was accepted; each document has its own status */
        if (status >= 200 && status < 300) {
            again = take_items(s, pairs, n);
            if (again < 0)
                error_set(err,
                          "the server's answer is not one of the bulk API");
            else if (again)
                error_set(err, "%ld documents: busy", again);
        } else if (status == 429 || status >= 500) {
            describe(s, status, err);
        } else if (status) { /* will not get better */
            describe(s, status, err);
            return -1;
        }
        /* progress resets the tries */
        tries = again >= 0 && (size_t) again < n ? 1 : tries + 1;
        n = again < 0 ? n : (size_t) again;
        if (n && (tries > s->to->retries || !wait_turn(s, tries)))
            return -1;
    }
    return 0;
}

/* A line that was read, and is not yet used. */
struct held {
    char *text; /* NULL: none; owned */
    size_t len;
    uint64_t number;
};

/* Takes the held line, or reads one. Returns 1; 0 at the end; -1 and err. */
static int next_line(struct jp_lines *in, struct held *held, struct held *out,
                     struct jp_error *err)
{
    char *text;
    int rc;

    if (held->text) {
        *out = *held;
        held->text = NULL;
        return 1;
    }
    rc = lines_next(in, &text, &out->len, err);
    if (rc <= 0)
        return rc;
    out->number = lines_number(in);
    out->text = malloc(out->len + 1);
    if (!out->text)
        return error_set(err, "out of memory");
    memcpy(out->text, text, out->len + 1);
    return 1;
}

/* Refuses a line, or a pair of lines, that is not sent. Takes over the texts;
 * err has the reason. */
static void refuse_lines(struct sender *s, struct held *one, struct held *two,
                         struct jp_error *err)
{
    struct pair pair = {NULL, 0};

    error_wrap(err, "%s:%llu", s->allowed ? s->allowed->name : "documents",
               (unsigned long long) one->number);
    if (two)
        pair.text = text_format("%s\n%s\n", one->text, two->text);
    else
        pair.text = text_format("%s\n", one->text);
    if (pair.text)
        pair.len = strlen(pair.text);
    refuse(s, &pair, err->text);
    s->done->sent++;
    free(pair.text);
    free(one->text);
    one->text = NULL;
    if (two) {
        free(two->text);
        two->text = NULL;
    }
}

/* Counts lines that the reader has left out: too long, with a NUL byte. */
static void refuse_left(struct sender *s, struct jp_lines *in)
{
    const struct lines_left *left = lines_left(in);
    uint64_t n = left->too_long + left->with_nul + left->early;

    if (n && !s->done->refused)
        snprintf(s->done->why, sizeof(s->done->why), "%s", left->first.text);
    s->done->refused += n;
    s->done->sent += n;
}

/* Reads an action and its document; what is not allowed is refused and skipped.
 * After a line that is no action, the next one may be. Returns 1; 0 at the end;
 * -1 and err. */
static int read_pair(struct sender *s, struct jp_lines *in, struct held *held,
                     struct pair *pair, struct jp_error *err)
{
    struct held action = {NULL, 0, 0}, source = {NULL, 0, 0};
    struct jp_error why;
    int rc;

    *pair = (struct pair){0};
    while ((rc = next_line(in, held, &action, err)) > 0) {
        if (s->allowed && !upload_is_action(action.text, action.len, &why)) {
            refuse_lines(s, &action, NULL, &why);
            continue;
        }
        rc = next_line(in, held, &source, err);
        if (rc < 0)
            break;
        /* at the end, or where the reader has left out a line */
        if (rc == 0 || source.number != action.number + 1) {
            error_set(&why, "an action without its document");
            refuse_lines(s, &action, NULL, &why);
            *held = source;
            source.text = NULL;
            continue;
        }
        if (s->allowed && upload_check(s->allowed, action.text, action.len,
                                       source.text, source.len, &why) < 0) {
            refuse_lines(s, &action, &source, &why);
            continue;
        }
        pair->text = text_format("%s\n%s\n", action.text, source.text);
        pair->len = action.len + source.len + 2;
        if (!pair->text)
            rc = error_set(err, "out of memory");
        break;
    }
    if (rc == 0)
        refuse_left(s, in);
    free(action.text);
    free(source.text);
    return rc;
}

/* Reads and sends all documents, batch after batch. 0, or -1 and err. */
static int send_all(struct sender *s, struct jp_lines *in, struct jp_error *err)
{
    struct pair *pairs = calloc(BATCH_DOCS, sizeof(*pairs));
    struct held held = {NULL, 0, 0};
    size_t n, bytes;
    int rc = pairs ? 1 : error_set(err, "out of memory");

    while (rc > 0) {
        /* one batch */
        for (n = bytes = 0; n < BATCH_DOCS && bytes < BATCH_BYTES;
             bytes += pairs[n++].len)
            if ((rc = read_pair(s, in, &held, &pairs[n], err)) <= 0)
                break;
        s->done->sent += n;
        if (n && rc >= 0 && send_pairs(s, pairs, n, err) < 0)
            rc = -1;
        while (n)
            free(pairs[--n].text);
    }
    free(pairs);
    free(held.text);
    return rc;
}

/* Appends a header. list NULL: there was no memory for an earlier one. Returns
 * NULL without memory; the list is freed then. */
static struct curl_slist *add_header(struct curl_slist *list, const char *text)
{
    struct curl_slist *more = list ? lib.append(list, text) : NULL;

    if (!more)
        lib.free_all(list);
    return more;
}

/* The headers of each request. NULL: no memory. */
static struct curl_slist *make_headers(const struct upload_credentials *c)
{
    struct curl_slist *list =
        lib.append(NULL, "Content-Type: application/x-ndjson");
    const char *secret = c && c->api_key ? c->api_key : c ? c->bearer : NULL;
    char *text;

    list = add_header(list, "Content-Encoding: gzip");
    list = add_header(list, "Accept: application/json");
    /* without "Expect: 100-continue", which costs a second with some servers */
    list = add_header(list, "Expect:");
    if (!secret || !list)
        return list;
    text = text_format("Authorization: %s %s", c->api_key ? "ApiKey" : "Bearer",
                       secret);
    if (!text) {
        lib.free_all(list);
        return NULL;
    }
    list = add_header(list, text);
    forget(&text);
    return list;
}

static void set_options(struct sender *s)
{
    const struct upload_credentials *c = s->to->credentials;
    CURL *curl = s->curl;

    lib.setopt(curl, CURLOPT_URL, s->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    lib.setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    lib.setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
    lib.setopt(curl, CURLOPT_NOSIGNAL, 1L);
    lib.setopt(curl, CURLOPT_POST, 1L);
    /* a redirection must not get the credentials */
    lib.setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    lib.setopt(curl, CURLOPT_UNRESTRICTED_AUTH, 0L);
    lib.setopt(curl, CURLOPT_NETRC, (long) CURL_NETRC_IGNORED);
    /* the defaults, which no build of libcurl may change */
    lib.setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    lib.setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    lib.setopt(curl, CURLOPT_HEADEROPT, (long) CURLHEADER_SEPARATE);
    lib.setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    lib.setopt(curl, CURLOPT_OPENSOCKETDATA, s);
    lib.setopt(curl, CURLOPT_SOCKOPTFUNCTION, on_socket);
    lib.setopt(curl, CURLOPT_SOCKOPTDATA, s);
    /* "" disables the proxy; NULL would use the environment's */
    lib.setopt(curl, CURLOPT_PROXY, s->to->proxy ? s->to->proxy : "");
    lib.setopt(curl, CURLOPT_NOPROXY, ""); /* not the variable no_proxy */
    lib.setopt(curl, CURLOPT_CONNECTTIMEOUT, (long) CONNECT_S);
    lib.setopt(curl, CURLOPT_USERAGENT, "jobprof/" PACKAGE_VERSION);
    lib.setopt(curl, CURLOPT_HTTPHEADER, s->headers);
    lib.setopt(curl, CURLOPT_WRITEFUNCTION, on_answer);
    lib.setopt(curl, CURLOPT_WRITEDATA, s);
    lib.setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    lib.setopt(curl, CURLOPT_HEADERDATA, s);
    if (s->to->ca) {
        lib.setopt(curl, CURLOPT_CAINFO, s->to->ca);
        lib.setopt(curl, CURLOPT_CAPATH, NULL);
    }
    if (c && c->user) {
        lib.setopt(curl, CURLOPT_HTTPAUTH, (long) CURLAUTH_BASIC);
        lib.setopt(curl, CURLOPT_USERNAME, c->user);
        lib.setopt(curl, CURLOPT_PASSWORD, c->password);
    }
}

int upload_send(struct jp_lines *in, const struct upload_to *to,
                const struct upload_allowed *allowed, FILE *refused,
                struct upload_done *done, struct jp_error *err)
{
    size_t len = strlen(to->url);
    struct sender s = {.to = to,
                       .allowed = allowed,
                       .refused = refused,
                       .done = done,
                       .guarded = to->credentials &&
                                  strncasecmp(to->url, "https://", 8)};
    int rc = -1;

    if (check_url(to, err) < 0)
        return -1;
    if (!load_lib())
        return error_set(err, "libcurl cannot be loaded: %s", dlerror());
    /* the path is appended */
    while (len && to->url[len - 1] == '/')
        len--;
    s.url = text_format("%.*s/_bulk", (int) len, to->url);
    s.headers = make_headers(to->credentials);
    s.end_ms = to->limit_ms ? now_ms() + to->limit_ms : 0;
    s.curl = lib.init();
    if (!s.url || !s.headers || !s.curl) {
        error_set(err, "out of memory");
    } else {
        set_options(&s);
        rc = send_all(&s, in, err);
    }
    lib.cleanup(s.curl);
    /* one of them may have a secret */
    for (struct curl_slist *h = s.headers; h; h = h->next)
        explicit_bzero(h->data, strlen(h->data));
    lib.free_all(s.headers);
    free(s.answer.at);
    free(s.body.at);
    free(s.url);
    if (rc == 0 && refused && (fflush(refused) != 0 || ferror(refused)))
        rc = error_set(err, "the refused documents cannot be written: %m");
    return rc;
}

#else

bool upload_can_send(void)
{
    return false;
}

int upload_send(struct jp_lines *in, const struct upload_to *to,
                const struct upload_allowed *allowed, FILE *refused,
                struct upload_done *done, struct jp_error *err)
{
    (void) in;
    (void) to;
    (void) allowed;
    (void) refused;
    (void) done;
    return error_set(err, "jobprof was built without libcurl");
}

#endif
