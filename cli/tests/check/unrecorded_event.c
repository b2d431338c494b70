/* A stream waits for an event that is recorded only later. */
#include "driver.h"

int main(void) {
    begin();
    handle a, b, event;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&a, NON_BLOCKING));
    OK(cuStreamCreate(&b, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(fill_on(a, x, 64, 1));
#ifndef WRONG
    OK(cuEventRecord(event, a));
#endif
    OK(cuStreamWaitEvent(b, event, 0));
    OK(fill_on(b, x, 64, 2));
#ifdef WRONG
    OK(cuEventRecord(event, a));
#endif
    OK(cuCtxSynchronize());
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuMemFree_v2(x));
    end();
}
