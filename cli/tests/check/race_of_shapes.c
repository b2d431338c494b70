/* Rows, arrays, lists and copies between contexts: two streams use the same bytes of each, and nothing orders them.
 * What is beside those bytes they may use at once. */
#include "driver.h"
#include "rows.h"


static handle first, second, event;

/* The second stream goes on behind the first. */
static void then(void) {
    OK(cuEventRecord(event, first));
#ifndef WRONG
    OK(cuStreamWaitEvent(second, event, 0));
#endif
}

int main(void) {
    begin();
    ptr x, y;
    char *pinned;
    handle array;
    OK(cuMemHostAlloc((void **)&pinned, 4096, 0));
    OK(cuMemAlloc_v2(&x, 4096));
    OK(cuMemAlloc_v2(&y, 4096));
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuEventCreate(&event, 0));
    /* Columns of 64 bytes of the same rows. */
    OK(cuMemsetD2D8Async(x, 256, 1, 64, 16, first));
    OK(cuMemsetD2D8Async(x + 64, 256, 2, 64, 16, second));
    rows column = {.src_type = DEVICE, .src_device = x, .src_x = 64, .src_pitch = 256, .dst_type = HOST, .dst_host = pinned,
                   .dst_x = 128, .dst_pitch = 256, .width = 64, .height = 16};
    OK(cuMemcpy2DAsync_v2(&column, second));
    then();
    /* The last byte of the first column is part of this one. */
    column.src_x = 63;
    column.dst_x = 0;
    OK(cuMemcpy2DAsync_v2(&column, second));
    OK(cuStreamSynchronize(first));
    OK(cuStreamSynchronize(second));
    /* Elements of an array; then the row that they are in. */
    array_of_rows shape = {.width = 64, .height = 4, .format = FLOATS, .channels = 1};
    OK(cuArrayCreate_v2(&array, &shape));
    rows row = {.src_type = HOST, .src_host = pinned, .src_pitch = 256, .dst_type = ARRAY, .dst_array = array, .dst_x = 128,
                .dst_y = 2, .width = 64, .height = 1};
    OK(cuMemcpy2DAsync_v2(&row, first));
    row.dst_y = 1;
    OK(cuMemcpy2DAsync_v2(&row, second));
    then();
    row.dst_y = 2;
    row.dst_x = 0;
    row.width = 256;
    OK(cuMemcpy2DAsync_v2(&row, second));
    OK(cuCtxSynchronize());
    /* The second copy of a list, and a copy between contexts. */
    ptr to[] = {y, y + 256}, from[] = {x, x};
    size_t sizes[] = {256, 256}, zero[] = {0};
    attributes how[] = {{.order = 1}};
    OK(cuMemcpyPeerAsync(y + 512, context, x, context, 256, second));
    OK(cuMemcpyBatchAsync_v2(to, from, sizes, 2, how, zero, 1, first));
    then();
    OK(cuMemcpyPeerAsync(y + 256, context, x, context, 256, second));
    OK(cuCtxSynchronize());
    OK(cuArrayDestroy(array));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    OK(cuMemFreeHost(pinned));
    end();
}
