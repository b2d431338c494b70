//! Kernel images: PTX text, cubins and fatbins, parsed and checked without a driver.
//!
//! The driver takes an image without its length and follows every offset in it: most truncated or corrupted files crash
//! the process that loads them. [`Image::read`] first checks the complete file, so that such a file results in an
//! [`ImageError`] that names the byte. Contents of a fatbin that are compressed with zstd are checked only with feature
//! `zstd`; without it, damage there can still crash a driver.
//!
//! ```no_run
//! let bytes = std::fs::read("kernels.cubin")?;
//! let image = cuda_ptx::image::Image::read(&bytes)?;
//! for kernel in image.kernels()? {
//!     println!("{}: {} bytes of parameters", kernel.name, kernel.parameter_bytes);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arch;
mod attributes;
mod bytes;
mod content;
mod cubin;
mod elf;
mod error;
mod fatbin;
mod info;
mod kernel;
mod lz4;
#[cfg(feature = "zstd")]
mod zstd;

pub use arch::Arch;
pub use content::{MAX_CONTENT, MAX_CONTENTS};
pub use cubin::{Cubin, DebugInfo};
pub use error::{ImageError, ImageErrorKind};
pub use fatbin::{Compression, Entry, EntryKind, Fatbin};
pub use kernel::{Kernel, KernelParameter};

use crate::lexer::{Kind, Lexer};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageKind {
    /// PTX text.
    Ptx,
    /// An ELF file with machine code for one architecture.
    Cubin,
    /// A container of PTX and cubins for several architectures.
    Fatbin,
}

/// A checked image, borrowing from its bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Image<'a> {
    /// PTX text, without trailing NULs. Only its beginning has been checked: use [`crate::parse`] for the rest.
    Ptx(&'a str),
    /// A cubin.
    Cubin(Cubin<'a>),
    /// A fatbin.
    Fatbin(Fatbin<'a>),
}

impl<'a> Image<'a> {
    /// Identifies the bytes by their beginning; nothing else is checked.
    ///
    /// # Errors
    ///
    /// [`ImageErrorKind::Unrecognized`] for anything other than a kernel image, with a guess at what it is;
    /// [`ImageErrorKind::Source`] for source code or IR, which must be compiled first.
    pub fn identify(bytes: &[u8]) -> Result<ImageKind, ImageError> {
        match bytes {
            [0x7f, b'E', b'L', b'F', ..] => Ok(ImageKind::Cubin),
            [0x50, 0xed, 0x55, 0xba, ..] => Ok(ImageKind::Fatbin),
            _ if is_ptx(bytes) => Ok(ImageKind::Ptx),
            _ => Err(unrecognized(bytes)),
        }
    }

    /// Reads an image and checks everything that a driver would follow: for a cubin all its tables, for a fatbin its
    /// entries and the cubins in them (those compressed with zstd only with feature `zstd`), for PTX that it is text.
    ///
    /// Bytes after the end of a cubin or fatbin are ignored, as drivers do.
    ///
    /// # Errors
    ///
    /// [`ImageError`] with the offset of the first byte that is missing or wrong.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ImageError> {
        match Self::identify(bytes)? {
            ImageKind::Ptx => ptx_text(bytes).map(Image::Ptx),
            ImageKind::Cubin => Cubin::read(bytes).map(Image::Cubin),
            ImageKind::Fatbin => Fatbin::read(bytes).map(Image::Fatbin),
        }
    }

    /// Checks that the bytes are PTX text, as [`read`](Self::read) does, and returns the text without trailing NULs. A cubin or a fatbin is
    /// refused: a program that calls only this has no code to read one.
    ///
    /// ```
    /// let text = cuda_ptx::image::Image::read_ptx(b".version 8.0\n.target sm_80\n\0")?;
    /// assert_eq!(text, ".version 8.0\n.target sm_80\n");
    /// assert!(cuda_ptx::image::Image::read_ptx(b"\x7fELF").is_err());
    /// # Ok::<(), cuda_ptx::image::ImageError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ImageErrorKind::Unrecognized`] and [`ImageErrorKind::Source`] for anything else, [`ImageErrorKind::Corrupt`] for a text that a driver
    /// would not read to its end.
    pub fn read_ptx(bytes: &'a [u8]) -> Result<&'a str, ImageError> {
        if is_ptx(bytes) { ptx_text(bytes) } else { Err(unrecognized(bytes)) }
    }

    /// Which kind of image this is.
    #[must_use]
    pub fn kind(&self) -> ImageKind {
        match self {
            Image::Ptx(_) => ImageKind::Ptx,
            Image::Cubin(_) => ImageKind::Cubin,
            Image::Fatbin(_) => ImageKind::Fatbin,
        }
    }

    /// The kernels with their parameters, in the order of the image. For a fatbin, those of its first uncompressed
    /// entry: its entries are compiled from one source.
    ///
    /// # Errors
    ///
    /// The parser's error for PTX whose kernels cannot be read, as [`outline`](crate::outline) reads them; [`ImageErrorKind::Compressed`] for a fatbin without a readable entry.
    pub fn kernels(&self) -> Result<Vec<Kernel<'a>>, ImageError> {
        match self {
            Image::Ptx(text) => kernel::of_ptx(text),
            Image::Cubin(cubin) => Ok(cubin.kernels().to_vec()),
            Image::Fatbin(fatbin) => fatbin.kernels(),
        }
    }

    /// Calls `each` with the same kernels, in the same order. Their registers, shared memory and local memory are `None`: without them, and
    /// without a list, those of a cubin are read several times as fast.
    ///
    /// ```
    /// use cuda_ptx::image::Image;
    /// let image = Image::read(b".version 8.0\n.target sm_80\n.entry k(.param .u64 p) { ret; }\n")?;
    /// image.for_each_kernel(&mut |kernel| assert_eq!((kernel.name, kernel.parameter_bytes), ("k", 8)))?;
    /// # Ok::<(), cuda_ptx::image::ImageError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`kernels`](Self::kernels).
    pub fn for_each_kernel(&self, each: &mut dyn FnMut(&Kernel<'_>)) -> Result<(), ImageError> {
        match self {
            Image::Ptx(text) => kernel::of_ptx(text)?.iter().for_each(each),
            Image::Cubin(cubin) => cubin.for_each_kernel(each),
            Image::Fatbin(fatbin) => return fatbin.for_each_kernel(each),
        }
        Ok(())
    }
}

/// The text of a PTX image, without the NULs and padding after it.
fn ptx_text(bytes: &[u8]) -> Result<&str, ImageError> {
    let length = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    let text = &bytes[..length];
    if let Some(nul) = text.iter().position(|&b| b == 0) {
        let message = "NUL byte inside the PTX text, where a driver would stop reading";
        return Err(ImageError::new(ImageErrorKind::Corrupt, nul, message));
    }
    std::str::from_utf8(text).map_err(|e| {
        let message = "the PTX text is not UTF-8";
        ImageError::new(ImageErrorKind::Corrupt, e.valid_up_to(), message)
    })
}

/// Is the first token `.version`? The rest is checked later.
fn is_ptx(bytes: &[u8]) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default(),
    };
    let mut lexer = Lexer::new(text, 1);
    lexer.next().is_ok_and(|t| t.kind == Kind::Directive && lexer.slice(t.start, t.end) == ".version")
}

