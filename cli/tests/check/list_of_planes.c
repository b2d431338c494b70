/* A list of copies of rows, of which one ends behind the buffer. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    handle stream;
    ptr x, y;
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(cuMemAlloc_v2(&x, 1024));
    OK(cuMemAlloc_v2(&y, 512));
    OK(cuMemsetD32_v2(x, 1, 256));
    OK(cuCtxSynchronize());
    operation copies[] = {{.src = {POINTER, x, 0, 0, 0}, .dst = {POINTER, y, 256, 2, 0}, .width = 100, .height = 2, .depth = 1, .order = 1}};
#ifdef WRONG
    copies[0].height = 3;
#endif
    any(cuMemcpy3DBatchAsync_v2(1, copies, 0, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuStreamDestroy_v2(stream));
    end();
}
