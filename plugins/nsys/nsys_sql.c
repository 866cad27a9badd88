/* nsys_sql.c - SQLite reads one descriptor, and nothing else.
 *
 * A VFS of our own (the file_... and vfs_... functions) gives SQLite that
 * descriptor as its only file: no locks, no journal, no writing. nsys_sql_open
 * checks the file before SQLite sees it; nsys_sql_scan reads a table row by row
 * with a plain SELECT of its stored columns. At the end, the functions of a
 * build without libsqlite3. */
#include "config.h"

#include "plugins/nsys/nsys_read.h"

#ifdef HAVE_SQLITE3

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"

/* MAX_VALUE: bytes of one text or row. STEPS: instructions of SQLite's virtual
 * machine between two calls of stop. HEAD: bytes of SQLite's file header. */
enum { CACHE_KIB = 8192, MAX_VALUE = 1 << 20, STEPS = 100000, HEAD = 100 };

struct nsys_db {
    sqlite3 *sql;
    sqlite3_stmt *text; /* of nsys_sql_text; NULL: not prepared yet */
    bool no_text;       /* the file has no table StringIds */
    int fd;
    nsys_stop *stop;
    void *arg;
    bool stopped; /* stop returned true */
};

bool nsys_sql_built(void)
{
    return true;
}

/* --- files as SQLite sees them: one, by its descriptor ------------------- */

/* SQLite's view of a file, with our descriptor. */
struct file {
    sqlite3_file base;
    int fd;
};

/* The descriptor belongs to struct nsys_db. */
static int file_close(sqlite3_file *file)
{
    (void) file;
    return SQLITE_OK;
}

/* Reads all n bytes, or reports a short read as SQLite defines it. */
static int file_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
    int fd = ((struct file *) file)->fd, done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *) to + done, (size_t) (n - done),
                            (off_t) (at + done));

        /* a signal is no error of the file */
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return SQLITE_IOERR_READ;
        /* SQLite expects the rest to be zeros */
        if (got == 0) {
            memset((char *) to + done, 0, (size_t) (n - done));
            return SQLITE_IOERR_SHORT_READ;
        }
        done += (int) got;
    }
    return SQLITE_OK;
}

/* Writing is refused, here and in file_truncate. */
static int file_write(sqlite3_file *file, const void *from, int n,
                      sqlite3_int64 at)
{
    (void) file, (void) from, (void) n, (void) at;
    return SQLITE_READONLY;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    (void) file, (void) size;
    return SQLITE_READONLY;
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void) file, (void) flags;
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    struct stat st;

    if (fstat(((struct file *) file)->fd, &st) < 0)
        return SQLITE_IOERR_FSTAT;
    *size = st.st_size;
    return SQLITE_OK;
}

/* Locks always succeed: nobody else writes the file. */
static int file_lock(sqlite3_file *file, int how)
{
    (void) file, (void) how;
    return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *out)
{
    (void) file;
    *out = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    (void) file, (void) op, (void) arg;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
    (void) file;
    return 0;
}

/* The file does not change while it is read: SQLite needs no locks and no
 * journal. */
static int file_traits(sqlite3_file *file)
{
    (void) file;
    return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_lock,
    .xCheckReservedLock = file_is_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
};

/* The name is the descriptor's number. Only the main database can be opened: no
 * journal, no temporary file. */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out,
                    int flags, int *got)
{
    struct file *file = (struct file *) out;
    uint64_t fd = 0;

    (void) vfs;
    /* SQLite does not call xClose then */
    file->base.pMethods = NULL;
    if (!(flags & SQLITE_OPEN_MAIN_DB) || !name ||
        num_parse_u64(name, 0, INT32_MAX, &fd, NULL) < 0)
        return SQLITE_CANTOPEN;
    file->base.pMethods = &file_methods;
    file->fd = (int) fd;
    if (got)
        *got = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
    return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    (void) vfs, (void) name, (void) sync;
    return SQLITE_IOERR_DELETE;
}

/* No other file exists. */
static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void) vfs, (void) name, (void) flags;
    *out = 0;
    return SQLITE_OK;
}

/* The name stays the number. */
static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int size,
                         char *out)
{
    (void) vfs;
    sqlite3_snprintf(size, out, "%s", name);
    return SQLITE_OK;
}

