//! What a tensor map says (PTX ISA, "Tensors"; `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col`), and which bytes of global memory the
//! instructions that take one copy.
//!
//! A map is 128 bytes of a form of the emulator's own: real ones are not documented.

use std::ops::Range;

use crate::numeric::narrow;
use crate::numeric::rounding::Nearest;

/// Most dimensions.
pub(crate) const RANK: usize = 5;

/// Words of a map.
pub(crate) const WORDS: usize = 16;

/// What says that a map was made here: "emulator".
const MARK: u64 = u64::from_le_bytes(*b"emulator");

/// How the box is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A box of the tensor.
    Tiled {
        /// Its sizes in elements, before `steps` thins it out.
        sizes: [u32; RANK],
    },
    /// Pixels of images as the columns of a matrix.
    Im2col {
        /// The corners of the box that pixels are taken from, counted from the first and the last pixel.
        corners: [[i32; 3]; 2],
        /// Channels of a pixel.
        channels: u32,
        /// How many pixels.
        pixels: u32,
    },
}

/// A tensor in global memory, and what of it an instruction copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TensorMap {
    /// The first element.
    pub(crate) address: u64,
    /// `CUtensorMapDataType`.
    pub(crate) data_type: u8,
    /// `CUtensorMapInterleave`.
    pub(crate) interleave: u8,
    /// `CUtensorMapSwizzle`.
    pub(crate) swizzle: u8,
    /// `CUtensorMapFloatOOBfill`.
    pub(crate) fill: u8,
    /// Dimensions.
    pub(crate) rank: usize,
    /// Elements, the innermost dimension first.
    pub(crate) sizes: [u64; RANK],
    /// Bytes from one to the next, from the second dimension on.
    pub(crate) strides: [u64; RANK - 1],
    /// Of each dimension every so many elements are copied.
    pub(crate) steps: [u32; RANK],
    /// How the box is chosen.
    pub(crate) mode: Mode,
}

/// A row of the box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Where it begins in the box.
    offset: usize,
    /// Which of them are in the tensor, counted from its beginning: the first, and the one behind the last.
    inside: [usize; 2],
    /// Where the first of those is.
    pub(crate) address: u64,
}

impl Row {
    /// Those of its bytes that are in the tensor.
    pub(crate) fn inside(&self) -> Range<usize> {
        self.offset + self.inside[0]..self.offset + self.inside[1]
    }
}

/// Bytes of an element; `None` where elements are less than a byte, or unknown.
pub(crate) fn element_bytes(data_type: u8) -> Option<usize> {
    Some(match data_type {
        0 => 1,
        1 | 6 | 9 => 2,
        2 | 3 | 7 | 10..=12 => 4,
        4 | 5 | 8 => 8,
        _ => return None,
    })
}

impl TensorMap {
    /// What a kernel makes one of.
    pub(crate) const NOTHING: TensorMap = TensorMap {
        address: 0,
        data_type: 0,
        interleave: 0,
        swizzle: 0,
        fill: 0,
        rank: 1,
        sizes: [0; RANK],
        strides: [0; RANK - 1],
        steps: [0; RANK],
        mode: Mode::Tiled { sizes: [0; RANK] },
    };

    /// As words: sizes and strides take one each, the sizes of a box 12 bits, steps 4, and coordinates of corners 20.
    pub(crate) fn encode(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        let numbers = [self.data_type, self.interleave, self.swizzle, self.fill, self.rank as u8];
        let kinds = numbers.iter().rev().fold(0, |word, number| word << 8 | u64::from(*number));
        let steps = self.steps.iter().rev().fold(0, |word, step| word << 4 | u64::from(*step & 15));
        (words[0], words[1]) = (MARK, self.address);
        words[3..8].copy_from_slice(&self.sizes);
        words[8..12].copy_from_slice(&self.strides);
        let is_im2col = match self.mode {
            Mode::Tiled { sizes } => {
                words[12] = sizes.iter().rev().fold(0, |word, size| word << 12 | u64::from(*size & 0xfff));
                0
            }
            Mode::Im2col { corners, channels, pixels } => {
                words[12] = u64::from(channels) | u64::from(pixels) << 32;
                for (word, corner) in words[13..15].iter_mut().zip(corners) {
                    *word =
                        corner.iter().rev().fold(0, |word, at| word << 20 | u64::from(*at as u32 & 0xf_ffff));
                }
                1
            }
        };
        words[2] = kinds | steps << 40 | is_im2col << 60;
        words
    }

    /// A map that [`encode`](Self::encode) made, as the driver encodes one: of no others is anything known.
    pub(crate) fn decode(words: &[u64; WORDS]) -> Option<Self> {
        Self::unchecked(words).filter(Self::is_valid)
    }

