use std::borrow::Cow;
use std::fmt;

use super::bytes::Bytes;
use super::content::{MAX_CONTENT, MAX_CONTENTS};
use super::{Arch, Cubin, Image, ImageError, ImageErrorKind, ImageKind, Kernel, content, kernel, ptx_text};

/// Bytes of the container's header.
const HEADER: u64 = 16;
/// Bytes of the fixed part of an entry's header.
const ENTRY_HEADER: u64 = 64;

// Flags of an entry, as fatbinary 13.0 sets them.
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_OWN_ARCH: u64 = 0x10_0000;
const FLAG_FAMILY: u64 = 0x20_0000;

/// A fatbin: a container of PTX, cubins and link-time IR for several architectures.
#[derive(Clone)]
pub struct Fatbin<'a> {
    bytes: &'a [u8],
    entries: Vec<Entry<'a>>,
}

/// The contents of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// PTX text.
    Ptx,
    /// A cubin.
    Cubin,
    /// IR for link-time optimisation.
    LtoIr,
    /// A newer kind, by its number.
    Other(u16),
}

/// How an entry is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// One block of LZ4 without a frame (`-compress-mode=speed`, and the default of older toolkits).
    Lz4,
    /// A zstd frame (the default of CUDA 13).
    Zstd,
}

/// One image in a fatbin.
#[derive(Clone, Copy)]
pub struct Entry<'a> {
    kind: EntryKind,
    arch: Arch,
    compression: Option<Compression>,
    size: u64,
    name: Option<&'a str>,
    payload: &'a [u8],
    offset: usize,
}

impl<'a> Fatbin<'a> {
    /// Checks the container, every entry's header and range, and then the entries themselves: contents compressed with
    /// zstd are checked only with feature `zstd`. Bytes after the end of the container are ignored.
    ///
    /// # Errors
    ///
    /// [`ImageError`] with the offset of the first byte that is missing or wrong; [`ImageErrorKind::TooLarge`] for
    /// compressed entries whose contents exceed [`MAX_CONTENTS`](super::MAX_CONTENTS) bytes in total.
    pub fn read(data: &'a [u8]) -> Result<Self, ImageError> {
        let bytes = Bytes(data);
        bytes.range(0, HEADER, "fatbin header")?;
        let (magic, version, header) = (bytes.u32(0), bytes.u16(4), u64::from(bytes.u16(6)));
        if magic != 0xba55_ed50 {
            return Err(ImageError::corrupt(0, "no fatbin"));
        }
        if version != 1 {
            return Err(ImageError::corrupt(4, format!("fatbin of version {version}; only 1 is known")));
        }
        if header != HEADER {
            return Err(ImageError::corrupt(
                6,
                format!("fatbin header of {header} bytes instead of {HEADER}"),
            ));
        }
        let body = bytes.u64(8);
        bytes.range(HEADER, body, "fatbin")?;
        let end = HEADER + body;
        let data = &data[..end as usize];
        let (mut entries, mut places) = (Vec::new(), Vec::new());
        let mut at = HEADER;
        while at < end {
            let (entry, next) = Entry::read(Bytes(data), at as usize)?;
            entries.push(entry);
            places.push(at as usize);
            at = next;
        }
        check_contents(&entries)?;
        entries.iter().zip(places).try_for_each(|(entry, at)| entry.check(at))?;
        Ok(Self { bytes: data, entries })
    }

    /// The bytes of the container, without any bytes after its end.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The entries, in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// The kernels of the first cubin or PTX that is not compressed.
    pub(super) fn kernels(&self) -> Result<Vec<Kernel<'a>>, ImageError> {
        let entry = self.readable()?;
        match entry.kind {
            EntryKind::Ptx => kernel::of_ptx(entry.ptx()?),
            _ => Ok(entry.cubin()?.kernels().to_vec()),
        }
    }

    /// As [`Image::for_each_kernel`].
    pub(super) fn for_each_kernel(&self, each: &mut dyn FnMut(&Kernel<'_>)) -> Result<(), ImageError> {
        let entry = self.readable()?;
        match entry.kind {
            EntryKind::Ptx => kernel::of_ptx(entry.ptx()?)?.iter().for_each(each),
            _ => entry.cubin()?.for_each_kernel(each),
        }
        Ok(())
    }

    /// The first cubin or PTX that is not compressed.
    fn readable(&self) -> Result<&Entry<'a>, ImageError> {
        let readable =
            |e: &&Entry<'_>| e.compression.is_none() && matches!(e.kind, EntryKind::Cubin | EntryKind::Ptx);
        match self.entries.iter().find(readable) {
            Some(entry) => Ok(entry),
            None => Err(ImageError::new(
                ImageErrorKind::Compressed,
                self.entries.first().map_or(0, |e| e.offset),
                "the fatbin has no uncompressed cubin or PTX",
            )),
        }
    }
}

