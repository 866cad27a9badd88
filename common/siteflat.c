/* siteflat.c - expand the @include lines of a settings file, so that libconfig
 * itself opens no file.
 *
 * siteflat_read copies the files into one text and keeps a table that leads
 * from its lines back to file and line. The scanner knows strings and comments
 * only as far as needed to find real @include lines. A site's fragments follow
 * its file in the same text. The last part, sitelist_*, reads files that
 * consist of one list of groups.
 */
#include "common/siteflat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/nearest.h"
#include "common/ownplace.h"
#include "common/quote.h"
#include "common/utf8.h"
#include "common/vector.h"

/* --- text that makes libconfig open no file --- */

int conftext_check(const char *text, size_t len, const char *name,
                   struct jp_error *err)
{
    /* Every line that may be taken for an inclusion is refused, even within a
     * string or comment: libconfig's scanner is not copied exactly here. */
    static const char word[] = "@include";
    const char *p = text, *end = text + len;

    if (memchr(text, '\0', len))
        return error_set(err, "%s: has a NUL byte", name);
    for (unsigned line = 1; p < end; line++) {
        const char *newline = memchr(p, '\n', (size_t) (end - p));

        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        if ((size_t) (end - p) >= sizeof(word) - 1 &&
            !memcmp(p, word, sizeof(word) - 1))
            return error_set(err, "%s:%u: @include is not allowed here", name,
                             line);
        p = newline ? newline + 1 : end;
    }
    return 0;
}

char *conftext_quote(const char *s)
{
    /* At most four bytes for each byte, two quotes and the NUL. */
    char *out = malloc(4 * strlen(s) + 3), *p = out;

    if (!out)
        return NULL;
    /* UTF-8 stays as it is; only quotes, backslashes and control characters are
     * escaped. */
    *p++ = '"';
    for (; *s; s++) {
        unsigned char c = (unsigned char) *s;

        if (c == '"' || c == '\\') {
            *p++ = '\\';
            *p++ = (char) c;
        } else if (c < 0x20 || c == 0x7f) {
            snprintf(p, 5, "\\x%02X", c);
            p += 4;
        } else {
            *p++ = (char) c;
        }
    }
    *p++ = '"';
    *p = '\0';
    return out;
}

/* --- files and what they include --- */

/* The state of one read, through all depths of inclusion. */
struct reader {
    struct siteflat *flat;
    bool user;     /* a user's file */
    bool folders;  /* also check the folders of the path */
    size_t total;  /* bytes read so far */
    unsigned part; /* that is being read */
    struct jp_error *err;
};

/* The position in one file while it is copied. */
struct scan {
    const char *p;
    unsigned file, line;
    int depth;
};

static int read_file(struct reader *r, const char *path, int depth);

/* Grows *array so that it has room for `need` elements of size bytes. -1: no
 * memory. */
static int reserve(void **array, size_t *room, size_t need, size_t size)
{
    return vector_room(array, need, room, size);
}

/* Appends one byte to the text, which always ends with a NUL. */
static int put_byte(struct reader *r, char c)
{
    struct siteflat *flat = r->flat;

    if (reserve((void **) &flat->text, &flat->room, flat->len + 2, 1) < 0)
        return error_set(r->err, "out of memory");
    flat->text[flat->len++] = c;
    flat->text[flat->len] = '\0';
    return 0;
}

/* Notes that the next line of the text is from this line of this file. */
static int begin_line(struct reader *r, const struct scan *s)
{
    struct siteflat *flat = r->flat;

    if (reserve((void **) &flat->lines, &flat->lines_room, flat->n_lines + 1,
                sizeof(*flat->lines)) < 0)
        return error_set(r->err, "out of memory");
    flat->lines[flat->n_lines++] = (struct siteflat_line){s->file, s->line};
    return 0;
}

/* Sets the error for the current file and line. Returns -1. */
static int fail_at(struct reader *r, const struct scan *s, const char *what)
{
    return error_set(r->err, "%s:%u: %s", r->flat->files[s->file], s->line,
                     what);
}

/* Copies the byte at s->p, or a blank for it; line ends stay. */
static int copy_byte(struct reader *r, struct scan *s, bool blank)
{
    char c = *s->p++;

    if (put_byte(r, blank && c != '\n' ? ' ' : c) < 0)
        return -1;
    if (c != '\n')
        return 0;
    s->line++;
    return begin_line(r, s);
}