    /// A map that a kernel may not have finished.
    pub(crate) fn unchecked(words: &[u64; WORDS]) -> Option<Self> {
        let kind = |at: u32| (words[2] >> (8 * at)) as u8;
        let rank = usize::from(kind(4));
        if words[0] != MARK || !(1..=RANK).contains(&rank) {
            return None;
        }
        let mode = if words[2] >> 60 & 1 == 0 {
            Mode::Tiled { sizes: std::array::from_fn(|at| (words[12] >> (12 * at)) as u32 & 0xfff) }
        } else {
            let corner = |word: u64, at: usize| ((word >> (20 * at)) as u32) << 12;
            Mode::Im2col {
                corners: [13, 14].map(|word| std::array::from_fn(|at| corner(words[word], at) as i32 >> 12)),
                channels: words[12] as u32,
                pixels: (words[12] >> 32) as u32,
            }
        };
        Some(Self {
            address: words[1],
            data_type: kind(0),
            interleave: kind(1),
            swizzle: kind(2),
            fill: kind(3),
            rank,
            sizes: std::array::from_fn(|at| words[3 + at]),
            strides: std::array::from_fn(|at| words[8 + at]),
            steps: std::array::from_fn(|at| (words[2] >> (40 + 4 * at)) as u32 & 15),
            mode,
        })
    }

    /// What the address and the strides are multiples of.
    pub(crate) fn alignment(&self) -> u64 {
        if self.interleave == 2 || self.data_type >= 14 { 32 } else { 16 }
    }

    /// Whether the numbers are those of a map that the driver encodes: none is zero or overflows what is computed from them.
    fn is_valid(&self) -> bool {
        let kinds = self.data_type <= 15 && self.interleave <= 2 && self.swizzle <= 6 && self.fill <= 1;
        let multiple = self.alignment();
        let placed = self.address != 0 && self.address.is_multiple_of(multiple);
        let strided = |stride: &u64| stride.is_multiple_of(multiple) && *stride < 1 << 40;
        let boxed = match self.mode {
            Mode::Tiled { sizes } => sizes.iter().take(self.rank).all(|size| (1..=256).contains(size)),
            Mode::Im2col { channels, pixels, .. } => {
                self.rank >= 3 && (1..=256).contains(&channels) && (1..=1024).contains(&pixels)
            }
        };
        let limit = [usize::MAX, 32, 64].get(usize::from(self.swizzle)).copied().unwrap_or(128);
        let bytes = element_bytes(self.data_type).map(|element| element * self.inner_size() as usize);
        let inner =
            bytes.is_none_or(|bytes| bytes.is_multiple_of(16) && (self.is_interleaved() || bytes <= limit));
        kinds
            && placed
            && boxed
            && inner
            && self.sizes.iter().take(self.rank).all(|size| (1..=1 << 32).contains(size))
            && self.strides.iter().take(self.rank - 1).all(strided)
            && self.steps.iter().take(self.rank).all(|step| (1..=8).contains(step))
    }

    fn is_interleaved(&self) -> bool {
        self.interleave != 0
    }

    /// What the map says of the innermost dimension of the box, or of the channels.
    fn inner_size(&self) -> u32 {
        match self.mode {
            Mode::Tiled { sizes } => sizes[0],
            Mode::Im2col { channels, .. } => channels,
        }
    }

    /// Bytes that the innermost coordinate counts: an element. Where layouts are interleaved, of whatever type, all channels of a pixel that stand
    /// together.
    fn unit(&self) -> Option<usize> {
        let element = element_bytes(self.data_type)?;
        Some(if self.is_interleaved() { 8 << self.interleave } else { element })
    }

    /// The dimensions of images. Interleaved, the channels that do not stand together are a dimension behind them.
    fn spatial(&self) -> Range<usize> {
        let images = self.rank.saturating_sub(2).min(3);
        if self.is_interleaved() { 0..images } else { 1..images + 1 }
    }

    /// Units of the box in each dimension; of pixels: channels, and how many.
    fn extents(&self) -> [u32; RANK] {
        match self.mode {
            Mode::Tiled { sizes } => std::array::from_fn(|at| match at {
                at if at >= self.rank => 1,
                // Of the channels one group, whatever the box says.
                at if self.is_interleaved() && at == self.rank - 2 => 1,
                // The innermost dimension is never thinned out where it has the channels.
                0 if !self.is_interleaved() => sizes[0],
                at => sizes[at].div_ceil(self.steps[at].max(1)),
            }),
            Mode::Im2col { pixels, .. } if self.is_interleaved() => [pixels, 1, 1, 1, 1],
            Mode::Im2col { channels, pixels, .. } => [channels, pixels, 1, 1, 1],
        }
    }

