//! Zstd frames (RFC 8878), as in fatbins of CUDA 13.

use ruzstd::decoding::StreamingDecoder;
use std::io::Read;

/// The content of a frame, if it is whole and has at most `limit` bytes.
pub(super) fn decompress(frame: &[u8], limit: u64) -> Option<Vec<u8>> {
    // The decoder's own window is bounded by the crate.
    let decoder = StreamingDecoder::new(frame).ok()?;
    let mut content = Vec::new();
    // Allocated at once: a vector that grows by doubling would need three times as much in the end. 4 bytes of a
    // frame decompress to at most 128 KiB.
    let most = usize::try_from(limit).ok()?.checked_add(1)?.min(frame.len().saturating_mul(1 << 15));
    content.try_reserve_exact(most).ok()?;
    // Reading one byte more than allowed detects a content that is too long.
    decoder.take(limit.checked_add(1)?).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= limit).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::decompress;

    /// A frame of one raw block, "hello", without a checksum.
    const HELLO: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 0x29, 0, 0, b'h', b'e', b'l', b'l', b'o'];

    #[test]
    fn frames_are_read_and_damaged_ones_are_not() {
        assert_eq!(decompress(HELLO, 5).as_deref(), Some(&b"hello"[..]));
        assert_eq!(decompress(HELLO, 4), None, "too long");
        for cut in 0..HELLO.len() {
            assert_eq!(decompress(&HELLO[..cut], 5), None, "cut at {cut}");
        }
    }
}
