/* A program that is compiled against the header of an older toolkit, which says what its functions are called in the library. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                             \
    do {                                                        \
        int code = (call);                                      \
        if (code != 0) {                                        \
            printf("line %d: %s: %d\n", __LINE__, #call, code); \
            exit(1);                                            \
        }                                                       \
    } while (0)
#define SAME(a, b) CHECK((long long)(a) == (long long)(b) ? 0 : -1)

/* add(p, n): p[thread] += n */
static const char *const PTX =
    ".version 7.8\n.target sm_52\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
    ".reg .b64 %a, %o; .reg .b32 %n, %v, %t;\n"
    "ld.param.u64 %a, [p]; ld.param.u32 %n, [n];\n"
    "mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;\n"
    "ld.global.u32 %v, [%a]; add.u32 %v, %v, %n; st.global.u32 [%a], %v; ret; }\n";

static CUfunction add;

static void launch(CUdeviceptr memory, unsigned number, CUstream stream) {
    void *parameters[] = {&memory, &number};
    CHECK(cuLaunchKernel(add, 1, 1, 1, 4, 1, 1, 0, stream, parameters, NULL));
}

static void graphs(CUdeviceptr memory, CUstream stream) {
    CUgraph graph;
    CUgraphExec exec;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    size_t nodes = 0, edges = 0;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    launch(memory, 10, stream);
    launch(memory, 20, stream);
#if CUDA_VERSION < 12000
    CHECK(cuStreamGetCaptureInfo(stream, &status, &id));
#else
    CHECK(cuStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL));
#endif
    SAME(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphGetNodes(graph, NULL, &nodes));
    CHECK(cuGraphGetEdges(graph, NULL, NULL, &edges));
    SAME(nodes, 2);
    SAME(edges, 1);
#if CUDA_VERSION < 12000
    CUgraphNode node;
    CUgraphExecUpdateResult updated;
    char log[64];
    CHECK(cuGraphInstantiate(&exec, graph, &node, log, sizeof log));
    CHECK(cuGraphExecUpdate(exec, graph, &node, &updated));
#else
    CUgraphExecUpdateResultInfo updated;
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphExecUpdate(exec, graph, &updated));
#endif
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
}

static void managed(CUdevice device, CUstream stream) {
    CUdeviceptr memory;
    CHECK(cuMemAllocManaged(&memory, 16, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAdvise(memory, 16, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    CHECK(cuMemPrefetchAsync(memory, 16, device, stream));
    CHECK(cuMemsetD32Async(memory, 3, 4, stream));
    launch(memory, 4, stream);
    CHECK(cuStreamSynchronize(stream));
    SAME(((unsigned *)memory)[3], 7);
    CHECK(cuMemFree(memory));
}

static void by_name(void) {
    void *function = NULL;
    int version = 0;
#if CUDA_VERSION < 12000
    CHECK(cuGetProcAddress("cuDriverGetVersion", &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT));
#else
    CUdriverProcAddressQueryResult found;
    CHECK(cuGetProcAddress("cuDriverGetVersion", &function, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, &found));
    SAME(found, CU_GET_PROC_ADDRESS_SUCCESS);
#endif
    CHECK(((CUresult (*)(int *))function)(&version));
    CHECK(version >= CUDA_VERSION ? 0 : -1);
}

int main(void) {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUstream stream;
    CUevent before, after;
    CUdeviceptr memory;
    unsigned numbers[4] = {1, 2, 3, 4};
    float milliseconds = -1;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuCtxCreate(&context, CU_CTX_SCHED_AUTO, device));
    CHECK(cuModuleLoadData(&module, PTX));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&before, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&after, CU_EVENT_DEFAULT));
    CHECK(cuMemAlloc(&memory, sizeof numbers));
    CHECK(cuMemcpyHtoD(memory, numbers, sizeof numbers));
    CHECK(cuEventRecord(before, stream));
    launch(memory, 100, stream);
    CHECK(cuEventRecord(after, stream));
    CHECK(cuEventSynchronize(after));
    CHECK(cuEventElapsedTime(&milliseconds, before, after));
    CHECK(milliseconds >= 0 ? 0 : -1);
    graphs(memory, stream);
    managed(device, stream);
    by_name();
    CHECK(cuMemcpyDtoH(numbers, memory, sizeof numbers));
    SAME(numbers[0], 131);
    SAME(numbers[3], 134);
    CHECK(cuMemFree(memory));
    CHECK(cuMemAllocAsync(&memory, 64, stream));
    CHECK(cuMemFreeAsync(memory, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuEventDestroy(before));
    CHECK(cuEventDestroy(after));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(context));
    printf("done with %d\n", CUDA_VERSION);
    return 0;
}
