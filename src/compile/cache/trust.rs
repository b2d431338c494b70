//! Whose a folder or an entry of the cache is: what others could have written runs on the device in this user's name.

#![allow(unsafe_code)] // Declares one function of POSIX.

use std::fs::Metadata;
use std::io;
use std::path::Path;

/// Refuses what another user than this one and root owns, or may write.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`], with path, owner or mode, and what to do.
#[cfg(unix)]
pub(super) fn may_trust(path: &Path, data: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: POSIX has this function, with a number of 32 bits on every system that Rust's `std::os::unix` is for. It takes
    // nothing and cannot fail, so it is safe to call.
    unsafe extern "C" {
        safe fn geteuid() -> u32;
    }
    verdict(path, data.uid(), data.mode(), geteuid())
}

/// On other systems, the default permissions do not let other users write into a user's folders.
#[cfg(not(unix))]
pub(super) fn may_trust(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn verdict(path: &Path, owner: u32, mode: u32, own: u32) -> io::Result<()> {
    const OTHERS_MAY_WRITE: u32 = 0o022;
    let path = path.display();
    let why = if owner != own && owner != 0 {
        format!(
            "{path} belongs to user {owner}, but this process runs as user {own}, so its code is not trusted: use another folder"
        )
    } else if mode & OTHERS_MAY_WRITE != 0 {
        let mode = mode & 0o7777;
        format!(
            "other users may write {path} (mode {mode:04o}), so its code is not trusted: `chmod go-w` it, or use another folder"
        )
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_others_own_or_may_write_is_not_trusted() {
        let trusted = |owner, mode, own| verdict(Path::new("/cache"), owner, mode, own).is_ok();
        // One's own, and root's, whatever else they may do.
        assert!(
            trusted(1000, 0o040_700, 1000) && trusted(1000, 0o040_755, 1000) && trusted(0, 0o040_755, 1000)
        );
        assert!(!trusted(1001, 0o040_700, 1000) && !trusted(1000, 0o040_700, 0));
        for mode in [0o040_770, 0o040_707, 0o040_777, 0o041_777, 0o040_720, 0o100_664] {
            assert!(!trusted(1000, mode, 1000) && !trusted(0, mode, 0), "{mode:o}");
        }
    }
}
