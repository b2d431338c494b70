/* A stream that is used after the primary context that it was made in was reset. Everything in that context is gone: nothing leaks. */
#include "driver.h"

int cuDevicePrimaryCtxReset_v2(int);

int main(void) {
    begin();
    handle stream, event;
    ptr x;
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    OK(cuMemAlloc_v2(&x, 256));
    OK(fill_on(stream, x, 64, 1));
#ifndef WRONG
    OK(cuStreamSynchronize(stream));
#endif
    OK(cuDevicePrimaryCtxReset_v2(0));
#ifdef WRONG
    cuStreamSynchronize(stream);
#endif
    OK(cuDevicePrimaryCtxRelease_v2(0));
}
