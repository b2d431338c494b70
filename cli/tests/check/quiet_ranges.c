/* Right: copies and fills up to the last byte, of nothing behind it, of rows with a pitch, and over two mappings side by side. */
#include "driver.h"
#include "rows.h"

int cuMemAllocPitch_v2(ptr *, size_t *, size_t, size_t, u32);
int cuMemCreate(ptr *, size_t, const void *, unsigned long long);
int cuMemRelease(ptr);
int cuMemAddressReserve(ptr *, size_t, size_t, ptr, unsigned long long);
int cuMemAddressFree(ptr, size_t);
int cuMemMap(ptr, size_t, size_t, ptr, unsigned long long);
int cuMemUnmap(ptr, size_t);
int cuMemSetAccess(ptr, size_t, const void *, size_t);

#define PAGE ((size_t)2 << 20)

int main(void) {
    begin();
    static char bytes[4096];
    ptr x, y;
    size_t pitch;
    OK(cuMemAlloc_v2(&x, 1000));
    OK(cuMemcpyHtoD_v2(x, bytes, 1000));
    OK(cuMemcpyHtoD_v2(x + 999, bytes, 1));
    OK(cuMemcpyDtoH_v2(bytes, x + 500, 500));
    OK(cuMemsetD32_v2(x, 1, 250));
    OK(cuMemsetD32_v2(x + 1000, 1, 0));
    /* The same addresses, with more memory. */
    OK(cuMemFree_v2(x));
    OK(cuMemAlloc_v2(&x, 4096));
    OK(cuMemcpyHtoD_v2(x, bytes, 4096));
    OK(cuMemFree_v2(x));
    OK(cuMemAllocPitch_v2(&x, &pitch, 100, 8, 4));
    OK(cuMemcpyDtoH_v2(bytes, x, pitch * 8 < 4096 ? pitch * 8 : 4096));
    OK(cuMemFree_v2(x));
    /* Rows, planes and boxes up to the last byte of the last one; what is between two rows is not there behind it. */
    handle array;
    array_of_planes shape = {.width = 8, .height = 0, .depth = 3, .format = FLOATS, .channels = 1, .flags = 1};
    OK(cuMemAlloc_v2(&x, 1000));
    OK(cuMemsetD2D8Async(x + 3, 299, 1, 100, 4, NULL));
    rows flat = {.src_x = 1, .src_y = 1, .src_type = DEVICE, .src_device = x, .src_pitch = 300, .dst_type = HOST, .dst_host = bytes,
                 .dst_pitch = 99, .width = 99, .height = 3};
    OK(cuMemcpy2DUnaligned_v2(&flat));
    planes deep = {.src_type = HOST, .src_host = bytes, .src_pitch = 32, .src_height = 1, .dst_type = ARRAY, .width = 32,
                   .height = 1, .depth = 3};
    /* Three layers of one row. */
    OK(cuArray3DCreate_v2(&array, &shape));
    deep.dst_array = array;
    OK(cuMemcpy3D_v2(&deep));
    OK(cuArrayDestroy(array));
    OK(cuMemFree_v2(x));
    /* Its handle may be that of one with more. */
    array_of_rows more = {.width = 512, .height = 0, .format = BYTES, .channels = 4};
    OK(cuArrayCreate_v2(&array, &more));
    OK(cuMemcpyHtoA_v2(array, 1024, bytes, 1024));
    OK(cuArrayDestroy(array));
    OK(cuMemAllocManaged(&x, 4096, 1));
    OK(cuMemAllocAsync(&y, 4096, NULL));
    OK(cuMemcpyDtoDAsync_v2(y, x, 4096, NULL));
    OK(cuMemsetD8Async(y + 4095, 1, 1, NULL));
    OK(cuMemFreeAsync(y, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    /* Memory of the device, which it may access. */
    struct {
        int type, handles, location, device;
        void *security;
        unsigned char flags[8];
    } properties = {1, 0, 1, 0, NULL, {0}};
    struct {
        int location, device, flags;
    } access = {1, 0, 3};
    ptr parts[2];
    OK(cuMemAddressReserve(&x, 2 * PAGE, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        OK(cuMemCreate(&parts[i], PAGE, &properties, 0));
        OK(cuMemMap(x + i * PAGE, PAGE, 0, parts[i], 0));
        OK(cuMemRelease(parts[i]));
    }
    OK(cuMemSetAccess(x, 2 * PAGE, &access, 1));
    OK(cuMemcpyHtoD_v2(x + PAGE - 2048, bytes, 4096));
    OK(cuMemsetD32_v2(x, 1, 2 * PAGE / 4));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(x, 2 * PAGE));
    OK(cuMemAddressFree(x, 2 * PAGE));
    end();
}
