/* test_elasticfile.c - what is kept of a worker's own error. */
#include "orchestrator/live/elasticfile.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#define STACK(text)                                                            \
    "\"extraInfo\":{\"py_callstack\":\"" text "\",\"timestamp\":"              \
    "\"1700000000\"}"

static const struct row {
    const char *text;
    const char *type, *message, *at; /* type NULL: refused */
} rows[] = {
    {"", NULL, NULL, NULL},
    {"[]", NULL, NULL, NULL},
    {"{}", NULL, NULL, NULL},
    {"{\"message\":7}", NULL, NULL, NULL},
    {"{\"message\":\"\"}", NULL, NULL, NULL},
    {"{\"message\":{\"extraInfo\":{}}}", NULL, NULL, NULL},
    {"{\"message\":\"RuntimeError: boom\"", NULL, NULL, NULL},
    /* the user's innermost line, below PyTorch's own */
    {"{\"message\":{\"message\":\"RuntimeError: boom\"," STACK(
         "Traceback (most recent call last):\\n"
         "  File \\\"/usr/lib/python3.11/site-packages/torch/distributed/"
         "elastic/multiprocessing/errors/__init__.py\\\", line 355, in "
         "wrapper\\n    return f(*args)\\n"
         "  File \\\"/home/alice/train.py\\\", line 40, in main\\n    step()\\n"
         "  File \\\"/home/alice/model.py\\\", line 7, in forward\\n    x\\n"
         "  File \\\"/opt/venv/lib/python3.11/site-packages/torch/nn/"
         "modules/module.py\\\", line 1501, in _call_impl\\n    y\\n"
         "RuntimeError: boom\\n") "}}",
     "RuntimeError", "boom", "model.py:7 in forward"},
    /* no line of the user: the last one */
    {"{\"message\":{\"message\":\"torch.cuda.OutOfMemoryError: CUDA out of "
     "memory.\\nTried\"," STACK("  File \\\"/x/site-packages/a.py\\\", line 3, "
                                "in f\\n") "}}",
     "torch.cuda.OutOfMemoryError", "CUDA out of memory.", "a.py:3 in f"},
    {"{\"message\":\"KeyError\"}", "KeyError", "", ""},
    {"{\"message\":\"no type here\"}", "", "no type here", ""},
    {"{\"message\":\"a \\u001b[31mred\\u0007\"}", "", "a  [31mred ", ""},
    {"{\"message\":{\"message\":\"E: x\"," STACK("  File \\\"t.py\\\", line "
                                                 "\\n  File \\\"\\n File") "}}",
     "E", "x", "t.py:"},
};

static void parses(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *r = &rows[i];
        struct elasticfile f;
        struct jp_error err;
        int rc = elasticfile_parse(r->text, strlen(r->text), &f, &err);

        print_message("%s\n", r->text);
        assert_int_equal(rc, r->type ? 0 : -1);
        assert_string_equal(f.type, r->type ? r->type : "");
        assert_string_equal(f.message, r->type ? r->message : "");
        assert_string_equal(f.at, r->type ? r->at : "");
    }
}

/* Whole characters, as many as fit. */
static void cuts(void **state)
{
    char text[2048] = "{\"message\":\"E: x";
    struct elasticfile f;

    (void) state;
    for (int i = 0; i < 300; i++)
        strcat(text, "\xc3\xa4");
    strcat(text, "\"}");
    assert_int_equal(elasticfile_parse(text, strlen(text), &f, NULL), 0);
    assert_int_equal(strlen(f.message), sizeof(f.message) - 1);
    assert_string_equal(f.message + sizeof(f.message) - 3, "\xc3\xa4");
}

static void put(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0 &&
                write(fd, text, strlen(text)) == (ssize_t) strlen(text));
    close(fd);
}

/* Only a plain file of the user is read. */
static void files(void **state)
{
    char folder[] = "/tmp/jp-elastic.XXXXXX";
    struct elasticfile f;
    int dir;

    (void) state;
    assert_non_null(mkdtemp(folder));
    dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    put(dir, "error.json", "{\"message\":\"E: x\"}");
    assert_int_equal(symlinkat("error.json", dir, "link"), 0);
    assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
    assert_int_equal(elasticfile_read(dir, "error.json", getuid(), &f, NULL),
                     0);
    assert_string_equal(f.message, "x");
    assert_int_equal(
        elasticfile_read(dir, "error.json", getuid() + 1, &f, NULL), -1);
    assert_string_equal(f.message, "");
    assert_int_equal(elasticfile_read(dir, "link", getuid(), &f, NULL), -1);
    assert_int_equal(elasticfile_read(dir, "fifo", getuid(), &f, NULL), -1);
    assert_int_equal(elasticfile_read(dir, "none", getuid(), &f, NULL), -1);
    unlinkat(dir, "error.json", 0);
    unlinkat(dir, "link", 0);
    unlinkat(dir, "fifo", 0);
    close(dir);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(cuts),
        cmocka_unit_test(files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
