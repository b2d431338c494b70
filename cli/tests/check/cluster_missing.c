/* No cluster for a kernel that has to have one, and another one than a kernel was compiled for. */
#include "clusters.h"

static const char *source =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry any(.param .u64 out, .param .u32 count, .param .u32 value) .explicitcluster { ret; }\n"
    ".visible .entry two(.param .u64 out, .param .u32 count, .param .u32 value) .reqnctapercluster 2, 1, 1 { ret; }\n";

int main(void) {
    begin();
    handle own, any, two;
    OK(cuModuleLoadData(&own, source));
    OK(cuModuleGetFunction(&any, own, "any"));
    OK(cuModuleGetFunction(&two, own, "two"));
    ptr x;
    OK(cuMemAlloc_v2(&x, 4 * 64 * 4));
#ifdef WRONG
    clustered(any, x, 4, 0);
    clustered(two, x, 4, 4);
#else
    clustered(any, x, 4, 2);
    clustered(two, x, 4, 0);
#endif
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(own));
    end();
}
