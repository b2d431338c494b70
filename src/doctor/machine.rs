//! What the system knows about NVIDIA's driver without the driver's library.

use std::path::Path;

/// NVIDIA's kernel module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelModule {
    /// Its version, such as `580.159.04`.
    pub version: String,
    /// Whether the device files that programs open exist: in a container they must be passed in.
    pub has_device_files: bool,
}

/// The module that is loaded.
pub(super) fn kernel_module() -> Option<KernelModule> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok();
    let version = text.as_deref().and_then(version).map(str::to_owned).or_else(|| {
        let text = std::fs::read_to_string("/sys/module/nvidia/version").ok()?;
        version(&text).map(str::to_owned)
    })?;
    Some(KernelModule { version, has_device_files: Path::new("/dev/nvidiactl").exists() })
}

/// The first word that is a driver's version.
fn version(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| is_version(word))
}

/// Two or three numbers with dots, the first of three digits: what drivers since 2014 are called.
fn is_version(word: &str) -> bool {
    let numbers: Vec<&str> = word.split('.').collect();
    let digits = |number: &&str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    matches!(numbers.len(), 2 | 3)
        && numbers.iter().all(digits)
        && numbers.first().is_some_and(|first| first.len() == 3)
}

/// The version in the name of a library's file, behind its links: `libcuda.so.580.159.04`.
pub(super) fn library_version(file: &Path) -> Option<String> {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let (_, version) = real.file_name()?.to_str()?.split_once(".so.")?;
    is_version(version).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_the_module_writes() {
        let closed =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n";
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n";
        assert_eq!((version(closed), version(open)), (Some("535.129.03"), Some("580.159.04")));
        assert_eq!(version("GCC version:  gcc version 12.2.0 (Debian)"), None);
        let file = Path::new("/nowhere/libcuda.so.580.159.04");
        assert_eq!(library_version(file).as_deref(), Some("580.159.04"));
        assert_eq!(library_version(Path::new("/nowhere/libcuda.so.1")), None);
    }
}
