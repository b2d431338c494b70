//! Kernels as compilers make them, and the same with one mistake each: of the first nothing is found, of the second that mistake.

use cuda_emulator::check::FindingKind;

use crate::checks_values::{found_with, lines};

/// What is found in the twin: the kind and the line.
type Found = (FindingKind, u32);

const UNDEFINED: FindingKind = FindingKind::UndefinedValue;
const UNINITIALISED: FindingKind = FindingKind::Uninitialised;
const RACE: FindingKind = FindingKind::Race;
const OUTSIDE: FindingKind = FindingKind::OutOfBounds;
const DIVERGENT: FindingKind = FindingKind::DivergentBarrier;
const WAIT: FindingKind = FindingKind::MissingWait;

const SHARED: &str = ".shared .align 16 .b8 s[512]; .shared .align 16 .b8 next[512];";

/// A body, whose first line is 10, for 64 threads; what replaces what in its twin; and what is found there.
const TWINS: &[(&str, &str, &str, Found)] = &[
    // A guarded load, and a choice between it and a default.
    (
        "setp.lt.u32 %p1, %t, 40; mov.u32 %r1, 0;\n@%p1 ld.global.u32 %r1, [%at];\nselp.u32 %r2, %r1, 7, %p1; add.u32 %r2, %r2, 1;\nst.global.u32 [%at], %r2;",
        "%r1, 7, %p1",
        "%r1, 7, %p2",
        (UNDEFINED, 13),
    ),
    (
        "setp.lt.u32 %p1, %t, 40;\n@%p1 ld.global.u32 %r1, [%at];\n@!%p1 mov.u32 %r1, 0; add.u32 %r2, %r1, 1;\nst.global.u32 [%at], %r2;",
        "@!%p1 mov.u32 %r1, 0;",
        "",
        (UNDEFINED, 13),
    ),
    // The tail of a loop, of which the number of rounds depends on the thread.
    (
        "mov.u32 %r1, 0; mov.u32 %r2, %t;\nL: add.u32 %r1, %r1, %r2; sub.u32 %r2, %r2, 4; setp.gt.s32 %p1, %r2, 0; @%p1 bra L;\nst.global.u32 [%at], %r1;",
        "mov.u32 %r1, 0;",
        "",
        (UNDEFINED, 12),
    ),
    // A reduction of a warp of which some lanes take part.
    (
        "setp.ge.u32 %p1, %t, 16; @%p1 bra E; add.u32 %r1, %t, 1;\nshfl.sync.down.b32 %r2|%p2, %r1, 8, 31, 0xffff;\nsetp.lt.u32 %p3, %t, 8; @%p3 add.u32 %r1, %r1, %r2;\nst.global.u32 [%at], %r1; E:",
        "%t, 8;",
        "%t, 9;",
        (UNDEFINED, 13),
    ),
    // The largest of a warp, by a choice.
    (
        "setp.ge.u32 %p1, %t, 16; @%p1 bra E; add.u32 %r1, %t, 1;\nshfl.sync.down.b32 %r2|%p2, %r1, 8, 31, 0xffff;\nsetp.gt.u32 %p3, %r2, %r1; selp.u32 %r1, %r2, %r1, %p3;\nsetp.lt.u32 %p4, %t, 8; @%p4 st.global.u32 [%at], %r1; E:",
        "%p4, %t, 8",
        "%p4, %t, 9",
        (UNDEFINED, 13),
    ),
    // Shared memory that is used again after a barrier.
    (
        "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t;\nbar.sync 0; xor.b32 %r3, %t, 33; mad.lo.u32 %r3, %r3, 4, %r1; ld.shared.u32 %r4, [%r3];\nbar.sync 0;\nadd.u32 %r4, %r4, 1; st.shared.u32 [%r2], %r4;\nbar.sync 0; ld.shared.u32 %r5, [%r3]; st.global.u32 [%at], %r5;",
        "bar.sync 0;\nadd",
        "\nadd",
        (RACE, 13),
    ),
    (
        "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1;\nst.shared.u32 [%r2], %t; bar.sync 0; xor.b32 %r3, %t, 33; mad.lo.u32 %r3, %r3, 4, %r1;\nld.shared.u32 %r4, [%r3]; st.global.u32 [%at], %r4;",
        "st.shared.u32 [%r2], %t;",
        "setp.ne.u32 %p1, %t, 9; @%p1 st.shared.u32 [%r2], %t;",
        (UNINITIALISED, 12),
    ),
    // A vector from shared memory, one element too far.
    (
        "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 8, %r1; mov.u32 %r3, next; mad.lo.u32 %r3, %t, 8, %r3; st.shared.v2.u32 [%r2], {%t, %t}; st.shared.v2.u32 [%r3], {%t, %t}; bar.sync 0;\nld.shared.v2.u32 {%r5, %r6}, [%r2];\nst.global.u32 [%at], %r6;",
        "{%r5, %r6}, [%r2]",
        "{%r5, %r6}, [%r2+8]",
        (OUTSIDE, 11),
    ),
    // A pair in one register.
    (
        "mov.b64 %rd1, {%t, %t}; mov.b64 {%r1, %r2}, %rd1; mov.u32 %r3, 5;\nadd.u32 %r4, %r1, %r3;\nst.global.u32 [%at], %r4;",
        "mov.u32 %r3, 5;",
        "",
        (UNDEFINED, 12),
    ),
    // A call with a parameter.
    (
        "mov.u32 %r1, %t;\n{ .param .b32 a; .reg .b32 %r9; mov.u32 %r9, 0; setp.lt.u32 %p1, %t, 4;\n@%p1 call (%r9), twice, (%r1);\nst.global.u32 [%at], %r9; }",
        "@%p1 call",
        "@%p2 call",
        (UNDEFINED, 12),
    ),
    // A local array that is written in part, and read where it is.
    (
        "{ .local .align 16 .b8 a[32]; mov.u64 %rd1, a; and.b32 %r1, %t, 3; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2; st.local.v4.u32 [%rd1], {%t, %t, %t, %t};\nld.local.u32 %r2, [%rd2];\nadd.u32 %r2, %r2, 1; st.global.u32 [%at], %r2; }",
        "[%rd2];",
        "[%rd2+16];",
        (UNDEFINED, 12),
    ),
    // A lock: one thread of each warp.
    (
        "and.b32 %r8, %t, 31; setp.ne.u32 %p3, %r8, 0; @%p3 ret; A: atom.global.cas.b32 %r1, [%out], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra A;\nld.global.u32 %r2, [%out+4]; add.u32 %r2, %r2, 1;\nst.global.u32 [%out+4], %r2;\nmembar.gl; atom.global.exch.b32 %r3, [%out], 0;",
        "A: atom.global.cas.b32 %r1, [%out], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra A;",
        "",
        (RACE, 12),
    ),
    // A copy that is waited for.
    (
        "mov.u32 %r1, s; mad.lo.u32 %r1, %t, 4, %r1; cp.async.ca.shared.global [%r1], [%at], 4; cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 %r2, [%r1];\nst.global.u32 [%at+1024], %r2;",
        "cp.async.wait_group 0;",
        "",
        (WAIT, 12),
    ),
    // A barrier that all threads come to, by a predicate that is the same in all.
    (
        "mov.u32 %r1, %ntid.x; setp.gt.u32 %p1, %r1, 32;\n@%p1 bar.sync 0;\nst.global.u32 [%at], 1;",
        "@%p1 bar",
        "@%p2 bar",
        (UNDEFINED, 11),
    ),
    (
        "setp.lt.u32 %p1, %t, 16; @%p1 bra A;\nadd.u32 %r1, %t, 1; bra E;\nA: add.u32 %r1, %t, 2;\nE: bar.sync 0;\nst.global.u32 [%at], %r1;",
        "%t, 1; bra E;",
        "%t, 1; bar.sync 0; bra E;",
        (DIVERGENT, 13),
    ),
    // A part of a warp leaves early.
    (
        "setp.ge.u32 %p1, %t, 50;\n@%p1 exit;\nst.global.u32 [%at], 1;",
        "@%p1 exit",
        "@%p2 exit",
        (UNDEFINED, 11),
    ),
];

#[test]
fn each_mistake_and_nothing_without_it() {
    let mut wrong = Vec::new();
    for (body, right, mistake, place) in TWINS {
        let found = found_with(body, 64, SHARED);
        if !found.is_empty() {
            wrong.push(format!("{body}\n{found:?}"));
        }
        let twin = body.replacen(right, mistake, 1);
        assert_ne!(twin, *body, "{right}");
        let found = lines(&found_with(&twin, 64, SHARED));
        let is_there = |(kind, line, other): &(FindingKind, u32, Option<u32>)| {
            *kind == place.0 && (*line == place.1 || *other == Some(place.1))
        };
        if !found.iter().any(is_there) {
            wrong.push(format!("{twin}\n{place:?} {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
