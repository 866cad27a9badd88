/* util_rows.c - write rows of samples to compressed files, and read them.
 *
 * Writing: rows become lines in memory (struct text); a flush compresses them
 * to one gzip member and appends it. When the files exceed their cap, keep_cap
 * rewrites the largest one with rows that each cover more samples (merge_file).
 * Reading: util_rows_read gives the rows of a file one by one; struct parser is
 * its state. */
#include "plugins/util/util_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/fileio.h"
#include "common/lines.h"
#include "common/num.h"
#include "common/ownfile.h"
#include "common/vector.h"

#define LINE_MAX_BYTES 1024
/* Bytes of text in memory, which is flushed when full. */
#define BUFFER_BYTES (256 * 1024)
#define ZIP_LEVEL 6

/* How much of a file of samples is read. */
static const struct lines_limit util_lines = {
    "util-*.csv.gz",
    0,
    16 * 1024,
    0,
    0,
    LINES_SKIP,
    "a row is 1 KB at most; the agent limits the file"};

void util_row_init(struct util_row *row, uint64_t t_us, uint64_t mono_us,
                   const char *id)
{
    *row = (struct util_row){.t_us = t_us, .mono_us = mono_us, .samples = 1};
    snprintf(row->id, sizeof(row->id), "%s", id);
    for (size_t i = 0; i < UTIL_COLUMNS_MAX; i++)
        row->v[i] = row->max[i] = NAN;
}

/* --- text ----------------------------------------------------------------- */

/* A growing text. */
struct text {
    char *bytes;
    size_t len, room;
};

/* Appends bytes. Returns -1 without memory. */
static int text_add(struct text *t, const char *bytes, size_t len,
                    struct jp_error *err)
{
    if (VECTOR_ROOM(t->bytes, t->len + len, t->room) < 0)
        return error_set(err, "out of memory");
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
    return 0;
}

/* ",<figure>" with six significant digits; "," if it is unknown. Most figures
 * are whole numbers, which are formatted without printf: it took a third of the
 * cost of sampling. */
static size_t put_figure(char *out, size_t room, double v)
{
    char digits[8];
    unsigned n, i = sizeof(digits);
    size_t len = 1;

    if (isnan(v) || room < sizeof(digits) + 1)
        return (size_t) snprintf(out, room, ",");
    /* negative, large or broken figures go through printf */
    if (!(v >= 0 && v < 1e6) || v != (double) (unsigned) v)
        return (size_t) snprintf(out, room, ",%.6g", v);
    /* from the last digit to the first; at least one */
    for (n = (unsigned) v; i == sizeof(digits) || n; n /= 10)
        digits[--i] = (char) ('0' + n % 10);
    out[0] = ',';
    for (; i < sizeof(digits); i++)
        out[len++] = digits[i];
    return len;
}

/* A line of a row. stat: "mean" or "max", which says what v holds. */
static int put_line(struct text *t, enum util_kind kind,
                    const struct util_row *row, const char *stat,
                    const double *v, struct jp_error *err)
{
    char line[LINE_MAX_BYTES];
    int len = snprintf(line, sizeof(line),
                       "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s", row->t_us,
                       row->mono_us, row->samples, stat, row->id);

    for (size_t i = 0; i < util_tables[kind].n; i++)
        len += (int) put_figure(line + len, sizeof(line) - (size_t) len, v[i]);
    line[len++] = '\n';
    return text_add(t, line, (size_t) len, err);
}

/* A second line with the maxima, if the row covers several samples. */
static int put_row(struct text *t, enum util_kind kind,
                   const struct util_row *row, struct jp_error *err)
{
    if (put_line(t, kind, row, "mean", row->v, err) < 0)
        return -1;
    return row->samples > 1 ? put_line(t, kind, row, "max", row->max, err) : 0;
}

/* The two first lines of a file: what it is, and its columns. */
static int put_head(struct text *t, enum util_kind kind,
                    const struct util_origin *origin, struct jp_error *err)
{
    const struct util_table *table = &util_tables[kind];
    char line[LINE_MAX_BYTES];
    int len = snprintf(line, sizeof(line),
                       "# jobprof util %d kind=%s job=%" PRIu64
                       " step=%.31s node=%.64s start_us=%" PRIu64
                       "\nt_us,mono_us,samples,stat,id",
                       UTIL_VERSION, table->name, origin->job, origin->step,
                       origin->node, origin->start_us);

    for (size_t i = 0; i < table->n; i++)
        len += snprintf(line + len, sizeof(line) - (size_t) len, ",%s",
                        table->columns[i].name);
    line[len++] = '\n';
    return text_add(t, line, (size_t) len, err);
}

