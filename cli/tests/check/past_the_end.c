/* A buffer that is shorter than the launch takes it for. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
#ifdef WRONG
    OK(cuMemAlloc_v2(&x, 508));
#else
    OK(cuMemAlloc_v2(&x, 512));
#endif
    int answer = fill_on(NULL, x, 128, 1);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
