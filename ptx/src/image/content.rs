//! The contents of compressed fatbin entries, with bounded memory.

use super::{Compression, ImageError, ImageErrorKind, lz4};

/// The maximum size of a compressed entry's contents, in bytes: half of the memory that this crate uses for any file.
pub const MAX_CONTENT: u64 = 256 << 20;

/// The maximum total size of the contents of all compressed entries of a fatbin, in bytes: it bounds the work of
/// checking them, however small the file is.
pub const MAX_CONTENTS: u64 = 4 * MAX_CONTENT;

/// The content of the block at `offset`, whose header says that it has `size` bytes.
pub(super) fn decompress(
    how: Compression,
    block: &[u8],
    size: u64,
    offset: usize,
) -> Result<Vec<u8>, ImageError> {
    if size > MAX_CONTENT {
        let message = format!("an entry of {size} bytes, over the limit of {MAX_CONTENT}");
        return Err(ImageError::new(ImageErrorKind::TooLarge, offset, message));
    }
    let (content, name) = match how {
        Compression::Lz4 => (lz4::decompress(block, size), "LZ4"),
        Compression::Zstd => (zstd(block, size, offset)?, "zstd"),
    };
    content.ok_or_else(|| {
        let message = format!("a corrupt {name} block, or one that exceeds the entry's size");
        ImageError::corrupt(offset, message)
    })
}

#[cfg(feature = "zstd")]
#[allow(clippy::unnecessary_wraps)] // the build without `zstd` returns an error
fn zstd(block: &[u8], size: u64, _: usize) -> Result<Option<Vec<u8>>, ImageError> {
    Ok(super::zstd::decompress(block, size))
}

#[cfg(not(feature = "zstd"))]
fn zstd(_: &[u8], _: u64, offset: usize) -> Result<Option<Vec<u8>>, ImageError> {
    let message = "the entry is compressed with zstd, which this build does not read (feature `zstd`)";
    Err(ImageError::new(ImageErrorKind::Compressed, offset, message))
}
