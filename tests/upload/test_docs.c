/* test_docs.c - whose a step's documents are: the folder's owner, and what
 * Slurm tells about the job. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fileio.h"
#include "common/jobconf.h"
#include "orchestrator/report/tables.h"
#include "orchestrator/table/table.h"
#include "orchestrator/upload/upload.h"
#include "tests/common/tempdir.h"

static void put(const char *dir, const char *name, const char *text)
{
    char *path = text_format("%s/%s", dir, name);

    assert_int_equal(fileio_write(path, text, strlen(text), NULL), 0);
    free(path);
}

/* A step whose files name another user. */
static void make_step(const char *dir)
{
    char *csv = text_format("%s/csv", dir);

    assert_int_equal(fileio_mkdirs(csv, NULL), 0);
    put(dir, "job.conf",
        "schema = 1; version = \"0.1.0\"; created_us = 5L;\n"
        "job = { id = 12L; step = \"0\"; restart = 0; user = \"victim\";\n"
        "  uid = 4242; name = \"train\"; nodes = 1; tasks = 1; };\n");
    put(dir, "summary.json",
        "{\"schema_version\":1,\"job\":{\"user\":\"victim\"},"
        "\"verdict\":{\"word\":\"OK\",\"text\":\"good\"},\"findings\":[]}");
    put(csv, "comms.csv", "id,name,comm_type\n");
    put(csv, "ops.csv",
        "comm,comm_name,coll,sn,msg_size_bytes,n_ranks,records,mean,"
        "dump_min_us,dump_max_us,exec_max_us\n"
        "0xa,,AllReduce,1,8,2,2,10,3,4,5\n");
    put(csv, "cells.csv",
        "comm_type,coll,msg_size_bytes,ops,records,mean,min,p50,p95,p99,max,"
        "exec_mean_us,exec_p50_us,exec_p99_us\n");
    free(csv);
}

static bool is_ours(uint64_t job_id, uid_t *uid)
{
    assert_int_equal(job_id, 12);
    *uid = geteuid();
    return true;
}

static bool is_others(uint64_t job_id, uid_t *uid)
{
    (void) job_id;
    *uid = geteuid() + 1;
    return true;
}

static bool is_unknown(uint64_t job_id, uid_t *uid)
{
    (void) job_id;
    (void) uid;
    return false;
}

/* Makes the documents; *text is theirs. */
static int make_docs(const char *dir, bool (*ask)(uint64_t, uid_t *),
                     char **text, struct jp_error *err)
{
    const struct upload_what what = {UPLOAD_DETAILED, UPLOAD_SUMMARY, 10, ask};
    struct upload_made made;
    size_t len;
    FILE *out = open_memstream(text, &len);
    int rc = upload_docs(dir, &what, out, &made, err);

    fclose(out);
    return rc;
}

static void test_owner(void **state)
{
    static const struct {
        bool (*ask)(uint64_t, uid_t *);
        const char *from; /* NULL: refused */
    } rows[] = {{NULL, UPLOAD_CLAIMED},
                {is_unknown, UPLOAD_CLAIMED},
                {is_ours, UPLOAD_FROM_SLURM},
                {is_others, NULL}};

    make_step(*state);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct jp_error err = {""};
        char *text = NULL, name[64], *user, *id, *from;
        int rc = make_docs(*state, rows[i].ask, &text, &err);

        print_message("# row %zu: %s\n", i, err.text);
        assert_int_equal(rc, rows[i].from ? 0 : -1);
        assert_null(strstr(text, "victim"));
        if (!rows[i].from) {
            assert_non_null(strstr(err.text, "job 12 is of uid"));
            free(text);
            continue;
        }
        upload_user_name(geteuid(), name);
        user = text_format("\"uid\":%lu,\"user\":\"%s\"",
                           (unsigned long) geteuid(), name);
        id = text_format("\"_id\":\"%lu-5-12.0-0-0xa--AllReduce-1-8\"",
                         (unsigned long) geteuid());
        from = text_format("\"job_id_from\":\"%s\"", rows[i].from);
        assert_non_null(strstr(text, user));
        assert_non_null(strstr(text, id));
        assert_non_null(strstr(text, from));
        free(user);
        free(id);
        free(from);
        free(text);
    }
}

/* Each field of a document is a column that its table has, of a kind that the
 * index has, too: an index keeps the kind that its first document had. */
