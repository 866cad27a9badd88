/* nvml_links.c - ask NVML for a GPU's links. */
#include "orchestrator/topo/nvml_links.h"

#include <stdio.h>
#include <string.h>

/* From this enumeration on (NVLink 4, Hopper) the state stands in a field: the
 * older call may say of a link in low power that it is off. */
#define VERSION_WITH_FIELDS 6

void nvml_note(struct jp_nvml *out, const char *function)
{
    snprintf(out->calling, sizeof(out->calling), "%s", function);
}

/* The value of a field, -1: none. */
static int64_t get_field(const struct nvml_lib *lib, nvml_device device,
                         struct jp_nvml *out, unsigned id, unsigned scope)
{
    struct nvml_field field = {.id = id, .scope = scope, .result = -1};
    unsigned long long value;

    if (!lib->fields ||
        NVML_CALL(out, lib, fields, device, 1, &field) != NVML_SUCCESS ||
        field.result != NVML_SUCCESS)
        return -1;
    if (field.type == NVML_VALUE_UINT)
        value = field.value.ui;
    else if (field.type == NVML_VALUE_ULONG)
        value = field.value.ul;
    else if (field.type == NVML_VALUE_ULL)
        value = field.value.ull;
    else
        return -1;
    return value <= INT32_MAX ? (int64_t) value : -1;
}

static int64_t get_speed(const struct nvml_lib *lib, nvml_device device,
                         struct jp_nvml *out, unsigned link)
{
    int64_t mbs = get_field(lib, device, out, NVML_FIELD_LINK_SPEED, link);

    if (mbs <= 0 && link < 6)
        mbs = get_field(lib, device, out, NVML_FIELD_SPEED_L0 + link, 0);
    else if (mbs <= 0 && link < 12)
        mbs = get_field(lib, device, out, NVML_FIELD_SPEED_L6 + link - 6, 0);
    if (mbs <= 0)
        mbs = get_field(lib, device, out, NVML_FIELD_SPEED_COMMON, 0);
    return mbs > 0 ? mbs : -1;
}

static enum jp_link_remote remote_of(int type)
{
    switch (type) {
    case 0:
        return JP_REMOTE_GPU;
    case 1:
        return JP_REMOTE_CPU;
    case 2:
        return JP_REMOTE_SWITCH;
    default:
        return JP_REMOTE_UNKNOWN;
    }
}

/* What is at the other end of an active link. */
static void read_remote(const struct nvml_lib *lib, nvml_device device,
                        struct jp_nvml *out, struct jp_nvml_link *link)
{
    struct nvml_pci pci = {.domain = 0};
    int type = -1;

    if (lib->remote_type && NVML_CALL(out, lib, remote_type, device, link->link,
                                      &type) == NVML_SUCCESS)
        link->remote = remote_of(type);
    if (lib->remote_pci && NVML_CALL(out, lib, remote_pci, device, link->link,
                                     &pci) == NVML_SUCCESS) {
        pci.id[sizeof(pci.id) - 1] = '\0';
        busid_tidy(pci.id, link->remote_busid);
    }
}

static enum jp_link_state state_of(int active)
{
    return active == 1   ? JP_LINK_ACTIVE
           : active == 0 ? JP_LINK_INACTIVE
                         : JP_LINK_UNKNOWN;
}

/* The result of asking for the state: only NVML_SUCCESS is a link. */
static int read_link(const struct nvml_lib *lib, nvml_device device,
                     struct jp_nvml *out, struct jp_nvml_link *link)
{
    unsigned number = link->link;
    unsigned value = 0;
    int active = -1;
    int64_t field;
    int rc;

    /* also wakes the link, so that its state is the one in use */
    if (lib->link_cap && NVML_CALL(out, lib, link_cap, device, number,
                                   NVML_CAP_P2P, &value) == NVML_SUCCESS)
        link->p2p = value != 0;
    rc = NVML_CALL(out, lib, link_state, device, number, &active);
    if (rc != NVML_SUCCESS)
        return rc;
    link->state = state_of(active);
    if (lib->link_version && NVML_CALL(out, lib, link_version, device, number,
                                       &value) == NVML_SUCCESS)
        link->version = value < 1000 ? (int) value : -1;
    field = link->version < VERSION_WITH_FIELDS
                ? -1
                : get_field(lib, device, out, NVML_FIELD_LINK_STATE, number);
    if (field >= 0)
        link->state = state_of((int) field);
    if (link->state == JP_LINK_ACTIVE) {
        link->speed_mbs = get_speed(lib, device, out, number);
        read_remote(lib, device, out, link);
    }
    return NVML_SUCCESS;
}

static void read_c2c(const struct nvml_lib *lib, nvml_device device,
                     struct jp_nvml *out, struct jp_nvml_gpu *gpu)
{
    int64_t n = get_field(lib, device, out, NVML_FIELD_C2C_COUNT, 0);

    gpu->c2c_links = n < 0 ? -1 : 0;
    for (unsigned i = 0; i < JP_NVML_MAX_LINKS && (int64_t) i < n; i++) {
        int64_t mbs;

        if (get_field(lib, device, out, NVML_FIELD_C2C_STATUS, i) != 1)
            continue;
        mbs = get_field(lib, device, out, NVML_FIELD_C2C_SPEED, i);
        gpu->c2c_links++;
        if (mbs > 0)
            gpu->c2c_speed_mbs = mbs;
    }
}

void nvml_links_read(const struct nvml_lib *lib, nvml_device device,
                     struct jp_nvml *out, struct jp_nvml_gpu *gpu)
{
    unsigned failed = 0;

    gpu->c2c_links = gpu->c2c_speed_mbs = -1;
    read_c2c(lib, device, out, gpu);
    if (!lib->link_state)
        return;
    for (unsigned i = 0; i < JP_NVML_MAX_LINKS; i++) {
        struct jp_nvml_link *link = &gpu->links[gpu->n_links];
        int rc;

        *link = (struct jp_nvml_link){
            .link = i, .p2p = -1, .version = -1, .speed_mbs = -1};
        rc = read_link(lib, device, out, link);
        if (rc == NVML_SUCCESS)
            gpu->n_links++;
        else if (rc == NVML_INVALID_ARGUMENT)
            break; /* there are no more */
        else if (rc != NVML_NOT_SUPPORTED)
            failed++;
    }
    /* with a link that could not be asked the number of links says nothing */
    gpu->links_asked = failed == 0;
    if (failed)
        gpu->n_links = 0;
}
