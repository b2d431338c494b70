/* A program with the symbols that it has when it is compiled against the headers of CUDA 11.8. */
#include "check.h"

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuMemAlloc_v2(Address *address, size_t bytes);
int cuMemAllocManaged(Address *address, size_t bytes, unsigned flags);
int cuMemFree_v2(Address address);
int cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, Address from, size_t bytes);
int cuMemAdvise(Address address, size_t bytes, int advice, int device);
int cuMemPrefetchAsync(Address address, size_t bytes, int device, void *stream);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamGetCaptureInfo_v2(void *stream, int *status, Address *id, void **graph, void *const **nodes, size_t *count);
int cuStreamGetCaptureInfo(void *stream, int *status, Address *id);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphGetEdges(void *graph, void **from, void **to, size_t *count);
int cuGraphInstantiate_v2(void **exec, void *graph, void **node, char *log, size_t bytes);
int cuGraphExecUpdate(void *exec, void *graph, void **node, int *result);
int cuGraphLaunch(void *exec, void *stream);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuEventDestroy_v2(void *event);
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **parameters, void **extra);
int cuGetErrorString(int code, const char **text);
int cuGetProcAddress(const char *name, void **function, int version, Address flags);

static void *add;

static void launch(Address memory, unsigned number, void *stream) {
    void *parameters[] = {&memory, &number};
    CHECK(cuLaunchKernel(add, 1, 1, 1, 4, 1, 1, 0, stream, parameters, 0));
}

/* Two kernels, one behind the other, as a graph that is updated and launched. */
static void graphs(Address memory, void *stream) {
    void *graph, *exec, *node = stream, *from[4], *to[4];
    char log[64] = "not empty";
    int status = 0, result = 9;
    Address id = 0, same = 1;
    void *inside = 0;
    void *const *last = 0;
    size_t count = 0, edges = 4;
    CHECK(cuStreamBeginCapture_v2(stream, 1));
    launch(memory, 10, stream);
    CHECK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &inside, &last, &count));
    CHECK(cuStreamGetCaptureInfo(stream, &status, &same));
    SAME(status == 1 && id == same && inside != 0 && count == 1, 1);
    launch(memory, 100, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphGetEdges(graph, from, to, &edges));
    SAME(edges, 1);
    CHECK(cuGraphInstantiate_v2(&exec, graph, &node, log, sizeof log));
    SAME(node == 0 && log[0] == 0, 1);
    CHECK(cuGraphExecUpdate(exec, graph, &node, &result));
    SAME(result, 0);
    CHECK(cuGraphLaunch(exec, stream));
}

int main(void) {
    int device = -1, numbers[4] = {1, 2, 3, 4};
    void *context, *primary, *module, *stream, *start, *end, *found = 0;
    const char *text = 0;
    float milliseconds = -1;
    Address memory, managed;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&primary, device));
    CHECK(cuCtxCreate_v2(&context, 0, device));
    CHECK(cuModuleLoadData(&module, PTX));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuMemAlloc_v2(&memory, sizeof numbers));
    CHECK(cuMemcpyHtoD_v2(memory, numbers, sizeof numbers));
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuEventCreate(&start, 0));
    CHECK(cuEventCreate(&end, 0));
    CHECK(cuEventRecord(start, stream));
    launch(memory, 1000, stream);
    graphs(memory, stream);
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    CHECK(cuEventElapsedTime(&milliseconds, start, end));
    SAME(milliseconds >= 0, 1);
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH_v2(numbers, memory, sizeof numbers));
    for (int i = 0; i < 4; i++) SAME(numbers[i], 1111 + i);

    CHECK(cuMemAllocManaged(&managed, 64, 1));
    CHECK(cuMemAdvise(managed, 64, 3, device));
    CHECK(cuMemPrefetchAsync(managed, 64, device, stream));
    CHECK(cuCtxSynchronize());

    CHECK(cuGetProcAddress("cuGraphInstantiate", &found, 11080, 0));
    SAME(found == (void *)cuGraphInstantiate_v2, 1);
    CHECK(cuGetProcAddress("cuCtxCreate", &found, 11030, 0));
    SAME(found == (void *)cuCtxCreate_v2, 1);
    SAME(cuGetProcAddress("cuLibraryLoadData", &found, 11080, 0), 500);
    CHECK(cuGetErrorString(101, &text));
    SAME(strcmp(text, "invalid device ordinal"), 0);

    CHECK(cuMemFree_v2(managed));
    CHECK(cuMemFree_v2(memory));
    CHECK(cuEventDestroy_v2(start));
    CHECK(cuEventDestroy_v2(end));
    CHECK(cuStreamDestroy_v2(stream));
    CHECK(cuCtxDestroy_v2(context));
    CHECK(cuDevicePrimaryCtxRelease_v2(device));
    puts("done");
    return 0;
}
