/* More dynamic shared memory than a kernel has before it is told that it may. */
#include "driver.h"

int cuFuncSetAttribute(handle, int, int);

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    u32 count = 64, value = 1, bytes = 60 * 1024;
    void *arguments[] = {&x, &count, &value};
#ifndef WRONG
    OK(cuFuncSetAttribute(fill, 8, (int)bytes));
#endif
    int answer = cuLaunchKernel(fill, 1, 1, 1, 64, 1, 1, bytes, NULL, arguments, NULL);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
