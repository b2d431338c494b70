//! `wgmma.mma_async` against products computed here from the PTX ISA's layouts ("Shared Memory Matrix Layout", "Register Fragments").

use std::sync::Arc;

use cuda_emulator::engine::{FaultKind, Program};
use cuda_emulator::memory::Memory;

use crate::support::{Args, Device};

/// Bytes of shared memory: A from 0 on, B from `B` on.
const SHARED: usize = 49152;
const B: usize = 16384;

/// Random numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ self.0 >> 29;
        x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ x >> 32
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Bits, bits of the exponent and of the fraction of a format.
fn format(name: &str) -> (u32, i32, i32) {
    match name {
        "e4m3" => (8, 4, 3),
        "e5m2" => (8, 5, 2),
        "f16" => (16, 5, 10),
        "bf16" => (16, 8, 7),
        "tf32" | "f32" => (32, 8, 23),
        other => panic!("{other}"),
    }
}

/// A number that the format has exactly.
pub(crate) fn encoded(name: &str, value: f64) -> u32 {
    let (bits, exponent, fraction) = format(name);
    let sign = u32::from(value.is_sign_negative()) << (bits - 1);
    if value == 0.0 {
        return sign;
    }
    let lowest = 2 - (1 << (exponent - 1));
    let own = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(lowest);
    let significand = value.abs() * 2f64.powi(fraction - own);
    assert_eq!(significand.fract(), 0.0, "{value} in {name}");
    let hidden = 1u32 << fraction;
    let biased = if (significand as u32) < hidden { 0 } else { own - lowest + 1 };
    sign | (biased as u32) << fraction | significand as u32 & (hidden - 1)
}

/// The value of a finite number, and its exponent, which is the lowest of the format for subnormal ones.
pub(crate) fn decoded(name: &str, bits: u32) -> (f64, i32) {
    let (width, exponent, fraction) = format(name);
    let biased = (bits >> fraction) as i32 & ((1 << exponent) - 1);
    let low = f64::from(bits & ((1 << fraction) - 1)) * 2f64.powi(-fraction);
    let own = biased.max(1) + 1 - (1 << (exponent - 1));
    let magnitude = (low + if biased == 0 { 0.0 } else { 1.0 }) * 2f64.powi(own);
    (if bits >> (width - 1) & 1 != 0 { -magnitude } else { magnitude }, own)
}

/// Where a matrix lies.
#[derive(Clone, Copy)]
struct Layout {
    /// Bytes of the swizzling pattern's row: 0, 32, 64, 128.
    swizzle: usize,
    /// Rows of A or columns of B are contiguous, not K.
    across: bool,
    leading: usize,
    stride: usize,
}

/// Without swizzling, K contiguous.
const PLAIN: Layout = Layout { swizzle: 0, across: false, leading: 128, stride: 256 };

impl Layout {
    /// The canonical layouts of the ISA: where the byte `byte` of element (`line`, `k`) of `bits` bits is.
    fn place(&self, line: usize, k: usize, bits: usize) -> usize {
        let width = self.swizzle;
        let inside = k * bits / 8;
        let dense = match (self.across, width) {
            (false, 0) => line % 8 * 16 + line / 8 * self.stride + inside / 16 * self.leading + inside % 16,
            (false, _) => line % 8 * width + line / 8 * self.stride + inside,
            (true, 0) => line % 8 * 2 + line / 8 * self.stride + k % 8 * 16 + k / 8 * self.leading,
            (true, _) => {
                let (group, per_row) = (line / 8, width / 16);
                line % 8 * 2
                    + group % per_row * 16
                    + group / per_row * self.leading
                    + k % 8 * width
                    + k / 8 * self.stride
            }
        };
        dense
            ^ match width {
                0 => 0,
                32 => (dense >> 7 & 1) << 4,
                64 => (dense >> 7 & 3) << 4,
                _ => (dense >> 7 & 7) << 4,
            }
    }

    fn descriptor(&self) -> u64 {
        let mode = match self.swizzle {
            0 => 0,
            32 => 3,
            64 => 2,
            _ => 1,
        };
        (self.leading as u64 >> 4) << 16 | (self.stride as u64 >> 4) << 32 | mode << 62
    }
}

