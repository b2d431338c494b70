/* Launches of one executable graph wait for each other, those of two that were made of the same graph do not. */
#include "driver.h"

int main(void) {
    begin();
    handle first, second, graph, one, other;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuStreamBeginCapture_v2(first, 2));
    OK(fill_on(first, x, 64, 1));
    OK(cuStreamEndCapture(first, &graph));
    OK(cuGraphInstantiateWithFlags(&one, graph, 0));
    OK(cuGraphInstantiateWithFlags(&other, graph, 0));
    OK(cuGraphLaunch(one, first));
#ifdef WRONG
    OK(cuGraphLaunch(other, second));
#else
    OK(cuGraphLaunch(one, second));
    OK(cuGraphLaunch(other, second));
#endif
    OK(cuCtxSynchronize());
    OK(cuGraphExecDestroy(one));
    OK(cuGraphExecDestroy(other));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    end();
}
