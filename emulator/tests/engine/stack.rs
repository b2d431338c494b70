//! Memory on the stack of a thread: `alloca`, `stacksave`, `stackrestore`, and parameters that have addresses.

use crate::support::{Args, Device, HEADER, outputs, snippet, snippet_fault, snippet_with};
use cuda_emulator::engine::FaultKind;

#[test]
fn arrays_of_every_thread_and_every_function_stay_apart() {
    let device = Device::file("tests/kernels/heap.ptx");
    let sums = device.zeroed::<u32>(192);
    device.launch("stack", [2, 1, 1], [96, 1, 1], &Args::new().add(sums));
    let expected = |thread: u32| {
        let reversed =
            (1..=thread + 1).rev().fold(0u32, |sum, number| sum.wrapping_mul(3).wrapping_add(number));
        reversed.wrapping_add((1..=thread + 1).sum())
    };
    assert_eq!(device.download::<u32>(sums, 192), (0..192).map(expected).collect::<Vec<u32>>());
}

#[test]
fn what_is_restored_is_used_again() {
    // 10,000 times 1 KiB would not fit. The array of the kernel lies before, keeps its numbers, and so does one taken before the loop.
    let body = ".local .align 4 .b8 own[8]; mov.u32 %r9, 7; st.local.u32 [own+4], %r9;\n\
                alloca.u64 %rd1, 5; st.local.b8 [%rd1+4], %r9; mov.u32 %r1, 0; mov.u32 %r8, 0;\n\
                more: stacksave.u64 %rd2; alloca.u64 %rd3, 1024, 64; st.local.u32 [%rd3+1020], %r1; and.b64 %rd5, %rd3, 63; cvt.u32.u64 %r7, %rd5;\n\
                add.u32 %r8, %r8, %r7; ld.local.u32 %r2, [%rd3+1020]; add.u32 %r8, %r8, %r2; stackrestore.u64 %rd2;\n\
                add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 10000; @%p1 bra more;\n\
                ld.local.u8 %r3, [%rd1+4]; ld.local.u32 %r4, [own+4];\n\
                stacksave.u32 %r5; alloca.u32 %r6, 16, 16; sub.u32 %r6, %r6, %r5; stackrestore.u32 %r5; alloca.u32 %r7, %r3, 32; add.u32 %r7, %r7, %r3;\n\
                stacksave.u32 %r5; sub.u32 %r7, %r7, %r5;\n\
                st.global.v4.u32 [%out], {%r8, %r3, %r4, %r6}; st.global.u32 [%out+16], %r7;";
    // The stack ended at 5 bytes behind a multiple of 16.
    assert_eq!(outputs::<u32>(&snippet(body), 1, 5), [10_000 * 9_999 / 2, 7, 7, 11, 0]);
    let body = "mov.u32 %r1, 0; more: alloca.u64 %rd3, 1024; add.u32 %r1, %r1, 1; st.global.u32 [%out], %r1; bra more;";
    let fault = snippet_fault(&snippet(body), 1, 4);
    assert_eq!(fault.kind, FaultKind::StackOverflow);
    assert!(fault.to_string().contains("the stack of a thread is used up by `alloca`"), "{fault}");
    for (size, offset) in [("8", 8), ("0xffffffffffffffff", 0), ("0xffffff00", 0)] {
        let body = format!("alloca.u64 %rd3, {size}; st.local.u8 [%rd3+{offset}], 1;");
        let fault = snippet_fault(&snippet(&body), 1, 4);
        let kind = if size == "8" { FaultKind::IllegalAddress } else { FaultKind::StackOverflow };
        assert_eq!(fault.kind, kind, "{fault}");
    }
}

#[test]
fn lanes_that_take_different_amounts_call_on() {
    // Threads recurse as often as their number says; each call takes its depth times 12 bytes and adds up what it left there.
    let declarations = ".func (.param .b32 sum) deep(.param .b32 left) {\n\
        .reg .pred %p1; .reg .b32 %n, %s, %b; .reg .b64 %a;\n\
        ld.param.u32 %n, [left]; mov.u32 %s, 0; setp.eq.u32 %p1, %n, 0; @%p1 bra done;\n\
        mul.lo.u32 %b, %n, 12; cvt.u64.u32 %a, %b; alloca.u64 %a, %a, 4; st.local.u32 [%a], %n;\n\
        sub.u32 %b, %n, 1;\n\
        { .param .b32 l; st.param.b32 [l], %b; .param .b32 r; call (r), deep, (l); ld.param.b32 %s, [r]; }\n\
        ld.local.u32 %b, [%a]; mad.lo.u32 %s, %s, 5, %b;\n\
        done: st.param.b32 [sum], %s; ret; }\n";
    let body = "{ .param .b32 l; st.param.b32 [l], %t; .param .b32 r; call (r), deep, (l); ld.param.b32 %r1, [r]; }\n\
                st.global.u32 [%at], %r1;";
    let text = snippet_with("", body).replacen(HEADER, &format!("{HEADER}{declarations}"), 1);
    let expected: Vec<u32> =
        (0..40u32).map(|n| (1..=n).fold(0u32, |sum, n| sum.wrapping_mul(5).wrapping_add(n))).collect();
    assert_eq!(outputs::<u32>(&text, 40, 40), expected);
}

#[test]
fn a_parameter_whose_address_is_asked_for_is_in_local_memory() {
    // As clang writes it without optimisation: a structure of 13 bytes by value, indexed, changed through its address, and read as a parameter.
    let declarations = ".func (.param .b32 result) pick(.param .align 1 .b8 bytes[13], .param .b32 index) {\n\
        .reg .b32 %i, %x, %y, %z; .reg .b64 %a, %g;\n\
        mov.b64 %a, bytes; ld.param.u32 %i, [index]; cvt.u64.u32 %g, %i; add.u64 %g, %g, %a; ld.local.u8 %x, [%g];\n\
        cvta.local.u64 %a, %a; st.u8 [%a+12], %i; ld.param.u8 %y, [bytes+12]; ld.param.u8 %z, [bytes];\n\
        mad.lo.u32 %x, %x, 1000, %y; mad.lo.u32 %x, %z, 1000000, %x; st.param.b32 [result], %x; ret; }\n";
    let body = "{ .param .align 1 .b8 b[13]; .param .b32 i; .param .b32 r;\n\
                add.u32 %r1, %t, 100; st.param.b8 [b], %r1; st.param.b8 [b+1], 11; st.param.b8 [b+2], 12; st.param.b8 [b+3], 13; st.param.b8 [b+4], 14;\n\
                st.param.b8 [b+5], 15; st.param.b8 [b+6], 16; st.param.b8 [b+7], 17; st.param.b8 [b+8], 18; st.param.b8 [b+9], 19; st.param.b8 [b+10], 20;\n\
                st.param.b8 [b+11], 21; st.param.b8 [b+12], 22; st.param.b32 [i], %t;\n\
                call (r), pick, (b, i); ld.param.b32 %r2, [r]; ld.param.b32 %r2, [r]; }\n\
                st.global.u32 [%at], %r2;";
    let text = snippet_with("", body).replacen(HEADER, &format!("{HEADER}{declarations}"), 1);
    let bytes = |t: u32| if t == 0 { 100 } else { 10 + t };
    let expected: Vec<u32> = (0..13).map(|t| (t + 100) * 1_000_000 + bytes(t) * 1000 + t).collect();
    assert_eq!(outputs::<u32>(&text, 13, 13), expected);
}
