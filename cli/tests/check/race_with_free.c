/* Memory that is freed on one stream while another uses it. */
#include "driver.h"

int main(void) {
    begin();
    handle first, second;
    ptr x;
    OK(cuStreamCreate(&first, NON_BLOCKING));
    OK(cuStreamCreate(&second, NON_BLOCKING));
    OK(cuMemAllocAsync(&x, 256, first));
    OK(cuStreamSynchronize(first));
    OK(cuMemsetD32Async(x, 0, 64, second));
#ifndef WRONG
    OK(cuStreamSynchronize(second));
#endif
    OK(cuMemFreeAsync(x, first));
    OK(cuCtxSynchronize());
    OK(cuStreamDestroy_v2(first));
    OK(cuStreamDestroy_v2(second));
    end();
}
