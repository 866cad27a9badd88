/* flight.c - read the dumps of a folder, and say in words what they show. */
#include "orchestrator/flight/flight.h"

#include <ctype.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/figure.h"
#include "common/logsource.h"
#include "common/quote.h"
#include "common/vector.h"
#include "orchestrator/flight/flight_tree.h"

/* --- read all dumps ------------------------------------------------------- */

/* Reads a file, unpacked. Returns its bytes, which the caller frees; NULL: err
 * says why. */
static char *read_file(const char *path, size_t *len, struct jp_error *err)
{
    struct jp_logsource *source = logsource_open(path, err);
    size_t room = 1 << 16;
    char *bytes = source ? malloc(room) : NULL;
    ssize_t got = 1;

    *len = 0;
    while (bytes && got > 0 && *len <= FLIGHT_BYTES_MAX) {
        if (VECTOR_ROOM(bytes, *len + 1, room) < 0) {
            error_set(err, "out of memory");
            break;
        }
        got = logsource_read(source, bytes + *len, room - *len, err);
        *len += got > 0 ? (size_t) got : 0;
    }
    if (source && bytes && got == 0 && logsource_damage(source))
        got = error_set(err, "%s", logsource_damage(source));
    logsource_close(source);
    if (bytes && got == 0)
        return bytes;
    if (bytes && got > 0)
        error_set(err, "larger than %lu MiB", FLIGHT_BYTES_MAX >> 20);
    free(bytes);
    return NULL;
}

/* Reads one file. Returns 0, or -1 without memory. */
static int read_one(struct jp_flight *flight, const struct flight_file *file,
                    struct flight_dump *dump, struct jp_error *err)
{
    struct jp_error why = {""};
    size_t len;
    char *bytes;
    int rc;

    dump->path = strdup(file->path);
    if (!dump->path)
        return error_set(err, "out of memory");
    dump->rank = file->rank;
    dump->written_us = file->mtime_us;
    bytes = read_file(file->path, &len, &why);
    if (!bytes) {
        dump->bad = true;
        snprintf(dump->why, sizeof(dump->why), "%.190s", why.text);
        return 0;
    }
    rc = flight_dump_read(flight, dump, bytes, len, err);
    free(bytes);
    return rc < 0 ? -1 : 0;
}

/* By rank, bad ones last; of one rank the youngest first. */
static int by_rank(const void *a, const void *b)
{
    const struct flight_dump *x = a, *y = b;

    if (x->bad != y->bad)
        return x->bad ? 1 : -1;
    if (!x->bad && x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (!x->bad && x->last_us != y->last_us)
        return x->last_us > y->last_us ? -1 : 1;
    return strcmp(x->path, y->path);
}

static size_t folder_length(const char *path)
{
    const char *end = strrchr(path, '/');

    return end ? (size_t) (end - path) : 0;
}

static bool is_same_folder(const struct flight_dump *a,
                           const struct flight_dump *b)
{
    size_t n = folder_length(a->path);

    return n == folder_length(b->path) && !strncmp(a->path, b->path, n);
}

/* Several dumps of one rank are of several incidents: the youngest incident is
 * judged, which is the folder with the latest time in it. A folder that has two
 * dumps of a rank keeps the younger one. */
static void choose_incident(struct jp_flight *flight)
{
    const struct flight_dump *youngest = NULL;
    bool twice = false;
    size_t kept = 0;

    qsort(flight->dumps, flight->n_dumps, sizeof(*flight->dumps), by_rank);
    for (size_t i = 0; i < flight->n_dumps && !flight->dumps[i].bad; i++) {
        const struct flight_dump *d = &flight->dumps[i];

        twice |= i && d->rank == d[-1].rank;
        if (!youngest || d->last_us > youngest->last_us)
            youngest = d;
    }
    if (!twice)
        return;
    for (size_t i = 0; i < flight->n_dumps; i++) {
        struct flight_dump *d = &flight->dumps[i];

        if (!d->bad && !is_same_folder(d, youngest)) {
            d->bad = d->other = true;
            snprintf(d->why, sizeof(d->why),
                     "of another incident: the dumps of another folder are "
                     "younger");
            flight->of_others++;
        } else if (!d->bad && kept && flight->dumps[kept - 1].rank == d->rank) {
            d->bad = d->other = true;
            snprintf(d->why, sizeof(d->why),
                     "another dump of rank %" PRId64 " is younger", d->rank);
            flight->of_others++;
        } else if (!d->bad) {
            kept = i + 1;
        }
    }
    qsort(flight->dumps, flight->n_dumps, sizeof(*flight->dumps), by_rank);
}

/* --- dumps of another time ------------------------------------------------ */

/* No rank waits for another for longer than a collective's timeout, which is
 * 10 min by default; then PyTorch ends the job. */
#define TIMEOUT_US (INT64_C(600) * 1000000)
#define SLACK_US (INT64_C(60) * 1000000)
/* So many collectives may have ended on one rank that another has not called:
 * the root of a broadcast does not wait. */
#define APART_CALLS 4096

/* The collectives of a group in a dump. */
struct span {
    size_t dump;
    const struct flight_place *place;
};

static int by_group(const void *a, const void *b)
{
    const struct flight_place *x = ((const struct span *) a)->place,
                              *y = ((const struct span *) b)->place;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->high_us > y->high_us) - (x->high_us < y->high_us);
}