/* Copies a string with its quotes. A string may span lines. */
static int copy_string(struct reader *r, struct scan *s)
{
    struct scan start = *s;

    if (copy_byte(r, s, false) < 0)
        return -1;
    while (*s->p && *s->p != '"') {
        /* An escaped quote does not end the string. */
        if (*s->p == '\\' && s->p[1] && copy_byte(r, s, false) < 0)
            return -1;
        if (copy_byte(r, s, false) < 0)
            return -1;
    }
    return *s->p ? copy_byte(r, s, false)
                 : fail_at(r, &start, "a string has no end");
}

/* Copies a comment as blanks, so that an @include in it has no effect and
 * columns stay. */
static int blank_comment(struct reader *r, struct scan *s)
{
    struct scan start = *s;

    if (*s->p != '/' || s->p[1] != '*') {
        while (*s->p && *s->p != '\n')
            if (copy_byte(r, s, true) < 0)
                return -1;
        return 0;
    }
    /* both bytes, so that the same star cannot also end the comment */
    for (int i = 0; i < 2; i++)
        if (copy_byte(r, s, true) < 0)
            return -1;
    while (*s->p && strncmp(s->p, "*/", 2) != 0)
        if (copy_byte(r, s, true) < 0)
            return -1;
    if (!*s->p)
        return fail_at(r, &start, "a comment has no end");
    return copy_byte(r, s, true) < 0 || copy_byte(r, s, true) < 0 ? -1 : 0;
}

/* The path of `@include "path"` at s->p, relative to the file's folder. s->p
 * moves past it. Caller frees; NULL: err. */
static char *include_path(struct reader *r, struct scan *s)
{
    const char *p = s->p + strlen("@include"), *start, *from, *slash;
    char *path;
    size_t n;

    n = strspn(p, " \t");
    start = p + n + 1;
    /* Only a plain path is accepted: no escapes, no line break, not empty. */
    if (!n || p[n] != '"' || !(p = strpbrk(start, "\"\\\n")) || *p != '"' ||
        p == start) {
        fail_at(r, s, "@include needs a space and a path in quotes");
        return NULL;
    }
    from = r->flat->files[s->file];
    slash = *start == '/' ? NULL : strrchr(from, '/');
    path = text_format("%.*s%.*s", slash ? (int) (slash - from + 1) : 0, from,
                       (int) (p - start), start);
    if (!path)
        error_set(r->err, "out of memory");
    s->p = p + 1;
    return path;
}

/* Expands one @include. It starts and ends with a line break, so that every
 * line of the text is from one file. */
static int include(struct reader *r, struct scan *s)
{
    char *path = include_path(r, s);
    int rc = -1;

    if (!path)
        return -1;
    if (r->user) {
        fail_at(r, s, "@include is allowed only in the site file");
        errno = EINVAL;
        goto out;
    }
    if (s->depth >= JP_SITEFILE_MAX_DEPTH) {
        fail_at(r, s, "@include is nested too deeply (a loop?)");
        goto out;
    }
    if (put_byte(r, '\n') < 0)
        goto out;
    /* Each level adds its own place to the error. */
    if (read_file(r, path, s->depth + 1) < 0) {
        error_wrap(r->err, "%s:%u: @include", r->flat->files[s->file], s->line);
        errno = EINVAL; /* ENOENT is reserved for the outermost file */
        goto out;
    }
    rc = put_byte(r, '\n') < 0 ? -1 : begin_line(r, s);
out:
    free(path);
    return rc;
}

/* Copies a file's text with comments blanked and includes expanded. An @include
 * counts only at the start of a line, after blanks. */
static int copy_text(struct reader *r, struct scan *s)
{
    bool line_start = true;

    if (begin_line(r, s) < 0)
        return -1;
    while (*s->p) {
        char c = *s->p;
        int rc;

        /* Strings and comments are handled as a whole: an @include in them has
         * no effect. */
        if (c == '"')
            rc = copy_string(r, s);
        else if (c == '#' || !strncmp(s->p, "//", 2) || !strncmp(s->p, "/*", 2))
            rc = blank_comment(r, s);
        else if (line_start && !strncmp(s->p, "@include", 8))
            rc = include(r, s);
        else
            rc = copy_byte(r, s, false);
        if (rc < 0)
            return -1;
        line_start = c == '\n' || (line_start && (c == ' ' || c == '\t'));
    }
    return 0;
}

