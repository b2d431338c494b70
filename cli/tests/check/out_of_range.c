/* A copy of more than the buffer has. */
#include "driver.h"

int main(void) {
    begin();
    static char bytes[300];
    ptr x, y;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuMemsetD32_v2(y, 1, 64));
#ifdef WRONG
    int answer = cuMemcpyDtoH_v2(bytes, x, 260);
#else
    int answer = cuMemcpyDtoH_v2(bytes, x, 256);
#endif
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    end();
}
