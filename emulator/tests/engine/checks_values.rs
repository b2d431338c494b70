//! Values that nobody has made: what is found, and what is not.

use cuda_emulator::check::{Finding, FindingKind};

use crate::support::{Args, Device, snippet_with};

pub(crate) const UNDEFINED: FindingKind = FindingKind::UndefinedValue;
/// Two variables in shared memory.
pub(crate) const TWO: &str = ".shared .align 16 .b8 first[128]; .shared .align 16 .b8 second[128];";

/// Runs a body, which starts in line 10, in a block of so many threads; the output has 4 KiB of zeros, and so have `%rd40` and `%rd41`.
pub(crate) fn found_with(body: &str, threads: u32, shared: &str) -> Vec<Finding> {
    let declarations = ".global .align 4 .b8 g[64]; .global .align 4 .b8 h[64]; .const .align 4 .b8 c[64];\n\
        .func (.reg .b32 %r0) twice(.reg .b32 %r1) { add.u32 %r0, %r1, %r1; ret; }\n\
        .func sets(.reg .b64 %r1) { st.u32 [%r1], 7; ret; }\n\
        .func fills(.reg .b64 %r1) { .local .align 8 .b8 own[8]; st.local.u64 [own], %r1; ld.local.u64 %r1, [own]; st.u64 [%r1+24], %r1; ret; }\n\
        .func leaves(.reg .b64 %r1) { .local .align 8 .b8 own[8]; st.local.u64 [own+-8], %r1; ret; }";
    let text = snippet_with("", &format!("ld.param.u64 %rd40, [more]; ld.param.u64 %rd41, [more+8]; {body}"));
    let text = text
        .replace(".param .u64 out)", ".param .u64 out, .param .align 8 .b8 more[24])")
        .replace("{\n.reg", &format!("{{ {shared}\n.reg"))
        .replace(".visible .entry", &format!("{} .visible .entry", declarations.replace('\n', " ")));
    let device = Device::checked(&text);
    let [out, one, two] = [(); 3].map(|()| device.zeroed::<u32>(1024));
    let more = [one.to_le_bytes(), two.to_le_bytes(), [0; 8]].concat();
    device.launch("k", [1, 1, 1], [threads, 1, 1], &Args::new().add(out).bytes(&more));
    device.findings()
}

pub(crate) fn found(body: &str) -> Vec<Finding> {
    found_with(body, 32, "")
}

/// Kind, line and, if there is one, the line of the other place.
pub(crate) fn lines(found: &[Finding]) -> Vec<(FindingKind, u32, Option<u32>)> {
    let line = |finding: &Finding| {
        (finding.kind, finding.access.ptx_line, finding.other.as_ref().map(|other| other.ptx_line))
    };
    found.iter().map(line).collect()
}

#[track_caller]
pub(crate) fn nothing(body: &str) {
    assert_eq!(found(body), [], "{body}");
}

