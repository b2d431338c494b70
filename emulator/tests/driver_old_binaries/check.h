/* What the programs share: how they stop, and a kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                        \
    do {                                                                   \
        int code = (call);                                                 \
        if (code != 0) {                                                   \
            printf("line %d: %s: %d\n", __LINE__, #call, code);            \
            exit(1);                                                       \
        }                                                                  \
    } while (0)
#define SAME(a, b)                                                         \
    do {                                                                   \
        long long left = (long long)(a), right = (long long)(b);           \
        if (left != right) {                                               \
            printf("line %d: %s is %lld\n", __LINE__, #a, left);           \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

typedef unsigned long long Address;

/* add(p, n): p[thread] += n */
static const char *const PTX =
    ".version 7.8\n.target sm_52\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
    ".reg .b64 %a, %o; .reg .b32 %n, %v, %t;\n"
    "ld.param.u64 %a, [p]; ld.param.u32 %n, [n];\n"
    "mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;\n"
    "ld.global.u32 %v, [%a]; add.u32 %v, %v, %n; st.global.u32 [%a], %v; ret; }\n";
