/* nsys_sql.c - SQLite reads one descriptor, and nothing else, on a budget.
 *
 * The only file that opens a database (style.test). A VFS of our own (the
 * file_... and vfs_... functions) gives SQLite that descriptor as its only
 * file: no locks, no journal, no writing. An allocator of our own
 * (budget_...) limits its memory, and on_steps its time. nsys_sql_open checks
 * the file before SQLite sees it, and its schema afterwards; nsys_sql_scan
 * reads a table row by row with a plain SELECT of its stored columns. At the
 * end, the functions of a build without libsqlite3. */
#include "config.h"

#include "plugins/nsys/nsys_read.h"

#ifdef HAVE_SQLITE3

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "common/fileio.h"
#include "common/num.h"
#include "common/quote.h"

/* The budget of a file. Exports of 2019 to 2026 have up to 130 tables of up to
 * 60 columns, and statements of up to 4,500 bytes that make them. */
enum {
    HEAP_MIB = 32, /* all memory of SQLite, without what malloc adds */
    CACHE_KIB = 8192,
    MAX_VALUE = 1 << 20, /* bytes of one text or row */
    MAX_SQL = 64 << 10,  /* bytes of a statement of the schema */
    MAX_COLUMNS = 256,
    MAX_TABLES = 1000, /* and as many indexes */
    OPEN_S = 5,        /* processor time to read the schema */
    /* processor time for the whole file: FILE_S, and one second for each
     * FILE_MIB_S, a twentieth of the speed measured (bench.sh) */
    FILE_S = 30,
    FILE_MIB_S = 4,
    /* instructions of SQLite's virtual machine between two looks at the clock,
     * and looks between two calls of stop */
    STEPS = 1000,
    LOOKS = 100,
    HEAD = 100 /* bytes of SQLite's file header */
};

struct nsys_db {
    sqlite3 *sql;
    sqlite3_stmt *text; /* of nsys_sql_text; NULL: not prepared yet */
    bool no_text;       /* the file has no table StringIds */
    int fd;
    nsys_stop *stop;
    void *arg;
    unsigned looks;
    double began_s, limit_s; /* processor time of this thread */
    bool stopped;            /* stop returned true */
    bool late;               /* limit_s is over */
};

bool nsys_sql_built(void)
{
    return true;
}

/* --- memory --------------------------------------------------------------- */

/* SQLite's own allocator, with a limit. sqlite3_hard_heap_limit64 is the same
 * since SQLite 3.31, but not where SQLite counts no memory. */
static sqlite3_mem_methods plain;
static size_t heap_used;

/* Whether n more bytes fit. */
static bool budget_has(int n)
{
    return n >= 0 &&
           __atomic_load_n(&heap_used, __ATOMIC_RELAXED) + (size_t) n <=
               (size_t) HEAP_MIB << 20;
}

static void budget_add(const void *memory)
{
    if (memory)
        __atomic_add_fetch(&heap_used,
                           (size_t) plain.xSize((void *) (uintptr_t) memory),
                           __ATOMIC_RELAXED);
}

static void budget_drop(void *memory)
{
    if (memory)
        __atomic_sub_fetch(&heap_used, (size_t) plain.xSize(memory),
                           __ATOMIC_RELAXED);
}

static void *budget_malloc(int n)
{
    void *memory = budget_has(n) ? plain.xMalloc(n) : NULL;

    budget_add(memory);
    return memory;
}

static void budget_free(void *memory)
{
    budget_drop(memory);
    plain.xFree(memory);
}

static void *budget_realloc(void *memory, int n)
{
    void *more;

    /* the old and the new block may exist at the same time */
    if (!budget_has(n))
        return NULL;
    budget_drop(memory);
    more = plain.xRealloc(memory, n);
    /* on failure the old block stays */
    budget_add(more ? more : memory);
    return more;
}

/* Installs the allocator, once a process, before SQLite's first use. Returns
 * false if SQLite refuses it. */
static bool budget_start(void)
{
    sqlite3_mem_methods own;

    if (plain.xMalloc)
        return true;
    /* has no effect unless somebody used SQLite before us (tests do) */
    sqlite3_shutdown();
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain) != SQLITE_OK)
        return false;
    own = plain;
    own.xMalloc = budget_malloc;
    own.xFree = budget_free;
    own.xRealloc = budget_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &own) == SQLITE_OK)
        return true;
    plain.xMalloc = NULL;
    return false;
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
    sqlite3_vfs *system;

    if (!budget_start())
        return NULL;
    system = sqlite3_vfs_find(NULL);
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

/* Processor time of this thread. A file system that hangs is not the file's
 * fault, so waiting does not count. */
static double thread_s(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

/* Called by SQLite while it reads; true interrupts it. */
static int on_steps(void *arg)
{
    struct nsys_db *db = arg;

    db->late = db->late || thread_s() - db->began_s > db->limit_s;
    if (db->stop && ++db->looks % LOOKS == 0)
        db->stopped = db->stopped || db->stop(db->arg);
    return db->stopped || db->late;
}

/* The error of the last call to SQLite: which limit it ran into, or what
 * SQLite says. what: a table, or NULL. Returns -1. */
static int sql_error(struct nsys_db *db, const char *what, struct jp_error *err)
{
    int code = sqlite3_extended_errcode(db->sql);

    if (db->stopped)
        return error_set(err, "the time limit ran out");
    if (db->late)
        return error_set(err,
                         "not read within %.0f s of processor time, the limit "
                         "for a file of its size",
                         db->limit_s);
    if (code == SQLITE_NOMEM)
        return error_set(err, "needs more than %d MiB of memory", HEAP_MIB);
    if (code == SQLITE_TOOBIG)
        return error_set(err,
                         "a value of over %d bytes, or a statement of over %d",
                         MAX_VALUE, MAX_SQL);
    return what ? error_set(err, "%s: %s", what, sqlite3_errmsg(db->sql))
                : error_set(err, "%s", sqlite3_errmsg(db->sql));
}

/* Sets SQLite's limits: nothing of an export comes near them. */
static void set_limits(sqlite3 *sql)
{
    static const struct {
        int limit, value;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, MAX_VALUE},
        {SQLITE_LIMIT_SQL_LENGTH, MAX_SQL},
        {SQLITE_LIMIT_COLUMN, MAX_COLUMNS},
        {SQLITE_LIMIT_EXPR_DEPTH, 32},
        {SQLITE_LIMIT_COMPOUND_SELECT, 2},
        {SQLITE_LIMIT_VDBE_OP, 10000},
        {SQLITE_LIMIT_FUNCTION_ARG, 8},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 8},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
        sqlite3_limit(sql, limits[i].limit, limits[i].value);
}

