/* An address between two elements. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 512));
#ifdef WRONG
    int answer = fill_on(NULL, x + 2, 64, 1);
#else
    int answer = fill_on(NULL, x + 4, 64, 1);
#endif
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