/* The name of our VFS, which is the system's except for files; NULL: it cannot
 * be registered. */
static const char *own_vfs(void)
{
    static sqlite3_vfs vfs;
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);

    if (!system)
        return NULL;
    /* registered once a process */
    if (!vfs.zName) {
        vfs = *system;
        vfs.iVersion = 1;
        vfs.szOsFile = sizeof(struct file);
        vfs.pNext = NULL;
        vfs.zName = "jobprof";
        /* time, random numbers and sleeping stay the system's */
        vfs.xOpen = vfs_open;
        vfs.xDelete = vfs_delete;
        vfs.xAccess = vfs_access;
        vfs.xFullPathname = vfs_full_name;
        if (sqlite3_vfs_register(&vfs, 0) != SQLITE_OK)
            vfs.zName = NULL;
    }
    return vfs.zName;
}

/* --- open ---------------------------------------------------------------- */

/* A big-endian number of n bytes. */
static uint32_t number_at(const unsigned char *at, int n)
{
    uint32_t number = 0;

    while (n-- > 0)
        number = number << 8 | *at++;
    return number;
}

/* Checks that the file is SQLite and as long as its header says
 * (https://sqlite.org/fileformat.html): page size at 16, number of pages at
 * 28. */
static int check_head(int fd, const char *path, struct jp_error *err)
{
    unsigned char head[HEAD] = {0};
    ssize_t n = pread(fd, head, HEAD, 0);
    uint64_t page, pages;
    struct stat st;

    if (n < 0 || fstat(fd, &st) < 0)
        return error_set(err, "%s: %m", QUOTE(path));
    /* the three most frequent mistakes have errors of their own */
    if (n == 0)
        return error_set(err, "%s: empty file", QUOTE(path));
    if (memcmp(head, "SQLite format 3", (size_t) (n < 16 ? n : 16)) != 0)
        return error_set(err,
                         "%s: not an SQLite file (export a report with: nsys "
                         "export --type=sqlite FILE)",
                         QUOTE(path));
    page = number_at(head + 16, 2);
    page = page == 1 ? 65536 : page; /* 1 stands for 65536 */
    pages = number_at(head + 28, 4);
    /* the number of pages is valid only if the change counter (24) equals the
     * version for which it was set (92) */
    if (n < HEAD || (uint64_t) st.st_size < page ||
        (number_at(head + 24, 4) == number_at(head + 92, 4) &&
         (uint64_t) st.st_size < pages * page))
        return error_set(err, "%s: truncated: %lld of %llu bytes", QUOTE(path),
                         (long long) st.st_size,
                         (unsigned long long) (pages * page));
    return 0;
}

/* SQLite's journals are beside the file until its writer has finished. */
static int check_journal(const char *path, struct jp_error *err)
{
    static const char *const ends[] = {"journal", "wal"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        char *beside = text_format("%s-%s", path, ends[i]);
        struct stat st;
        /* an empty journal is a finished one */
        bool is_there = beside && lstat(beside, &st) == 0 && st.st_size > 0;

        free(beside);
        if (is_there)
            return error_set(err,
                             "%s: incomplete: its writer is still running or "
                             "has died (%s-%s)",
                             QUOTE(path), QUOTE(path), ends[i]);
    }
    return 0;
}

/* Called by SQLite while it reads; true interrupts it. */
static int on_steps(void *arg)
{
    struct nsys_db *db = arg;

    db->stopped = db->stopped || db->stop(db->arg);
    return db->stopped;
}

/* Runs a command that returns no rows we need. */
static int run(sqlite3 *sql, const char *command)
{
    return sqlite3_exec(sql, command, NULL, NULL, NULL);
}

/* Opens the database with everything switched off that a foreign file could
 * abuse: triggers, views, functions in the schema. */
