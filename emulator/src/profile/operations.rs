//! Arithmetic by type, by the names of the instructions.

use std::ops::AddAssign;

use super::{Counts, InstructionProfile, KernelProfile};

/// Arithmetic of threads whose guard held. Floating-point numbers are counted in operations: a fused multiply-add is two, and a pair
/// (`f16x2`) twice as many. All else is counted in instructions, as in Nsight Compute, whose `op_integer`, `op_bit` and `op_conversion` count
/// those of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operations {
    /// On `f64`.
    pub f64: u64,
    /// On `f32`.
    pub f32: u64,
    /// On `f16` and `bf16`.
    pub f16: u64,
    /// Of `mma`, `wmma.mma` and `wgmma`, by the type of the factors.
    pub matrix: MatrixOperations,
    /// Instructions of arithmetic on integers and their comparison: `mad.lo.u32`, `setp.lt.s32`.
    pub integer: u64,
    /// Instructions on bits: `and`, `lop3`, `shl`, `bfe`, `popc`, `prmt`.
    pub bit: u64,
    /// Conversions: `cvt`.
    pub conversion: u64,
}

/// Multiplications and additions of matrix instructions, by the type of the factors: each has a peak rate of its own. Sparse forms multiply
/// half of what their shape says: the other elements of one matrix are zeros that it does not store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatrixOperations {
    /// `f64`.
    pub f64: u64,
    /// `tf32`.
    pub tf32: u64,
    /// `f16` and `bf16`.
    pub f16: u64,
    /// `e4m3` and `e5m2`.
    pub f8: u64,
    /// `s8` and `u8`.
    pub i8: u64,
    /// What is narrower: integers of 4 bits and single bits, floats of 6 and of 4 bits.
    pub narrow: u64,
}

impl MatrixOperations {
    /// All of them.
    pub fn total(self) -> u64 {
        let MatrixOperations { f64, tf32, f16, f8, i8, narrow } = self;
        f64 + tf32 + f16 + f8 + i8 + narrow
    }

    /// So many, of an instruction whose name has these parts.
    fn of(operations: u64, parts: &[&str]) -> MatrixOperations {
        let mut all = MatrixOperations::default();
        let names = |types: &[&str]| parts.iter().any(|part| types.contains(part));
        // The narrowest first: the types of the sums stand beside those of the factors. For f16 `wmma.mma` names the sums' alone.
        let count = if names(&["s4", "u4", "b1", "e2m1", "e2m3", "e3m2"]) {
            &mut all.narrow
        } else if names(&["s8", "u8"]) {
            &mut all.i8
        } else if names(&["e4m3", "e5m2"]) {
            &mut all.f8
        } else if names(&["tf32"]) {
            &mut all.tf32
        } else if names(&["f64"]) {
            &mut all.f64
        } else {
            &mut all.f16
        };
        *count = operations;
        all
    }
}

impl AddAssign for MatrixOperations {
    fn add_assign(&mut self, other: MatrixOperations) {
        self.f64 += other.f64;
        self.tf32 += other.tf32;
        self.f16 += other.f16;
        self.f8 += other.f8;
        self.i8 += other.i8;
        self.narrow += other.narrow;
    }
}

impl Operations {
    /// Those on floating-point numbers, and those of matrices.
    pub fn floating_point(self) -> u64 {
        self.f64 + self.f32 + self.f16 + self.matrix.total()
    }