#[test]
fn registers_that_decide() {
    let stored = found("add.u32 %r2, %r1, 1;\nst.global.u32 [%at], %r2;");
    assert_eq!(lines(&stored), [(UNDEFINED, 11, Some(10))]);
    assert_eq!(
        (stored[0].access.verb, stored[0].other.as_ref().unwrap().verb),
        ("store of it", "first read")
    );
    assert!(
        stored[0].to_string().contains("that register was never written on the way there"),
        "{}",
        stored[0]
    );
    assert_eq!(
        lines(&found("setp.lt.u32 %p1, %r1, %t;\n@%p1 bra A; st.global.u32 [%at], 1; A:")),
        [(UNDEFINED, 11, Some(10))]
    );
    assert_eq!(lines(&found("@%p1 bra A; st.global.u32 [%at], 1; A:")), [(UNDEFINED, 10, None)]);
    let address = "cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, %out;\nld.global.u32 %r2, [%rd1]; st.global.u32 [%at], %r2;";
    assert_eq!(lines(&found(address)), [(UNDEFINED, 11, Some(10))]);
    let guarded = found("not.pred %p2, %p1;\n@%p2 st.global.u32 [%at], 1;");
    assert_eq!(
        (lines(&guarded), guarded[0].access.verb),
        (vec![(UNDEFINED, 11, Some(10))], "access guarded by it")
    );
    let products =
        "mul.f32 %f2, %f1, 0f3F800000; fma.rn.f32 %f3, %f2, %f2, 0f00000000;\nst.global.f32 [%at], %f3;";
    assert_eq!(lines(&found(products)), [(UNDEFINED, 11, Some(10))]);
    let moved = "mov.u32 %r2, %r1; add.u32 %r3, %r2, 1;\nst.global.u32 [%at], %r3;";
    assert_eq!(lines(&found(moved)), [(UNDEFINED, 11, Some(10))]);
    let neither = "and.pred %p3, %p1, %p2;\n@%p3 bra A; st.global.u32 [%at], 1; A:";
    assert_eq!(lines(&found(neither)), [(UNDEFINED, 11, Some(10))]);
    assert_eq!(lines(&found(&neither.replace("and", "or"))), [(UNDEFINED, 11, Some(10))]);
    // The registers begin as zero: no lane passes.
    let closed = found("@%p1 st.global.u32 [%at], 1;");
    assert_eq!(
        (lines(&closed), closed[0].access.verb),
        (vec![(UNDEFINED, 10, None)], "access guarded by it")
    );
    // What decides twice is told once.
    let again = "@!%p1 st.global.u32 [%at], 1;\n@!%p1 st.global.u32 [%at], 2;";
    assert_eq!(lines(&found(again)), [(UNDEFINED, 10, None)]);
    // Each register that is read counts by itself.
    let both =
        "add.u32 %r2, %r1, 1; add.u32 %r4, %r3, 1;\nst.global.u32 [%at], %r2;\nst.global.u32 [%at], %r4;";
    assert_eq!(lines(&found(both)), [(UNDEFINED, 11, Some(10)), (UNDEFINED, 12, Some(10))]);
}

#[test]
fn registers_of_some_lanes() {
    let some = |limit: u32, bound: u32| {
        format!(
            "setp.lt.u32 %p1, %t, {limit}; @%p1 mov.u32 %r1, 5; add.u32 %r2, %r1, 1; setp.lt.u32 %p2, %t, {bound};\n\
             @%p2 st.global.u32 [%at], %r2;"
        )
    };
    let wrong = found(&some(20, 21));
    assert_eq!((lines(&wrong), wrong[0].access.thread), (vec![(UNDEFINED, 11, Some(10))], [20, 0, 0]));
    nothing(&some(20, 20));
    // Those in which it is undefined have gone elsewhere, or do not get that far.
    let parted = |bound: u32| {
        format!(
            "setp.lt.u32 %p1, %t, 20; setp.ge.u32 %p3, %t, {bound}; @%p1 setp.lt.u32 %p2, %t, 10; @%p3 bra A;\n\
             @%p2 bra A; st.global.u32 [%at], 1; A:"
        )
    };
    nothing(&parted(20));
    assert_eq!(lines(&found(&parted(21))), [(UNDEFINED, 11, None)]);
    nothing(
        "setp.lt.u32 %p1, %t, 20; @%p1 mul.wide.u32 %rd1, %t, 4; @%p1 add.u64 %rd1, %rd1, %out; @%p1 st.global.u32 [%rd1], 1;",
    );
    // Chosen by a lane's own predicate.
    let selected = |a: &str, b: &str| {
        format!(
            "setp.lt.u32 %p1, %t, 20; @%p1 mov.u32 %r1, 5; selp.u32 %r2, {a}, {b}, %p1; add.u32 %r2, %r2, 1;\nst.global.u32 [%at], %r2;"
        )
    };
    nothing(&selected("%r1", "%t"));
    assert_eq!(lines(&found(&selected("%t", "%r1"))), [(UNDEFINED, 11, Some(10))]);
    // The choice is what is undefined first, whatever it chooses between.
    let chosen = "setp.ne.u32 %p2, %r5, 1;\nselp.u32 %r2, %r6, 7, %p2;\nadd.u32 %r2, %r2, 1; st.global.u32 [%at], %r2;";
    assert_eq!(lines(&found(chosen)), [(UNDEFINED, 12, Some(10))]);
    // False and anything is false, true or anything true.
    let short = |op: &str, limit: u32| {
        format!(
            "setp.lt.u32 %p1, %t, 20; @%p1 setp.lt.u32 %p2, %t, 10; setp.{op}.u32 %p4, %t, {limit};\n\
             {}.pred %p3, %p4, %p2; @%p3 bra A; st.global.u32 [%at], 1; A:",
            if op == "lt" { "and" } else { "or" }
        )
    };
    nothing(&short("lt", 20));
    nothing(&short("ge", 20));
    assert_eq!(lines(&found(&short("lt", 21))), [(UNDEFINED, 11, Some(11))]);
    assert_eq!(lines(&found(&short("ge", 21))), [(UNDEFINED, 11, Some(11))]);
}

