/* A kernel that writes where an address in memory points to. */
#include "driver.h"

static const char *through = ".version 7.0\n.target sm_75\n.address_size 64\n"
                             ".visible .entry through(.param .u64 list)\n{\n    .reg .b64 %a, %b;\n"
                             "    ld.param.u64 %a, [list];\n    ld.global.u64 %b, [%a];\n"
                             "    st.global.u64 [%b], 1;\n    ret;\n}\n";

int main(void) {
    begin();
    handle other, kernel;
    ptr x;
    OK(cuModuleLoadData(&other, through));
    OK(cuModuleGetFunction(&kernel, other, "through"));
    OK(cuMemAlloc_v2(&x, 256));
    ptr element = x + 8;
#ifdef WRONG
    element = 64;
#endif
    OK(cuMemcpyHtoD_v2(x, &element, 8));
    OK(fill_on(NULL, x + 64, 1, 1));
    OK(cuCtxSynchronize());
    void *arguments[] = {&x};
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    int answer = cuCtxSynchronize();
    const char *name;
    cuGetErrorName(answer, &name);
    if (answer)
        return 0;
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(other));
    end();
}
