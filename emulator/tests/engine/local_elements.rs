//! Loads and stores of elements of arrays in local memory, each lane another one: by some lanes of a warp, of every size. What dead lanes have in
//! their registers and elements stays, and the first live lane that is out of bounds is the one that faults.

use crate::support::{Args, Device, snippet};
use cuda_emulator::engine::FaultKind;

/// The array's bytes; where the lanes' offsets into it are, the loaded numbers, and what the arrays hold at the end.
const ARRAY: usize = 128;
const OFFSETS: usize = 64;
const LOADED: usize = OFFSETS + 32 * 4;
const ARRAYS: usize = LOADED + 32 * 32;
const MASKS: [u32; 9] =
    [!0, 1, 1 << 31, 0x5555_5555, 0xffff_fffe, 0x7fff_ffff, 0x00ff_ff00, 0x3c00_a6f1, 0x8421_9f00];
/// An offset that no access may have.
const WILD: u32 = 0xffff_fff1;

/// The type of an element, its bytes, how many are accessed at once, and whether the sign is extended.
#[derive(Clone, Copy)]
struct Kind(&'static str, usize, usize, bool);

const KINDS: [Kind; 9] = [
    Kind("u8", 1, 1, false),
    Kind("s8", 1, 1, true),
    Kind("u16", 2, 1, false),
    Kind("s16", 2, 1, true),
    Kind("u32", 4, 1, false),
    Kind("u64", 8, 1, false),
    Kind("u16", 2, 4, false),
    Kind("u32", 4, 4, false),
    Kind("u64", 8, 2, false),
];

impl Kind {
    fn bytes(self) -> usize {
        self.1 * self.2
    }

    /// The live lanes load what is at their offset, and store one more of each number at the same distance from the end.
    fn text(self, space: &str) -> String {
        let Kind(name, size, elements, _) = self;
        let register = if size == 8 { "%rd" } else { "%r" };
        let list = |first: usize| {
            let names: Vec<String> = (0..elements).map(|e| format!("{register}{}", first + e)).collect();
            if elements == 1 { names.concat() } else { format!("{{{}}}", names.join(", ")) }
        };
        let each = |line: &dyn Fn(usize) -> String| (0..elements).map(line).collect::<String>();
        let words = |line: &dyn Fn(usize) -> String| (0..ARRAY / 4).map(line).collect::<String>();
        let vector = if elements == 1 { String::new() } else { format!(".v{elements}") };
        let wide = if size == 8 { "b64" } else { "b32" };
        let generic = if space.is_empty() { "cvta.local.u64 %rd1, %rd1;" } else { "" };
        snippet(&format!(
            ".local .align 16 .b8 a[{ARRAY}]; mov.u64 %rd1, a; {generic}\n{fill}\n\
             ld.global.u32 %r2, [%out]; shr.b32 %r2, %r2, %t; and.b32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0;\n\
             ld.global.u32 %r3, [%at+{OFFSETS}]; cvt.u64.u32 %rd2, %r3; add.u64 %rd3, %rd1, %rd2;\n\
             sub.u64 %rd4, %rd1, %rd2; add.u64 %rd4, %rd4, {last};\n{preset}\n\
             @!%p1 bra rest;\n\
             ld{space}{vector}.{name} {loaded}, [%rd3];\n{add}\n\
             st{space}{vector}.{store} [%rd4], {stored};\n\
             rest: mul.wide.u32 %rd5, %t, 32; add.u64 %rd5, %rd5, %out;\n{show}\n\
             mul.wide.u32 %rd6, %t, {ARRAY}; add.u64 %rd6, %rd6, %out;\n{dump}",
            fill = words(&|w| format!(
                "mad.lo.u32 %r1, %t, 40503, {}; st{space}.u32 [%rd1+{}], %r1;\n",
                0x8765_4321_u32.wrapping_mul(w as u32 + 1) as i32,
                w * 4
            )),
            last = ARRAY - self.bytes(),
            preset = each(&|e| format!("mov.{wide} {register}{}, 7;", 10 + e)),
            loaded = list(10),
            add = each(&|e| format!("add.u{} {register}{}, {register}{}, 1;", &wide[1..], 20 + e, 10 + e)),
            store = name.replace('s', "u"),
            stored = list(20),
            show = each(&|e| format!("st.global.{wide} [%rd5+{}], {register}{};", LOADED + e * 8, 10 + e)),
            dump = words(&|w| format!(
                "ld{space}.u32 %r1, [%rd1+{}]; st.global.u32 [%rd6+{}], %r1;\n",
                w * 4,
                ARRAYS + w * 4
            )),
        ))
    }

    /// What a lane loads, and its array at the end.
    fn expected(self, lane: u32, offset: Option<u32>) -> (Vec<u64>, Vec<u8>) {
        let Kind(_, size, elements, signed) = self;
        let word = |w: u32| (lane * 40503).wrapping_add(0x8765_4321_u32.wrapping_mul(w + 1));
        let mut array: Vec<u8> = (0..ARRAY as u32 / 4).flat_map(|w| word(w).to_le_bytes()).collect();
        let Some(offset) = offset else { return (vec![7; elements], array) };
        let (from, to) = (offset as usize, ARRAY - self.bytes() - offset as usize);
        let number = |at: usize| {
            let mut bytes = [if signed && array[at + size - 1] & 128 != 0 { 0xff } else { 0 }; 8];
            bytes[..size].copy_from_slice(&array[at..at + size]);
            let number = u64::from_le_bytes(bytes);
            // Shorter numbers are in registers of 32 bits.
            if size == 8 { number } else { u64::from(number as u32) }
        };
        let numbers: Vec<u64> = (0..elements).map(|e| number(from + e * size)).collect();
        for (e, number) in numbers.iter().enumerate() {
            let bytes = number.wrapping_add(1).to_le_bytes();
            array[to + e * size..][..size].copy_from_slice(&bytes[..size]);
        }
        (numbers, array)
    }
}

/// Memory for a launch with these live lanes and offsets.
fn memory(mask: u32, offsets: &[u32; 32]) -> Vec<u8> {
    let mut memory = vec![0; ARRAYS + 32 * ARRAY];
    memory[..4].copy_from_slice(&mask.to_le_bytes());
    for (lane, offset) in offsets.iter().enumerate() {
        memory[OFFSETS + lane * 4..][..4].copy_from_slice(&offset.to_le_bytes());
    }
    memory
}

fn is_live(mask: u32, lane: usize) -> bool {
    mask >> lane & 1 != 0
}

#[test]
fn each_lane_has_its_own_element() {
    for kind in KINDS {
        let slots = (ARRAY / kind.bytes()) as u32;
        let patterns: [&dyn Fn(u32) -> u32; 4] =
            [&|lane| lane * 5 % slots, &|lane| 31 - lane, &|lane| u32::from(lane == 17), &|_| 1];
        for space in [".local", ""] {
            let device = Device::new(&kind.text(space));
            for mask in MASKS {
                for (number, pattern) in patterns.iter().enumerate() {
                    let offset = |lane: usize| pattern(lane as u32) % slots * kind.bytes() as u32;
                    let offsets = |lane| if is_live(mask, lane) { offset(lane) } else { WILD };
                    let out = device.upload(&memory(mask, &std::array::from_fn(offsets)));
                    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
                    let bytes: Vec<u8> = device.download(out, ARRAYS + 32 * ARRAY);
                    for lane in 0..32 {
                        let live = is_live(mask, lane).then(|| offset(lane));
                        let (numbers, array) = kind.expected(lane as u32, live);
                        let what = format!("{}, lane {lane} of {mask:08x}, pattern {number}", kind.0);
                        let size = if kind.1 == 8 { 8 } else { 4 };
                        for (e, number) in numbers.iter().enumerate() {
                            let at = LOADED + lane * 32 + e * 8;
                            assert_eq!(bytes[at..at + size], number.to_le_bytes()[..size], "{what}");
                        }
                        assert_eq!(bytes[ARRAYS + lane * ARRAY..][..ARRAY], array, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_first_live_lane_out_of_bounds_faults() {
    for kind in KINDS {
        for space in [".local", ""] {
            let device = Device::new(&kind.text(space));
            let odd = if kind.bytes() > 1 { 1 } else { ARRAY as u32 };
            for wrong in [ARRAY as u32, odd, WILD - WILD % kind.bytes() as u32] {
                let misaligned = !wrong.is_multiple_of(kind.bytes() as u32);
                for (mask, first) in [(!0, 9), (!(1 << 9), 20), (1 << 20 | 0x1ff, 20)] {
                    let bytes = kind.bytes() as u32;
                    let offset = |lane| if lane == 9 || lane == 20 { wrong } else { lane as u32 % 4 * bytes };
                    let out = device.upload(&memory(mask, &std::array::from_fn(offset)));
                    let fault = device.fault("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
                    assert_eq!(fault.thread, [first, 0, 0], "{} at {wrong:x}: {fault}", kind.0);
                    let expected =
                        if misaligned { FaultKind::MisalignedAddress } else { FaultKind::IllegalAddress };
                    assert_eq!(fault.kind, expected, "{} at {wrong:x}: {fault}", kind.0);
                }
            }
        }
    }
}
