/* nvml_lib.h - the functions of libnvidia-ml that are asked, found by name.
 *
 * Private to nvml*.c. The prototypes are NVML's; enumerations are int or
 * unsigned. Any pointer but those marked needed may be NULL.
 */
#ifndef JP_TOPO_NVML_LIB_H
#define JP_TOPO_NVML_LIB_H

#include <stddef.h>

/* nvmlReturn_t */
enum {
    NVML_SUCCESS = 0,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
};

/* nvmlFieldValue_t's field identifiers and value types */
enum {
    NVML_FIELD_SPEED_L0 = 84, /* up to L5; one link each */
    NVML_FIELD_SPEED_COMMON = 90,
    NVML_FIELD_LINK_COUNT = 91,
    NVML_FIELD_SPEED_L6 = 132,   /* up to L11 */
    NVML_FIELD_LINK_SPEED = 164, /* scope: link; the same below */
    NVML_FIELD_LINK_STATE = 165,
    NVML_FIELD_C2C_COUNT = 170,
    NVML_FIELD_C2C_STATUS = 171,
    NVML_FIELD_C2C_SPEED = 172,
    NVML_VALUE_UINT = 1,
    NVML_VALUE_ULONG = 2,
    NVML_VALUE_ULL = 3,
};

enum { NVML_CAP_P2P = 0 }; /* nvmlNvLinkCapability_t */

typedef struct nvml_device *nvml_device; /* opaque, as in nvml.h */

struct nvml_pci {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

struct nvml_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, result;
    union {
        unsigned ui;
        unsigned long ul;
        unsigned long long ull;
        double d;
    } value;
};

/* nvmlGpuFabricInfo_t */
struct nvml_fabric_v1 {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
};

/* nvmlGpuFabricInfo_v3_t; version 2 ends before health. */
struct nvml_fabric_v3 {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
    unsigned char health;
};

struct nvml_fabric_v2 {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health_mask;
};

struct nvml_lib {
    void *handle;
    /* needed */
    int (*init)(void);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, nvml_device *device);
    int (*pci)(nvml_device device, struct nvml_pci *pci);
    /* optional */
    int (*shutdown)(void);
    const char *(*error)(int result);
    int (*driver)(char *text, unsigned len);
    int (*uuid)(nvml_device device, char *text, unsigned len);
    int (*name)(nvml_device device, char *text, unsigned len);
    int (*minor)(nvml_device device, unsigned *minor);
    int (*link_state)(nvml_device device, unsigned link, int *active);
    int (*link_version)(nvml_device device, unsigned link, unsigned *version);
    int (*link_cap)(nvml_device device, unsigned link, int cap,
                    unsigned *result);
    int (*remote_type)(nvml_device device, unsigned link, int *type);
    int (*remote_pci)(nvml_device device, unsigned link, struct nvml_pci *pci);
    int (*fields)(nvml_device device, int n, struct nvml_field *values);
    int (*fabric)(nvml_device device, struct nvml_fabric_v1 *info);
    int (*fabric_v)(nvml_device device, void *info);
    int (*mig_mode)(nvml_device device, unsigned *current, unsigned *pending);
    int (*mig_max)(nvml_device device, unsigned *count);
    int (*mig_device)(nvml_device device, unsigned index, nvml_device *mig);
};

/* Loads the library. NULL: all needed functions are there; else what is missing
 * ("" : the library itself). */
const char *nvml_lib_open(const char *library, struct nvml_lib *lib);
void nvml_lib_close(struct nvml_lib *lib);

#endif
