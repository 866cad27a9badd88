/* cuda_cupti.h - what we use of CUPTI's and CUDA's interfaces.
 *
 * Declared by us, for CUPTI is loaded while the program runs and is not needed
 * to build. contrib/checks/cupti-layout.sh compares all of it with genuine
 * headers.
 */
#ifndef JP_CUDA_CUPTI_H
#define JP_CUDA_CUPTI_H

#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_OK = 0,
    CUPTI_TAKEN = 39,     /* another client has subscribed */
    CUPTI_DRIVER_API = 1, /* the domain */
    CUPTI_ENTER = 0,
    CUPTI_EXIT = 1,
    CU_OK = 0,
    CU_NOT_READY = 600, /* of a query: no failure */
    CU_HOST = 1,        /* memory types */
    CU_DEVICE = 2,
};

struct cupti_callback {
    int site; /* CUPTI_ENTER, CUPTI_EXIT */
    const char *function;
    const void *params;
    void *result; /* int *, at the exit */
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *scratch; /* ours from the entry to the exit of one call */
    uint32_t correlation;
};

typedef void cupti_function(void *arg, int domain, uint32_t id,
                            const void *data);

typedef int cupti_subscribe(void **subscriber, cupti_function *function,
                            void *arg);
typedef int cupti_unsubscribe(void *subscriber);
typedef int cupti_enable(uint32_t on, void *subscriber, int domain,
                         uint32_t id);
typedef int cupti_version(uint32_t *version);

/* --- arguments of calls, as far as they are read ------------------------- */

struct cu_copy { /* cuMemcpyHtoD_v2 ..., cuMemcpy: bytes are third */
    uint64_t to, from;
    size_t bytes;
};

struct cu_array_copy { /* of which one side is an array with an offset */
    uint64_t a, b, c;
    size_t bytes;
};

struct cu_peer_copy {
    uint64_t to;
    void *to_context;
    uint64_t from;
    void *from_context;
    size_t bytes;
};

struct cu_plane { /* CUDA_MEMCPY2D */
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch;
    size_t width, height;
};

struct cu_cube { /* CUDA_MEMCPY3D */
    size_t from_x, from_y, from_z, from_lod;
    int from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array, *reserved0;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_lod;
    int to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array, *reserved1;
    size_t to_pitch, to_height;
    size_t width, height, depth;
};

struct cu_plane_copy {
    const struct cu_plane *copy;
};

struct cu_cube_copy {
    const struct cu_cube *copy;
};

struct cu_batch_copy {
    uint64_t *to, *from;
    size_t *sizes;
    size_t n;
};

struct cu_alloc { /* also of cuMemCreate, whose handle is a number, too */
    uint64_t *at;
    size_t bytes;
};

struct cu_pitch_alloc {
    uint64_t *at;
    size_t *pitch;
    size_t width, height;
};

struct cu_free {
    uint64_t at;
};

#endif
