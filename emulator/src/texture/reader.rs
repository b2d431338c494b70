//! How elements are read, and whether they were written before.

use std::cell::Cell;

use crate::memory::{BadRange, Memory};

/// Reads elements for one lane.
#[derive(Debug)]
pub struct Reader<'m> {
    memory: &'m Memory,
    /// Whether somebody asks for [`unwritten`](Self::unwritten).
    looks: bool,
    unwritten: Cell<Option<u64>>,
}

impl<'m> Reader<'m> {
    /// `looks` says whether it matters what was written.
    pub fn new(memory: &'m Memory, looks: bool) -> Reader<'m> {
        Reader { memory, looks, unwritten: Cell::new(None) }
    }

    /// The bytes of an element.
    pub(super) fn read(&self, address: u64, element: &mut [u8]) -> Result<(), BadRange> {
        if self.looks && !self.memory.is_written(address, element.len() as u64) {
            self.unwritten.set(self.unwritten.get().or(Some(address)));
        }
        self.memory.read(address, element)
    }

    /// The first element that was read though nobody has written all of it.
    pub fn unwritten(&self) -> Option<u64> {
        self.unwritten.get()
    }
}
