//! Branches, calls, divergence.

use crate::support::{Args, Device, HEADER, outputs, snippet, snippet_with};

#[test]
fn predicated_instructions_keep_the_other_lanes() {
    let text = snippet(
        "and.b32 %r1, %t, 1;
         setp.eq.u32 %p1, %r1, 0;
         mov.u32 %r2, 7;
         @%p1 mov.u32 %r2, 100;
         @!%p1 add.u32 %r2, %r2, %t;
         st.global.u32 [%at], %r2;",
    );
    let out: Vec<u32> = outputs(&text, 40, 40);
    assert_eq!(out, (0..40).map(|t| if t % 2 == 0 { 100 } else { 7 + t }).collect::<Vec<u32>>());
}

#[test]
fn divergent_loops_and_exits() {
    // Thread t adds 1 + 2 + .. + t; threads above 50 leave before they store.
    let text = snippet(
        "mov.u32 %r1, 0; mov.u32 %r2, 0;
         LOOP:
         setp.ge.u32 %p1, %r2, %t;
         @%p1 bra DONE;
         add.u32 %r2, %r2, 1;
         add.u32 %r1, %r1, %r2;
         bra.uni LOOP;
         DONE:
         setp.gt.u32 %p2, %t, 50;
         @%p2 exit;
         st.global.u32 [%at], %r1;",
    );
    let out: Vec<u32> = outputs(&text, 64, 64);
    assert_eq!(out, (0..64).map(|t| if t > 50 { 0 } else { t * (t + 1) / 2 }).collect::<Vec<u32>>());
}

#[test]
fn sides_of_a_branch_meet_again() {
    // If the sides did not meet, activemask behind them would not have all lanes.
    let text = snippet(
        "setp.lt.u32 %p1, %t, 10;
         @%p1 bra LEFT;
         mov.u32 %r1, 1;
         bra.uni JOIN;
         LEFT:
         setp.lt.u32 %p2, %t, 5;
         @%p2 bra JOIN;
         mov.u32 %r1, 2;
         JOIN:
         activemask.b32 %r2;
         st.global.u32 [%at], %r2;",
    );
    assert_eq!(outputs::<u32>(&text, 32, 32), [u32::MAX; 32]);
    assert_eq!(outputs::<u32>(&text, 20, 20), [0xf_ffff; 20]);
}

#[test]
fn an_inner_branch_does_not_lose_the_lanes_of_an_outer_one() {
    let text = snippet(
        "mov.u32 %r1, 0;
         setp.lt.u32 %p1, %t, 10;
         @%p1 bra OUTER;
         setp.lt.u32 %p2, %t, 20;
         @%p2 bra INNER;
         mov.u32 %r1, 1;
         INNER:
         activemask.b32 %r2;
         OUTER:
         activemask.b32 %r3;
         mad.wide.u32 %rd1, %t, 8, %at;
         st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u32 [%rd1+8], %r3;",
    );
    let out: Vec<u32> = outputs(&text, 32, 96);
    for (t, words) in out.chunks(3).enumerate() {
        let inner = if t < 10 { 0 } else { 0xffff_fc00 };
        assert_eq!(words, [u32::from(t >= 20), inner, u32::MAX], "thread {t}");
    }
}

#[test]
fn lanes_meet_again_where_they_started() {
    // Twice the lanes leave an inner loop one by one: behind it all have to be together, also the second time, when those that come last
    // started their turn there.
    let text = snippet(
        "mov.u32 %r1, 0; mov.u32 %r4, -1;
         OUTER:
         mov.u32 %r2, 0;
         INNER:
         setp.ge.u32 %p1, %r2, %t;
         @%p1 bra BEHIND;
         add.u32 %r2, %r2, 1;
         bra.uni INNER;
         BEHIND:
         activemask.b32 %r3;
         and.b32 %r4, %r4, %r3;
         add.u32 %r1, %r1, 1;
         setp.lt.u32 %p2, %r1, 4;
         @%p2 bra OUTER;
         st.global.u32 [%at], %r4;",
    );
    assert_eq!(outputs::<u32>(&text, 32, 32), [u32::MAX; 32]);
}

