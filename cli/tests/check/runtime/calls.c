/* Calls each function of `runtime.h` once or twice, but for those that need two devices: `./calls LOG`, where LOG is the file to which `cuda-launch check --log LOG` adds the
   driver's calls. Before each it adds its name, so that the file says which calls of the driver a function of the runtime makes. */
#include "runtime.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DECLARE(name, arguments) static int(*name) arguments;
FUNCTIONS(DECLARE)

static int log_file;

static void next(const char *call) {
    char line[64];
    int length = snprintf(line, sizeof line, "== %.*s\n", (int)strcspn(call, "("), call);
    if (write(log_file, line, (size_t)length) != length)
        exit(9);
}

#define CALL(call)                                                                                 \
    do {                                                                                           \
        next(#call);                                                                               \
        int failed = (call);                                                                       \
        if (failed) {                                                                              \
            fprintf(stderr, "line %d: %s answered %d\n", __LINE__, #call, failed);                 \
            exit(9);                                                                               \
        }                                                                                          \
    } while (0)

static const char image[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry none(.param .u64 x)\n{\n    ret;\n}\n";

int main(int count, char **arguments) {
    const char *file = getenv("CUDA_LAUNCH_CUDART");
    void *runtime = dlopen(file ? file : "libcudart.so.13", RTLD_NOW);
    log_file = count < 2 ? -1 : open(arguments[1], O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (!runtime || log_file < 0) {
        fprintf(stderr, "%s\n", runtime ? "usage: calls LOG" : dlerror());
        return 77;
    }
#define FIND(name, arguments) *(void **)&name = dlsym(runtime, #name);
    FUNCTIONS(FIND)
    int devices = 0;
    char *x;
    u32 *pinned;
    static char bytes[1024];
    handle stream, other, event, graph, exec, array, library, kernel;
    next("cudaGetDeviceCount");
    if (cudaGetDeviceCount(&devices) || !devices)
        return 77;
    CALL(cudaMalloc((void **)&x, 1024));
    CALL(cudaMallocHost((void **)&pinned, 1024));
    CALL(cudaHostRegister(bytes, sizeof bytes, 0));
    CALL(cudaHostUnregister(bytes));
    CALL(cudaStreamCreate(&other));
    CALL(cudaStreamCreateWithFlags(&stream, NON_BLOCKING));
    CALL(cudaMemsetAsync(x, 1, 1024, stream));
    CALL(cudaMemset2DAsync(x, 256, 1, 100, 3, stream));
    CALL(cudaMemcpyAsync(x, pinned, 1024, HOST_TO_DEVICE, stream));
    CALL(cudaMemcpyAsync(pinned, x, 1024, DEVICE_TO_HOST, stream));
    CALL(cudaMemcpy2DAsync(x, 256, bytes, 100, 100, 3, HOST_TO_DEVICE, stream));
    planes copy = {.src = {bytes, 64, 64, 2}, .dst = {x, 64, 64, 4}, .width = 64, .height = 2, .depth = 3, .kind = HOST_TO_DEVICE};
    CALL(cudaMemcpy3DAsync(&copy, stream));
    channels format = {32, 0, 0, 0, FLOATS};
    CALL(cudaMallocArray(&array, &format, 16, 4, 0));
    CALL(cudaMemcpy2DToArrayAsync(array, 0, 0, bytes, 64, 64, 4, HOST_TO_DEVICE, stream));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaFreeArray(array));
    CALL(cudaEventCreate(&event));
    CALL(cudaEventRecord(event, stream));
    CALL(cudaStreamWaitEvent(other, event, 0));
    CALL(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    CALL(cudaLibraryGetKernel(&kernel, library, "none"));
    void *list[] = {&x};
    CALL(cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, list, 0, stream));
    CALL(cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, list, 0, stream));
    int blocks;
    config config = {{1, 1, 1}, {32, 1, 1}, 0, stream, NULL, 0};
    CALL(cudaLaunchKernelExC(&config, kernel, list));
    CALL(cudaLaunchCooperativeKernel(kernel, (dim3){1, 1, 1}, (dim3){32, 1, 1}, list, 0, stream));
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 0));
    CALL(cudaDeviceGetAttribute(&blocks, MULTIPROCESSORS, 0));
    CALL(cudaStreamBeginCapture(stream, 0));
    CALL(cudaStreamEndCapture(stream, &graph));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphLaunch(exec, stream));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
    CALL(cudaDeviceSynchronize());
    CALL(cudaPeekAtLastError());
    CALL(cudaGetLastError());
    CALL(cudaEventDestroy(event));
    CALL(cudaStreamDestroy(stream));
    CALL(cudaStreamDestroy(other));
    CALL(cudaLibraryUnload(library));
    CALL(cudaFreeHost(pinned));
    CALL(cudaFree(x));
    next("the end");
    return 0;
}
