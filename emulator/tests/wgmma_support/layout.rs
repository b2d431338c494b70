//! Where the elements of a matrix are in shared memory (PTX ISA, "Shared Memory Matrix Layout").

/// Where a matrix lies.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Bytes of the swizzling pattern's row: 0, 32, 64, 128.
    pub swizzle: usize,
    /// Rows of A or columns of B are contiguous, not K.
    pub across: bool,
    pub leading: usize,
    pub stride: usize,
}

/// Without swizzling, K contiguous.
pub const PLAIN: Layout = Layout { swizzle: 0, across: false, leading: 128, stride: 256 };

impl Layout {
    /// The canonical layouts of the ISA: where the byte `byte` of element (`line`, `k`) of `bits` bits is.
    pub fn place(&self, line: usize, k: usize, bits: usize) -> usize {
        let width = self.swizzle;
        let inside = k * bits / 8;
        let dense = match (self.across, width) {
            (false, 0) => line % 8 * 16 + line / 8 * self.stride + inside / 16 * self.leading + inside % 16,
            (false, _) => {
                line % 8 * width + line / 8 * self.stride + inside / width * self.leading + inside % width
            }
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

    pub fn descriptor(&self) -> u64 {
        let mode = match self.swizzle {
            0 => 0,
            32 => 3,
            64 => 2,
            _ => 1,
        };
        (self.leading as u64 >> 4) << 16 | (self.stride as u64 >> 4) << 32 | mode << 62
    }
}