#[test]
fn registers_are_zero_in_every_block_until_they_are_written() {
    // In even blocks odd threads write the registers, in odd blocks none does.
    let text = snippet(
        "mov.u32 %r4, %ctaid.x;
         mad.lo.u32 %r5, %r4, 32, 0;
         mul.wide.u32 %rd2, %r5, 4;
         add.u64 %at, %at, %rd2;
         not.b32 %r1, %r4;
         and.b32 %r1, %r1, %t;
         and.b32 %r1, %r1, 1;
         setp.ne.u32 %p1, %r1, 0;
         @%p1 mov.u32 %r2, 1000;
         @%p1 mov.u64 %rd1, 70000;
         cvt.u32.u64 %r3, %rd1;
         add.u32 %r2, %r2, %r3;
         st.global.u32 [%at], %r2;",
    );
    // One worker runs all blocks, one after the other, on the same frame.
    let device = Device { workers: 1, ..Device::new(&text) };
    let out = device.zeroed::<u32>(256);
    device.launch("k", [8, 1, 1], [32, 1, 1], &Args::new().add(out));
    let wanted = |t: u32| if (t / 32).is_multiple_of(2) && t % 2 == 1 { 71000 } else { 0 };
    assert_eq!(device.download::<u32>(out, 256), (0..256).map(wanted).collect::<Vec<u32>>());
}

#[test]
fn indexed_branches() {
    let text = snippet(
        "and.b32 %r1, %t, 3;
         TARGETS: .branchtargets A, B, C, A;
         brx.idx %r1, TARGETS;
         A: mov.u32 %r2, 10; bra.uni END;
         B: mov.u32 %r2, 20; bra.uni END;
         C: mov.u32 %r2, 30;
         END: st.global.u32 [%at], %r2;",
    );
    assert_eq!(outputs::<u32>(&text, 33, 33), (0..33).map(|t| [10, 20, 30, 10][t % 4]).collect::<Vec<u32>>());
}

#[test]
fn calls_with_parameters_of_all_sizes() {
    let text = snippet_with(
        ".func (.param .align 8 .b8 result[16]) f(.param .b8 a, .param .b16 b, .param .align 8 .b8 s[24], .param .b64 d) {
             .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b16 %h<4>;
             ld.param.s8 %r1, [a];
             ld.param.u16 %h1, [b];
             ld.param.v2.u32 {%r2, %r3}, [s+8];
             ld.param.u8 %r4, [s+21];
             ld.param.u64 %rd1, [d];
             cvt.u32.u16 %r5, %h1;
             add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
             st.param.u32 [result], %r1;
             st.param.u64 [result+8], %rd1;
             ret;
         }",
        "{ .param .b8 a; .param .b16 b; .param .align 8 .b8 s[24]; .param .b64 d; .param .align 8 .b8 result[16];
           neg.s32 %r1, %t; st.param.b8 [a], %r1;
           mov.u16 %h1, 1000; st.param.b16 [b], %h1;
           st.param.v2.b32 [s+8], {%t, 5};
           st.param.b8 [s+20], 99; st.param.b8 [s+21], 7; st.param.b8 [s+22], 98;
           mul.wide.u32 %rd1, %t, 1000000; st.param.b64 [d], %rd1;
           call.uni (result), f, (a, b, s, d);
           ld.param.u32 %r2, [result]; ld.param.b64 %rd2, [result+8]; }
         cvt.u32.u64 %r3, %rd2;
         add.u32 %r2, %r2, %r3;
         st.global.u32 [%at], %r2;",
    );
    let out: Vec<u32> = outputs(&text, 100, 100);
    assert_eq!(out, (0..100u32).map(|t| 1000 + 5 + 7 + t * 1_000_000).collect::<Vec<u32>>());
}

#[test]
fn calls_with_register_parameters() {
    let text = snippet_with(
        ".func (.reg .u32 sum, .reg .u64 wide) f(.reg .u32 a, .reg .u64 b) {
             .reg .u64 %rd1;
             cvt.u32.u64 sum, b;
             add.u32 sum, sum, a;
             cvt.u64.u32 %rd1, a;
             shl.b64 wide, %rd1, 33;
             ret;
         }",
        "mul.wide.u32 %rd1, %t, 3;
         call (%r2, %rd2), f, (%t, %rd1);
         call (%r3, %rd3), f, (5, %rd1);
         shr.u64 %rd2, %rd2, 30; cvt.u32.u64 %r4, %rd2;
         add.u32 %r2, %r2, %r4; add.u32 %r2, %r2, %r3;
         st.global.u32 [%at], %r2;",
    );
    assert_eq!(
        outputs::<u32>(&text, 40, 40),
        (0..40u32).map(|t| 4 * t + 8 * t + 5 + 3 * t).collect::<Vec<u32>>()
    );
}

