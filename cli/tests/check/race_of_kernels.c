/* Two kernels that write the same memory, the second before the event that it waits for is recorded behind the first. */
#include "driver.h"

int main(void) {
    begin();
    handle first, second, event;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
#ifdef WRONG
    OK(cuEventRecord(event, first));
    OK(fill_on(first, x, 64, 1));
#else
    OK(fill_on(first, x, 64, 1));
    OK(cuEventRecord(event, first));
#endif
    OK(cuStreamWaitEvent(second, event, 0));
    OK(fill_on(second, x, 64, 2));
    OK(cuCtxSynchronize());
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    end();
}
