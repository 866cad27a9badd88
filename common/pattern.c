/* pattern.c - check and expand directory patterns, and map the host's paths to
 * paths inside containers. Patterns come from users, and their values from the
 * names of users and jobs: neither may lead out of the chosen directory. */
#include "common/pattern.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/defaults.h"
#include "common/fileio.h"
#include "common/quote.h"

/* Whether a component of the path is "..". */
static int has_dotdot(const char *path)
{
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");

        /* Only a whole component: "a..b" is a valid name. */
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return 1;
        p += n;
        p += strspn(p, "/");
    }
    return 0;
}

/* Whether the text has something like a shell's variable: "$HOME", "${x}". */
static int has_variable(const char *text)
{
    for (const char *c = text; (c = strchr(c, '$')); c++)
        if (c[1] == '{' || c[1] == '_' || isalpha((unsigned char) c[1]))
            return 1;
    return 0;
}

/* Checks what holds for patterns and for plain paths. */
static int check_bytes(const char *text, struct jp_error *err)
{
    if (!text || !*text)
        return error_set(err, "the value is empty");
    if (strlen(text) > JP_PATTERN_MAX)
        return error_set(err, "\"%s\" is longer than %d bytes", QUOTE(text),
                         JP_PATTERN_MAX);
    for (const unsigned char *c = (const unsigned char *) text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            return error_set(err, "\"%s\" has a control character",
                             QUOTE(text));
    if (has_dotdot(text))
        return error_set(err, "\"%s\" has a \"..\" component", QUOTE(text));
    /* No shell expands the value: it would become a folder with that name. */
    if (*text == '~')
        return error_set(err, "\"%s\": ~ is not expanded; write the whole path",
                         QUOTE(text));
    if (has_variable(text))
        return error_set(err, "\"%s\": $ is not expanded; write the whole path",
                         QUOTE(text));
    return 0;
}

int pattern_check(const char *pattern, struct jp_error *err)
{
    if (check_bytes(pattern, err) < 0)
        return -1;
    /* Codes have two characters, so "%%j" is a percent sign and a "j". */
    for (const char *p = pattern; (p = strchr(p, '%')); p += 2)
        if (!p[1] || !strchr("jJsuxAa%", p[1]))
            return error_set(err,
                             "\"%s\": \"%%%s\" is not one of %%j %%J %%s %%u "
                             "%%x %%A %%a %%%%",
                             QUOTE(pattern), QUOTE(((char[]){p[1], 0})));
    return 0;
}

bool pattern_names_job(const char *pattern)
{
    bool array = false, index = false;

    /* "%%" is skipped as a pair, so that "%%j" is not taken for "%j". */
    for (const char *c = pattern; (c = strchr(c, '%')) && c[1]; c += 2) {
        if (c[1] == 'j' || c[1] == 'J')
            return true;
        array = array || c[1] == 'A';
        index = index || c[1] == 'a';
    }
    return array && index;
}

int pattern_check_path(const char *path, struct jp_error *err)
{
    if (check_bytes(path, err) < 0)
        return -1;
    return *path == '/'
               ? 0
               : error_set(err, "\"%s\" is not an absolute path", QUOTE(path));
}

/* Writes a name as part of a path. Other bytes become '_', and so does an empty
 * name. */
static void put_name(FILE *out, const char *name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789_-";

    if (!name || !*name)
        name = "_";
    /* The name of a job is foreign input: it must add no slash and no leading
     * dot. */
    for (const char *c = name; *c; c++)
        fputc(strchr(plain, *c) || (*c == '.' && c > name) ? *c : '_', out);
}

/* Writes the value of a code; "%%" is a percent sign. */
static void put_code(FILE *out, char code, const struct pattern_facts *facts)
{
    const char *step = facts->step_id ? facts->step_id : "";

    switch (code) {
    case 'j':
        fprintf(out, "%" PRIu64, facts->job_id);
        break;
    case 'J':
        fprintf(out, "%" PRIu64 ".", facts->job_id);
        put_name(out, step);
        break;
    case 's':
        put_name(out, step);
        break;
    case 'u':
        put_name(out, facts->user);
        break;
    case 'x':
        put_name(out, facts->job_name);
        break;
    case 'A':
        fprintf(out, "%" PRIu64, facts->array_job_id);
        break;
    case 'a':
        fprintf(out, "%" PRIu64, facts->array_task_id);
        break;
    default:
        fputc('%', out);
    }
}

/* Names of users and jobs cannot leave the directory: put_name replaces their
 * slashes and leading dots. */
char *pattern_expand(const char *pattern, const struct pattern_facts *facts,
                     struct jp_error *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out;

    /* An unchecked pattern may end with a single '%'. */
    if (pattern_check(pattern, err) < 0)
        return NULL;
    out = open_memstream(&text, &len);
    if (!out) {
        error_set(err, "out of memory");
        return NULL;
    }
    for (const char *p = pattern; *p; p++) {
        if (*p == '%') /* pattern_check has made sure that a code follows */
            put_code(out, *++p, facts);
        else
            fputc(*p, out);
    }
    if (fclose(out) != 0) {
        free(text);
        error_set(err, "out of memory");
        return NULL;
    }
    return text;
}

char *pattern_expand_node(const char *text, const char *node)
{
    char *expanded = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&expanded, &len);
    const char *hit;

    if (!out)
        return NULL;
    /* Replace every %N: a mount point may contain its node twice. */
    while ((hit = strstr(text, "%N"))) {
        fwrite(text, 1, (size_t) (hit - text), out);
        fputs(node, out);
        text = hit + 2;
    }
    fputs(text, out);
    if (fclose(out) == 0)
        return expanded;
    free(expanded);
    return NULL;
}

