/* hostile_json.c - write JSON that needs much memory, and measure the program
 * that reads it.
 *
 * hostile_json make SHAPE BYTES HEAD TAIL: writes HEAD, a value of that shape
 * of about BYTES bytes, and TAIL to stdout.
 *
 * hostile_json lines BYTES HEAD TAIL: writes BYTES bytes of lines "HEAD number
 * TAIL".
 *
 * hostile_json run COMMAND [ARG...]: prints the peak of the resident set in MB.
 * Exit status 1: ended by a signal, 127: not found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct shape {
    const char *name, *open, *unit, *rest, *close; /* %zu: a number */
} shapes[] = {
    {"objects", "[", "{}", ",{}", "]"},
    {"arrays", "[", "[]", ",[]", "]"},
    {"numbers", "[", "1", ",1", "]"},
    {"texts", "[", "\"\"", ",\"\"", "]"},
    {"keys", "{", "\"%zu\":{}", ",\"%zu\":{}", "}"},
    {"rows", "[", "{\"a\":1,\"b\":{\"c\":[2]}}", ",{\"a\":1,\"b\":{\"c\":[2]}}",
     "]"},
    {"text", "\"", "xxxxxxxx", "xxxxxxxx", "\""},
    {"deep", "", "[", "[", ""},
};

static void put(const char *format, size_t n, size_t *written)
{
    int len;

    if (strchr(format, '%'))
        len = printf(strchr(format, ',') ? ",\"%zu\":{}" : "\"%zu\":{}", n);
    else
        len = fputs(format, stdout) < 0 ? -1 : (int) strlen(format);
    if (len < 0)
        exit(5);
    *written += (size_t) len;
}

static int make(const char *name, size_t bytes, const char *head,
                const char *tail)
{
    const struct shape *shape = NULL;
    size_t written = 0;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        if (!strcmp(shapes[i].name, name))
            shape = &shapes[i];
    if (!shape)
        return 2;
    fputs(head, stdout);
    fputs(shape->open, stdout);
    put(shape->unit, 0, &written);
    for (size_t n = 1; written < bytes; n++)
        put(shape->rest, n, &written);
    fputs(shape->close, stdout);
    fputs(tail, stdout);
    return fflush(stdout) == 0 ? 0 : 5;
}

static int lines(size_t bytes, const char *head, const char *tail)
{
    size_t written = 0;

    for (size_t n = 0; written < bytes; n++) {
        int len = printf("%s%zu%s\n", head, n, tail);

        if (len < 0)
            return 5;
        written += (size_t) len;
    }
    return fflush(stdout) == 0 ? 0 : 5;
}

static int run(char **argv)
{
    struct rusage usage;
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        dup2(2, 1);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return 5;
    printf("%ld\n", usage.ru_maxrss / 1024);
    return WIFSIGNALED(status) ? 1 : WEXITSTATUS(status) == 127 ? 127 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && !strcmp(argv[1], "make"))
        return make(argv[2], strtoul(argv[3], NULL, 10), argv[4], argv[5]);
    if (argc == 5 && !strcmp(argv[1], "lines"))
        return lines(strtoul(argv[2], NULL, 10), argv[3], argv[4]);
    if (argc > 2 && !strcmp(argv[1], "run"))
        return run(argv + 2);
    fprintf(stderr, "usage: %s make|lines|run ...\n", argv[0]);
    return 2;
}
