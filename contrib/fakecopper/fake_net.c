/* fake_net.c - the stand-in's network.
 *
 * Each daemon has an address and, except the first one, a parent in a tree. A
 * look-up that is not in its cache goes to the parent, and so on up to the
 * first daemon, which reads its own file system. Below, an address is an
 * abstract socket of this host, and each request is one connection.
 * fake_net_start opens the engine, learns all addresses from a book, finds the
 * parent, and serves the children. */
#include "contrib/fakecopper/fake_net.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "contrib/fakecopper/fake_log.h"

#define ADDRESS_MAX 96
#define PATH_LEN_MAX 4096
#define PARENT_WAIT_MS 120000 /* as Copper's */

/* Requests: lstat, the bytes of a file, the names of a folder, and whether the
 * parent is ready. */
enum kind { STAT = 'L', BYTES = 'R', NAMES = 'D', READY = 'Y' };

struct cached {
    char *key; /* kind and path; the key of the tree */
    char *bytes;
    size_t len;
};

/* The head of an answer; len bytes follow. */
struct reply {
    int64_t rc;
    uint64_t len;
};

/* State of this daemon. self and parent: addresses; parent "": this is the
 * first daemon of its tree. */
static const struct fake_net *net;
static char self[ADDRESS_MAX], parent[ADDRESS_MAX];
static char (*tree)[ADDRESS_MAX];
static size_t n_tree, shared_lines;
static volatile bool is_ready, parent_is_ready, is_stopped;
static int listener = -1;
static void *cache;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- sockets -------------------------------------------------------------- */

/* Fills the abstract socket's address. Returns its length. */
static socklen_t name_socket(const char *address, struct sockaddr_un *un)
{
    memset(un, 0, sizeof(*un));
    un->sun_family = AF_UNIX;
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        (size_t) snprintf(un->sun_path + 1,
                                          sizeof(un->sun_path) - 1,
                                          "fakecopper/%s", address));
}

/* Sends everything. Returns false on failure. */
static bool send_all(int fd, const void *data, size_t len)
{
    for (const char *at = data; len;) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        at += n;
        len -= (size_t) n;
    }
    return true;
}

/* Receives everything. There is no time limit, as in Copper. */
static bool receive_all(int fd, void *data, size_t len)
{
    return !len || recv(fd, data, len, MSG_WAITALL) == (ssize_t) len;
}

/* Sends a request to the parent. *bytes: caller frees. Returns false if the
 * parent has gone. */
static bool call(enum kind kind, const char *path, struct reply *reply,
                 char **bytes)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char request[PATH_LEN_MAX + 2] = {(char) kind};
    struct sockaddr_un un;
    socklen_t len = name_socket(parent, &un);
    bool ok;

    *bytes = NULL;
    snprintf(request + 1, sizeof(request) - 1, "%s", path);
    ok = connect(fd, (struct sockaddr *) &un, len) == 0 &&
         send_all(fd, request, sizeof(request)) &&
         receive_all(fd, reply, sizeof(*reply));
    if (ok && reply->len) {
        *bytes = malloc(reply->len);
        ok = *bytes && receive_all(fd, *bytes, reply->len);
    }
    close(fd);
    return ok;
}

/* --- this daemon's cache -------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct cached *) a)->key,
                  ((const struct cached *) b)->key);
}

/* Returns the cached answer, or NULL. */
static struct cached *find_entry(enum kind kind, const char *path)
{
    char key[PATH_LEN_MAX + 2] = {(char) kind};
    struct cached wanted = {.key = key}, **slot;

    snprintf(key + 1, sizeof(key) - 1, "%s", path);
    pthread_mutex_lock(&lock);
    slot = tfind(&wanted, &cache, compare_entries);
    pthread_mutex_unlock(&lock);
    return slot ? *slot : NULL;
}

/* Caches an answer and takes ownership of bytes. Returns the entry, which is an
 * older one if another thread was faster. */
