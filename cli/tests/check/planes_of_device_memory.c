/* A copy of planes whose last one ends behind the buffer. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    static char bytes[1024];
    ptr x;
    /* 3 planes of 2 rows of 64 bytes; there are 4 rows from plane to plane: 640 bytes. */
#ifdef WRONG
    OK(cuMemAlloc_v2(&x, 512));
#else
    OK(cuMemAlloc_v2(&x, 640));
#endif
    planes copy = {.src_type = DEVICE, .src_device = x, .src_pitch = 64, .src_height = 4, .dst_type = HOST,
                   .dst_host = bytes, .dst_pitch = 64, .dst_height = 2, .width = 64, .height = 2, .depth = 3};
    OK(cuMemsetD32_v2(x, 1, 128));
    any(cuMemcpy3D_v2(&copy));
    OK(cuMemFree_v2(x));
    end();
}
