//! Reading and writing a surface: bytes at an element's offset, without conversion.

use super::Image;

/// How accesses outside of a surface are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// The kernel stops.
    Trap,
    /// The nearest element is accessed.
    Clamp,
    /// It reads zero or writes nothing.
    Zero,
}

/// A surface object.
#[derive(Clone, Copy, Debug)]
pub struct Surface {
    /// The image of the surface.
    pub image: Image,
}

impl Surface {
    /// The address of `bytes` bytes at byte `x` of a row, row `y`, plane or layer `z`; `None` if that is outside.
    pub fn place(&self, [x, y, z]: [i64; 3], bytes: usize, edge: Edge) -> Option<u64> {
        let row = (self.image.size[0] * self.image.texel.bytes()) as i64;
        let limits = [row - bytes as i64 + 1, self.image.size[1] as i64, self.image.size[2] as i64];
        let mut at = [x, y, z];
        for (at, limit) in at.iter_mut().zip(limits) {
            if !(0..limit).contains(at) {
                if edge != Edge::Clamp {
                    return None;
                }
                *at = (*at).clamp(0, (limit - 1).max(0));
            }
        }
        let [x, y, z] = at.map(|at| at as u64);
        Some(self.image.address + z * self.image.plane as u64 + y * self.image.pitch as u64 + x)
    }
}
