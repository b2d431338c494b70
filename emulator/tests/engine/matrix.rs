//! Matrix instructions: what is refused, faults, and what the checks see of them. `tests/matrix.rs` has what they compute.

use std::sync::Arc;

use cuda_emulator::check::Space;
use cuda_emulator::engine::{FaultKind, Launch, Program};
use cuda_emulator::memory::Memory;

use crate::checks::{RACE, UNINITIALISED, found, places};
use crate::support::{Args, Device, launch, outputs, snippet_with};

/// Why the instruction of a kernel cannot be loaded or executed.
fn refusal(instruction: &str) -> String {
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n\
         .reg .b32 %r<64>; .reg .b64 %x<32>;\n.shared .align 16 .b8 s[1024]; mov.u32 %r63, s;\n{instruction};\nret;\n}}\n"
    );
    let memory = Arc::new(Memory::new(1 << 20));
    let program = match Program::load(&text, &memory) {
        Ok(program) => program,
        Err(failure) => return failure.message,
    };
    let kernel = program.kernel("k").unwrap();
    let reasons: Vec<String> = kernel.unsupported().map(|(_, reason)| reason.to_owned()).collect();
    reasons.join("; ")
}

const HALVES: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r0,%r1,%r2,%r3}";

#[test]
fn what_ptx_does_not_have_is_refused() {
    for (instruction, wanted) in [
        (HALVES.replace("k16", "k32"), "no such combination"),
        (HALVES.replace("row.col", "col.row"), "no such combination"),
        (HALVES.replace("f32.f16.f16.f32", "f32.f16.bf16.f32"), "no such combination"),
        (HALVES.replace("f16.f32 ", "f16.f16 "), "C and D of this shape have the same type"),
        (HALVES.replace("{%r8,%r9}", "{%r8}"), "operand 3: 2 registers expected, 1 found"),
        (format!("{HALVES}, %r9"), "4 operands expected, 5 found"),
        ("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7}, {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17}".into(), "if C is `.f32`, so is D"),
        ("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0,%r1}, {%r4,%r5}, {%r6,%r7}, {%r0,%r1}, %r8, 4".into(), "operand 6: one of [0, 1, 2, 3] is expected"),
        ("wmma.load.a.sync.aligned.col.m8n8k32.shared.s4 {%r0}, [%r63]".into(), "no such combination"),
        ("wmma.load.c.sync.aligned.row.m16n16k8.shared.f16 {%r0,%r1,%r2,%r3}, [%r63]".into(), "no such matrix of this shape and type"),
        ("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.u4.s32 {%r0,%r1}, {%r2}, {%r3}, {%r4,%r5}".into(), "A and B of `wmma` have the same type"),
    ] {
        let reason = refusal(&instruction);
        assert!(reason.contains(wanted), "{instruction}: {reason}");
    }
}

/// The fault of a kernel of this body.
fn fault(body: &str, threads: u32) -> (FaultKind, String) {
    let device = Device::new(&snippet_with(".shared .align 16 .b8 s[512];", body));
    let out = device.zeroed::<u32>(1024);
    let fault = device.fault("k", [1, 1, 1], [threads, 1, 1], &Args::new().add(out));
    (fault.kind, fault.to_string())
}

const MULTIPLY: &str =
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r3,%r4}, {%r5}, {%r1,%r2};";

#[test]
fn all_lanes_of_a_warp_are_needed() {
    for (body, threads) in [
        (MULTIPLY.to_owned(), 48),
        (format!("setp.gt.u32 %p1, %t, 20; @%p1 exit; {MULTIPLY}"), 32),
        (format!("setp.gt.u32 %p1, %t, 20; @%p1 {MULTIPLY}"), 32),
        ("mov.u32 %r1, s; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];".to_owned(), 8),
        ("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;".to_owned(), 31),
    ] {
        let (kind, message) = fault(&body, threads);
        assert_eq!(kind, FaultKind::InvalidSync, "{body}");
        assert!(message.contains("needs all 32 lanes of its warp"), "{message}");
    }
}

#[test]
fn lanes_that_diverged_before_meet() {
    let body = format!(
        "mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0x3c003c00; mov.b32 %r4, %r3; mov.b32 %r5, %r3;\n\
         setp.gt.u32 %p1, %t, 20; @%p1 bra L; add.u32 %r9, %t, 1;\nL: {MULTIPLY} st.global.u32 [%at], %r2;"
    );
    let device = Device::new(&snippet_with("", &body));
    let out = device.zeroed::<u32>(32);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    // Eight products of ones each.
    assert_eq!(device.download::<u32>(out, 32), [0x4800_4800; 32]);
}

#[test]
fn a_guard_of_all_lanes_counts() {
    let body = format!(
        "mov.b32 %r1, 7; mov.b32 %r2, 7; setp.gt.u32 %p1, %t, 99; @%p1 {MULTIPLY} st.global.u32 [%at], %r2;"
    );
    let device = Device::new(&snippet_with("", &body));
    let out = device.zeroed::<u32>(32);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 32), [7; 32]);
}

