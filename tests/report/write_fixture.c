/* write_fixture.c - write a fixture's report into a folder, for other checks.
 *
 * write_fixture DIR good|hostile|nodata|incomplete|slow|many|folder [png]
 * write_fixture DIR index    the index over DIR/step-*
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "tests/report/fixture.h"

static void many(struct fixture *f)
{
    fixture_many(f, 3000);
}

/* Plain logs: neither job.conf nor records of nodes. */
static void folder(struct fixture *f)
{
    fixture_good(f);
    f->report.conf = NULL;
    f->report.nodes = NULL;
    fixture_judge(f, true);
}

static const struct {
    const char *name;
    void (*make)(struct fixture *);
} fixtures[] = {
    {"good", fixture_good},
    {"hostile", fixture_hostile},
    {"nodata", fixture_nodata},
    {"incomplete", fixture_incomplete},
    {"slow", fixture_slow},
    {"failed", fixture_failed},
    {"many", many},
    {"folder", folder},
};

static int write_fixture(struct fixture *f, const char *dir, const char *name,
                         bool png, struct jp_error *err)
{
    for (size_t i = 0; i < sizeof(fixtures) / sizeof(*fixtures); i++) {
        int rc;

        if (strcmp(name, fixtures[i].name))
            continue;
        fixtures[i].make(f);
        rc = fileio_mkdirs(dir, err) < 0 ? -1
                                         : report_write(&f->report, dir, err);
        if (rc == 0 && png)
            rc = report_draw(dir, err);
        fixture_fini(f);
        return rc;
    }
    return error_set(err, "unknown fixture %s", name);
}

int main(int argc, char **argv)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct jp_error err = {"usage: write_fixture DIR FIXTURE [png]"};
    int rc = -1;

    if (f && argc > 2 && !strcmp(argv[2], "index")) {
        rc = report_index(argv[1], &err);
    } else if (f && argc > 2) {
        rc = write_fixture(f, argv[1], argv[2], argc > 3, &err);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    free(f);
    return rc < 0;
}
