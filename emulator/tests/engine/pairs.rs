//! `.f32` arithmetic that runs two instructions at a time has to give what the two give one after the other, whichever results the second one needs,
//! which lanes are live, and where there are NaN.

use crate::support::{Args, Device, snippet};

/// The NaN of `.f32` arithmetic.
const NAN: u32 = 0x7fff_ffff;
/// Of a warp each: all lanes, many, and few.
const MASKS: [u32; 4] = [!0, 0x7fff_fffe, 0x00f0_0810, 0x8000_0001];
/// Words before the operands, which are three for each thread.
const OPERANDS: u32 = 4;

/// An instruction, and what it computes.
type Instruction = (&'static str, fn([f32; 3]) -> f32);

const INSTRUCTIONS: [Instruction; 4] = [
    ("add.f32", |[a, b, _]| a + b),
    ("sub.f32", |[a, b, _]| a - b),
    ("mul.f32", |[a, b, _]| a * b),
    ("fma.rn.f32", |[a, b, c]| a.mul_add(b, c)),
];

/// The sources of the second instruction: registers, of which 0 is the result of the first one.
const SOURCES: [[usize; 3]; 10] = [
    [0, 2, 3],
    [2, 0, 3],
    [2, 3, 0],
    [0, 0, 3],
    [0, 2, 0],
    [2, 0, 0],
    [0, 0, 0],
    [1, 2, 3],
    [3, 1, 2],
    [2, 2, 1],
];

fn text((name, _): Instruction, dest: usize, sources: [usize; 3]) -> String {
    let count = if name.starts_with("fma") { 3 } else { 2 };
    let sources: Vec<String> = sources[..count].iter().map(|source| format!("%r{source}")).collect();
    format!("{name} %r{dest}, {};", sources.join(", "))
}

fn compute((_, function): Instruction, registers: &mut [u32; 5], dest: usize, sources: [usize; 3]) {
    let result = function(sources.map(|source| f32::from_bits(registers[source])));
    registers[dest] = if result.is_nan() { NAN } else { result.to_bits() };
}

/// Two instructions, and the destination and the sources of the second one.
type Pair = (Instruction, Instruction, usize, [usize; 3]);

fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for first in INSTRUCTIONS {
        for second in INSTRUCTIONS {
            for sources in SOURCES {
                // The result of the first one is needed later, or replaced.
                pairs.extend([4, 0].map(|dest| (first, second, dest, sources)));
            }
        }
    }
    pairs
}

/// Three numbers of a thread: some small ones, and here and there some that make others.
fn operands(thread: u32, infinite: bool) -> [u32; 3] {
    let small = |salt: u32| (thread.wrapping_mul(salt) % 17) as f32 / 4.0 - 2.0;
    let mut numbers = [small(7), small(5), small(3)].map(f32::to_bits);
    if infinite {
        match thread % 32 {
            3 => numbers[0] = 0xff80_0001,
            9 => numbers[1] = f32::INFINITY.to_bits(),
            10 => (numbers[0], numbers[1]) = (f32::INFINITY.to_bits(), f32::NEG_INFINITY.to_bits()),
            20 => numbers[2] = 0x7fc0_1234,
            27 => numbers = [f32::MAX, f32::MAX, -1.0].map(f32::to_bits),
            _ => {}
        }
    }
    numbers
}

/// Runs instructions on the registers 1 to 3 in the lanes of the masks, and returns the words that they have stored.
fn run(body: &str, results: usize, infinite: bool) -> Vec<u32> {
    let threads = 32 * MASKS.len() as u32;
    let start = (OPERANDS + 3 * threads) as usize;
    let body = format!(
        "shr.u32 %r10, %t, 5; mad.wide.u32 %rd1, %r10, 4, %out; ld.global.u32 %r11, [%rd1];\n\
         and.b32 %r12, %t, 31; shr.u32 %r11, %r11, %r12; and.b32 %r11, %r11, 1; setp.eq.u32 %p1, %r11, 0;\n\
         mad.wide.u32 %rd2, %t, 12, %out; ld.global.u32 %r1, [%rd2+16]; ld.global.u32 %r2, [%rd2+20]; ld.global.u32 %r3, [%rd2+24];\n\
         mad.wide.u32 %rd10, %t, {}, %out; add.u64 %rd10, %rd10, {};\n@%p1 bra end;\n{body}\nend:",
        4 * results,
        4 * start
    );
    let device = Device::new(&snippet(&body));
    let mut words = MASKS.to_vec();
    words.extend((0..threads).flat_map(|thread| operands(thread, infinite)));
    words.resize(start + results * threads as usize, 0);
    let out = device.upload(&words);
    device.launch("k", [1; 3], [threads, 1, 1], &Args::new().add(out));
    device.download::<u32>(out, words.len()).split_off(start)
}

