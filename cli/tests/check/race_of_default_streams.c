/* Each context has a default stream of its own, and none waits for that of another. */
#include "driver.h"

int main(void) {
    begin();
    handle other;
    ptr x, y;
    u32 *numbers;
    /* CU_MEMHOSTALLOC_PORTABLE */
    OK(cuMemHostAlloc((void **)&numbers, 256, 1));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuCtxCreate_v4(&other, NULL, 0, 0));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuCtxSetCurrent(context));
    OK(cuMemcpyDtoHAsync_v2(numbers, x, 256, NULL));
#ifndef WRONG
    OK(cuCtxSynchronize());
#endif
    OK(cuCtxSetCurrent(other));
    OK(cuMemcpyHtoDAsync_v2(y, numbers, 256, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(y));
    OK(cuCtxDestroy_v2(other));
    OK(cuCtxSetCurrent(context));
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(numbers));
    end();
}
