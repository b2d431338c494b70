//! Files that a compiler turns into images when the module is loaded. Here it is only checked that their contents match the
//! file extension, and the headers beside a source are found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::image::Facts;

/// Headers that a source may have; more is a mistake.
const MOST_HEADERS: usize = 256;
/// How LTO IR begins.
const LTO_IR: &[u8] = &[0xed, 0x43, 0x4e, 0x7f];
/// How LLVM's bitcode begins, and its wrapper.
const BITCODE: [&[u8]; 2] = [b"BC\xc0\xde", &[0xde, 0xc0, 0x17, 0x0b]];

/// A file that must be compiled or linked before a device can run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Cuda,
    NvvmIr,
    LtoIr,
}

/// A header that a source includes, by the name that it includes it by.
pub(super) type Headers = BTreeMap<String, PathBuf>;

impl Source {
    /// The macro of `cuda-launch` that turns it into an artifact, if the feature is on.
    pub(super) fn artifact_macro(self) -> &'static str {
        match self {
            Self::Cuda => "__cuda_module_nvrtc",
            Self::NvvmIr => "__cuda_module_nvvm",
            Self::LtoIr => "__cuda_module_nvjitlink",
        }
    }

    /// By the file's ending, as `load_kernel_file` does, or by how the file begins; `None` for an image.
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Option<Self> {
        match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
            "cu" => Some(Self::Cuda),
            "ll" | "bc" => Some(Self::NvvmIr),
            "ltoir" => Some(Self::LtoIr),
            _ if bytes.starts_with(LTO_IR) => Some(Self::LtoIr),
            _ if BITCODE.iter().any(|magic| bytes.starts_with(magic)) => Some(Self::NvvmIr),
            _ => None,
        }
    }

    /// Checks whether the bytes match the extension. The architecture is known only after compilation.
    pub(super) fn facts(self, path: &Path, bytes: &[u8]) -> Result<Facts, String> {
        let is_text = || std::str::from_utf8(bytes).is_ok_and(|text| !text.trim().is_empty());
        let is_bitcode = BITCODE.iter().any(|magic| bytes.starts_with(magic));
        let wrong = match self {
            Self::Cuda if !is_text() => "a `.cu` file is CUDA C++ in UTF-8",
            Self::NvvmIr if path.extension().is_some_and(|e| e == "ll") && !is_text() => {
                "a `.ll` file is the text of NVVM IR"
            }
            Self::NvvmIr if !is_text() && !is_bitcode => "a `.bc` file is LLVM bitcode",
            Self::LtoIr if !bytes.starts_with(LTO_IR) => {
                "a `.ltoir` file is LTO IR, as made by `nvcc -ltoir -gencode arch=compute_75,code=lto_75`"
            }
            _ => return Ok(Facts { codes: Vec::new(), kernels: None, variables: None, source: Some(self) }),
        };
        Err(format!("the file does not match its extension: {wrong}"))
    }
}

/// The headers on disk that a source includes by `#include "x"`, directly or through others: they are embedded in the program
/// with it. Other headers are found by the compiler.
pub(super) fn headers(source: &Path) -> Result<Headers, String> {
    let mut headers = Headers::new();
    let mut waiting = vec![source.to_path_buf()];
    while let Some(file) = waiting.pop() {
        let bytes = std::fs::read(&file).map_err(|e| format!("{} cannot be read: {e}", file.display()))?;
        let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
        for name in String::from_utf8_lossy(&bytes).lines().filter_map(included) {
            let Ok(path) = folder.join(name).canonicalize() else { continue };
            match headers.insert(name.to_string(), path.clone()) {
                None => waiting.push(path),
                Some(other) if other != path => {
                    let (a, b) = (other.display(), path.display());
                    return Err(format!("`#include \"{name}\"` means two files, {a} and {b}: rename one"));
                }
                Some(_) => {}
            }
            if headers.len() > MOST_HEADERS {
                return Err(format!("it includes more than {MOST_HEADERS} headers"));
            }
        }
    }
    Ok(headers)
}

/// The name in `#include "name"`.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split_once('"').map(|(name, _)| name)
}
