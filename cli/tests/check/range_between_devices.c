/* A copy between two contexts of more than the buffer has. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    ptr x, y;
    OK(cuMemAlloc_v2(&x, 512));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuMemsetD32_v2(x, 1, 128));
#ifdef WRONG
    any(cuMemcpyPeer(y, context, x, context, 260));
#else
    any(cuMemcpyPeer(y, context, x, context, 256));
#endif
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    end();
}
