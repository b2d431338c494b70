//! Files of a bundle that is not packed.

use std::fs;
use std::path::Path;

use crate::Result;

/// Copies a file, and makes the folder for it.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to)?;
    Ok(())
}

/// The bytes of all files in it.
pub(super) fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { size(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