static struct cached *keep_answer(enum kind kind, const char *path, char *bytes,
                                  size_t len)
{
    struct cached *one = calloc(1, sizeof(*one)), **slot;
    size_t n = strlen(path);

    if (!one || !(one->key = malloc(n + 2)))
        abort();
    one->key[0] = (char) kind;
    memcpy(one->key + 1, path, n + 1);
    one->bytes = bytes;
    one->len = len;
    pthread_mutex_lock(&lock);
    slot = tsearch(one, &cache, compare_entries);
    pthread_mutex_unlock(&lock);
    if (!slot)
        abort();
    if (*slot != one) {
        free(one->key);
        free(one->bytes);
        free(one);
    }
    return *slot;
}

/* --- the first node's own file system ------------------------------------- */

/* Reads lstat's result. Returns 0 or -errno, here and below. */
static int read_stat(const char *path, char **bytes, size_t *len)
{
    struct stat *st = malloc(sizeof(*st));

    if (!st || lstat(path, st) < 0) {
        int rc = st ? -errno : -ENOMEM;

        free(st);
        return rc;
    }
    *bytes = (char *) st;
    *len = sizeof(*st);
    return 0;
}

/* Reads a whole file. */
static int read_bytes(const char *path, char **bytes, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    ssize_t n = -1;

    if (fd >= 0 && fstat(fd, &st) == 0 &&
        (*bytes = malloc((size_t) st.st_size + 1)))
        n = pread(fd, *bytes, (size_t) st.st_size, 0);
    if (fd >= 0)
        close(fd);
    if (n < 0) {
        free(*bytes);
        *bytes = NULL;
        return -EPERM; /* Copper's own: -1 for any trouble */
    }
    *len = (size_t) n;
    return 0;
}

/* Reads the names of a folder, with a NUL after each. */
static int read_names(const char *path, char **bytes, size_t *len)
{
    DIR *dir = opendir(path);
    FILE *out = dir ? open_memstream(bytes, len) : NULL;
    struct dirent *entry;

    if (!dir)
        return -errno;
    while (out && (entry = readdir(dir)))
        fwrite(entry->d_name, 1, strlen(entry->d_name) + 1, out);
    closedir(dir);
    return out && fclose(out) == 0 ? 0 : -ENOMEM;
}

/* Reads from this node's own file system. */
static int read_own(enum kind kind, const char *path, char **bytes, size_t *len)
{
    return kind == STAT    ? read_stat(path, bytes, len)
           : kind == BYTES ? read_bytes(path, bytes, len)
                           : read_names(path, bytes, len);
}

/* --- look-ups ------------------------------------------------------------- */

/* Waits until the parent serves requests. Pauses grow up to half a second. */
static bool await_parent(void)
{
    struct timespec pause = {0, 10000000};
    struct reply reply;
    char *bytes;

    for (int waited = 0; !parent_is_ready && waited < PARENT_WAIT_MS;) {
        if (call(READY, "", &reply, &bytes) && reply.rc)
            parent_is_ready = true;
        else
            nanosleep(&pause, NULL);
        free(bytes);
        waited += (int) (pause.tv_nsec / 1000000);
        if (pause.tv_nsec < 500000000)
            pause.tv_nsec *= 2;
    }
    if (!parent_is_ready)
        fake_log(FAKE_ERROR, "wait_for_parent_provider_ready",
                 "timed out waiting for parent readiness");
    return parent_is_ready;
}

/* Asks the parent. Errors and log lines are Copper's. */
static int ask_parent(enum kind kind, const char *path, char **bytes,
                      size_t *len)
{
    struct reply reply;

    if (!await_parent() || !call(kind, path, &reply, bytes)) {
        fake_log(FAKE_ERROR, "rpc",
                 "thallium exception during parent rpc for path %s via "
                 "parent %s",
                 path, parent);
        return kind == STAT ? -EIO : -EPERM;
    }
    *len = (size_t) reply.len;
    return (int) reply.rc;
}

/* Finds an answer in the cache, at the parent, or on this node. Errors are not
 * cached. */