/* All spans of two collectives or more whose times are known, by group, then by
 * time; the caller frees them. NULL: no memory. */
static struct span *list_spans(const struct jp_flight *flight, size_t *n)
{
    struct span *spans;
    size_t room = 1;

    for (size_t i = 0; i < flight->n_dumps; i++)
        room += flight->dumps[i].n_places;
    spans = calloc(room, sizeof(*spans));
    *n = 0;
    for (size_t i = 0; spans && i < flight->n_dumps; i++)
        for (size_t k = 0; k < flight->dumps[i].n_places; k++) {
            const struct flight_place *p = &flight->dumps[i].places[k];

            if (!flight->dumps[i].bad && p->low >= 0 && p->low < p->high &&
                p->low_us > 0 && p->high_us > 0)
                spans[(*n)++] = (struct span){i, p};
        }
    if (spans)
        qsort(spans, *n, sizeof(*spans), by_group);
    return spans;
}

/* How far apart ranks of one incident may call a collective. */
static int64_t longest_wait_us(const struct jp_flight *flight)
{
    int64_t longest = TIMEOUT_US;

    for (size_t i = 0; i < flight->n_dumps; i++)
        for (size_t k = 0; k < flight->dumps[i].n_ops; k++) {
            int64_t ms = flight->dumps[i].ops[k].timeout_ms;

            if (ms > 0 && ms < INT64_MAX / 2000 && ms * 1000 > longest)
                longest = ms * 1000;
        }
    return longest + SLACK_US;
}

/* Whether a time is between those of a span, or apart_us beside them. */
static bool is_within(int64_t us, const struct flight_place *p,
                      int64_t apart_us)
{
    return us >= p->low_us - apart_us && us <= p->high_us + apart_us;
}

/* Whether the collectives of two spans were called in one incident: those that
 * both have at about the same times, at one end at least, earlier ones before,
 * and none has ended that the other has yet to call. */
static bool is_together(const struct flight_place *p,
                        const struct flight_place *other, int64_t apart_us)
{
    int64_t called = p->called > p->high ? p->called : p->high;

    if (other->ended > APART_CALLS && called < other->ended - APART_CALLS)
        return false;
    if (p->low > other->high)
        return p->low_us >= other->high_us - apart_us;
    if (p->high < other->low)
        return p->high_us <= other->low_us + apart_us;
    return (p->high <= other->high ? is_within(p->high_us, other, apart_us)
                                   : is_within(other->high_us, p, apart_us)) ||
           (p->low >= other->low ? is_within(p->low_us, other, apart_us)
                                 : is_within(other->low_us, p, apart_us));
}

/* In how many groups a dump's calls fit those of others, in how many they do
 * not, and how much later they are. */
struct fit {
    size_t near, apart;
    int64_t by_us;
};

