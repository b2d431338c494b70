/* A list with a null pointer where an argument should be. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    u32 count = 64, value = 1;
    void *arguments[] = {&x, &count, &value};
#ifdef WRONG
    arguments[2] = NULL;
#endif
    /* A driver reads the argument: with --refuse it does not come to that. */
    int answer = cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
