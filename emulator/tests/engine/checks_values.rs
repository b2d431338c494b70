//! Values that nobody has made, accesses that lead into another variable, and mbarriers that are made twice: what is found, and what is not.

use cuda_emulator::Checks;
use cuda_emulator::check::{Finding, FindingKind};

use crate::support::{Args, Device, launch, snippet_with};

const UNDEFINED: FindingKind = FindingKind::UndefinedValue;
const OUTSIDE: FindingKind = FindingKind::OutOfBounds;

/// Runs a body, which starts in line 10, in a block of so many threads; the output has 4 KiB of zeros, and so have `%rd40` and `%rd41`.
fn found_with(body: &str, threads: u32, shared: &str) -> Vec<Finding> {
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

fn found(body: &str) -> Vec<Finding> {
    found_with(body, 32, "")
}

/// Kind, line and, if there is one, the line of the other place.
fn lines(found: &[Finding]) -> Vec<(FindingKind, u32, Option<u32>)> {
    let line = |finding: &Finding| {
        (finding.kind, finding.access.ptx_line, finding.other.as_ref().map(|other| other.ptx_line))
    };
    found.iter().map(line).collect()
}

#[track_caller]
fn nothing(body: &str) {
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

/// What runs or not by a register that was never written: whether its lanes pass, which begin as zero, or not.
#[test]
fn guards_of_effects() {
    let mut wrong = Vec::new();
    for (verb, instruction) in [
        ("access guarded by it", "st.global.u32 [%at], 1;"),
        ("access guarded by it", "ld.global.u32 %r9, [%at];"),
        ("access guarded by it", "ld.global.v4.u32 {%r9, %r8, %r7, %r6}, [%out];"),
        ("access guarded by it", "st.shared.u32 [first], %t;"),
        ("access guarded by it", "atom.global.add.u32 %r9, [%out], 1;"),
        ("access guarded by it", "red.global.add.u32 [%out], 1;"),
        ("access guarded by it", "cp.async.ca.shared.global [first], [%out], 4;"),
        ("access guarded by it", "cp.async.wait_all;"),
        ("access guarded by it", "cp.async.commit_group;"),
        ("access guarded by it", "mbarrier.init.shared.b64 [second], 1;"),
        ("access guarded by it", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [first];"),
        ("access guarded by it", "st.local.u32 [a], 4;"),
        ("access guarded by it", "ld.local.u32 %r9, [a];"),
        ("fence guarded by it", "membar.gl;"),
        ("barrier guarded by it", "bar.sync 0;"),
        ("barrier guarded by it", "barrier.cta.arrive 1, 64;"),
        ("barrier guarded by it", "bar.red.popc.u32 %r9, 0, %p7;"),
        ("barrier guarded by it", "barrier.cluster.arrive;"),
        ("`bar.warp.sync` guarded by it", "bar.warp.sync -1;"),
        ("exchange between lanes guarded by it", "shfl.sync.idx.b32 %r9, %t, 0, 31, -1;"),
        ("exchange between lanes guarded by it", "vote.sync.ballot.b32 %r9, %p7, -1;"),
        ("branch by it", "bra LAST;"),
        ("branch by it", "brx.idx %r5, ALL;"),
        ("call guarded by it", "call sets, (%out);"),
        ("call guarded by it", "call (%r9), twice, (%t);"),
        ("return guarded by it", "exit;"),
        ("return guarded by it", "ret;"),
    ] {
        for guard in ["@%p6", "@!%p6"] {
            let body = format!(
                "ALL: .branchtargets LAST; .local .align 4 .b8 a[4]; setp.eq.u32 %p7, %t, 0; mov.u32 %r5, 0; st.shared.u32 [first], 0; bar.sync 0;\n\
                 {guard} {instruction}\nLAST: nanosleep.u32 1;"
            );
            let found: Vec<_> =
                found_with(&body, 32, TWO).into_iter().filter(|finding| finding.kind == UNDEFINED).collect();
            if (lines(&found), found.first().map(|found| found.access.verb))
                != (vec![(UNDEFINED, 11, None)], Some(verb))
            {
                wrong.push(format!("{guard} {instruction} {found:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let stops = "setp.eq.u32 %p7, %t, 0;\n@%p6 trap;";
    assert_eq!(lines(&found(stops)), [(UNDEFINED, 11, None)]);
    // Hints have no effect.
    nothing("@%p6 prefetch.global.L1 [%at]; @!%p6 nanosleep.u32 1; @%p6 prefetch.global.L2 [%at];");
}

/// Whether a register is written: what it then holds is undefined, which matters where that decides something.
#[test]
fn guards_of_registers() {
    let last = "add.u32 %r2, %r2, 1;\nst.global.u32 [%at], %r2;";
    for guard in ["@%p1", "@!%p1"] {
        for write in
            ["mov.u32 %r2, 5;", "mul.lo.u32 %r2, %t, 3;", "popc.b32 %r2, %t;", "ld.param.u32 %r2, [more];"]
        {
            nothing(&format!("mov.u32 %r2, 4; {guard} {write}"));
            let body = format!("mov.u32 %r2, 4;\n{guard} {write}\n{last}");
            assert_eq!(lines(&found(&body)), [(UNDEFINED, 13, Some(11))], "{body}");
            // Written again.
            nothing(&format!("{guard} {write} mov.u32 %r2, 4; {last}"));
        }
        // The write of one is no mistake of the other's: it is told once, by the first that decides.
        let both =
            format!("mov.u32 %r2, 4; mov.u32 %r3, 4;\n{guard} mov.u32 %r2, 5;\n@%p1 mov.u32 %r3, 5;\n{last}");
        assert_eq!(lines(&found(&both)), [(UNDEFINED, 14, Some(11))]);
        // A choice is stored although nothing is computed from it.
        let chosen = format!("mov.u32 %r2, 4;\n{guard} mov.u32 %r2, 5;\nst.global.u32 [%at], %r2;");
        assert_eq!(lines(&found(&chosen)), [(UNDEFINED, 12, Some(11))]);
        // It guards what writes itself.
        let own = format!("{guard} setp.lt.u32 %p1, %t, 40;\n@%p1 st.global.u32 [%at], 1;");
        assert_eq!(lines(&found(&own)), [(UNDEFINED, 11, Some(10))]);
    }
    for select in ["selp.u32 %r2, %t, 7, %p1;", "selp.u32 %r2, 7, %t, %p1;"] {
        assert_eq!(lines(&found(&format!("{select}\n{last}"))), [(UNDEFINED, 12, Some(10))]);
        assert_eq!(
            lines(&found(&format!("{select}\nst.global.u32 [%at], %r2;"))),
            [(UNDEFINED, 11, Some(10))]
        );
        nothing(&format!("{select} mov.u32 %r2, 1; {last}"));
    }
    // In the lanes in which the guard is undefined.
    let some = |bound: u32| {
        format!(
            "mov.u32 %r2, 4; setp.lt.u32 %p2, %t, 20; @%p2 setp.lt.u32 %p1, %t, 10; @%p1 mov.u32 %r2, 5; add.u32 %r2, %r2, 1;\n\
             setp.lt.u32 %p3, %t, {bound};\n@%p3 st.global.u32 [%at], %r2;"
        )
    };
    nothing(&some(20));
    let wrong = found(&some(21));
    assert_eq!((lines(&wrong), wrong[0].access.thread), (vec![(UNDEFINED, 12, Some(10))], [20, 0, 0]));
    // What was undefined before stays so where nobody writes it.
    let before =
        "setp.lt.u32 %p2, %t, 20; @%p2 mov.u32 %r2, 5; add.u32 %r2, %r2, 1;\nst.global.u32 [%at], %r2;";
    assert_eq!(lines(&found(before)), [(UNDEFINED, 11, Some(10))]);
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

const TWO: &str = ".shared .align 16 .b8 first[128]; .shared .align 16 .b8 second[128];";

#[test]
fn from_one_shared_variable_into_the_next() {
    let at = |base: &str, offset: i64| {
        let both = "mov.u32 %r1, first; mov.u32 %r2, second; shl.b32 %r3, %t, 2; add.u32 %r4, %r1, %r3; add.u32 %r5, %r2, %r3; \
            st.shared.u32 [%r4], 0; st.shared.u32 [%r5], 0; bar.sync 0;";
        format!("{both} {base}\nld.shared.u32 %r9, [%r8+{offset}]; st.global.u32 [%at], %r9;")
    };
    let run = |base: &str, offset| found_with(&at(base, offset), 32, TWO);
    let wrong = run("add.u32 %r8, %r1, %r3;", 128);
    assert_eq!(lines(&wrong), [(OUTSIDE, 11, None)]);
    assert!(
        wrong[0].to_string().contains("at offset 128 of variable `first`, which has 128 bytes"),
        "{}",
        wrong[0]
    );
    for (base, offset) in [
        ("add.u32 %r8, %r2, %r3;", -4),
        ("mad.lo.u32 %r8, %t, 4, %r1;", 4),
        ("mov.u32 %r8, first; L: add.u32 %r8, %r8, 4; setp.lt.u32 %p1, %r8, 1148; @%p1 bra L;", 4),
        // What a variable has is a number, by itself or in a vector.
        ("st.shared.u32 [%r4], 128; ld.shared.u32 %r7, [%r4]; add.u32 %r8, %r4, %r7;", 0),
        (
            "st.shared.u32 [%r4], 128; bar.sync 0; ld.shared.v2.u32 {%r6, %r7}, [%r1]; add.u32 %r8, %r4, %r7;",
            0,
        ),
    ] {
        assert_eq!(lines(&run(base, offset)), [(OUTSIDE, 11, None)], "{base}");
    }
    for (base, offset) in [
        ("add.u32 %r8, %r1, %r3;", 0),
        ("mad.lo.u32 %r8, %t, 4, %r2;", 0),
        // Below the variable, until the offset is added.
        ("sub.u32 %r8, %r2, 64;", 64),
        // One of two; the distance of two; a number.
        ("setp.lt.u32 %p1, %t, 5; selp.u32 %r8, %r1, %r2, %p1;", 0),
        ("mov.u32 %r8, first; setp.lt.u32 %p1, %t, 5; @%p1 mov.u32 %r8, second;", 0),
        ("sub.u32 %r7, %r2, %r1; add.u32 %r8, %r1, %r7;", 0),
        ("shl.b32 %r7, %r2, 0; sub.u32 %r7, %r7, %r1; add.u32 %r8, %r1, %r7;", 0),
        ("mov.u32 %r8, 1152;", 0),
        // The distance of two, by a product and in pieces.
        ("sub.u32 %r7, %r2, %r1; mad.lo.u32 %r8, %r7, 1, %r1;", 0),
        ("shl.b32 %r6, %r1, 0; shl.b32 %r7, %r2, 0; sub.u32 %r7, %r7, %r6; add.u32 %r8, %r1, %r7;", 0),
        // Half of a pair with one.
        ("mov.u32 %r7, 1152; mov.b64 %rd1, {%r1, %r7}; mov.b64 {%r6, %r8}, %rd1;", 0),
    ] {
        assert_eq!(run(base, offset), [], "{base}");
    }
}

/// The array that the launch makes begins behind the variables.
#[test]
fn from_dynamic_shared_memory_into_a_variable() {
    let module = ".shared .align 16 .b8 first[128];\n.extern .shared .align 16 .b8 rest[];";
    let run = |offset: i64| {
        let body = format!(
            "mov.u32 %r2, first; mov.u32 %r1, rest; add.u32 %r1, %r1, %t;\nst.shared.u8 [%r1+{offset}], %t;"
        );
        let device = Device::checked(&snippet_with(module, &body));
        let out = device.zeroed::<u32>(32);
        let mut launch = launch(&device, "k", [1; 3], [32, 1, 1], &Args::new().add(out));
        launch.dynamic_shared = 64;
        device.try_launch("k", launch).unwrap();
        device.findings()
    };
    for offset in [0, 32] {
        assert_eq!(run(offset), [], "{offset}");
    }
    let wrong = run(-1);
    assert_eq!((lines(&wrong), wrong[0].access.thread), (vec![(OUTSIDE, 11, None)], [0; 3]));
    assert!(wrong[0].to_string().contains("at offset -1 of variable `rest`:"), "{}", wrong[0]);
}

#[test]
fn from_one_local_variable_into_the_next() {
    let run = |body: &str| {
        found(&format!(
            "{{ .local .align 16 .b8 a[32]; .local .align 16 .b8 b[32]; mov.u64 %rd1, a; mov.u64 %rd2, b;\n{body} }}"
        ))
    };
    for (body, place) in [
        ("st.local.u32 [%rd1+32], 1;", "at offset 32 of variable `a`, which has 32 bytes"),
        ("st.local.u32 [%rd2+-4], 1;", "at offset -4 of variable `b`, which has 32 bytes"),
        ("st.local.u32 [a+32], 1;", "at offset 32 of variable `a`, which has 32 bytes"),
        ("st.local.u32 [b+-32], 1;", "at offset -32 of variable `b`, which has 32 bytes"),
        (
            "cvta.local.u64 %rd3, %rd1; st.u32 [%rd3+36], 1;",
            "at offset 36 of variable `a`, which has 32 bytes",
        ),
        (
            "cvta.local.u64 %rd3, %rd1; ld.u32 %r1, [%rd3+32];",
            "at offset 32 of variable `a`, which has 32 bytes",
        ),
        ("ld.local.v2.u32 {%r1, %r2}, [%rd1+32];", "at offset 32 of variable `a`, which has 32 bytes"),
    ] {
        let wrong = run(body);
        assert_eq!(lines(&wrong), [(OUTSIDE, 11, None)], "{body}");
        assert!(wrong[0].to_string().contains(place), "{}", wrong[0]);
        assert!(wrong[0].to_string().contains(" bytes of local memory at 0x"), "{}", wrong[0]);
    }
    for body in [
        "st.local.u32 [%rd1+28], 1; st.local.u32 [a+28], 1; st.local.u32 [b], 1;",
        "cvta.local.u64 %rd3, %rd2; st.u32 [%rd3], 1; ld.u32 %r1, [%rd3+28];",
        "st.local.v4.u32 [%rd1+16], {%t, %t, %t, %t}; ld.local.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2+16];",
        "setp.lt.u32 %p1, %t, 7; selp.b64 %rd3, %rd1, %rd2, %p1; st.local.u32 [%rd3+28], 1;",
        // The address of one is stored in the other.
        "st.local.u64 [%rd2], %rd1; st.local.u64 [a], %rd2; ld.local.u64 %rd3, [%rd1]; st.local.u32 [%rd3], 1;",
        // A function has its own, and reaches its caller's.
        "cvta.local.u64 %rd3, %rd2; call fills, (%rd3);",
    ] {
        assert_eq!(run(body), [], "{body}");
    }
    // In a function that is called.
    let wrong = run("cvta.local.u64 %rd3, %rd2; call leaves, (%rd3);");
    assert_eq!(lines(&wrong), [(OUTSIDE, 4, None)]);
    assert_eq!(wrong[0].access.function.as_deref(), Some("leaves"));
}

/// From each space into each other one, by a distance that is a number in memory.
#[test]
fn from_one_space_into_another() {
    let addresses = [("first", "shared"), ("a", "local"), ("g", "global"), ("%rd40", "")];
    let targets = [("second", "shared"), ("b", "local"), ("h", "global"), ("%rd41", "")];
    let into = |(name, space): (&str, &str), register: &str| match space {
        "" => format!("mov.u64 {register}, {name};"),
        space => format!("mov.u64 {register}, {name}; cvta.{space}.u64 {register}, {register};"),
    };
    let run = |from, to, access: &str| {
        let body = format!(
            "{{ .local .align 16 .b8 a[32]; .local .align 16 .b8 b[32]; {} {} sub.u64 %rd4, %rd2, %rd1; st.global.u64 [%out+2048], %rd4;\n\
             ld.global.u64 %rd5, [%out+2048]; add.u64 %rd3, %rd1, %rd5;\n{access} }}",
            into(from, "%rd1"),
            into(to, "%rd2")
        );
        found_with(&body, 1, TWO)
    };
    for from in addresses {
        for (to, place) in targets.into_iter().zip([
            "in the shared memory of a block",
            "in the local memory of the thread",
            "inside the allocation",
            "inside the allocation",
        ]) {
            for access in ["st.u32 [%rd3], %t;", "ld.u32 %r1, [%rd3];", "st.v2.u32 [%rd3], {%t, %t};"] {
                let found = run(from, to, access);
                let wrong: Vec<_> = found.iter().filter(|finding| finding.kind == OUTSIDE).cloned().collect();
                assert_eq!(lines(&wrong), [(OUTSIDE, 12, None)], "{from:?} {to:?} {access} {found:?}");
                let text = wrong[0].to_string();
                let is_same = from.1 == to.1 && ["shared", "local"].contains(&from.1);
                assert!(is_same || text.contains(place), "{from:?} {to:?} {text}");
                let own = if from.1.is_empty() { "`more`" } else { &format!("variable `{}`", from.0) };
                assert!(text.contains(own), "{from:?} {to:?} {text}");
            }
            // Atomics have no local memory.
            if to.1 != "local" {
                assert!(run(from, to, "red.add.u32 [%rd3], 1;").iter().any(|found| found.kind == OUTSIDE));
            }
        }
        let own = run(from, from, "st.u32 [%rd3], %t; ld.u32 %r1, [%rd3]; red.add.u32 [%out], 1;");
        assert_eq!(own, [], "{from:?}");
    }
    // Numbers among the parameters are no addresses, wherever they lead.
    let number = "ld.param.u64 %rd9, [more+16]; mov.u64 %rd1, first; cvta.shared.u64 %rd1, %rd1; add.u64 %rd2, %rd9, 0x700000000400; st.u32 [%rd2], %t;";
    assert_eq!(found_with(number, 1, TWO), []);
}

#[test]
fn from_one_allocation_into_another() {
    // The distance is a number, which memory has.
    let far = |from: &str, to: &str| {
        format!(
            "sub.u64 %rd1, {to}, {from}; st.global.u64 [%out+2048], %rd1; bar.warp.sync -1; ld.global.u64 %rd2, [%out+2048];\n\
             setp.eq.u32 %p1, %t, 0; add.u64 %rd3, {from}, %rd2;\n@%p1 st.global.u32 [%rd3], 7;"
        )
    };
    let wrong = found(&far("%rd40", "%rd41"));
    assert_eq!(lines(&wrong), [(OUTSIDE, 12, None)]);
    assert!(wrong[0].to_string().contains("not in that of parameter `more`"), "{}", wrong[0]);
    nothing(&far("%rd40", "%rd40"));
    let variables =
        "mov.u64 %rd4, g; mov.u64 %rd5, h; cvta.global.u64 %rd6, %rd4; cvta.global.u64 %rd7, %rd5; ";
    let wrong = found(&format!("{variables}{}", far("%rd6", "%rd7")));
    assert_eq!(lines(&wrong), [(OUTSIDE, 12, None)]);
    assert!(wrong[0].to_string().contains("not in variable `g`"), "{}", wrong[0]);
    nothing(&format!("{variables}{}", far("%rd6", "%rd6")));
    // A number among the parameters that is added to an address.
    nothing(
        "sub.u64 %rd1, %rd41, %rd41; add.u64 %rd1, %rd1, %rd40; setp.eq.u32 %p1, %t, 0; @%p1 st.global.u32 [%rd1], 7;",
    );
    nothing("setp.eq.u32 %p1, %t, 0; selp.b64 %rd1, %rd40, %rd41, %p1; st.global.u32 [%rd1], 7;");
}

#[test]
fn constant_memory_is_not_written() {
    let store = |to: &str| {
        format!(
            "mov.u64 %rd1, {to}; {}\nsetp.eq.u32 %p1, %t, 0; @%p1 st.u32 [%rd1], 7;",
            if to == "c" { "cvta.const.u64 %rd1, %rd1;" } else { "cvta.global.u64 %rd1, %rd1;" }
        )
    };
    let wrong = found(&store("c"));
    assert_eq!(lines(&wrong), [(FindingKind::ConstantWrite, 11, None)]);
    assert!(
        wrong[0].to_string().starts_with("write to constant memory in kernel `k`: 4 bytes"),
        "{}",
        wrong[0]
    );
    nothing(&store("g"));
    nothing("ld.const.u32 %r1, [c]; st.global.u32 [%at], %r1;");
}

#[test]
fn an_mbarrier_is_made_once() {
    let bar = ".shared .align 8 .b64 bar; .shared .align 8 .b64 other;";
    let run = |between: &str| {
        let init = "@%p1 mbarrier.init.shared.b64 [%r1], 1;";
        found_with(
            &format!(
                "mov.u32 %r1, bar; mov.u32 %r2, other; setp.eq.u32 %p1, %t, 0; {init} bar.sync 0;\n{between}\n{init}"
            ),
            32,
            bar,
        )
    };
    assert_eq!(lines(&run("")), [(FindingKind::LiveMbarrier, 12, None)]);
    assert!(run("")[0].to_string().contains("`mbarrier.inval` has to come before"), "{}", run("")[0]);
    assert_eq!(run("@%p1 mbarrier.inval.shared.b64 [%r1]; bar.sync 0;"), []);
    assert_eq!(
        lines(&run("@%p1 mbarrier.inval.shared.b64 [%r2]; bar.sync 0;")),
        [(FindingKind::LiveMbarrier, 12, None)]
    );
    // For who asks for it.
    let text = snippet_with(".shared .align 8 .b64 bar;", &"mbarrier.init.shared.b64 [bar], 1;\n".repeat(2));
    for (checks, count) in [("init,race", 0), ("barrier", 1)] {
        let device = Device::checked_for(&text, Checks::parse(checks).unwrap());
        device.launch("k", [1; 3], [1; 3], &Args::new().add(device.zeroed::<u32>(1)));
        assert_eq!(device.findings().len(), count, "{checks}");
    }
    // All threads of a warp make it together: that is one instruction.
    let together = "mov.u32 %r1, bar; mbarrier.init.shared.b64 [%r1], 1;";
    assert_eq!(found_with(together, 32, bar), []);
}
