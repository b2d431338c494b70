//! Systems that have no files without a name, sealed and mapped: here no bytes are shared by several processes.

use std::convert::Infallible;
use std::ptr::NonNull;
use std::sync::Arc;

/// The size of a page.
pub(super) const PAGE: u64 = 4096;

/// There is none.
#[derive(Debug)]
pub struct SharedFile(Infallible);

impl SharedFile {
    /// There is none.
    pub fn new(_: &str, _: u64) -> Option<SharedFile> {
        None
    }

    /// There is none.
    pub fn longest() -> u64 {
        0
    }

    /// There is none.
    pub fn of_process(_: u32, _: u32, _: &str) -> std::io::Result<Option<SharedFile>> {
        Ok(None)
    }

    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        match self.0 {}
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        match self.0 {}
    }

    /// The number under which this process has it open.
    pub fn number(&self) -> u32 {
        match self.0 {}
    }

    pub(super) fn clear(&self, _: u64, _: u64) {
        match self.0 {}
    }
}

/// There are none.
#[derive(Debug)]
pub(super) struct SharedBytes(Infallible);

impl SharedBytes {
    pub(super) fn map(file: &Arc<SharedFile>, _: u64, _: u64) -> Option<SharedBytes> {
        match file.0 {}
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        match self.0 {}
    }

    pub(super) fn without_file(self) -> SharedBytes {
        match self.0 {}
    }

    pub(super) fn file(&self) -> Option<&Arc<SharedFile>> {
        match self.0 {}
    }
}