static int read_file(struct reader *r, const char *path, int depth)
{
    struct siteflat *flat = r->flat;
    struct scan s = {
        .file = (unsigned) flat->n_files, .line = 1, .depth = depth};
    char *text = NULL;
    size_t len = 0;
    int fd, rc = -1;

    fd = fileio_open_regular(path, true, r->err);
    if (fd < 0)
        return -1;
    if (ownplace_check_owner(fd, path, r->user, r->err) < 0 ||
        (r->folders && ownplace_check_folders(path, r->err) < 0) ||
        fileio_read_fd(fd, path, JP_SITEFILE_MAX_BYTES, &text, &len, r->err) <
            0)
        goto out;
    /* All files together must respect the limit of one file. */
    r->total += len;
    if (r->total > JP_SITEFILE_MAX_BYTES ||
        flat->n_files == SITEFLAT_MAX_FILES) {
        error_set(r->err, "%s: too many or too large files are included", path);
        goto out;
    }
    if (memchr(text, '\0', len)) {
        error_set(r->err, "%s: has a NUL byte", path);
        goto out;
    }
    flat->files[s.file] = strdup(path);
    if (!flat->files[s.file]) {
        error_set(r->err, "out of memory");
        goto out;
    }
    flat->parts[s.file] = r->part;
    flat->n_files++;
    s.p = text;
    rc = copy_text(r, &s);
out:
    free(text);
    close(fd);
    return rc;
}

/* --- fragments --- */

/* Whether a name is that of a fragment: *.conf, and not hidden. */
static int is_fragment(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name), end = strlen(".conf");

    return entry->d_name[0] != '.' && len > end &&
           !strcmp(entry->d_name + len - end, ".conf");
}

/* The order of fragments does not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The folder conf.d beside the site's file. Caller frees. NULL: the file has
 * another name and so no fragments (errno 0), or no memory (ENOMEM). */
static char *fragments_folder(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder;

    errno = 0;
    if (strcmp(name, "jobprof.conf") != 0)
        return NULL;
    folder = text_format("%.*sconf.d", (int) (name - path), path);
    if (!folder)
        errno = ENOMEM;
    return folder;
}

/* Reads one fragment as a part of its own. */
static int read_fragment(struct reader *r, const char *folder, const char *name)
{
    char *path = text_format("%s/%s", folder, name);
    int rc = -1;

    r->part++;
    if (!path)
        error_set(r->err, "out of memory");
    else if (!r->flat->len || put_byte(r, '\n') == 0)
        rc = read_file(r, path, 0);
    free(path);
    return rc;
}

/* Reads the fragments of the folder, which may be missing. Returns how many, or
 * -1 and err. */
