//! String tables.

use super::{ImageError, Section};

/// A string table in use.
pub(super) struct Strings<'a> {
    data: &'a [u8],
    offset: usize,
    /// Whether all of it is ASCII, so that no name has to be checked to be UTF-8.
    ascii: bool,
    /// Bytes of names that may still be read. Names can share bytes; in a hostile file, millions of names share
    /// millions of bytes.
    budget: usize,
}

impl<'a> Strings<'a> {
    pub(super) fn new(section: &Section<'a>) -> Self {
        let data = section.data();
        let budget = data.len().saturating_mul(64).saturating_add(4096);
        Self { data, offset: section.offset(), ascii: data.is_ascii(), budget }
    }

    /// Checks the string at `index`, and returns its bytes; `field` is the offset of the field that contains the index, for errors.
    pub(super) fn at(&mut self, index: u32, field: usize) -> Result<&'a [u8], ImageError> {
        let rest = self.data.get(index as usize..).unwrap_or_default();
        let Some(length) = length(rest).filter(|length| *length < self.budget) else {
            let message = format!("name at {index} of a string table of {} bytes", self.data.len());
            return Err(ImageError::corrupt(field, message));
        };
        self.budget -= length;
        let name = &rest[..length];
        if !self.ascii && std::str::from_utf8(name).is_err() {
            return Err(ImageError::corrupt(self.offset + index as usize, "a name that is not UTF-8"));
        }
        Ok(name)
    }
}

/// The string at `index` of a table in which it was checked.
pub(super) fn checked(table: &[u8], index: u32) -> &str {
    std::str::from_utf8(until_nul(table, index)).unwrap_or_default()
}

/// Its bytes.
#[inline(always)]
pub(super) fn until_nul(table: &[u8], index: u32) -> &[u8] {
    let rest = table.get(index as usize..).unwrap_or_default();
    &rest[..length(rest).unwrap_or(0)]
}

/// Bytes before the first NUL. Names are short: a search that prepares for long ones takes several times as long.
#[inline(always)]
fn length(rest: &[u8]) -> Option<usize> {
    const LOW: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let (words, tail) = rest.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest bit set is that of the first byte that is zero.
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(at * 8 + zeros.trailing_zeros() as usize / 8);
        }
    }
    tail.iter().position(|byte| *byte == 0).map(|at| words.len() * 8 + at)
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn the_first_nul_ends_a_string() {
        for size in 0..20 {
            for first in 0..=size {
                let mut bytes = vec![0x80; size];
                // A byte of one behind a NUL is where a borrow of the subtraction would show.
                bytes[first..].fill(1);
                assert_eq!(length(&bytes), None);
                bytes.get_mut(first).into_iter().for_each(|byte| *byte = 0);
                assert_eq!(length(&bytes), (first < size).then_some(first), "{bytes:?}");
            }
        }
    }
}