/// An instruction.
#[derive(Clone, Copy)]
struct Case {
    n: usize,
    k: usize,
    d: &'static str,
    a: &'static str,
    b: &'static str,
    /// Of A in shared memory.
    left: Option<Layout>,
    right: Layout,
    /// What A and B are multiplied by.
    signs: [i32; 2],
    adds: bool,
    saturates: bool,
    /// Of a sparse A: the selector.
    sparse: Option<u32>,
}

const HALVES: Case = Case {
    n: 64,
    k: 16,
    d: "f32",
    a: "f16",
    b: "f16",
    left: Some(PLAIN),
    right: PLAIN,
    signs: [1, 1],
    adds: true,
    saturates: false,
    sparse: None,
};

fn bits_of(name: &str) -> usize {
    match name {
        "b1" => 1,
        "s8" | "u8" => 8,
        other => format(other).0 as usize,
    }
}

/// Puts a number of `bits` bits into bytes.
fn put(bytes: &mut [u8], at: usize, k: usize, bits: usize, value: u32) {
    if bits == 1 {
        bytes[at] |= (value as u8 & 1) << (k % 8);
    } else {
        bytes[at..at + bits / 8].copy_from_slice(&value.to_le_bytes()[..bits / 8]);
    }
}

impl Case {
    fn is_float(&self) -> bool {
        self.d != "s32"
    }

    /// Registers of D.
    fn registers(&self) -> usize {
        self.n / 2 / if self.d == "f16" { 2 } else { 1 }
    }

    fn instruction(&self) -> String {
        let (d, a, b) = (self.d, self.a, self.b);
        let saturates = if self.saturates { ".satfinite" } else { "" };
        let operation = if a == "b1" { ".and.popc" } else { "" };
        let registers: Vec<String> = (0..self.registers()).map(|at| format!("%d{at}")).collect();
        let left = if self.left.is_some() { "%a" } else { "{%a0,%a1,%a2,%a3}" };
        let (sp, meta) = match self.sparse {
            None => ("", String::new()),
            Some(selector) => (".sp", format!("%m, {selector}, ")),
        };
        let mut tail = String::new();
        if self.is_float() {
            tail = format!(", {}, {}", self.signs[0], self.signs[1]);
        }
        if bits_of(a) == 16 {
            if let Some(left) = self.left {
                tail += &format!(", {}", u8::from(left.across));
            }
            tail += &format!(", {}", u8::from(self.right.across));
        }
        format!(
            "wgmma.mma_async{sp}.sync.aligned.m64n{}k{}{saturates}.{d}.{a}.{b}{operation} {{{}}}, {left}, %b, {meta}%q{tail};",
            self.n,
            self.k,
            registers.join(",")
        )
    }

