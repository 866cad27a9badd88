/* parquet_report.c - convert a report's CSV files to Parquet.
 *
 * The description of each table gives the type of a column; the values come
 * from the CSV files. A report can therefore be exported after its raw data was
 * removed. Threads take turns in reading. Each converts its part to a row
 * group, and appends it in the order of the parts.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fileio.h"
#include "common/lines.h"
#include "common/utf8.h"
#include "common/vector.h"
#include "orchestrator/feature/feature.h"
#include "orchestrator/parquet/parquet_feature.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/table/csv_in.h"

enum {
    /* for each file */
    MAX_THREADS = 4,
    MAX_ROW = LINES_TABLE_LINE, /* in bytes, as in csvtable.h */
    READ_BYTES = 1 << 20
};
/* a chunk's text fits one row group */
#define CHUNK_BYTES ((size_t) PARQUET_TEXT_BYTES)

/* --- types of columns ----------------------------------------------------- */

static const enum parquet_type types[] = {
    [TABLE_TYPE_TEXT] = PARQUET_TEXT,   [TABLE_TYPE_BOOL] = PARQUET_BOOL,
    [TABLE_TYPE_COUNT] = PARQUET_COUNT, [TABLE_TYPE_INT] = PARQUET_INT,
    [TABLE_TYPE_CLOCK] = PARQUET_CLOCK, [TABLE_TYPE_REAL] = PARQUET_REAL};