static int look_up(enum kind kind, const char *path, const struct cached **out,
                   bool *asked)
{
    const struct cached *one = find_entry(kind, path);
    char *bytes = NULL;
    size_t len = 0;
    int rc = 0;

    *asked = !one;
    if (!one) {
        rc = *parent ? ask_parent(kind, path, &bytes, &len)
                     : read_own(kind, path, &bytes, &len);
        if (rc == 0)
            one = keep_answer(kind, path, bytes, len);
    }
    *out = one;
    return rc;
}

int fake_net_stat(const char *path, struct stat *st, bool *asked)
{
    const struct cached *one;
    int rc = look_up(STAT, path, &one, asked);

    if (rc == 0)
        memcpy(st, one->bytes, sizeof(*st));
    return rc;
}

int fake_net_file(const char *path, const char **bytes, size_t *len,
                  bool *asked)
{
    const struct cached *one;
    int rc = look_up(BYTES, path, &one, asked);

    if (rc == 0) {
        *bytes = one->bytes;
        *len = one->len;
    }
    return rc;
}

int fake_net_list(const char *path, const char **names, size_t *len,
                  bool *asked)
{
    const struct cached *one;
    int rc = look_up(NAMES, path, &one, asked);

    if (rc == 0) {
        *names = one->bytes;
        *len = one->len;
    }
    return rc;
}

int64_t fake_net_size(const char *path)
{
    const struct cached *one = find_entry(STAT, path);
    struct stat st;

    if (!one)
        return -1;
    memcpy(&st, one->bytes, sizeof(st));
    return st.st_size;
}

/* --- for the children ----------------------------------------------------- */

/* Answers one request of a child, in a thread of its own. */
static void *serve_one(void *arg)
{
    int fd = (int) (intptr_t) arg;
    char request[PATH_LEN_MAX + 2];
    struct reply reply = {0};
    const struct cached *one = NULL;
    bool asked;

    if (receive_all(fd, request, sizeof(request))) {
        if (request[0] == READY)
            reply.rc = is_ready;
        else
            reply.rc =
                look_up((enum kind) request[0], request + 1, &one, &asked);
        reply.len = one ? one->len : 0;
        if (send_all(fd, &reply, sizeof(reply)) && one)
            send_all(fd, one->bytes, one->len);
    }
    close(fd);
    return NULL;
}

/* Accepts requests until the end. */
static void *serve(void *arg)
{
    pthread_attr_t attr;

    (void) arg;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (!is_stopped) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        pthread_t thread;

        if (fd >= 0 && pthread_create(&thread, &attr, serve_one,
                                      (void *) (intptr_t) fd) != 0)
            close(fd);
    }
    return NULL;
}

/* --- the engine ----------------------------------------------------------- */

/* Takes the address for this daemon. Returns false if another daemon has it. */
static bool listen_at(const char *address)
{
    struct sockaddr_un un;
    socklen_t len = name_socket(address, &un);

    snprintf(self, sizeof(self), "%s", address);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return listener >= 0 && bind(listener, (struct sockaddr *) &un, len) == 0 &&
           listen(listener, 256) == 0;
}

/* Takes an address like those of an HPE Slingshot network: the device, the
 * number in the host's name, and the first free endpoint. */
static bool open_cxi(void)
{
    char address[ADDRESS_MAX];

    for (unsigned endpoint = 0; endpoint < 16; endpoint++) {
        snprintf(address, sizeof(address), "ofi+cxi://0x%.4s%02x%02x",
                 net->device,
                 (unsigned) strtoul(
                     net->host + strcspn(net->host, "0123456789"), NULL, 10),
                 endpoint);
        if (listen_at(address))
            return true;
        close(listener);
    }
    return false;
}

/* Takes an address of the network type. */
static bool open_engine(void)
{
    char address[ADDRESS_MAX];

    if (!strncmp(net->type, "cxi", 3))
        return open_cxi();
    if (!strcmp(net->type, "tcp"))
        snprintf(address, sizeof(address), "ofi+tcp;ofi_rxm://127.0.0.1:%ld",
                 (long) getpid());
    else if (!strcmp(net->type, "na+sm"))
        snprintf(address, sizeof(address), "na+sm://%ld-0", (long) getpid());
    else
        return false;
    return listen_at(address);
}

