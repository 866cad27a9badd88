/* reader_details.c - the values of a line that no record keeps: what the line
 * says about its writer, and its figures as they were written.
 *
 * A line is walked with the cursor of the parser. What is no string or no
 * number where one is expected stays absent.
 */
#include <string.h>

#include "plugins/nccl_inspector/reader_parts.h"

/* Where a value goes, by the object and the key. */
static const struct detail {
    const char *object, *key;
    size_t offset; /* into struct inspector_details */
    bool number;
} details[] = {
#define DETAIL(object, key, field, number)                                     \
    {                                                                          \
        object, key, offsetof(struct inspector_details, field), number         \
    }
    DETAIL("metadata", "inspector_output_format_version", version, false),
    DETAIL("metadata", "git_rev", git_rev, false),
    DETAIL("metadata", "rec_mechanism", mechanism, false),
    DETAIL("coll_perf", "coll_algo", algo, false),
    DETAIL("coll_perf", "coll_proto", proto, false),
    DETAIL("coll_perf", "coll_timing_source", timing_source, false),
    DETAIL("coll_perf", "coll_algobw_gbs", algobw, true),
#undef DETAIL
};

/* Whether the bytes are the text. */
static bool is_text(const struct reader_json_raw *raw, const char *text)
{
    return raw->len == strlen(text) && !memcmp(raw->text, text, raw->len);
}

/* Takes the value of a key, and keeps it if a row is about it. */
static bool take_value(struct reader_json_cursor *c,
                       const struct reader_json_raw *object,
                       const struct reader_json_raw *key,
                       struct inspector_details *out)
{
    struct reader_json_raw raw;
    const char *start;

    reader_json_blank(c);
    start = c->p;
    for (size_t i = 0; i < sizeof(details) / sizeof(*details); i++) {
        const struct detail *row = &details[i];
        struct record_text *to =
            (struct record_text *) ((char *) out + row->offset);

        if (!is_text(object, row->object) || !is_text(key, row->key) ||
            start >= c->end || (*start == '"') == row->number)
            continue;
        if (row->number) {
            if (!reader_json_skip(c))
                return false;
            *to = (struct record_text){start, (size_t) (c->p - start)};
        } else {
            if (!reader_json_string(c, &raw))
                return false;
            if (raw.plain)
                *to = (struct record_text){raw.text, raw.len};
        }
        return true;
    }
    return reader_json_skip(c);
}

/* Walks an object, after its opening bracket. `object` is its name; that of the
 * line is empty, and its objects are walked, too. */
static bool walk(struct reader_json_cursor *c,
                 const struct reader_json_raw *object,
                 struct inspector_details *out)
{
    struct reader_json_raw key;

    if (reader_json_take(c, '}'))
        return true;
    do {
        bool good;

        reader_json_blank(c);
        if (!reader_json_string(c, &key) || !reader_json_take(c, ':'))
            return false;
        out->has_metadata |= !object->len && is_text(&key, "metadata");
        good = !object->len && reader_json_take(c, '{')
                   ? walk(c, &key, out)
                   : take_value(c, object, &key, out);
        if (!good)
            return false;
    } while (reader_json_take(c, ','));
    return reader_json_take(c, '}');
}

void inspector_details_read(const char *line, size_t len,
                            struct inspector_details *out)
{
    struct reader_json_cursor c = {line, line + len};
    const struct reader_json_raw whole = {"", 0, true};

    *out = (struct inspector_details){.has_metadata = false};
    if (!reader_json_take(&c, '{') || !walk(&c, &whole, out))
        *out = (struct inspector_details){.has_metadata = false};
}
