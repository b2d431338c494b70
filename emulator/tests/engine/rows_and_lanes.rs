//! What many lanes of a warp compute together is what few of them compute one by one: `.f64` arithmetic and the special functions, of numbers that are
//! treated in ways of their own; dead lanes keep what they have.

use crate::support::{Args, Device, snippet};

const DOUBLES: [u64; 16] = [
    0,
    1 << 63,
    1,
    0x800f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff8_0000_0000_0001,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff0_0000_0000_0003,
    0xfff0_0000_0000_0004,
    0x7ff8_0000_0000_0002,
    0xfff8_1234_5678_9abc,
    0x4000_2468_ace0_1357,
];

const SINGLES: [u32; 16] = [
    0,
    1 << 31,
    1,
    0x807f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0xc2fc_0001,
    0x42ff_ffff,
    0x7e80_0001,
    0x7f7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7f80_0001,
    0xffc0_0002,
    0x4049_0fdb,
    0x4b3c_614e,
];

/// More than four lanes compute together.
const MASKS: [u32; 5] = [!0, 0x5555_5555, 0xffff_fffe, 0x00ff_8000, 0x8421_0f01];

const OPERANDS: usize = 64;
const RESULTS: usize = OPERANDS + 32 * 32;

/// The lanes of the mask execute the instruction, whose operands are `{r}`, which holds `{a}` before, `{a}`, `{b}` and `{c}`.
fn text(instruction: &str, register: &str, kind: &str) -> String {
    let names = [("{r}", 10), ("{a}", 11), ("{b}", 12), ("{c}", 13)];
    let named = names.iter().fold(instruction.to_owned(), |text, (name, number)| {
        text.replace(name, &format!("{register}{number}"))
    });
    let load = |number: usize, at: usize| format!("ld.global.{kind} {register}{number}, [%rd1+{at}];");
    snippet(&format!(
        "ld.global.u32 %r1, [%out]; shr.u32 %r1, %r1, %t; and.b32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0;\n\
         mul.wide.u32 %rd1, %t, 32; add.u64 %rd1, %rd1, %out;\n{}\nmov.{kind} {register}10, {register}11;\n\
         @%p1 {named};\nst.global.{kind} [%rd1+{RESULTS}], {register}10;",
        [load(11, OPERANDS), load(12, OPERANDS + 8), load(13, OPERANDS + 16)].join(" "),
    ))
}

/// The results of all lanes when those of the mask compute.
fn results(device: &Device, mask: u32, operands: &[[u64; 3]; 32]) -> Vec<u64> {
    let mut memory = vec![0; RESULTS + 32 * 32];
    memory[..4].copy_from_slice(&mask.to_le_bytes());
    for (lane, operands) in operands.iter().enumerate() {
        for (number, operand) in operands.iter().enumerate() {
            memory[OPERANDS + lane * 32 + number * 8..][..8].copy_from_slice(&operand.to_le_bytes());
        }
    }
    let out = device.upload(&memory);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    let memory: Vec<u8> = device.download(out, memory.len());
    let result = |lane: usize| u64::from_le_bytes(memory[RESULTS + lane * 32..][..8].try_into().unwrap());
    (0..32).map(result).collect()
}

/// Compares the lanes of each mask with four at a time.
fn compare(device: &Device, what: &str, operands: &[[u64; 3]; 32]) {
    let mut alone = vec![0; 32];
    for four in 0..8 {
        let results = results(device, 0xf << (four * 4), operands);
        alone[four * 4..][..4].copy_from_slice(&results[four * 4..][..4]);
    }
    for mask in MASKS {
        for (lane, result) in results(device, mask, operands).into_iter().enumerate() {
            let expected = if mask >> lane & 1 == 0 { operands[lane][0] } else { alone[lane] };
            let of = operands[lane];
            assert_eq!(result, expected, "{what} of {of:x?}, lane {lane} of {mask:08x}: {result:016x}");
        }
    }
}

#[test]
fn doubles() {
    let instructions = [
        "add.f64 {r}, {r}, {b}",
        "add.f64 {r}, {b}, {a}",
        "sub.f64 {r}, {r}, {b}",
        "sub.f64 {r}, {b}, {r}",
        "mul.f64 {r}, {a}, {b}",
        "mul.f64 {r}, {r}, {r}",
        "fma.rn.f64 {r}, {a}, {b}, {c}",
        "fma.rn.f64 {r}, {c}, {r}, {r}",
        "add.rz.f64 {r}, {a}, {b}",
        "fma.rm.f64 {r}, {a}, {b}, {c}",
    ];
    for instruction in instructions {
        let device = Device::new(&text(instruction, "%fd", "f64"));
        for turn in 0..16 {
            let operands = |lane: usize| {
                [lane, lane * 3 + turn, lane * 5 + turn * 7].map(|number| DOUBLES[number % DOUBLES.len()])
            };
            compare(&device, instruction, &std::array::from_fn(operands));
            // None that is not a number: nothing is computed one by one.
            let finite = |lane: usize| operands(lane).map(|bits| (bits & !(1 << 62)) + (1 << 60));
            compare(&device, instruction, &std::array::from_fn(finite));
        }
    }
}

#[test]
fn special_functions() {
    for name in ["rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos"] {
        for ftz in ["", ".ftz"] {
            for operand in ["{r}", "{a}", "{b}"] {
                let instruction = format!("{name}.approx{ftz}.f32 {{r}}, {operand}");
                let device = Device::new(&text(&instruction, "%f", "f32"));
                for turn in 0..16 {
                    let operands = |lane: usize| {
                        let number = lane * 3 + turn;
                        // The numbers, and what is as far apart in their octaves.
                        let of = |number: usize| SINGLES[number % 16] ^ (number as u32 / 16 * 0x0001_2345);
                        [of(number), of(number * 5), 0].map(u64::from)
                    };
                    compare(&device, &instruction, &std::array::from_fn(operands));
                }
            }
        }
    }
}
