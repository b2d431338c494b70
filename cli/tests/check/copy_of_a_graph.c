/* A node of a graph that copies four bytes too many. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"

int main(void) {
    begin();
    handle graph, node;
    ptr x, y;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 512));
    OK(cuGraphCreate(&graph, 0));
#ifdef WRONG
    planes copy = copied(y, x, 260);
#else
    planes copy = copied(y, x, 256);
#endif
    any(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    end();
}
