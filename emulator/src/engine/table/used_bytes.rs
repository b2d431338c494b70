//! Loads of which not all bytes are used (PTX ISA, `.pragma "used_bytes_mask"`). Compilers widen loads: they read the padding of structures, or
//! past the end of a variable whose size is odd. Bytes that are not used need not be there, and no check looks at them. Those that are there are
//! loaded all the same, as hardware does: NVRTC 13.0 also leaves out bytes that the code behind the load uses.

use cuda_ptx::{Operand as Text, Type};

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::decode::operands::Address;
use super::super::exec::alu::{lane1, lane2};
use super::super::exec::load as loads;
use super::super::exec::memory::Access;
use super::super::exec::operand::Class;
use super::super::watch::{Note, What};
use super::memory::{aligned_base, signed};

/// A load of several elements, of which some bytes are used.
pub(super) struct UsedBytes<'e, 'a> {
    pub(super) address: Address,
    /// Of one element.
    pub(super) access: Access,
    pub(super) ty: Type,
    pub(super) class: Class,
    pub(super) elements: &'e [Text<'a>],
    /// Whether nothing but its thread can access the bytes.
    pub(super) private: bool,
}

/// The mask of a load of so many bytes, if there is one and it leaves some of them out.
pub(super) fn mask(builder: &Builder<'_, '_>, bytes: usize) -> Option<u32> {
    let all = u32::MAX.checked_shr(32u32.saturating_sub(bytes as u32))?;
    builder.used_bytes().map(|mask| mask & all).filter(|mask| *mask != all)
}

impl<'a> UsedBytes<'_, 'a> {
    pub(super) fn decode(&self, builder: &mut Builder<'_, 'a>, mask: u32) -> Result<(), Refusal> {
        let size = self.ty.size();
        let base = aligned_base(builder, &self.address, self.access, self.elements.len() * size)?;
        for (index, element) in self.elements.iter().enumerate() {
            let dest = builder.dest(element, self.class)?;
            let used = mask >> (index * size) & ((1 << size) - 1);
            self.element(builder, base, index * size, used, dest)?;
        }
        Ok(())
    }

    /// One element, `start` bytes behind the address: its pieces, used or not, are loaded and joined.
    fn element(
        &self,
        builder: &mut Builder<'_, 'a>,
        base: Operand,
        start: usize,
        used: u32,
        dest: Operand,
    ) -> Result<(), Refusal> {
        let size = self.ty.size();
        let all = pieces(used, size).into_iter().map(|piece| (piece, true));
        let all: Vec<_> = all.chain(pieces(!used, size).into_iter().map(|piece| (piece, false))).collect();
        if let [((0, bytes), used)] = all[..]
            && bytes == size
        {
            let address = Address { base, ..self.address };
            return self.piece(builder, address, start, (bytes, signed(self.ty)), (dest, used));
        }
        let mut value = builder.constant(self.class, 0);
        for ((at, bytes), used) in all {
            let piece = builder.temporary(self.class)?;
            // The sign is in the uppermost byte.
            let signed = signed(self.ty) && at + bytes == size;
            let address = Address { base, ..self.address };
            self.piece(builder, address, start + at, (bytes, signed), (piece, used))?;
            let (joined, shift) = (builder.temporary(self.class)?, 8 * at as u64);
            let shift = builder.constant(self.class, shift);
            let shifted = builder.temporary(self.class)?;
            let (left, or) = match self.class {
                Class::Wide => (lane2(|a: u64, n: u64| a << (n & 63)), lane2(|a: u64, b: u64| a | b)),
                _ => (lane2(|a: u32, n: u32| a << (n & 31)), lane2(|a: u32, b: u32| a | b)),
            };
            builder.lane(left, &[shifted], &[piece, shift]);
            builder.lane(or, &[joined], &[value, shifted]);
            value = joined;
        }
        let copy = match self.class {
            Class::Wide => lane1(|a: u64| a),
            _ => lane1(|a: u32| a),
        };
        builder.lane(copy, &[dest], &[value]);
        Ok(())
    }

    fn piece(
        &self,
        builder: &mut Builder<'_, 'a>,
        address: Address,
        start: usize,
        (bytes, signed): (usize, bool),
        (dest, used): (Operand, bool),
    ) -> Result<(), Refusal> {
        let exec = match used {
            true => loads::load(bytes, signed, self.class, self.access),
            false => loads::load_if_present(bytes, signed, self.class),
        };
        let exec = exec.ok_or_else(|| Refusal::new("a register of that width is not supported here"))?;
        let mut draft = Draft::new(exec.pick(), &[dest], &[address.base]);
        (draft.aux, draft.site) = (self.access.0, true);
        draft.imm = address.offset.wrapping_add(start as u64);
        // No bytes where no check is to look.
        draft.element = Some(if used { bytes as u32 } else { 0 });
        let note = Note { what: What::Load, address: 1, bytes: bytes as u64 };
        draft.note = (used && !self.private).then_some(note);
        builder.push(draft);
        Ok(())
    }
}

/// The bytes of a mask as aligned pieces, as long as can be: where each begins, and its bytes.
fn pieces(used: u32, size: usize) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < size {
        let fits = |bytes: &usize| {
            let all = (1u32 << bytes) - 1;
            at.is_multiple_of(*bytes) && at + bytes <= size && used >> at & all == all
        };
        match [8, 4, 2, 1].into_iter().find(fits) {
            Some(bytes) => {
                pieces.push((at, bytes));
                at += bytes;
            }
            None => at += 1,
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_aligned_and_cover_what_is_used() {
        assert_eq!(pieces(0xff, 8), [(0, 8)]);
        assert_eq!(pieces(0x7f, 8), [(0, 4), (4, 2), (6, 1)]);
        assert_eq!(pieces(0b1110, 4), [(1, 1), (2, 2)]);
        assert_eq!(pieces(0b1001, 4), [(0, 1), (3, 1)]);
        assert_eq!(pieces(0, 4), []);
    }
}
