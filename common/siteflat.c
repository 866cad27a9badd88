/* siteflat.c - expand the @include lines of a settings file. */
#include "common/siteflat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conftext.h"
#include "common/defaults.h"
#include "common/fileio.h"

/* What one reading carries through its depths. */
struct reader {
    struct siteflat *flat;
    bool user;    /* a user's file */
    bool folders; /* the folders count, too */
    size_t total; /* bytes read so far */
    struct jp_error *err;
};

/* One file while it is copied. */
struct scan {
    const char *p;
    unsigned file, line;
    int depth;
};

static int read_file(struct reader *r, const char *path, int depth);

/* Doubles *array until it holds need elements of size bytes. */
static int reserve(void **array, size_t *room, size_t need, size_t size)
{
    size_t want = *room ? *room : 256;
    void *bigger;

    if (need <= *room)
        return 0;
    while (want < need)
        want *= 2;
    bigger = realloc(*array, want * size);
    if (!bigger)
        return -1;
    *array = bigger;
    *room = want;
    return 0;
}

static int put(struct reader *r, char c)
{
    struct siteflat *flat = r->flat;

    if (reserve((void **) &flat->text, &flat->room, flat->len + 2, 1) < 0)
        return error_set(r->err, "out of memory");
    flat->text[flat->len++] = c;
    flat->text[flat->len] = '\0';
    return 0;
}

/* What follows in the text is from this line. */
static int begin_line(struct reader *r, const struct scan *s)
{
    struct siteflat *flat = r->flat;

    if (reserve((void **) &flat->lines, &flat->lines_room, flat->n_lines + 1,
                sizeof(*flat->lines)) < 0)
        return error_set(r->err, "out of memory");
    flat->lines[flat->n_lines++] = (struct siteflat_line){s->file, s->line};
    return 0;
}

static int fail_at(struct reader *r, const struct scan *s, const char *what)
{
    return error_set(r->err, "%s:%u: %s", r->flat->files[s->file], s->line,
                     what);
}

/* Copies the byte at s->p, or a blank for it; line ends stay. */
static int copy(struct reader *r, struct scan *s, bool blank)
{
    char c = *s->p++;

    if (put(r, blank && c != '\n' ? ' ' : c) < 0)
        return -1;
    if (c != '\n')
        return 0;
    s->line++;
    return begin_line(r, s);
}

static int copy_string(struct reader *r, struct scan *s)
{
    struct scan start = *s;

    if (copy(r, s, false) < 0)
        return -1;
    while (*s->p && *s->p != '"') {
        if (*s->p == '\\' && s->p[1] && copy(r, s, false) < 0)
            return -1;
        if (copy(r, s, false) < 0)
            return -1;
    }
    return *s->p ? copy(r, s, false) : fail_at(r, &start, "a string is open");
}

static int blank_comment(struct reader *r, struct scan *s)
{
    struct scan start = *s;

    if (*s->p != '/' || s->p[1] != '*') {
        while (*s->p && *s->p != '\n')
            if (copy(r, s, true) < 0)
                return -1;
        return 0;
    }
    for (int i = 0; i < 2; i++) /* so that "/ *" and "/" do not close it */
        if (copy(r, s, true) < 0)
            return -1;
    while (*s->p && strncmp(s->p, "*/", 2) != 0)
        if (copy(r, s, true) < 0)
            return -1;
    if (!*s->p)
        return fail_at(r, &start, "a comment is open");
    return copy(r, s, true) < 0 || copy(r, s, true) < 0 ? -1 : 0;
}

/* The path of `@include "path"` at s->p, relative to the file's folder; s->p
 * moves behind it. */