    /// Those of an instruction with that name.
    fn of(mnemonic: &str, counts: &Counts) -> Operations {
        let mut all = Operations::default();
        let parts: Vec<&str> = mnemonic.split('.').collect();
        let name = parts.first().copied().unwrap_or_default();
        // Other `wmma` instructions only move elements: `wmma.load.a`, `wmma.store.d`.
        let multiplies = name.ends_with("mma") && (name != "wmma" || parts.get(1) == Some(&"mma"));
        if let Some(products) = parts.iter().find_map(|part| products(part)).filter(|_| multiplies) {
            // Four complete warps execute one `wgmma` together: if the guard is false, nothing is multiplied.
            let threads = if name == "wgmma" { 128 } else { 32 };
            let each = if parts.iter().any(|part| is_sparse(part)) { 1 } else { 2 };
            all.matrix = MatrixOperations::of(each * products * counts.threads_on / threads, &parts);
            return all;
        }
        let of_type = parts.last().copied().unwrap_or_default();
        match kind(name) {
            Some(Kind::Arithmetic(each)) => {
                let threads = each * counts.threads_on;
                match of_type {
                    "f64" => all.f64 = threads,
                    "f32" => all.f32 = threads,
                    // Of mixed precision: `fma.rn.f32.f16`.
                    "f16" | "bf16" if parts.contains(&"f32") => all.f32 = threads,
                    "f32x2" => all.f32 = 2 * threads,
                    "f16" | "bf16" => all.f16 = threads,
                    "f16x2" | "bf16x2" => all.f16 = 2 * threads,
                    of_type if is_integer(of_type) => all.integer = counts.threads_on,
                    _ => {}
                }
            }
            Some(Kind::OfIntegers) if is_integer(of_type) => all.integer = counts.threads_on,
            Some(Kind::Integer) => all.integer = counts.threads_on,
            Some(Kind::Bit) if of_type != "pred" => all.bit = counts.threads_on,
            Some(Kind::Conversion) => all.conversion = counts.threads_on,
            Some(Kind::OfIntegers | Kind::Bit) | None => {}
        }
        all
    }
}

impl AddAssign for Operations {
    fn add_assign(&mut self, other: Operations) {
        self.f64 += other.f64;
        self.f32 += other.f32;
        self.f16 += other.f16;
        self.matrix += other.matrix;
        self.integer += other.integer;
        self.bit += other.bit;
        self.conversion += other.conversion;
    }
}

impl InstructionProfile {
    /// Its arithmetic, over all launches.
    pub fn operations(&self) -> Operations {
        Operations::of(&self.name, &self.counts)
    }
}

impl KernelProfile {
    /// The arithmetic of all its instructions.
    pub fn operations(&self) -> Operations {
        let mut all = Operations::default();
        self.instructions.iter().for_each(|instruction| all += instruction.operations());
        all
    }
}

/// What an instruction does, by the first part of its name.
enum Kind {
    /// Arithmetic on numbers of the type that it names, of so many operations if these are floating-point numbers.
    Arithmetic(u64),
    /// What counts as arithmetic if its type is an integer.
    OfIntegers,
    /// Arithmetic on integers, whatever its modifiers.
    Integer,
    Bit,
    Conversion,
}

/// PTX ISA, "Integer Arithmetic Instructions" to "Logic and Shift Instructions", "Video Instructions", `cvt`.
fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "fma" | "mad" => Kind::Arithmetic(2),
        "add" | "sub" | "mul" | "div" | "min" | "max" | "sqrt" | "rsqrt" | "rcp" | "sin" | "cos" | "ex2"
        | "lg2" | "tanh" => Kind::Arithmetic(1),
        "set" | "setp" | "abs" | "neg" => Kind::OfIntegers,
        "mul24" | "mad24" | "sad" | "rem" | "dp4a" | "dp2a" | "addc" | "subc" | "madc" | "vadd" | "vsub"
        | "vabsdiff" | "vmin" | "vmax" | "vmad" | "vset" | "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2"
        | "vmin2" | "vmax2" | "vset2" | "vadd4" | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4"
        | "vset4" => Kind::Integer,
        "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shf" | "shl" | "shr" | "vshl" | "vshr" | "brev"
        | "bfe" | "bfi" | "bfind" | "bmsk" | "szext" | "fns" | "popc" | "clz" | "prmt" => Kind::Bit,
        "cvt" => Kind::Conversion,
        _ => return None,
    })
}

/// `u32`, `s16x2`; and `b64`, which `setp` takes for integers.
fn is_integer(of_type: &str) -> bool {
    let digits = of_type.strip_prefix(['u', 's', 'b']).map(|rest| rest.strip_suffix("x2").unwrap_or(rest));
    digits.is_some_and(|digits| matches!(digits, "8" | "16" | "32" | "64"))
}

/// `mma.sp`, `mma.sp::ordered_metadata`, `wgmma.mma_async.sp`
fn is_sparse(part: &str) -> bool {
    part == "sp" || part.starts_with("sp::")
}

