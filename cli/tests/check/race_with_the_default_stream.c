/* A fill on the default stream, and a kernel on a stream that does not wait for that. */
#include "driver.h"

int main(void) {
    begin();
    handle stream;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
#ifdef WRONG
    OK(cuStreamCreate(&stream, NON_BLOCKING));
#else
    OK(cuStreamCreate(&stream, 0));
#endif
    OK(cuMemsetD32_v2(x, 0, 64));
    OK(fill_on(stream, x, 64, 2));
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(x));
    end();
}
