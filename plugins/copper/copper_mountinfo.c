/* copper_mountinfo.c - take lines of /proc/self/mountinfo apart. */
#include "plugins/copper/copper_mountinfo.h"

#include <string.h>

#define POINT 4     /* fields before the mount point */
#define SEPARATOR 6 /* and at least as many before the " - " */

static bool is_octal(const char *text)
{
    return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' &&
           text[1] <= '7' && text[2] >= '0' && text[2] <= '7';
}

/* The kernel writes blank, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *c = text; *c; to++) {
        if (*c == '\\' && is_octal(c + 1) && memcmp(c + 1, "000", 3) != 0) {
            *to = (char) ((c[1] - '0') * 64 + (c[2] - '0') * 8 + c[3] - '0');
            c += 4;
        } else {
            *to = *c++;
        }
    }
    *to = '\0';
}

/* The next field: none may be empty. NULL: there is no more. */
static char *field(char **rest)
{
    char *word = strsep(rest, " ");

    return word && *word ? word : NULL;
}

bool copper_mountinfo_parse(char *line, struct copper_mountinfo *out)
{
    char *rest = line, *point = NULL, *type, *source, *word;

    line[strcspn(line, "\n")] = '\0';
    for (unsigned i = 0; (word = field(&rest)); i++) {
        if (i == POINT)
            point = word;
        if (i >= SEPARATOR && !strcmp(word, "-"))
            break;
    }
    type = word ? field(&rest) : NULL;
    source = type ? field(&rest) : NULL;
    if (!point || !source)
        return false;
    unescape(point);
    *out = (struct copper_mountinfo){
        .point = point, .type = type, .options = rest ? rest : ""};
    return true;
}

bool copper_mountinfo_is_users(const struct copper_mountinfo *mount,
                               unsigned long uid)
{
    static const char key[] = "user_id=";
    const char *at = mount->options;

    while ((at = strstr(at, key))) {
        bool begins = at == mount->options || at[-1] == ',';
        unsigned long id = 0;
        unsigned digits = 0;

        for (at += sizeof(key) - 1; *at >= '0' && *at <= '9' && digits < 10;
             at++, digits++)
            id = id * 10 + (unsigned long) (*at - '0');
        if (begins && digits && (!*at || *at == ','))
            return id == uid;
    }
    return false;
}
