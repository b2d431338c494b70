/* Stands in for NVIDIA's `libcudart.so.13` on the emulator, which that library refuses: the functions of `runtime.h`, each with the
   driver calls of its documentation. Like the runtime it looks the driver's functions up by `cuGetProcAddress`, asks for an
   export table, retains the primary context at the first call, loads code as libraries, and gives back neither.

   What is known of NVIDIA's library (13.0.96, driver 580.159.04): the faults of `faults.c` are reported with it as with this, row by
   row (`../matrix/h200.txt`), and where one of its functions makes calls at all, they are those of this file (`stand_in_calls.txt`), but for
   these: before it takes up a device it asks for the current context, the driver's version, more tables and all attributes; it asks for
   the current context again before it waits for the device; it makes arrays by `cuArray3DCreate_v2`, and copies to one by
   `cuArray3DGetDescriptor_v2` and `cuMemcpy3DAsync_v2`. Not compared with it: cudaLaunchKernelExC, cudaLaunchCooperativeKernel,
   cudaOccupancyMaxActiveBlocksPerMultiprocessor, cudaDeviceGetAttribute and cudaDeviceEnablePeerAccess.
   `bash .gpu/check.sh OUT` (`cargo xtask gpu --check`) writes the same of the library on a GPU to OUT/runtime_calls.txt, and prints
   the difference. */
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

/* The device of this thread, and the primary contexts that are retained. */
static __thread int device;
#define DEVICES 8
static handle contexts[DEVICES];

static int ready(void) {
    static const unsigned char table[16] = {1};
    const void *functions;
    if (contexts[device])
        return 0;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&look_up = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!look_up)
        return 35;
    int answer = DRIVER(cuInit, (u32), 0);
    DRIVER(cuGetExportTable, (const void **, const void *), &functions, table);
    answer = answer ? answer : DRIVER(cuDevicePrimaryCtxRetain, (handle *, int), &contexts[device], device);
    return answer ? answer : DRIVER(cuCtxSetCurrent, (handle), contexts[device]);
}

/* The last error of this thread, until it is taken. */
static __thread int last;
static int noted(int answer) {
    if (answer)
        last = answer;
    return answer;
}

/* After the first call, those of the driver. */
#define READY(name, types, ...)                                                                    \
    int answer = ready();                                                                          \
    return noted(answer ? answer : DRIVER(name, types, __VA_ARGS__))

int cudaPeekAtLastError(void) { return last; }
int cudaGetLastError(void) {
    int answer = last;
    last = 0;
    return answer;
}

const char *cudaGetErrorName(int error) {
    static char text[24];
    snprintf(text, sizeof text, "error %d", error);
    return text;
}

