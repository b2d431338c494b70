//! `atom`, `red`, and what several threads make of them.

use cuda_emulator::Schedules;
use cuda_emulator::engine::run;

use crate::support::{Args, Device, HEADER, launch, outputs, snippet, snippet_fault};

/// The old and the new value of one atomic on `start`, as a thread alone performs it.
fn once(instruction: &str, ty: &str, start: u64, b: u64, c: Option<u64>) -> (u64, u64) {
    let wide = ty.ends_with("64");
    let register = if wide {
        "%rd"
    } else if ty.ends_with("16") {
        "%h"
    } else {
        "%r"
    };
    let store = if wide {
        "u64"
    } else if ty.ends_with("16") {
        "u16"
    } else {
        "u32"
    };
    let c = c.map_or(String::new(), |c| format!(", {c}"));
    let mut results = Vec::new();
    // In global memory, in shared memory, and generic.
    for (space, base) in [(".global", "%out"), (".shared", "s"), ("", "%rd20")] {
        let text = snippet(&format!(
            ".shared .u64 s; mov.u64 %rd20, s; cvta.shared.u64 %rd20, %rd20;
             st{space}.u64 [{base}], {start};
             atom{space}.{instruction}.{ty} {register}1, [{base}], {b}{c};
             ld{space}.u64 %rd2, [{base}]; st.global.u64 [%out], %rd2; st.global.{store} [%out+8], {register}1;"
        ));
        let out: Vec<u64> = crate::support::outputs(&text, 1, 2);
        results.push((out[1], out[0]));
    }
    assert!(results.iter().all(|result| *result == results[0]), "{instruction}.{ty}: {results:x?}");
    results[0]
}

#[test]
fn every_operation_once() {
    let minus = |n: i64| n as u64;
    assert_eq!(once("add", "u32", 7, 5, None), (7, 12));
    assert_eq!(once("add", "u32", 0xffff_ffff, 2, None), (0xffff_ffff, 1));
    assert_eq!(once("add", "u64", 1 << 40, 5, None), (1 << 40, (1 << 40) + 5));
    assert_eq!(once("min", "u32", 7, 0xffff_ffff, None), (7, 7));
    assert_eq!(once("min", "s32", 7, 0xffff_ffff, None), (7, 0xffff_ffff));
    assert_eq!(once("max", "s32", 7, 0xffff_ffff, None), (7, 7));
    assert_eq!(once("max", "u64", 7, minus(-1), None), (7, u64::MAX));
    assert_eq!(once("max", "s64", 7, minus(-1), None), (7, 7));
    assert_eq!(once("min", "s64", 7, minus(-9), None), (7, minus(-9)));
    assert_eq!(once("and", "b32", 0b1100, 0b1010, None), (0b1100, 0b1000));
    assert_eq!(once("or", "b32", 0b1100, 0b1010, None), (0b1100, 0b1110));
    assert_eq!(once("xor", "b64", 0b1100, 0b1010, None), (0b1100, 0b0110));
    assert_eq!(once("exch", "b32", 7, 9, None), (7, 9));
    assert_eq!(once("exch", "b64", 7, 9 << 33, None), (7, 9 << 33));
    assert_eq!(once("cas", "b32", 7, 7, Some(9)), (7, 9));
    assert_eq!(once("cas", "b32", 7, 8, Some(9)), (7, 7));
    assert_eq!(once("cas", "b64", 7, 7, Some(9)), (7, 9));
    assert_eq!(once("cas", "b16", 0x5_0007, 7, Some(9)), (7, 0x5_0009));
    assert_eq!(once("inc", "u32", 7, 9, None), (7, 8));
    assert_eq!(once("inc", "u32", 9, 9, None), (9, 0));
    assert_eq!(once("dec", "u32", 7, 9, None), (7, 6));
    assert_eq!(once("dec", "u32", 0, 9, None), (0, 9));
    assert_eq!(once("dec", "u32", 10, 9, None), (10, 9));
}

