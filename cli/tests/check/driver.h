/* What the programs of this folder use of the driver API, and how each begins. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned int u32;
typedef unsigned long long ptr;
typedef void *handle;

int cuInit(u32);
int cuDevicePrimaryCtxRetain(handle *, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxSetCurrent(handle);
int cuCtxSynchronize(void);
int cuCtxCreate_v4(handle *, void *, u32, int);
int cuCtxDestroy_v2(handle);
int cuGetErrorName(int, const char **);
int cuModuleLoad(handle *, const char *);
int cuModuleLoadData(handle *, const void *);
int cuModuleGetFunction(handle *, handle, const char *);
int cuModuleUnload(handle);
int cuMemAlloc_v2(ptr *, size_t);
int cuMemFree_v2(ptr);
int cuMemAllocManaged(ptr *, size_t, u32);
int cuMemAllocAsync(ptr *, size_t, handle);
int cuMemFreeAsync(ptr, handle);
int cuMemHostAlloc(void **, size_t, u32);
int cuMemFreeHost(void *);
int cuMemHostRegister_v2(void *, size_t, u32);
int cuMemHostUnregister(void *);
int cuMemcpyHtoD_v2(ptr, const void *, size_t);
int cuMemcpyDtoH_v2(void *, ptr, size_t);
int cuMemcpyHtoDAsync_v2(ptr, const void *, size_t, handle);
int cuMemcpyDtoHAsync_v2(void *, ptr, size_t, handle);
int cuMemcpyDtoDAsync_v2(ptr, ptr, size_t, handle);
int cuMemsetD8Async(ptr, unsigned char, size_t, handle);
int cuMemsetD32_v2(ptr, u32, size_t);
int cuMemsetD32Async(ptr, u32, size_t, handle);
int cuStreamCreate(handle *, u32);
int cuStreamDestroy_v2(handle);
int cuStreamSynchronize(handle);
int cuStreamQuery(handle);
int cuStreamWaitEvent(handle, handle, u32);
int cuStreamBeginCapture_v2(handle, int);
int cuStreamEndCapture(handle, handle *);
int cuGraphInstantiateWithFlags(handle *, handle, unsigned long long);
int cuGraphLaunch(handle, handle);
int cuGraphExecDestroy(handle);
int cuGraphDestroy(handle);
int cuLaunchHostFunc(handle, void (*)(void *), void *);
int cuEventCreate(handle *, u32);
int cuEventRecord(handle, handle);
int cuEventSynchronize(handle);
int cuEventDestroy_v2(handle);
int cuLaunchKernel(handle, u32, u32, u32, u32, u32, u32, u32, handle, void **, void **);

#define NON_BLOCKING 1

/* A call that has to succeed. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        int failed = (call);                                                                       \
        if (failed) {                                                                              \
            fprintf(stderr, "line %d: %s answered %d\n", __LINE__, #call, failed);                 \
            exit(9);                                                                               \
        }                                                                                          \
    } while (0)

static handle context, module, fill;

/* fill(u32 *out, u32 count, u32 value): one thread for each element. */
static void begin(void) {
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoad(&module, "examples/kernels/fill.ptx"));
    OK(cuModuleGetFunction(&fill, module, "fill"));
}

static void end(void) {
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease_v2(0));
}

/* Launches it with 64 threads. */
static int fill_on(handle stream, ptr out, u32 count, u32 value) {
    void *arguments[] = {&out, &count, &value};
    return cuLaunchKernel(fill, (count + 63) / 64, 1, 1, 64, 1, 1, 0, stream, arguments, NULL);
}
