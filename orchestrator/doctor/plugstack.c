/* plugstack.c - read Slurm's plugstack.conf and what it includes. */
#include "orchestrator/doctor/plugstack.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "common/fileio.h"
#include "common/quote.h"

#define FILE_MAX_BYTES (256 * 1024)
#define FILES_MAX 64
#define LINES_MAX 1024
#define DEPTH_MAX 8

static const char blanks[] = " \t\r\n";

static int read_file(struct plugstack *s, const char *path, int depth,
                     struct jp_error *err);

/* The first trouble is kept. */
static void complain(struct plugstack *s, const char *where, const char *what,
                     const char *word)
{
    if (!s->trouble)
        s->trouble = fileio_path("%s: %s%s%s", where, what, *word ? " " : "",
                                 *word ? QUOTE(word) : "");
}

/* A pattern as of the file that names it. Caller frees. */
static char *absolute(const char *pattern, const char *file)
{
    const char *slash = strrchr(file, '/');

    if (*pattern == '/' || !slash)
        return strdup(pattern);
    return fileio_path("%.*s/%s", (int) (slash - file), file, pattern);
}

static void include(struct plugstack *s, const char *pattern, const char *file,
                    const char *where, int depth)
{
    char *path = absolute(pattern, file);
    glob_t found = {0};
    struct jp_error err;

    if (depth >= DEPTH_MAX)
        complain(s, where, "includes too deep", "");
    else if (path && glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (read_file(s, found.gl_pathv[i], depth + 1, &err) < 0)
                complain(s, where, err.text, "");
    globfree(&found);
    free(path);
}

static void free_line(struct plugstack_line *line)
{
    free(line->plugin);
    for (size_t i = 0; i < line->n_args && i < PLUGSTACK_ARGS_MAX; i++)
        free(line->args[i]);
    free(line->where);
}

static void add_line(struct plugstack *s, bool required, const char *plugin,
                     char *rest, const char *where)
{
    struct plugstack_line line = {
        .required = required, .plugin = strdup(plugin), .where = strdup(where)};
    struct plugstack_line *more =
        s->n_lines < LINES_MAX
            ? reallocarray(s->lines, s->n_lines + 1, sizeof(*more))
            : NULL;
    char *word;

    while ((word = strsep(&rest, blanks)) && line.n_args < PLUGSTACK_ARGS_MAX)
        if (*word && (line.args[line.n_args] = strdup(word)))
            line.n_args++;
    if (more)
        s->lines = more;
    if (!more || !line.plugin || !line.where) {
        complain(s, where, "too many lines", "");
        free_line(&line);
        return;
    }
    s->lines[s->n_lines++] = line;
}

/* The next word of *rest, or NULL. */
static char *next_word(char **rest)
{
    char *word;

    while ((word = strsep(rest, blanks)))
        if (*word)
            return word;
    return NULL;
}

static void read_line(struct plugstack *s, char *text, const char *file,
                      unsigned number, int depth)
{
    char *where = fileio_path("%s:%u", file, number);
    char *rest = text, *type, *path;

    text[strcspn(text, "#")] = '\0';
    type = next_word(&rest);
    path = type ? next_word(&rest) : NULL;
    if (!where || !type)
        ; /* nothing stands here */
    else if (strcmp(type, "required") && strcmp(type, "optional") &&
             strcmp(type, "include"))
        complain(s, where, "neither optional, required nor include:", type);
    else if (!path)
        complain(s, where, "no plugin is named", "");
    else if (!strcmp(type, "include"))
        include(s, path, file, where, depth);
    else
        add_line(s, *type == 'r', path, rest, where);
    free(where);
}

static int read_file(struct plugstack *s, const char *path, int depth,
                     struct jp_error *err)
{
    char **more = reallocarray(s->files, s->n_files + 1, sizeof(*more));
    char *text, *rest, *line;
    unsigned number = 0;

    if (more)
        s->files = more;
    if (!more || s->n_files >= FILES_MAX)
        return error_set(err, "%s: too many files", path);
    if (fileio_read(path, true, FILE_MAX_BYTES, &text, NULL, err) < 0)
        return -1;
    s->files[s->n_files] = strdup(path);
    if (s->files[s->n_files])
        s->n_files++;
    rest = text;
    while ((line = strsep(&rest, "\n")))
        read_line(s, line, path, ++number, depth);
    free(text);
    return 0;
}

int plugstack_read(const char *path, struct plugstack *out,
                   struct jp_error *err)
{
    struct plugstack s = {0};

    if (read_file(&s, path, 0, err) < 0) {
        plugstack_fini(&s);
        return -1;
    }
    *out = s;
    return 0;
}

void plugstack_fini(struct plugstack *stack)
{
    if (!stack)
        return;
    for (size_t i = 0; i < stack->n_lines; i++)
        free_line(&stack->lines[i]);
    for (size_t i = 0; i < stack->n_files; i++)
        free(stack->files[i]);
    free(stack->lines);
    free(stack->files);
    free(stack->trouble);
    *stack = (struct plugstack){0};
}

bool plugstack_is(const struct plugstack_line *line, const char *name)
{
    const char *slash = strrchr(line->plugin, '/');

    return strcmp(slash ? slash + 1 : line->plugin, name) == 0;
}

const char *plugstack_arg(const struct plugstack_line *line, const char *key)
{
    size_t n = strlen(key);

    for (size_t i = 0; i < line->n_args; i++)
        if (strncmp(line->args[i], key, n) == 0 && line->args[i][n] == '=')
            return line->args[i] + n + 1;
    return NULL;
}