/* Compares the spans of a group with the middle one; of two, with the younger
 * one. */
static void fit_group(const struct span *spans, size_t n, int64_t apart_us,
                      struct fit *fits)
{
    const struct flight_place *middle = spans[n / 2].place;

    for (size_t i = 0; i < n && n > 1; i++) {
        struct fit *fit = &fits[spans[i].dump];

        if (is_together(spans[i].place, middle, apart_us)) {
            fit->near++;
        } else {
            fit->apart++;
            fit->by_us = spans[i].place->high_us - middle->high_us;
        }
    }
}

/* Leaves out dumps that show collectives of another time, such as one that an
 * earlier attempt of the job has left. Returns -1 without memory. */
static int drop_apart(struct jp_flight *flight)
{
    size_t n = 0;
    struct span *spans = list_spans(flight, &n);
    struct fit *fits = calloc(flight->n_dumps + 1, sizeof(*fits));
    int64_t apart_us = longest_wait_us(flight);
    int rc = spans && fits ? 0 : -1;

    for (size_t i = 0, k; rc == 0 && i < n; i = k) {
        for (k = i + 1; k < n && spans[k].place->group == spans[i].place->group;
             k++)
            ;
        fit_group(spans + i, k - i, apart_us, fits);
    }
    for (size_t i = 0; rc == 0 && i < flight->n_dumps; i++) {
        struct flight_dump *d = &flight->dumps[i];
        int64_t by_us = fits[i].by_us;

        if (fits[i].apart <= fits[i].near)
            continue;
        d->bad = true;
        snprintf(d->why, sizeof(d->why),
                 "its last calls are %s %s than those of others: it is of "
                 "another attempt, or its clock is wrong",
                 FIG_US((double) (by_us < 0 ? -by_us : by_us)),
                 by_us < 0 ? "older" : "younger");
    }
    free(fits);
    free(spans);
    if (rc == 0)
        qsort(flight->dumps, flight->n_dumps, sizeof(*flight->dumps), by_rank);
    return rc;
}

int flight_load(const struct flight_file *files, size_t n, int64_t hang_us,
                int (*stop)(void *arg), void *arg, struct jp_flight **out,
                struct jp_error *err)
{
    struct jp_flight *flight;
    int rc = 0;

    *out = NULL;
    if (!n)
        return 0;
    flight = calloc(1, sizeof(*flight));
    if (flight)
        flight->dumps = calloc(n, sizeof(*flight->dumps));
    if (!flight || !flight->dumps)
        rc = error_set(err, "out of memory");
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (stop && stop(arg))
            rc = error_set(err, "stopped");
        else
            rc = read_one(flight, &files[i], &flight->dumps[flight->n_dumps++],
                          err);
    }
    if (rc == 0) {
        choose_incident(flight);
        if (drop_apart(flight) < 0)
            rc = error_set(err, "out of memory");
    }
    if (rc == 0) {
        for (size_t i = 0; i < flight->n_dumps; i++)
            flight->n_bad += flight->dumps[i].bad;
        if (flight_judge(flight, hang_us) < 0)
            rc = error_set(err, "out of memory");
    }
    if (rc < 0)
        flight_destroy(flight);
    else
        *out = flight;
    return rc;
}

void flight_destroy(struct jp_flight *flight)
{
    if (!flight)
        return;
    for (size_t i = 0; i < flight->n_dumps; i++)
        flight_dump_fini(&flight->dumps[i]);
    for (size_t i = 0; i < flight->n_groups; i++)
        free(flight->groups[i].ranks);
    for (size_t i = 0; i < flight->n_seen; i++) {
        free(flight->seen[i].states);
        free(flight->seen[i].ranks);
    }
    free(flight->dumps);
    free(flight->groups);
    free(flight->seen);
    free(flight->culprits);
    tdestroy(flight->texts, free);
    free(flight);
}

/* --- words ---------------------------------------------------------------- */

/* A text of limited length, appended to. */
struct words {
    char *buf;
    size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *w,
                                                      const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(w->buf + w->len, w->size - w->len, fmt, ap);
    va_end(ap);
    if (n > 0)
        w->len = w->len + (size_t) n < w->size ? w->len + (size_t) n
                                               : w->size - 1;
}

