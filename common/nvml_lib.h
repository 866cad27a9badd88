/* nvml_lib.h - NVIDIA's management library, loaded at run time.
 *
 * The one table of the functions that jobprof calls. Names, numbers and layouts
 * are those of the NVML API reference (nvml.h of CUDA 11 to 13). All functions
 * except four are optional: NULL if the driver does not have them. A driver may
 * hang or crash in any call, even in dlopen(), so the library must be loaded in
 * a child.
 */
#ifndef JP_COMMON_NVML_LIB_H
#define JP_COMMON_NVML_LIB_H

/* nvmlReturn_t */
enum {
    NVML_SUCCESS = 0,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
};

/* Sensors, clocks, counters, and bits, with the name of their enumeration. */
enum {
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1, /* nvmlClockType_t */
    NVML_CLOCK_MEM = 2,
    NVML_PCIE_TX = 0, /* nvmlPcieUtilCounter_t */
    NVML_PCIE_RX = 1,
    NVML_ECC_CORRECTED = 0, /* nvmlMemoryErrorType_t */
    NVML_ECC_UNCORRECTED = 1,
    NVML_ECC_VOLATILE = 0, /* nvmlEccCounterType_t: since the driver's load */
    NVML_LINK_ERRORS = 4,  /* nvmlNvLinkErrorCounter_t: 0 to 3 */
    NVML_CAP_P2P = 0,      /* nvmlNvLinkCapability_t */
    NVML_EVENT_XID = 0x8,  /* nvmlEventTypeXidCriticalError */
};

/* nvmlClocksEventReasons */
enum {
    NVML_REASON_POWER_CAP = 0x4,
    NVML_REASON_HW_SLOWDOWN = 0x8,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_HW_POWER_BRAKE = 0x80,
};

/* nvmlFieldValue_t's field identifiers and value types */
enum {
    NVML_FIELD_SPEED_L0 = 84, /* up to L5; one link each */
    NVML_FIELD_SPEED_COMMON = 90,
    NVML_FIELD_LINK_COUNT = 91,
    NVML_FIELD_SPEED_L6 = 132,  /* up to L11 */
    NVML_FIELD_NVLINK_TX = 138, /* KiB of data; scope: link or all */
    NVML_FIELD_NVLINK_RX = 139,
    NVML_FIELD_LINK_SPEED = 164, /* scope: link; the same below */
    NVML_FIELD_LINK_STATE = 165,
    NVML_FIELD_C2C_COUNT = 170,
    NVML_FIELD_C2C_STATUS = 171,
    NVML_FIELD_C2C_SPEED = 172,
    NVML_VALUE_UINT = 1,
    NVML_VALUE_ULONG = 2,
    NVML_VALUE_ULL = 3,
};
#define NVML_ALL_LINKS (~0u) /* as a scope */

typedef struct nvml_device *nvml_device; /* opaque, as in nvml.h */
typedef struct nvml_event_set *nvml_event_set;

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

struct nvml_use {
    unsigned gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used;
};

/* nvmlProcessInfo_v2_t, which _v3 also accepts */
struct nvml_process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

/* nvmlProcessUtilizationSample_t */
struct nvml_process_use {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder; /* percent */
};

/* nvmlEventData_t */
struct nvml_event {
    nvml_device device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

struct nvml_lib {
    void *handle;
    /* needed */
    int (*init)(void);
    int (*count)(unsigned *count);
    int (*device)(unsigned index, nvml_device *device);
    int (*pci)(nvml_device device, struct nvml_pci *pci);
    /* what there is */
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
    int (*fabric)(nvml_device device, void *info);
    int (*fabric_v)(nvml_device device, void *info);
    int (*mig_mode)(nvml_device device, unsigned *current, unsigned *pending);
    int (*mig_max)(nvml_device device, unsigned *count);
    int (*mig_device)(nvml_device device, unsigned index, nvml_device *mig);
    /* what it does */
    int (*use)(nvml_device device, struct nvml_use *use);
    int (*memory)(nvml_device device, struct nvml_memory *memory);
    int (*power)(nvml_device device, unsigned *mw);
    int (*power_limit)(nvml_device device, unsigned *mw);
    int (*energy)(nvml_device device, unsigned long long *mj);
    int (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    int (*clock)(nvml_device device, int type, unsigned *mhz);
    int (*max_clock)(nvml_device device, int type, unsigned *mhz);
    int (*reasons)(nvml_device device, unsigned long long *bits);
    int (*generation)(nvml_device device, unsigned *n);
    int (*width)(nvml_device device, unsigned *lanes);
    int (*throughput)(nvml_device device, int counter, unsigned *kbs);
    int (*replays)(nvml_device device, unsigned *n);
    int (*ecc)(nvml_device device, int type, int counter,
               unsigned long long *n);
    int (*link_errors)(nvml_device device, unsigned link, int counter,
                       unsigned long long *n);
    int (*processes)(nvml_device device, unsigned *n,
                     struct nvml_process *list);
    int (*process_use)(nvml_device device, struct nvml_process_use *list,
                       unsigned *n, unsigned long long since_us);
    int (*events_create)(nvml_event_set *set);
    int (*events_add)(nvml_device device, unsigned long long types,
                      nvml_event_set set);
    int (*events_wait)(nvml_event_set set, struct nvml_event *event,
                       unsigned timeout_ms);
};

/* Loads the library: a path or a name for dlopen(). Returns NULL if all needed
 * functions are there; else the name of the first one that is missing, or "" if
 * the library itself cannot be loaded (dlerror() says why). Call nvml_lib_close
 * in any case. */
const char *nvml_lib_open(struct nvml_lib *lib, const char *library);
void nvml_lib_close(struct nvml_lib *lib);

#endif
