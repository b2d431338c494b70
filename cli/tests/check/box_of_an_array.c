/* A copy to an array that begins in the middle of its rows and is as long as one. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    static char bytes[256];
    handle array;
    /* 4 rows of 64 bytes. */
    array_of_rows shape = {.width = 16, .height = 4, .format = FLOATS, .channels = 1};
    OK(cuArrayCreate_v2(&array, &shape));
    rows copy = {.src_type = HOST, .src_host = bytes, .src_pitch = 64, .dst_type = ARRAY, .dst_array = array,
                 .width = 64, .height = 4};
#ifdef WRONG
    copy.dst_x = 4;
#endif
    any(cuMemcpy2D_v2(&copy));
    OK(cuArrayDestroy(array));
    end();
}
