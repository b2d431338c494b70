/* A copy of rows by the function of a thread's own default stream. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    static char bytes[1024];
    ptr x;
    OK(cuMemAlloc_v2(&x, 512));
    rows copy = {.src_type = HOST, .src_host = bytes, .src_pitch = 100, .dst_type = DEVICE, .dst_device = x,
                 .dst_pitch = 256, .width = 100, .height = 2};
#ifdef WRONG
    copy.height = 3;
#endif
    any(cuMemcpy2D_v2_ptds(&copy));
    OK(cuMemFree_v2(x));
    end();
}