#[test]
fn predicated_calls_and_returns() {
    let text = snippet_with(
        ".func (.param .b32 r) f(.param .b32 a) {
             .reg .b32 %r<3>; .reg .pred %p;
             ld.param.b32 %r1, [a];
             setp.gt.u32 %p, %r1, 20;
             st.param.b32 [r], 1;
             @%p ret;
             st.param.b32 [r], 2;
         }",
        "setp.lt.u32 %p1, %t, 25;
         mov.u32 %r1, 9;
         { .param .b32 a; .param .b32 r;
           st.param.b32 [a], %t;
           st.param.b32 [r], 9;
           @%p1 call (r), f, (a);
           ld.param.b32 %r1, [r]; }
         st.global.u32 [%at], %r1;",
    );
    let expected = |t| {
        if t >= 25 {
            9
        } else if t > 20 {
            1
        } else {
            2
        }
    };
    assert_eq!(outputs::<u32>(&text, 32, 32), (0..32).map(expected).collect::<Vec<u32>>());
}

/// Nothing but the table names the two: they are found although the last function that is looked at was looked at before.
#[test]
fn functions_that_only_a_table_names_beside_one_that_is_called_twice() {
    let call = |number: u32, input: &str| {
        format!(
            "{{ .param .b32 a; .param .b32 r; st.param.b32 [a], {input};
               call (r), twice, (a); ld.param.b32 %r{number}, [r]; }}"
        )
    };
    let function = |name: &str, what: &str| {
        format!(
            ".func (.param .b32 r) {name}(.param .b32 a) {{
                 .reg .b32 %r<3>; ld.param.b32 %r1, [a]; {what}; st.param.b32 [r], %r2; ret;
             }}\n"
        )
    };
    let declarations = [
        function("twice", "add.u32 %r2, %r1, %r1"),
        function("plus", "add.u32 %r2, %r1, 100"),
        function("times", "mul.lo.u32 %r2, %r1, 100"),
        ".global .u64 table[2] = {plus, times};".into(),
    ]
    .concat();
    let body = [
        call(1, "%t"),
        call(2, "%r1"),
        "and.b32 %r3, %t, 1; mul.wide.u32 %rd1, %r3, 8; mov.u64 %rd2, table; add.u64 %rd1, %rd1, %rd2;
         ld.global.u64 %rd3, [%rd1];
         { .param .b32 a; .param .b32 r; st.param.b32 [a], %r2;
           either: .callprototype (.param .b32 _) _ (.param .b32 _);
           call (r), %rd3, (a), either;
           ld.param.b32 %r4, [r]; }
         st.global.u32 [%at], %r4;"
            .into(),
    ]
    .concat();
    let expected = (0..40).map(|t| if t % 2 == 0 { 4 * t + 100 } else { 400 * t });
    assert_eq!(outputs::<u32>(&snippet_with(&declarations, &body), 40, 40), expected.collect::<Vec<u32>>());
}

