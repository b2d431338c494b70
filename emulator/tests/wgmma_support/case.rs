//! An instruction, and a kernel of it whose blocks read matrices from images of their shared memory and registers.

use super::layout::{Layout, PLAIN};

/// Bytes of shared memory: A from 0 on, B from `B` on.
pub const SHARED: usize = 49152;
pub const B: usize = 16384;

/// In an image: A in registers, the metadata, whether C takes part and both descriptors, C.
const REGISTERS: usize = SHARED;
const METADATA: usize = SHARED + 2048;
pub const HEAD: usize = SHARED + 2560;
const ADDEND: usize = SHARED + 3072;

/// An instruction.
#[derive(Clone, Copy)]
pub struct Case {
    pub n: usize,
    pub k: usize,
    pub d: &'static str,
    pub a: &'static str,
    pub b: &'static str,
    /// Of A in shared memory.
    pub left: Option<Layout>,
    pub right: Layout,
    /// What A and B are multiplied by.
    pub signs: [i32; 2],
    pub adds: bool,
    pub saturates: bool,
    /// Of a sparse A: the selector.
    pub sparse: Option<u32>,
}

pub const HALVES: Case = Case {
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

/// Bits of an element.
pub fn bits_of(name: &str) -> usize {
    match name {
        "b1" => 1,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "f16" | "bf16" => 16,
        _ => 32,
    }
}

/// Puts a number of `bits` bits into bytes.
pub fn put(bytes: &mut [u8], at: usize, k: usize, bits: usize, value: u32) {
    if bits == 1 {
        bytes[at] |= (value as u8 & 1) << (k % 8);
    } else {
        bytes[at..at + bits / 8].copy_from_slice(&value.to_le_bytes()[..bits / 8]);
    }
}

impl Case {
    pub fn is_float(&self) -> bool {
        self.d != "s32"
    }

    /// Registers of D.
    pub fn registers(&self) -> usize {
        self.n / 2 / if self.d == "f16" { 2 } else { 1 }
    }

    pub fn instruction(&self) -> String {
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

    /// Kernel `k(in, out)`: each block copies its image to shared memory and registers, and stores the registers of D.
    pub fn text(&self, instruction: &str) -> String {
        let count = self.registers();
        let each = |text: &str, count: usize, first: usize| -> String {
            let one =
                |at: usize| text.replace('#', &at.to_string()).replace('@', &(first + 512 * at).to_string());
            (0..count).map(one).collect()
        };
        format!(
            ".version 8.6\n.target sm_90a\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
             .reg .b32 %t<8>; .reg .b64 %p<8>; .reg .b64 %a, %b; .reg .pred %q, %l; .reg .b32 %d<{count}>; .reg .b32 %a<4>, %m;\n\
             .shared .align 1024 .b8 s[{SHARED}];\n\
             mov.u32 %t0, %tid.x; mov.u32 %t6, %ctaid.x; ld.param.u64 %p0, [in]; ld.param.u64 %p1, [out];\n\
             mul.wide.u32 %p2, %t6, {}; add.u64 %p0, %p0, %p2; mul.wide.u32 %p2, %t6, {}; add.u64 %p1, %p1, %p2;\n\
             mov.u32 %t1, s; mov.u32 %t2, 0; shl.b32 %t3, %t0, 2;\n\
             L: add.u32 %t4, %t3, %t2; cvt.u64.u32 %p2, %t4; add.u64 %p2, %p0, %p2; ld.global.b32 %t5, [%p2]; add.u32 %t4, %t4, %t1;\n\
             st.shared.b32 [%t4], %t5; add.u32 %t2, %t2, 512; setp.lt.u32 %l, %t2, {SHARED}; @%l bra L;\n\
             cvt.u64.u32 %p3, %t3; add.u64 %p4, %p0, %p3; add.u64 %p1, %p1, %p3;\n{}{}\n\
             fence.proxy.async; bar.sync 0; ld.global.b64 %a, [%p0+{}]; ld.global.b64 %b, [%p0+{}]; cvt.u64.u32 %p5, %t1; shr.u64 %p5, %p5, 4;\n\
             add.u64 %a, %a, %p5; add.u64 %b, %b, %p5; ld.global.b32 %t6, [%p0+{HEAD}]; setp.ne.u32 %q, %t6, 0; wgmma.fence.sync.aligned;\n\
             {instruction}\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n{}\nret; }}\n",
            self.size(),
            512 * count,
            each("ld.global.b32 %a#, [%p4+@]; ", 4, REGISTERS)
                + &format!("ld.global.b32 %m, [%p4+{METADATA}];\n"),
            each("ld.global.b32 %d#, [%p4+@]; ", count, ADDEND),
            HEAD + 8,
            HEAD + 16,
            each("st.global.b32 [%p1+@], %d#; ", count, 0),
        )
    }

    /// Bytes of an image.
    pub fn size(&self) -> usize {
        ADDEND + 512 * self.registers()
    }

    /// The image of matrices of bits, A by rows, without what a sparse one does not have, B by columns, C by rows; the metadata is that of
    /// each thread. B is so many lines of 128 bytes further, together with the pattern that its bytes are swizzled by.
    pub fn image(&self, a: &[u32], b: &[u32], c: &[u32], metadata: &[u32], lines: usize) -> Vec<u8> {
        let bits = bits_of(self.a);
        let columns = if self.sparse.is_some() { self.k / 2 } else { self.k };
        let mut bytes = vec![0; self.size()];
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
                        put(&mut bytes, REGISTERS + 512 * register + 4 * lane + byte % 4, k, bits, value);
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
            bytes[METADATA + 4 * at..][..4].copy_from_slice(&word.to_le_bytes());
        }
        for (at, value) in c.iter().enumerate() {
            let place = ADDEND + self.fragment(at / self.n, at % self.n);
            let size = if self.d == "f16" { 2 } else { 4 };
            bytes[place..place + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        let left = self.left.map_or(0, |left| left.descriptor());
        let right = ((B + 128 * lines) as u64 >> 4) | self.right.descriptor() | (lines as u64) << 49;
        bytes[HEAD..HEAD + 4].copy_from_slice(&u32::from(self.adds).to_le_bytes());
        bytes[HEAD + 8..HEAD + 16].copy_from_slice(&left.to_le_bytes());
        bytes[HEAD + 16..HEAD + 24].copy_from_slice(&right.to_le_bytes());
        bytes
    }

    /// The rows of D in the registers that a block stored.
    pub fn rows(&self, stored: &[u8]) -> Vec<u32> {
        (0..64 * self.n)
            .map(|at| {
                let place = self.fragment(at / self.n, at % self.n);
                match self.d {
                    "f16" => u32::from(u16::from_le_bytes([stored[place], stored[place + 1]])),
                    _ => u32::from_le_bytes(stored[place..place + 4].try_into().unwrap()),
                }
            })
            .collect()
    }

    /// The byte of an element of D among registers of 128 lanes.
    pub fn fragment(&self, row: usize, column: usize) -> usize {
        let lane = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
        let pair = column / 8 * 2 + row / 8 % 2;
        match self.d {
            "f16" => 512 * pair + 4 * lane + column % 2 * 2,
            _ => 512 * (2 * pair + column % 2) + 4 * lane,
        }
    }

    /// Where in the metadata of 128 threads the code of four bits is that belongs to those columns of a row which begin at `code` times two or
    /// four: the thread, and how far its word is shifted (PTX ISA, "Sparse WGMMA", the figures of the metadata's layout).
    pub fn code(&self, row: usize, code: usize) -> (usize, usize) {
        let quad = row / 16 * 32 + row % 8 * 4;
        let upper = row / 8 % 2;
        match (bits_of(self.a), self.sparse) {
            // A lane has sixteen columns of both rows, or eight columns of `.tf32`; the selector says which pair of lanes.
            (16 | 32, Some(selector)) => (quad + 2 * selector as usize + code / 4, code % 4 * 4 + 16 * upper),
            // A lane has 32 columns of one row.
            _ => (quad + upper + code / 8 * 2, code % 8 * 4),
        }
    }
}
