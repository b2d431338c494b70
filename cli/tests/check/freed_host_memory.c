/* A copy to pinned memory that was freed. It is large, so that a driver gives it back to the system at once. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    ptr x;
    char *bytes;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemsetD32_v2(x, 1, 64));
    OK(cuMemHostAlloc((void **)&bytes, 64 << 20, 0));
#ifdef WRONG
    OK(cuMemFreeHost(bytes));
#endif
    any(cuMemcpyDtoH_v2(bytes, x, 256));
#ifndef WRONG
    OK(cuMemFreeHost(bytes));
#endif
    OK(cuMemFree_v2(x));
    end();
}
