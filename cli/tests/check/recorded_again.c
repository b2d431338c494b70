/* An event that was recorded before the work, and again after it: who waited in between waits for the first record. */
#include "driver.h"

int main(void) {
    begin();
    handle first, second, event;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(fill_on(first, x, 64, 1));
    OK(cuEventRecord(event, first));
#ifdef WRONG
    OK(cuStreamWaitEvent(second, event, 0));
#endif
    OK(fill_on(first, x, 64, 2));
    OK(cuEventRecord(event, first));
#ifndef WRONG
    OK(cuStreamWaitEvent(second, event, 0));
    /* Recorded elsewhere, it takes nothing from who has waited. */
    OK(cuEventRecord(event, NULL));
#endif
    OK(fill_on(second, x, 64, 3));
    OK(cuCtxSynchronize());
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    end();
}