/* Switches off everything that a foreign schema could abuse: extensions,
 * triggers, views, functions, and writing to the schema. */
static void switch_off(sqlite3 *sql)
{
    sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
#ifdef SQLITE_DBCONFIG_DEFENSIVE
    sqlite3_db_config(sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
#endif
#ifdef SQLITE_DBCONFIG_ENABLE_VIEW
    sqlite3_db_config(sql, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
#endif
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
    sqlite3_db_config(sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
#endif
}

/* Checks what the file's schema consists of. SQLite has read it by now, within
 * the limits above. Views, triggers and virtual tables are refused: nsys writes
 * none, and they are programs. A virtual table has no page of its own. */
static int check_schema(struct nsys_db *db, struct jp_error *err)
{
    static const char text[] =
        "SELECT count(*),"
        "coalesce(sum(type NOT IN ('table','index')),0),"
        "coalesce(sum(type='table' AND (rootpage IS NULL OR rootpage<2)),0) "
        "FROM sqlite_master";
    sqlite3_stmt *look = NULL;
    int64_t all = 0, programs = 0, virtuals = 0;
    int rc = sqlite3_prepare_v2(db->sql, text, -1, &look, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(look);
    if (rc == SQLITE_ROW) {
        all = sqlite3_column_int64(look, 0);
        programs = sqlite3_column_int64(look, 1);
        virtuals = sqlite3_column_int64(look, 2);
    } else {
        sql_error(db, NULL, err);
    }
    sqlite3_finalize(look);
    if (rc != SQLITE_ROW)
        return -1;
    if (programs || virtuals)
        return error_set(err, "has views, triggers or virtual tables, which "
                              "nsys does not write");
    if (all > 2 * MAX_TABLES)
        return error_set(err, "%lld tables and indexes; the limit is %d",
                         (long long) all, 2 * MAX_TABLES);
    return 0;
}

/* The bytes of a file before its first hole: SQLite leaves none, but a file of
 * 1 TB that takes no space would have days. */
static uint64_t solid_bytes(int fd)
{
    off_t hole = lseek(fd, 0, SEEK_HOLE);

    return hole > 0 ? (uint64_t) hole : 0;
}

/* Runs a command that returns no rows we need. */
static int run_command(sqlite3 *sql, const char *command)
{
    return sqlite3_exec(sql, command, NULL, NULL, NULL);
}

/* Opens the database within its budget. */
static int start_db(struct nsys_db *db, const char *path, struct jp_error *err)
{
    const char *vfs = own_vfs();
    char name[24], cache[64];
    int rc = -1;

    snprintf(name, sizeof(name), "%d", db->fd);
    snprintf(cache, sizeof(cache), "PRAGMA cache_size=-%d", CACHE_KIB);
    if (!vfs ||
        sqlite3_open_v2(name, &db->sql, SQLITE_OPEN_READONLY, vfs) != SQLITE_OK)
        return error_set(err, "%s: SQLite cannot open it", QUOTE(path));
    set_limits(db->sql);
    switch_off(db->sql);
    db->began_s = thread_s();
    db->limit_s = OPEN_S;
    sqlite3_progress_handler(db->sql, STEPS, on_steps, db);
    if (run_command(db->sql, "PRAGMA cell_size_check=1") != SQLITE_OK ||
        run_command(db->sql, "PRAGMA temp_store=MEMORY") != SQLITE_OK ||
        run_command(db->sql, "PRAGMA mmap_size=0") != SQLITE_OK ||
        run_command(db->sql, cache) != SQLITE_OK)
        sql_error(db, NULL, err);
    else if (check_schema(db, err) == 0)
        rc = 0;
    if (rc < 0)
        return error_wrap(err, "%s", QUOTE(path));
    db->limit_s = FILE_S + (double) (solid_bytes(db->fd) >> 20) / FILE_MIB_S;
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
        check_journal(path, err) == 0 && start_db(db, path, err) == 0)
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
        return db->stopped || db->late ? sql_error(db, table, err) : 0;
    if (n > NSYS_SQL_COLUMNS ||
        find_columns(db, table, columns, n, is_there) < 0)
        return sql_error(db, table, err);
    text = make_select(table, columns, n, is_there);
    if (!text ||
        sqlite3_prepare_v2(db->sql, text, -1, &select, NULL) != SQLITE_OK) {
        sql_error(db, table, err);
        goto out;
    }
    while ((step = sqlite3_step(select)) == SQLITE_ROW) {
        for (size_t i = 0; i < n; i++)
            /* column 0 is the constant 1 */
            get_cell(select, (int) i + 1, &cells[i]);
        if (row(arg, cells, err) < 0)
            goto out;
    }
    rc = step == SQLITE_DONE ? 0 : sql_error(db, table, err);
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