#[test]
fn undefined_registers_that_decide_nothing() {
    nothing("mov.u32 %r2, %r1; add.u32 %r3, %r2, 1;");
    nothing("add.u32 %r3, %r1, 1; mov.u32 %r3, 4; st.global.u32 [%at], %r3;");
    // What is copied may be a part of a structure that nobody has set.
    nothing("mov.u32 %r2, %r1; st.global.u32 [%at], %r2;");
    nothing(
        "add.u32 %r1, %r1, 1; mul.wide.u32 %rd1, %t, 8; add.u64 %rd1, %rd1, %out; st.global.v2.u32 [%rd1], {%t, %r1};",
    );
    nothing(
        "add.u32 %r1, %r1, 1; mul.wide.u32 %rd1, %t, 8; add.u64 %rd1, %rd1, %out; st.global.v2.u32 [%rd1], {%r1, %t};",
    );
    // In shared memory it may be left aside.
    assert_eq!(found_with("add.u32 %r2, %r1, 1; mov.u32 %r3, first; st.shared.u32 [%r3], %r2;", 1, TWO), []);
    // Some bits of what comes out are defined.
    nothing(
        "and.b32 %r2, %r1, 12; cvt.u64.u32 %rd1, %r2; add.u64 %rd1, %rd1, %out; ld.global.u32 %r3, [%rd1]; st.global.u32 [%at], %r3;",
    );
    nothing("sub.u32 %r2, %r1, %r1; add.u32 %r2, %r2, 1; st.global.u32 [%at], %r2;");
    // The carry flag begins at zero, as everything does that no instruction names.
    nothing("addc.u32 %r2, %t, 1; st.global.u32 [%at], %r2;");
    // Registers of called functions are not followed.
    nothing("{ .param .b32 a; .reg .b32 %r9; call (%r9), twice, (%t); st.global.u32 [%at], %r9; }");
}

#[test]
fn lanes_that_take_no_part() {
    let shuffle = |mode: &str, mask: &str, then: &str| {
        format!(
            "setp.ge.u32 %p1, %t, 24; @%p1 bra A; add.u32 %r1, %t, 1;\n\
             shfl.sync.{mode}.b32 %r2|%p2, %r1, 16, 31, {mask};\n{then} A:"
        )
    };
    let sum = "add.u32 %r3, %r1, %r2; st.global.u32 [%at], %r3;";
    for mask in ["0xffffff", "-1"] {
        let wrong = found(&shuffle("down", mask, sum));
        assert_eq!(
            (lines(&wrong), wrong[0].access.thread),
            (vec![(UNDEFINED, 12, Some(11))], [8, 0, 0]),
            "{mask}"
        );
        assert!(wrong[0].to_string().contains("takes no part in the shuffle"), "{}", wrong[0]);
    }
    assert_eq!(
        lines(&found(&shuffle("bfly", "0xffffff", "st.global.u32 [%at], %r2;"))),
        [(UNDEFINED, 12, Some(11))]
    );
    let exited = shuffle("down", "-1", sum).replace("bra A", "exit");
    assert_eq!(lines(&found(&exited)), [(UNDEFINED, 12, Some(11))]);
    // Of lanes that are out of range a lane keeps its own value.
    nothing(&shuffle("up", "0xffffff", sum));
    // What comes from outside is left aside: by a branch, by a choice.
    let aside = "setp.lt.u32 %p3, %t, 8; @%p3 add.u32 %r1, %r1, %r2; st.global.u32 [%at], %r1;";
    nothing(&shuffle("down", "0xffffff", aside));
    nothing(&shuffle(
        "down",
        "0xffffff",
        "setp.lt.u32 %p3, %t, 8; selp.u32 %r3, %r2, 0, %p3; add.u32 %r3, %r3, 1; st.global.u32 [%at], %r3;",
    ));
    // One undefined value makes the next: lane 0 gets that of lane 8.
    let next = "add.u32 %r1, %r1, %r2; shfl.sync.down.b32 %r4|%p2, %r1, 8, 31, 0xffffff; add.u32 %r1, %r1, %r4;\n\
        setp.eq.u32 %p3, %t, 0; @%p3 st.global.u32 [%at], %r1;";
    assert_eq!(lines(&found(&shuffle("down", "0xffffff", next))), [(UNDEFINED, 13, Some(11))]);
}

