/* A cooperative launch of one block more than the device runs at once, by both functions. */
#include "clusters.h"

int cuLaunchCooperativeKernel(handle, u32, u32, u32, u32, u32, u32, u32, handle, void **);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, handle, int, size_t);
int cuDeviceGetAttribute(int *, int, int);

#define MULTIPROCESSORS 16
#define COOPERATIVE 2
/* With as much for each block, few of them fit. */
#define SHARED (48 * 1024)

static void told(int answer) {
    const char *name;
    cuGetErrorName(answer, &name);
}

int main(void) {
    begin();
    int on_each, multiprocessors;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&on_each, fill, 64, SHARED));
    OK(cuDeviceGetAttribute(&multiprocessors, MULTIPROCESSORS, 0));
    u32 blocks = on_each * multiprocessors;
#ifdef WRONG
    blocks++;
#endif
    u32 count = 64 * blocks, value = 1;
    ptr x;
    OK(cuMemAlloc_v2(&x, 4 * count));
    void *arguments[] = {&x, &count, &value};
    told(cuLaunchCooperativeKernel(fill, blocks, 1, 1, 64, 1, 1, SHARED, NULL, arguments));
    struct attribute cooperative = {COOPERATIVE, {0}, {{1}}};
    struct config config = {{blocks, 1, 1}, {64, 1, 1}, SHARED, NULL, &cooperative, 1};
    told(cuLaunchKernelEx(&config, fill, arguments, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