static int start(struct nsys_db *db, const char *path, struct jp_error *err)
{
    const char *vfs = own_vfs();
    char name[24], cache[64];

    snprintf(name, sizeof(name), "%d", db->fd);
    snprintf(cache, sizeof(cache), "PRAGMA cache_size=-%d", CACHE_KIB);
    if (!vfs ||
        sqlite3_open_v2(name, &db->sql, SQLITE_OPEN_READONLY, vfs) != SQLITE_OK)
        return error_set(err, "%s: SQLite cannot open it", QUOTE(path));
    sqlite3_limit(db->sql, SQLITE_LIMIT_LENGTH, MAX_VALUE);
    sqlite3_db_config(db->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->sql, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db->sql, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
    sqlite3_db_config(db->sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
#endif
    /* a damaged file could keep SQLite busy for long */
    if (db->stop)
        sqlite3_progress_handler(db->sql, STEPS, on_steps, db);
    if (run(db->sql, "PRAGMA cell_size_check=1") != SQLITE_OK ||
        run(db->sql, "PRAGMA temp_store=MEMORY") != SQLITE_OK ||
        run(db->sql, cache) != SQLITE_OK ||
        run(db->sql, "SELECT count(*) FROM sqlite_master") != SQLITE_OK)
        return error_set(err, "%s: %s", QUOTE(path), sqlite3_errmsg(db->sql));
    return 0;
}

struct nsys_db *nsys_sql_open(const char *path, nsys_stop *stop, void *arg,
                              struct jp_error *err)
{
    struct nsys_db *db = calloc(1, sizeof(*db));

    if (!db) {
        error_set(err, "out of memory");
        return NULL;
    }
    db->stop = stop;
    db->arg = arg;
    /* the checks read the file before SQLite does */
    db->fd = fileio_open_regular(path, false, err);
    if (db->fd >= 0 && check_head(db->fd, path, err) == 0 &&
        check_journal(path, err) == 0 && start(db, path, err) == 0)
        return db;
    nsys_sql_close(db);
    return NULL;
}

void nsys_sql_close(struct nsys_db *db)
{
    if (!db)
        return;
    sqlite3_finalize(db->text);
    sqlite3_close(db->sql);
    if (db->fd >= 0)
        close(db->fd);
    free(db);
}

/* --- read ---------------------------------------------------------------- */

/* A virtual table has no page of its own (rootpage 0), so it is not found. */
bool nsys_sql_has(struct nsys_db *db, const char *table)
{
    sqlite3_stmt *find = NULL;
    bool found = false;

    if (sqlite3_prepare_v2(db->sql,
                           "SELECT 1 FROM sqlite_master WHERE type='table' "
                           "AND lower(name)=lower(?) AND rootpage>1",
                           -1, &find, NULL) == SQLITE_OK &&
        sqlite3_bind_text(find, 1, table, -1, SQLITE_STATIC) == SQLITE_OK)
        found = sqlite3_step(find) == SQLITE_ROW;
    sqlite3_finalize(find);
    return found;
}

/* Marks which of the columns are stored ones. table_info does not list computed
 * (generated) columns. */
static int find_columns(struct nsys_db *db, const char *table,
                        const char *const *columns, size_t n, bool *is_there)
{
    sqlite3_stmt *list = NULL;
    int rc = sqlite3_prepare_v2(
        db->sql, "SELECT name FROM pragma_table_info(?)", -1, &list, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(list, 1, table, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(list)) == SQLITE_ROW) {
        const char *name = (const char *) sqlite3_column_text(list, 0);

        for (size_t i = 0; i < n; i++)
            is_there[i] |= name && columns[i] &&
                           sqlite3_stricmp(name, columns[i]) == 0;
        /* any code except SQLITE_DONE at the end is an error */
        rc = SQLITE_OK;
    }
    sqlite3_finalize(list);
    return rc == SQLITE_DONE ? 0 : -1;
}

/* Reads a value. A text for which there is no memory becomes
 * NSYS_CELL_OTHER. */
static void get_cell(sqlite3_stmt *select, int at, struct nsys_cell *cell)
{
    *cell = (struct nsys_cell){.type = NSYS_CELL_NONE};
    switch (sqlite3_column_type(select, at)) {
    case SQLITE_INTEGER:
        cell->type = NSYS_CELL_NUMBER;
        cell->number = sqlite3_column_int64(select, at);
        break;
    case SQLITE_TEXT:
        cell->type = NSYS_CELL_TEXT;
        cell->text = (const char *) sqlite3_column_text(select, at);
        /* no memory for the conversion */
        if (!cell->text)
            cell->type = NSYS_CELL_OTHER;
        break;
    case SQLITE_NULL:
        break;
    default:
        cell->type = NSYS_CELL_OTHER;
    }
}

/* The error of SQLite, or the time limit. */
static int said(struct nsys_db *db, const char *table, struct jp_error *err)
{
    if (db->stopped)
        return error_set(err, "the time limit ran out");
    return error_set(err, "%s: %s", table, sqlite3_errmsg(db->sql));
}

/* "SELECT 1,"a",NULL FROM t": each column, or NULL for one that is not
 * there, so that cells are at fixed positions; NULL: no memory. Freed by
 * sqlite3_free. */
static char *make_select(const char *table, const char *const *columns,
                         size_t n, const bool *is_there)
{
    char *text = sqlite3_mprintf("SELECT 1");

    for (size_t i = 0; i < n && text; i++) {
        char *more = is_there[i]
                         ? sqlite3_mprintf("%s,\"%w\"", text, columns[i])
                         : sqlite3_mprintf("%s,NULL", text);

        sqlite3_free(text);
        text = more;
    }
    if (text) {
        char *more = sqlite3_mprintf("%s FROM main.\"%w\"", text, table);

        sqlite3_free(text);
        text = more;
    }
    return text;
}

int nsys_sql_scan(struct nsys_db *db, const char *table,
                  const char *const *columns, size_t n, nsys_row *row,
                  void *arg, struct jp_error *err)
{
    struct nsys_cell cells[NSYS_SQL_COLUMNS];
    bool is_there[NSYS_SQL_COLUMNS] = {false};
    sqlite3_stmt *select = NULL;
    char *text = NULL;
    int rc = -1, step = SQLITE_OK;

    /* a table without events does not exist */
    if (!nsys_sql_has(db, table))
        return db->stopped ? said(db, table, err) : 0;
    if (n > NSYS_SQL_COLUMNS ||
        find_columns(db, table, columns, n, is_there) < 0)
        return said(db, table, err);
    text = make_select(table, columns, n, is_there);
    if (!text ||
        sqlite3_prepare_v2(db->sql, text, -1, &select, NULL) != SQLITE_OK) {
        said(db, table, err);
        goto out;
    }
    while ((step = sqlite3_step(select)) == SQLITE_ROW) {
        for (size_t i = 0; i < n; i++)
            /* column 0 is the constant 1 */
            get_cell(select, (int) i + 1, &cells[i]);
        if (row(arg, cells, err) < 0)
            goto out;
    }
    rc = step == SQLITE_DONE ? 0 : said(db, table, err);
out:
    sqlite3_finalize(select);
    sqlite3_free(text);
    return rc;
}

const char *nsys_sql_text(struct nsys_db *db, int64_t id)
{
    /* prepared once: it is used for each new name */
    if (!db->text && !db->no_text &&
        (!nsys_sql_has(db, "StringIds") ||
         sqlite3_prepare_v2(db->sql,
                            "SELECT value FROM main.StringIds WHERE id=?", -1,
                            &db->text, NULL) != SQLITE_OK))
        db->no_text = true;
    if (db->no_text)
        return NULL;
    /* the text of the last call ends here */
    sqlite3_reset(db->text);
    sqlite3_bind_int64(db->text, 1, id);
    return sqlite3_step(db->text) == SQLITE_ROW
               ? (const char *) sqlite3_column_text(db->text, 0)
               : NULL;
}

#else /* no libsqlite3 */

bool nsys_sql_built(void)
{
    return false;
}

struct nsys_db *nsys_sql_open(const char *path, nsys_stop *stop, void *arg,
                              struct jp_error *err)
{
    (void) path, (void) stop, (void) arg;
    error_set(err, "this jobprof was built without libsqlite3, which it needs "
                   "to read nsys exports");
    return NULL;
}

void nsys_sql_close(struct nsys_db *db)
{
    (void) db;
}

bool nsys_sql_has(struct nsys_db *db, const char *table)
{
    (void) db, (void) table;
    return false;
}

int nsys_sql_scan(struct nsys_db *db, const char *table,
                  const char *const *columns, size_t n, nsys_row *row,
                  void *arg, struct jp_error *err)
{
    (void) db, (void) table, (void) columns, (void) n, (void) row, (void) arg;
    return error_set(err, "no libsqlite3");
}

const char *nsys_sql_text(struct nsys_db *db, int64_t id)
{
    (void) db, (void) id;
    return NULL;
}

#endif