/* --- check a list of mounts and follow it -------------------------------- */

/* Checks one HOST=INSIDE, which is split in place. */
static int check_one(char *pair, struct jp_error *err)
{
    char *inside = strchr(pair, '=');

    /* Exactly one "=", because the map is searched without escapes. */
    if (!inside || strchr(inside + 1, '='))
        return error_set(err, "\"%s\" is not HOST=INSIDE", QUOTE(pair));
    *inside++ = '\0';
    return pattern_check_path(pair, err) < 0 ||
                   pattern_check_path(inside, err) < 0
               ? -1
               : 0;
}

int mountmap_check(const char *text, struct jp_error *err)
{
    char *copy = strdup(text), *rest = copy, *pair;
    int rc = copy ? 0 : error_set(err, "out of memory");

    while (rc == 0 && (pair = strsep(&rest, ",")))
        rc = check_one(pair, err);
    free(copy);
    return rc;
}

/* The length without slashes at the end: 0 for "/", so that it is a prefix of
 * every path. */
static size_t trim(const char *path, size_t n)
{
    while (n && path[n - 1] == '/')
        n--;
    return n;
}

/* The longest match wins, so that "/l/x=/a" can override "/l=/b". */
char *mountmap_inside(const char *map, const char *path)
{
    const char *to = path;
    size_t n_to = 0, n_from = 0;
    bool found = false;

    while (map && *map) {
        size_t n = strcspn(map, ","), host = strcspn(map, "="), from;

        from = trim(map, host);
        /* HOST must be path itself or a folder above it; the longest one
         * wins. */
        if (host < n && !strncmp(path, map, from) &&
            (path[from] == '/' || !path[from]) && (!found || from > n_from)) {
            found = true;
            n_from = from;
            to = map + host + 1;
            n_to = trim(to, n - host - 1);
        }
        map += n + (map[n] == ',');
    }
    if (!found)
        return strdup(path);
    /* The rest of path after HOST is appended to INSIDE; "/" if both are
     * empty. */
    return text_format("%.*s%s", (int) n_to, to,
                       n_to || path[n_from] ? path + n_from : "/");
}