impl<'a> Entry<'a> {
    /// Reads the entry whose header lies at `at`, and checks that header; also returns where the next one starts.
    fn read(bytes: Bytes<'a>, at: usize) -> Result<(Self, u64), ImageError> {
        bytes.range(at as u64, ENTRY_HEADER, "header of a fatbin entry")?;
        let (version, header) = (bytes.u16(at + 2), u64::from(bytes.u32(at + 4)));
        if version != 0x0101 {
            return Err(ImageError::corrupt(at + 2, format!("fatbin entry of version {version:#06x}")));
        }
        if header < ENTRY_HEADER {
            let message = format!("header of a fatbin entry has {header} bytes, less than {ENTRY_HEADER}");
            return Err(ImageError::corrupt(at + 4, message));
        }
        bytes.range(at as u64, header, "header of a fatbin entry")?;
        check_options(bytes, at, header)?;
        let start = at as u64 + header;
        let payload = bytes.range(start, bytes.u64(at + 8), "fatbin entry")?;
        let entry = Self {
            kind: match bytes.u16(at) {
                1 => EntryKind::Ptx,
                2 => EntryKind::Cubin,
                8 => EntryKind::LtoIr,
                other => EntryKind::Other(other),
            },
            arch: arch(bytes, at),
            compression: compression(bytes, at)?,
            size: bytes.u64(at + 56),
            name: name(bytes, at, header)?,
            payload: unpadded(bytes, at, payload)?,
            offset: start as usize,
        };
        Ok((entry, start + payload.len() as u64))
    }

    /// Checks the entry's content; its header lies at `at`.
    fn check(&self, at: usize) -> Result<(), ImageError> {
        match (self.compression, self.kind) {
            (Some(_), _) if self.payload.is_empty() => {
                Err(ImageError::corrupt(at + 16, "an empty compressed entry"))
            }
            (Some(_), _) if self.size == 0 => {
                Err(ImageError::corrupt(at + 56, "a compressed entry of size 0"))
            }
            (Some(Compression::Zstd), _) if !cfg!(feature = "zstd") => Ok(()),
            (Some(_), EntryKind::Cubin | EntryKind::Ptx) => self.check_content(),
            (None, EntryKind::Cubin) => self.cubin().map(drop),
            (None, EntryKind::Ptx) => self.ptx().map(drop),
            _ => Ok(()),
        }
    }

    fn check_content(&self) -> Result<(), ImageError> {
        let content = self.content()?;
        // An offset inside the decompressed content means nothing in the file: every error is reported at the offset
        // of the block.
        let inside = |_| ImageError::corrupt(self.offset, "the content of the compressed entry is damaged");
        match self.kind {
            EntryKind::Cubin => Cubin::read(&content).map(drop).map_err(inside),
            _ => ptx_text(&content).map(drop).map_err(inside),
        }
    }

    /// Its contents, decompressed if necessary: PTX text, a cubin, or something else, depending on its kind.
    ///
    /// # Errors
    ///
    /// [`ImageErrorKind::Corrupt`] for a damaged block, [`ImageErrorKind::TooLarge`] for one that exceeds
    /// [`MAX_CONTENT`](super::MAX_CONTENT) bytes, [`ImageErrorKind::Compressed`] for zstd without feature `zstd`.
    pub fn content(&self) -> Result<Cow<'a, [u8]>, ImageError> {
        match self.compression {
            None => Ok(Cow::Borrowed(self.payload)),
            Some(how) => content::decompress(how, self.payload, self.size, self.offset).map(Cow::Owned),
        }
    }

    /// The kind of its contents.
    #[must_use]
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// The architecture that it was compiled for; for PTX, the lowest that it can be compiled for.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// How the payload is compressed, if it is.
    #[must_use]
    pub fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// The name of the source file, if the compiler was told to keep it.
    #[must_use]
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }

    /// The bytes as stored in the file, compressed or not.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Offset of the payload in the fatbin.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The decompressed size of the image in bytes, as claimed by the file.
    #[must_use]
    pub fn size(&self) -> u64 {
        if self.compression.is_some() { self.size } else { self.payload.len() as u64 }
    }

    /// The PTX text of an entry that is uncompressed PTX.
    ///
    /// # Errors
    ///
    /// [`ImageErrorKind::Compressed`] for a compressed entry; [`ImageErrorKind::Unrecognized`] for one of another kind.
    pub fn ptx(&self) -> Result<&'a str, ImageError> {
        self.uncompressed(EntryKind::Ptx, "PTX")?;
        let kind = Image::identify(self.payload).map_err(|e| e.inside(self.offset))?;
        if kind != ImageKind::Ptx {
            return Err(ImageError::corrupt(
                self.offset,
                "the entry is marked as PTX but holds something else",
            ));
        }
        ptx_text(self.payload).map_err(|e| e.inside(self.offset))
    }

    /// The cubin of an entry that is an uncompressed cubin.
    ///
    /// # Errors
    ///
    /// As for [`ptx`](Self::ptx), and the errors of [`Cubin::read`], with the offset counted from the start of the
    /// fatbin.
    pub fn cubin(&self) -> Result<Cubin<'a>, ImageError> {
        self.uncompressed(EntryKind::Cubin, "a cubin")?;
        Cubin::read(self.payload).map_err(|e| e.inside(self.offset))
    }

    fn uncompressed(&self, kind: EntryKind, what: &str) -> Result<(), ImageError> {
        if self.kind != kind {
            let message = format!("the fatbin entry is not {what}");
            return Err(ImageError::new(ImageErrorKind::Unrecognized, self.offset, message));
        }
        match self.compression {
            None => Ok(()),
            Some(how) => {
                let message = format!("the fatbin entry for {} is compressed ({how:?})", self.arch);
                Err(ImageError::new(ImageErrorKind::Compressed, self.offset, message))
            }
        }
    }
}