fn is_live(thread: u32) -> bool {
    MASKS[thread as usize / 32] >> (thread % 32) & 1 != 0
}

#[test]
fn two_at_a_time_are_one_after_the_other() {
    let pairs = pairs();
    let mut body = String::new();
    for (index, (first, second, dest, sources)) in pairs.iter().enumerate() {
        body += &text(*first, 0, [1, 2, 3]);
        body += &text(*second, *dest, *sources);
        body += &format!(
            "st.global.u32 [%rd10+{}], %r0; st.global.u32 [%rd10+{}], %r{dest};\n",
            8 * index,
            8 * index + 4
        );
    }
    for infinite in [false, true] {
        let got = run(&body, 2 * pairs.len(), infinite);
        for (thread, got) in got.chunks_exact(2 * pairs.len()).enumerate() {
            let thread = thread as u32;
            for ((first, second, dest, sources), got) in pairs.iter().zip(got.chunks_exact(2)) {
                let [a, b, c] = operands(thread, infinite);
                let mut registers = [0, a, b, c, 0];
                compute(*first, &mut registers, 0, [1, 2, 3]);
                compute(*second, &mut registers, *dest, *sources);
                let wanted = if is_live(thread) { [registers[0], registers[*dest]] } else { [0; 2] };
                assert_eq!(
                    got, wanted,
                    "{} and {} {dest} {sources:?} in thread {thread}, of {a:08x} {b:08x} {c:08x}",
                    first.0, second.0
                );
            }
        }
    }
}

#[test]
fn instructions_of_some_lanes_are_alone() {
    let body = "and.b32 %r13, %t, 1; setp.eq.u32 %p2, %r13, 0; mov.u32 %r4, %r1;\n\
                mul.f32 %r0, %r1, %r2; @%p2 add.f32 %r4, %r0, %r3; sub.f32 %r5, %r4, %r0; fma.rn.f32 %r4, %r5, %r5, %r4;\n\
                st.global.u32 [%rd10], %r4;";
    for (thread, got) in run(body, 1, false).into_iter().enumerate() {
        let [a, b, c] = operands(thread as u32, false).map(f32::from_bits);
        let sum = if thread % 2 == 0 { a * b + c } else { a };
        let last = sum - a * b;
        let wanted = if is_live(thread as u32) { last.mul_add(last, sum).to_bits() } else { 0 };
        assert_eq!(got, wanted, "thread {thread}");
    }
}

#[test]
fn lanes_that_leave_a_loop_earlier() {
    let body = "mov.u32 %r4, 0; mov.u32 %r9, 0; shr.u32 %r10, %r12, 3;\n\
                round: add.f32 %r4, %r4, %r1; mul.f32 %r5, %r4, %r2; sub.f32 %r4, %r4, %r3;\n\
                add.u32 %r9, %r9, 1; setp.le.u32 %p2, %r9, %r10; @%p2 bra round;\n\
                add.f32 %r4, %r4, %r5; st.global.u32 [%rd10], %r4;";
    for (thread, got) in run(body, 1, false).into_iter().enumerate() {
        let [a, b, c] = operands(thread as u32, false).map(f32::from_bits);
        let (mut sum, mut product) = (0f32, 0f32);
        for _ in 0..=thread % 32 / 8 {
            (sum, product) = (sum + a - c, (sum + a) * b);
        }
        let wanted = if is_live(thread as u32) { (sum + product).to_bits() } else { 0 };
        assert_eq!(got, wanted, "thread {thread}");
    }
}
