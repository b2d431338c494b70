/* Right: graphs that are cloned, nested, changed, updated, switched off in part, launched on two streams; and memory of the host that is
 * freed when it may be. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"
#include <string.h>

/* CUgraphExecUpdateResultInfo */
typedef struct {
    int result;
    handle node, from;
} updated;

int main(void) {
    begin();
    handle a, b, event, graph, clone, outer, node, set, child, exec, second;
    ptr x, y, z;
    char *pinned;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuMemAlloc_v2(&z, 256));
    OK(cuMemsetD32_v2(x, 1, 64));
    OK(cuMemsetD32_v2(z, 1, 64));
    OK(cuCtxSynchronize());
    OK(cuStreamCreate(&a, NON_BLOCKING));
    OK(cuStreamCreate(&b, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuGraphCreate(&graph, 0));
    planes copy = copied(y, x, 256);
    filled fills = {.to = y, .pitch = 0, .value = 2, .size = 4, .width = 64, .height = 1};
    OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    OK(cuGraphAddMemsetNode(&set, graph, &node, 1, &fills, context));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    /* Launches of one executable graph come one after the other, on any streams. */
    OK(cuGraphLaunch(exec, a));
    OK(cuGraphLaunch(exec, b));
    OK(cuGraphLaunch(exec, a));
    OK(cuStreamSynchronize(a));
    /* What it does now is not what it did. */
    copy = copied(z, x, 256);
    fills.to = z;
    OK(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context));
    OK(cuGraphExecMemsetNodeSetParams(exec, set, &fills, context));
    OK(cuGraphLaunch(exec, a));
    OK(fill_on(b, y, 64, 3));
    OK(cuEventRecord(event, a));
    OK(cuStreamWaitEvent(b, event, 0));
    OK(fill_on(b, z, 64, 4));
    OK(cuStreamSynchronize(b));
    /* Back to the graph's own nodes; then nothing of it is left to run. */
    updated result;
    memset(&result, 0, sizeof result);
    OK(cuGraphExecUpdate_v2(exec, graph, &result));
    OK(cuGraphLaunch(exec, a));
    OK(fill_on(b, z, 64, 5));
    OK(cuCtxSynchronize());
    OK(cuGraphNodeSetEnabled(exec, node, 0));
    OK(cuGraphNodeSetEnabled(exec, set, 0));
    OK(cuGraphLaunch(exec, a));
    OK(fill_on(b, y, 64, 6));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(exec));
    /* A clone is not changed with its original, nor is the nested one. */
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphCreate(&outer, 0));
    OK(cuGraphAddChildGraphNode(&child, outer, NULL, 0, graph));
    OK(cuGraphDestroyNode(set));
    copy = copied(z, x, 256);
    OK(cuGraphMemcpyNodeSetParams(node, &copy));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphInstantiateWithFlags(&second, outer, 0));
    OK(cuGraphLaunch(exec, a));
    OK(cuGraphLaunch(second, b));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(second));
    OK(cuGraphInstantiateWithFlags(&second, clone, 0));
    OK(cuGraphLaunch(exec, a));
    OK(cuGraphLaunch(second, b));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(second));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(outer));
    OK(cuGraphDestroy(clone));
    OK(cuGraphDestroy(graph));
    /* A captured graph; pinned memory that is freed behind it. */
    OK(cuMemHostAlloc((void **)&pinned, 256, 0));
    OK(cuStreamBeginCapture_v2(a, 2));
    OK(fill_on(a, x, 64, 7));
    OK(cuMemcpyDtoHAsync_v2(pinned, x, 256, a));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, b));
    OK(cuEventRecord(event, b));
    OK(cuEventSynchronize(event));
    OK(fill_on(a, x, 64, 8));
    OK(cuStreamSynchronize(a));
    OK(cuMemFreeHost(pinned));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    /* The program's own memory stays when it is no longer registered, and where pinned memory was there may be some. */
    static u32 own[64];
    OK(cuMemHostRegister_v2(own, 256, 0));
    OK(cuMemcpyDtoHAsync_v2(own, x, 256, a));
    OK(cuStreamSynchronize(a));
    OK(cuMemHostUnregister(own));
    OK(cuMemcpyDtoH_v2(own, x, 256));
    OK(cuMemHostAlloc((void **)&pinned, 256, 0));
    OK(cuMemcpyDtoHAsync_v2(pinned, x, 256, a));
    OK(cuStreamSynchronize(a));
    OK(cuMemFreeHost(pinned));
    pinned = aligned_alloc(4096, 4096);
    OK(cuMemcpyDtoH_v2(pinned, x, 256));
    free(pinned);
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuMemFree_v2(z));
    end();
}