static char *include_path(struct reader *r, struct scan *s)
{
    const char *p = s->p + strlen("@include"), *start, *from, *slash;
    char *path;
    size_t n;

    n = strspn(p, " \t");
    start = p + n + 1;
    if (!n || p[n] != '"' || !(p = strpbrk(start, "\"\\\n")) || *p != '"' ||
        p == start) {
        fail_at(r, s, "@include needs a blank and a path in quotes");
        return NULL;
    }
    from = r->flat->files[s->file];
    slash = *start == '/' ? NULL : strrchr(from, '/');
    path = fileio_path("%.*s%.*s", slash ? (int) (slash - from + 1) : 0, from,
                       (int) (p - start), start);
    if (!path)
        error_set(r->err, "out of memory");
    s->p = p + 1;
    return path;
}

static int include(struct reader *r, struct scan *s)
{
    char *path = include_path(r, s);
    int rc = -1;

    if (!path)
        return -1;
    if (r->user) {
        fail_at(r, s, "@include belongs to the site's file");
        errno = EINVAL;
        goto out;
    }
    if (s->depth >= JP_SITEFILE_MAX_DEPTH) {
        fail_at(r, s, "@include is nested too deep (a loop?)");
        goto out;
    }
    if (put(r, '\n') < 0)
        goto out;
    if (read_file(r, path, s->depth + 1) < 0) {
        error_wrap(r->err, "%s:%u: @include", r->flat->files[s->file], s->line);
        errno = EINVAL; /* ENOENT is the outermost file's */
        goto out;
    }
    rc = put(r, '\n') < 0 ? -1 : begin_line(r, s);
out:
    free(path);
    return rc;
}

/* Copies a file's text, comments blanked and includes expanded. */
static int copy_text(struct reader *r, struct scan *s)
{
    bool line_start = true;

    if (begin_line(r, s) < 0)
        return -1;
    while (*s->p) {
        char c = *s->p;
        int rc;

        if (c == '"')
            rc = copy_string(r, s);
        else if (c == '#' || !strncmp(s->p, "//", 2) || !strncmp(s->p, "/*", 2))
            rc = blank_comment(r, s);
        else if (line_start && !strncmp(s->p, "@include", 8))
            rc = include(r, s);
        else
            rc = copy(r, s, false);
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
    if (fileio_check_owner(fd, path, r->user, r->err) < 0 ||
        (r->folders && fileio_check_folders(path, r->err) < 0) ||
        fileio_read_fd(fd, path, JP_SITEFILE_MAX_BYTES, &text, &len, r->err) <
            0)
        goto out;
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
    flat->n_files++;
    s.p = text;
    rc = copy_text(r, &s);
out:
    free(text);
    close(fd);
    return rc;
}

int siteflat_read(const char *path, bool user, struct siteflat *out,
                  struct jp_error *err)
{
    struct siteflat flat = {0};
    struct reader r = {.flat = &flat, .user = user, .err = err};
    int rc;

    r.folders = !user && !strcmp(path, JP_DEF_SITE_FILE);
    rc = read_file(&r, path, 0);
    /* one is left only inside a string that spans lines */
    if (rc == 0 && flat.len)
        rc = conftext_check(flat.text, flat.len, path, err);
    if (rc < 0) {
        int saved = errno;

        siteflat_fini(&flat);
        errno = saved;
        return -1;
    }
    *out = flat;
    return 0;
}

void siteflat_fini(struct siteflat *flat)
{
    for (size_t i = 0; i < flat->n_files; i++)
        free(flat->files[i]);
    free(flat->lines);
    free(flat->text);
    *flat = (struct siteflat){0};
}

char *siteflat_where(const struct siteflat *flat, unsigned line, char *buf,
                     size_t len)
{
    const struct siteflat_line *from;

    if (!flat->n_lines) {
        buf[0] = '\0';
        return buf;
    }
    if (line < 1)
        line = 1;
    if (line > flat->n_lines)
        line = (unsigned) flat->n_lines;
    from = &flat->lines[line - 1];
    snprintf(buf, len, "%s:%u", flat->files[from->file], from->line);
    return buf;
}
