/* A node of a graph that fills 3 rows of 25 elements every 256 bytes. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"

int main(void) {
    begin();
    handle graph, node;
    ptr x;
    OK(cuMemAlloc_v2(&x, 512));
    OK(cuGraphCreate(&graph, 0));
#ifdef WRONG
    filled rows = {.to = x, .pitch = 256, .value = 1, .size = 4, .width = 25, .height = 3};
#else
    filled rows = {.to = x, .pitch = 256, .value = 1, .size = 4, .width = 25, .height = 2};
#endif
    any(cuGraphAddMemsetNode(&node, graph, NULL, 0, &rows, context));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(x));
    end();
}
