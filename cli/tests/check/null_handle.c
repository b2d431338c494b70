/* A function that was not found. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
#ifdef WRONG
    fill = NULL;
    cuModuleGetFunction(&fill, module, "fil");
#endif
    int answer = fill_on(NULL, x, 64, 1);
    const char *name;
    cuGetErrorName(answer, &name);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
