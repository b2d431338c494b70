/* A kernel, a fill and a copy that were captured, and that use other memory since their nodes were changed, in the executable graph or
 * in the graph: another stream takes the results at once. What they used before is free for others. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"

int cuGraphGetNodes(handle, handle *, size_t *);
int cuGraphNodeGetType(handle, int *);
int cuGraphKernelNodeSetParams_v2(handle, const launched *);
int cuGraphMemsetNodeSetParams(handle, const filled *);
int cuGraphExecKernelNodeSetParams_v2(handle, handle, const launched *);

enum { KERNEL, COPY, FILL, KINDS };

static handle first, second, event;
static ptr used[KINDS], other[KINDS], source;

/* A graph with one node of each kind: what it uses is `used`. */
static handle captured(handle nodes[KINDS]) {
    handle graph, all[KINDS];
    size_t count = KINDS;
    OK(cuStreamBeginCapture_v2(first, 2));
    OK(fill_on(first, used[KERNEL], 64, 7));
    OK(cuMemcpyDtoDAsync_v2(used[COPY], source, 256, first));
    OK(cuMemsetD32Async(used[FILL], 7, 64, first));
    OK(cuStreamEndCapture(first, &graph));
    OK(cuGraphGetNodes(graph, all, &count));
    for (size_t at = 0; at < count; at++) {
        int type;
        OK(cuGraphNodeGetType(all[at], &type));
        nodes[type] = all[at];
    }
    return graph;
}

static void launch(handle exec, const ptr beside[KINDS], const ptr behind[KINDS], u32 *numbers) {
    OK(cuGraphLaunch(exec, first));
    for (int kind = 0; kind < KINDS; kind++)
        OK(cuMemsetD32Async(beside[kind], 1, 64, second));
    OK(cuEventRecord(event, first));
#ifndef WRONG
    OK(cuStreamWaitEvent(second, event, 0));
#endif
    for (int kind = 0; kind < KINDS; kind++)
        OK(cuMemcpyDtoHAsync_v2(numbers, behind[kind], 256, second));
    OK(cuCtxSynchronize());
}

int main(void) {
    begin();
    handle nodes[KINDS], graph, exec;
    u32 *numbers, count = 64, value = 9;
    OK(cuMemHostAlloc((void **)&numbers, 256, 0));
    OK(cuMemAlloc_v2(&source, 256));
    OK(cuMemsetD32_v2(source, 1, 64));
    for (int kind = 0; kind < KINDS; kind++) {
        OK(cuMemAlloc_v2(&used[kind], 256));
        OK(cuMemAlloc_v2(&other[kind], 256));
    }
    OK(cuCtxSynchronize());
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    void *arguments[] = {&other[KERNEL], &count, &value};
    launched kernel = {.function = fill, .grid = {1, 1, 1}, .block = {64, 1, 1}, .arguments = arguments};
    planes copy = copied(other[COPY], source, 256);
    filled fills = {.to = other[FILL], .value = 9, .size = 4, .width = 64, .height = 1};
    graph = captured(nodes);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphExecKernelNodeSetParams_v2(exec, nodes[KERNEL], &kernel));
    OK(cuGraphExecMemcpyNodeSetParams(exec, nodes[COPY], &copy, context));
    OK(cuGraphExecMemsetNodeSetParams(exec, nodes[FILL], &fills, context));
#ifndef IN_THE_GRAPH
    launch(exec, used, other, numbers);
#endif
    OK(cuGraphExecDestroy(exec));
    /* The graph itself still has what was captured. */
    OK(cuGraphKernelNodeSetParams_v2(nodes[KERNEL], &kernel));
    OK(cuGraphMemcpyNodeSetParams(nodes[COPY], &copy));
    OK(cuGraphMemsetNodeSetParams(nodes[FILL], &fills));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
#ifdef IN_THE_GRAPH
    launch(exec, used, other, numbers);
#endif
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    for (int kind = 0; kind < KINDS; kind++) {
        OK(cuMemFree_v2(used[kind]));
        OK(cuMemFree_v2(other[kind]));
    }
    OK(cuMemFree_v2(source));
    OK(cuMemFreeHost(numbers));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    end();
}
