/* A fill of rows whose last one ends behind the buffer. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 512));
    /* 50 numbers of 2 bytes in each. */
#ifdef WRONG
    any(cuMemsetD2D16_v2(x, 256, 7, 50, 3));
#else
    any(cuMemsetD2D16_v2(x, 256, 7, 50, 2));
#endif
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