/* --- files ---------------------------------------------------------------- */

/* A file while it is written. */
struct util_file {
    char *path; /* for errors; the name begins behind its last "/" */
    const char *name;
    struct ownfile out;    /* open as soon as the file exists */
    struct text text;      /* not on the disk yet */
    uint64_t bytes;        /* on the disk */
    uint64_t merge;        /* a row covers at least this many samples */
    struct util_row *open; /* rows that are being merged, one for each id */
    size_t n_open;
};

struct util_files {
    struct util_file file[UTIL_KINDS];
    char *dir, *step, *node;
    struct ownfile place; /* the folder */
    struct util_origin origin;
    uint64_t cap_bytes;
};

struct util_files *util_files_create(const char *dir,
                                     const struct util_origin *origin,
                                     uint64_t cap_bytes)
{
    struct util_files *files = calloc(1, sizeof(*files));
    bool ok = files != NULL;

    if (!files)
        return NULL;
    files->origin = *origin;
    files->cap_bytes = cap_bytes;
    files->dir = strdup(dir);
    /* origin's strings are the caller's */
    files->origin.step = files->step = strdup(origin->step);
    files->origin.node = files->node = strdup(origin->node);
    ok = files->dir && files->step && files->node;
    for (size_t i = 0; i < UTIL_KINDS && ok; i++) {
        files->file[i].path =
            text_format("%s/util-%s.csv.gz", dir, util_tables[i].name);
        files->file[i].merge = 1;
        ok = files->file[i].path != NULL;
        if (ok)
            files->file[i].name = strrchr(files->file[i].path, '/') + 1;
    }
    /* if it cannot be opened, the first write tries again and says why */
    (void) ownfile_open(&files->place, dir, 0);
    if (ok)
        return files;
    util_files_destroy(files);
    return NULL;
}

void util_files_destroy(struct util_files *files)
{
    for (size_t i = 0; files && i < UTIL_KINDS; i++) {
        ownfile_close(&files->file[i].out);
        free(files->file[i].path);
        free(files->file[i].text.bytes);
        free(files->file[i].open);
    }
    if (files) {
        ownfile_close(&files->place);
        free(files->dir);
        free(files->step);
        free(files->node);
    }
    free(files);
}

uint64_t util_files_bytes(const struct util_files *files)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < UTIL_KINDS; i++)
        /* compressed bytes; text in memory is not counted */
        sum += files->file[i].bytes;
    return sum;
}

/* Merges row into `into`: means are weighted by samples, the time is the later
 * one. */
static void merge_rows(struct util_row *into, const struct util_row *row)
{
    double a = (double) into->samples, b = (double) row->samples;

    for (size_t i = 0; i < UTIL_COLUMNS_MAX; i++) {
        /* a row of one sample has its maximum in v */
        double max = row->samples > 1 ? row->max[i] : row->v[i];
        double old = into->samples > 1 ? into->max[i] : into->v[i];

        into->max[i] = fmax(old, max); /* fmax ignores a NAN */
        if (isnan(into->v[i]))
            into->v[i] = row->v[i];
        else if (!isnan(row->v[i]))
            into->v[i] = (into->v[i] * a + row->v[i] * b) / (a + b);
    }
    into->samples = num_add(into->samples, row->samples);
    into->t_us = row->t_us;
    into->mono_us = row->mono_us;
}

static struct util_row *find_open(struct util_file *file, const char *id)
{
    for (size_t i = 0; i < file->n_open; i++)
        if (strcmp(file->open[i].id, id) == 0)
            return &file->open[i];
    return NULL;
}

/* Adds a row to the file's text; rows of the same id are first merged until
 * they cover file->merge samples. */
static int take_row(struct util_file *file, enum util_kind kind,
                    const struct util_row *row, struct jp_error *err)
{
    struct util_row *open = find_open(file, row->id);
    int rc = 0;

    /* nothing to merge: straight to the text */
    if (!open && row->samples >= file->merge)
        return put_row(&file->text, kind, row, err);
    if (open) {
        merge_rows(open, row);
    } else {
        open = VECTOR_DOUBLE_ADD(file->open, file->n_open);
        if (!open)
            return error_set(err, "out of memory");
        *open = *row;
    }
    if (open->samples >= file->merge) {
        rc = put_row(&file->text, kind, open, err);
        /* the last one fills the gap */
        *open = file->open[--file->n_open];
    }
    return rc;
}

