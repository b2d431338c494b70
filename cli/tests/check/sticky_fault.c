/* A kernel that writes far behind its memory. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
#ifdef WRONG
    u32 count = 1000000;
#else
    u32 count = 64;
#endif
    OK(fill_on(NULL, x, count, 1));
    int answer = cuCtxSynchronize();
    const char *name;
    cuGetErrorName(answer, &name);
    if (answer)
        return 0;
    OK(cuMemFree_v2(x));
    end();
}
