/* Work of another context is waited for than that whose results are taken. */
#include "driver.h"

int main(void) {
    begin();
    handle other, first, second;
    ptr x, y;
    u32 *numbers;
    /* CU_MEMHOSTALLOC_PORTABLE */
    OK(cuMemHostAlloc((void **)&numbers, 256, 1));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuCtxCreate_v4(&other, NULL, 0, 0));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuCtxSetCurrent(context));
    OK(cuMemcpyDtoHAsync_v2(numbers, x, 256, first));
#ifndef WRONG
    OK(cuCtxSynchronize());
#endif
    OK(cuCtxSetCurrent(other));
    OK(cuCtxSynchronize());
    OK(cuMemcpyHtoDAsync_v2(y, numbers, 256, second));
    OK(cuStreamSynchronize(second));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(y));
    OK(cuCtxDestroy_v2(other));
    OK(cuCtxSetCurrent(context));
    OK(cuStreamSynchronize(first));
    OK(cuStreamDestroy_v2(first));
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(numbers));
    end();
}