#[test]
fn floating_point_additions() {
    let text = snippet(
        ".shared .align 8 .b8 s[16];
         atom.global.add.f32 %f1, [%out], 0f3f000000; red.global.add.f64 [%out+8], 0d3fe0000000000000;
         red.global.add.noftz.f16x2 [%out+16], %r1; mov.b32 %r1, 0x3c003800; red.global.add.noftz.f16x2 [%out+16], %r1;
         mov.f32 %f2, 0f00000001; st.shared.f32 [s], %f2; red.shared.add.f32 [s], %f2; ld.shared.u32 %r2, [s]; st.global.u32 [%out+20], %r2;
         st.global.f32 [%out+24], %f2; red.global.add.f32 [%out+24], %f2;",
    );
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(8);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    let words: Vec<u32> = device.download(out, 8);
    assert_eq!(words[0], 0.5f32.to_bits());
    assert_eq!(u64::from(words[2]) | u64::from(words[3]) << 32, 0.5f64.to_bits());
    assert_eq!(words[4], 0x3c00_3800);
    assert_eq!(words[5], 2, "shared memory keeps subnormal numbers");
    assert_eq!(words[6], 0, "global memory flushes them");
}

#[test]
fn lanes_of_a_warp_take_turns() {
    // Every lane sees another old value.
    let text = snippet("atom.global.add.u32 %r1, [%out+256], 1; st.global.u32 [%at], %r1;");
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(65);
    device.launch("k", [1, 1, 1], [64, 1, 1], &Args::new().add(out));
    let mut old: Vec<u32> = device.download(out, 64);
    assert_eq!(old[..32], (0..32).collect::<Vec<u32>>());
    old.sort_unstable();
    assert_eq!(old, (0..64).collect::<Vec<u32>>());
    assert_eq!(device.download::<u32>(out + 256, 1), [64]);
}

#[test]
fn blocks_on_several_workers() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{
         .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f64 %fd<2>;
         ld.param.u64 %rd1, [out];
         red.global.add.u32 [%rd1], 1; red.relaxed.gpu.global.add.u64 [%rd1+8], 3; red.add.f64 [%rd1+16], 0d3ff0000000000000;
         mov.u32 %r1, %ctaid.x; red.global.max.u32 [%rd1+24], %r1; atom.acq_rel.gpu.global.xor.b32 %r2, [%rd1+28], %r1; ret; }}"
    );
    let device = Device::new(&text);
    for workers in [1, 2, 4] {
        let out = device.zeroed::<u64>(4);
        let launch = launch(&device, "k", [300, 1, 1], [64, 1, 1], &Args::new().add(out));
        run(&device.kernel("k"), &launch, &device.memory, workers).unwrap();
        let words: Vec<u64> = device.download(out, 4);
        assert_eq!(words, [19_200, 57_600, 19_200f64.to_bits(), 299], "{workers} workers");
    }
}

#[test]
fn atomics_of_the_test_kernels_decode() {
    let device = Device::file("tests/kernels/atomics.ptx");
    for name in device.program.kernels() {
        let kernel = device.kernel(name);
        let refused: Vec<_> = kernel.unsupported().collect();
        assert!(refused.is_empty(), "{name}: {refused:?}");
    }
}

