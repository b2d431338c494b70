/* A cluster of more blocks than every device has, of a kernel that was not told that it may. */
#include "clusters.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 16 * 64 * 4));
#ifndef WRONG
    OK(cuFuncSetAttribute(fill, NON_PORTABLE, 1));
#endif
    clustered(fill, x, 16, 16);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
