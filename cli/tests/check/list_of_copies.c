/* A list of copies, of which the second is too long. */
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
    ptr to[] = {y, y + 256}, from[] = {x, x};
    size_t sizes[] = {256, 256}, first[] = {0};
    attributes how[] = {{.order = 1}};
#ifdef WRONG
    sizes[1] = 260;
#endif
    any(cuMemcpyBatchAsync_v2(to, from, sizes, 2, how, first, 1, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuStreamDestroy_v2(stream));
    end();
}
