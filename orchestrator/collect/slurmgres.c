/* slurmgres.c - take names out of Slurm's resource strings. */
#include "orchestrator/collect/slurmgres.h"

#include <stdio.h>
#include <string.h>

#include "common/knob.h"

static void add_name(const char *name, size_t n, char *buf, size_t len)
{
    size_t used = strlen(buf);
    char one[64];

    if (!n || n >= sizeof(one) || used + n + 2 > len)
        return;
    memcpy(one, name, n);
    one[n] = '\0';
    if (!knob_list_has(buf, one))
        snprintf(buf + used, len - used, "%s%s", used ? "," : "", one);
}

void slurmgres_add(const char *text, bool all_tres, char *buf, size_t len)
{
    while (text && *text) {
        const char *name = text;
        bool gres = !strncmp(text, "gres:", 5) || !strncmp(text, "gres/", 5);

        if (gres)
            name += 5;
        if (gres || !all_tres)
            add_name(name, strcspn(name, ":/=(,"), buf, len);
        /* "gpu:a100:2(IDX:0,3),nvme:1": a comma in brackets parts nothing */
        for (int depth = 0; *text && (depth > 0 || *text != ','); text++)
            depth += *text == '(' ? 1 : *text == ')' ? -1 : 0;
        text += *text == ',';
    }
}
