/* The address of host memory that the driver does not know. */
#include "driver.h"

int main(void) {
    begin();
#ifdef WRONG
    u32 *numbers = malloc(256);
    ptr x = (ptr)(uintptr_t)numbers;
#else
    u32 *numbers;
    OK(cuMemHostAlloc((void **)&numbers, 256, 0));
    ptr x = (ptr)(uintptr_t)numbers;
#endif
    int answer = fill_on(NULL, x, 64, 1);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
#ifdef WRONG
    free(numbers);
#else
    OK(cuMemFreeHost(numbers));
#endif
    end();
}
