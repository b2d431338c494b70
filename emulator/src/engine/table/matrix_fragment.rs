//! How the matrices of `wmma` lie in registers and in memory.

use cuda_ptx::{Operand as Text, Space};

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::exec::alu::{lane3, lane4};
use super::super::exec::memory::Access;
use super::super::exec::operand::Class;
use super::super::watch::{Note, What};
use super::Form;
use super::matrix::Shape;

/// Bits of a type.
fn bits(ty: &str) -> usize {
    match ty {
        "f64" => 64,
        "f32" | "tf32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "s8" | "u8" => 8,
        "s4" | "u4" => 4,
        _ => 1,
    }
}

/// Which lines of a matrix its registers hold: rows of A or columns of B, or of C those of the factor with more lines.
#[derive(Clone, Copy)]
pub(super) struct Fragment {
    /// Registers.
    pub(super) count: usize,
    /// Bits of an element.
    bits: usize,
    /// Bits of a register.
    pub(super) width: usize,
    /// A factor of 16 lines, or several: registers of lines 0 to 7 and 8 to 15 take turns.
    paired: bool,
    /// Registers of eight lines of a factor; 0 of C.
    blocks: usize,
}

impl Fragment {
    fn each(self) -> usize {
        self.width / self.bits
    }

    /// Line and place along it of the first element that lane 0 has in a register. The next lanes are `each` places on (of C two),
    /// and after four of them on the next line.
    pub(super) fn first(self, register: usize, shape: Shape) -> (usize, usize) {
        if self.blocks == 0 {
            // Of C, two places of a line are in one register or in two.
            let index = register * self.each();
            let (half, group, odd) = (index / 2 % 2, index / 4, index % 2);
            return match (shape.m, shape.n) {
                (16, 16) => (half * 8, group * 8 + odd),
                (8, 8) => (0, odd),
                _ => (group * 16 + half * 8, odd),
            };
        }
        let along = 4 * self.each();
        if self.paired {
            let within = register % (2 * self.blocks);
            return (register / (2 * self.blocks) * 16 + within % 2 * 8, within / 2 * along);
        }
        (register / self.blocks * 8, register % self.blocks * along)
    }
}

/// Side `a`, `b`, `c` or `d` of a shape.
pub(super) fn fragment(side: &str, shape: Shape, ty: &str) -> Fragment {
    let bits = bits(ty);
    let width = if bits == 64 { 64 } else { 32 };
    let lines = match side {
        "a" => shape.m,
        "b" => shape.n,
        _ => {
            let count = shape.m * shape.n * bits / (32 * width);
            return Fragment { count, bits, width, paired: false, blocks: 0 };
        }
    };
    let blocks = shape.k * bits / (4 * width);
    // Of 16 by 16, A is that which comes in pairs.
    let paired = lines == 32 || (lines == 16 && side == "a");
    Fragment { count: lines / 8 * blocks, bits, width, paired, blocks }
}

/// Registers that an instruction names: of halves always eight, the same ones again.
pub(super) fn named(fragment: Fragment, ty: &str) -> usize {
    if ty == "f16" && fragment.blocks != 0 { 8 } else { fragment.count }
}

/// How a matrix lies in memory, and how its elements are reached.
pub(super) struct Memory {
    /// The address of what lane 0 has in its first register, for each lane that of its own.
    base: Operand,
    class: Class,
    /// Bytes that are added to it.
    offset: u64,
    space: Option<Space>,
    /// Elements from one line to the next, and from one place of a line to the next: 1, or `stride`.
    contiguous: bool,
    /// If it is the same in the whole program.
    stride: Option<u64>,
    stride_operand: Operand,
}

/// Whether a side's lines lie one after the other, each in one piece.
fn contiguous(side: &str, form: &Form<'_>, shape: Shape) -> bool {
    // Lines are columns for B, and for C where B has more of them.
    let columns = side == "b" || (matches!(side, "c" | "d") && shape.n > shape.m);
    form.has("row") != columns
}

