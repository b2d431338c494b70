/* A copy of rows whose last one ends behind the buffer. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    static char bytes[1024];
    ptr x;
    /* 3 rows of 100 bytes every 256 bytes: 612 bytes. */
#ifdef WRONG
    OK(cuMemAlloc_v2(&x, 512));
#else
    OK(cuMemAlloc_v2(&x, 612));
#endif
    rows copy = {.src_type = HOST, .src_host = bytes, .src_pitch = 100, .dst_type = DEVICE, .dst_device = x,
                 .dst_pitch = 256, .width = 100, .height = 3};
    any(cuMemcpy2D_v2(&copy));
    OK(cuMemFree_v2(x));
    end();
}
