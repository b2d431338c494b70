/* A cluster of more blocks than the device has. */
#include "clusters.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 32 * 64 * 4));
    OK(cuFuncSetAttribute(fill, NON_PORTABLE, 1));
#ifdef WRONG
    u32 in_cluster = 32;
#else
    u32 in_cluster = 16;
#endif
    clustered(fill, x, 32, in_cluster);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
