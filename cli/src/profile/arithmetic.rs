//! Floating-point operations, by the names of the instructions.

use cuda_emulator::{Counts, KernelProfile};

use super::ratio;

/// Operations of all threads; a fused multiply-add is two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arithmetic {
    pub(super) double: u64,
    pub(super) single: u64,
    /// `f16` and `bf16`
    pub(super) half: u64,
    /// Operations of `mma`, `wmma.mma` and `wgmma`, whatever their types. Sparse forms multiply half of what their shape says: the other elements of
    /// one matrix are zeros that it does not store. The peaks of `roof` are those of dense matrices, which count the same way.
    pub(super) matrix: u64,
}

impl Arithmetic {
    pub(super) fn of(profile: &KernelProfile) -> Self {
        let mut all = Self::default();
        for instruction in &profile.instructions {
            all.add(&instruction.name, &instruction.counts);
        }
        all
    }

    /// Adds the operations of an instruction.
    pub(super) fn add(&mut self, mnemonic: &str, counts: &Counts) {
        let parts: Vec<&str> = mnemonic.split('.').collect();
        let name = parts.first().copied().unwrap_or_default();
        // Other `wmma` instructions only move elements: `wmma.load.a`, `wmma.store.d`.
        let multiplies = name.ends_with("mma") && (name != "wmma" || parts.get(1) == Some(&"mma"));
        if let Some(products) = parts.iter().find_map(|part| products(part)).filter(|_| multiplies) {
            // Four complete warps execute one `wgmma` together: if the guard is false, nothing is multiplied.
            let threads = if name == "wgmma" { 128 } else { 32 };
            let each = if parts.iter().any(|part| is_sparse(part)) { 1 } else { 2 };
            self.matrix += each * products * counts.threads_on / threads;
            return;
        }
        let each = match name {
            "fma" | "mad" => 2,
            "add" | "sub" | "mul" | "div" | "min" | "max" | "sqrt" | "rsqrt" | "rcp" | "sin" | "cos"
            | "ex2" | "lg2" | "tanh" => 1,
            _ => return,
        };
        let threads = each * counts.threads_on;
        match parts.last().copied().unwrap_or_default() {
            "f64" => self.double += threads,
            "f32" => self.single += threads,
            "f32x2" => self.single += 2 * threads,
            "f16" | "bf16" => self.half += threads,
            "f16x2" | "bf16x2" => self.half += 2 * threads,
            _ => {}
        }
    }

    pub(super) fn all(self) -> u64 {
        self.double + self.single + self.half + self.matrix
    }

    /// Operations for each byte of the sectors of global memory that were moved.
    pub(super) fn intensity(self, total: &Counts) -> Option<f64> {
        ratio(self.all(), 32 * total.global_sectors).filter(|_| self.all() > 0)
    }
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

    fn counted(mnemonic: &str) -> [u64; 4] {
        let mut counts = Counts::default();
        (counts.warps, counts.threads, counts.threads_on) = (10, 320, 96);
        let mut all = Arithmetic::default();
        all.add(mnemonic, &counts);
        [all.double, all.single, all.half, all.matrix]
    }

    #[test]
    fn operations_by_name_and_type() {
        assert_eq!(counted("fma.rn.f64"), [192, 0, 0, 0]);
        assert_eq!(counted("add.ftz.f32"), [0, 96, 0, 0]);
        assert_eq!(counted("mul.rn.f16x2"), [0, 0, 192, 0]);
        assert_eq!(counted("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), [0, 0, 0, 2 * 2048 * 3]);
        let group = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";
        assert_eq!(counted(group), [0, 0, 0, 2 * 64 * 8 * 16 * 3 / 4]);
        assert_eq!(counted("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), [0, 0, 0, 2 * 4096 * 3]);
        assert_eq!(counted("fma.rn.f32x2"), [0, 384, 0, 0]);
        // Two of four elements are not multiplied.
        for sparse in ["mma.sp", "mma.sp::ordered_metadata"] {
            let name = format!("{sparse}.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32");
            assert_eq!(counted(&name), [0, 0, 0, 2 * 2048 * 3], "{name}");
        }
        let group = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16";
        assert_eq!(counted(group), [0, 0, 0, 2 * 64 * 8 * 16 * 3 / 4]);
        let moves =
            ["wmma.load.a.sync.aligned.m16n16k16.row.f16", "wmma.store.d.sync.aligned.row.m16n16k16.f32"];
        for other in ["add.s32", "ld.global.f32", "mov.f32", "x.m16n8k16"].into_iter().chain(moves) {
            assert_eq!(counted(other), [0; 4], "{other}");
        }
    }
}