    /// A kernel that copies its input to shared memory and registers, and stores the registers of D.
    fn text(&self, instruction: &str) -> String {
        let count = self.registers();
        let each = |text: &str, count: usize| -> String {
            (0..count)
                .map(|at| text.replace('#', &at.to_string()).replace('@', &(512 * at).to_string()))
                .collect()
        };
        format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out, .param .u64 a, .param .u64 b) {{\n\
             .reg .b32 %t<8>; .reg .b64 %p<8>; .reg .b64 %a, %b; .reg .pred %q, %l; .reg .b32 %d<{count}>; .reg .b32 %a<4>, %m;\n\
             .shared .align 1024 .b8 s[{SHARED}];\n\
             mov.u32 %t0, %tid.x; ld.param.u64 %p0, [in]; ld.param.u64 %p1, [out]; mov.u32 %t1, s; mov.u32 %t2, 0; shl.b32 %t3, %t0, 2;\n\
             L: add.u32 %t4, %t3, %t2; cvt.u64.u32 %p2, %t4; add.u64 %p2, %p0, %p2; ld.global.b32 %t5, [%p2]; add.u32 %t4, %t4, %t1;\n\
             st.shared.b32 [%t4], %t5; add.u32 %t2, %t2, 512; setp.lt.u32 %l, %t2, {SHARED}; @%l bra L;\n\
             cvt.u64.u32 %p3, %t3; add.u64 %p4, %p0, %p3; add.u64 %p4, %p4, {SHARED}; add.u64 %p1, %p1, %p3;\n{}{}\n\
             fence.proxy.async; bar.sync 0; ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; cvt.u64.u32 %p5, %t1; shr.u64 %p5, %p5, 4;\n\
             add.u64 %a, %a, %p5; add.u64 %b, %b, %p5; mov.u32 %t6, {}; setp.ne.u32 %q, %t6, 0; wgmma.fence.sync.aligned;\n\
             {instruction}\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n{}\nret; }}\n",
            each("ld.global.b32 %a#, [%p4+@]; ", 4) + "ld.global.b32 %m, [%p4+2048];",
            each("ld.global.b32 %d#, [%p4+2560+@]; ", count),
            u8::from(self.adds),
            each("st.global.b32 [%p1+@], %d#; ", count),
        )
    }

    /// The registers of D that a device makes of matrices of bits, A by rows, B by columns, C by rows.
    fn run(&self, a: &[u32], b: &[u32], c: &[u32]) -> Vec<u32> {
        self.run_sparse(a, b, c, &[])
    }

    /// The same of a sparse A without what is not there, and the metadata of each thread.
    fn run_sparse(&self, a: &[u32], b: &[u32], c: &[u32], metadata: &[u32]) -> Vec<u32> {
        self.run_at(a, b, c, metadata, 0)
    }

    /// The same with B so many lines of 128 bytes further, together with the pattern that its bytes are swizzled by.
    fn run_at(&self, a: &[u32], b: &[u32], c: &[u32], metadata: &[u32], lines: usize) -> Vec<u32> {
        let (bits, count) = (bits_of(self.a), self.registers());
        let columns = if self.sparse.is_some() { self.k / 2 } else { self.k };
        let mut bytes = vec![0; SHARED + 2560 + 512 * count];
        for line in 0..64 {
            for k in 0..columns {
                let value = a[line * columns + k];
                match self.left {
                    Some(left) => put(&mut bytes, left.place(line, k, bits), k, bits, value),
                    None => {
                        // Four lanes have 16 bytes of a row; registers: two rows, then the next 16 bytes.
                        let byte = k * bits / 8;
                        let register = line / 8 % 2 + byte / 16 * 2;
                        let lane = line / 16 * 32 + line % 8 * 4 + byte % 16 / 4;
                        put(&mut bytes, SHARED + 512 * register + 4 * lane + byte % 4, k, bits, value);
                    }
                }
            }
        }
        for line in 0..self.n {
            for k in 0..self.k {
                let place = B + 128 * lines + self.right.place(line, k, bits);
                put(&mut bytes, place, k, bits, b[line * self.k + k]);
            }
        }
        for (at, word) in metadata.iter().enumerate() {
            bytes[SHARED + 2048 + 4 * at..][..4].copy_from_slice(&word.to_le_bytes());
        }
        for (at, value) in c.iter().enumerate() {
            let place = SHARED + 2560 + self.fragment(at / self.n, at % self.n);
            let size = if self.d == "f16" { 2 } else { 4 };
            bytes[place..place + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        let device = Device::new(&self.text(&self.instruction()));
        let (input, out) = (device.upload(&bytes), device.zeroed::<u8>(512 * count));
        let b = ((B + 128 * lines) as u64 >> 4) | self.right.descriptor() | (lines as u64) << 49;
        let a = self.left.map_or(0, |left| left.descriptor());
        device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(input).add(out).add(a).add(b));
        let out = device.download::<u8>(out, 512 * count);
        (0..64 * self.n)
            .map(|at| {
                let place = self.fragment(at / self.n, at % self.n);
                match self.d {
                    "f16" => u32::from(u16::from_le_bytes([out[place], out[place + 1]])),
                    _ => u32::from_le_bytes(out[place..place + 4].try_into().unwrap()),
                }
            })
            .collect()
    }

    /// The byte of an element of D among registers of 128 lanes.
    fn fragment(&self, row: usize, column: usize) -> usize {
        let lane = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
        let pair = column / 8 * 2 + row / 8 % 2;
        match self.d {
            "f16" => 512 * pair + 4 * lane + column % 2 * 2,
            _ => 512 * (2 * pair + column % 2) + 4 * lane,
        }
    }

    /// Where in the metadata of 128 threads the code of four bits is that belongs to those columns of a row which begin at `code` times two or
    /// four: the thread, and how far its word is shifted (PTX ISA, "Sparse WGMMA", the figures of the metadata's layout).
    fn code(&self, row: usize, code: usize) -> (usize, usize) {
        let quad = row / 16 * 32 + row % 8 * 4;
        let upper = row / 8 % 2;
        match (bits_of(self.a), self.sparse) {
            // A lane has sixteen columns of both rows, or eight columns of `.tf32`; the selector says which pair of lanes.
            (16 | 32, Some(selector)) => (quad + 2 * selector as usize + code / 4, code % 4 * 4 + 16 * upper),
            // A lane has 32 columns of one row.
            _ => (quad + upper + code / 8 * 2, code % 8 * 4),
        }
    }

    /// What is left of A, and the metadata, if of each two or four columns those stay that `chosen` says.
    fn pruned(&self, random: &mut Random, a: &mut [f64], bits: &mut [u32]) -> (Vec<u32>, Vec<u32>) {
        let (mut kept, mut metadata) = (Vec::new(), vec![0; 128]);
        // What the lanes have that the selector does not mean is not looked at.
        metadata
            .iter_mut()
            .for_each(|word| *word = if bits_of(self.a) == 8 { 0 } else { random.next() as u32 });
        let group = if bits_of(self.a) == 32 { 2 } else { 4 };
        for row in 0..64 {
            for code in 0..self.k / group {
                let first = row * self.k + code * group;
                let pair = match group {
                    2 => vec![random.below(2) as usize],
                    _ => {
                        let low = random.below(3) as usize;
                        vec![low, low + 1 + random.below(3 - low as u64) as usize]
                    }
                };
                let nibble = match pair.as_slice() {
                    [only] => [0b0100, 0b1110][*only],
                    pair => (pair[0] | pair[1] << 2) as u32,
                };
                let (thread, shift) = self.code(row, code);
                metadata[thread] = metadata[thread] & !(15 << shift) | nibble << shift;
                kept.extend(pair.iter().map(|at| bits[first + at]));
                for at in (0..group).filter(|at| !pair.contains(at)) {
                    (a[first + at], bits[first + at]) = (0.0, 0);
                }
            }
        }
        (kept, metadata)
    }

    /// Compares products of exact numbers.
    fn check(&self) {
        let mut random = Random(self.n as u64 * 7 + self.k as u64);
        let name = self.instruction();
        let mut matrix = |name: &str, count: usize| -> (Vec<u32>, Vec<f64>) {
            let number = |random: &mut Random| match name {
                "b1" => random.below(2) as f64,
                "s8" => random.below(256) as f64 - 128.0,
                "u8" => random.below(256) as f64,
                "s32" => f64::from(random.next() as i32),
                _ => random.below(13) as f64 / 2.0 - 3.0,
            };
            let bits = |value: f64| match name {
                "b1" | "s8" | "u8" | "s32" => value as i64 as u32,
                float => encoded(float, value),
            };
            let values: Vec<f64> = (0..count).map(|_| number(&mut random)).collect();
            (values.iter().map(|value| bits(*value)).collect(), values)
        };
        let (mut a_bits, mut a) = matrix(self.a, 64 * self.k);
        let (b_bits, b) = matrix(self.b, self.n * self.k);
        let (mut c_bits, mut c) = matrix(self.d, 64 * self.n);
        if self.saturates {
            // Near the ends, so that both are met.
            for (at, (bits, value)) in c_bits.iter_mut().zip(&mut c).enumerate() {
                *bits = if at % 2 == 0 { i32::MAX as u32 - at as u32 } else { 1 << 31 | at as u32 };
                *value = f64::from(*bits as i32);
            }
        }
        let pruned = self.sparse.map(|_| self.pruned(&mut Random(self.n as u64), &mut a, &mut a_bits));
        let mut wanted = Vec::new();
        for row in 0..64 {
            for column in 0..self.n {
                let products = (0..self.k).map(|k| a[row * self.k + k] * b[column * self.k + k]);
                let sign = if self.is_float() { f64::from(self.signs[0] * self.signs[1]) } else { 1.0 };
                let sum =
                    products.sum::<f64>() * sign + if self.adds { c[row * self.n + column] } else { 0.0 };
                wanted.push(match (self.d, self.saturates) {
                    ("s32", true) => (sum as i32) as u32,
                    ("s32", false) => sum as i64 as u32,
                    // Sums of zero are positive.
                    (float, _) => encoded(float, sum + 0.0),
                });
            }
        }
        let found = match pruned {
            None => self.run(&a_bits, &b_bits, &c_bits),
            Some((kept, metadata)) => self.run_sparse(&kept, &b_bits, &c_bits, &metadata),
        };
        let wrong = found.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        if let Some(at) = wrong {
            let (row, column) = (at / self.n, at % self.n);
            panic!("{name}: ({row}, {column}) is {:x}, not {:x}", found[at], wanted[at]);
        }
    }
}

