/* Memory that is freed twice. */
#include "driver.h"

int main(void) {
    begin();
    ptr x;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemFree_v2(x));
#ifdef WRONG
    int answer = cuMemFree_v2(x);
    const char *name;
    cuGetErrorName(answer, &name);
#endif
    end();
}
