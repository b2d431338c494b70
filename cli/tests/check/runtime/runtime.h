/* What `faults.c` uses of the CUDA runtime, and `stand_in.c` provides. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned int u32;
typedef void *handle;
typedef struct {
    u32 x, y, z;
} dim3;

/* cudaMemcpy3DParms, with its cudaPos, cudaPitchedPtr and cudaExtent. */
typedef struct {
    size_t x, y, z;
} position;
typedef struct {
    void *start;
    size_t pitch, width, height;
} pitched;
typedef struct {
    handle src_array;
    position src_at;
    pitched src;
    handle dst_array;
    position dst_at;
    pitched dst;
    size_t width, height, depth;
    int kind;
} planes;
/* cudaLaunchAttribute and cudaLaunchConfig_t, which the driver's are like. */
typedef struct {
    int id;
    char padding[4];
    union {
        dim3 cluster;
        int cooperative;
        char bytes[64];
    };
} attribute;
typedef struct {
    dim3 grid, block;
    size_t shared;
    handle stream;
    attribute *attributes;
    u32 number;
} config;
#define COOPERATIVE 2
#define CLUSTER 4
/* Of cudaDeviceAttr. */
#define MULTIPROCESSORS 16

/* cudaChannelFormatDesc */
typedef struct {
    int x, y, z, w, kind;
} channels;
#define FLOATS 2

#define NON_BLOCKING 1
#define HOST_TO_DEVICE 1
#define DEVICE_TO_HOST 2

#define FUNCTIONS(F)                                                                               \
    F(cudaGetDeviceCount, (int *))                                                                 \
    F(cudaSetDevice, (int))                                                                        \
    F(cudaMalloc, (void **, size_t))                                                               \
    F(cudaFree, (void *))                                                                          \
    F(cudaMallocHost, (void **, size_t))                                                           \
    F(cudaFreeHost, (void *))                                                                      \
    F(cudaHostRegister, (void *, size_t, u32))                                                     \
    F(cudaHostUnregister, (void *))                                                                \
    F(cudaMemcpyAsync, (void *, const void *, size_t, int, handle))                                \
    F(cudaMemsetAsync, (void *, int, size_t, handle))                                              \
    F(cudaMemcpy2DAsync, (void *, size_t, const void *, size_t, size_t, size_t, int, handle))      \
    F(cudaMemcpy3DAsync, (const planes *, handle))                                                 \
    F(cudaMemset2DAsync, (void *, size_t, int, size_t, size_t, handle))                            \
    F(cudaMallocArray, (handle *, const channels *, size_t, size_t, u32))                          \
    F(cudaFreeArray, (handle))                                                                     \
    F(cudaMemcpy2DToArrayAsync, (handle, size_t, size_t, const void *, size_t, size_t, size_t, int, handle)) \
    F(cudaGetLastError, (void))                                                                    \
    F(cudaPeekAtLastError, (void))                                                                 \
    F(cudaStreamCreate, (handle *))                                                                \
    F(cudaStreamCreateWithFlags, (handle *, u32))                                                  \
    F(cudaStreamDestroy, (handle))                                                                 \
    F(cudaStreamSynchronize, (handle))                                                             \
    F(cudaStreamWaitEvent, (handle, handle, u32))                                                  \
    F(cudaStreamBeginCapture, (handle, int))                                                       \
    F(cudaStreamEndCapture, (handle, handle *))                                                    \
    F(cudaGraphInstantiate, (handle *, handle, unsigned long long))                                \
    F(cudaGraphLaunch, (handle, handle))                                                           \
    F(cudaGraphExecDestroy, (handle))                                                              \
    F(cudaGraphDestroy, (handle))                                                                  \
    F(cudaEventCreate, (handle *))                                                                 \
    F(cudaEventRecord, (handle, handle))                                                           \
    F(cudaEventDestroy, (handle))                                                                  \
    F(cudaDeviceSynchronize, (void))                                                               \
    F(cudaLibraryLoadData, (handle *, const void *, void *, void **, u32, void *, void **, u32))   \
    F(cudaLibraryGetKernel, (handle *, handle, const char *))                                      \
    F(cudaLibraryUnload, (handle))                                                                 \
    F(cudaLaunchKernel, (const void *, dim3, dim3, void **, size_t, handle))                       \
    F(cudaLaunchKernelExC, (const config *, const void *, void **))                                \
    F(cudaLaunchCooperativeKernel, (const void *, dim3, dim3, void **, size_t, handle))            \
    F(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int *, const void *, int, size_t))           \
    F(cudaDeviceGetAttribute, (int *, int, int))                                                   \
    F(cudaDeviceEnablePeerAccess, (int, u32))