/* Writes rows that are still being merged, although they cover fewer
 * samples. */
static int close_rows(struct util_file *file, enum util_kind kind,
                      struct jp_error *err)
{
    int rc = 0;

    for (size_t i = 0; i < file->n_open; i++)
        if (put_row(&file->text, kind, &file->open[i], err) < 0)
            rc = -1;
    file->n_open = 0;
    return rc;
}

/* Compresses the text to one gzip member, *out, which the caller frees. */
static int compress_text(const struct text *text, unsigned char **out,
                         size_t *len, struct jp_error *err)
{
    z_stream z = {0};
    uLong room;
    int rc;

    /* adding 16 to the window bits selects a gzip header instead of zlib's */
    if (deflateInit2(&z, ZIP_LEVEL, Z_DEFLATED, MAX_WBITS + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return error_set(err, "out of memory");
    /* 32 for the gzip header and trailer */
    room = deflateBound(&z, text->len) + 32;
    *out = malloc(room);
    z.next_in = (unsigned char *) text->bytes;
    z.avail_in = (uInt) text->len;
    z.next_out = *out;
    z.avail_out = (uInt) room;
    rc = *out ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
    *len = room - z.avail_out;
    deflateEnd(&z);
    if (rc == Z_STREAM_END)
        return 0;
    free(*out);
    return error_set(err, "out of memory");
}

/* Makes a file in the held folder, for *out; its path is for errors. */
static int make_file(struct util_files *files, struct ownfile *out,
                     const char *name, const char *path, struct jp_error *err)
{
    if ((files->place.folder ||
         ownfile_open(&files->place, files->dir, 0) == 0) &&
        ownfile_open_beside(out, &files->place) == 0 &&
        ownfile_create(out, name) == 0)
        return 0;
    error_set(err, "%s: %s", path, strerror(errno));
    ownfile_close(out);
    return -1;
}

/* Appends all bytes or none: a partial write is cut off again, because the rest
 * of a member cannot be read. The first call makes the file, which must not
 * exist yet. */
static int append_bytes(struct util_files *files, struct util_file *file,
                        const unsigned char *bytes, size_t len,
                        struct jp_error *err)
{
    if (!file->out.fd &&
        make_file(files, &file->out, file->name, file->path, err) < 0)
        return -1;
    if (ownfile_write(&file->out, bytes, len, file->bytes) == 0)
        return 0;
    error_set(err, "%s: %s", file->path, strerror(errno));
    if (ownfile_truncate(&file->out, file->bytes) < 0)
        error_set(err, "%s: %s", file->path, strerror(errno));
    return -1;
}

/* Writes the text in memory. On failure its rows are lost, so that a full disk
 * does not fill the memory. */
static int flush_file(struct util_files *files, enum util_kind kind,
                      struct jp_error *err)
{
    struct util_file *file = &files->file[kind];
    unsigned char *packed = NULL;
    struct text all = {0};
    size_t len = 0;
    int rc = -1;

    if (file->text.len == 0)
        return 0;
    /* the head is the beginning of the first member */
    if ((file->bytes || put_head(&all, kind, &files->origin, err) == 0) &&
        text_add(&all, file->text.bytes, file->text.len, err) == 0 &&
        compress_text(&all, &packed, &len, err) == 0)
        rc = append_bytes(files, file, packed, len, err);
    if (rc == 0)
        file->bytes += len;
    /* also after a failure */
    file->text.len = 0;
    free(packed);
    free(all.bytes);
    return rc;
}

/* --- beyond the cap ------------------------------------------------------- */

static int read_rows(struct jp_lines *lines, enum util_kind kind,
                     struct util_head *head, util_take *take, void *arg,
                     struct util_read *read, struct jp_error *err);

/* A file while it is rewritten with fewer rows. */
struct merging {
    struct util_file into; /* `out` is its temporary file */
    enum util_kind kind;
};

/* Writes the text in memory as one more member. */
static int put_member(struct merging *m, struct jp_error *err)
{
    unsigned char *packed;
    size_t len;
    int rc = 0;

    if (compress_text(&m->into.text, &packed, &len, err) < 0)
        return -1;
    if (ownfile_write(&m->into.out, packed, len, m->into.bytes) < 0)
        rc = error_set(err, "%s", strerror(errno));
    free(packed);
    m->into.bytes += len;
    m->into.text.len = 0;
    return rc;
}

/* Takes a row of the old file. util_take for util_rows_read. */
static int take_merged(void *arg, const struct util_row *row,
                       struct jp_error *err)
{
    struct merging *m = arg;

    if (take_row(&m->into, m->kind, row, err) < 0)
        return -1;
    return m->into.text.len < BUFFER_BYTES ? 0 : put_member(m, err);
}

/* Passes the file's rows to the merging. */
static int read_old(struct util_file *file, struct merging *m,
                    struct jp_error *err)
{
    int fd = ownfile_copy(&file->out);
    struct util_head head;
    struct jp_lines *lines;
    struct util_read read;
    int rc;

    if (fd < 0)
        return error_set(err, "%s: %s", file->path, strerror(errno));
    lines = lines_open_fd(fd, file->path, &util_lines, err);
    if (!lines)
        return -1;
    rc = read_rows(lines, m->kind, &head, take_merged, m, &read, err);
    lines_close(lines);
    return rc;
}

/* Rewrites a file with rows that cover more samples: four instead of one,
 * because merged rows have two lines; then twice as many each time. */
static int merge_file(struct util_files *files, enum util_kind kind,
                      struct jp_error *err)
{
    struct util_file *file = &files->file[kind];
    struct merging m = {.into.merge = file->merge * (file->merge == 1 ? 4 : 2),
                        .kind = kind};
    char *temp = fileio_temp_name(file->name);
    int rc = -1;

    /* the old file stays until the new one is complete */
    if (!temp)
        error_set(err, "out of memory");
    else if (make_file(files, &m.into.out, temp, file->path, err) == 0 &&
             put_head(&m.into.text, kind, &files->origin, err) == 0 &&
             read_old(file, &m, err) == 0 &&
             close_rows(&m.into, kind, err) == 0 && put_member(&m, err) == 0) {
        rc = ownfile_rename(&m.into.out, file->name);
        if (rc < 0)
            error_set(err, "%s: %s", file->path, strerror(errno));
    }
    if (rc == 0) {
        ownfile_close(&file->out);
        file->out = m.into.out;
        file->merge = m.into.merge;
        file->bytes = m.into.bytes;
    } else {
        (void) ownfile_unlink(&m.into.out);
        ownfile_close(&m.into.out);
    }
    free(temp);
    free(m.into.text.bytes);
    free(m.into.open);
    return rc;
}

/* Rewrites the largest file until all together are below the cap. As each
 * rewriting halves a file, the room is enough for hours. Ends when a file does
 * not become smaller. */
static int keep_cap(struct util_files *files, struct jp_error *err)
{
    while (util_files_bytes(files) > files->cap_bytes) {
        enum util_kind largest = UTIL_NODE;
        uint64_t before;

        for (int i = 1; i < UTIL_KINDS; i++)
            if (files->file[i].bytes > files->file[largest].bytes)
                largest = (enum util_kind) i;
        /* to notice when merging does not help */
        before = files->file[largest].bytes;
        if (merge_file(files, largest, err) < 0)
            return -1;
        if (files->file[largest].bytes >= before)
            break;
    }
    return 0;
}

int util_files_add(struct util_files *files, enum util_kind kind,
                   const struct util_row *row, struct jp_error *err)
{
    struct util_file *file = &files->file[kind];

    if (take_row(file, kind, row, err) < 0)
        return -1;
    /* larger members compress better */
    if (file->text.len < BUFFER_BYTES)
        return 0;
    if (flush_file(files, kind, err) < 0)
        return -1;
    return keep_cap(files, err);
}

int util_files_flush(struct util_files *files, bool last, struct jp_error *err)
{
    int rc = 0;

    for (int i = 0; i < UTIL_KINDS; i++)
        if ((last &&
             close_rows(&files->file[i], (enum util_kind) i, err) < 0) ||
            flush_file(files, (enum util_kind) i, err) < 0)
            rc = -1;
    /* only after all files are written, so that their sizes are known */
    return rc < 0 ? rc : keep_cap(files, err);
}

/* --- reading ----------------------------------------------------------------
 */

/* FIXED: columns of every kind, at the beginning of a line. */
enum { NO_COLUMN = -1, FIXED = 5, FIELDS_MAX = 64 };

struct parser {
    enum util_kind kind;
    struct util_head *head;
    util_take *take;
    void *arg;
    struct util_read *read;
    int place[FIELDS_MAX]; /* of each field after the fixed ones: its column */
    size_t n_fields;       /* with the fixed ones; 0: no heading yet */
    bool first;            /* the first line was read */
    struct util_row row;   /* a mean that its maximum may follow */
    bool has_row;
};

/* Copies the word after key; false: there is none, or it is too long. */
static bool take_word(const char *line, const char *key, char *out, size_t room)
{
    const char *at = strstr(line, key);
    size_t len;

    if (!at)
        return false;
    at += strlen(key);
    len = strcspn(at, " \n");
    if (len >= room)
        return false;
    memcpy(out, at, len);
    out[len] = '\0';
    return true;
}

/* The first line: "# jobprof util 1 kind=... job=...". */
static int read_first(struct parser *p, const char *line, struct jp_error *err)
{
    char word[32], kind[32];

    *p->head = (struct util_head){0};
    /* the version is not compared: columns are found by name */
    if (strncmp(line, "# jobprof util ", 15) != 0 ||
        !take_word(line, " kind=", kind, sizeof(kind)) ||
        strcmp(kind, util_tables[p->kind].name) != 0)
        return error_set(err, "not utilisation of kind %s",
                         util_tables[p->kind].name);
    if (!take_word(line, " job=", word, sizeof(word)) ||
        num_parse_u64(word, 0, UINT64_MAX, &p->head->job, err) < 0 ||
        !take_word(line, " start_us=", word, sizeof(word)) ||
        num_parse_u64(word, 0, UINT64_MAX, &p->head->start_us, err) < 0 ||
        !take_word(line, " step=", p->head->step, sizeof(p->head->step)) ||
        !take_word(line, " node=", p->head->node, sizeof(p->head->node)))
        return error_set(err, "a first line without its words");
    p->first = true;
    return 0;
}

/* Cuts a line at its commas. Returns the number of fields, at most room. */
static size_t split(char *line, char **fields, size_t room)
{
    size_t n = 0;

    while (line && n < room)
        fields[n++] = strsep(&line, ",");
    return n;
}

/* The second line. Unknown columns are skipped: a newer jobprof may have
 * more. */
static int read_heading(struct parser *p, char *line, struct jp_error *err)
{
    static const char *const fixed[FIXED] = {"t_us", "mono_us", "samples",
                                             "stat", "id"};
    const struct util_table *table = &util_tables[p->kind];
    char *fields[FIELDS_MAX];
    size_t n = split(line, fields, FIELDS_MAX);

    for (size_t i = 0; i < FIXED; i++)
        if (i >= n || strcmp(fields[i], fixed[i]) != 0)
            return error_set(err, "no column %s in its place", fixed[i]);
    for (size_t i = FIXED; i < n; i++) {
        p->place[i] = NO_COLUMN;
        for (size_t c = 0; c < table->n; c++)
            if (strcmp(fields[i], table->columns[c].name) == 0)
                p->place[i] = (int) c;
    }
    p->n_fields = n;
    return 0;
}

/* Passes the pending row to the caller. */
static int give_row(struct parser *p, struct jp_error *err)
{
    if (!p->has_row)
        return 0;
    p->has_row = false;
    p->read->rows++;
    return p->take(p->arg, &p->row, err);
}

/* A finite number that is not negative, as all figures are; "": unknown. */
static bool read_figure(const char *text, double *out)
{
    char *end;

    if (!*text) {
        *out = NAN;
        return true;
    }
    if (strspn(text, "0123456789.e+-") != strlen(text))
        return false;
    *out = strtod(text, &end);
    return !*end && *out >= 0 && *out <= 1e300;
}

/* Reads a line's fields into row. false: a bad line. */
static bool read_fields(const struct parser *p, char *line,
                        struct util_row *row, bool *is_max)
{
    char *fields[FIELDS_MAX];
    double *v;

    /* a line that was cut has fewer fields */
    if (split(line, fields, FIELDS_MAX) != p->n_fields)
        return false;
    util_row_init(row, 0, 0, "");
    *is_max = strcmp(fields[3], "max") == 0;
    if ((!*is_max && strcmp(fields[3], "mean") != 0) ||
        num_parse_u64(fields[0], 0, UINT64_MAX, &row->t_us, NULL) < 0 ||
        num_parse_u64(fields[1], 0, UINT64_MAX, &row->mono_us, NULL) < 0 ||
        num_parse_u64(fields[2], 1, UINT32_MAX, &row->samples, NULL) < 0 ||
        strlen(fields[4]) >= sizeof(row->id))
        return false;
    memcpy(row->id, fields[4], strlen(fields[4]) + 1);
    /* both kinds of lines have the same fields */
    v = *is_max ? row->max : row->v;
    for (size_t i = FIXED; i < p->n_fields; i++)
        if (p->place[i] != NO_COLUMN &&
            !read_figure(fields[i], &v[p->place[i]]))
            return false;
    return true;
}

/* A line of maxima belongs to the line of means before it. A row is passed on
 * when its second line or the next row has come. */
static int read_row(struct parser *p, char *line, struct jp_error *err)
{
    struct util_row row;
    bool is_max;

    if (!read_fields(p, line, &row, &is_max)) {
        p->read->bad_lines++;
        return 0;
    }
    if (is_max && p->has_row && p->row.samples == row.samples &&
        p->row.mono_us == row.mono_us && strcmp(p->row.id, row.id) == 0) {
        memcpy(p->row.max, row.max, sizeof(row.max));
        return give_row(p, err);
    }
    if (is_max) {
        p->read->bad_lines++;
        return 0;
    }
    if (give_row(p, err) < 0)
        return -1;
    p->row = row;
    /* a row of a single sample has no second line: its maxima are its
     * figures */
    memcpy(p->row.max, p->row.v, sizeof(row.v));
    p->has_row = true;
    return 0;
}

static int read_line(struct parser *p, char *line, struct jp_error *err)
{
    if (!p->first)
        return read_first(p, line, err);
    if (!p->n_fields)
        return read_heading(p, line, err);
    return read_row(p, line, err);
}

/* Reads all lines. A last line without its end was cut, and is not used. */
static int read_source(struct jp_lines *lines, struct parser *p,
                       struct jp_error *err)
{
    const struct lines_left *left = lines_left(lines);
    struct jp_error why;
    char *line;
    size_t len;
    int rc;

    while ((rc = lines_next(lines, &line, &len, &why)) > 0 &&
           !lines_is_cut(lines))
        if (read_line(p, line, err) < 0)
            return -1;
    p->read->bad_lines += left->too_long + left->with_nul;
    p->read->cut = rc != 0 || left->early;
    /* nothing could be read, even if the file was only cut */
    if (!p->n_fields)
        return error_set(err, "no line of columns");
    return give_row(p, err);
}

/* On the heap, because the parser holds a row. */
static int read_rows(struct jp_lines *lines, enum util_kind kind,
                     struct util_head *head, util_take *take, void *arg,
                     struct util_read *read, struct jp_error *err)
{
    struct parser *p = calloc(1, sizeof(*p));
    int rc;

    *read = (struct util_read){0};
    if (!p)
        return error_set(err, "out of memory");
    p->kind = kind;
    p->head = head;
    p->take = take;
    p->arg = arg;
    p->read = read;
    rc = read_source(lines, p, err);
    free(p);
    return rc;
}

int util_rows_read(const char *path, enum util_kind kind,
                   struct util_head *head, util_take *take, void *arg,
                   struct util_read *read, struct jp_error *err)
{
    struct jp_lines *lines = lines_open(path, &util_lines, err);
    struct jp_error why = {""};
    int rc;

    if (!lines)
        return -1;
    rc = read_rows(lines, kind, head, take, arg, read, &why);
    lines_close(lines);
    return rc < 0 ? error_set(err, "%s: %s", path, why.text) : 0;
}

int util_rows_parse(const void *bytes, size_t len, enum util_kind kind,
                    struct util_head *head, util_take *take, void *arg,
                    struct util_read *read, struct jp_error *err)
{
    struct jp_lines *lines =
        lines_open_memory(bytes, len, "", &util_lines, err);
    int rc;

    if (!lines)
        return -1;
    rc = read_rows(lines, kind, head, take, arg, read, err);
    lines_close(lines);
    return rc;
}
