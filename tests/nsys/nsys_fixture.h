/* nsys_fixture.h - exports of Nsight Systems, made from the public schema. */
#ifndef JP_TESTS_NSYS_FIXTURE_H
#define JP_TESTS_NSYS_FIXTURE_H

#include <sqlite3.h>

/* Columns as in the schema of that time. */
enum fixture_schema { SCHEMA_2021, SCHEMA_3_16, SCHEMA_3_28 };

/* Makes <dir>/<name> with the tables that every export has, but none of events;
 * the transaction is open. */
sqlite3 *fixture_open(const char *dir, const char *name,
                      enum fixture_schema schema);
/* The tables of CUDA's events. */
void fixture_cuda(sqlite3 *db, enum fixture_schema schema);
void fixture_nvtx(sqlite3 *db, enum fixture_schema schema);
/* Runs a printf-like statement; aborts where it fails. */
__attribute__((format(printf, 2, 3))) void fixture_run(sqlite3 *db,
                                                       const char *sql, ...);
/* A row of an event; columns that are not named are 0, or NULL if allowed. */
void fixture_call(sqlite3 *db, long long start, long long end, int thread,
                  int correlation, int name);
void fixture_kernel(sqlite3 *db, long long start, long long end, int device,
                    int correlation, int name);
void fixture_copy(sqlite3 *db, long long start, long long end, long long bytes,
                  int kind, int from, int to);
/* Commits and closes. */
void fixture_close(sqlite3 *db);

#endif
