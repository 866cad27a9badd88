/* elasticfile.c - read torchelastic's file about the exception of a worker. */
#include "orchestrator/live/elasticfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/jsonload.h"
#include "common/utf8.h"

/* Copies the first line of the n bytes, without control characters, as many
 * whole characters as fit. */
static void copy_line(char *to, size_t size, const char *from, size_t n)
{
    size_t used = 0;

    for (size_t at = 0; at < n && from[at] != '\n';) {
        uint32_t point;
        size_t bytes = utf8_decode(from + at, n - at, &point);
        bool is_text = bytes && point >= ' ' && point != 0x7f;

        if (!bytes)
            bytes = 1;
        if (used + bytes >= size)
            break;
        if (is_text)
            memcpy(to + used, from + at, bytes);
        else
            to[used] = ' ';
        used += is_text ? bytes : 1;
        at += bytes;
    }
    to[used] = '\0';
}

/* Splits "RuntimeError: boom" in type and message. A type is a name, with dots
 * where it is of a module. */
static void take_message(struct elasticfile *out, const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && (isalnum((unsigned char) text[n]) || text[n] == '_' ||
                       text[n] == '.'))
        n++;
    if (n && n < sizeof(out->type) && !isdigit((unsigned char) *text) &&
        (n == len || text[n] == ':')) {
        copy_line(out->type, sizeof(out->type), text, n);
        text += n;
        len -= n;
        while (len && (*text == ':' || *text == ' ')) {
            text++;
            len--;
        }
    }
    copy_line(out->message, sizeof(out->message), text, len);
}

/* Whether a source file is a package's or Python's own, not the user's. */
static bool is_foreign(const char *path, size_t len)
{
    static const char *const parts[] = {"/site-packages/", "/dist-packages/",
                                        "/lib/python"};

    if (*path == '<') /* <frozen importlib>, <string> */
        return true;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (memmem(path, len, parts[i], strlen(parts[i])))
            return true;
    return false;
}

/* Takes a line of the call stack, `  File "train.py", line 10, in step`. Only
 * the file's own name is kept. Returns whether it is one of the user. */
static bool take_frame(char *at, size_t size, const char *line, size_t len)
{
    static const char head[] = "File \"", middle[] = "\", line ",
                      in[] = ", in ";
    const char *end = line + len, *name, *path, *number, *function;
    char text[256];

    while (line < end && *line == ' ')
        line++;
    if ((size_t) (end - line) < sizeof(head) ||
        memcmp(line, head, sizeof(head) - 1) != 0)
        return false;
    path = name = line + sizeof(head) - 1;
    number = memmem(path, (size_t) (end - path), middle, sizeof(middle) - 1);
    if (!number)
        return false;
    for (const char *c = path; c < number; c++)
        if (*c == '/')
            name = c + 1;
    len = (size_t) (number - name);
    function = number + sizeof(middle) - 1;
    snprintf(text, sizeof(text), "%.*s:", len > 60 ? 60 : (int) len, name);
    number = function;
    while (function < end && isdigit((unsigned char) *function))
        function++;
    len = strlen(text);
    snprintf(text + len, sizeof(text) - len, "%.*s",
             function - number > 9 ? 9 : (int) (function - number), number);
    if ((size_t) (end - function) > sizeof(in) - 1 &&
        memcmp(function, in, sizeof(in) - 1) == 0) {
        len = strlen(text);
        function += sizeof(in) - 1;
        snprintf(text + len, sizeof(text) - len, " in %.*s",
                 end - function > 60 ? 60 : (int) (end - function), function);
    }
    copy_line(at, size, text, strlen(text));
    return !is_foreign(path, (size_t) (name - path) + 1);
}

/* Takes the frame that shows where the user's code failed. */
static void take_stack(struct elasticfile *out, const char *text, size_t len)
{
    const char *end = text + len;
    char any[sizeof(out->at)] = "", at[sizeof(out->at)];

    for (const char *line = text, *next; line < end; line = next) {
        const char *eol = memchr(line, '\n', (size_t) (end - line));

        eol = eol ? eol : end;
        next = eol < end ? eol + 1 : end;
        *at = '\0';
        if (take_frame(at, sizeof(at), line, (size_t) (eol - line)))
            memcpy(out->at, at, sizeof(at));
        if (*at)
            memcpy(any, at, sizeof(at));
    }
    if (!*out->at)
        memcpy(out->at, any, sizeof(any));
}

int elasticfile_parse(const char *text, size_t len, struct elasticfile *out,
                      struct jp_error *err)
{
    json_t *root =
        jsonload(JSONLOAD_ELASTIC, ELASTICFILE_VARIABLE, text, len, 0, err);
    const json_t *message = json_object_get(root, "message"), *stack;

    *out = (struct elasticfile){0};
    if (!root)
        return -1;
    stack =
        json_object_get(json_object_get(message, "extraInfo"), "py_callstack");
    if (json_is_object(message))
        message = json_object_get(message, "message");
    if (json_is_string(message))
        take_message(out, json_string_value(message),
                     json_string_length(message));
    if (json_is_string(stack))
        take_stack(out, json_string_value(stack), json_string_length(stack));
    json_decref(root);
    if (!*out->type && !*out->message) {
        *out = (struct elasticfile){0};
        return error_set(err, "%s: no message", ELASTICFILE_VARIABLE);
    }
    return 0;
}

int elasticfile_read(int dir, const char *name, uid_t uid,
                     struct elasticfile *out, struct jp_error *err)
{
    int fd = openat(dir, name,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    struct stat st;
    ssize_t n;
    int rc = -1;

    *out = (struct elasticfile){0};
    if (fd < 0 || fstat(fd, &st) < 0) {
        error_set(err, "%s: %s", ELASTICFILE_VARIABLE, strerror(errno));
        goto out;
    }
    if (!S_ISREG(st.st_mode) || st.st_uid != uid ||
        st.st_size > (off_t) ELASTICFILE_BYTES) {
        error_set(err, "%s: not a small file of the user",
                  ELASTICFILE_VARIABLE);
        goto out;
    }
    text = malloc(ELASTICFILE_BYTES);
    n = text ? read(fd, text, ELASTICFILE_BYTES) : -1;
    if (n >= 0)
        rc = elasticfile_parse(text, (size_t) n, out, err);
    else
        error_set(err, "%s: %s", ELASTICFILE_VARIABLE, strerror(errno));
out:
    if (fd >= 0)
        close(fd);
    free(text);
    return rc;
}
