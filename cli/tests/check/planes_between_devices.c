/* A copy of planes between two contexts, with an offset that makes it end behind the buffer. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    ptr x, y;
    OK(cuMemAlloc_v2(&x, 512));
    OK(cuMemAlloc_v2(&y, 512));
    OK(cuMemsetD32_v2(x, 1, 128));
    planes copy = {.src_type = DEVICE, .src_device = x, .src_context = context, .src_pitch = 64, .src_height = 4,
                   .dst_type = DEVICE, .dst_device = y, .dst_context = context, .dst_pitch = 64, .dst_height = 4,
                   .width = 64, .height = 4, .depth = 1};
#ifdef WRONG
    copy.dst_z = 1;
    copy.dst_y = 1;
#else
    copy.dst_z = 1;
#endif
    any(cuMemcpy3DPeer(&copy));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    end();
}
