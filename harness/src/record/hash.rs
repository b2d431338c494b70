//! The hash of a file: it changes whenever one word of eight bytes or the length changes. It is not cryptographic: a file with a given
//! hash can be constructed.

const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash of what was added so far.
pub(super) struct Hash {
    value: u64,
    /// The first bytes of the next word, and how many.
    rest: [u8; 8],
    filled: usize,
    length: u64,
}

impl Default for Hash {
    fn default() -> Hash {
        Hash { value: START, rest: [0; 8], filled: 0, length: 0 }
    }
}

impl Hash {
    pub(super) fn of(bytes: &[u8]) -> u64 {
        let mut hash = Hash::default();
        hash.add(bytes);
        hash.value()
    }

    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.filled > 0 {
            let (own, others) = bytes.split_at(bytes.len().min(8 - self.filled));
            self.fill(own);
            bytes = others;
            if self.filled < 8 {
                return;
            }
            (self.value, self.filled) = (mixed(self.value, &self.rest), 0);
        }
        let (words, rest) = bytes.as_chunks::<8>();
        self.value = words.iter().fold(self.value, mixed);
        self.fill(rest);
    }

    fn fill(&mut self, bytes: &[u8]) {
        self.rest.iter_mut().skip(self.filled).zip(bytes).for_each(|(place, byte)| *place = *byte);
        self.filled += bytes.len();
    }

    /// Of all that was added: the last word has zeros behind it, and the length follows.
    pub(super) fn value(&self) -> u64 {
        let mut last = [0; 8];
        last.iter_mut().zip(self.rest.iter().take(self.filled)).for_each(|(place, byte)| *place = *byte);
        mixed(mixed(self.value, &last), &self.length.to_le_bytes())
    }
}

fn mixed(value: u64, word: &[u8; 8]) -> u64 {
    (value ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME).rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::Hash;

    #[test]
    fn bytes_that_are_added_in_parts_have_the_same_hash() {
        let bytes: Vec<u8> = (0..100_u8).collect();
        for length in 0..30 {
            let bytes = &bytes[..length];
            for part in 1..20 {
                let mut hash = Hash::default();
                bytes.chunks(part).for_each(|part| hash.add(part));
                assert_eq!(hash.value(), Hash::of(bytes), "{length} {part}");
            }
        }
        assert_ne!(Hash::of(&[0; 8]), Hash::of(&[0; 7]));
        // As `docs/recording.md` has it.
        assert_eq!(Hash::of(b"cu-rec\r\n-"), 0xf88de841b63e8af1);
    }
}