    /// Rows of the box.
    fn row_count(&self) -> Option<usize> {
        self.extents()[1..].iter().try_fold(1usize, |all, size| all.checked_mul(*size as usize))
    }

    /// Bytes of a row of the box.
    pub(crate) fn row_bytes(&self) -> Option<usize> {
        Some(self.extents()[0] as usize * self.unit()?)
    }

    /// Bytes of the box, as a barrier counts them.
    pub(crate) fn box_bytes(&self) -> Option<usize> {
        self.row_count()?.checked_mul(self.row_bytes()?)
    }

    /// Bytes between the rows of the box in shared memory: swizzled ones do not begin within the bytes that change places together.
    pub(crate) fn pitch(&self) -> Option<usize> {
        let together = if self.swizzle == 0 || self.is_interleaved() { 0 } else { 16 << self.swizzle };
        Some(self.row_bytes()?.max(together))
    }

    /// Bytes from the first of the box in shared memory to the one behind the last.
    pub(crate) fn shared_bytes(&self) -> Option<u64> {
        let rows = self.row_count()?.checked_sub(1)?;
        Some(rows.checked_mul(self.pitch()?)?.checked_add(self.row_bytes()?)? as u64)
    }

    /// Why a box cannot begin there, for a copy out of shared memory if `stores`. An H200 answers so; the ISA does not say all of it.
    pub(crate) fn refusal(&self, corner: [i32; RANK], stores: bool) -> Option<String> {
        let unit = self.unit()?;
        let first = i64::from(corner[0]) * unit as i64;
        if first % 16 != 0 {
            return Some(format!(
                "a box that begins at coordinate {} of elements of {unit} bytes, which is not a multiple of 16 bytes",
                corner[0]
            ));
        }
        if stores && let Some(dim) = (0..self.rank).find(|dim| corner[*dim] < 0) {
            return Some(format!("a store to coordinate {} in dimension {dim}", corner[dim]));
        }
        let Mode::Im2col { corners: [lower, upper], .. } = self.mode else { return None };
        for (dim, (lower, upper)) in self.spatial().zip(lower.into_iter().zip(upper)) {
            if stores && (lower < 0 || upper > 0) {
                return Some(format!("a store into a box that reaches beyond the tensor in dimension {dim}"));
            }
            let end = self.sizes[dim] as i64 - 1 + i64::from(upper);
            if !(i64::from(lower)..=end).contains(&i64::from(corner[dim])) {
                return Some(format!(
                    "coordinate {} in dimension {dim}, outside {lower} to {end}",
                    corner[dim]
                ));
            }
        }
        None
    }

    /// The rows of the box whose corner is at `corner`, in their order in shared memory. `offsets` are added to the position of each pixel.
    pub(crate) fn rows(
        &self,
        corner: [i32; RANK],
        offsets: [u32; 3],
        mut visit: impl FnMut(Row) -> Option<()>,
    ) -> Option<()> {
        let (unit, extents) = (self.unit()?, self.extents());
        // Where pixels stand one behind the other, each is a row: they may be thinned out, and those of a column go over the ends of lines.
        let (inner, bytes) = if self.is_interleaved() { (0, unit) } else { (1, extents[0] as usize * unit) };
        let mut offset = 0;
        match self.mode {
            Mode::Tiled { .. } => {
                let mut at = [0u32; RANK];
                loop {
                    let place = std::array::from_fn(|dim| {
                        i64::from(corner[dim]) + i64::from(at[dim]) * i64::from(self.steps[dim].max(1))
                    });
                    visit(self.row(place, offset, bytes, unit))?;
                    offset += bytes;
                    // The next row: dimensions count up like the digits of a number.
                    let next = (inner..self.rank).find(|dim| {
                        at[*dim] += 1;
                        let carries = at[*dim] == extents[*dim];
                        if carries {
                            at[*dim] = 0;
                        }
                        !carries
                    });
                    if next.is_none() {
                        return Some(());
                    }
                }
            }
            Mode::Im2col { corners: [lower, upper], pixels, .. } => {
                let spatial = self.spatial();
                let mut at: [i64; RANK] = corner.map(i64::from);
                for _ in 0..pixels {
                    let mut place = at;
                    for (at, offset) in place[spatial.clone()].iter_mut().zip(offsets) {
                        *at += i64::from(offset);
                    }
                    visit(self.row(place, offset, bytes, unit))?;
                    offset += bytes;
                    let next =
                        spatial.clone().zip(lower.into_iter().zip(upper)).find(|(dim, (lower, upper))| {
                            at[*dim] += i64::from(self.steps[*dim].max(1));
                            let carries = at[*dim] > self.sizes[*dim] as i64 - 1 + i64::from(*upper);
                            if carries {
                                at[*dim] = i64::from(*lower);
                            }
                            !carries
                        });
                    if next.is_none() {
                        // The next image.
                        at[self.rank - 1] += i64::from(self.steps[self.rank - 1].max(1));
                    }
                }
                Some(())
            }
        }
    }

