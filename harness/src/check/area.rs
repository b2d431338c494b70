//! Bytes that work uses: a range of addresses, or the rows of a rectangle or box without the gaps between them.

use super::sides::{Size, reach};

/// The number of steps after which two boxes of different pitches are assumed not to overlap.
const MOST_STEPS: u64 = 1 << 12;

/// Rows of bytes. One range is one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    start: u64,
    /// The end of the last byte.
    end: u64,
    size: Size,
    /// Bytes from one row to the next.
    pitch: u64,
    /// Bytes from one plane to the next.
    plane: u64,
}

impl Area {
    /// `None` if it has no byte.
    pub(super) fn range(start: u64, bytes: u64) -> Option<Area> {
        Area::new(start, Size { width: bytes, height: 1, depth: 1 }, 0, 0)
    }

    /// Rows that start `pitch` bytes apart, in planes that start `rows` rows apart. `None` if the area has no bytes, or if its rows
    /// overlap.
    pub(super) fn new(start: u64, size: Size, pitch: u64, rows: u64) -> Option<Area> {
        let Size { mut width, mut height, mut depth } = size;
        if size.is_empty() || height > 1 && pitch < width || depth > 1 && rows < height {
            return None;
        }
        let end = start.saturating_add(reach(size, pitch, rows)?);
        let plane = pitch.saturating_mul(rows);
        // An area without gaps is one row.
        if height > 1 && pitch == width {
            (width, height) = (width.checked_mul(height)?, 1);
        }
        if depth > 1 && height == 1 && plane == width {
            (width, depth) = (width.checked_mul(depth)?, 1);
        }
        Some(Area { start, end, size: Size { width, height, depth }, pitch, plane })
    }

    fn is_range(&self) -> bool {
        self.size.height == 1 && self.size.depth == 1
    }

    /// Whether some byte is in both; false if that would take too long to determine.
    pub(super) fn overlaps(&self, other: &Area) -> bool {
        if self.start >= other.end || other.start >= self.end {
            return false;
        }
        if self.is_range() && other.is_range() {
            return true;
        }
        let pairs = self.size.depth.saturating_mul(other.size.depth);
        let rows = match self.has_pitch_of(other) {
            true => 1,
            false => self.size.height.min(other.size.height),
        };
        let is_short = pairs.saturating_mul(rows) <= MOST_STEPS;
        is_short && self.planes().any(|own| other.planes().any(|other| own.meets(&other)))
    }

    /// Whether this area contains all bytes of another; false if that is not easy to see.
    pub(super) fn covers(&self, other: &Area) -> bool {
        self == other || self.is_range() && self.start <= other.start && other.end <= self.end
    }

    fn planes(&self) -> impl Iterator<Item = Area> {
        let depth = self.size.depth;
        (0..depth).map(move |number| self.part(number.saturating_mul(self.plane), self.size.height))
    }

    /// `height` rows of one plane, starting `offset` bytes after the start.
    fn part(&self, offset: u64, height: u64) -> Area {
        let (start, size) = (self.start.saturating_add(offset), Size { height, depth: 1, ..self.size });
        let bytes = (height - 1).saturating_mul(self.pitch).saturating_add(size.width);
        Area { start, end: start.saturating_add(bytes), size, ..*self }
    }

    /// Whether both can be counted in rows of one pitch.
    fn has_pitch_of(&self, other: &Area) -> bool {
        self.size.height == 1 || other.size.height == 1 || self.pitch == other.pitch
    }

    /// Whether two planes have a byte in common.
    fn meets(&self, other: &Area) -> bool {
        if self.start >= other.end || other.start >= self.end {
            return false;
        }
        if self.has_pitch_of(other) {
            return self.meets_rows(other);
        }
        let (few, many) = if self.size.height <= other.size.height { (self, other) } else { (other, self) };
        (0..few.size.height).any(|row| few.part(row.saturating_mul(few.pitch), 1).meets_rows(many))
    }

    /// Row i of this and row j of the other have a byte in common if, with k = i - j, `k * pitch` is between the two ends of their
    /// distance: the first k that is large enough is tried.
    fn meets_rows(&self, other: &Area) -> bool {
        let pitch = i128::from(if self.size.height == 1 { other.pitch } else { self.pitch });
        let distance = i128::from(other.start) - i128::from(self.start);
        let (least, most) = (distance - i128::from(self.size.width), distance + i128::from(other.size.width));
        if pitch == 0 {
            return least < 0 && 0 < most;
        }
        let first = (least.div_euclid(pitch) + 1).max(1 - i128::from(other.size.height));
        first < i128::from(self.size.height) && first * pitch < most
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bytes(area: &Area) -> Vec<u64> {
        let Size { width, height, depth } = area.size;
        let row = move |z, y| (0..width).map(move |x| area.start + z * area.plane + y * area.pitch + x);
        (0..depth).flat_map(|z| (0..height).flat_map(move |y| row(z, y))).collect()
    }

    /// Compares with sets of bytes, for many small boxes.
    #[test]
    fn boxes_overlap_if_they_have_a_byte_in_common() {
        let mut boxes = Vec::new();
        for (width, height, depth) in [(1, 1, 1), (3, 1, 1), (2, 3, 1), (3, 2, 2), (1, 2, 3), (9, 1, 2)] {
            for (pitch, rows) in [(3, 3), (4, 3), (5, 4), (9, 3)] {
                for start in [10, 11, 13, 17, 22, 40] {
                    boxes.extend(Area::new(start, Size { width, height, depth }, pitch, rows));
                }
            }
        }
        let mut both = [0; 2];
        for one in &boxes {
            let own = bytes(one);
            for other in &boxes {
                let others = bytes(other);
                let is_common = own.iter().any(|byte| others.contains(byte));
                assert_eq!(one.overlaps(other), is_common, "{one:?} {other:?}");
                assert!(!one.covers(other) || others.iter().all(|byte| own.contains(byte)));
                both[usize::from(is_common)] += 1;
            }
        }
        assert!(both.iter().all(|count| *count > 1000), "{both:?}");
        // Rows without gaps are one range.
        let whole = Area::new(0, Size { width: 4, height: 8, depth: 2 }, 4, 8).unwrap();
        assert!(whole.is_range() && whole.covers(&Area::range(8, 56).unwrap()));
        assert!(Area::range(8, 0).is_none());
        assert!(Area::new(0, Size { width: 4, height: 2, depth: 1 }, 3, 0).is_none());
    }
}
