/* Memory by a function that is asked for with the flag of the thread's own stream, though it has none. */
#include "driver.h"

int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, void *);

int main(void) {
    begin();
    int (*alloc)(ptr *, size_t);
    ptr x;
    OK(cuGetProcAddress_v2("cuMemAlloc", (void **)&alloc, 12000, 2, NULL));
    OK(alloc(&x, 256));
#ifndef WRONG
    OK(cuMemFree_v2(x));
#endif
    end();
}
