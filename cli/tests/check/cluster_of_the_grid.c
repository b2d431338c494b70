/* A grid that is no multiple of the cluster. */
#include "clusters.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 4 * 64 * 4));
#ifdef WRONG
    u32 blocks = 3;
#else
    u32 blocks = 4;
#endif
    clustered(fill, x, blocks, 2);
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    end();
}
