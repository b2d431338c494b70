/* A graph, an array, a pool and a context that are released twice. A graph may be destroyed after the context in which it was made. */
#include "driver.h"
#include "rows.h"
#include <string.h>

int cuGraphCreate(handle *, u32);
int cuMemPoolCreate(handle *, const void *);
int cuMemPoolDestroy(handle);

/* CUmemPoolProps: pinned memory of the first device. */
typedef struct {
    int type, handles, place, number;
    void *security;
    size_t most;
    unsigned char reserved[64];
} properties;

int main(void) {
    begin();
    handle graph, array, pool, other, late;
    array_of_rows shape = {16, 16, BYTES, 1};
    properties own;
    memset(&own, 0, sizeof own);
    own.type = own.place = 1;
    OK(cuGraphCreate(&graph, 0));
    OK(cuArrayCreate_v2(&array, &shape));
    OK(cuMemPoolCreate(&pool, &own));
    OK(cuCtxCreate_v4(&other, NULL, 0, 0));
    OK(cuGraphCreate(&late, 0));
    OK(cuGraphDestroy(graph));
    OK(cuArrayDestroy(array));
    OK(cuMemPoolDestroy(pool));
    OK(cuCtxDestroy_v2(other));
    OK(cuGraphDestroy(late));
#ifdef WRONG
    any(cuGraphDestroy(graph));
    any(cuArrayDestroy(array));
    any(cuMemPoolDestroy(pool));
    any(cuCtxDestroy_v2(other));
#endif
    OK(cuCtxSetCurrent(context));
    end();
}
