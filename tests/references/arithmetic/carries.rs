//! The carry flag, from every instruction that writes it to every one that reads it. One model says what each of them does:
//! an addition in which a subtrahend takes part as its complement.

use std::fmt::Write;

use super::operands::integers;
use super::table::{Want, table};
use crate::references::Gpu;

const TYPES: [&str; 4] = ["u32", "s32", "u64", "s64"];
const WRITERS: [&str; 8] =
    ["add.cc", "addc.cc", "sub.cc", "subc.cc", "mad.lo.cc", "mad.hi.cc", "madc.lo.cc", "madc.hi.cc"];
const READERS: [&str; 8] =
    ["addc", "addc.cc", "subc", "subc.cc", "madc.lo", "madc.lo.cc", "madc.hi", "madc.hi.cc"];

/// An instruction that takes part, `addc.cc` and `u64`.
#[derive(Clone, Copy)]
struct Instruction(&'static str, &'static str);

impl Instruction {
    fn bits(self) -> u32 {
        if self.1.ends_with("64") { 64 } else { 32 }
    }

    fn has_product(self) -> bool {
        self.0.starts_with("mad")
    }

    fn mnemonic(self) -> &'static str {
        self.0.split('.').next().unwrap()
    }

    /// Writes it with operands that are named by letters: registers `a64` or `a32`.
    fn text(self, dest: char, operands: [char; 3]) -> String {
        let (Self(name, ty), bits) = (self, self.bits());
        let count = if self.has_product() { 3 } else { 2 };
        let operands: Vec<String> = operands[..count].iter().map(|name| format!("%{name}{bits}")).collect();
        format!("{name}.{ty} %{dest}{bits}, {};", operands.join(", "))
    }

    /// The result, and the flag afterwards.
    fn apply(self, [a, b, c]: [u64; 3], flag: bool) -> (u64, bool) {
        let mask = u128::from(u64::MAX >> (64 - self.bits()));
        let [a, b, c] = [a, b, c].map(|x| u128::from(x) & mask);
        // As numbers of 128 bits with their sign, where they have one.
        let extend = |x: u128| if self.1.starts_with('s') && x > mask >> 1 { x | !mask } else { x };
        let product = extend(a).wrapping_mul(extend(b));
        let high = if self.bits() == 32 { product >> 32 } else { high_of(extend(a), extend(b)) };
        let (first, second) = match self.0 {
            name if name.contains(".lo") => (product & mask, c),
            name if name.contains(".hi") => (high & mask, c),
            name if name.starts_with("sub") => (a, !b & mask),
            _ => (a, b),
        };
        let flag_in = match self.mnemonic() {
            "sub" => true,
            "add" | "mad" => false,
            _ => flag,
        };
        let sum = first + second + u128::from(flag_in);
        ((sum & mask) as u64, if self.0.ends_with(".cc") { sum > mask } else { flag })
    }
}

/// Bits 64 to 127 of the product of two numbers of 64 bits that are extended to 128.
fn high_of(a: u128, b: u128) -> u128 {
    let unsigned = (a as u64 as u128) * (b as u64 as u128) >> 64;
    // A negative factor counts 2^64 less than its bits say.
    let less = |negative: u128, other: u128| if negative >> 127 == 1 { other as u64 as u128 } else { 0 };
    unsigned.wrapping_sub(less(a, b)).wrapping_sub(less(b, a))
}

fn instructions(names: &[&'static str]) -> Vec<Instruction> {
    names.iter().flat_map(|name| TYPES.map(|ty| Instruction(name, ty))).collect()
}

/// The kernel of one writer: for each reader what the writer gave, what the reader gave, and the flag after it.
fn kernel(writer: Instruction) -> String {
    let mut body = String::new();
    for reader in instructions(&READERS) {
        // What the writer finds in the flag depends on the operands.
        writeln!(body, "add.cc.u32 %t32, %a32, %c32; {}", writer.text('d', ['a', 'b', 'c'])).unwrap();
        writeln!(body, "{} addc.u32 %t32, 0, 0;", reader.text('e', ['b', 'c', 'a'])).unwrap();
        for (name, bits) in [('d', writer.bits()), ('e', reader.bits()), ('t', 32)] {
            writeln!(body, "cvt.u64.u{bits} %x64, %{name}{bits}; st.global.u64 [%out], %x64;").unwrap();
            writeln!(body, "add.s64 %out, %out, %step;").unwrap();
        }
    }
    format!(
        ".version 7.8\n.target sm_75\n.address_size 64
        .visible .entry carries(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out, .param .u32 n)
        {{
        .reg .pred %p; .reg .b32 %i, %n, %a32, %b32, %c32, %d32, %e32, %t32;
        .reg .b64 %at, %out, %step, %a64, %b64, %c64, %d64, %e64, %x64;
        mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mul.lo.u32 %i, %i, %n; mov.u32 %n, %tid.x; add.u32 %i, %i, %n;
        ld.param.u32 %n, [n]; setp.ge.u32 %p, %i, %n; @%p ret;
        mul.wide.u32 %step, %n, 8;
        ld.param.u64 %at, [a]; mad.wide.u32 %at, %i, 8, %at; ld.global.u64 %a64, [%at]; cvt.u32.u64 %a32, %a64;
        ld.param.u64 %at, [b]; mad.wide.u32 %at, %i, 8, %at; ld.global.u64 %b64, [%at]; cvt.u32.u64 %b32, %b64;
        ld.param.u64 %at, [c]; mad.wide.u32 %at, %i, 8, %at; ld.global.u64 %c64, [%at]; cvt.u32.u64 %c32, %c64;
        ld.param.u64 %out, [out]; mad.wide.u32 %out, %i, 8, %out;
        {body}ret;
        }}"
    )
}

#[test]
fn every_reader_of_the_carry_after_every_writer() {
    let gpu = Gpu::new();
    let readers = instructions(&READERS);
    let seed = Instruction("add.cc", "u32");
    for writer in instructions(&WRITERS) {
        let names: Vec<String> = readers
            .iter()
            .flat_map(|reader| {
                ["the first", "the second", "the flag"]
                    .map(|what| format!("{}.{} {}.{}: {what}", writer.0, writer.1, reader.0, reader.1))
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let module = gpu.module(kernel(writer));
        table::<u64, u64>(&gpu, &module, "carries", &names, &integers(64, 300), |operands| {
            let [a, b, c] = operands[..] else { panic!("three") };
            let wants = readers.iter().flat_map(|reader| {
                let (_, flag) = seed.apply([a, c, 0], false);
                let (first, flag) = writer.apply([a, b, c], flag);
                let (second, flag) = reader.apply([b, c, a], flag);
                [first, second, flag.into()]
            });
            wants.map(Want::Exactly).collect()
        });
    }
}
