/* A capture that is not ended. */
#include "driver.h"

int main(void) {
    begin();
    handle stream, graph;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(fill_on(stream, x, 64, 1));
#ifndef WRONG
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(x));
    end();
#endif
    (void)graph;
}