/* Appends an address to the tree, in the order of the book. */
static void add_address(const char *address)
{
    tree = realloc(tree, (n_tree + 1) * sizeof(*tree));
    if (!tree)
        abort();
    snprintf(tree[n_tree++], sizeof(*tree), "%s", address);
}

/* Splits "host address" in place. Returns false if there is no address. */
static bool split(char *line, char **address)
{
    line[strcspn(line, "\n")] = '\0';
    *address = strchr(line, ' ');
    if (*address)
        *(*address)++ = '\0';
    return *address != NULL;
}

/* Takes all addresses of a book. Returns false if it cannot be read. */
static bool take_addresses(const char *book)
{
    FILE *in = fopen(book, "r");
    char *line = NULL, *address;
    size_t room = 0;

    while (in && getline(&line, &room, in) > 0)
        if (split(line, &address))
            add_address(address);
    free(line);
    if (in)
        fclose(in);
    return in != NULL;
}

/* A line of a book. */
struct listed {
    char *host, *address;
};

/* Orders lines by host. */
static int by_host(const void *a, const void *b)
{
    return strcmp(((const struct listed *) a)->host,
                  ((const struct listed *) b)->host);
}

/* Reads a book into a tree. The last line of a host counts. */
static void *read_entries(FILE *book)
{
    char *line = NULL, *address;
    size_t room = 0;
    void *entries = NULL;

    while (getline(&line, &room, book) > 0) {
        struct listed *one = calloc(1, sizeof(*one)), **slot;

        if (!one || !split(line, &address) || !(one->host = strdup(line)) ||
            !(one->address = strdup(address)) ||
            !(slot = tsearch(one, &entries, by_host)))
            abort();
        if (*slot != one) {
            free((*slot)->address);
            (*slot)->address = one->address;
            free(one->host);
            free(one);
        }
    }
    free(line);
    return entries;
}

/* Frees a line. */
static void free_entry(void *entry)
{
    struct listed *one = entry;

    free(one->host);
    free(one->address);
    free(one);
}

/* Selects the step's nodes from the whole book. Each daemon does so and writes
 * the result, flushed line by line, to the same file as all others
 * (node_tree.cpp, parse_nodelist_from_facility_address_book). */
static bool filter_book(void)
{
    FILE *book = fopen(net->book, "r"), *nodes = fopen(net->nodes, "r");
    FILE *own = fopen(net->own, "w");
    void *entries = book ? read_entries(book) : NULL;
    char *line = NULL;
    size_t room = 0;

    while (nodes && own && getline(&line, &room, nodes) > 0) {
        struct listed key = {.host = line}, **hit;

        line[strcspn(line, "\n")] = '\0';
        hit = tfind(&key, &entries, by_host);
        if (!hit)
            continue;
        add_address((*hit)->address);
        fprintf(own, "%s %s\n", line, (*hit)->address);
        shared_lines += fflush(own) == 0;
    }
    tdestroy(entries, free_entry);
    free(line);
    if (nodes)
        fclose(nodes);
    if (own)
        fclose(own);
    if (book)
        fclose(book);
    return nodes && own && book;
}

/* Reads the addresses of all daemons. Log lines are Copper's. */
static bool read_book(void)
{
    bool ok = net->prefiltered ? take_addresses(net->book) : filter_book();

    if (!ok) {
        fake_log(FAKE_FATAL, "parse_nodelist_from_facility_address_book",
                 net->prefiltered
                     ? "error opening prefiltered facility_address_book_path"
                     : "error opening facility_address_book_path : ");
        fake_log(FAKE_FATAL, "start_thallium_engine",
                 "Exception caught in thread: error opening %s",
                 net->prefiltered ? "prefiltered address book" : "files");
    }
    return ok;
}