    /// The row that starts at this position.
    fn row(&self, place: [i64; RANK], offset: usize, bytes: usize, unit: usize) -> Row {
        let is_outside = (1..self.rank).any(|dim| place[dim] < 0 || place[dim] >= self.sizes[dim] as i64);
        let count = (bytes / unit) as i64;
        // Which of its units are inside.
        let clip = |at: i64| at.clamp(0, count);
        let [first, end] =
            if is_outside { [0; 2] } else { [clip(-place[0]), clip(self.sizes[0] as i64 - place[0])] };
        let inside = [first, end.max(first)].map(|at| at as usize * unit);
        let mut address = self.address.wrapping_add_signed((place[0] + first) * unit as i64);
        for (stride, at) in self.strides.iter().zip(&place[1..self.rank]) {
            address = address.wrapping_add(stride.wrapping_mul(*at as u64));
        }
        Row { offset, inside, address }
    }
}

/// What becomes of numbers on their way into shared memory: `.tf32` is rounded, as `cvt.rn` does.
pub(crate) fn convert(data_type: u8, numbers: &mut [u8]) {
    if !matches!(data_type, 11 | 12) {
        return;
    }
    for number in numbers.chunks_exact_mut(4) {
        let bits = u32::from_le_bytes([number[0], number[1], number[2], number[3]]);
        number.copy_from_slice(&narrow::tf32::<Nearest, false, false>(bits).to_le_bytes());
    }
}

/// The shared address of a byte of a box or matrix: 16 bytes change places with others of a pattern of 256, 512 or 1024 bytes, chosen by
/// `bits` of the address above (PTX ISA, "Swizzling Modes").
#[inline(always)]
pub(crate) fn swizzled(address: u64, bits: u32) -> u64 {
    address ^ (address >> 7 & ((1 << bits) - 1)) << 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(mode: Mode) -> TensorMap {
        TensorMap {
            address: 0x7f00_0000_1000,
            data_type: 9,
            interleave: 0,
            swizzle: 3,
            fill: 1,
            rank: 4,
            sizes: [64, 7, 1 << 32, 3, 0],
            strides: [128, 896, (1 << 40) - 16, 0],
            steps: [1, 2, 8, 1, 1],
            mode,
        }
    }

    #[test]
    fn a_map_is_what_was_encoded() {
        let corners = [[-128, 127, -1], [0, -16, 15]];
        for mode in
            [Mode::Tiled { sizes: [64, 256, 1, 4, 0] }, Mode::Im2col { corners, channels: 64, pixels: 1024 }]
        {
            assert_eq!(TensorMap::decode(&map(mode).encode()), Some(map(mode)));
        }
        assert_eq!(TensorMap::decode(&[0; WORDS]), None);
    }

    #[test]
    fn rows_are_clipped_and_thinned_out() {
        let tiled = map(Mode::Tiled { sizes: [64, 5, 1, 1, 1] });
        let mut rows = Vec::new();
        tiled.rows([-2, 3, 0, 0, 0], [0; 3], |row| {
            rows.push((row.offset, row.inside(), row.address - tiled.address));
            Some(())
        });
        // Every second of five: three rows, at 3, 5 and 7, of which there are seven.
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[0].0, rows[0].1.clone(), rows[0].2), (0, 4..128, 3 * 128));
        assert_eq!((rows[1].0, rows[1].1.clone(), rows[1].2), (128, 132..256, 5 * 128));
        assert!(rows[2].1.is_empty());
        assert_eq!(tiled.box_bytes(), Some(3 * 128));
    }

    /// Rows of 48 bytes: of elements, they begin where the swizzle's pattern does.
    #[test]
    fn rows_of_interleaved_maps_are_dense() {
        let mode = Mode::Tiled { sizes: [24, 2, 1, 1, 0] };
        let plain = TensorMap { steps: [1; RANK], ..map(mode) };
        assert_eq!((plain.box_bytes(), plain.shared_bytes()), (Some(2 * 48), Some(128 + 48)));
        let mode = Mode::Tiled { sizes: [3, 2, 1, 1, 0] };
        let interleaved = TensorMap { interleave: 1, steps: [1; RANK], ..map(mode) };
        assert_eq!((interleaved.box_bytes(), interleaved.shared_bytes()), (Some(2 * 48), Some(2 * 48)));
    }
}