#[test]
fn rows_lie_in_shared_memory_at_multiples_of_their_size() {
    let load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%r2];";
    let at = |offset: &str| format!("mov.u32 %r1, s; mad.lo.u32 %r2, %t, 16, %r1; {offset} {load}");
    let (kind, message) = fault(&at("add.u32 %r2, %r2, 8;"), 32);
    assert_eq!(kind, FaultKind::MisalignedAddress, "{message}");
    assert!(message.contains("misaligned read of 16 bytes"), "{message}");
    let (kind, message) = fault(&at("add.u32 %r2, %r2, 16;"), 32);
    assert_eq!(kind, FaultKind::IllegalAddress, "{message}");
    assert!(message.contains("thread (31, 0, 0)") && message.contains("past the end"), "{message}");
    let (kind, message) = fault("ldmatrix.sync.aligned.m8n8.x1.b16 {%r4}, [%out];", 32);
    assert_eq!(kind, FaultKind::IllegalAddress, "{message}");
    assert!(message.contains("not an address of shared memory"), "{message}");
    // Only the lanes whose addresses count are looked at.
    let body =
        "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 64, %r1; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];";
    let device = Device::new(&snippet_with(".shared .align 16 .b8 s[512];", body));
    let args = Args::new().add(device.zeroed::<u32>(32));
    device.try_launch("k", launch(&device, "k", [1, 1, 1], [32, 1, 1], &args)).unwrap();
}

/// Each of 64 threads writes 16 bytes of shared memory; then each warp does `body` with the rows that the other wrote, at `%r2`.
fn exchanged(between: &str, body: &str) -> String {
    format!(
        "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 16, %r1; st.shared.v4.u32 [%r2], {{%t, %t, %t, %t}};\n{between}\n\
         xor.b32 %r3, %t, 32; mad.lo.u32 %r2, %r3, 16, %r1;\n{body}"
    )
}

const LOAD: &str =
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4,%r5,%r6,%r7}, [%r2]; st.global.u32 [%at], %r7;";
const STORE: &str =
    "mov.u32 %r4, 1; mov.u32 %r5, 2; stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r2], {%r4,%r5};";

#[test]
fn the_checks_see_rows() {
    for body in [LOAD, STORE] {
        assert_eq!(found(&exchanged("bar.sync 0;", body), 1, 64, 64), [], "{body}");
        let races: Vec<_> =
            found(&exchanged("", body), 1, 64, 64).into_iter().filter(|one| one.kind == RACE).collect();
        assert_eq!(places(&races), [(RACE, Space::Shared, 10, 13)], "{body}");
    }
    // Of two matrices, the lanes above do not take part.
    let half = LOAD.replace("x4", "x2").replace("{%r4,%r5,%r6,%r7}", "{%r4,%r7}");
    let unwritten = format!(
        "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 16, %r1; setp.lt.u32 %p1, %t, 16;\n@%p1 st.shared.v4.u32 [%r2], {{%t, %t, %t, %t}}; bar.warp.sync -1;\n{half}"
    );
    assert_eq!(found(&unwritten, 1, 32, 32), []);
    let all = unwritten.replace(&half, LOAD);
    assert_eq!(
        places(&found(&all, 1, 32, 32)),
        [(UNINITIALISED, Space::Shared, 12, 0)].map(|(kind, space, line, _)| (kind, space, 0, line))
    );
}

#[test]
fn rows_of_one_store_that_collide_are_a_race() {
    let body = "mov.u32 %r1, s; and.b32 %r2, %t, 3; mad.lo.u32 %r2, %r2, 16, %r1;\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r4};";
    assert_eq!(found(&body.replace("{%r4}", "{%t}"), 1, 32, 32).len(), 1);
    let same = format!("mov.u32 %r4, 5; {body}");
    assert_eq!(found(&same, 1, 32, 32), []);
}

#[test]
fn wmma_is_checked_as_loads_and_stores_are() {
    let load = |after: &str| {
        exchanged(
            "",
            &format!(
                "bar.sync 0; wmma.load.c.sync.aligned.row.m16n16k16.shared.f16 {{%r4,%r5,%r6,%r7}}, [%r1]; {after}"
            ),
        )
    };
    assert_eq!(found(&load("st.global.u32 [%at], %r4;"), 1, 64, 64), []);
    let store = "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r1], {%t,%t,%t,%t};";
    let races = found(&load(store), 1, 64, 64);
    assert!(!races.is_empty() && races.iter().all(|one| one.kind == RACE), "{races:?}");
}

