/* A graph copies, and another stream takes the result at once. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"

int main(void) {
    begin();
    handle first, second, event, graph, node, exec;
    ptr x, y;
    u32 *numbers;
    OK(cuMemHostAlloc((void **)&numbers, 256, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuMemsetD32_v2(x, 1, 64));
    OK(cuCtxSynchronize());
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuGraphCreate(&graph, 0));
    planes copy = copied(y, x, 256);
    OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, first));
    OK(cuEventRecord(event, first));
#ifndef WRONG
    OK(cuStreamWaitEvent(second, event, 0));
#endif
    OK(cuMemcpyDtoHAsync_v2(numbers, y, 256, second));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuMemFreeHost(numbers));
    end();
}