bool flight_hangs(const struct jp_flight *flight)
{
    return flight && flight->cause != FLIGHT_NOTHING &&
           flight->cause != FLIGHT_RUNNING;
}

char *flight_name(const struct jp_flight *flight, const struct flight_seen *op,
                  char buf[FLIGHT_NAME])
{
    const struct flight_group *g = &flight->groups[op->group];
    bool desc = *g->desc && strcmp(g->desc, g->name) != 0;

    snprintf(buf, FLIGHT_NAME, "%.40s %" PRId64 " of group %.40s%s%.60s%s",
             op->func, op->seq, g->name, desc ? " (" : "", desc ? g->desc : "",
             desc ? ")" : "");
    return buf;
}

/* Writes ascending ranks as "3, 5-7, ...". */
static void add_ranges(struct words *w, const int64_t *ranks, size_t n,
                       size_t most)
{
    size_t ranges = 0;

    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && ranks[k] <= ranks[k - 1] + 1; k++)
            ;
        if (ranges++ == most) {
            add(w, ", ...");
            return;
        }
        add(w, "%s%" PRId64, ranges > 1 ? ", " : "", ranks[i]);
        if (ranks[k - 1] != ranks[i])
            add(w, "-%" PRId64, ranks[k - 1]);
    }
}

char *flight_ranks(const struct flight_seen *op, enum flight_state state,
                   char *buf, size_t size)
{
    struct words w = {buf, size, 0};
    int64_t *some = calloc(op->n + 1, sizeof(*some));
    size_t n = 0;

    *buf = '\0';
    for (size_t i = 0; some && i < op->n; i++)
        if (op->states[i] == (uint8_t) state)
            some[n++] = op->ranks[i];
    if (some)
        add_ranges(&w, some, n, 12);
    free(some);
    return buf;
}

/* "rank 3", "ranks 3 and 5", "ranks 3-5, 9". */
static void add_culprits(struct words *w, const struct jp_flight *flight)
{
    size_t n = flight->n_culprits;
    int64_t *ranks = calloc(n + 1, sizeof(*ranks));

    for (size_t i = 0; ranks && i < n; i++)
        ranks[i] = flight->culprits[i].rank;
    add(w, n == 1 ? "rank " : "ranks ");
    if (ranks && n == 2)
        add(w, "%" PRId64 " and %" PRId64, ranks[0], ranks[1]);
    else if (ranks)
        add_ranges(w, ranks, n, 8);
    free(ranks);
}

/* Whether all culprits are so in the first one's collective. */
static bool is_one(const struct jp_flight *flight)
{
    for (size_t i = 1; i < flight->n_culprits; i++)
        if (flight->culprits[i].seen != flight->culprits->seen)
            return false;
    return true;
}

#define CULPRITS_NAMED 3

/* Each culprit with its collective: "rank 10 all_reduce 17 of group 4". */
static void add_each(struct words *w, const struct jp_flight *flight)
{
    for (size_t i = 0; i < flight->n_culprits && i < CULPRITS_NAMED; i++) {
        const struct flight_culprit *c = &flight->culprits[i];
        char name[FLIGHT_NAME];

        if (c->seen < flight->n_seen)
            add(w, "%s rank %" PRId64 " %s", i ? "," : "", c->rank,
                flight_name(flight, &flight->seen[c->seen], name));
    }
    if (flight->n_culprits > CULPRITS_NAMED)
        add(w, ", ...");
}

/* When it began: "since 07:25:38 UTC (2025-09-23)". */
static void add_since(struct words *w, const struct flight_seen *op)
{
    if (op->since_us > 0)
        add(w, ", since %s", FIG_UTC((uint64_t) op->since_us));
    if (op->age_us >= 1000000)
        add(w, ", for at least %s", FIG_US((double) op->age_us));
}

/* Where the program called it, by the rank that called first. */
static void add_where(struct words *w, const struct flight_seen *op)
{
    if (op->first && op->first->where && *op->first->where)
        add(w, ", called at %.120s", op->first->where);
}

