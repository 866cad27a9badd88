/* The communicators of a file that is being read, by their index. */
#include "plugins/nccl_recorder/jpr_comms.h"

#include <stdlib.h>
#include <string.h>

enum { N_TEXTS = 3, MAX_BYTES = 16 << 20 };

/* A copy that owns its texts, in one piece; NULL without memory. */
static struct jpr_comm *copy_of(const struct jpr_comm *comm, size_t *bytes)
{
    const char *const texts[N_TEXTS] = {comm->name, comm->gpu_pci,
                                        comm->gpu_uuid};
    const char *copies[N_TEXTS];
    struct jpr_comm *copy;
    char *at;
    int i;

    *bytes = sizeof(*comm);
    for (i = 0; i < N_TEXTS; i++)
        *bytes += strlen(texts[i]) + 1;
    copy = malloc(*bytes);
    if (!copy)
        return NULL;
    at = (char *) (copy + 1);
    for (i = 0; i < N_TEXTS; i++) {
        size_t n = strlen(texts[i]) + 1;

        copies[i] = memcpy(at, texts[i], n);
        at += n;
    }
    *copy = *comm;
    copy->name = copies[0];
    copy->gpu_pci = copies[1];
    copy->gpu_uuid = copies[2];
    return copy;
}

/* Makes room for an index; 0 or -1. */
static int grow(struct jpr_comms *comms, uint32_t index)
{
    uint32_t n = comms->n ? comms->n : 16;
    struct jpr_comm **list;

    if (index < comms->n)
        return 0;
    while (n <= index)
        n *= 2;
    list = realloc(comms->list, n * sizeof(*list));
    if (!list)
        return -1;
    memset(list + comms->n, 0, (n - comms->n) * sizeof(*list));
    comms->list = list;
    comms->n = n;
    return 0;
}

const char *jpr_comms_add(struct jpr_comms *comms, const struct jpr_comm *comm,
                          const struct jpr_comm **copy)
{
    struct jpr_comm *own;
    size_t bytes;

    if (comm->index >= JPR_MAX_COMMS)
        return "a communicator's index is too large";
    if (jpr_comms_find(comms, comm->index))
        return "a communicator comes twice";
    if (grow(comms, comm->index) < 0)
        return "no memory for a communicator";
    own = copy_of(comm, &bytes);
    if (!own || bytes > MAX_BYTES - comms->bytes) {
        free(own);
        return "no room for a communicator";
    }
    comms->bytes += bytes;
    comms->list[comm->index] = own;
    *copy = own;
    return NULL;
}

const struct jpr_comm *jpr_comms_find(const struct jpr_comms *comms,
                                      uint32_t index)
{
    return index < comms->n ? comms->list[index] : NULL;
}

void jpr_comms_fini(struct jpr_comms *comms)
{
    uint32_t i;

    for (i = 0; i < comms->n; i++)
        free(comms->list[i]);
    free(comms->list);
    *comms = (struct jpr_comms){0};
}