#[test]
fn local_memory_that_was_never_written() {
    let array = |written: u32, read: &str, then: &str| {
        let stores: String = (0..written).map(|at| format!("st.local.u32 [%rd1+{}], %t; ", at * 4)).collect();
        format!("{{ .local .align 16 .b8 a[32]; mov.u64 %rd1, a; {stores}\n{read}\n{then} }}")
    };
    let sum = "add.u32 %r2, %r2, 1; st.global.u32 [%at], %r2;";
    assert_eq!(lines(&found(&array(7, "ld.local.u32 %r2, [%rd1+28];", sum))), [(UNDEFINED, 12, Some(11))]);
    nothing(&array(8, "ld.local.u32 %r2, [%rd1+28];", sum));
    let generic = "cvta.local.u64 %rd2, %rd1; ld.u32 %r2, [%rd2+28];";
    assert_eq!(lines(&found(&array(7, generic, sum))), [(UNDEFINED, 12, Some(11))]);
    nothing(&array(8, generic, sum));
    // Of a vector each element counts by itself.
    let vector = "ld.local.v4.u32 {%r5, %r6, %r7, %r2}, [%rd1+16];";
    assert_eq!(lines(&found(&array(7, vector, sum))), [(UNDEFINED, 12, Some(11))]);
    nothing(&array(7, vector, "add.u32 %r7, %r7, 1; st.global.u32 [%at], %r7;"));
    // A part is written.
    nothing(&array(6, "st.local.u8 [%rd1+31], %t; ld.local.u32 %r2, [%rd1+28];", sum));
    // By a function that is called, whose stores are not followed.
    let set =
        "cvta.local.u64 %rd2, %rd1; add.u64 %rd2, %rd2, 28; call sets, (%rd2); ld.local.u32 %r2, [%rd1+28];";
    nothing(&array(7, set, sum));
    // A copy in local memory is what it is a copy of, and one in global memory may be of padding.
    let copy = "ld.local.u32 %r3, [%rd1+28]; st.local.u32 [%rd1+24], %r3; ld.local.u32 %r2, [%rd1+24];";
    assert_eq!(lines(&found(&array(7, copy, sum))), [(UNDEFINED, 12, Some(11))]);
    nothing(&array(8, copy, sum));
    nothing(&array(7, "ld.local.u32 %r2, [%rd1+28];", "st.global.u32 [%at], %r2;"));
    // Also of what is computed from such a value, whatever that is.
    let computed = "ld.local.u32 %r3, [%rd1+28]; add.u32 %r3, %r3, 1; st.local.u32 [%rd1+24], %r3; ld.local.u32 %r2, [%rd1+24];";
    assert_eq!(lines(&found(&array(7, computed, sum))), [(UNDEFINED, 12, Some(11))]);
    nothing(&array(8, computed, sum));
    // 16 bytes of one register are written.
    let wide = "mov.b64 %rd2, 3; { .reg .b128 %q; mov.b128 %q, {%rd2, %rd2}; st.local.b128 [%rd1+16], %q; }";
    for (at, is_wrong) in [(12, true), (16, false), (24, false), (28, false)] {
        let read = found(&array(0, &format!("{wide} ld.local.u32 %r2, [%rd1+{at}];"), sum));
        assert_eq!(lines(&read), if is_wrong { vec![(UNDEFINED, 12, Some(11))] } else { vec![] }, "{at}");
    }
    let wide = wide.replace("+16", "");
    let read = found(&array(0, &format!("{wide} ld.local.u32 %r2, [%rd1+16];"), sum));
    assert_eq!(lines(&read), [(UNDEFINED, 12, Some(11))]);
    // In one lane.
    let lane = "setp.ne.u32 %p1, %t, 9; @%p1 st.local.u32 [%rd1+28], 0; ld.local.u32 %r2, [%rd1+28];";
    let one = found(&array(7, lane, sum));
    assert_eq!((lines(&one), one[0].access.thread), (vec![(UNDEFINED, 12, Some(11))], [9, 0, 0]));
}
