/* cuda_cupti.h - the parts of CUPTI's and CUDA's interfaces that are used here.
 *
 * Declared here, because CUPTI is loaded at run time and is not needed to
 * build. contrib/checks/cupti-layout.sh compares everything with genuine
 * headers. */
#ifndef JP_CUDA_CUPTI_H
#define JP_CUDA_CUPTI_H

#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_OK = 0,
    CUPTI_TAKEN = 39,     /* another client has subscribed */
    CUPTI_DRIVER_API = 1, /* a domain */
    CUPTI_ENTER = 0,
    CUPTI_EXIT = 1,
    CU_OK = 0,
    CU_NOT_READY = 600, /* answer of a query: no failure */
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
    uint64_t *scratch; /* kept from the entry to the exit of one call */
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
/* The clock of the GPU that has the context, in ns; the number of that GPU in
 * the process. CUPTI may be asked for both within a callback. CUPTI 13 does not
 * have the first one any more. */
typedef int cupti_device_time(void *context, uint64_t *gpu_ns);
typedef int cupti_device_id(void *context, uint32_t *device);
/* Of CUDA's driver: "0000:1b:00.0" of a device. */
typedef int cu_device_pci(char *text, int size, int device);

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

struct cu_alloc { /* also of cuMemCreate, whose handle is a number */
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

/* --- which calls of CUDA's driver are counted, and as what --------------- */

/* ROW(name, CUPTI's callback id, what it does, shape of its arguments). CUPTI's
 * ids never change. Calls from before CUDA 3.2 are left out. */

enum cuda_what {
    CALL_NONE,
    CALL_LAUNCH,
    CALL_GRAPH,
    CALL_H2D,
    CALL_D2H,
    CALL_D2D,
    CALL_PEER,
    CALL_OTHER, /* the direction is in the arguments, or nowhere */
    CALL_SET,
    CALL_ALLOC,
    CALL_CREATE, /* its handle is no address */
    CALL_FREE,
    CALL_RELEASE,
    CALL_SYNC,
};

enum cuda_shape {
    SHAPE_NONE,
    SHAPE_COPY, /* struct cu_copy ...; the call waits for the copy */
    SHAPE_ARRAY,
    SHAPE_PEER,
    SHAPE_PLANE,
    SHAPE_CUBE,
    SHAPE_BATCH,
    SHAPE_ALLOC,
    SHAPE_PITCH,
    SHAPE_FREE,
    SHAPE_LATER = 16, /* the call returns before the copy is done */
};

/* A copy that waits for its end and one that does not, each also for the
 * per-thread default stream (ptds, ptsz). */
#define COPIES(ROW, call, tail, a, b, c, d, what, shape)                       \
    ROW(call##tail, a, what, shape)                                            \
    ROW(call##Async##tail, b, what, shape | SHAPE_LATER)                       \
    ROW(call##tail##_ptds, c, what, shape)                                     \
    ROW(call##Async##tail##_ptsz, d, what, shape | SHAPE_LATER)
#define SETS(ROW, call, a, b, c, d)                                            \
    ROW(call##_v2, a, CALL_SET, SHAPE_NONE)                                    \
    ROW(call##Async, b, CALL_SET, SHAPE_NONE)                                  \
    ROW(call##_v2_ptds, c, CALL_SET, SHAPE_NONE)                               \
    ROW(call##Async_ptsz, d, CALL_SET, SHAPE_NONE)

#define CUDA_CALLS(ROW)                                                        \
    ROW(cuLaunch, 115, CALL_LAUNCH, SHAPE_NONE)                                \
    ROW(cuLaunchGrid, 116, CALL_LAUNCH, SHAPE_NONE)                            \
    ROW(cuLaunchGridAsync, 117, CALL_LAUNCH, SHAPE_NONE)                       \
    ROW(cuLaunchKernel, 307, CALL_LAUNCH, SHAPE_NONE)                          \
    ROW(cuLaunchKernel_ptsz, 442, CALL_LAUNCH, SHAPE_NONE)                     \
    ROW(cuLaunchCooperativeKernel, 477, CALL_LAUNCH, SHAPE_NONE)               \
    ROW(cuLaunchCooperativeKernel_ptsz, 478, CALL_LAUNCH, SHAPE_NONE)          \
    ROW(cuLaunchCooperativeKernelMultiDevice, 480, CALL_LAUNCH, SHAPE_NONE)    \
    ROW(cuLaunchKernelEx, 652, CALL_LAUNCH, SHAPE_NONE)                        \
    ROW(cuLaunchKernelEx_ptsz, 653, CALL_LAUNCH, SHAPE_NONE)                   \
    ROW(cuGraphLaunch, 514, CALL_GRAPH, SHAPE_NONE)                            \
    ROW(cuGraphLaunch_ptsz, 515, CALL_GRAPH, SHAPE_NONE)                       \
    COPIES(ROW, cuMemcpyHtoD, _v2, 276, 277, 397, 421, CALL_H2D, SHAPE_COPY)   \
    COPIES(ROW, cuMemcpyDtoH, _v2, 278, 279, 398, 422, CALL_D2H, SHAPE_COPY)   \
    COPIES(ROW, cuMemcpyDtoD, _v2, 280, 281, 399, 423, CALL_D2D, SHAPE_COPY)   \
    COPIES(ROW, cuMemcpyAtoH, _v2, 282, 283, 403, 420, CALL_D2H, SHAPE_ARRAY)  \
    COPIES(ROW, cuMemcpyHtoA, _v2, 292, 293, 402, 419, CALL_H2D, SHAPE_ARRAY)  \
    ROW(cuMemcpyAtoD_v2, 284, CALL_D2D, SHAPE_ARRAY)                           \
    ROW(cuMemcpyAtoD_v2_ptds, 401, CALL_D2D, SHAPE_ARRAY)                      \
    ROW(cuMemcpyDtoA_v2, 285, CALL_D2D, SHAPE_ARRAY)                           \
    ROW(cuMemcpyDtoA_v2_ptds, 400, CALL_D2D, SHAPE_ARRAY)                      \
    COPIES(ROW, cuMemcpy, , 305, 306, 408, 418, CALL_OTHER, SHAPE_COPY)        \
    COPIES(ROW, cuMemcpyPeer, , 318, 319, 409, 426, CALL_PEER, SHAPE_PEER)     \
    COPIES(ROW, cuMemcpy2D, _v2, 287, 289, 405, 424, CALL_OTHER, SHAPE_PLANE)  \
    ROW(cuMemcpy2DUnaligned_v2, 288, CALL_OTHER, SHAPE_PLANE)                  \
    ROW(cuMemcpy2DUnaligned_v2_ptds, 406, CALL_OTHER, SHAPE_PLANE)             \
    COPIES(ROW, cuMemcpy3D, _v2, 290, 291, 407, 425, CALL_OTHER, SHAPE_CUBE)   \
    ROW(cuMemcpyBatchAsync, 776, CALL_OTHER, SHAPE_BATCH | SHAPE_LATER)        \
    ROW(cuMemcpyBatchAsync_ptsz, 777, CALL_OTHER, SHAPE_BATCH | SHAPE_LATER)   \
    ROW(cuMemcpyBatchAsync_v2, 796, CALL_OTHER, SHAPE_BATCH | SHAPE_LATER)     \
    ROW(cuMemcpyBatchAsync_v2_ptsz, 797, CALL_OTHER,                           \
        SHAPE_BATCH | SHAPE_LATER)                                             \
    SETS(ROW, cuMemsetD8, 249, 216, 411, 428)                                  \
    SETS(ROW, cuMemsetD16, 250, 218, 412, 429)                                 \
    SETS(ROW, cuMemsetD32, 251, 220, 413, 430)                                 \
    SETS(ROW, cuMemsetD2D8, 252, 222, 414, 431)                                \
    SETS(ROW, cuMemsetD2D16, 253, 224, 415, 432)                               \
    SETS(ROW, cuMemsetD2D32, 254, 226, 416, 433)                               \
    ROW(cuMemAlloc_v2, 243, CALL_ALLOC, SHAPE_ALLOC)                           \
    ROW(cuMemAllocPitch_v2, 244, CALL_ALLOC, SHAPE_PITCH)                      \
    ROW(cuMemAllocManaged, 371, CALL_ALLOC, SHAPE_ALLOC)                       \
    ROW(cuMemAllocAsync, 598, CALL_ALLOC, SHAPE_ALLOC)                         \
    ROW(cuMemAllocAsync_ptsz, 599, CALL_ALLOC, SHAPE_ALLOC)                    \
    ROW(cuMemAllocFromPoolAsync, 611, CALL_ALLOC, SHAPE_ALLOC)                 \
    ROW(cuMemAllocFromPoolAsync_ptsz, 612, CALL_ALLOC, SHAPE_ALLOC)            \
    ROW(cuMemCreate, 549, CALL_CREATE, SHAPE_ALLOC)                            \
    ROW(cuMemFree_v2, 245, CALL_FREE, SHAPE_FREE)                              \
    ROW(cuMemFreeAsync, 600, CALL_FREE, SHAPE_FREE)                            \
    ROW(cuMemFreeAsync_ptsz, 601, CALL_FREE, SHAPE_FREE)                       \
    ROW(cuMemRelease, 550, CALL_RELEASE, SHAPE_FREE)                           \
    ROW(cuCtxSynchronize, 17, CALL_SYNC, SHAPE_NONE)                           \
    ROW(cuCtxSynchronize_v2, 800, CALL_SYNC, SHAPE_NONE)                       \
    ROW(cuEventSynchronize, 121, CALL_SYNC, SHAPE_NONE)                        \
    ROW(cuStreamSynchronize, 126, CALL_SYNC, SHAPE_NONE)                       \
    ROW(cuStreamSynchronize_ptsz, 440, CALL_SYNC, SHAPE_NONE)

enum { CUDA_CALLS_END = 1024 }; /* numbers are below */

#endif
