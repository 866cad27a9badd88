/* xmlscan.c - iterate over the elements of a small, foreign XML text.
 *
 * xmlscan_next returns one event per call. Names and values are terminated by
 * writing NUL into the text, so nothing is allocated; `held` is a character
 * that was overwritten and is restored at the next call. The byte after the
 * text is NUL, so every loop over characters ends there. */
#include "orchestrator/topo/topo_parts.h"

#include <stdint.h>
#include <string.h>

/* The scan begins at the first byte after a byte order mark. */
void xmlscan_init(struct xmlscan *scan, char *text, size_t len)
{
    memset(scan, 0, sizeof(*scan));
    scan->begin = scan->at = text;
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        scan->at += 3; /* the byte order mark of UTF-8 */
    scan->end = text + len;
}

/* Counts lines from the beginning; only called for error messages. */
unsigned xmlscan_line(const struct xmlscan *scan)
{
    unsigned line = 1;

    for (const char *c = scan->begin; c < scan->at && c < scan->end; c++)
        line += *c == '\n';
    return line;
}

/* Sets the error, and returns the event for it. */
static enum xmlscan_event fail(const char *what, struct jp_error *err)
{
    error_set(err, "%s", what);
    return XMLSCAN_ERROR;
}

/* The blanks of XML. */
static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether the character may be part of a name. A table, because every byte of
 * every name is tested. */
static bool is_name(char c)
{
    static const bool of[256] = {['a' ... 'z'] = true, ['A' ... 'Z'] = true,
                                 ['0' ... '9'] = true, ['_'] = true,
                                 ['-'] = true,         ['.'] = true,
                                 [':'] = true};

    return of[(unsigned char) c];
}

/* Ends at the NUL after the text. */
static void skip_blanks(struct xmlscan *scan)
{
    while (is_blank(*scan->at))
        scan->at++;
}

/* Skips to the position after `mark`. Returns false if it does not occur. */
static bool skip_past(struct xmlscan *scan, const char *mark)
{
    char *hit =
        memmem(scan->at, (size_t) (scan->end - scan->at), mark, strlen(mark));

    if (hit)
        scan->at = hit + strlen(mark);
    return hit != NULL;
}

/* Writes a character as UTF-8. Returns the number of bytes; 0: not a character
 * (NUL, a surrogate, or out of range). */
static size_t put_utf8(char *out, uint32_t c)
{
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    if (c < 0x80) {
        out[0] = (char) c;
        return 1;
    }
    if (c < 0x800) {
        /* Two bytes: 5 and 6 bits. */
        out[0] = (char) (0xc0 | c >> 6);
        out[1] = (char) (0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        /* Three bytes: 4, 6 and 6 bits. */
        out[0] = (char) (0xe0 | c >> 12);
        out[1] = (char) (0x80 | (c >> 6 & 0x3f));
        out[2] = (char) (0x80 | (c & 0x3f));
        return 3;
    }
    /* Four bytes: 3, 6, 6 and 6 bits. */
    out[0] = (char) (0xf0 | c >> 18);
    out[1] = (char) (0x80 | (c >> 12 & 0x3f));
    out[2] = (char) (0x80 | (c >> 6 & 0x3f));
    out[3] = (char) (0x80 | (c & 0x3f));
    return 4;
}

/* Returns the digit's value, or -1 if it is none in that base. */
static int digit_of(char c, unsigned base)
{
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;

    return digit < (int) base ? digit : -1;
}

/* Decodes "#65;" or "#x41;" at c; its bytes go to out. Returns the position
 * after it, or NULL. The bytes never need more room than the reference. */
static char *decode_number(char *c, char *out, size_t *n)
{
    unsigned base = c[1] == 'x' ? 16 : 10;
    uint32_t value = 0;
    char *first = c + (base == 16 ? 2 : 1);

    for (c = first; digit_of(*c, base) >= 0; c++) {
        value = value * base + (uint32_t) digit_of(*c, base);
        if (value > 0x10ffff)
            return NULL;
    }
    if (c == first || *c != ';')
        return NULL;
    *n = put_utf8(out, value);
    return *n ? c + 1 : NULL;
}

/* Decodes an entity at c ("&..."). Returns the position after it, or NULL. */
static char *decode_entity(char *c, char *out, size_t *n)
{
    static const struct {
        const char *name;
        char value;
    } names[] = {{"lt;", '<'},
                 {"gt;", '>'},
                 {"amp;", '&'},
                 {"quot;", '"'},
                 {"apos;", '\''}};

    if (c[1] == '#')
        return decode_number(c + 1, out, n);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t len = strlen(names[i].name);

        if (strncmp(c + 1, names[i].name, len) == 0) {
            *out = names[i].value;
            *n = 1;
            return c + 1 + len;
        }
    }
    return NULL;
}