#[test]
fn functions_of_the_test_kernels() {
    let device = Device::file("tests/kernels/calls.ptx");
    let n = 100usize;
    let which: Vec<u32> = (0..n as u32).map(|i| i * 7 % 4).collect();
    let a: Vec<u32> = (0..n as u32).map(|i| i * i).collect();
    let b: Vec<u32> = (0..n as u32).map(|i| i + 3).collect();
    let (dw, da, db, out) =
        (device.upload(&which), device.upload(&a), device.upload(&b), device.zeroed::<u32>(n));
    let args = Args::new().add(dw).add(da).add(db).add(out).add(n as u32);
    device.launch("indirect", [1, 1, 1], [128, 1, 1], &args);
    let expected = (0..n).map(|i| match which[i] {
        0 => a[i] + b[i],
        1 => a[i].wrapping_sub(b[i]),
        2 => a[i].wrapping_mul(b[i]),
        _ => a[i],
    });
    assert_eq!(device.download::<u32>(out, n), expected.collect::<Vec<u32>>());

    device.launch("recursive", [1, 1, 1], [16, 1, 1], &Args::new().add(out));
    assert_eq!(
        device.download::<u32>(out, 16),
        [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610]
    );
    device.launch("mutual", [1, 1, 1], [20, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 20), (0..20).map(|t| u32::from(t % 2 == 0)).collect::<Vec<u32>>());
    device.launch("through_pointer", [1, 1, 1], [20, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 20), (3..23).collect::<Vec<u32>>());
    device.launch("virtual_call", [1, 1, 1], [40, 1, 1], &Args::new().add(out));
    let area = |t: usize| (if t.is_multiple_of(2) { 1.0 } else { 3.0 }) * (t * t) as f32;
    assert_eq!(device.download::<f32>(out, 40), (0..40).map(area).collect::<Vec<f32>>());
    device.launch("barrier_in_function", [1, 1, 1], [64, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 64), (0..64).map(|t| (t ^ 1) * 10).collect::<Vec<u32>>());
}

#[test]
fn many_arguments_and_structs() {
    let device = Device::file("tests/kernels/calls.ptx");
    let input: Vec<f64> = (0..40).map(|t| f64::from(t) * 1.25).collect();
    let (din, out) = (device.upload(&input), device.zeroed::<f64>(40));
    device.launch("ten_arguments", [1, 1, 1], [40, 1, 1], &Args::new().add(din).add(out));
    let expected = |t: i32| {
        let x = f64::from(t);
        let sum = -x + x - 2.0 * x + 3.0 * x + x * 0.5 + x * 0.25 + f64::from(t % 2);
        sum + input[t as usize] + x + 1.0 + x
    };
    assert_eq!(device.download::<f64>(out, 40), (0..40).map(expected).collect::<Vec<f64>>());

    let matrix = |seed: usize| (0..9).map(move |i| ((seed * 13 + i * 7) % 11) as f32 - 5.0);
    let a: Vec<f32> = (0..32).flat_map(matrix).collect();
    let b: Vec<f32> = (32..64).flat_map(matrix).collect();
    let (da, db, out) = (device.upload(&a), device.upload(&b), device.zeroed::<f32>(9 * 32));
    device.launch("structs", [1, 1, 1], [32, 1, 1], &Args::new().add(da).add(db).add(out));
    let c: Vec<f32> = device.download(out, 9 * 32);
    for (at, c) in c.iter().enumerate() {
        let (m, i, j) = (at / 9 * 9, at % 9 / 3, at % 3);
        let sum: f32 = (0..3).map(|k| a[m + i * 3 + k] * b[m + k * 3 + j]).sum();
        assert_eq!(*c, sum);
    }
}

#[test]
fn scopes_shadow_and_labels_repeat() {
    let text = snippet(
        "mov.u32 %r1, 1;
         { .reg .b32 %r1; mov.u32 %r1, 50; bra.uni L; add.u32 %r1, %r1, 1000; L: add.u32 %r2, %r1, 0; }
         { bra.uni L; add.u32 %r2, %r2, 1000; L: add.u32 %r2, %r2, 7; }
         add.u32 %r1, %r1, %r2;
         st.global.u32 [%at], %r1;",
    );
    assert_eq!(outputs::<u32>(&text, 1, 1), [58]);
}

#[test]
fn special_registers() {
    let names = [
        "%tid.x",
        "%tid.y",
        "%tid.z",
        "%ntid.x",
        "%ntid.y",
        "%ntid.z",
        "%ctaid.x",
        "%ctaid.y",
        "%ctaid.z",
        "%nctaid.x",
        "%nctaid.y",
        "%nctaid.z",
        "%laneid",
        "%warpid",
        "%lanemask_eq",
        "%lanemask_lt",
        "%lanemask_le",
        "%lanemask_gt",
        "%lanemask_ge",
        "%dynamic_smem_size",
    ];
    let mut body = String::new();
    for (at, name) in names.iter().enumerate() {
        body += &format!("mov.u32 %r1, {name}; st.global.u32 [%rd1+{}], %r1;\n", at * 4);
    }
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{
         .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>;
         ld.param.u64 %rd1, [out];
         mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 2; @%p1 ret;
         mov.u32 %r1, %ctaid.y; setp.ne.u32 %p1, %r1, 1; @%p1 ret;
         mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 3; @%p1 ret;
         mov.u32 %r1, %tid.y; setp.ne.u32 %p1, %r1, 4; @%p1 ret;
         {body} ret; }}"
    );
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(names.len());
    device.launch("k", [3, 2, 1], [7, 6, 1], &Args::new().add(out));
    let lane = 3 + 4 * 7u32;
    let expected =
        [3, 4, 0, 7, 6, 1, 2, 1, 0, 3, 2, 1, lane, 0, 1 << lane, (1 << lane) - 1, u32::MAX, 0, 1 << lane, 0];
    // Lane 31: "less or equal" is every lane, "greater" none.
    assert_eq!(lane, 31);
    assert_eq!(device.download::<u32>(out, names.len()), expected);
}

