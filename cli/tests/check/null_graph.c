/* A graph that could not be instantiated, and is launched all the same. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    handle stream, graph, exec = NULL;
    ptr x;
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamBeginCapture_v2(stream, 2));
    OK(fill_on(stream, x, 64, 1));
    OK(cuStreamEndCapture(stream, &graph));
#ifdef WRONG
    any(cuGraphInstantiateWithFlags(&exec, graph, 1ull << 40));
#else
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
#endif
    any(cuGraphLaunch(exec, stream));
    OK(cuCtxSynchronize());
    if (exec)
        OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(x));
    OK(cuStreamDestroy_v2(stream));
    end();
}