/* Appends this daemon's address to the book that all daemons share. */
static bool write_address(void)
{
    FILE *out = fopen(net->own, "a");
    bool ok = out && flock(fileno(out), LOCK_EX) == 0 &&
              fprintf(out, "%s %s\n", net->host, self) > 0;

    if (out)
        fclose(out);
    if (!ok)
        fake_log(FAKE_FATAL, "start_thallium_engine",
                 "Exception caught in thread: failed to open file for writing");
    return ok;
}

/* Learns all addresses: from a given book, or from the book that the daemons
 * write themselves. */
static bool know_addresses(void)
{
    bool cxi = !strcmp(net->type, "cxi");

    if (net->nodes)
        return read_book();
    if (!cxi && strcmp(net->type, "tcp") != 0 &&
        strcmp(net->type, "na+sm") != 0) {
        fake_log(FAKE_FATAL, "start_thallium_engine", "invalid network type");
        return false;
    }
    if (!write_address())
        return false;
    /* until all daemons have written their address */
    sleep(net->sync_s);
    if (!cxi && !net->prefiltered) {
        fake_log(FAKE_FATAL, "start_thallium_engine",
                 "Exception caught in thread: bad optional access");
        return false;
    }
    return cxi || read_book(); /* cxi's address is written, and none read */
}

/* Returns the place in the book of line i of a tree. The book is cut into trees
 * of equal size; the rest is added at the ends of the first trees
 * (get_tree_segments). */
static size_t place_in(size_t i, size_t which, size_t n_trees)
{
    size_t each = n_tree / n_trees;

    return i < each ? which * each + i : n_trees * each + which;
}

/* Returns the number of lines of a tree. */
static size_t lines_of(size_t which, size_t n_trees)
{
    return n_tree / n_trees + (which < n_tree % n_trees);
}

/* Finds the parent in a tree, whose nodes have `fanout` children each, in the
 * order of the book. Returns false if this daemon is not in that tree. */
static bool find_parent_in(size_t which, size_t n_trees)
{
    static const size_t limits[] = {31, 121, 341, 781, 1555};
    size_t fanout = 2, at = 0, n = lines_of(which, n_trees);

    while (fanout < 7 && n > limits[fanout - 2])
        fanout++;
    while (at < n && strcmp(tree[place_in(at, which, n_trees)], self) != 0)
        at++;
    if (at > 0 && at < n)
        snprintf(parent, sizeof(parent), "%s",
                 tree[place_in((at - 1) / fanout, which, n_trees)]);
    return at < n;
}

/* Finds the tree and the parent of this daemon. */
static bool find_parent(void)
{
    size_t n_trees = net->trees ? net->trees : 1, which = 0;

    if (n_tree < n_trees) {
        fake_log(FAKE_FATAL, "start_thallium_engine",
                 "number of tree segments cannot be greater than number of "
                 "addresses");
        return false;
    }
    fake_log(FAKE_INFO, "get_tree_segments",
             "requested number of tree segments: %zu", n_trees);
    while (which < n_trees && !find_parent_in(which, n_trees))
        which++;
    if (which == n_trees) {
        fake_log(FAKE_FATAL, "get_my_tree_segment",
                 "unable to find addr in tree segments - Possible address "
                 "book changed");
        abort();
    }
    return true;
}

bool fake_net_start(const struct fake_net *which)
{
    pthread_t thread;

    net = which;
    if (!open_engine()) {
        fake_log(FAKE_FATAL, "start_thallium_engine",
                 "Could not initialize Margo (%s)", net->type);
        return false;
    }
    fake_log(FAKE_INFO, "start_thallium_engine", "engine started");
    if (!know_addresses() || !find_parent())
        return false;
    if (pthread_create(&thread, NULL, serve, NULL) != 0)
        return false;
    /* a slow provider, whose children have to wait */
    sleep(net->start_s);
    is_ready = true;
    fake_log(FAKE_INFO, "start_thallium_engine",
             "provider registration completed after 1000 us");
    return true;
}

void fake_net_stop(void)
{
    is_stopped = true;
    if (listener >= 0)
        shutdown(listener, SHUT_RDWR);
}

size_t fake_net_shared_lines(void)
{
    return shared_lines;
}
