/* reader_stamps.c - first start and last stop of a verbose record's kernels.
 *
 * reader_stamps_read() parses an event_trace_ts and may make a map of where its
 * stamps are. With that map reader_stamps_mapped() reads another one of the
 * same layout without parsing.
 */
#include "plugins/nccl_inspector/reader_parts.h"

#define GUESS(c, text) reader_json_guess(c, text, sizeof(text) - 1)

/* An event_trace_ts being read. */
struct scan {
    struct reader_json_cursor c;
    const char *text; /* where it begins */
    struct reader_stamps stamps;
    bool open; /* a channel has no stop: the end is unknown */
    struct stamps_map *map;
    bool mapped; /* the map can still be made */
};

/* A number, where it is, and how often it was there. */
struct stamp {
    uint64_t us;
    const char *at;
    size_t len;
    unsigned seen;
};

static bool take_stamp(struct reader_json_cursor *c, struct stamp *stamp)
{
    reader_json_blank(c);
    stamp->at = c->p;
    stamp->seen++;
    if (!reader_json_u64(c, &stamp->us) || stamp->us > INT64_MAX)
        return false;
    stamp->len = (size_t) (c->p - stamp->at);
    return true;
}

static bool is_key(const struct reader_json_raw *key, const char *name)
{
    return key->len == strlen(name) && !memcmp(key->text, name, key->len);
}

/* Takes one member of a channel's object. The usual spelling is guessed first.
 */
static bool take_member(struct reader_json_cursor *c, struct stamp *start,
                        struct stamp *stop)
{
    struct reader_json_raw key;

    if (GUESS(c, "\"kernel_start_ts\":"))
        return take_stamp(c, start);
    if (GUESS(c, "\"kernel_stop_ts\":"))
        return take_stamp(c, stop);
    if (!reader_json_string(c, &key) || !reader_json_take(c, ':'))
        return false;
    if (is_key(&key, "kernel_start_ts"))
        return take_stamp(c, start);
    if (is_key(&key, "kernel_stop_ts"))
        return take_stamp(c, stop);
    return reader_json_skip(c);
}

/* Adds a channel to the map, or gives the map up if a stamp is missing,
 * repeated or of another length. */
static void map_channel(struct scan *s, const struct stamp *start,
                        const struct stamp *stop)
{
    struct stamps_map *map = s->map;

    s->mapped = s->mapped && map->n < STAMPS_CHANNELS && start->seen == 1 &&
                stop->seen == 1 && start->len == STAMPS_DIGITS &&
                stop->len == STAMPS_DIGITS &&
                start->at - s->text < UINT16_MAX &&
                stop->at - s->text < UINT16_MAX;
    if (!s->mapped)
        return;
    map->start[map->n] = (uint16_t) (start->at - s->text);
    map->stop[map->n++] = (uint16_t) (stop->at - s->text);
}

/* Takes a channel's object and updates the first start and the last stop. */
static bool take_channel(struct scan *s)
{
    struct stamp start = {0}, stop = {0};

    if (!reader_json_take(&s->c, '{'))
        return false;
    do {
        if (!take_member(&s->c, &start, &stop))
            return false;
    } while (reader_json_take(&s->c, ','));
    if (start.us && (!s->stamps.start_us || start.us < s->stamps.start_us))
        s->stamps.start_us = start.us;
    if (start.us && stop.us > s->stamps.stop_us)
        s->stamps.stop_us = stop.us;
    s->open |= start.us && !stop.us;
    map_channel(s, &start, &stop);
    return reader_json_take(&s->c, '}');
}

static bool take_channels(struct scan *s)
{
    if (!reader_json_take(&s->c, '['))
        return false;
    if (reader_json_take(&s->c, ']'))
        return true;
    do {
        if (!take_channel(s))
            return false;
    } while (reader_json_take(&s->c, ','));
    return reader_json_take(&s->c, ']');
}

/* Takes the whole value. */
static bool take_trace(struct scan *s)
{
    struct reader_json_raw key;

    if (!reader_json_take(&s->c, '{'))
        return false;
    do {
        if (!reader_json_string(&s->c, &key) || !reader_json_take(&s->c, ':') ||
            !(is_key(&key, "kernel_events") ? take_channels(s)
                                            : reader_json_skip(&s->c)))
            return false;
    } while (reader_json_take(&s->c, ','));
    return reader_json_take(&s->c, '}') && s->c.p == s->c.end;
}

/* Refuses stamps where the last stop precedes the first start. */
static struct reader_stamps check_stamps(struct reader_stamps stamps)
{
    return stamps.stop_us && stamps.stop_us < stamps.start_us
               ? (struct reader_stamps){0, 0}
               : stamps;
}

struct reader_stamps reader_stamps_read(const char *text, size_t len,
                                        struct stamps_map *map)
{
    struct scan s = {.c = {text, text + len},
                     .text = text,
                     .map = map,
                     .mapped = map != NULL};
    bool good;

    if (map)
        map->n = 0;
    good = take_trace(&s);
    if (map && (!s.mapped || !good))
        map->n = 0;
    if (!good || !s.stamps.start_us)
        return (struct reader_stamps){0, 0};
    if (s.open)
        s.stamps.stop_us = 0;
    return check_stamps(s.stamps);
}

/* The digits of a number in big-endian order, so that they compare like the
 * number. Only the result is converted. */
struct digits {
    uint64_t high, low;
};

static inline struct digits load_digits(const char *p)
{
    struct digits d;

    memcpy(&d, p, sizeof(d));
    return (struct digits){be64toh(d.high), be64toh(d.low)};
}

static inline bool less(struct digits a, struct digits b)
{
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

static inline uint64_t value(struct digits d)
{
    uint64_t high = __builtin_bswap64(d.high), low = __builtin_bswap64(d.low);

    return swar_value(high ^ SWAR_ALL(0x30)) * 100000000 +
           swar_value(low ^ SWAR_ALL(0x30));
}

struct reader_stamps reader_stamps_mapped(const char *text,
                                          const struct stamps_map *map)
{
    struct digits first = load_digits(text + map->start[0]);
    /* `least` is the smallest stop, only to find a leading 0 */
    struct digits last = load_digits(text + map->stop[0]), least = last;

    for (unsigned i = 1; i < map->n; i++) {
        struct digits start = load_digits(text + map->start[i]);
        struct digits stop = load_digits(text + map->stop[i]);

        if (less(start, first))
            first = start;
        if (less(last, stop))
            last = stop;
        if (less(stop, least))
            least = stop;
    }
    /* a leading 0 is no number: reader_stamps_read() would refuse it */
    if (first.high >> 56 == '0' || least.high >> 56 == '0')
        return (struct reader_stamps){0, 0};
    return check_stamps((struct reader_stamps){value(first), value(last)});
}