/* Who waits in the collective. */
static void add_inside(struct words *w, const struct flight_seen *op)
{
    char ranks[100];

    flight_ranks(op, FLIGHT_INSIDE, ranks, sizeof(ranks));
    if (*ranks)
        add(w, "; %s %s wait%s in it",
            op->count[FLIGHT_INSIDE] == 1 ? "rank" : "ranks", ranks,
            op->count[FLIGHT_INSIDE] == 1 ? "s" : "");
}

/* Who waits in which message, the first MESSAGES ranks of them. */
static void add_waiting(struct words *w, const struct jp_flight *flight)
{
    enum { MESSAGES = 3 };
    uint64_t n = 0;

    for (size_t i = 0; i < flight->n_dumps; i++) {
        const struct flight_dump *d = &flight->dumps[i];
        const struct flight_op *op = NULL;

        for (size_t k = 0; k < d->n_ops && !op && !d->bad; k++)
            if (d->ops[k].peer >= 0 && flight_dump_waits(d, &d->ops[k]))
                op = &d->ops[k];
        if (!op || n++ >= MESSAGES)
            continue;
        if (n == 1)
            add(w, "rank %" PRId64 " waits in %.60s", d->rank, op->func);
        else
            add(w, ", rank %" PRId64 " in %.60s", d->rank, op->func);
    }
    if (n == 0)
        add(w, "%" PRIu64 " rank%s wait%s for messages", flight->waiting,
            plural(flight->waiting), flight->waiting == 1 ? "s" : "");
    else if (n > MESSAGES)
        add(w, ", and %" PRIu64 " other rank%s in messages", n - MESSAGES,
            plural(n - MESSAGES));
}

/* The culprit's message. */
static void add_message(struct words *w, const struct jp_flight *flight)
{
    const struct flight_culprit *c = flight->culprits;

    if (!flight->n_culprits) {
        add_waiting(w, flight);
        return;
    }
    add(w,
        "rank %" PRId64 " is in nothing, and rank %" PRId64 " waits in %.60s",
        c->rank, c->waits, c->message->func);
    if (c->message->created_us > 0)
        add(w, ", since %s", FIG_UTC((uint64_t) c->message->created_us));
    if (*c->message->where)
        add(w, ", called at %.120s", c->message->where);
}

