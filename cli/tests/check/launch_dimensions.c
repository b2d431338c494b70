/* An empty grid. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
#ifdef WRONG
    u32 count = 0;
#else
    u32 count = 64;
#endif
    int answer = fill_on(NULL, x, count, 1);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
