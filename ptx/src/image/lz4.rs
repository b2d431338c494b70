//! LZ4 blocks without a frame, as in fatbins (LZ4 block format description).

/// The content of a block, if it is whole and has at most `limit` bytes.
///
/// A block does not record the length of its content; but a byte of the block produces at most 255 bytes, so a small block
/// cannot exhaust the memory.
pub(super) fn decompress(block: &[u8], limit: u64) -> Option<Vec<u8>> {
    let limit = usize::try_from(limit).ok()?;
    let (mut input, mut content) = (block, Vec::new());
    content.try_reserve_exact(limit.min(block.len().saturating_mul(255))).ok()?;
    loop {
        let token = usize::from(byte(&mut input)?);
        let literals = length(token >> 4, &mut input)?;
        let (found, rest) = input.split_at_checked(literals)?;
        content.extend_from_slice(found);
        input = rest;
        if content.len() > limit {
            return None;
        }
        // The last sequence has literals only.
        let Some(low) = byte(&mut input) else { return Some(content) };
        let distance = usize::from(u16::from_le_bytes([low, byte(&mut input)?]));
        let length = length(token & 15, &mut input)?.checked_add(4)?;
        let start = content.len().checked_sub(distance).filter(|_| distance != 0)?;
        if content.len().checked_add(length)? > limit {
            return None;
        }
        // Byte by byte: the source may include bytes that this copy has just written.
        for at in start..start + length {
            content.push(*content.get(at)?);
        }
    }
}

/// The next byte.
fn byte(input: &mut &[u8]) -> Option<u8> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}

/// A length whose first 4 bits are in the token: if they are 15, bytes are added up to the first that is not 255.
fn length(bits: usize, input: &mut &[u8]) -> Option<usize> {
    let mut length = bits;
    let mut more = bits == 15;
    while more {
        let next = byte(input)?;
        length = length.checked_add(usize::from(next))?;
        more = next == 255;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::decompress;

    #[test]
    fn blocks_are_read_and_damaged_ones_are_not() {
        // "abc", then 12 bytes copied from 3 bytes back, then "xyz".
        let block = [0x38, b'a', b'b', b'c', 3, 0, 0x30, b'x', b'y', b'z'];
        assert_eq!(decompress(&block, 18).as_deref(), Some(&b"abcabcabcabcabcxyz"[..]));
        assert_eq!(decompress(&block, 17), None, "too long");
        for cut in [0, 1, 3, 5, 8] {
            assert_eq!(decompress(&block[..cut], 18), None, "cut at {cut}");
        }
        for (place, byte) in [(4, 4), (4, 0), (0, 0xf8), (6, 0xf0)] {
            let mut damaged = block;
            damaged[place] = byte;
            assert_eq!(decompress(&damaged, 1000), None, "{byte} at {place}");
        }
        assert_eq!(decompress(&[0x00], 0).as_deref(), Some(&[][..]));
    }
}