static void test_kinds(void **state)
{
    static const struct {
        const struct upload_field *fields;
        const struct jp_table *table;
        const char *reals; /* those that are no counts */
    } rows[] = {{upload_operations, &table_ops, " mean_coll_busbw_gbs "},
                {upload_cells, &table_cells,
                 " mean_coll_busbw_gbs min_coll_busbw_gbs p50_coll_busbw_gbs "
                 "p95_coll_busbw_gbs p99_coll_busbw_gbs max_coll_busbw_gbs "
                 "exec_mean_us exec_p50_us exec_p99_us "}};
    static const char texts[] = " id comm_name coll comm_type ";

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (const struct upload_field *f = rows[i].fields; f->name; f++) {
            char *name = text_format(" %s ", f->name);
            enum upload_kind want = strstr(texts, name)           ? FIELD_TEXT
                                    : strstr(rows[i].reals, name) ? FIELD_REAL
                                                                  : FIELD_COUNT;

            if (f->column && !table_column(rows[i].table, f->column))
                fail_msg("no column %s", f->column);
            if (upload_kind_of(f, rows[i].table) != want)
                fail_msg("%s has another kind", f->name);
            free(name);
        }
}

/* A report that was made of a job's logs alone: Slurm's user counts where root
 * has made it, and must be the folder's owner elsewhere. */
static void test_logs(void **state)
{
    static const struct {
        bool ours; /* the user in slurm-job.conf */
        bool (*ask)(uint64_t, uid_t *);
        bool sent, sent_by_root;
    } rows[] = {{false, is_unknown, false, true},
                {false, is_ours, false, false},
                {true, is_unknown, true, true},
                {true, is_ours, true, true},
                {true, is_others, false, false}};
    const char *folder = *state;

    make_step(folder);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned long uid = rows[i].ours ? geteuid() : 4242;
        char *path = text_format("%s/" JP_JOBCONF_NAME, folder), *text = NULL,
             *conf = text_format(
                 "schema = 1; version = \"0.1.0\"; created_us = 5L;\n"
                 "job = { id = 12L; step = \"insp\"; restart = 0; user = "
                 "\"victim\"; uid = %lu; name = \"train\"; };\n",
                 uid),
             *user = text_format("\"uid\":%lu,", uid);
        bool root = geteuid() == 0;
        struct jp_error err = {""};
        int rc;

        unlink(path);
        put(folder, JP_JOBCONF_OF_SLURM, conf);
        rc = make_docs(folder, rows[i].ask, &text, &err);
        print_message("# row %zu: %s\n", i, err.text);
        if (root ? rows[i].sent_by_root : rows[i].sent) {
            assert_int_equal(rc, 0);
            assert_non_null(strstr(text, user));
            assert_non_null(strstr(text, root || rows[i].ask == is_ours
                                             ? "\"job_id_from\":\"slurm\""
                                             : "\"job_id_from\":\"claimed\""));
            assert_non_null(strstr(text, "\"step\":\"insp\""));
        } else {
            assert_int_equal(rc, -1);
            assert_non_null(strstr(err.text, "job 12 is of uid"));
        }
        free(text);
        free(conf);
        free(path);
        free(user);
    }
}

/* What is written passes the check of files, and each kind is there. */
static void test_own_lines(void **state)
{
    const struct upload_what what = {UPLOAD_DETAILED, UPLOAD_SUMMARY, 10, NULL};
    char name[64], *text = NULL, *line, *rest;
    struct upload_allowed allowed = {
        .name = "f", .what = &what, .uid = geteuid(), .user = name};
    unsigned n = 0;

    make_step(*state);
    upload_user_name(geteuid(), name);
    assert_int_equal(make_docs(*state, is_ours, &text, NULL), 0);
    for (rest = text; (line = strsep(&rest, "\n")) && *line; n++) {
        char *source = strsep(&rest, "\n");
        struct jp_error err = {""};
        bool good = upload_is_action(line, strlen(line), &err) &&
                    upload_check(&allowed, line, strlen(line), source,
                                 strlen(source), &err) == 0;

        if (!good)
            fail_msg("%s: %s", err.text, source);
    }
    assert_int_equal(n, 2); /* an operation and the step */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_owner, tempdir_make, tempdir_drop),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test_setup_teardown(test_logs, tempdir_make, tempdir_drop),
        cmocka_unit_test_setup_teardown(test_own_lines, tempdir_make,
                                        tempdir_drop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
