/* A primary context that is released more often than it was retained. A reset is no release. */
#include "driver.h"
#include "rows.h"

int cuDevicePrimaryCtxReset_v2(int);

int main(void) {
    handle same;
    begin();
    OK(cuDevicePrimaryCtxRetain(&same, 0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxReset_v2(0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
#ifdef WRONG
    any(cuDevicePrimaryCtxRelease_v2(0));
#endif
    OK(cuDevicePrimaryCtxRetain(&same, 0));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    return 0;
}
