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

/// Copies the files of a folder.
pub(super) fn copy_all(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
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
