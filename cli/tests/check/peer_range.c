/* A kernel gets the first address and the end of a range; what another device has mapped begins there. The wrong one goes one too far. */
#include "peers.h"

static const char *source = ".version 7.0\n.target sm_75\n.address_size 64\n"
                            ".visible .entry range(.param .u64 first, .param .u64 end)\n{\n"
                            "    .reg .b64 %a;\n    ld.param.u64 %a, [first];\n    st.global.u64 [%a], 1;\n"
#ifdef WRONG
                            "    ld.param.u64 %a, [end];\n    st.global.u64 [%a], 1;\n"
#endif
                            "    ret;\n}\n";

int main(void) {
    begin_two();
    handle own, range;
    unsigned long long memory[2];
    ptr x;
    OK(cuModuleLoadData(&own, source));
    OK(cuModuleGetFunction(&range, own, "range"));
    OK(cuMemAddressReserve(&x, 2 * UNIT, 0, 0, 0));
    for (int i = 0; i < 2; i++) {
        properties on_it = {.type = 1, .location = 1, .device = i};
        access it = {.location = 1, .device = i, .flags = 3};
        OK(cuMemCreate(&memory[i], UNIT, &on_it, 0));
        OK(cuMemMap(x + i * UNIT, UNIT, 0, memory[i], 0));
        OK(cuMemSetAccess(x + i * UNIT, UNIT, &it, 1));
    }
    ptr first = x + UNIT - 256, end = x + UNIT;
    void *arguments[] = {&first, &end};
    cuLaunchKernel(range, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(x, 2 * UNIT));
    OK(cuMemAddressFree(x, 2 * UNIT));
    OK(cuMemRelease(memory[0]));
    OK(cuMemRelease(memory[1]));
    OK(cuModuleUnload(own));
    end_two();
}
