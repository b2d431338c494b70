//! Reading, writing, filling and copying ranges: of one allocation, or of mappings side by side.

use std::mem::MaybeUninit;
use std::sync::Arc;

use super::{Allocation, BadRange, Memory, Written, access};

/// The part of a range that lies in one allocation.
struct Piece {
    allocation: Arc<Allocation>,
    offset: u64,
    bytes: u64,
}

/// What a range consists of: nearly always one piece.
enum Pieces {
    One(Piece),
    Many(Vec<Piece>),
}

impl Pieces {
    fn as_slice(&self) -> &[Piece] {
        match self {
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Many(pieces) => pieces,
        }
    }
}

impl Memory {
    /// Copies numbers from device memory to `target`.
    pub fn read(&self, address: u64, target: &mut [u8]) -> Result<(), BadRange> {
        let mut rest = target;
        for piece in self.pieces(address, rest.len() as u64)?.as_slice() {
            let (part, behind) = rest.split_at_mut(piece.bytes as usize);
            piece.allocation.load(piece.offset, part);
            rest = behind;
        }
        Ok(())
    }

    /// Copies numbers to device memory.
    pub fn write(&self, address: u64, source: &[u8]) -> Result<(), BadRange> {
        self.copy_from_host(address, access::bytes(source))
    }

    /// Copies from device memory to `target`, padding as well.
    pub fn copy_to_host(&self, address: u64, target: &mut [MaybeUninit<u8>]) -> Result<(), BadRange> {
        let mut rest = target;
        for piece in self.pieces(address, rest.len() as u64)?.as_slice() {
            let (part, behind) = rest.split_at_mut(piece.bytes as usize);
            piece.allocation.read(piece.offset, part);
            rest = behind;
        }
        Ok(())
    }

    /// Copies `source` to device memory, padding as well.
    pub fn copy_from_host(&self, address: u64, source: &[MaybeUninit<u8>]) -> Result<(), BadRange> {
        let mut rest = source;
        for piece in self.targets(address, rest.len() as u64)?.as_slice() {
            let (part, behind) = rest.split_at(piece.bytes as usize);
            piece.allocation.write(piece.offset, part);
            rest = behind;
        }
        Ok(())
    }

