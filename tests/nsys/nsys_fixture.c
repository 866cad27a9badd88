/* nsys_fixture.c - the tables of exports, from NVIDIA's schema reference and
 * the dumps printed there over the years. */
#include "tests/nsys/nsys_fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/common/tempdir.h"

void fixture_run(sqlite3 *db, const char *sql, ...)
{
    char *text, *why = NULL;
    va_list ap;

    va_start(ap, sql);
    text = sqlite3_vmprintf(sql, ap);
    va_end(ap);
    if (!text || sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", text, why);
        abort();
    }
    sqlite3_free(text);
}

sqlite3 *fixture_open(const char *dir, const char *name,
                      enum fixture_schema schema)
{
    static const char *const versions[] = {NULL, "3.16.1", "3.28.1"};
    char *path = tempdir_path(dir, name);
    sqlite3 *db = NULL;

    unlink(path);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        abort();
    free(path);
    fixture_run(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
                    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, "
                    "value TEXT NOT NULL);");
    if (schema == SCHEMA_2021)
        return db;
    fixture_run(db,
                "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value "
                "TEXT);"
                "INSERT INTO META_DATA_EXPORT VALUES "
                "('EXPORT_SCHEMA_VERSION', '%s');"
                "CREATE TABLE ENUM_NSYS_EVENT_CLASS (id INTEGER NOT NULL "
                "PRIMARY KEY, name TEXT, label TEXT);"
                "INSERT INTO ENUM_NSYS_EVENT_CLASS VALUES "
                "(0,'TRACE_PROCESS_EVENT_CUDA_RUNTIME',NULL),"
                "(1,'TRACE_PROCESS_EVENT_CUDA_DRIVER',NULL),"
                "(67,'TRACE_PROCESS_EVENT_CUDABACKTRACE',NULL);"
                "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs "
                "INTEGER, utcTime TEXT, localTime TEXT%s);"
                "INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) "
                "VALUES (1700000000000000000);"
                "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, "
                "devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum "
                "INTEGER NOT NULL, value TEXT NOT NULL);"
                "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1,'x',"
                "'Hostname',1,'gpu7');"
                "CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER NOT "
                "NULL, duration INTEGER NOT NULL, startTime INTEGER NOT "
                "NULL, stopTime INTEGER NOT NULL);"
                "INSERT INTO ANALYSIS_DETAILS VALUES (1,5000000,0,5000000);",
                versions[schema],
                schema == SCHEMA_3_28
                    ? ", systemClockNs INTEGER, sessionStartCntVctNs INTEGER"
                    : "");
    return db;
}

void fixture_cuda(sqlite3 *db, enum fixture_schema schema)
{
    if (schema == SCHEMA_2021) {
        fixture_run(
            db,
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, "
            "end INT NOT NULL, eventClass INT NOT NULL, globalTid INT NOT "
            "NULL, correlationId INT NOT NULL, nameId INT NOT NULL, "
            "returnValue INT NOT NULL, callchainId INT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end "
            "INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, "
            "streamId INT NOT NULL, correlationId INT, globalPid INT, "
            "demangledName INT NOT NULL, shortName INT NOT NULL, "
            "registersPerThread INT NOT NULL, gridX INT NOT NULL);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT NOT NULL, end "
            "INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, "
            "streamId INT NOT NULL, correlationId INT, globalPid INT, bytes "
            "INT NOT NULL, copyKind INT NOT NULL, deprecatedSrcId INT, srcKind "
            "INT, dstKind INT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT NOT NULL, end "
            "INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, "
            "streamId INT NOT NULL, correlationId INT, globalPid INT, value "
            "INT NOT NULL, bytes INT NOT NULL, graphNodeId INT, memKind INT);");
        return;
    }
    fixture_run(
        db,
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end "
        "INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
        "correlationId INTEGER, nameId INTEGER NOT NULL REFERENCES "
        "StringIds(id), returnValue INTEGER NOT NULL, callchainId INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end "
        "INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT "
        "NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, "
        "correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT "
        "NULL REFERENCES StringIds(id), shortName INTEGER NOT NULL REFERENCES "
        "StringIds(id), mangledName INTEGER REFERENCES StringIds(id), "
        "launchType INTEGER, registersPerThread INTEGER NOT NULL, gridX "
        "INTEGER NOT NULL, graphNodeId INTEGER%s);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end "
        "INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT "
        "NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, "
        "correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, "
        "copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, "
        "dstKind INTEGER, virtualAddress INTEGER%s);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end "
        "INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT "
        "NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, "
        "correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, "
        "bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);",
        schema == SCHEMA_3_28
            ? ", graphId INTEGER, clusterX INTEGER, tensorSizeMinusOneElements "
              "TEXT NOT NULL DEFAULT ''"
            : "",
        schema == SCHEMA_3_28 ? ", copyCount INTEGER" : "");
}

void fixture_nvtx(sqlite3 *db, enum fixture_schema schema)
{
    const char *type = schema == SCHEMA_2021 ? "INT" : "INTEGER";

    fixture_run(db,
                "CREATE TABLE NVTX_EVENTS (start %s NOT NULL, end %s, "
                "eventType %s NOT NULL, rangeId %s, category %s, color %s, "
                "text TEXT, globalTid %s, endGlobalTid %s%s, domainId %s);",
                type, type, type, type, type, type, type, type,
                schema == SCHEMA_2021 ? "" : ", textId INTEGER", type);
}

void fixture_call(sqlite3 *db, long long start, long long end, int thread,
                  int correlation, int name)
{
    fixture_run(db,
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start,end,eventClass,"
                "globalTid,correlationId,nameId,returnValue) VALUES "
                "(%lld,%lld,0,%lld,%d,%d,0)",
                start, end, 42LL * 0x1000000 + thread, correlation, name);
}

void fixture_kernel(sqlite3 *db, long long start, long long end, int device,
                    int correlation, int name)
{
    fixture_run(db,
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start,end,deviceId,"
                "contextId,streamId,correlationId,globalPid,demangledName,"
                "shortName,registersPerThread,gridX) VALUES "
                "(%lld,%lld,%d,1,7,%d,%lld,%d,%d,32,1)",
                start, end, device, correlation, 42LL * 0x1000000, name,
                name + 1000);
}

void fixture_copy(sqlite3 *db, long long start, long long end, long long bytes,
                  int kind, int from, int to)
{
    fixture_run(db,
                "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start,end,deviceId,"
                "contextId,streamId,bytes,copyKind,srcKind,dstKind) VALUES "
                "(%lld,%lld,0,1,7,%lld,%d,%d,%d)",
                start, end, bytes, kind, from, to);
}

void fixture_close(sqlite3 *db)
{
    fixture_run(db, "COMMIT");
    sqlite3_close(db);
}
