/* Shared memory of which the kernel has a part for itself: what is left is one byte less than what is asked for. */
#include "driver.h"
#include "rows.h"

int cuFuncSetAttribute(handle, int, int);

static const char *kernel = ".version 7.0\n.target sm_75\n.address_size 64\n"
                            ".visible .entry own(.param .u64 out)\n{\n"
                            "    .reg .b64 %a;\n    .reg .b32 %r;\n    .shared .align 4 .b8 part[1024];\n"
                            "    ld.param.u64 %a, [out];\n    mov.u32 %r, part;\n    st.shared.u32 [%r], %r;\n"
                            "    ld.shared.u32 %r, [%r];\n    st.global.u32 [%a], %r;\n    ret;\n}\n";

int main(void) {
    begin();
    handle other, own;
    ptr x;
    u32 most = 48 * 1024 - 1024;
#ifdef WRONG
    most++;
#endif
    OK(cuModuleLoadData(&other, kernel));
    OK(cuModuleGetFunction(&own, other, "own"));
    OK(cuMemAlloc_v2(&x, 256));
    void *arguments[] = {&x};
    any(cuLaunchKernel(own, 1, 1, 1, 1, 1, 1, most, NULL, arguments, NULL));
    /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
    OK(cuFuncSetAttribute(own, 8, 60000));
    OK(cuLaunchKernel(own, 1, 1, 1, 1, 1, 1, 60000, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(other));
    end();
}