#[test]
fn vector_registers_are_read_whole_before_they_are_written() {
    let text = snippet(
        ".reg .v2 .u32 %v;
         mov.v2.u32 %v, {%t, 5};
         setp.gt.u32 %p1, %t, 10;
         @%p1 mov.v2.u32 %v, {%v.y, %v.x};
         mad.lo.u32 %r1, %v.x, 100, %v.y;
         st.global.u32 [%at], %r1;",
    );
    let out: Vec<u32> = outputs(&text, 40, 40);
    assert_eq!(out, (0..40).map(|t| if t > 10 { 500 + t } else { 100 * t + 5 }).collect::<Vec<u32>>());
}

/// A guard is what it was before the instruction for both of two destinations, of which it may be one.
#[test]
fn a_guard_that_is_written_holds_for_the_whole_instruction() {
    // What the first and the second predicate become, of the thread's number and both of them before.
    type Becomes = fn(u32, [bool; 2]) -> [bool; 2];
    let instructions: [(&str, Becomes); 5] = [
        ("setp.lt.u32 %p1|%p2, %t, 16;", |t, _| [t < 16, t >= 16]),
        ("setp.lt.xor.u32 %p1|%p2, %t, 16, %p2;", |t, p| [(t < 16) ^ p[1], (t >= 16) ^ p[1]]),
        ("setp.eq.f16x2 %p1|%p2, %r5, %r6;", |t, _| [t < 16, t % 3 == 0]),
        ("lop3.or.b32 %r7|%p2, %r1, 0, 0, 0xf0, %p1;", |t, p| [p[0], t & 4 != 0 || p[0]]),
        ("shfl.sync.idx.b32 %r7|%p1, %r1, 40, 0x1003, %r8;", |_, p| [false, p[1]]),
    ];
    for (instruction, becomes) in instructions {
        for (guard, register, wanted) in
            [("@%p1", 0, true), ("@!%p1", 0, false), ("@%p2", 1, true), ("@!%p2", 1, false)]
        {
            let text = snippet(&format!(
                "and.b32 %r1, %t, 4; and.b32 %r2, %t, 1; and.b32 %r3, %t, 2; setp.ne.u32 %p1, %r2, 0; setp.ne.u32 %p2, %r3, 0;\n\
                 setp.lt.u32 %p3, %t, 16; rem.u32 %r4, %t, 3; setp.eq.u32 %p4, %r4, 0; selp.b32 %r5, 0, 1, %p3; selp.b32 %r6, 0, 0x10000, %p4; or.b32 %r5, %r5, %r6; mov.b32 %r6, 0;\n\
                 selp.b32 %r9, 1, 0, %p{}; setp.eq.u32 %p5, %r9, {}; vote.sync.ballot.b32 %r8, %p5, -1;\n\
                 {guard} {instruction}\n\
                 selp.b32 %r1, 1, 0, %p1; selp.b32 %r2, 2, 0, %p2; or.b32 %r1, %r1, %r2; st.global.b32 [%at], %r1;",
                register + 1,
                u32::from(wanted)
            ));
            for (t, found) in (0..).zip(outputs::<u32>(&text, 32, 32)) {
                let before = [t & 1 != 0, t & 2 != 0];
                let after = if before[register] == wanted { becomes(t, before) } else { before };
                let after = u32::from(after[0]) | u32::from(after[1]) << 1;
                assert_eq!(found, after, "thread {t}: {guard} {instruction}");
            }
        }
    }
}