/* Decodes a NUL-terminated value in place. Decoding never lengthens it. */
static bool decode(char *value)
{
    char *out = strchr(value, '&');
    char *c = out;

    if (!c)
        return true;
    while (*c) {
        size_t n = 0;
        char bytes[4];

        if (*c != '&') {
            *out++ = *c++;
            continue;
        }
        /* Through a buffer, because out may overlap the entity. */
        c = decode_entity(c, bytes, &n);
        if (!c)
            return false;
        memcpy(out, bytes, n);
        out += n;
    }
    *out = '\0';
    return true;
}

/* Takes a name, and terminates it by overwriting the following character, which
 * is returned in *behind. */
static const char *take_name(struct xmlscan *scan, char *behind)
{
    char *name = scan->at;

    while (is_name(*scan->at))
        scan->at++;
    if (scan->at == name)
        return NULL;
    *behind = *scan->at;
    if (scan->at < scan->end)
        *scan->at++ = '\0';
    return name;
}

/* Takes `name = "value"` at a name. Returns NULL, or what is wrong. */
static const char *take_attr(struct xmlscan *scan)
{
    struct xmlscan_attr *attr = &scan->attrs[scan->n_attrs];
    char behind = '\0', quote;
    char *value, *close;
    bool coded = false;

    if (scan->n_attrs == XMLSCAN_MAX_ATTRS)
        return "too many attributes";
    attr->name = take_name(scan, &behind);
    if (!attr->name)
        return "not an attribute's name";
    /* Blanks may precede the equals sign. */
    if (behind != '=') {
        skip_blanks(scan);
        if (!is_blank(behind) || *scan->at != '=')
            return "an attribute without a value";
        scan->at++;
    }
    skip_blanks(scan);
    quote = *scan->at;
    if (quote != '"' && quote != '\'')
        return "a value without quotes";
    value = ++scan->at;
    for (close = value; *close != quote; close++) {
        /* XML forbids '<' in values. */
        if (!*close || *close == '<')
            return "a value without an end";
        coded |= *close == '&';
    }
    *close = '\0';
    scan->at = close + 1;
    attr->value = value;
    scan->n_attrs++;
    return !coded || decode(value) ? NULL : "a value with an unknown entity";
}

/* Called after '<', at a name. Takes the element and its attributes. */
static enum xmlscan_event open_element(struct xmlscan *scan,
                                       struct jp_error *err)
{
    const char *wrong = NULL;
    char behind = '\0';

    scan->n_attrs = 0;
    scan->name = take_name(scan, &behind);
    if (!scan->name)
        return fail("a '<' without an element", err);
    /* The stack of names is fixed; no real topology is that deep. */
    if (scan->depth == XMLSCAN_MAX_DEPTH)
        return fail("elements too deep", err);
    /* take_name has consumed the blank after the name. */
    while (is_blank(behind)) {
        skip_blanks(scan);
        behind = *scan->at;
        if (behind == '>' || behind == '/') {
            scan->at++;
            break;
        }
        wrong = take_attr(scan);
        if (wrong)
            return fail(wrong, err);
        behind = *scan->at;
        if (scan->at < scan->end)
            scan->at++;
    }
    /* "<a/>": the close event comes at the next call. */
    if (behind == '/' && *scan->at == '>') {
        scan->at++;
        scan->closing = true;
    } else if (behind != '>') {
        return fail("an element without an end", err);
    }
    scan->open[scan->depth++] = scan->name;
    return XMLSCAN_OPEN;
}

