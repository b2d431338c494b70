/* A copy of rows from pinned memory that is too short for the last one. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    char *bytes;
    ptr x;
    OK(cuMemAlloc_v2(&x, 1024));
    /* From the second row on, 3 rows of 64 bytes every 80 bytes: up to byte 304. */
#ifdef WRONG
    OK(cuMemHostAlloc((void **)&bytes, 300, 0));
#else
    OK(cuMemHostAlloc((void **)&bytes, 304, 0));
#endif
    rows copy = {.src_y = 1, .src_type = HOST, .src_host = bytes, .src_pitch = 80, .dst_type = UNIFIED, .dst_device = x,
                 .dst_pitch = 64, .width = 64, .height = 3};
    any(cuMemcpy2DAsync_v2(&copy, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemFreeHost(bytes));
    OK(cuMemFree_v2(x));
    end();
}