impl fmt::Debug for Fatbin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fatbin").field("bytes", &self.bytes.len()).field("entries", &self.entries).finish()
    }
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("kind", &self.kind)
            .field("arch", &self.arch)
            .field("compression", &self.compression)
            .field("name", &self.name)
            .field("offset", &self.offset)
            .field("size", &self.size())
            .finish()
    }
}

/// Checks that the sizes that all compressed entries claim do not exceed the limit together: no entry is decompressed
/// before that is known, and none to more than its claim.
fn check_contents(entries: &[Entry<'_>]) -> Result<(), ImageError> {
    let mut contents = 0u64;
    for entry in entries.iter().filter(|entry| entry.compression.is_some()) {
        // An entry that claims more than the limit for one entry is refused when it is decompressed.
        contents += entry.size.min(MAX_CONTENT);
        if contents > MAX_CONTENTS {
            let message = format!(
                "the compressed entries up to this one hold {contents} bytes, over the limit of {MAX_CONTENTS} for a file"
            );
            return Err(ImageError::new(ImageErrorKind::TooLarge, entry.offset, message));
        }
    }
    Ok(())
}

fn arch(bytes: Bytes<'_>, at: usize) -> Arch {
    let flags = bytes.u64(at + 40);
    let suffix = match (flags & FLAG_OWN_ARCH != 0, flags & FLAG_FAMILY != 0) {
        (true, _) => Some('a'),
        (_, true) => Some('f'),
        _ => None,
    };
    Arch { sm: bytes.u32(at + 28), suffix }
}

fn compression(bytes: Bytes<'_>, at: usize) -> Result<Option<Compression>, ImageError> {
    let flags = bytes.u64(at + 40);
    match (flags & FLAG_LZ4 != 0, flags & FLAG_ZSTD != 0) {
        (true, true) => Err(ImageError::corrupt(at + 40, "a fatbin entry compressed in two ways")),
        (true, false) => Ok(Some(Compression::Lz4)),
        (false, true) => Ok(Some(Compression::Zstd)),
        (false, false) => Ok(None),
    }
}

/// The payload without its padding. Only a compressed entry records its length without padding.
fn unpadded<'a>(bytes: Bytes<'a>, at: usize, payload: &'a [u8]) -> Result<&'a [u8], ImageError> {
    match bytes.u32(at + 16) as usize {
        0 => Ok(payload),
        packed => payload.get(..packed).ok_or_else(|| {
            let message = format!("{packed} compressed bytes in a payload of {}", payload.len());
            ImageError::corrupt(at + 16, message)
        }),
    }
}

/// Checks the compiler's options, whose offset and length are in a record after the fixed part of the header.
fn check_options(bytes: Bytes<'_>, at: usize, header: u64) -> Result<(), ImageError> {
    let record = u64::from(bytes.u32(at + 20));
    if record == 0 {
        return Ok(());
    }
    if record < ENTRY_HEADER || record + 8 > header {
        let message = format!("record of the options at {record} of an entry's header of {header}");
        return Err(ImageError::corrupt(at + 20, message));
    }
    let place = at + record as usize;
    let (offset, length) = (u64::from(bytes.u32(place)), u64::from(bytes.u32(place + 4)));
    if offset + length > header {
        let message = format!("options of {length} bytes at {offset} of an entry's header of {header}");
        return Err(ImageError::corrupt(place, message));
    }
    Ok(())
}

/// The name of the source file, which follows the fixed part of the header.
fn name(bytes: Bytes<'_>, at: usize, header: u64) -> Result<Option<&str>, ImageError> {
    let (offset, length) = (u64::from(bytes.u32(at + 32)), u64::from(bytes.u32(at + 36)));
    if length == 0 {
        return Ok(None);
    }
    if offset < ENTRY_HEADER || offset + length > header {
        let message = format!("name of {length} bytes at {offset} of an entry's header of {header}");
        return Err(ImageError::corrupt(at + 32, message));
    }
    let name = bytes.range(at as u64 + offset, length, "name of a fatbin entry")?;
    // The name is only informative: a name that is not UTF-8 is no reason to refuse the kernels.
    Ok(std::str::from_utf8(name).ok())
}