int cudaGetDeviceCount(int *count) { READY(cuDeviceGetCount, (int *), count); }
int cudaSetDevice(int wanted) {
    int count = 0, failed = cudaGetDeviceCount(&count);
    if (failed || wanted < 0 || wanted >= count || wanted >= DEVICES)
        return noted(failed ? failed : 101);
    device = wanted;
    READY(cuCtxSetCurrent, (handle), contexts[device]);
}
int cudaMalloc(void **memory, size_t bytes) { READY(cuMemAlloc, (ptr *, size_t), (ptr *)memory, bytes); }
int cudaFree(void *memory) {
    if (!memory)
        return 0;
    READY(cuMemFree, (ptr), (ptr)memory);
}
int cudaMallocHost(void **memory, size_t bytes) { READY(cuMemHostAlloc, (void **, size_t, u32), memory, bytes, 0); }
int cudaFreeHost(void *memory) { READY(cuMemFreeHost, (void *), memory); }
int cudaHostRegister(void *memory, size_t bytes, u32 flags) {
    READY(cuMemHostRegister, (void *, size_t, u32), memory, bytes, flags);
}
int cudaHostUnregister(void *memory) { READY(cuMemHostUnregister, (void *), memory); }
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, handle stream) {
    if (kind == HOST_TO_DEVICE) {
        READY(cuMemcpyHtoDAsync, (ptr, const void *, size_t, handle), (ptr)to, from, bytes, stream);
    }
    READY(cuMemcpyDtoHAsync, (void *, ptr, size_t, handle), to, (ptr)from, bytes, stream);
}
int cudaMemsetAsync(void *to, int value, size_t bytes, handle stream) {
    READY(cuMemsetD8Async, (ptr, unsigned char, size_t, handle), (ptr)to, (unsigned char)value, bytes, stream);
}
/* CUDA_MEMCPY2D, CUDA_MEMCPY3D and CUDA_ARRAY_DESCRIPTOR of the driver, and their kinds of memory. */
enum { HOST = 1, DEVICE = 2, ARRAY = 3 };
typedef struct {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    ptr src_device;
    handle src_array;
    size_t src_pitch, dst_x, dst_y;
    int dst_type;
    void *dst_host;
    ptr dst_device;
    handle dst_array;
    size_t dst_pitch, width, height;
} driver_rows;
typedef struct {
    size_t src_x, src_y, src_z, src_lod;
    int src_type;
    const void *src_host;
    ptr src_device;
    handle src_array, src_unused;
    size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod;
    int dst_type;
    void *dst_host;
    ptr dst_device;
    handle dst_array, dst_unused;
    size_t dst_pitch, dst_height, width, height, depth;
} driver_planes;
typedef struct {
    size_t width, height;
    int format;
    u32 channels;
} driver_array;

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, int kind, handle stream) {
    driver_rows copy = {.src_type = kind == HOST_TO_DEVICE ? HOST : DEVICE, .src_host = from, .src_device = (ptr)from,
                        .src_pitch = from_pitch, .dst_type = kind == HOST_TO_DEVICE ? DEVICE : HOST, .dst_host = to,
                        .dst_device = (ptr)to, .dst_pitch = to_pitch, .width = width, .height = height};
    READY(cuMemcpy2DAsync, (const driver_rows *, handle), &copy, stream);
}
/* Without arrays, which count elements. */
int cudaMemcpy3DAsync(const planes *asked, handle stream) {
    driver_planes copy = {.src_x = asked->src_at.x, .src_y = asked->src_at.y, .src_z = asked->src_at.z,
                          .src_type = asked->kind == HOST_TO_DEVICE ? HOST : DEVICE, .src_host = asked->src.start,
                          .src_device = (ptr)asked->src.start, .src_pitch = asked->src.pitch, .src_height = asked->src.height,
                          .dst_x = asked->dst_at.x, .dst_y = asked->dst_at.y, .dst_z = asked->dst_at.z,
                          .dst_type = asked->kind == HOST_TO_DEVICE ? DEVICE : HOST, .dst_host = asked->dst.start,
                          .dst_device = (ptr)asked->dst.start, .dst_pitch = asked->dst.pitch, .dst_height = asked->dst.height,
                          .width = asked->width, .height = asked->height, .depth = asked->depth};
    READY(cuMemcpy3DAsync, (const driver_planes *, handle), &copy, stream);
}
int cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, handle stream) {
    READY(cuMemsetD2D8Async, (ptr, size_t, unsigned char, size_t, size_t, handle), (ptr)to, pitch, (unsigned char)value, width, height, stream);
}
/* Of floats. */
int cudaMallocArray(handle *array, const channels *format, size_t width, size_t height, u32 flags) {
    driver_array shape = {.width = width, .height = height, .format = 0x20, .channels = 1};
    if (format->kind != FLOATS || flags)
        return noted(1);
    READY(cuArrayCreate, (handle *, const driver_array *), array, &shape);
}
int cudaFreeArray(handle array) { READY(cuArrayDestroy, (handle), array); }
int cudaMemcpy2DToArrayAsync(handle array, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind, handle stream) {
    driver_rows copy = {.src_type = kind == HOST_TO_DEVICE ? HOST : DEVICE, .src_host = from, .src_device = (ptr)from,
                        .src_pitch = pitch, .dst_x = x, .dst_y = y, .dst_type = ARRAY, .dst_array = array, .width = width, .height = height};
    READY(cuMemcpy2DAsync, (const driver_rows *, handle), &copy, stream);
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
int cudaGraphInstantiate(handle *exec, handle graph, unsigned long long flags) {
    READY(cuGraphInstantiateWithFlags, (handle *, handle, unsigned long long), exec, graph, flags);
}
int cudaGraphLaunch(handle exec, handle stream) { READY(cuGraphLaunch, (handle, handle), exec, stream); }
int cudaGraphExecDestroy(handle exec) { READY(cuGraphExecDestroy, (handle), exec); }
int cudaGraphDestroy(handle graph) { READY(cuGraphDestroy, (handle), graph); }
int cudaEventCreate(handle *event) { READY(cuEventCreate, (handle *, u32), event, 0); }
int cudaEventRecord(handle event, handle stream) { READY(cuEventRecord, (handle, handle), event, stream); }
int cudaEventDestroy(handle event) { READY(cuEventDestroy, (handle), event); }
/* From 13.0 on it takes the context. */
int cudaDeviceSynchronize(void) { READY(cuCtxSynchronize, (handle), contexts[device]); }
int cudaLibraryLoadData(handle *library, const void *code, void *a, void **b, u32 c, void *d, void **e, u32 f) {
    READY(cuLibraryLoadData, (handle *, const void *, void *, void **, u32, void *, void **, u32), library, code, a, b, c, d, e, f);
}
int cudaLibraryGetKernel(handle *kernel, handle library, const char *name) {
    READY(cuLibraryGetKernel, (handle *, handle, const char *), kernel, library, name);
}
int cudaLibraryUnload(handle library) { READY(cuLibraryUnload, (handle), library); }
/* The numbers of attributes are the driver's. */
int cudaDeviceGetAttribute(int *value, int attribute, int wanted) {
    READY(cuDeviceGetAttribute, (int *, int, int), value, attribute, wanted);
}
int cudaDeviceEnablePeerAccess(int peer, u32 flags) {
    int own = device, failed = cudaSetDevice(peer);
    failed = cudaSetDevice(own) || failed;
    if (failed)
        return noted(101);
    READY(cuCtxEnablePeerAccess, (handle, u32), contexts[peer], flags);
}
/* The driver takes a function, and not a library's kernel. */
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t shared) {
    handle function;
    int failed = DRIVER(cuKernelGetFunction, (handle *, const void *), &function, kernel);
    if (failed)
        return noted(failed);
    READY(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, handle, int, size_t), blocks, function, threads, shared);
}
int cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, handle stream) {
    READY(cuLaunchCooperativeKernel, (const void *, u32, u32, u32, u32, u32, u32, u32, handle, void **), kernel, grid.x, grid.y, grid.z,
          block.x, block.y, block.z, (u32)shared, stream, arguments);
}
/* CUlaunchConfig */
typedef struct {
    dim3 grid, block;
    u32 shared;
    handle stream;
    attribute *attributes;
    u32 number;
} driver_config;
int cudaLaunchKernelExC(const config *asked, const void *kernel, void **arguments) {
    driver_config launch = {asked->grid, asked->block, (u32)asked->shared, asked->stream, asked->attributes, asked->number};
    READY(cuLaunchKernelEx, (const driver_config *, const void *, void **, void **), &launch, kernel, arguments, NULL);
}
int cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, handle stream) {
    READY(cuLaunchKernel, (const void *, u32, u32, u32, u32, u32, u32, u32, handle, void **, void **), kernel, grid.x, grid.y, grid.z,
          block.x, block.y, block.z, (u32)shared, stream, arguments, NULL);
}
