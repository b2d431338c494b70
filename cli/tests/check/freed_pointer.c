/* An argument in memory that was freed, which the kernel does not come to use: it has no elements. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    u32 count = 0, value = 1;
    void *arguments[] = {&x, &count, &value};
#ifdef WRONG
    OK(cuMemFree_v2(x));
#endif
    OK(cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
#ifndef WRONG
    OK(cuMemFree_v2(x));
#endif
    end();
}
