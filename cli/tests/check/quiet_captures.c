/* Right: a launch with attributes, captured and then given to a stream, and an event that a capture records again. */
#include "driver.h"

struct config {
    u32 grid[3], block[3], shared;
    handle stream;
    void *attributes;
    u32 count;
};
int cuLaunchKernelEx(const struct config *, handle, void **, void **);

int main(void) {
    begin();
    handle a, b, graph, exec;
    ptr x;
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&a, NON_BLOCKING));
    OK(cuStreamCreate(&b, NON_BLOCKING));
    OK(fill_on(b, x, 64, 1));
    struct config config = {{1, 1, 1}, {64, 1, 1}, 0, a, NULL, 0};
    OK(cuStreamBeginCapture_v2(a, 2));
    OK(cuLaunchKernelEx(&config, fill, arguments, NULL));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(fill_on(b, x, 64, 2));
    OK(cuStreamSynchronize(b));
    OK(cuGraphLaunch(exec, a));
    OK(cuStreamSynchronize(a));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuMemFree_v2(x));
    end();
}
