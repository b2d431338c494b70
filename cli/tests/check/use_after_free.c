/* A copy from memory that was freed. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    u32 numbers[64];
    OK(cuMemAlloc_v2(&x, 256));
    OK(fill_on(NULL, x, 64, 1));
#ifdef WRONG
    OK(cuMemFree_v2(x));
    int answer = cuMemcpyDtoH_v2(numbers, x, 256);
    const char *name;
    cuGetErrorName(answer, &name);
#else
    OK(cuMemcpyDtoH_v2(numbers, x, 256));
    OK(cuMemFree_v2(x));
#endif
    end();
}
