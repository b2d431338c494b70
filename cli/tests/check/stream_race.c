/* A copy that does not wait for the kernel whose results it takes. */
#include "driver.h"

int main(void) {
    begin();
    handle first, second, event;
    ptr x;
    u32 *numbers;
    OK(cuMemHostAlloc((void **)&numbers, 256, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(fill_on(first, x, 64, 1));
    OK(cuEventRecord(event, first));
#ifndef WRONG
    OK(cuStreamWaitEvent(second, event, 0));
#endif
    OK(cuMemcpyDtoHAsync_v2(numbers, x, 256, second));
    OK(cuCtxSynchronize());
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(numbers));
    end();
}