char *flight_text(const struct jp_flight *flight, char buf[FLIGHT_TEXT])
{
    struct words w = {buf, FLIGHT_TEXT, 0};
    const struct flight_seen *op = flight->n_seen ? flight->seen : NULL;
    char name[FLIGHT_NAME] = "", ranks[100];
    size_t good = flight->n_dumps - flight->n_bad;

    *buf = '\0';
    if (flight->n_culprits && flight->culprits->seen < flight->n_seen)
        op = &flight->seen[flight->culprits->seen];
    if (op)
        flight_name(flight, op, name);
    switch (flight->cause) {
    case FLIGHT_NOTHING:
        if (good)
            add(&w, "no dump has an operation in flight");
        else
            add(&w, "none of %zu dump%s can be used", flight->n_dumps,
                plural(flight->n_dumps));
        break;
    case FLIGHT_RUNNING:
        add(&w, "operations are in flight, but had just begun when the dumps "
                "were written: the job ran");
        break;
    case FLIGHT_BY_MISMATCH:
        if (op)
            add(&w, "ranks called different operations as %s: %s", name,
                op->differs);
        break;
    case FLIGHT_BY_ABSENCE:
        add_culprits(&w, flight);
        if (is_one(flight)) {
            add(&w, " never entered %s", name);
            break;
        }
        add(&w, " never entered a collective in which others wait:");
        add_each(&w, flight);
        break;
    case FLIGHT_BY_STUCK:
        add_culprits(&w, flight);
        if (!is_one(flight)) {
            add(&w, " are stuck inside a collective that others have left:");
            add_each(&w, flight);
            break;
        }
        flight_ranks(op, FLIGHT_DONE, ranks, sizeof(ranks));
        add(&w, " %s stuck inside %s, which rank%s %s %s left",
            flight->n_culprits == 1 ? "is" : "are", name,
            plural(op->count[FLIGHT_DONE]), ranks,
            op->count[FLIGHT_DONE] == 1 ? "has" : "have");
        break;
    case FLIGHT_BY_ORDER:
        add(&w, "ranks wait for each other in different operations: ");
        add_culprits(&w, flight);
        if (!is_one(flight)) {
            add(&w, " are each in another one than others expect:");
            add_each(&w, flight);
            break;
        }
        add(&w, " did not enter %s, but %s in another one", name,
            flight->n_culprits == 1 ? "is" : "are");
        break;
    case FLIGHT_BY_MESSAGE:
        add_message(&w, flight);
        break;
    case FLIGHT_BY_UNKNOWN:
        if (op) {
            flight_ranks(
                op, op->count[FLIGHT_NO_DUMP] ? FLIGHT_NO_DUMP : FLIGHT_UNSURE,
                ranks, sizeof(ranks));
            add(&w, "%s does not end%s%s%s", name,
                *ranks ? "; whether it was entered is not known of rank" : "",
                *ranks ? plural(op->count[FLIGHT_NO_DUMP]
                                    ? op->count[FLIGHT_NO_DUMP]
                                    : op->count[FLIGHT_UNSURE])
                       : "",
                *ranks ? " " : "");
            add(&w, "%s", ranks);
        }
        break;
    case FLIGHT_INSIDE_ALL:
        add(&w,
            "all ranks have called %s, and it ends in none: the network or "
            "a GPU",
            name);
        break;
    case FLIGHT_N_CAUSES:
        break;
    }
    if (op && flight_hangs(flight) && flight->cause != FLIGHT_BY_MESSAGE) {
        add_since(&w, op);
        add_where(&w, op);
        if (is_one(flight) && (flight->cause == FLIGHT_BY_ABSENCE ||
                               flight->cause == FLIGHT_BY_ORDER))
            add_inside(&w, op);
    }
    if (flight_hangs(flight))
        add(&w,
            "; %" PRIu64 " of %zu ranks with a dump %s in operations that "
            "have not ended",
            flight->waiting, good, flight->waiting == 1 ? "is" : "are");
    return buf;
}

/* The verb of a cause, before the name of the collective. */
static const char *const verbs[FLIGHT_N_CAUSES][2] = {
    [FLIGHT_BY_MISMATCH] = {"does not match in", "do not match in"},
    [FLIGHT_BY_ABSENCE] = {"never entered", "never entered"},
    [FLIGHT_BY_STUCK] = {"is stuck inside", "are stuck inside"},
    [FLIGHT_BY_ORDER] = {"is in another operation than",
                         "are in other operations than"},
};

/* "Rank 10 never entered ..., and rank 15 never entered ...". */
static void add_subjects(struct words *w, const struct jp_flight *flight)
{
    const char *const *verb = verbs[flight->cause];
    char name[FLIGHT_NAME];

    if (is_one(flight)) {
        add_culprits(w, flight);
        w->buf[0] = 'R'; /* it begins a sentence */
        add(w, " %s %s", verb[flight->n_culprits > 1],
            flight_name(flight, &flight->seen[flight->culprits->seen], name));
        return;
    }
    for (size_t i = 0; i < flight->n_culprits && i < CULPRITS_NAMED; i++)
        add(w, "%s %" PRId64 " %s %s", i ? ", and rank" : "Rank",
            flight->culprits[i].rank, verb[0],
            flight_name(flight, &flight->seen[flight->culprits[i].seen], name));
    if (flight->n_culprits > CULPRITS_NAMED)
        add(w, ", and %zu more", flight->n_culprits - CULPRITS_NAMED);
}