    /// Writes `pattern` `count` times in a row.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), BadRange> {
        let bytes = (pattern.len() as u64).saturating_mul(count);
        for piece in self.targets(address, bytes)?.as_slice() {
            // Mappings begin and end at multiples of the length of any pattern.
            piece.allocation.fill(piece.offset, pattern, piece.bytes);
        }
        Ok(())
    }

    /// Copies inside device memory. Overlapping ranges give the same result as a copy through a buffer.
    pub fn copy(&self, target: u64, source: u64, bytes: u64) -> Result<(), BadRange> {
        let (from, to) = (self.pieces(source, bytes)?, self.targets(target, bytes)?);
        if let (Pieces::One(from), Pieces::One(to)) = (&from, &to) {
            Allocation::copy(&to.allocation, to.offset, &from.allocation, from.offset, bytes);
            return Ok(());
        }
        let mut steps = steps(from.as_slice(), to.as_slice());
        if target > source {
            // Reversed so that no byte is read after it is written if the ranges overlap.
            steps.reverse();
        }
        for (to, from, bytes) in steps {
            Allocation::copy(to.0, to.1, from.0, from.1, bytes);
        }
        Ok(())
    }

    /// Marks these bytes as written although they were not touched since they were allocated: they are zero.
    pub fn count_as_written(&self, address: u64, bytes: u64) -> Result<(), BadRange> {
        for piece in self.pieces(address, bytes)?.as_slice() {
            if let Some(written) = piece.allocation.written() {
                written.mark(piece.offset, piece.bytes);
            }
        }
        Ok(())
    }

    /// Marks these bytes as uninitialised, though they keep their contents: a kernel that reads them is reported.
    pub fn forget_written(&self, address: u64, bytes: u64) -> Result<(), BadRange> {
        for piece in self.pieces(address, bytes)?.as_slice() {
            if let Some(written) = piece.allocation.written() {
                written.forget(piece.offset, piece.bytes);
            }
        }
        Ok(())
    }

    /// Whether these bytes were written, as far as that is tracked.
    pub fn is_written(&self, address: u64, bytes: u64) -> bool {
        self.of_written(address, bytes, Written::covers)
    }

    /// Whether it is known that none of these bytes was ever written.
    pub fn is_blank(&self, address: u64, bytes: u64) -> bool {
        !self.of_written(address, bytes, |written, at, bytes| !written.is_blank(at, bytes))
    }

    /// Whether the test is true for the pieces of a range; pieces that are not tracked count as true.
    fn of_written(&self, address: u64, bytes: u64, test: impl Fn(&Written, u64, u64) -> bool) -> bool {
        let Ok(pieces) = self.pieces(address, bytes) else { return true };
        pieces.as_slice().iter().all(|piece| {
            piece.allocation.written().is_none_or(|written| test(written, piece.offset, piece.bytes))
        })
    }

    /// The host addresses of these bytes, which may be in several pieces; none if they are not allocated.
    pub fn host_ranges(&self, address: u64, bytes: u64) -> Vec<std::ops::Range<u64>> {
        let Ok(pieces) = self.pieces(address, bytes) else { return Vec::new() };
        let range = |piece: &Piece| {
            let start = piece.allocation.host().addr() as u64 + piece.offset;
            start..start + piece.bytes
        };
        pieces.as_slice().iter().map(range).collect()
    }

    /// Whether what is written at an address can be seen by the host at once, or by another process.
    pub fn is_seen_elsewhere(&self, address: u64) -> bool {
        self.find(address).is_some_and(|allocation| allocation.is_seen_elsewhere())
    }

    /// Whether the whole range is allocated: in one piece, or in mappings side by side.
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.pieces(address, bytes).is_ok()
    }

    /// The pieces of a range that is written: none of it is for reading only.
    fn targets(&self, address: u64, bytes: u64) -> Result<Pieces, BadRange> {
        let pieces = self.pieces(address, bytes)?;
        if pieces.as_slice().iter().any(|piece| piece.allocation.is_read_only()) {
            return Err(BadRange { address, bytes, description: self.describe(address, bytes) });
        }
        Ok(pieces)
    }

    /// The pieces of a range.
    fn pieces(&self, address: u64, bytes: u64) -> Result<Pieces, BadRange> {
        let map = self.read_map();
        let refused = || BadRange { address, bytes, description: map.describe(address, bytes) };
        let piece = |at: u64, bytes: u64| {
            let allocation = Arc::clone(map.find(at)?);
            let offset = at - allocation.base();
            let bytes = bytes.min(allocation.len() - offset);
            Some(Piece { allocation, offset, bytes })
        };
        let first = piece(address, bytes).ok_or_else(refused)?;
        if first.bytes == bytes {
            return Ok(Pieces::One(first));
        }
        let mut done = first.bytes;
        let mut pieces = vec![first];
        while done < bytes {
            let at = address.checked_add(done).ok_or_else(refused)?;
            let next = piece(at, bytes - done).ok_or_else(refused)?;
            let neighbours = pieces.iter().chain([&next]).all(|piece| piece.allocation.is_mapping());
            if !neighbours {
                return Err(refused());
            }
            done += next.bytes;
            pieces.push(next);
        }
        Ok(Pieces::Many(pieces))
    }
}

/// A position in an allocation.
type Position<'a> = (&'a Allocation, u64);

/// Copies of one piece to one piece: target, source, bytes.
fn steps<'a>(from: &'a [Piece], to: &'a [Piece]) -> Vec<(Position<'a>, Position<'a>, u64)> {
    let mut steps = Vec::new();
    let (mut from, mut to) = (from.iter().peekable(), to.iter().peekable());
    let (mut read, mut written) = (0, 0);
    while let (Some(source), Some(target)) = (from.peek(), to.peek()) {
        let bytes = (source.bytes - read).min(target.bytes - written);
        steps.push((
            (&*target.allocation, target.offset + written),
            (&*source.allocation, source.offset + read),
            bytes,
        ));
        (read, written) = (read + bytes, written + bytes);
        if read == source.bytes {
            (read, _) = (0, from.next());
        }
        if written == target.bytes {
            (written, _) = (0, to.next());
        }
    }
    steps
}
