/* A copy of more planes than an array has. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    static char bytes[512];
    handle array;
    array_of_planes shape = {.width = 8, .height = 4, .depth = 2, .format = BYTES, .channels = 4};
    OK(cuArray3DCreate_v2(&array, &shape));
    planes copy = {.src_type = HOST, .src_host = bytes, .src_pitch = 32, .src_height = 4, .dst_type = ARRAY,
                   .dst_array = array, .width = 32, .height = 4, .depth = 2};
    OK(cuMemcpy3D_v2(&copy));
    copy.dst_z = 1;
#ifndef WRONG
    copy.depth = 1;
#endif
    any(cuMemcpy3D_v2(&copy));
    OK(cuArrayDestroy(array));
    end();
}