/// The layouts of a matrix that has room for 128 lines of 16 halves.
fn layouts() -> Vec<[Layout; 2]> {
    [0, 32, 64, 128]
        .map(|swizzle| {
            let (stride, leading) = if swizzle == 0 { (256, 128) } else { (8 * swizzle, 0) };
            let along = Layout { swizzle, across: false, leading, stride };
            let (leading, stride) = if swizzle == 0 { (2048, 128) } else { (16 * swizzle, 8 * swizzle) };
            [along, Layout { swizzle, across: true, leading, stride }]
        })
        .to_vec()
}

#[test]
fn matrices_of_all_layouts() {
    for [along, across] in layouts() {
        for (left, right) in [(along, along), (across, along), (along, across), (across, across)] {
            for a in ["f16", "bf16"] {
                Case { a, b: a, left: Some(left), right, ..HALVES }.check();
            }
        }
        Case { left: None, right: across, ..HALVES }.check();
        for (k, a) in [(8, "tf32"), (32, "e4m3"), (32, "e5m2")] {
            Case { k, a, b: a, left: Some(along), right: along, ..HALVES }.check();
        }
        for (k, a) in [(32, "s8"), (256, "b1")] {
            Case { k, d: "s32", a, b: a, left: Some(along), right: along, ..HALVES }.check();
        }
    }
    // A and B in different ones, and other distances between pieces.
    let [_, [narrow, _], _, [wide, _]] = layouts()[..] else { panic!() };
    Case { left: Some(narrow), right: wide, ..HALVES }.check();
    let sparse = Layout { leading: 1024, stride: 2048 + 128, ..PLAIN };
    Case { n: 32, left: Some(Layout { leading: 4096, stride: 512, ..PLAIN }), right: sparse, ..HALVES }
        .check();
}

