/* Objects of other kinds than a call takes: each of them lives, and none is what it is passed for. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    handle stream, event, graph, exec;
    ptr x;
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamBeginCapture_v2(stream, 2));
    OK(fill_on(stream, x, 64, 1));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    handle function = fill;
#ifdef WRONG
    any(fill_on(context, x, 64, 2));
    fill = module;
    any(fill_on(stream, x, 64, 3));
    fill = event;
    any(fill_on(stream, x, 64, 4));
    any(cuGraphLaunch(graph, stream));
    any(cuGraphLaunch(exec, graph));
#else
    any(fill_on(stream, x, 64, 3));
    any(cuGraphLaunch(exec, stream));
#endif
    fill = function;
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(x));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
    end();
}