/// Whether the beginning looks like text.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().take(512).all(|b| matches!(b, b' '..=b'~' | 0x80..) || b.is_ascii_whitespace())
}

fn contains_any(bytes: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| bytes.windows(word.len()).any(|window| window == word.as_bytes()))
}

fn is_path(bytes: &[u8]) -> bool {
    let ends = [".ptx", ".cubin", ".fatbin", ".cu"];
    is_text(bytes)
        && !bytes.iter().any(u8::is_ascii_whitespace)
        && ends.iter().any(|end| bytes.ends_with(end.as_bytes()))
}

/// The name of a source or IR format that must be compiled before a driver accepts it.
fn source(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [b'B', b'C', 0xc0, 0xde, ..] => Some("this is LLVM bitcode, which libNVVM or `llc` compiles first"),
        _ if !is_text(bytes) => None,
        _ if contains_any(bytes, &["__global__", "__device__", "#include", "#define"]) => {
            Some("this is CUDA C++, which is compiled first: by `nvcc -ptx`, or by NVRTC at run time")
        }
        _ if contains_any(bytes, &["; ModuleID", "target triple", "define void @"]) => {
            Some("this is LLVM IR, which libNVVM or `llc` compiles first")
        }
        _ => None,
    }
}

fn unrecognized(bytes: &[u8]) -> ImageError {
    if let Some(found) = source(bytes) {
        let message = format!("expected PTX text, a cubin or a fatbin: {found}");
        return ImageError::new(ImageErrorKind::Source, 0, message);
    }
    let found = match bytes {
        [] => "the image is empty",
        // Only when PTX was expected.
        [0x7f, b'E', b'L', b'F', ..] => "this is an ELF file, as a cubin is, passed as text",
        [0x50, 0xed, 0x55, 0xba, ..] => "this is a fatbin, passed as text",
        [0xb1, 0x43, 0x62, 0x46, ..] => "this is the wrapper of a fatbin inside a program, not the fatbin",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "this is zstd-compressed",
        [0x1f, 0x8b, ..] => "this is gzip-compressed",
        [0xef, 0xbb, 0xbf, ..] => "this begins with a byte order mark, which drivers reject",
        b if b.starts_with(b"!<arch>") => "this is an archive",
        b if b.starts_with(b"MZ") => "this is a Windows program",
        b if is_path(b) => "this is a path, not the content of the file",
        b if is_text(b) => "this is text that does not begin with `.version`, as PTX does",
        _ => "the bytes match none of these",
    };
    let message = format!("expected PTX text, a cubin or a fatbin: {found}");
    ImageError::new(ImageErrorKind::Unrecognized, 0, message)
}
