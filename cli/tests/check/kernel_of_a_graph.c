/* A node of a graph that launches a kernel with a null pointer. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"

int main(void) {
    begin();
    handle graph, node;
    ptr x, out;
    u32 count = 64, value = 1;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuGraphCreate(&graph, 0));
#ifdef WRONG
    out = 0;
#else
    out = x;
#endif
    void *arguments[] = {&out, &count, &value};
    launched kernel = {.function = fill, .grid = {1, 1, 1}, .block = {64, 1, 1}, .arguments = arguments};
    any(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &kernel));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(x));
    end();
}
