/* A launch without its list of arguments. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
#ifdef WRONG
    cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
    const char *name;
    cuGetErrorName(1, &name);
#else
    OK(cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
#endif
    (void)arguments;
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