/* Who waits in the collective, or has left it; from where and since when. */
static void add_waiters(struct words *w, const struct jp_flight *flight,
                        const struct flight_seen *op)
{
    bool stuck = flight->cause == FLIGHT_BY_STUCK, several;
    char ranks[100];

    flight_ranks(op, stuck ? FLIGHT_DONE : FLIGHT_INSIDE, ranks, sizeof(ranks));
    if (!*ranks)
        return;
    several = strpbrk(ranks, ",-") != NULL;
    add(w, " Rank%s %s %s %s", several ? "s" : "", ranks,
        stuck     ? several ? "have left" : "has left"
        : several ? "wait in"
                  : "waits in",
        is_one(flight) ? "it" : "the first");
    add_where(w, op);
    if (op->since_us > 0)
        add(w, ", since %s", FIG_UTC((uint64_t) op->since_us) + 11);
    add(w, ".");
}

/* Appends a clause as a sentence. */
static void add_sentence(struct words *w, const char *clause)
{
    if (*clause)
        add(w, "%s%c%s.", w->len ? " " : "", toupper((unsigned char) *clause),
            clause + 1);
}

char *flight_plain(const struct jp_flight *flight, char buf[FLIGHT_TEXT])
{
    struct words w = {buf, FLIGHT_TEXT, 0};
    const struct flight_seen *op = flight->n_seen ? flight->seen : NULL;
    char text[FLIGHT_TEXT];

    *buf = '\0';
    if (!flight_hangs(flight))
        return buf;
    if (flight->n_culprits && flight->culprits->seen < flight->n_seen)
        op = &flight->seen[flight->culprits->seen];
    if (op && flight->n_culprits && verbs[flight->cause][0]) {
        add_subjects(&w, flight);
        if (flight->cause == FLIGHT_BY_MISMATCH)
            add(&w, ": %s", op->differs);
        add(&w, ".");
        if (flight->cause != FLIGHT_BY_MISMATCH)
            add_waiters(&w, flight, op);
    } else if (op && flight->cause != FLIGHT_BY_MESSAGE) {
        add(&w, "%s: it does not end.", flight_name(flight, op, text));
        buf[0] = (char) toupper((unsigned char) buf[0]);
        add_waiters(&w, flight, op);
    } else {
        struct words message = {text, sizeof(text), 0};

        *text = '\0';
        add_message(&message, flight);
        add_sentence(&w, text);
    }
    add_sentence(&w, flight_gaps(flight, text));
    return buf;
}

char *flight_gaps(const struct jp_flight *flight, char buf[FLIGHT_TEXT])
{
    struct words w = {buf, FLIGHT_TEXT, 0};
    const struct flight_group *all = NULL;
    int64_t *lost;
    size_t n = 0, bad = flight->n_bad - (size_t) flight->of_others;

    *buf = '\0';
    for (size_t i = 0; i < flight->n_groups; i++)
        if (!all || flight->groups[i].n_ranks > all->n_ranks)
            all = &flight->groups[i];
    lost = all ? calloc(all->n_ranks + 1, sizeof(*lost)) : NULL;
    for (size_t i = 0; lost && i < all->n_ranks; i++) {
        bool found = false;

        for (size_t k = 0; k < flight->n_dumps && !found; k++)
            found = !flight->dumps[k].bad &&
                    flight->dumps[k].rank == all->ranks[i];
        if (!found)
            lost[n++] = all->ranks[i];
    }
    if (n) {
        add(&w, "rank%s ", plural(n));
        add_ranges(&w, lost, n, 12);
        add(&w, " left no dump%s, so %s may be anywhere",
            bad ? " that can be used" : "", n == 1 ? "it" : "they");
    }
    free(lost);
    if (bad)
        add(&w, "%s%zu dump%s cannot be used", *buf ? "; " : "", bad,
            plural(bad));
    for (size_t i = 0; bad && i < flight->n_dumps; i++)
        if (flight->dumps[i].bad && !flight->dumps[i].other) {
            const char *path = flight->dumps[i].path;

            add(&w, " (%s%.60s: %.120s)", bad > 1 ? "first: " : "",
                path + folder_length(path) + (strchr(path, '/') != NULL),
                flight->dumps[i].why);
            break;
        }
    if (flight->of_others)
        add(&w,
            "%s%" PRIu64 " dump%s of other incidents %s not judged: give "
            "aggregate one folder at a time",
            *buf ? "; " : "", flight->of_others, plural(flight->of_others),
            flight->of_others == 1 ? "is" : "are");
    return buf;
}