/// `m16n8k16`: the products of one instruction.
fn products(part: &str) -> Option<u64> {
    let (m, rest) = part.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let number = |text: &str| text.parse::<u64>().ok();
    number(m)?.checked_mul(number(n)?)?.checked_mul(number(k)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(mnemonic: &str) -> Operations {
        let counts = Counts { warps: 10, threads: 320, threads_on: 96, ..Counts::default() };
        Operations::of(mnemonic, &counts)
    }

    #[test]
    fn floating_point_by_name_and_type() {
        let of = |mnemonic: &str| {
            let all = counted(mnemonic);
            assert_eq!((all.integer, all.bit, all.conversion), (0, 0, 0), "{mnemonic}");
            [all.f64, all.f32, all.f16, all.matrix.total()]
        };
        assert_eq!(of("fma.rn.f64"), [192, 0, 0, 0]);
        assert_eq!(of("add.ftz.f32"), [0, 96, 0, 0]);
        assert_eq!(of("mul.rn.f16x2"), [0, 0, 192, 0]);
        assert_eq!(of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), [0, 0, 0, 2 * 2048 * 3]);
        let group = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";
        assert_eq!(of(group), [0, 0, 0, 2 * 64 * 8 * 16 * 3 / 4]);
        assert_eq!(of("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), [0, 0, 0, 2 * 4096 * 3]);
        assert_eq!(of("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"), [0, 0, 0, 2 * 4096 * 3]);
        assert_eq!(of("fma.rn.f32x2"), [0, 384, 0, 0]);
        assert_eq!(of("fma.rn.f32.bf16"), [0, 192, 0, 0]);
        // Two of four elements are not multiplied.
        for sparse in ["mma.sp", "mma.sp::ordered_metadata"] {
            let name = format!("{sparse}.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32");
            assert_eq!(of(&name), [0, 0, 0, 2 * 2048 * 3], "{name}");
        }
        let group = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16";
        assert_eq!(of(group), [0, 0, 0, 2 * 64 * 8 * 16 * 3 / 4]);
    }

    #[test]
    fn matrices_by_the_type_of_their_factors() {
        let of = |mnemonic: &str| {
            let MatrixOperations { f64, tf32, f16, f8, i8, narrow } = counted(mnemonic).matrix;
            [f64, tf32, f16, f8, i8, narrow].map(|operations| operations != 0)
        };
        let only = |at: usize| std::array::from_fn(|index| index == at);
        for (at, mnemonic) in [
            (0, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
            (0, "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64"),
            (1, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
            (1, "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32"),
            (2, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
            (2, "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16"),
            (3, "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16"),
            (3, "wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e5m2"),
            (4, "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32"),
            (5, "mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32"),
            (5, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"),
        ] {
            assert_eq!(of(mnemonic), only(at), "{mnemonic}");
        }
    }

    #[test]
    fn the_rest_by_instructions() {
        for integer in [
            "add.s32",
            "mad.wide.u32",
            "mad.lo.cc.u32",
            "addc.cc.u64",
            "div.u16",
            "min.s16x2",
            "setp.lt.and.u64",
            "setp.eq.b32",
            "set.lt.u32.s32",
            "abs.s32",
            "dp4a.u32.u32",
            "vadd4.u32.u32.u32.sat.add",
        ] {
            assert_eq!(counted(integer), Operations { integer: 96, ..Operations::default() }, "{integer}");
        }
        for bit in ["and.b32", "shl.b64", "bfe.u32", "popc.b64", "lop3.b32", "prmt.b32", "shf.l.wrap.b32"] {
            assert_eq!(counted(bit), Operations { bit: 96, ..Operations::default() }, "{bit}");
        }
        for conversion in ["cvt.u64.u32", "cvt.rn.f16x2.f32", "cvt.pack.sat.u8.s32.b32"] {
            let expected = Operations { conversion: 96, ..Operations::default() };
            assert_eq!(counted(conversion), expected, "{conversion}");
        }
        for other in [
            "ld.global.f32",
            "mov.f32",
            "mov.u32",
            "x.m16n8k16",
            "setp.lt.f32",
            "set.lt.u32.f32",
            "neg.f32",
            "and.pred",
            "selp.b32",
            "cvta.to.global.u64",
            "atom.global.add.u32",
            "wmma.load.a.sync.aligned.m16n16k16.row.f16",
            "wmma.store.d.sync.aligned.row.m16n16k16.f32",
        ] {
            assert_eq!(counted(other), Operations::default(), "{other}");
        }
    }
}