static int read_folder(struct reader *r, const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct dirent **names = NULL;
    int n = 0, rc = -1, read = 0;
    struct stat st;

    if (fd < 0 && lstat(folder, &st) < 0 &&
        (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (fd < 0)
        return error_set(r->err, "%s: not a folder that can be read", folder);
    if (ownplace_check_owner(fd, folder, false, r->err) < 0)
        goto out;
    n = scandirat(fd, ".", &names, is_fragment, by_name);
    if (n < 0) {
        error_set(r->err, "%s: %s", folder, strerror(errno));
        goto out;
    }
    while (read < n && read_fragment(r, folder, names[read]->d_name) == 0)
        read++;
    rc = read == n ? n : -1;
out:
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    close(fd);
    return rc;
}

/* Takes the text that was read (rc 0), or frees it and keeps errno. */
static int finish(struct siteflat *flat, const char *path, int rc,
                  struct siteflat *out, struct jp_error *err)
{
    /* an @include can be left only inside a string that spans lines */
    if (rc == 0 && flat->len)
        rc = conftext_check(flat->text, flat->len, path, err);
    if (rc < 0) {
        int saved = errno;

        siteflat_fini(flat);
        errno = saved;
        return -1;
    }
    *out = *flat;
    return 0;
}

int siteflat_read(const char *path, bool user, struct siteflat *out,
                  struct jp_error *err)
{
    struct siteflat flat = {0};
    struct reader r = {.flat = &flat, .user = user, .err = err};

    return finish(&flat, path, read_file(&r, path, 0), out, err);
}

/* The folders of the path are checked only for the installed site file, which
 * decides for all users; any other file is the caller's choice. */
int siteflat_read_site(const char *path, bool must_exist, struct siteflat *out,
                       struct jp_error *err)
{
    struct siteflat flat = {0};
    struct reader r = {
        .flat = &flat, .folders = !strcmp(path, JP_DEF_SITE_FILE), .err = err};
    int rc = read_file(&r, path, 0), n = 0, missing = 0;
    char *folder = NULL;

    if (rc < 0 && !must_exist && (errno == ENOENT || errno == ENOTDIR))
        missing = errno;
    if (rc == 0 || missing) {
        folder = fragments_folder(path);
        if (folder)
            n = read_folder(&r, folder);
        else if (errno)
            n = error_set(err, "out of memory");
        rc = n < 0 || (missing && !n) ? -1 : 0;
        /* ENOENT is reserved for a site without any file */
        errno = n < 0 ? EINVAL : missing;
        free(folder);
    }
    return finish(&flat, path, rc, out, err);
}

void siteflat_fini(struct siteflat *flat)
{
    for (size_t i = 0; i < flat->n_files; i++)
        free(flat->files[i]);
    free(flat->lines);
    free(flat->text);
    *flat = (struct siteflat){0};
}

/* The origin of a line of the text. libconfig may report line 0, or the line
 * after the last one. NULL: the text is empty. */
static const struct siteflat_line *origin(const struct siteflat *flat,
                                          unsigned line)
{
    if (!flat->n_lines)
        return NULL;
    if (line < 1)
        line = 1;
    if (line > flat->n_lines)
        line = (unsigned) flat->n_lines;
    return &flat->lines[line - 1];
}

unsigned siteflat_part(const struct siteflat *flat, unsigned line)
{
    const struct siteflat_line *from = origin(flat, line);

    return from ? flat->parts[from->file] : 0;
}

/* Lines of an included file are found by the same table, so a message always
 * names the right file. */
char *siteflat_where(const struct siteflat *flat, unsigned line, char *buf,
                     size_t len)
{
    const struct siteflat_line *from = origin(flat, line);

    *buf = '\0';
    if (from)
        snprintf(buf, len, "%s:%u", flat->files[from->file], from->line);
    return buf;
}

/* --- a site's list: each row is checked separately --- */

#define WHERE_LEN 4352 /* PATH_MAX and a line number */
#define MAX_KEYS 16

/* The state of one read of a list. */
struct loader {
    const struct sitelist_format *format;
    void *arg;
    struct siteflat flat;
    sitelist_report *report;
    void *report_arg;
};

/* "file:line" of a line of the text, into buf. */
static char *where_of(const struct loader *ld, unsigned line, char *buf)
{
    return siteflat_where(&ld->flat, line, buf, WHERE_LEN);
}

/* Reports one error with file and line. */
static void note_error(const struct loader *ld, unsigned line,
                       struct jp_error *one)
{
    char where[WHERE_LEN];

    error_wrap(one, "%s", where_of(ld, line, where));
    if (ld->report)
        ld->report(ld->report_arg, one->text);
}

/* Sets err to a message about an unknown key. Returns -1. */
static int unknown_key(const char *key, const char *const *names, size_t n,
                       struct jp_error *err)
{
    const char *near = nearest_find(key, names, n);

    return error_set(err, "unknown key \"%s\"%s%s%s", QUOTE(key),
                     near ? "; did you mean \"" : "", near ? near : "",
                     near ? "\"?" : "");
}

const char *sitelist_text(const config_setting_t *s, struct jp_error *err)
{
    const char *text = config_setting_type(s) == CONFIG_TYPE_STRING
                           ? config_setting_get_string(s)
                           : NULL;

    if (!text)
        error_set(err, "is not a string in quotes");
    return text;
}

int sitelist_check_text(const char *text, size_t max, struct jp_error *err)
{
    size_t len = strlen(text);

    if (!len)
        return error_set(err, "the value is empty");
    if (len > max)
        return error_set(err, "%zu bytes are too many (at most %zu)", len, max);
    for (size_t i = 0, n; i < len; i += n) {
        uint32_t point;

        n = utf8_decode(text + i, len - i, &point);
        if (!n)
            return error_set(err, "byte %zu (\\x%02x) is not UTF-8", i + 1,
                             (unsigned char) text[i]);
        if (!quote_is_harmless(point))
            return error_set(err, "has a control character (U+%04" PRIX32 ")",
                             point);
    }
    return 0;
}

/* Checks that the format has every key of the row. *bad is the one that it does
 * not have. */
static int check_keys(const struct sitelist_format *format,
                      const config_setting_t *s, const config_setting_t **bad,
                      struct jp_error *err)
{
    const char *names[MAX_KEYS];
    size_t n = format->n_keys < MAX_KEYS ? format->n_keys : MAX_KEYS;

    for (size_t i = 0; i < n; i++)
        names[i] = format->keys[i].name;
    for (int i = 0; i < config_setting_length(s); i++) {
        const config_setting_t *member =
            config_setting_get_elem(s, (unsigned) i);
        const char *name = config_setting_name(member);
        size_t k = 0;

        while (k < n && strcmp(names[k], name) != 0)
            k++;
        *bad = member;
        if (k == n)
            return unknown_key(name, names, n, err);
    }
    return 0;
}

/* Fills row by the parsers of the format's keys. *bad is the setting with the
 * mistake. */
static int parse_row(const struct sitelist_format *format,
                     const config_setting_t *s, void *row,
                     const config_setting_t **bad, struct jp_error *err)
{
    if (!config_setting_is_group(s))
        return error_set(err, "a row is not a group { ... }");
    if (check_keys(format, s, bad, err) < 0)
        return -1;
    for (size_t i = 0; i < format->n_keys; i++) {
        const struct sitelist_key *key = &format->keys[i];
        const config_setting_t *member =
            config_setting_get_member(s, key->name);

        /* A missing key is blamed on the row. */
        *bad = member ? member : s;
        if (!member && key->optional)
            continue;
        if (!member)
            return error_set(err, "\"%s\" is missing", key->name);
        if (key->parse(row, member, err) < 0)
            return error_wrap(err, "%s", key->name);
    }
    return 0;
}

/* Reads one row, or reports why it is left out. */
static void read_row(struct loader *ld, const config_setting_t *s)
{
    const struct sitelist_format *format = ld->format;
    void *row = format->begin(ld->arg);
    const config_setting_t *bad = s;
    struct jp_error err = {""};
    char where[WHERE_LEN];

    if (parse_row(format, s, row, &bad, &err) == 0 &&
        format->take(ld->arg, row,
                     where_of(ld, config_setting_source_line(s), where),
                     &err) == 0)
        return;
    note_error(ld, config_setting_source_line(bad), &err);
    if (format->drop)
        format->drop(ld->arg, row);
}

/* Reads the rows up to the format's limit. */
static void read_list(struct loader *ld, const config_setting_t *s)
{
    int n = config_setting_length(s), max = ld->format->max_rows;
    struct jp_error one;

    if (!config_setting_is_list(s)) {
        error_set(&one, "\"%s\" is not a list ( ... )", ld->format->name);
        note_error(ld, config_setting_source_line(s), &one);
        return;
    }
    for (int i = 0; i < n && i < max; i++)
        read_row(ld, config_setting_get_elem(s, (unsigned) i));
    if (n > max) {
        error_set(&one, "%d rows are too many (at most %d)", n, max);
        note_error(ld, config_setting_source_line(s), &one);
    }
}

/* Reads the top level, which may have only the list. */
static void read_root(struct loader *ld, const config_setting_t *root)
{
    const char *const names[] = {ld->format->name};

    for (int i = 0; i < config_setting_length(root); i++) {
        const config_setting_t *s = config_setting_get_elem(root, (unsigned) i);
        struct jp_error one;

        if (!strcmp(config_setting_name(s), ld->format->name)) {
            read_list(ld, s);
        } else {
            unknown_key(config_setting_name(s), names, 1, &one);
            note_error(ld, config_setting_source_line(s), &one);
        }
    }
}

/* Parses the expanded text. Mistakes in rows are reported, not returned. */
static int parse_text(struct loader *ld, struct jp_error *err)
{
    char where[WHERE_LEN];
    config_t cfg;
    int rc = -1;

    config_init(&cfg);
    if (config_read_string(&cfg, ld->flat.text ? ld->flat.text : "") ==
        CONFIG_TRUE) {
        read_root(ld, config_root_setting(&cfg));
        rc = 0;
    } else {
        error_set(err, "%s: %s",
                  where_of(ld, (unsigned) config_error_line(&cfg), where),
                  config_error_text(&cfg));
    }
    config_destroy(&cfg);
    return rc;
}

/* Steps: expand the file, check who could replace it, refuse inclusions, parse.
 * Mistakes in single rows do not fail the read. */
int sitelist_read(const char *path, const struct sitelist_format *format,
                  void *arg, sitelist_report *report, void *report_arg,
                  struct jp_error *err)
{
    struct loader ld = {.format = format,
                        .arg = arg,
                        .report = report,
                        .report_arg = report_arg};
    int rc = -1;

    if (siteflat_read(path, false, &ld.flat, err) < 0)
        return -1;
    if (ownplace_check_folders(path, err) < 0)
        ; /* another user could replace the file */
    else if (ld.flat.n_files > 1)
        error_set(err, "%s: @include is not allowed here", path);
    else
        rc = parse_text(&ld, err);
    siteflat_fini(&ld.flat);
    /* Other errors must not look like a missing file. */
    errno = 0;
    return rc;
}
