/* parquet.c - write row groups to a file, and the footer that describes them.
 *
 * Numbers in calls of field_...() are those of the fields in parquet.thrift. A
 * struct's fields have to be written in ascending order. */
#include "orchestrator/parquet/parquet.h"

#include "orchestrator/parquet/parquet_parts.h"

/* The physical type of each of our types. */
static const int physical[PARQUET_TYPES] = {
    [PARQUET_TEXT] = THRIFT_BYTES,  [PARQUET_BOOL] = THRIFT_BOOLEAN,
    [PARQUET_COUNT] = THRIFT_INT64, [PARQUET_INT] = THRIFT_INT64,
    [PARQUET_CLOCK] = THRIFT_INT64, [PARQUET_REAL] = THRIFT_DOUBLE};

/* --- the file ------------------------------------------------------------- */

/* A file being written. */
struct parquet_file {
    FILE *out;
    const char *table;
    uint64_t at, rows;
    struct bytes groups; /* metadata of the row groups */
    size_t n_groups, n_columns;
    struct parquet_column columns[];
};

/* Writes bytes and counts them, as the footer has file offsets. 0, or -1 and
 * err. */
static int put_bytes(struct parquet_file *file, const void *data, size_t n,
                     struct jp_error *err)
{
    if (n && fwrite(data, 1, n, file->out) != n)
        return error_set(err, "%m");
    file->at += n;
    return 0;
}

struct parquet_file *parquet_create(FILE *out, const char *table,
                                    const struct parquet_column *columns,
                                    size_t n, struct jp_error *err)
{
    struct parquet_file *file = calloc(1, sizeof(*file) + n * sizeof(*columns));

    if (!file) {
        error_set(err, "out of memory");
        return NULL;
    }
    file->out = out;
    file->table = table;
    file->n_columns = n;
    memcpy(file->columns, columns, n * sizeof(*columns));
    /* the magic */
    if (put_bytes(file, "PAR1", 4, err) < 0) {
        free(file);
        return NULL;
    }
    return file;
}

void parquet_destroy(struct parquet_file *file)
{
    if (!file)
        return;
    bytes_free(&file->groups);
    free(file);
}

/* Writes the Statistics of a column in a row group. */
static void describe_statistics(struct thrift *t, const struct column *c)
{
    struct thrift s = field_struct(t, 12);

    field_i64(&s, 3, c->nulls);
    if (c->judged) {
        field_binary(&s, 5, c->high, c->n_high);
        field_binary(&s, 6, c->low, c->n_low);
    }
    end_struct(&s);
}

/* Writes the ColumnChunk of a column that starts at file offset `at`. */
static void describe_chunk(struct bytes *to, const struct parquet_group *g,
                           const struct column *c, uint64_t at)
{
    /* values of CompressionCodec; PARQUET_NONE is 0 */
    static const int codecs[] = {[PARQUET_GZIP] = 2, [PARQUET_ZSTD] = 6};
    struct thrift t = {to, 0}, m;

    field_i64(&t, 2, at);
    m = field_struct(&t, 3);
    field_i32(&m, 1, physical[c->is.type]);
    field_list(&m, 2, T_I32, c->dictionary ? 3 : 2);
    /* of the definition levels */
    bytes_put_varint(to, zigzag(ENC_RLE));
    bytes_put_varint(to, zigzag((uint64_t) c->encoding));
    if (c->dictionary)
        bytes_put_varint(to, zigzag(ENC_PLAIN));
    field_list(&m, 3, T_BINARY, 1);
    put_binary(to, c->is.name, strlen(c->is.name));
    field_i32(&m, 4, codecs[g->codec]);
    field_i64(&m, 5, g->n_rows);
    field_i64(&m, 6, c->uncompressed);
    field_i64(&m, 7, c->pages.n);
    /* the dictionary page comes before the data pages */
    field_i64(&m, 9, at + c->dictionary_bytes);
    if (c->dictionary)
        field_i64(&m, 11, at);
    describe_statistics(&m, c);
    end_struct(&m);
    end_struct(&t);
}

int parquet_append(struct parquet_file *file, struct parquet_group *g,
                   struct jp_error *err)
{
    struct thrift t = {&file->groups, 0};
    uint64_t begin = file->at, size = 0;

    if (!g->encoded)
        return error_set(err, "out of memory");
    /* the RowGroup's description stays in memory until the footer */
    if (g->n_rows) {
        field_list(&t, 1, T_STRUCT, g->n_columns);
        for (size_t i = 0; i < g->n_columns; i++) {
            struct column *c = &g->columns[i];

            describe_chunk(&file->groups, g, c, file->at);
            size += c->uncompressed;
            if (put_bytes(file, c->pages.at, c->pages.n, err) < 0)
                return -1;
        }
        field_i64(&t, 2, size);
        field_i64(&t, 3, g->n_rows);
        field_i64(&t, 5, begin);
        field_i64(&t, 6, file->at - begin);
        end_struct(&t);
        file->n_groups++;
        file->rows += g->n_rows;
    }
    parquet_group_clear(g);
    return file->groups.failed ? error_set(err, "out of memory") : 0;
}