/// The address and the stride, `[p]{, stride}`, operands from `at` on with `others` between.
pub(super) fn memory(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    (side, shape, fragment): (&str, Shape, Fragment),
    (at, stride_at): (usize, usize),
) -> Result<Memory, Refusal> {
    let space = form.any(&["global", "shared", "shared::cta"]).and_then(Space::from_name);
    let address = builder.address(builder.operand(at)?, space.is_none())?;
    let (rows, columns) = match side {
        "a" => (shape.m, shape.k),
        "b" => (shape.k, shape.n),
        _ => (shape.m, shape.n),
    };
    let (stride, stride_operand) = match builder.operands().get(stride_at) {
        None => {
            let stride = if form.has("row") { columns } else { rows } as u64;
            (Some(stride), builder.constant(Class::Word, stride))
        }
        Some(Text::Literal(cuda_ptx::Literal::Int(number))) => {
            (Some(*number as u64), builder.constant(Class::Word, *number as u64))
        }
        Some(text) => (None, builder.source(text, Class::Word)?),
    };
    let class = if address.narrow { Class::Word } else { Class::Wide };
    let contiguous = contiguous(side, form, shape);
    let lane = builder.source(&Text::Name("%laneid"), Class::Word)?;
    let each = if fragment.blocks == 0 { 2 } else { fragment.each() };
    let how =
        builder.constant(Class::Word, (each | fragment.bits << 8 | usize::from(contiguous) << 16) as u64);
    let base = builder.temporary(class)?;
    let sum = if address.narrow {
        lane4(|base: u32, lane: u32, stride: u32, how: u32| {
            base.wrapping_add(share(lane, stride, how) as u32)
        })
    } else {
        lane4(|base: u64, lane: u32, stride: u32, how: u32| base.wrapping_add(share(lane, stride, how)))
    };
    builder.lane(sum, &[base], &[address.base, lane, stride_operand, how]);
    Ok(Memory { base, class, offset: address.offset, space, contiguous, stride, stride_operand })
}

/// Bytes from what lane 0 has to what this lane has: lines times the distance of lines, and places times that of places.
#[inline(always)]
fn share(lane: u32, stride: u32, how: u32) -> u64 {
    let (line, place) = (u64::from(lane >> 2), u64::from(lane & 3) * u64::from(how & 0xff));
    let stride = u64::from(stride);
    let elements =
        if how >> 16 != 0 { line.wrapping_mul(stride) + place } else { place.wrapping_mul(stride) + line };
    elements.wrapping_mul(u64::from(how >> 8 & 0xff)) / 8
}

impl Memory {
    /// The address operand, and what is added to it, of the element at that line and place.
    pub(super) fn at(
        &self,
        builder: &mut Builder<'_, '_>,
        fragment: Fragment,
        (line, place): (usize, usize),
    ) -> Result<(Operand, u64), Refusal> {
        let (strides, ones) = if self.contiguous { (line, place) } else { (place, line) };
        let near = self.offset.wrapping_add((ones * fragment.bits / 8) as u64);
        if let Some(stride) = self.stride {
            let far = stride.wrapping_mul((strides * fragment.bits) as u64) / 8;
            return Ok((self.base, near.wrapping_add(far)));
        }
        if strides == 0 {
            return Ok((self.base, near));
        }
        let scale = builder.constant(Class::Word, (strides * fragment.bits) as u64);
        let base = builder.temporary(self.class)?;
        let sum = if self.class == Class::Word {
            lane3(|base: u32, stride: u32, scale: u32| {
                base.wrapping_add((u64::from(stride) * u64::from(scale) / 8) as u32)
            })
        } else {
            lane3(|base: u64, stride: u32, scale: u32| {
                base.wrapping_add(u64::from(stride) * u64::from(scale) / 8)
            })
        };
        builder.lane(sum, &[base], &[self.base, self.stride_operand, scale]);
        Ok((base, near))
    }

    /// Fills in what a plain load or store of that many bytes says of its address.
    pub(super) fn access(&self, draft: &mut Draft, offset: u64, bytes: u64, what: What) {
        let narrow = if self.class == Class::Word { Access::NARROW } else { 0 };
        let write = if matches!(what, What::Load) { 0 } else { Access::WRITE };
        draft.aux = Access::new(1, self.space, narrow | write).0;
        (draft.imm, draft.site) = (offset, true);
        draft.note = Some(Note { what, address: 1, bytes });
    }
}

/// How many elements of a register lie beside each other in memory.
pub(super) fn pieces(memory: &Memory, fragment: Fragment) -> usize {
    if memory.contiguous { 1 } else { fragment.each() }
}
