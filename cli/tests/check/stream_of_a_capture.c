/* A capture that goes with its stream, and is never ended. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    handle stream, graph;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    /* Twice, as a loop would. */
    for (int i = 0; i < 2; i++) {
        OK(cuStreamCreate(&stream, NON_BLOCKING));
        OK(cuStreamBeginCapture_v2(stream, 2));
        OK(fill_on(stream, x, 64, 1));
#ifndef WRONG
        OK(cuStreamEndCapture(stream, &graph));
        OK(cuGraphDestroy(graph));
#endif
        any(cuStreamDestroy_v2(stream));
    }
    (void)graph;
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