/* Writes the SchemaElement of a column. */
static void describe_column(struct bytes *to, const struct parquet_column *c)
{
    struct thrift t = {to, 0}, logical, kind, unit;

    field_i32(&t, 1, physical[c->type]);
    field_i32(&t, 3, OPTIONAL);
    field_text(&t, 4, c->name);
    /* ConvertedType (field 6) for old readers, LogicalType (field 10) for new
     * ones */
    if (c->type == PARQUET_TEXT) {
        field_i32(&t, 6, UTF8);
        logical = field_struct(&t, 10);
        field_empty(&logical, 1);
        end_struct(&logical);
    } else if (c->type == PARQUET_COUNT) {
        field_i32(&t, 6, UINT_64);
        logical = field_struct(&t, 10);
        kind = field_struct(&logical, 10);
        field(&kind, 1, T_I8);
        bytes_put_byte(to, 64);
        field(&kind, 2, T_FALSE); /* signed */
        end_struct(&kind);
        end_struct(&logical);
    } else if (c->type == PARQUET_CLOCK) {
        field_i32(&t, 6, TIMESTAMP_MICROS);
        logical = field_struct(&t, 10);
        kind = field_struct(&logical, 8);
        field(&kind, 1, T_TRUE); /* UTC */
        unit = field_struct(&kind, 2);
        field_empty(&unit, 2); /* microseconds */
        end_struct(&unit);
        end_struct(&kind);
        end_struct(&logical);
    }
    end_struct(&t);
}

/* Writes the schema: a root, then its columns, in the order of a walk through
 * the tree. */
static void describe_schema(struct bytes *to, const struct parquet_file *file)
{
    struct thrift root = {to, 0};

    field_text(&root, 4, file->table);
    field_i32(&root, 5, (int64_t) file->n_columns);
    end_struct(&root);
    for (size_t i = 0; i < file->n_columns; i++)
        describe_column(to, &file->columns[i]);
}

/* Writes the FileMetaData. */
static void describe_file(struct bytes *to, const struct parquet_file *file)
{
    struct thrift t = {to, 0}, pair = {to, 0}, order = {to, 0};

    field_i32(&t, 1, 1);
    field_list(&t, 2, T_STRUCT, file->n_columns + 1);
    describe_schema(to, file);
    field_i64(&t, 3, file->rows);
    field_list(&t, 4, T_STRUCT, file->n_groups);
    bytes_put(to, file->groups.at, file->groups.n);
    field_list(&t, 5, T_STRUCT, 1);
    field_text(&pair, 1, "jobprof.table");
    field_text(&pair, 2, file->table);
    end_struct(&pair);
    field_text(&t, 6, "jobprof version " PACKAGE_VERSION);
    /* without column orders, readers ignore the statistics */
    field_list(&t, 7, T_STRUCT, file->n_columns);
    for (size_t i = 0; i < file->n_columns; i++) {
        order.last = 0;
        field_empty(&order, 1); /* order defined by the type */
        end_struct(&order);
    }
    end_struct(&t);
}

int parquet_finish(struct parquet_file *file, struct jp_error *err)
{
    struct bytes footer = {0};
    int rc;

    describe_file(&footer, file);
    /* the footer's length, so that readers find it from the end */
    bytes_put_le(&footer, footer.n, 4);
    bytes_put(&footer, "PAR1", 4);
    rc = footer.failed || footer.n > INT32_MAX
             ? error_set(err, "out of memory")
             : put_bytes(file, footer.at, footer.n, err);
    bytes_free(&footer);
    if (rc == 0 && fflush(file->out) != 0)
        rc = error_set(err, "%m");
    return rc;
}

/* --- codecs --------------------------------------------------------------- */

enum parquet_codec parquet_codec_best(void)
{
#ifdef HAVE_ZSTD
    return PARQUET_ZSTD;
#else
    return PARQUET_GZIP;
#endif
}

int parquet_codec_find(const char *word, enum parquet_codec *codec)
{
    static const char *const words[] = {"none", "gzip", "zstd"};

    /* the best one comes last */
    for (unsigned i = 0; i <= (unsigned) parquet_codec_best(); i++)
        if (strcmp(word, words[i]) == 0) {
            *codec = (enum parquet_codec) i;
            return 0;
        }
    return -1;
}