static const struct jp_table *find_in(const struct jp_table *const list[],
                                      const char *name)
{
    for (size_t i = 0; list && list[i]; i++)
        if (strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

/* The table of csv/NAME.csv; NULL: unknown name. */
static const struct jp_table *find_table(const char *name)
{
    /* all tables that a report may have */
    const struct jp_table *table = find_in(tables, name);

    for (size_t i = 0; !table && feature_registry[i]; i++)
        table = find_in(feature_registry[i]->tables, name);
    return table;
}

/* --- reading a CSV file in turns ------------------------------------------ */

/* A CSV file that threads read in turns. All but path, columns and codec is
 * protected by the lock while they run. */
struct feed {
    const char *path;
    int fd;
    struct parquet_column columns[PARQUET_COLUMNS];
    char *names; /* column names from the heading */
    size_t n_columns;
    enum parquet_codec codec;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    char *carry; /* bytes read but not yet taken */
    size_t n_carry;
    bool end;
    uint64_t line;         /* line number of the next row */
    size_t taken, written; /* number of chunks */
    struct parquet_file *file;
    uint64_t rows, odd;
    bool failed; /* an error has occurred; see why */
    struct jp_error why;
};

/* The part of a file that one thread converts. */
struct chunk {
    char *text;
    size_t n, size;
    uint64_t line; /* line number of its first row */
    size_t rows;
    size_t turn;
    uint64_t odd;
    char *cell; /* MAX_ROW bytes */
    struct parquet_group *group;
    struct jp_error err;
};

/* Makes room for n bytes of text. 0, or -1 and c->err. */
static int room(struct chunk *c, size_t n)
{
    return VECTOR_ROOM(c->text, n, c->size) < 0
               ? error_set(&c->err, "out of memory")
               : 0;
}

/* Reads more. *n: number of bytes added after the present ones; 0 at the
 * end. */
static int read_more(struct feed *f, struct chunk *c, size_t *n)
{
    ssize_t got;

    *n = 0;
    if (f->end)
        return 0;
    if (room(c, c->n + READ_BYTES) < 0)
        return -1;
    /* a signal may interrupt */
    do
        got = read(f->fd, c->text + c->n, READ_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return error_set(&c->err, "%s: %m", f->path);
    f->end = got == 0;
    *n = (size_t) got;
    c->n += *n;
    return 0;
}

/* Counts whole rows of c's text from byte *at, up to PARQUET_ROWS in all. */
static void count_rows(struct chunk *c, size_t *at)
{
    const char *end;

    while (c->rows < PARQUET_ROWS && *at < c->n &&
           (end = memchr(c->text + *at, '\n', c->n - *at))) {
        *at = (size_t) (end - c->text) + 1;
        c->rows++;
    }
}

/* Takes the next rows of the file. c->rows 0: no more rows. */
static int take_rows(struct feed *f, struct chunk *c)
{
    size_t at = 0, got;

    c->rows = c->n = 0;
    /* begin with what the thread before has read beyond its rows */
    if (room(c, f->n_carry) < 0)
        return -1;
    if (f->n_carry)
        memcpy(c->text, f->carry, f->n_carry);
    c->n = f->n_carry;
    for (;;) {
        count_rows(c, &at);
        if (c->rows == PARQUET_ROWS || at >= CHUNK_BYTES)
            break;
        if (c->n - at > MAX_ROW)
            return error_set(&c->err, "%s:%" PRIu64 ": row too long", f->path,
                             f->line + c->rows);
        if (read_more(f, c, &got) < 0)
            return -1;
        if (!got && c->n > at)
            return error_set(&c->err, "%s:%" PRIu64 ": cut row", f->path,
                             f->line + c->rows);
        if (!got)
            break;
    }
    /* leave the begun row to the next thread */
    f->n_carry = c->n - at;
    if (f->n_carry)
        memcpy(f->carry, c->text + at, f->n_carry);
    c->n = at;
    c->line = f->line;
    f->line += c->rows;
    return 0;
}

/* Allocates the carry: at most one read plus one row are left over. */
static int feed_room(struct feed *f, struct jp_error *err)
{
    f->carry = malloc(READ_BYTES + 2 * MAX_ROW);
    return f->carry ? 0 : error_set(err, "out of memory");
}

/* --- cells ---------------------------------------------------------------- */

/* Parses digits. False: none, something else, or more than 64 bits. */
static bool parse_count(struct csv_cell cell, uint64_t *value)
{
    uint64_t v = 0;

    for (size_t i = 0; i < cell.n; i++) {
        unsigned digit = (unsigned char) cell.at[i] - '0';

        if (digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *value = v;
    return cell.n > 0;
}

static bool parse_int(struct csv_cell cell, uint64_t *value)
{
    bool minus = cell.n && cell.at[0] == '-';
    uint64_t v;

    if (!parse_count((struct csv_cell){cell.at + minus, cell.n - minus}, &v) ||
        /* the least int64 has no positive counterpart */
        v > (uint64_t) INT64_MAX + minus)
        return false;
    *value = minus ? 0 - v : v;
    return true;
}

/* Uses the library for numbers that are long or have an exponent. */
static bool parse_odd_real(struct csv_cell cell, double *value)
{
    char text[64], *end;

    if (!cell.n || cell.n >= sizeof(text))
        return false;
    /* strtod needs a NUL */
    memcpy(text, cell.at, cell.n);
    text[cell.n] = '\0';
    if (strspn(text, "+-.0123456789eE") != cell.n)
        return false;
    *value = strtod(text, &end);
    return *end == '\0';
}

/* Parses a real. The result is exact if the digits and the power of ten are
 * exact: the quotient is then rounded once, as in strtod. */
static bool parse_real(struct csv_cell cell, double *value)
{
    static const double tens[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    size_t i = cell.n && cell.at[0] == '-', first = i, point = 0;
    uint64_t digits = 0;
    double v;

    /* up to 15 digits are exact in a double */
    if (cell.n - i > 15)
        return parse_odd_real(cell, value);
    for (; i < cell.n; i++) {
        unsigned digit = (unsigned char) cell.at[i] - '0';

        if (digit <= 9)
            digits = 10 * digits + digit;
        else if (cell.at[i] == '.' && !point && i > first && i + 1 < cell.n)
            point = i + 1;
        else
            return parse_odd_real(cell, value);
    }
    if (i == first)
        return false;
    /* tens up to 1e22 are exact, too */
    v = (double) digits / tens[point ? cell.n - point : 0];
    *value = first ? -v : v;
    return true;
}

/* Makes text that every reader accepts: UTF-8 without control characters. Uses
 * the file's bytes, or buf if it has to change them. */
static struct csv_cell clean(struct csv_cell cell, char *buf)
{
    bool plain = true;

    for (size_t i = 0; i < cell.n && plain; i++)
        plain = (unsigned char) (cell.at[i] - 0x20) < 0x5f;
    if (plain)
        return cell;
    /* a quoted cell is in buf already */
    memmove(buf, cell.at, cell.n);
    for (size_t i = 0, len; i < cell.n; i += len) {
        uint32_t point;

        len = utf8_decode(buf + i, cell.n - i, &point);
        if (!len || point < 0x20 || point == 0x7f) {
            buf[i] = '?';
            len = 1;
        }
    }
    return (struct csv_cell){buf, cell.n};
}

/* Stores a cell. Returns false if it does not have this type. */
static bool put_cell(struct chunk *c, size_t column, enum parquet_type type,
                     struct csv_cell cell)
{
    uint64_t number;
    double real;

    if (!cell.n) {
        parquet_put_null(c->group, column);
        return true;
    }
    switch (type) {
    case PARQUET_TEXT:
        cell = clean(cell, c->cell);
        parquet_put_text(c->group, column, cell.at, cell.n);
        return true;
    case PARQUET_BOOL:
        parquet_put_bool(c->group, column, cell.n == 3);
        return (cell.n == 3 && !memcmp(cell.at, "yes", 3)) ||
               (cell.n == 2 && !memcmp(cell.at, "no", 2));
    case PARQUET_REAL:
        if (!parse_real(cell, &real))
            return false;
        parquet_put_real(c->group, column, real);
        return true;
    case PARQUET_INT:
        if (!parse_int(cell, &number))
            return false;
        parquet_put_number(c->group, column, number);
        return true;
    case PARQUET_COUNT:
        if (!parse_count(cell, &number))
            return false;
        parquet_put_number(c->group, column, number);
        return true;
    default:
        if (!parse_count(cell, &number) && !parse_int(cell, &number))
            return false;
        /* an unsigned value beyond int64: a time after the year 294,000 */
        if (number > INT64_MAX && *cell.at != '-') {
            c->odd++;
            parquet_put_null(c->group, column);
        } else {
            parquet_put_number(c->group, column, number);
        }
        return true;
    }
}

/* Puts all cells of a row. 0, or -1 and c->err. */
static int put_row(const struct feed *f, struct chunk *c, uint64_t line,
                   const char *from, const char *end)
{
    const char *at = from;
    struct csv_cell cell;

    for (size_t i = 0; i < f->n_columns; i++) {
        if (!at || csv_in_cell(&at, end, c->cell, &cell) != CSV_IN_CELL)
            return error_set(&c->err, "%s:%" PRIu64 ": %s", f->path, line,
                             at ? "not CSV" : "too few columns");
        if (!put_cell(c, i, f->columns[i].type, cell))
            return error_set(&c->err, "%s:%" PRIu64 ": %s: not of its type",
                             f->path, line, f->columns[i].name);
    }
    if (at)
        return error_set(&c->err, "%s:%" PRIu64 ": too many columns", f->path,
                         line);
    parquet_group_end_row(c->group);
    return 0;
}

/* Puts and encodes all rows of a chunk. 0, or -1 and c->err. */
static int put_rows(const struct feed *f, struct chunk *c)
{
    const char *at = c->text, *end;
    uint64_t line = c->line;

    for (; at < c->text + c->n; at = end + 1, line++) {
        end = memchr(at, '\n', (size_t) (c->text + c->n - at));
        if ((size_t) (end - at) >= MAX_ROW)
            return error_set(&c->err, "%s:%" PRIu64 ": row too long", f->path,
                             line);
        if (put_row(f, c, line, at, end) < 0)
            return -1;
    }
    return parquet_group_encode(c->group, &c->err);
}

/* --- threads -------------------------------------------------------------- */

/* Whether there is another chunk to convert. */
static bool take_chunk(struct feed *f, struct chunk *c, bool *bad)
{
    c->rows = 0;
    pthread_mutex_lock(&f->lock);
    *bad = !f->failed && take_rows(f, c) < 0;
    /* an error of reading ends the file for all */
    if (*bad)
        f->end = true;
    c->turn = f->taken;
    f->taken += c->rows > 0 || *bad;
    pthread_mutex_unlock(&f->lock);
    return c->rows > 0 || *bad;
}

/* Appends the chunks in their order. The first chunk with an error determines
 * the file's error. */
static void hand_over(struct feed *f, struct chunk *c, bool bad)
{
    pthread_mutex_lock(&f->lock);
    /* in the order of the file, whichever thread is done first */
    while (f->written != c->turn)
        pthread_cond_wait(&f->moved, &f->lock);
    if (!f->failed && !bad) {
        f->rows += c->rows;
        f->odd += c->odd;
        bad = parquet_append(f->file, c->group, &c->err) < 0;
    }
    if (bad && !f->failed) {
        f->failed = true;
        f->why = c->err;
    }
    f->written++;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
}

/* A thread: takes chunks until there are none. */
static void *work(void *arg)
{
    struct feed *f = arg;
    struct chunk c = {.cell = malloc(MAX_ROW)};
    bool bad;

    c.group = parquet_group_create(f->columns, f->n_columns, f->codec);
    while (take_chunk(f, &c, &bad)) {
        c.odd = 0;
        if (!bad && (!c.cell || !c.group))
            bad = error_set(&c.err, "out of memory") < 0;
        if (!bad)
            bad = put_rows(f, &c) < 0;
        hand_over(f, &c, bad);
        if (bad)
            break;
    }
    parquet_group_destroy(c.group);
    free(c.cell);
    free(c.text);
    return NULL;
}

/* Converts with a thread for each 8 MiB, this one included. */
static void run_feed(struct feed *f, uint64_t bytes)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t helpers[MAX_THREADS];
    unsigned n = 0;

    while (n + 1 < MAX_THREADS && n + 1 < (unsigned) (cpus > 0 ? cpus : 1) &&
           bytes > (n + 1) * (uint64_t) (8 << 20) &&
           pthread_create(&helpers[n], NULL, work, f) == 0)
        n++;
    work(f);
    while (n)
        pthread_join(helpers[--n], NULL);
}

/* --- one file ------------------------------------------------------------- */

static const struct jp_column *find_column(const struct jp_table *table,
                                           const char *key)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].flags & JP_CSV &&
            strcmp(table->columns[i].key, key) == 0)
            return &table->columns[i];
    return NULL;
}

/* Adds a column by its name. An unknown column, of another release, is text. */
static int add_column(struct feed *f, const struct jp_table *table, char *key,
                      struct jp_error *err)
{
    const struct jp_column *c = find_column(table, key);

    /* names of columns are ours, and simple */
    if (!*key || key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_")])
        return error_set(err, "%s:1: not a heading", f->path);
    if (f->n_columns == PARQUET_COLUMNS)
        return error_set(err, "%s:1: too many columns", f->path);
    for (size_t i = 0; i < f->n_columns; i++)
        if (strcmp(f->columns[i].name, key) == 0)
            return error_set(err, "%s:1: \"%s\" appears more than once",
                             f->path, key);
    f->columns[f->n_columns++] = (struct parquet_column){
        key, c ? types[table_type_of(c)] : PARQUET_TEXT};
    return 0;
}

/* Reads the first line of the file. */
static int read_heading(struct feed *f, const struct jp_table *table,
                        struct jp_error *err)
{
    struct chunk c = {0};
    size_t got, n;
    char *end;
    int rc = read_more(f, &c, &got);

    end = rc == 0 && got ? memchr(c.text, '\n', c.n) : NULL;
    if (rc < 0) {
        if (err)
            *err = c.err;
        /* a NUL would end the names early */
    } else if (end && memchr(c.text, '\0', (size_t) (end - c.text))) {
        rc = error_set(err, "%s:1: not a heading", f->path);
    } else if (!end || !(f->names = strndup(c.text, (size_t) (end - c.text)))) {
        rc = error_set(err, "%s: no heading", f->path);
    } else {
        n = (size_t) (end + 1 - c.text);
        /* what was read beyond the heading are the first rows */
        f->n_carry = c.n - n;
        memcpy(f->carry, c.text + n, f->n_carry);
        f->line = 2;
        for (char *key = f->names, *comma; key && rc == 0; key = comma) {
            comma = strchr(key, ',');
            if (comma)
                *comma++ = '\0';
            rc = add_column(f, table, key, err);
        }
    }
    free(c.text);
    return rc;
}

int parquet_report_csv(const char *csv, FILE *out, enum parquet_codec codec,
                       struct parquet_done *done, struct jp_error *err)
{
    const char *base = strrchr(csv, '/') ? strrchr(csv, '/') + 1 : csv;
    char name[64] = "";
    const struct jp_table *table;
    struct feed f = {.path = csv,
                     .codec = codec,
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .moved = PTHREAD_COND_INITIALIZER};
    struct stat st = {0};
    int rc = -1;

    snprintf(name, sizeof(name), "%.*s", (int) strcspn(base, "."), base);
    table = find_table(name);
    if (!table)
        return error_set(err, "%s: not a table of a report", csv);
    f.fd = fileio_open_regular(csv, false, err);
    if (f.fd < 0)
        return -1;
    /* heading, columns, head of the file; then the rows */
    if (fstat(f.fd, &st) < 0 || feed_room(&f, err) < 0 ||
        read_heading(&f, table, err) < 0 ||
        !(f.file =
              parquet_create(out, table->name, f.columns, f.n_columns, err)))
        goto out;
    run_feed(&f, (uint64_t) st.st_size);
    if (f.failed)
        /* err may be NULL */
        *(err ? err : &f.why) = f.why;
    else
        rc = parquet_finish(f.file, err);
    if (rc == 0)
        *done = (struct parquet_done){.files = done->files + 1,
                                      .rows = done->rows + f.rows,
                                      .odd = done->odd + f.odd};
out:
    parquet_destroy(f.file);
    free(f.names);
    free(f.carry);
    close(f.fd);
    return rc;
}

/* --- a whole report ------------------------------------------------------- */

static int write_one(const char *csv_dir, const char *out_dir,
                     const struct jp_table *table, enum parquet_codec codec,
                     struct parquet_done *done, struct jp_error *err)
{
    char *csv = text_format("%s/%s.csv", csv_dir, table->name);
    char *path = text_format("%s/%s.parquet", out_dir, table->name);
    struct jp_tempfile file;
    int rc = -1;

    if (!csv || !path) {
        error_set(err, "out of memory");
        /* a report without this table */
    } else if (access(csv, F_OK) < 0) {
        rc = 0;
    } else if (fileio_mkdirs_held(out_dir, err) == 0 &&
               fileio_temp_open(&file, path, err) == 0) {
        rc = parquet_report_csv(csv, file.stream, codec, done, err);
        if (rc == 0)
            rc = fileio_temp_commit(&file, err);
        else
            fileio_temp_abort(&file);
    }
    free(csv);
    free(path);
    return rc;
}

/* Converts the tables of a list that have a CSV file. 0, or -1 and err. */
static int write_list(const char *csv_dir, const char *out_dir,
                      const struct jp_table *const list[],
                      enum parquet_codec codec, struct parquet_done *done,
                      struct jp_error *err)
{
    for (size_t i = 0; list && list[i]; i++)
        if (list[i]->columns->flags & JP_CSV &&
            write_one(csv_dir, out_dir, list[i], codec, done, err) < 0)
            return -1;
    return 0;
}

int parquet_report(const char *csv_dir, const char *out_dir,
                   enum parquet_codec codec, struct parquet_done *done,
                   struct jp_error *err)
{
    if (write_list(csv_dir, out_dir, tables, codec, done, err) < 0)
        return -1;
    for (size_t i = 0; feature_registry[i]; i++)
        if (write_list(csv_dir, out_dir, feature_registry[i]->tables, codec,
                       done, err) < 0)
            return -1;
    return 0;
}
