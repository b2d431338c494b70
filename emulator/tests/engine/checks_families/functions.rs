//! The stack, and calls: what the checks find, and its twins.

use cuda_emulator::check::FindingKind;

use super::{Check, Nothing, Twin, twin};

pub(super) const TWINS: &[Twin] = &[
    // The stack.
    twin(
        "an index past what alloca has reserved",
        (1, 1, 32),
        Nothing,
        "alloca.u64 %rd1, 16, 16; alloca.u64 %rd2, 16, 16; st.local.u32 [%rd1], 1; st.local.u32 [%rd1+4], 1; st.local.u32 [%rd1+8], 1; st.local.u32 [%rd1+12], 1;
         st.local.u32 [%rd2], 1; ld.local.u32 %r1, [%rd1+<<16|12>>]; // here
         st.global.u32 [%rd63], %r1;",
    ),
    twin(
        "memory of alloca that was never written",
        (1, 1, 32),
        Check(FindingKind::UndefinedValue),
        "alloca.u64 %rd1, 16, 16; st.local.u32 [%rd1], %t;
         ld.local.u32 %r1, [%rd1+<<4|0>>]; add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    twin(
        "memory of alloca after stackrestore",
        (1, 1, 32),
        Nothing,
        "stacksave.u64 %rd2; alloca.u64 %rd1, 16, 16; st.local.u32 [%rd1], %t;
         <<stackrestore.u64 %rd2;|>>
         ld.local.u32 %r1, [%rd1]; // here
         add.u32 %r1, %r1, 1; st.global.u32 [%rd63], %r1; stackrestore.u64 %rd2;",
    ),
    twin(
        "memory of alloca that others had before",
        (1, 1, 32),
        Nothing,
        "stacksave.u64 %rd2; alloca.u64 %rd1, 16, 16; st.local.u32 [%rd1], %t; stackrestore.u64 %rd2;
         alloca.u64 %rd3, 16, 16; <<|st.local.u32 [%rd3], 5;>>
         ld.local.u32 %r1, [%rd3]; add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    // Calls.
    twin(
        "a parameter that the caller has not set",
        (1, 1, 32),
        Nothing,
        "{ .param .b32 p; .param .b32 q; <<|st.param.b32 [p], %t;>> call.uni (q), twice, (p); ld.param.b32 %r1, [q]; }
         add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    twin(
        "a structure of which the caller has set a part",
        (1, 1, 32),
        Nothing,
        "{ .param .align 8 .b8 p[16]; .param .b32 q; st.param.b32 [p], %t; <<|st.param.b32 [p+12], %t;>> call.uni (q), sum, (p); ld.param.b32 %r1, [q]; }
         add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    twin(
        "a result that the function does not set",
        (1, 1, 32),
        Nothing,
        "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %t; call.uni (q), <<never|twice>>, (p); ld.param.b32 %r1, [q]; }
         add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    twin(
        "an argument that was never written",
        (1, 1, 32),
        Nothing,
        "<<|mov.u32 %r9, 1;>> { .param .b32 p; .param .b32 q; st.param.b32 [p], %r9; call.uni (q), twice, (p); ld.param.b32 %r1, [q]; }
         add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
];
