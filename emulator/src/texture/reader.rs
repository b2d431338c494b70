//! How elements are read: which, and whether they were written before.

use std::cell::{Cell, RefCell};

use crate::memory::{BadRange, Memory};

/// Reads elements for one lane.
#[derive(Debug)]
pub struct Reader<'m> {
    memory: &'m Memory,
    /// Whether somebody asks for [`unwritten`](Self::unwritten) and [`into_read`](Self::into_read).
    looks: bool,
    unwritten: Cell<Option<u64>>,
    /// Address and bytes of each element, as far as somebody asks.
    read: RefCell<Vec<(u64, u64)>>,
}

impl<'m> Reader<'m> {
    /// `looks` says whether it matters what is read.
    pub fn new(memory: &'m Memory, looks: bool) -> Reader<'m> {
        Reader { memory, looks, unwritten: Cell::new(None), read: RefCell::default() }
    }

    /// The bytes of an element.
    pub(super) fn read(&self, address: u64, element: &mut [u8]) -> Result<(), BadRange> {
        if self.looks {
            if !self.memory.is_written(address, element.len() as u64) {
                self.unwritten.set(self.unwritten.get().or(Some(address)));
            }
            self.read.borrow_mut().push((address, element.len() as u64));
        }
        self.memory.read(address, element)
    }

    /// The first element that was read although it was not written completely.
    pub fn unwritten(&self) -> Option<u64> {
        self.unwritten.get()
    }

    /// Address and bytes of each element that was read.
    pub fn into_read(self) -> Vec<(u64, u64)> {
        self.read.into_inner()
    }
}
