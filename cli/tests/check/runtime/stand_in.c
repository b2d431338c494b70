/* Stands in for NVIDIA's `libcudart.so.13` on the emulator, which that library refuses: the functions of `runtime.h`, each with the
   driver calls of its documentation. Like the runtime it looks the driver's functions up by `cuGetProcAddress`, asks for an
   export table, retains the primary context at the first call, loads code as libraries, and gives back neither. */
#include "runtime.h"

#include <dlfcn.h>

typedef unsigned long long ptr;

static int (*look_up)(const char *, void **, int, unsigned long long, int *);

/* The function of this name as of CUDA 13.0. */
static void *driver(const char *name) {
    void *function = NULL;
    int found;
    look_up(name, &function, 13000, 0, &found);
    if (!function) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(9);
    }
    return function;
}

/* Calls a function of the driver. */
#define DRIVER(name, types, ...) ((int (*) types)driver(#name))(__VA_ARGS__)

static int is_ready;
static handle context;

static int ready(void) {
    static const unsigned char table[16] = {1};
    const void *functions;
    if (is_ready)
        return 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&look_up = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!look_up)
        return 35;
    int answer = DRIVER(cuInit, (u32), 0);
    DRIVER(cuGetExportTable, (const void **, const void *), &functions, table);
    answer = answer ? answer : DRIVER(cuDevicePrimaryCtxRetain, (handle *, int), &context, 0);
    answer = answer ? answer : DRIVER(cuCtxSetCurrent, (handle), context);
    is_ready = !answer;
    return answer;
}

/* After the first call, those of the driver. */
#define READY(name, types, ...)                                                                    \
    int answer = ready();                                                                          \
    return answer ? answer : DRIVER(name, types, __VA_ARGS__)

const char *cudaGetErrorName(int error) {
    static char text[24];
    snprintf(text, sizeof text, "error %d", error);
    return text;
}

int cudaGetDeviceCount(int *count) { READY(cuDeviceGetCount, (int *), count); }
int cudaMalloc(void **memory, size_t bytes) { READY(cuMemAlloc, (ptr *, size_t), (ptr *)memory, bytes); }
int cudaFree(void *memory) {
    if (!memory)
        return 0;
    READY(cuMemFree, (ptr), (ptr)memory);
}
int cudaMallocHost(void **memory, size_t bytes) { READY(cuMemHostAlloc, (void **, size_t, u32), memory, bytes, 0); }
int cudaFreeHost(void *memory) { READY(cuMemFreeHost, (void *), memory); }
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, handle stream) {
    if (kind == HOST_TO_DEVICE) {
        READY(cuMemcpyHtoDAsync, (ptr, const void *, size_t, handle), (ptr)to, from, bytes, stream);
    }
    READY(cuMemcpyDtoHAsync, (void *, ptr, size_t, handle), to, (ptr)from, bytes, stream);
}
int cudaMemsetAsync(void *to, int value, size_t bytes, handle stream) {
    READY(cuMemsetD8Async, (ptr, unsigned char, size_t, handle), (ptr)to, (unsigned char)value, bytes, stream);
}
int cudaStreamCreateWithFlags(handle *stream, u32 flags) { READY(cuStreamCreate, (handle *, u32), stream, flags); }
int cudaStreamCreate(handle *stream) { return cudaStreamCreateWithFlags(stream, 0); }
int cudaStreamDestroy(handle stream) { READY(cuStreamDestroy, (handle), stream); }
int cudaStreamSynchronize(handle stream) { READY(cuStreamSynchronize, (handle), stream); }
int cudaStreamWaitEvent(handle stream, handle event, u32 flags) {
    READY(cuStreamWaitEvent, (handle, handle, u32), stream, event, flags);
}
int cudaStreamBeginCapture(handle stream, int mode) { READY(cuStreamBeginCapture, (handle, int), stream, mode); }
int cudaStreamEndCapture(handle stream, handle *graph) { READY(cuStreamEndCapture, (handle, handle *), stream, graph); }
int cudaGraphDestroy(handle graph) { READY(cuGraphDestroy, (handle), graph); }
int cudaEventCreate(handle *event) { READY(cuEventCreate, (handle *, u32), event, 0); }
int cudaEventRecord(handle event, handle stream) { READY(cuEventRecord, (handle, handle), event, stream); }
int cudaEventDestroy(handle event) { READY(cuEventDestroy, (handle), event); }
/* From 13.0 on it takes the context. */
int cudaDeviceSynchronize(void) { READY(cuCtxSynchronize, (handle), context); }
int cudaLibraryLoadData(handle *library, const void *code, void *a, void **b, u32 c, void *d, void **e, u32 f) {
    READY(cuLibraryLoadData, (handle *, const void *, void *, void **, u32, void *, void **, u32), library, code, a, b, c, d, e, f);
}
int cudaLibraryGetKernel(handle *kernel, handle library, const char *name) {
    READY(cuLibraryGetKernel, (handle *, handle, const char *), kernel, library, name);
}
int cudaLibraryUnload(handle library) { READY(cuLibraryUnload, (handle), library); }
int cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, handle stream) {
    READY(cuLaunchKernel, (const void *, u32, u32, u32, u32, u32, u32, u32, handle, void **, void **), kernel, grid.x, grid.y, grid.z,
          block.x, block.y, block.z, (u32)shared, stream, arguments, NULL);
}
