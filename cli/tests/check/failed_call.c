/* An answer that nobody looks at. */
#include "driver.h"

int main(void) {
    begin();
    ptr x = 0;
    int answer = cuMemAlloc_v2(&x, (size_t)1 << 60);
#ifndef WRONG
    const char *name;
    OK(cuGetErrorName(answer, &name));
#endif
    (void)answer;
    end();
}
