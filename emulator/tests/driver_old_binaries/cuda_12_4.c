/* A program with the symbols that it has when it is compiled against the headers of CUDA 12.4 with per-thread default streams. */
#include "check.h"

int cuInit(unsigned flags);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuModuleLoadData(void **module, const void *image);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuMemAlloc_v2(Address *address, size_t bytes);
int cuMemFree_v2(Address address);
int cuMemcpyHtoD_v2_ptds(Address to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2_ptds(void *to, Address from, size_t bytes);
int cuMemsetD32_v2_ptds(Address to, unsigned value, size_t count);
int cuMemAllocAsync_ptsz(Address *address, size_t bytes, void *stream);
int cuMemFreeAsync_ptsz(Address address, void *stream);
int cuStreamSynchronize_ptsz(void *stream);
int cuStreamGetId_ptsz(void *stream, Address *id);
int cuStreamBeginCapture_v2_ptsz(void *stream, int mode);
int cuStreamGetCaptureInfo_v3_ptsz(void *stream, int *status, Address *id, void **graph, void *const **nodes,
                                   const void **edges, size_t *count);
int cuStreamEndCapture_ptsz(void *stream, void **graph);
int cuGraphInstantiateWithFlags(void **exec, void *graph, Address flags);
int cuGraphExecUpdate_v2(void *exec, void *graph, void *info);
int cuGraphLaunch_ptsz(void *exec, void *stream);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord_ptsz(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuLaunchKernel_ptsz(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **parameters, void **extra);
int cuGetProcAddress_v2(const char *name, void **function, int version, Address flags, int *status);

/* What `nm` shows of programs that ask for everything by name. */
static void by_name(void) {
    struct {
        const char *name;
        int version;
        Address flags;
        void *expected;
    } const asked[] = {
        {"cuCtxCreate", 3020, 0, (void *)cuCtxCreate_v2},
        {"cuMemcpyHtoD", 12040, 2, (void *)cuMemcpyHtoD_v2_ptds},
        {"cuLaunchKernel", 12040, 2, (void *)cuLaunchKernel_ptsz},
        {"cuEventElapsedTime", 12040, 2, (void *)cuEventElapsedTime},
        {"cuGraphInstantiate", 12000, 0, (void *)cuGraphInstantiateWithFlags},
        {"cuGetProcAddress", 12040, 0, (void *)cuGetProcAddress_v2},
    };
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        void *found = 0;
        int status = -1;
        CHECK(cuGetProcAddress_v2(asked[i].name, &found, asked[i].version, asked[i].flags, &status));
        SAME(status, 0);
        SAME(found == asked[i].expected, 1);
    }
}

int main(void) {
    unsigned number = 5, numbers[4];
    void *context, *module, *add, *graph, *exec, *start, *end;
    const void *edges = 0;
    void *const *nodes = 0;
    Address memory, pooled, id = 0, own = 0;
    size_t count = 0;
    int status = 0;
    float milliseconds = -1;
    char info[64] = {0};
    CHECK(cuInit(0));
    CHECK(cuCtxCreate_v2(&context, 0, 0));
    CHECK(cuModuleLoadData(&module, PTX));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuMemAlloc_v2(&memory, sizeof numbers));
    CHECK(cuMemsetD32_v2_ptds(memory, 7, 4));
    CHECK(cuStreamGetId_ptsz(0, &id));
    CHECK(cuStreamGetId_ptsz((void *)2, &own));
    SAME(id == own, 1);

    /* The default stream can be captured: it is the thread's own. */
    void *parameters[] = {&memory, &number};
    CHECK(cuEventCreate(&start, 0));
    CHECK(cuEventCreate(&end, 0));
    CHECK(cuEventRecord_ptsz(start, 0));
    CHECK(cuStreamBeginCapture_v2_ptsz(0, 1));
    CHECK(cuLaunchKernel_ptsz(add, 1, 1, 1, 4, 1, 1, 0, 0, parameters, 0));
    CHECK(cuStreamGetCaptureInfo_v3_ptsz(0, &status, &id, 0, &nodes, &edges, &count));
    SAME(status == 1 && count == 1, 1);
    CHECK(cuStreamEndCapture_ptsz(0, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuGraphExecUpdate_v2(exec, graph, info));
    CHECK(cuGraphLaunch_ptsz(exec, 0));
    CHECK(cuEventRecord_ptsz(end, 0));
    CHECK(cuEventSynchronize(end));
    CHECK(cuEventElapsedTime(&milliseconds, start, end));
    SAME(milliseconds >= 0, 1);
    CHECK(cuMemcpyDtoH_v2_ptds(numbers, memory, sizeof numbers));
    for (int i = 0; i < 4; i++) SAME(numbers[i], 12);

    CHECK(cuMemAllocAsync_ptsz(&pooled, sizeof numbers, 0));
    CHECK(cuMemcpyHtoD_v2_ptds(pooled, numbers, sizeof numbers));
    CHECK(cuMemFreeAsync_ptsz(pooled, 0));
    CHECK(cuStreamSynchronize_ptsz(0));
    by_name();
    CHECK(cuMemFree_v2(memory));
    CHECK(cuCtxDestroy_v2(context));
    puts("done");
    return 0;
}