#[test]
fn vectors_are_changed_element_by_element() {
    // 64 threads add to four floats, to two more and to eight halves; then each takes maxima and minima with its own number.
    let body = "cvt.rn.f32.u32 %f1, %t; neg.f32 %f2, %f1; mov.f32 %f3, 0f3F000000; mov.f32 %f4, 0f40000000;\n\
                red.global.add.v4.f32 [%out], {%f1, %f2, %f3, %f4};\n\
                atom.global.gpu.relaxed.add.v2.f32 {%f5, %f6}, [%out+16], {%f4, %f3};\n\
                mov.b16 %h1, 0x3c00; mov.b16 %h2, 0x4000;\n\
                red.global.add.noftz.v8.f16 [%out+32], {%h1, %h2, %h1, %h2, %h1, %h2, %h1, %h1};\n\
                cvt.rn.f16.u32 %h3, %t; neg.f16 %h4, %h3; mov.b32 %r1, {%h3, %h4}; mov.b32 %r2, {%h4, %h3};\n\
                red.global.max.noftz.v2.f16x2 [%out+48], {%r1, %r2}; atom.global.min.noftz.v2.f16x2 {%r3, %r4}, [%out+56], {%r1, %r2};\n\
                cvt.rn.bf16.f32 %h5, %f1; red.global.max.noftz.v2.bf16 [%out+64], {%h5, %h5}; red.global.add.noftz.v2.bf16 [%out+68], {%h1, %h1};";
    let out = outputs::<u32>(&snippet(body), 64, 18);
    let float = |at: usize| f32::from_bits(out[at]);
    assert_eq!([0, 1, 2, 3, 4, 5].map(float), [2016.0, -2016.0, 32.0, 128.0, 128.0, 32.0]);
    // 64 and 128 as halves; 63 and -63, zeros where nothing is beyond them; a zero may have either sign.
    assert_eq!(out[8..12], [0x5800_5400, 0x5800_5400, 0x5800_5400, 0x5400_5400]);
    assert_eq!(
        [12, 13, 14, 15].map(|at: usize| out[at] & 0x7fff_7fff),
        [0x53e0, 0x53e0_0000, 0x53e0_0000, 0x53e0]
    );
    assert_eq!(
        [12, 13, 14, 15].map(|at: usize| out[at] & 0xffff_0000 == 0xd3e0_0000 || out[at] & 0xffff == 0xd3e0),
        [false, false, true, true]
    );
    // 63 in bf16; 64 times the number whose bits are those of a half.
    let unit = f32::from_bits(0x3c00_0000);
    assert_eq!((out[16], out[17]), (0x427c_427c, ((unit * 64.0).to_bits() >> 16) * 0x1_0001));
    let fault = snippet_fault(&snippet("red.global.add.v4.f32 [%out+8], {%f1, %f1, %f1, %f1};"), 1, 64);
    assert_eq!(fault.kind, cuda_emulator::engine::FaultKind::MisalignedAddress);
    // An element that is written may be read, too.
    let body = "mov.b16 %h1, 0x3c00; atom.global.add.noftz.v2.f16 {%h1, %h2}, [%out+4], {%h1, %h1}; st.global.u16 [%out+8], %h2;";
    assert_eq!(outputs::<u32>(&snippet(body), 1, 3), [0, 0x3c00_3c00, 0]);
    // Of a number and NaN, the number.
    let body = "mov.b32 %r1, 0x7e00bc00; mov.b32 %r2, 0xbc007e00; st.global.v2.u32 [%out], {%r1, %r1};\n\
                atom.global.min.noftz.v2.f16x2 {%r3, %r4}, [%out], {%r2, %r2}; st.global.v2.u32 [%out+8], {%r3, %r4};";
    assert_eq!(outputs::<u32>(&snippet(body), 1, 4), [0xbc00_bc00, 0xbc00_bc00, 0x7e00_bc00, 0x7e00_bc00]);
}

/// The numbers of 128 bits that a kernel of one thread makes of four words, `%d0` and `%d1`.
fn quads(body: &str, input: [u64; 2], count: usize) -> Vec<[u64; 2]> {
    let device = Device::new(&snippet(&format!(
        ".reg .b128 %q<6>; .reg .b128 %other; .reg .b64 %d<4>; ld.global.v2.b64 {{%d0, %d1}}, [%out]; {body}"
    )));
    let mut memory = vec![0; 2 * count];
    memory[..2].copy_from_slice(&input);
    let out = device.upload(&memory);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    device.download::<u64>(out, 2 * count).chunks(2).map(|pair| [pair[0], pair[1]]).collect()
}

