/* A graph that was captured reads what another stream still writes. */
#include "driver.h"

int main(void) {
    begin();
    handle first, second, event, graph, exec;
    ptr x, y;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamBeginCapture_v2(second, 2));
    OK(cuMemcpyDtoDAsync_v2(y, x, 256, second));
    OK(cuStreamEndCapture(second, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(fill_on(first, x, 64, 1));
    OK(cuEventRecord(event, first));
#ifndef WRONG
    OK(cuStreamWaitEvent(second, event, 0));
#endif
    OK(cuGraphLaunch(exec, second));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    end();
}
