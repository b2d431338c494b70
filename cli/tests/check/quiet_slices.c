/* Right: forty streams, each with its slice of one buffer, by address or by an offset, the way that samples show. */
#include "driver.h"

#define STREAMS 40
#define SLICE 128

static const char *offset = ".version 7.0\n.target sm_75\n.address_size 64\n"
                            ".visible .entry at(.param .u64 x, .param .u32 start)\n{\n"
                            "    .reg .b64 %a<4>;\n    .reg .b32 %r<6>;\n"
                            "    ld.param.u64 %a0, [x];\n    ld.param.u32 %r0, [start];\n"
                            "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
                            "    mad.lo.s32 %r4, %r1, %r2, %r3;\n    add.s32 %r4, %r4, %r0;\n"
                            "    cvta.to.global.u64 %a1, %a0;\n    mul.wide.s32 %a2, %r4, 4;\n    add.s64 %a3, %a1, %a2;\n"
                            "    ld.global.u32 %r5, [%a3];\n    add.s32 %r5, %r5, 1;\n    st.global.u32 [%a3], %r5;\n    ret;\n}\n";

int main(void) {
    begin();
    handle other, at, streams[STREAMS];
    ptr x;
    u32 *numbers;
    size_t bytes = STREAMS * SLICE * 4;
    OK(cuModuleLoadData(&other, offset));
    OK(cuModuleGetFunction(&at, other, "at"));
    OK(cuMemHostAlloc((void **)&numbers, bytes, 0));
    OK(cuMemAlloc_v2(&x, bytes));
    for (u32 i = 0; i < STREAMS * SLICE; i++)
        numbers[i] = i;
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamCreate(&streams[i], i % 2 ? NON_BLOCKING : 0));
    for (int round = 0; round < 3; round++)
        for (u32 i = 0; i < STREAMS; i++) {
            u32 start = i * SLICE;
            ptr own = x + start * 4;
            OK(cuMemcpyHtoDAsync_v2(own, numbers + start, SLICE * 4, streams[i]));
            void *arguments[] = {&x, &start};
            OK(cuLaunchKernel(at, SLICE / 64, 1, 1, 64, 1, 1, 0, streams[i], arguments, NULL));
            OK(fill_on(streams[i], own, 1, 7));
            OK(cuMemcpyDtoHAsync_v2(numbers + start, own, SLICE * 4, streams[i]));
        }
    OK(cuCtxSynchronize());
    for (int i = 0; i < STREAMS; i++)
        OK(cuStreamDestroy_v2(streams[i]));
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(numbers));
    OK(cuModuleUnload(other));
    end();
}