#[test]
fn numbers_of_128_bits() {
    let (a, b) = (0x0123_4567_89ab_cdef_u64, 0xfedc_ba98_7654_3210);
    // Moved, taken apart in twos and fours, put together, to itself with its halves exchanged, and a number.
    let found = quads(
        "mov.b128 %q1, {%d0, %d1}; mov.b128 %other, %q1; st.global.b128 [%out+16], %other;\n\
         mov.b128 {%r1, %r2, %r3, %r4}, %other; mov.b128 %q2, {%r4, %r3, %r2, %r1}; st.b128 [%out+32], %q2;\n\
         mov.b128 {%d2, %d3}, %q1; mov.b128 %q1, {%d3, %d2}; st.global.b128 [%out+48], %q1; mov.b128 {%d0, %d1}, %q1; mov.b128 %q3, {%d0, %d1};\n\
         st.global.wb.b128 [%out+64], %q3; mov.b128 %q4, 9; st.weak.global.b128 [%out+80], %q4;",
        [a, b],
        6,
    );
    let turned = |number: u64| number.rotate_left(32);
    assert_eq!(found, [[a, b], [a, b], [turned(b), turned(a)], [b, a], [b, a], [9, 0]]);
    // Through shared, local and constant memory and a parameter.
    let found = quads(
        ".shared .align 16 .b8 s[32]; .local .align 16 .b8 l[16]; ld.global.nc.b128 %q1, [%out]; st.shared.b128 [s+16], %q1; ld.shared.b128 %q2, [s+16];\n\
         st.local.b128 [l], %q2; ld.local.b128 %q3, [l]; { .param .align 16 .b8 p[16]; st.param.b128 [p], %q3; ld.param.b128 %q4, [p]; } st.global.b128 [%out+16], %q4;",
        [a, b],
        2,
    );
    assert_eq!(found[1], [a, b]);
    // Exchanged; swapped if both halves are as expected, and not if one is not: in both spaces, and by a generic address.
    for (space, place) in [(".global", "%out"), (".shared", "s"), ("", "%rd9")] {
        let fill = "ld.global.b128 %q0, [%out]; st.shared.b128 [s], %q0;";
        let found = quads(
            &format!(
                ".shared .align 16 .b8 s[16]; {fill} mov.u64 %rd9, s; cvta.shared.u64 %rd9, %rd9; mov.b64 %d2, 5; mov.b128 %q1, {{%d2, %d0}};\n\
                 atom.relaxed.gpu{space}.exch.b128 %q2, [{place}], %q1; st.global.b128 [%out+16], %q2;\n\
                 mov.b128 %q3, {{%d2, %d1}}; atom{space}.cas.b128 %q2, [{place}], %q3, %q0; st.global.b128 [%out+32], %q2;\n\
                 mov.b128 %q3, {{%d0, %d0}}; atom{space}.cas.b128 %q2, [{place}], %q3, %q0; st.global.b128 [%out+48], %q2;\n\
                 atom.acq_rel.sys{space}.cas.b128 %q1, [{place}], %q1, %q3; st.global.b128 [%out+64], %q1;\n\
                 atom{space}.exch.b128 _, [{place}], %q0; ld{space}.b128 %q1, [{place}]; st.global.b128 [%out+80], %q1;"
            ),
            [a, b],
            6,
        );
        assert_eq!(found, [[a, b], [a, b], [5, a], [5, a], [5, a], [a, b]], "{space}");
    }
}

