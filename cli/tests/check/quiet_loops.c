/* Right: long loops: graphs that are launched on streams in turn, a graph with thousands of nodes that is built and changed, default streams among
 * blocking ones, and results that are taken behind one event for many streams. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"

#define STREAMS 9
#define NODES 2000

int main(void) {
    begin();
    handle streams[STREAMS], blocking, event, done, graph, exec, *nodes = calloc(NODES, sizeof *nodes);
    ptr x, y;
    u32 *pinned;
    OK(cuMemAlloc_v2(&x, 256 * STREAMS));
    OK(cuMemAlloc_v2(&y, 4 * NODES));
    OK(cuMemHostAlloc((void **)&pinned, 256 * STREAMS, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&done, 0));
    OK(cuStreamCreate(&blocking, 0));
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamCreate(&streams[i], NON_BLOCKING));
    for (int round = 0; round < 100; round++) {
        /* Fork and join. */
        OK(cuMemsetD32Async(x, (u32)round, 64 * STREAMS, streams[0]));
        OK(cuEventRecord(event, streams[0]));
        for (int i = 1; i < STREAMS; i++) {
            OK(cuStreamWaitEvent(streams[i], event, 0));
            OK(fill_on(streams[i], x + 256 * (ptr)i, 64, 1));
            OK(cuMemcpyDtoHAsync_v2(pinned + 64 * i, x + 256 * (ptr)i, 256, streams[i]));
            OK(cuEventRecord(done, streams[i]));
            OK(cuStreamWaitEvent(streams[0], done, 0));
        }
        OK(cuEventRecord(event, streams[0]));
        if (round % 3 == 0)
            OK(cuEventSynchronize(event));
        else {
            OK(cuStreamWaitEvent(blocking, event, 0));
            OK(fill_on(blocking, x, 64, 2));
            /* The default stream waits for the blocking one. */
            OK(cuMemsetD32Async(x, 3, 64 * STREAMS, NULL));
            OK(cuEventRecord(event, NULL));
            OK(cuStreamWaitEvent(streams[0], event, 0));
        }
    }
    OK(cuCtxSynchronize());
    OK(cuGraphCreate(&graph, 0));
    filled one = {.to = y, .pitch = 0, .value = 2, .size = 4, .width = 1, .height = 1};
    for (int i = 0; i < NODES; i++) {
        one.to = y + 4 * (ptr)i;
        OK(cuGraphAddMemsetNode(&nodes[i], graph, NULL, 0, &one, context));
    }
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < NODES; i++) {
        one.to = y + 4 * (ptr)(NODES - 1 - i);
        OK(cuGraphExecMemsetNodeSetParams(exec, nodes[i], &one, context));
    }
    for (int i = 0; i < 20; i++)
        OK(cuGraphLaunch(exec, streams[i % STREAMS]));
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamDestroy_v2(streams[i]));
    OK(cuStreamDestroy_v2(blocking));
    OK(cuEventDestroy_v2(event));
    OK(cuEventDestroy_v2(done));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    free(nodes);
    end();
}
