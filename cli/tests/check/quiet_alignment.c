/* Right: a parameter that is aligned to 64 bytes, which some architectures place in their own way, and an address behind it. */
#include "driver.h"
#include <string.h>

static const char *text = ".version 7.8\n.target sm_75\n.address_size 64\n"
                          ".visible .entry one(.param .align 64 .b8 block[128], .param .u64 out)\n{\n"
                          "    .reg .b64 %a<2>;\n    ld.param.u64 %a0, [out];\n    st.global.u64 [%a0], 1;\n    ret;\n}\n";

int main(void) {
    begin();
    handle other, one;
    ptr x;
    static _Alignas(64) unsigned char block[128];
    memset(block, 0x55, sizeof block);
    OK(cuModuleLoadData(&other, text));
    OK(cuModuleGetFunction(&one, other, "one"));
    OK(cuMemAlloc_v2(&x, 256));
    void *arguments[] = {block, &x};
    OK(cuLaunchKernel(one, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(x));
    OK(cuModuleUnload(other));
    end();
}