#[test]
fn a_from_registers_and_all_sizes() {
    for (k, d, a, b) in [
        (16, "f32", "f16", "f16"),
        (16, "f16", "f16", "f16"),
        (16, "f32", "bf16", "bf16"),
        (8, "f32", "tf32", "tf32"),
        (32, "f32", "e4m3", "e5m2"),
        (32, "f16", "e5m2", "e4m3"),
        (32, "f32", "e4m3", "e4m3"),
        (32, "f16", "e5m2", "e5m2"),
        (32, "s32", "s8", "s8"),
        (32, "s32", "u8", "s8"),
        (32, "s32", "s8", "u8"),
        (32, "s32", "u8", "u8"),
        (256, "s32", "b1", "b1"),
    ] {
        for left in [None, Some(PLAIN)] {
            Case { k, d, a, b, left, ..HALVES }.check();
            Case { k, d, a, b, left, adds: false, ..HALVES }.check();
        }
    }
    for n in [8, 24, 40, 256] {
        Case { n, ..HALVES }.check();
        Case { n, d: "f16", left: None, ..HALVES }.check();
    }
}

#[test]
fn sparse_matrices() {
    let wide = Layout { leading: 128, stride: 512, ..PLAIN };
    for (k, d, a, b) in [
        (32, "f32", "f16", "f16"),
        (32, "f16", "f16", "f16"),
        (32, "f32", "bf16", "bf16"),
        (16, "f32", "tf32", "tf32"),
        (64, "f32", "e4m3", "e5m2"),
        (64, "f16", "e5m2", "e5m2"),
        (64, "s32", "s8", "u8"),
        (64, "s32", "u8", "s8"),
    ] {
        let selectors = if k == 64 { 0..1 } else { 0..2 };
        for selector in selectors {
            for left in [None, Some(PLAIN)] {
                let case = Case { k, d, a, b, left, right: wide, sparse: Some(selector), ..HALVES };
                case.check();
                Case { n: 8, adds: false, ..case }.check();
                Case { n: 256, right: Layout { stride: 512, leading: 128, ..PLAIN }, ..case }.check();
            }
        }
    }
    for [along, across] in layouts() {
        let halves = Case { k: 32, sparse: Some(1), left: Some(along), ..HALVES };
        // 64 bytes of a column do not fit into a row of a pattern of 32.
        if along.swizzle != 32 {
            let right = if along.swizzle == 0 { wide } else { along };
            Case { right, ..halves }.check();
            Case { k: 64, d: "s32", a: "s8", b: "s8", right, sparse: Some(0), ..halves }.check();
        }
        let far = Layout { leading: if across.swizzle == 0 { 2048 } else { 32 * across.swizzle }, ..across };
        Case { left: Some(across), right: far, ..halves }.check();
        Case { left: None, right: far, signs: [-1, 1], ..halves }.check();
    }
    Case { k: 64, d: "s32", a: "u8", b: "u8", right: wide, saturates: true, sparse: Some(0), ..HALVES }
        .check();
    let plain = Case { k: 32, sparse: Some(1), ..HALVES };
    for (case, selector) in [(plain, 2), (Case { k: 64, a: "e4m3", b: "e4m3", ..plain }, 1)] {
        let text = Case { sparse: Some(selector), ..case }
            .text(&Case { sparse: Some(selector), ..case }.instruction());
        let device = Device::new(&text);
        let reasons: Vec<_> = device.kernel("k").unsupported().map(|(_, reason)| reason.to_owned()).collect();
        assert!(
            reasons.len() == 1 && reasons[0].contains("the selector of this shape is below"),
            "{reasons:?}"
        );
    }
}

