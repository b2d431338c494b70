/* A stream that is used after its end. */
#include "driver.h"

int main(void) {
    begin();
    handle stream;
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuStreamCreate(&stream, 0));
    OK(fill_on(stream, x, 64, 1));
    OK(cuStreamSynchronize(stream));
#ifdef WRONG
    OK(cuStreamDestroy_v2(stream));
    int answer = cuStreamQuery(stream);
#else
    int answer = cuStreamQuery(stream);
    OK(cuStreamDestroy_v2(stream));
#endif
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuMemFree_v2(x));
    end();
}