/* Called after "</". */
static enum xmlscan_event close_element(struct xmlscan *scan,
                                        struct jp_error *err)
{
    char behind = '\0';
    const char *name = take_name(scan, &behind);

    if (name && is_blank(behind)) {
        skip_blanks(scan);
        behind = *scan->at;
        scan->at += behind == '>';
    }
    if (!name || behind != '>' || !scan->depth ||
        strcmp(name, scan->open[scan->depth - 1]) != 0)
        return fail("an end that does not match", err);
    scan->name = name;
    /* The depth is reduced at the next call, so that the event still has it. */
    scan->left = true;
    return XMLSCAN_CLOSE;
}

/* Called after "<!" or "<?". Skips it. Returns NULL, or what is wrong. */
static const char *skip_special(struct xmlscan *scan)
{
    if (*scan->at == '?')
        return skip_past(scan, "?>") ? NULL : "a '<?' without an end";
    if (strncmp(scan->at, "!--", 3) == 0) {
        scan->at += 3;
        return skip_past(scan, "-->") ? NULL : "a comment without an end";
    }
    if (strncmp(scan->at, "![CDATA[", 8) == 0)
        return skip_past(scan, "]]>") ? NULL : "a CDATA without an end";
    /* A DOCTYPE may only stand before the root element. */
    if (strncmp(scan->at, "!DOCTYPE", 8) != 0 || scan->depth)
        return "a declaration";
    for (; scan->at < scan->end && *scan->at != '>'; scan->at++)
        /* Declarations could define entities, which can grow without limit. */
        if (*scan->at == '[')
            return "declarations in the DOCTYPE";
    scan->at++;
    return scan->at <= scan->end ? NULL : "a DOCTYPE without an end";
}

/* Called at a character that is not '<'. The '<' after the text is overwritten
 * by NUL; settle_event restores it. */
static enum xmlscan_event take_text(struct xmlscan *scan, struct jp_error *err)
{
    char *text = scan->at;
    char *next = memchr(text, '<', (size_t) (scan->end - text));

    /* Text must be followed by a tag. */
    if (!scan->depth || !next)
        return fail("text outside of elements", err);
    scan->at = next;
    scan->held = '<';
    *next = '\0';
    scan->text = text;
    return XMLSCAN_TEXT;
}

/* The end is an error inside an element, or before the first one. */
static enum xmlscan_event at_end(struct xmlscan *scan, struct jp_error *err)
{
    if (scan->depth || !scan->over)
        return fail("it ends in an element", err);
    return XMLSCAN_END;
}

/* Completes what the previous event has left open. */
static void settle_event(struct xmlscan *scan)
{
    if (scan->left) {
        scan->left = false;
        scan->over = --scan->depth == 0;
    }
    if (scan->held) {
        *scan->at = scan->held;
        scan->held = '\0';
    }
}

/* One event per call: undo, deliver a delayed close, then skip to the next tag
 * or text. */
enum xmlscan_event xmlscan_next(struct xmlscan *scan, struct jp_error *err)
{
    const char *wrong;

    settle_event(scan);
    if (scan->closing) {
        scan->closing = false;
        scan->left = true;
        return XMLSCAN_CLOSE;
    }
    for (;;) {
        skip_blanks(scan);
        if (scan->at >= scan->end)
            return at_end(scan, err);
        if (*scan->at != '<')
            return take_text(scan, err);
        scan->at++;
        if (*scan->at == '!' || *scan->at == '?') {
            /* Comments and the like are no events. */
            wrong = skip_special(scan);
            if (wrong)
                return fail(wrong, err);
            continue;
        }
        if (*scan->at == '/') {
            scan->at++;
            return close_element(scan, err);
        }
        /* XML has one outermost element. */
        if (scan->over)
            return fail("a second outermost element", err);
        return open_element(scan, err);
    }
}

const char *xmlscan_attr(const struct xmlscan *scan, const char *name)
{
    for (unsigned i = 0; i < scan->n_attrs; i++)
        if (strcmp(scan->attrs[i].name, name) == 0)
            return scan->attrs[i].value;
    return NULL;
}
