/* A node that is right, and that is changed in the executable graph so that it reads past the end. */
#include "driver.h"
#include "rows.h"
#include "graphs.h"

int main(void) {
    begin();
    handle graph, node, exec;
    ptr x, y;
    OK(cuMemAlloc_v2(&x, 256));
    OK(cuMemAlloc_v2(&y, 256));
    OK(cuGraphCreate(&graph, 0));
    planes copy = copied(y, x, 256);
    OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
#ifdef WRONG
    copy = copied(y, x + 128, 256);
#else
    copy = copied(y, x + 128, 128);
#endif
    any(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuMemFree_v2(x));
    OK(cuMemFree_v2(y));
    end();
}
