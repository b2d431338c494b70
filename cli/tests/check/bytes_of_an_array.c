/* A copy of the bytes of an array that goes past its last one. */
#include "driver.h"
#include "rows.h"

int main(void) {
    begin();
    static char bytes[256];
    handle array;
    array_of_rows shape = {.width = 64, .height = 0, .format = FLOATS, .channels = 1};
    OK(cuArrayCreate_v2(&array, &shape));
    OK(cuMemcpyHtoA_v2(array, 0, bytes, 256));
#ifdef WRONG
    any(cuMemcpyAtoH_v2(bytes, array, 8, 256));
#else
    any(cuMemcpyAtoH_v2(bytes, array, 8, 248));
#endif
    OK(cuArrayDestroy(array));
    end();
}
