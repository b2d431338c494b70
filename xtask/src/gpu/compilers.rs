//! `cargo xtask gpu --compilers`: the tests of `compile/` with the libraries of the pinned wheels.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::bindgen::COMPILERS;
use crate::cargo::run;
use crate::wheels::Wheels;

/// What of its wheel a compiler needs to run; the rest is tools, headers and second copies.
fn parts(compiler: &str) -> &'static [&'static str] {
    match compiler {
        "nvrtc" => &["nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cu13/lib/libnvrtc-builtins.so.13.0"],
        "nvvm" => &["nvidia/cu13/lib/libnvvm.so.4", "nvidia/cu13/nvvm/libdevice/libdevice.10.bc"],
        _ => &["nvidia/cu13/lib/libnvJitLink.so.13"],
    }
}

/// The compilers that were asked for; those that fit beside the tests if none was named.
pub(super) fn named<'a>(names: &[&'a str]) -> Result<Vec<&'a str>> {
    if let Some(unknown) = names.iter().find(|name| !COMPILERS.contains(name)) {
        return Err(format!("no compiler {unknown:?}; there are: {}", COMPILERS.join(" ")).into());
    }
    Ok(if names.is_empty() { vec!["nvrtc", "nvvm"] } else { names.to_vec() })
}

/// Writes an archive of each into `folder`; returns their bytes.
pub(super) fn pack(root: &Path, folder: &Path, names: &[&str]) -> Result<u64> {
    let wheels = Wheels::read(root)?;
    let mut size = 0;
    for name in names {
        wheels.fetch(name)?;
        let archive = folder.join(format!("compilers-{name}.tar.xz"));
        let mut tar = Command::new("tar");
        tar.env("XZ_OPT", "--lzma2=preset=6,dict=128MiB").arg("-cJf").arg(&archive);
        run(tar.arg("-C").arg(wheels.folder(name)).args(parts(name)))?;
        let bytes = std::fs::metadata(&archive)?.len();
        println!("{name:10} {:5.1} MiB", super::mebibytes(bytes));
        size += bytes;
    }
    Ok(size)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::named;

    #[test]
    fn compilers_are_chosen_by_name() {
        assert_eq!(named(&["nvjitlink"]).unwrap(), ["nvjitlink"]);
        assert_eq!(named(&[]).unwrap(), ["nvrtc", "nvvm"]);
        assert!(named(&["ptxas"]).unwrap_err().to_string().contains("\"ptxas\""));
    }
}