/// A swizzled matrix may begin at any line of 128 bytes, if the descriptor says at which of the pattern.
#[test]
fn patterns_begin_anywhere() {
    for (swizzle, lines) in [(128, 8), (64, 4), (32, 2)] {
        let along = Layout { swizzle, across: false, leading: 0, stride: 8 * swizzle };
        for offset in 0..lines {
            let case = Case { n: 16, right: along, ..HALVES };
            let (a, b): (Vec<u32>, Vec<u32>) = (
                (0..64 * 16).map(|at| encoded("f16", f64::from(at % 7) - 3.0)).collect(),
                (0..16 * 16).map(|at| encoded("f16", f64::from(at * at % 11) - 5.0)).collect(),
            );
            let wanted = case.run(&a, &b, &[0; 64 * 16]);
            assert_eq!(case.run_at(&a, &b, &[0; 64 * 16], &[], offset), wanted, "{swizzle} {offset}");
        }
    }
}

#[test]
fn factors_are_negated_and_integers_saturate() {
    for signs in [[-1, 1], [1, -1], [-1, -1]] {
        for (k, d, a) in [(16, "f32", "f16"), (16, "f32", "bf16"), (8, "f32", "tf32"), (32, "f16", "e4m3")] {
            for left in [None, Some(PLAIN)] {
                Case { k, d, a, b: a, left, signs, ..HALVES }.check();
            }
        }
    }
    for (a, b) in [("s8", "s8"), ("u8", "s8"), ("u8", "u8")] {
        Case { k: 32, d: "s32", a, b, saturates: true, ..HALVES }.check();
    }
}

