/* A number for a stream. */
#include "driver.h"

int main(void) {
    begin();
    handle stream;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&stream, 0));
#ifdef WRONG
    int answer = fill_on((handle)7, x, 64, 1);
#else
    int answer = fill_on(stream, x, 64, 1);
#endif
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(x));
    end();
}
