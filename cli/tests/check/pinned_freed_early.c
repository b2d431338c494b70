/* Pinned memory that is freed while a copy to it may be under way. */
#include "driver.h"

int main(void) {
    begin();
    handle stream;
    ptr x;
    u32 *numbers;
    OK(cuMemHostAlloc((void **)&numbers, 256, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(fill_on(stream, x, 64, 1));
    OK(cuMemcpyDtoHAsync_v2(numbers, x, 256, stream));
#ifdef WRONG
    OK(cuMemFreeHost(numbers));
    OK(cuStreamSynchronize(stream));
#else
    OK(cuStreamSynchronize(stream));
    OK(cuMemFreeHost(numbers));
#endif
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(x));
    end();
}