/// What the sum of products of 8-bit floats becomes: all terms are cut off 13 places below the largest exponent, and so is the sum. An exponent
/// of a product is the sum of those of its factors.
fn coarse(products: &[(f64, i32)], c: (f64, i32), to: &str) -> u32 {
    let terms: Vec<_> = products.iter().chain([&c]).filter(|term| term.0 != 0.0).collect();
    let Some(top) = terms.iter().map(|term| term.1).max() else { return 0 };
    let sum: f64 = terms.iter().map(|term| (term.0 * 2f64.powi(13 - top)).trunc()).sum();
    if sum == 0.0 {
        return 0;
    }
    let value = sum * 2f64.powi(top - 13);
    let own = value.abs().log2().floor() as i32;
    match to {
        "f32" => encoded("f32", (value * 2f64.powi(13 - own)).trunc() * 2f64.powi(own - 13)),
        _ => encoded("f16", (value * 2f64.powi(10 - own)).round_ties_even() * 2f64.powi(own - 10)),
    }
}

#[test]
fn sums_of_8_bit_floats_keep_13_places() {
    let mut random = Random(3);
    for (d, a, b) in
        [("f32", "e4m3", "e4m3"), ("f32", "e4m3", "e5m2"), ("f16", "e5m2", "e4m3"), ("f16", "e4m3", "e4m3")]
    {
        let case = Case { n: 16, k: 32, d, a, b, left: None, ..HALVES };
        // Exponents from 2^-6 to 2^5, all fractions and signs, subnormal numbers among those of `.e4m3`.
        let mut eighths = |name: &str, count: usize| -> Vec<u32> {
            let number = |random: &mut Random| match name {
                "e4m3" => (random.next() & 0x80 | random.below(13 * 8)) as u32,
                _ => (random.next() & 0x80 | (random.below(9) + 11) << 2 | random.next() & 3) as u32,
            };
            (0..count).map(|_| number(&mut random)).collect()
        };
        let (left, right) = (eighths(a, 64 * 32), eighths(b, 16 * 32));
        let c: Vec<u32> = (0..64 * 16)
            .map(|_| match d {
                "f32" => (random.next() as u32 & 0x807f_ffff) | (120 + random.below(16) as u32) << 23,
                _ => (random.next() as u32 & 0x83ff) | (8 + random.below(16) as u32) << 10,
            })
            .collect();
        let found = case.run(&left, &right, &c);
        let mut coarser = 0;
        for (at, found) in found.iter().enumerate() {
            let product = |k: usize| {
                let (x, y) = (decoded(a, left[at / 16 * 32 + k]), decoded(b, right[at % 16 * 32 + k]));
                (x.0 * y.0, x.1 + y.1)
            };
            let products: Vec<_> = (0..32).map(product).collect();
            let addend = decoded(d, c[at]);
            assert_eq!(*found, coarse(&products, addend, d), "{d} {a} {b}: {at}");
            let exact = products.iter().map(|product| product.0).sum::<f64>() + addend.0;
            coarser += usize::from(decoded(d, *found).0 as f32 != exact as f32);
        }
        assert!(coarser > 100, "the sums are cut off: {coarser}");
    }
}

/// An H200's, to numbers written down: one product of 1, and C.
#[test]
fn small_addends_are_cut_off() {
    let case = Case { n: 8, k: 32, a: "e4m3", b: "e4m3", left: None, ..HALVES };
    let (mut a, mut b) = (vec![0; 64 * 32], vec![0; 8 * 32]);
    for line in 0..64 {
        a[line * 32] = 0x38;
    }
    for line in 0..8 {
        b[line * 32] = 0x38;
    }
    for (c, wanted) in [
        (2f32.powi(-13), 1.0 + 2f32.powi(-13)),
        (2f32.powi(-14), 1.0),
        (-(2f32.powi(-14)), 1.0),
        // Truncated, not rounded.
        (2f32.powi(-13) * 1.75, 1.0 + 2f32.powi(-13)),
        (8192.0, 8193.0),
        (16384.0, 16384.0),
        // Of C as well no more is kept.
        (1.0 + 2f32.powi(-14), 2.0),
        (-1.0, 0.0),
    ] {
        let found = case.run(&a, &b, &vec![c.to_bits(); 64 * 8]);
        assert_eq!(found, vec![wanted.to_bits(); 64 * 8], "{c}");
    }
}