#[test]
fn many_exchange_128_bits_at_once() {
    // 64 blocks count both halves up, each by its own: nothing is lost, and nobody sees halves of two numbers.
    let text = snippet(
        ".reg .b128 %q<4>; .reg .b64 %d<6>; ld.global.b128 %q1, [%out];\n\
         L: mov.b128 {%d0, %d1}, %q1; add.u64 %d0, %d0, 1; add.u64 %d1, %d1, 3;\n\
         mov.b128 %q2, {%d0, %d1}; atom.global.cas.b128 %q3, [%out], %q1, %q2; mov.b128 {%d2, %d3}, %q3; mov.b128 {%d4, %d5}, %q1;\n\
         mul.lo.u64 %d0, %d2, 3; setp.ne.u64 %p1, %d0, %d3; @%p1 trap;\n\
         setp.eq.u64 %p2, %d2, %d4; setp.eq.and.u64 %p2, %d3, %d5, %p2; mov.b128 %q1, %q3; @!%p2 bra L;",
    );
    let mut device = Device::new(&text);
    device.workers = 4;
    let out = device.upload(&[0_u64, 0]);
    device.launch("k", [64, 1, 1], [32, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u64>(out, 2), [2048, 6144]);
    // The same in every order, and what an order left is put back.
    let device = Device::scheduled(&text, Schedules::new(3), None);
    let out = device.upload(&[0_u64, 0]);
    device.launch("k", [3, 1, 1], [32, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u64>(out, 2), [96, 288]);
    assert_eq!(device.differences(), []);
}

#[test]
fn numbers_of_128_bits_that_are_refused() {
    for (address, message) in [("%out+8", "misaligned atomic access of 16 bytes"), ("%rd9", "illegal")] {
        let fault = snippet_fault(
            &snippet(&format!(
                ".reg .b128 %q<4>; mov.u64 %rd9, 4096; mov.b128 %q1, {{%out, %out}};\natom.global.exch.b128 %q2, [{address}], %q1;"
            )),
            1,
            64,
        );
        assert!(fault.message.contains(message), "{fault}");
        assert_eq!(fault.ptx_line, 11);
    }
}

#[test]
fn loads_and_stores_of_128_bits_that_others_meet() {
    let (a, b) = (0x0123_4567_89ab_cdef_u64, 0xfedc_ba98_7654_3210);
    for (load, store) in
        [("relaxed.gpu", "relaxed.sys"), ("acquire.cta", "release.cluster"), ("volatile", "volatile")]
    {
        let found = quads(
            &format!(
                ".shared .align 16 .b8 s[32]; ld.{load}.global.b128 %q1, [%out]; st.{store}.shared.b128 [s+16], %q1; ld.{load}.shared.b128 %q2, [s+16];\n\
                 st.{store}.b128 [%out+16], %q2; mov.b128 {{%d2, %d3}}, %q2; mov.b128 %q3, {{%d3, %d2}}; st.{store}.global.b128 [%out+32], %q3; ld.{load}.b128 %q4, [%out+32]; st.global.b128 [%out+48], %q4;"
            ),
            [a, b],
            4,
        );
        assert_eq!(found, [[a, b], [a, b], [b, a], [b, a]], "{load} {store}");
    }
}

#[test]
fn what_others_load_of_128_bits_is_never_half_of_a_number() {
    // Block 0 stores numbers with equal halves, which block 1 looks at meanwhile.
    let body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; mov.u64 %d2, 0; mov.u64 %d3, 0;\n\
        L: add.u64 %d2, %d2, 1; @!%p1 bra R; mov.b128 %q1, {%d2, %d2}; st.relaxed.gpu.global.b128 [%out], %q1; bra N;\n\
        R: ld.relaxed.gpu.global.b128 %q2, [%out]; mov.b128 {%d0, %d1}, %q2; xor.b64 %d0, %d0, %d1; or.b64 %d3, %d3, %d0;\n\
        N: setp.lt.u64 %p2, %d2, 20000; @%p2 bra L; @!%p1 st.global.u64 [%out+16], %d3;";
    let text = snippet(&format!(".reg .b128 %q<4>; .reg .b64 %d<6>; {body}"));
    let device = Device::new(&text);
    let out = device.upload(&[0_u64, 0, 1]);
    device.launch("k", [2, 1, 1], [1, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u64>(out, 3), [20000, 20000, 0]);
}

#[test]
fn vectors_at_generic_addresses() {
    let body = "mov.b32 %r1, 0f3f800000; mov.b32 %r2, 0f40000000; st.global.v2.u32 [%out], {%r1, %r2};\n\
                atom.add.v2.f32 {%r3, %r4}, [%out], {%r2, %r2}; red.add.v2.f32 [%out], {%r1, %r1}; st.global.v2.u32 [%out+8], {%r3, %r4};";
    let found = outputs::<u32>(&snippet(body), 1, 4);
    assert_eq!(found, [4.0_f32.to_bits(), 5.0_f32.to_bits(), 1.0_f32.to_bits(), 2.0_f32.to_bits()]);
}
