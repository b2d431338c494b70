/* A kernel of the first device writes to memory of the second; a library's kernel on a stream of the second to memory of the first,
 * while the first is current; and a kernel of the first by an address in a structure. */
#include "peers.h"

static const char *source = ".version 7.0\n.target sm_75\n.address_size 64\n"
                            ".visible .entry boxed(.param .align 8 .b8 box[16])\n{\n"
                            "    .reg .b64 %a;\n    ld.param.u64 %a, [box+8];\n    st.global.u64 [%a], 1;\n    ret;\n}\n";

int main(void) {
    begin_two();
    handle library, stream, own, boxed;
    ptr x, y;
    OK(cuModuleLoadData(&own, source));
    OK(cuModuleGetFunction(&boxed, own, "boxed"));
    OK(cuLibraryLoadFromFile(&library, "examples/kernels/fill.ptx", NULL, NULL, 0, NULL, NULL, 0));
    OK(cuMemAlloc_v2(&x, 256));
    ON_THE_SECOND(OK(cuMemAlloc_v2(&y, 256)); OK(cuStreamCreate(&stream, 0)));
#ifndef WRONG
    OK(cuCtxEnablePeerAccess(second, 0));
    ON_THE_SECOND(OK(cuCtxEnablePeerAccess(context, 0)));
#endif
    fill_on(NULL, y, 64, 1);
    OK(cuCtxSynchronize());
    OK(cuLibraryGetKernel(&fill, library, "fill"));
    fill_on(stream, x, 64, 2);
    OK(cuStreamSynchronize(stream));
    ptr box[2] = {0, y};
    void *arguments[] = {box};
    cuLaunchKernel(boxed, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    OK(cuCtxSynchronize());
    ON_THE_SECOND(OK(cuMemFree_v2(y)); OK(cuStreamDestroy_v2(stream)));
    OK(cuMemFree_v2(x));
    OK(cuLibraryUnload(library));
    OK(cuModuleUnload(own));
    end_two();
}