/// The example of a GEMM, whose copies run ahead of the products.
#[test]
fn a_pipelined_product_has_no_findings() {
    let device = Device::checked(&Device::text("tests/kernels/handwritten/gemm.ptx"));
    let n = 128usize;
    let halves = |seed: usize| {
        (0..n * n).map(|i| [0x3c00u16, 0, 0xbc00, 0x4000, 0x3800][(i * seed + i / n) % 5]).collect::<Vec<_>>()
    };
    let (a, b) = (halves(3), halves(7));
    let c = device.zeroed::<f32>(n * n);
    let args = Args::new().add(device.upload(&a)).add(device.upload(&b)).add(c).add(n as u32);
    device.launch("gemm_f16", [2, 2, 1], [128, 1, 1], &args);
    let value = |bits: u16| match bits {
        0x3c00 => 1.0,
        0xbc00 => -1.0,
        0x4000 => 2.0,
        0x3800 => 0.5,
        _ => 0.0f32,
    };
    let element =
        |at: usize| (0..n).map(|k| value(a[at / n * n + k]) * value(b[k * n + at % n])).sum::<f32>();
    let wanted: Vec<f32> = (0..n * n).map(element).collect();
    assert!(device.download::<f32>(c, n * n) == wanted);
    assert_eq!(device.findings(), []);
    let _ = Launch::default();
}

/// As code that was compiled without optimisation does: a wrapper of the instruction is called by some lanes, while others still wait elsewhere.
#[test]
fn lanes_that_called_a_function_one_after_the_other_meet() {
    meet("", "");
    // What the outer function has in registers of 128 bits while it calls the other one.
    meet(".reg .b128 %w; mov.b128 %w, {%y1, %y2};", "mov.b128 {%y1, %y2}, %w;");
    // The coordinates of a texture take four rows of a frame.
    let fetch = ".reg .f32 %f<5>; .reg .pred %no; setp.ne.u32 %no, %x1, %x1;
        @%no tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%y1, {%f1}];";
    meet(fetch, "");
    meet("", fetch);
}

/// Before its call of the other one, and after it, the outer function executes that, too.
fn meet(before: &str, after: &str) {
    let functions = ".func (.param .b64 r) turn(.param .b32 a, .param .b64 w) {
        .reg .b32 %x<4>; .reg .b64 %y<4>; .reg .pred %q;
        ld.param.u32 %x1, [a]; ld.param.u64 %y1, [w]; and.b32 %x3, %x1, 2; setp.ne.u32 %q, %x3, 0;
        movmatrix.sync.aligned.m8n8.trans.b16 %x2, %x1;
        cvt.u64.u32 %y2, %x2; add.u64 %y1, %y1, %y2; @%q add.u64 %y1, %y1, 0x1000000000000000; st.param.b64 [r], %y1; ret; }
        .func (.param .b64 r) around(.param .b32 a, .param .b64 w) {
        .reg .b32 %x<4>; .reg .b64 %y<4>;
        ld.param.u32 %x1, [a]; ld.param.u64 %y1, [w]; add.u64 %y2, %y1, %y1;
        BEFORE { .param .b32 p; .param .b64 q; .param .b64 s; st.param.b32 [p], %x1; st.param.b64 [q], %y1; call.uni (s), turn, (p, q); ld.param.b64 %y3, [s]; }
        AFTER add.u64 %y3, %y3, %y2; cvt.u64.u32 %y1, %x1; shl.b64 %y1, %y1, 40; add.u64 %y3, %y3, %y1; st.param.b64 [r], %y3; ret; }
        .visible .entry";
    let body = "shr.u32 %r1, %t, 2; and.b32 %r2, %t, 3; shl.b32 %r2, %r2, 1; mad.lo.u32 %r3, %r1, 8, %r2; add.u32 %r4, %r3, 1;
        shl.b32 %r4, %r4, 16; or.b32 %r5, %r3, %r4; mul.wide.u32 %rd1, %t, 256; shl.b64 %rd1, %rd1, 24;
        and.b32 %r6, %t, 3; setp.eq.u32 %p1, %r6, 1; setp.gt.u32 %p2, %r6, 1;
        @%p1 bra SECOND; @%p2 bra THIRD;
        bar.warp.sync 0xdddddddd; bra CALL;
        SECOND: mov.u32 %r7, 5;
        CALL: { .param .b32 p; .param .b64 q; .param .b64 s; st.param.b32 [p], %r5; st.param.b64 [q], %rd1; call.uni (s), around, (p, q); ld.param.b64 %rd2, [s]; }
        add.u64 %at, %at, %at; sub.u64 %at, %at, %out; st.global.u64 [%at], %rd2; bra DONE;
        THIRD: bar.warp.sync 0xdddddddd; bra CALL;
        DONE:";
    let functions = functions.replace("BEFORE", before).replace("AFTER", after);
    let text = snippet_with("", body).replacen(".visible .entry", &functions, 1);
    let out: Vec<u64> = outputs(&text, 32, 32);
    for lane in 0..32 {
        let (row, column) = (lane / 4, lane % 4 * 2);
        let mine = (row * 8 + column) | ((row * 8 + column + 1) << 16);
        let turned = (column * 8 + row) | (((column + 1) * 8 + row) << 16);
        let guarded = if mine & 2 != 0 { 1 << 60 } else { 0 };
        let expected = 3 * (lane << 32) + turned + guarded + (mine << 40);
        assert_eq!(out[lane as usize], expected, "lane {lane} {before}{after}");
    }
}
