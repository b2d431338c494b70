/* The same mistake ten times. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    for (int i = 0; i < 10; i++)
        fill_on(NULL, x, 0, 1);
    const char *name;
    OK(cuGetErrorName(1, &name));
    OK(cuMemFree_v2(x));
    end();
}
