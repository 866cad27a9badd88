/* machine_hw.c - make a simulated node's hardware.json. */
#include "machine_hw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void machine_hw_line(struct machine_hw *m, char **w)
{
    int gpu = atoi(w[2]);

    m->any = 1;
    if (strcmp(w[1], "links") == 0 || strcmp(w[1], "mesh") == 0) {
        *(strcmp(w[1], "mesh") == 0 ? &m->mesh : &m->links) = gpu;
        m->version = atoi(w[4]);
        snprintf(m->remote, sizeof(m->remote), "%s", w[6]);
    } else if (strcmp(w[1], "islands") == 0) {
        m->islands = gpu;
        m->version = atoi(w[4]);
    } else if (strcmp(w[1], "dead") == 0) {
        m->dead[gpu] = atoi(w[3]);
    } else if (strcmp(w[1], "unsure") == 0) {
        m->unsure[gpu] = atoi(w[3]);
    } else if (strcmp(w[1], "mig") == 0) {
        m->mig[gpu] = 1;
    } else if (strcmp(w[1], "error") == 0) {
        m->probe = "error";
    } else if (strcmp(w[1], "fabric") == 0) {
        snprintf(m->uuid, sizeof(m->uuid), "%s", w[2]);
        snprintf(m->clique, sizeof(m->clique), "%s", w[3]);
    } else if (strcmp(w[1], "port") == 0) {
        size_t n = strlen(m->ports);

        snprintf(m->ports + n, sizeof(m->ports) - n,
                 "%s{\"name\":\"%s\",\"state\":\"%s\",\"rate_gbits\":%s}",
                 n ? "," : "", w[2], w[3], *w[4] ? w[4] : "null");
    }
}

/* busid NULL: NVML reports none. */
static void put_link(const struct machine_hw *m, int gpu, int n,
                     const char *remote, const char *busid, FILE *out)
{
    fprintf(out,
            "%s{\"link\":%d,\"state\":\"%s\",\"p2p\":true,\"version\":%d,"
            "\"remote\":\"%s\",\"remote_busid\":%s%s%s}",
            n ? "," : "", n,
            n < m->dead[gpu]     ? "inactive"
            : n < m->unsure[gpu] ? "unknown"
                                 : "active",
            m->version, remote, busid ? "\"" : "", busid ? busid : "null",
            busid ? "\"" : "");
}

static void put_links(const struct machine_hw *m, int gpu, FILE *out)
{
    int n = 0;

    for (int k = 0; k < m->n_gpus && m->mesh; k++)
        for (int i = 0; i < m->mesh && k != gpu; i++)
            put_link(m, gpu, n++, "gpu", m->busid[k], out);
    for (int i = 0; i < m->islands; i++)
        put_link(m, gpu, n++, "unknown", m->busid[gpu ^ 1], out);
    for (int i = 0; i < m->islands; i++)
        put_link(m, gpu, n++, "unknown", "0004:00:01.0", out);
    for (int i = 0; i < m->links; i++)
        put_link(m, gpu, n++, m->remote, NULL, out);
}

char *machine_hw_text(const struct machine_hw *m)
{
    char *text = NULL;
    size_t size;
    FILE *out = m->any ? open_memstream(&text, &size) : NULL;

    if (!out)
        return NULL;
    fprintf(out, "{\"schema\":1,\"nvml\":{\"probe\":\"%s\"},\"gpus\":[",
            m->probe ? m->probe : "ok");
    for (int i = 0; i < m->n_gpus; i++) {
        fprintf(out, "%s{\"busid\":\"%s\",\"links\":[", i ? "," : "",
                m->busid[i]);
        put_links(m, i, out);
        fprintf(out, "],\"mig\":{\"mode\":%s},\"fabric\":",
                m->mig[i] ? "true" : "false");
        if (*m->uuid)
            fprintf(out,
                    "{\"state\":\"completed\",\"cluster_uuid\":\"%s\","
                    "\"clique\":%s}}",
                    m->uuid, m->clique);
        else
            fputs("null}", out);
    }
    fprintf(out, "],\"hcas\":[%s]}\n", m->ports);
    fclose(out);
    return text;
}
