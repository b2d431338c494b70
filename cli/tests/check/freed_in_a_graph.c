/* Memory that is freed between two launches of a graph that reads it. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"

int main(void) {
    begin();
    handle stream, graph, node, exec;
    ptr x, y;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuMemsetD32_v2(x, 1, 64));
    OK(cuStreamCreate(&stream, 0));
    OK(cuGraphCreate(&graph, 0));
    planes copy = copied(y, x, 256);
    OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
#ifdef WRONG
    OK(cuMemFree_v2(x));
#endif
    any(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
#ifndef WRONG
    OK(cuMemFree_v2(x));
#endif
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(y));
    end();
}