/// The fault of an instruction with these descriptors.
fn fault(case: Case, threads: u32, a: u64, b: u64) -> Result<(), (FaultKind, String)> {
    let device = Device::new(&case.text(&case.instruction()));
    let input = device.zeroed::<u8>(SHARED + 2560 + 512 * case.registers());
    let out = device.zeroed::<u8>(512 * case.registers());
    let args = Args::new().add(input).add(out).add(a).add(b);
    let launch = crate::support::launch(&device, "k", [1; 3], [threads, 1, 1], &args);
    device.try_launch("k", launch).map(|_| ()).map_err(|fault| (fault.kind, fault.to_string()))
}

#[test]
fn what_a_descriptor_cannot_say() {
    let plain = PLAIN.descriptor();
    assert_eq!(fault(HALVES, 128, plain, plain | 0x400), Ok(()));
    // The last eight columns begin at 7 * 256, and have 128 bytes twice.
    let last = (SHARED as u64 - 8 * 256) >> 4;
    assert_eq!(fault(HALVES, 128, plain, plain | last), Ok(()));
    for (a, b, kind, wanted) in [
        (plain, plain | (last + 1), FaultKind::IllegalAddress, "reaches to shared address 0xc400"),
        (plain | (last + 1), plain, FaultKind::IllegalAddress, "reaches to shared address 0xc400"),
        (plain, plain | 0x3f00, FaultKind::IllegalAddress, "illegal read of 16 bytes"),
    ] {
        let (found, message) = fault(HALVES, 128, a, b).unwrap_err();
        assert_eq!(found, kind, "{message}");
        assert!(message.contains(wanted), "{message}");
    }
    assert_eq!(fault(HALVES, 96 + 16, plain, plain).unwrap_err().0, FaultKind::InvalidSync);
}

#[test]
fn random_descriptors_are_faults_or_results() {
    let mut random = Random(11);
    let mut kinds = std::collections::BTreeSet::new();
    for at in 0..150 {
        let across = Layout { across: true, ..PLAIN };
        let case = Case {
            n: 8,
            left: Some(if at % 3 == 0 { across } else { PLAIN }),
            right: if at % 2 == 0 { across } else { PLAIN },
            ..HALVES
        };
        // Some near the beginning.
        let mask = [u64::MAX, !0x3000_3000_3000][at % 2];
        let result = fault(case, 128, random.next() & mask, random.next() & mask);
        kinds.insert(result.err().map(|(kind, _)| format!("{kind:?}")));
    }
    let kinds: Vec<_> = kinds.into_iter().map(Option::unwrap_or_default).collect();
    assert_eq!(kinds, ["", "IllegalAddress"]);
}

#[test]
fn what_ptx_does_not_have_is_refused() {
    let plain = HALVES.instruction();
    let integers = Case { k: 32, d: "s32", a: "s8", b: "s8", ..HALVES };
    for (case, instruction, wanted) in [
        (HALVES, plain.replace("1, 1, 0, 0;", "2, 1, 0, 0;"), "multiplied by 1 or -1"),
        (HALVES, plain.replace("1, 1, 0, 0;", "1, 1, 0, 2;"), "transposed, 1, or not, 0"),
        (HALVES, plain.replace("1, 1, 0, 0;", "1, 1;"), "8 operands expected, 6 found"),
        (HALVES, plain.replace("%d0,", ""), "has 31 registers, 32 are expected"),
        (HALVES, plain.replace("k16", "k8"), "no such combination"),
        (HALVES, plain.replace("n64", "n12"), "no such combination"),
        (integers, integers.instruction().replace("n64", "n40"), "no such combination"),
        (integers, integers.instruction().replace("%q;", "%q, 1, 1;"), "4 operands expected, 6 found"),
        (HALVES, plain.replace("mma_async", "mma_async.sp"), ""),
    ] {
        let memory = Arc::new(Memory::new(1 << 20));
        let reasons: Vec<String> = match Program::load(&case.text(&instruction), &memory) {
            Ok(program) => {
                let kernel = program.kernel("k").unwrap();
                kernel.unsupported().map(|(_, reason)| reason.to_owned()).collect()
            }
            Err(failure) => vec![failure.message],
        };
        assert!(reasons.len() == 1 && reasons[0].contains(wanted), "{instruction}: {reasons:?}");
    }
}
